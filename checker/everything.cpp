// Who sees everything, as far as rows hand it on: a reader whose row holds everything, and who reads somebody that has seen everything.
#include <algorithm>

#include "poll.hpp"
#include "read_layers.hpp"

namespace checker {

namespace {

/// Of a row of sorted ranges: the one vertex of from .. end-1 that it lacks, `end` when it lacks none; nothing when more, or when a range has steps.
std::optional<Vertex> find_only_missing(const SharedLayer& layer, const ReadLayer::Group& group, Vertex from, Vertex end) {
  Vertex missing = end, next = from;
  for (const std::uint32_t k : layer.own(group)) {
    if (next >= end) break;
    const Range& range = layer.ranges[k];
    if (range.step != 1) return std::nullopt;
    if (range.first > next) {
      if (missing != end || range.first > next + 1) return std::nullopt;
      missing = next;
    }
    next = std::max(next, range.last + 1);
  }
  if (next >= end) return missing;
  if (!layer.shared(group).empty()) return std::nullopt;
  return next + 1 == end && missing == end ? std::optional(next) : std::nullopt;
}

}  // namespace

bool do_all_see_everything(const Layout& layout, const std::map<std::uint32_t, SharedLayer>& layers, const ReachQuestion& question, std::uint64_t depth) {
  if (question.kind != ClassKind::all || question.sets != nullptr || layout.order.empty()) return false;
  const Vertex n = layout.vertices(), from = question.ordinary_only ? 1 : 0, end = question.registers_too ? n : layout.tokens;
  std::vector<std::uint8_t> full(n, 0);
  std::vector<std::uint32_t> below(std::size_t{n} + 1, 0);  // how many before each have seen everything
  std::vector<std::uint8_t> gives;                         // by range: has one of them
  std::vector<Vertex> fresh;
  const auto is_done = [&] { return std::find(full.begin(), full.begin() + layout.tokens, std::uint8_t{0}) == full.begin() + layout.tokens; };
  std::size_t idle = 0;
  for (std::uint64_t q = 0; q < depth && idle < layout.order.size(); ++q) {
    const SharedLayer& layer = layers.at(layout.order[(question.skip + q) % layout.order.size()]);
    gives.assign(layer.ranges.size(), 0);
    for (std::size_t k = 0; k < layer.ranges.size(); ++k) {
      poll();
      const Range& range = layer.ranges[k];
      if (range.step == 1) gives[k] = below[range.last + 1] > below[range.first] ? 1 : 0;
      for (std::uint64_t j = range.first; range.step > 1 && j <= range.last && gives[k] == 0; j += range.step) gives[k] = full[j];
    }
    fresh.clear();
    for (const ReadLayer::Group& group : layer.groups) {
      poll();
      const auto gives_it = [&](std::uint32_t k) { return gives[k] != 0; };
      const bool given = std::ranges::any_of(layer.own(group), gives_it) || std::ranges::any_of(layer.shared(group), gives_it);
      const std::optional<Vertex> missing = given ? std::optional(end) : find_only_missing(layer, group, from, end);
      if (!missing) continue;
      for (Vertex i = group.begin; i < group.end; ++i) {
        if (full[i] == 0 && (*missing == end || *missing == i)) fresh.push_back(i);
      }
    }
    for (const Vertex i : fresh) full[i] = 1;
    idle = fresh.empty() ? idle + 1 : 0;
    if (fresh.empty()) continue;
    if (is_done()) return true;
    for (Vertex j = 0; j < n; ++j) below[j + 1] = below[j] + full[j];
  }
  return is_done();
}

}  // namespace checker

// Two layers that suffice: tokens that read everything in the earlier one and are read by everybody in the later one (fixed patterns).
#include <algorithm>
#include <utility>

#include "poll.hpp"
#include "read_layers.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

constexpr Threshold<std::size_t> most_arrays{5, 1, "gathering arrays"};  // steps with an array of their own

/// An array for each step that occurs, or null beyond the first few.
template <class Value>
class BySteps {
public:
  template <class Make>
  std::vector<Value>* find(Vertex step, const Make& make) {
    for (auto& [known, array] : arrays_) {
      if (known == step) return &array;
    }
    if (arrays_.size() == most_arrays) return nullptr;
    return &arrays_.emplace_back(step, make()).second;
  }
  std::vector<std::pair<Vertex, std::vector<Value>>>& all() { return arrays_; }

private:
  std::vector<std::pair<Vertex, std::vector<Value>>> arrays_;
};

/// The last member of the range up to `bound`, which is not below the first.
Vertex last_until(const Range& range, Vertex bound) { return bound - (bound - range.first) % range.step; }

/// For every token how many readers (causal: at it or above) read it. Nothing when there are too many steps.
std::optional<std::vector<std::int64_t>> count_readers(const ReadLayer& layer, Vertex tokens, bool causal) {
  BySteps<std::int64_t> changes;
  std::vector<std::int64_t> count(tokens, 0);
  std::uint64_t work = 0;
  bool is_short = true;
  layer.visit_lists([&](Vertex start, Vertex stop, std::span<const Range> ranges) {
    if (start >= tokens || !is_short) return;
    poll();
    const Vertex end = std::min(stop, tokens);
    for (const Range& range : ranges) {
      if (range.first >= tokens) continue;
      const Vertex last = last_until(range, std::min(range.last, tokens - 1));
      const Vertex common = causal ? std::min(last, start) : last;  // up to here all these readers count
      std::uint64_t above = range.first;
      if (range.first <= common) {
        const Vertex until = last_until(range, common);
        auto* const change = changes.find(range.step, [&] { return std::vector<std::int64_t>(std::size_t{tokens} + range.step, 0); });
        is_short = change != nullptr;
        if (!is_short) return;
        (*change)[range.first] += end - start;
        (*change)[std::size_t{until} + range.step] -= end - start;
        above = std::uint64_t{until} + range.step;
      }
      for (; above <= last && above < end; above += range.step) {
        is_short = ++work <= 64 * std::uint64_t{tokens};
        if (!is_short) return;
        count[above] += end - static_cast<Vertex>(above);
      }
    }
  });
  if (!is_short) return std::nullopt;
  for (auto& [step, change] : changes.all()) {
    for (std::size_t j = 0; j < tokens; ++j) {
      if (j >= step) change[j] += change[j - step];
      count[j] += change[j];
    }
  }
  return count;
}

/// Where an interval around each reader begins, all of which it reads or is.
std::vector<Vertex> find_begins(const ReadLayer& layer, Vertex tokens) {
  std::vector<Vertex> begins(tokens);
  for (const ReadLayer::Group& group : layer.groups) {
    poll();
    for (Vertex i = group.begin; i < std::min(group.end, tokens); ++i) {
      begins[i] = i;
      for (const Range& range : layer.own(group)) {  // what groups have in common has steps
        if (range.step == 1 && range.first < begins[i] && std::uint64_t{range.last} + 1 >= begins[i]) begins[i] = range.first;
      }
    }
  }
  return begins;
}

}  // namespace

// A gatherer k is read by every i (causal: every i >= k) in the later layer, so i sees what k reads in the earlier one, and k itself. Causal: let k be the
// first gatherer from j on that reads j; behind it all see j through it, and the i between j and k read j themselves, as j lies in the interval around
// k - 1, and these begin in the order of their readers.
bool do_gatherers_suffice(const ReadLayer& earlier, const ReadLayer& later, Vertex tokens, bool causal) {
  const auto count = count_readers(later, tokens, causal);
  if (!count) return false;
  const std::vector<Vertex> from = causal ? find_begins(later, tokens) : std::vector<Vertex>{};
  if (!std::is_sorted(from.begin(), from.end())) return false;
  const auto gathers = [&](Vertex k) { return (*count)[k] >= static_cast<std::int64_t>(causal ? tokens - k : tokens); };
  const Vertex nobody = tokens;
  std::vector<Vertex> by(tokens, nobody);  // the first gatherer that reads j
  BySteps<Vertex> following;               // members of a range that may still be without one
  for (const ReadLayer::Group& group : earlier.groups) {
    poll();
    for (Vertex k = group.begin; k < std::min(group.end, tokens); ++k) {
      if (!gathers(k)) continue;
      for (const Range& range : earlier.row(group)) {
        const Vertex last = std::min(range.last, causal ? k : tokens - 1);
        if (range.first > last) continue;
        std::vector<Vertex>* const next = following.find(range.step, [&] {
          std::vector<Vertex> all(tokens);
          for (Vertex j = 0; j < tokens; ++j) all[j] = range.step < tokens - j ? j + range.step : tokens;
          return all;
        });
        if (next == nullptr) return false;
        const auto first_without = [&](Vertex j) {
          Vertex found = j;
          while (found < tokens && by[found] != nobody) found = (*next)[found];
          while (j < found) j = std::exchange((*next)[j], found);
          return found;
        };
        for (Vertex j = first_without(range.first); j <= last; j = first_without(j)) by[j] = k;
      }
      if (by[k] == nobody) by[k] = k;
    }
  }
  for (Vertex j = 0; j < tokens; ++j) {
    if (causal ? by[j] > j + 1 && from[by[j] - 1] > j : by[j] == nobody) return false;
  }
  return true;
}

}  // namespace checker

// Two layers through vertices that everybody reads (stars, global tokens), told from stretches of rows: no row is written down for each reader.
#include <algorithm>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

/// Ranges without steps, as tidy() leaves them.
using CoreRow = std::vector<ReadRange>;

CoreRow intersect(const CoreRow& a, const CoreRow& b) {
  CoreRow both;
  for (std::size_t x = 0, y = 0; x < a.size() && y < b.size(); a[x].last < b[y].last ? ++x : ++y) {
    const ReadRange common{std::max(a[x].first, b[y].first), std::min(a[x].last, b[y].last)};
    if (common.first <= common.last) both.push_back(common);
  }
  return both;
}

constexpr Threshold<Vertex> few_members{64, 2, "core members"};

/// Runs without steps as they are, others member by member where these are few.
void add_members(const layout::Run& run, CoreRow& row) {
  if (run.step == 1) {
    row.push_back({run.first, run.last});
    return;
  }
  for (std::uint64_t j = run.first; run.size() <= few_members && j <= run.last; j += run.step) row.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j)});
}

/// What all readers begin .. end-1 have of a run: both ends grow with the reader, or stay. Of runs with steps only where they stay.
void add_common(const layout::AffineRun& run, Vertex begin, Vertex end, CoreRow& row) {
  const std::int64_t last_reader = std::int64_t{end} - 1;
  if (run.step > 1) {
    if (const auto first = layout::evaluate(run, begin); first && first == layout::evaluate(run, end - 1) && !run.lo_moves) add_members(*first, row);
    return;
  }
  const std::int64_t lo = std::max({run.lo_base + (run.lo_moves ? last_reader : 0), run.floor_base + (run.floor_moves ? last_reader : 0), std::int64_t{0}});
  const std::int64_t hi = std::min(run.hi_base + (run.hi_moves ? std::int64_t{begin} : 0), run.limit - 1);
  if (lo <= hi) row.push_back({static_cast<Vertex>(lo), static_cast<Vertex>(hi)});
}

/// Vertices that every token reads or is, some of them at least; nothing where that is found out to be none. O(segments and runs of the pattern).
CoreRow find_core(const layout::Pattern& pattern, Vertex tokens, const Budget& budget) {
  constexpr Threshold<std::size_t> most_ranges{64, 1, "core ranges"};
  CoreRow core{{0, pattern.vertex_count() - 1}}, here;
  std::vector<layout::AffineRun> room;
  const auto& segments = pattern.segments();
  for (std::size_t s = 0; s < segments.size() && segments[s].begin < tokens && !core.empty(); ++s) {
    budget.poll();
    const Vertex begin = segments[s].begin, end = s + 1 < segments.size() ? std::min(segments[s + 1].begin, tokens) : tokens;
    const layout::Pattern::RunList& list = pattern.lists()[segments[s].list];
    here.clear();
    if (end - begin == 1) here.push_back({begin, begin});
    for (const layout::AffineRun& run : pattern.own_runs(list, room)) add_common(run, begin, end, here);
    for (std::uint32_t k = 0; k < list.shared_count; ++k) add_common(pattern.affine_runs()[list.shared_begin + k], begin, end, here);
    tidy(here);
    core = intersect(core, here);
    if (core.size() > most_ranges) core.resize(most_ranges);
  }
  return core;
}

/// What vertex i reads in the layer, and itself, of runs without steps or of few members.
CoreRow read_row(const Layout& layout, const layout::Layer& layer, Vertex i) {
  CoreRow row{{i, i}};
  std::vector<layout::Run> runs;
  for (const std::uint32_t r : layer.relations) {
    layout.relations[r].pattern().row(i, runs);
    for (const layout::Run& run : runs) add_members(run, row);
  }
  tidy(row);
  return row;
}

/// The first of the vertices first .. end-1 that is in none of the ranges.
std::optional<Vertex> find_gap(const CoreRow& row, Vertex first, Vertex end) {
  Vertex next = first;
  for (const ReadRange& range : row) {
    if (range.first > next) break;
    if (range.last >= next) next = range.last + 1;
  }
  return next < end ? std::optional(next) : std::nullopt;
}

/// A token that does not see all of first .. wanted-1 after this layer alone, and what it misses; asked are the readers with whom segments begin and end.
std::optional<UnreachablePair> find_missed(const Layout& layout, const layout::Layer& layer, Vertex first, Vertex wanted, const Budget& budget) {
  const layout::Pattern& pattern = layout.relations[layer.relations.front()].pattern();
  const auto& segments = pattern.segments();
  for (std::size_t s = 0; s < segments.size() && segments[s].begin < layout.tokens; ++s) {
    budget.poll();
    const Vertex end = s + 1 < segments.size() ? std::min(segments[s + 1].begin, layout.tokens) : layout.tokens;
    for (const Vertex reader : {segments[s].begin, end - 1}) {
      // Runs of many members with steps are left out: what seems to be missed may be among them.
      const auto gap = find_gap(read_row(layout, layer, reader), first, wanted);
      const bool is_read = gap && std::any_of(layer.relations.begin(), layer.relations.end(), [&](std::uint32_t r) { return layout.relations[r].pattern().reads(reader, *gap); });
      if (gap && !is_read) return UnreachablePair{reader, *gap};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ReachAnswer> answer_by_core(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (question.wanted.kind != ClassKind::all || layout.order.empty() || (question.count_unseen && question.depth && *question.depth < 2)) return std::nullopt;
  const layout::Layer &earlier = layout.layer(question.skip + 1), &later = layout.layer(question.skip + 2);
  if (earlier.relations.empty()) return std::nullopt;
  const Vertex first = question.wanted.ordinary_only ? 1 : 0, wanted = question.registers_too ? layout.vertices() : layout.tokens;
  for (const std::uint32_t r : later.relations) {
    const CoreRow core = find_core(layout.relations[r].pattern(), layout.tokens, budget);
    if (core.empty()) continue;
    CoreRow gathered;
    Vertex members = 0;
    for (const ReadRange& range : core) {
      for (Vertex k = range.first; k <= range.last && members < few_members; ++k, ++members) {
        const CoreRow row = read_row(layout, earlier, k);
        gathered.insert(gathered.end(), row.begin(), row.end());
        tidy(gathered);
        if (find_gap(gathered, first, wanted)) continue;
        const auto missed = find_missed(layout, earlier, first, wanted, budget);
        if (!missed) return std::nullopt;
        ReachAnswer answer;
        if (question.count_unseen) answer.unseen.assign(layout.tokens, 0);
        answer.reach.layers = 2;
        answer.reach.witness = missed;
        return answer;
      }
    }
  }
  return std::nullopt;
}

}  // namespace sightline::sight

#include "sightline/symmetry/target_chooser.hpp"

#include <span>

#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

namespace {

/// Neighbourhoods are compared where they have at most so many vertices.
constexpr Threshold<std::size_t> most_near{64, 1, "near targets"};

}  // namespace

Cell TargetChooser::choose(std::optional<Vertex> last) {
  const Partition& partition = tree_.partition();
  if (tree_.graph().vertices <= careful_choice_limit) return choose_carefully();
  if (!prefer_.empty()) {
    for (; preferred_ < partition.cells(); ++preferred_) {
      if (partition.size(preferred_) > 1 && is_preferred(preferred_)) return preferred_;
    }
  }
  while (partition.size(oldest_) == 1) ++oldest_;
  if (last && partition.size(oldest_) == 2) return choose_nearest_pair(*last).value_or(oldest_);
  return oldest_;
}

Cell TargetChooser::choose_carefully() {
  const Partition& partition = tree_.partition();
  Cell best = 0;
  std::uint64_t best_joins = 0;
  bool best_preferred = false, found = false;
  counts_.assign(partition.cells(), 0);
  for (Cell cell = 0; cell < partition.cells(); ++cell) {
    if (partition.size(cell) == 1) continue;
    const bool preferred = is_preferred(cell);
    if (found && best_preferred && !preferred) continue;
    const std::uint64_t joins = count_joins(partition.members(cell).front());
    const bool better = !found || (preferred && !best_preferred) || joins > best_joins ||
                        (joins == best_joins && partition.size(cell) < partition.size(best));
    if (better) {
      best = cell;
      best_joins = joins;
      best_preferred = preferred;
      found = true;
    }
  }
  return best;
}

std::optional<Cell> TargetChooser::choose_nearest_pair(Vertex v) {
  if (!prefer_.empty() || !list_neighbours(v, around_)) return std::nullopt;
  const Partition& partition = tree_.partition();
  std::optional<Cell> best;
  std::size_t best_common = 0;
  is_around_.resize(tree_.graph().vertices, 0);
  for (const Vertex x : around_) is_around_[x] = 1;
  for (const Vertex y : around_) {
    if (partition.size(partition.cell_of(y)) != 2 || !list_neighbours(y, beyond_)) continue;
    std::size_t common = 0;
    for (const Vertex x : beyond_) common += is_around_[x];
    if (!best || common > best_common) {
      best = partition.cell_of(y);
      best_common = common;
    }
  }
  for (const Vertex x : around_) is_around_[x] = 0;
  return best;
}

bool TargetChooser::list_neighbours(Vertex v, std::vector<Vertex>& out) const {
  out.clear();
  if (tree_.graph().arcs) {
    const std::span<const Vertex> neighbours = tree_.graph().arcs->neighbours_of(v);
    if (neighbours.size() <= most_near) out.assign(neighbours.begin(), neighbours.end());
    return neighbours.size() <= most_near;
  }
  for (const RunRelation& relation : tree_.graph().relations) {
    for (const SpanLists* lists : {&relation.rows, &relation.by_read()}) {
      for (const Span* span = lists->list_begin(v); span != lists->list_end(v); ++span) {
        if ((span->last - span->first) / span->step >= most_near - out.size()) return false;
        for (std::uint64_t x = span->first; x <= span->last; x += span->step) out.push_back(static_cast<Vertex>(x));
      }
      if (relation.symmetric) break;
    }
  }
  return true;
}

std::uint64_t TargetChooser::count_joins(Vertex v) {
  const Partition& partition = tree_.partition();
  std::uint64_t joins = 0;
  if (tree_.graph().arcs) {
    const ArcLists& arcs = *tree_.graph().arcs;
    std::uint32_t k = arcs.begin_of(arcs.first_bundle[v]);
    for (std::uint32_t bundle = arcs.first_bundle[v]; bundle < arcs.first_bundle[v + 1]; ++bundle) {
      for (; k < arcs.bundles[bundle].end; ++k) {
        const Cell cell = partition.cell_of(arcs.neighbours[k]);
        if (counts_[cell]++ == 0) met_.push_back(cell);
      }
      joins += count_met();
    }
    return joins;
  }
  for (const RunRelation& relation : tree_.graph().relations) {
    for (const SpanLists* lists : {&relation.rows, &relation.by_read()}) {
      for (const Span* span = lists->list_begin(v); span != lists->list_end(v); ++span) {
        for (std::uint64_t x = span->first; x <= span->last; x += span->step) {
          const Cell cell = partition.cell_of(static_cast<Vertex>(x));
          if (counts_[cell]++ == 0) met_.push_back(cell);
        }
      }
      joins += count_met();
    }
  }
  return joins;
}

std::uint64_t TargetChooser::count_met() {
  std::uint64_t joins = 0;
  for (const Cell cell : met_) {
    if (counts_[cell] < tree_.partition().size(cell)) ++joins;
    counts_[cell] = 0;
  }
  met_.clear();
  return joins;
}

}  // namespace sightline::symmetry

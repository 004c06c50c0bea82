#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/symmetry/orbits.hpp"

namespace sightline::sight {

namespace {

/// Components of vertices that ranges hold together, joined only when all ranges are known: by differences, for each of the first few steps.
class RangeJoiner {
public:
  RangeJoiner(symmetry::Orbits& components, Vertex vertices, const Budget& budget) : components_(components), vertices_(vertices), booking_(budget) {}

  /// first, first + step, .., last are in one component.
  void join(Vertex first, Vertex last, Vertex step) {
    if (first == last) return;
    std::vector<std::int32_t>* const linked = find_linked(step);
    if (linked == nullptr) {
      for (std::uint64_t x = first; x < last; x += step) components_.join(first, static_cast<Vertex>(x + step));
      return;
    }
    ++(*linked)[first];
    --(*linked)[last];
  }

  void finish() {
    for (auto& [step, linked] : linked_) {
      for (Vertex x = 0; std::uint64_t{x} + step < vertices_; ++x) {
        if (x >= step) linked[x] += linked[x - step];
        if (linked[x] > 0) components_.join(x, x + step);
      }
    }
  }

private:
  /// By vertex x, as differences along the step: how many ranges hold both x and x + step? Null beyond the first few steps.
  std::vector<std::int32_t>* find_linked(Vertex step) {
    constexpr std::size_t most_steps = 8;
    const auto at = std::find_if(linked_.begin(), linked_.end(), [step](const auto& entry) { return entry.first == step; });
    if (at != linked_.end()) return &at->second;
    if (linked_.size() == most_steps) return nullptr;
    booking_.grow(std::uint64_t{vertices_} * sizeof(std::int32_t));
    return &linked_.emplace_back(step, std::vector<std::int32_t>(vertices_, 0)).second;
  }

  symmetry::Orbits& components_;
  Vertex vertices_;
  Booking booking_;
  std::vector<std::pair<Vertex, std::vector<std::int32_t>>> linked_;
};

/// Vertices that arcs join, whichever way they point: by vertex, how many stand in its component. O(ranges + vertices), and members of ranges
/// beyond the first few steps.
std::vector<Vertex> measure_components(const Layout& layout, const Budget& budget) {
  const Vertex vertices = layout.vertices();
  const Booking booking(budget, std::uint64_t{vertices} * 16);
  symmetry::Orbits components(vertices);
  RangeJoiner joiner(components, vertices, budget);
  for (const auto& layer : find_read_layers(layout, budget)) {
    for_each_stretch(*layer, [&](Vertex begin, Vertex end, std::span<const ReadRange> ranges) {
      budget.poll();
      if (ranges.empty()) return;
      joiner.join(begin, end - 1, 1);
      for (const ReadRange& range : ranges) {
        components.join(begin, range.first);
        joiner.join(range.first, range.last, range.step);
      }
    });
  }
  joiner.finish();
  std::vector<Vertex> size(vertices);
  for (Vertex x = 0; x < vertices; ++x) size[x] = components.size(x);
  return size;
}

/// Does the relation part the vertices into sets that read all of themselves, with one colour each, and nothing else? One row written in two ways: no.
bool is_partition(const layout::Relation& relation, const Budget& budget) {
  if (relation.relative().kind != layout::RelativeKind::none) return false;
  const Vertex n = relation.vertex_count();
  const Booking booking(budget, std::uint64_t{n} * 2 * sizeof(Vertex));
  constexpr Vertex unknown = ~Vertex{0};
  std::vector<Vertex> row_of(n, unknown), missing;  // by the least vertex of a set: the number of its row; by row: how many of its members have not come
  std::vector<std::vector<layout::ColouredRun>> rows;
  std::vector<layout::ColouredRun> row;
  for (Vertex i = 0, end = 0; i < n; i = end) {
    budget.poll();
    end = relation.same_row_until(i);
    relation.row(i, row);
    if (row.empty()) {  // each by itself
      for (Vertex k = i; k < end; ++k) {
        if (std::exchange(row_of[k], static_cast<Vertex>(rows.size())) != unknown) return false;
      }
      rows.emplace_back();
      missing.push_back(0);
      continue;
    }
    Vertex least = row.front().first, size = 0, own = 0;
    for (const layout::ColouredRun& run : row) {
      if (run.colour != row.front().colour || run.colour_step != 0) return false;
      least = std::min(least, run.first);
      size += run.size();
      for (Vertex k = std::max(i, run.first); k < end && k <= run.last; ++k) own += (k - run.first) % run.step == 0 ? 1 : 0;
    }
    if (own != end - i) return false;
    if (least == i && row_of[i] == unknown) {
      row_of[i] = static_cast<Vertex>(rows.size());
      rows.push_back(row);
      missing.push_back(size);
    }
    if (row_of[least] == unknown || rows[row_of[least]] != row || missing[row_of[least]] < end - i) return false;
    missing[row_of[least]] -= end - i;
  }
  return std::all_of(missing.begin(), missing.end(), [](Vertex left) { return left == 0; });
}

/// A layer such that all rows follow from what is in sight of a root that sees everything within the layers behind it: the one by which every relation has occurred, or
/// the one before where the last relation comes alone and parts the vertices into sets, of which a member shows the row of all (docs/theory.md 16.47).
std::uint64_t compute_first_shown(const Layout& layout, const Budget& budget) {
  const std::uint64_t last = compute_first_occurrence(layout);
  if (last == 0 || layout.layer(last).relations.size() != 1) return last;
  const std::uint32_t r = layout.layer(last).relations.front();
  std::vector<std::uint64_t> first = compute_first_layers(layout);
  first[r] = last - 1;
  const std::uint64_t shown = *std::max_element(first.begin(), first.end());
  return shown == last || !is_partition(layout.relations[r], budget) ? last : shown;
}

}  // namespace

std::optional<std::vector<Vertex>> count_unseen_behind(const Layout& layout, std::uint64_t first, std::uint64_t depth, const Budget& budget) {
  constexpr Vertex most_by_bits = 65536;
  ReachQuestion question;
  question.layout = &layout;
  question.skip = first;
  question.depth = depth - first;
  question.registers_too = true;
  question.count_unseen = true;
  std::optional<ReachAnswer> answer = layout.vertices() <= most_by_bits ? answer_reach(question, budget) : answer_cheaply(question, budget);
  if (!answer) answer = answer_by_late(question, budget);
  if (!answer) return std::nullopt;
  return std::move(answer->unseen);
}

std::vector<bool> find_complete_roots(const Layout& layout, std::uint64_t depth, const Budget& budget) {
  std::vector<bool> complete(layout.tokens, false);
  const std::uint64_t first = compute_first_occurrence(layout);
  if (layout.has_equal_registers()) return complete;
  std::optional<std::vector<Vertex>> behind;
  for (const std::uint64_t layer : std::set{compute_first_shown(layout, budget), first}) {
    if (depth < layer) return complete;
    behind = count_unseen_behind(layout, layer, depth, budget);
    for (Vertex a = 0; behind && a < layout.tokens; ++a) complete[a] = (*behind)[a] == 0;
    if (std::find(complete.begin(), complete.end(), true) != complete.end()) return complete;
  }
  if (!behind) return complete;
  const std::vector<Vertex>& unseen = *behind;
  // Nobody sees everything: perhaps there is more than one component.
  const std::vector<Vertex> component = measure_components(layout, budget);
  if (component[0] == layout.vertices()) return complete;
  // A root of another component that has as many rows in view and sees nothing else, but not the whole of its component, might have a view like one
  // that is whole.
  const std::optional<std::vector<Vertex>> ever = count_unseen_behind(layout, 0, depth, budget);
  std::set<Vertex> doubtful;
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if (unseen[a] + component[a] != layout.vertices() && (!ever || (*ever)[a] == unseen[a])) doubtful.insert(unseen[a]);
  }
  for (Vertex a = 0; a < layout.tokens; ++a) complete[a] = unseen[a] + component[a] == layout.vertices() && !doubtful.contains(unseen[a]);
  return complete;
}

std::vector<bool> recall_complete_roots(const Layout& layout, std::uint64_t depth, const ViewRecords* records, const Budget& budget) {
  if (records != nullptr) {
    if (const auto known = records->complete.find(depth); known != records->complete.end()) return known->second;
  }
  return find_complete_roots(layout, depth, budget);
}

bool drop_alone(const Layout& layout, std::uint64_t depth, const std::function<bool(Vertex)>& is_alone, std::vector<Vertex>& roots, const Budget& budget) {
  if (layout.has_equal_registers() || !std::ranges::any_of(roots, is_alone)) return false;
  const std::optional<std::vector<Vertex>> unseen = count_unseen_behind(layout, 0, depth, budget);
  if (!unseen) return true;
  std::map<Vertex, Vertex> alike;
  for (const Vertex a : roots) ++alike[(*unseen)[a]];
  std::erase_if(roots, [&](Vertex a) { return alike[(*unseen)[a]] == 1 && is_alone(a); });
  return true;
}

}  // namespace sightline::sight

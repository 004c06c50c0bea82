// What isomorphisms keep of each vertex alone, for all views at once.
#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/kept_rows.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/stepped_sums.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

/// Which number the tokens of one hash have.
class NumberOfHash {
public:
  explicit NumberOfHash(std::size_t expected) : slots_(std::bit_ceil(4 * expected + 64), {0, 0}) {}

  /// Have tokens of this hash another number?
  [[nodiscard]] bool contradicts(std::uint64_t hash, Vertex number) const {
    const auto& slot = slots_[find(hash | 1)];
    return slot.first != 0 && slot.second != number;
  }

  /// False when tokens of this hash had another number before.
  bool agrees(std::uint64_t hash, Vertex number) {
    const std::uint64_t key = hash | 1;
    if (const auto& last = slots_[find(key)]; last.first != 0) return last.second == number;
    if (2 * ++used_ > slots_.size()) grow();
    slots_[find(key)] = {key, number};
    return true;
  }

private:
  [[nodiscard]] std::size_t find(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key >> 7) & mask;
    while (slots_[at].first != 0 && slots_[at].first != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<std::pair<std::uint64_t, Vertex>> old(2 * slots_.size(), {0, 0});
    old.swap(slots_);
    for (const auto& slot : old) {
      if (slot.first != 0) slots_[find(slot.first)] = slot;
    }
  }

  std::vector<std::pair<std::uint64_t, Vertex>> slots_;
  std::size_t used_ = 0;
};

/// With which colours does a root read each vertex? All its rows are in sight.
class RootColumns {
public:
  RootColumns(const Layout& layout, const std::vector<std::uint64_t>& first, std::uint64_t depth) : layout_(layout), read_(layout.vertices(), 0) {
    for (std::uint32_t r = 0; r < first.size(); ++r) {
      if (first[r] != 0 && first[r] <= depth) used_.push_back(r);
    }
  }

  [[nodiscard]] const std::vector<std::uint64_t>& read(Vertex a) {
    if (used_.empty()) return read_;
    std::fill(read_.begin(), read_.end(), 0);
    for (const std::uint32_t r : used_) {
      layout_.relations[r].row(a, row_);
      for (const layout::ColouredRun& run : row_) {
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) read_[j] += mix(mix(r + 5) + static_cast<std::uint64_t>(colour));
      }
    }
    return read_;
  }

private:
  const Layout& layout_;
  std::vector<std::uint32_t> used_;
  std::vector<std::uint64_t> read_;
  std::vector<layout::ColouredRun> row_;
};

/// Which vertices does every one of the roots read, or is? `change`: of zeros, one more than vertices; left so.
void mark_common(const layout::Relation& relation, const std::vector<Vertex>& roots, std::vector<std::uint32_t>& change, const Budget& budget, std::vector<bool>& common) {
  const Vertex vertices = relation.vertex_count();
  std::optional<SteppedSums<std::uint32_t>> stepped;  // once a run has a step
  std::vector<layout::Run> row;
  for (std::size_t k = 0, end = 0; k < roots.size(); k = end) {
    budget.poll();
    const Vertex until = relation.pattern().same_row_until(roots[k]);
    relation.pattern().row(roots[k], row);
    while (end < roots.size() && roots[end] < until) {
      const Vertex a = roots[end++];
      if (std::any_of(row.begin(), row.end(), [a](const layout::Run& run) { return run.contains(a); })) continue;
      ++change[a];
      --change[std::size_t{a} + 1];
    }
    const auto readers = static_cast<std::uint32_t>(end - k);
    for (const layout::Run& run : row) {
      if (run.step > 1) {
        if (!stepped) stepped.emplace(vertices);
        stepped->add(run.first, run.last, run.step, readers);
        continue;
      }
      change[run.first] += readers;
      change[std::size_t{run.last} + 1] -= readers;
    }
  }
  const std::vector<std::uint32_t> more = stepped ? std::move(*stepped).take() : std::vector<std::uint32_t>{};
  std::uint32_t readers = 0;
  for (Vertex j = 0; j < vertices; ++j) {
    readers += std::exchange(change[j], 0);
    common[j] = readers + (more.empty() ? 0 : more[j]) == roots.size();
  }
  change[vertices] = 0;
}

/// Might some vertex be read by all of the roots, or be the only one that does not? Told by the ends of the rows of three of them.
bool may_share(const layout::Relation& relation, const std::vector<Vertex>& roots) {
  std::vector<std::pair<Vertex, Vertex>> common{{0, relation.pattern().vertex_count() - 1}}, still;
  for (const Vertex a : {roots.front(), roots[roots.size() / 2], roots.back()}) {
    std::vector<layout::Run> row = relation.pattern().row(a);
    row.push_back({a, a, 1, 1});
    still.clear();
    for (const auto& [low, high] : common) {
      for (const layout::Run& run : row) {
        if (std::max(low, run.first) <= std::min(high, run.last)) still.emplace_back(std::max(low, run.first), std::min(high, run.last));
      }
    }
    common.swap(still);
  }
  return !common.empty();
}

/// Neighbours whose rows are described alike in every relation, that have one colour, one number of `told`, and are `alike`.
struct Neighbours {
  Vertex first = 0, count = 0;
  std::size_t stretch = 0;
};

template <class Alike>
std::vector<Neighbours> list_neighbours(const Layout& layout, Vertex end, const Kept& kept, const std::vector<std::uint64_t>& told, const Alike& alike) {
  std::vector<Neighbours> result;
  std::size_t stretches = 0;
  for (Vertex j = 0; j < end; ++j) {
    stretches += kept.begins[j] ? 1 : 0;
    if (kept.begins[j] || told[j] != told[j - 1] || layout.vertex_colour[j] != layout.vertex_colour[j - 1] || !alike(j - 1, j)) result.push_back({j, 0, stretches - 1});
    ++result.back().count;
  }
  return result;
}

/// A token and its image have one time left, no less than the bounds T of both: so the rows of both that are visible at the larger bound agree
/// (docs/theory.md 16.33). One pass over the tokens for each set of rows that some bound shows.
/// @param told  what isomorphisms keep of each vertex besides
bool do_common_times_explain(const Layout& layout, const std::vector<std::int64_t>& time, const std::vector<Vertex>& number, const std::vector<std::uint64_t>& told, const Kept& kept,
                             const Budget& budget) {
  std::vector<std::uint64_t> levels{0};  // times at which more rows are visible
  for (const std::uint64_t first : kept.first) {
    if (first != 0) levels.push_back(first);
  }
  std::sort(levels.begin(), levels.end());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  const auto level_of = [&](Vertex j) { return *(std::upper_bound(levels.begin(), levels.end(), static_cast<std::uint64_t>(std::max<std::int64_t>(time[j], 0))) - 1); };
  const std::vector<Neighbours> asked = list_neighbours(layout, layout.tokens, kept, told, [&](Vertex i, Vertex j) { return number[i] == number[j] && time[i] == time[j]; });
  // As Kept::describe says it, grown from level to level.
  std::vector<std::uint64_t> hash;
  hash.reserve(asked.size());
  for (const auto& [j, count, stretch] : asked) hash.push_back(mix(layout.vertex_colour[j] + told[j]));
  for (const std::uint64_t level : levels) {
    budget.poll();
    for (std::size_t r = 0; r < kept.first.size(); ++r) {
      if (level == 0 || kept.first[r] != level) continue;
      for (std::size_t k = 0; k < asked.size(); ++k) hash[k] = mix(hash[k] ^ (kept.rows[r][asked[k].stretch] + r));
    }
    NumberOfHash known(asked.size());
    for (const bool own : {true, false}) {
      for (std::size_t k = 0; k < asked.size(); ++k) {
        const Vertex j = asked[k].first;
        const std::uint64_t at = level_of(j);
        if (own ? at != level : at > level) continue;
        if (own ? !known.agrees(hash[k], number[j]) : known.contradicts(hash[k], number[j])) return false;
      }
    }
  }
  return true;
}

/// What isomorphisms keep of a vertex because fixed ones read it. A vertex that no other is like, in what is kept of it and in the rows that T shows, is fixed, and so is
/// then what it reads in each of these rows and colours, as a set (docs/theory.md 16.64).
class FixedReaders {
public:
  FixedReaders(const Layout& layout, const std::vector<std::int64_t>& time, const Kept& kept, const Budget& budget)
      : told(layout.vertices(), 0), layout_(layout), time_(time), kept_(kept), budget_(budget), fixed_(layout.vertices(), false) {}

  std::vector<std::uint64_t> told;  ///< by vertex

  /// False when no more vertices turn out to be fixed, or what they read is too much.
  bool spread() {
    constexpr std::uint64_t most_arcs = std::uint64_t{1} << 26;
    const std::vector<Vertex> fresh = find_fixed();
    if (fresh.empty()) return false;
    SteppedSums<std::uint64_t> read(layout_.vertices());
    std::vector<layout::ColouredRun> row;
    for (const Vertex p : fresh) {
      for (std::size_t r = 0; r < kept_.first.size(); ++r) {
        if (!is_visible(r, p)) continue;
        budget_.poll();
        layout_.relations[r].row(p, row);
        for (const layout::ColouredRun& run : row) {
          const std::uint64_t reader = mix(mix(p) + r);
          if (run.colour_step == 0) {
            read.add(run.first, run.last, run.step, mix(reader + static_cast<std::uint64_t>(run.colour)));
            continue;
          }
          if (arcs_ += run.size(); arcs_ > most_arcs) return false;
          std::int64_t colour = run.colour;
          for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
            read.add(static_cast<Vertex>(j), static_cast<Vertex>(j), 1, mix(reader + static_cast<std::uint64_t>(colour)));
          }
        }
      }
    }
    const std::vector<std::uint64_t> sums = std::move(read).take();
    for (Vertex j = 0; j < layout_.vertices(); ++j) told[j] = mix(told[j] + sums[j]);
    return true;
  }

private:
  [[nodiscard]] bool is_visible(std::size_t r, Vertex p) const { return kept_.first[r] != 0 && time_[p] >= static_cast<std::int64_t>(kept_.first[r]); }

  /// Newly found, with some row in sight.
  std::vector<Vertex> find_fixed() {
    std::vector<std::uint64_t> levels;
    for (const std::uint64_t first : kept_.first) {
      if (first != 0) levels.push_back(first);
    }
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    std::vector<Vertex> fresh;
    const std::vector<Neighbours> asked = list_neighbours(layout_, layout_.vertices(), kept_, told, [](Vertex, Vertex) { return true; });
    std::vector<std::pair<std::uint64_t, std::size_t>> described;
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const auto is_of_level = [&](Vertex j) {
        return time_[j] >= static_cast<std::int64_t>(levels[k]) && (k + 1 == levels.size() || time_[j] < static_cast<std::int64_t>(levels[k + 1]));
      };
      bool any = false;
      for (Vertex j = 0; j < layout_.vertices() && !any; ++j) any = !fixed_[j] && is_of_level(j);
      if (!any) continue;
      described.clear();
      for (const auto& [j, count, stretch] : asked) described.emplace_back(kept_.describe(mix(layout_.vertex_colour[j] + told[j]), stretch, levels[k]), described.size());
      std::sort(described.begin(), described.end());
      for (std::size_t at = 0, end = 0; at < described.size(); at = end) {
        while (end < described.size() && described[end].first == described[at].first) ++end;
        const auto& [j, count, stretch] = asked[described[at].second];
        if (end - at != 1 || count != 1 || fixed_[j] || !is_of_level(j)) continue;
        fixed_[j] = true;
        fresh.push_back(j);
      }
    }
    return fresh;
  }

  const Layout& layout_;
  const std::vector<std::int64_t>& time_;
  const Kept& kept_;
  const Budget& budget_;
  std::vector<bool> fixed_;
  std::uint64_t arcs_ = 0;
};

}  // namespace

std::vector<std::int64_t> bound_times(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const Budget& budget) {
  std::vector<std::int64_t> time(layout.vertices(), -1);
  std::vector<bool> met(layout.relations.size(), false), common(layout.vertices());
  std::vector<std::uint32_t> change(std::size_t{layout.vertices()} + 1, 0);
  const std::uint64_t period = layout.order.size();
  for (std::uint64_t q = depth; q >= 1 && q + period > depth; --q) {
    for (const std::uint32_t r : layout.layer(q).relations) {
      if (met[r]) continue;  // at a later layer
      met[r] = true;
      if (!may_share(layout.relations[r], roots)) continue;
      mark_common(layout.relations[r], roots, change, budget, common);
      for (Vertex j = 0; j < layout.vertices(); ++j) {
        if (common[j]) time[j] = std::max(time[j], static_cast<std::int64_t>(q) - 1);
      }
    }
  }
  std::vector<LateSource> sources;
  for (Vertex j = 0; j < layout.vertices(); ++j) {
    if (time[j] >= 0) sources.push_back({j, time[j]});
  }
  std::stable_sort(sources.begin(), sources.end(), [](const LateSource& a, const LateSource& b) { return a.time > b.time; });
  return compute_latest_from(layout, 0, sources, budget);
}

bool are_times_few(std::size_t roots, Vertex vertices) {
  constexpr Threshold<std::uint64_t> most_work{std::uint64_t{1} << 24, 0, "view times"};  // beyond this, comparing views by their classes is quicker
  return std::uint64_t{roots} * vertices <= most_work;
}

bool do_times_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number, const Budget& budget) {
  const Vertex vertices = layout.vertices();
  if (layout.has_equal_registers() || layout.order.empty()) return false;
  const Booking booking(budget, (layout.relations.size() * 8 + 128) * std::uint64_t{vertices});
  const bool few = are_times_few(roots.size(), vertices);
  const std::vector<std::int64_t> time = bound_times(layout, depth, roots, budget);
  if (!few && std::all_of(time.begin(), time.end(), [](std::int64_t t) { return t < 0; })) return false;
  const Kept kept(layout, budget);
  constexpr int most_rounds = 4;
  FixedReaders readers(layout, time, kept, budget);
  for (int round = 0;; ++round) {
    if (do_common_times_explain(layout, time, number, readers.told, kept, budget)) return true;
    if (round == most_rounds || !readers.spread()) break;
  }
  if (!few) return false;
  // Roots with rows of one kind are looked at together: maps lead to no others.
  std::vector<std::pair<std::uint64_t, Vertex>> kinds;
  std::vector<std::size_t> stretch(layout.tokens, 0);
  for (Vertex j = 1; j < layout.tokens; ++j) stretch[j] = stretch[j - 1] + (kept.begins[j] ? 1 : 0);
  for (const Vertex a : roots) kinds.emplace_back(kept.describe(mix(layout.vertex_colour[a]), stretch[a], depth), a);
  std::sort(kinds.begin(), kinds.end());
  RootColumns columns(layout, kept.first, depth);
  std::optional<NumberOfHash> known;
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    budget.poll();
    if (k == 0 || kinds[k].first != kinds[k - 1].first) known.emplace(layout.tokens);
    const Vertex a = kinds[k].second;
    const std::vector<std::int64_t> latest = compute_latest(layout, depth, a, budget);
    const std::vector<std::uint64_t>& read = columns.read(a);
    for (Vertex j = 0; j < layout.tokens; ++j) {
      if (latest[j] < 0) continue;
      const auto left = static_cast<std::uint64_t>(latest[j]);
      const std::uint64_t hash = kept.describe(mix(mix(layout.vertex_colour[j] + read[j]) + 2 * left + (j == a ? 1 : 0)), stretch[j], left);
      if (!known->agrees(hash, number[j])) return false;
    }
  }
  return true;
}

}  // namespace sightline::sight

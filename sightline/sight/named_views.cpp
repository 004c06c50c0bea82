// Views in which most vertices have a name: what surrounds them, read some layers far, is like nothing else (docs/theory.md 16.115).
#include <algorithm>
#include <bit>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "sightline/base/mix.hpp"
#include "sightline/sight/lane.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using Place = std::uint32_t;

/// Lists of places, one after another.
class PlaceLists {
public:
  void add(std::span<const Place> list) {
    members_.insert(members_.end(), list.begin(), list.end());
    begin_.push_back(members_.size());
  }
  [[nodiscard]] std::span<const Place> of(Place p) const { return std::span(members_).subspan(begin_[p], begin_[p + 1] - begin_[p]); }
  [[nodiscard]] std::size_t begin_of(Place p) const { return begin_[p]; }
  /// By place: whose lists hold it.
  [[nodiscard]] PlaceLists turned(std::size_t places) const {
    PlaceLists other;
    other.begin_.assign(places + 2, 0);
    for (const Place p : members_) ++other.begin_[p + 2];
    std::partial_sum(other.begin_.begin(), other.begin_.end(), other.begin_.begin());
    other.members_.resize(members_.size());
    for (Place p = 0; p + 1 < begin_.size(); ++p) {
      for (const Place q : of(p)) other.members_[other.begin_[q + 1]++] = p;
    }
    other.begin_.pop_back();
    return other;
  }

private:
  std::vector<Place> members_;
  std::vector<std::size_t> begin_{0};
};

/// One layer over and over, a symmetric class of the layout's group in one place: its members read, and are read by all others, alike.
class NamedViews {
public:
  using Roots = Lane<8>;
  static constexpr std::size_t strip_width = 512;

  NamedViews(const Layout& layout, const group::Group& group, std::uint64_t depth, const Budget& budget) : layout_(layout), group_(group), depth_(depth), budget_(budget), booking_(budget) {
    std::vector<Vertex> first = number_symmetric_classes(group);
    for (Vertex r = layout.tokens; r < layout.vertices(); ++r) first.push_back(r);
    place_.resize(first.size());
    for (Vertex v = 0; v < first.size(); ++v) {
      if (first[v] == v) {
        place_[v] = static_cast<Place>(vertex_.size());
        vertex_.push_back(v);
        count_.push_back(0);
      } else {
        place_[v] = place_[first[v]];
      }
      ++count_[place_[v]];
    }
  }

  /// False: rows are long, or less than half of the places have a name.
  bool make(std::size_t roots) {
    if (do_symmetries_move_most() || !read_rows(roots)) return false;
    readers_ = rows_.turned(vertex_.size());
    constexpr std::uint64_t most_twice = std::uint64_t{1} << 27;
    std::uint64_t twice = 0, pairs = 0;
    for (Place p = 0; p < vertex_.size(); ++p) {
      twice += arcs_of(p).size() * readers_.of(p).size();
      pairs += rows_.of(p).size() * rows_.of(p).size();
    }
    reads_twice_ = vertex_.size() == layout_.vertices() && twice <= most_twice;
    find_names();
    if (2 * named_ < vertex_.size()) return false;
    pairs_ = pairs <= most_twice;
    if (pairs_) pair_readers();
    return true;
  }

  /// Takes away the roots of whose views every isomorphism stays within the classes.
  void drop(std::vector<Vertex>& roots) {
    booking_.grow(vertex_.size() * 8 * sizeof(Roots));
    open_.resize(vertex_.size());
    shows_.resize(vertex_.size());
    std::vector<Vertex> open;
    for (std::size_t begin = 0; begin < roots.size(); begin += strip_width) {
      const std::span<const Vertex> strip = std::span(roots).subspan(begin, std::min(strip_width, roots.size() - begin));
      see(strip);
      spread();
      Roots unfixed{};
      for (const Roots& list : open_) unfixed |= list;
      for (std::size_t k = 0; k < strip.size(); ++k) {
        if (unfixed.get(k)) open.push_back(strip[k]);
      }
      if (begin == 0 && open.size() == strip.size()) return;  // nor will the others be
    }
    roots = std::move(open);
  }

private:
  using Arc = std::pair<Place, std::uint64_t>;
  [[nodiscard]] std::span<const Arc> arcs_of(Place p) const {
    const std::size_t begin = p == 0 ? 0 : arcs_end_[p - 1];
    return std::span(arcs_).subspan(begin, arcs_end_[p] - begin);
  }

  /// What a symmetry takes out of its class is called like what is there.
  [[nodiscard]] bool do_symmetries_move_most() const {
    std::vector<Vertex> size(vertex_.size());
    for (const Vertex least : group_.orbit) ++size[place_[least]];
    std::size_t moved = 0;
    for (Place p = 0; p < vertex_.size(); ++p) {
      if (const Vertex v = vertex_[p]; v < group_.orbit.size() && size[place_[group_.orbit[v]]] > count_[p]) ++moved;
    }
    return 2 * moved > vertex_.size();
  }

  bool read_rows(std::size_t roots) {
    constexpr std::uint64_t most_pairs = std::uint64_t{1} << 35;
    const std::uint64_t places = vertex_.size(), most_arcs = std::max(64 * places, std::min(256 * places, std::uint64_t{1} << 22));
    std::vector<layout::ColouredRun> row;
    std::vector<Place> list;
    for (Place p = 0; p < vertex_.size(); ++p) {
      budget_.poll();
      list.clear();
      for (const std::uint32_t r : layout_.layers[layout_.order.front()].relations) {
        layout_.relations[r].row(vertex_[p], row);
        for (const layout::ColouredRun& run : row) {
          if (arcs_.size() + run.size() > most_arcs || (arcs_.size() + run.size()) * roots > most_pairs) return false;
          std::int64_t colour = run.colour;
          for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
            arcs_.emplace_back(place_[j], mix(root_hash::weigh(colour) + r));
            list.push_back(place_[j]);
          }
        }
      }
      arcs_end_.push_back(arcs_.size());
      std::sort(list.begin(), list.end());
      list.erase(std::unique(list.begin(), list.end()), list.end());
      rows_.add(list);
    }
    booking_.grow(arcs_.size() * (sizeof(arcs_[0]) + 3 * sizeof(Place)));
    return true;
  }

  /// level_: how many layers have to be left at a place for its name to be like no other's.
  void find_names() {
    const std::size_t places = vertex_.size();
    level_.assign(places, ~std::uint64_t{0});
    std::vector<std::uint64_t> name(places), next(places);
    std::vector<std::pair<std::uint64_t, Place>> sorted(places);
    for (Place p = 0; p < places; ++p) name[p] = mix(layout_.vertex_colour[vertex_[p]]);
    std::size_t before = 0;
    for (std::uint64_t k = 0; k <= depth_ && k <= root_hash::most_rounds; ++k) {
      for (Place p = 0; p < places; ++p) sorted[p] = {name[p], p};
      std::sort(sorted.begin(), sorted.end());
      std::size_t distinct = 0;
      for (std::size_t i = 0; i < places; ++i) {
        const bool opens = i == 0 || sorted[i - 1].first != sorted[i].first, closes = i + 1 == places || sorted[i + 1].first != sorted[i].first;
        distinct += opens ? 1 : 0;
        if (!opens || !closes || level_[sorted[i].second] != ~std::uint64_t{0}) continue;
        level_[sorted[i].second] = k;
        ++named_;
      }
      if (named_ == places || (distinct == before && (k >= 2 || !reads_twice_))) return;
      before = distinct;
      for (Place p = 0; p < places; ++p) {
        budget_.poll();
        std::uint64_t sum = 0;
        for (const Arc& arc : arcs_of(p)) sum += mix(name[arc.first] ^ arc.second);
        next[p] = mix(name[p] + mix(sum));
      }
      if (k == 1 && reads_twice_) add_common_reads(name, next);
      name.swap(next);
    }
  }

  /// What the rows that j reads have in common, to the name of j after two rounds: all of them are in sight where two layers are left.
  void add_common_reads(const std::vector<std::uint64_t>& first, std::vector<std::uint64_t>& second) {
    std::vector<std::uint64_t> common(vertex_.size(), 0);  // by what is read: who of j's row reads it
    for (Place j = 0; j < vertex_.size(); ++j) {
      budget_.poll();
      for (const Arc& arc : arcs_of(j)) {
        common[arc.first] += mix(arc.second);
        const std::uint64_t reader = mix(first[arc.first] ^ arc.second);
        for (const Arc& far : arcs_of(arc.first)) common[far.first] += mix(reader + far.second);
      }
      std::uint64_t sum = 0;
      for (const Arc& arc : arcs_of(j)) {
        std::uint64_t row = 0;
        for (const Arc& far : arcs_of(arc.first)) row += mix(common[far.first] ^ far.second);
        sum += mix(mix(row + common[arc.first]) ^ arc.second);
      }
      for (const Arc& arc : arcs_of(j)) {
        common[arc.first] = 0;
        for (const Arc& far : arcs_of(arc.first)) common[far.first] = 0;
      }
      second[j] = mix(second[j] + mix(sum));
    }
  }

  /// By place: who reads it, in groups of which any two read nothing else in common.
  void pair_readers() {
    constexpr unsigned most_groups = 64;
    std::vector<std::uint64_t> met(vertex_.size(), 0);  // in which groups' rows
    std::vector<std::pair<unsigned, Place>> grouped;
    std::vector<Place> sorted;
    for (Place j = 0; j < vertex_.size(); ++j) {
      budget_.poll();
      grouped.clear();
      for (const Place i : readers_.of(j)) {
        if (i == j) continue;
        std::uint64_t taken = 0;
        for (const Place z : rows_.of(i)) taken |= z == j ? 0 : met[z];
        const auto group = static_cast<unsigned>(std::countr_one(taken));
        if (group == most_groups) continue;
        grouped.emplace_back(group, i);
        for (const Place z : rows_.of(i)) met[z] |= std::uint64_t{1} << group;
      }
      for (const auto& [group, i] : grouped) {
        for (const Place z : rows_.of(i)) met[z] = 0;
      }
      std::sort(grouped.begin(), grouped.end());
      sorted.clear();
      for (std::size_t k = 0; k < grouped.size(); ++k) {
        sorted.push_back(grouped[k].second);
        opens_group_.push_back(k == 0 || grouped[k].first != grouped[k - 1].first);
      }
      paired_.add(sorted);
    }
  }

  /// From each root: what is seen, whose rows are in sight, and who is fixed by its name.
  void see(std::span<const Vertex> roots) {
    const std::size_t places = vertex_.size();
    seen_.assign(places, Roots{});
    fixed_.assign(places, Roots{});
    shown_.assign(places, Roots{});
    own_.assign(places, Roots{});
    fresh_.assign(places, Roots{});
    coming_.assign(places, Roots{});
    std::vector<Place> changed, touched;
    for (std::size_t k = 0; k < roots.size(); ++k) {
      const Place p = place_[roots[k]];
      if (!fresh_[p].any()) changed.push_back(p);
      fresh_[p].set(k);
      seen_[p].set(k);
      if (count_[p] > 1 && level_[p] <= depth_) own_[p].set(k);  // by its name; the others of its class are farther than it is
    }
    std::vector<Place> by_level(places);
    std::iota(by_level.begin(), by_level.end(), Place{0});
    std::sort(by_level.begin(), by_level.end(), [&](Place a, Place b) { return std::pair(level_[b], a) < std::pair(level_[a], b); });
    std::size_t at = 0;
    const auto fix = [&](std::uint64_t within) {  // those that are seen, when as many layers are left as their names ask for, or more
      for (; at < places && (level_[by_level[at]] > depth_ || depth_ - level_[by_level[at]] <= within); ++at) {
        const Place p = by_level[at];
        if (level_[p] <= depth_) fixed_[p] = seen_[p].without(own_[p]);
      }
    };
    for (std::uint64_t q = 0;; ++q) {
      fix(q);
      if (q + 1 == depth_) shown_ = seen_;
      if (q == depth_ || changed.empty()) break;
      budget_.poll();
      touched.clear();
      for (const Place p : changed) {
        for (const Place j : rows_.of(p)) {
          if (!coming_[j].any()) touched.push_back(j);
          coming_[j] |= fresh_[p];
        }
      }
      for (const Place p : changed) fresh_[p] = {};
      changed.clear();
      for (const Place j : touched) {
        fresh_[j] = std::exchange(coming_[j], Roots{}).without(seen_[j]);
        if (!fresh_[j].any()) continue;
        seen_[j] |= fresh_[j];
        changed.push_back(j);
      }
      if (changed.empty() && q + 1 < depth_) {
        shown_ = seen_;
        fix(depth_);
        break;
      }
    }
  }

  /// Where all but one of what a fixed vertex reads is fixed, that is, too; and what alone two of them read.
  void spread() {
    std::vector<bool> waits(vertex_.size(), true);
    std::vector<Place> waiting(vertex_.size());
    std::iota(waiting.begin(), waiting.end(), Place{0});
    const auto wake = [&](Place p) {
      if (!waits[p]) waiting.push_back(p);
      waits[p] = true;
    };
    const auto fix = [&](Place p, const Roots& more) {
      open_[p] = open_[p].without(more);
      const Roots shown = more.both(shown_[p]);
      shows_[p] |= shown;
      wake(p);
      for (const Place i : readers_.of(p)) wake(i);
      if (!pairs_ || !shown.any()) return;
      for (const Place j : rows_.of(p)) wake(j);
    };
    for (Place p = 0; p < vertex_.size(); ++p) {
      open_[p] = seen_[p].without(fixed_[p]);
      shows_[p] = fixed_[p];
      shows_[p] |= own_[p];
      shows_[p] = shows_[p].both(shown_[p]);
    }
    for (std::size_t at = 0; at < waiting.size(); ++at) {
      budget_.poll();
      const Place p = waiting[at];
      waits[p] = false;
      if (pairs_ && open_[p].any()) {
        if (const Roots more = read_by_pairs(p).both(open_[p]); more.any()) fix(p, more);
      }
      const Roots here = shows_[p];
      if (!here.any()) continue;
      Roots once{}, twice{};
      for (const Place j : rows_.of(p)) {
        twice |= once.both(open_[j]);
        once |= open_[j];
        if (!here.without(twice).any()) break;
      }
      const Roots alone = once.without(twice).both(here);
      if (!alone.any()) continue;
      for (const Place j : rows_.of(p)) {
        if (j == p) continue;  // a class that reads some of itself
        if (const Roots more = open_[j].both(alone); more.any()) fix(j, more);
      }
    }
  }

  /// For which roots two of a group's rows are in sight, their vertices fixed.
  [[nodiscard]] Roots read_by_pairs(Place p) const {
    Roots once{}, twice{};
    const std::span<const Place> readers = paired_.of(p);
    for (std::size_t k = 0; k < readers.size(); ++k) {
      if (opens_group_[paired_.begin_of(p) + k]) once = Roots{};
      const Roots& here = shows_[readers[k]];
      twice |= once.both(here);
      once |= here;
    }
    return twice;
  }

  const Layout& layout_;
  const group::Group& group_;
  std::uint64_t depth_;
  const Budget& budget_;
  Booking booking_;
  std::vector<Place> place_;                            ///< by vertex
  std::vector<Vertex> vertex_, count_;                  ///< by place: the first of its class, and how many it holds
  std::vector<Arc> arcs_;                               ///< what the first of each class reads, vertex by vertex, with the arc's colour and relation
  std::vector<std::size_t> arcs_end_;
  PlaceLists rows_, readers_, paired_;
  std::vector<bool> opens_group_;  ///< along paired_
  bool reads_twice_ = false, pairs_ = false;
  std::vector<std::uint64_t> level_;
  std::size_t named_ = 0;
  std::vector<Roots> seen_, fixed_, shown_, own_, fresh_, coming_;  ///< by place: for which roots
  std::vector<Roots> open_, shows_;                                 ///< seen and not fixed; taken into its class, its row in sight
};

}  // namespace

bool drop_named(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget, std::size_t fewest_roots) {
  if (layout.has_equal_registers() || !repeats_one_layer(layout) || depth == 0 || roots.size() < fewest_roots) return false;
  NamedViews views(layout, layout_group, depth, budget);
  if (!views.make(roots.size())) return false;
  const std::size_t before = roots.size();
  views.drop(roots);
  return roots.size() < before;
}

}  // namespace sightline::sight

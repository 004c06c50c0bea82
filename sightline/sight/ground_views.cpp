// Views that hold all rows of what they see, where all reading ends in one set that reads itself: the first frame of a video whose frames are read in full and
// whose time is causal (docs/theory.md 16.105).
//
//  1. The ground K: the tokens that one token, which everybody sees in the end, sees. K is in every set that holds what its members read.
//  2. If each vertex of K has a name of its own, rows name all others: what keeps whole rows and K's vertices in place is the identity.
//  3. So a symmetry of such a view is known by what it does on K, which is a symmetry of K's own rows. If these are as many as the layout has, each is one of the layout's.
// Or rows tell, without a ground, tokens apart that may not be exchanged: then whoever holds all rows of what he sees, and sees none but these, exchanges no others
// (docs/theory.md 16.117).
#include <algorithm>
#include <numeric>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/prefix_sums.hpp"
#include "sightline/sight/product_group.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

// Vertices that are gone through one by one; a fixed number, so that the same input gets the same answer everywhere.
constexpr std::uint64_t most_ground_work = std::uint64_t{1} << 25;
constexpr int most_rounds = 16;  ///< until all have seen the ground
constexpr int most_names = 3;    ///< rounds of names behind a ground
constexpr int most_own_names = 16;    ///< without one
constexpr Vertex most_named = 65536;  ///< vertices: of more a round costs as much as the other ways do

class Grounds {
public:
  Grounds(const Layout& layout, const Budget& budget) : layout_(layout), budget_(budget), booking_(budget, 48 * std::uint64_t{layout.vertices()}), sums_(layout.vertices()) {
    const std::vector<std::uint64_t> first = compute_first_layers(layout);
    for (std::size_t r = 0; r < first.size(); ++r) {
      if (first[r] == 0) continue;
      relations_.push_back(&layout.relations[r]);
      is_plain_ = is_plain_ && layout.relations[r].is_plain();
    }
    sums_.use(1);
    for (const layout::Relation* const relation : relations_) sums_.use(relation->pattern());
  }

  /// By vertex: does it see none, itself among them, that what it reads, and so on, does not tell from all of another number? @param number  by vertex
  std::optional<std::vector<bool>> find_told(const std::vector<Vertex>& number) {
    if (!is_plain_ || relations_.empty() || !name_by_rows({}, number, most_own_names) || !see(untold_)) return std::nullopt;
    std::vector<bool> told(layout_.vertices());
    for (Vertex j = 0; j < layout_.vertices(); ++j) told[j] = untold_[j] == 0;
    return told;
  }

  /// The ground, ascending, where rows name the others beside it; nothing: there is none, or this was not found out.
  std::optional<std::vector<Vertex>> find() {
    if (!is_plain_ || relations_.empty()) return std::nullopt;
    std::vector<Vertex> number(layout_.vertices());
    std::iota(number.begin(), number.end(), Vertex{0});
    for (const Vertex start : {Vertex{0}, layout_.tokens - 1}) {
      std::vector<Vertex> members = close(start);
      if (members.size() < 2 || members.size() > layout_.vertices() / 2) continue;
      if (do_all_see(start) && name_by_rows(members, number, most_names) && std::find(untold_.begin(), untold_.end(), 1) == untold_.end()) return members;
    }
    return std::nullopt;
  }

private:
  /// What is seen from there however many layers there are; nothing where that is more than half, or too many rows.
  std::vector<Vertex> close(Vertex start) {
    std::vector<Vertex> members{start};
    std::vector<bool> in(layout_.vertices(), false);
    std::vector<std::vector<bool>> is_read(relations_.size(), std::vector<bool>(layout_.vertices(), false));  // by reader: has a row like this been gone through?
    in[start] = true;
    for (std::size_t k = 0; k < members.size(); ++k) {
      budget_.poll();
      for (std::size_t r = 0; r < relations_.size(); ++r) {
        if (is_read[r][members[k]]) continue;
        for (Vertex i = members[k]; i < relations_[r]->same_row_until(members[k]); ++i) is_read[r][i] = true;
        relations_[r]->pattern().row(members[k], row_);
        for (const layout::Run& run : row_) {
          if (run.size() > layout_.vertices() / 2 || (work_ += run.size()) > most_ground_work) return {};
          for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
            if (in[j]) continue;
            in[j] = true;
            members.push_back(static_cast<Vertex>(j));
          }
        }
      }
      if (members.size() > layout_.vertices() / 2) return {};
    }
    std::sort(members.begin(), members.end());
    return members;
  }

  /// Does everybody see it, sooner or later? Then every set that holds what its members read holds it, and all it sees.
  bool do_all_see(Vertex start) {
    std::vector<std::uint64_t> sees(layout_.vertices(), 0);
    sees[start] = 1;
    return see(sees) && std::find(sees.begin(), sees.end(), 0) == sees.end();
  }

  /// Gives 1 to all that see, sooner or later, one that has it. False: it takes too long.
  bool see(std::vector<std::uint64_t>& sees) {
    auto left = static_cast<std::size_t>(std::count(sees.begin(), sees.end(), 0));
    for (int round = 0; left > 0 && left < sees.size(); ++round) {
      if (round == most_rounds) return false;
      for (Vertex j = 0; j < layout_.vertices(); ++j) sums_.put(j, sees[j]);
      const std::vector<std::uint64_t> at_hand = sees;  // whatever steps are known: the checker counts rounds too
      const std::size_t before = left;
      for (std::size_t r = 0; r < relations_.size(); ++r) {
        for (Vertex i = 0; i < layout_.vertices(); ++i) {
          if (sees[i] != 0) continue;
          budget_.poll();
          const std::optional<std::uint64_t> met = add_up(*relations_[r], i, at_hand);
          if (!met) return false;
          if (*met == 0) continue;
          sees[i] = 1;
          --left;
        }
      }
      if (left == before) break;
    }
    return true;
  }

  /// untold_: the vertices that what they read, and so on, does not tell from all of another number, if those of the set are told. False: it takes too long.
  bool name_by_rows(const std::vector<Vertex>& members, const std::vector<Vertex>& number, int rounds) {
    std::vector<std::uint64_t> name(layout_.vertices()), at_hand(name.size()), next;  // at hand: for steps that are not known
    std::vector<Vertex> sorted(name.size());
    std::iota(sorted.begin(), sorted.end(), Vertex{0});
    std::size_t known = 0;
    untold_.assign(name.size(), 1);
    for (Vertex j = 0; j < layout_.vertices(); ++j) name[j] = mix(layout_.vertex_colour[j] + 1);
    for (const Vertex j : members) name[j] = mix(mix(j) + 2);
    for (int round = 0; round < rounds; ++round) {
      next = name;
      for (Vertex j = 0; j < layout_.vertices(); ++j) {
        at_hand[j] = mix(name[j] + 3);
        sums_.put(j, at_hand[j]);
      }
      for (std::size_t r = 0; r < relations_.size(); ++r) {
        for (Vertex i = 0; i < layout_.vertices(); ++i) {
          budget_.poll();
          const std::optional<std::uint64_t> read = add_up(*relations_[r], i, at_hand);
          if (!read) return false;
          next[i] = mix(next[i] + mix(*read + r));
        }
      }
      for (const Vertex j : members) next[j] = name[j];
      name.swap(next);
      std::sort(sorted.begin(), sorted.end(), [&](Vertex a, Vertex b) { return std::pair(name[a], number[a]) < std::pair(name[b], number[b]); });
      std::size_t distinct = 0, left = 0;
      for (std::size_t k = 0, end = 0; k < sorted.size(); k = end) {
        for (end = k; end < sorted.size() && name[sorted[end]] == name[sorted[k]];) ++end;
        const std::uint64_t several = number[sorted[k]] == number[sorted[end - 1]] ? 0 : 1;
        for (std::size_t l = k; l < end; ++l) untold_[sorted[l]] = several;
        left += several * (end - k);
        ++distinct;
      }
      if (left == 0 || distinct == known) break;
      known = distinct;
    }
    return true;
  }

  /// Over the row of i; nothing where it takes too long.
  std::optional<std::uint64_t> add_up(const layout::Relation& relation, Vertex i, const std::vector<std::uint64_t>& value) {
    relation.pattern().row(i, row_);
    std::uint64_t sum = 0;
    for (const layout::Run& run : row_) {
      if (sums_.knows(run.step)) {
        sum += sums_.over(run.first, run.last, run.step);
        continue;
      }
      if ((work_ += run.size()) > most_ground_work) return std::nullopt;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) sum += value[j];
    }
    return sum;
  }

  const Layout& layout_;
  const Budget& budget_;
  const Booking booking_;
  PrefixSums sums_;
  std::vector<const layout::Relation*> relations_;
  bool is_plain_ = true;
  std::vector<std::uint64_t> untold_;
  std::vector<layout::Run> row_;
  std::uint64_t work_ = 0;
};

}  // namespace

std::optional<Layout> make_ground(const Layout& layout, const Budget& budget) {
  const std::optional<std::vector<Vertex>> members = Grounds(layout, budget).find();
  if (!members) return std::nullopt;
  const auto tokens = static_cast<Vertex>(std::lower_bound(members->begin(), members->end(), layout.tokens) - members->begin());
  if (tokens < 2) return std::nullopt;
  std::vector<Vertex> place(layout.vertices());
  for (Vertex k = 0; k < members->size(); ++k) place[(*members)[k]] = k;
  Layout ground;
  ground.tokens = tokens;
  ground.registers = static_cast<Vertex>(members->size()) - tokens;
  for (const Vertex j : *members) ground.vertex_colour.push_back(layout.vertex_colour[j]);
  ground.layers.emplace_back();
  ground.order = {0};
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  std::vector<layout::Run> row;
  std::vector<Vertex> written;
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] == 0) continue;
    layout::PatternBuilder builder(ground.vertices(), budget);
    std::uint32_t list = 0;
    Vertex end = 0;
    for (Vertex k = 0; k < ground.vertices(); ++k) {
      if ((*members)[k] >= end) {
        end = layout.relations[r].same_row_until((*members)[k]);
        layout.relations[r].pattern().row((*members)[k], row);
        written.clear();
        for (const layout::Run& run : row) {
          for (std::uint64_t j = run.first; j <= run.last; j += run.step) written.push_back(place[j]);
        }
        std::sort(written.begin(), written.end());
        list = builder.add_row_once(written);
      }
      builder.add_segment(k, list);
    }
    ground.layers.front().relations.push_back(static_cast<std::uint32_t>(ground.relations.size()));
    ground.relations.emplace_back(builder.build(), layout::Relative{}, layout::Cancels::nothing, tokens);
  }
  return ground;
}

bool drop_grounded(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots, ViewRecords& records, const Budget& budget) {
  constexpr Threshold<std::size_t> fewest_roots{4, 1, "ground roots"};  // comparing fewer is as quick
  const std::uint64_t first = compute_first_occurrence(layout);
  if (layout.has_equal_registers() || roots.size() < fewest_roots || depth < first) return false;
  auto known = records.parts.find(ground_part);
  if (known == records.parts.end()) {
    ViewRecords::Part part;
    const std::optional<Layout> ground = make_ground(layout, budget);
    part.is_own = ground && sight::compute_layout_group(*ground, budget, &part.search).order == layout_group.order;
    known = records.parts.emplace(ground_part, std::move(part)).first;
  }
  return known->second.is_own && drop_whole(layout, depth, roots, budget);
}

bool drop_told_by_rows(const Layout& layout, const std::vector<Vertex>& number, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget) {
  constexpr Threshold<std::size_t> fewest_roots{4, 1, "roots told by rows"};  // comparing fewer is as quick
  if (layout.vertices() > most_named || layout.has_equal_registers() || roots.size() < fewest_roots || depth < compute_first_occurrence(layout)) return false;
  std::vector<Vertex> with_registers(number.begin(), number.begin() + layout.tokens);
  for (Vertex r = layout.tokens; r < layout.vertices(); ++r) with_registers.push_back(r);
  const std::optional<std::vector<bool>> told = Grounds(layout, budget).find_told(with_registers);
  if (!told) return false;
  const auto is_told = [&](Vertex a) { return (*told)[a]; };
  return std::any_of(roots.begin(), roots.end(), is_told) && drop_whole(layout, depth, roots, budget, is_told);
}

bool drop_whole(const Layout& layout, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget, const std::function<bool(Vertex)>& is_asked) {
  const std::uint64_t first = compute_first_occurrence(layout);
  if (depth < first) return false;
  const std::optional<std::vector<Vertex>> behind = count_unseen_behind(layout, first, depth, budget), unseen = count_unseen_behind(layout, 0, depth, budget);
  return behind && unseen && std::erase_if(roots, [&](Vertex a) { return (*behind)[a] == (*unseen)[a] && is_asked(a); }) > 0;
}

}  // namespace sightline::sight

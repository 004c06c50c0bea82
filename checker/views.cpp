#include "views.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>

#include "product_views.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

using Map = std::vector<std::pair<Vertex, Vertex>>;

std::string to_key(std::uint64_t number) { return std::to_string(number); }

std::string question_key(const ViewQuestion& question) {
  const char* const kinds[] = {"all", "causal", "seen"};
  return kinds[static_cast<int>(question.kind)] + std::string(question.target == nullptr ? "/layout" : "/target");
}

const Json* find(const Json* from, const std::string& key) { return from == nullptr ? nullptr : from->find(key); }

/// Which moves a group explains: an element of it agrees with the move on what output a may depend on.
class Explainer {
public:
  /// @param own_group  the group is the layout's own: a permutation of all tokens is in it when it preserves the layout
  Explainer(const Layout& layout, const ViewQuestion& question, const Group& group, bool own_group, ReachMemory& memory)
      : tokens_(layout.tokens), group_(group), wanted_(layout, question, memory), own_group_(own_group && !has_equal_registers(layout)),
        layout_(layout), number_(layout.tokens), orbit_(orbits(group)) {
    std::iota(number_.begin(), number_.end(), Vertex{0});
    for (const auto& members : group.classes) {
      for (const Vertex x : members) number_[x] = members.front();
    }
  }

  [[nodiscard]] const WantedTokens& wanted() const { return wanted_; }
  /// Numbers tokens so that every permutation within equal numbers is in the group.
  [[nodiscard]] const std::vector<Vertex>& number() const { return number_; }

  /// @param seen  by vertex; what `map` does elsewhere does not count
  /// @param whole  all tokens are seen
  [[nodiscard]] bool explains(Vertex a, const Permutation& map, const std::vector<bool>& seen, bool whole) const {
    if (leaves(a, map)) return true;
    // Most maps move little, and stay within classes: that is found out before anything of the layout's size is touched.
    const std::vector<bool> wanted = wanted_.everything() ? std::vector<bool>{} : wanted_.of(a);
    const auto counts = [&](Vertex j) { return seen[j] && (wanted.empty() || wanted[j]); };
    Map moved, all;
    bool within = true;
    for (const auto& [j, image] : map.moves()) {
      if (j >= tokens_) continue;
      all.emplace_back(j, image);
      if (!counts(j)) continue;
      moved.emplace_back(j, image);
      within = within && number_[j] == number_[image];
    }
    if (within || group_.generators.empty()) return within;
    if (is_generator(all)) return true;  // it agrees everywhere
    if (whole && std::ranges::all_of(wanted, std::identity{})) {
      const Permutation permutation(std::move(moved));
      return own_group_ ? is_layout_symmetry(permutation) : chain().contains(permutation);
    }
    // Where nothing else moves it may be a symmetry of the layout as it is: what is out of sight has nothing to do with it.
    if (own_group_ && stays_in_sight(map, seen)) {
      std::vector<std::pair<Vertex, Vertex>> in_sight;
      for (const auto& [j, image] : map.moves()) {
        if (j < tokens_ && seen[j]) in_sight.emplace_back(j, image);
      }
      if (is_layout_symmetry(Permutation(std::move(in_sight)))) return true;
    }
    std::vector<Vertex> from, to;
    for (Vertex j = 0; j < tokens_; ++j) {
      if (!counts(j)) continue;
      from.push_back(j);
      to.push_back(map(j));
    }
    if (from.size() == 1) return orbit_[from[0]] == orbit_[to[0]];
    return chain().extends(from, to);
  }

  /// Does the map move nothing that output a may depend on?
  [[nodiscard]] bool leaves(Vertex a, const Permutation& map) const {
    return std::ranges::none_of(map.moves(), [&](const auto& move) { return move.first < tokens_ && wanted_.may_hold(a, move.first); });
  }

  /// Which automorphisms of the layout are in the group; none: all.
  [[nodiscard]] std::function<bool(const Permutation&)> membership() const {
    if (own_group_) return {};
    return [this](const Permutation& permutation) { return chain().contains(permutation); };
  }

  /// Is what the layout's group does harmless, however it is put together?
  [[nodiscard]] bool holds_layout_group() const { return own_group_ || wanted_.everything(); }

  /// Is every permutation of the class within equal numbers?
  [[nodiscard]] bool explains_class(const std::vector<Vertex>& members) const {
    return std::all_of(members.begin(), members.end(), [&](Vertex x) { return number_[x] == number_[members.front()]; });
  }

private:
  bool stays_in_sight(const Permutation& map, const std::vector<bool>& seen) const {
    return std::ranges::all_of(map.moves(), [&](const auto& move) { return move.first >= tokens_ || !seen[move.first] || (move.second < tokens_ && seen[move.second]); });
  }

  bool is_layout_symmetry(const Permutation& permutation) const {
    // In a small group the views of many roots show the same maps, all of whose rows are read to confirm one.
    constexpr std::size_t most_kept = 32, most_moved = 32768;
    if (std::any_of(confirmed_.begin(), confirmed_.end(), [&](const Permutation& known) { return known.moves() == permutation.moves(); })) return true;
    if (!test_) test_ = std::make_unique<AutomorphismTest>(make_structure(layout_));
    if (!(*test_)(permutation)) return false;
    if (confirmed_.size() < most_kept && permutation.moves().size() <= most_moved) confirmed_.push_back(permutation);
    return true;
  }

  bool is_generator(const Map& moves) const {
    if (by_first_move_.empty()) {
      for (const Permutation& g : group_.generators) {
        if (!g.is_identity()) by_first_move_.emplace(g.moves().front().first, &g);
      }
    }
    if (moves.empty()) return false;
    const auto [begin, end] = by_first_move_.equal_range(moves.front().first);
    return std::any_of(begin, end, [&](const auto& entry) { return entry.second->moves() == moves; });
  }

  const Chain& chain() const {
    if (!chain_) chain_ = std::make_unique<Chain>(group_);
    return *chain_;
  }

  Vertex tokens_;
  const Group& group_;
  WantedTokens wanted_;
  bool own_group_;
  const Layout& layout_;
  std::vector<Vertex> number_, orbit_;
  mutable std::unique_ptr<Chain> chain_;
  mutable std::unique_ptr<AutomorphismTest> test_;
  mutable std::vector<Permutation> confirmed_;  ///< some symmetries of the layout
  mutable std::unordered_multimap<Vertex, const Permutation*> by_first_move_;  ///< the generators
};

Map restrict(const Permutation& map, const std::vector<bool>& seen, Vertex tokens) {
  Map move;
  for (Vertex j = 0; j < tokens; ++j) {
    if (seen[j]) move.emplace_back(j, map(j));
  }
  return move;
}

/// One pass over the isomorphisms of all views of one depth: Aut(H_a) for one root per orbit of the layout's group, one isomorphism
/// per pair of roots that are alike. Everything met must be explained, or evidence must show that there is nothing.
class Sweep {
public:
  Sweep(const Layout& layout, const ConfirmedGroup& layout_group, const RootMaker& maker, std::uint64_t depth, const Explainer& explainer,
        const Json* evidence, std::string claim, ReachMemory& memory)
      : layout_(layout), layout_group_(layout_group), maker_(maker), depth_(depth), explainer_(explainer), evidence_(evidence),
        claim_(std::move(claim)), memory_(memory) {}

  /// What the evidence showed to be isomorphisms, beside the layout's group; kept only when `keeps_met`.
  std::vector<Group> met;
  bool keeps_met = false;

  void run() {
    std::vector<std::uint64_t> colours(layout_.vertex_colour.begin(), layout_.vertex_colour.begin() + layout_.tokens);
    const bool equal = layout_.tokens > 1 && colours[0] == colours[1];
    if (!equal) std::sort(colours.begin(), colours.end());
    // Tokens that all start different cannot be moved.
    if (layout_.tokens == 1 || std::adjacent_find(colours.begin(), colours.end()) == colours.end()) return;
    if (do_translates_explain(layout_, depth_)) return;  // the layout's group is in the target's
    if (do_windows_explain(layout_, depth_, memory_) || do_offsets_explain(layout_, depth_, memory_)) return;
    std::optional<AutomorphismTest> test;
    const auto is_symmetry = [&](const Permutation& permutation) {
      if (std::ranges::any_of(layout_group_.group.generators, [&](const Permutation& g) { return g.moves() == permutation.moves(); })) return true;
      if (!test) test.emplace(make_structure(layout_));
      return (*test)(permutation);
    };
    if (do_crosses_explain(layout_, depth_, is_symmetry)) return;
    std::vector<Vertex> roots;
    const std::vector<Vertex> orbit = orbits(layout_group_.group);
    // Rigid views have no automorphisms; with one orbit there are no two of them to compare (docs/theory.md 16.58).
    if (!registers_ && std::ranges::all_of(orbit, [](Vertex least) { return least == 0; }) && is_rigid(layout_)) {
      if (keeps_met) meet_given({0});
      return;
    }
    const std::vector<bool> complete = find_complete_roots(orbit);
    for (Vertex a = 0; a < layout_.tokens; ++a) {
      if (orbit[a] == a && !complete[a]) roots.push_back(a);
    }
    drop_alone(roots);
    if (roots.empty()) return;
    if (do_closed_parts_explain(layout_, layout_group_.group, orbit, depth_, roots, explainer_.number(), is_symmetry, memory_) || do_times_explain(layout_, depth_, roots, explainer_.number()) ||
        do_lines_explain(layout_, depth_, roots)) {
      if (keeps_met) meet_given(roots);
      return;
    }
    // Few roots (the ends of a window) are mostly told by what is near them, and matchings read all rows.
    constexpr Threshold<Vertex> least_for_few{4096, 2, "few roots"}, rows_per_root{64, 1, "few roots"};
    const bool few = layout_.vertices() >= least_for_few && rows_per_root * std::uint64_t{roots.size()} < layout_.vertices();
    if (!few && (do_lengths_explain(layout_, layout_group_.group, depth_, roots, explainer_.number()) || do_matchings_explain(layout_, depth_, roots, is_symmetry))) {
      if (keeps_met) meet_given(roots);
      return;
    }
    if (!registers_) {
      const std::vector<Vertex> all = roots;
      drop_told_by_rows(layout_, explainer_.number(), orbit, depth_, roots, memory_);
      if (roots.empty()) {
        if (keeps_met) meet_given(all);
        return;
      }
    }
    if (const Json* parts = find(evidence_, "parts"); parts != nullptr && !registers_) {
      const std::size_t all = roots.size();
      drop_partly_complete(layout_, layout_group_.group, depth_, *parts, claim_, memory_, roots);
      const auto does_one_view_tell = [&] {  // that tells its tokens apart: nothing else is left to look at
        if (roots.size() != 1 || all == 1 || is_rigid(layout_)) return false;
        places_ = make_places({layout_, layout_group_.group, orbit, depth_, roots, explainer_.number()});
        return places_ && colour(roots.front()).at.discrete;
      };
      if (roots.empty() || does_one_view_tell() || do_times_explain(layout_, depth_, roots, explainer_.number())) {
        if (keeps_met) meet_given(roots);
        return;
      }
    }
    if (!registers_ && std::ranges::all_of(layout_group_.group.classes, [&](const auto& members) { return explainer_.explains_class(members); })) {
      const std::vector<Vertex> all = roots;
      drop_named(layout_, layout_group_.group, depth_, roots);
      if (roots.empty()) {
        if (keeps_met) meet_given(all);
        return;
      }
    }
    if (!registers_ && do_products_explain(layout_, find_grid(memory_), depth_, roots, explainer_.number(), explainer_.membership())) {
      if (keeps_met) meet_given(roots);
      return;
    }
    std::vector<std::vector<Vertex>> alike{roots};
    // Rigid views mostly differ soon after the root: longer walks only for those that do not.
    const auto split_by_walks = [&](std::uint64_t most) {
      split(alike, [&](Vertex a) {
        const auto colours_of_a = walk_root(maker_.make(a), a, most, rows_);
        return colours_of_a ? colours_of_a->invariant : 0;
      });
    };
    constexpr Threshold<std::uint64_t> first_walk{std::uint64_t{1} << 11, 2, "walks"}, few_walks{std::uint64_t{1} << 24, 0, "walks"};
    const bool rigid = !registers_ && is_rigid(layout_), walks_first = rigid && roots.size() * std::max<std::uint64_t>(first_walk, layout_.vertices()) <= few_walks;
    if (walks_first) split_by_walks(first_walk);
    if (walks_first && alike.empty()) {
      if (keeps_met) meet_given(roots);
      return;
    }
    // No more steps for small views than comparing these views one by one takes.
    const std::uint64_t cost = std::clamp(128 * std::uint64_t{roots.size()} * layout_.vertices(), 2 * few_local_work, most_local_work);
    const std::vector<Vertex> asked = roots;
    if (do_surroundings_explain({layout_, layout_group_.group, orbit, depth_, roots, explainer_.number(), cost, few_near_roots, few_near_vertices, rigid}, memory_, places_) || (few && do_matchings_explain(layout_, depth_, roots, is_symmetry))) {
      if (keeps_met) meet_given(asked);
      return;
    }
    for (std::vector<Vertex>& members : alike) std::erase_if(members, [&](Vertex a) { return !std::binary_search(roots.begin(), roots.end(), a); });
    for (const std::uint64_t most : {std::uint64_t{first_walk}, std::uint64_t{1} << 16, ~std::uint64_t{0}}) {
      if (rigid) split_by_walks(most);
    }
    if (!rigid) split(alike, [&](Vertex a) { return visit_root(a); });
    for (const std::vector<Vertex>& members : alike) visit_pairs(members);
  }

private:
  // With every row of its component in view an isomorphism moves the component onto itself or another one, and extends to an automorphism of
  // the layout, in its group and so in the target's. A view isomorphic to it has as many rows in view and sees nothing else; if that is not the whole
  // of its component nothing is concluded. t_a(j) >= first: j comes into view within the last depth - first layers.
  [[nodiscard]] std::vector<bool> find_complete_roots(const std::vector<Vertex>& orbit) const {
    std::vector<bool> complete(layout_.tokens, false);
    const std::uint64_t first = last_first_layer(layout_);
    if (registers_) return complete;
    const auto unseen_behind = [&](std::uint64_t layer) {
      return compute_unseen(layout_, {ClassKind::all, false, true, layer, nullptr, &orbit, nullptr, nullptr, nullptr, &memory_}, depth_ - layer);
    };
    Unseen unseen;
    for (const std::uint64_t layer : std::set{last_shown_layer(layout_), first}) {
      if (depth_ < layer) return complete;
      unseen = unseen_behind(layer);
      for (Vertex a = 0; a < layout_.tokens; ++a) complete[a] = unseen.count[a] == 0;
      if (std::find(complete.begin(), complete.end(), true) != complete.end()) return complete;
    }
    const std::vector<Vertex> component = measure_components(layout_);
    const Unseen ever = unseen_behind(0);
    std::set<Vertex> doubtful;
    for (Vertex a = 0; a < layout_.tokens; ++a) {
      if (unseen.count[a] + component[a] != layout_.vertices() && ever.count[a] == unseen.count[a]) doubtful.insert(unseen.count[a]);
    }
    for (Vertex a = 0; a < layout_.tokens; ++a) complete[a] = unseen.count[a] + component[a] == layout_.vertices() && !doubtful.contains(unseen.count[a]);
    return complete;
  }

  /// A root to which nothing but itself matters is told by how many vertices its view holds, where no other root sees as many (theory 16.118).
  void drop_alone(std::vector<Vertex>& roots) const {
    const auto is_alone = [this](Vertex a) { return explainer_.wanted().own_only(a); };
    if (registers_ || std::ranges::none_of(roots, is_alone)) return;
    const std::vector<Vertex> unseen = compute_unseen(layout_, {ClassKind::all, false, true, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &memory_}, depth_).count;
    std::map<Vertex, Vertex> alike;
    for (const Vertex a : roots) ++alike[unseen[a]];
    std::erase_if(roots, [&](Vertex a) { return alike[unseen[a]] == 1 && is_alone(a); });
  }

  /// (hash, symmetric class, how many seen tokens have them), sorted; nothing when one hash meets two classes.
  struct Covered {
    std::uint64_t hash;
    Vertex number;
    std::uint64_t count;
    friend auto operator<=>(const Covered&, const Covered&) = default;
  };
  using Cover = std::vector<Covered>;

  template <class Invariant>
  void split(std::vector<std::vector<Vertex>>& alike, const Invariant& invariant) {
    std::vector<std::vector<Vertex>> still;
    for (const std::vector<Vertex>& members : alike) {
      std::map<std::uint64_t, std::vector<Vertex>> by_invariant;
      for (const Vertex a : members) by_invariant[invariant(a)].push_back(a);
      for (auto& [value, group] : by_invariant) {
        if (group.size() > 1) still.push_back(std::move(group));
      }
    }
    alike = std::move(still);
  }

  ViewColours colour(Vertex a) {
    if (places_) {
      if (auto colours = places_->colour(a)) return *std::move(colours);
    }
    Rooted rooted = maker_.make(a);
    SortedRows fresh;  // relations made for one root are gone with it
    auto walked = walk_root(rooted, a, ~std::uint64_t{0}, registers_ ? fresh : rows_);
    return {walked ? *std::move(walked) : colour_root(rooted), std::move(rooted.seen)};
  }

  std::uint64_t visit_root(Vertex a) {
    const ViewColours colours = colour(a);
    if (const Json* evidence = find(find(evidence_, "roots"), to_key(a))) {
      const Rooted rooted = maker_.make(a);
      Group group = confirm_automorphisms(rooted.structure, layout_.tokens, *evidence, claim_).group;
      std::erase_if(group.classes, [&](const auto& members) { return !rooted.seen[members.front()]; });
      if (keeps_met) met.push_back(group);
      std::erase_if(group.classes, [&](const auto& members) { return explainer_.explains_class(members); });
      const bool whole = is_whole(rooted.seen);
      for (const Permutation& g : list_generators(group, ~std::size_t{0})) require(a, g, rooted.seen, whole);
    } else if (!colours.at.discrete && !explainer_.wanted().own_only(a) && !is_covered(colours) &&
               !(explainer_.holds_layout_group() && do_many_generators_fix(layout_group_.group, a) && does_cell_explain(maker_.make(a), a, layout_, layout_group_.group))) {
      throw Rejected(claim_, "nothing shows that the symmetries of the view of token " + to_key(a) + " are harmless");
    }
    return colours.at.invariant;
  }

  /// Equal neighbours become one entry, counted.
  Cover count_seen(const ViewColours& colours, bool with_class) const {
    Cover all, merged;
    for (std::size_t p = 0; p < colours.at.hash.size(); ++p) {
      const Vertex j = colours.places != nullptr ? colours.places->vertex[p] : static_cast<Vertex>(p);
      if (j >= layout_.tokens) break;
      if (colours.seen[p]) all.push_back({colours.at.hash[p], with_class ? explainer_.number()[j] : 0, colours.places != nullptr ? colours.places->count[p] : 1});
    }
    std::sort(all.begin(), all.end());
    for (const Covered& entry : all) {
      if (!merged.empty() && merged.back().hash == entry.hash && merged.back().number == entry.number) merged.back().count += entry.count;
      else merged.push_back(entry);
    }
    return merged;
  }

  std::optional<Cover> make_cover(const ViewColours& colours) const {
    Cover cover = count_seen(colours, true);
    const auto torn = std::adjacent_find(cover.begin(), cover.end(), [](const Covered& a, const Covered& b) { return a.hash == b.hash; });
    if (torn != cover.end()) return std::nullopt;
    return cover;
  }

  /// Do seen tokens of one hash have one symmetric class? As make_cover, without sorting: this is asked of every root.
  bool is_covered(const ViewColours& colours) {
    slots_.assign(std::bit_ceil(2 * colours.at.hash.size() + 1), {0, 0});  // at most half full; 0 is an empty one
    for (std::size_t p = 0; p < colours.at.hash.size(); ++p) {
      const Vertex j = colours.places != nullptr ? colours.places->vertex[p] : static_cast<Vertex>(p);
      if (j >= layout_.tokens) break;
      if (!colours.seen[p]) continue;
      const std::uint64_t key = colours.at.hash[p] | 1;
      std::size_t at = (key >> 7) & (slots_.size() - 1);
      while (slots_[at].first != 0 && slots_[at].first != key) at = (at + 1) & (slots_.size() - 1);
      if (slots_[at].first != 0 && slots_[at].second != explainer_.number()[j]) return false;
      slots_[at] = {key, explainer_.number()[j]};
    }
    return true;
  }

  void require(Vertex a, const Permutation& map, const std::vector<bool>& seen, bool whole) const {
    if (!explainer_.explains(a, map, seen, whole)) throw Rejected(claim_, "the view of token " + to_key(a) + " has an isomorphism that is not one of the target's");
  }

  void visit_pairs(const std::vector<Vertex>& roots) {
    struct Member {
      Vertex root;
      std::optional<Cover> cover;
      Cover hashes;  // without classes
    };
    std::vector<Member> leads;                // one per cluster of roots that cover each other
    std::vector<std::vector<Vertex>> clusters;
    for (const Vertex b : roots) {
      const Json* evidence = find(find(evidence_, "pairs"), to_key(b));
      if (const Json* like = find(evidence, "like")) {
        visit_isomorphism(static_cast<Vertex>(like->natural(b)), b, maker_.make(b), (*evidence)["map"]);
        continue;
      }
      const ViewColours colours = colour(b);
      Member mine{b, make_cover(colours), count_seen(colours, false)};
      std::optional<std::size_t> home;
      for (std::size_t c = 0; c < leads.size(); ++c) {
        // An isomorphism keeps every hash; within a cluster every isomorphism then stays within symmetric classes.
        if (leads[c].hashes != mine.hashes) continue;
        if (mine.cover && leads[c].cover == mine.cover) {
          home = c;
          continue;
        }
        for (const Vertex a : clusters[c]) visit_difference(a, b, maker_.make(b), find(find(evidence, "unlike"), to_key(a)));
      }
      if (home) {
        clusters[*home].push_back(b);
      } else {
        leads.push_back(std::move(mine));
        clusters.push_back({b});
      }
    }
  }

  // What the evidence gives is still looked at: a larger group has to come from the views.
  void meet_given(const std::vector<Vertex>& roots) {
    for (const Vertex a : roots) {
      if (find(find(evidence_, "roots"), to_key(a)) != nullptr) visit_root(a);
      const Json* pair = find(find(evidence_, "pairs"), to_key(a));
      if (const Json* like = find(pair, "like")) visit_isomorphism(static_cast<Vertex>(like->natural(a)), a, maker_.make(a), (*pair)["map"]);
    }
  }

  // Everything isomorphic to b is isomorphic to a < b, through this map.
  void visit_isomorphism(Vertex a, Vertex b, const Rooted& second, const Json& evidence) {
    const Rooted first = maker_.make(a);
    const Permutation map = Permutation::read(evidence, first.structure.vertices);
    const std::vector<Vertex> orbit = orbits(layout_group_.group);
    if (a >= b || orbit[a] != a || map(a) != b || first.structure.vertices != second.structure.vertices ||
        !is_isomorphism(first.structure, second.structure, map)) {
      throw Rejected(claim_, "the map given from the view of token " + to_key(a) + " to that of token " + to_key(b) + " is no isomorphism");
    }
    const bool whole = is_whole(first.seen);
    require(a, map, first.seen, whole);
    if (!keeps_met || !whole) return;
    Map moved;
    for (const auto& [j, image] : map.moves()) {
      if (j < layout_.tokens) moved.emplace_back(j, image);
    }
    met.push_back({layout_.tokens, {}, {Permutation(std::move(moved))}});
  }

  /// Are all tokens seen?
  [[nodiscard]] bool is_whole(const std::vector<bool>& seen) const { return std::find(seen.begin(), seen.begin() + layout_.tokens, false) == seen.begin() + layout_.tokens; }

  void visit_difference(Vertex a, Vertex b, const Rooted& second, const Json* evidence) const {
    const Rooted first = maker_.make(a);
    if (first.structure.vertices != second.structure.vertices) return;
    if (evidence == nullptr) throw Rejected(claim_, "nothing shows that the views of tokens " + to_key(a) + " and " + to_key(b) + " differ");
    confirm_no_isomorphism(first.structure, second.structure, {{a, b}}, *evidence, claim_);
  }

  const Layout& layout_;
  const ConfirmedGroup& layout_group_;
  const RootMaker& maker_;
  std::uint64_t depth_;
  const Explainer& explainer_;
  const Json* evidence_;
  std::string claim_;
  ReachMemory& memory_;
  bool registers_ = has_equal_registers(layout_);
  SortedRows rows_;
  std::unique_ptr<PlaceColours> places_;
  std::vector<std::pair<std::uint64_t, Vertex>> slots_;  // is_covered: hash, class
};

/// Symmetric classes that meet are one.
Group join(Vertex degree, const std::vector<Group>& groups) {
  std::vector<Vertex> least(degree);
  std::iota(least.begin(), least.end(), Vertex{0});
  const auto find_least = [&](Vertex x) {
    while (least[x] != x) x = least[x] = least[least[x]];
    return x;
  };
  Group result{degree, {}, {}};
  for (const Group& group : groups) {
    for (const auto& members : group.classes) {
      for (const Vertex x : members) least[std::max(find_least(x), find_least(members.front()))] = std::min(find_least(x), find_least(members.front()));
    }
    result.generators.insert(result.generators.end(), group.generators.begin(), group.generators.end());
  }
  std::map<Vertex, std::vector<Vertex>> classes;
  for (Vertex x = 0; x < degree; ++x) classes[find_least(x)].push_back(x);
  for (auto& [first, members] : classes) {
    if (members.size() > 1) result.classes.push_back(std::move(members));
  }
  return result;
}

Group read_group(const Json& evidence, Vertex degree) {
  Group group{degree, {}, {}};
  std::vector<bool> used(degree, false);
  for (const Json& members : evidence["classes"].array()) {
    auto& added = group.classes.emplace_back();
    for (const Json& x : members.array()) {
      const auto v = static_cast<Vertex>(x.natural(degree - 1));
      if (used[v] || (!added.empty() && added.back() >= v)) throw Malformed("evidence \"groups\": classes are disjoint and sorted");
      used[v] = true;
      added.push_back(v);
    }
    if (added.size() < 2) throw Malformed("evidence \"groups\": a class has at least two members");
  }
  Permutation::visit(evidence["generators"], degree, [&](Permutation generator) {
    group.generators.push_back(std::move(generator));
    return true;
  });
  return group;
}

/// Does the group explain the layout's own, on what every token sees and may depend on?
void require_layout_group(const Layout& layout, const Group& own, const Explainer& explainer, std::uint64_t depth, const std::string& claim) {
  Group open = own;
  std::erase_if(open.classes, [&](const auto& members) { return explainer.explains_class(members); });
  struct View {
    std::vector<bool> seen;
    bool whole = false;
  };
  const auto look = [&](Vertex a) {
    const std::vector<std::int64_t> latest = compute_latest(layout, depth, a);
    View view;
    for (Vertex j = 0; j < layout.tokens; ++j) view.seen.push_back(latest[j] >= 0);
    view.whole = std::ranges::all_of(view.seen, std::identity{});
    return view;
  };
  View other;
  std::optional<View> first;  // mostly says it all, for each of many symmetries
  for (const Permutation& g : list_generators(open, ~std::size_t{0})) {
    for (Vertex a = 0; a < layout.tokens; ++a) {
      if (explainer.leaves(a, g)) continue;
      if (a == 0 && !first) first = look(0);
      const View& view = a == 0 ? *first : other = look(a);
      if (!explainer.explains(a, g, view.seen, view.whole)) throw Rejected(claim, "a symmetry of the layout, " + g.cycles() + ", is not one of the target");
      if (view.whole && explainer.wanted().everything()) break;  // one root says it all
    }
  }
}

const Group& target_of(const ViewQuestion& question) { return question.target != nullptr ? *question.target : question.layout_group->group; }

Collision confirm_collision(const Layout& layout, const ViewQuestion& question, std::uint64_t depth, const Json& evidence, const std::string& claim, ReachMemory& memory) {
  const Explainer explainer(layout, question, target_of(question), question.target == nullptr, memory);
  const auto maker = make_roots(layout, question.frequencies, depth);
  Collision collision;
  collision.a = static_cast<Vertex>(evidence["a"].natural(layout.tokens - 1));
  collision.b = static_cast<Vertex>(evidence["b"].natural(layout.tokens - 1));
  const Rooted first = maker->make(collision.a), second = maker->make(collision.b);
  const Permutation map = Permutation::read(evidence["map"], first.structure.vertices);
  if (map(collision.a) != collision.b || first.structure.vertices != second.structure.vertices ||
      !is_isomorphism(first.structure, second.structure, map)) {
    throw Rejected(claim, "the map of the collision is no isomorphism of the two views");
  }
  collision.tau = restrict(map, first.seen, layout.tokens);
  if (explainer.explains(collision.a, map, first.seen, collision.tau.size() == layout.tokens)) throw Rejected(claim, "the map of the collision is one of the target's symmetries");
  return collision;
}

void confirm_no_collision(const Layout& layout, const ViewQuestion& question, std::uint64_t depth, const Limit& limit, const Json* evidence,
                          const std::string& claim, ReachMemory& memory) {
  if (layout.tokens == 1) return;
  const Explainer explainer(layout, question, target_of(question), question.target == nullptr, memory);
  if (explainer.wanted().own_only()) return;
  if (question.target != nullptr) require_layout_group(layout, question.layout_group->group, explainer, std::min(depth, limit.depth), claim);
  if (limit.everything && depth >= limit.depth) return;  // the views are the layout itself
  if (depth >= limit.depth && do_rows_name_tokens(layout)) return;  // no two tokens have isomorphic views, no view moves
  const auto maker = make_roots(layout, question.frequencies, std::min(depth, limit.depth));
  Sweep(layout, *question.layout_group, *maker, std::min(depth, limit.depth), explainer, find(evidence, to_key(depth)), claim, memory).run();
}

}  // namespace

Needed Sight::needed(const ViewQuestion& question) const {
  const Layout& layout = state_->layout;
  const std::string key = question_key(question), claim = "needed";
  const Json* evidence = find(state_->find("needed"), key);
  if (evidence == nullptr) throw Rejected(claim, "no evidence for " + key);
  const Json *views = find(state_->find("views"), key), *collisions = find(state_->find("collisions"), key);
  Needed needed;
  const WantedTokens wanted(layout, question, state_->memory);
  const Reach reach = state_->wanted_reach(wanted, question.kind);
  needed.missed = reach.missed;
  if (const Json* pair = evidence->find("missed"); pair != nullptr && (!reach.layers || *reach.layers > 0)) {
    // Any pair that is out of view will do: the answer's sentence names the one given.
    const auto a = static_cast<Vertex>((*pair)[0].natural(layout.tokens - 1)), j = static_cast<Vertex>((*pair)[1].natural(layout.tokens - 1));
    const std::uint64_t ever = (std::uint64_t{layout.vertices()} + 1) * std::max<std::uint64_t>(1, layout.order.size());
    if (!wanted.of(a)[j] || compute_latest(layout, reach.layers ? *reach.layers - 1 : ever, a)[j] >= 0) throw Rejected(claim, "the pair given is not out of view");
    needed.missed = {a, j};
  }
  if (!reach.layers) {
    if (evidence->find("never") == nullptr) throw Rejected(claim, "some token never sees what it should");
    needed.never = true;
    return needed;
  }
  needed.start = *reach.layers;
  const Limit limit = compute_limit(layout, question.frequencies, state_->ask());
  const auto collision_at = [&](const std::string& at, std::uint64_t depth) {
    const Json* here = find(collisions, at);
    if (here == nullptr) throw Rejected(claim, "no collision is given at depth " + at);
    return confirm_collision(layout, question, std::min(depth, limit.depth), *here, claim, state_->memory);
  };
  if (const Json* layers = evidence->find("layers")) {
    const std::uint64_t m = layers->natural();
    if (m < needed.start) throw Rejected(claim, "not all that is wanted is in view after " + to_key(m) + " layers");
    confirm_no_collision(layout, question, m, limit, views, claim, state_->memory);
    if (m > needed.start) {
      needed.below = collision_at(to_key(m - 1), m - 1);
      needed.missed.reset();
    }
    needed.layers = m;
  } else if (const Json* between = evidence->find("between")) {
    needed.low = (*between)[0].natural();
    needed.high = (*between)[1].natural();
    if (needed.low > needed.start) needed.below = collision_at(to_key(needed.low - 1), needed.low - 1);
    if (needed.low < needed.start || (needed.high > 0 && needed.high < needed.low)) throw Rejected(claim, "the bounds contradict what is in view");
    if (needed.high > 0) confirm_no_collision(layout, question, needed.high, limit, views, claim, state_->memory);
  } else if (evidence->find("never") != nullptr) {
    needed.below = collision_at("ever", limit.depth);
    needed.never = true;
    needed.missed.reset();
  } else {
    throw Malformed("evidence \"needed\" has one of the keys layers, between, never");
  }
  return needed;
}

std::optional<Collision> Sight::collision(const ViewQuestion& question, std::uint64_t depth) const {
  const std::string key = question_key(question), claim = "collision";
  const Limit limit = compute_limit(state_->layout, question.frequencies, state_->ask());
  if (const Json* evidence = find(find(state_->find("collisions"), key), to_key(depth))) {
    return confirm_collision(state_->layout, question, std::min(depth, limit.depth), *evidence, claim, state_->memory);
  }
  confirm_no_collision(state_->layout, question, depth, limit, find(state_->find("views"), key), claim, state_->memory);
  return std::nullopt;
}

std::optional<ConfirmedGroup> Sight::expressed(const ViewQuestion& all, std::optional<std::uint64_t> depth) const {
  const auto& known = state_->expressed;
  if (known && depth == known->depth && all.layout_group == known->layout_group && all.frequencies == known->frequencies) return known->group;
  std::optional<ConfirmedGroup> group = confirm_expressed(all, depth);
  if (depth) state_->expressed = {all.layout_group, all.frequencies, *depth, group};
  return group;
}

std::optional<ConfirmedGroup> Sight::confirm_expressed(const ViewQuestion& all, std::optional<std::uint64_t> depth) const {
  const Layout& layout = state_->layout;
  const std::string claim = "expressed";
  ViewQuestion question = all;
  question.kind = ClassKind::all;
  question.target = nullptr;
  const std::optional<std::uint64_t> reach = connected();
  if (!reach || depth.value_or(*reach) < *reach) return std::nullopt;
  const Limit limit = compute_limit(layout, question.frequencies, state_->ask());
  const std::uint64_t m = depth.value_or(std::max(limit.depth, *reach));
  if (limit.everything && m >= limit.depth) return *question.layout_group;
  const auto maker = make_roots(layout, question.frequencies, std::min(m, limit.depth));
  const Json* evidence = find(state_->find("groups"), depth ? to_key(m) : "ever");
  const Group own = question.layout_group->group;
  const Group group = evidence == nullptr || evidence->find("classes") == nullptr ? own : read_group(*evidence, layout.tokens);
  const bool is_own = evidence == nullptr || evidence->find("classes") == nullptr;
  const Explainer explainer(layout, question, group, is_own, state_->memory);
  if (!is_own) require_layout_group(layout, own, explainer, m, claim);
  Sweep sweep(layout, *question.layout_group, *maker, std::min(m, limit.depth), explainer, evidence, claim, state_->memory);
  sweep.keeps_met = !is_own;
  if (layout.tokens > 1) sweep.run();
  if (is_own) return *question.layout_group;
  // Nothing but isomorphisms of views: the group lies in the one that they generate.
  sweep.met.push_back(own);
  const Chain generated(join(layout.tokens, sweep.met));
  for (const Permutation& g : list_generators(group, ~std::size_t{0})) {
    if (!generated.contains(g)) throw Rejected(claim, "the symmetry " + g.cycles() + " does not come from the views");
  }
  return ConfirmedGroup{group, std::make_shared<Order>(Chain(group).order())};
}

}  // namespace checker

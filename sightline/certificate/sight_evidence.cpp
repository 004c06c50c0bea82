#include "sightline/certificate/sight_evidence.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/layout/steady_rows.hpp"
#include "sightline/sight/closed_parts.hpp"
#include "sightline/sight/descending_views.hpp"
#include "sightline/sight/local_views.hpp"
#include "sightline/sight/product_views.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/stepped_sums.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/sight/wanted.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::certificate {

namespace {

using layout::Layout;
using layout::Vertex;
using nlohmann::json;
using sight::Rooted;
using sight::ViewColours;
using sight::ViewQuestion;

std::string question_key(const ViewQuestion& question) {
  const char* const kinds[] = {"all", "causal", "seen"};
  return kinds[static_cast<int>(question.target_class)] + std::string(question.target == question.layout_group ? "/layout" : "/target");
}

group::Permutation from_images(const std::vector<Vertex>& images) { return group::Permutation::from_images(images); }

/// Walks over the views of one depth as the checker will, and writes down what it cannot find out by itself.
class ViewWriter {
public:
  ViewWriter(const Layout& layout, const group::Group& layout_group, sight::RegisterRows rows, std::uint64_t depth, const sight::ViewRecords* records,
             const Budget& budget)
      : layout_(layout), layout_group_(layout_group), budget_(budget), depth_(depth), records_(records),
        equal_(layout.has_equal_registers()), maker_(equal_ ? sight::make_register_roots(layout, rows, depth, budget) : sight::make_plain_roots(layout, depth)) {}

  /// Evidence that all isomorphisms are in a group whose symmetric classes are given. @param holds_layout_group  does that hold the layout's own?
  /// @param wanted  what the target lets tokens depend on, where that is not all
  json write(const std::vector<Vertex>& number, bool holds_layout_group, const sight::WantedTokens* wanted = nullptr) {
    holds_layout_group_ = holds_layout_group;
    if (wanted != nullptr) is_alone_ = [wanted](Vertex a) { return wanted->own_only(a); };
    json roots = std::move(contributed_roots_), pairs = std::move(contributed_pairs_);
    for (const auto& members : find_alike(number, [&](Vertex a, const ViewColours::Colours& colours) {
           const std::string key = std::to_string(a);
           if (roots.contains(key) || colours.at.discrete || is_alone_(a) || cover(colours, number) || does_cell_explain(a)) return true;
           roots[key] = show_group(a);
           return true;
         })) {
      write_pairs(members, number, pairs);
    }
    json result = json::object();
    if (!parts_.empty()) result["parts"] = std::move(parts_);
    if (!roots.empty()) result["roots"] = std::move(roots);
    if (!pairs.empty()) result["pairs"] = std::move(pairs);
    return result;
  }

  /// Writes down what makes the layout's group grow to `all`, which holds all isomorphisms of the views (all tokens are in view).
  void find_contributions(const group::Group& all) {
    if (records_ != nullptr && !equal_) {
      if (const auto known = records_->contributors.find(depth_); known != records_->contributors.end()) {
        for (const Vertex a : known->second) contributed_roots_[std::to_string(a)] = show_group(a);
        return;
      }
    }
    group::Group grown = layout_group_;
    std::vector<Vertex> number = sight::number_symmetric_classes(grown);
    // As long as nothing was added, the layout itself says what is in its group: a stabiliser chain is made when it no longer does.
    std::optional<symmetry::AutomorphismTest> test;
    if (!equal_) test.emplace(symmetry::make_structure(layout_), budget_);
    std::optional<group::Membership> member;
    const auto contains = [&](const group::Permutation& g) {
      if (test) return (*test)(g);
      if (!member) member.emplace(grown, budget_);
      return member->contains(g);
    };
    const auto grow = [&](const group::Group& by) {
      bool known = std::all_of(by.generators.begin(), by.generators.end(), contains);
      for (const auto& members : by.symmetric_classes) {
        for (std::size_t k = 1; k < members.size() && known; ++k) {
          known = number[members[k - 1]] == number[members[k]] || contains(group::Permutation::transposition(members[k - 1], members[k]));
        }
      }
      if (known) return false;
      grown = group::make_join({grown, by}, budget_);
      test.reset();
      member.reset();
      number = sight::number_symmetric_classes(grown);
      return true;
    };
    const auto visit = [&](Vertex a, const ViewColours::Colours& colours) {
      if (colours.at.discrete || cover(colours, number) || does_cell_explain(a)) return true;
      const Rooted rooted = maker_->make(a, budget_);
      symmetry::SearchRecord search;
      const group::Group group = symmetry::compute_token_automorphisms(rooted.structure, layout_.tokens, budget_, &search);
      if (grow(group)) contributed_roots_[std::to_string(a)] = search.is_tight ? to_evidence(search) : make_group_evidence(rooted.structure, layout_.tokens, budget_);
      return !(grown.order == all.order);
    };
    // A few roots may do.
    use_places(number);
    for (const Vertex a : sight::choose_samples(find_roots(), 16)) {
      if (!visit(a, colour(a))) return;
    }
    const auto alike = find_alike(number, visit);
    for (const std::vector<Vertex>& members : alike) {
      for (std::size_t k = 1; k < members.size(); ++k) {
        const Rooted second = maker_->make(members[k], budget_);
        for (std::size_t l = 0; l < k; ++l) {
          const auto images = find_map(maker_->make(members[l], budget_), second);
          if (!images) continue;
          const group::Permutation tau = from_images(*images).restricted(layout_.tokens);
          // A group is made of a map only when it adds something: its order takes a stabiliser chain.
          if (!contains(tau) && grow(group::make_group(layout_.tokens, {tau}, budget_))) put_like(contributed_pairs_, members[l], members[k], *images);
          break;  // maps to other roots go through this one
        }
      }
    }
  }

  /// The whole map of structures that a collision belongs to.
  json write_map(const sight::Collision& collision) {
    if (!equal_) {
      const std::vector<std::int64_t> latest = sight::compute_latest(layout_, depth_, collision.a, budget_);
      std::vector<Vertex> images(layout_.vertices());
      std::iota(images.begin(), images.end(), Vertex{0});
      std::vector<bool> taken(images.size(), false);
      for (const auto& [j, image] : collision.tau) {
        images[j] = image;
        taken[image] = true;
      }
      Vertex next = 0;
      for (Vertex j = 0; j < layout_.tokens; ++j) {
        if (latest[j] >= 0) continue;
        while (taken[next]) ++next;
        images[j] = next++;
      }
      return to_evidence(from_images(images));
    }
    Rooted first = maker_->make(collision.a, budget_), second = maker_->make(collision.b, budget_);
    // Tokens are held to tau by colours of their own; the rest follows.
    std::uint64_t colour = 1;
    for (const Rooted* rooted : {&first, &second}) {
      for (const std::uint64_t c : rooted->structure.vertex_colour) colour = std::max(colour, c + 1);
    }
    for (const auto& [j, image] : collision.tau) {
      first.structure.vertex_colour[j] = second.structure.vertex_colour[image] = colour;
      ++colour;
    }
    const auto images = find_map(first, second);
    if (!images) throw InternalError("a collision does not extend to the labels of registers");
    return to_evidence(from_images(*images));
  }

private:
  using Alike = std::vector<std::vector<Vertex>>;
  /// (hash, class, how many seen tokens have them), sorted.
  struct Covered {
    std::uint64_t hash;
    Vertex number;
    std::uint64_t count;
    friend auto operator<=>(const Covered&, const Covered&) = default;
  };
  using Cover = std::vector<Covered>;

  const sight::ViewRecords::Discrete* find_discrete(Vertex a) const {
    if (records_ == nullptr || equal_) return nullptr;
    const auto depth = records_->discrete.find(depth_);
    if (depth == records_->discrete.end()) return nullptr;
    const auto found = depth->second.find(a);
    return found == depth->second.end() ? nullptr : &found->second;
  }

  /// The group of the view of a.
  json show_group(Vertex a) const {
    if (records_ != nullptr) {
      if (const auto found = records_->by_root.find({depth_, a}); found != records_->by_root.end()) return to_evidence(found->second);
    }
    return make_group_evidence(maker_->make(a, budget_).structure, layout_.tokens, budget_);
  }

  std::vector<Vertex> find_roots() const {
    std::vector<Vertex> roots;
    const std::vector<std::uint64_t>& colours = layout_.vertex_colour;
    std::vector<std::uint64_t> sorted(colours.begin(), colours.begin() + layout_.tokens);
    std::sort(sorted.begin(), sorted.end());
    if (layout_.tokens == 1 || std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end()) return roots;
    const std::vector<bool> complete = sight::recall_complete_roots(layout_, depth_, equal_ ? nullptr : records_, budget_);
    for (Vertex a = 0; a < layout_.tokens; ++a) {
      if (layout_group_.orbit[a] == a && !complete[a]) roots.push_back(a);
    }
    return roots;
  }

  /// Colours on two tokens per class of the layout's group, as long as these classes have one number each.
  void use_places(const std::vector<Vertex>& number) {
    places_.reset();
    if (equal_ || !sight::are_classes_uniform(layout_group_, number)) return;
    if (auto places = ViewColours::make(layout_, layout_group_, depth_, budget_)) places_.emplace(std::move(*places));
  }

  ViewColours::Colours colour(Vertex a) {
    if (places_) {
      if (auto colours = places_->colour(a)) return *std::move(colours);
    }
    Rooted rooted = maker_->make(a, budget_);
    if (auto rigid = sight::find_rigid_colours(rooted, a, ~std::uint64_t{0}, budget_)) return {*std::move(rigid), std::move(rooted.seen)};
    return {sight::compute_root_colours(rooted, budget_), std::move(rooted.seen)};
  }

  /// Roots whose views hashes do not tell apart; visits every root, as long as `visit` says to go on, unless the layout is rigid.
  template <class Visit>
  Alike find_alike(const std::vector<Vertex>& number, const Visit& visit) {
    if (!equal_ && records_ != nullptr) {
      if (records_->explained.contains(depth_) && sight::are_classes_uniform(layout_group_, number)) return {};
      if (const auto told = records_->told.find(depth_); told != records_->told.end() && told->second == number) return {};
    }
    if (sight::do_translates_explain(layout_, depth_, budget_) || sight::do_offsets_explain(layout_, depth_, budget_) || do_crosses_explain()) return {};
    const bool rigid = !equal_ && sight::is_rigid(layout_, budget_);
    Alike alike{find_roots()};
    const bool alone = sight::drop_alone(layout_, depth_, is_alone_, alike.front(), budget_);
    if (alike.front().empty()) return {};
    // The sweep asked this before, of the same classes.
    const bool asked = !alone && !equal_ && records_ != nullptr && number == sight::number_symmetric_classes(layout_group_), open = asked && records_->open.contains(depth_);
    if (!open && !(asked && records_->times_asked.contains(depth_)) && (sight::do_times_explain(layout_, depth_, alike.front(), number, budget_) || sight::do_lines_explain(layout_, depth_, alike.front(), budget_))) return {};
    if (!equal_ && !open && sight::drop_told_by_rows(layout_, number, depth_, alike.front(), budget_) && alike.front().empty()) return {};
    if (!equal_ && holds_layout_group_) {
      sight::ViewRecords own;
      if (records_ != nullptr) own.parts = records_->parts;
      const auto show = [&](const std::string& key, std::uint64_t at, const Layout& part) {
        const symmetry::SearchRecord& search = own.parts.at(at).search;
        parts_[key] = search.is_tight ? to_evidence(search) : make_group_evidence(symmetry::make_structure(part), part.tokens, budget_);
      };
      for (const std::uint64_t first : sight::drop_partly_complete(layout_, layout_group_, depth_, alike.front(), &own, budget_)) show(std::to_string(first), first, sight::make_part(layout_, first));
      if (sight::drop_grounded(layout_, layout_group_, depth_, alike.front(), own, budget_)) show("ground", sight::ground_part, *sight::make_ground(layout_, budget_));
      if (alike.front().empty() || (!parts_.empty() && records_ != nullptr && records_->explained_beyond_parts.contains(depth_) && sight::are_classes_uniform(layout_group_, number))) return {};
      if (!parts_.empty() && sight::do_times_explain(layout_, depth_, alike.front(), number, budget_)) return {};
    }
    if (!equal_ && sight::are_classes_uniform(layout_group_, number) && sight::drop_named(layout_, layout_group_, depth_, alike.front(), budget_) && alike.front().empty()) return {};
    if (!equal_ && holds_layout_group_ && sight::explain_products(layout_, depth_, alike.front(), number, budget_).explained) return {};
    places_.reset();
    sight::SurroundingsQuestion near{&layout_, &layout_group_, depth_, &alike.front(), &number, sight::allow_local_steps(layout_, alike.front())};
    near.is_rigid = [rigid] { return rigid; };
    near.is_open = open;
    if (open) alike.front() = records_->open.at(depth_);
    if (sight::explain_surroundings(near, places_, budget_) == sight::SurroundingsAnswer::explained) return {};
    const auto split = [&](const auto& invariant) {
      Alike still;
      for (const std::vector<Vertex>& members : alike) {
        std::map<std::uint64_t, std::vector<Vertex>> by_invariant;
        for (const Vertex a : members) by_invariant[invariant(a)].push_back(a);
        for (auto& [value, group] : by_invariant) {
          if (group.size() > 1) still.push_back(std::move(group));
        }
      }
      alike = std::move(still);
    };
    if (rigid) {
      for (const std::uint64_t most : {std::uint64_t{1} << 10, std::uint64_t{1} << 13, std::uint64_t{1} << 16, ~std::uint64_t{0}}) {
        split([&](Vertex a) {
          const auto colours = sight::find_rigid_colours(maker_->make(a, budget_), a, most, budget_);
          return colours ? colours->invariant : 0;
        });
      }
    } else {
      bool goes_on = true;
      split([&](Vertex a) -> std::uint64_t {
        if (!goes_on) return 0;
        if (const auto* const known = find_discrete(a)) return known->invariant;
        const ViewColours::Colours colours = colour(a);
        goes_on = visit(a, colours);
        return colours.at.invariant;
      });
      if (!goes_on) return {};
    }
    return alike;
  }

  std::optional<Cover> cover(const ViewColours::Colours& colours, const std::vector<Vertex>& number) const {
    Cover all, cover;
    for (std::size_t place = 0; place < colours.at.hash.size(); ++place) {
      const Vertex j = colours.at.vertex != nullptr ? (*colours.at.vertex)[place] : static_cast<Vertex>(place);
      if (j >= layout_.tokens) break;
      if (colours.seen[place]) all.push_back({colours.at.hash[place], number[j], colours.at.vertex != nullptr ? places_->count(place) : 1});
    }
    std::sort(all.begin(), all.end());
    for (const Covered& entry : all) {
      if (cover.empty() || cover.back().hash != entry.hash) cover.push_back(entry);
      else if (cover.back().number != entry.number) return std::nullopt;
      else cover.back().count += entry.count;
    }
    return cover;
  }

  bool do_crosses_explain() const {
    std::optional<symmetry::AutomorphismTest> test;
    const auto is_symmetry = [&](const group::Permutation& tau) {
      if (!test) test.emplace(symmetry::make_structure(layout_), budget_);
      return (*test)(tau);
    };
    return sight::do_crosses_explain(layout_, depth_, is_symmetry, budget_);
  }

  /// The checker finds this out by itself.
  bool does_cell_explain(Vertex a) const {
    return !equal_ && holds_layout_group_ && sight::do_many_generators_fix(layout_group_, a) && sight::does_cell_explain(maker_->make(a, budget_), a, layout_, layout_group_, budget_);
  }

  std::optional<std::vector<Vertex>> find_map(const Rooted& first, const Rooted& second) const {
    if (first.structure.vertices != second.structure.vertices) return std::nullopt;
    return symmetry::find_isomorphism(first.structure, second.structure, budget_);
  }

  static void put_like(json& pairs, Vertex a, Vertex b, const std::vector<Vertex>& images) {
    pairs[std::to_string(b)] = {{"like", a}, {"map", to_evidence(from_images(images))}};
  }

  void write_pairs(const std::vector<Vertex>& roots, const std::vector<Vertex>& number, json& pairs) {
    struct Cluster {
      std::optional<Cover> cover;
      std::vector<Vertex> members;
    };
    std::vector<Cluster> clusters;
    for (const Vertex b : roots) {
      const std::string key = std::to_string(b);
      if (pairs.contains(key)) continue;
      auto mine = cover(colour(b), number);
      std::optional<Rooted> made;
      std::optional<std::size_t> home;
      json unlike = json::object();
      bool known = false;
      for (std::size_t c = 0; c < clusters.size() && !known; ++c) {
        if (mine && clusters[c].cover == mine) {
          home = c;
          continue;
        }
        for (const Vertex a : clusters[c].members) {
          const Rooted first = maker_->make(a, budget_);
          if (!made) made = maker_->make(b, budget_);
          const Rooted& second = *made;
          if (const auto images = find_map(first, second)) {
            put_like(pairs, a, b, *images);
            known = true;
            break;
          }
          if (first.structure.vertices == second.structure.vertices) {
            unlike[std::to_string(a)] = make_no_isomorphism_evidence(first.structure, second.structure, {{a, b}}, budget_);
          }
        }
      }
      if (known) continue;
      if (!unlike.empty()) pairs[key] = {{"unlike", std::move(unlike)}};
      if (home) clusters[*home].members.push_back(b);
      else clusters.push_back({std::move(mine), {b}});
    }
  }

  const Layout& layout_;
  const group::Group& layout_group_;
  const Budget& budget_;
  std::uint64_t depth_;
  const sight::ViewRecords* records_;
  bool equal_, holds_layout_group_ = true;
  std::function<bool(Vertex)> is_alone_ = [](Vertex) { return false; };
  std::unique_ptr<sight::RootMaker> maker_;
  std::optional<ViewColours> places_;
  json contributed_roots_ = json::object(), contributed_pairs_ = json::object(), parts_ = json::object();
};

/// For every vertex (how many it reads) * (how many read it), over the distinct layers.
std::vector<double> compute_traffic(const Layout& layout) {
  const Vertex vertices = layout.vertices();
  std::vector<double> reads(vertices, 0);
  sight::SteppedSums<double> readers(vertices);
  std::vector<layout::Run> row;
  const auto add = [&](const std::vector<layout::Run>& runs, Vertex begin, Vertex end) {
    double degree = 0;
    for (const layout::Run& run : runs) {
      degree += run.size();
      readers.add(run.first, run.last, run.step, end - begin);
    }
    for (Vertex reader = begin; reader < end; ++reader) reads[reader] += degree;
  };
  for (const layout::Relation& relation : layout.relations) {
    layout::SteadyRows rows(relation.pattern(), 1);
    for (Vertex i = 0, end = 0; i < vertices; i = end) {
      if (rows.go_to(i) && !rows.steady().empty()) add(rows.steady(), i, rows.end());
      end = rows.is_whole() ? rows.end() : rows.steady().empty() ? relation.pattern().same_row_until(i) : i + 1;
      if (rows.is_whole()) continue;
      rows.rest(i, row);
      add(row, i, end);
    }
  }
  const std::vector<double> read_by = std::move(readers).take();
  for (Vertex j = 0; j < vertices; ++j) reads[j] *= read_by[j];
  return reads;
}

/// Columns, sorted, and the hub; nothing when hubs do not answer.
std::optional<std::pair<std::vector<Vertex>, Vertex>> find_reach_hints(const Layout& layout, const Budget& budget) {
  constexpr Threshold<Vertex> sampled{48, 2, "asked columns"}, quiet{16, 1, "asked columns"};
  sight::ReachQuestion question;
  question.layout = &layout;
  question.find_layers = true;
  const auto answer = sight::answer_by_hubs(question, budget);
  if (!answer) return std::nullopt;
  const std::vector<double> traffic = compute_traffic(layout);
  std::vector<Vertex> order(layout.vertices());
  std::iota(order.begin(), order.end(), Vertex{0});
  std::stable_sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return traffic[a] > traffic[b]; });
  std::vector<Vertex> columns;
  for (std::uint64_t k = 0; k < sampled; ++k) columns.push_back(static_cast<Vertex>((layout.tokens - 1) * k / (sampled - 1)));
  for (auto v = order.rbegin(); v != order.rend() && columns.size() < sampled + quiet; ++v) {
    if (*v < layout.tokens) columns.push_back(*v);
  }
  if (answer->reach.witness) columns.push_back(answer->reach.witness->unseen);
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  // The first vertex that everybody comes to see and that sees everything, soon enough.
  Vertex hub = order.front();
  for (std::size_t k = 0; k < 3 && answer->reach.layers; ++k) {
    std::uint64_t gathered = 0;
    const auto full = [&] {
      const auto latest = sight::compute_latest(layout, gathered, order[k], budget);
      return std::all_of(latest.begin(), latest.begin() + layout.tokens, [](std::int64_t t) { return t >= 0; });
    };
    while (gathered < *answer->reach.layers && !full()) ++gathered;
    if (gathered >= *answer->reach.layers) continue;
    sight::ReachQuestion spread = question;
    spread.skip = gathered;
    spread.registers_too = true;
    const std::vector<Vertex> column{order[k]};
    const auto after = sight::answer_by_bits(spread, budget, &column).reach;
    if (!after.layers || gathered + *after.layers > *answer->reach.layers) continue;
    hub = order[k];
    break;
  }
  return std::pair{std::move(columns), hub};
}

}  // namespace

SightEvidence::SightEvidence(const Layout& layout, const group::Group& layout_group, sight::RegisterRows rows, const Budget& budget, const sight::ViewRecords* records, bool skips_first)
    : layout_(layout), layout_group_(layout_group), rows_(rows), records_(records), budget_(budget) {
  add_reach(skips_first);
}

// Hints for layouts too large to follow every column: columns that come late, and a vertex through which all can see all. Intervals and grids
// of products need none, as long as every token counts.
void SightEvidence::add_reach(bool skips_first) {
  constexpr Threshold<Vertex> small_layout{1024, 2, "small layouts"};
  if (layout_.vertices() <= small_layout || layout_.order.empty()) return;
  sight::ReachQuestion question;
  question.layout = &layout_;
  question.find_layers = true;
  if (!skips_first && sight::knows_grid(layout_) && !sight::find_shorter(layout_, budget_)) return;
  // Tokens that everybody reads the checker finds by itself, registers it does not.
  if (layout_.registers == 0 && sight::answer_by_core(question, budget_)) return;
  if (sight::answer_by_intervals(question, budget_) || sight::is_causal_chain(layout_, budget_)) return;
  // Two tokens per stretch are asked before any grid, and with the weights of stretches a grid has no factors.
  if (sight::find_closed_parts(layout_, budget_)) return;
  const auto shorter = sight::find_shorter(layout_, budget_);
  if (!shorter && !skips_first && sight::find_grid_factors(layout_, budget_)) return;
  auto hints = find_reach_hints(shorter ? shorter->layout : layout_, budget_);
  if (!hints) return;
  auto& [columns, hub] = *hints;
  for (Vertex& column : columns) column = shorter ? shorter->first[column] : column;
  evidence_["reach"] = {{"columns", columns}, {"hub", shorter ? shorter->first[hub] : hub}};
}

void SightEvidence::put_collision(const ViewQuestion& question, const std::string& key, std::uint64_t depth, const sight::Collision& collision) {
  ViewWriter writer(layout_, layout_group_, rows_, depth, records_, budget_);
  evidence_["collisions"][question_key(question)][key] = {{"a", collision.a}, {"b", collision.b}, {"map", writer.write_map(collision)}};
}

void SightEvidence::add_views(const ViewQuestion& question, std::uint64_t depth) {
  const sight::Limit limit = sight::compute_limit(question, budget_);
  if (limit.everything && depth >= limit.depth) return;
  if (depth >= limit.depth && layout_group_.is_trivial() && sight::do_rows_name_tokens(layout_, budget_)) return;
  const sight::WantedTokens wanted(question, budget_);
  if (wanted.own_only()) return;
  ViewWriter writer(layout_, layout_group_, rows_, std::min(depth, limit.depth), records_, budget_);
  // The checker knows a target by what the file says: symmetric classes that only our analysis found do not cover anything there.
  std::vector<Vertex> number(layout_.tokens);
  std::iota(number.begin(), number.end(), Vertex{0});
  if (question.target == question.layout_group) number = sight::number_symmetric_classes(*question.target);
  // Without a collision, a target of class `all` has every symmetry of the layout.
  json views = writer.write(number, question.target == question.layout_group || question.target_class == sight::ClassKind::all, &wanted);
  if (!views.empty()) evidence_["views"][question_key(question)][std::to_string(depth)] = std::move(views);
}

void SightEvidence::add_needed(const ViewQuestion& question, const sight::Needed* known) {
  const sight::Needed needed = known != nullptr ? *known : sight::compute_needed(question, budget_);
  json& claim = evidence_["needed"][question_key(question)] = json::object();
  if (needed.missing) claim["missed"] = {needed.missing->reader, needed.missing->unseen};
  if (needed.layers) {
    claim["layers"] = *needed.layers;
    if (layout_.tokens > 1) add_views(question, *needed.layers);
    if (needed.below) put_collision(question, std::to_string(*needed.layers - 1), *needed.layers - 1, *needed.below);
  } else if (needed.never) {
    claim["never"] = true;
    if (needed.below) put_collision(question, "ever", sight::compute_limit(question, budget_).depth, *needed.below);
  } else {
    // Out of reach: what was found on the way is shown.
    claim["between"] = {needed.low, needed.high};
    if (needed.high > 0) add_views(question, needed.high);
    const auto start = sight::compute_wanted_reach(question, false, budget_).layers;
    if (start && needed.low > *start) {
      if (const auto collision = sight::find_collision(question, needed.low - 1, budget_)) {
        put_collision(question, std::to_string(needed.low - 1), needed.low - 1, *collision);
      }
    }
  }
}

void SightEvidence::add_collision(const ViewQuestion& question, std::uint64_t depth, const std::optional<sight::Collision>* known) {
  const auto collision = known != nullptr ? *known : sight::find_collision(question, depth, budget_);
  const std::uint64_t limit = sight::compute_limit(question, budget_).depth;
  if (collision) put_collision(question, std::to_string(depth), std::min(depth, limit), *collision);
  else if (layout_.tokens > 1) add_views(question, depth);
}

void SightEvidence::add_expressed(std::optional<std::uint64_t> depth, const std::optional<group::Group>* known) {
  const ViewQuestion question{&layout_, &layout_group_, &layout_group_, sight::ClassKind::all, rows_};
  const auto group = known != nullptr ? *known : depth ? sight::compute_expressed_group(question, *depth, budget_) : sight::compute_limit_group(question, budget_);
  if (!group) return;
  const sight::Limit limit = sight::compute_limit(question, budget_);
  const auto reach = sight::compute_connected(layout_, budget_).layers;
  const std::uint64_t m = depth ? *depth : std::max(limit.depth, *reach);
  if (limit.everything && m >= limit.depth) return;
  ViewWriter writer(layout_, layout_group_, rows_, std::min(m, limit.depth), records_, budget_);
  const bool grown = !(group->order == layout_group_.order);
  if (grown) writer.find_contributions(*group);
  json evidence = writer.write(sight::number_symmetric_classes(*group), true);
  if (grown) {
    evidence["classes"] = to_evidence(group->symmetric_classes);
    evidence["generators"] = json::array();
    for (const group::Permutation& g : group->generators) evidence["generators"].push_back(to_evidence(g));
  }
  if (!evidence.empty()) evidence_["groups"][depth ? std::to_string(m) : "ever"] = std::move(evidence);
}

}  // namespace sightline::certificate

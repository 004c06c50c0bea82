#include "sightline/sight/view_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/sight/local_views.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/stepped_sums.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::sight {

namespace {

RootColours colour_view(const Rooted& rooted, Vertex root, const Budget& budget) {
  if (auto rigid = find_rigid_colours(rooted, root, ~std::uint64_t{0}, budget)) return *std::move(rigid);
  return compute_root_colours(rooted, budget);
}

// Elementary steps one sweep may take; a fixed number, so that the same input gets the same answer everywhere.
constexpr std::uint64_t most_work = 8'000'000'000;
// When a whole group is to be found, which is one figure of the answer and decides nothing.
constexpr std::uint64_t most_work_for_groups = 1'000'000'000;
// Views searched for a group beyond that: a search takes a second and more.
constexpr Threshold<Vertex> most_sampled_vertices{131'072, 1, "sampled vertices"};
// From this size on a few views are asked for two tokens whose rows are hidden before anything is written down for all views.
constexpr Threshold<Vertex> least_for_hidden_twins{4096, 2, "hidden twins"};
// Roots looked at before the whole amount is estimated.
constexpr Threshold<std::size_t> sampled_roots{16, 2, "sampled roots"};

bool are_distinct(const std::vector<std::uint64_t>& colours, Vertex count) {
  if (count > 1 && colours[0] == colours[1]) return false;
  std::vector<std::uint64_t> sorted(colours.begin(), colours.begin() + count);
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
}

/// By vertex: a hash of the visible readers, their relations and colours. Nothing when there are many runs in sight.
std::optional<std::vector<std::uint64_t>> hash_visible_readers(const Layout& layout, const std::vector<std::int64_t>& latest, const std::vector<std::uint64_t>& first,
                                                               const Budget& budget) {
  SteppedSums<std::uint64_t> read(layout.vertices());
  std::uint64_t work = 0;
  std::vector<layout::ColouredRun> row;
  for (std::size_t r = 0; r < first.size(); ++r) {
    for (Vertex i = 0; i < layout.vertices(); ++i) {
      if (latest[i] < 0 || static_cast<std::uint64_t>(latest[i]) < first[r]) continue;
      budget.poll();
      layout.relations[r].row(i, row);
      work += row.size();
      for (const layout::ColouredRun& run : row) {
        const std::uint64_t reader = root_hash::mix(root_hash::mix(i) + r);
        if (run.colour_step == 0) {
          read.add(run.first, run.last, run.step, root_hash::mix(reader + static_cast<std::uint64_t>(run.colour)));
          continue;
        }
        work += run.size();
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
          read.add(static_cast<Vertex>(j), static_cast<Vertex>(j), 1, root_hash::mix(reader + static_cast<std::uint64_t>(colour)));
        }
      }
      if (work > 4 * std::uint64_t{layout.vertices()}) return std::nullopt;
    }
  }
  return std::move(read).take();
}

}  // namespace

std::vector<Vertex> number_symmetric_classes(const group::Group& group) {
  std::vector<Vertex> number(group.degree);
  std::iota(number.begin(), number.end(), Vertex{0});
  for (const auto& members : group.symmetric_classes) {
    for (const group::Point x : members) number[x] = members.front();
  }
  return number;
}

bool are_classes_uniform(const group::Group& group, const std::vector<Vertex>& number) {
  return std::all_of(group.symmetric_classes.begin(), group.symmetric_classes.end(), [&](const auto& members) {
    return std::all_of(members.begin(), members.end(), [&](group::Point x) { return number[x] == number[members.front()]; });
  });
}

std::vector<Vertex> list_seen(const std::vector<bool>& seen, Vertex tokens) {
  std::vector<Vertex> list;
  for (Vertex j = 0; j < tokens; ++j) {
    if (seen[j]) list.push_back(j);
  }
  return list;
}

std::vector<Vertex> list_seen(const std::vector<std::int64_t>& latest, Vertex tokens) {
  std::vector<Vertex> list;
  for (Vertex j = 0; j < tokens; ++j) {
    if (latest[j] >= 0) list.push_back(j);
  }
  return list;
}

Move make_move(Vertex a, const group::Permutation& tau, const std::vector<Vertex>& seen) {
  Move move{a, tau(a), {}};
  move.tau.reserve(seen.size());
  const std::vector<group::Point>& moved = tau.moved();
  std::size_t at = 0;
  for (const Vertex j : seen) {
    while (at < moved.size() && moved[at] < j) ++at;
    move.tau.emplace_back(j, at < moved.size() && moved[at] == j ? tau.image()[at] : j);
  }
  return move;
}

std::optional<group::Permutation> permute_seen(const Move& move) {
  std::vector<group::Point> moved, image;
  for (const auto& [j, to] : move.tau) {
    if (j == to) continue;
    moved.push_back(j);
    image.push_back(to);
  }
  std::vector<group::Point> sorted = image;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != moved) return std::nullopt;
  return group::Permutation::from_support(std::move(moved), std::move(image));
}

std::vector<Vertex> choose_samples(const std::vector<Vertex>& roots, std::size_t count) {
  if (roots.size() <= count) return roots;
  std::vector<Vertex> samples;
  for (std::size_t k = 0; k < count; ++k) samples.push_back(roots[k * (roots.size() - 1) / (count - 1)]);
  return samples;
}

ViewSweep::ViewSweep(const ViewQuestion& question, std::uint64_t depth, const Budget& budget)
    : question_(question), budget_(budget), layout_structure_(symmetry::make_structure(*question.layout)), depth_(depth) {
  const Layout& layout = *question.layout;
  maker_ = layout.has_equal_registers() ? make_register_roots(layout, question.register_rows, depth, budget)
                                        : make_plain_roots(layout, depth);
}

bool ViewSweep::is_layout_generator(const group::Permutation& tau) const {
  if (tau.is_identity()) return true;
  const auto less = [](const group::Permutation& a, const group::Permutation& b) { return a.moved() != b.moved() ? a.moved() < b.moved() : a.image() < b.image(); };
  const std::vector<group::Permutation>& all = question_.layout_group->generators;
  if (generators_.empty() && !all.empty()) {
    for (const group::Permutation& g : all) generators_.push_back(&g);
    std::sort(generators_.begin(), generators_.end(), [&](const auto* a, const auto* b) { return less(*a, *b); });
  }
  const auto at = std::lower_bound(generators_.begin(), generators_.end(), tau, [&](const auto* g, const group::Permutation& t) { return less(*g, t); });
  return at != generators_.end() && !less(tau, **at);
}

bool ViewSweep::is_layout_symmetry(const group::Permutation& tau) const {
  if (is_layout_generator(tau)) return true;
  // Registers of different colours stay where they are.
  if (!question_.layout->has_equal_registers()) {
    if (tau.moved().size() == 2 && !layout_test_) {
      if (const auto kept = is_swap_symmetric(*question_.layout, {}, tau.moved()[0], tau.moved()[1], budget_)) return *kept;
    }
    // In a small group the views of many roots show the same maps, all of whose rows are read to test one.
    constexpr std::size_t most_kept = 32, most_moved = 32768;
    if (std::find(symmetries_.begin(), symmetries_.end(), tau) != symmetries_.end()) return true;
    if (!layout_test_) layout_test_ = std::make_unique<symmetry::AutomorphismTest>(layout_structure_, budget_);
    if (!(*layout_test_)(tau)) return false;
    if (symmetries_.size() < most_kept && tau.moved().size() <= most_moved) symmetries_.push_back(tau);
    return true;
  }
  if (!layout_member_) layout_member_ = std::make_unique<group::Membership>(*question_.layout_group, budget_);
  return layout_member_->contains(tau);
}

bool ViewSweep::judge(const Move& move) { return explains(move) || found(move); }

std::uint64_t ViewSweep::allowed_work() const { return first_only() ? most_work : most_work_for_groups; }

void ViewSweep::charge(std::uint64_t amount) {
  work_ += amount + question_.layout->vertices();
  if (work_ > allowed_work()) {
    throw OutOfReach(fmt::format("comparing the views of {} tokens takes more than {} steps", question_.layout->tokens, allowed_work()));
  }
}

bool ViewSweep::run() {
  const Layout& layout = *question_.layout;
  // Tokens that all start different cannot be moved.
  if (layout.tokens == 1 || are_distinct(layout.vertex_colour, layout.tokens)) return true;
  // Kept for the questions and the evidence that follow, where registers say nothing of their own.
  ViewRecords* const records = layout.has_equal_registers() ? nullptr : question_.records;
  bool own_classes = records != nullptr && question_.target == question_.layout_group;
  if (own_classes && records->explained.contains(depth_)) return true;
  bool needs_parts = false;  // the certificate has to show them
  const auto explained = [&] {
    if (own_classes) (needs_parts ? records->explained_beyond_parts : records->explained).insert(depth_);
    return true;
  };
  const auto is_symmetry = [this](const group::Permutation& tau) { return is_layout_symmetry(tau); };
  if (do_translates_explain(layout, depth_, budget_) || do_windows_explain(layout, depth_, budget_) || do_offsets_explain(layout, depth_, budget_) || do_crosses_explain(layout, depth_, is_symmetry, budget_)) return explained();
  const std::vector<group::Point>& orbit = question_.layout_group->orbit;
  // Where rows are rigid a view has no automorphism, and one orbit has no two roots to compare: nothing else need be asked (docs/theory.md 16.58).
  const bool one_orbit = std::all_of(orbit.begin(), orbit.begin() + layout.tokens, [](group::Point least) { return least == 0; });
  if (one_orbit && !layout.has_equal_registers() && is_rigid(layout, budget_)) return explained();
  std::vector<Vertex> roots;
  const std::vector<bool> complete = recall_complete_roots(layout, depth_, records, budget_);
  if (records != nullptr) records->complete.try_emplace(depth_, complete);
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if (orbit[a] == a && !complete[a]) roots.push_back(a);
  }
  if (drop_alone(layout, depth_, [this](Vertex a) { return is_alone(a); }, roots, budget_)) own_classes = false;  // of the others' views only some isomorphisms matter
  if (roots.empty()) return true;
  const bool open = own_classes && records->open.contains(depth_);  // tried before, for another question
  if (!open && do_closed_parts_explain(layout, *question_.layout_group, depth_, roots, symmetric_class(), is_symmetry, budget_)) return explained();
  if (!open && (do_times_explain(layout, depth_, roots, symmetric_class(), budget_) || do_lines_explain(layout, depth_, roots, budget_))) return explained();
  if (own_classes) records->times_asked.insert(depth_);
  // Where few roots are left (the ends of a window), what is near them is looked at first: matchings describe all rows.
  constexpr Threshold<Vertex> least_for_few{4096, 2, "few roots"}, rows_per_root{64, 1, "few roots"};
  const bool few = layout.vertices() >= least_for_few && roots.size() * std::uint64_t{rows_per_root} < layout.vertices();
  if (!open && !few && (do_rows_explain(roots) || do_matchings_explain(layout, depth_, roots, is_symmetry, budget_))) return explained();
  if (!open && drop_told_by_rows(layout, symmetric_class(), depth_, roots, budget_) && roots.empty()) return explained();
  // Symmetries of the layout are passed over there: what was to be said about them is said when the sweep begins.
  const bool passes_layout_group = !layout.has_equal_registers() && (holds_layout_group() || question_.target_class == ClassKind::all);
  if (passes_layout_group && !drop_partly_complete(layout, *question_.layout_group, depth_, roots, records, budget_).empty()) {
    if (roots.empty()) return true;
    needs_parts = true;
  }
  ViewRecords unkept;
  if (passes_layout_group && drop_grounded(layout, *question_.layout_group, depth_, roots, records != nullptr ? *records : unkept, budget_)) {
    if (roots.empty()) return true;
    needs_parts = true;
  }
  if (are_classes_uniform(*question_.layout_group, symmetric_class()) && drop_named(layout, *question_.layout_group, depth_, roots, budget_) && roots.empty()) return explained();
  if (!first_only() && roots.size() > 8 * sampled_roots && layout.vertices() <= most_sampled_vertices) {
    const std::vector<Vertex> before = symmetric_class();
    if (sample_group(roots)) return true;
    if (before != symmetric_class()) own_classes = false;  // what a group explains that has grown, the layout's own does not
  }
  if (passes_layout_group) {
    const ProductViews::Answer products = explain_products(layout, depth_, roots, symmetric_class(), budget_);
    if (products.explained) return explained();
    if (first_only() && !try_suspects(products.suspects)) return false;
  }
  if (first_only() && layout.vertices() >= least_for_hidden_twins && !try_hidden_twins(roots)) return false;
  const auto are_many = [&] { return std::uint64_t{roots.size()} * layout.vertices() > allowed_work(); };
  bool rigid = false;
  SurroundingsQuestion near{&layout, question_.layout_group, depth_, &roots, &symmetric_class()};
  near.most_local = allow_local_steps(layout, roots);
  near.is_rigid = [&] { return rigid = !are_many() && !layout.has_equal_registers() && is_rigid(layout, budget_); };
  std::optional<Vertex> suspect;  // where more than two tokens may have to move
  if (first_only() && layout.vertices() >= least_for_hidden_twins) {
    near.is_refuted = [this, &suspect](const AlikeVertices& alike) {
      suspect = alike.root;
      return !try_alike(alike);
    };
  }
  near.is_open = open && own_classes && !needs_parts;
  if (near.is_open) roots = records->open.at(depth_);
  const SurroundingsAnswer surroundings = explain_surroundings(near, views_, budget_);
  if (surroundings == SurroundingsAnswer::refuted) return false;
  if (surroundings == SurroundingsAnswer::explained || (!near.is_open && few && do_matchings_explain(layout, depth_, roots, is_symmetry, budget_))) return explained();
  if (own_classes && !needs_parts && !rigid) records->open[depth_] = roots;
  constexpr Threshold<Vertex> most_in_view{65536, 1, "suspects"};  // rows go down: no more than stand below
  if (suspect && *suspect < most_in_view && !visit_root(*suspect, colour(*suspect))) return false;
  if (are_many()) {
    if (first_only() && !sample_twins(roots)) return false;
    throw OutOfReach(fmt::format("there are {} views of {} vertices to compare", roots.size(), layout.vertices()));
  }
  if (rigid) {
    const std::vector<std::vector<Vertex>> alike = find_alike_walks(std::move(roots));
    if (alike.empty()) return explained();  // the evidence is empty, and need not be looked for again
    return std::all_of(alike.begin(), alike.end(), [this](const std::vector<Vertex>& members) { return visit_pairs(members); });
  }
  std::map<std::uint64_t, std::vector<Vertex>> alike;
  std::vector<Vertex> asked = first_only() ? std::vector<Vertex>{} : symmetric_class();
  for (std::size_t k = 0; k < roots.size(); ++k) {
    const Vertex a = roots[k];
    budget_.poll();
    if (k == sampled_roots && work_ / sampled_roots > allowed_work() / roots.size()) {
      if (!first_only() && sample_group(roots)) return true;
      charge(most_work);
    }
    if (records != nullptr) {
      const auto& known = records->discrete[depth_];
      if (const auto found = known.find(a); found != known.end()) {
        charge(found->second.work);
        alike[found->second.invariant].push_back(a);
        continue;
      }
    }
    const ViewColours::Colours colours = colour(a);
    charge(colours.at.work);
    // Where a few roots cannot do, the first one mostly shows that all of them are too many.
    if (k == 0 && !first_only() && !are_times_few(roots.size(), layout.vertices()) && work_ > 2 * (allowed_work() / roots.size())) charge(most_work);
    if (!visit_root(a, colours)) return false;
    alike[colours.at.invariant].push_back(a);
    if (records != nullptr && colours.at.discrete) records->discrete[depth_][a] = {colours.at.invariant, colours.at.work};
    if (first_only() || asked == symmetric_class()) continue;
    // The group has grown: perhaps it explains the rest.
    asked = symmetric_class();
    if (do_times_explain(layout, depth_, roots, asked, budget_)) return true;
  }
  for (const Vertex a : roots) {
    // In order of the first root, so that the witness does not depend on hashes.
    for (auto& [invariant, members] : alike) {
      if (members.size() > 1 && members.front() == a && !visit_pairs(members)) return false;
    }
    if (alike.size() == roots.size()) break;
  }
  // Colours alone have told everything: evidence of it is none, and need not be looked for again.
  if (alike.size() < roots.size()) return true;
  if (searched_.empty()) return explained();
  // What made a group grow is mostly explained by its classes then.
  const std::size_t most_again = 16 + roots.size() / 8;
  const auto is_told = [this](Vertex a) {
    const ViewColours::Colours colours = colour(a);
    return covers(colours.at, colours.at);
  };
  if (!first_only() && !needs_parts && records != nullptr && searched_.size() <= most_again && std::ranges::all_of(searched_, is_told)) records->told[depth_] = symmetric_class();
  return true;
}

bool ViewSweep::try_suspects(const std::vector<ProductViews::Suspect>& suspects) {
  std::vector<Vertex> all(question_.layout->tokens);
  std::iota(all.begin(), all.end(), Vertex{0});
  for (const auto& [a, x, y] : suspects) {
    const group::Permutation swap = group::Permutation::transposition(x, y);
    const Move move = make_move(a, swap, all);
    if (!explains(move) && is_swap_of_view(a, swap)) return found(move);
  }
  return true;
}

// Many roots whose rows differ in length: the ends of a wide window.
bool ViewSweep::do_rows_explain(const std::vector<Vertex>& roots) {
  constexpr Threshold<std::size_t> least{1024, 1, "row lengths"};
  const Layout& layout = *question_.layout;
  if (roots.size() < least || layout.has_equal_registers() || !question_.layout_group->symmetric_classes.empty()) return false;
  const auto views = ViewColours::make(layout, *question_.layout_group, depth_, budget_);
  return views && views->explains_by_rows(roots, symmetric_class());
}

// Two vertices that nothing found out told apart: their swap, perhaps, is a symmetry of the view.
bool ViewSweep::try_alike(const AlikeVertices& alike) {
  return std::max(alike.x, alike.y) >= question_.layout->tokens || try_swap(alike.root, group::Permutation::transposition(alike.x, alike.y));
}

bool ViewSweep::try_swap(Vertex a, const group::Permutation& swap) {
  const Move move = make_move(a, swap, list_seen(latest_of(a), question_.layout->tokens));
  return explains(move) || !is_swap_of_view(a, swap) || found(move);
}

// What may be exchanged in sight of a root mostly may be with a layer more.
bool ViewSweep::try_again(const Move& known) {
  const Layout& layout = *question_.layout;
  if (known.a != known.b || layout.vertices() < least_for_hidden_twins || layout.has_equal_registers()) return true;
  const auto tau = permute_seen(known);
  if (!tau || (holds_layout_group() && is_layout_symmetry(*tau))) return true;
  if (tau->moved().size() == 2) return try_swap(known.a, *tau);  // mostly: nothing has to be written out
  const Rooted rooted = maker_->make(known.a, budget_);
  const Move move = make_move(known.a, *tau, list_seen(rooted.seen, layout.tokens));
  return explains(move) || !symmetry::is_automorphism(rooted.structure, *tau, budget_) || found(move);
}

// Tokens whose rows are out of sight, and that what is in sight reads alike: their swap is a symmetry of the view. O(n + visible runs) per view.
bool ViewSweep::try_hidden_twins(const std::vector<Vertex>& roots) {
  constexpr int most_tries = 4;
  const Layout& layout = *question_.layout;
  if (layout.has_equal_registers()) return true;
  std::vector<std::uint64_t> first(layout.relations.size(), ~std::uint64_t{0});
  for (std::size_t q = layout.order.size(); q >= 1; --q) {
    for (const std::uint32_t r : layout.layer(q).relations) first[r] = q;
  }
  const std::uint64_t least = *std::min_element(first.begin(), first.end());
  const std::vector<Vertex>& number = symmetric_class();
  for (const Vertex a : choose_samples(roots, most_tries)) {
    const std::vector<std::int64_t>& latest = latest_of(a);
    const std::optional<std::vector<std::uint64_t>> read = hash_visible_readers(layout, latest, first, budget_);
    if (!read) continue;
    std::unordered_map<std::uint64_t, Vertex> previous;
    const std::vector<Vertex> seen = list_seen(latest, layout.tokens);
    int tries = most_tries;
    for (std::size_t k = 0; k < seen.size() && tries > 0; ++k) {
      const Vertex j = seen[k];
      if (static_cast<std::uint64_t>(latest[j]) >= least) continue;
      const std::uint64_t key = root_hash::mix((*read)[j] + root_hash::mix(2 * layout.vertex_colour[j] + 1) + static_cast<std::uint64_t>(latest[j]));
      const auto [at, fresh] = previous.emplace(key, j);
      const Vertex other = std::exchange(at->second, j);
      if (fresh || number[other] == number[j]) continue;
      const group::Permutation swap = group::Permutation::transposition(other, j);
      if (holds_layout_group() && is_layout_symmetry(swap)) continue;
      const Move move = make_move(a, swap, seen);
      if (explains(move)) continue;
      --tries;
      if (is_swap_of_view(a, swap)) return found(move);
    }
  }
  return true;
}

// Rigid views have no automorphisms, and most differ soon after the root: longer walks only for those that do not.
std::vector<std::vector<Vertex>> ViewSweep::find_alike_walks(std::vector<Vertex> roots) {
  std::vector<std::vector<Vertex>> alike{std::move(roots)};
  RigidRows rows(budget_);
  for (std::uint64_t most : {std::uint64_t{1} << 10, std::uint64_t{1} << 13, std::uint64_t{1} << 16, ~std::uint64_t{0}}) {
    std::vector<std::vector<Vertex>> still;
    for (const std::vector<Vertex>& members : alike) {
      std::map<std::uint64_t, std::vector<Vertex>> by_walk;
      for (const Vertex a : members) {
        const Rooted rooted = maker_->make(a, budget_);
        const auto colours = find_rigid_colours(rooted, a, most, budget_, &rows);
        charge(rooted.work + (colours ? colours->work : 0));
        by_walk[colours ? colours->invariant : 0].push_back(a);
      }
      for (auto& [invariant, group] : by_walk) {
        if (group.size() > 1) still.push_back(std::move(group));
      }
    }
    alike = std::move(still);
  }
  // In order of the first root, so that the witness does not depend on hashes.
  std::sort(alike.begin(), alike.end());
  return alike;
}

// Too many views to compare all; two tokens that one of a few views cannot tell apart are a proof all the same.
bool ViewSweep::sample_twins(const std::vector<Vertex>& roots) {
  for (const Vertex a : choose_samples(roots, 4)) {
    const ViewColours::Colours colours = colour(a);
    if (!colours.at.discrete && !visit_twins(a, colours)) return false;
  }
  return true;
}

// The views of a few roots often give the whole group, and then it takes little to see that the others add nothing.
bool ViewSweep::sample_group(const std::vector<Vertex>& roots) {
  for (const Vertex a : choose_samples(roots, sampled_roots)) {
    budget_.poll();
    const std::vector<Vertex> before = symmetric_class();
    if (!visit_root(a, colour(a))) return false;
    if (before != symmetric_class() && do_times_explain(*question_.layout, depth_, roots, symmetric_class(), budget_)) return true;
  }
  return false;
}

// By place where that is known, else by vertex; the steps of the structure that is made are counted with the colours.
ViewColours::Colours ViewSweep::colour(Vertex a) {
  if (views_) {
    if (auto colours = views_->colour(a)) return *std::move(colours);
  }
  const Rooted rooted = maker_->make(a, budget_);
  ViewColours::Colours colours{colour_view(rooted, a, budget_), rooted.seen};
  colours.at.work += rooted.work;
  return colours;
}

// Every automorphism permutes the vertices within equal hashes.
bool ViewSweep::covers(const RootColours& first, const RootColours& second) const {
  const std::vector<Vertex>& number = symmetric_class();
  // Open addressing over both hash lists: this is asked once per root.
  const Vertex tokens = question_.layout->tokens;
  slots_.assign(std::bit_ceil(2 * (first.hash.size() + second.hash.size()) + 2), {0, 0});
  const std::size_t mask = slots_.size() - 1;
  for (const RootColours* colours : {&first, &second}) {
    for (std::size_t place = 0; place < colours->hash.size(); ++place) {
      const Vertex j = colours->vertex != nullptr ? (*colours->vertex)[place] : static_cast<Vertex>(place);
      if (j >= tokens) break;
      const std::uint64_t key = colours->hash[place] | 1;
      std::size_t at = (key >> 7) & mask;
      while (slots_[at].first != 0 && slots_[at].first != key) at = (at + 1) & mask;
      if (slots_[at].first == 0) slots_[at] = {key, number[j]};
      else if (slots_[at].second != number[j]) return false;
    }
    if (&first == &second) break;
  }
  return true;
}

bool ViewSweep::visit_root(Vertex a, const ViewColours::Colours& colours) {
  if (colours.at.discrete || is_alone(a) || covers(colours.at, colours.at)) return true;
  const bool passes_layout_group = holds_layout_group() || question_.target_class == ClassKind::all;
  if (passes_layout_group && do_many_generators_fix(*question_.layout_group, a) && does_cell_explain(maker_->make(a, budget_), a, *question_.layout, *question_.layout_group, budget_)) return true;
  searched_.push_back(a);
  if (first_only() && !visit_twins(a, colours)) return false;
  return visit_group(a, maker_->make(a, budget_));
}

// scale.md, "What made it cheap" 6: two tokens that nothing in sight tells apart.
bool ViewSweep::visit_twins(Vertex a, const ViewColours::Colours& colours) {
  constexpr Threshold<Vertex> small_layout{8192, 2, "sparse views"};
  const Vertex tokens = question_.layout->tokens;
  const bool by_place = colours.at.vertex != nullptr;
  const std::vector<Vertex>& number = symmetric_class();
  std::vector<bool> seen(tokens);
  std::vector<Vertex> in_sight;
  const std::vector<Vertex>* places = by_place ? &views_->places() : nullptr;
  for (Vertex j = 0; j < tokens; ++j) seen[j] = colours.seen[by_place ? (*places)[j] : j];
  const auto hash = [&](Vertex j) { return colours.at.hash[by_place ? (*places)[j] : j]; };
  // On large layouts only the two tokens that stand for a class are asked for, and the token before them.
  const bool sparse = by_place && question_.layout->vertices() >= small_layout;
  std::unordered_map<std::uint64_t, Vertex> previous;
  int tries = 8;
  for (std::size_t k = 0; k < (sparse ? colours.at.vertex->size() : tokens) && tries > 0; ++k) {
    const Vertex j = sparse ? (*colours.at.vertex)[k] : static_cast<Vertex>(k);
    if (j >= tokens || !seen[j]) continue;
    const auto [at, fresh] = previous.emplace(hash(j), j);
    Vertex other = std::exchange(at->second, j);
    if (fresh || number[other] == number[j]) continue;
    for (Vertex x = j - 1; sparse && x > other; --x) {
      if (seen[x] && number[x] != number[j] && hash(x) == hash(j)) other = x;
    }
    const group::Permutation swap = group::Permutation::transposition(other, j);
    if (leaves(a, swap)) continue;
    if (in_sight.empty()) in_sight = list_seen(seen, tokens);
    const Move move = make_move(a, swap, in_sight);
    if (explains(move)) continue;
    --tries;
    if (is_swap_of_view(a, swap)) return found(move);
  }
  return true;
}

bool ViewSweep::is_swap_of_view(Vertex a, const group::Permutation& swap) const {
  const Layout& layout = *question_.layout;
  const Vertex x = swap.moved()[0], y = swap.moved()[1];
  if (x == a || y == a) return false;
  if (!layout.has_equal_registers()) {
    if (const auto kept = is_swap_symmetric(layout, latest_of(a), x, y, budget_)) return *kept;
  }
  return symmetry::is_automorphism(maker_->make(a, budget_).structure, swap, budget_);
}

const std::vector<std::int64_t>& ViewSweep::latest_of(Vertex a) const {
  if (!latest_ || latest_->first != a) latest_.emplace(a, compute_latest(*question_.layout, depth_, a, budget_));
  return latest_->second;
}

bool ViewSweep::visit_group(Vertex a, const Rooted& rooted) {
  const Vertex tokens = question_.layout->tokens;
  const bool by_tokens = !question_.layout->has_equal_registers();  // who moves, moves tokens
  ViewRecords* const records = by_tokens && question_.records != nullptr && question_.records->by_root.size() < ViewRecords::most ? question_.records : nullptr;
  symmetry::SearchRecord record;
  const group::Group group = by_tokens ? symmetry::compute_token_automorphisms(rooted.structure, tokens, budget_, records != nullptr ? &record : nullptr)
                                       : symmetry::restrict_to_tokens(symmetry::compute_automorphisms(rooted.structure, budget_), tokens, budget_);
  if (record.is_tight) records->by_root[{depth_, a}] = std::move(record);
  if (absorb(a, group)) return true;
  const std::vector<Vertex> seen = list_seen(rooted.seen, tokens);
  for (const auto& members : group.symmetric_classes) {
    if (!rooted.seen[members.front()]) continue;
    for (std::size_t k = 1; k < members.size(); ++k) {
      if (symmetric_class()[members[k - 1]] == symmetric_class()[members[k]]) continue;
      const group::Permutation swap = group::Permutation::transposition(members[k - 1], members[k]);
      if (!leaves(a, swap) && !judge(make_move(a, swap, seen))) return false;
    }
  }
  // What preserves the layout as it is need not be written down.
  for (const group::Permutation& generator : group.generators) {
    if (holds_layout_group() && (by_tokens ? is_layout_symmetry(generator) : is_layout_generator(generator))) continue;
    if (!leaves(a, generator) && !judge(make_move(a, generator, seen))) return false;
  }
  return true;
}

bool ViewSweep::visit_pairs(const std::vector<Vertex>& roots) {
  const Vertex tokens = question_.layout->tokens;
  // Clusters: roots whose isomorphisms with the first of the cluster, if any, the group explains.
  std::vector<std::pair<RootColours, Cluster>> clusters;
  for (const Vertex b : roots) {
    RootColours colours = colour(b).at;
    charge(colours.work);
    std::optional<Rooted> second;
    Cluster* mine = nullptr;
    bool known = false;
    for (auto& [lead, members] : clusters) {
      if (covers(lead, colours)) {
        mine = &members;
        continue;
      }
      for (const Vertex a : members) {
        const Rooted first = maker_->make(a, budget_);
        charge(first.work + colours.work);
        if (!second) second = maker_->make(b, budget_);
        if (first.structure.vertices != second->structure.vertices) continue;
        const auto images = symmetry::find_isomorphism(first.structure, second->structure, budget_);
        if (!images) continue;
        Move move{a, b, {}};
        for (Vertex j = 0; j < tokens; ++j) {
          if (first.seen[j]) move.tau.emplace_back(j, (*images)[j]);
        }
        if (!judge(move)) return false;
        known = true;
        break;
      }
      if (known) break;
    }
    if (known) continue;
    if (mine != nullptr) {
      mine->push_back(b);
    } else {
      clusters.emplace_back(std::move(colours), Cluster{b});
    }
  }
  return true;
}

}  // namespace sightline::sight

#include "sightline/design/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sightline/base/error.hpp"
#include "sightline/design/two_closure.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::design {

namespace {

constexpr std::uint32_t most_exhaustive = 16;
constexpr Point most_matrix = 512;

}  // namespace

Search::Search(const Request& request, const Orbitals& orbitals, const Budget& budget) : request_(request), orbitals_(orbitals), budget_(budget) {
  const auto rank = static_cast<std::uint32_t>(orbitals.list().size());
  if (rank <= 64) configuration_ = std::make_unique<Configuration>(orbitals, budget);
  exhaustive_ = rank - orbitals.diagonal_count() <= most_exhaustive && rank <= 24;
}

std::vector<std::uint32_t> Search::list(OrbitalSet set) const {
  std::vector<std::uint32_t> chosen;
  for (; set != 0; set &= set - 1) chosen.push_back(static_cast<std::uint32_t>(std::countr_zero(set)));
  return chosen;
}

std::string Search::describe(OrbitalSet set) const {
  return fmt::format("{} pairs in {} orbital{}", configuration_->count_pairs(set), std::popcount(set & ~configuration_->diagonal()),
                     std::popcount(set & ~configuration_->diagonal()) == 1 ? "" : "s");
}

bool Search::has_right_group(const std::vector<OrbitalSet>& layers) {
  std::vector<std::uint8_t> partition = configuration_->refine(layers);
  if (static_cast<std::uint32_t>(*std::max_element(partition.begin(), partition.end())) + 1 == configuration_->rank()) return true;
  const auto known = right_group_.find(partition);
  if (known != right_group_.end()) return known->second;
  std::vector<std::unique_ptr<layout::Relation>> relations;
  symmetry::Structure structure;
  structure.vertices = orbitals_.degree();
  structure.vertex_colour.assign(orbitals_.degree(), 0);
  for (const OrbitalSet layer : layers) {
    relations.push_back(std::make_unique<layout::Relation>(make_orbital_pattern(orbitals_, list(layer), {}, budget_), layout::Relative{}, layout::Cancels::nothing, orbitals_.degree()));
    structure.relations.push_back({relations.back().get(), {}});
  }
  const bool right = symmetry::compute_automorphisms(structure, budget_).order == request_.group.order;
  right_group_.emplace(std::move(partition), right);
  return right;
}

std::vector<Search::Union> Search::list_unions(bool loops_chosen) const {
  const std::uint32_t diagonal = orbitals_.diagonal_count();
  const std::uint32_t rank = configuration_->rank();
  std::vector<Union> unions;
  const OrbitalSet all_loops = configuration_->diagonal();
  for (OrbitalSet others = 1; others < OrbitalSet{1} << (rank - diagonal); ++others) {
    const OrbitalSet set = others << diagonal;
    const std::uint64_t pairs = configuration_->count_pairs(set);
    if (!loops_chosen) {
      unions.push_back({pairs, set | all_loops});
      continue;
    }
    for (OrbitalSet loops = 0; loops < all_loops; ++loops) {
      if (loops != 0) unions.push_back({pairs, set | loops});
    }
  }
  // Among equal costs the most loops first: a loop left out should say something.
  std::sort(unions.begin(), unions.end(), [](const Union& a, const Union& b) {
    const int loops_a = std::popcount(a.set), loops_b = std::popcount(b.set);
    return std::tie(a.pairs, loops_b, a.set) < std::tie(b.pairs, loops_a, b.set);
  });
  return unions;
}

bool Search::is_beaten(PointKind kind, std::uint64_t layers, std::uint64_t pairs, std::uint64_t pattern_pairs) const {
  return std::any_of(points_.begin(), points_.end(), [&](const FrontPoint& p) {
    return p.kind == kind && p.layers <= layers && p.pairs <= pairs && p.pattern_pairs <= pattern_pairs;
  });
}

std::uint64_t Search::bound_single(std::uint64_t layers) const {
  // Rows of d others see at most 1 + d + .. + d^m tokens; one layer must read everything; and every token reads another one.
  const std::uint64_t n = orbitals_.degree();
  if (n <= 1) return 0;
  if (layers == 1) return n * (n - 1);
  const bool transitive = orbitals_.diagonal_count() == 1;
  // Not transitive: n arcs, and 2 (n - 1) where two layers must connect all (docs/theory.md 16.10).
  if (!transitive) return layers * (layers == 2 && n >= 4 ? 2 * (n - 1) : n);
  for (std::uint64_t d = 1;; ++d) {
    std::uint64_t seen = 1, ring = 1;
    for (std::uint64_t q = 0; q < layers && seen < n; ++q) {
      ring = std::min(ring * d, n);
      seen += ring;
    }
    if (seen >= n) return layers * n * d;
  }
}

void Search::keep(std::optional<FrontPoint> point, bool proved) {
  if (!point || is_beaten(point->kind, point->layers, point->pairs, point->pattern_pairs)) return;
  point->proved = proved;
  point->lower_bound = proved ? point->pairs : point->kind == PointKind::single || point->kind == PointKind::coloured ? bound_single(point->layers) : 0;
  if (point->lower_bound == point->pairs) point->proved = true;
  std::erase_if(points_, [&](const FrontPoint& p) {
    return p.kind == point->kind && p.loops_chosen == point->loops_chosen && p.layers >= point->layers && p.pairs >= point->pairs && p.pattern_pairs >= point->pattern_pairs;
  });
  points_.push_back(std::move(*point));
}

void Search::find_single() {
  if (orbitals_.degree() == 1) return;
  if (!exhaustive_) {
    search_by_size();
    return;
  }
  for (const bool loops_chosen : {false, true}) {
    if (loops_chosen && orbitals_.diagonal_count() == 1) break;
    std::uint64_t fewest_layers = ~std::uint64_t{0};
    for (const Union& u : list_unions(loops_chosen)) {
      budget_.report("single patterns", 0);
      const std::uint64_t reach = configuration_->compute_reach({u.set});
      // Unions come by size: from here on only fewer layers help.
      if (reach == 0 || reach >= fewest_layers || is_beaten(PointKind::single, reach, reach * u.pairs, u.pairs) || !has_right_group({u.set})) continue;
      Candidate candidate;
      candidate.layers = {{describe_union(orbitals_, list(u.set), budget_), u.pairs}};
      candidate.loops_chosen = loops_chosen;
      candidate.description = "one pattern: " + describe(u.set);
      std::optional<FrontPoint> point = certify_candidate(request_, candidate, reach, budget_);
      if (point) fewest_layers = std::min(fewest_layers, point->layers);
      keep(std::move(point), true);
    }
  }
}

void Search::search_by_size() {
  // Unions of the smallest orbitals, both ways round and one way: 1, 2, 3, .., then every doubling.
  std::vector<std::uint32_t> by_size;
  for (std::uint32_t k = orbitals_.diagonal_count(); k < orbitals_.list().size(); ++k) by_size.push_back(k);
  std::stable_sort(by_size.begin(), by_size.end(), [&](auto a, auto b) { return orbitals_.list()[a].size < orbitals_.list()[b].size; });
  std::vector<std::uint32_t> loops(orbitals_.diagonal_count());
  for (std::uint32_t k = 0; k < loops.size(); ++k) loops[k] = k;
  const Point n = orbitals_.degree();
  if (n > 2048) {
    notes_.push_back("single patterns were not searched above 2,048 tokens");
    return;
  }
  for (const bool both_ways : {true, false}) {
    std::vector<std::uint32_t> chosen = loops;
    std::vector<bool> used(orbitals_.list().size(), false);
    std::uint64_t pairs = 0;
    std::size_t steps = 0, next_try = 1;
    for (const std::uint32_t k : by_size) {
      if (used[k]) continue;
      for (const std::uint32_t part : {k, both_ways ? orbitals_.list()[k].paired : k}) {
        if (used[part]) continue;
        used[part] = true;
        chosen.push_back(part);
        pairs += orbitals_.list()[part].size;
      }
      if (++steps != next_try) continue;
      next_try = steps < 8 ? steps + 1 : 2 * steps;
      budget_.report("single patterns", static_cast<double>(steps) / static_cast<double>(by_size.size()));
      Candidate candidate;
      candidate.layers = {{describe_union(orbitals_, chosen, budget_), pairs}};
      candidate.description = fmt::format("one pattern: {} pairs, the smallest orbitals{}", pairs, both_ways ? ", both ways round" : "");
      const layout::Layout layout = architecture::make_layout(make_architecture(request_, candidate, 1), budget_);
      const sight::Connected connected = sight::compute_connected(layout, budget_);
      if (!connected.layers || is_beaten(PointKind::single, *connected.layers, *connected.layers * pairs, pairs)) continue;
      if (!(symmetry::compute_layout_group(layout, budget_).order == request_.group.order)) continue;
      keep(certify_candidate(request_, candidate, *connected.layers, budget_), false);
    }
  }
}

void Search::find_several() {
  if (!exhaustive_ || orbitals_.degree() == 1) return;
  const std::uint32_t others = configuration_->rank() - orbitals_.diagonal_count();
  if (others <= 9) search_lists(2);
  else notes_.push_back(fmt::format("lists of several patterns were not searched: {} non-diagonal orbitals, at most 9 are", others));
  if (others <= 7) search_lists(3);
}

void Search::search_lists(std::size_t length) {
  struct List {
    std::uint64_t pairs;
    std::uint32_t index[3];
  };
  const std::vector<Union> unions = list_unions(false);
  std::vector<List> lists;
  List next{0, {0, 0, 0}};
  const auto count = static_cast<std::uint32_t>(unions.size());
  const std::uint32_t third = length == 3 ? count : 1;
  for (next.index[0] = 0; next.index[0] < count; ++next.index[0]) {
    for (next.index[1] = 0; next.index[1] < count; ++next.index[1]) {
      for (next.index[2] = 0; next.index[2] < third; ++next.index[2]) {
        next.pairs = unions[next.index[0]].pairs + unions[next.index[1]].pairs + (length == 3 ? unions[next.index[2]].pairs : 0);
        if (next.index[0] != next.index[1] || (length == 3 && next.index[0] != next.index[2])) lists.push_back(next);
      }
    }
  }
  std::stable_sort(lists.begin(), lists.end(), [](const List& a, const List& b) { return a.pairs < b.pairs; });
  std::uint64_t fewest_layers = ~std::uint64_t{0};
  std::vector<OrbitalSet> layers(length);
  for (const List& l : lists) {
    budget_.report("lists of patterns", 0);
    for (std::size_t k = 0; k < length; ++k) layers[k] = unions[l.index[k]].set;
    const std::uint64_t reach = configuration_->compute_reach(layers);
    if (reach < length || reach >= fewest_layers) continue;
    std::vector<LayerPlan> plans(length);
    for (std::size_t k = 0; k < length; ++k) plans[k].pairs = unions[l.index[k]].pairs;
    if (is_beaten(PointKind::single, reach, count_pairs(plans, reach), l.pairs) || is_beaten(PointKind::several, reach, count_pairs(plans, reach), l.pairs)) continue;
    if (!has_right_group(layers)) continue;
    Candidate candidate;
    candidate.kind = PointKind::several;
    candidate.layers = plans;
    for (std::size_t k = 0; k < length; ++k) candidate.layers[k].pattern = describe_union(orbitals_, list(layers[k]), budget_);
    candidate.description = fmt::format("{} patterns in turn: {}", length == 2 ? "two" : "three", describe(layers[0]));
    for (std::size_t k = 1; k < length; ++k) candidate.description += ", " + describe(layers[k]);
    std::optional<FrontPoint> point = certify_candidate(request_, candidate, reach, budget_);
    if (point) fewest_layers = std::min(fewest_layers, point->layers);
    keep(std::move(point), true);
  }
}

void Search::find_causal() {
  const std::uint64_t n = orbitals_.degree();
  if (n == 1) return;
  // Token i must read back all of 0..i-1 within m layers: some row of every layer's pattern is not empty, and all but the
  // first token read something.
  for (std::uint64_t w = 1; w < n; w = w < 8 || 2 * w < n - 1 ? (w < 8 ? w + 1 : 2 * w) : (w < n - 1 ? n - 1 : n)) {
    layout::PatternSpec spec;
    spec.kind = layout::PatternKind::window;
    spec.before = static_cast<std::int64_t>(w);
    spec.after = 0;
    const std::uint64_t pairs = w * (n - w) + w * (w - 1) / 2;
    for (const bool relative : {false, true}) {
      Candidate candidate;
      candidate.kind = relative ? PointKind::coloured : PointKind::single;
      candidate.layers = {{spec, pairs}};
      candidate.relative = relative;
      candidate.description = fmt::format("{} tokens back{}", w, relative ? ", a trained weight per distance" : "");
      std::optional<FrontPoint> point = certify_candidate(request_, candidate, (n - 2) / w + 1, budget_);
      if (point) {
        const std::uint64_t layers = point->layers;
        keep(std::move(point), false);
        for (FrontPoint& p : points_) {
          if (p.layers == layers) p.lower_bound = layers == 1 ? n * (n - 1) / 2 : layers * (n - 1);
        }
      }
    }
  }
}

void Search::find_coloured() {
  if (orbitals_.degree() == 1) return;
  if (orbitals_.degree() > most_matrix) {
    notes_.push_back(fmt::format("coloured layers were not written out above {} tokens", most_matrix));
    return;
  }
  const auto try_set = [&](const std::vector<std::uint32_t>& chosen, std::uint64_t pairs, std::uint64_t reach, bool proved) {
    Candidate candidate;
    candidate.kind = PointKind::coloured;
    candidate.layers = {{describe_colours(orbitals_, chosen, 0), pairs}};
    candidate.description = fmt::format("one pattern of {} pairs, a trained weight for each of {} orbitals", pairs, chosen.size());
    std::optional<FrontPoint> point = certify_candidate(request_, candidate, reach, budget_);
    const std::uint64_t layers = point ? point->layers : ~std::uint64_t{0};
    keep(std::move(point), proved);
    return layers;
  };
  if (!exhaustive_) {
    std::vector<std::uint32_t> all(orbitals_.list().size());
    for (std::uint32_t k = 0; k < all.size(); ++k) all[k] = k;
    const std::uint64_t n = orbitals_.degree();
    (void)try_set(all, n * (n - 1), 1, false);
    return;
  }
  std::uint64_t fewest_layers = ~std::uint64_t{0};
  for (const Union& u : list_unions(false)) {
    budget_.report("coloured patterns", 0);
    const std::uint64_t reach = configuration_->compute_reach({u.set});
    if (reach == 0 || reach >= fewest_layers || is_beaten(PointKind::coloured, reach, reach * u.pairs, u.pairs)) continue;
    std::vector<OrbitalSet> colours;
    for (const std::uint32_t k : list(u.set)) colours.push_back(OrbitalSet{1} << k);
    if (!has_right_group(colours)) continue;
    fewest_layers = std::min(fewest_layers, try_set(list(u.set), u.pairs, reach, true));
  }
}

std::vector<std::uint32_t> Search::find_greedily() {
  std::vector<std::uint32_t> by_size, chosen;
  for (std::uint32_t k = orbitals_.diagonal_count(); k < orbitals_.list().size(); ++k) by_size.push_back(k);
  std::stable_sort(by_size.begin(), by_size.end(), [&](auto a, auto b) { return orbitals_.list()[a].size < orbitals_.list()[b].size; });
  by_size.resize(std::min<std::size_t>(by_size.size(), orbitals_.degree() > 500 ? 8 : 64));
  for (std::uint32_t k = 0; k < orbitals_.diagonal_count(); ++k) chosen.push_back(k);
  const auto measure = [&](std::uint32_t more) {
    std::vector<std::uint32_t> set = chosen;
    set.push_back(more);
    symmetry::Structure structure;
    structure.vertices = orbitals_.degree();
    structure.vertex_colour.assign(orbitals_.degree(), 0);
    const layout::Relation relation(make_orbital_pattern(orbitals_, set, {}, budget_), {}, layout::Cancels::nothing, orbitals_.degree());
    structure.relations.push_back({&relation, {}});
    return symmetry::compute_automorphisms(structure, budget_).order;
  };
  // The orbital that leaves the fewest automorphisms, the smallest one first, until none is too many.
  for (std::size_t step = 0; step < 24; ++step) {
    double least = group::make_symmetric_group(orbitals_.degree()).order.log10() + 1;
    std::size_t best = by_size.size();
    for (std::size_t k = 0; k < by_size.size(); ++k) {
      if (std::find(chosen.begin(), chosen.end(), by_size[k]) != chosen.end()) continue;
      const group::Order order = measure(by_size[k]);
      if (order.log10() < least - 1e-6) {
        least = order.log10();
        best = k;
      }
      if (order == request_.group.order) break;
    }
    if (best == by_size.size()) return {};
    chosen.push_back(by_size[best]);
    if (least < request_.group.order.log10() + 1e-6) return chosen;
  }
  return {};
}

void Search::find_gather_broadcast() {
  const Point n = orbitals_.degree();
  if (n == 1 || request_.causal || (request_.registers && *request_.registers < 1)) return;
  Candidate candidate;
  candidate.kind = PointKind::gather_broadcast;
  candidate.registers = 1;
  candidate.whole_list_once = true;
  const auto finish = [&](std::vector<LayerPlan> first, const std::string& what, bool proved) {
    candidate.layers = std::move(first);
    for (LayerPlan& plan : candidate.layers) {
      // Rows must be given for the register too, which only waits there.
      if (plan.pattern.kind == layout::PatternKind::rows) plan.pattern.rows.push_back({n});
    }
    candidate.layers.push_back(make_gather(n));
    candidate.layers.push_back(make_broadcast(n));
    candidate.description = what + ", then one register reads all and is read by all";
    const std::size_t before = points_.size();
    keep(certify_candidate(request_, candidate, candidate.layers.size(), budget_), proved);
    return points_.size() > before;
  };
  if (request_.group.order == group::make_symmetric_group(n).order) {
    (void)finish({}, "nothing", true);
    return;
  }
  if (!exhaustive_) {
    const std::vector<std::uint32_t> chosen = find_greedily();
    if (chosen.empty()) {
      notes_.push_back("no union of small orbitals with exactly the symmetry was found: gather and broadcast was not offered");
      return;
    }
    std::uint64_t pairs = 0;
    for (const std::uint32_t k : chosen) pairs += orbitals_.list()[k].is_diagonal() ? 0 : orbitals_.list()[k].size;
    (void)finish({{describe_union(orbitals_, chosen, budget_), pairs}}, fmt::format("{} pairs, found greedily", pairs), false);
    return;
  }
  // Colours cost nothing here, so one pattern and one coloured pattern are looked for by size alike; the plain one is preferred.
  for (const bool loops_chosen : {false, true}) {
    if (loops_chosen && orbitals_.diagonal_count() == 1) break;
    candidate.loops_chosen = loops_chosen;
    for (const Union& u : list_unions(loops_chosen)) {
      budget_.poll();
      if (is_beaten(PointKind::gather_broadcast, 3, u.pairs + 2ull * n, u.pairs + 2ull * n)) break;
      if (has_right_group({u.set}) && finish({{describe_union(orbitals_, list(u.set), budget_), u.pairs}}, describe(u.set), true)) break;
    }
  }
  candidate.loops_chosen = false;
  for (const Union& u : list_unions(false)) {
    budget_.poll();
    if (is_beaten(PointKind::gather_broadcast, 3, u.pairs + 2ull * n, u.pairs + 2ull * n)) return;
    std::vector<OrbitalSet> colours;
    for (const std::uint32_t k : list(u.set)) colours.push_back(OrbitalSet{1} << k);
    if (n > most_matrix || !has_right_group(colours)) continue;
    if (finish({{describe_colours(orbitals_, list(u.set), 1), u.pairs}}, describe(u.set) + " with trained weights", true)) return;
  }
}

}  // namespace sightline::design

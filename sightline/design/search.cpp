#include "sightline/design/search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <random>

#include "sightline/base/error.hpp"
#include "sightline/design/two_closure.hpp"
#include "sightline/sight/reach.hpp"
#include "sightline/sight/views.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::design {

namespace {

constexpr std::uint32_t most_exhaustive = 16;
constexpr std::size_t most_in_lists = 511, few_in_lists = 100;
constexpr std::uint64_t most_sequence = 6;

} // namespace

Search::Search(const Request& request, const Orbitals& orbitals, const Budget& budget)
    : request_(request), orbitals_(orbitals), budget_(budget) {
  const auto rank = static_cast<std::uint32_t>(orbitals.list().size());
  if (rank <= 64)
    configuration_ = std::make_unique<Configuration>(orbitals, budget);
  exhaustive_ = rank - orbitals.diagonal_count() <= most_exhaustive && rank <= 24;
}

std::vector<std::uint32_t> Search::list(OrbitalSet set) const {
  std::vector<std::uint32_t> chosen;
  for (; set != 0; set &= set - 1)
    chosen.push_back(static_cast<std::uint32_t>(std::countr_zero(set)));
  return chosen;
}

std::string Search::describe(OrbitalSet set) const {
  const std::uint64_t pairs = configuration_->count_pairs(set);
  return fmt::format("{} pair{} in {} orbital{}", pairs, pairs == 1 ? "" : "s",
                     std::popcount(set & ~configuration_->diagonal()),
                     std::popcount(set & ~configuration_->diagonal()) == 1 ? "" : "s");
}

bool Search::has_right_group(const std::vector<OrbitalSet>& layers) {
  std::vector<std::uint8_t> partition = configuration_->refine(layers);
  if (static_cast<std::uint32_t>(*std::max_element(partition.begin(), partition.end())) + 1 == configuration_->rank())
    return true;
  const auto known = right_group_.find(partition);
  if (known != right_group_.end())
    return known->second;
  std::vector<std::unique_ptr<layout::Relation>> relations;
  symmetry::Structure structure;
  structure.vertices = orbitals_.degree();
  structure.vertex_colour.assign(orbitals_.degree(), 0);
  for (const OrbitalSet layer : layers) {
    relations.push_back(std::make_unique<layout::Relation>(make_orbital_pattern(orbitals_, list(layer), {}, budget_),
                                                           layout::Relative{}, layout::Cancels::nothing,
                                                           orbitals_.degree()));
    structure.relations.push_back({relations.back().get(), {}});
  }
  const bool right = symmetry::compute_automorphisms(structure, budget_).order == request_.group.order;
  right_group_.emplace(std::move(partition), right);
  return right;
}

const layout::Pattern& Search::get_pattern(OrbitalSet set) {
  const auto known = patterns_.find(set);
  if (known != patterns_.end())
    return known->second;
  if (patterns_.size() >= 1000)
    patterns_.clear();
  return patterns_.emplace(set, make_orbital_pattern(orbitals_, list(set), {}, budget_)).first->second;
}

std::optional<std::uint64_t> Search::find_depth(const std::vector<OrbitalSet>& layers, std::uint64_t from,
                                                std::uint64_t to) {
  layout::Layout layout;
  layout.tokens = orbitals_.degree();
  layout.vertex_colour.assign(orbitals_.degree(), 0);
  for (std::uint32_t q = 0; q < layers.size(); ++q) {
    layout.relations.emplace_back(get_pattern(layers[q]), layout::Relative{}, layout::Cancels::nothing, layout.tokens);
    layout.layers.push_back({{q}});
    layout.order.push_back(q);
  }
  if (request_.layers)
    to = std::min(to, *request_.layers);
  for (; from <= to; ++from) {
    if (!sight::find_collision({&layout, &request_.group, &request_.group}, from, budget_))
      return from;
  }
  return std::nullopt;
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
      if (loops != 0)
        unions.push_back({pairs, set | loops});
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

std::optional<FrontPoint> Search::certify(const Candidate& candidate, std::uint64_t at_least) {
  return certify_candidate(request_, candidate, at_least, budget_, &undecided_);
}

bool Search::keep(std::optional<FrontPoint> point, bool proved) {
  if (!point || is_beaten(point->kind, point->layers, point->pairs, point->pattern_pairs))
    return false;
  const std::uint64_t bound =
      std::min(bound_pairs(orbitals_, request_.causal, point->kind, point->layers), point->pairs);
  point->proved = exhaustive_ && ((proved && !undecided_) || bound == point->pairs);
  point->lower_bound = point->proved ? point->pairs : bound;
  std::erase_if(points_, [&](const FrontPoint& p) {
    return p.kind == point->kind && p.loops_chosen == point->loops_chosen && p.layers >= point->layers &&
           p.pairs >= point->pairs && p.pattern_pairs >= point->pattern_pairs;
  });
  points_.push_back(std::move(*point));
  return true;
}

std::uint64_t Search::find_fewest_pairs(std::uint64_t layers) const {
  std::uint64_t fewest = ~std::uint64_t{0};
  for (const FrontPoint& p : points_) {
    if (p.layers <= layers)
      fewest = std::min(fewest, p.pairs);
  }
  return fewest;
}

void Search::find_single() {
  if (orbitals_.degree() == 1)
    return;
  if (!exhaustive_) {
    search_by_size();
    return;
  }
  for (const bool loops_chosen : {false, true}) {
    if (loops_chosen && orbitals_.diagonal_count() == 1)
      break;
    std::uint64_t fewest_layers = ~std::uint64_t{0};
    for (const Union& u : list_unions(loops_chosen)) {
      budget_.report("single patterns", 0);
      const std::uint64_t reach = configuration_->compute_reach({u.set});
      // Unions come by size: from here on only fewer layers help.
      if (reach == 0 || reach >= fewest_layers || is_beaten(PointKind::single, reach, reach * u.pairs, u.pairs) ||
          !has_right_group({u.set}))
        continue;
      const auto depth = find_depth({u.set}, reach, std::min(reach + 1, fewest_layers - 1));
      if (!depth || is_beaten(PointKind::single, *depth, *depth * u.pairs, u.pairs))
        continue;
      Candidate candidate;
      candidate.layers = {{describe_union(orbitals_, list(u.set), budget_), u.pairs}};
      candidate.loops_chosen = loops_chosen;
      candidate.description = "one pattern: " + describe(u.set);
      std::optional<FrontPoint> point = certify(candidate, *depth);
      if (point)
        fewest_layers = std::min(fewest_layers, point->layers);
      (void)keep(std::move(point), true);
    }
  }
}

void Search::search_by_size() {
  // Unions of the smallest orbitals, both ways round and one way: 1, 2, 3, .., then every doubling.
  std::vector<std::uint32_t> by_size;
  for (std::uint32_t k = orbitals_.diagonal_count(); k < orbitals_.list().size(); ++k)
    by_size.push_back(k);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](auto a, auto b) { return orbitals_.list()[a].size < orbitals_.list()[b].size; });
  std::vector<std::uint32_t> loops(orbitals_.diagonal_count());
  for (std::uint32_t k = 0; k < loops.size(); ++k)
    loops[k] = k;
  const Point n = orbitals_.degree();
  if (n > 2048) {
    notes_.push_back("single patterns were not searched above 2,048 tokens");
    return;
  }
  // The smallest first; then in an order drawn at random, which leaves fewer symmetries by chance than sizes do.
  std::mt19937_64 random(n);
  for (int order = 0; order < (n <= most_matrix ? 6 : 2); ++order) {
    const bool both_ways = order % 2 == 0;
    for (std::size_t k = 0; order >= 2 && k < by_size.size(); ++k)
      std::swap(by_size[k], by_size[k + random() % (by_size.size() - k)]);
    std::vector<std::uint32_t> chosen = loops;
    std::vector<bool> used(orbitals_.list().size(), false);
    std::uint64_t pairs = 0;
    std::size_t steps = 0, next_try = 1;
    for (const std::uint32_t k : by_size) {
      if (used[k])
        continue;
      for (const std::uint32_t part : {k, both_ways ? orbitals_.list()[k].paired : k}) {
        if (used[part])
          continue;
        used[part] = true;
        chosen.push_back(part);
        pairs += orbitals_.list()[part].size;
      }
      if (++steps != next_try)
        continue;
      next_try = steps < 8 ? steps + 1 : 2 * steps;
      budget_.report("single patterns", static_cast<double>(steps) / static_cast<double>(by_size.size()));
      Candidate candidate;
      candidate.layers = {{describe_union(orbitals_, chosen, budget_), pairs}};
      candidate.description = fmt::format("one pattern: {} pairs, {} orbitals{}", pairs,
                                          order < 2 ? "the smallest" : "some", both_ways ? ", both ways round" : "");
      const layout::Layout layout = architecture::make_layout(make_architecture(request_, candidate, 1), budget_);
      const sight::Connected connected = sight::compute_connected(layout, budget_);
      if (!connected.layers || is_beaten(PointKind::single, *connected.layers, *connected.layers * pairs, pairs))
        continue;
      if (!(symmetry::compute_layout_group(layout, budget_).order == request_.group.order))
        continue;
      (void)keep(certify(candidate, *connected.layers), false);
    }
  }
}

void Search::find_several() {
  if (!exhaustive_ || orbitals_.degree() == 1)
    return;
  const std::uint32_t others = configuration_->rank() - orbitals_.diagonal_count();
  search_lists(2);
  if (others <= 7)
    search_lists(3);
  std::uint64_t deepest = points_.empty() ? most_sequence : 3;
  for (const FrontPoint& p : points_)
    deepest = std::max(deepest, p.layers);
  for (std::uint64_t layers = 2; layers <= std::min(deepest, most_sequence); ++layers)
    search_sequences(layers);
}

void Search::search_lists(std::size_t length) {
  struct List {
    std::uint64_t pairs;
    std::uint32_t index[3];
  };
  std::vector<Union> unions = list_unions(false);
  // With more than nine orbitals only lists of the cheapest unions.
  if (unions.size() > most_in_lists)
    unions.resize(few_in_lists);
  std::vector<List> lists;
  List next{0, {0, 0, 0}};
  const auto count = static_cast<std::uint32_t>(unions.size());
  const std::uint32_t third = length == 3 ? count : 1;
  for (next.index[0] = 0; next.index[0] < count; ++next.index[0]) {
    for (next.index[1] = 0; next.index[1] < count; ++next.index[1]) {
      for (next.index[2] = 0; next.index[2] < third; ++next.index[2]) {
        next.pairs =
            unions[next.index[0]].pairs + unions[next.index[1]].pairs + (length == 3 ? unions[next.index[2]].pairs : 0);
        if (next.index[0] != next.index[1] || (length == 3 && next.index[0] != next.index[2]))
          lists.push_back(next);
      }
    }
  }
  std::stable_sort(lists.begin(), lists.end(), [](const List& a, const List& b) { return a.pairs < b.pairs; });
  std::uint64_t fewest_layers = ~std::uint64_t{0};
  std::vector<OrbitalSet> layers(length);
  for (const List& l : lists) {
    budget_.report("lists of patterns", 0);
    for (std::size_t k = 0; k < length; ++k)
      layers[k] = unions[l.index[k]].set;
    const std::uint64_t reach = configuration_->compute_reach(layers);
    if (reach < length || reach >= fewest_layers)
      continue;
    std::vector<LayerPlan> plans(length);
    for (std::size_t k = 0; k < length; ++k)
      plans[k].pairs = unions[l.index[k]].pairs;
    if (is_beaten(PointKind::single, reach, count_pairs(plans, reach), l.pairs) ||
        is_beaten(PointKind::several, reach, count_pairs(plans, reach), l.pairs))
      continue;
    if (!has_right_group(layers))
      continue;
    const auto depth = find_depth(layers, reach, std::min(reach + length, fewest_layers - 1));
    if (!depth)
      continue;
    Candidate candidate;
    candidate.kind = PointKind::several;
    candidate.layers = plans;
    for (std::size_t k = 0; k < length; ++k)
      candidate.layers[k].pattern = describe_union(orbitals_, list(layers[k]), budget_);
    candidate.description = fmt::format("{} patterns in turn: {}", length == 2 ? "two" : "three", describe(layers[0]));
    for (std::size_t k = 1; k < length; ++k)
      candidate.description += ", " + describe(layers[k]);
    std::optional<FrontPoint> point = certify(candidate, *depth);
    if (point)
      fewest_layers = std::min(fewest_layers, point->layers);
    // Layers that do not repeat may cost less: search_sequences says whether they do.
    (void)keep(std::move(point), false);
  }
}

void Search::find_causal() {
  const std::uint64_t n = orbitals_.degree();
  if (n == 1)
    return;
  if (exhaustive_) {
    search_causal_unions();
    return;
  }
  // Token i must read back all of 0..i-1 within m layers.
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
      (void)keep(certify(candidate, (n - 2) / w + 1), false);
    }
  }
}

void Search::search_causal_unions() {
  // Every set of pairs that look back, the smallest first.
  std::vector<std::uint32_t> back;
  for (std::uint32_t k = orbitals_.diagonal_count(); k < orbitals_.list().size(); ++k) {
    if (orbitals_.list()[k].to < orbitals_.list()[k].from)
      back.push_back(k);
  }
  std::vector<std::uint32_t> choices(std::size_t{1} << back.size());
  for (std::uint32_t k = 0; k < choices.size(); ++k)
    choices[k] = k;
  std::stable_sort(choices.begin(), choices.end(), [](auto a, auto b) { return std::popcount(a) < std::popcount(b); });
  OrbitalSet wanted = configuration_->diagonal();
  for (const std::uint32_t k : back)
    wanted |= OrbitalSet{1} << k;
  for (const std::uint32_t choice : choices) {
    OrbitalSet set = configuration_->diagonal();
    for (std::size_t k = 0; k < back.size(); ++k)
      set |= static_cast<OrbitalSet>((choice >> k) & 1) << back[k];
    OrbitalSet view = configuration_->diagonal();
    std::uint64_t reach = 0;
    for (OrbitalSet before = 0; view != wanted && view != before; ++reach) {
      before = view;
      view = configuration_->extend_view(set, view);
    }
    if (view != wanted)
      continue;
    const std::uint64_t pairs = configuration_->count_pairs(set);
    for (const bool coloured : {false, true}) {
      Candidate candidate;
      candidate.kind = coloured ? PointKind::coloured : PointKind::single;
      if (is_beaten(candidate.kind, reach, reach * pairs, pairs))
        continue;
      candidate.layers = {
          {coloured ? describe_colours(orbitals_, list(set), 0) : describe_union(orbitals_, list(set), budget_),
           pairs}};
      candidate.description =
          fmt::format("{} pairs that look back{}", pairs, coloured ? ", a trained weight for each" : "");
      (void)keep(certify(candidate, reach), true);
    }
  }
}

void Search::find_coloured() {
  if (orbitals_.degree() == 1)
    return;
  if (orbitals_.degree() > most_matrix) {
    notes_.push_back(fmt::format("coloured layers were not written out above {} tokens", most_matrix));
    return;
  }
  const auto try_set = [&](const std::vector<std::uint32_t>& chosen, std::uint64_t pairs, std::uint64_t reach,
                           bool proved) {
    Candidate candidate;
    candidate.kind = PointKind::coloured;
    candidate.layers = {{describe_colours(orbitals_, chosen, 0), pairs}};
    candidate.description =
        fmt::format("one pattern of {} pairs, a trained weight for each of {} orbitals", pairs, chosen.size());
    std::optional<FrontPoint> point = certify(candidate, reach);
    const std::uint64_t layers = point ? point->layers : ~std::uint64_t{0};
    (void)keep(std::move(point), proved);
    return layers;
  };
  if (!exhaustive_) {
    std::vector<std::uint32_t> all(orbitals_.list().size());
    for (std::uint32_t k = 0; k < all.size(); ++k)
      all[k] = k;
    const std::uint64_t n = orbitals_.degree();
    (void)try_set(all, n * (n - 1), 1, false);
    return;
  }
  std::uint64_t fewest_layers = ~std::uint64_t{0};
  for (const Union& u : list_unions(false)) {
    budget_.report("coloured patterns", 0);
    const std::uint64_t reach = configuration_->compute_reach({u.set});
    if (reach == 0 || reach >= fewest_layers || is_beaten(PointKind::coloured, reach, reach * u.pairs, u.pairs))
      continue;
    std::vector<OrbitalSet> colours;
    for (const std::uint32_t k : list(u.set))
      colours.push_back(OrbitalSet{1} << k);
    if (!has_right_group(colours))
      continue;
    fewest_layers = std::min(fewest_layers, try_set(list(u.set), u.pairs, reach, true));
  }
}

} // namespace sightline::design

#include <fmt/format.h>

#include <algorithm>

#include "sightline/design/search.hpp"
#include "sightline/design/two_closure.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::design {

std::vector<std::uint32_t> Search::find_greedily() {
  std::vector<std::uint32_t> by_size, chosen;
  for (std::uint32_t k = orbitals_.diagonal_count(); k < orbitals_.list().size(); ++k)
    by_size.push_back(k);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](auto a, auto b) { return orbitals_.list()[a].size < orbitals_.list()[b].size; });
  by_size.resize(std::min<std::size_t>(by_size.size(), orbitals_.degree() > 500 ? 8 : 64));
  for (std::uint32_t k = 0; k < orbitals_.diagonal_count(); ++k)
    chosen.push_back(k);
  const auto measure = [&](std::uint32_t more) {
    std::vector<std::uint32_t> set = chosen;
    set.push_back(more);
    symmetry::Structure structure;
    structure.vertices = orbitals_.degree();
    structure.vertex_colour.assign(orbitals_.degree(), 0);
    const layout::Relation relation(make_orbital_pattern(orbitals_, set, {}, budget_), {}, layout::Cancels::nothing,
                                    orbitals_.degree());
    structure.relations.push_back({&relation, {}});
    return symmetry::compute_automorphisms(structure, budget_).order;
  };
  // The orbital that leaves the fewest automorphisms, the smallest one first, until none is too many.
  for (std::size_t step = 0; step < 24; ++step) {
    double least = group::make_symmetric_group(orbitals_.degree()).order.log10() + 1;
    std::size_t best = by_size.size();
    for (std::size_t k = 0; k < by_size.size(); ++k) {
      if (std::find(chosen.begin(), chosen.end(), by_size[k]) != chosen.end())
        continue;
      const group::Order order = measure(by_size[k]);
      if (order.log10() < least - 1e-6) {
        least = order.log10();
        best = k;
      }
      if (order == request_.group.order)
        break;
    }
    if (best == by_size.size())
      return {};
    chosen.push_back(by_size[best]);
    if (least < request_.group.order.log10() + 1e-6)
      return chosen;
  }
  return {};
}

bool Search::is_product_of_symmetric() const {
  group::Order product;
  for (std::uint32_t k = 0; k < orbitals_.diagonal_count(); ++k)
    product.multiply_factorial(static_cast<std::uint32_t>(orbitals_.list()[k].size));
  return product == request_.group.order;
}

void Search::find_gather_broadcast() {
  const Point n = orbitals_.degree();
  if (n == 1 || request_.causal || (request_.registers && *request_.registers < 1))
    return;
  Candidate candidate;
  candidate.kind = PointKind::gather_broadcast;
  candidate.registers = 1;
  candidate.whole_list_once = true;
  const auto finish = [&](std::vector<LayerPlan> first, const std::string& what, bool coloured_gather) {
    candidate.layers = std::move(first);
    for (LayerPlan& plan : candidate.layers) {
      // Rows must be given for the register too, which only waits there.
      if (plan.pattern.kind == layout::PatternKind::rows)
        plan.pattern.rows.push_back({n});
    }
    candidate.layers.push_back(coloured_gather ? make_coloured_gather(orbitals_) : make_gather(n));
    candidate.layers.push_back(make_broadcast(n));
    candidate.description = fmt::format("{}, then one register reads all{} and is read by all", what,
                                        coloured_gather ? ", with a trained weight for every orbit," : "");
    // Above 512 tokens coloured patterns are not tried, and might cost less.
    return keep(certify(candidate, candidate.layers.size()), n <= most_matrix);
  };
  const bool several_orbits = orbitals_.diagonal_count() > 1, matrices = n <= most_matrix;
  if (is_product_of_symmetric() && (!several_orbits || matrices)) {
    (void)finish({}, "nothing", several_orbits);
    return;
  }
  if (!exhaustive_) {
    const std::vector<std::uint32_t> chosen = find_greedily();
    if (chosen.empty()) {
      notes_.push_back(
          "no union of small orbitals with exactly the symmetry was found: gather and broadcast was not offered");
      return;
    }
    std::uint64_t pairs = 0;
    for (const std::uint32_t k : chosen)
      pairs += orbitals_.list()[k].is_diagonal() ? 0 : orbitals_.list()[k].size;
    (void)finish({{describe_union(orbitals_, chosen, budget_), pairs}}, fmt::format("{} pairs, found greedily", pairs),
                 false);
    return;
  }
  // Colours cost nothing here, so plain and coloured patterns are looked for by size alike; the plain ones are
  // preferred.
  const auto is_late = [&](const Union& u) {
    return is_beaten(PointKind::gather_broadcast, 3, u.pairs + 2ull * n, u.pairs + 2ull * n);
  };
  for (const bool loops_chosen : {false, true}) {
    if (loops_chosen && !several_orbits)
      break;
    candidate.loops_chosen = loops_chosen;
    for (const Union& u : list_unions(loops_chosen)) {
      budget_.poll();
      if (is_late(u) || (has_right_group({u.set}) &&
                         finish({{describe_union(orbitals_, list(u.set), budget_), u.pairs}}, describe(u.set), false)))
        break;
    }
  }
  candidate.loops_chosen = false;
  for (const Union& u : list_unions(false)) {
    budget_.poll();
    if (is_late(u))
      return;
    std::vector<OrbitalSet> colours;
    for (const std::uint32_t k : list(u.set))
      colours.push_back(OrbitalSet{1} << k);
    if (!matrices || !has_right_group(colours))
      continue;
    std::vector<OrbitalSet> coloured_tokens{u.set};
    for (std::uint32_t k = 0; k < orbitals_.diagonal_count(); ++k)
      coloured_tokens.push_back(OrbitalSet{1} << k);
    if (several_orbits && has_right_group(coloured_tokens) &&
        finish({{describe_union(orbitals_, list(u.set), budget_), u.pairs}}, describe(u.set), true))
      return;
    if (finish({{describe_colours(orbitals_, list(u.set), 1), u.pairs}}, describe(u.set) + " with trained weights",
               several_orbits))
      return;
  }
}

} // namespace sightline::design

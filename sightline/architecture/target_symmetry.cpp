#include "sightline/architecture/architecture.hpp"

namespace sightline::architecture {

std::vector<group::Permutation> parse_symmetry_cycles(const Architecture& architecture) {
  std::vector<group::Permutation> generators;
  for (const std::string& cycles : architecture.target.symmetry_generators) generators.push_back(group::parse_cycles(cycles, static_cast<group::Point>(architecture.tokens)));
  return generators;
}

group::Group parse_symmetry(const Architecture& architecture, const Budget& budget, const group::BoundOrder& bound_order) {
  const auto degree = static_cast<group::Point>(architecture.tokens);
  if (!architecture.target.symmetry_expression.empty()) return group::parse_group(architecture.target.symmetry_expression, degree, {}, budget, bound_order);
  std::vector<group::Permutation> generators = parse_symmetry_cycles(architecture);
  const std::optional<group::Order> at_most = bound_order ? bound_order(degree, generators) : std::nullopt;
  return group::make_group(degree, std::move(generators), at_most, budget);
}

}  // namespace sightline::architecture

#include <algorithm>
#include <map>

#include "sightline/base/error.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/symmetry/orbits.hpp"

namespace sightline::symmetry {

group::Group restrict_to_tokens(const group::Group& group, Vertex tokens, const Budget& budget) {
  if (tokens > group.degree) throw ArgumentError("a group cannot be restricted to more points than it acts on");
  group::Group symmetric;
  symmetric.degree = tokens;
  std::vector<std::uint32_t> dropped;  // sizes of symmetric classes of registers
  for (const std::vector<group::Point>& members : group.symmetric_classes) {
    if (members.front() >= tokens) {
      dropped.push_back(static_cast<std::uint32_t>(members.size()));
      continue;
    }
    if (members.back() >= tokens) throw ArgumentError("a symmetric class mixes tokens with other vertices");
    symmetric.symmetric_classes.push_back(members);
    symmetric.order.multiply_factorial(static_cast<std::uint32_t>(members.size()));
  }
  std::vector<group::Permutation> generators;
  bool moves_others = false;
  for (const group::Permutation& generator : group.generators) {
    for (std::size_t k = 0; k < generator.moved().size(); ++k) {
      if ((generator.moved()[k] < tokens) != (generator.image()[k] < tokens)) {
        throw ArgumentError("a generator mixes tokens with other vertices");
      }
    }
    moves_others = moves_others || (!generator.is_identity() && generator.moved().back() >= tokens);
    group::Permutation restricted = generator.restricted(tokens);
    if (!restricted.is_identity()) generators.push_back(std::move(restricted));
  }
  Orbits orbits(tokens);
  for (const std::vector<group::Point>& members : symmetric.symmetric_classes) {
    for (const group::Point x : members) orbits.join(members.front(), x);
  }
  for (const group::Permutation& generator : generators) {
    for (std::size_t k = 0; k < generator.moved().size(); ++k) orbits.join(generator.moved()[k], generator.image()[k]);
  }
  symmetric.orbit.resize(tokens);
  if (moves_others) {
    // What a generator does to registers may come free of tokens or not: only the restricted group itself knows.
    for (Vertex x = 0; x < tokens; ++x) symmetric.orbit[x] = x;
    for (const std::vector<group::Point>& members : symmetric.symmetric_classes) {
      for (const group::Point x : members) symmetric.orbit[x] = members.front();
    }
    group::Group rest = group::make_group(tokens, std::move(generators), budget);
    if (symmetric.symmetric_classes.empty()) return rest;
    if (rest.is_trivial()) return symmetric;
    return group::make_join({std::move(symmetric), std::move(rest)}, budget);
  }
  // Registers are moved by their own symmetric classes only, which are direct factors.
  std::map<std::uint32_t, std::uint64_t> factorials = group.order.factorials();
  mpz_class rest = group.order.rest();
  for (const std::uint32_t size : dropped) {
    const auto found = factorials.find(size);
    if (found != factorials.end() && found->second > 0) {
      --found->second;
      continue;
    }
    mpz_class factorial;
    mpz_fac_ui(factorial.get_mpz_t(), size);
    if (!mpz_divisible_p(rest.get_mpz_t(), factorial.get_mpz_t())) throw InternalError("the order of a group lacks a factor of one of its symmetric classes");
    rest /= factorial;
  }
  symmetric.order = group::Order(rest);
  for (const auto& [k, exponent] : factorials) {
    if (exponent > 0) symmetric.order.multiply_factorial(k, exponent);
  }
  symmetric.generators = std::move(generators);
  for (Vertex x = 0; x < tokens; ++x) symmetric.orbit[x] = orbits.find(x);
  return symmetric;
}

}  // namespace sightline::symmetry

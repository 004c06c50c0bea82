#include <algorithm>

#include "sightline/base/error.hpp"
#include "sightline/design/search.hpp"

namespace sightline::design {

namespace {

/// Rows of d others in every layer see at most 1 + d + .. + d^m tokens.
std::uint64_t bound_repeated(std::uint64_t n, std::uint64_t layers) {
  for (std::uint64_t d = 1;; ++d) {
    std::uint64_t seen = 1, ring = 1;
    for (std::uint64_t q = 0; q < layers && seen < n; ++q) {
      ring = std::min(ring * d, n);
      seen += ring;
    }
    if (seen >= n) return layers * n * d;
  }
}

/// Rows of d_1, .., d_m others see at most (1 + d_1) .. (1 + d_m) tokens; for a given sum that is most when they differ by one at most.
std::uint64_t bound_sequence(std::uint64_t n, std::uint64_t layers) {
  for (std::uint64_t sum = layers;; ++sum) {
    std::uint64_t seen = 1;
    for (std::uint64_t q = 0; q < layers && seen < n; ++q) seen *= 1 + sum / layers + (q < sum % layers ? 1 : 0);
    if (seen >= n) return sum * n;
  }
}

}  // namespace

std::uint64_t bound_pairs(std::uint64_t n, bool transitive, std::uint64_t smallest, PointKind kind, std::uint64_t layers) {
  if (n <= 1) return 0;
  switch (kind) {
    case PointKind::single:
    case PointKind::coloured:
      if (layers == 1) return n * (n - 1);
      if (transitive) return bound_repeated(n, layers);
      return layers * (layers == 2 && n >= 4 ? 2 * (n - 1) : n);
    case PointKind::several:
      if (layers == 1) return n * (n - 1);
      return transitive ? bound_sequence(n, layers) : std::max(layers, 2 * (n - 1));
    // Every token reads the register, which reads every token. A layer before that has at least one orbital.
    case PointKind::gather_broadcast: return 2 * n + (layers <= 2 ? 0 : smallest);
    case PointKind::registers: return 2 * n;
  }
  throw InternalError("unknown kind of point");
}

std::uint64_t bound_pairs(const Orbitals& orbitals, bool causal, PointKind kind, std::uint64_t layers) {
  const std::uint64_t n = orbitals.degree();
  if (n <= 1) return 0;
  // Causal: all tokens but the first read another one in a pattern that repeats; in one layer all before them.
  if (causal) return layers == 1 ? n * (n - 1) / 2 : layers * (n - 1);
  std::uint64_t smallest = ~std::uint64_t{0};
  for (const Orbital& orbital : orbitals.list()) {
    if (!orbital.is_diagonal()) smallest = std::min(smallest, orbital.size);
  }
  return bound_pairs(n, orbitals.diagonal_count() == 1, smallest, kind, layers);
}

}  // namespace sightline::design

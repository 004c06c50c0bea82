// Random choices that give the same bits everywhere: standard engines, whose output the standard fixes, and our own way
// from words to choices, because the distributions of the standard library differ between implementations.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// Uniform on 0 .. bound-1 (bound >= 1): the first word below the largest multiple of bound, modulo bound.
[[nodiscard]] std::uint64_t draw_below(std::mt19937_64& engine, std::uint64_t bound);

/// Appends `count` distinct members of 0 .. n-1 other than `excluded`, sorted, every set equally likely (Floyd's method:
/// for k = n-1-count .. n-2 draw t in 0 .. k, take t, or k if t is taken; then skip `excluded`). count <= n-1.
/// `marks` has n entries, all false before and after.
void append_sample(std::mt19937_64& engine, Vertex n, Vertex count, Vertex excluded, std::vector<bool>& marks,
                   std::vector<Vertex>& out);

/// The legacy generator of NumPy (np.random.seed and np.random.permutation), bit for bit: MT19937 seeded with one 32-bit
/// word, and the legacy shuffle, which draws a 32-bit word masked to the bits of the bound until it does not exceed it.
class LegacyGenerator {
public:
  explicit LegacyGenerator(std::uint32_t seed) : engine_(seed) {}
  /// np.random.permutation(values).
  [[nodiscard]] std::vector<std::uint32_t> permute(std::vector<std::uint32_t> values);

private:
  [[nodiscard]] std::uint32_t draw_at_most(std::uint32_t bound);
  std::mt19937 engine_;
};

}  // namespace sightline::layout

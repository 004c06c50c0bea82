#include "sightline/layout/sampling.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace sightline::layout {

std::uint64_t draw_below(std::mt19937_64& engine, std::uint64_t bound) {
  for (;;) {
    const std::uint64_t word = engine();
    // 2^64 mod bound is below bound, so nearly every word is accepted without it.
    if (word <= UINT64_MAX - bound || word <= UINT64_MAX - (0 - bound) % bound) return word % bound;
  }
}

void append_sample(std::mt19937_64& engine, Vertex n, Vertex count, Vertex excluded, std::vector<bool>& marks,
                   std::vector<Vertex>& out) {
  const std::size_t begin = out.size();
  for (Vertex k = n - 1 - count; k + 1 < n; ++k) {
    auto choice = static_cast<Vertex>(draw_below(engine, std::uint64_t{k} + 1));
    if (marks[choice]) choice = k;
    marks[choice] = true;
    out.push_back(choice);
  }
  for (std::size_t k = begin; k < out.size(); ++k) {
    marks[out[k]] = false;
    if (out[k] >= excluded) ++out[k];
  }
  std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end());
}

std::uint32_t LegacyGenerator::draw_at_most(std::uint32_t bound) {
  if (bound == 0) return 0;
  const std::uint32_t mask = UINT32_MAX >> std::countl_zero(bound);
  for (;;) {
    const auto word = static_cast<std::uint32_t>(engine_()) & mask;
    if (word <= bound) return word;
  }
}

std::vector<std::uint32_t> LegacyGenerator::permute(std::vector<std::uint32_t> values) {
  for (std::size_t k = values.size(); k-- > 1;) std::swap(values[k], values[draw_at_most(static_cast<std::uint32_t>(k))]);
  return values;
}

}  // namespace sightline::layout

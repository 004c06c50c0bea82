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

namespace {

/// Up to so many choices are compared with each other: marks are spread over memory, and sorting is all branches.
constexpr Vertex few_choices = 16;

void append_few(std::mt19937_64& engine, Vertex n, Vertex count, Vertex excluded, std::vector<Vertex>& out) {
  Vertex chosen[few_choices];
  for (Vertex m = 0; m < count; ++m) {
    const Vertex k = n - 1 - count + m;
    const auto choice = static_cast<Vertex>(draw_below(engine, std::uint64_t{k} + 1));
    bool taken = false;
    for (Vertex other = 0; other < m; ++other) taken |= chosen[other] == choice;
    chosen[m] = taken ? k : choice;
  }
  const std::size_t begin = out.size();
  out.resize(begin + count);
  for (Vertex m = 0; m < count; ++m) {
    std::size_t place = begin;
    for (Vertex other = 0; other < count; ++other) place += chosen[other] < chosen[m] ? 1 : 0;
    out[place] = chosen[m] + (chosen[m] >= excluded ? 1 : 0);
  }
}

}  // namespace

void append_sample(std::mt19937_64& engine, Vertex n, Vertex count, Vertex excluded, std::vector<bool>& marks,
                   std::vector<Vertex>& out) {
  if (count <= few_choices) return append_few(engine, n, count, excluded, out);
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

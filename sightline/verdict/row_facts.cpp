#include "sightline/verdict/row_facts.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace sightline::verdict {

using layout::ColouredRun;
using layout::RelativeKind;
using layout::Run;
using layout::Vertex;

namespace {

bool contains(const std::vector<Run>& row, Vertex j) {
  return std::any_of(row.begin(), row.end(), [&](const Run& run) { return run.contains(j); });
}

/// Does first, first + step, ... (count numbers, step >= 1) share a number with the other progression? Exact (Euclid).
struct Progression {
  std::int64_t first = 0, step = 1, count = 1;
  [[nodiscard]] std::int64_t last() const { return first + step * (count - 1); }
};

bool share_a_number(const Progression& a, const Progression& b) {
  // Extended Euclid: g = gcd, u with a.step * u = g modulo b.step.
  std::int64_t g = a.step, rest = b.step, u = 1, v = 0;
  while (rest != 0) {
    const std::int64_t q = g / rest;
    g = std::exchange(rest, g - q * rest);
    u = std::exchange(v, u - q * v);
  }
  if ((b.first - a.first) % g != 0) return false;
  const std::int64_t modulus = b.step / g;
  const auto wrap = [&](std::int64_t x) { return (x % modulus + modulus) % modulus; };
  // The least number >= both firsts that lies on both, if neither ended.
  std::int64_t common = a.first + a.step * (wrap((b.first - a.first) / g) * wrap(u) % modulus);
  const std::int64_t period = a.step * modulus, low = std::max(a.first, b.first);
  if (common < low) common += (low - common + period - 1) / period * period;
  return common <= std::min(a.last(), b.last());
}

/// Do the raw colours of this row name their token?
bool is_injective_row(const std::vector<ColouredRun>& row) {
  std::vector<std::int64_t> single;
  std::vector<Progression> several;
  for (const ColouredRun& run : row) {
    const auto count = static_cast<std::int64_t>(run.size());
    if (count == 1) {
      single.push_back(run.colour);
    } else if (run.colour_step == 0) {
      return false;
    } else {
      const std::int64_t last = run.colour + run.colour_step * (count - 1);
      several.push_back({std::min(run.colour, last), std::abs(run.colour_step), count});
    }
  }
  std::sort(single.begin(), single.end());
  if (std::adjacent_find(single.begin(), single.end()) != single.end()) return false;
  for (std::size_t k = 0; k < several.size(); ++k) {
    for (std::size_t l = 0; l < k; ++l) {
      if (share_a_number(several[k], several[l])) return false;
    }
    for (auto c = std::lower_bound(single.begin(), single.end(), several[k].first); c != single.end() && *c <= several[k].last(); ++c) {
      if ((*c - several[k].first) % several[k].step == 0) return false;
    }
  }
  return true;
}

}  // namespace

RowFacts compute_row_facts(const layout::Relation& relation, Vertex tokens, const Budget& budget) {
  RowFacts facts;
  const bool offsets = relation.relative().kind == RelativeKind::offset || relation.relative().kind == RelativeKind::grid_offset ||
                       relation.relative().kind == RelativeKind::column || relation.relative().kind == RelativeKind::pair;
  const bool any_colours = relation.relative().kind != RelativeKind::none || !relation.pattern().is_plain();
  std::vector<Run> row;
  std::vector<ColouredRun> coloured;
  for (Vertex i = 0, end = 0; i < tokens; i = end) {
    budget.poll();
    end = std::min(tokens, relation.same_row_until(i));
    relation.pattern().row(i, row);
    std::uint64_t read = 0, early = 0;
    for (const Run& run : row) {
      if (run.last >= tokens) facts.registers = true;
      if (run.first >= tokens) continue;
      const Vertex last = std::min<Vertex>(run.last, tokens - 1);
      const std::uint64_t size = (last - run.first) / run.step + 1;
      read += size;
      if (run.first <= i) early += (std::min(last, i) - run.first) / run.step + 1;
      if (run.first + (size - 1) * run.step > i) facts.causal = false;
    }
    if (row.empty()) facts.nonempty = false;
    for (Vertex reader = i; reader < end && facts.loops; ++reader) facts.loops = contains(row, reader);
    if (read != tokens) facts.full = false;
    if (end - i > 1 || early != i + 1ull || read != early) facts.full_causal = false;
    if (!contains(row, 0)) facts.bos_in_every_row = false;
    if (facts.injective) {
      if (!any_colours) {
        facts.injective = read <= 1 && !facts.registers;
      } else if (!offsets || facts.registers) {
        relation.raw_row(i, coloured);
        facts.injective = is_injective_row(coloured);
      }
    }
  }
  return facts;
}

}  // namespace sightline::verdict

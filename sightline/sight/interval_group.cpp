// The group of layouts in which some relation is a line of intervals: the identity and the reflection, or the identity alone (docs/theory.md 16.102).
#include <algorithm>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reflection.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// Who reads or is read by a token, with itself: from lo to hi.
struct Neighbours {
  std::vector<Vertex> lo, hi;
};

/// Nothing where some row, with the reader, is no interval, or ends of rows fall from one token to the next.
std::optional<Neighbours> find_neighbours(const layout::Pattern& pattern, Vertex tokens, const Budget& budget) {
  Neighbours rows{std::vector<Vertex>(tokens), std::vector<Vertex>(tokens)};
  std::vector<layout::Run> row;
  for (Vertex i = 0; i < tokens; ++i) {
    budget.poll();
    pattern.row(i, row);
    Vertex lo = i, hi = i;
    std::uint64_t members = 1;  // the reader
    for (const layout::Run& run : row) {
      lo = std::min(lo, run.first);
      hi = std::max(hi, run.last);
      members += run.size() - (run.contains(i) ? 1 : 0);
    }
    if (members != std::uint64_t{hi} - lo + 1 || (i > 0 && (lo < rows.lo[i - 1] || hi < rows.hi[i - 1]))) return std::nullopt;
    rows.lo[i] = lo;
    rows.hi[i] = hi;
  }
  // Readers of j: from the first whose row comes up to it to the last whose row begins before it.
  Neighbours both = rows;
  for (Vertex j = 0, first = 0, last = 0; j < tokens; ++j) {
    while (rows.hi[first] < j) ++first;
    while (last + 1 < tokens && rows.lo[last + 1] <= j) ++last;
    both.lo[j] = std::min(both.lo[j], first);
    both.hi[j] = std::max(both.hi[j], last);
  }
  return both;
}

/// Does each token meet the next, and no two the same?
bool is_line(const Neighbours& rows) {
  for (std::size_t i = 0; i + 1 < rows.lo.size(); ++i) {
    if (rows.hi[i] == i || (rows.lo[i] == rows.lo[i + 1] && rows.hi[i] == rows.hi[i + 1])) return false;
  }
  return true;
}

}  // namespace

group::Group make_reflection_group(Vertex tokens, symmetry::SearchRecord& record) {
  std::vector<group::Point> images(tokens);
  group::Group result = group::make_trivial_group(tokens);
  symmetry::MovedPairs& moved = record.generators.emplace_back();
  for (Vertex x = 0; x < tokens; ++x) {
    images[x] = tokens - 1 - x;
    result.orbit[x] = std::min(x, images[x]);
    if (x != images[x]) moved.emplace_back(x, images[x]);
  }
  result.generators.push_back(group::Permutation::from_images(images));
  result.order = group::Order(mpz_class(2));
  record.path.push_back(0);
  return result;
}

std::optional<group::Group> find_interval_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord& record) {
  const Vertex tokens = layout.tokens;
  if (layout.registers > 0 || tokens < 2 || layout.order.empty()) return std::nullopt;
  const Booking booking(budget, std::uint64_t{tokens} * 16);
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  const auto is_line_of_intervals = [&](std::size_t r) {
    if (first[r] == 0) return false;
    const std::optional<Neighbours> rows = find_neighbours(layout.relations[r].pattern(), tokens, budget);
    return rows && is_line(*rows);
  };
  std::size_t r = 0;
  while (r < first.size() && !is_line_of_intervals(r)) ++r;
  if (r == first.size()) return std::nullopt;
  record = {};
  record.is_tight = true;
  group::Group reflected = make_reflection_group(tokens, record);
  constexpr std::uint64_t most_work = std::uint64_t{1} << 26;
  std::uint64_t work = 0;
  std::optional<bool> is_reflected = is_line_reflected(layout, first, work, most_work, budget);
  if (!is_reflected) is_reflected = symmetry::is_automorphism(symmetry::make_structure(layout), reflected.generators.front(), budget);
  if (*is_reflected) return reflected;
  record.generators.clear();
  record.path.clear();
  return group::make_trivial_group(tokens);
}

}  // namespace sightline::sight

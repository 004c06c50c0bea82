#include "sightline/design/two_closure.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "sightline/base/error.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::design {

namespace {

constexpr Point most_points_to_compare = 20'000;
constexpr std::uint64_t most_pairs = 200'000'000;

/// Marks the orbitals that the permutation does not map to themselves.
void mark_broken(const Orbitals& orbitals, const group::Permutation& h, std::vector<bool>& broken, const Budget& budget) {
  const Point n = orbitals.degree();
  std::vector<bool> moves(n, false);
  for (const Point x : h.moved()) moves[x] = true;
  const std::vector<Point> images = h.images(n);
  const auto compare = [&](Point i, Point j) {
    const std::uint32_t here = orbitals.number(i, j);
    if (orbitals.number(images[i], images[j]) != here) broken[here] = true;
  };
  for (Point i = 0; i < n; ++i) {
    budget.poll();
    if (moves[i]) {
      for (Point j = 0; j < n; ++j) compare(i, j);
    } else {
      for (const Point j : h.moved()) compare(i, j);
    }
  }
}

}  // namespace

layout::Pattern make_orbital_pattern(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                     const std::vector<std::uint32_t>& colours, const Budget& budget) {
  std::uint64_t pairs = 0;
  for (const std::uint32_t k : chosen) pairs += orbitals.list()[k].size;
  if (pairs > most_pairs) throw OutOfReach("a pattern of more than 2*10^8 pairs is not written out");
  const Point n = orbitals.degree();
  layout::PatternBuilder builder(n, budget);
  std::vector<Point> part;
  std::vector<std::pair<Point, std::uint32_t>> row;
  std::vector<Point> vertices;
  std::vector<std::uint32_t> row_colours;
  std::vector<layout::AffineRun> runs;
  std::vector<std::uint32_t> colour_of(orbitals.list().size(), 0);
  for (std::size_t k = 0; k < chosen.size(); ++k) colour_of[chosen[k]] = colours.empty() ? 1 : colours[k];
  for (Point i = 0; i < n; ++i) {
    budget.poll();
    row.clear();
    if (chosen.size() > 4 && n <= 5000) {
      for (Point j = 0; j < n; ++j) {
        if (const std::uint32_t colour = colour_of[orbitals.number(i, j)]; colour != 0) row.emplace_back(j, colour);
      }
    } else {
      for (const std::uint32_t k : chosen) {
        orbitals.read_row(k, i, part);
        for (const Point j : part) row.emplace_back(j, colour_of[k]);
      }
      std::sort(row.begin(), row.end());
    }
    vertices.clear();
    row_colours.clear();
    runs.clear();
    for (const auto& [j, colour] : row) {
      vertices.push_back(j);
      row_colours.push_back(colour);
    }
    layout::append_runs(vertices, row_colours, runs);
    builder.add_segment(i, builder.add_list_once(runs));
  }
  return builder.build();
}

group::Group compute_automorphisms_of(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen, const Budget& budget) {
  symmetry::Structure structure;
  structure.vertices = orbitals.degree();
  structure.vertex_colour.resize(orbitals.degree());
  for (Point i = 0; i < orbitals.degree(); ++i) structure.vertex_colour[i] = orbitals.number(i, i);
  std::vector<std::uint32_t> colours(chosen.size());
  for (std::size_t k = 0; k < chosen.size(); ++k) colours[k] = static_cast<std::uint32_t>(k + 1);
  const layout::Relation relation(make_orbital_pattern(orbitals, chosen, colours, budget), {}, layout::Cancels::nothing, orbitals.degree());
  structure.relations.push_back({&relation, {}});
  return symmetry::compute_automorphisms(structure, budget);
}

group::Group compute_two_closure(const group::Group& group, const Orbitals& orbitals, const Budget& budget) {
  std::vector<std::uint32_t> by_size;
  for (std::uint32_t k = orbitals.diagonal_count(); k < orbitals.list().size(); ++k) {
    if (k <= orbitals.list()[k].paired) by_size.push_back(k);  // an orbital and its pair say the same
  }
  std::stable_sort(by_size.begin(), by_size.end(), [&](auto a, auto b) { return orbitals.list()[a].size < orbitals.list()[b].size; });
  std::vector<std::uint32_t> chosen;
  std::vector<bool> used(orbitals.list().size(), false);
  if (!by_size.empty()) {
    chosen.push_back(by_size.front());
    used[by_size.front()] = true;
  }
  while (true) {
    budget.report("2-closure", by_size.empty() ? 0 : static_cast<double>(chosen.size()) / static_cast<double>(by_size.size()));
    group::Group above = compute_automorphisms_of(orbitals, chosen, budget);
    if (above.order == group.order || chosen.size() == by_size.size()) return above.order == group.order ? group : above;
    if (orbitals.degree() > most_points_to_compare) throw OutOfReach("the 2-closure was not found from few orbitals, and generators are compared on at most 20,000 points");
    std::vector<bool> broken(orbitals.list().size(), false);
    for (const group::Permutation& h : group::list_generators(above, ~std::size_t{0})) mark_broken(orbitals, h, broken, budget);
    const auto next = std::find_if(by_size.begin(), by_size.end(), [&](auto k) { return !used[k] && (broken[k] || broken[orbitals.list()[k].paired]); });
    if (next == by_size.end()) return above;
    chosen.push_back(*next);
    used[*next] = true;
  }
}

}  // namespace sightline::design

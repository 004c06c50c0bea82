// Inside of view_sweep.hpp: what isomorphisms of views keep of each vertex alone, its rows. Not for other rooms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

/// What a row's arcs have in common whatever runs they are written in: how many they are, the sums of their colours and of the squares of these.
inline std::uint64_t describe_row(const std::vector<layout::ColouredRun>& row) {
  std::uint64_t count = 0, sum = 0, squares = 0;
  for (const layout::ColouredRun& run : row) {
    const std::uint64_t size = run.size(), pairs = size * (size - 1) / 2, last = 2 * size - 1;
    const auto colour = static_cast<std::uint64_t>(run.colour), step = static_cast<std::uint64_t>(run.colour_step);
    count += size;
    sum += size * colour + pairs * step;
    squares += size * colour * colour + 2 * pairs * colour * step + (pairs % 3 == 0 ? pairs / 3 * last : pairs * (last / 3)) * step * step;
  }
  return root_hash::mix(root_hash::mix(root_hash::mix(count) + sum) + squares);
}

/// What isomorphisms keep of each vertex alone. Neighbours whose rows are described alike in every relation are a stretch.
struct Kept {
  std::vector<std::uint64_t> first;              ///< by relation: its rows are visible from this layer on; 0: never
  std::vector<bool> begins;                      ///< by vertex: does a stretch begin?
  std::vector<std::vector<std::uint64_t>> rows;  ///< by relation that is visible some time, by stretch

  Kept(const Layout& layout, const Budget& budget) : first(compute_first_layers(layout)), begins(layout.vertices(), false), rows(layout.relations.size()) {
    const Vertex vertices = layout.vertices();
    begins[0] = true;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (Vertex i = 0; first[r] != 0 && i < vertices; i = layout.relations[r].same_row_until(i)) begins[i] = true;
    }
    std::vector<Vertex> leads;
    for (Vertex i = 0; i < vertices; ++i) {
      if (begins[i]) leads.push_back(i);
    }
    std::vector<layout::ColouredRun> row;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (first[r] == 0) continue;
      rows[r].reserve(leads.size());
      std::uint64_t described = 0;
      Vertex end = 0;
      for (const Vertex i : leads) {
        budget.poll();
        if (i == end) {
          end = layout.relations[r].same_row_until(i);
          layout.relations[r].row(i, row);
          described = describe_row(row);
        }
        rows[r].push_back(described);
      }
    }
    merge(leads);
  }

  /// The rows of a stretch that are visible when `left` layers are left, on top of a hash.
  [[nodiscard]] std::uint64_t describe(std::uint64_t hash, std::size_t stretch, std::uint64_t left) const {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (first[r] != 0 && left >= first[r]) hash = root_hash::mix(hash ^ (rows[r][stretch] + r));
    }
    return hash;
  }

private:
  /// Of stretches that are described alike the later ones go: on a ring one is left.
  void merge(const std::vector<Vertex>& leads) {
    std::size_t kept = 1;
    for (std::size_t k = 1; k < leads.size(); ++k) {
      if (std::all_of(rows.begin(), rows.end(), [&](const auto& list) { return list.empty() || list[k] == list[kept - 1]; })) {
        begins[leads[k]] = false;
        continue;
      }
      for (auto& list : rows) {
        if (!list.empty()) list[kept] = list[k];
      }
      ++kept;
    }
    for (auto& list : rows) list.resize(std::min(list.size(), kept));
  }
};

}  // namespace sightline::sight

// Random layouts on small grids in which what token (r, c) reads is A(r) x B(c), intervals around r and c: windows, blocks, and anything else whose ends rise.
#pragma once

#include <algorithm>
#include <random>

#include "oracle.hpp"

namespace sightline::sight::oracle {

using Interval = std::pair<Vertex, Vertex>;

inline std::vector<Interval> make_intervals(std::mt19937& random, Vertex size) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  std::vector<Interval> rows(size);
  const Vertex kind = draw(6), radius = 1 + draw(2), length = 2 + draw(2), shift = draw(length);
  for (Vertex x = 0; x < size; ++x) {
    if (kind > 3) {
      // The ends may read less, which views that only just reach them do not show.
      rows[x] = {x - std::min(x, 1 - (x + 1 == size ? shift % 2 : 0)), std::min(size - 1, x + 1 - (x == 0 ? kind - 4 : 0))};
    } else if (kind < 2) {
      rows[x] = {x - std::min(x, radius), std::min(size - 1, x + radius + (kind == 1 ? 1 : 0))};
    } else if (kind == 2) {
      const Vertex begin = (x + shift) / length * length;
      rows[x] = {begin - std::min(begin, shift), std::min(size, begin + length - shift) - 1};
    } else {
      const Vertex first = x - std::min(x, draw(3)), last = std::min(size - 1, x + draw(3));
      rows[x] = x == 0 ? Interval{0, last} : Interval{std::max(first, rows[x - 1].first), std::max(last, rows[x - 1].second)};
    }
  }
  return rows;
}

/// One or two layers in some order; now and then an arc is flipped, the own token is left out or arcs have colours, and rows are products no more.
inline Layout make_product_grid(std::mt19937& random, Vertex most_side) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  const Vertex height = 2 + draw(most_side - 1), width = draw(2) == 0 ? height : 2 + draw(most_side - 1), n = height * width;
  const std::uint32_t count = 1 + draw(2), spoil = draw(12);
  std::vector<std::vector<Head>> layers;
  for (std::uint32_t l = 0; l < count; ++l) {
    const std::vector<Interval> down = make_intervals(random, height), same = make_intervals(random, width);
    const std::vector<Interval>& across = height == width && draw(2) == 0 ? down : same;
    Head head;
    head.rows.resize(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        const Interval &a = down[i / width], &b = across[i % width];
        if (spoil == 0 && l == 0 && i == j) continue;
        const bool reads = a.first <= j / width && j / width <= a.second && b.first <= j % width && j % width <= b.second;
        if (reads) head.rows[i].push_back(j);
      }
    }
    if (spoil == 1 && l == 0) {
      auto& row = head.rows[draw(n)];
      const Vertex j = draw(n);
      const auto at = std::find(row.begin(), row.end(), j);
      if (at == row.end()) row.insert(std::lower_bound(row.begin(), row.end(), j), j);
      else row.erase(at);
    }
    if (spoil == 2 && l == 0) {
      head.cancels = layout::Cancels::nothing;
      for (const auto& row : head.rows) head.colours.emplace_back(row.size(), 1 + draw(2));
    }
    layers.push_back({head});
  }
  std::vector<std::uint32_t> order(1 + draw(3));
  for (std::uint32_t& l : order) l = draw(count);
  return make_layout(n, 0, layers, {}, order);
}

}  // namespace sightline::sight::oracle

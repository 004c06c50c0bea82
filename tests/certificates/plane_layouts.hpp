// Layouts on grids whose arcs lead down the line and are the same a row and a column further on.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "../unit/sight/oracle.hpp"

namespace sightline::sight {

struct DrawnPlane {
  Layout layout;
  Vertex width;
  bool is_spoilt;
};

/// Offsets (up, across) on a grid, which lead down the line; now and then there is one arc too many or one that is missing.
inline DrawnPlane make_plane(std::mt19937& random, std::size_t count, Vertex most = 70) {
  const auto below = [&](Vertex k) { return static_cast<Vertex>(random() % k); };
  const Vertex width = most >= 70 && random() % 20 == 0 ? 30 + below(40) : 2 + below(std::min<Vertex>(most, 9)), height = 2 + below(most < 9 ? 10 : 9), tokens = width * height;
  const bool window = random() % 2 == 0;
  std::vector<std::vector<oracle::Head>> layers(count);
  for (auto& heads : layers) {
    std::set<std::pair<Vertex, std::int64_t>> offsets;
    const Vertex up = below(3), radius = 1 + below(3), dilation = 1 + below(2);
    for (Vertex k = 0; k <= up; ++k) {
      for (std::int64_t d = -std::int64_t{radius}; d <= radius; ++d) {
        if (k > 0 || d <= 0) offsets.emplace(k * dilation, d * dilation);
      }
    }
    if (!window) {
      offsets.clear();
      for (Vertex more = 1 + below(4); more > 0; --more) {
        const Vertex k = below(3);
        const std::int64_t d = std::int64_t{below(2 * std::min<Vertex>(width, 6) - 1)} - (std::min<Vertex>(width, 6) - 1);
        offsets.emplace(k, k == 0 ? -std::abs(d) : d);
      }
    }
    oracle::Rows rows(tokens);
    for (Vertex i = 0; i < tokens; ++i) {
      for (const auto& [k, d] : offsets) {
        const std::int64_t r = std::int64_t{i / width} - k, c = std::int64_t{i % width} + d;
        if (r >= 0 && c >= 0 && c < width) rows[i].push_back(static_cast<Vertex>(r * width + c));
      }
      std::sort(rows[i].begin(), rows[i].end());
    }
    heads.push_back({rows, {}, {}, layout::Cancels::single_colour});
  }
  const bool is_spoilt = random() % 6 == 0;
  if (is_spoilt) {
    auto& row = layers.front().front().rows[1 + below(tokens - 1)];
    if (row.empty()) row.push_back(0);
    else row.erase(row.begin() + below(static_cast<Vertex>(row.size())));
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t l = 0; l < layers.size(); ++l) order.insert(order.end(), 1 + random() % 2, l);
  return {oracle::make_layout(tokens, 0, layers, {}, order), width, is_spoilt};
}

}  // namespace sightline::sight

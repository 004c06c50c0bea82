// Block masks under a causal mask: columns of blocks say what columns of tokens say; library and checker, each by its own files.
#include <doctest/doctest.h>

#include <random>

#include "../unit/sight/oracle.hpp"
#include "asked_columns.hpp"
#include "checker/triangles.hpp"
#include "sight_convert.hpp"

namespace sightline::sight {

namespace {

/// Blocks of any sizes; each reads some blocks below, and within itself all up to the own token, or nobody, or (spoiled) now and then something else.
Layout make_blocks(std::mt19937& random, bool spoiled) {
  const auto below = [&](Vertex k) { return static_cast<Vertex>(random() % k); };
  std::vector<Vertex> block_of;
  Vertex blocks = 0;
  for (const Vertex many = 1 + below(6); blocks < many; ++blocks) block_of.insert(block_of.end(), blocks == 0 && below(3) == 0 ? 1 : 16 + below(40), blocks);
  const auto n = static_cast<Vertex>(block_of.size());
  std::vector<std::vector<oracle::Head>> layers(1 + below(3));
  for (auto& heads : layers) {
    for (Vertex more = 1 + below(2); more > 0; --more) {
      std::vector<std::vector<bool>> reads(blocks, std::vector<bool>(blocks, false));
      for (auto& row : reads) {
        for (Vertex b = 0; b < blocks; ++b) row[b] = below(3) == 0;
      }
      const bool loops = below(3) > 0;
      oracle::Rows rows(n);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j <= i; ++j) {
          if (i == j ? loops || reads[block_of[i]][block_of[i]] : reads[block_of[i]][block_of[j]]) rows[i].push_back(j);
        }
      }
      if (spoiled && below(2) == 0) {
        auto& row = rows[below(n)];
        if (!row.empty()) row.erase(row.begin() + below(static_cast<Vertex>(row.size())));
      }
      heads.push_back({rows, {}, {}, layout::Cancels::single_colour});
    }
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t l = 0; l < layers.size(); ++l) order.insert(order.end(), 1 + below(2), l);
  return oracle::make_layout(n, 0, layers, {}, order);
}

}  // namespace

TEST_CASE("block masks under a causal mask: columns of blocks say what all columns say") {
  std::mt19937 random(25);
  int answered = 0, never = 0, counted = 0, passed = 0;
  for (int k = 0; k < 1200; ++k) {
    const bool spoiled = k % 4 == 0;
    const Layout layout = make_blocks(random, spoiled);
    if (layout.tokens < 2) continue;
    const checker::Layout copy = convert::to_checker(layout);
    const auto triangles = checker::Triangles::find(copy);
    checker::SharedLayers shared;
    for (std::uint32_t l = 0; l < copy.layers.size(); ++l) shared.emplace(l, checker::share_ranges(checker::make_read_layer(copy, copy.layers[l])));
    for (int q = 0; q < 6; ++q) {
      AskedColumns columns(random, layout);
      const auto found = answer_by_triangles(columns.question, unlimited);
      REQUIRE(found.has_value() == (triangles != nullptr));
      if (!found) {
        ++passed;
        continue;
      }
      ++answered;
      columns.require_found(*found);
      const auto unseen = triangles->unseen(columns.asked, columns.question.depth);
      columns.require_confirmed(copy, shared, triangles->layers(columns.asked), unseen);
      never += columns.expected.reach.layers ? 0 : 1;
      counted += unseen->first ? 1 : 0;
    }
  }
  CHECK(answered > 4000);
  CHECK(never > 2000);
  CHECK(counted > 2500);
  CHECK(passed > 1500);
}

}  // namespace sightline::sight

// Causal windows with first tokens that all read: what library and checker conclude about all views holds for every isomorphism there is (docs/theory.md 16.113).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

oracle::Rows make_windows(std::mt19937& random, Vertex n) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  const Vertex sinks = draw(4);
  const bool jumps = draw(4) == 0, stops = draw(8) == 0, alone = draw(6) == 0;
  oracle::Rows rows(n);
  Vertex low = sinks;
  const Vertex wide = alone ? 0 : 1 + draw(4);
  for (Vertex x = 0; x < n; ++x) {
    if (x >= sinks + wide) low = std::min(x, low + (draw(5) == 0 ? 0 : jumps && draw(4) == 0 ? 2 : 1));
    if (jumps && draw(6) == 0) low = std::max(sinks, low - std::min<Vertex>(low, 1));
    const Vertex top = stops && draw(3) == 0 ? x - std::min(x, draw(3)) : x;
    for (Vertex y = 0; y <= top; ++y) {
      if (y < sinks || y >= low) rows[x].push_back(y);
    }
  }
  // Nothing, or an arc more or less, or another row.
  for (Vertex k = draw(3) == 0 ? 1 + draw(2) : 0; k > 0; --k) {
    const Vertex x = draw(n), y = draw(n);
    if (std::erase(rows[x], y) == 0) rows[x].push_back(y);
    std::sort(rows[x].begin(), rows[x].end());
  }
  return rows;
}

}  // namespace

TEST_CASE("views of causal windows with sinks have no isomorphisms but identities where sizes differ") {
  std::mt19937 random(113);
  int shown = 0, deep = 0, in_turn = 0, with_hidden_rows = 0, open = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    CAPTURE(trial);
    const Vertex n = 2 + random() % 11;
    std::vector<std::vector<oracle::Head>> layers{{{make_windows(random, n), {}, {}, layout::Cancels::single_colour}}};
    std::vector<std::uint32_t> order{0};
    if (random() % 8 == 0) order.push_back(0);
    if (random() % 3 == 0) {
      layers.push_back({{make_windows(random, n), {}, {}, layout::Cancels::single_colour}});
      order.push_back(1);
      if (random() % 4 == 0) order.push_back(random() % 2);
      if (random() % 4 == 0) layers[1].push_back({make_windows(random, n), {}, {}, layout::Cancels::single_colour});
    }
    if (random() % 8 == 0) layers[0].push_back({make_windows(random, n), {}, {}, layout::Cancels::single_colour});
    Layout layout = oracle::make_layout(n, 0, layers, {}, order);
    if (random() % 4 == 0) layout.vertex_colour[random() % n] = 5;
    for (std::uint64_t depth = 1; depth <= 5; ++depth) {
      CAPTURE(depth);
      const bool found = do_windows_explain(layout, depth, unlimited);
      const checker::Layout copy = convert::to_checker(layout);
      checker::ReachMemory memory(copy);
      REQUIRE(checker::do_windows_explain(copy, depth, memory) == found);
      ++(found ? shown : open);
      if (!found) continue;
      deep += depth > 2;
      in_turn += layers.size() > 1;
      const std::vector<Vertex> now = compute_unseen(layout, depth, {}, unlimited), before = compute_unseen(layout, depth - 1, {}, unlimited);
      with_hidden_rows += now != before;
      REQUIRE(is_so(layout, depth, false));
    }
  }
  MESSAGE(shown, " shown, ", deep, " of more than two layers, ", in_turn, " of layers in turn, ", with_hidden_rows, " with rows out of sight, ", open, " open");
  CHECK(shown > 1000);
  CHECK(deep > 500);
  CHECK(in_turn > 200);
  CHECK(with_hidden_rows > 300);
  CHECK(open > 3000);
}

}  // namespace sightline::sight

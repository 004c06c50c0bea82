// Layouts that are the same so many tokens further on: few columns, or offsets alone, say what all columns say; library and checker, each by its own files.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "../unit/sight/oracle.hpp"
#include "asked_columns.hpp"
#include "checker/shifts.hpp"
#include "plane_layouts.hpp"
#include "sight_convert.hpp"

namespace sightline::sight {

namespace {

struct Shifted {
  Layout layout;
  Vertex by;
  bool goes_up, is_shifted;
  bool may_mix;  ///< steps of both signs in several layers: offsets need not say all
};

/// Offsets i - j that readers of each residue have: of any sign in one layer or (one residue) more, dilated windows at times, or down in up to three; now and then one arc
/// too many or one that is missing.
Shifted make_shifted(std::mt19937& random, Vertex tokens) {
  const auto below = [&](Vertex k) { return static_cast<Vertex>(random() % k); };
  const bool many = tokens > 120, wide = tokens > 1000;  // and short steps: many layers, or whole words of what is seen
  const bool up = wide ? random() % 4 > 0 : !many && random() % 3 == 0;
  const Vertex by = up || wide ? 1 : 1 + below(std::max<Vertex>(1, tokens / 8));
  const bool may_mix = up && random() % 2 == 0, dilated = may_mix && random() % 3 > 0;
  std::vector<std::vector<oracle::Head>> layers(may_mix ? 2 + below(2) : up ? 1 : 1 + below(3));
  bool is_shifted = up || tokens >= 8, is_long = false;
  for (auto& heads : layers) {
    std::vector<std::set<std::int64_t>> offsets(by);
    std::int64_t lowest = 0, highest = 0;
    for (auto& of : offsets) {
      const auto add = [&](std::int64_t first, std::int64_t step, std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) of.insert(first + k * step);
      };
      if (random() % 4 > 0) add(0, 1, 1);
      if (dilated) {
        const std::int64_t dilation = std::int64_t{1} << below(4), above = 1 + below(wide ? 9 : 3), under = random() % 3 == 0 ? below(5) : above;
        add(-above * dilation, dilation, above + under + 1);
        std::erase_if(of, [&](std::int64_t offset) { return offset >= tokens || offset <= -std::int64_t{tokens}; });
        continue;
      }
      if (many) {
        add(1 + below(wide ? 60 : 2), 1 + below(3), 1 + below(wide ? 8 : 1));
        if (up) add(-std::int64_t{1 + below(90)}, 1 + below(3), 1 + below(8));
        if (up && random() % 4 > 0) {  // steps beyond a word, and small ones only as sums of them
          of.clear();
          add(40 + below(60), 1, 1 + below(20));
          add(-std::int64_t{40 + below(80)}, 1, 1 + below(20));
        }
        continue;
      }
      for (Vertex k = below(3); k-- > 0;) add(below(tokens), 1, 1);
      if (random() % 3 == 0) add(below(4), 1 + below(5), below(tokens));
      if (up && random() % 4 > 0) add(-std::int64_t{below(tokens)}, 1 + below(4), 1 + below(6));
      if (up && random() % 2 == 0) add(-std::int64_t{below(5)}, 1, 1);
      // Whatever leads out of the line everywhere is no offset.
      std::erase_if(of, [&](std::int64_t offset) { return offset >= tokens || offset <= -std::int64_t{tokens} || (!up && offset < 0); });
      lowest = std::min(lowest, of.empty() ? 0 : *of.begin()), highest = std::max(highest, of.empty() ? 0 : *of.rbegin());
    }
    is_long = is_long || (lowest < 0 && highest - lowest > tokens);
    oracle::Rows rows(tokens);
    for (Vertex i = 0; i < tokens; ++i) {
      for (const std::int64_t offset : offsets[i % by]) {
        if (offset <= i && i - offset < tokens) rows[i].push_back(static_cast<Vertex>(i - offset));
      }
      std::sort(rows[i].begin(), rows[i].end());
    }
    heads.push_back({rows, {}, {}, layout::Cancels::single_colour});
  }
  if (tokens > 1 && random() % 6 == 0) {
    oracle::Rows::value_type& row = layers.front().front().rows[1 + below(tokens - 1)];
    if (row.empty()) row.push_back(0);
    else row.erase(row.begin() + below(static_cast<Vertex>(row.size())));
    is_shifted = false;  // or perhaps by another number of tokens
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t l = 0; l < layers.size(); ++l) order.insert(order.end(), 1 + random() % 2, l);
  return {oracle::make_layout(tokens, 0, layers, {}, order), by, up, is_shifted, may_mix || is_long};
}

Shifted make_shifted_plane(std::mt19937& random) {
  DrawnPlane plane = make_plane(random, 1 + random() % 3);
  const bool is_shifted = !plane.is_spoilt && plane.layout.tokens >= 8 * plane.width;
  return {std::move(plane.layout), plane.width, false, is_shifted, false};
}

}  // namespace

TEST_CASE("layouts that are the same some tokens further on: few columns say what all say") {
  std::mt19937 random(23);
  int single = 0, several = 0, both_signs = 0, in_turn = 0, mixed = 0, planes = 0, never = 0, counted = 0, passed = 0, quick = 0, left = 0;
  for (int k = 0; k < 2700; ++k) {
    const bool plane = k % 4 == 2;
    const auto [layout, by, goes_up, is_shifted, may_mix] = plane ? make_shifted_plane(random) : make_shifted(random, k % 50 == 0 ? 160 : k % 15 == 1 ? 1100 + random() % 200 : 2 + random() % (k % 5 == 0 ? 90 : 40));
    const checker::Layout copy = convert::to_checker(layout);
    std::map<std::uint32_t, checker::ReadLayer> read;
    checker::SharedLayers shared;
    for (std::uint32_t l = 0; l < copy.layers.size(); ++l) {
      read.emplace(l, checker::make_read_layer(copy, copy.layers[l]));
      shared.emplace(l, checker::share_ranges(read.at(l)));
    }
    const auto shifts = checker::Shifts::find(copy, read);
    if (is_shifted) REQUIRE(shifts != nullptr);
    for (int q = 0; q < 8; ++q) {
      AskedColumns columns(random, layout);
      const bool cheaply = random() % 2 == 0;
      const auto found = answer_by_shifts(columns.question, unlimited, cheaply);
      if (!shifts) {
        REQUIRE(!found);
        ++passed;
        continue;
      }
      if (found) {
        columns.require_found(*found);
      } else if (may_mix) {
        columns.expected = answer_by_bits(columns.question, unlimited);
        ++mixed;
      } else {
        REQUIRE(cheaply);
        ++left;
        continue;
      }
      const checker::ReachQuestion& asked = columns.asked;
      const std::optional<std::uint64_t> depth = columns.question.depth;
      const auto layers = shifts->layers(asked, shared, false), soon = shifts->layers(asked, shared, true);
      const auto unseen = shifts->unseen(asked, depth, shared, false), counted_soon = shifts->unseen(asked, depth, shared, true);
      if (may_mix && (!layers || !unseen)) continue;  // another depth is asked about than by the library
      columns.require_confirmed(copy, shared, layers, unseen);
      if (soon) REQUIRE((soon->layers == layers->layers && soon->missed == layers->missed));
      if (counted_soon) REQUIRE((counted_soon->count == unseen->count && counted_soon->first == unseen->first));
      quick += soon && counted_soon ? 1 : 0;
      never += columns.expected.reach.layers ? 0 : 1;
      counted += unseen->first ? 1 : 0;
      if (is_shifted) ++(plane ? planes : goes_up ? (may_mix ? in_turn : both_signs) : by == 1 ? single : several);
    }
  }
  CHECK(single > 2000);
  CHECK(several > 2500);
  CHECK(both_signs > 1500);
  CHECK(planes > 800);
  CHECK(in_turn > 500);
  CHECK(mixed > 500);
  CHECK(never > 3000);
  CHECK(counted > 5000);
  CHECK(passed > 2000);
  CHECK(quick > 5000);
  CHECK(left > 20);
}

}  // namespace sightline::sight

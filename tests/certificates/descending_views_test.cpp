// Rows that go down: what library and checker conclude about all views from names, and from walks through them, holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>

#include "checker/reach.hpp"
#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/descending_views.hpp"

namespace sightline::sight {

namespace {

/// Causal windows, chunks, segments with dilations, grids and random rows, with or without a token that all read or that reads all.
oracle::Rows draw_descending_rows(std::mt19937_64& random, Vertex n) {
  const auto kind = random() % 6;
  const auto width = static_cast<Vertex>(1 + random() % 3), shift = static_cast<Vertex>(random() % 3), global = static_cast<Vertex>(random() % (3 * n));
  const bool loops = random() % 4 != 0;
  oracle::Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j <= i; ++j) {
      const Vertex distance = i - j;
      const bool reads = kind == 0   ? distance <= width
                         : kind == 1 ? distance % (width + 1) == 0 && distance <= 3 * width
                         : kind == 2 ? (i + shift) / (width + 1) == (j + shift) / (width + 1)
                         : kind == 3 ? i / 6 == j / 6 && (distance < width || j % 2 == 0)
                         : kind == 4 ? i / 3 - j / 3 <= 1 && (i % 3 > j % 3 ? i % 3 - j % 3 : j % 3 - i % 3) <= 1
                                     : random() % 3 == 0;
      if ((i == j && loops) || (i != j && (reads || i == global || j == global))) rows[i].push_back(j);
    }
  }
  return rows;
}

oracle::Head draw_head(std::mt19937_64& random, oracle::Rows rows) {
  oracle::Head head{std::move(rows), {}, {}, random() % 2 == 0 ? layout::Cancels::single_colour : layout::Cancels::nothing};
  switch (random() % 5) {
    case 0: head.relative = {layout::RelativeKind::distance, 32, 128, true, 0}; break;
    case 1: head.relative = {layout::RelativeKind::offset, 32, 128, true, 0}; break;
    case 2: head.relative = {layout::RelativeKind::bucket, 4, 6, false, 0}; break;
    default: break;
  }
  return head;
}

}  // namespace

TEST_CASE("views whose rows go down have no isomorphisms where names and walks tell all vertices apart") {
  const char* const asked = std::getenv("SIGHTLINE_DESCENDING");  // FROM:COUNT, for longer sweeps
  const int cases = asked == nullptr ? 300 : std::atoi(std::string(asked).substr(std::string(asked).find(':') + 1).c_str());
  std::mt19937_64 random(asked == nullptr ? 63 : std::strtoull(asked, nullptr, 10));
  int shown = 0, open = 0, partly = 0, missed = 0;
  for (int k = 0; k < cases; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(3 + random() % 8);
    std::vector<std::vector<oracle::Head>> layers;
    for (std::uint64_t l = 0, count = 1 + random() % 3; l < count; ++l) layers.push_back({draw_head(random, draw_descending_rows(random, n))});
    Layout layout = oracle::make_layout(n, 0, layers);
    if (random() % 4 == 0) layout.vertex_colour[random() % n] = 7;
    const checker::Layout theirs = convert::to_checker(layout);
    checker::ReachMemory memory(theirs);
    std::vector<Vertex> all(n);
    std::iota(all.begin(), all.end(), Vertex{0});
    for (std::uint64_t depth = 1; depth <= 5; ++depth) {
      CAPTURE(depth);
      std::vector<Vertex> left = all, left_there = all;
      const DescendingAnswer found = explain_descending_rows(layout, depth, left, unlimited);
      REQUIRE(checker::drop_by_descending_rows(theirs, all, depth, left_there, memory) == found.explained);
      REQUIRE(left == left_there);
      const bool so = is_so(layout, depth, false);
      if (found.explained) REQUIRE(so);
      partly += !found.explained && left.size() < n;
      if (left.size() < n) REQUIRE(is_so(layout, depth, false, left));
      ++(found.explained ? shown : open);
      missed += so && !found.explained;
    }
  }
  MESSAGE(shown << " shown, " << open << " open, " << partly << " of them in part, " << missed << " without isomorphisms");
  CHECK(shown > open / 4);
  CHECK(open > 60);
  CHECK(missed * 4 < shown);
}

TEST_CASE("one row that goes up is seen, wherever it stands") {
  for (const Vertex up : {0U, 3U, 7U}) {
    oracle::Rows rows(9);
    for (Vertex i = 0; i < 9; ++i) {
      for (Vertex j = i < 2 ? 0 : i - 2; j <= i; ++j) rows[i].push_back(j);
    }
    std::vector<Vertex> all(9);
    std::iota(all.begin(), all.end(), Vertex{0});
    const auto ask = [&] {
      const Layout layout = oracle::make_layout(9, 0, {{{rows, {}, {}, layout::Cancels::single_colour}}});
      const checker::Layout theirs = convert::to_checker(layout);
      checker::ReachMemory memory(theirs);
      std::vector<Vertex> left = all, left_there = all;
      const bool found = explain_descending_rows(layout, 6, left, unlimited).explained;
      REQUIRE(checker::drop_by_descending_rows(theirs, all, 6, left_there, memory) == found);
      return found;
    };
    CHECK(ask());
    rows[up].push_back(up + 1);
    CHECK(!ask());
  }
}

}  // namespace sightline::sight

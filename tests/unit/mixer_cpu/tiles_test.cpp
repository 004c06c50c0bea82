// Compiled layouts hold exactly the arcs of the pattern, once each.
#include <doctest/doctest.h>

#include <chrono>
#include <set>
#include <utility>

#include "call.hpp"
#include "sightline/mixer/cpu/tiles.hpp"

using namespace sightline;
using namespace sightline::mixer;

TEST_CASE("the instruction sets of this processor, which all cases go through") {
  std::string names;
  for (const InstructionSet set : available_sets())
    names += set == InstructionSet::avx512 ? " AVX-512" : set == InstructionSet::avx2 ? " AVX2" : " generic";
  MESSAGE("instruction sets:" << names);
  CHECK(!names.empty());
}

TEST_CASE("tiles and rows together are the pattern") {
  Random random(4);
  for (int k = 0; k < 80; ++k) {
    const std::int64_t n = pick(random, 1, 260);
    std::string name;
    const layout::Relation relation(draw_pattern(random, n, name), {}, layout::Cancels::nothing,
                                    static_cast<layout::Vertex>(n));
    CAPTURE(name);
    const auto plan = make_plan({&relation, 1}, Budget());
    const cpu::Tiles tiles = cpu::compile_tiles(*plan, 0);
    std::set<std::pair<std::int64_t, std::int64_t>> found, readers;
    std::int64_t count = 0, taken = 0;
    const auto add = [&](std::int64_t i, std::int64_t j) {
      found.emplace(i, j);
      ++count;
    };
    for (const cpu::Tile& tile : tiles.tiles) {
      taken += tile.readers;
      std::int64_t before = -1;
      for (std::uint32_t s = tile.segments_begin; s < tile.segments_end; ++s) {
        cpu::Segment segment = tiles.segments[s];
        segment.first += static_cast<std::int32_t>(tile.shift);
        CHECK(segment.first > before);
        before = segment.first + segment.count - 1;
        for (int bit = 0; bit < 64; ++bit) {
          if ((segment.mask >> bit & 1) == 0)
            continue;
          REQUIRE(bit < tile.readers);
          for (std::int32_t j = segment.first; j < segment.first + segment.count; ++j)
            add(tile.first_reader + bit, j);
        }
      }
    }
    for (std::size_t r = 0; r < tiles.rows.rows.size(); ++r) {
      ++taken;
      for (std::int64_t a = tiles.rows.offsets[r]; a < tiles.rows.offsets[r + 1]; ++a) {
        add(tiles.rows.rows[r], tiles.rows.columns[static_cast<std::size_t>(a)]);
      }
    }
    CHECK(taken == n);
    CHECK(count == tiles.arcs);
    CHECK(count == static_cast<std::int64_t>(found.size()));
    CHECK(found.size() == relation.pattern().arc_count());
    for (const auto& [i, j] : found)
      REQUIRE(relation.pattern().reads(static_cast<layout::Vertex>(i), static_cast<layout::Vertex>(j)));
    std::size_t transposed = 0;
    for (std::size_t c = 0; c < tiles.columns.rows.size(); ++c) {
      for (std::int64_t a = tiles.columns.offsets[c]; a < tiles.columns.offsets[c + 1]; ++a) {
        REQUIRE(found.count({tiles.columns.columns[static_cast<std::size_t>(a)], tiles.columns.rows[c]}) == 1);
        ++transposed;
      }
    }
    CHECK(transposed == tiles.rows.columns.size());
  }
}

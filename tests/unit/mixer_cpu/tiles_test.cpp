// Compiled layouts hold exactly the arcs of the pattern, once each.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "call.hpp"
#include "sightline/mixer/cpu/whole_reads.hpp"

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

namespace {

using Arcs = std::vector<std::pair<std::int64_t, std::int64_t>>;

// The leaves of list `list`; how many of its nodes are sums.
std::vector<std::int64_t> leaves_of(const cpu::NodeLists& lists, std::size_t list, std::int64_t* sums = nullptr) {
  std::vector<std::int64_t> leaves;
  for (std::size_t k = lists.offsets[list]; k < lists.offsets[list + 1]; ++k) {
    const std::int64_t group = lists.nodes[k] / cpu::group_nodes, place = lists.nodes[k] % cpu::group_nodes;
    const bool is_sum = place == cpu::group_leaves;
    CHECK(lists.is_needed[static_cast<std::size_t>(lists.nodes[k])] == 1);
    for (std::int64_t leaf = is_sum ? 0 : place; leaf < (is_sum ? cpu::group_leaves : place + 1); ++leaf) {
      CHECK(lists.is_needed[static_cast<std::size_t>(group * cpu::group_nodes + leaf)] == 1);
      leaves.push_back(group * cpu::group_leaves + leaf);
    }
    if (sums != nullptr)
      *sums += is_sum ? 1 : 0;
  }
  return leaves;
}

Arcs arcs_of(const cpu::Tiles& tiles) {
  Arcs arcs;
  for (const cpu::Tile& tile : tiles.tiles) {
    for (std::uint32_t s = tile.segments_begin; s < tile.segments_end; ++s) {
      const cpu::Segment& segment = tiles.segments[s];
      for (std::int64_t j = segment.first + tile.shift; j < segment.first + tile.shift + segment.count; ++j) {
        for (int i = 0; i < tile.readers; ++i) {
          if ((segment.mask >> i & 1) != 0)
            arcs.emplace_back(tile.first_reader + i, j);
        }
      }
    }
  }
  return arcs;
}

} // namespace

TEST_CASE("whole blocks of reads and what is left of the tiles are the tiles") {
  Random random(14);
  std::int64_t pairs = 0, above = 0;
  for (int k = 0; k < 40; ++k) {
    const std::int64_t n = k % 2 == 0 ? pick(random, 1, 400) : pick(random, 600, 1500);
    const layout::Relation relation(draw_long_rows(random, n), {}, layout::Cancels::nothing, static_cast<layout::Vertex>(n));
    const auto plan = make_plan({&relation, 1}, Budget());
    const cpu::CompiledPlan& compiled = cpu::find_compiled(*plan);
    cpu::find_whole_reads(*plan, compiled);
    const cpu::WholeReads& whole = compiled.whole.front();
    if (whole.pairs == 0)
      continue;
    const cpu::Tiles& rest = compiled.rest.front();
    Arcs expected = arcs_of(compiled.relations.front()), found = arcs_of(rest), by_tile, by_block;
    REQUIRE(rest.tiles.size() == compiled.relations.front().tiles.size());
    const std::int64_t blocks = (n + cpu::block_reads - 1) / cpu::block_reads;
    for (std::size_t t = 0; t < rest.tiles.size(); ++t) {
      for (const std::int64_t block : leaves_of(whole.reads, t, &above)) {
        by_tile.emplace_back(block, t);
        for (std::int64_t j = block * cpu::block_reads; j < std::min((block + 1) * cpu::block_reads, n); ++j) {
          for (int i = 0; i < rest.tiles[t].readers; ++i)
            found.emplace_back(rest.tiles[t].first_reader + i, j);
        }
      }
    }
    for (std::int64_t block = 0; block < blocks; ++block) {
      for (const std::int64_t tile : leaves_of(whole.readers, static_cast<std::size_t>(block)))
        by_block.emplace_back(block, tile);
    }
    for (Arcs* const arcs : {&expected, &found, &by_tile, &by_block})
      std::sort(arcs->begin(), arcs->end());
    CHECK(found == expected);
    CHECK(by_tile == by_block);
    CHECK(whole.pairs == static_cast<std::int64_t>(by_tile.size()));
    pairs += whole.pairs;
  }
  CHECK(pairs > 1000);
  CHECK(above > 0);
}

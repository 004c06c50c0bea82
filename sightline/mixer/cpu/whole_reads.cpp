#include "sightline/mixer/cpu/whole_reads.hpp"

#include <algorithm>
#include <utility>

namespace sightline::mixer::cpu {
namespace {

/// Makes lists, one run of leaves after the other.
class NodeListMaker {
public:
  NodeListMaker(std::int64_t leaves, NodeLists& out) : out_(out) {
    out_.is_needed.assign(static_cast<std::size_t>((leaves + group_leaves - 1) / group_leaves * group_nodes), 0);
  }

  void add_run(std::int64_t first, std::int64_t last) {
    while (first < last) {
      const std::int64_t group = first / group_leaves * group_nodes;
      const bool whole = first % group_leaves == 0 && first + group_leaves <= last;
      const std::int64_t node = group + (whole ? group_leaves : first % group_leaves);
      out_.nodes.push_back(static_cast<std::int32_t>(node));
      const auto needed = out_.is_needed.begin() + (whole ? group : node);
      std::fill_n(needed, whole ? group_nodes : 1, std::uint8_t{1});
      first += whole ? group_leaves : 1;
    }
  }
  void end_list() { out_.offsets.push_back(out_.nodes.size()); }

private:
  NodeLists& out_;
};

/// Takes whole blocks out of a tile's segments, which rise; `take` is told first and last + 1 of every run of them.
template <class Take>
void split_segments(const Tiles& from, const Tile& tile, std::int64_t reads, std::vector<Segment>& rest, Take take) {
  const std::uint64_t all = tile.readers == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << tile.readers) - 1;
  const auto add = [&](std::int64_t first, std::int64_t end, std::uint64_t mask) {
    if (first < end)
      rest.push_back({static_cast<std::int32_t>(first), static_cast<std::int32_t>(end - first), mask});
  };
  for (std::uint32_t s = tile.segments_begin; s < tile.segments_end;) {
    const Segment& segment = from.segments[s];
    const std::int64_t first = segment.first + tile.shift;
    std::int64_t end = first + segment.count;
    ++s;
    if (segment.mask != all) {
      add(first, end, segment.mask);
      continue;
    }
    while (s < tile.segments_end && from.segments[s].mask == all && from.segments[s].first + tile.shift == end)
      end += from.segments[s++].count;
    const std::int64_t from_block = (first + block_reads - 1) / block_reads,
                       to_block = end == reads ? (end + block_reads - 1) / block_reads : end / block_reads;
    if (from_block >= to_block) {
      add(first, end, all);
      continue;
    }
    add(first, from_block * block_reads, all);
    take(from_block, to_block);
    add(std::min(to_block * block_reads, reads), end, all);
  }
}

WholeReads split(const Tiles& from, std::int64_t reads, Tiles& rest) {
  WholeReads out;
  const std::int64_t blocks = (reads + block_reads - 1) / block_reads;
  std::vector<std::vector<std::pair<std::int32_t, std::int32_t>>> readers(static_cast<std::size_t>(blocks)); // runs of tiles
  NodeListMaker of_tiles(blocks, out.reads);
  for (const Tile& given : from.tiles) {
    const auto number = static_cast<std::int32_t>(rest.tiles.size());
    Tile tile;
    tile.first_reader = given.first_reader;
    tile.readers = given.readers;
    tile.segments_begin = static_cast<std::uint32_t>(rest.segments.size());
    const std::int64_t before = out.pairs;
    split_segments(from, given, reads, rest.segments, [&](std::int64_t first, std::int64_t last) {
      of_tiles.add_run(first, last);
      tile.other_first = out.pairs > before ? tile.other_first : first * block_reads;
      tile.other_last = std::min(last * block_reads, reads) - 1;
      for (std::int64_t block = first; block < last; ++block) {
        auto& runs = readers[static_cast<std::size_t>(block)];
        if (!runs.empty() && runs.back().second == number)
          ++runs.back().second;
        else
          runs.emplace_back(number, number + 1);
      }
      out.pairs += last - first;
    });
    of_tiles.end_list();
    out.tiles += out.pairs > before ? 1 : 0;
    tile.segments_end = static_cast<std::uint32_t>(rest.segments.size());
    share_segments(rest, tile);
    rest.tiles.push_back(tile);
  }
  NodeListMaker of_blocks(static_cast<std::int64_t>(from.tiles.size()), out.readers);
  for (const auto& runs : readers) {
    for (const auto& [first, last] : runs)
      of_blocks.add_run(first, last);
    of_blocks.end_list();
    out.blocks += runs.empty() ? 0 : 1;
  }
  if (out.pairs == 0) {
    rest = {};
    return out;
  }
  rest.rows = from.rows;
  rest.columns = from.columns;
  rest.pieces = from.pieces;
  rest.arcs = from.arcs;
  find_turns(rest, reads);
  return out;
}

} // namespace

void find_whole_reads(const Plan& plan, const CompiledPlan& compiled) {
  std::call_once(compiled.whole_once, [&] {
    std::vector<WholeReads> whole;
    std::vector<Tiles> rest;
    for (const Tiles& tiles : compiled.relations)
      whole.push_back(split(tiles, plan.reads(), rest.emplace_back()));
    compiled.whole = std::move(whole);
    compiled.rest = std::move(rest);
  });
}

} // namespace sightline::mixer::cpu

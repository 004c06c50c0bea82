// A relation compiled for the fast implementation: which readers share a tile, what each tile reads, and who is better
// taken row by row. Made once per plan.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <vector>

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

struct Tile {
  std::int64_t first_reader = 0;
  int readers = 0;
  std::uint32_t segments_begin = 0, segments_end = 0;
  std::uint32_t turns_begin = 0, turns_end = 0;
  std::int64_t shift = 0; ///< of the segments, which tiles share: reads are first + shift, ...
  bool again = false, hold = false; ///< see TileList, TurnList
  std::int32_t late_reads = 0, number = 0; ///< late reads of both turns; of the tile among those that have some
  std::int64_t late_begin = 0;             ///< late reads of such tiles before it
  std::int64_t other_first = -1, other_last = -1; ///< see TileList
};

/// The chunks of rows that hold the first and the last reader of a chunk of columns; 0 where there is none.
struct ColumnParts {
  std::int32_t first = 0, last = 0;
};

/// A stretch of the arcs of a long row, or of a column with many readers: no thread has all of it to do, and it comes while
/// others have its tokens in the caches.
struct LongPiece {
  std::int64_t number = 0, first_arc = 0, end_arc = 0; ///< in the list of rows or columns
  ColumnParts parts; ///< of a column: the chunks of rows that leave the first and the last of its numbers; of a row: both the one before which it comes
};
/// What has pieces, and when columns may be taken, what a piece leaves being there from its chunk on.
struct LongPieces {
  std::vector<LongPiece> rows, columns; ///< rows by parts.first, columns by parts.last
  std::vector<ColumnParts> parts;
  std::vector<std::int32_t> by_last;
  [[nodiscard]] bool empty() const { return rows.empty() && columns.empty(); }
};

/// Rows in compressed form; chunks are stretches of rows that make one task.
struct SparseList {
  std::vector<std::int32_t> rows, columns, arcs, ends; ///< see SparseRows
  std::vector<std::int64_t> offsets{0}, chunks{0};
  std::vector<std::uint8_t> marks, free;     ///< likewise
  std::int64_t longest_free = 0;
  bool scattered = false; ///< neighbouring rows mostly read far from each other
  mutable std::vector<std::int32_t> colours; ///< of the arcs; found on first use (colours.hpp)
  std::vector<ColumnParts> parts;    ///< of a list of columns, per chunk
  std::vector<std::int32_t> by_last; ///< chunks by rising parts[..].last
  [[nodiscard]] SparseRows view() const {
    return {rows.data(),
            offsets.data(),
            columns.data(),
            arcs.data(),
            ends.data(),
            marks.empty() ? nullptr : marks.data(),
            colours.empty() ? nullptr : colours.data(),
            free.empty() ? nullptr : free.data(),
            longest_free,
            static_cast<std::int64_t>(rows.size())};
  }
  [[nodiscard]] bool is_all_free() const {
    return !free.empty() && std::all_of(free.begin(), free.end(), [](std::uint8_t is) { return is != 0; });
  }
  [[nodiscard]] std::int64_t chunk_count() const { return static_cast<std::int64_t>(chunks.size()) - 1; }
};

/// A row, or a column, that has pieces.
inline constexpr std::int64_t piece_arcs = 1024;
[[nodiscard]] inline bool is_long(const SparseList& list, std::size_t row) {
  return list.offsets[row + 1] - list.offsets[row] >= 2 * piece_arcs;
}

struct Tiles {
  std::vector<Tile> tiles;
  std::vector<Segment> segments;
  std::vector<Turn> turns;
  std::vector<std::uint32_t> tiles_per_block; ///< how many tiles touch each column block
  SparseList rows;                            ///< readers taken one by one
  SparseList columns;                         ///< what they read, by read; every read where there are no tiles
  LongPieces pieces; ///< of both
  std::int64_t arcs = 0;
  bool in_order = false; ///< exact rings: what tiles add up is one chain (TileList)
  std::int64_t ring = 0; ///< see TileList
  std::int64_t late_reads = 0, late_tiles = 0; ///< of all tiles; tiles that have some
  bool apart = false;    ///< every read is read by one tile: it writes the gradients of its reads
};

/// Rows with their colours, for `aggregate`; chunks are stretches of groups that make one task.
struct ColourRows {
  std::vector<ColourRun> runs;
  std::vector<ColourGroup> groups;
  std::vector<std::int64_t> chunks{0};
};

/// Lists of numbers ("leaves"), in which group_leaves neighbours from a multiple on may be one node, their sum. Nodes are
/// numbered group by group: its leaves, then the sum. List k: nodes[offsets[k]] .. nodes[offsets[k + 1] - 1], rising.
inline constexpr std::int64_t group_leaves = 8, group_nodes = group_leaves + 1;
struct NodeLists {
  std::vector<std::int32_t> nodes;
  std::vector<std::size_t> offsets{0};
  std::vector<std::uint8_t> is_needed; ///< by node, of whole groups: it, or the sum that it joins, is in a list
  [[nodiscard]] std::int64_t groups() const { return static_cast<std::int64_t>(is_needed.size()) / group_nodes; }
};

/// Blocks of reads that all readers of a tile read (whole_reads.hpp).
struct WholeReads {
  NodeLists reads;                               ///< of every tile: blocks of reads
  NodeLists readers;                             ///< of every block of reads: the tiles that read it whole
  std::int64_t pairs = 0, blocks = 0, tiles = 0; ///< of tiles and blocks; blocks and tiles that are in some pair
};

/// What a plan's fast implementation keeps: one Tiles per distinct relation.
struct CompiledPlan {
  std::vector<Tiles> relations;
  std::vector<bool> is_causal; ///< per relation: reader i reads 0 .. i and nothing else, and all are tokens
  mutable std::once_flag exact_once, colours_once, arc_colours_once;
  mutable std::vector<ColourRows> colours; ///< found by find_colour_rows
  mutable std::vector<Tiles> exact;        ///< found by find_exact (exact.hpp)
  mutable std::once_flag exact_rows_once;
  mutable std::vector<Tiles> exact_rows; ///< found by find_exact_rows: `exact` row by row
  mutable std::once_flag exact_back_once;
  mutable std::vector<Tiles> exact_back; ///< found by find_exact_back
  mutable std::once_flag exact_colours_once;
  mutable std::vector<std::vector<std::int32_t>> exact_colours; ///< of the arcs of exact_rows
  mutable std::once_flag twins_once;
  mutable std::vector<Tiles> twins; ///< exact, by content, backward: tiles that keep to one class (twins.cpp)
  mutable bool twins_stand = false; ///< `exact` serves in their place
  mutable std::once_flag whole_once;
  mutable std::vector<WholeReads> whole; ///< found by find_whole_reads (whole_reads.hpp)
  mutable std::vector<Tiles> rest;       ///< likewise: the tiles without these reads, where there are some
  mutable bool by_content = false;  ///< exact: members of twin classes are to be sorted by content before every call
};

/// How a layout is cut: all by tiles or all by rows where every reader must be treated alike.
enum class Cut { best, tiles_only };

/// `tile` is about to be added and its segments are the last ones. Where they are those of the tile before it some tokens
/// on, it has these instead: lists of a window or a ring are short, and stay in the first cache.
void share_segments(Tiles& tiles, Tile& tile);

/// Who waits for whom among tiles whose segments rise; there are no turns yet.
void find_turns(Tiles& tiles, std::int64_t reads);

/// SparseRows::ends, whenever the rows or their marks have changed.
void find_ends(SparseList& list);

/// Finds the chunks of rows; with_columns, which the backward pass needs: the rows transposed, arcs of a column by rising reader,
/// and their chunks.
void finish_rows(Tiles& tiles, std::int64_t reads, bool with_columns = true);

/// O(runs log runs) per 64 readers, plus the arcs of readers taken one by one. The result depends on the plan alone.
/// classes, when given: intervals of readers that tiles keep to.
[[nodiscard]] Tiles compile_tiles(const Plan& plan, std::size_t relation, Cut cut = Cut::best,
                                  const std::vector<std::uint32_t>* classes = nullptr);
[[nodiscard]] const CompiledPlan& find_compiled(const Plan& plan);

} // namespace sightline::mixer::cpu

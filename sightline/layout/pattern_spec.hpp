// A pattern as the architecture file describes it (format.md, "Patterns"), and the generator that turns it into runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

enum class PatternKind {
  full, self, window, ring, blocks, shifted_blocks, strided, fixed, grid, star, bigbird, random, butterfly, circulant,
  graph, rows, matrix, file, union_of, intersection_of, minus, per_head
};

/// One `pattern = { kind = ..., ... }` table. Only the members of its kind are set; absent ones have the default that
/// format.md gives. This is a description: checked for types and ranges by the reader of the architecture file, and for
/// sense (sizes that contradict each other, tokens out of range) by make_patterns.
struct PatternSpec {
  PatternKind kind = PatternKind::full;
  bool causal = false;

  // window, ring
  std::optional<std::int64_t> radius, before, after;
  std::int64_t dilation = 1;
  std::optional<bool> wrap;  ///< default: false for window and grid, true for shifted_blocks
  std::vector<std::int64_t> global;
  // blocks, shifted_blocks
  std::optional<std::int64_t> size, shift;
  // strided, fixed
  std::optional<std::int64_t> stride, summary;
  std::string variant;  ///< strided, fixed: paper | code; bigbird: paper | original | huggingface; "" = paper
  std::string part;     ///< merged | local | summary; "" = merged
  // grid
  std::vector<std::int64_t> shape, grid_window, grid_blocks, grid_shift;
  bool grid_rows = false, grid_columns = false;
  // bigbird
  std::optional<std::int64_t> block, random_blocks, globals;
  std::uint64_t seed = 0;
  std::string mode;  ///< train | eval; "" = train
  // random
  std::optional<std::int64_t> degree;
  std::optional<double> density;
  // butterfly, circulant, graph
  std::optional<std::int64_t> distance;
  std::vector<std::int64_t> offsets;
  std::vector<std::pair<std::int64_t, std::int64_t>> edges;
  bool directed = false, loops = true;
  // rows, matrix, file
  std::vector<std::vector<std::int64_t>> rows, matrix;
  std::string path;    ///< already resolved against the folder of the architecture file
  std::string format;  ///< npy | npz | matrixmarket | edges; "" = by the file's name and first bytes
  // union, intersection, minus (of), per_head (heads)
  std::vector<PatternSpec> of;

  /// Where this table stands in the user's file, e.g. "/mixer/pattern" or "/layer/2/pattern": prefix of errors.
  std::string where;

  friend bool operator==(const PatternSpec&, const PatternSpec&) = default;
};

/// Sizes a pattern is generated for.
struct PatternSize {
  Vertex tokens = 0;
  Vertex registers = 0;
  Vertex heads = 1;  ///< mixer.heads; bigbird's shipped variants draw one table per head
};

/// Generates the pattern(s) of one layer: one Pattern when all heads share it, else one per head.
/// A per_head spec gives its heads in order. `union`, `intersection`, `minus` and `causal` are applied head by head; an
/// operand of one pattern serves every head. Structured patterns stay a handful of runs whatever their length.
/// Throws InputError (`<where>: expected ..., found ...`, without file name: the caller prefixes it) and BudgetExhausted.
/// Complexity: O(tokens + runs written).
///
/// Where format.md leaves a choice:
/// - causal: removes j > i after everything else, among tokens only; arcs to and from registers stay.
/// - union, intersection, minus: an arc keeps the colour of the first operand that has it. minus takes every further
///   operand away from the first.
/// - window, wrap: tokens are counted once round the ring, so a window longer than the ring is its whole residue class.
/// - global: row g is all tokens, no registers.
/// - shifted_blocks: the shift counts modulo the size; with a boundary at 0 no pieces are joined. On a grid the same holds
///   for each axis.
/// - fixed: paper and code give the same sets (the code's heads differ in which columns they take, which is not modelled).
/// - circulant: i reads i + offset mod tokens; offsets that agree mod tokens count once.
/// - graph: edge [u, v]: u reads v; repeated edges count once.
/// - star: n = 1 and 2 keep one arc where i-1, i, i+1 coincide.
/// - random: rows do not contain their own token. degree: see append_sample (sampling.hpp), rows in order, one engine
///   std::mt19937_64(seed). density: each other token, in order, is taken iff the top 53 bits of the next word, as a
///   fraction, are below it.
/// - file: see mask_file.hpp. The format is by `format`, else by the name's end (.npy, .npz, .mtx), else by the first bytes,
///   else an edge list. Nothing is added to what the file says, not even own tokens.
/// - bigbird: block 64, random 3, globals 2 when absent. B = ceil(tokens / block) blocks, the last may be shorter.
///   paper: the first ceil(globals/2) and the last floor(globals/2) blocks read all and are read by all; the others read
///   themselves and both neighbours, clipped at the ends, and `random` distinct blocks other than their own, drawn for all
///   block rows in order by append_sample; what coincides counts once; one pattern for all heads.
///   original, huggingface: what the published programs do, tables by NumPy's legacy generator seeded with `seed` (the
///   layer's index), one pattern per head; a block listed k times has colour k. Block rows 0 and B-1 read all. The
///   table of 4096 tokens is drawn heads outside, rows inside; the general plan rows outside, heads inside. Where the
///   program would stop (too few admissible blocks, a table that names blocks beyond the length) this is an InputError.
///   original needs tokens divisible by the block. huggingface pads (the last block is shorter), reads everything when
///   tokens <= (5 + 2 random) block, and in eval mode lists block 0 `random` times more.
[[nodiscard]] std::vector<Pattern> make_patterns(const PatternSpec& spec, const PatternSize& size, const Budget& budget);

/// Readers whose row is empty, in run-length form (first, count): the file reader warns about them.
[[nodiscard]] std::vector<std::pair<Vertex, Vertex>> find_empty_rows(const Pattern& pattern);

}  // namespace sightline::layout

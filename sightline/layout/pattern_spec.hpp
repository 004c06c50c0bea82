// A pattern as the architecture file describes it (format.md, "Patterns"), and the generator that turns it into runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
/// A per_head spec gives its heads in order. `union`, `intersection`, `minus` and `causal` are applied head by head.
/// Throws InputError (`<where>: expected ..., found ...`, without file name: the caller prefixes it) and BudgetExhausted.
/// Complexity: O(tokens + runs written).
[[nodiscard]] std::vector<Pattern> make_patterns(const PatternSpec& spec, const PatternSize& size, const Budget& budget);

/// Readers whose row is empty, in run-length form (first, count): the file reader warns about them.
[[nodiscard]] std::vector<std::pair<Vertex, Vertex>> find_empty_rows(const Pattern& pattern);

}  // namespace sightline::layout

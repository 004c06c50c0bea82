// A layout: the coloured sparsity patterns of all token-mixing layers on tokens and registers (theory.md 2.4, 2.5).
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// The vertices first, first+step, ..., last; the k-th of them (k = 0, 1, ...) is read with colour `colour + k * colour_step`.
struct ColouredRun {
  Vertex first = 0;
  Vertex last = 0;
  Vertex step = 1;
  std::int64_t colour = 0;
  std::int64_t colour_step = 0;

  [[nodiscard]] Vertex size() const { return (last - first) / step + 1; }
  friend bool operator==(const ColouredRun&, const ColouredRun&) = default;
};

/// How relative positions colour the arc (i reads j) among tokens. Arcs that touch a register are never coloured by it.
enum class RelativeKind {
  none,
  offset,       ///< j - i (rotary, learned)
  distance,     ///< |i - j| (ALiBi)
  bucket,       ///< T5 bucket of j - i
  grid_offset,  ///< (dr, dc) on a row-major grid of the given width (learned bias on a grid)
  column,       ///< j (trained Linformer: one colour per column), registers included
  pair          ///< (i, j) (a trained weight per pair), registers included
};

struct Relative {
  RelativeKind kind = RelativeKind::none;
  std::uint32_t buckets = 32, max_distance = 128;
  bool bidirectional = true;
  std::uint32_t grid_width = 0;
  friend bool operator==(const Relative&, const Relative&) = default;
};

/// T5's bucket of the relative position offset = j - i, exactly as transformers computes it: bidirectional tables keep
/// their upper half for j > i, the others read every j > i as distance 0; the first half of what remains is exact, the rest
/// logarithmic in float32 and cut to an integer. Bidirectional 32/128: distances 8 and 9 share a bucket; unidirectional:
/// 16 and 17. Beyond the formula (no exact bucket, or max_distance not above the exact ones): the last bucket of the side.
[[nodiscard]] std::uint32_t compute_t5_bucket(std::int64_t offset, const Relative& relative);

/// What a normalised row forgets about its colours (theory.md 2.5, "effective colours").
enum class Cancels {
  nothing,        ///< un-normalised, sink or eps: colours count as they are
  single_colour,  ///< rows of a single colour are recoloured alike (trained weights)
  common_shift    ///< ALiBi: rows are compared up to a common shift of the distances (fixed weights z^|i-j|)
};

/// One head's coloured relation "i reads j": a pattern, relative colours, and what normalisation forgets.
///
/// Raw colours. Let R = relative_count() and r(i, j) in [0, R) be the relative colour: 0 for every arc that touches a
/// register (column and pair excepted) and for RelativeKind::none; otherwise offset: j - i + tokens; distance: |i - j| + 1; bucket: 1 + T5 bucket;
/// grid_offset: 1 + (dr + height) (2 width + 1) + (dc + width), with height = ceil(tokens / width); column: 1 + j;
/// pair: 1 + i vertices + j. An arc of matrix colour c
/// has the raw colour 1 + (c - 1) R + r. So without relative colours the raw colour is the colour of the matrix.
///
/// Effective colours (theory.md 2.5), per row:
/// - nothing: the raw colours.
/// - single_colour: 0 throughout when all arcs of the row have one raw colour, else the raw colours.
/// - common_shift: weights w_c z^distance count up to one factor. A row without arcs to registers has its smallest distance
///   subtracted (a register arc has no distance, its weight does not scale along, so such a row is left unshifted), and a
///   row of a single matrix colour c forgets c. Colours then start at 0.
class Relation {
public:
  Relation() = default;
  /// Relative colours apply among the vertices < tokens. Throws ArgumentError when tokens exceeds the pattern's vertices,
  /// when grid_offset has no width, and when matrix and relative colours together do not fit 63 bits.
  /// O(rows) at worst: finds out whether the relation is plain.
  Relation(Pattern pattern, Relative relative, Cancels cancels, Vertex tokens);

  [[nodiscard]] const Pattern& pattern() const { return pattern_; }
  [[nodiscard]] const Relative& relative() const { return relative_; }
  [[nodiscard]] Cancels cancels() const { return cancels_; }
  [[nodiscard]] Vertex tokens() const { return tokens_; }
  [[nodiscard]] Vertex vertex_count() const { return pattern_.vertex_count(); }
  /// R above: raw colours decode as c = 1 + (raw - 1) / R, r = (raw - 1) % R.
  [[nodiscard]] std::int64_t relative_count() const { return relative_count_; }
  /// True when every arc of the relation has the same effective colour (so the runs of the pattern say everything).
  [[nodiscard]] bool is_plain() const { return plain_; }

  /// The row of reader i with EFFECTIVE colours (out is cleared). Effective colours are >= 0; a row of one colour under
  /// `single_colour` has colour 0 throughout. Disjoint runs sorted by first; a run of one vertex has step 1, colour_step 0.
  /// O(runs), times the buckets or grid rows that a run crosses.
  void row(Vertex i, std::vector<ColouredRun>& out) const;
  /// End of the readers i, i+1, ... that are known to have the row of i with its effective colours (Pattern::same_row_until;
  /// i + 1 with relative colours).
  [[nodiscard]] Vertex same_row_until(Vertex i) const { return relative_.kind == RelativeKind::none ? pattern_.same_row_until(i) : i + 1; }
  /// The row with colours as given, before anything is forgotten (what labels of id sequences count, theory.md 15.4):
  /// matrix colour and relative colour paired into one integer; 0 is never used.
  void raw_row(Vertex i, std::vector<ColouredRun>& out) const;
  /// Effective colour of an arc, or -1 when absent. For tests and small layouts.
  [[nodiscard]] std::int64_t colour(Vertex i, Vertex j) const;

  /// Same pattern (semantically), relative colours, tokens and cancelling.
  friend bool operator==(const Relation& a, const Relation& b);

private:
  struct BucketStart {
    std::int64_t distance;
    std::uint32_t bucket;
  };
  void append_relative(const Run& run, Vertex i, std::vector<ColouredRun>& out) const;
  void append_buckets(const Run& run, Vertex i, std::int64_t base, std::vector<ColouredRun>& out) const;
  void append_grid(const Run& run, Vertex i, std::int64_t base, std::vector<ColouredRun>& out) const;
  void forget(Vertex i, std::vector<ColouredRun>& row) const;
  [[nodiscard]] bool find_plain() const;

  Pattern pattern_;
  Relative relative_;
  Cancels cancels_ = Cancels::nothing;
  Vertex tokens_ = 0;
  std::int64_t relative_count_ = 1;
  std::vector<BucketStart> before_, after_;  // where buckets begin, by distance, for j <= i and for j > i
  bool plain_ = true;
};

/// The heads of one mixing layer, as indices into Layout::relations (sorted, distinct). Preserving the "set of heads that
/// contain the arc" as a colour is the same as preserving every head's relation, so no joint colours are ever built.
struct Layer {
  std::vector<std::uint32_t> relations;
  friend bool operator==(const Layer&, const Layer&) = default;
};

/// The most tokens and the most layers (every `repeat` written out) that certificates hold; the checker has numbers of its own.
inline constexpr std::uint64_t most_tokens = std::uint64_t{1} << 24, most_layers = std::uint64_t{1} << 24;

/// Vertices 0 .. tokens-1 are tokens, tokens .. tokens+registers-1 registers.
struct Layout {
  Vertex tokens = 0;
  Vertex registers = 0;
  /// Token colours and register colours, one per vertex. No token ever has the colour of a register.
  std::vector<std::uint64_t> vertex_colour;
  std::vector<Relation> relations;      ///< distinct
  std::vector<Layer> layers;            ///< distinct
  std::vector<std::uint32_t> order;     ///< order[q-1] = index into layers of mixing layer q, every `repeat` written out

  [[nodiscard]] Vertex vertices() const { return tokens + registers; }
  /// The layer applied q-th (q >= 1) when the list is repeated for ever.
  [[nodiscard]] const Layer& layer(std::uint64_t q) const { return layers[order[(q - 1) % order.size()]]; }
  /// Which of `layers` the list names: used[l], one per layer.
  [[nodiscard]] std::vector<bool> used_layers() const;
  /// True when two registers have the same colour (then labels are multisets and equal registers may coincide: theory.md 7.6, 15.8 g).
  [[nodiscard]] bool has_equal_registers() const;
};

}  // namespace sightline::layout

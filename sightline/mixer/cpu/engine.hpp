// What the kernels that are compiled once per instruction set offer to the rest of the room: plain structures and
// function pointers, so that no template crosses the border between files compiled with different flags.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sightline::mixer::cpu {

inline constexpr int tile_readers = 64;   ///< readers of one tile: one bit each in a Segment's mask
inline constexpr int strip_columns = 128; ///< reads that a tile takes at once
inline constexpr int block_columns = 128; ///< columns that share one turn counter of the backward pass
inline constexpr int most_arcs = 1024;    ///< of rows, taken at once; a multiple of every vector's number of lanes

inline constexpr int most_phases = 2;
/// So many numbers, written once, will not stay in the caches and are written past them: lines are not fetched to be overwritten.
/// One thread writes to memory faster than it computes; several share what memory takes.
template <class Real> constexpr bool are_written_past(std::int64_t numbers, int threads) {
  return numbers * static_cast<std::int64_t>(sizeof(Real)) > std::int64_t{threads > 1 ? 10 : 8} << 20;
}

/// The reads first, first + step, ... (count of them, step 1 or -1), each read by the same readers of the tile.
/// Segments of one phase make one sum; the sums of the phases are added up at the end (exact mode).
struct Segment {
  std::int32_t first = 0, count = 0;
  std::uint64_t mask = 0;
  std::int16_t step = 1, phase = 0;
  bool late = false; ///< exact rings, backward: adds to the gradients of its reads in the tile's second turn
  /// Exact rings with reflections, forward: the readers themselves, weighed once for the sums to the right and to the left.
  bool centre = false;
};

/// A column block that a tile touches, and how many tiles of the same head touch it before.
struct Turn {
  std::uint32_t block = 0, rank = 0;
};

enum class Score { dot, distance }; ///< S = x.y, or |x - y|^2 summed from differences
/// The weight as a function of S: 2^(factor S); 2^(factor sqrt S); 1 / (1 + factor S); 1 / sqrt(1 + factor S); max(S, 0)^2;
/// S; S 2^e, where e is the read's exponent (features).
enum class Weight { exponential, exponential_root, reciprocal, reciprocal_root, relu_squared, identity, features, program };
/// What happens to queries and keys first: nothing; elu(x) + 1; x / |x|.
enum class Prepare { nothing, elu_plus_one, unit };

/// The kernel as a program in program_inputs numbers: x.y, |x|^2, |y|^2, |x - y|^2 (x: the query times query_scale).
/// Slots: these, then the constants, then the results of the steps. The weight is factor * 2^exponent.
enum class Operation : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  power,
  negate,
  exp,
  log,
  sqrt,
  cosh,
  sinh,
  cos,
  sin,
  tanh,
  sigmoid,
  softplus,
  relu,
  elu,
  abs
};
template <class Real> struct ProgramStep {
  Operation operation = Operation::add;
  std::int32_t left = 0, right = -1;
  Real value = 0; ///< power: the exponent
};
inline constexpr int program_inputs = 4;
template <class Real> struct Program {
  const ProgramStep<Real>* steps = nullptr;
  const Real* constants = nullptr;
  int count = 0;
  int first_step = program_inputs; ///< program_inputs + number of constants
  int factor = -1, exponent = -1;  ///< slots; -1: 1, 0
  bool uses[program_inputs] = {};
};
inline constexpr int most_slots = 64;

/// A map of rows, f(x): every step makes a row, where a number stands in all entries. entries: an operation on each;
/// power: the left to the power of the right; dot: the sum of products.
enum class RowStepKind : std::uint8_t { given, constant, entries, power, dot };
template <class Real> struct RowStep {
  RowStepKind kind = RowStepKind::given;
  ProgramStep<Real> step;          ///< left, right: steps; constant: the value
  const Real* constants = nullptr; ///< [width], or null
};
/// The last step is the result; one step is `given`.
template <class Real> struct RowMap {
  const RowStep<Real>* steps = nullptr;
  int count = 0;
  std::int64_t width = 0, padded = 0, rows = 0; ///< padded: whole vectors of every set; rows taken at once
};

/// One head's rule, with everything that multiplies an exponent folded into base 2.
template <class Real> struct Rule {
  Score score = Score::dot;
  Weight weight = Weight::exponential;
  Prepare prepare = Prepare::nothing;
  Real query_scale = 1; ///< multiplies queries (after `prepare`), for softmax 1/sqrt(width) * log2(e)
  Real factor = 1;      ///< see Weight
  bool normalised = true;
  bool has_extra = false; ///< 2^extra (eps and sink together) joins the denominator
  Real extra = 0;
  bool canonical = false; ///< exact mode: outputs without -0, every NaN the same
  const Program<Real>* program = nullptr;
  Real sink = 0; ///< logarithm to base 2 of the sink's part, for its gradient
};

/// Arcs of one row: reads first, first + step, .. last with colours that rise by colour_step.
struct ColourRun {
  std::int32_t first = 0, last = 0, step = 1, colour = 0, colour_step = 0;
};
/// The runs of one reader's row. Without a value of its own: every tile has space for those of its readers.
struct ColourSpan {
  const ColourRun *begin, *end;
};

/// Biases by colour, and slopes that count between tokens, where they depend on more than i - j. Base 2.
template <class Real> struct ColourBias {
  const Real* table = nullptr; ///< by colour; null: slopes alone
  Real slope = 0;              ///< times |i - j|, leaves the exponent
  std::int64_t reader_tokens = 0, read_tokens = 0;
};

/// The numbers of one head of one batch element. Strides in numbers between tokens.
template <class Real> struct Head {
  const Real *query = nullptr, *key = nullptr, *value = nullptr;
  std::ptrdiff_t query_stride = 0, key_stride = 0, value_stride = 0;
  Real* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  bool past = false; ///< outputs are too many to stay in the caches: written past them where rows are short
  bool far = false;  ///< neighbouring rows of a list read far from each other, and the second cache holds little of what they read
  Real* statistics = nullptr; ///< per reader: integer exponent M and 1 / (denominator 2^-M), or null
  /// Short rows whose sums wait until all have their weights: these, by arc from `waiting_row` on, and the rows' factors; or
  /// null. of_values: their turn.
  Real *waiting = nullptr, *waiting_factors = nullptr;
  std::int64_t waiting_row = 0;
  bool of_values = false;
  Real* arc_weights = nullptr; ///< what short rows leave forward: weights of their arcs, vectors of rows; or null
  std::int64_t width = 0, value_width = 0, reads = 0;
  std::int64_t reader_cut_begin = 0, reader_cut_end = 0; ///< readers that do not exist
  std::int64_t read_cut_begin = 0, read_cut_end = 0;     ///< reads that do not exist
  /// Exact mode, twins by content: reads stand for order[read]; or null. Where a tile stays in place (TileList), sums over
  /// reads go in this order, those over readers in the other.
  const std::int32_t *order = nullptr, *reader_order = nullptr;
  /// offset_bias[i - j]: joins the exponent of (i, j), base 2; or null. With both, this one serves the tiles of tokens below
  /// offset_tokens; registers that these read have the numbers from offset_registers on.
  const Real* offset_bias = nullptr;
  std::int64_t offset_tokens = 0;
  std::ptrdiff_t offset_registers = 0;
  const ColourBias<Real>* colours = nullptr; ///< what joins exponents instead; or null
  /// Weight::features: whole exponents to base 2 that queries and keys (features by now) were divided by.
  const Real *reader_exponents = nullptr, *read_exponents = nullptr;
};

/// Gradients of one head; key and value gradients are added to, the query gradient is written.
template <class Real> struct Gradients {
  const Real* out = nullptr;
  std::ptrdiff_t out_stride = 0;
  Real *query = nullptr, *key = nullptr, *value = nullptr;
  std::ptrdiff_t query_stride = 0, key_stride = 0, value_stride = 0;
  bool add_query = false; ///< tiles: the query gradient is added to as well
  bool past = false; ///< they are too many to stay in the caches: written past them where rows are written once
  std::int64_t next_reader = 0, next_readers = 0; ///< columns taken on the way: the readers that come behind them
  Real* middles = nullptr;                            ///< workspace per reader of rows passes, or null without sinks
  Real *arc_weights = nullptr, *arc_slopes = nullptr; ///< per arc, from backward_rows to backward_columns
  Real* arc_exponents = nullptr;                      ///< d loss / d exponent of every arc, for biases; or null
  Real* offset_sums = nullptr; ///< tiles: offset_sums[i - j] collects d loss / d exponent of (i, j); or null
  Real* colour_sums = nullptr; ///< tiles: the same by colour; or null
  Real* arc_alongs = nullptr;  ///< the same for slopes along the read itself (programs)
  Real* row_alongs = nullptr;  ///< slopes along the reader, by arc of the one row that is taken; or null
};

struct TileList {
  std::int64_t first_reader = 0;
  int readers = 0;
  const Segment* segments = nullptr;
  int segment_count = 0;
  std::int64_t shift = 0; ///< reads are segments[..].first + shift, ...
  /// Readers of the tile that probably comes next on this thread: their rows are fetched ahead.
  std::int64_t next_reader = 0;
  int next_readers = 0;
  const ColourSpan* rows = nullptr; ///< of every reader, where biases go by colour; or null
  /// Exact rings: `again` is the second turn of a tile, which takes late segments for the gradients of keys and values
  /// alone; ring > 0: pairs of a vertex with itself and with its antipode among `ring` count half, being met twice.
  bool in_order = false, again = false;
  /// Weights and slopes of the `late_reads` late reads, [2][late_reads][tile_readers], and whether they are there: the first
  /// turn leaves them to the second. Null: that finds them again.
  void* late = nullptr;
  std::uint32_t* late_done = nullptr;
  std::int64_t late_reads = 0;
  std::int64_t other_first = -1, other_last = -1; ///< of other reads that all readers have besides the segments; or -1
  bool writes = false; ///< backward: nobody else adds to the gradients of the tile's reads, which need not be 0 before
  std::int64_t ring = 0;
  /// Exact mode, twins: reads follow each other in one strip and are whole classes (backward: readers too), so that nothing
  /// but the order of sums need change.
  bool in_place = false;
};

/// Biases of the tile come by i - j, where both ways are there. Always inlined: this file is compiled for every set.
template <class Real>
[[nodiscard]] inline __attribute__((always_inline)) bool goes_by_offset(const Head<Real>& head, std::int64_t first, int readers) {
  return head.offset_bias != nullptr && (head.colours == nullptr || first + readers <= head.offset_tokens);
}

/// Who waits for whom when tiles add to the gradients of the same keys: see docs/mixers-speed.md.
struct TurnList {
  const Turn* turns = nullptr; ///< by rising block
  int count = 0;
  std::uint32_t* done = nullptr;       ///< per column block: how many tiles have added
  const std::uint32_t* base = nullptr; ///< per column block, joins the rank (heads that share a key head); or null
  bool hold = false; ///< the tile's blocks do not rise: all are let go at its end
};

/// Which reads of every reader have the largest weights: at most `most`, by rising place in the row's list.
template <class Real> struct Selection {
  std::int64_t most = 0;
  std::int32_t *reads = nullptr, *counts = nullptr; ///< [readers][most], [readers]
  /// Workspace for the longest list: tile_readers rows of `stride` numbers, and `stride` reads. stride: a multiple of
  /// 16, at least 16 above the longest list.
  Real* keys = nullptr;
  std::int32_t* columns = nullptr;
  std::int64_t stride = 0;
};

/// Readers with few reads each: CSR. reads of rows[r] are columns[offsets[r] .. offsets[r + 1]).
struct SparseRows {
  const std::int32_t* rows = nullptr;
  const std::int64_t* offsets = nullptr;
  const std::int32_t* columns = nullptr;
  const std::int32_t* arcs = nullptr; ///< of a list of columns: the arc in the list of rows
  const std::int32_t* ends = nullptr; ///< of a row: where the rows behind it cease to have as many arcs and the same marks
  /// Exact mode, reflections: where a row reads to both sides, 1 at the last arc to the right, where a sum ends and is
  /// kept, 2 at the last one to the left, where both are added up and go on with what stays in place. Else one sum.
  /// Such rows are short, and everything exists. Or null.
  const std::uint8_t* marks = nullptr;
  const std::int32_t* colours = nullptr; ///< of the arcs, where biases go by colour; or null
  /// Exact mode: 1 where the sums of a row have no order and are added up without one (free_sum.hpp); or null.
  const std::uint8_t* free = nullptr;
  std::int64_t longest_free = 0; ///< arcs of the longest of these
  std::int64_t count = 0;        ///< rows
  bool cut = false;              ///< they are pieces of longer ones
};

/// k(x, y) = sum over f of phi_f(x) phi_f(y), phi_f(x) = exp(w_f.x - half |x|^2): Performer, and the exponential sum
/// (one feature, half 0). A row of features is kept as phi 2^-c with the whole exponent c that makes the largest at
/// most 1.
template <class Real> struct FeatureMap {
  const Real* packed = nullptr; ///< w log2(e), by pack_weight
  const Real* rows = nullptr;   ///< w [count][round_up(width, 16)], padded with zeros
  std::int64_t count = 0, width = 0;
  std::int64_t padded = 0;     ///< count rounded up to whole panels
  std::int64_t stride = 0;     ///< between rows of features, at least `padded`
  std::int64_t row_length = 0; ///< of `rows`
  Real half = 0;               ///< 1/2 or 0
};

/// Sums over reads of phi v and of phi, times 2^-exponent. In the backward pass: over readers.
template <class Real> struct LinearState {
  Real* sums = nullptr;   ///< [padded][value_padded]
  Real* totals = nullptr; ///< [padded]
  Real* exponent = nullptr;
};

/// Some of many states that lie side by side.
template <class Real> struct StateList {
  LinearState<Real> states; ///< number `first`; the others follow
  std::int32_t first = 0;
  const std::int32_t* numbers = nullptr;
  int count = 0;
};
inline constexpr int block_reads = 64; ///< reads that share a state where not all are read

/// Readers first .. last - 1, whose rows are the same.
struct ColourGroup {
  std::int64_t first = 0, last = 0;
  std::uint32_t runs_begin = 0, runs_end = 0;
};
enum class Collect { sum, mean, max };
inline constexpr int aggregate_stripe = 16; ///< entries of values whose gradients one task owns at least

/// One head of one batch element of `aggregate`.
template <class Real> struct AggregateHead {
  const ColourGroup* groups = nullptr;
  const ColourRun* runs = nullptr;
  const Real* value = nullptr;
  std::ptrdiff_t value_stride = 0;
  const Real* weight = nullptr; ///< by colour, or null
  std::int64_t width = 0;
  std::int64_t reader_cut_begin = 0, reader_cut_end = 0, read_cut_begin = 0, read_cut_end = 0;
};

inline constexpr int most_ranked = 128;

template <class Real> struct Engine {
  /// longest_free: see SparseRows; of all lists that the workspace serves.
  std::size_t (*workspace_bytes)(std::int64_t width, std::int64_t value_width, std::int64_t longest_free);
  void (*forward_tile)(const Rule<Real>&, const Head<Real>&, const TileList&, void* workspace);
  /// Returns the sum over readers of d out . out times the sink's share of the row.
  Real (*backward_tile)(const Rule<Real>&, const Head<Real>&, const Gradients<Real>&, const TileList&, const TurnList&,
                        void* workspace);
  void (*forward_rows)(const Rule<Real>&, const Head<Real>&, const SparseRows&, std::int64_t begin, std::int64_t end,
                       void* workspace);
  Real (*backward_rows)(const Rule<Real>&, const Head<Real>&, const Gradients<Real>&, const SparseRows&,
                        std::int64_t begin, std::int64_t end, void* workspace);
  /// Key and value gradients of rows[begin .. end) (reads); columns are their readers. Adds, or writes.
  void (*backward_columns)(const Rule<Real>&, const Head<Real>&, const Gradients<Real>&, const SparseRows&,
                           std::int64_t begin, std::int64_t end, bool add, void* workspace);
  /// The reads of a tile's readers, or of readers begin .. end - 1 of a list, that have the largest weights. Weights are
  /// exponentials, or have no exponents.
  void (*select_tile)(const Rule<Real>&, const Head<Real>&, const TileList&, const Selection<Real>&, void* workspace);
  void (*select_rows)(const Rule<Real>&, const Head<Real>&, const SparseRows&, std::int64_t begin, std::int64_t end,
                      const Selection<Real>&, void* workspace);
  /// Features of `count` rows, [row][stride], and their exponents.
  void (*find_features)(const FeatureMap<Real>&, const Real* rows, std::ptrdiff_t stride, Real scale,
                        std::int64_t count, Real* features, Real* exponents, void* workspace);
  /// d loss / d row from d loss / d (features as they are kept); the latter are overwritten.
  void (*feature_gradient)(const FeatureMap<Real>&, const Real* rows, std::ptrdiff_t stride, Real scale,
                           std::int64_t count, const Real* features, Real* gradients, Real* to,
                           std::ptrdiff_t to_stride, bool add, void* workspace);
  std::size_t (*linear_bytes)(const FeatureMap<Real>&, std::int64_t value_width);
  /// The state of reads begin .. end - 1.
  void (*linear_collect)(const FeatureMap<Real>&, const Head<Real>&, std::int64_t begin, std::int64_t end,
                         const LinearState<Real>&, void* workspace);
  /// to = from + to, both as sums; adds nothing where `from` is empty.
  void (*linear_add)(const FeatureMap<Real>&, std::int64_t value_width, const LinearState<Real>& from,
                     const LinearState<Real>& to);
  /// Outputs and statistics of readers begin .. end - 1. causal: the state is that of the tokens before, and goes on.
  void (*linear_forward)(const Rule<Real>&, const FeatureMap<Real>&, const Head<Real>&, bool causal, std::int64_t begin,
                         std::int64_t end, const LinearState<Real>&, void* workspace);
  /// Query gradients, and what the readers send back in `back`; returns the sink's part.
  Real (*linear_backward)(const Rule<Real>&, const FeatureMap<Real>&, const Head<Real>&, const Gradients<Real>&,
                          bool causal, std::int64_t begin, std::int64_t end, const LinearState<Real>& state,
                          const LinearState<Real>& back, void* workspace);
  /// Key and value gradients of reads begin .. end - 1. causal: `back` is that of the tokens behind, and goes on.
  void (*linear_columns)(const Rule<Real>&, const FeatureMap<Real>&, const Head<Real>&, const Gradients<Real>&,
                         bool causal, std::int64_t begin, std::int64_t end, const LinearState<Real>& back, bool add,
                         void* workspace);
  /// Where some reads are met as sums: see linear_blocks.hpp. Queries and keys are rows of features.
  std::size_t (*block_bytes)(const FeatureMap<Real>&, std::int64_t value_width);
  void (*block_sum)(const FeatureMap<Real>&, std::int64_t value_width, const StateList<Real>&,
                     const LinearState<Real>& to);
  void (*block_state)(const FeatureMap<Real>&, const Head<Real>&, std::int64_t begin, std::int64_t end,
                      const LinearState<Real>&, void* workspace);
  void (*block_forward)(const Rule<Real>&, const FeatureMap<Real>&, const Head<Real>&, std::int64_t begin,
                        std::int64_t end, const StateList<Real>&, void* workspace);
  void (*block_queries)(const Rule<Real>&, const FeatureMap<Real>&, const Head<Real>&, const Gradients<Real>&,
                        std::int64_t begin, std::int64_t end, const StateList<Real>&, void* workspace);
  void (*block_readers)(const Rule<Real>&, const FeatureMap<Real>&, const Head<Real>&, const Gradients<Real>&,
                        std::int64_t begin, std::int64_t end, const LinearState<Real>&, void* workspace);
  void (*block_columns)(const FeatureMap<Real>&, const Head<Real>&, const Gradients<Real>&, std::int64_t begin,
                        std::int64_t end, const StateList<Real>&, void* workspace);
  /// Rows of groups begin .. end - 1.
  void (*aggregate_groups)(const AggregateHead<Real>&, Collect, std::int64_t begin, std::int64_t end, Real* out,
                           std::ptrdiff_t out_stride);
  /// Adds the gradients of entries begin .. end - 1 of all values; aggregate_stripe of them go fastest. write: one group,
  /// unweighted sums or means, writes them.
  void (*aggregate_back)(const AggregateHead<Real>&, Collect, std::int64_t groups, const Real* grad,
                         std::ptrdiff_t grad_stride, Real* to, std::ptrdiff_t to_stride, std::int64_t begin,
                         std::int64_t end, bool write);
  /// The same for all entries of reads read_begin .. read_end - 1, weighted sums: fast where neighbouring rows are alike.
  void (*aggregate_back_blocks)(const AggregateHead<Real>&, std::int64_t groups, const Real* grad,
                                std::ptrdiff_t grad_stride, Real* to, std::ptrdiff_t to_stride, std::int64_t read_begin,
                                std::int64_t read_end);
  /// Adds the gradients of the weights of groups begin .. end - 1; `space` holds `width` numbers. own: no weight belongs to
  /// two arcs; then `write` writes.
  void (*aggregate_weights)(const AggregateHead<Real>&, Collect, std::int64_t begin, std::int64_t end, const Real* grad,
                            std::ptrdiff_t grad_stride, bool own, bool write, Real* to, Real* space);
  /// Exact maxima, backward: a row's maxima, and what its reads that attain them get each (has_nan: some read may be NaN).
  void (*share_maxima)(const Real* base, std::ptrdiff_t stride, const std::int32_t* columns, std::int64_t count,
                       std::int64_t width, const Real* grad, bool has_nan, Real* most, Real* share);
  /// What a read gets from its readers, added up in their order (marks: several sums), or without one. terms: space for as
  /// many vectors as there are readers.
  void (*sum_attained)(const Real* value, const Real* most, const Real* share, const std::int32_t* readers,
                       const std::uint8_t* marks, std::int64_t count, std::int64_t width, bool is_free, Real* terms,
                       Real* to, void* workspace);
  std::size_t (*sum_bytes)(std::int64_t width);
  /// to = the sum over a of weights[a] times the row of columns[a], in that order, or as several sums (marks, see
  /// SparseRows). Without an order where is_free: columns null are all, weights null are 1.
  void (*sum_rows)(const Real* base, std::ptrdiff_t stride, std::int64_t width, const std::int32_t* columns,
                   const Real* weights, const std::uint8_t* marks, std::int64_t count, bool is_free, Real* to,
                   void* workspace);
  /// The same for rows begin .. end - 1 of a list that have an order, to row rows[r] of `to`; as exact mode writes it.
  /// ones: as many as the longest row has arcs.
  void (*sum_list)(const Real* base, std::ptrdiff_t stride, std::int64_t width, const SparseRows& list,
                   std::int64_t begin, std::int64_t end, const Real* ones, Real* to, std::ptrdiff_t to_stride);
  /// to [count][width] = f(scale row); d loss / d row from `back`, that of f. numbers: 2 count rows padded.
  void (*map_rows)(const RowMap<Real>&, const Real* rows, std::ptrdiff_t stride, Real scale, std::int64_t count,
                   Real* to, Real* numbers);
  void (*map_back)(const RowMap<Real>&, const Real* rows, std::ptrdiff_t stride, Real scale, std::int64_t count,
                   const Real* back, Real* to, std::ptrdiff_t to_stride, Real* numbers);
  /// Every NaN the same, no -0.
  void (*make_canonical)(Real* row, std::int64_t width);
  void (*add_canonical)(Real* row, const Real* other, std::int64_t width); ///< row + other, as above
  /// The row at `to` once more in each of the `copies` rows behind it, `stride` numbers apart.
  void (*repeat_row)(Real* to, std::ptrdiff_t stride, std::int64_t width, std::int64_t copies);
  /// How many of `count` keys, taken as whole numbers bit by bit, are smaller than each; at most most_ranked keys.
  void (*rank_keys)(const Real* keys, int count, std::int32_t* ranks);
  /// Cosines and sines of the sum of two angles per pair, as rotate_rows wants them.
  void (*add_angles)(const double* a, const double* b, std::int64_t half, double sign, Real* cosines, Real* sines);
  /// Turns the pairs of rows, each with cosines and sines of its own; `to` may be `from`. past: `to` need not stay in the
  /// caches, and as many rows from `soon` on are wanted next.
  void (*rotate_rows)(int count, const Real* from, std::ptrdiff_t stride, const Real* cosines, const Real* sines,
                      std::int64_t width, bool canonical, bool past, const Real* soon, Real* to, std::ptrdiff_t to_stride);
  int panel = 0; ///< columns that pack_weight puts side by side
  /// weight [columns, depth] -> out: round_up(columns, panel) * depth numbers.
  void (*pack_weight)(const Real* weight, std::int64_t depth, std::int64_t columns, Real* out);
  /// out [rows, columns] = in [rows, depth] weight^T + bias (or null).
  void (*multiply_rows)(const Real* in, const Real* packed, const Real* bias, std::int64_t rows, std::int64_t depth,
                        std::int64_t columns, Real* out);
};

} // namespace sightline::mixer::cpu

// Token mixers on raw numbers: what one mixing layer computes between its linear maps, forward and backward.
//
// A mixing layer is: linear maps (q, k, v), one of the operations below, a linear map (o). Only the operations live
// here; linear maps, residuals, norms and feedforwards belong to whoever runs the model. Every operation reads and
// writes [batch, head, token, width] through strides, so that the output of one linear map [batch, token, head * width]
// is read where it lies. Two implementations share this interface: reference/ (slow, obvious) and cpu/ (tiles, SIMD,
// threads).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::mixer {

/// Numbers [batch, head, token, width]; the last index is contiguous, the others have strides in elements.
template <class Real> struct View {
  Real* data = nullptr;
  std::int64_t batch_stride = 0, head_stride = 0, token_stride = 0;
  [[nodiscard]] Real* at(std::int64_t batch, std::int64_t head, std::int64_t token) const {
    return data + batch * batch_stride + head * head_stride + token * token_stride;
  }
};

/// heads / key_heads queries share one key and value head (grouped heads); reads = readers but for Linformer's
/// landmarks.
struct Shape {
  std::int64_t batch = 1, heads = 1, key_heads = 1;
  std::int64_t readers = 0, reads = 0;
  std::int64_t width = 0;       ///< of queries and keys
  std::int64_t value_width = 0; ///< of values and outputs
};

/// Who reads whom, compiled once per layout and used by every call: coloured rows for the reference, tiles for the cpu,
/// and the order of summation that makes exact mode equivariant. Immutable; share it between threads.
/// Colour of an arc = raw colour of layout::Relation minus 1: (matrix colour - 1) * R + relative colour (see Relation).
class Plan;

/// @param heads  one relation for all heads, or one per head. They must have the same vertices.
/// Throws ArgumentError (no relation, different vertices), BudgetExhausted.
[[nodiscard]] std::shared_ptr<const Plan> make_plan(std::span<const layout::Relation> heads, const Budget& budget);
/// Every one of `readers` reads every one of `reads` (Linformer's landmarks). The readers are tokens that `lengths` may
/// cut off, the reads always exist; with pair_colours it is the other way round (landmarks that read all tokens), and
/// the arc from reader r to read j has colour j * readers + r, so that `aggregate` with the weights E [tokens, rank]
/// computes E^T v.
[[nodiscard]] std::shared_ptr<const Plan> make_full_plan(std::int64_t readers, std::int64_t reads,
                                                         bool pair_colours = false);
/// Landmark r reads the tokens listed in blocks[r], of `tokens` (Linformer's fixed mean pooling: aggregate with
/// Aggregation::mean). Throws ArgumentError on a token that does not exist or is listed twice in a block.
[[nodiscard]] std::shared_ptr<const Plan> make_pooling_plan(std::span<const std::vector<std::int64_t>> blocks,
                                                            std::int64_t tokens);
/// Token i reads (i + tap) mod tokens with colour k for the k-th tap; registers read nothing. The taps differ mod
/// tokens.
[[nodiscard]] std::shared_ptr<const Plan> make_convolution_plan(std::int64_t tokens, std::int64_t registers,
                                                                std::span<const std::int64_t> taps,
                                                                const Budget& budget);
/// Number of colours C of a plan: the length of a row of trained biases or weights.
[[nodiscard]] std::int64_t count_colours(const Plan& plan);

enum class Sink { none, one, trained }; ///< what is added to the denominator: 0, 1, e^s
enum class InstructionSet { best, generic, avx2, avx512 };
enum class Implementation { cpu, reference };

/// How an operation is carried out. Same inputs, same instruction set: same bits for every number of threads.
struct Execution {
  Implementation implementation = Implementation::cpu;
  int threads = 1;
  /// f(sX) equals s f(X) bit for bit for every s in the group of the plan's layout, f = outputs and gradients of
  /// queries, keys and values. Every NaN is written as the same quiet NaN and no -0 is written. Costs time; see
  /// SummationOrder in plan.hpp.
  bool exact = false;
  InstructionSet instructions = InstructionSet::best;
};

/// Kernel attention, theory.md (12): out_i = sum_j w_ij v_j / (sum_j w_ij + eps + sink), or the plain sum when not
/// normalised;
///   w_ij = k(scale * q_i, k_j) * exp(bias[head][colour(i,j)] - slope[head] * |i - j|),   j in row i.
/// scale = 1/sqrt(width) for softmax, 1 otherwise (the caller sets it). slopes: ALiBi, tokens only. top_k: the k
/// largest weights of a row count (ties: the smaller index; exact mode: all that tie), the others are 0. An empty row
/// (or one without weight) gives 0. What a row does not read cannot change it, NaN and infinities included. Normalised
/// without sink and eps, factors that all weights of a row share cancel: a bias that is the same number on the whole
/// row is left out, and slopes count distances from the row's nearest token when the row holds no register. (The same
/// function; exact mode needs it, because rows are compared up to what cancels, theory.md 2.5.)
struct AttentionRule {
  attention_kernel::Kernel kernel;
  bool normalised = true;
  Sink sink = Sink::none;
  double eps = 0;
  std::optional<std::int64_t> top_k;
  double scale = 1;
  std::vector<double> slopes; ///< empty, or one per head
};

/// Only `query`, `key`, `value` are required. lengths: per batch element the number of tokens that exist; tokens from
/// there on (registers, vertices >= tokens of the layout, always exist) are neither read nor do they read: their output
/// is 0.
template <class Real> struct AttentionInputs {
  View<const Real> query, key, value;
  const Real* bias = nullptr;            ///< [heads, colours]
  const Real* sink = nullptr;            ///< [heads], Sink::trained: s
  const std::int64_t* lengths = nullptr; ///< [batch]
};

/// What forward leaves for backward is meant for the same implementation's backward of the same call only.
template <class Real> struct AttentionOutputs {
  View<Real> out;
  /// [batch, heads, readers, 2], or null when no backward will follow; rows whose arc_weights are left have none
  Real* statistics = nullptr;
  Real* attention =
      nullptr; ///< optional [batch, heads, readers, reads]: the weights w_ij / denominator (predict --attention)
  /// Optional, count_arc_weights() numbers: the same weights, of the reads of short rows alone, so that backward need not
  /// find them again (the same bits as without). Both passes with it, or both without; with one instruction set.
  Real* arc_weights = nullptr;
};

/// Every gradient is overwritten; null ones are not computed.
template <class Real> struct AttentionGradients {
  View<const Real> out; ///< given: d loss / d out
  View<Real> query, key, value;
  Real* bias = nullptr;
  Real* sink = nullptr;
};

/// Length of AttentionOutputs::arc_weights: at most a tenth of the output's; 0 where forward has none to leave, as with
/// biases, slopes, lengths, sinks and eps. Throws ArgumentError on a shape that is not the plan's.
template <class Real>
[[nodiscard]] std::int64_t count_arc_weights(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                             const Execution& execution);
template <class Real>
void attend(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
            const AttentionOutputs<Real>& out, const Execution& execution);
/// `out` and `statistics` are those of attend() on the same inputs.
template <class Real>
void attend_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                     const AttentionOutputs<Real>& out, const AttentionGradients<Real>& gradients,
                     const Execution& execution);

/// Mixers whose weights do not depend on the tokens: out_i = sum_j c_ij v_j, c_ij = weight[head][colour(i,j)] (1
/// without weights), divided by the length of the row for `mean`; `max`: entrywise maximum (gradient to the first that
/// attains it; exact mode: shared equally). Convolution: a plan with one colour per tap; linear: RelativeKind::pair.
/// Empty rows give 0.
enum class Aggregation { sum, mean, max };

template <class Real> struct AggregateInputs {
  View<const Real> value;
  const Real* weight = nullptr; ///< [heads, colours]
  const std::int64_t* lengths = nullptr;
};

template <class Real>
void aggregate(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
               View<Real> out, const Execution& execution);
/// @param grad_weight  [heads, colours] or null
template <class Real>
void aggregate_backward(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                        View<const Real> grad_out, View<Real> grad_value, Real* grad_weight,
                        const Execution& execution);

/// Rotary positions, applied to queries and keys before attend(): the pair (2p, 2p+1) of token t turns by the angle
/// t / 10000^(2p / width), where t is counted inside its component (Plan::positions in plan.hpp); registers keep still.
/// shape: batch, heads (of these numbers), readers, width (even) count. `out` may be `in`. inverse: turns back, which
/// is also the gradient.
template <class Real>
void rotate(const Plan& plan, const Shape& shape, View<const Real> in, View<Real> out, bool inverse,
            const Execution& execution);

/// out [rows, columns] = in [rows, depth] * weight^T [columns, depth] (+ bias): every row is computed by the same
/// operations whatever the other rows are and however many threads run, so permuting rows permutes the result bit for
/// bit.
template <class Real>
void multiply_rows(const Real* in, const Real* weight, const Real* bias, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns, Real* out, const Execution& execution);

} // namespace sightline::mixer

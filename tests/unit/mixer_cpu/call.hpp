// Attention calls large enough to fill tiles, on random layouts, with strides, batches, grouped heads and lengths.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../instruction_sets.hpp"
#include "../same_bits.hpp"
#include "sightline/mixer/mixer.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer {

using Random = std::mt19937_64;

inline std::int64_t pick(Random& random, std::int64_t from, std::int64_t to) {
  return from + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(to - from + 1));
}
inline bool chance(Random& random, int percent) { return pick(random, 0, 99) < percent; }

/// A layout of about n tokens: dense and sparse ones, global tokens, hubs, blocks of any size, stripes, empty rows.
[[nodiscard]] layout::Pattern draw_pattern(Random& random, std::int64_t n, std::string& name,
                                           std::int64_t registers = 0);

struct Call {
  std::string name;
  std::shared_ptr<const Plan> plan;
  AttentionRule rule;
  Shape shape;
  bool token_major = false; ///< [batch, token, head * width] rather than [batch, head, token, width]
  bool has_bias = false;
  std::vector<std::int64_t> lengths;
  bool keeps_weights = false; ///< forward leaves the weights of arcs to backward
};

[[nodiscard]] Call draw_call(Random& random, std::int64_t largest);
[[nodiscard]] const std::vector<std::string>& fast_kernels();
/// The same call on the full or the causal pattern of n tokens.
void set_full(Call& call, std::int64_t n, bool causal, Random& random);
/// The same call on blocks of `size` tokens, all of which exist.
void set_blocks(Call& call, std::int64_t n, std::int64_t size, std::int64_t width);
/// Rows of many reads that whole tiles share: windows, causal or not, blocks here and there, with a global token, some rows and
/// columns empty.
[[nodiscard]] layout::Pattern draw_long_rows(Random& random, std::int64_t n);
/// The same call on these, without biases; sometimes others for each head.
void set_long_rows(Call& call, std::int64_t n, Random& random);
void set_kernel(Call& call, const std::string& kernel);

/// Numbers of a call: given, then computed.
template <class Real> struct Numbers {
  std::vector<Real> query, key, value, grad_out, bias, sink;
  std::vector<Real> out, statistics, arc_weights, grad_query, grad_key, grad_value, grad_bias, grad_sink;
};

template <class Real> [[nodiscard]] Numbers<Real> draw_numbers(const Call& call, Random& random);
template <class Real> [[nodiscard]] Numbers<double> widen(const Numbers<Real>& from);

/// Forward and backward.
template <class Real> void run(const Call& call, Numbers<Real>& numbers, const Execution& execution);

/// Index of a number [batch, head, token, entry] of `heads` heads.
[[nodiscard]] std::size_t index_of(const Call& call, std::int64_t heads, std::int64_t tokens, std::int64_t width,
                                   std::int64_t batch, std::int64_t head, std::int64_t token);

} // namespace sightline::mixer

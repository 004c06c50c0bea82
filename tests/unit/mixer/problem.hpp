// One call of a token mixer with everything it needs, and random ones on random layouts.
#pragma once

#include <cstdint>
#include <cstring>
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
inline double normal(Random& random) { return std::normal_distribution<double>()(random); }

/// Heads of one layer. `name` says what was drawn.
struct Heads {
  std::string name;
  std::vector<layout::Relation> relations;
};

/// Full, windows, rings, blocks, grids, tori, strides, stars, coloured matrices, random rows, with empty rows,
/// registers and relative colours; at most `largest` tokens. rotary: offset colours on blocks and windows.
[[nodiscard]] Heads draw_heads(Random& random, std::int64_t largest, std::int64_t heads);

/// Which operation, and its parameters but for the numbers.
struct Problem {
  std::string name;
  std::vector<layout::Relation> relations; ///< empty for full and pooling plans
  std::shared_ptr<const Plan> plan;
  bool is_attention = true, rotary = false;
  bool bare = false; ///< forward asks for the output alone, without statistics and weights
  AttentionRule rule;
  Aggregation aggregation = Aggregation::sum;
  Shape shape;
  bool has_bias = false; ///< bias of attention, weights of aggregates
  std::vector<std::int64_t> lengths;
};

/// kernel: one of the names, or an expression.
[[nodiscard]] attention_kernel::Kernel make_kernel(const std::string& name, std::int64_t width, Random& random);
[[nodiscard]] const std::vector<std::string>& all_kernels();
/// A random problem. symmetric: nothing that breaks the layout's symmetry (lengths).
[[nodiscard]] Problem draw_problem(Random& random, std::int64_t largest, bool symmetric);
/// Attention with that kernel on that plan.
[[nodiscard]] Problem draw_attention(Random& random, Heads heads, const std::string& kernel, bool symmetric);

/// Inputs, outputs and gradients, laid out [batch, token, head * width].
template <class Real> struct Numbers {
  std::vector<Real> query, key, value, bias, sink, grad_out;                // given
  std::vector<Real> out, statistics, attention;                             // forward
  std::vector<Real> grad_query, grad_key, grad_value, grad_bias, grad_sink; // backward
};

template <class Real> [[nodiscard]] Numbers<Real> draw_numbers(const Problem& problem, Random& random);
template <class To, class From> [[nodiscard]] Numbers<To> convert(const Numbers<From>& from) {
  const auto cast = [](const std::vector<From>& v) { return std::vector<To>(v.begin(), v.end()); };
  return {cast(from.query), cast(from.key), cast(from.value), cast(from.bias), cast(from.sink), cast(from.grad_out)};
}

template <class Real> void run_forward(const Problem& problem, Numbers<Real>& numbers, const Execution& execution);
/// After run_forward on the same numbers. Everything there is a gradient of.
template <class Real> void run_backward(const Problem& problem, Numbers<Real>& numbers, const Execution& execution);

} // namespace sightline::mixer

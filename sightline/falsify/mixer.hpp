// Mixers under test: attention with a kernel (12), the bias mixer (21), or a shared library (interfaces: `falsify`).
#pragma once

#include <gmpxx.h>

#include <string>
#include <vector>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/falsify/interval.hpp"

namespace sightline::falsify {

using Token = std::vector<mpq_class>;
using Sample = std::vector<Token>;  ///< the tokens of one input, token-major

enum class MixerKind {
  attention,  ///< g(X)_i = W_V sum_j k(W_Q x_i, W_K x_j) x_j, divided by sum_j k when normalised; every token reads every token
  bias,       ///< g(X)_i = a sum_j alpha(w.x_j + b), theory.md 9, E14
  library     ///< a shared library with the C interface
};

struct Mixer {
  MixerKind kind = MixerKind::attention;
  std::string text;  ///< as the user wrote it, without "expr:" or "lib:"
  attention_kernel::Expression expression;  ///< of k (in x, y) or alpha (in t); null for a library
  bool normalised = true;
};

/// From "expr:KERNEL", "expr:ACTIVATION in t" or "lib:FILE.so". A kernel may also be a name (softmax, cauchy, cosine, ...).
/// Throws InputError.
[[nodiscard]] Mixer make_mixer(const std::string& text, bool normalised, std::size_t dim);

/// Parameters at which a mixer is evaluated: attention: W_Q, then W_K, row by row; bias: w, then b; a library: its theta.
/// W_V and a stay free: they multiply what is computed here, so a difference is 0 for all of them or for a null set only.
using Parameters = std::vector<mpq_class>;
[[nodiscard]] std::size_t count_parameters(const Mixer& mixer, std::size_t dim);

/// Value of token i without W_V (attention, d numbers) or without a (bias: one number).
/// Throws Undefined where a denominator may be 0 or a function is not defined.
[[nodiscard]] std::vector<Interval> evaluate(const Mixer& mixer, const Sample& sample, std::size_t i, const Parameters& parameters, long bits,
                                             const Budget& budget);

/// Value of an expression at given entries of x and y (or t), enclosed. Throws Undefined.
[[nodiscard]] Interval evaluate(const attention_kernel::Node& node, const std::vector<Interval>& x, const std::vector<Interval>& y,
                                const Interval& t, long bits);

}  // namespace sightline::falsify

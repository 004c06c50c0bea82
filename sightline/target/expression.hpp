// Functions of a sequence of tokens, and attention scores, as expressions (interfaces 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace sightline::target {

/// What an expression is a function of.
///  sequence: the own token x, reductions over the sequence, n, i, j; value: numbers per token.
///  score:    two tokens x (reader) and y (read); value: one number; no reductions, no indices.
enum class Role { sequence, score };

enum class Op : std::uint8_t {
  number, literal, own_token, read_token, tokens, own_index, read_index,            // leaves
  add, subtract, multiply, divide, power, negate, minimum, maximum,                 // entrywise
  exp, log, sqrt, cosh, sinh, cos, sin, tanh, sigmoid, softplus, relu, elu, abs,    // entrywise
  dot, norm2, norm, component, concat,                                              // between entries (norm2: squared length)
  sum, mean, max, min, attend                                                       // over one axis of tokens
};

/// One value of the program: an array over the token axes in `axes` (bit 0: the own token, bits 1 and 2: the tokens of the
/// outer and the inner reduction) with `width` entries. Operands come before their users.
struct Step {
  Op op = Op::number;
  std::uint8_t axes = 0;
  std::uint8_t axis = 0;            ///< read_token, read_index, reductions: 1 or 2
  std::uint32_t width = 1;
  std::uint32_t index = 0;          ///< component
  double value = 0;                 ///< number
  std::vector<double> entries;      ///< literal
  std::vector<std::uint32_t> operands;
};

/// A parsed expression, written as a list of array operations in which equal subexpressions occur once and everything is
/// computed over no more axes than it depends on: the mean of all tokens inside a sum costs n operations, not n^2.
struct Expression {
  std::vector<Step> steps;          ///< the value is the last step
  std::size_t dim = 0;
  Role role = Role::sequence;
  bool uses_index = false;          ///< i or j occurs: the symmetry of the target is not known beforehand
  [[nodiscard]] std::uint32_t width() const { return steps.back().width; }
};

/// Parses. With `score`, an expression with one attend(score, value) anywhere stands for that score.
/// `y` is the token of the nearest reduction; inside a reduction within a reduction `z` is the token of the inner one and `y`
/// that of the outer one, and where no z is mentioned, y is the inner one's.
/// Throws InputError `character K: expected ..., found ...` (K 1-based; the caller prefixes what is being read).
[[nodiscard]] Expression parse(std::string_view text, Role role, std::size_t dim);

/// The least width of tokens that the indices in the text allow (x[2] needs 3); at least 1. For callers without --dim.
[[nodiscard]] std::size_t least_dim(std::string_view text);

/// Evaluates a `sequence` expression on `count` sequences of n tokens, x as [count][n][dim] into out [count][n][width].
/// Vectorised over sequences; O(steps * n^axes) time, at most about 64 MB of memory at a time.
void evaluate(const Expression& expression, std::size_t tokens, std::size_t count, const double* x, double* out);

/// The value of one token of each sequence, own[s] in 0..n-1: out [count][width]. n times cheaper than all of them.
void evaluate_at(const Expression& expression, std::size_t tokens, std::size_t count, const double* x, const std::uint32_t* own, double* out);

/// Evaluates a `score` expression on pairs: x and y as [dim][count] (entry by entry), out [count].
void evaluate_pairs(const Expression& expression, std::size_t count, const double* x, const double* y, double* out);
/// The same for all pairs of x [dim][readers] and y [dim][reads], out [reader][read], the same bits: what depends on one of the two alone is computed once for
/// it, and not for every pair (a sum of r products of sines takes r (readers + reads) sines).
void evaluate_grid(const Expression& expression, std::size_t readers, const double* x, std::size_t reads, const double* y, double* out);

}  // namespace sightline::target

// Expressions of the architecture file: kernels in x and y, activations in t (format.md, "Expressions").
#pragma once

#include <gmpxx.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::attention_kernel {

/// A node of a parsed expression. Numbers are exact rationals ("0.1" is 1/10, "1e-6" is 1/1000000).
struct Node;
using Expression = std::shared_ptr<const Node>;

enum class Op {
  number, literal_vector, variable,            // value; vector; name = x | y | t
  add, subtract, multiply, divide, power, negate,
  dot, norm2, norm,                            // vectors -> scalar
  exp, log, sqrt, cosh, sinh, cos, sin, tanh, sigmoid, softplus, relu, elu, abs
};

struct Node {
  Op op = Op::number;
  mpq_class value;                 ///< number
  std::vector<mpq_class> vector;   ///< literal_vector
  char name = 0;                   ///< variable
  std::vector<Expression> children;
  bool is_vector = false;          ///< type: vector (of `dim` entries) or scalar
};

enum class Role { kernel, activation };  ///< kernel: variables x, y are vectors, value a scalar; activation: t is a scalar

/// Parses. Throws InputError `character K: expected ..., found ...` (K 1-based; no file name: the caller prefixes it).
/// @param dim  number of entries that literal vectors must have (0: any)
[[nodiscard]] Expression parse_expression(std::string_view text, Role role, std::size_t dim);
[[nodiscard]] std::string print_expression(const Expression& expression);

}  // namespace sightline::attention_kernel

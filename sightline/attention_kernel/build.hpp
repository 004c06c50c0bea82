// Building expressions in code: what the parser and the named kernels share.
#pragma once

#include <string_view>
#include <utility>

#include "sightline/attention_kernel/expression.hpp"

namespace sightline::attention_kernel {

/// The functions of format.md with their spelling, in the order in which they are suggested.
[[nodiscard]] const std::vector<std::pair<Op, std::string_view>>& function_names();

/// value >= 0 as parsed; a negative value gets a `negate` above it and a value without a finite decimal form becomes a
/// quotient, so that what is printed parses back to the same tree.
[[nodiscard]] Expression make_number(const mpq_class& value);
[[nodiscard]] Expression make_vector(std::vector<mpq_class> entries);
[[nodiscard]] Expression make_variable(char name);

/// Sets the type: dot, norm2 and norm give scalars, everything else is a vector when a child is.
[[nodiscard]] Expression make_node(Op op, std::vector<Expression> children);

/// Sum or product as a balanced tree (height log2 of the number of parts); at least one part.
[[nodiscard]] Expression make_balanced(Op op, std::vector<Expression> parts);

/// Same tree: operation, value, children.
[[nodiscard]] bool equal(const Expression& a, const Expression& b);

/// True when the expression mentions no variable.
[[nodiscard]] bool is_constant(const Expression& expression);

}  // namespace sightline::attention_kernel

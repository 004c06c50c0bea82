// What the shape of an expression proves: ranges, regularity, parity, homogeneity. Every "yes" is a proof; nothing
// here ever says "no".
#pragma once

#include <optional>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::attention_kernel {

/// An interval that contains every value (of every entry, for vectors). Ends may be infinite; rounding is outward.
struct Range {
  double low, high;
  bool low_open = true, high_open = true;  ///< the end itself is not taken
  [[nodiscard]] bool positive() const { return low > 0 || (low == 0 && low_open); }
  [[nodiscard]] bool negative() const { return high < 0 || (high == 0 && high_open); }
  [[nodiscard]] bool nonnegative() const { return low >= 0; }
};

/// @param dim  number of entries of x and y
[[nodiscard]] Range compute_range(const Node& node, std::size_t dim);

/// > 0 for all tokens: by range, or because the expression is a positive polynomial of degree <= 2 times positive things.
[[nodiscard]] bool proves_positive(const Expression& expression, std::size_t dim, const Budget& budget);

struct Regularity {
  bool defined = true;     ///< everywhere
  bool continuous = true;  ///< everywhere
  bool analytic = true;    ///< everywhere
};
[[nodiscard]] Regularity compute_regularity(const Expression& expression, std::size_t dim, const Budget& budget);

/// +1 or -1 when the expression is multiplied by it under x -> x_sign x, y -> y_sign y (t -> x_sign t).
[[nodiscard]] std::optional<int> find_parity(const Node& node, int x_sign, int y_sign);

/// r with value(a^i x, a^j y) = a^r value(x, y) for all a > 0, for x_degree = i, y_degree = j (t scales with i).
[[nodiscard]] std::optional<mpq_class> find_homogeneity(const Node& node, const mpq_class& x_degree, const mpq_class& y_degree);

/// The value of an expression without variables when it is rational and no function is involved.
[[nodiscard]] std::optional<mpq_class> find_rational(const Node& node);

/// True when the kernel depends on x and y through dot(x,y), norm2(x), norm2(y) only: no literal vector, nothing entrywise.
[[nodiscard]] bool is_isotropic(const Node& node);

/// True when the expression mentions the variable.
[[nodiscard]] bool mentions(const Node& node, char variable);

}  // namespace sightline::attention_kernel

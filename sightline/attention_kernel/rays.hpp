// Failures of condition (13) for kernels without a normal form, and points where a function is not analytic: proofs by
// asymptotic expansions along rays and curves with rational data.
#pragma once

#include "sightline/attention_kernel/condition13.hpp"
#include "sightline/attention_kernel/expression.hpp"
#include "sightline/attention_kernel/series.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::attention_kernel {

/// Fixed "random" integers: the same answer on every machine and in every run.
class FixedRandom {
public:
  explicit FixedRandom(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] long integer(long low, long high);  ///< inclusive
  [[nodiscard]] std::vector<mpq_class> rational_vector(std::size_t dim);  ///< entries with 4-digit parts, none 0
  /// Integers, none 0, whose Euclidean length is an integer too (stereographic projection): norms stay rational.
  [[nodiscard]] std::vector<mpq_class> vector_of_whole_length(std::size_t dim, long size);

private:
  std::uint64_t state_;
};

/// Looks for (13) failing at a generic query with small integer entries: directions v, w (not parallel), or v and lambda v, along which the kernel
/// grows at the same rate, so that the ratio tends to a finite nonzero number. Two generic directions agree only when
/// an open set of them does. Never returns `holds`.
[[nodiscard]] Finding find_failing_rays(const Expression& kernel, std::size_t dim, const Budget& budget);

/// True when k(x, t v) is a uniformly almost periodic function of t for every v and x: sums, products and continuous
/// functions of cosines of affine functions of y. Such a function tends to 0 only if it vanishes identically, so no
/// ratio of two of them tends to 0 or infinity.
[[nodiscard]] bool is_almost_periodic(const Expression& expression);

enum class Smoothness { unknown, not_analytic, not_continuous };

/// Compares the expansions on both sides of a few points (y = x, y = 0, x = 0, x = y = 0, x.y = 0; t = 0 and other
/// points for activations). A difference is a proof.
/// @param continuous  known to be continuous: the search stops at the first point without analyticity
[[nodiscard]] Smoothness find_rough_point(const Expression& expression, Role role, std::size_t dim, bool continuous, const Budget& budget);

/// The value at a point as a series with at most a constant term. Throws OutOfScope where it is undefined.
[[nodiscard]] Series expand_at(const Expression& expression, const std::vector<mpq_class>& x, const std::vector<mpq_class>& y, const Budget& budget);

/// Sign of the exact value at a point: -1, 0, 1; nothing when it is undefined there or too close to call.
[[nodiscard]] std::optional<int> find_sign_at(const Expression& expression, const std::vector<mpq_class>& x, const std::vector<mpq_class>& y, const Budget& budget);

}  // namespace sightline::attention_kernel

// The functions of format.md on asymptotic expansions; shared by series.cpp and series_functions.cpp only.
#pragma once

#include "sightline/attention_kernel/series.hpp"

namespace sightline::attention_kernel {

/// Terms kept; Matern 5/2 shows its kink in the fifth order, so a dozen leaves room.
inline constexpr std::size_t series_length = 12;

[[nodiscard]] Coefficient operator+(const Coefficient& a, const Coefficient& b);
[[nodiscard]] Coefficient operator*(const Coefficient& a, const Coefficient& b);
[[nodiscard]] Coefficient raise(const Coefficient& a, const mpq_class& exponent);

[[nodiscard]] Series scale(const Series& a, const Coefficient& factor);
[[nodiscard]] Series shift(const Series& a, const Scale& by);

/// Sum of all, sorted once.
[[nodiscard]] Series sum_of(const std::vector<Series>& parts);
/// f^exponent; a root needs a positive leading coefficient.
[[nodiscard]] Series raise(const Series& f, const mpq_class& exponent);
/// exp, log, cosh, ... of format.md; `op` is one of the scalar functions.
[[nodiscard]] Series apply(Op op, const Series& f);

}  // namespace sightline::attention_kernel

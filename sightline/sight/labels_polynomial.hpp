// Common factors of small integer polynomials in one variable, exactly: what an ALiBi row forgets (theory.md 15.4, L5).
#pragma once

#include <cstdint>
#include <vector>

namespace sightline::sight {

/// Entry c is the coefficient of z^c; no trailing zeros, empty = 0.
using Polynomial = std::vector<std::int64_t>;

/// Divides every member by the greatest common divisor of the family in Z[z], integer content included, leading coefficient
/// positive. Two families with non-negative coefficients are proportional over Q(z) iff the results are equal.
///
/// The divisor is found modulo a 61-bit prime, lifted to Z and checked by exact division; the degree modulo p is never below
/// the true one, so a candidate that divides everything is the divisor. A prime that fails divides a resultant of the
/// family (for 0/1 coefficients of degree below 15 none is large enough) and the next one is tried; InternalError if all
/// nine of them fail. Coefficients must stay below 2^20 and degrees below 32 (ArgumentError): then all factors have
/// coefficients below 2^54 (Mignotte), so the lift is unique.
void divide_by_common_factor(std::vector<Polynomial>& family);

}  // namespace sightline::sight

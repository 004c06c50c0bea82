// Recognition of full symmetric and alternating groups without a stabiliser chain.
#pragma once

#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/chain.hpp"

namespace sightline::group {

enum class Giant { neither, alternating, symmetric };

/// `alternating` and `symmetric` are proved, `neither` means that nothing was proved. Jordan: a primitive group of degree
/// n with a p-cycle, p prime, p <= n - 3, contains A_n. A transitive group with a p-cycle, p > n/2, is primitive: the
/// cycle cannot move blocks (there are at most n/2 < p of them), so it lies in one block, which is then everything.
/// Random elements are tried; about one in log n of the elements of A_n serves.
[[nodiscard]] Giant recognise_giant(Point degree, const std::vector<Images>& generators, const Budget& budget);

[[nodiscard]] bool is_even(const Images& permutation);

/// The permutation of 0..degree-1 with from[k] -> to[k], the missing points matched in increasing order.
[[nodiscard]] Images complete_map(Point degree, const std::vector<Point>& from, const std::vector<Point>& to);

}  // namespace sightline::group

// Orbits that are copies of one another: the group acts on all of them as on one.
#pragma once

#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/permutation.hpp"

namespace sightline::group {

/// base[x]: the point that stands for x. For every orbit O that is a copy, x -> base[x] is a bijection of O onto a kept
/// orbit with base[g x] = g base[x] for every generator g; kept points have base[x] = x. The group therefore acts
/// faithfully on the kept points, and an element is determined on the copies by what it does there.
struct Fold {
  std::vector<Point> base;
  std::vector<Point> orbit;  ///< least point of the orbit of x
  bool any = false;          ///< some orbit is a copy
};

/// Copies are looked for among orbits of equal size, by points that exactly the same generators move, then proved by
/// walking the orbit. Gives up (with fewer copies, never wrong ones) after about 10^8 steps.
[[nodiscard]] Fold find_fold(Point degree, const std::vector<Permutation>& generators, const Budget& budget);

}  // namespace sightline::group

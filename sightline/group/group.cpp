#include "sightline/group/group.hpp"

#include <numeric>

namespace sightline::group {

Group make_trivial_group(Point degree) {
  Group group;
  group.degree = degree;
  group.orbit.resize(degree);
  std::iota(group.orbit.begin(), group.orbit.end(), Point{0});
  return group;
}

Group make_symmetric_group(Point degree) {
  Group group = make_trivial_group(degree);
  if (degree < 2) return group;
  group.symmetric_classes.push_back(group.orbit);
  group.orbit.assign(degree, 0);
  group.order.multiply_factorial(degree);
  return group;
}

}  // namespace sightline::group

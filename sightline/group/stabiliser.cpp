#include <algorithm>
#include <iterator>
#include <tuple>

#include "sightline/base/error.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

Group make_stabiliser(const Group& group, Point point, const Budget& budget) {
  constexpr Point most_points = 512;
  if (std::count(group.orbit.begin(), group.orbit.end(), group.orbit[point]) == 1) return group;
  const auto holds = [point](const std::vector<Point>& members) { return std::binary_search(members.begin(), members.end(), point); };
  const auto own = std::find_if(group.symmetric_classes.begin(), group.symmetric_classes.end(), holds);
  const bool class_alone = own != group.symmetric_classes.end() && std::all_of(group.generators.begin(), group.generators.end(), [&](const Permutation& g) {
    return std::all_of(own->begin(), own->end(), [&](Point x) { return g(x) == x; });
  });
  if (class_alone) {
    std::vector<Group> parts{make_group(group.degree, group.generators, budget)};
    for (const std::vector<Point>& members : group.symmetric_classes) {
      Group part = make_trivial_group(group.degree);
      std::vector<Point> kept;
      std::copy_if(members.begin(), members.end(), std::back_inserter(kept), [point](Point x) { return x != point; });
      for (std::size_t k = 1; k < kept.size(); ++k) part.generators.push_back(Permutation::transposition(kept[k - 1], kept[k]));
      parts.push_back(make_group(group.degree, std::move(part.generators), budget));
    }
    return make_join(parts, budget);
  }
  if (group.degree > most_points) throw OutOfReach("the stabiliser of a token in the target group is computed on at most 512 tokens");
  const std::vector<Permutation> generators = list_generators(group, ~std::size_t{0});
  std::vector<Permutation> carry(group.degree), fixing;  // carry[p](point) = p for p in the orbit
  std::vector<bool> reached(group.degree, false);
  std::vector<Point> orbit{point};
  reached[point] = true;
  for (std::size_t k = 0; k < orbit.size(); ++k) {
    for (const Permutation& g : generators) {
      budget.poll();
      const Permutation product = g.after(carry[orbit[k]]);
      const Point p = product(point);
      if (!reached[p]) {
        reached[p] = true;
        carry[p] = product;
        orbit.push_back(p);
        continue;
      }
      Permutation back = carry[p].inverse().after(product);
      if (!back.is_identity()) fixing.push_back(std::move(back));
    }
  }
  const auto by_support = [](const Permutation& a, const Permutation& b) { return std::tie(a.moved(), a.image()) < std::tie(b.moved(), b.image()); };
  std::sort(fixing.begin(), fixing.end(), by_support);
  fixing.erase(std::unique(fixing.begin(), fixing.end()), fixing.end());
  return make_group(group.degree, std::move(fixing), budget);
}

}  // namespace sightline::group

#include <algorithm>
#include <iterator>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

namespace {

/// Who leads from a point of G to each point of its orbit: a breadth-first tree by generators and their inverses. O(orbit) memory.
class OrbitTree {
public:
  OrbitTree(const Group& group, Point root, const Budget& budget) : degree_(group.degree), from_(group.degree, none) {
    for (const std::vector<Point>& members : group.symmetric_classes) {  // a cycle and a transposition generate Sym(members)
      std::vector<Point> next(members.begin() + 1, members.end());
      next.push_back(members[0]);
      generators_.push_back(Permutation::from_support(members, std::move(next)));
      if (members.size() > 2) generators_.push_back(Permutation::transposition(members[0], members[1]));
    }
    generators_.insert(generators_.end(), group.generators.begin(), group.generators.end());
    for (const Permutation& g : generators_) inverses_.push_back(g.inverse());
    from_[root] = root;
    orbit_.push_back(root);
    by_.assign(group.degree, {0, false});
    for (std::size_t k = 0; k < orbit_.size(); ++k) {
      budget.poll();
      budget.take_steps(generators_.size());
      for (std::uint32_t g = 0; g < generators_.size(); ++g) {
        for (const bool back : {false, true}) {
          const Point x = (back ? inverses_ : generators_)[g](orbit_[k]);
          if (from_[x] != none) continue;
          from_[x] = orbit_[k];
          by_[x] = {g, back};
          orbit_.push_back(x);
        }
      }
    }
  }

  [[nodiscard]] const std::vector<Point>& orbit() const { return orbit_; }
  [[nodiscard]] const std::vector<Permutation>& generators() const { return generators_; }

  /// The element of the tree that maps the root to x, as images.
  [[nodiscard]] std::vector<Point> carry(Point x, const Budget& budget) const {
    std::vector<std::pair<std::uint32_t, bool>> word;
    for (; from_[x] != x; x = from_[x]) word.push_back(by_[x]);
    std::vector<Point> images(degree_);
    std::iota(images.begin(), images.end(), Point{0});
    for (auto letter = word.rbegin(); letter != word.rend(); ++letter) {
      budget.poll();
      budget.take_steps(degree_);
      const Permutation& g = (letter->second ? inverses_ : generators_)[letter->first];
      for (Point& y : images) y = g(y);
    }
    return images;
  }

private:
  static constexpr Point none = ~Point{0};
  Point degree_;
  std::vector<Permutation> generators_, inverses_;
  std::vector<Point> from_;                            ///< by point: the parent; the root's own; none outside of the orbit
  std::vector<std::pair<std::uint32_t, bool>> by_;     ///< by point: the generator that leads here from there, turned round or not
  std::vector<Point> orbit_;
};

}  // namespace

Group make_stabiliser(const Group& group, Point point, const Budget& budget) {
  const auto orbit = static_cast<unsigned long>(std::count(group.orbit.begin(), group.orbit.end(), group.orbit[point]));
  if (orbit == 1) return group;
  // What fixes the point for certain; mostly it is all there is, as the orders show.
  std::vector<Permutation> fixing;
  for (const std::vector<Point>& members : group.symmetric_classes) {
    std::vector<Point> kept;
    std::copy_if(members.begin(), members.end(), std::back_inserter(kept), [point](Point x) { return x != point; });
    for (std::size_t k = 1; k < kept.size(); ++k) fixing.push_back(Permutation::transposition(kept[k - 1], kept[k]));
  }
  std::copy_if(group.generators.begin(), group.generators.end(), std::back_inserter(fixing), [point](const Permutation& g) { return g(point) == point; });
  Group found = make_group(group.degree, std::move(fixing), budget);
  const auto is_all = [&] {
    Order order = found.order;
    order.multiply(mpz_class(orbit));
    return order == group.order;
  };
  if (is_all()) return found;
  constexpr std::uint64_t most_steps = 4'000'000'000;
  std::uint64_t steps = most_steps;
  Budget counted(budget);
  counted.steps_left = &steps;
  const OrbitTree tree(group, point, counted);
  for (const Point x : tree.orbit()) {
    const std::vector<Point> there = tree.carry(x, counted);
    for (const Permutation& g : tree.generators()) {
      counted.take_steps(group.degree);
      std::vector<Point> back(group.degree), images(group.degree);
      const std::vector<Point> image = tree.carry(g(x), counted);
      for (Point y = 0; y < group.degree; ++y) back[image[y]] = y;
      for (Point y = 0; y < group.degree; ++y) images[y] = back[g(there[y])];
      Permutation element = Permutation::from_images(images);
      if (element.is_identity() || Membership(found, budget).contains(element)) continue;
      found = make_join({found, make_group(group.degree, {std::move(element)}, budget)}, budget);
      if (is_all()) return found;
    }
  }
  throw InternalError("Schreier's lemma gave less than the stabiliser");
}

}  // namespace sightline::group

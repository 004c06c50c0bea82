// The subgroup of a group that fixes a point: all of it, as orders and orbits show (|G| = |orbit| |stabiliser|).
#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>

#include "group.hpp"
#include "poll.hpp"

namespace checker {

namespace {

using Images = std::vector<Vertex>;

/// Leads from a point to all others of its orbit, by generators and their inverses.
class Tree {
public:
  Tree(const std::vector<Permutation>& generators, Vertex degree, Vertex root) : from_(degree, degree), by_(degree) {
    for (const Permutation& g : generators) {
      std::vector<std::pair<Vertex, Vertex>> back;
      for (const auto& [x, image] : g.moves()) back.emplace_back(image, x);
      std::ranges::sort(back);
      letters_.push_back(g);
      letters_.emplace_back(std::move(back));
    }
    from_[root] = root;
    orbit_.push_back(root);
    for (std::size_t k = 0; k < orbit_.size(); ++k) {
      count(letters_.size());
      for (std::size_t letter = 0; letter < letters_.size(); ++letter) {
        const Vertex x = letters_[letter](orbit_[k]);
        if (from_[x] != degree) continue;
        from_[x] = orbit_[k];
        by_[x] = letter;
        orbit_.push_back(x);
      }
    }
  }

  [[nodiscard]] const std::vector<Vertex>& orbit() const { return orbit_; }

  /// Of the element of the tree that maps the root to x.
  [[nodiscard]] Images carry(Vertex x) {
    std::vector<std::size_t> word;
    for (; from_[x] != x; x = from_[x]) word.push_back(by_[x]);
    Images images(from_.size());
    std::iota(images.begin(), images.end(), Vertex{0});
    for (auto letter = word.rbegin(); letter != word.rend(); ++letter) {
      count(images.size());
      for (Vertex& y : images) y = letters_[*letter](y);
    }
    return images;
  }

  void count(std::uint64_t steps) {
    constexpr std::uint64_t most_steps = 20'000'000'000u;
    poll();
    if ((steps_ += steps) > most_steps) throw Rejected("limit", "the stabiliser of a token needs more than 2 10^10 steps to be confirmed");
  }

private:
  Images from_;
  std::vector<std::size_t> by_;
  std::vector<Permutation> letters_;  ///< generators, each in front of its inverse
  std::vector<Vertex> orbit_;
  std::uint64_t steps_ = 0;
};

}  // namespace

Group fix_point(const Group& group, Vertex point) {
  const std::vector<Vertex> orbit_of = orbits(group);
  const auto orbit = static_cast<std::uint64_t>(std::ranges::count(orbit_of, orbit_of[point]));
  if (orbit == 1) return group;
  Group found{group.degree, {}, {}};
  for (const std::vector<Vertex>& members : group.classes) {
    std::vector<Vertex> kept;
    std::ranges::copy_if(members, std::back_inserter(kept), [point](Vertex x) { return x != point; });
    if (kept.size() >= 2) found.classes.push_back(std::move(kept));
  }
  std::ranges::copy_if(group.generators, std::back_inserter(found.generators), [point](const Permutation& g) { return g(point) == point && !g.is_identity(); });
  const Order whole = group.order ? *group.order : Chain(group).order();
  const auto is_all = [&](const Chain& chain) {
    Order order = chain.order();
    order.multiply(orbit);
    return same_order(order, whole);
  };
  auto chain = std::make_unique<Chain>(found);
  if (is_all(*chain)) return found;
  const std::vector<Permutation> generators = few_generators(group);
  Tree tree(generators, group.degree, point);
  for (const Vertex x : tree.orbit()) {
    const Images there = tree.carry(x);
    for (const Permutation& g : generators) {
      const Images image = tree.carry(g(x));
      Images back(group.degree);
      for (Vertex y = 0; y < group.degree; ++y) back[image[y]] = y;
      std::vector<std::pair<Vertex, Vertex>> moves;
      for (Vertex y = 0; y < group.degree; ++y) {
        if (const Vertex to = back[g(there[y])]; to != y) moves.emplace_back(y, to);
      }
      tree.count(group.degree);
      Permutation element(std::move(moves));
      if (element.is_identity() || chain->contains(element)) continue;
      found.generators.push_back(std::move(element));
      chain = std::make_unique<Chain>(found);
      if (is_all(*chain)) return found;
    }
  }
  return found;  // Schreier's lemma: these generate it all
}

}  // namespace checker

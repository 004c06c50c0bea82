#include "copies.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "field.hpp"
#include "poll.hpp"

namespace checker {

namespace {

constexpr std::uint64_t most_tries = 64;  ///< steps of all proposals together, for each point and move

/// What the generators' cycles through a point say of it: alike for a point and its copy. Only a proposal: equal sums show nothing.
std::vector<std::uint64_t> describe_points(const Group& group) {
  std::vector<std::uint64_t> description(group.degree, 0);
  std::vector<Vertex> cycle;
  for (std::size_t g = 0; g < group.generators.size(); ++g) {
    std::vector<bool> done(group.degree, false);
    for (const auto& [first, second] : group.generators[g].moves()) {
      if (done[first]) continue;
      cycle.clear();
      for (Vertex x = first; !done[x]; x = group.generators[g](x)) {
        done[x] = true;
        cycle.push_back(x);
      }
      for (const Vertex x : cycle) description[x] += mix(mix(g + 1) + cycle.size());
    }
    poll();
  }
  return description;
}

/// The points of one orbit in the order in which the generators reach them from `points[0]`: points[k] is generators[from[k].second] of points[from[k].first].
struct Walk {
  std::vector<Vertex> points;
  std::vector<std::pair<std::size_t, std::size_t>> from;
};

class Finder {
public:
  explicit Finder(const Group& group) : group_(group), orbit(orbits(group)), image(group.degree, none), description_(describe_points(group)) {
    std::uint64_t moves = 0;
    for (const Permutation& g : group.generators) moves += g.moves().size();
    steps_left_ = most_tries * (moves + group.degree);
    begin_.assign(std::size_t{group.degree} + 1, 0);
    for (const Permutation& g : group.generators) {
      for (const auto& [x, y] : g.moves()) ++begin_[std::size_t{x} + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    if (moves > 8 * std::uint64_t{group.degree}) return;  // few generators that move much: asked one by one
    movers_.resize(moves);
    std::vector<std::size_t> at(begin_.begin(), begin_.end() - 1);
    for (std::uint32_t g = 0; g < group.generators.size(); ++g) {
      for (const auto& [x, y] : group.generators[g].moves()) movers_[at[x]++] = g;
    }
  }

  /// image[x] for the points of the kept orbit that a is in and its copies: calls take(copy's point, kept point) for every point of a copy.
  template <class Take> void visit_copies(const Take& take) {
    std::vector<bool> in_class(group_.degree, false);  // the symmetric group of a class moves nothing else
    for (const auto& members : group_.classes) {
      for (const Vertex x : members) in_class[orbit[x]] = true;
    }
    std::map<Vertex, std::vector<Vertex>> members;
    for (Vertex x = 0; x < group_.degree; ++x) {
      if (!in_class[orbit[x]]) members[orbit[x]].push_back(x);
    }
    std::map<std::pair<std::size_t, std::uint64_t>, std::vector<Vertex>> alike;  // orbits by size and descriptions
    for (const auto& [least, points] : members) {
      std::uint64_t sum = 0;
      for (const Vertex x : points) sum += mix(description_[x]);
      if (points.size() > 1) alike[{points.size(), sum}].push_back(least);
    }
    for (const auto& [key, leasts] : alike) {
      std::vector<Walk> kept;
      for (const Vertex least : leasts) {
        const auto copied = std::find_if(kept.begin(), kept.end(), [&](const Walk& walk) { return is_copy(walk, members[least]); });
        if (copied == kept.end()) {
          if (leasts.size() > 1) kept.push_back(walk_from_rarest(members[least]));
        } else {
          for (const Vertex x : copied->points) take(image[x], x);
        }
      }
    }
  }

  const Group& group_;
  std::vector<Vertex> orbit, image;

private:
  /// From a point of whose kind there are few: so many points of another orbit have to be tried.
  Walk walk_from_rarest(const std::vector<Vertex>& points) {
    std::map<std::uint64_t, std::pair<std::size_t, Vertex>> kinds;
    for (const Vertex x : points) ++kinds.try_emplace(description_[x], 0, x).first->second.first;
    std::pair<std::size_t, Vertex> rarest{none, none};
    for (const auto& [kind, count_and_first] : kinds) rarest = std::min(rarest, count_and_first);
    Walk walk{{rarest.second}, {{0, 0}}};
    std::vector<bool> reached(group_.degree, false);
    reached[rarest.second] = true;
    for (std::size_t head = 0; head < walk.points.size(); ++head) {
      for_each_mover(walk.points[head], [&](std::size_t g) {
        const Vertex y = group_.generators[g](walk.points[head]);
        if (reached[y]) return true;
        reached[y] = true;
        walk.points.push_back(y);
        walk.from.emplace_back(head, g);
        return true;
      });
    }
    return walk;
  }

  /// image[x] is the copy of x then.
  bool is_copy(const Walk& walk, const std::vector<Vertex>& points) {
    for (const Vertex b : points) {
      if (description_[b] == description_[walk.points[0]] && commutes(walk, b)) return true;
    }
    return false;
  }

  bool commutes(const Walk& walk, Vertex b) {
    image[walk.points[0]] = b;
    for (std::size_t k = 0; k < walk.points.size(); ++k) {
      const Vertex x = walk.points[k];
      if (k > 0) image[x] = group_.generators[walk.from[k].second](image[walk.points[walk.from[k].first]]);
      if (steps_left_ == 0 || description_[x] != description_[image[x]]) return false;
      --steps_left_;
    }
    for (const Vertex x : walk.points) {
      if (count_movers(x) != count_movers(image[x])) return false;  // whoever moves x moves its image: then nobody else does
      const bool agrees = for_each_mover(x, [&](std::size_t k) {
        const Permutation& g = group_.generators[k];
        if (steps_left_ == 0 || g(image[x]) == image[x] || image[g(x)] != g(image[x])) return false;
        --steps_left_;
        return true;
      });
      if (!agrees) return false;
    }
    poll();
    return true;  // onto, since b's orbit is; and of the same size
  }

  [[nodiscard]] std::size_t count_movers(Vertex x) const { return begin_[std::size_t{x} + 1] - begin_[x]; }
  /// use(g) for the generators that move x, ascending, until it says false. Did it never?
  template <class Use> bool for_each_mover(Vertex x, const Use& use) const {
    if (!movers_.empty()) return std::all_of(movers_.begin() + static_cast<std::ptrdiff_t>(begin_[x]), movers_.begin() + static_cast<std::ptrdiff_t>(begin_[std::size_t{x} + 1]), use);
    for (std::size_t g = 0; g < group_.generators.size(); ++g) {
      if (group_.generators[g](x) != x && !use(g)) return false;
    }
    return true;
  }

  std::vector<std::uint64_t> description_;
  std::uint64_t steps_left_ = 0;
  std::vector<std::size_t> begin_;      ///< by point: how many generators move those before
  std::vector<std::uint32_t> movers_;   ///< by point: the generators that move it; empty where they are asked one by one
};

}  // namespace

std::optional<Copies> Copies::find(const Group& group) {
  if (group.generators.empty()) return std::nullopt;
  Copies result;
  std::vector<Vertex> original(group.degree, none);
  result.copy_.assign(group.degree, false);
  Finder finder(group);
  bool found = false;
  finder.visit_copies([&](Vertex copy, Vertex kept) {
    original[copy] = kept;
    result.copy_[copy] = found = true;
  });
  if (!found) return std::nullopt;
  result.orbit_ = std::move(finder.orbit);
  result.same_.assign(group.degree, none);
  for (Vertex x = 0; x < group.degree; ++x) {
    if (!result.copy_[x]) result.same_[x] = result.folded_.degree++;
  }
  for (Vertex x = 0; x < group.degree; ++x) {
    if (result.copy_[x]) result.same_[x] = result.same_[original[x]];
  }
  result.folded_.classes = group.classes;
  for (auto& members : result.folded_.classes) {
    for (Vertex& x : members) x = result.same_[x];
  }
  for (const Permutation& g : group.generators) {
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (const auto& [x, y] : g.moves()) {
      if (!result.copy_[x]) moves.emplace_back(result.same_[x], result.same_[y]);
    }
    result.folded_.generators.emplace_back(std::move(moves));
  }
  return result;
}

std::optional<Permutation> Copies::fold(const Permutation& permutation) const {
  if (!permutation.moves().empty() && permutation.moves().back().first >= orbit_.size()) return std::nullopt;
  std::vector<std::pair<Vertex, Vertex>> moves;
  for (const auto& [x, y] : permutation.moves()) {
    if (orbit_[x] != orbit_[y]) return std::nullopt;
    if (!copy_[x]) moves.emplace_back(same_[x], same_[y]);
  }
  Permutation result(std::move(moves));
  for (Vertex x = 0; x < orbit_.size(); ++x) {
    if (copy_[x] && result(same_[x]) != same_[permutation(x)]) return std::nullopt;
  }
  return result;
}

std::optional<std::pair<std::vector<Vertex>, std::vector<Vertex>>> Copies::fold(const std::vector<Vertex>& from, const std::vector<Vertex>& to) const {
  std::pair<std::vector<Vertex>, std::vector<Vertex>> result;
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] >= orbit_.size() || to[k] >= orbit_.size() || orbit_[from[k]] != orbit_[to[k]]) return std::nullopt;
    result.first.push_back(same_[from[k]]);
    result.second.push_back(same_[to[k]]);
  }
  return result;
}

}  // namespace checker

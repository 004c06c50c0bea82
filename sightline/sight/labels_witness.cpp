#include "sightline/sight/labels_witness.hpp"

#include <limits>
#include <optional>
#include <tuple>

#include "sightline/base/error.hpp"

namespace sightline::sight {

namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

struct Pair {
  std::uint64_t x = 0;
  Vertex a = 0;
  std::uint64_t y = 0;
  Vertex b = 0;
  friend auto operator<=>(const Pair&, const Pair&) = default;
};

class Search {
public:
  Search(const Inputs& inputs, const Targets& targets, const std::vector<std::uint32_t>& state, const Budget& budget)
      : inputs_(inputs), targets_(targets), state_(state), budget_(budget) {}

  std::optional<Pair> find_within_one() const {
    for (std::uint64_t x = 0; x < inputs_.count; ++x) {
      if ((x & 0xff) == 0) budget_.poll();
      for (Vertex a = 0; a < inputs_.tokens; ++a) {
        for (Vertex b = a + 1; b < inputs_.tokens; ++b) {
          if (collides(x, a, x, b)) return Pair{x, a, x, b};
        }
      }
    }
    return std::nullopt;
  }

  std::optional<Pair> find_one_place_apart() const {
    for (std::uint64_t x = 0; x < inputs_.count; ++x) {
      budget_.poll();
      for (Vertex a = 0; a < inputs_.tokens; ++a) {
        // Later tokens and smaller ids first: y ascends.
        for (Vertex place = inputs_.tokens; place-- > inputs_.first_ordinary;) {
          std::uint64_t y = x;
          for (std::uint32_t id = inputs_.id(x, place) + 1; id < inputs_.vocabulary; ++id) {
            y += inputs_.weight[place];
            for (Vertex b = 0; b < inputs_.tokens; ++b) {
              if (collides(x, a, y, b)) return Pair{x, a, y, b};
            }
          }
        }
      }
    }
    return std::nullopt;
  }

  // Compares every labelled input with the first of its label and with the first that has another target than that one.
  std::optional<Pair> find_from_first_members() const {
    std::vector<std::uint64_t> first(state_.size(), none), other(state_.size(), none);
    std::optional<Pair> best;
    std::uint32_t best_distance = none;
    for (std::uint64_t y = 0; y < inputs_.count; ++y) {
      if ((y & 0xff) == 0) budget_.poll();
      for (Vertex b = 0; b < inputs_.tokens; ++b) {
        const std::uint32_t label = state_[y * inputs_.vertices + b];
        const std::uint64_t here = y * inputs_.tokens + b;
        if (first[label] == none) first[label] = here;
        const auto target_at = [&](std::uint64_t k) { return targets_.label(k / inputs_.tokens, static_cast<Vertex>(k % inputs_.tokens)); };
        if (other[label] == none && target_at(first[label]) != target_at(here)) other[label] = here;
        for (const std::uint64_t k : {first[label], other[label]}) {
          if (k == none || target_at(k) == target_at(here)) continue;
          const Pair pair{k / inputs_.tokens, static_cast<Vertex>(k % inputs_.tokens), y, b};
          const std::uint32_t distance = count_differences(pair.x, y);
          if (distance < best_distance || (distance == best_distance && pair < *best)) {
            best_distance = distance;
            best = pair;
          }
        }
      }
    }
    return best;
  }

  std::vector<std::uint32_t> write(std::uint64_t k) const {
    std::vector<std::uint32_t> ids;
    for (Vertex token = 0; token < inputs_.tokens; ++token) ids.push_back(inputs_.id(k, token));
    return ids;
  }

private:
  bool collides(std::uint64_t x, Vertex a, std::uint64_t y, Vertex b) const {
    return state_[x * inputs_.vertices + a] == state_[y * inputs_.vertices + b] && targets_.label(x, a) != targets_.label(y, b);
  }
  std::uint32_t count_differences(std::uint64_t x, std::uint64_t y) const {
    std::uint32_t differences = 0;
    for (Vertex token = inputs_.first_ordinary; token < inputs_.tokens; ++token) differences += inputs_.id(x, token) != inputs_.id(y, token);
    return differences;
  }

  const Inputs& inputs_;
  const Targets& targets_;
  const std::vector<std::uint32_t>& state_;
  const Budget& budget_;
};

}  // namespace

bool has_collision(const Inputs& inputs, const Targets& targets, const std::vector<std::uint32_t>& state, std::uint64_t distinct) {
  std::vector<std::uint32_t> target_of(distinct, none);
  for (std::uint64_t k = 0; k < inputs.count; ++k) {
    for (Vertex a = 0; a < inputs.tokens; ++a) {
      std::uint32_t& target = target_of[state[k * inputs.vertices + a]];
      if (target == none) target = targets.label(k, a);
      else if (target != targets.label(k, a)) return true;
    }
  }
  return false;
}

IdCollision find_least_collision(const Inputs& inputs, const Targets& targets, const std::vector<std::uint32_t>& state, const Budget& budget) {
  const Search search(inputs, targets, state, budget);
  std::optional<Pair> pair = search.find_within_one();
  if (!pair) pair = search.find_one_place_apart();
  if (!pair) {
    const std::uint64_t bytes = 2 * state.size() * sizeof(std::uint64_t);
    budget.ask(bytes);
    pair = search.find_from_first_members();
    budget.give_back(bytes);
  }
  if (!pair) throw InternalError("no collision where labels promise one");
  return {search.write(pair->x), search.write(pair->y), pair->a, pair->b};
}

}  // namespace sightline::sight

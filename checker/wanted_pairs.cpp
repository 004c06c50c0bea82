#include "wanted_pairs.hpp"

#include <algorithm>
#include <numeric>

#include "poll.hpp"

namespace checker {

namespace {

bool are_neighbours(Vertex x, Vertex y) { return (x > y ? x - y : y - x) == 1; }

/// By token x: are x - 1 and x to stay together? A gap closes where no generator, and none after any others, takes its two sides apart.
std::vector<bool> find_closed_gaps(const Group& group) {
  std::vector<bool> closed(std::size_t{group.degree} + 1, true);
  closed.front() = closed.back() = false;
  std::vector<Vertex> opened;
  const auto open = [&](Vertex gap) {
    if (!closed[gap]) return;
    closed[gap] = false;
    opened.push_back(gap);
  };
  for (const auto& members : group.classes) {
    for (const Vertex x : members) open(x), open(x + 1);
  }
  for (const Permutation& g : group.generators) {
    for (const auto& [x, image] : g.moves()) {
      if (x > 0 && !are_neighbours(g(x - 1), image)) open(x);
      if (x + 1 < group.degree && !are_neighbours(image, g(x + 1))) open(x + 1);
    }
  }
  // A gap that a generator takes to an open one is open.
  std::vector<std::vector<std::pair<std::size_t, Vertex>>> before(group.degree);
  for (std::size_t k = 0; k < group.generators.size(); ++k) {
    for (const auto& [x, image] : group.generators[k].moves()) before[image].emplace_back(k, x);
  }
  const auto preimage = [&](std::size_t k, Vertex y) {
    const auto at = std::ranges::lower_bound(before[y], std::pair<std::size_t, Vertex>{k, 0});
    return at != before[y].end() && at->first == k ? at->second : y;
  };
  while (!opened.empty()) {
    const Vertex gap = opened.back();
    opened.pop_back();
    for (const Vertex side : {gap - 1, gap}) {
      for (const auto& [k, x] : before[side]) {
        poll();
        const Vertex y = preimage(k, side == gap ? gap - 1 : gap);
        if (are_neighbours(x, y)) open(std::max(x, y));
      }
    }
  }
  return closed;
}

}  // namespace

WantedPairs::WantedPairs(const Group& group) {
  make_blocks(group);
  if (!std::ranges::all_of(group.generators, [this](const Permutation& g) { return permutes_blocks(g); })) use_tokens(group.degree);
  find_ascending(group);
  const Images images = find_images(few_generators(group));
  for (const auto& reader : members_) {
    std::vector<bool>& row = wanted_.emplace_back();
    for (const auto& read : members_) row.push_back(read.back() < reader.front());
  }
  drop_moved(images);
}

WantedPairs::WantedPairs(const Group& group, std::vector<std::vector<bool>> sets) : wanted_(std::move(sets)) {
  use_tokens(group.degree);
  ascends_.assign(group.degree, false);
  drop_moved(find_images(few_generators(group)));
}

void WantedPairs::make_blocks(const Group& group) {
  const std::vector<bool> closed = find_closed_gaps(group);
  block_.assign(group.degree, ~Vertex{0});
  for (const auto& members : group.classes) {
    for (const Vertex x : members) block_[x] = static_cast<Vertex>(members_.size());
    members_.push_back(members);
    is_class_.push_back(true);
  }
  for (Vertex x = 0; x < group.degree; ++x) {
    if (block_[x] != ~Vertex{0}) continue;
    if (!closed[x]) {
      members_.emplace_back();
      is_class_.push_back(false);
    }
    block_[x] = closed[x] ? block_[x - 1] : static_cast<Vertex>(members_.size() - 1);
    members_[block_[x]].push_back(x);
  }
}

void WantedPairs::use_tokens(Vertex tokens) {
  block_.resize(tokens);
  std::iota(block_.begin(), block_.end(), Vertex{0});
  members_.clear();
  for (Vertex x = 0; x < tokens; ++x) members_.push_back({x});
  is_class_.assign(tokens, false);
}

/// Classes to classes, as a whole (stretches are made so).
bool WantedPairs::permutes_blocks(const Permutation& g) const {
  std::vector<Vertex> moved(members_.size(), 0);
  for (const auto& [x, image] : g.moves()) {
    const Vertex b = block_[x], c = block_[image];
    if (c != block_[g(members_[b].front())] || members_[b].size() != members_[c].size() || is_class_[b] != is_class_[c]) return false;
    ++moved[b];
  }
  for (const auto& [x, image] : g.moves()) {
    if (moved[block_[x]] < members_[block_[x]].size() && block_[image] != block_[x]) return false;
  }
  return true;
}

WantedPairs::Images WantedPairs::find_images(const std::vector<Permutation>& generators) const {
  constexpr std::uint64_t most_blocks = 8192, most_steps = 1'000'000'000;
  Images images(members_.size());
  std::uint64_t moved = 0;
  for (std::size_t g = 0; g < generators.size(); ++g) {
    for (const auto& [x, image] : generators[g].moves()) {
      if (x != members_[block_[x]].front() || block_[image] == block_[x]) continue;
      images[block_[x]].emplace_back(g, block_[image]);
      ++moved;
    }
  }
  if (members_.size() > most_blocks || 2 * moved * members_.size() > most_steps) {
    throw Rejected("limit", "a symmetric target in a class other than `all` is compared on at most 8,192 stretches of tokens that move as one, and in at most 10^9 steps");
  }
  return images;
}

/// A pair j < a of a stretch is lost as soon as any stretch that this one is ever taken to is turned round.
void WantedPairs::find_ascending(const Group& group) {
  const std::vector<Vertex> orbit = orbits(group);
  ascends_.assign(members_.size(), true);
  std::vector<bool> turned(group.degree, false);
  for (const Permutation& g : group.generators) {
    for (const auto& [x, image] : g.moves()) {
      const auto& stretch = members_[block_[x]];
      if (x != stretch.back() && g(x + 1) < image) turned[orbit[x]] = true;
    }
  }
  for (std::size_t b = 0; b < members_.size(); ++b) {
    ascends_[b] = !is_class_[b] && std::ranges::none_of(members_[b], [&](Vertex x) { return turned[orbit[x]]; });
  }
}

/// Whatever the group makes of a pair that is not wanted is not.
void WantedPairs::drop_moved(const Images& images) {
  const std::vector<std::vector<bool>> in_class = wanted_;  // pairs that are lost on the way go on at once
  std::vector<std::pair<Vertex, Vertex>> open;
  const auto drop_images = [&](Vertex a, Vertex j) {
    const auto drop = [&](Vertex b, Vertex k) {
      if (!wanted_[b][k]) return;
      wanted_[b][k] = false;
      open.emplace_back(b, k);
    };
    std::size_t x = 0, y = 0;
    const auto &of_a = images[a], &of_j = images[j];
    const std::size_t none = ~std::size_t{0};
    while (x < of_a.size() || y < of_j.size()) {
      const std::size_t g = std::min(x < of_a.size() ? of_a[x].first : none, y < of_j.size() ? of_j[y].first : none);
      const bool first = x < of_a.size() && of_a[x].first == g, second = y < of_j.size() && of_j[y].first == g;
      drop(first ? of_a[x++].second : a, second ? of_j[y++].second : j);
    }
  };
  for (Vertex a = 0; a < wanted_.size(); ++a) {
    for (Vertex j = 0; j < wanted_.size(); ++j) {
      if (a == j || in_class[a][j]) continue;
      poll();
      drop_images(a, j);
      while (!open.empty()) {
        const auto [b, k] = open.back();
        open.pop_back();
        drop_images(b, k);
      }
    }
  }
  for (std::size_t b = 0; b < wanted_.size(); ++b) {
    bool apart = true;
    for (std::size_t c = 0; c < wanted_.size() && apart; ++c) apart = b == c || !wanted_[b][c];
    apart_.push_back(apart);
  }
}

bool WantedPairs::own_only() const {
  for (std::size_t b = 0; b < members_.size(); ++b) {
    if (!apart_[b] || (ascends_[b] && members_[b].size() > 1)) return false;
  }
  return true;
}

}  // namespace checker

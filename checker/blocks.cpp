#include "blocks.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "poll.hpp"

namespace checker {

std::vector<Vertex> close(const Group& group, const Pairs& joined, std::uint64_t* steps) {
  std::vector<Vertex> parent(group.degree);
  std::iota(parent.begin(), parent.end(), Vertex{0});
  const auto find = [&](Vertex x) {
    for (; parent[x] != x; x = parent[x]) parent[x] = parent[parent[x]];
    return x;
  };
  const auto join = [&](Vertex x, Vertex y) {
    x = find(x);
    y = find(y);
    parent[std::max(x, y)] = std::min(x, y);
    return x != y;
  };
  for (const auto& [x, y] : joined) join(x, y);
  std::vector<Vertex> members(group.degree, 0), moved(group.degree, 0);
  for (bool changed = true; changed;) {
    changed = false;
    std::fill(members.begin(), members.end(), 0);
    for (Vertex x = 0; x < group.degree; ++x) ++members[find(x)];
    for (const Permutation& g : group.generators) {
      poll();
      if (steps != nullptr) *steps += g.moves().size();
      for (const auto& [x, y] : g.moves()) ++moved[find(x)];
      Pairs images;  // a part has its image in one part; where some of its points stay, that is the part itself
      for (const auto& [x, y] : g.moves()) {
        const Vertex r = find(x);
        if (members[r] > 1) images.emplace_back(y, moved[r] < members[r] ? r : g(r));
      }
      for (const auto& [x, y] : g.moves()) moved[find(x)] = 0;
      for (const auto& [x, y] : images) {
        const Vertex a = find(x), b = find(y), both = members[a] + members[b];
        if (!join(a, b)) continue;
        members[find(a)] = both;
        changed = true;
      }
    }
  }
  std::vector<Vertex> least(group.degree);
  for (Vertex x = 0; x < group.degree; ++x) least[x] = find(x);
  return least;
}

namespace {

class CrossingBlocks final : public Reduction {
public:
  static std::unique_ptr<Reduction> find(const Group& group) {
    auto found = std::make_unique<CrossingBlocks>();
    found->orbit_ = orbits(group);
    found->blocks_of_.resize(group.degree);
    std::vector<std::vector<Vertex>> members(group.degree);
    for (Vertex x = 0; x < group.degree; ++x) members[found->orbit_[x]].push_back(x);
    bool crosses = false;
    for (const std::vector<Vertex>& orbit : members) crosses |= found->cross(orbit, group);
    if (!crosses) return nullptr;
    for (std::vector<Vertex>& own : found->blocks_of_) {
      if (own.empty()) own = {found->blocks_++};
    }
    Group images{found->blocks_, {}, {}};
    for (const Permutation& g : group.generators) {
      std::optional<Permutation> image = found->act(g);
      if (!image) return nullptr;
      images.generators.push_back(*std::move(image));
    }
    found->on_blocks_ = std::make_unique<Chain>(images);
    return found;
  }

  [[nodiscard]] Order order() const override { return on_blocks_->order(); }

  [[nodiscard]] bool contains(const Permutation& permutation) const override {
    const auto image = act(permutation);
    return image && on_blocks_->contains(*image);
  }

  [[nodiscard]] bool extends(const std::vector<Vertex>& from, const std::vector<Vertex>& to) const override {
    std::vector<Vertex> below, above;
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (orbit_[from[k]] != orbit_[to[k]]) return false;
      below.insert(below.end(), blocks_of_[from[k]].begin(), blocks_of_[from[k]].end());
      above.insert(above.end(), blocks_of_[to[k]].begin(), blocks_of_[to[k]].end());
    }
    return on_blocks_->extends(below, above);
  }

private:
  /// Gives the points of an orbit their blocks in partitions that cross, if there are some.
  bool cross(const std::vector<Vertex>& orbit, const Group& group) {
    constexpr std::size_t least_orbit = 9;
    constexpr std::uint64_t most_steps = 20'000'000;
    if (orbit.size() < least_orbit) return false;
    std::vector<std::pair<std::size_t, std::pair<Vertex, Vertex>>> by_support;  // what moves little says most
    std::uint64_t steps = 0;
    for (const Permutation& g : group.generators) {
      Pairs here;  // a product of two of them shows one in some places, the other in others
      std::copy_if(g.moves().begin(), g.moves().end(), std::back_inserter(here), [&](const auto& move) { return orbit_[move.first] == orbit.front(); });
      if (here.empty()) continue;
      for (const auto& move : {here.front(), here[here.size() / 2], here.back()}) by_support.emplace_back(g.moves().size(), move);
    }
    std::sort(by_support.begin(), by_support.end());
    std::vector<std::vector<Vertex>> partitions;
    std::vector<Vertex> meet(orbit.size(), 0);
    std::size_t parts = 1;
    const auto propose = [&](const std::pair<Vertex, Vertex>& pair) {
      steps += group.degree;
      std::vector<Vertex> partition = close(group, {pair}, &steps);
      std::map<std::pair<Vertex, Vertex>, Vertex> names;
      for (std::size_t k = 0; k < orbit.size(); ++k) names.emplace(std::pair{meet[k], partition[orbit[k]]}, static_cast<Vertex>(names.size()));
      if (names.size() == parts) return;
      for (std::size_t k = 0; k < orbit.size(); ++k) meet[k] = names.at({meet[k], partition[orbit[k]]});
      parts = names.size();
      partitions.push_back(std::move(partition));
    };
    const auto goes_on = [&] { return parts < orbit.size() && steps < most_steps; };
    for (auto proposal = by_support.begin(); proposal != by_support.end() && goes_on(); ++proposal) {
      const auto together = [&](const std::vector<Vertex>& partition) { return partition[proposal->second.first] == partition[proposal->second.second]; };
      if (partitions.empty() || !std::all_of(partitions.begin(), partitions.end(), together)) propose(proposal->second);
    }
    for (std::size_t k = 1; k < orbit.size() && goes_on(); ++k) propose({orbit.front(), orbit[k]});
    if (parts < orbit.size()) return false;
    Vertex next = blocks_;
    std::vector<std::map<Vertex, Vertex>> names(partitions.size());
    for (std::size_t p = 0; p < partitions.size(); ++p) {
      for (const Vertex x : orbit) next += names[p].emplace(partitions[p][x], next).second ? 1 : 0;
    }
    if (4 * std::uint64_t{next - blocks_} > 3 * orbit.size()) return false;
    blocks_ = next;
    for (std::size_t p = 0; p < partitions.size(); ++p) {
      for (const Vertex x : orbit) blocks_of_[x].push_back(names[p].at(partitions[p][x]));
    }
    return true;
  }

  /// Nothing where a point leaves its orbit or a block is broken.
  [[nodiscard]] std::optional<Permutation> act(const Permutation& permutation) const {
    std::vector<Vertex> image(blocks_, none);
    for (Vertex x = 0; x < orbit_.size(); ++x) {
      const Vertex y = permutation(x);
      if (y >= orbit_.size() || orbit_[x] != orbit_[y]) return std::nullopt;
      for (std::size_t p = 0; p < blocks_of_[x].size(); ++p) {
        Vertex& there = image[blocks_of_[x][p]];
        if (there != none && there != blocks_of_[y][p]) return std::nullopt;
        there = blocks_of_[y][p];
      }
    }
    Pairs moves;
    for (Vertex b = 0; b < blocks_; ++b) moves.emplace_back(b, image[b]);
    return Permutation(std::move(moves));
  }

  std::vector<Vertex> orbit_;                   ///< least point of the orbit
  std::vector<std::vector<Vertex>> blocks_of_;  ///< a block of each partition of the orbit, or one of its own
  Vertex blocks_ = 0;
  std::unique_ptr<Chain> on_blocks_;
};

class BlockGroups final : public Reduction {
public:
  static std::unique_ptr<Reduction> find(const Group& group) {
    std::vector<const Permutation*> least_first;
    for (const Permutation& g : group.generators) least_first.push_back(&g);
    std::stable_sort(least_first.begin(), least_first.end(), [](const Permutation* a, const Permutation* b) { return a->moves().size() < b->moves().size(); });
    std::vector<Vertex> parent(group.degree);
    std::iota(parent.begin(), parent.end(), Vertex{0});
    const auto find = [&](Vertex x) {
      for (; parent[x] != x; x = parent[x]) parent[x] = parent[parent[x]];
      return x;
    };
    std::vector<std::size_t> ends;  // so many generators that move least, as long as they do not join all
    Vertex parts = group.degree;
    for (std::size_t k = 0; k < least_first.size() && parts > 1; ++k) {
      if (k > 0 && least_first[k]->moves().size() > least_first[k - 1]->moves().size()) ends.push_back(k);
      for (const auto& [x, y] : least_first[k]->moves()) {
        const Vertex a = find(least_first[k]->moves().front().first), b = find(x);
        parts -= a != b ? 1 : 0;
        parent[b] = a;
      }
    }
    if (parts > 1) ends.push_back(least_first.size());
    for (int tries = 0; tries < most_tries && !ends.empty(); ++tries) {
      Pairs joined;
      for (std::size_t k = 0; k < ends.back(); ++k) {
        for (const auto& [x, y] : least_first[k]->moves()) joined.emplace_back(least_first[k]->moves().front().first, x);
      }
      ends.resize(ends.size() > 4 ? ends.size() / 2 : ends.size() - 1);
      const std::vector<Vertex> partition = close(group, joined);
      if (!divides(group, partition)) continue;
      auto found = std::make_unique<BlockGroups>();
      if (found->take(group, partition)) return found;
    }
    return nullptr;
  }

  [[nodiscard]] Order order() const override {
    Order order = on_parts_->order();
    for (const Kind& kind : kinds_) {
      Order own = kind.own;
      own.raise(kind.blocks);
      order.multiply(own);
    }
    return order;
  }

  [[nodiscard]] bool contains(const Permutation& permutation) const override {
    const auto inside = act(permutation);
    if (!inside || !std::all_of(inside->begin(), inside->end(), [this](const auto& entry) { return is_inside(entry.first, entry.second); })) return false;
    const auto on_parts = act_on_parts(permutation);
    return on_parts && on_parts_->contains(*on_parts);
  }

  [[nodiscard]] bool extends(const std::vector<Vertex>& from, const std::vector<Vertex>& to) const override {
    std::vector<Vertex> below, above;
    std::map<Vertex, std::pair<std::vector<Vertex>, std::vector<Vertex>>> places;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Vertex a = block_of_[from[k]], b = block_of_[to[k]];
      if (kind_of_[a] != kind_of_[b]) return false;
      below.push_back(part_of(from[k]));
      above.push_back(part_of(to[k]));
      places[a].first.push_back(place_of_[from[k]]);
      places[a].second.push_back(place_of_[to[k]]);
    }
    if (!on_parts_->extends(below, above)) return false;
    return std::all_of(places.begin(), places.end(), [this](const auto& entry) {
      const Kind& kind = kinds_[kind_of_[entry.first]];
      return kind.inside ? kind.inside->extends(entry.second.first, entry.second.second) : entry.second.first == entry.second.second;
    });
  }

private:
  static constexpr int most_tries = 6;

  struct Kind {  ///< an orbit of blocks
    Vertex size = 0;
    std::uint64_t blocks = 0;
    std::unique_ptr<Chain> inside;  ///< N; none: trivial
    Order own;                      ///< |H|
    std::vector<Vertex> part_of;    ///< of the places
    Vertex parts = 1;
  };
  using Inside = std::vector<std::pair<Vertex, Permutation>>;  ///< kind of block, and what is done to its places

  /// Are both the blocks and the points of each fewer than the points that move?
  static bool divides(const Group& group, const std::vector<Vertex>& partition) {
    std::vector<bool> moves(group.degree, false);
    for (const Permutation& g : group.generators) {
      for (const auto& [x, y] : g.moves()) moves[x] = true;
    }
    std::vector<Vertex> members(group.degree, 0);
    Vertex moving = 0, blocks = 0, largest = 0;
    for (Vertex x = 0; x < group.degree; ++x) {
      if (!moves[x]) continue;
      ++moving;
      blocks += members[partition[x]] == 0 ? 1 : 0;
      largest = std::max(largest, ++members[partition[x]]);
    }
    return blocks < moving && largest < moving;
  }

  bool take(const Group& group, const std::vector<Vertex>& partition) {
    name_blocks(group, partition);
    std::vector<Group> local, others;
    for (const Kind& kind : kinds_) local.push_back({kind.size, {}, {}});
    others = local;
    std::set<std::pair<Vertex, Pairs>> seen;
    for (const Permutation& g : group.generators) {
      poll();
      if (g.is_identity()) continue;
      const std::optional<Inside> action = act(g);
      if (!action) return false;
      const Vertex block = block_of_[g.moves().front().first];
      const bool is_local = std::all_of(g.moves().begin(), g.moves().end(), [&](const auto& move) { return block_of_[move.first] == block; });
      for (const auto& [kind, inside] : *action) {
        if (is_local || seen.emplace(kind, inside.moves()).second) (is_local ? local : others)[kind].generators.push_back(inside);
      }
    }
    for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
      if (!look_inside(kinds_[kind], local[kind], others[kind])) return false;
    }
    first_part_.assign(1, 0);
    for (const Vertex kind : kind_of_) first_part_.push_back(first_part_.back() + kinds_[kind].parts);
    Group on_parts{first_part_.back(), {}, {}};
    for (const Permutation& g : group.generators) {
      std::optional<Permutation> image = act_on_parts(g);
      if (!image) return false;
      if (!image->is_identity()) on_parts.generators.push_back(*std::move(image));
    }
    on_parts_ = std::make_unique<Chain>(on_parts);
    return true;
  }

  /// H from what is local, N from all; false where parts do not tell their cosets.
  static bool look_inside(Kind& kind, const Group& local, const Group& others) {
    kind.part_of.assign(kind.size, 0);
    if (!local.generators.empty()) {
      kind.inside = std::make_unique<Chain>(local);
      kind.own = kind.inside->order();
    }
    const auto is_own = [&](const Permutation& g) { return g.is_identity() || (kind.inside && kind.inside->contains(g)); };
    Group own = local, all{kind.size, {}, {}};
    for (std::size_t k = 0; k < own.generators.size(); ++k) {  // what an element takes to another block it takes there as a whole
      for (const Permutation& g : others.generators) {
        Pairs moves;  // g h g^-1
        for (const auto& [x, y] : own.generators[k].moves()) moves.emplace_back(g(x), g(y));
        std::sort(moves.begin(), moves.end());
        Permutation image(std::move(moves));
        if (is_own(image)) continue;
        own.generators.push_back(std::move(image));
        kind.inside = std::make_unique<Chain>(own);
        kind.own = kind.inside->order();
      }
    }
    std::copy_if(others.generators.begin(), others.generators.end(), std::back_inserter(all.generators), [&](const Permutation& g) { return !is_own(g); });
    if (all.generators.empty()) return true;
    all.generators.insert(all.generators.end(), own.generators.begin(), own.generators.end());
    const std::vector<Vertex> orbit = orbits(own);
    kind.parts = 0;
    for (Vertex place = 0; place < kind.size; ++place) kind.part_of[place] = orbit[place] == place ? kind.parts++ : kind.part_of[orbit[place]];
    kind.inside = std::make_unique<Chain>(all);
    Group images{kind.parts, {}, {}};
    for (const Permutation& g : all.generators) {
      std::vector<Vertex> image(kind.parts, none);
      for (Vertex place = 0; place < kind.size; ++place) {
        Vertex& to = image[kind.part_of[place]];
        if (to != none && to != kind.part_of[g(place)]) return false;
        to = kind.part_of[g(place)];
      }
      Pairs moves;
      for (Vertex part = 0; part < kind.parts; ++part) moves.emplace_back(part, image[part]);
      images.generators.emplace_back(std::move(moves));
    }
    const Order order = Chain(images).order();
    Order product = kind.own;
    product.multiply(order);
    if (!same_order(product, kind.inside->order())) return false;
    std::map<Vertex, std::uint64_t> length;
    for (const Vertex least : orbits(images)) ++length[least];
    return std::all_of(length.begin(), length.end(), [&](const auto& entry) {
      Order here;
      here.multiply(Natural(entry.second));
      return same_order(order, here);
    });
  }

  /// Names blocks, and gives their points the places that t_b takes the first block's to, along a tree of generators.
  void name_blocks(const Group& group, const std::vector<Vertex>& partition) {
    block_of_.assign(group.degree, 0);
    for (Vertex x = 0; x < group.degree; ++x) {
      if (partition[x] == x) members_.emplace_back();
      block_of_[x] = partition[x] == x ? static_cast<Vertex>(members_.size() - 1) : block_of_[partition[x]];
      members_[block_of_[x]].push_back(x);
    }
    std::vector<std::vector<const Permutation*>> leaving(members_.size());
    for (const Permutation& g : group.generators) {
      for (const auto& [x, y] : g.moves()) {
        if (members_[block_of_[x]].front() == x && block_of_[y] != block_of_[x]) leaving[block_of_[x]].push_back(&g);
      }
    }
    place_of_.assign(group.degree, none);
    kind_of_.assign(members_.size(), none);
    for (Vertex first = 0; first < members_.size(); ++first) {
      if (kind_of_[first] != none) continue;
      std::vector<Vertex> reached{first};
      kind_of_[first] = static_cast<Vertex>(kinds_.size());
      for (Vertex place = 0; place < members_[first].size(); ++place) place_of_[members_[first][place]] = place;
      for (std::size_t at = 0; at < reached.size(); ++at) {
        for (const Permutation* g : leaving[reached[at]]) {
          const Vertex to = block_of_[(*g)(members_[reached[at]].front())];
          if (kind_of_[to] != none) continue;
          kind_of_[to] = kind_of_[first];
          for (const Vertex x : members_[reached[at]]) place_of_[(*g)(x)] = place_of_[x];
          reached.push_back(to);
        }
      }
      kinds_.emplace_back();
      kinds_.back().size = static_cast<Vertex>(members_[first].size());
      kinds_.back().blocks = reached.size();
    }
  }

  [[nodiscard]] Vertex part_of(Vertex x) const { return first_part_[block_of_[x]] + kinds_[kind_of_[block_of_[x]]].part_of[place_of_[x]]; }

  /// The blocks whose points move. @pre no point beyond the degree moves
  [[nodiscard]] std::set<Vertex> touched(const Permutation& permutation) const {
    std::set<Vertex> blocks;
    for (const auto& [x, y] : permutation.moves()) blocks.insert(block_of_[x]);
    return blocks;
  }

  /// What is done to places, where something is; nothing where a block is broken or leaves its orbit.
  [[nodiscard]] std::optional<Inside> act(const Permutation& permutation) const {
    if (!permutation.is_identity() && permutation.moves().back().first >= block_of_.size()) return std::nullopt;
    Inside action;
    for (const Vertex block : touched(permutation)) {
      const Vertex target = block_of_[permutation(members_[block].front())];
      if (kind_of_[target] != kind_of_[block]) return std::nullopt;
      Pairs inside;
      for (const Vertex x : members_[block]) {
        const Vertex y = permutation(x);
        if (block_of_[y] != target) return std::nullopt;
        inside.emplace_back(place_of_[x], place_of_[y]);
      }
      std::sort(inside.begin(), inside.end());
      Permutation places(std::move(inside));
      if (!places.is_identity()) action.emplace_back(kind_of_[block], std::move(places));
    }
    return action;
  }

  /// Nothing where a part is broken. @pre act(permutation)
  [[nodiscard]] std::optional<Permutation> act_on_parts(const Permutation& permutation) const {
    std::map<Vertex, Vertex> images;
    for (const Vertex block : touched(permutation)) {
      for (const Vertex x : members_[block]) {
        const Vertex to = part_of(permutation(x));
        if (images.emplace(part_of(x), to).first->second != to) return std::nullopt;
      }
    }
    return Permutation(Pairs(images.begin(), images.end()));
  }

  [[nodiscard]] bool is_inside(Vertex kind, const Permutation& inside) const { return kinds_[kind].inside && kinds_[kind].inside->contains(inside); }

  std::vector<Vertex> block_of_, place_of_;   ///< of points; a place among the first block's points
  std::vector<std::vector<Vertex>> members_;  ///< of blocks, ascending
  std::vector<Vertex> kind_of_;               ///< of blocks
  std::vector<Kind> kinds_;
  std::vector<Vertex> first_part_;            ///< by block, and the number of all parts
  std::unique_ptr<Chain> on_parts_;
};

}  // namespace

std::unique_ptr<Reduction> find_reduction(const Group& group) {
  if (auto blocks = BlockGroups::find(group)) return blocks;
  return CrossingBlocks::find(group);
}

}  // namespace checker

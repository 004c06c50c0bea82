#include "sightline/group/reduction.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "sightline/group/analysis.hpp"
#include "sightline/group/congruence.hpp"

namespace sightline::group {

namespace {

constexpr Point none = std::numeric_limits<Point>::max();

std::vector<Permutation> make_sparse(const std::vector<Images>& generators) {
  std::vector<Permutation> sparse;
  sparse.reserve(generators.size());
  for (const Images& g : generators) sparse.push_back(Permutation::from_images(g));
  return sparse;
}

class CrossingBlocks final : public Reduction {
public:
  static std::unique_ptr<Reduction> find(Point degree, const std::vector<Images>& generators, const std::vector<Permutation>& sparse, const std::optional<KnownOrder>& known,
                                         const Budget& budget) {
    auto found = std::make_unique<CrossingBlocks>();
    found->orbit_ = compute_orbits(degree, {}, sparse);
    found->blocks_of_.resize(degree);
    const MovesByPoint moves(degree, sparse, budget);
    bool crosses = false;
    for (const auto& orbit : list_classes(found->orbit_)) crosses |= found->cross(orbit, sparse, moves, budget);
    if (!crosses) return nullptr;
    for (Point x = 0; x < degree; ++x) {
      if (found->blocks_of_[x].empty()) found->blocks_of_[x] = {found->blocks_++};
    }
    std::vector<Permutation> images;
    for (std::size_t k = 0; k < generators.size(); ++k) {
      if (sparse[k].is_identity()) continue;
      found->index_.push_back(k);
      images.push_back(*found->act(generators[k]));
    }
    const Order known_order = known ? Order(known->value) : Order();
    found->on_blocks_ = std::make_unique<Analysis>(found->blocks_, std::vector<std::vector<Point>>{}, images, known ? &known_order : nullptr, !known || known->exact, budget);
    return found;
  }

  [[nodiscard]] Order order() const override { return on_blocks_->order(); }

  [[nodiscard]] bool contains(const Images& permutation) const override {
    const auto image = act(permutation);
    return image && on_blocks_->contains(*image);
  }

  [[nodiscard]] bool extends(const std::vector<Point>& from, const std::vector<Point>& to) const override {
    std::vector<Point> sources, targets;
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (orbit_[from[k]] != orbit_[to[k]]) return false;
      const std::vector<Point>&source = blocks_of_[from[k]], &target = blocks_of_[to[k]];
      sources.insert(sources.end(), source.begin(), source.end());
      targets.insert(targets.end(), target.begin(), target.end());
    }
    return on_blocks_->extends(sources, targets);
  }

  [[nodiscard]] std::vector<std::size_t> irredundant() const override {
    std::vector<std::size_t> kept;
    for (const std::size_t k : on_blocks_->irredundant()) kept.push_back(index_[k]);
    // Classes of the blocks are the analysis' own; who generates them is among its generators but not listed.
    return on_blocks_->classes().empty() ? kept : index_;
  }

private:
  /// Gives the points of an orbit the blocks of a few partitions that cross, if there are such.
  bool cross(const std::vector<Point>& orbit, const std::vector<Permutation>& generators, const MovesByPoint& moves, const Budget& budget) {
    constexpr std::size_t least_orbit = 9;
    constexpr std::uint64_t most_steps = 20'000'000;
    if (orbit.size() < least_orbit) return false;
    // Who moves little says most: what it exchanges is near. A product of two of them shows one in some places, the other in others.
    std::vector<std::pair<std::size_t, std::pair<Point, Point>>> by_support;
    std::uint64_t moved = 0;
    for (const Permutation& g : generators) {
      std::vector<Point> here;
      std::copy_if(g.moved().begin(), g.moved().end(), std::back_inserter(here), [&](Point x) { return orbit_[x] == orbit.front(); });
      moved += g.moved().size();
      if (here.empty()) continue;
      for (const Point x : {here.front(), here[here.size() / 2], here.back()}) by_support.push_back({g.moved().size(), {x, g(x)}});
    }
    std::sort(by_support.begin(), by_support.end());
    std::vector<std::vector<Point>> systems;
    std::vector<Point> meet(orbit.size(), 0);  // number of the class of points that are together in all systems
    Point classes = 1;
    std::uint64_t tries_left = 1 + most_steps / (moved + orbit_.size());
    const auto propose = [&](std::pair<Point, Point> pair) {
      --tries_left;
      const std::vector<Point> label = compute_congruence(moves.degree(), moves, {pair}, budget);
      if (std::all_of(orbit.begin(), orbit.end(), [&](Point x) { return label[x] == label[orbit.front()]; })) return;
      std::map<std::pair<Point, Point>, Point> number;
      std::vector<Point> finer(orbit.size());
      for (std::size_t k = 0; k < orbit.size(); ++k) finer[k] = number.emplace(std::pair{meet[k], label[orbit[k]]}, static_cast<Point>(number.size())).first->second;
      if (number.size() == classes) return;
      classes = static_cast<Point>(number.size());
      meet = std::move(finer);
      systems.push_back(label);
    };
    const auto goes_on = [&] { return classes < orbit.size() && tries_left > 0; };
    for (auto proposal = by_support.begin(); proposal != by_support.end() && goes_on(); ++proposal) {
      const auto [x, y] = proposal->second;
      // Together in every system: nothing new, mostly.
      const bool is_known = !systems.empty() && std::all_of(systems.begin(), systems.end(), [x = x, y = y](const auto& label) { return label[x] == label[y]; });
      if (!is_known) propose({x, y});
    }
    for (std::size_t k = 1; k < orbit.size() && goes_on(); ++k) propose({orbit.front(), orbit[k]});
    if (classes < orbit.size()) return false;
    std::vector<std::map<Point, Point>> numbers(systems.size());
    Point next = blocks_;
    for (std::size_t s = 0; s < systems.size(); ++s) {
      for (const Point x : orbit) next += numbers[s].emplace(systems[s][x], next).second ? 1 : 0;
    }
    if (4 * std::size_t{next - blocks_} > 3 * orbit.size()) return false;
    blocks_ = next;
    for (std::size_t s = 0; s < systems.size(); ++s) {
      for (const Point x : orbit) blocks_of_[x].push_back(numbers[s].at(systems[s][x]));
    }
    return true;
  }

  /// What a permutation does to the blocks; nothing where it leaves orbits or breaks blocks. A bijection of points that does neither is one of blocks.
  [[nodiscard]] std::optional<Permutation> act(const Images& permutation) const {
    Images images(blocks_, none);
    for (Point x = 0; x < permutation.size(); ++x) {
      const Point y = permutation[x];
      if (orbit_[x] != orbit_[y]) return std::nullopt;
      for (std::size_t s = 0; s < blocks_of_[x].size(); ++s) {
        Point& image = images[blocks_of_[x][s]];
        if (image == none) image = blocks_of_[y][s];
        else if (image != blocks_of_[y][s]) return std::nullopt;
      }
    }
    return Permutation::from_images(images);
  }

  std::vector<Point> orbit_;                   ///< least point of the orbit
  std::vector<std::vector<Point>> blocks_of_;  ///< one block of each partition of the point's orbit; where there are none, a block of its own
  Point blocks_ = 0;
  std::vector<std::size_t> index_;             ///< of the generators that move something
  std::unique_ptr<Analysis> on_blocks_;
};

class BlockGroups final : public Reduction {
public:
  static std::unique_ptr<Reduction> find(Point degree, const std::vector<Permutation>& sparse, const Budget& budget) {
    constexpr int most_tries = 6;
    std::vector<std::size_t> by_support(sparse.size());
    std::iota(by_support.begin(), by_support.end(), std::size_t{0});
    const auto support = [&](std::size_t k) { return sparse[k].moved().size(); };
    std::stable_sort(by_support.begin(), by_support.end(), [&](std::size_t a, std::size_t b) { return support(a) < support(b); });
    std::vector<std::size_t> ends;  // where supports grow and not everything is linked
    UnionFind linked(degree);
    Point parts = degree;
    for (std::size_t k = 0; k < by_support.size() && parts > 1; ++k) {
      if (k > 0 && support(by_support[k]) > support(by_support[k - 1])) ends.push_back(k);
      const Permutation& g = sparse[by_support[k]];
      for (const Point x : g.moved()) parts -= linked.unite(g.moved().front(), x) ? 1 : 0;
    }
    if (parts > 1) ends.push_back(by_support.size());
    const MovesByPoint moves(degree, sparse, budget);
    for (int tries = 0; tries < most_tries && !ends.empty(); ++tries) {
      std::vector<std::pair<Point, Point>> pairs;
      for (std::size_t k = 0; k < ends.back(); ++k) {
        const Permutation& g = sparse[by_support[k]];
        for (const Point x : g.moved()) pairs.emplace_back(g.moved().front(), x);
      }
      const std::vector<Point> label = compute_congruence(degree, moves, std::move(pairs), budget);
      const bool proper = std::any_of(label.begin(), label.end(), [](Point least) { return least != 0; });
      if (proper) {
        auto found = std::make_unique<BlockGroups>();
        if (found->take(label, sparse, budget)) return found;
      }
      ends.resize(ends.size() > 4 ? ends.size() / 2 : ends.size() - 1);
    }
    return nullptr;
  }

  [[nodiscard]] Order order() const override {
    Order order = on_parts_->order();
    for (const Kind& kind : kinds_) {
      Order inside = kind.own;
      inside.raise(kind.blocks);
      order.multiply(inside);
    }
    return order;
  }

  [[nodiscard]] bool contains(const Images& permutation) const override {
    const Permutation sparse = Permutation::from_images(permutation);
    const auto action = act(sparse);
    if (!action) return false;
    const auto on_parts = act_on_parts(sparse);
    if (!on_parts || !on_parts_->contains(*on_parts)) return false;
    return std::all_of(action->begin(), action->end(), [this](const auto& entry) { return is_inside(entry.first, entry.second); });
  }

  [[nodiscard]] bool extends(const std::vector<Point>& from, const std::vector<Point>& to) const override {
    std::map<Point, std::pair<std::vector<Point>, std::vector<Point>>> inside;  // by the block that is left
    std::vector<Point> sources, targets;
    for (std::size_t k = 0; k < from.size(); ++k) {
      const Point source = block_of_[from[k]], target = block_of_[to[k]];
      if (kind_of_[source] != kind_of_[target]) return false;
      sources.push_back(part_of(from[k]));
      targets.push_back(part_of(to[k]));
      auto& places = inside[source];
      places.first.push_back(place_of_[from[k]]);
      places.second.push_back(place_of_[to[k]]);
    }
    if (!on_parts_->extends(sources, targets)) return false;
    return std::all_of(inside.begin(), inside.end(), [&](const auto& entry) {
      const Kind& kind = kinds_[kind_of_[entry.first]];
      return kind.inside ? kind.inside->extends(entry.second.first, entry.second.second) : entry.second.first == entry.second.second;
    });
  }

  [[nodiscard]] std::vector<std::size_t> irredundant() const override { return kept_; }

private:
  struct Kind {  ///< an orbit of blocks
    Point size = 0;
    std::uint64_t blocks = 0;
    std::unique_ptr<Analysis> inside;  ///< N, on the places of a block; none: the trivial group
    Order own;                         ///< |H|
    std::vector<Point> part_of;        ///< of the places: their orbits under H, or one part where N = H
    Point parts = 1;
    bool grows = false;                ///< is H more than what single generators show?
  };

  bool take(const std::vector<Point>& label, const std::vector<Permutation>& sparse, const Budget& budget) {
    number_blocks(label);
    const std::set<std::size_t> tree = carry_places(sparse);
    std::vector<std::vector<Permutation>> local(kinds_.size());
    std::vector<std::vector<std::size_t>> local_index(kinds_.size());
    std::set<std::pair<Point, Images>> seen, others;
    for (std::size_t k = 0; k < sparse.size(); ++k) {
      budget.poll();
      if (sparse[k].is_identity()) continue;
      auto action = act(sparse[k]);
      if (!action) return false;
      const Point first = block_of_[sparse[k].moved().front()];
      const bool is_local = std::all_of(sparse[k].moved().begin(), sparse[k].moved().end(), [&](Point x) { return block_of_[x] == first; });
      if (is_local) {
        std::pair<Point, Images>& inside = action->front();
        if (!seen.insert(inside).second) continue;
        local[inside.first].push_back(Permutation::from_images(inside.second));
        local_index[inside.first].push_back(k);
        continue;
      }
      for (auto& entry : *action) others.insert(std::move(entry));
    }
    std::set<std::size_t> kept = tree;
    for (Point kind = 0; kind < kinds_.size(); ++kind) {
      kept.insert(local_index[kind].begin(), local_index[kind].end());
      if (!look_inside(kinds_[kind], kind, local[kind], others, budget)) return false;
    }
    first_part_.assign(1, 0);
    for (const Point kind : kind_of_) first_part_.push_back(first_part_.back() + kinds_[kind].parts);
    std::vector<Permutation> on_parts;
    for (std::size_t k = 0; k < sparse.size(); ++k) {
      std::optional<Permutation> image = act_on_parts(sparse[k]);
      if (!image) return false;
      if (image->is_identity()) continue;
      on_parts.push_back(*std::move(image));
      kept.insert(k);
    }
    on_parts_ = std::make_unique<Analysis>(first_part_.back(), std::vector<std::vector<Point>>{}, on_parts, nullptr, true, budget);
    if (std::any_of(kinds_.begin(), kinds_.end(), [](const Kind& kind) { return kind.grows; })) {
      for (std::size_t k = 0; k < sparse.size(); ++k) kept.insert(k);  // any of them may have taken part
    }
    kept_.assign(kept.begin(), kept.end());
    return true;
  }

  /// Sets H and N of a kind, and the parts of its blocks; false where the group is not known by them.
  static bool look_inside(Kind& kind, Point number, const std::vector<Permutation>& local, const std::set<std::pair<Point, Images>>& others, const Budget& budget) {
    const std::vector<std::vector<Point>> no_classes;
    kind.part_of.assign(kind.size, 0);
    if (!local.empty()) {
      kind.inside = std::make_unique<Analysis>(kind.size, no_classes, local, nullptr, true, budget);
      kind.own = kind.inside->order();
    }
    std::vector<Permutation> own = local, more;
    const auto lies_in_own = [&](const Permutation& g) { return g.is_identity() || (kind.inside && kind.inside->contains(g)); };
    for (auto entry = others.lower_bound({number, {}}); entry != others.end() && entry->first == number; ++entry) {
      Permutation g = Permutation::from_images(entry->second);
      if (!lies_in_own(g)) more.push_back(std::move(g));
    }
    // H is normal in N: what a member takes to another block it takes there as a whole.
    for (std::size_t k = 0; k < own.size(); ++k) {
      for (const Permutation& g : more) {
        Permutation image = g.after(own[k]).after(g.inverse());
        if (lies_in_own(image)) continue;
        own.push_back(std::move(image));
        kind.inside = std::make_unique<Analysis>(kind.size, no_classes, own, nullptr, true, budget);
        kind.own = kind.inside->order();
      }
    }
    kind.grows = own.size() > local.size();
    std::erase_if(more, lies_in_own);
    if (more.empty()) return true;
    const std::vector<Point> orbit = compute_orbits(kind.size, {}, own);
    kind.parts = 0;
    for (Point place = 0; place < kind.size; ++place) kind.part_of[place] = orbit[place] == place ? kind.parts++ : kind.part_of[orbit[place]];
    more.insert(more.end(), own.begin(), own.end());
    kind.inside = std::make_unique<Analysis>(kind.size, no_classes, more, nullptr, true, budget);
    std::vector<Permutation> images;
    for (const Permutation& g : more) {
      Images image(kind.parts, none);
      for (Point place = 0; place < kind.size; ++place) {
        Point& to = image[kind.part_of[place]];
        if (to != none && to != kind.part_of[g(place)]) return false;
        to = kind.part_of[g(place)];
      }
      images.push_back(Permutation::from_images(image));
    }
    // N / H moves parts as the image does, and an element of it is known by where it takes any one part.
    const auto order = Analysis(kind.parts, no_classes, images, nullptr, true, budget).order();
    Order product = kind.own;
    product.multiply(order);
    if (!(product == kind.inside->order())) return false;
    std::map<Point, unsigned long> length;
    for (const Point least : compute_orbits(kind.parts, {}, images)) ++length[least];
    return std::all_of(length.begin(), length.end(), [&](const auto& entry) { return order == Order(mpz_class(entry.second)); });
  }

  void number_blocks(const std::vector<Point>& label) {
    block_of_.resize(label.size());
    Point blocks = 0;
    for (Point x = 0; x < label.size(); ++x) {
      block_of_[x] = label[x] == x ? blocks++ : block_of_[label[x]];
    }
    members_.resize(blocks);
    for (Point x = 0; x < label.size(); ++x) members_[block_of_[x]].push_back(x);
  }

  /// Finds the orbits of blocks, and carries the places of each first block to the others along a tree of generators, which it returns.
  std::set<std::size_t> carry_places(const std::vector<Permutation>& sparse) {
    std::set<std::size_t> tree;
    place_of_.assign(block_of_.size(), none);
    kind_of_.assign(members_.size(), none);
    std::vector<std::vector<std::pair<std::size_t, Point>>> leaving(members_.size());  // generators that take a block elsewhere, and where
    for (std::size_t k = 0; k < sparse.size(); ++k) {
      const std::vector<Point>&moved = sparse[k].moved(), &image = sparse[k].image();
      for (std::size_t i = 0; i < moved.size(); ++i) {
        const Point block = block_of_[moved[i]];
        if (members_[block].front() == moved[i] && block_of_[image[i]] != block) leaving[block].emplace_back(k, block_of_[image[i]]);
      }
    }
    for (Point first = 0; first < members_.size(); ++first) {
      if (kind_of_[first] != none) continue;
      const auto kind = static_cast<Point>(kinds_.size());
      kinds_.emplace_back();
      kinds_.back().size = static_cast<Point>(members_[first].size());
      for (Point place = 0; place < members_[first].size(); ++place) place_of_[members_[first][place]] = place;
      kind_of_[first] = kind;
      std::vector<Point> queue{first};
      for (std::size_t at = 0; at < queue.size(); ++at) {
        for (const auto& [k, to] : leaving[queue[at]]) {
          if (kind_of_[to] != none) continue;
          kind_of_[to] = kind;
          tree.insert(k);
          for (const Point x : members_[queue[at]]) place_of_[sparse[k](x)] = place_of_[x];
          queue.push_back(to);
        }
      }
      kinds_[kind].blocks = queue.size();
    }
    return tree;
  }

  [[nodiscard]] Point part_of(Point x) const { return first_part_[block_of_[x]] + kinds_[kind_of_[block_of_[x]]].part_of[place_of_[x]]; }

  /// The blocks that hold points that move.
  [[nodiscard]] std::vector<Point> list_touched(const Permutation& permutation) const {
    std::vector<Point> touched;
    for (const Point x : permutation.moved()) touched.push_back(block_of_[x]);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    return touched;
  }

  /// What it does to the places of blocks, where that is not the identity, with their kind. Nothing where it breaks blocks or leaves their orbits.
  [[nodiscard]] std::optional<std::vector<std::pair<Point, Images>>> act(const Permutation& permutation) const {
    std::vector<std::pair<Point, Images>> list;
    for (const Point block : list_touched(permutation)) {
      const Point target = block_of_[permutation(members_[block].front())];
      if (kind_of_[target] != kind_of_[block]) return std::nullopt;
      Images inside(members_[block].size());
      for (const Point x : members_[block]) {
        const Point y = permutation(x);
        if (block_of_[y] != target) return std::nullopt;
        inside[place_of_[x]] = place_of_[y];
      }
      if (!is_identity(inside)) list.emplace_back(kind_of_[block], std::move(inside));
    }
    return list;
  }

  /// Nothing where it breaks parts. @pre act(permutation)
  [[nodiscard]] std::optional<Permutation> act_on_parts(const Permutation& permutation) const {
    std::map<Point, Point> images;
    for (const Point block : list_touched(permutation)) {
      for (const Point x : members_[block]) {
        const Point to = part_of(permutation(x));
        if (images.emplace(part_of(x), to).first->second != to) return std::nullopt;
      }
    }
    std::vector<Point> from, to;
    for (const auto& [part, image] : images) {
      if (part == image) continue;
      from.push_back(part);
      to.push_back(image);
    }
    return Permutation::from_support(std::move(from), std::move(to));
  }

  [[nodiscard]] bool is_inside(Point kind, const Images& inside) const { return kinds_[kind].inside && kinds_[kind].inside->contains(Permutation::from_images(inside)); }

  std::vector<Point> block_of_, place_of_;   ///< of points; the place in the first block of the orbit, seen through t
  std::vector<std::vector<Point>> members_;  ///< by block, ascending
  std::vector<Point> kind_of_;               ///< of blocks
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kept_;
  std::vector<Point> first_part_;            ///< by block, and the number of all parts
  std::unique_ptr<Analysis> on_parts_;       ///< Q
};

}  // namespace

std::unique_ptr<Reduction> find_reduction(Point degree, const std::vector<Images>& generators, const std::optional<KnownOrder>& known, const Budget& budget) {
  const std::vector<Permutation> sparse = make_sparse(generators);
  if (auto blocks = BlockGroups::find(degree, sparse, budget)) return blocks;
  return CrossingBlocks::find(degree, generators, sparse, known, budget);
}

}  // namespace sightline::group

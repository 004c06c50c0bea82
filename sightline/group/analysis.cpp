#include "sightline/group/analysis.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/group/congruence.hpp"
#include "sightline/group/fold.hpp"
#include "sightline/group/giant.hpp"
#include "sightline/group/reduction.hpp"

namespace sightline::group {

namespace {

constexpr Point none = std::numeric_limits<Point>::max();
/// Components up to this size are searched for transpositions that no generator shows.
constexpr std::size_t largest_searched = 2000;
/// Components of fewer points have short chains.
constexpr Threshold<Point> least_reduced{64, 6, "reduced group"};
constexpr double short_chain = 4;
/// Dense images of one component: points times generators.
constexpr std::uint64_t most_dense_entries = std::uint64_t{1} << 31;

bool is_transposition(const Permutation& g) { return g.moved().size() == 2; }

}  // namespace

struct Analysis::Component {
  std::vector<Point> points;              ///< sorted quotient points
  std::vector<std::size_t> generators;    ///< indices into the quotient generators
  bool alternating = false;
  std::unique_ptr<Reduction> reduction;   ///< when not alternating: this, where there is one,
  std::unique_ptr<StabiliserChain> chain; ///< or this
  std::vector<Images> images;             ///< of the irredundant generators, to build chains with other bases
  Order order;
  mutable std::optional<std::pair<std::vector<Point>, StabiliserChain>> last_prefix; ///< who asks about one list of points asks again

  [[nodiscard]] bool contains(const Images& permutation) const {
    if (alternating) return is_even(permutation);
    return reduction ? reduction->contains(permutation) : chain->contains(permutation);
  }
};

Analysis::~Analysis() = default;
Analysis::Analysis(Analysis&&) noexcept = default;
Analysis& Analysis::operator=(Analysis&&) noexcept = default;

Analysis::Analysis(Point degree, const std::vector<std::vector<Point>>& seeds, const std::vector<Permutation>& generators,
                   const Order* known_order, bool exact, const Budget& budget)
    : degree_(degree) {
  std::vector<std::pair<Point, Point>> pairs;
  for (const auto& seed : seeds) {
    for (std::size_t k = 1; k < seed.size(); ++k) pairs.emplace_back(seed[k - 1], seed[k]);
  }
  UnionFind swapped(degree);
  for (std::size_t k = 0; k < generators.size(); ++k) {
    const Permutation& g = generators[k];
    if (is_transposition(g)) {
      pairs.emplace_back(g.moved()[0], g.moved()[1]);
      if (!swapped.unite(g.moved()[0], g.moved()[1])) continue;
    }
    useful_.push_back(k);
  }
  const MovesByPoint moves(degree, generators, budget);
  while (true) {
    classes_ = list_classes(compute_congruence(degree, moves, pairs, budget));
    number_quotient(generators);
    std::vector<Permutation> quotient_generators;
    generator_index_.clear();
    for (std::size_t k = 0; k < generators.size(); ++k) {
      auto image = to_quotient(generators[k]);
      if (!image) throw InternalError("a generator does not respect its own invariant classes");
      if (image->is_identity()) continue;
      generator_index_.push_back(k);
      quotient_generators.push_back(std::move(*image));
    }
    if (quotient_generators.empty()) return;

    std::optional<KnownOrder> known;
    if (known_order) {
      Order classes_order;
      for (const auto& members : classes_) classes_order.multiply_factorial(static_cast<std::uint32_t>(members.size()));
      if (classes_order.factorials() == known_order->factorials()) {
        known = {known_order->rest(), exact};
      } else if (const auto whole = known_order->value(20000)) {
        known = {*whole / *classes_order.value(20001), exact};
      }
    }
    std::vector<std::vector<Point>> symmetric;
    for (const Permutation& g : quotient_generators) {
      if (is_transposition(g)) symmetric.push_back(g.moved());
    }
    Fold fold;
    if (symmetric.empty()) fold = find_fold(static_cast<Point>(least_of_.size()), quotient_generators, budget);
    fold_quotient(fold);
    if (symmetric.empty() && !fold.any) symmetric = split(quotient_generators, known, budget);
    if (symmetric.empty() && !fold.any) return;
    // Symmetric on points that are no classes: these are classes of this level, which must be found before going on.
    std::vector<std::vector<Point>> own;
    for (const auto& members : symmetric) {
      if (size_of_[members.front()] == 1) own.push_back(members);
    }
    if (own.empty()) own = descend(symmetric, quotient_generators, known, budget);
    if (own.empty()) return;
    next_.reset();
    for (const auto& members : own) {
      for (std::size_t k = 1; k < members.size(); ++k) pairs.emplace_back(least_of_[members[k - 1]], least_of_[members[k]]);
    }
  }
}

void Analysis::fold_quotient(const Fold& fold) {
  folded_.clear();
  copies_.clear();
  orbit_.clear();
  if (!fold.any) return;
  orbit_ = fold.orbit;
  folded_.resize(fold.base.size());
  for (Point q = 0; q < folded_.size(); ++q) {
    if (fold.base[q] != q) continue;
    folded_[q] = static_cast<Point>(copies_.size());
    copies_.push_back(0);
  }
  for (Point q = 0; q < folded_.size(); ++q) {
    folded_[q] = folded_[fold.base[q]];
    ++copies_[folded_[q]];
  }
}

std::vector<std::vector<Point>> Analysis::descend(const std::vector<std::vector<Point>>& symmetric, const std::vector<Permutation>& generators,
                                                  const std::optional<KnownOrder>& known, const Budget& budget) {
  const Order quotient_known = known ? Order(known->value) : Order();
  std::vector<std::vector<Point>> own;
  std::vector<Point> single;  // the quotient point that alone stands behind a point of next_, where there is one
  if (folded_.empty()) {
    next_ = std::make_unique<Analysis>(static_cast<Point>(least_of_.size()), symmetric, generators, known ? &quotient_known : nullptr, !known || known->exact, budget);
    single.resize(least_of_.size());
    std::iota(single.begin(), single.end(), Point{0});
  } else {
    std::vector<Permutation> folded;
    for (const Permutation& g : generators) {
      auto image = to_folded(g);
      if (!image) throw InternalError("a generator does not respect the copies of an orbit");
      folded.push_back(std::move(*image));
    }
    next_ = std::make_unique<Analysis>(static_cast<Point>(copies_.size()), std::vector<std::vector<Point>>{}, folded, known ? &quotient_known : nullptr, !known || known->exact, budget);
    single.assign(copies_.size(), none);
    for (Point q = 0; q < folded_.size(); ++q) {
      if (copies_[folded_[q]] == 1) single[folded_[q]] = q;
    }
  }
  for (const auto& members : next_->classes()) {
    const Point q = single[members.front()];
    if (q == none || size_of_[q] != 1) continue;
    own.emplace_back();
    for (const Point x : members) own.back().push_back(single[x]);
  }
  return own;
}

std::optional<Permutation> Analysis::to_folded(const Permutation& quotient) const {
  if (folded_.empty()) return quotient;
  std::map<Point, std::pair<Point, Point>> targets;  // point of next_ -> its image, number of copies that moved there
  for (std::size_t k = 0; k < quotient.moved().size(); ++k) {
    const Point q = quotient.moved()[k], r = quotient.image()[k];
    if (orbit_[q] != orbit_[r]) return std::nullopt;
    auto& [target, count] = targets.emplace(folded_[q], std::pair{folded_[r], Point{0}}).first->second;
    if (target != folded_[r]) return std::nullopt;
    ++count;
  }
  std::vector<Point> moved, image;
  for (const auto& [x, target] : targets) {
    if (target.second != copies_[x]) return std::nullopt;
    moved.push_back(x);
    image.push_back(target.first);
  }
  return Permutation::from_support(std::move(moved), std::move(image));
}

void Analysis::number_quotient(const std::vector<Permutation>& generators) {
  quotient_of_.assign(degree_, none);
  for (const Permutation& g : generators) {
    for (const Point x : g.moved()) quotient_of_[x] = 0;
  }
  for (const auto& members : classes_) {
    for (const Point x : members) quotient_of_[x] = none;
    quotient_of_[members.front()] = 0;
  }
  least_of_.clear();
  for (Point x = 0; x < degree_; ++x) {
    if (quotient_of_[x] == none) continue;
    quotient_of_[x] = static_cast<Point>(least_of_.size());
    least_of_.push_back(x);
  }
  size_of_.assign(least_of_.size(), 1);
  for (const auto& members : classes_) {
    const Point q = quotient_of_[members.front()];
    size_of_[q] = static_cast<Point>(members.size());
    for (const Point x : members) quotient_of_[x] = q;
  }
}

std::optional<Permutation> Analysis::to_quotient(const Permutation& permutation) const {
  if (!permutation.moved().empty() && permutation.moved().back() >= degree_) return std::nullopt;
  struct Step {
    Point from, to;
  };
  std::vector<Step> steps;
  steps.reserve(permutation.moved().size());
  for (std::size_t k = 0; k < permutation.moved().size(); ++k) {
    const Point from = quotient_of_[permutation.moved()[k]], to = quotient_of_[permutation.image()[k]];
    if (from == none || to == none) return std::nullopt;
    steps.push_back({from, to});
  }
  std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.from != b.from ? a.from < b.from : a.to < b.to; });
  std::vector<Point> moved, image;
  for (std::size_t k = 0; k < steps.size();) {
    std::size_t end = k;
    while (end < steps.size() && steps[end].from == steps[k].from) ++end;
    const Point from = steps[k].from, to = steps[k].to;
    if (steps[end - 1].to != to) return std::nullopt;
    if (from != to) {
      // The whole class has to move, onto a class as large; a bijection that does this everywhere permutes the classes.
      if (end - k != size_of_[from] || size_of_[from] != size_of_[to]) return std::nullopt;
      moved.push_back(from);
      image.push_back(to);
    }
    k = end;
  }
  return Permutation::from_support(std::move(moved), std::move(image));
}

std::vector<std::vector<Point>> Analysis::split(const std::vector<Permutation>& generators, const std::optional<KnownOrder>& known, const Budget& budget) {
  const auto size = static_cast<Point>(least_of_.size());
  UnionFind linked(size);
  for (const Permutation& g : generators) {
    for (const Point x : g.moved()) linked.unite(g.moved().front(), x);
  }
  components_.clear();
  place_.assign(size, {std::numeric_limits<std::uint32_t>::max(), 0});
  std::vector<std::uint32_t> component_of(size, std::numeric_limits<std::uint32_t>::max());
  for (std::size_t k = 0; k < generators.size(); ++k) {
    std::uint32_t& component = component_of[linked.find(generators[k].moved().front())];
    if (component == std::numeric_limits<std::uint32_t>::max()) {
      component = static_cast<std::uint32_t>(components_.size());
      components_.emplace_back();
    }
    components_[component].generators.push_back(k);
  }
  for (Point x = 0; x < size; ++x) {
    const std::uint32_t component = component_of[linked.find(x)];
    if (component == std::numeric_limits<std::uint32_t>::max()) continue;
    place_[x] = {component, static_cast<Point>(components_[component].points.size())};
    components_[component].points.push_back(x);
  }

  std::vector<std::vector<Point>> symmetric;
  auto found = [&](const Component& component, const std::vector<Point>& members) {
    symmetric.emplace_back();
    for (const Point x : members) symmetric.back().push_back(component.points[x]);
  };
  for (Component& component : components_) {
    const auto degree = static_cast<Point>(component.points.size());
    if (static_cast<std::uint64_t>(degree) * component.generators.size() > most_dense_entries) {
      throw OutOfReach("a group with " + std::to_string(component.generators.size()) + " entangled generators on " + std::to_string(degree) +
                            " points is beyond the stabiliser chain (2^31 images)");
    }
    budget.ask(static_cast<std::uint64_t>(degree) * component.generators.size() * sizeof(Point));
    std::vector<Images> images;
    for (const std::size_t k : component.generators) {
      Images dense(degree);
      std::iota(dense.begin(), dense.end(), Point{0});
      for (std::size_t i = 0; i < generators[k].moved().size(); ++i) dense[place_[generators[k].moved()[i]].second] = place_[generators[k].image()[i]].second;
      images.push_back(std::move(dense));
    }
    const Giant giant = recognise_giant(degree, images, budget);
    if (giant == Giant::symmetric) {
      std::vector<Point> all(degree);
      std::iota(all.begin(), all.end(), Point{0});
      found(component, all);
      continue;
    }
    if (giant == Giant::alternating) {
      component.alternating = true;
      constexpr Point most_multiplied_out = 400;
      const bool is_long = degree > most_multiplied_out;
      mpz_class rest = static_cast<unsigned long>(static_cast<std::uint64_t>(degree) * (degree - 1) / 2);
      if (is_long) component.order.multiply_factorial(degree - 2);
      for (Point k = 2; !is_long && k + 2 <= degree; ++k) rest *= k;
      component.order.multiply(rest);
      component.images = std::move(images);
      continue;
    }
    const auto known_here = components_.size() == 1 ? known : std::nullopt;
    // Few points fix everything in a group of small order: its chain is short.
    const bool is_small = degree < least_reduced || (known_here && Order(known_here->value).log10() < short_chain * std::log10(degree));
    if (!is_small) component.reduction = find_reduction(degree, images, known_here, budget);
    if (component.reduction) {
      component.order = component.reduction->order();
      if (known_here && known_here->exact && !(component.order == Order(known_here->value))) throw InternalError("a group on few blocks has another order than the one it was told");
    } else {
      component.chain = std::make_unique<StabiliserChain>(degree, images, std::vector<Point>{}, known_here, budget);
      component.order.multiply(component.chain->order());
    }
    std::vector<std::size_t> kept;
    for (const std::size_t k : component.reduction ? component.reduction->irredundant() : component.chain->irredundant()) {
      kept.push_back(component.generators[k]);
      component.images.push_back(std::move(images[k]));
    }
    component.generators = std::move(kept);
    if (degree > largest_searched) continue;
    // x ~ y when (x y) is a member: an invariant equivalence, so one row per orbit decides; all members of it are named.
    std::vector<Permutation> sparse;
    for (const Images& g : component.images) sparse.push_back(Permutation::from_images(g));
    const std::vector<Point> orbit = compute_orbits(degree, {}, sparse);
    Images swap(degree);
    std::iota(swap.begin(), swap.end(), Point{0});
    for (Point x = 0; x < degree; ++x) {
      if (orbit[x] != x) continue;
      for (Point y = x + 1; y < degree; ++y) {
        if (orbit[y] != x) continue;
        budget.poll();
        std::swap(swap[x], swap[y]);
        if (component.contains(swap)) found(component, {x, y});
        std::swap(swap[x], swap[y]);
      }
    }
  }
  if (!symmetric.empty()) {
    components_.clear();
    place_.clear();
  }
  return symmetric;
}

std::vector<std::size_t> Analysis::irredundant() const {
  std::vector<std::size_t> kept;
  if (!next_) {
    for (const Component& component : components_) {
      for (const std::size_t k : component.generators) kept.push_back(generator_index_[k]);
    }
    std::sort(kept.begin(), kept.end());
    return kept;
  }
  // Quotient classes are nobody's own list of classes, so generators that only serve them stay.
  for (const std::size_t k : next_->useful_) kept.push_back(generator_index_[k]);
  return kept;
}

Order Analysis::quotient_order() const {
  Order order;
  if (next_) return next_->order();
  for (const Component& component : components_) order.multiply(component.order);
  return order;
}

Order Analysis::order() const {
  Order order = quotient_order();
  if (const auto whole = order.value()) order = Order(*whole);
  for (const auto& members : classes_) order.multiply_factorial(static_cast<std::uint32_t>(members.size()));
  return order;
}

bool Analysis::contains(const Permutation& permutation) const {
  const auto image = to_quotient(permutation);
  if (!image) return false;
  if (image->is_identity()) return true;
  if (next_) {
    const auto folded = to_folded(*image);
    return folded && next_->contains(*folded);
  }
  std::map<std::uint32_t, Images> parts;
  for (std::size_t k = 0; k < image->moved().size(); ++k) {
    if (components_.empty()) return false;
    const auto [component, from] = place_[image->moved()[k]];
    if (component >= components_.size()) return false;
    const auto [target, to] = place_[image->image()[k]];
    if (target != component) return false;
    Images& part = parts[component];
    if (part.empty()) {
      part.resize(components_[component].points.size());
      std::iota(part.begin(), part.end(), Point{0});
    }
    part[from] = to;
  }
  for (const auto& [component, part] : parts) {
    if (!components_[component].contains(part)) return false;
  }
  return true;
}

namespace {

using PartialMap = std::vector<std::pair<Point, Point>>;

// Sorts the pairs and drops repetitions; false: a point has two targets, or two points have one.
bool tidy(PartialMap& map) {
  if (!std::is_sorted(map.begin(), map.end())) std::sort(map.begin(), map.end());
  map.erase(std::unique(map.begin(), map.end()), map.end());
  if (std::adjacent_find(map.begin(), map.end(), [](const auto& a, const auto& b) { return a.first == b.first; }) != map.end()) return false;
  std::vector<Point> targets;
  targets.reserve(map.size());
  for (const auto& [x, y] : map) targets.push_back(y);
  if (!std::is_sorted(targets.begin(), targets.end())) std::sort(targets.begin(), targets.end());
  return std::adjacent_find(targets.begin(), targets.end()) == targets.end();
}

}  // namespace

bool Analysis::extends(const std::vector<Point>& from, const std::vector<Point>& to) const {
  if (from.size() != to.size()) throw ArgumentError("a partial map needs one target for every point");
  PartialMap map;
  map.reserve(from.size());
  for (std::size_t k = 0; k < from.size(); ++k) {
    if (from[k] >= degree_ || to[k] >= degree_) throw ArgumentError("a partial map leaves the points of its group");
    map.emplace_back(from[k], to[k]);
  }
  if (!tidy(map)) return false;
  PartialMap quotient;
  quotient.reserve(map.size());
  for (const auto& [x, y] : map) {
    const Point q = quotient_of_[x], r = quotient_of_[y];
    if (q == none) {
      if (x != y) return false;
      continue;
    }
    if (r == none || size_of_[q] != size_of_[r]) return false;
    quotient.emplace_back(q, r);
  }
  if (!tidy(quotient)) return false;
  if (next_) {
    std::vector<Point> sources, targets;
    for (const auto& [q, r] : quotient) {
      if (!folded_.empty() && orbit_[q] != orbit_[r]) return false;
      sources.push_back(folded_.empty() ? q : folded_[q]);
      targets.push_back(folded_.empty() ? r : folded_[r]);
    }
    return next_->extends(sources, targets);
  }
  struct Part {
    std::vector<Point> from, to;
  };
  std::map<std::uint32_t, Part> parts;
  for (const auto& [q, r] : quotient) {
    const bool placed = !place_.empty() && place_[q].first < components_.size();
    if (!placed) {
      if (q != r) return false;
      continue;
    }
    if (place_[r].first != place_[q].first) return false;
    Part& part = parts[place_[q].first];
    part.from.push_back(place_[q].second);
    part.to.push_back(place_[r].second);
  }
  for (const auto& [index, part] : parts) {
    const Component& component = components_[index];
    if (component.alternating) {
      // A_n is (n-2)-transitive; with n-1 or n points given the element is determined, and so is its sign.
      if (part.from.size() + 2 <= component.points.size()) continue;
      if (!is_even(complete_map(static_cast<Point>(component.points.size()), part.from, part.to))) return false;
      continue;
    }
    if (component.reduction) {
      if (!component.reduction->extends(part.from, part.to)) return false;
      continue;
    }
    if (part.from.size() + 1 >= component.points.size()) {
      if (!component.contains(complete_map(static_cast<Point>(component.points.size()), part.from, part.to))) return false;
      continue;
    }
    if (!component.last_prefix || component.last_prefix->first != part.from) {
      component.last_prefix.emplace(part.from, StabiliserChain(static_cast<Point>(component.points.size()), component.images, part.from, KnownOrder{component.chain->order()}, Budget()));
    }
    if (!component.last_prefix->second.extends_prefix(part.to)) return false;
  }
  return true;
}

}  // namespace sightline::group

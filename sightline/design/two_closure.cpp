#include "sightline/design/two_closure.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "sightline/base/error.hpp"
#include "sightline/design/configuration.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::design {

namespace {

constexpr Point most_points_to_compare = 20'000;
constexpr Point most_points_of_table = 5'000;
constexpr std::uint32_t most_in_algebra = 24;
constexpr std::uint64_t most_pairs = 200'000'000;

/// Marks the orbitals that the permutation does not map to themselves.
void mark_broken(const Orbitals& orbitals, const group::Permutation& h, std::vector<bool>& broken,
                 const Budget& budget) {
  const Point n = orbitals.degree();
  std::vector<bool> moves(n, false);
  for (const Point x : h.moved())
    moves[x] = true;
  const std::vector<Point> images = h.images(n);
  const auto compare = [&](Point i, Point j) {
    const std::uint32_t here = orbitals.number(i, j);
    if (orbitals.number(images[i], images[j]) != here)
      broken[here] = true;
  };
  for (Point i = 0; i < n; ++i) {
    budget.poll();
    if (moves[i]) {
      for (Point j = 0; j < n; ++j)
        compare(i, j);
    } else {
      for (const Point j : h.moved())
        compare(i, j);
    }
  }
}

} // namespace

layout::Pattern make_orbital_pattern(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                     const std::vector<std::uint32_t>& colours, const Budget& budget) {
  std::uint64_t pairs = 0;
  for (const std::uint32_t k : chosen)
    pairs += orbitals.list()[k].size;
  if (pairs > most_pairs)
    throw OutOfReach("a pattern of more than 2*10^8 pairs is not written out");
  const Point n = orbitals.degree();
  layout::PatternBuilder builder(n, budget);
  std::vector<Point> part;
  std::vector<std::pair<Point, std::uint32_t>> row;
  std::vector<Point> vertices;
  std::vector<std::uint32_t> row_colours;
  std::vector<std::uint32_t> colour_of(orbitals.list().size(), 0);
  for (std::size_t k = 0; k < chosen.size(); ++k)
    colour_of[chosen[k]] = colours.empty() ? 1 : colours[k];
  for (Point i = 0; i < n; ++i) {
    budget.poll();
    row.clear();
    if (chosen.size() > 4 && n <= 5000) {
      for (Point j = 0; j < n; ++j) {
        if (const std::uint32_t colour = colour_of[orbitals.number(i, j)]; colour != 0)
          row.emplace_back(j, colour);
      }
    } else {
      for (const std::uint32_t k : chosen) {
        orbitals.read_row(k, i, part);
        for (const Point j : part)
          row.emplace_back(j, colour_of[k]);
      }
      std::sort(row.begin(), row.end());
    }
    vertices.clear();
    row_colours.clear();
    for (const auto& [j, colour] : row) {
      vertices.push_back(j);
      row_colours.push_back(colour);
    }
    builder.add_segment(i, builder.add_row_once(vertices, row_colours));
  }
  return builder.build();
}

group::Group compute_automorphisms_of(const Orbitals& orbitals, const std::vector<std::uint32_t>& chosen,
                                      const Budget& budget) {
  symmetry::Structure structure;
  structure.vertices = orbitals.degree();
  structure.vertex_colour.resize(orbitals.degree());
  for (Point i = 0; i < orbitals.degree(); ++i)
    structure.vertex_colour[i] = orbitals.number(i, i);
  std::vector<std::uint32_t> colours(chosen.size());
  for (std::size_t k = 0; k < chosen.size(); ++k)
    colours[k] = static_cast<std::uint32_t>(k + 1);
  const layout::Relation relation(make_orbital_pattern(orbitals, chosen, colours, budget), {}, layout::Cancels::nothing,
                                  orbitals.degree());
  structure.relations.push_back({&relation, {}});
  return symmetry::compute_automorphisms(structure, budget);
}

namespace {

/// Finds two points that, fixed, leave no point of the coloured digraph where it is not told apart from all others.
/// Labels are sums of hashes: equal labels may be an accident, different ones never are.
class TwoPoints {
public:
  static constexpr int most_rounds = 3;

  explicit TwoPoints(const Orbitals& orbitals) : orbitals_(orbitals), n_(orbitals.degree()) {}

  /// |orbit of a| |orbital of b at a| for such a and b, if they are found: the order of G and of G^(2).
  std::optional<mpz_class> find_order(const Budget& budget) {
    const std::vector<Orbital>& list = orbitals_.list();
    const auto largest = std::max_element(list.begin(), list.begin() + orbitals_.diagonal_count(),
                                          [](const Orbital& a, const Orbital& b) { return a.size < b.size; });
    // Where the stabiliser of a moves b most, it is most likely to leave nothing else to move.
    std::vector<const Orbital*> seconds;
    for (const Orbital& orbital : list) {
      if (!orbital.is_diagonal() && orbital.from == largest->from)
        seconds.push_back(&orbital);
    }
    std::stable_sort(seconds.begin(), seconds.end(),
                     [](const Orbital* a, const Orbital* b) { return a->subdegree > b->subdegree; });
    for (std::size_t k = 0; k < std::min<std::size_t>(seconds.size(), 3); ++k) {
      if (tells_all(seconds[k]->from, seconds[k]->to, budget))
        return mpz_class(static_cast<unsigned long>(seconds[k]->size));
    }
    return std::nullopt;
  }

private:
  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9ull;
    return x ^ (x >> 32);
  }

  bool tells_all(Point a, Point b, const Budget& budget) {
    labels_.assign(n_, 0);
    fixed_.assign(n_, false);
    std::vector<Point> fresh{a, b};
    std::size_t told = 0, kinds = 0;
    for (int rounds = 0; rounds <= most_rounds;) {
      // Points that are told apart tell others apart; all pairs are looked at only when that ends.
      for (const Point x : fresh) {
        budget.poll();
        fixed_[x] = true;
        const std::uint64_t name = mix(labels_[x] + (x == a ? 1 : x == b ? 2 : 3));
        for (Point y = 0; y < n_; ++y)
          labels_[y] = mix(labels_[y] + name + orbitals_.number(x, y));
      }
      told += fresh.size();
      if (fresh.empty()) {
        ++rounds;
        std::vector<std::uint64_t> sums(n_, 0);
        for (Point y = 0; y < n_; ++y) {
          budget.poll();
          for (Point x = 0; x < n_; ++x)
            sums[y] += mix(labels_[x] * 31 + orbitals_.number(y, x));
        }
        for (Point y = 0; y < n_; ++y)
          labels_[y] = mix(labels_[y] + sums[y]);
      }
      const bool all_pairs = fresh.empty();
      fresh = find_alone();
      if (told + fresh.size() == n_)
        return true;
      if (all_pairs && kinds_ == kinds)
        return false; // stable
      kinds = kinds_;
    }
    return false;
  }

  /// Points whose label nobody else has, and that were not used yet.
  std::vector<Point> find_alone() {
    order_.resize(n_);
    for (Point x = 0; x < n_; ++x)
      order_[x] = {labels_[x], x};
    std::sort(order_.begin(), order_.end());
    std::vector<Point> alone;
    kinds_ = 0;
    for (Point k = 0; k < n_; ++k) {
      kinds_ += k == 0 || order_[k - 1].first != order_[k].first ? 1u : 0u;
      const bool shared =
          (k > 0 && order_[k - 1].first == order_[k].first) || (k + 1 < n_ && order_[k + 1].first == order_[k].first);
      if (!shared && !fixed_[order_[k].second])
        alone.push_back(order_[k].second);
    }
    return alone;
  }

  const Orbitals& orbitals_;
  Point n_;
  std::size_t kinds_ = 0; ///< different labels
  std::vector<std::uint64_t> labels_;
  std::vector<bool> fixed_;
  std::vector<std::pair<std::uint64_t, Point>> order_;
};

} // namespace
namespace {

/// A few orbitals, with the orbits on points, whose stable colouring tells all orbitals apart; empty when none is
/// found.
std::vector<std::uint32_t> find_telling(const Orbitals& orbitals, const std::vector<std::uint32_t>& by_size,
                                        const Budget& budget) {
  const auto rank = static_cast<std::uint32_t>(orbitals.list().size());
  if (rank > most_in_algebra)
    return {};
  const Configuration configuration(orbitals, budget);
  std::vector<OrbitalSet> layers;
  for (std::uint32_t k = 0; k < orbitals.diagonal_count(); ++k)
    layers.push_back(OrbitalSet{1} << k);
  std::vector<std::uint32_t> chosen;
  while (chosen.size() < by_size.size()) {
    std::uint32_t most = 0, best = 0;
    layers.push_back(0);
    for (const std::uint32_t k : by_size) {
      if (std::find(chosen.begin(), chosen.end(), k) != chosen.end())
        continue;
      layers.back() = OrbitalSet{1} << k;
      const std::vector<std::uint8_t> classes = configuration.refine(layers);
      const std::uint32_t count = *std::max_element(classes.begin(), classes.end()) + 1u;
      if (count > most) {
        most = count;
        best = k;
      }
      if (most == rank)
        break;
    }
    layers.back() = OrbitalSet{1} << best;
    chosen.push_back(best);
    if (most == rank)
      return chosen;
  }
  return {};
}

/// G^(2); `group` with its order when `order_known`, else only its generators.
group::Group find_two_closure(group::Group group, bool order_known, const Orbitals& orbitals, const Budget& budget) {
  const Point n = orbitals.degree();
  if (n >= 2 && orbitals.diagonal_count() == 1 && orbitals.list().size() == 2)
    return group::make_symmetric_group(n);
  if (group.symmetric_classes.empty() && n <= most_points_of_table) {
    if (auto order = TwoPoints(orbitals).find_order(budget)) {
      group.order = group::Order(*order);
      return group;
    }
  }
  std::vector<std::uint32_t> by_size;
  for (std::uint32_t k = orbitals.diagonal_count(); k < orbitals.list().size(); ++k) {
    if (k <= orbitals.list()[k].paired)
      by_size.push_back(k); // an orbital and its pair say the same
  }
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](auto a, auto b) { return orbitals.list()[a].size < orbitals.list()[b].size; });
  std::vector<std::uint32_t> chosen = find_telling(orbitals, by_size, budget);
  if (!chosen.empty()) {
    group::Group closure = compute_automorphisms_of(orbitals, chosen, budget);
    return order_known && closure.order == group.order ? group : closure;
  }
  std::vector<bool> used(orbitals.list().size(), false);
  if (!by_size.empty()) {
    chosen.push_back(by_size.front());
    used[by_size.front()] = true;
  }
  while (true) {
    budget.report("2-closure",
                  by_size.empty() ? 0 : static_cast<double>(chosen.size()) / static_cast<double>(by_size.size()));
    group::Group above = compute_automorphisms_of(orbitals, chosen, budget);
    const bool is_group = order_known && above.order == group.order;
    if (is_group || chosen.size() == by_size.size())
      return is_group ? group : above;
    if (n > most_points_to_compare)
      throw OutOfReach(
          "the 2-closure was not found from few orbitals, and generators are compared on at most 20,000 points");
    std::vector<bool> broken(orbitals.list().size(), false);
    for (const group::Permutation& h : group::list_generators(above, ~std::size_t{0}))
      mark_broken(orbitals, h, broken, budget);
    const auto next = std::find_if(by_size.begin(), by_size.end(), [&](auto k) {
      return !used[k] && (broken[k] || broken[orbitals.list()[k].paired]);
    });
    if (next == by_size.end())
      return above;
    chosen.push_back(*next);
    used[*next] = true;
  }
}

} // namespace

group::Group compute_two_closure(const group::Group& group, const Orbitals& orbitals, const Budget& budget) {
  group::Group closure = find_two_closure(group, true, orbitals, budget);
  return closure.order == group.order ? group : closure;
}

group::Group compute_two_closure(const std::vector<group::Permutation>& generators, const Orbitals& orbitals,
                                 const Budget& budget) {
  group::Group group;
  group.degree = orbitals.degree();
  group.generators = generators;
  std::erase_if(group.generators, [](const group::Permutation& g) { return g.is_identity(); });
  for (Point x = 0; x < orbitals.degree(); ++x)
    group.orbit.push_back(orbitals.list()[orbitals.number(x, x)].from);
  return find_two_closure(std::move(group), false, orbitals, budget);
}

std::optional<group::Order> bound_order(Point degree, const std::vector<group::Permutation>& generators,
                                        const Budget& budget) {
  constexpr Point quickly_proved = 200;
  constexpr std::size_t most_generators = 500;
  if (degree < quickly_proved || degree > most_points_of_table || generators.size() > most_generators)
    return std::nullopt;
  try {
    return compute_two_closure(generators, compute_orbitals(degree, generators, budget), budget).order;
  } catch (const OutOfReach&) {
    return std::nullopt;
  }
}

} // namespace sightline::design

// Which sums a plan's symmetry leaves free: the order of exact mode from the generators of the group.
#include <algorithm>
#include <array>

#include "sightline/base/error.hpp"
#include "sightline/mixer/plan.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::mixer {
namespace {

using group::Group;
using group::Permutation;

// An engine that needs longer than this is not waited for: value order is right for every group.
constexpr double most_seconds = 20;

Group find_group(const std::vector<layout::Relation>& relations, std::int64_t tokens) {
  symmetry::Structure structure;
  structure.vertices = relations.front().vertex_count();
  structure.vertex_colour.assign(structure.vertices, 0);
  std::fill(structure.vertex_colour.begin() + tokens, structure.vertex_colour.end(), 1);
  for (const layout::Relation& relation : relations)
    structure.relations.push_back({&relation, {}});
  return symmetry::compute_automorphisms(structure, Budget(most_seconds, std::nullopt));
}

// Is every generator, on [first, first + extent), of the form x -> (x + c) mod extent, or also (c - x) mod extent?
bool all_turn(const Group& group, std::int64_t first, std::int64_t extent, bool reflections) {
  return std::all_of(group.generators.begin(), group.generators.end(), [&](const Permutation& s) {
    const std::vector<group::Point> images = s.images(group.degree);
    const auto matches = [&](std::int64_t sign) {
      const std::int64_t start = images[static_cast<std::size_t>(first)] - first;
      for (std::int64_t x = 0; x < extent; ++x) {
        const std::int64_t expected = (start + sign * x + extent) % extent;
        if (images[static_cast<std::size_t>(first + x)] - first != expected)
          return false;
      }
      return true;
    };
    return matches(1) || (reflections && matches(-1));
  });
}

bool all_translate(const Group& group, std::int64_t first, std::int64_t extent, std::int64_t columns) {
  const std::int64_t rows = extent / columns;
  return std::all_of(group.generators.begin(), group.generators.end(), [&](const Permutation& s) {
    const std::vector<group::Point> images = s.images(group.degree);
    const std::int64_t start = images[static_cast<std::size_t>(first)] - first;
    for (std::int64_t x = 0; x < extent; ++x) {
      const std::int64_t expected =
          (x / columns + start / columns) % rows * columns + (x % columns + start % columns) % columns;
      if (images[static_cast<std::size_t>(first + x)] - first != expected)
        return false;
    }
    return true;
  });
}

// Twin classes with the singletons, numbered by least member.
void note_twins(const Group& group, SummationOrder& order) {
  constexpr std::uint32_t none = 0xffffffff;
  order.twin_class.assign(group.degree, none);
  std::vector<std::uint32_t> least(group.degree);
  for (std::uint32_t v = 0; v < group.degree; ++v)
    least[v] = v;
  for (const auto& members : group.symmetric_classes)
    for (const group::Point v : members)
      least[v] = members.front();
  std::uint32_t classes = 0;
  for (std::uint32_t v = 0; v < group.degree; ++v)
    order.twin_class[v] = least[v] == v ? classes++ : order.twin_class[least[v]];
  order.classes_are_fixed = std::all_of(group.generators.begin(), group.generators.end(), [&](const Permutation& s) {
    for (std::size_t k = 0; k < s.moved().size(); ++k)
      if (order.twin_class[s.moved()[k]] != order.twin_class[s.image()[k]])
        return false;
    return true;
  });
}

SummationOrder find_order(const Group& group) {
  SummationOrder order;
  if (group.is_trivial()) {
    order.kind = SummationOrder::Kind::natural;
    return order;
  }
  std::vector<bool> moved(group.degree, false);
  for (const auto& members : group.symmetric_classes)
    for (const group::Point v : members)
      moved[v] = true;
  for (const Permutation& s : group.generators)
    for (const group::Point v : s.moved())
      moved[v] = true;
  // From the first to the last vertex that is moved: a reflection keeps its centre.
  const std::int64_t first = std::find(moved.begin(), moved.end(), true) - moved.begin();
  const std::int64_t extent =
      static_cast<std::int64_t>(moved.rend() - std::find(moved.rbegin(), moved.rend(), true)) - first;
  if (group.symmetric_classes.empty()) {
    order.first = first;
    order.extent = extent;
    for (const auto& [kind, reflections] :
         {std::pair{SummationOrder::Kind::cyclic, false}, std::pair{SummationOrder::Kind::dihedral, true}}) {
      if (all_turn(group, first, extent, reflections)) {
        order.kind = kind;
        return order;
      }
    }
    for (std::int64_t columns = 2; columns < extent; ++columns) {
      if (extent % columns == 0 && all_translate(group, first, extent, columns)) {
        order.kind = SummationOrder::Kind::torus;
        order.columns = columns;
        return order;
      }
    }
    order.first = order.extent = 0;
  }
  order.kind = SummationOrder::Kind::value;
  note_twins(group, order);
  return order;
}

} // namespace

const SummationOrder& Plan::order() const {
  std::call_once(order_once_, [this] {
    if (relations_.empty())
      return; // full and pooling plans: everything may be exchanged
    try {
      order_ = find_order(find_group(relations_, reader_tokens_));
    } catch (const BudgetExhausted&) {
      order_ = {};
    }
  });
  return order_;
}

} // namespace sightline::mixer

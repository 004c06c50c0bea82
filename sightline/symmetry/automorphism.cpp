#include "sightline/symmetry/automorphism.hpp"

#include <algorithm>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/symmetry/search.hpp"
#include "sightline/symmetry/shared_rows.hpp"
#include "sightline/symmetry/small_graph.hpp"
#include "sightline/symmetry/tower.hpp"
#include "sightline/symmetry/verification.hpp"

namespace sightline::symmetry {

namespace {

group::Permutation to_permutation(const MovedPairs& moved) {
  std::vector<Vertex> from, to;
  from.reserve(moved.size());
  to.reserve(moved.size());
  for (const auto& [x, y] : moved) {
    from.push_back(x);
    to.push_back(y);
  }
  return group::Permutation::from_support(std::move(from), std::move(to));
}

}  // namespace

Structure make_structure(const layout::Layout& layout) {
  Structure structure;
  structure.vertices = layout.vertices();
  structure.vertex_colour = layout.vertex_colour;
  // A layout whose blind layers are hidden keeps their relations, and no layer reads by them.
  std::vector<bool> used(layout.relations.size(), layout.order.empty());
  for (const std::uint32_t layer : layout.order) {
    for (const std::uint32_t r : layout.layers[layer].relations) used[r] = true;
  }
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    if (used[r]) structure.relations.push_back({&layout.relations[r], {}});
  }
  return structure;
}

namespace {

group::Group search_tower(TwinTower tower, Vertex vertices, Vertex tokens, const Budget& budget, SearchRecord* record) {
  const Automorphisms found = tower.search(tokens, budget);
  if (record != nullptr) {
    *record = {found.is_tight, {}, {}, tower.inner_colours()};
    for (const MovedPairs& quotient : found.generators) {
      MovedPairs& moved = record->generators.emplace_back();
      moved.reserve(quotient.size());
      for (const auto& [x, y] : quotient) moved.emplace_back(tower.first_of_fibre(x), tower.first_of_fibre(y));
      sort_moved(moved, vertices);
    }
    for (const Vertex v : found.path) record->path.push_back(tower.first_of_fibre(v));
  }

  group::Group group;
  group.degree = tokens;
  // Only tokens count; a map moves tokens to tokens, so leaving out the rest is the restriction.
  const auto add_generator = [&](MovedPairs moved) {
    std::erase_if(moved, [tokens](const auto& pair) { return pair.first >= tokens; });
    if (moved.empty()) return;
    if (std::any_of(moved.begin(), moved.end(), [tokens](const auto& pair) { return pair.second >= tokens; })) {
      throw ArgumentError("an automorphism mixes tokens with other vertices");
    }
    group.generators.push_back(to_permutation(moved));
  };
  std::vector<TwinFibres> all_twins = tower.take_twins();
  group.symmetric_classes.reserve(all_twins.size());
  for (TwinFibres& twins : all_twins) {
    std::vector<Vertex>& members = twins.vertices;
    if (members.front() >= tokens) continue;
    group.order.multiply_factorial(twins.count());
    if (twins.length == 1) {
      group.symmetric_classes.push_back(std::move(members));
      continue;
    }
    for (std::size_t k = 0; k + twins.length < members.size(); k += twins.length) {
      MovedPairs moved;
      for (std::size_t p = k; p < k + twins.length; ++p) {
        moved.emplace_back(members[p], members[p + twins.length]);
        moved.emplace_back(members[p + twins.length], members[p]);
      }
      std::sort(moved.begin(), moved.end());
      add_generator(std::move(moved));
    }
  }
  std::vector<Vertex> images;
  for (const MovedPairs& generator : found.generators) {
    if (vertices != tokens || generator.size() * std::uint64_t{8} < tower.fibres()) {
      add_generator(tower.lift(generator));
      continue;
    }
    images.resize(tokens);
    std::iota(images.begin(), images.end(), Vertex{0});
    for (const auto& [x, y] : generator) {
      const auto from = tower.fibre(x), to = tower.fibre(y);
      for (std::size_t k = 0; k < from.size(); ++k) images[from[k]] = to[k];
    }
    group.generators.push_back(group::Permutation::from_images(images));
  }
  group.order.multiply(found.order);
  // All vertices of a fibre are in one orbit already.
  std::vector<Vertex> least(tower.fibres());
  for (Vertex v = 0; v < tower.fibres(); ++v) least[v] = tower.first_of_fibre(v);
  if (!found.generators.empty()) {
    Orbits orbits(tower.fibres());
    for (const MovedPairs& generator : found.generators) orbits.join(generator);
    std::vector<Vertex> orbit(tower.fibres());
    for (Vertex v = 0; v < tower.fibres(); ++v) {
      orbit[v] = orbits.find(v);
      least[orbit[v]] = std::min(least[orbit[v]], least[v]);
    }
    for (Vertex v = 0; v < tower.fibres(); ++v) least[v] = least[orbit[v]];
  }
  group.orbit.resize(tokens);
  for (Vertex v = 0; v < tower.fibres(); ++v) {
    for (const Vertex x : tower.fibre(v)) {
      if (x < tokens) group.orbit[x] = least[v];
    }
  }
  return group;
}

}  // namespace

// The functions below work on a copy of the caller's budget: what they book is given back when they return.

group::Group compute_token_automorphisms(const Structure& structure, Vertex tokens, const Budget& callers_budget, SearchRecord* record) {
  const Budget budget = callers_budget;
  if (tokens > structure.vertices) throw ArgumentError("a structure has at least as many vertices as tokens");
  return search_tower(TwinTower::make_for_search(structure, tokens, budget), structure.vertices, tokens, budget, record);
}

std::optional<group::Group> find_listed_group(const layout::Layout& layout, const Budget& callers_budget, SearchRecord* record) {
  const Budget budget = callers_budget;
  // Every list makes a class at least, so most layouts need not be looked at.
  const auto has_many_lists = [](const layout::Relation& relation) { return relation.pattern().lists().size() > most_small_vertices; };
  if (std::any_of(layout.relations.begin(), layout.relations.end(), has_many_lists)) return std::nullopt;
  std::optional<TwinTower> tower = TwinTower::make_listed(make_structure(layout), budget);
  if (!tower) return std::nullopt;
  return search_tower(*std::move(tower), layout.vertices(), layout.tokens, budget, record);
}

group::Group compute_automorphisms(const Structure& structure, const Budget& budget) {
  return compute_token_automorphisms(structure, structure.vertices, budget);
}

group::Group compute_layout_group(const layout::Layout& layout, const Budget& budget, SearchRecord* record) {
  return compute_token_automorphisms(make_structure(layout), layout.tokens, budget, record);
}

std::optional<std::vector<Vertex>> find_isomorphism(const Structure& a, const Structure& b, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  if (a.vertices != b.vertices || a.relations.size() != b.relations.size()) {
    throw ArgumentError("structures with different numbers of vertices or relations are not compared");
  }
  const RunGraph graph_a = make_run_graph(a, budget), graph_b = make_run_graph(b, budget);
  TwinTower tower_a(graph_a), tower_b(graph_b);
  TwinTower::shrink({&tower_a, &tower_b}, budget);
  if (tower_a.graph().vertices != tower_b.graph().vertices) return std::nullopt;
  complete(tower_a.graph(), budget);
  complete(tower_b.graph(), budget);
  const auto quotient_images = search_isomorphism(tower_a.graph(), tower_b.graph(), budget);
  if (!quotient_images) return std::nullopt;
  std::vector<Vertex> images(a.vertices);
  for (Vertex v = 0; v < tower_a.graph().vertices; ++v) {
    const auto from = tower_a.fibre(v), to = tower_b.fibre((*quotient_images)[v]);
    if (from.size() != to.size()) throw InternalError("an isomorphism of quotients maps a class to one of another size");
    for (std::size_t k = 0; k < from.size(); ++k) images[from[k]] = to[k];
  }
  if (!is_isomorphism(graph_a, graph_b, StretchMap(to_moved(images), a.vertices), false, budget)) {
    throw InternalError("an isomorphism did not survive its check");
  }
  return images;
}

bool is_automorphism(const Structure& structure, const group::Permutation& permutation, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  if (!permutation.is_identity() && permutation.moved().back() >= structure.vertices) {
    throw ArgumentError("the permutation moves a point that is not a vertex");
  }
  const RunGraph graph = make_run_graph(structure, budget);
  MovedPairs moved;
  for (std::size_t k = 0; k < permutation.moved().size(); ++k) moved.emplace_back(permutation.moved()[k], permutation.image()[k]);
  return is_isomorphism(graph, graph, StretchMap(std::move(moved), structure.vertices), false, budget);
}

struct AutomorphismTest::State {
  Budget budget;  // a copy: what it books is given back with it
  RunGraph graph;
  std::optional<NamedRows> named;  // instead of graph, where there are shared rows
  std::optional<ArcComparison> arcs;
};

AutomorphismTest::AutomorphismTest(const Structure& structure, const Budget& budget) : state_(new State{budget, {}, {}, {}}) {
  State& state = *state_;
  state.graph = make_run_graph(structure, state.budget);
  state.named = name_shared_rows(state.graph, state.budget);
  if (state.named) state.graph = std::move(state.named->graph);
  complete(state.graph, state.budget);
  if (state.graph.arcs) state.arcs.emplace(state.graph, state.graph, state.budget);
}

AutomorphismTest::~AutomorphismTest() = default;

bool AutomorphismTest::operator()(const group::Permutation& permutation) const {
  State& state = *state_;
  const Vertex vertices = state.named ? state.named->vertices : state.graph.vertices;
  if (!permutation.is_identity() && permutation.moved().back() >= vertices) throw ArgumentError("the permutation moves a point that is not a vertex");
  MovedPairs moved;
  for (std::size_t k = 0; k < permutation.moved().size(); ++k) moved.emplace_back(permutation.moved()[k], permutation.image()[k]);
  if (state.named) {
    std::optional<MovedPairs> extended = state.named->extend(std::move(moved));
    if (!extended) return false;
    moved = *std::move(extended);
  }
  if (state.arcs && state.arcs->is_usable()) return state.arcs->is_isomorphism(moved, true);
  return is_isomorphism(state.graph, state.graph, StretchMap(std::move(moved), state.graph.vertices), true, state.budget);
}

}  // namespace sightline::symmetry

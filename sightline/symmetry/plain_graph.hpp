// Plain relations, read without spans, as a graph of arcs.
#pragma once

#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// Block masks and other structures of many relations have twins as a rule, or are few.
constexpr std::size_t most_plain_relations = 8;

/// The graph, ready to be searched, of relations that are shown in full and have one colour each. A PlainRelation tells `colour` and `symmetric`,
/// has_loop(v), and copies its row or column of v, ascending, to a place: copy_row(v, out), copy_column(v, out).
/// @param vertex_colour  empty: all alike
/// @param listed         neighbours of all vertices in all relations together, at most
/// Rows as spans are left empty: search_automorphisms walks through arcs alone, and the keys of the initial cells are kept in the graph.
template <class PlainRelation>
RunGraph make_plain_graph(Vertex n, std::vector<std::uint64_t> vertex_colour, const std::vector<PlainRelation>& relations, std::uint64_t listed,
                          const Budget& budget) {
  RunGraph graph;
  graph.vertices = n;
  graph.vertex_colour = std::move(vertex_colour);
  if (graph.vertex_colour.empty()) graph.vertex_colour.assign(n, 0);
  graph.initial_keys.resize(n);
  for (Vertex v = 0; v < n; ++v) {
    InitialKey key(graph.vertex_colour[v]);
    for (const PlainRelation& relation : relations) key.add(true, relation.has_loop(v) ? relation.colour : -1);
    graph.initial_keys[v] = key.value();
  }
  struct Weights {
    field::Element reader, read, both;
  };
  std::vector<Weights> weights;
  std::uint64_t bundles = 0;
  for (const PlainRelation& relation : relations) {
    const field::Element weight = arc_weight(static_cast<std::uint32_t>(weights.size()), relation.colour);
    weights.push_back({weight, field::multiply(field::backward_weight, weight), field::multiply(field::add(1, field::backward_weight), weight)});
    RunRelation& shown = graph.relations.emplace_back();
    shown.visible.assign(n, 1);
    shown.symmetric = relation.symmetric;
    bundles += relation.symmetric ? 1 : 2;
  }
  budget.ask(listed * 4 + n * (bundles * sizeof(ArcLists::Bundle) + 4));
  ArcLists lists;
  lists.first_bundle.reserve(std::size_t{n} + 1);
  lists.bundles.reserve(n * bundles);
  lists.neighbours.resize(listed);
  Vertex* const begin = lists.neighbours.data();
  Vertex* out = begin;
  const auto close = [&](const Vertex* from, std::uint32_t kind, std::int64_t colour, field::Element weight) {
    if (out != from) lists.bundles.push_back({colour, weight, kind, static_cast<std::uint32_t>(out - begin)});
  };
  for (Vertex v = 0; v < n; ++v) {
    budget.poll();
    lists.first_bundle.push_back(static_cast<std::uint32_t>(lists.bundles.size()));
    for (std::uint32_t r = 0; r < relations.size(); ++r) {
      const PlainRelation& relation = relations[r];
      const Vertex* from = out;
      if (relation.symmetric) {
        out = relation.copy_row(v, out);
        close(from, 3 * r + ArcLists::both, relation.colour, weights[r].both);
        continue;
      }
      out = relation.copy_column(v, out);
      close(from, 3 * r + ArcLists::reader, relation.colour, weights[r].reader);
      from = out;
      out = relation.copy_row(v, out);
      close(from, 3 * r + ArcLists::read, relation.colour, weights[r].read);
    }
  }
  lists.first_bundle.push_back(static_cast<std::uint32_t>(lists.bundles.size()));
  lists.neighbours.resize(static_cast<std::size_t>(out - begin));
  add_matrix(lists, n);
  graph.arcs = std::move(lists);
  return graph;
}

}  // namespace sightline::symmetry

// Plain relations, read without spans, as a graph of arcs.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/head_lists.hpp"
#include "sightline/symmetry/run_graph.hpp"

namespace sightline::symmetry {

/// Block masks and other structures of many relations have twins as a rule, or are few.
constexpr Threshold<std::size_t> most_plain_relations{8, 1, "plain relations"};

/// The graph, ready to be searched, of relations that are shown in full and have one colour each. A PlainRelation tells `colour` and `symmetric`,
/// has_loop(v), and copies its row or column of v, ascending, to a place: copy_row(v, out), copy_column(v, out).
/// @param vertex_colour  empty: all alike
/// @param listed         neighbours of all vertices in all relations together, at most
/// @param order          vertex order[k] becomes number k; empty: numbers stay (a PlainRelation may tell how to prefetch(v))
/// @param rows           without an order: those of the only relation, which is symmetric, one after another: they become the arcs as they are (the relation tells
///                       row_size(v) then). Empty: rows are copied
/// Rows as spans are left empty: search_automorphisms walks through arcs alone, and the keys of the initial cells are kept in the graph.
template <class PlainRelation>
RunGraph make_plain_graph(Vertex n, std::vector<std::uint64_t> vertex_colour, const std::vector<PlainRelation>& relations, std::uint64_t listed,
                          const Budget& budget, const std::vector<Vertex>& order = {}, std::vector<Vertex> rows = {}) {
  const auto vertex_at = [&order](Vertex k) { return order.empty() ? k : order[k]; };
  RunGraph graph;
  graph.vertices = n;
  if (vertex_colour.empty()) vertex_colour.assign(n, 0);
  graph.vertex_colour.resize(n);
  graph.initial_keys.resize(n);
  for (Vertex k = 0; k < n; ++k) {
    const Vertex v = vertex_at(k);
    graph.vertex_colour[k] = vertex_colour[v];
    InitialKey key(vertex_colour[v]);
    for (const PlainRelation& relation : relations) key.add(true, relation.has_loop(v) ? relation.colour : -1);
    graph.initial_keys[k] = key.value();
  }
  std::vector<Vertex> number(order.size());
  for (Vertex k = 0; k < order.size(); ++k) number[order[k]] = k;
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
  const bool are_listed = !rows.empty();
  budget.ask((are_listed ? 0 : listed * 4) + n * (bundles * sizeof(ArcLists::Bundle) + 4));
  ArcLists lists;
  lists.first_bundle.reserve(std::size_t{n} + 1);
  lists.bundles.reserve(n * bundles);
  lists.neighbours = std::move(rows);
  lists.neighbours.resize(listed);
  Vertex* const begin = lists.neighbours.data();
  Vertex* out = begin;
  const auto close = [&](Vertex* from, std::uint32_t kind, std::int64_t colour, field::Element weight) {
    if (!number.empty()) std::for_each(from, out, [&number](Vertex& x) { x = number[x]; });
    if (out != from) lists.bundles.push_back({colour, weight, kind, static_cast<std::uint32_t>(out - begin)});
  };
  for (Vertex k = 0; k < n; ++k) {
    budget.poll();
    const Vertex v = vertex_at(k);
    lists.first_bundle.push_back(static_cast<std::uint32_t>(lists.bundles.size()));
    for (std::uint32_t r = 0; r < relations.size(); ++r) {
      const PlainRelation& relation = relations[r];
      Vertex* from = out;
      if constexpr (requires { relation.prefetch(v); }) {
        if (!order.empty() && n - k > rows_ahead) relation.prefetch(order[k + rows_ahead]);
      }
      if (relation.symmetric) {
        if constexpr (requires { relation.row_size(v); }) {
          out = are_listed ? out + relation.row_size(v) : relation.copy_row(v, out);
        } else {
          out = relation.copy_row(v, out);
        }
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

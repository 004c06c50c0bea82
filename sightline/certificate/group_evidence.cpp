#include "sightline/certificate/group_evidence.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/base/integer_lists.hpp"
#include "sightline/symmetry/even_arcs.hpp"
#include "sightline/symmetry/search.hpp"
#include "sightline/symmetry/tower.hpp"
#include "sightline/symmetry/verification.hpp"

namespace sightline::certificate {

using nlohmann::json;
using symmetry::MovedPairs;
using symmetry::Orbits;
using symmetry::Path;
using symmetry::Refinement;
using symmetry::TwinTower;
using symmetry::Vertex;

namespace {

bool fixes_vertex(const MovedPairs& moved, Vertex v) {
  const auto found = std::lower_bound(moved.begin(), moved.end(), std::pair<Vertex, Vertex>{v, 0});
  return found == moved.end() || found->first != v;
}

/// Writes down the trees that refute partial maps along a path of the left graph into the right one.
class TreeWriter {
public:
  TreeWriter(const Path& path, Refinement& right, const TwinTower& tower, const std::vector<MovedPairs>& known, const Budget& budget)
      : path_(path), right_(right), tower_(tower), known_(known), budget_(budget) {}

  std::vector<Vertex> fixed;   ///< individualised on the right
  json tree = json::array();   ///< depth, vertex, depth, vertex, .. in preorder
  std::size_t levels_used = 0; ///< how much of the path the trees need
  std::function<bool(const MovedPairs&)> is_isomorphism;

  /// False when an isomorphism follows the choices.
  bool refute(std::size_t level, Vertex w, std::uint64_t depth) {
    budget_.poll();
    levels_used = std::max(levels_used, level + 1);
    if (!right_.individualise(w, nullptr, &path_.levels[level].trace)) return true;
    fixed.push_back(w);
    const bool refuted = refute_children(level + 1, depth);
    fixed.pop_back();
    return refuted;
  }

  bool refute_children(std::size_t level, std::uint64_t depth) {
    const symmetry::Partition& partition = right_.partition();
    if (level == path_.levels.size()) {
      std::vector<Vertex> images(path_.leaf.size());
      for (symmetry::Cell cell = 0; cell < partition.cells(); ++cell) images[path_.leaf[cell]] = partition.members(cell).front();
      return !is_isomorphism(symmetry::to_moved(images));
    }
    const auto span = partition.members(path_.levels[level].target);
    std::vector<Vertex> members(span.begin(), span.end());
    std::sort(members.begin(), members.end());
    Orbits orbits(partition.vertices());
    for (const MovedPairs& moved : known_) {
      if (std::all_of(fixed.begin(), fixed.end(), [&](Vertex v) { return fixes_vertex(moved, v); })) orbits.join(moved);
    }
    const std::size_t splits = partition.log().size();
    std::vector<Vertex> names;
    for (const Vertex b : members) {
      if (std::find(names.begin(), names.end(), orbits.find(b)) != names.end()) continue;
      names.push_back(orbits.find(b));
      tree.push_back(depth);
      tree.push_back(tower_.first_of_fibre(b));
      if (!refute(level, b, depth + 1)) return false;
      right_.undo_to(splits);
    }
    return true;
  }

private:
  const Path& path_;
  Refinement& right_;
  const TwinTower& tower_;
  const std::vector<MovedPairs>& known_;
  const Budget& budget_;
};

/// [first, count, image, direction] for each stretch of what moves.
void append_stretches(const MovedPairs& moved, IntegerLists& out) {
  out.open();
  for (std::size_t begin = 0, end = 0; begin < moved.size(); begin = end) {
    int direction = 1;
    for (end = begin + 1; end < moved.size() && moved[end].first == moved[end - 1].first + 1; ++end) {
      const std::int64_t step = std::int64_t{moved[end].second} - moved[end - 1].second;
      if (end == begin + 1 && step == -1) direction = -1;
      if (step != direction) break;
    }
    out.add_list({moved[begin].first, static_cast<std::int64_t>(end - begin), moved[begin].second, direction});
  }
  out.close();
}

json to_text(IntegerLists lists) { return json::binary(std::move(lists).take()); }

json print_generators(const std::vector<MovedPairs>& generators) {
  IntegerLists list;
  list.open();
  for (const MovedPairs& moved : generators) append_stretches(moved, list);
  list.close();
  return to_text(std::move(list));
}

json print_generators(const TwinTower& tower, const std::vector<MovedPairs>& generators) {
  IntegerLists list;
  list.open();
  MovedPairs moved;
  for (const MovedPairs& quotient : generators) {
    moved.clear();
    for (const auto& [x, y] : quotient) moved.emplace_back(tower.first_of_fibre(x), tower.first_of_fibre(y));
    std::sort(moved.begin(), moved.end());
    append_stretches(moved, list);
  }
  list.close();
  return to_text(std::move(list));
}

json print_path(const TwinTower& tower, const Path& path, std::size_t length) {
  json list = json::array();
  for (std::size_t l = 0; l < length; ++l) list.push_back(tower.first_of_fibre(path.levels[l].chosen));
  return list;
}

}  // namespace

json to_evidence(const MovedPairs& moved) {
  IntegerLists stretches;
  append_stretches(moved, stretches);
  return to_text(std::move(stretches));
}

json to_evidence(const group::Permutation& permutation) {
  MovedPairs moved;
  for (std::size_t k = 0; k < permutation.moved().size(); ++k) moved.emplace_back(permutation.moved()[k], permutation.image()[k]);
  return to_evidence(moved);
}

json to_evidence(const std::vector<group::Point>& points) {
  IntegerLists list;
  list.open();
  for (const group::Point p : points) list.add(p);
  list.close();
  return to_text(std::move(list));
}

json to_evidence(const std::vector<std::vector<group::Point>>& classes) {
  IntegerLists lists;
  lists.open();
  for (const auto& members : classes) {
    lists.open();
    for (const group::Point p : members) lists.add(p);
    lists.close();
  }
  lists.close();
  return to_text(std::move(lists));
}

json make_group_evidence(const symmetry::Structure& structure, Vertex tokens, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  // On the graph of the search that answered: on another one it finds other generators of the same group.
  const TwinTower tower = TwinTower::make_for_search(structure, tokens, budget);
  const symmetry::Automorphisms found = tower.search(tokens, budget);
  if (found.is_tight) {
    json chosen = json::array();
    for (const Vertex v : found.path) chosen.push_back(tower.first_of_fibre(v));
    return {{"failed", json::array()}, {"generators", print_generators(tower, found.generators)}, {"path", std::move(chosen)}, {"twins", tower.inner_colours()}};
  }
  const symmetry::RunGraph& graph = tower.graph();
  const std::vector<std::uint8_t> prefer = tower.prefer_tokens(tokens);
  json failed = json::array();
  Path path;
  std::size_t counted = 0, length = 0;
  if (graph.vertices > 0) {
    // The path that the search took: along another one its generators need not be strong.
    const std::optional<symmetry::RunGraph> fewer = symmetry::drop_even_arcs(graph, budget);
    Refinement refinement(fewer ? *fewer : graph, budget);
    path = symmetry::follow_first_path(refinement, prefer, budget);
    while (counted < path.levels.size() && (prefer.empty() || prefer[path.levels[counted].chosen] != 0)) ++counted;
    length = counted;
    std::map<Vertex, std::size_t> level_of;
    for (std::size_t l = 0; l < path.levels.size(); ++l) level_of[path.levels[l].chosen] = l;
    // Generators by the first path vertex that they move: those further down fix everything before.
    std::vector<std::vector<const MovedPairs*>> first_moved(path.levels.size() + 1);
    for (const MovedPairs& moved : found.generators) {
      std::size_t first = path.levels.size();
      for (const auto& [x, y] : moved) {
        if (const auto level = level_of.find(x); level != level_of.end()) first = std::min(first, level->second);
      }
      first_moved[first].push_back(&moved);
    }
    Orbits orbits(graph.vertices);
    TreeWriter writer(path, refinement, tower, found.generators, budget);
    writer.is_isomorphism = [&](const MovedPairs& moved) {
      return symmetry::is_isomorphism(graph, graph, symmetry::StretchMap(moved, graph.vertices), true, budget);
    };
    for (std::size_t l = path.levels.size() + 1; l-- > 0;) {
      for (const MovedPairs* moved : first_moved[l]) orbits.join(*moved);
      if (l >= counted) continue;
      const symmetry::PathLevel& level = path.levels[l];
      refinement.undo_to(level.splits_before);
      if (orbits.size(level.chosen) == refinement.partition().size(level.target)) continue;
      const auto span = refinement.partition().members(level.target);
      std::vector<Vertex> members(span.begin(), span.end());
      std::sort(members.begin(), members.end());
      std::vector<bool> known(graph.vertices, false);
      known[orbits.find(level.chosen)] = true;
      for (const Vertex w : members) {
        if (known[orbits.find(w)]) continue;
        known[orbits.find(w)] = true;
        refinement.undo_to(level.splits_before);
        writer.tree = json::array();
        writer.fixed.clear();
        for (std::size_t k = 0; k < l; ++k) writer.fixed.push_back(path.levels[k].chosen);
        if (!writer.refute(l, w, 1)) throw InternalError("an automorphism was found where the search found none");
        failed.push_back({l, tower.first_of_fibre(w), std::move(writer.tree)});
      }
      refinement.undo_to(level.splits_before);
    }
    length = std::max(counted, writer.levels_used);
  }
  return {{"failed", std::move(failed)},
          {"generators", print_generators(tower, found.generators)},
          {"path", print_path(tower, path, length)},
          {"twins", tower.inner_colours()}};
}

json to_evidence(const symmetry::SearchRecord& record) {
  if (!record.is_tight) throw ArgumentError("a search that is not tight leaves subtrees to be refuted");
  return {{"failed", json::array()}, {"generators", print_generators(record.generators)}, {"path", record.path}, {"twins", record.inner_colours}};
}

json make_no_isomorphism_evidence(const symmetry::Structure& a, const symmetry::Structure& b, const std::vector<std::pair<Vertex, Vertex>>& pairs,
                                  const Budget& callers_budget) {
  const Budget budget = callers_budget;
  json evidence = {{"generators", print_generators({})}, {"path", json::array()}, {"tree", json::array()}, {"twins", json::array()}};
  if (a.vertices != b.vertices || a.relations.size() != b.relations.size()) return evidence;
  symmetry::Structure left = a, right = b;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> names;
  const auto recolour = [&](symmetry::Structure& structure, bool first) {
    std::vector<std::size_t> pair_of(structure.vertices, 0);
    for (std::size_t k = 0; k < pairs.size(); ++k) pair_of[first ? pairs[k].first : pairs[k].second] = k + 1;
    for (Vertex v = 0; v < structure.vertices; ++v) {
      structure.vertex_colour[v] = names.try_emplace({pair_of[v], structure.vertex_colour[v]}, names.size()).first->second;
    }
  };
  recolour(left, true);
  recolour(right, false);
  TwinTower left_tower(symmetry::make_run_graph(left, budget)), right_tower(symmetry::make_run_graph(right, budget));
  TwinTower::shrink({&left_tower, &right_tower}, budget);
  evidence["twins"] = left_tower.inner_colours();
  if (left_tower.graph().vertices != right_tower.graph().vertices || left_tower.graph().vertices == 0) return evidence;
  symmetry::complete(left_tower.graph(), budget);
  symmetry::complete(right_tower.graph(), budget);
  Refinement left_cells(left_tower.graph(), budget), right_cells(right_tower.graph(), budget);
  const Path path = symmetry::follow_first_path(left_cells, {}, budget);
  if (!right_cells.refine_initial(nullptr, &path.root)) return evidence;
  const symmetry::Automorphisms known = symmetry::search_automorphisms(right_tower.graph(), {}, budget);
  TreeWriter writer(path, right_cells, right_tower, known.generators, budget);
  writer.is_isomorphism = [&](const MovedPairs& moved) {
    return symmetry::is_isomorphism(left_tower.graph(), right_tower.graph(), symmetry::StretchMap(moved, a.vertices), false, budget);
  };
  if (!writer.refute_children(0, 1)) throw ArgumentError("there is an isomorphism after all");
  evidence["generators"] = print_generators(right_tower, known.generators);
  evidence["path"] = print_path(left_tower, path, writer.levels_used);
  evidence["tree"] = std::move(writer.tree);
  return evidence;
}

}  // namespace sightline::certificate

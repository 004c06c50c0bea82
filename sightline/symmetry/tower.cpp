#include "sightline/symmetry/tower.hpp"

#include <algorithm>
#include <numeric>

#include "sightline/symmetry/listed_twins.hpp"
#include "sightline/symmetry/shared_rows.hpp"
#include "sightline/symmetry/small_graph.hpp"

namespace sightline::symmetry {

TwinTower::TwinTower(RunGraph graph) : graph_(std::move(graph)), begin_(std::size_t{graph_.vertices} + 1), fibre_(graph_.vertices) {
  std::iota(begin_.begin(), begin_.end(), std::uint32_t{0});
  std::iota(fibre_.begin(), fibre_.end(), Vertex{0});
}

MovedPairs TwinTower::lift(const MovedPairs& moved) const {
  if (fibres() == fibre_.size() && !is_renumbered_) return moved;
  MovedPairs lifted;
  for (const auto& [x, y] : moved) {
    for (std::uint32_t k = 0; k < begin_[x + 1] - begin_[x]; ++k) lifted.emplace_back(fibre_[begin_[x] + k], fibre_[begin_[y] + k]);
  }
  sort_moved(lifted, static_cast<Vertex>(fibre_.size()));
  return lifted;
}

void TwinTower::renumber(const std::vector<Vertex>& order) {
  is_renumbered_ = true;
  std::vector<std::uint32_t> begin{0};
  std::vector<Vertex> fibre;
  begin.reserve(begin_.size());
  fibre.reserve(fibre_.size());
  for (const Vertex v : order) {
    fibre.insert(fibre.end(), fibre_.begin() + begin_[v], fibre_.begin() + begin_[v + 1]);
    begin.push_back(static_cast<std::uint32_t>(fibre.size()));
  }
  begin_ = std::move(begin);
  fibre_ = std::move(fibre);
}

std::vector<std::uint32_t> TwinTower::join(const TwinClasses& classes) {
  std::vector<std::uint32_t> begin{0}, sizes;
  std::vector<Vertex> members;
  begin.reserve(std::size_t{classes.size()} + 1);
  sizes.reserve(classes.size());
  const bool is_first = fibres() == fibre_.size();  // every fibre is a vertex
  if (is_first) members = classes.members;
  else members.reserve(fibre_.size());
  for (std::uint32_t k = 0; k < classes.size(); ++k) {
    const std::uint32_t first = classes.begin[k], end = classes.begin[k + 1];
    const std::uint32_t length = begin_[classes.members[first] + 1] - begin_[classes.members[first]];
    if (!is_first) {
      for (std::uint32_t m = first; m < end; ++m) members.insert(members.end(), fibre(classes.members[m]).begin(), fibre(classes.members[m]).end());
    }
    begin.push_back(is_first ? end : static_cast<std::uint32_t>(members.size()));
    // All members have fibres of one length, except that the second vertex of a stretch stands for the rest of it.
    sizes.push_back((begin[k + 1] - begin[k]) / length);
    if (end - first > 1) twins_.push_back({{members.begin() + begin[k], members.begin() + begin[k + 1]}, length});
  }
  begin_ = std::move(begin);
  fibre_ = std::move(members);
  return sizes;
}

void TwinTower::apply(const TwinClasses& classes, ColourNames& names, const Budget& budget) {
  const std::vector<std::uint32_t> sizes = join(classes);
  graph_ = make_quotient(graph_, classes, sizes, names, budget);
}

void TwinTower::complete_for_search(Vertex tokens, const Budget& budget) {
  if (tokens == fibre_.size()) {
    if (auto named = name_shared_rows(graph_, budget)) graph_ = std::move(named->graph);
  }
  complete(graph_, budget);
}

std::vector<std::uint8_t> TwinTower::prefer_tokens(Vertex tokens) const {
  const std::size_t fibres = begin_.size() - 1;
  std::vector<std::uint8_t> prefer;
  if (tokens == fibre_.size() && graph_.vertices == fibres) return prefer;
  for (Vertex v = 0; v < graph_.vertices; ++v) prefer.push_back(v < fibres && first_of_fibre(v) < tokens ? 1 : 0);
  return prefer;
}

Automorphisms TwinTower::search(Vertex tokens, const Budget& budget) const {
  if (is_rigid_) return {};
  Automorphisms found = search_automorphisms(graph_, prefer_tokens(tokens), budget);
  for (MovedPairs& moved : found.generators) std::erase_if(moved, [this](const auto& pair) { return pair.first + 1 >= begin_.size(); });
  return found;
}

TwinTower TwinTower::make_shrunk(const Structure& structure, const Budget& budget) { return make_shrunk(structure, false, budget); }

TwinTower TwinTower::make_shrunk(const Structure& structure, bool is_for_search, const Budget& budget) {
  ColourNames names;
  std::optional<TwinTower> tower = start_short(structure, is_for_search, names, budget);
  if (!tower) tower = start_listed(structure, structure.vertices, is_for_search, names, budget);
  if (tower && tower->is_ready()) return *std::move(tower);
  if (!tower) tower.emplace(make_run_graph(structure, budget));
  shrink_on({&*tower}, names, budget);
  return *std::move(tower);
}

TwinTower TwinTower::make_for_search(const Structure& structure, Vertex tokens, const Budget& budget) {
  if (std::optional<RunGraph> small = make_small_graph(structure, budget)) return TwinTower(*std::move(small));
  if (std::optional<TwinTower> written = make_written(structure, budget)) return *std::move(written);
  TwinTower tower = make_shrunk(structure, true, budget);
  if (!tower.is_ready()) tower.complete_for_search(tokens, budget);
  return tower;
}

std::optional<TwinTower> TwinTower::make_listed(const Structure& structure, const Budget& budget) {
  ColourNames names;
  std::optional<TwinTower> tower = start_listed(structure, most_small_vertices, true, names, budget);
  if (tower && !tower->is_ready()) tower.reset();
  return tower;
}

std::optional<TwinTower> TwinTower::start_listed(const Structure& structure, Vertex most_classes, bool may_be_complete, ColourNames& names, const Budget& budget) {
  std::optional<ListedTwins> found = find_listed_twins(structure, most_classes, budget);
  if (!found) return std::nullopt;
  RunGraph start;
  start.vertices = structure.vertices;
  TwinTower tower(std::move(start));
  tower.inner_colours_.push_back(std::move(found->inner_colours));
  const Structure quotient = found->make_structure(structure.vertex_colour, tower.join(found->classes), names);
  std::optional<RunGraph> small = may_be_complete ? make_small_graph(quotient, budget) : std::nullopt;
  tower.graph_ = small ? *std::move(small) : make_run_graph(quotient, budget);
  return tower;
}

void TwinTower::shrink(const std::vector<TwinTower*>& towers, const Budget& budget) {
  ColourNames names;
  shrink_on(towers, names, budget);
}

void TwinTower::shrink_on(const std::vector<TwinTower*>& towers, ColourNames& names, const Budget& budget) {
  while (true) {
    budget.poll();
    std::vector<const RunGraph*> graphs;
    for (const TwinTower* tower : towers) graphs.push_back(&tower->graph_);
    const auto classes = find_twins(graphs, budget);
    if (!classes) return;
    const auto inner_colours = list_inner_colours(graphs);
    for (TwinTower* tower : towers) tower->inner_colours_.push_back(inner_colours);
    for (std::size_t k = 0; k < towers.size(); ++k) towers[k]->apply((*classes)[k], names, budget);
    const Vertex after = towers.front()->graph_.vertices;
    for (const TwinTower* tower : towers) {
      if (tower->graph_.vertices != after) return;
    }
  }
}

}  // namespace sightline::symmetry

#include "structure.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "graph.hpp"
#include "poll.hpp"
#include "stretches.hpp"
#include "threshold.hpp"

namespace checker {

namespace {


/// Disjoint sets of 0 .. n-1.
class Orbits {
public:
  explicit Orbits(Vertex n) : parent_(n), size_(n, 1) { std::iota(parent_.begin(), parent_.end(), Vertex{0}); }
  Vertex find(Vertex x) {
    for (; parent_[x] != x; x = parent_[x]) parent_[x] = parent_[parent_[x]];
    return x;
  }
  Vertex size(Vertex x) { return size_[find(x)]; }
  void join(const Moves& moves) {
    for (auto [x, y] : moves) {
      x = find(x);
      y = find(y);
      if (x == y) continue;
      if (size_[x] < size_[y]) std::swap(x, y);
      parent_[y] = x;
      size_[x] += size_[y];
    }
  }

private:
  std::vector<Vertex> parent_, size_;
};

/// Where the vertices of the last quotient are, by the least original vertex of their fibres.
std::vector<std::uint32_t> index_fibres(const Tower& tower, Vertex vertices) {
  std::vector<std::uint32_t> index(vertices, none);
  for (Vertex v = 0; v < tower.fibres(); ++v) index[tower.first(v)] = v;
  return index;
}

Vertex to_quotient(const std::vector<std::uint32_t>& index, std::uint64_t x, const std::string& claim) {
  if (x >= index.size() || index[x] == none) throw Rejected(claim, "vertex " + std::to_string(x) + " stands for no fibre of twins");
  return index[x];
}

/// Automorphisms of the last quotient from the evidence, each confirmed arc by arc.
std::vector<Moves> read_generators(const Tower& tower, const std::vector<std::uint32_t>& index, const Json& list, const std::string& claim) {
  std::vector<Moves> generators;
  Permutation::visit(list, static_cast<Vertex>(index.size()), [&](const Permutation& permutation) {
    Moves moves;
    for (const auto& [x, y] : permutation.moves()) moves.emplace_back(to_quotient(index, x, claim), to_quotient(index, y, claim));
    if (!std::is_sorted(moves.begin(), moves.end())) std::sort(moves.begin(), moves.end());
    const std::optional<Moves> all = tower.move_rows(moves);
    if (!all || !maps(tower.graph, tower.graph, *all, true)) throw Rejected(claim, "generator " + std::to_string(generators.size()) + " is no automorphism");
    generators.push_back(std::move(moves));
    return true;
  });
  return generators;
}

bool fixes(const Moves& moves, Vertex v) {
  const auto found = std::lower_bound(moves.begin(), moves.end(), std::pair<Vertex, Vertex>{v, 0});
  return found == moves.end() || found->first != v;
}

/// A path of individualised vertices on the left graph, and the refutation of partial maps into the right one.
class Path {
public:
  struct Level {
    Vertex vertex;
    std::uint32_t target;
    std::size_t mark;
    Trace trace;
  };

  /// Follows the path; `each(level)` is called before its vertex is individualised.
  template <class Each>
  void follow(Refiner& left, const std::vector<Vertex>& vertices, const std::string& claim, Each&& each) {
    left.start(&root, nullptr);
    for (const Vertex v : vertices) {
      each(levels.size());
      const std::uint32_t target = left.cell(v);
      if (left.size(target) < 2) throw Rejected(claim, "the path individualises a vertex that is alone already");
      levels.push_back({v, target, left.mark(), {}});
      left.individualise(v, &levels.back().trace, nullptr);
    }
    each(levels.size());
    if (!left.is_discrete()) return;
    leaf.resize(left.cells());
    for (std::uint32_t cell = 0; cell < left.cells(); ++cell) leaf[cell] = left.members(cell)[0];
  }

  Trace root;
  std::vector<Level> levels;
  std::vector<Vertex> leaf;  ///< by cell, when the path ends with all vertices apart
};

/// Confirms that no isomorphism follows the path on the left and the choices on the right. A tree is the flat list
/// [depth, vertex, depth, vertex, ..] of its nodes in preorder.
class Refutation {
public:
  Refutation(const Path& path, Refiner& right, const std::vector<Moves>& known, const std::vector<std::uint32_t>& index, const std::string& claim)
      : path_(path), right_(right), known_(known), index_(index), claim_(claim) {}
  std::function<bool(const Moves&)> is_isomorphism;  ///< of left to right, all images given where they differ
  std::vector<Vertex> fixed;                         ///< individualised on the right

  /// With w individualised at this level (none: from the root on) everything below is refuted by the tree.
  void confirm(std::size_t level, Vertex w, const Json& tree) {
    tree_ = &tree.array();
    at_ = 0;
    if (tree_->size() % 2 != 0) throw Malformed("a tree is a list of pairs");
    if (w == none) {
      children(level, 1);
    } else {
      node(level, w, 1);
    }
    if (at_ != tree_->size()) throw Rejected(claim_, "a tree goes on below what is refuted already");
  }

private:
  /// Traces agree so far: every right vertex of the next target cell is refuted.
  void children(std::size_t level, std::uint64_t depth) {
    if (level == path_.levels.size()) {
      if (path_.leaf.empty()) throw Rejected(claim_, "a tree ends although nothing tells the two sides apart");
      Moves moves;
      for (std::uint32_t cell = 0; cell < right_.cells(); ++cell) {
        if (path_.leaf[cell] != right_.members(cell)[0]) moves.emplace_back(path_.leaf[cell], right_.members(cell)[0]);
      }
      std::sort(moves.begin(), moves.end());
      if (is_isomorphism(moves)) throw Rejected(claim_, "what a tree should refute is an isomorphism");
      return;
    }
    if (depth > 4000) throw Malformed("a tree is too deep");
    const std::uint32_t target = path_.levels[level].target;
    const std::vector<Vertex> members(right_.members(target), right_.members(target) + right_.size(target));
    std::vector<Vertex> listed;
    for (const std::size_t mark = right_.mark(); at_ < tree_->size() && (*tree_)[at_].natural() == depth;) {
      const Vertex b = to_quotient(index_, (*tree_)[at_ + 1].natural(), claim_);
      at_ += 2;
      if (right_.cell(b) != target) throw Rejected(claim_, "a tree lists a vertex of another cell");
      listed.push_back(b);
      node(level, b, depth + 1);
      right_.undo(mark);
    }
    if (listed.size() >= members.size()) {
      std::sort(listed.begin(), listed.end());
      if (std::adjacent_find(listed.begin(), listed.end()) == listed.end()) return;
    }
    Orbits orbits(static_cast<Vertex>(index_.size()));
    for (const Moves& moves : known_) {
      if (std::all_of(fixed.begin(), fixed.end(), [&](Vertex v) { return fixes(moves, v); })) orbits.join(moves);
    }
    std::vector<Vertex> refuted;
    for (const Vertex b : listed) refuted.push_back(orbits.find(b));
    std::sort(refuted.begin(), refuted.end());
    for (const Vertex b : members) {
      if (!std::binary_search(refuted.begin(), refuted.end(), orbits.find(b))) throw Rejected(claim_, "a tree leaves out a branch that is open");
    }
  }

  void node(std::size_t level, Vertex w, std::uint64_t depth) {
    poll();
    if (!right_.individualise(w, nullptr, &path_.levels[level].trace)) return;
    fixed.push_back(w);
    children(level + 1, depth);
    fixed.pop_back();
  }

  const Path& path_;
  Refiner& right_;
  const std::vector<Moves>& known_;
  const std::vector<std::uint32_t>& index_;
  const std::string& claim_;
  const Json::Array* tree_ = nullptr;
  std::size_t at_ = 0;
};

Permutation restrict_to(Moves moves, Vertex tokens, const std::string& claim) {
  std::erase_if(moves, [tokens](const auto& move) { return move.first >= tokens; });
  for (const auto& [x, y] : moves) {
    if (y >= tokens) throw Rejected(claim, "an automorphism mixes tokens with registers");
  }
  return Permutation(std::move(moves));
}

/// Colours of the two sides once pairs are individualised; false when a pair has different colours.
bool colour_pairs(const Structure& a, const Structure& b, const std::vector<std::pair<Vertex, Vertex>>& pairs, std::vector<std::uint64_t>& left,
                  std::vector<std::uint64_t>& right) {
  if (a.vertices != b.vertices || a.relations.size() != b.relations.size()) return false;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint64_t> names;
  for (const auto& [structure, colours] : {std::pair{&a, &left}, std::pair{&b, &right}}) {
    std::vector<std::size_t> pair_of(structure->vertices, 0);
    for (std::size_t k = 0; k < pairs.size(); ++k) pair_of.at(colours == &left ? pairs[k].first : pairs[k].second) = k + 1;
    for (Vertex v = 0; v < structure->vertices; ++v) colours->push_back(names.try_emplace({pair_of[v], structure->colour[v]}, names.size()).first->second);
  }
  return true;
}

/// Does the bijection carry colours, visibility and rows of a to those of b: of all vertices, or of what moves?
bool do_rows_agree(const Structure& a, const Structure& b, const Permutation& map, bool moved_only) {
  const StretchMap stretches(map.moves(), a.vertices, {});
  auto move = map.moves().begin();
  std::vector<Run> row, image;
  std::vector<Vertex> same_until(a.relations.size(), 0);  // rows that stay where they are, up to here all as one that was compared
  for (Vertex x = 0; x < a.vertices; ++x) {
    if (moved_only && move == map.moves().end()) break;
    if (moved_only) x = move->first;
    const Vertex y = move != map.moves().end() && move->first == x ? (move++)->second : x;
    if (a.colour[x] != b.colour[y]) return false;
    for (std::size_t r = 0; r < a.relations.size(); ++r) {
      const Structure::Shown &left = a.relations[r], &right = b.relations[r];
      const bool visible = left.visible.empty() || left.visible[x];
      if (visible != (right.visible.empty() || right.visible[y])) return false;
      if (!visible || (x == y && x < same_until[r])) continue;
      if (x == y && left.relation == right.relation) same_until[r] = left.relation->same_row_until(x);
      left.relation->row(x, row);
      image.clear();
      for (const Run& run : row) stretches.map(run, image);
      right.relation->row(y, row);
      if (!same_runs(image, row)) return false;
    }
  }
  return true;
}

}  // namespace

Structure make_structure(const Layout& layout) {
  Structure structure{layout.vertices(), layout.vertex_colour, {}};
  std::vector<bool> used(layout.relations.size(), false);  // relations of hidden layers are left out
  for (const std::uint32_t layer : layout.order) {
    for (const std::uint32_t r : layout.layers[layer]) used[r] = true;
  }
  for (std::size_t r = 0; r < used.size(); ++r) {
    if (used[r]) structure.relations.push_back({&layout.relations[r], {}});
  }
  return structure;
}

struct AutomorphismTest::State {
  Structure structure;
  std::optional<Tower> tower;
};

AutomorphismTest::AutomorphismTest(Structure structure) : state_(new State{std::move(structure), {}}) {}
AutomorphismTest::~AutomorphismTest() = default;

bool AutomorphismTest::operator()(const Permutation& map) const {
  const Structure& structure = state_->structure;
  if (map.moves().empty()) return true;
  if (map.moves().back().first >= structure.vertices) return false;
  // A map that is none mostly shows it in the row of something it moves, and no column is needed.
  if (!state_->tower && !do_rows_agree(structure, structure, map, true)) return false;
  if (!state_->tower) {
    state_->tower.emplace(structure, structure.colour).name_rows();
    state_->tower->graph.complete();
  }
  const Tower& tower = *state_->tower;
  const std::optional<Moves> moves = tower.move_rows(map.moves());
  return moves && maps(tower.graph, tower.graph, *moves, true);
}

bool is_isomorphism(const Structure& a, const Structure& b, const Permutation& map) {
  if (a.vertices != b.vertices || a.relations.size() != b.relations.size()) return false;
  if (!map.moves().empty() && map.moves().back().first >= a.vertices) return false;
  return do_rows_agree(a, b, map, false);
}

JointColours refine(const Structure& a, const Structure& b, const std::vector<std::pair<Vertex, Vertex>>& pairs) {
  JointColours result;
  std::vector<std::uint64_t> left_colour, right_colour;
  if (!colour_pairs(a, b, pairs, left_colour, right_colour)) return {{}, {}, true};
  Tower left(a, left_colour), right(b, right_colour);
  left.graph.complete();
  right.graph.complete();
  Refiner left_cells(left.graph), right_cells(right.graph);
  Trace trace;
  left_cells.start(&trace, nullptr);
  result.differ = !right_cells.start(nullptr, &trace);
  for (Vertex v = 0; v < a.vertices; ++v) result.a.push_back(left_cells.cell(v));
  for (Vertex v = 0; v < b.vertices; ++v) result.b.push_back(right_cells.cell(v));
  return result;
}

struct GroupProof::State {
  Tower tower;
  Vertex tokens;
  const Json& evidence;
  std::string claim;
  std::vector<std::uint32_t> index;
  std::vector<Moves> generators;
  std::shared_ptr<Order> order;
};

GroupProof::~GroupProof() = default;

GroupProof::GroupProof(const Structure& structure, Vertex tokens, const Json& evidence, std::string of) {
  confirmed.group.degree = tokens;
  if (std::optional<std::vector<std::vector<Vertex>>> classes = find_stretches_apart(structure, evidence)) {
    std::erase_if(*classes, [tokens](const auto& members) { return members[0] >= tokens; });
    for (const std::vector<Vertex>& members : *classes) confirmed.order->multiply_factorial(members.size());
    confirmed.group.classes = std::move(*classes);
    return;
  }
  state_.reset(new State{Tower(structure, evidence["twins"], of), tokens, evidence, std::move(of), {}, {}, confirmed.order});
  const std::string& claim = state_->claim;
  Tower& tower = state_->tower;
  if (tokens == structure.vertices) tower.name_rows();
  tower.graph.complete();
  const std::vector<std::uint32_t>& index = state_->index = index_fibres(tower, structure.vertices);
  const std::vector<Moves>& generators = state_->generators = read_generators(tower, index, evidence["generators"], claim);
  for (const Tower::Twins& twins : tower.twins) {
    const std::vector<Vertex>& vertices = twins.vertices;
    if (vertices[0] >= tokens) continue;
    confirmed.order->multiply_factorial(vertices.size() / twins.length);
    if (twins.length == 1) confirmed.group.classes.push_back(vertices);
    for (std::size_t k = 0; twins.length > 1 && k + twins.length < vertices.size(); k += twins.length) {
      Moves moves;
      for (std::size_t p = k; p < k + twins.length; ++p) {
        moves.emplace_back(vertices[p], vertices[p + twins.length]);
        moves.emplace_back(vertices[p + twins.length], vertices[p]);
      }
      confirmed.group.generators.push_back(restrict_to(std::move(moves), tokens, claim));
    }
  }
  for (const Moves& quotient : generators) {
    Moves moves;
    for (const auto& [x, y] : quotient) {
      const std::vector<Vertex> from = tower.fibre(x), to = tower.fibre(y);
      for (std::size_t k = 0; k < from.size(); ++k) moves.emplace_back(from[k], to[k]);
    }
    Permutation permutation = restrict_to(std::move(moves), tokens, claim);
    if (!permutation.is_identity()) confirmed.group.generators.push_back(std::move(permutation));
  }
}

void GroupProof::finish() {
  constexpr Threshold<std::size_t> few_levels{8, 0, "few levels"};  // cost less than to look for arcs that say nothing
  if (!state_) return;  // shown already
  const auto& [tower, tokens, evidence, claim, index, generators, order] = *state_;
  const Graph& graph = tower.graph;
  const std::optional<Graph> fewer = evidence["path"].size() > few_levels ? drop_even_arcs(graph) : std::nullopt;
  // The path: tokens first, until all of them are apart.
  std::vector<Vertex> vertices;
  std::size_t token_levels = 0;
  for (const Json& x : evidence["path"].array()) {
    vertices.push_back(to_quotient(index, x.natural(), claim));
    if (x.natural() >= tokens) continue;
    if (++token_levels < vertices.size()) throw Rejected(claim, "the path names a token after a register");
  }
  Refiner refiner(fewer ? *fewer : graph);
  Path path;
  path.follow(refiner, vertices, claim, [&](std::size_t level) {
    for (Vertex v = 0; level == token_levels && v < tower.fibres(); ++v) {
      if (tower.first(v) < tokens && refiner.size(refiner.cell(v)) > 1) throw Rejected(claim, "the path leaves tokens together");
    }
  });

  // From the bottom up: the orbit of the path's vertex under what fixes the vertices before it, against its cell.
  std::vector<std::uint32_t> level_of(graph.vertices, none);
  for (std::size_t l = 0; l < vertices.size(); ++l) level_of[vertices[l]] = static_cast<std::uint32_t>(l);
  std::vector<std::vector<std::size_t>> first_moved(vertices.size() + 1);
  for (std::size_t g = 0; g < generators.size(); ++g) {
    std::size_t first = vertices.size();
    for (const auto& [x, y] : generators[g]) first = std::min<std::size_t>(first, level_of[x]);
    first_moved[first].push_back(g);
  }
  std::map<std::size_t, std::vector<const Json*>> failed;
  for (const Json& entry : evidence["failed"].array()) {
    if (entry.size() != 3) throw Malformed("failed: [level, vertex, tree] is expected");
    failed[entry[0].natural()].push_back(&entry);
  }
  if (!failed.empty() && failed.rbegin()->first >= token_levels) throw Rejected(claim, "a failed vertex of a level that does not count");
  Orbits orbits(graph.vertices);
  for (std::size_t l = vertices.size() + 1; l-- > 0;) {
    for (const std::size_t g : first_moved[l]) orbits.join(generators[g]);
    if (l >= token_levels) continue;
    const Path::Level& level = path.levels[l];
    refiner.undo(level.mark);
    const Vertex reached = orbits.size(level.vertex);
    order->multiply(reached);
    if (reached == refiner.size(level.target) && failed.count(l) == 0) continue;
    const std::vector<Vertex> members(refiner.members(level.target), refiner.members(level.target) + refiner.size(level.target));
    std::vector<Vertex> covered{orbits.find(level.vertex)};
    for (const Json* entry : failed[l]) {
      const Vertex w = to_quotient(index, (*entry)[1].natural(), claim);
      if (refiner.cell(w) != level.target) throw Rejected(claim, "a failed vertex lies in another cell than the path's");
      Refutation refutation(path, refiner, generators, index, claim);
      refutation.is_isomorphism = [&graph](const Moves& moves) { return maps(graph, graph, moves, true); };
      refutation.fixed.assign(vertices.begin(), vertices.begin() + static_cast<std::ptrdiff_t>(l));
      refutation.confirm(l, w, (*entry)[2]);
      refiner.undo(level.mark);
      covered.push_back(orbits.find(w));
    }
    std::sort(covered.begin(), covered.end());
    for (const Vertex v : members) {
      if (!std::binary_search(covered.begin(), covered.end(), orbits.find(v))) {
        throw Rejected(claim, "nothing shows that vertex " + std::to_string(tower.first(v)) + " lies outside the orbit of vertex " +
                                  std::to_string(tower.first(level.vertex)));
      }
    }
  }
  state_.reset();
}

ConfirmedGroup confirm_automorphisms(const Structure& structure, Vertex tokens, const Json& evidence, const std::string& claim) {
  GroupProof proof(structure, tokens, evidence, claim);
  proof.finish();
  return std::move(proof.confirmed);
}

void confirm_no_isomorphism(const Structure& a, const Structure& b, const std::vector<std::pair<Vertex, Vertex>>& pairs, const Json& evidence,
                            const std::string& claim) {
  std::vector<std::uint64_t> left_colour, right_colour;
  if (!colour_pairs(a, b, pairs, left_colour, right_colour)) return;
  Tower left(a, left_colour), right(b, right_colour);
  Tower::shrink({&left, &right}, evidence["twins"], claim);
  if (left.graph.vertices != right.graph.vertices) return;
  left.graph.complete();
  right.graph.complete();
  const std::vector<std::uint32_t> left_index = index_fibres(left, a.vertices), index = index_fibres(right, b.vertices);
  const std::vector<Moves> generators = read_generators(right, index, evidence["generators"], claim);
  std::vector<Vertex> vertices;
  for (const Json& x : evidence["path"].array()) vertices.push_back(to_quotient(left_index, x.natural(), claim));
  Refiner left_cells(left.graph), right_cells(right.graph);
  Path path;
  path.follow(left_cells, vertices, claim, [](std::size_t) {});
  if (!right_cells.start(nullptr, &path.root)) return;
  Refutation refutation(path, right_cells, generators, index, claim);
  refutation.is_isomorphism = [&](const Moves& moves) { return maps(left.graph, right.graph, moves, false); };
  refutation.confirm(0, none, evidence["tree"]);
}

}  // namespace checker

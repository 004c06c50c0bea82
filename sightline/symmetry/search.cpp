#include "sightline/symmetry/search.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_map>

#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/equal_components.hpp"
#include "sightline/symmetry/even_arcs.hpp"
#include "sightline/symmetry/target_chooser.hpp"
#include "sightline/symmetry/verification.hpp"

namespace sightline::symmetry {

namespace {

/// Orbits of stabilisers are only computed where vertices times generators stay below this.
constexpr std::uint64_t stabiliser_limit = std::uint64_t{1} << 24;
/// Orbits of a stabiliser cost as much as some nodes: below a node they are only computed once this many have been visited there.
constexpr Threshold<std::uint64_t> nodes_worth_orbits{4, 1, "orbits in the search"};
/// Fruitless nodes before the isomorphism search asks for the automorphisms of the second graph.
constexpr Threshold<std::uint64_t> fruitless_limit{48, 1, "fruitless nodes"};

/// Looks for a leaf below a node of `right` that matches the first path of `left`.
class Matcher {
public:
  /// `same` when right walks the graph of the path itself.
  Matcher(const Path& path, const RunGraph& left, Refinement& right, bool same, const Budget& budget)
      : path_(path), left_(left), right_(right), same_(same), budget_(budget), arcs_(left, right.graph(), budget) {
    if (!same) return;
    places_.resize(left.vertices);
    met_.resize(left.vertices);
  }

  /// Known automorphisms of right's graph (that fix the path's vertices above `level` when same), for pruning.
  const std::vector<MovedPairs>* known = nullptr;
  /// Called once when fruitless_limit nodes have failed.
  std::function<void()> on_trouble;

  /// Individualises one of `candidates` at `level` and searches below. `right` is left in any state below its present one.
  std::optional<MovedPairs> find(std::size_t level, std::vector<Vertex> candidates) {
    base_splits_ = right_.partition().log().size();
    frames_.clear();
    frames_.push_back({level, base_splits_, std::move(candidates), 0, 0, nodes_, false, true, {}, nullptr, nullptr, {}});
    while (!frames_.empty()) {
      budget_.poll();
      Frame& frame = frames_.back();
      right_.undo_to(frame.splits);
      const std::optional<Vertex> x = next_candidate(frame);
      if (!x) {
        frames_.pop_back();
        continue;
      }
      frame.current = *x;
      ++nodes_;
      frame.tried.push_back(*x);
      if (frame.orbits != nullptr) frame.is_tried[frame.orbits->find(*x)] = 1;
      if (!right_.individualise(*x, nullptr, &path_.levels[frame.level].trace)) {
        count_failure();
        continue;
      }
      const std::size_t below = frame.level + 1;
      if (std::optional<MovedPairs> map = propose(below == path_.levels.size())) return map;
      if (below == path_.levels.size()) {
        count_failure();
        continue;
      }
      frames_.push_back({below, right_.partition().log().size(), {}, 0, 0, nodes_, true, false, {}, nullptr, nullptr, {}});
    }
    return std::nullopt;
  }

  /// Where no cell of `right` has more than two vertices: the map that exchanges all pairs, when it is an automorphism. Above a discrete partition
  /// reflections are found so, and nothing has to be refined for them.
  std::optional<MovedPairs> exchange_pairs() {
    const Partition& partition = right_.partition();
    MovedPairs moved;
    for (Cell cell = 0; cell < partition.cells(); ++cell) {
      if (partition.size(cell) > 2) return std::nullopt;
    }
    for (Vertex v = 0; v < left_.vertices; ++v) {
      const auto members = partition.members(partition.cell_of(v));
      if (members.size() == 2) moved.emplace_back(v, members[members[0] == v ? 1 : 0]);
    }
    if (!is_confirmed(moved)) return std::nullopt;
    return moved;
  }

private:
  struct Frame {
    std::size_t level;
    std::size_t splits;
    std::vector<Vertex> candidates;
    std::size_t next;
    Vertex current;
    std::uint64_t nodes_before;
    bool try_preferred;
    bool listed;
    std::vector<Vertex> tried;
    std::unique_ptr<Orbits> orbits;
    std::unique_ptr<ImageLists> stabiliser;
    std::vector<std::uint8_t> is_tried;  ///< by the name of an orbit, once there are orbits
  };

  void count_failure() {
    if (++failures_ == fruitless_limit && on_trouble) on_trouble();
  }

  std::optional<Vertex> next_candidate(Frame& frame) {
    const PathLevel& level = path_.levels[frame.level];
    const Partition& partition = right_.partition();
    if (frame.try_preferred) {
      frame.try_preferred = false;
      if (same_) {
        // Closing the map to an involution, or keeping the vertex in place, makes generators of small support.
        Vertex choice = level.chosen;
        const Cell cell = partition.cell_of(choice);
        if (partition.size(cell) == 1) choice = path_.leaf[cell];
        if (partition.cell_of(choice) == level.target) return choice;
      }
    }
    if (!frame.listed) {
      const auto members = partition.members(level.target);
      frame.candidates.assign(members.begin(), members.end());
      frame.listed = true;
    }
    for (; frame.next < frame.candidates.size(); ++frame.next) {
      const Vertex x = frame.candidates[frame.next];
      // Only the preferred vertex comes out of order.
      if (!frame.tried.empty() && frame.tried.front() == x) continue;
      if (is_pruned(frame, x)) continue;
      ++frame.next;
      return x;
    }
    return std::nullopt;
  }

  /// The known automorphisms that fix all that is individualised above frame k; found once for the frame and those below it.
  const ImageLists& stabiliser_above(std::size_t k) {
    Frame& frame = frames_[k];
    if (frame.stabiliser == nullptr) {
      frame.stabiliser = std::make_unique<ImageLists>(k == 0 ? to_images(left_.vertices, *known)
                                                             : stabilise(left_.vertices, stabiliser_above(k - 1), frames_[k - 1].current, budget_));
    }
    return *frame.stabiliser;
  }

  /// Is x equivalent, under known automorphisms that fix this node, to a candidate that failed?
  bool is_pruned(Frame& frame, Vertex x) {
    if (frame.tried.empty() || known == nullptr || known->empty()) return false;
    if (frame.orbits == nullptr) {
      if (nodes_ - frame.nodes_before < nodes_worth_orbits) return false;
      if (std::uint64_t{left_.vertices} * (known->size() + 16) > stabiliser_limit) return false;
      frame.orbits = std::make_unique<Orbits>(find_orbits(left_.vertices, stabiliser_above(static_cast<std::size_t>(&frame - frames_.data()))));
      frame.is_tried.assign(left_.vertices, 0);
      for (const Vertex t : frame.tried) frame.is_tried[frame.orbits->find(t)] = 1;
    }
    return frame.is_tried[frame.orbits->find(x)] != 0;
  }

  /// A map that respects the cells of both sides, when it is an isomorphism.
  std::optional<MovedPairs> propose(bool is_leaf) {
    const Partition& partition = right_.partition();
    if (is_leaf && !partition.is_discrete()) return std::nullopt;
    if (!same_) {
      if (!is_leaf) return std::nullopt;
      std::vector<Vertex> images(left_.vertices);
      for (Cell cell = 0; cell < partition.cells(); ++cell) images[path_.leaf[cell]] = partition.members(cell).front();
      MovedPairs moved = to_moved(images);
      if (!is_confirmed(moved)) return std::nullopt;
      return moved;
    }
    collect_places();
    std::optional<MovedPairs> map = match_cells();
    if (map && !is_confirmed(*map)) map.reset();
    if (!map && !is_leaf && left_.vertices > careful_choice_limit) {
      map = exchange_sides();
      if (map && !is_confirmed(*map)) map.reset();
      if (!map && left_.arcs && fruitless_exchanges_ < most_fruitless_exchanges) {
        map = exchange_neighbours();
        if (map && !is_confirmed(*map)) map.reset();
        fruitless_exchanges_ = map ? 0 : fruitless_exchanges_ + 1;
      }
    }
    clear_places();
    return map;
  }

  [[nodiscard]] bool is_confirmed(const MovedPairs& moved) {
    if (arcs_.is_usable()) return arcs_.is_isomorphism(moved, same_);
    return is_isomorphism(left_, right_.graph(), StretchMap(moved, left_.vertices), same_, budget_);
  }

  /// Finds the vertices in cells that are new since the node where the two sides part, and their cells on both sides.
  void collect_places() {
    const Partition& partition = right_.partition();
    const Cell base = partition.log()[base_splits_].first_new, now = partition.cells();
    std::size_t count = 0;
    Place* const places = places_.data();
    const auto place = [places, &count, list = met_.data()](Vertex v) -> Place& {
      Place& place = places[v];
      if (!place.met) {
        place.met = true;
        list[count++] = v;
      }
      return place;
    };
    old_cell_.resize(now - base);
    for (std::size_t k = base_splits_; k < partition.log().size(); ++k) {
      const Cell parent = partition.log()[k].cell;
      for (Cell cell = partition.log()[k].first_new; cell < partition.new_end(k); ++cell) {
        old_cell_[cell - base] = parent < base ? parent : old_cell_[parent - base];
      }
    }
    for (Cell cell = base; cell < now; ++cell) {
      for (const Vertex v : partition.members(cell)) place(v).right = cell;
      // The leaves below the cell on the first path, not through cells that exist already.
      place(path_.leaf[cell]).left = cell;
      if (path_.children_begin[cell] == path_.children_begin[cell + 1]) continue;
      stack_.assign(1, cell);
      while (!stack_.empty()) {
        const Cell below = stack_.back();
        stack_.pop_back();
        place(path_.leaf[below]).left = cell;
        for (std::uint32_t k = path_.children_begin[below]; k < path_.children_begin[below + 1]; ++k) {
          if (path_.children[k] >= now) stack_.push_back(path_.children[k]);
        }
      }
    }
    // Ascending by vertex, so that every list below is.
    if (count * 8 < places_.size()) {
      std::sort(met_.begin(), met_.begin() + static_cast<std::ptrdiff_t>(count));
    } else {
      count = 0;
      for (Vertex v = 0; v < places_.size(); ++v) {
        if (places_[v].met) met_[count++] = v;
      }
    }
    met_count_ = count;
    for (const Vertex v : met()) {
      Place& here = places_[v];
      if (here.left == no_cell) here.left = old_cell_[here.right - base];
      if (here.right == no_cell) here.right = old_cell_[here.left - base];
    }
  }

  void clear_places() {
    for (const Vertex v : met()) places_[v] = {};
  }

  [[nodiscard]] std::span<const Vertex> met() const { return {met_.data(), met_count_}; }

  /// Makes lists of the vertices that move, ascending: those of one cell, on the left or on the right.
  template <class CellOf>
  std::size_t list_moving(CellOf&& cell_of) {
    if (first_to_.empty()) {
      first_to_.assign(places_.size(), no_vertex);
      next_to_.resize(places_.size());
    }
    std::size_t moving = 0;
    for (std::size_t k = met_count_; k-- > 0;) {
      const Vertex v = met_[k];
      const Place& here = places_[v];
      if (here.left == here.right) continue;
      ++moving;
      Vertex& first = first_to_[cell_of(here)];
      next_to_[v] = first;
      first = v;
    }
    return moving;
  }

  void clear_lists() {
    for (const Vertex v : met()) first_to_[places_[v].left] = first_to_[places_[v].right] = no_vertex;
  }

  /// Vertices in cells of the same number on both sides stay; the others go to those of their cell's counterpart, in order of index (rows of a
  /// grid, blocks of a mask keep their inner order).
  std::optional<MovedPairs> match_cells() {
    const std::size_t moving = list_moving([](const Place& place) { return place.right; });
    MovedPairs moved;
    moved.reserve(moving);
    for (const Vertex v : met()) {
      const Place& here = places_[v];
      if (here.left == here.right) continue;
      Vertex& first = first_to_[here.left];
      // Cells of different sizes meet only when fingerprints collide; then nothing is proposed.
      if (first == no_vertex) continue;
      moved.emplace_back(v, first);
      first = next_to_[first];
    }
    if (moved.size() == moving) return moved;
    clear_lists();
    return std::nullopt;
  }

  /// An automorphism that exchanges the two vertices where the sides part exchanges the sides: a vertex of the cells (a, b) goes to one of (b, a).
  /// Mostly there is one, where cells alone leave a choice.
  std::optional<MovedPairs> exchange_sides() {
    const std::size_t moving = list_moving([](const Place& place) { return place.left; });
    std::size_t looked_at = 0;
    MovedPairs moved;
    moved.reserve(moving);
    for (const Vertex v : met()) {
      const Place& here = places_[v];
      if (here.left == here.right) continue;
      Vertex* at = &first_to_[here.right];
      for (; *at != no_vertex && places_[*at].right != here.left; at = &next_to_[*at]) ++looked_at;
      if (*at == no_vertex || looked_at > most_looks * met_count_) break;
      moved.emplace_back(v, *at);
      *at = next_to_[*at];
    }
    if (moved.size() == moving) return moved;
    clear_lists();
    return std::nullopt;
  }

  /// The same where many have the cells (b, a): one that is joined to what stays and is joined to the first. Where two rows of a grid are exchanged
  /// these are two tokens of one column, however tokens are numbered.
  std::optional<MovedPairs> exchange_neighbours() {
    const auto moves = [this](Vertex v) { return places_[v].left != places_[v].right; };
    std::vector<std::pair<Vertex, Vertex>> beside;  // who moves beside what stays, and the place of the one before
    std::vector<Vertex> stay;
    std::size_t moving = 0, looked_at = 0;
    const std::size_t most = std::min(most_looks_across * met_count_, most_looks_in_all);
    for (const Vertex v : met()) {
      if (!moves(v) || ++looked_at > most) continue;
      ++moving;
      for (const Vertex u : left_.arcs->neighbours_of(v)) {
        if (++looked_at > most) break;
        if (moves(u)) continue;
        if (first_to_[u] == no_vertex) stay.push_back(u);
        beside.emplace_back(v, first_to_[u]);
        first_to_[u] = static_cast<Vertex>(beside.size() - 1);
      }
    }
    std::unordered_map<Vertex, Vertex> partner;
    const auto are_exchanged = [this, &partner](Vertex v, Vertex w) {
      return places_[w].left == places_[v].right && places_[w].right == places_[v].left && partner.count(w) == 0;
    };
    const auto find_beside = [&](Vertex v) -> std::optional<Vertex> {
      for (const Vertex u : left_.arcs->neighbours_of(v)) {
        if (moves(u)) continue;
        for (Vertex k = first_to_[u]; k != no_vertex && looked_at <= most; k = beside[k].second, ++looked_at) {
          if (are_exchanged(v, beside[k].first)) return beside[k].first;
        }
      }
      return std::nullopt;
    };
    const auto exchange = [&partner](Vertex v, Vertex w) {
      partner[v] = w;
      partner[w] = v;
    };
    std::vector<Vertex> rest;  // where the two rows meet the two columns that are exchanged with them
    for (const Vertex v : met()) {
      if (looked_at > most) break;
      if (!moves(v) || partner.count(v) != 0) continue;
      if (const std::optional<Vertex> w = find_beside(v)) exchange(v, *w);
      else rest.push_back(v);
    }
    for (const Vertex u : stay) first_to_[u] = no_vertex;
    for (const Vertex v : rest) {
      for (std::size_t k = 0; k < rest.size() && partner.count(v) == 0 && looked_at <= most; ++k, ++looked_at) {
        if (are_exchanged(v, rest[k])) exchange(v, rest[k]);
      }
    }
    if (partner.size() != moving || looked_at > most) return std::nullopt;
    MovedPairs moved(partner.begin(), partner.end());
    std::sort(moved.begin(), moved.end());
    return moved;
  }

  static constexpr Cell no_cell = ~Cell{0};
  static constexpr Vertex no_vertex = ~Vertex{0};
  static constexpr std::size_t most_looks = 8;  ///< at members of a cell, for each vertex that moves
  static constexpr std::size_t most_looks_across = 64;  ///< at arcs and at neighbours of neighbours, for each vertex that was met
  static constexpr std::size_t most_looks_in_all = std::size_t{1} << 20;  ///< a few megabytes
  static constexpr int most_fruitless_exchanges = 16;   ///< of neighbours, one after another
  struct Place {
    Cell left = no_cell, right = no_cell;
    bool met = false;
  };

  const Path& path_;
  const RunGraph& left_;
  Refinement& right_;
  bool same_;
  const Budget& budget_;
  ArcComparison arcs_;
  std::size_t base_splits_ = 0;
  std::vector<Frame> frames_;
  std::vector<Place> places_;
  std::vector<Vertex> met_;  ///< room for all vertices
  std::size_t met_count_ = 0;
  std::vector<Cell> old_cell_, stack_;
  std::vector<Vertex> first_to_, next_to_;  ///< vertices that a cell has on the right, not yet images, ascending
  std::uint64_t failures_ = 0, nodes_ = 0;
  int fruitless_exchanges_ = 0;
};

/// The least member of one cell after another, along a path on which cells only lose members: a cell that is asked for again is sorted once.
class LeastMember {
public:
  explicit LeastMember(const Partition& partition) : partition_(partition) {}

  Vertex find(Cell cell) {
    const auto members = partition_.members(cell);
    if (cell_ != cell) {
      cell_ = cell;
      sorted_.clear();
      return *std::min_element(members.begin(), members.end());
    }
    if (sorted_.empty()) {
      sorted_.assign(members.begin(), members.end());
      std::sort(sorted_.begin(), sorted_.end());
      next_ = 0;
    }
    while (partition_.cell_of(sorted_[next_]) != cell) ++next_;
    return sorted_[next_];
  }

private:
  const Partition& partition_;
  std::optional<Cell> cell_;
  std::vector<Vertex> sorted_;
  std::size_t next_ = 0;
};

}  // namespace

Path follow_first_path(Refinement& tree, const std::vector<std::uint8_t>& prefer, const Budget& budget) {
  Path path;
  tree.refine_initial(&path.root, nullptr);
  TargetChooser chooser(tree, prefer);
  const Partition& partition = tree.partition();
  LeastMember least(partition);
  while (!partition.is_discrete()) {
    budget.poll();
    PathLevel level;
    level.target = chooser.choose(path.levels.empty() ? std::nullopt : std::optional(path.levels.back().chosen));
    level.chosen = least.find(level.target);
    level.splits_before = partition.log().size();
    tree.individualise(level.chosen, &level.trace, nullptr);
    path.levels.push_back(std::move(level));
  }
  path.leaf.resize(partition.cells());
  for (Cell cell = 0; cell < partition.cells(); ++cell) path.leaf[cell] = partition.members(cell).front();
  path.children_begin.assign(std::size_t{partition.cells()} + 1, 0);
  const auto for_each_child = [&](auto&& visit) {
    for (std::size_t k = 0; k < partition.log().size(); ++k) {
      for (Cell cell = partition.log()[k].first_new; cell < partition.new_end(k); ++cell) visit(partition.log()[k].cell, cell);
    }
  };
  for_each_child([&](Cell parent, Cell) { ++path.children_begin[parent + 1]; });
  for (Cell cell = 0; cell < partition.cells(); ++cell) path.children_begin[cell + 1] += path.children_begin[cell];
  path.children.resize(path.children_begin.back());
  std::vector<std::uint32_t> next(path.children_begin.begin(), path.children_begin.end() - 1);
  for_each_child([&](Cell parent, Cell child) { path.children[next[parent]++] = child; });
  return path;
}

namespace {

Automorphisms search_all_arcs(const RunGraph& graph, const std::vector<std::uint8_t>& prefer, const Budget& budget) {
  Automorphisms found;
  if (graph.vertices == 0) return found;
  Refinement tree(graph, budget);
  const Path path = follow_first_path(tree, prefer, budget);
  const Partition& partition = tree.partition();
  for (const PathLevel& level : path.levels) {
    if (!prefer.empty() && prefer[level.chosen] == 0) break;
    found.path.push_back(level.chosen);
  }
  Orbits orbits(graph.vertices);
  std::vector<Vertex> failed_list;
  Matcher matcher(path, graph, tree, true, budget);
  matcher.known = &found.generators;
  for (std::size_t l = path.levels.size(); l-- > 0;) {
    const PathLevel& level = path.levels[l];
    tree.undo_to(level.splits_before);
    const bool preferred = prefer.empty() || prefer[level.chosen] != 0;
    const Vertex cell_size = partition.size(level.target);
    failed_list.clear();
    const auto attempt = [&](Vertex w) {
      const Vertex name = orbits.find(w);
      if (name == orbits.find(level.chosen)) return;
      // A vertex in the orbit of one that failed fails too.
      for (const Vertex v : failed_list) {
        if (orbits.find(v) == name) return;
      }
      tree.undo_to(level.splits_before);
      std::optional<MovedPairs> map;
      if (l + 1 == path.levels.size()) map = matcher.exchange_pairs();
      if (!map) map = matcher.find(l, {w});
      if (map) {
        orbits.join(*map);
        found.generators.push_back(std::move(*map));
      } else {
        failed_list.push_back(w);
      }
    };
    // The vertices chosen further down come first: they lead to maps of small support.
    for (std::size_t k = l + 1; k < path.levels.size() && orbits.size(level.chosen) < cell_size; ++k) {
      tree.undo_to(level.splits_before);
      if (partition.cell_of(path.levels[k].chosen) != level.target) continue;
      attempt(path.levels[k].chosen);
    }
    if (orbits.size(level.chosen) < cell_size) {
      tree.undo_to(level.splits_before);
      const std::vector<Vertex> members(partition.members(level.target).begin(), partition.members(level.target).end());
      for (const Vertex w : members) {
        if (orbits.size(level.chosen) == cell_size) break;
        attempt(w);
      }
    }
    tree.undo_to(level.splits_before);
    if (preferred) {
      found.order.multiply(mpz_class(orbits.size(level.chosen)));
      found.is_tight = found.is_tight && orbits.size(level.chosen) == cell_size;
    }
    budget.report("automorphisms", 1.0 - static_cast<double>(l) / static_cast<double>(path.levels.size()));
  }
  return found;
}

}  // namespace

Automorphisms search_automorphisms(const RunGraph& graph, const std::vector<std::uint8_t>& prefer, const Budget& budget) {
  if (std::optional<EqualComponents> parts = prefer.empty() ? find_equal_components(graph, budget) : std::nullopt) {
    complete(parts->first, budget);
    return parts->make_whole(search_automorphisms(parts->first, {}, budget), budget);
  }
  const std::optional<RunGraph> fewer = drop_even_arcs(graph, budget);
  return search_all_arcs(fewer ? *fewer : graph, prefer, budget);
}

std::optional<std::vector<Vertex>> search_isomorphism(const RunGraph& a, const RunGraph& b, const Budget& budget) {
  if (a.vertices == 0) return std::vector<Vertex>{};
  Refinement left(a, budget);
  const Path path = follow_first_path(left, {}, budget);
  Refinement right(b, budget);
  if (!right.refine_initial(nullptr, &path.root)) return std::nullopt;
  const Partition& partition = right.partition();
  const auto to_images = [&a](const MovedPairs& moved) {
    std::vector<Vertex> images(a.vertices);
    for (Vertex x = 0; x < a.vertices; ++x) images[x] = x;
    for (const auto& [x, y] : moved) images[x] = y;
    return images;
  };
  if (path.levels.empty()) {
    if (!partition.is_discrete()) return std::nullopt;
    std::vector<Vertex> images(a.vertices);
    for (Cell cell = 0; cell < partition.cells(); ++cell) images[path.leaf[cell]] = partition.members(cell).front();
    if (!is_isomorphism(a, b, StretchMap(to_moved(images), a.vertices), false, budget)) return std::nullopt;
    return images;
  }
  Matcher matcher(path, a, right, false, budget);
  Automorphisms known;
  matcher.on_trouble = [&] {
    known = search_automorphisms(b, {}, budget);
    matcher.known = &known.generators;
  };
  const auto members = partition.members(path.levels[0].target);
  const std::optional<MovedPairs> map = matcher.find(0, {members.begin(), members.end()});
  if (!map) return std::nullopt;
  return to_images(*map);
}

}  // namespace sightline::symmetry

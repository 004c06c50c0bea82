// In every layer (r, c) reads A(r) x B(c), itself among it. Places of a factor with equal rows and equal readers make a class; tokens of one product of
// classes may be permuted freely, and every automorphism permutes these products. On the quotient, with the sizes as weights, the number of walks from
// (r, c) to a given set of vertices, one step in each of some layers, is f(r) g(c) when the set is a product; an automorphism that fixes the set keeps it.
// So where the vertices with the numbers of the path's next vertex are its orbit under generators that fix those before, and at last no two vertices have
// the same numbers, the order is the product of the orbits (docs/theory.md 16.35).
#include "product_group.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

using Places = std::vector<Vertex>;
using ClassMap = std::vector<Vertex>;
using WalkNumbers = std::vector<Element>;

constexpr std::uint64_t most_arcs_of_factor = std::uint64_t{1} << 22;
constexpr std::size_t longest_path = 16;

/// Plain rows, one head in each layer that occurs, tokens that start alike. The relations that occur, each once.
std::optional<std::vector<std::uint32_t>> plain_relations(const Layout& layout) {
  const auto plain = [](const Relation& relation) {
    return relation.relative == RelativeKind::none && std::ranges::all_of(relation.pattern->lists, [](const auto& list) {
             return std::ranges::all_of(list, [](const MovingRun& run) { return run.colour == 1; });
           });
  };
  std::vector<std::uint32_t> relations;
  for (const std::uint32_t l : layout.order) {
    if (layout.layers[l].size() != 1) return std::nullopt;
    relations.push_back(layout.layers[l].front());
  }
  std::ranges::sort(relations);
  const auto rest = std::ranges::unique(relations);
  relations.erase(rest.begin(), rest.end());
  const bool fits = layout.registers == 0 && !relations.empty() && std::ranges::all_of(relations, [&](std::uint32_t r) { return plain(layout.relations[r]); }) &&
                    std::ranges::all_of(layout.vertex_colour, [&](std::uint64_t c) { return c == layout.vertex_colour.front(); });
  if (!fits) return std::nullopt;
  return relations;
}

/// One side of the grid: places by class, and what classes read.
struct Side {
  std::vector<Places> classes;             // each sorted, by first place
  ClassMap class_of;                            // by place
  std::vector<std::vector<Places>> reads;  // by relation and class: classes, sorted

  [[nodiscard]] Vertex size() const { return static_cast<Vertex>(classes.size()); }
  [[nodiscard]] Element weight(Vertex q) const { return classes[q].size(); }

  static std::optional<Side> make(const Layout& factor, const std::vector<std::uint32_t>& relations) {
    // Both ways: what a place reads, and who reads it.
    std::vector<std::vector<Places>> lists;
    std::uint64_t arcs = 0;
    std::vector<Run> row;
    for (const std::uint32_t r : relations) {  // counted before any is written down
      for (Vertex x = 0; x < factor.tokens; ++x) {
        factor.relations[r].pattern->row(x, row);
        for (const Run& run : row) arcs += run.size();
        if (arcs > most_arcs_of_factor) return std::nullopt;
      }
    }
    for (const std::uint32_t r : relations) {
      std::vector<Places> rows(factor.tokens), readers(factor.tokens);
      for (Vertex x = 0; x < factor.tokens; ++x) {
        factor.relations[r].pattern->row(x, row);
        for (const Run& run : row) {
          for (std::uint64_t y = run.first; y <= run.last; y += run.step) {
            rows[x].push_back(static_cast<Vertex>(y));
            readers[y].push_back(x);
          }
        }
        std::ranges::sort(rows[x]);
      }
      lists.push_back(std::move(rows));
      lists.push_back(std::move(readers));
    }
    Side side;
    side.class_of.resize(factor.tokens);
    std::map<std::vector<std::uint64_t>, Places> alike;  // by a hash of each list
    for (Vertex x = 0; x < factor.tokens; ++x) {
      poll();
      std::vector<std::uint64_t> key;
      for (const auto& list : lists) key.push_back(std::accumulate(list[x].begin(), list[x].end(), std::uint64_t{list[x].size()}, [](std::uint64_t h, Vertex y) { return mix(h, y); }));
      Places& candidates = alike[key];
      const auto found = std::ranges::find_if(candidates, [&](Vertex q) {
        return std::ranges::all_of(lists, [&](const auto& list) { return list[side.classes[q].front()] == list[x]; });
      });
      if (found != candidates.end()) {
        side.class_of[x] = *found;
      } else {
        candidates.push_back(side.class_of[x] = side.size());
        side.classes.emplace_back();
      }
      side.classes[side.class_of[x]].push_back(x);
    }
    for (std::size_t k = 0; k < relations.size(); ++k) {
      auto& reads = side.reads.emplace_back(side.size());
      for (Vertex q = 0; q < side.size(); ++q) {
        for (const Vertex y : lists[2 * k][side.classes[q].front()]) {
          if (side.classes[side.class_of[y]].front() == y) reads[q].push_back(side.class_of[y]);
        }
        std::ranges::sort(reads[q]);
      }
    }
    return side;
  }

  [[nodiscard]] std::uint64_t arcs(std::size_t relation) const {
    std::uint64_t sum = 0;
    for (const Places& row : reads[relation]) sum += row.size();
    return sum;
  }

  /// By class: walks that step in this relation and go on as counted.
  [[nodiscard]] WalkNumbers walk_on(const WalkNumbers& counted, std::size_t relation) const {
    WalkNumbers sums(size(), 0);
    for (Vertex q = 0; q < size(); ++q) {
      for (const Vertex x : reads[relation][q]) sums[q] = add(sums[q], multiply(weight(x), counted[x]));
    }
    return sums;
  }
};

/// Does the bijection carry classes of one side to those of the other: their sizes, and what they read in every relation?
bool carries(const Side& from, const Side& to, const ClassMap& map) {
  Places row;
  for (std::size_t k = 0; k < from.reads.size(); ++k) {
    for (Vertex q = 0; q < from.size(); ++q) {
      if (from.weight(q) != to.weight(map[q])) return false;
      row.clear();
      for (const Vertex x : from.reads[k][q]) row.push_back(map[x]);
      std::ranges::sort(row);
      if (row != to.reads[k][map[q]]) return false;
    }
  }
  return true;
}

class ProductProof {
public:
  ProductProof(const Layout& layout, Vertex width, Side down, Side across) : tokens_(layout.tokens), width_(width), down_(std::move(down)), across_(std::move(across)) {}

  std::optional<ConfirmedGroup> confirm(const Json& evidence) {
    const bool twins = down_.size() != down_.class_of.size() || across_.size() != across_.class_of.size();
    if (evidence["twins"].size() != (twins ? 1 : 0) || evidence["failed"].size() != 0 || evidence["path"].size() > longest_path) return std::nullopt;
    if (!Permutation::visit(evidence["generators"], tokens_, [this](Permutation generator) { return generators_.size() <= 64 && take_generator(std::move(generator)); })) {
      return std::nullopt;
    }
    for (const Json& vertex : evidence["path"].array()) {
      const std::optional<Vertex> q = class_led_by(vertex.natural());
      if (!q) return std::nullopt;
      path_.push_back(*q);
    }
    ConfirmedGroup confirmed;
    confirmed.group.degree = tokens_;
    if (!bound(*confirmed.order)) return std::nullopt;
    lift(confirmed);
    return confirmed;
  }

private:
  [[nodiscard]] Vertex size() const { return down_.size() * across_.size(); }
  [[nodiscard]] bool is_single() const { return size() == tokens_; }  ///< no twins: classes are tokens

  /// The product of classes whose first token this is.
  [[nodiscard]] std::optional<Vertex> class_led_by(std::uint64_t token) const {
    if (token >= tokens_) return std::nullopt;
    const Vertex r = static_cast<Vertex>(token) / width_, c = static_cast<Vertex>(token) % width_;
    const Vertex i = down_.class_of[r], j = across_.class_of[c];
    if (down_.classes[i].front() != r || across_.classes[j].front() != c) return std::nullopt;
    return i * across_.size() + j;
  }

  /// A map of first tokens that is a pair of maps of the sides, straight or crosswise, each of which keeps everything.
  bool take_generator(Permutation permutation) {
    ClassMap map(size());
    std::iota(map.begin(), map.end(), Vertex{0});
    for (const auto& [x, y] : permutation.moves()) {
      if (is_single()) {
        map[x] = y;
        continue;
      }
      const auto from = class_led_by(x), to = class_led_by(y);
      if (!from || !to) return false;
      map[*from] = *to;
    }
    const Vertex h = down_.size(), w = across_.size();
    const bool crosswise = h > 1 && w > 1 && map[0] % w != map[w] % w;
    ClassMap by_row(h), by_column(w);
    for (Vertex i = 0; i < h; ++i) by_row[i] = crosswise ? map[i * w] % w : map[i * w] / w;
    for (Vertex j = 0; j < w; ++j) by_column[j] = crosswise ? map[j] / w : map[j] % w;
    if (crosswise && h != w) return false;
    for (Vertex i = 0, q = 0; i < h; ++i) {
      for (Vertex j = 0; j < w; ++j, ++q) {
        if (map[q] != (crosswise ? by_column[j] * w + by_row[i] : by_row[i] * w + by_column[j])) return false;
      }
    }
    // A permutation of all products, so both are bijections.
    const bool kept = crosswise ? carries(down_, across_, by_row) && carries(across_, down_, by_column) : carries(down_, down_, by_row) && carries(across_, across_, by_column);
    if (!kept) return false;
    generators_.push_back(std::move(map));
    if (is_single()) given_.push_back(std::move(permutation));
    return true;
  }

  /// Level by level: the vertices that numbers do not tell from the path's are its orbit.
  bool bound(Order& order) {
    names_.assign(size(), 0);
    horizon_ = 0;
    if (!count_walks(Vertex{0}, false)) return false;
    if (!count_walks(std::nullopt)) return false;
    std::vector<const ClassMap*> fixing;
    for (const ClassMap& map : generators_) fixing.push_back(&map);
    for (const Vertex v : path_) {
      const std::uint64_t orbit = orbit_size(v, fixing);
      if (orbit < 2 || static_cast<std::uint64_t>(std::ranges::count(names_, names_[v])) != orbit) return false;
      order.multiply(Natural(orbit));
      std::erase_if(fixing, [v](const ClassMap* map) { return (*map)[v] != v; });
      if (!count_walks(v)) return false;
    }
    std::ranges::sort(names_);
    return std::ranges::adjacent_find(names_) == names_.end();
  }

  [[nodiscard]] std::uint64_t orbit_size(Vertex v, const std::vector<const ClassMap*>& maps) const {
    std::vector<Vertex> reached{v};
    std::vector<bool> known(size(), false);
    known[v] = true;
    for (std::size_t k = 0; k < reached.size(); ++k) {
      for (const ClassMap* map : maps) {
        const Vertex y = (*map)[reached[k]];
        if (!known[y]) reached.push_back(y);
        known[y] = true;
      }
    }
    return reached.size();
  }

  /// Names vertices anew by their walks to this one, or to all: the first steps, all layers but one, and from where every vertex is met.
  /// False when that takes too many arcs.
  bool count_walks(std::optional<Vertex> to, bool names_by = true) {
    const std::size_t relations = down_.reads.size();
    for (std::size_t start = 0; start < relations; ++start) {
      WalkNumbers f(down_.size(), to ? 0 : 1), g(across_.size(), to ? 0 : 1);
      if (to) f[*to / across_.size()] = g[*to % across_.size()] = 1;
      std::size_t length = 0;
      for (std::size_t last_ones = 0; last_ones < 4 && length < std::size_t{down_.size()} + across_.size() + 4;) {
        poll();
        ++length;
        if ((arcs_ += down_.arcs((start + length) % relations) + across_.arcs((start + length) % relations)) > std::uint64_t{256} * size()) return false;
        f = down_.walk_on(f, (start + length) % relations);
        g = across_.walk_on(g, (start + length) % relations);
        const bool met = to ? std::ranges::count(f, Element{0}) + std::ranges::count(g, Element{0}) == 0 : length >= horizon_;
        if (met) ++last_ones;
        else if (to) horizon_ = std::max(horizon_, length);
        if (!met && length > 2 && length + 1 != relations) continue;
        if (++named_ > 512) return false;
        if (names_by) name_by(f, g);
      }
    }
    return true;
  }

  /// A name is the sum of all numbers so far, each times a factor of its own: names that differ come from numbers that differ. Numbers that are the
  /// same for all vertices tell nothing apart, and short walks to one vertex begin at few.
  void name_by(const WalkNumbers& f, const WalkNumbers& g) {
    const auto same = [](const WalkNumbers& numbers) { return std::ranges::all_of(numbers, [&](Element x) { return x == numbers.front(); }); };
    if (same(f) && same(g)) return;
    const Element factor = multiply(mix(0x5ca1e, named_), 1);
    std::vector<std::pair<Vertex, Element>> right;
    for (Vertex j = 0; j < g.size(); ++j) {
      if (g[j] != 0) right.emplace_back(j, multiply(factor, g[j]));
    }
    for (Vertex i = 0; i < f.size(); ++i) {
      if (f[i] == 0) continue;
      std::uint64_t* const row = names_.data() + std::size_t{i} * g.size();
      for (const auto& [j, x] : right) row[j] = add(row[j], multiply(f[i], x));
    }
  }

  /// To tokens: classes, and generators place by place, which are not asked for any more and take room for all tokens each.
  void lift(ConfirmedGroup& confirmed) {
    if (is_single()) {
      generators_.clear();
      confirmed.group.generators = std::move(given_);
      return;
    }
    const auto tokens_of = [&](Vertex q) {
      std::vector<Vertex> tokens;
      for (const Vertex r : down_.classes[q / across_.size()]) {
        for (const Vertex c : across_.classes[q % across_.size()]) tokens.push_back(r * width_ + c);
      }
      return tokens;
    };
    for (Vertex q = 0; q < size(); ++q) {
      std::vector<Vertex> members = tokens_of(q);
      if (members.size() < 2) continue;
      confirmed.order->multiply_factorial(members.size());
      confirmed.group.classes.push_back(std::move(members));
    }
    for (ClassMap& taken : generators_) {
      const ClassMap map = std::move(taken);
      std::vector<std::pair<Vertex, Vertex>> moves;
      moves.reserve(tokens_);
      for (Vertex q = 0; q < size(); ++q) {
        if (map[q] == q) continue;
        const std::vector<Vertex> from = tokens_of(q), to = tokens_of(map[q]);
        for (std::size_t k = 0; k < from.size(); ++k) moves.emplace_back(from[k], to[k]);
      }
      confirmed.group.generators.emplace_back(std::move(moves));
    }
  }

  Vertex tokens_, width_;
  Side down_, across_;
  std::vector<ClassMap> generators_;
  std::vector<Permutation> given_;  // the same, where classes are tokens
  std::vector<Vertex> path_;
  std::vector<std::uint64_t> names_;
  std::size_t horizon_ = 0;
  std::uint64_t arcs_ = 0;
  std::size_t named_ = 0;
};

}  // namespace

std::optional<ConfirmedGroup> confirm_product_group(const Layout& layout, const Grid& grid, const Json& evidence) {
  const auto relations = plain_relations(layout);
  if (!relations) return std::nullopt;
  if (std::optional<ConfirmedGroup> lines = confirm_line_group(layout, grid, *relations, evidence)) return lines;
  auto down = Side::make(grid.down, *relations), across = Side::make(grid.across, *relations);
  if (!down || !across) return std::nullopt;
  return ProductProof(layout, grid.width, *std::move(down), *std::move(across)).confirm(evidence);
}

std::optional<ConfirmedGroup> confirm_on_grid(const Layout& layout, const Json& evidence, std::optional<std::optional<Grid>>& grid) {
  constexpr Threshold<Vertex> few_tokens{4096, 2, "product group"};
  if (layout.tokens < few_tokens) return std::nullopt;
  // Block masks are grids too, whose columns are all alike: nothing to be had there, and many rows to read.
  constexpr Vertex long_stretch = 32;
  if (std::ranges::all_of(layout.relations, [](const Relation& relation) { return relation.pattern->same_row_until(0) >= long_stretch; })) return std::nullopt;
  const std::optional<Grid>& found = grid.emplace(find_grid(layout));
  return found ? confirm_product_group(layout, *found, evidence) : std::nullopt;
}

}  // namespace checker

// How far a target is from every network of the depth, by averaging over all isomorphisms of views (docs/theory.md 3.2, 16.12). The views are made
// and their isomorphisms listed here again; a claim of more than 10,000 of them, or of more than 64 tokens, is rejected.
#include <algorithm>
#include <map>

#include "derivation.hpp"
#include "views.hpp"

namespace checker {

namespace {

constexpr std::uint64_t most_listed = 10'000, most_tested = 40'000'000;

/// One view written out: for every ordered pair the number of its list of effective colours, hidden rows apart.
struct WrittenView {
  std::vector<Vertex> seen;
  std::vector<std::uint64_t> hash;
  std::vector<std::vector<std::uint32_t>> arcs;
  std::uint64_t invariant = 0;
};

class Listing {
public:
  Listing(const Layout& layout, bool frequencies, std::uint64_t depth) : tokens_(layout.tokens) {
    const auto maker = make_roots(layout, frequencies, depth);
    for (Vertex root = 0; root < tokens_; ++root) tables_.push_back(write(maker->make(root)));
  }

  [[nodiscard]] bool may_match(Vertex a, Vertex b) const {
    return tables_[a].invariant == tables_[b].invariant && tables_[a].seen.size() == tables_[b].seen.size();
  }

  /// Calls visit(map) for every isomorphism of the views of a and b with a -> b; the map is by vertex.
  template <typename Visit>
  void each(Vertex a, Vertex b, Visit&& visit) {
    const WrittenView &from = tables_[a], &to = tables_[b];
    std::vector<Vertex> map(from.hash.size(), ~Vertex{0}), walk{a};
    std::vector<bool> taken(from.hash.size(), false), listed(from.hash.size(), false);
    listed[a] = true;
    for (std::size_t k = 0; k < walk.size(); ++k) {  // breadth first along arcs, so that each new vertex is tied to the old ones
      for (const Vertex v : from.seen) {
        if (!listed[v] && (from.arcs[walk[k]][v] != from.arcs[walk[k]][walk[k]] || from.arcs[v][walk[k]] != from.arcs[v][v])) listed[v] = true, walk.push_back(v);
      }
    }
    for (const Vertex v : from.seen) if (!listed[v]) walk.push_back(v);
    const auto place = [&](const auto& self, std::size_t k) -> void {
      if (k == walk.size()) {
        over_ = ++count_ > most_listed;
        return visit(map);
      }
      const Vertex v = walk[k];
      for (const Vertex w : to.seen) {
        if (over_ || taken[w] || from.hash[v] != to.hash[w] || (k == 0) != (w == b)) continue;
        if (++steps_ > most_tested) over_ = true;
        bool fits = from.arcs[v][v] == to.arcs[w][w];
        for (std::size_t i = 0; fits && i < k; ++i) fits = from.arcs[v][walk[i]] == to.arcs[w][map[walk[i]]] && from.arcs[walk[i]][v] == to.arcs[map[walk[i]]][w];
        if (!fits) continue;
        map[v] = w, taken[w] = true;
        self(self, k + 1);
        taken[w] = false;
      }
    };
    place(place, 0);
  }

  [[nodiscard]] bool over() const { return over_; }  ///< beyond the bounds: what was listed is not all

private:
  WrittenView write(const Rooted& rooted) {
    WrittenView table;
    const RootColours colours = colour_root(rooted);
    table.hash = colours.hash, table.invariant = colours.invariant;
    const Vertex vertices = rooted.structure.vertices;
    table.arcs.assign(vertices, std::vector<std::uint32_t>(vertices, 0));
    for (Vertex i = 0; i < vertices; ++i) {
      if (!rooted.seen[i]) continue;
      table.seen.push_back(i);
      for (Vertex j = 0; j < vertices; ++j) {
        std::vector<std::int64_t> colours_of_arc;
        for (const Structure::Shown& shown : rooted.structure.relations) {
          colours_of_arc.push_back(!shown.visible.empty() && !shown.visible[i] ? -2 : shown.relation->colour(i, j));
        }
        table.arcs[i][j] = numbers_.emplace(std::move(colours_of_arc), static_cast<std::uint32_t>(numbers_.size())).first->second;
      }
    }
    return table;
  }

  Vertex tokens_;
  std::uint64_t count_ = 0, steps_ = 0;
  bool over_ = false;
  std::map<std::vector<std::int64_t>, std::uint32_t> numbers_;
  std::vector<WrittenView> tables_;
};

/// Does the answer claim a distance?
bool claims_distance(const Derivation& d) {
  const auto has = [](const Json& floor) { return floor.is_object() && floor.find("distance") != nullptr; };
  const Json& others = d.claimed("floors");
  return has(d.claimed("floor")) || (others.is_array() && std::any_of(others.array().begin(), others.array().end(), has));
}

}  // namespace

void add_distance(Derivation& d, const ViewQuestion& question, const std::vector<std::uint32_t>& label, std::uint32_t orbit, bool linear) {
  const Layout& layout = *question.layout;
  const std::uint64_t n = d.n, places = linear ? n : n * n;
  const bool claimed = claims_distance(d);
  if (n > 64 || layout.vertices() > 128 || has_equal_registers(layout) || question.kind != ClassKind::all) {
    if (!claimed) return;
    throw Rejected("floor", "distances are listed for class all, at most 64 tokens and registers that are all different");
  }
  if (!claimed && n > 12) return;  // a prover may leave it out where listing may take long, but not on a few tokens
  // Beyond this depth views do not change (theory 2.4): the list repeated as often as all receptive fields take to end, and once more.
  const std::uint64_t depth = std::min(d.given.value_or(~std::uint64_t{0}), compute_limit(layout, question.frequencies, {}).depth);
  Listing listing(layout, question.frequencies, depth);
  Rational lost = 0;
  std::uint64_t monomials = 0;
  std::uint64_t total = 0;
  std::vector<bool> done(n, false);
  for (Vertex a = 0; a < n; ++a) {
    if (done[a]) continue;
    std::vector<std::uint64_t> hits(places, 0);
    std::uint64_t maps = 0, members = 0, own = 0;
    for (Vertex b = a; b < n; ++b) {
      if (done[b] || !listing.may_match(a, b)) continue;
      const std::uint64_t before = maps;
      listing.each(a, b, [&](const std::vector<Vertex>& map) {
        ++maps;
        for (std::uint64_t place = 0; place < places; ++place) {
          const std::uint64_t image = linear ? map[place] : map[place % n] + n * map[place / n];
          if (label[b + n * image] == orbit) ++hits[place];
        }
      });
      if (listing.over()) break;
      if (maps == before) continue;
      done[b] = true, ++members;
      for (std::uint64_t place = 0; place < places; ++place) own += label[b + n * place] == orbit ? 1 : 0;
    }
    if (listing.over()) {
      if (!claimed) return;
      throw Rejected("floor", "there are more than 10,000 isomorphisms of views, or listing them takes more than 40,000,000 steps");
    }
    total += maps;
    Natural squares = 0;
    for (const std::uint64_t h : hits) squares = squares + Natural(h) * h;
    lost = lost + Rational(Natural(own), 1) - Rational(squares * members, Natural(maps) * maps);
    monomials += own;
  }
  const Rational scale = linear ? 12 : 144;
  Json::Object floor = d.floors.back().object();
  floor["distance"] = Json(Json::Object{{"squared_error", Json((lost / scale).text())}, {"norm", Json((Rational(Natural(monomials), 1) / scale).text())},
                                        {"isomorphisms", Json(static_cast<std::int64_t>(total))}, {"exact", Json(false)}});
  d.floors.back() = Json(std::move(floor));
}

void settle_distances(Derivation& d, bool exact) {
  for (Json& one : d.floors) {
    const Json* found = one.find("distance");
    if (found == nullptr) continue;
    Json::Object floor = one.object(), distance = found->object();
    distance["exact"] = Json(exact);
    floor["distance"] = Json(std::move(distance));
    one = Json(std::move(floor));
  }
}

}  // namespace checker

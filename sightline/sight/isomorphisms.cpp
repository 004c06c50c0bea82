#include "sightline/sight/isomorphisms.hpp"

#include <algorithm>
#include <map>

#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

constexpr Vertex most_tokens_listed = 64;
constexpr std::uint64_t most_steps_listed = 4'000'000;

using Codes = std::map<std::vector<std::int64_t>, std::uint32_t>;

/// A view as a matrix: code(i, j) says everything about the arcs from i to j in visible rows.
struct DenseView {
  std::vector<Vertex> seen;
  std::vector<std::uint64_t> colour;  ///< by vertex: equal wherever an isomorphism may map
  std::vector<std::uint32_t> code;    ///< row-major
  Vertex vertices = 0;
  std::uint64_t invariant = 0;

  [[nodiscard]] std::uint32_t at(Vertex i, Vertex j) const { return code[static_cast<std::size_t>(i) * vertices + j]; }
};

DenseView make_dense(const Rooted& rooted, Codes& codes, const Budget& budget) {
  DenseView view;
  view.vertices = rooted.structure.vertices;
  const RootColours colours = compute_root_colours(rooted, budget);
  view.colour = colours.hash;
  view.invariant = colours.invariant;
  view.code.assign(static_cast<std::size_t>(view.vertices) * view.vertices, 0);
  std::vector<std::int64_t> key(rooted.structure.relations.size());
  for (Vertex i = 0; i < view.vertices; ++i) {
    if (!rooted.seen[i]) continue;
    view.seen.push_back(i);
    for (Vertex j = 0; j < view.vertices; ++j) {
      for (std::size_t r = 0; r < key.size(); ++r) {
        const symmetry::VisibleRelation& shown = rooted.structure.relations[r];
        key[r] = !shown.visible.empty() && !shown.visible[i] ? -2 : shown.relation->colour(i, j);
      }
      view.code[static_cast<std::size_t>(i) * view.vertices + j] = codes.emplace(key, static_cast<std::uint32_t>(codes.size())).first->second;
    }
  }
  return view;
}

class Lister {
public:
  Lister(Vertex tokens, std::uint64_t most, const Budget& budget) : tokens_(tokens), most_(most), budget_(budget) {}

  /// All isomorphisms a -> b that map `from` to `to`; false beyond the bounds.
  bool list(const DenseView& a, Vertex from, const DenseView& b, Vertex to, std::vector<std::vector<Vertex>>& found) {
    a_ = &a;
    b_ = &b;
    found_ = &found;
    image_.assign(a.vertices, a.vertices);
    used_.assign(b.vertices, false);
    order_ = arrange(a, from);
    return extend(0, to);
  }

private:
  /// The root, then always a vertex with an arc to or from one that stands already, of the rarest colour.
  static std::vector<Vertex> arrange(const DenseView& a, Vertex from) {
    std::map<std::uint64_t, std::size_t> size;
    for (const Vertex v : a.seen) ++size[a.colour[v]];
    std::vector<Vertex> order{from}, rest;
    for (const Vertex v : a.seen) {
      if (v != from) rest.push_back(v);
    }
    while (!rest.empty()) {
      const auto touches = [&](Vertex v) {
        // The most common code of a row is "nothing here"; any other says more.
        return std::any_of(order.begin(), order.end(), [&](Vertex p) { return a.at(p, v) != a.at(p, p) || a.at(v, p) != a.at(v, v); });
      };
      auto best = rest.begin();
      std::pair<bool, std::size_t> best_key{true, ~std::size_t{0}};
      for (auto at = rest.begin(); at != rest.end(); ++at) {
        const std::pair<bool, std::size_t> key{!touches(*at), size[a.colour[*at]]};
        if (key < best_key) best_key = key, best = at;
      }
      order.push_back(*best);
      rest.erase(best);
    }
    return order;
  }

  bool extend(std::size_t place, Vertex only) {
    if (place == order_.size()) {
      if (++count_ > most_) return false;
      found_->emplace_back(image_.begin(), image_.begin() + tokens_);
      return true;
    }
    const Vertex v = order_[place];
    for (const Vertex w : b_->seen) {
      if (used_[w] || (place == 0 && w != only) || a_->colour[v] != b_->colour[w]) continue;
      if (++steps_ > most_steps_listed) return false;
      budget_.poll();
      bool fits = a_->at(v, v) == b_->at(w, w);
      for (std::size_t k = 0; k < place && fits; ++k) {
        const Vertex p = order_[k], q = image_[p];
        fits = a_->at(p, v) == b_->at(q, w) && a_->at(v, p) == b_->at(w, q);
      }
      if (!fits) continue;
      image_[v] = w;
      used_[w] = true;
      const bool go_on = extend(place + 1, only);
      used_[w] = false;
      if (!go_on) return false;
    }
    return true;
  }

  Vertex tokens_;
  std::uint64_t most_, count_ = 0, steps_ = 0;
  const Budget& budget_;
  const DenseView *a_ = nullptr, *b_ = nullptr;
  std::vector<std::vector<Vertex>>* found_ = nullptr;
  std::vector<Vertex> image_, order_;
  std::vector<bool> used_;
};

}  // namespace

std::optional<std::vector<RootClass>> list_isomorphisms(const ViewQuestion& question, std::uint64_t depth, std::uint64_t most, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (layout.tokens > most_tokens_listed || layout.vertices() > 2 * most_tokens_listed || layout.has_equal_registers()) return std::nullopt;
  const std::unique_ptr<RootMaker> maker = make_plain_roots(layout, std::min(depth, compute_limit(question, budget).depth));
  Codes codes;
  std::vector<DenseView> views;
  for (Vertex a = 0; a < layout.tokens; ++a) views.push_back(make_dense(maker->make(a, budget), codes, budget));
  Lister lister(layout.tokens, most, budget);
  std::vector<RootClass> classes;
  std::vector<bool> done(layout.tokens, false);
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if (done[a]) continue;
    RootClass next{a, {}};
    for (Vertex b = a; b < layout.tokens; ++b) {
      if (done[b] || views[b].invariant != views[a].invariant || views[b].seen.size() != views[a].seen.size()) continue;
      std::vector<std::vector<Vertex>> found;
      if (!lister.list(views[a], a, views[b], b, found)) return std::nullopt;
      if (found.empty()) continue;
      done[b] = true;
      next.to.emplace_back(b, std::move(found));
    }
    classes.push_back(std::move(next));
  }
  return classes;
}

}  // namespace sightline::sight

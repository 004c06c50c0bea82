#include "sightline/sight/rooted.hpp"

#include <algorithm>
#include <map>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

class PlainRoots : public RootMaker {
public:
  PlainRoots(const Layout& layout, std::uint64_t depth) : layout_(layout), depth_(depth), first_(compute_first_layers(layout)) {
    std::map<std::uint64_t, std::uint64_t> rank;
    for (const std::uint64_t colour : layout.vertex_colour) rank.emplace(colour, 0);
    std::uint64_t next = 0;
    for (auto& entry : rank) entry.second = next++;
    for (const std::uint64_t colour : layout.vertex_colour) rank_.push_back(rank[colour]);
  }

  Rooted make(Vertex root, const Budget& budget) override {
    const Vertex vertices = layout_.vertices();
    const std::vector<std::int64_t> latest = compute_latest(layout_, depth_, root, budget);
    Rooted result;
    result.structure.vertices = vertices;
    result.structure.vertex_colour.resize(vertices);
    result.seen.resize(vertices);
    const std::uint64_t times = depth_ + 2;
    for (Vertex j = 0; j < vertices; ++j) {
      result.seen[j] = latest[j] >= 0;
      // Time 0 of this scale is "unseen": one colour for tokens, one for registers.
      result.structure.vertex_colour[j] =
          latest[j] < 0 ? (j < layout_.tokens ? 0 : times)
                        : (2 * rank_[j] + (j == root ? 1 : 0)) * times + static_cast<std::uint64_t>(latest[j]) + 1;
    }
    for (std::size_t r = 0; r < layout_.relations.size(); ++r) {
      if (first_[r] == 0) continue;
      symmetry::VisibleRelation relation{&layout_.relations[r], std::vector<bool>(vertices)};
      bool all = true;
      for (Vertex j = 0; j < vertices; ++j) {
        const bool visible = latest[j] >= 0 && static_cast<std::uint64_t>(latest[j]) >= first_[r];
        relation.visible[j] = visible;
        all = all && visible;
      }
      if (all) relation.visible.clear();
      result.structure.relations.push_back(std::move(relation));
    }
    return result;
  }

private:
  const Layout& layout_;
  std::uint64_t depth_;
  std::vector<std::uint64_t> first_, rank_;
};

}  // namespace

std::unique_ptr<RootMaker> make_plain_roots(const Layout& layout, std::uint64_t depth) {
  return std::make_unique<PlainRoots>(layout, depth);
}

std::vector<std::uint64_t> compute_first_layers(const Layout& layout) {
  std::vector<std::uint64_t> first(layout.relations.size(), 0);
  for (std::size_t q = layout.order.size(); q >= 1; --q) {
    for (const std::uint32_t r : layout.layer(q).relations) first[r] = q;
  }
  return first;
}

std::uint64_t compute_first_occurrence(const Layout& layout) {
  std::uint64_t last = 0;
  for (const std::uint64_t first : compute_first_layers(layout)) last = std::max(last, first);
  return last;
}

Limit compute_limit(const ViewQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  // Every row that is ever visible is visible at a vertex that is seen within the layers after `base`. Labels of equal
  // registers first have to settle; then one whole period of rows must be visible.
  const bool equal = layout.has_equal_registers();
  const std::uint64_t base =
      equal ? compute_register_settling(layout, question.register_rows, budget) + layout.order.size() : compute_first_occurrence(layout);
  const Settling settling = compute_settling(layout, base, budget);
  return {base + settling.layers, settling.everything && !equal};
}

}  // namespace sightline::sight

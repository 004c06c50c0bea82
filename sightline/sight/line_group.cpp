// The group of a grid whose rows and whose columns are read by layers of their own (docs/theory.md 16.54 has the proof): all permutations of the rows
// times all of the columns, whatever was to be searched.
#include <numeric>

#include "sightline/sight/product_group.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

enum class LineRows { own, all, other };

/// What every place of a factor reads in this relation: itself, everything, or neither.
LineRows classify_line_rows(const layout::Relation& relation, Vertex places) {
  const layout::Pattern& pattern = relation.pattern();
  if (pattern.arc_count() == std::uint64_t{places} * places) return LineRows::all;
  if (pattern.arc_count() != places) return LineRows::other;
  // The own place is always among them, and nobody reads more than one.
  std::vector<layout::Run> row;
  for (Vertex x = 0; x < places; ++x) {
    pattern.row(x, row);
    if (row.size() != 1 || row.front().first != x || row.front().last != x) return LineRows::other;
  }
  return LineRows::own;
}

}  // namespace

std::optional<ProductGroup> find_line_group(const Layout& layout, const GridFactors& grid, const std::vector<std::uint32_t>& layers, const Budget& budget) {
  const Vertex height = grid.down.tokens, width = grid.width;
  if (height < 2 || width < 2) return std::nullopt;
  bool rows = false, columns = false;
  for (const std::uint32_t l : layers) {
    const auto relation_of = [l](const Layout& part) -> const layout::Relation& { return part.relations[part.layers[l].relations.front()]; };
    const LineRows down = classify_line_rows(relation_of(grid.down), height), across = classify_line_rows(relation_of(grid.across), width);
    if (down == LineRows::other || across == LineRows::other) return std::nullopt;
    // The factors count the own token as read: rows that leave it out have fewer arcs.
    const std::uint64_t arcs = std::uint64_t{down == LineRows::all ? height : 1} * (across == LineRows::all ? width : 1) * layout.tokens;
    if (relation_of(layout).pattern().arc_count() != arcs) return std::nullopt;
    rows = rows || (down == LineRows::own && across == LineRows::all);
    columns = columns || (down == LineRows::all && across == LineRows::own);
  }
  if (!rows || !columns) return std::nullopt;
  // Four moves for each token, as pairs here and there.
  budget.ask(std::uint64_t{layout.tokens} * 64);

  ProductGroup found;
  group::Group& group = found.group;
  group.degree = layout.tokens;
  group.orbit.assign(layout.tokens, 0);
  found.record.is_tight = true;
  // Neighbours change places: what moves line k and the next fixes all lines before, so these are strong along the diagonal.
  const auto add_swaps = [&](Vertex lines, Vertex length, Vertex between, Vertex along) {
    for (Vertex k = 0; k + 1 < lines; ++k) {
      budget.poll();
      group.order.multiply(mpz_class(lines - k));
      std::vector<Vertex> from, to;
      from.reserve(std::size_t{2} * length);
      to.reserve(std::size_t{2} * length);
      const auto move = [&](Vertex line, Vertex image, Vertex at) {
        from.push_back(line * between + at * along);
        to.push_back(image * between + at * along);
      };
      if (between > along) {
        for (Vertex at = 0; at < length; ++at) move(k, k + 1, at);
        for (Vertex at = 0; at < length; ++at) move(k + 1, k, at);
      } else {
        for (Vertex at = 0; at < length; ++at) {
          move(k, k + 1, at);
          move(k + 1, k, at);
        }
      }
      symmetry::MovedPairs& moved = found.record.generators.emplace_back();
      moved.reserve(from.size());
      for (std::size_t at = 0; at < from.size(); ++at) moved.emplace_back(from[at], to[at]);
      group.generators.push_back(group::Permutation::from_support(std::move(from), std::move(to)));
    }
  };
  add_swaps(height, width, width, 1);
  add_swaps(width, height, 1, width);
  for (Vertex k = 0; k + 1 < std::max(height, width); ++k) {
    found.record.path.push_back((k + 1 < height ? k * width : 0) + (k + 1 < width ? k : 0));
  }
  return found;
}

}  // namespace sightline::sight

// The group of a grid whose rows and whose columns are read by layers of their own (docs/theory.md 16.54 has the proof): all permutations of the rows
// times all of the columns, whatever was to be searched. Or, where columns are read in part, each the same way (frames, time causal; 16.111): all permutations of
// the columns times the group of the rows' places, which is asked for only where it is small.
#include <algorithm>

#include "sightline/sight/product_group.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/views.hpp"

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

/// Does every place but the first read one before it? All of them are in one component then.
bool are_linked(const layout::Relation& relation, Vertex places) {
  std::vector<layout::Run> row;
  for (Vertex x = 1; x < places; ++x) {
    relation.pattern().row(x, row);
    if (std::none_of(row.begin(), row.end(), [x](const layout::Run& run) { return run.first < x; })) return false;
  }
  return true;
}

/// Is the group of the places the identity and the reflection, by what they read in these layers, or the identity alone? True for no layers; nothing where neither shows.
std::optional<bool> is_reflected_only(const Layout& factor, const std::vector<std::uint32_t>& layers, const Budget& budget) {
  if (layers.empty()) return true;
  Layout part = factor;
  part.order = layers;
  symmetry::SearchRecord record;
  for (const auto find : {find_named_group, find_interval_group}) {
    if (const std::optional<group::Group> group = find(part, budget, record)) return !group->is_trivial();
  }
  return std::nullopt;
}

}  // namespace

std::optional<ProductGroup> find_line_group(const Layout& layout, const GridFactors& grid, const std::vector<std::uint32_t>& layers, const Budget& budget) {
  const Vertex height = grid.down.tokens, width = grid.width;
  if (height < 2 || width < 2) return std::nullopt;
  bool rows = false, columns = false;  // are they known to be kept?
  std::vector<std::uint32_t> down_in_part, across_in_part;
  for (const std::uint32_t l : layers) {
    const auto relation_of = [l](const Layout& part) -> const layout::Relation& { return part.relations[part.layers[l].relations.front()]; };
    const LineRows down = classify_line_rows(relation_of(grid.down), height), across = classify_line_rows(relation_of(grid.across), width);
    // The factors count the own token as read: rows that leave it out have fewer arcs.
    if (relation_of(layout).pattern().arc_count() != relation_of(grid.down).pattern().arc_count() * relation_of(grid.across).pattern().arc_count()) return std::nullopt;
    rows = rows || (down == LineRows::own && (across == LineRows::all || (across == LineRows::other && are_linked(relation_of(grid.across), width))));
    columns = columns || (across == LineRows::own && (down == LineRows::all || (down == LineRows::other && are_linked(relation_of(grid.down), height))));
    if (down == LineRows::other) down_in_part.push_back(l);
    if (across == LineRows::other) across_in_part.push_back(l);
    if (!down_in_part.empty() && !across_in_part.empty()) return std::nullopt;
  }
  if (!rows || !columns) return std::nullopt;
  const std::optional<bool> down_turns = is_reflected_only(grid.down, down_in_part, budget), across_turns = is_reflected_only(grid.across, across_in_part, budget);
  if (!down_turns || !across_turns) return std::nullopt;
  // Four moves for each token, as pairs here and there.
  budget.ask(std::uint64_t{layout.tokens} * 64);

  ProductGroup found;
  group::Group& group = found.group;
  group.degree = layout.tokens;
  found.record.is_tight = true;
  const auto add_generator = [&](std::vector<Vertex> from, std::vector<Vertex> to) {
    symmetry::MovedPairs& moved = found.record.generators.emplace_back();
    moved.reserve(from.size());
    for (std::size_t at = 0; at < from.size(); ++at) moved.emplace_back(from[at], to[at]);
    group.generators.push_back(group::Permutation::from_support(std::move(from), std::move(to)));
  };
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
      add_generator(std::move(from), std::move(to));
    }
  };
  // Lines that are not permuted but may be reflected, all of them, with what the first does.
  const auto add_reflection = [&](auto&& image_of) {
    group.order.multiply(mpz_class(2));
    std::vector<Vertex> from, to;
    for (Vertex x = 0; x < layout.tokens; ++x) {
      if (image_of(x) == x) continue;
      from.push_back(x);
      to.push_back(image_of(x));
    }
    add_generator(std::move(from), std::move(to));
  };
  const bool permutes_rows = down_in_part.empty(), permutes_columns = across_in_part.empty();
  if (permutes_rows) add_swaps(height, width, width, 1);
  else if (*down_turns) add_reflection([&](Vertex x) { return (height - 1 - x / width) * width + x % width; });
  if (permutes_columns) add_swaps(width, height, 1, width);
  else if (*across_turns) add_reflection([&](Vertex x) { return x / width * width + (width - 1 - x % width); });
  const Vertex down_path = permutes_rows ? height - 1 : 0, across_path = permutes_columns ? width - 1 : 0;
  for (Vertex k = 0; k < std::max(down_path, across_path); ++k) {
    found.record.path.push_back((k < down_path ? k * width : 0) + (k < across_path ? k : 0));
  }
  group.orbit.resize(layout.tokens);
  for (Vertex x = 0; x < layout.tokens; ++x) {
    const Vertex r = x / width, c = x % width;
    const Vertex least_row = permutes_rows ? 0 : *down_turns ? std::min(r, height - 1 - r) : r, least_column = permutes_columns ? 0 : *across_turns ? std::min(c, width - 1 - c) : c;
    group.orbit[x] = least_row * width + least_column;
  }
  return found;
}

}  // namespace sightline::sight

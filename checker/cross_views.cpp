// Views of layouts on a grid, each of whose tokens reads its own row and column as wholes, by one relation or two (docs/theory.md 16.107). An isomorphism takes the row and the column of
// one root to those of the other, each row of the grid looks like any other to the relations that are kept here, and where it takes a row and a column it takes all tokens.
#include <algorithm>
#include <array>
#include <map>

#include "field.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

struct GridOfLines {
  Vertex width, height;
  std::uint32_t rows, columns;  ///< relations; the same one may do both
};

/// Does each token read, itself apart, so many of its row, so many of its column, and nothing else?
bool reads_lines(const Relation& relation, Vertex width, Vertex of_row, Vertex of_column) {
  std::vector<Run> row;
  for (Vertex i = 0; i < relation.tokens; ++i) {
    poll();
    relation.pattern->row(i, row);
    Vertex in_row = 0, in_column = 0;
    for (const Run& run : row) {
      const bool own = i >= run.first && i <= run.last && (i - run.first) % run.step == 0;
      const Vertex others = run.size() - (own ? 1 : 0);
      if (run.first / width == i / width && run.last / width == i / width) {
        in_row += others;
      } else if (run.first % width == i % width && (run.first == run.last || run.step % width == 0)) {
        in_column += others;
      } else {  // a run may go on from one grid row to the next
        for (Vertex k = 0; k < run.size(); ++k) {
          const Vertex j = run.first + k * run.step;
          if (j == i) continue;
          if (j / width != i / width && j % width != i % width) return false;
          ++(j / width == i / width ? in_row : in_column);
        }
      }
    }
    if (in_row != of_row || in_column != of_column) return false;
  }
  return true;
}

/// Have all arcs one colour, and does every token read itself, or none? Then whatever takes rows and columns to such keeps the relation.
bool is_even(const Relation& relation) {
  std::vector<Run> row;
  std::optional<std::int64_t> colour;
  Vertex loops = 0;
  for (Vertex i = 0; i < relation.tokens; ++i) {
    poll();
    relation.row(i, row);
    for (const Run& run : row) {
      if (!colour) colour = run.colour;
      if (run.colour != *colour || run.colour_step != 0) return false;
      loops += i >= run.first && i <= run.last && (i - run.first) % run.step == 0 ? 1 : 0;
    }
  }
  return loops == 0 || loops == relation.tokens;
}

/// What maps that take rows and columns to such may not keep: the other relations, and colours of tokens.
Layout make_rest(const Layout& layout, const GridOfLines& grid) {
  Layout rest;
  rest.tokens = layout.tokens;
  rest.vertex_colour = layout.vertex_colour;
  rest.layers.emplace_back();
  rest.order = {0};
  const std::vector<std::uint64_t> first = first_layers(layout);
  for (std::uint32_t r = 0; r < first.size(); ++r) {
    if (first[r] == absent || ((r == grid.rows || r == grid.columns) && is_even(layout.relations[r]))) continue;
    rest.layers[0].push_back(static_cast<std::uint32_t>(rest.relations.size()));
    rest.relations.push_back(layout.relations[r]);
  }
  return rest;
}

std::optional<GridOfLines> find_grid_of_lines(const Layout& layout, const std::vector<std::uint64_t>& first) {
  std::vector<Run> row;
  for (std::uint32_t r = 0; r < first.size(); ++r) {
    if (first[r] == absent) continue;
    // Token 0 stands at the end of its row.
    layout.relations[r].pattern->row(0, row);
    std::vector<Vertex> widths;
    for (const Run& run : row) {
      if (run.step == 1 && run.first <= 1 && run.last >= 1) widths = {run.last + 1, run.last};
    }
    for (const Vertex width : widths) {
      if (width < 2 || layout.tokens % width != 0 || layout.tokens / width < 2) continue;
      const Vertex height = layout.tokens / width;
      if (reads_lines(layout.relations[r], width, width - 1, height - 1)) return GridOfLines{width, height, r, r};
      if (!reads_lines(layout.relations[r], width, width - 1, 0)) continue;
      for (std::uint32_t c = 0; c < first.size(); ++c) {
        if (first[c] != absent && reads_lines(layout.relations[c], width, 0, height - 1)) return GridOfLines{width, height, r, c};
      }
    }
  }
  return std::nullopt;
}

/// (reader, read, colour): places on a line.
using LineArcs = std::vector<std::array<std::uint64_t, 3>>;
constexpr std::size_t most_arcs = std::size_t{1} << 23;

/// The arcs of a relation that stay on one line, in places of it: tokens at + k apart. Nothing where a run meets it in another way than runs of neighbours, or of whole rows, do.
std::optional<LineArcs> take_line(const Relation& relation, Vertex at, Vertex apart, Vertex places) {
  LineArcs arcs;
  std::vector<Run> row;
  for (Vertex k = 0; k < places; ++k) {
    poll();
    relation.row(at + k * apart, row);
    for (const Run& run : row) {
      if (run.first != run.last && apart > 1 && run.step != 1 && run.step % apart != 0) return std::nullopt;
      // The members that stand on the line come after each other in these steps.
      const std::uint64_t stride = run.step % apart == 0 || run.first == run.last ? run.step : apart;
      std::uint64_t j = run.first;
      if (apart == 1 && j < at) j += (at - j + run.step - 1) / run.step * std::uint64_t{run.step};
      if (apart > 1) {
        const Vertex gap = (at % apart + apart - j % apart) % apart;
        if (gap != 0 && (run.step != 1 || run.first == run.last)) continue;
        j += gap;
      }
      for (const std::uint64_t end = std::min<std::uint64_t>(run.last, at + std::uint64_t{places - 1} * apart); j <= end; j += stride) {
        arcs.push_back({k, (j - at) / apart, static_cast<std::uint64_t>(run.colour + static_cast<std::int64_t>((j - run.first) / run.step) * run.colour_step)});
        if (arcs.size() > most_arcs) return std::nullopt;
      }
    }
  }
  std::sort(arcs.begin(), arcs.end());
  return arcs;
}

/// A line of the grid as all of them are, and how its places can be told.
class Line {
public:
  explicit Line(Vertex places_) : places(places_) {}
  const Vertex places;

  /// Lines 0 .. count-1 begin `next` tokens after each other. Relations that differ from line to line are passed over.
  /// Was it taken?
  bool add(const Relation& relation, std::uint32_t number, Vertex count, Vertex next, Vertex apart) {
    const std::optional<LineArcs> here = take_line(relation, 0, apart, places);
    // Of a line that is read as a whole nothing is told.
    constexpr std::uint64_t most_read = std::uint64_t{1} << 29;
    if (!here || here->size() + arcs_.size() > most_arcs || here->size() >= std::uint64_t{places} * (places - 1) || here->size() * count > most_read) return false;
    for (Vertex line = 1; line < count; ++line) {
      if (take_line(relation, line * next, apart, places) != here) return false;
    }
    for (const auto& [i, j, colour] : *here) arcs_.push_back({i, j, mix(number + 1, colour)});
    return true;
  }

  /// A value for each place that maps between such lines keep, where they keep the place that is named; empty where that takes long.
  [[nodiscard]] std::vector<std::uint64_t> colour(Vertex named) {
    std::vector<std::uint64_t> value(places, 5);
    if (named != none) value[named] = 7;
    for (std::size_t known = count_different(value);;) {
      constexpr std::uint64_t most_work = std::uint64_t{1} << 29;
      if ((work_ += places + arcs_.size()) > most_work) return {};
      poll();
      std::vector<std::uint64_t> more(places, 0);
      for (const auto& [i, j, colour] : arcs_) {
        more[i] += mix(value[j], colour);
        more[j] += mix(colour, value[i]);
      }
      for (Vertex k = 0; k < places; ++k) value[k] = mix(value[k], more[k]);
      const std::size_t different = count_different(value);
      if (different == known || different == places) return value;
      known = different;
    }
  }

  static std::size_t count_different(std::vector<std::uint64_t> value) {
    std::sort(value.begin(), value.end());
    return static_cast<std::size_t>(std::unique(value.begin(), value.end()) - value.begin());
  }

private:
  LineArcs arcs_;
  std::uint64_t work_ = 0;
};

/// Whatever takes one line to the other is among these maps of places; nothing where one named place does not tell all others, or there are too many.
std::optional<std::vector<std::vector<Vertex>>> list_maps(Line& from, Line& to) {
  constexpr std::size_t most_maps = 32;  // the library allows fewer
  const std::vector<std::uint64_t> plain = from.colour(none), other = to.colour(none);
  if (plain.empty() || other.empty()) return std::nullopt;
  std::map<std::uint64_t, Vertex> size;
  for (const std::uint64_t value : plain) ++size[value];
  Vertex named = none;
  for (Vertex k = 0; k < from.places; ++k) {
    if (size[plain[k]] > 1 && (named == none || size[plain[k]] < size[plain[named]])) named = k;
  }
  const std::vector<std::uint64_t> told = named == none ? plain : from.colour(named);
  if (told.empty() || Line::count_different(told) != from.places) return std::nullopt;
  std::vector<std::vector<Vertex>> maps;
  for (Vertex k = 0; k < to.places; ++k) {
    if (named == none ? k > 0 : other[k] != plain[named]) continue;
    const std::vector<std::uint64_t> answer = named == none ? other : to.colour(k);
    if (answer.empty()) return std::nullopt;
    std::map<std::uint64_t, Vertex> place;
    for (Vertex j = 0; j < to.places; ++j) place.emplace(answer[j], j);
    std::vector<Vertex> map;
    for (const std::uint64_t value : told) {
      if (const auto at = place.find(value); at != place.end()) map.push_back(at->second);
    }
    if (map.size() == from.places && place.size() == from.places) maps.push_back(std::move(map));
    if (maps.size() > most_maps) return std::nullopt;
  }
  return maps;
}

/// Calls visit(map) for maps of the tokens, among products of which are all that isomorphisms can do: those of columns, those of rows and, where rows may become columns, one that makes them so.
/// The identity is left out. Nothing where they are not so easily found; else, did visit never say false?
/// @param row_time, column_time  relations that have occurred by these layers are looked at along rows, and along columns
std::optional<bool> visit_maps(const Layout& layout, const GridOfLines& grid, std::uint64_t row_time, std::uint64_t column_time, std::size_t most_of_line, const std::function<bool(Permutation)>& visit) {
  const std::vector<std::uint64_t> first = first_layers(layout);
  const Vertex width = grid.width, height = grid.height;
  Line row(width), column(height);
  bool is_bare = true, comparable = true;  // relations that one line has and the other has not say nothing of both
  for (std::uint32_t r = 0; r < first.size(); ++r) {
    if (first[r] == absent || r == grid.rows || r == grid.columns) continue;
    is_bare = false;
    const bool along_rows = first[r] <= row_time && row.add(layout.relations[r], r, height, width, 1);
    const bool along_columns = first[r] <= column_time && column.add(layout.relations[r], r, width, 1, width);
    comparable = comparable && along_rows == along_columns;
  }
  if (is_bare) return std::nullopt;
  const auto along_row = list_maps(row, row), along_column = list_maps(column, column);
  if (!along_row || !along_column || along_row->size() > most_of_line || along_column->size() > most_of_line) return std::nullopt;
  // One relation does not say which of both is the row: it may become the column.
  std::optional<std::vector<std::vector<Vertex>>> turned;
  if (grid.rows == grid.columns && width == height && (!comparable || !(turned = list_maps(row, column)))) return std::nullopt;
  const auto pass = [&](const auto& image) {
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (Vertex i = 0; i < layout.tokens; ++i) moves.emplace_back(i, image(i / width, i % width));
    Permutation map(std::move(moves));
    return map.is_identity() || visit(std::move(map));
  };
  for (const std::vector<Vertex>& map : *along_row) {
    if (!pass([&](Vertex r, Vertex c) { return r * width + map[c]; })) return false;
  }
  for (const std::vector<Vertex>& map : *along_column) {
    if (!pass([&](Vertex r, Vertex c) { return map[r] * width + c; })) return false;
  }
  if (!turned || turned->empty()) return true;
  const std::vector<Vertex>& map = turned->front();
  std::vector<Vertex> back(width);
  for (Vertex c = 0; c < width; ++c) back[map[c]] = c;
  return pass([&](Vertex r, Vertex c) { return map[c] * width + back[r]; });
}

/// How many layers are left, at the depth, to what is read by the relation; 0 where nothing is.
std::uint64_t time_left(const Layout& layout, std::uint64_t depth, std::uint32_t relation) {
  for (std::uint64_t back = 0; back < std::min<std::uint64_t>(depth, layout.order.size()); ++back) {
    if (std::ranges::count(layout.layer(depth - back), relation) > 0) return depth - back - 1;
  }
  return 0;
}

}  // namespace

bool do_crosses_explain(const Layout& layout, std::uint64_t depth, const std::function<bool(const Permutation&)>& is_symmetry) {
  if (layout.registers > 0 || layout.order.empty()) return false;
  const std::vector<std::uint64_t> first = first_layers(layout);
  const std::optional<GridOfLines> grid = find_grid_of_lines(layout, first);
  if (!grid) return false;
  const std::uint64_t row_time = time_left(layout, depth, grid->rows), column_time = time_left(layout, depth, grid->columns);
  if (row_time < first[grid->columns] || column_time < first[grid->rows]) return false;  // who stands there shows no column, or no row
  return visit_maps(layout, *grid, row_time, column_time, ~std::size_t{0}, [&](const Permutation& map) { return is_symmetry(map); }).value_or(false);
}

std::optional<ConfirmedGroup> confirm_cross_group(const Layout& layout, const Json& evidence) {
  constexpr std::size_t most_generators = 3;
  const Json &given = evidence["generators"], &path = evidence["path"];
  if (layout.registers > 0 || layout.order.empty() || evidence["twins"].size() != 0 || evidence["failed"].size() != 0 || given.size() > most_generators) return std::nullopt;
  if (path.size() != (given.size() == 0 ? 0 : 1) || (path.size() == 1 && path[0].natural() != 0)) return std::nullopt;
  const std::vector<std::uint64_t> first = first_layers(layout);
  const std::optional<GridOfLines> grid = find_grid_of_lines(layout, first);
  if (!grid) return std::nullopt;
  const Layout rest = make_rest(layout, *grid);
  const Structure structure = make_structure(rest);
  ConfirmedGroup found;
  found.group.degree = layout.tokens;
  // Each of them is its own inverse but for the last, which exchanges rows and columns: products of them are so many.
  const auto is_given = [&](Permutation map) {
    const std::size_t k = found.group.generators.size();
    if (k == given.size() || Permutation::read(given[k], layout.tokens).moves() != map.moves() || !is_isomorphism(structure, structure, map)) return false;
    found.group.generators.push_back(std::move(map));
    found.order->multiply(2);
    return true;
  };
  const std::optional<bool> all = visit_maps(layout, *grid, layout.order.size(), layout.order.size(), 2, is_given);
  return all && *all && found.group.generators.size() == given.size() ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace checker

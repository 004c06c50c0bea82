// Views of layouts in which every token reads its row and its column of a grid in full, beside something local (axial attention and neighbourhoods): an isomorphism is known by what it does
// along one row and along one column (docs/theory.md 16.107).
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/orbits.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

/// The relations by which tokens read their grid rows (`across`) and columns (`down`), which may be one. Rows of `width` tokens.
struct Cross {
  Vertex width = 0, height = 0;
  std::uint32_t across = 0, down = 0;
};

/// What a token reads: of its grid row and of its column, itself apart; nothing where it reads anything else.
struct Shape {
  Vertex in_row = 0, in_column = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

std::optional<Shape> measure(const std::vector<layout::Run>& row, Vertex reader, Vertex width) {
  Shape shape;
  for (const layout::Run& run : row) {
    const Vertex others = run.size() - (run.contains(reader) ? 1 : 0);
    if (run.first / width == reader / width && run.last / width == reader / width) {
      shape.in_row += others;
    } else if (run.first % width == reader % width && (run.first == run.last || run.step % width == 0)) {
      shape.in_column += others;
    } else {  // the end of a grid row and the beginning of the next may be one run
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
        if (j == reader) continue;
        if (j / width == reader / width) ++shape.in_row;
        else if (j % width == reader % width) ++shape.in_column;
        else return std::nullopt;
      }
    }
  }
  return shape;
}

/// Of all readers alike, whole lines or nothing of them; else nothing.
std::optional<Shape> measure(const layout::Relation& relation, Vertex width, const Budget& budget) {
  const auto is_whole = [](Vertex members, Vertex line) { return members == 0 || members == line - 1; };
  std::optional<Shape> all;
  std::vector<layout::Run> row;
  for (Vertex i = 0; i < relation.tokens(); ++i) {
    budget.poll();
    relation.pattern().row(i, row);
    const std::optional<Shape> shape = measure(row, i, width);
    if (!shape || (all && *all != *shape) || !is_whole(shape->in_row, width) || !is_whole(shape->in_column, relation.tokens() / width)) return std::nullopt;
    all = shape;
  }
  return all;
}

std::optional<Cross> find_cross(const Layout& layout, const std::vector<std::uint64_t>& first, const Budget& budget) {
  const Vertex tokens = layout.tokens;
  // The width: as far as token 0 reads without a gap.
  std::vector<layout::Run> row;
  const auto measure_first = [&layout, &row](std::uint32_t relation, Vertex width) {  // says no for most
    layout.relations[relation].pattern().row(0, row);
    return measure(row, 0, width);
  };
  for (std::uint32_t across = 0; across < layout.relations.size(); ++across) {
    if (first[across] == 0) continue;
    layout.relations[across].pattern().row(0, row);
    const auto run = std::find_if(row.begin(), row.end(), [](const layout::Run& r) { return r.step == 1 && r.first <= 1 && r.last >= 1; });
    if (run == row.end()) continue;
    const Vertex reach = run->last;
    for (const Vertex width : {reach + 1, reach}) {  // the token below the own one comes next in the order of the line
      if (width < 2 || width > tokens / 2 || tokens % width != 0) continue;
      const Vertex height = tokens / width;
      const Shape both{width - 1, height - 1}, in_row{width - 1, 0}, in_column{0, height - 1};
      const std::optional<Shape> shape = measure_first(across, width);
      if (shape == both && measure(layout.relations[across], width, budget) == both) return Cross{width, height, across, across};
      for (std::uint32_t down = 0; shape == in_row && down < layout.relations.size(); ++down) {
        if (first[down] == 0 || measure_first(down, width) != in_column) continue;
        if (measure(layout.relations[across], width, budget) == in_row && measure(layout.relations[down], width, budget) == in_column) return Cross{width, height, across, down};
      }
    }
  }
  return std::nullopt;
}

/// Whatever takes rows and columns to such keeps a relation of whole ones with one colour for all arcs, by which every token reads itself, or none does.
bool is_even(const layout::Relation& relation, const Budget& budget) {
  if (!relation.is_plain()) return false;
  Vertex loops = 0;
  std::vector<layout::Run> row;
  for (Vertex i = 0; i < relation.tokens(); ++i) {
    budget.poll();
    relation.pattern().row(i, row);
    loops += std::any_of(row.begin(), row.end(), [i](const layout::Run& run) { return run.contains(i); }) ? 1 : 0;
  }
  return loops == 0 || loops == relation.tokens();
}

/// What such a map may not keep: the other relations, and colours of tokens.
Layout make_rest(const Layout& layout, const std::vector<std::uint64_t>& first, const Cross& cross, const Budget& budget) {
  Layout rest;
  rest.tokens = layout.tokens;
  rest.vertex_colour = layout.vertex_colour;
  rest.layers.emplace_back();
  rest.order = {0};
  for (std::uint32_t r = 0; r < first.size(); ++r) {
    if (first[r] == 0 || ((r == cross.across || r == cross.down) && is_even(layout.relations[r], budget))) continue;
    rest.layers[0].relations.push_back(static_cast<std::uint32_t>(rest.relations.size()));
    rest.relations.push_back(layout.relations[r]);
  }
  return rest;
}

/// What is read along a line by the relations that have occurred by some layer: arcs with their colours, the same on every row of the grid, or on every column.
class Line {
public:
  Line(Vertex places, const Budget& budget) : places_(places), budget_(budget) {}

  /// Lines 0 .. lines-1 begin `next` tokens one after the other, their places are `stride` apart. A relation that is not the same on all lines is left out, or read on whole lines, which tells no
  /// places apart, or that has too many arcs. Was it taken?
  bool add(const layout::Relation& relation, std::uint64_t salt, Vertex lines, Vertex next, Vertex stride) {
    const std::optional<std::vector<Arc>> here = take(relation, 0, stride);
    if (!here || here->size() >= std::uint64_t{places_} * (places_ - 1) || here->size() * lines > most_work || arcs_.size() + here->size() > most_arcs) return false;
    for (Vertex line = 1; line < lines; ++line) {
      if (take(relation, line * next, stride) != here) return false;
    }
    for (const Arc& arc : *here) arcs_.push_back({arc.reader, arc.read, mix(arc.colour + salt)});
    return true;
  }

  /// Hashes that isomorphisms of lines keep, one place set apart; nothing where that takes long.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> colour(std::optional<Vertex> named) {
    std::vector<std::uint64_t> hash(places_, 1), next;
    if (named) hash[*named] = 2;
    root_hash::DistinctCounter counter(places_);
    for (std::size_t known = counter.count(hash, places_);;) {
      if ((work_ += arcs_.size() + places_) > most_work) return std::nullopt;
      budget_.poll();
      next = hash;
      for (const auto& [i, j, colour] : arcs_) {
        next[i] += mix(hash[j] + colour);
        next[j] += mix(mix(hash[i]) + colour);
      }
      for (std::uint64_t& value : next) value = mix(value);
      hash.swap(next);
      const std::size_t distinct = counter.count(hash, places_);
      if (distinct == places_ || distinct == known) return hash;
      known = distinct;
    }
  }

private:
  struct Arc {
    Vertex reader = 0, read = 0;
    std::uint64_t colour = 0;
    friend auto operator<=>(const Arc&, const Arc&) = default;
  };

  /// The arcs from the line that begins at a token to itself, in order. Nothing for runs whose steps are neither those of the line nor single tokens.
  [[nodiscard]] std::optional<std::vector<Arc>> take(const layout::Relation& relation, Vertex begin, Vertex stride) const {
    std::vector<Arc> arcs;
    std::vector<layout::ColouredRun> row;
    const Vertex end = begin + (places_ - 1) * stride;
    for (Vertex place = 0; place < places_; ++place) {
      budget_.poll();
      relation.row(begin + place * stride, row);
      for (const layout::ColouredRun& run : row) {
        const bool keeps = run.first == run.last || run.step % stride == 0;  // members are on the line, or none is
        if (!keeps && run.step != 1) return std::nullopt;
        const std::uint64_t step = keeps ? run.step : stride;
        std::uint64_t j = run.first;
        if (keeps && j % stride != begin % stride) continue;
        if (!keeps) j += (begin % stride + stride - j % stride) % stride;
        if (j < begin) j += (begin - j + step - 1) / step * step;
        for (; j <= std::min(run.last, end); j += step) {
          const std::int64_t colour = run.colour + static_cast<std::int64_t>((j - run.first) / run.step) * run.colour_step;
          arcs.push_back({place, static_cast<Vertex>((j - begin) / stride), static_cast<std::uint64_t>(colour)});
        }
        if (arcs.size() > most_arcs) return std::nullopt;
      }
    }
    std::sort(arcs.begin(), arcs.end());
    return arcs;
  }

  static constexpr std::size_t most_arcs = std::size_t{1} << 22;
  static constexpr std::uint64_t most_work = std::uint64_t{1} << 28;

  Vertex places_;
  const Budget& budget_;
  std::vector<Arc> arcs_;
  std::uint64_t work_ = 0;
};

/// Places by hash; nothing where two have the same.
std::optional<std::unordered_map<std::uint64_t, Vertex>> find_places(const std::vector<std::uint64_t>& hash) {
  std::unordered_map<std::uint64_t, Vertex> place;
  for (Vertex k = 0; k < hash.size(); ++k) {
    if (!place.emplace(hash[k], k).second) return std::nullopt;
  }
  return place;
}

/// The one map of places that an isomorphism from a line to another can be, where it takes the named place to the other: by hashes, all different on the first. Nothing: there is none.
std::optional<std::vector<Vertex>> match(const std::vector<std::uint64_t>& from, const std::unordered_map<std::uint64_t, Vertex>& to) {
  std::vector<Vertex> images;
  for (const std::uint64_t hash : from) {
    const auto at = to.find(hash);
    if (at == to.end()) return std::nullopt;
    images.push_back(at->second);
  }
  return images;
}

/// All maps that may be isomorphisms from the first line to the second, which may be the same; nothing where they are not so easily found.
std::optional<std::vector<std::vector<Vertex>>> list_maps(Line& first, Line& second, Vertex places) {
  constexpr std::size_t most_maps = 16;
  const auto hash = first.colour(std::nullopt), other_hash = second.colour(std::nullopt);
  if (!hash || !other_hash) return std::nullopt;
  std::unordered_map<std::uint64_t, std::vector<Vertex>> cells;
  for (Vertex k = 0; k < places; ++k) cells[(*hash)[k]].push_back(k);
  // The smallest cell with two places; all are alone: one map at most.
  std::optional<Vertex> named;
  for (Vertex k = 0; k < places; ++k) {
    const std::size_t size = cells[(*hash)[k]].size();
    if (size > 1 && (!named || size < cells[(*hash)[*named]].size())) named = k;
  }
  const auto told = named ? first.colour(named) : hash;
  if (!told || !find_places(*told)) return std::nullopt;
  std::vector<std::vector<Vertex>> maps;
  const auto add = [&](const std::vector<std::uint64_t>& other) {
    const auto place = find_places(other);
    if (auto map = place ? match(*told, *place) : std::nullopt) maps.push_back(*std::move(map));
  };
  if (!named) add(*other_hash);
  for (Vertex k = 0; named && k < places; ++k) {
    if ((*other_hash)[k] != (*hash)[*named]) continue;
    const auto other = second.colour(k);
    if (!other) return std::nullopt;
    add(*other);
    if (maps.size() > most_maps) return std::nullopt;
  }
  return maps;
}

/// What maps of a layout, or of its views, may do: on columns, on rows, and, where rows may become columns, one map that makes them so (it takes (r, c) to (exchange[c], inverse of exchange[r])).
struct CrossMaps {
  Vertex width = 0, height = 0;
  std::vector<std::vector<Vertex>> of_columns, of_rows;
  std::optional<std::vector<Vertex>> exchange;

  /// Calls visit(map) for those that are not the identity, as permutations of the tokens, until it says false; did it never?
  template <class Visit>
  bool visit(const Visit& visit) const {
    std::vector<group::Point> images(std::size_t{width} * height);
    const auto is_visited = [&](const auto& image_of) {
      for (Vertex r = 0; r < height; ++r) {
        for (Vertex c = 0; c < width; ++c) images[r * width + c] = image_of(r, c);
      }
      const group::Permutation map = group::Permutation::from_images(images);
      return map.is_identity() || visit(map);
    };
    for (const std::vector<Vertex>& map : of_columns) {
      if (!is_visited([&](Vertex r, Vertex c) { return r * width + map[c]; })) return false;
    }
    for (const std::vector<Vertex>& map : of_rows) {
      if (!is_visited([&](Vertex r, Vertex c) { return map[r] * width + c; })) return false;
    }
    if (!exchange) return true;
    std::vector<Vertex> back(width);
    for (Vertex c = 0; c < width; ++c) back[(*exchange)[c]] = c;
    return is_visited([&](Vertex r, Vertex c) { return (*exchange)[c] * width + back[r]; });
  }
};

/// @param along_row, along_column  the last first layers of the relations that are looked at along rows, and along columns
std::optional<CrossMaps> find_cross_maps(const Layout& layout, const std::vector<std::uint64_t>& first, const Cross& cross, std::uint64_t along_row, std::uint64_t along_column, const Budget& budget) {
  const auto [width, height, across, down] = cross;
  Line of_row(width, budget), of_column(height, budget);
  bool has_local = false, are_alike = true;  // do both lines have the same relations?
  for (std::uint32_t r = 0; r < first.size(); ++r) {
    if (first[r] == 0 || r == across || r == down) continue;
    has_local = true;
    const std::uint64_t salt = mix(r + 1);
    const bool in_row = first[r] <= along_row && of_row.add(layout.relations[r], salt, height, width, 1);
    const bool in_column = first[r] <= along_column && of_column.add(layout.relations[r], salt, width, 1, width);
    are_alike = are_alike && in_row == in_column;
  }
  if (!has_local) return std::nullopt;
  auto of_columns = list_maps(of_row, of_row, width);
  if (!of_columns) return std::nullopt;
  auto of_rows = list_maps(of_column, of_column, height);
  if (!of_rows) return std::nullopt;
  CrossMaps maps{width, height, *std::move(of_columns), *std::move(of_rows), std::nullopt};
  if (across == down && width == height) {
    // One such map and those above make all. What was left out of one line alone would tell it from the other without reason.
    if (!are_alike) return std::nullopt;
    auto exchanges = list_maps(of_row, of_column, width);
    if (!exchanges) return std::nullopt;
    if (!exchanges->empty()) maps.exchange = std::move(exchanges->front());
  }
  return maps;
}

}  // namespace

bool do_crosses_explain(const Layout& layout, std::uint64_t depth, const std::function<bool(const group::Permutation&)>& is_symmetry, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty()) return false;
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  const std::optional<Cross> cross = find_cross(layout, first, budget);
  if (!cross) return false;
  // How many layers are left to what a root reads of its row, and of its column.
  const auto find_time = [&](std::uint32_t relation) -> std::uint64_t {
    for (std::uint64_t q = depth; q > 0 && q + layout.order.size() > depth; --q) {
      const auto& relations = layout.layer(q).relations;
      if (std::find(relations.begin(), relations.end(), relation) != relations.end()) return q - 1;
    }
    return 0;
  };
  const std::uint64_t along_row = find_time(cross->across), along_column = find_time(cross->down);
  if (along_row < first[cross->down] || along_column < first[cross->across]) return false;
  const std::optional<CrossMaps> maps = find_cross_maps(layout, first, *cross, along_row, along_column, budget);
  return maps && maps->visit(is_symmetry);
}

std::optional<group::Group> find_cross_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord& record) {
  // On 2 x 2 tokens one of these maps is a transposition, and other rooms expect these as classes.
  constexpr Vertex fewest_tokens = 5;
  if (layout.registers > 0 || layout.order.empty() || layout.tokens < fewest_tokens) return std::nullopt;
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  const std::optional<Cross> cross = find_cross(layout, first, budget);
  if (!cross) return std::nullopt;
  const std::uint64_t all = layout.order.size();
  const std::optional<CrossMaps> maps = find_cross_maps(layout, first, *cross, all, all, budget);
  // On a line there are the identity and one map besides, at most.
  if (!maps || maps->of_columns.size() > 2 || maps->of_rows.size() > 2) return std::nullopt;
  group::Group result = group::make_trivial_group(layout.tokens);
  record = {};
  symmetry::Orbits orbits(layout.tokens);
  const Layout rest = make_rest(layout, first, *cross, budget);
  const symmetry::AutomorphismTest test(symmetry::make_structure(rest), budget);
  const bool are_symmetries = maps->visit([&](const group::Permutation& map) {
    if (!test(map)) return false;
    symmetry::MovedPairs& moved = record.generators.emplace_back();
    for (std::size_t k = 0; k < map.moved().size(); ++k) {
      moved.emplace_back(map.moved()[k], map.image()[k]);
      orbits.join(map.moved()[k], map.image()[k]);
    }
    result.generators.push_back(map);
    return true;
  });
  if (!are_symmetries) return std::nullopt;
  record.is_tight = true;
  if (!result.generators.empty()) record.path.push_back(0);
  result.order = group::Order(mpz_class(1 << result.generators.size()));
  for (Vertex j = 0; j < layout.tokens; ++j) result.orbit[j] = orbits.find(j);
  return result;
}

}  // namespace sightline::sight

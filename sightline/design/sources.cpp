#include "sightline/design/sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/layout/mask_file.hpp"
#include "sightline/layout/mask_scipy.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::design {

using group::Point;

namespace {

constexpr std::uint64_t most_vertices = std::uint64_t{1} << 24;

[[noreturn]] void fail_at(const std::string& file, std::size_t line, const std::string& expected, std::string_view found) {
  throw InputError(fmt::format("{}:{}: expected {}, found {}", file, line, expected, found.empty() ? "nothing" : layout::quote(found)));
}

/// Lines with their numbers, from 1, without carriage returns.
std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while ((at = line.find_first_not_of(" \t", at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

template <class Integer> bool parse_number(std::string_view word, Integer& value) {
  if (!word.empty() && word[0] == '+') word.remove_prefix(1);
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc{} && end == word.data() + word.size();
}

std::string_view cut_comment(std::string_view line) { return line.substr(0, std::min(line.find('#'), line.size())); }

/// Undirected arcs from a set of edges.
void add_edges(const std::set<std::pair<Point, Point>>& edges, ColouredGraph& graph) {
  for (const auto& [a, b] : edges) {
    graph.arcs.push_back({a, b, 1});
    if (a != b) graph.arcs.push_back({b, a, 1});
  }
}

ColouredGraph parse_edge_lines(std::string_view text, const std::string& file) {
  ColouredGraph graph;
  std::set<std::pair<Point, Point>> edges;
  const std::vector<std::string_view> lines = split_lines(text);
  std::uint64_t count = 0;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const std::vector<std::string_view> words = split_words(cut_comment(lines[k]));
    if (words.empty()) continue;
    std::vector<std::uint64_t> points;
    for (const std::string_view word : words) {
      std::uint64_t point = 0;
      if (!parse_number(word, point) || point >= most_vertices) {
        throw InputError(fmt::format("{}:{}:{}: expected a vertex from 0 to {}, found {}", file, k + 1, word.data() - lines[k].data() + 1, most_vertices - 1, layout::quote(word)));
      }
      points.push_back(point);
      count = std::max(count, point + 1);
    }
    if (points.size() > 2) fail_at(file, k + 1, "an edge \"u v\" or one vertex", lines[k]);
    if (points.size() == 2) edges.emplace(static_cast<Point>(std::min(points[0], points[1])), static_cast<Point>(std::max(points[0], points[1])));
  }
  if (count == 0) throw InputError(fmt::format("{}: expected edges \"u v\", one per line, found none", file));
  graph.vertex_colour.assign(count, 0);
  add_edges(edges, graph);
  return graph;
}

ColouredGraph parse_graph6(std::string_view line, std::size_t offset, const std::string& file) {
  const auto value = [&](std::size_t at) -> std::uint64_t {
    if (at >= line.size()) throw InputError(fmt::format("{}:1:{}: expected a graph6 character, found the end of the line", file, offset + at + 1));
    const auto c = static_cast<unsigned char>(line[at]);
    if (c < 63 || c > 126) throw InputError(fmt::format("{}:1:{}: expected a graph6 character (ASCII 63 to 126), found {}", file, offset + at + 1, layout::quote(line.substr(at, 1))));
    return c - 63u;
  };
  std::uint64_t n = value(0);
  std::size_t at = 1;
  if (n == 63) {
    const bool huge = value(1) == 63;
    at = huge ? 8 : 4;
    n = 0;
    for (std::size_t k = huge ? 2 : 1; k < at; ++k) n = n * 64 + value(k);
  }
  if (n > 60'000) throw InputError(fmt::format("{}:1: expected a graph of at most 60000 vertices, found {}", file, n));
  const std::uint64_t bits = n * (n > 0 ? n - 1 : 0) / 2;
  if (line.size() != at + (bits + 5) / 6) throw InputError(fmt::format("{}:1: expected {} characters for {} vertices, found {}", file, at + (bits + 5) / 6, n, line.size()));
  ColouredGraph graph;
  graph.vertex_colour.assign(n, 0);
  std::uint64_t bit = 0;
  for (Point j = 1; j < n; ++j) {
    for (Point i = 0; i < j; ++i, ++bit) {
      if (((value(at + bit / 6) >> (5 - bit % 6)) & 1) == 0) continue;
      graph.arcs.push_back({i, j, 1});
      graph.arcs.push_back({j, i, 1});
    }
  }
  if (n == 0) throw InputError(fmt::format("{}:1: expected a graph with vertices, found none", file));
  return graph;
}

ColouredGraph to_graph(const layout::Pattern& pattern) {
  ColouredGraph graph;
  graph.vertex_colour.assign(pattern.vertex_count(), 0);
  for (Point i = 0; i < pattern.vertex_count(); ++i) {
    for (const layout::Run& run : pattern.row(i)) {
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) graph.arcs.push_back({i, static_cast<Point>(j), run.colour});
    }
  }
  return graph;
}

/// A field of fixed columns (from 1), blank counts as 0.
std::int64_t read_field(std::string_view line, std::size_t column, std::size_t width, const std::string& file, std::size_t number, const std::string& what) {
  if (line.size() < column) return 0;
  std::string_view field = line.substr(column - 1, width);
  const std::size_t first = field.find_first_not_of(' ');
  if (first == std::string_view::npos) return 0;
  field = field.substr(first, field.find_last_not_of(' ') - first + 1);
  std::int64_t value = 0;
  if (!parse_number(field, value)) throw InputError(fmt::format("{}:{}:{}: expected {}, found {}", file, number, column + first, what, layout::quote(field)));
  return value;
}

struct Atom {
  std::string element;
  std::int64_t charge = 0, isotope = 0;
  friend auto operator<=>(const Atom&, const Atom&) = default;
};

/// "M  CHG n aaa vvv ..." and "M  ISO ...".
void read_property(std::string_view line, const std::string& file, std::size_t number, std::vector<Atom>& atoms, std::int64_t Atom::*member) {
  const std::int64_t count = read_field(line, 7, 3, file, number, "a count");
  for (std::int64_t k = 0; k < count; ++k) {
    const auto column = static_cast<std::size_t>(11 + 8 * k);
    const std::int64_t atom = read_field(line, column, 3, file, number, "an atom");
    if (atom < 1 || atom > static_cast<std::int64_t>(atoms.size())) throw InputError(fmt::format("{}:{}:{}: expected an atom from 1 to {}, found {}", file, number, column, atoms.size(), atom));
    atoms[static_cast<std::size_t>(atom) - 1].*member = read_field(line, column + 4, 3, file, number, "a number");
  }
}

}  // namespace

ColouredGraph parse_graph(std::string_view text, const std::string& file) {
  if (text.starts_with("PK") || text.starts_with("\x93NUMPY")) throw InputError(fmt::format("{}: expected graph6, an edge list or MatrixMarket, found arrays of NumPy (mask:{} reads them)", file, file));
  if (text.starts_with("%%MatrixMarket")) {
    const std::optional<Point> size = find_mask_size(text);
    if (!size) throw InputError(fmt::format("{}: expected a line: rows columns entries, found none", file));
    try {
      return to_graph(layout::read_matrix_market(text, *size, Budget{}));
    } catch (const layout::MaskError& error) {
      throw InputError(fmt::format("{}:{}: expected {}, found {}", file, error.line, error.expected, error.found));
    }
  }
  const std::vector<std::string_view> lines = split_lines(text);
  constexpr std::string_view header = ">>graph6<<";
  const bool named = text.starts_with(header);
  // A graph6 line has letters and no blanks; an edge list begins with a digit or a comment.
  if (!lines.empty() && (named || (!lines[0].empty() && static_cast<unsigned char>(lines[0][0]) >= 63))) {
    const std::size_t offset = named ? header.size() : 0;
    return parse_graph6(lines[0].substr(offset), offset, file);
  }
  return parse_edge_lines(text, file);
}

ColouredGraph parse_molecule(std::string_view text, const std::string& file, Bonds bonds) {
  const std::vector<std::string_view> lines = split_lines(text);
  if (lines.size() < 4) throw InputError(fmt::format("{}: expected a MOL file (three lines of header and the counts), found {} lines", file, lines.size()));
  const std::string_view counts = lines[3];
  if (counts.find("V2000") == std::string_view::npos) fail_at(file, 4, "a counts line that ends in V2000", counts);
  const std::int64_t atom_count = read_field(counts, 1, 3, file, 4, "a number of atoms");
  const std::int64_t bond_count = read_field(counts, 4, 3, file, 4, "a number of bonds");
  if (atom_count < 1 || bond_count < 0) fail_at(file, 4, "at least one atom", counts);
  const auto atoms_end = static_cast<std::size_t>(4 + atom_count), bonds_end = atoms_end + static_cast<std::size_t>(bond_count);
  if (lines.size() < bonds_end) throw InputError(fmt::format("{}:{}: expected {} atoms and {} bonds, found the end of the file", file, lines.size() + 1, atom_count, bond_count));
  std::vector<Atom> atoms;
  for (std::size_t k = 4; k < atoms_end; ++k) {
    Atom atom;
    if (lines[k].size() < 32) fail_at(file, k + 1, "an atom line (coordinates, element)", lines[k]);
    const std::vector<std::string_view> symbol = split_words(lines[k].substr(31, 3));
    if (symbol.empty()) throw InputError(fmt::format("{}:{}:32: expected an element, found nothing", file, k + 1));
    atom.element = symbol[0];
    atom.isotope = read_field(lines[k], 35, 2, file, k + 1, "a mass difference");
    const std::int64_t code = read_field(lines[k], 37, 3, file, k + 1, "a charge code");
    if (code < 0 || code > 7) throw InputError(fmt::format("{}:{}:37: expected a charge code from 0 to 7, found {}", file, k + 1, code));
    if (code != 0 && code != 4) atom.charge = 4 - code;
    atoms.push_back(std::move(atom));
  }
  std::vector<std::pair<Point, Point>> edges;
  std::vector<std::uint32_t> types;
  std::set<std::pair<Point, Point>> seen;
  for (std::size_t k = atoms_end; k < bonds_end; ++k) {
    const std::int64_t a = read_field(lines[k], 1, 3, file, k + 1, "an atom"), b = read_field(lines[k], 4, 3, file, k + 1, "an atom");
    for (const auto& [atom, column] : {std::pair{a, 1}, {b, 4}}) {
      if (atom < 1 || atom > atom_count) throw InputError(fmt::format("{}:{}:{}: expected an atom from 1 to {}, found {}", file, k + 1, column, atom_count, atom));
    }
    const std::int64_t type = read_field(lines[k], 7, 3, file, k + 1, "a bond type");
    if (type < 1 || type > 4) throw InputError(fmt::format("{}:{}:7: expected a bond type 1, 2, 3 or 4 (aromatic), found {}", file, k + 1, type));
    if (a == b) fail_at(file, k + 1, "two different atoms", lines[k]);
    const auto first = static_cast<Point>(std::min(a, b) - 1), second = static_cast<Point>(std::max(a, b) - 1);
    if (!seen.emplace(first, second).second) fail_at(file, k + 1, "every bond once", lines[k]);
    edges.emplace_back(first, second);
    types.push_back(static_cast<std::uint32_t>(type));
  }
  bool charges_given = false, isotopes_given = false, ended = false;
  for (std::size_t k = bonds_end; k < lines.size() && !ended; ++k) {
    ended = lines[k].starts_with("M  END") || lines[k].starts_with("$$$$");
    // The property lines replace what the atom lines say, for all atoms at once.
    if (lines[k].starts_with("M  CHG")) {
      if (!charges_given) std::for_each(atoms.begin(), atoms.end(), [](Atom& atom) { atom.charge = 0; });
      charges_given = true;
      read_property(lines[k], file, k + 1, atoms, &Atom::charge);
    } else if (lines[k].starts_with("M  ISO")) {
      if (!isotopes_given) std::for_each(atoms.begin(), atoms.end(), [](Atom& atom) { atom.isotope = 0; });
      isotopes_given = true;
      read_property(lines[k], file, k + 1, atoms, &Atom::isotope);
    }
  }
  if (bonds == Bonds::none) std::fill(types.begin(), types.end(), 1u);
  if (bonds == Bonds::aromatic) {
    std::vector<bool> doubles(types.size());
    for (std::size_t k = 0; k < types.size(); ++k) doubles[k] = types[k] == 2;
    const std::vector<bool> flexible = find_flexible_bonds(atoms.size(), edges, doubles);
    for (std::size_t k = 0; k < types.size(); ++k) {
      if (flexible[k]) types[k] = 4;
    }
  }
  ColouredGraph graph;
  std::map<Atom, std::uint64_t> kinds;
  for (const Atom& atom : atoms) graph.vertex_colour.push_back(kinds.emplace(atom, kinds.size()).first->second);
  for (std::size_t k = 0; k < edges.size(); ++k) {
    graph.arcs.push_back({edges[k].first, edges[k].second, types[k]});
    graph.arcs.push_back({edges[k].second, edges[k].first, types[k]});
  }
  return graph;
}

ColouredGraph parse_cell(std::string_view text, const std::string& file) {
  const std::vector<std::string_view> lines = split_lines(text);
  ColouredGraph graph;
  std::set<std::array<std::int64_t, 5>> images;
  bool begun = false;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    const std::vector<std::string_view> words = split_words(cut_comment(lines[k]));
    if (words.empty()) continue;
    if (!begun) {
      std::uint64_t n = 0;
      if (words.size() != 2 || words[0] != "tokens" || !parse_number(words[1], n) || n < 1 || n > most_vertices) fail_at(file, k + 1, "\"tokens N\"", lines[k]);
      graph.vertex_colour.assign(n, 0);
      begun = true;
      continue;
    }
    if (words[0] == "species") {
      if (words.size() != graph.vertex_colour.size() + 1) fail_at(file, k + 1, fmt::format("{} species, one per token", graph.vertex_colour.size()), lines[k]);
      std::map<std::string_view, std::uint64_t> kinds;
      for (std::size_t w = 1; w < words.size(); ++w) graph.vertex_colour[w - 1] = kinds.emplace(words[w], kinds.size()).first->second;
      continue;
    }
    std::array<std::int64_t, 5> bond{};
    bool good = words.size() == 5;
    for (std::size_t w = 0; good && w < 5; ++w) good = parse_number(words[w], bond[w]);
    const auto n = static_cast<std::int64_t>(graph.vertex_colour.size());
    if (!good || bond[0] < 0 || bond[0] >= n || bond[1] < 0 || bond[1] >= n) fail_at(file, k + 1, fmt::format("\"i j a b c\" with tokens from 0 to {}", n - 1), lines[k]);
    if (bond[0] == bond[1] && bond[2] == 0 && bond[3] == 0 && bond[4] == 0) fail_at(file, k + 1, "a neighbour other than the token itself", lines[k]);
    images.insert(bond);
    images.insert({bond[1], bond[0], -bond[2], -bond[3], -bond[4]});
  }
  if (!begun) throw InputError(fmt::format("{}: expected a first line \"tokens N\", found none", file));
  std::map<std::pair<Point, Point>, std::uint32_t> count;
  for (const auto& image : images) ++count[{static_cast<Point>(image[0]), static_cast<Point>(image[1])}];
  for (const auto& [pair, times] : count) graph.arcs.push_back({pair.first, pair.second, times});
  return graph;
}

group::Group compute_symmetry(const ColouredGraph& graph, const Budget& budget) {
  const auto n = static_cast<Point>(graph.vertex_colour.size());
  std::vector<std::vector<layout::Vertex>> rows(n);
  std::vector<std::vector<std::uint32_t>> colours(n);
  for (const ColouredGraph::Arc& arc : graph.arcs) {
    rows[arc.from].push_back(arc.to);
    colours[arc.from].push_back(arc.colour);
  }
  const layout::Relation relation(layout::make_pattern_from_rows(n, rows, colours), {}, layout::Cancels::nothing, n);
  symmetry::Structure structure{n, graph.vertex_colour, {{&relation, {}}}};
  return symmetry::compute_automorphisms(structure, budget);
}

std::optional<Point> find_mask_size(std::string_view bytes) {
  const auto to_size = [](std::uint64_t size) { return size == 0 || size > most_vertices ? std::nullopt : std::optional(static_cast<Point>(size)); };
  std::uint64_t size = 0;
  if (bytes.starts_with("\x93NUMPY")) {
    try {
      const NpyFile npy = parse_npy(bytes);
      if (npy.shape.size() >= 2) size = npy.shape.back();
    } catch (const NpyError&) {
      return std::nullopt;
    }
  } else if (bytes.starts_with("PK")) {
    // The last extent of the array `mask`, or of the only one.
    try {
      const Budget budget;
      NpzArchive archive(bytes);
      if (layout::is_scipy_matrix(archive)) return to_size(layout::find_scipy_size(archive, budget).value_or(0));
      const auto named = std::find(archive.names().begin(), archive.names().end(), "mask");
      if (named == archive.names().end() && archive.names().size() != 1) return std::nullopt;
      const std::string array = archive.unpack(named == archive.names().end() ? 0 : static_cast<std::size_t>(named - archive.names().begin()), std::uint64_t{1} << 32, budget);
      const NpyFile npy = parse_npy(array);
      if (npy.shape.size() >= 2) size = npy.shape.back();
    } catch (const NpyError&) {
      return std::nullopt;
    } catch (const layout::MaskError&) {
      return std::nullopt;
    }
  } else if (bytes.starts_with("%%MatrixMarket")) {
    for (const std::string_view line : split_lines(bytes)) {
      if (line.empty() || line[0] == '%') continue;
      const std::vector<std::string_view> words = split_words(line);
      if (words.empty() || !parse_number(words[0], size)) return std::nullopt;
      break;
    }
  } else {
    for (const std::string_view line : split_lines(bytes)) {
      for (const std::string_view word : split_words(cut_comment(line))) {
        std::uint64_t point = 0;
        if (!parse_number(word, point)) return std::nullopt;
        size = std::max(size, point + 1);
      }
    }
  }
  return to_size(size);
}

group::Group read_symmetry(const std::string& source, const std::string& file, const std::string& folder, Bonds bonds,
                           std::optional<Point> tokens, const Budget& budget) {
  const std::string path = std::filesystem::path(file).is_absolute() || folder.empty() ? file : (std::filesystem::path(folder) / file).string();
  const std::string text = architecture::read_file(path);
  if (source == "graph") return compute_symmetry(parse_graph(text, path), budget);
  if (source == "molecule") return compute_symmetry(parse_molecule(text, path, bonds), budget);
  if (source == "cell") return compute_symmetry(parse_cell(text, path), budget);
  if (source != "mask") throw ArgumentError("unknown source of a group: " + source);
  if (const std::optional<Point> size = find_mask_size(text)) tokens = size;
  if (!tokens) throw InputError(fmt::format("{}: expected --tokens, because the size of this mask is not in the file", path));
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::file;
  spec.path = path;
  const std::vector<layout::Pattern> patterns = layout::make_patterns(spec, {*tokens, 0, 1}, budget);
  const layout::Relation relation(patterns.front(), {}, layout::Cancels::nothing, *tokens);
  symmetry::Structure structure{*tokens, std::vector<std::uint64_t>(*tokens, 0), {{&relation, {}}}};
  return symmetry::compute_automorphisms(structure, budget);
}

}  // namespace sightline::design

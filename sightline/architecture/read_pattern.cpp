#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "sightline/architecture/readers.hpp"

namespace sightline::architecture {

using layout::PatternKind;
using layout::PatternSpec;

std::string resolve_path(const std::string& path, const std::string& file) {
  const std::filesystem::path written(path);
  return written.is_absolute() ? path : (std::filesystem::path(file).parent_path() / written).lexically_normal().string();
}

namespace {

/// The keys of each kind, besides `kind` and `causal`.
std::vector<std::string_view> keys_of(PatternKind kind) {
  switch (kind) {
  case PatternKind::full:
  case PatternKind::self:
  case PatternKind::star: return {};
  case PatternKind::window: return {"radius", "before", "after", "dilation", "wrap", "global"};
  case PatternKind::ring: return {"radius"};
  case PatternKind::blocks: return {"size"};
  case PatternKind::shifted_blocks: return {"size", "shift", "wrap"};
  case PatternKind::strided: return {"stride", "variant", "part"};
  case PatternKind::fixed: return {"stride", "summary", "variant", "part"};
  case PatternKind::grid: return {"shape", "window", "rows", "columns", "blocks", "shift", "wrap"};
  case PatternKind::bigbird: return {"block", "random", "globals", "seed", "variant", "mode"};
  case PatternKind::random: return {"degree", "density", "seed"};
  case PatternKind::butterfly: return {"distance"};
  case PatternKind::circulant: return {"offsets"};
  case PatternKind::graph: return {"edges", "directed", "loops"};
  case PatternKind::rows: return {"rows"};
  case PatternKind::matrix: return {"matrix"};
  case PatternKind::file: return {"path", "format"};
  case PatternKind::union_of:
  case PatternKind::intersection_of:
  case PatternKind::minus: return {"of"};
  case PatternKind::per_head: return {"heads"};
  }
  return {};
}

void require_key(const View& view, std::string_view key, std::string_view what) {
  const auto value = view.find(key);
  if (!value || value->node().is_null())
    fail_missing(view, key, what);
}

void read_word(const View& view, std::string_view key, std::string& out, const std::vector<std::string_view>& words) {
  if (const auto value = view.find(key))
    out = words[find_choice(*value, words)];
}

void read_flag(const View& view, std::string_view key, std::optional<bool>& out) {
  bool flag = false;
  read_boolean(view, key, flag);
  if (view.find(key))
    out = flag;
}

/// Throws when a value stands in the list twice, pointing at the second.
void refuse_repeats(const View& list, const std::vector<std::int64_t>& values) {
  std::vector<std::int64_t> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end())
    return;
  std::set<std::int64_t> seen;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!seen.insert(values[i]).second)
      fail(View(list, i), fmt::format("expected every index once, found {} again", values[i]));
}

void read_window(const View& view, PatternSpec& spec, const Surroundings& around) {
  read_integer(view, "radius", spec.radius, {0, largest_integer});
  read_integer(view, "before", spec.before, {0, largest_integer});
  read_integer(view, "after", spec.after, {0, largest_integer});
  read_integer(view, "dilation", spec.dilation, {1, largest_integer});
  read_flag(view, "wrap", spec.wrap);
  if (spec.radius && (spec.before || spec.after))
    fail_at_key(view, spec.before ? "before" : "after", "expected \"radius\" alone or \"before\" and \"after\", found both");
  if (!spec.radius && !spec.before && !spec.after)
    fail_missing(view, "radius", "an integer >= 0, or \"before\" or \"after\"");
  if (const auto global = view.find("global")) {
    spec.global = to_integers(*global, {0, around.tokens - 1});
    refuse_repeats(*global, spec.global);
  }
}

std::vector<std::int64_t> read_pair(const View& view, std::int64_t least) {
  const std::vector<std::int64_t> pair = to_integers(view, {least, largest_integer});
  if (pair.size() != 2)
    fail_expected(view, "a list of 2 integers");
  return pair;
}

void read_grid(const View& view, PatternSpec& spec, const Surroundings& around) {
  require_key(view, "shape", "[height, width]");
  const auto shape = view.find("shape");
  spec.shape = read_pair(*shape, 1);
  if (spec.shape[0] * spec.shape[1] != around.tokens)
    fail(*shape, fmt::format("expected a shape of {} tokens, found {} x {} = {}", around.tokens, spec.shape[0], spec.shape[1],
                             spec.shape[0] * spec.shape[1]));
  if (const auto window = view.find("window"))
    spec.grid_window = read_pair(*window, 0);
  if (const auto blocks = view.find("blocks"))
    spec.grid_blocks = read_pair(*blocks, 1);
  if (const auto shift = view.find("shift"))
    spec.grid_shift = read_pair(*shift, 0);
  read_boolean(view, "rows", spec.grid_rows);
  read_boolean(view, "columns", spec.grid_columns);
  read_flag(view, "wrap", spec.wrap);
  const int forms = (spec.grid_window.empty() ? 0 : 1) + (spec.grid_blocks.empty() ? 0 : 1) + (spec.grid_rows ? 1 : 0) +
                    (spec.grid_columns ? 1 : 0);
  if (forms != 1)
    fail(view, fmt::format("expected one of window, rows, columns, blocks in a grid pattern, found {}",
                           forms == 0 ? "none" : "several"));
  if (!spec.grid_shift.empty() && spec.grid_blocks.empty())
    fail_at_key(view, "shift", "expected \"blocks\" beside \"shift\", found none");
}

void read_sparse(const View& view, PatternSpec& spec) {
  require_key(view, "stride", "an integer >= 1");
  read_integer(view, "stride", spec.stride, {1, largest_integer});
  read_word(view, "variant", spec.variant, {"paper", "code"});
  read_word(view, "part", spec.part, {"merged", "local", "summary"});
  if (spec.kind != PatternKind::fixed)
    return;
  if (spec.part != "local")
    require_key(view, "summary", "an integer >= 1");
  read_integer(view, "summary", spec.summary, {1, *spec.stride});
}

void read_bigbird(const View& view, PatternSpec& spec) {
  read_integer(view, "block", spec.block, {1, largest_integer});
  read_integer(view, "random", spec.random_blocks, {0, largest_integer});
  read_integer(view, "globals", spec.globals, {0, largest_integer});
  read_word(view, "variant", spec.variant, {"paper", "original", "huggingface"});
  read_word(view, "mode", spec.mode, {"train", "eval"});
}

void read_random(const View& view, PatternSpec& spec, const Surroundings& around) {
  read_integer(view, "degree", spec.degree, {0, around.tokens - 1});
  read_number(view, "density", spec.density, Sign::not_negative);
  if (spec.density && *spec.density > 1)
    fail_expected(*view.find("density"), "a number from 0 to 1");
  if (spec.degree && spec.density)
    fail_at_key(view, "density", "expected \"degree\" or \"density\", found both");
  if (!spec.degree && !spec.density)
    fail_missing(view, "degree", "an integer >= 0, or \"density\"");
}

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

void read_butterfly(const View& view, PatternSpec& spec, const Surroundings& around) {
  require_key(view, "distance", "a power of two");
  read_integer(view, "distance", spec.distance, {1, largest_integer});
  if (!is_power_of_two(around.tokens))
    fail(view, fmt::format("expected a power of two as number of tokens for a butterfly, found {}", around.tokens));
  if (!is_power_of_two(*spec.distance) || *spec.distance >= around.tokens)
    fail_expected(*view.find("distance"), fmt::format("a power of two below {}", around.tokens));
}

void read_graph(const View& view, PatternSpec& spec, const Surroundings& around) {
  require_key(view, "edges", "a list of pairs");
  const auto edges = view.find("edges");
  const List& list = to_list(*edges, "a list of pairs");
  spec.edges.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const View edge(*edges, i);
    const std::vector<std::int64_t> ends = to_integers(edge, {0, around.tokens - 1});
    if (ends.size() != 2)
      fail_expected(edge, "a pair of tokens");
    spec.edges.emplace_back(ends[0], ends[1]);
  }
  read_boolean(view, "directed", spec.directed);
  read_boolean(view, "loops", spec.loops);
}

std::string print_vertices(const Surroundings& around) {
  if (around.registers == 0)
    return fmt::format("{} rows (one per token)", around.tokens);
  return fmt::format("{} rows ({} tokens and {} registers)", around.vertices(), around.tokens, around.registers);
}

void read_rows(const View& view, PatternSpec& spec, const Surroundings& around) {
  require_key(view, "rows", "a list of lists of integers");
  const auto rows = view.find("rows");
  const List& list = to_list(*rows, "a list of lists of integers");
  if (static_cast<std::int64_t>(list.size()) != around.vertices())
    fail(*rows, fmt::format("expected {}, found {}", print_vertices(around), list.size()));
  spec.rows = to_integer_rows(*rows, {0, around.vertices() - 1});
  for (std::size_t i = 0; i < spec.rows.size(); ++i)
    refuse_repeats(View(*rows, i), spec.rows[i]);
}

void read_matrix(const View& view, PatternSpec& spec, const Surroundings& around) {
  require_key(view, "matrix", "a list of lists of integers");
  const auto matrix = view.find("matrix");
  const List& list = to_list(*matrix, "a list of lists of integers");
  if (static_cast<std::int64_t>(list.size()) != around.vertices())
    fail(*matrix, fmt::format("expected {}, found {}", print_vertices(around), list.size()));
  spec.matrix = to_integer_rows(*matrix, {0, largest_integer});
  for (std::size_t i = 0; i < spec.matrix.size(); ++i)
    if (static_cast<std::int64_t>(spec.matrix[i].size()) != around.vertices())
      fail(View(*matrix, i), fmt::format("expected a square matrix, {} entries in every row, found {}", around.vertices(),
                                         spec.matrix[i].size()));
}

void read_file_pattern(const View& view, PatternSpec& spec, const Surroundings& around) {
  require_key(view, "path", "a file");
  const auto path = view.find("path");
  const std::string& written = to_string(*path, "the path of a file");
  if (written.empty() || written.find('\0') != std::string::npos)
    fail_expected(*path, "the path of a file");
  spec.path = resolve_path(written, around.file);
  if (const auto format = view.find("format")) {
    const std::vector<std::string_view> words{"npy", "npz", "matrixmarket", "edges"};
    if (format->node().string() == nullptr || !format->node().string()->empty())
      spec.format = words[find_choice(*format, words)];
  }
}

void read_parts(const View& view, PatternSpec& spec, std::string_view key, const Surroundings& around) {
  require_key(view, key, "a list of patterns");
  const auto parts = view.find(key);
  const List& list = to_list(*parts, "a list of patterns");
  if (list.empty())
    fail_expected(*parts, "at least one pattern");
  Surroundings inside = around;
  inside.warnings = nullptr;  // an empty row of a part says nothing about the whole
  std::int64_t heads = 1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const View part(*parts, i);
    spec.of.push_back(read_pattern(part, inside));
    const std::int64_t own = count_heads(spec.of.back());
    const bool per_head = spec.kind == PatternKind::per_head;
    if (per_head && own > 1)
      fail(part, fmt::format("expected a pattern of one head inside per_head, found one of {} heads", own));
    if (!per_head && own > 1 && heads > 1 && own != heads)
      fail(part, fmt::format("expected a pattern of {} heads as before it, found one of {}", heads, own));
    heads = std::max(heads, own);
  }
}

/// "0-2, 5": the vertices whose row is empty (after `causal`), "" when there is none.
template <class IsEmpty> std::string list_empty(std::size_t count, IsEmpty is_empty) {
  std::string out;
  for (std::size_t i = 0; i < count;) {
    std::size_t end = i;
    while (end < count && is_empty(end))
      ++end;
    if (end > i)
      out += fmt::format("{}{}", out.empty() ? "" : ", ", end == i + 1 ? fmt::format("{}", i) : fmt::format("{}-{}", i, end - 1));
    i = end + 1;
  }
  return out;
}

void warn_of_empty_rows(const View& view, const PatternSpec& spec, const Surroundings& around) {
  const auto cut = [&](std::size_t i, std::int64_t j) {
    return spec.causal && static_cast<std::int64_t>(i) < around.tokens && j < around.tokens && j > static_cast<std::int64_t>(i);
  };
  std::string empty;
  if (spec.kind == PatternKind::rows)
    empty = list_empty(spec.rows.size(), [&](std::size_t i) {
      return std::all_of(spec.rows[i].begin(), spec.rows[i].end(), [&](std::int64_t j) { return cut(i, j); });
    });
  if (spec.kind == PatternKind::matrix)
    empty = list_empty(spec.matrix.size(), [&](std::size_t i) {
      for (std::size_t j = 0; j < spec.matrix[i].size(); ++j)
        if (spec.matrix[i][j] != 0 && !cut(i, static_cast<std::int64_t>(j)))
          return false;
      return true;
    });
  if (!empty.empty())
    around.warnings->push_back(fmt::format("{}{}{}: the rows of {} are empty: their update is zero", around.file,
                                           view.document().places ? ":" : ": ", view.where(), empty));
}

}  // namespace

PatternSpec read_pattern(const View& view, const Surroundings& around) {
  if (view.node().table() == nullptr)
    fail_expected(view, "a table such as { kind = \"full\" }");
  PatternSpec spec;
  spec.where = view.where();
  require_key(view, "kind", "the kind of the pattern");
  read_choice(view, "kind", spec.kind);
  std::vector<std::string_view> keys = keys_of(spec.kind);
  keys.insert(keys.begin(), {"kind", "causal"});
  require_table(view, fmt::format("a \"{}\" pattern", name_of(spec.kind)), keys);
  read_boolean(view, "causal", spec.causal);

  switch (spec.kind) {
  case PatternKind::full:
  case PatternKind::self: break;
  case PatternKind::window: read_window(view, spec, around); break;
  case PatternKind::ring:
    require_key(view, "radius", "an integer >= 0");
    read_integer(view, "radius", spec.radius, {0, largest_integer});
    break;
  case PatternKind::blocks:
    require_key(view, "size", "an integer >= 1");
    read_integer(view, "size", spec.size, {1, largest_integer});
    break;
  case PatternKind::shifted_blocks:
    require_key(view, "size", "an integer >= 1");
    require_key(view, "shift", "an integer >= 0");
    read_integer(view, "size", spec.size, {1, largest_integer});
    read_integer(view, "shift", spec.shift, {0, largest_integer});
    read_flag(view, "wrap", spec.wrap);
    break;
  case PatternKind::strided:
  case PatternKind::fixed: read_sparse(view, spec); break;
  case PatternKind::grid: read_grid(view, spec, around); break;
  case PatternKind::star:
    if (around.registers != 1)
      fail(view, fmt::format("expected exactly one register (input.registers) for a star, found {}", around.registers));
    break;
  case PatternKind::bigbird: read_bigbird(view, spec); break;
  case PatternKind::random: read_random(view, spec, around); break;
  case PatternKind::butterfly: read_butterfly(view, spec, around); break;
  case PatternKind::circulant: {
    require_key(view, "offsets", "a list of integers");
    spec.offsets = to_integers(*view.find("offsets"), {-largest_integer, largest_integer});
    break;
  }
  case PatternKind::graph: read_graph(view, spec, around); break;
  case PatternKind::rows: read_rows(view, spec, around); break;
  case PatternKind::matrix: read_matrix(view, spec, around); break;
  case PatternKind::file: read_file_pattern(view, spec, around); break;
  case PatternKind::union_of:
  case PatternKind::intersection_of:
  case PatternKind::minus: read_parts(view, spec, "of", around); break;
  case PatternKind::per_head: read_parts(view, spec, "heads", around); break;
  }
  if (spec.kind == PatternKind::bigbird || spec.kind == PatternKind::random) {
    std::int64_t seed = 0;
    read_integer(view, "seed", seed, {0, std::numeric_limits<std::int64_t>::max()});
    spec.seed = static_cast<std::uint64_t>(seed);
  }
  fill_defaults(spec);
  if (around.warnings != nullptr)
    warn_of_empty_rows(view, spec, around);
  return spec;
}

}  // namespace sightline::architecture

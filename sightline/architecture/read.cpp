#include "sightline/architecture/read.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "sightline/architecture/json_text.hpp"
#include "sightline/architecture/readers.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

void read_optional_norm(const View& table, std::optional<Norm>& out) {
  const auto view = table.find("norm");
  if (!view || view->node().is_null())
    return;
  Norm norm;
  read_norm(*view, norm, false);
  if (norm.kind != NormKind::none)
    out = norm;
}

/// A permutation in cycle notation, "(0 1 2)(3 4)" or "()": every point below `tokens`, each at most once.
void require_cycles(const View& view, std::int64_t tokens) {
  const std::string& text = to_string(view, "a permutation in cycle notation");
  std::vector<std::int64_t> points;
  bool open = false;
  bool any = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' && !open) {
      open = any = true;
    } else if (c == ')' && open) {
      open = false;
    } else if (c >= '0' && c <= '9' && open) {
      std::int64_t point = 0;
      for (; i < text.size() && text[i] >= '0' && text[i] <= '9' && point <= largest_integer; ++i)
        point = 10 * point + (text[i] - '0');
      --i;
      if (point >= tokens)
        fail(view, fmt::format("expected tokens below {} in a permutation, found {}", tokens, quote_for_message(text)));
      points.push_back(point);
    } else if (c != ' ' && !(c == ',' && open)) {
      fail_expected(view, "a permutation in cycle notation such as \"(0 1 2)(3 4)\"");
    }
  }
  if (open || !any)
    fail_expected(view, "a permutation in cycle notation such as \"(0 1 2)(3 4)\"");
  std::sort(points.begin(), points.end());
  if (const auto twice = std::adjacent_find(points.begin(), points.end()); twice != points.end())
    fail(view, fmt::format("expected every token once in a permutation, found {} again", *twice));
}

void read_target(const View& view, Target& target, std::int64_t tokens) {
  require_table(view, "target", {"class", "symmetry", "box"});
  read_choice(view, "class", target.target_class);
  read_number(view, "box", target.box, Sign::positive);
  const auto symmetry = view.find("symmetry");
  if (!symmetry)
    return;
  target.symmetry_where = symmetry->where();
  if (const std::string* text = symmetry->node().string()) {
    target.symmetry_is_layout = *text == "layout";
    if (text->find_first_not_of(" \t\n\r") == std::string::npos)
      fail_expected(*symmetry, "\"layout\", a group expression or a list of permutations");
    if (!target.symmetry_is_layout)
      target.symmetry_expression = *text;
    return;
  }
  target.symmetry_is_layout = false;
  const List& list = to_list(*symmetry, "\"layout\", a group expression or a list of permutations");
  for (std::size_t i = 0; i < list.size(); ++i) {
    require_cycles(View(*symmetry, i), tokens);
    target.symmetry_generators.push_back(*list[i].string());
  }
}

void read_fixed_table(const View& input, Input& out, const Surroundings& around) {
  const auto table = input.find("table");
  const auto file = input.find("file");
  const bool inline_table = table && !(table->node().list() != nullptr && table->node().list()->empty());
  if (out.positions != Positions::fixed) {
    if (inline_table)
      fail_at_key(input, "table", fmt::format("expected no table for positions \"{}\", found one", name_of(out.positions)));
    if (file)
      fail_at_key(input, "file", fmt::format("expected no file for positions \"{}\", found one", name_of(out.positions)));
    return;
  }
  if (inline_table && file)
    fail_at_key(input, "file", "expected \"table\" or \"file\", found both");
  if (file) {
    const std::string& written = to_string(*file, "the path of an .npy file");
    if (written.empty() || written.find('\0') != std::string::npos)
      fail_expected(*file, "the path of an .npy file");
    out.file = resolve_path(written, around.file);
    out.table = read_npy_table(*file, out.file, around.tokens, around.dim);
    return;
  }
  if (!table)
    fail_missing(input, "table", fmt::format("{} rows of {} numbers, or \"file\"", around.tokens, around.dim));
  const List& rows = to_list(*table, "a list of rows of numbers");
  if (static_cast<std::int64_t>(rows.size()) != around.tokens)
    fail(*table, fmt::format("expected {} rows (one per token), found {}", around.tokens, rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const View row(*table, i);
    out.table.push_back(to_numbers(row));
    if (static_cast<std::int64_t>(out.table.back().size()) != around.dim)
      fail(row, fmt::format("expected {} numbers (dim), found {}", around.dim, out.table.back().size()));
  }
}

void read_registers(const View& input, Input& out) {
  const auto registers = input.find("registers");
  if (!registers)
    return;
  if (const std::int64_t* count = registers->node().integer(); count != nullptr && *count == 0)
    return;
  const List& list = to_list(*registers, "0 or a list of colours, one per register");
  for (std::size_t i = 0; i < list.size(); ++i)
    out.registers.push_back(to_string(View(*registers, i), "a colour (a string)"));
}

void read_input(const View& view, Input& out, const Surroundings& around) {
  require_table(view, "input",
                {"positions", "table", "file", "embedding", "dim", "vocabulary", "bos", "domain", "norm", "registers"});
  read_choice(view, "positions", out.positions);
  read_choice(view, "embedding", out.embedding);
  read_choice(view, "domain", out.domain);
  read_integer(view, "dim", out.dim, {1, largest_integer});
  read_integer(view, "vocabulary", out.vocabulary, {1, largest_integer});
  read_boolean(view, "bos", out.bos);
  read_optional_norm(view, out.norm);
  read_registers(view, out);
  read_fixed_table(view, out, around);
  out.dim_given = out.dim != around.dim;
  if (out.embedding == Embedding::none && out.dim_given)
    fail(*view.find("dim"), fmt::format("expected {} (dim) without an embedding, found {}", around.dim, out.dim));
  if (out.embedding != Embedding::table) {
    const std::string why = fmt::format("only with embedding = \"table\", found it with \"{}\"", name_of(out.embedding));
    if (out.vocabulary)
      fail_at_key(view, "vocabulary", "expected \"vocabulary\" " + why);
    if (out.bos)
      fail_at_key(view, "bos", "expected \"bos\" " + why);
  } else if (out.domain == Domain::centred) {
    fail_at_key(view, "domain", "expected \"all\" for token ids (embedding = \"table\"), found \"centred\"");
  }
  if (out.domain == Domain::centred && out.dim == 1)
    fail_at_key(view, "domain", "expected \"all\" for raw tokens of one number (0 alone is centred), found \"centred\"");
}

void read_output(const View& view, Output& out) {
  require_table(view, "output", {"head", "dim", "norm", "pool"});
  read_choice(view, "head", out.head);
  read_integer(view, "dim", out.dim, {1, largest_integer});
  read_optional_norm(view, out.norm);
  if (const auto pool = view.find("pool")) {
    const std::vector<std::string_view> words{"none", "mean", "first"};
    out.pool = words[find_choice(*pool, words)];
  }
}

void read_block(const View& view, Block& block) {
  require_table(view, "block", {"arrangement", "residual", "tied"});
  read_choice(view, "arrangement", block.arrangement);
  read_boolean(view, "residual", block.residual);
  read_boolean(view, "tied", block.tied);
}

std::int64_t require_size(const View& root, std::string_view key) {
  const auto view = root.find(key);
  if (!view)
    fail_missing(root, key, "an integer >= 1");
  return to_integer(*view, {1, largest_integer});
}

Architecture read_document(const Document& document) {
  const View root(document);
  require_table(root, "an architecture",
                {"name", "tokens", "dim", "depth", "target", "input", "output", "block", "mixer", "feedforward", "norm", "layer",
                 "train"});
  Architecture out;
  out.file = document.file;
  read_string(root, "name", out.name);
  out.tokens = require_size(root, "tokens");
  out.dim = require_size(root, "dim");
  read_choice(root, "depth", out.depth);
  Surroundings around{out.tokens, out.dim, 0, document.file, &out.warnings};
  if (const auto target = root.find("target"))
    read_target(*target, out.target, out.tokens);
  out.input.dim = out.dim;
  if (const auto input = root.find("input"))
    read_input(*input, out.input, around);
  around.registers = static_cast<std::int64_t>(out.input.registers.size());
  if (around.vertices() > largest_integer)
    fail(*root.find("tokens"), fmt::format("expected at most {} tokens and registers, found {}", largest_integer, around.vertices()));
  if (const auto output = root.find("output"))
    read_output(*output, out.output);
  if (const auto block = root.find("block"))
    read_block(*block, out.block);
  if (const auto mixer = root.find("mixer"))
    read_mixer(*mixer, out.mixer, around);
  if (const auto feedforward = root.find("feedforward"))
    read_feedforward(*feedforward, out.feedforward);
  if (const auto norm = root.find("norm"))
    read_norm(*norm, out.norm, true);
  if (const auto train = root.find("train"); train && !train->node().is_null()) {
    out.train.emplace();
    read_train(*train, *out.train);
  }
  read_layers(root, out, around);
  return out;
}

/// The first byte that says something: after a byte order mark and white space.
char first_character(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF")
    text.remove_prefix(3);
  const auto i = text.find_first_not_of(" \t\r\n");
  return i == std::string_view::npos ? '\0' : text[i];
}

}  // namespace

FileKind detect_kind(std::string_view text, const std::string& file) {
  const bool named_json = file.size() >= 5 && file.compare(file.size() - 5, 5, ".json") == 0;
  // No TOML document begins with a brace.
  if (first_character(text) == '{')
    return is_model_config(text) ? FileKind::huggingface_config : FileKind::json;
  return named_json ? FileKind::json : FileKind::toml;
}

Architecture parse_architecture(std::string_view text, const std::string& file) {
  if (detect_kind(text, file) == FileKind::toml)
    return read_document(parse_toml(text, file));
  return read_document(parse_json(text, file));
}

Architecture read_architecture(const std::string& file) { return parse_architecture(read_file(file), file); }

std::string read_file(const std::string& file) {
  const auto refuse = [&](const std::string& why) -> InputError {
    return InputError(fmt::format("{}: expected a file that can be read, found: {}", file, why));
  };
  const auto reason = [] { return std::generic_category().message(errno); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(file.c_str(), "rb"), &std::fclose);
  if (!stream)
    throw refuse(reason());
  // Pipes are read as they come, and may never end; devices such as /dev/zero never do.
  struct stat found {};
  const bool known = fstat(fileno(stream.get()), &found) == 0;
  if (known && (S_ISBLK(found.st_mode) || (S_ISCHR(found.st_mode) && isatty(fileno(stream.get())) == 0)))
    throw refuse("a device");
  const bool whole = known && S_ISREG(found.st_mode);
  const std::size_t most_bytes = whole ? std::size_t{1} << 32 : std::size_t{1} << 28;
  const auto too_long = [&] { return refuse(whole ? "more than 4 GiB" : "more than 256 MiB from a pipe"); };
  if (whole && static_cast<std::uint64_t>(found.st_size) > most_bytes)
    throw too_long();
  std::string bytes;
  std::vector<char> buffer(std::size_t{1} << 16);
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    bytes.append(buffer.data(), count);
    if (bytes.size() > most_bytes)
      throw too_long();
  }
  if (std::ferror(stream.get()) != 0)
    throw refuse(reason());
  return bytes;
}

}  // namespace sightline::architecture

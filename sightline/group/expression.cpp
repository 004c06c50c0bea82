#include "sightline/group/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "sightline/base/error.hpp"
#include "sightline/base/words.hpp"
#include "sightline/group/families.hpp"

namespace sightline::group {

namespace {

constexpr std::uint64_t most_points = std::uint64_t{1} << 24;
constexpr std::string_view accepted_atoms =
    "C_n, D_n, S_n, A_n, B_k, trivial(n), cyclic(n), dihedral(n), symmetric(n), alternating(n), hypercube(k), torus(a,b), grid(a,b), "
    "regular(...), gens[...], graph:FILE, molecule:FILE, cell:FILE, mask:FILE or (...)";
constexpr std::array<std::string_view, 4> sources = {"graph", "molecule", "cell", "mask"};
constexpr std::array<std::string_view, 10> words = {"trivial", "cyclic", "dihedral", "symmetric", "alternating", "hypercube", "torus", "grid", "regular", "gens"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
char to_lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The file behind a source's colon, and where the text goes on: up to a blank or a bracket, or in quotes. No end: the quotes are not closed.
struct NamedFile {
  std::string_view name;
  std::optional<std::size_t> end;
};
NamedFile find_file(std::string_view text, std::size_t at) {
  if (at < text.size() && (text[at] == '"' || text[at] == '\'')) {
    const std::size_t close = text.find(text[at], at + 1);
    if (close == std::string_view::npos) return {text.substr(at + 1), std::nullopt};
    return {text.substr(at + 1, close - at - 1), close + 1};
  }
  const std::size_t end = std::min(text.find_first_of(" \t\r\n)", at), text.size());
  return {text.substr(at, end - at), end};
}

/// Recursive descent along the grammar of the header; every function leaves `at_` behind what it has read.
class Parser {
public:
  Parser(std::string_view text, std::optional<Point> degree, const ReadSource& read_source, const BoundOrder& bound_order, const Budget& budget)
      : text_(text), degree_(degree), read_source_(read_source), bound_order_(bound_order), budget_(budget) {}

  Group parse() {
    skip_blanks();
    const std::size_t start = at_;
    // Bare generators act on all points; inside a larger expression they act on the points they mention.
    whole_is_gens_ = is_whole_gens();
    Group group = parse_expression();
    if (at_ < text_.size()) fail(at_, fmt::format("expected \"x\", \"*\", \"wr\" or the end, found {}", found()));
    if (degree_ && group.degree != *degree_) {
      fail(start, fmt::format("this acts on {} points, expected {}", group.degree, *degree_));
    }
    return group;
  }

private:
  [[noreturn]] void fail(std::size_t at, const std::string& message) const {
    // A text may hold the number 0, where messages would end.
    std::string line = locate(at) + message;
    for (std::size_t end = 0; (end = line.find('\0', end)) != std::string::npos;) line.replace(end, 1, "\\0");
    throw InputError(line);
  }

  std::string locate(std::size_t at) const { return fmt::format("group \"{}\", character {}: ", text_, at + 1); }

  std::string found() const { return at_ < text_.size() ? fmt::format("\"{}\"", text_[at_]) : "the end of the text"; }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }

  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    skip_blanks();
    return true;
  }

  void expect(char c) {
    if (!take(std::string_view(&c, 1))) fail(at_, fmt::format("expected \"{}\", found {}", c, found()));
  }

  bool is_whole_gens() const {
    const std::size_t start = text_.find_first_not_of(" \t\r\n");
    const std::size_t end = text_.find_last_not_of(" \t\r\n");
    return start != std::string_view::npos && text_.substr(start, 4) == "gens" && text_[end] == ']' && text_.find(']') == end;
  }

  Point check_points(std::size_t start, std::uint64_t points) const {
    if (points > most_points) fail(start, fmt::format("expected at most {} points, found more", most_points));
    return static_cast<Point>(points);
  }

  std::uint64_t parse_number(std::uint64_t least) {
    const std::size_t start = at_;
    std::uint64_t value = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
      value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>(text_[at_] - '0'), std::uint64_t{1} << 40);
      ++at_;
    }
    if (at_ == start) fail(at_, fmt::format("expected a number, found {}", found()));
    if (value < least) fail(start, fmt::format("expected a number >= {}, found {}", least, value));
    skip_blanks();
    return value;
  }

  Group parse_expression() {
    const std::size_t start = at_;
    Group result = parse_term();
    while (take("x")) {
      const Group right = parse_term();
      (void)check_points(start, static_cast<std::uint64_t>(result.degree) + right.degree);
      result = make_disjoint_product(result, right);
    }
    return result;
  }

  Group parse_term() {
    const std::size_t start = at_;
    Group result = parse_factor();
    while (take("*")) {
      const Group right = parse_factor();
      (void)check_points(start, static_cast<std::uint64_t>(result.degree) * right.degree);
      result = make_pair_product(result, right);
    }
    return result;
  }

  Group parse_factor() {
    const std::size_t start = at_;
    Group inside = parse_atom();
    if (!take("wr")) return inside;
    const Group blocks = parse_atom();
    (void)check_points(start, static_cast<std::uint64_t>(inside.degree) * blocks.degree);
    const std::size_t next = at_;
    if (take("wr")) fail(next, "\"wr\" does not chain: put one of the two in brackets");
    return make_wreath_product(inside, blocks);
  }

  Group parse_atom() {
    budget_.poll();
    if (++depth_ > 200) fail(at_, "brackets are nested more than 200 deep");
    Group result = parse_atom_inside();
    --depth_;
    return result;
  }

  Group parse_atom_inside() {
    const std::size_t start = at_;
    if (take("(")) {
      Group group = parse_expression();
      expect(')');
      return group;
    }
    if (at_ >= text_.size() || !is_letter(text_[at_])) fail(at_, fmt::format("expected {}, found {}", accepted_atoms, found()));
    std::size_t end = at_;
    while (end < text_.size() && is_letter(text_[end])) ++end;
    const std::string_view word = text_.substr(start, end - start);
    if (end < text_.size() && text_[end] == '_' && word.size() == 1 && std::string_view("CDSAB").find(word[0]) != std::string_view::npos) {
      at_ = end + 1;
      const std::uint64_t n = parse_number(1);
      return make_lettered(start, word[0], n);
    }
    if (end < text_.size() && text_[end] == ':' && std::find(sources.begin(), sources.end(), word) != sources.end()) {
      at_ = end + 1;
      return parse_source(start, std::string(word));
    }
    if (std::find(words.begin(), words.end(), word) == words.end()) fail_unknown(start, word);
    at_ = end;
    skip_blanks();
    if (word == "gens") return parse_generators();
    if (word == "regular") {
      expect('(');
      ++regular_;
      const Group group = parse_expression();
      --regular_;
      expect(')');
      try {
        return make_regular_group(group, budget_);
      } catch (const OutOfReach& error) {
        throw OutOfReach(locate(start) + error.what());
      }
    }
    return parse_named(start, word);
  }

  Group parse_source(std::size_t start, const std::string& source) {
    const NamedFile named = find_file(text_, at_);
    if (!named.end) fail(at_, fmt::format("expected a closing {}, found the end of the text", text_[at_]));
    const std::string file(named.name);
    at_ = *named.end;
    if (file.empty()) fail(at_, fmt::format("expected a file after \"{}:\", found {}", source, found()));
    skip_blanks();
    if (!read_source_) fail(start, fmt::format("\"{}:\" names a file, which this place cannot read; expected a group in words or generators", source));
    return read_source_(source, file);
  }

  /// The whole acts on at least as many points as any of its parts that is not inside regular(...): too many are refused before
  /// anything is built.
  void expect_room(std::size_t start, std::uint64_t points) const {
    if (!degree_ || regular_ > 0 || points <= *degree_) return;
    fail(start, fmt::format("this acts on {} points, expected {}{}", points, is_whole(start) ? "" : "at most ", *degree_));
  }

  bool is_whole(std::size_t start) const { return text_.find_first_not_of(" \t\r\n") == start && at_ >= text_.size(); }

  Group make_lettered(std::size_t start, char letter, std::uint64_t n) {
    const Point points = check_points(start, letter == 'B' ? 2 * n : n);
    expect_room(start, points);
    switch (letter) {
      case 'C': return make_cyclic_group(points);
      case 'D': return make_dihedral_group(points);
      case 'S': return make_symmetric_group(points);
      case 'A': return make_alternating_group(points);
      default: return make_wreath_product(make_symmetric_group(2), make_symmetric_group(points / 2));
    }
  }

  Group parse_named(std::size_t start, std::string_view word) {
    expect('(');
    std::vector<std::uint64_t> numbers{parse_number(1)};
    while (take(",")) numbers.push_back(parse_number(1));
    expect(')');
    const bool lattice = word == "torus" || word == "grid";
    if (lattice) {
      std::uint64_t points = 1;
      std::vector<LatticeSide> sides;
      for (const std::uint64_t n : numbers) {
        points = check_points(start, points * std::min(n, most_points + 1));
        sides.push_back({static_cast<Point>(n), word == "torus"});
      }
      expect_room(start, points);
      return make_lattice_group(sides, budget_);
    }
    if (numbers.size() != 1) fail(start, fmt::format("{} takes one number, found {}", word, numbers.size()));
    if (word == "hypercube") {
      expect_room(start, check_points(start, numbers[0] > 24 ? most_points + 1 : std::uint64_t{1} << numbers[0]));
      return make_lattice_group(std::vector<LatticeSide>(numbers[0], LatticeSide{2, false}), budget_);
    }
    if (word == "trivial") {
      expect_room(start, check_points(start, numbers[0]));
      return make_trivial_group(static_cast<Point>(numbers[0]));
    }
    return make_lettered(start, word == "cyclic" ? 'C' : word == "dihedral" ? 'D' : word == "symmetric" ? 'S' : 'A', numbers[0]);
  }

  Group parse_generators() {
    expect('[');
    // Commas separate generators at the top level of the brackets and points inside a cycle.
    std::vector<std::pair<std::size_t, std::string_view>> parts;
    std::size_t begin = at_;
    int open = 0;
    std::uint64_t largest = 0, number = 0;
    while (at_ < text_.size() && text_[at_] != ']') {
      const char c = text_[at_];
      if (c == '(') ++open;
      if (c == ')') --open;
      number = is_digit(c) ? std::min(number * 10 + static_cast<std::uint64_t>(c - '0'), most_points) : 0;
      largest = std::max(largest, number);
      if (c == ',' && open == 0) {
        parts.emplace_back(begin, text_.substr(begin, at_ - begin));
        begin = at_ + 1;
      }
      ++at_;
    }
    if (at_ == text_.size()) fail(at_, "expected \"]\" that closes gens[, found the end of the text");
    parts.emplace_back(begin, text_.substr(begin, at_ - begin));
    const Point points = whole_is_gens_ && degree_ ? *degree_ : check_points(begin, largest + 1);
    expect_room(begin, points);
    expect(']');
    std::vector<Permutation> generators;
    for (const auto& [start, part] : parts) generators.push_back(parse_part(start, part, points));
    const std::optional<Order> at_most = bound_order_ ? bound_order_(points, generators) : std::nullopt;
    return make_group(points, std::move(generators), at_most, budget_);
  }

  Permutation parse_part(std::size_t start, std::string_view part, Point points) const {
    // Characters are counted in the whole expression.
    return parse_cycles(part, points, [&](std::size_t at, const std::string& message) { fail(start + at, message); });
  }

  [[noreturn]] void fail_unknown(std::size_t start, std::string_view word) const {
    std::string hint;
    const bool digit_follows = start + 1 < text_.size() && is_digit(text_[start + 1]);
    const char capital = word[0] >= 'a' ? static_cast<char>(word[0] - 'a' + 'A') : word[0];
    if (word.size() == 1 && std::string_view("CDSAB").find(capital) != std::string_view::npos) {
      const std::size_t digits = digit_follows ? start + 1 : start + 2;
      std::size_t end = digits;
      while (end < text_.size() && is_digit(text_[end])) ++end;
      hint = digits < text_.size() && end > digits ? fmt::format("{}_{}", capital, text_.substr(digits, end - digits)) : fmt::format("{}_n", capital);
    } else {
      std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
      std::string lower(word);
      std::transform(lower.begin(), lower.end(), lower.begin(), to_lower);
      for (const std::string_view candidate : words) {
        const std::size_t distance = compute_edit_distance(lower, candidate);
        if (distance < best) {
          best = distance;
          hint = candidate;
        }
      }
    }
    fail(start, fmt::format("expected {}, found \"{}\"{}", accepted_atoms, word, hint.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", hint)));
  }

  std::string_view text_;
  std::optional<Point> degree_;
  const ReadSource& read_source_;
  const BoundOrder& bound_order_;
  const Budget& budget_;
  std::size_t at_ = 0;
  int depth_ = 0, regular_ = 0;
  bool whole_is_gens_ = false;
};

}  // namespace

Group parse_group(std::string_view text, Point degree, const Budget& budget) { 
  const ReadSource no_files;
  const BoundOrder no_bound;
  return Parser(text, degree, no_files, no_bound, budget).parse();
}

Group parse_group(std::string_view text, std::optional<Point> degree, const ReadSource& read_source, const Budget& budget, const BoundOrder& bound_order) {
  return Parser(text, degree, read_source, bound_order, budget).parse();
}

bool names_files(std::string_view text) {
  return std::any_of(sources.begin(), sources.end(), [text](std::string_view source) { return text.find(std::string(source) + ":") != std::string_view::npos; });
}

std::vector<std::string> list_files(std::string_view text) {
  std::vector<std::string> files;
  for (std::size_t at = 0; (at = text.find(':', at)) != std::string_view::npos;) {
    const std::string_view before = text.substr(0, at++);
    if (std::none_of(sources.begin(), sources.end(), [before](std::string_view source) { return before.ends_with(source); })) continue;
    const NamedFile named = find_file(text, at);
    files.emplace_back(named.name);
    at = named.end.value_or(text.size());
  }
  return files;
}

}  // namespace sightline::group

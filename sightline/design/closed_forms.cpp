#include "sightline/design/closed_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace sightline::design {

namespace {

using layout::PatternKind;
using layout::PatternSpec;

constexpr std::uint64_t most_rows = 20'000;
constexpr std::uint64_t most_path = 500;

PatternSpec make_kind(PatternKind kind) {
  PatternSpec spec;
  spec.kind = kind;
  return spec;
}

PatternSpec make_ring(std::int64_t before, std::int64_t after, bool wrap) {
  PatternSpec spec = make_kind(PatternKind::window);
  spec.before = before;
  spec.after = after;
  spec.wrap = wrap;
  return spec;
}

PatternSpec combine(PatternKind kind, std::vector<PatternSpec> of) {
  PatternSpec spec = make_kind(kind);
  spec.of = std::move(of);
  return spec;
}

/// E, then the register; E empty: the register alone.
Candidate make_hub(std::uint64_t n, std::optional<LayerPlan> first, const std::string& what) {
  Candidate candidate;
  candidate.kind = PointKind::gather_broadcast;
  candidate.registers = 1;
  candidate.whole_list_once = true;
  if (first) candidate.layers.push_back(std::move(*first));
  if (n <= most_rows) {
    candidate.layers.push_back(make_gather(static_cast<Point>(n)));
    candidate.layers.push_back(make_broadcast(static_cast<Point>(n)));
  } else {
    // Everything that touches the register: all pairs without those between tokens.
    const PatternSpec both = combine(PatternKind::minus, {make_kind(PatternKind::full), make_ring(static_cast<std::int64_t>(n) - 1, static_cast<std::int64_t>(n) - 1, false)});
    for (int k = 0; k < 2; ++k) candidate.layers.push_back({both, 2 * n});
  }
  candidate.description = what + ", then one register reads all and is read by all";
  return candidate;
}

Candidate make_single(PatternSpec pattern, std::uint64_t pairs, std::string description) {
  Candidate candidate;
  candidate.layers.push_back({std::move(pattern), pairs});
  candidate.description = std::move(description);
  return candidate;
}

PatternSpec make_torus(std::int64_t a, std::int64_t b) {
  PatternSpec rows = make_kind(PatternKind::grid);
  rows.shape = {a, b};
  rows.wrap = true;
  PatternSpec columns = rows;
  rows.grid_window = {0, 1};
  columns.grid_window = {1, 0};
  return combine(PatternKind::union_of, {rows, columns});
}

}  // namespace

std::optional<ClosedForm> find_closed_form(const std::string& text) {
  static const std::regex one(R"(\s*(?:([CDS])_(\d{1,8})|(cyclic|dihedral|symmetric|trivial)\(\s*(\d{1,8})\s*\))\s*)");
  static const std::regex torus(R"(\s*torus\(\s*(\d{1,8})\s*,\s*(\d{1,8})\s*\)\s*)");
  static const std::regex wreath(R"(\s*S_(\d{1,8})\s+wr\s+S_(\d{1,8})\s*)");
  std::smatch match;
  ClosedForm form;
  if (std::regex_match(text, match, one)) {
    const std::uint64_t n = std::stoull(match[2].matched ? match[2] : match[4]);
    const char family = match[1].matched ? match[1].str()[0] : static_cast<char>(match[3].str()[0] - 'a' + 'A');
    if (n < 3) return std::nullopt;
    if (family == 'C') {
      form.candidates.emplace_back(make_hub(n, LayerPlan{make_ring(0, 1, true), n}, fmt::format("a directed ring, {} pairs", n)), 3);
    } else if (family == 'D') {
      form.candidates.emplace_back(make_hub(n, LayerPlan{make_ring(1, 1, true), n == 3 ? 6 : 2 * n}, fmt::format("a ring, {} pairs", n == 3 ? 6 : 2 * n)), 3);
    } else if (family == 'S') {
      form.candidates.emplace_back(make_single(PatternSpec{}, n * (n - 1), "one pattern: full"), 1);
      form.candidates.emplace_back(make_hub(n, std::nullopt, "nothing"), 2);
    } else {
      // No two views of a path are alike, and the certifier compares them all: out of its reach above some thousand tokens.
      if (n <= most_path) form.candidates.emplace_back(make_hub(n, LayerPlan{make_ring(1, 0, false), n - 1}, fmt::format("a directed path, {} pairs", n - 1)), 3);
    }
    return form;
  }
  if (std::regex_match(text, match, torus)) {
    const std::uint64_t a = std::stoull(match[1]), b = std::stoull(match[2]), n = a * b;
    if (a < 5 || b < 5) return std::nullopt;
    form.candidates.emplace_back(make_hub(n, LayerPlan{make_torus(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)), 4 * n}, fmt::format("four neighbours on the torus, {} pairs", 4 * n)), 3);
    return form;
  }
  if (std::regex_match(text, match, wreath)) {
    const std::uint64_t a = std::stoull(match[1]), b = std::stoull(match[2]), n = a * b;
    if (a < 2 || b < 2) return std::nullopt;
    PatternSpec blocks = make_kind(PatternKind::blocks);
    blocks.size = static_cast<std::int64_t>(a);
    const PatternSpec others = combine(PatternKind::union_of, {combine(PatternKind::minus, {make_kind(PatternKind::full), blocks}), make_kind(PatternKind::self)});
    const std::uint64_t inside = n * (a - 1), outside = n * (n - a);
    form.candidates.emplace_back(make_single(others, outside, fmt::format("one pattern: all other blocks, {} pairs", outside)), 2);
    const bool blocks_win = inside <= outside;
    // With the register among the vertices, "all other blocks" would also hold it; blocks alone never do.
    const PatternSpec others_of_tokens = combine(PatternKind::union_of, {combine(PatternKind::minus, {make_ring(static_cast<std::int64_t>(n) - 1, static_cast<std::int64_t>(n) - 1, false), blocks}), make_kind(PatternKind::self)});
    form.candidates.emplace_back(make_hub(n, LayerPlan{blocks_win ? blocks : others_of_tokens, blocks_win ? inside : outside}, blocks_win ? fmt::format("blocks of {}, {} pairs", a, inside) : fmt::format("all other blocks, {} pairs", outside)), 3);
    return form;
  }
  return std::nullopt;
}

}  // namespace sightline::design

#include "sightline/design/closed_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>

namespace sightline::design {

namespace {

using layout::PatternKind;
using layout::PatternSpec;

constexpr std::uint64_t most_rows = 20'000;

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
  if (first)
    candidate.layers.push_back(std::move(*first));
  if (n <= most_rows) {
    candidate.layers.push_back(make_gather(static_cast<Point>(n)));
    candidate.layers.push_back(make_broadcast(static_cast<Point>(n)));
  } else {
    // Everything that touches the register: all pairs without those between tokens.
    const PatternSpec both =
        combine(PatternKind::minus, {make_kind(PatternKind::full), make_ring(static_cast<std::int64_t>(n) - 1,
                                                                             static_cast<std::int64_t>(n) - 1, false)});
    for (int k = 0; k < 2; ++k)
      candidate.layers.push_back({both, 2 * n});
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

} // namespace

std::optional<ClosedForm> find_closed_form(const std::string& text) {
  static const std::regex one(R"(\s*(?:([CDS])_(\d{1,8})|(cyclic|dihedral|symmetric|trivial)\(\s*(\d{1,8})\s*\))\s*)");
  static const std::regex torus(R"(\s*torus\(\s*(\d{1,8})\s*,\s*(\d{1,8})\s*\)\s*)");
  static const std::regex wreath(R"(\s*(?:S_(\d{1,8})|symmetric\(\s*(\d{1,8})\s*\))\s*wr\s*)"
                                 R"((?:S_(\d{1,8})|symmetric\(\s*(\d{1,8})\s*\))\s*)");
  static const std::regex hyperoctahedral(R"(\s*B_(\d{1,8})\s*)");
  std::smatch match;
  ClosedForm form;
  if (std::regex_match(text, match, one)) {
    const std::uint64_t n = std::stoull(match[2].matched ? match[2] : match[4]);
    const char family = match[1].matched ? match[1].str()[0] : static_cast<char>(match[3].str()[0] - 'a' + 'A');
    if (n < 3)
      return std::nullopt;
    if (family == 'C') {
      form.name = fmt::format("C_{}", n);
      form.small = "C_7";
      form.points.push_back(
          {make_single(make_ring(0, 1, true), n, fmt::format("one pattern: a directed ring, {} pairs", n)), n - 1,
           (n - 1) * n});
      form.points.push_back(
          {make_hub(n, LayerPlan{make_ring(0, 1, true), n}, fmt::format("a directed ring, {} pairs", n)), 3, 3 * n});
    } else if (family == 'D') {
      const std::uint64_t ring = n == 3 ? 6 : 2 * n;
      form.name = n == 3 ? "S_3" : fmt::format("D_{}", n);
      form.small = "D_7";
      form.points.push_back(
          {make_single(make_ring(1, 1, true), ring, fmt::format("one pattern: a ring, {} pairs", ring)), n / 2,
           n / 2 * ring});
      form.points.push_back({make_hub(n, LayerPlan{make_ring(1, 1, true), ring}, fmt::format("a ring, {} pairs", ring)),
                             3, 2 * n + (n < 6 ? n : ring)});
    } else if (family == 'S') {
      form.name = fmt::format("S_{}", n);
      form.small = "S_4";
      form.points.push_back({make_single(PatternSpec{}, n * (n - 1), "one pattern: full"), 1, n * (n - 1)});
      form.few_orbitals = true;
      form.points.push_back({make_hub(n, std::nullopt, "nothing"), 2, 2 * n});
    } else {
      form.name = "trivial";
      form.small = "trivial(6)";
      form.points.push_back(
          {make_hub(n, LayerPlan{make_ring(1, 0, false), n - 1}, fmt::format("a directed path, {} pairs", n - 1)), 3,
           2 * n + 1});
    }
    return form;
  }
  if (std::regex_match(text, match, torus)) {
    const std::uint64_t a = std::stoull(match[1]), b = std::stoull(match[2]), n = a * b;
    if (a < 5 || b < 5)
      return std::nullopt;
    if (a != b)
      form.name = fmt::format("D_{} x D_{}", std::max(a, b), std::min(a, b));
    form.small = a == b ? "torus(5,5)" : "torus(5,6)";
    const PatternSpec cross = make_torus(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
    form.points.push_back(
        {make_hub(n, LayerPlan{cross, 4 * n}, fmt::format("four neighbours on the torus, {} pairs", 4 * n)), 3, 3 * n});
    return form;
  }
  const bool pairs = std::regex_match(text, match, hyperoctahedral);
  if (pairs || std::regex_match(text, match, wreath)) {
    const std::uint64_t a = pairs ? 2 : std::stoull(match[1].matched ? match[1] : match[2]);
    const std::uint64_t b = std::stoull(pairs ? match[1] : match[3].matched ? match[3] : match[4]), n = a * b;
    if (a < 2 || b < 2)
      return std::nullopt;
    form.name = a > 2 ? fmt::format("S_{} wr S_{}", a, b) : b > 2 ? fmt::format("B_{}", b) : "D_4";
    form.small = fmt::format("S_{} wr S_{}", std::min<std::uint64_t>(a, 3), std::min<std::uint64_t>(b, 3));
    PatternSpec blocks = make_kind(PatternKind::blocks);
    blocks.size = static_cast<std::int64_t>(a);
    const PatternSpec others =
        combine(PatternKind::union_of,
                {combine(PatternKind::minus, {make_kind(PatternKind::full), blocks}), make_kind(PatternKind::self)});
    const std::uint64_t inside = n * (a - 1), outside = n * (n - a);
    form.points.push_back(
        {make_single(others, outside, fmt::format("one pattern: all other blocks, {} pairs", outside)), 2,
         2 * outside});
    form.points.push_back(
        {make_hub(n, LayerPlan{blocks, inside}, fmt::format("blocks of {}, {} pairs", a, inside)), 3, 2 * n + inside});
    form.few_orbitals = true;
    return form;
  }
  return std::nullopt;
}

} // namespace sightline::design

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/layout/generators.hpp"
#include "sightline/layout/run_algebra.hpp"

namespace sightline::layout {

void fail(const PatternSpec& spec, std::string_view key, const std::string& expected, const std::string& found) {
  throw InputError(fmt::format("{}{}{}: expected {}, found {}", spec.where, key.empty() ? "" : "/", key, expected, found));
}

std::int64_t require(const PatternSpec& spec, std::string_view key, std::optional<std::int64_t> value, std::int64_t least) {
  if (!value) fail(spec, key, fmt::format("an integer >= {}", least), "nothing");
  if (*value < least) fail(spec, key, fmt::format("an integer >= {}", least), fmt::format("{}", *value));
  return *value;
}

namespace {

std::vector<Pattern> combine_operands(SetOperation operation, const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  if (spec.of.empty()) fail(spec, "of", "at least one pattern", "none");
  std::vector<Pattern> result = make_patterns(spec.of.front(), size, budget);
  for (std::size_t k = 1; k < spec.of.size(); ++k) {
    std::vector<Pattern> operand = make_patterns(spec.of[k], size, budget);
    if (result.size() > 1 && operand.size() > 1 && result.size() != operand.size()) {
      fail(spec, "of", fmt::format("patterns of {} heads or of one", result.size()), fmt::format("one of {} heads", operand.size()));
    }
    std::vector<Pattern> heads;
    for (std::size_t h = 0; h < std::max(result.size(), operand.size()); ++h) {
      heads.push_back(combine(operation, result[result.size() == 1 ? 0 : h], operand[operand.size() == 1 ? 0 : h], budget));
    }
    for (const Pattern& old : result) budget.give_back(old.memory_bytes());
    for (const Pattern& old : operand) budget.give_back(old.memory_bytes());
    result = std::move(heads);
  }
  return result;
}

std::vector<Pattern> make_heads(const PatternSpec& spec, PatternSize size, const Budget& budget) {
  if (spec.of.empty()) fail(spec, "heads", "at least one pattern", "none");
  size.heads = static_cast<Vertex>(spec.of.size());
  std::vector<Pattern> heads;
  for (std::size_t h = 0; h < spec.of.size(); ++h) {
    std::vector<Pattern> head = make_patterns(spec.of[h], size, budget);
    if (head.size() != 1 && head.size() != spec.of.size()) {
      fail(spec, "heads", fmt::format("patterns of {} heads or of one", spec.of.size()), fmt::format("one of {} heads", head.size()));
    }
    heads.push_back(std::move(head[head.size() == 1 ? 0 : h]));
  }
  return heads;
}

std::vector<Pattern> generate(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const auto one = [](Pattern pattern) {
    std::vector<Pattern> out;
    out.push_back(std::move(pattern));
    return out;
  };
  switch (spec.kind) {
  case PatternKind::full: return one(make_full(size, budget));
  case PatternKind::self: return one(make_uniform(std::vector{make_moving_run(0, 0, size.tokens)}, size, budget));
  case PatternKind::window:
  case PatternKind::ring: return one(make_window(spec, size, budget));
  case PatternKind::blocks:
  case PatternKind::shifted_blocks: return one(make_block_pattern(spec, size, budget));
  case PatternKind::strided: return one(make_strided(spec, size, budget));
  case PatternKind::fixed: return one(make_fixed(spec, size, budget));
  case PatternKind::grid: return one(make_grid(spec, size, budget));
  case PatternKind::star: return one(make_star(spec, size, budget));
  case PatternKind::bigbird: return make_bigbird(spec, size, budget);
  case PatternKind::random: return one(make_random(spec, size, budget));
  case PatternKind::butterfly: return one(make_butterfly(spec, size, budget));
  case PatternKind::circulant: return one(make_circulant(spec, size, budget));
  case PatternKind::graph: return one(make_graph(spec, size, budget));
  case PatternKind::rows: return one(make_listed_rows(spec, size, budget));
  case PatternKind::matrix: return one(make_matrix(spec, size, budget));
  case PatternKind::file: return one(read_mask_file(spec, size, budget));
  case PatternKind::union_of: return combine_operands(SetOperation::unite, spec, size, budget);
  case PatternKind::intersection_of: return combine_operands(SetOperation::intersect, spec, size, budget);
  case PatternKind::minus: return combine_operands(SetOperation::subtract, spec, size, budget);
  case PatternKind::per_head: return make_heads(spec, size, budget);
  }
  throw InternalError("a pattern kind without a generator");
}

}  // namespace

std::vector<Pattern> make_patterns(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  constexpr std::uint64_t most_vertices = std::uint64_t{1} << 30;
  if (size.tokens == 0) throw ArgumentError("a pattern has at least one token");
  if (std::uint64_t{size.tokens} + size.registers > most_vertices) {
    fail(spec, "", fmt::format("at most {} tokens and registers", most_vertices),
         fmt::format("{}", std::uint64_t{size.tokens} + size.registers));
  }
  std::vector<Pattern> patterns = generate(spec, size, budget);
  if (!spec.causal) return patterns;
  for (Pattern& pattern : patterns) {
    Pattern cut = make_causal(pattern, size.tokens, budget);
    budget.give_back(pattern.memory_bytes());
    pattern = std::move(cut);
  }
  return patterns;
}

std::vector<std::pair<Vertex, Vertex>> find_empty_rows(const Pattern& pattern) {
  std::vector<std::pair<Vertex, Vertex>> empty;
  std::vector<Run> runs;
  for (Vertex i = 0; i < pattern.vertex_count(); ++i) {
    pattern.row(i, runs);
    if (!runs.empty()) continue;
    if (!empty.empty() && empty.back().first + empty.back().second == i) {
      ++empty.back().second;
    } else {
      empty.emplace_back(i, 1);
    }
  }
  return empty;
}

}  // namespace sightline::layout

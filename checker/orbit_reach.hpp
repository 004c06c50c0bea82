// Inside of reach.hpp: receptive fields where automorphisms of the layout leave few orbits.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "bit_reach.hpp"
#include "threshold.hpp"

namespace checker {

/// Automorphisms map receptive fields to receptive fields, so one reader per orbit tells all: the readers to follow, when they are few.
inline std::vector<Vertex> choose_readers(const Layout& layout, const ReachQuestion& question) {
  constexpr Threshold<std::size_t> least{64, 0, "few readers"};
  const std::size_t few = std::max<std::size_t>(least, layout.tokens / 64);
  std::vector<Vertex> readers;
  if (question.orbit == nullptr || question.kind == ClassKind::causal || question.sets != nullptr || question.ordinary_only) return readers;
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if ((*question.orbit)[a] != a) continue;
    if (readers.size() == few) return {};
    readers.push_back(a);
  }
  return readers;
}

/// What one reader misses of all, or of what it ever sees: how many, and the first of them.
inline std::pair<Vertex, Vertex> count_missing(const Layout& layout, const ReachQuestion& question, Vertex reader, std::uint64_t depth) {
  const std::vector<std::int64_t> latest = compute_latest(layout, depth, reader, question.skip);
  std::vector<std::int64_t> ever;
  if (question.kind == ClassKind::seen) ever = compute_latest(layout, ever_of(layout), reader, question.skip);
  std::pair<Vertex, Vertex> missing{0, 0};
  for (Vertex j = question.registers_too ? layout.vertices() : layout.tokens; j-- > 0;) {
    if (latest[j] < 0 && (ever.empty() || ever[j] >= 0)) missing = {missing.first + 1, j};
  }
  return missing;
}

inline std::optional<std::pair<Vertex, Vertex>> find_missing(const Layout& layout, const ReachQuestion& question, const std::vector<Vertex>& readers, std::uint64_t depth) {
  for (const Vertex a : readers) {
    if (const auto [count, first] = count_missing(layout, question, a, depth); count > 0) return std::pair{a, first};
  }
  return std::nullopt;
}

// Pairs that are not in view are permuted as well: where readers are many, one column per orbit tells all.
inline constexpr Threshold<std::size_t> readers_for_columns{64, 0, "columns of orbits"};

inline std::vector<Vertex> columns_of(const Layout& layout, const ReachQuestion& question, std::vector<Vertex> readers) {
  for (Vertex j = layout.tokens; question.registers_too && j < layout.vertices(); ++j) readers.push_back(j);
  return readers;
}

/// By token that is the least of its orbit: how many it misses. As many pairs are missed from its orbit to that of a column as its orbit misses that column, times the column's orbit.
inline std::vector<Vertex> count_by_columns(const Layout& layout, const SharedLayers& layers, const ReachQuestion& question, const std::vector<Vertex>& readers, std::uint64_t depth) {
  std::vector<Vertex> members(layout.vertices(), 0);
  for (Vertex j = 0; j < layout.vertices(); ++j) ++members[j < layout.tokens ? (*question.orbit)[j] : j];
  ReachQuestion weighted = question;
  weighted.weight = &members;
  const std::vector<Vertex> columns = columns_of(layout, question, readers), missed = BitReach<>(layout, layers, weighted).unseen(depth, &columns).count;
  std::vector<std::uint64_t> pairs(layout.tokens, 0);
  for (Vertex i = 0; i < layout.tokens; ++i) pairs[(*question.orbit)[i]] += missed[i];
  std::vector<Vertex> count(layout.tokens);
  for (const Vertex a : readers) count[a] = static_cast<Vertex>(pairs[a] / members[a]);
  return count;
}

inline Unseen unseen_by_orbits(const Layout& layout, const SharedLayers& layers, const ReachQuestion& question, const std::vector<Vertex>& readers, std::uint64_t depth) {
  Unseen result{std::vector<Vertex>(layout.tokens, 0), {}};
  const bool by_columns = readers.size() > readers_for_columns;
  if (by_columns) result.count = count_by_columns(layout, layers, question, readers, depth);
  for (const Vertex a : readers) {
    if (by_columns && (result.count[a] == 0 || result.first)) continue;
    const auto [count, first] = count_missing(layout, question, a, depth);
    result.count[a] = count;
    if (count > 0 && !result.first) result.first = std::pair{a, first};
  }
  for (Vertex i = 0; i < layout.tokens; ++i) result.count[i] = result.count[(*question.orbit)[i]];
  return result;
}

inline Reach reach_by_orbits(const Layout& layout, const SharedLayers& layers, const ReachQuestion& question, const std::vector<Vertex>& readers) {
  if (readers.size() > readers_for_columns) return reach_of_columns(layout, layers, question, columns_of(layout, question, readers));
  // Going back from a depth, the layers met are those met from every other depth that agrees with it modulo the period: so many of
  // them are needed there.
  const std::uint64_t ever = ever_of(layout), period = std::max<std::uint64_t>(1, find_period(layout.order));
  const Vertex end = question.registers_too ? layout.vertices() : layout.tokens;
  std::uint64_t back = 0;
  for (const Vertex a : readers) {
    const std::vector<std::int64_t> latest = compute_latest(layout, ever, a, question.skip);
    for (Vertex j = 0; j < end; ++j) {
      if (latest[j] < 0 && question.kind == ClassKind::seen) continue;
      if (latest[j] < 0) return {std::nullopt, std::pair{a, j}};
      back = std::max(back, ever - static_cast<std::uint64_t>(latest[j]));
    }
  }
  if (back == 0) return {0, {}};
  // More layers never show less: the answer is among the depths of the last period.
  std::uint64_t high = back + (ever - back) % period, low = high < period ? 0 : high - period;
  std::optional<std::pair<Vertex, Vertex>> before;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    const auto missed = find_missing(layout, question, readers, middle);
    (missed ? low : high) = middle;
    if (missed) before = missed;
  }
  if (!before) before = find_missing(layout, question, readers, low);
  return {high, before};
}

}  // namespace checker

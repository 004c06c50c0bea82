#include "sightline/layout/pattern_builder.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sightline/base/error.hpp"

namespace sightline::layout {

namespace {

std::uint64_t hash_runs(std::span<const AffineRun> runs) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u + runs.size();
  const auto mix = [&](std::uint64_t value) {
    hash = (hash ^ value) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  };
  for (const AffineRun& run : runs) {
    mix(static_cast<std::uint64_t>(run.lo_base));
    mix(static_cast<std::uint64_t>(run.hi_base));
    mix((std::uint64_t{run.step} << 32) | run.colour);
  }
  return hash;
}

std::uint64_t hash_vertices(std::span<const Vertex> vertices) {
  std::uint64_t hash = 0x9e3779b97f4a7c15u + vertices.size();
  for (const Vertex x : vertices) {
    hash = (hash ^ x) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return hash;
}

/// Is the row shorter written out, four bytes a vertex, than as runs?
bool is_written_out(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours) {
  if (vertices.empty() || std::any_of(colours.begin(), colours.end(), [](std::uint32_t colour) { return colour != 1; })) return false;
  constexpr std::size_t run_vertices = sizeof(AffineRun) / sizeof(Vertex);
  if (vertices.size() <= run_vertices) return true;
  std::size_t runs = 0;
  split_into_runs(vertices, [&runs](Vertex, Vertex, Vertex) { ++runs; });
  return vertices.size() <= runs * run_vertices;
}

}  // namespace

void PatternBuilder::book() {
  constexpr std::uint64_t chunk_bytes = std::uint64_t{4} << 20;
  const std::uint64_t bytes = segments_.size() * sizeof(Pattern::Segment) + lists_.size() * sizeof(Pattern::RunList) +
                              runs_.size() * sizeof(AffineRun) + written_.size() * sizeof(Vertex);
  if (bytes < booked_bytes_) return;
  budget_->ask(chunk_bytes);
  booked_bytes_ += chunk_bytes;
}

void PatternBuilder::expect_written(std::uint64_t lists, std::uint64_t vertices) {
  const std::uint64_t bytes = lists * (sizeof(Pattern::Segment) + sizeof(Pattern::RunList)) + vertices * sizeof(Vertex);
  budget_->ask(bytes);
  booked_bytes_ += bytes;
  segments_.reserve(lists);
  lists_.reserve(lists);
  written_.reserve(vertices);
}

SharedRuns PatternBuilder::add_shared(std::span<const AffineRun> runs) {
  const SharedRuns shared{static_cast<std::uint32_t>(runs_.size()), static_cast<std::uint32_t>(runs.size())};
  runs_.insert(runs_.end(), runs.begin(), runs.end());
  book();
  return shared;
}

std::uint32_t PatternBuilder::add_list(std::span<const AffineRun> runs, SharedRuns shared) {
  if (runs_.size() + runs.size() > UINT32_MAX) throw OutOfReach("a pattern of more than 2^32 runs cannot be stored");
  lists_.push_back({static_cast<std::uint32_t>(runs_.size()), static_cast<std::uint32_t>(runs.size()), shared.begin, shared.count, 0, 0});
  runs_.insert(runs_.end(), runs.begin(), runs.end());
  book();
  return static_cast<std::uint32_t>(lists_.size() - 1);
}

std::uint32_t PatternBuilder::add_list_once(std::span<const AffineRun> runs) {
  const std::uint64_t hash = hash_runs(runs);
  const auto [begin, end] = seen_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const auto known = runs_of(it->second);
    if (std::equal(known.begin(), known.end(), runs.begin(), runs.end())) return it->second;
  }
  const std::uint32_t list = add_list(runs);
  seen_.emplace(hash, list);
  return list;
}

std::uint32_t PatternBuilder::add_written(std::span<const Vertex> vertices) {
  if (written_.size() + vertices.size() > UINT32_MAX) throw OutOfReach("a pattern of more than 2^32 single vertices cannot be stored");
  lists_.push_back({0, 0, 0, 0, static_cast<std::uint32_t>(written_.size()), static_cast<std::uint32_t>(vertices.size())});
  written_.insert(written_.end(), vertices.begin(), vertices.end());
  book();
  return static_cast<std::uint32_t>(lists_.size() - 1);
}

std::uint32_t PatternBuilder::add_row(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours) {
  if (is_written_out(vertices, colours)) return add_written(vertices);
  row_.clear();
  append_runs(vertices, colours, row_);
  return add_list(row_);
}

std::uint32_t PatternBuilder::add_row_once(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours) {
  if (!is_written_out(vertices, colours)) {
    row_.clear();
    append_runs(vertices, colours, row_);
    return add_list_once(row_);
  }
  const std::uint64_t hash = hash_vertices(vertices);
  const auto [begin, end] = seen_written_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Pattern::RunList& list = lists_[it->second];
    const auto known = std::span(written_).subspan(list.written_begin, list.written_count);
    if (std::equal(known.begin(), known.end(), vertices.begin(), vertices.end())) return it->second;
  }
  const std::uint32_t list = add_written(vertices);
  seen_written_.emplace(hash, list);
  return list;
}

void PatternBuilder::add_segment(Vertex begin, std::uint32_t list) {
  if (!segments_.empty() && segments_.back().list == list) return;
  segments_.push_back({begin, list});
  if ((segments_.size() & 0xfffu) == 0) {
    budget_->poll();
    book();
  }
}

std::span<const AffineRun> PatternBuilder::runs_of(std::uint32_t list) const {
  return std::span(runs_).subspan(lists_[list].runs_begin, lists_[list].runs_count);
}

Pattern PatternBuilder::build() {
  // A little room at the end was never touched; giving it back would copy everything.
  const auto shrink = [](auto& list) {
    if (list.capacity() - list.size() > list.size() / 8) list.shrink_to_fit();
  };
  shrink(segments_);
  shrink(lists_);
  shrink(runs_);
  shrink(written_);
  Pattern pattern(vertex_count_, std::move(segments_), std::move(lists_), std::move(runs_), std::move(written_));
  const std::uint64_t bytes = pattern.memory_bytes();
  if (bytes > booked_bytes_) budget_->ask(bytes - booked_bytes_);
  if (bytes < booked_bytes_) budget_->give_back(booked_bytes_ - bytes);
  booked_bytes_ = 0;
  return pattern;
}

void append_runs(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours, std::vector<AffineRun>& out) {
  const auto append = [&](std::size_t begin, std::size_t end, std::uint32_t colour) {
    split_into_runs(vertices.subspan(begin, end - begin), [&](Vertex first, Vertex last, Vertex step) {
      out.push_back(make_constant_run(first, last, colour));
      out.back().step = step;
    });
  };
  if (colours.empty()) return append(0, vertices.size(), 1);
  for (std::size_t begin = 0; begin < vertices.size();) {
    std::size_t end = begin + 1;
    while (end < vertices.size() && colours[end] == colours[begin]) ++end;
    append(begin, end, colours[begin]);
    begin = end;
  }
}

Pattern make_pattern_from_rows(Vertex vertex_count, const std::vector<std::vector<Vertex>>& rows,
                               const std::vector<std::vector<std::uint32_t>>& colours) {
  if (rows.size() != vertex_count) throw ArgumentError(fmt::format("expected {} rows, found {}", vertex_count, rows.size()));
  if (!colours.empty() && colours.size() != rows.size()) throw ArgumentError("expected as many rows of colours as rows");
  const Budget budget;
  PatternBuilder builder(vertex_count, budget);
  std::vector<std::size_t> order;
  std::vector<Vertex> vertices;
  std::vector<std::uint32_t> row_colours;
  for (Vertex i = 0; i < vertex_count; ++i) {
    const auto& row = rows[i];
    if (!colours.empty() && colours[i].size() != row.size()) throw ArgumentError(fmt::format("row {}: one colour for each vertex", i));
    order.resize(row.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return row[a] < row[b]; });
    vertices.clear();
    row_colours.clear();
    for (const std::size_t k : order) {
      if (row[k] >= vertex_count) throw ArgumentError(fmt::format("row {}: vertex {} is out of range", i, row[k]));
      if (!vertices.empty() && vertices.back() == row[k]) throw ArgumentError(fmt::format("row {}: vertex {} is listed twice", i, row[k]));
      vertices.push_back(row[k]);
      if (colours.empty()) continue;
      if (colours[i][k] == 0) throw ArgumentError(fmt::format("row {}: colour 0 means absent", i));
      row_colours.push_back(colours[i][k]);
    }
    builder.add_segment(i, builder.add_row_once(vertices, row_colours));
  }
  return builder.build();
}

}  // namespace sightline::layout

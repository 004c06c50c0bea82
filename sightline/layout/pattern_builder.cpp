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

}  // namespace

void PatternBuilder::book() {
  constexpr std::uint64_t chunk_bytes = std::uint64_t{4} << 20;
  const std::uint64_t bytes = segments_.size() * sizeof(Pattern::Segment) + lists_.size() * sizeof(Pattern::RunList) +
                              runs_.size() * sizeof(AffineRun);
  if (bytes < booked_bytes_) return;
  budget_->ask(chunk_bytes);
  booked_bytes_ += chunk_bytes;
}

void PatternBuilder::expect(std::uint64_t lists, std::uint64_t runs) {
  const std::uint64_t bytes = lists * (sizeof(Pattern::Segment) + sizeof(Pattern::RunList)) + runs * sizeof(AffineRun);
  budget_->ask(bytes);
  booked_bytes_ += bytes;
  segments_.reserve(lists);
  lists_.reserve(lists);
  runs_.reserve(runs);
}

SharedRuns PatternBuilder::add_shared(std::span<const AffineRun> runs) {
  const SharedRuns shared{static_cast<std::uint32_t>(runs_.size()), static_cast<std::uint32_t>(runs.size())};
  runs_.insert(runs_.end(), runs.begin(), runs.end());
  book();
  return shared;
}

std::uint32_t PatternBuilder::add_list(std::span<const AffineRun> runs, SharedRuns shared) {
  if (runs_.size() + runs.size() > UINT32_MAX) throw OutOfReach("a pattern of more than 2^32 runs cannot be stored");
  lists_.push_back({static_cast<std::uint32_t>(runs_.size()), static_cast<std::uint32_t>(runs.size()), shared.begin, shared.count});
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
  Pattern pattern(vertex_count_, std::move(segments_), std::move(lists_), std::move(runs_));
  const std::uint64_t bytes = pattern.memory_bytes();
  if (bytes > booked_bytes_) budget_->ask(bytes - booked_bytes_);
  if (bytes < booked_bytes_) budget_->give_back(booked_bytes_ - bytes);
  booked_bytes_ = 0;
  return pattern;
}

void append_runs(std::span<const Vertex> vertices, std::span<const std::uint32_t> colours, std::vector<AffineRun>& out) {
  const auto colour = [&](std::size_t k) { return colours.empty() ? 1u : colours[k]; };
  for (std::size_t k = 0; k < vertices.size();) {
    std::size_t end = k + 1;
    Vertex step = 1;
    if (end < vertices.size() && colour(end) == colour(k)) {
      step = vertices[end] - vertices[k];
      while (end < vertices.size() && colour(end) == colour(k) && vertices[end] - vertices[end - 1] == step) ++end;
      if (step > 1 && end - k < 3) {
        end = k + 1;
        step = 1;
      }
    }
    AffineRun run = make_constant_run(vertices[k], vertices[end - 1], colour(k));
    run.step = step;
    out.push_back(run);
    k = end;
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
  std::vector<AffineRun> runs;
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
    runs.clear();
    append_runs(vertices, row_colours, runs);
    builder.add_segment(i, builder.add_list_once(runs));
  }
  return builder.build();
}

}  // namespace sightline::layout

// Layers row by row, for columns of who sees whom (reach_bits.cpp): what each distinct row reads, and which rows have something new to read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "sightline/sight/row_classes.hpp"

namespace sightline::sight {

/// A layer row by row: what each distinct row reads, and who reads it.
struct DistinctRows {
  std::shared_ptr<const ReadLayer> layer;
  std::optional<RowClasses> classes;  ///< none: every group has a row of its own

  [[nodiscard]] std::size_t size() const { return classes ? classes->size() : layer->groups.size(); }
  [[nodiscard]] const ReadGroup& first_group(std::size_t r) const { return layer->groups[classes ? classes->groups(r).front() : r]; }
  /// Calls visit(i) for every reader of row r.
  template <class Visit>
  void for_each_reader(std::size_t r, const Visit& visit) const {
    const auto go = [&](const ReadGroup& group) {
      for (Vertex i = group.begin; i < group.end; ++i) visit(i);
    };
    if (!classes) return go(layer->groups[r]);
    for (const std::uint32_t g : classes->groups(r)) go(layer->groups[g]);
  }
};

/// Of a layer whose rows are short: which rows hold a vertex, and which of them have something to read that is new since the layer
/// was last gone through. Where fields of view grow slowly (meshes, trees) that is all a layer does.
class WaitingRows {
public:
  /// Nothing where rows are long and made of long ranges.
  static std::optional<WaitingRows> make(const DistinctRows& rows, Vertex vertices, const Budget& budget) {
    std::uint64_t arcs = 0, ranges = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const ReadRange& range : rows.layer->row(rows.first_group(r))) {
        arcs += (range.last - range.first) / range.step + 1;
        ++ranges;
      }
      if (arcs > std::max(most_arcs * vertices, 2 * ranges)) return std::nullopt;
    }
    // Vertex by vertex where that is shorter than ranges: rows are gone through once per strip and layer.
    const bool listed = arcs <= 3 * ranges;
    WaitingRows pending(budget, (listed ? 8 : 4) * arcs + 8 * (std::uint64_t{vertices} + rows.size()));
    pending.begin_.assign(std::size_t{vertices} + 2, 0);
    for_each_arc(rows, [&](std::uint32_t, Vertex j) { ++pending.begin_[j + 2]; });
    for (Vertex j = 0; j < vertices; ++j) pending.begin_[j + 2] += pending.begin_[j + 1];
    pending.rows_.resize(arcs);
    for_each_arc(rows, [&](std::uint32_t r, Vertex j) { pending.rows_[pending.begin_[j + 1]++] = r; });
    pending.waits_.assign(rows.size(), 0);
    if (!listed) return pending;
    pending.read_.reserve(arcs);
    pending.read_begin_.assign(rows.size() + 1, 0);
    for_each_arc(rows, [&](std::uint32_t r, Vertex j) {
      pending.read_.push_back(j);
      ++pending.read_begin_[r + 1];
    });
    std::partial_sum(pending.read_begin_.begin(), pending.read_begin_.end(), pending.read_begin_.begin());
    return pending;
  }

  /// Is read_by() what rows read?
  [[nodiscard]] bool lists_rows() const { return !read_begin_.empty(); }
  [[nodiscard]] std::span<const Vertex> read_by(std::uint32_t r) const { return std::span(read_).subspan(read_begin_[r], read_begin_[r + 1] - read_begin_[r]); }

  [[nodiscard]] std::span<const std::uint32_t> rows_with(Vertex j) const { return std::span(rows_).subspan(begin_[j], begin_[j + 1] - begin_[j]); }
  /// j sees more than before.
  void note(Vertex j) {
    for (std::uint32_t k = begin_[j]; k < begin_[j + 1]; ++k) {
      const std::uint32_t r = rows_[k];
      if (waits_[r] != 0) continue;
      waits_[r] = 1;
      list_.push_back(r);
    }
  }
  /// Most of them do.
  void note_all() {
    std::fill(waits_.begin(), waits_.end(), std::uint8_t{1});
    list_.resize(waits_.size());
    std::iota(list_.begin(), list_.end(), 0U);
  }
  /// The rows that wait, ascending where they are many: neighbours in memory follow one another. None wait afterwards.
  void take(std::vector<std::uint32_t>& list) {
    list.clear();
    list.swap(list_);
    if (8 * list.size() > waits_.size()) {
      list.clear();
      for (std::uint32_t r = 0; r < waits_.size(); ++r) {
        if (waits_[r] != 0) list.push_back(r);
      }
    }
    for (const std::uint32_t r : list) waits_[r] = 0;
  }
  void clear() {
    for (const std::uint32_t r : list_) waits_[r] = 0;
    list_.clear();
  }

private:
  static constexpr std::uint64_t most_arcs = 64;

  WaitingRows(const Budget& budget, std::uint64_t bytes) : booking_(budget, bytes) {}

  template <class Visit>
  static void for_each_arc(const DistinctRows& rows, const Visit& visit) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (const ReadRange& range : rows.layer->row(rows.first_group(r))) {
        for (std::uint64_t j = range.first; j <= range.last; j += range.step) visit(static_cast<std::uint32_t>(r), static_cast<Vertex>(j));
      }
    }
  }

  Booking booking_;
  std::vector<std::uint32_t> begin_, rows_, list_;
  std::vector<std::uint32_t> read_begin_;
  std::vector<Vertex> read_;
  std::vector<std::uint8_t> waits_;
};

}  // namespace sightline::sight

// Inside of natural_order.hpp: whom tokens read, whatever the layer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// Whom each token reads, in all relations together: a member of relation r is r * tokens + the vertex. Sorted.
struct JoinedRows {
  std::vector<std::uint32_t> begin;  ///< by token, and the end
  std::vector<std::uint32_t> members;

  [[nodiscard]] Vertex tokens() const { return static_cast<Vertex>(begin.size() - 1); }
  [[nodiscard]] std::uint32_t length(Vertex i) const { return begin[i + 1] - begin[i]; }
  /// Tokens that read more, and members that more hold, say nothing about who is near: a quarter of all.
  [[nodiscard]] std::uint32_t many() const { return std::max<std::uint32_t>(tokens() / 4, 8); }
  /// Calls visit(vertex) for each member of a row, once for each relation.
  template <class Visit>
  void visit_row(Vertex i, Visit&& visit) const {
    for (std::uint32_t k = begin[i]; k < begin[i + 1]; ++k) visit(members[k] % tokens());
  }
};

/// Who reads each token, but for itself, once for each relation. Four bytes an arc.
class JoinedReaders {
public:
  explicit JoinedReaders(const JoinedRows& rows) : begin_(rows.begin.size(), 0) {
    const auto for_each_arc = [&rows](const auto& visit) {
      for (Vertex i = 0; i < rows.tokens(); ++i) {
        rows.visit_row(i, [&](Vertex j) {
          if (i != j) visit(i, j);
        });
      }
    };
    for_each_arc([this](Vertex, Vertex j) { ++begin_[j + 1]; });
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    readers_.resize(begin_.back());
    std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
    for_each_arc([&](Vertex i, Vertex j) { readers_[next[j]++] = i; });
  }

  [[nodiscard]] std::span<const Vertex> of(Vertex j) const { return std::span(readers_).subspan(begin_[j], begin_[j + 1] - begin_[j]); }

private:
  std::vector<std::uint32_t> begin_;
  std::vector<Vertex> readers_;
};

}  // namespace sightline::layout

// Inside of reach.hpp: what all vertices see, each as a few intervals (docs/theory.md 16.48). Not for other rooms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

/// first, first + 1, .., last.
struct Span {
  Vertex first = 0, last = 0;
  friend bool operator==(const Span&, const Span&) = default;
};

/// A set of vertices for every vertex, which holds it: an interval around the vertex whose ends do not fall from one vertex to the next, and what
/// lies outside of it. Neighbours with the same outside share it: sinks and globals are written down once.
///
/// Equal families are stored alike: the interval is the largest of its kind within the component of the vertex, which is listed among the outside
/// where it is larger.
class SpanViews {
public:
  /// More spans outside of cores are not followed: per vertex on average, and in all.
  static constexpr std::uint64_t most_spans = 64, most_in_all = std::uint64_t{1} << 23;

  [[nodiscard]] static std::shared_ptr<const SpanViews> make_identity(Vertex vertices, const Budget& budget);
  /// The rows of a layer, each with its reader. Null where they fall into too many spans.
  [[nodiscard]] static std::shared_ptr<const SpanViews> make(const ReadLayer& layer, Vertex vertices, const Budget& budget);
  /// i -> union of earlier(j) over j in later(i). Null where that takes too many spans.
  [[nodiscard]] static std::shared_ptr<const SpanViews> compose(const SpanViews& later, const SpanViews& earlier, const Budget& budget);

  [[nodiscard]] Vertex vertices() const { return static_cast<Vertex>(lo_.size()); }
  [[nodiscard]] Span core(Vertex i) const { return {lo_[i], hi_[i]}; }
  /// What i sees outside of the core, sorted, and its component where that is larger than the core.
  [[nodiscard]] std::span<const Span> outside(Vertex i) const { return list(list_[i]); }
  /// All that i sees, as sorted spans that do not touch.
  void spans(Vertex i, std::vector<Span>& out) const;

  friend bool operator==(const SpanViews& a, const SpanViews& b) { return a.lo_ == b.lo_ && a.hi_ == b.hi_ && a.list_ == b.list_ && a.begin_ == b.begin_ && a.spans_ == b.spans_; }

private:
  class Builder;

  explicit SpanViews(const Budget& budget) : booking_(budget) {}
  [[nodiscard]] std::span<const Span> list(std::uint32_t k) const { return std::span(spans_).subspan(begin_[k], begin_[k + 1] - begin_[k]); }
  /// Adds the union over first .. last to `out`, in any order.
  void collect(Vertex first, Vertex last, std::vector<Span>& out) const;
  void collect_table(std::uint32_t from, std::uint32_t to, std::vector<Span>& out) const;

  /// Unions over 2^k lists in a row, made when first asked for.
  struct Level {
    std::vector<std::size_t> begin;
    std::vector<Span> spans;
  };

  std::vector<Vertex> lo_, hi_;
  std::vector<std::uint32_t> list_;  ///< by vertex: number of its outside; numbers rise by one where it changes
  std::vector<std::size_t> begin_;   ///< of each list; one more at the end
  std::vector<Span> spans_;
  std::vector<Vertex> lowest_, highest_;  ///< by list: the least vertex of this and all later ones; the greatest of this and all earlier ones
  mutable std::vector<Level> levels_;
  mutable Booking booking_;
};

}  // namespace sightline::sight

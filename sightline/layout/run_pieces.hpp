// Set algebra on the runs of one row, done for a whole interval of readers at once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// base + (moves ? reader : 0).
struct Bound {
  std::int64_t base = 0;
  bool moves = false;
  friend bool operator==(const Bound&, const Bound&) = default;
};

/// { j : j = anchor mod step, lo <= j <= hi } with lo <= hi for every reader at hand; every clip already worked in.
struct Piece {
  Bound lo, hi, anchor;
  std::int64_t step = 1;
  std::uint32_t colour = 1;
};

/// Works on the readers begin .. end-1. Whenever an answer would differ within them, split() says where to cut the
/// interval, and what was returned until then is meaningless: the caller tries again on both halves. A single reader
/// never asks for a split, so this ends.
class RowAlgebra {
public:
  RowAlgebra(Vertex begin, Vertex end) : begin_(begin), end_(end) {}

  [[nodiscard]] std::optional<Vertex> split() const { return split_; }

  void append_pieces(std::span<const AffineRun> runs, std::vector<Piece>& out);
  /// Pieces of `a` are pairwise disjoint, and so are those of `b`.
  [[nodiscard]] std::vector<Piece> unite(const std::vector<Piece>& a, const std::vector<Piece>& b);
  [[nodiscard]] std::vector<Piece> intersect(const std::vector<Piece>& a, const std::vector<Piece>& b);
  [[nodiscard]] std::vector<Piece> subtract(const std::vector<Piece>& a, const std::vector<Piece>& b);
  /// Joins neighbours and writes affine runs, cut to [0, limit).
  void append_runs(std::vector<Piece> pieces, std::int64_t limit, std::vector<AffineRun>& out) const;

private:
  [[nodiscard]] bool less_equal(Bound a, Bound b);
  [[nodiscard]] bool less(Bound a, Bound b) { return !less_equal(b, a); }
  [[nodiscard]] Bound larger(Bound a, Bound b) { return less_equal(a, b) ? b : a; }
  [[nodiscard]] Bound smaller(Bound a, Bound b) { return less_equal(a, b) ? a : b; }
  [[nodiscard]] std::int64_t value(Bound bound, Vertex reader) const { return bound.base + (bound.moves ? std::int64_t{reader} : 0); }
  void ask_split(std::int64_t at);
  /// Adds the piece unless it is empty, bounds moved onto members of its class where both move alike.
  void add(Piece piece, std::vector<Piece>& out);
  /// Members of both classes, as (anchor, step) written into `out`; false when the classes are disjoint.
  [[nodiscard]] bool meet_classes(const Piece& a, const Piece& b, Piece& out);
  void subtract_one(const Piece& a, const Piece& b, std::vector<Piece>& out);
  void subtract_class(const Piece& a, const Piece& common, std::vector<Piece>& out);
  [[nodiscard]] std::vector<Piece> subtract_all(Piece from, const std::vector<Piece>& others);

  Vertex begin_, end_;
  std::optional<Vertex> split_;
};

}  // namespace sightline::layout

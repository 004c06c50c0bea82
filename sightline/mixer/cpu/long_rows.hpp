// Rows that read far more than others (hubs), and columns read by as many, piece by piece (LongPieces): threads share them,
// and a piece comes while others have its tokens in the caches. What pieces leave is joined in their order, which no number of
// threads changes.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "sightline/mixer/cpu/engine.hpp"
#include "sightline/mixer/cpu/tiles.hpp"

namespace sightline::mixer::cpu {

/// A piece as a list of one row, number 0: pointers to rows of that one must lie there.
class PieceList {
public:
  PieceList(const SparseList& list, const LongPiece& piece) : offsets_{piece.first_arc, piece.end_arc} {
    list_.rows = &row_;
    list_.offsets = offsets_;
    list_.columns = list.columns.data();
    list_.arcs = list.arcs.data();
    list_.ends = &end_;
    list_.count = 1;
    list_.cut = true;
  }
  PieceList(const PieceList&) = delete;
  PieceList& operator=(const PieceList&) = delete;
  [[nodiscard]] const SparseRows& list() const { return list_; }

private:
  std::int32_t row_ = 0, end_ = 1;
  std::int64_t offsets_[2];
  SparseRows list_;
};

[[nodiscard]] inline std::int64_t token_of(const SparseList& list, const LongPiece& piece) {
  return list.rows[static_cast<std::size_t>(piece.number)];
}
/// Calls work(pieces) with the numbers of the pieces of every row or column, by rising arc.
template <class Work> void for_long(const std::vector<LongPiece>& pieces, Work&& work) {
  std::vector<std::size_t> order(pieces.size());
  for (std::size_t p = 0; p < order.size(); ++p)
    order[p] = p;
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return pieces[x].first_arc < pieces[y].first_arc; });
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && pieces[order[end]].number == pieces[order[first]].number)
      ++end;
    work(std::span<const std::size_t>(order).subspan(first, end - first));
  }
}

/// The long rows of one head, forward: a piece is normalised by itself, and counts as much as its denominator.
template <class Real> class LongForward {
public:
  LongForward(const Tiles& tiles, const Head<Real>& head) : tiles_(tiles), head_(head) {
    outs_.resize(tiles.pieces.rows.size() * static_cast<std::size_t>(head.value_width));
    statistics_.resize(tiles.pieces.rows.size() * 2);
  }
  void run(const Engine<Real>& engine, const Rule<Real>& rule, std::int64_t p, void* workspace) {
    const LongPiece& piece = tiles_.pieces.rows[static_cast<std::size_t>(p)];
    const PieceList alone(tiles_.rows, piece);
    Head<Real> head = head_;
    head.query += token_of(tiles_.rows, piece) * head.query_stride;
    head.out = outs_.data() + p * head.value_width;
    head.statistics = statistics_.data() + p * 2;
    head.past = false;
    engine.forward_rows(rule, head, alone.list(), 0, 1, workspace);
  }
  void join() {
    for_long(tiles_.pieces.rows, [&](std::span<const std::size_t> pieces) {
      const std::int64_t row = token_of(tiles_.rows, tiles_.pieces.rows[pieces[0]]);
      double most = -HUGE_VAL, sum = 0;
      for (const std::size_t p : pieces)
        most = factor(p) != 0 ? std::fmax(most, exponent(p)) : most;
      std::vector<double> total(static_cast<std::size_t>(head_.value_width));
      for (const std::size_t p : pieces)
        sum += share(p, most);
      for (const std::size_t p : pieces) { // without weight, too: what is not finite there stays so
        const Real* const out = outs_.data() + static_cast<std::int64_t>(p) * head_.value_width;
        const double part = sum != 0 ? share(p, most) / sum : 0;
        for (std::size_t k = 0; k < total.size(); ++k)
          total[k] += part * static_cast<double>(out[k]);
      }
      std::transform(total.begin(), total.end(), head_.out + row * head_.out_stride, [](double x) { return static_cast<Real>(x); });
      if (head_.statistics != nullptr) {
        head_.statistics[row * 2] = static_cast<Real>(sum == 0 ? exponent(pieces[0]) : most);
        head_.statistics[row * 2 + 1] = static_cast<Real>(sum == 0 ? 0 : 1 / sum);
      }
    });
  }

private:
  [[nodiscard]] double exponent(std::size_t p) const { return static_cast<double>(statistics_[2 * p]); }
  [[nodiscard]] double factor(std::size_t p) const { return static_cast<double>(statistics_[2 * p + 1]); }
  [[nodiscard]] double share(std::size_t p, double most) const {
    return factor(p) != 0 ? std::exp2(exponent(p) - most) / factor(p) : 0;
  }
  const Tiles& tiles_;
  Head<Real> head_;
  std::vector<Real> outs_, statistics_; ///< of every piece
};

/// The long rows and columns of one head, backward.
template <class Real> class LongBackward {
public:
  LongBackward(const Tiles& tiles, const Head<Real>& head, const Gradients<Real>& gradients) : tiles_(tiles), head_(head), gradients_(gradients) {
    queries_.resize(tiles.pieces.rows.size() * static_cast<std::size_t>(head.width));
    keys_.resize(tiles.pieces.columns.size() * static_cast<std::size_t>(head.width));
    values_.resize(tiles.pieces.columns.size() * static_cast<std::size_t>(head.value_width));
  }
  void run_row(const Engine<Real>& engine, const Rule<Real>& rule, std::int64_t p, void* workspace) {
    const LongPiece& piece = tiles_.pieces.rows[static_cast<std::size_t>(p)];
    const std::int64_t row = token_of(tiles_.rows, piece);
    const PieceList alone(tiles_.rows, piece);
    Head<Real> head = head_;
    head.query += row * head.query_stride;
    head.out += row * head.out_stride;
    head.statistics += row * 2;
    Gradients<Real> to = gradients_;
    to.out += row * to.out_stride;
    to.query = to.query == nullptr ? nullptr : queries_.data() + p * head.width;
    to.past = false;
    engine.backward_rows(rule, head, to, alone.list(), 0, 1, workspace);
  }
  void run_column(const Engine<Real>& engine, const Rule<Real>& rule, std::int64_t p, void* workspace) {
    const LongPiece& piece = tiles_.pieces.columns[static_cast<std::size_t>(p)];
    const PieceList alone(tiles_.columns, piece);
    Head<Real> head = head_;
    head.key += token_of(tiles_.columns, piece) * head.key_stride;
    Gradients<Real> to = gradients_;
    to.key = to.key == nullptr ? nullptr : keys_.data() + p * head.width;
    to.value = to.value == nullptr ? nullptr : values_.data() + p * head.value_width;
    to.past = false;
    engine.backward_columns(rule, head, to, alone.list(), 0, 1, false, workspace);
  }
  /// add: keys' and values' gradients join what is there.
  void join(bool add) {
    join(tiles_.pieces.rows, tiles_.rows, queries_, head_.width, gradients_.query, gradients_.query_stride, false);
    join(tiles_.pieces.columns, tiles_.columns, keys_, head_.width, gradients_.key, gradients_.key_stride, add);
    join(tiles_.pieces.columns, tiles_.columns, values_, head_.value_width, gradients_.value, gradients_.value_stride, add);
  }

private:
  static void join(const std::vector<LongPiece>& all, const SparseList& list, const std::vector<Real>& parts, std::int64_t width,
                   Real* to, std::ptrdiff_t stride, bool add) {
    if (to == nullptr)
      return;
    for_long(all, [&](std::span<const std::size_t> pieces) {
      Real* const row = to + token_of(list, all[pieces[0]]) * stride;
      for (std::int64_t k = 0; k < width; ++k) {
        double sum = add ? static_cast<double>(row[k]) : 0;
        for (const std::size_t p : pieces)
          sum += static_cast<double>(parts[p * static_cast<std::size_t>(width) + static_cast<std::size_t>(k)]);
        row[k] = static_cast<Real>(sum);
      }
    });
  }
  const Tiles& tiles_;
  Head<Real> head_;
  Gradients<Real> gradients_;
  std::vector<Real> queries_, keys_, values_; ///< of every piece
};

} // namespace sightline::mixer::cpu

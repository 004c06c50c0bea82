// An ordered partition of the vertices into numbered cells that can be split and put back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::symmetry {

using layout::Vertex;
using Cell = std::uint32_t;

/// Cells are numbered in the order in which they appear, and a cell that is split leaves its number to its largest part,
/// so isomorphic sequences of splits give equal numbers: at a discrete partition, vertex k <-> cell number is a labelling.
class Partition {
public:
  /// One split: `cell` had this place and size, and cells first_new, first_new+1, ... (up to the next split's) left it.
  struct Split {
    Cell cell;
    Vertex start, size;
    Cell first_new;
  };

  /// Cells 0, 1, ... hold the vertices of equal key, by ascending key.
  explicit Partition(const std::vector<std::uint64_t>& keys);

  [[nodiscard]] Vertex vertices() const { return static_cast<Vertex>(elements_.size()); }
  [[nodiscard]] Cell cells() const { return cells_; }
  [[nodiscard]] bool is_discrete() const { return cells_ == elements_.size(); }
  [[nodiscard]] Cell cell_of(Vertex v) const { return cell_of_[v]; }
  [[nodiscard]] Vertex size(Cell cell) const { return size_[cell]; }
  [[nodiscard]] std::span<const Vertex> members(Cell cell) const { return {elements_.data() + start_[cell], size_[cell]}; }
  [[nodiscard]] const std::vector<Split>& log() const { return log_; }
  /// One past the last cell that split number k created.
  [[nodiscard]] Cell new_end(std::size_t k) const { return k + 1 < log_.size() ? log_[k + 1].first_new : cells_; }

  /// Splits off parts: `touched` lists them one after another, sizes[k] members each; the rest of the cell is the part before
  /// them. The largest part (the first of them) keeps the number, the others get new ones in order. O(members that move).
  void split(Cell cell, std::span<const Vertex> touched, std::span<const Vertex> sizes);
  /// split() of a cell of two: `leaving` gets the new number.
  void split_pair(Cell cell, Vertex leaving) {
    const Vertex start = start_[cell];
    const Vertex staying = elements_[start] == leaving ? elements_[start + 1] : elements_[start];
    elements_[start] = staying;
    elements_[start + 1] = leaving;
    position_[staying] = start;
    position_[leaving] = start + 1;
    log_.push_back({cell, start, 2, cells_});
    size_[cell] = 1;
    start_[cells_] = start + 1;
    size_[cells_] = 1;
    cell_of_[leaving] = cells_++;
  }
  /// Undoes all splits but the first `count`.
  void undo_to(std::size_t count);

private:
  void relabel(Cell cell, Vertex start, Vertex size);

  std::vector<Vertex> elements_, position_;
  std::vector<Cell> cell_of_;
  std::vector<Vertex> start_, size_;
  Cell cells_ = 0;
  std::vector<Split> log_;
};

}  // namespace sightline::symmetry

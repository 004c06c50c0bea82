#include "sightline/symmetry/partition.hpp"

#include <algorithm>
#include <numeric>

namespace sightline::symmetry {

Partition::Partition(const std::vector<std::uint64_t>& keys)
    : elements_(keys.size()), position_(keys.size()), cell_of_(keys.size()), start_(keys.size()), size_(keys.size()) {
  std::iota(elements_.begin(), elements_.end(), Vertex{0});
  const auto by_key = [&keys](Vertex a, Vertex b) { return keys[a] < keys[b]; };
  if (!std::is_sorted(elements_.begin(), elements_.end(), by_key)) std::stable_sort(elements_.begin(), elements_.end(), by_key);
  for (Vertex k = 0; k < elements_.size(); ++k) {
    position_[elements_[k]] = k;
    if (k == 0 || keys[elements_[k]] != keys[elements_[k - 1]]) start_[cells_++] = k;
    cell_of_[elements_[k]] = cells_ - 1;
    ++size_[cells_ - 1];
  }
}

void Partition::relabel(Cell cell, Vertex start, Vertex size) {
  start_[cell] = start;
  size_[cell] = size;
  for (Vertex k = start; k < start + size; ++k) cell_of_[elements_[k]] = cell;
}

void Partition::split(Cell cell, std::span<const Vertex> touched, std::span<const Vertex> sizes) {
  const Vertex start = start_[cell], size = size_[cell];
  Vertex tail = start + size;
  for (std::size_t k = touched.size(); k-- > 0;) {
    --tail;
    const Vertex moved = elements_[tail], v = touched[k], place = position_[v];
    elements_[place] = moved;
    position_[moved] = place;
    elements_[tail] = v;
    position_[v] = tail;
  }
  log_.push_back({cell, start, size, cells_});
  const Vertex rest = tail - start;
  Vertex largest = rest;
  std::size_t keeper = sizes.size();  // the rest
  for (std::size_t k = 0; k < sizes.size(); ++k) {
    if (sizes[k] > largest) {
      largest = sizes[k];
      keeper = k;
    }
  }
  Vertex place = start;
  const auto place_part = [&](Vertex part, bool keeps) {
    if (part == 0) return;
    if (keeps) {
      start_[cell] = place;
      size_[cell] = part;
    } else {
      relabel(cells_++, place, part);
    }
    place += part;
  };
  place_part(rest, keeper == sizes.size());
  for (std::size_t k = 0; k < sizes.size(); ++k) place_part(sizes[k], keeper == k);
}

void Partition::undo_to(std::size_t count) {
  while (log_.size() > count) {
    const Split split = log_.back();
    log_.pop_back();
    for (Cell cell = split.first_new; cell < cells_; ++cell) {
      for (Vertex k = start_[cell]; k < start_[cell] + size_[cell]; ++k) cell_of_[elements_[k]] = split.cell;
      size_[cell] = 0;
    }
    cells_ = split.first_new;
    start_[split.cell] = split.start;
    size_[split.cell] = split.size;
  }
}

}  // namespace sightline::symmetry

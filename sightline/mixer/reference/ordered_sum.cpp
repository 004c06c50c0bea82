#include "sightline/mixer/reference/ordered_sum.hpp"

#include <algorithm>

namespace sightline::mixer::reference {

void OrderedSum::arrange(std::int64_t owner, const std::vector<std::int64_t>& vertices) {
  using Kind = SummationOrder::Kind;
  count_ = vertices.size();
  places_.resize(count_);
  parts_ = 1;
  for (std::size_t k = 0; k < count_; ++k)
    places_[k] = {static_cast<std::uint32_t>(k), 0, vertices[k]};
  const Kind kind = order_ == nullptr ? Kind::natural : order_->kind;
  const auto inside = [&](std::int64_t v) { return v >= order_->first && v < order_->first + order_->extent; };
  by_value_ = kind == Kind::value || (kind != Kind::natural && !inside(owner));
  if (kind == Kind::natural || by_value_)
    return;
  const std::int64_t extent = order_->extent, columns = kind == Kind::torus ? order_->columns : extent;
  for (std::size_t k = 0; k < count_; ++k) {
    Place& place = places_[k];
    if (!inside(vertices[k])) {
      place.key = vertices[k] - (std::int64_t{1} << 40); // fixed vertices first, by number
      continue;
    }
    const std::int64_t read = vertices[k] - order_->first, own = owner - order_->first;
    const std::int64_t row = (read / columns - own / columns + extent / columns) % (extent / columns);
    const std::int64_t column = (read % columns - own % columns + columns) % columns;
    place.key = row * columns + column;
    if (kind == Kind::dihedral && place.key != 0) {
      // 0: outward to the right; 1: to the left; 2: fixed vertices and own; 3: antipode.
      const bool left = 2 * place.key > extent, antipode = 2 * place.key == extent;
      place.part = antipode ? 3 : left ? 1 : 0;
      if (left)
        place.key = extent - place.key;
    } else if (kind == Kind::dihedral) {
      place.part = 2;
    }
  }
  if (kind == Kind::dihedral) {
    parts_ = 4;
    // Fixed vertices must not join the sum to the right: a reflection would leave them with the sum to the left.
    for (Place& place : places_)
      if (place.key < 0)
        place.part = 2;
  }
  std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.key < b.key; });
}

template <class Real> Real OrderedSum::sum_by_value(std::vector<Bits<Real>>& keys) {
  // Terms with equal keys are the same number. NaNs may differ in what they carry; finish() makes them one.
  std::sort(keys.begin(), keys.end());
  Real sum = 0;
  for (const Bits<Real> key : keys)
    sum += std::bit_cast<Real>(std::rotr(key, 1));
  return sum;
}

template float OrderedSum::sum_by_value(std::vector<std::uint32_t>&);
template double OrderedSum::sum_by_value(std::vector<std::uint64_t>&);

} // namespace sightline::mixer::reference

// Sums whose result exact mode needs to be the same for every moved copy of a row (plan.hpp, SummationOrder).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <vector>

#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::reference {

/// Orders the terms of one row (or column) at a time. Without exact mode: as they come.
class OrderedSum {
public:
  OrderedSum(const Plan& plan, bool exact) : order_(exact ? &plan.order() : nullptr) {}

  /// The sums that follow have one term per vertex of `vertices` and belong to `owner`.
  void arrange(std::int64_t owner, const std::vector<std::int64_t>& vertices);

  /// term(k): the number that belongs to vertices[k].
  template <class Real, class Term> [[nodiscard]] Real sum(Term term) {
    if (by_value_) {
      auto& keys = std::get<std::vector<Bits<Real>>>(keys_);
      keys.resize(count_);
      for (std::size_t k = 0; k < count_; ++k)
        keys[k] = std::rotl(std::bit_cast<Bits<Real>>(Real(term(k))), 1);
      return sum_by_value<Real>(keys);
    }
    Real part[4] = {0, 0, 0, 0};
    for (const Place& place : places_)
      part[place.part] += term(place.index);
    return parts_ == 1 ? part[0] : ((part[0] + part[1]) + part[2]) + part[3];
  }

  /// In exact mode: every NaN the same, no -0.
  template <class Real> [[nodiscard]] Real finish(Real value) const {
    if (order_ == nullptr)
      return value;
    return std::isnan(value) ? std::numeric_limits<Real>::quiet_NaN() : value + Real(0);
  }

private:
  // Bits turned left by one: magnitude first, sign last, NaN above everything.
  template <class Real> using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  template <class Real> static Real sum_by_value(std::vector<Bits<Real>>& keys);

  struct Place {
    std::uint32_t index = 0, part = 0;
    std::int64_t key = 0;
  };
  const SummationOrder* order_;
  std::vector<Place> places_;
  std::tuple<std::vector<std::uint32_t>, std::vector<std::uint64_t>> keys_;
  std::size_t count_ = 0, parts_ = 1;
  bool by_value_ = false;
};

} // namespace sightline::mixer::reference

// What exact mode promises: equality to the bit.
#pragma once

#include <cstring>
#include <vector>

namespace sightline::mixer {

/// NaN and signs of zero too.
template <class Real> [[nodiscard]] bool same_bits(const std::vector<Real>& a, const std::vector<Real>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Real)) == 0);
}

} // namespace sightline::mixer

// Numbers that choose between two ways to the same answer.
#pragma once

#ifdef SIGHTLINE_LOW_THRESHOLDS
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "sightline/base/mix.hpp"
#endif

namespace sightline {

#ifdef SIGHTLINE_LOW_THRESHOLDS

/// FNV-1a, the same in the checker.
[[nodiscard]] constexpr std::uint64_t hash_threshold(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// Which thresholds are low, from the environment: SIGHTLINE_LOW = `all`, `none` (also when it is not set), a seed that makes a quarter, a half or
/// three quarters of the names low, or names, separated by commas. Where all are low the first shortcut hides the others, hence seeds.
class LowThresholds {
public:
  [[nodiscard]] static bool contain(std::uint64_t hash) {
    static const LowThresholds low;
    if (low.seed_) return mix(*low.seed_ ^ hash) % 4 < 1 + *low.seed_ % 3;
    return low.all_ || std::find(low.names_.begin(), low.names_.end(), hash) != low.names_.end();
  }

private:
  LowThresholds() {
    const char* const set = std::getenv("SIGHTLINE_LOW");
    std::string_view rest = set == nullptr ? "none" : set;
    all_ = rest == "all";
    std::uint64_t seed = 0;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), seed);
    if (read.ec == std::errc{} && read.ptr == rest.data() + rest.size()) seed_ = seed;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      names_.push_back(hash_threshold(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  bool all_ = false;
  std::optional<std::uint64_t> seed_;
  std::vector<std::uint64_t> names_;  ///< their hashes
};

#endif

/// Where one way ends and another begins: so many vertices, roots, members. Both ways give the same answer, so a threshold is a matter of time alone;
/// a bound whose excess ends as "unknown" is none. The build with low thresholds (SIGHTLINE_LOW_THRESHOLDS) takes the ways of large layouts on layouts
/// that brute force can judge (tests/thresholds); in every other build this is the number `usual`, a constant.
template <class T>
class Threshold {
public:
#ifdef SIGHTLINE_LOW_THRESHOLDS
  /// @param low   what the rest still holds for; not less
  /// @param name  thresholds of one name are low together, here and in the checker: evidence of one way may be confirmed by the same way alone
  constexpr Threshold(T usual, T low, std::string_view name) : usual_(usual), low_(low), hash_(hash_threshold(name)) {}
  operator T() const { return LowThresholds::contain(hash_) ? low_ : usual_; }
  /// What arrays have room for.
  [[nodiscard]] constexpr T usual() const { return usual_; }

private:
  T usual_, low_;
  std::uint64_t hash_;
#else
  constexpr Threshold(T usual, T /*low*/, const char* /*name*/) : usual_(usual) {}
  constexpr operator T() const { return usual_; }
  [[nodiscard]] constexpr T usual() const { return usual_; }

private:
  T usual_;
#endif
};

}  // namespace sightline

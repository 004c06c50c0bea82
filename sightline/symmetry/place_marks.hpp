// A set of places that is emptied in ascending order: what a round of refinement touched, without sorting.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sightline::symmetry {

/// Places 0 .. count-1, one bit each, and one bit for every 64 of them. O(1) to mark, O(marks + span of the marks / 4096) to empty.
class PlaceMarks {
public:
  explicit PlaceMarks(std::size_t count) : bits_(count / 64 + 1, 0), words_(bits_.size() / 64 + 1, 0), low_(words_.size()) {}

  void mark(std::size_t place) {
    const std::size_t word = place / 64;
    bits_[word] |= std::uint64_t{1} << (place % 64);
    words_[word / 64] |= std::uint64_t{1} << (word % 64);
    low_ = std::min(low_, word / 64);
    high_ = std::max(high_, word / 64);
  }
  [[nodiscard]] bool is_empty() const { return low_ == words_.size(); }

  /// Calls visit(place) for all marks, ascending, and forgets them unless `keep`.
  template <class Visit>
  void for_each(bool keep, Visit&& visit) {
    if (is_empty()) return;
    for (std::size_t group = low_; group <= high_; ++group) {
      for (std::uint64_t words = words_[group]; words != 0; words &= words - 1) {
        const std::size_t word = group * 64 + static_cast<std::size_t>(std::countr_zero(words));
        for (std::uint64_t bits = bits_[word]; bits != 0; bits &= bits - 1) visit(word * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
        if (!keep) bits_[word] = 0;
      }
      if (!keep) words_[group] = 0;
    }
    if (keep) return;
    low_ = words_.size();
    high_ = 0;
  }

private:
  std::vector<std::uint64_t> bits_, words_;
  std::size_t low_, high_ = 0;  ///< of the groups of 64 words that hold marks
};

}  // namespace sightline::symmetry

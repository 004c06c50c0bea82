// Numbers for sequences: equal sequences of words get the same number, new ones the next.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sightline/base/budget.hpp"

namespace sightline::sight {

/// Exact (sequences are kept and compared, never only hashed). Numbers are 0, 1, 2, ... in order of first appearance.
/// Memory is booked with the budget as it grows and given back by the destructor.
class SequenceNumbers {
public:
  explicit SequenceNumbers(const Budget& budget);
  ~SequenceNumbers();
  SequenceNumbers(const SequenceNumbers&) = delete;
  SequenceNumbers& operator=(const SequenceNumbers&) = delete;

  /// Amortised O(length). Throws BudgetExhausted.
  std::uint32_t number(std::span<const std::uint32_t> sequence);
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(begin_.size() - 1); }

private:
  void grow();
  void book();

  const Budget& budget_;
  std::uint64_t booked_bytes_ = 0;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint64_t> begin_;   // begin_[k] = first word of sequence k; one more entry than sequences
  std::vector<std::uint32_t> hashes_;  // per sequence
  std::vector<std::uint32_t> slots_;   // open addressing, number + 1, 0 = free
};

}  // namespace sightline::sight

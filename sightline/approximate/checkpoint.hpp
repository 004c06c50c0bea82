// Where a fit that takes long can be stopped: the passes over the rows that are done, and the sums of the present one.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/data/safetensors.hpp"

namespace sightline::approximate {

/// A fit is a sequence of passes over blocks of rows. A pass has lanes; a lane adds its blocks, in order, to numbers of its own. So (the numbers
/// of all finished passes, and of each lane of the present one with the block that comes next) determine the rest: a fit that goes on from a
/// checkpoint ends with the same bits as one that was never stopped. The file is written whole or not at all; a killed process loses what came after it.
class Checkpoint {
public:
  using Sums = std::vector<std::span<double>>;  ///< the numbers that a lane adds to

  /// @param fingerprint  what is fitted: a file of another fit is refused
  /// @param resume       go on from the file when it is there; otherwise what is there is removed
  /// @param seconds      least time between two writes; also no more than a twentieth of the time is spent on writing
  /// Throws InputError when the file is damaged or of another fit.
  Checkpoint(std::string file, std::string fingerprint, bool resume, double seconds, const Budget& budget);

  /// The next pass begins: puts what is known into the sums and returns the block at which each lane goes on (`blocks` or more: it is done).
  [[nodiscard]] std::vector<std::size_t> begin(const std::string& stage, std::size_t blocks, std::vector<Sums> sums);
  [[nodiscard]] bool is_due() const;
  /// Takes down one lane, whose next block is `next`; the caller keeps others from adding to it meanwhile.
  void record(std::size_t lane, std::size_t next);
  void write();
  /// The present pass is done; its sums are kept.
  void end();

  /// Numbers that make all passes so far unnecessary; they are dropped.
  void replace_passes(const std::vector<double>& numbers);
  [[nodiscard]] std::vector<double> replaced() const;  ///< those numbers; empty: none
  void count_resumed(std::size_t blocks) { resumed_ += blocks; }
  [[nodiscard]] std::size_t blocks_resumed() const { return resumed_; }  ///< blocks that did not have to be done again

private:
  [[noreturn]] void refuse(const std::string& found) const;
  std::string file_;
  data::TensorFile content_;    ///< pass.K, lane.L, next, replaced
  double seconds_, cost_ = 0;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  std::size_t pass_ = 0, resumed_ = 0, blocks_ = 0;
  std::string stage_;
  std::vector<Sums> sums_;
  bool inside_ = false;         ///< the file ended within the present pass
};

}  // namespace sightline::approximate

// Several processes that train one model: each takes its share of every batch, gradients are added up (c10d: Gloo where
// its headers are, else c10d's store).
#pragma once

#include <memory>

#include "sightline/train/operations.hpp"

namespace sightline::train {

/// The processes of one run, as torchrun's variables RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT say; one process
/// without them. Every call that needs the others throws InputError when one of them is gone.
class ProcessGroup {
public:
  /// Connects. Throws InputError for variables that contradict each other, or when the others do not come.
  static ProcessGroup from_environment();
  ProcessGroup();
  ~ProcessGroup();
  ProcessGroup(ProcessGroup&&) noexcept;
  ProcessGroup& operator=(ProcessGroup&&) = delete;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  /// Replaces the tensor by the sum over all processes; every process gets the same bits.
  void add_up(const Tensor& tensor) const;
  /// Replaces the tensor by that of rank 0.
  void hand_out(const Tensor& tensor) const;

private:
  struct Connection;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<Connection> connection_;
};

} // namespace sightline::train

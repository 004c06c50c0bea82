// Several processes that train one model: each takes its share of every batch, gradients are added up.
#pragma once

#include <memory>
#include <optional>

#include "sightline/train/operations.hpp"

namespace sightline::train {

class Exchange;

/// The value of an environment variable that holds an integer >= 0. Throws InputError for anything else.
[[nodiscard]] std::optional<int> read_variable(const char* name);

/// The processes of one run, as torchrun's variables RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT say; one process
/// without them. Every call that needs the others throws InputError when one of them is gone.
class ProcessGroup {
public:
  /// Connects. Tensors on `device` go between GPUs by NCCL where the build has it and every process has a GPU of its
  /// own, else by way of the CPU. Throws InputError for variables that contradict each other, or when the others do not
  /// come.
  static ProcessGroup from_environment(at::Device device);
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
  /// One call of an exchange on the tensor, or on a copy of it on the CPU.
  template <class Call> void exchange(const Tensor& tensor, const Call& call) const;

  int rank_ = 0, size_ = 1;
  std::unique_ptr<Exchange> cpu_, gpu_; ///< gpu_: null where GPUs do not reach each other
};

} // namespace sightline::train

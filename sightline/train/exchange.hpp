// How the processes of one run hand tensors to each other: Gloo or c10d's store between CPUs, NCCL between GPUs.
#pragma once

#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "sightline/train/torch.hpp"

namespace sightline::train {

/// Both calls need all processes, in the same order; they throw std::exception when one of them is gone.
class Exchange {
public:
  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  virtual ~Exchange() = default;
  /// Replaces the tensor by the sum over all processes, the same bits everywhere.
  virtual void add_up(at::Tensor& tensor) = 0;
  /// Replaces the tensor by that of rank 0.
  virtual void hand_out(at::Tensor& tensor) = 0;
};

using Store = c10::intrusive_ptr<c10d::TCPStore>;

/// For tensors on the CPU: Gloo where its headers were found, else the store itself.
[[nodiscard]] std::unique_ptr<Exchange> make_cpu_exchange(const Store& store, int rank, int size,
                                                          const std::string& host);
/// For tensors on this GPU: NCCL, or null where the build has none. Every process must have a GPU to itself.
[[nodiscard]] std::unique_ptr<Exchange> make_gpu_exchange(const Store& store, int rank, int size, at::Device device);

} // namespace sightline::train

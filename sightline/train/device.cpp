#include "sightline/train/device.hpp"

#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>
#include <torch/cuda.h>

#include <cstdlib>

#include "sightline/base/error.hpp"
#include "sightline/train/distributed.hpp"

namespace sightline::train {

at::Device open_device(const std::string& name) {
  if (name == "cpu")
    return at::kCPU;
  // LibTorch's own message speaks of its source files, and comes only when the first tensor is moved.
  if (!torch::cuda::is_available())
    throw InputError("--device: expected cpu (this LibTorch has no CUDA, or finds no device), found cuda");
  const auto count = static_cast<int>(torch::cuda::device_count());
  const int index = read_variable("LOCAL_RANK").value_or(0);
  // Several processes may share one device (they then exchange gradients through the CPU); a number beyond the last
  // device is a mistake, unless there is but one.
  if (index >= count && count > 1) {
    throw InputError(fmt::format("LOCAL_RANK: expected a number below {} (the GPUs that LibTorch finds here), found {}",
                                 count, index));
  }
  // cuBLAS reads this when its first handle is made; without it equal products may differ in their last bits.
  setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index < count ? index : 0)};
}

} // namespace sightline::train

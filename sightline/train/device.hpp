// Which processor a model runs on.
#pragma once

#include <string>

#include "sightline/train/torch.hpp"

namespace sightline::train {

/// "cpu" or "cuda": the GPU that LOCAL_RANK numbers (torchrun sets it), the first one without that variable. On a GPU
/// operations are chosen that give the same bits in every run. Throws InputError: this LibTorch has no CUDA or finds no
/// device; fewer devices than LOCAL_RANK asks for.
[[nodiscard]] at::Device open_device(const std::string& name);

} // namespace sightline::train

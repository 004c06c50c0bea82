// predict and evaluate for models that `approximate --save` wrote: they need no LibTorch.
#pragma once

#include <string>
#include <vector>

namespace sightline::cli {

/// When the first word names a .safetensors file of kind "sumformer", runs `predict` or `evaluate` with these words and returns
/// true; else returns false and does nothing. Throws InputError.
[[nodiscard]] bool run_sumformer(const std::string& command, const std::vector<std::string>& words);

}  // namespace sightline::cli

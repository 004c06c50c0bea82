// The names of the model types that the transformers library has, read here or not.
#pragma once

#include <string_view>

namespace sightline::huggingface {

/// Does the library (transformers 5.24) have a type of this name? Such a name is no slip of the keyboard. O(log types).
[[nodiscard]] bool is_library_type(std::string_view model_type);

}  // namespace sightline::huggingface

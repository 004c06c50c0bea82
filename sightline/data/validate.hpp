// From loose arrays with names to a validated data set; shared by the readers of .npz, .npy and CSV.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "sightline/data/dataset.hpp"

namespace sightline::data {

using NamedArrays = std::map<std::string, Array, std::less<>>;

/// @param name  how an array is called in messages: `FILE: x`
/// Takes x, y, lengths, weight and the same with _val and _test. Throws InputError.
[[nodiscard]] Dataset validate(NamedArrays arrays, const Expected& expected, const std::function<std::string(std::string_view)>& name);

}  // namespace sightline::data

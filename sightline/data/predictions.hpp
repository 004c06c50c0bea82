// Results of `predict` as a NumPy archive.
#pragma once

#include <map>
#include <string>

#include "sightline/data/array.hpp"

namespace sightline::data {

/// Writes the arrays as FILE.npz, atomically, in the order of their names; the same content gives the same bytes.
/// Throws InputError when the file cannot be written, or would have 4 GB or more.
void write_npz(const std::string& file, const std::map<std::string, Array>& arrays);

}  // namespace sightline::data

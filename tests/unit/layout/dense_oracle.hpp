// Patterns as full matrices of colours, written straight from the table of the file format, one loop over (i, j) per kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/layout/pattern_spec.hpp"

namespace sightline::layout::oracle {

using Dense = std::vector<std::vector<std::uint32_t>>;  // [reader][read], 0 = absent

/// One matrix per head, or one for all. Not for random, bigbird and file.
std::vector<Dense> make_dense(const PatternSpec& spec, const PatternSize& size);

/// The runs of a pattern written out; the checks on disjoint sorted runs are made on the way.
Dense expand(const Pattern& pattern);

/// First difference, for messages; "" when equal.
std::string compare(const Dense& expected, const Dense& found);

}  // namespace sightline::layout::oracle

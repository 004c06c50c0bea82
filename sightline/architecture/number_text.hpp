// Floating-point numbers as text: the shortest decimal that reads back as the same bits.
#pragma once

#include <gmpxx.h>

#include <optional>
#include <string>

namespace sightline::architecture {

/// Shortest round-trip decimal, always recognisable as a floating-point number in JSON and TOML: "1.0", "0.1", "1e-06".
/// Not finite: "nan", "inf", "-inf" (for messages only).
[[nodiscard]] std::string print_number(double value);

/// The rational that the shortest decimal of `value` spells: 0.1 -> 1/10 (what the user wrote, not its binary neighbour).
[[nodiscard]] mpq_class to_rational(double value);

/// Inverse of to_rational; nothing when no double's shortest decimal spells this rational.
[[nodiscard]] std::optional<double> to_double(const mpq_class& value);

}  // namespace sightline::architecture

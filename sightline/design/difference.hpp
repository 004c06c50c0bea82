// Do two architectures express the same?
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/verdict/answer.hpp"

namespace sightline::design {

/// The first pair on which two layouts differ: layer from 1, then reader, then read.
struct FirstDifference {
  std::uint64_t layer = 0, reader = 0, read = 0;
  std::string in;  ///< "a", "b", or "both" (in both, told apart by colour)
};

/// A target that one of the two expresses, and from which every network of the other stays away.
struct SeparatingTarget {
  std::string missed_by;  ///< "a" or "b"
  std::string description;
  std::optional<mpq_class> floor;  ///< squared error at least; nothing when no closed form is known
};

struct Difference {
  bool same = false;
  bool layout_equal = false;
  std::array<verdict::Answer, 2> answers;  ///< each for its own layout's symmetry and the class it comes to see
  std::optional<FirstDifference> first;     ///< in the layers that both have
  std::array<std::string, 2> depths;        ///< in words, where they differ
  bool same_ends = true;                    ///< inputs and outputs of one kind
  std::optional<SeparatingTarget> separating;
};

/// Each is asked for what the other expresses: class and symmetry. They are the same when both answers are certified and every token sees the same tokens on both
/// sides, or when they are written alike; `same` is what is proved. Tokens must agree in number (InputError). Throws BudgetExhausted.
[[nodiscard]] Difference compute_difference(const architecture::Architecture& a, const architecture::Architecture& b, const Budget& budget);

/// One line of JSON (interfaces.md 8), and what a person reads.
[[nodiscard]] std::string to_json(const Difference& difference);
[[nodiscard]] std::string to_text(const Difference& difference);

}  // namespace sightline::design

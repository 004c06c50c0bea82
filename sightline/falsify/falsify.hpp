// Two-sample conditions tried on one mixing layer, and Theorem G (theory.md 2.6, 5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/falsify/pairs.hpp"

namespace sightline::falsify {

enum class Status {
  separated,            ///< proved: every shared token gets different values for some parameters
  failing,              ///< proved: some shared token gets equal values for all parameters
  suspect,              ///< neither: every enclosure contained 0, and no exact argument applied
  differs_numerically,  ///< library without intervals: some float64 difference is large
  equal_numerically     ///< library without intervals: all float64 differences are tiny
};
[[nodiscard]] const char* to_word(Status status);

/// One statement that can be evaluated again.
struct Claim {
  bool equal = false;  ///< equal at every parameter (method says how); else: separated at theta
  std::string pair;
  Sample x, y;
  std::size_t a = 0, b = 0;  ///< x[a] = y[b]
  Parameters theta;
  std::size_t entry = 0;  ///< entry of the value that differs
  std::string low, high;  ///< enclosure of g(x)_a - g(y)_b in that entry, without 0
  long bits = 0;
  std::string method;
};

struct Finding {
  Pair pair;
  Status status = Status::suspect;
  std::vector<Claim> claims;        ///< separated: one per shared token; failing: one
  std::optional<double> largest_difference;  ///< library: over all parameters tried, relative to the largest output
};

enum class TheoremG { holds, blind, not_shown };

struct Result {
  Mixer mixer;
  std::size_t tokens = 0, dim = 0;
  std::string symmetry;
  std::uint64_t seed = 0;
  std::vector<Finding> findings;
  std::vector<std::string> left_out;
  TheoremG theorem_g = TheoremG::not_shown;
  std::string theorem_g_why;
  std::vector<std::string> theorem_g_assumes;  ///< what is taken for granted about a library
  std::optional<std::string> limit;            ///< the time limit, when it ended the search
  bool every_depth = false;                    ///< the failing pairs fail for any number of layers
};

struct Options {
  std::size_t tokens = 4, dim = 2;
  std::string symmetry;  ///< group expression; empty: S_n
  std::uint64_t seed = 0;
  std::uint32_t attempts = 24;  ///< random parameters per pair
  double call_seconds = 10;     ///< library calls
};

/// Tries all candidates. Sound: `separated` rests on one enclosure without 0 per shared token, `failing` on exact
/// arithmetic; nothing numerical is ever called a proof. Throws InputError (also for what a library does wrong),
/// Interrupted; a time limit ends the search and is reported in `limit`.
[[nodiscard]] Result falsify(const Mixer& mixer, const Options& options, const Budget& budget);

}  // namespace sightline::falsify

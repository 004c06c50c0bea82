// Memorisation (Theorem 2 of the paper): attention layers that tell the tokens of finitely many sequences apart, and a feedforward that
// gives each its value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sightline/approximate/approximate.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::approximate {

struct MemoryOptions {
  std::size_t layers = 1;      ///< the most; every number from 0 to this is tried
  std::size_t draws = 8;       ///< random parameters that are tried, the best margin wins
  std::uint64_t seed = 0;
};

/// What the first `sequences` samples need after `layers` layers of softmax attention with residual, W_Q, W_K, W_V drawn at random and no
/// feedforward between (Definition 3). Two tokens are the same when a permutation carries one sequence with its token to the other.
struct MemoryRow {
  std::size_t layers = 0, sequences = 0;
  std::size_t tokens = 0;   ///< different ones: so many ReLU blocks does the feedforward have
  double margin = 0;        ///< least distance of two different tokens behind the layers, relative to their root mean square
  double gap = 0;           ///< the same on the one channel that the feedforward reads
  double error = 0;         ///< largest |network - value| over all tokens, relative to the largest value
  bool fits = false;        ///< error at most 1e-9, gap above 1e-13
};

struct MemoryResult {
  std::string target;
  std::size_t count = 0, tokens = 0, dim = 0, outputs = 0;
  std::vector<MemoryRow> rows;              ///< layers by layers, sequences 1, 2, 4, .., all
  std::vector<std::size_t> most;            ///< by layers: the most sequences (of those tried) that fit
};

/// The network is built: the layers, a channel t = w.g(X)_i, and one block of four hinges per different token with a bump of half the gap.
/// O(draws layers count n^2 d + draws count n log). Throws InputError when two tokens that are the same have different values.
[[nodiscard]] MemoryResult memorise(const Samples& samples, const MemoryOptions& options, const Budget& budget);
[[nodiscard]] std::string to_json(const MemoryResult& result);
[[nodiscard]] std::string to_text(const MemoryResult& result);

}  // namespace sightline::approximate

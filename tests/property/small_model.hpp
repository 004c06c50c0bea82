// Small random architectures as plain tables: what certify() is given (to_architecture), what the enumeration and the networks
// of these tests read directly.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"

namespace property {

enum class Scheme { none, learned, rotary, alibi, t5 };
/// plain: divide by the sum of the weights; sink: by 1 + sum; eps: by eps + sum; sum: not at all.
enum class Denominator { plain, sink, eps, sum };

/// arcs[i][j]: 0 when i does not read j, else the matrix colour of the arc.
using Arcs = std::vector<std::vector<int>>;

struct SmallLayer {
  std::vector<Arcs> heads;
  Scheme scheme = Scheme::none;
  Denominator denominator = Denominator::plain;
  int repeat = 1;
};

struct SmallModel {
  int tokens = 1;
  std::vector<int> registers;  ///< colours: equal ones start equal
  bool learned_positions = false;
  bool table = false;          ///< token ids
  int vocabulary = 2;
  bool vocabulary_given = true;
  bool bos = false;
  std::vector<SmallLayer> layers;
  bool listed = true;
  sightline::architecture::TargetClass target_class = sightline::architecture::TargetClass::all;
  bool layout_symmetry = true;
  std::vector<std::vector<int>> generators;  ///< of the target's group, as images; used when layout_symmetry is false

  [[nodiscard]] int vertices() const { return tokens + static_cast<int>(registers.size()); }
  /// The layers with repeats written out.
  [[nodiscard]] std::vector<const SmallLayer*> unroll() const;
  [[nodiscard]] std::string describe() const;
};

/// Number of the relative colour of (i, j) within its scheme; -1 without one (registers, scheme none).
[[nodiscard]] int relative_colour(const SmallModel& model, const SmallLayer& layer, int i, int j);

/// Softmax attention, ReLU feedforward with biases, width 4, no norm; a linear head for token ids.
[[nodiscard]] sightline::architecture::Architecture to_architecture(const SmallModel& model);

struct Taste {
  int min_tokens = 1, max_tokens = 6, max_layers = 4;
  bool table = false, registers = true, colours = true, classes = true, groups = true;
  double labelled_inputs = 1e4;  ///< for ids: n V^n at most
};
[[nodiscard]] SmallModel draw_model(std::mt19937_64& random, const Taste& taste);

/// One pattern, repeated for ever.
[[nodiscard]] SmallModel make_digraph(int tokens, std::uint64_t bits);

/// SIGHTLINE_PROPERTY_SEED=S replays the one case that a failure printed as "seed S".
[[nodiscard]] inline std::optional<std::uint64_t> replayed_seed() {
  const char* text = std::getenv("SIGHTLINE_PROPERTY_SEED");
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::strtoull(text, nullptr, 10);
}

/// Seeds first, first + 1, ..., or the replayed one.
template <class Check>
void for_each_seed(std::uint64_t first, int count, Check check) {
  if (const auto seed = replayed_seed()) return check(*seed);
  for (int k = 0; k < count; ++k) check(first + static_cast<std::uint64_t>(k));
}

}  // namespace property

// All id sequences of an IdQuestion, numbered lexicographically, and which labelled inputs a target must treat alike.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/sight/labels.hpp"

namespace sightline::sight {

/// Sequence k has the ordinary ids that are the digits of k in base V, the first ordinary token's digit leading.
struct Inputs {
  explicit Inputs(const IdQuestion& question);

  Vertex tokens = 0, vertices = 0;
  Vertex first_ordinary = 0;  ///< 1 with BOS, else 0
  std::uint32_t vocabulary = 0;
  std::uint64_t count = 0;
  std::vector<std::uint64_t> weight;  ///< per token: what one more in its id adds to k; 0 for a BOS

  [[nodiscard]] std::uint32_t id(std::uint64_t k, Vertex token) const {
    return token < first_ordinary ? vocabulary : static_cast<std::uint32_t>(k / weight[token] % vocabulary);
  }
};

/// Target label of (sequence k, token a) at index k * tokens + a: equal labels = every target of the class is forced to be
/// equal there. Labels are the least index of the class. Books its memory with the budget until destroyed.
/// O(n count (n + generators)).
class Targets {
public:
  Targets(const IdQuestion& question, const Inputs& inputs, const Budget& budget);
  ~Targets();
  Targets(const Targets&) = delete;
  Targets& operator=(const Targets&) = delete;

  [[nodiscard]] std::uint32_t label(std::uint64_t k, Vertex token) const { return label_[k * tokens_ + token]; }
  [[nodiscard]] std::uint64_t distinct() const { return distinct_; }

private:
  std::uint32_t find(std::uint32_t x);
  void unite(std::uint64_t x, std::uint64_t y);

  Vertex tokens_;
  const Budget& budget_;
  std::vector<std::uint32_t> label_;
  std::uint64_t distinct_ = 0;
};

}  // namespace sightline::sight

// Networks of a small architecture with random weights, in double precision and written out plainly: softmax attention with
// its mask, trained biases, rotary angles or slopes; residual; a feedforward of random features; registers.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "small_model.hpp"

namespace property {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;

class Network {
 public:
  static constexpr std::size_t width = 4, hidden = 8, angles = 2;

  Network(const SmallModel& model, std::uint64_t seed, std::size_t depth);
  /// Tokens of an input of reals; outputs of the tokens.
  [[nodiscard]] Matrix run(const Matrix& tokens) const;
  [[nodiscard]] Matrix run_ids(const std::vector<int>& ids) const;

 private:
  struct Head {
    Matrix query, key, value;
    Vector matrix_bias, relative_bias;
    double slope = 0;
  };
  struct Layer {
    const SmallLayer* spec = nullptr;
    std::vector<Head> heads;
    Matrix up, down;
    Vector bias;
    bool relu = false;
  };

  [[nodiscard]] Matrix draw(std::size_t rows, std::size_t columns, double scale);
  [[nodiscard]] Vector attend(const Layer& layer, std::size_t head, std::size_t i, const Matrix& x) const;
  void feed(const Matrix& up, const Vector& bias, const Matrix& down, bool relu, Vector& x) const;

  const SmallModel& model_;
  std::mt19937_64 random_;
  Matrix table_, positions_, registers_;
  std::vector<Layer> layers_;
  Matrix first_up_, first_down_;  ///< a feedforward before the first mixing layer (theory.md 1.12), real tokens only
  Vector first_bias_;
};

/// Largest difference of two outputs.
[[nodiscard]] double measure_distance(const Vector& a, const Vector& b);

}  // namespace property

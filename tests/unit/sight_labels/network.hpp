// Random float64 transformers over a Model: token ids in, vectors out. Nothing here knows about labels.
#pragma once

#include <random>
#include <vector>

#include "model.hpp"

namespace sight_labels {

class Network {
public:
  Network(const Model& model, std::uint64_t seed, std::size_t depth);
  /// Output vectors of the tokens, one after the other.
  std::vector<std::vector<double>> run(const std::vector<std::uint32_t>& ids) const;

private:
  static constexpr std::size_t width = 4;
  using Vector = std::vector<double>;
  struct HeadWeights {
    std::vector<Vector> query, key, value;
    Vector matrix_bias, relative_bias;
    double slope = 1;
  };
  struct LayerWeights {
    std::vector<HeadWeights> heads;
    std::vector<Vector> up, down;
    Vector bias;
  };
  std::vector<Vector> draw(std::size_t rows, std::size_t columns, double scale);
  Vector attend(const Head& head, const HeadWeights& weights, Vertex i, const std::vector<Vector>& x) const;

  const Model& model_;
  std::mt19937_64 random_;
  std::vector<Vector> table_, positions_, registers_;
  std::vector<LayerWeights> layers_;
};

}  // namespace sight_labels

#include "network.hpp"

#include <algorithm>
#include <cmath>

namespace sight_labels {

namespace {

using Vector = std::vector<double>;

Vector times(const std::vector<Vector>& matrix, const Vector& x) {
  Vector y(matrix.size(), 0);
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    for (std::size_t c = 0; c < x.size(); ++c) y[r] += matrix[r][c] * x[c];
  }
  return y;
}

Vector rotate(Vector x, double angle) {
  for (std::size_t pair = 0; pair + 1 < x.size(); pair += 2) {
    const double theta = pair == 0 ? angle : angle * 0.01, a = x[pair], b = x[pair + 1];
    x[pair] = a * std::cos(theta) - b * std::sin(theta);
    x[pair + 1] = a * std::sin(theta) + b * std::cos(theta);
  }
  return x;
}

}  // namespace

Network::Network(const Model& model, std::uint64_t seed, std::size_t depth) : model_(model), random_(seed) {
  table_ = draw(model.vocabulary + 1, width, 1);
  positions_ = draw(model.tokens, width, 1);
  registers_ = draw(4, width, 1);
  for (std::size_t q = 0; q < depth; ++q) {
    LayerWeights layer;
    for (std::size_t h = 0; h < model.layers[q % model.layers.size()].size(); ++h) {
      HeadWeights head;
      head.query = draw(width, width, 0.5);
      head.key = draw(width, width, 0.5);
      // One value map per vertex for mixers with a trained weight per column, one for all otherwise.
      head.value = draw(width * model.vertices(), width, 0.8);
      head.matrix_bias = draw(1, 4, 0.8)[0];
      head.relative_bias = draw(1, 2100, 0.8)[0];
      head.slope = 0.3 + 0.1 * static_cast<double>(random_() % 1000) / 1000;
      layer.heads.push_back(std::move(head));
    }
    layer.up = draw(8, width, 1);
    layer.bias = draw(1, 8, 1)[0];
    layer.down = draw(width, 8, 0.5);
    layers_.push_back(std::move(layer));
  }
}

std::vector<Vector> Network::draw(std::size_t rows, std::size_t columns, double scale) {
  std::normal_distribution<double> normal(0, scale);
  std::vector<Vector> matrix(rows, Vector(columns));
  for (auto& row : matrix) {
    for (double& x : row) x = normal(random_);
  }
  return matrix;
}

Vector Network::attend(const Head& head, const HeadWeights& weights, Vertex i, const std::vector<Vector>& x) const {
  Vector sum(width, 0);
  double total = 0;
  const std::vector<Vector> value(weights.value.begin(), weights.value.begin() + width);
  for (const Arc& arc : head.rows[i]) {
    if (head.rule == RowRule::whole) {
      const auto begin = weights.value.begin() + static_cast<std::ptrdiff_t>(width * arc.read);
      const Vector own = times(std::vector<Vector>(begin, begin + width), x[arc.read]);
      for (std::size_t c = 0; c < width; ++c) sum[c] += own[c] / static_cast<double>(head.rows[i].size());
      continue;
    }
    Vector query = times(weights.query, x[i]), key = times(weights.key, x[arc.read]);
    const std::int64_t relative = relative_colour(model_, head, i, arc.read);
    if (head.rule == RowRule::rotary && relative >= 0) {
      query = rotate(query, i);
      key = rotate(key, arc.read);
    }
    double logit = weights.matrix_bias[arc.matrix];
    for (std::size_t c = 0; c < width; ++c) logit += query[c] * key[c] / std::sqrt(static_cast<double>(width));
    if (head.rule == RowRule::alibi && relative >= 0) logit -= weights.slope * static_cast<double>(relative);
    if ((head.rule == RowRule::learned || head.rule == RowRule::multiset) && relative >= 0) logit += weights.relative_bias[static_cast<std::size_t>(relative)];
    const double weight = std::exp(logit);
    const Vector seen = times(value, x[arc.read]);
    if (head.rule == RowRule::set) {
      for (std::size_t c = 0; c < width; ++c) {
        const double own = seen[c] + weights.matrix_bias[arc.matrix] * weights.slope;
        sum[c] = total == 0 ? own : std::max(sum[c], own);
      }
      total = 1;
      continue;
    }
    for (std::size_t c = 0; c < width; ++c) sum[c] += weight * seen[c];
    total += weight;
  }
  if (head.rule == RowRule::whole || head.rule == RowRule::set || head.rows[i].empty()) return sum;
  if (head.rule == RowRule::multiset) total += 1;
  for (double& s : sum) s /= total;
  return sum;
}

std::vector<Vector> Network::run(const std::vector<std::uint32_t>& ids) const {
  std::vector<Vector> x;
  for (Vertex v = 0; v < model_.vertices(); ++v) {
    x.push_back(v < model_.tokens ? table_[ids[v]] : registers_[model_.registers[v - model_.tokens]]);
    if (v < model_.tokens && model_.absolute) {
      for (std::size_t c = 0; c < width; ++c) x[v][c] += positions_[v][c];
    }
  }
  for (std::size_t q = 0; q < layers_.size(); ++q) {
    const auto& layer = model_.layers[q % model_.layers.size()];
    std::vector<Vector> next = x;
    for (Vertex i = 0; i < model_.vertices(); ++i) {
      for (std::size_t h = 0; h < layer.size(); ++h) {
        const Vector read = attend(model_.heads[layer[h]], layers_[q].heads[h], i, x);
        for (std::size_t c = 0; c < width; ++c) next[i][c] += read[c];
      }
      Vector hidden = times(layers_[q].up, next[i]);
      for (std::size_t c = 0; c < hidden.size(); ++c) hidden[c] = std::tanh(hidden[c] + layers_[q].bias[c]);
      const Vector moved = times(layers_[q].down, hidden);
      for (std::size_t c = 0; c < width; ++c) next[i][c] += moved[c];
    }
    x = std::move(next);
  }
  x.resize(model_.tokens);
  return x;
}

}  // namespace sight_labels

#include "network.hpp"

#include <algorithm>
#include <cmath>

namespace property {

namespace {

Vector times(const Matrix& matrix, const Vector& x) {
  Vector y(matrix.size(), 0);
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    for (std::size_t c = 0; c < x.size(); ++c) y[r] += matrix[r][c] * x[c];
  }
  return y;
}

// Angles 1 and 1/100 per place, as rotary positions have them at width 4.
Vector rotate(Vector x, std::size_t place) {
  for (std::size_t pair = 0; pair < 2; ++pair) {
    const double angle = static_cast<double>(place) * (pair == 0 ? 1.0 : 0.01), a = x[2 * pair], b = x[2 * pair + 1];
    x[2 * pair] = a * std::cos(angle) - b * std::sin(angle);
    x[2 * pair + 1] = a * std::sin(angle) + b * std::cos(angle);
  }
  return x;
}

}  // namespace

double measure_distance(const Vector& a, const Vector& b) {
  double largest = 0;
  for (std::size_t c = 0; c < a.size(); ++c) largest = std::max(largest, std::abs(a[c] - b[c]));
  return largest;
}

Matrix Network::draw(std::size_t rows, std::size_t columns, double scale) {
  std::normal_distribution<double> normal(0, scale);
  Matrix matrix(rows, Vector(columns));
  for (Vector& row : matrix) {
    for (double& x : row) x = normal(random_);
  }
  return matrix;
}

Network::Network(const SmallModel& model, std::uint64_t seed, std::size_t depth) : model_(model), random_(seed) {
  table_ = draw(static_cast<std::size_t>(model.vocabulary) + 1, width, 1);
  positions_ = draw(static_cast<std::size_t>(model.tokens), width, 1);
  registers_ = draw(2, width, 1);
  first_up_ = draw(hidden, width, 1);
  first_down_ = draw(width, hidden, 0.5);
  first_bias_ = draw(1, hidden, 1)[0];
  const auto order = model.unroll();
  for (std::size_t q = 0; q < depth; ++q) {
    Layer layer;
    layer.spec = order[q % order.size()];
    for (std::size_t h = 0; h < layer.spec->heads.size(); ++h) {
      Head head;
      head.query = draw(width, width, 0.5);
      head.key = draw(width, width, 0.5);
      head.value = draw(width, width, 0.8);
      head.matrix_bias = draw(1, 3, 0.8)[0];
      head.relative_bias = draw(1, 1100, 0.8)[0];
      head.slope = 0.3 + 0.1 * static_cast<double>(random_() % 1000) / 1000;
      layer.heads.push_back(std::move(head));
    }
    layer.up = draw(hidden, width, 1);
    layer.bias = draw(1, hidden, 1)[0];
    layer.down = draw(width, hidden, 0.5);
    layer.relu = random_() % 2 == 0;
    layers_.push_back(std::move(layer));
  }
}

Vector Network::attend(const Layer& layer, std::size_t head, std::size_t i, const Matrix& x) const {
  const Head& weights = layer.heads[head];
  const auto& row = layer.spec->heads[head][i];
  const Scheme scheme = layer.spec->scheme;
  Vector sum(width, 0);
  double total = 0;
  bool empty = true;
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (row[j] == 0) continue;
    empty = false;
    const int relative = relative_colour(model_, *layer.spec, static_cast<int>(i), static_cast<int>(j));
    Vector query = times(weights.query, x[i]), key = times(weights.key, x[j]);
    if (scheme == Scheme::rotary && relative >= 0) {
      query = rotate(query, i);
      key = rotate(key, j);
    }
    double logit = weights.matrix_bias[static_cast<std::size_t>(row[j])];
    for (std::size_t c = 0; c < width; ++c) logit += query[c] * key[c] / 2;
    if (scheme == Scheme::alibi && relative >= 0) logit -= weights.slope * relative;
    if ((scheme == Scheme::learned || scheme == Scheme::t5) && relative >= 0) logit += weights.relative_bias[static_cast<std::size_t>(relative)];
    // Without a denominator smaller logits keep the sum of order one.
    const double weight = std::exp(layer.spec->denominator == Denominator::sum ? logit / 4 - 1 : logit);
    const Vector seen = times(weights.value, x[j]);
    for (std::size_t c = 0; c < width; ++c) sum[c] += weight * seen[c];
    total += weight;
  }
  if (empty) return sum;
  double divisor = 1;
  switch (layer.spec->denominator) {
    case Denominator::plain: divisor = total; break;
    case Denominator::sink: divisor = 1 + total; break;
    case Denominator::eps: divisor = 0.5 + total; break;
    case Denominator::sum: break;
  }
  for (double& s : sum) s /= divisor;
  return sum;
}

void Network::feed(const Matrix& up, const Vector& bias, const Matrix& down, bool relu, Vector& x) const {
  Vector features = times(up, x);
  for (std::size_t c = 0; c < features.size(); ++c) {
    const double t = features[c] + bias[c];
    features[c] = relu ? std::max(t, 0.0) : std::tanh(t);
  }
  const Vector moved = times(down, features);
  for (std::size_t c = 0; c < width; ++c) x[c] += moved[c];
}

Matrix Network::run(const Matrix& tokens) const {
  Matrix x = tokens;
  for (const int colour : model_.registers) x.push_back(registers_[static_cast<std::size_t>(colour)]);
  for (std::size_t v = 0; v < tokens.size(); ++v) {
    for (std::size_t c = 0; c < width; ++c) x[v][c] += model_.learned_positions ? positions_[v][c] : 0;
  }
  // With added positions id + position is what arrives; a feedforward first makes it more than a sum (Lemma S needs none).
  if (!model_.table) {
    for (Vector& state : x) feed(first_up_, first_bias_, first_down_, false, state);
  }
  for (const Layer& layer : layers_) {
    Matrix next = x;
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t h = 0; h < layer.heads.size(); ++h) {
        const Vector read = attend(layer, h, i, x);
        for (std::size_t c = 0; c < width; ++c) next[i][c] += read[c];
      }
      feed(layer.up, layer.bias, layer.down, layer.relu, next[i]);
      // Keeps the states of many layers of order one; any tokenwise map is a feedforward.
      double largest = 1;
      for (const double s : next[i]) largest = std::max(largest, std::abs(s));
      for (double& s : next[i]) s *= 2 / (1 + largest);
    }
    x = std::move(next);
  }
  x.resize(tokens.size());
  return x;
}

Matrix Network::run_ids(const std::vector<int>& ids) const {
  Matrix tokens;
  for (const int id : ids) tokens.push_back(table_[static_cast<std::size_t>(id)]);
  return run(tokens);
}

}  // namespace property

// One attention head whose dimension is free of the width: form (5) of Jiang and Li.
#pragma once

#include "sightline/train/fit.hpp"

namespace sightline::train {

struct HeadShape {
  std::int64_t dim = 1, outputs = 1;
  std::int64_t width = 64; ///< of f, of the values and of F's hidden layer
  std::int64_t head = 1;   ///< m_h: rows of W_Q and W_K
  double frequency = 0;    ///< 0: f has gelu; else sines, the first of them of so many times their argument: a perceptron
                           ///< with gelu learns slow oscillations first and fast ones hardly ever
};

/// h = f(x), f a perceptron dim -> width -> width -> width (gelu, or sines); scores (W_Q h_i).(W_K h_j); H_i = F(sum_j
/// softmax_j(scores) W_V h_j), F a perceptron with one hidden layer. No residual, no norm.
class HeadNetwork : public torch::nn::Module {
public:
  HeadNetwork(const HeadShape& shape, at::ScalarType type, std::uint64_t seed);
  [[nodiscard]] Tensor score(const Tensor& x, const Run& run) const;   ///< [batch, reader, read]
  [[nodiscard]] Tensor forward(const Tensor& x, const Run& run) const; ///< [batch, token, outputs]
  [[nodiscard]] const std::vector<Weight>& weights() const { return weights_; }

private:
  [[nodiscard]] Tensor embed(const Tensor& x, const Run& run) const;
  [[nodiscard]] Tensor score_of(const Tensor& h, const Run& run) const;

  Linear first_, second_, third_, query_, key_, value_, hidden_, out_;
  double frequency_;
  std::vector<Weight> weights_;
};
/// The scores as outputs, or H.
[[nodiscard]] Network make_score_network(std::shared_ptr<HeadNetwork> network);
[[nodiscard]] Network make_network(std::shared_ptr<HeadNetwork> network);

} // namespace sightline::train

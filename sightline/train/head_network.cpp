#include "sightline/train/head_network.hpp"

namespace sightline::train {

HeadNetwork::HeadNetwork(const HeadShape& shape, at::ScalarType type, std::uint64_t seed) : torch::nn::Module("Head"), frequency_(shape.frequency) {
  Declarer declare(*this, at::TensorOptions().dtype(type), seed, std::int64_t{1} << 40);
  first_ = declare_linear(declare, "f.0", shape.dim, shape.width, true);
  second_ = declare_linear(declare, "f.1", shape.width, shape.width, true);
  third_ = declare_linear(declare, "f.2", shape.width, shape.width, true);
  query_ = declare_linear(declare, "q", shape.width, shape.head, false);
  key_ = declare_linear(declare, "k", shape.width, shape.head, false);
  value_ = declare_linear(declare, "v", shape.width, shape.width, false);
  hidden_ = declare_linear(declare, "F.0", shape.width, shape.width, true);
  out_ = declare_linear(declare, "F.1", shape.width, shape.outputs, true);
  weights_ = declare.take();
}

Tensor HeadNetwork::embed(const Tensor& x, const Run& run) const {
  if (frequency_ != 0)
    return third_(at::sin(second_(at::sin(frequency_ * first_(x, run)), run)), run);
  return third_(at::gelu(second_(at::gelu(first_(x, run)), run)), run);
}

Tensor HeadNetwork::score_of(const Tensor& h, const Run& run) const {
  return query_(h, run).matmul(key_(h, run).transpose(1, 2));
}

Tensor HeadNetwork::score(const Tensor& x, const Run& run) const { return score_of(embed(x, run), run); }

Tensor HeadNetwork::forward(const Tensor& x, const Run& run) const {
  const Tensor h = embed(x, run);
  const Tensor mixed = at::softmax(score_of(h, run), -1).matmul(value_(h, run));
  return out_(at::gelu(hidden_(mixed, run)), run);
}

Network make_score_network(std::shared_ptr<HeadNetwork> network) {
  std::vector<Weight> used; // values and F play no part in the scores
  for (const Weight& weight : network->weights()) {
    if (weight.name.starts_with("f.") || weight.name.starts_with("q.") || weight.name.starts_with("k."))
      used.push_back(weight);
  }
  return {network, used, [network](const Tensor& x, const Run& run) { return network->score(x, run); }};
}

Network make_network(std::shared_ptr<HeadNetwork> network) {
  return {network, network->weights(), [network](const Tensor& x, const Run& run) { return network->forward(x, run); }};
}

} // namespace sightline::train

#include "sightline/train/sumformer_network.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sightline/base/error.hpp"

namespace sightline::train {
namespace {

Tensor between(const Tensor& x) { return at::gelu(x); }

} // namespace

std::int64_t SumformerShape::latent() const {
  return phi.empty() ? static_cast<std::int64_t>(monomials.size()) : phi.back();
}

std::vector<std::vector<std::uint32_t>> list_monomials(std::int64_t dim, std::int64_t degree) {
  const auto d = static_cast<std::size_t>(dim);
  std::vector<std::vector<std::uint32_t>> all, last{std::vector<std::uint32_t>(d, 0)};
  for (std::int64_t now = 1; now <= degree; ++now) {
    std::vector<std::vector<std::uint32_t>> next;
    for (const auto& index : last) { // one more of a coordinate that is not before the last one
      std::size_t from = 0;
      for (std::size_t c = 0; c < d; ++c)
        from = index[c] > 0 ? c : from;
      for (std::size_t c = from; c < d; ++c) {
        next.push_back(index);
        ++next.back()[c];
      }
    }
    all.insert(all.end(), next.begin(), next.end());
    last = std::move(next);
  }
  return all;
}

SumformerNetwork::SumformerNetwork(const SumformerShape& shape, std::vector<double> centre, std::vector<double> half,
                                   at::ScalarType type, std::uint64_t seed)
    : torch::nn::Module("Sumformer"), shape_(shape) {
  const auto options = at::TensorOptions().dtype(type);
  Declarer declare(*this, options, seed, std::int64_t{1} << 40);
  centre_ = at::tensor(centre, at::kDouble).to(type);
  half_ = at::tensor(half, at::kDouble).to(type);
  std::int64_t in = shape.dim;
  for (std::size_t l = 0; l < shape.phi.size(); in = shape.phi[l++])
    phi_.push_back(declare_linear(declare, fmt::format("phi.{}", l), in, shape.phi[l], true));
  in = shape.dim + shape.latent();
  for (std::size_t l = 0; l <= shape.psi.size(); ++l) {
    const std::int64_t out = l < shape.psi.size() ? shape.psi[l] : shape.outputs;
    psi_.push_back(declare_linear(declare, fmt::format("psi.{}", l), in, out, true));
    in = out;
  }
  weights_ = declare.take();
  for (const auto& index : shape.monomials) {
    std::size_t last = 0;
    for (std::size_t c = 0; c < index.size(); ++c)
      last = index[c] > 0 ? c : last;
    auto parent = index;
    --parent[last];
    const auto found = std::find(shape.monomials.begin(), shape.monomials.end(), parent);
    products_.emplace_back(found == shape.monomials.end() ? -1 : found - shape.monomials.begin(),
                           static_cast<std::int64_t>(last));
  }
  if (shape.phi.empty()) {
    mean_ = at::zeros({shape.latent()}, options);
    deviation_ = at::ones({shape.latent()}, options);
  }
}

Tensor SumformerNetwork::average_monomials(const Tensor& x) const {
  std::vector<Tensor> values;
  for (const auto& [parent, coordinate] : products_) {
    const Tensor factor = x.select(-1, coordinate);
    values.push_back(parent < 0 ? factor : values[static_cast<std::size_t>(parent)] * factor);
  }
  return at::stack(values, -1).mean(1);
}

void SumformerNetwork::standardise(const Tensor& x) {
  if (!phi_.empty())
    return;
  const at::NoGradGuard no_gradients;
  const Tensor sums = average_monomials((x - centre_) / half_);
  mean_ = sums.mean(0);
  deviation_ = sums.std(0, false).clamp_min(1e-6);
}

Tensor SumformerNetwork::forward(const Tensor& raw, const Run& run) const {
  const Tensor x = (raw - centre_) / half_;
  Tensor sum;
  if (phi_.empty()) {
    sum = (average_monomials(x) - mean_) / deviation_;
  } else {
    Tensor h = x;
    for (std::size_t l = 0; l < phi_.size(); ++l) {
      h = phi_[l](h, run);
      if (l + 1 < phi_.size())
        h = between(h);
    }
    sum = h.mean(1);
  }
  // psi's first map reads x_i and the sum: the part of the sum is computed once per sequence.
  const Tensor own = psi_[0].weight.narrow(1, 0, shape_.dim),
               shared = psi_[0].weight.narrow(1, shape_.dim, shape_.latent());
  Tensor h = linear(x, own, psi_[0].bias, run) + linear(sum, shared, {}, run).unsqueeze(1);
  for (std::size_t l = 1; l < psi_.size(); ++l)
    h = psi_[l](between(h), run);
  return h;
}

Network make_network(std::shared_ptr<SumformerNetwork> network) {
  return {network, network->weights(), [network](const Tensor& x, const Run& run) { return network->forward(x, run); }};
}

} // namespace sightline::train

// The feedforward of a layer, per token.
#pragma once

#include <vector>

#include "sightline/train/parameters.hpp"

namespace sightline::train {

/// mlp: down(s(up x)). glu: down(s(gate x) * up x). affine: down x alone, [dim, dim]. moe: softmax over the top_k
/// largest entries of router x (ties to the smaller number) weights the experts, each an mlp or glu. bias = "output":
/// down has one, the others not.
class Feedforward {
public:
  Feedforward() = default;
  Feedforward(Declarer& declare, const std::string& name, const architecture::Feedforward& spec, std::int64_t dim);
  [[nodiscard]] Tensor operator()(const Tensor& x, const Run& run) const;
  /// Rescales every matrix to the spectral norm that the architecture asks for (at most, or equal); no gradients.
  void constrain() const;

private:
  architecture::Feedforward spec_;
  Linear up_, gate_, down_;
  Tensor router_;
  std::vector<Feedforward> experts_;
};

} // namespace sightline::train

#include "sightline/train/feedforward.hpp"

#include <fmt/format.h>

#include "sightline/train/activation.hpp"

namespace sightline::train {

using architecture::Bias;
using architecture::FeedforwardKind;

Feedforward::Feedforward(Declarer& declare, const std::string& name, const architecture::Feedforward& spec,
                         std::int64_t dim)
    : spec_(spec) {
  const bool hidden_bias = spec.bias == Bias::yes, output_bias = spec.bias != Bias::no;
  switch (spec.kind) {
  case FeedforwardKind::none:
    return;
  case FeedforwardKind::affine:
    down_ = declare_linear(declare, name + ".down", dim, dim, output_bias);
    return;
  case FeedforwardKind::moe: {
    const auto experts = spec.experts;
    router_ = declare_linear(declare, name + ".router", dim, experts, false).weight;
    architecture::Feedforward expert = spec;
    expert.kind = spec.expert;
    for (std::int64_t e = 0; e < experts; ++e)
      experts_.emplace_back(declare, fmt::format("{}.expert.{}", name, e), expert, dim);
    return;
  }
  case FeedforwardKind::mlp:
  case FeedforwardKind::glu: {
    const bool glu = spec.kind == FeedforwardKind::glu;
    const std::int64_t width = spec.width.value_or(glu ? (dim + 2) / 3 * 8 : 4 * dim);
    up_ = declare_linear(declare, name + ".up", dim, width, hidden_bias);
    if (glu)
      gate_ = declare_linear(declare, name + ".gate", dim, width, hidden_bias);
    down_ = declare_linear(declare, name + ".down", width, dim, output_bias);
    return;
  }
  }
}

Tensor Feedforward::operator()(const Tensor& x, const Run& run) const {
  switch (spec_.kind) {
  case FeedforwardKind::none:
    return at::zeros_like(x);
  case FeedforwardKind::affine:
    return down_(x, run);
  case FeedforwardKind::mlp:
    return down_(apply_activation(spec_.activation, up_(x, run), run), run);
  case FeedforwardKind::glu:
    return down_(apply_activation(spec_.activation, gate_(x, run), run) * up_(x, run), run);
  case FeedforwardKind::moe:
    break;
  }
  const Tensor scores = linear(x, router_, {}, run);
  const auto [sorted, order] = scores.sort(/*stable=*/true, -1, /*descending=*/true);
  Tensor chosen = sorted.narrow(-1, 0, spec_.top_k);
  chosen = chosen - chosen.narrow(-1, 0, 1);
  // The sum runs in the order of the scores, the same wherever the token stands.
  Tensor gates = run.exact ? apply_activation({"exp", ""}, chosen, run) : chosen.exp();
  Tensor total = gates.select(-1, 0);
  for (std::int64_t k = 1; k < spec_.top_k; ++k)
    total = total + gates.select(-1, k);
  gates = gates / total.unsqueeze(-1);
  const Tensor shares = at::zeros_like(scores).scatter(-1, order.narrow(-1, 0, spec_.top_k), gates);
  Tensor out = at::zeros_like(x);
  for (std::size_t e = 0; e < experts_.size(); ++e) {
    const Tensor share = shares.narrow(-1, static_cast<std::int64_t>(e), 1);
    // An expert that overflows on a token which did not choose it must not spoil that token.
    out = out + at::where(share.ne(0), experts_[e](x, run), at::zeros({}, x.options())) * share;
  }
  return out;
}

void Feedforward::constrain() const {
  for (const Feedforward& expert : experts_)
    expert.constrain();
  if (!spec_.spectral_norm_at_most && !spec_.spectral_norm_equals)
    return;
  const at::NoGradGuard no_gradients;
  for (const Tensor& weight : {up_.weight, gate_.weight, down_.weight}) {
    if (!weight.defined())
      continue;
    const double norm = at::linalg_matrix_norm(weight.detach().to(at::kDouble), 2).item<double>();
    const double wanted = spec_.spectral_norm_equals.value_or(spec_.spectral_norm_at_most.value_or(norm));
    if (norm > 0 && (spec_.spectral_norm_equals || norm > wanted))
      weight.detach().mul_(wanted / norm);
  }
}

} // namespace sightline::train

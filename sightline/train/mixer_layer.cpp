#include "sightline/train/mixer_layer.hpp"

#include <cmath>

#include "sightline/base/error.hpp"
#include "sightline/train/activation.hpp"
#include "sightline/train/mixer_function.hpp"

namespace sightline::train {

using architecture::MixerKind;
using architecture::ProjectionKind;
using architecture::RelativeScheme;
using mixer::Aggregation;

MixerLayer::MixerLayer(Declarer& declare, const std::string& name, std::shared_ptr<const LayerPlan> plan,
                       std::int64_t dim)
    : plan_(std::move(plan)) {
  const architecture::Mixer& mixer = plan_->mixer;
  const double size = 1 / std::sqrt(static_cast<double>(dim));
  const std::int64_t vertices = plan_->vertices;
  const auto map = [&](const char* leaf) { return declare_linear(declare, name + "." + leaf, dim, dim, false).weight; };
  const auto add_colour_weights = [&] {
    if (plan_->weight_columns > 0)
      weight_ = declare(name + ".weight", {mixer.heads, plan_->weight_columns},
                        Start::constant(mixer.kind == MixerKind::mean ? 0 : 1));
  };
  switch (mixer.kind) {
  case MixerKind::tokenwise:
  case MixerKind::lsh:
    break;
  case MixerKind::attention:
  case MixerKind::linformer:
    q_ = map("q");
    k_ = mixer.query_key == architecture::QueryKey::tied ? q_ : map("k");
    if (mixer.value == architecture::ValueMap::free)
      v_ = map("v");
    o_ = map("o");
    if (plan_->rule.sink == mixer::Sink::trained)
      sink_ = declare(name + ".sink", {mixer.heads}, Start::constant(0));
    if (plan_->bias_columns > 0)
      bias_ = declare(name + ".bias", {mixer.heads, plan_->bias_columns}, Start::constant(0));
    if (mixer.kind == MixerKind::linformer && mixer.projections != ProjectionKind::blocks) {
      const Start start = mixer.projections == ProjectionKind::generic
                              ? Start::fixed(make_generic_projection(vertices, plan_->rank))
                              : Start::uniform(1 / std::sqrt(static_cast<double>(vertices)));
      e_ = declare(name + ".E", {vertices, plan_->rank}, start);
      f_ = mixer.projections == ProjectionKind::tied ? e_ : declare(name + ".F", {vertices, plan_->rank}, start);
    }
    break;
  case MixerKind::bias:
    w_ = declare(name + ".w", {1, dim}, Start::uniform(size));
    b_ = declare(name + ".b", {1}, Start::uniform(size));
    a_ = declare(name + ".a", {dim}, Start::uniform(size));
    add_colour_weights();
    break;
  case MixerKind::convolution: {
    const auto taps = static_cast<std::int64_t>(mixer.taps.size());
    taps_ = declare(name + ".taps", {taps}, Start::uniform(1 / std::sqrt(static_cast<double>(taps))));
    break;
  }
  case MixerKind::linear: {
    const Start start = Start::uniform(1 / std::sqrt(static_cast<double>(vertices)));
    if (mixer.heads == 1)
      weight_ = declare(name + ".weight", {vertices, vertices}, start);
    else
      weight_ = declare(name + ".weight", {mixer.heads, vertices, vertices}, start);
    break;
  }
  case MixerKind::sum:
  case MixerKind::mean:
  case MixerKind::max:
    if (mixer.value == architecture::ValueMap::free)
      v_ = map("v");
    if (plan_->rule.sink == mixer::Sink::trained) // of a mean
      sink_ = declare(name + ".sink", {mixer.heads}, Start::constant(0));
    add_colour_weights();
    break;
  }
}

bool MixerLayer::has_attention() const {
  return plan_->mixer.kind == MixerKind::attention || plan_->mixer.kind == MixerKind::linformer;
}

/// [batch, token, dim] -> [batch, token, heads, head width].
Tensor MixerLayer::split(const Tensor& x) const {
  return x.reshape({x.size(0), x.size(1), plan_->mixer.heads, plan_->head_width});
}

Tensor MixerLayer::operator()(const Tensor& x, const Tensor& lengths, const Run& run, Tensor* attention) const {
  const LayerPlan& plan = *plan_;
  const std::int64_t heads = plan.mixer.heads;
  const auto combine = [&](Aggregation aggregation, const Tensor& value, const Tensor& weight) {
    return aggregate(plan, *plan.plan, aggregation, heads, split(value), weight, lengths, run).reshape(x.sizes());
  };
  const auto values = [&] { return v_.defined() ? linear(x, v_, {}, run) : x; };
  switch (plan.mixer.kind) {
  case MixerKind::tokenwise:
  case MixerKind::lsh:
    break;
  case MixerKind::attention:
    return attend_tokens(x, lengths, run, attention);
  case MixerKind::linformer:
    return attend_landmarks(x, lengths, run, attention);
  case MixerKind::bias:
    return mix_bias(x, lengths, run);
  case MixerKind::convolution:
    return aggregate(plan, *plan.plan, Aggregation::sum, 1, x.unsqueeze(2), taps_.unsqueeze(0), lengths, run)
        .reshape(x.sizes());
  case MixerKind::linear:
    return combine(Aggregation::sum, x, weigh_pairs(weight_));
  case MixerKind::sum:
    return combine(Aggregation::sum, values(), weight_);
  case MixerKind::mean:
    return weight_.defined() || sink_.defined() || plan.rule.eps > 0
               ? average_rows(values(), lengths, run)
               : combine(Aggregation::mean, values(), {});
  case MixerKind::max:
    return combine(Aggregation::max, values(), {});
  }
  return at::zeros_like(x);
}

/// Weights per pair in the order of the plan's colours: matrix colour, then 0 (no pair has it), then i * vertices + j.
Tensor MixerLayer::weigh_pairs(const Tensor& weight) const {
  const std::int64_t heads = plan_->mixer.heads;
  const Tensor rows = weight.reshape({heads, -1});
  const Tensor padded = at::cat({at::zeros({heads, 1}, rows.options()), rows}, 1);
  return plan_->matrix_colours == 1 ? padded : padded.repeat({1, plan_->matrix_colours});
}

/// sum_j e^weight(colour) v_j / (eps + e^sink + sum_j e^weight(colour)): attention whose scores are 0 and whose biases
/// are the weights, so that what a row of one colour shares cancels where nothing is added to the denominator, as the
/// layout says (docs/theory.md 2.5), to the bit in exact mode.
Tensor MixerLayer::average_rows(const Tensor& value, const Tensor& lengths, const Run& run) const {
  const Tensor none = at::zeros({value.size(0), value.size(1), plan_->mixer.heads, 1}, value.options());
  return attend(*plan_, none, none, split(value), weight_, sink_, lengths, run, nullptr).reshape(value.sizes());
}

Tensor MixerLayer::mix_bias(const Tensor& x, const Tensor& lengths, const Run& run) const {
  const LayerPlan& plan = *plan_;
  const Tensor score = apply_activation(plan.mixer.activation, linear(x, w_, {}, run) - b_, run); // [batch, token, 1]
  const Tensor sums =
      aggregate(plan, *plan.plan, Aggregation::sum, plan.mixer.heads, score.unsqueeze(2), weight_, lengths, run);
  return (sums * a_.view({1, 1, plan.mixer.heads, plan.head_width})).reshape(x.sizes());
}

/// Scores between tokens come from the turned queries and keys, scores that touch a register from those as they were:
/// such arcs have no offset (docs/theory.md 16.8). Three stretches make one dot product: (turned, plain, 0) . (turned,
/// 0, plain) among tokens, with (0, plain, plain) . (0, plain, 0) for registers.
Tensor MixerLayer::keep_registers_still(const Tensor& turned, const Tensor& plain, bool query) const {
  const std::int64_t tokens = plan_->tokens, registers = plan_->vertices - tokens;
  const Tensor token = plain.narrow(1, 0, tokens), other = plain.narrow(1, tokens, registers);
  const Tensor no_token = at::zeros_like(token), no_register = at::zeros_like(other);
  const Tensor first = at::cat({turned.narrow(1, 0, tokens), query ? token : no_token, query ? no_token : token}, 3);
  const Tensor rest = at::cat({no_register, other, query ? other : no_register}, 3);
  return at::cat({first, rest}, 1);
}

Tensor MixerLayer::attend_tokens(const Tensor& x, const Tensor& lengths, const Run& run, Tensor* attention) const {
  const LayerPlan& plan = *plan_;
  Tensor q = split(linear(x, q_, {}, run));
  Tensor k = k_.is_same(q_) ? q : split(linear(x, k_, {}, run));
  const Tensor v = split(v_.defined() ? linear(x, v_, {}, run) : x);
  if (plan.mixer.relative.scheme == RelativeScheme::rotary) {
    const Tensor still_q = q, still_k = k;
    q = rotate(plan, q, run);
    k = still_k.is_same(still_q) ? q : rotate(plan, k, run);
    if (plan.vertices > plan.tokens) {
      q = keep_registers_still(q, still_q, true);
      k = keep_registers_still(k, still_k, false);
    }
  }
  Tensor bias = bias_;
  if (bias.defined() && plan.bias_columns != plan.matrix_colours * plan.relative_colours) {
    bias = bias.repeat_interleave(plan.relative_colours, 1); // rotary, ALiBi: the bias knows the matrix colour alone
  }
  const Tensor mixed = attend(plan, q, k, v, bias, sink_, lengths, run, attention);
  return linear(mixed.reshape(x.sizes()), o_, {}, run);
}

Tensor MixerLayer::attend_landmarks(const Tensor& x, const Tensor& lengths, const Run& run, Tensor* attention) const {
  const LayerPlan& plan = *plan_;
  const bool blocks = plan.mixer.projections == ProjectionKind::blocks;
  if (lengths.defined() && plan.vertices != plan.tokens)
    throw InputError("a linformer with registers: expected samples without lengths");
  // Registers stand in no block: neither read nor reading.
  const Tensor tokens = blocks ? x.narrow(1, 0, plan.tokens) : x;
  const Tensor q = split(linear(tokens, q_, {}, run)), k = split(linear(tokens, k_, {}, run));
  const Tensor v = split(v_.defined() ? linear(tokens, v_, {}, run) : tokens);
  const auto project = [&](const Tensor& value, const Tensor& matrix) {
    const Tensor weight = matrix.defined() ? matrix.reshape({1, -1}).expand({plan.mixer.heads, -1}) : Tensor();
    return aggregate(plan, *plan.landmarks, blocks ? Aggregation::mean : Aggregation::sum, plan.mixer.heads, value,
                     weight, lengths, run);
  };
  Tensor out = attend(plan, q, project(k, e_), project(v, f_), {}, sink_, lengths, run, attention);
  out = linear(out.reshape(tokens.sizes()), o_, {}, run);
  if (!blocks || plan.vertices == plan.tokens)
    return out;
  return at::cat({out, at::zeros({x.size(0), plan.vertices - plan.tokens, x.size(2)}, x.options())}, 1);
}

} // namespace sightline::train

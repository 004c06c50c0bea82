#include "sightline/train/model.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "sightline/base/error.hpp"
#include "sightline/train/activation.hpp"

namespace sightline::train {
namespace {

using architecture::Embedding;
using architecture::NormPlace;
using architecture::Positions;

Tensor make_position_table(const architecture::Architecture& a, const at::TensorOptions& options) {
  std::vector<double> values;
  if (a.input.positions == Positions::fixed) {
    for (const auto& row : a.input.table)
      values.insert(values.end(), row.begin(), row.end());
  } else {
    for (std::int64_t p = 0; p < a.tokens; ++p) {
      for (std::int64_t c = 0; c < a.dim; ++c) {
        const double angle =
            static_cast<double>(p) / std::pow(10000.0, static_cast<double>(c / 2 * 2) / static_cast<double>(a.dim));
        values.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
    }
  }
  return at::tensor(values, at::kDouble).reshape({a.tokens, a.dim}).to(options);
}

} // namespace

Model::Model(const architecture::Architecture& architecture, const ModelOptions& options, const Budget& budget)
    : torch::nn::Module("Model"), architecture_(architecture), options_(options) {
  const architecture::Architecture& a = architecture_;
  // What runs has so many layers: one pass of the list would not be the network that the file, and its certificate, speak of.
  if (a.depth == architecture::Depth::unbounded)
    throw InputError(fmt::format("{}: /depth: expected \"listed\" for a model that runs, its layers by [[layer]] and repeat (certify "
                                 "says how many are needed), found \"unbounded\"",
                                 a.file));
  const auto types = at::TensorOptions().dtype(options.dtype);
  Declarer declare(*this, types, options.seed, options.most_numbers);
  try {
    switch (a.input.embedding) {
    case Embedding::none:
      break;
    case Embedding::linear:
      embedding_ = declare_linear(declare, "input.embedding", a.input.dim, a.dim, true);
      break;
    case Embedding::mlp:
      embedding_ = declare_linear(declare, "input.embedding.up", a.input.dim, 4 * a.dim, true);
      embedding_down_ = declare_linear(declare, "input.embedding.down", 4 * a.dim, a.dim, true);
      break;
    case Embedding::table:
      table_ = declare("input.embedding.weight", {options.ids, a.dim}, Start::normal(1));
      break;
    }
    if (a.input.positions == Positions::learned)
      positions_ = declare("input.positions", {a.tokens, a.dim}, Start::normal(0.02));
    else if (a.input.positions != Positions::none)
      positions_ = make_position_table(a, types);
    if (a.input.norm)
      input_norm_ = declare_norm(declare, "input.norm", *a.input.norm, a.dim);
    if (!a.input.registers.empty()) {
      std::map<std::string, std::int64_t> rows; // one row per colour, in order of first appearance
      std::vector<std::int64_t> row_of;
      for (const std::string& colour : a.input.registers)
        row_of.push_back(rows.emplace(colour, static_cast<std::int64_t>(rows.size())).first->second);
      registers_ = declare("input.registers", {static_cast<std::int64_t>(rows.size()), a.dim},
                           Start::normal(1 / std::sqrt(static_cast<double>(a.dim))));
      register_rows_ = at::tensor(row_of, at::kLong);
    }
    declare_layers(declare, budget);
    if (a.output.norm)
      output_norm_ = declare_norm(declare, "output.norm", *a.output.norm, a.dim);
    if (a.output.head == architecture::Head::linear) {
      head_ = declare_linear(declare, "output.head", a.dim, options.outputs, true);
    } else if (options.outputs > a.dim) {
      throw InputError(
          fmt::format("{}: expected at most dim = {} outputs without a head, found {} (add output.head = \"linear\")",
                      a.file, a.dim, options.outputs));
    }
  } catch (const ArgumentError& error) {
    throw InputError(fmt::format("{}: {}", a.file, error.what()));
  }
  weights_ = declare.take();
  constrain();
}

void Model::declare_layers(Declarer& declare, const Budget& budget) {
  const architecture::Architecture& a = architecture_;
  std::uint64_t index = 0;
  std::vector<std::shared_ptr<const LayerPlan>> plans; // equal mixers share theirs
  for (const architecture::LayerSpec& spec : a.layers) {
    std::shared_ptr<const LayerPlan> plan;
    for (const auto& other : plans) {
      if (other->mixer == spec.mixer)
        plan = other;
    }
    if (!plan)
      plans.push_back(plan = std::make_shared<LayerPlan>(make_layer_plan(a, spec.mixer, index, budget)));
    for (std::int64_t r = 0; r < spec.repeat; ++r, ++index) {
      budget.poll_now();
      const std::string name = fmt::format("layers.{}", a.block.tied ? 0 : index);
      Layer layer;
      layer.mixer = MixerLayer(declare, name + ".mixer", plan, a.dim);
      layer.feedforward = Feedforward(declare, name + ".feedforward", spec.feedforward, a.dim);
      layer.has_feedforward = spec.feedforward.kind != architecture::FeedforwardKind::none;
      layer.place = spec.norm.place;
      const bool parallel_post =
          a.block.arrangement == architecture::Arrangement::parallel && spec.norm.place == NormPlace::post;
      const auto add_norm = [&](const char* leaf) {
        return declare_norm(declare, fmt::format("{}.{}", name, leaf), spec.norm, a.dim);
      };
      // A layer without sublayers is its post-norm alone: a norm behind the residual sum, to which nothing was added.
      const bool norm_alone = spec.norm.place == NormPlace::post && !layer.mixer.is_active() && !layer.has_feedforward;
      if (layer.mixer.is_active() || parallel_post || norm_alone)
        layer.norm1 = add_norm("norm1");
      if (layer.has_feedforward && !parallel_post)
        layer.norm2 = add_norm("norm2");
      if (spec.norm.place == NormPlace::sandwich) {
        if (layer.mixer.is_active())
          layer.norm1_after = add_norm("norm1_after");
        if (layer.has_feedforward)
          layer.norm2_after = add_norm("norm2_after");
      }
      layers_.push_back(std::move(layer));
    }
  }
}

std::int64_t Model::count_parameters() const {
  std::int64_t count = 0;
  for (const Weight& weight : weights_)
    count += weight.trained ? weight.tensor.numel() : 0;
  return count;
}

void Model::constrain() const {
  for (const Layer& layer : layers_)
    layer.feedforward.constrain();
}

Tensor Model::embed(const Tensor& x, const Run& run) const {
  Tensor h = x;
  switch (architecture_.input.embedding) {
  case Embedding::none:
    break;
  case Embedding::linear:
    h = embedding_(x, run);
    break;
  case Embedding::mlp:
    h = embedding_down_(apply_activation({"gelu", ""}, embedding_(x, run), run), run);
    break;
  case Embedding::table:
    h = at::embedding(table_, x);
    break;
  }
  if (positions_.defined())
    h = h + positions_.to(h.device());
  if (architecture_.input.norm)
    h = input_norm_(h, run);
  if (registers_.defined()) {
    const Tensor rows = registers_.index_select(0, register_rows_.to(registers_.device()));
    h = at::cat({h, rows.unsqueeze(0).expand({h.size(0), -1, -1})}, 1);
  }
  return h;
}

Tensor Model::apply(const Layer& layer, const Tensor& x, const Tensor& lengths, const Run& run,
                    Tensor* attention) const {
  const bool residual = architecture_.block.residual;
  const bool before = layer.place == NormPlace::pre || layer.place == NormPlace::sandwich;
  // One branch: norm, body, norm, as the place of the norms asks.
  const auto mix = [&](const Tensor& h) {
    const Tensor out = layer.mixer(before ? layer.norm1(h, run) : h, lengths, run, attention);
    return layer.place == NormPlace::after      ? layer.norm1(out, run)
           : layer.place == NormPlace::sandwich ? layer.norm1_after(out, run)
                                                : out;
  };
  const auto feed = [&](const Tensor& h) {
    const Tensor out = layer.feedforward(before ? layer.norm2(h, run) : h, run);
    return layer.place == NormPlace::after      ? layer.norm2(out, run)
           : layer.place == NormPlace::sandwich ? layer.norm2_after(out, run)
                                                : out;
  };
  const bool post = layer.place == NormPlace::post;
  if (architecture_.block.arrangement == architecture::Arrangement::parallel) {
    Tensor sum = residual ? x : Tensor();
    const auto add = [&](const Tensor& out) { sum = sum.defined() ? sum + out : out; };
    if (layer.mixer.is_active())
      add(mix(x));
    if (layer.has_feedforward)
      add(feed(x));
    if (!sum.defined())
      sum = x;
    return post ? layer.norm1(sum, run) : sum;
  }
  Tensor h = x;
  if (layer.mixer.is_active()) {
    const Tensor out = mix(h);
    h = residual ? h + out : out;
    if (post)
      h = layer.norm1(h, run);
  }
  if (layer.has_feedforward) {
    const Tensor out = feed(h);
    h = residual ? h + out : out;
    if (post)
      h = layer.norm2(h, run);
  }
  if (post && !layer.mixer.is_active() && !layer.has_feedforward)
    h = layer.norm1(h, run);
  return h;
}

Tensor Model::forward(const Tensor& x, const Tensor& lengths, const Run& run, Probe* probe) const {
  Tensor h = embed(x, run);
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    h = apply(layers_[l], h, lengths, run, probe && probe->layer == l ? &probe->attention : nullptr);
  }
  h = h.narrow(1, 0, architecture_.tokens);
  if (architecture_.output.norm)
    h = output_norm_(h, run);
  if (architecture_.output.pool != "none")
    h = pool(h, architecture_.output.pool, lengths, run);
  if (architecture_.output.head == architecture::Head::linear)
    return head_(h, run);
  return options_.outputs < h.size(-1) ? h.narrow(-1, 0, options_.outputs) : h;
}

} // namespace sightline::train

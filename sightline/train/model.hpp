// A network from an architecture: parameters by the names of their tensors on disk, and the forward pass.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/train/feedforward.hpp"
#include "sightline/train/mixer_layer.hpp"
#include "sightline/train/parameters.hpp"

namespace sightline::train {

/// What the architecture leaves to the data.
struct ModelOptions {
  at::ScalarType dtype = at::kFloat;
  std::uint64_t seed = 0;
  std::int64_t outputs = 0; ///< numbers per token or sample (classes); with head "none" the first of dim coordinates
  std::int64_t most_numbers = std::int64_t{1} << 40; ///< in all tensors together
  std::int64_t ids = 0; ///< rows of the table (embedding "table"): vocabulary, and one more with bos
};

/// Token ids [batch, n] or numbers [batch, n, input.dim] -> scores [batch, n, outputs], or [batch, outputs] when
/// pooled. Order of things: embedding, + positions, input.norm, registers appended; layers; registers dropped,
/// output.norm, pool, head. Sequential: x += mixer(norm1 x), x += feedforward(norm2 x) (pre); post: x = norm1(x + mixer
/// x), ..; sandwich: x += norm1_after(mixer(norm1 x)); after: x += norm1(mixer x). Parallel: both branches read x; post
/// has norm1 alone. residual = false leaves the x + out. Token-free sublayers (tokenwise, feedforward none) are skipped
/// together with their norms; the post-norm of a layer that has neither stays (norm1).
class Model : public torch::nn::Module {
public:
  /// Throws InputError for what cannot be trained, BudgetExhausted.
  Model(const architecture::Architecture& architecture, const ModelOptions& options, const Budget& budget);

  /// What a caller may look at on the way.
  struct Probe {
    std::uint64_t layer = 0;
    Tensor attention; ///< filled: [batch, heads, vertices, vertices or rank]
  };
  /// lengths: int64 [batch], or undefined.
  [[nodiscard]] Tensor forward(const Tensor& x, const Tensor& lengths, const Run& run, Probe* probe = nullptr) const;

  /// In order of declaration; what stands in a weights file.
  [[nodiscard]] const std::vector<Weight>& weights() const { return weights_; }
  [[nodiscard]] std::int64_t count_parameters() const;
  [[nodiscard]] const architecture::Architecture& architecture() const { return architecture_; }
  [[nodiscard]] const ModelOptions& options() const { return options_; }
  [[nodiscard]] std::uint64_t layer_count() const { return layers_.size(); }
  [[nodiscard]] bool has_attention(std::uint64_t layer) const { return layers_.at(layer).mixer.has_attention(); }
  /// After every step: spectral norms that the architecture prescribes.
  void constrain() const;

private:
  struct Layer {
    MixerLayer mixer;
    Feedforward feedforward;
    bool has_feedforward = true;
    architecture::NormPlace place = architecture::NormPlace::pre;
    NormWeights norm1, norm2, norm1_after, norm2_after;
  };
  void declare_layers(Declarer& declare, const Budget& budget);
  [[nodiscard]] Tensor embed(const Tensor& x, const Run& run) const;
  [[nodiscard]] Tensor apply(const Layer& layer, const Tensor& x, const Tensor& lengths, const Run& run,
                             Tensor* attention) const;

  architecture::Architecture architecture_;
  ModelOptions options_;
  std::vector<Weight> weights_;
  Tensor table_, positions_, registers_, register_rows_;
  Linear embedding_, embedding_down_, head_;
  NormWeights input_norm_, output_norm_;
  std::vector<Layer> layers_;
};

} // namespace sightline::train

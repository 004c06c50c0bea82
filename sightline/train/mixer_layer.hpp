// One mixing layer: its linear maps and parameters around the operations of mixer.hpp.
#pragma once

#include <memory>

#include "sightline/train/mixer_plan.hpp"
#include "sightline/train/parameters.hpp"

namespace sightline::train {

/// x [batch, vertices, dim] -> [batch, vertices, dim] by the kind of the mixer; tokens come before registers.
/// - attention: o (sum_j w_ij v x_j), heads beside each other; value "identity": v = 1 (o stays); query_key "tied": k =
/// q
/// - linformer: the same over `rank` landmarks E^T (k x), F^T (v x); tied: F = E; blocks: means over the blocks
/// - bias: a sum_j activation(w.x_j - b), (21) without the own token
/// - convolution: sum_t taps[t] x_(i + tap_t mod n)
/// - linear: sum_j weight[i][j] x_j (weight [vertices, vertices], [heads, vertices, vertices] for several heads)
/// - sum, mean, max: of v x_j
/// A matrix pattern of M > 1 colours gives sum, mean and bias mixers a trained `.weight` [heads, M]; a mean weighs by
/// e^weight and divides by the sum of these.
class MixerLayer {
public:
  MixerLayer() = default;
  MixerLayer(Declarer& declare, const std::string& name, std::shared_ptr<const LayerPlan> plan, std::int64_t dim);
  [[nodiscard]] bool is_active() const { return plan_->mixer.kind != architecture::MixerKind::tokenwise; }
  [[nodiscard]] bool has_attention() const;
  /// `attention`: as in mixer_function.hpp; only where has_attention().
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& lengths, const Run& run, Tensor* attention) const;

private:
  [[nodiscard]] Tensor attend_tokens(const Tensor& x, const Tensor& lengths, const Run& run, Tensor* attention) const;
  [[nodiscard]] Tensor attend_landmarks(const Tensor& x, const Tensor& lengths, const Run& run,
                                        Tensor* attention) const;
  [[nodiscard]] Tensor keep_registers_still(const Tensor& turned, const Tensor& plain, bool query) const;
  [[nodiscard]] Tensor weigh_pairs(const Tensor& weight) const;
  [[nodiscard]] Tensor split(const Tensor& x) const;
  [[nodiscard]] Tensor average_rows(const Tensor& value, const Tensor& lengths, const Run& run) const;
  [[nodiscard]] Tensor mix_bias(const Tensor& x, const Tensor& lengths, const Run& run) const;

  std::shared_ptr<const LayerPlan> plan_;
  Tensor q_, k_, v_, o_, sink_, bias_, e_, f_, w_, b_, a_, taps_, weight_;
};

} // namespace sightline::train

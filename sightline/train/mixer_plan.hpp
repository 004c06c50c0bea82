// What one mixing layer of an architecture needs besides its parameters: who reads whom, and by which rule.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/mixer/mixer.hpp"
#include "sightline/train/torch.hpp"

namespace sightline::train {

/// The arcs of one plan on one device, for tensor_mixer.hpp.
struct DenseRows {
  const mixer::Plan* rows = nullptr;
  at::Tensor colours; ///< int32 [heads or 1, readers, reads], -1 where there is no arc
};

/// Compiled once per distinct mixer and shared by layers and batches.
struct LayerPlan {
  architecture::Mixer mixer;
  std::int64_t tokens = 0, vertices = 0;   ///< registers included in `vertices`
  std::int64_t head_width = 0;             ///< dim / heads
  std::vector<layout::Relation> relations; ///< one, or one per head; empty: tokenwise and linformer
  std::shared_ptr<const mixer::Plan> plan;
  std::shared_ptr<const mixer::Plan> landmarks; ///< linformer: landmarks read tokens
  mixer::AttentionRule rule;                    ///< attention and linformer
  std::int64_t rank = 0;                        ///< linformer
  std::int64_t relative_colours = 1;            ///< R of layout::Relation
  std::int64_t matrix_colours = 1;              ///< M: the plan has M R colours
  /// Columns of `.bias` (attention): M R for learned and t5, M for a coloured matrix otherwise, 0: there is no bias.
  std::int64_t bias_columns = 0;
  /// Columns of `.weight` (sum, mean, bias mixer): M when the matrix has several colours, else 0.
  std::int64_t weight_columns = 0;
  mutable std::vector<DenseRows> dense; ///< filled by tensor_mixer.hpp; a model is run by one thread at a time
};

/// Throws InputError `FILE: layer L: ...` for what cannot be run: lsh, a head width that is no integer, kernels with
/// literal vectors and several heads, rotary positions on an odd head width. Also what make_patterns throws;
/// BudgetExhausted.
[[nodiscard]] LayerPlan make_layer_plan(const architecture::Architecture& architecture,
                                        const architecture::Mixer& mixer, std::uint64_t layer, const Budget& budget);

/// Fixed projections of projections = "generic": F[j][c] = (1 + j / n + c / (n k)) / n, entries of F 1/k distinct, none
/// 0.
[[nodiscard]] std::vector<double> make_generic_projection(std::int64_t tokens, std::int64_t rank);

/// ALiBi's slopes: head h of H (from 0) has 2^(-8 (h + 1) / H).
[[nodiscard]] std::vector<double> make_slopes(std::int64_t heads);

} // namespace sightline::train

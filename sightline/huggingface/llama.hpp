// What Llama's descendants share: the layer, which layers slide, and experts.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sightline/huggingface/draft.hpp"

namespace sightline::huggingface {

/// Pre-RMSNorm, causal, rotary, SwiGLU without biases, final RMSNorm. Families change what differs. `rotary_part`: as add_rotary has it.
[[nodiscard]] LayerSpec make_llama_layer(Draft& draft, double default_eps, Names activation_key, const std::string& activation,
                                         std::optional<double> rotary_part = std::nullopt);
[[nodiscard]] LayerSpec make_llama_layer(Draft& draft, double default_eps = 1e-6);

/// Which layers slide: the file's layer_types, else `by_interval`; a sliding layer needs a window.
[[nodiscard]] std::vector<bool> read_sliding_layers(Draft& draft, std::int64_t layers, std::optional<std::int64_t> window,
                                                    const std::function<bool(std::int64_t)>& by_interval);
/// Qwen's switch: sliding_window counts for nothing unless use_sliding_window is true, and layers that are listed as sliding need it.
[[nodiscard]] std::optional<std::int64_t> read_switched_window(const Draft& draft);
/// clip_qkv bounds the entries of queries, keys and values: who reads whom stays, unless the bound is 0.
void check_clip(const Draft& draft);
/// One layer for each entry: causal, within `window` where it slides.
void add_windowed_layers(Draft& draft, LayerSpec layer, const std::vector<bool>& sliding, std::optional<std::int64_t> window);

/// Keys of a mixture's two counts; each list starts with the library's canonical name.
struct ExpertKeys {
  Names count = {"num_experts", "num_local_experts"};
  Names used = {"num_experts_per_tok"};
};
/// Experts that are GLUs, `top_k` of `count` per token unless the file says otherwise.
[[nodiscard]] Feedforward read_experts(const Draft& draft, const LayerSpec& layer, bool bias, std::int64_t count, std::int64_t top_k,
                                       const ExpertKeys& keys = {});
/// Says that an expert which every token uses is left out.
void assume_shared_expert(Draft& draft);
/// Dense and mixture layers as Qwen's types have them: every `decoder_sparse_step`-th is a mixture, unless `mlp_only_layers` names it.
void apply_sparse_steps(Draft& draft, std::vector<LayerSpec>& layers, const Feedforward& dense, const Feedforward& mixture);

}  // namespace sightline::huggingface

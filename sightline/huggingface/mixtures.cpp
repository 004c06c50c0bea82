// Decoders of Llama's kind whose feedforwards are mixtures of experts, in all layers or in some.
#include <functional>

#include <fmt/format.h>

#include "sightline/huggingface/families.hpp"
#include "sightline/huggingface/llama.hpp"

namespace sightline::huggingface {

namespace {

/// Mixtures in the layers that `is_mixture` names; their keys are not looked at where there is none.
void add_mixtures(Draft& draft, const std::function<bool(std::int64_t)>& is_mixture, const std::function<Feedforward()>& read_mixture) {
  std::optional<Feedforward> mixture;
  for (std::size_t k = 0; k < draft.layers.size(); ++k) {
    if (!is_mixture(static_cast<std::int64_t>(k))) continue;
    if (!mixture) mixture = read_mixture();
    draft.layers[k].feedforward = *mixture;
  }
}

void expect_keys(const Draft& draft, Names keys) {
  for (const std::string_view key : keys)
    if (!draft.config.has(key) || draft.config.is_null(key)) draft.config.fail(key, "an integer (the library has no default for it)");
}

/// The first layers are dense.
std::function<bool(std::int64_t)> behind_dense(const Draft& draft, std::int64_t fallback) {
  const std::int64_t dense = draft.config.optional_integer({"first_k_dense_replace"}, fallback, 0).value_or(0);
  return [dense](std::int64_t k) { return k >= dense; };
}

}  // namespace

// DeepSeek V3 with other defaults and no dense layer unless the file says so.
void import_deepseek_v2(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft);
  if (config.flag({"mlp_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 102400});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  for (const std::string_view width : {"kv_lora_rank", "v_head_dim"}) (void)config.integer({width}, 1);  // 0: nothing is read
  if (config.integer({"qk_rope_head_dim"}, 64) % 2 != 0) config.fail("qk_rope_head_dim", "an even number (coordinates turn in pairs)");
  add_layers(draft, layer, layers);
  add_mixtures(draft, behind_dense(draft, 0), [&] {
    expect_keys(draft, {"num_experts_per_tok"});
    assume_shared_expert(draft);
    return read_experts(draft, layer, false, 64, 1, {{"num_experts", "n_routed_experts"}, {"num_experts_per_tok"}});
  });
  draft.assume("heads: keys and values pass through maps of width kv_lora_rank, taken as wide enough");
}

void import_dots1(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft);
  const std::int64_t layers = read_sizes(draft, layer, {62, 4608, 32, 152064, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  const auto window = config.optional_integer({"sliding_window"}, 4096);
  const bool listed = config.texts("layer_types").has_value();
  if (window && !listed && config.has("max_window_layers") && config.is_null("max_window_layers"))
    config.fail("max_window_layers", "an integer >= 0");
  const std::int64_t first = config.interval({"max_window_layers"}, 62, 0);
  add_windowed_layers(draft, layer, read_sliding_layers(draft, layers, window, [&](std::int64_t k) { return window && k >= first; }), window);
  add_mixtures(draft, behind_dense(draft, 0), [&] {
    expect_keys(draft, {"num_experts_per_tok", "n_shared_experts"});
    if (!config.has("num_local_experts")) expect_keys(draft, {"n_routed_experts"});
    assume_shared_expert(draft);
    return read_experts(draft, layer, false, 1, 1, {{"num_local_experts", "n_routed_experts"}, {"num_experts_per_tok"}});
  });
}

void import_ernie4_5_moe(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  if (config.flag({"use_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  const std::int64_t layers = read_sizes(draft, layer, {28, 2560, 20, 103424, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  add_layers(draft, layer, layers);
  const std::int64_t first = config.integer({"moe_layer_start_index"}, 1, 0), step = config.integer({"moe_layer_interval"}, 1);
  // -1: up to the last layer.
  const nlohmann::json* end = config.value("moe_layer_end_index");
  const std::int64_t last = end == nullptr || *end == -1 ? layers - 1 : config.integer({"moe_layer_end_index"}, layers - 1, 0);
  const auto is_mixture = [=](std::int64_t k) { return (k + 1) % step == 0 && k >= first && k <= last; };
  add_mixtures(draft, is_mixture, [&] {
    if (config.integer({"moe_num_shared_experts"}, 2, 0) > 0) assume_shared_expert(draft);
    return read_experts(draft, layer, false, 64, 6, {{"num_experts", "moe_num_experts"}, {"num_experts_per_tok", "moe_k"}});
  });
}

// OLMo 2 with experts.
void import_flex_olmo(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft);
  layer.norm.place = NormPlace::after;
  layer.feedforward = read_experts(draft, layer, false, 7, 5, {{"num_local_experts", "num_experts"}, {"num_experts_per_tok"}});
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 100352, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 4096, Limit::advice);
  add_layers(draft, layer, layers);
}

void import_glm4_moe(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5, {"hidden_act"}, "silu", 0.5);
  const std::int64_t layers = read_sizes(draft, layer, {46, 4096, 96, 151552, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  add_layers(draft, layer, layers);
  add_mixtures(draft, behind_dense(draft, 1), [&] {
    assume_shared_expert(draft);
    return read_experts(draft, layer, false, 128, 8, {{"num_local_experts", "n_routed_experts"}, {"num_experts_per_tok"}});
  });
}

void import_sarvam_moe(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-6, {"hidden_act"}, "silu", 1.0);
  draft.rotary->head = 64;
  const std::int64_t layers = read_sizes(draft, layer, {19, 4096, 64, 262144, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  add_layers(draft, layer, layers);
  add_mixtures(draft, behind_dense(draft, 1), [&] {
    assume_shared_expert(draft);
    return read_experts(draft, layer, false, 128, 6, {{"num_local_experts", "num_experts", "n_routed_experts"}, {"num_experts_per_tok"}});
  });
}

void import_granitemoeshared(Draft& draft) {
  import_granitemoe(draft);
  if (draft.config.integer({"shared_intermediate_size"}, 0, 0) > 0) assume_shared_expert(draft);
}

void import_hunyuan_moe(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 290943, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  expect_keys(draft, {"head_dim"});
  // One number of experts for all layers, or one for each.
  const nlohmann::json* used = config.value("moe_topk");
  const bool listed = used != nullptr && used->is_array();
  const std::vector<std::int64_t> each = listed ? *config.integers("moe_topk", 1) : std::vector<std::int64_t>(static_cast<std::size_t>(layers), config.integer({"moe_topk"}, 1));
  if (static_cast<std::int64_t>(each.size()) < layers) config.fail("moe_topk", fmt::format("one entry for each of the {} layers", layers));
  const std::int64_t count = config.integer({"num_experts"}, 1);
  for (std::size_t k = 0; k < static_cast<std::size_t>(layers); ++k) {
    if (each[k] > count) config.fail("moe_topk", fmt::format("at most the {} experts", count), fmt::format("{}", each[k]));
    layer.feedforward = experts(layer.feedforward.activation, false, count, each[k]);
    draft.layers.push_back(layer);
  }
  assume_shared_expert(draft);
}

// The part of a head that turns may be given as a number of coordinates.
void import_minimax_m2(Draft& draft) {
  const ConfigView& config = draft.config;
  const std::int64_t head = config.integer({"head_dim"}, 128);
  const auto turns = config.optional_integer({"rotary_dim"}, std::nullopt, 0);
  LayerSpec layer = make_llama_layer(draft, 1e-6, {"hidden_act"}, "silu", turns ? static_cast<double>(*turns) / static_cast<double>(head) : 1.0);
  draft.rotary->head = head;
  if (turns && *turns > head && draft.rotary->key == "partial_rotary_factor" && !config.has("partial_rotary_factor"))
    config.fail("rotary_dim", fmt::format("at most {}, the width of a head", head));
  layer.feedforward = read_experts(draft, layer, false, 256, 8, {{"num_experts", "num_local_experts"}, {"num_experts_per_tok"}});
  const std::int64_t layers = read_sizes(draft, layer, {62, 3072, 48, 200064, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 196608, Limit::advice);
  add_layers(draft, layer, layers);
}

// Exaone 4's windows with norms before the branches. Layers that do not slide have no positions.
void import_exaone_moe(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 102400, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  const std::int64_t window = config.integer({"sliding_window"}, 4096);
  const bool listed = config.texts("layer_types").has_value();
  if (listed) (void)config.value("sliding_window_pattern");  // some files write it as "LLLG"
  const std::int64_t period = listed ? 4 : config.integer({"sliding_window_pattern"}, 4);
  for (const bool slides : read_sliding_layers(draft, layers, window, [&](std::int64_t k) { return (k + 1) % period != 0; })) {
    layer.mixer.pattern = slides ? causal_window(window) : causal();
    layer.mixer.relative.scheme = slides ? RelativeScheme::rotary : RelativeScheme::none;
    draft.layers.push_back(layer);
  }
  const auto kinds = config.texts("mlp_layer_types");
  if (kinds && static_cast<std::int64_t>(kinds->size()) < layers)
    config.fail("mlp_layer_types", fmt::format("one entry for each of the {} layers", layers));
  const auto by_count = behind_dense(draft, 1);
  const auto is_mixture = [&](std::int64_t k) { return kinds ? (*kinds)[static_cast<std::size_t>(k)] == "sparse" : by_count(k); };
  add_mixtures(draft, is_mixture, [&] {
    assume_shared_expert(draft);
    return read_experts(draft, layer, false, 64, 8, {{"num_experts"}, {"num_experts_per_tok"}});
  });
}

}  // namespace sightline::huggingface

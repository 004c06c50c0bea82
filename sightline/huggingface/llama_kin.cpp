// Decoders that keep Llama's block and change a norm, a window or the feedforward.
#include <fmt/format.h>

#include "sightline/huggingface/families.hpp"
#include "sightline/huggingface/llama.hpp"

namespace sightline::huggingface {

namespace {

// Causal on every layer, whatever else the file says.
void add_plain(Draft& draft, LayerSpec layer, const Sizes& sizes, std::int64_t longest) {
  const std::int64_t layers = read_sizes(draft, layer, sizes);
  read_tokens(draft, {"max_position_embeddings"}, longest, Limit::advice);
  add_layers(draft, layer, layers);
}

void use_layer_norm(Draft& draft, LayerSpec& layer, Names eps_key, double default_eps) {
  layer.norm = layer_norm(draft.config.number(eps_key, default_eps));
  draft.architecture.output.norm = layer.norm;
}

}  // namespace

void assume_shared_expert(Draft& draft) { draft.assume("experts: the shared expert beside the routed ones is not modelled"); }

void import_arcee(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  layer.feedforward = mlp(read_activation(draft, {"hidden_act"}, "relu2"), draft.config.flag({"mlp_bias"}, false));
  add_plain(draft, layer, {32, 2560, 32, 32000}, 4096);
}

void import_ernie4_5(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  if (draft.config.flag({"use_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  add_plain(draft, layer, {18, 1024, 16, 103424, HeadWidth::own}, 131072);
}

void import_glm(Draft& draft) {
  const LayerSpec layer = make_llama_layer(draft, 1.5625e-07, {"hidden_act"}, "silu", 0.5);
  draft.rotary->head = 128;
  add_plain(draft, layer, {40, 4096, 32, 151552, HeadWidth::own}, 131072);
}

// GLM with a norm behind each branch as well.
void import_glm4(Draft& draft) {
  import_glm(draft);
  for (LayerSpec& layer : draft.layers) layer.norm.place = NormPlace::sandwich;
}

void import_helium(Draft& draft) { add_plain(draft, make_llama_layer(draft, 1e-8), {24, 2560, 20, 48000, HeadWidth::own}, 4096); }

void import_hunyuan_dense(Draft& draft) {
  add_plain(draft, make_llama_layer(draft, 1e-5), {32, 4096, 32, 290943, HeadWidth::own}, 2048);
}

void import_seed_oss(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft);
  if (draft.config.flag({"mlp_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  add_plain(draft, layer, {64, 4096, 80, 155136, HeadWidth::own}, 524288);
}

void import_nemotron(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5, {"hidden_act"}, "relu2", 0.5);
  use_layer_norm(draft, layer, {"norm_eps"}, 1e-5);
  layer.feedforward = mlp(layer.feedforward.activation, draft.config.flag({"mlp_bias"}, false));
  add_plain(draft, layer, {32, 6144, 48, 256000, HeadWidth::own}, 4096);
}

// RMSNorms without gain, one of them behind the embedding.
void import_nanochat(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-6, {"hidden_act"}, "relu2");
  layer.norm.affine = false;
  draft.architecture.input.norm = draft.architecture.output.norm = layer.norm;
  layer.feedforward = mlp(layer.feedforward.activation, false);
  add_plain(draft, layer, {12, 768, 6, 50304, HeadWidth::own}, 2048);
}

void import_jais2(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5, {"hidden_act"}, "relu2");
  use_layer_norm(draft, layer, {"layer_norm_eps"}, 1e-5);
  layer.feedforward = mlp(layer.feedforward.activation, draft.config.flag({"mlp_bias"}, true));
  add_plain(draft, layer, {32, 3328, 26, 150272}, 8192);
}

void import_persimmon(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5, {"hidden_act"}, "relu2", 0.5);
  use_layer_norm(draft, layer, {"layer_norm_eps"}, 1e-5);
  layer.feedforward = mlp(layer.feedforward.activation, true);
  add_plain(draft, layer, {36, 4096, 64, 262144}, 16384);
}

void import_stablelm(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5, {"hidden_act"}, "silu", 0.25);
  use_layer_norm(draft, layer, {"layer_norm_eps"}, 1e-5);
  if (draft.config.flag({"use_parallel_residual"}, false))
    draft.architecture.block.arrangement = architecture::Arrangement::parallel;
  add_plain(draft, layer, {32, 2560, 32, 50304}, 4096);
}

// One window for all layers; queries are scaled by a function of the position, as in Llama 4.
void import_ministral3(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {34, 4096, 32, 131072, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 262144, Limit::advice);
  apply_single_window(draft, layer, std::nullopt);
  // The file's settings replace the library's as a whole, and these two have no default of their own.
  std::int64_t scale = 16384;
  double strength = 0.1;
  for (const std::string_view name : {"rope_scaling", "rope_parameters"}) {
    const nlohmann::json* settings = config.value(name);
    if (settings == nullptr || settings->is_null() || settings->empty()) continue;
    const auto number = [&](const char* key) {
      const auto found = settings->find(key);
      if (found == settings->end() || !found->is_number()) config.fail(fmt::format("{}/{}", name, key), "a number (the library has no default for it here)", found == settings->end() ? "nothing" : describe(*found));
      return found->get<double>();
    };
    strength = number("llama_4_scaling_beta");
    const double longest = number("original_max_position_embeddings");
    if (!(longest >= 1) || longest > 1e12) config.fail(fmt::format("{}/original_max_position_embeddings", name), "a number >= 1");
    scale = static_cast<std::int64_t>(longest);
    break;
  }
  if (strength != 0 && draft.architecture.tokens > scale)
    draft.assume(fmt::format("query scale: it depends on the position from token {} on, which is not modelled", scale));
  add_layers(draft, layer, layers);
}

// Layers that slide, all unless the file lists them.
void import_ministral(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft);
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 32000, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  const std::int64_t window = draft.config.integer({"sliding_window"}, 4096);
  add_windowed_layers(draft, layer, read_sliding_layers(draft, layers, window, [](std::int64_t) { return true; }), window);
}

void import_cwm(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {64, 6144, 48, 128256});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  const std::int64_t window = draft.config.integer({"sliding_window"}, 8192);
  add_windowed_layers(draft, layer, read_sliding_layers(draft, layers, window, [](std::int64_t k) { return k % 4 != 0; }), window);
}

// Gemma 2 without the norms behind the branches.
void import_vaultgemma(Draft& draft) {
  import_gemma2(draft);
  for (LayerSpec& layer : draft.layers) layer.norm.place = NormPlace::pre;
}

// RMSNorm after each branch alone. With a window, layers that do not slide have no positions.
void import_exaone4(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  layer.norm.place = NormPlace::after;
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 102400, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  const auto window = draft.config.optional_integer({"sliding_window"}, 4096);
  const bool listed = draft.config.texts("layer_types").has_value();
  if (!window && !listed)
    draft.config.fail("layer_types", "one entry for each layer, because sliding_window is null (the library needs one of the two)");
  if (listed) (void)draft.config.value("sliding_window_pattern");  // some files write it as "LLLG"
  const std::int64_t period = listed ? 4 : draft.config.integer({"sliding_window_pattern"}, 4);
  const RelativeScheme scheme = layer.mixer.relative.scheme;
  for (const bool slides : read_sliding_layers(draft, layers, window, [&](std::int64_t k) { return (k + 1) % period != 0; })) {
    layer.mixer.pattern = slides ? causal_window(*window) : causal();
    layer.mixer.relative.scheme = slides || !window ? scheme : RelativeScheme::none;
    draft.layers.push_back(layer);
  }
}

void import_olmoe(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  layer.feedforward = read_experts(draft, layer, false, 64, 8);
  check_clip(draft);
  add_plain(draft, layer, {16, 2048, 16, 50304}, 4096);
}

void import_granitemoe(Draft& draft) {
  import_granite(draft);
  const Feedforward mixture = read_experts(draft, draft.layers.front(), false, 8, 2, {{"num_local_experts"}, {"num_experts_per_tok"}});
  for (LayerSpec& layer : draft.layers) layer.feedforward = mixture;
}

void import_phimoe(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  use_layer_norm(draft, layer, {"rms_norm_eps"}, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 32064, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  apply_single_window(draft, layer, std::nullopt);
  layer.feedforward = read_experts(draft, layer, false, 16, 2, {{"num_local_experts"}, {"num_experts_per_tok"}});
  add_layers(draft, layer, layers);
}

void import_qwen2_moe(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft);
  const std::int64_t layers = read_sizes(draft, layer, {24, 2048, 16, 151936});
  read_tokens(draft, {"max_position_embeddings"}, 32768, Limit::advice);
  const std::int64_t first_full = config.integer({"max_window_layers"}, 28, 0);
  const bool may_slide = config.flag({"use_sliding_window"}, false);
  const auto window = read_switched_window(draft);
  if (may_slide && !window) config.fail("sliding_window", "a window, because use_sliding_window is true", "none");
  // Every second layer below max_window_layers slides: the other way round than in Qwen2.
  const auto sliding = read_sliding_layers(
      draft, layers, window, [&](std::int64_t k) { return may_slide && (k + 1) % 2 != 0 && k < first_full; });
  add_windowed_layers(draft, layer, sliding, window);
  apply_sparse_steps(draft, draft.layers, layer.feedforward, read_experts(draft, layer, false, 60, 4, {{"num_experts"}, {"num_experts_per_tok"}}));
  assume_shared_expert(draft);
}

namespace {

// Keys and values pass through a narrow map first (latent attention), which changes no sight.
void import_latent(Draft& draft, const Sizes& sizes, std::int64_t dense_by_default, std::int64_t count, Names expert_keys) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft);
  const std::int64_t layers = read_sizes(draft, layer, sizes);
  read_tokens(draft, {"max_position_embeddings"}, 4096, Limit::advice);
  for (const std::string_view width : {"kv_lora_rank", "v_head_dim"}) (void)config.integer({width}, 1);  // 0: nothing is read
  if (config.integer({"qk_rope_head_dim"}, 64) % 2 != 0) config.fail("qk_rope_head_dim", "an even number (coordinates turn in pairs)");
  const std::int64_t dense_layers = config.integer({"first_k_dense_replace"}, dense_by_default, 0);
  const Feedforward dense = layer.feedforward;
  const Feedforward mixture =
      read_experts(draft, layer, false, count, 8, {expert_keys, {"num_experts_per_tok"}});
  for (std::int64_t k = 0; k < layers; ++k) {
    layer.feedforward = k < dense_layers ? dense : mixture;
    draft.layers.push_back(layer);
  }
  assume_shared_expert(draft);
  draft.assume("heads: keys and values pass through maps of width kv_lora_rank, taken as wide enough");
}

}  // namespace

void import_deepseek_v3(Draft& draft) {
  import_latent(draft, {61, 7168, 128, 129280, HeadWidth::own}, 3, 256, {"n_routed_experts", "num_local_experts"});
}

void import_sarvam_mla(Draft& draft) {
  import_latent(draft, {32, 4096, 64, 262144, HeadWidth::own}, 1, 128, {"num_local_experts", "num_experts", "n_routed_experts"});
}

// Llama's own classes in the library, behind other defaults (this and the next two). Here the names that the first files of EXAONE 3 have count too.
void import_exaone(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5, {"activation_function", "hidden_act"}, "silu");
  const double eps = draft.config.number({"layer_norm_epsilon", "rms_norm_eps"}, 1e-5);
  layer.norm.eps = draft.architecture.output.norm->eps = eps;
  if (draft.config.flag({"mlp_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 102400}, {{"num_layers", "num_hidden_layers"}});
  read_tokens(draft, {"max_position_embeddings"}, 4096, Limit::advice);
  add_layers(draft, layer, layers);
}

// `bias` and `qkv_bias` of its first files are one switch for the biases of the feedforward and of attention.
void import_internlm3(Draft& draft) {
  const ConfigView& config = draft.config;
  const bool attention = config.flag({"qkv_bias", "attention_bias"}, false), feedforward = config.flag({"bias", "mlp_bias"}, false);
  if (attention != feedforward) config.fail(config.has("bias") ? "bias" : "mlp_bias", "biases of attention and of the feedforward alike");
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  if (feedforward) layer.feedforward.bias = architecture::Bias::yes;
  const std::int64_t layers = read_sizes(draft, layer, {48, 4096, 32, 128512, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 32768, Limit::advice);
  add_layers(draft, layer, layers);
}

void import_iquestcoder(Draft& draft) {
  const ConfigView& config = draft.config;
  if (const nlohmann::json* bound = config.value("clip_qkv"); bound != nullptr && !bound->is_null()) config.fail("clip_qkv", "null");
  if (config.flag_or_null({"use_sliding_window"}, false)) config.fail("use_sliding_window", "false");
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  if (config.flag({"mlp_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  const std::int64_t layers = read_sizes(draft, layer, {80, 5120, 40, 76800, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  add_layers(draft, layer, layers);
}

}  // namespace sightline::huggingface

// Decoders with gated feedforwards: Llama and what grew out of it.
#include <algorithm>

#include <fmt/format.h>

#include "sightline/huggingface/families.hpp"
#include "sightline/huggingface/llama.hpp"

namespace sightline::huggingface {

LayerSpec make_llama_layer(Draft& draft, double default_eps, Names activation_key, const std::string& activation,
                           std::optional<double> rotary_part) {
  const double eps = draft.config.number({"rms_norm_eps"}, default_eps);
  LayerSpec layer;
  layer.norm = rms_norm(eps);
  layer.feedforward = glu(read_activation(draft, activation_key, activation), false);
  layer.mixer.pattern = causal();
  draft.architecture.output.norm = rms_norm(eps);
  make_decoder(draft);
  add_rotary(draft, layer, rotary_part);
  return layer;
}

LayerSpec make_llama_layer(Draft& draft, double default_eps) {
  return make_llama_layer(draft, default_eps, {"hidden_act"}, "silu");
}

std::vector<bool> read_sliding_layers(Draft& draft, std::int64_t layers, std::optional<std::int64_t> window,
                                      const std::function<bool(std::int64_t)>& by_interval) {
  const auto types = read_layer_types(draft, layers, {"full_attention", "sliding_attention"});
  std::vector<bool> sliding;
  for (std::int64_t k = 0; k < layers; ++k) {
    sliding.push_back(types ? (*types)[static_cast<std::size_t>(k)] == "sliding_attention" : by_interval(k));
    if (sliding.back() && !window)
      draft.config.fail("sliding_window", fmt::format("a window, because layer {} slides", k),
                        draft.config.has("sliding_window") ? "none" : "nothing");
  }
  return sliding;
}

void add_windowed_layers(Draft& draft, LayerSpec layer, const std::vector<bool>& sliding, std::optional<std::int64_t> window) {
  for (const bool slides : sliding) {
    layer.mixer.pattern = slides ? causal_window(*window) : causal();
    draft.layers.push_back(layer);
  }
}

std::optional<std::int64_t> read_switched_window(const Draft& draft) {
  const ConfigView& config = draft.config;
  (void)config.value("sliding_window");
  const bool may_slide = config.flag({"use_sliding_window"}, false);
  const auto types = config.texts("layer_types");
  if (!may_slide && types && std::find(types->begin(), types->end(), "sliding_attention") != types->end())
    config.fail("use_sliding_window", "true, because layer_types has sliding layers", config.has("use_sliding_window") ? "false" : "nothing");
  return may_slide ? config.optional_integer({"sliding_window"}, 4096) : std::nullopt;
}

void check_clip(const Draft& draft) {
  const nlohmann::json* bound = draft.config.value("clip_qkv");
  if (bound != nullptr && !bound->is_null() && draft.config.number({"clip_qkv"}, 0) == 0)
    draft.config.fail("clip_qkv", "a number > 0, or null (0 switches attention off)");
}

Feedforward read_experts(const Draft& draft, const LayerSpec& layer, bool bias, std::int64_t count, std::int64_t top_k,
                         const ExpertKeys& keys) {
  const std::int64_t total = draft.config.integer(keys.count, count);
  const std::int64_t used = draft.config.integer(keys.used, top_k);
  if (used > total) draft.config.fail(*keys.used.begin(), fmt::format("at most the {} experts", total));
  return experts(layer.feedforward.activation, bias, total, used);
}

void apply_sparse_steps(Draft& draft, std::vector<LayerSpec>& layers, const Feedforward& dense, const Feedforward& mixture) {
  const std::int64_t step = draft.config.integer({"decoder_sparse_step"}, 1);
  const auto listed = draft.config.integers("mlp_only_layers", 0).value_or(std::vector<std::int64_t>{});
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto index = static_cast<std::int64_t>(k);
    const bool is_dense = (index + 1) % step != 0 || std::find(listed.begin(), listed.end(), index) != listed.end();
    layers[k].feedforward = is_dense ? dense : mixture;
  }
}

namespace {

// no_rope_layers: 1 = rotary, 0 = no positions; missing, null and (as the library has it for Llama 4) empty: every 4th has none.
std::vector<bool> read_rotary_layers(const Draft& draft, std::int64_t layers, bool empty_is_default) {
  const std::int64_t interval = draft.config.interval({"no_rope_layer_interval"}, 4);
  const auto listed = draft.config.integers("no_rope_layers", 0);
  std::vector<bool> rotary;
  if (listed && listed->empty() && !empty_is_default)
    draft.config.fail("no_rope_layers", fmt::format("one entry for each of the {} layers", layers));
  if (listed && !listed->empty() && static_cast<std::int64_t>(listed->size()) < layers)
    draft.config.fail("no_rope_layers", fmt::format("one entry for each of the {} layers", layers));
  for (std::int64_t k = 0; k < layers; ++k)
    rotary.push_back(listed && !listed->empty() ? (*listed)[static_cast<std::size_t>(k)] != 0 : (k + 1) % interval != 0);
  return rotary;
}

// OLMo 2 and 3: RMSNorm after each branch alone. Returns the layer count.
std::int64_t read_olmo2_layer(Draft& draft, LayerSpec& layer) {
  layer = make_llama_layer(draft, 1e-5);
  layer.norm.place = NormPlace::after;
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 50304, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  return layers;
}

// Cohere's decoders: one LayerNorm without bias feeds attention and feedforward side by side. Returns the layer count.
std::int64_t read_cohere_layer(Draft& draft, LayerSpec& layer) {
  layer = make_llama_layer(draft);
  const double eps = draft.config.number({"layer_norm_eps"}, 1e-5);
  layer.norm = layer_norm(eps);
  draft.architecture.output.norm = layer_norm(eps);
  draft.architecture.block.arrangement = architecture::Arrangement::parallel;
  draft.assume("norms: LayerNorm without bias, modelled with gain and bias");
  const std::int64_t layers = read_sizes(draft, layer, {40, 8192, 64, 256000, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 8192, Limit::advice);
  return layers;
}

void reject_bidirectional(const Draft& draft) {
  if (draft.config.flag_or_null({"use_bidirectional_attention"}, false))
    draft.config.fail("use_bidirectional_attention", "false (what true does here depends on the attention implementation)");
}

}  // namespace

void import_llama(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft);
  if (draft.config.flag({"mlp_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 32000});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  add_layers(draft, layer, layers);
}

void import_mistral(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft);
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 32000, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  apply_single_window(draft, layer, 4096);
  add_layers(draft, layer, layers);
}

// Llama with four numbers that scale the embedding, the skip, the attention's scores and the logits.
void import_granite(Draft& draft) {
  for (const std::string_view key : {"embedding_multiplier", "residual_multiplier", "attention_multiplier", "logits_scaling"})
    if (draft.config.number({key}, 1) == 0) draft.config.fail(key, "a number > 0 (0 switches a part of the model off)");
  import_llama(draft);
}

// A LayerNorm without gain and bias in every place, eps fixed.
void import_olmo(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft);
  layer.norm = layer_norm(1e-5);
  layer.norm.affine = false;
  draft.architecture.output.norm = layer.norm;
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 50304});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  check_clip(draft);
  add_layers(draft, layer, layers);
}

void import_mixtral(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 32000, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  apply_single_window(draft, layer, std::nullopt);
  layer.feedforward = read_experts(draft, layer, false, 8, 2);
  add_layers(draft, layer, layers);
}

void import_phi3(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5, {"hidden_act"}, "silu", 1.0);
  const std::int64_t layers = read_sizes(draft, layer, {32, 3072, 32, 32064, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 4096, Limit::advice);
  apply_single_window(draft, layer, std::nullopt);
  add_layers(draft, layer, layers);
}

namespace {

void read_qwen2(Draft& draft, double eps, const Sizes& sizes, std::int64_t longest, std::int64_t first_window) {
  LayerSpec layer = make_llama_layer(draft, eps);
  const std::int64_t layers = read_sizes(draft, layer, sizes);
  read_tokens(draft, {"max_position_embeddings"}, longest, Limit::advice);
  const std::int64_t first_sliding = draft.config.interval({"max_window_layers"}, first_window, 0);
  const auto window = read_switched_window(draft);
  add_windowed_layers(
      draft, layer,
      read_sliding_layers(draft, layers, window, [&](std::int64_t k) { return window.has_value() && k >= first_sliding; }),
      window);
}

}  // namespace

void import_qwen2(Draft& draft) { read_qwen2(draft, 1e-6, {32, 4096, 32, 151936, HeadWidth::own}, 32768, 28); }

// Text tokens have the same place in time, height and width, so their angles are ordinary ones.
void import_qwen2_vl(Draft& draft) {
  const ConfigView& config = draft.config;
  read_qwen2(draft, 1e-5, {80, 8192, 64, 152064, HeadWidth::own}, 32768, 80);
  // The angles are dealt out to the three, all of them.
  std::vector<std::int64_t> parts = {16, 24, 24};
  for (const std::string_view name : {"rope_scaling", "rope_parameters"}) {
    const nlohmann::json* settings = config.value(name);
    if (settings == nullptr || settings->is_null() || settings->empty()) continue;
    if (const auto given = settings->find("mrope_section"); given != settings->end()) parts = *ConfigView(config.file(), "", *settings).integers("mrope_section", 0);
    break;
  }
  const std::int64_t head = config.optional_integer({"head_dim"}, std::nullopt).value_or(draft.architecture.dim / draft.layers.front().mixer.heads);
  std::int64_t sum = 0;
  for (const std::int64_t part : parts) sum += part;
  if (sum != (head + 1) / 2)
    config.fail("rope_parameters", fmt::format("an mrope_section of {} angles, those of a head of width {}", (head + 1) / 2, head), fmt::format("{}", sum));
}

void import_qwen3_vl(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft);
  const std::int64_t layers = read_sizes(draft, layer, {32, 4096, 32, 151936, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 128000, Limit::advice);
  add_layers(draft, layer, layers);
}

void import_qwen3_moe(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft);
  const std::int64_t layers = read_sizes(draft, layer, {24, 2048, 32, 151936, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 32768, Limit::advice);
  (void)config.value("sliding_window");
  if (config.flag({"use_sliding_window"}, false)) apply_single_window(draft, layer, 4096);  // on every layer
  const Feedforward dense = layer.feedforward;
  const Feedforward mixture = read_experts(draft, layer, false, 128, 8);
  add_layers(draft, layer, layers);
  apply_sparse_steps(draft, draft.layers, dense, mixture);
}

void import_gemma(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-6, {"hidden_act"}, "gelu_pytorch_tanh");
  (void)draft.config.value("hidden_activation");  // an older name with the same meaning
  reject_bidirectional(draft);
  const std::int64_t layers = read_sizes(draft, layer, {28, 3072, 16, 256000, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 8192, Limit::advice);
  add_layers(draft, layer, layers);
}

void import_gemma2(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-6, {"hidden_activation"}, "gelu_pytorch_tanh");
  (void)draft.config.value("hidden_act");
  reject_bidirectional(draft);
  layer.norm.place = NormPlace::sandwich;
  const std::int64_t layers = read_sizes(draft, layer, {26, 2304, 8, 256000});
  read_tokens(draft, {"max_position_embeddings"}, 8192, Limit::advice);
  const std::int64_t window = draft.config.integer({"sliding_window"}, 4096);
  add_windowed_layers(draft, layer,
                      read_sliding_layers(draft, layers, window, [](std::int64_t k) { return (k + 1) % 2 != 0; }), window);
}

void import_gemma3(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft, 1e-6, {"hidden_activation"}, "gelu_pytorch_tanh");
  (void)config.value("hidden_act");
  layer.norm.place = NormPlace::sandwich;
  const std::int64_t layers = read_sizes(draft, layer, {26, 2304, 8, 262208});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  const bool bidirectional = config.flag_or_null({"use_bidirectional_attention"}, false);
  const std::int64_t size = config.integer({"sliding_window"}, 4096, bidirectional ? 0 : 1);
  const std::int64_t period = config.interval({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  const auto sliding = read_sliding_layers(draft, layers, size, [&](std::int64_t k) { return (k + 1) % period != 0; });
  if (!bidirectional) {
    add_windowed_layers(draft, layer, sliding, size);
    return;
  }
  // On loading the library turns the window into w div 2 + 1 and reads |i - j| below it.
  for (const bool slides : sliding) {
    layer.mixer.pattern = slides ? window(size / 2) : layout::PatternSpec{};
    draft.layers.push_back(layer);
  }
  draft.architecture.target.target_class = architecture::TargetClass::all;
  draft.assume("use_bidirectional_attention: no causal mask; local layers read half of sliding_window on each side");
}

void import_cohere(Draft& draft) {
  LayerSpec layer;
  const std::int64_t layers = read_cohere_layer(draft, layer);
  add_layers(draft, layer, layers);
}

void import_cohere2(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer;
  const std::int64_t layers = read_cohere_layer(draft, layer);
  const std::int64_t window = config.integer({"sliding_window"}, 4096);
  const std::int64_t period = config.interval({"sliding_window_pattern", "_sliding_window_pattern"}, 4);
  const RelativeScheme scheme = layer.mixer.relative.scheme;
  for (const bool slides :
       read_sliding_layers(draft, layers, window, [&](std::int64_t k) { return (k + 1) % period != 0; })) {
    layer.mixer.pattern = slides ? causal_window(window) : causal();
    layer.mixer.relative.scheme = slides ? scheme : RelativeScheme::none;
    draft.layers.push_back(layer);
  }
}

void import_smollm3(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft);
  if (config.flag({"mlp_bias"}, false)) layer.feedforward.bias = architecture::Bias::yes;
  const std::int64_t layers = read_sizes(draft, layer, {36, 2048, 16, 128256, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 32768, Limit::advice);
  const auto window = config.optional_integer({"sliding_window"}, std::nullopt);
  const bool may_slide = config.flag({"use_sliding_window"}, false) && window;
  const std::vector<bool> rotary = read_rotary_layers(draft, layers, false);
  const auto sliding = read_sliding_layers(
      draft, layers, window, [&](std::int64_t k) { return may_slide && !rotary[static_cast<std::size_t>(k)]; });
  for (std::size_t k = 0; k < sliding.size(); ++k) {
    layer.mixer.pattern = sliding[k] ? causal_window(*window) : causal();
    layer.mixer.relative.scheme = rotary[k] ? RelativeScheme::rotary : RelativeScheme::none;
    draft.layers.push_back(layer);
  }
}

void import_gpt_oss(Draft& draft) {
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {36, 2880, 64, 201088, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  layer.feedforward = read_experts(draft, layer, true, 128, 4);
  layer.mixer.sink = true;
  const std::int64_t window = draft.config.integer({"sliding_window"}, 128);
  add_windowed_layers(draft, layer,
                      read_sliding_layers(draft, layers, window, [](std::int64_t k) { return (k + 1) % 2 != 0; }), window);
  draft.assume("experts: the clamp of the gate (swiglu_limit) is not modelled");
}

void import_llama4(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_llama_layer(draft, 1e-5);
  const std::int64_t layers = read_sizes(draft, layer, {48, 5120, 40, 202048, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 131072, Limit::advice);
  const std::int64_t chunk = config.integer({"attention_chunk_size"}, 8192);
  const std::vector<bool> rotary = read_rotary_layers(draft, layers, true);
  const auto types = read_layer_types(draft, layers, {"full_attention", "chunked_attention"});
  const std::int64_t step = config.interval({"interleave_moe_layer_step"}, 1);
  const auto moe_layers = config.integers("moe_layers", 0);
  const Feedforward dense = layer.feedforward;
  const Feedforward mixture = read_experts(draft, layer, false, 16, 1);
  std::vector<bool> is_mixture(static_cast<std::size_t>(layers), false);
  for (std::size_t k = 0; k < is_mixture.size(); ++k) is_mixture[k] = !moe_layers && (static_cast<std::int64_t>(k) + 1) % step == 0;
  if (moe_layers)
    for (const std::int64_t k : *moe_layers)
      if (k < layers) is_mixture[static_cast<std::size_t>(k)] = true;

  for (std::size_t k = 0; k < is_mixture.size(); ++k) {
    const bool chunked = types ? (*types)[k] == "chunked_attention" : rotary[k];
    layer.mixer.pattern = chunked ? causal_chunk(chunk) : causal();
    layer.mixer.relative.scheme = rotary[k] ? RelativeScheme::rotary : RelativeScheme::none;
    layer.feedforward = is_mixture[k] ? mixture : dense;
    draft.layers.push_back(layer);
  }
  draft.assume("experts: the shared expert beside the routed ones is not modelled");
  const std::int64_t scale = config.integer({"floor_scale"}, 8192);
  const nlohmann::json* tuning = config.value("attn_temperature_tuning");
  const bool tuned = tuning == nullptr || (tuning->is_boolean() ? tuning->get<bool>() : tuning->is_number() && *tuning != 0);
  if (tuned && draft.architecture.tokens >= scale)
    draft.assume(fmt::format("query scale: in layers without positions it depends on the position from token {} on, which is not "
                             "modelled",
                             scale - 1));
}

void import_olmo2(Draft& draft) {
  LayerSpec layer;
  const std::int64_t layers = read_olmo2_layer(draft, layer);
  add_layers(draft, layer, layers);
}

void import_olmo3(Draft& draft) {
  LayerSpec layer;
  const std::int64_t layers = read_olmo2_layer(draft, layer);
  const std::int64_t window = draft.config.integer({"sliding_window"}, 4096);
  add_windowed_layers(draft, layer,
                      read_sliding_layers(draft, layers, window, [](std::int64_t k) { return (k + 1) % 4 != 0; }), window);
}

}  // namespace sightline::huggingface

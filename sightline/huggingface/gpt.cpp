// Decoders with LayerNorm and a plain feedforward.
#include <fmt/format.h>

#include "sightline/huggingface/families.hpp"

namespace sightline::huggingface {

namespace {

const SizeKeys gpt2_keys = {
    {"num_hidden_layers", "n_layer"}, {"hidden_size", "n_embd"}, {"num_attention_heads", "n_head"}};

// `n_embed`, an older name, wins where it stands; null says it does not.
const SizeKeys bloom_keys = {{"num_hidden_layers", "n_layer"}, {"hidden_size"}, {"num_attention_heads", "n_head"}};
const SizeKeys old_bloom_keys = {{"num_hidden_layers", "n_layer"}, {"n_embed", "hidden_size"}, {"num_attention_heads", "n_head"}};
const SizeKeys falcon_keys = {{"num_hidden_layers"}, {"hidden_size"}, {"num_attention_heads"}};
const SizeKeys old_falcon_keys = {{"num_hidden_layers"}, {"n_embed", "hidden_size"}, {"num_attention_heads"}};

// Pre-norm, causal, with a final norm: what all of this file but OPT 350m and one form of BLOOM are.
LayerSpec make_pre_norm_layer(Draft& draft, double eps, Feedforward feedforward) {
  LayerSpec layer;
  layer.norm = layer_norm(eps);
  layer.feedforward = std::move(feedforward);
  layer.mixer.pattern = causal();
  draft.architecture.output.norm = layer_norm(eps);
  make_decoder(draft);
  return layer;
}

void make_parallel(Draft& draft) { draft.architecture.block.arrangement = architecture::Arrangement::parallel; }

// attention_layers: a name per layer. The library writes it out from attention_types when it saves, and takes it for what it
// says when it loads, whatever attention_types says beside it.
std::optional<std::vector<bool>> read_attention_layers(Draft& draft, std::int64_t layers) {
  const auto names = draft.config.texts("attention_layers");
  if (!names) return std::nullopt;
  if (static_cast<std::int64_t>(names->size()) != layers)
    draft.config.fail("attention_layers", fmt::format("one entry for each of the {} layers", layers));
  std::vector<bool> local;
  for (std::size_t k = 0; k < names->size(); ++k) {
    if ((*names)[k] != "global" && (*names)[k] != "local")
      draft.config.fail(fmt::format("attention_layers/{}", k), "\"global\" or \"local\"", fmt::format("\"{}\"", printable((*names)[k])));
    local.push_back((*names)[k] == "local");
  }
  (void)draft.config.value("attention_types");
  return local;
}

// attention_types: [[["global", "local"], 12]], each list of names repeated, in order.
std::vector<bool> read_attention_types(const Draft& draft, std::int64_t layers) {
  constexpr std::string_view key = "attention_types";
  const std::string shape = "a list of [[\"global\" or \"local\", ...], count]";
  const nlohmann::json fallback = nlohmann::json::array({{{"global", "local"}, 12}});
  const nlohmann::json* value = draft.config.value(key);
  if (value == nullptr || value->is_null()) value = &fallback;
  if (!value->is_array()) draft.config.fail(key, shape);
  const std::string total = fmt::format("one entry for each of the {} layers (num_layers)", layers);
  std::vector<bool> local;
  for (std::size_t k = 0; k < value->size(); ++k) {
    const nlohmann::json& item = (*value)[k];
    const std::string place = fmt::format("{}/{}", key, k);
    if (!item.is_array() || item.size() != 2 || !item.front().is_array() || !item.back().is_number_integer() || item.back() < 0)
      draft.config.fail(place, "[[\"global\" or \"local\", ...], count]", describe(item));
    std::vector<bool> names;
    for (const nlohmann::json& name : item.front()) {
      if (name != "global" && name != "local") draft.config.fail(place + "/0", "\"global\" or \"local\"", describe(name));
      names.push_back(name == "local");
    }
    const auto count = item.back().get<std::uint64_t>();
    if (!names.empty() && count > static_cast<std::uint64_t>(layers))
      draft.config.fail(key, total, fmt::format("at least {}", count));
    for (std::uint64_t repeat = 0; repeat < count && !names.empty(); ++repeat) {
      local.insert(local.end(), names.begin(), names.end());
      if (static_cast<std::int64_t>(local.size()) > layers) draft.config.fail(key, total, fmt::format("{} or more", local.size()));
    }
  }
  if (static_cast<std::int64_t>(local.size()) != layers) draft.config.fail(key, total, fmt::format("{}", local.size()));
  return local;
}

/// gpt2 with another activation, vocabulary or length.
void read_gpt2(Draft& draft, Names activation_key, const std::string& activation, std::int64_t vocabulary, std::int64_t length) {
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_epsilon"}, 1e-5),
                                        mlp(read_activation(draft, activation_key, activation), true));
  draft.architecture.input.positions = Positions::learned;
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, vocabulary}, gpt2_keys);
  read_tokens(draft, {"max_position_embeddings", "n_positions"}, length, Limit::table);
  add_layers(draft, layer, layers);
}

}  // namespace

void import_gpt2(Draft& draft) { read_gpt2(draft, {"activation_function"}, "gelu_new", 50257, 1024); }

void import_gpt_bigcode(Draft& draft) { read_gpt2(draft, {"activation_function"}, "gelu_pytorch_tanh", 50257, 1024); }

// The first GPT: norms behind the sums, none at the end.
void import_openai_gpt(Draft& draft) {
  read_gpt2(draft, {"afn"}, "gelu", 40478, 512);
  for (LayerSpec& layer : draft.layers) layer.norm.place = NormPlace::post;
  draft.architecture.output.norm.reset();
}

void import_biogpt(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, 1e-5, mlp(read_activation(draft, {"hidden_act"}, "gelu"), true));
  draft.architecture.input.positions = Positions::learned;
  const std::int64_t layers = read_sizes(draft, layer, {24, 1024, 16, 42384});
  // The table has 2 rows more than the key says, as in OPT.
  read_tokens(draft, {"max_position_embeddings"}, 1024, Limit::table);
  add_layers(draft, layer, layers);
}

void import_xglm(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, 1e-5, mlp(read_activation(draft, {"activation_function"}, "gelu"), true));
  draft.architecture.input.positions = Positions::sinusoidal;
  const std::int64_t layers =
      read_sizes(draft, layer, {24, 1024, 16, 256008},
                 {{"num_hidden_layers", "num_layers"}, {"hidden_size", "d_model"}, {"num_attention_heads", "attention_heads"}});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  add_layers(draft, layer, layers);
}

// Salesforce's CTRL: sines for positions, ReLU, and norms whose eps the file does not change but the last.
void import_ctrl(Draft& draft) {
  attention_kernel::Activation relu;
  relu.name = "relu";
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_epsilon"}, 1e-6), mlp(relu, true));
  layer.norm = layer_norm(1e-6);
  draft.architecture.input.positions = Positions::sinusoidal;
  const std::int64_t layers = read_sizes(draft, layer, {48, 1280, 16, 246534}, gpt2_keys);
  read_tokens(draft, {"max_position_embeddings", "n_positions"}, 256, Limit::table);
  add_layers(draft, layer, layers);
}

// GPT-NeoX in sequence, without biases in the feedforward.
void import_gpt_neox_japanese(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_eps"}, 1e-5), mlp(read_activation(draft, {"hidden_act"}, "gelu"), false));
  const std::int64_t layers = read_sizes(draft, layer, {32, 2560, 32, 32000});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  (void)draft.config.value("intermediate_multiple_size");
  add_rotary(draft, layer, 1.0, "rotary_pct");
  add_layers(draft, layer, layers);
}

// GPT-J with fused projections that are cut into four parts.
void import_codegen(Draft& draft) {
  import_gptj(draft);
  const std::int64_t heads = draft.layers.front().mixer.heads;
  if (heads % 4 != 0) draft.config.fail("num_attention_heads", "a multiple of 4", fmt::format("{}", heads));
}

// CLIP's text encoder: a small GPT-2.
void import_clip_text(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_eps"}, 1e-5),
                                        mlp(read_activation(draft, {"hidden_act"}, "quick_gelu"), true));
  draft.architecture.input.positions = Positions::learned;
  const std::int64_t layers = read_sizes(draft, layer, {12, 512, 8, 49408});
  read_tokens(draft, {"max_position_embeddings"}, 77, Limit::table);
  add_layers(draft, layer, layers);
}

void import_gpt_neo(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_epsilon"}, 1e-5),
                                        mlp(read_activation(draft, {"activation_function"}, "gelu_new"), true));
  draft.architecture.input.positions = Positions::learned;
  const std::int64_t layers =
      read_sizes(draft, layer, {24, 2048, 16, 50257},
                 {{"num_hidden_layers", "num_layers"}, {"hidden_size"}, {"num_attention_heads", "num_heads"}});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::table);
  const std::int64_t size = draft.config.integer({"window_size"}, 256);
  auto listed = read_attention_layers(draft, layers);
  for (const bool local : listed ? *listed : read_attention_types(draft, layers)) {
    layer.mixer.pattern = local ? causal_window(size) : causal();
    draft.layers.push_back(layer);
  }
}

void import_gptj(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_epsilon"}, 1e-5),
                                        mlp(read_activation(draft, {"activation_function"}, "gelu_new"), true));
  make_parallel(draft);
  const std::int64_t layers = read_sizes(draft, layer, {28, 4096, 16, 50400}, gpt2_keys);
  // The rotary angles are a table of n_positions rows, so longer inputs fail although nothing is learned there.
  read_tokens(draft, {"max_position_embeddings", "n_positions"}, 2048, Limit::table);
  const std::int64_t turns = draft.config.integer({"rotary_dim"}, 64), head = draft.architecture.dim / layer.mixer.heads;
  if (turns % 2 != 0) draft.config.fail("rotary_dim", "an even number (coordinates turn in pairs)");
  if (turns > head)
    draft.config.fail("rotary_dim", fmt::format("at most {}, the width of a head", head),
                      fmt::format("{}{}", turns, draft.config.has("rotary_dim") ? "" : ", the library's default"));
  layer.mixer.relative.scheme = RelativeScheme::rotary;
  add_layers(draft, layer, layers);
}

void import_gpt_neox(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_eps"}, 1e-5),
                                        mlp(read_activation(draft, {"hidden_act"}, "gelu"), true));
  if (draft.config.flag({"use_parallel_residual"}, true)) make_parallel(draft);
  (void)draft.config.flag({"is_decoder"}, false);  // causal either way
  const std::int64_t layers = read_sizes(draft, layer, {44, 6144, 64, 50432});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  add_rotary(draft, layer, 0.25, "rotary_pct");
  add_layers(draft, layer, layers);
}

void import_opt(Draft& draft) {
  const ConfigView& config = draft.config;
  constexpr double eps = 1e-5;
  LayerSpec layer = make_pre_norm_layer(
      draft, eps, mlp(read_activation(draft, {"activation_function"}, "relu"), config.flag({"enable_bias"}, true)));
  draft.architecture.input.positions = Positions::learned;
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, 50272});
  // The table has 2 rows more than the key says; they are not part of the count.
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::table);
  layer.norm.affine = config.flag({"layer_norm_elementwise_affine"}, true);
  draft.architecture.output.norm->affine = layer.norm.affine;
  const bool norm_before = config.flag({"do_layer_norm_before"}, true);
  if (!norm_before) layer.norm.place = NormPlace::post;
  if (!norm_before || config.flag({"_remove_final_layer_norm"}, false)) draft.architecture.output.norm.reset();
  const std::int64_t dim = draft.architecture.dim;
  const std::int64_t width = config.optional_integer({"word_embed_proj_dim"}, std::nullopt).value_or(dim);
  if (width != dim)
    draft.assume(fmt::format("embedding: a table of width {} and a linear map to width {}, modelled as a table of width {}", width,
                             dim, dim));
  if (width < dim) {
    draft.architecture.output.dim = width;
    draft.assume(fmt::format("head: a linear map to width {} stands before it, so {} numbers per token are asked for", width, width));
  }
  add_layers(draft, layer, layers);
}

void import_bloom(Draft& draft) {
  const ConfigView& config = draft.config;
  const double eps = config.number({"layer_norm_epsilon"}, 1e-5);
  attention_kernel::Activation gelu;
  gelu.name = "gelu";
  LayerSpec layer = make_pre_norm_layer(draft, eps, mlp(gelu, true));
  draft.architecture.input.norm = layer_norm(eps);
  layer.mixer.relative.scheme = RelativeScheme::alibi;
  const std::int64_t layers = read_sizes(draft, layer, {2, 64, 8, 250880}, config.is_null("n_embed") ? bloom_keys : old_bloom_keys);
  require_tokens(draft, "bloom has no length in its config");
  if (config.flag({"apply_residual_connection_post_layernorm"}, false)) {
    // The skip carries the normed value, so seen from behind each norm the block is post-norm, and its last norm is ln_f.
    layer.norm.place = NormPlace::post;
    draft.architecture.output.norm.reset();
    draft.assume("apply_residual_connection_post_layernorm: the same maps as post-norm, whose last norm is the final one");
  }
  add_layers(draft, layer, layers);
}

void import_mpt(Draft& draft) {
  const ConfigView& config = draft.config;
  attention_kernel::Activation gelu;
  gelu.name = "gelu";
  LayerSpec layer = make_pre_norm_layer(draft, config.number({"layer_norm_epsilon"}, 1e-5), mlp(gelu, false));
  layer.mixer.relative.scheme = RelativeScheme::alibi;
  const std::int64_t layers =
      read_sizes(draft, layer, {24, 2048, 16, 50368},
                 {{"num_hidden_layers", "n_layers"}, {"hidden_size", "d_model"}, {"num_attention_heads", "n_heads"}});
  // The library builds its ALiBi biases for max_seq_len columns and cannot run beyond them.
  read_tokens(draft, {"max_seq_len"}, 2048, Limit::table);
  (void)config.value("attn_config");
  (void)config.value("learned_pos_emb");
  (void)config.value("no_bias");
  draft.assume("positions: ALiBi always; alibi, prefix_lm, qk_ln and learned_pos_emb are not consulted by the library");
  draft.assume("norms: LayerNorm without bias, modelled with gain and bias");
  add_layers(draft, layer, layers);
}

void import_falcon(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer =
      make_pre_norm_layer(draft, config.number({"layer_norm_epsilon"}, 1e-5),
                          mlp(read_activation(draft, {"activation"}, "gelu"), config.flag_or_null({"bias"}, false)));
  const std::int64_t layers = read_sizes(draft, layer, {32, 4544, 71, 65024}, config.is_null("n_embed") ? falcon_keys : old_falcon_keys);
  const bool new_decoder = config.flag_or_null({"new_decoder_architecture"}, false);
  const bool parallel = config.flag_or_null({"parallel_attn"}, true);
  if (new_decoder || parallel) make_parallel(draft);
  (void)config.value("num_ln_in_parallel_attn");
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  if (config.flag_or_null({"alibi"}, false))
    layer.mixer.relative.scheme = RelativeScheme::alibi;
  else
    add_rotary(draft, layer, std::nullopt);
  add_layers(draft, layer, layers);
}

void import_phi(Draft& draft) {
  LayerSpec layer = make_pre_norm_layer(draft, draft.config.number({"layer_norm_eps"}, 1e-5),
                                        mlp(read_activation(draft, {"hidden_act"}, "gelu_new"), true));
  make_parallel(draft);
  const std::int64_t layers = read_sizes(draft, layer, {24, 2048, 32, 51200, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  add_rotary(draft, layer, 0.5);
  add_layers(draft, layer, layers);
}

void import_starcoder2(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_pre_norm_layer(
      draft, config.number({"norm_epsilon"}, 1e-5),
      mlp(read_activation(draft, {"hidden_act"}, "gelu_pytorch_tanh"), config.flag({"use_bias"}, true)));
  const std::int64_t layers = read_sizes(draft, layer, {30, 3072, 24, 49152, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 4096, Limit::advice);
  add_rotary(draft, layer, std::nullopt);
  apply_single_window(draft, layer, std::nullopt);
  add_layers(draft, layer, layers);
}

}  // namespace sightline::huggingface

// Encoders whose layers all read everything.
#include <fmt/format.h>

#include "sightline/huggingface/families.hpp"

namespace sightline::huggingface {

namespace {

// What BERT's descendants share: ids and learned positions, summed and normed; post-norm layers without a final norm.
LayerSpec make_post_norm_layer(Draft& draft, double eps, attention_kernel::Activation activation) {
  LayerSpec layer;
  layer.norm = layer_norm(eps, NormPlace::post);
  layer.feedforward = mlp(std::move(activation), true);
  draft.architecture.input.positions = Positions::learned;
  draft.architecture.input.norm = layer_norm(eps);
  return layer;
}

void apply_is_decoder(Draft& draft, LayerSpec& layer) {
  if (!draft.config.flag({"is_decoder"}, false)) return;
  layer.mixer.pattern = causal();
  make_decoder(draft);
  draft.assume("is_decoder: attention is causal; cross-attention to another model is not modelled");
}

// A table of another width than the stream, its LayerNorm and a linear map behind it.
void assume_mapped_embedding(Draft& draft, std::string_view key, std::int64_t fallback) {
  const std::int64_t width = draft.config.integer({key}, fallback);
  if (width == draft.architecture.dim) return;
  // A LayerNorm of width 1 or 2 leaves at most one bit of a token, and the rules assume the table reaches every point.
  if (width < 3) draft.config.fail(key, "at least 3 (a LayerNorm of this width stands behind the table)");
  draft.assume(fmt::format("embedding: a table of width {}, its LayerNorm and a linear map to width {}, modelled as a table of "
                           "width {} with a LayerNorm",
                           width, draft.architecture.dim, draft.architecture.dim));
}

/// `may_decode`: does the type look at is_decoder?
void read_bert(Draft& draft, const Sizes& defaults, bool may_decode = true) {
  const double eps = draft.config.number({"layer_norm_eps"}, 1e-12);
  LayerSpec layer = make_post_norm_layer(draft, eps, read_activation(draft, {"hidden_act"}, "gelu"));
  const std::int64_t layers = read_sizes(draft, layer, defaults);
  if (may_decode) apply_is_decoder(draft, layer);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
  const nlohmann::json* positions = draft.config.value("position_embedding_type");
  if (positions != nullptr && *positions != "absolute")
    draft.assume("position_embedding_type: taken as absolute, as the library does today");
}

}  // namespace

void import_bert(Draft& draft) {
  read_bert(draft, {12, 768, 12, 30522});
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
}

namespace {

// Positions are counted from pad + 1 on, over ids that are not the pad id. No default: a file without a pad id is refused.
void reserve_pad(Draft& draft, std::optional<std::int64_t> default_pad, std::int64_t rows) {
  if (!default_pad && (!draft.config.has("pad_token_id") || draft.config.is_null("pad_token_id")))
    draft.config.fail("pad_token_id", "an integer >= 0 (positions are counted from behind it)");
  const std::int64_t pad = draft.config.integer({"pad_token_id"}, default_pad.value_or(0), 0);
  read_tokens(draft, {"max_position_embeddings"}, rows, Limit::table, pad + 1);
  draft.architecture.input.vocabulary = *draft.architecture.input.vocabulary - 1;
  draft.assume("vocabulary: vocab_size - 1 ordinary ids, because positions are counted over everything that is not the pad id");
}

void read_roberta(Draft& draft, std::int64_t vocabulary) {
  read_bert(draft, {12, 768, 12, vocabulary});
  reserve_pad(draft, 1, 512);
}

}  // namespace

void import_roberta(Draft& draft) { read_roberta(draft, 50265); }

void import_xlm_roberta(Draft& draft) { read_roberta(draft, 30522); }

// RoBERTa in whole numbers; only without them is it a function that the rules know.
void import_ibert(Draft& draft) {
  if (draft.config.flag({"quant_mode"}, false)) draft.config.fail("quant_mode", "false (whole-number arithmetic is not modelled)");
  (void)draft.config.value("force_dequant");
  if (draft.config.text({"hidden_act"}, "gelu") != "gelu") draft.config.fail("hidden_act", "\"gelu\", the only one that this type has");
  read_bert(draft, {12, 768, 12, 30522}, false);
  reserve_pad(draft, 1, 512);
}

// BERT with rotary positions in place of learned ones.
void import_roformer(Draft& draft) {
  const ConfigView& config = draft.config;
  read_bert(draft, {12, 768, 12, 50000});
  // The angles are a table of max_position_embeddings rows.
  read_tokens(draft, {"max_position_embeddings"}, 1536, Limit::table);
  draft.architecture.input.positions = Positions::none;
  const std::int64_t head = draft.architecture.dim / draft.layers.front().mixer.heads;
  if (head % 2 != 0) config.fail("num_attention_heads", fmt::format("heads of even width (coordinates turn in pairs), not {}", head), fmt::format("{}", draft.layers.front().mixer.heads));
  if (config.flag({"rotary_value"}, false)) config.fail("rotary_value", "false (values that turn with their position are not modelled)");
  for (LayerSpec& layer : draft.layers) layer.mixer.relative.scheme = RelativeScheme::rotary;
  if (config.has("embedding_size") && !config.is_null("embedding_size")) assume_mapped_embedding(draft, "embedding_size", draft.architecture.dim);
}

// BERT for answers to questions.
void import_splinter(Draft& draft) {
  read_bert(draft, {12, 768, 12, 30522}, false);
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
}

void import_electra(Draft& draft) {
  read_bert(draft, {12, 256, 4, 30522});
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
  assume_mapped_embedding(draft, "embedding_size", 128);
}

void import_bert_generation(Draft& draft) {
  read_bert(draft, {24, 1024, 16, 50358});
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
}

// The embedding is narrower than the stream, as in ELECTRA, under another name.
void import_rembert(Draft& draft) {
  read_bert(draft, {32, 1152, 18, 250300});
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
  assume_mapped_embedding(draft, "input_embedding_size", 256);
}

void import_albert(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_post_norm_layer(draft, config.number({"layer_norm_eps"}, 1e-12), read_activation(draft, {"hidden_act"}, "gelu_new"));
  const std::int64_t layers = read_sizes(draft, layer, {12, 4096, 64, 30000});
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
  assume_mapped_embedding(draft, "embedding_size", 128);
  const std::int64_t groups = config.integer({"num_hidden_groups"}, 1);
  const std::int64_t inner = config.integer({"inner_group_num"}, 1);
  if (groups > layers) config.fail("num_hidden_groups", fmt::format("at most the {} layers", layers));
  if (inner != 1) config.fail("inner_group_num", "1 (several layers that are repeated as a group are not modelled)");
  if (groups != 1 && groups != layers)
    config.fail("num_hidden_groups", fmt::format("1 or {} (weights that some layers share are not modelled)", layers));
  draft.architecture.block.tied = groups == 1 && layers > 1;
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
}

// Pre-norm with a final norm; some norm the embedding too.
namespace {

enum class EmbeddingNorm { present, absent };

void read_pre_norm_bert(Draft& draft, const Sizes& defaults, double default_eps, EmbeddingNorm embedding) {
  const double eps = draft.config.number({"layer_norm_eps"}, default_eps);
  LayerSpec layer = make_post_norm_layer(draft, eps, read_activation(draft, {"hidden_act"}, "gelu"));
  layer.norm.place = NormPlace::pre;
  draft.architecture.output.norm = layer_norm(eps);
  if (embedding == EmbeddingNorm::absent) draft.architecture.input.norm.reset();
  const std::int64_t layers = read_sizes(draft, layer, defaults);
  apply_is_decoder(draft, layer);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
}

}  // namespace

void import_megatron_bert(Draft& draft) {
  read_pre_norm_bert(draft, {24, 1024, 16, 29056}, 1e-12, EmbeddingNorm::absent);
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
}

void import_roberta_prelayernorm(Draft& draft) {
  read_pre_norm_bert(draft, {12, 768, 12, 50265}, 1e-12, EmbeddingNorm::present);
  reserve_pad(draft, 1, 512);
}

void import_xlm_roberta_xl(Draft& draft) {
  read_pre_norm_bert(draft, {36, 2560, 32, 250880}, 1e-5, EmbeddingNorm::absent);
  reserve_pad(draft, 1, 514);
}

// RoBERTa with T5's buckets beside its learned positions. The pad id is 1, whatever the file says.
void import_mpnet(Draft& draft) {
  const ConfigView& config = draft.config;
  constexpr std::int64_t pad = 1;
  LayerSpec layer = make_post_norm_layer(draft, config.number({"layer_norm_eps"}, 1e-12), read_activation(draft, {"hidden_act"}, "gelu"));
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, 30527});
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table, pad + 1);
  draft.architecture.input.vocabulary = *draft.architecture.input.vocabulary - 1;
  draft.assume("vocabulary: vocab_size - 1 ordinary ids, because positions are counted over everything that is not the pad id");
  layer.mixer.relative.scheme = RelativeScheme::t5;
  // The key sets the rows of the table; the bucket of a distance is computed for 32 of them all the same.
  layer.mixer.relative.buckets = 32;
  layer.mixer.relative.max_distance = 128;
  (void)config.integer({"relative_attention_num_buckets"}, 32, 32);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
  draft.assume("relative positions: one table of buckets serves all layers");
}

void import_esm(Draft& draft) {
  const ConfigView& config = draft.config;
  if (!config.has("vocab_size") || config.is_null("vocab_size")) config.fail("vocab_size", "the number of ids");
  read_pre_norm_bert(draft, {12, 768, 12, 33}, 1e-12, EmbeddingNorm::absent);
  const nlohmann::json* first = config.value("emb_layer_norm_before");
  if (first != nullptr && !first->is_null() && config.flag({"emb_layer_norm_before"}, false))
    draft.architecture.input.norm = draft.architecture.output.norm;
  const std::string positions = config.text({"position_embedding_type"}, "absolute");
  if (positions == "absolute") {
    reserve_pad(draft, std::nullopt, 1026);
  } else {
    if (positions != "rotary") config.fail("position_embedding_type", "\"absolute\" or \"rotary\"");
    (void)config.value("rope_theta");
    draft.architecture.input.positions = Positions::none;
    read_tokens(draft, {"max_position_embeddings"}, 1026, Limit::advice);
    for (LayerSpec& layer : draft.layers) layer.mixer.relative.scheme = RelativeScheme::rotary;
  }
  if (config.flag({"token_dropout"}, false))
    draft.assume("token_dropout: without mask ids in the input the embedding is scaled by one number");
}

// Llama's block that reads everything.
void import_eurobert(Draft& draft) {
  LayerSpec layer;
  const double eps = draft.config.number({"rms_norm_eps"}, 1e-5);
  layer.norm = rms_norm(eps);
  layer.feedforward = glu(read_activation(draft, {"hidden_act"}, "silu"), draft.config.flag({"mlp_bias"}, false));
  draft.architecture.output.norm = rms_norm(eps);
  add_rotary(draft, layer, std::nullopt);
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, 128256, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 8192, Limit::advice);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
}

// BERT with rotary positions in place of learned ones, and a gated feedforward.
void import_nomic_bert(Draft& draft) {
  LayerSpec layer = make_post_norm_layer(draft, draft.config.number({"layer_norm_eps"}, 1e-12), read_activation(draft, {"hidden_act"}, "silu"));
  layer.feedforward = glu(layer.feedforward.activation, false);
  draft.architecture.input.positions = Positions::none;
  add_rotary(draft, layer, std::nullopt);
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, 30528, HeadWidth::own});
  read_tokens(draft, {"max_position_embeddings"}, 2048, Limit::advice);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
}

void import_distilbert(Draft& draft) {
  LayerSpec layer = make_post_norm_layer(draft, 1e-12, read_activation(draft, {"activation"}, "gelu"));
  const std::int64_t layers =
      read_sizes(draft, layer, {6, 768, 12, 30522},
                 {{"num_hidden_layers", "n_layers"}, {"hidden_size", "dim"}, {"num_attention_heads", "n_heads"}});
  if (draft.config.flag({"sinusoidal_pos_embds"}, false)) draft.architecture.input.positions = Positions::sinusoidal;
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
}

namespace {

struct T5Defaults {
  std::string_view type;
  Sizes sizes;
  std::string projection;
  std::string_view tables;  ///< who shares a table of buckets
};

void read_t5(Draft& draft, const T5Defaults& defaults) {
  const ConfigView& config = draft.config;
  const double eps = config.number({"layer_norm_epsilon"}, 1e-6);
  LayerSpec layer;
  layer.norm = rms_norm(eps);
  const std::string projection = config.text({"feed_forward_proj"}, defaults.projection);
  constexpr std::string_view gated = "gated-";
  const bool says_gated = projection.starts_with(gated);
  // Saved files repeat what feed_forward_proj says in two keys, and on loading those win.
  const bool is_gated = config.flag({"is_gated_act"}, says_gated);
  const bool is_repeated = config.has("dense_act_fn");
  const auto activation = is_repeated ? read_activation(draft, {"dense_act_fn"}, "relu")
                                      : to_activation(draft, "feed_forward_proj", says_gated ? projection.substr(gated.size()) : projection);
  layer.feedforward = is_gated ? glu(activation, false) : mlp(activation, false);

  const std::int64_t layers =
      read_sizes(draft, layer, defaults.sizes,
                 {{"num_hidden_layers", "num_layers"}, {"hidden_size", "d_model"}, {"num_attention_heads", "num_heads"}});
  layer.mixer.relative.scheme = RelativeScheme::t5;
  const bool is_decoder = config.flag({"is_decoder"}, false);
  // Half of the buckets of one direction are exact distances; there must be one, and max_distance must lie beyond them.
  const std::int64_t parts = is_decoder ? 2 : 4;
  layer.mixer.relative.buckets = config.integer({"relative_attention_num_buckets"}, 32, parts);
  layer.mixer.relative.max_distance =
      config.integer({"relative_attention_max_distance"}, 128, layer.mixer.relative.buckets / parts + 1);
  if (is_decoder) {
    layer.mixer.relative.bidirectional = false;
    layer.mixer.pattern = causal();
    make_decoder(draft);
    draft.assume("is_decoder: the decoder is imported; cross-attention to the encoder is not modelled");
  } else if (config.flag({"is_encoder_decoder"}, true)) {
    draft.assume("the config describes an encoder and a decoder: the encoder is imported");
  }
  // Old files name the training length, or null; nothing in the model stops at it.
  if (config.has("n_positions") && !config.is_null("n_positions"))
    read_tokens(draft, {"n_positions"}, 512, Limit::advice);
  else
    require_tokens(draft, fmt::format("{} has no length in its config", defaults.type));
  draft.architecture.output.norm = rms_norm(eps);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
  draft.assume(fmt::format("relative positions: {}; the end-of-sequence id is taken as an ordinary id", defaults.tables));
}

constexpr std::string_view one_table = "one table of buckets serves all layers";
constexpr Sizes mt5_sizes = {8, 512, 6, 250112, HeadWidth::own};

}  // namespace

void import_t5(Draft& draft) { read_t5(draft, {"t5", {6, 512, 8, 32128, HeadWidth::own}, "relu", one_table}); }

void import_mt5(Draft& draft) { read_t5(draft, {"mt5", mt5_sizes, "gated-gelu", one_table}); }

void import_umt5(Draft& draft) { read_t5(draft, {"umt5", mt5_sizes, "gated-gelu", "each layer has a table of buckets of its own"}); }

}  // namespace sightline::huggingface

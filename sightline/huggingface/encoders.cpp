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

void read_bert(Draft& draft, const Sizes& defaults) {
  const double eps = draft.config.number({"layer_norm_eps"}, 1e-12);
  LayerSpec layer = make_post_norm_layer(draft, eps, read_activation(draft, {"hidden_act"}, "gelu"));
  const std::int64_t layers = read_sizes(draft, layer, defaults);
  apply_is_decoder(draft, layer);
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

void read_roberta(Draft& draft, std::int64_t vocabulary) {
  read_bert(draft, {12, 768, 12, vocabulary});
  const std::int64_t pad = draft.config.integer({"pad_token_id"}, 1, 0);
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table, pad + 1);
  draft.architecture.input.vocabulary = *draft.architecture.input.vocabulary - 1;
  draft.assume("vocabulary: vocab_size - 1 ordinary ids, because positions are counted over everything that is not the pad id");
}

}  // namespace

void import_roberta(Draft& draft) { read_roberta(draft, 50265); }

void import_xlm_roberta(Draft& draft) { read_roberta(draft, 30522); }

void import_electra(Draft& draft) {
  read_bert(draft, {12, 256, 4, 30522});
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table);
  const std::int64_t width = draft.config.integer({"embedding_size"}, 128);
  if (width == draft.architecture.dim) return;
  // A LayerNorm of width 1 or 2 leaves at most one bit of a token, and the rules assume the table reaches every point.
  if (width < 3) draft.config.fail("embedding_size", "at least 3 (a LayerNorm of this width stands behind the table)");
  draft.assume(fmt::format("embedding: a table of width {}, its LayerNorm and a linear map to width {}, modelled as a table of "
                           "width {} with a LayerNorm",
                           width, draft.architecture.dim, draft.architecture.dim));
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

void import_t5(Draft& draft) {
  const ConfigView& config = draft.config;
  const double eps = config.number({"layer_norm_epsilon"}, 1e-6);
  LayerSpec layer;
  layer.norm = rms_norm(eps);
  const std::string projection = config.text({"feed_forward_proj"}, "relu");
  constexpr std::string_view gated = "gated-";
  const bool says_gated = projection.starts_with(gated);
  // Saved files repeat what feed_forward_proj says in two keys, and on loading those win.
  const bool is_gated = config.flag({"is_gated_act"}, says_gated);
  const bool is_repeated = config.has("dense_act_fn");
  const auto activation = is_repeated ? read_activation(draft, {"dense_act_fn"}, "relu")
                                      : to_activation(draft, "feed_forward_proj", says_gated ? projection.substr(gated.size()) : projection);
  layer.feedforward = is_gated ? glu(activation, false) : mlp(activation, false);

  const std::int64_t layers =
      read_sizes(draft, layer, {6, 512, 8, 32128, HeadWidth::own},
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
    require_tokens(draft, "t5 has no length in its config");
  draft.architecture.output.norm = rms_norm(eps);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
  draft.assume("relative positions: one table of buckets serves all layers; the end-of-sequence id is taken as an ordinary id");
}

}  // namespace sightline::huggingface

// Encoders of models that have a decoder beside it: BART and what grew out of it. The encoder alone is imported.
#include <fmt/format.h>

#include "sightline/huggingface/families.hpp"

namespace sightline::huggingface {

namespace {

enum class Normed { yes, no };

/// What tells them apart.
struct Translator {
  NormPlace place;        ///< behind the sums without a final norm, or before the branches with one
  Normed embedding;
  Positions positions;
  Limit limit;            ///< are there rows for max_position_embeddings alone?
  Sizes sizes;
  std::int64_t longest;
  std::string activation = "gelu";
};

void read_encoder(Draft& draft, const Translator& defaults) {
  constexpr double eps = 1e-5;
  LayerSpec layer;
  layer.norm = layer_norm(eps, defaults.place);
  layer.feedforward = mlp(read_activation(draft, {"activation_function"}, defaults.activation), true);
  if (defaults.place == NormPlace::pre) draft.architecture.output.norm = layer_norm(eps);
  if (defaults.embedding == Normed::yes) draft.architecture.input.norm = layer_norm(eps);
  draft.architecture.input.positions = defaults.positions;
  const std::int64_t layers = read_sizes(
      draft, layer, defaults.sizes,
      {{"num_hidden_layers", "encoder_layers"}, {"hidden_size", "d_model"}, {"num_attention_heads", "encoder_attention_heads"}});
  read_tokens(draft, {"max_position_embeddings"}, defaults.longest, defaults.limit);
  (void)draft.config.value("is_decoder");  // the decoder's word
  // The library builds the decoder too.
  if (draft.architecture.dim % draft.config.integer({"decoder_attention_heads"}, defaults.sizes.heads) != 0)
    draft.config.fail("decoder_attention_heads", fmt::format("a divisor of the width {}", draft.architecture.dim));
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
  draft.assume("the config describes an encoder and a decoder: the encoder is imported");
}

}  // namespace

// The tables of BART, mBART and PLBART have 2 rows more than the key says, as in OPT.
void import_bart(Draft& draft) {
  read_encoder(draft, {NormPlace::post, Normed::yes, Positions::learned, Limit::table, {12, 1024, 16, 50265}, 1024});
}

void import_plbart(Draft& draft) {
  read_encoder(draft, {NormPlace::post, Normed::yes, Positions::learned, Limit::table, {6, 768, 12, 50005}, 1024});
}

void import_mbart(Draft& draft) {
  read_encoder(draft, {NormPlace::pre, Normed::yes, Positions::learned, Limit::table, {12, 1024, 16, 50265}, 1024});
}

void import_blenderbot(Draft& draft) {
  read_encoder(draft, {NormPlace::pre, Normed::no, Positions::learned, Limit::table, {2, 2560, 32, 8008}, 128});
}

void import_marian(Draft& draft) {
  read_encoder(draft, {NormPlace::post, Normed::no, Positions::sinusoidal, Limit::table, {12, 1024, 16, 58101}, 1024});
}

void import_pegasus(Draft& draft) {
  read_encoder(draft, {NormPlace::pre, Normed::no, Positions::sinusoidal, Limit::table, {12, 1024, 16, 50265}, 1024});
}

// Its table of sines grows with the input. Positions are counted over ids that are not the pad id.
void import_m2m_100(Draft& draft) {
  read_encoder(draft, {NormPlace::pre, Normed::no, Positions::sinusoidal, Limit::advice, {12, 1024, 16, 128112}, 1024, "relu"});
  (void)draft.config.integer({"pad_token_id"}, 1, 0);
  draft.architecture.input.vocabulary = *draft.architecture.input.vocabulary - 1;
  draft.assume("vocabulary: vocab_size - 1 ordinary ids, because positions are counted over everything that is not the pad id");
}

}  // namespace sightline::huggingface

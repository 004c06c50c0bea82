// Encoders with sparse layers: Longformer, BigBird, ModernBERT.
#include <algorithm>

#include <fmt/format.h>

#include "sightline/huggingface/families.hpp"

namespace sightline::huggingface {

namespace {

LayerSpec make_bert_layer(Draft& draft, double eps, const std::string& activation) {
  LayerSpec layer;
  layer.norm = layer_norm(eps, NormPlace::post);
  layer.feedforward = mlp(read_activation(draft, {"hidden_act"}, activation), true);
  draft.architecture.input.positions = Positions::learned;
  draft.architecture.input.norm = layer_norm(eps);
  return layer;
}

// attention_window: one total width, or one per layer.
std::vector<std::int64_t> read_attention_windows(Draft& draft, std::int64_t layers) {
  const ConfigView& config = draft.config;
  const nlohmann::json* value = config.value("attention_window");
  std::vector<std::int64_t> widths;
  if (value != nullptr && value->is_array()) {
    widths = *config.integers("attention_window", 1);
    if (static_cast<std::int64_t>(widths.size()) != layers)
      config.fail("attention_window", fmt::format("one width, or one for each of the {} layers", layers));
  } else {
    widths.assign(static_cast<std::size_t>(layers), config.integer({"attention_window"}, 512));
  }
  for (const std::int64_t width : widths)
    if (width % 2 != 0) config.fail("attention_window", "even widths (half of it on each side)", fmt::format("{}", width));
  // The input is padded to whole stretches of the widest, and every layer cuts it into stretches of its own.
  const std::int64_t widest = *std::max_element(widths.begin(), widths.end());
  const std::int64_t padded = (draft.architecture.tokens + widest - 1) / widest * widest;
  const auto uneven = std::find_if(widths.begin(), widths.end(), [&](std::int64_t width) { return padded % width != 0; });
  if (uneven != widths.end())
    draft.assume(fmt::format("attention_window: the library stops at this length ({} does not divide {}, the length padded to the "
                             "widest); what it would see is answered",
                             *uneven, padded));
  return widths;
}

std::vector<std::int64_t> read_global_tokens(const Draft& draft) {
  std::vector<std::int64_t> global = draft.options.global;
  std::sort(global.begin(), global.end());
  global.erase(std::unique(global.begin(), global.end()), global.end());
  for (const std::int64_t token : global)
    if (token < 0 || token >= draft.architecture.tokens)
      draft.config.fail_option("--global", fmt::format("token indices 0 .. {}", draft.architecture.tokens - 1),
                               fmt::format("{}", token));
  return global;
}

}  // namespace

void import_longformer(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_bert_layer(draft, config.number({"layer_norm_eps"}, 1e-12), "gelu");
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, 30522});
  const std::int64_t pad = config.integer({"pad_token_id"}, 1, 0);
  read_tokens(draft, {"max_position_embeddings"}, 512, Limit::table, pad + 1);
  draft.architecture.input.vocabulary = *draft.architecture.input.vocabulary - 1;

  const std::vector<std::int64_t> global = read_global_tokens(draft);
  for (const std::int64_t width : read_attention_windows(draft, layers)) {
    layer.mixer.pattern = window(width / 2);
    layer.mixer.pattern.global = global;
    draft.layers.push_back(layer);
  }
  draft.assume("vocabulary: vocab_size - 1 ordinary ids, because positions are counted over everything that is not the pad id");
  if (global.empty())
    draft.assume("global tokens: none (they are chosen when the model runs; give them with --global)");
  else
    draft.assume("global tokens: their own query, key and value projections are not modelled, who reads whom is");
}

void import_big_bird(Draft& draft) {
  const ConfigView& config = draft.config;
  LayerSpec layer = make_bert_layer(draft, config.number({"layer_norm_eps"}, 1e-12), "gelu_new");
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, 50358});
  read_tokens(draft, {"max_position_embeddings"}, 4096, Limit::table);
  const std::int64_t tokens = draft.architecture.tokens;
  const std::int64_t block = config.integer({"block_size"}, 64);
  const std::int64_t random = config.integer({"num_random_blocks"}, 3, 0);
  const std::string type = config.text({"attention_type"}, "block_sparse");
  if (type != "block_sparse" && type != "original_full")
    config.fail("attention_type", "\"block_sparse\" or \"original_full\"");
  const bool is_decoder = config.flag({"is_decoder"}, false);
  const bool is_short = tokens / block < 5 + 2 * random || (tokens / block == 5 + 2 * random && tokens % block == 0);

  if (type == "original_full" || is_short) {
    if (type == "block_sparse")
      draft.assume(fmt::format("attention: full, because {} tokens are at most (5 + 2*{})*{}, whatever attention_type says",
                               tokens, random, block));
    if (is_decoder) {
      layer.mixer.pattern = causal();
      make_decoder(draft);
      draft.assume("is_decoder: attention is causal; cross-attention to another model is not modelled");
    }
    draft.layers.assign(static_cast<std::size_t>(layers), layer);
    return;
  }

  if (random == 0) config.fail("num_random_blocks", "at least 1 (the library cannot run block-sparse attention without)", "0");
  if (is_decoder)
    draft.assume("is_decoder: has no effect on block-sparse attention in the library, so tokens read later ones too");
  const std::int64_t padded = (tokens + block - 1) / block * block;
  if (padded > config.integer({"max_position_embeddings"}, 4096))
    config.fail("max_position_embeddings", fmt::format("at least {} (the input is padded to whole blocks)", padded));
  const bool training = draft.options.mode == "train";
  layer.mixer.pattern.kind = layout::PatternKind::bigbird;
  layer.mixer.pattern.block = block;
  layer.mixer.pattern.random_blocks = random;
  layer.mixer.pattern.variant = "huggingface";
  layer.mixer.pattern.mode = draft.options.mode;
  for (std::int64_t k = 0; k < layers; ++k) {
    layer.mixer.pattern.seed = training ? static_cast<std::uint64_t>(k) : 0;
    draft.layers.push_back(layer);
  }
  draft.assume(training ? "random blocks: drawn anew for every head, NumPy seeded with the layer index (training)"
                        : "random blocks: in evaluation each of them is one more copy of block 0; --mode train draws them");
}

namespace {

enum class Direction { both, backward };

void read_modernbert(Draft& draft, Direction direction) {
  const ConfigView& config = draft.config;
  const double eps = config.number({"norm_eps"}, 1e-5);
  LayerSpec layer;
  layer.norm = layer_norm(eps);
  layer.feedforward = glu(read_activation(draft, {"hidden_activation"}, "gelu"), config.flag({"mlp_bias"}, false));
  const std::int64_t layers = read_sizes(draft, layer, {22, 768, 12, 50368});
  read_tokens(draft, {"max_position_embeddings"}, 8192, Limit::advice);
  add_rotary(draft, layer, std::nullopt);
  draft.architecture.input.norm = layer_norm(eps);
  draft.architecture.output.norm = layer_norm(eps);

  const std::int64_t every = config.interval({"global_attn_every_n_layers"}, 3);
  // `sliding_window`, one side of the window, is the library's other name for it and wins.
  const std::int64_t total = config.integer({"local_attention"}, 128, 0);
  const std::int64_t radius = config.integer({"sliding_window"}, total / 2, direction == Direction::both ? 0 : 1);
  const auto types = read_layer_types(draft, layers, {"full_attention", "sliding_attention"});
  for (std::int64_t k = 0; k < layers; ++k) {
    const bool full = types ? (*types)[static_cast<std::size_t>(k)] == "full_attention" : k % every == 0;
    if (direction == Direction::backward)
      layer.mixer.pattern = full ? causal() : causal_window(radius);
    else
      layer.mixer.pattern = full ? layout::PatternSpec{} : window(radius);
    draft.layers.push_back(layer);
  }
  draft.assume("norms: the attention of layer 0 reads the embedding's LayerNorm directly; a second norm changes nothing");
  if (!config.flag({"norm_bias"}, false)) draft.assume("norms: LayerNorm without bias, modelled with gain and bias");
}

}  // namespace

void import_modernbert(Draft& draft) { read_modernbert(draft, Direction::both); }

// The window of its local layers is half of local_attention and counts the own token.
void import_modernbert_decoder(Draft& draft) {
  read_modernbert(draft, Direction::backward);
  make_decoder(draft);
}

}  // namespace sightline::huggingface

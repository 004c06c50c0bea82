// Image models: tokens are patches, vectors instead of ids.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/huggingface/families.hpp"

namespace sightline::huggingface {

namespace {

void check_patch_count(const Draft& draft, std::int64_t height, std::int64_t width) {
  constexpr std::int64_t most_tokens = std::int64_t{1} << 31;
  if (height < 1 || width < 1) draft.config.fail("image_size", "an image of at least one patch");
  if (height > most_tokens / width) draft.config.fail("image_size", "fewer than 2^31 patches");
}

std::int64_t halve(std::int64_t side) { return (side + 1) / 2; }

// Blocks of window x window tokens; every second layer begins its blocks half a window further, cut at the border
// (the library shifts cyclically, then masks what came round).
layout::PatternSpec make_swin_pattern(std::int64_t height, std::int64_t width, std::int64_t window, bool shifted) {
  const std::int64_t side = std::min({height, width, window});
  layout::PatternSpec pattern;
  pattern.kind = layout::PatternKind::grid;
  pattern.shape = {height, width};
  pattern.grid_blocks = {side, side};
  const std::int64_t shift = window / 2;
  if (shifted && std::min(height, width) > window && shift > 0) pattern.grid_shift = {shift, shift};
  pattern.wrap = false;
  return pattern;
}

// What tells image encoders that read everything apart.
struct Vit {
  double eps;
  std::string activation;
  std::int64_t patch;
  std::int64_t extra;  ///< trained tokens in front of the patches
  std::string_view extra_name;
};

void read_vit(Draft& draft, const Vit& defaults) {
  const ConfigView& config = draft.config;
  const double eps = config.number({"layer_norm_eps"}, defaults.eps);
  LayerSpec layer;
  layer.norm = layer_norm(eps);
  layer.feedforward = mlp(read_activation(draft, {"hidden_act"}, defaults.activation), true);
  const std::int64_t layers = read_sizes(draft, layer, {12, 768, 12, 0});
  const auto [image_height, image_width] = config.pair("image_size", 224);
  const auto [patch_height, patch_width] = config.pair("patch_size", defaults.patch);
  const std::int64_t channels = config.integer({"num_channels"}, 3);
  const std::int64_t height = image_height / patch_height;
  const std::int64_t width = image_width / patch_width;
  check_patch_count(draft, height, width);
  const std::int64_t tokens = height * width + defaults.extra;
  if (draft.options.tokens && *draft.options.tokens != tokens)
    config.fail_option("--tokens", fmt::format("{} ({} x {} patches{}{})", tokens, height, width, defaults.extra > 0 ? " and " : "", defaults.extra_name),
                       fmt::format("{}", *draft.options.tokens));
  auto& input = draft.architecture.input;
  draft.architecture.tokens = tokens;
  input.embedding = architecture::Embedding::linear;
  input.dim = patch_height * patch_width * channels;
  input.dim_given = true;
  input.positions = Positions::learned;
  draft.architecture.output.norm = layer_norm(eps);
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
  if (defaults.extra == 1) draft.assume("tokens: the class token is token 0 and counts as a token; its vector is trained, not an input");
  if (defaults.extra == 2)
    draft.assume("tokens: the class token and the distillation token are tokens 0 and 1 and count as tokens; their vectors are trained, "
                 "not inputs");
}

constexpr std::string_view class_token = "the class token";

}  // namespace

void import_vit(Draft& draft) { read_vit(draft, {1e-12, "gelu", 16, 1, class_token}); }

void import_vit_msn(Draft& draft) { read_vit(draft, {1e-6, "gelu", 16, 1, class_token}); }

void import_deit(Draft& draft) { read_vit(draft, {1e-12, "gelu", 16, 2, "the class and distillation tokens"}); }

namespace {

void read_dinov2(Draft& draft, std::int64_t patch) {
  read_vit(draft, {1e-6, "gelu", patch, 1, class_token});
  // Positions of images that are no squares are made from those of a square of as many patches.
  const auto [height, width] = draft.config.pair("image_size", 224);
  const std::int64_t patches = draft.architecture.tokens - 1, side = std::llround(std::sqrt(static_cast<double>(patches)));
  if (height != width && side * side != patches)
    draft.config.fail("image_size", "a square, or a square number of patches", fmt::format("{} x {} ({} patches)", height, width, patches));
  if (!draft.config.flag({"use_swiglu_ffn"}, false)) return;
  attention_kernel::Activation silu;
  silu.name = "silu";
  for (LayerSpec& layer : draft.layers) layer.feedforward = glu(silu, true);
}

}  // namespace

void import_dinov2(Draft& draft) { read_dinov2(draft, 14); }

// Trained vectors beside the tokens, without positions, that read and are read by all.
void import_dinov2_with_registers(Draft& draft) {
  read_dinov2(draft, 16);
  constexpr std::int64_t most_registers = 1024;
  const std::int64_t registers = draft.config.integer({"num_register_tokens"}, 4, 0);
  if (registers > most_registers) draft.config.fail("num_register_tokens", fmt::format("at most {}", most_registers));
  for (std::int64_t r = 0; r < registers; ++r) draft.architecture.input.registers.push_back(fmt::format("r{}", r));
}

// A LayerNorm stands before the first layer; the last hidden state has none behind it.
void import_clip_vision(Draft& draft) {
  read_vit(draft, {1e-5, "quick_gelu", 32, 1, class_token});
  draft.architecture.input.norm = draft.architecture.output.norm;
  draft.architecture.output.norm.reset();
}

void import_siglip_vision(Draft& draft) { read_vit(draft, {1e-6, "gelu_pytorch_tanh", 16, 0, ""}); }

void import_swin(Draft& draft) {
  const ConfigView& config = draft.config;
  const auto [image_height, image_width] = config.pair("image_size", 224);
  const auto [patch_height, patch_width] = config.pair("patch_size", 4);
  const std::int64_t channels = config.integer({"num_channels"}, 3);
  const std::vector<std::int64_t> depths = config.integers("depths", 1).value_or(std::vector<std::int64_t>{2, 2, 6, 2});
  const std::vector<std::int64_t> heads = config.integers("num_heads", 1).value_or(std::vector<std::int64_t>{3, 6, 12, 24});
  const std::int64_t window = config.integer({"window_size"}, 7);
  const double eps = config.number({"layer_norm_eps"}, 1e-5);
  if (depths.empty() || depths.size() > 16) config.fail("depths", "1 .. 16 stages");
  if (heads.size() != depths.size()) config.fail("num_heads", fmt::format("one entry for each of the {} stages", depths.size()));

  // The stage is the one whose grid has as many tokens as asked for; merging halves the grid and doubles the width.
  std::int64_t height = (image_height + patch_height - 1) / patch_height;
  std::int64_t width = (image_width + patch_width - 1) / patch_width;
  check_patch_count(draft, height, width);
  std::size_t stage = 0;
  std::string grids;
  if (draft.options.tokens) {
    while (height * width != *draft.options.tokens) {
      grids += fmt::format("{}{}", grids.empty() ? "" : " or ", height * width);
      if (++stage == depths.size())
        config.fail_option("--tokens", fmt::format("{} (the grid of a stage)", grids), fmt::format("{}", *draft.options.tokens));
      height = halve(height);
      width = halve(width);
    }
  }

  auto& architecture = draft.architecture;
  const std::int64_t first_dim = config.integer({"embed_dim"}, 96);
  if (first_dim > std::int64_t{1} << 30) config.fail("embed_dim", "at most 2^30");
  architecture.tokens = height * width;
  architecture.dim = first_dim << stage;
  architecture.output.head = architecture::Head::linear;
  architecture.input.embedding = architecture::Embedding::linear;
  architecture.input.dim = stage == 0 ? patch_height * patch_width * channels : 2 * architecture.dim;
  architecture.input.dim_given = true;
  const bool absolute = config.flag({"use_absolute_embeddings"}, false);
  if (stage == 0) {
    architecture.input.norm = layer_norm(1e-5);
    if (absolute) architecture.input.positions = Positions::learned;
  }
  if (stage + 1 == depths.size()) architecture.output.norm = layer_norm(eps);

  LayerSpec layer;
  layer.norm = layer_norm(eps);
  layer.feedforward = mlp(read_activation(draft, {"hidden_act"}, "gelu"), true);
  layer.mixer.heads = heads[stage];
  if (architecture.dim % heads[stage] != 0)
    config.fail(fmt::format("num_heads/{}", stage), fmt::format("a divisor of the width {}", architecture.dim),
                fmt::format("{}", heads[stage]));
  layer.mixer.relative.scheme = RelativeScheme::learned;
  if (depths[stage] > 100'000) config.fail("depths", "at most 100000 layers in a stage");
  for (std::int64_t k = 0; k < depths[stage]; ++k) {
    layer.mixer.pattern = make_swin_pattern(height, width, window, k % 2 == 1);
    draft.layers.push_back(layer);
  }
  draft.assume(fmt::format("stage: number {} of {} ({} x {} tokens of width {}); patch merging between stages is not modelled",
                           stage + 1, depths.size(), height, width, architecture.dim));
  draft.assume("shifted windows: what came round the border is masked by -100 in the library, a weight of at most e^-100, and "
               "counts as not read");
  const std::int64_t side = std::min({height, width, window});
  if (height % side != 0 || width % side != 0)
    draft.assume("padding: the library fills the last windows with constant tokens, which are not modelled");
}

void import_detr(Draft& draft) {
  LayerSpec layer;
  layer.norm = layer_norm(1e-5, NormPlace::post);
  layer.feedforward = mlp(read_activation(draft, {"activation_function"}, "relu"), true);
  const std::int64_t layers = read_sizes(
      draft, layer, {6, 256, 8, 0},
      {{"num_hidden_layers", "encoder_layers"}, {"hidden_size", "d_model"}, {"num_attention_heads", "encoder_attention_heads"}});
  require_tokens(draft, "detr encodes a feature map whose size depends on the image");
  // Positions enter the logits only, so equal tokens keep equal values whatever their place: a bias per offset says just that.
  layer.mixer.relative.scheme = RelativeScheme::learned;
  draft.layers.assign(static_cast<std::size_t>(layers), layer);
  draft.assume("the encoder is imported; its tokens are the backbone's features after the projection to d_model");
  draft.assume("positions: added to queries and keys only, never to values; modelled as a trained bias per offset");
}

}  // namespace sightline::huggingface

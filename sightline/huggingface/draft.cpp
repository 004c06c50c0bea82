#include "sightline/huggingface/draft.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sightline::huggingface {

namespace {

constexpr std::int64_t most_layers = 100'000;
constexpr std::int64_t most_tokens = std::numeric_limits<std::int32_t>::max();

// The library's activation names and ours. The approximations of GELU share every property that the rules use.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> activations = {{
    {"gelu", "gelu"}, {"gelu_accurate", "gelu"}, {"gelu_fast", "gelu"}, {"gelu_new", "gelu"}, {"gelu_python", "gelu"},
    {"gelu_python_tanh", "gelu"}, {"gelu_pytorch_tanh", "gelu"}, {"quick_gelu", "gelu"}, {"relu", "relu"}, {"relu2", "relu2"},
    {"silu", "silu"}, {"swish", "silu"}, {"mish", "mish"}, {"tanh", "tanh"}, {"sigmoid", "sigmoid"},
    {"leaky_relu", "leaky_relu"}, {"linear", "identity"}, {"elu", "elu"}, {"softplus", "softplus"},
}};

void note_default(Draft& draft, Names names, std::string_view what, std::int64_t value) {
  if (std::none_of(names.begin(), names.end(), [&](std::string_view name) { return draft.config.has(name); }))
    draft.assume(fmt::format("{} is not in the file: the library's default {}", what, value));
}

// The name under which a size stands in the file, for an error.
std::string_view find_name(const Draft& draft, Names names) {
  const auto* found = std::find_if(names.begin(), names.end(), [&](std::string_view name) { return draft.config.has(name); });
  return found == names.end() ? *names.begin() : *found;
}

void check_heads(const Draft& draft, const SizeKeys& keys, std::int64_t heads, HeadWidth width) {
  const std::int64_t dim = draft.architecture.dim;
  if (width == HeadWidth::divides_dim && dim % heads != 0)
    draft.config.fail(find_name(draft, keys.heads), fmt::format("a divisor of the width {}", dim), fmt::format("{}", heads));
  const auto groups = draft.config.optional_integer({"num_key_value_heads"}, std::nullopt);
  if (groups && heads % *groups != 0)
    draft.config.fail("num_key_value_heads", fmt::format("a divisor of the {} heads", heads), fmt::format("{}", *groups));
}

}  // namespace

void check_unused_values(const Draft& draft) {
  const ConfigView config = draft.config;  // a copy: looking at a key here is no use of it, so it stays among the ignored ones
  for (const std::string_view width :
       {"intermediate_size", "intermediate_size_mlp", "ffn_dim", "ffn_hidden_size", "hidden_dim", "d_ff", "d_kv", "n_inner",
        "head_dim", "num_kv_heads", "encoder_ffn_dim", "expansion_ratio", "type_vocab_size"})
    (void)config.optional_integer({width}, std::nullopt);
  for (const std::string_view bound : {"attn_logit_softcapping", "final_logit_softcapping"})
    if (!config.is_null(bound)) (void)config.number({bound}, 0);
  for (const std::string_view flag : {"attention_bias", "qkv_bias", "qk_layernorm", "use_qk_norm", "add_cross_attention",
                                      "scale_attn_weights", "scale_attn_by_inverse_layer_idx", "tie_word_embeddings", "multi_query"})
    (void)config.flag_or_null({flag}, false);  // types that do not know a key take null for it
  if (const auto types = config.texts("layer_types"); types && types->size() != draft.layers.size())
    config.fail("layer_types", fmt::format("one entry for each of the {} layers", draft.layers.size()));
  const nlohmann::json* per_layer = config.value("per_layer_config");
  if (per_layer != nullptr && !per_layer->is_null() && *per_layer != nlohmann::json::object())
    config.fail("per_layer_config", "null (settings per layer other than layer_types are not modelled)");
}

std::int64_t read_layer_count(const Draft& draft, Names names, std::int64_t fallback) {
  const std::int64_t layers = draft.config.integer(names, fallback);
  if (layers > most_layers)
    draft.config.fail(*names.begin(), fmt::format("at most {} layers", most_layers), fmt::format("{}", layers));
  return layers;
}

std::int64_t read_sizes(Draft& draft, LayerSpec& layer, const Sizes& defaults, const SizeKeys& keys) {
  const ConfigView& config = draft.config;
  const std::int64_t layers = read_layer_count(draft, keys.layers, defaults.layers);
  draft.architecture.dim = config.integer(keys.dim, defaults.dim);
  layer.mixer.heads = config.integer(keys.heads, defaults.heads);
  check_heads(draft, keys, layer.mixer.heads, defaults.head_width);
  note_default(draft, keys.layers, "the number of layers", layers);
  note_default(draft, keys.dim, "the width", draft.architecture.dim);
  if (draft.front != Front::no_ids) {
    draft.architecture.input.embedding = architecture::Embedding::table;
    draft.architecture.input.vocabulary = config.integer({"vocab_size"}, defaults.vocabulary, 2);
  }
  draft.architecture.output.head = architecture::Head::linear;
  return layers;
}

void read_tokens(Draft& draft, Names names, std::int64_t fallback, Limit limit, std::int64_t reserved) {
  const ConfigView& config = draft.config;
  const std::int64_t rows = config.integer(names, fallback);
  const std::int64_t longest = rows - reserved;
  if (longest < 1)
    config.fail(*names.begin(), fmt::format("more than {} positions, because {} of them are reserved", reserved, reserved),
                fmt::format("{}", rows));
  const std::int64_t tokens = draft.options.tokens.value_or(longest);
  if (tokens < 1 || tokens > most_tokens)
    config.fail_option(draft.options.tokens ? "--tokens" : fmt::format("/{}", *names.begin()), fmt::format("a length of 1 .. {}", most_tokens),
                       fmt::format("{}", tokens));
  if (tokens > longest && limit == Limit::table)
    config.fail_option("--tokens",
                       fmt::format("at most {} (the position table has {} rows{})", longest, rows,
                                   reserved > 0 ? fmt::format(", {} reserved for padding", reserved) : ""),
                       fmt::format("{}", tokens));
  if (tokens > longest)
    draft.assume(fmt::format("length: {} tokens, although the config names {} as the longest", tokens, longest));
  draft.architecture.tokens = tokens;
}

void require_tokens(Draft& draft, const std::string& reason) {
  if (!draft.options.tokens) draft.config.fail_option("--tokens", fmt::format("a length ({})", reason), "nothing");
  if (*draft.options.tokens < 1 || *draft.options.tokens > most_tokens)
    draft.config.fail_option("--tokens", fmt::format("a length of 1 .. {}", most_tokens),
                             fmt::format("{}", *draft.options.tokens));
  draft.architecture.tokens = *draft.options.tokens;
}

Norm layer_norm(double eps, NormPlace place) { return {NormKind::layernorm, place, eps, true}; }

Norm rms_norm(double eps, NormPlace place) { return {NormKind::rmsnorm, place, eps, true}; }

attention_kernel::Activation to_activation(const Draft& draft, std::string_view key, const std::string& name) {
  const auto* row = std::find_if(activations.begin(), activations.end(), [&](const auto& pair) { return pair.first == name; });
  if (row == activations.end()) {
    std::vector<std::string_view> known;
    for (const auto& pair : activations) known.push_back(pair.first);
    draft.config.fail(key, fmt::format("an activation out of {}", fmt::join(known, ", ")),
                      fmt::format("\"{}\"", printable(name)));
  }
  attention_kernel::Activation activation;
  activation.name = row->second;
  return activation;
}

attention_kernel::Activation read_activation(const Draft& draft, Names names, const std::string& fallback) {
  return to_activation(draft, *names.begin(), draft.config.text(names, fallback));
}

Feedforward mlp(attention_kernel::Activation activation, bool bias) {
  Feedforward feedforward;
  feedforward.kind = architecture::FeedforwardKind::mlp;
  feedforward.activation = std::move(activation);
  feedforward.bias = bias ? architecture::Bias::yes : architecture::Bias::no;
  return feedforward;
}

Feedforward glu(attention_kernel::Activation activation, bool bias) {
  Feedforward feedforward = mlp(std::move(activation), bias);
  feedforward.kind = architecture::FeedforwardKind::glu;
  return feedforward;
}

Feedforward experts(attention_kernel::Activation activation, bool bias, std::int64_t count, std::int64_t top_k) {
  Feedforward feedforward = mlp(std::move(activation), bias);
  feedforward.kind = architecture::FeedforwardKind::moe;
  feedforward.expert = architecture::FeedforwardKind::glu;
  feedforward.experts = count;
  feedforward.top_k = top_k;
  return feedforward;
}

layout::PatternSpec causal() {
  layout::PatternSpec pattern;
  pattern.kind = layout::PatternKind::full;
  pattern.causal = true;
  return pattern;
}

layout::PatternSpec causal_window(std::int64_t window) {
  layout::PatternSpec pattern;
  pattern.kind = layout::PatternKind::window;
  pattern.before = window - 1;
  pattern.after = 0;
  return pattern;
}

layout::PatternSpec causal_chunk(std::int64_t size) {
  layout::PatternSpec pattern;
  pattern.kind = layout::PatternKind::blocks;
  pattern.size = size;
  pattern.causal = true;
  return pattern;
}

layout::PatternSpec window(std::int64_t radius) {
  layout::PatternSpec pattern;
  pattern.kind = layout::PatternKind::window;
  pattern.radius = radius;
  return pattern;
}

std::optional<std::vector<std::string>> read_layer_types(const Draft& draft, std::int64_t layers, Names allowed) {
  auto types = draft.config.texts("layer_types");
  if (!types) return std::nullopt;
  if (static_cast<std::int64_t>(types->size()) != layers)
    draft.config.fail("layer_types", fmt::format("one entry for each of the {} layers", layers));
  // An older name, which the library still takes.
  std::replace(types->begin(), types->end(), std::string("attention"), std::string("full_attention"));
  for (std::size_t k = 0; k < types->size(); ++k)
    if (std::find(allowed.begin(), allowed.end(), (*types)[k]) == allowed.end())
      draft.config.fail(fmt::format("layer_types/{}", k), fmt::format("one of {}", fmt::join(allowed, ", ")),
                        fmt::format("\"{}\"", printable((*types)[k])));
  return types;
}

void apply_single_window(Draft& draft, LayerSpec& layer, std::optional<std::int64_t> fallback) {
  const auto size = draft.config.optional_integer({"sliding_window"}, fallback);
  if (size) layer.mixer.pattern = causal_window(*size);
  const ConfigView config = draft.config;  // a copy: the key stays among the ignored ones
  const auto types = config.texts("layer_types");
  if (!types) return;
  const auto slides = std::find(types->begin(), types->end(), "sliding_attention");
  if (!size && slides != types->end())
    draft.config.fail("sliding_window", fmt::format("a window, because layer {} slides", slides - types->begin()),
                      draft.config.has("sliding_window") ? "none" : "nothing");
  draft.assume("layer_types: not consulted by this type, whose sliding_window applies to every layer");
}

void add_rotary(Draft& draft, LayerSpec& layer, std::optional<double> default_part, std::string_view key) {
  const ConfigView& config = draft.config;
  layer.mixer.relative.scheme = RelativeScheme::rotary;
  Draft::Rotary rotary{default_part.value_or(1), std::string(key)};
  bool is_scaled = false, is_inside = false;
  for (const std::string_view name : {"rope_scaling", "rope_parameters"}) {
    const nlohmann::json* settings = config.value(name);
    if (settings == nullptr || settings->is_null()) continue;
    if (!settings->is_object()) config.fail(name, "an object or null");
    for (const std::string_view kind : {"type", "rope_type"})
      if (const auto type = settings->find(kind); type != settings->end() && type->is_string()) is_scaled = *type != "default";
    if (const auto inner = settings->find("partial_rotary_factor"); inner != settings->end() && inner->is_number()) {
      rotary = {inner->get<double>(), fmt::format("{}/partial_rotary_factor", name), 0};
      is_inside = true;
    }
  }
  // null says nothing, as in the library.
  if ((default_part || is_scaled) && !is_inside && config.has(key) && !config.is_null(key)) rotary.part = config.number({key}, 1);
  if (default_part) draft.rotary = rotary;
  else if (is_scaled && rotary.part <= 0) config.fail(rotary.key, "a number > 0 (with this kind of scaling nothing would turn)", "0");
}

void check_rotary(Draft& draft) {
  if (!draft.rotary) return;
  const std::int64_t heads = std::max<std::int64_t>(draft.layers.front().mixer.heads, 1);
  const ConfigView config = draft.config;  // a copy: the key stays among those that play no part
  const std::int64_t head = config.optional_integer({"head_dim"}, std::nullopt).value_or(draft.rotary->head > 0 ? draft.rotary->head : draft.architecture.dim / heads);
  const double turns = draft.rotary->part * static_cast<double>(head);
  if (turns >= static_cast<double>(head) + 1)
    config.fail(draft.rotary->key, fmt::format("at most 1: the head has {} coordinates", head), fmt::format("{}", draft.rotary->part));
  if (turns >= 1) return;
  for (LayerSpec& layer : draft.layers)
    if (layer.mixer.relative.scheme == RelativeScheme::rotary) layer.mixer.relative.scheme = RelativeScheme::none;
  draft.assume("positions: the rotary part of each head is empty, so this model has none");
}

void add_layers(Draft& draft, const LayerSpec& layer, std::int64_t count) {
  draft.layers.assign(static_cast<std::size_t>(count), layer);
}

void make_decoder(Draft& draft) {
  if (!draft.config.flag_or_null({"is_causal"}, true))  // null counts as false there
    draft.config.fail("is_causal", "true (what false does depends on the attention implementation)");
  draft.architecture.target.target_class = architecture::TargetClass::causal;
}

}  // namespace sightline::huggingface

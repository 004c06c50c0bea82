#include "sightline/architecture/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "sightline/architecture/names.hpp"

namespace sightline::architecture {

using layout::PatternKind;
using layout::PatternSpec;

std::uint64_t Architecture::layer_count() const {
  std::uint64_t count = 0;
  for (const LayerSpec& layer : layers)
    count += static_cast<std::uint64_t>(layer.repeat);
  return count;
}

void fill_defaults(PatternSpec& spec) {
  switch (spec.kind) {
  case PatternKind::window:
    if (spec.before || spec.after) {
      spec.before = spec.before.value_or(0);
      spec.after = spec.after.value_or(0);
    }
    spec.wrap = spec.wrap.value_or(false);
    break;
  case PatternKind::grid: spec.wrap = spec.wrap.value_or(false); break;
  case PatternKind::shifted_blocks: spec.wrap = spec.wrap.value_or(true); break;
  case PatternKind::strided:
  case PatternKind::fixed:
    if (spec.variant.empty())
      spec.variant = "paper";
    if (spec.part.empty())
      spec.part = "merged";
    break;
  case PatternKind::bigbird:
    if (spec.variant.empty())
      spec.variant = "paper";
    if (spec.mode.empty())
      spec.mode = "train";
    spec.block = spec.block.value_or(64);
    spec.random_blocks = spec.random_blocks.value_or(3);
    spec.globals = spec.globals.value_or(2);
    break;
  default: break;
  }
  for (PatternSpec& part : spec.of)
    fill_defaults(part);
}

std::int64_t count_heads(const PatternSpec& spec) {
  if (spec.kind == PatternKind::per_head)
    return static_cast<std::int64_t>(spec.of.size());
  std::int64_t heads = 1;
  for (const PatternSpec& part : spec.of)
    heads = std::max(heads, count_heads(part));
  return heads;
}

namespace {

void forget_places(PatternSpec& spec) {
  spec.where.clear();
  for (PatternSpec& part : spec.of)
    forget_places(part);
}

bool same_mixer_apart_from_pattern(const Mixer& a, const Mixer& b) {
  return std::tie(a.kind, a.kernel, a.normalised, a.heads, a.top_k, a.sink, a.eps, a.value, a.query_key, a.relative, a.rank,
                  a.projections, a.projection_blocks, a.activation, a.taps) ==
         std::tie(b.kind, b.kernel, b.normalised, b.heads, b.top_k, b.sink, b.eps, b.value, b.query_key, b.relative, b.rank,
                  b.projections, b.projection_blocks, b.activation, b.taps);
}

bool same_pattern(const PatternSpec& a, const PatternSpec& b) {
  if (a.kind != b.kind || a.rows.size() != b.rows.size() || a.of.size() != b.of.size())
    return false;
  if (a.where == b.where)
    return a == b;
  PatternSpec left = a;
  PatternSpec right = b;
  forget_places(left);
  forget_places(right);
  return left == right;
}

}  // namespace

bool same_layer(const LayerSpec& a, const LayerSpec& b) {
  return a.feedforward == b.feedforward && a.norm == b.norm && same_mixer_apart_from_pattern(a.mixer, b.mixer) &&
         same_pattern(a.mixer.pattern, b.mixer.pattern);
}

void forget_unused(LayerSpec& layer) {
  const Mixer fresh;
  Mixer& mixer = layer.mixer;
  if (mixer.kind != MixerKind::linformer) {
    mixer.rank.reset();
    mixer.projections = fresh.projections;
    mixer.projection_blocks.clear();
  }
  // Scores are what positions turn or shift and what the largest of are kept.
  if (mixer.kind != MixerKind::attention && mixer.kind != MixerKind::linformer)
    mixer.top_k.reset();
  if (mixer.kind != MixerKind::attention)
    mixer.relative = fresh.relative;
  if (!uses_key(mixer.kind, "sink")) {
    mixer.sink = false;
    mixer.eps = 0;
  }
  if (layer.feedforward.kind == FeedforwardKind::none) {
    layer.feedforward = {};
    layer.feedforward.kind = FeedforwardKind::none;
  }
  if (mixer.kind != MixerKind::bias)
    mixer.activation = fresh.activation;
  if (mixer.kind != MixerKind::convolution)
    mixer.taps.clear();
  if (layer.feedforward.kind != FeedforwardKind::moe) {
    layer.feedforward.experts = 1;
    layer.feedforward.top_k = 1;
    layer.feedforward.expert = FeedforwardKind::mlp;
  }
}

Architecture to_normal_form(Architecture architecture) {
  if (architecture.input.dim == 0)
    architecture.input.dim = architecture.dim;
  architecture.input.dim_given = architecture.input.dim != architecture.dim;
  fill_defaults(architecture.mixer.pattern);
  std::vector<LayerSpec> layers;
  for (LayerSpec& layer : architecture.layers) {
    fill_defaults(layer.mixer.pattern);
    forget_unused(layer);
    if (!layers.empty() && layers.back().repeat + layer.repeat <= 2147483647 && same_layer(layer, layers.back()))
      layers.back().repeat += layer.repeat;
    else
      layers.push_back(std::move(layer));
  }
  architecture.layers = std::move(layers);
  return architecture;
}

bool same_architecture(const Architecture& left, const Architecture& right) {
  const auto comparable = [](const Architecture& architecture) {
    Architecture out = to_normal_form(architecture);
    out.target.symmetry_where.clear();
    out.input.file.clear();
    forget_places(out.mixer.pattern);
    for (LayerSpec& layer : out.layers)
      forget_places(layer.mixer.pattern);
    return out;
  };
  const Architecture a = comparable(left);
  const Architecture b = comparable(right);
  return a.name == b.name && a.tokens == b.tokens && a.dim == b.dim && a.depth == b.depth && a.target == b.target &&
         a.input == b.input && a.output == b.output && a.block == b.block && a.mixer == b.mixer &&
         a.feedforward == b.feedforward && a.norm == b.norm && a.layers == b.layers && a.train == b.train;
}

std::string locate(const Architecture& architecture, std::string_view where) {
  if (where.empty())
    return architecture.file;
  return fmt::format("{}{}{}", architecture.file, where.front() == '/' ? ": " : ":", where);
}

std::string locate(const Architecture& architecture, const PatternSpec& spec) { return locate(architecture, spec.where); }

std::string complete_message(const Architecture& architecture, std::string_view message) {
  // A message of a table that stands in no file begins with the ": " that follows its empty place.
  if (message.substr(0, 2) == ": ")
    message.remove_prefix(2);
  // A mask that was given as the architecture (certify MASK) names itself.
  if (!architecture.file.empty() && message.starts_with(architecture.file + ":"))
    return std::string(message);
  const auto place = message.substr(0, message.find_first_not_of("0123456789:"));
  const bool at_line = !place.empty() && place.front() != ':';
  if (!at_line)
    return fmt::format("{}: {}", architecture.file, message);
  // "12:11/radius: expected ...": a key below a place in TOML, where only the place is a position.
  if (message.size() > place.size() && message[place.size()] == '/')
    return fmt::format("{}:{}: {}", architecture.file, place, message.substr(place.size() + 1));
  return fmt::format("{}:{}", architecture.file, message);
}

}  // namespace sightline::architecture

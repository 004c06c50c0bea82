// What the published corollaries say when they are read literally, and whether their argument holds (format.md, `published`).
#include <algorithm>

#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

using namespace architecture;
using attention_kernel::Condition13;
using attention_kernel::KernelFacts;

namespace {

/// Everything outside the mixer that the published statements assume.
bool hypotheses_hold(const Context& context) {
  const Architecture& a = context.architecture;
  if (a.dim < 2 || a.block.arrangement != Arrangement::sequential || !a.block.residual || a.block.tied) return false;
  if (a.output.head != Head::none || a.output.norm || a.input.norm || a.input.embedding != Embedding::none) return false;
  if (a.input.positions == Positions::fixed || a.input.positions == Positions::sinusoidal || !a.input.registers.empty()) return false;
  if (a.input.domain != Domain::all) return false;
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const Mixer& m = a.layers[k].mixer;
    if (a.layers[k].norm.kind != NormKind::none || !context.facts.feedforward[k].definition2) return false;
    if (m.relative.scheme != RelativeScheme::none || m.sink || m.eps > 0 || m.top_k || m.query_key != QueryKey::free || m.value != ValueMap::free) return false;
  }
  return true;
}

bool has_good_kernel(const KernelFacts& kernel) {
  return kernel.analytic == Tri::yes && kernel.positive == Tri::yes && kernel.condition13 == Condition13::holds;
}

bool is_one_plain_pattern(const Context& context) {
  return std::all_of(context.layout.layers.begin(), context.layout.layers.end(), [&](const layout::Layer& layer) {
    return layer.relations.size() == 1 && context.layout.relations[layer.relations.front()].is_plain();
  });
}

bool is_full(const Context& context) {
  return context.every_row(&RowFacts::full);
}

template <class Predicate>
bool every_layer(const Context& context, Predicate predicate) {
  return std::all_of(context.architecture.layers.begin(), context.architecture.layers.end(), predicate);
}

/// Definition 3 for the bias mixer: analytic alpha, and moments enough for the longest row when alpha is a polynomial (3.11).
bool bias_mixer_distinguishes(const Context& context) {
  for (const LayerSpec& layer : context.architecture.layers) {
    const auto alpha = attention_kernel::compute_activation_facts(layer.mixer.activation, context.budget);
    if (alpha.analytic != Tri::yes) return false;
    if (alpha.polynomial == Tri::no) continue;
    if (alpha.polynomial != Tri::yes || !alpha.degree) return false;
    for (const layout::Relation& relation : context.layout.relations) {
      for (layout::Vertex i = 0; i < context.layout.tokens; ++i) {
        const std::uint64_t others = relation.pattern().degree(i) - (relation.pattern().reads(i, i) ? 1 : 0);
        if (others > *alpha.degree) return false;
      }
    }
  }
  return true;
}

}  // namespace

Published compute_published(const Context& context, const sight::Needed& pattern_needed) {
  Published result;
  const Answer& answer = context.answer;
  const bool connected = answer.connected && (!context.given || *context.given >= *answer.connected);
  // Monotone in G: the corollaries give the layout's own group, so a larger target (and a class that asks to depend on fewer
  // tokens) is covered too; a smaller group is not.
  if (!hypotheses_hold(context) || !connected || !context.target_contains(context.layout_group)) return result;
  bool distinguishes = true;
  if (every_layer(context, [](const LayerSpec& l) { return l.mixer.kind == MixerKind::attention; })) {
    const bool normalised = every_layer(context, [](const LayerSpec& l) { return l.mixer.normalised; });
    const bool good = std::all_of(context.facts.kernel.begin(), context.facts.kernel.end(), has_good_kernel);
    if (normalised && good && is_one_plain_pattern(context)) {
      result.theorem = is_full(context) ? "Corollary 1" : "Corollary 2";
    } else if (!normalised && is_full(context) && every_layer(context, [](const LayerSpec& l) { return !l.mixer.normalised; }) &&
               std::all_of(context.facts.kernel.begin(), context.facts.kernel.end(), [](const KernelFacts& k) { return k.is_gaussian; })) {
      result.theorem = "Corollary 3";
    }
  } else if (every_layer(context, [](const LayerSpec& l) {
               return l.mixer.kind == MixerKind::linformer && (l.mixer.projections == ProjectionKind::trained || l.mixer.projections == ProjectionKind::tied);
             })) {
    if (std::all_of(context.facts.kernel.begin(), context.facts.kernel.end(), has_good_kernel)) result.theorem = "Corollary 3";
  } else if (every_layer(context, [](const LayerSpec& l) {
               if (l.mixer.kind != MixerKind::convolution || l.mixer.taps.size() < 2) return false;
               auto taps = l.mixer.taps;
               std::sort(taps.begin(), taps.end());
               for (std::size_t k = 0; k < taps.size(); ++k) {
                 if (taps[k] != static_cast<std::int64_t>(k)) return false;
               }
               return true;
             })) {
    result.theorem = "Corollary 4";
  } else if (every_layer(context, [](const LayerSpec& l) { return l.mixer.kind == MixerKind::bias; }) &&
             std::none_of(context.facts.mixer.begin(), context.facts.mixer.end(), [](const MixerFacts& m) { return m.blind; }) &&
             is_one_plain_pattern(context)) {
    result.theorem = "Corollary 5";
    distinguishes = bias_mixer_distinguishes(context);
  }
  if (result.theorem.empty()) return result;
  result.verdict = PublishedVerdict::certified;
  result.layers = answer.connected;
  if (pattern_needed.layers) result.sound = distinguishes && pattern_needed.layers == answer.connected;
  else if (!distinguishes || pattern_needed.never || (pattern_needed.high > 0 && pattern_needed.low > *answer.connected)) result.sound = false;
  else result.sound.reset();
  return result;
}

}  // namespace sightline::verdict

#include "sightline/verdict/id_stack.hpp"

#include <fmt/format.h>

#include "sightline/sight/wanted.hpp"

namespace sightline::verdict {

using namespace architecture;
using sight::ClassKind;
using sight::RowRule;

namespace {

bool keeps_directions(const Norm& norm) {
  return norm.kind != NormKind::none && norm.eps == 0 && (norm.place == NormPlace::sandwich || norm.place == NormPlace::after);
}

/// Do rows whose weights agree up to a positive factor put out one direction? Where weights may be negative, a sink or eps may turn the sign of one
/// denominator and not of the other, and turned keys may weigh one state by either sign (docs/theory.md 16.83).
bool keeps_sign(const Mixer& mixer, bool positive) {
  const bool shifted = mixer.normalised && (mixer.sink || mixer.eps > 0);
  return positive || (!shifted && mixer.relative.scheme != RelativeScheme::rotary);
}

/// Does a positive factor common to the whole row cancel when only the direction of the output is kept (16.17)? Heads whose factors differ show how
/// they differ (docs/theory.md 16.81).
/// @param positive  the kernel is positive everywhere
bool cancels_in_direction(const Mixer& mixer, bool positive, bool plain, bool one_head) {
  switch (mixer.kind) {
    case MixerKind::attention:
      if (!keeps_sign(mixer, positive)) return false;
      return mixer.heads == 1 || (plain && one_head && !mixer.sink && mixer.eps == 0 && mixer.relative.scheme == RelativeScheme::none);
    case MixerKind::mean: return mixer.heads == 1 || (plain && one_head && !mixer.sink && mixer.eps == 0);
    case MixerKind::sum: return plain && one_head;
    case MixerKind::convolution: return true;
    default: return false;
  }
}

/// @param direction  only the direction of the row's output is kept, and common factors cancel in it
RowRule compute_rule(const Mixer& mixer, const layout::Relation& relation, bool softmax, bool direction) {
  if (direction && mixer.kind == MixerKind::convolution) return RowRule::learned;
  if (direction && mixer.kind == MixerKind::sum) return RowRule::frequency;
  switch (mixer.kind) {
    case MixerKind::max: return RowRule::set;
    case MixerKind::linformer: return RowRule::whole;
    case MixerKind::bias:
    case MixerKind::convolution:
    case MixerKind::linear:
    case MixerKind::sum:
    case MixerKind::lsh:
    case MixerKind::tokenwise: return RowRule::multiset;
    case MixerKind::mean: return !direction && (mixer.sink || mixer.eps > 0) ? RowRule::multiset : relation.pattern().has_one_colour() ? RowRule::frequency : RowRule::learned;
    case MixerKind::attention: break;
  }
  if (!direction && (!mixer.normalised || mixer.sink || mixer.eps > 0)) return RowRule::multiset;
  switch (mixer.relative.scheme) {
    case RelativeScheme::none: return relation.pattern().has_one_colour() ? RowRule::frequency : RowRule::learned;
    case RelativeScheme::rotary: return RowRule::rotary;
    case RelativeScheme::alibi: return softmax ? RowRule::alibi : RowRule::rotary;  // of other kernels only mu/gcd is known (15.8 l)
    case RelativeScheme::learned:
    case RelativeScheme::t5: return RowRule::learned;
  }
  return RowRule::frequency;
}

}  // namespace

Stack make_stack(const Context& context, ClassKind kind) {
  Stack stack{context, kind, context.layout, {}, {}, {}, {}};
  layout::Layout& layout = stack.layout;
  std::vector<std::optional<RowRule>> rules(layout.relations.size());
  stack.schemes.resize(layout.relations.size(), RelativeScheme::none);
  std::size_t position = 0;
  for (std::size_t k = 0; k < context.architecture.layers.size(); ++k) {
    const LayerSpec& spec = context.architecture.layers[k];
    layout::Layer layer = context.layout.layers[context.layout.order[position]];
    for (std::uint32_t& r : layer.relations) {
      const bool direction = keeps_directions(spec.norm) && cancels_in_direction(spec.mixer, context.facts.kernel[k].positive == Tri::yes, layout.relations[r].pattern().has_one_colour(), layer.relations.size() == 1);
      const RowRule rule = compute_rule(spec.mixer, layout.relations[r], context.facts.mixer[k].softmax, direction);
      if (rules[r] && (*rules[r] != rule || stack.schemes[r] != spec.mixer.relative.scheme)) {
        layout.relations.push_back(layout.relations[r]);
        rules.emplace_back();
        stack.schemes.push_back(spec.mixer.relative.scheme);
        r = static_cast<std::uint32_t>(layout.relations.size() - 1);
      }
      rules[r] = rule;
      stack.schemes[r] = spec.mixer.relative.scheme;
    }
    if (!(layer == layout.layers[layout.order[position]])) {
      layout.layers.push_back(layer);
      std::fill_n(layout.order.begin() + static_cast<std::ptrdiff_t>(position), spec.repeat, static_cast<std::uint32_t>(layout.layers.size() - 1));
    }
    position += static_cast<std::size_t>(spec.repeat);
  }
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    stack.rules.push_back(rules[r].value_or(RowRule::multiset));
    stack.exact_counts.push_back(stack.rules.back() == RowRule::multiset);
    stack.rows.push_back(compute_row_facts(layout.relations[r], layout.tokens, context.budget));
  }
  return stack;
}

bool are_directions_settled(const LayerSpec& layer, bool positive, const layout::Layout& layout, const layout::Layer& read) {
  if (!keeps_directions(layer.norm)) return true;
  const Mixer& mixer = layer.mixer;
  const bool average = (mixer.kind == MixerKind::attention && mixer.normalised) || mixer.kind == MixerKind::mean;
  if ((average && !mixer.sink && mixer.eps == 0) || mixer.kind == MixerKind::linformer || mixer.kind == MixerKind::max || mixer.kind == MixerKind::tokenwise) return true;
  const bool plain = std::all_of(read.relations.begin(), read.relations.end(), [&](std::uint32_t r) { return layout.relations[r].pattern().has_one_colour(); });
  return cancels_in_direction(mixer, positive, plain, read.relations.size() == 1);
}

IdLayers make_layers(std::uint64_t layers, std::string rule, std::vector<std::string> premises) {
  IdLayers result;
  result.layers = layers;
  result.premises = std::move(premises);
  result.rule = std::move(rule);
  return result;
}

}  // namespace sightline::verdict

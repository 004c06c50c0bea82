#include "sightline/verdict/id_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sightline/sight/wanted.hpp"
#include "sightline/verdict/additive.hpp"
#include "sightline/verdict/row_facts.hpp"

namespace sightline::verdict {

using namespace architecture;
using sight::ClassKind;
using sight::RowRule;

namespace {

/// Everything the closed forms look at, gathered once.
struct Stack {
  const Context& context;
  ClassKind kind;
  layout::Layout layout;             ///< the layout, with a relation written twice where layers read it by different rules or schemes
  std::vector<RowFacts> rows;        ///< per relation
  std::vector<RowRule> rules;        ///< per relation
  std::vector<RelativeScheme> schemes;  ///< per relation
  std::vector<bool> exact_counts;    ///< per relation: rows show multisets (L1), not frequencies

  [[nodiscard]] bool every_relation(bool RowFacts::*fact) const {
    return std::all_of(rows.begin(), rows.end(), [&](const RowFacts& f) { return f.*fact; });
  }
  [[nodiscard]] bool every_rule(RowRule rule) const {
    return std::all_of(rules.begin(), rules.end(), [&](RowRule r) { return r == rule; });
  }
  /// Depth at which `count` layers that mix have been passed: closed forms count those alone.
  [[nodiscard]] std::uint64_t after_mixing(std::uint64_t count) const {
    std::uint64_t depth = 0;
    while (count > 0) count -= layout.layer(++depth).relations.empty() ? 0 : 1;
    return depth;
  }
  [[nodiscard]] std::uint64_t n() const { return context.tokens(); }
  [[nodiscard]] bool bos() const { return context.architecture.input.bos; }
};

bool keeps_directions(const Norm& norm) {
  return norm.kind != NormKind::none && norm.eps == 0 && (norm.place == NormPlace::sandwich || norm.place == NormPlace::after);
}

/// Does a positive factor common to the whole row cancel when only the direction of the output is kept (16.17)?
bool cancels_in_direction(const Mixer& mixer, bool plain, bool one_head) {
  switch (mixer.kind) {
    case MixerKind::attention:
      return mixer.heads == 1 || (plain && one_head && !mixer.sink && mixer.eps == 0 && mixer.relative.scheme == RelativeScheme::none);
    case MixerKind::mean: return mixer.heads == 1 || plain;
    case MixerKind::sum: return plain;
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
    case MixerKind::mean: return !direction && (mixer.sink || mixer.eps > 0) ? RowRule::multiset : relation.pattern().is_plain() ? RowRule::frequency : RowRule::learned;
    case MixerKind::attention: break;
  }
  if (!direction && (!mixer.normalised || mixer.sink || mixer.eps > 0)) return RowRule::multiset;
  // L3 and L5 let factors cancel because exp turns a bias into a factor; of other kernels only mu/gcd is known (15.8 l).
  if (!softmax && mixer.relative.scheme != RelativeScheme::none) return RowRule::rotary;
  switch (mixer.relative.scheme) {
    case RelativeScheme::none: return relation.pattern().is_plain() ? RowRule::frequency : RowRule::learned;
    case RelativeScheme::rotary: return RowRule::rotary;
    case RelativeScheme::alibi: return RowRule::alibi;
    case RelativeScheme::learned:
    case RelativeScheme::t5: return RowRule::learned;
  }
  return RowRule::frequency;
}

/// A sum and a maximum over one pattern share its relation, but not what their rows reveal; rotary and learned positions with
/// a sink share relation and rule: such relations are split.
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
      const bool direction = keeps_directions(spec.norm) && cancels_in_direction(spec.mixer, layout.relations[r].pattern().is_plain(), layer.relations.size() == 1);
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

bool has_absolute_positions(const Architecture& a) { return a.input.positions != Positions::none; }

/// Positions that make all states (id, position) different: a fixed table may repeat a row.
bool positions_differ(const Context& context) {
  if (context.architecture.input.positions != Positions::fixed) return has_absolute_positions(context.architecture);
  const auto& colours = context.layout.vertex_colour;
  return std::set<std::uint64_t>(colours.begin(), colours.begin() + static_cast<std::ptrdiff_t>(context.tokens())).size() == context.tokens();
}

/// Does G exchange the ordinary tokens freely? Then targets ask for an id and the multiset of the others only.
bool target_is_symmetric(const Context& context) {
  const group::Membership member(context.target, context.budget);
  const auto n = static_cast<group::Point>(context.tokens());
  for (group::Point i = context.architecture.input.bos ? 1 : 0; i + 1 < n; ++i) {
    if (!member.contains(group::parse_cycles(fmt::format("({} {})", i, i + 1), n))) return false;
  }
  return true;
}

/// Do constant id sequences keep one label for ever (15.8 c)? Normalised rows, none empty, no sink, no registers, no BOS.
bool constants_merge(const Stack& stack) {
  const Architecture& a = stack.context.architecture;
  if (stack.n() < 2 || a.input.bos || has_absolute_positions(a) || !a.input.registers.empty()) return false;
  for (const LayerSpec& layer : a.layers) {
    const Mixer& m = layer.mixer;
    const bool averages = ((m.kind == MixerKind::attention && m.normalised) || m.kind == MixerKind::mean || m.kind == MixerKind::max) &&
                          !m.sink && m.eps == 0;
    if (!averages && m.kind != MixerKind::tokenwise) return false;
  }
  return stack.every_relation(&RowFacts::nonempty);
}

bool is_transitive(const group::Group& group) {
  return std::all_of(group.orbit.begin(), group.orbit.end(), [](group::Point least) { return least == 0; });
}

std::optional<IdLayers> try_constants(const Stack& stack) {
  if (!constants_merge(stack) || is_transitive(stack.context.target)) return std::nullopt;
  IdLayers result;
  result.never = true;
  const bool causal = stack.every_relation(&RowFacts::causal);
  result.rule = causal ? "constant-prefixes" : "constant-sequences";
  result.floor = causal && std::count(stack.context.target.orbit.begin(), stack.context.target.orbit.end(), 0u) == 1
                     ? IdFloor::constant_prefixes
                     : IdFloor::constant_sequences;
  sight::IdCollision collision;
  collision.x.assign(stack.n(), 0);
  collision.y = collision.x;
  const auto& orbit = stack.context.target.orbit;
  collision.a = 0;
  collision.b = static_cast<layout::Vertex>(std::find_if(orbit.begin(), orbit.end(), [](group::Point p) { return p != 0; }) - orbit.begin());
  result.at_given = result.below = collision;
  return result;
}

/// D1: (id, position) states are all different, so sight alone decides; sums of raw id + position need one layer more (15.8 h).
IdLayers decide_absolute(const Stack& stack, std::uint64_t reach, const layout::Layout& seen) {
  const Context& context = stack.context;
  IdLayers result;
  result.layers = reach;
  result.rule = "absolute-positions";
  result.premises = {fmt::format("layers until every token sees what it needs: {}", reach)};
  result.only_necessary = !stack.rules.empty() && stack.every_rule(RowRule::set);
  const Architecture& a = context.architecture;
  const Norm& first = a.layers.front().norm;
  const bool normed = (a.input.norm && a.input.norm->kind != NormKind::none) ||
                      (first.kind != NormKind::none && (first.place == NormPlace::pre || first.place == NormPlace::sandwich));
  const attention_kernel::Tri additive = context.facts.mixer.front().additive_only;
  if (additive == attention_kernel::Tri::no || normed || reach == 0 || a.layers.front().mixer.top_k || seen.layer(1).relations.empty()) return result;
  const bool proved = additive == attention_kernel::Tri::yes;
  const AdditiveLayers depths = compute_additive_layers(context, seen, stack.kind, reach, proved);
  if (depths.high == reach) return result;
  result.rule = "additive-positions";
  if (!proved) result.premises.push_back("it could not be shown that the first layer weighs its keys differently");
  result.low = depths.low;
  result.high = depths.high;
  if (depths.low == depths.high) result.layers = depths.high;
  else result.layers.reset();
  return result;
}

std::optional<IdLayers> try_labels(const Stack& stack) {
  const Context& context = stack.context;
  sight::IdQuestion question;
  question.layout = &stack.layout;
  question.rules = stack.rules;
  question.vocabulary = sight::reduced_vocabulary(static_cast<std::uint32_t>(stack.n()), context.architecture.input.vocabulary, stack.bos());
  question.bos = stack.bos();
  question.target_class = stack.kind;
  if (has_absolute_positions(context.architecture)) {  // only tables with equal rows come here
    question.position_colours.assign(context.layout.vertex_colour.begin(), context.layout.vertex_colour.begin() + static_cast<std::ptrdiff_t>(stack.n()));
  }
  question.target = &context.target;
  if (sight::count_labelled_inputs(question) > 1e6) return std::nullopt;
  const sight::IdAnswer answer = sight::compute_id_labels(question, context.given, context.budget);
  IdLayers result;
  result.layers = answer.needed;
  result.never = !answer.needed;
  result.at_given = answer.at_given;
  result.below = answer.below_needed;
  if (stack.bos() && context.architecture.input.vocabulary) {
    // Shown with the number that the model gives it: the first one behind the ordinary ids.
    for (auto* collision : {&result.at_given, &result.below}) {
      if (*collision) (*collision)->x[0] = (*collision)->y[0] = static_cast<std::uint32_t>(*context.architecture.input.vocabulary);
    }
  }
  // Fewer ids than there are show collisions, but not how many targets there are.
  if (context.architecture.input.vocabulary == static_cast<std::int64_t>(question.vocabulary)) result.distinct_targets = answer.distinct_targets;
  result.only_necessary = std::find(stack.rules.begin(), stack.rules.end(), RowRule::set) != stack.rules.end();
  result.rule = "labels";
  result.premises = {fmt::format("ids: {}", question.vocabulary), fmt::format("tokens: {}", stack.n()),
                     answer.needed ? fmt::format("layers that tell apart what the target tells apart: {}", *answer.needed)
                                   : "some inputs that the target tells apart keep one label at every depth"};
  if (answer.at_given || result.never) result.floor = IdFloor::collision;
  if (stack.every_rule(RowRule::whole)) result.floor = IdFloor::linformer;
  const bool full_max = stack.every_rule(RowRule::set) && stack.every_relation(&RowFacts::full) && !stack.bos();
  if (full_max && stack.n() == 3 && context.architecture.input.vocabulary == 2) result.floor = IdFloor::max_of_three;
  return result;
}

/// Trained Linformer without positions: equal ids of one input stay equal for ever, and all else is shown at once (15.4).
std::optional<IdLayers> try_linformer(const Stack& stack) {
  const Context& context = stack.context;
  if (stack.rules.empty() || !stack.every_rule(RowRule::whole) || !context.architecture.input.registers.empty()) return std::nullopt;
  IdLayers result;
  result.rule = "linformer-ids";
  if (target_is_symmetric(context)) {
    result.layers = stack.after_mixing(stack.n() > 1 ? 1 : 0);
    result.premises = {"the target does not ask where an id stands"};
    return result;
  }
  const auto& orbit = context.target.orbit;
  const std::size_t first = stack.bos() ? 1 : 0;
  if (std::all_of(orbit.begin() + static_cast<std::ptrdiff_t>(first), orbit.end(), [&](group::Point p) { return p == orbit[first]; })) return std::nullopt;
  result.never = true;
  result.premises = {"the target asks where an id stands"};
  result.floor = IdFloor::linformer;
  return result;
}

/// Least m >= low at which at most one token lacks the BOS (then all labels differ, Theorem BOS ii), up to `limit`.
std::optional<std::uint64_t> find_bos_seen(const Stack& stack, std::uint64_t low, std::uint64_t limit) {
  const Context& context = stack.context;
  for (std::uint64_t m = low; m <= limit; ++m) {
    const auto all = sight::compute_unseen(context.layout, m, {ClassKind::causal, false}, context.budget);
    const auto ordinary = sight::compute_unseen(context.layout, m, {ClassKind::causal, true}, context.budget);
    std::uint64_t missing = 0;
    for (std::size_t i = 0; i < all.size(); ++i) missing += all[i] != ordinary[i];
    if (missing <= 1) return m;
  }
  return std::nullopt;
}

IdLayers make_layers(std::uint64_t layers, std::string rule, std::vector<std::string> premises = {}) {
  IdLayers result;
  result.layers = layers;
  result.premises = std::move(premises);
  result.rule = std::move(rule);
  return result;
}

/// What a closed form proves for targets without a symmetry, or with the layout's own. More symmetric ones may need less, down to the reach;
/// those that all ordinary tokens may be exchanged in ask for multisets, which one sight of everything shows (docs/theory.md 16.21 n).
IdLayers make_at_most(const Stack& stack, std::uint64_t reach, std::uint64_t layers, std::string rule, std::vector<std::string> premises = {}) {
  const Context& context = stack.context;
  const bool own = context.target_is_layout || context.target.is_trivial();
  if (!own && target_is_symmetric(context)) return make_layers(reach, std::move(rule), {"the target asks for the multiset of ids alone"});
  IdLayers result = make_layers(layers, std::move(rule), std::move(premises));
  if (own || layers <= reach) return result;
  result.layers.reset();
  result.low = reach;
  result.high = layers;
  return result;
}

/// D4, Theorem BOS; and the same with exact counts (sink, sums): then views are translated copies, and complete ones differ.
std::optional<IdLayers> try_injective_colours(const Stack& stack, std::uint64_t reach) {
  if (!stack.every_relation(&RowFacts::loops) || !stack.every_relation(&RowFacts::injective)) return std::nullopt;
  if (!stack.context.architecture.input.registers.empty()) return std::nullopt;
  const bool single = std::all_of(stack.layout.layers.begin(), stack.layout.layers.end(),
                                  [](const layout::Layer& layer) { return layer.relations.size() == 1; });
  if (!single) return std::nullopt;  // Theorem BOS speaks of the rows of one head (15.8 k)
  const bool exact = std::all_of(stack.exact_counts.begin(), stack.exact_counts.end(), [](bool b) { return b; });
  if (stack.bos()) {
    const auto with_bos = sight::compute_class_reach(stack.context.layout, {stack.kind, false}, stack.context.budget);
    const auto seen = find_bos_seen(stack, reach, with_bos.layers.value_or(reach));
    if (seen == reach) {
      return make_layers(reach, "theorem-bos",
                         {fmt::format("layers until every token sees what it needs: {}", reach), "all tokens but at most one see the BOS by then"});
    }
    if (!seen) return std::nullopt;
    IdLayers result;
    result.low = reach;
    result.high = *seen;
    result.rule = "theorem-bos";
    result.premises = {fmt::format("layers until every token sees what it needs: {}", reach), fmt::format("layers until all tokens but at most one see the BOS: {}", *seen)};
    return result;
  }
  const bool offsets = std::all_of(stack.schemes.begin(), stack.schemes.end(), [](RelativeScheme s) { return s != RelativeScheme::none; });
  if (exact && offsets && stack.kind != ClassKind::seen) {
    return make_layers(reach, "exact-counts");
  }
  return std::nullopt;
}

/// Does some reader see two ordinary tokens other than itself in one T5 bucket? Token 0 is the BOS.
bool has_bucket_clash(const layout::Relative& relative, std::uint64_t n, bool causal) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::set<std::uint32_t> buckets;  // a repeat comes after at most `buckets` tokens
    for (std::uint64_t j = 1; j <= (causal ? i : n - 1); ++j) {
      if (j == i) continue;
      if (!buckets.insert(layout::compute_t5_bucket(static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i), relative)).second) return true;
    }
  }
  return false;
}

/// Full or full causal patterns without absolute positions: D2, D3, D5.
std::optional<IdLayers> try_full(const Stack& stack, std::uint64_t reach) {
  const Context& context = stack.context;
  if (!context.architecture.input.registers.empty() || stack.rules.empty()) return std::nullopt;
  const std::uint64_t n = stack.n();
  const bool no_schemes = std::all_of(stack.schemes.begin(), stack.schemes.end(), [](RelativeScheme s) { return s == RelativeScheme::none; });
  const bool counts = std::all_of(stack.rules.begin(), stack.rules.end(), [](RowRule r) { return r == RowRule::frequency || r == RowRule::multiset; });
  const bool full = stack.every_relation(&RowFacts::full), causal = stack.every_relation(&RowFacts::full_causal);
  const bool plain = std::all_of(context.layout.relations.begin(), context.layout.relations.end(), [](const auto& r) { return r.pattern().is_plain(); });
  if (!plain || (!full && !causal)) return std::nullopt;
  if (full && stack.every_rule(RowRule::set) && n >= (stack.bos() ? 4u : 3u)) {
    IdLayers result;
    result.never = true;
    result.rule = "max-forgets-counts";
    result.floor = n == 3 && context.architecture.input.vocabulary == 2 ? IdFloor::max_of_three : IdFloor::none;
    return result;
  }
  if (full && no_schemes && counts && (context.target_is_layout || target_is_symmetric(context))) {
    return make_layers(stack.after_mixing(n == 1 ? 0 : 1), "full-without-positions");
  }
  if (causal && no_schemes && stack.every_rule(RowRule::frequency) && stack.bos()) {
    return make_at_most(stack, reach, std::max(reach, stack.after_mixing(n <= 3 ? 1 : 2)), "causal-bos");
  }
  if (causal && no_schemes && stack.every_rule(RowRule::multiset)) {
    return make_at_most(stack, reach, std::max(reach, stack.after_mixing(n <= (stack.bos() ? 3u : 2u) ? 1 : 2)), "causal-sink");
  }
  if (stack.bos() && full && stack.every_rule(RowRule::alibi)) {
    return make_at_most(stack, reach, stack.after_mixing(n <= 1 ? 0 : n <= 3 ? 1 : 2), "alibi-both-ways");
  }
  const bool t5 = std::all_of(stack.schemes.begin(), stack.schemes.end(), [](RelativeScheme s) { return s == RelativeScheme::t5; });
  if (stack.bos() && t5 && n >= 2) {
    const bool clash = has_bucket_clash(stack.layout.relations[stack.layout.layer(stack.after_mixing(1)).relations.front()].relative(), n, causal);
    return make_at_most(stack, reach, std::max(reach, stack.after_mixing(clash ? 2 : 1)), "t5-buckets",
                        {clash ? "two tokens share a bucket of one row" : "every token of a row has a bucket of its own"});
  }
  return std::nullopt;
}

/// Full causal layers, some rotary and some without positions, with BOS (D5); chunks between full layers get bounds.
std::optional<IdLayers> try_mixed(const Stack& stack, std::uint64_t reach) {
  const Context& context = stack.context;
  if (!stack.bos() || !stack.every_relation(&RowFacts::causal) || !stack.every_relation(&RowFacts::loops)) return std::nullopt;
  std::vector<std::uint64_t> full;
  const std::uint64_t period = context.layout.order.size();
  bool all_full = true;
  for (std::uint64_t q = 1; q <= 2 * period; ++q) {
    const auto& relations = stack.layout.layer(q).relations;
    if (relations.size() != 1) return std::nullopt;
    const std::uint32_t r = relations.front();
    if (stack.schemes[r] != RelativeScheme::none && stack.schemes[r] != RelativeScheme::rotary) return std::nullopt;
    if (stack.schemes[r] == RelativeScheme::none && !stack.rows[r].full_causal) return std::nullopt;
    if (stack.rows[r].full_causal) full.push_back(q);
    else all_full = false;
  }
  if (full.empty()) return std::nullopt;
  if (all_full) {
    const bool rotary_first = stack.schemes[stack.layout.layer(1).relations.front()] == RelativeScheme::rotary;
    return make_at_most(stack, reach, std::max<std::uint64_t>(reach, rotary_first || stack.n() <= 3 ? 1 : 2), "mixed-rotary",
                        {rotary_first ? "the first layer is rotary and shows everything" : "the first layer has no positions"});
  }
  // Layers in front of the first one without positions stand for themselves: Theorem BOS (docs/theory.md 16.21).
  std::uint64_t named = 0;
  while (named < 2 * period && stack.schemes[stack.layout.layer(named + 1).relations.front()] == RelativeScheme::rotary) ++named;
  if (named > 0 && reach <= named && find_bos_seen(stack, reach, reach)) {
    return make_layers(reach, "theorem-bos",
                       {fmt::format("layers until every token sees what it needs: {}", reach), "all tokens but at most one see the BOS by then"});
  }
  // A full layer with rotary positions names every token by itself; one without gives positions and loses the order of equal chunks.
  IdLayers result;
  result.low = reach;
  result.high = full.size() > 1 ? full[1] : full.front() + period;
  result.rule = "mixed-rotary";
  result.premises = {fmt::format("first full layer: {}", full.front()), fmt::format("second full layer: {}", result.high)};
  if (result.low == result.high) result.layers = result.low;
  return result;
}

/// Views of general-position inputs are id sequences too when there are enough ids (D6, 15.8 d): a lower bound.
IdLayers decide_by_views(const Stack& stack, std::uint64_t reach, const sight::ViewQuestion& question) {
  const Context& context = stack.context;
  IdLayers result;
  result.low = reach;
  result.rule = "open";
  result.premises = {"sparse or coloured rows on ids beyond enumeration: labels can be coarser than views"};
  const bool enough_ids = !context.architecture.input.vocabulary ||
                          *context.architecture.input.vocabulary >= static_cast<std::int64_t>(context.ordinary());
  const bool counts_seen = std::none_of(stack.rules.begin(), stack.rules.end(), [](RowRule r) { return r == RowRule::whole; });
  if (!enough_ids || !counts_seen || stack.n() > 512 || !context.architecture.input.registers.empty()) return result;
  const sight::Needed needed = context.ask_needed(question);
  // Only confused views count: views also ask for the BOS, which carries no content, and what carries some is in view by `reach`.
  if (!needed.below) return result;
  if (needed.never) {
    result.never = true;
    result.rule = "views";
    result.premises = {"a symmetry of the views that is not one of the target survives at every depth"};
  } else if (needed.layers) {
    result.low = std::max(result.low, *needed.layers);
  }
  return result;
}

}  // namespace

bool are_directions_settled(const LayerSpec& layer, const layout::Layout& layout, const layout::Layer& read) {
  if (!keeps_directions(layer.norm)) return true;
  const Mixer& mixer = layer.mixer;
  const bool average = (mixer.kind == MixerKind::attention && mixer.normalised) || mixer.kind == MixerKind::mean;
  if ((average && !mixer.sink && mixer.eps == 0) || mixer.kind == MixerKind::linformer || mixer.kind == MixerKind::max || mixer.kind == MixerKind::tokenwise) return true;
  const bool plain = std::all_of(read.relations.begin(), read.relations.end(), [&](std::uint32_t r) { return layout.relations[r].pattern().is_plain(); });
  return cancels_in_direction(mixer, plain, read.relations.size() == 1);
}

IdLayers compute_id_layers(const Context& context, ClassKind kind) {
  const Stack stack = make_stack(context, kind);
  const layout::Layout& seen = context.sighted_layout();  // blind layers show nobody (3.3)
  const sight::ViewQuestion question = context.question(seen, kind, sight::RegisterRows::multisets);
  const auto reach = sight::compute_wanted_reach(question, stack.bos(), context.budget);
  const bool lengths = !(seen.order == context.layout.order);  // a sum of constants shows how long its row is, and no more
  if (!reach.layers && lengths && std::all_of(context.facts.mixer.begin(), context.facts.mixer.end(), [](const MixerFacts& m) { return m.blind; })) {
    IdLayers result;
    result.never = true;
    result.rule = "blind";
    return result;
  }
  if (!reach.layers) {
    const sight::UnreachablePair pair = *sight::find_unseen_pairs(question, std::nullopt, stack.bos(), context.budget).first;
    IdLayers result;
    result.never = true;
    result.rule = "unseen";
    result.premises = {fmt::format("token {} never sees token {}", pair.reader, pair.unseen)};
    return result;
  }
  if (auto constants = try_constants(stack)) return *constants;
  if (positions_differ(context)) return decide_absolute(stack, *reach.layers, seen);
  const bool top_k = std::any_of(context.architecture.layers.begin(), context.architecture.layers.end(), [](const LayerSpec& l) { return l.mixer.top_k.has_value(); });
  if ((top_k && stack.n() > 1) || lengths) {
    IdLayers result;
    result.low = *reach.layers;
    result.rule = "open";
    result.premises = {top_k ? "top-k attention on ids: labels are not necessary there (theory 15.8 l)" : "a layer shows the length of its rows alone"};
    return result;
  }
  if (auto labels = try_labels(stack)) return *labels;
  if (!has_absolute_positions(context.architecture)) {  // else a table with equal rows, beyond enumeration
    if (auto linformer = try_linformer(stack)) return *linformer;
    if (auto injective = try_injective_colours(stack, *reach.layers)) return *injective;
    if (auto full = try_full(stack, *reach.layers)) return *full;
    if (auto mixed = try_mixed(stack, *reach.layers)) return *mixed;
  }
  return decide_by_views(stack, *reach.layers, question);
}

}  // namespace sightline::verdict

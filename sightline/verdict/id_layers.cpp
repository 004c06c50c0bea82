#include "sightline/verdict/id_layers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sightline/sight/wanted.hpp"
#include "sightline/verdict/additive.hpp"
#include "sightline/verdict/id_stack.hpp"

namespace sightline::verdict {

using namespace architecture;
using sight::ClassKind;
using sight::RowRule;

namespace {

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

/// What a causal target with a symmetry may ask for can be much less than the class allows (16.7).
bool shrinks_class(const Stack& stack) { return stack.kind == ClassKind::causal && !stack.context.target.is_trivial(); }

/// Do constant id sequences keep one label for ever (15.8 c)? Normalised rows, none empty nor without weight (16.92), no sink, no registers, no BOS.
bool constants_merge(const Stack& stack) {
  const Architecture& a = stack.context.architecture;
  if (stack.n() < 2 || a.input.bos || has_absolute_positions(a)) return false;
  if (stack.reads_registers()) return false;
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const Mixer& m = a.layers[k].mixer;
    if (stack.context.facts.mixer[k].may_weigh_nobody) return false;
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

/// Weights that could be polynomials of the keys: those of any kernel but exp, and of no other kinds of mixers but sums of a polynomial.
bool may_be_polynomial(const Mixer& mixer, const MixerFacts& facts, const Budget& budget) {
  if (mixer.kind == MixerKind::attention) return !facts.softmax;
  return mixer.kind == MixerKind::bias && attention_kernel::compute_activation_facts(mixer.activation, budget).polynomial != attention_kernel::Tri::no;
}

}  // namespace

attention_kernel::Tri adds_positions(const Context& context, const layout::Layout& seen) {
  const Architecture& a = context.architecture;
  const Norm& first = a.layers.front().norm;
  const bool normed = (a.input.norm && a.input.norm->kind != NormKind::none) ||
                      (first.kind != NormKind::none && (first.place == NormPlace::pre || first.place == NormPlace::sandwich));
  if (normed || selects_keys(a, a.layers.front().mixer) || seen.layer(1).relations.empty()) return attention_kernel::Tri::no;
  const attention_kernel::Tri additive = context.facts.mixer.front().additive_only;
  // Rows of a table are as they are: what weighs keys by a polynomial shows moments of them, which two sets of rows may share (docs/theory.md 16.32).
  const bool shows_moments = a.input.positions == Positions::fixed && may_be_polynomial(a.layers.front().mixer, context.facts.mixer.front(), context.budget);
  return additive == attention_kernel::Tri::no && shows_moments ? attention_kernel::Tri::unknown : additive;
}

bool adds_up_unfree_states(const Context& context) {
  for (std::size_t k = 0; k < context.architecture.layers.size(); ++k) {
    const Norm& norm = context.architecture.layers[k].norm;
    const bool normed = norm.kind != NormKind::none && (norm.place == NormPlace::pre || norm.place == NormPlace::sandwich);
    if (!normed && !context.facts.mixer[k].softmax && !context.facts.mixer[k].blind) return true;
  }
  return false;
}

namespace {

/// D1: (id, position) states are all different, so sight alone decides; sums of raw id + position need one layer more (15.8 h).
IdLayers decide_absolute(const Stack& stack, std::uint64_t reach, const layout::Layout& seen) {
  const Context& context = stack.context;
  IdLayers result;
  result.layers = reach;
  result.rule = "absolute-positions";
  result.premises = {fmt::format("layers until every token sees what it needs: {}", reach)};
  result.only_necessary = !stack.rules.empty() && stack.every_rule(RowRule::set);
  const attention_kernel::Tri additive = adds_positions(context, seen);
  if (additive == attention_kernel::Tri::no || reach == 0) return result;
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
  const bool positions = has_absolute_positions(context.architecture);  // those tell ids at different rows apart (docs/theory.md 16.43)
  if (stack.every_rule(RowRule::whole) && !positions) result.floor = IdFloor::linformer;
  // The target of that floor reads all three tokens, which a causal one must not (docs/theory.md 16.88).
  const bool full_max = stack.every_rule(RowRule::set) && stack.every_relation(&RowFacts::full) && !stack.bos() && stack.kind != ClassKind::causal;
  if (full_max && !positions && stack.n() == 3 && context.architecture.input.vocabulary == 2) result.floor = IdFloor::max_of_three;
  return result;
}

/// A position table with equal rows, added up with the ids by the first layer: labels of (id, row) show more than that does. One period later the
/// same layers read states that a feedforward has moved (docs/theory.md 16.28).
IdLayers may_need_another_period(const Stack& stack, const layout::Layout& seen, IdLayers labels) {
  if (!has_absolute_positions(stack.context.architecture) || labels.layers.value_or(0) == 0) return labels;
  if (adds_positions(stack.context, seen) == attention_kernel::Tri::no) return labels;
  labels.low = *labels.layers;
  labels.high = labels.low + find_period(stack.context.architecture);
  labels.layers.reset();
  labels.premises.push_back("the first layer adds up ids and positions");
  return labels;
}

/// Trained Linformer without positions: equal ids of one input stay equal for ever, and all else is shown at once (15.4).
std::optional<IdLayers> try_linformer(const Stack& stack, std::uint64_t reach) {
  const Context& context = stack.context;
  if (stack.rules.empty() || !stack.every_rule(RowRule::whole) || !context.architecture.input.registers.empty()) return std::nullopt;
  IdLayers result;
  result.rule = "linformer-ids";
  if (target_is_symmetric(context)) {
    result.layers = shrinks_class(stack) ? reach : stack.after_mixing(stack.n() > 1 ? 1 : 0);
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

/// Does some reader see two ordinary tokens other than itself in one T5 bucket, one of which its target asks for? Token 0 is the BOS.
/// @param up_to_itself  targets ask for tokens up to the reader: those behind it may share buckets with each other (docs/theory.md 16.43)
bool has_bucket_clash(const layout::Relative& relative, std::uint64_t n, bool causal_rows, bool up_to_itself) {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::set<std::uint32_t> asked;  // a repeat comes after at most `buckets` tokens
    for (std::uint64_t j = 1; j <= (causal_rows ? i : n - 1); ++j) {
      if (j == i) continue;
      const std::uint32_t bucket = layout::compute_t5_bucket(static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i), relative);
      if (up_to_itself && j > i ? asked.contains(bucket) : !asked.insert(bucket).second) return true;
    }
  }
  return false;
}

/// Neither matrix colours that differ nor a weight per column or pair.
bool is_uncoloured(const layout::Relation& relation) {
  return relation.pattern().has_one_colour() && relation.relative().kind != layout::RelativeKind::column && relation.relative().kind != layout::RelativeKind::pair;
}

/// Causal targets on full causal rows that hold registers besides: what a register knows of later tokens arrives with the second layer, and all that
/// is asked for is there by then (docs/theory.md 16.51).
std::optional<IdLayers> count_beside_registers(const Stack& stack, std::uint64_t reach, bool no_schemes) {
  if (!stack.context.target.is_trivial() || !no_schemes) return std::nullopt;
  const std::uint64_t n = stack.n();
  if (stack.bos() && stack.every_rule(RowRule::frequency)) return make_layers(std::max(reach, stack.after_mixing(n <= 3 ? 1 : 2)), "causal-bos");
  if (stack.every_rule(RowRule::multiset)) return make_layers(std::max(reach, stack.after_mixing(n <= (stack.bos() ? 3u : 2u) ? 1 : 2)), "causal-sink");
  return std::nullopt;
}

/// Full or full causal patterns without absolute positions: D2, D3, D5.
std::optional<IdLayers> try_full(const Stack& stack, std::uint64_t reach) {
  const Context& context = stack.context;
  if (stack.rules.empty()) return std::nullopt;
  const std::uint64_t n = stack.n();
  const bool no_schemes = std::all_of(stack.schemes.begin(), stack.schemes.end(), [](RelativeScheme s) { return s == RelativeScheme::none; });
  const bool counts = std::all_of(stack.rules.begin(), stack.rules.end(), [](RowRule r) { return r == RowRule::frequency || r == RowRule::multiset; });
  const bool full = stack.every_relation(&RowFacts::full), causal = stack.every_relation(&RowFacts::full_causal);
  if (!std::all_of(stack.layout.relations.begin(), stack.layout.relations.end(), is_uncoloured) || (!full && !causal)) return std::nullopt;
  const bool shrinks = shrinks_class(stack), symmetric = target_is_symmetric(context);
  if (stack.reads_registers()) {
    if (causal && stack.kind == ClassKind::causal) return count_beside_registers(stack, reach, no_schemes);
    // How often each id occurs among all tokens shows whatever else is read (docs/theory.md 16.30).
    if (!full || !no_schemes || !counts || !symmetric || shrinks) return std::nullopt;
    return make_layers(stack.after_mixing(n == 1 ? 0 : 1), "full-without-positions");
  }
  // A register that no token reads may still break the symmetry of the layout (docs/theory.md 16.52).
  const bool layout_is_symmetric = context.target_is_layout && context.architecture.input.registers.empty();
  if (full && stack.every_rule(RowRule::set) && !shrinks && n >= (stack.bos() ? 4u : 3u)) {
    IdLayers result;
    result.never = true;
    result.rule = "max-forgets-counts";
    result.floor = n == 3 && context.architecture.input.vocabulary == 2 ? IdFloor::max_of_three : IdFloor::none;
    return result;
  }
  if (full && no_schemes && shrinks && symmetric) return make_layers(reach, "full-without-positions", {"the target asks for the multiset of ids alone"});
  if (full && no_schemes && counts && (layout_is_symmetric || symmetric)) {
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
    const bool clash = has_bucket_clash(stack.layout.relations[stack.layout.layer(stack.after_mixing(1)).relations.front()].relative(), n, causal, stack.kind == ClassKind::causal);
    return make_at_most(stack, reach, std::max(reach, stack.after_mixing(clash ? 2 : 1)), "t5-buckets",
                        {clash ? "two tokens share a bucket of one row, and the target asks for one of them" : "every token of a row has a bucket of its own"});
  }
  return std::nullopt;
}

/// Full causal layers, some rotary and some without positions, with BOS (D5); chunks between full layers get bounds.
std::optional<IdLayers> try_mixed(const Stack& stack, std::uint64_t reach) {
  const Context& context = stack.context;
  if (!stack.bos() || !stack.every_relation(&RowFacts::causal) || !stack.every_relation(&RowFacts::loops)) return std::nullopt;
  // Registers hand on what comes behind the reader (docs/theory.md 16.43), but not before the second layer (16.51).
  const bool beside_registers = stack.reads_registers();
  if (beside_registers && (stack.kind != ClassKind::causal || !context.target.is_trivial())) return std::nullopt;
  std::vector<std::uint64_t> full;
  const std::uint64_t period = context.layout.order.size();
  bool all_full = true;
  for (std::uint64_t q = 1; q <= 2 * period; ++q) {
    const auto& relations = stack.layout.layer(q).relations;
    if (relations.size() != 1) return std::nullopt;
    const std::uint32_t r = relations.front();
    if (stack.schemes[r] != RelativeScheme::none && stack.schemes[r] != RelativeScheme::rotary) return std::nullopt;
    if (stack.schemes[r] == RelativeScheme::none) {
      const bool counts = stack.rules[r] == RowRule::frequency || stack.rules[r] == RowRule::multiset;
      if (!stack.rows[r].full_causal || !counts || !is_uncoloured(stack.layout.relations[r])) return std::nullopt;
    }
    if (stack.rows[r].full_causal) full.push_back(q);
    else all_full = false;
  }
  if (full.empty()) return std::nullopt;
  if (all_full) {
    const bool rotary_first = stack.schemes[stack.layout.layer(1).relations.front()] == RelativeScheme::rotary;
    return make_at_most(stack, reach, std::max<std::uint64_t>(reach, rotary_first || stack.n() <= 3 ? 1 : 2), "mixed-rotary",
                        {rotary_first ? "the first layer is rotary and shows everything" : "the first layer has no positions"});
  }
  if (beside_registers) return std::nullopt;
  // Layers in front of the first one without positions stand for themselves: Theorem BOS (docs/theory.md 16.21).
  std::uint64_t named = 0;
  while (named < 2 * period && stack.schemes[stack.layout.layer(named + 1).relations.front()] == RelativeScheme::rotary) ++named;
  if (named > 0 && reach <= named && find_bos_seen(context, context.layout, reach, reach)) {
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

/// The lower bound of `views` where it says more.
IdLayers raise_bound(IdLayers named, const IdLayers& views) {
  if (named.layers || views.low <= named.low) return named;
  named.low = views.low;
  named.premises.push_back(fmt::format("views of fewer than {} layers are confused", named.low));
  if (named.low < named.high) return named;
  named.layers = named.low;
  named.low = named.high = 0;
  return named;
}

}  // namespace

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
  const bool top_k = std::any_of(context.architecture.layers.begin(), context.architecture.layers.end(), [&](const LayerSpec& l) { return selects_keys(context.architecture, l.mixer); });
  const bool places = std::any_of(context.facts.mixer.begin(), context.facts.mixer.end(), [](const MixerFacts& m) { return m.sees_places; });
  if ((top_k || lengths || places) && stack.n() > 1) {
    IdLayers result;
    result.low = *reach.layers;
    result.rule = "open";
    result.premises = {top_k     ? "top-k attention on ids: labels are not necessary there (theory 15.8 l)"
                       : lengths ? "a layer shows the length of its rows alone"
                                 : "rotary positions under a kernel that turning both tokens may change, or that may be 0: rows show more than offsets (theory 16.37, 16.92)"};
    return result;
  }
  if (auto labels = try_labels(stack)) return may_need_another_period(stack, seen, std::move(*labels));
  if (!has_absolute_positions(context.architecture)) {  // else a table with equal rows, beyond enumeration
    if (auto linformer = try_linformer(stack, *reach.layers)) return *linformer;
    if (auto named = try_named_offsets(stack, *reach.layers, Naming::all)) return *named;
    if (auto full = try_full(stack, *reach.layers)) return *full;
    if (auto mixed = try_mixed(stack, *reach.layers)) return *mixed;
    if (auto named = try_named_offsets(stack, *reach.layers, Naming::some)) return raise_bound(*named, decide_by_views(stack, *reach.layers, question));
  }
  return decide_by_views(stack, *reach.layers, question);
}

}  // namespace sightline::verdict

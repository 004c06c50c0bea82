// Token ids: labels say what can be told apart (id_layers.cpp); here the premises of sufficiency, widths and the verdict.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "sightline/sight/wanted.hpp"
#include "sightline/verdict/context.hpp"
#include "sightline/verdict/fixed_positions.hpp"
#include "sightline/verdict/floors.hpp"
#include "sightline/verdict/id_layers.hpp"

namespace sightline::verdict {

using namespace architecture;
using sight::ClassKind;

namespace {

/// Dimension that the norms in front leave for the feedforward (15.1): k.
std::int64_t compute_kept_width(const Architecture& a, const Norm& norm) {
  const bool layernorm = norm.kind == NormKind::layernorm || (a.input.norm && a.input.norm->kind == NormKind::layernorm);
  return a.dim - (layernorm ? 1 : 0);
}

/// The one number that a LayerNorm of two leaves, no gains, and bounded matrices: if every step is smaller than its argument, states keep their order there (docs/theory.md 16.84).
bool may_keep_order(const Architecture& a, const LayerSpec& layer) {
  const Norm& norm = layer.norm;
  return a.dim == 2 && norm.kind == NormKind::layernorm && norm.place == NormPlace::pre && !norm.affine && layer.feedforward.spectral_norm_at_most;
}

/// Post-norms take all states to one sphere, along which small steps of any feedforward with hidden biases make up every flow, if it has two dimensions: all states
/// go anywhere there, and as many numbers as the sphere has dimensions can be read off (docs/theory.md 16.89).
bool flows_on_sphere(const Context& context, const LayerSpec& layer, const FeedforwardFacts& facts) {
  const Architecture& a = context.architecture;
  const auto is_real = [](const std::optional<Norm>& norm) { return norm && norm->kind != NormKind::none; };
  const Norm& norm = layer.norm;
  const std::int64_t dimension = a.dim - (norm.kind == NormKind::layernorm ? 2 : 1);
  const bool sphere = context.facts.norm.uniform && norm.place == NormPlace::post && (norm.eps < 1 || norm.affine) && dimension >= 2;
  const bool plain = a.block.arrangement == Arrangement::sequential && a.output.head != Head::none && !is_real(a.input.norm) && !is_real(a.output.norm);
  return sphere && plain && layer.feedforward.bias == Bias::yes && !facts.polynomial && context.answer.output_dim.value_or(0) <= dimension;
}

/// Returns true when some sublayer suffices only by being repeated (section 6): then no number of layers is known.
bool check_feedforward(const Context& context, std::vector<std::string>& missing) {
  bool repeated = false;
  const Architecture& a = context.architecture;
  const bool reads_out = std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& l) { return l.feedforward.kind != FeedforwardKind::none; });
  const bool repeats = !context.given && !a.block.tied;  // shared weights repeat one map, however often (docs/theory.md 16.32)
  const bool post = std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& l) { return l.norm.kind != NormKind::none && l.norm.place == NormPlace::post; });
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const Feedforward& f = a.layers[k].feedforward;
    const FeedforwardFacts& facts = context.facts.feedforward[k];
    // Lemma S asks for states that differ, and holds for softmax: what reads such states next must be softmax too (16.21). A list that is repeated
    // for ever may stop at any layer, so at one that has a feedforward.
    const bool ends = k + 1 == a.layers.size() && context.given;
    const MixerFacts& next = context.facts.mixer[(k + 1) % a.layers.size()];
    if (f.kind == FeedforwardKind::none && context.facts.mixer[k].softmax && !ends && reads_out && (next.softmax || next.blind)) continue;
    const bool narrow = f.width || f.spectral_norm_at_most;
    const bool by_repetition = repeats && (facts.closure == Closure::full || facts.closure == Closure::zero_fixing);  // section 6
    // Each round ends in the norm, which moves every state (docs/theory.md 16.84).
    if (by_repetition && post && (narrow || !facts.interpolates) && !flows_on_sphere(context, a.layers[k], facts)) {
      missing.push_back("feedforward: behind a post-norm one sublayer must take finitely many states anywhere by itself (theory 15.3, 16.84)");
      return repeated;
    }
    if (narrow && by_repetition) {
      repeated = true;
      continue;
    }
    if (narrow) {
      missing.push_back(context.given ? "feedforward: a width or norm bound is covered for unbounded depth only (theory 15.4)"
                                      : "feedforward: repeating a bounded one is covered for layers with weights of their own only (theory 15.4, 16.32)");
      return repeated;
    }
    if (facts.interpolates) continue;
    if (by_repetition) {
      repeated = true;
      continue;
    }
    missing.push_back("feedforward: one sublayer must take finitely many states anywhere, and " +
                      (facts.polynomial ? std::string("polynomial activations have a finite-dimensional span (theory 15.1 d)")
                       : facts.why.empty() ? std::string("this one is not covered (theory 15.1)") : facts.why));
    return repeated;
  }
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const Norm& norm = a.layers[k].norm;
    const std::int64_t kept = compute_kept_width(a, norm);
    const bool plain = norm.kind == NormKind::none || (norm.place == NormPlace::pre && norm.eps > 0);
    const bool rays = a.input.norm && a.input.norm->kind != NormKind::none && a.input.norm->eps == 0;  // of one dimension: two points
    if (kept == 1 && plain && !rays && context.facts.feedforward[k].hidden_bias) continue;  // the exception of 15.1 e
    if (kept < 2) {
      missing.push_back(fmt::format("width: the norms leave {} dimension{}, two are needed (theory 15.1, 15.3)", kept, kept == 1 ? "" : "s"));
      return repeated;
    }
  }
  const bool ordered = std::all_of(a.layers.begin(), a.layers.end(), [&](const LayerSpec& l) { return l.feedforward.kind == FeedforwardKind::none || may_keep_order(a, l); });
  const bool mean_shown = !a.output.norm || a.output.norm->kind != NormKind::layernorm;  // one output is the mean, which no layer reads
  if (ordered && reads_out && (context.answer.output_dim.value_or(0) > 1 || !mean_shown)) {
    missing.push_back("width: LayerNorm leaves 1 dimension, and a bound on the spectral norm may keep the order of states there (theory 16.84)");
  }
  return repeated;
}

/// Tokens that all start differently never share a state, and rows that hold the BOS never hold one state alone.
bool rows_hold_own_state(const Context& context) {
  if (context.architecture.input.bos && context.every_row(&RowFacts::bos_in_every_row)) return false;
  const auto& colour = context.layout.vertex_colour;
  return std::set<std::uint64_t>(colour.begin(), colour.begin() + context.layout.tokens).size() < context.tokens();
}

/// @param nothing_wanted  targets ask for no other token: mixers that can be switched off have no say
void check_mixers(const Context& context, bool nothing_wanted, std::vector<std::string>& missing) {
  const Architecture& a = context.architecture;
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const Mixer& mixer = a.layers[k].mixer;
    const MixerFacts& facts = context.facts.mixer[k];
    if (facts.blind || (nothing_wanted && !lacks_scale(mixer))) continue;
    if (facts.mean != Tri::yes) {
      missing.push_back("mixer: " + facts.why);
      return;
    }
    if (!facts.bounded) {
      missing.push_back("mixer: " + facts.why + "; on ids labels are necessary only (theory 15.4 L6, 15.8 l)");
      return;
    }
    if (mixer.kind == MixerKind::linformer && mixer.projections == ProjectionKind::blocks) {
      missing.push_back("fixed mean pooling on ids is not covered");
      return;
    }
    if (mixer.kind == MixerKind::linformer && mixer.projections == ProjectionKind::generic) {
      missing.push_back("fixed projections on ids: different sets of tokens may have equal sums (theory 16.21)");
      return;
    }
    if (confuses_multiples(a.layers[k], context.facts.feedforward[k]) && rows_hold_own_state(context)) {
      missing.push_back("one number per arc scales a row of the own state, and what reads it takes multiples for the same (theory 16.29)");
      return;
    }
    if (mixer.relative.scheme == RelativeScheme::rotary && mixer.query_key == QueryKey::tied) {
      const bool harmless = context.every_row(&RowFacts::causal) || (a.input.bos && context.every_row(&RowFacts::bos_in_every_row));
      if (!harmless) {
        missing.push_back("rotary positions with W_Q = W_K: weights are even in j - i (theory 15.8 f)");
        return;
      }
    }
  }
}

/// Then a certified target has the layout's own group, whichever way it was written down.
bool target_is_inside_layout(const Context& context) {
  if (context.target_is_layout || context.target.is_trivial()) return true;
  const group::Membership member(context.layout_group, context.budget);
  const auto generators = group::list_generators(context.target, static_cast<std::size_t>(-1));
  return std::all_of(generators.begin(), generators.end(), [&](const group::Permutation& g) { return member.contains(g); });
}

/// The table, and learned positions set to 0, are functions of the own id as they stand: any, at the tokens of one orbit (docs/theory.md 16.86).
bool holds_own_id(const Context& context) {
  const Input& input = context.architecture.input;
  const auto& orbit = context.target.orbit;
  const std::set<group::Point> orbits(orbit.begin() + (input.bos ? 1 : 0), orbit.end());
  const bool normed = input.norm && input.norm->kind != NormKind::none;
  return !normed && (input.positions == Positions::none || context.ordinary() <= 1 || (orbits.size() <= 1 && input.positions == Positions::learned));
}

/// Targets that ask for the own id alone: the table holds them, with every sublayer switched off (docs/theory.md 16.23).
bool is_table_enough(const Context& context) {
  const Architecture& a = context.architecture;
  const bool can_be_off = std::all_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) {
    return !lacks_scale(layer.mixer) && !layer.feedforward.spectral_norm_equals && (layer.norm.kind == NormKind::none || layer.norm.place != NormPlace::post);
  });
  return can_be_off && a.block.residual && holds_own_id(context);
}

/// A branch of gain 1 is bounded; a head, or the gain of a last norm, would make up for it (15.3).
bool is_bounded_branch(const Context& context, const LayerSpec& layer) {
  const Norm& norm = layer.norm;
  const bool inside = norm.kind != NormKind::none && (norm.place == NormPlace::sandwich || norm.place == NormPlace::after);
  const bool final_norm = context.architecture.output.norm && context.architecture.output.norm->kind != NormKind::none;
  return inside && !norm.affine && context.architecture.output.head == Head::none && !final_norm;
}

/// May a layer to spare fill the coordinate that a norm inside the branch takes away (15.8 a)? Where norms differ and there is no head, what the spare layer
/// adds must reach the end: no post-norm scales it down, no branch of gain 1 takes its place (docs/theory.md 16.60).
bool may_use_spare(const Context& context) {
  const Architecture& a = context.architecture;
  return context.facts.norm.uniform || a.output.head != Head::none || std::none_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) {
           const Norm& norm = layer.norm;
           return norm.kind != NormKind::none && (norm.place == NormPlace::post || (norm.place != NormPlace::pre && !norm.affine));
         });
}

/// Behind this layer, the one before counted, as many numbers can be put out as are wanted.
bool shows_outputs(const Context& context, const LayerSpec& layer, bool with_spare) {
  const OutputRank rank = compute_rank_behind(context.architecture, layer.norm);
  const std::int64_t numbers = with_spare ? std::max(rank.certified, rank.with_one_more_layer) : rank.certified;
  return !rank.sphere && numbers >= context.answer.output_dim.value_or(0) && !is_bounded_branch(context, layer);
}

void check_norms(const Context& context, std::vector<std::string>& missing) {
  if (norms_merge_rows(context.architecture)) {
    missing.push_back("a norm makes rows of the position table equal (theory 15.5 D1, 15.8 p)");
    return;
  }
  std::size_t position = 0;
  for (std::size_t k = 0; k < context.architecture.layers.size(); ++k) {
    const LayerSpec& layer = context.architecture.layers[k];
    const layout::Layer& read = context.layout.layers[context.layout.order[position]];
    position += static_cast<std::size_t>(layer.repeat);
    const Norm& norm = layer.norm;
    const bool inside = norm.kind != NormKind::none && (norm.place == NormPlace::sandwich || norm.place == NormPlace::after);
    if (!inside || norm.eps > 0) continue;
    if (norm.kind == NormKind::layernorm || !norm.affine) {
      missing.push_back("eps = 0 in a norm inside the branch (theory 15.3, 15.8 a)");
      return;
    }
    if (!are_directions_settled(layer, context.facts.kernel[k].positive == Tri::yes, context.layout, read)) {
      missing.push_back("eps = 0 in a norm inside the branch: it keeps the direction of a row's sum, and that is not settled for this mixer (theory 16.17)");
      return;
    }
  }
  const std::vector<LayerSpec>& layers = context.architecture.layers;
  if (context.given || context.facts.norm.uniform) {
    if (is_bounded_branch(context, layers.back())) missing.push_back("a norm of gain 1 inside the branch bounds what it adds, and there is no head (theory 15.3)");
    return;
  }
  // Without a head the layer behind which the list stops must show all by itself.
  const auto shows = [&](const LayerSpec& layer) { return may_stop_behind(context.architecture, layer) && shows_outputs(context, layer, may_use_spare(context)); };
  if (context.architecture.output.head == Head::none && std::none_of(layers.begin(), layers.end(), shows)) {
    missing.push_back("no layer behind which the list may stop shows all outputs without bounding them, and there is no head (theory 16.60)");
  }
}

/// A lower bound of Lambda, the number of different target labels of the class (15.8 e), cut at 2^63.
std::uint64_t count_targets_at_least(const Context& context) {
  const mpz_class most = mpz_class(1) << 63;
  const auto v = static_cast<std::uint64_t>(context.architecture.input.vocabulary.value_or(std::max<std::int64_t>(2, context.architecture.tokens)));
  const std::uint64_t n = context.ordinary();
  mpz_class count = n == 0 ? 1 : static_cast<unsigned long>(v);
  if (n == 0 || context.target_class == ClassKind::seen) return count.get_ui();
  if (context.target_class == ClassKind::causal) {
    // A group may tie what a token reads to what the first one may (S_n: the own id alone), so only the trivial one counts sequences (16.45).
    if (!context.target.is_trivial()) return count.get_ui();
    for (std::uint64_t k = 1; k < n && v > 1 && count < most; ++k) count *= static_cast<unsigned long>(v);
  } else if (context.target.is_trivial()) {  // every token of every sequence
    for (std::uint64_t k = 1; k < n && v > 1 && count < most; ++k) count *= static_cast<unsigned long>(v);
    count *= static_cast<unsigned long>(n);
  } else {
    // S_n-equivariant targets are the fewest: own id times the multiset of the others, V C(n + V - 2, n - 1).
    const std::uint64_t top = n + v - 2, chosen = std::min(n - 1, v - 1);
    mpz_class multisets = 1;
    for (std::uint64_t k = 1; k <= chosen && multisets < most; ++k) {
      multisets = multisets * static_cast<unsigned long>(top - chosen + k) / static_cast<unsigned long>(k);
    }
    count *= multisets;
  }
  return count < most ? count.get_ui() : std::uint64_t{1} << 63;
}

/// The first layer of this kind from number `from` on, the list repeated for ever; nothing where the list has none.
template <class Kind> std::optional<std::uint64_t> find_layer(const Architecture& a, std::uint64_t from, Kind is_it) {
  const auto period = static_cast<std::uint64_t>(a.layer_count());
  std::uint64_t begin = (from - 1) / period * period;  // layers before the list's next round
  for (int round = 0; round < 2; ++round) {
    for (const LayerSpec& layer : a.layers) {
      const std::uint64_t end = begin + static_cast<std::uint64_t>(layer.repeat);
      if (end >= from && is_it(layer)) return std::max(from, begin + 1);
      begin = end;
    }
  }
  return std::nullopt;
}

/// The first layer from number `from` on, the list repeated, that has a feedforward to read out with (Lemma S needs none before).
std::uint64_t find_feedforward(const Architecture& a, std::uint64_t from) { return find_layer(a, from, has_feedforward).value_or(from); }

/// The first layer from number `from` on that puts out as many numbers as are wanted: norms that differ by layer leave different ranks, and
/// a branch of gain 1 without a head is bounded (docs/theory.md 16.60). Nothing where none does by itself.
std::optional<std::uint64_t> find_read_out(const Context& context, std::uint64_t from) {
  const Architecture& a = context.architecture;
  if (!context.facts.norm.uniform)
    return find_layer(a, from, [&](const LayerSpec& layer) { return may_stop_behind(a, layer) && shows_outputs(context, layer, false); });
  const std::uint64_t first = find_feedforward(a, from);
  const std::int64_t wanted = context.answer.output_dim.value_or(0);
  // The spare layer of 15.8 a stands behind the labels.
  return wanted > context.rank.certified && wanted <= context.rank.with_one_more_layer ? find_feedforward(a, first + 1) : first;
}

/// Layers that targets of the own id alone ask for, at least and at most: none where the table holds them. Sums of id + position are additive, so they hold no different functions
/// of the id at tokens of two orbits; a norm behind the table bends it to a surface (docs/theory.md 16.86).
std::pair<std::uint64_t, std::optional<std::uint64_t>> bound_own_id(const Context& context) {
  const Architecture& a = context.architecture;
  if (holds_own_id(context)) return {0, 0};
  const auto is_real = [](const std::optional<Norm>& norm) { return norm && norm->kind != NormKind::none; };
  const auto& orbit = context.target.orbit;
  const std::set<group::Point> orbits(orbit.begin() + (a.input.bos ? 1 : 0), orbit.end());
  const bool additive = !is_real(a.input.norm) && !is_real(a.output.norm) && orbits.size() > 1;
  return {additive ? 1 : 0, find_read_out(context, 1)};
}

/// A parallel block reads out one block later (15.4).
std::uint64_t count_read_out(const Context& context) { return context.architecture.block.arrangement == Arrangement::parallel ? 1 : 0; }

/// Layers that targets need, at least and at most; nothing where no number is known to be enough.
std::optional<std::pair<std::uint64_t, std::uint64_t>> bound_layers(const Context& context, const IdLayers& layers) {
  if (!layers.layers && (layers.never || layers.high == 0)) return std::nullopt;
  const auto [low, high] = layers.layers == 0 ? bound_own_id(context)
                                              : std::pair(layers.layers.value_or(layers.low), find_read_out(context, layers.layers.value_or(layers.high) + count_read_out(context)));
  if (!high) return std::nullopt;
  return std::pair(low, *high);
}

/// What keeps networks from telling apart what labels do, however many layers there are.
struct Premises {
  std::vector<std::string> missing;
  bool repeated = false;  ///< some sublayer suffices only by being repeated
};

Premises check_premises(const Context& context, const IdLayers& layers) {
  const Architecture& a = context.architecture;
  const bool nothing_wanted = layers.layers == 0, table_enough = nothing_wanted && is_table_enough(context);
  const bool decidable = std::all_of(context.facts.mixer.begin(), context.facts.mixer.end(), [](const MixerFacts& m) { return m.decidable; });
  Premises result;
  std::vector<std::string>& missing = result.missing;
  result.repeated = !table_enough && check_feedforward(context, missing);
  check_mixers(context, nothing_wanted, missing);
  if (!table_enough) check_norms(context, missing);
  if (a.input.vocabulary == 1) missing.push_back("vocabulary: one id alone (theory 15 speaks of two at least)");
  if (!decidable && !nothing_wanted) missing.push_back("mixer: " + context.facts.mixer.front().why);
  if (!a.block.residual) missing.push_back("no residual connection (theory 7.4)");
  if (layers.only_necessary && !layers.never && !nothing_wanted && missing.empty()) missing.push_back("labels are necessary only for this mixer (theory 15.4 L6)");
  if (count_read_out(context) > 0 && adds_up_unfree_states(context) && layers.layers.value_or(layers.high) > 1 && missing.empty()) {
    missing.push_back("parallel blocks whose mixers add up states that no feedforward has moved (theory 15.4 Lemma S, 16.21)");
  }
  return result;
}

/// The number for the class of the layout, with the target's symmetry: a question of its own, which asks neither for the target's class nor for the given depth.
std::optional<std::uint64_t> compute_class_layers(Context& context) {
  IdLayers nothing;  // premises of targets that ask for nothing: without these there is no number
  nothing.layers = 0;
  if (!check_premises(context, nothing).missing.empty()) return std::nullopt;
  Context of_class = context;
  if (context.architecture.target.symmetry_is_layout) {
    of_class.target = context.layout_group;
    of_class.target_is_layout = true;
  }
  if (*context.answer.class_kind == ClassKind::causal) of_class.mean_all_causal();
  const IdLayers layers = compute_id_layers(of_class, *context.answer.class_kind);
  context.asked = of_class.asked;
  const Premises premises = check_premises(of_class, layers);
  if (!premises.missing.empty() || premises.repeated) return std::nullopt;
  const auto bounds = bound_layers(of_class, layers);
  return bounds && bounds->first == bounds->second ? std::optional(bounds->first) : std::nullopt;
}

/// 15.8 a: a spare layer may fill the coordinate that a norm inside the branch takes away: one feedforward behind the labels and another one with
/// other gains. A parallel block shows labels to the next one; shared weights have shared gains (docs/theory.md 16.32).
bool has_spare_layer(const Context& context, const IdLayers& layers, bool table_enough) {
  if (table_enough) return true;
  const architecture::Block& block = context.architecture.block;
  if (block.tied || !may_use_spare(context)) return false;
  const std::uint64_t needed = layers.layers.value_or(layers.high), read_out = needed > 0 && block.arrangement == Arrangement::parallel ? 1 : 0;
  const std::uint64_t first = find_feedforward(context.architecture, std::max<std::uint64_t>(1, needed + read_out));
  return !context.given || *context.given >= find_feedforward(context.architecture, first + 1);
}

OutputVerdict decide_ids_output(Context& context, const IdLayers& layers, bool table_enough) {
  const OutputRank& rank = context.rank;
  const bool spare = has_spare_layer(context, layers, table_enough);
  if (!rank.sphere && spare && layers.layers && rank.with_one_more_layer > rank.certified) {
    context.answer.output_largest = rank.with_one_more_layer;
    if (!context.architecture.output.dim) context.answer.output_dim = rank.with_one_more_layer;
  }
  const TargetLabels targets = layers.distinct_targets ? TargetLabels{*layers.distinct_targets, true} : TargetLabels{count_targets_at_least(context), false};
  return decide_output(context, spare ? rank.with_one_more_layer : rank.certified, targets);
}

void add_label_floor(Context& context, const IdLayers& layers) {
  std::optional<Floor> floor;
  switch (layers.floor) {
    case IdFloor::none: return;
    case IdFloor::constant_prefixes: floor = make_constant_ids_floor(context, true); break;
    case IdFloor::constant_sequences: floor = make_constant_ids_floor(context, false); break;
    case IdFloor::linformer: floor = make_linformer_ids_floor(context); break;
    case IdFloor::max_of_three:
      floor = Floor{2, mpq_class(2), "F(X)_i = (sum over j of +1 for one id, -1 for the other) e_1", "uniform over all id sequences", "maximum forgets counts (theory 15.5 D2)"};
      break;
    case IdFloor::collision: floor = make_id_collision_floor(context); break;
  }
  if (floor) context.add_floor(*floor);
}

}  // namespace

void decide_ids(Context& context) {
  const Architecture& a = context.architecture;
  Answer& answer = context.answer;
  const bool decidable = std::all_of(context.facts.mixer.begin(), context.facts.mixer.end(), [](const MixerFacts& m) { return m.decidable; });
  const IdLayers layers = compute_id_layers(context, context.target_class);

  // Necessity: sight and labels, whatever the sublayers can do.
  const bool too_shallow = context.given && ((layers.layers && *context.given < *layers.layers) || (!layers.layers && *context.given < layers.low));
  const bool one_id = a.input.vocabulary == 1;  // then there is one input, and nothing to tell apart
  const bool impossible = decidable && !one_id && (layers.never || too_shallow);
  if (impossible) {
    const sight::UnseenPairs unseen = sight::find_unseen_pairs(context.question(context.sighted_layout(), context.target_class, sight::RegisterRows::multisets), context.given, a.input.bos, context.budget);
    if (unseen.count > 0) {
      answer.unreachable = unseen.first;
      context.add_floor(make_unseen_ids_floor(context, mpz_class(static_cast<unsigned long>(unseen.count))));
    } else {
      answer.id_collision = layers.at_given ? layers.at_given : layers.below;
      add_label_floor(context, layers);
    }
  }
  context.use(layers.rule, layers.premises);

  const bool nothing_wanted = layers.layers == 0, table_enough = nothing_wanted && is_table_enough(context);
  auto [missing, repeated] = check_premises(context, layers);
  if (a.block.tied) context.use("tied");
  const bool premises = missing.empty();  // labels are sufficient as soon as there are enough layers

  // Enough layers? A parallel block reads out one block later (15.4).
  const std::uint64_t read_out = count_read_out(context);
  bool enough = false;
  if (layers.layers) {
    enough = !context.given || *context.given >= *layers.layers + (*layers.layers > 0 ? read_out : 0);
    if (!enough && !impossible) missing.push_back("parallel blocks: the read-out of the last layer sits one block later (theory 15.4)");
  } else if (!layers.never) {
    enough = layers.high > 0 && (!context.given || *context.given >= layers.high + read_out);
    if (!enough && !impossible) missing.push_back("layers: no number is proved");
  }
  const OutputVerdict output = decide_ids_output(context, layers, table_enough);
  if (output.missing) missing.push_back(*output.missing);

  answer.verdict = impossible || output.impossible    ? Verdict::impossible
                   : missing.empty() && enough ? Verdict::certified
                                               : Verdict::unknown;
  for (const std::string& reason : missing) context.use("open", {reason});

  // With as many ids as tokens, inputs in general position exist: every G that is served contains the layout's own group.
  const bool general = !a.input.vocabulary || *a.input.vocabulary >= static_cast<std::int64_t>(context.ordinary());
  if (answer.verdict == Verdict::certified && context.target_class == ClassKind::all && (general || context.layout_group.is_trivial()) && target_is_inside_layout(context)) {
    answer.expressed = answer.layout;
  }
  if (context.rank.sphere) return;
  if (premises && repeated) context.use("open", {"layers: feedforwards of bounded width suffice by repetition, no number is known (theory 15.4)"});
  if (premises && !repeated) {
    if (const auto bounds = bound_layers(context, layers)) {
      if (bounds->first == bounds->second) answer.needed = bounds->first;
      else answer.needed_between = bounds;
    }
  }
  if (answer.class_kind == context.target_class) answer.class_layers = answer.needed;
  else if (answer.class_kind) answer.class_layers = context.figure("class.layers", [&] { return compute_class_layers(context); });
}

}  // namespace sightline::verdict

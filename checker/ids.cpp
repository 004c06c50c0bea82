// Token ids: labels say what can be told apart (labels.hpp); here the premises of sufficiency, widths and the verdict (theory 15).
#include <set>

#include "derivation.hpp"
#include "reach.hpp"

namespace checker {

namespace {

using Missing = std::vector<std::string>;

/// Small steps and post-norms make up all flows along a sphere of two dimensions or more, which shows as many numbers (16.89).
bool flows_on_sphere(const Derivation& d, const Json& layer, const FeedforwardFacts& f) {
  const Json &norm = layer["norm"], &ff = layer["feedforward"];
  const std::int64_t dimension = d.dim - (norm["kind"].is("layernorm") ? 2 : 1);
  const bool sphere = has_one_norm(d.a) && real(norm) && norm["place"].is("post") && (norm["eps"].number() < 1 || norm["affine"].boolean()) && dimension >= 2;
  const bool plain = d.a["block"]["arrangement"].is("sequential") && !d.a["output"]["head"].is("none") && !real(d.a["input"]["norm"]) && !real(d.a["output"]["norm"]);
  return sphere && plain && ff["bias"].is_boolean() && ff["bias"].boolean() && !f.polynomial && d.output_dim <= dimension;
}

/// True when some sublayer suffices only by being repeated (section 6): then no number of layers is known.
bool check_feedforward(const Derivation& d, Missing& missing) {
  const Json &layers = d.a["layer"], &front = d.a["input"]["norm"];
  const bool repeats = !d.given && !d.a["block"]["tied"].boolean();  // shared weights repeat one map (16.32)
  const bool reads_out = std::any_of(layers.array().begin(), layers.array().end(), [](const Json& layer) { return !layer["feedforward"]["kind"].is("none"); });
  const bool post = std::any_of(layers.array().begin(), layers.array().end(), [](const Json& layer) { return real(layer["norm"]) && layer["norm"]["place"].is("post"); });
  bool repeated = false;
  for (std::size_t k = 0; k < d.feedforward.size(); ++k) {
    const Json& ff = layers[k]["feedforward"];
    const FeedforwardFacts& f = d.feedforward[k];
    // Lemma S: states that differ are enough for softmax, so that is what must read them next; a list repeated for ever may stop where one reads out.
    const bool ends = d.given && k + 1 == d.feedforward.size();
    const MixerFacts& next = d.mixer[(k + 1) % d.feedforward.size()];
    if (ff["kind"].is("none") && d.mixer[k].softmax && !ends && reads_out && (next.softmax || next.blind)) continue;
    const bool narrow = !ff["width"].is_null() || !ff["spectral_norm_at_most"].is_null();
    if ((narrow || !f.interpolates) && repeats && (f.closure == Closure::full || f.closure == Closure::zero_fixing)) {
      if (post && !flows_on_sphere(d, layers[k], f)) {  // every round ends in the norm (16.84)
        missing.push_back("feedforward: behind a post-norm one sublayer must take finitely many states anywhere by itself (theory 15.3, 16.84)");
        return repeated;
      }
      repeated = true;
      continue;
    }
    if (!narrow && f.interpolates) continue;
    missing.push_back(narrow ? d.given ? "feedforward: a width or norm bound is covered for unbounded depth only (theory 15.4)"
                                       : "feedforward: repeating a bounded one is covered for layers with weights of their own only (theory 15.4, 16.32)"
                             : "feedforward: one sublayer must take finitely many states anywhere, and " +
                                   (f.polynomial ? "polynomial activations have a finite-dimensional span (theory 15.1 d)" : f.why.empty() ? "this one is not covered (theory 15.1)" : f.why));
    return repeated;
  }
  for (std::size_t k = 0; k < d.feedforward.size(); ++k) {
    const Json& norm = layers[k]["norm"];
    const bool layernorm = norm["kind"].is("layernorm") || (!front.is_null() && front["kind"].is("layernorm"));
    const std::int64_t kept = d.dim - (layernorm ? 1 : 0);
    const bool plain = !real(norm) || (norm["place"].is("pre") && norm["eps"].number() > 0);
    const bool rays = real(front) && front["eps"].number() == 0;  // of one dimension: two points
    if (kept >= 2 || (kept == 1 && plain && !rays && d.feedforward[k].hidden_bias)) continue;  // 15.1 e
    missing.push_back("width: the norms leave " + std::to_string(kept) + " dimension" + (kept == 1 ? "" : "s") + ", two are needed (theory 15.1, 15.3)");
    return repeated;
  }
  // Of two numbers a LayerNorm leaves one, in which bounded steps may keep the order of states; the mean takes one output anywhere (16.84).
  const bool ordered = d.dim == 2 && std::all_of(layers.array().begin(), layers.array().end(), [](const Json& layer) {
    const Json &norm = layer["norm"], &ff = layer["feedforward"];
    const bool bare = norm["kind"].is("layernorm") && norm["place"].is("pre") && !norm["affine"].boolean();
    return ff["kind"].is("none") || (bare && !ff["spectral_norm_at_most"].is_null());
  });
  const Json& last = d.a["output"]["norm"];
  if (ordered && reads_out && (d.output_dim > 1 || (real(last) && last["kind"].is("layernorm"))))
    missing.push_back("width: LayerNorm leaves 1 dimension, and a bound on the spectral norm may keep the order of states there (theory 16.84)");
  return repeated;
}

/// Rows of one state can only be the reader's own where tokens start alike and no BOS is in the row.
bool rows_hold_own_state(const Derivation& d) {
  const auto& colours = d.layout.vertex_colour;
  return std::set(colours.begin(), colours.begin() + static_cast<std::ptrdiff_t>(d.n)).size() < d.n && !(d.a["input"]["bos"].boolean() && d.every_row(&RowFacts::bos_in_every_row));
}

/// @param nothing_wanted  targets ask for no other token: mixers that can be switched off have no say
void check_mixers(const Derivation& d, bool nothing_wanted, Missing& missing) {
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const Json& mixer = d.a["layer"][k]["mixer"];
    const MixerFacts& m = d.mixer[k];
    if (m.blind || (nothing_wanted && !lacks_scale(mixer))) continue;
    if (!m.mean) return missing.push_back("mixer: " + m.why);
    if (!m.bounded) return missing.push_back("mixer: " + m.why + "; on ids labels are necessary only (theory 15.4 L6, 15.8 l)");
    if (mixer["projections"].is_object()) return missing.push_back("fixed mean pooling on ids is not covered");
    if (mixer["kind"].is("linformer") && mixer["projections"].is("generic"))
      return missing.push_back("fixed projections on ids: different sets of tokens may have equal sums (theory 16.21)");
    if (confuses_multiples(d.a["layer"][k], d.feedforward[k]) && rows_hold_own_state(d))
      return missing.push_back("one number per arc scales a row of the own state, and what reads it takes multiples for the same (theory 16.29)");
    if (!mixer["relative"].is("rotary") || !mixer["query_key"].is("tied")) continue;
    if (!d.every_row(&RowFacts::causal) && !(d.a["input"]["bos"].boolean() && d.every_row(&RowFacts::bos_in_every_row))) return missing.push_back("rotary positions with W_Q = W_K: weights are even in j - i (theory 15.8 f)");
  }
}

/// Does one orbit hold all tokens with ids of their own?
bool in_one_orbit(const Derivation& d, const Group& group) {
  const std::vector<Vertex> orbit = orbits(group);
  return std::all_of(orbit.end() - static_cast<std::ptrdiff_t>(d.ordinary), orbit.end(), [&](Vertex least) { return least == orbit.back(); });
}

/// Table and positions are functions of the own id, any at all for targets of this group (16.86).
bool holds_own_id(const Derivation& d, const Group& group) {
  const Json &input = d.a["input"], &positions = input["positions"];
  return !real(input["norm"]) && (positions.is("none") || d.ordinary <= 1 || (positions.is("learned") && in_one_orbit(d, group)));
}

/// The table alone holds targets of the own id, with every sublayer switched off (16.23).
bool is_table_enough(const Derivation& d, const Group& group) {
  const bool can_be_off = std::all_of(d.a["layer"].array().begin(), d.a["layer"].array().end(), [](const Json& layer) {
    return !lacks_scale(layer["mixer"]) && layer["feedforward"]["spectral_norm_equals"].is_null() && !(real(layer["norm"]) && layer["norm"]["place"].is("post"));
  });
  return can_be_off && d.a["block"]["residual"].boolean() && holds_own_id(d, group);
}

/// A branch of gain 1, with neither a head nor the gain of a last norm to make up for it (15.3).
bool is_bounded_branch(const Derivation& d, const Json& layer) {
  const Json& norm = layer["norm"];
  return real(norm) && (norm["place"].is("sandwich") || norm["place"].is("after")) && !norm["affine"].boolean() && d.a["output"]["head"].is("none") &&
         !real(d.a["output"]["norm"]);
}

/// What a spare layer adds (15.8 a) reaches the end: all norms alike, a head, or neither a post-norm nor a branch of gain 1 (16.60).
bool spare_reaches_end(const Derivation& d) {
  if (has_one_norm(d.a) || !d.a["output"]["head"].is("none")) return true;
  return std::ranges::none_of(d.a["layer"].array(), [](const Json& layer) {
    const Json& norm = layer["norm"];
    return real(norm) && !norm["place"].is("pre") && (norm["place"].is("post") || !norm["affine"].boolean());
  });
}

bool puts_out_all(const Derivation& d, const Json& layer, bool spare) {
  const OutputRank rank = rank_behind(d.a, layer["norm"]);
  return !rank.sphere && (spare ? std::max(rank.certified, rank.with_one_more_layer) : rank.certified) >= d.output_dim && !is_bounded_branch(d, layer);
}

void check_norms(const Derivation& d, Missing& missing) {
  if (norms_merge_rows(d.a)) return missing.push_back("a norm makes rows of the position table equal (theory 15.5 D1, 15.8 p)");
  std::size_t position = 0;
  for (std::size_t k = 0; k < d.kernel.size(); ++k) {
    const Json& layer = d.a["layer"][k];
    const std::vector<std::uint32_t>& read = d.layout.layers[d.layout.order[position]];
    position += layer["repeat"].natural();
    const Json& norm = layer["norm"];
    const bool inside = real(norm) && (norm["place"].is("sandwich") || norm["place"].is("after"));
    if (inside && norm["eps"].number() == 0 && (norm["kind"].is("layernorm") || !norm["affine"].boolean()))
      return missing.push_back("eps = 0 in a norm inside the branch (theory 15.3, 15.8 a)");
    if (inside && norm["eps"].number() == 0 && !are_directions_settled(layer, d.kernel[k].is(KernelFacts::positive), d.layout, read))
      return missing.push_back("eps = 0 in a norm inside the branch: it keeps the direction of a row's sum, and that is not settled for this mixer (theory 16.17)");
  }
  const Json::Array& layers = d.a["layer"].array();
  if (d.given || has_one_norm(d.a)) {
    if (is_bounded_branch(d, layers.back())) missing.push_back("a norm of gain 1 inside the branch bounds what it adds, and there is no head (theory 15.3)");
    return;
  }
  if (!d.a["output"]["head"].is("none")) return;
  if (std::ranges::none_of(layers, [&](const Json& layer) { return may_stop_behind(d.a, layer) && puts_out_all(d, layer, spare_reaches_end(d)); }))
    missing.push_back("no layer behind which the list may stop shows all outputs without bounding them, and there is no head (theory 16.60)");
}

/// A lower bound of the number of target labels of the class (15.8 e), cut at 2^63.
std::uint64_t count_targets_at_least(const Derivation& d) {
  const Natural most = power(2, 63);
  const std::uint64_t n = d.ordinary, v = d.vocabulary.value_or(std::max<std::uint64_t>(2, d.n));
  if (n == 0) return 1;
  if (d.target_class == ClassKind::seen) return v;
  Natural count = v, multisets = 1;
  if (d.target_class == ClassKind::causal) {  // a group may leave each token its own id alone (16.45)
    if (!d.target.classes.empty() || !d.target.generators.empty()) return v;
    for (std::uint64_t k = 1; k < n && v > 1 && count < most; ++k) count = count * v;
  } else if (is_trivial(d.target_is_layout ? d.layout_group.group : d.target)) {  // every token of every sequence
    for (std::uint64_t k = 1; k < n && v > 1 && count < most; ++k) count = count * v;
    count = count * Natural(n);
  } else {  // symmetric targets are the fewest: own id times the multiset of the others, V C(n + V - 2, n - 1)
    const std::uint64_t chosen = std::min(n - 1, v - 1);
    for (std::uint64_t k = 1; k <= chosen && multisets < most; ++k) multisets = multisets * Natural(n + v - 2 - chosen + k) / k;
    count = count * multisets;
  }
  return count < most ? std::stoull(count.decimal()) : std::uint64_t{1} << 63;
}

/// The first layer of this kind from this number on, the list repeated for ever; nothing where it has none.
template <class Kind>
std::optional<std::uint64_t> next_layer(const Derivation& d, std::uint64_t from, Kind is_it) {
  const std::uint64_t period = d.layout.order.size();
  std::uint64_t before = (from - 1) / period * period;
  for (int round = 0; round < 2; ++round) {
    for (const Json& layer : d.a["layer"].array()) {
      const std::uint64_t start = before + 1;
      before += layer["repeat"].natural();
      if (before >= from && is_it(layer)) return std::max(from, start);
    }
  }
  return std::nullopt;
}

/// The first layer from this one on, the list repeated, that has a feedforward to read out with (Lemma S needs none before).
std::uint64_t next_feedforward(const Derivation& d, std::uint64_t from) { return next_layer(d, from, has_feedforward).value_or(from); }

/// The first layer from this one on that puts out as many numbers as are wanted, where norms differ by layer (16.60).
std::optional<std::uint64_t> next_read_out(const Derivation& d, std::uint64_t from) {
  if (!has_one_norm(d.a)) return next_layer(d, from, [&](const Json& layer) { return may_stop_behind(d.a, layer) && puts_out_all(d, layer, false); });
  const std::uint64_t first = next_feedforward(d, from);
  return d.output_dim > d.rank.certified && d.output_dim <= d.rank.with_one_more_layer ? next_feedforward(d, first + 1) : first;  // 15.8 a
}

/// How many layers targets of the own id ask for, with this group: none where table (and positions) hold them; else up to the first that reads out (16.86).
std::pair<std::uint64_t, std::optional<std::uint64_t>> own_id_layers(const Derivation& d, const Group& group) {
  if (holds_own_id(d, group)) return {0, 0};
  return {real(d.a["input"]["norm"]) || real(d.a["output"]["norm"]) || in_one_orbit(d, group) ? 0 : 1, next_read_out(d, 1)};
}

/// A parallel block reads out one block later (15.4).
std::uint64_t count_read_out(const Derivation& d) { return d.a["block"]["arrangement"].is("parallel") ? 1 : 0; }

/// At least and at most so many layers; nothing where no number is enough.
std::optional<std::pair<std::uint64_t, std::uint64_t>> layer_bounds(const Derivation& d, const IdLayers& layers, const Group& group) {
  if (!layers.layers && (layers.never || layers.high == 0)) return std::nullopt;
  const auto [low, high] = layers.layers == 0u ? own_id_layers(d, group)
                                               : std::pair(layers.layers.value_or(layers.low), next_read_out(d, layers.layers.value_or(layers.high) + count_read_out(d)));
  return high ? std::optional(std::pair(low, *high)) : std::nullopt;
}

/// What labels tell apart, networks of enough layers do, but for what goes to `missing`. @return some sublayer suffices by repetition alone
bool check_premises(const Derivation& d, const IdLayers& layers, const Group& group, Missing& missing) {
  const bool nothing_wanted = layers.layers == 0u, table_enough = nothing_wanted && is_table_enough(d, group);
  const bool repeated = !table_enough && check_feedforward(d, missing);
  check_mixers(d, nothing_wanted, missing);
  if (!table_enough) check_norms(d, missing);
  if (d.vocabulary == 1u) missing.push_back("vocabulary: one id alone (theory 15 speaks of two at least)");
  if (!nothing_wanted && !d.every_mixer(&MixerFacts::decidable)) missing.push_back("mixer: " + d.mixer.front().why);
  if (!d.a["block"]["residual"].boolean()) missing.push_back("no residual connection (theory 7.4)");
  if (layers.only_necessary && !layers.never && !nothing_wanted && missing.empty()) missing.push_back("labels are necessary only for this mixer (theory 15.4 L6)");
  if (count_read_out(d) > 0 && adds_up_unfree_states(d) && layers.layers.value_or(layers.high) > 1 && missing.empty())
    missing.push_back("parallel blocks whose mixers add up states that no feedforward has moved (theory 15.4 Lemma S, 16.21)");
  return repeated;
}

}  // namespace

void decide_ids(Derivation& d) {
  const Json &input = d.a["input"], &block = d.a["block"];
  const bool decidable = d.every_mixer(&MixerFacts::decidable), bos = input["bos"].boolean();
  const Sight& sight = d.sight_of_networks();
  IdQuestion ask;
  ask.architecture = &d.a, ask.layout = &d.layout, ask.sight = &sight, ask.target = d.target_is_layout ? &d.layout_group.group : &d.target;
  ask.layout_group = &d.layout_group, ask.kind = d.target_class, ask.given = d.given, ask.evidence = d.evidence->find("ids"), ask.seen = d.whole ? nullptr : &d.sighted;
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const MixerFacts& m = d.mixer[k];
    ask.mixers.push_back({m.softmax, m.additive_only, m.blind, m.sees_places, d.kernel[k].is(KernelFacts::positive), m.may_weigh_nobody});
  }
  // Rows of a table are as they are: weights that are polynomials of the keys show their moments alone, which two sets of rows may share (16.32).
  const Json& first = d.a["layer"][0]["mixer"]["kind"];
  const bool polynomial = first.is("attention") ? !d.mixer.front().softmax : first.is("bias") && !d.alpha.front().is(ActivationFacts::polynomial, 'n');
  if (input["positions"].is("fixed") && polynomial && ask.mixers.front().additive_only == 'n') ask.mixers.front().additive_only = '?';
  const IdLayers layers = id_layers(ask);
  const bool one_id = d.vocabulary == 1u, impossible = decidable && !one_id && (layers.never || (d.given && *d.given < layers.layers.value_or(layers.low)));
  if (impossible) {
    const ViewQuestion question{d.whole ? &d.layout : &d.sighted, &d.layout_group, d.target_is_layout ? nullptr : &d.target, d.target_class, false};
    const auto [pairs, first] = sight.unseen_pairs(question, d.given, bos);
    if (pairs > 0) {
      d.set_unreachable(*first);
      add_unseen_ids_floor(d, pairs);
    } else {
      const std::optional<IdCollision>& found = layers.at_given ? layers.at_given : layers.below;
      if (found) {
        const auto list = [](const std::vector<std::uint32_t>& ids) {
          Json::Array out;
          for (const std::uint32_t id : ids) out.emplace_back(std::int64_t{id});
          return Json(std::move(out));
        };
        d.witness.emplace("ids", Json(Json::Object{{"x", list(found->x)}, {"y", list(found->y)}, {"a", Json(std::int64_t{found->a})}, {"b", Json(std::int64_t{found->b})}}));
      }
      add_label_floor(d, layers.floor);
    }
  }
  d.use(layers.rule, layers.premises);

  const bool table_enough = layers.layers == 0u && is_table_enough(d, *ask.target);
  Missing missing;
  const bool repeated = check_premises(d, layers, *ask.target, missing), premises = missing.empty();
  if (block["tied"].boolean()) d.use("tied");
  const std::uint64_t read_out = count_read_out(d);

  bool enough = false;
  if (layers.layers) {
    enough = !d.given || *d.given >= *layers.layers + (*layers.layers > 0 ? read_out : 0);
    if (!enough && !impossible) missing.push_back("parallel blocks: the read-out of the last layer sits one block later (theory 15.4)");
  } else if (!layers.never) {
    enough = layers.high > 0 && (!d.given || *d.given >= layers.high + read_out);
    if (!enough && !impossible) missing.push_back("layers: no number is proved");
  }
  // One feedforward behind the labels and one with other gains (15.8 a); a parallel block shows labels to the next one, shared weights share gains (16.32).
  const std::uint64_t behind = layers.layers.value_or(layers.high), reader = next_feedforward(d, std::max<std::uint64_t>(1, behind + (behind > 0 ? read_out : 0)));
  const bool spare = table_enough || (!block["tied"].boolean() && spare_reaches_end(d) && (!d.given || *d.given >= next_feedforward(d, reader + 1)));
  if (!d.rank.sphere && spare && layers.layers && d.rank.with_one_more_layer > d.rank.certified) {  // 15.8 a
    d.output_largest = d.rank.with_one_more_layer;
    if (d.a["output"]["dim"].is_null()) d.output_dim = d.output_largest;
  }
  const TargetLabels targets = layers.distinct_targets ? TargetLabels{*layers.distinct_targets, true} : TargetLabels{count_targets_at_least(d), false};
  const OutputVerdict output = decide_output(d, spare ? d.rank.with_one_more_layer : d.rank.certified, targets);
  if (!output.missing.empty()) missing.push_back(output.missing);
  d.verdict = impossible || output.impossible ? "impossible" : missing.empty() && enough ? "certified" : "unknown";
  for (const std::string& reason : missing) d.use("open", {reason});
  const bool general = d.vocabulary.value_or(d.ordinary) >= d.ordinary, trivial = d.layout_group.group.classes.empty() && d.layout_group.group.generators.empty();
  const auto inside = [&] {  // then a certified target has the layout's own group, whichever way it was written down
    if (d.target_is_layout || is_trivial(d.target)) return true;
    const Chain chain(d.layout_group.group);
    const std::vector<Permutation> all = list_generators(d.target, ~std::size_t{0});
    return std::all_of(all.begin(), all.end(), [&](const Permutation& g) { return chain.contains(g); });
  };
  if (d.verdict == "certified" && d.target_class == ClassKind::all && (general || trivial) && inside()) d.expressed = d.layout_group;
  if (d.rank.sphere) return;
  if (premises && repeated) d.use("open", {"layers: feedforwards of bounded width suffice by repetition, no number is known (theory 15.4)"});
  if (premises && !repeated) {
    const auto bounds = layer_bounds(d, layers, *ask.target);
    if (bounds && bounds->first == bounds->second) d.needed = bounds->first;
    else d.needed_between = bounds;
  }
  if (d.class_kind == d.target_class) {
    d.class_layers = d.needed;
    return;
  }
  // The class of the layout asks by itself; where not even targets that want nothing are served, nothing is known.
  IdLayers nothing;
  nothing.layers = 0;
  Missing lacking;
  check_premises(d, nothing, *ask.target, lacking);
  if (!lacking.empty()) return;
  const Group trivial_group{d.layout.tokens, {}, {}};
  ask.kind = d.class_kind, ask.witnesses = false;
  if (d.a["target"]["symmetry"].is("layout")) ask.target = d.class_kind == ClassKind::causal ? &trivial_group : &d.layout_group.group;
  d.class_layers = figure(d, "class.layers", [&]() -> std::optional<std::uint64_t> {
    const IdLayers other = id_layers(ask);
    if (check_premises(d, other, *ask.target, lacking) || !lacking.empty()) return std::nullopt;
    const auto bounds = layer_bounds(d, other, *ask.target);
    return bounds && bounds->first == bounds->second ? std::optional(bounds->first) : std::nullopt;
  });
}

}  // namespace checker

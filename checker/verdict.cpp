// Real-valued tokens: Theorem E decides what the layout can tell apart, the other rules what the sublayers can do with it (theory 2-7, 15.3,
// 15.6); and the published corollaries read literally.
#include <map>
#include <set>
#include <utility>

#include "derivation.hpp"
#include "reach.hpp"
#include "views.hpp"

namespace checker {

namespace {

std::string number(std::uint64_t x) { return std::to_string(x); }
using Missing = std::vector<std::string>;
/// Is every register read by a token, or by a register that is? The rows of others narrow the layout's group alone (16.52).
bool sees_all_registers(const Layout& layout) {
  std::set<Vertex> unread;
  for (Vertex r = layout.tokens; r < layout.vertices(); ++r) unread.insert(r);
  const std::vector<std::uint64_t> first = first_layers(layout);
  std::vector<Run> row;
  for (bool again = true; again && !unread.empty();) {
    again = false;
    for (std::size_t relation = 0; relation < first.size(); ++relation) {
      for (Vertex i = 0; i < layout.vertices(); ++i) {
        if (first[relation] == absent || unread.count(i) > 0) continue;
        layout.relations[relation].pattern->row(i, row);
        for (const Run& run : row) again = std::erase_if(unread, [&](Vertex r) { return r >= run.first && r <= run.last && (r - run.first) % run.step == 0; }) > 0 || again;
      }
    }
  }
  return unread.empty();
}

/// Rows of registers that start equal: frequencies when every layer that shows somebody is normalised, else counts.
bool shows_frequencies(const Derivation& d) {
  return std::all_of(d.mixer.begin(), d.mixer.end(), [](const MixerFacts& m) { return m.normalised || m.blind; });
}
/// Counts are then necessary, not sufficient.
bool mixes_register_rows(const Derivation& d) {
  const auto first = d.layout.vertex_colour.begin() + static_cast<std::ptrdiff_t>(d.n);
  const bool equal = std::set(first, d.layout.vertex_colour.end()).size() < d.layout.registers;
  if (equal && !d.every_mixer(&MixerFacts::bounded)) return true;  // a maximum shows sets, and of equal keys top-k takes any (16.21)
  return equal && !shows_frequencies(d) && std::any_of(d.mixer.begin(), d.mixer.end(), [](const MixerFacts& m) { return m.normalised && !m.blind; });
}

/// A blind layer shows how long its row is (16.5 d): are there rows that differ in length, while tokens are not told apart already?
bool shows_lengths(const Derivation& d) {
  const auto& colours = d.layout.vertex_colour;
  if (d.whole || std::set(colours.begin(), colours.begin() + static_cast<std::ptrdiff_t>(d.n)).size() == d.n) return false;
  std::vector<Run> row;
  std::size_t position = 0;
  for (std::size_t k = 0; k < d.mixer.size(); position += d.a["layer"][k++]["repeat"].natural()) {
    if (!d.mixer[k].blind || d.mixer[k].mean) continue;
    for (const std::uint32_t r : d.layout.layers[d.layout.order[position]]) {
      std::set<std::map<std::int64_t, std::uint64_t>> sizes;  // in each colour: every one has a weight (16.90)
      for (Vertex i = 0; i < d.layout.vertices() && sizes.size() < 2; ++i) {
        d.layout.relations[r].pattern->row(i, row);
        std::map<std::int64_t, std::uint64_t> size;
        for (const Run& run : row) size[run.colour] += run.size();
        sizes.insert(std::move(size));
      }
      if (sizes.size() > 1) return true;
    }
  }
  return false;
}

/// Rows of the own token alone, scaled by one number, show a sign at most behind a post-norm that keeps directions (16.29); with shared weights
/// all that follows must tell multiples apart (16.42).
bool forgets_own_rows(const Derivation& d) {
  const auto& colours = d.layout.vertex_colour;
  if (std::set(colours.begin(), colours.begin() + static_cast<std::ptrdiff_t>(d.n)).size() == d.n) return false;
  std::vector<Run> row;
  std::size_t position = 0;
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const Json& layer = d.a["layer"][k];
    const auto& read = d.layout.layers[d.layout.order[position]];
    position += layer["repeat"].natural();
    const bool merges = forgets_multiples(layer) || (d.a["block"]["tied"].boolean() && confuses_multiples(layer, d.feedforward[k]));
    for (Vertex i = 0; i < d.layout.tokens && merges; ++i) {
      std::set<Vertex> seen;  // up to two are enough
      for (const std::uint32_t r : read) {
        d.layout.relations[r].pattern->row(i, row);
        for (const Run& run : row) seen.insert(run.first), seen.insert(run.last);
      }
      if (seen == std::set{i}) return true;
    }
  }
  return false;
}

/// Does top-k leave keys out of some row? Which, where all tie (and weights can make them), is for an order of the tokens to say that views do not know (16.78).
bool may_break_ties(const Derivation& d) {
  std::size_t position = 0;
  for (const Json& layer : d.a["layer"].array()) {
    const Json& mixer = layer["mixer"];
    const auto& read = d.layout.layers[d.layout.order[position]];
    position += layer["repeat"].natural();
    if (!selects_keys(d.a, mixer)) continue;
    const auto fits = [&](Vertex, Vertex, const std::vector<Run>& row) {
      std::uint64_t keys = 0;
      for (const Run& run : row) keys += run.size();
      return keys <= mixer["top_k"].natural();
    };
    if (!mixer["kind"].is("attention") || !std::ranges::all_of(read, [&](std::uint32_t r) { return d.layout.relations[r].pattern->visit_rows(fits); })) return true;
  }
  return false;
}

/// Views know offsets and distances; only softmax is known to show them, and a turn takes two coordinates (16.87).
bool may_hide_offsets(const Derivation& d) {
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const Json& mixer = d.a["layer"][k]["mixer"];
    const bool rotary = mixer["relative"].is("rotary");
    if (mixer["kind"].is("attention") && (rotary || mixer["relative"].is("alibi")) && (!d.mixer[k].softmax || (rotary && d.dim < 2))) return true;
  }
  return false;
}

/// What keeps mixers from telling apart all that views do; empty: nothing.
/// @param nothing_wanted  targets ask for no other token: mixers that can be switched off have no say
std::string missing_mixer(const Derivation& d, bool nothing_wanted) {
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const MixerFacts& m = d.mixer[k];
    if (nothing_wanted && !lacks_scale(d.a["layer"][k]["mixer"])) continue;
    if (!m.mean && !m.blind) return "mixer: " + m.why;
    if (!m.bounded && d.given) return "mixer: " + m.why + "; a list of layers needs such a bound";
  }
  if (!nothing_wanted && forgets_own_rows(d)) return "one number per arc scales a row of the own token, and what reads it takes multiples for the same (theory 16.29, 16.42)";
  if (!nothing_wanted && mixes_register_rows(d)) return "registers that start equal, read by layers that show different things of them (theory 7.6, 15.8 g, 16.21)";
  return "";
}

/// Shared weights leave no feedforward-only sublayers: a parallel block is read out by the next one, and where the first layer adds up mlp(x) + position,
/// all that it reads is free a period later (16.42).
std::uint64_t spare_layers(const Derivation& d) {
  const Json &input = d.a["input"], &first = d.a["layer"][0], &norm = first["norm"];
  if (!d.a["block"]["tied"].boolean() || !input["embedding"].is("mlp")) return 0;
  std::uint64_t spare = d.a["block"]["arrangement"].is("parallel") ? 1 : 0;
  const bool normed = real(input["norm"]) || (real(norm) && (norm["place"].is("pre") || norm["place"].is("sandwich")));
  if (input["positions"].is("none") || normed || selects_keys(d.a, first["mixer"]) || (d.whole ? d.layout : d.sighted).layer(1).empty()) return spare;
  const Json& kind = first["mixer"]["kind"];
  const bool polynomial = kind.is("attention") ? !d.mixer.front().softmax : kind.is("bias") && !d.alpha.front().is(ActivationFacts::polynomial, 'n');
  const bool sums = d.mixer.front().additive_only != 'n' || (input["positions"].is("fixed") && polynomial);
  if (sums) spare += d.mixer.size() == 1 ? 1 : d.layout.order.size();
  return spare;
}

Needed with_spare(Needed needed, std::uint64_t spare) {
  if (spare == 0 || needed.layers == 0u) return needed;
  if (needed.layers) needed.low = needed.high = *std::exchange(needed.layers, std::nullopt);
  if (needed.high > 0) needed.high += spare;
  return needed;
}

/// @param layers  that views ask for
void decide_blocks(Derivation& d, std::uint64_t layers, Tokenwise& result) {
  const auto miss = [&](const std::string& reason) { result.missing.push_back(reason); };
  if (!d.a["block"]["residual"].boolean()) miss("no residual connection (theory 7.4)");
  // Shared weights leave no feedforward-only sublayers: branches of gain 1 are bounded in all, unless a head or a last gain follows (16.32).
  const bool loud = !d.given || !d.a["output"]["head"].is("none") || real(d.a["output"]["norm"]) ||
                    std::none_of(d.a["layer"].array().begin(), d.a["layer"].array().end(), [](const Json& layer) {
                      const Json& norm = layer["norm"];
                      return real(norm) && !norm["affine"].boolean() && (norm["place"].is("sandwich") || norm["place"].is("after"));
                    });
  const bool covered = loud && d.a["input"]["embedding"].is("mlp") && std::all_of(d.feedforward.begin(), d.feedforward.end(), [](const auto& f) { return f.interpolates; });
  if (d.a["block"]["tied"].boolean() && !covered) miss("layers that share weights on real-valued tokens (theory 7.4, 15.4)");
  if (d.a["block"]["tied"].boolean() && covered && d.a["block"]["arrangement"].is("parallel") && layers > 1 && adds_up_unfree_states(d))
    miss("parallel blocks whose mixers add up states that no feedforward has moved (theory 15.4 Lemma S, 16.21)");
  if (const std::string missing = missing_mixer(d, layers == 0); !missing.empty()) return miss(missing);
  d.use("mixer", {d.mixer.front().why});
}

/// What was found about views, in words.
std::vector<std::string> describe(const Derivation& d, const Needed& needed) {
  const ClassKind kind = d.target_class;
  if (needed.never && !needed.below && needed.missed) return {"token " + number(d.token(needed.missed->first)) + " never sees token " + number(d.token(needed.missed->second))};
  const std::string survives = "a symmetry of the views that the target does not have survives ";
  if (needed.never) return {survives + "at every depth"};
  if (kind == ClassKind::causal && needed.layers == 0) return {"what this class and symmetry leave to a token is its own input alone (theory 16.7)"};
  const std::string seen = std::string(kind == ClassKind::all ? "every token sees every token" : kind == ClassKind::causal ? "every token sees the tokens up to itself" : "no view grows any more") +
                           " after " + number(needed.start) + (needed.start == 1 ? " layer" : " layers");
  if (!needed.layers) return {seen, "at least " + number(needed.low) + " layers are needed"};
  if (*needed.layers == needed.start) return {seen, "no two views can be confused"};
  return {seen, survives + "until layer " + number(*needed.layers)};
}

/// Fixed pooling among other layers shows all of its blocks at once, views those of the tokens whose rows are in sight (16.23).
bool pools_among_others(const Derivation& d) {
  return d.mixer.size() > 1 && std::any_of(d.a["layer"].array().begin(), d.a["layer"].array().end(), [](const Json& l) { return l["mixer"]["projections"].is_object(); });
}

/// What views tell apart is told apart; the reach bounds the number of layers from below. `at_last`: what survives at every depth is final.
Needed keep_bounds(Needed needed, bool at_last) {
  if (needed.below) needed.missed.reset();  // a collision is no pair that is never in view
  const bool unseen = needed.never && needed.missed;
  needed.below.reset();
  if (unseen || (needed.never && at_last)) return needed;
  needed.high = needed.never ? 0 : needed.layers.value_or(needed.high);
  needed.low = needed.start;
  if (needed.layers && *needed.layers != needed.start) needed.layers.reset();
  needed.never = false;
  return needed;
}

std::string published_theorem(const Derivation& d, bool& distinguishes) {
  using K = KernelFacts;
  const Json &a = d.a, &input = a["input"], &block = a["block"];
  if (d.dim < 2 || !block["arrangement"].is("sequential") || !block["residual"].boolean() || block["tied"].boolean() || !a["output"]["head"].is("none") ||
      !a["output"]["norm"].is_null() || !input["norm"].is_null() || !input["embedding"].is("none") || input["positions"].is("fixed") ||
      input["positions"].is("sinusoidal") || input["registers"].size() > 0 || !input["domain"].is("all")) return "";
  bool attention = true, linformer = true, convolution = true, bias = true, normalised = true, bare = true, good = true, gaussian = true, plain = true;
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const Json &layer = a["layer"][k], &m = layer["mixer"], &taps = m["taps"];
    if (real(layer["norm"]) || !d.feedforward[k].definition2 || !m["relative"].is("none") || m["sink"].boolean() || m["eps"].number() > 0 ||
        !m["top_k"].is_null() || !m["query_key"].is("free") || !m["value"].is("free")) return "";
    attention = attention && m["kind"].is("attention");
    linformer = linformer && m["kind"].is("linformer") && (m["projections"].is("trained") || m["projections"].is("tied"));
    bias = bias && m["kind"].is("bias") && !d.mixer[k].blind;
    std::vector<std::int64_t> sorted;
    for (const Json& tap : taps.array()) sorted.push_back(tap.integer());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t t = 0; t < sorted.size(); ++t) convolution = convolution && sorted[t] == static_cast<std::int64_t>(t);
    convolution = convolution && m["kind"].is("convolution") && sorted.size() >= 2;
    (m["normalised"].boolean() ? bare : normalised) = false;
    good = good && has_kernel(m) && d.kernel[k].is(K::analytic) && d.kernel[k].is(K::positive) && d.kernel[k].is(K::condition13, 'h');
    gaussian = gaussian && has_kernel(m) && d.kernel[k].is(K::gaussian);
  }
  if (linformer) return good ? "Corollary 3" : "";
  if (convolution) return "Corollary 4";
  const bool full = d.every_row(&RowFacts::full);
  if (attention && bare) return full && gaussian ? "Corollary 3" : "";
  std::vector<Run> row;
  for (const auto& layer : d.layout.layers) {
    plain = plain && layer.size() == 1;
    if (!plain) break;
    std::optional<std::int64_t> colour;
    const Relation& relation = d.layout.relations[layer.front()];
    const auto is_plain = [](const std::vector<MovingRun>& runs) { return std::ranges::all_of(runs, [](const MovingRun& run) { return run.colour == 1; }); };
    if (relation.relative == RelativeKind::none && std::ranges::all_of(relation.pattern->lists, is_plain)) continue;  // one colour, whatever cancels
    for (Vertex i = 0; i < relation.pattern->vertices && plain; i = relation.same_row_until(i)) {
      relation.row(i, row);
      for (const Run& r : row) plain = plain && r.colour_step == 0 && colour.value_or(r.colour) == r.colour, colour = r.colour;
    }
  }
  if (attention) return normalised && good && plain ? (full ? "Corollary 1" : "Corollary 2") : "";
  if (!bias || !plain) return "";
  for (const ActivationFacts& s : d.alpha) {  // Definition 3: analytic, and moments enough for the longest row when alpha is a polynomial (3.11)
    using A = ActivationFacts;
    if (!s.is(A::analytic) || s.is(A::polynomial, '?')) distinguishes = false;
    if (!s.is(A::polynomial)) continue;
    for (const Relation& relation : d.layout.relations) {
      for (Vertex i = 0; i < d.layout.tokens && distinguishes; ++i) {
        relation.pattern->row(i, row);
        std::int64_t others = 0;
        for (const Run& r : row) others += r.size() - (r.first <= i && i <= r.last && (i - r.first) % r.step == 0 ? 1 : 0);
        distinguishes = others <= s.degree;
      }
    }
  }
  return "Corollary 5";
}

bool target_contains(const Derivation& d, const ConfirmedGroup& group) {
  if (d.target_is_layout && &group == &d.layout_group) return true;
  const Chain chain(d.target);
  const std::vector<Permutation> all = list_generators(group.group, ~std::size_t{0});
  return std::all_of(all.begin(), all.end(), [&](const Permutation& g) { return chain.contains(g); });
}

}  // namespace

OutputVerdict decide_output(Derivation& d, std::int64_t possible, const std::optional<TargetLabels>& targets) {
  const OutputRank& rank = d.rank;
  if (rank.sphere) {
    // Behind LayerNorm a gain and a bias take up to d labels anywhere; a sphere that a gain can only stretch takes one (16.59).
    const std::int64_t harmless = rank.affine < d.dim ? d.dim : 1;
    if (rank.sphere_gain && targets && targets->count <= static_cast<std::uint64_t>(harmless)) return {false, "output range: few target labels may all lie in the range of the last norm (theory 16.59)"};
    d.use("norm-range");
    add_sphere_floor(d);
    return {true, ""};
  }
  const std::int64_t wanted = d.output_dim;
  const std::string premise = std::to_string(wanted) + " outputs per token, " + std::to_string(possible) + " possible";
  if (wanted <= possible) return d.use("output-rank", {rank.why, premise}), OutputVerdict{};
  const std::int64_t most = std::max(rank.affine, rank.anywhere);
  const auto fits = static_cast<std::uint64_t>(rank.affine) + 1;
  const bool headless = d.a["output"]["head"].is("none");  // then the state is the output, and no head moves it
  const bool few = targets && targets->count <= static_cast<std::uint64_t>(most) + 1 && (!headless || wanted <= d.dim);
  if (few && targets->count <= fits && targets->exact && !headless) {
    d.use("few-labels", {number(targets->count) + " target labels, " + number(fits) + " fit"});
    return {};
  }
  if (rank.undecided_above && wanted <= most) return {false, "output width: " + rank.why};
  if (few) {
    return {false, headless ? "output width: few target labels, and no head that takes states to them (theory 15.8 e, 16.41)"
                            : "output width: few target labels, and they were not counted exactly (theory 15.8 e)"};
  }
  d.use("output-rank", {rank.why, premise});
  add_output_rank_floor(d, wanted);
  return {true, ""};
}

namespace {

/// One layer shows every block mean, and no depth more. Tokens that ask for themselves alone are exchanged with all that start alike before it, with
/// those of their orbit behind it (theory 16.24).
Needed decide_fixed_pooling(const Derivation& d, const Sight& sight, const ViewQuestion& question, const ConfirmedGroup& own, std::vector<std::string>& premises) {
  const Reach reach = sight.wanted_reach(question, false);
  Needed needed;
  needed.layers = reach.layers, needed.never = !reach.layers, needed.start = reach.layers.value_or(0);
  if (!reach.layers) needed.missed = reach.missed;
  premises = {reach.layers ? "fixed pooling: one layer shows every block mean" : "fixed pooling: some token is in no block"};
  if (!reach.layers) return needed;
  bool kept = true;  // by the target, what one layer cannot tell apart
  if (*reach.layers == 0) {
    const std::vector<Vertex> orbit = orbits(question.target != nullptr ? *question.target : own.group), of_layer = orbits(own.group);
    std::map<std::uint64_t, Vertex> orbit_of;
    for (Vertex i = 0; i < d.layout.tokens; ++i) {
      if (orbit_of.try_emplace(question.layout->vertex_colour[i], orbit[i]).first->second != orbit[i]) needed.layers = 1;
      kept = kept && orbit[i] == orbit[of_layer[i]];
    }
    if (needed.layers == 0u) return needed;
  } else {
    kept = question.target != nullptr && is_trivial(*question.target) ? is_trivial(own.group) : target_contains(d, own);
    const bool everything = d.target_class == ClassKind::all || (d.target_class == ClassKind::seen && d.class_kind == ClassKind::all);
    if (!kept && !everything && !is_trivial(question.target != nullptr ? *question.target : own.group)) {  // what the class hides may excuse the rest
      needed.layers.reset(), needed.low = *reach.layers;
      return needed;
    }
  }
  if (kept) return needed;
  needed.layers.reset(), needed.never = true;
  premises = {"fixed pooling: block means do not change when tokens of a block, or whole blocks, are exchanged"};
  return needed;
}

}  // namespace

namespace {

/// A fixed table whose rows overlap, and a target that exchanges tokens of different rows: no such exchange is harmless, in G or not (16.24 f).
enum class RowExchange { none, refused, open };

RowExchange exchange_rows(const Derivation& d) {
  if (d.target_is_layout) return RowExchange::none;
  const std::vector<Vertex> orbit = orbits(d.target);
  const auto& row = d.layout.vertex_colour;
  std::map<std::uint64_t, std::uint64_t> row_of;
  bool merges = false, swaps = false;
  for (Vertex i = 0; i < d.layout.tokens; ++i) {
    merges = merges || row_of.try_emplace(d.recoloured.vertex_colour[i], row[i]).first->second != row[i];
    swaps = swaps || row[orbit[i]] != row[i];
  }
  if (!merges || !swaps) return RowExchange::none;
  const bool distinct = std::set(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(d.n)).size() == d.n;
  const bool everything = d.target_class == ClassKind::all || (d.target_class == ClassKind::seen && d.class_kind == ClassKind::all);
  return distinct && everything ? RowExchange::refused : RowExchange::open;
}

/// Colours by overlap merge rows that overlap through others only: views bound the number of layers from above, the reach from below (16.38).
/// @param by_pairs  `needed` is about the layout's own symmetries, which are looked at one by one
Needed keep_overlaps(const Derivation& d, const Group& group, const Group& harmless, bool by_pairs, RowExchange exchange, Needed needed) {
  if (needed.never && needed.missed && !needed.below) return needed;
  ExchangedRows rows;
  if (by_pairs) rows = find_exchanged_rows(d, group, harmless, exchange == RowExchange::open);
  if (rows.first) {
    needed.never = true, needed.layers.reset(), needed.missed.reset(), needed.below = rows.first;
    return needed;
  }
  if (by_pairs && !rows.complete) needed.layers.reset(), needed.high = 0;
  if (needed.never) return needed;
  needed.high = needed.layers.value_or(needed.high), needed.low = needed.start;
  if (needed.layers != needed.start) needed.layers.reset();
  needed.below.reset();
  return needed;
}

}  // namespace

void decide_continuous(Derivation& d) {
  const bool fixed = d.uses_fixed_table(), pooling = d.is_fixed_pooling(), decidable = d.every_mixer(&MixerFacts::decidable), bounded = d.every_mixer(&MixerFacts::bounded);
  Overlaps overlaps = Overlaps::exact;
  Sight* const sighted = d.whole ? &*d.sight : &*d.sighted_sight;
  Sight* sight = sighted;
  const Layout* layout = d.whole ? &d.layout : &d.sighted;
  const ConfirmedGroup* own = d.whole ? &d.layout_group : &d.sighted_group;
  const bool frequencies = shows_frequencies(d), lengths = shows_lengths(d), pooled = pools_among_others(d), coarse = pooled || lengths;
  const bool views_at_last = !lengths && d.class_kind == ClassKind::all;
  const ViewQuestion own_group{layout, own, nullptr, ClassKind::all, frequencies};
  ViewQuestion of_layout = own_group;
  if (!d.whole) of_layout.target = &d.layout_group.group;
  if (fixed) {
    d.recoloured = *layout;
    overlaps = recolour_by_overlap(d, d.recoloured);
    d.recoloured_group = confirm_automorphisms(make_structure(d.recoloured), d.layout.tokens, d.shown("groups", "recoloured"), "groups.recoloured");
    d.recoloured_sight.emplace(d.recoloured, d.shown("views", "recoloured"));
    sight = &*d.recoloured_sight, layout = &d.recoloured, own = &d.recoloured_group;
  }
  const RowExchange exchange = fixed ? exchange_rows(d) : RowExchange::none;
  const Group nobody{d.layout.tokens, {}, {}};
  const bool everything = d.target_class == ClassKind::all || (d.target_class == ClassKind::seen && d.class_kind == ClassKind::all);
  const bool open = exchange == RowExchange::open;
  const bool by_pairs = (overlaps == Overlaps::by_pairs || (overlaps == Overlaps::exact && open)) && everything && !coarse;
  const Group& harmless = exchange == RowExchange::refused ? nobody : d.target_is_layout ? d.layout_group.group : d.target;
  const ViewQuestion question{layout, own, (by_pairs && !pooling) || (exchange != RowExchange::refused && d.target_is_layout && d.whole && !fixed) ? nullptr : exchange == RowExchange::refused ? &nobody : &d.target, d.target_class, frequencies};

  Needed needed;
  std::vector<std::string> premises;
  const std::uint64_t spare = spare_layers(d);
  if (pooling) {
    needed = decide_fixed_pooling(d, *sight, question, fixed ? d.recoloured_group : d.layout_group, premises);
    if (by_pairs && (needed.never || open) && !needed.missed) {  // colours join rows that overlap through others only; elements are looked at one by one (16.79)
      const ExchangedRows rows = find_exchanged_rows(d, own->group, harmless, exchange == RowExchange::open);
      needed.below = rows.first, needed.never = rows.first.has_value(), needed.layers.reset();
      if (!needed.never) needed.low = needed.start;
      if (!needed.never && rows.complete) needed.layers = needed.start;
      premises = {needed.never ? "fixed pooling: block means do not change when tokens of a block, or whole blocks, are exchanged" : "fixed pooling: one layer shows every block mean"};
    }
    needed = with_spare(std::move(needed), spare);
  } else {
    needed = sight->needed(question);
    if (coarse) needed = keep_bounds(std::move(needed), views_at_last);
    if (overlaps != Overlaps::exact || by_pairs) needed = keep_overlaps(d, own->group, harmless, by_pairs, exchange, std::move(needed));
    needed = with_spare(std::move(needed), spare);
    premises = describe(d, needed);
  }
  bool impossible = needed.never || (d.given && needed.layers.value_or(needed.low) > *d.given);
  bool undecided = !impossible && !needed.layers && !(needed.high > 0 && (!d.given || *d.given >= needed.high));
  const bool reach_fails = (needed.never && needed.missed && !needed.below) || (d.given && *d.given < needed.start);
  if (overlaps != Overlaps::exact && !by_pairs && impossible && !reach_fails) impossible = false, undecided = true;
  const bool places = std::any_of(d.mixer.begin(), d.mixer.end(), [](const MixerFacts& m) { return m.sees_places; });
  const bool may_tie = may_break_ties(d), ties = may_tie && impossible && !(d.given && *d.given < needed.start);
  if (((open && !by_pairs) || places || ties) && !(needed.never && needed.missed && !needed.below)) {
    impossible = d.given && *d.given < needed.start, undecided = !impossible, needed.never = false;  // what is not seen stays so, whatever the rows
    needed.layers.reset(), needed.below.reset(), needed.low = needed.start, needed.high = 0;
    premises = describe(d, needed);
  }
  if (!decidable) impossible = false;

  bool unseen = false;
  if (impossible) {
    const bool blind = std::all_of(d.mixer.begin(), d.mixer.end(), [](const MixerFacts& m) { return m.blind && !m.linear; });
    const auto [pairs, first] = blind && d.n > 1 ? std::pair<std::uint64_t, std::optional<std::pair<Vertex, Vertex>>>{d.n * (d.n - 1), {}} : sight->unseen_pairs(question, d.given, false);
    unseen = pairs > 0;
    if (first) d.set_unreachable(*first);
    if (unseen && first) add_unseen_floor(d, pairs);
    else if (unseen) d.add_floor(Rational(Natural(pairs), 12), "F(X)_i = (sum over j of X[0][j]) e_1", "[0,1]^(d n)", "blind mixer (theory 3.3)");
  }
  if (impossible || !undecided) d.use(fixed ? "fixed-positions" : "theorem-e", premises);
  OutputVerdict output = decide_output(d, d.rank.certified, {});
  Tokenwise rest;
  const bool nothing_wanted = needed.layers && *needed.layers == 0, counted = bounded || nothing_wanted;
  decide_blocks(d, needed.never ? 1 : needed.layers.value_or(std::max<std::uint64_t>(1, needed.low)), rest);
  decide_feedforward(d, rest);
  decide_norms(d, rest);
  if (impossible && !unseen && !coarse) {
    if (fixed) {
      if (needed.below) d.set_collision(*needed.below);
      add_overlap_floor(d, needed.below, exchange == RowExchange::refused);
    } else {
      std::optional<Collision> collision;
      if (d.given) collision = figure(d, "the collision at this depth", [&] { return sight->collision(question, *d.given); });
      if (!collision) collision = needed.below;
      if (collision) d.set_collision(*collision), add_collision_floor(d, *collision, question);
    }
  }
  if (!output.missing.empty()) rest.missing.push_back(output.missing);
  if (undecided) rest.missing.push_back(lengths ? "layers: a sum of constants shows the length of its rows alone (theory 16.5 d)" : pooled ? "layers: fixed pooling among other layers is known up to bounds (theory 16.23)" : pooling && overlaps == Overlaps::exact && !by_pairs ? "layers: fixed pooling, and a class that hides what its symmetries exchange (theory 16.24)" : open && !by_pairs ? "layers: the target exchanges tokens whose rows in the position table overlap and differ (theory 16.24)" : places ? "layers: turned queries and keys show where tokens stand under this kernel (theory 16.37)" : ties ? "layers: of keys that tie top-k takes some and leaves some, and so may tell tokens apart (theory 16.78)" : spare > 0 ? "layers: with shared weights no feedforward stands before the first layer or behind the last (theory 16.42)" : overlaps == Overlaps::exact && !by_pairs ? "layers: comparing views is beyond the bounds on steps" : "layers: rows of the position table overlap, but not in the way that theory 3.9 decides");
  const bool sufficient = rest.missing.empty() && !rest.impossible && !(output.impossible && d.rank.sphere);
  settle_distances(d, sufficient && bounded);
  d.verdict = impossible || output.impossible || rest.impossible ? "impossible" : rest.missing.empty() ? "certified" : "unknown";
  for (const std::string& reason : rest.missing) d.use("open", {reason});
  if (sufficient && counted) {
    d.needed = needed.layers;
    if (!needed.layers && !needed.never && needed.high > 0) d.needed_between = {needed.low, needed.high};
  }
  if (sufficient && !counted) d.use("theorem-g");

  // A target that asks for nothing says nothing about mixers.
  const bool mixes = sufficient && (!nothing_wanted || d.n == 1 || missing_mixer(d, false).empty());
  if (sufficient && counted && d.class_kind == d.target_class) d.class_layers = d.needed;
  else if (mixes && bounded && !pooling && !fixed) {
    ViewQuestion other = question;
    other.kind = d.class_kind;
    d.class_layers = figure(d, "class.layers", [&] { return with_spare(coarse ? keep_bounds(sight->needed(other), views_at_last) : sight->needed(other), spare).layers; });
  }
  if (mixes && !output.impossible && d.connected && (overlaps != Overlaps::exact || by_pairs)) {
    if (d.verdict == "certified" && d.target_is_layout && d.target_class == ClassKind::all) d.expressed = d.layout_group;
  } else if (mixes && !output.impossible && d.connected) {
    ViewQuestion all = question;
    all.kind = ClassKind::all;
    const bool deep = !d.given || (bounded && ((d.needed && *d.given >= *d.needed) || (d.needed_between && *d.given >= d.needed_between->second)));
    const auto is_own = [&](const ConfirmedGroup& group) {
      const Chain chain(d.layout_group.group);
      const std::vector<Permutation> left = list_generators(group.group, ~std::size_t{0});
      return std::all_of(left.begin(), left.end(), [&](const Permutation& g) { return chain.contains(g); });
    };
    if (pooling || !bounded) {
      const bool broken = may_tie && !is_trivial(d.layout_group.group);  // networks that break ties may have a smaller group
      if (deep && !broken && !(fixed && !is_own(d.recoloured_group)) && sees_all_registers(d.whole ? d.layout : d.sighted)) d.expressed = d.layout_group;
    } else if (deep && d.verdict == "certified" && d.given && d.target_is_layout && d.target_class == ClassKind::all) {
      d.expressed = d.layout_group;
    } else if (!d.given || ((spare == 0 || *d.connected == 0) && *d.given >= *d.connected)) {
      d.expressed = figure(d, "expressed", [&] { return sight->expressed(all, d.given); });
      // Views that are too coarse show that nothing but the layout's own group is left, or nothing; rows that overlap leave no group but that.
      if (((coarse && (d.given || !views_at_last)) || fixed) && d.expressed) {
        if (is_own(*d.expressed)) d.expressed = d.layout_group;
        else d.expressed.reset();
      }
    }
  }

  // The published claim, and the group at the depth where the tokens are connected, speak of the pattern alone.
  if (!d.whole) d.pattern_sight.emplace(d.sighted, d.shown("views", "pattern"), &d.layout_group);
  Sight& pattern_sight = d.whole ? *d.sight : *d.pattern_sight;
  Needed pattern_needed;
  if (pooling) pattern_needed.layers = d.connected;
  else if (d.target_is_layout && d.target_class == ClassKind::all && d.needed) pattern_needed.layers = d.needed;
  else pattern_needed = figure(d, "layers of the published claim", [&] { return pattern_sight.needed(of_layout); });
  if (d.connected && bounded && !places && !mixes_register_rows(d) && (*d.connected == 0 || (spare == 0 && !may_hide_offsets(d)))) {
    if (pooling || (pattern_needed.layers && *pattern_needed.layers <= *d.connected)) d.at_connected = d.layout_group.order;
    else if (!coarse) {
      if (const auto group = figure(d, "at_connected", [&] { return sighted->expressed(own_group, d.connected); })) d.at_connected = group->order;
    }
  }
  bool distinguishes = true;
  if (!d.connected || (d.given && *d.given < *d.connected)) return;
  d.published.theorem = published_theorem(d, distinguishes);
  if (!d.published.theorem.empty() && !target_contains(d, d.layout_group)) d.published.theorem.clear();
  if (d.published.theorem.empty()) return;
  if (pattern_needed.layers) d.published.sound = distinguishes && pattern_needed.layers == d.connected;
  else if (!distinguishes || pattern_needed.never || (pattern_needed.high > 0 && pattern_needed.low > *d.connected)) d.published.sound = false;
  else d.published.sound.reset();
}

}  // namespace checker

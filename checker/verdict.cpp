// Real-valued tokens: Theorem E decides what the layout can tell apart, the other rules what the sublayers can do with it (theory 2-7, 15.3,
// 15.6); and the published corollaries read literally.
#include <set>

#include "derivation.hpp"

namespace checker {

namespace {

std::string number(std::uint64_t x) { return std::to_string(x); }
using Missing = std::vector<std::string>;
struct Tokenwise { bool impossible = false; Missing missing; };

void decide_feedforward(Derivation& d, Tokenwise& result) {
  const Json &input = d.a["input"], &output = d.a["output"], &norm = d.a["layer"].array().back()["norm"];
  bool uniform = true, norm_free = true;
  for (const Json& layer : d.a["layer"].array()) {
    uniform = uniform && (layer["norm"] == norm || (!real(layer["norm"]) && !real(norm)));
    norm_free = norm_free && !real(layer["norm"]);
  }
  const bool plain_inputs = input["positions"].is("none") && input["registers"].size() == 0, no_norm = uniform && norm_free;
  const bool odd_norms = std::all_of(d.a["layer"].array().begin(), d.a["layer"].array().end(), [](const Json& layer) {
    return !layer["norm"]["kind"].is("layernorm") || !layer["norm"]["affine"].boolean();
  });
  const bool ends_bare = output["norm"].is_null() && input["norm"].is_null();
  const bool bare = input["embedding"].is("none") && output["head"].is("none") && ends_bare;
  const std::string& why = d.feedforward.front().why;
  const Rational n = static_cast<std::int64_t>(d.n);
  const auto refuse = [&](const char* rule) { result.impossible = true, d.use(rule, {why}); };
  if (d.every_closure(Closure::odd) && plain_inputs && odd_norms && bare && d.every_mixer(&MixerFacts::odd)) {
    refuse("odd");
    return d.add_floor(n, "F(X)_i = e_1 (a constant)", "[-1,1]^(d n)", "odd network (theory 3.4)");
  }
  if (d.every_closure(Closure::homogeneous) && plain_inputs && no_norm && bare && d.every_mixer(&MixerFacts::homogeneous)) {
    refuse("homogeneous");
    const Rational above = n * d.raw + 1;
    return d.add_floor(n / (above * above), "F(X)_i = e_1 (a constant)", "the unit ball of R^(d n)", "positively homogeneous network (theory 3.5)");
  }
  if (d.every_closure(Closure::affine) && no_norm && !input["embedding"].is("mlp") && ends_bare && d.every_mixer(&MixerFacts::linear)) {
    refuse("affine");
    return d.add_floor(n / 180, "F(X)_i = X[0][i]^2 e_1", "[0,1]^(d n)", "affine network (theory 3.6)");
  }
  for (const FeedforwardFacts& f : d.feedforward) {
    if (f.closure == Closure::full || f.closure == Closure::zero_fixing) continue;
    result.missing.push_back("feedforward: " + f.why + (f.closure == Closure::affine ? ": attention alone is open here (theory 6 E)" : ""));
    return;
  }
  d.use("feedforward", {why});
}

void decide_norms(Derivation& d, Tokenwise& result) {
  const Json &input = d.a["input"], &output = d.a["output"], &layers = d.a["layer"], &norm = layers.array().back()["norm"], &embedding = input["embedding"];
  const std::int64_t dim = d.dim, raw = d.raw;
  const auto miss = [&](const char* reason) { result.missing.push_back(reason); };
  const auto survives = [&](std::int64_t lost, bool mean_alone) {  // do raw tokens stay apart behind a norm that loses so many directions?
    if (input["domain"].is("centred") && embedding.is("none")) return mean_alone;
    return (embedding.is("linear") || embedding.is("mlp")) && raw <= dim - lost;
  };
  const auto lost_by = [](const Json& x) { return (x["kind"].is("layernorm") ? 1 : 0) + (x["eps"].number() == 0 ? 1 : 0); };
  const auto refuse_rank = [&](std::int64_t kept) {
    result.impossible = true;
    d.use("input-rank", {"raw width " + std::to_string(raw) + " > " + std::to_string(kept)});
    add_input_rank_floor(d, kept);
  };
  if (embedding.is("linear") && raw > dim) return refuse_rank(dim);
  if (!d.uses_fixed_table() && norms_merge_rows(d.a)) miss("a norm makes rows of the position table equal (theory 15.5 D1, 15.8 p)");
  const auto mean_alone = [](const Json& x) { return x["kind"].is("layernorm") && x["eps"].number() > 0; };
  if (real(input["norm"]) && lost_by(input["norm"]) > 0 && !survives(lost_by(input["norm"]), mean_alone(input["norm"])))
    miss("the norm after the embedding loses a direction of the raw tokens (theory 15.3)");
  const auto ball = [](const Json& x) { return x["kind"].is("rmsnorm") && x["eps"].number() > 0; };
  bool uniform = true;
  for (const Json& layer : layers.array()) uniform = uniform && (layer["norm"] == norm || (!real(layer["norm"]) && !real(norm)));
  if (!uniform) {
    for (const Json& layer : layers.array()) {
      if (!real(layer["norm"]) || (ball(layer["norm"]) && layer["norm"]["place"].is("pre"))) continue;
      return miss("layers with different norms are decided only when each is none or pre-RMSNorm with eps > 0");
    }
    return d.use("pre-rmsnorm", {"eps > 0: a homeomorphism onto a ball"});
  }
  if (!real(norm)) return;
  const bool layernorm = norm["kind"].is("layernorm"), everywhere = input["domain"].is("all");
  if (norm["place"].is("post")) {
    for (const FeedforwardFacts& f : d.feedforward) {
      if (!f.dense_in_one) return miss("behind a post-norm one feedforward sublayer must be dense by itself: non-polynomial, with hidden biases (theory 15.3)");
    }
    const std::int64_t lost = lost_by(norm);
    if (lost > 0 && !survives(lost, mean_alone(norm))) return miss("post-norm: the raw tokens may lose a direction in the first norm (theory 15.3)");
    if (dim - lost < 1 || dim < (layernorm ? 3 : 2)) return miss("post-norm: the width is too small for theory 15.3");
    return d.use("post-norm");
  }
  if (!norm["place"].is("pre")) {
    if (!ball(norm)) return miss("a LayerNorm, or eps = 0, inside the branch on real-valued tokens (theory 15.3, 15.8 a)");
    return d.use("sandwich-rmsnorm");
  }
  if (ball(norm)) return d.use("pre-rmsnorm", {"eps > 0: a homeomorphism onto a ball"});
  if (!layernorm) {
    const Json& bias = layers[0]["feedforward"]["bias"];
    if (dim < 2 || (bias.is_boolean() && !bias.boolean())) return miss("pre-RMSNorm with eps = 0 and no biases (theory 7.1)");
    return d.use("pre-rmsnorm", {"eps = 0: biases translate away from 0 and back"});
  }
  const bool final_layernorm = !output["norm"].is_null() && output["norm"]["kind"].is("layernorm");
  if (survives(1, true) && dim >= 3) {
    return d.use("pre-layernorm", {input["domain"].is("centred") ? "centred input" : "raw width " + std::to_string(raw) + " <= " + std::to_string(dim - 1), "d >= 3"});
  }
  if (embedding.is("none") && everywhere) {
    result.impossible = true;
    d.use("pre-layernorm-translation", {"no embedding"});
    return add_pre_layernorm_floor(d);
  }
  if (!embedding.is("linear") || raw < dim || !everywhere)
    return miss("pre-LayerNorm: the raw tokens may lose a direction (theory 7.1; raw width at most d-1 and d >= 3 would do)");
  if (final_layernorm) return refuse_rank(dim - 1);
  result.impossible = true;
  d.use("pre-layernorm-translation", {"a square embedding sends some raw direction to the all-ones vector, or to 0"});
  d.add_floor({}, "F(X)_i = |X_i|^2 e_1", "the unit ball of the raw inputs", "pre-LayerNorm translation (theory 3.7)");
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
    if (!d.mixer[k].blind) continue;
    for (const std::uint32_t r : d.layout.layers[d.layout.order[position]]) {
      std::set<std::uint64_t> sizes;
      for (Vertex i = 0; i < d.layout.vertices() && sizes.size() < 2; ++i) {
        d.layout.relations[r].pattern->row(i, row);
        std::uint64_t size = 0;
        for (const Run& run : row) size += run.size();
        sizes.insert(size);
      }
      if (sizes.size() > 1) return true;
    }
  }
  return false;
}

void decide_blocks(Derivation& d, Tokenwise& result) {
  const auto miss = [&](const std::string& reason) { result.missing.push_back(reason); };
  if (!d.a["block"]["residual"].boolean()) miss("no residual connection (theory 7.4)");
  const bool covered = d.a["input"]["embedding"].is("mlp") && std::all_of(d.feedforward.begin(), d.feedforward.end(), [](const auto& f) { return f.interpolates; });
  if (d.a["block"]["tied"].boolean() && !covered) miss("layers that share weights on real-valued tokens (theory 7.4, 15.4)");
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const Json& mixer = d.a["layer"][k]["mixer"];
    const MixerFacts& m = d.mixer[k];
    if (!m.mean && !m.blind) return miss("mixer: " + m.why);
    if (!m.bounded && d.given) return miss("mixer: " + m.why + "; a list of layers needs such a bound");
    if (mixer["relative"].is("rotary") && mixer["query_key"].is("tied") &&
        !d.every_row(&RowFacts::causal))
      return miss("rotary positions with W_Q = W_K: weights are even in j - i (theory 15.8 f)");
    if (mixer["projections"].is_object() && d.mixer.size() > 1) return miss("fixed mean pooling is decided for one repeated layer only (theory 2.5)");
  }
  if (mixes_register_rows(d)) return miss("registers that start equal, read by layers that show different things of them (theory 7.6, 15.8 g, 16.21)");
  d.use("mixer", {d.mixer.front().why});
}

/// What was found about views, in words.
std::vector<std::string> describe(const Needed& needed, ClassKind kind) {
  if (needed.never && !needed.below && needed.missed) return {"token " + number(needed.missed->first) + " never sees token " + number(needed.missed->second)};
  const std::string survives = "a symmetry of the views that the target does not have survives ";
  if (needed.never) return {survives + "at every depth"};
  const std::string seen = std::string(kind == ClassKind::all ? "every token sees every token" : kind == ClassKind::causal ? "every token sees the tokens up to itself" : "no view grows any more") +
                           " after " + number(needed.start) + (needed.start == 1 ? " layer" : " layers");
  if (!needed.layers) return {seen, "at least " + number(needed.low) + " layers are needed"};
  if (*needed.layers == needed.start) return {seen, "no two views can be confused"};
  return {seen, survives + "until layer " + number(*needed.layers)};
}

/// A figure that the answer leaves out, and says so, is null: nothing is concluded from it.
template <class Figure>
auto figure(Derivation& d, const std::string& name, Figure compute) -> decltype(compute()) {
  if (!d.left_out(name)) return compute();
  d.use("left-out", {name});
  return {};
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
    d.use("norm-range");
    add_sphere_floor(d);
    return {true, ""};
  }
  const std::int64_t wanted = d.output_dim;
  const std::string premise = std::to_string(wanted) + " outputs per token, " + std::to_string(possible) + " possible";
  if (wanted <= possible) return d.use("output-rank", {rank.why, premise}), OutputVerdict{};
  const auto fits = static_cast<std::uint64_t>(rank.affine) + 1;
  if (targets && targets->exact && targets->count <= fits) {
    d.use("few-labels", {number(targets->count) + " target labels, " + number(fits) + " fit"});
    return {};
  }
  if (rank.undecided_above && wanted <= rank.affine) return {false, "output width: " + rank.why};
  if (targets && targets->count <= fits) return {false, "output width: few target labels, and they were not counted exactly (theory 15.8 e)"};
  d.use("output-rank", {rank.why, premise});
  add_output_rank_floor(d, wanted);
  return {true, ""};
}

void decide_continuous(Derivation& d) {
  const bool fixed = d.uses_fixed_table(), pooling = d.is_fixed_pooling(), decidable = d.every_mixer(&MixerFacts::decidable), bounded = d.every_mixer(&MixerFacts::bounded);
  bool overlaps_are_exact = true;
  Sight* sight = d.whole ? &*d.sight : &*d.sighted_sight;
  const Layout* layout = d.whole ? &d.layout : &d.sighted;
  const ConfirmedGroup* own = d.whole ? &d.layout_group : &d.sighted_group;
  const bool frequencies = shows_frequencies(d), lengths = shows_lengths(d);
  const ViewQuestion own_group{layout, own, nullptr, ClassKind::all, frequencies};
  ViewQuestion of_layout = own_group;
  if (!d.whole) of_layout.target = &d.layout_group.group;
  if (fixed) {
    d.recoloured = *layout;
    overlaps_are_exact = recolour_by_overlap(d, d.recoloured);
    d.recoloured_group = confirm_automorphisms(make_structure(d.recoloured), d.layout.tokens, d.shown("groups", "recoloured"), "groups.recoloured");
    d.recoloured_sight.emplace(d.recoloured, d.shown("views", "recoloured"));
    sight = &*d.recoloured_sight, layout = &d.recoloured, own = &d.recoloured_group;
  }
  const ViewQuestion question{layout, own, d.target_is_layout && d.whole && !fixed ? nullptr : &d.target, d.target_class, frequencies};

  Needed needed;
  std::vector<std::string> premises;
  if (pooling) {
    const Reach reach = sight->wanted_reach(question, false);
    needed.layers = reach.layers, needed.never = !reach.layers, needed.missed = reach.missed;
    premises = {reach.layers ? "fixed pooling: one layer shows every block mean" : "fixed pooling: some token is in no block"};
    if (reach.layers && *reach.layers > 0 && !target_contains(d, fixed ? d.recoloured_group : d.layout_group)) {
      needed.layers.reset(), needed.never = true;
      premises = {"fixed pooling: block means do not change when tokens of a block, or whole blocks, are exchanged"};
    }
  } else {
    needed = sight->needed(question);
    premises = describe(needed, d.target_class);
  }
  bool impossible = needed.never || (d.given && needed.layers.value_or(needed.low) > *d.given);
  bool undecided = !impossible && !needed.layers && !(needed.high > 0 && (!d.given || *d.given >= needed.high));
  if (!overlaps_are_exact && impossible && (needed.below || !(needed.never || needed.layers))) impossible = false, undecided = true;
  if (lengths && !(impossible && sight->unseen_pairs(question, d.given, false).first > 0)) impossible = false, undecided = true;
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
  decide_blocks(d, rest);
  decide_feedforward(d, rest);
  decide_norms(d, rest);
  if (!decidable) output.impossible = rest.impossible = false;
  if (impossible && !unseen) {
    if (fixed) {
      if (needed.below) d.set_collision(*needed.below);
      add_overlap_floor(d, needed.below);
    } else {
      std::optional<Collision> collision;
      if (d.given) collision = figure(d, "the collision at this depth", [&] { return sight->collision(question, *d.given); });
      if (!collision) collision = needed.below;
      if (collision) d.set_collision(*collision), add_collision_floor(d, *collision, question);
    }
  }
  if (!output.missing.empty()) rest.missing.push_back(output.missing);
  if (undecided) rest.missing.push_back(lengths ? "layers: a sum of constants shows the length of its rows alone (theory 16.5 d)" : overlaps_are_exact ? "layers: comparing views is beyond the bounds on steps" : "layers: rows of the position table overlap, but not in the way that theory 3.9 decides");
  const bool sufficient = rest.missing.empty() && !rest.impossible && !(output.impossible && d.rank.sphere);
  settle_distances(d, sufficient && bounded);
  d.verdict = impossible || output.impossible || rest.impossible ? "impossible" : rest.missing.empty() ? "certified" : "unknown";
  for (const std::string& reason : rest.missing) d.use("open", {reason});
  if (sufficient && bounded) {
    d.needed = needed.layers;
    if (!needed.layers && !needed.never && needed.high > 0) d.needed_between = {needed.low, needed.high};
  }
  if (sufficient && !bounded) d.use("theorem-g");

  if (sufficient && bounded && d.class_kind == d.target_class) d.class_layers = d.needed;
  else if (sufficient && bounded && !pooling && !fixed) {
    ViewQuestion other = question;
    other.kind = d.class_kind;
    d.class_layers = figure(d, "class.layers", [&] { return sight->needed(other).layers; });
  }
  if (sufficient && !output.impossible && d.connected) {
    ViewQuestion all = question;
    all.kind = ClassKind::all;
    const bool deep = !d.given || (bounded && d.needed && *d.given >= *d.needed);
    if (fixed || pooling || !bounded) {
      if (deep && !(fixed && !d.needed)) d.expressed = d.layout_group;
    } else if (d.given && d.target_is_layout && d.target_class == ClassKind::all && d.needed && deep) {
      d.expressed = d.layout_group;
    } else if (!d.given || *d.given >= *d.connected) {
      d.expressed = figure(d, "expressed", [&] { return sight->expressed(all, d.given); });
    }
  }

  // The published claim, and the group at the depth where the tokens are connected, speak of the pattern alone.
  if (!d.whole) d.pattern_sight.emplace(d.sighted, d.shown("views", "pattern"), &d.layout_group);
  Sight& pattern_sight = d.whole ? *d.sight : *d.pattern_sight;
  Needed pattern_needed;
  if (pooling) pattern_needed.layers = d.connected;
  else if (d.target_is_layout && d.target_class == ClassKind::all && d.needed) pattern_needed.layers = d.needed;
  else pattern_needed = figure(d, "layers of the published claim", [&] { return pattern_sight.needed(of_layout); });
  if (d.connected && bounded && !mixes_register_rows(d) && !lengths) {
    if (pooling || (pattern_needed.layers && *pattern_needed.layers <= *d.connected)) d.at_connected = d.layout_group.order;
    else if (const auto group = figure(d, "at_connected", [&] { return pattern_sight.expressed(own_group, d.connected); })) d.at_connected = group->order;
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

// Facts about kernels, activations, feedforwards, mixers and norms that the rules ask for (theory 2.3, 4.3, 6, 7.1, 15.1-15.3).
#include <algorithm>
#include <tuple>
#include <set>

#include "analysis.hpp"
#include "derivation.hpp"

namespace checker {

namespace {

/// What the evidence says about an expression: a list of pairs [expression, facts].
const Json& look_up(const Json& expression, const Json* evidence, std::string_view key) {
  const Json* list = evidence == nullptr ? nullptr : evidence->find(key);
  for (std::size_t k = 0; list != nullptr && k < list->size(); ++k) {
    if ((*list)[k][0] == expression) return (*list)[k][1];
  }
  throw Rejected("evidence." + std::string(key), "nothing is said about the expression " + (expression.is_string() ? expression.string() : print(expression)));
}

void add_trust(const std::string& text, const std::string& facts, std::vector<std::string>& trusted) {
  const std::string line = "of the expression " + text + ": " + facts;
  if (!facts.empty() && std::find(trusted.begin(), trusted.end(), line) == trusted.end()) trusted.push_back(line);
}

std::string checked_flags(const Json& value, std::size_t length) {
  const std::string& flags = value.string();
  if (flags.size() != length || flags.find_first_not_of("yn?hfu") != std::string::npos) throw Malformed("evidence: a row of facts is misspelt");
  return flags;
}

using Vector = std::vector<double>;
Vector read_vector(const Json& list, bool negative = false) {
  Vector v;
  for (const Json& x : list.array()) v.push_back(negative ? 0 - x.number() : 0 + x.number());
  return v;
}

/// Positive random features (4.3): exp(w.(x+y) - ..) summed over w. Without two opposite features every pair of growth rates differs, so
/// (13) holds; the one feature 0 is even. Opposite features decide nothing unless both are the only growth somewhere: evidence.
KernelFacts performer(const Json& kernel, const Json* evidence, std::vector<std::string>& trusted) {
  std::multiset<Vector> features, opposite;
  for (const Json& w : kernel["features"].array()) features.insert(read_vector(w)), opposite.insert(read_vector(w, true));
  for (const Vector& w : opposite) {
    if (features.count(w) == 0) continue;
    const bool one = *features.begin() == *features.rbegin();
    const char condition = one ? 'f' : checked_flags(look_up(kernel, evidence, "kernels"), 11)[9];
    if (!one && condition != 'u') add_trust(print(kernel), condition == 'h' ? "condition (13) holds" : "condition (13) fails", trusted);
    return {std::string("yyyy") + (features == opposite ? 'y' : 'n') + "nnnn" + condition + 'y'};
  }
  return {std::string("yyyynnnnnhy")};
}

}  // namespace

KernelFacts kernel_facts(const Json& kernel, std::int64_t dim, const Json* evidence, std::vector<std::string>& trusted) {
  const std::string name = kernel.is_string() ? kernel.string() : kernel["name"].string();
  if (name == "softmax") return {"yyyyynnynhy"};
  if (name == "gaussian" || name == "rbf") return {"yyyyynnnyhy"};
  if (name == "cauchy") return {"yyyyynnnnfy"};
  if (name == "laplace") return {"nyyyynnnnfy"};
  if (name == "elu1") return {"nyyynnnnnfy"};
  if (name == "relu2") return {dim >= 2 ? "nnnyyynnnfy" : "nnn?yynnnfy"};
  if (name == "cosine") return {dim >= 2 ? "ny?yyynnnfy" : "ny??yynnnfy"};
  if (name == "performer") return performer(kernel, evidence, trusted);
  if (name == "exponential-sum") {
    const Vector w = read_vector(kernel["weight"]);
    return {std::all_of(w.begin(), w.end(), [](double x) { return x == 0; }) ? "yyyyyyynnfn" : "yyyynnnnnhy"};
  }
  const std::string flags = checked_flags(look_up(kernel, evidence, "kernels"), 11);
  if (!kernel.is_string()) add_trust(print(kernel), "all of the analysis", trusted);
  else add_trust(name, name_unproved(analyse_kernel(name, dim), flags, true, name), trusted);
  return {flags};
}

ActivationFacts activation_facts(const Json& activation, const Json* evidence, std::vector<std::string>& trusted) {
  static const std::map<std::string, ActivationFacts, std::less<>> named = {
      {"relu", {"yyynnnnnynnyyn"}},    {"leaky_relu", {"yyynnnnnynnyyn"}}, {"gelu", {"yyyynnnnynynyn"}}, {"silu", {"yyyynnnnynynyn"}},
      {"mish", {"yyyynnnnynynyn"}},    {"elu", {"yyynnnnnynynyn"}},        {"tanh", {"yyyynnnyyynnyn"}}, {"erf", {"yyyynnnyyynnyn"}},
      {"sin", {"yyyynnnyyynnyn"}},     {"sigmoid", {"yyyynnnnnynnyn"}},    {"softplus", {"yyyynnnnnnnnyn"}}, {"exp", {"yynynnnnnnnnyn"}},
      {"relu2", {"yynnnnnnyyynyn"}},   {"square", {"yynyynnnyyynyy", 2}},  {"cube", {"yynyynnyyynnyn", 3}},
      {"identity", {"yyyyyynyyynynn", 1}}, {"step", {"nnnnnnnn??nnnn"}}};
  if (const auto found = named.find(activation.string()); found != named.end()) return found->second;
  const Json& row = look_up(activation, evidence, "activations");
  const std::string flags = checked_flags(row[0], 14), &text = activation.string();
  const Analysis analysis = analyse_activation(text);
  std::string open = name_unproved(analysis, flags, false, text);
  if (analysis.degree && *analysis.degree != row[1].integer()) throw Rejected("evidence.activations", "the degree of " + text + " is " + std::to_string(*analysis.degree));
  if (!analysis.degree && row[1].integer() >= 0) open += (open.empty() ? "degree " : ", degree ") + std::to_string(row[1].integer());
  add_trust(text, open, trusted);
  return {flags, row[1].integer()};
}

namespace {

FeedforwardFacts one_feedforward(const Json& feedforward, const Json& norm, std::int64_t dim, const ActivationFacts& s) {
  using A = ActivationFacts;
  FeedforwardFacts f;
  const Json& kind = feedforward[feedforward["kind"].is("moe") ? "expert" : "kind"];
  const Json &bias = feedforward["bias"], &place = norm["place"];
  const bool glu = kind.is("glu"), biased = bias.is_boolean() && bias.boolean(), bare = bias.is_boolean() && !bias.boolean();
  const bool narrow = !feedforward["width"].is_null(), small = !feedforward["spectral_norm_at_most"].is_null();
  f.hidden_bias = biased || (norm["kind"].is("layernorm") && norm["affine"].boolean() && !place.is("after"));
  const bool in_front = real(norm) && (place.is("pre") || place.is("sandwich"));
  const auto say = [&](Closure closure, const char* why) { f.closure = closure, f.why = why; return f; };
  const bool none = kind.is("none"), unit = glu || kind.is("mlp");  // parity and scaling; a gated unit has the parity that its gate lacks
  f.odd = none || (bare && (!unit || s.is(glu ? A::even : A::odd)));
  f.homogeneous = none || (bare && (!unit || (!glu && (s.is(A::homogeneous) || (s.is(A::affine) && s.is(A::odd))))));
  f.optional = feedforward["spectral_norm_equals"].is_null();
  f.tells_multiples = f.hidden_bias || s.is(A::analytic);

  if (kind.is("none")) return say(Closure::affine, "no feedforward");
  if (kind.is("affine") || (!glu && s.is(A::affine)) || s.is(A::constant)) return say(Closure::affine, "the feedforward is affine");
  if (!feedforward["spectral_norm_equals"].is_null()) return say(Closure::unknown, "a spectral norm forced to equality leaves no small multiples (theory 6 B)");
  if (s.is(A::polynomial, '?')) return say(Closure::unknown, "it could not be decided whether the activation is a polynomial");
  const bool nonpolynomial = s.is(A::polynomial, 'n');
  f.polynomial = !nonpolynomial;
  f.interpolates = nonpolynomial && !narrow && !small && (s.is(A::continuous) || feedforward["activation"].is("step"));
  if (!s.is(A::continuous) || !s.is(A::locally_lipschitz)) {
    return say(Closure::unknown, s.is(A::continuous, 'n') || s.is(A::locally_lipschitz, 'n') ? "the activation jumps (theory 6 F)"
                                                                                           : "it could not be shown that the activation is continuous and locally Lipschitz (theory 2.1)");
  }
  if (f.hidden_bias && nonpolynomial) {
    f.dense_in_one = !narrow && !small;
    const bool squared_relu = feedforward["activation"].is("relu2") && (!narrow || feedforward["width"].integer() >= 2);
    f.definition2 = biased && !feedforward["kind"].is("moe") && !small && (s.is(A::lipschitz) || squared_relu) && s.is(A::affine, 'n');
    if (dim == 1 && small) return say(Closure::unknown, "one coordinate and a bound on the spectral norm: small steps keep the order of points, nothing folds (theory 16.32)");
    if (dim == 1) return say(s.is(A::curved) ? Closure::full : Closure::unknown, "one coordinate: folding by a kink or curvature (theory 2.1, extension d = 1)");
    return say(Closure::full, "non-polynomial activation with hidden biases (theory 6 A, B)");
  }
  if (dim == 1) return say(Closure::unknown, "one coordinate without hidden biases or with a polynomial activation (theory 6 C, D)");
  if (f.hidden_bias) return say(Closure::full, "polynomial activation of degree at least 2 with biases: brackets generate all fields (theory 6 C)");
  const bool linear_far_out = norm["kind"].is("rmsnorm") && place.is("pre") && nonpolynomial;
  if (bias.is("output") && (!in_front || linear_far_out)) return say(Closure::full, "an output bias gives translations, which stand in for hidden biases (theory 6 D)");
  if (bare && s.is(glu ? A::even : A::odd))
    return say(Closure::odd, glu ? "an even gate without biases: an odd feedforward (theory 16.21)" : "odd activation without biases (theory 6 D)");
  if (in_front) {
    if (norm["kind"].is("rmsnorm") && norm["eps"].number() > 0 && nonpolynomial && s.is(A::even_polynomial, 'n') && (!glu || s.is(A::even, 'n')))
      return say(Closure::zero_fixing, "bias-free behind RMSNorm, even part not polynomial: brackets repair the parity (theory 15.6 E)");
    return say(Closure::unknown, "bias-free feedforward behind this norm: not covered (theory 7.1, 15.6)");
  }
  if (glu) {  // gates whose bias-free unit has the bilinear map as a limit: the names, or analytic with s(0) = 0 and a quadratic even part
    static const std::set<std::string> gates = {"identity", "gelu", "silu", "mish", "elu", "relu", "leaky_relu", "tanh", "erf", "sigmoid", "softplus", "sin", "exp"};
    static const std::set<std::string> others = {"square", "relu2", "cube", "step"};
    const std::string& name = feedforward["activation"].string();
    const bool expression = others.count(name) == 0 && s.is(A::even_polynomial, 'n') && s.is(A::zero_at_zero) && s.is(A::analytic) && s.is(A::even_quadratic) && s.is(A::even, 'n');
    if (gates.count(name) != 0 || expression) return say(Closure::zero_fixing, "gated and bias-free: all fields vanishing at 0 (theory 6 D)");
    return say(Closure::unknown, "this gate without biases is not covered (theory 6 D)");
  }
  if (s.is(A::zero_at_zero, 'n')) return say(Closure::full, "s(0) != 0 gives translations (theory 6 D)");
  if (s.is(A::even_quadratic)) return say(Closure::zero_fixing, "bias-free with a quadratic even part: all fields vanishing at 0 (theory 6 D)");
  if (s.is(A::homogeneous)) return say(Closure::homogeneous, "bias-free and positively homogeneous (theory 6 D)");
  return say(Closure::unknown, "this bias-free activation is not covered (theory 6 D)");
}

}  // namespace

/// What one expert can do equal experts can do; what one cannot do a router may make up for (16.21).
FeedforwardFacts feedforward_facts(const Json& feedforward, const Json& norm, std::int64_t dim, const ActivationFacts& s) {
  FeedforwardFacts f = one_feedforward(feedforward, norm, dim, s);
  const bool narrow = f.closure == Closure::odd || f.closure == Closure::homogeneous || f.closure == Closure::affine;
  const bool routed = feedforward["kind"].is("moe") && feedforward["experts"].integer() > 1;
  if (routed) f.odd = f.homogeneous = false;
  if (!routed || !narrow) return f;
  f.closure = Closure::unknown;
  f.why = "experts of a small class behind a router that is not of it: not covered (theory 16.21)";
  return f;
}

namespace {

bool turns_alike(const Json& kernel) {
  static const std::set<std::string> isotropic = {"softmax", "gaussian", "rbf", "cauchy", "laplace", "relu2", "cosine"}, others = {"performer", "exponential-sum", "elu1"};
  const std::string name = kernel.is_string() ? kernel.string() : kernel["name"].string();
  return isotropic.count(name) != 0 || (others.count(name) == 0 && is_isotropic(name));
}

}  // namespace

bool selects_keys(const Json& a, const Json& mixer) {
  const Json &top_k = mixer["top_k"], &projections = mixer["projections"];
  if (top_k.is_null()) return false;
  if (mixer["kind"].is("attention")) return top_k.natural() < a["tokens"].natural() + a["input"]["registers"].size();
  if (projections.is_object()) return top_k.natural() < projections["blocks"].size();
  return mixer["rank"].is_null() || top_k.integer() < mixer["rank"].integer();
}

MixerFacts mixer_facts(const Json& mixer, const KernelFacts& kernel, const ActivationFacts& alpha, std::int64_t dim, bool selects) {
  using K = KernelFacts;
  MixerFacts m;
  const std::string& kind = mixer["kind"].string();
  const bool top_k = selects, sink = mixer["sink"].boolean(), relative = !mixer["relative"].is("none");
  const bool exact = !sink && mixer["eps"].number() == 0;
  const bool nothing = kind == "attention" && kernel.is(K::constant) && kernel.is(K::nonzero_at_zero, 'n') && !(mixer["normalised"].boolean() && exact);
  if (kind == "tokenwise" || nothing) {
    m.mean = m.odd = m.homogeneous = m.linear = m.blind = true, m.additive_only = 'n';
    m.why = nothing ? "the kernel is 0: tokens do not interact (theory 16.92)" : "tokens do not interact";
  } else if (kind == "attention") {
    m.softmax = kernel.is(K::softmax);
    m.normalised = mixer["normalised"].boolean() && exact;
    m.additive_only = kernel.is(K::reads_keys) ? 'n' : kernel.is(K::reads_keys, 'n') ? 'y' : '?';
    const bool biased = mixer["relative"].is("learned") || mixer["relative"].is_object();  // factors e^b, whatever the kernel (16.51)
    m.linear = kernel.is(K::constant) && !top_k && (!relative || biased);
    m.odd = kernel.is(K::even);
    m.homogeneous = m.linear || (m.normalised && kernel.is(K::homogeneous));
    const bool turned = mixer["relative"].is("rotary") && !m.softmax;
    m.may_weigh_nobody = turned && m.normalised && !kernel.is(K::positive);
    m.sees_places = m.may_weigh_nobody || (turned && !turns_alike(mixer["kernel"]));
    if (relative && !biased && !m.softmax) m.why = "rotary positions and ALiBi are proved for softmax only (theory 15.8 l)";
    else if (mixer["relative"].is("rotary") && dim < 2) m.why = "rotary positions turn pairs of coordinates: one is not enough (theory 2.5)";
    else if (top_k && relative) {
      m.bounded = false;
      m.why = "top-k attention with relative positions: Theorem G asks for rows that treat their tokens alike (theory 2.6)";
    } else if (top_k && !(kernel.is(K::positive) && kernel.is(K::reads_keys))) {
      m.bounded = false;
      m.why = "top-k attention needs a positive kernel that weighs its keys: else all may tie, or denominators vanish (theory 2.6, 16.21)";
    } else if (top_k && mixer["top_k"].integer() == 1 && mixer["query_key"].is("tied") && !m.softmax) {
      m.bounded = false;
      m.why = "one key for W_Q = W_K may always be the own token (theory 16.21)";
    } else if (top_k) {
      m.bounded = false, m.mean = true;
      m.why = "top-k attention: any dependence on other tokens suffices, without a bound on the layers (Theorem G, theory 2.6)";
    } else if (kernel.is(K::nonzero_at_zero)) m.mean = true, m.why = "k(0,0) != 0: W_Q = W_K = 0 averages (theory 2.3)";
    else if (kernel.is(K::mean) && mixer["query_key"].is("free")) m.mean = true, m.why = "the kernel is continuous and not zero near some pair (theory 2.3)";
    else m.why = "(MEAN) of theory 2.3 could not be shown for this kernel";
  } else if (kind == "linformer") {
    const bool blocks = mixer["projections"].is_object();
    m.mean = blocks ? kernel.is(K::condition13, 'h') : kernel.is(K::nonzero_at_zero);
    m.linear = kernel.is(K::constant) && !top_k && !relative, m.odd = kernel.is(K::even);  // keys and values are projected tokens
    m.homogeneous = m.linear || (mixer["normalised"].boolean() && exact && kernel.is(K::homogeneous));
    m.why = blocks ? "fixed mean pooling: Lemma 1 on block means with a kernel of condition (13) (theory 2.5)"
                   : "W_Q = 0 makes the weights over the k columns uniform (theory 2.5)";
    if (selects && (blocks || mixer["projections"].is("generic"))) m.mean = false, m.why = "top-k of fixed projections leaves some of them out (theory 16.61)";
  } else if (kind == "bias") {
    using A = ActivationFacts;
    m.blind = alpha.is(A::constant);
    m.mean = alpha.is(A::constant, 'n') && alpha.is(A::continuous);
    m.linear = alpha.is(A::affine), m.additive_only = alpha.flags[A::affine];
    m.why = m.blind ? "alpha is constant: other tokens do not matter (theory 3.3)" : "alpha is continuous and not constant (theory 2.3)";
  } else if (kind == "max") {
    m.mean = m.homogeneous = m.normalised = true, m.bounded = false;
    m.why = "max pooling: any dependence on other tokens suffices, without a bound on the layers (Theorem G, theory 2.6)";
  } else if (kind == "lsh") {
    m.decidable = m.bounded = false;
    m.why = "LSH attention chooses its pattern from the data and from random numbers (theory 7.5)";
  } else {  // convolution, linear, sum, mean
    m.mean = m.odd = m.homogeneous = m.linear = true;
    m.additive_only = kind == "sum" || kind == "mean" ? 'y' : 'n';
    m.normalised = kind == "mean" && exact;
    m.why = "a linear mixer with trained weights (theory 2.3, 2.5)";
  }
  if (lacks_scale(mixer)) m.mean = false, m.why = "W_V is not trained (theory 2.3, 15.4)";
  return m;
}

bool adds_multiples(const Json& mixer) { return mixer["kind"].is("convolution") || (mixer["kind"].is("linear") && mixer["heads"].natural() == 1); }
bool forgets_multiples(const Json& layer) {
  const Json& norm = layer["norm"];
  return adds_multiples(layer["mixer"]) && real(norm) && norm["place"].is("post") && norm["eps"].number() == 0;
}
bool lacks_scale(const Json& mixer) {
  const std::string& kind = mixer["kind"].string();
  const bool scaled = kind == "linformer" ? mixer["projections"].is("trained") || mixer["projections"].is("tied")
                                          : kind != "attention" && kind != "mean" && kind != "sum" && kind != "max";
  return mixer["value"].is("identity") && !scaled;
}

/// A sum that is a multiple of the own state, with no trained gain in between, in front of a norm that keeps directions, or of a feedforward that
/// need not tell points of one ray apart (16.29).
bool confuses_multiples(const Json& layer, const FeedforwardFacts& f) {
  const Json& norm = layer["norm"];
  if (!adds_multiples(layer["mixer"])) return false;
  if (forgets_multiples(layer)) return true;
  if (real(norm) && !norm["place"].is("post") && norm["affine"].boolean()) return false;
  return !f.tells_multiples || (real(norm) && norm["place"].is("pre") && norm["eps"].number() == 0);
}

/// Without a norm in front only softmax tells states apart that no feedforward has moved (Lemma S).
bool adds_up_unfree_states(const Derivation& d) {
  for (std::size_t k = 0; k < d.mixer.size(); ++k) {
    const Json& norm = d.a["layer"][k]["norm"];
    const bool normed = real(norm) && (norm["place"].is("pre") || norm["place"].is("sandwich"));
    if (!normed && !d.mixer[k].softmax && !d.mixer[k].blind) return true;
  }
  return false;
}

OutputRank rank_behind(const Json& a, const Json& norm) {
  const std::int64_t dim = a["dim"].integer();
  OutputRank rank;
  rank.certified = rank.affine = rank.with_one_more_layer = dim;
  rank.why = "no norm at the end: the whole width is free";
  const bool inside = real(norm) && (norm["place"].is("sandwich") || norm["place"].is("after"));
  const bool post = real(norm) && norm["place"].is("post"), affine = norm["affine"].boolean(), zero_eps = norm["eps"].number() == 0;
  const Json* last = real(a["output"]["norm"]) ? &a["output"]["norm"] : post ? &norm : nullptr;
  if (last != nullptr) {
    const bool layernorm = (*last)["kind"].is("layernorm"), gain = (*last)["affine"].boolean(), eps = (*last)["eps"].number() > 0;
    const bool headless = a["output"]["head"].is("none"), own_gain = headless && !layernorm && eps && gain;
    // Without a head the first numbers of the state are the outputs; a gain takes fewer than all of them anywhere (16.59).
    const bool narrow = !a["output"]["dim"].is_null() && a["output"]["dim"].integer() < dim;
    if (headless && !own_gain && narrow && gain && post && last != &norm) {
      rank.affine = layernorm ? dim - 1 : dim;
      rank.certified = rank.with_one_more_layer = 0;
      rank.undecided_above = true;
      rank.why = "no head, and a last norm that reads what a post-norm leaves (theory 16.59)";
      return rank;
    }
    if (headless && !own_gain && !(narrow && gain)) {
      rank.sphere = true, rank.sphere_open_ball = !gain && (eps || narrow), rank.sphere_gain = gain;
      if (layernorm) rank.affine = dim - 1;
      rank.certified = rank.with_one_more_layer = 0;
      return rank;
    }
    rank.certified = rank.with_one_more_layer = dim - (layernorm ? 1 : 0) - (eps ? 0 : 1);
    rank.affine = layernorm ? dim - 1 : dim;
    rank.why = !headless ? "the head reads the last norm (theory 15.2)"
               : own_gain ? "a trained gain behind RMSNorm reaches every bounded value (theory 15.8 b)"
                          : "a trained gain takes fewer numbers than the state has anywhere (theory 16.59)";
    if (post && last != &norm) {  // 16.16: a post-norm leaves a surface; a hyperplane through 0 loses one more when rays alone are kept
      const bool flat = norm["kind"].is("layernorm"), through_zero = flat && !affine;
      const std::int64_t left = dim - flat - (zero_eps || (through_zero && !layernorm && !eps) ? 1 : 0);
      if (through_zero) rank.affine = std::min(rank.affine, dim - 1);
      if (left < rank.certified) {
        rank.certified = rank.with_one_more_layer = left;
        rank.undecided_above = left < rank.affine;
        rank.why = "the last norm reads what a post-norm leaves (theory 16.16)";
      }
    }
  }
  if (!inside || !real(norm) || post) return rank;
  if (norm["kind"].is("layernorm")) {
    if (zero_eps) rank.certified = rank.with_one_more_layer = 0;
    else rank.certified = std::min(rank.certified, dim - 1);
    if (!zero_eps && !affine) rank.with_one_more_layer = std::min(rank.with_one_more_layer, dim - 1);
    rank.undecided_above = true;
    rank.why = "LayerNorm inside the branch (theory 15.8 a)";
  } else if (zero_eps) {
    rank.certified = rank.with_one_more_layer = affine ? std::min(rank.certified, dim - 1) : 0;
    rank.undecided_above = true;
    rank.why = "RMSNorm with eps = 0 inside the branch (theory 15.3)";
  }
  return rank;
}

bool has_one_norm(const Json& a) {
  const Json::Array& layers = a["layer"].array();
  const Json& last = layers.back()["norm"];
  return std::all_of(layers.begin(), layers.end(), [&](const Json& layer) {
    const Json& norm = layer["norm"];
    return (!real(norm) && !real(last)) || (norm["kind"] == last["kind"] && norm["place"] == last["place"] && norm["eps"].number() == last["eps"].number() &&
                                            norm["affine"].boolean() == last["affine"].boolean());
  });
}

bool has_feedforward(const Json& layer) { return !layer["feedforward"]["kind"].is("none"); }

bool may_stop_behind(const Json& a, const Json& layer) { return has_feedforward(layer) || std::ranges::none_of(a["layer"].array(), has_feedforward); }

/// On ids a list stops behind its last layer. Real tokens may pass through a feedforward-only sublayer of any layer at the end (16.60).
OutputRank output_rank(const Json& a) {
  const Json::Array& layers = a["layer"].array();
  const bool ids = a["input"]["embedding"].is("table"), listed = a["depth"].is("listed");
  const OutputRank behind_last = rank_behind(a, layers.back()["norm"]);
  if (has_one_norm(a) || (ids && listed)) return behind_last;
  std::int64_t affine = 0;
  bool alike = true;
  std::optional<OutputRank> best;
  for (const Json& layer : layers) {
    const OutputRank here = rank_behind(a, layer["norm"]);
    affine = std::max(affine, here.sphere ? a["dim"].integer() : here.affine);
    alike = alike && here == behind_last;
    if (listed ? &layer != &layers.back() : !may_stop_behind(a, layer)) continue;
    const auto shown = [](const OutputRank& rank) { return std::tuple(!rank.sphere, rank.certified, rank.with_one_more_layer); };
    if (!best || shown(here) > shown(*best)) best = here;
  }
  if (alike) return behind_last;
  best->anywhere = affine;
  best->undecided_above = true;
  if (best->sphere) {
    best->sphere = best->sphere_open_ball = best->sphere_gain = false;
    best->why = "layers end in norms of different shapes (theory 16.60)";
  }
  return *best;
}

}  // namespace checker

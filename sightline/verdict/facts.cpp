#include "sightline/verdict/facts.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "sightline/architecture/write.hpp"

namespace sightline::verdict {

using namespace architecture;
using attention_kernel::ActivationFacts;
using attention_kernel::KernelFacts;

std::uint64_t find_period(const Architecture& a) {
  if (a.layers.size() == 1) return 1;
  const auto layers = nlohmann::json::parse(to_canonical_json(a)).at("layer");  // without the places where things are written
  std::vector<std::size_t> list;  // for each layer the first one like it
  for (const auto& layer : layers) {
    std::size_t first = 0;
    const auto differs = [&](const nlohmann::json& x) { return x.at("mixer") != layer.at("mixer") || x.at("feedforward") != layer.at("feedforward") || x.at("norm") != layer.at("norm"); };
    while (differs(layers[first])) ++first;
    list.insert(list.end(), layer.at("repeat").get<std::size_t>(), first);
  }
  std::size_t period = 1;
  while (list.size() % period != 0 || !std::equal(list.begin() + static_cast<std::ptrdiff_t>(period), list.end(), list.begin())) ++period;
  return period;
}

bool has_kernel(const Mixer& mixer) {
  return mixer.kind == MixerKind::attention || mixer.kind == MixerKind::linformer;
}

bool selects_keys(const Architecture& a, const Mixer& mixer) {
  if (!mixer.top_k) return false;
  if (mixer.kind == MixerKind::attention) return *mixer.top_k < a.tokens + static_cast<std::int64_t>(a.input.registers.size());
  if (mixer.projections == ProjectionKind::blocks) return *mixer.top_k < static_cast<std::int64_t>(mixer.projection_blocks.size());
  return !mixer.rank || *mixer.top_k < *mixer.rank;
}

std::int64_t count_raw_directions(const Architecture& architecture) {
  return architecture.input.dim - (architecture.input.domain == Domain::centred ? 1 : 0);
}

bool lacks_scale(const Mixer& mixer) {
  if (mixer.value != ValueMap::identity) return false;
  if (mixer.kind == MixerKind::linformer) return mixer.projections == ProjectionKind::generic || mixer.projections == ProjectionKind::blocks;
  return mixer.kind == MixerKind::attention || mixer.kind == MixerKind::mean || mixer.kind == MixerKind::sum || mixer.kind == MixerKind::max;
}

bool is_blind(const Mixer& mixer, const Budget& budget) {
  return mixer.kind == MixerKind::tokenwise || (mixer.kind == MixerKind::bias && attention_kernel::compute_activation_facts(mixer.activation, budget).constant == Tri::yes);
}

bool adds_multiples(const Mixer& mixer) {
  return mixer.kind == MixerKind::convolution || (mixer.kind == MixerKind::linear && mixer.heads == 1);
}

bool forgets_multiples(const LayerSpec& layer) {
  return adds_multiples(layer.mixer) && layer.norm.kind != NormKind::none && layer.norm.place == NormPlace::post && layer.norm.eps == 0;
}

bool confuses_multiples(const LayerSpec& layer, const FeedforwardFacts& feedforward) {
  const Norm& norm = layer.norm;
  const bool post = norm.kind != NormKind::none && norm.place == NormPlace::post;
  if (norm.kind != NormKind::none && !post && norm.affine) return false;
  const bool by_direction = norm.kind != NormKind::none && norm.place == NormPlace::pre && norm.eps == 0;
  return adds_multiples(layer.mixer) && (by_direction || forgets_multiples(layer) || !feedforward.tells_multiples);
}

namespace {

/// The norm that the feedforward reads through, if any.
bool norm_in_front(const Norm& norm) {
  return norm.kind != NormKind::none && (norm.place == NormPlace::pre || norm.place == NormPlace::sandwich);
}

/// Gates whose no-bias GLU contains the bilinear map as a limit: s(0) != 0 or s'(0) != 0 or a ReLU-like odd part (6 D).
bool glu_gate_gives_bilinear(const attention_kernel::Activation& activation, const ActivationFacts& facts) {
  static const std::vector<std::string> names = {"identity", "gelu", "silu",    "mish",     "elu", "relu", "leaky_relu",
                                                 "tanh",     "erf",  "sigmoid", "softplus", "sin", "exp"};
  if (!activation.name.empty()) return std::find(names.begin(), names.end(), activation.name) != names.end();
  return facts.even_part_polynomial == Tri::no && facts.zero_at_zero == Tri::yes && facts.analytic == Tri::yes &&
         facts.even_quadratic == Tri::yes && facts.even == Tri::no;
}

/// Parity and scaling of every map of the family (3.4, 3.5); a gated unit has the parity that its gate lacks (16.21).
void set_narrow_kinds(FeedforwardFacts& result, const Feedforward& feedforward, FeedforwardKind kind, const ActivationFacts& s) {
  const bool biasless = feedforward.bias == Bias::no;
  const bool unit = kind == FeedforwardKind::mlp || kind == FeedforwardKind::glu, glu = kind == FeedforwardKind::glu;
  result.odd = kind == FeedforwardKind::none || (biasless && (!unit || (glu ? s.even : s.odd) == Tri::yes));
  result.homogeneous = kind == FeedforwardKind::none ||
                       (biasless && (!unit || (!glu && ((s.positively_homogeneous == Tri::yes && s.homogeneity_degree == 1u) || (s.affine == Tri::yes && s.odd == Tri::yes)))));
}

FeedforwardFacts compute_one_feedforward(const Feedforward& feedforward, const Norm& norm, std::int64_t dim, const Budget& budget) {
  FeedforwardFacts result;
  const FeedforwardKind kind = feedforward.kind == FeedforwardKind::moe ? feedforward.expert : feedforward.kind;
  const bool glu = kind == FeedforwardKind::glu;
  const ActivationFacts s = attention_kernel::compute_activation_facts(feedforward.activation, budget);
  const bool layernorm_bias = norm.kind == NormKind::layernorm && norm.affine && norm.place != NormPlace::after;
  result.hidden_bias = feedforward.bias == Bias::yes || layernorm_bias;
  const bool in_front = norm_in_front(norm);
  set_narrow_kinds(result, feedforward, kind, s);
  result.optional = !feedforward.spectral_norm_equals;
  result.tells_multiples = result.hidden_bias || s.analytic == Tri::yes;

  if (kind == FeedforwardKind::none || kind == FeedforwardKind::affine || (!glu && s.affine == Tri::yes) || s.constant == Tri::yes) {
    result.closure = Closure::affine;
    result.why = kind == FeedforwardKind::none ? "no feedforward" : "the feedforward is affine";
    return result;
  }
  if (feedforward.spectral_norm_equals) {
    result.why = "a spectral norm forced to equality leaves no small multiples (theory 6 B)";
    return result;
  }
  if (s.polynomial == Tri::unknown) {
    result.why = "it could not be decided whether the activation is a polynomial";
    return result;
  }
  const bool nonpolynomial = s.polynomial == Tri::no;
  result.polynomial = !nonpolynomial;
  // 15.1 asks for continuity, or for jumps between continuous pieces; an expression may be undefined somewhere.
  const bool piecewise = s.continuous == Tri::yes || feedforward.activation.name == "step";
  result.interpolates = nonpolynomial && piecewise && !feedforward.width && !feedforward.spectral_norm_at_most;
  if (s.continuous != Tri::yes || s.locally_lipschitz != Tri::yes) {
    result.why = s.continuous == Tri::no || s.locally_lipschitz == Tri::no ? "the activation jumps (theory 6 F)"
                                                                          : "it could not be shown that the activation is continuous and locally Lipschitz (theory 2.1)";
    return result;
  }
  if (result.hidden_bias && nonpolynomial) {
    result.dense_in_one = !feedforward.width && !feedforward.spectral_norm_at_most;
    if (dim == 1 && feedforward.spectral_norm_at_most) {
      result.why = "one coordinate and a bound on the spectral norm: small steps keep the order of points, nothing folds (theory 16.32)";
    } else if (dim == 1) {
      result.closure = s.c2_or_kink == Tri::yes ? Closure::full : Closure::unknown;
      result.why = "one coordinate: folding by a kink or curvature (theory 2.1, extension d = 1)";
    } else {
      result.closure = Closure::full;
      result.why = "non-polynomial activation with hidden biases (theory 6 A, B)";
    }
    const bool squared_relu = feedforward.activation.name == "relu2" && feedforward.width.value_or(2) >= 2;
    result.definition2 = feedforward.bias == Bias::yes && feedforward.kind != FeedforwardKind::moe &&
                         !feedforward.spectral_norm_at_most && (s.lipschitz == Tri::yes || squared_relu) && s.affine == Tri::no;
    return result;
  }
  if (dim == 1) {
    result.why = "one coordinate without hidden biases or with a polynomial activation (theory 6 C, D)";
    return result;
  }
  if (result.hidden_bias) {  // polynomial of degree >= 2, or bilinear
    result.closure = Closure::full;
    result.why = "polynomial activation of degree at least 2 with biases: brackets generate all fields (theory 6 C)";
    return result;
  }
  // Far from the origin RMSNorm is as good as linear along a direction (7.1, "any bias"): translations do behind it too.
  const bool linear_far_out = norm.kind == NormKind::rmsnorm && norm.place == NormPlace::pre && nonpolynomial;
  if (feedforward.bias == Bias::output_only && (!in_front || linear_far_out)) {
    result.closure = Closure::full;
    result.why = "an output bias gives translations, which stand in for hidden biases (theory 6 D)";
    return result;
  }
  // No biases at all.
  if (feedforward.bias == Bias::no && (glu ? s.even : s.odd) == Tri::yes) {
    result.closure = Closure::odd;
    result.why = glu ? "an even gate without biases: an odd feedforward (theory 16.21)" : "odd activation without biases (theory 6 D)";
    return result;
  }
  if (in_front) {
    const bool both_parities = !glu || s.even == Tri::no;  // a gated unit has the parity that its gate lacks
    if (norm.kind == NormKind::rmsnorm && norm.eps > 0 && nonpolynomial && s.even_part_polynomial == Tri::no && both_parities) {
      result.closure = Closure::zero_fixing;
      result.why = "bias-free behind RMSNorm, even part not polynomial: brackets repair the parity (theory 15.6 E)";
    } else {
      result.why = "bias-free feedforward behind this norm: not covered (theory 7.1, 15.6)";
    }
    return result;
  }
  if (glu) {
    if (glu_gate_gives_bilinear(feedforward.activation, s)) {
      result.closure = Closure::zero_fixing;
      result.why = "gated and bias-free: all fields vanishing at 0 (theory 6 D)";
    } else {
      result.why = "this gate without biases is not covered (theory 6 D)";
    }
    return result;
  }
  if (s.zero_at_zero == Tri::no) {
    result.closure = Closure::full;
    result.why = "s(0) != 0 gives translations (theory 6 D)";
  } else if (s.even_quadratic == Tri::yes) {
    result.closure = Closure::zero_fixing;
    result.why = "bias-free with a quadratic even part: all fields vanishing at 0 (theory 6 D)";
  } else if (s.positively_homogeneous == Tri::yes && s.homogeneity_degree == 1u) {
    result.closure = Closure::homogeneous;
    result.why = "bias-free and positively homogeneous (theory 6 D)";
  } else {
    result.why = "this bias-free activation is not covered (theory 6 D)";
  }
  return result;
}

/// A router, softmax(R x) say, is neither odd nor scale-free nor constant: what holds of one expert and shrinks the class does not
/// hold of the mixture. What one expert can do the mixture can do (equal experts).
FeedforwardFacts compute_feedforward(const Feedforward& feedforward, const Norm& norm, std::int64_t dim, const Budget& budget) {
  FeedforwardFacts result = compute_one_feedforward(feedforward, norm, dim, budget);
  const bool narrow = result.closure == Closure::odd || result.closure == Closure::homogeneous || result.closure == Closure::affine;
  if (feedforward.kind == FeedforwardKind::moe && feedforward.experts > 1) result.odd = result.homogeneous = false;
  if (feedforward.kind == FeedforwardKind::moe && feedforward.experts > 1 && narrow) {
    result.closure = Closure::unknown;
    result.why = "experts of a small class behind a router that is not of it: not covered (theory 16.21)";
  }
  return result;
}

/// A trained bias is a factor e^b of the weight, whatever the kernel: offsets and buckets are colours like those of a matrix (docs/theory.md 16.51).
bool colours_arcs(const Mixer& mixer) {
  const RelativeScheme scheme = mixer.relative.scheme;
  return scheme == RelativeScheme::none || scheme == RelativeScheme::learned || scheme == RelativeScheme::t5;
}

/// Weights that do not depend on the tokens, whatever the denominator adds to their sum.
bool is_linear(const Mixer& mixer, const KernelFacts& kernel, bool selects) {
  return kernel.constant == Tri::yes && !selects && colours_arcs(mixer);
}

/// A sum with weights that are all 0. Of averages nothing is said: their denominators are 0 as well.
bool adds_nothing(const Mixer& mixer, const KernelFacts& kernel) {
  return kernel.constant == Tri::yes && kernel.nonzero_at_zero == Tri::no && (!mixer.normalised || mixer.sink || mixer.eps > 0);
}

/// What a mixer that lets no token see another is for all rules.
MixerFacts make_tokenwise(std::string why) {
  MixerFacts result;
  result.blind = true;
  result.mean = Tri::yes;  // it mixes nothing, and nothing is in view
  result.odd = Tri::yes;
  result.homogeneous = Tri::yes;
  result.linear = true;
  result.why = std::move(why);
  return result;
}

MixerFacts compute_attention(const Mixer& mixer, const KernelFacts& kernel, std::int64_t dim, bool selects) {
  if (adds_nothing(mixer, kernel)) return make_tokenwise("the kernel is 0: tokens do not interact (theory 16.92)");
  MixerFacts result;
  result.softmax = kernel.is_softmax;
  result.normalised = mixer.normalised && !mixer.sink && mixer.eps == 0;
  const bool turned = mixer.relative.scheme == RelativeScheme::rotary && !kernel.is_softmax;
  result.may_weigh_nobody = turned && result.normalised && kernel.positive != Tri::yes;
  result.sees_places = turned && (!kernel.isotropic || result.may_weigh_nobody);
  result.linear = is_linear(mixer, kernel, selects);
  result.odd = kernel.joint_sign_even;
  result.homogeneous = result.normalised ? kernel.homogeneous_mixer : Tri::unknown;
  if (result.linear) result.homogeneous = Tri::yes;
  result.additive_only = kernel.reads_keys == Tri::yes ? Tri::no : kernel.reads_keys == Tri::no ? Tri::yes : Tri::unknown;
  if (!colours_arcs(mixer) && !kernel.is_softmax) {
    result.why = "rotary positions and ALiBi are proved for softmax only (theory 15.8 l)";
    return result;
  }
  if (mixer.relative.scheme == RelativeScheme::rotary && dim < 2) {
    result.why = "rotary positions turn pairs of coordinates: one is not enough (theory 2.5)";
    return result;
  }
  if (selects && mixer.relative.scheme != RelativeScheme::none) {
    result.bounded = false;
    result.why = "top-k attention with relative positions: Theorem G asks for rows that treat their tokens alike (theory 2.6)";
    return result;
  }
  if (selects && (kernel.positive != Tri::yes || kernel.reads_keys != Tri::yes)) {
    result.bounded = false;
    result.why = "top-k attention needs a positive kernel that weighs its keys: else all may tie, or denominators vanish (theory 2.6, 16.21)";
    return result;
  }
  if (selects && mixer.top_k == 1 && mixer.query_key == QueryKey::tied && !kernel.is_softmax) {
    result.bounded = false;
    result.why = "one key for W_Q = W_K may always be the own token (theory 16.21)";
    return result;
  }
  if (selects) {
    result.bounded = false;
    result.mean = Tri::yes;
    result.why = "top-k attention: any dependence on other tokens suffices, without a bound on the layers (Theorem G, theory 2.6)";
    return result;
  }
  if (kernel.nonzero_at_zero == Tri::yes) {
    result.mean = Tri::yes;
    result.why = "k(0,0) != 0: W_Q = W_K = 0 averages (theory 2.3)";
  } else if (kernel.mean_property == Tri::yes && mixer.query_key == QueryKey::free) {
    result.mean = Tri::yes;
    result.why = "the kernel is continuous and not zero near some pair (theory 2.3)";
  } else {
    result.why = "(MEAN) of theory 2.3 could not be shown for this kernel";
  }
  return result;
}

MixerFacts compute_mixer(const Mixer& mixer, const KernelFacts& kernel, std::int64_t dim, bool selects, const Budget& budget) {
  MixerFacts result;
  switch (mixer.kind) {
    case MixerKind::attention: return compute_attention(mixer, kernel, dim, selects);
    case MixerKind::linformer:
      result.mean = kernel.nonzero_at_zero;
      result.linear = is_linear(mixer, kernel, selects);
      result.odd = kernel.joint_sign_even;  // keys and values are projected tokens
      result.homogeneous = result.linear ? Tri::yes : mixer.normalised && !mixer.sink && mixer.eps == 0 ? kernel.homogeneous_mixer : Tri::unknown;
      result.why = "W_Q = 0 makes the weights over the k columns uniform (theory 2.5)";
      if (mixer.projections == ProjectionKind::blocks) {
        // Lemma 1 on block means wants (13) (theory 2.5).
        result.mean = kernel.condition13 == attention_kernel::Condition13::holds ? Tri::yes : Tri::unknown;
        result.why = "fixed mean pooling: Lemma 1 on block means with a kernel of condition (13) (theory 2.5)";
      }
      // Trained projections may make all columns alike; fixed ones show those that are kept, and no more (docs/theory.md 16.61).
      if (selects && (mixer.projections == ProjectionKind::blocks || mixer.projections == ProjectionKind::generic)) {
        result.mean = Tri::unknown;
        result.why = "top-k of fixed projections leaves some of them out (theory 16.61)";
      }
      return result;
    case MixerKind::bias: {
      const ActivationFacts alpha = attention_kernel::compute_activation_facts(mixer.activation, budget);
      result.blind = is_blind(mixer, budget);
      result.mean = alpha.constant == Tri::no && alpha.continuous == Tri::yes ? Tri::yes : result.blind ? Tri::no : Tri::unknown;
      result.additive_only = alpha.affine;
      result.linear = alpha.affine == Tri::yes;  // then the whole sum is affine in X (3.6)
      result.why = result.blind ? "alpha is constant: other tokens do not matter (theory 3.3)"
                                : "alpha is continuous and not constant (theory 2.3)";
      return result;
    }
    case MixerKind::convolution:
    case MixerKind::linear:
    case MixerKind::sum:
    case MixerKind::mean:
      result.mean = Tri::yes;
      result.linear = true;
      result.odd = Tri::yes;
      result.homogeneous = Tri::yes;
      result.normalised = mixer.kind == MixerKind::mean && mixer.eps == 0 && !mixer.sink;
      result.additive_only = mixer.kind == MixerKind::sum || mixer.kind == MixerKind::mean ? Tri::yes : Tri::no;
      result.why = "a linear mixer with trained weights (theory 2.3, 2.5)";
      return result;
    case MixerKind::max:
      result.mean = Tri::yes;
      result.bounded = false;
      result.homogeneous = Tri::yes;
      result.odd = Tri::no;
      result.normalised = true;
      result.why = "max pooling: any dependence on other tokens suffices, without a bound on the layers (Theorem G, theory 2.6)";
      return result;
    case MixerKind::lsh:
      result.decidable = false;
      result.bounded = false;
      result.why = "LSH attention chooses its pattern from the data and from random numbers (theory 7.5)";
      return result;
    case MixerKind::tokenwise:
      return make_tokenwise("tokens do not interact");
  }
  return result;
}

NormFacts compute_norms(const Architecture& architecture) {
  NormFacts result;
  result.norm = architecture.layers.back().norm;
  for (const LayerSpec& layer : architecture.layers) {
    const Norm& norm = layer.norm;
    if (!(norm == result.norm) && !(norm.kind == NormKind::none && result.norm.kind == NormKind::none)) result.uniform = false;
  }
  return result;
}

}  // namespace

Facts compute_facts(const Architecture& architecture, const Budget& budget) {
  Facts facts;
  const Mixer* previous = nullptr;  // kernels repeat from layer to layer, and deciding (13) is not free
  for (const LayerSpec& layer : architecture.layers) {
    budget.poll();
    if (!has_kernel(layer.mixer)) {
      facts.kernel.emplace_back();
    } else if (previous != nullptr && previous->kernel == layer.mixer.kernel) {
      facts.kernel.push_back(facts.kernel.back());
    } else {
      facts.kernel.push_back(attention_kernel::compute_kernel_facts(layer.mixer.kernel, static_cast<std::size_t>(architecture.dim),
                                                                    static_cast<std::size_t>(architecture.tokens), budget));
    }
    previous = has_kernel(layer.mixer) ? &layer.mixer : nullptr;
    facts.feedforward.push_back(compute_feedforward(layer.feedforward, layer.norm, architecture.dim, budget));
    facts.mixer.push_back(compute_mixer(layer.mixer, facts.kernel.back(), architecture.dim, selects_keys(architecture, layer.mixer), budget));
    if (lacks_scale(layer.mixer)) {
      facts.mixer.back().mean = Tri::unknown;
      facts.mixer.back().why = "W_V is not trained (theory 2.3, 15.4)";
    }
  }
  facts.norm = compute_norms(architecture);
  return facts;
}

namespace {

/// K and A of a norm at the end with a linear head (15.2).
void apply_norm(OutputRank& rank, const Norm& norm, std::int64_t dim) {
  const bool layernorm = norm.kind == NormKind::layernorm;
  const std::int64_t certified = dim - (layernorm ? 1 : 0) - (norm.eps == 0 ? 1 : 0);
  rank.certified = std::min(rank.certified, certified);
  rank.with_one_more_layer = std::min(rank.with_one_more_layer, certified);
  rank.affine = std::min(rank.affine, layernorm ? dim - 1 : dim);
}

/// The last norm reads states that a post-norm has put on a surface of smaller dimension (16.16).
void apply_post_before_last(OutputRank& rank, const Norm& post, const Norm& last, std::int64_t dim) {
  const bool layernorm = post.kind == NormKind::layernorm, rays = last.kind == NormKind::rmsnorm && last.eps == 0;
  // A hyperplane through 0 loses one more dimension when only rays are kept; a trained bias moves it away from 0.
  const std::int64_t certified = dim - (layernorm ? 1 : 0) - (post.eps == 0 || (layernorm && !post.affine && rays) ? 1 : 0);
  if (layernorm && !post.affine) rank.affine = std::min(rank.affine, dim - 1);
  if (certified >= rank.certified) return;
  rank.certified = rank.with_one_more_layer = certified;
  rank.undecided_above = rank.certified < rank.affine;
  rank.why = "the last norm reads what a post-norm leaves (theory 16.16)";
}

}  // namespace

OutputRank compute_rank_behind(const Architecture& architecture, const Norm& layer_norm) {
  const std::int64_t dim = architecture.dim;
  OutputRank rank;
  rank.certified = rank.affine = rank.with_one_more_layer = dim;
  rank.why = "no norm at the end: the whole width is free";
  const bool post = layer_norm.kind != NormKind::none && layer_norm.place == NormPlace::post;
  const bool final_norm = architecture.output.norm && architecture.output.norm->kind != NormKind::none;
  std::optional<Norm> last;
  if (final_norm) last = architecture.output.norm;
  else if (post) last = layer_norm;
  const bool headless = last && architecture.output.head == Head::none;
  if (headless && !(last->kind == NormKind::rmsnorm && last->eps > 0 && last->affine)) {
    // Without a head the first numbers of the state are the outputs: fewer than all of them need not lie on the surface (docs/theory.md 16.59).
    const bool narrow = architecture.output.dim && *architecture.output.dim < dim;
    if (last->kind == NormKind::layernorm) rank.affine = dim - 1;
    if (narrow && last->affine && post && final_norm) {
      rank.certified = rank.with_one_more_layer = 0;
      rank.undecided_above = true;
      rank.why = "no head, and a last norm that reads what a post-norm leaves (theory 16.59)";
      return rank;
    }
    if (!narrow || !last->affine) {
      rank.sphere = true;
      rank.sphere_open_ball = !last->affine && (last->eps > 0 || narrow);
      rank.sphere_gain = last->affine;
      rank.certified = rank.with_one_more_layer = 0;
      rank.why = "the outputs themselves lie in the range of the last norm (theory 3.8, 15.8 b)";
      return rank;
    }
  }
  if (last) {
    apply_norm(rank, *last, dim);
    rank.why = !headless                                                   ? "the head reads the last norm (theory 15.2)"
               : last->kind == NormKind::rmsnorm && last->eps > 0 ? "a trained gain behind RMSNorm reaches every bounded value (theory 15.8 b)"
                                                                           : "a trained gain takes fewer numbers than the state has anywhere (theory 16.59)";
    // Gains stand in for the head, for what the layers leave as well (docs/theory.md 16.41).
    if (post && final_norm) apply_post_before_last(rank, layer_norm, *last, dim);
  }
  if (layer_norm.kind != NormKind::none && (layer_norm.place == NormPlace::sandwich || layer_norm.place == NormPlace::after)) {
    if (layer_norm.kind == NormKind::layernorm) {
      // 15.8 a: the last branch lies in a hyperplane; a spare layer with trained gains fills the last coordinate.
      if (layer_norm.eps > 0) {
        rank.certified = std::min(rank.certified, dim - 1);
        if (!layer_norm.affine) rank.with_one_more_layer = std::min(rank.with_one_more_layer, dim - 1);
      } else {
        rank.certified = rank.with_one_more_layer = 0;
      }
      rank.undecided_above = true;
      rank.why = "LayerNorm inside the branch (theory 15.8 a)";
    } else if (layer_norm.eps == 0) {
      rank.certified = rank.with_one_more_layer = layer_norm.affine ? std::min(rank.certified, dim - 1) : 0;
      rank.undecided_above = true;
      rank.why = "RMSNorm with eps = 0 inside the branch (theory 15.3)";
    }
  }
  return rank;
}

bool has_feedforward(const LayerSpec& layer) { return layer.feedforward.kind != FeedforwardKind::none; }

bool may_stop_behind(const Architecture& architecture, const LayerSpec& layer) {
  return has_feedforward(layer) || std::none_of(architecture.layers.begin(), architecture.layers.end(), has_feedforward);
}

OutputRank compute_output_rank(const Architecture& architecture, const NormFacts& norms) {
  const std::vector<LayerSpec>& layers = architecture.layers;
  const bool ids = architecture.input.embedding == Embedding::table, listed = architecture.depth == Depth::listed;
  const OutputRank behind_last = compute_rank_behind(architecture, layers.back().norm);
  if (norms.uniform || (ids && listed)) return behind_last;
  // Real tokens may pass through a feedforward-only sublayer of any layer at the end (docs/theory.md 16.60).
  std::optional<OutputRank> best;
  std::int64_t affine = 0;
  bool alike = true;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const OutputRank here = compute_rank_behind(architecture, layers[k].norm);
    affine = std::max(affine, here.sphere ? architecture.dim : here.affine);
    alike = alike && here == behind_last;
    const bool stops = listed ? k + 1 == layers.size() : may_stop_behind(architecture, layers[k]);
    const auto shown = [](const OutputRank& rank) { return std::tuple(!rank.sphere, rank.certified, rank.with_one_more_layer); };
    if (stops && (!best || shown(here) > shown(*best))) best = here;
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

}  // namespace sightline::verdict

// Feedforwards, norms and embeddings of real-valued tokens: theory.md 3.4-3.7, 6, 7.1, 15.3, 16.23.
#include "sightline/verdict/tokenwise.hpp"

#include <fmt/format.h>

#include "sightline/verdict/fixed_positions.hpp"
#include "sightline/verdict/floors.hpp"

namespace sightline::verdict {

using namespace architecture;

namespace {

bool every_feedforward(const Context& context, bool FeedforwardFacts::*fact) {
  return std::all_of(context.facts.feedforward.begin(), context.facts.feedforward.end(), [&](const FeedforwardFacts& f) { return f.*fact; });
}

bool is_real(const std::optional<Norm>& norm) { return norm && norm->kind != NormKind::none; }

/// N(-x) = -N(x): also of no norm; a trained bias breaks it.
bool is_odd(const std::optional<Norm>& norm) { return !is_real(norm) || norm->kind != NormKind::layernorm || !norm->affine; }

/// Parity, scaling and linearity ask it of the whole network (3.4-3.6): every sublayer, every norm, nothing added. What stands behind the
/// last layer may shift and bend values, and leaves less of the floor (docs/theory.md 16.23).
bool refuse_narrow_feedforward(Context& context) {
  const Architecture& a = context.architecture;
  const bool raw = a.input.embedding == Embedding::none && a.input.positions == Positions::none && a.input.registers.empty();
  const bool norm_free = std::all_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) { return layer.norm.kind == NormKind::none; }) && !is_real(a.input.norm);
  const bool odd_norms = std::all_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) { return is_odd(layer.norm); }) && is_odd(a.input.norm);
  const std::string& why = context.facts.feedforward.front().why;
  // An affine network is refused as one, though without biases it is odd as well.
  const bool affine = std::all_of(context.facts.feedforward.begin(), context.facts.feedforward.end(), [](const FeedforwardFacts& f) { return f.closure == Closure::affine; });
  if (affine && norm_free && a.input.embedding != Embedding::mlp && every_mixer(context, [](const MixerFacts& m) { return m.linear; })) {
    context.use("affine", {why});
    context.add_floor(make_affine_floor(context));
    return true;
  }
  if (every_feedforward(context, &FeedforwardFacts::odd) && raw && odd_norms && every_mixer(context, [](const MixerFacts& m) { return m.odd == Tri::yes; })) {
    context.use("odd", {why});
    context.add_floor(make_odd_floor(context, a.output.head == Head::none && is_odd(a.output.norm)));
    return true;
  }
  if (every_feedforward(context, &FeedforwardFacts::homogeneous) && raw && norm_free && every_mixer(context, [](const MixerFacts& m) { return m.homogeneous == Tri::yes; })) {
    context.use("homogeneous", {why});
    context.add_floor(make_homogeneous_floor(context));
    return true;
  }
  return false;
}

/// Do raw tokens arrive injectively behind a norm that loses so many directions? Centred ones do when the mean is all it loses; an mlp
/// in front puts the cells of a grid wherever they survive (docs/theory.md 16.23).
bool survives_norm(const Architecture& a, std::int64_t lost, bool mean_alone) {
  if (a.input.embedding == Embedding::mlp) return a.dim - lost >= 1;
  if (a.input.domain == Domain::centred && a.input.embedding == Embedding::none) return mean_alone;
  return a.input.embedding == Embedding::linear && count_raw_directions(a) <= a.dim - lost;
}

std::int64_t count_lost(const Norm& norm) { return (norm.kind == NormKind::layernorm ? 1 : 0) + (norm.eps == 0 ? 1 : 0); }

void refuse_input_rank(Context& context, Tokenwise& result, std::int64_t kept) {
  result.impossible = true;
  context.use("input-rank", {fmt::format("{} {} > {}", context.architecture.input.domain == Domain::centred ? "directions of a centred token" : "raw width", count_raw_directions(context.architecture), kept)});
  context.add_floor(make_input_rank_floor(context, kept));
}

/// False when the answer is settled: raw tokens that the norm in front of all else makes equal.
bool decide_input_norm(Context& context, Tokenwise& result) {
  const Architecture& a = context.architecture;
  if (!is_real(a.input.norm)) return true;
  const Norm& norm = *a.input.norm;
  const std::int64_t lost = count_lost(norm);
  const bool layernorm = norm.kind == NormKind::layernorm, bare = a.input.embedding == Embedding::none, everywhere = a.input.domain == Domain::all;
  if (lost == 0 || survives_norm(a, lost, layernorm && norm.eps > 0)) return true;
  if (layernorm && ((bare && everywhere) || (a.input.embedding == Embedding::linear && count_raw_directions(a) > a.dim - 1))) {
    refuse_input_rank(context, result, a.dim - 1);
    return false;
  }
  if (bare && norm.eps == 0 && a.input.positions == Positions::none) {
    result.impossible = true;
    context.use("input-rank", {"the norm behind the embedding keeps the direction of a raw token alone"});
    context.add_floor(make_ray_floor(context));
    return false;
  }
  result.missing.push_back("the norm after the embedding loses a direction of the raw tokens (theory 15.3)");
  return true;
}

/// The norm that stands for all layers: theirs, or where they differ in eps and gains alone the one with the least eps.
std::optional<Norm> find_common_norm(const Architecture& a) {
  Norm common = a.layers.back().norm;
  for (const LayerSpec& layer : a.layers) {
    if (layer.norm.kind != common.kind || (common.kind != NormKind::none && layer.norm.place != common.place)) return std::nullopt;
    common.eps = std::min(common.eps, layer.norm.eps);
  }
  return common;
}

/// Layers with norms of several kinds: each by itself must do what one kind does.
void decide_mixed_norms(Context& context, Tokenwise& result) {
  const Architecture& a = context.architecture;
  bool ball = false, inside = false, layernorm = false;
  for (const LayerSpec& layer : a.layers) {
    const Norm& norm = layer.norm;
    if (norm.kind == NormKind::none) continue;
    if (norm.kind == NormKind::rmsnorm && norm.eps > 0 && norm.place == NormPlace::pre) ball = true;
    else if (norm.kind == NormKind::rmsnorm && norm.eps > 0 && norm.place != NormPlace::post) inside = true;
    else if (norm.kind == NormKind::layernorm && norm.place == NormPlace::pre) layernorm = true;
    else {
      result.missing.push_back("layers with different norms are decided only when each is none, pre-LayerNorm or RMSNorm with eps > 0, and none is a post-norm");
      return;
    }
  }
  if (layernorm && (inside || !survives_norm(a, 1, true) || a.dim < 3)) {
    result.missing.push_back("layers with different norms, some of which drop the mean of raw tokens (theory 7.1; raw width at most d-1 and d >= 3 would do)");
    return;
  }
  if (layernorm) context.use("pre-layernorm", {"in some layers", "d >= 3"});
  if (ball) context.use("pre-rmsnorm", {"eps > 0: a homeomorphism onto a ball"});
  if (inside) context.use("sandwich-rmsnorm");
}

void decide_pre_norm(Context& context, Tokenwise& result, const Norm& norm) {
  const Architecture& a = context.architecture;
  const bool final_layernorm = a.output.norm && a.output.norm->kind == NormKind::layernorm;
  if (norm.kind == NormKind::rmsnorm && norm.eps > 0) {
    context.use("pre-rmsnorm", {"eps > 0: a homeomorphism onto a ball"});
    return;
  }
  if (norm.kind == NormKind::rmsnorm) {
    const bool translates = std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& l) { return l.feedforward.kind != FeedforwardKind::none && l.feedforward.bias != Bias::no; });
    if (a.dim >= 2 && translates) context.use("pre-rmsnorm", {"eps = 0: biases translate away from 0 and back"});
    else result.missing.push_back("pre-RMSNorm with eps = 0 and no biases (theory 7.1)");
    return;
  }
  const bool square = a.input.embedding == Embedding::linear && count_raw_directions(a) >= a.dim;
  if (survives_norm(a, 1, true) && a.dim >= 3) {
    context.use("pre-layernorm", {a.input.embedding == Embedding::mlp && a.input.dim >= a.dim ? "an mlp in front"
                                  : a.input.domain == Domain::centred                         ? "centred input"
                                                                                              : fmt::format("raw width {} <= {}", a.input.dim, a.dim - 1),
                                  "d >= 3"});
  } else if (a.input.embedding == Embedding::none && a.input.domain == Domain::all) {
    result.impossible = true;
    context.use("pre-layernorm-translation", {"no embedding"});
    context.add_floor(make_pre_layernorm_floor(context));
  } else if (square && is_real(a.input.norm) && is_real(a.output.norm) && !final_layernorm) {
    result.missing.push_back("pre-LayerNorm between a norm of the embedded tokens and a last norm: the direction that is lost may be made up for (theory 16.85)");
  } else if (square && (!final_layernorm || (is_real(a.input.norm) && a.input.norm->kind == NormKind::rmsnorm))) {
    result.impossible = true;
    context.use("pre-layernorm-translation", {"a square embedding sends some raw direction to the all-ones vector, or to 0"});
    // A last norm bends what is affine along the lost direction, a norm in front bends the direction itself: more bends are wanted (docs/theory.md 16.85). A last LayerNorm takes the
    // direction away, but lengths in front still show it.
    const bool bent = is_real(a.input.norm) || is_real(a.output.norm);
    context.add_floor({2, std::nullopt, bent ? "F(X)_i = cos(20 |X_i|^2) e_1" : "F(X)_i = |X_i|^2 e_1", "the unit ball of the raw inputs", "pre-LayerNorm translation (theory 3.7)"});
  } else if (square) {
    refuse_input_rank(context, result, a.dim - 1);
  } else {
    result.missing.push_back("pre-LayerNorm: the raw tokens may lose a direction (theory 7.1; raw width at most d-1 and d >= 3 would do)");
  }
}

void decide_post_norm(Context& context, Tokenwise& result, const Norm& norm) {
  const Architecture& a = context.architecture;
  if (!every_feedforward(context, &FeedforwardFacts::dense_in_one)) {
    result.missing.push_back("behind a post-norm one feedforward sublayer must be dense by itself: non-polynomial, with hidden biases (theory 15.3)");
    return;
  }
  const std::int64_t lost = count_lost(norm);
  const bool layernorm = norm.kind == NormKind::layernorm;
  if (lost > 0 && !survives_norm(a, lost, layernorm && norm.eps > 0)) {
    result.missing.push_back("post-norm: the raw tokens may lose a direction in the first norm (theory 15.3)");
  } else if (a.dim - lost < 1 || (layernorm ? a.dim < 3 : a.dim < 2)) {
    result.missing.push_back("post-norm: the width is too small for theory 15.3");
  } else {
    context.use("post-norm");
  }
}

}  // namespace

/// Feedforward-only sublayers may stand anywhere (1.12), so one kind that generates every flow is enough where the others can be switched off.
void decide_feedforward(Context& context, Tokenwise& result) {
  if (refuse_narrow_feedforward(context)) {
    result.impossible = true;
    return;
  }
  const auto& facts = context.facts.feedforward;
  const auto generates = [](const FeedforwardFacts& f) { return f.closure == Closure::full || f.closure == Closure::zero_fixing; };
  const auto chosen = std::find_if(facts.begin(), facts.end(), generates);
  const auto stuck = std::find_if(facts.begin(), facts.end(), [&](const FeedforwardFacts& f) { return !generates(f) && (chosen == facts.end() || !f.optional); });
  if (stuck == facts.end()) {
    context.use("feedforward", {chosen->why});
    return;
  }
  result.missing.push_back("feedforward: " + (stuck->closure == Closure::affine ? stuck->why + ": attention alone is open here (theory 6 E)" : stuck->why));
}

void decide_norms(Context& context, Tokenwise& result) {
  const Architecture& a = context.architecture;
  if (a.input.embedding == Embedding::linear && count_raw_directions(a) > a.dim) {
    refuse_input_rank(context, result, a.dim);
    return;
  }
  if (!uses_fixed_table(a) && norms_merge_rows(a)) {
    result.missing.push_back("a norm makes rows of the position table equal (theory 15.5 D1, 15.8 p)");
  }
  if (!decide_input_norm(context, result)) return;
  const std::optional<Norm> norm = find_common_norm(a);
  if (!norm) {
    decide_mixed_norms(context, result);
    return;
  }
  if (norm->kind == NormKind::none) return;
  switch (norm->place) {
    case NormPlace::pre: return decide_pre_norm(context, result, *norm);
    case NormPlace::post: return decide_post_norm(context, result, *norm);
    case NormPlace::sandwich:
    case NormPlace::after:
      if (norm->kind == NormKind::rmsnorm && norm->eps > 0) context.use("sandwich-rmsnorm");
      else result.missing.push_back("a LayerNorm, or eps = 0, inside the branch on real-valued tokens (theory 15.3, 15.8 a)");
      return;
  }
}

}  // namespace sightline::verdict

// Feedforwards, norms and embeddings of real-valued tokens (theory 3.4-3.7, 6, 7.1, 15.3, 16.23).
#include "derivation.hpp"

namespace checker {

namespace {

bool is_odd(const Json& norm) { return !real(norm) || !norm["kind"].is("layernorm") || !norm["affine"].boolean(); }

template <class Predicate>
bool every_layer_norm(const Derivation& d, Predicate predicate) {
  return std::all_of(d.a["layer"].array().begin(), d.a["layer"].array().end(), [&](const Json& layer) { return predicate(layer["norm"]); });
}

/// Networks that are odd, scale with their input, or are affine, up to what stands behind the last layer.
bool refuse_narrow(Derivation& d) {
  const Json &input = d.a["input"], &output = d.a["output"], &embedding = input["embedding"];
  const bool raw = embedding.is("none") && input["positions"].is("none") && input["registers"].size() == 0;
  const bool norm_free = every_layer_norm(d, [](const Json& norm) { return !real(norm); }) && !real(input["norm"]);
  const std::string& why = d.feedforward.front().why;
  const bool affine = std::all_of(d.feedforward.begin(), d.feedforward.end(), [](const FeedforwardFacts& f) { return f.closure == Closure::affine; });
  if (affine && norm_free && !embedding.is("mlp") && d.every_mixer(&MixerFacts::linear)) {  // before parity, which it may have as well
    d.use("affine", {why});
    add_affine_floor(d);
    return true;
  }
  if (raw && d.every_feedforward(&FeedforwardFacts::odd) && every_layer_norm(d, is_odd) && is_odd(input["norm"]) && d.every_mixer(&MixerFacts::odd)) {
    d.use("odd", {why});
    add_odd_floor(d, output["head"].is("none") && is_odd(output["norm"]));
    return true;
  }
  if (raw && norm_free && d.every_feedforward(&FeedforwardFacts::homogeneous) && d.every_mixer(&MixerFacts::homogeneous)) {
    d.use("homogeneous", {why});
    add_homogeneous_floor(d);
    return true;
  }
  return false;
}

std::int64_t lost_by(const Json& norm) { return (norm["kind"].is("layernorm") ? 1 : 0) + (norm["eps"].number() == 0 ? 1 : 0); }
bool loses_mean_alone(const Json& norm) { return norm["kind"].is("layernorm") && norm["eps"].number() > 0; }
bool is_ball(const Json& norm) { return norm["kind"].is("rmsnorm") && norm["eps"].number() > 0; }

/// Do raw tokens stay apart behind a norm that loses so many directions?
bool survives(const Derivation& d, std::int64_t lost, bool mean_alone) {
  const Json &input = d.a["input"], &embedding = input["embedding"];
  if (embedding.is("mlp")) return d.dim - lost >= 1;
  if (input["domain"].is("centred") && embedding.is("none")) return mean_alone;
  return embedding.is("linear") && d.directions <= d.dim - lost;
}

void refuse_rank(Derivation& d, Tokenwise& result, std::int64_t kept) {
  result.impossible = true;
  const std::string what = d.a["input"]["domain"].is("centred") ? "directions of a centred token " : "raw width ";
  d.use("input-rank", {what + std::to_string(d.directions) + " > " + std::to_string(kept)});
  add_input_rank_floor(d, kept);
}

/// False when the norm in front of all else settles the answer.
bool decide_input_norm(Derivation& d, Tokenwise& result) {
  const Json &input = d.a["input"], &norm = input["norm"], &embedding = input["embedding"];
  if (!real(norm) || lost_by(norm) == 0 || survives(d, lost_by(norm), loses_mean_alone(norm))) return true;
  const bool bare = embedding.is("none");
  if (norm["kind"].is("layernorm") && ((bare && input["domain"].is("all")) || (embedding.is("linear") && d.directions > d.dim - 1))) {
    refuse_rank(d, result, d.dim - 1);
    return false;
  }
  if (bare && norm["eps"].number() == 0 && input["positions"].is("none")) {
    result.impossible = true;
    d.use("input-rank", {"the norm behind the embedding keeps the direction of a raw token alone"});
    add_ray_floor(d);
    return false;
  }
  result.missing.push_back("the norm after the embedding loses a direction of the raw tokens (theory 15.3)");
  return true;
}

void decide_mixed(Derivation& d, Tokenwise& result) {
  bool ball = false, inside = false, layernorm = false;
  for (const Json& layer : d.a["layer"].array()) {
    const Json &norm = layer["norm"], &place = norm["place"];
    if (!real(norm)) continue;
    if (is_ball(norm) && !place.is("post")) (place.is("pre") ? ball : inside) = true;
    else if (norm["kind"].is("layernorm") && place.is("pre")) layernorm = true;
    else return result.missing.push_back("layers with different norms are decided only when each is none, pre-LayerNorm or RMSNorm with eps > 0, and none is a post-norm");
  }
  if (layernorm && (inside || d.dim < 3 || !survives(d, 1, true)))
    return result.missing.push_back("layers with different norms, some of which drop the mean of raw tokens (theory 7.1; raw width at most d-1 and d >= 3 would do)");
  if (layernorm) d.use("pre-layernorm", {"in some layers", "d >= 3"});
  if (ball) d.use("pre-rmsnorm", {"eps > 0: a homeomorphism onto a ball"});
  if (inside) d.use("sandwich-rmsnorm");
}

void decide_pre(Derivation& d, Tokenwise& result, bool layernorm, bool no_eps) {
  const Json &input = d.a["input"], &output = d.a["output"], &embedding = input["embedding"];
  const bool everywhere = input["domain"].is("all"), final_layernorm = !output["norm"].is_null() && output["norm"]["kind"].is("layernorm");
  if (!layernorm && !no_eps) return d.use("pre-rmsnorm", {"eps > 0: a homeomorphism onto a ball"});
  if (!layernorm) {
    const bool translates = std::any_of(d.a["layer"].array().begin(), d.a["layer"].array().end(), [](const Json& layer) {
      const Json& bias = layer["feedforward"]["bias"];
      return !layer["feedforward"]["kind"].is("none") && !(bias.is_boolean() && !bias.boolean());
    });
    if (d.dim >= 2 && translates) return d.use("pre-rmsnorm", {"eps = 0: biases translate away from 0 and back"});
    return result.missing.push_back("pre-RMSNorm with eps = 0 and no biases (theory 7.1)");
  }
  if (survives(d, 1, true) && d.dim >= 3) {
    const std::string by = embedding.is("mlp") && d.raw >= d.dim ? "an mlp in front"
                           : input["domain"].is("centred")       ? "centred input"
                                                                 : "raw width " + std::to_string(d.raw) + " <= " + std::to_string(d.dim - 1);
    return d.use("pre-layernorm", {by, "d >= 3"});
  }
  const bool square = embedding.is("linear") && d.directions >= d.dim;
  const bool bent_in_front = real(input["norm"]), bent_behind = real(output["norm"]);  // 16.85
  const bool shown_by_length = bent_in_front && input["norm"]["kind"].is("rmsnorm");
  if (square && final_layernorm && !shown_by_length) return refuse_rank(d, result, d.dim - 1);
  if (square && bent_in_front && bent_behind && !final_layernorm)
    return result.missing.push_back("pre-LayerNorm between a norm of the embedded tokens and a last norm: the direction that is lost may be made up for (theory 16.85)");
  result.impossible = square || (embedding.is("none") && everywhere);
  if (square) {
    d.use("pre-layernorm-translation", {"a square embedding sends some raw direction to the all-ones vector, or to 0"});
    d.add_floor({}, bent_in_front || bent_behind ? "F(X)_i = cos(20 |X_i|^2) e_1" : "F(X)_i = |X_i|^2 e_1", "the unit ball of the raw inputs", "pre-LayerNorm translation (theory 3.7)");
  } else if (result.impossible) {
    d.use("pre-layernorm-translation", {"no embedding"});
    add_pre_layernorm_floor(d);
  } else {
    result.missing.push_back("pre-LayerNorm: the raw tokens may lose a direction (theory 7.1; raw width at most d-1 and d >= 3 would do)");
  }
}

void decide_post(Derivation& d, Tokenwise& result, bool layernorm, bool no_eps) {
  if (!d.every_feedforward(&FeedforwardFacts::dense_in_one))
    return result.missing.push_back("behind a post-norm one feedforward sublayer must be dense by itself: non-polynomial, with hidden biases (theory 15.3)");
  const std::int64_t lost = (layernorm ? 1 : 0) + (no_eps ? 1 : 0);
  if (lost > 0 && !survives(d, lost, layernorm && !no_eps)) return result.missing.push_back("post-norm: the raw tokens may lose a direction in the first norm (theory 15.3)");
  if (d.dim - lost < 1 || d.dim < (layernorm ? 3 : 2)) return result.missing.push_back("post-norm: the width is too small for theory 15.3");
  d.use("post-norm");
}

}  // namespace

void decide_feedforward(Derivation& d, Tokenwise& result) {
  if (refuse_narrow(d)) {
    result.impossible = true;
    return;
  }
  // One kind that generates every flow is enough where the others can be switched off (1.12).
  const auto generates = [](const FeedforwardFacts& f) { return f.closure == Closure::full || f.closure == Closure::zero_fixing; };
  const FeedforwardFacts* chosen = nullptr;
  for (const FeedforwardFacts& f : d.feedforward) chosen = chosen == nullptr && generates(f) ? &f : chosen;
  for (const FeedforwardFacts& f : d.feedforward) {
    if (generates(f) || (chosen != nullptr && f.optional)) continue;
    return result.missing.push_back("feedforward: " + f.why + (f.closure == Closure::affine ? ": attention alone is open here (theory 6 E)" : ""));
  }
  d.use("feedforward", {chosen->why});
}

void decide_norms(Derivation& d, Tokenwise& result) {
  if (d.a["input"]["embedding"].is("linear") && d.directions > d.dim) return refuse_rank(d, result, d.dim);
  if (!d.uses_fixed_table() && norms_merge_rows(d.a)) result.missing.push_back("a norm makes rows of the position table equal (theory 15.5 D1, 15.8 p)");
  if (!decide_input_norm(d, result)) return;
  const Json& norm = d.a["layer"].array().back()["norm"];
  // Norms that differ in eps and gains alone count as one, with the least eps.
  bool alike = true, no_eps = false;
  for (const Json& layer : d.a["layer"].array()) {
    const Json& other = layer["norm"];
    alike = alike && (real(norm) ? real(other) && other["kind"] == norm["kind"] && other["place"] == norm["place"] : !real(other));
    no_eps = no_eps || (real(other) && other["eps"].number() == 0);
  }
  if (!alike) return decide_mixed(d, result);
  if (!real(norm)) return;
  const bool layernorm = norm["kind"].is("layernorm");
  if (norm["place"].is("pre")) return decide_pre(d, result, layernorm, no_eps);
  if (norm["place"].is("post")) return decide_post(d, result, layernorm, no_eps);
  if (layernorm || no_eps) return result.missing.push_back("a LayerNorm, or eps = 0, inside the branch on real-valued tokens (theory 15.3, 15.8 a)");
  d.use("sandwich-rmsnorm");
}

}  // namespace checker

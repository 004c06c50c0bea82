#include "sightline/architecture/names.hpp"

namespace sightline::architecture {

using layout::PatternKind;

template <> std::span<const Name<Depth>> names_of() {
  static constexpr Name<Depth> names[] = {{Depth::listed, "listed"}, {Depth::unbounded, "unbounded"}};
  return names;
}

template <> std::span<const Name<TargetClass>> names_of() {
  static constexpr Name<TargetClass> names[] = {
      {TargetClass::all, "all"}, {TargetClass::causal, "causal"}, {TargetClass::seen, "seen"}};
  return names;
}

template <> std::span<const Name<Positions>> names_of() {
  static constexpr Name<Positions> names[] = {{Positions::none, "none"},
                                              {Positions::learned, "learned"},
                                              {Positions::fixed, "fixed"},
                                              {Positions::sinusoidal, "sinusoidal"}};
  return names;
}

template <> std::span<const Name<Embedding>> names_of() {
  static constexpr Name<Embedding> names[] = {{Embedding::none, "none"},
                                              {Embedding::linear, "linear"},
                                              {Embedding::mlp, "mlp"},
                                              {Embedding::table, "table"}};
  return names;
}

template <> std::span<const Name<Domain>> names_of() {
  static constexpr Name<Domain> names[] = {{Domain::all, "all"}, {Domain::centred, "centred"}};
  return names;
}

template <> std::span<const Name<Head>> names_of() {
  static constexpr Name<Head> names[] = {{Head::none, "none"}, {Head::linear, "linear"}};
  return names;
}

template <> std::span<const Name<Arrangement>> names_of() {
  static constexpr Name<Arrangement> names[] = {{Arrangement::sequential, "sequential"}, {Arrangement::parallel, "parallel"}};
  return names;
}

template <> std::span<const Name<MixerKind>> names_of() {
  static constexpr Name<MixerKind> names[] = {
      {MixerKind::attention, "attention"}, {MixerKind::linformer, "linformer"}, {MixerKind::bias, "bias"},
      {MixerKind::convolution, "convolution"}, {MixerKind::linear, "linear"}, {MixerKind::mean, "mean"},
      {MixerKind::sum, "sum"}, {MixerKind::max, "max"}, {MixerKind::lsh, "lsh"}, {MixerKind::tokenwise, "tokenwise"}};
  return names;
}

template <> std::span<const Name<ValueMap>> names_of() {
  static constexpr Name<ValueMap> names[] = {{ValueMap::free, "free"}, {ValueMap::identity, "identity"}};
  return names;
}

template <> std::span<const Name<QueryKey>> names_of() {
  static constexpr Name<QueryKey> names[] = {{QueryKey::free, "free"}, {QueryKey::tied, "tied"}};
  return names;
}

template <> std::span<const Name<RelativeScheme>> names_of() {
  static constexpr Name<RelativeScheme> names[] = {{RelativeScheme::none, "none"},
                                                   {RelativeScheme::rotary, "rotary"},
                                                   {RelativeScheme::alibi, "alibi"},
                                                   {RelativeScheme::learned, "learned"},
                                                   {RelativeScheme::t5, "t5"}};
  return names;
}

template <> std::span<const Name<ProjectionKind>> names_of() {
  static constexpr Name<ProjectionKind> names[] = {
      {ProjectionKind::trained, "trained"}, {ProjectionKind::tied, "tied"}, {ProjectionKind::generic, "generic"}};
  return names;
}

template <> std::span<const Name<FeedforwardKind>> names_of() {
  static constexpr Name<FeedforwardKind> names[] = {{FeedforwardKind::mlp, "mlp"},
                                                    {FeedforwardKind::glu, "glu"},
                                                    {FeedforwardKind::moe, "moe"},
                                                    {FeedforwardKind::affine, "affine"},
                                                    {FeedforwardKind::none, "none"}};
  return names;
}

template <> std::span<const Name<NormKind>> names_of() {
  static constexpr Name<NormKind> names[] = {
      {NormKind::none, "none"}, {NormKind::layernorm, "layernorm"}, {NormKind::rmsnorm, "rmsnorm"}};
  return names;
}

template <> std::span<const Name<NormPlace>> names_of() {
  static constexpr Name<NormPlace> names[] = {{NormPlace::pre, "pre"},
                                              {NormPlace::post, "post"},
                                              {NormPlace::sandwich, "sandwich"},
                                              {NormPlace::after, "after"}};
  return names;
}

template <> std::span<const Name<Optimiser>> names_of() {
  static constexpr Name<Optimiser> names[] = {{Optimiser::adamw, "adamw"}, {Optimiser::adam, "adam"}, {Optimiser::sgd, "sgd"}};
  return names;
}

template <> std::span<const Name<Schedule>> names_of() {
  static constexpr Name<Schedule> names[] = {{Schedule::cosine, "cosine"}, {Schedule::constant, "constant"}};
  return names;
}

template <> std::span<const Name<Precision>> names_of() {
  static constexpr Name<Precision> names[] = {{Precision::float32, "float32"}, {Precision::float64, "float64"}};
  return names;
}

template <> std::span<const Name<PatternKind>> names_of() {
  static constexpr Name<PatternKind> names[] = {
      {PatternKind::full, "full"}, {PatternKind::self, "self"}, {PatternKind::window, "window"},
      {PatternKind::ring, "ring"}, {PatternKind::blocks, "blocks"}, {PatternKind::shifted_blocks, "shifted_blocks"},
      {PatternKind::strided, "strided"}, {PatternKind::fixed, "fixed"}, {PatternKind::grid, "grid"},
      {PatternKind::star, "star"}, {PatternKind::bigbird, "bigbird"}, {PatternKind::random, "random"},
      {PatternKind::butterfly, "butterfly"}, {PatternKind::circulant, "circulant"}, {PatternKind::graph, "graph"},
      {PatternKind::rows, "rows"}, {PatternKind::matrix, "matrix"}, {PatternKind::file, "file"},
      {PatternKind::union_of, "union"}, {PatternKind::intersection_of, "intersection"}, {PatternKind::minus, "minus"},
      {PatternKind::per_head, "per_head"}};
  return names;
}

bool uses_key(MixerKind kind, std::string_view key) {
  if (key == "rank" || key == "projections")
    return kind == MixerKind::linformer;
  if (key == "activation")
    return kind == MixerKind::bias;
  if (key == "top_k")
    return kind == MixerKind::attention || kind == MixerKind::linformer;
  if (key == "relative")
    return kind == MixerKind::attention;
  if (key == "sink" || key == "eps")  // there is a denominator
    return kind == MixerKind::attention || kind == MixerKind::linformer || kind == MixerKind::mean || kind == MixerKind::lsh;
  return key != "taps" || kind == MixerKind::convolution;
}

bool uses_key(FeedforwardKind kind, std::string_view key) {
  if (kind == FeedforwardKind::none && key != "kind")
    return false;
  return (key != "experts" && key != "top_k" && key != "expert") || kind == FeedforwardKind::moe;
}

}  // namespace sightline::architecture

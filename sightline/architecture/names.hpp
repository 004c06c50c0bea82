// The words of the file format for every enum: read and written from the same lists.
#pragma once

#include <span>
#include <string_view>

#include "sightline/architecture/architecture.hpp"

namespace sightline::architecture {

template <class E> struct Name {
  E value;
  std::string_view text;
};

/// All names of an enum, the default first.
template <class E> std::span<const Name<E>> names_of();

template <> std::span<const Name<Depth>> names_of();
template <> std::span<const Name<TargetClass>> names_of();
template <> std::span<const Name<Positions>> names_of();
template <> std::span<const Name<Embedding>> names_of();
template <> std::span<const Name<Domain>> names_of();
template <> std::span<const Name<Head>> names_of();
template <> std::span<const Name<Arrangement>> names_of();
template <> std::span<const Name<MixerKind>> names_of();
template <> std::span<const Name<ValueMap>> names_of();
template <> std::span<const Name<QueryKey>> names_of();
template <> std::span<const Name<RelativeScheme>> names_of();
template <> std::span<const Name<ProjectionKind>> names_of();  ///< without `blocks`, which is a table
template <> std::span<const Name<FeedforwardKind>> names_of();
template <> std::span<const Name<NormKind>> names_of();
template <> std::span<const Name<NormPlace>> names_of();
template <> std::span<const Name<Optimiser>> names_of();
template <> std::span<const Name<Schedule>> names_of();
template <> std::span<const Name<Precision>> names_of();
template <> std::span<const Name<layout::PatternKind>> names_of();

/// The word for a value; "" for one that has none.
template <class E> std::string_view name_of(E value) {
  for (const Name<E>& name : names_of<E>())
    if (name.value == value)
      return name.text;
  return "";
}

/// Is this a key that a mixer (feedforward) of this kind uses? False only for keys that belong to other kinds: rank and
/// projections (linformer), activation (bias), taps (convolution), relative (attention), top_k, sink, eps (where there are scores, or a mean);
/// experts, top_k and expert (moe); all of a feedforward of kind "none".
[[nodiscard]] bool uses_key(MixerKind kind, std::string_view key);
[[nodiscard]] bool uses_key(FeedforwardKind kind, std::string_view key);

}  // namespace sightline::architecture

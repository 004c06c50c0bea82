// Orbits that the caller knows, or is about to, for questions about who sees whom.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "sightline/layout/layout.hpp"

namespace sightline::sight {

/// While one lives, questions asked on its thread about this layout may look at one column of each orbit where every column would have to be
/// followed. The answers are the same. They nest; the innermost that knows the layout is used.
class KnownOrbits {
public:
  /// Least token of each token's orbit under permutations that, with some permutation of registers, keep the pattern of every layer; valid while the
  /// object lives.
  using Find = std::function<const std::vector<layout::Vertex>&()>;
  /// @param find  called when the orbits are first wanted; what it throws ends the question
  KnownOrbits(layout::Layout layout, Find find);
  ~KnownOrbits();
  KnownOrbits(const KnownOrbits&) = delete;
  KnownOrbits& operator=(const KnownOrbits&) = delete;

  /// nullptr where nobody knows them, or where they are more than this share of the tokens.
  [[nodiscard]] static const std::vector<layout::Vertex>* find_few(const layout::Layout& layout, double most_share);

private:
  layout::Layout layout_;
  Find find_;
  bool is_asking_ = false;  ///< find_ itself may ask who sees whom
  std::optional<layout::Vertex> count_;
  KnownOrbits* outer_;
};

}  // namespace sightline::sight

// Inside of reach: layouts whose layers all have one pattern, by distances from and to a few vertices.
#pragma once

#include <memory>

#include "read_layers.hpp"

namespace checker {

/// dist(i, j) <= dist(i, c) + dist(c, j): vertices c in the middle and at the rim, whose distances are gone through, say of nearly all others what
/// their greatest distance is at most. Vertices that see each other in the end, a part, see the same in the end, and are seen by the same: c speaks for
/// its part. Nobody is believed: parts and distances are found here.
class Centre {
public:
  /// @param layer  the one pattern of all layers. Null where there are many arcs, or many parts of which some see others.
  static std::unique_ptr<Centre> make(const Layout& layout, const SharedLayer& layer);
  ~Centre();

  /// Kinds all and seen. Nothing where too many vertices have to be looked at.
  [[nodiscard]] std::optional<Reach> layers(const ReachQuestion& question);
  [[nodiscard]] std::optional<Unseen> unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth);
  /// Is this a question that distances answer?
  [[nodiscard]] static bool takes(const ReachQuestion& question) {
    return question.kind != ClassKind::causal && !question.ordinary_only && question.sets == nullptr && question.weight == nullptr;
  }

private:
  struct Graph;
  explicit Centre(std::unique_ptr<Graph> graph);
  std::unique_ptr<Graph> graph_;
};

}  // namespace checker

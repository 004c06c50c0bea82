// Inside of reach: layouts that are the same so many tokens further on, as far as that leads to tokens (theory 16.98, 16.101).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bit_reach.hpp"
#include "planes.hpp"
#include "threshold.hpp"

namespace checker {

class Shifts {
public:
  /// Null where nothing is the same further on.
  [[nodiscard]] static std::unique_ptr<Shifts> find(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers);
  /// Does it answer such questions at all?
  [[nodiscard]] static bool takes(const Layout& layout, const ReachQuestion& question) {
    return question.sets == nullptr && question.weight == nullptr && layout.registers == 0 && layout.tokens > 1 && !layout.order.empty();
  }
  /// Nothing where that takes too long; `soon`: where it is not known after a few layers.
  [[nodiscard]] std::optional<Reach> layers(const ReachQuestion& question, const SharedLayers& shared, bool soon) const;
  [[nodiscard]] std::optional<Unseen> unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth, const SharedLayers& shared, bool soon) const;

  /// Rows of `by_` tokens, where all is the same a column further on as well; or null.
  [[nodiscard]] const Plane* plane() const { return plane_.get(); }

private:
  class Walk;
  static constexpr Threshold<std::uint64_t> few_layers{64, 1, "shifted layers"};
  /// Readers i read i - start, i - start - step, .. (`below`), or so many above themselves: `count` in all.
  struct Steps {
    Vertex start, step, count;
    bool below;
  };

  explicit Shifts(const Layout& layout) : layout_(layout) {}
  /// Those that say all, where `by_` is more than 1.
  [[nodiscard]] std::vector<Vertex> first_columns(const ReachQuestion& question) const;

  const Layout& layout_;
  Vertex by_ = 0;
  bool looks_up_ = false;
  bool has_free_order_ = true;              ///< the steps of a path can be put in an order that stays on the line
  mutable bool needs_both_signs_ = false;   ///< they cannot, and steps of one sign do not reach as much, as some question found
  mutable bool takes_long_ = false;  ///< through the columns of several tokens, as some question found
  std::unique_ptr<Plane> plane_;
  std::map<std::uint32_t, std::vector<Steps>> steps_;  ///< by layer, where `by_` is 1
};

}  // namespace checker

// Who sees whom, how many layers that takes, and which outputs no depth tells apart (theory 1.9, 2.4, 2.5, 7.6, 10).
// Reach is computed again here on runs; isomorphisms of views are confirmed from evidence, never searched.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "group.hpp"
#include "json.hpp"
#include "layout.hpp"
#include "structure.hpp"

namespace checker {

struct Grid;

enum class ClassKind { all, causal, seen };

/// Least number of layers, or never; with a pair (reader, unseen) missed one layer earlier (or for ever).
struct Reach {
  std::optional<std::uint64_t> layers;
  std::optional<std::pair<Vertex, Vertex>> missed;
};

/// Outputs a and b agree in every network of the depth: tau maps what a sees to what b sees.
struct Collision {
  Vertex a = 0, b = 0;
  std::vector<std::pair<Vertex, Vertex>> tau;  ///< all tokens seen by a, sorted
};

/// Which isomorphisms are harmless: those in G (target), for outputs that depend on the tokens of the class.
struct ViewQuestion {
  const Layout* layout = nullptr;         ///< may differ from the architecture's layout (blind layers emptied, colours by overlap)
  const ConfirmedGroup* layout_group = nullptr;  ///< of that layout
  const Group* target = nullptr;          ///< nullptr: the layout's own group
  ClassKind kind = ClassKind::all;
  bool frequencies = true;                ///< registers that start equal: rows count frequencies (normalised), else multisets
};

struct Needed {
  std::optional<std::uint64_t> layers;
  bool never = false;
  std::uint64_t low = 0, high = 0;        ///< bounds when neither is known; high = 0: none
  std::uint64_t start = 0;                ///< layers until all that is wanted is in view (when it ever is)
  std::optional<std::pair<Vertex, Vertex>> missed;
  std::optional<Collision> below;         ///< confirmed collision one layer earlier, or at every depth when never
};

/// @param evidence the certificate's evidence for this layout's views (docs/certificate.md, "views")
class Sight {
public:
  /// @param group  automorphisms of the layout, when they are confirmed already: reach is then followed once per orbit
  Sight(const Layout& layout, const Json& evidence, const ConfirmedGroup* group = nullptr);
  Sight(const Sight&) = delete;
  Sight& operator=(const Sight&) = delete;
  ~Sight();
  /// The grid of the layout, or that there is none, where that was found out before.
  void keep_grid(std::optional<Grid> grid);
  [[nodiscard]] std::optional<std::uint64_t> connected() const;
  [[nodiscard]] ClassKind class_kind() const;
  /// Run-length [value, repeat] of n minus the number of tokens each token sees at the depth (none: ever).
  [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> unseen(std::optional<std::uint64_t> depth, const std::vector<Vertex>& tokens_of_places = {}) const;
  [[nodiscard]] Reach wanted_reach(const ViewQuestion& question, bool ordinary_only) const;
  /// Pairs (token, wanted token) out of view at the depth (none: for ever), and the first of them.
  [[nodiscard]] std::pair<std::uint64_t, std::optional<std::pair<Vertex, Vertex>>> unseen_pairs(const ViewQuestion& question, std::optional<std::uint64_t> depth,
                                                                                              bool ordinary_only) const;
  [[nodiscard]] Needed needed(const ViewQuestion& question) const;
  /// The collision the evidence gives at this depth, confirmed; nothing when the evidence shows there is none.
  [[nodiscard]] std::optional<Collision> collision(const ViewQuestion& question, std::uint64_t depth) const;
  /// G*_m with class all (depth none: the limit); nothing when (R) fails at that depth.
  [[nodiscard]] std::optional<ConfirmedGroup> expressed(const ViewQuestion& question, std::optional<std::uint64_t> depth) const;

private:
  [[nodiscard]] std::optional<ConfirmedGroup> confirm_expressed(const ViewQuestion& question, std::optional<std::uint64_t> depth) const;

  struct State;
  State* state_;
};

}  // namespace checker

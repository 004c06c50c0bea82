// The answer by enumeration, straight from theory.md 1.9 and 2.4-2.5: labels of a general-position input under all
// permutations of the tokens. Nothing here knows views, refinement or closed forms.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "small_model.hpp"

namespace property {

using Images = std::vector<int>;
using Mark = std::uint64_t;

/// What a layer shows of a row, as a fingerprint: equal rows have equal ones, different rows differ but for chance 2^-60. The
/// weight of an arc is the product of a factor for its matrix colour and one for its relative colour, each a fixed random
/// element of the field of 2^61 - 1 elements; a normalised row is the shares of its states in the total weight.
class LabelRule {
 public:
  explicit LabelRule(const SmallModel& model) : model_(model), order_(model.unroll()) {}
  /// Labels after layer q (1-based, the list repeated) from those before it.
  [[nodiscard]] std::vector<Mark> advance(const std::vector<Mark>& before, std::size_t q) const;
  [[nodiscard]] Mark row(const SmallLayer& layer, const Arcs& arcs, int i, const std::vector<Mark>& state) const;
  /// Label of vertex v before the first layer; `value` is what token v holds.
  [[nodiscard]] Mark start(int v, int value) const;
  [[nodiscard]] std::size_t period() const { return order_.size(); }
  [[nodiscard]] const SmallLayer& layer(std::size_t q) const { return *order_[(q - 1) % order_.size()]; }

 private:
  const SmallModel& model_;
  std::vector<const SmallLayer*> order_;
};

[[nodiscard]] std::vector<Images> all_permutations(int n);
[[nodiscard]] std::set<Images> close_group(int n, const std::vector<Images>& generators);

/// Permutations of the tokens that extend to the registers and keep every coloured row (format.md, `layout`).
[[nodiscard]] std::set<Images> enumerate_layout_group(const SmallModel& model);
[[nodiscard]] std::set<Images> enumerate_target_group(const SmallModel& model, const std::set<Images>& layout_group);

/// sees[m][i][j]: token i sees vertex j after m layers, until the list shows nothing new for a whole period.
using Sees = std::vector<std::vector<std::vector<bool>>>;
[[nodiscard]] Sees enumerate_views(const SmallModel& model);
/// base[a][j]: outputs of the class may depend on token j at token a.
[[nodiscard]] std::vector<std::vector<bool>> enumerate_base(const SmallModel& model, sightline::architecture::TargetClass kind, const Sees& sees);

/// s_a(X) = s_{tau a}(tau X).
struct Match {
  int a;
  std::size_t tau;  ///< index into `permutations`
};

struct Enumeration {
  std::vector<Images> permutations;
  std::set<Images> layout_group, target_group;
  Sees sees;
  std::vector<std::vector<Match>> matches;  ///< by depth, up to the depth after which labels are stable for good
  sightline::architecture::TargetClass kind = sightline::architecture::TargetClass::all;

  [[nodiscard]] const std::vector<Match>& matches_at(std::size_t m) const { return matches[std::min(m, matches.size() - 1)]; }
  [[nodiscard]] const std::vector<std::vector<bool>>& sees_at(std::size_t m) const { return sees[std::min(m, sees.size() - 1)]; }
};
[[nodiscard]] Enumeration enumerate(const SmallModel& model);

/// Definition 4, least m.
[[nodiscard]] std::optional<std::size_t> compute_connected(const Enumeration& e, const SmallModel& model);
/// Least m at which equal labels imply equal targets of the class.
[[nodiscard]] std::optional<std::size_t> compute_needed(const Enumeration& e, const SmallModel& model, sightline::architecture::TargetClass kind);
/// Order of G*_m.
[[nodiscard]] std::size_t compute_smallest_order(const Enumeration& e, const SmallModel& model, std::size_t m);

}  // namespace property

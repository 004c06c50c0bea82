// Inside of views.hpp: all isomorphisms of the views of a grid whose rows are products, from the two factors (docs/theory.md 16.26). Not for other rooms.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/sight/product_line.hpp"

namespace sightline::sight {

/// Token (r, c) reads A(r) x B(c) in every layer, A(r) and B(c) intervals around r and c whose ends do not fall (windows and blocks on grids, shifted
/// or not). Isomorphisms of views are then products of maps of the two factors, or exchange these.
class ProductViews {
public:
  /// Nothing where rows are not such products, are coloured, or not all of them come into sight within the depth. O(tokens + runs).
  [[nodiscard]] static std::optional<ProductViews> make(const Layout& layout, std::uint64_t depth, const Budget& budget);

  /// Two tokens that nothing found here keeps apart in the view of the root, and that have different numbers.
  struct Suspect {
    Vertex root = 0, x = 0, y = 0;
  };
  struct Answer {
    /// Every isomorphism of the views is an automorphism of the layout, times a permutation within equal numbers. False may mean: not found out.
    bool explained = false;
    std::vector<Suspect> suspects;  ///< where these are all that is missing: one or two for each kind of view
  };
  /// @param roots  one per orbit of the layout's group   @param number  equal within classes
  /// O(roots + tokens * different kinds of views), and each factor's views.
  [[nodiscard]] Answer explain(const std::vector<Vertex>& roots, const std::vector<Vertex>& number);

private:
  using Cells = std::pair<const ProductLine::Cuts*, const ProductLine::Cuts*>;

  ProductViews(const Budget& budget, Vertex width) : budget_(budget), width_(width) {}
  [[nodiscard]] Answer explain_paths(const std::vector<Vertex>& roots, const std::vector<Vertex>& number);
  [[nodiscard]] bool explains_symmetries(const ProductLine::View& row, const ProductLine::View& column) const;
  void find_mixed(const Cells& cells, Vertex root, const std::vector<Vertex>& number, std::vector<Suspect>& found) const;

  const Budget& budget_;
  Vertex width_;
  bool exchangeable_ = false;        ///< both factors are the same: (x, y) -> (y, x) preserves the layout
  std::vector<ProductLine> lines_;   ///< down, across
  std::vector<ProductName> names_;   ///< in the order in which they are tried
};

/// ProductViews for layouts of 4,096 tokens and more: smaller ones are compared view by view as quickly. For groups that hold the layout's own.
[[nodiscard]] ProductViews::Answer explain_products(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                                                    const Budget& budget);

}  // namespace sightline::sight

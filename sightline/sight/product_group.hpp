// The layout's group on grids of products, from the two factors (docs/theory.md 16.35).
#pragma once

#include <optional>

#include "sightline/base/budget.hpp"
#include "sightline/symmetry/automorphism.hpp"

namespace sightline::sight {

struct ProductGroup {
  group::Group group;
  symmetry::SearchRecord record;  ///< tight: all that a certificate needs
};

/// Token (r, c) reads A(r) x B(c) in every layer. The automorphisms of both factors, and the exchange of factors that are isomorphic, generate a group of
/// automorphisms; numbers of walks, which are products as well, show that there are no others. Nothing where rows are no such products or these numbers
/// leave something open. O(tokens * vertices of the path * layers + runs), and the groups of the factors.
[[nodiscard]] std::optional<ProductGroup> find_product_group(const layout::Layout& layout, const Budget& budget);

struct GridFactors;
/// The same where rows and columns are read as wholes, by layers of their own: every permutation of rows and of columns is an automorphism, and there are no
/// others (docs/theory.md 16.54). Or where rows are read as wholes and columns in part, each in the same way, that leaves the identity or the reflection of their places; or the other
/// way round (16.111). Rows of one colour. @param layers  one layer for each relation. O(moves of the generators: four for each token).
[[nodiscard]] std::optional<ProductGroup> find_line_group(const layout::Layout& layout, const GridFactors& grid, const std::vector<std::uint32_t>& layers, const Budget& budget);

/// symmetry::compute_layout_group, where names or a theorem show it without a search (find_named_group), and from the factors where there are some: for
/// layouts of 4,096 tokens and more.
[[nodiscard]] group::Group compute_layout_group(const layout::Layout& layout, const Budget& budget, symmetry::SearchRecord* record);

}  // namespace sightline::sight

// Inside of closed_forms.hpp: groups that are known by their names, each with one pattern E whose automorphisms they
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sightline/design/candidate.hpp"

namespace sightline::design {

/// A group on n points by its name, small cases under one name each: C_n from 3, D_n from 4, S_n from 2, trivial
/// from 1.
struct Named {
  enum class Kind { trivial, cyclic, dihedral, symmetric, torus, grid, hypercube, wreath };
  Kind kind = Kind::trivial;
  std::uint64_t a = 1; ///< points; sides of a torus or grid; dimension of a cube; points of a block of a wreath product
  std::uint64_t b = 1; ///< the other side; blocks
  Kind inside = Kind::trivial, outside = Kind::trivial; ///< of a wreath product: trivial, cyclic, dihedral or symmetric
  [[nodiscard]] std::uint64_t points() const;
  [[nodiscard]] bool is_transitive() const;
};

/// C_n, D_n, S_n, B_k, cyclic(n), dihedral(n), symmetric(n), trivial(n), torus(a,b), grid(a,b), hypercube(k)
/// and wreath products of two of the first eight, in any number of brackets. Nothing for other texts, for numbers above
/// 10^8 and for more than 2^24 points. O(length).
[[nodiscard]] std::optional<Named> read_name(const std::string& text);
/// The text that read_name reads back.
[[nodiscard]] std::string write_name(const Named& named);

/// Pattern E (every token reads itself) with exactly the automorphisms of the group, the cheapest known.
/// Rings, paths, lattices; a wreath product has E of the inside in every block and E of the outside between blocks, all
/// tokens of one with all of the other. Nothing where none is known: lattices with a side of 2 to 4 points on a ring.
[[nodiscard]] std::optional<LayerPlan> make_known_pattern(const Named& named);
/// E in words.
[[nodiscard]] std::string describe_known_pattern(const Named& named);

[[nodiscard]] layout::PatternSpec make_kind_spec(layout::PatternKind kind);
/// Steps of -before*dilation .. after*dilation.
[[nodiscard]] layout::PatternSpec make_window_spec(std::int64_t before, std::int64_t after, bool wrap,
                                                   std::int64_t dilation = 1);
[[nodiscard]] layout::PatternSpec combine_specs(layout::PatternKind kind, std::vector<layout::PatternSpec> of);

} // namespace sightline::design

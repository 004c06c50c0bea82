// Facts about whole relations that the closed forms for ids ask for (theory.md 15.5, 15.8).
#pragma once

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::verdict {

struct RowFacts {
  bool nonempty = true;         ///< every token reads something
  bool loops = true;            ///< every token reads itself
  bool causal = true;           ///< no token reads a later one
  bool full = true;             ///< every token reads exactly all tokens
  bool full_causal = true;      ///< token i reads exactly 0..i
  bool bos_in_every_row = true; ///< every token reads token 0
  bool names_offsets = true;    ///< the relative colour (without any the matrix colour) says by how much the token read lies ahead, one way for all rows
  bool registers = false;       ///< some token reads a register
};

/// One pass over the rows of the tokens. O(runs), plus the arcs of rows with T5 buckets or matrix colours while these name offsets.
[[nodiscard]] RowFacts compute_row_facts(const layout::Relation& relation, layout::Vertex tokens, const Budget& budget);

}  // namespace sightline::verdict

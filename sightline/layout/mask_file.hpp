// Masks from files. Every reader checks what a file promises against what the file holds before it allocates, and says in
// one line what is wrong and where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern.hpp"

namespace sightline::layout {

/// The only exception the readers throw; `line` is 0 for binary files.
class MaskError : public std::exception {
public:
  MaskError(std::size_t line, std::string expected, std::string found)
      : line(line), expected(std::move(expected)), found(std::move(found)) {}
  std::size_t line;
  std::string expected, found;
};

/// A NumPy array (.npy, format versions 1 to 3) of vertices x vertices (extents of 1 before these are left out), C or Fortran order, either byte order:
/// - bool: true = attends.
/// - integers of 1, 2, 4, 8 bytes: 0 = absent, else the colour, at most 2^32 - 1; negative values are an error.
/// - floats of 2, 4, 8 bytes: when every value is 0 or <= -1e4 (or -inf), an additive mask: 0 attends, the rest does not
///   (an array of zeros therefore masks nothing). Any other negative number is an error, and so is NaN. Whole numbers up to
///   2^32 - 1 are colours, as integers are; with a fraction among them nonzero = attends, uncoloured.
[[nodiscard]] Pattern read_npy(std::string_view bytes, Vertex vertices, const Budget& budget);

/// The only array of a .npz archive, or the one named "mask"; or a sparse matrix as scipy.sparse.save_npz writes it (csr, csc, bsr, coo, dia): what is stored
/// is as in read_npy, but for masks that are added to scores, and zeros that are stored are absent. An entry that is there twice is an error.
[[nodiscard]] Pattern read_npz(std::string_view bytes, Vertex vertices, const Budget& budget);

/// MatrixMarket "matrix coordinate", pattern, integer or real, general or symmetric; 1-based, row = reader. Integer values
/// are colours, real values count as nonzero; explicit zeros are absent.
[[nodiscard]] Pattern read_matrix_market(std::string_view text, Vertex vertices, const Budget& budget);

/// Lines "u v", 0-based: u reads v. # starts a comment; blank lines are skipped; a repeated line is an error.
[[nodiscard]] Pattern read_edge_list(std::string_view text, Vertex vertices, const Budget& budget);

/// Text from a file, fit for one line of an error message: short, and without control characters.
[[nodiscard]] std::string quote(std::string_view text);

}  // namespace sightline::layout

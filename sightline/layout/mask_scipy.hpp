// Sparse matrices of SciPy in .npz archives (mask_file.hpp reads them as masks).
#pragma once

#include <optional>

#include "sightline/base/npy.hpp"
#include "sightline/layout/mask_file.hpp"

namespace sightline::layout {

/// Are there the arrays that scipy.sparse.save_npz writes for every format?
[[nodiscard]] bool is_scipy_matrix(const NpzArchive& archive);
/// How many rows such a matrix has; nothing where it has more than two dimensions. Throws MaskError, and what NpzArchive::unpack throws.
/// The budget outlives the archive, which gives back to it.
[[nodiscard]] std::optional<std::uint64_t> find_scipy_size(NpzArchive& archive, const Budget& budget);
std::optional<std::uint64_t> find_scipy_size(NpzArchive& archive, Budget&& budget) = delete;
/// The mask of such a matrix: csr, csc, bsr, coo or dia. O(entries), and a sort of what is not in order.
/// Throws MaskError, and what NpzArchive::unpack throws.
[[nodiscard]] Pattern read_scipy_matrix(NpzArchive& archive, Vertex vertices, const Budget& budget);

}  // namespace sightline::layout

// Large fits to a target that can be asked anywhere: with every sequence come its mirror images, and the system falls into independent parts.
#pragma once

#include "sightline/approximate/approximate.hpp"

namespace sightline::approximate {

/// Which reflections: those of the first `coordinates` coordinates, in all tokens of a sequence at once. images = 2^coordinates.
struct Mirroring {
  std::size_t coordinates = 0, images = 1;
  double widest = 0;  ///< columns of the largest part
};
/// Up to four coordinates: 16 images.
[[nodiscard]] Mirroring plan_mirroring(std::size_t tokens, std::size_t dim, std::size_t degree);

/// The least-squares fit on `sequences` rows and all their mirror images.
///
/// The law of each coordinate is symmetric about its middle, so the images s X of a sample X are samples as good as X. The reflections are an abelian group
/// (Z/2)^q, and every column is even or odd under each of them (the orthogonal polynomials of a symmetric law are even and odd in turn, and products, sums
/// over tokens and the own token keep that): column(s X) = chi_p(s) column(X) with p its parities. So over a sequence and its images columns of different p are
/// orthogonal, and the values split into y_p(X) = mean over s of chi_p(s) y(s X): the fit is the 2^q fits of y_p by the columns of p, on one row per sequence. Their
/// matrices have 4^-q of the entries and the whole work is 4^-q of what one fit on as many rows takes (18,471 columns: 16 fits of at most 2,513).
///
/// The solution is that of all columns: residual and scale over all images, the largest condition number of a part, the most passes.
[[nodiscard]] Solution solve_mirrored(const Basis& basis, const target::Target& target, const Options& options, const Mirroring& mirroring, std::size_t sequences, const Budget& budget,
                                      Checkpoint* checkpoint = nullptr);

}  // namespace sightline::approximate

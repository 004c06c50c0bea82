// Where the rows of a fit come from: sequences, one token of each, and the target's values there.
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/approximate/approximate.hpp"

namespace sightline::approximate {

constexpr std::size_t drawn_together = 16;                     ///< sequences that one random generator makes
constexpr std::size_t chunk = 64;                              ///< rows whose columns are computed at once
constexpr std::uint64_t fit_stream = 1, own_stream = 2;

/// Row after row, the same whenever they are asked for, from several threads.
class Source {
public:
  /// Exactly one of target and samples; both have to live as long as this.
  Source(const target::Target* target, const Samples* samples, const Options& options, std::size_t tokens, std::size_t dim, std::size_t width)
      : target_(target), samples_(samples), options_(options), tokens_(tokens), dim_(dim), width_(width) {}

  /// Rows first .. first+count-1: sequences [count][tokens][dim], the token of each, and its value [count][width] (unless y is null).
  void draw(std::size_t first, std::size_t count, double* x, std::uint32_t* own, double* y) const;

private:
  const target::Target* target_;
  const Samples* samples_;
  Options options_;
  std::size_t tokens_, dim_, width_;
};

/// What write_rows() needs room for; one per thread.
struct RowSpace {
  std::vector<double> token, sums;
  Basis::Workspace work;
};
/// All columns of the basis, or the chosen ones, at rows x and own as from Source::draw (count <= chunk): column k at a + k * leading.
void write_rows(const Basis& basis, std::size_t count, const double* x, const std::uint32_t* own, const std::vector<std::uint32_t>* chosen, double* a, std::size_t leading, RowSpace& space);

/// Rows that one thread makes at once: few enough for 24 MB, enough blocks for folds and lanes, whole sequences.
[[nodiscard]] std::size_t block_rows_for(std::size_t rows, std::size_t columns, std::size_t tokens, bool all_tokens);
constexpr std::size_t folds = 6;  ///< of the cross-validation

/// The laws of the coordinates: those that sequences are drawn from, or of the samples.
[[nodiscard]] std::vector<Recurrence> make_laws(const target::Target* target, const Samples* samples, const Options& options, std::size_t dim, std::size_t degree);

}  // namespace sightline::approximate

// The binary formats: NumPy arrays, alone (.npy) or in an archive (.npz).
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sightline/base/npy.hpp"
#include "sightline/layout/mask_file.hpp"
#include "sightline/layout/mask_scipy.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

namespace {

using Kind = NpyNumbers::Kind;

// Entries of a square array as 64-bit patterns and numbers.
class Entries {
public:
  Entries(const NpyFile& file, Vertex vertices) : numbers_(file), vertices_(vertices), fortran_(file.fortran) {}
  [[nodiscard]] const NpyNumbers& numbers() const { return numbers_; }
  [[nodiscard]] Kind kind() const { return numbers_.kind(); }
  [[nodiscard]] std::uint64_t bits(Vertex i, Vertex j) const { return numbers_.bits(index(i, j)); }
  [[nodiscard]] double number(Vertex i, Vertex j) const { return numbers_.number(index(i, j)); }

private:
  [[nodiscard]] std::size_t index(Vertex i, Vertex j) const {
    return fortran_ ? std::size_t{j} * vertices_ + i : std::size_t{i} * vertices_ + j;
  }
  NpyNumbers numbers_;
  Vertex vertices_;
  bool fortran_;
};

// What an array of floats means.
enum class Floats { additive, colours, weights };

// Masks that are added to scores come with many values for "not read": 0 and -100 is Swin's, 0 and -1 somebody's. Between 0 and what
// nobody can read any more there is no line to draw, and to take such a mask for weights would turn it round.
Floats detect_meaning(const Entries& entries, Vertex vertices, const Budget& budget) {
  constexpr double masked = -1e4;
  bool additive = true, whole = true;
  std::optional<std::pair<Vertex, Vertex>> negative, between;  // the first of each, for the message
  for (Vertex i = 0; i < vertices; ++i) {
    budget.poll();
    for (Vertex j = 0; j < vertices; ++j) {
      const double value = entries.number(i, j);
      if (std::isnan(value)) throw MaskError(0, "numbers", fmt::format("NaN in row {}, column {}", i, j));
      additive = additive && (value == 0 || value <= masked);
      whole = whole && value <= UINT32_MAX && value == std::floor(value);
      if (value < 0 && !negative) negative = {i, j};
      if (value < 0 && value > masked && !between) between = {i, j};
    }
  }
  if (additive) return Floats::additive;
  if (negative) {
    const auto [i, j] = between.value_or(*negative);
    throw MaskError(0, "an additive mask (0 attends, -1e4 and below does not, nothing else) or numbers of at least 0",
                    fmt::format("{} in row {}, column {} (write -inf or false for what is not read)", entries.number(i, j), i, j));
  }
  return whole ? Floats::colours : Floats::weights;
}

std::uint32_t read_colour(const Entries& entries, Vertex i, Vertex j, Floats floats) {
  if (entries.kind() == Kind::floating) {
    const double value = entries.number(i, j);
    if (floats == Floats::colours) return static_cast<std::uint32_t>(value);
    return (value == 0) == (floats == Floats::additive) ? 1 : 0;
  }
  const std::uint64_t value = entries.bits(i, j);
  if (entries.kind() == Kind::boolean) return value != 0 ? 1 : 0;
  if (entries.kind() == Kind::signed_integer && value >> (8 * entries.numbers().width() - 1) != 0) {
    throw MaskError(0, "0 or a colour from 1 to 4294967295", fmt::format("a negative number in row {}, column {}", i, j));
  }
  if (value > UINT32_MAX) {
    throw MaskError(0, "0 or a colour from 1 to 4294967295", fmt::format("{} in row {}, column {}", value, i, j));
  }
  return static_cast<std::uint32_t>(value);
}

Pattern read_array(std::string_view bytes, Vertex vertices, const Budget& budget) {
  const NpyFile file = parse_npy(bytes);
  // As models hold it: (1, 1, n, n), one for all of a batch and for all heads.
  std::vector<std::uint64_t> shape = file.shape;
  while (shape.size() > 2 && shape.front() == 1) shape.erase(shape.begin());
  if (shape.size() < 2) throw MaskError(0, "an array of rows and columns", fmt::format("shape ({})", fmt::join(file.shape, ", ")));
  if (shape.size() != 2 || shape[0] != vertices || shape[1] != vertices) {
    const bool of_heads = shape.size() == 3 && shape[1] == shape[2];
    throw MaskError(0, fmt::format("shape ({}, {}) (tokens and registers{})", vertices, vertices, of_heads ? "; heads are patterns of their own: per_head" : ""), fmt::format("({})", fmt::join(file.shape, ", ")));
  }
  const Entries entries(file, vertices);
  entries.numbers().check_size(std::uint64_t{vertices} * vertices);  // vertices <= 2^30
  const Floats floats = entries.kind() == Kind::floating ? detect_meaning(entries, vertices, budget) : Floats::colours;
  PatternBuilder builder(vertices, budget);
  std::vector<Vertex> columns;
  std::vector<std::uint32_t> colours;
  for (Vertex i = 0; i < vertices; ++i) {
    budget.poll();
    columns.clear();
    colours.clear();
    for (Vertex j = 0; j < vertices; ++j) {
      const std::uint32_t colour = read_colour(entries, i, j, floats);
      if (colour == 0) continue;
      columns.push_back(j);
      colours.push_back(colour);
    }
    builder.add_segment(i, builder.add_row_once(columns, colours));
  }
  return builder.build();
}

}  // namespace

Pattern read_npy(std::string_view bytes, Vertex vertices, const Budget& budget) {
  try {
    return read_array(bytes, vertices, budget);
  } catch (const NpyError& error) {
    throw MaskError(0, error.expected, error.found);
  }
}

Pattern read_npz(std::string_view bytes, Vertex vertices, const Budget& budget) {
  try {
    NpzArchive archive(bytes);
    if (is_scipy_matrix(archive)) return read_scipy_matrix(archive, vertices, budget);
    const std::vector<std::string>& names = archive.names();
    const auto named = std::find(names.begin(), names.end(), "mask");
    if (names.size() != 1 && named == names.end()) throw MaskError(0, "one array, one named mask, or a sparse matrix of SciPy (save_npz)", fmt::format("{} others", names.size()));
    const std::uint64_t most = std::uint64_t{vertices} * vertices * 8 + (std::uint64_t{1} << 20);
    const auto index = names.size() == 1 ? 0 : static_cast<std::size_t>(named - names.begin());
    const std::string array = archive.unpack(index, most, budget);
    return read_array(array, vertices, budget);
  } catch (const NpyError& error) {
    if (error.expected.empty()) throw MaskError(0, fmt::format("a mask of {} x {}", vertices, vertices), "a larger array");
    throw MaskError(0, error.expected, error.found);
  }
}

}  // namespace sightline::layout

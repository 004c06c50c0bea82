// Data sets of `train`, `predict` and `evaluate` (interfaces.md 1): .npz, .npy with targets beside it, or CSV.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/data/array.hpp"

namespace sightline::data {

/// What the architecture asks of its data.
struct Expected {
  std::uint64_t tokens = 1;              ///< n
  bool ids = false;                      ///< embedding "table": x is [N, n] ids
  std::uint64_t width = 1;               ///< input.dim: x is [N, n, width] (without ids)
  std::optional<std::uint64_t> ids_below;  ///< with ids: every id is below this (vocabulary, plus one for a BOS); absent: any
  bool pooled = false;                   ///< output.pool is not "none": targets per sample
  std::optional<std::uint64_t> outputs;  ///< output.dim (numbers per token or sample; classes are below it); absent: any
  bool targets = true;                   ///< false: y may be missing (predict)
};

/// Some samples. Everything has been validated and has N as its first extent. What lies beyond a sample's length is neither
/// validated nor kept: x is 0 there, targets are 0 or -100.
struct Part {
  Array x;                           ///< float32 or float64 [N, n, width], or int64 [N, n]
  std::optional<Array> y;            ///< floats [N, n, k] or, pooled, [N, k]; int64 [N, n] (-100: ignored) or, pooled, [N]
  std::vector<std::int64_t> lengths; ///< empty: every sample has n tokens; else N values from 1 to n
  std::vector<double> weights;       ///< empty: all 1; else N finite values >= 0, not all 0

  [[nodiscard]] std::uint64_t size() const { return x.shape.empty() ? 0 : x.shape[0]; }
};

struct Dataset {
  Part train;  ///< x, y: also what `predict` reads
  std::optional<Part> validation, test;
};

/// Reads and validates `file` (.npz, .npy or .csv by its name, else by its content). `targets` is a .npy file with y, for a
/// .npy file only. Numbers keep the type they are stored in, other widths become the next of float32, float64, int64 that holds them; either byte order and
/// Fortran order are read. CSV: a header, then a row per sample: n * width columns of x (n with ids), then y; targets
/// written without point and exponent are classes where that shape is possible (pooled: one column, else n columns).
/// Throws InputError `FILE: ARRAY: expected ..., found ...` (CSV: `FILE:LINE: ...`), BudgetExhausted.
[[nodiscard]] Dataset read_dataset(const std::string& file, const std::optional<std::string>& targets, const Expected& expected,
                                   const Budget& budget);

/// The same from bytes, by format; `file` is used in messages.
[[nodiscard]] Dataset parse_npz(std::string_view bytes, const std::string& file, const Expected& expected, const Budget& budget);
[[nodiscard]] Dataset parse_npy(std::string_view bytes, const std::optional<std::string_view>& targets, const std::string& file,
                                const std::string& targets_file, const Expected& expected, const Budget& budget);
[[nodiscard]] Dataset parse_csv(std::string_view text, const std::string& file, const Expected& expected, const Budget& budget);

/// 0 .. count-1 in the order that the seed gives (Fisher-Yates with std::mt19937_64, the same on every machine).
[[nodiscard]] std::vector<std::uint64_t> permute(std::uint64_t count, std::uint64_t seed);

/// The rows of `part` with these numbers, in this order. O(size of the result).
[[nodiscard]] Part take(const Part& part, const std::vector<std::uint64_t>& rows);

/// Without a validation part: moves the last round(share * N) rows of permute(N, seed) there (at least one, and one stays for
/// training, when N >= 2 and share > 0); the others keep the order of the permutation. With one: nothing.
void split_validation(Dataset& dataset, double share, std::uint64_t seed);

/// One class per entry of y? Then k is the number of classes, 1 + the largest; else numbers per token or sample.
[[nodiscard]] bool has_classes(const Part& part);
[[nodiscard]] std::uint64_t count_outputs(const Dataset& dataset);
/// What keeps ids from beginning with a BOS, one id in front of all samples and nowhere else, as `x: found ..`. Nothing: they do. Which id it is does
/// not matter (the table's rows are alike); one behind the others is as good as 0.
[[nodiscard]] std::optional<std::string> find_missing_bos(const Dataset& dataset);
/// 1 + the largest id in any part.
[[nodiscard]] std::uint64_t count_ids(const Dataset& dataset);

}  // namespace sightline::data

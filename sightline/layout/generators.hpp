// The generators behind make_patterns, one function per kind. Each returns the pattern before `causal` is applied, and
// throws InputError `<where>/<key>: expected ..., found ...`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/layout/pattern_spec.hpp"

namespace sightline::layout {

[[noreturn]] void fail(const PatternSpec& spec, std::string_view key, const std::string& expected, const std::string& found);
/// The value of a required key that is at least `least`.
[[nodiscard]] std::int64_t require(const PatternSpec& spec, std::string_view key, std::optional<std::int64_t> value,
                                   std::int64_t least);
/// One run list for all tokens; registers, if any, read nothing.
[[nodiscard]] Pattern make_uniform(std::span<const AffineRun> runs, const PatternSize& size, const Budget& budget);
/// Ends a pattern of token rows: registers read nothing.
[[nodiscard]] Pattern finish(PatternBuilder& builder, const PatternSize& size);
/// The blocks of 0 .. extent-1 with boundaries at shift + k size, as lists of one interval, or of two for the end pieces
/// that `wrap` joins.
struct Interval {
  std::int64_t lo = 0, hi = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};
[[nodiscard]] std::vector<std::vector<Interval>> make_blocks(std::int64_t extent, std::int64_t size, std::int64_t shift, bool wrap);
/// The runs of { i - before dilation, ..., i + after dilation mod n }, each token once.
[[nodiscard]] std::vector<AffineRun> make_ring_runs(std::int64_t before, std::int64_t after, std::int64_t dilation, std::int64_t n);

[[nodiscard]] Pattern make_full(const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_window(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_block_pattern(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_strided(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_fixed(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_grid(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_star(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] std::vector<Pattern> make_bigbird(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_random(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_butterfly(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_circulant(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_graph(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_listed_rows(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern make_matrix(const PatternSpec& spec, const PatternSize& size, const Budget& budget);
[[nodiscard]] Pattern read_mask_file(const PatternSpec& spec, const PatternSize& size, const Budget& budget);

}  // namespace sightline::layout

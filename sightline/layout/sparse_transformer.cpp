// The strided and fixed patterns of the Sparse Transformer, and other patterns of residue classes.
#include <algorithm>

#include <fmt/format.h>

#include "sightline/layout/generators.hpp"

namespace sightline::layout {

namespace {

enum class Part { merged, local, summary };

Part read_part(const PatternSpec& spec) {
  if (spec.part.empty() || spec.part == "merged") return Part::merged;
  if (spec.part == "local") return Part::local;
  if (spec.part == "summary") return Part::summary;
  fail(spec, "part", "merged, local or summary", "\"" + spec.part + "\"");
}

bool is_code_variant(const PatternSpec& spec) {
  if (spec.variant.empty() || spec.variant == "paper") return false;
  if (spec.variant == "code") return true;
  fail(spec, "variant", "paper or code", "\"" + spec.variant + "\"");
}

}  // namespace

Pattern make_strided(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t n = size.tokens;
  // From n on, no two tokens are a stride apart and every local part is everything.
  const std::int64_t stride = std::min(require(spec, "stride", spec.stride, 1), n);
  const std::int64_t local = is_code_variant(spec) ? stride - 1 : stride;
  const Part part = read_part(spec);
  const std::int64_t far = (n / stride + 1) * stride;
  const auto step = static_cast<Vertex>(stride);
  std::vector<AffineRun> runs;
  if (part == Part::local) {
    runs = {make_moving_run(-local, local, n)};
  } else if (part == Part::summary) {
    runs = {make_moving_run(-far, far, n, step)};
  } else {
    const std::int64_t beyond = (local / stride + 1) * stride;
    runs = {make_moving_run(-far, -beyond, n, step), make_moving_run(-local, local, n), make_moving_run(beyond, far, n, step)};
  }
  return make_uniform(runs, size, budget);
}

Pattern make_fixed(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t n = size.tokens;
  const std::int64_t stride = require(spec, "stride", spec.stride, 1);
  const Part part = read_part(spec);
  (void)is_code_variant(spec);
  PatternBuilder builder(size.tokens + size.registers, budget);
  const std::int64_t columns = part == Part::local ? 0 : require(spec, "summary", spec.summary, 1);
  if (columns > stride) fail(spec, "summary", fmt::format("at most the stride {}", stride), fmt::format("{}", columns));
  const std::int64_t own = stride - columns;  // tokens of a block in front of its summary
  SharedRuns shared;
  if (columns > 0) {
    std::vector<AffineRun> runs;
    if (columns <= n / stride) {
      for (std::int64_t j = own; j < stride && j < n; ++j) {
        AffineRun run = make_constant_run(j, n - 1);
        run.step = static_cast<Vertex>(stride);
        runs.push_back(run);
      }
    } else {
      for (std::int64_t j = own; j < n; j += stride) runs.push_back(make_constant_run(j, std::min(j + columns, n) - 1));
    }
    shared = builder.add_shared(runs);
  }
  if (part == Part::summary) {
    const std::uint32_t outside = builder.add_list(std::vector{make_moving_run(0, 0, n)}, shared);
    const std::uint32_t inside = builder.add_list({}, shared);
    for (std::int64_t begin = 0; begin < n; begin += stride) {
      if (own > 0) builder.add_segment(static_cast<Vertex>(begin), outside);
      if (begin + own < n) builder.add_segment(static_cast<Vertex>(begin + own), inside);
    }
  } else if (own == 0) {
    builder.add_segment(0, builder.add_list({}, shared));
  } else {
    for (std::int64_t begin = 0; begin < n; begin += stride) {
      const AffineRun run = make_constant_run(begin, std::min(begin + own, n) - 1);
      builder.add_segment(static_cast<Vertex>(begin), builder.add_list(std::span(&run, 1), shared));
    }
  }
  return finish(builder, size);
}

Pattern make_star(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  if (size.registers != 1) fail(spec, "", "exactly one register for a star", fmt::format("{}", size.registers));
  const std::int64_t n = size.tokens;
  PatternBuilder builder(size.tokens + 1, budget);
  std::vector<AffineRun> runs = make_ring_runs(1, 1, 1, n);
  runs.push_back(make_constant_run(n, n));
  builder.add_segment(0, builder.add_list(runs));
  builder.add_segment(size.tokens, builder.add_list(std::vector{make_constant_run(0, n)}));
  return builder.build();
}

Pattern make_butterfly(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t n = size.tokens, distance = require(spec, "distance", spec.distance, 1);
  const auto is_power = [](std::int64_t x) { return (x & (x - 1)) == 0; };
  if (!is_power(distance)) fail(spec, "distance", "a power of two", fmt::format("{}", distance));
  if (!is_power(n)) fail(spec, "", "a number of tokens that is a power of two", fmt::format("{}", n));
  if (distance >= n) fail(spec, "distance", fmt::format("less than the {} tokens", n), fmt::format("{}", distance));
  PatternBuilder builder(size.tokens + size.registers, budget);
  const auto step = static_cast<Vertex>(distance);
  const std::uint32_t right = builder.add_list(std::vector{make_moving_run(0, distance, n, step)});
  const std::uint32_t left = builder.add_list(std::vector{make_moving_run(-distance, 0, n, step)});
  for (std::int64_t begin = 0; begin < n; begin += 2 * distance) {
    builder.add_segment(static_cast<Vertex>(begin), right);
    builder.add_segment(static_cast<Vertex>(begin + distance), left);
  }
  return finish(builder, size);
}

Pattern make_circulant(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t n = size.tokens;
  std::vector<Vertex> residues;
  for (const std::int64_t offset : spec.offsets) residues.push_back(static_cast<Vertex>((offset % n + n) % n));
  std::sort(residues.begin(), residues.end());
  residues.erase(std::unique(residues.begin(), residues.end()), residues.end());
  std::vector<AffineRun> cyclic, runs;
  append_runs(residues, {}, cyclic);
  for (const AffineRun& run : cyclic) {
    for (const std::int64_t lap : {-n, std::int64_t{0}}) {
      runs.push_back(make_moving_run(run.lo_base + lap, run.hi_base + lap, n, run.step));
    }
  }
  return make_uniform(runs, size, budget);
}

}  // namespace sightline::layout

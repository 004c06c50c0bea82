#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sightline/layout/generators.hpp"
#include "sightline/layout/run_algebra.hpp"

namespace sightline::layout {

Pattern finish(PatternBuilder& builder, const PatternSize& size) {
  if (size.registers > 0) builder.add_segment(size.tokens, builder.add_list({}));
  return builder.build();
}

Pattern make_uniform(std::span<const AffineRun> runs, const PatternSize& size, const Budget& budget) {
  PatternBuilder builder(size.tokens + size.registers, budget);
  builder.add_segment(0, builder.add_list(runs));
  return finish(builder, size);
}

Pattern make_full(const PatternSize& size, const Budget& budget) {
  const Vertex vertices = size.tokens + size.registers;
  PatternBuilder builder(vertices, budget);
  builder.add_segment(0, builder.add_list(std::vector{make_constant_run(0, std::int64_t{vertices} - 1)}));
  return builder.build();
}

std::vector<AffineRun> make_ring_runs(std::int64_t before, std::int64_t after, std::int64_t dilation, std::int64_t n) {
  const std::int64_t step = dilation % n;
  if (step == 0) return {make_moving_run(0, 0, n)};
  const std::int64_t common = std::gcd(step, n), cycle = n / common;
  // Once round the cycle of i + k step, the window holds the whole residue class.
  if (before >= cycle || after >= cycle || before + after + 1 >= cycle) {
    if (common == 1) return {make_constant_run(0, n - 1)};
    return {make_moving_run(-n, n, n, static_cast<Vertex>(common))};
  }
  std::vector<AffineRun> runs;
  for (std::int64_t lap = -(after * step / n) - 1; lap <= before * step / n + 1; ++lap) {
    runs.push_back(make_moving_run(lap * n - before * step, lap * n + after * step, n, static_cast<Vertex>(step)));
  }
  return runs;
}

Pattern make_window(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t n = size.tokens;
  if (!spec.radius && !spec.before && !spec.after) {
    fail(spec, spec.kind == PatternKind::ring ? "radius" : "", "radius, before or after", "none of them");
  }
  if (spec.radius && (spec.before || spec.after)) fail(spec, "radius", "either radius or before and after", "both");
  std::int64_t before = spec.radius.value_or(spec.before.value_or(0)), after = spec.radius.value_or(spec.after.value_or(0));
  if (before < 0) fail(spec, spec.radius ? "radius" : "before", "an integer >= 0", fmt::format("{}", before));
  if (after < 0) fail(spec, "after", "an integer >= 0", fmt::format("{}", after));
  if (spec.dilation < 1) fail(spec, "dilation", "an integer >= 1", fmt::format("{}", spec.dilation));
  const bool wrap = spec.wrap.value_or(spec.kind == PatternKind::ring);
  std::vector<AffineRun> runs;
  if (wrap) {
    runs = make_ring_runs(std::min(before, n), std::min(after, n), spec.dilation, n);
  } else {
    const std::int64_t reach = (n - 1) / spec.dilation;  // steps that can stay inside 0 .. n-1
    before = std::min(before, reach);
    after = std::min(after, reach);
    const std::int64_t step = reach == 0 ? 1 : spec.dilation;
    runs.push_back(make_moving_run(-before * step, after * step, n, before + after == 0 ? 1 : static_cast<Vertex>(step)));
  }
  if (spec.global.empty()) return make_uniform(runs, size, budget);

  std::vector<Vertex> globals;
  for (const std::int64_t g : spec.global) {
    if (g < 0 || g >= n) fail(spec, "global", fmt::format("tokens from 0 to {}", n - 1), fmt::format("{}", g));
    globals.push_back(static_cast<Vertex>(g));
  }
  std::sort(globals.begin(), globals.end());
  globals.erase(std::unique(globals.begin(), globals.end()), globals.end());
  std::vector<AffineRun> columns;
  append_runs(globals, {}, columns);
  // The global columns are one shared stretch; the window keeps what is left beside them.
  const Pattern window = make_uniform(runs, {size.tokens, 0, 1}, budget);
  std::vector<AffineRun> cuts = columns;
  if (spec.dilation > 1) {
    // A residue class that moves past another one has to be written out reader by reader; past single columns it has not.
    cuts.clear();
    for (const Vertex g : globals) cuts.push_back(make_constant_run(g, g));
  }
  const Pattern rest = combine(SetOperation::subtract, window, make_uniform(cuts, {size.tokens, 0, 1}, budget), budget);
  PatternBuilder builder(size.tokens + size.registers, budget);
  const SharedRuns shared = builder.add_shared(columns);
  const std::uint32_t full = builder.add_list(std::vector{make_constant_run(0, n - 1)});
  std::vector<std::uint32_t> lists;
  for (const Pattern::RunList& list : rest.lists()) {
    lists.push_back(builder.add_list(std::span(rest.affine_runs()).subspan(list.runs_begin, list.runs_count), shared));
  }
  std::size_t next = 0;
  for (std::size_t s = 0; s < rest.segments().size(); ++s) {
    Vertex begin = rest.segments()[s].begin;
    const Vertex end = s + 1 < rest.segments().size() ? rest.segments()[s + 1].begin : size.tokens;
    while (begin < end) {
      if (next < globals.size() && globals[next] == begin) {
        builder.add_segment(begin, full);
        ++next;
        ++begin;
      } else {
        builder.add_segment(begin, lists[rest.segments()[s].list]);
        begin = next < globals.size() ? std::min(end, globals[next]) : end;
      }
    }
  }
  budget.give_back(rest.memory_bytes());
  return finish(builder, size);
}

std::vector<std::vector<Interval>> make_blocks(std::int64_t extent, std::int64_t size, std::int64_t shift, bool wrap) {
  std::vector<std::vector<Interval>> blocks;
  const std::int64_t first = (shift % size + size) % size;
  for (std::int64_t begin = 0; begin < extent;) {
    const std::int64_t length = begin == 0 && first > 0 ? first : size;
    const std::int64_t end = length < extent - begin ? begin + length : extent;
    blocks.push_back({{begin, end - 1}});
    begin = end;
  }
  // Without a boundary at 0 the cyclic order joins the two end pieces.
  if (wrap && first > 0 && blocks.size() > 1) {
    const Interval head = blocks.front().front(), tail = blocks.back().front();
    if (blocks.size() == 2) {
      blocks.assign(1, {{head.lo, tail.hi}});
    } else {
      blocks.front() = {head, tail};
      blocks.back() = {head, tail};
    }
  }
  return blocks;
}

Pattern make_block_pattern(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  const std::int64_t length = require(spec, "size", spec.size, 1);
  const bool shifted = spec.kind == PatternKind::shifted_blocks;
  if (shifted && !spec.shift) fail(spec, "shift", "an integer", "nothing");
  PatternBuilder builder(size.tokens + size.registers, budget);
  if (length == 1) {
    builder.add_segment(0, builder.add_list(std::vector{make_moving_run(0, 0, size.tokens)}));
    return finish(builder, size);
  }
  std::int64_t begin = 0;
  std::vector<AffineRun> runs;
  const auto blocks = make_blocks(size.tokens, length, shifted ? *spec.shift : 0, shifted && spec.wrap.value_or(true));
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    runs.clear();
    for (const Interval& piece : blocks[k]) runs.push_back(make_constant_run(piece.lo, piece.hi));
    builder.add_segment(static_cast<Vertex>(begin), builder.add_list(runs));
    // The first of two joined end pieces ends where it does, not where the last one does.
    begin = k == 0 ? blocks[k].front().hi + 1 : blocks[k].back().hi + 1;
  }
  return finish(builder, size);
}

}  // namespace sightline::layout

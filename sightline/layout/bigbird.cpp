// BigBird: the block pattern of the paper, and what the two published programs really compute.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sightline/layout/generators.hpp"
#include "sightline/layout/sampling.hpp"

namespace sightline::layout {

namespace {

using Blocks = std::vector<std::uint32_t>;      // block numbers, repeats allowed
using Table = std::vector<Blocks>;              // random blocks of block rows 1 .. B-2 (index = block row - 1)

constexpr std::int64_t table_tokens = 4096, table_focus = 1024;

struct Shape {
  std::int64_t tokens = 0, block = 0, count = 0, random = 0;
};

// A row of the shipped code takes exactly `random` blocks; a draw of one block fills all places (array broadcasting), and
// any other number is an error there.
void assign(const PatternSpec& spec, const Blocks& drawn, std::int64_t random, Blocks& row) {
  if (std::ssize(drawn) == random) {
    row.insert(row.end(), drawn.begin(), drawn.end());
  } else if (drawn.size() == 1) {
    row.insert(row.end(), static_cast<std::size_t>(random), drawn.front());
  } else {
    fail(spec, "random", fmt::format("at most the {} blocks that the shipped code may choose from in every row", drawn.size()),
         fmt::format("{}", random));
  }
}

// The table that both programs build for 4096 tokens, for the block rows 1 .. 4096/b - 2 of one head.
Table draw_paper_table(const PatternSpec& spec, const Shape& shape, std::int64_t table_blocks, LegacyGenerator& generator) {
  const std::int64_t middle = table_blocks - 2;  // middle[k] = k + 1
  std::int64_t last = table_blocks - 1;
  if (table_focus > 2 * shape.block) last = table_focus / shape.block - 1;
  const auto slice = [&](std::int64_t from, std::int64_t to, Blocks& out) {
    // Python slices: a negative end counts from the back, too large an end stops at the back.
    if (to < 0) to = std::max<std::int64_t>(0, to + middle);
    for (std::int64_t k = from; k < std::min(to, middle); ++k) out.push_back(static_cast<std::uint32_t>(k + 1));
  };
  Table table;
  for (std::int64_t i = 1; i < table_blocks - 1; ++i) {
    Blocks candidates;
    const std::int64_t start = i - 2, end = i;
    if (i == 1) {
      slice(2, last, candidates);
    } else if (i == 2) {
      slice(3, last, candidates);
    } else if (i == table_blocks - 3 || i == table_blocks - 2) {
      slice(0, last, candidates);
    } else if (start > last) {
      slice(0, last, candidates);
    } else if (end + 1 == last) {
      slice(0, start, candidates);
    } else {
      slice(0, start, candidates);
      slice(end + 1, last, candidates);
    }
    Blocks drawn = generator.permute(candidates);
    drawn.resize(std::min(drawn.size(), static_cast<std::size_t>(shape.random)));
    table.emplace_back();
    assign(spec, drawn, shape.random, table.back());
  }
  return table;
}

// One choice of the general plan for block row `row` among the blocks begin .. end-1.
Blocks draw_row(std::int64_t row, std::int64_t begin, std::int64_t end, std::int64_t random, LegacyGenerator& generator) {
  Blocks range, chosen;
  for (std::int64_t block = begin; block < end; ++block) range.push_back(static_cast<std::uint32_t>(block));
  for (const std::uint32_t block : generator.permute(range)) {
    const auto b = static_cast<std::int64_t>(block);
    const bool illegal = (b >= row - 1 && b <= row + 1) || b == 0 || b == end - 1 || (row == 1 && b == end - 2) ||
                         (row == end - 2 && b == 1);
    if (!illegal) chosen.push_back(block);
    if (std::ssize(chosen) == random) break;
  }
  return chosen;
}

// The plan for other lengths: two stretches of blocks (or one), each drawn from by all rows. Rows outside, heads inside.
std::vector<Table> draw_planned_tables(const PatternSpec& spec, const Shape& shape, std::size_t heads, LegacyGenerator& generator) {
  const std::int64_t r = shape.random, count = shape.count;
  struct Stretch {
    std::int64_t end, random;
  };
  std::vector<Stretch> plan;
  if (2 * r + 5 < count) {
    plan = {{2 * r + 5, r}, {count, 0}};
  } else if (r + 5 < count) {
    plan = {{r + 5, r / 2}, {count, r - r / 2}};
  } else {
    plan = {{count, r}};
  }
  std::vector<Table> tables(heads, Table(static_cast<std::size_t>(count)));
  const auto draw = [&](std::int64_t first_row, std::int64_t last_row, std::size_t from) {
    const std::int64_t begin = from == 0 ? 0 : plan[from - 1].end;
    for (std::int64_t row = first_row; row < last_row; ++row) {
      for (Table& table : tables) {
        assign(spec, draw_row(row, begin, plan[from].end, plan[from].random, generator), plan[from].random,
               table[static_cast<std::size_t>(row)]);
      }
    }
  };
  for (std::size_t stage = 0; stage < plan.size(); ++stage) {
    if (stage > 0) {
      if (plan[stage].random > 0) draw(1, plan[stage - 1].end, stage);
      for (std::size_t earlier = 0; earlier < stage; ++earlier) {
        if (plan[earlier].random > 0) draw(plan[stage - 1].end, plan[stage].end, earlier);
      }
    }
    if (plan[stage].random > 0) draw(stage == 0 ? 1 : plan[stage - 1].end, plan[stage].end, stage);
  }
  for (Table& table : tables) {
    table.erase(table.begin());
    table.pop_back();
  }
  return tables;
}

// A block row as runs: a block listed k times has colour k.
std::vector<AffineRun> write_row(Blocks blocks, const Shape& shape) {
  if (!std::is_sorted(blocks.begin(), blocks.end())) std::sort(blocks.begin(), blocks.end());
  std::vector<AffineRun> runs;
  runs.reserve(blocks.size());
  for (std::size_t k = 0, end = 0; k < blocks.size(); k = end) {
    while (end < blocks.size() && blocks[end] == blocks[k]) ++end;
    const auto colour = static_cast<std::uint32_t>(end - k);
    const std::int64_t first = blocks[k] * shape.block, last = std::min(first + shape.block, shape.tokens) - 1;
    if (!runs.empty() && runs.back().hi_base + 1 == first && runs.back().colour == colour) {
      runs.back().hi_base = last;
      runs.back().limit = last + 1;
    } else {
      runs.push_back(make_constant_run(first, last, colour));
    }
  }
  return runs;
}

// Block rows 0 and B-1 read everything once; `middle(k)` lists the blocks of row k.
template <typename Middle>
Pattern write_pattern(const Shape& shape, const PatternSize& size, const Budget& budget, Middle middle) {
  PatternBuilder builder(size.tokens + size.registers, budget);
  for (std::int64_t k = 0; k < shape.count; ++k) {
    const auto runs = k == 0 || k == shape.count - 1 ? std::vector{make_constant_run(0, shape.tokens - 1)}
                                                     : write_row(middle(k), shape);
    builder.add_segment(static_cast<Vertex>(k * shape.block), builder.add_list(runs));
  }
  return finish(builder, size);
}

Blocks shipped_blocks(std::int64_t k, const Shape& shape, const Blocks& random) {
  std::vector<std::int64_t> blocks;
  const std::int64_t last = shape.count - 1;
  if (k == 1) {
    blocks = {0, 1, 2, last};
  } else if (k == last - 1) {
    blocks = {0, last - 2, last - 1, last};
  } else {
    blocks = {0, last, k - 1, k, k + 1};
  }
  Blocks out(blocks.begin(), blocks.end());
  out.insert(out.end(), random.begin(), random.end());
  return out;
}

std::vector<Pattern> make_shipped(const PatternSpec& spec, const PatternSize& size, const Shape& shape, bool is_original,
                                  const Budget& budget) {
  std::vector<Pattern> patterns;
  if (spec.globals.value_or(2) != 2) {
    fail(spec, "globals", "2 (the shipped code reads the first and the last block)", fmt::format("{}", *spec.globals));
  }
  const bool trains = spec.mode.empty() || spec.mode == "train";
  if (!trains && spec.mode != "eval") fail(spec, "mode", "train or eval", "\"" + spec.mode + "\"");
  if (!is_original && shape.tokens <= (5 + 2 * shape.random) * shape.block) {
    patterns.push_back(make_uniform(std::vector{make_constant_run(0, shape.tokens - 1)}, size, budget));
    return patterns;
  }
  if (is_original && shape.tokens % shape.block != 0) {
    fail(spec, "block", fmt::format("a divisor of the {} tokens", shape.tokens), fmt::format("{}", shape.block));
  }
  if (shape.count < 4) fail(spec, "block", "at least 4 blocks", fmt::format("{}", shape.count));
  if (!is_original && !trains) {
    // The library fills the random places with block 0.
    const Blocks zeros(static_cast<std::size_t>(shape.random), 0u);
    patterns.push_back(write_pattern(shape, size, budget, [&](std::int64_t k) { return shipped_blocks(k, shape, zeros); }));
    return patterns;
  }
  if (spec.seed > UINT32_MAX) fail(spec, "seed", "at most 4294967295 (one word of the legacy generator)", fmt::format("{}", spec.seed));
  LegacyGenerator generator(static_cast<std::uint32_t>(spec.seed));
  const std::size_t heads = std::max<std::size_t>(size.heads, 1);
  const std::int64_t length = shape.count * shape.block;  // the library pads to whole blocks first
  const std::array<std::int64_t, 4> planned{1024, 3072, 4096, 2048};
  const bool has_table = std::find(planned.begin(), planned.end() - (is_original ? 0 : 1), length) != planned.end() - (is_original ? 0 : 1);
  std::vector<Table> tables;
  if (has_table) {
    for (std::size_t h = 0; h < heads; ++h) tables.push_back(draw_paper_table(spec, shape, table_tokens / shape.block, generator));
  } else {
    tables = draw_planned_tables(spec, shape, heads, generator);
  }
  for (const Table& table : tables) {
    for (std::int64_t k = 1; k < shape.count - 1; ++k) {
      for (const std::uint32_t block : table[static_cast<std::size_t>(k - 1)]) {
        if (block >= shape.count) {
          fail(spec, "block", "a table whose blocks exist at this length",
               fmt::format("block {} of {} in block row {}", block, shape.count, k));
        }
      }
    }
    patterns.push_back(write_pattern(shape, size, budget, [&](std::int64_t k) {
      return shipped_blocks(k, shape, table[static_cast<std::size_t>(k - 1)]);
    }));
  }
  return patterns;
}

Pattern make_paper(const PatternSpec& spec, const PatternSize& size, const Shape& shape, const Budget& budget) {
  const std::int64_t globals = spec.globals.value_or(2), count = shape.count;
  if (globals < 0) fail(spec, "globals", "an integer >= 0", fmt::format("{}", globals));
  const std::int64_t front = std::min(globals - globals / 2, count), back = std::max(front, count - globals / 2);
  const auto random = static_cast<Vertex>(std::min(shape.random, count - 1));
  std::mt19937_64 engine(spec.seed);
  std::vector<bool> marks(static_cast<std::size_t>(count));
  std::vector<Vertex> blocks;
  PatternBuilder builder(size.tokens + size.registers, budget);
  for (std::int64_t k = 0; k < count; ++k) {
    blocks.clear();
    append_sample(engine, static_cast<Vertex>(count), random, static_cast<Vertex>(k), marks, blocks);
    std::vector<AffineRun> runs;
    if (k < front || k >= back) {
      runs = {make_constant_run(0, shape.tokens - 1)};
    } else {
      for (std::int64_t g = 0; g < front; ++g) blocks.push_back(static_cast<Vertex>(g));
      for (std::int64_t g = back; g < count; ++g) blocks.push_back(static_cast<Vertex>(g));
      for (std::int64_t near = std::max<std::int64_t>(0, k - 1); near <= std::min(count - 1, k + 1); ++near) {
        blocks.push_back(static_cast<Vertex>(near));
      }
      std::sort(blocks.begin(), blocks.end());
      blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
      runs = write_row(blocks, shape);
    }
    builder.add_segment(static_cast<Vertex>(k * shape.block), builder.add_list(runs));
  }
  return finish(builder, size);
}

}  // namespace

std::vector<Pattern> make_bigbird(const PatternSpec& spec, const PatternSize& size, const Budget& budget) {
  Shape shape;
  shape.tokens = size.tokens;
  shape.block = std::min(require(spec, "block", spec.block.value_or(64), 1), shape.tokens);
  shape.random = require(spec, "random", spec.random_blocks.value_or(3), 0);
  shape.count = (shape.tokens + shape.block - 1) / shape.block;
  if (shape.random > shape.tokens) fail(spec, "random", fmt::format("at most {}", shape.tokens), fmt::format("{}", shape.random));
  if (spec.variant.empty() || spec.variant == "paper") {
    std::vector<Pattern> patterns;
    patterns.push_back(make_paper(spec, size, shape, budget));
    return patterns;
  }
  if (spec.variant == "original") return make_shipped(spec, size, shape, true, budget);
  if (spec.variant == "huggingface") return make_shipped(spec, size, shape, false, budget);
  fail(spec, "variant", "paper, original or huggingface", "\"" + spec.variant + "\"");
}

}  // namespace sightline::layout

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "sightline/layout/natural_order.hpp"
#include "sightline/layout/sampling.hpp"

using namespace sightline;
using namespace sightline::layout;

namespace {

/// By token and layer: whom it reads.
using Rows = std::vector<std::vector<std::vector<Vertex>>>;

Layout make_layout(const Rows& layers) {
  const auto n = static_cast<Vertex>(layers.front().size());
  Layout layout{n, 0, std::vector<std::uint64_t>(n, 0), {}, {}, {}};
  for (const auto& rows : layers) {
    layout.order.push_back(static_cast<std::uint32_t>(layout.layers.size()));
    layout.layers.push_back({{static_cast<std::uint32_t>(layout.relations.size())}});
    layout.relations.emplace_back(make_pattern_from_rows(n, rows), Relative{}, Cancels::nothing, n);
  }
  return layout;
}

/// Row i of the result is that of `rows` for token name[i], on these names.
Rows rename(const Rows& layers, const std::vector<Vertex>& name) {
  Rows result;
  for (const auto& rows : layers) {
    auto& named = result.emplace_back(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (const Vertex j : rows[i]) named[name[i]].push_back(name[j]);
    }
  }
  return result;
}

std::vector<Vertex> shuffle(Vertex n, std::uint64_t seed) {
  std::vector<Vertex> name(n);
  std::iota(name.begin(), name.end(), Vertex{0});
  std::mt19937_64 engine(seed);
  std::shuffle(name.begin(), name.end(), engine);
  return name;
}

/// Blocks of `size` tokens, the first one cut to `shift` of them where there is a shift, unless it is one with the last; some read by all.
std::vector<std::vector<Vertex>> make_blocks(Vertex n, Vertex size, Vertex shift, Vertex summary = 0, bool wrap = false) {
  std::vector<std::vector<Vertex>> rows(n);
  const auto block_of = [&](Vertex i) { return (i + (shift == 0 ? 0 : size - shift)) / size % (wrap ? n / size : n); };
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (block_of(i) == block_of(j) || j % size + summary >= size) rows[i].push_back(j);
    }
  }
  return rows;
}

bool summaries_of(const std::string& name) { return name.find("all read") != std::string::npos; }

std::uint64_t count_runs(const Pattern& pattern) {
  std::uint64_t runs = 0;
  for (const auto& list : pattern.lists()) runs += pattern.row(pattern.segments()[static_cast<std::size_t>(&list - pattern.lists().data()) % pattern.segments().size()].begin).size();
  return runs;
}

void require_same(const Layout& layout, const Reordered& reordered) {
  const Vertex n = layout.tokens;
  std::vector<Vertex> sorted = reordered.token;
  std::sort(sorted.begin(), sorted.end());
  for (Vertex k = 0; k < n; ++k) REQUIRE(sorted[k] == k);
  REQUIRE(reordered.layout.relations.size() == layout.relations.size());
  REQUIRE(reordered.layout.order == layout.order);
  REQUIRE(reordered.layout.layers == layout.layers);
  std::mt19937_64 engine(3);
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    const Pattern &before = layout.relations[r].pattern(), &after = reordered.layout.relations[r].pattern();
    REQUIRE(before.arc_count() == after.arc_count());
    for (int draw = 0; draw < 40; ++draw) {
      const auto k = static_cast<Vertex>(draw_below(engine, n));
      for (const Run& run : after.row(k)) {
        for (std::uint64_t j = run.first; j <= run.last; j += run.step) REQUIRE(before.colour(reordered.token[k], reordered.token[j]) == run.colour);
      }
      REQUIRE(before.degree(reordered.token[k]) == after.degree(k));
    }
  }
}

}  // namespace

TEST_CASE("natural order: scattered lists become few runs") {
  constexpr Vertex n = 4096;
  const std::vector<std::pair<std::string, Rows>> cases{{"blocks", {make_blocks(n, 64, 0)}},
                                                        {"shifted blocks in turns", {make_blocks(n, 64, 0), make_blocks(n, 64, 32)}},
                                                        {"shifted blocks that wrap", {make_blocks(n, 64, 0), make_blocks(n, 64, 32, 0, true)}},
                                                        {"blocks with a token each that all read", {make_blocks(n, 64, 0, 1)}}};
  for (const auto& [name, rows] : cases) {
    INFO(name);
    for (const std::uint64_t seed : {1u, 2u}) {
      const Layout layout = make_layout(rename(rows, shuffle(n, seed)));
      const auto reordered = find_natural_order(layout, Budget{});
      REQUIRE(reordered.has_value());
      require_same(layout, *reordered);
      for (const Relation& relation : reordered->layout.relations) CHECK(count_runs(relation.pattern()) <= (summaries_of(name) ? 3 : 1) * relation.pattern().lists().size() + 1);
      CHECK_FALSE(find_natural_order(reordered->layout, Budget{}).has_value());  // it is in order
    }
  }
  CHECK(find_natural_order(make_layout(rename({make_blocks(n, 64, 0, 2)}, shuffle(n, 3))), Budget{}).has_value());
}

TEST_CASE("natural order: where every row holds the next shorter one, those that most read come first") {
  for (const Vertex n : {256u, 1000u, 5000u}) {
    CAPTURE(n);
    for (const bool with_itself : {false, true}) {
      // Along an order of the tokens, in blocks of unequal lengths too; the second relation has half as long rows.
      std::vector<std::vector<Vertex>> causal(n), blocks(n), half(n);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < i + (with_itself ? 1 : 0); ++j) causal[i].push_back(j);
        for (Vertex j = 0; j < std::min(n, i - i % 7 + 7); ++j) blocks[i].push_back(j);
        for (Vertex j = 0; j < i / 2 + 1; ++j) half[i].push_back(j);
      }
      for (const Rows& rows : {Rows{causal}, Rows{blocks}, Rows{causal, half}}) {
        const Layout layout = make_layout(rename(rows, shuffle(n, n)));
        const auto reordered = find_natural_order(layout, Budget{});
        REQUIRE(reordered.has_value());
        require_same(layout, *reordered);
        for (const Relation& relation : reordered->layout.relations) {
          for (Vertex i = 0; i < n; ++i) REQUIRE(relation.pattern().row(i).size() <= 1);
        }
        CHECK_FALSE(find_natural_order(reordered->layout, Budget{}).has_value());  // it is in order
      }
    }
  }
  // Rows that hold one another, but for a hole of their own: few runs, none of which is a beginning.
  constexpr Vertex n = 600;
  std::vector<std::vector<Vertex>> holed(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j <= i; ++j) {
      if (j != i / 2) holed[i].push_back(j);
    }
  }
  const Layout layout = make_layout(rename({holed}, shuffle(n, 5)));
  const auto reordered = find_natural_order(layout, Budget{});
  REQUIRE(reordered.has_value());
  require_same(layout, *reordered);
  CHECK(reordered->layout.relations.front().pattern().row(n - 1).size() <= 3);
}

TEST_CASE("natural order: colours go along, one layer that leads one way too") {
  constexpr Vertex n = 4096, size = 128;
  const std::vector<Vertex> name = shuffle(n, 7);
  std::vector<std::vector<Vertex>> rows(n);
  std::vector<std::vector<std::uint32_t>> colours(n);
  for (Vertex i = 0; i < n; ++i) {
    const Vertex next = (i / size + 1) % (n / size);
    for (Vertex j = next * size; j < (next + 1) * size; ++j) {
      rows[name[i]].push_back(name[j]);
      colours[name[i]].push_back(1 + j % 2);
    }
  }
  Layout layout{n, 0, std::vector<std::uint64_t>(n, 0), {}, {{{0}}}, {0}};
  layout.relations.emplace_back(make_pattern_from_rows(n, rows, colours), Relative{}, Cancels::nothing, n);
  const auto reordered = find_natural_order(layout, Budget{});
  REQUIRE(reordered.has_value());
  require_same(layout, *reordered);
}

TEST_CASE("natural order: windows, dilated ones and circles are gone along, rows that lead one way by their depth") {
  constexpr Vertex n = 4096, radius = 12;
  const auto make_windows = [&](Vertex dilation, bool wrap, bool causal, Vertex globals) {
    std::vector<std::vector<Vertex>> rows(n);
    for (Vertex i = 0; i < n; ++i) {
      std::vector<bool> read(n, i % 1000 < globals);
      for (std::int64_t k = -std::int64_t{radius}; k <= (causal ? 0 : std::int64_t{radius}); ++k) {
        const std::int64_t j = std::int64_t{i} + k * dilation;
        if (wrap || (j >= 0 && j < n)) read[static_cast<std::size_t>((j + n) % n)] = true;
      }
      for (Vertex j = 0; j < n; ++j) {
        if (read[j] || j % 1000 < globals) rows[i].push_back(j);
      }
    }
    return rows;
  };
  // Each row is nearly as much like those a stride away as like its neighbours', and a little like all.
  const auto make_strided = [&](Vertex stride) {
    std::vector<std::vector<Vertex>> rows(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (i % stride == j % stride || (i < j ? j - i : i - j) <= stride) rows[i].push_back(j);
      }
    }
    return rows;
  };
  struct Case {
    std::string name;
    Rows rows;
    std::uint64_t most_runs;  ///< of a row, but for a few
  };
  const std::vector<Case> cases{{"strided both ways", {make_strided(64)}, 3},
                                {"strided and window in turns", {make_strided(32), make_windows(1, false, false, 0)}, 3},
                                {"window", {make_windows(1, false, false, 0)}, 1},
                                {"dilated window", {make_windows(3, false, false, 0)}, 1},
                                {"circle", {make_windows(1, true, false, 0)}, 1},
                                {"window with tokens that all read and that read all", {make_windows(1, false, false, 1)}, 3},
                                {"window and a dilated one in turns", {make_windows(1, false, false, 0), make_windows(2, false, false, 0)}, 2},
                                {"causal window", {make_windows(1, false, true, 0)}, 1}};
  for (const Case& c : cases) {
    INFO(c.name);
    for (const std::uint64_t seed : {1u, 2u}) {
      const Layout layout = make_layout(rename(c.rows, shuffle(n, seed)));
      const auto reordered = find_natural_order(layout, Budget{});
      REQUIRE(reordered.has_value());
      require_same(layout, *reordered);
      for (const Relation& relation : reordered->layout.relations) {
        std::size_t more = 0;
        for (Vertex k = 0; k < n; ++k) more += relation.pattern().row(k).size() > c.most_runs ? 1 : 0;
        CHECK(more <= 8 * radius);
      }
    }
  }
}

TEST_CASE("natural order: windows on a grid are gone through line by line, whatever order its tokens have") {
  struct Case {
    std::string name;
    Vertex height, width;
    std::vector<std::pair<Vertex, Vertex>> radii;  ///< a layer each
    bool cross = false;                            ///< along lines and columns only, themselves left out
    Vertex globals = 0;
  };
  const std::vector<Case> cases{{"3 x 3", 64, 64, {{1, 1}}},  {"7 x 7 on a long grid", 40, 103, {{3, 3}}}, {"of two sizes in turns", 64, 65, {{1, 1}, {3, 3}}}, {"wider than high", 60, 70, {{1, 4}}},
                                {"higher than wide", 60, 70, {{3, 2}}}, {"crosses", 64, 64, {{2, 2}}, true}, {"neighbours", 50, 90, {{1, 1}}, true}, {"with tokens that all read and that read all", 64, 64, {{2, 2}}, false, 2}};
  for (const Case& c : cases) {
    INFO(c.name);
    const Vertex grid = c.height * c.width, n = grid + c.globals;
    Rows layers;
    for (const auto& [up, side] : c.radii) {
      auto& rows = layers.emplace_back(n);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < n; ++j) {
          const auto apart = [&](Vertex a, Vertex b) { return std::max(a, b) - std::min(a, b); };
          const Vertex x = apart(i / c.width, j / c.width), y = apart(i % c.width, j % c.width);
          if (i >= grid || j >= grid || (x <= up && y <= side && (!c.cross || (x == 0) != (y == 0)))) rows[i].push_back(j);
        }
      }
    }
    CHECK_FALSE(find_natural_order(make_layout(layers), Budget{}).has_value());  // in order
    std::vector<std::vector<Vertex>> names{shuffle(n, 1), shuffle(n, 2)};
    if (c.height == 64 && n == 64 * 64) {  // squares of 2 x 2, of 4 x 4, .. one after the other
      auto& name = names.emplace_back(n);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex bit = 0; bit < 6; ++bit) name[i] |= (i % 64 >> bit & 1) << 2 * bit | (i / 64 >> bit & 1) << (2 * bit + 1);
      }
    }
    for (const std::vector<Vertex>& name : names) {
      const Layout layout = make_layout(rename(layers, name));
      const auto reordered = find_natural_order(layout, Budget{});
      REQUIRE(reordered.has_value());
      require_same(layout, *reordered);
      for (std::size_t r = 0; r < layers.size(); ++r) {
        const Vertex most = 2 * std::max(c.radii[r].first, c.radii[r].second) + (c.cross ? 2 : 1) + c.globals;
        for (Vertex k = 0; k < grid; ++k) REQUIRE(reordered->layout.relations[r].pattern().row(k).size() <= most);
      }
    }
  }
}

TEST_CASE("natural order: blocks of a grid and shifted ones are gone through line by line, whatever sides the cells have") {
  struct Case {
    Vertex height, width, side, shift;
  };
  for (const Case& c : {Case{64, 65, 7, 3}, Case{72, 60, 8, 4}, Case{70, 64, 6, 1}}) {
    const Vertex n = c.height * c.width;
    const auto make_blocks_of = [&](Vertex ahead) {
      std::vector<std::vector<Vertex>> rows(n);
      const auto block_of = [&](Vertex i) { return std::pair{(i / c.width + ahead) / c.side, (i % c.width + ahead) / c.side}; };
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < n; ++j) {
          if (block_of(i) == block_of(j)) rows[i].push_back(j);
        }
      }
      return rows;
    };
    const Rows rows{make_blocks_of(0), make_blocks_of(c.shift)};
    // Tokens one block after the other have few runs as they are, and are put in lines as well.
    std::vector<Vertex> by_blocks(n), name(n);
    std::iota(by_blocks.begin(), by_blocks.end(), Vertex{0});
    std::stable_sort(by_blocks.begin(), by_blocks.end(), [&](Vertex a, Vertex b) { return rows[0][a].front() < rows[0][b].front(); });
    for (Vertex k = 0; k < n; ++k) name[by_blocks[k]] = k;
    for (const auto& names : {shuffle(n, 3), name}) {
      const Layout layout = make_layout(rename(rows, names));
      const auto reordered = find_natural_order(layout, Budget{});
      REQUIRE(reordered.has_value());
      require_same(layout, *reordered);
      // A block is a run on each of its lines, of lines that are equally far apart.
      for (const Relation& relation : reordered->layout.relations) {
        for (const Vertex k : {Vertex{0}, n / 3, n / 2, n - 1}) {
          const std::vector<Run> row = relation.pattern().row(k);
          Vertex size = 0;
          for (const Run& run : row) size += run.size();
          CHECK(row.size() <= 2 * c.side);
          for (std::size_t at = 2; at < row.size(); ++at) CHECK(row[at].first - row[at - 1].first == row[1].first - row[0].first);
          CHECK(size <= c.side * c.side);
        }
      }
    }
    CHECK_FALSE(find_natural_order(make_layout(rows), Budget{}).has_value());
  }
}

TEST_CASE("natural order: a butterfly's tokens are numbered by bits") {
  constexpr Vertex n = 4096;
  Rows rows;
  for (Vertex bit = 1; bit < n; bit *= 2) {
    auto& layer = rows.emplace_back(n);
    for (Vertex i = 0; i < n; ++i) layer[i] = {std::min(i, i ^ bit), std::max(i, i ^ bit)};
  }
  const Layout layout = make_layout(rename(rows, shuffle(n, 4)));
  const auto reordered = find_natural_order(layout, Budget{});
  REQUIRE(reordered.has_value());
  require_same(layout, *reordered);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Pattern& pattern = reordered->layout.relations[r].pattern();
    for (Vertex k = 0; k < n; ++k) {
      REQUIRE(pattern.reads(k, k ^ Vertex{1} << r));
      REQUIRE(pattern.reads(k, k));
    }
    if (r > 0) CHECK(pattern.lists().size() == 2);  // neighbours share one run, which stays where it is
  }
  // One pair exchanged with another is no butterfly, and comes to no harm.
  auto& last = rows.back();
  std::swap(last[0][1], last[1][1]);
  std::swap(last[n / 2][0], last[n / 2 + 1][0]);
  const Layout other = make_layout(rename(rows, shuffle(n, 4)));
  if (const auto found = find_natural_order(other, Budget{})) require_same(other, *found);
}

TEST_CASE("natural order: what is in order, may have an order that counts, or gains nothing, stays as it is") {
  constexpr Vertex n = 4096;
  const std::vector<Vertex> name = shuffle(n, 4);
  CHECK_FALSE(find_natural_order(make_layout({make_blocks(n, 64, 0), make_blocks(n, 64, 32)}), Budget{}).has_value());
  CHECK_FALSE(find_natural_order(make_layout(rename({make_blocks(2048, 64, 0)}, shuffle(2048, 1))), Budget{}).has_value());  // few tokens
  std::vector<std::vector<Vertex>> down(n);
  std::mt19937_64 engine(9);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < i / 64 * 64; j += 2 + j % 3) down[i].push_back(j);  // scattered rows that go down
  }
  CHECK_FALSE(find_natural_order(make_layout({down}), Budget{}).has_value());
  std::vector<std::vector<Vertex>> sparse(n);  // a random graph: no row is much like another
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex k = 0; k < 8; ++k) sparse[i].push_back(static_cast<Vertex>(draw_below(engine, n)));
    std::sort(sparse[i].begin(), sparse[i].end());
    sparse[i].erase(std::unique(sparse[i].begin(), sparse[i].end()), sparse[i].end());
  }
  CHECK_FALSE(find_natural_order(make_layout({sparse}), Budget{}).has_value());
  Layout with_register = make_layout(rename({make_blocks(n, 64, 0)}, name));
  CHECK(find_natural_order(with_register, Budget{}).has_value());
  with_register.tokens = n - 1;
  with_register.registers = 1;
  CHECK_FALSE(find_natural_order(with_register, Budget{}).has_value());
  Layout relative = make_layout(rename({make_blocks(n, 64, 0)}, name));
  relative.relations.front() = Relation(relative.relations.front().pattern(), {RelativeKind::offset}, Cancels::nothing, n);
  CHECK_FALSE(find_natural_order(relative, Budget{}).has_value());
}

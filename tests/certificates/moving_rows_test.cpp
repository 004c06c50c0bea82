// Rows that move along with their readers, looked at a stretch at a time: the same as the same rows listed one by one (docs/theory.md 16.66).
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "checker/grid.hpp"
#include "checker/views.hpp"
#include "sight_convert.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/pattern_evidence.hpp"
#include "sightline/layout/moving_rows.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/rooted.hpp"
#include "tests/unlimited.hpp"

using namespace sightline;
using layout::Pattern;
using layout::Vertex;

namespace {

using Rows = std::vector<std::vector<Vertex>>;

/// Token (r, c) reads A(r) x (c + S), S by stretch of columns; sometimes one stretch on one row of the grid does something else.
struct Drawn {
  Vertex height = 0, width = 0;
  std::vector<std::pair<Vertex, Vertex>> stretches;  ///< first reader and the one behind the last
  Rows rows;
};

Drawn draw_rows(std::mt19937& random, Vertex height, Vertex width) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  Drawn drawn{height, width, {}, Rows(std::size_t{height} * width)};
  std::vector<Vertex> cuts{0};
  while (cuts.back() < width) cuts.push_back(std::min(width, cuts.back() + 1 + draw(width)));
  std::vector<std::vector<std::int64_t>> offsets;
  for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
    offsets.emplace_back();
    for (std::int64_t s = -std::int64_t{cuts[k]}; s <= std::int64_t{width} - cuts[k + 1]; ++s) {
      if (s == 0 || draw(3) == 0) offsets.back().push_back(s);
    }
  }
  const Vertex bit = 1u << draw(3), kind = draw(4);
  const Vertex odd_row = draw(3) == 0 ? draw(height) : height, odd_stretch = draw(static_cast<std::uint32_t>(cuts.size()) - 1);
  for (Vertex r = 0; r < height; ++r) {
    std::vector<Vertex> down{r};
    if (kind < 2 && (r ^ bit) < height) down.push_back(r ^ bit);
    if (kind == 1 && r + 1 < height) down.push_back(r + 1);
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      drawn.stretches.emplace_back(r * width + cuts[k], r * width + cuts[k + 1]);
      for (Vertex c = cuts[k]; c < cuts[k + 1]; ++c) {
        std::vector<Vertex>& row = drawn.rows[r * width + c];
        for (const Vertex a : down) {
          for (const std::int64_t s : offsets[k]) row.push_back(static_cast<Vertex>(a * width + c + s));
        }
        if (r == odd_row && k == odd_stretch) row.push_back((r + 1) % height * width + c);
        if (r == odd_row && k == odd_stretch && draw(2) == 0 && row.size() > 2) row.erase(row.begin());
        std::sort(row.begin(), row.end());
        row.erase(std::unique(row.begin(), row.end()), row.end());
      }
    }
  }
  return drawn;
}

/// Moving runs for the stretches whose rows do move along, rows one by one for the others.
Pattern move(const Drawn& drawn) {
  const auto n = static_cast<Vertex>(drawn.rows.size());
  std::vector<Pattern::Segment> segments;
  std::vector<Pattern::RunList> lists;
  std::vector<layout::AffineRun> runs;
  const auto add = [&](Vertex reader, bool moves) {
    Pattern::RunList list;
    list.runs_begin = static_cast<std::uint32_t>(runs.size());
    layout::split_into_runs(drawn.rows[reader], [&](Vertex first, Vertex last, Vertex step) {
      layout::AffineRun run;
      run.lo_moves = run.hi_moves = moves;
      run.lo_base = std::int64_t{first} - (moves ? reader : 0);
      run.hi_base = std::int64_t{last} - (moves ? reader : 0);
      run.step = step;
      run.limit = n;
      runs.push_back(run);
    });
    list.runs_count = static_cast<std::uint32_t>(runs.size()) - list.runs_begin;
    segments.push_back({reader, static_cast<std::uint32_t>(lists.size())});
    lists.push_back(list);
  };
  for (const auto& [begin, end] : drawn.stretches) {
    bool moves = true;
    for (Vertex i = begin; i + 1 < end; ++i) {
      moves = moves && std::equal(drawn.rows[i].begin(), drawn.rows[i].end(), drawn.rows[i + 1].begin(), drawn.rows[i + 1].end(), [](Vertex a, Vertex b) { return a + 1 == b; });
    }
    for (Vertex i = begin; i < (moves ? begin + 1 : end); ++i) add(i, moves);
  }
  return Pattern(n, std::move(segments), std::move(lists), std::move(runs));
}

layout::Layout make_layout(const std::vector<Pattern>& patterns) {
  layout::Layout result;
  result.tokens = patterns.front().vertex_count();
  result.vertex_colour.assign(result.tokens, 0);
  for (const Pattern& pattern : patterns) {
    result.order.push_back(static_cast<std::uint32_t>(result.layers.size()));
    result.layers.push_back({{static_cast<std::uint32_t>(result.relations.size())}});
    result.relations.emplace_back(pattern, layout::Relative{}, layout::Cancels::nothing, result.tokens);
  }
  return result;
}

checker::Json to_checker_json(const nlohmann::json& json) { return checker::parse(certificate::print_canonical(json)); }

}  // namespace

TEST_CASE("stretches of rows that move along have the rows of the pattern") {
  std::mt19937 random(66);
  std::size_t moving = 0, theirs = 0;
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const Vertex height = 2 + random() % 8, width = 2 + random() % 8;
    Pattern pattern = move(draw_rows(random, height, width));
    if (k % 3 == 0) {  // clipped at both ends
      layout::PatternSpec spec;
      spec.kind = layout::PatternKind::window;
      spec.before = random() % 6;
      spec.after = random() % 6;
      spec.dilation = 1 + random() % 3;
      pattern = layout::make_patterns(spec, {height * width, 0, 1}, unlimited).front();
    }
    Vertex next = 0;
    const auto check = [&](Vertex begin, Vertex end, bool moves) {
      REQUIRE(begin == next);
      REQUIRE(end > begin);
      next = end;
      const auto first = pattern.row(begin);
      for (Vertex i = begin; i < end; ++i) {
        auto expected = first;
        for (auto& run : expected) {
          run.first += moves ? i - begin : 0;
          run.last += moves ? i - begin : 0;
        }
        REQUIRE(pattern.row(i) == expected);
      }
      return true;
    };
    REQUIRE(layout::visit_stretches(pattern, [&](Vertex begin, Vertex end, bool moves) {
      moving += moves;
      return check(begin, end, moves);
    }));
    REQUIRE(next == pattern.vertex_count());
    next = 0;
    const checker::Pattern copy = checker::read_pattern(to_checker_json(certificate::to_evidence(pattern)), pattern.vertex_count());
    copy.visit_stretches([&](Vertex begin, Vertex end, const std::vector<checker::Run>& row, bool moves) {
      theirs += moves;
      const auto first = pattern.row(begin);
      REQUIRE(std::equal(first.begin(), first.end(), row.begin(), row.end(), [](const layout::Run& a, const checker::Run& b) { return a.first == b.first && a.last == b.last && a.step == b.step; }));
      return check(begin, end, moves);
    });
    REQUIRE(next == pattern.vertex_count());
  }
  CHECK(moving > 500);
  CHECK(theirs > 500);
}

TEST_CASE("grids and rigid rows are found from stretches as from rows one by one") {
  std::mt19937 random(166);
  int grids = 0, none = 0, rigid = 0;
  for (int k = 0; k < 1500; ++k) {
    CAPTURE(k);
    const Vertex height = 2 + random() % 9, width = 2 + random() % 9;
    std::vector<Pattern> moving, listed;
    for (std::size_t layers = 1 + random() % 3; layers > 0; --layers) {
      const Drawn drawn = draw_rows(random, height, width);
      moving.push_back(move(drawn));
      listed.push_back(layout::make_pattern_from_rows(height * width, drawn.rows));
      REQUIRE(moving.back() == listed.back());
    }
    const layout::Layout ours = make_layout(moving), plain = make_layout(listed);
    const auto found = sight::find_grid_factors(ours, unlimited), expected = sight::find_grid_factors(plain, unlimited);
    REQUIRE((found == nullptr) == (expected == nullptr));
    ++(found ? grids : none);
    if (found) {
      REQUIRE(found->width == expected->width);
      for (std::size_t r = 0; r < moving.size(); ++r) {
        REQUIRE(found->down.relations[r].pattern() == expected->down.relations[r].pattern());
        REQUIRE(found->across.relations[r].pattern() == expected->across.relations[r].pattern());
      }
    }
    REQUIRE(sight::is_rigid(ours, unlimited) == sight::is_rigid(plain, unlimited));
    const checker::Layout copy = convert::to_checker(plain);
    checker::Layout theirs = copy;
    for (std::size_t r = 0; r < moving.size(); ++r) {
      theirs.relations[r].pattern = std::make_shared<checker::Pattern>(checker::read_pattern(to_checker_json(certificate::to_evidence(moving[r])), ours.tokens));
    }
    const auto confirmed = checker::find_grid(theirs), known = checker::find_grid(copy);
    REQUIRE(confirmed.has_value() == known.has_value());
    if (confirmed) {
      REQUIRE(confirmed->width == known->width);
      for (std::size_t r = 0; r < moving.size(); ++r) {
        REQUIRE(checker::same_rows(*confirmed->down.relations[r].pattern, *known->down.relations[r].pattern));
        REQUIRE(checker::same_rows(*confirmed->across.relations[r].pattern, *known->across.relations[r].pattern));
      }
    }
    REQUIRE(checker::is_rigid(theirs) == checker::is_rigid(copy));
    rigid += checker::is_rigid(copy);
  }
  MESSAGE(grids, " grids, ", none, " none, ", rigid, " rigid");
  CHECK(grids > 200);
  CHECK(none > 200);
  CHECK(rigid > 20);
}

TEST_CASE("no number in the runs of a butterfly can be another") {
  const architecture::Architecture butterfly = architecture::parse_architecture(R"({"tokens":32,"dim":4,"layer":[{"pattern":{"kind":"butterfly","distance":4}},{"pattern":{"kind":"butterfly","distance":8}}]})", "a.json");
  const checker::Json json = checker::parse(architecture::to_canonical_json(butterfly));
  const nlohmann::json patterns = certificate::make_pattern_evidence(butterfly, unlimited);
  const auto read = [&](const nlohmann::json& given) {
    std::vector<std::string> trusted;
    return checker::make_layout(json, to_checker_json(given), trusted);
  };
  const checker::Layout truth = read(patterns);
  int refused = 0, harmless = 0;
  const auto flat = patterns.flatten();
  for (const auto& [path, value] : flat.items()) {
    for (const int by : {-1, 1, 2, 8}) {
      auto changed = flat;
      changed[path] = value.get<int>() + by;
      try {
        const checker::Layout read_back = read(changed.unflatten());
        for (std::size_t r = 0; r < truth.relations.size(); ++r) REQUIRE(checker::same_rows(*read_back.relations[r].pattern, *truth.relations[r].pattern));
        ++harmless;  // an end that comes to no further member
      } catch (const checker::Malformed&) {
        ++refused;
      } catch (const checker::Rejected&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 200);
  CHECK(harmless > 0);
}

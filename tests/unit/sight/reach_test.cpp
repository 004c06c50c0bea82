#include <doctest/doctest.h>

#include <bitset>

#include "oracle.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/closed_parts.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

using oracle::make_banded;

// How often the ways of large layouts applied.
struct {
  int grid = 0, near = 0, residues = 0, spans = 0;
} met_ways;

// Compares everything of reach.hpp with the definition.
void check_reach(const Layout& layout) {
  const Vertex n = layout.tokens;
  const std::uint64_t end = layout.order.size() * (layout.vertices() + 1) + 2;
  std::vector<std::vector<std::vector<bool>>> see;
  for (std::uint64_t m = 0; m <= end; ++m) see.push_back(oracle::see(layout, m));
  const auto wants = [&](const Wanted& wanted, Vertex i, Vertex j) {
    if (j == 0 && wanted.ordinary_only) return false;
    if (wanted.kind == ClassKind::causal) return j <= i;
    return wanted.kind == ClassKind::all || see[end][i][j];
  };
  for (const Wanted wanted : {Wanted{ClassKind::all, false}, Wanted{ClassKind::all, true}, Wanted{ClassKind::causal, false},
                              Wanted{ClassKind::causal, true}, Wanted{ClassKind::seen, false}, Wanted{ClassKind::seen, true}}) {
    std::optional<std::uint64_t> expected;
    for (std::uint64_t m = 0; m <= end; ++m) {
      bool complete = true;
      std::vector<Vertex> unseen(n, 0);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < n; ++j) unseen[i] += wants(wanted, i, j) && !see[m][i][j] ? 1 : 0;
        complete = complete && unseen[i] == 0;
      }
      if (complete && !expected) expected = m;
      if (m <= layout.order.size() + 3 || m == end) REQUIRE(compute_unseen(layout, m, wanted, unlimited) == unseen);
      if (m == end) REQUIRE(compute_unseen(layout, std::nullopt, wanted, unlimited) == unseen);
    }
    const Connected reach = compute_class_reach(layout, wanted, unlimited);
    REQUIRE(reach.layers == expected);
    REQUIRE(reach.witness.has_value() == (expected != std::uint64_t{0}));
    if (reach.witness) {
      const auto [i, j] = *reach.witness;
      CHECK(wants(wanted, i, j));
      CHECK_FALSE(see[expected ? *expected - 1 : end][i][j]);
    }
    // The general way on the same question.
    ReachQuestion question;
    question.layout = &layout;
    question.wanted = wanted;
    question.find_layers = true;
    CHECK(answer_by_bits(question, unlimited).reach.layers == expected);
    if (const auto quick = answer_by_intervals(question, unlimited)) CHECK(quick->reach.layers == expected);
    if (const auto quick = answer_by_hubs(question, unlimited)) CHECK(quick->reach.layers == expected);
    // The ways that large layouts take: products on a grid, views one by one.
    for (const bool counts : {false, true}) {
      question.count_unseen = counts;
      for (int way = 0; way < 3; ++way) {
        const auto quick = way == 0 ? answer_by_grid(question, unlimited) : way == 1 ? answer_by_closed_parts(question, unlimited, false) : answer_by_spans(question, unlimited);
        // Spans only say nothing of who never sees whom here: rows are short.
        if (way == 2) CHECK(quick.has_value() == (!layout.order.empty() && expected.has_value()));
        if (!quick) continue;
        ++(way == 0 ? met_ways.grid : way == 1 ? met_ways.residues : met_ways.spans);
        CHECK(quick->reach.layers == expected);
        if (quick->reach.witness) {
          CHECK(wants(wanted, quick->reach.witness->reader, quick->reach.witness->unseen));
          CHECK_FALSE(see[expected ? *expected - 1 : end][quick->reach.witness->reader][quick->reach.witness->unseen]);
        }
        for (Vertex i = 0; i < n && counts; ++i) {
          Vertex unseen = 0;
          for (Vertex j = 0; j < n; ++j) unseen += wants(wanted, i, j) && !see[end][i][j] ? 1 : 0;
          CHECK(quick->unseen[i] == unseen);
        }
      }
    }
    question.find_layers = false;
    for (std::uint64_t m = 1; m <= 3; ++m) {
      question.depth = m;
      std::vector<Vertex> missed(n, 0);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < n; ++j) missed[i] += wants(wanted, i, j) && !see[m][i][j] ? 1 : 0;
      }
      if (const auto unseen = count_near(question, unlimited)) {
        ++met_ways.near;
        CHECK(*unseen == missed);
      }
      if (const auto quick = answer_by_closed_parts(question, unlimited, false)) CHECK(quick->unseen == missed);
      if (const auto quick = answer_by_spans(question, unlimited)) CHECK(quick->unseen == missed);
    }
  }
  bool all = true, causal = true;
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      all = all && see[end][i][j];
      causal = causal && see[end][i][j] == (j <= i);
    }
  }
  CHECK(compute_class_kind(layout, unlimited) == (all ? ClassKind::all : causal ? ClassKind::causal : ClassKind::seen));
  for (std::uint64_t m = 0; m <= layout.order.size() + 2; ++m) {
    for (Vertex a = 0; a < n; ++a) {
      const std::vector<std::int64_t> latest = compute_latest(layout, m, a, unlimited);
      // t_a(j) = the largest t with a path from layer m down to layer t+1 (theory.md 2.4).
      std::vector<std::int64_t> expected(layout.vertices(), -1);
      expected[a] = static_cast<std::int64_t>(m);
      for (std::uint64_t q = m; q >= 1; --q) {
        auto next = expected;
        for (Vertex i = 0; i < layout.vertices(); ++i) {
          if (expected[i] < static_cast<std::int64_t>(q)) continue;
          for (const auto r : layout.layer(q).relations) {
            for (Vertex j = 0; j < layout.vertices(); ++j) {
              if (layout.relations[r].pattern().reads(i, j)) next[j] = std::max(next[j], static_cast<std::int64_t>(q) - 1);
            }
          }
        }
        expected = next;
      }
      REQUIRE(latest == expected);
      std::vector<bool> view(layout.vertices(), false);
      for (const layout::Run& run : compute_view(layout, m, a, unlimited)) {
        for (Vertex j = run.first; j <= run.last; ++j) view[j] = true;
      }
      for (Vertex j = 0; j < layout.vertices(); ++j) REQUIRE(view[j] == see[m][a][j]);
    }
  }
}

}  // namespace

TEST_CASE("reach agrees with the definition on every digraph with three tokens") {
  for (int bits = 0; bits < 512; ++bits) {
    oracle::Rows rows(3);
    for (Vertex i = 0; i < 3; ++i) {
      for (Vertex j = 0; j < 3; ++j) {
        if ((bits >> (3 * i + j)) & 1) rows[i].push_back(j);
      }
    }
    check_reach(oracle::make_layout(3, rows));
  }
}

TEST_CASE("reach agrees with the definition on random layouts with registers, heads and several layers") {
  std::mt19937_64 random(20240517);
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    check_reach(oracle::make_random_layout(random, 1 + static_cast<Vertex>(random() % 7), static_cast<Vertex>(random() % 3), false, false));
  }
}

TEST_CASE("reach agrees with the definition on windows and rings") {
  for (Vertex n = 1; n <= 9; ++n) {
    for (std::int64_t before = 0; before <= 4; ++before) {
      for (std::int64_t after = 0; after <= 3; ++after) {
        check_reach(make_banded(n, before, after, false));
        check_reach(make_banded(n, before, after, true));
      }
    }
  }
}

TEST_CASE("reach agrees with the definition on dilated windows, whatever the number of tokens") {
  met_ways = {};
  std::mt19937_64 random(5);
  for (int k = 0; k < 60; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(3 + random() % 11), dilation = static_cast<Vertex>(2 + random() % 3);
    std::vector<std::vector<oracle::Head>> layers(1 + random() % 2);
    for (auto& layer : layers) {
      const auto before = static_cast<Vertex>(random() % 3), after = static_cast<Vertex>(random() % 3), step = static_cast<Vertex>(dilation * (1 + random() % 2));
      oracle::Rows rows(n);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = i % step; j < n; j += step) {
          if (j + before * step >= i && j <= i + after * step && (j != i || k % 3 != 0)) rows[i].push_back(j);
        }
      }
      layer.push_back({rows, {}, {}, layout::Cancels::nothing});
    }
    check_reach(oracle::make_layout(n, 0, layers));
  }
  CHECK(met_ways.residues > 300);
}

TEST_CASE("reach agrees with the definition on grids, strides, summaries and blocks") {
  met_ways = {};
  std::mt19937_64 random(77);
  for (int k = 0; k < 60; ++k) {
    CAPTURE(k);
    const auto h = static_cast<std::int64_t>(2 + random() % 4), w = static_cast<std::int64_t>(2 + random() % 4);
    const auto n = static_cast<Vertex>(h * w);
    const auto a = static_cast<std::int64_t>(1 + random() % 3), b = static_cast<std::int64_t>(1 + random() % 3), shift = static_cast<std::int64_t>(random() % 3);
    const auto make = [&](auto&& reads) {
      oracle::Rows rows(n);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          if (reads(i, j, i / w, i % w, j / w, j % w)) rows[static_cast<std::size_t>(i)].push_back(static_cast<Vertex>(j));
        }
      }
      return rows;
    };
    const auto near = [](std::int64_t x, std::int64_t y, std::int64_t r) { return x - y <= r && y - x <= r; };
    std::vector<oracle::Rows> kinds;
    kinds.push_back(make([&](auto, auto, auto r, auto c, auto s, auto d) { return near(r, s, a) && near(c, d, b); }));
    kinds.push_back(make([&](auto, auto, auto r, auto, auto s, auto) { return r == s; }));
    kinds.push_back(make([&](auto, auto, auto, auto c, auto, auto d) { return c == d; }));
    kinds.push_back(make([&](auto, auto, auto r, auto c, auto s, auto d) { return (r + shift) / 2 == (s + shift) / 2 && (c + shift) / 2 == (d + shift) / 2; }));
    kinds.push_back(make([&](auto i, auto j, auto, auto, auto, auto) { return near(i, j, w) || (i - j) % w == 0; }));
    kinds.push_back(make([&](auto i, auto j, auto r, auto, auto s, auto d) { return r == s || d + 1 == w || i == j; }));
    kinds.push_back(make([&](auto i, auto j, auto, auto, auto, auto) { return j <= i && (i - j < w || (i - j) % w == 0); }));
    kinds.push_back(make([&](auto i, auto j, auto r, auto, auto s, auto d) { return j <= i && (r == s || d + 1 == w); }));
    kinds.push_back(make([&](auto i, auto j, auto, auto, auto, auto) { return (i + shift) % n / w == (j + shift) % n / w; }));
    kinds.push_back(make([&](auto i, auto j, auto, auto, auto, auto) { return i / 3 == j / 3; }));
    Layout layout = oracle::make_layout(n, kinds[random() % kinds.size()]);
    for (auto more = random() % 3; more > 0; --more) {
      const Layout other = oracle::make_layout(n, kinds[random() % kinds.size()]);
      layout.layers.push_back({{static_cast<std::uint32_t>(layout.relations.size())}});
      layout.order.push_back(static_cast<std::uint32_t>(layout.layers.size() - 1));
      layout.relations.push_back(other.relations.front());
    }
    check_reach(layout);
  }
  CHECK(met_ways.grid > 20);
  CHECK(met_ways.near > 500);
}

TEST_CASE("several hundred tokens use more than one strip") {
  std::mt19937_64 random(7);
  for (int k = 0; k < 3; ++k) {
    const Vertex n = 700;
    std::vector<oracle::Rows> rows(2, oracle::Rows(n));
    for (Vertex i = 0; i < n; ++i) {
      for (int e = 0; e < 2; ++e) rows[0][i].push_back(static_cast<Vertex>((i * 31 + 17 + e * (random() % 350)) % n));
      if (k > 0) {
        for (Vertex j = i % 25; j < n; j += 25) rows[1][i].push_back(j);
      }
      std::sort(rows[0][i].begin(), rows[0][i].end());
      rows[0][i].erase(std::unique(rows[0][i].begin(), rows[0][i].end()), rows[0][i].end());
    }
    std::vector<std::vector<oracle::Head>> layers;
    for (const auto& r : rows) layers.push_back({{r, {}, {}, layout::Cancels::nothing}});
    const Layout layout = oracle::make_layout(n, 0, layers);
    // Plain definition, column by column.
    const auto run = [&](std::uint64_t m) {
      std::vector<std::vector<bool>> now(n, std::vector<bool>(n, false));
      for (Vertex i = 0; i < n; ++i) now[i][i] = true;
      for (std::uint64_t q = 1; q <= m; ++q) {
        auto next = now;
        for (Vertex i = 0; i < n; ++i) {
          for (const Vertex j : rows[(q - 1) % 2][i]) {
            for (Vertex c = 0; c < n; ++c) {
              if (now[j][c]) next[i][c] = true;
            }
          }
        }
        now = next;
      }
      return now;
    };
    const auto now = run(4);
    const std::vector<Vertex> unseen = compute_unseen(layout, 4, {}, unlimited);
    const std::vector<Vertex> causal = compute_unseen(layout, 4, {ClassKind::causal, true}, unlimited);
    for (Vertex i = 0; i < n; ++i) {
      REQUIRE(unseen[i] == std::count(now[i].begin(), now[i].end(), false));
      REQUIRE(causal[i] == (i == 0 ? 0 : std::count(now[i].begin() + 1, now[i].begin() + i + 1, false)));
    }
    const Connected connected = compute_connected(layout, unlimited);
    if (connected.layers) {
      const auto before = run(*connected.layers - 1), after = run(*connected.layers);
      CHECK_FALSE(before[connected.witness->reader][connected.witness->unseen]);
      for (Vertex i = 0; i < n; ++i) REQUIRE(std::count(after[i].begin(), after[i].end(), false) == 0);
    }
  }
}

TEST_CASE("short rows: readers of what changed, columns near each other") {
  std::mt19937_64 random(8);
  for (int k = 0; k < 4; ++k) {
    CAPTURE(k);
    constexpr Vertex n = 1100;
    const Layout layout = oracle::make_layout(n, 0, oracle::make_short_rows(random, n, k));
    using Sets = std::vector<std::bitset<n>>;
    Sets now(n);
    for (Vertex i = 0; i < n; ++i) now[i].set(i);
    std::uint64_t last = 0;  // the last layer that showed somebody something
    Sets before;
    std::vector<layout::Run> row;
    for (std::uint64_t q = 1; q <= last + 2; ++q) {
      Sets next = now;
      for (Vertex i = 0; i < n; ++i) {
        layout.relations[layout.layer(q).relations.front()].pattern().row(i, row);
        for (const layout::Run& run : row) {
          for (Vertex j = run.first; j <= run.last; j += run.step) next[i] |= now[j];
        }
      }
      if (q <= 5 || q == 40) {
        const std::vector<Vertex> unseen = compute_unseen(layout, q, {}, unlimited);
        for (Vertex i = 0; i < n; ++i) REQUIRE(unseen[i] == n - next[i].count());
        const std::vector<Vertex> causal = compute_unseen(layout, q, {ClassKind::causal, true}, unlimited);
        for (Vertex i = 0; i < n; i += 97) {
          Vertex missed = 0;
          for (Vertex j = 1; j <= i; ++j) missed += next[i][j] ? 0 : 1;
          REQUIRE(causal[i] == missed);
        }
      }
      if (next != now) {
        last = q;
        before = std::exchange(now, next);
      }
    }
    const Connected seen = compute_class_reach(layout, {ClassKind::seen, false}, unlimited);
    REQUIRE(seen.layers == last);
    CHECK(now[seen.witness->reader][seen.witness->unseen]);
    CHECK_FALSE(before[seen.witness->reader][seen.witness->unseen]);
    CHECK_FALSE(compute_connected(layout, unlimited).layers);
    const std::vector<Vertex> ever = compute_unseen(layout, std::nullopt, {}, unlimited);
    for (Vertex i = 0; i < n; ++i) REQUIRE(ever[i] == n - now[i].count());
  }
}

TEST_CASE("random links: what is unseen around the layer after which nothing is") {
  std::mt19937_64 random(9);
  for (int k = 0; k < 3; ++k) {
    CAPTURE(k);
    constexpr Vertex n = 1200;
    const Layout layout = oracle::make_layout(n, 0, oracle::make_random_links(random, n, 3 + k, 2));
    using Sets = std::vector<std::bitset<n>>;
    std::vector<Sets> see(1, Sets(n));
    for (Vertex i = 0; i < n; ++i) see[0][i].set(i);
    std::vector<layout::Run> row;
    const auto sees_all = [](const Sets& sets) { return std::all_of(sets.begin(), sets.end(), [](const auto& set) { return set.all(); }); };
    while (!sees_all(see.back())) {
      REQUIRE(see.size() < 20);
      Sets next = see.back();
      for (Vertex i = 0; i < n; ++i) {
        layout.relations[layout.layer(see.size()).relations.front()].pattern().row(i, row);
        for (const layout::Run& run : row) {
          for (Vertex j = run.first; j <= run.last; j += run.step) next[i] |= see.back()[j];
        }
      }
      see.push_back(std::move(next));
    }
    const std::uint64_t last = see.size() - 1;
    for (const std::uint64_t depth : {last - 2, last - 1, last, last + 1}) {
      CAPTURE(depth);
      const Sets& sets = see[std::min(depth, last)];
      const std::vector<Vertex> unseen = compute_unseen(layout, depth, {}, unlimited);
      for (Vertex i = 0; i < n; ++i) REQUIRE(unseen[i] == n - sets[i].count());
    }
    const Connected connected = compute_connected(layout, unlimited);
    REQUIRE(connected.layers == last);
    CHECK_FALSE(see[last - 1][connected.witness->reader][connected.witness->unseen]);
    // Both asked at once.
    ReachQuestion question;
    question.layout = &layout;
    question.find_layers = question.count_unseen = true;
    for (const std::uint64_t depth : {last - 1, last}) {
      question.depth = depth;
      const ReachAnswer both = answer_by_bits(question, unlimited);
      CHECK(both.reach.layers == last);
      for (Vertex i = 0; i < n; ++i) REQUIRE(both.unseen[i] == n - see[depth][i].count());
    }
  }
}

TEST_CASE("windows with many layers are answered by arithmetic on end points") {
  const Layout window = make_banded(4096, 3, 0, false);
  CHECK(*compute_class_reach(window, {ClassKind::causal, false}, unlimited).layers == 1365);
  CHECK(*compute_class_reach(window, {ClassKind::causal, true}, unlimited).layers == 1365);
  CHECK_FALSE(compute_connected(window, unlimited).layers);
  CHECK(compute_class_kind(window, unlimited) == ClassKind::causal);
  const std::vector<Vertex> unseen = compute_unseen(window, 1000, {ClassKind::causal, false}, unlimited);
  CHECK(unseen[3000] == 0);
  CHECK(unseen[4095] == 1095);
  CHECK(*compute_connected(make_banded(4096, 1, 1, true), unlimited).layers == 2048);
}

TEST_CASE("a long list that stopped moving is not walked") {
  oracle::Rows ring(40), self(40);
  for (Vertex i = 0; i < 40; ++i) {
    ring[i] = {std::min<Vertex>(i, (i * 7 + 1) % 40), std::max<Vertex>(i, (i * 7 + 1) % 40)};
    if (ring[i][0] == ring[i][1]) ring[i].pop_back();
    self[i] = {i};
  }
  std::vector<std::uint32_t> order(1'000'000, 0);
  for (std::size_t q = 500'000; q < order.size(); ++q) order[q] = 1;
  const Layout layout = oracle::make_layout(40, 0, {{{ring, {}, {}, layout::Cancels::nothing}}, {{self, {}, {}, layout::Cancels::nothing}}}, {}, order);
  const std::vector<Vertex> given = compute_unseen(layout, 1'000'000, {}, unlimited);
  CHECK(given == compute_unseen(layout, std::nullopt, {}, unlimited));
  CHECK(compute_latest(layout, 1'000'000, 3, unlimited)[3] == 1'000'000);
}

TEST_CASE("ranges of several heads are made disjoint and hold the same vertices") {
  std::mt19937 random(17);
  int changed = 0;
  for (int k = 0; k < 20000; ++k) {
    std::vector<ReadRange> ranges;
    for (std::size_t count = 1 + random() % 4; count > 0; --count) {
      const Vertex first = random() % 30, step = 1 + random() % 6;
      ranges.push_back({first, first + step * static_cast<Vertex>(random() % 8), step});
    }
    const auto list = [](const std::vector<ReadRange>& all) {
      std::vector<Vertex> members;
      for (const ReadRange& range : all) {
        for (Vertex j = range.first; j <= range.last; j += range.step) members.push_back(j);
      }
      std::sort(members.begin(), members.end());
      return members;
    };
    std::vector<Vertex> expected = list(ranges);
    expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
    tidy(ranges);
    changed += list(ranges) != expected;
    make_disjoint(ranges);
    REQUIRE(list(ranges) == expected);
  }
  CHECK(changed > 1000);
}

}  // namespace sightline::sight

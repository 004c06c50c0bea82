#include <doctest/doctest.h>

#include "oracle.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

std::string order_of(const std::optional<group::Group>& group) { return group ? group->order.value()->get_str() : "none"; }

struct Case {
  Layout layout;
  group::Group layout_group, target;
  ViewQuestion question;

  explicit Case(Layout l, RegisterRows rows = RegisterRows::frequencies) : layout(std::move(l)) {
    layout_group = symmetry::compute_layout_group(layout, unlimited);
    question.layout = &layout;
    question.layout_group = &layout_group;
    question.target = &layout_group;
    question.register_rows = rows;
  }
  Case(const Case&) = delete;
  [[nodiscard]] std::string expressed(std::uint64_t depth) const { return order_of(compute_expressed_group(question, depth, unlimited)); }
  [[nodiscard]] Needed needed(ClassKind kind) const {
    ViewQuestion q = question;
    q.target_class = kind;
    return compute_needed(q, unlimited);
  }
};

// Compares expressed groups, exact layers and collisions with labels computed for all permutations of the tokens.
void check_views(const Layout& layout, RegisterRows rows, const std::optional<std::set<oracle::Images>>& wanted_group = std::nullopt) {
  const Vertex n = layout.tokens;
  const std::set<oracle::Images> own = oracle::layout_group(layout);
  const std::set<oracle::Images> target = wanted_group.value_or(own);
  const group::Group layout_group = oracle::to_group(n, own), target_group = oracle::to_group(n, target);
  ViewQuestion question{&layout, wanted_group ? &target_group : &layout_group, &layout_group, ClassKind::all, rows};
  const std::uint64_t end = layout.order.size() * (layout.vertices() + 1) + layout.order.size() * (layout.registers + 1) + 2;
  std::vector<std::vector<oracle::Match>> matches;
  std::vector<std::vector<std::vector<bool>>> see;
  for (std::uint64_t m = 0; m <= end; ++m) {
    matches.push_back(oracle::find_matches(layout, m, rows));
    see.push_back(oracle::see(layout, m));
  }
  for (const ClassKind kind : {ClassKind::all, ClassKind::causal, ClassKind::seen}) {
    question.target_class = kind;
    const auto wanted = oracle::wanted(layout, kind, target);
    const auto in_view = [&](std::uint64_t m) {
      for (Vertex a = 0; a < n; ++a) {
        for (Vertex j = 0; j < n; ++j) {
          // A symmetry that moves the class leaves a token less to use.
          const bool moved = target.size() > 1 && (kind == ClassKind::causal || (kind == ClassKind::seen && wanted_group));
          const bool wants = moved ? wanted[a].count(j) > 0
                                   : kind == ClassKind::all || (kind == ClassKind::causal ? j <= a : see[end][a][j]);
          if (wants && !see[m][a][j]) return false;
        }
      }
      return true;
    };
    std::optional<std::uint64_t> expected;
    for (std::uint64_t m = 0; m <= end; ++m) {
      if (!in_view(m)) continue;
      bool confused = false;
      std::set<oracle::Images> generators;
      for (const oracle::Match& match : matches[m]) {
        confused = confused || !oracle::is_explained(target, match.a, match.tau, wanted[match.a]);
        generators.insert(match.tau);
      }
      if (!confused && !expected) expected = m;
      const bool sampled = m <= 4 || m == end;
      if (sampled) {
        const auto collision = find_collision(question, m, unlimited);
        REQUIRE(collision.has_value() == confused);
        if (collision) {
          // tau really matches labels, and no element of the group agrees with it.
          std::vector<std::pair<Vertex, Vertex>> tau = collision->tau;
          std::set<Vertex> seen;
          bool valid = false;
          for (const auto& [j, image] : tau) seen.insert(j);
          std::set<Vertex> view;
          for (Vertex j = 0; j < n; ++j) {
            if (see[m][collision->a][j]) view.insert(j);
          }
          CHECK(seen == view);
          for (const oracle::Match& match : matches[m]) {
            valid = valid || (match.a == collision->a && match.b == collision->b &&
                              std::all_of(tau.begin(), tau.end(), [&](const auto& pair) { return match.tau[pair.first] == pair.second; }));
          }
          CHECK(valid);
          oracle::Images images(n, 0);
          for (const auto& [j, image] : tau) images[j] = image;
          std::set<Vertex> on;
          for (const Vertex j : wanted[collision->a]) {
            if (seen.count(j) > 0) on.insert(j);
          }
          CHECK_FALSE(oracle::is_explained(target, collision->a, images, on));
        }
      }
      if (kind == ClassKind::all && sampled) {
        const auto group = compute_expressed_group(question, m, unlimited);
        REQUIRE(group);
        const std::set<oracle::Images> smallest = oracle::close(n, generators);
        REQUIRE(order_of(group) == std::to_string(smallest.size()));
        if (m == end) REQUIRE(order_of(compute_limit_group(question, unlimited)) == std::to_string(smallest.size()));
        const group::Membership member(*group, unlimited);
        for (const oracle::Images& g : generators) CHECK(member.contains(group::Permutation::from_images(g)));
      }
    }
    const Needed needed = compute_needed(question, unlimited);
    REQUIRE(needed.layers == expected);
    REQUIRE(needed.never == !expected.has_value());
    CHECK((needed.below.has_value() || needed.missing.has_value()) == (expected != std::uint64_t{0}));
    CHECK_FALSE(needed.why.empty());
  }
  if (!see[end].empty() && n > 0) {
    for (std::uint64_t m = 0; m <= 2; ++m) {
      bool full = true;
      for (Vertex a = 0; a < n; ++a) {
        for (Vertex j = 0; j < n; ++j) full = full && see[m][a][j];
      }
      if (!full) CHECK_FALSE(compute_expressed_group(question, m, unlimited));
    }
  }
}

Layout make_digraph(Vertex n, std::uint64_t bits) {
  oracle::Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if ((bits >> (n * i + j)) & 1) rows[i].push_back(j);
    }
  }
  return oracle::make_layout(n, rows);
}

oracle::Rows make_rows(Vertex n, bool (*reads)(Vertex, Vertex)) {
  oracle::Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (reads(i, j)) rows[i].push_back(j);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("views agree with labels on every digraph with at most three tokens") {
  for (Vertex n = 1; n <= 3; ++n) {
    for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << (n * n)); ++bits) {
      CAPTURE(n);
      CAPTURE(bits);
      check_views(make_digraph(n, bits), RegisterRows::frequencies);
    }
  }
}

TEST_CASE("views agree with labels on random layouts") {
  std::mt19937_64 random(11);
  for (int k = 0; k < 24; ++k) {
    CAPTURE(k);
    const bool coloured = k % 2 == 1;
    check_views(oracle::make_random_layout(random, 2 + static_cast<Vertex>(random() % 3), static_cast<Vertex>(random() % 2), false, coloured),
                coloured ? RegisterRows::multisets : RegisterRows::frequencies);
  }
}

TEST_CASE("views agree with labels where rows hold one vertex beside their reader") {
  std::mt19937_64 random(55);
  for (int k = 0; k < 24; ++k) {
    CAPTURE(k);
    check_views(oracle::make_single_reads(random, 2 + static_cast<Vertex>(random() % 3)), RegisterRows::frequencies);
  }
}

TEST_CASE("views agree with labels when registers start equal") {
  std::mt19937_64 random(12);
  for (int k = 0; k < 24; ++k) {
    CAPTURE(k);
    check_views(oracle::make_random_layout(random, 2 + static_cast<Vertex>(random() % 2), 2 + static_cast<Vertex>(random() % 2), true, k % 2 == 1),
                k % 3 == 0 ? RegisterRows::multisets : RegisterRows::frequencies);
  }
}

TEST_CASE("views agree with labels for targets with a symmetry of their own") {
  std::mt19937_64 random(13);
  for (int k = 0; k < 20; ++k) {
    CAPTURE(k);
    const Vertex n = 2 + static_cast<Vertex>(random() % 3);
    const Layout layout = oracle::make_random_layout(random, n, 0, false, false);
    const auto permutations = oracle::all_permutations(n);
    check_views(layout, RegisterRows::frequencies, oracle::close(n, {permutations[random() % permutations.size()]}));
  }
}

TEST_CASE("views agree with labels where the layout comes apart") {
  std::mt19937_64 random(14);
  // 0 and 2 have the same views at every depth, but 4 reads 2.
  check_views(oracle::make_layout(5, {{0, 1}, {0, 1}, {2, 3}, {2, 3}, {2, 4}}), RegisterRows::frequencies);
  for (int k = 0; k < 12; ++k) {
    CAPTURE(k);
    check_views(oracle::make_parts(random, 2, 2), RegisterRows::frequencies);
  }
}

TEST_CASE("two layers of the Petersen graph cannot tell its vertices apart") {
  oracle::Rows rows(10);
  const auto join = [&](Vertex a, Vertex b) {
    rows[a].push_back(b);
    rows[b].push_back(a);
  };
  for (Vertex k = 0; k < 5; ++k) {
    rows[k].push_back(k);
    rows[k + 5].push_back(k + 5);
    join(k, (k + 1) % 5);
    join(k, k + 5);
    join(k + 5, 5 + (k + 2) % 5);
  }
  const Case petersen(oracle::make_layout(10, rows));
  CHECK(*compute_connected(petersen.layout, unlimited).layers == 2);
  CHECK(petersen.expressed(1) == "none");
  CHECK(petersen.expressed(2) == "3628800");
  CHECK(petersen.expressed(3) == "120");
  CHECK(*petersen.needed(ClassKind::all).layers == 3);
  CHECK(petersen.needed(ClassKind::all).below);
}

TEST_CASE("Longformer with a global token needs one layer more than it takes to connect") {
  const Case longformer(oracle::make_layout(8, make_rows(8, [](Vertex i, Vertex j) {
    return i == 0 || j == 0 || (i > j ? i - j : j - i) <= 1;
  })));
  CHECK(*compute_connected(longformer.layout, unlimited).layers == 2);
  CHECK(longformer.expressed(2) == "5040");
  CHECK(longformer.expressed(3) == "2");
  CHECK(*longformer.needed(ClassKind::all).layers == 3);
}

TEST_CASE("axial attention on a grid of two rows and four columns") {
  const auto row = make_rows(8, [](Vertex i, Vertex j) { return i / 4 == j / 4; });
  const auto column = make_rows(8, [](Vertex i, Vertex j) { return i % 4 == j % 4; });
  const Case axial(oracle::make_layout(8, 0, {{{row, {}, {}, layout::Cancels::single_colour}}, {{column, {}, {}, layout::Cancels::single_colour}}}));
  CHECK(*compute_connected(axial.layout, unlimited).layers == 2);
  CHECK(axial.expressed(2) == "1152");
  CHECK(*axial.needed(ClassKind::all).layers == 3);
  CHECK(order_of(compute_limit_group(axial.question, unlimited)) == "48");
}

TEST_CASE("the Fano plane needs four layers to appear through equal registers") {
  const std::vector<std::vector<Vertex>> lines{{0, 1, 2}, {0, 3, 4}, {0, 5, 6}, {1, 3, 5}, {1, 4, 6}, {2, 3, 6}, {2, 4, 5}};
  oracle::Rows rows(14);
  for (Vertex l = 0; l < 7; ++l) {
    for (const Vertex p : lines[l]) {
      rows[7 + l].push_back(p);
      rows[p].push_back(7 + l);
    }
  }
  for (Vertex v = 0; v < 14; ++v) {
    rows[v].push_back(v);
    std::sort(rows[v].begin(), rows[v].end());
  }
  const Case fano(oracle::make_layout(7, 7, {{{rows, {}, {}, layout::Cancels::single_colour}}}, std::vector<std::uint64_t>(7, 100)));
  CHECK(order_of(fano.layout_group) == "168");
  CHECK(fano.expressed(2) == "5040");
  CHECK(fano.expressed(3) == "5040");
  CHECK(fano.expressed(4) == "168");
  CHECK(*fano.needed(ClassKind::all).layers == 4);
}

TEST_CASE("equal registers are counted as frequencies in normalised rows") {
  const oracle::Head full{{{0, 1}, {0, 1}, {}, {}, {}, {}}, {}, {}, layout::Cancels::single_colour};
  const oracle::Head doubled{{{2, 3, 4, 5}, {2, 4}, {}, {}, {}, {}}, {}, {}, layout::Cancels::single_colour};
  const Layout layout = oracle::make_layout(2, 4, {{doubled}, {full}}, {100, 100, 101, 101});
  const Case frequencies(layout, RegisterRows::frequencies);
  CHECK(order_of(frequencies.layout_group) == "1");
  CHECK(order_of(compute_limit_group(frequencies.question, unlimited)) == "2");
  CHECK(frequencies.needed(ClassKind::all).never);
  const Case multisets(layout, RegisterRows::multisets);
  CHECK(*multisets.needed(ClassKind::all).layers == 2);
  check_views(layout, RegisterRows::frequencies);
  check_views(layout, RegisterRows::multisets);
}

TEST_CASE("colours of equal registers cancel when the row has rank one") {
  const oracle::Head first{{{2, 3}, {2}, {}, {}}, {{1, 2}, {1}, {}, {}}, {}, layout::Cancels::single_colour};
  const oracle::Head full{{{0, 1}, {0, 1}, {}, {}}, {}, {}, layout::Cancels::single_colour};
  const Layout layout = oracle::make_layout(2, 2, {{first}, {full}}, {100, 100});
  const Case registers(layout);
  CHECK(order_of(compute_limit_group(registers.question, unlimited)) == "2");
  check_views(layout, RegisterRows::frequencies);
}

TEST_CASE("published causal patterns, as classes of functions of what is seen") {
  const Case window(oracle::make_layout(8, make_rows(8, [](Vertex i, Vertex j) { return j <= i && i - j <= 2; })));
  CHECK(*window.needed(ClassKind::causal).layers == 4);
  CHECK(*window.needed(ClassKind::seen).layers == 4);
  CHECK(window.needed(ClassKind::all).never);
  const Case causal(oracle::make_layout(5, make_rows(5, [](Vertex i, Vertex j) { return j <= i; })));
  CHECK(*causal.needed(ClassKind::causal).layers == 2);
  const oracle::Head near{make_rows(9, [](Vertex i, Vertex j) { return j <= i && i - j <= 3; }), {}, {}, layout::Cancels::single_colour};
  const oracle::Head strides{make_rows(9, [](Vertex i, Vertex j) { return j <= i && (i - j) % 3 == 0; }), {}, {}, layout::Cancels::single_colour};
  CHECK(*Case(oracle::make_layout(9, 0, {{near}, {strides}})).needed(ClassKind::causal).layers == 3);
  const oracle::Head block{make_rows(9, [](Vertex i, Vertex j) { return j <= i && i / 3 == j / 3; }), {}, {}, layout::Cancels::single_colour};
  const oracle::Head summary{make_rows(9, [](Vertex i, Vertex j) { return i == j || (j <= i && j % 3 == 2); }), {}, {}, layout::Cancels::single_colour};
  CHECK(*Case(oracle::make_layout(9, 0, {{block}, {summary}})).needed(ClassKind::causal).layers == 4);
}

TEST_CASE("views agree with labels on every digraph with four tokens" * doctest::test_suite("slow")) {
  // One of each isomorphism class: the numberings of a digraph differ in nothing that is compared for class `all` and `seen`.
  const auto permutations = oracle::all_permutations(4);
  int classes = 0;
  for (std::uint64_t bits = 0; bits < 65536; ++bits) {
    const bool least = std::all_of(permutations.begin(), permutations.end(), [&](const oracle::Images& image) {
      std::uint64_t renumbered = 0;
      for (Vertex i = 0; i < 4; ++i) {
        for (Vertex j = 0; j < 4; ++j) renumbered |= ((bits >> (4 * i + j)) & 1) << (4 * image[i] + image[j]);
      }
      return bits <= renumbered;
    });
    if (!least) continue;
    ++classes;
    CAPTURE(bits);
    check_views(make_digraph(4, bits), RegisterRows::frequencies);
  }
  CHECK(classes == 3044);
}

TEST_CASE("views agree with labels on many random layouts" * doctest::test_suite("slow")) {
  std::mt19937_64 random(14);
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const bool equal = k % 3 == 0;
    const auto registers = static_cast<Vertex>(equal ? 2 + random() % 2 : random() % 3);
    check_views(oracle::make_random_layout(random, 2 + static_cast<Vertex>(random() % (k % 20 == 0 ? 5 : 4)), registers, equal, k % 2 == 1),
                k % 5 == 0 || (!equal && k % 2 == 1) ? RegisterRows::multisets : RegisterRows::frequencies);
  }
}

}  // namespace sightline::sight

// What small views, and rows that all views hold, say about large views: library and checker conclude the same, and it holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <set>

#include "../unit/sight/oracle.hpp"
#include "checker/exact.hpp"
#include "checker/reach.hpp"
#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/sight/local_views.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/closed_parts.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "support.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

using Rows = oracle::Rows;

Layout list_layers(Vertex n, const std::vector<Rows>& layers) {
  std::vector<std::vector<oracle::Head>> heads;
  for (const Rows& rows : layers) heads.push_back({{rows, {}, {}, layout::Cancels::single_colour}});
  return oracle::make_layout(n, static_cast<Vertex>(layers.front().size()) - n, heads);
}

/// A register that a few tokens read, and that reads a few.
void add_register(std::mt19937_64& random, Rows& rows) {
  const auto n = static_cast<Vertex>(rows.size());
  rows.emplace_back();
  for (Vertex i = 0; i < n; ++i) {
    if (random() % 12 == 0) rows[i].push_back(n);
    if (random() % 12 == 0) rows[n].push_back(i);
  }
}

template <class Reads>
Rows fill(Vertex n, const Reads& reads) {
  Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (reads(i, j)) rows[i].push_back(j);
    }
  }
  return rows;
}

/// Windows, chunks and random rows, going down or both ways, with or without tokens that all read.
Rows draw_rows(std::mt19937_64& random, Vertex n) {
  const auto kind = random() % 3;
  const auto width = static_cast<Vertex>(1 + random() % 4), shift = static_cast<Vertex>(random() % 4), sinks = static_cast<Vertex>(random() % 2);
  const bool down = random() % 4 != 0;
  return fill(n, [&](Vertex i, Vertex j) {
    if (down && j > i) return false;
    if (i == j || j < sinks) return true;
    if (kind == 0) return (i > j ? i - j : j - i) <= width;
    if (kind == 1) return (i + shift) / (width + 2) == (j + shift) / (width + 2);
    return random() % 5 == 0;
  });
}

}  // namespace

TEST_CASE("views of which small ones have no symmetries have none, and differ by what they see") {
  std::mt19937_64 random(40);
  int shown = 0, open = 0, partly = 0, with_register = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(16 + random() % 4);
    std::vector<Rows> layers;
    for (std::uint64_t l = 0, count = 1 + random() % 3; l < count; ++l) {
      layers.push_back(draw_rows(random, n));
      if (k >= 160) add_register(random, layers.back());
    }
    const Layout layout = list_layers(n, layers);
    const checker::Layout theirs = convert::to_checker(layout);
    checker::ReachMemory memory(theirs);
    std::vector<Vertex> all(n);
    std::iota(all.begin(), all.end(), Vertex{0});
    for (std::uint64_t depth = 1; depth <= 6; ++depth) {
      std::vector<Vertex> left = all, left_there = all;
      const bool found = drop_by_local_views(layout, all, depth, left, unlimited);
      REQUIRE(checker::drop_by_local_views(theirs, all, depth, left_there, memory) == found);
      REQUIRE(left == left_there);
      ++(found ? shown : open);
      with_register += found && k >= 160;
      partly += !found && left.size() < n;
      if (left.size() < n) REQUIRE(is_so(layout, depth, false, left));
    }
  }
  CHECK(shown > 60);
  CHECK(with_register > 60);
  MESSAGE(partly << " in part");
  CHECK(partly > 60);
  CHECK(open > 60);
}

TEST_CASE("small views that move on from root to root, but for sinks, are looked at again where one row differs") {
  std::mt19937_64 random(57);
  int shown = 0, planted = 0;
  for (int k = 0; k < 40; ++k) {
    CAPTURE(k);
    // More tokens than the roots that are tried out first can see.
    const auto n = static_cast<Vertex>(200 + random() % 100), width = static_cast<Vertex>(2 + random() % 3), sinks = static_cast<Vertex>(random() % 3);
    const auto dilation = static_cast<Vertex>(1 + random() % 2);
    const Rows rows = fill(n, [&](Vertex i, Vertex j) { return j <= i && (j < sinks || j + 1 == i || (i - j <= width * dilation && (i - j) % dilation == 0)); });
    // All others read p and p + 1, or neither: where the rows of these are out of sight, nothing tells them apart.
    Rows twins = rows;
    const auto p = static_cast<Vertex>(8 + random() % (n - 40));
    for (Vertex i = p + 2; i < n; ++i) {
      const auto reads = [&](Vertex j) { return std::find(twins[i].begin(), twins[i].end(), j) != twins[i].end(); };
      if (reads(p) == reads(p + 1)) continue;
      twins[i].push_back(reads(p) ? p + 1 : p);
      std::sort(twins[i].begin(), twins[i].end());
    }
    for (const bool with_twins : {false, true}) {
      const Layout layout = list_layers(n, {with_twins ? twins : rows});
      const checker::Layout theirs = convert::to_checker(layout);
      checker::ReachMemory memory(theirs);
      std::vector<Vertex> all(n);
      std::iota(all.begin(), all.end(), Vertex{0});
      const std::uint64_t depth = n;
      std::vector<Vertex> left = all, left_there = all;
      const bool found = drop_by_local_views(layout, all, depth, left, unlimited);
      REQUIRE(checker::drop_by_local_views(theirs, all, depth, left_there, memory) == found);
      REQUIRE(left == left_there);
      shown += found;
      planted += with_twins;
      if (with_twins) CHECK(!found);
    }
  }
  CHECK(shown > 25);
  CHECK(planted == 40);
}

TEST_CASE("isomorphisms of views that hold all rows of some relations are the layout's, where those have no more") {
  std::mt19937_64 random(39);
  int dropped = 0, refused = 0;
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(5 + random() % 4);
    std::vector<Rows> layers{draw_rows(random, n)};
    for (std::uint64_t l = 0, count = 1 + random() % 2; l < count; ++l) {
      const bool full = random() % 2 == 0;
      layers.push_back(fill(n, [&](Vertex i, Vertex j) { return full || i == j || random() % 4 != 0; }));
    }
    const Layout layout = list_layers(n, layers);
    const group::Group own = symmetry::compute_layout_group(layout, unlimited);
    for (std::uint64_t depth = 1; depth <= 4; ++depth) {
      std::vector<Vertex> roots, left;
      for (Vertex a = 0; a < n; ++a) {
        if (own.orbit[a] == a) roots.push_back(a);
      }
      left = roots;
      nlohmann::json evidence = nlohmann::json::object();
      for (const std::uint64_t first : drop_partly_complete(layout, own, depth, left, nullptr, unlimited)) {
        const Layout part = make_part(layout, first);
        evidence[std::to_string(first)] = certificate::to_plain(certificate::make_group_evidence(symmetry::make_structure(part), n, unlimited));
      }
      const checker::Layout theirs = convert::to_checker(layout);
      const checker::ConfirmedGroup their_group = convert::to_checker(own);
      checker::ReachMemory memory(theirs);
      std::vector<Vertex> their_roots = roots;
      checker::drop_partly_complete(theirs, their_group.group, depth, checker::parse(evidence.dump()), "needed", memory, their_roots);
      REQUIRE(their_roots == left);
      // A part with more symmetries than the layout shows nothing.
      if (depth == 1 && !(symmetry::compute_layout_group(make_part(layout, 1), unlimited).order == own.order)) {
        const Layout part = make_part(layout, 1);
        const nlohmann::json wrong{{"1", certificate::to_plain(certificate::make_group_evidence(symmetry::make_structure(part), n, unlimited))}};
        CHECK_THROWS(checker::drop_partly_complete(theirs, their_group.group, 2, checker::parse(wrong.dump()), "needed", memory, their_roots));
        ++refused;
      }
      if (left.size() == roots.size()) continue;
      ViewQuestion question;
      question.layout = &layout;
      const auto classes = list_isomorphisms(question, depth, 100'000, unlimited);
      if (!classes) continue;
      ++dropped;
      const auto is_left = [&](Vertex a) { return std::find(left.begin(), left.end(), own.orbit[a]) != left.end(); };
      for (const RootClass& alike : *classes) {
        for (const auto& [b, maps] : alike.to) {
          if (is_left(alike.root)) continue;
          for (const std::vector<Vertex>& map : maps) REQUIRE(symmetry::is_automorphism(symmetry::make_structure(layout), group::Permutation::from_images(map), unlimited));
        }
      }
    }
  }
  CHECK(dropped > 60);
  CHECK(refused > 20);
}

TEST_CASE("roots that see a member of every set of the last relation are complete") {
  std::mt19937_64 random(47);
  int complete_roots = 0, early = 0;
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(5 + random() % 4);
    std::vector<Rows> layers;
    for (std::uint64_t l = 0, count = random() % 2; l < count; ++l) layers.push_back(draw_rows(random, n));
    for (std::uint64_t l = 0; l < 2; ++l) {  // sets, of which one pair may be spoiled
      std::vector<std::uint64_t> set(n);
      for (std::uint64_t& s : set) s = random() % 3;
      const Vertex from = random() % 4 == 0 ? static_cast<Vertex>(random() % n) : n, to = static_cast<Vertex>(random() % n);
      layers.push_back(fill(n, [&](Vertex i, Vertex j) { return set[i] == set[j] && (i == j || i != from || j != to); }));
    }
    const Layout layout = list_layers(n, layers);
    const std::uint64_t first = compute_first_occurrence(layout), shown = checker::last_shown_layer(convert::to_checker(layout));
    for (std::uint64_t depth = 1; depth <= 5; ++depth) {
      const std::vector<bool> complete = find_complete_roots(layout, depth, unlimited);
      if (std::find(complete.begin(), complete.end(), true) == complete.end()) continue;
      ViewQuestion question;
      question.layout = &layout;
      const auto classes = list_isomorphisms(question, depth, 100'000, unlimited);
      if (!classes) continue;
      ++complete_roots;
      early += shown < first;
      for (const RootClass& alike : *classes) {
        for (const auto& [b, maps] : alike.to) {
          if (!complete[alike.root]) continue;
          for (const std::vector<Vertex>& map : maps) {
            if (std::find(map.begin(), map.end(), n) != map.end()) continue;  // sees its component alone
            REQUIRE(symmetry::is_automorphism(symmetry::make_structure(layout), group::Permutation::from_images(map), unlimited));
          }
        }
      }
    }
  }
  CHECK(complete_roots > 60);
  CHECK(early > 20);
}

TEST_CASE("residues and segments are asked by themselves, by the checker, too") {
  std::mt19937_64 random(3);
  int segments = 0;
  for (int k = 0; k < 120; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(3 + random() % 20), dilation = static_cast<Vertex>(2 + random() % 3);
    const bool cuts = k % 2 == 0;  // segments of several lengths, some alike
    std::vector<Vertex> segment(n, 0);
    for (Vertex i = 1; i < n; ++i) segment[i] = segment[i - 1] + (cuts && random() % 3 == 0 ? 1 : 0);
    std::vector<Rows> layers;
    for (std::uint64_t l = 0, count = 1 + random() % 2; l < count; ++l) {
      const auto step = cuts ? Vertex{1} : static_cast<Vertex>(dilation * (1 + random() % 2));
      layers.push_back(fill(n, [&, before = random() % 3, after = random() % 3, second = random() % 2 == 0](Vertex i, Vertex j) {
        return segment[i] == segment[j] && i % step == j % step && ((j + before * step >= i && j <= i + after * step) || (second && j == i + 3 * step));
      }));
    }
    const Layout layout = list_layers(n, layers);
    const checker::Layout theirs = convert::to_checker(layout);
    // The definition: what is joined, on the line, with what lies between.
    Vertex modulus = 0;
    std::set<Vertex> begins;
    for (Vertex c = 0; c < n; ++c) begins.insert(c);
    for (const Rows& rows : layers) {
      for (Vertex i = 0; i < n; ++i) {
        for (const Vertex j : rows[i]) {
          modulus = std::gcd(modulus, i < j ? j - i : i - j);
          for (Vertex c = std::min(i, j) + 1; c <= std::max(i, j); ++c) begins.erase(c);
        }
      }
    }
    const auto parts = find_closed_parts(layout, unlimited);
    REQUIRE((parts != nullptr) == (modulus > 1 || (modulus == 1 && *begins.rbegin() > 1)));
    if (parts && modulus == 1) {
      REQUIRE(std::vector<Vertex>(begins.begin(), begins.end()) == parts->first);
      segments += parts->layouts.size() < parts->first.size() ? 1 : 0;
    }
    for (const auto kind : {ClassKind::all, ClassKind::causal, ClassKind::seen}) {
      for (const bool ordinary_only : {false, true}) {
        checker::ReachMemory memory(theirs);
        const checker::ReachQuestion question{static_cast<checker::ClassKind>(kind), ordinary_only, false, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &memory};
        const Connected reach = compute_class_reach(layout, {kind, ordinary_only}, unlimited);
        const checker::Reach confirmed = checker::compute_reach(theirs, question);
        REQUIRE(confirmed.layers == reach.layers);
        ReachQuestion own;
        own.layout = &layout;
        own.wanted = {kind, ordinary_only};
        own.find_layers = own.count_unseen = true;
        if (const auto answer = answer_by_closed_parts(own, unlimited, false)) {
          REQUIRE(answer->reach.layers == answer_by_bits(own, unlimited).reach.layers);
          REQUIRE(answer->unseen == answer_by_bits(own, unlimited).unseen);
          const std::uint64_t layers_before = answer->reach.layers ? *answer->reach.layers - 1 : layout.order.size() * n;
          if (answer->reach.witness) REQUIRE(compute_latest(layout, layers_before, answer->reach.witness->reader, unlimited)[answer->reach.witness->unseen] < 0);
          if (confirmed.missed) REQUIRE(checker::compute_latest(theirs, layers_before, confirmed.missed->first)[confirmed.missed->second] < 0);
        }
        for (std::uint64_t depth = 0; depth <= 4; ++depth) REQUIRE(checker::compute_unseen(theirs, question, depth).count == compute_unseen(layout, depth, {kind, ordinary_only}, unlimited));
        REQUIRE(checker::compute_unseen(theirs, question, std::nullopt).count == compute_unseen(layout, std::nullopt, {kind, ordinary_only}, unlimited));
      }
    }
  }
  CHECK(segments > 20);
}

TEST_SUITE("slow") {
// The surroundings of so many roots take more steps than the library's sweep and the checker give them: what writes the evidence must not give them more.
TEST_CASE("views that surroundings would explain only beyond the bounds on steps are confirmed") {
  constexpr int n = 800, width = 34;
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(1);
  for (int k = n - 1; k > 0; --k) std::swap(order[k], order[random() % static_cast<std::uint64_t>(k + 1)]);
  std::vector<std::set<int>> paths(n + 1), mesh(n + 1);
  paths[n] = mesh[n] = {n};  // a register
  const auto join = [&](std::vector<std::set<int>>& rows, int v, int w) {
    rows[order[v]].insert(order[w]);
    rows[order[w]].insert(order[v]);
  };
  for (int v = 0; v < n; ++v) {
    join(paths, v, v);
    join(mesh, v, v);
    const int first = v < n / 2 ? 0 : n / 2;  // of its path
    if (v > first) join(paths, v, v - 1), join(paths, v, first);
    if (v % width != 0) join(mesh, v, v - 1);
    if (v >= width) join(mesh, v, v - width);
  }
  nlohmann::json layers = nlohmann::json::array();
  for (const auto* rows : {&paths, &mesh}) {
    layers.push_back({{"repeat", 3}, {"mixer", {{"pattern", {{"kind", "rows"}, {"rows", *rows}}}}}});
  }
  const nlohmann::json architecture{{"tokens", n}, {"dim", 4}, {"input", {{"registers", {"a"}}}}, {"target", {{"class", "seen"}}}, {"layer", layers}};
  CHECK(certificates::is_confirmed(certificates::make_from_text(architecture.dump(), "paths and a mesh")));
}
}

}  // namespace sightline::sight

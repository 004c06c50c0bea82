// Colours that tell neighbours on the line from others: what library and checker conclude about many views holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <random>

#include "../unit/sight/oracle.hpp"
#include "checker/views.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/isomorphisms.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

bool is_reflection_automorphism(const Layout& layout) {
  const Vertex n = layout.tokens;
  for (Vertex i = 0; i < n; ++i) {
    if (layout.vertex_colour[i] != layout.vertex_colour[n - 1 - i]) return false;
    for (const layout::Relation& relation : layout.relations) {
      for (Vertex j = 0; j < n; ++j) {
        if (relation.colour(i, j) != relation.colour(n - 1 - i, n - 1 - j)) return false;
      }
    }
  }
  return true;
}

/// Is every isomorphism of the views of these roots to any view the identity, or the reflection where the layout has it?
bool are_rigid_but_for_reflection(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots) {
  const Vertex n = layout.tokens;
  ViewQuestion question;
  question.layout = &layout;
  const auto classes = list_isomorphisms(question, depth, 1'000'000, unlimited);
  REQUIRE(classes);
  const auto seen = oracle::see(layout, depth);
  const bool reflects = is_reflection_automorphism(layout);
  for (const RootClass& alike : *classes) {
    for (const auto& [a, from] : alike.to) {
      if (std::find(roots.begin(), roots.end(), a) == roots.end()) continue;
      // Maps a -> b are those root -> b behind one of a -> root.
      std::vector<Vertex> back(n, 0);
      for (Vertex j = 0; j < n; ++j) {
        if (seen[alike.root][j]) back[from.front()[j]] = j;
      }
      for (const auto& [b, maps] : alike.to) {
        for (const std::vector<Vertex>& map : maps) {
          bool same = true, reflected = reflects;
          for (Vertex j = 0; j < n; ++j) {
            if (!seen[a][j]) continue;
            same = same && map[back[j]] == j;
            reflected = reflected && map[back[j]] == n - 1 - j;
          }
          if (!same && !reflected) return false;
        }
      }
    }
  }
  return true;
}

/// Windows, chunks, dilated and random rows, some of them with a token that reads, or is read by, all.
oracle::Rows draw_line_rows(std::mt19937_64& random, Vertex n) {
  const auto kind = random() % 6;
  const auto width = static_cast<Vertex>(1 + random() % 3), shift = static_cast<Vertex>(random() % 3), global = static_cast<Vertex>(random() % (4 * n));
  const bool down = random() % 5 == 0, loops = random() % 4 != 0;
  oracle::Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      const Vertex distance = i > j ? i - j : j - i;
      const bool reads = kind <= 2   ? distance <= width
                         : kind == 3 ? (i + shift) / (width + 1) == (j + shift) / (width + 1)
                         : kind == 4 ? distance == 1 || (distance % 2 == 0 && distance <= 2 * width)
                                     : distance <= 1 || random() % 4 == 0;
      if ((i == j && loops) || i == global || j == global || (reads && i != j && !(down && j > i))) rows[i].push_back(j);
    }
    if (rows[i].empty()) rows[i].push_back(i);
  }
  return rows;
}

Layout draw_line_layout(std::mt19937_64& random) {
  const auto n = static_cast<Vertex>(3 + random() % 7);
  std::vector<std::vector<oracle::Head>> layers;
  for (std::uint64_t l = 0, count = 1 + random() % 3; l < count; ++l) {
    layout::Relative relative;
    const layout::RelativeKind kinds[] = {layout::RelativeKind::distance, layout::RelativeKind::distance, layout::RelativeKind::bucket, layout::RelativeKind::bucket,
                                          layout::RelativeKind::offset, layout::RelativeKind::none};
    relative.kind = kinds[random() % 6];
    relative.buckets = 4 * static_cast<std::uint32_t>(1 + random() % 3);
    relative.max_distance = static_cast<std::uint32_t>(3 + random() % 6);
    relative.bidirectional = random() % 4 != 0;
    const layout::Cancels cancels = relative.kind == layout::RelativeKind::distance && random() % 2 == 0 ? layout::Cancels::common_shift
                                    : random() % 2 == 0                                                 ? layout::Cancels::nothing
                                                                                                        : layout::Cancels::single_colour;
    layers.push_back({{draw_line_rows(random, n), {}, relative, cancels}});
  }
  Layout layout = oracle::make_layout(n, 0, layers);
  if (random() % 8 == 0) layout.vertex_colour[random() % n] = 1;
  return layout;
}

}  // namespace

TEST_CASE("colours that tell neighbours on the line from others: isomorphisms of views are identities and reflections of the layout") {
  std::mt19937_64 random(56);
  int shown = 0, open = 0;
  for (int k = 0; k < 600; ++k) {
    CAPTURE(k);
    const Layout layout = draw_line_layout(random);
    const checker::Layout theirs = convert::to_checker(layout);
    for (std::uint64_t depth = 2; depth <= 5; ++depth) {
      CAPTURE(depth);
      std::vector<Vertex> roots;
      for (Vertex a = 0; a < layout.tokens; ++a) {
        if (random() % 3 != 0) roots.push_back(a);
      }
      const bool found = do_lines_explain(layout, depth, roots, unlimited);
      REQUIRE(checker::do_lines_explain(theirs, depth, roots) == found);
      ++(found ? shown : open);
      if (found) REQUIRE(are_rigid_but_for_reflection(layout, depth, roots));
    }
  }
  CHECK(shown > 300);
  CHECK(open > 300);
}

TEST_CASE("what a root reads keeps its colour: where that stays within equal numbers every isomorphism does") {
  std::mt19937_64 random(57);
  int shown = 0, by_parity = 0, open = 0;
  for (int k = 0; k < 600; ++k) {
    CAPTURE(k);
    const Layout layout = draw_line_layout(random);
    const Vertex n = layout.tokens;
    const checker::Layout theirs = convert::to_checker(layout);
    for (std::uint64_t depth = 1; depth <= 3; ++depth) {
      CAPTURE(depth);
      std::vector<Vertex> roots, number(n);
      for (Vertex a = 0; a < n; ++a) {
        if (random() % 2 == 0) roots.push_back(a);
      }
      if (roots.empty()) continue;
      const bool parity = random() % 2 == 0;
      for (Vertex j = 0; j < n; ++j) number[j] = parity ? j % 2 : std::min(j, static_cast<Vertex>(random() % n));
      const bool found = do_times_explain(layout, depth, roots, number, unlimited);
      if (found) REQUIRE(checker::do_times_explain(theirs, depth, roots, number));
      ++(found ? shown : open);
      by_parity += found && parity;
      if (!found) continue;
      ViewQuestion question;
      question.layout = &layout;
      const auto classes = list_isomorphisms(question, depth, 1'000'000, unlimited);
      REQUIRE(classes);
      const auto seen = oracle::see(layout, depth);
      const auto is_asked = [&](Vertex a) { return std::find(roots.begin(), roots.end(), a) != roots.end(); };
      for (const RootClass& alike : *classes) {
        for (const auto& [a, from] : alike.to) {
          for (const auto& [b, maps] : alike.to) {
            if (!is_asked(a) || !is_asked(b)) continue;
            for (const std::vector<Vertex>& map : maps) {
              for (Vertex j = 0; j < n; ++j) {
                if (seen[alike.root][j]) REQUIRE(number[from.front()[j]] == number[map[j]]);
              }
            }
          }
        }
      }
    }
  }
  CHECK(by_parity > 30);
  CHECK(shown > 60);
  CHECK(open > 300);
}

}  // namespace sightline::sight

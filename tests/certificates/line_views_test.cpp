// Colours that tell neighbours on the line from others: what library and checker conclude about many views holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// Rows of relations that no layer of the order reads do not count.
bool is_reflection_automorphism(const Layout& layout) {
  const Vertex n = layout.tokens;
  std::vector<bool> used(layout.relations.size(), false);
  for (const std::uint32_t l : layout.order) {
    for (const std::uint32_t r : layout.layers[l].relations) used[r] = true;
  }
  for (Vertex i = 0; i < n; ++i) {
    if (layout.vertex_colour[i] != layout.vertex_colour[n - 1 - i]) return false;
    for (std::size_t r = 0; r < used.size(); ++r) {
      for (Vertex j = 0; used[r] && j < n; ++j) {
        if (layout.relations[r].colour(i, j) != layout.relations[r].colour(n - 1 - i, n - 1 - j)) return false;
      }
    }
  }
  return true;
}

bool is_asked(const std::vector<Vertex>& roots, Vertex a) { return std::find(roots.begin(), roots.end(), a) != roots.end(); }

/// Is every isomorphism of the views of these roots to any view the identity, or the reflection where the layout has it?
bool are_rigid_but_for_reflection(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots) {
  const bool reflects = is_reflection_automorphism(layout);
  return each_isomorphism(layout, depth, [&](Vertex a, const auto& seen, const auto& map) { return !is_asked(roots, a) || is_identity_or_reflection(seen, map, reflects); });
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

/// Rows drawn one by one, with steps along the line in most relations, and a planted involution that is the reflection at both ends of the line and something else, or nothing, between: what
/// looks like the reflection from a root there may not be one. Rows are images of one another under it, but for some that tell.
Layout draw_planted_layout(std::mt19937_64& random, Vertex most_tokens) {
  const auto n = static_cast<Vertex>(3 + random() % (most_tokens - 2));
  std::vector<Vertex> image(n), between;
  const auto kept = static_cast<Vertex>(1 + random() % 3);
  const bool planted = random() % 4 != 0, quiet = random() % 2 == 0;  // quiet: the last tokens of the line read their neighbours alone, and these name much
  for (Vertex j = 0; j < n; ++j) image[j] = n - 1 - j;
  for (Vertex j = kept; j + kept < n; ++j) between.push_back(j);
  std::shuffle(between.begin(), between.end(), random);
  for (const Vertex j : between) image[j] = j;
  for (std::size_t k = 0; k + 1 < between.size(); k += 2) {
    if (random() % 4 == 0) continue;
    image[between[k]] = between[k + 1];
    image[between[k + 1]] = between[k];
  }
  std::vector<std::vector<oracle::Head>> layers;
  for (std::uint64_t l = 0, count = 1 + random() % 3; l < count; ++l) {
    std::vector<oracle::Head>& heads = layers.emplace_back();
    for (std::uint64_t h = 0, many = random() % 3 == 0 ? 2 : 1; h < many; ++h) {
      const std::uint32_t up = 1, down = random() % 3 == 0 ? 2 : 1, colours = 2 + static_cast<std::uint32_t>(random() % 6);
      const auto sparse = static_cast<unsigned>(2 + random() % 3);
      std::vector<std::vector<std::uint32_t>> colour(n, std::vector<std::uint32_t>(n, 0));  // 0: not read
      for (Vertex i = 0; i < n; ++i) {
        const bool near = quiet && i < kept, whole = near || random() % 3 == 0, names = near || random() % 2 == 0;
        for (Vertex j = 0; j < n; ++j) {
          if ((near && i == 0 && j > 1) || (!whole && random() % sparse != 0 && !(i == j && random() % 2 == 0))) continue;
          colour[i][j] = whole && (names || random() % 2 == 0) ? 20 + j : 10 + static_cast<std::uint32_t>(random() % colours);
        }
      }
      for (Vertex i = 0; planted && i < n; ++i) {
        const bool mirrored = image[i] > i && (i < kept || random() % 2 == 0), even = image[i] == i && random() % 2 == 0;
        for (Vertex j = 0; j < n; ++j) {
          if (mirrored) colour[image[i]][image[j]] = colour[i][j];
          if (even && image[j] > j) colour[i][image[j]] = colour[i][j];
        }
      }
      for (Vertex i = 0, steps = random() % 5; steps != 0 && i < n; ++i) {
        if (i + 1 < n) colour[i][i + 1] = up;
        if (i > 0) colour[i][i - 1] = down;
      }
      heads.push_back(oracle::make_head(colour, random() % 2 == 0 ? layout::Cancels::nothing : layout::Cancels::single_colour));
    }
  }
  std::vector<std::uint32_t> order;
  for (std::size_t k = 0, length = 1 + random() % 4; k < length; ++k) order.push_back(static_cast<std::uint32_t>(random() % layers.size()));
  Layout layout = oracle::make_layout(n, 0, layers, {}, order);
  if (random() % 8 == 0) layout.vertex_colour[random() % n] = 1;
  return layout;
}

void compare_planted(std::uint64_t seed, int count, Vertex most_tokens, int least_shown) {
  std::mt19937_64 random(seed);
  int shown = 0, open = 0;
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const Layout layout = draw_planted_layout(random, most_tokens);
    const checker::Layout theirs = convert::to_checker(layout);
    for (std::uint64_t depth = 2; depth <= 4; ++depth) {
      CAPTURE(depth);
      std::vector<Vertex> roots;
      const auto kind = random() % 3;
      for (Vertex a = 0; a < layout.tokens; ++a) {
        if (kind == 0 ? random() % 3 != 0 : kind == 1 ? random() % 4 == 0 : a == 0 || a + 1 == layout.tokens) roots.push_back(a);
      }
      const bool found = do_lines_explain(layout, depth, roots, unlimited);
      REQUIRE(checker::do_lines_explain(theirs, depth, roots) == found);
      ++(found ? shown : open);
      if (found) REQUIRE(are_rigid_but_for_reflection(layout, depth, roots));
    }
  }
  MESSAGE(shown << " questions about planted involutions answered, " << open << " not");
  CHECK(shown > least_shown);
}

/// Do all isomorphisms between the views of these roots stay within equal numbers?
void require_within_numbers(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
  const bool kept = each_isomorphism(layout, depth, [&](Vertex a, const auto& seen, const auto& map) {
    if (!is_asked(roots, a)) return true;
    for (Vertex j = 0; j < layout.tokens; ++j) {
      // Roots that are not asked about may be anything.
      if (seen[j] && is_asked(roots, map[a]) && number[j] != number[map[j]]) return false;
    }
    return true;
  });
  REQUIRE(kept);
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

TEST_CASE("planted involutions that are the reflection of the line near its ends alone") { compare_planted(58, 1500, 8, 200); }
TEST_SUITE("slow") {
  TEST_CASE("20,000 planted involutions, larger") { compare_planted(59, 20000, 11, 2000); }
}

TEST_CASE("intervals that say where they stand, away from the ends of the line") {
  std::mt19937_64 random(75);
  int shown = 0, open = 0, away = 0;
  for (int k = 0; k < 300; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(7 + random() % 5), stride = static_cast<Vertex>(2 + random() % 2), width = stride + static_cast<Vertex>(random() % 2);
    oracle::Head head;
    head.relative.kind = random() % 2 == 0 ? layout::RelativeKind::distance : layout::RelativeKind::bucket;
    head.relative.buckets = 8;
    head.relative.max_distance = 4;
    head.cancels = random() % 2 == 0 ? layout::Cancels::nothing : layout::Cancels::single_colour;
    head.rows.resize(n);
    const auto odd = static_cast<Vertex>(random() % (2 * n));  // reads less than the others
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        const Vertex distance = i > j ? i - j : j - i;
        if (distance <= (i == odd ? 1 : width) || (distance % stride == 0 && i != odd)) head.rows[i].push_back(j);
      }
    }
    const Layout layout = oracle::make_layout(n, 0, {{head}});
    const checker::Layout theirs = convert::to_checker(layout);
    for (std::uint64_t depth = 2; depth <= 3; ++depth) {
      CAPTURE(depth);
      std::vector<Vertex> roots;
      const bool middle = random() % 2 == 0;
      for (Vertex a = 0; a < n; ++a) {
        if (random() % 3 != 0 && !(middle && (a <= width || a + width + 1 >= n))) roots.push_back(a);
      }
      const bool found = do_lines_explain(layout, depth, roots, unlimited);
      REQUIRE(checker::do_lines_explain(theirs, depth, roots) == found);
      ++(found ? shown : open);
      away += found && !roots.empty() && depth == 2 && roots.front() > width && roots.back() + width + 1 < n;
      if (found) REQUIRE(are_rigid_but_for_reflection(layout, depth, roots));
    }
  }
  MESSAGE(shown << " answered, " << away << " of them with no end of the line in sight of a root's row, " << open << " not");
  CHECK(shown > 200);
  CHECK(away > 20);
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
      require_within_numbers(layout, depth, roots, number);
    }
  }
  CHECK(by_parity > 30);
  CHECK(shown > 60);
  CHECK(open > 300);
}

TEST_CASE("what fixed tokens read in one colour stays together") {
  std::mt19937_64 random(64);
  int shown = 0, in_one = 0, limited = 0, open = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const Layout layout = draw_line_layout(random);
    const Vertex n = layout.tokens;
    const checker::Layout theirs = convert::to_checker(layout);
    for (std::uint64_t depth = 2; depth <= 3; ++depth) {
      CAPTURE(depth);
      std::vector<Vertex> roots, number(n);
      for (Vertex a = 0; a < n; ++a) {
        if (random() % 3 != 0) roots.push_back(a);
      }
      if (roots.empty()) continue;
      // Most of the others are one class, as behind the last bucket of a token that reads all.
      const auto from = static_cast<Vertex>(random() % n), until = static_cast<Vertex>(from + random() % n);
      for (Vertex j = 0; j < n; ++j) number[j] = j < from || j > until ? j : from;
      const bool found = do_times_explain(layout, depth, roots, number, unlimited);
      if (found) REQUIRE(checker::do_times_explain(theirs, depth, roots, number));
      // Without rows of fixed tokens to go through the checker says less, never more.
      if (checker::do_times_explain(theirs, depth, roots, number, 0)) REQUIRE(checker::do_times_explain(theirs, depth, roots, number));
      else limited += found;
      ++(found ? shown : open);
      in_one += found && from + 1 < n && until > from;
      if (found) require_within_numbers(layout, depth, roots, number);
    }
  }
  CHECK(in_one > 60);
  CHECK(limited > 20);
  CHECK(shown > 200);
  CHECK(open > 60);
}

}  // namespace sightline::sight

// Layouts that fall apart into residues or segments: what library and checker conclude about all views, part by part, holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker/reach.hpp"
#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/closed_parts.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/symmetry/structure.hpp"

namespace sightline::sight {

namespace {

/// Token k of a part reads token k' by whether the distance is drawn, or by windows; parts are mostly alike, but for their length and for arcs that one of them lacks.
Layout draw_layout(std::mt19937_64& random, Vertex most_tokens, bool segments) {
  const auto modulus = static_cast<Vertex>(2 + random() % 3);
  const auto n = std::max<Vertex>(2 * modulus, static_cast<Vertex>(4 + random() % (most_tokens - 3)));
  // Where each token stands: its part, and its number there.
  std::vector<Vertex> part(n), place(n);
  const Vertex length = std::max<Vertex>(2, n / modulus);
  for (Vertex i = 0, begin = 0; i < n; ++i) {
    if (segments && i > 0 && (i - begin >= length ? random() % 4 != 0 : random() % 16 == 0)) begin = i;
    part[i] = segments ? begin : i % modulus;
    place[i] = segments ? i - begin : i / modulus;
  }
  std::vector<std::vector<oracle::Head>> layers;
  for (std::uint64_t l = 0, count = 1 + random() % 2; l < count; ++l) {
    oracle::Head head;
    const layout::RelativeKind kinds[] = {layout::RelativeKind::distance, layout::RelativeKind::bucket, layout::RelativeKind::offset, layout::RelativeKind::none};
    head.relative.kind = kinds[random() % 4];
    head.relative.buckets = 4 * static_cast<std::uint32_t>(1 + random() % 3);
    head.relative.max_distance = static_cast<std::uint32_t>(3 + random() % 6);
    head.relative.bidirectional = random() % 4 != 0;
    head.cancels = head.relative.kind == layout::RelativeKind::distance && random() % 2 == 0 ? layout::Cancels::common_shift
                   : random() % 2 == 0                                                      ? layout::Cancels::nothing
                                                                                            : layout::Cancels::single_colour;
    const bool window = random() % 2 == 0, coloured = random() % 3 == 0, down = random() % 4 == 0;
    const auto width = static_cast<Vertex>(1 + random() % 3);
    std::vector<bool> reads(2 * n);
    std::vector<std::uint32_t> colour(2 * n);
    for (Vertex d = 0; d < 2 * n; ++d) {
      reads[d] = random() % 2 == 0;
      colour[d] = 1 + static_cast<std::uint32_t>(random() % 2);
    }
    head.rows.resize(n);
    if (coloured) head.colours.resize(n);
    const std::uint64_t torn = random() % 3 == 0 ? random() % modulus : modulus;
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (part[j] != part[i]) continue;
        const Vertex at = place[j] + n - place[i], distance = at > n ? at - n : n - at;
        if (i != j && ((down && j > i) || !(window ? distance <= width : bool{reads[at]}) || (part[i] == torn && random() % 6 == 0))) continue;
        head.rows[i].push_back(j);
        if (coloured) head.colours[i].push_back(colour[at]);
      }
    }
    layers.push_back({head});
  }
  Layout layout = oracle::make_layout(n, 0, layers);
  if (random() % 8 == 0) layout.vertex_colour[random() % n] = 1;
  return layout;
}

void compare(std::uint64_t seed, int count, Vertex most_tokens, bool segments, int least_shown) {
  std::mt19937_64 random(seed);
  int shown = 0, open = 0, uneven = 0;
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const Layout layout = draw_layout(random, most_tokens, segments);
    const Vertex n = layout.tokens;
    const checker::Layout theirs = convert::to_checker(layout);
    const group::Group own = symmetry::compute_layout_group(layout, unlimited);
    const checker::ConfirmedGroup own_copy = convert::to_checker(own);
    const group::Membership member(own, unlimited);
    const std::vector<Vertex> number = number_symmetric_classes(own);
    for (std::uint64_t depth = 1; depth <= 4; ++depth) {
      CAPTURE(depth);
      const bool few = random() % 2 == 0;
      std::vector<Vertex> roots;
      for (Vertex a = 0; a < n; ++a) {
        if (own.orbit[a] == a && !(few && random() % 3 == 0)) roots.push_back(a);
      }
      checker::ReachMemory memory(theirs);
      const bool found = do_closed_parts_explain(layout, own, depth, roots, number, [&](const group::Permutation& tau) { return member.contains(tau); }, unlimited);
      const bool confirmed = checker::do_closed_parts_explain(theirs, own_copy.group, own.orbit, depth, roots, number, [&](const checker::Permutation& tau) {
        std::vector<group::Point> images(n);
        for (Vertex j = 0; j < n; ++j) images[j] = tau(j);
        return member.contains(group::Permutation::from_images(images));
      }, memory);
      if (found) REQUIRE(confirmed);
      ++(found ? shown : open);
      const auto parts = found ? find_closed_parts(layout, unlimited) : nullptr;
      REQUIRE((parts != nullptr) == found);
      uneven += found && std::any_of(roots.begin(), roots.end(), [&](Vertex a) { return parts->part_of(a) != parts->part_of(roots.front()); });
      if (!confirmed) continue;
      const auto is_asked = [&](Vertex j) { return std::find(roots.begin(), roots.end(), j) != roots.end(); };
      REQUIRE(each_isomorphism(layout, depth, [&](Vertex a, const auto& seen, const auto& map) {
        if (!is_asked(a) || !is_asked(map[a])) return true;
        std::vector<group::Point> from, to;
        for (Vertex j = 0; j < n; ++j) {
          if (!seen[j]) continue;
          from.push_back(j);
          to.push_back(map[j]);
        }
        return member.extends(from, to);
      }));
    }
  }
  MESSAGE(shown << " answered, " << uneven << " of them with roots of several parts, " << open << " open");
  CHECK(shown > least_shown);
  CHECK(uneven > least_shown / 10);
}

}  // namespace

TEST_CASE("layouts that fall apart into residues: isomorphisms of views are symmetries of the layout") { compare(73, 400, 10, false, 200); }
TEST_CASE("layouts that fall apart into segments: isomorphisms of views are symmetries of the layout") { compare(75, 600, 10, true, 200); }
TEST_SUITE("slow") {
  TEST_CASE("10,000 layouts of residues, larger") { compare(74, 10000, 13, false, 5000); }
  TEST_CASE("10,000 layouts of segments, larger") { compare(76, 10000, 13, true, 3000); }
}

}  // namespace sightline::sight

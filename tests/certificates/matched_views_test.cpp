// Rows that all roots see leave a vertex few places to go to: what library and checker conclude holds for every isomorphism there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker/views.hpp"
#include "listed_views.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using Images = std::vector<Vertex>;

bool is_automorphism(const Layout& layout, const Images& image) {
  const Vertex n = layout.tokens;
  std::vector<bool> used(layout.relations.size(), false);
  for (const std::uint32_t l : layout.order) {
    for (const std::uint32_t r : layout.layers[l].relations) used[r] = true;
  }
  for (Vertex i = 0; i < n; ++i) {
    if (layout.vertex_colour[i] != layout.vertex_colour[image[i]]) return false;
    for (std::size_t r = 0; r < used.size(); ++r) {
      for (Vertex j = 0; used[r] && j < n; ++j) {
        if (layout.relations[r].colour(i, j) != layout.relations[r].colour(image[i], image[j])) return false;
      }
    }
  }
  return true;
}

/// A permutation is planted: rows are images of one another under it, but for a few arcs that are changed. Some tokens, with all their images, read all and are mostly read by all, in colours that mostly
/// tell tokens apart. What all see then allows the permutation, and what some roots see may not.
Layout draw_layout(std::mt19937_64& random, Vertex most_tokens) {
  const auto n = static_cast<Vertex>(3 + random() % (most_tokens - 2));
  Images image(n), order(n);
  std::iota(order.begin(), order.end(), Vertex{0});
  std::shuffle(order.begin(), order.end(), random);
  for (Vertex at = 0; at < n;) {
    const auto length = std::min(static_cast<Vertex>(random() % 4 == 0 ? 1 : 2 + (random() % 3 == 0 ? random() % 3 : 0)), n - at);
    for (Vertex k = 0; k < length; ++k) image[order[at + k]] = order[at + (k + 1) % length];
    at += length;
  }
  std::vector<bool> hub(n, false);
  for (Vertex j = order[0]; !hub[j]; j = image[j]) hub[j] = true;
  std::vector<std::vector<oracle::Head>> layers;
  for (std::uint64_t l = 0, count = 1 + random() % 3; l < count; ++l) {
    std::vector<std::vector<std::uint32_t>> colour(n, std::vector<std::uint32_t>(n, 0)), drawn(n, std::vector<std::uint32_t>(n, 0));
    const bool hubs = random() % 4 != 0, loops = random() % 2 == 0;
    const auto colours = static_cast<std::uint32_t>(1 + random() % n), sparse = static_cast<std::uint32_t>(2 + random() % 3);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (drawn[i][j] != 0) continue;
        const bool reads = (hubs && (hub[i] || hub[j])) || (i == j ? loops : random() % sparse == 0);
        const std::uint32_t mine = !reads ? 0 : hub[i] ? 1 + static_cast<std::uint32_t>(random() % colours) : 1 + static_cast<std::uint32_t>(random() % 2);
        for (Vertex x = i, y = j; drawn[x][y] == 0; x = image[x], y = image[y]) {
          drawn[x][y] = 1;
          colour[x][y] = mine;
        }
      }
    }
    for (std::uint64_t k = random() % 3 == 0 ? 0 : 1 + random() % n; k > 0; --k) {
      const auto i = static_cast<Vertex>(random() % n), j = static_cast<Vertex>(random() % n);
      if (hub[i] && random() % 8 != 0) continue;
      if (colour[i][j] != 0 && hub[j] && random() % 4 != 0) continue;
      colour[i][j] = static_cast<std::uint32_t>(random() % 3);
    }
    layers.push_back({oracle::make_head(colour, random() % 2 == 0 ? layout::Cancels::nothing : layout::Cancels::single_colour)});
  }
  Layout layout = oracle::make_layout(n, 0, layers);
  if (random() % 8 == 0) layout.vertex_colour[random() % n] = 1;
  return layout;
}

bool agrees(const std::vector<bool>& seen, const Images& map, const Images& with) {
  for (Vertex j = 0; j < map.size(); ++j) {
    if (seen[j] && map[j] != with[j]) return false;
  }
  return true;
}

void compare(std::uint64_t seed, int count, Vertex most_tokens, int least_shown, int least_refused) {
  std::mt19937_64 random(seed);
  int shown = 0, open = 0, refused = 0, symmetries = 0;
  for (int k = 0; k < count; ++k) {
    CAPTURE(k);
    const Layout layout = draw_layout(random, most_tokens);
    const Vertex n = layout.tokens;
    const checker::Layout theirs = convert::to_checker(layout);
    for (std::uint64_t depth = 1; depth <= 4; ++depth) {
      CAPTURE(depth);
      std::vector<Vertex> roots;
      for (Vertex a = 0; a < n; ++a) {
        if (random() % 3 != 0) roots.push_back(a);
      }
      Images none(n);
      std::iota(none.begin(), none.end(), Vertex{0});
      std::vector<Images> allowed{none};
      int asked = 0;
      const bool found = do_matchings_explain(
          layout, depth, roots,
          [&](const group::Permutation& tau) {
            ++asked;
            const auto images = tau.images(n);
            const bool kept = is_automorphism(layout, {images.begin(), images.end()});
            if (kept) allowed.emplace_back(images.begin(), images.end());
            return kept;
          },
          unlimited);
      const bool confirmed = checker::do_matchings_explain(theirs, depth, roots, [&](const checker::Permutation& tau) {
        Images images(n);
        for (Vertex j = 0; j < n; ++j) images[j] = tau(j);
        return is_automorphism(layout, images);
      });
      if (found) REQUIRE(confirmed);
      // The checker goes on a little longer: what it shows besides is so as well.
      if (confirmed && !found) {
        for (Images image = none; std::next_permutation(image.begin(), image.end());) {
          if (n <= 7 && is_automorphism(layout, image)) allowed.push_back(image);
        }
        if (n > 7) continue;
      }
      ++(found ? shown : open);
      refused += found && asked + 1 > static_cast<int>(allowed.size());
      symmetries += found && allowed.size() > 1;
      if (!confirmed) continue;
      REQUIRE(each_isomorphism(layout, depth, [&](Vertex a, const auto& seen, const auto& map) {
        // Roots that are not asked about may be anything.
        const auto is_asked = [&](Vertex j) { return std::find(roots.begin(), roots.end(), j) != roots.end(); };
        if (!is_asked(a) || !is_asked(map[a])) return true;
        return std::any_of(allowed.begin(), allowed.end(), [&](const Images& with) { return agrees(seen, map, with); });
      }));
    }
  }
  MESSAGE(shown << " answered, " << refused << " of them with maps that all roots refuse, " << symmetries << " with symmetries, " << open << " open");
  CHECK(shown > least_shown);
  CHECK(refused > least_refused);
  CHECK(symmetries > least_refused);
}

}  // namespace

TEST_CASE("few places, each of which says where all others go: isomorphisms of views are symmetries of the layout") { compare(62, 1500, 7, 800, 20); }
TEST_SUITE("slow") {
  TEST_CASE("20,000 planted permutations, larger") { compare(63, 20000, 9, 10000, 200); }
}

}  // namespace sightline::sight

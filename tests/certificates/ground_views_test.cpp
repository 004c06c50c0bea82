// Views that hold all rows of what they see, where all reading ends in one set: what is said of all of them is so, by the library and by the checker (docs/theory.md 16.105).
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "checker/views.hpp"
#include "sight_convert.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "../unit/sight/oracle.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

using nlohmann::json;

// Frames whose tokens read each other, all or in a ring or one way round, beside time that goes down: mostly causal, sometimes to the frame before or to the first one
// only; a few arcs more or less.
Layout make_video(std::mt19937& random) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  const Vertex frames = 1 + draw(4), size = 2 + draw(3), hub = draw(4) == 0 ? 1 : 0, tokens = frames * size + hub, registers = draw(4) == 0 ? 1 : 0, vertices = tokens + registers;
  std::vector<Vertex> at(frames * size);  // (frame, place) -> token; behind them perhaps one that reads all
  std::iota(at.begin(), at.end(), Vertex{0});
  if (draw(3) == 0) std::shuffle(at.begin(), at.end(), random);
  if (draw(3) == 0) std::reverse(at.begin(), at.end());
  std::vector<std::vector<bool>> near(size, std::vector<bool>(size, true));  // within a frame
  if (draw(3) == 0) {
    for (Vertex x = 0; x < size; ++x) {
      for (Vertex y = 0; y < size; ++y) near[x][y] = x == y || (x + 1) % size == y || (y + 1) % size == x || draw(4) == 0;
    }
  }
  if (draw(5) == 0) {
    for (Vertex x = 0; x < size; ++x) {
      for (Vertex y = 0; y < size; ++y) near[x][y] = x == y || (x + 1) % size == y;
    }
  }
  const std::uint32_t time = draw(4), arcs = draw(3) == 0 ? 1 + draw(2) : 0;
  const bool one_layer = draw(3) == 0, space_first = draw(2) == 0;
  std::vector<std::vector<bool>> reads[2];
  for (auto& rows : reads) rows.assign(vertices, std::vector<bool>(vertices, false));
  for (Vertex t = 0; t < frames; ++t) {
    for (Vertex x = 0; x < size; ++x) {
      const Vertex i = at[t * size + x];
      for (Vertex y = 0; y < size; ++y) reads[0][i][at[t * size + y]] = near[x][y];
      for (Vertex s = 0; s <= t; ++s) reads[1][i][at[s * size + x]] = s == t || time < 2 || (time == 2 ? s + 1 == t : s == 0);
      if (registers > 0) reads[0][i][tokens] = true;
    }
  }
  for (Vertex j = 0; j < tokens && hub > 0; ++j) reads[1][tokens - 1][j] = true;
  if (registers > 0 && draw(2) == 0) reads[1][tokens][at[0]] = true;
  for (std::uint32_t k = 0; k < arcs; ++k) {
    const Vertex i = draw(tokens), j = draw(tokens);
    auto& rows = reads[draw(2)];
    rows[i][j] = !rows[i][j];
  }
  std::vector<oracle::Head> heads(2);
  for (int h = 0; h < 2; ++h) {
    heads[h].rows.resize(vertices);
    for (Vertex i = 0; i < vertices; ++i) {
      for (Vertex j = 0; j < vertices; ++j) {
        if (reads[h][i][j]) heads[h].rows[i].push_back(j);
      }
    }
  }
  std::vector<std::vector<oracle::Head>> layers;
  if (one_layer) layers = {heads};
  else layers = {{heads[space_first ? 0 : 1]}, {heads[space_first ? 1 : 0]}};
  Layout layout = oracle::make_layout(tokens, registers, layers);
  if (draw(6) == 0) layout.vertex_colour[draw(tokens)] = 7;
  return layout;
}

// Every isomorphism of these views is what an element of the group does there.
void require_explained(const Layout& layout, const group::Group& group, std::uint64_t depth, const std::vector<Vertex>& dropped, const std::vector<Vertex>& all) {
  const auto maker = make_plain_roots(layout, depth);
  const group::Membership member(group, unlimited);
  for (const Vertex a : dropped) {
    const Rooted first = maker->make(a, unlimited);
    for (const group::Permutation& g : group::list_generators(symmetry::compute_automorphisms(first.structure, unlimited), ~std::size_t{0})) {
      std::vector<group::Point> from, to;
      for (Vertex j = 0; j < layout.tokens; ++j) {
        if (first.seen[j]) from.push_back(j), to.push_back(g(j));
      }
      REQUIRE(member.extends(from, to));
    }
    for (const Vertex b : all) {
      if (b != a) REQUIRE_FALSE(symmetry::find_isomorphism(first.structure, maker->make(b, unlimited).structure, unlimited));
    }
  }
}

// What the first token sees in the end, and its rows, in one layer.
Layout make_closed(const Layout& layout) {
  std::vector<Vertex> members{0}, place(layout.vertices(), ~Vertex{0});
  std::vector<bool> in(layout.vertices(), false);
  in[0] = true;
  for (std::size_t k = 0; k < members.size(); ++k) {
    for (const layout::Relation& relation : layout.relations) {
      for (Vertex j = 0; j < layout.vertices(); ++j) {
        if (relation.colour(members[k], j) >= 0 && !in[j]) in[j] = true, members.push_back(j);
      }
    }
  }
  std::sort(members.begin(), members.end());
  Layout part;
  for (const Vertex j : members) {
    place[j] = static_cast<Vertex>(part.vertex_colour.size());
    part.vertex_colour.push_back(layout.vertex_colour[j]);
    ++(j < layout.tokens ? part.tokens : part.registers);
  }
  part.layers.emplace_back();
  part.order = {0};
  for (const layout::Relation& relation : layout.relations) {
    std::vector<std::vector<Vertex>> rows(members.size());
    for (std::size_t k = 0; k < members.size(); ++k) {
      for (const Vertex j : members) {
        if (relation.colour(members[k], j) >= 0) rows[k].push_back(place[j]);
      }
    }
    part.layers[0].relations.push_back(static_cast<std::uint32_t>(part.relations.size()));
    part.relations.emplace_back(layout::make_pattern_from_rows(part.vertices(), rows), layout::Relative{}, layout::Cancels::nothing, part.tokens);
  }
  return part;
}

}  // namespace

TEST_CASE("views that hold all rows of what they see, named beside what all reading ends in") {
  std::mt19937 random(105);
  int shown = 0, moving = 0, open = 0, confirmed = 0, refused = 0;
  for (int k = 0; k < 3000; ++k) {
    const Layout layout = make_video(random);
    const group::Group group = symmetry::compute_layout_group(layout, unlimited);
    const std::uint64_t depth = 1 + random() % 6;
    std::vector<Vertex> roots;
    for (Vertex a = 0; a < layout.tokens; ++a) {
      if (group.orbit[a] == a) roots.push_back(a);
    }
    const std::vector<Vertex> all = roots;
    const auto missing = [&](const std::vector<Vertex>& left) {
      std::vector<Vertex> dropped;
      std::set_difference(all.begin(), all.end(), left.begin(), left.end(), std::back_inserter(dropped));
      return dropped;
    };
    ViewRecords records;
    const bool is_dropped = drop_grounded(layout, group, depth, roots, records, unlimited);
    const std::vector<Vertex> dropped = missing(roots);
    REQUIRE(is_dropped == !dropped.empty());
    ++(is_dropped ? shown : open);
    moving += is_dropped && !group.is_trivial();
    require_explained(layout, group, depth, dropped, all);
    // The checker, with the group of the ground, or of what would be it, whether it is the layout's or not.
    const std::optional<Layout> found = make_ground(layout, unlimited);
    const Layout ground = found ? *found : make_closed(layout);
    if (ground.tokens < 2) continue;
    const checker::Layout theirs = convert::to_checker(layout);
    const checker::Json evidence = checker::parse(json{{"ground", certificate::to_plain(certificate::make_group_evidence(symmetry::make_structure(ground), ground.tokens, unlimited))}}.dump());
    checker::ReachMemory memory(theirs);
    std::vector<Vertex> left = all;
    try {
      checker::drop_partly_complete(theirs, convert::to_checker(group).group, depth, evidence, "needed", memory, left);
      ++confirmed;
      if (is_dropped) REQUIRE(left == roots);
      require_explained(layout, group, depth, missing(left), all);
    } catch (const checker::Rejected&) {
      ++refused;
      REQUIRE_FALSE(is_dropped);
    }
  }
  MESSAGE(shown, " shown, ", moving, " of them with symmetries, ", open, " open; checker: ", confirmed, " confirmed, ", refused, " refused");
  CHECK(shown > 100);
  CHECK(moving > 50);
  CHECK(open > 100);
  CHECK(refused > 20);
}

TEST_CASE("automorphisms of views that are known by what they do in one cell are the layout's") {
  std::mt19937 random(106);
  int shown = 0, moving = 0, open = 0;
  for (int k = 0; k < 2500; ++k) {
    const Layout layout = make_video(random);
    const group::Group group = symmetry::compute_layout_group(layout, unlimited);
    const std::uint64_t depth = 1 + random() % 5;
    const checker::Layout theirs = convert::to_checker(layout);
    const checker::ConfirmedGroup confirmed = convert::to_checker(group);
    const auto maker = make_plain_roots(layout, depth);
    const auto their_maker = checker::make_roots(theirs, false, depth);
    for (Vertex a = 0; a < layout.tokens; ++a) {
      const bool explained = does_cell_explain(maker->make(a, unlimited), a, layout, group, unlimited);
      REQUIRE(explained == checker::does_cell_explain(their_maker->make(a), a, theirs, confirmed.group));
      ++(explained ? shown : open);
      if (!explained) continue;
      const group::Membership member(group, unlimited);
      const Rooted view = maker->make(a, unlimited);
      for (const group::Permutation& g : group::list_generators(symmetry::compute_automorphisms(view.structure, unlimited), ~std::size_t{0})) {
        std::vector<group::Point> from, to;
        for (Vertex j = 0; j < layout.tokens; ++j) {
          if (view.seen[j]) from.push_back(j), to.push_back(g(j));
        }
        moving += from != to;
        REQUIRE(member.extends(from, to));
      }
    }
  }
  MESSAGE(shown, " shown, ", moving, " symmetries of theirs, ", open, " open");
  CHECK(shown > 1000);
  CHECK(moving > 1000);
  CHECK(open > 1000);
}

}  // namespace sightline::sight

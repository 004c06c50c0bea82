// Groups of grids of products: what the factors give is the group that a search finds, and the checker confirms it both ways (docs/theory.md 16.35).
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "../unit/sight/product_grids.hpp"
#include "checker/product_group.hpp"
#include "checker/views.hpp"
#include "convert.hpp"
#include "sight_convert.hpp"
#include "sightline/certificate/canonical_text.hpp"
#include "sightline/certificate/group_evidence.hpp"
#include "sightline/sight/product_group.hpp"
#include "sightline/sight/view_sweep.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

using nlohmann::json;
using Sets = std::vector<std::vector<bool>>;

/// What every place of a line reads, itself among it: intervals, rings, residues, pairs, all, itself.
Sets make_sets(std::mt19937& random, Vertex size) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  Sets reads(size, std::vector<bool>(size, false));
  const Vertex kind = draw(8), step = 1 + draw(2), bit = 1u << draw(2);
  const std::vector<oracle::Interval> intervals = oracle::make_intervals(random, size);
  for (Vertex x = 0; x < size; ++x) {
    for (Vertex y = 0; y < size; ++y) {
      const Vertex around = (y + size - x) % size;
      bool read = x == y || (kind < 4 && intervals[x].first <= y && y <= intervals[x].second);
      if (kind == 4) read = read || around == step || around == size - step;
      if (kind == 5) read = read || x % (step + 1) == y % (step + 1);
      if (kind == 6) read = read || (x ^ bit) == y;
      if (kind == 7 && step == 2) read = true;
      reads[x][y] = read;
    }
  }
  return reads;
}

Layout make_grid(std::mt19937& random, Vertex most_side) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  const Vertex height = 3 + draw(most_side - 2), width = draw(2) == 0 ? height : 3 + draw(most_side - 2), n = height * width;
  const std::uint32_t count = 1 + draw(3);
  std::vector<std::vector<oracle::Head>> layers;
  for (std::uint32_t l = 0; l < count; ++l) {
    const Sets down = make_sets(random, height), across = height == width && draw(2) == 0 ? down : make_sets(random, width);
    oracle::Head head;
    head.rows.resize(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (down[i / width][j / width] && across[i % width][j % width]) head.rows[i].push_back(j);
      }
    }
    // A token that does not read itself is no longer like the others, though the factors say so.
    if (draw(4) == 0) std::erase(head.rows[draw(n)], draw(n));
    if (const Vertex i = draw(n); draw(3) == 0) std::erase(head.rows[i], i);
    layers.push_back({head});
  }
  std::vector<std::uint32_t> order(count + draw(2));
  for (std::uint32_t& l : order) l = draw(count);
  return oracle::make_layout(n, 0, layers, {}, order);
}

/// What places of a line read, themselves among it: those before, some of those beside, or at random.
Sets make_line_part(std::mt19937& random, Vertex places) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  const Vertex kind = draw(5), reach = 1 + draw(2);
  Sets reads(places, std::vector<bool>(places, false));
  for (Vertex x = 0; x < places; ++x) {
    for (Vertex y = 0; y < places; ++y) {
      const Vertex apart = std::max(x, y) - std::min(x, y);
      const bool near = apart <= reach;
      reads[x][y] = x == y || (kind == 0 ? y < x : kind == 1 ? near : kind == 2 ? near && y < x : kind == 3 ? near || apart % (reach + 1) == 0 : draw(3) == 0);
    }
  }
  return reads;
}

/// Layers that read whole rows, whole columns, everything or the own token alone, in some order (16.54); or rows, or columns, in part, each in the same way (16.111).
Layout make_lines(std::mt19937& random, Vertex most_side, bool in_part) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  const Vertex height = 2 + draw(most_side - 1), width = 2 + draw(most_side - 1), n = height * width;
  const bool is_down = draw(2) == 0, bands = draw(4) == 0;
  const Sets part = make_line_part(random, is_down ? height : width), band = make_line_part(random, is_down ? height : width);
  std::vector<std::vector<oracle::Head>> layers;
  for (const bool one_row : {true, false}) {
    for (const bool one_column : {true, false}) {
      oracle::Head head;
      head.rows.resize(n);
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < n; ++j) {
          const Vertex x = is_down ? i / width : i % width, y = is_down ? j / width : j % width;
          if (in_part && (is_down ? !one_row && one_column : one_row && !one_column) && !part[x][y]) continue;
          if (in_part && bands && !one_row && !one_column && !band[x][y]) continue;
          if ((!one_row || i / width == j / width) && (!one_column || i % width == j % width)) head.rows[i].push_back(j);
        }
      }
      if (const Vertex i = draw(n); draw(12) == 0) std::erase(head.rows[i], i);
      layers.push_back({head});
    }
  }
  std::vector<std::uint32_t> order{1, 2};  // rows and columns, mostly
  if (draw(4) == 0) order.front() = draw(4);
  for (std::uint32_t l = draw(3); l > 0; --l) order.push_back(draw(4));
  std::shuffle(order.begin(), order.end(), random);
  return oracle::make_layout(n, 0, layers, {}, order);
}

checker::Json to_json(const json& value) { return checker::parse(value.dump()); }

void compare(const checker::ConfirmedGroup& mine, const checker::ConfirmedGroup& other) {
  REQUIRE(mine.order->factored() == other.order->factored());
  const auto list = checker::list_generators(mine.group, 5000), others = checker::list_generators(other.group, 5000);
  REQUIRE(list.size() == others.size());
  for (std::size_t k = 0; k < list.size(); ++k) REQUIRE(list[k].moves() == others[k].moves());
}

/// Evidence with something wrong; nothing where there is nothing to spoil.
json spoil(json evidence, std::mt19937& random, Vertex tokens) {
  auto& generators = evidence["generators"];
  auto& path = evidence["path"];
  switch (random() % 5) {
    case 0:
      if (!generators.empty()) generators.erase(random() % generators.size());
      break;
    case 1:
      if (!path.empty()) path.erase(random() % path.size());
      break;
    case 2: path.push_back(random() % tokens); break;
    case 3: {
      const Vertex x = random() % tokens, y = random() % tokens;
      if (x != y) generators.push_back(certificate::to_plain(certificate::to_evidence(group::Permutation::transposition(x, y))));
      break;
    }
    default:
      if (!evidence["twins"].empty()) evidence["twins"] = json::array();
  }
  return evidence;
}

/// A square grid of these factors, in one layer.
Layout make_square(const Sets& reads) {
  const auto size = static_cast<Vertex>(reads.size());
  oracle::Rows rows(size * size);
  for (Vertex i = 0; i < size * size; ++i) {
    for (Vertex j = 0; j < size * size; ++j) {
      if (reads[i / size][j / size] && reads[i % size][j % size]) rows[i].push_back(j);
    }
  }
  return oracle::make_layout(size * size, rows);
}

/// The map of places (of those listed, in a circle) down the grid, across it, and the exchange, as generators on the places listed.
json turn_and_exchange(const std::vector<Vertex>& places, Vertex size) {
  std::vector<group::Permutation> maps;
  for (const int kind : {0, 1, 2}) {
    std::vector<Vertex> images(std::size_t{size} * size);
    std::iota(images.begin(), images.end(), Vertex{0});
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (std::size_t j = 0; j < places.size(); ++j) {
        const Vertex r = places[kind == 0 ? (i + 1) % places.size() : kind == 1 ? i : j], c = places[kind == 0 ? j : kind == 1 ? (j + 1) % places.size() : i];
        images[places[i] * size + places[j]] = r * size + c;
      }
    }
    maps.push_back(group::Permutation::from_images(images));
  }
  json generators = json::array();
  for (const group::Permutation& map : maps) generators.push_back(certificate::to_plain(certificate::to_evidence(map)));
  return generators;
}

}  // namespace

TEST_CASE("maps of the factors that numbers of walks do not see through are compared with the rows") {
  // Every place reads three: walks to all of them tell nothing apart. One place breaks the circle, so only the exchange of the factors is a symmetry.
  Sets reads(5, std::vector<bool>(5, false));
  std::vector<Vertex> places(5);
  for (Vertex x = 0; x < 5; ++x) {
    places[x] = x;
    for (const Vertex step : {0u, 1u, 2u}) reads[x][(x + step) % 5] = true;
  }
  const auto confirm = [&](const Sets& sets, const std::vector<Vertex>& circle, const json& twins) {
    const Layout layout = make_square(sets);
    const json evidence = {{"failed", json::array()}, {"generators", turn_and_exchange(circle, static_cast<Vertex>(sets.size()))}, {"path", {0, circle[1]}}, {"twins", twins}};
    const checker::Layout copy = convert::to_checker(layout);
    const auto grid = checker::find_grid(copy);
    REQUIRE(grid);
    return checker::confirm_product_group(copy, *grid, to_json(evidence));
  };
  const auto whole = confirm(reads, places, json::array());
  REQUIRE(whole);
  CHECK(whole->order->decimal() == "50");
  reads[2][4] = false;
  reads[2][0] = true;
  CHECK_FALSE(confirm(reads, places, json::array()));
  // A circle of classes of one and two places in turn, each reads itself and the next: a turn by one keeps all numbers and no sizes.
  const std::vector<Vertex> class_of{0, 1, 1, 2, 3, 3};
  Sets blocks(6, std::vector<bool>(6, false));
  for (Vertex x = 0; x < 6; ++x) {
    for (Vertex y = 0; y < 6; ++y) blocks[x][y] = class_of[y] == class_of[x] || class_of[y] == (class_of[x] + 1) % 4;
  }
  CHECK_FALSE(confirm(blocks, {0, 1, 3, 4}, {{{0}}}));
}

TEST_CASE("the group of a grid of products from its factors is the layout's, and the checker confirms it from them and from all tokens") {
  std::mt19937 random(35);
  int found_groups = 0, moving = 0, exchanged = 0, twins = 0, open = 0, lies = 0, harmless = 0, lines = 0, confirmed_lines = 0, parts = 0, turned = 0;
  for (int k = 0; k < 6000; ++k) {
    const bool is_lines = k % 8 == 1, in_part = k % 8 == 3 || k % 8 == 5;
    const Layout layout = k % 2 == 0 ? oracle::make_product_grid(random, 9) : is_lines || in_part ? make_lines(random, 7, in_part) : make_grid(random, 8);
    const auto found = find_product_group(layout, unlimited);
    if (!found) {
      ++open;
      continue;
    }
    ++found_groups;
    lines += is_lines;
    const group::Group truth = symmetry::compute_layout_group(layout, unlimited);
    REQUIRE(found->group.order == truth.order);
    REQUIRE(found->group.orbit == truth.orbit);
    REQUIRE(found->group.symmetric_classes == truth.symmetric_classes);
    moving += !found->group.generators.empty();
    twins += !truth.symmetric_classes.empty();
    exchanged += found->record.path.size() > 1;
    const json evidence = certificate::to_plain(certificate::to_evidence(found->record));
    const ::convert::Owned own(symmetry::make_structure(layout));
    const checker::ConfirmedGroup from_tokens = checker::confirm_automorphisms(own.structure, layout.tokens, to_json(evidence), "group");
    REQUIRE(from_tokens.order->factored() == truth.order.factored());
    const checker::Layout copy = convert::to_checker(layout);
    const auto grid = checker::find_grid(copy);
    if (!grid) continue;  // widths are guessed from the rows
    const auto from_factors = checker::confirm_product_group(copy, *grid, to_json(evidence));
    if (from_factors) compare(*from_factors, from_tokens);
    open += !from_factors;
    confirmed_lines += is_lines && from_factors;
    parts += in_part && from_factors;
    turned += in_part && from_factors && truth.orbit.front() == truth.orbit.back();
    for (int lie = 0; lie < 4; ++lie) {
      const json spoilt = spoil(evidence, random, layout.tokens);
      if (spoilt == evidence) continue;
      const auto believed = checker::confirm_product_group(copy, *grid, to_json(spoilt));
      ++(believed ? harmless : lies);
      if (!believed) continue;
      REQUIRE(believed->order->factored() == truth.order.factored());
      // What the generators left generate, by a stabiliser chain: nothing is missing.
      REQUIRE(checker::same_order(checker::Chain(believed->group).order(), *believed->order));
      for (const checker::Permutation& g : checker::list_generators(believed->group, 5000)) REQUIRE(checker::is_isomorphism(own.structure, own.structure, g));
    }
  }
  MESSAGE(found_groups, " groups, ", moving, " move quotients, ", exchanged, " with longer paths, ", twins, " with twins, ", open, " open, ", lies, " lies refused, ", harmless, " harmless, ", parts, " lines in part, ", turned, " of them turned");
  CHECK(found_groups > 500);
  CHECK(moving > 300);
  CHECK(exchanged > 50);
  CHECK(twins > 10);
  CHECK(lies > 1000);
  CHECK(lines > 250);
  CHECK(confirmed_lines > 200);
  CHECK(parts > 300);
  CHECK(turned > 60);
}

TEST_CASE("claims about lines that are read in part are believed where they are true") {
  std::mt19937 random(111);
  int believed = 0, refused = 0, turned = 0;
  for (int trial = 0; trial < 4000; ++trial) {
    const Layout layout = make_lines(random, 6, true);
    const checker::Layout copy = convert::to_checker(layout);
    const auto grid = checker::find_grid(copy);
    if (!grid) continue;
    const Vertex width = grid->width, height = layout.tokens / width;
    // All permutations of the columns, or of the rows, and perhaps the reflection of what they stand in.
    const bool permutes_columns = random() % 2 == 0;
    std::vector<Vertex> images(layout.tokens);
    json generators = json::array(), path = json::array();
    const auto add = [&](auto&& image_of) {
      for (Vertex x = 0; x < layout.tokens; ++x) {
        const auto [r, c] = image_of(x / width, x % width);
        images[x] = r * width + c;
      }
      generators.push_back(certificate::to_plain(certificate::to_evidence(group::Permutation::from_images(images))));
    };
    const Vertex lines = permutes_columns ? width : height;
    for (Vertex k = 0; k + 1 < lines; ++k) {
      const auto swap = [k](Vertex x) { return x == k ? k + 1 : x == k + 1 ? k : x; };
      add([&](Vertex r, Vertex c) { return permutes_columns ? std::pair{r, swap(c)} : std::pair{swap(r), c}; });
      path.push_back(permutes_columns ? k : k * width);
    }
    // The reflection, or something else, or both.
    const Vertex others = permutes_columns ? height : width;
    const auto kind = random() % 5;
    const bool turns = kind == 1 || kind == 2;
    const auto add_other = [&](auto&& place) { add([&](Vertex r, Vertex c) { return permutes_columns ? std::pair{place(r), c} : std::pair{r, place(c)}; }); };
    if (turns) add_other([&](Vertex x) { return others - 1 - x; });
    if (kind == 2 || kind == 3) add_other([&](Vertex x) { return (x + 1) % others; });
    if (kind == 4) add_other([&](Vertex x) { return x == 0 || x == others - 1 ? others - 1 - x : x; });
    const json evidence = {{"failed", json::array()}, {"generators", generators}, {"path", path}, {"twins", json::array()}};
    const auto confirmed = checker::confirm_product_group(copy, *grid, to_json(evidence));
    if (!confirmed) {
      ++refused;
      continue;
    }
    ++believed;
    turned += turns ? 1 : 0;
    REQUIRE(confirmed->order->factored() == symmetry::compute_layout_group(layout, unlimited).order.factored());
    const ::convert::Owned own(symmetry::make_structure(layout));
    for (const checker::Permutation& g : checker::list_generators(confirmed->group, 5000)) REQUIRE(checker::is_isomorphism(own.structure, own.structure, g));
  }
  MESSAGE(believed, " believed, ", turned, " with a reflection, ", refused, " refused");
  CHECK(believed > 300);
  CHECK(turned > 100);
  CHECK(refused > 1000);
}

TEST_CASE("the relations of the first layers, from the factors: what they have beyond the layout is a lie") {
  constexpr Vertex side = 64, tokens = side * side;
  const auto near = [](Vertex x, Vertex y, Vertex radius) { return std::max(x, y) - std::min(x, y) <= radius; };
  const auto make = [&](bool down_only) {
    std::vector<std::vector<oracle::Head>> layers(2);
    for (Vertex l = 0; l < 2; ++l) {
      oracle::Head& head = layers[l].emplace_back();
      head.rows.resize(tokens);
      for (Vertex i = 0; i < tokens; ++i) {
        for (Vertex r = i / side < 3 ? 0 : i / side - 3; r < std::min(side, i / side + 4); ++r) {
          for (Vertex c = 0; c < side; ++c) {
            if (near(r, i / side, 3 - 2 * l) && near(c, i % side, 3 - 2 * l) && !(l == 1 && down_only && r * side + c > i)) head.rows[i].push_back(r * side + c);
          }
        }
      }
    }
    return oracle::make_layout(tokens, 0, layers);
  };
  for (const bool down_only : {false, true}) {
    const Layout layout = make(down_only);
    symmetry::SearchRecord search;
    const group::Group own = sight::compute_layout_group(layout, unlimited, nullptr), part = sight::compute_layout_group(make_part(layout, 1), unlimited, &search);
    REQUIRE(part.order == group::Order(mpz_class(8)));
    REQUIRE(own.order == group::Order(mpz_class(down_only ? 1 : 8)));
    const checker::Layout theirs = convert::to_checker(layout);
    const checker::Json evidence = checker::parse(json{{"1", certificate::to_plain(certificate::to_evidence(search))}}.dump());
    checker::ReachMemory memory(theirs);
    std::vector<Vertex> roots(tokens);
    std::iota(roots.begin(), roots.end(), Vertex{0});
    const auto drop = [&] { checker::drop_partly_complete(theirs, convert::to_checker(own).group, 64, evidence, "needed", memory, roots); };
    if (down_only) {
      CHECK_THROWS_AS(drop(), checker::Rejected);
    } else {
      drop();
      CHECK(roots.empty());  // all see all with a layer to spare
    }
  }
}

}  // namespace sightline::sight

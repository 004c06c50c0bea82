// Rows that meet every class of an earlier layer: whatever is concluded from them about two layers holds by the definition.
#include <doctest/doctest.h>

#include <random>

#include "../unit/sight/oracle.hpp"
#include "checker/read_layers.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

TEST_CASE("rows that meet every class of the layer before read everything") {
  std::mt19937 random(24);
  int shown = 0, open = 0, spoiled = 0;
  for (int k = 0; k < 1500; ++k) {
    const Vertex n = 4 + random() % 40, classes = 1 + random() % 6;
    const int kind = static_cast<int>(random() % 3);  // residues, blocks, anything
    std::vector<Vertex> class_of(n);
    for (Vertex i = 0; i < n; ++i) class_of[i] = kind == 0 ? i % classes : kind == 1 ? i * classes / n : static_cast<Vertex>(random()) % classes;
    oracle::Rows earlier(n), later(n);
    const Vertex radius = random() % n;
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (class_of[i] == class_of[j]) earlier[i].push_back(j);
        if ((i > j ? i - j : j - i) <= radius || random() % 30 == 0) later[i].push_back(j);
      }
    }
    if (random() % 5 == 0) std::swap(earlier[random() % n], earlier[random() % n]);  // as many readers as members, but others
    const bool spoils = random() % 4 == 0;
    if (spoils) {
      auto& row = (random() % 2 == 0 ? earlier : later)[random() % n];
      row.erase(row.begin() + static_cast<std::ptrdiff_t>(random() % row.size()));
    }
    const Layout layout = oracle::make_layout(n, 0, {{{earlier, {}, {}, layout::Cancels::single_colour}}, {{later, {}, {}, layout::Cancels::single_colour}}});
    ReachQuestion question;
    question.layout = &layout;
    const ReadLayer first = make_read_layer(layout, layout.layers[0], unlimited), second = make_read_layer(layout, layout.layers[1], unlimited);
    const bool says = do_rows_meet_classes(question, first, second, unlimited);
    const checker::Layout copy = convert::to_checker(layout);
    const bool confirms = checker::do_rows_meet_classes(checker::make_read_layer(copy, copy.layers[0]), checker::measure_rows(checker::make_read_layer(copy, copy.layers[1]), n), n);
    CHECK(says == confirms);
    const auto seen = oracle::see(layout, 2);
    const bool all = std::all_of(seen.begin(), seen.end(), [](const auto& row) { return std::all_of(row.begin(), row.end(), [](bool b) { return b; }); });
    if (says) REQUIRE(all);
    ++(says ? shown : open);
    spoiled += says && spoils ? 1 : 0;
  }
  CHECK(shown > 400);
  CHECK(open > 300);
  CHECK(spoiled > 10);  // the row that lost one still met all classes
}

}  // namespace sightline::sight

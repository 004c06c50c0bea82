// A question about who sees whom in a layout without registers, what following every column answers, and whether another way, in library and checker, says the same.
#pragma once

#include <doctest/doctest.h>

#include <optional>
#include <random>

#include "checker/bit_reach.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/rooted.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

class AskedColumns {
public:
  AskedColumns(std::mt19937& random, const Layout& layout) : layout_(layout) {
    question.layout = &layout;
    question.wanted.kind = static_cast<ClassKind>(random() % 3);
    question.wanted.ordinary_only = random() % 3 == 0;
    question.skip = random() % 4;
    question.count_unseen = question.find_layers = true;
    if (random() % 4 > 0) question.depth = random() % 6;
    asked.kind = static_cast<checker::ClassKind>(question.wanted.kind);
    asked.ordinary_only = question.wanted.ordinary_only;
    asked.skip = question.skip;
  }

  ReachQuestion question;
  checker::ReachQuestion asked;  ///< the same of the checker, but for the depth
  ReachAnswer expected;          ///< behind require_found

  void require_found(const ReachAnswer& found) {
    expected = answer_by_bits(question, unlimited);
    REQUIRE(found.unseen == expected.unseen);
    REQUIRE(found.reach.layers == expected.reach.layers);
    REQUIRE(found.reach.witness.has_value() == expected.reach.witness.has_value());
    if (found.reach.witness) REQUIRE(is_missed(found.reach.witness->reader, found.reach.witness->unseen));
  }

  void require_confirmed(const checker::Layout& copy, const checker::SharedLayers& shared, const std::optional<checker::Reach>& layers, const std::optional<checker::Unseen>& unseen) const {
    REQUIRE(layers.has_value());
    REQUIRE(layers->layers == expected.reach.layers);
    REQUIRE(layers->missed.has_value() == expected.reach.witness.has_value());
    if (layers->missed) REQUIRE(is_missed(layers->missed->first, layers->missed->second));
    REQUIRE(unseen.has_value());
    REQUIRE(unseen->count == expected.unseen);
    REQUIRE(unseen->first == checker::BitReach<>(copy, shared, asked).unseen(question.depth).first);
  }

private:
  /// Is j wanted by i, and out of its view one layer too early, or for ever?
  [[nodiscard]] bool is_missed(Vertex i, Vertex j) const {
    const bool wanted = i < layout_.tokens && (question.wanted.kind != ClassKind::causal || j <= i) && (!question.wanted.ordinary_only || j > 0);
    const std::uint64_t before = expected.reach.layers ? *expected.reach.layers - 1 : layout_.vertices() * layout_.order.size();
    return wanted && compute_latest_after(layout_, question.skip, before, i, unlimited)[j] < 0;
  }

  const Layout& layout_;
};

}  // namespace sightline::sight

// Causal targets whose group permutes parts of the layout: what they may use, and when it is in view, beside the definition (docs/theory.md 16.114).
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "../unit/sight/oracle.hpp"
#include "checker/parted_class.hpp"
#include "sight_convert.hpp"
#include "sightline/sight/parted_class.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

namespace {

/// Parts of one or two kinds, as segments in any order or as residues, each with rows of its own.
Layout make_parts(std::mt19937& random) {
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  const bool are_residues = draw(3) == 0;
  const Vertex parts = 2 + draw(3);
  std::vector<Vertex> part, place, size;
  std::vector<std::size_t> kind;
  if (are_residues) {
    const Vertex n = parts * (1 + draw(3)) + draw(parts);
    for (Vertex i = 0; i < n; ++i) part.push_back(i % parts), place.push_back(i / parts);
    for (Vertex c = 0; c < parts; ++c) {
      kind.push_back(draw(6) == 0 ? 1 : 0);
      size.push_back((n - c - 1) / parts + 1);
    }
  } else {
    const Vertex sizes[2] = {1 + draw(4), 1 + draw(3)};
    for (Vertex c = 0; c < parts; ++c) {
      kind.push_back(draw(3) == 0 ? 1 : 0);
      size.push_back(sizes[kind.back()]);
      for (Vertex t = 0; t < size.back(); ++t) part.push_back(c), place.push_back(t);
    }
  }
  const auto n = static_cast<Vertex>(part.size());
  std::vector<std::vector<oracle::Head>> layers;
  const Vertex count = 1 + draw(2);
  for (Vertex l = 0; l < count; ++l) {
    bool reads[2][6][6];
    for (auto& of_kind : reads) {
      for (Vertex t = 0; t < 6; ++t) {
        for (Vertex u = 0; u < 6; ++u) of_kind[t][u] = u == t || (u < t && (u + 1 == t || draw(2) == 0)) || (u > t && draw(6) == 0);
      }
    }
    oracle::Head head;
    head.rows.resize(n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (part[i] == part[j] && reads[kind[part[i]]][place[i]][place[j]]) head.rows[i].push_back(j);
      }
    }
    layers.push_back({head});
  }
  return oracle::make_layout(n, 0, layers);
}

/// By token a: the j <= a that no element of the group takes behind a.
std::vector<std::vector<bool>> list_wanted(const group::Group& group, Vertex n) {
  std::vector<std::vector<bool>> wanted(n, std::vector<bool>(n, false));
  for (Vertex a = 0; a < n; ++a) std::fill_n(wanted[a].begin(), a + 1, true);
  const std::vector<group::Permutation> generators = group::list_generators(group, 1000);
  for (bool changed = true; changed;) {
    changed = false;
    for (const group::Permutation& g : generators) {
      for (Vertex a = 0; a < n; ++a) {
        for (Vertex j = 0; j < n; ++j) {
          if (wanted[a][j] == wanted[g(a)][g(j)]) continue;
          wanted[a][j] = false;
          wanted[g(a)][g(j)] = false;
          changed = true;
        }
      }
    }
  }
  return wanted;
}

}  // namespace

TEST_CASE("what a causal target that permutes parts may use, and when that is in view") {
  std::mt19937 random(114);
  int parted = 0, across = 0, reached = 0, open = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    CAPTURE(trial);
    const Layout layout = make_parts(random);
    const Vertex n = layout.tokens;
    const group::Group group = symmetry::compute_layout_group(layout, unlimited);
    if (group.is_trivial()) continue;
    const ViewQuestion question{&layout, &group, &group, ClassKind::causal};
    const auto found = PartedClass::find(question, unlimited);
    const checker::Layout copy = convert::to_checker(layout);
    const checker::ConfirmedGroup own = convert::to_checker(group);
    checker::ViewQuestion theirs;
    theirs.layout = &copy;
    theirs.layout_group = &own;
    theirs.kind = checker::ClassKind::causal;
    checker::ReachMemory memory(copy);
    const auto other = checker::PartedClass::find(copy, theirs, memory);
    REQUIRE((other != nullptr) == (found != nullptr));
    if (!found) {
      ++open;
      continue;
    }
    ++parted;
    const auto wanted = list_wanted(group, n);
    for (Vertex a = 0; a < n; ++a) {
      for (Vertex j = 0; j < n; ++j) {
        REQUIRE(found->wants(a, j) == wanted[a][j]);
        REQUIRE(other->wants(a, j) == wanted[a][j]);
      }
    }
    std::optional<std::uint64_t> layers;
    for (std::uint64_t depth = 0; depth <= 2 * n + 2; ++depth) {
      const auto seen = oracle::see(layout, depth);
      std::uint64_t count = 0;
      std::optional<std::pair<Vertex, Vertex>> first;
      for (Vertex a = 0; a < n; ++a) {
        for (Vertex j = 0; j < n; ++j) {
          if (!wanted[a][j] || seen[a][j]) continue;
          ++count;
          if (!first) first = {a, j};
        }
      }
      const bool last = depth == 2 * n + 2;
      for (const auto& at : last ? std::vector<std::optional<std::uint64_t>>{depth, std::nullopt} : std::vector<std::optional<std::uint64_t>>{depth}) {
        const UnseenPairs pairs = found->count_unseen(at, unlimited);
        REQUIRE(pairs.count == count);
        REQUIRE(pairs.first.has_value() == first.has_value());
        if (first) REQUIRE(std::pair{pairs.first->reader, pairs.first->unseen} == *first);
        REQUIRE(other->unseen(at) == std::pair{count, first});
      }
      if (count == 0 && !layers) layers = depth;
    }
    const Connected reach = found->compute_reach(unlimited);
    REQUIRE(reach.layers == layers);
    REQUIRE(reach.witness.has_value() == (layers != std::optional<std::uint64_t>{0}));
    REQUIRE(other->reach().layers == layers);
    reached += layers.has_value();
    for (Vertex a = 0; a < n; ++a) across += std::any_of(wanted[a].begin(), wanted[a].end(), [&, j = Vertex{0}](bool is) mutable { return is && !oracle::see(layout, 2 * n + 2)[a][j++]; });
  }
  MESSAGE(parted, " parted, ", reached, " of them in view in the end, ", across, " tokens may use others, ", open, " open");
  CHECK(parted > 800);
  CHECK(reached > 200);
  CHECK(across > 500);
}

}  // namespace sightline::sight

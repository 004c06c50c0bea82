// Gatherers: whatever the checker concludes from them about two layers holds by the definition.
#include <doctest/doctest.h>

#include <random>

#include "checker/read_layers.hpp"

namespace {

using checker::Range;
using checker::ReadLayer;
using checker::Vertex;

bool is_read(const ReadLayer& layer, Vertex i, Vertex j) {
  if (i == j) return true;  // what is seen stays seen
  for (const ReadLayer::Group& group : layer.groups) {
    if (i < group.begin || i >= group.end) continue;
    for (const Range& range : layer.row(group)) {
      if (j >= range.first && j <= range.last && (j - range.first) % range.step == 0) return true;
    }
  }
  return false;
}

bool do_two_layers_show_all(const ReadLayer& earlier, const ReadLayer& later, Vertex n, bool causal) {
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < (causal ? i : n); ++j) {
      bool seen = false;
      for (Vertex k = 0; k < n && !seen; ++k) seen = is_read(later, i, k) && is_read(earlier, k, j);
      if (!seen) return false;
    }
  }
  return true;
}

/// Blocks of a stride whose last tokens are summaries; in some layers a token misses one of its ranges. The summaries of a block's readers are one list, or written out with each.
ReadLayer make_layer(Vertex n, Vertex stride, Vertex summary, bool causal, std::mt19937_64& random) {
  ReadLayer layer;
  const auto loser = static_cast<Vertex>(random() % (2 * n));
  const bool grouped = !causal && random() % 2 == 0;
  bool shares = false;
  std::uint32_t common = 0;  ///< the list of this block's summaries, 0: none yet
  for (Vertex i = 0; i < n;) {
    const Vertex block = i / stride * stride;
    const Vertex end = grouped ? std::min(n, block + stride) : i + 1;
    std::vector<Range> row{{1, block, causal ? i : std::min(n, block + stride) - 1}};
    for (Vertex column = stride - summary; column < stride; ++column) {
      // The own block has its summaries already.
      if (column < block) row.push_back({stride, column, column + (block - 1 - column) / stride * stride});
      if (!causal && block + stride + column < n) row.push_back({stride, block + stride + column, block + stride + column + (n - 1 - block - stride - column) / stride * stride});
    }
    const bool loses = loser >= i && loser < end;
    if (loses) row.erase(row.begin() + static_cast<std::ptrdiff_t>(random() % row.size()));
    if (i == block) {
      shares = random() % 2 == 0;
      common = 0;
    }
    const bool shared = shares && !loses && row.size() > 1;
    if (shared && common == 0) {
      common = static_cast<std::uint32_t>(layer.common.size());
      layer.common.push_back({layer.ranges.size(), static_cast<std::uint32_t>(row.size() - 1)});
      layer.ranges.insert(layer.ranges.end(), row.begin() + 1, row.end());
    }
    if (shared) row.resize(1);
    layer.groups.push_back({i, end, layer.ranges.size(), static_cast<std::uint32_t>(row.size()), shared ? common : 0});
    layer.ranges.insert(layer.ranges.end(), row.begin(), row.end());
    i = end;
  }
  return layer;
}

}  // namespace

TEST_CASE("what gatherers show about two layers holds by the definition") {
  std::mt19937_64 random(5);
  int shown = 0, open = 0;
  for (int k = 0; k < 600; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(8 + random() % 30), stride = static_cast<Vertex>(2 + random() % 7);
    const auto summary = static_cast<Vertex>(1 + random() % std::min<Vertex>(3, stride - 1));
    const bool causal = k % 2 == 0;
    const ReadLayer earlier = make_layer(n, stride, summary, causal, random);
    const ReadLayer later = random() % 2 == 0 ? earlier : make_layer(n, stride, summary, causal, random);
    const bool all = do_two_layers_show_all(earlier, later, n, causal);
    if (!checker::do_gatherers_suffice(earlier, later, n, causal)) {
      open += all ? 0 : 1;
      continue;
    }
    ++shown;
    REQUIRE(all);
  }
  CHECK(shown > 150);
  CHECK(open > 50);
}

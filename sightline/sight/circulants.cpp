// Layouts whose rows are one another's translates around the circle: when two tokens one step apart are told from all others by what they read in common, the
// group is that of the circle (docs/theory.md 16.82).
#include <algorithm>
#include <numeric>

#include "sightline/layout/moving_rows.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/views.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

constexpr std::size_t most_pieces = 512;

/// Every reader i reads i + S modulo n.
struct Circle {
  Vertex tokens = 0;
  std::vector<bool> reads;          ///< S, by offset 0 .. n-1
  std::vector<Vertex> read_before;  ///< members of S below an offset: read_before[d], d = 0 .. n
  [[nodiscard]] Vertex size() const { return read_before.back(); }
  /// Members of S among first, first+1, .., last, offsets of -n+1 .. n-1 that wrap around.
  [[nodiscard]] Vertex count(std::int64_t first, std::int64_t last) const {
    if (first >= 0) return read_before[static_cast<std::size_t>(last) + 1] - read_before[static_cast<std::size_t>(first)];
    if (last < 0) return count(first + tokens, last + tokens);
    return count(first + tokens, std::int64_t{tokens} - 1) + count(0, last);
  }
};

std::optional<Circle> read_circle(const layout::Pattern& pattern, const Budget& budget) {
  Circle circle;
  const Vertex n = circle.tokens = pattern.vertex_count();
  circle.reads.assign(n, false);
  std::vector<layout::Run> row;
  pattern.row(0, row);
  for (const layout::Run& run : row) {
    for (std::uint64_t j = run.first; j <= run.last; j += run.step) circle.reads[j] = true;
  }
  circle.read_before.assign(std::size_t{n} + 1, 0);
  for (Vertex d = 0; d < n; ++d) circle.read_before[d + 1] = circle.read_before[d] + (circle.reads[d] ? 1 : 0);
  const bool alike = circle.size() == 0 || circle.size() == n;  // nothing, or everything, is read
  // Runs of a row are disjoint: as many members, all of them expected, are all that are.
  std::uint64_t work = 0;
  const bool holds = layout::visit_stretches(pattern, [&](Vertex begin, Vertex end, bool moves) {
    if (end - begin > 1 && !moves && !alike) return false;
    budget.poll();
    pattern.row(begin, row);
    Vertex found = 0;
    for (const layout::Run& run : row) {
      found += run.size();
      const std::int64_t first = std::int64_t{run.first} - begin, last = std::int64_t{run.last} - begin;
      if (run.step == 1) {
        if (circle.count(first, last) != run.size()) return false;
        continue;
      }
      if ((work += run.size()) > 64 * std::uint64_t{n}) return false;
      for (std::int64_t d = first; d <= last; d += run.step) {
        if (!circle.reads[static_cast<std::size_t>(d < 0 ? d + n : d)]) return false;
      }
    }
    return found == circle.size();
  });
  if (!holds) return std::nullopt;
  return circle;
}

/// By offset: how many vertices a token and the one so much further read in common. Pairs of intervals of S are trapezoids, written down at their corners.
/// Nothing where S has too many intervals.
std::optional<std::vector<std::int64_t>> count_common_reads(const Circle& circle) {
  const std::int64_t n = circle.tokens;
  std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
  for (Vertex d = 0; d < circle.tokens; ++d) {
    if (!circle.reads[d]) continue;
    if (d > 0 && circle.reads[d - 1]) pieces.back().second = d;
    else if (pieces.size() == most_pieces) return std::nullopt;
    else pieces.emplace_back(d, d);
  }
  std::vector<std::int64_t> common(static_cast<std::size_t>(2 * n) + 1, 0);  // by difference + n - 1, as second differences
  for (const auto& [a, b] : pieces) {
    for (const auto& [c, d] : pieces) {
      const std::int64_t least = c - b + n - 1;
      ++common[static_cast<std::size_t>(least)];
      --common[static_cast<std::size_t>(least + (b - a) + 1)];
      --common[static_cast<std::size_t>(least + (d - c) + 1)];
      ++common[static_cast<std::size_t>(least + (b - a) + (d - c) + 2)];
    }
  }
  std::partial_sum(common.begin(), common.end(), common.begin());
  std::partial_sum(common.begin(), common.end(), common.begin());
  // The difference d - n is d around the circle.
  for (std::int64_t d = n - 1; d > 0; --d) common[static_cast<std::size_t>(d)] = common[static_cast<std::size_t>(d - 1)] + common[static_cast<std::size_t>(d + n - 1)];
  common[0] = circle.size();
  common.resize(static_cast<std::size_t>(n));
  return common;
}

/// What every automorphism keeps of two tokens so far apart, in one number: what they read in common, and whether they read each other.
struct Steps {
  std::vector<std::uint64_t> kept;  ///< by offset
  bool reflected = true;            ///< does x -> -x keep all rows?
};

std::optional<Steps> describe_steps(const Layout& layout, const Budget& budget) {
  const Vertex n = layout.tokens;
  Steps steps{std::vector<std::uint64_t>(n, 0)};
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] == 0) continue;
    const layout::Relation& relation = layout.relations[r];
    if (!relation.is_plain()) return std::nullopt;
    const std::optional<Circle> circle = read_circle(relation.pattern(), budget);
    if (!circle) return std::nullopt;
    const auto common = count_common_reads(*circle);
    if (!common) return std::nullopt;
    for (Vertex d = 1; d < n; ++d) {
      const std::uint64_t there = circle->reads[d] ? 1 : 0, back = circle->reads[n - d] ? 1 : 0;
      steps.kept[d] = mix(steps.kept[d] + mix(static_cast<std::uint64_t>((*common)[d]) * 4 + there * 2 + back));
      steps.reflected = steps.reflected && there == back;
    }
  }
  return steps;
}

/// A step that goes round the whole circle and that only itself and its opposite are like. Equal numbers may differ all the same; different ones differ.
std::optional<Vertex> find_own_step(const Steps& steps) {
  const auto n = static_cast<Vertex>(steps.kept.size());
  const auto& kept = steps.kept;
  const auto is_like = [&](Vertex d, Vertex e) { return kept[d] == kept[e] || kept[d] == kept[n - e]; };
  Vertex d = 2;
  while (d + 1 < n && !is_like(d, 1)) ++d;
  if (d + 1 == n) return 1;
  std::vector<std::uint64_t> sorted(kept.begin() + 1, kept.end());
  std::sort(sorted.begin(), sorted.end());
  const auto stands_once_each_way = [&](Vertex e) {
    const auto occurrences = [&](std::uint64_t value) { return std::ranges::equal_range(sorted, value).size(); };
    const std::size_t expected = kept[e] == kept[n - e] ? 2 : 1;
    return occurrences(kept[e]) == expected && occurrences(kept[n - e]) == expected;
  };
  for (Vertex e = 2; 2 * e < n; ++e) {
    if (std::gcd(e, n) == 1 && stands_once_each_way(e)) return e;
  }
  return std::nullopt;
}

}  // namespace

std::optional<group::Group> find_circulant_group(const Layout& layout, const Budget& callers_budget, symmetry::SearchRecord& record) {
  const Budget budget = callers_budget;
  const Vertex n = layout.tokens;
  // On fewer tokens some of these groups hold transpositions, and other rooms expect these as classes.
  constexpr Vertex fewest_tokens = 5;
  if (n < fewest_tokens || layout.registers > 0 || layout.order.empty()) return std::nullopt;
  if (std::any_of(layout.vertex_colour.begin(), layout.vertex_colour.end(), [&](std::uint64_t c) { return c != layout.vertex_colour[0]; })) return std::nullopt;
  const Booking booking(budget, std::uint64_t{n} * 40);
  const std::optional<Steps> steps = describe_steps(layout, budget);
  if (!steps) return std::nullopt;
  const std::optional<Vertex> own = find_own_step(*steps);
  if (!own) return std::nullopt;

  group::Group result = group::make_trivial_group(n);
  std::fill(result.orbit.begin(), result.orbit.end(), 0);
  result.order = group::Order(mpz_class(steps->reflected ? mpz_class(2) * n : mpz_class(n)));
  record = {};
  record.is_tight = true;
  const auto add_generator = [&](auto&& image_of) {
    std::vector<group::Point> images(n);
    symmetry::MovedPairs& moved = record.generators.emplace_back();
    for (Vertex x = 0; x < n; ++x) {
      images[x] = image_of(x);
      if (images[x] != x) moved.emplace_back(x, images[x]);
    }
    result.generators.push_back(group::Permutation::from_images(images));
  };
  record.path.push_back(0);
  if (steps->reflected) {
    record.path.push_back(*own);
    add_generator([n](Vertex x) { return x == 0 ? 0 : n - x; });
    add_generator([n](Vertex x) { return x <= 1 ? 1 - x : n + 1 - x; });
  } else {
    add_generator([n](Vertex x) { return x + 1 < n ? x + 1 : 0; });
  }
  return result;
}

}  // namespace sightline::sight

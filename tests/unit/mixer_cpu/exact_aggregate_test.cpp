// Exact mode of sums, means and maxima: f(sX) = s f(X) bit for bit beside rotations, reflections, hubs and twins.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "call.hpp"
#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

struct Sums {
  std::int64_t width = 20;
  std::vector<float> value, weight, grad_out, out, grad_value, grad_weight;
};

std::vector<float> move_tokens(const std::vector<float>& from, const std::vector<std::int64_t>& images) {
  std::vector<float> to(from.size());
  const auto entries = static_cast<std::int64_t>(from.size() / images.size());
  for (std::size_t v = 0; v < images.size(); ++v)
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(v) * entries, entries, to.begin() + images[v] * entries);
  return to;
}

void aggregate_both(const Plan& plan, Aggregation aggregation, Sums& sums, const Execution& execution) {
  const std::int64_t n = plan.readers();
  const std::int64_t width = sums.width;
  const Shape shape{1, 1, 1, n, n, 0, width};
  const auto view = [&](auto* data) {
    return View<std::remove_pointer_t<decltype(data)>>{data, n * width, n * width, width};
  };
  const AggregateInputs<float> in{view(static_cast<const float*>(sums.value.data())),
                                  sums.weight.empty() ? nullptr : sums.weight.data(), nullptr};
  sums.out.resize(sums.value.size());
  sums.grad_value.resize(sums.value.size());
  sums.grad_weight.resize(sums.weight.size());
  aggregate<float>(plan, aggregation, shape, in, view(sums.out.data()), execution);
  aggregate_backward<float>(plan, aggregation, shape, in, view(static_cast<const float*>(sums.grad_out.data())),
                            view(sums.grad_value.data()), sums.weight.empty() ? nullptr : sums.grad_weight.data(),
                            execution);
}

// Moved, on several threads, and near the reference's result.
void check_aggregates(const Plan& plan, const std::vector<std::int64_t>& images, bool weighted, Random& random,
                      std::int64_t width = 20, InstructionSet set = InstructionSet::best) {
  for (const Aggregation aggregation : {Aggregation::sum, Aggregation::mean, Aggregation::max}) {
    if (weighted && aggregation == Aggregation::max)
      continue;
    for (const bool whole : {false, true}) { // whole numbers: many maxima tie
      CAPTURE(static_cast<int>(aggregation));
      CAPTURE(whole);
      Sums sums;
      sums.width = width;
      const auto draw = [&](std::size_t count) {
        std::vector<float> to(count);
        for (float& x : to)
          x = whole ? static_cast<float>(pick(random, -2, 2)) : static_cast<float>(pick(random, -1000000, 1000000)) / 7e5F;
        return to;
      };
      const auto size = static_cast<std::size_t>(plan.readers() * width);
      sums.value = draw(size);
      sums.grad_out = draw(size);
      sums.weight = draw(weighted ? static_cast<std::size_t>(plan.colours()) : 0);
      if (whole) {
        sums.value[size / 2] = std::numeric_limits<float>::infinity();
        sums.value[size / 3] = std::numeric_limits<float>::quiet_NaN();
      }
      Sums moved = sums, slow = sums;
      moved.value = move_tokens(sums.value, images);
      moved.grad_out = move_tokens(sums.grad_out, images);
      Execution execution;
      execution.exact = true;
      execution.instructions = set;
      aggregate_both(plan, aggregation, sums, execution);
      execution.threads = 3;
      aggregate_both(plan, aggregation, moved, execution);
      CHECK(same_bits(move_tokens(sums.out, images), moved.out));
      CHECK(same_bits(move_tokens(sums.grad_value, images), moved.grad_value));
      execution.implementation = Implementation::reference;
      aggregate_both(plan, aggregation, slow, execution);
      for (std::size_t k = 0; k < size; ++k) {
        if (slow.out[k] == slow.out[k] && slow.out[k] - slow.out[k] == 0)
          REQUIRE(sums.out[k] == doctest::Approx(slow.out[k]).epsilon(1e-5).scale(10));
        else
          REQUIRE((sums.out[k] == slow.out[k] || (sums.out[k] != sums.out[k] && slow.out[k] != slow.out[k])));
        REQUIRE(sums.grad_value[k] == doctest::Approx(slow.grad_value[k]).epsilon(1e-5).scale(10));
      }
    }
  }
}

std::shared_ptr<const Plan> plan_of(const layout::Pattern& pattern) {
  const layout::Relation relation(pattern, {}, layout::Cancels::nothing, pattern.vertex_count());
  return make_plan({&relation, 1}, Budget());
}

} // namespace

TEST_CASE("exact aggregates: rings, hubs, twins, taps") {
  Random random(31);
  constexpr std::int64_t n = 150;
  std::vector<std::int64_t> turned(n), mirrored(n), around(n), shuffled(n);
  for (std::int64_t v = 0; v < n; ++v) {
    turned[static_cast<std::size_t>(v)] = (v + 40) % n;
    mirrored[static_cast<std::size_t>(v)] = (n + 40 - v) % n;
    around[static_cast<std::size_t>(v)] = v == 0 ? 0 : 1 + (v + 70) % (n - 1);
    shuffled[static_cast<std::size_t>(v)] = v;
  }
  std::shuffle(shuffled.begin(), shuffled.end(), random);
  layout::PatternSpec ring;
  ring.kind = layout::PatternKind::ring;
  ring.radius = 3;
  const auto ring_plan = plan_of(layout::make_patterns(ring, {n, 0, 1}, Budget()).front());
  check_aggregates(*ring_plan, turned, false, random);
  check_aggregates(*ring_plan, mirrored, false, random);
  std::vector<std::vector<layout::Vertex>> star(n);
  for (layout::Vertex v = 0; v < n; ++v) {
    star[0].push_back(v);
    if (v > 0) {
      star[v] = {0, v == 1 ? static_cast<layout::Vertex>(n - 1) : v - 1, v == n - 1 ? 1 : v + 1};
      std::sort(star[v].begin(), star[v].end());
    }
  }
  check_aggregates(*plan_of(layout::make_pattern_from_rows(n, star)), around, false, random);
  check_aggregates(*plan_of(layout::make_patterns({}, {n, 0, 1}, Budget()).front()), shuffled, false, random);
  layout::PatternSpec blocks;
  blocks.kind = layout::PatternKind::blocks;
  blocks.size = 30;
  std::vector<std::int64_t> exchanged(n);
  for (std::int64_t v = 0; v < n; ++v)
    exchanged[static_cast<std::size_t>(v)] = (v / 30 + 2) % 5 * 30 + (v * 7 + v / 30) % 30;
  check_aggregates(*plan_of(layout::make_patterns(blocks, {n, 0, 1}, Budget()).front()), exchanged, false, random);
  const std::vector<std::int64_t> taps = {-2, 0, 1, 5};
  check_aggregates(*make_convolution_plan(n, 0, taps, Budget()), turned, true, random);
}

// Rows of few reads and whole vectors, all alike: to the right, to the left, themselves, what lies opposite, a hub.
TEST_CASE("exact aggregates: short rows on every set") {
  Random random(33);
  constexpr std::int64_t n = 16;
  std::vector<std::int64_t> turned(n), mirrored(n), around(n);
  for (std::int64_t v = 0; v < n; ++v) {
    turned[static_cast<std::size_t>(v)] = (v + 5) % n;
    mirrored[static_cast<std::size_t>(v)] = (n + 3 - v) % n;
    around[static_cast<std::size_t>(v)] = v == 0 ? 0 : 1 + (n - 1 - v + 4) % (n - 1);
  }
  const auto circulant = [&](const std::vector<layout::Vertex>& offsets) {
    std::vector<std::vector<layout::Vertex>> rows(n);
    for (layout::Vertex v = 0; v < n; ++v) {
      for (const layout::Vertex offset : offsets)
        rows[v].push_back((v + offset) % n);
      std::sort(rows[v].begin(), rows[v].end());
    }
    return plan_of(layout::make_pattern_from_rows(n, rows));
  };
  std::vector<std::vector<layout::Vertex>> star(n);
  for (layout::Vertex v = 0; v < n; ++v) {
    star[0].push_back(v);
    if (v > 0) {
      star[v] = {0, v, v == 1 ? static_cast<layout::Vertex>(n - 1) : v - 1, v == n - 1 ? 1 : v + 1};
      std::sort(star[v].begin(), star[v].end());
    }
  }
  const auto hub = plan_of(layout::make_pattern_from_rows(n, star));
  for (const InstructionSet set : available_sets()) {
    for (const std::int64_t width : {16, 20, 64}) {
      for (const std::vector<layout::Vertex>& offsets : std::vector<std::vector<layout::Vertex>>{
               {0, 1, 15}, {1, 15}, {0, 1, 2, 14, 15}, {1, 2, 14, 15}, {0, 1, 8, 15}, {1, 8, 15}, {0, 1, 2, 3, 13, 14, 15}}) {
        const auto plan = circulant(offsets);
        check_aggregates(*plan, turned, false, random, width, set);
        check_aggregates(*plan, mirrored, false, random, width, set);
      }
      check_aggregates(*hub, around, false, random, width, set);
    }
  }
}

// Exact mode writes no -0 and every NaN alike.
TEST_CASE("canonical rows on every set") {
  const auto check = [](auto zero, auto bits) {
    using Real = decltype(zero);
    using Bits = decltype(bits);
    using Limits = std::numeric_limits<Real>;
    const auto number = [](Bits of) {
      Real x;
      std::memcpy(&x, &of, sizeof x);
      return x;
    };
    const Bits sign = Bits{1} << (8 * sizeof(Real) - 1);
    Bits infinite, none;
    const Real infinity = Limits::infinity(), nan = Limits::quiet_NaN();
    std::memcpy(&infinite, &infinity, sizeof infinite);
    std::memcpy(&none, &nan, sizeof none);
    const std::vector<Real> same = {zero, Real(1), Real(-1), infinity, -infinity, Limits::denorm_min(), -Limits::denorm_min(), Limits::max(),
                                    -Limits::min(), Real(3.25)};
    const std::vector<Real> nans = {number(infinite + 1), number(sign | (infinite + 5)), number(none | 77), number(sign | none)};
    for (const InstructionSet set : available_sets()) {
      for (std::size_t width = 1; width < 40; ++width) {
        std::vector<Real> row(width), expected(width);
        for (std::size_t k = 0; k < width; ++k) {
          const std::size_t kind = (k * 7 + width) % 15;
          row[k] = kind < same.size() ? same[kind] : kind == same.size() ? -zero : nans[kind - same.size() - 1];
          expected[k] = kind < same.size() ? same[kind] : kind == same.size() ? zero : nan;
        }
        cpu::find_engine<Real>(set).make_canonical(row.data(), static_cast<std::int64_t>(width));
        CHECK(std::memcmp(row.data(), expected.data(), width * sizeof(Real)) == 0);
      }
    }
  };
  check(0.0F, std::uint32_t{0});
  check(0.0, std::uint64_t{0});
}

// Rows wider than what is taken at once, whole vectors and what is left of them; short rows and long ones; ties, which go to
// the first read whatever order the runs stand in.
TEST_CASE("aggregates of wide rows: every set and number of threads, beside the reference") {
  Random random(32);
  constexpr std::int64_t n = 24;
  layout::PatternSpec ring, blocks;
  ring.kind = layout::PatternKind::ring;
  ring.radius = 3;
  blocks.kind = layout::PatternKind::blocks;
  blocks.size = 6;
  const std::vector<std::int64_t> taps = {-2, 0, 1, 5};
  const std::vector<std::shared_ptr<const Plan>> plans = {
      plan_of(layout::make_patterns(ring, {n, 0, 1}, Budget()).front()), plan_of(layout::make_patterns(blocks, {n, 0, 1}, Budget()).front()),
      make_full_plan(n, n), make_convolution_plan(n, 0, taps, Budget())};
  for (const std::shared_ptr<const Plan>& plan : plans) {
    for (const Aggregation aggregation : {Aggregation::sum, Aggregation::mean, Aggregation::max}) {
      CAPTURE(static_cast<int>(aggregation));
      Sums slow;
      slow.width = pick(random, 270, 360);
      const auto draw = [&](std::int64_t count) {
        std::vector<float> to(static_cast<std::size_t>(count));
        for (float& x : to)
          x = static_cast<float>(pick(random, -6, 6)) / 4;
        return to;
      };
      slow.value = draw(n * slow.width);
      slow.grad_out = draw(n * slow.width);
      if (plan == plans.back() && aggregation != Aggregation::max)
        slow.weight = draw(plan->colours());
      slow.value[100] = std::numeric_limits<float>::quiet_NaN();
      slow.value[300] = aggregation == Aggregation::max ? -std::numeric_limits<float>::infinity() : 0;
      Execution execution;
      for (const InstructionSet set : available_sets()) {
        Sums sums = slow, again = slow;
        execution.instructions = set;
        execution.implementation = Implementation::cpu;
        execution.threads = 1;
        aggregate_both(*plan, aggregation, sums, execution);
        execution.threads = 3;
        aggregate_both(*plan, aggregation, again, execution);
        execution.implementation = Implementation::reference;
        if (slow.out.empty())
          aggregate_both(*plan, aggregation, slow, execution);
        CHECK(same_bits(sums.out, again.out));
        CHECK(same_bits(sums.grad_value, again.grad_value));
        const auto near = [&](const std::vector<float>& a, const std::vector<float>& b) {
          REQUIRE(a.size() == b.size());
          for (std::size_t k = 0; k < a.size(); ++k)
            REQUIRE((a[k] == b[k] || (a[k] != a[k] && b[k] != b[k]) || std::abs(a[k] - b[k]) < 1e-5F * (10 + std::abs(b[k]))));
        };
        near(sums.out, slow.out);
        near(sums.grad_value, slow.grad_value);
        near(sums.grad_weight, slow.grad_weight);
      }
    }
  }
}

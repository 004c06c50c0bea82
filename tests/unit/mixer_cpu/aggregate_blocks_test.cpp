// Sums whose weights are a matrix go by products of matrices: a weight per pair of tokens, Linformer's pooling, long
// convolutions; beside the reference, and with the same bits whatever the number of threads.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "call.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

std::shared_ptr<const Plan> plan_with_pairs(const layout::Pattern& pattern, layout::Vertex tokens) {
  layout::Relative pairs;
  pairs.kind = layout::RelativeKind::pair;
  const layout::Relation relation(pattern, pairs, layout::Cancels::nothing, tokens);
  return make_plan({&relation, 1}, Budget());
}

template <class Real> struct Weighted {
  Shape shape;
  std::vector<Real> value, weight, grad_out, out, grad_value, grad_weight;
  std::vector<std::int64_t> lengths;

  void run(const Plan& plan, Aggregation aggregation, const Execution& execution) {
    const Shape& s = shape;
    const auto view = [&](auto* data, std::int64_t heads, std::int64_t tokens) { // [batch, token, head, entry]
      return View<std::remove_pointer_t<decltype(data)>>{data, tokens * heads * s.value_width, s.value_width, heads * s.value_width};
    };
    const AggregateInputs<Real> in{view(static_cast<const Real*>(value.data()), s.key_heads, s.reads), weight.data(),
                                   lengths.empty() ? nullptr : lengths.data()};
    // What is not written must not pass for right.
    out.assign(grad_out.size(), std::numeric_limits<Real>::quiet_NaN());
    grad_value.assign(value.size(), std::numeric_limits<Real>::quiet_NaN());
    grad_weight.assign(weight.size(), std::numeric_limits<Real>::quiet_NaN());
    aggregate<Real>(plan, aggregation, s, in, view(out.data(), s.heads, s.readers), execution);
    aggregate_backward<Real>(plan, aggregation, s, in, view(static_cast<const Real*>(grad_out.data()), s.heads, s.readers),
                             view(grad_value.data(), s.key_heads, s.reads), grad_weight.data(), execution);
  }
};

template <class Real> void check(const Plan& plan, bool has_lengths, Random& random, bool is_weighted = true) {
  Weighted<Real> given;
  const std::int64_t width = chance(random, 50) ? 64 : pick(random, 1, 90), heads = pick(random, 1, 2);
  given.shape = {2, heads, 1, plan.readers(), plan.reads(), 0, width};
  const auto draw = [&](std::int64_t count) {
    std::vector<Real> to(static_cast<std::size_t>(count));
    for (Real& x : to)
      x = static_cast<Real>(pick(random, -1000000, 1000000)) / Real(7e5);
    return to;
  };
  given.value = draw(2 * plan.reads() * width);
  given.grad_out = draw(2 * heads * plan.readers() * width);
  given.weight = draw(is_weighted ? heads * plan.colours() : 0);
  if (has_lengths)
    given.lengths = {pick(random, 0, 150), pick(random, 0, 150)};
  given.value[given.value.size() / 2] = std::numeric_limits<Real>::infinity();
  Weighted<Real> slow = given;
  Execution execution;
  execution.implementation = Implementation::reference;
  const Aggregation aggregation = chance(random, is_weighted ? 15 : 50) ? Aggregation::mean : Aggregation::sum; // means are not taken so
  slow.run(plan, aggregation, execution);
  execution.implementation = Implementation::cpu;
  for (const InstructionSet set : available_sets()) {
    execution.instructions = set;
    Weighted<Real> one = given, three = given;
    execution.threads = 1;
    one.run(plan, aggregation, execution);
    execution.threads = 3;
    three.run(plan, aggregation, execution);
    CHECK(same_bits(one.out, three.out));
    CHECK(same_bits(one.grad_value, three.grad_value));
    CHECK(same_bits(one.grad_weight, three.grad_weight));
    const auto near = [](const std::vector<Real>& a, const std::vector<Real>& b) {
      std::size_t wrong = 0;
      for (std::size_t k = 0; k < a.size(); ++k)
        wrong += !(a[k] == b[k] || (a[k] != a[k] && b[k] != b[k]) || std::abs(a[k] - b[k]) < (sizeof(Real) == 4 ? 1e-5 : 1e-13) * 60);
      return wrong == 0;
    };
    CHECK(near(one.out, slow.out));
    CHECK(near(one.grad_value, slow.grad_value));
    CHECK(near(one.grad_weight, slow.grad_weight));
  }
}

} // namespace

// Backward one sum, written to every token.
TEST_CASE("sums and means of everything") {
  Random random(42);
  layout::PatternSpec full;
  const layout::Relation relation(layout::make_patterns(full, {90, 2, 1}, Budget()).front(), {}, layout::Cancels::nothing, 90);
  const std::vector<std::shared_ptr<const Plan>> plans = {make_full_plan(150, 150), make_full_plan(150, 7), make_full_plan(1, 150),
                                                          make_plan({&relation, 1}, Budget())};
  for (const auto& plan : plans) {
    for (int k = 0; k < 4; ++k) {
      check<float>(*plan, k % 2 == 1, random, false);
      check<double>(*plan, k % 2 == 1, random, false);
    }
  }
}

TEST_CASE("weights per pair, poolings and long convolutions go by products of matrices") {
  Random random(41);
  constexpr layout::Vertex n = 150;
  const auto pattern_of = [&](layout::PatternSpec spec, layout::Vertex registers) {
    return layout::make_patterns(spec, {n, registers, 1}, Budget()).front();
  };
  layout::PatternSpec full, causal, window, global;
  causal.causal = true;
  window.kind = global.kind = layout::PatternKind::window;
  window.radius = 70;
  global.radius = 20;
  global.global = {0, 100};
  std::vector<std::int64_t> taps(80);
  for (std::size_t t = 0; t < taps.size(); ++t)
    taps[t] = static_cast<std::int64_t>(t) - 20;
  const std::vector<std::shared_ptr<const Plan>> plans = {plan_with_pairs(pattern_of(full, 0), n), plan_with_pairs(pattern_of(full, 3), n),
                                                          plan_with_pairs(pattern_of(causal, 0), n), plan_with_pairs(pattern_of(window, 0), n),
                                                          plan_with_pairs(pattern_of(global, 2), n), make_full_plan(37, n, true),
                                                          make_convolution_plan(n, 0, taps, Budget())};
  for (std::size_t p = 0; p < plans.size(); ++p) {
    CAPTURE(p);
    check<float>(*plans[p], false, random);
    check<float>(*plans[p], true, random);
    check<double>(*plans[p], chance(random, 50), random);
  }
}

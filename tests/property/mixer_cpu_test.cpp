// The fast implementation against the reference over a grid of (layout, n, width, heads, kernel, dtype): its distance
// from the float64 reference is at most 1.5 times (gradients: twice) that of the reference in the same precision.
// float64 itself is held to the float32 reference's error scaled by the ratio of the two precisions.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "problem.hpp"
#include "sightline/layout/pattern_spec.hpp"

namespace sightline::mixer {
namespace {

using layout::PatternKind;
using layout::PatternSpec;

PatternSpec make_spec(PatternKind kind) {
  PatternSpec spec;
  spec.kind = kind;
  return spec;
}

// The layouts that people use, at n tokens.
Heads make_heads(const std::string& name, std::int64_t n, Random& random) {
  PatternSpec spec;
  std::int64_t registers = 0;
  layout::Relative relative;
  if (name == "causal")
    spec.causal = true;
  if (name == "window" || name == "longformer" || name == "dilated") {
    spec = make_spec(PatternKind::window);
    spec.before = std::max<std::int64_t>(n / 6, 1);
    if (name != "window")
      spec.after = spec.before;
    if (name == "longformer")
      spec.global = {0};
    if (name == "dilated")
      spec.dilation = 3;
  }
  if (name == "bigbird") {
    spec = make_spec(PatternKind::bigbird);
    spec.block = std::max<std::int64_t>(n / 12, 1);
    spec.random_blocks = 1;
    spec.globals = 2;
  }
  if (name == "ring") {
    spec = make_spec(PatternKind::ring);
    spec.radius = 1;
  }
  if (name == "star") {
    spec = make_spec(PatternKind::star);
    registers = 1;
  }
  if (name == "swin") {
    spec = make_spec(PatternKind::blocks);
    spec.size = std::min<std::int64_t>(n, 49);
  }
  if (name == "shifted") {
    spec = make_spec(PatternKind::shifted_blocks);
    spec.size = std::min<std::int64_t>(n, 16);
    spec.shift = *spec.size / 2;
  }
  if (name == "random") {
    spec = make_spec(PatternKind::random);
    spec.degree = std::min<std::int64_t>(n - 1, 32);
    spec.seed = random();
  }
  if (name == "offsets")
    relative.kind = layout::RelativeKind::offset;
  if (name == "buckets")
    relative.kind = layout::RelativeKind::bucket;
  if (name == "alibi") {
    relative.kind = layout::RelativeKind::distance;
    spec.causal = true;
  }
  const layout::PatternSize size{static_cast<layout::Vertex>(n), static_cast<layout::Vertex>(registers), 1};
  Heads heads;
  heads.name = fmt::format("{} {}", name, n);
  heads.relations.emplace_back(layout::make_patterns(spec, size, Budget()).front(), relative, layout::Cancels::nothing,
                               size.tokens);
  return heads;
}

/// Squared errors of one tensor, added up over its numbers and over the draws of a problem.
struct Errors {
  std::string what;
  double ratio = 0;   ///< what the error may be beside the reference's
  double natural = 0; ///< what is rounded before the entries cancel
  double fast32 = 0, fast64 = 0, slow32 = 0, truth = 0, count = 0;
  [[nodiscard]] double rms(double squares) const { return std::sqrt(squares / std::max(count, 1.0)); }
};

template <class Real> double add_squares(const std::vector<Real>& a, const std::vector<double>* truth) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    sum += std::pow(double(a[k]) - (truth == nullptr ? 0 : (*truth)[k]), 2);
  return sum;
}

template <class Real> void run(const Problem& problem, Numbers<Real>& numbers, const Execution& execution) {
  run_forward(problem, numbers, execution);
  run_backward(problem, numbers, execution);
}

struct Limits {
  double float32 = 0, float64 = 0;
};
Limits find_limits(const Problem& problem, const Errors& errors, std::size_t size) {
  // Rows of one or two reads: the reference is exact there (a weight 1 is 1), so that a few roundings are granted.
  constexpr double eps32 = 0x1p-24, eps64 = 0x1p-53;
  // A handful of sums over all rows is no statistics: the reference may be lucky. Sums of N terms wander by sqrt(N)
  // roundings.
  const double natural =
      size < 16 ? errors.natural * 4 * std::sqrt(static_cast<double>(problem.shape.readers * problem.shape.batch))
                : errors.natural;
  const double allowed = errors.ratio * errors.rms(errors.slow32) +
                         (problem.shape.reads <= 2 ? 6 : 1) * eps32 * std::max(errors.rms(errors.truth), natural);
  return {allowed, (1 + errors.ratio) * allowed * (eps64 / eps32)};
}

template <class Real> void check_same_bits(const Problem& problem, const Numbers<Real>& a, const Numbers<Real>& b) {
  using N = Numbers<Real>;
  for (const auto member : {&N::out, &N::grad_query, &N::grad_key, &N::grad_value, &N::grad_bias, &N::grad_sink}) {
    CHECK_MESSAGE(same_bits(a.*member, b.*member), problem.name << ": the number of threads changes bits");
  }
}

// One draw of the problem's numbers, added to what others left. The number of threads changes no bit.
void measure(const Problem& problem, Random& random, std::vector<Errors>& all, std::vector<std::size_t>& sizes) {
  Numbers<float> fast32 = draw_numbers<float>(problem, random);
  const auto shrink =
      static_cast<float>(std::pow(static_cast<double>(std::max<std::int64_t>(problem.shape.width, 1)), -0.25));
  for (auto* numbers : {&fast32.query, &fast32.key})
    for (float& number : *numbers)
      number *= shrink;
  Numbers<double> truth = convert<double>(fast32), fast64 = truth;
  Numbers<float> slow32 = fast32, again = fast32;
  Execution fast{Implementation::cpu, static_cast<int>(pick(random, 1, 3)), chance(random, 25), draw_set(random)};
  run(problem, truth, {Implementation::reference});
  run(problem, slow32, {Implementation::reference});
  run(problem, fast64, fast);
  run(problem, fast32, fast);
  fast.threads = fast.threads % 3 + 1;
  run(problem, again, fast);
  check_same_bits(problem, fast32, again);
  all.resize(6);
  sizes.resize(6);
  std::size_t which = 0;
  const auto add = [&](const char* what, const auto& of_fast32, const auto& of_fast64, const auto& of_slow32,
                       const std::vector<double>& of_truth, double ratio, double natural) {
    Errors& errors = all[which];
    errors.what = what;
    errors.ratio = ratio;
    errors.natural = std::max(errors.natural, natural);
    errors.fast32 += add_squares(of_fast32, &of_truth);
    errors.fast64 += add_squares(of_fast64, &of_truth);
    errors.slow32 += add_squares(of_slow32, &of_truth);
    errors.truth += add_squares(of_truth, nullptr);
    errors.count += static_cast<double>(of_truth.size());
    sizes[which++] = of_truth.size();
  };
  const bool is_max = !problem.is_attention && problem.aggregation == Aggregation::max;
  add("output", fast32.out, fast64.out, slow32.out, truth.out, 1.5, 0);
  // Sums over all rows of what each row's output takes from its gradient, g.out: of size |out| sqrt(width).
  const double product = std::max(1.0, all[0].rms(all[0].truth) * std::sqrt(static_cast<double>(problem.shape.value_width)));
  add("query's gradient", fast32.grad_query, fast64.grad_query, slow32.grad_query, truth.grad_query, 2, 1);
  add("key's gradient", fast32.grad_key, fast64.grad_key, slow32.grad_key, truth.grad_key, 2, 1);
  add("value's gradient", fast32.grad_value, fast64.grad_value, slow32.grad_value, truth.grad_value, 2, is_max ? 1 : 0);
  add("bias' gradient", fast32.grad_bias, fast64.grad_bias, slow32.grad_bias, truth.grad_bias, 2, product);
  add("sink's gradient", fast32.grad_sink, fast64.grad_sink, slow32.grad_sink, truth.grad_sink, 2, product);
}

// Of one token, or one sum over all rows, the error is a single number's, and the reference may happen to be exact: a
// problem that exceeds a limit is judged by further draws of its numbers, all together.
void check_problem(const Problem& problem, Random& random) {
  std::vector<Errors> all;
  std::vector<std::size_t> sizes;
  measure(problem, random, all, sizes);
  const auto holds = [&](std::size_t k) {
    const Limits limits = find_limits(problem, all[k], sizes[k]);
    return sizes[k] == 0 || (all[k].rms(all[k].fast32) <= limits.float32 && all[k].rms(all[k].fast64) <= limits.float64);
  };
  if (!(holds(0) && holds(1) && holds(2) && holds(3) && holds(4) && holds(5))) {
    constexpr int draws = 24;
    Random more(12);
    all.clear();
    for (int k = 0; k < draws; ++k)
      measure(problem, more, all, sizes);
  }
  for (std::size_t k = 0; k < all.size(); ++k) {
    const Errors& e = all[k];
    CHECK_MESSAGE(holds(k), problem.name << ", " << e.what << ": error float32 " << e.rms(e.fast32) << ", float64 "
                                         << e.rms(e.fast64) << "; float32 reference " << e.rms(e.slow32) << ", size "
                                         << e.rms(e.truth));
  }
}

const std::vector<std::string> layouts = {"full", "causal", "window",  "longformer", "dilated", "bigbird", "ring",
                                          "star", "swin",   "shifted", "random",     "offsets", "buckets", "alibi"};

Problem draw_fast_problem(const std::string& layout, std::int64_t n, std::int64_t width, const std::string& kernel,
                          Random& random) {
  Problem problem = draw_attention(random, make_heads(layout, n, random), kernel, false);
  problem.rule.top_k.reset(); // rounding decides what is chosen
  problem.shape.width = width;
  problem.shape.value_width = chance(random, 70) ? width : pick(random, 1, 2 * width);
  problem.rule.kernel = make_kernel(kernel, width, random);
  if (kernel == "softmax")
    problem.rule.scale = 1 / std::sqrt(static_cast<double>(width));
  problem.name += fmt::format(", width {}/{}", width, problem.shape.value_width);
  return problem;
}

// The reference walks through every pair five times: wide heads get fewer tokens.
std::int64_t draw_tokens(const std::vector<std::int64_t>& sizes, std::int64_t width, Random& random) {
  for (;;) {
    const std::int64_t n = sizes[random() % sizes.size()];
    if (n * n * width <= 700000)
      return n;
  }
}

void sweep(std::uint64_t seed, const std::vector<std::int64_t>& sizes, const std::vector<std::int64_t>& widths,
           int rounds) {
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& layout : layouts) {
      const std::string kernel = chance(random, 40) ? "softmax" : all_kernels()[random() % all_kernels().size()];
      const std::int64_t width = widths[random() % widths.size()];
      check_problem(draw_fast_problem(layout, draw_tokens(sizes, width, random), width, kernel, random), random);
      Problem sum;
      sum.is_attention = false;
      sum.aggregation = static_cast<Aggregation>(pick(random, 0, 2));
      sum.relations = make_heads(layout, draw_tokens(sizes, width, random), random).relations;
      sum.plan = make_plan(sum.relations, Budget());
      sum.has_bias = sum.aggregation != Aggregation::max && chance(random, 50);
      const std::int64_t heads = pick(random, 1, 3);
      sum.shape = {
          pick(random, 1, 2), heads, chance(random, 30) ? 1 : heads, sum.plan->readers(), sum.plan->reads(), 0, width};
      sum.name = fmt::format("{} {} aggregate {} weights {}", layout, sum.shape.reads,
                             static_cast<int>(sum.aggregation), sum.has_bias);
      check_problem(sum, random);
    }
  }
}

TEST_CASE("fast against reference, small") { sweep(61, {1, 2, 7, 16, 33, 65}, {2, 8, 16, 18}, 4); }

TEST_SUITE_BEGIN("slow");
TEST_CASE("fast against reference, the grid") {
  sweep(62, {1, 5, 64, 100, 128, 257, 300}, {4, 8, 16, 32, 48, 64, 80, 128}, 10);
}
TEST_SUITE_END();

} // namespace
} // namespace sightline::mixer

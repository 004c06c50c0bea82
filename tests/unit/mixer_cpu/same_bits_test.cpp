// One instruction set, any number of threads: the same bits.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "call.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

template <class Real> void check_same_bits(const Numbers<Real>& first, const Numbers<Real>& other) {
  CHECK(same_bits(first.out, other.out));
  CHECK(same_bits(first.grad_query, other.grad_query));
  CHECK(same_bits(first.grad_key, other.grad_key));
  CHECK(same_bits(first.grad_value, other.grad_value));
}

template <class Real> void check_threads(const Call& call, Random& random, InstructionSet set) {
  CAPTURE(call.name);
  const Numbers<Real> given = draw_numbers<Real>(call, random);
  Numbers<Real> first = given;
  Execution execution;
  execution.instructions = set;
  run(call, first, execution);
  for (const int threads : {2, 3, 7}) {
    CAPTURE(threads);
    Numbers<Real> other = given;
    execution.threads = threads;
    run(call, other, execution);
    check_same_bits(first, other);
    CHECK(same_bits(first.grad_sink, other.grad_sink));
    CHECK(same_bits(first.grad_bias, other.grad_bias));
  }
}

template <class Real> bool same_but_for_nan(const std::vector<Real>& a, const std::vector<Real>& b) {
  if (a.size() != b.size())
    return false;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (std::isnan(a[k]) != std::isnan(b[k]) || (!std::isnan(a[k]) && std::memcmp(&a[k], &b[k], sizeof(Real)) != 0))
      return false;
  }
  return true;
}

/// Whether forward left weights; the gradients have the same bits with and without.
template <class Real> bool check_kept_weights(Call call, const Numbers<Real>& given, const Execution& execution) {
  Numbers<Real> found = given, again = given;
  call.keeps_weights = true;
  run(call, found, execution);
  call.keeps_weights = false;
  run(call, again, execution);
  CHECK(same_but_for_nan(found.out, again.out));
  CHECK(same_but_for_nan(found.grad_query, again.grad_query));
  CHECK(same_but_for_nan(found.grad_key, again.grad_key));
  CHECK(same_but_for_nan(found.grad_value, again.grad_value));
  return !found.arc_weights.empty();
}

// A slope of 0 has rows taken one by one; without it neighbours that read equally much share vectors.
template <class Real>
void check_short_rows(const layout::Pattern& pattern, std::int64_t width, const std::string& kernel, bool extra,
                      bool non_finite, Random& random, int (&kept)[2]) {
  Call call;
  const std::int64_t n = pattern.vertex_count();
  const layout::Relation relation(pattern, {}, layout::Cancels::nothing, pattern.vertex_count());
  call.plan = make_plan({&relation, 1}, Budget());
  call.shape = {1, 2, 2, n, n, width, width};
  set_kernel(call, kernel);
  call.rule.eps = extra ? 0.25 : 0;
  Call one_by_one = call;
  one_by_one.rule.slopes = {0, 0};
  Numbers<Real> given = draw_numbers<Real>(call, random);
  for (int k = 0; k < 3 && non_finite; ++k) {
    given.key[random() % given.key.size()] = std::numeric_limits<Real>::quiet_NaN();
    given.value[random() % given.value.size()] = std::numeric_limits<Real>::infinity();
    given.grad_out[random() % given.grad_out.size()] = -std::numeric_limits<Real>::infinity();
    given.query[random() % given.query.size()] = -std::numeric_limits<Real>::infinity();
  }
  for (const InstructionSet set : available_sets()) {
    CAPTURE(static_cast<int>(set));
    CAPTURE(kernel);
    CAPTURE(width);
    CAPTURE(n);
    Execution execution;
    execution.instructions = set;
    Numbers<Real> together = given, alone = given;
    run(call, together, execution);
    run(one_by_one, alone, execution);
    CHECK(same_but_for_nan(together.out, alone.out));
    CHECK(same_but_for_nan(together.statistics, alone.statistics));
    CHECK(same_but_for_nan(together.grad_query, alone.grad_query));
    CHECK(same_but_for_nan(together.grad_key, alone.grad_key));
    CHECK(same_but_for_nan(together.grad_value, alone.grad_value));
    for (const bool exact : {false, true}) {
      execution.exact = exact;
      kept[exact] += check_kept_weights(call, given, execution) ? 1 : 0;
    }
  }
}

} // namespace

TEST_CASE("short rows: a vector of rows at a time has the bits of rows one by one") {
  Random random(12);
  using layout::PatternKind;
  int kept[2] = {}; // calls that left weights to backward: plain, exact
  for (const std::int64_t n : {9, 37, 300}) {
    std::vector<layout::Pattern> patterns;
    const auto add = [&](auto set) {
      layout::PatternSpec spec;
      set(spec);
      patterns.push_back(layout::make_patterns(spec, {static_cast<layout::Vertex>(n), 0, 1}, Budget()).front());
    };
    for (const int radius : {1, 2, 3}) {
      add([&](layout::PatternSpec& spec) {
        spec.kind = PatternKind::ring;
        spec.radius = radius;
      });
    }
    add([](layout::PatternSpec& spec) { // a hub among a ring
      spec.kind = PatternKind::window;
      spec.radius = 1;
      spec.wrap = true;
      spec.global = {0};
    });
    add([](layout::PatternSpec& spec) {
      spec.kind = PatternKind::circulant;
      spec.offsets = {1, 4};
    });
    add([&](layout::PatternSpec& spec) {
      spec.kind = PatternKind::random;
      spec.degree = std::min<std::int64_t>(n - 2, 11); // all of them would be a tile, not rows
    });
    for (const layout::Pattern& pattern : patterns) {
      for (const std::int64_t width : {16, 32, 64}) {
        check_short_rows<float>(pattern, width, "softmax", chance(random, 30), chance(random, 30), random, kept);
        check_short_rows<double>(pattern, width, "softmax", chance(random, 30), chance(random, 30), random, kept);
      }
      check_short_rows<float>(pattern, 32, "gaussian", false, false, random, kept);
      check_short_rows<float>(pattern, 64, "laplace", false, chance(random, 50), random, kept);
    }
  }
  CHECK(kept[0] > 20);
  CHECK(kept[1] > 20);
}

TEST_CASE("the number of threads changes no bit") {
  Random random(8);
  for (int k = 0; k < 30; ++k) {
    Call call = draw_call(random, 900);
    if (k % 2 == 0)
      check_threads<float>(call, random, draw_set(random));
    else
      check_threads<double>(call, random, draw_set(random));
  }
}

TEST_CASE("the number of threads changes no bit of sums of features") {
  Random random(10);
  for (int k = 0; k < 6; ++k) {
    Call call = draw_call(random, 40);
    set_full(call, pick(random, 1025, 4000), k % 2 == 0, random);
    set_kernel(call, "performer");
    check_threads<float>(call, random, draw_set(random));
    set_long_rows(call, pick(random, 300, 1500), random);
    check_threads<float>(call, random, draw_set(random));
  }
}

namespace {

template <class Real> double largest_difference(const std::vector<Real>& a, const std::vector<Real>& b) {
  double worst = 0, size = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    CHECK(std::isnan(a[k]) == std::isnan(b[k]));
    if (std::isnan(a[k]) || a[k] == b[k])
      continue;
    worst = std::max(worst, static_cast<double>(std::abs(a[k] - b[k])));
    size = std::max(size, static_cast<double>(std::abs(b[k])));
  }
  return worst == 0 ? 0 : worst / size;
}

// The call takes another way than `other`, which means the same; any number of threads leaves its bits.
template <class Real> void check_way(const Call& call, const Call& other, const Numbers<Real>& given, double most) {
  Numbers<Real> expected = given, first = given;
  run(other, expected, Execution());
  run(call, first, Execution());
  CHECK(largest_difference(first.out, expected.out) <= most);
  CHECK(largest_difference(first.grad_query, expected.grad_query) <= most);
  CHECK(largest_difference(first.grad_key, expected.grad_key) <= most);
  CHECK(largest_difference(first.grad_value, expected.grad_value) <= most);
  CHECK_FALSE(same_bits(first.out, expected.out));
  for (const int threads : {2, 3, 7}) {
    CAPTURE(threads);
    Numbers<Real> again = given;
    Execution execution;
    execution.threads = threads;
    run(call, again, execution);
    check_same_bits(first, again);
  }
}

// A sink of next to nothing has long rows taken whole; without it they go in pieces of 1,024 reads.
template <class Real> void check_long_rows(const Call& call, const Numbers<Real>& given, double most) {
  Call whole = call;
  whole.rule.eps = sizeof(Real) == 4 ? 1e-30 : 1e-290;
  check_way(call, whole, given, most);
}

} // namespace

TEST_CASE("long rows in pieces are the same rows, for every number of threads") {
  Random random(33);
  constexpr std::int64_t n = 10740; // the last piece has 500 reads
  const auto window = [&](std::vector<std::int64_t> global, std::int64_t radius, bool wrap) {
    layout::PatternSpec spec;
    spec.kind = layout::PatternKind::window;
    spec.radius = radius;
    spec.wrap = wrap;
    for (const std::int64_t token : global)
      spec.global.push_back(static_cast<layout::Vertex>(token));
    return layout::make_patterns(spec, {static_cast<layout::Vertex>(n), 0, 1}, Budget()).front();
  };
  for (const layout::Pattern& pattern : {window({0}, 1, true), window({6000, n - 1}, 1, false), window({5, 6}, 40, false)}) {
    const layout::Relation relation(pattern, {}, layout::Cancels::nothing, n);
    Call call;
    call.plan = make_plan({&relation, 1}, Budget());
    call.shape = {1, 2, 2, n, n, 8, 8};
    for (const std::string kernel : {"softmax", "gaussian", "laplace"}) {
      CAPTURE(kernel);
      set_kernel(call, kernel);
      check_long_rows<double>(call, draw_numbers<double>(call, random), 1e-11);
    }
    set_kernel(call, "softmax");
    call.shape = {2, 2, 1, n, n, 32, 32}; // grouped heads, several batch elements
    check_long_rows<double>(call, draw_numbers<double>(call, random), 1e-11);
    call.shape = {2, 1, 1, n, n, 64, 64};
    call.keeps_weights = true;
    Numbers<float> numbers = draw_numbers<float>(call, random);
    check_long_rows<float>(call, numbers, 1e-4);
    numbers.value[64 * 5000 + 3] = std::numeric_limits<float>::quiet_NaN();
    numbers.key[64 * 9000 + 7] = -std::numeric_limits<float>::infinity();
    check_long_rows<float>(call, numbers, 1e-4);
  }
}

// Keys and values of 25.6 MB: all weights come before all sums. A slope of 0 has rows taken one by one.
TEST_CASE("sums that wait for all weights have the bits of rows one by one") {
  constexpr std::int64_t n = 50000, width = 64;
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::random;
  for (const int degree : {4, 9}) { // with four, weights are left by the forward pass
    spec.degree = degree;
    const layout::Relation relation(layout::make_patterns(spec, {n, 0, 1}, Budget()).front(), {}, layout::Cancels::single_colour, n);
    Call call;
    call.plan = make_plan({&relation, 1}, Budget());
    call.shape = {1, 1, 1, n, n, width, width};
    set_kernel(call, "softmax");
    Call one_by_one = call;
    one_by_one.rule.slopes = {0};
    call.keeps_weights = true;
    Random random(31);
    const Numbers<float> given = draw_numbers<float>(call, random);
    Numbers<float> expected = given;
    run(one_by_one, expected, Execution());
    for (const int threads : {1, 3}) {
      Numbers<float> found = given;
      Execution execution;
      execution.threads = threads;
      run(call, found, execution);
      CHECK(found.arc_weights.empty() == (degree == 9));
      CHECK(same_bits(found.out, expected.out));
      check_same_bits(expected, found);
    }
  }
}

// Gradients of 18 MB are written past the caches, those of one head are not.
TEST_CASE("gradients that no cache would keep have the same bits") {
  Random random(27);
  constexpr std::int64_t n = 6000, heads = 4, width = 64, all = n * heads * width;
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::ring;
  spec.radius = 1;
  const layout::Relation relation(layout::make_patterns(spec, {n, 0, 1}, Budget()).front(), {},
                                  layout::Cancels::single_colour, n);
  const auto plan = make_plan({&relation, 1}, Budget());
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  const auto allocate = [&] { // whole vectors, as tensors have them
    return std::unique_ptr<float[], Free>(static_cast<float*>(std::aligned_alloc(64, all * sizeof(float))));
  };
  enum { query, key, value, grad_out, out, grad_query, grad_key, grad_value, kinds };
  std::unique_ptr<float[], Free> numbers[kinds];
  for (auto& each : numbers) {
    each = allocate();
    for (std::int64_t k = 0; k < all; ++k)
      each[static_cast<std::size_t>(k)] = static_cast<float>(pick(random, -1000, 1000)) / 700.0F;
  }
  std::vector<float> statistics(static_cast<std::size_t>(n * heads * 2)), found[3];
  AttentionRule rule;
  rule.kernel.name = "softmax";
  rule.scale = 0.125;
  const auto run_heads = [&](std::int64_t first, std::int64_t count, int threads) {
    const auto view = [&](int kind) { return View<float>{numbers[kind].get() + first * n * width, all, n * width, width}; };
    const auto given = [&](int kind) {
      return View<const float>{numbers[kind].get() + first * n * width, all, n * width, width};
    };
    const Shape shape{1, count, count, n, n, width, width};
    AttentionInputs<float> in;
    in.query = given(query);
    in.key = given(key);
    in.value = given(value);
    const AttentionOutputs<float> to{view(out), statistics.data() + first * n * 2, nullptr};
    AttentionGradients<float> gradients;
    gradients.out = given(grad_out);
    gradients.query = view(grad_query);
    gradients.key = view(grad_key);
    gradients.value = view(grad_value);
    Execution execution;
    execution.threads = threads;
    attend<float>(*plan, rule, shape, in, to, execution);
    attend_backward<float>(*plan, rule, shape, in, to, gradients, execution);
  };
  run_heads(0, heads, 3);
  for (int k = 0; k < 3; ++k)
    found[k].assign(numbers[grad_query + k].get(), numbers[grad_query + k].get() + all);
  for (int k = 0; k < 3; ++k)
    std::fill_n(numbers[grad_query + k].get(), all, 0.0F);
  for (std::int64_t h = 0; h < heads; ++h)
    run_heads(h, 1, 1);
  for (int k = 0; k < 3; ++k)
    CHECK(std::memcmp(found[k].data(), numbers[grad_query + k].get(), all * sizeof(float)) == 0);
}

TEST_CASE("rows of a product do not depend on the other rows") {
  Random random(9);
  constexpr std::int64_t rows = 301, depth = 70, columns = 90;
  std::normal_distribution<float> normal;
  std::vector<float> in(rows * depth), weight(columns * depth), bias(columns);
  for (auto* each : {&in, &weight, &bias}) {
    for (float& v : *each)
      v = normal(random);
  }
  Execution execution;
  std::vector<float> all(rows * columns), one(columns);
  execution.threads = 3;
  multiply_rows<float>(in.data(), weight.data(), bias.data(), rows, depth, columns, all.data(), execution);
  execution.threads = 1;
  for (std::int64_t r = 0; r < rows; r += 7) {
    multiply_rows<float>(in.data() + r * depth, weight.data(), bias.data(), 1, depth, columns, one.data(), execution);
    CHECK(std::memcmp(one.data(), all.data() + r * columns, sizeof(float) * columns) == 0);
    double sum = bias[3];
    for (std::int64_t k = 0; k < depth; ++k)
      sum += static_cast<double>(in[static_cast<std::size_t>(r * depth + k)]) *
             weight[static_cast<std::size_t>(3 * depth + k)];
    CHECK(static_cast<double>(one[3]) == doctest::Approx(sum).epsilon(1e-5));
  }
}

namespace {

Call make_performer(layout::Vertex n, int radius, std::vector<std::int64_t> global, const Shape& shape,
                    std::vector<std::vector<mpq_class>> features) {
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::window;
  spec.radius = radius;
  spec.global = std::move(global);
  const layout::Relation relation(layout::make_patterns(spec, {n, 0, 1}, Budget()).front(), {}, layout::Cancels::single_colour, n);
  Call call;
  call.plan = make_plan({&relation, 1}, Budget());
  call.shape = shape;
  set_kernel(call, "performer");
  call.rule.kernel.features = std::move(features);
  return call;
}

std::vector<std::vector<mpq_class>> draw_features(Random& random, int count, int width) {
  std::vector<std::vector<mpq_class>> features(static_cast<std::size_t>(count));
  for (auto& feature : features) {
    for (int k = 0; k < width; ++k)
      feature.emplace_back(pick(random, -20, 20), 20);
  }
  return features;
}

// A slope of 0 has tiles take all pairs.
template <class Real> void check_blocks(const Call& call, const Numbers<Real>& given, double most) {
  Call by_pairs = call;
  by_pairs.rule.slopes.assign(static_cast<std::size_t>(call.shape.heads), 0.0);
  check_way(call, by_pairs, given, most);
}

} // namespace

TEST_CASE("sums of blocks of reads equal sums by pairs: states in several turns") {
  Random random(35);
  constexpr layout::Vertex n = 4100;
  for (const bool has_global : {false, true}) {
    const Call call = make_performer(n, has_global ? 200 : 1400, has_global ? std::vector<std::int64_t>{7} : std::vector<std::int64_t>(),
                                     {1, 2, has_global ? 2 : 1, n, n, 16, 80}, draw_features(random, 130, 16));
    check_blocks(call, draw_numbers<double>(call, random), 1e-11);
    check_blocks(call, draw_numbers<float>(call, random), 1e-4);
  }
  // Forward, as many heads at a time as there are threads: the turns stay those of one head.
  const Call call = make_performer(2048, 700, {}, {1, 2, 2, 2048, 2048, 16, 64}, draw_features(random, 256, 16));
  check_blocks(call, draw_numbers<float>(call, random), 1e-4);
}

TEST_CASE("sums of blocks of reads: keys that are no numbers, and rests of tiles that weigh nothing beside the blocks") {
  Random random(3);
  const Call many = make_performer(2048, 900, {}, {1, 1, 1, 2048, 2048, 16, 64}, draw_features(random, 8, 16));
  Numbers<float> numbers = draw_numbers<float>(many, random);
  std::fill_n(numbers.key.begin(), 512 * 16, std::numeric_limits<float>::quiet_NaN()); // all of eight blocks
  check_blocks(many, numbers, 1e-4);

  const Call few = make_performer(1024, 300, {}, {1, 1, 1, 1024, 1024, 2, 16}, {{1, 0}, {-12, 0}, {0, 8}});
  numbers = draw_numbers<float>(few, random);
  std::fill(numbers.query.begin(), numbers.query.end(), 0.0F);
  numbers.query[std::size_t{2} * 512] = 86;
  for (std::size_t j = 0; j < 1024; ++j) {
    const bool near = j >= 320 && j < 704, high = j % 32 == 1;
    numbers.key[2 * j] = near ? numbers.key[2 * j] * 0.1F : high ? 0 : -20.9F;
    numbers.key[2 * j + 1] = !near && high ? 12 : 0;
  }
  check_blocks(few, numbers, 0.05); // gradients of queries are nearly nothing: by pairs they are 2 % from float64, by blocks 1 %
}

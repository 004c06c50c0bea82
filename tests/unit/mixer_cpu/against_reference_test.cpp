// The fast implementation against the reference: same numbers up to rounding, on every instruction set of this machine.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "call.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

/// Squared errors of one tensor, added up over its numbers and over the draws of a call.
struct Errors {
  std::string what;
  double factor = 0, wander = 0; ///< of the limit
  double fast = 0, plain = 0, size = 0, count = 0;

  template <class Real>
  void add(const std::vector<double>& truth, const std::vector<Real>& of_fast, const std::vector<Real>& of_plain) {
    REQUIRE(truth.size() == of_fast.size());
    for (std::size_t k = 0; k < truth.size(); ++k) {
      size = std::max(size, std::abs(truth[k]));
      fast += std::pow(static_cast<double>(of_fast[k]) - truth[k], 2);
      plain += std::pow(static_cast<double>(of_plain[k]) - truth[k], 2);
    }
    count += static_cast<double>(truth.size());
  }
  [[nodiscard]] double error(double squares) const { return std::sqrt(squares / std::max(count, 1.0)); }
};

// One draw of a call's numbers, added to what others left: 0 out, 1 query, 2 key, 3 value, 4 sink, 5 bias.
template <class Real, class Change>
void measure(const Call& call, Random& random, InstructionSet set, int threads, Change change,
             std::vector<Errors>& all) {
  Execution execution;
  execution.instructions = set;
  execution.threads = threads;
  Numbers<Real> fast = draw_numbers<Real>(call, random);
  change(fast);
  Numbers<Real> plain = fast;
  Numbers<double> truth = widen(fast);
  run(call, fast, execution);
  execution.implementation = Implementation::reference;
  run(call, plain, execution);
  if constexpr (std::is_same_v<Real, float>)
    run(call, truth, execution);
  else
    truth = plain;
  // A handful of sums over all rows is no statistics: the reference may be lucky. Sums of N terms wander by sqrt(N)
  // roundings of a term, which is of size |out| sqrt(width). That is one standard deviation (each term is a dot product
  // with about one rounding's error, twice); among tens of thousands of sums some lie beyond it, so three are allowed.
  const double rows = std::sqrt(static_cast<double>(call.shape.readers * call.shape.batch));
  double product = 0;
  for (const double x : truth.out)
    product += x * x;
  product = std::sqrt(product / static_cast<double>(std::max<std::size_t>(truth.out.size(), 1)) *
                      static_cast<double>(call.shape.value_width));
  // Weights s^2 over their sum D: what rounding leaves of (d out . value - d out . out), where one read outweighs all
  // others and the difference is nothing, goes times 2 s / D, up to 2 / sqrt(D), into that row.
  double steep = 0;
  for (std::size_t k = 1; call.rule.kernel.name == "relu2" && call.rule.normalised && k < fast.statistics.size(); k += 2)
    steep = std::max(steep, 2 * std::sqrt(static_cast<double>(fast.statistics[k])) * product / rows);
  all.resize(6);
  const auto add = [&](std::size_t which, const char* what, const auto& t, const auto& f, const auto& p, double factor,
                       double wander = 0) {
    Errors& errors = all[which];
    errors.what = what;
    errors.factor = factor;
    errors.wander = std::max(errors.wander, wander);
    errors.add(t, f, p);
  };
  add(0, "out", truth.out, fast.out, plain.out, 1.5);
  add(1, "query", truth.grad_query, fast.grad_query, plain.grad_query, 2, steep);
  add(2, "key", truth.grad_key, fast.grad_key, plain.grad_key, 2, steep);
  add(3, "value", truth.grad_value, fast.grad_value, plain.grad_value, 2);
  add(4, "sink", truth.grad_sink, fast.grad_sink, plain.grad_sink, 2, rows * product);
  add(5, "bias", truth.grad_bias, fast.grad_bias, plain.grad_bias, 2, rows * product);
}

// Root mean square errors against float64 (float: at most 1.5 times that of the same-precision reference, gradients 2
// times), with two units in the last place of the largest number, or of the inputs, as allowance where the reference is
// exact. In float64 there is no better truth: a few thousand units, for sums of hundreds of terms that cancel.
template <class Real> double limit_of(const Errors& errors) {
  const double unit = std::is_same_v<Real, float> ? 1.2e-7 : 2.3e-16;
  return std::is_same_v<Real, float>
             ? errors.factor * errors.error(errors.plain) + 2 * unit * (errors.size + 1) + 3 * unit * errors.wander
             : 3e3 * unit * (errors.size + 1);
}

// A tensor's error may hang on very few numbers (the sums over all rows that one hub takes), of which the reference may
// happen to have the luckier ones: a call that exceeds a limit is judged by further draws of its numbers, all together.
template <class Real, class Change>
void check_call(const Call& call, Random& random, InstructionSet set, int threads, Change change) {
  CAPTURE(call.name);
  CAPTURE(static_cast<int>(set));
  std::vector<Errors> all;
  measure<Real>(call, random, set, threads, change, all);
  const auto holds = [](const Errors& e) { return e.error(e.fast) <= limit_of<Real>(e); };
  if (!std::all_of(all.begin(), all.end(), holds)) {
    constexpr int draws = 16;
    Random more(11);
    all.clear();
    for (int k = 0; k < draws; ++k)
      measure<Real>(call, more, set, threads, change, all);
  }
  for (const Errors& errors : all) {
    CAPTURE(errors.what);
    CHECK(errors.error(errors.fast) <= limit_of<Real>(errors));
  }
}

template <class Real> void check_call(const Call& call, Random& random, InstructionSet set, int threads) {
  check_call<Real>(call, random, set, threads, [](auto&) {});
}

void sweep(int calls, std::int64_t largest, std::uint64_t seed) {
  Random random(seed);
  for (int k = 0; k < calls; ++k) {
    const Call call = draw_call(random, largest);
    for (const InstructionSet set : available_sets()) {
      const int threads = static_cast<int>(pick(random, 1, 3));
      if (chance(random, 50))
        check_call<float>(call, random, set, threads);
      else
        check_call<double>(call, random, set, threads);
    }
  }
}

} // namespace

TEST_CASE("fast attention equals the reference on random calls") { sweep(60, 200, 1); }

TEST_CASE("every fast kernel equals the reference, tiles and rows") {
  Random random(2);
  for (const std::string& kernel : fast_kernels()) {
    for (int k = 0; k < 3; ++k) {
      Call call = draw_call(random, 150);
      set_kernel(call, kernel);
      check_call<float>(call, random, InstructionSet::best, 2);
      check_call<double>(call, random, InstructionSet::best, 2);
    }
  }
}

// Tiles of tokens alone take them by i - j, the tile with the registers by colour.
TEST_CASE("biases and slopes by offset beside registers") {
  Random random(15);
  using layout::RelativeKind;
  for (const RelativeKind kind : {RelativeKind::none, RelativeKind::offset, RelativeKind::distance, RelativeKind::bucket}) {
    for (const bool is_window : {false, true}) {
      Call call = draw_call(random, 40);
      const auto n = static_cast<layout::Vertex>(pick(random, 90, 200)), registers = static_cast<layout::Vertex>(pick(random, 1, 3));
      layout::PatternSpec spec;
      if (is_window) {
        spec.kind = layout::PatternKind::window;
        spec.radius = 60;
      }
      layout::Relative relative;
      relative.kind = kind;
      const layout::Relation relation(layout::make_patterns(spec, {n, registers, 1}, Budget()).front(), relative, layout::Cancels::nothing, n);
      call.plan = make_plan({&relation, 1}, Budget());
      call.shape = {1, 2, 2, n + registers, n + registers, 8, 8};
      call.has_bias = true;
      call.lengths.clear();
      call.rule = {};
      set_kernel(call, "softmax");
      call.rule.slopes = is_window ? std::vector<double>{0.5, 0.1} : std::vector<double>{};
      for (const InstructionSet set : available_sets()) {
        check_call<float>(call, random, set, static_cast<int>(pick(random, 1, 3)));
        check_call<double>(call, random, set, 2);
      }
      call.has_bias = false;
      call.rule.slopes = {0.25, 0.125};
      check_call<double>(call, random, InstructionSet::best, 2);
    }
  }
}

TEST_CASE("blocks whose last reader would fill a vector alone") {
  Random random(16);
  for (const std::int64_t size : {17, 33, 49, 50}) {
    for (const std::int64_t width : {16, 32, 64, 128}) { // four or eight vectors of some set
      for (int k = 0; k < 3; ++k) {
        Call call = draw_call(random, 40);
        set_blocks(call, 2 * size + pick(random, 0, 20), size, width);
        set_kernel(call, "softmax");
        call.rule.eps = k == 1 ? 0.25 : 0;
        call.rule.normalised = k != 2;
        for (const InstructionSet set : available_sets()) {
          check_call<float>(call, random, set, 2);
          check_call<double>(call, random, set, 1);
        }
      }
    }
  }
}

// f(x) and g(y) of whole rows: every operation on entries, numbers of a row, literal vectors.
TEST_CASE("kernels of mapped rows equal the reference") {
  Random random(13);
  static const std::vector<std::string> kernels = {
      "exp(dot(x/(1+norm(x)),y))",
      "exp(dot(tanh(x)*[0.5,-1,2],y))",
      "sigmoid(dot(relu(x)+abs(x)/2,softplus(y)))",
      "exp(dot(cos(x)-sin(x)*2,y^2)/8)",
      "exp(dot((1+x^2)^norm(x/4),elu(y))/16)",
      "exp(dot(x*dot(x,[1,0.5,-1])/4,sigmoid(y)))",
      "1/(1+norm2(exp(x/4)-log(1+abs(y))))",
      "exp(dot(cosh(x/2)-sinh(-x/3),sqrt(1+y^2))/8)"};
  for (const std::string& kernel : kernels) {
    for (int k = 0; k < 3; ++k) {
      Call call = draw_call(random, 90);
      call.shape.width = kernel.find('[') != std::string::npos ? 3 : pick(random, 1, 40);
      call.rule.kernel = {"", kernel};
      call.rule.scale = k == 0 ? 1 : 0.75;
      call.name += kernel;
      for (const InstructionSet set : available_sets()) {
        check_call<float>(call, random, set, static_cast<int>(pick(random, 1, 3)));
        check_call<double>(call, random, set, 2);
      }
    }
  }
}

// No product of query and key, or nothing of them at all: `1` gave 0 in tiles, for nobody wrote its weights down.
TEST_CASE("expressions without products of queries and keys") {
  Random random(17);
  static const std::vector<std::string> kernels = {"1",           "2",           "1/3",        "exp(1)",           "3*exp(2)",        "0*dot(x,y)+1",
                                                   "exp(0*dot(x,y))", "norm2(x)", "1+norm2(y)", "2+norm(x)",        "exp(-norm2(y)/8)", "exp(norm(x)/4)",
                                                   "dot(x,x)*norm(y)", "1/(1+norm2(x))", "exp(norm(y)/3)*(1+norm2(x))", "1+norm2(tanh(y))", "exp(dot(x,tanh(x))/9)"};
  for (const std::string& kernel : kernels) {
    for (int k = 0; k < 4; ++k) {
      Call call = draw_call(random, 90);
      if (k == 0) // by tiles, whatever was drawn
        set_full(call, pick(random, 65, 150), false, random);
      call.shape.width = pick(random, 1, 40);
      call.rule.kernel = {"", kernel};
      call.rule.scale = k % 2 == 0 ? 1 : 0.75;
      call.name += kernel;
      for (const InstructionSet set : available_sets()) {
        check_call<float>(call, random, set, static_cast<int>(pick(random, 1, 3)));
        check_call<double>(call, random, set, 2);
      }
    }
  }
}

// exp(c x.y), exp(c |x - y|^2) and exp(c |x - y|) however they are written, and functions of c x.y: c joins the scale.
TEST_CASE("expressions that are a kernel under another name") {
  Random random(14);
  static const std::vector<std::string> kernels = {"exp(dot(x,y)/-4)",          "exp(-(2*dot(x,y))/3)",  "exp(-norm2(x-y)/3)",
                                                   "exp(-norm2(2*x-2*y)/8)",    "exp(norm(y-x)*-0.5)",   "sigmoid(dot(x,y)/3)",
                                                   "sigmoid(-dot(x,y)/3)+0.25", "cosh(2*dot(x,y)/7)*exp(2*dot(x,y)/7)",
                                                   "tanh(dot(x,y)/2)^2+cos(dot(x,y)/3)", "dot(x,y)*2+9", "(1+dot(x,y)/4)^2/(1+norm2(x))"};
  for (const std::string& kernel : kernels) {
    for (int k = 0; k < 3; ++k) {
      Call call = draw_call(random, 90);
      call.rule.kernel = {"", kernel};
      call.rule.scale = k == 0 ? 1 : 0.5;
      call.rule.normalised = false; // the last but one may be near 0
      call.name += kernel;
      for (const InstructionSet set : available_sets()) {
        check_call<float>(call, random, set, static_cast<int>(pick(random, 1, 3)));
        check_call<double>(call, random, set, 2);
      }
    }
  }
}

// The slope of exp(-|x - y|) along x is a unit vector however near y is: it must not be the difference of two large sums.
// Tiles, rows one by one, and both beside each other; no allowance but the reference's own error, over several draws.
TEST_CASE("gradients between near points") {
  Random random(10);
  for (const std::string& kernel : {std::string("laplace"), std::string("exp(-norm(x-y))")}) {
    for (const layout::PatternKind kind : {layout::PatternKind::full, layout::PatternKind::ring, layout::PatternKind::window}) {
      Call call = draw_call(random, 40);
      constexpr layout::Vertex n = 150;
      layout::PatternSpec spec;
      spec.kind = kind;
      if (kind != layout::PatternKind::full)
        spec.radius = kind == layout::PatternKind::ring ? 3 : 20;
      if (kind == layout::PatternKind::window)
        spec.global = {0};
      const layout::Relation relation(layout::make_patterns(spec, {n, 0, 1}, Budget()).front(), {}, layout::Cancels::nothing, n);
      call.plan = make_plan({&relation, 1}, Budget());
      call.shape = {1, 2, 2, n, n, 2, 3};
      call.has_bias = false;
      call.lengths.clear();
      call.rule = {};
      if (kernel == "laplace")
        set_kernel(call, kernel);
      else
        call.rule.kernel = {"", kernel};
      for (const InstructionSet set : available_sets()) {
        CAPTURE(kernel);
        CAPTURE(static_cast<int>(kind));
        CAPTURE(static_cast<int>(set));
        std::vector<Errors> all;
        for (int draw = 0; draw < 12; ++draw)
          measure<float>(call, random, set, 2, [](auto&) {}, all);
        for (const Errors& errors : all) {
          CAPTURE(errors.what);
          CHECK(errors.error(errors.fast) <= errors.factor * errors.error(errors.plain));
        }
      }
    }
  }
}

// Prefix sums that grow from tile to tile, and from chunk to chunk (1024 tokens).
TEST_CASE("sums of features: full and causal patterns in linear time") {
  Random random(4);
  for (int k = 0; k < 12; ++k) {
    Call call = draw_call(random, 40);
    set_full(call, pick(random, 1, 200), k % 2 == 0, random);
    set_kernel(call, k % 3 == 0 ? "exponential-sum" : "performer");
    const InstructionSet set = draw_set(random);
    check_call<float>(call, random, set, 2);
    check_call<double>(call, random, set, 1);
  }
  Call call = draw_call(random, 40);
  call.shape = {1, 2, 1, 1, 1, 2, 2};
  call.lengths.clear();
  set_full(call, 1100, true, random);
  set_kernel(call, "exponential-sum");
  check_call<float>(call, random, InstructionSet::best, 2);
}

namespace {

void sweep_blocks(int calls, std::int64_t largest, std::uint64_t seed) {
  Random random(seed);
  for (int k = 0; k < calls; ++k) {
    Call call = draw_call(random, 40);
    set_long_rows(call, pick(random, 128, largest), random);
    set_kernel(call, k % 3 == 0 ? "exponential-sum" : "performer");
    CAPTURE(k);
    const InstructionSet set = draw_set(random);
    check_call<float>(call, random, set, 2);
    check_call<double>(call, random, set, 1);
  }
}

} // namespace

TEST_CASE("sums of features on long rows: whole blocks of reads are met as sums") { sweep_blocks(40, 700, 20); }

TEST_CASE("scores too far apart for sums of features are left to the reference") {
  Random random(5);
  Call call = draw_call(random, 40);
  call.shape = {1, 1, 1, 1, 1, 2, 2};
  call.lengths.clear();
  call.rule.normalised = true;
  call.rule.sink = Sink::none;
  call.rule.eps = 0;
  for (const bool causal : {false, true}) {
    set_full(call, 30, causal, random);
    set_kernel(call, "performer");
    call.rule.kernel.features = {{1, 0}, {-1, 0}};
    Numbers<float> fast = draw_numbers<float>(call, random);
    for (std::size_t i = 0; i < 60; i += 2) { // queries and keys on either side of the origin
      fast.query[i] = 200;
      fast.key[i] = -200;
    }
    Numbers<float> plain = fast;
    Execution execution;
    run(call, fast, execution);
    execution.implementation = Implementation::reference;
    run(call, plain, execution);
    CHECK(fast.out == plain.out);
    CHECK(fast.grad_value == plain.grad_value);
    CHECK(fast.out[3] != 0);
  }
}

// The weight of a row's only read is 1 whatever its score is. In vectors of rows, and row by row (biases, any width).
TEST_CASE("queries and keys of rows with one read have gradient 0") {
  Random random(16);
  for (const std::string& kernel : fast_kernels()) {
    for (const bool has_bias : {false, true}) {
      for (const std::int64_t width : {2, 64}) {
        Call call = draw_call(random, 40);
        constexpr layout::Vertex n = 37;
        layout::PatternSpec spec;
        spec.kind = layout::PatternKind::ring;
        spec.radius = 0;
        layout::Relative relative;
        relative.kind = has_bias ? layout::RelativeKind::offset : layout::RelativeKind::none;
        const layout::Relation relation(layout::make_patterns(spec, {n, 0, 1}, Budget()).front(), relative, layout::Cancels::nothing, n);
        call.plan = make_plan({&relation, 1}, Budget());
        call.shape = {1, 2, 1, n, n, width, 64};
        call.has_bias = has_bias;
        call.lengths.clear();
        call.rule = {};
        set_kernel(call, kernel);
        CAPTURE(call.name);
        for (const InstructionSet set : available_sets()) {
          Execution execution;
          execution.instructions = set;
          Numbers<float> numbers = draw_numbers<float>(call, random);
          run(call, numbers, execution);
          const auto is_zero = [](float x) { return x == 0; };
          CHECK(std::all_of(numbers.grad_query.begin(), numbers.grad_query.end(), is_zero));
          CHECK(std::all_of(numbers.grad_key.begin(), numbers.grad_key.end(), is_zero));
        }
      }
    }
  }
}

// What counts is decided by rounding where two weights are near each other: products and distances of quarters are exact,
// and ties go to the smaller read.
TEST_CASE("the largest weights of a row, with ties") {
  Random random(7);
  static const std::vector<std::string> kernels = {"softmax", "gaussian", "laplace", "cauchy", "relu2"};
  for (int k = 0; k < 40; ++k) {
    Call call = draw_call(random, 200);
    call.has_bias = false;
    call.rule.slopes.clear();
    set_kernel(call, kernels[random() % kernels.size()]);
    call.rule.scale = call.rule.kernel.name == "softmax" ? 0.25 : 1;
    call.rule.top_k = pick(random, 1, chance(random, 70) ? 12 : call.shape.reads);
    CAPTURE(*call.rule.top_k);
    const auto round = [](auto& numbers) {
      for (auto* each : {&numbers.query, &numbers.key}) {
        for (auto& x : *each)
          x = std::round(x * 2) / 4;
      }
    };
    for (const InstructionSet set : available_sets()) {
      check_call<float>(call, random, set, static_cast<int>(pick(random, 1, 3)), round);
      check_call<double>(call, random, set, 2, round);
    }
  }
}

// Strips that begin between whole vectors: nothing of the list before may stand behind the last read.
TEST_CASE("the largest weights of a row: long windows beside a global token") {
  Random random(9);
  for (const layout::Vertex n : {650, 700, 727}) {
    Call call = draw_call(random, 40);
    layout::PatternSpec spec;
    spec.kind = layout::PatternKind::window;
    spec.radius = 256;
    spec.global = {0};
    const layout::Relation relation(layout::make_patterns(spec, {n, 0, 1}, Budget()).front(), {}, layout::Cancels::nothing, n);
    call.plan = make_plan({&relation, 1}, Budget());
    call.shape = {1, 1, 1, n, n, 16, 16};
    call.has_bias = false;
    call.lengths.clear();
    call.rule = {};
    set_kernel(call, "softmax");
    call.rule.top_k = 32;
    for (const InstructionSet set : available_sets())
      check_call<double>(call, random, set, 1);
  }
}

TEST_CASE("the largest weights of a row: every kernel, biases, slopes") {
  Random random(8);
  for (int k = 0; k < 60; ++k) {
    Call call = draw_call(random, 150);
    set_kernel(call, fast_kernels()[static_cast<std::size_t>(k) % fast_kernels().size()]);
    call.rule.top_k = pick(random, 1, 20);
    CAPTURE(*call.rule.top_k);
    check_call<double>(call, random, InstructionSet::best, 2);
  }
}

TEST_SUITE("slow") {
  TEST_CASE("sums of features on long full and causal patterns") {
    Random random(6);
    for (int k = 0; k < 6; ++k) {
      Call call = draw_call(random, 40);
      call.shape.width = call.shape.value_width = 4;
      set_full(call, pick(random, 1025, 2200), k % 2 == 0, random);
      set_kernel(call, k % 3 == 0 ? "exponential-sum" : "performer");
      call.rule.kernel.features.resize(std::min<std::size_t>(call.rule.kernel.features.size(), 2));
      check_call<float>(call, random, InstructionSet::best, 2);
    }
  }

  TEST_CASE("fast attention equals the reference on many random calls") { sweep(1500, 400, 3); }
}

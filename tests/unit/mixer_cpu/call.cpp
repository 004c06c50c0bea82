#include "call.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sightline/layout/pattern_spec.hpp"

namespace sightline::mixer {

layout::Pattern draw_pattern(Random& random, std::int64_t n, std::string& name, std::int64_t registers) {
  using layout::PatternKind;
  layout::PatternSpec spec;
  const auto set = [&](PatternKind kind, const char* what) {
    spec.kind = kind;
    name = fmt::format("{} {}", what, n);
  };
  switch (pick(random, 0, 11)) {
  case 0:
    set(PatternKind::full, "full");
    break;
  case 1:
    set(PatternKind::full, "causal");
    spec.causal = true;
    break;
  case 2:
    set(PatternKind::window, "window");
    spec.before = pick(random, 0, n);
    spec.after = chance(random, 50) ? 0 : pick(random, 0, n);
    spec.wrap = chance(random, 40);
    spec.dilation = chance(random, 25) ? 2 : 1;
    break;
  case 3:
    set(PatternKind::window, "global");
    spec.radius = pick(random, 0, 60);
    spec.global = {pick(random, 0, n - 1)};
    break;
  case 4:
    set(PatternKind::blocks, "blocks");
    spec.size = pick(random, 1, 100);
    break;
  case 5:
    set(PatternKind::bigbird, "bigbird");
    spec.block = 16;
    spec.random_blocks = 1;
    break;
  case 6:
    set(PatternKind::ring, "ring");
    spec.radius = pick(random, 0, 2);
    break;
  case 7: {
    // A hub among a ring, as in the benchmark's star.
    set(PatternKind::window, "hub");
    spec.radius = 1;
    spec.wrap = true;
    spec.global = {0};
    break;
  }
  case 8:
    set(PatternKind::random, "random");
    spec.degree = pick(random, 0, std::min<std::int64_t>(n - 1, 40));
    spec.seed = random();
    break;
  case 9:
    set(PatternKind::random, "half");
    spec.density = 0.5;
    spec.seed = random();
    break;
  case 10:
    set(PatternKind::strided, "strided");
    spec.stride = pick(random, 1, n);
    break;
  default: {
    set(PatternKind::rows, "stretches"); // random intervals, empty rows among them
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<std::int64_t> row;
      const std::int64_t a = pick(random, 0, n - 1), b = chance(random, 20) ? a : pick(random, a, n);
      for (std::int64_t j = a; j < b; ++j)
        row.push_back(j);
      spec.rows.push_back(row);
    }
    spec.rows.resize(static_cast<std::size_t>(n + registers));
    break;
  }
  }
  return layout::make_patterns(spec, {static_cast<layout::Vertex>(n), static_cast<layout::Vertex>(registers), 1},
                               Budget())
      .front();
}

// Stretches and single reads of up to four colours, with holes, registers among the vertices.
layout::Pattern draw_coloured_pattern(Random& random, std::int64_t n, std::int64_t registers, std::string& name) {
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::matrix;
  const std::int64_t holes = pick(random, 0, 90);
  for (std::int64_t i = 0; i < n + registers; ++i) {
    std::vector<std::int64_t> row;
    std::int64_t colour = 1;
    for (std::int64_t j = 0; j < n + registers; ++j) {
      if (chance(random, 10))
        colour = chance(random, holes) ? 0 : pick(random, 1, 4);
      row.push_back(colour);
    }
    spec.matrix.push_back(row);
  }
  name = fmt::format("coloured {}", n);
  return layout::make_patterns(spec, {static_cast<layout::Vertex>(n), static_cast<layout::Vertex>(registers), 1},
                               Budget())
      .front();
}

const std::vector<std::string>& fast_kernels() {
  static const std::vector<std::string> names = {"softmax",
                                                 "gaussian",
                                                 "laplace",
                                                 "cauchy",
                                                 "relu2",
                                                 "elu1",
                                                 "cosine",
                                                 "performer",
                                                 "exponential-sum",
                                                 "sigmoid(dot(x,y))",
                                                 "softplus(dot(x,y))/(1+norm2(y))",
                                                 "(1+norm2(x-y))*exp(dot(x,y)/4)",
                                                 "(1+norm2(x-y))^-0.5",
                                                 "1/sqrt(3+2*norm2(x-y))",
                                                 "2/(norm2(x-y)/3+0.5)",
                                                 "exp(-norm2((x-y)/2))",
                                                 "2+sin(dot(x,y))*cos(norm(2*x-y/3))",
                                                 "cosh(dot(x,y)/9)^2+abs(dot(x,x+y)/9)",
                                                 "exp(dot(tanh(x),y)/4)",
                                                 "dot(elu(x)+1,elu(y)+1)",
                                                 "exp(-norm2(sin(x)-tanh(y)/3))/(2+norm(sin(x)))",
                                                 "exp(-norm(x-y))*((1.5+tanh(dot(x,y)))^0.3+log(1+norm(x)))"};
  return names;
}

layout::Pattern draw_long_rows(Random& random, std::int64_t n) {
  const std::int64_t before = pick(random, 0, n), behind = chance(random, 50) ? 0 : pick(random, 0, n), block = pick(random, 20, 130);
  const bool has_global = chance(random, 50), has_blocks = chance(random, 40), has_cuts = chance(random, 30);
  std::vector<bool> is_cut(static_cast<std::size_t>(n)), is_taken(static_cast<std::size_t>((n / block + 1) * (n / block + 1)));
  for (std::size_t j = 0; j < is_cut.size(); ++j)
    is_cut[j] = has_cuts && chance(random, 1);
  for (std::size_t b = 0; b < is_taken.size(); ++b)
    is_taken[b] = chance(random, 40);
  std::vector<std::vector<layout::Vertex>> rows(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      const bool is_near = has_blocks ? is_taken[static_cast<std::size_t>(i / block * (n / block + 1) + j / block)] : i - before <= j && j <= i + behind;
      if ((is_near && !is_cut[static_cast<std::size_t>(j)] && !is_cut[static_cast<std::size_t>(i)]) || (has_global && (i == 3 || j == 3)))
        rows[static_cast<std::size_t>(i)].push_back(static_cast<layout::Vertex>(j));
    }
  }
  return layout::make_pattern_from_rows(static_cast<layout::Vertex>(n), rows);
}

void set_long_rows(Call& call, std::int64_t n, Random& random) {
  std::vector<layout::Relation> relations;
  for (std::int64_t h = 0, count = chance(random, 30) ? call.shape.heads : 1; h < count; ++h)
    relations.emplace_back(draw_long_rows(random, n), layout::Relative(), layout::Cancels::nothing, static_cast<layout::Vertex>(n));
  call.name = "long rows";
  call.plan = make_plan(relations, Budget());
  call.shape.readers = call.shape.reads = n;
  call.has_bias = false;
  call.rule.slopes.clear();
  for (std::int64_t& length : call.lengths)
    length = pick(random, 0, n);
}

void set_kernel(Call& call, const std::string& kernel) {
  call.rule.kernel = {};
  call.name = kernel + " " + call.name;
  if (kernel.find('(') == std::string::npos)
    call.rule.kernel.name = kernel;
  else
    call.rule.kernel = {"", kernel};
  call.rule.kernel.gamma = mpq_class(1, 8);
  call.rule.scale = kernel == "softmax" ? 1 / std::sqrt(static_cast<double>(call.shape.width)) : 1;
  const std::int64_t width = call.shape.width;
  Random random(static_cast<std::uint64_t>(width));
  const auto draw = [&] {
    std::vector<mpq_class> w;
    for (std::int64_t c = 0; c < width; ++c) {
      w.emplace_back(pick(random, -8, 8), 8 + width);
      w.back().canonicalize();
    }
    return w;
  };
  call.rule.kernel.weight = draw();
  for (std::int64_t f = pick(random, 1, 20); f > 0 && kernel == "performer"; --f)
    call.rule.kernel.features.push_back(draw());
}

namespace {

// Without biases.
void set_pattern(Call& call, std::int64_t n, const layout::PatternSpec& spec, const std::string& name) {
  const layout::Relation relation(layout::make_patterns(spec, {static_cast<layout::Vertex>(n), 0, 1}, Budget()).front(),
                                  {}, layout::Cancels::nothing, static_cast<layout::Vertex>(n));
  call.plan = make_plan({&relation, 1}, Budget());
  call.name = fmt::format("{} instead of {}", name, call.name);
  call.shape.readers = call.shape.reads = n;
  call.rule.slopes.clear();
  call.has_bias = false;
}

} // namespace

void set_full(Call& call, std::int64_t n, bool causal, Random& random) {
  layout::PatternSpec spec;
  spec.causal = causal;
  set_pattern(call, n, spec, fmt::format("{} {}", causal ? "causal" : "full", n));
  for (std::int64_t& length : call.lengths)
    length = pick(random, 0, n);
}

void set_blocks(Call& call, std::int64_t n, std::int64_t size, std::int64_t width) {
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::blocks;
  spec.size = size;
  set_pattern(call, n, spec, fmt::format("blocks of {}", size));
  call.shape.width = call.shape.value_width = width;
  call.lengths.clear();
}

Call draw_call(Random& random, std::int64_t largest) {
  Call call;
  const std::int64_t n = pick(random, 1, largest), registers = chance(random, 20) ? pick(random, 1, 3) : 0;
  Shape& shape = call.shape;
  shape.batch = pick(random, 1, 2);
  shape.key_heads = pick(random, 1, 2);
  shape.heads = shape.key_heads * pick(random, 1, 2);
  shape.readers = shape.reads = n + registers;
  static constexpr std::int64_t widths[] = {2, 3, 8, 16, 20, 32, 64};
  shape.width = widths[random() % 7];
  shape.value_width = chance(random, 60) ? shape.width : widths[random() % 7];
  call.token_major = chance(random, 50);
  layout::Relative relative;
  const bool alibi = chance(random, 15);
  call.has_bias = chance(random, alibi ? 20 : 30);
  if (alibi)
    relative.kind = layout::RelativeKind::distance;
  else if (call.has_bias)
    relative.kind = static_cast<layout::RelativeKind>(pick(random, 0, 4));
  if (relative.kind == layout::RelativeKind::grid_offset)
    relative.grid_width = static_cast<std::uint32_t>(pick(random, 1, n));
  relative.bidirectional = chance(random, 50);
  std::vector<layout::Relation> relations;
  for (std::int64_t h = chance(random, 25) ? shape.heads : 1; h > 0; --h) {
    std::string name;
    const bool coloured = call.has_bias && chance(random, 25);
    relations.emplace_back(coloured ? draw_coloured_pattern(random, n, registers, name)
                                    : draw_pattern(random, n, name, registers),
                           relative, layout::Cancels::nothing, static_cast<layout::Vertex>(n));
    call.name += fmt::format("[{}, {} registers] ", name, registers);
  }
  call.plan = make_plan(relations, Budget());
  if (alibi) {
    for (std::int64_t h = 0; h < shape.heads; ++h)
      call.rule.slopes.push_back(0.1 * static_cast<double>(h + 1));
  }
  set_kernel(call, fast_kernels()[chance(random, 50) ? 0 : random() % fast_kernels().size()]);
  call.rule.normalised = chance(random, 80);
  call.rule.sink = chance(random, 60) ? Sink::none : chance(random, 50) ? Sink::one : Sink::trained;
  call.rule.eps = chance(random, 75) ? 0 : 0.3;
  if (chance(random, 30)) {
    for (std::int64_t b = 0; b < shape.batch; ++b)
      call.lengths.push_back(pick(random, 0, n));
  }
  call.keeps_weights = chance(random, 50);
  call.name += fmt::format(
      "{} heads {}/{} widths {} {} normalised {} sink {} eps {} bias {} relative {} alibi {} lengths {} token major {} keeps weights {}",
      call.rule.kernel.name, shape.heads, shape.key_heads, shape.width, shape.value_width, call.rule.normalised,
      static_cast<int>(call.rule.sink), call.rule.eps, call.has_bias, static_cast<int>(relative.kind), alibi,
      call.lengths.size(), call.token_major, call.keeps_weights);
  return call;
}

std::size_t index_of(const Call& call, std::int64_t heads, std::int64_t tokens, std::int64_t width, std::int64_t batch,
                     std::int64_t head, std::int64_t token) {
  return static_cast<std::size_t>(
      (call.token_major ? (batch * tokens + token) * heads + head : (batch * heads + head) * tokens + token) * width);
}

namespace {

template <class Real>
View<Real> view(const Call& call, Real* data, std::int64_t heads, std::int64_t tokens, std::int64_t width) {
  if (call.token_major)
    return {data, tokens * heads * width, width, heads * width};
  return {data, heads * tokens * width, tokens * width, width};
}

} // namespace

template <class Real> Numbers<Real> draw_numbers(const Call& call, Random& random) {
  const Shape& s = call.shape;
  std::normal_distribution<double> normal;
  const auto draw = [&](std::int64_t count) {
    std::vector<Real> values(static_cast<std::size_t>(count));
    for (Real& v : values)
      v = static_cast<Real>(normal(random));
    return values;
  };
  Numbers<Real> numbers;
  numbers.query = draw(s.batch * s.readers * s.heads * s.width);
  numbers.key = draw(s.batch * s.reads * s.key_heads * s.width);
  numbers.value = draw(s.batch * s.reads * s.key_heads * s.value_width);
  numbers.grad_out = draw(s.batch * s.readers * s.heads * s.value_width);
  if (call.has_bias)
    numbers.bias = draw(s.heads * call.plan->colours());
  if (call.rule.sink == Sink::trained)
    numbers.sink = draw(s.heads);
  return numbers;
}

template <class Real> Numbers<double> widen(const Numbers<Real>& from) {
  const auto cast = [](const std::vector<Real>& v) { return std::vector<double>(v.begin(), v.end()); };
  return {cast(from.query),
          cast(from.key),
          cast(from.value),
          cast(from.grad_out),
          cast(from.bias),
          cast(from.sink),
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          {}};
}

template <class Real> void run(const Call& call, Numbers<Real>& numbers, const Execution& execution) {
  const Shape& s = call.shape;
  AttentionInputs<Real> in;
  in.query = view<const Real>(call, numbers.query.data(), s.heads, s.readers, s.width);
  in.key = view<const Real>(call, numbers.key.data(), s.key_heads, s.reads, s.width);
  in.value = view<const Real>(call, numbers.value.data(), s.key_heads, s.reads, s.value_width);
  in.bias = call.has_bias ? numbers.bias.data() : nullptr;
  in.sink = call.rule.sink == Sink::trained ? numbers.sink.data() : nullptr;
  in.lengths = call.lengths.empty() ? nullptr : call.lengths.data();
  AttentionOutputs<Real> out;
  numbers.out.assign(numbers.grad_out.size(), Real(99));
  numbers.statistics.assign(static_cast<std::size_t>(s.batch * s.heads * s.readers * 2), Real(99));
  out.out = view<Real>(call, numbers.out.data(), s.heads, s.readers, s.value_width);
  out.statistics = numbers.statistics.data();
  numbers.arc_weights.assign(
      static_cast<std::size_t>(call.keeps_weights ? count_arc_weights<Real>(*call.plan, call.rule, s, execution) : 0), Real(99));
  out.arc_weights = numbers.arc_weights.empty() ? nullptr : numbers.arc_weights.data();
  attend<Real>(*call.plan, call.rule, s, in, out, execution);
  numbers.grad_query.assign(numbers.query.size(), Real(99));
  numbers.grad_key.assign(numbers.key.size(), Real(99));
  numbers.grad_value.assign(numbers.value.size(), Real(99));
  numbers.grad_bias.assign(numbers.bias.size(), Real(99));
  numbers.grad_sink.assign(numbers.sink.size(), Real(99));
  AttentionGradients<Real> gradients;
  gradients.out = view<const Real>(call, numbers.grad_out.data(), s.heads, s.readers, s.value_width);
  gradients.query = view<Real>(call, numbers.grad_query.data(), s.heads, s.readers, s.width);
  gradients.key = view<Real>(call, numbers.grad_key.data(), s.key_heads, s.reads, s.width);
  gradients.value = view<Real>(call, numbers.grad_value.data(), s.key_heads, s.reads, s.value_width);
  gradients.bias = call.has_bias ? numbers.grad_bias.data() : nullptr;
  gradients.sink = call.rule.sink == Sink::trained ? numbers.grad_sink.data() : nullptr;
  attend_backward<Real>(*call.plan, call.rule, s, in, out, gradients, execution);
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template Numbers<Real> draw_numbers(const Call&, Random&);                                                           \
  template Numbers<double> widen(const Numbers<Real>&);                                                                \
  template void run(const Call&, Numbers<Real>&, const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer

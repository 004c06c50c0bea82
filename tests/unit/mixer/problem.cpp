#include "problem.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sightline/layout/pattern_spec.hpp"

namespace sightline::mixer {
namespace {

using layout::Cancels;
using layout::Pattern;
using layout::PatternKind;
using layout::PatternSize;
using layout::PatternSpec;
using layout::Relation;
using layout::Relative;
using layout::RelativeKind;
using layout::Vertex;

struct Drawn {
  std::string name;
  PatternSpec spec;
};

Drawn draw_spec(Random& random, std::int64_t n, std::int64_t registers) {
  PatternSpec spec;
  const auto made = [&](PatternKind kind, const char* name) {
    spec.kind = kind;
    return Drawn{fmt::format("{} {}", name, n), spec};
  };
  switch (pick(random, 0, 13)) {
  case 0:
    return made(PatternKind::full, "full");
  case 1:
    spec.radius = pick(random, 0, 3);
    return made(PatternKind::ring, "ring");
  case 2:
    spec.before = pick(random, 0, 3);
    spec.after = pick(random, 0, 3);
    spec.wrap = chance(random, 60);
    spec.dilation = pick(random, 1, 2);
    return made(PatternKind::window, "window");
  case 3:
    spec.size = pick(random, 1, n);
    return made(PatternKind::blocks, "blocks");
  case 4:
    spec.size = pick(random, 2, std::max<std::int64_t>(n, 2));
    spec.shift = pick(random, 0, *spec.size - 1);
    return made(PatternKind::shifted_blocks, "shifted blocks");
  case 5: {
    std::int64_t height = pick(random, 1, 4);
    while (n % height != 0)
      --height;
    spec.shape = {height, n / height};
    spec.grid_window = {pick(random, 0, 1), pick(random, 0, 2)};
    spec.wrap = chance(random, 70);
    return made(PatternKind::grid, "grid");
  }
  case 6:
    spec.stride = pick(random, 1, n);
    return made(PatternKind::strided, "strided");
  case 7:
    spec.offsets = {pick(random, 0, n - 1), pick(random, 0, n - 1)};
    return made(PatternKind::circulant, "circulant");
  case 8:
    spec.radius = 1;
    spec.global = {0};
    spec.wrap = chance(random, 50);
    return made(PatternKind::window, "global");
  case 9:
    if (registers == 1)
      return made(PatternKind::star, "star");
    spec.causal = true;
    return made(PatternKind::full, "causal");
  case 10: {
    const std::int64_t colours = pick(random, 1, 3);
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<std::int64_t> row;
      const std::int64_t own = pick(random, 1, colours);
      for (std::int64_t j = 0; j < n; ++j)
        row.push_back(chance(random, 40) ? 0 : chance(random, 50) ? own : pick(random, 1, colours));
      if (chance(random, 10))
        row.assign(static_cast<std::size_t>(n), 0);
      spec.matrix.push_back(row);
    }
    for (std::int64_t r = 0; r < registers; ++r) {
      for (auto& row : spec.matrix)
        row.push_back(1);
    }
    for (std::int64_t r = 0; r < registers; ++r)
      spec.matrix.emplace_back(n + registers, 1);
    return made(PatternKind::matrix, "matrix");
  }
  case 11: {
    // One colour per row, which normalised rows forget.
    const std::int64_t before = pick(random, 0, n - 1);
    for (std::int64_t i = 0; i < n; ++i) {
      std::vector<std::int64_t> row(static_cast<std::size_t>(n + registers), 0);
      const std::int64_t colour = pick(random, 1, 3);
      for (std::int64_t k = 0; k <= before; ++k)
        row[static_cast<std::size_t>((i + k) % n)] = colour;
      spec.matrix.push_back(row);
    }
    for (std::int64_t r = 0; r < registers; ++r)
      spec.matrix.emplace_back(n + registers, chance(random, 50));
    return made(PatternKind::matrix, "row colours");
  }
  case 12: {
    // The first half reads the second: distances that agree up to a shift.
    spec.rows.resize(static_cast<std::size_t>(n + registers));
    for (std::int64_t i = 0; i < n / 2; ++i)
      for (std::int64_t j = n / 2; j < n; ++j)
        spec.rows[static_cast<std::size_t>(i)].push_back(j);
    return made(PatternKind::rows, "halves");
  }
  default:
    spec.degree = pick(random, 0, n - 1);
    spec.seed = random();
    return made(PatternKind::random, "random");
  }
}

Relative draw_relative(Random& random, const PatternSpec& spec) {
  Relative relative;
  const bool halves = spec.kind == PatternKind::rows; // there for the sake of distances
  switch (halves && chance(random, 60) ? 1 : pick(random, 0, 7)) {
  case 0:
    relative.kind = RelativeKind::offset;
    break;
  case 1:
    relative.kind = RelativeKind::distance;
    break;
  case 2:
    relative.kind = RelativeKind::bucket;
    relative.buckets = 4;
    relative.max_distance = 8;
    relative.bidirectional = chance(random, 50);
    break;
  case 3:
    if (spec.kind == PatternKind::grid) {
      relative.kind = RelativeKind::grid_offset;
      relative.grid_width = static_cast<std::uint32_t>(spec.shape[1]);
    }
    break;
  default:
    break;
  }
  return relative;
}

std::size_t size_of(std::int64_t a, std::int64_t b, std::int64_t c = 1, std::int64_t d = 1) {
  return static_cast<std::size_t>(a * b * c * d);
}

template <class Real>
View<Real> view(std::vector<Real>& data, std::int64_t heads, std::int64_t vertices, std::int64_t width) {
  return {data.data(), vertices * heads * width, width, heads * width};
}
template <class Real>
View<const Real> view(const std::vector<Real>& data, std::int64_t heads, std::int64_t vertices, std::int64_t width) {
  return {data.data(), vertices * heads * width, width, heads * width};
}

} // namespace

const std::vector<std::string>& all_kernels() {
  static const std::vector<std::string> kernels = {"softmax",
                                                   "gaussian",
                                                   "rbf",
                                                   "performer",
                                                   "exponential-sum",
                                                   "cauchy",
                                                   "laplace",
                                                   "elu1",
                                                   "relu2",
                                                   "cosine",
                                                   "(1+norm2(x-y))*exp(dot(x,y))",
                                                   "dot(elu(x)+1,elu(y)+1)",
                                                   "(1+norm2(x-y))^-0.5",
                                                   "softplus(dot(x,y))/(1+norm2(y))",
                                                   "exp(dot(tanh(x),y))/exp(norm2(y)/4)",
                                                   "sigmoid(dot(x,y))",
                                                   "2+sin(dot(x,y))*cos(norm(2*x-y/3))",
                                                   "cosh(dot(x,y))^2+abs(dot(x,x+y))",
                                                   "1.5"};
  return kernels;
}

attention_kernel::Kernel make_kernel(const std::string& name, std::int64_t width, Random& random) {
  attention_kernel::Kernel kernel;
  const auto& names = attention_kernel::kernel_names();
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    kernel.name = "";
    kernel.text = name;
    return kernel;
  }
  kernel.name = name;
  kernel.gamma = mpq_class(pick(random, 1, 6), 4);
  kernel.temperature = mpq_class(pick(random, 1, 9), 3);
  const auto draw = [&] {
    std::vector<mpq_class> w;
    for (std::int64_t c = 0; c < width; ++c)
      w.emplace_back(pick(random, -5, 5), 4);
    for (mpq_class& entry : w)
      entry.canonicalize();
    return w;
  };
  kernel.gamma.canonicalize();
  kernel.temperature.canonicalize();
  for (std::int64_t f = pick(random, 1, 3); f > 0; --f)
    kernel.features.push_back(draw());
  kernel.weight = draw();
  return kernel;
}

Heads draw_heads(Random& random, std::int64_t largest, std::int64_t heads) {
  const std::int64_t n = pick(random, 1, largest), registers = chance(random, 30) ? pick(random, 1, 2) : 0;
  Heads result;
  for (std::int64_t h = 0; h < heads; ++h) {
    const Drawn drawn = draw_spec(random, n, registers);
    const Relative relative = draw_relative(random, drawn.spec);
    const PatternSize size{static_cast<Vertex>(n), static_cast<Vertex>(registers), 1};
    result.name +=
        fmt::format("[{}, {} registers, relative {}]", drawn.name, registers, static_cast<int>(relative.kind));
    result.relations.emplace_back(layout::make_patterns(drawn.spec, size, Budget()).front(), relative, Cancels::nothing,
                                  static_cast<Vertex>(n));
  }
  return result;
}

Problem draw_attention(Random& random, Heads heads, const std::string& kernel, bool symmetric) {
  Problem problem;
  const auto plan_heads = static_cast<std::int64_t>(heads.relations.size());
  const Relation& first = heads.relations.front();
  problem.name = fmt::format("{} {}", heads.name, kernel);
  problem.rule.normalised = chance(random, 75);
  problem.rule.sink = chance(random, 60) ? Sink::none : chance(random, 50) ? Sink::one : Sink::trained;
  problem.rule.eps = chance(random, 75) ? 0 : 0.3;
  Shape& shape = problem.shape;
  shape.batch = pick(random, 1, 2);
  shape.heads = plan_heads > 1 ? plan_heads : pick(random, 1, 3);
  shape.key_heads = chance(random, 40) ? 1 : shape.heads;
  shape.readers = shape.reads = first.vertex_count();
  shape.width = 2 * pick(random, 1, 2);
  shape.value_width = pick(random, 1, 4);
  problem.rule.kernel = make_kernel(kernel, shape.width, random);
  problem.rule.scale = kernel == "softmax"  ? 1 / std::sqrt(static_cast<double>(shape.width))
                       : chance(random, 50) ? 1
                                            : 0.7;
  bool alibi = false, rotary = false;
  for (const Relation& relation : heads.relations) {
    alibi = alibi || relation.relative().kind == RelativeKind::distance;
    rotary = rotary || relation.relative().kind == RelativeKind::offset;
  }
  for (const Relation& relation : heads.relations)
    alibi = alibi && relation.relative().kind == RelativeKind::distance;
  for (const Relation& relation : heads.relations)
    rotary = rotary && relation.relative().kind == RelativeKind::offset;
  if (alibi) {
    for (std::int64_t h = 0; h < shape.heads; ++h)
      problem.rule.slopes.push_back(std::pow(2.0, -static_cast<double>(h + 1)));
  }
  problem.rotary = rotary && chance(random, 50);
  problem.has_bias = !alibi && !problem.rotary && chance(random, 80);
  if (chance(random, 20))
    problem.rule.top_k = pick(random, 1, 4);
  // What a layout file would make of it (theory 2.5).
  const bool cancels = problem.rule.normalised && problem.rule.sink == Sink::none && problem.rule.eps == 0;
  for (const Relation& relation : heads.relations) {
    const Cancels kind = !cancels ? Cancels::nothing : alibi ? Cancels::common_shift : Cancels::single_colour;
    // Without a bias, slopes or angles nobody sees the relative colours.
    const bool seen = alibi || problem.rotary || problem.has_bias;
    problem.relations.emplace_back(relation.pattern(), seen ? relation.relative() : Relative{}, kind,
                                   relation.tokens());
  }
  problem.plan = make_plan(problem.relations, Budget());
  if (!symmetric && chance(random, 40)) {
    for (std::int64_t b = 0; b < shape.batch; ++b)
      problem.lengths.push_back(pick(random, 0, first.tokens()));
  }
  problem.name +=
      fmt::format(" normalised {} sink {} eps {} bias {} rotary {} alibi {} top_k {} heads {}/{} width {}",
                  problem.rule.normalised, static_cast<int>(problem.rule.sink), problem.rule.eps, problem.has_bias,
                  problem.rotary, alibi, problem.rule.top_k.value_or(0), shape.heads, shape.key_heads, shape.width);
  return problem;
}

Problem draw_problem(Random& random, std::int64_t largest, bool symmetric) {
  Heads heads = draw_heads(random, largest, chance(random, 25) ? 2 : 1);
  if (chance(random, 70))
    return draw_attention(random, std::move(heads), all_kernels()[random() % all_kernels().size()], symmetric);
  Problem problem;
  problem.is_attention = false;
  problem.aggregation = static_cast<Aggregation>(pick(random, 0, 2));
  problem.has_bias = problem.aggregation != Aggregation::max && chance(random, 60);
  for (const Relation& relation : heads.relations) {
    problem.relations.emplace_back(relation.pattern(), problem.has_bias ? relation.relative() : Relative{},
                                   Cancels::nothing, relation.tokens());
  }
  problem.plan = make_plan(problem.relations, Budget());
  Shape& shape = problem.shape;
  shape.batch = pick(random, 1, 2);
  shape.heads = problem.relations.size() > 1 ? static_cast<std::int64_t>(problem.relations.size()) : pick(random, 1, 2);
  shape.key_heads = chance(random, 30) ? 1 : shape.heads;
  shape.readers = shape.reads = problem.plan->readers();
  shape.width = 0;
  shape.value_width = pick(random, 1, 4);
  if (!symmetric && chance(random, 40)) {
    for (std::int64_t b = 0; b < shape.batch; ++b)
      problem.lengths.push_back(pick(random, 0, problem.plan->read_tokens()));
  }
  problem.name =
      fmt::format("{} aggregate {} weights {}", heads.name, static_cast<int>(problem.aggregation), problem.has_bias);
  return problem;
}

template <class Real> Numbers<Real> draw_numbers(const Problem& problem, Random& random) {
  const Shape& s = problem.shape;
  const auto draw = [&](std::size_t count) {
    std::vector<Real> values(count);
    for (Real& v : values)
      v = static_cast<Real>(normal(random));
    return values;
  };
  Numbers<Real> numbers;
  if (problem.is_attention) {
    numbers.query = draw(size_of(s.batch, s.readers, s.heads, s.width));
    numbers.key = draw(size_of(s.batch, s.reads, s.key_heads, s.width));
    if (problem.rule.sink == Sink::trained)
      numbers.sink = draw(static_cast<std::size_t>(s.heads));
  }
  numbers.value = draw(size_of(s.batch, s.reads, s.key_heads, s.value_width));
  numbers.grad_out = draw(size_of(s.batch, s.readers, s.heads, s.value_width));
  if (problem.has_bias)
    numbers.bias = draw(size_of(s.heads, problem.plan->colours()));
  return numbers;
}

template <class Real> void run_forward(const Problem& problem, Numbers<Real>& numbers, const Execution& execution) {
  const Shape& s = problem.shape;
  const std::int64_t* lengths = problem.lengths.empty() ? nullptr : problem.lengths.data();
  numbers.out.assign(size_of(s.batch, s.readers, s.heads, s.value_width), Real(99));
  const View<Real> out = view(numbers.out, s.heads, s.readers, s.value_width);
  const auto value = view(std::as_const(numbers.value), s.key_heads, s.reads, s.value_width);
  const Real* const bias = problem.has_bias ? numbers.bias.data() : nullptr;
  if (!problem.is_attention) {
    aggregate<Real>(*problem.plan, problem.aggregation, s, {value, bias, lengths}, out, execution);
    return;
  }
  numbers.statistics.assign(size_of(s.batch, s.heads, s.readers, 2), Real(99));
  numbers.attention.assign(size_of(s.batch, s.heads, s.readers, s.reads), Real(99));
  std::vector<Real> query = numbers.query, key = numbers.key;
  if (problem.rotary) {
    rotate<Real>(*problem.plan, s, view(std::as_const(numbers.query), s.heads, s.readers, s.width),
                 view(query, s.heads, s.readers, s.width), false, execution);
    Shape keys = s;
    keys.heads = s.key_heads;
    rotate<Real>(*problem.plan, keys, view(std::as_const(numbers.key), s.key_heads, s.reads, s.width),
                 view(key, s.key_heads, s.reads, s.width), false, execution);
  }
  attend<Real>(
      *problem.plan, problem.rule, s,
      {view(std::as_const(query), s.heads, s.readers, s.width), view(std::as_const(key), s.key_heads, s.reads, s.width),
       value, bias, numbers.sink.empty() ? nullptr : numbers.sink.data(), lengths},
      {out, problem.bare ? nullptr : numbers.statistics.data(), problem.bare ? nullptr : numbers.attention.data()},
      execution);
}

template <class Real> void run_backward(const Problem& problem, Numbers<Real>& numbers, const Execution& execution) {
  const Shape& s = problem.shape;
  const std::int64_t* lengths = problem.lengths.empty() ? nullptr : problem.lengths.data();
  numbers.grad_value.assign(numbers.value.size(), Real(99));
  numbers.grad_bias.assign(numbers.bias.size(), Real(99));
  const auto value = view(std::as_const(numbers.value), s.key_heads, s.reads, s.value_width);
  const auto grad_out = view(std::as_const(numbers.grad_out), s.heads, s.readers, s.value_width);
  const auto grad_value = view(numbers.grad_value, s.key_heads, s.reads, s.value_width);
  const Real* const bias = problem.has_bias ? numbers.bias.data() : nullptr;
  if (!problem.is_attention) {
    aggregate_backward<Real>(*problem.plan, problem.aggregation, s, {value, bias, lengths}, grad_out, grad_value,
                             problem.has_bias ? numbers.grad_bias.data() : nullptr, execution);
    return;
  }
  numbers.grad_query.assign(numbers.query.size(), Real(99));
  numbers.grad_key.assign(numbers.key.size(), Real(99));
  numbers.grad_sink.assign(numbers.sink.size(), Real(99));
  std::vector<Real> query = numbers.query, key = numbers.key;
  Shape keys = s;
  keys.heads = s.key_heads;
  if (problem.rotary) {
    rotate<Real>(*problem.plan, s, view(std::as_const(numbers.query), s.heads, s.readers, s.width),
                 view(query, s.heads, s.readers, s.width), false, execution);
    rotate<Real>(*problem.plan, keys, view(std::as_const(numbers.key), s.key_heads, s.reads, s.width),
                 view(key, s.key_heads, s.reads, s.width), false, execution);
  }
  const auto grad_query = view(numbers.grad_query, s.heads, s.readers, s.width);
  const auto grad_key = view(numbers.grad_key, s.key_heads, s.reads, s.width);
  attend_backward<Real>(
      *problem.plan, problem.rule, s,
      {view(std::as_const(query), s.heads, s.readers, s.width), view(std::as_const(key), s.key_heads, s.reads, s.width),
       value, bias, numbers.sink.empty() ? nullptr : numbers.sink.data(), lengths},
      {view(numbers.out, s.heads, s.readers, s.value_width), numbers.statistics.data(), numbers.attention.data()},
      {grad_out, grad_query, grad_key, grad_value, problem.has_bias ? numbers.grad_bias.data() : nullptr,
       problem.rule.sink == Sink::trained && problem.rule.normalised ? numbers.grad_sink.data() : nullptr},
      execution);
  if (!(problem.rule.sink == Sink::trained && problem.rule.normalised))
    numbers.grad_sink.assign(numbers.sink.size(), Real(0));
  if (problem.rotary) {
    const auto as_input = [](View<Real> v) {
      return View<const Real>{v.data, v.batch_stride, v.head_stride, v.token_stride};
    };
    rotate<Real>(*problem.plan, s, as_input(grad_query), grad_query, true, execution);
    rotate<Real>(*problem.plan, keys, as_input(grad_key), grad_key, true, execution);
  }
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template Numbers<Real> draw_numbers(const Problem&, Random&);                                                        \
  template void run_forward(const Problem&, Numbers<Real>&, const Execution&);                                         \
  template void run_backward(const Problem&, Numbers<Real>&, const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)

} // namespace sightline::mixer

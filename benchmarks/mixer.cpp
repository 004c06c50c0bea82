// One measurement of a token mixer, as a line of JSON; benchmarks/mixer.py asks for them, measures PyTorch beside and writes the table.
//   bench_mixer machine
//   bench_mixer aggregate convolution|linear|mean|max|ring|hub TOKENS WIDTH THREADS SECONDS [exact]
//   bench_mixer rotate TOKENS HEADS THREADS SECONDS
//   bench_mixer time|memory LAYOUT TOKENS HEADS THREADS KERNEL float32|float64 plain|exact forward|backward SECONDS [CHECKED]
// CHECKED: tokens at which the result is compared with the reference's before anything is timed (700).
// KERNEL: a name, performer:FEATURES or expr:TEXT; then, each with +: top_k=K, registers=R (the last R vertices), offset, t5, grid (learned biases).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <malloc.h>
#include <nlohmann/json.hpp>

#include "mixer_machine.hpp"
#include "sightline/layout/pattern_spec.hpp"
#include "sightline/mixer/cpu/tiles.hpp"
#include "sightline/mixer/mixer.hpp"
#include "sightline/mixer/plan.hpp"

namespace {

using namespace sightline;
using namespace sightline::mixer;
using bench::now;

constexpr std::int64_t width = 64;

layout::Pattern make_layout(const std::string& name, layout::Vertex n, layout::Vertex registers = 0) {
  using layout::PatternKind;
  layout::PatternSpec spec;
  if (name == "wrapped") {  // rotations alone
    spec.kind = PatternKind::window;
    spec.before = 511;
    spec.wrap = true;
    if (n <= 2 * 511) spec.before = n / 3;
  } else if (name == "wide-ring") {
    spec.kind = PatternKind::ring;
    spec.radius = std::min<std::int64_t>(128, n / 6);
  } else if (name == "torus") {
    layout::Vertex columns = 1;  // near the root of n
    for (layout::Vertex c = 1; c * c <= n; ++c) columns = n % c == 0 ? c : columns;
    std::vector<std::vector<layout::Vertex>> rows(n);
    for (layout::Vertex i = 0; i < n; ++i) {
      const layout::Vertex row = i / columns * columns, column = i % columns;
      for (const layout::Vertex right : {0, 1, 2}) rows[i].push_back(row + (column + right) % columns);
      rows[i].push_back((i + columns) % n);
    }
    return layout::make_pattern_from_rows(n, rows);
  } else if (name == "causal") {
    spec.causal = true;
  } else if (name == "window") {
    spec.kind = PatternKind::window;
    spec.before = 511;
  } else if (name == "longformer") {
    spec.kind = PatternKind::window;
    spec.radius = 256;
    spec.global = {0};
  } else if (name == "bigbird") {
    spec.kind = PatternKind::bigbird;
    spec.block = 64;
    spec.random_blocks = 3;
    spec.globals = 2;
  } else if (name == "ring") {
    spec.kind = PatternKind::ring;
    spec.radius = 1;
  } else if (name == "star") {
    std::vector<std::vector<layout::Vertex>> rows(n);
    for (layout::Vertex j = 0; j < n; ++j) rows[0].push_back(j);
    for (layout::Vertex i = 1; i < n; ++i) {
      rows[i] = {0, i};
      if (n > 2) rows[i].push_back(i == 1 ? n - 1 : i - 1);
      if (n > 3) rows[i].push_back(i == n - 1 ? 1 : i + 1);
    }
    return layout::make_pattern_from_rows(n, rows);
  } else if (name == "swin49" || name == "swin64") {
    spec.kind = PatternKind::blocks;
    spec.size = name == "swin49" ? 49 : 64;
  } else if (name.starts_with("random")) {  // random32: so many others of each
    spec.kind = PatternKind::random;
    spec.degree = std::stoul(name.substr(6));
  } else if (name == "rows128") {
    spec.kind = PatternKind::window;
    spec.before = 127;
  } else if (name != "full") {
    throw std::runtime_error("no layout is called " + name);
  }
  return layout::make_patterns(spec, {n, registers, 1}, Budget()).front();
}

/// What stands behind the kernel's name.
struct Extras {
  std::string kernel;
  std::int64_t top_k = 0, registers = 0;
  layout::RelativeKind bias = layout::RelativeKind::none;
  [[nodiscard]] bool any() const { return top_k > 0 || registers > 0 || bias != layout::RelativeKind::none; }
};

Extras read_extras(const std::string& text) {
  Extras extras;
  const bool expression = text.rfind("expr:", 0) == 0;  // its + are its own
  std::size_t at = expression ? std::string::npos : text.find('+');
  extras.kernel = text.substr(0, at);
  while (at != std::string::npos) {
    const std::size_t next = text.find('+', at + 1);
    const std::string word = text.substr(at + 1, next == std::string::npos ? next : next - at - 1);
    if (word.rfind("top_k=", 0) == 0) extras.top_k = std::stoll(word.substr(6));
    else if (word.rfind("registers=", 0) == 0) extras.registers = std::stoll(word.substr(10));
    else if (word == "offset") extras.bias = layout::RelativeKind::offset;
    else if (word == "t5") extras.bias = layout::RelativeKind::bucket;
    else if (word == "grid") extras.bias = layout::RelativeKind::grid_offset;
    else throw std::runtime_error("no extra is called " + word);
    at = next;
  }
  return extras;
}

/// A layout of n vertices, registers among them.
std::shared_ptr<const Plan> make_bench_plan(const std::string& layout_name, std::int64_t n, const Extras& extras, double* pairs = nullptr) {
  const auto tokens = static_cast<layout::Vertex>(n - extras.registers);
  layout::Relative relative;
  relative.kind = extras.bias;
  if (relative.kind == layout::RelativeKind::grid_offset) relative.grid_width = 64;
  const layout::Relation relation(make_layout(layout_name, tokens, static_cast<layout::Vertex>(extras.registers)), relative,
                                  layout::Cancels::single_colour, tokens);
  if (pairs != nullptr) *pairs = static_cast<double>(relation.pattern().arc_count());
  return make_plan({&relation, 1}, Budget());
}

AttentionRule make_rule(const std::string& text) {
  const Extras extras = read_extras(text);
  const std::string& kernel = extras.kernel;
  AttentionRule rule;
  if (extras.top_k > 0) rule.top_k = extras.top_k;
  const std::size_t colon = kernel.find(':');  // performer:FEATURES, expr:TEXT
  rule.kernel.name = kernel.substr(0, colon);
  if (rule.kernel.name == "softmax") rule.scale = 1 / std::sqrt(static_cast<double>(width));
  if (rule.kernel.name == "gaussian") rule.kernel.gamma = mpq_class(1, 64);
  if (rule.kernel.name == "expr") {
    rule.kernel.name = "";
    rule.kernel.text = kernel.substr(colon + 1);
  }
  std::mt19937_64 random(7);
  if (rule.kernel.name == "performer") {
    for (int f = std::stoi(kernel.substr(colon + 1)); f > 0; --f) {
      std::vector<mpq_class> row;
      for (std::int64_t c = 0; c < width; ++c) {
        row.emplace_back(static_cast<long>(random() % 65) - 32, 96);
        row.back().canonicalize();
      }
      rule.kernel.features.push_back(row);
    }
  }
  if (rule.kernel.name == "exponential-sum") {
    for (std::int64_t c = 0; c < width; ++c) {
      rule.kernel.weight.emplace_back(static_cast<long>(random() % 65) - 32, 96);
      rule.kernel.weight.back().canonicalize();
    }
  }
  return rule;
}

/// Numbers as a deep-learning framework would allocate them: pages that nobody wrote cost nothing yet. Large pages where they can be had: Debian's
/// kernel gives them unasked, PyTorch asks for them where THP_MEM_ALLOC_ENABLE says so (mixer.py does), and with small ones every run finds its
/// arrays elsewhere in the caches.
template <class Real>
struct Buffer {
  explicit Buffer(std::int64_t count) : size(count), data(static_cast<Real*>(sightline::bench::take_pages(sizeof(Real) * static_cast<std::size_t>(count)))) {}
  ~Buffer() { std::free(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::int64_t size;
  Real* data;
};

template <class Real>
struct Attention {
  std::shared_ptr<const Plan> plan;
  AttentionRule rule;
  Shape shape;
  Buffer<Real> query, key, value, grad_out, out, statistics, arc_weights, grad_query, grad_key, grad_value, bias, grad_bias;
  std::int64_t count, tokens;

  Attention(std::shared_ptr<const Plan> of, AttentionRule with, std::int64_t n, std::int64_t heads, bool has_bias = false, const Execution& execution = {})
      : plan(std::move(of)), rule(std::move(with)), query(n * heads * width), key(n * heads * width), value(n * heads * width), grad_out(n * heads * width),
        out(n * heads * width), statistics(n * heads * 2), arc_weights(count_arc_weights<Real>(*plan, rule, {1, heads, heads, n, n, width, width}, execution)), grad_query(n * heads * width), grad_key(n * heads * width), grad_value(n * heads * width),
        bias(has_bias ? heads * count_colours(*plan) : 0), grad_bias(bias.size),
        count(n * heads * width), tokens(n) {
    shape = {1, heads, heads, n, n, width, width};
    std::mt19937 random(1);
    for (Buffer<Real>* each : {&query, &key, &value, &grad_out}) {
      for (std::int64_t k = 0; k < count; ++k) each->data[k] = static_cast<Real>((static_cast<double>(random()) / 4294967296.0 - 0.5) * 3.46410161514);
    }
    for (std::int64_t k = 0; k < bias.size; ++k) bias.data[k] = static_cast<Real>(static_cast<double>(random()) / 4294967296.0 - 0.5);
  }
  template <class T>
  View<T> view(T* data) const {
    return {data, count, tokens * width, width};
  }
  [[nodiscard]] AttentionInputs<Real> inputs() const {
    AttentionInputs<Real> in;
    in.query = view<const Real>(query.data);
    in.key = view<const Real>(key.data);
    in.value = view<const Real>(value.data);
    if (bias.size > 0) in.bias = bias.data;
    return in;
  }
  [[nodiscard]] AttentionOutputs<Real> outputs(bool with_statistics) const {
    AttentionOutputs<Real> to;
    to.out = view<Real>(out.data);
    to.statistics = with_statistics ? statistics.data : nullptr;
    if (with_statistics && arc_weights.size > 0) to.arc_weights = arc_weights.data;
    return to;
  }
  void forward(const Execution& execution, bool with_statistics) const { attend<Real>(*plan, rule, shape, inputs(), outputs(with_statistics), execution); }
  void backward(const Execution& execution) const {
    AttentionGradients<Real> gradients;
    gradients.out = view<const Real>(grad_out.data);
    gradients.query = view<Real>(grad_query.data);
    gradients.key = view<Real>(grad_key.data);
    gradients.value = view<Real>(grad_value.data);
    if (bias.size > 0) gradients.bias = grad_bias.data;
    attend_backward<Real>(*plan, rule, shape, inputs(), outputs(true), gradients, execution);
  }
};

/// The largest difference, and the largest number of b.
template <class Real>
std::pair<double, double> compare(const Buffer<Real>& a, const Buffer<Real>& b) {
  double difference = 0, size = 0;
  for (std::int64_t k = 0; k < a.size; ++k) {
    difference = std::max(difference, std::abs(static_cast<double>(a.data[k]) - static_cast<double>(b.data[k])));
    size = std::max(size, std::abs(static_cast<double>(b.data[k])));
    if (std::isnan(a.data[k])) return {HUGE_VAL, 1};
  }
  return {difference, size};
}

// The same layout at a length the reference can do, forward and backward; then nobody is timed who is wrong.
template <class Real>
double check(const std::string& layout_name, std::int64_t tokens, std::int64_t most, const AttentionRule& rule, const Extras& extras, Execution execution) {
  const std::int64_t n = std::min<std::int64_t>(tokens, rule.kernel.name == "performer" ? std::min<std::int64_t>(most, 260) : most);
  const auto plan = make_bench_plan(layout_name, n, extras);
  const bool has_bias = extras.bias != layout::RelativeKind::none;
  Attention<Real> fast(plan, rule, n, 1, has_bias, execution), slow(plan, rule, n, 1, has_bias);
  if (rule.top_k) {  // ties between halves and quarters are exact: both must choose alike
    for (Buffer<Real>* each : {&fast.query, &fast.key}) {
      for (std::int64_t k = 0; k < each->size; ++k) each->data[k] = std::round(each->data[k] * 2) / 4;
    }
    std::copy_n(fast.query.data, fast.query.size, slow.query.data);
    std::copy_n(fast.key.data, fast.key.size, slow.key.data);
  }
  fast.forward(execution, true);
  fast.backward(execution);
  execution.implementation = Implementation::reference;
  slow.forward(execution, true);
  slow.backward(execution);
  const auto out = compare(fast.out, slow.out), query = compare(fast.grad_query, slow.grad_query), key = compare(fast.grad_key, slow.grad_key),
             value = compare(fast.grad_value, slow.grad_value), bias = compare(fast.grad_bias, slow.grad_bias);
  // Both gradients through scores are sums of the same terms; an exponential sum's queries cancel altogether.
  const double scores = std::max(query.second, key.second) + 1e-30;
  const double worst = std::max({out.first / (out.second + 1e-30), query.first / scores, key.first / scores, value.first / (value.second + 1e-30), bias.first / (bias.second + scores)});
  return worst;
}

// And the outputs that were timed, on rows spread over the layout, in float64 by definition (softmax only).
template <class Real>
double check_rows(const Attention<Real>& attention) {
  double worst = 0;
  std::vector<layout::ColouredRun> row;
  for (const std::int64_t i : {std::int64_t{0}, std::int64_t{1}, attention.tokens / 3, attention.tokens / 2 + 5, attention.tokens - 1}) {
    for (const std::int64_t h : {std::int64_t{0}, attention.shape.heads - 1}) {
      const std::int64_t base = h * attention.tokens * width;
      attention.plan->row(attention.plan->relation_of(h), i, row);
      std::vector<double> sum(width, 0);
      double total = 0;
      for (const layout::ColouredRun& run : row) {
        for (std::int64_t j = run.first; j <= run.last; j += run.step) {
          double score = 0;
          for (std::int64_t c = 0; c < width; ++c) {
            score += static_cast<double>(attention.query.data[base + i * width + c]) * static_cast<double>(attention.key.data[base + j * width + c]);
          }
          const double weight = std::exp(score * attention.rule.scale);
          total += weight;
          for (std::int64_t c = 0; c < width; ++c) sum[static_cast<std::size_t>(c)] += weight * static_cast<double>(attention.value.data[base + j * width + c]);
        }
      }
      for (std::int64_t c = 0; c < width; ++c) {
        worst = std::max(worst, std::abs(sum[static_cast<std::size_t>(c)] / total - static_cast<double>(attention.out.data[base + i * width + c])));
      }
    }
  }
  return worst;
}

double read_status(const char* key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key, 0) == 0) return std::stod(line.substr(std::strlen(key) + 1)) * 1024;
  }
  return 0;
}

template <class Real>
nlohmann::json measure(const std::vector<std::string>& words) {
  const bool memory = words[0] == "memory", backward = words[8] == "backward";
  const std::string& layout_name = words[1];
  const std::int64_t tokens = std::stoll(words[2]), heads = std::stoll(words[3]);
  const AttentionRule rule = make_rule(words[5]);
  const Extras extras = read_extras(words[5]);
  Execution execution;
  execution.threads = std::stoi(words[4]);
  execution.exact = words[7] == "exact";
  const double budget = std::stod(words[9]);
  nlohmann::json result;
  double pairs = 0;
  const auto plan = make_bench_plan(layout_name, tokens, extras, &pairs);
  const double before = now();
  if (!execution.exact) (void)mixer::cpu::find_compiled(*plan);
  result["compile_seconds"] = now() - before;
  result["pairs"] = pairs * static_cast<double>(heads);
  if (!memory) {
    const double worst = check<Real>(layout_name, tokens, words.size() > 10 ? std::stoll(words[10]) : 700, rule, extras, execution);
    result["difference"] = worst;
    // A Performer's float32 reference is 3e-5 from float64 itself: its exponents are differences of large numbers.
    const double most = (sizeof(Real) == 4 ? 2e-5 : 1e-12) * (rule.kernel.name == "performer" ? 5 : 1);
    if (!(worst < most)) {
      result["refused"] = "differs from the reference";
      return result;
    }
  }
  const Attention<Real> attention(plan, rule, tokens, heads, extras.bias != layout::RelativeKind::none, execution);
  if (memory) {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    const double start = read_status("VmRSS:");
    attention.forward(execution, backward);
    if (backward) attention.backward(execution);
    result["peak_bytes"] = read_status("VmHWM:") - start;
    result["output_bytes"] = static_cast<double>(sizeof(Real)) *
                             (static_cast<double>(attention.count) * (backward ? 4 : 1) + (backward ? static_cast<double>(attention.statistics.size) : 0));
    return result;
  }
  const auto fastest = [&](auto&& work) {
    work();  // pages, caches, threads
    double best = 1e30;
    const double begin = now(), end = begin + budget;
    for (int r = 0; r == 0 || (r < 3 && now() < begin + 5 * budget) || (now() < end && r < 1000); ++r) {
      const double start = now();
      work();
      best = std::min(best, now() - start);
    }
    return best;
  };
  result["forward_seconds"] = fastest([&] { attention.forward(execution, backward); });
  if (rule.kernel.name == "softmax" && sizeof(Real) == 4 && !extras.any()) {
    const double worst = check_rows(attention);
    result["row_difference"] = worst;
    if (!(worst < 1e-5)) result["refused"] = "rows differ from their definition";
  }
  if (backward) result["backward_seconds"] = fastest([&] { attention.backward(execution); });
  return result;
}

/// Convolution with seven taps, one weight per pair of tokens, the mean of all, the maximum of a window of 65.
std::shared_ptr<const Plan> make_aggregate_plan(const std::string& kind, std::int64_t n) {
  if (kind == "convolution") {
    const std::vector<std::int64_t> taps = {-3, -2, -1, 0, 1, 2, 3};
    return make_convolution_plan(n, 0, taps, Budget());
  }
  if (kind == "linear") {
    layout::Relative pairs;
    pairs.kind = layout::RelativeKind::pair;
    const layout::Relation relation(make_layout("full", static_cast<layout::Vertex>(n)), pairs, layout::Cancels::nothing, static_cast<layout::Vertex>(n));
    return make_plan({&relation, 1}, Budget());
  }
  if (kind == "mean") return make_full_plan(n, n);
  if (kind == "ring" || kind == "hub") {  // sums over a ring of three; a star of the layouts above
    const layout::Relation relation(make_layout(kind == "hub" ? "star" : "ring", static_cast<layout::Vertex>(n)), {}, layout::Cancels::nothing,
                                    static_cast<layout::Vertex>(n));
    return make_plan({&relation, 1}, Budget());
  }
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::window;
  spec.radius = 32;
  const layout::Relation relation(layout::make_patterns(spec, {static_cast<layout::Vertex>(n), 0, 1}, Budget()).front(), {}, layout::Cancels::nothing,
                                  static_cast<layout::Vertex>(n));
  return make_plan({&relation, 1}, Budget());
}

/// Sums over rows beside the reference, which is checked against and timed on at most 512 tokens.
nlohmann::json measure_aggregate(const std::vector<std::string>& words) {
  const std::string& kind = words[1];
  const std::int64_t n = std::stoll(words[2]), size = std::stoll(words[3]);
  const double budget = std::stod(words[5]);
  const Aggregation aggregation = kind == "mean" ? Aggregation::mean : kind == "max" ? Aggregation::max : Aggregation::sum;
  nlohmann::json result;
  const auto run = [&](std::int64_t tokens, const Execution& execution, double seconds, std::vector<float>* results) {
    const auto plan = make_aggregate_plan(kind, tokens);
    const bool weighted = kind == "convolution" || kind == "linear";
    std::mt19937 random(1);
    const Buffer<float> value(tokens * size), grad_out(tokens * size), weight(weighted ? count_colours(*plan) : 0);
    const Buffer<float> out(value.size), grad_value(value.size), grad_weight(weight.size);
    for (const auto* each : {&value, &grad_out, &weight}) {
      for (std::int64_t k = 0; k < each->size; ++k) each->data[k] = static_cast<float>(static_cast<double>(random()) / 4294967296.0 - 0.5);
    }
    const auto view = [&](auto* data) { return View<std::remove_pointer_t<decltype(data)>>{data, tokens * size, size, size}; };
    const Shape shape{1, 1, 1, tokens, tokens, 0, size};
    const AggregateInputs<float> in{view(static_cast<const float*>(value.data)), weighted ? weight.data : nullptr, nullptr};
    const auto fastest = [&](auto&& work) {
      double best = 1e30;
      const double end = now() + seconds;
      do {
        const double start = now();
        work();
        best = std::min(best, now() - start);
      } while (now() < end);
      return best;
    };
    const double forward = fastest([&] { aggregate<float>(*plan, aggregation, shape, in, view(out.data), execution); });
    const double backward = fastest([&] {
      aggregate_backward<float>(*plan, aggregation, shape, in, view(static_cast<const float*>(grad_out.data)), view(grad_value.data),
                                weighted ? grad_weight.data : nullptr, execution);
    });
    if (results != nullptr) {
      for (const auto* each : {&out, &grad_value, &grad_weight}) results->insert(results->end(), each->data, each->data + each->size);
    }
    return std::pair(forward, backward);
  };
  Execution execution;
  execution.threads = std::stoi(words[4]);
  execution.exact = words.size() == 7;
  std::vector<float> fast, plain;
  const std::int64_t few = std::min<std::int64_t>(n, 512);
  const auto fast_few = run(few, execution, budget / 2, &fast);
  execution.implementation = Implementation::reference;
  const auto slow = run(few, execution, 0, &plain);
  execution.implementation = Implementation::cpu;
  double worst = 0, largest = 0;
  for (std::size_t k = 0; k < fast.size(); ++k) {
    worst = std::max(worst, std::abs(static_cast<double>(fast[k]) - static_cast<double>(plain[k])));
    largest = std::max(largest, std::abs(static_cast<double>(plain[k])));
  }
  result["difference"] = worst / largest;
  if (!(worst < 2e-5 * largest)) {
    result["refused"] = "differs from the reference";
    return result;
  }
  result["times_reference"] = {slow.first / fast_few.first, slow.second / fast_few.second};
  const auto found = run(n, execution, budget, nullptr);
  result["forward_seconds"] = found.first;
  result["backward_seconds"] = found.second;
  return result;
}

/// Rotary positions beside the reference, checked at the length that is timed.
nlohmann::json measure_rotate(const std::vector<std::string>& words) {
  const std::int64_t n = std::stoll(words[1]), heads = std::stoll(words[2]);
  const double budget = std::stod(words[4]);
  const auto plan = make_bench_plan("full", n, {});
  const Attention<float> given(plan, make_rule("softmax"), n, heads);
  const Shape shape{1, heads, heads, n, n, width, width};
  Execution execution;
  execution.threads = std::stoi(words[3]);
  nlohmann::json result;
  Execution slow = execution;
  slow.implementation = Implementation::reference;
  const double begin = now();
  rotate<float>(*plan, shape, given.view<const float>(given.query.data), given.view<float>(given.grad_query.data), false, slow);
  const double reference = now() - begin;
  double best = 1e30;
  for (const double end = now() + budget; best > 1e29 || now() < end;) {
    const double start = now();
    rotate<float>(*plan, shape, given.view<const float>(given.query.data), given.view<float>(given.out.data), false, execution);
    best = std::min(best, now() - start);
  }
  const auto found = compare(given.out, given.grad_query);
  result["difference"] = found.first / found.second;
  if (!(found.first < 2e-5 * found.second)) result["refused"] = "differs from the reference";
  result["forward_seconds"] = best;
  result["times_reference"] = reference / best;
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    nlohmann::json result;
    if (words.size() == 1 && words[0] == "machine") {
      for (const int threads : {1, 2}) {
        result["peak"].push_back(sightline::bench::measure_peak(threads));
        result["triad"].push_back(sightline::bench::measure_triad(threads));
      }
    } else if ((words.size() == 10 || words.size() == 11) && (words[0] == "time" || words[0] == "memory")) {
      result = words[6] == "float64" ? measure<double>(words) : measure<float>(words);
    } else if (words.size() == 5 && words[0] == "rotate") {
      result = measure_rotate(words);
    } else if (words[0] == "aggregate" && (words.size() == 6 || (words.size() == 7 && words[6] == "exact"))) {
      result = measure_aggregate(words);
    } else {
      std::cerr << "bench_mixer machine | aggregate convolution|linear|mean|max|ring|hub TOKENS WIDTH THREADS SECONDS [exact] | rotate TOKENS HEADS THREADS SECONDS | time|memory LAYOUT TOKENS HEADS THREADS KERNEL float32|float64 plain|exact forward|backward SECONDS [CHECKED]\n";
      return 2;
    }
    std::cout << result.dump() << std::endl;
  } catch (const std::exception& error) {
    std::cout << nlohmann::json{{"refused", error.what()}}.dump() << std::endl;
  }
  return 0;
}

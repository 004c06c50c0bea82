#include "sightline/trials/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/base/error.hpp"

namespace sightline::trials {
namespace {

constexpr std::uint64_t fit_stream = 401, test_stream = 402;

void check_finite(const std::vector<double>& values, const char* name, std::size_t per_token, std::size_t per_sample) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!std::isfinite(values[k]))
      throw InputError(fmt::format("{}: expected finite numbers, found {} at sample {}, token {}", name,
                                   std::isnan(values[k]) ? "nan" : "an infinity", k / per_sample,
                                   k % per_sample / per_token));
  }
}

void measure(TaskData& data) {
  double sum = 0, squares = 0;
  for (const double value : data.y)
    sum += value;
  data.mean = sum / static_cast<double>(data.y.size());
  for (const double value : data.y)
    squares += (value - data.mean) * (value - data.mean);
  data.deviation = std::sqrt(squares / static_cast<double>(data.y.size()));
  if (!(data.deviation > 1e-12 * (1 + std::fabs(data.mean))))
    data.deviation = 1;
}

/// Least and greatest value of coordinate c.
std::pair<double, double> range_of(const TaskData& data, std::size_t c) {
  double low = INFINITY, high = -INFINITY;
  for (std::size_t k = c; k < data.x.size(); k += static_cast<std::size_t>(data.dim)) {
    low = std::min(low, data.x[k]);
    high = std::max(high, data.x[k]);
  }
  return {low, high};
}

} // namespace

std::vector<double> TaskData::centre() const {
  std::vector<double> result;
  for (std::size_t c = 0; c < static_cast<std::size_t>(dim); ++c) {
    const auto [low, high] = range_of(*this, c);
    result.push_back((low + high) / 2);
  }
  return result;
}

std::vector<double> TaskData::half() const {
  std::vector<double> result;
  for (std::size_t c = 0; c < static_cast<std::size_t>(dim); ++c) {
    const auto [low, high] = range_of(*this, c);
    result.push_back(high > low ? (high - low) / 2 : 1);
  }
  return result;
}

double TaskData::test_scale() const {
  double squares = 0;
  for (const double value : test_y)
    squares += value * value;
  return std::sqrt(squares / static_cast<double>(test_y.size()));
}

TaskData make_task_data(const std::string& text, std::size_t tokens, std::size_t dim, const target::Sampler& sampler,
                        std::int64_t count, std::int64_t test, std::uint64_t seed, const Budget& budget) {
  TaskData data;
  data.name = text;
  const auto size = [](std::size_t n) { return static_cast<std::int64_t>(n); };
  const auto known = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  if (text.starts_with("data:")) {
    approximate::Samples samples = approximate::read_samples(text.substr(5), budget);
    const std::size_t kept = samples.test != 0 ? samples.test : std::max<std::size_t>(samples.count / 10, 1);
    if (samples.count < kept + 10)
      throw InputError(fmt::format("{}: expected at least 10 samples beside the test, found {}", text,
                                   samples.count < kept ? 0 : samples.count - kept));
    const std::size_t all = samples.count - kept, used = count > 0 ? known(count) : all;
    if (used > all)
      throw InputError(fmt::format("--samples {}: expected at most {}, the samples of the data", used, all));
    data.tokens = size(samples.tokens);
    data.dim = size(samples.dim);
    data.outputs = size(samples.width);
    data.count = size(used);
    data.test = size(kept);
    const auto cut = [&](const std::vector<double>& from, std::size_t begin, std::size_t end, std::size_t per) {
      return std::vector<double>(from.begin() + size(begin * per), from.begin() + size(end * per));
    };
    const std::size_t per_x = samples.tokens * samples.dim, per_y = samples.tokens * samples.width;
    data.x = cut(samples.x, 0, used, per_x);
    data.y = cut(samples.y, 0, used, per_y);
    data.test_x = cut(samples.x, all, samples.count, per_x);
    data.test_y = cut(samples.y, all, samples.count, per_y);
  } else {
    const std::size_t width = dim != 0 ? dim : text.starts_with("expr:") ? target::least_dim(text) : 1;
    const auto target = target::open_target(text, tokens, width, budget);
    data.tokens = size(target->tokens());
    data.dim = size(target->dim());
    data.outputs = size(target->width());
    data.count = count > 0 ? count : 4096;
    data.test = test;
    const auto draw = [&](std::int64_t sequences, std::uint64_t stream, std::vector<double>& x,
                          std::vector<double>& y) {
      const std::size_t per_x = known(data.tokens * data.dim), per_y = known(data.tokens * data.outputs);
      budget.ask(known(sequences) * (per_x + per_y) * sizeof(double));
      x.resize(known(sequences) * per_x);
      y.resize(known(sequences) * per_y);
      sampler.fill(seed, stream, 0, x.size(), x.data(), &budget);
      // A few at a time: a sum over all pairs of many tokens takes long.
      const std::size_t at_a_time = std::max<std::size_t>(1, 65536 / (known(data.tokens) * known(data.tokens)));
      for (std::size_t s = 0; s < known(sequences); s += at_a_time) {
        budget.poll();
        target->evaluate(std::min(at_a_time, known(sequences) - s), x.data() + s * per_x, y.data() + s * per_y);
      }
    };
    draw(data.count, fit_stream, data.x, data.y);
    draw(data.test, test_stream, data.test_x, data.test_y);
    if (!target->is_equivariant()) {
      const target::Deviation deviation = target::measure_deviation(*target, sampler, 32, seed);
      if (deviation.rms > 1e-9 * deviation.scale)
        data.notes.push_back(
            fmt::format("the target is not S_{}-equivariant (F(sX) and sF(X) differ by {:.3g} of its size in the mean "
                        "square): no network without positions comes closer than {:.2g}",
                        data.tokens, deviation.rms / deviation.scale, deviation.rms / 2 / deviation.scale));
    }
  }
  const std::size_t n = known(data.tokens), d = known(data.dim), k = known(data.outputs);
  for (const auto* values : {&data.x, &data.test_x})
    check_finite(*values, "x", d, n * d);
  for (const auto* values : {&data.y, &data.test_y})
    check_finite(*values, "the target", k, n * k);
  measure(data);
  return data;
}

train::Batch to_batch(const TaskData& data, bool test, at::ScalarType type) {
  const auto tensor = [&](const std::vector<double>& values, std::int64_t width) {
    return at::tensor(values, at::kDouble).reshape({-1, data.tokens, width});
  };
  train::Batch batch;
  batch.type = type;
  batch.x = tensor(test ? data.test_x : data.x, data.dim).to(type);
  batch.y = ((tensor(test ? data.test_y : data.y, data.outputs) - data.mean) / data.deviation).to(type);
  return batch;
}

} // namespace sightline::trials

#include "sightline/trials/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/watched.hpp"
#include "sightline/train/sumformer_network.hpp"
#include "sightline/verdict/certify.hpp"

namespace sightline::trials {
namespace {

Task make_task(const TaskData& data, const CompareOptions& options) {
  Task task;
  task.tokens = data.tokens;
  task.dim = data.dim;
  task.outputs = data.outputs;
  task.layers = options.layers;
  task.radius = options.radius;
  task.rank = options.rank;
  task.features = options.features;
  task.positions = options.positions;
  return task;
}

train::Network build(const Task& task, const Contender& contender, const TaskData& data, std::uint64_t seed,
                     const train::Batch& training, const Budget& budget) {
  if (contender.kind == Kind::mlp_sumformer || contender.kind == Kind::polynomial_sumformer) {
    train::SumformerShape shape;
    shape.tokens = task.tokens;
    shape.dim = task.dim;
    shape.outputs = task.outputs;
    if (contender.kind == Kind::mlp_sumformer) {
      shape.phi = {contender.width, contender.width, contender.latent};
      shape.psi = {contender.hidden, contender.hidden};
    } else {
      shape.monomials = train::list_monomials(task.dim, contender.degree);
      shape.psi = {contender.width, contender.hidden};
    }
    auto network = std::make_shared<train::SumformerNetwork>(shape, data.centre(), data.half(), at::kFloat, seed);
    const LongCall call; // all samples at once
    network->standardise(training.x);
    return train::make_network(network);
  }
  const std::string name(name_of(contender.kind));
  const architecture::Architecture a = architecture::parse_architecture(to_toml(task, contender, seed), name);
  train::ModelOptions model;
  model.seed = seed;
  model.outputs = task.outputs;
  return train::make_network(std::make_shared<train::Model>(a, model, budget));
}

/// Relative to the root mean square of the test targets: the network answers (y - mean) / deviation.
double test_error(const train::Network& network, const TaskData& data, const train::Batch& test, int threads) {
  const at::Tensor difference = (train::run_network(network, test.x, 256, {threads}) - test.y).to(at::kDouble);
  const double scale = data.test_scale();
  const double rms = data.deviation * std::sqrt(at::square(difference).mean().item<double>());
  return scale > 0 ? rms / scale : rms;
}

/// Least of a few runs over at most 256 sequences.
double forward_microseconds(const train::Network& network, const train::Batch& test, int threads) {
  const std::int64_t count = std::min<std::int64_t>(256, test.size());
  const at::Tensor x = test.x.narrow(0, 0, count);
  double best = INFINITY;
  for (int trial = 0; trial < 8; ++trial) {
    const double start = train::processor_seconds();
    (void)train::run_network(network, x, count, {threads});
    best = std::min(best, train::processor_seconds() - start);
  }
  return 1e6 * best / static_cast<double>(count);
}

void summarise(CompareRow& row) {
  const double count = static_cast<double>(row.errors.size());
  for (const double error : row.errors)
    row.mean += error / count;
  double squares = 0;
  for (const double error : row.errors)
    squares += (error - row.mean) * (error - row.mean);
  row.spread = row.errors.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
}

/// About what Sumformer::evaluate does: monomials and their sums, two operations per column, 2 per column and output.
double count_least_squares(const TaskData& data, const approximate::Sizes& sizes) {
  const double n = static_cast<double>(data.tokens), k = static_cast<double>(data.outputs);
  return n * (2 * sizes.latent + sizes.independent * (2 + 2 * k));
}

/// Solved on the same samples; nothing when not even degree 1 fits.
std::optional<CompareRow> solve_polynomial(const TaskData& data, const CompareOptions& options, const Budget& budget) {
  const auto n = static_cast<std::size_t>(data.tokens), d = static_cast<std::size_t>(data.dim),
             k = static_cast<std::size_t>(data.outputs);
  std::size_t degree = 0;
  const double rows = static_cast<double>(data.count * data.tokens);
  for (std::size_t trial = 1; trial <= 12; ++trial) {
    const approximate::Sizes sizes = approximate::count_sizes(n, d, trial);
    if ((trial > n && n > 9) || 2 * sizes.independent > rows || sizes.independent > 1000 ||
        count_least_squares(data, sizes) > options.budget * (1 + options.tolerance))
      break;
    degree = trial;
  }
  if (degree == 0)
    return std::nullopt;
  approximate::Samples samples;
  samples.count = static_cast<std::size_t>(data.count + data.test);
  samples.test = static_cast<std::size_t>(data.test);
  samples.tokens = n;
  samples.dim = d;
  samples.width = k;
  samples.x = data.x;
  samples.x.insert(samples.x.end(), data.test_x.begin(), data.test_x.end());
  samples.y = data.y;
  samples.y.insert(samples.y.end(), data.test_y.begin(), data.test_y.end());
  approximate::Options fit;
  fit.degree = degree;
  fit.all_tokens = true;
  const double start = train::processor_seconds();
  const approximate::Result result = approximate::fit_polynomial(nullptr, &samples, fit, budget);
  CompareRow row;
  row.train_seconds = train::processor_seconds() - start;
  row.name = "least-squares";
  row.sizes = fmt::format("polynomial, degree {}, {:.0f} columns", degree, result.sizes.independent);
  row.operations = count_least_squares(data, result.sizes);
  row.parameters = static_cast<std::int64_t>(result.sizes.independent) * data.outputs;
  row.errors = {result.relative_l2};
  row.fitted = {result.train};
  row.by_least_squares = true;
  summarise(row);
  const std::int64_t count = std::min<std::int64_t>(256, data.test);
  std::vector<double> out(static_cast<std::size_t>(count) * n * k);
  double best = INFINITY;
  for (int trial = 0; trial < 8; ++trial) {
    const double begin = train::processor_seconds();
    result.model->evaluate(static_cast<std::size_t>(count), data.test_x.data(), out.data());
    best = std::min(best, train::processor_seconds() - begin);
  }
  row.microseconds = 1e6 * best / static_cast<double>(count);
  return row;
}

} // namespace

CertifyWords certify_words(const std::string& toml, const std::string& name, const Budget& budget) {
  const verdict::Answer answer = verdict::certify(architecture::parse_architecture(toml, name), budget);
  CertifyWords words;
  words.verdict = answer.verdict == verdict::Verdict::certified    ? "certified"
                  : answer.verdict == verdict::Verdict::impossible ? "impossible"
                                                                   : "unknown";
  const auto& group = answer.expressed ? answer.expressed : answer.layout;
  if (group)
    words.symmetry = group->name ? *group->name
                                 : fmt::format("a group of order {}",
                                               group->order.value() ? group->order.value()->get_str() : "unknown");
  words.needed = answer.needed;
  words.line = words.verdict;
  if (!words.symmetry.empty())
    words.line += answer.verdict != verdict::Verdict::certified ? fmt::format(" ({})", words.symmetry)
                  : words.symmetry == "trivial"                 ? " for all functions"
                                                                : fmt::format(" for {}", words.symmetry);
  if (answer.given && answer.needed)
    words.line += fmt::format(", {} of {} layers needed", *answer.needed, *answer.given);
  return words;
}

Comparison compare(const TaskData& data, const CompareOptions& options, const Budget& budget,
                   const std::function<void(const std::string& stage, double share)>& show) {
  Comparison result;
  result.target = data.name;
  result.tokens = data.tokens;
  result.dim = data.dim;
  result.outputs = data.outputs;
  result.count = data.count;
  result.test = data.test;
  result.options = options;
  result.notes = data.notes;
  const Task task = make_task(data, options);
  std::vector<Contender> contenders;
  for (const Kind kind : list_kinds()) {
    if (options.kinds.empty() || std::find(options.kinds.begin(), options.kinds.end(), kind) != options.kinds.end())
      contenders.push_back(fit_to_budget(task, kind, options.budget, options.tolerance));
  }
  const train::Batch training = to_batch(data, false, at::kFloat), test = to_batch(data, true, at::kFloat);
  train::use_threads(options.threads);
  const double scale = data.test_scale();
  const double trials = static_cast<double>(contenders.size()) * static_cast<double>(options.seeds);
  double done = 0;
  for (const Contender& contender : contenders) {
    CompareRow row;
    row.name = name_of(contender.kind);
    row.sizes = describe(contender);
    row.operations = count_operations(task, contender);
    row.certify = certify_words(to_toml(task, contender, options.seed), row.name, budget);
    for (std::int64_t s = 0; s < options.seeds; ++s) {
      const std::uint64_t seed = options.seed + static_cast<std::uint64_t>(s);
      const train::Network network = build(task, contender, data, seed, training, budget);
      const train::FitOptions fit =
          train::make_fit_options(options.steps, options.batch, options.rate, seed, options.threads);
      const train::FitResult fitted = train::fit(network, training, fit, budget, [&](std::int64_t step, double) {
        if (show)
          show(fmt::format("{}, seed {}", row.name, seed),
               (done + static_cast<double>(step) / static_cast<double>(options.steps)) / trials);
      });
      ++done;
      row.parameters = network.count_parameters();
      row.train_seconds += fitted.seconds / static_cast<double>(options.seeds);
      row.errors.push_back(test_error(network, data, test, options.threads));
      row.fitted.push_back(scale > 0 ? data.deviation * std::sqrt(fitted.loss) / scale : std::sqrt(fitted.loss));
      if (s == 0)
        row.microseconds = forward_microseconds(network, test, options.threads);
    }
    summarise(row);
    result.rows.push_back(std::move(row));
  }
  const bool wants_polynomial = options.kinds.empty() || std::find(options.kinds.begin(), options.kinds.end(),
                                                                   Kind::polynomial_sumformer) != options.kinds.end();
  if (wants_polynomial) {
    if (auto row = solve_polynomial(data, options, budget)) {
      Contender same;
      same.kind = Kind::polynomial_sumformer;
      same.latent = 1;
      row->certify = certify_words(to_toml(task, same, 0), row->name, budget);
      result.rows.push_back(std::move(*row));
    }
  }
  return result;
}

} // namespace sightline::trials

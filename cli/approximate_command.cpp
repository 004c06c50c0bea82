#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>

#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/writable.hpp"
#include "sightline/approximate/approximate.hpp"
#include "sightline/approximate/by_mixer.hpp"
#include "sightline/approximate/cells.hpp"
#include "sightline/approximate/memorise.hpp"
#include "sightline/approximate/mlp_sumformer.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"

namespace sightline::cli {
namespace {

/// What only --method mlp takes; sightline-train reads the values.
struct MlpWords {
  std::string latent, width, steps, batch, rate, threads, test;
  [[nodiscard]] bool any() const { return !(latent + width + steps + batch + rate + threads + test).empty(); }
};

void add_mlp_options(CLI::App& command, MlpWords& words) {
  command.add_option("--latent", words.latent, "mlp: latent dimension (default 16)");
  command.add_option("--width", words.width, "mlp: hidden widths of phi and psi (default 64)");
  command.add_option("--steps", words.steps, "mlp: steps of the training (default 4000)");
  command.add_option("--batch", words.batch, "mlp: sequences per step (default 64)");
  command.add_option("--lr", words.rate, "mlp: learning rate (default 0.003)");
  command.add_option("--threads", words.threads, "mlp: threads (default 1)");
  command.add_option("--test", words.test, "mlp: fresh sequences to test on (default 2000)");
}

struct ApproximateOptions {
  std::string target, method = "polynomial", distribution = "uniform", rows, save;
  std::size_t tokens = 0, dim = 0, samples = 0;
  std::vector<double> domain{-1, 1};
  std::optional<std::size_t> degree;
  std::optional<double> slope;
  std::vector<std::size_t> cells;
  approximate::MemoryOptions memory;
  std::size_t values = 0;
  approximate::Options fit;
  MlpWords mlp;
  bool json = false, resume = false;
  LimitOptions limits;
};

std::unique_ptr<target::Target> open(const ApproximateOptions& options, std::size_t default_tokens, const Budget& budget) {
  const std::size_t tokens = options.tokens != 0 ? options.tokens : default_tokens;
  const std::size_t dim = options.dim != 0 ? options.dim : options.target.rfind("expr:", 0) == 0 ? target::least_dim(options.target) : 1;
  return target::open_target(options.target, tokens, dim, budget);
}

void run_cells(const ApproximateOptions& options, const Budget& budget) {
  if (options.distribution != "uniform") throw InputError(fmt::format("--method {}: expected --distribution uniform", options.method));
  if (!options.save.empty()) throw InputError(fmt::format("--method {}: its tables are not saved; expected no --save", options.method));
  approximate::CellOptions cells;
  cells.low = options.domain[0];
  cells.high = options.domain[1];
  cells.slope = options.slope;
  cells.cuts = options.cells;
  cells.seed = options.fit.seed;
  cells.network = options.method == "theorem1";
  const approximate::CellResult result = approximate::approximate_by_cells(*open(options, 2, budget), cells, budget);
  clear_progress();
  fmt::print("{}", options.json ? approximate::to_json(result) + "\n" : approximate::to_text(result));
}

void run_memory(const ApproximateOptions& options, const target::Sampler& sampler, const Budget& budget) {
  if (!options.save.empty()) throw InputError("--method memorise: its network is not saved; expected no --save");
  approximate::Samples samples;
  if (options.target.rfind("data:", 0) == 0) {
    samples = approximate::read_samples(options.target.substr(5), budget);
    if (options.values != 0) throw InputError("--values: the tokens of data are as they stand");
    if (options.samples > samples.count) throw InputError(fmt::format("--samples {}: expected at most {}, the samples of the data", options.samples, samples.count));
    if (options.samples != 0) samples.count = options.samples;
    samples.x.resize(samples.count * samples.tokens * samples.dim);
    samples.y.resize(samples.count * samples.tokens * samples.width);
  } else {
    const auto target = open(options, 4, budget);
    if (!target->is_equivariant() && target::measure_deviation(*target, sampler, 32, options.fit.seed).rms > 0) throw InputError("--method memorise: expected a target that commutes with permutations, as the network does");
    samples.count = options.samples != 0 ? options.samples : 1024;
    samples.tokens = target->tokens();
    samples.dim = target->dim();
    samples.width = target->width();
    budget.ask(samples.count * samples.tokens * (samples.dim + samples.width) * sizeof(double));
    samples.x.resize(samples.count * samples.tokens * samples.dim);
    samples.y.resize(samples.count * samples.tokens * samples.width);
    sampler.fill(options.fit.seed, 600, 0, samples.x.size(), samples.x.data(), &budget);
    if (options.values != 0) {
      if (sampler.law != target::Sampler::Law::uniform) throw InputError("--values: expected --distribution uniform");
      const double mesh = (sampler.high - sampler.low) / static_cast<double>(options.values);
      for (double& value : samples.x) value = sampler.low + mesh * (std::floor((value - sampler.low) / mesh) + 0.5);
    }
    constexpr std::size_t at_a_time = 4096;
    for (std::size_t s = 0; s < samples.count; s += at_a_time) {
      budget.poll();
      target->evaluate(std::min(at_a_time, samples.count - s), samples.x.data() + s * samples.tokens * samples.dim,
                       samples.y.data() + s * samples.tokens * samples.width);
    }
  }
  for (const auto* numbers : {&samples.x, &samples.y}) {
    for (const double value : *numbers) if (!std::isfinite(value)) throw InputError(fmt::format("{}: expected finite numbers, found {}", options.target, std::isnan(value) ? "nan" : "an infinity"));
  }
  approximate::MemoryOptions memory = options.memory;
  memory.seed = options.fit.seed;
  approximate::MemoryResult result = approximate::memorise(samples, memory, budget);
  result.target = options.target;
  clear_progress();
  fmt::print("{}", options.json ? approximate::to_json(result) + "\n" : approximate::to_text(result));
}

approximate::Result run_fit(const ApproximateOptions& options, const approximate::Options& fit, const Budget& budget) {
  if (options.target.rfind("data:", 0) != 0) return approximate::fit_polynomial(open(options, 4, budget).get(), nullptr, fit, budget);
  const approximate::Samples samples = approximate::read_samples(options.target.substr(5), budget);
  if ((options.tokens != 0 && options.tokens != samples.tokens) || (options.dim != 0 && options.dim != samples.dim))
    throw InputError(fmt::format("{}: expected --tokens {} and --dim {}, as in the data", options.target, samples.tokens, samples.dim));
  approximate::Result result = approximate::fit_polynomial(nullptr, &samples, fit, budget);
  result.target = options.target;
  return result;
}

/// The same outputs with the sum computed by the mixer; its architecture beside the model: M.safetensors, M.toml.
void compare_with_mixer(approximate::Result& result, approximate::SumBy by, const approximate::Options& fit, const std::string& save) {
  const approximate::Sumformer& model = *result.model;
  const std::size_t count = 200, n = result.tokens;
  std::vector<double> x(count * n * result.dim), direct(count * n * result.outputs), mixed(direct.size());
  fit.sampler.fill(fit.seed, 99, 0, x.size(), x.data());
  model.evaluate(count, x.data(), direct.data());
  approximate::evaluate_by(model, by, count, x.data(), mixed.data());
  double difference = 0, largest = 0;
  for (std::size_t k = 0; k < direct.size(); ++k) {
    if (!(std::fabs(direct[k] - mixed[k]) <= difference)) difference = std::fabs(direct[k] - mixed[k]);
    largest = std::max(largest, std::fabs(direct[k]));
  }
  result.mixer_difference = largest > 0 ? difference / largest : difference;
  if (save.empty()) return;
  result.architecture = architecture_beside(save);
  write_file_atomically(result.architecture, approximate::to_architecture(model, by));
}

/// An option that the method does not read would be ignored in silence.
void refuse_options_of_others(const CLI::App& command, const std::string& method) {
  const std::vector<std::string> fits{"polynomial", "linformer", "performer", "register"}, tables{"grid", "theorem1"}, memory{"memorise"};
  const std::vector<std::pair<const char*, const std::vector<std::string>&>> belongs{
      {"--lipschitz", tables}, {"--cells", tables}, {"--degree", fits}, {"--rows", fits}, {"--error", fits}, {"--resume", fits}, {"--checkpoint-seconds", fits}, {"--layers", memory}, {"--values", memory}};
  for (const auto& [option, methods] : belongs) {
    if (command.count(option) > 0 && std::find(methods.begin(), methods.end(), method) == methods.end())
      throw InputError(fmt::format("{}: expected --method {}, found {}", option, fmt::join(methods, ", "), method));
  }
}

}  // namespace

void add_approximate(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<ApproximateOptions>();
  CLI::App* command = app.add_subcommand("approximate", "fit a construction of the theory to a target");
  command->add_option("TARGET", options->target, "expr:EXPRESSION, lib:FILE.so or data:FILE.npz")->required();
  command->add_option("--method", options->method, "polynomial; linformer, performer, register: its sum by that mixer; grid: piecewise constant; theorem1: quantise, distinguish, interpolate; mlp: phi and psi trained (LibTorch); memorise: attention layers and a feedforward on finitely many sequences (Theorem 2)")->check(CLI::IsMember({"polynomial", "linformer", "performer", "register", "grid", "theorem1", "mlp", "memorise"}));
  command->add_option("--tokens", options->tokens, "tokens per sequence (default 4)")->check(CLI::Range(1, 1 << 20));
  command->add_option("--dim", options->dim, "numbers per token (default: what the indices in the expression need)")->check(CLI::Range(1, 4096));
  command->add_option("--domain", options->domain, "LO,HI: tokens are uniform in this box (default -1,1)")->delimiter(',')->expected(2);
  command->add_option("--distribution", options->distribution, "uniform or normal")->check(CLI::IsMember({"uniform", "normal"}));
  command->add_option("--samples", options->samples, "rows of the fit (default: ten per column, at least 4000; of data: all)")->check(positive_number);
  command->add_option("--rows", options->rows, "one: a random token of each sequence is a row (default); all: every token (default for data)")->check(CLI::IsMember({"one", "all"}));
  command->add_option("--lipschitz", options->slope, "grid, theorem1: a bound of the target's slopes (default: interval arithmetic on the expression)")->check(positive_number);
  command->add_option("--cells", options->cells, "grid, theorem1: cells per coordinate, e.g. 2,4,8 (default: as many as 1e5 cells of all tokens allow)")->delimiter(',')->check(CLI::Range(1, 100000));
  command->add_option("--degree", options->degree, "total degree (default: by cross-validation)")->check(CLI::Range(1, 60));
  command->add_option("--error", options->fit.error, "wanted L2 error, relative to the target's")->check(positive_number);
  command->add_option("--seed", options->fit.seed, "seed of the samples")->check(whole_number(0));
  command->add_option("--layers", options->memory.layers, "memorise: the most attention layers (default 1)")->check(CLI::Range(0, 64));
  command->add_option("--values", options->values, "memorise: coordinates take so many different values (default: any)")->check(CLI::Range(1, 1000000));
  add_mlp_options(*command, options->mlp);
  command->add_option("--save", options->save, "write the model (.safetensors) for predict and evaluate");
  command->add_flag("--resume", options->resume, "go on with a fit that was stopped: the file of --save with .part behind it");
  command->add_option("--checkpoint-seconds", options->fit.checkpoint_seconds, "least time between two checkpoints, M.safetensors.part beside --save (default 2; mlp: 5)")->check(non_negative_number);
  command->add_flag("--json", options->json, "one JSON object");
  options->limits.add_to(*command);
  command->callback([options, command, &exit] {
    if (options->method == "mlp") run_train_program("approximate", command_words());
    if (options->mlp.any()) throw InputError(fmt::format("--method {}: expected none of --latent --width --steps --batch --lr --threads --test, which belong to --method mlp", options->method));
    refuse_options_of_others(*command, options->method);
    if (options->target.rfind("data:", 0) == 0) {
      for (const char* option : {"--domain", "--distribution"})
        if (command->count(option) > 0) throw InputError(fmt::format("{}: expected none with data:FILE.npz, whose tokens are as they stand", option));
    } else if (options->distribution == "normal" && command->count("--domain") > 0) {
      throw InputError("--domain: expected --distribution uniform, found normal");
    }
    expect_model_writable(options->save, {file_of_target(options->target)}, approximate::parse_sum_by(options->method).has_value(), approximate::architecture_comment);
    const Budget budget = make_budget(options->limits, false);
    approximate::Options fit = options->fit;
    if (!(options->domain[0] < options->domain[1])) throw InputError(fmt::format("--domain: expected LO < HI, found {},{}", options->domain[0], options->domain[1]));
    fit.sampler = {options->distribution == "normal" ? target::Sampler::Law::normal : target::Sampler::Law::uniform, options->domain[0], options->domain[1]};
    fit.rows = options->samples;
    fit.degree = options->degree;
    fit.all_tokens = options->rows == "all" || (options->rows.empty() && options->target.rfind("data:", 0) == 0);
    if (options->method == "grid" || options->method == "theorem1") {
      run_cells(*options, budget);
      return;
    }
    if (options->method == "memorise") {
      run_memory(*options, fit.sampler, budget);
      return;
    }
    if (options->resume && options->save.empty()) throw InputError("--resume: expected --save M.safetensors, whose unfinished fit is M.safetensors.part");
    if (!options->save.empty()) fit.checkpoint = options->save + ".part";
    fit.resume = options->resume;
    if (options->resume && !std::filesystem::exists(fit.checkpoint)) fmt::print(stderr, "sightline: {} is not there: the fit begins anew\n", fit.checkpoint);
    approximate::Result result;
    const auto left = [&] { return std::filesystem::exists(fit.checkpoint) ? fmt::format("{} holds what was done, --resume goes on", fit.checkpoint) : std::string("nothing written"); };
    try {
      result = run_fit(*options, fit, budget);
    } catch (const Interrupted&) {
      clear_progress();
      fmt::print(stderr, "sightline: interrupted: {}\n", left());
      exit = Exit::interrupted;
      return;
    } catch (const BudgetExhausted& error) {
      throw BudgetExhausted(fmt::format("{}: {}", error.what(), left()));
    }
    if (const auto by = approximate::parse_sum_by(options->method)) {
      result.method = options->method;
      compare_with_mixer(result, *by, fit, options->save);
    }
    if (!options->save.empty()) {
      data::write_safetensors(options->save, result.model->to_tensors());
      std::remove(fit.checkpoint.c_str());
    }
    clear_progress();
    fmt::print("{}", options->json ? approximate::to_json(result, options->save) + "\n" : approximate::to_text(result, options->save));
    if (!(result.relative_l2 <= result.wanted)) exit = Exit::not_met;
  });
}

}  // namespace sightline::cli

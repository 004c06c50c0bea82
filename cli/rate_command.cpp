#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/rate_options.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/data/array.hpp"
#include "sightline/data/file_bytes.hpp"

namespace sightline::cli {
namespace {

/// Every number of a .npy file, [t, t] or [N, t, t].
rate::Result rate_file(const RateOptions& options, const Budget& budget) {
  const std::string& file = options.target;
  const data::FileBytes bytes(file, budget);
  try {
    const NpyFile array = parse_npy(bytes.view());
    const NpyNumbers numbers(array);
    const std::size_t axes = array.shape.size();
    if (axes < 2 || axes > 3 || array.shape[axes - 1] != array.shape[axes - 2] || array.shape[axes - 1] == 0 || array.shape[0] == 0)
      throw NpyError("logits [t, t] or [N, t, t]", data::print_shape(array.shape));
    const std::uint64_t t = array.shape[axes - 1], count = axes == 3 ? array.shape[0] : 1;
    if (t > 20000 || count > (std::uint64_t{1} << 40) / (t * t)) throw NpyError("at most 20000 tokens and 2^40 numbers", data::print_shape(array.shape));
    numbers.check_size(count * t * t);
    budget.ask(count * t * t * sizeof(double) + 3 * t * t * sizeof(double));
    std::vector<double> logits(count * t * t);
    for (std::uint64_t s = 0; s < count; ++s)
      for (std::uint64_t i = 0; i < t; ++i)
        for (std::uint64_t j = 0; j < t; ++j) logits[(s * t + i) * t + j] = numbers.number(array.fortran ? (j * t + i) * count + s : (s * t + i) * t + j);
    const double precision = numbers.width() == 8 ? 0x1p-52 : numbers.width() == 4 ? 0x1p-23 : 0x1p-10;
    rate::Result result = rate::rate_logits(logits, count, t, options.each, precision, options.rate, budget);
    result.target = file;
    return result;
  } catch (const NpyError& error) {
    throw InputError(fmt::format("{}: expected {}, found {}", file, error.expected, error.found));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

}  // namespace

void add_rate(CLI::App& app, Exit&) {
  auto options = std::make_shared<RateOptions>();
  CLI::App* command = app.add_subcommand("rate", "singular values of an attention score, and the head dimension that it needs");
  add_rate_options(*command, *options);
  options->limits.add_to(*command);
  command->callback([options, command] {
    if (options->verify) run_train_program("rate", command_words());
    if (options->verification.any()) throw InputError("--heads, --tokens, --train-samples, --steps, --lr, --frequency, --threads, --plot: expected --verify with them");
    check_rate_options(*command, *options);
    const Budget budget = make_budget(options->limits);
    options->rate.error = options->error;
    const rate::Result result = options->target.rfind("expr:", 0) == 0 ? rate_expression(*options, budget) : rate_file(*options, budget);
    clear_progress();
    fmt::print("{}", options->json ? rate::to_json(result) + "\n" : rate::to_text(result));
  });
}

}  // namespace sightline::cli

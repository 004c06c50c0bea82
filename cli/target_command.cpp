#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/writable.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/certificate.hpp"
#include "sightline/report/report.hpp"
#include "sightline/report/words.hpp"
#include "sightline/samples/target.hpp"
#include "sightline/verdict/certify.hpp"

namespace sightline::cli {
namespace {

struct TargetOptions {
  std::string file, out;
  std::uint64_t samples = 1000, seed = 0;
  std::size_t floor = 0;
  LimitOptions limits;
  ImportFlags import;
};

/// A certificate holds its architecture; anything else is an architecture itself. `claimed` is the certificate's floor, `named` gets
/// the files that the architecture names.
architecture::Architecture load(const TargetOptions& options, std::optional<std::string>& claimed, std::vector<std::string>& named) {
  const std::string text = architecture::read_file(options.file);
  const nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (!certificate::is_certificate(root)) return load_architecture(options.file, options.import.options(), true, &named);
  const nlohmann::json::json_pointer target("/answer/floor/target");
  if (root.contains(target) && root.at(target).is_string()) claimed = root.at(target).get<std::string>();
  if (!root.contains("architecture")) throw InputError(fmt::format("{}: /architecture: expected an architecture, found nothing", options.file));
  architecture::Architecture a = architecture::parse_architecture(root.at("architecture").dump(), options.file);
  named = list_files(a);
  return a;
}

void run(const TargetOptions& options) {
  expect_npz_name(options.out);
  expect_writable(options.out, {options.file});
  const Budget budget = make_budget(options.limits);
  std::optional<std::string> claimed;
  std::vector<std::string> named;
  const architecture::Architecture a = load(options, claimed, named);
  expect_writable(options.out, named);
  const verdict::Answer answer = verdict::certify(a, budget);
  clear_progress();
  if (answer.limit) throw BudgetExhausted(*answer.limit);
  std::vector<verdict::Floor> floors;
  if (answer.floor) floors.push_back(*answer.floor);
  floors.insert(floors.end(), answer.floors.begin(), answer.floors.end());
  if (floors.empty()) throw InputError(fmt::format("{}: expected an answer with a floor, found none: there is no target that stays out of reach", options.file));
  if (claimed && *claimed != floors.front().target) {
    throw InputError(fmt::format("{}: /answer/floor/target: expected \"{}\", found \"{}\"", options.file, floors.front().target, *claimed));
  }
  if (options.floor >= floors.size()) throw InputError(fmt::format("--floor: expected 0 to {}, found {}", floors.size() - 1, options.floor));
  const verdict::Floor& floor = floors[options.floor];
  const samples::Samples drawn = samples::draw_samples(a, answer, floor, options.samples, options.seed, budget);
  clear_progress();
  write_file_atomically(options.out, samples::to_npz(drawn, report::to_json(floor)));
  fmt::print("target       {}\n", floor.target);
  fmt::print("inputs       {}\n", floor.domain);
  fmt::print("floor        {} [{}]\n", floor.squared_error ? "squared error, summed over tokens, at least " + report::describe_number(*floor.squared_error, "exact in the file") : "no closed form", floor.rule);
  if (drawn.has_ids()) fmt::print("written      {}: x [{}, {}] ids", options.out, drawn.count, drawn.tokens);
  else fmt::print("written      {}: x [{}, {}, {}]", options.out, drawn.count, drawn.tokens, drawn.width);
  fmt::print(", y [{}, {}, {}]\n", drawn.count, drawn.tokens, drawn.outputs);
}

}  // namespace

void add_target(CLI::App& app, Exit&) {
  auto options = std::make_shared<TargetOptions>();
  CLI::App* command = app.add_subcommand("target", "write samples of the target that an answer says is out of reach");
  command->add_option("FILE", options->file, "certificate, architecture (.toml, .json) or Hugging Face config.json")->required();
  command->add_option("--samples", options->samples, "number of samples")->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command->add_option("--out", options->out, "the .npz file to write: x, y, floor")->required();
  command->add_option("--seed", options->seed, "seed of the samples")->check(whole_number(0));
  command->add_option("--floor", options->floor, "which floor, when the answer has several (0: the one shown first)")->check(whole_number(0));
  options->limits.add_to(*command);
  options->import.add_to(*command);
  command->callback([options] { run(*options); });
}

}  // namespace sightline::cli

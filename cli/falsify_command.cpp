#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "cli/writable.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/falsify/proof.hpp"

namespace sightline::cli {
namespace {

struct FalsifyOptions {
  std::string mixer, save;
  falsify::Options search;
  bool json = false, unnormalised = false;
  LimitOptions limits;
};

}  // namespace

void add_falsify(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<FalsifyOptions>();
  CLI::App* command = app.add_subcommand("falsify", "try one mixing layer on pairs of inputs that are hard to tell apart");
  command->add_option("MIXER", options->mixer, "expr:KERNEL (a name, or an expression in x and y), expr:ALPHA (in t: the bias mixer) or lib:FILE.so")->required();
  command->add_option("--tokens", options->search.tokens, "number of tokens")->check(CLI::Range(1, 64));
  command->add_option("--dim", options->search.dim, "width of the tokens")->check(CLI::Range(1, 32));
  command->add_option("--symmetry", options->search.symmetry, "group of the targets (default: all permutations)");
  command->add_option("--seed", options->search.seed, "seed of the random parameters")->check(whole_number(0));
  command->add_option("--attempts", options->search.attempts, "random parameters per pair")->check(CLI::Range(1, 100000));
  command->add_option("--call-time", options->search.call_seconds, "seconds after which a call of the library counts as a hang")->check(positive_number);
  command->add_flag("--unnormalised", options->unnormalised, "do not divide by the sum of the kernel values");
  command->add_option("--save", options->save, "write the proofs to this file (sightline check evaluates them again)");
  command->add_flag("--json", options->json, "one JSON object");
  options->limits.add_to(*command);
  command->callback([options, command, &exit] {
    if (options->mixer.rfind("expr:", 0) == 0 && command->count("--call-time") > 0) throw InputError("--call-time: expected lib:FILE.so with it, found expr:");
    expect_writable(options->save, {file_of_target(options->mixer)});
    const Budget budget = make_budget(options->limits);
    const falsify::Mixer mixer = falsify::make_mixer(options->mixer, !options->unnormalised, options->search.dim);
    const falsify::Result result = falsify::falsify(mixer, options->search, budget);
    clear_progress();
    if (!options->save.empty()) write_file_atomically(options->save, falsify::to_proof(result));
    fmt::print("{}", options->json ? falsify::to_json(result) + "\n" : falsify::to_text(result));
    exit = static_cast<Exit>(falsify::to_exit_code(result));
  });
}

}  // namespace sightline::cli

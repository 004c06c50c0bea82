#include "cli/train/target_flags.hpp"

#include <fmt/format.h>

#include "sightline/base/error.hpp"

namespace sightline::cli {

void TargetFlags::add_to(CLI::App& command) {
  this->command = &command;
  command.add_option("TARGET", target, "expr:EXPRESSION, lib:FILE.so or data:FILE.npz")->required();
  command.add_option("--tokens", tokens, fmt::format("tokens per sequence (default {})", default_tokens))
      ->check(CLI::Range(1, 1 << 16));
  command.add_option("--dim", dim, "numbers per token (default: what the indices in the expression need)")
      ->check(CLI::Range(1, 4096));
  command.add_option("--domain", domain, "LO,HI: tokens are uniform in this box (default -1,1)")
      ->delimiter(',')
      ->expected(2);
  command.add_option("--distribution", distribution, "uniform or normal")->check(CLI::IsMember({"uniform", "normal"}));
  command.add_option("--samples", samples, "sequences to fit (default 4096; of data: all)")
      ->check(CLI::Range(10, 1 << 24));
  command.add_option("--test", test, "fresh sequences to test on (default 2000)")->check(CLI::Range(1, 1 << 22));
  command.add_option("--seed", seed, "of the samples, and the first of the trainings' seeds")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 62));
}

trials::TaskData TargetFlags::read(const Budget& budget) const {
  if (!(domain[0] < domain[1]))
    throw InputError(fmt::format("--domain: expected LO < HI, found {},{}", domain[0], domain[1]));
  if (target.starts_with("data:")) {
    for (const char* option : {"--domain", "--distribution"})
      if (command->count(option) > 0)
        throw InputError(
            fmt::format("{}: expected none with data:FILE.npz, whose tokens are as they stand", option));
  } else if (distribution == "normal" && command->count("--domain") > 0) {
    throw InputError("--domain: expected --distribution uniform, found normal");
  }
  target::Sampler sampler;
  sampler.law = distribution == "normal" ? target::Sampler::Law::normal : target::Sampler::Law::uniform;
  sampler.low = domain[0];
  sampler.high = domain[1];
  trials::TaskData data =
      trials::make_task_data(target, tokens != 0 ? tokens : default_tokens, dim, sampler, samples, test, seed, budget);
  if (target.starts_with("data:") && ((tokens != 0 && static_cast<std::int64_t>(tokens) != data.tokens) ||
                                      (dim != 0 && static_cast<std::int64_t>(dim) != data.dim)))
    throw InputError(
        fmt::format("{}: expected --tokens {} and --dim {}, as in the data", target, data.tokens, data.dim));
  return data;
}

} // namespace sightline::cli

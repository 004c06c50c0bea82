// Options of the commands that train on a target: what is fitted, on which samples.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "sightline/trials/samples.hpp"

namespace sightline::cli {

struct TargetFlags {
  std::string target, distribution = "uniform";
  std::size_t tokens = 0, dim = 0, default_tokens = 8;
  std::vector<double> domain{-1, 1};
  std::int64_t samples = 0, test = 2000;
  std::uint64_t seed = 0;
  const CLI::App* command = nullptr; ///< knows which options were given

  void add_to(CLI::App& command);
  /// Throws InputError for flags that do not fit the target.
  [[nodiscard]] trials::TaskData read(const Budget& budget) const;
};

} // namespace sightline::cli

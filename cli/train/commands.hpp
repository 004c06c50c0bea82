// The subcommands of `sightline-train`.
#pragma once

#include <CLI/CLI.hpp>

namespace sightline::cli {

void add_train(CLI::App& app);
void add_predict(CLI::App& app);
void add_evaluate(CLI::App& app);

} // namespace sightline::cli

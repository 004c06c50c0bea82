// The subcommands of `sightline-train`.
#pragma once

#include <CLI/CLI.hpp>

namespace sightline::cli {

/// approximate --method mlp; sets the exit code to 1 when the wanted error is missed.
void add_approximate_mlp(CLI::App& app, int& exit);
/// rate --verify.
void add_rate_verify(CLI::App& app);
void add_compare(CLI::App& app);
void add_train(CLI::App& app);
void add_predict(CLI::App& app);
void add_evaluate(CLI::App& app);

} // namespace sightline::cli

// The subcommands of `sightline`: each adds itself to the parser and, when chosen, sets the exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace sightline::cli {

/// Exit codes of the command (design of the house): the worst of several files wins.
enum class Exit { answered = 0, not_met = 1, bad_input = 2, limit = 3, our_bug = 4, interrupted = 130 };

void add_approximate(CLI::App& app, Exit& exit);
void add_certify(CLI::App& app, Exit& exit);
void add_check(CLI::App& app, Exit& exit);
void add_design(CLI::App& app, Exit& exit);
void add_diff(CLI::App& app, Exit& exit);
void add_import(CLI::App& app, Exit& exit);
void add_explain(CLI::App& app, Exit& exit);
void add_falsify(CLI::App& app, Exit& exit);
void add_kernel(CLI::App& app, Exit& exit);
void add_rate(CLI::App& app, Exit& exit);
void add_rules(CLI::App& app, Exit& exit);
void add_target(CLI::App& app, Exit& exit);
void add_pattern(CLI::App& app, Exit& exit);
/// train, predict, evaluate and compare: executes sightline-train, which stands beside this program when it was built (LibTorch).
void add_train_commands(CLI::App& app);
/// Becomes `sightline-train NAME WORDS..`. Throws InputError when that program is not there.
[[noreturn]] void run_train_program(const std::string& name, const std::vector<std::string>& words);
/// What stood on the command line after the subcommand's name, for commands that another program may have to take over.
[[nodiscard]] std::vector<std::string>& command_words();

}  // namespace sightline::cli

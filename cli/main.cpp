// The `sightline` command: parses the command line, runs one subcommand, turns errors into one line and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <system_error>

#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "cli/process.hpp"
#include "sightline/architecture/fields.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/words.hpp"

namespace {

int fail(sightline::cli::Exit exit, std::string_view message) {
  fmt::print(stderr, "sightline: {}\n", message);
  return sightline::cli::leave(static_cast<int>(exit));
}

/// The first word, where it is no command: CLI11 would only say that one is missing.
std::string find_unknown_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return "";
  const std::string word = argv[1];
  const std::vector<const CLI::App*> commands = app.get_subcommands({});
  std::vector<std::string_view> names;
  for (const CLI::App* command : commands) names.emplace_back(command->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return "";
  return fmt::format("expected a command, found {}{} (see sightline --help)", sightline::quote_bytes(word), sightline::architecture::suggest(word, names));
}

}  // namespace

int main(int argc, char** argv) {
  using sightline::cli::Exit;
  sightline::cli::prepare_process();
  if (argc > 2) sightline::cli::command_words().assign(argv + 2, argv + argc);
  CLI::App app{"Sightline: what an attention layout can and cannot express"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "sightline 0.1.0");
  Exit exit = Exit::answered;
  sightline::cli::add_certify(app, exit);
  sightline::cli::add_check(app, exit);
  sightline::cli::add_design(app, exit);
  sightline::cli::add_diff(app, exit);
  sightline::cli::add_import(app, exit);
  sightline::cli::add_explain(app, exit);
  sightline::cli::add_pattern(app, exit);
  sightline::cli::add_kernel(app, exit);
  sightline::cli::add_falsify(app, exit);
  sightline::cli::add_approximate(app, exit);
  sightline::cli::add_rate(app, exit);
  sightline::cli::add_rules(app, exit);
  sightline::cli::add_target(app, exit);
  sightline::cli::add_train_commands(app);
  sightline::cli::refuse_odd_values(app);
  if (const std::string fault = find_unknown_command(app, argc, argv); !fault.empty()) return fail(Exit::bad_input, fault);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) { // --help, --version
      app.exit(error);
      if (const std::string fault = sightline::cli::find_lost_output(); !fault.empty()) return fail(Exit::bad_input, fault);
      return 0;
    }
    return fail(Exit::bad_input, fmt::format("{} (see sightline --help)", error.what()));
  } catch (const sightline::InputError& error) {
    return fail(Exit::bad_input, error.what());
  } catch (const sightline::ArgumentError& error) {
    return fail(Exit::bad_input, error.what());
  } catch (const sightline::BudgetExhausted& error) {
    return fail(Exit::limit, error.what());
  } catch (const sightline::Interrupted&) {
    return fail(Exit::interrupted, "interrupted, nothing written");
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return fail(Exit::our_bug, fmt::format("internal error: {}", error.what()));
    return fail(Exit::bad_input, sightline::cli::describe_lost_output(error.code().value()));
  } catch (const std::bad_alloc&) {
    return fail(Exit::limit, "out of memory (try --memory to stop earlier with what is known)");
  } catch (const std::exception& error) {
    return fail(Exit::our_bug, fmt::format("internal error: {}", error.what()));
  }
  if (const std::string fault = sightline::cli::find_lost_output(); !fault.empty()) return fail(Exit::bad_input, fault);
  return sightline::cli::leave(static_cast<int>(exit));
}

// `sightline-train`: train, predict, evaluate, compare, approximate --method mlp. The `sightline` command runs it.
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include "cli/numbers.hpp"
#include "cli/process.hpp"
#include "cli/train/commands.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/base/error.hpp"

namespace {

int fail(int exit, std::string_view message) {
  fmt::print(stderr, "sightline: {}\n", message);
  return exit;
}

int run(int argc, char** argv) {
  CLI::App app{"Sightline: train, run and measure networks"};
  app.require_subcommand(1);
  sightline::cli::add_train(app);
  sightline::cli::add_predict(app);
  sightline::cli::add_evaluate(app);
  sightline::cli::add_compare(app);
  sightline::cli::add_rate_verify(app);
  int exit = 0;
  sightline::cli::add_approximate_mlp(app, exit);
  sightline::cli::refuse_odd_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) { // --help
      app.exit(error);
      if (const std::string fault = sightline::cli::find_lost_output(); !fault.empty())
        return fail(2, fault);
      return 0;
    }
    const auto named = app.get_subcommands([&](const CLI::App* command) { return argc > 1 && command->get_name() == argv[1]; });
    return fail(2, fmt::format("{} (see sightline {} --help)", error.what(), named.empty() ? "train" : named.front()->get_name()));
  } catch (const sightline::InputError& error) {
    return fail(2, error.what());
  } catch (const sightline::ArgumentError& error) {
    return fail(2, error.what());
  } catch (const sightline::BudgetExhausted& error) {
    return fail(3, error.what());
  } catch (const sightline::Interrupted&) {
    const std::string_view command = argc > 1 ? argv[1] : "";
    const bool resumes = command == "train" || command == "approximate";
    return fail(130, resumes ? "interrupted; a training that was saving goes on from its last checkpoint with --resume" : "interrupted, nothing written");
  } catch (const std::bad_alloc&) {
    return fail(3, "out of memory (a smaller batch needs less)");
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (text.find("CUDA out of memory") != std::string::npos)
      return fail(3, "out of memory on the GPU (a smaller batch needs less)");
    if (text.find("not enough memory") != std::string::npos)
      return fail(3, "out of memory (a smaller batch needs less)");
    return fail(4, fmt::format("internal error: {}", text.substr(0, text.find('\n'))));
  } catch (const std::exception& error) {
    return fail(4, fmt::format("internal error: {}", error.what()));
  }
  if (const std::string fault = sightline::cli::find_lost_output(); !fault.empty())
    return fail(2, fault);
  return exit;
}

} // namespace

int main(int argc, char** argv) {
  sightline::cli::prepare_process();
  std::signal(SIGPIPE, SIG_IGN); // a lost process of a distributed run is an error to report
  setenv("TORCH_CPP_LOG_LEVEL", "ERROR", 0); // which is one line of ours, not a warning of c10d with its stack
  c10::initLogging();
  return sightline::cli::leave(run(argc, argv));
}

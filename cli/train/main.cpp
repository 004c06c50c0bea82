// `sightline-train`: train, predict, evaluate. The `sightline` command runs it.
#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "cli/train/commands.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/base/error.hpp"

namespace {

void interrupt(int) {
  sightline::Budget::interrupted.store(true);
  std::signal(SIGINT, SIG_DFL); // a second Ctrl-C ends the process at once
}

/// For the tests of half-written files: SIGHTLINE_TEST_KILL_AT=N kills the process before the N-th system call of a
/// write.
void kill_at_step(const char*) {
  static long steps_left = std::strtol(std::getenv("SIGHTLINE_TEST_KILL_AT"), nullptr, 10);
  if (--steps_left == 0)
    std::raise(SIGKILL);
}

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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0)
      return app.exit(error);
    return fail(2, fmt::format("{} (see sightline train --help)", error.what()));
  } catch (const sightline::InputError& error) {
    return fail(2, error.what());
  } catch (const sightline::ArgumentError& error) {
    return fail(2, error.what());
  } catch (const sightline::BudgetExhausted& error) {
    return fail(3, error.what());
  } catch (const sightline::Interrupted&) {
    return fail(130, "interrupted; a training goes on from its last checkpoint with --resume");
  } catch (const std::bad_alloc&) {
    return fail(3, "out of memory (a smaller batch needs less)");
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    if (text.find("not enough memory") != std::string::npos)
      return fail(3, "out of memory (a smaller batch needs less)");
    return fail(4, fmt::format("internal error: {}", text.substr(0, text.find('\n'))));
  } catch (const std::exception& error) {
    return fail(4, fmt::format("internal error: {}", error.what()));
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  std::signal(SIGINT, interrupt);
  std::signal(SIGPIPE, SIG_IGN); // a lost process of a distributed run is an error to report
  if (std::getenv("SIGHTLINE_TEST_KILL_AT") != nullptr)
    sightline::before_write_step = kill_at_step;
  return run(argc, argv);
}

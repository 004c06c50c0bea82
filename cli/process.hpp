#pragma once
#include <csignal>
#include <cstdlib>

#include "sightline/base/atomic_file.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::cli {

/// What both executables do first: Ctrl-C asks the work to stop (a second one ends the process at once); for the tests of half-written files
/// SIGHTLINE_TEST_KILL_AT=N kills the process before the N-th system call of a write.
inline void prepare_process() {
  std::signal(SIGINT, [](int) {
    Budget::interrupted.store(true);
    std::signal(SIGINT, SIG_DFL);
  });
  if (std::getenv("SIGHTLINE_TEST_KILL_AT") == nullptr) return;
  before_write_step = [](const char*) {
    static long steps_left = std::strtol(std::getenv("SIGHTLINE_TEST_KILL_AT"), nullptr, 10);
    if (--steps_left == 0) std::raise(SIGKILL);
  };
}

}  // namespace sightline::cli

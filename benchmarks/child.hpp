// Work in a process of its own: it can be stopped at a time limit, and its peak memory is its own.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace bench {

struct Outcome {
  enum class End { finished, over_limit, failed };
  End end = End::failed;
  std::string text;        ///< what the work returned, or what went wrong
  double seconds = 0;      ///< wall time of the whole process, from its start to its end
  double processor_seconds = 0;  ///< of the whole process: what a busy machine does not change
  double peak_megabytes = 0;
};

/// Seconds of processor time of this process, which has one thread: what is compared, because a busy machine does not change it.
[[nodiscard]] double processor_time();

/// Runs `work(start_clock)` in a child process. The limit counts from the call of start_clock (before it: `setup_limit`),
/// so that conversions are not counted. Ctrl-C ends the child and this process.
[[nodiscard]] Outcome run_in_child(double limit_seconds, const std::function<std::string(const std::function<void()>& start_clock)>& work,
                                   double setup_limit_seconds = 900);

/// Runs a command without its output; `text` is what it wrote to standard output, finished when it exited with `exit_code`.
[[nodiscard]] Outcome run_command(double limit_seconds, const std::vector<std::string>& command, int exit_code = 0);

}  // namespace bench

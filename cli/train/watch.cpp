#include "cli/train/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "sightline/base/watched.hpp"

namespace sightline::cli {

std::string describe_checkpoint(const std::string& checkpoint) {
  std::error_code unknown; // of a folder that went away
  return std::filesystem::exists(checkpoint, unknown) ? checkpoint + " holds what was done, --resume goes on" : "nothing written";
}

Watch::Watch(std::optional<double> time_seconds, std::string checkpoint) {
  if (!time_seconds)
    return;
  constexpr double longest = 1e9; // as Budget has it
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(std::min(*time_seconds, longest) + 0.5));
  thread_ = std::jthread([end, limit = *time_seconds, kept = std::move(checkpoint)](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_until(lock, stop, end, [] { return false; });
    while (!stop.stop_requested()) {
      if (LongCall::is_under_way()) {
        fmt::print(stderr, "sightline: the time limit of {} s was reached: {}\n", limit, describe_checkpoint(kept));
        std::fflush(nullptr);
        std::_Exit(3);
      }
      changed.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
    }
  });
}

} // namespace sightline::cli

#include "cli/train/watch.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "sightline/base/watched.hpp"

namespace sightline::cli {

Watch::Watch(std::optional<double> time_seconds) {
  if (!time_seconds)
    return;
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(*time_seconds + 0.5));
  thread_ = std::jthread([end, limit = *time_seconds](const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any changed;
    std::unique_lock lock(mutex);
    changed.wait_until(lock, stop, end, [] { return false; });
    while (!stop.stop_requested()) {
      if (LongCall::is_under_way()) {
        fmt::print(stderr, "sightline: the time limit of {} s was reached\n", limit);
        std::fflush(nullptr);
        std::_Exit(3);
      }
      changed.wait_for(lock, stop, std::chrono::milliseconds(20), [] { return false; });
    }
  });
}

} // namespace sightline::cli

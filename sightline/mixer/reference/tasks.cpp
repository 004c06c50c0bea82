#include "sightline/mixer/reference/tasks.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace sightline::mixer::reference {

void run_each(std::int64_t tasks, int threads, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto run = [&] {
    try {
      for (std::int64_t task = next++; task < tasks; task = next++)
        work(task);
    } catch (...) {
      const std::lock_guard lock(failure_mutex);
      if (!failure)
        failure = std::current_exception();
      next = tasks;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::int64_t t = 1; t < std::min<std::int64_t>(threads, tasks); ++t)
      helpers.emplace_back(run);
    run();
  }
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace sightline::mixer::reference

#include "sightline/base/watched.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace sightline {

namespace {

std::atomic<int> left_behind{0}, long_calls{0};

struct Watched {
  std::function<void()> work;
  std::mutex mutex;
  std::condition_variable changed;
  std::exception_ptr error;
  bool is_done = false;
  bool is_left = false;
};

void run(Watched& watched) {
  std::exception_ptr error;
  try {
    watched.work();
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(watched.mutex);
  watched.error = error;
  watched.is_done = true;
  if (watched.is_left) --left_behind;
  watched.changed.notify_one();
}

}  // namespace

void run_watched(const Budget& budget, std::function<void()> work) {
  constexpr auto between_looks = std::chrono::milliseconds(5);
  const auto watched = std::make_shared<Watched>();
  watched->work = std::move(work);
  std::thread thread;
  try {
    thread = std::thread([watched] { run(*watched); });
  } catch (const std::system_error&) {
    watched->work();
    return;
  }
  std::unique_lock lock(watched->mutex);
  while (!watched->changed.wait_for(lock, between_looks, [&] { return watched->is_done; })) {
    try {
      budget.poll_now();
    } catch (...) {
      watched->is_left = true;
      ++left_behind;
      thread.detach();
      throw;
    }
  }
  lock.unlock();
  thread.join();
  if (watched->error) std::rethrow_exception(watched->error);
}

bool is_work_left_behind() { return left_behind > 0; }

LongCall::LongCall() { ++long_calls; }
LongCall::~LongCall() { --long_calls; }
bool LongCall::is_under_way() { return long_calls > 0; }

}  // namespace sightline

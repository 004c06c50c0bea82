// One piece of the check beside the rest, where there is a second thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include "poll.hpp"

namespace checker {

/// Does `work` on a thread of its own, or at once where `threads` < 2 or the system has no more. What it throws comes out of wait().
class Beside {
public:
  Beside(unsigned threads, std::function<void()> work) {
    const auto task = std::make_shared<std::packaged_task<void()>>(std::move(work));
    done_ = task->get_future();
    if (threads > 1) {
      try {
        thread_ = std::jthread([this, task] {
          const std::function<void()> go_on = [this] {
            if (ends_) throw Ended();
          };
          const Watch watch(go_on);
          (*task)();
        });
        return;
      } catch (const std::system_error&) {
      }
    }
    (*task)();
  }
  /// What nobody waited for is ended.
  ~Beside() { ends_ = true; }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

  /// Once. poll() goes on being called on the caller's thread.
  void wait() {
    while (done_.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) poll_now();
    done_.get();
  }

private:
  struct Ended {};

  std::atomic<bool> ends_{false};
  std::future<void> done_;
  std::jthread thread_;  ///< last: it is waited for before the rest goes
};

}  // namespace checker

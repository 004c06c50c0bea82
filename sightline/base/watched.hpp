// Calls into libraries that nobody can stop, kept from outlasting a limit.
#pragma once

#include <functional>

#include "sightline/base/budget.hpp"

namespace sightline {

/// Runs `work` on a thread of its own, while this one asks the budget every few milliseconds whether to go on. What `work` throws is thrown
/// here.
///
/// When the budget says no, its exception is thrown at once and the thread is left behind: `work` must own everything that it touches, and
/// a process that ends then must do so without destructors (std::_Exit), which would take the library away under the thread.
/// Where the system gives no thread, `work` runs on this one.
void run_watched(const Budget& budget, std::function<void()> work);

/// Is there work that run_watched left behind and that still runs?
[[nodiscard]] bool is_work_left_behind();

/// Lives around a call of a library that asks no budget for long and owns nothing that could be left behind: a step of a training. Nothing
/// is written while one lives, so a process may end there (cli/train/watch.hpp).
class LongCall {
public:
  LongCall();
  ~LongCall();
  LongCall(const LongCall&) = delete;
  LongCall& operator=(const LongCall&) = delete;
  [[nodiscard]] static bool is_under_way();
};

}  // namespace sightline

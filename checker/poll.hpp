// How a caller stops a check that takes too long: long loops call poll(), which calls what check_certificate was given.
#pragma once

#include <functional>

namespace checker {

/// What poll() calls on this thread; it throws to end the check. nullptr: nothing.
inline thread_local const std::function<void()>* watcher = nullptr;

/// Before something that takes a millisecond or more.
inline void poll_now() {
  if (watcher != nullptr) (*watcher)();
}

/// In a long loop of short steps: only every 64th call counts.
inline void poll() {
  static thread_local unsigned calls = 0;
  if ((++calls & 63U) == 0) poll_now();
}

/// Sets the watcher until the end of the scope, whatever ends it.
class Watch {
public:
  explicit Watch(const std::function<void()>& call) : outer_(watcher) { watcher = call ? &call : nullptr; }
  ~Watch() { watcher = outer_; }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

private:
  const std::function<void()>* outer_;
};

}  // namespace checker

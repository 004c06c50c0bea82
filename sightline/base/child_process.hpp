// Somebody else's code in a child process: what it does wrong becomes one line, never our crash.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "sightline/base/budget.hpp"

namespace sightline {

/// All of it, or false when the other end is gone.
bool write_all(int to, const void* from, std::size_t bytes);
bool read_all(int from, void* to, std::size_t bytes);

/// A child that answers through two pipes until the parent closes them or ends.
class ChildProcess {
public:
  /// Forks. `serve(from, to)` runs in the child, where what a library prints goes nowhere, Ctrl-C is the parent's business and no core is
  /// dumped; it must leave by _exit, so that nothing of the parent's state is flushed or destroyed twice.
  /// @param name  of the library, the beginning of every message
  /// @param call_seconds  an answer that takes longer counts as a hang
  ChildProcess(std::string name, double call_seconds, const std::function<void(int from, int to)>& serve);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// `during` names what the child is doing. Both throw InputError for a crash, an exit, a hang; receive also what budget.poll() throws.
  void send(const void* from, std::size_t bytes, const char* during);
  void receive(void* to, std::size_t bytes, const char* during, const Budget& budget);

private:
  [[noreturn]] void fail_after_death(const char* during);
  void stop();

  std::string name_;
  double call_seconds_;
  int child_ = -1, to_child_ = -1, from_child_ = -1;
};

}  // namespace sightline

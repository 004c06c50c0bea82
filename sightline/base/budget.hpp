// Time and memory limits, interruption and progress, handed down to every long computation.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace sightline {

class Crew;

/// What a computation may use. One object per certified file; long loops call poll() at least every few
/// milliseconds, and ask() before any allocation that grows with the input beyond a few megabytes.
///
/// A copy has the same limits and counts against the same memory; what was asked for through it and not given back is given back when
/// it goes. One object belongs to one thread: another thread works with a copy of its own (crew.hpp makes it).
class Budget {
public:
  using Clock = std::chrono::steady_clock;

  Budget() = default;
  /// @param time_seconds  wall-clock limit counted from construction; absent = none
  /// @param memory_bytes  limit on the sum of what is asked for and not given back; absent = none
  Budget(std::optional<double> time_seconds, std::optional<std::uint64_t> memory_bytes);
  Budget(const Budget& other);
  Budget& operator=(const Budget&) = delete;
  ~Budget();

  /// Throws Interrupted after Ctrl-C and BudgetExhausted after the time limit (some milliseconds late: the kernel's last tick is read,
  /// 5 ns). A listener hears of every 256th call.
  void poll() const;
  /// poll() that the listener hears of, for whoever calls it seldom.
  void poll_now() const;
  /// Throws BudgetExhausted when `bytes` more would exceed the memory limit; otherwise books them.
  void ask(std::uint64_t bytes) const;
  /// Returns bytes booked by ask() of the same object.
  void give_back(std::uint64_t bytes) const noexcept;
  /// Reports progress of a named stage, fraction in [0,1] (0: not known); poll() repeats it, so that a listener can show
  /// that work goes on. A no-op unless a listener is set.
  void report(std::string_view stage, double fraction) const;
  /// Has the time limit gone by?
  [[nodiscard]] bool is_late() const { return deadline_ && Clock::now() > *deadline_; }
  /// Until the time limit, negative behind it; infinite where there is none.
  [[nodiscard]] double seconds_left() const {
    return deadline_ ? std::chrono::duration<double>(*deadline_ - Clock::now()).count() : std::numeric_limits<double>::infinity();
  }

  /// Set from a signal handler (async-signal-safe).
  static std::atomic<bool> interrupted;
  std::function<void(std::string_view stage, double fraction)> listener;
  /// Called when a quarter of the memory limit is booked, by the thread that asks: from here on what is given back should be given back to the system.
  std::function<void()> when_quarter_booked;
  /// Threads that may take over work (crew.hpp), none: there are no others. Outlives the budget.
  Crew* crew = nullptr;
  /// Set while nobody waits any more for what is computed with this budget: poll() then throws Abandoned. May be absent.
  const std::atomic<bool>* abandoned = nullptr;
  /// What computations that count their steps may still take together, on one thread; none: as many as they like. A fixed number, so that the same file
  /// has the same answer everywhere. Outlives the budget.
  std::uint64_t* steps_left = nullptr;
  /// Throws OutOfReach when there are fewer left.
  void take_steps(std::uint64_t count) const;

private:
  void go_on() const;

  std::optional<Clock::time_point> deadline_;
  double time_seconds_ = 0;
  std::uint64_t memory_bytes_ = 0;
  std::shared_ptr<std::atomic<std::uint64_t>> booked_bytes_;  ///< by all copies together; none: no limit
  mutable std::uint64_t own_bytes_ = 0;                       ///< of these, by this object
  mutable std::uint32_t polls_ = 0;
  mutable std::string stage_;
  mutable double fraction_ = 0;
};

}  // namespace sightline

#include "sightline/base/budget.hpp"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>

#include "sightline/base/error.hpp"

namespace sightline {

namespace {

// The time of the last tick of the kernel (some milliseconds ago): a fifth of the price of the exact one, so every poll can ask.
Budget::Clock::time_point recent_time() {
#ifdef CLOCK_MONOTONIC_COARSE
  timespec now{};
  if (clock_gettime(CLOCK_MONOTONIC_COARSE, &now) == 0)  // steady_clock's own clock, so the two compare
    return Budget::Clock::time_point(std::chrono::duration_cast<Budget::Clock::duration>(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec)));
#endif
  return Budget::Clock::now();
}

}  // namespace

std::atomic<bool> Budget::interrupted{false};

Budget::Budget(std::optional<double> time_seconds, std::optional<std::uint64_t> memory_bytes)
    : time_seconds_(time_seconds.value_or(0)), memory_bytes_(memory_bytes.value_or(0)) {
  if (memory_bytes) booked_bytes_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  if (time_seconds) {
    constexpr double longest = 1e9;  // thirty years; what the clock cannot hold would lie in the past
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(*time_seconds, longest)));
  }
}

Budget::Budget(const Budget& other)
    : listener(other.listener), when_quarter_booked(other.when_quarter_booked), crew(other.crew), abandoned(other.abandoned), steps_left(other.steps_left), deadline_(other.deadline_), time_seconds_(other.time_seconds_),
      memory_bytes_(other.memory_bytes_), booked_bytes_(other.booked_bytes_), polls_(other.polls_), stage_(other.stage_), fraction_(other.fraction_) {}

Budget::~Budget() { give_back(own_bytes_); }

void Budget::go_on() const {
  if (interrupted.load(std::memory_order_relaxed)) throw Interrupted();
  if (abandoned != nullptr && abandoned->load(std::memory_order_relaxed)) throw Abandoned();
}

void Budget::poll() const {
  go_on();
  if ((polls_++ & 255u) == 0 || (deadline_ && recent_time() > *deadline_)) poll_now();
}

void Budget::poll_now() const {
  go_on();
  if (listener && !stage_.empty()) listener(stage_, fraction_);
  if (is_late()) throw BudgetExhausted(fmt::format("the time limit of {} s was reached", time_seconds_));
}

void Budget::take_steps(std::uint64_t count) const {
  if (steps_left == nullptr) return;
  if (count > *steps_left) throw OutOfReach("this takes more steps than are allowed for it");
  *steps_left -= count;
}

void Budget::ask(std::uint64_t bytes) const {
  if (!booked_bytes_) return;
  const std::uint64_t before = booked_bytes_->fetch_add(bytes, std::memory_order_relaxed), part = memory_bytes_ / 4;
  if (when_quarter_booked && before < part && before + bytes >= part) when_quarter_booked();
  if (before + bytes > memory_bytes_) {
    booked_bytes_->fetch_sub(bytes, std::memory_order_relaxed);
    throw BudgetExhausted(fmt::format("the memory limit of {} bytes does not allow {} more bytes", memory_bytes_, bytes));
  }
  own_bytes_ += bytes;
}

void Budget::give_back(std::uint64_t bytes) const noexcept {
  if (!booked_bytes_) return;
  const std::uint64_t returned = std::min(bytes, own_bytes_);
  own_bytes_ -= returned;
  booked_bytes_->fetch_sub(returned, std::memory_order_relaxed);
}

void Budget::report(std::string_view stage, double fraction) const {
  // A finished stage is not what the next polls belong to.
  stage_ = fraction < 1 ? stage : "working";
  fraction_ = fraction < 1 ? fraction : 0;
  if (listener) listener(stage, fraction);
}

}  // namespace sightline

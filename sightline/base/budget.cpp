#include "sightline/base/budget.hpp"

#include <fmt/format.h>

#include "sightline/base/error.hpp"

namespace sightline {

std::atomic<bool> Budget::interrupted{false};

Budget::Budget(std::optional<double> time_seconds, std::optional<std::uint64_t> memory_bytes)
    : time_seconds_(time_seconds.value_or(0)), memory_bytes_(memory_bytes) {
  if (time_seconds) {
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*time_seconds));
  }
}

void Budget::poll() const {
  if (interrupted.load(std::memory_order_relaxed)) throw Interrupted();
  if ((polls_++ & 255u) != 0) return;
  if (listener && !stage_.empty()) listener(stage_, fraction_);
  if (deadline_ && Clock::now() > *deadline_) throw BudgetExhausted(fmt::format("the time limit of {} s was reached", time_seconds_));
}

void Budget::ask(std::uint64_t bytes) const {
  if (memory_bytes_ && booked_bytes_ + bytes > *memory_bytes_) {
    throw BudgetExhausted(fmt::format("the memory limit of {} bytes does not allow {} more bytes", *memory_bytes_, bytes));
  }
  booked_bytes_ += bytes;
}

void Budget::give_back(std::uint64_t bytes) const noexcept { booked_bytes_ -= bytes < booked_bytes_ ? bytes : booked_bytes_; }

void Budget::report(std::string_view stage, double fraction) const {
  // A finished stage is not what the next polls belong to.
  stage_ = fraction < 1 ? stage : "working";
  fraction_ = fraction < 1 ? fraction : 0;
  if (listener) listener(stage, fraction);
}

}  // namespace sightline

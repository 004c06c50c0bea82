#include "sightline/base/crew.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>

namespace sightline {

Crew::Crew(unsigned helpers) {
  try {
    while (threads_.size() < helpers) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // fewer threads compute the same
  }
}

Crew::~Crew() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
}

void Crew::add(std::shared_ptr<Job> job) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(job));
  }
  changed_.notify_all();
}

bool Crew::withdraw(const Job& job) {
  const std::lock_guard lock(mutex_);
  return std::erase_if(waiting_, [&](const auto& other) { return other.get() == &job; }) > 0;
}

void Crew::wait(const Job& job, const Budget* budget) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(20), [&] { return job.is_done; })) {
    if (budget == nullptr) continue;
    lock.unlock();
    budget->poll_now();
    lock.lock();
  }
}

void Crew::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
    if (ends_) return;
    const std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    try {
      job->run();
    } catch (...) {
      job->error = std::current_exception();
    }
    lock.lock();
    job->is_done = true;
    changed_.notify_all();
  }
}

}  // namespace sightline

// Threads that take over work: a result is the same whoever computes it, and comes when it is asked for.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"

namespace sightline {

/// Helpers that wait for tasks and begin them in the order in which they were made.
class Crew {
public:
  /// Starts this many threads, or as many of them as the system gives.
  explicit Crew(unsigned helpers);
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

private:
  template <class Work> friend class Task;

  struct Job {
    std::function<void()> run;
    std::exception_ptr error;
    bool is_done = false;
    std::atomic<bool> abandoned{false};
  };

  void add(std::shared_ptr<Job> job);
  /// True when nobody had begun it: it is the caller's now.
  bool withdraw(const Job& job);
  /// Until it is done; asks the budget (none: nobody) every few milliseconds whether to go on.
  void wait(const Job& job, const Budget* budget);
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool ends_ = false;
  std::vector<std::jthread> threads_;
};

/// A result that is computed by `work(budget)` on a thread of budget.crew, or by take() on its own thread where no helper has begun it by
/// then. So every thread has something to do, nobody waits for what has not begun, and with no crew this is a function call that is put off.
///
/// `work` must give the same result whenever it runs between the two: what it reads stays as it is, and it writes nothing that others read.
/// It gets a budget of its own with the same limits and the same memory to count against, which reports no progress.
template <class Work>
class Task {
public:
  using Result = std::invoke_result_t<Work&, const Budget&>;

  /// @param budget  must outlive the task, and belong to the thread that makes and takes it
  Task(const Budget& budget, Work work) : budget_(budget), work_(std::move(work)) {
    if (budget.crew == nullptr) return;
    job_ = std::make_shared<Crew::Job>();
    helpers_.emplace(budget);
    helpers_->listener = nullptr;
    helpers_->abandoned = &job_->abandoned;
    job_->run = [this] { result_.emplace(work_(*helpers_)); };
    budget.crew->add(job_);
  }
  /// What was not taken is ended and waited for.
  ~Task() {
    if (job_ == nullptr || budget_.crew->withdraw(*job_)) return;
    job_->abandoned = true;
    budget_.crew->wait(*job_, nullptr);
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  /// The result, or what `work` threw; once. Throws what the budget's poll() does while it waits.
  Result take() {
    if (job_ == nullptr) return work_(budget_);
    if (budget_.crew->withdraw(*job_)) {
      job_.reset();
      return work_(budget_);
    }
    budget_.crew->wait(*job_, &budget_);
    const auto job = std::exchange(job_, nullptr);
    if (job->error) std::rethrow_exception(job->error);
    return *std::move(result_);
  }

private:
  const Budget& budget_;
  Work work_;
  std::optional<Budget> helpers_;
  std::optional<Result> result_;
  std::shared_ptr<Crew::Job> job_;  ///< none: nobody else will do it
};

}  // namespace sightline

#include "sightline/mixer/cpu/pool.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <pthread.h>

namespace sightline::mixer::cpu {
namespace {

struct Job {
  const std::function<void(std::int64_t, int)>* work = nullptr;
  std::int64_t tasks = 0;
  std::atomic<std::int64_t> next{0};
  std::atomic<int> workers{1}; // numbers given out; 0 is the caller
  int wanted = 0;              // helpers that may still join (guarded by the pool's mutex)
  int running = 0;             // helpers inside (guarded by the pool's mutex)

  void run(int worker) {
    for (std::int64_t task = next.fetch_add(1); task < tasks; task = next.fetch_add(1))
      (*work)(task, worker);
  }
};

class Pool {
public:
  static Pool& instance() {
    // Left alive at exit: a thread that still works may be the one that ends the program. A forked child has none of
    // its parent's threads and starts with a pool of its own.
    static Pool* pool = new Pool;
    static const int registered = pthread_atfork(nullptr, nullptr, [] { pool = new Pool; });
    (void)registered;
    return *pool;
  }

  void run(Job& job, int threads) {
    {
      std::lock_guard lock(mutex_);
      job.wanted = threads - 1;
      while (static_cast<int>(threads_.size()) < threads - 1) {
        threads_.emplace_back([this] { serve(); });
        threads_.back().detach();
      }
      jobs_.push_back(&job);
    }
    wake_.notify_all();
    job.run(0);
    std::unique_lock lock(mutex_);
    std::erase(jobs_, &job);
    done_.wait(lock, [&] { return job.running == 0; });
  }

private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      Job* job = nullptr;
      wake_.wait(lock, [&] {
        for (Job* each : jobs_) {
          if (each->wanted > 0 && each->next.load(std::memory_order_relaxed) < each->tasks) {
            job = each;
            return true;
          }
        }
        return false;
      });
      --job->wanted;
      ++job->running;
      const int worker = job->workers.fetch_add(1);
      lock.unlock();
      job->run(worker);
      lock.lock();
      if (--job->running == 0)
        done_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<Job*> jobs_;
  std::vector<std::thread> threads_;
};

} // namespace

void run_tasks(std::int64_t tasks, int threads, const std::function<void(std::int64_t, int)>& work) {
  if (threads <= 1 || tasks <= 1) {
    for (std::int64_t task = 0; task < tasks; ++task)
      work(task, 0);
    return;
  }
  Job job;
  job.work = &work;
  job.tasks = tasks;
  Pool::instance().run(job, static_cast<int>(threads < tasks ? threads : tasks));
}

} // namespace sightline::mixer::cpu

// Threads that share a list of tasks.
#pragma once

#include <cstdint>
#include <functional>

namespace sightline::mixer::cpu {

/// Calls work(task, worker) for every task 0 .. tasks-1, on `threads` threads at most (worker < threads). Tasks are
/// started by rising number. The calling thread works too; the others are kept and reused. Calls from several threads
/// at once share them: whoever finds no idle thread works alone. `work` must not throw.
void run_tasks(std::int64_t tasks, int threads, const std::function<void(std::int64_t task, int worker)>& work);

} // namespace sightline::mixer::cpu

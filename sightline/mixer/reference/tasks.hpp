// Independent tasks on several threads.
#pragma once

#include <cstdint>
#include <functional>

namespace sightline::mixer::reference {

/// Runs work(0) .. work(tasks-1), each once, on at most `threads` threads (the caller's among them). The first
/// exception is thrown again when all threads have stopped. What a task writes must not depend on which thread runs it.
void run_each(std::int64_t tasks, int threads, const std::function<void(std::int64_t)>& work);

} // namespace sightline::mixer::reference

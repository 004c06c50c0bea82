#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sightline/base/crew.hpp"
#include "sightline/base/error.hpp"

using sightline::Budget;
using sightline::Crew;
using sightline::Task;

namespace {

/// Until `reached`; polls, so that it ends with the budget.
void wait_for(const std::atomic<bool>& reached, const Budget& budget) {
  while (!reached) {
    budget.poll_now();
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("without a crew a task runs when it is taken") {
  const Budget budget;
  int runs = 0;
  Task task(budget, [&](const Budget&) { return std::to_string(++runs); });
  CHECK(runs == 0);
  CHECK(task.take() == "1");
  { const Task left(budget, [&](const Budget&) { return ++runs; }); }
  CHECK(runs == 1);
}

TEST_CASE("a helper works while the caller does, and results come in the order in which they are asked for") {
  for (const unsigned helpers : {1u, 3u}) {
    Crew crew(helpers);
    Budget budget;
    budget.crew = &crew;
    std::atomic<bool> begun = false, go = false;
    Task first(budget, [&](const Budget& own) {
      begun = true;
      wait_for(go, own);
      return 1;
    });
    Task second(budget, [](const Budget&) { return 2; });
    wait_for(begun, budget);  // by nobody but a helper
    CHECK(second.take() == 2);
    go = true;
    CHECK(first.take() == 1);
  }
}

TEST_CASE("what a task throws comes out where it is taken, and nowhere else") {
  Crew crew(2);
  Budget budget;
  budget.crew = &crew;
  for (int k = 0; k < 100; ++k) {
    Task bad(budget, [](const Budget&) -> int { throw sightline::InputError("bad"); });
    Task good(budget, [k](const Budget&) { return k; });
    const Task left(budget, [](const Budget&) -> int { throw std::runtime_error("left"); });
    CHECK(good.take() == k);
    CHECK_THROWS_AS(bad.take(), sightline::InputError);
  }
}

TEST_CASE("a task that nobody waits for is ended") {
  Crew crew(1);
  Budget budget;
  budget.crew = &crew;
  std::atomic<bool> begun = false, ended = false;
  const std::atomic<bool> never = false;
  try {
    const Task task(budget, [&](const Budget& own) {
      begun = true;
      try {
        wait_for(never, own);
      } catch (const sightline::Abandoned&) {
        ended = true;
        throw;
      }
      return 0;
    });
    wait_for(begun, budget);
    throw std::runtime_error("something else");
  } catch (const std::runtime_error& error) {
    CHECK(std::string(error.what()) == "something else");
  }
  CHECK(ended);
}

TEST_CASE("time, memory and Ctrl-C are those of the budget that the task was made with") {
  Crew crew(1);
  const std::atomic<bool> never = false;
  Budget late(0.05, std::nullopt);
  late.crew = &crew;
  std::atomic<bool> begun = false;
  const auto work = [&](const Budget& own) {
    begun = true;
    wait_for(never, own);
    return 0;
  };
  Task timed(late, work);
  wait_for(begun, Budget{});
  CHECK_THROWS_AS(timed.take(), sightline::BudgetExhausted);

  Budget small(std::nullopt, 1000);
  small.crew = &crew;
  std::atomic<bool> asked = false, go = false;
  Task holder(small, [&](const Budget& own) {
    own.ask(800);
    asked = true;
    wait_for(go, own);
    return 0;
  });
  wait_for(asked, Budget{});
  CHECK_THROWS_AS(small.ask(300), sightline::BudgetExhausted);
  go = true;
  CHECK(holder.take() == 0);

  Budget open;
  open.crew = &crew;
  begun = false;
  Task interrupted(open, work);
  wait_for(begun, Budget{});
  Budget::interrupted = true;
  CHECK_THROWS_AS(interrupted.take(), sightline::Interrupted);
  Budget::interrupted = false;
}

TEST_CASE("tasks may make tasks, with more of them than helpers") {
  Crew crew(2);
  Budget budget;
  budget.crew = &crew;
  const auto square = [](int k) {
    return [k](const Budget& own) {
      Task inner(own, [k](const Budget&) { return k; });
      return k * inner.take();
    };
  };
  for (int k = 0; k < 200; ++k) {
    Task a(budget, square(k)), b(budget, square(k + 1)), c(budget, square(k + 2));
    CHECK(c.take() == (k + 2) * (k + 2));
    CHECK(a.take() == k * k);
  }
}

#include <doctest/doctest.h>

#include <thread>

#include "sightline/base/budget.hpp"
#include "sightline/base/error.hpp"

using sightline::Budget;

TEST_CASE("a budget without limits allows everything") {
  const Budget budget;
  budget.ask(std::uint64_t{1} << 60);
  for (int k = 0; k < 1000; ++k) budget.poll();
}

TEST_CASE("memory that was given back can be asked for again") {
  const Budget budget(std::nullopt, 1000);
  budget.ask(800);
  CHECK_THROWS_AS(budget.ask(300), sightline::BudgetExhausted);
  budget.give_back(500);
  budget.ask(300);
  CHECK_THROWS_WITH_AS(budget.ask(500), "the memory limit of 1000 bytes does not allow 500 more bytes", sightline::BudgetExhausted);
}

TEST_CASE("a seldom poll notices the time limit too") {
  const Budget budget(0.001, std::nullopt);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // a tick of the kernel is at most 10
  // The second call is not the one in 256 that reads the exact clock.
  for (int k = 0; k < 2; ++k) CHECK_THROWS_WITH_AS(budget.poll(), "the time limit of 0.001 s was reached", sightline::BudgetExhausted);
}

TEST_CASE("a limit that no clock can hold is none") {
  for (const double seconds : {1e10, 1e300}) {
    const Budget budget(seconds, std::nullopt);
    CHECK_NOTHROW(budget.poll_now());
    CHECK_FALSE(budget.is_late());
  }
}

TEST_CASE("an interrupt ends the work at the next poll") {
  const Budget budget;
  Budget::interrupted = true;
  CHECK_THROWS_AS(budget.poll(), sightline::Interrupted);
  Budget::interrupted = false;
  budget.poll();
}

TEST_CASE("progress goes to the listener") {
  Budget budget;
  double last = -1;
  budget.listener = [&](std::string_view stage, double fraction) { CHECK(stage == "reach"); last = fraction; };
  budget.report("reach", 0.5);
  CHECK(last == 0.5);
}

TEST_CASE("copies count against one limit, and give back what they asked for when they go") {
  const Budget budget(std::nullopt, 1000);
  budget.ask(400);
  {
    const Budget copy = budget;
    copy.ask(500);
    CHECK_THROWS_AS(budget.ask(200), sightline::BudgetExhausted);
    copy.give_back(5000);  // no more than it asked for
    budget.ask(500);
    CHECK_THROWS_AS(copy.ask(200), sightline::BudgetExhausted);
    copy.ask(100);
  }
  budget.ask(100);
  CHECK_THROWS_AS(budget.ask(1), sightline::BudgetExhausted);
}

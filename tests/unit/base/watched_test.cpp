#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "sightline/base/error.hpp"
#include "sightline/base/watched.hpp"

using namespace std::chrono_literals;

TEST_CASE("watched work is done when the call returns, and its error is the caller's") {
  int result = 0;
  sightline::run_watched(sightline::Budget{}, [&] { result = 7; });
  CHECK(result == 7);
  CHECK_THROWS_WITH_AS(sightline::run_watched(sightline::Budget{}, [] { throw std::runtime_error("no"); }), "no", std::runtime_error);
  CHECK_FALSE(sightline::is_work_left_behind());
}

TEST_CASE("work that outlasts the limit is left behind until it ends") {
  const auto go_on = std::make_shared<std::atomic<bool>>(false);
  const sightline::Budget budget(0.02, std::nullopt);
  CHECK_THROWS_AS(sightline::run_watched(budget, [go_on] { while (!*go_on) std::this_thread::sleep_for(1ms); }), sightline::BudgetExhausted);
  CHECK(sightline::is_work_left_behind());
  *go_on = true;
  while (sightline::is_work_left_behind()) std::this_thread::sleep_for(1ms);
}

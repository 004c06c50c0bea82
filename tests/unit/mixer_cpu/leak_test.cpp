// What a row does not read cannot change it: numbers that are none, behind the mask, forward and backward.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "call.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

bool reads(const Plan& plan, std::int64_t head, std::int64_t i, std::int64_t j) {
  std::vector<layout::ColouredRun> row;
  plan.row(plan.relation_of(head), i, row);
  for (const layout::ColouredRun& run : row) {
    if (j >= run.first && j <= run.last && (j - run.first) % run.step == 0)
      return true;
  }
  return false;
}

// One token's query, key, value and output gradient become `bad`; whoever is not joined to it by an arc stays finite.
void check_leaks(const Call& call, Random& random, InstructionSet set, float bad) {
  CAPTURE(call.name);
  CAPTURE(bad);
  Execution execution;
  execution.instructions = set;
  Numbers<float> numbers = draw_numbers<float>(call, random);
  const Shape& s = call.shape;
  const std::int64_t victim = pick(random, 0, s.readers - 1), group = s.heads / s.key_heads;
  for (std::int64_t b = 0; b < s.batch; ++b) {
    for (std::int64_t h = 0; h < s.heads; ++h) {
      numbers.query[index_of(call, s.heads, s.readers, s.width, b, h, victim)] = bad;
      numbers.grad_out[index_of(call, s.heads, s.readers, s.value_width, b, h, victim)] = bad;
    }
    for (std::int64_t h = 0; h < s.key_heads; ++h) {
      numbers.key[index_of(call, s.key_heads, s.reads, s.width, b, h, victim)] = bad;
      numbers.value[index_of(call, s.key_heads, s.reads, s.value_width, b, h, victim)] = bad;
    }
  }
  run(call, numbers, execution);
  int wrong = 0;
  const auto expect_finite = [&](const std::vector<float>& from, std::size_t first, std::int64_t width) {
    for (std::int64_t c = 0; c < width; ++c)
      wrong += std::isfinite(from[first + static_cast<std::size_t>(c)]) ? 0 : 1;
  };
  for (std::int64_t b = 0; b < s.batch; ++b) {
    const std::int64_t length = call.lengths.empty() ? s.readers : call.lengths[static_cast<std::size_t>(b)];
    const bool gone = victim >= length && victim < call.plan->reader_tokens();
    for (std::int64_t h = 0; h < s.heads; ++h) {
      for (std::int64_t i = 0; i < s.readers; ++i) {
        if (!gone && (i == victim || reads(*call.plan, h, i, victim)))
          continue;
        expect_finite(numbers.out, index_of(call, s.heads, s.readers, s.value_width, b, h, i), s.value_width);
        expect_finite(numbers.grad_query, index_of(call, s.heads, s.readers, s.width, b, h, i), s.width);
      }
    }
    for (std::int64_t k = 0; k < s.key_heads; ++k) {
      for (std::int64_t j = 0; j < s.reads; ++j) {
        // The victim spoils its readers' rows, and a spoilt row whatever else it reads.
        bool joined = j == victim;
        for (std::int64_t h = k * group; h < (k + 1) * group && !joined; ++h) {
          for (std::int64_t i = 0; i < s.readers && !joined; ++i) {
            joined = reads(*call.plan, h, i, j) && (i == victim || reads(*call.plan, h, i, victim));
          }
        }
        if (joined && !gone)
          continue;
        expect_finite(numbers.grad_key, index_of(call, s.key_heads, s.reads, s.width, b, k, j), s.width);
        expect_finite(numbers.grad_value, index_of(call, s.key_heads, s.reads, s.value_width, b, k, j), s.value_width);
      }
    }
  }
  CHECK(wrong == 0);
}

} // namespace

TEST_CASE("infinities and NaN behind the mask reach nobody") {
  Random random(5);
  for (int k = 0; k < 60; ++k) {
    Call call = draw_call(random, 150);
    call.rule.normalised = true; // a plain sum of exponentials of unbounded scores may overflow by itself
    call.has_bias = false;
    if (k >= 34) { // prefix sums, whole blocks
      if (k < 40)
        set_full(call, pick(random, 1, 300), true, random);
      else
        set_long_rows(call, pick(random, 128, 400), random);
      set_kernel(call, k % 2 == 0 ? "performer" : "exponential-sum");
    }
    const InstructionSet set = draw_set(random);
    check_leaks(call, random, set, std::numeric_limits<float>::quiet_NaN());
    check_leaks(call, random, set, std::numeric_limits<float>::infinity());
  }
}

TEST_CASE("infinities and NaN where a block's last reader goes as a row") {
  Random random(6);
  for (const InstructionSet set : available_sets()) {
    for (const std::int64_t width : {16, 32, 64}) {
      Call call = draw_call(random, 40);
      set_blocks(call, 150, 49, width);
      set_kernel(call, "softmax");
      check_leaks(call, random, set, std::numeric_limits<float>::quiet_NaN());
      check_leaks(call, random, set, std::numeric_limits<float>::infinity());
    }
  }
}

TEST_CASE("empty rows give zero and zero gradients") {
  Random random(6);
  Call call;
  std::vector<std::vector<layout::Vertex>> rows(130);
  for (layout::Vertex i = 0; i < 130; i += 2) {
    for (layout::Vertex j = 0; j <= i; ++j)
      rows[i].push_back(j);
  }
  const layout::Relation relation(layout::make_pattern_from_rows(130, rows), {}, layout::Cancels::nothing, 130);
  call.plan = make_plan({&relation, 1}, Budget());
  call.shape = {1, 2, 2, 130, 130, 16, 16};
  set_kernel(call, "softmax");
  Numbers<float> numbers = draw_numbers<float>(call, random);
  run(call, numbers, {});
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t i = 1; i < 130; i += 2) {
      for (std::int64_t c = 0; c < 16; ++c) {
        CHECK(numbers.out[index_of(call, 2, 130, 16, 0, h, i) + static_cast<std::size_t>(c)] == 0);
        CHECK(numbers.grad_query[index_of(call, 2, 130, 16, 0, h, i) + static_cast<std::size_t>(c)] == 0);
      }
    }
  }
}

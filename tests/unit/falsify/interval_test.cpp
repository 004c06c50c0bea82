#include <doctest/doctest.h>

#include <random>

#include "sightline/falsify/interval.hpp"
#include "sightline/falsify/mixer.hpp"

namespace sightline::falsify {
namespace {

Interval point(long numerator, long denominator, long bits) {
  mpq_class value(numerator, denominator);
  value.canonicalize();
  return Interval(value, bits);
}

TEST_CASE("every function at 60 bits encloses its value at 400 bits") {
  using Unary = Interval (*)(const Interval&);
  const Unary functions[] = {falsify::exp, falsify::expm1, falsify::log, falsify::log1p, falsify::sqrt, falsify::cosh,  falsify::sinh,
                             falsify::tanh, falsify::cos,  falsify::sin, falsify::abs,   falsify::square};
  std::mt19937_64 random(1);
  int compared = 0;
  for (int round = 0; round < 300; ++round) {
    const long numerator = static_cast<long>(random() % 2001) - 1000, denominator = 1 + static_cast<long>(random() % 97);
    for (const Unary function : functions) {
      try {
        const Interval coarse = function(point(numerator, denominator, 60)), fine = function(point(numerator, denominator, 400));
        CHECK(mpfr_lessequal_p(coarse.low(), fine.high()));
        CHECK(mpfr_lessequal_p(fine.low(), coarse.high()));
        // The fine enclosure is so narrow that the coarse one must contain it, ends included.
        CHECK(mpfr_lessequal_p(coarse.low(), fine.low()));
        CHECK(mpfr_lessequal_p(fine.high(), coarse.high()));
        ++compared;
      } catch (const Undefined&) {
      }
    }
  }
  CHECK(compared > 2500);
}

TEST_CASE("arithmetic on wide intervals contains the results of all points") {
  std::mt19937_64 random(2);
  const auto draw = [&] { return mpq_class(static_cast<long>(random() % 41) - 20, 4); };
  for (int round = 0; round < 2000; ++round) {
    mpq_class ends[4];
    for (auto& end : ends) end = draw(), end.canonicalize();
    if (ends[0] > ends[1]) std::swap(ends[0], ends[1]);
    if (ends[2] > ends[3]) std::swap(ends[2], ends[3]);
    const Interval a(ends[0].get_d(), ends[1].get_d(), 64), b(ends[2].get_d(), ends[3].get_d(), 64);
    const mpq_class p = (ends[0] + ends[1]) / 2, q = (ends[2] * 3 + ends[3]) / 4;
    const auto holds = [](const Interval& box, const mpq_class& value) { return mpfr_cmp_q(box.low(), value.get_mpq_t()) <= 0 && mpfr_cmp_q(box.high(), value.get_mpq_t()) >= 0; };
    CHECK(holds(a + b, p + q));
    CHECK(holds(a - b, p - q));
    CHECK(holds(a * b, p * q));
    CHECK(holds(square(a), p * p));
    CHECK(holds(power(a, 3), p * p * p));
    CHECK(holds(maximum(a, b), p > q ? p : q));
    CHECK(holds(minimum(a, b), p > q ? q : p));
    CHECK(holds(falsify::abs(a), p > 0 ? p : mpq_class(-p)));
    if (b.excludes_zero()) CHECK(holds(a / b, p / q));
    else CHECK_THROWS_AS((void)(a / b), Undefined);
  }
}

TEST_CASE("cosine over a wide interval stays within [-1, 1] and contains its extremes") {
  const Interval all = falsify::cos(Interval(-10.0, 10.0, 64));
  CHECK(mpfr_cmp_si(all.low(), -1) == 0);
  CHECK(mpfr_cmp_si(all.high(), 1) == 0);
  const Interval near_zero = falsify::cos(Interval(-0.125, 0.125, 64));
  CHECK(mpfr_cmp_si(near_zero.high(), 1) == 0);
  CHECK(mpfr_cmp_d(near_zero.low(), 0.993) < 0);
}

TEST_CASE("printed ends still enclose") {
  const Interval third = point(1, 3, 300);
  const mpq_class value(1, 3);
  Interval read(300);
  mpfr_set_str(read.low(), third.print_low().c_str(), 10, MPFR_RNDD);
  mpfr_set_str(read.high(), third.print_high().c_str(), 10, MPFR_RNDU);
  CHECK(mpfr_cmp_q(read.low(), value.get_mpq_t()) < 0);
  CHECK(mpfr_cmp_q(read.high(), value.get_mpq_t()) > 0);
}

TEST_CASE("an undefined value is said, never guessed") {
  CHECK_THROWS_AS((void)falsify::log(Interval(0.0, 1.0, 64)), Undefined);
  CHECK_THROWS_AS((void)falsify::sqrt(Interval(-1.0, 1.0, 64)), Undefined);
  CHECK_THROWS_AS((void)power(Interval(-1.0, 1.0, 64), mpq_class(1, 2)), Undefined);
  CHECK_THROWS_AS((void)power(Interval(-1.0, 1.0, 64), -1), Undefined);
}

}  // namespace
}  // namespace sightline::falsify

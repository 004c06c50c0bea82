#include "sightline/group/order.hpp"

#include <doctest/doctest.h>

using namespace sightline::group;

TEST_CASE("orders are written factored, decreasing, without ^1") {
  Order order;
  CHECK(order.factored() == "1");
  CHECK(order.is_one());
  order.multiply_factorial(1, 7);
  CHECK(order.is_one());
  order.multiply_factorial(64, 16384);
  order.multiply(mpz_class(2));
  CHECK(order.factored() == "64!^16384 * 2");
  CHECK_FALSE(order.value().has_value());
  order.multiply_factorial(100);
  CHECK(order.factored() == "100! * 64!^16384 * 2");
  CHECK(Order(mpz_class(12)).factored() == "12");
  CHECK(order.log10() == doctest::Approx(157.97000365471578 + 16384 * 89.10341687337806 + 0.30102999566398).epsilon(1e-9));
}

TEST_CASE("values and equality are those of the numbers") {
  Order a, b;
  a.multiply_factorial(4, 2);
  b.multiply(mpz_class(576));
  CHECK(a == b);
  CHECK(a.value() == mpz_class(576));
  b.multiply_factorial(3);
  CHECK_FALSE(a == b);
  a.multiply(mpz_class(6));
  CHECK(a == b);
  Order big, same;
  big.multiply_factorial(720, 1000000);
  same.multiply_factorial(719, 1000000);
  CHECK_FALSE(big == same);
  same.multiply_factorial(6, 1000000);
  CHECK(big == same);
}

TEST_CASE("value stops exactly above the number of digits") {
  CHECK(Order(mpz_class(999)).value(3) == mpz_class(999));
  CHECK_FALSE(Order(mpz_class(1000)).value(3).has_value());
  Order large;
  large.multiply_factorial(449);
  CHECK(large.value(1000).has_value());
  large.multiply_factorial(2, 50);
  CHECK_FALSE(large.value(1000).has_value());
}

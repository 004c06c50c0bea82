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

TEST_CASE("a long rest is taken apart into factorials, the greatest first") {
  const auto product = [](std::uint32_t first, std::uint32_t last, std::uint32_t factor) {
    Order order;
    for (std::uint32_t k = first; k <= last; ++k) order.multiply(mpz_class(k) * factor);
    return order;
  };
  CHECK(product(1, 100, 1).factored() == product(1, 100, 1).value()->get_str());
  CHECK(product(1, 5000, 1).factored() == "5000!");
  CHECK(product(1, 5000, 2).factored() == "5000! * 2!^5000");
  Order twice = product(1, 3000, 1);
  twice.multiply(product(1, 3000, 1));
  twice.multiply(mpz_class(3));
  twice.multiply_factorial(64, 5);
  CHECK(twice.factored() == "3000!^2 * 64!^5 * 3");
  CHECK(product(1, 200000, 1).factored() == "200000!");
  Order powers;
  for (int k = 0; k < 4000; ++k) powers.multiply(mpz_class(3));
  mpz_class expected;
  mpz_ui_pow_ui(expected.get_mpz_t(), 3, 4000);
  CHECK(powers.factored() == expected.get_str());
  // As one number, taken apart again.
  CHECK(Order(product(1, 5000, 2).rest()).factored() == "5000! * 2!^5000");
}

TEST_CASE("equality does not depend on what is kept as a factorial") {
  Order a, b;
  for (std::uint32_t k = 2; k <= 70000; ++k) a.multiply(mpz_class(k));
  b.multiply_factorial(70000);
  CHECK(a == b);
  b.multiply(mpz_class(2));
  CHECK_FALSE(a == b);
  a.multiply_factorial(2);
  CHECK(a == b);
  CHECK(a.log10() == doctest::Approx(b.log10()).epsilon(1e-12));
  // A prime beyond 2^20 in a number that is not taken apart, and in a factorial.
  Order large, factorial;
  const mpz_class p = 1048583, q("1208925819614629174706189");  // q is prime, above 2^32
  large.multiply(mpz_class(p * q));
  for (std::uint32_t k = 2; k < 1048583; ++k) large.multiply(mpz_class(k));
  factorial.multiply_factorial(1048583);
  factorial.multiply(q);
  CHECK(large == factorial);
  a.raise(3);
  b.raise(3);
  CHECK(a == b);
  b.raise(0);
  CHECK(b.is_one());
}

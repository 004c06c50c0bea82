// The exact layers below condition (13): surds, definiteness, strict linear programs, normal forms.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "sightline/attention_kernel/linear_program.hpp"
#include "sightline/attention_kernel/normal_form.hpp"
#include "sightline/attention_kernel/polynomial.hpp"
#include "sightline/attention_kernel/surd.hpp"

using namespace sightline;
using namespace sightline::attention_kernel;

namespace {

using Rows = std::vector<std::vector<Surd>>;

Rows to_surds(const std::vector<std::vector<int>>& rows) {
  Rows result;
  for (const auto& row : rows) {
    result.emplace_back();
    for (const int entry : row) result.back().emplace_back(entry);
  }
  return result;
}

// The open cone row.v > 0 cut by an orthant is spanned by cross products of rows and unit vectors, so an integer
// point with entries of at most `box` lies inside whenever it is not empty.
bool feasible_by_search(const std::vector<std::vector<int>>& rows, std::size_t dim, int box) {
  std::vector<int> v(dim, -box);
  while (true) {
    bool inside = true;
    for (const auto& row : rows) {
      int value = 0;
      for (std::size_t i = 0; i < dim; ++i) value += row[i] * v[i];
      if (value <= 0) { inside = false; break; }
    }
    if (inside) return true;
    std::size_t i = 0;
    while (i < dim && v[i] == box) v[i++] = -box;
    if (i == dim) return false;
    ++v[i];
  }
}

NormalForm form_of(const std::string& text) {
  return to_normal_form(parse_expression(text, Role::kernel, 2), {make_variables(0, 2), make_variables(2, 2), {}}, {});
}

}  // namespace

TEST_CASE("surds: exact field operations") {
  const Surd two = Surd::square_root(2), three = Surd::square_root(3), six = Surd::square_root(6);
  CHECK(two * three == six);
  CHECK((two * two) == Surd(2));
  CHECK(Surd::square_root(mpq_class(8, 9)) == two * Surd(mpq_class(2, 3)));
  CHECK((two + three - six + Surd(1)).inverse() * (two + three - six + Surd(1)) == Surd(1));
  CHECK((Surd(7) - Surd(4) * three).sign() == 1);   // 0.0717...
  CHECK((Surd(97) - Surd(56) * three).sign() == 1);  // 0.0051...
  CHECK((Surd(1) - two).sign() == -1);
  CHECK(((two + three) * (two + three) - Surd(5) - Surd(2) * six).is_zero());
  CHECK(power(Surd(4), mpq_class(-3, 2)) == Surd(mpq_class(1, 8)));
  CHECK_FALSE(power(Surd(2), mpq_class(1, 3)).has_value());
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; ++round) {
    Surd a, b;
    for (const long n : {1L, 2L, 15L, 21L, 35L, 1009L}) {
      a += Surd(static_cast<long>(random() % 9) - 4) * Surd::square_root(mpq_class(n));
      b += Surd(static_cast<long>(random() % 9) - 4) * Surd::square_root(mpq_class(n));
    }
    CHECK((a * b).approximate() == doctest::Approx(a.approximate() * b.approximate()));
    if (!b.is_zero()) CHECK((a / b) * b == a);
    const double value = a.approximate();
    if (std::abs(value) > 1e-9) CHECK(a.sign() == (value > 0 ? 1 : -1));
  }
}

TEST_CASE("definiteness is exact") {
  auto matrix = [](const std::vector<std::vector<int>>& rows) { return Matrix(to_surds(rows)); };
  CHECK(compute_definiteness(matrix({{2, 1}, {1, 2}})) == Definite::positive);
  CHECK(compute_definiteness(matrix({{1, 1}, {1, 1}})) == Definite::positive_semi);
  CHECK(compute_definiteness(matrix({{-1, 1}, {1, -1}})) == Definite::negative_semi);
  CHECK(compute_definiteness(matrix({{0, 1}, {1, 0}})) == Definite::indefinite);
  CHECK(compute_definiteness(matrix({{1, 2}, {2, 1}})) == Definite::indefinite);
  CHECK(compute_definiteness(matrix({{0, 0}, {0, 0}})) == Definite::zero);
}

TEST_CASE("strict programs agree with exhaustive search") {
  std::mt19937_64 random(17);
  int feasible = 0;
  for (int round = 0; round < 600; ++round) {
    const std::size_t dim = round % 4 == 0 ? 3 : 2;
    const int size = dim == 2 ? 3 : 1;
    std::vector<std::vector<int>> rows(1 + random() % 6, std::vector<int>(dim));
    for (auto& row : rows) for (int& entry : row) entry = static_cast<int>(random() % static_cast<unsigned>(2 * size + 1)) - size;
    const auto found = find_strict_solution(to_surds(rows), dim, {});
    CHECK(found.has_value() == feasible_by_search(rows, dim, dim == 2 ? 8 : 9));
    if (found) for (const auto& row : to_surds(rows)) CHECK(dot_product(row, *found).sign() > 0);
    feasible += found.has_value();
  }
  CHECK(feasible > 100);
  CHECK(feasible < 500);
}

TEST_CASE("a product of polynomials stops at a limit") {
  Polynomial sum(Surd(1));
  for (std::uint32_t k = 0; k < 100; ++k) sum += Polynomial::variable(k);
  CHECK(multiply(sum, sum, {}).terms().size() == 101 * 102 / 2);
  CHECK_THROWS_AS(static_cast<void>(multiply(sum, sum, Budget(1e-9, std::nullopt))), BudgetExhausted);
}

TEST_CASE("normal forms identify equal kernels") {
  CHECK(form_of("exp(dot(x,y))") == form_of("exp(-0.5*norm2(x-y))*exp(norm2(x)/2)*exp(norm2(y)/2)"));
  CHECK(form_of("exp(dot(x,y))") == form_of("cosh(dot(x,y))+sinh(dot(x,y))"));
  CHECK(form_of("exp(dot(x,y))") == form_of("sqrt(exp(2*dot(x,y)))"));
  CHECK(form_of("exp(dot(x,y))") == form_of("1/exp(-dot(x,y))"));
  CHECK(form_of("(1+dot(x,y))^2") == form_of("1+2*dot(x,y)+dot(x,y)^2"));
  CHECK(form_of("exp(-log(1+norm2(x-y)))") == form_of("1/(1+norm2(x-y))"));
  CHECK(form_of("norm(x-y)^2") == form_of("norm2(x)-2*dot(x,y)+norm2(y)"));
  CHECK(form_of("cosh(dot(x,y))^2-sinh(dot(x,y))^2-1").empty());
  CHECK(form_of("exp(1)-exp(2)").size() == 2);
  CHECK_THROWS_AS(form_of("softplus(dot(x,y))"), OutOfScope);
  CHECK_THROWS_AS(form_of("(1+exp(dot(x,y)))^65"), OutOfScope);
  CHECK_THROWS_AS(form_of("sqrt(dot(x,y)^-2)"), OutOfScope);  // an absolute value
}

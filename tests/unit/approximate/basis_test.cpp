#include "sightline/approximate/basis.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

#include "sightline/linear_algebra/linear_algebra.hpp"
#include "sightline/target/sampler.hpp"

using namespace sightline;
using approximate::Basis;

namespace {

std::vector<approximate::Recurrence> laws(std::size_t dim, std::size_t degree) { return std::vector(dim, approximate::legendre(-1, 1, degree)); }

/// All columns at token i of one sequence.
std::vector<double> row(const Basis& basis, const std::vector<double>& x, std::size_t i) {
  Basis::Workspace work;
  std::vector<double> sums(basis.latent(), 0.0), out(basis.columns().size());
  for (std::size_t j = 0; j < basis.tokens(); ++j) basis.add_phi(1, x.data() + j * basis.dim(), sums.data(), work);
  basis.evaluate(1, x.data() + i * basis.dim(), sums.data(), out.size(), out.data(), 1, work);
  return out;
}

double evaluate(const approximate::Recurrence& r, std::size_t k, double t) {
  double before = 0, now = 1;
  for (std::size_t m = 0; m < k; ++m) {
    const double next = ((t - r.a[m]) * now - (m > 0 ? r.b[m - 1] : 0) * before) / r.b[m];
    before = now;
    now = next;
  }
  return now;
}

/// The definition: the sum over distinct tuples of the other tokens.
double by_definition(const Basis& basis, const Basis::Column& column, const std::vector<double>& x, std::size_t i) {
  const auto phi = [&](std::uint32_t index, std::size_t j) {
    double value = 1;
    for (std::size_t c = 0; c < basis.dim(); ++c) value *= evaluate(basis.recurrences()[c], basis.indices()[index][c], x[j * basis.dim() + c]);
    return value;
  };
  const auto& parts = basis.products()[column.product];
  std::vector<bool> used(basis.tokens(), false);
  used[i] = true;
  const auto sum = [&](auto&& self, std::size_t at) -> double {
    if (at == parts.size()) return 1;
    double total = 0;
    for (std::size_t j = 0; j < basis.tokens(); ++j) {
      if (used[j]) continue;
      used[j] = true;
      total += phi(parts[at], j) * self(self, at + 1);
      used[j] = false;
    }
    return total;
  };
  return phi(column.own, i) * sum(sum, 0) * column.scale;
}

}  // namespace

TEST_CASE("columns are sums over distinct tuples of the other tokens, from power sums of low degree") {
  for (const auto& [n, d, degree] : std::vector<std::array<std::size_t, 3>>{{1, 2, 4}, {2, 1, 6}, {2, 3, 5}, {3, 2, 6}, {4, 2, 5}, {5, 1, 6}, {7, 2, 4}}) {
    CAPTURE(n);
    CAPTURE(d);
    CAPTURE(degree);
    const Basis basis(n, d, degree, laws(d, degree));
    std::vector<double> x(n * d);
    target::Sampler().fill(1, n, d, x.size(), x.data());
    for (std::size_t i = 0; i < n; i += 2) {
      const std::vector<double> values = row(basis, x, i);
      for (std::size_t k = 0; k < values.size(); ++k) {
        const double wanted = by_definition(basis, basis.columns()[k], x, i);
        REQUIRE(std::fabs(values[k] - wanted) < 1e-9 * std::max(1.0, std::fabs(wanted)));
      }
    }
  }
}

TEST_CASE("sizes: d' = C(min(D,n)+d, d) - 1, columns as enumerated, the independent ones are the basis") {
  CHECK(approximate::count_sizes(64, 3, 4).columns == 484);
  CHECK(approximate::count_sizes(64, 3, 4).independent == 484);
  CHECK(approximate::count_sizes(64, 3, 4).latent == 34);
  CHECK(approximate::count_sizes(3, 2, 6).latent == 9);  // C(3+2, 2) - 1
  CHECK(approximate::count_sizes(16, 4, 6).columns == 18471);
  for (std::size_t n = 1; n <= 6; ++n) {
    for (std::size_t d = 1; d <= 3; ++d) {
      for (std::size_t degree = 1; degree <= 5; ++degree) {
        const Basis basis(n, d, degree, laws(d, degree));
        const auto sizes = approximate::count_sizes(n, d, degree);
        CHECK(sizes.independent == static_cast<double>(basis.columns().size()));
        CHECK(sizes.latent == static_cast<double>(basis.latent()));
        CHECK(sizes.columns >= sizes.independent);
        // A smaller degree is a prefix.
        const Basis smaller(n, d, degree - 1 == 0 ? 1 : degree - 1, laws(d, degree));
        for (std::size_t k = 0; k < basis.columns_up_to(smaller.degree()); ++k) CHECK(basis.name(basis.columns()[k]) == smaller.name(smaller.columns()[k]));
      }
    }
  }
}

TEST_CASE("the span is what products of power sums span") {
  // Rank of all products of power sums (|a| <= min(D,n)) with powers of x_i, at random points, and of them together with the basis.
  for (const auto& [n, d, degree] : std::vector<std::array<std::size_t, 3>>{{2, 1, 4}, {2, 2, 4}, {3, 1, 5}, {3, 2, 4}, {4, 1, 6}, {6, 2, 3}}) {
    const Basis basis(n, d, degree, laws(d, degree));
    const std::size_t most = std::min(n, degree), points = 3 * static_cast<std::size_t>(approximate::count_sizes(n, d, degree).columns);
    std::vector<std::vector<double>> columns;
    std::vector<std::vector<double>> sequences(points, std::vector<double>(n * d));
    for (std::size_t s = 0; s < points; ++s) target::Sampler().fill(2, 0, s, n * d, sequences[s].data());
    const auto monomial = [&](const approximate::MultiIndex& a, const double* t) {
      double value = 1;
      for (std::size_t c = 0; c < d; ++c) value *= std::pow(t[c], a[c]);
      return value;
    };
    std::vector<std::vector<double>> sums(basis.indices().size(), std::vector<double>(points, 0));
    for (std::size_t a = 0; a < basis.indices().size(); ++a)
      for (std::size_t s = 0; s < points; ++s) for (std::size_t j = 0; j < n; ++j) sums[a][s] += monomial(basis.indices()[a], &sequences[s][j * d]);
    const auto size = [&](std::size_t a) { std::size_t total = 0; for (auto k : basis.indices()[a]) total += k; return total; };
    const auto grow = [&](auto&& self, std::size_t from, std::size_t left, const std::vector<double>& now) -> void {
      columns.push_back(now);
      for (std::size_t a = from; a < basis.indices().size(); ++a) {
        if (size(a) == 0 || size(a) > std::min(left, most)) continue;
        std::vector<double> next = now;
        for (std::size_t s = 0; s < points; ++s) next[s] *= sums[a][s];
        self(self, a, left - size(a), next);
      }
    };
    for (std::size_t own = 0; own < basis.indices().size(); ++own) {
      std::vector<double> start(points);
      for (std::size_t s = 0; s < points; ++s) start[s] = monomial(basis.indices()[own], sequences[s].data());
      grow(grow, 1, degree - size(own), start);
    }
    const std::size_t products = columns.size();
    CHECK(static_cast<double>(products) == approximate::count_sizes(n, d, degree).columns);
    for (std::size_t k = 0; k < basis.columns().size(); ++k) columns.emplace_back(points);
    for (std::size_t s = 0; s < points; ++s) {
      const std::vector<double> values = row(basis, sequences[s], 0);
      for (std::size_t k = 0; k < values.size(); ++k) columns[products + k][s] = values[k];
    }
    const auto rank = [&](std::size_t count) {
      linear_algebra::Matrix m(points, count);
      for (std::size_t k = 0; k < count; ++k) {
        double length = 0;
        for (double v : columns[k]) length += v * v;
        for (std::size_t s = 0; s < points; ++s) m(s, k) = columns[k][s] / std::sqrt(length);
      }
      const auto sigma = linear_algebra::singular_values(std::move(m), Budget{});
      return static_cast<std::size_t>(std::count_if(sigma.begin(), sigma.end(), [&](double v) { return v > 1e-11 * sigma[0]; }));
    };
    CHECK(rank(products) == basis.columns().size());
    CHECK(rank(columns.size()) == basis.columns().size());
  }
}

TEST_CASE("for independent tokens with the law of the recurrences the columns are orthonormal") {
  // Exact expectation by Gauss quadrature is too large; a Gram matrix of many samples is close to the identity.
  const Basis basis(4, 1, 4, laws(1, 4));
  const std::size_t samples = 40000, columns = basis.columns().size();
  std::vector<double> gram(columns * columns, 0.0), x(4);
  for (std::size_t s = 0; s < samples; ++s) {
    target::Sampler().fill(3, 0, s, 4, x.data());
    const auto values = row(basis, x, 0);
    for (std::size_t a = 0; a < columns; ++a) for (std::size_t b = 0; b < columns; ++b) gram[a * columns + b] += values[a] * values[b] / static_cast<double>(samples);
  }
  for (std::size_t a = 0; a < columns; ++a) for (std::size_t b = 0; b < columns; ++b) CHECK(std::fabs(gram[a * columns + b] - (a == b ? 1 : 0)) < 0.12);
}

TEST_CASE("recurrences") {
  const auto l = approximate::legendre(1, 3, 5);
  CHECK(evaluate(l, 2, 2.5) == doctest::Approx(std::sqrt(5.0) * (1.5 * 0.25 - 0.5)));
  const auto h = approximate::hermite(5);
  CHECK(evaluate(h, 3, 1.7) == doctest::Approx((1.7 * 1.7 * 1.7 - 3 * 1.7) / std::sqrt(6.0)));
  std::vector<double> values;
  for (int k = 0; k < 3000; ++k) values.push_back(-1 + 2.0 * (k % 1000 + 0.5) / 1000);
  const auto s = approximate::of_sample(values, 4);
  for (int k = 0; k <= 4; ++k) CHECK(evaluate(s, static_cast<std::size_t>(k), 0.3) == doctest::Approx(evaluate(approximate::legendre(-1, 1, 4), static_cast<std::size_t>(k), 0.3)).epsilon(1e-4));
  const auto two = approximate::of_sample({0, 1, 0, 1, 1, 0}, 4);  // two values: degree 2 and above have no scale of their own
  for (double b : two.b) CHECK(b > 0);
}

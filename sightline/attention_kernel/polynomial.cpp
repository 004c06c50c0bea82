#include "sightline/attention_kernel/polynomial.hpp"

#include <algorithm>

namespace sightline::attention_kernel {

Monomial multiply(const Monomial& a, const Monomial& b) {
  Monomial result;
  result.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first)) result.push_back(a[i++]);
    else if (i == a.size() || b[j].first < a[i].first) result.push_back(b[j++]);
    else {
      result.emplace_back(a[i].first, a[i].second + b[j].second);
      ++i, ++j;
    }
  }
  return result;
}

namespace {

std::uint32_t degree_of(const Monomial& monomial, std::uint32_t first, std::uint32_t last) {
  std::uint32_t degree = 0;
  for (const auto& [variable, exponent] : monomial) if (variable >= first && variable < last) degree += exponent;
  return degree;
}

// Signs of the pivots of symmetric elimination; false when a zero pivot has a nonzero row (then indefinite).
bool pivot_signs(Matrix m, bool& positive, bool& negative, bool& zero) {
  const std::size_t size = m.size();
  positive = negative = zero = false;
  for (std::size_t k = 0; k < size; ++k) {
    const int sign = m[k][k].sign();
    if (sign == 0) {
      zero = true;
      for (std::size_t j = k + 1; j < size; ++j) if (!m[k][j].is_zero()) return false;
      continue;
    }
    (sign > 0 ? positive : negative) = true;
    const Surd inverse = m[k][k].inverse();
    for (std::size_t i = k + 1; i < size; ++i) {
      if (m[i][k].is_zero()) continue;
      const Surd factor = m[i][k] * inverse;
      for (std::size_t j = k + 1; j < size; ++j) if (!m[k][j].is_zero()) m[i][j] -= factor * m[k][j];
    }
  }
  return true;
}

}  // namespace

Polynomial Polynomial::variable(std::uint32_t index) {
  Polynomial result;
  result.terms_[{{index, 1}}] = 1;
  return result;
}

Surd Polynomial::constant() const {
  const auto found = terms_.find({});
  return found == terms_.end() ? Surd() : found->second;
}

std::uint32_t Polynomial::degree(std::uint32_t first, std::uint32_t last) const {
  std::uint32_t degree = 0;
  for (const auto& [monomial, factor] : terms_) degree = std::max(degree, degree_of(monomial, first, last));
  return degree;
}

Polynomial Polynomial::part(std::uint32_t degree, std::uint32_t first, std::uint32_t last) const {
  Polynomial result;
  for (const auto& [monomial, factor] : terms_) if (degree_of(monomial, first, last) == degree) result.terms_.emplace(monomial, factor);
  return result;
}

Polynomial Polynomial::reflected(std::uint32_t first, std::uint32_t last) const {
  Polynomial result = *this;
  for (auto& [monomial, factor] : result.terms_) if (degree_of(monomial, first, last) % 2 == 1) factor = -factor;
  return result;
}

void Polynomial::add(const Monomial& monomial, const Surd& factor) {
  if (factor.is_zero()) return;
  const auto [at, fresh] = terms_.try_emplace(monomial, factor);
  if (fresh) return;
  at->second += factor;
  if (at->second.is_zero()) terms_.erase(at);
}

Polynomial& Polynomial::operator+=(const Polynomial& other) {
  for (const auto& [monomial, factor] : other.terms_) add(monomial, factor);
  return *this;
}

Polynomial& Polynomial::operator*=(const Surd& factor) {
  if (factor.is_zero()) terms_.clear();
  for (auto& [monomial, mine] : terms_) mine *= factor;
  return *this;
}

Polynomial multiply(const Polynomial& a, const Polynomial& b, const Budget& budget) {
  Polynomial result;
  for (const auto& [p, f] : a.terms_) {
    for (const auto& [q, g] : b.terms_) {
      budget.poll();  // coefficients of high degree are long numbers
      result.add(multiply(p, q), f * g);
    }
    if (result.terms_.size() > Polynomial::greatest_size) throw OutOfScope{};
  }
  return result;
}

bool operator<(const Polynomial& a, const Polynomial& b) {
  return std::lexicographical_compare(a.terms_.begin(), a.terms_.end(), b.terms_.begin(), b.terms_.end(), [](const auto& p, const auto& q) {
    if (p.first != q.first) return p.first < q.first;
    return key_less(p.second, q.second);
  });
}

Definite compute_definiteness(const Matrix& matrix) {
  bool positive = false, negative = false, zero = false;
  if (!pivot_signs(matrix, positive, negative, zero)) return Definite::indefinite;
  if (positive && negative) return Definite::indefinite;
  if (positive) return zero ? Definite::positive_semi : Definite::positive;
  if (negative) return zero ? Definite::negative_semi : Definite::negative;
  return Definite::zero;
}

Definite compute_quadratic_sign(const Polynomial& polynomial, std::uint32_t count) {
  if (polynomial.is_zero()) return Definite::zero;
  if (polynomial.degree(0, count) > 2) return Definite::indefinite;
  // Only the variables that occur, then the constant last: the last pivot is the minimum.
  std::map<std::uint32_t, std::size_t> place;
  for (const auto& [monomial, factor] : polynomial.terms()) for (const auto& [variable, exponent] : monomial) place.emplace(variable, 0);
  std::size_t size = 0;
  for (auto& [variable, index] : place) index = size++;
  if (size > 512) return Definite::indefinite;
  Matrix m(size + 1, std::vector<Surd>(size + 1));
  const Surd half = mpq_class(1, 2);
  for (const auto& [monomial, factor] : polynomial.terms()) {
    std::size_t i = size, j = size;
    if (!monomial.empty()) {
      i = place[monomial[0].first];
      if (monomial.size() == 2) j = place[monomial[1].first];
      else if (monomial[0].second == 2) j = i;
    }
    if (i == j) m[i][j] += factor;
    else {
      m[i][j] += factor * half;
      m[j][i] += factor * half;
    }
  }
  const Definite all = compute_definiteness(m);
  if (all == Definite::positive) return Definite::positive;
  if (all != Definite::positive_semi) return Definite::indefinite;
  // Semidefinite with the constant: positive everywhere iff lowering the constant a little keeps it semidefinite,
  // that is, iff the pivot of the constant is positive.
  Matrix rest = m;
  for (std::size_t k = 0; k < size; ++k) {
    if (rest[k][k].is_zero()) continue;
    const Surd inverse = rest[k][k].inverse();
    for (std::size_t i = k + 1; i <= size; ++i) {
      const Surd factor = rest[i][k] * inverse;
      if (factor.is_zero()) continue;
      for (std::size_t j = k + 1; j <= size; ++j) rest[i][j] -= factor * rest[k][j];
    }
  }
  return rest[size][size].sign() > 0 ? Definite::positive : Definite::positive_semi;
}

}  // namespace sightline::attention_kernel

// The literal (13) asks every query x != 0; the algorithm decides one generic query. Three arguments lift the answer.
#include "sightline/attention_kernel/condition13.hpp"

namespace sightline::attention_kernel {
namespace {

// Nonzero x with  matrix x = -offset, or nothing. Rows of the matrix are equations.
std::optional<std::vector<Surd>> find_nonzero_solution(Matrix matrix, std::vector<Surd> offset, std::size_t dim) {
  std::vector<std::size_t> pivot_column;
  std::size_t row = 0;
  for (std::size_t column = 0; column < dim && row < matrix.size(); ++column) {
    std::size_t pivot = row;
    while (pivot < matrix.size() && matrix[pivot][column].is_zero()) ++pivot;
    if (pivot == matrix.size()) continue;
    std::swap(matrix[pivot], matrix[row]);
    std::swap(offset[pivot], offset[row]);
    const Surd inverse = matrix[row][column].inverse();
    for (Surd& entry : matrix[row]) entry *= inverse;
    offset[row] *= inverse;
    for (std::size_t r = 0; r < matrix.size(); ++r) {
      if (r == row || matrix[r][column].is_zero()) continue;
      const Surd factor = matrix[r][column];
      for (std::size_t k = 0; k < dim; ++k) matrix[r][k] -= factor * matrix[row][k];
      offset[r] -= factor * offset[row];
    }
    pivot_column.push_back(column);
    ++row;
  }
  for (std::size_t r = row; r < matrix.size(); ++r) if (!offset[r].is_zero()) return std::nullopt;
  std::vector<Surd> x(dim);
  for (std::size_t r = 0; r < row; ++r) x[pivot_column[r]] = -offset[r];
  for (const Surd& entry : x) if (!entry.is_zero()) return x;
  if (row == dim) return std::nullopt;
  std::size_t free = 0;
  while (free < row && pivot_column[free] == free) ++free;
  x[free] = 1;
  for (std::size_t r = 0; r < row; ++r) x[pivot_column[r]] = -matrix[r][free];
  return x;
}

struct Split {
  const Shape* shape;
  const Polynomial* coefficient;
  Polynomial quadratic, linear;  // parts of the exponent of degree 2 and 1 in the key
};

// The greatest power of the key in p has a coefficient without the query, so its degree is the same at every query.
bool steady(const Polynomial& p, std::uint32_t dim) {
  return !p.part(p.degree(dim, 2 * dim), dim, 2 * dim).mentions(0, dim);
}

// linear = m x.y for a number m
bool is_multiple_of_dot(const Polynomial& linear, std::uint32_t dim) {
  Polynomial dot;
  for (std::uint32_t i = 0; i < dim; ++i) dot.add({{i, 1}, {dim + i, 1}}, 1);
  if (linear.is_zero()) return true;
  dot *= linear.terms().begin()->second;
  return dot == linear;
}

bool is_multiple_of_square(const Polynomial& quadratic, std::uint32_t dim) {
  Polynomial square;
  for (std::uint32_t i = 0; i < dim; ++i) square.add({{dim + i, 2}}, 1);
  if (quadratic.is_zero()) return true;
  square *= quadratic.terms().begin()->second;
  return square == quadratic;
}

}  // namespace

LiteralFinding decide_literal(const NormalForm& form, std::size_t size) {
  const auto dim = static_cast<std::uint32_t>(size);
  std::vector<Split> terms;
  for (const auto& [shape, coefficient] : form) {
    if (shape.exponent.degree(dim, 2 * dim) > 2) return {};
    if (!steady(coefficient, dim)) return {};
    for (const auto& [base, power] : shape.factors) if (!steady(base, dim)) return {};
    terms.push_back({&shape, &coefficient, shape.exponent.part(2, dim, 2 * dim), shape.exponent.part(1, dim, 2 * dim)});
  }
  // Terms that grow alike could cancel at special queries, unless their coefficients are positive numbers.
  bool positive = true, repeated = false;
  std::map<std::pair<Polynomial, Polynomial>, int> growths;
  for (const Split& term : terms) {
    positive = positive && term.coefficient->is_constant() && term.coefficient->constant().sign() > 0 && term.shape->factors.empty();
    repeated = ++growths[{term.quadratic, term.linear}] > 1 || repeated;
  }
  if (repeated && !positive) return {};
  bool fixed = true, isotropic = true, alike = true;
  for (const Split& term : terms) {
    fixed = fixed && !term.quadratic.mentions(0, dim) && !term.linear.mentions(0, dim);
    isotropic = isotropic && is_multiple_of_dot(term.linear, dim) && is_multiple_of_square(term.quadratic, dim);
    alike = alike && term.quadratic == terms[0].quadratic && term.linear == terms[0].linear;
  }
  // The growths do not mention the query, or a rotation and a common factor carry any query to any other.
  if (fixed || isotropic) return {Condition13::holds, {}, ""};
  if (!alike || terms[0].quadratic.mentions(0, dim) || terms[0].linear.degree(0, dim) > 1) return {};
  // One growth: (13) fails exactly where the linear part M^T x + beta of the exponent vanishes.
  Matrix matrix(dim, std::vector<Surd>(dim));
  std::vector<Surd> offset(dim);
  for (const auto& [monomial, factor] : terms[0].linear.terms()) {
    if (monomial.size() == 2) matrix[monomial[1].first - dim][monomial[0].first] = factor;
    else offset[monomial[0].first - dim] = factor;
  }
  const auto x = find_nonzero_solution(std::move(matrix), std::move(offset), dim);
  if (!x) return {Condition13::holds, {}, ""};
  return {Condition13::fails, *x, terms[0].quadratic.is_zero() ? "all pairs" : "y2 = -y1"};
}

}  // namespace sightline::attention_kernel

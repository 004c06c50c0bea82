#include "sightline/attention_kernel/structure.hpp"

#include <algorithm>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/normal_form.hpp"

namespace sightline::attention_kernel {
namespace {

// Positive as a quadratic polynomial, by exact elimination: 1 + |x|^2 - 2 x.y + |y|^2 has no positive range by itself.
bool positive_quadratic(const Expression& expression, std::size_t dim, const Budget& budget) {
  if (expression->is_vector || dim > 32) return false;
  const auto size = static_cast<std::uint32_t>(dim);
  try {
    const NormalForm form = to_normal_form(expression, {make_variables(0, dim), make_variables(size, dim), Polynomial::variable(2 * size)}, budget);
    bool strict = false;
    for (const auto& [shape, coefficient] : form) {
      for (const auto& [base, power] : shape.factors)
        if (compute_quadratic_sign(base, 2 * size + 1) != Definite::positive) return false;
      const Definite sign = compute_quadratic_sign(coefficient, 2 * size + 1);
      if (sign != Definite::positive && sign != Definite::positive_semi) return false;
      strict = strict || sign == Definite::positive;
    }
    return strict;
  } catch (const OutOfScope&) {
    return false;
  }
}

bool never_zero(const Expression& expression, std::size_t dim, const Budget& budget) {
  const Range range = compute_range(*expression, dim);
  return range.positive() || range.negative() || positive_quadratic(expression, dim, budget) || positive_quadratic(make_node(Op::negate, {expression}), dim, budget);
}

bool is_whole(const mpq_class& value) { return value.get_den() == 1; }
bool is_even(const mpq_class& value) { return is_whole(value) && mpz_even_p(value.get_num_mpz_t()); }

}  // namespace

bool proves_positive(const Expression& expression, std::size_t dim, const Budget& budget) {
  return compute_range(*expression, dim).positive() || positive_quadratic(expression, dim, budget);
}

std::optional<mpq_class> find_rational(const Node& node) {
  if (node.op == Op::number) return node.value;
  std::vector<mpq_class> values;
  switch (node.op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::negate:
      for (const Expression& child : node.children) {
        const auto value = find_rational(*child);
        if (!value) return std::nullopt;
        values.push_back(*value);
      }
      break;
    default: return std::nullopt;
  }
  switch (node.op) {
    case Op::add: return mpq_class(values[0] + values[1]);
    case Op::subtract: return mpq_class(values[0] - values[1]);
    case Op::multiply: return mpq_class(values[0] * values[1]);
    case Op::divide: return values[1] == 0 ? std::nullopt : std::optional<mpq_class>(values[0] / values[1]);
    default: return mpq_class(-values[0]);
  }
}

Regularity compute_regularity(const Expression& expression, std::size_t dim, const Budget& budget) {
  const Node& node = *expression;
  Regularity all;
  auto include = [&](const Expression& child) {
    const Regularity one = compute_regularity(child, dim, budget);
    all.defined = all.defined && one.defined;
    all.continuous = all.continuous && one.continuous;
    all.analytic = all.analytic && one.analytic;
  };
  if (node.op == Op::power) {
    const auto exponent = find_rational(*node.children[1]);
    const Expression& base = node.children[0];
    // |u|^2k is a polynomial in u.
    const bool smooth_even = exponent && is_even(*exponent) && (base->op == Op::norm || base->op == Op::abs);
    include(smooth_even ? base->children[0] : base);
    if (!exponent) {
      include(node.children[1]);
      if (!proves_positive(base, dim, budget)) all = {false, false, false};
    } else if (*exponent < 0 || !is_whole(*exponent)) {
      const bool fine = is_whole(*exponent) ? never_zero(base, dim, budget) : proves_positive(base, dim, budget);
      if (!fine) {
        all.analytic = false;
        if (*exponent < 0 || !compute_range(*base, dim).nonnegative()) all.defined = all.continuous = false;
      }
    }
    return all;
  }
  for (const Expression& child : node.children) include(child);
  switch (node.op) {
    case Op::divide:
      if (!never_zero(node.children[1], dim, budget)) all = {false, false, false};
      break;
    case Op::log:
      if (!proves_positive(node.children[0], dim, budget)) all = {false, false, false};
      break;
    case Op::sqrt:
      if (!proves_positive(node.children[0], dim, budget)) {
        all.analytic = false;
        if (!compute_range(*node.children[0], dim).nonnegative()) all.defined = all.continuous = false;
      }
      break;
    case Op::norm:
      if (!never_zero(make_node(Op::norm2, {node.children[0]}), dim, budget)) all.analytic = false;
      break;
    case Op::relu:
    case Op::elu:
    case Op::abs:
      if (!never_zero(node.children[0], dim, budget)) all.analytic = false;
      break;
    default: break;
  }
  return all;
}

std::optional<int> find_parity(const Node& node, int x_sign, int y_sign) {
  std::vector<int> of;
  for (const Expression& child : node.children) {
    const auto parity = find_parity(*child, x_sign, y_sign);
    if (!parity) return std::nullopt;
    of.push_back(*parity);
  }
  switch (node.op) {
    case Op::number:
    case Op::literal_vector: return 1;
    case Op::variable: return node.name == 'y' ? y_sign : x_sign;
    case Op::add:
    case Op::subtract: return of[0] == of[1] ? std::optional<int>(of[0]) : std::nullopt;
    case Op::multiply:
    case Op::divide:
    case Op::dot: return of[0] * of[1];
    case Op::power: {
      if (of[0] == 1 && of[1] == 1) return 1;
      const auto exponent = find_rational(*node.children[1]);
      if (!exponent || !is_whole(*exponent)) return std::nullopt;
      return is_even(*exponent) ? 1 : of[0];
    }
    case Op::negate:
    case Op::sinh:
    case Op::sin:
    case Op::tanh: return of[0];
    case Op::norm2:
    case Op::norm:
    case Op::cosh:
    case Op::cos:
    case Op::abs: return 1;
    default: return of[0] == 1 ? std::optional<int>(1) : std::nullopt;
  }
}

std::optional<mpq_class> find_homogeneity(const Node& node, const mpq_class& x_degree, const mpq_class& y_degree) {
  std::vector<mpq_class> of;
  for (const Expression& child : node.children) {
    const auto degree = find_homogeneity(*child, x_degree, y_degree);
    if (!degree) return std::nullopt;
    of.push_back(*degree);
  }
  switch (node.op) {
    case Op::number:
    case Op::literal_vector: return mpq_class(0);
    case Op::variable: return node.name == 'y' ? y_degree : x_degree;
    case Op::add:
    case Op::subtract: return of[0] == of[1] ? std::optional<mpq_class>(of[0]) : std::nullopt;
    case Op::multiply:
    case Op::dot: return mpq_class(of[0] + of[1]);
    case Op::divide: return mpq_class(of[0] - of[1]);
    case Op::power: {
      const auto exponent = find_rational(*node.children[1]);
      if (exponent) return mpq_class(of[0] * *exponent);
      return of[0] == 0 && of[1] == 0 ? std::optional<mpq_class>(0) : std::nullopt;
    }
    case Op::negate:
    case Op::norm:
    case Op::relu:
    case Op::abs: return of[0];
    case Op::norm2: return mpq_class(2 * of[0]);
    case Op::sqrt: return mpq_class(of[0] / 2);
    default: return of[0] == 0 ? std::optional<mpq_class>(0) : std::nullopt;
  }
}

bool is_isotropic(const Node& node) {
  const bool through_product = node.op == Op::dot || node.op == Op::norm2 || node.op == Op::norm;
  for (const Expression& child : node.children) if (!is_isotropic(*child)) return false;
  if (!node.is_vector || through_product) return true;
  switch (node.op) {
    case Op::variable:
    case Op::negate: return true;
    case Op::add:
    case Op::subtract: return node.children[0]->is_vector && node.children[1]->is_vector;
    case Op::multiply: return node.children[0]->is_vector != node.children[1]->is_vector;
    case Op::divide: return !node.children[1]->is_vector;
    default: return false;
  }
}

bool mentions(const Node& node, char variable) {
  if (node.op == Op::variable) return node.name == variable;
  return std::any_of(node.children.begin(), node.children.end(), [&](const Expression& child) { return mentions(*child, variable); });
}

}  // namespace sightline::attention_kernel

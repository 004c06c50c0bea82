#include "sightline/attention_kernel/normal_form.hpp"

#include <algorithm>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/entrywise.hpp"

namespace sightline::attention_kernel {

bool operator<(const Shape& a, const Shape& b) {
  if (a.exponent < b.exponent) return true;
  if (b.exponent < a.exponent) return false;
  return std::lexicographical_compare(a.factors.begin(), a.factors.end(), b.factors.begin(), b.factors.end(), [](const auto& p, const auto& q) {
    if (p.first < q.first) return true;
    if (q.first < p.first) return false;
    return p.second < q.second;
  });
}

namespace {

constexpr std::size_t greatest_terms = 4096;
constexpr long greatest_power = 64;

NormalForm constant(const Surd& value) {
  NormalForm form;
  if (!value.is_zero()) form[{}] = Polynomial(value);
  return form;
}

NormalForm from_polynomial(const Polynomial& polynomial) {
  NormalForm form;
  if (!polynomial.is_zero()) form[{}] = polynomial;
  return form;
}

bool is_polynomial(const NormalForm& form) {
  return form.empty() || (form.size() == 1 && form.begin()->first.exponent.is_zero() && form.begin()->first.factors.empty());
}

Polynomial to_polynomial(const NormalForm& form) {
  if (form.empty()) return {};
  if (!is_polynomial(form)) throw OutOfScope{};
  return form.begin()->second;
}

void add_term(NormalForm& form, Shape shape, Polynomial coefficient, const Budget& budget) {
  // Factors whose power became a natural number belong to the coefficient.
  for (auto at = shape.factors.begin(); at != shape.factors.end();) {
    if (at->second.get_den() == 1 && at->second >= 0) {
      if (at->second > greatest_power) throw OutOfScope{};
      for (long k = at->second.get_num().get_si(); k > 0; --k) coefficient = multiply(coefficient, at->first, budget);
      at = shape.factors.erase(at);
    } else ++at;
  }
  if (coefficient.is_zero()) return;
  const auto [at, fresh] = form.try_emplace(std::move(shape), coefficient);
  if (!fresh) {
    at->second += coefficient;
    if (at->second.is_zero()) form.erase(at);
  }
  if (form.size() > greatest_terms) throw OutOfScope{};
}

NormalForm add(NormalForm a, const NormalForm& b, const Surd& factor, const Budget& budget) {
  for (const auto& [shape, coefficient] : b) {
    Polynomial scaled = coefficient;
    scaled *= factor;
    add_term(a, shape, std::move(scaled), budget);
  }
  return a;
}

NormalForm multiply(const NormalForm& a, const NormalForm& b, const Budget& budget) {
  NormalForm result;
  for (const auto& [p, f] : a) {
    for (const auto& [q, g] : b) {
      budget.poll();
      Shape shape = p;
      shape.exponent += q.exponent;
      for (const auto& [base, exponent] : q.factors) {
        mpq_class& mine = shape.factors[base];
        mine += exponent;
        if (mine == 0) shape.factors.erase(base);
      }
      add_term(result, std::move(shape), multiply(f, g, budget), budget);
    }
  }
  return result;
}

NormalForm raise(const NormalForm& base, const mpq_class& exponent, const Budget& budget) {
  if (exponent == 0) return constant(1);
  const bool whole = exponent.get_den() == 1;
  if (whole && exponent > 0 && (base.size() != 1 || exponent <= greatest_power)) {
    if (exponent > greatest_power) throw OutOfScope{};
    NormalForm result = base;
    for (long k = exponent.get_num().get_si(); k > 1; --k) result = multiply(result, base, budget);
    return result;
  }
  if (base.size() != 1) throw OutOfScope{};
  const auto& [shape, coefficient] = *base.begin();
  Shape raised;
  raised.exponent = shape.exponent;
  raised.exponent *= Surd(exponent);
  // The root of an even power is an absolute value, which this form cannot tell from the power itself.
  for (const auto& [factor, power] : shape.factors) {
    if (!whole && power.get_den() == 1 && mpz_even_p(power.get_num_mpz_t())) throw OutOfScope{};
    raised.factors[factor] = power * exponent;
  }
  Polynomial rest(Surd(1));
  if (coefficient.is_constant()) {
    if (!whole && coefficient.constant().sign() < 0) throw OutOfScope{};
    const std::optional<Surd> value = power(coefficient.constant(), exponent);
    if (value) rest = Polynomial(*value);
    else raised.factors[coefficient] += exponent;
  } else {
    if (!whole && !shape.factors.empty()) throw OutOfScope{};
    raised.factors[coefficient] += exponent;
    if (raised.factors[coefficient] == 0) raised.factors.erase(coefficient);
  }
  NormalForm result;
  add_term(result, std::move(raised), std::move(rest), budget);
  return result;
}

NormalForm exponential(const Polynomial& exponent) {
  NormalForm result;
  result[Shape{exponent, {}}] = Polynomial(Surd(1));
  return result;
}

using Value = Entries<NormalForm>;

class Reader {
public:
  Reader(const Meaning& meaning, const Budget& budget) : meaning_(meaning), budget_(budget) {}

  Value read(const Node& node) const {
    budget_.poll();
    switch (node.op) {
      case Op::number: return scalar(constant(node.value));
      case Op::literal_vector: {
        Value value{true, {}};
        for (const mpq_class& entry : node.vector) value.entries.push_back(constant(entry));
        return value;
      }
      case Op::variable: {
        if (node.name == 't') return scalar(from_polynomial(meaning_.t));
        Value value{true, {}};
        for (const Polynomial& entry : node.name == 'x' ? meaning_.x : meaning_.y) value.entries.push_back(from_polynomial(entry));
        return value;
      }
      case Op::add: return binary(node, [this](const NormalForm& a, const NormalForm& b) { return attention_kernel::add(a, b, 1, budget_); });
      case Op::subtract: return binary(node, [this](const NormalForm& a, const NormalForm& b) { return attention_kernel::add(a, b, -1, budget_); });
      case Op::multiply: return binary(node, [this](const NormalForm& a, const NormalForm& b) { return times(a, b); });
      case Op::divide: return binary(node, [this](const NormalForm& a, const NormalForm& b) { return times(a, raise(b, -1, budget_)); });
      case Op::power: return power_of(node);
      case Op::negate: return each(node, [this](const NormalForm& a) { return attention_kernel::add({}, a, -1, budget_); });
      case Op::dot: return scalar(inner(read(*node.children[0]), read(*node.children[1])));
      case Op::norm2: {
        const Value v = read(*node.children[0]);
        return scalar(inner(v, v));
      }
      case Op::norm: {
        const Value v = read(*node.children[0]);
        return scalar(raise(inner(v, v), mpq_class(1, 2), budget_));
      }
      case Op::exp: return exponential_of(node);
      case Op::cosh:
      case Op::sinh:
        return each(node, [&](const NormalForm& a) {
          const Polynomial u = to_polynomial(a);
          const Surd half = mpq_class(1, 2);
          Polynomial opposite = u;
          opposite *= Surd(-1);
          return attention_kernel::add(attention_kernel::add({}, exponential(u), half, budget_), exponential(opposite), node.op == Op::cosh ? half : -half, budget_);
        });
      case Op::sqrt: return each(node, [this](const NormalForm& a) { return raise(a, mpq_class(1, 2), budget_); });
      case Op::log: {
        const Node& inside = *node.children[0];
        if (inside.op == Op::exp) return read(*inside.children[0]);
        return each(node, [](const NormalForm& a) {
          if (a.size() != 1 || !a.begin()->first.factors.empty() || !(a.begin()->second == Polynomial(Surd(1)))) throw OutOfScope{};
          return from_polynomial(a.begin()->first.exponent);
        });
      }
      case Op::abs:
      case Op::relu:
        return each(node, [&](const NormalForm& a) {
          const Polynomial u = to_polynomial(a);
          if (!u.is_constant()) throw OutOfScope{};
          if (u.constant().sign() >= 0) return a;
          return node.op == Op::abs ? attention_kernel::add({}, a, -1, budget_) : NormalForm{};
        });
      case Op::cos:
      case Op::sin:
      case Op::tanh:
      case Op::sigmoid:
      case Op::softplus:
      case Op::elu:
        return each(node, [&](const NormalForm& a) -> NormalForm {
          if (!a.empty()) throw OutOfScope{};
          if (node.op == Op::cos) return constant(1);
          if (node.op == Op::sigmoid) return constant(mpq_class(1, 2));
          if (node.op == Op::softplus) throw OutOfScope{};
          return {};
        });
    }
    throw OutOfScope{};
  }

private:
  static Value scalar(NormalForm form) { return {false, {std::move(form)}}; }

  NormalForm times(const NormalForm& a, const NormalForm& b) const { return multiply(a, b, budget_); }

  NormalForm inner(const Value& a, const Value& b) const {
    NormalForm sum;
    for (std::size_t i = 0; i < a.entries.size(); ++i) {
      for (const auto& [shape, coefficient] : times(a.entries[i], b.entries.at(i))) add_term(sum, shape, coefficient, budget_);
    }
    return sum;
  }

  template <class Function>
  Value each(const Node& node, Function function) const {
    return map_entries(read(*node.children[0]), function);
  }

  template <class Function>
  Value binary(const Node& node, Function function) const {
    return join_entries(read(*node.children[0]), read(*node.children[1]), function);
  }

  mpq_class number(const NormalForm& form) const {
    const Polynomial value = to_polynomial(form);
    if (!value.is_constant() || !value.constant().is_rational()) throw OutOfScope{};
    return value.constant().rational();
  }

  Value power_of(const Node& node) const {
    const mpq_class exponent = number(read(*node.children[1]).entries.at(0));
    const Node& base = *node.children[0];
    const bool even = exponent.get_den() == 1 && mpz_even_p(exponent.get_num_mpz_t());
    Value value = read(base.op == Op::abs && even ? *base.children[0] : base);
    for (NormalForm& entry : value.entries) entry = raise(entry, exponent, budget_);
    return value;
  }

  // exp(c log u) = u^c and exp(softplus u) = 1 + exp u are the two ways in which people hide a power or a sum.
  Value exponential_of(const Node& node) const {
    const Node* inside = node.children[0].get();
    mpq_class factor = 1;
    for (bool more = true; more;) {
      more = false;
      if (inside->op == Op::negate) {
        factor = -factor;
        inside = inside->children[0].get();
        more = true;
      } else if ((inside->op == Op::multiply || inside->op == Op::divide) && is_rational_constant(inside->children[1])) {
        const mpq_class value = number(read(*inside->children[1]).entries.at(0));
        if (value == 0) break;
        if (inside->op == Op::multiply) factor *= value; else factor /= value;
        inside = inside->children[0].get();
        more = true;
      } else if (inside->op == Op::multiply && is_rational_constant(inside->children[0])) {
        const mpq_class value = number(read(*inside->children[0]).entries.at(0));
        if (value == 0) break;
        factor *= value;
        inside = inside->children[1].get();
        more = true;
      }
    }
    if (inside->op == Op::log || inside->op == Op::softplus) {
      Value value = read(*inside->children[0]);
      for (NormalForm& entry : value.entries)
        entry = raise(inside->op == Op::log ? entry : attention_kernel::add(constant(1), exponential(to_polynomial(entry)), 1, budget_), factor, budget_);
      return value;
    }
    return each(node, [](const NormalForm& a) { return exponential(to_polynomial(a)); });
  }

  // Numbers, their signs, sums, products and natural powers: what number() reads without roots or exponentials.
  static bool is_rational_constant(const Expression& expression) {
    switch (expression->op) {
      case Op::number: return true;
      case Op::add:
      case Op::subtract:
      case Op::multiply:
      case Op::divide:
      case Op::negate:
        return std::all_of(expression->children.begin(), expression->children.end(), [](const Expression& child) { return is_rational_constant(child); });
      default: return false;
    }
  }

  const Meaning& meaning_;
  const Budget& budget_;
};

}  // namespace

NormalForm to_normal_form(const Expression& expression, const Meaning& meaning, const Budget& budget) {
  return Reader(meaning, budget).read(*expression).entries.at(0);
}

std::vector<Polynomial> make_variables(std::uint32_t first, std::size_t count) {
  std::vector<Polynomial> variables;
  for (std::size_t i = 0; i < count; ++i) variables.push_back(Polynomial::variable(first + static_cast<std::uint32_t>(i)));
  return variables;
}

NormalForm reflect(const NormalForm& form, std::uint32_t first, std::uint32_t last) {
  NormalForm result;
  for (const auto& [shape, coefficient] : form) {
    Shape reflected;
    reflected.exponent = shape.exponent.reflected(first, last);
    for (const auto& [base, power] : shape.factors) reflected.factors[base.reflected(first, last)] += power;
    Polynomial& mine = result[std::move(reflected)];
    mine += coefficient.reflected(first, last);
  }
  std::erase_if(result, [](const auto& entry) { return entry.second.is_zero(); });
  return result;
}

}  // namespace sightline::attention_kernel

// Kernel -> steps: exponentials pulled out of the product, equal parts computed once, and the scalar program where
// there is one.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/base/error.hpp"
#include "sightline/mixer/kernel_function.hpp"

namespace sightline::mixer {

using attention_kernel::Expression;
using attention_kernel::Kernel;
using attention_kernel::make_node;
using attention_kernel::make_number;
using attention_kernel::make_variable;
using attention_kernel::make_vector;
using attention_kernel::Op;

double nearest_double(const mpq_class& value) {
  const double cut = value.get_d(); // GMP cuts towards zero
  const double next = std::nextafter(cut, sgn(value) < 0 ? -INFINITY : INFINITY);
  if (!std::isfinite(next))
    return cut;
  const mpq_class below = abs(mpq_class(value - mpq_class(cut))), above = abs(mpq_class(mpq_class(next) - value));
  const int side = cmp(below, above);
  if (side != 0)
    return side < 0 ? cut : next;
  int exponent = 0;
  const double mantissa = std::ldexp(std::frexp(cut, &exponent), 53);
  return std::fmod(mantissa, 2.0) == 0 ? cut : next;
}

namespace {

// factor_1 * ... / ... * exp(e_1 + ... - ...): which parts multiply, which divide.
struct Parts {
  std::vector<Expression> above, below, exponents_plus, exponents_minus;
  void add(const Expression& e, bool divides) {
    if (e->op == Op::multiply || e->op == Op::divide) {
      add(e->children[0], divides);
      add(e->children[1], divides != (e->op == Op::divide));
    } else if (e->op == Op::exp) {
      (divides ? exponents_minus : exponents_plus).push_back(e->children[0]);
    } else {
      (divides ? below : above).push_back(e);
    }
  }
};

// alpha x + beta y with constant numbers, for vectors.
struct LinearForm {
  double alpha = 0, beta = 0;
};

std::optional<double> find_number(const Expression& e) {
  if (e->op == Op::number)
    return nearest_double(e->value);
  if (e->op == Op::negate) {
    const auto inner = find_number(e->children[0]);
    return inner ? std::optional(-*inner) : std::nullopt;
  }
  if (e->op == Op::divide || e->op == Op::multiply) {
    const auto a = find_number(e->children[0]), b = find_number(e->children[1]);
    if (a && b)
      return e->op == Op::divide ? *a / *b : *a * *b;
  }
  return std::nullopt;
}

std::optional<LinearForm> find_linear_form(const Expression& e) {
  switch (e->op) {
  case Op::variable:
    return e->name == 'x' ? LinearForm{1, 0} : LinearForm{0, 1};
  case Op::negate: {
    const auto a = find_linear_form(e->children[0]);
    return a ? std::optional(LinearForm{-a->alpha, -a->beta}) : std::nullopt;
  }
  case Op::add:
  case Op::subtract: {
    const auto a = find_linear_form(e->children[0]), b = find_linear_form(e->children[1]);
    const double sign = e->op == Op::add ? 1 : -1;
    return a && b ? std::optional(LinearForm{a->alpha + sign * b->alpha, a->beta + sign * b->beta}) : std::nullopt;
  }
  case Op::multiply:
  case Op::divide: {
    auto a = find_linear_form(e->children[0]);
    auto factor = find_number(e->children[1]);
    if (!a && e->op == Op::multiply) {
      a = find_linear_form(e->children[1]);
      factor = find_number(e->children[0]);
    }
    if (!a || !factor)
      return std::nullopt;
    const double by = e->op == Op::divide ? 1 / *factor : *factor;
    return LinearForm{a->alpha * by, a->beta * by};
  }
  default:
    return std::nullopt;
  }
}

// Kernel -> ScalarProgram, or nothing.
class ScalarCompiler {
public:
  std::int32_t number(double value) { return push({Op::number, -1, -1, value}); }
  std::int32_t push(ScalarProgram::Step step) {
    const auto key = std::tuple(step.op, step.left, step.right, step.value);
    const auto [at, is_new] = known_.try_emplace(key, static_cast<std::int32_t>(3 + program.steps.size()));
    if (is_new)
      program.steps.push_back(step);
    return at->second;
  }
  // -1: there is no such program.
  std::int32_t compile(const Expression& e) {
    if (const auto constant = find_number(e))
      return number(*constant);
    switch (e->op) {
    case Op::variable:
    case Op::literal_vector:
      return -1;
    case Op::dot:
      return product(e->children[0], e->children[1], false);
    case Op::norm2:
      return product(e->children[0], e->children[0], true);
    case Op::norm: {
      const std::int32_t squared = product(e->children[0], e->children[0], true);
      return squared < 0 ? -1 : push({Op::sqrt, squared, -1, 0});
    }
    default:
      break;
    }
    if (e->is_vector)
      return -1;
    std::vector<std::int32_t> children;
    for (const Expression& child : e->children) {
      children.push_back(compile(child));
      if (children.back() < 0)
        return -1;
    }
    if (e->op == Op::power && !find_number(e->children[1]))
      return -1;
    return push({e->op, children[0], children.size() > 1 ? children[1] : -1, 0});
  }
  ScalarProgram program;

private:
  std::int32_t times(double factor, std::int32_t slot) {
    return factor == 1 ? slot : push({Op::multiply, number(factor), slot, 0});
  }
  // (alpha x + beta y).(gamma x + delta y) from p, a, b.
  std::int32_t product(const Expression& u, const Expression& v, bool squared) {
    const auto f = find_linear_form(u), g = find_linear_form(v);
    if (!f || !g)
      return -1;
    std::int32_t sum = -1;
    for (const auto& [factor, slot] :
         {std::pair{f->alpha * g->alpha, 1}, {f->beta * g->beta, 2}, {f->alpha * g->beta + f->beta * g->alpha, 0}}) {
      if (factor == 0)
        continue;
      const std::int32_t term = times(factor, slot);
      sum = sum < 0 ? term : push({Op::add, sum, term, 0});
    }
    if (sum < 0)
      return number(0);
    return squared && f->alpha != 0 && f->beta != 0 ? push({Op::relu, sum, -1, 0}) : sum;
  }
  std::map<std::tuple<Op, std::int32_t, std::int32_t, double>, std::int32_t> known_;
};

Expression join(Op op, const std::vector<Expression>& parts) { return attention_kernel::make_balanced(op, parts); }

} // namespace

// Expressions -> steps of a KernelFunction.
class KernelCompiler {
public:
  KernelCompiler(KernelFunction& target, bool zero_over_zero) : target_(target), zero_over_zero_(zero_over_zero) {}

  std::int32_t compile(const Expression& e) {
    KernelFunction::Step step;
    step.op = e->op;
    step.is_vector = e->is_vector;
    step.variable = e->name;
    step.zero_over_zero = zero_over_zero_ && e->op == Op::divide;
    if (e->op == Op::number)
      step.value = nearest_double(e->value);
    for (const mpq_class& entry : e->vector)
      step.constants.push_back(nearest_double(entry));
    if (!step.constants.empty() && static_cast<std::int64_t>(step.constants.size()) != target_.width_) {
      throw ArgumentError(fmt::format("the kernel has a vector of {} entries, the heads have width {}",
                                      step.constants.size(), target_.width_));
    }
    if (!e->children.empty())
      step.left = compile(e->children[0]);
    if (e->op == Op::power) {
      if (const auto exponent = find_number(e->children[1])) {
        step.value = *exponent;
        return push(std::move(step));
      }
    }
    if (e->children.size() > 1)
      step.right = compile(e->children[1]);
    return push(std::move(step));
  }

  std::int32_t compile_log_sum(const std::vector<Expression>& exponents) {
    KernelFunction::Step step;
    step.is_log_sum_exp = true;
    step.op = Op::log;
    for (const Expression& e : exponents)
      step.summands.push_back(compile(e));
    return push(std::move(step));
  }

private:
  std::int32_t push(KernelFunction::Step step) {
    const auto key =
        std::tuple(step.op, step.variable, step.left, step.right, step.value, step.constants, step.summands);
    const auto [at, is_new] = known_.try_emplace(key, static_cast<std::int32_t>(target_.steps_.size()));
    if (is_new) {
      step.offset = target_.size_;
      target_.size_ += step.is_vector ? target_.width_ : 1;
      target_.steps_.push_back(std::move(step));
    }
    return at->second;
  }
  KernelFunction& target_;
  bool zero_over_zero_;
  std::map<std::tuple<Op, char, std::int32_t, std::int32_t, double, std::vector<double>, std::vector<std::int32_t>>,
           std::int32_t>
      known_;
};

KernelFunction::KernelFunction(const Kernel& kernel, std::int64_t width) : width_(width) {
  if (kernel.name == "performer") {
    if (kernel.features.empty())
      throw ArgumentError("performer: no features");
    std::vector<Expression> exponents;
    const auto half = [](char name, const std::vector<mpq_class>& w) {
      const Expression z = make_variable(name);
      return make_node(Op::subtract, {make_node(Op::dot, {make_vector(w), z}),
                                      make_node(Op::divide, {make_node(Op::norm2, {z}), make_number(2)})});
    };
    for (const auto& w : kernel.features)
      exponents.push_back(make_node(Op::add, {half('x', w), half('y', w)}));
    exponent_ = KernelCompiler(*this, false).compile_log_sum(exponents);
    return;
  }
  const bool is_cosine = kernel.name == "cosine";
  Parts parts;
  parts.add(to_expression(kernel, static_cast<std::size_t>(width)), false);
  Expression factor, exponent;
  if (!parts.above.empty())
    factor = join(Op::multiply, parts.above);
  if (!parts.below.empty())
    factor = make_node(Op::divide, {factor ? factor : make_number(1), join(Op::multiply, parts.below)});
  if (!parts.exponents_plus.empty())
    exponent = join(Op::add, parts.exponents_plus);
  if (!parts.exponents_minus.empty()) {
    const Expression minus = join(Op::add, parts.exponents_minus);
    exponent = exponent ? make_node(Op::subtract, {exponent, minus}) : make_node(Op::negate, {minus});
  }
  if (factor && factor->op == Op::number && factor->value == 1)
    factor = nullptr; // 1 / exp(...)
  KernelCompiler compiler(*this, is_cosine);
  if (factor)
    factor_ = compiler.compile(factor);
  if (exponent)
    exponent_ = compiler.compile(exponent);
  ScalarCompiler scalar;
  scalar.program.zero_over_zero = is_cosine;
  if (factor)
    scalar.program.factor = scalar.compile(factor);
  if (exponent)
    scalar.program.exponent = scalar.compile(exponent);
  if ((!factor || scalar.program.factor >= 0) && (!exponent || scalar.program.exponent >= 0))
    scalar_ = std::move(scalar.program);
}

std::shared_ptr<const KernelFunction> find_kernel_function(const Kernel& kernel, std::int64_t width) {
  struct Entry {
    Kernel kernel;
    std::int64_t width;
    std::shared_ptr<const KernelFunction> function;
  };
  constexpr std::size_t most_entries = 8;
  thread_local std::vector<Entry> recent;
  const auto found = std::find_if(recent.begin(), recent.end(),
                                  [&](const Entry& entry) { return entry.width == width && entry.kernel == kernel; });
  if (found != recent.end())
    return found->function;
  auto function = std::make_shared<const KernelFunction>(kernel, width);
  if (recent.size() == most_entries)
    recent.erase(recent.begin());
  recent.push_back({kernel, width, function});
  return function;
}

} // namespace sightline::mixer

#include "sightline/train/activation.hpp"

#include <cmath>
#include <map>

#include "sightline/base/error.hpp"
#include "sightline/mixer/scalar_functions.hpp"

namespace sightline::train {
namespace {

using attention_kernel::Expression;
using attention_kernel::Op;

// The same functions on a tensor and on a single number. The scalar ones serve exact mode: what a library function
// returns must not depend on whether an entry lies in the body of a vector loop or in its tail.
Tensor step(const Tensor& t) { return t.gt(0).to(t.scalar_type()); }
double step(double t) { return t > 0 ? 1 : 0; }
Tensor constant(double value, const Tensor& like) { return at::full({}, value, like.options()); }
double constant(double value, double) { return value; }
Tensor raise(const Tensor& base, const Tensor& exponent) { return at::pow(base, exponent); }
double raise(double base, double exponent) { return std::pow(base, exponent); }

Tensor apply(Op op, const Tensor& t) {
  switch (op) {
  case Op::negate:
    return -t;
  case Op::exp:
    return at::exp(t);
  case Op::log:
    return at::log(t);
  case Op::sqrt:
    return at::sqrt(t);
  case Op::cosh:
    return at::cosh(t);
  case Op::sinh:
    return at::sinh(t);
  case Op::cos:
    return at::cos(t);
  case Op::sin:
    return at::sin(t);
  case Op::tanh:
    return at::tanh(t);
  case Op::sigmoid:
    return at::sigmoid(t);
  case Op::softplus:
    return at::softplus(t, 1, 30);
  case Op::relu:
    return at::relu(t);
  case Op::elu:
    return at::elu(t);
  case Op::abs:
    return at::abs(t);
  default:
    throw InternalError("not a function of one number");
  }
}

double apply(Op op, double t) { return mixer::apply_function(op, t); }

/// An expression in t whose nodes are all scalars.
template <class Value> Value evaluate(const Expression& e, const Value& t) {
  const auto child = [&](std::size_t k) { return evaluate<Value>(e->children.at(k), t); };
  switch (e->op) {
  case Op::number:
    return constant(e->value.get_d(), t);
  case Op::variable:
    return t;
  case Op::add:
    return child(0) + child(1);
  case Op::subtract:
    return child(0) - child(1);
  case Op::multiply:
    return child(0) * child(1);
  case Op::divide:
    return child(0) / child(1);
  case Op::power:
    if constexpr (std::is_same_v<Value, Tensor>) {
      // A constant exponent keeps the gradient of the base finite at 0.
      if (e->children.at(1)->op == Op::number)
        return at::pow(child(0), e->children.at(1)->value.get_d());
    }
    return raise(child(0), child(1));
  case Op::dot:
    return child(0) * child(1);
  case Op::norm2: {
    const Value v = child(0);
    return v * v;
  }
  case Op::norm:
    return apply(Op::abs, child(0));
  case Op::literal_vector:
    throw InternalError("a vector in an activation");
  default:
    return apply(e->op, child(0));
  }
}

template <class Value> Value apply_name(const std::string& name, const Value& t) {
  if (name == "relu")
    return apply(Op::relu, t);
  if (name == "silu")
    return t * apply(Op::sigmoid, t);
  if (name == "mish")
    return t * apply(Op::tanh, apply(Op::softplus, t));
  if (name == "elu")
    return apply(Op::elu, t);
  if (name == "leaky_relu")
    return apply(Op::relu, t) - 0.01 * apply(Op::relu, Value(-t));
  if (name == "tanh")
    return apply(Op::tanh, t);
  if (name == "sigmoid")
    return apply(Op::sigmoid, t);
  if (name == "softplus")
    return apply(Op::softplus, t);
  if (name == "sin")
    return apply(Op::sin, t);
  if (name == "exp")
    return apply(Op::exp, t);
  if (name == "square")
    return t * t;
  if (name == "relu2") {
    const Value r = apply(Op::relu, t);
    return r * r;
  }
  if (name == "cube")
    return t * t * t;
  if (name == "step")
    return step(t);
  if (name == "identity")
    return t;
  throw InternalError("an activation that the trainer does not know: " + name);
}

template <class Real, class Function> Tensor map_entries(const Tensor& t, const Function& function) {
  const Tensor in = t.contiguous();
  Tensor out = at::empty_like(in);
  const Real* from = in.data_ptr<Real>();
  Real* to = out.data_ptr<Real>();
  for (std::int64_t k = 0; k < in.numel(); ++k)
    to[k] = static_cast<Real>(function(static_cast<double>(from[k])));
  return out;
}

} // namespace

Tensor apply_activation(const attention_kernel::Activation& activation, const Tensor& t, const Run& run) {
  const std::string& name = activation.name;
  Expression expression;
  if (name.empty())
    expression = attention_kernel::parse_expression(activation.text, attention_kernel::Role::activation, 0);
  if (run.exact) {
    const auto value = [&](double x) {
      if (expression)
        return evaluate<double>(expression, x);
      if (name == "gelu")
        return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
      if (name == "erf")
        return std::erf(x);
      return apply_name<double>(name, x);
    };
    return t.scalar_type() == at::kDouble ? map_entries<double>(t, value) : map_entries<float>(t, value);
  }
  if (expression)
    return evaluate<Tensor>(expression, t).expand_as(t);
  if (name == "gelu")
    return at::gelu(t);
  if (name == "erf")
    return at::erf(t);
  if (name == "silu")
    return at::silu(t);
  if (name == "mish")
    return at::mish(t);
  if (name == "leaky_relu")
    return at::leaky_relu(t);
  return apply_name<Tensor>(name, t);
}

Tensor evaluate_kernel(const Expression& e, const Tensor& x, const Tensor& y) {
  // Scalars carry a last axis of length 1 inside, so that scalars and vectors meet entrywise.
  const std::function<Tensor(const Expression&)> go = [&](const Expression& node) -> Tensor {
    const auto child = [&](std::size_t k) { return go(node->children.at(k)); };
    switch (node->op) {
    case Op::number:
      return at::full({1}, node->value.get_d(), x.options());
    case Op::literal_vector: {
      std::vector<double> entries;
      for (const mpq_class& entry : node->vector)
        entries.push_back(entry.get_d());
      return at::tensor(entries, x.options());
    }
    case Op::variable:
      return node->name == 'x' ? x : y;
    case Op::add:
      return child(0) + child(1);
    case Op::subtract:
      return child(0) - child(1);
    case Op::multiply:
      return child(0) * child(1);
    case Op::divide:
      return child(0) / child(1);
    case Op::power:
      if (node->children.at(1)->op == Op::number)
        return at::pow(child(0), node->children.at(1)->value.get_d());
      return at::pow(child(0), child(1));
    case Op::dot:
      return (child(0) * child(1)).sum(-1, true);
    case Op::norm2: {
      const Tensor v = child(0);
      return (v * v).sum(-1, true);
    }
    case Op::norm: {
      const Tensor v = child(0);
      return (v * v).sum(-1, true).sqrt();
    }
    default:
      return apply(node->op, child(0));
    }
  };
  return go(e).squeeze(-1);
}

} // namespace sightline::train

#include "sightline/attention_kernel/kernel.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/base/error.hpp"

namespace sightline::attention_kernel {
namespace {

Expression x() { return make_variable('x'); }
Expression y() { return make_variable('y'); }
Expression dot(Expression a, Expression b) { return make_node(Op::dot, {std::move(a), std::move(b)}); }
Expression call(Op op, Expression a) { return make_node(op, {std::move(a)}); }
Expression distance_squared() { return call(Op::norm2, make_node(Op::subtract, {x(), y()})); }

Expression scaled(const mpq_class& factor, Expression a) {
  return factor == 1 ? a : make_node(Op::multiply, {make_number(factor), std::move(a)});
}

// One positive random feature: exp(w.z - |z|^2 / 2).
Expression feature(const std::vector<mpq_class>& w, const Expression& z) {
  return call(Op::exp, make_node(Op::subtract, {dot(make_vector(w), z), make_node(Op::divide, {call(Op::norm2, z), make_number(2)})}));
}

Expression performer(const Kernel& kernel, std::size_t dim) {
  if (kernel.features.empty()) throw ArgumentError("performer: no features");
  std::vector<Expression> parts;
  for (const std::vector<mpq_class>& w : kernel.features) {
    if (w.size() != dim) throw ArgumentError(fmt::format("performer: a feature has {} entries, dim is {}", w.size(), dim));
    parts.push_back(make_node(Op::multiply, {feature(w, x()), feature(w, y())}));
  }
  return make_balanced(Op::add, std::move(parts));
}

}  // namespace

bool operator==(const Kernel& a, const Kernel& b) {
  return a.name == b.name && a.text == b.text && a.gamma == b.gamma && a.features == b.features && a.weight == b.weight &&
         a.temperature == b.temperature;
}

const std::vector<std::string>& kernel_names() {
  static const std::vector<std::string> names = {"softmax", "gaussian", "rbf", "performer", "exponential-sum",
                                                 "cauchy",  "laplace",  "elu1", "relu2",    "cosine"};
  return names;
}

Expression to_expression(const Kernel& kernel, std::size_t dim) {
  const std::string& name = kernel.name;
  if (name.empty()) return parse_expression(kernel.text, Role::kernel, dim);
  if (name == "softmax") return call(Op::exp, dot(x(), y()));
  if (name == "gaussian" || name == "rbf") return call(Op::exp, make_node(Op::negate, {scaled(kernel.gamma, distance_squared())}));
  if (name == "performer") return performer(kernel, dim);
  if (name == "exponential-sum") {
    if (kernel.weight.size() != dim) throw ArgumentError(fmt::format("exponential-sum: the weight has {} entries, dim is {}", kernel.weight.size(), dim));
    return call(Op::exp, dot(make_vector(kernel.weight), make_node(Op::add, {x(), y()})));
  }
  if (name == "cauchy") return make_node(Op::divide, {make_number(1), make_node(Op::add, {make_number(1), distance_squared()})});
  if (name == "laplace") return call(Op::exp, make_node(Op::negate, {call(Op::norm, make_node(Op::subtract, {x(), y()}))}));
  if (name == "elu1") {
    auto positive = [](Expression z) { return make_node(Op::add, {call(Op::elu, std::move(z)), make_number(1)}); };
    return dot(positive(x()), positive(y()));
  }
  if (name == "relu2") return make_node(Op::power, {call(Op::relu, dot(x(), y())), make_number(2)});
  if (name == "cosine") {
    Expression lengths = make_node(Op::multiply, {call(Op::norm, x()), call(Op::norm, y())});
    return call(Op::exp, scaled(kernel.temperature, make_node(Op::divide, {dot(x(), y()), std::move(lengths)})));
  }
  throw ArgumentError(fmt::format("no kernel is called \"{}\"", name));
}

}  // namespace sightline::attention_kernel

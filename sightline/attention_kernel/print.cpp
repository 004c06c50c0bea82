#include <algorithm>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/expression.hpp"
#include "sightline/base/error.hpp"

namespace sightline::attention_kernel {
namespace {

// Powers of 10 that make `value` an integer, or -1 when its decimal expansion does not end.
long decimal_places(const mpq_class& value) {
  mpz_class rest = value.get_den();
  long twos = 0, fives = 0;
  while (mpz_divisible_ui_p(rest.get_mpz_t(), 2)) { rest /= 2; ++twos; }
  while (mpz_divisible_ui_p(rest.get_mpz_t(), 5)) { rest /= 5; ++fives; }
  return rest == 1 ? std::max(twos, fives) : -1;
}

std::string print_decimal(const mpq_class& value) {
  const long places = decimal_places(value);
  if (places <= 0) {
    std::string digits = value.get_num().get_str();
    std::size_t zeros = 0;
    while (zeros + 1 < digits.size() && digits[digits.size() - 1 - zeros] == '0') ++zeros;
    if (zeros < 7) return digits;
    return digits.substr(0, digits.size() - zeros) + "e" + std::to_string(zeros);
  }
  mpz_class scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(places));
  const mpq_class scaled = value * scale;
  std::string digits = scaled.get_num().get_str();
  if (digits.size() + 6 < static_cast<std::size_t>(places)) return digits + "e-" + std::to_string(places);
  if (digits.size() <= static_cast<std::size_t>(places)) digits.insert(0, static_cast<std::size_t>(places) + 1 - digits.size(), '0');
  digits.insert(digits.size() - static_cast<std::size_t>(places), ".");
  return digits;
}

std::string print_entry(const mpq_class& value) {
  const mpq_class size = abs(value);
  std::string out = decimal_places(size) >= 0 ? print_decimal(size) : size.get_str();
  if (value < 0) out.insert(0, 1, '-');
  return out;
}

enum Level { sum_level = 1, product_level, unary_level, primary_level };

Level level(const Node& node) {
  switch (node.op) {
    case Op::add:
    case Op::subtract: return sum_level;
    case Op::multiply:
    case Op::divide: return product_level;
    case Op::negate:
    case Op::power: return unary_level;
    default: return primary_level;
  }
}

void print(const Node& node, Level least, std::string& out) {
  const bool brackets = level(node) < least;
  if (brackets) out += '(';
  auto binary = [&](std::string_view sign, Level left, Level right) {
    print(*node.children[0], left, out);
    out += sign;
    print(*node.children[1], right, out);
  };
  switch (node.op) {
    case Op::number: out += print_decimal(node.value); break;
    case Op::variable: out += node.name; break;
    case Op::literal_vector:
      for (std::size_t i = 0; i < node.vector.size(); ++i) {
        out += i == 0 ? '[' : ',';
        out += print_entry(node.vector[i]);
      }
      out += ']';
      break;
    case Op::add: binary("+", sum_level, product_level); break;
    case Op::subtract: binary("-", sum_level, product_level); break;
    case Op::multiply: binary("*", product_level, unary_level); break;
    case Op::divide: binary("/", product_level, unary_level); break;
    case Op::power: binary("^", primary_level, unary_level); break;
    case Op::negate:
      out += '-';
      print(*node.children[0], unary_level, out);
      break;
    default: {
      for (const auto& [op, name] : function_names()) if (op == node.op) out += name;
      out += '(';
      for (std::size_t i = 0; i < node.children.size(); ++i) {
        if (i != 0) out += ',';
        print(*node.children[i], sum_level, out);
      }
      out += ')';
    }
  }
  if (brackets) out += ')';
}

}  // namespace

const std::vector<std::pair<Op, std::string_view>>& function_names() {
  static const std::vector<std::pair<Op, std::string_view>> names = {
    {Op::dot, "dot"}, {Op::norm2, "norm2"}, {Op::norm, "norm"}, {Op::exp, "exp"}, {Op::log, "log"}, {Op::sqrt, "sqrt"},
    {Op::cosh, "cosh"}, {Op::sinh, "sinh"}, {Op::cos, "cos"}, {Op::sin, "sin"}, {Op::tanh, "tanh"}, {Op::sigmoid, "sigmoid"},
    {Op::softplus, "softplus"}, {Op::relu, "relu"}, {Op::elu, "elu"}, {Op::abs, "abs"}};
  return names;
}

Expression make_number(const mpq_class& value) {
  if (value < 0) return make_node(Op::negate, {make_number(-value)});
  if (decimal_places(value) < 0) return make_node(Op::divide, {make_number(value.get_num()), make_number(value.get_den())});
  Node node;
  node.value = value;
  return std::make_shared<const Node>(std::move(node));
}

Expression make_vector(std::vector<mpq_class> entries) {
  Node node;
  node.op = Op::literal_vector;
  node.vector = std::move(entries);
  node.is_vector = true;
  return std::make_shared<const Node>(std::move(node));
}

Expression make_variable(char name) {
  Node node;
  node.op = Op::variable;
  node.name = name;
  node.is_vector = name != 't';
  return std::make_shared<const Node>(std::move(node));
}

Expression make_node(Op op, std::vector<Expression> children) {
  Node node;
  node.op = op;
  node.is_vector = op != Op::dot && op != Op::norm2 && op != Op::norm &&
                   std::any_of(children.begin(), children.end(), [](const Expression& child) { return child->is_vector; });
  node.children = std::move(children);
  return std::make_shared<const Node>(std::move(node));
}

Expression make_balanced(Op op, std::vector<Expression> parts) {
  if (parts.empty()) throw ArgumentError("make_balanced: no parts");
  while (parts.size() > 1) {
    std::vector<Expression> halved;
    for (std::size_t i = 0; i + 1 < parts.size(); i += 2) halved.push_back(make_node(op, {parts[i], parts[i + 1]}));
    if (parts.size() % 2 == 1) halved.push_back(parts.back());
    parts = std::move(halved);
  }
  return parts.front();
}

bool equal(const Expression& a, const Expression& b) {
  if (a == b) return true;
  if (a->op != b->op || a->name != b->name || a->value != b->value || a->vector != b->vector || a->children.size() != b->children.size())
    return false;
  for (std::size_t i = 0; i < a->children.size(); ++i) if (!equal(a->children[i], b->children[i])) return false;
  return true;
}

bool is_constant(const Expression& expression) {
  return expression->op != Op::variable &&
         std::all_of(expression->children.begin(), expression->children.end(), [](const Expression& child) { return is_constant(child); });
}

std::string print_expression(const Expression& expression) {
  std::string out;
  print(*expression, sum_level, out);
  return out;
}

}  // namespace sightline::attention_kernel

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/expression.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/tokens.hpp"
#include "sightline/base/words.hpp"

namespace sightline::attention_kernel {
namespace {

// Every later pass walks the tree recursively, so its height is bounded here, once.
constexpr std::size_t greatest_height = 1000;
constexpr std::size_t greatest_digits = 400;
constexpr long greatest_exponent = 400;

using Kind = Token::Kind;

mpq_class read_number(const Token& token) {
  std::string digits;
  long shift = 0;
  std::size_t i = 0;
  const std::string_view text = token.text;
  bool fraction = false;
  for (; i < text.size() && (is_digit(text[i]) || text[i] == '.'); ++i) {
    if (text[i] == '.') { fraction = true; continue; }
    digits += text[i];
    if (fraction) --shift;
  }
  if (digits.size() > greatest_digits) fail_at(token.at, fmt::format("at most {} digits", greatest_digits), fmt::format("{}", digits.size()));
  if (i < text.size()) {
    ++i;
    const bool negative = text[i] == '-';
    if (text[i] == '-' || text[i] == '+') ++i;
    long exponent = 0;
    for (; i < text.size(); ++i) exponent = std::min(10 * exponent + (text[i] - '0'), 10 * greatest_exponent);
    if (exponent > greatest_exponent) fail_at(token.at, fmt::format("a decimal exponent of at most {}", greatest_exponent), describe(token));
    shift += negative ? -exponent : exponent;
  }
  mpq_class value(mpz_class(digits, 10));
  mpz_class scale;
  mpz_ui_pow_ui(scale.get_mpz_t(), 10, static_cast<unsigned long>(shift < 0 ? -shift : shift));
  if (shift < 0) value /= scale; else value *= scale;
  return value;
}

std::string suggestion(std::string_view word) {
  if (word.size() > 16) return {};
  std::string lower(word);
  for (char& c : lower) if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  std::string_view best;
  std::size_t least = lower.size() > 3 ? 3 : 2;
  auto offer = [&](std::string_view name) {
    const std::size_t distance = compute_edit_distance(lower, name);
    if (distance < least) { least = distance; best = name; }
  };
  for (const auto& [op, name] : function_names()) offer(name);
  return best.empty() ? std::string() : fmt::format(" (did you mean \"{}\"?)", best);
}

class Parser : TokenCursor {
public:
  Parser(std::string_view text, Role role, std::size_t dim) : TokenCursor(text), role_(role), dim_(dim) {}

  Expression parse() {
    const std::size_t start = token_.at;
    Expression result = sum();
    if (token_.kind != Kind::end) fail_at(token_.at, "an operator or the end", describe(token_));
    if (result->is_vector) fail_at(start, "a scalar", "a vector (use dot, norm2 or norm)");
    return result;
  }

private:
  // The cursor's nesting guards the recursion of the parser itself; checked() guards that of everything later.
  static constexpr std::string_view nested = "brackets, signs and powers";

  struct Sized { Expression expression; std::size_t height; };

  Expression checked(Sized& left, std::size_t right_height, Expression node, std::size_t position) {
    left.height = std::max(left.height, right_height) + 1;
    if (left.height > greatest_height) fail_at(position, fmt::format("at most {} operations in one chain", greatest_height), "more");
    left.expression = node;
    return node;
  }

  Expression sum() { return sized_sum().expression; }

  Sized sized_sum() {
    Sized left = product();
    while (at('+') || at('-')) {
      const Op op = at('+') ? Op::add : Op::subtract;
      const std::size_t position = token_.at;
      advance();
      const Sized right = product();
      checked(left, right.height, make_node(op, {left.expression, right.expression}), position);
    }
    return left;
  }

  Sized product() {
    Sized left = unary();
    while (at('*') || at('/')) {
      const Op op = at('*') ? Op::multiply : Op::divide;
      const std::size_t position = token_.at;
      advance();
      const Sized right = unary();
      checked(left, right.height, make_node(op, {left.expression, right.expression}), position);
    }
    return left;
  }

  Sized unary() {
    const Nesting nesting(*this, nested);
    const std::size_t position = token_.at;
    if (take('+')) return unary();
    if (take('-')) {
      Sized inner = unary();
      checked(inner, 0, make_node(Op::negate, {inner.expression}), position);
      return inner;
    }
    Sized base = primary();
    if (!at('^')) return base;
    advance();
    const std::size_t exponent_at = token_.at;
    const Sized exponent = unary();
    if (exponent.expression->is_vector) fail_at(exponent_at, "a scalar exponent", "a vector");
    checked(base, exponent.height, make_node(Op::power, {base.expression, exponent.expression}), position);
    return base;
  }

  Sized primary() {
    const Token token = token_;
    switch (token.kind) {
      case Kind::number: {
        const mpq_class value = read_number(token);
        advance();
        return {make_number(value), 1};
      }
      case Kind::word: return word(token);
      case Kind::symbol:
        if (take('(')) {
          const Sized inner = sized_sum();
          require(')');
          return inner;
        }
        if (at('[') && role_ == Role::kernel) return {literal(), 1};
        break;
      case Kind::bad:
      case Kind::end: break;
    }
    fail_at(token.at, expected_operand(), describe(token));
  }

  std::string expected_operand() const {
    return role_ == Role::kernel ? "a number, x, y, a vector, a function or \"(\"" : "a number, t, a function or \"(\"";
  }

  Sized word(const Token& token) {
    if (token.text.size() == 1) {
      const char c = token.text[0];
      const bool variable = role_ == Role::kernel ? c == 'x' || c == 'y' : c == 't';
      if (variable) {
        advance();
        return {make_variable(c), 1};
      }
    }
    std::optional<Op> op;
    for (const auto& [candidate, name] : function_names()) if (name == token.text) op = candidate;
    if (!op) {
      const std::string other = role_ == Role::activation && (token.text == "x" || token.text == "y") ? " (an activation is a function of t)"
                              : role_ == Role::kernel && token.text == "t"                           ? " (a kernel is a function of x and y)"
                                                                                                     : suggestion(token.text);
      fail_at(token.at, expected_operand(), describe(token) + other);
    }
    advance();
    require('(');
    const Nesting nesting(*this, nested);
    const std::size_t first_at = token_.at;
    Sized first = sized_sum();
    const bool takes_vector = *op == Op::dot || *op == Op::norm2 || *op == Op::norm;
    if (takes_vector && !first.expression->is_vector) fail_at(first_at, fmt::format("a vector for {}", token.text), "a scalar");
    if (*op == Op::dot) {
      require(',');
      const std::size_t second_at = token_.at;
      const Sized second = sized_sum();
      if (!second.expression->is_vector) fail_at(second_at, "a vector for dot", "a scalar");
      require(')');
      checked(first, second.height, make_node(Op::dot, {first.expression, second.expression}), token.at);
      return first;
    }
    require(')');
    checked(first, 0, make_node(*op, {first.expression}), token.at);
    return first;
  }

  Expression literal() {
    const std::size_t start = token_.at;
    require('[');
    std::vector<mpq_class> entries;
    do {
      bool negative = false;
      if (at('-') || at('+')) { negative = at('-'); advance(); }
      mpq_class value = entry();
      if (take('/')) {
        const std::size_t divisor_at = token_.at;
        const mpq_class divisor = entry();
        if (divisor == 0) fail_at(divisor_at, "a number other than 0", "0");
        value /= divisor;
      }
      entries.push_back(negative ? mpq_class(-value) : value);
    } while (take(','));
    if (!at(']')) fail_at(token_.at, "\",\" or \"]\"", describe(token_));
    advance();
    if (dim_ != 0 && entries.size() != dim_) fail_at(start, fmt::format("a vector with {} {}", dim_, dim_ == 1 ? "entry" : "entries"), fmt::format("{}", entries.size()));
    if (literal_size_ == 0) literal_size_ = entries.size();
    if (entries.size() != literal_size_) fail_at(start, fmt::format("a vector with {} entries, as the first one", literal_size_), fmt::format("{}", entries.size()));
    return make_vector(std::move(entries));
  }

  mpq_class entry() {
    if (token_.kind != Kind::number) fail_at(token_.at, "a number", describe(token_));
    mpq_class value = read_number(token_);
    advance();
    return value;
  }

  Role role_;
  std::size_t dim_;
  std::size_t literal_size_ = 0;
};

}  // namespace

Expression parse_expression(std::string_view text, Role role, std::size_t dim) {
  return Parser(text, role, dim).parse();
}

}  // namespace sightline::attention_kernel

#include "analysis.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "exact.hpp"
#include "json.hpp"
#include "quotients.hpp"

namespace checker {

namespace {

// --- expressions ------------------------------------------------------------------------------------------------------------

struct Node {
  std::string op;  ///< "number", "x", "y", "t", "vector", "+", "-", "*", "/", "^", "negate", or a function
  Rational value = 0;
  std::vector<std::unique_ptr<Node>> of;
};
using Tree = std::unique_ptr<Node>;

Tree make(std::string op, Tree a = nullptr, Tree b = nullptr) {
  auto node = std::make_unique<Node>();
  node->op = std::move(op);
  if (a) node->of.push_back(std::move(a));
  if (b) node->of.push_back(std::move(b));
  return node;
}

class Reader {
public:
  /// @param values  false: only the shape is asked for, and no number is too long
  explicit Reader(std::string_view text, bool values = true) : text_(text), values_(values) {}
  Tree read() {
    Tree tree = sum();
    skip();
    if (at_ != text_.size() || (values_ && count_powers(*tree) > 2)) throw Unknown();  // powers of powers of powers are numbers too long to write
    return tree;
  }

private:
  static int count_powers(const Node& node) {
    int most = 0;
    for (const Tree& child : node.of) most = std::max(most, count_powers(*child));
    return most + (node.op == "^" ? 1 : 0);
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Tree sum() {
    if (++depth_ > 100) throw Unknown();
    Tree left = product();
    for (;;) {
      if (take('+')) left = make("+", std::move(left), product());
      else if (take('-')) left = make("-", std::move(left), product());
      else break;
    }
    --depth_;
    return left;
  }
  Tree product() {
    Tree left = sign();
    for (;;) {
      if (take('*')) left = make("*", std::move(left), sign());
      else if (take('/')) left = make("/", std::move(left), sign());
      else return left;
    }
  }
  Tree sign() {
    if (++depth_ > 100) throw Unknown();
    Tree tree = take('-') ? make("negate", sign()) : take('+') ? sign() : raised();
    --depth_;
    return tree;
  }
  Tree raised() {  // binds tighter than a sign before it, from the right, and a signed number may follow
    Tree base = atom();
    return take('^') ? make("^", std::move(base), sign()) : std::move(base);
  }
  Tree atom() {
    skip();
    if (take('(')) {
      Tree inside = sum();
      if (!take(')')) throw Unknown();
      return inside;
    }
    if (take('[')) {
      Tree list = make("vector");
      do list->of.push_back(sum());
      while (take(','));
      if (!take(']')) throw Unknown();
      return list;
    }
    if (at_ < text_.size() && (digit() || text_[at_] == '.')) return literal();
    std::string word;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) word += text_[at_++];
    if (word == "x" || word == "y" || word == "t") return make(word);
    if (word.empty() || !take('(')) throw Unknown();
    Tree call = make(word, sum());
    if (take(',')) call->of.push_back(sum());
    if (!take(')')) throw Unknown();
    return call;
  }
  [[nodiscard]] bool digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }
  Tree literal() {
    std::string digits;
    std::int64_t exponent = 0;
    for (; digit(); ++at_) digits += text_[at_];
    if (at_ < text_.size() && text_[at_] == '.') {
      for (++at_; digit(); ++at_, --exponent) digits += text_[at_];
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      ++at_;
      const bool negative = at_ < text_.size() && text_[at_] == '-';
      if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
      std::int64_t size = 0;
      for (; digit(); ++at_) size = std::min<std::int64_t>(size * 10 + (text_[at_] - '0'), 1000);
      exponent += negative ? -size : size;
    }
    if (!values_) return make("number");
    digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
    if (digits.size() > 40 || exponent > 40 || exponent < -40) throw Unknown();
    const Natural mantissa = Natural::from_decimal(digits.empty() ? "0" : digits), scale = power(10, static_cast<std::uint64_t>(std::abs(exponent)));
    Tree node = make("number");
    node->value = exponent >= 0 ? Rational(mantissa * scale, 1) : Rational(mantissa, scale);
    return node;
  }

  std::string_view text_;
  bool values_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

struct Turned {
  bool vector, kept;  ///< a vector that turns with the tokens, or a scalar that turning them does not change
};
Turned turn(const Node& node) {
  if (node.op == "number") return {false, true};
  if (node.op == "x" || node.op == "y") return {true, true};
  if (node.op == "vector") return {true, false};
  std::vector<Turned> of;
  bool kept = true, vector = false, scalar = false;
  for (const Tree& child : node.of) {
    of.push_back(turn(*child));
    kept = kept && of.back().kept;
    (of.back().vector ? vector : scalar) = true;
  }
  if (node.op == "dot" || node.op == "norm2" || node.op == "norm") return {false, kept};
  if (node.op == "+" || node.op == "-") return {vector, kept && vector != scalar};
  if (node.op == "*") return {vector, kept && scalar};
  if (node.op == "/") return {vector, kept && !of[1].vector};
  if (node.op == "negate") return {vector, kept};
  return {vector, kept && !vector};  // powers and functions act entry by entry
}

// --- exact values ------------------------------------------------------------------------------------------------------------

using Values = std::vector<Value>;  ///< one entry: a scalar
using Point = std::map<std::string, std::vector<Rational>>;

std::optional<std::int64_t> small_integer(const Rational& q) {
  for (std::int64_t k = -16; k <= 16; ++k) if (q == Rational(k)) return k;
  return std::nullopt;
}

Rational root(const Rational& q) {  // of small squares of integers and their inverses
  for (std::int64_t b = 1; b <= 16; ++b) {
    const Rational square = q * Rational(b * b);
    for (std::int64_t a = 0; a <= 64; ++a) if (Rational(a * a) == square) return Rational(a) / Rational(b);
  }
  throw Unknown();
}

Value apply(const std::string& f, const Value& v) {
  const Value one = number(1), two = number(2);
  const auto is_positive = [&] { const Rational q = rational(v); return !q.negative() && !q.is_zero(); };
  if (f == "exp") return exponential(v);
  if (f == "cosh") return (exponential(v) + exponential(number(0) - v)) / two;
  if (f == "sinh") return (exponential(v) - exponential(number(0) - v)) / two;
  if (f == "tanh") return (exponential(v) - exponential(number(0) - v)) / (exponential(v) + exponential(number(0) - v));
  if (f == "sigmoid") return one / (one + exponential(number(0) - v));
  if (f == "relu") return is_positive() ? v : number(0);
  if (f == "abs") return is_positive() ? v : number(0) - v;
  if (f == "elu") return is_positive() ? v : exponential(v) - one;
  if (f == "sqrt") return number(root(rational(v)));
  if ((f == "sin" || f == "log") && rational(v) == Rational(f == "sin" ? 0 : 1)) return number(0);
  if (f == "cos" && rational(v).is_zero()) return one;
  throw Unknown();
}

Values evaluate(const Node& node, const Point& point) {
  const auto each = [](const Values& a, const Values& b, const auto& op) {
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1) throw Unknown();
    Values out;
    for (std::size_t k = 0; k < std::max(a.size(), b.size()); ++k) out.push_back(op(a[a.size() == 1 ? 0 : k], b[b.size() == 1 ? 0 : k]));
    return out;
  };
  if (node.op == "number") return {number(node.value)};
  if (const auto found = point.find(node.op); found != point.end()) {
    Values out;
    for (const Rational& q : found->second) out.push_back(number(q));
    return out;
  }
  std::vector<Values> of;
  for (const Tree& child : node.of) of.push_back(evaluate(*child, point));
  if (node.op == "vector") {
    Values out;
    for (const Values& v : of) out.push_back(v.at(0));
    return out;
  }
  if (of.empty()) throw Unknown();
  if (node.op == "negate") return each({number(0)}, of[0], [](const Value& a, const Value& b) { return a - b; });
  if (node.op == "dot" || node.op == "norm2" || node.op == "norm") {
    const Values products = each(of[0], of.size() > 1 ? of[1] : of[0], [](const Value& a, const Value& b) { return a * b; });
    Value total;
    for (const Value& v : products) total = total + v;
    return {node.op == "norm" ? apply("sqrt", total) : total};
  }
  if (of.size() == 2) {
    return each(of[0], of[1], [&](const Value& a, const Value& b) {
      if (node.op == "+") return a + b;
      if (node.op == "-") return a - b;
      if (node.op == "*") return a * b;
      if (node.op == "/") return a / b;
      if (node.op != "^") throw Unknown();
      const Rational exponent = rational(b);
      if (exponent * Rational(2) == Rational(1) || exponent * Rational(2) == Rational(-1)) {
        const Value r = apply("sqrt", a);
        return exponent.negative() ? number(1) / r : r;
      }
      const auto k = small_integer(exponent);
      if (!k) throw Unknown();
      Value result = number(1);
      for (std::int64_t i = 0; i < std::abs(*k); ++i) result = result * a;
      return *k < 0 ? number(1) / result : result;
    });
  }
  Values out;
  for (const Value& v : of[0]) out.push_back(apply(node.op, v));
  return out;
}

std::optional<Value> value_at(const Node& node, const Point& point) {
  try {
    Values values = evaluate(node, point);
    if (values.size() != 1) return std::nullopt;
    return values[0];
  } catch (const Unknown&) {
    return std::nullopt;
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

// --- what the operations keep -------------------------------------------------------------------------------------------------

enum class Parity { even, odd, none };
struct Shape {
  Parity parity = Parity::none;    ///< under the sign change of all variables
  bool variable = false;           ///< a variable occurs
  bool analytic = false, continuous = false, locally_lipschitz = false, lipschitz = false;
  bool positive = false, nonnegative = false;
  bool bounded = false, linear_growth = false;  ///< |s| <= C, |s| <= C (1 + |t|), in every entry
  std::optional<std::vector<Rational>> polynomial;  ///< in t
  std::optional<Rational> constant;
};

Shape of_constant(const Rational& q) {
  Shape s;
  s.parity = Parity::even;
  s.analytic = s.continuous = s.locally_lipschitz = s.lipschitz = s.bounded = s.linear_growth = true;
  s.positive = !q.negative() && !q.is_zero();
  s.nonnegative = !q.negative();
  s.polynomial = std::vector<Rational>{q};
  s.constant = q;
  return s;
}

Parity product(Parity a, Parity b) { return a == Parity::none || b == Parity::none ? Parity::none : a == b ? Parity::even : Parity::odd; }

std::vector<Rational> multiply_terms(const std::vector<Rational>& a, const std::vector<Rational>& b) {
  if (a.size() + b.size() > 66) throw Unknown();
  std::vector<Rational> out(a.size() + b.size() - 1, Rational(0));
  for (std::size_t i = 0; i < a.size(); ++i) for (std::size_t j = 0; j < b.size(); ++j) out[i + j] = out[i + j] + a[i] * b[j];
  return out;
}

Shape combine(const std::string& op, const Shape& a, const Shape& b) {
  if (a.constant && b.constant) {
    if (op == "+") return of_constant(*a.constant + *b.constant);
    if (op == "-") return of_constant(*a.constant - *b.constant);
    if (op == "*") return of_constant(*a.constant * *b.constant);
    if (op == "/" && !b.constant->is_zero()) return of_constant(*a.constant / *b.constant);
  }
  Shape s;
  s.variable = a.variable || b.variable;
  const bool divides = op == "/", nowhere_zero = !divides || b.positive || (b.constant && !b.constant->is_zero());
  if (op == "+" || op == "-") {
    s.parity = a.parity == b.parity ? a.parity : Parity::none;
    s.lipschitz = a.lipschitz && b.lipschitz;
    s.positive = op == "+" && ((a.positive && b.nonnegative) || (a.nonnegative && b.positive));
    s.nonnegative = op == "+" && a.nonnegative && b.nonnegative;
    s.bounded = a.bounded && b.bounded;
    s.linear_growth = a.linear_growth && b.linear_growth;
    if (a.polynomial && b.polynomial) {
      s.polynomial.emplace(std::max(a.polynomial->size(), b.polynomial->size()), Rational(0));
      for (std::size_t k = 0; k < a.polynomial->size(); ++k) (*s.polynomial)[k] = (*a.polynomial)[k];
      for (std::size_t k = 0; k < b.polynomial->size(); ++k) (*s.polynomial)[k] = (*s.polynomial)[k] + (op == "+" ? (*b.polynomial)[k] : Rational(0) - (*b.polynomial)[k]);
    }
  } else {
    s.parity = product(a.parity, b.parity);
    const bool scales = b.constant && nowhere_zero;
    s.lipschitz = (a.lipschitz && scales) || (!divides && b.lipschitz && a.constant);
    s.positive = a.positive && b.positive;
    s.nonnegative = a.nonnegative && (divides ? b.positive : b.nonnegative);
    s.bounded = a.bounded && (divides ? scales : b.bounded);
    s.linear_growth = divides ? a.linear_growth && scales : (a.linear_growth && b.bounded) || (a.bounded && b.linear_growth);
    if (a.polynomial && b.polynomial && !divides) s.polynomial = multiply_terms(*a.polynomial, *b.polynomial);
    if (a.polynomial && scales && divides) s.polynomial = multiply_terms(*a.polynomial, {Rational(1) / *b.constant});
  }
  s.analytic = a.analytic && b.analytic && nowhere_zero;
  s.continuous = a.continuous && b.continuous && nowhere_zero;
  s.locally_lipschitz = a.locally_lipschitz && b.locally_lipschitz && nowhere_zero;
  return s;
}

Shape raise(const Shape& a, const Shape& b) {
  Shape s;
  s.variable = a.variable || b.variable;
  if (!b.constant) return s;
  const auto k = small_integer(*b.constant);
  if (k && *k >= 0) {
    s = of_constant(1);
    for (std::int64_t i = 0; i < *k; ++i) s = combine("*", s, a);
    if (*k % 2 == 0) s.nonnegative = true;
    return s;
  }
  if (a.parity == Parity::even) s.parity = Parity::even;
  s.positive = s.nonnegative = a.positive;
  s.analytic = a.analytic && a.positive;
  s.continuous = a.continuous && a.positive;
  s.locally_lipschitz = a.locally_lipschitz && a.positive;
  return s;
}

Shape function(const std::string& f, const Shape& a) {
  Shape s;
  s.variable = a.variable;
  const auto is = [&](std::initializer_list<const char*> names) { return std::any_of(names.begin(), names.end(), [&](const char* n) { return f == n; }); };
  const bool entire = is({"exp", "sinh", "cosh", "sin", "cos", "tanh", "sigmoid", "softplus"}), kinked = is({"relu", "elu", "abs"}), positive_only = is({"log", "sqrt"});
  if (!entire && !kinked && !positive_only) throw Unknown();
  if (a.parity == Parity::even) s.parity = Parity::even;
  else if (a.parity == Parity::odd && is({"sinh", "sin", "tanh"})) s.parity = Parity::odd;
  else if (a.parity == Parity::odd && is({"cosh", "cos", "abs"})) s.parity = Parity::even;
  const bool fits = !positive_only || a.positive;
  s.analytic = a.analytic && !kinked && fits;
  s.locally_lipschitz = a.locally_lipschitz && fits;
  s.continuous = a.continuous && (fits || (f == "sqrt" && a.nonnegative));
  s.lipschitz = a.lipschitz && is({"sin", "cos", "tanh", "sigmoid", "softplus", "relu", "elu", "abs"});
  s.bounded = is({"sin", "cos", "tanh", "sigmoid"}) || (a.bounded && !positive_only);
  s.linear_growth = s.bounded || (a.linear_growth && is({"softplus", "relu", "elu", "abs"}));
  s.positive = is({"exp", "cosh", "sigmoid", "softplus"}) || (f == "sqrt" && a.positive);
  s.nonnegative = s.positive || is({"relu", "abs"}) || (f == "sqrt" && a.nonnegative);
  return s;
}

Shape find_shape(const Node& node) {
  if (node.op == "number") return of_constant(node.value);
  if (node.op == "x" || node.op == "y" || node.op == "t") {
    Shape s;
    s.parity = Parity::odd;
    s.variable = s.analytic = s.continuous = s.locally_lipschitz = s.lipschitz = s.linear_growth = true;
    if (node.op == "t") s.polynomial = std::vector<Rational>{Rational(0), Rational(1)};
    return s;
  }
  std::vector<Shape> of;
  for (const Tree& child : node.of) of.push_back(find_shape(*child));
  if (node.op == "vector") {
    Shape s = of_constant(1);
    for (const Shape& entry : of) if (!entry.constant) throw Unknown();
    s.constant.reset();
    s.polynomial.reset();
    s.positive = s.nonnegative = false;
    return s;
  }
  if (of.empty()) throw Unknown();
  if (node.op == "negate") return combine("*", of_constant(-1), of[0]);
  if (node.op == "dot" || node.op == "norm2" || node.op == "norm") {
    const Shape& right = of.size() > 1 ? of[1] : of[0];
    Shape s = combine("*", of[0], right);
    s.constant.reset();
    s.polynomial.reset();
    s.positive = node.op == "dot" && s.positive;
    s.nonnegative = node.op != "dot" || s.nonnegative;
    if (node.op == "norm") s = function("sqrt", s), s.locally_lipschitz = of[0].locally_lipschitz;
    return s;
  }
  if (of.size() == 1) return function(node.op, of[0]);
  return node.op == "^" ? raise(of[0], of[1]) : combine(node.op, of[0], of[1]);
}

char proved(bool yes, bool no = false) { return yes ? 'y' : no ? 'n' : '?'; }

}  // namespace

Analysis analyse_activation(std::string_view expression) {
  enum { continuous, locally_lipschitz, lipschitz, analytic, polynomial, affine, constant, odd, zero, even_polynomial, even_quadratic, homogeneous, curved, even };
  Analysis result{std::string(14, '?'), {}};
  std::string& flags = result.flags;
  try {
    const Tree tree = Reader(expression).read();
    const Shape shape = find_shape(*tree);
    if (shape.polynomial) {
      std::vector<Rational> c = *shape.polynomial;
      while (!c.empty() && c.back().is_zero()) c.pop_back();
      if (c.empty()) return result;  // the zero function: left to the tables of words
      const std::size_t degree = c.size() - 1;
      bool is_odd = true, is_even = true;
      for (std::size_t k = 0; k < c.size(); ++k) (k % 2 == 0 ? is_odd : is_even) &= c[k].is_zero();
      const auto say = [](bool value) { return value ? 'y' : 'n'; };
      flags[continuous] = flags[locally_lipschitz] = flags[analytic] = flags[polynomial] = flags[even_polynomial] = 'y';
      flags[lipschitz] = flags[affine] = say(degree <= 1);
      flags[constant] = say(degree == 0);
      flags[odd] = say(is_odd);
      flags[zero] = say(c[0].is_zero());
      flags[even_quadratic] = say(c[0].is_zero() && degree >= 2 && !c[2].is_zero());
      flags[homogeneous] = say(degree == 1 && c[0].is_zero());
      flags[curved] = say(degree >= 2);
      flags[even] = say(is_even);
      result.degree = static_cast<std::int64_t>(degree);
      return result;
    }
    const auto at = [&](std::int64_t top, std::int64_t bottom = 1) { return value_at(*tree, {{"t", {Rational(top) / Rational(bottom)}}}); };
    const std::optional<Value> origin = at(0);
    bool bends = false, moves = false, not_odd = false, not_even = false, not_homogeneous = false;
    for (const auto& [a, b] : {std::pair{1, 1}, {2, 1}, {1, 2}, {3, 1}}) {
      const auto right = at(a, b), left = at(-a, b), twice = at(2 * a, b), minus_twice = at(-2 * a, b);
      if (origin && right && left) bends = bends || !(*right + *left == *origin + *origin);
      if (right && twice && origin) bends = bends || !(*twice + *origin == *right + *right);
      if (right && left) not_even = not_even || !(*right == *left), moves = moves || not_even, not_odd = not_odd || !(*right + *left).top.empty();
      if (right && origin) moves = moves || !(*right == *origin);
      if (right && twice) not_homogeneous = not_homogeneous || !(*twice == *right + *right);
      if (left && minus_twice) not_homogeneous = not_homogeneous || !(*minus_twice == *left + *left);
    }
    const bool at_zero = origin && origin->top.empty(), off_zero = origin && !origin->top.empty();
    flags[continuous] = proved(shape.continuous);
    flags[locally_lipschitz] = proved(shape.locally_lipschitz);
    flags[lipschitz] = proved(shape.lipschitz);
    flags[analytic] = proved(shape.analytic);
    flags[polynomial] = proved(false, shape.linear_growth && bends);  // a polynomial of linear growth is affine
    flags[affine] = proved(false, bends);
    flags[constant] = proved(!shape.variable, moves);
    flags[odd] = proved(shape.parity == Parity::odd, not_odd || off_zero);
    flags[zero] = proved(at_zero || shape.parity == Parity::odd, off_zero);
    flags[even_polynomial] = proved(shape.parity == Parity::odd, shape.parity == Parity::even && flags[polynomial] == 'n');
    flags[even_quadratic] = proved(false, off_zero || shape.parity == Parity::odd);
    flags[homogeneous] = proved(false, not_homogeneous || off_zero);
    flags[curved] = proved(shape.analytic && bends);  // s' s'' is analytic and not identically 0
    flags[even] = proved(shape.parity == Parity::even, not_even);
  } catch (const Unknown&) {
  } catch (const std::domain_error&) {
  }
  return result;
}

/// Values in floating point, for what growth says against (13).
using Floats = std::vector<long double>;
Floats approximate(const Node& node, const Floats& x, const Floats& y) {
  if (node.op == "number") {
    const std::string text = node.value.text();
    const std::size_t bar = text.find('/');
    return {std::stold(text) / (bar == std::string::npos ? 1.0L : std::stold(text.substr(bar + 1)))};
  }
  if (node.op == "x" || node.op == "y") return node.op == "x" ? x : y;
  std::vector<Floats> of;
  for (const Tree& child : node.of) of.push_back(approximate(*child, x, y));
  if (of.empty()) throw Unknown();
  Floats out;
  if (node.op == "vector") {
    for (const Floats& entry : of) out.push_back(entry.at(0));
    return out;
  }
  const Floats &a = of.front(), &b = of.back();
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) throw Unknown();
  for (std::size_t k = 0; k < std::max(a.size(), b.size()); ++k) {
    const long double u = a[a.size() == 1 ? 0 : k], v = b[b.size() == 1 ? 0 : k];
    const std::string& f = node.op;
    if (f == "+" || f == "-") out.push_back(f == "+" ? u + v : u - v);
    else if (f == "*" || f == "dot" || f == "norm2" || f == "norm") out.push_back(u * v);
    else if (f == "/") out.push_back(u / v);
    else if (f == "^") out.push_back(std::pow(u, v));
    else if (f == "negate") out.push_back(-u);
    else if (f == "exp") out.push_back(std::exp(u));
    else if (f == "log") out.push_back(std::log(u));
    else if (f == "sqrt") out.push_back(std::sqrt(u));
    else if (f == "cosh" || f == "sinh") out.push_back(f == "cosh" ? std::cosh(u) : std::sinh(u));
    else if (f == "cos" || f == "sin") out.push_back(f == "cos" ? std::cos(u) : std::sin(u));
    else if (f == "tanh") out.push_back(std::tanh(u));
    else if (f == "sigmoid") out.push_back(1 / (1 + std::exp(-u)));
    else if (f == "softplus") out.push_back(std::log1p(std::exp(u)));
    else if (f == "relu" || f == "abs") out.push_back(f == "abs" || u > 0 ? std::fabs(u) : 0);
    else if (f == "elu") out.push_back(u > 0 ? u : std::expm1(u));
    else throw Unknown();
  }
  if (node.op != "dot" && node.op != "norm2" && node.op != "norm") return out;
  const long double total = std::accumulate(out.begin(), out.end(), 0.0L);
  return {node.op == "norm" ? std::sqrt(total) : total};
}

/// Does k(x, t y) / k(x, t z) come to rest as t grows, for z = -y or z = -y/2 or z = -2y at two of eight places, or for z of its own at three of
/// sixteen? No proof, so nothing is concluded from it but that a claim of (13) is not believed.
bool do_ratios_settle(const Node& kernel, std::size_t dim) {
  std::uint64_t state = 88172645463325252u;
  const auto draw = [&] {
    Floats v(dim);
    for (long double& entry : v) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      entry = (static_cast<long double>(state >> 40) / (1u << 23) - 1) * 1.5L;
    }
    return v;
  };
  const auto rests = [&](const Floats& x, const Floats& y, const Floats& z) {
    const auto log_ratio = [&](long double t) {
      const auto value = [&](Floats v) {
        for (long double& entry : v) entry *= t;
        return approximate(kernel, x, v).at(0);
      };
      return std::log(value(y)) - std::log(value(z));
    };
    // The largest scale with values in range: growth c t + const is then far from const, and doubles from t to 2 t.
    bool settled = false;
    for (long double t = 40; t < 1e8L; t *= 10) {
      const long double near = log_ratio(t), far = log_ratio(2 * t);
      if (!std::isfinite(near) || !std::isfinite(far)) break;
      settled = std::fabs(far) <= 1.3L * std::fabs(near) + 1e-12L;
    }
    return settled;
  };
  for (const long double lambda : {-1.0L, -0.5L, -2.0L}) {
    int settled = 0;
    for (int k = 0; k < 8; ++k) {
      const Floats x = draw(), y = draw();
      Floats z = y;
      for (long double& entry : z) entry *= lambda;
      settled += rests(x, y, z);
    }
    if (settled >= 2) return true;
  }
  int settled = 0;
  for (int k = 0; k < 16; ++k) {
    const Floats x = draw(), y = draw();
    settled += rests(x, y, draw());
  }
  return settled >= 3;
}

bool is_isotropic(std::string_view expression) {
  try {
    return turn(*Reader(expression, false).read()).kept;
  } catch (const Unknown&) {
    return false;
  }
}

Analysis analyse_kernel(std::string_view expression, std::int64_t dim) {
  enum { analytic, positive, nonzero_at_zero, mean, even, homogeneous, constant, softmax, gaussian, condition13, reads_keys };
  Analysis result{std::string(11, '?'), {}};
  std::string& flags = result.flags;
  try {
    const Tree tree = Reader(expression).read();
    const Shape shape = find_shape(*tree);
    const auto d = static_cast<std::size_t>(std::clamp<std::int64_t>(dim, 1, 64));
    if (static_cast<std::int64_t>(d) != dim) return result;
    const auto vector = [&](std::int64_t first, std::int64_t second) {
      std::vector<Rational> v(d, Rational(0));
      v[0] = first;
      if (d > 1) v[1] = second;
      return v;
    };
    const std::array<std::vector<Rational>, 5> points{vector(0, 0), vector(1, 0), vector(2, 1), vector(-1, 3), vector(1, 1)};
    const auto minus = [](std::vector<Rational> v) {
      for (Rational& q : v) q = Rational(0) - q;
      return v;
    };
    const auto twice = [](std::vector<Rational> v) {
      for (Rational& q : v) q = q + q;
      return v;
    };
    const auto plus = [](std::vector<Rational> a, const std::vector<Rational>& b) {
      for (std::size_t k = 0; k < a.size(); ++k) a[k] = a[k] + b[k];
      return a;
    };
    const auto at = [&](const std::vector<Rational>& x, const std::vector<Rational>& y) { return value_at(*tree, {{"x", x}, {"y", y}}); };
    const std::optional<Value> origin = at(points[0], points[0]);
    bool moves = false, not_even = false, not_positive = false, not_homogeneous = false, not_softmax = false, not_gaussian = false, keys_matter = false;
    constexpr std::size_t count = points.size();
    std::array<std::array<std::optional<Value>, count>, count> near, far;  // k(x, y), k(2x, 2y)
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) near[i][j] = at(points[i], points[j]), far[i][j] = at(twice(points[i]), twice(points[j]));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto& x = points[i];
      for (std::size_t j = 0; j < count; ++j) {
        const auto& here = near[i][j];
        if (!here) continue;
        if (origin) moves = moves || !(*here == *origin);
        if (const auto there = at(minus(x), minus(points[j]))) not_even = not_even || !(*here == *there);
        if (here->top.empty() || (here->top.size() == 1 && here->bottom.size() == 1 && here->top.begin()->second.negative() != here->bottom.begin()->second.negative())) not_positive = true;
        for (std::size_t k = 0; k < count; ++k) {  // a normalised 1-homogeneous mixer keeps k(cx,cy) : k(cx,cz)
          const auto& other = near[i][k];
          if (!other) continue;
          keys_matter = keys_matter || !(*here == *other);
          if (far[i][j] && far[i][k]) not_homogeneous = not_homogeneous || !(*here * *far[i][k] == *other * *far[i][j]);
          if (!not_softmax && origin) {
            const auto both = at(x, plus(points[j], points[k]));
            not_softmax = both && !(*here * *other == *both * *origin);
          }
          if (!not_gaussian) {
            const auto moved = at(plus(x, points[k]), plus(points[j], points[k]));
            not_gaussian = moved && !(*here == *moved);
          }
        }
      }
      if (!origin) continue;
      const auto& edge = near[0][i];
      if (near[i][i]) not_gaussian = not_gaussian || !(*near[i][i] == *origin);
      if (edge) not_softmax = not_softmax || !(*edge == *origin);
      // exp(-g |2x|^2) = exp(-g |x|^2)^4
      if (edge && far[0][i]) not_gaussian = not_gaussian || !(*far[0][i] * *origin * *origin * *origin == *edge * *edge * *edge * *edge);
    }
    flags[analytic] = proved(shape.analytic);
    flags[positive] = proved(shape.positive, not_positive);
    flags[nonzero_at_zero] = proved(shape.positive || (origin && !origin->top.empty()), origin && origin->top.empty());
    flags[mean] = proved(flags[nonzero_at_zero] == 'y');  // W_Q = W_K = 0 averages (theory 2.3)
    flags[even] = proved(shape.parity == Parity::even, not_even);
    flags[homogeneous] = proved(!shape.variable, not_homogeneous);
    flags[constant] = proved(!shape.variable, moves);
    flags[softmax] = proved(false, not_softmax || !shape.variable);
    flags[gaussian] = proved(false, not_gaussian || !shape.variable);
    if (!shape.variable) flags[condition13] = 'f';
    result.ratios_settle = do_ratios_settle(*tree, d);
    flags[reads_keys] = proved(keys_matter, expression.find('y') == std::string_view::npos);
  } catch (const Unknown&) {
  } catch (const std::domain_error&) {
  }
  return result;
}

std::string name_unproved(const Analysis& analysis, const std::string& claimed, bool kernel, const std::string& expression) {
  static const std::vector<std::string> of_kernels{"analytic", "positive", "nonzero at zero", "averaging", "even under a joint sign", "homogeneous", "constant", "softmax", "Gaussian", "condition (13)", "reading its keys"};
  static const std::vector<std::string> of_activations{"continuous", "locally Lipschitz", "Lipschitz", "analytic", "a polynomial", "affine", "constant", "odd", "zero at zero",
                                                       "of polynomial even part", "of quadratic even part", "homogeneous", "curved or kinked", "even"};
  const std::vector<std::string>& names = kernel ? of_kernels : of_activations;
  std::string open;
  for (std::size_t k = 0; k < claimed.size(); ++k) {
    const char here = analysis.flags[k], there = claimed[k];
    if (there == '?' || there == 'u' || here == there) continue;  // not claimed, or proved
    const std::string fact = there == 'n' ? "not " + names[k] : there == 'f' ? names[k] + " fails" : there == 'h' ? names[k] + " holds" : names[k];
    if (kernel && names[k] == "condition (13)" && there == 'h' && analysis.ratios_settle) {
      throw Rejected("evidence.kernels", "claimed of " + expression + ": condition (13), but ratios of its values come to rest");
    }
    if (here != '?') throw Rejected("evidence." + std::string(kernel ? "kernels" : "activations"), "claimed of " + expression + ": " + fact + ", which is refuted");
    open += (open.empty() ? "" : ", ") + fact;
  }
  return open;
}

}  // namespace checker

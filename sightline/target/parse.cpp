#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "sightline/base/error.hpp"
#include "sightline/base/tokens.hpp"
#include "sightline/base/words.hpp"
#include "sightline/target/expression.hpp"

namespace sightline::target {
namespace {

constexpr std::size_t greatest_steps = 10000;

struct Name {
  std::string_view text;
  Op op;
};
constexpr std::array functions{
    Name{"exp", Op::exp},   Name{"log", Op::log},         Name{"sqrt", Op::sqrt},         Name{"cosh", Op::cosh}, Name{"sinh", Op::sinh},
    Name{"cos", Op::cos},   Name{"sin", Op::sin},         Name{"tanh", Op::tanh},         Name{"sigmoid", Op::sigmoid},
    Name{"softplus", Op::softplus}, Name{"relu", Op::relu}, Name{"elu", Op::elu},         Name{"abs", Op::abs},   Name{"dot", Op::dot},
    Name{"norm2", Op::norm2}, Name{"norm", Op::norm},     Name{"concat", Op::concat},     Name{"sum", Op::sum},   Name{"mean", Op::mean},
    Name{"max", Op::max},   Name{"min", Op::min},         Name{"attend", Op::attend}};

bool reduces(Op op) { return op >= Op::sum; }

using Kind = Token::Kind;

/// As written: names are not bound to axes yet.
struct Tree {
  Op op = Op::number;
  std::size_t at = 0;
  char name = 0;  ///< x y z n i j
  double value = 0;
  std::uint32_t index = 0;
  std::vector<double> entries;
  std::vector<Tree> children;
};

/// Does z occur in the body of this reduction, outside any reduction within it?
bool mentions(const Tree& tree, char name) {
  if (tree.name == name) return true;
  for (const Tree& child : tree.children) if (!reduces(child.op) && mentions(child, name)) return true;
  return false;
}

class Reader : TokenCursor {
public:
  explicit Reader(std::string_view text) : TokenCursor(text) {}

  Tree read() {
    Tree tree = sum();
    if (token_.kind != Kind::end) fail_at(token_.at, "an operator or the end", describe(token_));
    return tree;
  }

private:
  Tree make(Op op, std::size_t position, std::vector<Tree> children) {
    if (++made_ > greatest_steps) fail_at(position, fmt::format("at most {} operations", greatest_steps), "more");
    Tree tree;
    tree.op = op;
    tree.at = position;
    tree.children = std::move(children);
    return tree;
  }
  Tree binary(Op op, std::size_t position, Tree left, Tree right) {
    std::vector<Tree> both;
    both.push_back(std::move(left));
    both.push_back(std::move(right));
    return make(op, position, std::move(both));
  }
  Tree unary_node(Op op, std::size_t position, Tree only) {
    std::vector<Tree> one;
    one.push_back(std::move(only));
    return make(op, position, std::move(one));
  }

  // A long chain of + or * makes a tall tree; its height is bounded as the nesting is, because later passes recurse.
  Tree sum() {
    Tree left = product();
    for (std::size_t links = 0; at('+') || at('-'); ++links) {
      if (links > 1000) fail_at(token_.at, "at most 1000 terms", "more");
      const Op op = at('+') ? Op::add : Op::subtract;
      const std::size_t position = token_.at;
      advance();
      left = binary(op, position, std::move(left), product());
    }
    return left;
  }
  Tree product() {
    Tree left = unary();
    for (std::size_t links = 0; at('*') || at('/'); ++links) {
      if (links > 1000) fail_at(token_.at, "at most 1000 factors", "more");
      const Op op = at('*') ? Op::multiply : Op::divide;
      const std::size_t position = token_.at;
      advance();
      left = binary(op, position, std::move(left), unary());
    }
    return left;
  }
  Tree unary() {
    const Nesting nesting(*this, "brackets");
    const std::size_t position = token_.at;
    if (take('+')) return unary();
    if (take('-')) return unary_node(Op::negate, position, unary());
    Tree base = postfix();
    if (!at('^')) return base;
    advance();
    return binary(Op::power, position, std::move(base), unary());
  }
  Tree postfix() {
    Tree tree = primary();
    while (at('[')) {
      const std::size_t position = token_.at;
      advance();
      if (token_.kind != Kind::number || token_.text.find_first_not_of("0123456789") != std::string_view::npos || token_.text.size() > 6)
        fail_at(token_.at, "an index (0, 1, ...)", describe(token_));
      const auto index = static_cast<std::uint32_t>(std::stoul(std::string(token_.text)));
      advance();
      require(']');
      tree = unary_node(Op::component, position, std::move(tree));
      tree.index = index;
    }
    return tree;
  }
  Tree primary() {
    const Token token = token_;
    if (token.kind == Kind::number) {
      Tree tree = make(Op::number, token.at, {});
      tree.value = number(token);
      advance();
      return tree;
    }
    if (token.kind == Kind::word) return word(token);
    if (take('(')) {
      Tree inner = sum();
      require(')');
      return inner;
    }
    if (at('[')) return literal();
    fail_at(token.at, operand, describe(token));
  }
  static double number(const Token& token) {
    const double value = std::strtod(std::string(token.text).c_str(), nullptr);
    if (!std::isfinite(value)) fail_at(token.at, "a number below 1.8e308", describe(token));
    return value;
  }
  Tree literal() {
    Tree tree = make(Op::literal, token_.at, {});
    require('[');
    do {
      const bool negative = at('-');
      if (at('-') || at('+')) advance();
      if (token_.kind != Kind::number) fail_at(token_.at, "a number", describe(token_));
      tree.entries.push_back(negative ? -number(token_) : number(token_));
      advance();
    } while (take(','));
    if (!at(']')) fail_at(token_.at, "\",\" or \"]\"", describe(token_));
    advance();
    return tree;
  }
  Tree word(const Token& token) {
    if (token.text.size() == 1 && std::string_view("xyznij").find(token.text[0]) != std::string_view::npos) {
      advance();
      Tree tree = make(Op::own_token, token.at, {});
      tree.name = token.text[0];
      return tree;
    }
    const auto* found = std::find_if(functions.begin(), functions.end(), [&](const Name& name) { return name.text == token.text; });
    if (found == functions.end()) fail_at(token.at, operand, describe(token) + suggestion(token.text));
    advance();
    require('(');
    const Nesting nesting(*this, "brackets");
    std::vector<Tree> arguments;
    do arguments.push_back(sum()); while (take(','));
    Op op = found->op;
    const std::size_t count = arguments.size();
    if ((op == Op::min || op == Op::max) && count == 2) op = op == Op::min ? Op::minimum : Op::maximum;
    const bool two = op == Op::dot || op == Op::attend || op == Op::minimum || op == Op::maximum;
    if (op != Op::concat && count != (two ? 2 : 1)) fail_at(token.at, fmt::format("{} {} for {}", two ? 2 : 1, two ? "arguments" : "argument", token.text), fmt::format("{}", count));
    if (!at(')')) fail_at(token_.at, "\",\" or \")\"", describe(token_));
    advance();
    return make(op, token.at, std::move(arguments));
  }
  static std::string suggestion(std::string_view word) {
    if (word.size() > 16) return {};
    std::string_view best;
    std::size_t least = word.size() > 3 ? 3 : 2;
    for (const Name& name : functions) {
      const std::size_t distance = compute_edit_distance(word, name.text);
      if (distance < least) { least = distance; best = name.text; }
    }
    return best.empty() ? std::string() : fmt::format(" (did you mean \"{}\"?)", best);
  }

  static constexpr std::string_view operand = "a number, x, y, z, n, i, j, a vector, a function or \"(\"";
  std::size_t made_ = 0;
};

void collect_attends(const Tree& tree, std::vector<const Tree*>& out) {
  if (tree.op == Op::attend && tree.name == 0) out.push_back(&tree);
  for (const Tree& child : tree.children) collect_attends(child, out);
}

/// Binds names to axes, gives every value its width and axes, and writes equal values once.
class Compiler {
public:
  Compiler(Role role, std::size_t dim) { result_.role = role; result_.dim = dim; }

  Expression compile(const Tree& tree) {
    Axes axes;
    const Tree* root = &tree;
    if (result_.role == Role::score) {
      std::vector<const Tree*> found;
      collect_attends(*root, found);
      if (found.size() > 1) fail_at(found[1]->at, "one attend, whose score is asked for", "a second one");
      if (!found.empty()) root = &found[0]->children[0];
      axes.y = 1;
      axes.depth = 1;
    }
    const std::uint32_t last = visit(*root, axes);
    if (result_.role == Role::score && result_.steps[last].width != 1)
      fail_at(root->at, "a score, one number", fmt::format("a vector of {} numbers (use dot, norm2, norm or [0])", result_.steps[last].width));
    if (last + 1 != result_.steps.size()) {
      // The value was already there as a part of something else: repeat it as the last step.
      Step again;
      again.op = Op::concat;
      again.width = result_.steps[last].width;
      again.axes = result_.steps[last].axes;
      again.operands = {last};
      result_.steps.push_back(std::move(again));
    }
    return std::move(result_);
  }

private:
  struct Axes { std::uint8_t y = 0, z = 0, depth = 0; };

  std::uint32_t add(Step step) {
    for (std::uint32_t operand : step.operands) step.axes |= result_.steps[operand].axes;
    if (reduces(step.op)) step.axes = static_cast<std::uint8_t>(step.axes & ~(1U << step.axis));
    for (std::uint32_t k = 0; k < result_.steps.size(); ++k) {
      const Step& other = result_.steps[k];
      if (other.op == step.op && other.axes == step.axes && other.axis == step.axis && other.width == step.width && other.index == step.index &&
          other.value == step.value && std::signbit(other.value) == std::signbit(step.value) && other.entries == step.entries && other.operands == step.operands) return k;
    }
    result_.steps.push_back(std::move(step));
    return static_cast<std::uint32_t>(result_.steps.size() - 1);
  }

  std::uint32_t leaf(const Tree& tree, const Axes& axes) {
    Step step;
    const auto dim = static_cast<std::uint32_t>(result_.dim);
    switch (tree.name) {
      case 'x': step.op = Op::own_token; step.axes = 1; step.width = dim; break;
      case 'y':
      case 'z': {
        step.axis = tree.name == 'y' ? axes.y : axes.z;
        if (step.axis == 0) fail_at(tree.at, tree.name == 'y' ? "y inside sum, mean, max, min or attend" : "z inside a reduction within a reduction", "it outside");
        step.op = Op::read_token;
        step.axes = static_cast<std::uint8_t>(1U << step.axis);
        step.width = dim;
        break;
      }
      default:
        if (result_.role == Role::score) fail_at(tree.at, "a score of x and y alone", fmt::format("\"{}\"", tree.name));
        if (tree.name == 'n') step.op = Op::tokens;
        if (tree.name == 'i') { step.op = Op::own_index; step.axes = 1; result_.uses_index = true; }
        if (tree.name == 'j') {
          if (axes.y == 0) fail_at(tree.at, "j inside sum, mean, max, min or attend", "it outside");
          step.op = Op::read_index;
          step.axis = axes.z != 0 ? axes.z : axes.y;
          step.axes = static_cast<std::uint8_t>(1U << step.axis);
          result_.uses_index = true;
        }
    }
    return add(std::move(step));
  }

  std::uint32_t visit(const Tree& tree, Axes axes) {
    if (tree.name != 0) return leaf(tree, axes);
    Step step;
    step.op = tree.op;
    step.index = tree.index;
    step.value = tree.value;
    step.entries = tree.entries;
    if (tree.op == Op::literal) step.width = static_cast<std::uint32_t>(tree.entries.size());
    if (reduces(tree.op)) {
      if (result_.role == Role::score) fail_at(tree.at, "a score of x and y alone", "a reduction over the sequence");
      if (axes.depth == 2) fail_at(tree.at, "at most one reduction inside a reduction", "another one inside");
      const bool inner = axes.depth == 1;
      const bool named = std::any_of(tree.children.begin(), tree.children.end(), [](const Tree& child) { return !reduces(child.op) && mentions(child, 'z'); });
      ++axes.depth;
      step.axis = axes.depth;
      if (inner && named) axes.z = axes.depth;
      else { axes.y = axes.depth; axes.z = 0; }
    }
    for (const Tree& child : tree.children) step.operands.push_back(visit(child, axes));
    check(tree, step);
    return add(std::move(step));
  }

  void check(const Tree& tree, Step& step) {
    const auto width = [&](std::size_t k) { return result_.steps[step.operands[k]].width; };
    switch (tree.op) {
      case Op::number: case Op::literal: break;
      case Op::add: case Op::subtract: case Op::multiply: case Op::divide: case Op::minimum: case Op::maximum: case Op::power:
        if (tree.op == Op::power && width(1) != 1) fail_at(tree.children[1].at, "a scalar exponent", fmt::format("a vector of {} numbers", width(1)));
        if (width(0) != width(1) && width(0) != 1 && width(1) != 1)
          fail_at(tree.at, fmt::format("{} numbers on both sides", width(0)), fmt::format("{} and {}", width(0), width(1)));
        step.width = std::max(width(0), width(1));
        break;
      case Op::dot:
        if (width(0) != width(1)) fail_at(tree.at, "two vectors of one length for dot", fmt::format("{} and {} numbers", width(0), width(1)));
        break;
      case Op::norm2: case Op::norm: break;
      case Op::component:
        if (tree.index >= width(0)) fail_at(tree.at, fmt::format("an index below {}", width(0)), fmt::format("{}", tree.index));
        break;
      case Op::concat:
        step.width = 0;
        for (std::size_t k = 0; k < step.operands.size(); ++k) step.width += width(k);
        break;
      case Op::attend:
        if (width(0) != 1) fail_at(tree.children[0].at, "a score, one number", fmt::format("a vector of {} numbers", width(0)));
        step.width = width(1);
        break;
      default: step.width = width(0);
    }
  }

  Expression result_;
};

}  // namespace

Expression parse(std::string_view text, Role role, std::size_t dim) {
  const Tree tree = Reader(text).read();
  return Compiler(role, dim).compile(tree);
}

std::size_t least_dim(std::string_view text) {
  std::size_t least = 1;
  for (std::size_t k = 0; k + 2 < text.size(); ++k) {
    const bool token = (text[k] == 'x' || text[k] == 'y' || text[k] == 'z') && (k == 0 || !is_letter(text[k - 1])) && text[k + 1] == '[';
    if (!token) continue;
    const long index = std::strtol(std::string(text.substr(k + 2, 7)).c_str(), nullptr, 10);
    least = std::max(least, static_cast<std::size_t>(std::clamp(index, 0L, 999L)) + 1);
  }
  return least;
}

}  // namespace sightline::target

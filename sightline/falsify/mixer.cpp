#include "sightline/falsify/mixer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "sightline/attention_kernel/entrywise.hpp"
#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/attention_kernel/structure.hpp"
#include "sightline/base/error.hpp"

namespace sightline::falsify {
namespace {

using attention_kernel::Node;
using attention_kernel::Op;

/// An expression in t is an activation: t stands alone, not inside a name such as tanh.
bool mentions_t(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != 't') continue;
    const bool before = i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0);
    const bool after = i + 1 < text.size() && (std::isalnum(static_cast<unsigned char>(text[i + 1])) != 0);
    if (!before && !after) return true;
  }
  return false;
}

using Value = attention_kernel::Entries<Interval>;

class Evaluator {
public:
  Evaluator(const std::vector<Interval>& x, const std::vector<Interval>& y, const Interval& t, long bits) : x_(x), y_(y), t_(t), bits_(bits) {}

  Value read(const Node& node) const {
    switch (node.op) {
      case Op::number: return scalar(Interval(node.value, bits_));
      case Op::literal_vector: {
        Value value{true, {}};
        for (const mpq_class& entry : node.vector) value.entries.emplace_back(entry, bits_);
        return value;
      }
      case Op::variable:
        if (node.name == 't') return scalar(t_);
        return {true, node.name == 'x' ? x_ : y_};
      case Op::add: return binary(node, [](const Interval& a, const Interval& b) { return a + b; });
      case Op::subtract: return binary(node, [](const Interval& a, const Interval& b) { return a - b; });
      case Op::multiply: return binary(node, [](const Interval& a, const Interval& b) { return a * b; });
      case Op::divide: return binary(node, [](const Interval& a, const Interval& b) { return a / b; });
      case Op::negate: return each(node, [](const Interval& a) { return -a; });
      case Op::power: return raise(node);
      case Op::dot: {
        const Value a = read(*node.children[0]), b = read(*node.children[1]);
        Interval sum(mpq_class(0), bits_);
        for (std::size_t i = 0; i < a.entries.size(); ++i) sum = sum + a.entries[i] * b.entries.at(i);
        return scalar(sum);
      }
      case Op::norm2: return scalar(squared_length(node));
      case Op::norm: return scalar(sqrt(squared_length(node)));
      case Op::exp: return each(node, [](const Interval& a) { return falsify::exp(a); });
      case Op::log: return each(node, [](const Interval& a) { return falsify::log(a); });
      case Op::sqrt: return each(node, [](const Interval& a) { return falsify::sqrt(a); });
      case Op::cosh: return each(node, [](const Interval& a) { return falsify::cosh(a); });
      case Op::sinh: return each(node, [](const Interval& a) { return falsify::sinh(a); });
      case Op::cos: return each(node, [](const Interval& a) { return falsify::cos(a); });
      case Op::sin: return each(node, [](const Interval& a) { return falsify::sin(a); });
      case Op::tanh: return each(node, [](const Interval& a) { return falsify::tanh(a); });
      case Op::abs: return each(node, [](const Interval& a) { return falsify::abs(a); });
      case Op::sigmoid: return each(node, [this](const Interval& a) { return one() / (one() + falsify::exp(-a)); });
      // log(1 + e^t) = max(t, 0) + log(1 + e^-|t|): stays accurate for large |t|.
      case Op::softplus: return each(node, [this](const Interval& a) { return maximum(a, zero()) + log1p(falsify::exp(-falsify::abs(a))); });
      case Op::relu: return each(node, [this](const Interval& a) { return maximum(a, zero()); });
      case Op::elu: return each(node, [this](const Interval& a) { return maximum(a, zero()) + expm1(minimum(a, zero())); });
    }
    throw Undefined{};
  }

private:
  static Value scalar(Interval value) { return {false, {std::move(value)}}; }
  Interval zero() const { return Interval(mpq_class(0), bits_); }
  Interval one() const { return Interval(mpq_class(1), bits_); }

  Interval squared_length(const Node& node) const {
    Interval sum = zero();
    for (const Interval& entry : read(*node.children[0]).entries) sum = sum + square(entry);
    return sum;
  }

  template <class Function>
  Value each(const Node& node, Function function) const {
    return attention_kernel::map_entries(read(*node.children[0]), function);
  }

  template <class Function>
  Value binary(const Node& node, Function function) const {
    return attention_kernel::join_entries(read(*node.children[0]), read(*node.children[1]), function);
  }

  Value raise(const Node& node) const {
    const std::optional<mpq_class> exponent = attention_kernel::find_rational(*node.children[1]);
    Value base = read(*node.children[0]);
    if (exponent) {
      for (Interval& entry : base.entries) entry = power(entry, *exponent);
      return base;
    }
    const Value at = read(*node.children[1]);
    for (std::size_t i = 0; i < base.entries.size(); ++i) base.entries[i] = falsify::exp(at.entries.at(at.is_vector ? i : 0) * falsify::log(base.entries[i]));
    return base;
  }

  const std::vector<Interval>&x_, &y_;
  const Interval& t_;
  long bits_;
};

/// Matrix (its entries begin at `first`) times token: exact before anything is rounded.
std::vector<Interval> apply(const Parameters& matrix, std::size_t first, const Token& token, long bits) {
  std::vector<Interval> result;
  for (std::size_t row = 0; row < token.size(); ++row) {
    mpq_class sum = 0;
    for (std::size_t k = 0; k < token.size(); ++k) sum += matrix.at(first + row * token.size() + k) * token[k];
    result.emplace_back(sum, bits);
  }
  return result;
}

}  // namespace

Mixer make_mixer(const std::string& text, bool normalised, std::size_t dim) {
  Mixer mixer;
  mixer.normalised = normalised;
  if (text.starts_with("lib:")) {
    mixer.kind = MixerKind::library;
    mixer.text = text.substr(4);
    return mixer;
  }
  if (!text.starts_with("expr:")) throw InputError(fmt::format("expected expr:EXPRESSION or lib:FILE.so, found \"{}\"", text));
  mixer.text = text.substr(5);
  const auto& names = attention_kernel::kernel_names();
  if (std::find(names.begin(), names.end(), mixer.text) != names.end()) {
    attention_kernel::Kernel kernel;
    kernel.name = mixer.text;
    mixer.expression = attention_kernel::to_expression(kernel, dim);
    return mixer;
  }
  if (mentions_t(mixer.text)) mixer.kind = MixerKind::bias;
  try {
    mixer.expression = attention_kernel::parse_expression(
        mixer.text, mixer.kind == MixerKind::bias ? attention_kernel::Role::activation : attention_kernel::Role::kernel, dim);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", text, error.what()));
  }
  return mixer;
}

std::size_t count_parameters(const Mixer& mixer, std::size_t dim) {
  if (mixer.kind == MixerKind::bias) return dim + 1;
  return mixer.kind == MixerKind::attention ? 2 * dim * dim : 0;
}

Interval evaluate(const Node& node, const std::vector<Interval>& x, const std::vector<Interval>& y, const Interval& t, long bits) {
  return Evaluator(x, y, t, bits).read(node).entries.at(0);
}

std::vector<Interval> evaluate(const Mixer& mixer, const Sample& sample, std::size_t i, const Parameters& parameters, long bits, const Budget& budget) {
  if (mixer.kind == MixerKind::bias) {
    Interval sum(mpq_class(0), bits);
    for (const Token& token : sample) {
      budget.poll();
      mpq_class at = parameters.at(token.size());
      for (std::size_t k = 0; k < token.size(); ++k) at += parameters.at(k) * token[k];
      sum = sum + evaluate(*mixer.expression, {}, {}, Interval(at, bits), bits);
    }
    return {sum};
  }
  const std::vector<Interval> query = apply(parameters, 0, sample.at(i), bits);
  std::vector<Interval> sum(sample.at(i).size(), Interval(mpq_class(0), bits));
  Interval total(mpq_class(0), bits);
  for (const Token& token : sample) {
    budget.poll();
    const Interval weight = evaluate(*mixer.expression, query, apply(parameters, token.size() * token.size(), token, bits), Interval(bits), bits);
    total = total + weight;
    for (std::size_t k = 0; k < token.size(); ++k) sum[k] = sum[k] + weight * Interval(token[k], bits);
  }
  if (mixer.normalised) {
    for (Interval& entry : sum) entry = entry / total;
  }
  return sum;
}

}  // namespace sightline::falsify

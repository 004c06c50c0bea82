// Expressions -> programs of the kernels.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "sightline/mixer/cpu/heads.hpp"
#include "sightline/mixer/kernel_function.hpp"

namespace sightline::mixer::cpu {

using attention_kernel::Op;

std::optional<Operation> find_operation(Op op) {
  static const std::map<Op, Operation> known = {{Op::add, Operation::add},
                                                {Op::subtract, Operation::subtract},
                                                {Op::multiply, Operation::multiply},
                                                {Op::divide, Operation::divide},
                                                {Op::power, Operation::power},
                                                {Op::negate, Operation::negate},
                                                {Op::exp, Operation::exp},
                                                {Op::log, Operation::log},
                                                {Op::sqrt, Operation::sqrt},
                                                {Op::cosh, Operation::cosh},
                                                {Op::sinh, Operation::sinh},
                                                {Op::cos, Operation::cos},
                                                {Op::sin, Operation::sin},
                                                {Op::tanh, Operation::tanh},
                                                {Op::sigmoid, Operation::sigmoid},
                                                {Op::softplus, Operation::softplus},
                                                {Op::relu, Operation::relu},
                                                {Op::elu, Operation::elu},
                                                {Op::abs, Operation::abs}};
  const auto found = known.find(op);
  return found == known.end() ? std::nullopt : std::optional(found->second);
}

namespace {

/// Slots of a scalar program (0 x.y, 1 |x|^2, 2 |y|^2, then steps) -> slots of ours, only what is needed.
template <class Real> class Translator {
public:
  explicit Translator(const ScalarProgram& from) : from_(from), known_(from.steps.size() + 3, -1) {}

  // Constants are numbered from 1000 on until their number is known. -1: cannot be done.
  std::int32_t slot(std::int32_t of) {
    if (of < 3) {
      uses[of] = true;
      return of;
    }
    std::int32_t& known = known_[static_cast<std::size_t>(of)];
    if (known < 0)
      known = translate_step(*step_of(of));
    return known;
  }
  std::int32_t constant(double value) {
    const auto number = static_cast<Real>(value);
    for (std::size_t k = 0; k < constants.size(); ++k) {
      if (constants[k] == number)
        return first_constant + static_cast<std::int32_t>(k);
    }
    constants.push_back(number);
    return first_constant + static_cast<std::int32_t>(constants.size()) - 1;
  }
  std::int32_t push(Operation operation, std::int32_t left, std::int32_t right, Real value = 0) {
    steps.push_back({operation, left, right, value});
    return first_result + static_cast<std::int32_t>(steps.size()) - 1;
  }
  [[nodiscard]] std::int32_t place(std::int32_t slot) const {
    if (slot >= first_result)
      return program_inputs + static_cast<std::int32_t>(constants.size()) + slot - first_result;
    return slot >= first_constant ? program_inputs + slot - first_constant : slot;
  }

  static constexpr std::int32_t first_constant = 1000, first_result = 100000;
  /// slot = c x.y, or c |x - y|^2 where `distance`: c.
  [[nodiscard]] std::optional<double> factor_of(std::int32_t of, bool distance) const {
    if (const ScalarProgram::Step* const step = step_of(of)) {
      if (const auto scaled = scaling(*step)) {
        const auto rest = factor_of(scaled->second, distance);
        return rest ? std::optional(scaled->first * *rest) : std::nullopt;
      }
      return distance && step->op == Op::relu ? distance_of(*step) : std::nullopt;
    }
    return of == 0 && !distance ? std::optional(1.0) : std::nullopt;
  }
  /// slot = c |x - y|: c.
  [[nodiscard]] std::optional<double> root_factor_of(std::int32_t of) const {
    const ScalarProgram::Step* const step = step_of(of);
    if (step == nullptr)
      return std::nullopt;
    if (const auto scaled = scaling(*step)) {
      const auto rest = root_factor_of(scaled->second);
      return rest ? std::optional(scaled->first * *rest) : std::nullopt;
    }
    const auto inner = step->op == Op::sqrt ? factor_of(step->left, true) : std::nullopt;
    return inner ? std::optional(std::sqrt(*inner)) : std::nullopt;
  }
  /// slot = k (1 + factor |x - y|^2)^p, p = -1/2 (is_root) or -1, k and factor above 0; is_one: k = 1.
  struct Reciprocal {
    double factor = 0;
    bool is_root = false, is_one = false;
  };
  [[nodiscard]] std::optional<Reciprocal> reciprocal_of(std::int32_t of) const {
    const ScalarProgram::Step* const step = step_of(of);
    if (step == nullptr)
      return std::nullopt;
    double k = 1, power = -1;
    std::int32_t base = step->right;
    if (step->op == Op::power) {
      power = number_of(step->right).value_or(0);
      base = step->left;
    } else if (step->op == Op::divide && number_of(step->left)) {
      k = *number_of(step->left);
      const ScalarProgram::Step* const below = step_of(base);
      if (below != nullptr && (below->op == Op::sqrt || below->op == Op::power)) {
        power = below->op == Op::sqrt ? -0.5 : -number_of(below->right).value_or(0);
        base = below->left;
      }
    } else {
      return std::nullopt;
    }
    const ScalarProgram::Step* const sum = step_of(base);
    if (sum == nullptr || sum->op != Op::add || !(k > 0) || (power != -1 && power != -0.5))
      return std::nullopt;
    for (const auto& [number, rest] : {std::pair(sum->left, sum->right), std::pair(sum->right, sum->left)}) {
      const auto c = number_of(number), a = factor_of(rest, true);
      if (c && a && *c > 0 && *a > 0)
        return Reciprocal{*a / *c, power == -0.5, k == 1 && *c == 1};
    }
    return std::nullopt;
  }
  /// Nothing is read but c x.y, for one c: then queries may be multiplied by c, and x.y read. Else 1.
  [[nodiscard]] double find_common_factor(std::int32_t factor, std::int32_t exponent) const {
    std::optional<double> common;
    bool one = factor != 0 && exponent != 0;
    for (const ScalarProgram::Step& step : from_.steps) {
      const auto scaled = scaling(step);
      const bool times = scaled && scaled->second == 0, is_number = step.op == Op::number;
      if (is_number)
        continue;
      for (const std::int32_t operand : {step.left, step.right}) {
        if (operand < 0 || operand > 2)
          continue;
        one = one && times && (!common || *common == scaled->first);
        common = times ? scaled->first : 1;
      }
    }
    return one && common ? *common : 1;
  }
  double read_as = 1; ///< x.y times this is what slot 0 holds

  std::vector<ProgramStep<Real>> steps;
  std::vector<Real> constants;
  bool uses[program_inputs] = {};

private:
  struct Linear {
    double dot = 0, reader = 0, read = 0;
  };
  /// The step that makes a slot; null: an input.
  [[nodiscard]] const ScalarProgram::Step* step_of(std::int32_t of) const {
    return of < 3 ? nullptr : &from_.steps[static_cast<std::size_t>(of - 3)];
  }
  [[nodiscard]] std::optional<double> number_of(std::int32_t of) const {
    const ScalarProgram::Step* const step = step_of(of);
    return step != nullptr && step->op == Op::number ? std::optional(step->value) : std::nullopt;
  }
  /// A number times another slot: both.
  [[nodiscard]] std::optional<std::pair<double, std::int32_t>> scaling(const ScalarProgram::Step& step) const {
    if (step.op == Op::negate)
      return std::pair(-1.0, step.left);
    if (step.op != Op::multiply && step.op != Op::divide)
      return std::nullopt;
    if (const auto right = number_of(step.right))
      return std::pair(step.op == Op::divide ? 1 / *right : *right, step.left);
    const auto left = step.op == Op::multiply ? number_of(step.left) : std::nullopt;
    return left ? std::optional(std::pair(*left, step.right)) : std::nullopt;
  }
  [[nodiscard]] std::optional<Linear> linear(std::int32_t of) const {
    const ScalarProgram::Step* const made = step_of(of);
    if (made == nullptr)
      return Linear{of == 0 ? 1.0 : 0.0, of == 1 ? 1.0 : 0.0, of == 2 ? 1.0 : 0.0};
    const ScalarProgram::Step& step = *made;
    if (const auto scaled = scaling(step)) {
      const auto rest = linear(scaled->second);
      return rest ? std::optional(Linear{scaled->first * rest->dot, scaled->first * rest->reader,
                                         scaled->first * rest->read})
                  : std::nullopt;
    }
    if (step.op != Op::add)
      return std::nullopt;
    const auto a = linear(step.left), b = linear(step.right);
    return a && b ? std::optional(Linear{a->dot + b->dot, a->reader + b->reader, a->read + b->read}) : std::nullopt;
  }

  /// relu of c (|x|^2 + |y|^2 - 2 x.y): c. The distance itself does not cancel between near points.
  [[nodiscard]] std::optional<double> distance_of(const ScalarProgram::Step& step) const {
    const auto form = linear(step.left);
    return form && form->reader > 0 && form->reader == form->read && form->dot == -2 * form->reader
               ? std::optional(form->reader)
               : std::nullopt;
  }
  std::int32_t translate_step(const ScalarProgram::Step& step) {
    if (step.op == Op::number)
      return constant(step.value);
    if (step.op == Op::relu) {
      if (const auto times = distance_of(step)) {
        uses[3] = true;
        return *times == 1 ? 3 : push(Operation::multiply, constant(*times), 3);
      }
    }
    if (const auto scaled = scaling(step); scaled && scaled->second == 0 && scaled->first == read_as)
      return slot(0);
    const auto operation = find_operation(step.op);
    if (!operation)
      return -1;
    const std::int32_t left = slot(step.left);
    if (left < 0)
      return -1;
    if (step.op == Op::power) {
      const auto exponent = number_of(step.right);
      return exponent ? push(*operation, left, -1, static_cast<Real>(*exponent)) : -1;
    }
    if (step.right < 0)
      return push(*operation, left, -1);
    const std::int32_t right = slot(step.right);
    return right < 0 ? -1 : push(*operation, left, right);
  }

  const ScalarProgram& from_;
  std::vector<std::int32_t> known_;
};

template <class Real> bool is_usable(double number) {
  return std::isfinite(static_cast<Real>(number)) && static_cast<Real>(number) != Real(0);
}

/// exp(c x.y), exp(c |x - y|^2) and exp(c |x - y|) need no program: softmax, gaussian and laplace under another name.
template <class Real>
bool find_named(const Translator<Real>& translator, const ScalarProgram& from, const AttentionRule& rule,
                Rule<Real>& out) {
  if (from.factor >= 0 || from.exponent < 0)
    return false;
  const auto dot = translator.factor_of(from.exponent, false), distance = translator.factor_of(from.exponent, true);
  out.normalised = rule.normalised;
  if (dot && is_usable<Real>(rule.scale * *dot * log2_e)) {
    out.query_scale = static_cast<Real>(rule.scale * *dot * log2_e);
    return true;
  }
  const auto root = translator.root_factor_of(from.exponent);
  const double factor = (distance ? *distance : root ? *root : 0) * log2_e;
  if (!is_usable<Real>(factor) || !is_usable<Real>(rule.scale))
    return false;
  out.score = Score::distance;
  if (!distance)
    out.weight = Weight::exponential_root;
  out.factor = static_cast<Real>(factor);
  out.query_scale = static_cast<Real>(rule.scale);
  return true;
}

/// (c + a |x - y|^2)^p, p = -1 or -1/2, needs none either, where c^p does not matter.
template <class Real>
bool find_reciprocal(const Translator<Real>& translator, const ScalarProgram& from, const AttentionRule& rule,
                     Rule<Real>& out) {
  if (from.factor < 0 || from.exponent >= 0)
    return false;
  const auto reciprocal = translator.reciprocal_of(from.factor);
  const bool cancels = rule.normalised && rule.sink == Sink::none && rule.eps == 0;
  if (!reciprocal || !is_usable<Real>(reciprocal->factor) || !is_usable<Real>(rule.scale) ||
      !(reciprocal->is_one || cancels))
    return false;
  out.normalised = rule.normalised;
  out.score = Score::distance;
  out.weight = reciprocal->is_root ? Weight::reciprocal_root : Weight::reciprocal;
  out.factor = static_cast<Real>(reciprocal->factor);
  out.query_scale = static_cast<Real>(rule.scale);
  return true;
}

} // namespace

template <class Real>
bool ProgramNumbers<Real>::build(const AttentionRule& rule, std::int64_t width, Names names, Rule<Real>& out) {
  out = {};
  if (rule.top_k || !std::isfinite(rule.scale))
    return false;
  const auto function = find_kernel_function(rule.kernel, width);
  if (!function->scalar_program() || function->scalar_program()->zero_over_zero)
    return false;
  const ScalarProgram& from = *function->scalar_program();
  Translator<Real> translator(from);
  if (names == Names::allowed && (find_named(translator, from, rule, out) || find_reciprocal(translator, from, rule, out)))
    return true;
  translator.read_as = translator.find_common_factor(from.factor, from.exponent);
  if (!is_usable<Real>(rule.scale * translator.read_as))
    translator.read_as = 1;
  // Neither: the kernel is 1, which somebody must write down.
  const bool is_one = from.factor < 0 && from.exponent < 0;
  const std::int32_t factor = is_one ? translator.constant(1) : from.factor < 0 ? -1 : translator.slot(from.factor);
  std::int32_t exponent = from.exponent < 0 ? -1 : translator.slot(from.exponent);
  if ((from.factor >= 0 && factor < 0) || (from.exponent >= 0 && exponent < 0))
    return false;
  if (exponent >= 0) // to base 2
    exponent = translator.push(Operation::multiply, translator.constant(log2_e), exponent);
  if (program_inputs + translator.constants.size() + translator.steps.size() > most_slots)
    return false;
  steps_ = translator.steps;
  for (ProgramStep<Real>& step : steps_) {
    step.left = translator.place(step.left);
    step.right = step.right < 0 ? -1 : translator.place(step.right);
  }
  constants_ = translator.constants;
  program_.steps = steps_.data();
  program_.constants = constants_.data();
  program_.count = static_cast<int>(steps_.size());
  program_.first_step = program_inputs + static_cast<int>(constants_.size());
  program_.factor = factor < 0 ? -1 : translator.place(factor);
  program_.exponent = exponent < 0 ? -1 : translator.place(exponent);
  std::copy_n(translator.uses, program_inputs, program_.uses);
  out.weight = Weight::program;
  out.normalised = rule.normalised;
  out.query_scale = static_cast<Real>(rule.scale * translator.read_as);
  out.program = &program_;
  return true;
}

template class ProgramNumbers<float>;
template class ProgramNumbers<double>;

} // namespace sightline::mixer::cpu

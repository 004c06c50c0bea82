#include "sightline/mixer/kernel_function.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sightline/mixer/scalar_functions.hpp"

namespace sightline::mixer {

using attention_kernel::Op;

template <class Real> void KernelFunction::run(const Real* x, const Real* y, Workspace<Real>& work) const {
  work.values.resize(static_cast<std::size_t>(size_));
  Real* const values = work.values.data();
  for (const Step& step : steps_) {
    Real* const out = values + step.offset;
    const std::int64_t count = step.is_vector ? width_ : 1;
    const auto operand = [&](std::int32_t index) {
      return
          [from = values + steps_[static_cast<std::size_t>(index)].offset,
           vector = steps_[static_cast<std::size_t>(index)].is_vector](std::int64_t c) { return from[vector ? c : 0]; };
    };
    if (step.is_log_sum_exp) {
      Real largest = -std::numeric_limits<Real>::infinity(), sum = 0;
      for (const std::int32_t k : step.summands) {
        const Real term = operand(k)(0);
        if (!(term <= largest))
          largest = term; // NaN too
      }
      for (const std::int32_t k : step.summands)
        sum += std::exp(operand(k)(0) - largest);
      out[0] = std::isinf(largest) ? largest : largest + std::log(sum);
      continue;
    }
    switch (step.op) {
    case Op::number:
      out[0] = static_cast<Real>(step.value);
      break;
    case Op::literal_vector:
      for (std::int64_t c = 0; c < count; ++c)
        out[c] = static_cast<Real>(step.constants[static_cast<std::size_t>(c)]);
      break;
    case Op::variable:
      std::copy_n(step.variable == 'x' ? x : y, width_, out);
      break;
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide: {
      const auto a = operand(step.left), b = operand(step.right);
      for (std::int64_t c = 0; c < count; ++c) {
        if (step.op == Op::add)
          out[c] = a(c) + b(c);
        else if (step.op == Op::subtract)
          out[c] = a(c) - b(c);
        else if (step.op == Op::multiply)
          out[c] = a(c) * b(c);
        else
          out[c] = step.zero_over_zero && b(c) == 0 ? Real(0) : a(c) / b(c);
      }
      break;
    }
    case Op::power: {
      const auto a = operand(step.left);
      if (step.right < 0) {
        for (std::int64_t c = 0; c < count; ++c)
          out[c] = raise(a(c), step.value);
      } else {
        const auto b = operand(step.right);
        for (std::int64_t c = 0; c < count; ++c)
          out[c] = std::pow(a(c), b(c));
      }
      break;
    }
    case Op::dot:
    case Op::norm2:
    case Op::norm: {
      const auto a = operand(step.left), b = operand(step.op == Op::dot ? step.right : step.left);
      Real sum = 0;
      for (std::int64_t c = 0; c < width_; ++c)
        sum += a(c) * b(c);
      out[0] = step.op == Op::norm ? std::sqrt(sum) : sum;
      break;
    }
    default: {
      const auto a = operand(step.left);
      for (std::int64_t c = 0; c < count; ++c)
        out[c] = apply_function(step.op, a(c));
    }
    }
  }
}

template <class Real>
PairWeight<Real> KernelFunction::evaluate(const Real* x, const Real* y, Workspace<Real>& work) const {
  run(x, y, work);
  PairWeight<Real> result;
  if (factor_ >= 0)
    result.factor = work.values[static_cast<std::size_t>(steps_[static_cast<std::size_t>(factor_)].offset)];
  if (exponent_ >= 0)
    result.exponent = work.values[static_cast<std::size_t>(steps_[static_cast<std::size_t>(exponent_)].offset)];
  return result;
}

template <class Real>
void KernelFunction::differentiate(const Real* x, const Real* y, Real of_factor, Real of_exponent, Real* dx, Real* dy,
                                   Workspace<Real>& work) const {
  run(x, y, work);
  work.gradients.assign(static_cast<std::size_t>(size_), Real(0));
  std::fill_n(dx, width_, Real(0));
  std::fill_n(dy, width_, Real(0));
  const Real* const values = work.values.data();
  Real* const gradients = work.gradients.data();
  if (factor_ >= 0)
    gradients[steps_[static_cast<std::size_t>(factor_)].offset] += of_factor;
  if (exponent_ >= 0)
    gradients[steps_[static_cast<std::size_t>(exponent_)].offset] += of_exponent;
  for (std::size_t at = steps_.size(); at-- > 0;) {
    const Step& step = steps_[at];
    if (step.op == Op::number || step.op == Op::literal_vector)
      continue;
    const Real* const g = gradients + step.offset;
    const Real* const out = values + step.offset;
    const std::int64_t count = step.is_vector ? width_ : 1;
    const auto value = [&](std::int32_t index, std::int64_t c) {
      const Step& from = steps_[static_cast<std::size_t>(index)];
      return values[from.offset + (from.is_vector ? c : 0)];
    };
    const auto add = [&](std::int32_t index, std::int64_t c, Real amount) {
      const Step& from = steps_[static_cast<std::size_t>(index)];
      gradients[from.offset + (from.is_vector ? c : 0)] += amount;
    };
    if (step.is_log_sum_exp) {
      for (const std::int32_t k : step.summands)
        add(k, 0, g[0] * std::exp(value(k, 0) - out[0]));
      continue;
    }
    switch (step.op) {
    case Op::variable:
      for (std::int64_t c = 0; c < width_; ++c)
        (step.variable == 'x' ? dx : dy)[c] += g[c];
      break;
    case Op::add:
    case Op::subtract:
      for (std::int64_t c = 0; c < count; ++c) {
        add(step.left, c, g[c]);
        add(step.right, c, step.op == Op::add ? g[c] : -g[c]);
      }
      break;
    case Op::multiply:
      for (std::int64_t c = 0; c < count; ++c) {
        add(step.left, c, g[c] * value(step.right, c));
        add(step.right, c, g[c] * value(step.left, c));
      }
      break;
    case Op::divide:
      for (std::int64_t c = 0; c < count; ++c) {
        if (step.zero_over_zero && value(step.right, c) == 0)
          continue;
        add(step.left, c, g[c] / value(step.right, c));
        add(step.right, c, -g[c] * out[c] / value(step.right, c));
      }
      break;
    case Op::power:
      for (std::int64_t c = 0; c < count; ++c) {
        if (step.right < 0) {
          if (step.value != 0)
            add(step.left, c, g[c] * static_cast<Real>(step.value) * raise(value(step.left, c), step.value - 1));
        } else {
          const Real base = value(step.left, c), exponent = value(step.right, c);
          add(step.left, c, g[c] * exponent * std::pow(base, exponent - 1));
          add(step.right, c, g[c] * out[c] * std::log(base));
        }
      }
      break;
    case Op::dot:
    case Op::norm2:
    case Op::norm: {
      const std::int32_t right = step.op == Op::dot ? step.right : step.left;
      if (step.op == Op::norm && out[0] == 0)
        break;
      for (std::int64_t c = 0; c < width_; ++c) {
        if (step.op == Op::norm) {
          add(step.left, c, g[0] * (value(step.left, c) / out[0]));
        } else {
          add(step.left, c, g[0] * value(right, c));
          add(right, c, g[0] * value(step.left, c));
        }
      }
      break;
    }
    default:
      for (std::int64_t c = 0; c < count; ++c)
        add(step.left, c, g[c] * derive_function(step.op, value(step.left, c), out[c]));
    }
  }
}

template PairWeight<float> KernelFunction::evaluate(const float*, const float*, Workspace<float>&) const;
template PairWeight<double> KernelFunction::evaluate(const double*, const double*, Workspace<double>&) const;
template void KernelFunction::differentiate(const float*, const float*, float, float, float*, float*,
                                            Workspace<float>&) const;
template void KernelFunction::differentiate(const double*, const double*, double, double, double*, double*,
                                            Workspace<double>&) const;

} // namespace sightline::mixer

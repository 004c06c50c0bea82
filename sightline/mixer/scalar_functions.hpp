// The functions of expressions on floating-point numbers, with derivatives.
#pragma once

#include <cmath>

#include "sightline/attention_kernel/expression.hpp"

namespace sightline::mixer {

/// base^exponent; whole exponents up to 64 by multiplication.
template <class Real> [[nodiscard]] Real raise(Real base, double exponent) {
  if (exponent == std::nearbyint(exponent) && std::abs(exponent) <= 64) {
    Real result = 1, square = base;
    for (unsigned rest = static_cast<unsigned>(std::abs(exponent)); rest != 0; rest >>= 1) {
      if (rest & 1)
        result *= square;
      square *= square;
    }
    return exponent < 0 ? Real(1) / result : result;
  }
  return std::pow(base, static_cast<Real>(exponent));
}

template <class Real> [[nodiscard]] Real sigmoid(Real t) {
  const Real small = std::exp(-std::abs(t));
  return (t >= 0 ? Real(1) : small) / (Real(1) + small);
}

/// The functions of one scalar. NaN stays NaN.
template <class Real> [[nodiscard]] Real apply_function(attention_kernel::Op op, Real t) {
  using attention_kernel::Op;
  switch (op) {
  case Op::negate:
    return -t;
  case Op::exp:
    return std::exp(t);
  case Op::log:
    return std::log(t);
  case Op::sqrt:
    return std::sqrt(t);
  case Op::cosh:
    return std::cosh(t);
  case Op::sinh:
    return std::sinh(t);
  case Op::cos:
    return std::cos(t);
  case Op::sin:
    return std::sin(t);
  case Op::tanh:
    return std::tanh(t);
  case Op::sigmoid:
    return sigmoid(t);
  case Op::softplus:
    return (t > 0 ? t : t < 0 ? Real(0) : t) + std::log1p(std::exp(-std::abs(t)));
  case Op::relu:
    return t > 0 ? t : t <= 0 ? Real(0) : t;
  case Op::elu:
    return t > 0 ? t : std::expm1(t);
  case Op::abs:
    return std::abs(t);
  default:
    return t;
  }
}

/// Their derivative at t, given value = f(t). 0 at the corners of relu and abs and where a root vanishes.
template <class Real> [[nodiscard]] Real derive_function(attention_kernel::Op op, Real t, Real value) {
  using attention_kernel::Op;
  switch (op) {
  case Op::negate:
    return -1;
  case Op::exp:
    return value;
  case Op::log:
    return Real(1) / t;
  case Op::sqrt:
    return value == 0 ? Real(0) : Real(0.5) / value;
  case Op::cosh:
    return std::sinh(t);
  case Op::sinh:
    return std::cosh(t);
  case Op::cos:
    return -std::sin(t);
  case Op::sin:
    return std::cos(t);
  case Op::tanh:
    return Real(1) - value * value;
  case Op::sigmoid:
    return value * (Real(1) - value);
  case Op::softplus:
    return sigmoid(t);
  case Op::relu:
    return t > 0 ? Real(1) : t <= 0 ? Real(0) : t;
  case Op::elu:
    return t > 0 ? Real(1) : value + Real(1);
  case Op::abs:
    return t > 0 ? Real(1) : t < 0 ? Real(-1) : t;
  default:
    return 1;
  }
}

} // namespace sightline::mixer

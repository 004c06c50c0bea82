// Attention kernels as numbers: the weight of one pair, its derivatives, and the form that vectorises.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/attention_kernel/kernel.hpp"

namespace sightline::mixer {

/// k(x, y) = factor * exp(exponent). Exponentials that multiply the whole kernel are kept as exponents, so that a
/// normalised row can subtract its largest one before anything overflows (softmax: factor 1; Performer: the exponent is
/// the logarithm of its sum).
template <class Real> struct PairWeight { Real factor = 1, exponent = 0; };

/// The kernel as a function of p = dot(x, y), a = norm2(x), b = norm2(y) alone. Slot 0 holds p, 1 a, 2 b, and step k
/// writes slot 3 + k from the slots left and right (number: value). Operations are those of scalars: number, add,
/// subtract, multiply, divide, power (slot `right` is a number: the exponent), negate, and the functions. relu may
/// stand for "rounding made a squared length negative". sqrt and abs have derivative 0 at 0, relu too.
struct ScalarProgram {
  struct Step {
    attention_kernel::Op op = attention_kernel::Op::number;
    std::int32_t left = -1, right = -1;
    double value = 0;
  };
  std::vector<Step> steps;
  std::int32_t factor = -1;    ///< slot of the factor; -1: the factor is 1
  std::int32_t exponent = -1;  ///< slot of the exponent; -1: the exponent is 0
  bool zero_over_zero = false; ///< a quotient by 0 is 0, its derivatives too (cosine of a zero vector)
};

/// A kernel for vectors of one width. Immutable; evaluation needs a workspace per thread.
class KernelFunction {
public:
  /// Values and derivatives of the steps, reused between calls.
  template <class Real> struct Workspace { std::vector<Real> values, gradients; };

  /// Throws ArgumentError when features or weights have another width, InputError when literal vectors of an expression
  /// have.
  KernelFunction(const attention_kernel::Kernel& kernel, std::int64_t width);

  /// True when the factor is 1 for every pair: the kernel is an exponential.
  [[nodiscard]] bool is_exponential() const { return factor_ < 0; }
  /// True when the exponent is 0 for every pair.
  [[nodiscard]] bool has_no_exponent() const { return exponent_ < 0; }
  /// Present when the kernel depends on dot(x, y), norm2(x), norm2(y) alone (softmax, gaussian, cauchy, laplace, relu2,
  /// cosine and most expressions; not elu1, performer, exponential-sum).
  [[nodiscard]] const std::optional<ScalarProgram>& scalar_program() const { return scalar_; }

  /// O(steps * width). The same operations for every pair. Where the mathematics is undefined: the cosine of a zero
  /// vector has exponent 0; expressions give what the arithmetic gives.
  template <class Real>
  [[nodiscard]] PairWeight<Real> evaluate(const Real* x, const Real* y, Workspace<Real>& work) const;
  /// WRITES to dx and dy the derivatives of factor * of_factor + exponent * of_exponent (where of_... are given
  /// numbers). Lengths and roots have derivative 0 where they vanish.
  template <class Real>
  void differentiate(const Real* x, const Real* y, Real of_factor, Real of_exponent, Real* dx, Real* dy,
                     Workspace<Real>& work) const;

  /// One operation on numbers or rows, in the order of evaluation.
  struct Step {
    attention_kernel::Op op = attention_kernel::Op::number;
    bool is_vector = false, is_log_sum_exp = false, zero_over_zero = false;
    std::int32_t left = -1, right = -1;
    double value = 0;
    std::vector<double> constants;      // literal vectors
    std::vector<std::int32_t> summands; // log_sum_exp
    std::int64_t offset = 0;            // of its value in the workspace
    char variable = 0;
  };
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] std::int32_t factor() const { return factor_; } ///< the step of the factor; -1: it is 1

private:
  friend class KernelCompiler;
  template <class Real> void run(const Real* x, const Real* y, Workspace<Real>& work) const;

  std::int64_t width_ = 0, size_ = 0;
  std::vector<Step> steps_;
  std::int32_t factor_ = -1, exponent_ = -1;
  std::optional<ScalarProgram> scalar_;
};

/// The function of a kernel, compiled at most once for the kernels that a thread used last. Throws as the constructor.
[[nodiscard]] std::shared_ptr<const KernelFunction> find_kernel_function(const attention_kernel::Kernel& kernel,
                                                                         std::int64_t width);

/// The double nearest to a rational (to even on a tie).
[[nodiscard]] double nearest_double(const mpq_class& value);

} // namespace sightline::mixer

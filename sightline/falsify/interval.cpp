#include "sightline/falsify/interval.hpp"

#include <utility>

namespace sightline::falsify {
namespace {

using Function = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);

Interval increasing(const Interval& a, Function function) {
  Interval result(a.bits());
  function(result.low(), a.low(), MPFR_RNDD);
  function(result.high(), a.high(), MPFR_RNDU);
  result.check();
  return result;
}

/// cos and sin move by at most the width of their argument, so value(low) +- width encloses them; always within [-1, 1].
Interval oscillating(const Interval& a, Function function) {
  if (!mpfr_number_p(a.low()) || !mpfr_number_p(a.high())) throw Undefined{};
  Interval result(a.bits()), width(a.bits());
  mpfr_sub(width.high(), a.high(), a.low(), MPFR_RNDU);
  function(result.low(), a.low(), MPFR_RNDD);
  function(result.high(), a.low(), MPFR_RNDU);
  mpfr_sub(result.low(), result.low(), width.high(), MPFR_RNDD);
  mpfr_add(result.high(), result.high(), width.high(), MPFR_RNDU);
  if (mpfr_cmp_si(result.low(), -1) < 0) mpfr_set_si(result.low(), -1, MPFR_RNDD);
  if (mpfr_cmp_si(result.high(), 1) > 0) mpfr_set_si(result.high(), 1, MPFR_RNDU);
  return result;
}

std::string print_end(mpfr_srcptr end, mpfr_rnd_t rounding) {
  if (mpfr_inf_p(end)) return mpfr_sgn(end) > 0 ? "inf" : "-inf";
  char* text = nullptr;
  mpfr_asprintf(&text, rounding == MPFR_RNDD ? "%.20RDe" : "%.20RUe", end);
  std::string result = text;
  mpfr_free_str(text);
  return result;
}

Interval natural_power(const Interval& a, unsigned long exponent) {
  Interval result(a.bits());
  if (exponent % 2 == 1) {
    mpfr_pow_ui(result.low(), a.low(), exponent, MPFR_RNDD);
    mpfr_pow_ui(result.high(), a.high(), exponent, MPFR_RNDU);
  } else {
    const Interval size = abs(a);
    mpfr_pow_ui(result.low(), size.low(), exponent, MPFR_RNDD);
    mpfr_pow_ui(result.high(), size.high(), exponent, MPFR_RNDU);
  }
  result.check();
  return result;
}

}  // namespace

Interval::Interval(long bits) {
  mpfr_init2(low_, bits);
  mpfr_init2(high_, bits);
  mpfr_set_zero(low_, 1);
  mpfr_set_zero(high_, 1);
}

Interval::Interval(const mpq_class& value, long bits) : Interval(bits) {
  mpfr_set_q(low_, value.get_mpq_t(), MPFR_RNDD);
  mpfr_set_q(high_, value.get_mpq_t(), MPFR_RNDU);
}

Interval::Interval(double low, double high, long bits) : Interval(bits) {
  mpfr_set_d(low_, low, MPFR_RNDD);
  mpfr_set_d(high_, high, MPFR_RNDU);
  check();
}

Interval::Interval(const Interval& other) : Interval(other.bits()) {
  mpfr_set(low_, other.low_, MPFR_RNDD);
  mpfr_set(high_, other.high_, MPFR_RNDU);
}

Interval& Interval::operator=(const Interval& other) {
  if (this == &other) return *this;
  mpfr_set_prec(low_, mpfr_get_prec(other.low_));
  mpfr_set_prec(high_, mpfr_get_prec(other.high_));
  mpfr_set(low_, other.low_, MPFR_RNDD);
  mpfr_set(high_, other.high_, MPFR_RNDU);
  return *this;
}

Interval::~Interval() {
  mpfr_clear(low_);
  mpfr_clear(high_);
}

bool Interval::contains(const Interval& other) const {
  return mpfr_lessequal_p(low_, other.low_) != 0 && mpfr_lessequal_p(other.high_, high_) != 0;
}

std::string Interval::print_low() const { return print_end(low_, MPFR_RNDD); }
std::string Interval::print_high() const { return print_end(high_, MPFR_RNDU); }

void Interval::check() const {
  if (mpfr_nan_p(low_) || mpfr_nan_p(high_) || mpfr_lessequal_p(low_, high_) == 0) throw Undefined{};
}

Interval operator+(const Interval& a, const Interval& b) {
  Interval result(a.bits());
  mpfr_add(result.low(), a.low(), b.low(), MPFR_RNDD);
  mpfr_add(result.high(), a.high(), b.high(), MPFR_RNDU);
  result.check();
  return result;
}

Interval operator-(const Interval& a) {
  Interval result(a.bits());
  mpfr_neg(result.low(), a.high(), MPFR_RNDD);
  mpfr_neg(result.high(), a.low(), MPFR_RNDU);
  return result;
}

Interval operator-(const Interval& a, const Interval& b) { return a + (-b); }

Interval operator*(const Interval& a, const Interval& b) {
  Interval result(a.bits()), end(a.bits());
  bool first = true;
  for (mpfr_srcptr x : {a.low(), a.high()}) {
    for (mpfr_srcptr y : {b.low(), b.high()}) {
      mpfr_mul(end.low(), x, y, MPFR_RNDD);
      mpfr_mul(end.high(), x, y, MPFR_RNDU);
      if (mpfr_nan_p(end.low())) throw Undefined{};  // 0 times infinity
      if (first || mpfr_less_p(end.low(), result.low())) mpfr_set(result.low(), end.low(), MPFR_RNDD);
      if (first || mpfr_greater_p(end.high(), result.high())) mpfr_set(result.high(), end.high(), MPFR_RNDU);
      first = false;
    }
  }
  return result;
}

Interval operator/(const Interval& a, const Interval& b) {
  if (!b.excludes_zero()) throw Undefined{};
  Interval inverse(a.bits());
  mpfr_ui_div(inverse.low(), 1, b.high(), MPFR_RNDD);
  mpfr_ui_div(inverse.high(), 1, b.low(), MPFR_RNDU);
  return a * inverse;
}

Interval exp(const Interval& a) { return increasing(a, mpfr_exp); }
Interval expm1(const Interval& a) { return increasing(a, mpfr_expm1); }

Interval log(const Interval& a) {
  if (mpfr_sgn(a.low()) <= 0) throw Undefined{};
  return increasing(a, mpfr_log);
}

Interval log1p(const Interval& a) {
  if (mpfr_cmp_si(a.low(), -1) <= 0) throw Undefined{};
  return increasing(a, mpfr_log1p);
}

Interval sqrt(const Interval& a) {
  if (mpfr_sgn(a.low()) < 0) throw Undefined{};
  return increasing(a, mpfr_sqrt);
}

Interval cosh(const Interval& a) { return increasing(abs(a), mpfr_cosh); }
Interval sinh(const Interval& a) { return increasing(a, mpfr_sinh); }
Interval tanh(const Interval& a) { return increasing(a, mpfr_tanh); }
Interval cos(const Interval& a) { return oscillating(a, mpfr_cos); }
Interval sin(const Interval& a) { return oscillating(a, mpfr_sin); }

Interval abs(const Interval& a) {
  if (mpfr_sgn(a.low()) >= 0) return a;
  if (mpfr_sgn(a.high()) <= 0) return -a;
  Interval result(a.bits());
  const Interval opposite = -a;
  mpfr_max(result.high(), a.high(), opposite.high(), MPFR_RNDU);
  return result;
}

Interval square(const Interval& a) { return natural_power(a, 2); }

Interval maximum(const Interval& a, const Interval& b) {
  Interval result(a.bits());
  mpfr_max(result.low(), a.low(), b.low(), MPFR_RNDD);
  mpfr_max(result.high(), a.high(), b.high(), MPFR_RNDU);
  return result;
}

Interval minimum(const Interval& a, const Interval& b) { return -maximum(-a, -b); }

Interval power(const Interval& a, const mpq_class& exponent) {
  if (exponent == 0) return Interval(mpq_class(1), a.bits());
  if (exponent < 0) return Interval(mpq_class(1), a.bits()) / power(a, -exponent);
  if (exponent.get_den() == 1 && exponent.get_num().fits_ulong_p()) return natural_power(a, exponent.get_num().get_ui());
  if (mpfr_zero_p(a.low()) && mpfr_zero_p(a.high())) return a;
  return exp(Interval(exponent, a.bits()) * log(a));
}

}  // namespace sightline::falsify

#include "exact.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace checker {
namespace {

using Limbs = std::vector<std::uint32_t>;

void trim(Limbs& limbs) {
  while (!limbs.empty() && limbs.back() == 0) limbs.pop_back();
}

/// Divides in place, returns the remainder.
std::uint32_t divide_by_limb(Limbs& limbs, std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::size_t k = limbs.size(); k-- > 0;) {
    const std::uint64_t part = rest << 32 | limbs[k];
    limbs[k] = static_cast<std::uint32_t>(part / divisor);
    rest = part % divisor;
  }
  trim(limbs);
  return static_cast<std::uint32_t>(rest);
}

}  // namespace

Natural::Natural(std::uint64_t value) {
  for (; value != 0; value >>= 32) limbs_.push_back(static_cast<std::uint32_t>(value));
}

Natural Natural::from_decimal(std::string_view digits) {
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos || (digits[0] == '0' && digits.size() > 1))
    throw std::domain_error("not a decimal number in canonical form");
  Natural out;
  for (const char c : digits) {
    std::uint64_t carry = static_cast<std::uint64_t>(c - '0');
    for (std::uint32_t& limb : out.limbs_) {
      carry += std::uint64_t{limb} * 10;
      limb = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) out.limbs_.push_back(static_cast<std::uint32_t>(carry));
  }
  return out;
}

std::string Natural::decimal() const {
  std::string reversed;
  for (Limbs rest = limbs_; !rest.empty();) {
    std::uint32_t part = divide_by_limb(rest, 1'000'000'000);
    for (int k = 0; k < 9 && (part != 0 || !rest.empty()); ++k, part /= 10) reversed += static_cast<char>('0' + part % 10);
  }
  return reversed.empty() ? "0" : std::string(reversed.rbegin(), reversed.rend());
}

std::size_t Natural::bits() const { return limbs_.empty() ? 0 : limbs_.size() * 32 - static_cast<std::size_t>(std::countl_zero(limbs_.back())); }

double Natural::to_double() const {
  double out = 0;
  for (std::size_t k = limbs_.size(); k-- > 0;) out = out * 4294967296.0 + limbs_[k];
  return out;
}

Natural operator+(const Natural& a, const Natural& b) {
  Natural out;
  std::uint64_t carry = 0;
  for (std::size_t k = 0; k < std::max(a.limbs_.size(), b.limbs_.size()) || carry != 0; ++k) {
    carry += std::uint64_t{k < a.limbs_.size() ? a.limbs_[k] : 0} + (k < b.limbs_.size() ? b.limbs_[k] : 0);
    out.limbs_.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  return out;
}

Natural operator-(const Natural& a, const Natural& b) {
  if (a < b) throw std::domain_error("a negative difference");
  Natural out;
  std::int64_t borrow = 0;
  for (std::size_t k = 0; k < a.limbs_.size(); ++k) {
    borrow += std::int64_t{a.limbs_[k]} - (k < b.limbs_.size() ? b.limbs_[k] : 0);
    out.limbs_.push_back(static_cast<std::uint32_t>(borrow));
    borrow >>= 32;
  }
  trim(out.limbs_);
  return out;
}

Natural operator*(const Natural& a, const Natural& b) {
  Natural out;
  out.limbs_.assign(a.limbs_.size() + b.limbs_.size(), 0);
  for (std::size_t i = 0; i < a.limbs_.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < b.limbs_.size() || carry != 0; ++j) {
      carry += out.limbs_[i + j] + (j < b.limbs_.size() ? std::uint64_t{a.limbs_[i]} * b.limbs_[j] : 0);
      out.limbs_[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  trim(out.limbs_);
  return out;
}

Natural operator/(const Natural& a, const Natural& b) {
  if (b.is_zero()) throw std::domain_error("division by 0");
  if (b.limbs_.size() == 1) {
    Natural out = a;
    divide_by_limb(out.limbs_, b.limbs_[0]);
    return out;
  }
  // Limb by limb from the top (Knuth 4.3.1 D). Both are doubled until the first limb of the divisor has its top bit: a digit guessed from
  // two limbs is then at most two too large, and is put right.
  Natural out;
  if (a < b) return out;
  const Natural scale = std::uint64_t{1} << std::countl_zero(b.limbs_.back());
  const Limbs divisor = (b * scale).limbs_;
  Limbs rest = (a * scale).limbs_;
  const std::size_t n = divisor.size();
  rest.resize(std::max(rest.size(), a.limbs_.size()) + 1, 0);
  out.limbs_.assign(rest.size() - n, 0);
  for (std::size_t j = out.limbs_.size(); j-- > 0;) {
    const std::uint64_t top = std::uint64_t{rest[j + n]} << 32 | rest[j + n - 1];
    std::uint64_t digit = std::min<std::uint64_t>(top / divisor[n - 1], 0xffffffff), carry = 0;
    std::int64_t borrow = 0;
    for (std::size_t k = 0; k <= n; ++k) {
      carry += k < n ? digit * divisor[k] : 0;
      borrow += std::int64_t{rest[j + k]} - static_cast<std::int64_t>(carry & 0xffffffff);
      rest[j + k] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
      carry >>= 32;
    }
    for (; borrow != 0; --digit) {
      std::uint64_t sum = 0;
      for (std::size_t k = 0; k <= n; ++k) {
        sum += std::uint64_t{rest[j + k]} + (k < n ? divisor[k] : 0);
        rest[j + k] = static_cast<std::uint32_t>(sum);
        sum >>= 32;
      }
      borrow += static_cast<std::int64_t>(sum);
    }
    out.limbs_[j] = static_cast<std::uint32_t>(digit);
  }
  trim(out.limbs_);
  return out;
}

Natural operator%(const Natural& a, const Natural& b) { return a - a / b * b; }

bool operator<(const Natural& a, const Natural& b) {
  if (a.limbs_.size() != b.limbs_.size()) return a.limbs_.size() < b.limbs_.size();
  return std::lexicographical_compare(a.limbs_.rbegin(), a.limbs_.rend(), b.limbs_.rbegin(), b.limbs_.rend());
}

Natural power(const Natural& base, std::uint64_t exponent) {
  Natural out = 1, square = base;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) out = out * square;
    if (exponent > 1) square = square * square;
  }
  return out;
}

Natural gcd(Natural a, Natural b) {
  while (!b.is_zero()) {
    Natural rest = a % b;
    a = std::move(b);
    b = std::move(rest);
  }
  return a;
}

Rational::Rational(std::int64_t value)
    : numerator_(value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value)), negative_(value < 0) {}

Rational::Rational(Natural numerator, Natural denominator, bool negative) : negative_(negative && !numerator.is_zero()) {
  if (denominator.is_zero()) throw std::domain_error("division by 0");
  const Natural common = gcd(numerator, denominator);
  numerator_ = numerator / common;
  denominator_ = denominator / common;
}

std::string Rational::text() const { return (negative_ ? "-" : "") + numerator_.decimal() + (denominator_ == 1 ? "" : "/" + denominator_.decimal()); }

Rational operator+(const Rational& a, const Rational& b) {
  const Natural left = a.numerator_ * b.denominator_, right = b.numerator_ * a.denominator_, below = a.denominator_ * b.denominator_;
  if (a.negative_ == b.negative_) return {left + right, below, a.negative_};
  return left < right ? Rational(right - left, below, b.negative_) : Rational(left - right, below, a.negative_);
}

Rational operator-(const Rational& a, const Rational& b) { return a + Rational(b.numerator_, b.denominator_, !b.negative_); }

Rational operator*(const Rational& a, const Rational& b) {
  return {a.numerator_ * b.numerator_, a.denominator_ * b.denominator_, a.negative_ != b.negative_};
}

Rational operator/(const Rational& a, const Rational& b) {
  return {a.numerator_ * b.denominator_, a.denominator_ * b.numerator_, a.negative_ != b.negative_};
}

bool operator<(const Rational& a, const Rational& b) { return (a - b).negative_; }

}  // namespace checker

#include "sightline/attention_kernel/surd.hpp"

#include <cmath>

namespace sightline::attention_kernel {
namespace {

// n = square^2 * free with `free` square-free. Below 10^9 what trial division up to 1000 leaves has at most two prime
// factors, so it is square-free unless it is a perfect square.
void split_square(mpz_class n, mpz_class& square, mpz_class& free) {
  square = 1;
  free = 1;
  for (unsigned long p = 2; p <= 1000 && n != 1; ++p) {
    while (mpz_divisible_ui_p(n.get_mpz_t(), p * p)) { n /= p * p; square *= p; }
    if (mpz_divisible_ui_p(n.get_mpz_t(), p)) { n /= p; free *= p; }
  }
  if (n == 1) return;
  if (mpz_perfect_square_p(n.get_mpz_t())) { square *= sqrt(n); return; }
  if (n >= 1000000000) throw OutOfScope{};
  free *= n;
}

unsigned long smallest_factor(const mpz_class& n) {
  for (unsigned long p = 2; p <= 1000; ++p) if (mpz_divisible_ui_p(n.get_mpz_t(), p)) return p;
  return 0;
}

}  // namespace

Surd Surd::square_root(const mpq_class& value) {
  if (value < 0) throw OutOfScope{};
  if (value == 0) return {};
  mpz_class square, free, square2, free2;
  split_square(value.get_num(), square, free);
  split_square(value.get_den(), square2, free2);
  const mpq_class factor = mpq_class(square) / (square2 * free2);
  Surd result;
  const mpz_class radicand = free * free2;  // coprime, so square-free
  if (radicand == 1) result.rational_ = factor; else result.roots_[radicand] = factor;
  return result;
}

int Surd::sign() const {
  if (roots_.empty()) return sgn(rational_);
  for (unsigned long bits = 128; bits <= 65536; bits *= 2) {
    mpf_class value(rational_, bits), size(abs(value), bits);
    for (const auto& [radicand, factor] : roots_) {
      mpf_class root(radicand, bits), term(factor, bits);
      mpf_sqrt(root.get_mpf_t(), root.get_mpf_t());
      term *= root;
      value += term;
      size += abs(term);
    }
    mpf_class error = size;
    mpf_div_2exp(error.get_mpf_t(), error.get_mpf_t(), bits - 32);
    if (abs(value) > error) return sgn(value);
  }
  throw OutOfScope{};
}

double Surd::approximate() const {
  double value = rational_.get_d();
  for (const auto& [radicand, factor] : roots_) value += factor.get_d() * std::sqrt(radicand.get_d());
  return value;
}

double Surd::magnitude() const {
  double value = std::abs(rational_.get_d());
  for (const auto& [radicand, factor] : roots_) value += std::abs(factor.get_d()) * std::sqrt(radicand.get_d());
  return value;
}

Surd& Surd::operator+=(const Surd& other) {
  rational_ += other.rational_;
  for (const auto& [radicand, factor] : other.roots_) {
    mpq_class& mine = roots_[radicand];
    mine += factor;
    if (mine == 0) roots_.erase(radicand);
  }
  return *this;
}

Surd& Surd::operator-=(const Surd& other) {
  rational_ -= other.rational_;
  for (const auto& [radicand, factor] : other.roots_) {
    mpq_class& mine = roots_[radicand];
    mine -= factor;
    if (mine == 0) roots_.erase(radicand);
  }
  return *this;
}

Surd& Surd::operator*=(const Surd& other) {
  if (roots_.empty() && other.roots_.empty()) {
    rational_ *= other.rational_;
    return *this;
  }
  Surd result;
  auto add = [&](const mpz_class& radicand, const mpq_class& factor) {
    if (factor == 0) return;
    if (radicand == 1) { result.rational_ += factor; return; }
    mpq_class& mine = result.roots_[radicand];
    mine += factor;
    if (mine == 0) result.roots_.erase(radicand);
  };
  auto multiply = [&](const mpz_class& a, const mpq_class& p, const mpz_class& b, const mpq_class& q) {
    const mpz_class common = gcd(a, b);
    add((a / common) * (b / common), p * q * common);
  };
  const mpz_class one = 1;
  multiply(one, rational_, one, other.rational_);
  for (const auto& [b, q] : other.roots_) multiply(one, rational_, b, q);
  for (const auto& [a, p] : roots_) {
    multiply(a, p, one, other.rational_);
    for (const auto& [b, q] : other.roots_) multiply(a, p, b, q);
  }
  return *this = std::move(result);
}

Surd Surd::inverse() const {
  if (is_zero()) throw OutOfScope{};
  if (roots_.empty()) return Surd(mpq_class(1 / rational_));
  // The automorphism that flips the sign of the root of one prime removes that prime from number times conjugate.
  const mpz_class& first = roots_.begin()->first;
  const unsigned long prime = smallest_factor(first);
  const mpz_class divisor = prime != 0 ? mpz_class(prime) : first;
  Surd conjugate = *this;
  for (auto& [radicand, factor] : conjugate.roots_) {
    if (prime == 0 && radicand != first && gcd(radicand, first) != 1) throw OutOfScope{};
    if (radicand % divisor == 0) factor = -factor;
  }
  return conjugate * (*this * conjugate).inverse();
}

std::string Surd::print() const {
  std::string out = rational_ != 0 || roots_.empty() ? rational_.get_str() : "";
  for (const auto& [radicand, factor] : roots_) {
    if (!out.empty()) out += factor < 0 ? " - " : " + ";
    else if (factor < 0) out += "-";
    const mpq_class size = abs(factor);
    if (size != 1) out += size.get_str() + " ";
    out += "sqrt(" + radicand.get_str() + ")";
  }
  return out;
}

bool key_less(const Surd& a, const Surd& b) {
  if (a.rational_ != b.rational_) return a.rational_ < b.rational_;
  return a.roots_ < b.roots_;
}

std::optional<Surd> power(const Surd& value, const mpq_class& exponent) {
  if (exponent.get_den() == 2 && value.is_rational() && value.rational() >= 0) {
    const Surd root = Surd::square_root(value.rational());
    return power(root, exponent.get_num());
  }
  if (exponent.get_den() != 1 || abs(exponent) > 4096) return value == Surd(1) ? std::optional<Surd>(1) : std::nullopt;
  long n = exponent.get_num().get_si();
  if (n < 0 && value.is_zero()) return std::nullopt;
  Surd base = n < 0 ? value.inverse() : value, result = 1;
  for (n = std::labs(n); n > 0; n /= 2) {
    if (n % 2 == 1) result *= base;
    if (n > 1) base *= base;
  }
  return result;
}

}  // namespace sightline::attention_kernel

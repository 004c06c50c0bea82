#include "sightline/architecture/number_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "sightline/base/error.hpp"

namespace sightline::architecture {

std::string print_number(double value) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value < 0 ? "-inf" : "inf";
  std::string text = fmt::format("{}", value);
  if (std::fabs(value) >= 1e15 && std::fabs(value) < 1e16) { // canonical JSON (docs/certificate.md) has an exponent here, fmt has none yet
    std::erase(text, '.');
    while (text.back() == '0')
      text.pop_back();
    const std::size_t behind_first = text.front() == '-' ? 2 : 1;
    if (text.size() > behind_first)
      text.insert(behind_first, 1, '.');
    return text + "e+15";
  }
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0";
  return text;
}

mpq_class to_rational(double value) {
  if (!std::isfinite(value))
    throw ArgumentError("to_rational: the number is not finite");
  std::string text = fmt::format("{}", value);
  long exponent = 0;
  if (const auto e = text.find('e'); e != std::string::npos) {
    exponent = std::stol(text.substr(e + 1));
    text.resize(e);
  }
  if (const auto point = text.find('.'); point != std::string::npos) {
    exponent -= static_cast<long>(text.size() - point - 1);
    text.erase(point, 1);
  }
  mpz_class power;
  mpz_ui_pow_ui(power.get_mpz_t(), 10, static_cast<unsigned long>(std::abs(exponent)));
  mpq_class result = exponent < 0 ? mpq_class(mpz_class(text, 10), power) : mpq_class(mpz_class(text, 10) * power);
  result.canonicalize();
  return result;
}

std::optional<double> to_double(const mpq_class& value) {
  // GMP truncates; the double we want is that one or the next one away from zero.
  const double truncated = value.get_d();
  for (const double candidate : {truncated, std::nextafter(truncated, sgn(value) < 0 ? -HUGE_VAL : HUGE_VAL)})
    if (std::isfinite(candidate) && to_rational(candidate) == value)
      return candidate;
  return std::nullopt;
}

}  // namespace sightline::architecture

#include "sightline/falsify/prober.hpp"

#include <fmt/format.h>

#include "sightline/base/error.hpp"

namespace sightline::falsify {
namespace {

std::vector<double> flatten(const Sample& sample) {
  std::vector<double> result;
  for (const Token& token : sample) {
    for (const mpq_class& entry : token) result.push_back(entry.get_d());
  }
  return result;
}

std::vector<double> to_doubles(const Parameters& theta) {
  std::vector<double> result;
  for (const mpq_class& value : theta) result.push_back(value.get_d());
  return result;
}

}  // namespace

Prober::Prober(const Mixer& mixer, std::size_t tokens, std::size_t dim, double call_seconds, const Budget& budget)
    : mixer_(mixer), dim_(dim), budget_(budget) {
  if (mixer.kind != MixerKind::library) return;
  library_ = std::make_unique<Library>(mixer.text, static_cast<std::uint32_t>(tokens), static_cast<std::uint32_t>(dim), call_seconds, budget);
}

Parameters Prober::draw(std::mt19937_64& random, std::uint32_t attempt) const {
  const std::size_t count = library_ ? library_->parameters() : count_parameters(mixer_, dim_);
  // Samples of a library are small (see falsify()), so its parameters may be larger.
  const long denominator = library_ ? 16L >> (attempt % 4) : 16L << (2 * (attempt % 4));
  Parameters theta;
  for (std::size_t k = 0; k < count; ++k) {
    mpq_class value(static_cast<long>(random() % 33) - 16, denominator);
    value.canonicalize();
    theta.push_back(value);
  }
  return theta;
}

std::vector<Interval> Prober::enclose(const Sample& sample, std::size_t i, const Parameters& theta, long bits) {
  if (!library_) return evaluate(mixer_, sample, i, theta, bits, budget_);
  const std::vector<double> ends = library_->enclose(flatten(sample), to_doubles(theta));
  std::vector<Interval> result;
  for (std::size_t k = 0; k < dim_; ++k) result.emplace_back(ends[2 * (i * dim_ + k)], ends[2 * (i * dim_ + k) + 1], bits);
  return result;
}

std::vector<double> Prober::compute(const Sample& sample, const Parameters& theta) {
  const std::vector<double> x = flatten(sample), parameters = to_doubles(theta);
  std::vector<double> values = library_->evaluate(x, parameters);
  if (!library_->has_interval()) return values;
  const std::vector<double> ends = library_->enclose(x, parameters);
  for (std::size_t k = 0; k < values.size(); ++k) {
    // A correct enclosure may miss the rounded value by rounding alone.
    const double slack = 1e-6 * (1 + std::abs(values[k]));
    if (values[k] < ends[2 * k] - slack || values[k] > ends[2 * k + 1] + slack) {
      throw InputError(fmt::format("{}: sightline_mixer gave {} for token {}, entry {}, outside the enclosure [{}, {}] of sightline_mixer_interval", mixer_.text,
                                   values[k], k / dim_, k % dim_, ends[2 * k], ends[2 * k + 1]));
    }
  }
  return values;
}

}  // namespace sightline::falsify

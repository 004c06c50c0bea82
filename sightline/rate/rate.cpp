#include "sightline/rate/rate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/base/error.hpp"
#include "sightline/linear_algebra/linear_algebra.hpp"

namespace sightline::rate {
namespace {

constexpr double zero_share = 1e-13;

/// Quantile 0.975 of Student's t (Cornish and Fisher's expansion; off by less than 0.1 % from 3 degrees of freedom on).
double student(double freedom) {
  if (freedom < 1.5) return 12.706;
  if (freedom < 2.5) return 4.303;
  const double z = 1.959963985, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

int agreeing_digits(double a, double b) {
  if (a == b) return 16;
  const double size = std::max(std::fabs(a), std::fabs(b));
  return std::clamp(static_cast<int>(std::floor(-std::log10(2 * std::fabs(a - b) / size))), 0, 16);
}

double round_to(double value, int digits) { return digits >= 16 ? value : std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr); }

/// Everything that follows from the values: exponent, tail, head dimensions. `known`: how many are above the floor.
void conclude(Result& result, const std::vector<double>& sigma, std::size_t known, bool complete, const Options& options) {
  result.error = options.error.value_or(0.01);
  const std::size_t above = known;
  if (!result.rank || *result.rank >= 5) {
    std::size_t to = above;
    if (!result.rank && sigma.size() > 8) to = std::min(to, sigma.size() / 2);  // the last half of a discretisation bends down
    result.exponent = fit_exponent(sigma, 2, to);
  }
  for (std::size_t k = 0; k < above; ++k) result.norm_squared += sigma[k] * sigma[k];
  if (!complete && !result.rank && result.exponent && result.exponent->value > 0.5 && result.exponent->to > 0) {
    // sum over k > K of c^2 k^-2a, by its integral from K + 1/2.
    const double a = result.exponent->value, last = static_cast<double>(above);
    const double c = sigma[above - 1] * std::pow(last, a);
    result.tail_squared = c * c * std::pow(last + 0.5, 1 - 2 * a) / (2 * a - 1);
  } else if (!complete && !result.rank) {
    // What the values below the noise add up to is known far better than they are: all squares together are the mean of rho^2.
    for (std::size_t k = above; k < sigma.size(); ++k) result.tail_squared += sigma[k] * sigma[k];
    if (above == 0) result.notes.push_back("no value is certain: the two discretisations differ by a tenth in the first one; more --samples");
    else if (result.tail_squared > result.error * result.error * (result.norm_squared + result.tail_squared))
      result.notes.push_back(fmt::format("beyond the {} values that are certain lies {:.2g} of the squared norm, which the errors below include; more --samples", above, result.tail_squared / (result.norm_squared + result.tail_squared)));
  }
  result.norm_squared += result.tail_squared;
  if (result.norm_squared == 0 && (complete || (result.rank && *result.rank == 0))) {
    result.recommended = 1;
    result.notes.push_back("the score is 0");
  }
  double tail = result.norm_squared;
  std::vector<double> tails(above + 1, result.tail_squared);
  for (std::size_t k = above; k > 0; --k) tails[k - 1] = tails[k] + sigma[k - 1] * sigma[k - 1];
  for (std::size_t m = 1; m <= above; ++m) {
    tail = tails[m];
    if (!result.recommended && tail <= result.error * result.error * result.norm_squared) result.recommended = m;
    if (m <= options.count) result.predicted.push_back({m, std::sqrt(tail), tail});
  }
  if (!result.recommended && result.exponent && result.exponent->value > 0.5) {
    const double a = result.exponent->value, c = sigma[above - 1] * std::pow(static_cast<double>(above), a);
    const double wanted = result.error * result.error * result.norm_squared * (2 * a - 1) / (c * c);
    const double m = std::ceil(std::pow(wanted, 1 / (1 - 2 * a)));
    if (m < 1e15) {
      result.recommended = static_cast<std::size_t>(m);
      result.notes.push_back("the recommended head dimension lies beyond the values that were computed: it follows from the fitted exponent");
    }
  }
  if (result.exponent && std::fabs(result.exponent->curvature) > 0.5 * std::max(result.exponent->value, 0.1)) {
    result.notes.push_back(result.exponent->curvature > 0 ? "the values fall faster than any one power: the exponent describes this range only"
                                                          : "the values level off: the exponent describes this range only");
  }
}

}  // namespace

std::optional<Exponent> fit_exponent(const std::vector<double>& sigma, std::size_t from, std::size_t to) {
  to = std::min(to, sigma.size());
  if (to < from + 3) return std::nullopt;
  const auto slope = [&](std::size_t first, std::size_t last, double* half_width) {
    double n = 0, mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (std::size_t k = first; k <= last; ++k, ++n) { mean_x += std::log(static_cast<double>(k)); mean_y += std::log(sigma[k - 1]); }
    mean_x /= n;
    mean_y /= n;
    for (std::size_t k = first; k <= last; ++k) {
      const double x = std::log(static_cast<double>(k)) - mean_x, y = std::log(sigma[k - 1]) - mean_y;
      xx += x * x;
      xy += x * y;
      yy += y * y;
    }
    if (half_width != nullptr) *half_width = student(n - 2) * std::sqrt(std::max(yy - xy * xy / xx, 0.0) / ((n - 2) * xx));
    return -xy / xx;
  };
  for (std::size_t k = from; k <= to; ++k) if (!(sigma[k - 1] > 0)) return std::nullopt;
  Exponent result;
  double half_width = 0;
  result.value = slope(from, to, &half_width);
  result.low = result.value - half_width;
  result.high = result.value + half_width;
  result.from = from;
  result.to = to;
  const std::size_t middle = (from + to) / 2;
  if (to >= from + 5) result.curvature = slope(middle, to, nullptr) - slope(from, middle, nullptr);
  return result;
}

Result rate_score(const Score& score, const Measure& measure, const Options& options, const Budget& budget) {
  Result result;
  const bool one = measure.dim == 1 || measure.shape == Shape::circle;
  const std::size_t samples = options.samples != 0 ? options.samples : one ? 256 : 1024;
  result.diagonal = look_at_diagonal(score, measure, options.seed);
  const bool line = measure.dim == 1 && measure.shape != Shape::points && measure.shape != Shape::circle;
  const bool by_panels = line && result.diagonal != Diagonal::smooth;
  std::vector<double> coarse, fine;
  if (by_panels) {
    const std::size_t panel = std::max<std::size_t>(samples / 16, 2) * 16;  // so that the second one has twice as many
    coarse = panels(score, measure, panel, budget);
    fine = panels(score, measure, 2 * panel, budget);
    result.method = "panels of 16 Legendre functions, the diagonal ones in two triangles";
  } else {
    coarse = nystrom(score, measure, samples, options.seed, budget);
    std::size_t twice = 2 * samples;  // a product of Gauss rules needs more to have another point on each axis
    while (measure.shape != Shape::points && make_quadrature(measure, twice, options.seed).count <= coarse.size()) twice += samples;
    fine = nystrom(score, measure, twice, options.seed + 1, budget);
    const bool random = make_quadrature(measure, samples, options.seed).random;
    result.method = measure.shape == Shape::circle ? "Nystrom with equispaced points" : random ? "Nystrom with drawn points" : "Nystrom with Gauss points";
    if (random) result.notes.push_back("the points are drawn: digits come like the square root of --samples");
  }
  result.points = fine.size();
  if (result.diagonal == Diagonal::kink) {
    result.notes.push_back(by_panels ? "the score has a kink where the two tokens meet: it is integrated on both sides of it separately"
                                     : "the score has a kink where the two tokens meet: digits come slowly with --samples (only in one dimension the kink can be integrated exactly)");
  } else if (result.diagonal == Diagonal::cusp) {
    result.notes.push_back("the score is singular where the two tokens meet: digits come slowly with --samples");
  }
  const double first = fine.empty() ? 0 : fine[0], zero = zero_share * first;
  std::size_t known = 0;
  while (known < coarse.size() && fine[known] > zero && std::fabs(fine[known] - coarse[known]) < 0.1 * fine[known]) ++known;
  const bool vanishes = known < coarse.size() && fine[known] <= zero && coarse[known] <= zero;
  result.noise_floor = std::max(zero, known < coarse.size() ? std::max(std::fabs(fine[known] - coarse[known]), known > 0 && !vanishes ? fine[known] : 0.0) : 0.0);
  if (first == 0) result.rank = 0;
  else if (vanishes && known * 3 <= coarse.size()) {
    // A gap tells finite rank from fast decay, whose last values lie just above the floor.
    if (known == 0 || fine[known - 1] > 1e4 * std::max(fine[known], 1e-17 * first)) result.rank = known;
  }
  for (std::size_t k = 0; k < std::min(options.count, coarse.size()); ++k) {
    if (fine[k] <= zero && coarse[k] <= zero) {
      result.sigma.push_back(0);
      result.digits.push_back(17);
      continue;
    }
    const int digits = agreeing_digits(fine[k], coarse[k]);
    if (digits == 0 || k >= known) break;
    result.sigma.push_back(round_to(fine[k], digits));
    result.digits.push_back(digits);
  }
  conclude(result, fine, known, vanishes, options);
  return result;
}

Result rate_logits(const std::vector<double>& logits, std::size_t count, std::size_t tokens, bool each, double relative_precision, const Options& options,
                   const Budget& budget) {
  const std::size_t size = tokens * tokens;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (!std::isfinite(logits[k])) throw InputError(fmt::format("sample {}, row {}, column {}: expected a finite number, found {}", k / size, k % size / tokens, k % tokens, std::isnan(logits[k]) ? "nan" : logits[k] > 0 ? "inf" : "-inf"));
  }
  const auto values = [&](const double* from, std::size_t samples) {
    linear_algebra::Matrix matrix(tokens, tokens);
    for (std::size_t s = 0; s < samples; ++s) for (std::size_t k = 0; k < size; ++k) matrix.data[k] += from[s * size + k] / static_cast<double>(samples);
    return linear_algebra::singular_values(std::move(matrix), budget);
  };
  const auto describe = [&](const std::vector<double>& sigma) {
    Result result;
    result.points = tokens;
    const double first = sigma.empty() ? 0 : sigma[0];
    // Rounding of the stored numbers is a matrix whose norm is about precision * largest entry * sqrt(tokens).
    result.noise_floor = first * std::max(relative_precision * std::sqrt(static_cast<double>(tokens)), zero_share);
    std::size_t known = 0;
    while (known < sigma.size() && sigma[known] > result.noise_floor) ++known;
    if (known < sigma.size() && (known == 0 || sigma[known - 1] > 1e3 * std::max(sigma[known], 1e-300))) result.rank = known;
    const int digits = relative_precision > 1e-10 ? 6 : 14;
    for (std::size_t k = 0; k < std::min(options.count, sigma.size()); ++k) {
      result.sigma.push_back(k < known ? round_to(sigma[k], digits) : 0);
      result.digits.push_back(k < known ? digits : 17);
    }
    conclude(result, sigma, known, true, options);
    // Means over all pairs of tokens, as they are means over the measure of a score.
    for (Head& head : result.predicted) {
      head.l2squared /= static_cast<double>(size);
      head.l1 = std::sqrt(head.l2squared);
    }
    return result;
  };
  Result result = describe(values(logits.data(), count));
  result.method = count > 1 ? fmt::format("singular values of the mean of {} logit matrices", count) : "singular values of the logits";
  if (each) {
    for (std::size_t s = 0; s < count; ++s) {
      budget.poll();
      budget.report("samples", static_cast<double>(s) / static_cast<double>(count));
      result.each.push_back(describe(values(logits.data() + s * size, 1)));
    }
  }
  return result;
}

}  // namespace sightline::rate

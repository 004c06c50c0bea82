#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/approximate/approximate.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/data/dataset.hpp"
#include "sightline/data/file_bytes.hpp"

namespace sightline::approximate {
namespace {

/// Tokens and width of x, from its header; the reader of data sets has to be told them.
std::vector<std::uint64_t> shape_of_x(const std::string& file, const Budget& budget) {
  const data::FileBytes bytes(file, budget);
  try {
    NpzArchive archive(bytes.view());
    for (std::size_t k = 0; k < archive.names().size(); ++k) {
      if (archive.names()[k] != "x") continue;
      const std::string entry = archive.unpack(k, std::uint64_t{1} << 40, budget);
      return parse_npy(entry).shape;
    }
  } catch (const NpyError& error) {
    throw InputError(fmt::format("{}: expected {}, found {}", file, error.expected, error.found));
  }
  throw InputError(fmt::format("{}: x: expected an array, found none", file));
}

void append(const data::Part& part, const std::string& file, Samples& samples) {
  for (std::int64_t length : part.lengths) {
    if (static_cast<std::size_t>(length) != samples.tokens) throw InputError(fmt::format("{}: lengths: expected {} tokens in every sample, found {}", file, samples.tokens, length));
  }
  if (part.y->is_integer()) throw InputError(fmt::format("{}: y: expected floats, found classes", file));
  const std::vector<double> x = data::to_doubles(part.x), y = data::to_doubles(*part.y);
  const std::size_t width = part.y->shape[2];
  if (samples.width != 0 && samples.width != width) throw InputError(fmt::format("{}: y: expected {} numbers per token in every part, found {}", file, samples.width, width));
  samples.width = width;
  samples.count += part.size();
  samples.x.insert(samples.x.end(), x.begin(), x.end());
  samples.y.insert(samples.y.end(), y.begin(), y.end());
}

}  // namespace

Samples read_samples(const std::string& file, const Budget& budget) {
  const std::vector<std::uint64_t> shape = shape_of_x(file, budget);
  if (shape.size() != 3 || shape[1] == 0 || shape[2] == 0) throw InputError(fmt::format("{}: x: expected floats [N, n, d], found {}", file, data::print_shape(shape)));
  Samples samples;
  samples.tokens = shape[1];
  samples.dim = shape[2];
  data::Expected expected;
  expected.tokens = shape[1];
  expected.width = shape[2];
  const data::Dataset dataset = data::read_dataset(file, std::nullopt, expected, budget);
  append(dataset.train, file, samples);
  if (dataset.validation) append(*dataset.validation, file, samples);
  if (dataset.test) {
    samples.test = dataset.test->size();
    append(*dataset.test, file, samples);
  }
  return samples;
}

PlaceBias measure_place_bias(const Samples& samples, const Sumformer& model, const Budget& budget) {
  const std::size_t n = samples.tokens, k = samples.width, count = std::min<std::size_t>(samples.count, 20000);
  /// Mean and its standard error of numbers that come one by one.
  struct Mean {
    double sum = 0, square = 0;
    void add(double value) { sum += value; square += value * value; }
    [[nodiscard]] double mean(double number) const { return sum / number; }
    [[nodiscard]] double error(double number) const { return std::sqrt(std::max(square / number - mean(number) * mean(number), 0.0) / number); }
  };
  std::vector<Mean> left(n * k), size(n);
  std::vector<double> fitted(n * k), logarithm(n);
  PlaceBias bias;
  for (std::size_t s = 0; s < count; ++s) {
    budget.poll_now();
    model.evaluate(1, samples.x.data() + s * n * samples.dim, fitted.data());
    double mean = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double square = 0;
      for (std::size_t e = i * k; e < (i + 1) * k; ++e) {
        const double difference = samples.y[s * n * k + e] - fitted[e];
        left[e].add(difference);
        square += difference * difference;
      }
      logarithm[i] = 0.5 * std::log(std::max(square, 1e-300));
      mean += logarithm[i] / static_cast<double>(n);
    }
    // Against the other tokens of the same sequence, so that what all of them share cancels; logarithms, because of heavy tails.
    for (std::size_t i = 0; i < n; ++i) size[i].add((logarithm[i] - mean) * static_cast<double>(n) / static_cast<double>(n - 1));
  }
  const double number = static_cast<double>(count);
  double greatest = 0, greatest_size = 0;
  const auto ratio = [](double mean, double error) { return error > 0 ? std::fabs(mean) / error : mean != 0 ? 1e300 : 0; };
  for (std::size_t e = 0; e < n * k; ++e) {
    const double mean = left[e].mean(number), error = left[e].error(number);
    bias.rms += left[e].square / number / static_cast<double>(n * k);
    if (ratio(mean, error) <= greatest) continue;
    greatest = ratio(mean, error);
    bias.place = e / k;
    bias.mean = mean;
    bias.error = error;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double mean = size[i].mean(number), error = size[i].error(number);
    if (ratio(mean, error) <= greatest_size) continue;
    greatest_size = ratio(mean, error);
    bias.size_place = i;
    bias.factor = std::exp(mean);
    bias.factor_error = error;
  }
  bias.rms = std::sqrt(bias.rms);
  return bias;
}

}  // namespace sightline::approximate

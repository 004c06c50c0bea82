#include "sightline/approximate/memorise.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "sightline/base/error.hpp"

using namespace sightline;

namespace {

/// Sequences over a few values, with the sum of the others as values.
approximate::Samples make_samples(std::size_t count, std::size_t values, double shift = 0.5) {
  approximate::Samples samples;
  samples.count = count;
  samples.tokens = 4;
  samples.dim = 2;
  samples.width = 1;
  samples.x.resize(count * 8);
  target::Sampler().fill(1, 2, 0, samples.x.size(), samples.x.data());
  if (values != 0) for (double& x : samples.x) x = std::floor((x + 1) / 2 * static_cast<double>(values)) + shift;
  for (std::size_t s = 0; s < count; ++s) {
    double sum = 0;
    for (std::size_t k = 0; k < 8; ++k) sum += samples.x[s * 8 + k];
    for (std::size_t i = 0; i < 4; ++i) samples.y.push_back(sum * samples.x[(s * 4 + i) * 2] + 1);
  }
  return samples;
}

}  // namespace

TEST_CASE("tokens from few values: no layer cannot tell sequences apart, one can, and fits them all") {
  const approximate::Samples samples = make_samples(64, 2);
  approximate::MemoryOptions options;
  options.layers = 2;
  const approximate::MemoryResult result = approximate::memorise(samples, options, Budget());
  CHECK(result.rows.size() == 3 * 7);
  CHECK(result.most[0] < 64);
  CHECK(result.most[1] == 64);
  CHECK(result.most[2] == 64);
  for (const approximate::MemoryRow& row : result.rows) {
    CHECK(row.gap <= row.margin * (1 + 1e-12));
    if (row.layers == 0 && row.sequences == 64) {
      CHECK(row.margin == 0);
      CHECK(!row.fits);
      CHECK(row.error > 0.01);
    }
    if (row.layers > 0) {
      CHECK(row.margin > 1e-6);
      CHECK(row.error < 1e-9);
    }
  }
  // Tokens that a permutation identifies count once: 4 values per token, so at most 4 * C(4+2,3) classes.
  CHECK(result.rows.back().tokens <= 80);
  CHECK(result.rows.back().tokens > 40);
}

TEST_CASE("a token at 0 sees the mean alone in its first layer: two sequences with one mean need a second") {
  const approximate::Samples samples = make_samples(64, 3, -1);  // values -1, 0, 1
  approximate::MemoryOptions options;
  options.layers = 2;
  const approximate::MemoryResult result = approximate::memorise(samples, options, Budget());
  CHECK(result.most[1] < 64);
  CHECK(result.most[2] == 64);
  for (const approximate::MemoryRow& row : result.rows) if (row.sequences == 64 && row.layers == 1) CHECK(row.margin < 1e-13);
}

TEST_CASE("the margin is the least distance, by trial of all pairs") {
  const approximate::Samples samples = make_samples(16, 0);
  approximate::MemoryOptions options;
  options.layers = 0;
  options.draws = 1;
  const approximate::MemoryResult result = approximate::memorise(samples, options, Budget());
  double least = INFINITY, squares = 0;
  for (std::size_t a = 0; a < 64; ++a) {
    for (std::size_t b = 0; b < a; ++b) least = std::min(least, std::hypot(samples.x[2 * a] - samples.x[2 * b], samples.x[2 * a + 1] - samples.x[2 * b + 1]));
    squares += samples.x[2 * a] * samples.x[2 * a] + samples.x[2 * a + 1] * samples.x[2 * a + 1];
  }
  CHECK(result.rows.back().margin == doctest::Approx(least / std::sqrt(squares / 64)).epsilon(1e-12));
  CHECK(result.most[0] == 16);
}

TEST_CASE("two values for tokens that a permutation identifies are refused") {
  approximate::Samples samples = make_samples(2, 0);
  for (std::size_t k = 0; k < 8; ++k) samples.x[8 + k] = samples.x[(k + 2) % 8];  // the first sequence, moved by one token
  CHECK_THROWS_AS((void)approximate::memorise(samples, {}, Budget()), InputError);
  for (std::size_t i = 0; i < 4; ++i) samples.y[4 + i] = samples.y[(i + 1) % 4];
  CHECK(approximate::memorise(samples, {}, Budget()).rows.back().tokens == 4);
}

#include "sightline/approximate/rows.hpp"

#include <algorithm>

namespace sightline::approximate {

void Source::draw(std::size_t first, std::size_t count, double* x, std::uint32_t* own, double* y) const {
  const std::size_t size = tokens_ * dim_;
  std::vector<double> drawn(drawn_together * size);
  std::vector<std::uint32_t> chosen(drawn_together);
  std::size_t known = SIZE_MAX;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t row = first + r, sequence = options_.all_tokens ? row / tokens_ : row;
    if (sequence / drawn_together != known) {
      known = sequence / drawn_together;
      if (target_ != nullptr) options_.sampler.fill(options_.seed, fit_stream, known, drawn.size(), drawn.data());
      std::mt19937_64 random = target::make_random(options_.seed, own_stream, known);
      for (std::uint32_t& i : chosen) i = static_cast<std::uint32_t>(random() % tokens_);
    }
    const double* from = target_ != nullptr ? drawn.data() + sequence % drawn_together * size : samples_->x.data() + sequence * size;
    std::copy_n(from, size, x + r * size);
    own[r] = options_.all_tokens ? static_cast<std::uint32_t>(row % tokens_) : chosen[sequence % drawn_together];
    if (samples_ != nullptr && y != nullptr) std::copy_n(samples_->y.begin() + static_cast<std::ptrdiff_t>((sequence * tokens_ + own[r]) * width_), width_, y + r * width_);
  }
  if (target_ != nullptr && y != nullptr) target_->evaluate_at(count, x, own, y);
}

void write_rows(const Basis& basis, std::size_t count, const double* x, const std::uint32_t* own, const std::vector<std::uint32_t>* chosen, double* a, std::size_t leading, RowSpace& space) {
  const std::size_t n = basis.tokens(), d = basis.dim();
  space.token.resize(count * d);
  space.sums.assign(basis.latent() * count, 0.0);
  const auto pick = [&](auto token_of) {
    for (std::size_t r = 0; r < count; ++r) for (std::size_t e = 0; e < d; ++e) space.token[e * count + r] = x[(r * n + token_of(r)) * d + e];
  };
  for (std::size_t i = 0; i < n; ++i) {
    pick([&](std::size_t) { return i; });
    basis.add_phi(count, space.token.data(), space.sums.data(), space.work);
  }
  pick([&](std::size_t r) { return static_cast<std::size_t>(own[r]); });
  if (chosen != nullptr) basis.evaluate(count, space.token.data(), space.sums.data(), *chosen, a, leading, space.work);
  else basis.evaluate(count, space.token.data(), space.sums.data(), basis.columns().size(), a, leading, space.work);
}

std::size_t block_rows_for(std::size_t rows, std::size_t columns, std::size_t tokens, bool all_tokens) {
  const std::size_t by_memory = std::max<std::size_t>(24000000 / (8 * std::max<std::size_t>(columns, 1)), 64);
  std::size_t size = std::clamp<std::size_t>(rows / (4 * folds), 16, std::min<std::size_t>(4096, by_memory));
  size = std::max<std::size_t>(size / drawn_together, 1) * drawn_together;
  if (all_tokens) size = std::max<std::size_t>(size / tokens, 1) * tokens;  // no sequence lies in two folds
  return size;
}

std::vector<Recurrence> make_laws(const target::Target* target, const Samples* samples, const Options& options, std::size_t dim, std::size_t degree) {
  std::vector<Recurrence> laws;
  for (std::size_t c = 0; c < dim; ++c) {
    if (target != nullptr) {
      laws.push_back(options.sampler.law == target::Sampler::Law::normal ? hermite(degree) : legendre(options.sampler.low, options.sampler.high, degree));
      continue;
    }
    std::vector<double> values;
    const std::size_t all = samples->count * samples->tokens, step = std::max<std::size_t>(1, all / 100000);
    for (std::size_t k = 0; k < all; k += step) values.push_back(samples->x[k * dim + c]);
    laws.push_back(of_sample(values, degree));
  }
  return laws;
}

}  // namespace sightline::approximate

// Values of a mixer at given parameters, whatever the mixer is.
#pragma once

#include <memory>
#include <random>

#include "sightline/falsify/library.hpp"
#include "sightline/falsify/mixer.hpp"

namespace sightline::falsify {

class Prober {
public:
  Prober(const Mixer& mixer, std::size_t tokens, std::size_t dim, double call_seconds, const Budget& budget);

  /// Can values be enclosed (every expression; a library that exports its interval function)?
  [[nodiscard]] bool is_rigorous() const { return !library_ || library_->has_interval(); }
  [[nodiscard]] bool is_library() const { return library_ != nullptr; }
  /// Random dyadic rationals; the scale depends on the attempt, so that saturating mixers are seen at some of them.
  [[nodiscard]] Parameters draw(std::mt19937_64& random, std::uint32_t attempt) const;
  /// Enclosures of token i. Throws Undefined, InputError.
  [[nodiscard]] std::vector<Interval> enclose(const Sample& sample, std::size_t i, const Parameters& theta, long bits);
  /// float64 values of all tokens of a library; its interval function, if any, must enclose them.
  [[nodiscard]] std::vector<double> compute(const Sample& sample, const Parameters& theta);

private:
  const Mixer& mixer_;
  std::size_t dim_;
  const Budget& budget_;
  std::unique_ptr<Library> library_;
};

}  // namespace sightline::falsify

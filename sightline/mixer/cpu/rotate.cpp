// Rotary positions. The angles of a position are those of its multiple of 64 plus those of the rest, so that few
// cosines are computed; a position's angles then turn that token in all heads and batch elements.
#include <algorithm>
#include <cmath>
#include <vector>

#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/mixer/cpu/pool.hpp"
#include "sightline/mixer/cpu_hooks.hpp"

namespace sightline::mixer::cpu {
namespace {

constexpr std::int64_t stride = 64;

/// Cosines and sines of position * 10000^(-2p / width) for positions 0, step, 2 step, ...: [position][2 half].
/// In double: in float the angle of token 60,000 would be wrong by 0.002.
std::vector<double> list_angles(std::int64_t positions, std::int64_t step, const std::vector<double>& frequencies) {
  const auto half = static_cast<std::int64_t>(frequencies.size());
  std::vector<double> table(static_cast<std::size_t>(positions * 2 * half));
  for (std::int64_t at = 0; at < positions; ++at) {
    double* const row = table.data() + at * 2 * half;
    for (std::int64_t p = 0; p < half; ++p) {
      // What rounding the angle leaves over joins to first order: two angles are to be added.
      const double position = static_cast<double>(at * step), frequency = frequencies[static_cast<std::size_t>(p)];
      const double angle = position * frequency, rest = std::fma(position, frequency, -angle);
      const double cosine = std::cos(angle), sine = std::sin(angle);
      row[p] = cosine - rest * sine;
      row[half + p] = sine + rest * cosine;
    }
  }
  return table;
}

} // namespace

template <class Real>
bool rotate(const Plan& plan, const Shape& shape, View<const Real> in, View<Real> out, bool inverse,
            const Execution& execution) {
  const std::vector<std::int64_t>& positions = plan.positions();
  const Engine<Real>& engine = find_engine<Real>(execution.instructions);
  const std::int64_t half = shape.width / 2;
  std::vector<double> frequencies;
  for (std::int64_t p = 0; p < half; ++p)
    frequencies.push_back(std::pow(10000.0, -2.0 * static_cast<double>(p) / static_cast<double>(shape.width)));
  const std::int64_t largest = positions.empty() ? 0 : *std::max_element(positions.begin(), positions.end());
  const std::vector<double> fine = list_angles(std::min(stride, largest + 1), 1, frequencies),
                            coarse = list_angles(largest / stride + 1, stride, frequencies);
  constexpr std::int64_t block = 16; // their cosines and sines stay in the first cache
  const std::int64_t tasks = (shape.readers + block - 1) / block;
  const int workers = std::max(execution.threads, 1);
  std::vector<std::vector<Real>> spaces(static_cast<std::size_t>(workers),
                                        std::vector<Real>(static_cast<std::size_t>(2 * block * shape.width)));
  const bool past = are_written_past<Real>(shape.batch * shape.heads * shape.readers * shape.width, workers);
  run_tasks(tasks, workers, [&](std::int64_t task, int worker) {
    const std::int64_t first = task * block, last = std::min(first + block, shape.readers),
                       turning = std::clamp<std::int64_t>(static_cast<std::int64_t>(positions.size()), first, last);
    Real* const cosines = spaces[static_cast<std::size_t>(worker)].data();
    Real* const sines = cosines + block * shape.width;
    for (std::int64_t i = first; i < turning; ++i) {
      const std::int64_t position = positions[static_cast<std::size_t>(i)];
      engine.add_angles(coarse.data() + position / stride * 2 * half, fine.data() + position % stride * 2 * half, half,
                        inverse ? -1 : 1, cosines + (i - first) * shape.width, sines + (i - first) * shape.width);
    }
    for (std::int64_t row = 0; row < shape.batch * shape.heads; ++row) {
      const std::int64_t b = row / shape.heads, h = row % shape.heads, next = std::min(row + 1, shape.batch * shape.heads - 1);
      engine.rotate_rows(static_cast<int>(turning - first), in.at(b, h, first), in.token_stride, cosines, sines, shape.width, execution.exact,
                         past, in.at(next / shape.heads, next % shape.heads, first), out.at(b, h, first), out.token_stride);
      for (std::int64_t i = turning; i < last; ++i) { // registers keep still
        if (out.at(b, h, i) != in.at(b, h, i))
          std::copy_n(in.at(b, h, i), shape.width, out.at(b, h, i));
      }
    }
  });
  return true;
}

template bool rotate(const Plan&, const Shape&, View<const float>, View<float>, bool, const Execution&);
template bool rotate(const Plan&, const Shape&, View<const double>, View<double>, bool, const Execution&);

} // namespace sightline::mixer::cpu

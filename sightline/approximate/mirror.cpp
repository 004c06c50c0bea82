#include "sightline/approximate/mirror.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/approximate/rows.hpp"
#include "sightline/base/error.hpp"

namespace sightline::approximate {
namespace {

/// values[s] for all subsets s of q coordinates to the means over s of (-1)^|s and p| values[s], for all p.
void transform(std::vector<double>& values) {
  const std::size_t count = values.size();
  for (std::size_t bit = 1; bit < count; bit *= 2) {
    for (std::size_t k = 0; k < count; ++k) {
      if ((k & bit) != 0) continue;
      const double even = (values[k] + values[k | bit]) / 2, odd = (values[k] - values[k | bit]) / 2;
      values[k] = even;
      values[k | bit] = odd;
    }
  }
}

/// y_p of every sequence: [part][output][sequence].
std::vector<double> split_values(const Source& source, const target::Target& target, const target::Sampler& sampler, const Mirroring& mirroring, std::size_t sequences, const Budget& budget) {
  const std::size_t n = target.tokens(), d = target.dim(), width = target.width(), images = mirroring.images, size = n * d;
  const double ends = sampler.law == target::Sampler::Law::normal ? 0 : sampler.low + sampler.high;  // t and ends - t are images
  std::vector<double> all(images * width * sequences), x(chunk * size), moved(chunk * size), values(images * chunk * width), one(images);
  std::vector<std::uint32_t> own(chunk);
  for (std::size_t start = 0; start < sequences; start += chunk) {
    budget.poll_now();
    budget.report("values at mirror images", static_cast<double>(start) / static_cast<double>(sequences));
    const std::size_t now = std::min(chunk, sequences - start);
    source.draw(start, now, x.data(), own.data(), nullptr);
    for (std::size_t image = 0; image < images; ++image) {
      for (std::size_t k = 0; k < now * size; ++k) moved[k] = k % d < mirroring.coordinates && (image >> k % d & 1) != 0 ? ends - x[k] : x[k];
      target.evaluate_at(now, moved.data(), own.data(), values.data() + image * chunk * width);
    }
    for (std::size_t r = 0; r < now; ++r) {
      for (std::size_t e = 0; e < width; ++e) {
        for (std::size_t image = 0; image < images; ++image) {
          one[image] = values[(image * chunk + r) * width + e];
          if (!std::isfinite(one[image])) throw InputError(fmt::format("the target: expected finite numbers, found {} in row {}", std::isnan(one[image]) ? "nan" : "an infinity", (start + r) * images + image));
        }
        transform(one);
        for (std::size_t part = 0; part < images; ++part) all[(part * width + e) * sequences + start + r] = one[part];
      }
    }
  }
  return all;
}

/// What is known after some parts; as numbers, for the checkpoint.
struct State {
  std::size_t parts = 0;
  double square = 0, scale = 0, condition = 1, passes = 0;
  std::vector<double> coefficients, dependent;  ///< [columns * outputs] column by column; numbers of columns

  [[nodiscard]] std::vector<double> numbers() const {
    std::vector<double> all{static_cast<double>(parts), square, scale, condition, passes};
    all.insert(all.end(), coefficients.begin(), coefficients.end());
    all.insert(all.end(), dependent.begin(), dependent.end());
    return all;
  }
  /// False: numbers of another kind.
  [[nodiscard]] bool read(const std::vector<double>& all) {
    const std::size_t head = 5, size = coefficients.size();
    if (all.size() < head + size) return false;
    parts = static_cast<std::size_t>(all[0]);
    square = all[1];
    scale = all[2];
    condition = all[3];
    passes = all[4];
    std::copy_n(all.begin() + head, size, coefficients.begin());
    dependent.assign(all.begin() + static_cast<std::ptrdiff_t>(head + size), all.end());
    return true;
  }
};

}  // namespace

Mirroring plan_mirroring(std::size_t tokens, std::size_t dim, std::size_t degree) {
  Mirroring mirroring;
  mirroring.coordinates = std::min<std::size_t>(dim, 4);
  mirroring.images = std::size_t{1} << mirroring.coordinates;
  const std::vector<double> sizes = count_parities(tokens, dim, degree, mirroring.coordinates);
  mirroring.widest = *std::max_element(sizes.begin(), sizes.end());
  return mirroring;
}

Solution solve_mirrored(const Basis& basis, const target::Target& target, const Options& options, const Mirroring& mirroring, std::size_t sequences, const Budget& budget, Checkpoint* checkpoint) {
  const std::size_t columns = basis.columns().size(), width = target.width();
  std::vector<std::vector<std::uint32_t>> parts(mirroring.images);
  for (std::uint32_t k = 0; k < columns; ++k) parts[basis.parity(basis.columns()[k], mirroring.coordinates)].push_back(k);
  const Source source(&target, nullptr, options, basis.tokens(), basis.dim(), width);
  const std::vector<double> values = split_values(source, target, options.sampler, mirroring, sequences, budget);
  State state;
  state.coefficients.assign(columns * width, 0.0);
  if (checkpoint != nullptr && state.read(checkpoint->replaced())) checkpoint->count_resumed(state.parts);
  for (; state.parts < parts.size(); ++state.parts) {
    const std::vector<std::uint32_t>& chosen = parts[state.parts];
    const double* y_of_part = values.data() + state.parts * width * sequences;
    if (chosen.empty()) {  // of low degree there are none with many odd coordinates
      double square = 0;
      for (std::size_t k = 0; k < width * sequences; ++k) square += y_of_part[k] * y_of_part[k];
      state.square += square;
      state.scale += square;
      continue;
    }
    System system;
    system.rows = sequences;
    system.columns = chosen.size();
    system.outputs = width;
    system.block_rows = block_rows_for(sequences, chosen.size(), basis.tokens(), options.all_tokens);
    system.part = fmt::format("part {} of {}, ", state.parts + 1, parts.size());
    system.fill = [&, block_rows = system.block_rows](std::size_t block, std::size_t count, double* a, double* y, std::size_t leading) {
      thread_local std::vector<double> x;
      thread_local std::vector<std::uint32_t> own;
      thread_local RowSpace space;
      x.resize(chunk * basis.tokens() * basis.dim());
      own.resize(chunk);
      for (std::size_t start = 0; start < count; start += chunk) {
        const std::size_t now = std::min(chunk, count - start);
        source.draw(block * block_rows + start, now, x.data(), own.data(), nullptr);
        write_rows(basis, now, x.data(), own.data(), &chosen, a + start, leading, space);
      }
      for (std::size_t e = 0; e < width; ++e) std::copy_n(y_of_part + e * sequences + block * block_rows, count, y + e * leading);
    };
    const Solution one = solve(system, collect(system, lanes_for(static_cast<double>(chosen.size())), budget, checkpoint), chosen.size(), budget, checkpoint);
    for (std::size_t e = 0; e < width; ++e) for (std::size_t k = 0; k < chosen.size(); ++k) state.coefficients[e * columns + chosen[k]] = one.coefficients(k, e);
    for (const std::size_t k : one.dependent) state.dependent.push_back(chosen[k]);
    // Parseval: the mean square over the images is the sum over the parts.
    state.square += one.residual * one.residual * static_cast<double>(width * sequences);
    state.scale += one.scale * one.scale * static_cast<double>(width * sequences);
    state.condition = std::max(state.condition, one.condition);
    state.passes = std::max(state.passes, static_cast<double>(one.passes));
    if (checkpoint != nullptr) {
      ++state.parts;
      checkpoint->replace_passes(state.numbers());
      --state.parts;
    }
  }
  Solution solution;
  solution.coefficients = linear_algebra::Matrix(columns, width);
  solution.coefficients.data = std::move(state.coefficients);
  for (const double k : state.dependent) solution.dependent.push_back(static_cast<std::size_t>(k));
  std::sort(solution.dependent.begin(), solution.dependent.end());
  solution.condition = state.condition;
  solution.passes = static_cast<int>(state.passes);
  solution.residual = std::sqrt(state.square / static_cast<double>(width * sequences));
  solution.scale = std::sqrt(state.scale / static_cast<double>(width * sequences));
  return solution;
}

}  // namespace sightline::approximate

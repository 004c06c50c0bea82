#include "sightline/approximate/memorise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/target/sampler.hpp"

namespace sightline::approximate {
namespace {

constexpr double fitting_error = 1e-9, least_gap = 1e-13;  // tokens nearer than that are told apart by rounding alone

/// The number of every token's class: (own token, multiset of the sequence's tokens).
std::vector<std::uint32_t> number_classes(const Samples& samples, const Budget& budget) {
  const std::size_t n = samples.tokens, d = samples.dim;
  std::map<std::vector<double>, std::uint32_t> known;
  std::map<std::uint32_t, std::size_t> first;
  std::vector<std::uint32_t> classes;
  constexpr std::uint64_t per_class = 200;  // two entries of trees, a vector's head and its place on the heap
  for (std::size_t s = 0; s < samples.count; ++s) {
    budget.poll();
    budget.ask(n * ((n + 1) * d * sizeof(double) + per_class));
    std::vector<std::vector<double>> tokens;
    for (std::size_t i = 0; i < n; ++i) tokens.emplace_back(samples.x.begin() + static_cast<std::ptrdiff_t>((s * n + i) * d), samples.x.begin() + static_cast<std::ptrdiff_t>((s * n + i + 1) * d));
    std::vector<std::vector<double>> sorted = tokens;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<double> key = tokens[i];
      for (const auto& token : sorted) key.insert(key.end(), token.begin(), token.end());
      const std::uint32_t c = known.emplace(std::move(key), static_cast<std::uint32_t>(known.size())).first->second;
      classes.push_back(c);
      const std::size_t at = s * n + i, other = first.emplace(c, at).first->second;
      for (std::size_t e = 0; e < samples.width; ++e) {
        const double a = samples.y[at * samples.width + e], b = samples.y[other * samples.width + e];
        if (std::fabs(a - b) > 1e-9 * (1 + std::fabs(a)))
          throw InputError(fmt::format("token {} of sequence {} and token {} of sequence {} are the same up to a permutation but have the values {} and {}: no equivariant network gives both", i, s, other % n, other / n, a, b));
      }
    }
  }
  return classes;
}

/// x + attention(x) for every sequence, in place.
void add_attention(std::size_t count, std::size_t n, std::size_t d, const std::vector<double>& w, std::vector<double>& x, const Budget& budget) {
  std::vector<double> q(n * d), k(n * d), v(n * d), weight(n);
  const auto map = [&](const double* from, const double* matrix, double* to) {
    for (std::size_t r = 0; r < d; ++r) {
      double sum = 0;
      for (std::size_t c = 0; c < d; ++c) sum += matrix[r * d + c] * from[c];
      to[r] = sum;
    }
  };
  for (std::size_t s = 0; s < count; ++s) {
    budget.poll();
    double* sequence = x.data() + s * n * d;
    for (std::size_t i = 0; i < n; ++i) {
      map(sequence + i * d, w.data(), q.data() + i * d);
      map(sequence + i * d, w.data() + d * d, k.data() + i * d);
      map(sequence + i * d, w.data() + 2 * d * d, v.data() + i * d);
    }
    for (std::size_t i = 0; i < n; ++i) {
      double largest = -INFINITY, total = 0;
      for (std::size_t j = 0; j < n; ++j) {
        weight[j] = std::inner_product(q.begin() + static_cast<std::ptrdiff_t>(i * d), q.begin() + static_cast<std::ptrdiff_t>((i + 1) * d), k.begin() + static_cast<std::ptrdiff_t>(j * d), 0.0);
        largest = std::max(largest, weight[j]);
      }
      for (double& value : weight) total += value = std::exp(value - largest);
      for (std::size_t j = 0; j < n; ++j) for (std::size_t c = 0; c < d; ++c) sequence[i * d + c] += weight[j] / total * v[j * d + c];
    }
  }
}

/// A sum of bumps on one channel: value k on [t_k - radius / 2, t_k + radius / 2], nothing beyond radius. Each is four hinges; behind the
/// last one they add to 0 in exact and in binary arithmetic, so that blocks further away than one place need not be evaluated.
double interpolate(const std::vector<double>& places, const std::vector<double>& values, double radius, double t) {
  double sum = 0;
  const auto relu = [](double u) { return u > 0 ? u : 0; };
  const auto begin = std::lower_bound(places.begin(), places.end(), t - radius), end = std::upper_bound(places.begin(), places.end(), t + radius);
  for (auto at = begin; at != end; ++at) {
    const double u = (t - *at) / radius, value = 2 * values[static_cast<std::size_t>(at - places.begin())];
    sum += value * (relu(u + 1) - relu(u + 0.5) - relu(u - 0.5) + relu(u - 1));
  }
  return sum;
}

struct Spread { double margin = 0, gap = 0; };

/// Of the tokens of the first `sequences` samples: t sorted, with one representative per class.
Spread measure_spread(const std::vector<double>& g, const std::vector<double>& t, const std::vector<std::uint32_t>& classes, std::size_t tokens, std::size_t d, std::vector<std::uint32_t>& order,
                      const Budget& budget) {
  std::vector<bool> seen(classes.size(), false);
  order.clear();
  double squares = 0;
  for (std::uint32_t k = 0; k < tokens; ++k) {
    if (seen[classes[k]]) continue;
    seen[classes[k]] = true;
    order.push_back(k);
    for (std::size_t c = 0; c < d; ++c) squares += g[k * d + c] * g[k * d + c];
  }
  const double size = std::sqrt(squares / static_cast<double>(order.size()));
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return t[a] < t[b]; });
  double gap = INFINITY, margin = INFINITY;
  for (std::size_t a = 0; a < order.size(); ++a) {
    budget.poll();
    if (a > 0) gap = std::min(gap, t[order[a]] - t[order[a - 1]]);
    // The direction of t has length 1: two tokens are at least as far apart as their t.
    for (std::size_t b = a + 1; b < order.size() && t[order[b]] - t[order[a]] < margin; ++b) {
      double distance = 0;
      for (std::size_t c = 0; c < d; ++c) distance += (g[order[a] * d + c] - g[order[b] * d + c]) * (g[order[a] * d + c] - g[order[b] * d + c]);
      margin = std::min(margin, std::sqrt(distance));
    }
  }
  if (order.size() == 1) margin = gap = size;
  return {size > 0 ? margin / size : 0, size > 0 ? gap / size : 0};
}

}  // namespace

MemoryResult memorise(const Samples& samples, const MemoryOptions& options, const Budget& budget) {
  const std::size_t n = samples.tokens, d = samples.dim, width = samples.width, all = samples.count * n;
  MemoryResult result;
  result.count = samples.count;
  result.tokens = n;
  result.dim = d;
  result.outputs = width;
  budget.ask(3 * samples.x.size() * sizeof(double) + 8 * all * sizeof(double));  // below: two states of all tokens, and a line per token
  const std::vector<std::uint32_t> classes = number_classes(samples, budget);
  double largest = 0;
  for (const double value : samples.y) largest = std::max(largest, std::fabs(value));
  std::vector<std::size_t> sizes;
  for (std::size_t count = 1; count < samples.count; count *= 2) sizes.push_back(count);
  sizes.push_back(samples.count);
  result.most.assign(options.layers + 1, 0);
  for (std::size_t layers = 0; layers <= options.layers; ++layers) {
    std::vector<MemoryRow> best(sizes.size());
    for (std::size_t draw = 0; draw < options.draws; ++draw) {
      budget.report(fmt::format("{} layers", layers), static_cast<double>(draw) / static_cast<double>(options.draws));
      budget.poll_now();
      std::vector<double> g = samples.x;
      for (std::size_t layer = 0; layer < layers; ++layer) {
        std::vector<double> w(3 * d * d);
        const target::Sampler normal{target::Sampler::Law::normal, 0, 1};
        normal.fill(options.seed, 601 + draw, layer, w.size(), w.data());
        for (double& value : w) value /= std::sqrt(static_cast<double>(d));
        add_attention(samples.count, n, d, w, g, budget);
      }
      std::vector<double> direction(d), t(all);
      target::Sampler{target::Sampler::Law::normal, 0, 1}.fill(options.seed, 701 + draw, 0, d, direction.data());
      const double length = std::sqrt(std::inner_product(direction.begin(), direction.end(), direction.begin(), 0.0));
      for (std::size_t k = 0; k < all; ++k) {
        t[k] = 0;
        for (std::size_t c = 0; c < d; ++c) t[k] += direction[c] / length * g[k * d + c];
      }
      std::vector<std::uint32_t> order;
      for (std::size_t r = 0; r < sizes.size(); ++r) {
        const Spread spread = measure_spread(g, t, classes, sizes[r] * n, d, order, budget);
        MemoryRow& row = best[r];
        if (row.sequences != 0 && spread.gap <= row.gap) continue;
        row.layers = layers;
        row.sequences = sizes[r];
        row.tokens = order.size();
        row.margin = spread.margin;
        row.gap = spread.gap;
        double radius = INFINITY;
        std::vector<double> places, values(order.size());
        for (const std::uint32_t k : order) places.push_back(t[k]);
        for (std::size_t k = 1; k < places.size(); ++k) radius = std::min(radius, (places[k] - places[k - 1]) / 2);
        if (!std::isfinite(radius)) radius = 1;
        row.error = 0;
        for (std::size_t e = 0; e < width; ++e) {
          for (std::size_t k = 0; k < order.size(); ++k) values[k] = samples.y[order[k] * width + e];
          for (std::size_t k = 0; k < sizes[r] * n; ++k) {
            budget.poll();
            const double found = radius > 0 ? interpolate(places, values, radius, t[k]) : 0;
            const double difference = std::fabs(found - samples.y[k * width + e]);
            if (!(difference <= row.error)) row.error = difference;
          }
        }
        if (largest > 0) row.error /= largest;
        row.fits = row.error <= fitting_error && row.gap > least_gap;
      }
    }
    for (const MemoryRow& row : best) {
      if (row.fits) result.most[layers] = std::max(result.most[layers], row.sequences);
      result.rows.push_back(row);
    }
  }
  return result;
}

std::string to_json(const MemoryResult& result) {
  nlohmann::ordered_json json = {{"target", result.target}, {"method", "memorise"}, {"sequences", result.count}, {"tokens", result.tokens}, {"dim", result.dim}, {"outputs", result.outputs}, {"most", result.most}};
  json["table"] = nlohmann::ordered_json::array();
  for (const MemoryRow& row : result.rows) {
    json["table"].push_back({{"layers", row.layers}, {"sequences", row.sequences}, {"tokens", row.tokens}, {"margin", row.margin}, {"gap", row.gap}, {"error", row.error}, {"fits", row.fits}});
  }
  return print_json(json);
}

std::string to_text(const MemoryResult& result) {
  std::string text = fmt::format("             {}\n\n", result.target);
  text += fmt::format("method       memorisation: layers of softmax attention with random parameters, then one ReLU block per different token; {} tokens of {} numbers to {} each\n", result.tokens, result.dim, result.outputs);
  for (std::size_t layers = 0; layers < result.most.size(); ++layers) {
    text += fmt::format("{} layer{}     {} of {} sequences fit\n", layers, layers == 1 ? " " : "s", result.most[layers], result.count);
  }
  text += "\nlayers  sequences  different tokens  margin (Definition 3)  on one channel  largest error\n";
  for (const MemoryRow& row : result.rows) {
    text += fmt::format("{:>6}  {:>9}  {:>16}  {:>21.3g}  {:>14.3g}  {:>13.2g}{}\n", row.layers, row.sequences, row.tokens, row.margin, row.gap, row.error, row.fits ? "" : "  does not fit");
  }
  text += "\nmargin: the least distance of two different tokens behind the layers, of their size; the best of the random parameters. Errors are of the largest value.\n";
  return text;
}

}  // namespace sightline::approximate

#include "sightline/approximate/mlp_sumformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <numeric>

#include "sightline/base/error.hpp"

namespace sightline::approximate {
namespace {

double gelu(double t) { return 0.5 * t * (1 + std::erf(t / std::numbers::sqrt2)); }

/// The maps one after the other on one vector, gelu between them.
void apply_maps(const std::vector<LinearMap>& maps, std::vector<double>& x, std::vector<double>& next) {
  for (std::size_t l = 0; l < maps.size(); ++l) {
    const LinearMap& map = maps[l];
    next.assign(map.out, 0.0);
    for (std::size_t r = 0; r < map.out; ++r) {
      const double* row = map.weight.data() + r * map.in;
      double sum = map.bias[r];
      for (std::size_t k = 0; k < map.in; ++k) sum += row[k] * x[k];
      next[r] = l + 1 < maps.size() ? gelu(sum) : sum;
    }
    std::swap(x, next);
  }
}

void check_maps(const std::vector<LinearMap>& maps, std::size_t in, const char* name) {
  if (maps.empty()) throw ArgumentError(fmt::format("{}: expected at least one map, found none", name));
  for (const LinearMap& map : maps) {
    if (map.in != in || map.out == 0 || map.weight.size() != map.in * map.out || map.bias.size() != map.out)
      throw ArgumentError(fmt::format("{}: expected a map from {} numbers, found one from {} to {}", name, in, map.in, map.out));
    in = map.out;
  }
}

std::size_t read_number(const data::TensorFile& content, const std::string& file, const char* key) {
  const auto found = content.metadata.find(key);
  char* end = nullptr;
  const unsigned long long value = found == content.metadata.end() ? 0 : std::strtoull(found->second.c_str(), &end, 10);
  if (value == 0 || value > (1U << 24) || *end != '\0')
    throw InputError(fmt::format("{}: metadata {}: expected a number from 1 to {}, found {}", file, key, 1U << 24, found == content.metadata.end() ? "nothing" : found->second));
  return value;
}

std::vector<LinearMap> read_maps(const data::TensorFile& content, const std::string& file, const char* name) {
  std::vector<LinearMap> maps;
  for (std::size_t l = 0;; ++l) {
    const auto weight = content.tensors.find(fmt::format("{}.{}.weight", name, l)), bias = content.tensors.find(fmt::format("{}.{}.bias", name, l));
    if (weight == content.tensors.end() && l > 0) return maps;
    if (weight == content.tensors.end() || bias == content.tensors.end()) throw InputError(fmt::format("{}: {}.{}: expected weight and bias, found none", file, name, l));
    const auto *matrix = std::get_if<std::vector<double>>(&weight->second.values), *vector = std::get_if<std::vector<double>>(&bias->second.values);
    if (matrix == nullptr || vector == nullptr || weight->second.shape.size() != 2 || bias->second.shape != std::vector<std::uint64_t>{weight->second.shape[0]})
      throw InputError(fmt::format("{}: {}.{}: expected float64 weight [out, in] and bias [out], found {} {} and {} {}", file, name, l, data::name_of_type(weight->second),
                                   data::print_shape(weight->second.shape), data::name_of_type(bias->second), data::print_shape(bias->second.shape)));
    maps.push_back({weight->second.shape[1], weight->second.shape[0], *matrix, *vector});
    for (const auto* values : {matrix, vector}) {
      for (const double value : *values) if (!std::isfinite(value)) throw InputError(fmt::format("{}: {}.{}: expected finite numbers, found {}", file, name, l, std::isnan(value) ? "nan" : "an infinity"));
    }
  }
}

}  // namespace

MlpSumformer::MlpSumformer(std::size_t tokens, std::size_t dim, std::vector<LinearMap> phi, std::vector<LinearMap> psi)
    : tokens_(tokens), dim_(dim), phi_(std::move(phi)), psi_(std::move(psi)) {
  check_maps(phi_, dim_, "phi");
  check_maps(psi_, dim_ + phi_.back().out, "psi");
}

std::size_t MlpSumformer::parameters() const {
  std::size_t count = 0;
  for (const auto* maps : {&phi_, &psi_}) for (const LinearMap& map : *maps) count += map.weight.size() + map.bias.size();
  return count;
}

void MlpSumformer::evaluate(std::size_t count, const double* x, double* out) const {
  const std::size_t n = tokens_, d = dim_, k = outputs();
  std::vector<double> sums, now, next;
  std::vector<std::size_t> order(n);
  for (std::size_t s = 0; s < count; ++s) {
    const double* from = x + s * n * d;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return std::lexicographical_compare(from + i * d, from + (i + 1) * d, from + j * d, from + (j + 1) * d); });
    sums.assign(latent(), 0.0);
    for (const std::size_t i : order) {
      now.assign(from + i * d, from + (i + 1) * d);
      apply_maps(phi_, now, next);
      for (std::size_t e = 0; e < sums.size(); ++e) sums[e] += now[e];
    }
    for (std::size_t i = 0; i < n; ++i) {
      now.assign(from + i * d, from + (i + 1) * d);
      now.insert(now.end(), sums.begin(), sums.end());
      apply_maps(psi_, now, next);
      std::copy_n(now.begin(), k, out + (s * n + i) * k);
    }
  }
}

data::TensorFile MlpSumformer::to_tensors() const {
  data::TensorFile file;
  file.metadata = {{"kind", "sumformer"}, {"method", "mlp"}, {"tokens", std::to_string(tokens_)}, {"dim", std::to_string(dim_)}};
  const auto add = [&](const char* name, const std::vector<LinearMap>& maps) {
    for (std::size_t l = 0; l < maps.size(); ++l) {
      file.tensors[fmt::format("{}.{}.weight", name, l)] = {{maps[l].out, maps[l].in}, maps[l].weight};
      file.tensors[fmt::format("{}.{}.bias", name, l)] = {{maps[l].out}, maps[l].bias};
    }
  };
  add("phi", phi_);
  add("psi", psi_);
  return file;
}

MlpSumformer MlpSumformer::from_tensors(const data::TensorFile& content, const std::string& file) {
  const std::size_t tokens = read_number(content, file, "tokens"), dim = read_number(content, file, "dim");
  std::vector<LinearMap> phi = read_maps(content, file, "phi"), psi = read_maps(content, file, "psi");
  if (content.tensors.size() != 2 * (phi.size() + psi.size())) throw InputError(fmt::format("{}: expected the maps of phi and psi alone, found other arrays", file));
  try {
    return {tokens, dim, std::move(phi), std::move(psi)};
  } catch (const ArgumentError& error) {
    throw InputError(fmt::format("{}: {}", file, error.what()));
  }
}

std::string MlpSumformer::to_architecture() const {
  return fmt::format("{}name = \"sumformer-mlp\"\ntokens = {}\ndim = {}\n"
                     "[input]\nembedding = \"mlp\"\ndim = {}\n[output]\nhead = \"linear\"\ndim = {}\n[feedforward]\nactivation = \"gelu\"\n[mixer]\nkind = \"mean\"\n",
                     architecture_comment, tokens_, dim_ + latent(), dim_, outputs());
}

}  // namespace sightline::approximate

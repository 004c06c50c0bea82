#include "sightline/approximate/sumformer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sightline/base/error.hpp"

namespace sightline::approximate {
namespace {

constexpr std::size_t batch = 64;  // sequences at once: phi of a batch stays in the first cache

/// Token by token, [token][coordinate][sequence], in the order that sorting the tokens gives (or as they are).
void lay_out(std::size_t count, std::size_t tokens, std::size_t dim, const double* x, bool sorted, std::vector<double>& out) {
  out.resize(tokens * dim * count);
  std::vector<std::size_t> order(tokens);
  for (std::size_t s = 0; s < count; ++s) {
    const double* from = x + s * tokens * dim;
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (sorted) {
      std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
        return std::lexicographical_compare(from + i * dim, from + (i + 1) * dim, from + j * dim, from + (j + 1) * dim);
      });
    }
    for (std::size_t i = 0; i < tokens; ++i) for (std::size_t e = 0; e < dim; ++e) out[(i * dim + e) * count + s] = from[order[i] * dim + e];
  }
}

/// Number k of the metadata.
std::size_t number_of(const data::TensorFile& content, const std::string& file, const char* key, std::size_t most) {
  const auto found = content.metadata.find(key);
  char* end = nullptr;
  const unsigned long long value = found == content.metadata.end() ? 0 : std::strtoull(found->second.c_str(), &end, 10);
  if (found == content.metadata.end() || *end != '\0' || value == 0 || value > most)
    throw InputError(fmt::format("{}: metadata {}: expected a number from 1 to {}, found {}", file, key, most, found == content.metadata.end() ? "nothing" : found->second));
  return value;
}

template <class T>
const std::vector<T>& tensor(const data::TensorFile& content, const std::string& file, const char* name, const std::vector<std::uint64_t>& shape) {
  const auto found = content.tensors.find(name);
  if (found == content.tensors.end()) throw InputError(fmt::format("{}: {}: expected an array, found none", file, name));
  const auto* values = std::get_if<std::vector<T>>(&found->second.values);
  if (values == nullptr || found->second.shape != shape)
    throw InputError(fmt::format("{}: {}: expected {} {}, found {} {}", file, name, std::is_same_v<T, double> ? "float64" : "int64", data::print_shape(shape), data::name_of_type(found->second),
                                 data::print_shape(found->second.shape)));
  return *values;
}

}  // namespace

void Sumformer::sums(std::size_t count, const double* x, double* out) const {
  const std::size_t n = basis_.tokens(), d = basis_.dim(), latent = basis_.latent();
  std::vector<double> tokens, sums;
  Basis::Workspace work;
  for (std::size_t start = 0; start < count; start += batch) {
    const std::size_t now = std::min(batch, count - start);
    lay_out(now, n, d, x + start * n * d, true, tokens);
    sums.assign(latent * now, 0.0);
    for (std::size_t i = 0; i < n; ++i) basis_.add_phi(now, tokens.data() + i * d * now, sums.data(), work);
    for (std::size_t s = 0; s < now; ++s) for (std::size_t k = 0; k < latent; ++k) out[(start + s) * latent + k] = sums[k * now + s];
  }
}

void Sumformer::phi(std::size_t count, const double* x, double* out) const {
  const std::size_t n = basis_.tokens(), d = basis_.dim(), latent = basis_.latent();
  std::vector<double> tokens, one;
  Basis::Workspace work;
  for (std::size_t start = 0; start < count; start += batch) {
    const std::size_t now = std::min(batch, count - start);
    lay_out(now, n, d, x + start * n * d, false, tokens);
    for (std::size_t i = 0; i < n; ++i) {
      one.assign(latent * now, 0.0);
      basis_.add_phi(now, tokens.data() + i * d * now, one.data(), work);
      for (std::size_t s = 0; s < now; ++s) for (std::size_t k = 0; k < latent; ++k) out[((start + s) * n + i) * latent + k] = one[k * now + s];
    }
  }
}

void Sumformer::evaluate_with(std::size_t count, const double* x, const double* sums, bool per_token, double* out) const {
  const std::size_t n = basis_.tokens(), d = basis_.dim(), latent = basis_.latent(), columns = basis_.columns().size(), width = outputs();
  std::vector<double> tokens, local(latent * batch), values(columns * batch), result(width * batch);
  Basis::Workspace work;
  for (std::size_t start = 0; start < count; start += batch) {
    const std::size_t now = std::min(batch, count - start);
    lay_out(now, n, d, x + start * n * d, false, tokens);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t s = 0; s < now && (i == 0 || per_token); ++s) {
        const double* from = sums + (per_token ? (start + s) * n + i : start + s) * latent;
        for (std::size_t k = 0; k < latent; ++k) local[k * now + s] = from[k];
      }
      basis_.evaluate(now, tokens.data() + i * d * now, local.data(), columns, values.data(), now, work);
      std::fill(result.begin(), result.end(), 0.0);
      for (std::size_t k = 0; k < columns; ++k) {
        const double* value = values.data() + k * now;
        for (std::size_t e = 0; e < width; ++e) {
          const double factor = coefficients_(k, e);
          double* to = result.data() + e * now;
          for (std::size_t s = 0; s < now; ++s) to[s] += factor * value[s];
        }
      }
      for (std::size_t s = 0; s < now; ++s) for (std::size_t e = 0; e < width; ++e) out[((start + s) * n + i) * width + e] = result[e * now + s];
    }
  }
}

void Sumformer::evaluate(std::size_t count, const double* x, double* out) const {
  std::vector<double> all(batch * basis_.latent());
  const std::size_t size = basis_.tokens() * basis_.dim();
  for (std::size_t start = 0; start < count; start += batch) {
    const std::size_t now = std::min(batch, count - start);
    sums(now, x + start * size, all.data());
    evaluate_with(now, x + start * size, all.data(), false, out + start * basis_.tokens() * outputs());
  }
}

data::TensorFile Sumformer::to_tensors() const {
  const std::size_t d = basis_.dim(), degree = basis_.degree(), columns = basis_.columns().size();
  data::TensorFile file;
  file.metadata = {{"kind", "sumformer"}, {"method", "polynomial"}, {"tokens", std::to_string(basis_.tokens())}, {"dim", std::to_string(d)},
                   {"degree", std::to_string(degree)}, {"outputs", std::to_string(outputs())}};
  std::vector<std::int64_t> exponents, own, sums;
  std::vector<double> recurrence, scale, coefficients;
  for (std::size_t k = 1; k <= basis_.latent(); ++k) exponents.insert(exponents.end(), basis_.indices()[k].begin(), basis_.indices()[k].end());
  for (const Recurrence& r : basis_.recurrences()) {
    recurrence.insert(recurrence.end(), r.a.begin(), r.a.end());
    recurrence.insert(recurrence.end(), r.b.begin(), r.b.end());
  }
  for (const Basis::Column& column : basis_.columns()) {
    const MultiIndex& index = basis_.indices()[column.own];
    own.insert(own.end(), index.begin(), index.end());
    const std::vector<std::uint32_t>& parts = basis_.products()[column.product];
    for (std::size_t k = 0; k < degree; ++k) sums.push_back(k < parts.size() ? static_cast<std::int64_t>(parts[k]) : 0);
    scale.push_back(column.scale);
  }
  for (std::size_t e = 0; e < outputs(); ++e) for (std::size_t k = 0; k < columns; ++k) coefficients.push_back(coefficients_(k, e));
  file.tensors["phi.exponents"] = {{basis_.latent(), d}, std::move(exponents)};
  file.tensors["phi.recurrence"] = {{d, 2, degree}, std::move(recurrence)};
  file.tensors["psi.own"] = {{columns, d}, std::move(own)};
  file.tensors["psi.sums"] = {{columns, degree}, std::move(sums)};
  file.tensors["psi.scale"] = {{columns}, std::move(scale)};
  file.tensors["psi.coefficients"] = {{outputs(), columns}, std::move(coefficients)};
  return file;
}

Sumformer Sumformer::from_tensors(const data::TensorFile& content, const std::string& file) {
  const auto kind = content.metadata.find("kind");
  if (kind == content.metadata.end() || kind->second != "sumformer") throw InputError(fmt::format("{}: metadata kind: expected \"sumformer\", found {}", file, kind == content.metadata.end() ? "nothing" : kind->second));
  const std::size_t n = number_of(content, file, "tokens", 1 << 24), d = number_of(content, file, "dim", 1 << 16), degree = number_of(content, file, "degree", 60),
                    outputs = number_of(content, file, "outputs", 1 << 20);
  const auto& recurrence = tensor<double>(content, file, "phi.recurrence", {d, 2, degree});
  std::vector<Recurrence> laws(d);
  for (std::size_t c = 0; c < d; ++c) {
    const auto at = recurrence.begin() + static_cast<std::ptrdiff_t>(2 * c * degree);
    laws[c].a.assign(at, at + static_cast<std::ptrdiff_t>(degree));
    laws[c].b.assign(at + static_cast<std::ptrdiff_t>(degree), at + static_cast<std::ptrdiff_t>(2 * degree));
    for (double b : laws[c].b) if (!(b > 0)) throw InputError(fmt::format("{}: phi.recurrence: expected positive b, found {}", file, b));
  }
  const double wanted = count_sizes(n, d, degree).independent;
  const auto found = content.tensors.find("psi.coefficients");
  const double stored = found == content.tensors.end() ? 0 : static_cast<double>(found->second.count()) / static_cast<double>(outputs);
  if (stored != wanted) throw InputError(fmt::format("{}: psi.coefficients: expected {} columns for these tokens, dim and degree, found {}", file, wanted, stored));
  Basis basis(n, d, degree, std::move(laws));
  const std::size_t columns = basis.columns().size();
  const auto& coefficients = tensor<double>(content, file, "psi.coefficients", {outputs, columns});
  linear_algebra::Matrix matrix(columns, outputs);
  for (std::size_t e = 0; e < outputs; ++e) for (std::size_t k = 0; k < columns; ++k) matrix(k, e) = coefficients[e * columns + k];
  Sumformer result(std::move(basis), std::move(matrix));
  // The columns are known from tokens, dim and degree; a file that lists others means another function.
  const data::TensorFile own = result.to_tensors();
  for (const char* name : {"phi.exponents", "psi.own", "psi.sums"}) {
    const auto entry = content.tensors.find(name);
    if (entry == content.tensors.end() || !(entry->second == own.tensors.at(name))) throw InputError(fmt::format("{}: {}: expected the columns of degree {}, found others", file, name, degree));
  }
  return result;
}

}  // namespace sightline::approximate

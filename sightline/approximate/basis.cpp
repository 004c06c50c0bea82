#include "sightline/approximate/basis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "sightline/base/error.hpp"

namespace sightline::approximate {
namespace {

double binomial(double n, double k) {
  double result = 1;
  k = std::min(k, n - k);
  for (double i = 1; i <= k; ++i) result = result * (n - k + i) / i;
  return std::round(result);
}

/// Multi-indices of one degree, counted with the sign (-1)^(sum of their first `flipped` entries): the trace of the reflection of those coordinates on
/// the monomials of that degree, the coefficient of t^degree in (1 + t)^-flipped (1 - t)^-(dim - flipped). flipped = 0: how many there are.
double count_indices(std::size_t dim, std::size_t degree, std::size_t flipped) {
  double sum = 0;
  for (std::size_t k = 0; k <= degree; ++k) {
    if ((flipped == 0 && k > 0) || (flipped == dim && k < degree)) continue;
    const double odd = flipped == 0 ? 1 : binomial(static_cast<double>(k + flipped - 1), static_cast<double>(flipped - 1));
    const double even = flipped == dim ? 1 : binomial(static_cast<double>(degree - k + dim - flipped - 1), static_cast<double>(dim - flipped - 1));
    sum += (k % 2 == 0 ? 1 : -1) * odd * even;
  }
  return sum;
}

/// Multisets by total degree of parts, [degree][parts], of parts whose degree is at most `greatest`, with at most `parts` parts; counted with signs as above.
std::vector<std::vector<double>> count_multisets(std::size_t dim, std::size_t degree, std::size_t greatest, std::size_t parts, std::size_t flipped) {
  parts = std::min(parts, degree);
  std::vector<std::vector<double>> count(degree + 1, std::vector<double>(parts + 1, 0));
  count[0][0] = 1;
  for (std::size_t k = 1; k <= std::min(greatest, degree); ++k) {
    const double all = count_indices(dim, k, 0), signed_sum = count_indices(dim, k, flipped);
    for (const double sign : {1.0, -1.0}) {
      const double kinds = (all + sign * signed_sum) / 2;
      if (kinds == 0) continue;
      std::vector<std::vector<double>> next = count;
      for (std::size_t t = 0; t <= degree; ++t)
        for (std::size_t p = 0; p <= parts; ++p)
          for (std::size_t times = 1; p + times <= parts && t + k * times <= degree; ++times)
            next[t + k * times][p + times] += count[t][p] * binomial(kinds + static_cast<double>(times) - 1, static_cast<double>(times)) * (times % 2 == 0 ? 1 : sign);
      count = std::move(next);
    }
  }
  return count;
}

double total(std::size_t dim, std::size_t degree, std::size_t greatest, std::size_t parts, std::size_t flipped = 0) {
  const auto count = count_multisets(dim, degree, greatest, parts, flipped);
  double sum = 0, own = 0;  // own: the own token's multi-indices of degree at most degree - t
  for (std::size_t t = degree + 1; t-- > 0;) {
    own += count_indices(dim, degree - t, flipped);
    for (double value : count[t]) sum += value * own;
  }
  return sum;
}

void list_indices(std::size_t dim, std::size_t degree, MultiIndex& prefix, std::vector<MultiIndex>& out) {
  if (prefix.size() + 1 == dim) {
    prefix.push_back(static_cast<std::uint8_t>(degree));
    out.push_back(prefix);
    prefix.pop_back();
    return;
  }
  for (std::size_t k = degree + 1; k-- > 0;) {
    prefix.push_back(static_cast<std::uint8_t>(k));
    list_indices(dim, degree - k, prefix, out);
    prefix.pop_back();
  }
}

std::size_t degree_of(const MultiIndex& index) { return std::accumulate(index.begin(), index.end(), std::size_t{0}); }

}  // namespace

Recurrence legendre(double low, double high, std::size_t degree) {
  Recurrence r;
  for (std::size_t k = 1; k <= degree; ++k) {
    const double x = static_cast<double>(k);
    r.a.push_back((low + high) / 2);
    r.b.push_back((high - low) / 2 * x / std::sqrt(4 * x * x - 1));
  }
  return r;
}

Recurrence hermite(std::size_t degree) {
  Recurrence r;
  for (std::size_t k = 1; k <= degree; ++k) {
    r.a.push_back(0);
    r.b.push_back(std::sqrt(static_cast<double>(k)));
  }
  return r;
}

Recurrence of_sample(const std::vector<double>& values, std::size_t degree) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const double width = *high > *low ? *high - *low : 1;
  const Recurrence fallback = legendre(*low, *low + width, degree);
  Recurrence r;
  const double count = static_cast<double>(values.size());
  std::vector<double> before(values.size(), 0), now(values.size(), 1);
  double b = 0;
  for (std::size_t k = 0; k < degree; ++k) {
    double a = 0;
    for (std::size_t s = 0; s < values.size(); ++s) a += values[s] * now[s] * now[s];
    a /= count;
    double square = 0;
    for (std::size_t s = 0; s < values.size(); ++s) {
      const double next = (values[s] - a) * now[s] - b * before[s];
      before[s] = now[s];
      now[s] = next;
      square += next * next;
    }
    b = std::sqrt(square / count);
    if (!(b > 1e-4 * width)) {  // the sample has no more than k + 1 different values: any scale will do
      for (; k < degree; ++k) {
        r.a.push_back(fallback.a[k]);
        r.b.push_back(fallback.b[k]);
      }
      return r;
    }
    for (double& value : now) value /= b;
    r.a.push_back(a);
    r.b.push_back(b);
  }
  return r;
}

Sizes count_sizes(std::size_t tokens, std::size_t dim, std::size_t degree) {
  const std::size_t greatest = std::min(degree, tokens);
  Sizes sizes;
  sizes.latent = binomial(static_cast<double>(greatest + dim), static_cast<double>(dim)) - 1;
  sizes.columns = total(dim, degree, greatest, degree);
  sizes.independent = total(dim, degree, degree, tokens - 1);
  return sizes;
}

std::vector<double> count_parities(std::size_t tokens, std::size_t dim, std::size_t degree, std::size_t mirrored) {
  // A class with w odd coordinates has 2^-q sum_s (-1)^|s and w| trace(s) columns, s over the subsets of the q coordinates: characters of (Z/2)^q.
  std::vector<double> sizes(mirrored + 1, 0);
  for (std::size_t flipped = 0; flipped <= mirrored; ++flipped) {
    const double trace = total(dim, degree, degree, tokens - 1, flipped);
    for (std::size_t odd = 0; odd <= mirrored; ++odd) {
      double character = 0;
      for (std::size_t both = 0; both <= std::min(odd, flipped); ++both) {
        if (flipped - both > mirrored - odd) continue;
        character += (both % 2 == 0 ? 1 : -1) * binomial(static_cast<double>(odd), static_cast<double>(both)) * binomial(static_cast<double>(mirrored - odd), static_cast<double>(flipped - both));
      }
      sizes[odd] += character * trace;
    }
  }
  for (double& size : sizes) size = std::round(size / std::exp2(static_cast<double>(mirrored)));
  return sizes;
}

Basis::Basis(std::size_t tokens, std::size_t dim, std::size_t degree, std::vector<Recurrence> recurrences)
    : tokens_(tokens), dim_(dim), degree_(degree), recurrences_(std::move(recurrences)) {
  if (tokens == 0 || dim == 0 || degree > 60 || recurrences_.size() != dim) throw ArgumentError("basis: expected tokens, dim >= 1 and degree <= 60");
  if (count_sizes(tokens, dim, degree).independent > 1e8) throw ArgumentError("basis: more than 1e8 columns");
  for (std::size_t k = 0; k <= degree; ++k) {
    MultiIndex prefix;
    list_indices(dim, k, prefix, indices_);
    if (k <= std::min(degree, tokens)) latent_ = indices_.size() - 1;
  }
  parent_.assign(indices_.size(), 0);
  for (std::uint32_t k = 1; k < indices_.size(); ++k) {
    MultiIndex shorter = indices_[k];
    std::size_t last = dim - 1;
    while (shorter[last] == 0) --last;
    shorter[last] = 0;
    parent_[k] = find(shorter);
  }
  // p_i p_j in the p_k: t p_k = b_{k+1} p_{k+1} + a_k p_k + b_k p_{k-1}, and the recurrence over i.
  linear_.resize(dim);
  for (std::size_t c = 0; c < dim; ++c) {
    const Recurrence& r = recurrences_[c];
    linear_[c].assign(degree + 1, std::vector<std::vector<double>>(degree + 1));
    for (std::size_t j = 0; j <= degree; ++j) {
      std::vector<double> before(degree + 2, 0.0), now(degree + 2, 0.0);
      now[j] = 1;
      for (std::size_t i = 0; i + j <= degree; ++i) {
        linear_[c][i][j] = std::vector<double>(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(i + j + 1));
        if (i + j == degree) break;
        std::vector<double> next(degree + 2, 0.0);
        for (std::size_t k = 0; k <= i + j; ++k) {
          if (now[k] == 0) continue;
          next[k + 1] += r.b[k] * now[k];
          next[k] += r.a[k] * now[k];
          if (k > 0) next[k - 1] += r.b[k - 1] * now[k];
        }
        for (std::size_t k = 0; k <= degree; ++k) next[k] = (next[k] - r.a[i] * now[k] - (i > 0 ? r.b[i - 1] * before[k] : 0)) / r.b[i];
        before = std::move(now);
        now = std::move(next);
      }
    }
  }
  make_products();
  if (degree > tokens && tokens > 1) make_extension();
  for (std::uint32_t p = 0; p < products_.size(); ++p) {
    std::size_t used = 0;
    for (std::uint32_t part : products_[p]) used += degree_of(indices_[part]);
    for (std::uint32_t own = 0; own < indices_.size(); ++own) {
      const std::size_t whole = used + degree_of(indices_[own]);
      if (whole <= degree) columns_.push_back({own, p, 1 / norms_[p], static_cast<std::uint8_t>(whole)});
    }
  }
  std::stable_sort(columns_.begin(), columns_.end(), [](const Column& x, const Column& y) { return x.degree < y.degree; });
}

std::uint32_t Basis::find(const MultiIndex& index) const {
  const std::size_t degree = degree_of(index);
  const auto by_degree_then_falling = [&](const MultiIndex& x, const MultiIndex& y) {
    const std::size_t dx = degree_of(x), dy = degree_of(y);
    return dx != dy ? dx < dy : x > y;
  };
  (void)degree;
  const auto found = std::lower_bound(indices_.begin(), indices_.end(), index, by_degree_then_falling);
  if (found == indices_.end() || *found != index) throw InternalError("basis: a multi-index is missing");
  return static_cast<std::uint32_t>(found - indices_.begin());
}

std::vector<Basis::Term> Basis::multiply(std::uint32_t a, std::uint32_t b) const {
  std::vector<std::pair<MultiIndex, double>> partial{{MultiIndex(), 1.0}};
  for (std::size_t c = 0; c < dim_; ++c) {
    const std::vector<double>& factors = linear_[c][indices_[a][c]][indices_[b][c]];
    std::vector<std::pair<MultiIndex, double>> next;
    for (const auto& [index, value] : partial) {
      for (std::size_t k = 0; k < factors.size(); ++k) {
        if (std::fabs(factors[k]) < 1e-14) continue;  // odd terms of symmetric laws vanish
        next.emplace_back(index, value * factors[k]);
        next.back().first.push_back(static_cast<std::uint8_t>(k));
      }
    }
    partial = std::move(next);
  }
  std::vector<Term> result;
  for (const auto& [index, value] : partial) result.push_back({find(index), value});
  return result;
}

void Basis::make_products() {
  const std::size_t others = tokens_ - 1;
  std::map<std::vector<std::uint32_t>, std::uint32_t> number;
  products_.push_back({});
  number[{}] = 0;
  steps_.push_back({});
  norms_.push_back(1);
  std::vector<std::size_t> degrees{0};
  std::size_t begin = 0;
  for (std::size_t parts = 1; parts <= std::min(others, degree_); ++parts) {
    const std::size_t end = products_.size();
    for (std::size_t p = begin; p < end; ++p) {
      // Parts in falling order of their numbers: the new one is the smallest, so its products are the shortest.
      const std::uint32_t most = products_[p].empty() ? static_cast<std::uint32_t>(indices_.size() - 1) : products_[p].back();
      for (std::uint32_t a = 1; a <= most && degrees[p] + degree_of(indices_[a]) <= degree_; ++a) {
        std::vector<std::uint32_t> product = products_[p];
        product.push_back(a);
        Step step{a, static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(terms_.size()), 0};
        std::map<std::uint32_t, double> collected;
        for (std::size_t t = 0; t + 1 < product.size(); ++t) {
          for (const Term& term : multiply(a, product[t])) {
            std::vector<std::uint32_t> replaced(product.begin(), product.end() - 1);
            if (term.product == 0) {
              replaced.erase(replaced.begin() + static_cast<std::ptrdiff_t>(t));
              collected[number.at(replaced)] += term.factor * static_cast<double>(others - replaced.size());
            } else {
              replaced[t] = term.product;
              std::sort(replaced.begin(), replaced.end(), std::greater<>());
              collected[number.at(replaced)] += term.factor;
            }
          }
        }
        for (const auto& [of, factor] : collected) terms_.push_back({of, factor});
        step.last = static_cast<std::uint32_t>(terms_.size());
        number[product] = static_cast<std::uint32_t>(products_.size());
        // E M^2 = N (N-1) .. (N-k+1) * product of multiplicities' factorials.
        double square = 1, run = 0;
        for (std::size_t t = 0; t < product.size(); ++t) {
          square *= static_cast<double>(others - t);
          run = t > 0 && product[t] == product[t - 1] ? run + 1 : 1;
          square *= run;
        }
        norms_.push_back(std::sqrt(square));
        degrees.push_back(degrees[p] + degree_of(indices_[a]));
        products_.push_back(std::move(product));
        steps_.push_back(step);
      }
    }
    begin = end;
  }
}

void Basis::make_extension() {
  // Monomials u^a, u = (t - centre) / half, keep the set-partition identity free of lower terms.
  const std::size_t parts = tokens_;  // N + 1
  if (parts > 9) throw ArgumentError("basis: degree above the number of tokens with more than 9 tokens");
  std::vector<std::vector<std::vector<double>>> in_monomials(dim_), in_own(dim_);  // p_k = sum_m c u^m, u^k = sum_m c p_m
  for (std::size_t c = 0; c < dim_; ++c) {
    const Recurrence& r = recurrences_[c];
    centre_.push_back(r.a[0]);
    half_.push_back(std::sqrt(3.0) * r.b[0]);
    auto& p = in_monomials[c];
    p.assign(degree_ + 1, std::vector<double>(degree_ + 1, 0.0));
    p[0][0] = 1;
    for (std::size_t k = 0; k < degree_; ++k) {
      for (std::size_t m = 0; m <= degree_; ++m) {
        double value = (centre_[c] - r.a[k]) * p[k][m];
        if (m > 0) value += half_[c] * p[k][m - 1];
        if (k > 0) value -= r.b[k - 1] * p[k - 1][m];
        p[k + 1][m] = value / r.b[k];
      }
    }
    auto& u = in_own[c];
    u.assign(degree_ + 1, std::vector<double>(degree_ + 1, 0.0));
    for (std::size_t k = 0; k <= degree_; ++k) {  // u^k = (p_k - lower terms) / leading
      u[k][k] = 1 / p[k][k];
      for (std::size_t m = 0; m < k; ++m) for (std::size_t l = 0; l <= m; ++l) u[k][l] -= p[k][m] * u[m][l] / p[k][k];
    }
  }
  const auto convert = [&](const std::vector<std::vector<std::vector<double>>>& table, std::uint32_t a) {
    Conversion result;
    for (std::uint32_t b = 0; b < indices_.size(); ++b) {
      double factor = 1;
      for (std::size_t c = 0; c < dim_ && factor != 0; ++c) factor *= indices_[b][c] <= indices_[a][c] ? table[c][indices_[a][c]][indices_[b][c]] : 0;
      if (factor != 0) result.terms.push_back({b, factor});
    }
    return result;
  };
  for (std::uint32_t a = 0; a < indices_.size(); ++a) {
    to_monomial_.push_back(a <= latent_ ? convert(in_own, a) : Conversion{});
    from_monomial_.push_back(a <= latent_ ? Conversion{} : convert(in_monomials, a));
  }
  // Set partitions of n parts as restricted growth strings.
  std::vector<std::vector<std::size_t>> partitions;
  std::vector<std::size_t> word(parts, 0);
  const auto grow = [&](auto&& self, std::size_t at, std::size_t blocks) -> void {
    if (at == parts) {
      if (blocks > 1) partitions.push_back(word);
      return;
    }
    for (std::size_t block = 0; block <= blocks; ++block) {
      word[at] = block;
      self(self, at + 1, std::max(blocks, block + 1));
    }
  };
  grow(grow, 0, 0);
  double whole = parts % 2 == 1 ? 1 : -1;
  for (std::size_t k = 2; k < parts; ++k) whole *= static_cast<double>(k);
  for (std::uint32_t a = static_cast<std::uint32_t>(latent_) + 1; a < indices_.size(); ++a) {
    // n non-zero parts of a, as even as units allow.
    std::vector<MultiIndex> split(parts, MultiIndex(dim_, 0));
    std::size_t at = 0;
    for (std::size_t c = 0; c < dim_; ++c) for (std::size_t k = 0; k < indices_[a][c]; ++k, at = (at + 1) % parts) ++split[at][c];
    std::map<std::vector<std::uint32_t>, double> collected;
    for (const auto& partition : partitions) {
      std::vector<MultiIndex> blocks(*std::max_element(partition.begin(), partition.end()) + 1, MultiIndex(dim_, 0));
      std::vector<std::size_t> size(blocks.size(), 0);
      for (std::size_t k = 0; k < parts; ++k) {
        ++size[partition[k]];
        for (std::size_t c = 0; c < dim_; ++c) blocks[partition[k]][c] = static_cast<std::uint8_t>(blocks[partition[k]][c] + split[k][c]);
      }
      double factor = -1 / whole;
      std::vector<std::uint32_t> product;
      for (std::size_t k = 0; k < blocks.size(); ++k) {
        for (std::size_t l = 1; l < size[k]; ++l) factor *= -static_cast<double>(l);
        product.push_back(find(blocks[k]));
      }
      std::sort(product.begin(), product.end());
      collected[product] += factor;
    }
    Extension extension;
    extension.target = a;
    for (const auto& [product, factor] : collected) if (factor != 0) extension.terms.emplace_back(factor, product);
    extensions_.push_back(std::move(extension));
  }
}

std::size_t Basis::columns_up_to(std::size_t degree) const {
  return static_cast<std::size_t>(std::upper_bound(columns_.begin(), columns_.end(), degree, [](std::size_t d, const Column& c) { return d < c.degree; }) - columns_.begin());
}

std::string Basis::name(const Column& column) const {
  const auto print = [&](std::uint32_t index) {
    std::string text;
    for (std::uint8_t k : indices_[index]) text += fmt::format("{}{}", text.empty() ? "" : ",", k);
    return text;
  };
  std::string text = fmt::format("x_i^({})", print(column.own));
  for (std::uint32_t part : products_[column.product]) text += fmt::format(" * P({})", print(part));
  return text;
}

void Basis::powers_of(std::size_t rows, const double* x, std::vector<double>& powers) const {
  powers.resize(dim_ * (degree_ + 1) * rows);
  for (std::size_t c = 0; c < dim_; ++c) {
    const Recurrence& r = recurrences_[c];
    double* p = powers.data() + c * (degree_ + 1) * rows;
    const double* t = x + c * rows;
    std::fill_n(p, rows, 1.0);
    for (std::size_t k = 0; k < degree_; ++k) {
      const double a = r.a[k], b = k > 0 ? r.b[k - 1] : 0, inverse = 1 / r.b[k];
      const double *now = p + k * rows, *before = p + (k > 0 ? k - 1 : 0) * rows;
      double* next = p + (k + 1) * rows;
      for (std::size_t s = 0; s < rows; ++s) next[s] = ((t[s] - a) * now[s] - b * before[s]) * inverse;
    }
  }
}

void Basis::add_phi(std::size_t rows, const double* x, double* sums, Workspace& work) const {
  powers_of(rows, x, work.powers);
  work.own.resize((latent_ + 1) * rows);
  std::fill_n(work.own.begin(), rows, 1.0);
  for (std::size_t k = 1; k <= latent_; ++k) {
    std::size_t c = dim_ - 1;
    while (indices_[k][c] == 0) --c;
    const double *power = work.powers.data() + (c * (degree_ + 1) + indices_[k][c]) * rows, *parent = work.own.data() + parent_[k] * rows;
    double *own = work.own.data() + k * rows, *sum = sums + (k - 1) * rows;
    for (std::size_t s = 0; s < rows; ++s) {
      own[s] = parent[s] * power[s];
      sum[s] += own[s];
    }
  }
}

void Basis::extend(std::size_t rows, Workspace& work) const {
  work.monomial.assign(indices_.size() * rows, 0.0);
  const double others = static_cast<double>(tokens_ - 1);
  double* mono = work.monomial.data();
  std::fill_n(mono, rows, others);
  for (std::uint32_t a = 1; a <= latent_; ++a) {
    double* to = mono + a * rows;
    for (const Term& term : to_monomial_[a].terms) {
      if (term.product == 0) for (std::size_t s = 0; s < rows; ++s) to[s] += term.factor * others;
      else for (std::size_t s = 0; s < rows; ++s) to[s] += term.factor * work.sums[(term.product - 1) * rows + s];
    }
  }
  std::vector<double> product(rows);
  for (const Extension& extension : extensions_) {
    double* to = mono + extension.target * rows;
    for (const auto& [factor, parts] : extension.terms) {
      std::fill(product.begin(), product.end(), factor);
      for (std::uint32_t part : parts) for (std::size_t s = 0; s < rows; ++s) product[s] *= mono[part * rows + s];
      for (std::size_t s = 0; s < rows; ++s) to[s] += product[s];
    }
    double* sum = work.sums.data() + (extension.target - 1) * rows;
    std::fill_n(sum, rows, 0.0);
    for (const Term& term : from_monomial_[extension.target].terms) for (std::size_t s = 0; s < rows; ++s) sum[s] += term.factor * mono[term.product * rows + s];
  }
}

void Basis::prepare(std::size_t rows, const double* x, const double* sums, Workspace& work) const {
  // Own token at every degree, then the power sums of the others.
  powers_of(rows, x, work.powers);
  work.own.resize(indices_.size() * rows);
  std::fill_n(work.own.begin(), rows, 1.0);
  work.sums.resize((indices_.size() - 1) * rows);
  for (std::size_t k = 1; k < indices_.size(); ++k) {
    std::size_t c = dim_ - 1;
    while (indices_[k][c] == 0) --c;
    const double *power = work.powers.data() + (c * (degree_ + 1) + indices_[k][c]) * rows, *parent = work.own.data() + parent_[k] * rows;
    double* own = work.own.data() + k * rows;
    for (std::size_t s = 0; s < rows; ++s) own[s] = parent[s] * power[s];
    if (k > latent_) continue;
    const double* from = sums + (k - 1) * rows;
    double* sum = work.sums.data() + (k - 1) * rows;
    for (std::size_t s = 0; s < rows; ++s) sum[s] = from[s] - own[s];
  }
  if (!extensions_.empty()) extend(rows, work);
  work.products.resize(products_.size() * rows);
  std::fill_n(work.products.begin(), rows, 1.0);
  for (std::size_t p = 1; p < products_.size(); ++p) {
    const Step& step = steps_[p];
    double* to = work.products.data() + p * rows;
    const double *sum = work.sums.data() + (step.sum - 1) * rows, *base = work.products.data() + step.base * rows;
    for (std::size_t s = 0; s < rows; ++s) to[s] = sum[s] * base[s];
    for (std::uint32_t t = step.first; t < step.last; ++t) {
      const double factor = terms_[t].factor, *other = work.products.data() + terms_[t].product * rows;
      for (std::size_t s = 0; s < rows; ++s) to[s] -= factor * other[s];
    }
  }
}

void Basis::write_column(const Column& column, std::size_t rows, const Workspace& work, double* to) const {
  const double *own = work.own.data() + column.own * rows, *product = work.products.data() + column.product * rows;
  for (std::size_t s = 0; s < rows; ++s) to[s] = own[s] * product[s] * column.scale;
}

void Basis::evaluate(std::size_t rows, const double* x, const double* sums, std::size_t count, double* out, std::size_t stride, Workspace& work) const {
  prepare(rows, x, sums, work);
  for (std::size_t k = 0; k < count; ++k) write_column(columns_[k], rows, work, out + k * stride);
}

void Basis::evaluate(std::size_t rows, const double* x, const double* sums, const std::vector<std::uint32_t>& chosen, double* out, std::size_t stride, Workspace& work) const {
  prepare(rows, x, sums, work);
  for (std::size_t k = 0; k < chosen.size(); ++k) write_column(columns_[chosen[k]], rows, work, out + k * stride);
}

std::uint32_t Basis::parity(const Column& column, std::size_t mirrored) const {
  std::uint32_t bits = 0;
  const auto add = [&](std::uint32_t index) {
    for (std::size_t c = 0; c < mirrored; ++c) bits ^= static_cast<std::uint32_t>(indices_[index][c] & 1U) << c;
  };
  add(column.own);
  for (const std::uint32_t part : products_[column.product]) add(part);
  return bits;
}

}  // namespace sightline::approximate

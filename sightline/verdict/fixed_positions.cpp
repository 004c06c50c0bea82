#include "sightline/verdict/fixed_positions.hpp"

#include "sightline/architecture/number_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string>

namespace sightline::verdict {

using namespace architecture;

namespace {

double compute_entry(const Architecture& a, std::size_t p, std::size_t k) {
  if (a.input.positions == Positions::fixed) return a.input.table[p][k];
  const double angle = static_cast<double>(p) / std::pow(10000.0, static_cast<double>(k / 2 * 2) / static_cast<double>(a.dim));
  return k % 2 == 0 ? std::sin(angle) : std::cos(angle);
}

/// Do the entries differ by at least the width of the box? Numbers are the decimals that were written.
bool are_apart(double x, double y, double width) {
  const double gap = std::abs(x - y);
  if (std::abs(gap - width) > 1e-9 * std::max({1.0, std::abs(x), std::abs(y), width})) return gap > width;
  return abs(to_rational(x) - to_rational(y)) >= 2 * to_rational(width / 2);
}

/// Centred tokens (16.21): x + e_i = x' + e_j asks e_i - e_j to be centred too; behind a LayerNorm only up to the mean.
struct Overlap {
  bool confused = false;  ///< some two inputs cannot be told apart by all that reads them
  bool exact = true;      ///< ... because they are equal
};

bool reads_through_layernorm(const Architecture& a) {
  return (a.input.norm && a.input.norm->kind == NormKind::layernorm) ||
         std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) { return layer.norm.kind == NormKind::layernorm; });
}

/// The rows of the table, and which of them the box can make equal.
class PositionRows {
public:
  PositionRows(const Architecture& a, const Budget& budget)
      : size_(static_cast<std::size_t>(a.tokens)), width_(2 * a.target.box), centred_(a.input.domain == Domain::centred),
        computed_(a.input.positions == Positions::sinusoidal), layernorm_(reads_through_layernorm(a)), budget_(budget) {
    if (centred_ || !computed_ || width_ < 2) keep_columns(a);  // sines and cosines of a table differ by less than 2 (docs/theory.md 16.95)
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] Overlap compare(std::size_t i, std::size_t j) const {
    if (centred_) return compare_centred(i, j);
    return {std::none_of(columns_.begin(), columns_.end(), [&](const std::vector<double>& x) { return computed_ ? std::abs(x[i] - x[j]) >= width_ : are_apart(x[i], x[j], width_); }), true};
  }
  /// Calls use(i, j, overlap) for the pairs that may be confused, once each.
  template <class Use>
  void visit_confused(const Use& use) const {
    std::vector<std::size_t> order(size_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const bool sorted = !centred_ && !columns_.empty();
    if (sorted) std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return columns_.front()[i] < columns_.front()[j]; });
    for (std::size_t p = 0; p < size_; ++p) {
      budget_.poll();
      for (std::size_t q = p; q-- > 0;) {
        if (sorted && is_far(columns_.front()[order[q]], columns_.front()[order[p]])) break;
        const Overlap overlap = compare(order[p], order[q]);
        if (overlap.confused) use(order[p], order[q], overlap);
      }
    }
  }
  /// No two rows are apart.
  [[nodiscard]] bool all_overlap() const { return !centred_ && columns_.empty(); }

private:
  /// More than rounding.
  [[nodiscard]] double slack(double x, double y) const { return 1e-6 * std::max({1.0, std::abs(x), std::abs(y), width_}); }
  /// Beyond doubt, also for what lies behind either of them.
  [[nodiscard]] bool is_far(double low, double high) const { return high - low > width_ + slack(low, high); }

  [[nodiscard]] Overlap compare_centred(std::size_t i, std::size_t j) const {
    Overlap overlap{true, true};
    if (computed_) {  // rows of sines and cosines are taken as never centred to each other; near the edge of the box nothing is claimed
      double sum = 0;
      for (const std::vector<double>& x : columns_) sum += x[i] - x[j];
      if (!layernorm_ && std::abs(sum) > 1e-6) return {false, true};
      for (const std::vector<double>& x : columns_) overlap.confused = overlap.confused && std::abs(x[i] - x[j] - sum / static_cast<double>(columns_.size())) < width_ + 1e-9;
      return {overlap.confused, false};
    }
    mpq_class sum = 0;
    std::vector<mpq_class> gap;
    for (const std::vector<double>& x : columns_) sum += gap.emplace_back(to_rational(x[i]) - to_rational(x[j]));
    if (!layernorm_ && sum != 0) return {false, true};
    const mpq_class mean = sum / static_cast<unsigned long>(columns_.size()), width = 2 * to_rational(width_ / 2);
    for (const mpq_class& g : gap) overlap.confused = overlap.confused && abs(mpq_class(g - mean)) < width;
    overlap.exact = sum == 0;
    return overlap;
  }

  /// The columns whose entries are not all near each other, the widest first; for centred tokens, of whom whole rows count, all as they are.
  void keep_columns(const Architecture& a) {
    std::vector<double> column(size_), ranges;
    for (std::size_t k = 0; k < static_cast<std::size_t>(a.dim); ++k) {
      budget_.poll();
      for (std::size_t p = 0; p < size_; ++p) column[p] = compute_entry(a, p, k);
      const auto [low, high] = std::minmax_element(column.begin(), column.end());
      if (!centred_ && *high - *low < width_ - slack(*low, *high)) continue;
      budget_.ask(std::uint64_t{size_} * sizeof(double));
      ranges.push_back(*high - *low);
      columns_.push_back(column);
    }
    if (centred_ || columns_.empty()) return;
    std::swap(columns_.front(), columns_[static_cast<std::size_t>(std::max_element(ranges.begin(), ranges.end()) - ranges.begin())]);
  }

  std::size_t size_;
  double width_;
  bool centred_, computed_, layernorm_;
  const Budget budget_;  ///< its own: what it keeps is given back when it goes
  std::vector<std::vector<double>> columns_;
};

}  // namespace

bool uses_fixed_table(const Architecture& a) {
  return (a.input.positions == Positions::fixed || a.input.positions == Positions::sinusoidal) && a.input.embedding == Embedding::none;
}

bool norms_merge_rows(const Architecture& a) {
  if (a.input.positions != Positions::fixed) return false;
  bool layernorm = false, no_eps = false;
  const auto look_at = [&](const Norm& norm) {
    layernorm |= norm.kind == NormKind::layernorm;
    no_eps |= norm.kind != NormKind::none && norm.eps == 0;
  };
  for (const LayerSpec& layer : a.layers) look_at(layer.norm);
  if (a.input.norm) look_at(*a.input.norm);
  if (!layernorm && !no_eps) return false;
  std::map<std::string, const std::vector<double>*> seen;  // what the norm leaves of a row, times the number of its entries -> the row
  for (const std::vector<double>& row : a.input.table) {
    std::vector<mpq_class> left;
    mpq_class sum = 0, largest = 0;
    for (const double x : row) sum += left.emplace_back(to_rational(x));
    for (mpq_class& x : left) {
      if (layernorm) x = x * static_cast<unsigned long>(row.size()) - sum;
      if (abs(x) > largest) largest = abs(x);
    }
    std::string key;
    for (const mpq_class& x : left) key += (no_eps && largest != 0 ? mpq_class(x / largest) : x).get_str() + " ";
    const auto [place, fresh] = seen.emplace(std::move(key), &row);
    if (!fresh && *place->second != row) return true;
  }
  return false;
}

Overlaps recolour_by_overlap(const Context& context, layout::Layout& layout) {
  const PositionRows rows(context.architecture, context.budget);
  const std::size_t n = rows.size();
  if (rows.all_overlap()) {
    std::fill(layout.vertex_colour.begin(), layout.vertex_colour.begin() + static_cast<std::ptrdiff_t>(n), 1);
    return Overlaps::exact;
  }
  std::vector<std::size_t> parent(n);  // the least of a component is its root
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  const auto root = [&](std::size_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  std::vector<std::size_t> degree(n, 0);
  bool exact = true;
  rows.visit_confused([&](std::size_t i, std::size_t j, const Overlap& overlap) {
    exact = exact && overlap.exact;
    ++degree[i], ++degree[j];
    const std::size_t a = root(i), b = root(j);
    parent[std::max(a, b)] = std::min(a, b);
  });
  std::vector<std::size_t> size(n, 0);
  for (std::size_t i = 0; i < n; ++i) ++size[root(i)];
  bool cliques = true;
  for (std::size_t i = 0; i < n; ++i) {
    layout.vertex_colour[i] = root(i) + 1;
    cliques = cliques && degree[i] + 1 == size[root(i)];
  }
  return !exact ? Overlaps::unsettled : cliques ? Overlaps::exact : Overlaps::by_pairs;
}

ExchangedRows find_exchanged_rows(const Context& context, const group::Group& group, const group::Group& harmless, bool keeping_rows) {
  using Images = std::vector<group::Point>;
  constexpr std::size_t most_tokens = 64, most_elements = 5040, most_neighbours = 4096;
  ExchangedRows result;
  const auto n = static_cast<group::Point>(context.tokens());
  const group::Membership harmless_group(harmless, context.budget);
  const auto& row = context.layout.vertex_colour;
  const auto is_harmless = [&](const group::Permutation& g) {
    for (group::Point i = 0; keeping_rows && i < n; ++i) {
      if (row[i] != row[g(i)]) return false;
    }
    return harmless_group.contains(g);
  };
  const std::vector<group::Permutation> generators = group::list_generators(group, static_cast<std::size_t>(-1));
  result.complete = std::all_of(generators.begin(), generators.end(), is_harmless);
  if (result.complete || n > most_neighbours) return result;

  const PositionRows rows(context.architecture, context.budget);
  if (n > most_tokens) {
    const group::Membership member(group, context.budget);
    for (group::Point i = n - 1; i > 0 && !result.first; --i) {
      context.budget.poll();
      const group::Permutation exchange = group::Permutation::transposition(i - 1, i);
      if (!rows.compare(i, i - 1).confused || !member.contains(exchange) || is_harmless(exchange)) continue;
      result.first = sight::Collision{i - 1, i, {}};
      for (group::Point j = 0; j < n; ++j) result.first->tau.emplace_back(j, exchange(j));
    }
    return result;
  }
  std::vector<std::vector<bool>> overlap(n, std::vector<bool>(n, true));
  for (group::Point i = 0; i < n; ++i) {
    for (group::Point j = 0; j < i; ++j) overlap[i][j] = overlap[j][i] = rows.compare(i, j).confused;
  }
  std::optional<std::pair<std::size_t, Images>> best;
  const auto look_at = [&](const Images& images) {
    std::size_t moved = 0;
    for (group::Point i = 0; i < n; ++i) {
      if (!overlap[i][images[i]]) return;
      moved += images[i] != i;
    }
    if (moved == 0 || (best && *best <= std::pair(moved, images)) || is_harmless(group::Permutation::from_images(images))) return;
    best = {moved, images};
  };

  Images identity(n);
  std::iota(identity.begin(), identity.end(), group::Point{0});
  std::set<Images> elements{identity};
  std::vector<Images> last{identity};
  while (!last.empty() && elements.size() <= most_elements) {
    std::vector<Images> next;
    for (const Images& element : last) {
      context.budget.poll();
      for (const group::Permutation& g : generators) {
        Images image = element;
        for (group::Point& x : image) x = g(x);
        if (elements.size() <= most_elements && elements.insert(image).second) next.push_back(std::move(image));
      }
    }
    last = std::move(next);
  }
  result.complete = elements.size() <= most_elements;
  if (result.complete) {
    for (const Images& images : elements) look_at(images);
  } else {
    const group::Membership member(group, context.budget);
    for (group::Point i = 0; i < n; ++i) {
      for (group::Point j = 0; j < i; ++j) {
        if (!overlap[i][j] || !member.contains(group::Permutation::transposition(j, i))) continue;
        Images images = identity;
        std::swap(images[i], images[j]);
        look_at(images);
      }
    }
  }
  if (!best) return result;
  const Images& tau = best->second;
  const auto& orbit = harmless.orbit;
  group::Point a = n;
  for (group::Point i = 0; i < n; ++i) {
    if (tau[i] != i && (a == n || (orbit[a] == orbit[tau[a]] && orbit[i] != orbit[tau[i]]))) a = i;
  }
  result.first = sight::Collision{a, tau[a], {}};
  for (group::Point i = 0; i < n; ++i) result.first->tau.emplace_back(i, tau[i]);
  return result;
}

Floor make_overlap_floor(const Context& context, const std::optional<sight::Collision>& collision, bool for_every_group) {
  Floor floor;
  floor.rule = "fixed positions overlap (theory 3.9)";
  const bool centred = context.architecture.input.domain == Domain::centred;
  floor.domain = fmt::format("{0}[-{1},{1}]^(d n)", centred ? "centred tokens of " : "", context.architecture.target.box);
  floor.target = "a target that differs on two inputs which the table makes equal";
  if (for_every_group) {
    floor.target = "F(X)_i = X_i + (sum over j of |X_j|^2) e_1";
    return floor;
  }
  const auto& orbit = context.target.orbit;
  if (!collision || orbit[collision->a] == orbit[collision->b]) return floor;
  floor.target = fmt::format("F(X)_{} = 0, F(X)_{} = e_1", collision->a, collision->b);
  if (centred) return floor;  // the share of such inputs is not a product over coordinates
  const Architecture& a = context.architecture;
  double share = 0.5;
  for (auto [i, j] : collision->tau) {
    for (std::size_t k = 0; k < static_cast<std::size_t>(a.dim) && i != j; ++k) {
      share *= std::max(0.0, 1 - std::abs(compute_entry(a, i, k) - compute_entry(a, j, k)) / (2 * a.target.box) - 0x1p-50);
    }
  }
  // A floor may be rounded down but never up: every factor is 2^-50 smaller, more than its rounding, and 1e-9 covers products.
  const double scaled = std::floor(share * (1 - 1e-9) * 1e12);
  if (scaled >= 1) {
    mpq_class value(mpz_class(scaled), mpz_class(1000000000000L));
    value.canonicalize();
    floor.squared_error = value;
  }
  return floor;
}

}  // namespace sightline::verdict

#include "sightline/approximate/cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/target/lipschitz.hpp"

namespace sightline::approximate {
namespace {

constexpr std::uint64_t prime = (std::uint64_t{1} << 61) - 1;
constexpr double most_cells = 1e5;

std::uint64_t multiply_modulo(std::uint64_t a, std::uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(static_cast<Wide>(a) * b % prime);
}

/// Own cell, then the power sums of all cells modulo the prime.
std::vector<std::uint64_t> key_of(std::uint32_t own, const std::vector<std::uint32_t>& all) {
  std::vector<std::uint64_t> key(all.size() + 1, 0);
  key[0] = own;
  for (std::uint32_t cell : all) {
    std::uint64_t power = 1;
    for (std::size_t k = 1; k <= all.size(); ++k) {
      power = multiply_modulo(power, cell + 1);
      key[k] = (key[k] + power) % prime;
    }
  }
  return key;
}

std::uint32_t cell_of(const CellTable& table, const double* x) {
  std::size_t cell = 0, unit = 1;
  for (std::size_t c = 0; c < table.dim; ++c, unit *= table.cuts) {
    const double at = std::floor((x[c] - table.low) / table.mesh());
    cell += unit * static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(table.cuts - 1)));
  }
  return static_cast<std::uint32_t>(cell);
}

void centre_of(const CellTable& table, std::uint32_t cell, double* x) {
  for (std::size_t c = 0; c < table.dim; ++c, cell /= static_cast<std::uint32_t>(table.cuts))
    x[c] = table.low + table.mesh() * (static_cast<double>(cell % table.cuts) + 0.5);
}

double relu(double t) { return t > 0 ? t : 0; }

double joint_cells(const target::Target& target, std::size_t cuts) { return std::pow(static_cast<double>(cuts), static_cast<double>(target.tokens() * target.dim())); }

}  // namespace

CellTable make_table(const target::Target& target, double low, double high, std::size_t cuts, const Budget& budget) {
  const std::size_t n = target.tokens(), d = target.dim();
  if (n * d > 6) throw InputError(fmt::format("cells: expected tokens * dim at most 6, found {}", n * d));
  if (joint_cells(target, cuts) > most_cells) throw InputError(fmt::format("cells: {} per coordinate make {:.3g} cells of all tokens: expected at most {:.0e}", cuts, joint_cells(target, cuts), most_cells));
  CellTable table;
  table.tokens = n;
  table.dim = d;
  table.width = target.width();
  table.cuts = cuts;
  table.low = low;
  table.high = high;
  table.cells = 1;
  for (std::size_t c = 0; c < d; ++c) table.cells *= cuts;
  // Rising sequences of n - 1 cells, for every own cell.
  std::vector<std::uint32_t> others(n - 1, 0);
  std::vector<std::vector<std::uint32_t>> multisets;
  const auto grow = [&](auto&& self, std::size_t at, std::uint32_t from) -> void {
    if (at == others.size()) {
      multisets.push_back(others);
      return;
    }
    for (std::uint32_t cell = from; cell < table.cells; ++cell) {
      others[at] = cell;
      self(self, at + 1, cell);
    }
  };
  grow(grow, 0, 0);
  std::vector<double> x(n * d), y(table.width);
  for (std::uint32_t own = 0; own < table.cells; ++own) {
    for (const auto& rest : multisets) {
      budget.poll();
      centre_of(table, own, x.data());
      for (std::size_t j = 0; j + 1 < n; ++j) centre_of(table, rest[j], x.data() + (j + 1) * d);
      const std::uint32_t first = 0;
      target.evaluate_at(1, x.data(), &first, y.data());
      for (double value : y) {
        if (!std::isfinite(value)) throw InputError("the target: expected finite numbers at the centres of the cells, found nan or an infinity");
        table.largest = std::max(table.largest, std::fabs(value));
      }
      table.codes.push_back({own});
      table.codes.back().insert(table.codes.back().end(), rest.begin(), rest.end());
      table.values.insert(table.values.end(), y.begin(), y.end());
    }
  }
  return table;
}

GridSumformer::GridSumformer(CellTable table) : table_(std::move(table)) {
  for (std::uint32_t k = 0; k < table_.codes.size(); ++k) entries_.emplace_back(key_of(table_.codes[k][0], table_.codes[k]), k);
  std::sort(entries_.begin(), entries_.end());
}

void GridSumformer::evaluate(std::size_t count, const double* x, double* out) const {
  const std::size_t n = table_.tokens, d = table_.dim, width = table_.width;
  std::vector<std::uint32_t> cells(n);
  for (std::size_t s = 0; s < count; ++s) {
    for (std::size_t i = 0; i < n; ++i) cells[i] = cell_of(table_, x + (s * n + i) * d);
    std::vector<std::uint64_t> key = key_of(0, cells);
    for (std::size_t i = 0; i < n; ++i) {
      key[0] = cells[i];
      const auto found = std::lower_bound(entries_.begin(), entries_.end(), std::make_pair(key, std::uint32_t{0}));
      if (found == entries_.end() || found->first != key) throw InternalError("grid: a multiset of cells is not in the table");
      std::copy_n(table_.values.begin() + static_cast<std::ptrdiff_t>(found->second * width), width, out + (s * n + i) * width);
    }
  }
}

Theorem1Network::Theorem1Network(const CellTable& table, double alpha) : tokens_(table.tokens), dim_(table.dim), width_(table.width), channels_(table.dim + 3 + table.width) {
  const std::size_t u = dim_, beta = dim_ + 1, t = dim_ + 2, outputs = dim_ + 3;
  const double n = static_cast<double>(tokens_), half = alpha * table.mesh() / 2;
  double unit = 1;
  for (std::size_t c = 0; c < dim_; ++c, unit *= static_cast<double>(table.cuts)) {
    for (std::size_t k = 1; k < table.cuts; ++k) {
      const double border = table.low + table.mesh() * static_cast<double>(k);
      ReluBlock block{c, border, 1 / (2 * half), {-0.5, 0.5}, {}};
      block.out.push_back({u, {unit, -unit}});
      block.out.push_back({t, {unit * (n + 1), -unit * (n + 1)}});
      before_.push_back(std::move(block));
    }
  }
  // Codes of cells: random numbers in [0, 1), the best of a few draws by the least distance of two token codes.
  std::vector<double> best, places;
  for (std::uint64_t draw = 0; draw < 20 && gap_ < 1e-4; ++draw) {
    std::mt19937_64 random = target::make_random(draw, 11, table.cells);
    std::vector<double> code(table.cells), place;
    for (double& value : code) value = target::draw_unit(random);
    code[0] = 0;  // beta starts at 0
    for (const auto& entry : table.codes) {
      double sum = (n + 1) * entry[0];
      for (std::uint32_t cell : entry) sum += code[cell];
      place.push_back(sum);
    }
    std::vector<double> sorted = place;
    std::sort(sorted.begin(), sorted.end());
    double gap = 1;
    for (std::size_t k = 1; k < sorted.size(); ++k) gap = std::min(gap, sorted[k] - sorted[k - 1]);
    if (gap > gap_) {
      gap_ = gap;
      best = std::move(code);
      places = std::move(place);
    }
  }
  if (gap_ < 1e-9) throw InputError(fmt::format("theorem1: {} token codes lie as near as {:.1e}: too many for double precision", table.codes.size(), gap_));
  for (std::size_t cell = 1; cell < table.cells; ++cell) {  // beta rises or falls from cell to cell while u passes cell - 1/2
    const double step = best[cell] - best[cell - 1], border = static_cast<double>(cell) - 0.5;
    before_.push_back({u, border, 2, {-0.5, 0.5}, {{beta, {step, -step}}}});
  }
  const double radius = gap_ / 2;
  for (std::size_t k = 0; k < table.codes.size(); ++k) {
    ReluBlock block{t, places[k], 1 / radius, {-1, -0.5, 0.5, 1}, {}};
    for (std::size_t e = 0; e < width_; ++e) {
      const double value = 2 * table.values[k * width_ + e];
      block.out.push_back({outputs + e, {value, -value, -value, value}});
    }
    after_.push_back(std::move(block));
  }
}

std::size_t Theorem1Network::parameters() const {
  std::size_t count = 3;  // the mixing layer: W_Q = W_K = 0 and one entry of W_V
  for (const auto* blocks : {&before_, &after_}) for (const ReluBlock& block : *blocks) count += 2 + block.offsets.size() * (1 + block.out.size());
  return count;
}

void Theorem1Network::evaluate(std::size_t count, const double* x, double* out) const {
  const std::size_t beta = dim_ + 1, t = dim_ + 2, outputs = dim_ + 3;
  std::vector<double> z(tokens_ * channels_), sorted(tokens_);
  const auto apply = [&](const ReluBlock& block, double* state) {
    const double at = block.scale * (state[block.in] - block.centre);
    if (at <= block.offsets.front()) return;
    // Behind the last hinge the slopes cancel (they add to 0): what is left is a constant, and steep ramps would round it away.
    const bool behind = at >= block.offsets.back();
    for (const auto& [channel, weights] : block.out) {
      double sum = 0;
      for (std::size_t h = 0; h < weights.size(); ++h) sum += weights[h] * (behind ? -block.offsets[h] : relu(at - block.offsets[h]));
      state[channel] += sum;
    }
  };
  for (std::size_t s = 0; s < count; ++s) {
    std::fill(z.begin(), z.end(), 0.0);
    for (std::size_t i = 0; i < tokens_; ++i) {
      double* state = z.data() + i * channels_;
      std::copy_n(x + (s * tokens_ + i) * dim_, dim_, state);
      for (const ReluBlock& block : before_) apply(block, state);
      sorted[i] = state[beta];
    }
    std::sort(sorted.begin(), sorted.end());  // the same bits for every order of the tokens
    const double mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(tokens_);
    for (std::size_t i = 0; i < tokens_; ++i) {
      double* state = z.data() + i * channels_;
      state[t] += static_cast<double>(tokens_) * mean;
      for (const ReluBlock& block : after_) apply(block, state);
      std::copy_n(state + outputs, width_, out + (s * tokens_ + i) * width_);
    }
  }
}

double bound_error(const CellTable& table, double slope, double alpha) {
  const double nd = static_cast<double>(table.tokens * table.dim), mesh = table.mesh(), cuts = static_cast<double>(table.cuts);
  const double inside = slope * slope * nd * mesh * mesh / 12;
  const double ramps = std::min(1.0, nd * (cuts - 1) / cuts * alpha), there = 2 * table.largest + slope * mesh * std::sqrt(nd) / 2;
  return std::sqrt(inside + ramps * there * there);
}

namespace {

/// The slope that was given, against pairs of the drawn sequences, far apart and near each other.
void check_slope(const target::Target& target, const CellOptions& options, const std::vector<double>& x, const std::vector<double>& y) {
  const std::size_t size = target.tokens() * target.dim(), width = target.tokens() * target.width(), pairs = options.sequences - 1;
  for (const double step : {1.0, 1e-3}) {
    std::vector<double> moved(pairs * size), moved_y(pairs * width);
    for (std::size_t k = 0; k < pairs * size; ++k) moved[k] = x[k] + step * (x[k + size] - x[k]);
    target.evaluate(pairs, moved.data(), moved_y.data());
    for (std::size_t s = 0; s < pairs; ++s) {
      double distance = 0, change = 0;
      for (std::size_t k = s * size; k < (s + 1) * size; ++k) distance += (moved[k] - x[k]) * (moved[k] - x[k]);
      for (std::size_t k = s * width; k < (s + 1) * width; ++k) change = std::max(change, std::fabs(moved_y[k] - y[k]));
      distance = std::sqrt(distance);
      if (change > *options.slope * distance * (1 + 1e-6) + 1e-12 * (1 + std::fabs(y[s * width])))
        throw InputError(fmt::format("--lipschitz {}: no bound of the slopes: an output changes by {:.4g} between two sequences at distance {:.4g}, slope {:.4g}", *options.slope, change, distance, change / distance));
    }
  }
}

}  // namespace

CellResult approximate_by_cells(const target::Target& target, const CellOptions& options, const Budget& budget) {
  CellResult result;
  result.target = target.name();
  result.method = options.network ? "theorem1" : "grid";
  result.tokens = target.tokens();
  result.dim = target.dim();
  result.outputs = target.width();
  result.sequences = options.sequences;
  const std::size_t n = result.tokens, d = result.dim, k = result.outputs;
  result.latent = options.network ? 1 : n;
  if (n * d > 6) throw InputError(fmt::format("--method {}: expected tokens * dim at most 6, found {}: the table has an entry per cell of all tokens", result.method, n * d));
  const target::Sampler sampler{target::Sampler::Law::uniform, options.low, options.high};
  if (!target.is_equivariant()) {
    const target::Deviation deviation = target::measure_deviation(target, sampler, 32, options.seed);
    if (deviation.rms > 1e-9 * deviation.scale)
      throw InputError(fmt::format("the target is not S_{}-equivariant: F(sX) and sF(X) differ by up to {:.3g}; its table would depend on the order of the tokens", n, deviation.largest));
  }
  if (options.slope) {
    result.slope = *options.slope;
    result.slope_given = true;
  } else {
    if (target.expression() == nullptr) throw InputError(fmt::format("{}: expected --lipschitz L (only of an expression the slopes are bounded by interval arithmetic)", target.name()));
    result.slope = target::bound_slope(*target.expression(), n, options.low, options.high, 4096, budget);
    if (!std::isfinite(result.slope)) throw InputError(fmt::format("{}: interval arithmetic bounds no slope on this domain (a root, a logarithm or a division near 0): expected --lipschitz L", target.name()));
  }
  std::vector<std::size_t> sizes = options.cuts;
  if (sizes.empty()) for (std::size_t cuts = 1; joint_cells(target, cuts) <= most_cells; cuts = std::max(cuts + 1, cuts + cuts / 2)) sizes.push_back(cuts);
  std::vector<double> x(options.sequences * n * d), y(options.sequences * n * k), built(y.size());
  sampler.fill(options.seed, 5, 0, x.size(), x.data());
  target.evaluate(options.sequences, x.data(), y.data());
  for (double value : y) result.scale += value * value;
  result.scale = std::sqrt(result.scale / static_cast<double>(y.size()));
  if (options.slope) check_slope(target, options, x, y);
  for (std::size_t cuts : sizes) {
    budget.poll_now();
    CellTable table = make_table(target, options.low, options.high, cuts, budget);
    CellRow row;
    row.cuts = cuts;
    row.codes = table.codes.size();
    std::vector<double> moved(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(n * d)), moved_y(n * k);
    std::rotate(moved.begin(), moved.begin() + static_cast<std::ptrdiff_t>(d), moved.end());
    const auto measure = [&](const auto& model) {
      const std::size_t step = 100;
      for (std::size_t start = 0; start < options.sequences; start += step) {
        budget.poll_now();
        budget.report(fmt::format("{} cells per coordinate", cuts), static_cast<double>(start) / static_cast<double>(options.sequences));
        model.evaluate(std::min(step, options.sequences - start), x.data() + start * n * d, built.data() + start * n * k);
      }
      model.evaluate(1, moved.data(), moved_y.data());
    };
    if (options.network) {
      // Ramps so narrow that they add at most a thousandth to the squared bound.
      const double inside = std::pow(bound_error(table, result.slope, 0), 2), all = std::pow(bound_error(table, result.slope, 1), 2) - inside;
      row.alpha = std::clamp(all > 0 ? 1e-3 * inside / all : 1e-3, 1e-9, 1e-3);
      const Theorem1Network network(table, row.alpha);
      row.layers = network.layers();
      row.parameters = network.parameters();
      measure(network);
    } else {
      row.layers = 2;
      row.parameters = table.values.size();
      measure(GridSumformer(table));
    }
    row.bound = bound_error(table, result.slope, row.alpha);
    for (std::size_t e = 0; e < y.size(); ++e) {
      row.l2 += (y[e] - built[e]) * (y[e] - built[e]);
      row.sup = std::max(row.sup, std::fabs(y[e] - built[e]));
    }
    row.l2 = std::sqrt(row.l2 / static_cast<double>(y.size()));
    for (std::size_t i = 0; i < n; ++i) for (std::size_t e = 0; e < k; ++e) result.equivariance = std::max(result.equivariance, std::fabs(moved_y[i * k + e] - built[(i + 1) % n * k + e]));
    result.rows.push_back(row);
  }
  return result;
}

std::string to_json(const CellResult& result) {
  using Json = nlohmann::ordered_json;
  const CellRow& last = result.rows.back();
  Json json = {{"target", result.target}, {"method", result.method}, {"tokens", result.tokens}, {"dim", result.dim}, {"outputs", result.outputs}, {"columns", last.codes}, {"latent", result.latent},
               {"rows", result.sequences}, {"l2", last.l2}, {"relative_l2", result.scale > 0 ? last.l2 / result.scale : last.l2}, {"sup", last.sup}, {"condition", nullptr}, {"equivariance", result.equivariance},
               {"group", fmt::format("S_{}", result.tokens)}, {"model", nullptr}, {"lipschitz", result.slope}, {"lipschitz_given", result.slope_given}, {"p", 2}};
  json["table"] = Json::array();
  for (const CellRow& row : result.rows)
    json["table"].push_back({{"cuts", row.cuts}, {"codes", row.codes}, {"layers", row.layers}, {"parameters", row.parameters}, {"alpha", row.alpha}, {"bound", row.bound}, {"l2", row.l2}, {"sup", row.sup}});
  return print_json(json);
}

std::string to_text(const CellResult& result) {
  std::string text = fmt::format("             {}\n\n", result.target);
  text += fmt::format("method       {}, {} tokens of {} numbers to {} each, latent dimension {}\n", result.method == "grid" ? "grid Sumformer (piecewise constant)" : "Theorem 1's network: quantise, distinguish, interpolate", result.tokens,
                      result.dim, result.outputs, result.latent);
  text += fmt::format("slopes       at most {:.4g} ({})\n", result.slope, result.slope_given ? "as given" : "interval arithmetic");
  text += fmt::format("measured     on {} sequences; the target's root mean square is {:.3g}\n", result.sequences, result.scale);
  text += fmt::format("equivariance {:.2g} under S_{}\n\n", result.equivariance, result.tokens);
  text += "  cells per coordinate  token codes   layers  parameters  proved L2 error <=  measured L2  measured sup\n";
  for (const CellRow& row : result.rows) text += fmt::format("{:>22}  {:>11}  {:>7}  {:>10}  {:>18.4g}  {:>11.4g}  {:>12.4g}\n", row.cuts, row.codes, row.layers, row.parameters, row.bound, row.l2, row.sup);
  return text;
}

}  // namespace sightline::approximate

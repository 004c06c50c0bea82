#include <algorithm>
#include <array>
#include <cmath>

#include "sightline/target/expression.hpp"

namespace sightline::target {
namespace {

/// What every array of one evaluation is indexed by: [entry][own][outer][inner][sequence], absent axes left out.
struct Extent {
  std::array<std::size_t, 3> size{1, 1, 1};  ///< own, outer, inner
  std::size_t batch = 1;
  [[nodiscard]] std::size_t cells(std::uint8_t axes) const {
    std::size_t product = 1;
    for (int k = 0; k < 3; ++k) if ((axes >> k & 1) != 0) product *= size[static_cast<std::size_t>(k)];
    return product;
  }
};

struct Array {
  std::vector<double> data;
  std::uint8_t axes = 0;
  std::uint32_t width = 1;
};

template <class Function>
void on_each(const Extent& extent, std::uint8_t axes, const Array& a, const Array* b, Array& out, Function function) {
  // Strides in cells, 0 along axes that an operand does not have.
  const auto strides = [&](std::uint8_t has) {
    std::array<std::size_t, 3> result{};
    std::size_t step = 1;
    for (int k = 2; k >= 0; --k) {
      if ((has >> k & 1) == 0) continue;
      result[static_cast<std::size_t>(k)] = step;
      step *= extent.size[static_cast<std::size_t>(k)];
    }
    return result;
  };
  const auto sa = strides(a.axes), sb = strides(b != nullptr ? b->axes : std::uint8_t{0});
  const std::size_t batch = extent.batch, ca = extent.cells(a.axes), cb = b != nullptr ? extent.cells(b->axes) : 0;
  std::array<std::size_t, 3> count{1, 1, 1};
  for (int k = 0; k < 3; ++k) if ((axes >> k & 1) != 0) count[static_cast<std::size_t>(k)] = extent.size[static_cast<std::size_t>(k)];
  double* to = out.data.data();
  for (std::uint32_t e = 0; e < out.width; ++e) {
    const double* from_a = a.data.data() + (a.width == 1 ? 0 : e) * ca * batch;
    const double* from_b = b != nullptr ? b->data.data() + (b->width == 1 ? 0 : e) * cb * batch : nullptr;
    if (batch == 1 && count[2] == 1) {  // one sequence: the loop over the outer axis is the long one
      for (std::size_t i = 0; i < count[0]; ++i, to += count[1]) {
        const double* pa = from_a + i * sa[0];
        const double* pb = from_b != nullptr ? from_b + i * sb[0] : pa;
        const std::size_t step_a = sa[1], step_b = from_b != nullptr ? sb[1] : sa[1];
        if (step_a == 1 && step_b == 1) for (std::size_t j = 0; j < count[1]; ++j) to[j] = function(pa[j], pb[j]);
        else if (step_a == 1) for (std::size_t j = 0; j < count[1]; ++j) to[j] = function(pa[j], *pb);
        else if (step_b == 1) for (std::size_t j = 0; j < count[1]; ++j) to[j] = function(*pa, pb[j]);
        else for (std::size_t j = 0; j < count[1]; ++j) to[j] = function(*pa, *pb);
      }
      continue;
    }
    for (std::size_t i = 0; i < count[0]; ++i) {
      for (std::size_t j = 0; j < count[1]; ++j) {
        for (std::size_t k = 0; k < count[2]; ++k, to += batch) {
          const double* pa = from_a + (i * sa[0] + j * sa[1] + k * sa[2]) * batch;
          const double* pb = from_b != nullptr ? from_b + (i * sb[0] + j * sb[1] + k * sb[2]) * batch : pa;
          for (std::size_t s = 0; s < batch; ++s) to[s] = function(pa[s], pb[s]);
        }
      }
    }
  }
}

/// Integer powers by squaring are exact where pow may not be, and faster.
double raise(double base, double exponent) {
  if (exponent == 2) return base * base;
  if (exponent == 0.5) return std::sqrt(base);
  if (exponent == std::floor(exponent) && std::fabs(exponent) <= 64) {
    auto left = static_cast<unsigned>(std::fabs(exponent));
    double result = 1, square = base;
    for (; left != 0; left >>= 1, square *= square) if ((left & 1) != 0) result *= square;
    return exponent < 0 ? 1 / result : result;
  }
  return std::pow(base, exponent);
}

double apply(Op op, double a) {
  switch (op) {
    case Op::exp: return std::exp(a);
    case Op::log: return std::log(a);
    case Op::sqrt: return std::sqrt(a);
    case Op::cosh: return std::cosh(a);
    case Op::sinh: return std::sinh(a);
    case Op::cos: return std::cos(a);
    case Op::sin: return std::sin(a);
    case Op::tanh: return std::tanh(a);
    case Op::sigmoid: return a >= 0 ? 1 / (1 + std::exp(-a)) : std::exp(a) / (1 + std::exp(a));
    case Op::softplus: return std::max(a, 0.0) + std::log1p(std::exp(-std::fabs(a)));
    case Op::relu: return a > 0 ? a : (a == a ? 0 : a);
    case Op::elu: return a > 0 ? a : std::expm1(a);
    case Op::abs: return std::fabs(a);
    default: return a;
  }
}

class Run {
public:
  Run(const Expression& expression, const Extent& extent) : expression_(expression), extent_(extent), arrays_(expression.steps.size()), uses_(expression.steps.size(), 0) {
    for (const Step& step : expression.steps) for (std::uint32_t operand : step.operands) ++uses_[operand];
  }

  /// own: [dim][own][batch]; read: [dim][tokens][batch]; first: index of the first own token; indices: of the one own token
  /// of each sequence, if there is one only.
  const Array& run(const double* own, const double* read, std::size_t tokens, std::size_t first, const std::uint32_t* indices = nullptr) {
    indices_ = indices;
    for (std::size_t k = 0; k < arrays_.size(); ++k) {
      const Step& step = expression_.steps[k];
      Array& out = arrays_[k];
      out.axes = step.axes;
      out.width = step.width;
      out.data = take(step.width * extent_.cells(step.axes) * extent_.batch);
      compute(step, out, own, read, tokens, first);
      for (std::uint32_t operand : step.operands) if (--uses_[operand] == 0) spare_.push_back(std::move(arrays_[operand].data));
    }
    return arrays_.back();
  }

private:
  std::vector<double> take(std::size_t size) {
    std::vector<double> data;
    if (!spare_.empty()) {
      data = std::move(spare_.back());
      spare_.pop_back();
    }
    data.resize(size);
    return data;
  }

  void compute(const Step& step, Array& out, const double* own, const double* read, std::size_t tokens, std::size_t first) {
    const std::size_t batch = extent_.batch;
    const auto operand = [&](std::size_t k) -> const Array& { return arrays_[step.operands[k]]; };
    const auto binary = [&](auto function) { on_each(extent_, step.axes, operand(0), &operand(1), out, function); };
    switch (step.op) {
      case Op::number: std::fill(out.data.begin(), out.data.end(), step.value); break;
      case Op::literal:
        for (std::uint32_t e = 0; e < step.width; ++e) std::fill_n(out.data.begin() + static_cast<std::ptrdiff_t>(e * batch), batch, step.entries[e]);
        break;
      case Op::own_token: std::copy_n(own, out.data.size(), out.data.begin()); break;
      case Op::read_token: std::copy_n(read, out.data.size(), out.data.begin()); break;
      case Op::tokens: std::fill(out.data.begin(), out.data.end(), static_cast<double>(tokens)); break;
      case Op::own_index:
        if (indices_ != nullptr) {
          std::copy_n(indices_, batch, out.data.begin());
          break;
        }
        [[fallthrough]];
      case Op::read_index:
        for (std::size_t i = 0; i < out.data.size() / batch; ++i)
          std::fill_n(out.data.begin() + static_cast<std::ptrdiff_t>(i * batch), batch, static_cast<double>(i + (step.op == Op::own_index ? first : 0)));
        break;
      case Op::add: binary([](double a, double b) { return a + b; }); break;
      case Op::subtract: binary([](double a, double b) { return a - b; }); break;
      case Op::multiply: binary([](double a, double b) { return a * b; }); break;
      case Op::divide: binary([](double a, double b) { return a / b; }); break;
      case Op::power: binary(raise); break;
      case Op::minimum: binary([](double a, double b) { return a < b || a != a ? a : b; }); break;
      case Op::maximum: binary([](double a, double b) { return a > b || a != a ? a : b; }); break;
      case Op::negate: on_each(extent_, step.axes, operand(0), nullptr, out, [](double a, double) { return -a; }); break;
      case Op::dot: {
        Array product;
        product.axes = step.axes;
        product.width = operand(0).width;
        product.data = take(product.width * out.data.size());
        on_each(extent_, step.axes, operand(0), &operand(1), product, [](double a, double b) { return a * b; });
        add_entries(product.data, product.width, out.data);
        spare_.push_back(std::move(product.data));
        break;
      }
      case Op::norm2:
      case Op::norm: {
        const Array& a = operand(0);
        std::fill(out.data.begin(), out.data.end(), 0.0);
        for (std::uint32_t e = 0; e < a.width; ++e)
          for (std::size_t s = 0; s < out.data.size(); ++s) out.data[s] += a.data[e * out.data.size() + s] * a.data[e * out.data.size() + s];
        if (step.op == Op::norm) for (double& value : out.data) value = std::sqrt(value);
        break;
      }
      case Op::component: std::copy_n(operand(0).data.begin() + static_cast<std::ptrdiff_t>(step.index * out.data.size()), out.data.size(), out.data.begin()); break;
      case Op::concat: concat(step, out); break;
      case Op::sum: case Op::mean: case Op::max: case Op::min: reduce(step, operand(0), out); break;
      case Op::attend: attend(step, out); break;
      default: on_each(extent_, step.axes, operand(0), nullptr, out, [op = step.op](double a, double) { return apply(op, a); });
    }
  }

  static void add_entries(const std::vector<double>& from, std::uint32_t width, std::vector<double>& to) {
    std::fill(to.begin(), to.end(), 0.0);
    for (std::uint32_t e = 0; e < width; ++e) for (std::size_t s = 0; s < to.size(); ++s) to[s] += from[e * to.size() + s];
  }

  void concat(const Step& step, Array& out) {
    const std::size_t cells = extent_.cells(step.axes) * extent_.batch;
    std::size_t at = 0;
    for (std::uint32_t k : step.operands) {
      Array part;  // broadcast to the axes of the whole
      part.width = arrays_[k].width;
      part.data = take(part.width * cells);
      on_each(extent_, step.axes, arrays_[k], nullptr, part, [](double a, double) { return a; });
      std::copy(part.data.begin(), part.data.end(), out.data.begin() + static_cast<std::ptrdiff_t>(at));
      at += part.data.size();
      spare_.push_back(std::move(part.data));
    }
  }

  /// Sizes before, along and behind the reduced axis of an array with entries first and sequences last.
  struct Split { std::size_t before, along, behind; };
  [[nodiscard]] Split split(std::uint8_t axes, std::uint32_t width, std::uint8_t axis) const {
    Split result{width, extent_.size[axis], extent_.batch};
    for (std::uint8_t k = 0; k < 3; ++k) {
      if ((axes >> k & 1) == 0 || k == axis) continue;
      (k < axis ? result.before : result.behind) *= extent_.size[k];
    }
    return result;
  }

  void reduce(const Step& step, const Array& a, Array& out) {
    const double along = static_cast<double>(extent_.size[step.axis]);
    if ((a.axes >> step.axis & 1) == 0) {  // the same summand n times
      for (std::size_t s = 0; s < out.data.size(); ++s) out.data[s] = step.op == Op::sum ? along * a.data[s] : a.data[s];
      return;
    }
    const Split parts = split(a.axes, a.width, step.axis);
    for (std::size_t p = 0; p < parts.before; ++p) {
      double* to = out.data.data() + p * parts.behind;
      const double* from = a.data.data() + p * parts.along * parts.behind;
      std::copy_n(from, parts.behind, to);
      for (std::size_t k = 1; k < parts.along; ++k) {
        const double* row = from + k * parts.behind;
        if (step.op == Op::max) for (std::size_t s = 0; s < parts.behind; ++s) to[s] = row[s] > to[s] || row[s] != row[s] ? row[s] : to[s];
        else if (step.op == Op::min) for (std::size_t s = 0; s < parts.behind; ++s) to[s] = row[s] < to[s] || row[s] != row[s] ? row[s] : to[s];
        else for (std::size_t s = 0; s < parts.behind; ++s) to[s] += row[s];
      }
      if (step.op == Op::mean) for (std::size_t s = 0; s < parts.behind; ++s) to[s] /= along;
    }
  }

  /// Softmax of the score over the axis, times the value; the largest score is subtracted first.
  void attend(const Step& step, Array& out) {
    const auto full = static_cast<std::uint8_t>(step.axes | 1U << step.axis);
    const std::size_t cells = extent_.cells(full) * extent_.batch;
    Array score, value;
    score.axes = value.axes = full;
    value.width = step.width;
    score.data = take(cells);
    value.data = take(cells * value.width);
    on_each(extent_, full, arrays_[step.operands[0]], nullptr, score, [](double a, double) { return a; });
    on_each(extent_, full, arrays_[step.operands[1]], nullptr, value, [](double a, double) { return a; });
    const Split parts = split(full, 1, step.axis);
    std::vector<double> largest(parts.behind), total(parts.behind);
    for (std::size_t p = 0; p < parts.before; ++p) {
      double* row = score.data.data() + p * parts.along * parts.behind;
      std::copy_n(row, parts.behind, largest.begin());
      for (std::size_t k = 1; k < parts.along; ++k) for (std::size_t s = 0; s < parts.behind; ++s) largest[s] = std::max(largest[s], row[k * parts.behind + s]);
      std::fill(total.begin(), total.end(), 0.0);
      for (std::size_t k = 0; k < parts.along; ++k) {
        for (std::size_t s = 0; s < parts.behind; ++s) {
          double& weight = row[k * parts.behind + s];
          weight = std::exp(weight - largest[s]);
          total[s] += weight;
        }
      }
      for (std::uint32_t e = 0; e < step.width; ++e) {
        double* to = out.data.data() + (e * parts.before + p) * parts.behind;
        const double* from = value.data.data() + e * cells + p * parts.along * parts.behind;
        std::fill_n(to, parts.behind, 0.0);
        for (std::size_t k = 0; k < parts.along; ++k) for (std::size_t s = 0; s < parts.behind; ++s) to[s] += row[k * parts.behind + s] * from[k * parts.behind + s];
        for (std::size_t s = 0; s < parts.behind; ++s) to[s] /= total[s];
      }
    }
    spare_.push_back(std::move(score.data));
    spare_.push_back(std::move(value.data));
  }

  const Expression& expression_;
  Extent extent_;
  const std::uint32_t* indices_ = nullptr;
  std::vector<Array> arrays_;
  std::vector<std::uint32_t> uses_;
  std::vector<std::vector<double>> spare_;
};

}  // namespace

namespace {

/// Numbers per own token and sequence in the widest array: bounds how many sequences and own tokens go at once.
std::size_t widest_array(const Expression& expression, std::size_t tokens) {
  std::size_t widest = expression.dim;
  for (const Step& step : expression.steps) {
    std::size_t cells = step.width;
    const auto axes = static_cast<std::uint8_t>(step.op == Op::attend ? step.axes | 1U << step.axis : step.axes);
    for (int k = 1; k < 3; ++k) if ((axes >> k & 1) != 0) cells *= tokens;
    widest = std::max(widest, cells);
  }
  return widest;
}

/// x [count][tokens][dim] to [dim][tokens][count].
void transpose(const double* x, std::size_t tokens, std::size_t dim, std::size_t count, std::vector<double>& out) {
  out.resize(dim * tokens * count);
  for (std::size_t s = 0; s < count; ++s)
    for (std::size_t i = 0; i < tokens; ++i)
      for (std::size_t e = 0; e < dim; ++e) out[(e * tokens + i) * count + s] = x[(s * tokens + i) * dim + e];
}

}  // namespace

void evaluate(const Expression& expression, std::size_t tokens, std::size_t count, const double* x, double* out) {
  const std::size_t dim = expression.dim, width = expression.width(), widest = widest_array(expression, tokens);
  const std::size_t batch = std::clamp<std::size_t>(8192 / (widest * tokens), 1, 256);
  const std::size_t own = std::clamp<std::size_t>((std::size_t{1} << 20) / widest, 1, tokens);
  std::vector<double> read, mine;
  for (std::size_t start = 0; start < count; start += batch) {
    const std::size_t now = std::min(batch, count - start);
    transpose(x + start * tokens * dim, tokens, dim, now, read);
    for (std::size_t first = 0; first < tokens; first += own) {
      const std::size_t rows = std::min(own, tokens - first);
      Extent extent;
      extent.size = {rows, tokens, tokens};
      extent.batch = now;
      mine.resize(dim * rows * now);
      for (std::size_t e = 0; e < dim; ++e)
        std::copy_n(read.begin() + static_cast<std::ptrdiff_t>((e * tokens + first) * now), rows * now, mine.begin() + static_cast<std::ptrdiff_t>(e * rows * now));
      Run run(expression, extent);
      const Array& result = run.run(mine.data(), read.data(), tokens, first);
      const bool per_token = (result.axes & 1) != 0;
      for (std::size_t s = 0; s < now; ++s)
        for (std::size_t i = 0; i < rows; ++i)
          for (std::size_t e = 0; e < width; ++e)
            out[((start + s) * tokens + first + i) * width + e] = result.data[(per_token ? e * rows + i : e) * now + s];
    }
  }
}

void evaluate_at(const Expression& expression, std::size_t tokens, std::size_t count, const double* x, const std::uint32_t* own, double* out) {
  const std::size_t dim = expression.dim, width = expression.width();
  const std::size_t batch = std::clamp<std::size_t>(16384 / widest_array(expression, tokens), 1, 256);
  std::vector<double> read, mine;
  for (std::size_t start = 0; start < count; start += batch) {
    const std::size_t now = std::min(batch, count - start);
    transpose(x + start * tokens * dim, tokens, dim, now, read);
    mine.resize(dim * now);
    for (std::size_t e = 0; e < dim; ++e) for (std::size_t s = 0; s < now; ++s) mine[e * now + s] = read[(e * tokens + own[start + s]) * now + s];
    Extent extent;
    extent.size = {1, tokens, tokens};
    extent.batch = now;
    Run run(expression, extent);
    const Array& result = run.run(mine.data(), read.data(), tokens, 0, own + start);
    for (std::size_t s = 0; s < now; ++s) for (std::size_t e = 0; e < width; ++e) out[(start + s) * width + e] = result.data[e * now + s];
  }
}

void evaluate_pairs(const Expression& expression, std::size_t count, const double* x, const double* y, double* out) {
  constexpr std::size_t most = 2048;
  std::vector<double> own, read;
  for (std::size_t start = 0; start < count; start += most) {
    const std::size_t now = std::min(most, count - start);
    own.resize(expression.dim * now);
    read.resize(expression.dim * now);
    for (std::size_t e = 0; e < expression.dim; ++e) {
      std::copy_n(x + e * count + start, now, own.begin() + static_cast<std::ptrdiff_t>(e * now));
      std::copy_n(y + e * count + start, now, read.begin() + static_cast<std::ptrdiff_t>(e * now));
    }
    Extent extent;
    extent.batch = now;
    Run run(expression, extent);
    const Array& result = run.run(own.data(), read.data(), 1, 0);
    std::copy_n(result.data.begin(), now, out + start);
  }
}

void evaluate_grid(const Expression& expression, std::size_t readers, const double* x, std::size_t reads, const double* y, double* out) {
  constexpr std::size_t most_readers = 64, most_reads = 256;  // a few arrays of these stay in the second cache
  std::vector<double> own, read;
  for (std::size_t i = 0; i < readers; i += most_readers) {
    const std::size_t rows = std::min(most_readers, readers - i);
    own.resize(expression.dim * rows);
    for (std::size_t e = 0; e < expression.dim; ++e) std::copy_n(x + e * readers + i, rows, own.begin() + static_cast<std::ptrdiff_t>(e * rows));
    for (std::size_t j = 0; j < reads; j += most_reads) {
      const std::size_t columns = std::min(most_reads, reads - j);
      read.resize(expression.dim * columns);
      for (std::size_t e = 0; e < expression.dim; ++e) std::copy_n(y + e * reads + j, columns, read.begin() + static_cast<std::ptrdiff_t>(e * columns));
      Extent extent;
      extent.size = {rows, columns, 1};
      Run run(expression, extent);
      const Array& result = run.run(own.data(), read.data(), columns, i);
      const std::size_t along = (result.axes & 2) != 0 ? 1 : 0, down = (result.axes & 1) != 0 ? (along != 0 ? columns : 1) : 0;
      for (std::size_t r = 0; r < rows; ++r) for (std::size_t c = 0; c < columns; ++c) out[(i + r) * reads + j + c] = result.data[r * down + c * along];
    }
  }
}

}  // namespace sightline::target

// Mixers whose weights do not depend on the tokens, rotary positions, and the row-independent product.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sightline/mixer/reference/ordered_sum.hpp"
#include "sightline/mixer/reference/reference.hpp"
#include "sightline/mixer/reference/rows.hpp"
#include "sightline/mixer/reference/tasks.hpp"

namespace sightline::mixer::reference {
namespace {

std::vector<std::int64_t> list_reads(const std::vector<Arc>& arcs) {
  std::vector<std::int64_t> reads;
  for (const Arc& arc : arcs)
    reads.push_back(arc.read);
  return reads;
}

std::int64_t value_head(const Shape& shape, std::int64_t head) { return head / (shape.heads / shape.key_heads); }

// NaN beats every number.
template <class Real> bool exceeds(Real a, Real b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

// d loss / d value of a maximum: to the first entry that attains it, in exact mode in equal shares.
template <class Real, class Value>
std::vector<Real> share_maximum(const std::vector<Arc>& arcs, Value value, Real gradient, bool exact) {
  std::vector<Real> shares(arcs.size(), Real(0));
  std::size_t best = 0;
  for (std::size_t k = 1; k < arcs.size(); ++k)
    if (exceeds(value(k), value(best)))
      best = k;
  if (!exact) {
    shares[best] = gradient;
    return shares;
  }
  const auto ties = [&](std::size_t k) { return !exceeds(value(best), value(k)); };
  std::int64_t count = 0;
  for (std::size_t k = 0; k < arcs.size(); ++k)
    count += ties(k);
  for (std::size_t k = 0; k < arcs.size(); ++k)
    if (ties(k))
      shares[k] = gradient / static_cast<Real>(count);
  return shares;
}

} // namespace

template <class Real>
void aggregate(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
               View<Real> out, const Execution& execution) {
  run_each(shape.batch * shape.heads, execution.threads, [&](std::int64_t task) {
    const std::int64_t b = task / shape.heads, h = task % shape.heads;
    const Existing existing(plan, in.lengths, b);
    OrderedSum sums(plan, execution.exact);
    const Real* const weight = in.weight == nullptr ? nullptr : in.weight + h * plan.colours();
    for (std::int64_t i = 0; i < shape.readers; ++i) {
      const std::vector<Arc> arcs = list_arcs(plan, plan.relation_of(h), i, existing);
      Real* const result = out.at(b, h, i);
      std::fill_n(result, shape.value_width, Real(0));
      if (arcs.empty())
        continue;
      sums.arrange(i, list_reads(arcs));
      for (std::int64_t c = 0; c < shape.value_width; ++c) {
        const auto value = [&](std::size_t k) { return in.value.at(b, value_head(shape, h), arcs[k].read)[c]; };
        Real total = value(0);
        if (aggregation == Aggregation::max) {
          for (std::size_t k = 1; k < arcs.size(); ++k)
            if (exceeds(value(k), total))
              total = value(k);
        } else {
          total = sums.sum<Real>(
              [&](std::size_t k) { return weight == nullptr ? value(k) : weight[arcs[k].colour] * value(k); });
          if (aggregation == Aggregation::mean)
            total /= static_cast<Real>(arcs.size());
        }
        result[c] = sums.finish(total);
      }
    }
  });
}

namespace {

/// What a reader sends back along one arc: d loss / d (c_ij v_j).
template <class Real> struct Share {
  std::int64_t reader = 0, colour = 0;
  std::vector<Real> gradient;
};

// Backward of one head in one batch element; returns the gradients of its weights, if wanted.
template <class Real>
std::vector<Real> aggregate_head_backward(const Plan& plan, Aggregation aggregation, const Shape& shape,
                                          const AggregateInputs<Real>& in, View<const Real> grad_out,
                                          View<Real> grad_value, bool with_weights, bool exact, std::int64_t b,
                                          std::int64_t h) {
  const Existing existing(plan, in.lengths, b);
  const std::int64_t from = value_head(shape, h);
  std::vector<Real> grad_weight(with_weights ? static_cast<std::size_t>(plan.colours()) : 0, Real(0));
  std::vector<std::vector<Share<Real>>> columns(static_cast<std::size_t>(shape.reads));
  for (std::int64_t i = 0; i < shape.readers; ++i) {
    const std::vector<Arc> arcs = list_arcs(plan, plan.relation_of(h), i, existing);
    if (arcs.empty())
      continue;
    const Real* const g = grad_out.at(b, h, i);
    std::vector<Share<Real>> row;
    for (const Arc& arc : arcs)
      row.push_back({i, arc.colour, std::vector<Real>(static_cast<std::size_t>(shape.value_width))});
    for (std::int64_t c = 0; c < shape.value_width; ++c) {
      const auto value = [&](std::size_t k) { return in.value.at(b, from, arcs[k].read)[c]; };
      std::vector<Real> shares(arcs.size(),
                               aggregation == Aggregation::mean ? g[c] / static_cast<Real>(arcs.size()) : g[c]);
      if (aggregation == Aggregation::max)
        shares = share_maximum(arcs, value, g[c], exact);
      for (std::size_t k = 0; k < arcs.size(); ++k) {
        row[k].gradient[static_cast<std::size_t>(c)] = shares[k];
        if (with_weights)
          grad_weight[static_cast<std::size_t>(arcs[k].colour)] += shares[k] * value(k);
      }
    }
    for (std::size_t k = 0; k < arcs.size(); ++k)
      columns[static_cast<std::size_t>(arcs[k].read)].push_back(std::move(row[k]));
  }
  if (grad_value.data == nullptr)
    return grad_weight;
  OrderedSum sums(plan, exact);
  const bool first = h % (shape.heads / shape.key_heads) == 0;
  for (std::int64_t j = 0; j < shape.reads; ++j) {
    const auto& column = columns[static_cast<std::size_t>(j)];
    std::vector<std::int64_t> readers;
    for (const Share<Real>& share : column)
      readers.push_back(share.reader);
    sums.arrange(j, readers);
    Real* const to = grad_value.at(b, from, j);
    for (std::int64_t c = 0; c < shape.value_width; ++c) {
      const Real sum = sums.template sum<Real>([&](std::size_t k) {
        const Real gradient = column[k].gradient[static_cast<std::size_t>(c)];
        return in.weight == nullptr ? gradient : in.weight[h * plan.colours() + column[k].colour] * gradient;
      });
      to[c] = sums.finish(first ? sum : to[c] + sum);
    }
  }
  return grad_weight;
}

} // namespace

template <class Real>
void aggregate_backward(const Plan& plan, Aggregation aggregation, const Shape& shape, const AggregateInputs<Real>& in,
                        View<const Real> grad_out, View<Real> grad_value, Real* grad_weight,
                        const Execution& execution) {
  const std::int64_t group = shape.heads / shape.key_heads;
  std::vector<std::vector<Real>> parts(static_cast<std::size_t>(shape.batch * shape.heads));
  // Heads that share values add to the same gradient, one after the other.
  run_each(shape.batch * shape.key_heads, execution.threads, [&](std::int64_t task) {
    const std::int64_t b = task / shape.key_heads;
    for (std::int64_t h = task % shape.key_heads * group; h < (task % shape.key_heads + 1) * group; ++h) {
      parts[static_cast<std::size_t>(b * shape.heads + h)] = aggregate_head_backward(
          plan, aggregation, shape, in, grad_out, grad_value, grad_weight != nullptr, execution.exact, b, h);
    }
  });
  if (grad_weight == nullptr)
    return;
  std::fill_n(grad_weight, shape.heads * plan.colours(), Real(0));
  for (std::size_t part = 0; part < parts.size(); ++part) {
    Real* const to = grad_weight + static_cast<std::int64_t>(part) % shape.heads * plan.colours();
    for (std::size_t k = 0; k < parts[part].size(); ++k)
      to[k] += parts[part][k];
  }
}

template <class Real>
void rotate(const Plan& plan, const Shape& shape, View<const Real> in, View<Real> out, bool inverse,
            const Execution& execution) {
  const std::vector<std::int64_t>& positions = plan.positions();
  const OrderedSum sums(plan, execution.exact);
  run_each(shape.readers, execution.threads, [&](std::int64_t i) {
    const bool turns = i < static_cast<std::int64_t>(positions.size());
    for (std::int64_t p = 0; p < shape.width / 2; ++p) {
      // Angles in double: in float the angle of token 60,000 would be wrong by 0.002.
      const double angle = turns
                               ? static_cast<double>(positions[static_cast<std::size_t>(i)]) *
                                     std::pow(10000.0, -2.0 * static_cast<double>(p) / static_cast<double>(shape.width))
                               : 0;
      const Real cosine = static_cast<Real>(std::cos(angle));
      const Real sine = static_cast<Real>(inverse ? -std::sin(angle) : std::sin(angle));
      for (std::int64_t b = 0; b < shape.batch; ++b) {
        for (std::int64_t h = 0; h < shape.heads; ++h) {
          const Real* const from = in.at(b, h, i) + 2 * p;
          Real* const to = out.at(b, h, i) + 2 * p;
          const Real x = from[0], y = from[1];
          to[0] = turns ? sums.finish(x * cosine - y * sine) : x;
          to[1] = turns ? sums.finish(x * sine + y * cosine) : y;
        }
      }
    }
  });
}

// Every entry is its bias plus products by rising depth, one after the other. Columns are computed side by side (packed
// in groups, the last filled up with zeros), which changes nothing for any of them.
template <class Real>
void multiply_rows(const Real* in, const Real* weight, const Real* bias, std::int64_t rows, std::int64_t depth,
                   std::int64_t columns, Real* out, const Execution& execution) {
  constexpr std::int64_t side = 16;
  const std::int64_t groups = (columns + side - 1) / side;
  std::vector<Real> packed(static_cast<std::size_t>(groups * depth * side), Real(0));
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t c = 0; c < depth; ++c)
      packed[static_cast<std::size_t>((k / side * depth + c) * side + k % side)] = weight[k * depth + c];
  run_each(rows, execution.threads, [&](std::int64_t r) {
    for (std::int64_t group = 0; group < groups; ++group) {
      const std::int64_t first = group * side, count = std::min(side, columns - first);
      Real sums[side] = {};
      for (std::int64_t k = 0; k < count && bias != nullptr; ++k)
        sums[k] = bias[first + k];
      const Real* from = packed.data() + group * depth * side;
      for (std::int64_t c = 0; c < depth; ++c, from += side) {
        const Real x = in[r * depth + c];
        for (std::int64_t k = 0; k < side; ++k)
          sums[k] += x * from[k];
      }
      std::copy_n(sums, count, out + r * columns + first);
    }
  });
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template void aggregate(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&, View<Real>,            \
                          const Execution&);                                                                           \
  template void aggregate_backward(const Plan&, Aggregation, const Shape&, const AggregateInputs<Real>&,               \
                                   View<const Real>, View<Real>, Real*, const Execution&);                             \
  template void rotate(const Plan&, const Shape&, View<const Real>, View<Real>, bool, const Execution&);               \
  template void multiply_rows(const Real*, const Real*, const Real*, std::int64_t, std::int64_t, std::int64_t, Real*,  \
                              const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::reference

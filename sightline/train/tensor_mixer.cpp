#include "sightline/train/tensor_mixer.hpp"

#include <limits>

#include "sightline/mixer/plan.hpp"
#include "sightline/train/activation.hpp"

namespace sightline::train {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// [heads or 1, readers, reads] and, with lengths, [batch, heads or 1, readers, reads]: who counts.
Tensor make_mask(const mixer::Plan& rows, const Tensor& colours, const Tensor& lengths) {
  Tensor mask = colours.ge(0).unsqueeze(0);
  if (!lengths.defined())
    return mask;
  const auto exists = [&](std::int64_t all, std::int64_t tokens) {
    const Tensor index = at::arange(all, lengths.options()).unsqueeze(0);
    return index.lt(lengths.unsqueeze(1)).logical_or(index.ge(tokens));
  };
  const Tensor readers = exists(rows.readers(), rows.reader_tokens());
  const Tensor reads = exists(rows.reads(), rows.read_tokens());
  return mask.logical_and(readers.unsqueeze(1).unsqueeze(-1)).logical_and(reads.unsqueeze(1).unsqueeze(1));
}

/// make_colours on the device of `like`; made once.
Tensor find_colours(const LayerPlan& plan, const mixer::Plan& rows, const Tensor& like) {
  for (const DenseRows& known : plan.dense) {
    if (known.rows == &rows && known.colours.device() == like.device())
      return known.colours;
  }
  plan.dense.push_back({&rows, make_colours(rows).to(like.device())});
  return plan.dense.back().colours;
}

/// [heads, colours] -> [heads, readers, reads]. One index into the whole table: the gradient of index_select has the
/// same bits in every run on a GPU, that of gather has not.
Tensor look_up(const Tensor& table, const Tensor& colours) {
  const std::int64_t heads = table.size(0);
  const Tensor first = at::arange(heads, colours.options().dtype(at::kLong)).view({heads, 1, 1}) * table.size(1);
  const Tensor index = colours.clamp_min(0) + first;
  return table.reshape({-1}).index_select(0, index.reshape({-1})).view(index.sizes());
}

/// Is there nothing among these that 0 would not silence?
bool are_finite(const std::vector<Tensor>& tensors) {
  Tensor all;
  for (const Tensor& tensor : tensors) {
    const Tensor finite = at::isfinite(tensor.detach()).all();
    all = all.defined() ? all.logical_and(finite) : finite;
  }
  return all.item<bool>();
}

/// [.., reads, width] -> [.., readers, reads, width]: what each reader sees of the reads, 0 elsewhere, so that neither a
/// value nor its gradient passes the mask (0 x NaN is NaN).
Tensor show(const Tensor& reads, const Tensor& mask) {
  return at::where(mask.unsqueeze(-1), reads.unsqueeze(-3), at::zeros({}, reads.options()));
}

/// The sum over reads of weights [.., readers, reads] times value [.., reads, width].
Tensor add_up(const Tensor& weights, const Tensor& value, const Tensor& mask, bool finite) {
  return finite ? weights.matmul(value) : (weights.unsqueeze(-1) * show(value, mask)).sum(-2);
}

Tensor to_tensor(const std::vector<mpq_class>& values, const at::TensorOptions& options) {
  std::vector<double> entries;
  for (const mpq_class& value : values)
    entries.push_back(value.get_d());
  return at::tensor(entries, options);
}

/// The logarithm of the kernel where that is its natural form (Gaussians, exponential sums; softmax in a sum pair by
/// pair), else nothing. x and y are [.., readers, 1, width] and [.., readers or 1, reads, width].
Tensor log_kernel(const attention_kernel::Kernel& kernel, const Tensor& x, const Tensor& y) {
  if (kernel.name == "softmax")
    return (x * y).sum(-1);
  if (kernel.name == "gaussian" || kernel.name == "rbf")
    return -kernel.gamma.get_d() * at::square(x - y).sum(-1);
  if (kernel.name == "exponential-sum")
    return ((x + y) * to_tensor(kernel.weight, x.options())).sum(-1);
  return {};
}

Tensor plain_kernel(const attention_kernel::Kernel& kernel, const Tensor& x, const Tensor& y) {
  const auto width = static_cast<std::size_t>(x.size(-1));
  const auto expression =
      kernel.name.empty()
          ? attention_kernel::parse_expression(kernel.text, attention_kernel::Role::kernel, width)
          : attention_kernel::to_expression(kernel, width);
  return evaluate_kernel(expression, x, y);
}

/// The top_k largest weights of a row, ties to the smaller index.
Tensor keep_largest(const Tensor& weights, std::int64_t count) {
  const Tensor order = std::get<1>(weights.sort(/*stable=*/true, -1, /*descending=*/true));
  const Tensor kept = order.narrow(-1, 0, std::min(count, weights.size(-1)));
  return at::zeros_like(weights, at::kBool).scatter(-1, kept, true);
}

} // namespace

Tensor make_colours(const mixer::Plan& rows) {
  Tensor colours = at::full({rows.heads(), rows.readers(), rows.reads()}, -1, at::kInt);
  auto* cell = colours.data_ptr<std::int32_t>();
  std::vector<layout::ColouredRun> runs;
  for (std::int64_t h = 0; h < rows.heads(); ++h) {
    for (std::int64_t i = 0; i < rows.readers(); ++i, cell += rows.reads()) {
      rows.row(rows.relation_of(h), i, runs);
      for (const layout::ColouredRun& run : runs) {
        for (layout::Vertex k = 0; k < run.size(); ++k)
          cell[run.first + k * run.step] = static_cast<std::int32_t>(run.colour + static_cast<std::int64_t>(k) * run.colour_step);
      }
    }
  }
  return colours;
}

Tensor tensor_attend(const LayerPlan& plan, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& bias,
                     const Tensor& sink, const Tensor& lengths, Tensor* attention) {
  const mixer::AttentionRule& rule = plan.rule;
  const std::int64_t heads = q.size(2);
  const Tensor colours = find_colours(plan, *plan.plan, q);
  const Tensor mask = make_mask(*plan.plan, colours, lengths);
  const Tensor query = q.transpose(1, 2) * rule.scale, key = k.transpose(1, 2), value = v.transpose(1, 2);
  const bool finite = are_finite({q, k, v});
  const Tensor x = query.unsqueeze(-2), y = finite ? key.unsqueeze(-3) : show(key, mask);
  Tensor extra; // what is added to the logarithm of a weight
  if (bias.defined())
    extra = look_up(bias, colours);
  if (!rule.slopes.empty()) {
    const Tensor index = at::arange(plan.vertices, q.options());
    const Tensor distance =
        (index.unsqueeze(1) - index).abs() * (index.unsqueeze(1).lt(plan.tokens).logical_and(index.lt(plan.tokens)));
    const Tensor slope = at::tensor(rule.slopes, q.options()).view({heads, 1, 1}) * distance;
    extra = extra.defined() ? extra - slope : -slope;
  }
  const bool products = finite && rule.kernel.name == "softmax"; // one matrix product for all pairs
  Tensor logarithm = products ? query.matmul(key.transpose(-1, -2)) : log_kernel(rule.kernel, x, y);
  Tensor weights, floor;
  if (logarithm.defined() && rule.normalised) {
    if (extra.defined())
      logarithm = logarithm + extra;
    logarithm = logarithm.masked_fill(mask.logical_not(), -infinity);
    floor = std::get<0>(logarithm.max(-1, true)).detach();
    if (sink.defined())
      floor = at::maximum(floor, sink.detach().view({1, heads, 1, 1}));
    floor = floor.masked_fill(floor.isinf(), 0);
    weights = (logarithm - floor).exp();
  } else {
    weights = logarithm.defined() ? logarithm.exp() : plain_kernel(rule.kernel, x, y);
    if (extra.defined())
      weights = weights * extra.exp();
    weights = weights.masked_fill(mask.logical_not(), 0);
    floor = at::zeros({1, 1, 1, 1}, q.options());
  }
  if (rule.top_k)
    weights = weights.masked_fill(
        keep_largest(weights.masked_fill(mask.logical_not(), -infinity), *rule.top_k).logical_not(), 0);
  if (rule.normalised) {
    Tensor denominator = weights.sum(-1, true) + rule.eps * (-floor).exp();
    if (sink.defined())
      denominator = denominator + (sink.view({1, heads, 1, 1}) - floor).exp();
    if (rule.sink == mixer::Sink::one)
      denominator = denominator + (-floor).exp();
    weights = weights / denominator.masked_fill(denominator.eq(0), 1);
  }
  if (attention)
    *attention = weights;
  return add_up(weights, value, mask, finite).transpose(1, 2).contiguous();
}

Tensor tensor_aggregate(const LayerPlan& plan, const mixer::Plan& rows, mixer::Aggregation aggregation, std::int64_t heads, const Tensor& v,
                        const Tensor& weight, const Tensor& lengths) {
  const Tensor colours = find_colours(plan, rows, v);
  const Tensor mask = make_mask(rows, colours, lengths);
  const Tensor value = v.transpose(1, 2).expand({v.size(0), heads, v.size(1), v.size(3)});
  if (aggregation == mixer::Aggregation::max) {
    const Tensor open = mask.expand({v.size(0), heads, mask.size(2), mask.size(3)}).unsqueeze(-1);
    const Tensor best = std::get<0>(value.unsqueeze(2).masked_fill(open.logical_not(), -infinity).max(3));
    return best.masked_fill(open.squeeze(-1).any(-1, true).logical_not(), 0).transpose(1, 2).contiguous();
  }
  Tensor weights = mask.to(v.scalar_type());
  if (weight.defined())
    weights = weights * look_up(weight, colours);
  if (aggregation == mixer::Aggregation::mean)
    weights = weights / mask.sum(-1, true).clamp_min(1);
  return add_up(weights.expand({v.size(0), heads, mask.size(2), mask.size(3)}), value, mask, are_finite({v}))
      .transpose(1, 2)
      .contiguous();
}

Tensor tensor_rotate(const LayerPlan& plan, const Tensor& x) {
  const std::vector<std::int64_t>& positions = plan.plan->positions();
  const std::int64_t width = x.size(3), pairs = width / 2;
  const auto options = x.options().dtype(at::kDouble);
  std::vector<double> places(static_cast<std::size_t>(plan.vertices), 0);
  std::copy(positions.begin(), positions.end(), places.begin());
  const Tensor at_token = at::tensor(places, options);
  const Tensor turns = at::pow(10000.0, -at::arange(pairs, options) * 2 / static_cast<double>(width));
  const Tensor angle = (at_token.unsqueeze(1) * turns).view({1, plan.vertices, 1, pairs});
  const Tensor cosine = angle.cos().to(x.options()), sine = angle.sin().to(x.options());
  const Tensor parts = x.reshape({x.size(0), x.size(1), x.size(2), pairs, 2});
  const Tensor a = parts.select(-1, 0), b = parts.select(-1, 1);
  return at::stack({a * cosine - b * sine, a * sine + b * cosine}, -1).reshape(x.sizes());
}

} // namespace sightline::train

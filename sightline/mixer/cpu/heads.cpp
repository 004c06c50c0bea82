#include "sightline/mixer/cpu/heads.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sightline/mixer/kernel_function.hpp"

namespace sightline::mixer::cpu {

template <class Real> bool translate(const AttentionRule& rule, Rule<Real>& out) {
  if (rule.top_k)
    return false;
  const attention_kernel::Kernel& kernel = rule.kernel;
  const std::string& name = kernel.name;
  out = {};
  out.normalised = rule.normalised;
  out.query_scale = static_cast<Real>(rule.scale);
  if (name == "softmax") {
    out.query_scale = static_cast<Real>(rule.scale * log2_e);
  } else if (name == "gaussian" || name == "rbf") {
    out.score = Score::distance;
    out.factor = static_cast<Real>(-nearest_double(kernel.gamma) * log2_e);
  } else if (name == "laplace") {
    out.score = Score::distance;
    out.weight = Weight::exponential_root;
    out.factor = static_cast<Real>(-log2_e);
  } else if (name == "cauchy") {
    out.score = Score::distance;
    out.weight = Weight::reciprocal;
  } else if (name == "relu2") {
    out.weight = Weight::relu_squared;
  } else if (name == "elu1") {
    if (rule.scale != 1)
      return false; // elu(scale x), not scale elu(x)
    out.weight = Weight::identity;
    out.prepare = Prepare::elu_plus_one;
  } else if (name == "cosine") {
    if (!(rule.scale > 0))
      return false;
    out.query_scale = static_cast<Real>(nearest_double(kernel.temperature) * log2_e);
    out.prepare = Prepare::unit;
  } else {
    return false;
  }
  // A scale of 0 or one that is not finite leaves nothing to divide by; a sum of squares is not scaled afterwards.
  return std::isfinite(out.query_scale) && out.query_scale != Real(0) && std::isfinite(out.factor);
}

template <class Real> void set_extra(const AttentionRule& rule, const Real* sink, std::int64_t head, Rule<Real>& out) {
  out.has_extra = rule.normalised && (rule.sink != Sink::none || rule.eps > 0);
  if (!out.has_extra)
    return;
  const double infinity = HUGE_VAL;
  const double s = rule.sink == Sink::trained ? static_cast<double>(sink[head]) * log2_e
                   : rule.sink == Sink::one   ? 0
                                              : -infinity;
  const double e = rule.eps > 0 ? std::log2(rule.eps) : -infinity;
  const double most = s > e ? s : e;
  out.extra = static_cast<Real>(most + std::log2(std::exp2(s - most) + std::exp2(e - most)));
  out.sink = static_cast<Real>(s);
}

/// The colour of an arc from i to j = i + offset.
template <class Real>
std::int64_t OffsetBias<Real>::colour_of(std::int64_t tokens, const layout::Relation* relation, std::int64_t offset) {
  const layout::RelativeKind kind = relation == nullptr ? layout::RelativeKind::none : relation->relative().kind;
  if (kind == layout::RelativeKind::offset)
    return offset + tokens;
  if (kind == layout::RelativeKind::distance)
    return std::abs(offset) + 1;
  return kind == layout::RelativeKind::bucket ? 1 + layout::compute_t5_bucket(offset, relation->relative()) : 0;
}

template <class Real>
void OffsetBias<Real>::add_gradient(const Plan& plan, std::int64_t head, const double* sums, double* totals) const {
  const layout::Relation* const relation = plan.relation(plan.relation_of(first_head_ + head));
  for (std::int64_t offset = 1 - tokens_; offset < tokens_; ++offset)
    totals[colour_of(tokens_, relation, offset)] += sums[zero_ - offset];
  for (std::int64_t k = 0; k < tile_readers; ++k)
    totals[0] += sums[zero_ + registers_at() + k];
}

template <class Real>
bool OffsetBias<Real>::build(const Plan& plan, const AttentionRule& rule, const Shape& shape, std::int64_t first_head,
                             const Real* bias) {
  tables_.clear();
  first_head_ = first_head;
  length_ = 0;
  has_registers_ = false;
  if (bias == nullptr && rule.slopes.empty())
    return true;
  if (plan.readers() != plan.reads() || plan.reader_tokens() != plan.read_tokens())
    return false;
  if (bias != nullptr) {
    for (std::size_t r = 0; r < plan.relation_count(); ++r) {
      const layout::Relation* const relation = plan.relation(r);
      if (relation == nullptr ? !plan.is_plain(r) : !relation->pattern().is_plain())
        return false;
      if (relation == nullptr)
        continue;
      const layout::RelativeKind kind = relation->relative().kind;
      if (kind != layout::RelativeKind::none && kind != layout::RelativeKind::offset &&
          kind != layout::RelativeKind::distance && kind != layout::RelativeKind::bucket) {
        return false;
      }
    }
  }
  tokens_ = plan.reader_tokens();
  has_registers_ = tokens_ < plan.readers();
  zero_ = plan.readers() + tile_readers; // whole vectors are read at both ends
  length_ = 2 * zero_ + 2 * tile_readers;
  tables_.assign(static_cast<std::size_t>(length_ * shape.heads), Real(0));
  for (std::int64_t h = 0; h < shape.heads; ++h) {
    Real* const at = tables_.data() + h * length_ + zero_;
    const layout::Relation* const relation = plan.relation(plan.relation_of(first_head + h));
    const double slope = rule.slopes.empty() ? 0 : rule.slopes[static_cast<std::size_t>(first_head + h)];
    const Real of_registers = bias == nullptr ? Real(0) : bias[h * plan.colours()];
    std::fill_n(at + registers_at(), tile_readers, static_cast<Real>(static_cast<double>(of_registers) * log2_e));
    for (std::int64_t offset = 1 - tokens_; offset < tokens_; ++offset) { // j - i
      double sum = -slope * static_cast<double>(std::abs(offset));
      if (bias != nullptr) {
        sum += static_cast<double>(bias[h * plan.colours() + colour_of(tokens_, relation, offset)]);
      }
      at[-offset] = static_cast<Real>(sum * log2_e);
    }
  }
  return true;
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template bool translate(const AttentionRule&, Rule<Real>&);                                                          \
  template void set_extra(const AttentionRule&, const Real*, std::int64_t, Rule<Real>&);                               \
  template class OffsetBias<Real>;
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu

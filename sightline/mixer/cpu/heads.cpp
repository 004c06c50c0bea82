#include "sightline/mixer/cpu/heads.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "sightline/mixer/kernel_function.hpp"

namespace sightline::mixer::cpu {
namespace {

constexpr double log2_e = 1.44269504088896340736;

} // namespace

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
    out.weight = Weight::cauchy;
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
std::int64_t OffsetBias<Real>::colour_of(const Plan& plan, const layout::Relation* relation, std::int64_t offset) {
  const layout::RelativeKind kind = relation == nullptr ? layout::RelativeKind::none : relation->relative().kind;
  if (kind == layout::RelativeKind::offset)
    return offset + plan.readers();
  if (kind == layout::RelativeKind::distance)
    return std::abs(offset) + 1;
  return kind == layout::RelativeKind::bucket ? 1 + layout::compute_t5_bucket(offset, relation->relative()) : 0;
}

template <class Real>
void OffsetBias<Real>::set_gradient(const Plan& plan, std::int64_t head, const double* sums, Real* bias) const {
  std::vector<double> totals(static_cast<std::size_t>(plan.colours()), 0.0);
  const layout::Relation* const relation = plan.relation(plan.relation_of(first_head_ + head));
  for (std::int64_t offset = 1 - plan.readers(); offset < plan.readers(); ++offset)
    totals[static_cast<std::size_t>(colour_of(plan, relation, offset))] += sums[zero_ - offset];
  std::transform(totals.begin(), totals.end(), bias + head * plan.colours(), [](double total) { return static_cast<Real>(total); });
}

template <class Real>
bool OffsetBias<Real>::build(const Plan& plan, const AttentionRule& rule, const Shape& shape, std::int64_t first_head,
                             const Real* bias) {
  tables_.clear();
  first_head_ = first_head;
  if (bias == nullptr && rule.slopes.empty())
    return true;
  if (plan.readers() != plan.reads() || plan.reader_tokens() != plan.readers() || plan.read_tokens() != plan.reads())
    return false;
  const std::int64_t tokens = plan.readers();
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
  zero_ = tokens + tile_readers; // whole vectors are read at both ends
  length_ = 2 * zero_ + tile_readers;
  tables_.assign(static_cast<std::size_t>(length_ * shape.heads), Real(0));
  for (std::int64_t h = 0; h < shape.heads; ++h) {
    Real* const at = tables_.data() + h * length_ + zero_;
    const layout::Relation* const relation = plan.relation(plan.relation_of(first_head + h));
    const double slope = rule.slopes.empty() ? 0 : rule.slopes[static_cast<std::size_t>(first_head + h)];
    for (std::int64_t offset = 1 - tokens; offset < tokens; ++offset) { // j - i
      double sum = -slope * static_cast<double>(std::abs(offset));
      if (bias != nullptr) {
        sum += static_cast<double>(bias[h * plan.colours() + colour_of(plan, relation, offset)]);
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

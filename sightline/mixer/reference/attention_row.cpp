#include "sightline/mixer/reference/attention_row.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace sightline::mixer::reference {

template <class Real>
AttentionRow<Real>::AttentionRow(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                                 const AttentionInputs<Real>& in, std::shared_ptr<const KernelFunction> kernel,
                                 bool exact)
    : sums(plan, exact), plan_(plan), rule_(rule), shape_(shape), in_(in), exact_(exact), kernel_(std::move(kernel)),
      query_(static_cast<std::size_t>(shape.width)) {}

template <class Real>
const Real* AttentionRow<Real>::scaled_query(std::int64_t batch, std::int64_t head, std::int64_t reader) {
  const Real* const query = in_.query.at(batch, head, reader);
  for (std::int64_t c = 0; c < shape_.width; ++c)
    query_[static_cast<std::size_t>(c)] = static_cast<Real>(rule_.scale) * query[c];
  return query_.data();
}

// Biases and slopes, less what cancels in a normalised row to whose denominator nothing is added.
template <class Real> void AttentionRow<Real>::add_biases(std::int64_t head, std::int64_t reader) {
  const bool cancels = rule_.normalised && rule_.sink == Sink::none && rule_.eps == 0;
  if (in_.bias != nullptr) {
    const Real* const bias = in_.bias + head * plan_.colours();
    const bool constant = std::all_of(reads_.begin(), reads_.end(), [&](const auto& read) {
      return bias[read.colour] == bias[reads_.front().colour];
    });
    if (!(cancels && constant))
      for (auto& read : reads_)
        read.exponent += bias[read.colour];
  }
  if (rule_.slopes.empty() || reader >= plan_.reader_tokens())
    return;
  std::int64_t nearest = 0;
  const bool tokens_only =
      std::all_of(reads_.begin(), reads_.end(), [&](const auto& read) { return read.read < plan_.read_tokens(); });
  if (cancels && tokens_only) {
    nearest = std::numeric_limits<std::int64_t>::max();
    for (const auto& read : reads_)
      nearest = std::min<std::int64_t>(nearest, std::abs(read.read - reader));
  }
  const Real slope = static_cast<Real>(rule_.slopes[static_cast<std::size_t>(head)]);
  for (auto& read : reads_)
    if (read.read < plan_.read_tokens())
      read.exponent -= slope * static_cast<Real>(std::abs(read.read - reader) - nearest);
}

// The k largest weights: the first of those that tie, in exact mode all of them. NaN counts as largest.
template <class Real> void AttentionRow<Real>::select_largest() {
  const auto k = static_cast<std::size_t>(*rule_.top_k);
  if (reads_.size() <= k)
    return;
  Real largest = -std::numeric_limits<Real>::infinity();
  for (const auto& read : reads_)
    largest = std::max(largest, read.exponent);
  const auto rank = [&](const Weighted<Real>& read) {
    const Real value = kernel_->is_exponential() ? read.exponent : read.factor * std::exp(read.exponent - largest);
    return std::isnan(value) ? std::numeric_limits<Real>::infinity() : value;
  };
  std::vector<Real> ranks;
  for (const auto& read : reads_)
    ranks.push_back(rank(read));
  std::vector<Real> sorted = ranks;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(k - 1), sorted.end(), std::greater<>());
  const Real threshold = sorted[k - 1];
  auto ties =
      k - static_cast<std::size_t>(std::count_if(ranks.begin(), ranks.end(), [&](Real r) { return r > threshold; }));
  std::vector<Weighted<Real>> chosen;
  for (std::size_t at = 0; at < reads_.size(); ++at) {
    if (ranks[at] < threshold)
      continue;
    if (ranks[at] == threshold && !exact_) {
      if (ties == 0)
        continue;
      --ties;
    }
    chosen.push_back(reads_[at]);
  }
  reads_ = std::move(chosen);
}

template <class Real> void AttentionRow<Real>::compute(std::int64_t batch, std::int64_t head, std::int64_t reader) {
  reads_.clear();
  sink_weight_ = largest_ = denominator_ = 0;
  const Real* const query = scaled_query(batch, head, reader);
  for (const Arc& arc : list_arcs(plan_, plan_.relation_of(head), reader, Existing(plan_, in_.lengths, batch))) {
    const PairWeight<Real> pair = kernel_->evaluate(query, in_.key.at(batch, key_head(head), arc.read), work_);
    reads_.push_back({arc.read, arc.colour, pair.factor, pair.exponent});
  }
  if (reads_.empty())
    return;
  add_biases(head, reader);
  if (rule_.top_k)
    select_largest();
  std::vector<std::int64_t> vertices;
  for (const auto& read : reads_)
    vertices.push_back(read.read);
  sums.arrange(reader, vertices);
  if (!rule_.normalised) {
    for (auto& read : reads_) {
      read.per_factor = std::exp(read.exponent);
      read.weight = read.factor * read.per_factor;
    }
    return;
  }
  const Real infinity = std::numeric_limits<Real>::infinity();
  const Real sink = rule_.sink == Sink::trained ? in_.sink[head] : rule_.sink == Sink::one ? Real(0) : -infinity;
  const Real eps = static_cast<Real>(rule_.eps);
  largest_ = std::max(sink, eps > 0 ? std::log(eps) : -infinity);
  for (const auto& read : reads_)
    largest_ = read.exponent > largest_ ? read.exponent : largest_;
  largest_ = largest_ == -infinity ? Real(0) : largest_ + Real(0); // no -0
  for (auto& read : reads_) {
    read.per_factor = std::exp(read.exponent - largest_);
    read.weight = read.factor * read.per_factor;
  }
  denominator_ = sums.template sum<Real>([&](std::size_t k) { return reads_[k].weight; });
  if (eps > 0)
    denominator_ += eps * std::exp(-largest_);
  const Real sink_term = std::exp(sink - largest_);
  if (rule_.sink != Sink::none)
    denominator_ += sink_term;
  if (denominator_ == 0) {
    reads_.clear();
    return;
  }
  for (auto& read : reads_) {
    read.per_factor /= denominator_;
    read.weight /= denominator_;
  }
  sink_weight_ = rule_.sink == Sink::none ? Real(0) : sink_term / denominator_;
}

template <class Real>
void AttentionRow<Real>::differentiate(std::int64_t batch, std::int64_t head, std::int64_t reader, std::int64_t read,
                                       Real of_factor, Real of_exponent, Real* dx, Real* dy) {
  kernel_->differentiate(scaled_query(batch, head, reader), in_.key.at(batch, key_head(head), read), of_factor,
                         of_exponent, dx, dy, work_);
}

template class AttentionRow<float>;
template class AttentionRow<double>;

} // namespace sightline::mixer::reference

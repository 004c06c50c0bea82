// Losses and metrics of interfaces.md 1: cross-entropy for classes, mean squared error for numbers.
#pragma once

#include <cmath>

#include "sightline/train/samples.hpp"

namespace sightline::train {

/// What some samples contribute: the loss of several parts is the sum of `loss` over the sum of `weight`.
struct Score {
  Tensor loss;        ///< weighted sum over what is scored (a scalar with gradients)
  double weight = 0;  ///< sum of the weights of what is scored
  double correct = 0; ///< classes: weighted number of right answers
  double squared = 0; ///< numbers: weighted sum of mean squared errors (no label smoothing, so it is the loss)
};

/// Per scored entry: classes (one per sample or token, -100 left out) the cross-entropy with label smoothing; numbers
/// the mean over the k outputs of the squared error; tokens beyond a sample's length are left out. Weighted by the
/// sample's weight.
[[nodiscard]] Score compute_score(const Tensor& scores, const Batch& batch, double label_smoothing);

/// The denominator alone, from targets (the whole batch's, known to every process of a distributed run).
[[nodiscard]] double count_weight(const Batch& batch);

/// A loss that is no number, for a message. The sign of a NaN says nothing, and differs between processors.
[[nodiscard]] inline const char* name_bad_loss(double loss) {
  return std::isnan(loss) ? "nan" : loss > 0 ? "inf" : "-inf";
}

} // namespace sightline::train

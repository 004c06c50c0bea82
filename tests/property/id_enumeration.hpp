// Labels of all id sequences, and what the target tells apart (theory.md 15.4, 15.8 d), by enumeration.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "enumeration.hpp"

namespace property {

class IdEnumeration {
 public:
  explicit IdEnumeration(const SmallModel& model);

  /// Every token of every input: index x * tokens + a.
  [[nodiscard]] const std::vector<Images>& inputs() const { return inputs_; }
  [[nodiscard]] const std::vector<std::size_t>& targets() const { return targets_; }
  /// Labels after m layers, of vertices().
  [[nodiscard]] const std::vector<std::vector<Mark>>& labels(std::size_t m) const { return labels_[std::min(m, labels_.size() - 1)]; }
  [[nodiscard]] std::size_t depths() const { return labels_.size(); }
  /// Do equal labels imply equal targets after m layers?
  [[nodiscard]] bool suffices(std::size_t m) const;
  [[nodiscard]] std::optional<std::size_t> needed() const;
  [[nodiscard]] std::optional<std::size_t> find(const std::vector<std::uint32_t>& ids) const;

 private:
  const SmallModel& model_;
  std::vector<Images> inputs_;
  std::vector<std::size_t> targets_;
  std::vector<std::vector<std::vector<Mark>>> labels_;  ///< depth, input, vertex; up to the stable ones
};

}  // namespace property

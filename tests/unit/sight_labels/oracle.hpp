// Labels straight from theory.md 15.4, slowly: rows are compared in pairs by cross-multiplying polynomials, targets by going
// through every element of the group. Shares no code with the library.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "model.hpp"

namespace sight_labels {

/// Are the two rows the same to every network of this kind? `x`, `y`: labels of all vertices.
bool same_row(const Model& model, const Head& head, Vertex i, const std::vector<std::uint32_t>& x, Vertex j, const std::vector<std::uint32_t>& y);

class Oracle {
public:
  explicit Oracle(const Model& model);
  /// The next layer; true when the partition got finer.
  bool advance();
  std::uint64_t depth() const { return depth_; }
  std::size_t inputs() const { return ids_.size(); }
  const std::vector<std::uint32_t>& ids(std::size_t x) const { return ids_[x]; }
  const std::vector<std::uint32_t>& labels(std::size_t x) const { return labels_[x]; }
  std::size_t find(const std::vector<std::uint32_t>& ids) const;
  std::uint32_t target(std::size_t x, Vertex a) const { return targets_[x * model_.tokens + a]; }
  std::uint64_t distinct_targets() const;
  bool collides() const;

private:
  void label_targets();
  const Model& model_;
  std::vector<std::vector<std::uint32_t>> ids_, labels_;
  std::vector<std::uint32_t> targets_;
  std::uint64_t depth_ = 0;
};

}  // namespace sight_labels

// Inside of wanted.hpp and view_sweep.hpp: causal targets whose group permutes parts of the layout between which no arc leads. Not for other rooms.
#pragma once

#include <memory>
#include <optional>

#include "sightline/sight/closed_parts.hpp"
#include "sightline/sight/wanted.hpp"

namespace sightline::sight {

/// Which pairs a target of class causal may use when its group is all permutations of like parts, each taken to the other token by token (sequences of one length packed into one; docs/theory.md
/// 16.114): a and j <= a of one part, and those of two parts whose order no such permutation changes, however far the two are moved.
class PartedClass {
public:
  /// Null for other questions, and where parts are of many kinds. O(ranges + what generators move).
  [[nodiscard]] static std::shared_ptr<const PartedClass> find(const ViewQuestion& question, const Budget& budget);

  [[nodiscard]] bool wants(Vertex a, Vertex j) const;
  /// Least m at which every token sees all that is wanted of it; never, where a token of another part is.
  [[nodiscard]] Connected compute_reach(const Budget& budget) const;
  [[nodiscard]] UnseenPairs count_unseen(std::optional<std::uint64_t> depth, const Budget& budget) const;

private:
  struct Kind {
    Vertex tokens = 0, count = 0;
    std::int64_t least = 0, most = 0;  ///< where the first of its parts begins, and the last
  };
  PartedClass(const Layout& layout, std::shared_ptr<const ClosedParts> parts);
  [[nodiscard]] bool is_whole_group(const group::Group& group) const;
  /// Token t of a part of kind k may use token u of another part, of kind `other`, iff t - u is no less than this.
  [[nodiscard]] std::int64_t measure_lead(std::uint32_t k, std::uint32_t other) const;
  /// How many tokens of other parts token t of a part of kind k may use.
  [[nodiscard]] std::uint64_t count_across(std::uint32_t k, Vertex t) const;

  const Layout& layout_;
  std::shared_ptr<const ClosedParts> parts_;
  std::vector<Kind> kinds_;
};

}  // namespace sightline::sight

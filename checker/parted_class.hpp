// Causal targets whose group is all permutations of like parts of the layout, between which no arc leads, each part taken to the other token by token (theory 16.114).
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "closed_parts.hpp"
#include "reach.hpp"

namespace checker {

/// What output a of such a target may depend on: j <= a of its own part, and j of another part where no permutation takes the pair to one in which j stands behind a.
class PartedClass {
public:
  /// Null where the question is another. O(ranges, and what generators move). @param memory  of the layout, whose parts are looked for once; it must outlive this
  [[nodiscard]] static std::shared_ptr<const PartedClass> find(const Layout& layout, const ViewQuestion& question, ReachMemory& memory);

  [[nodiscard]] bool wants(Vertex a, Vertex j) const;
  [[nodiscard]] Reach reach() const;
  /// Pairs out of view at the depth (none: for ever), and the first of them.
  [[nodiscard]] std::pair<std::uint64_t, std::optional<std::pair<Vertex, Vertex>>> unseen(std::optional<std::uint64_t> depth) const;

private:
  struct Kind {
    std::vector<Vertex> first;  ///< of its parts, ascending
    Vertex tokens = 0;
  };
  PartedClass(const Layout& layout, const ClosedParts& parts);
  /// The least t - u for which token t of a part of kind k may use token u of another part, of kind l.
  [[nodiscard]] std::int64_t lead(std::size_t k, std::size_t l) const;
  [[nodiscard]] std::uint64_t others(std::size_t k, Vertex t) const;

  const Layout& layout_;
  const ClosedParts& parts_;
  std::vector<Kind> kinds_;
};

}  // namespace checker

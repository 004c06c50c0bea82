// Inside of reach and views: layouts between whose parts no arc leads, parts that are placed alike on the line: residues (dilated windows) or segments.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "read_layers.hpp"

namespace checker {

class ReachMemory;

/// Token k of part c stands for first[c] + k step. No arc joins two parts, so each token sees what it sees in its own part.
struct ClosedParts {
  Vertex step = 1;                    ///< 1: segments
  std::vector<Vertex> first, tokens;  ///< by part
  std::vector<Layout> layouts;        ///< different ones, without colours
  std::vector<std::size_t> like;      ///< by part: which of them

  [[nodiscard]] Vertex part_of(Vertex token) const;
  [[nodiscard]] Vertex whole(std::size_t part, Vertex k) const { return first[part] + k * step; }
  [[nodiscard]] Vertex place(std::size_t part, Vertex token) const { return (token - first[part]) / step; }

  /// What answers about the parts, each in its own numbers, say of the whole; token 0 is in the first.
  [[nodiscard]] Unseen unseen(const ReachQuestion& question, Vertex all_tokens, const std::function<Unseen(std::size_t)>& ask) const;
  [[nodiscard]] Reach layers(const ReachQuestion& question, const std::function<Reach(std::size_t)>& ask) const;

private:
  using Pair = std::pair<Vertex, Vertex>;
  [[nodiscard]] Pair restore(std::size_t part, const Pair& pair) const { return {whole(part, pair.first), whole(part, pair.second)}; }
  /// The first token that does not see one of another part although it should, and that one; nothing in class `seen`.
  [[nodiscard]] std::optional<Pair> find_apart(const ReachQuestion& question) const;
};
/// Residues modulo the largest number > 1 there is, else segments, two of which hold tokens other than the first; null otherwise, and with registers. O(ranges).
[[nodiscard]] std::unique_ptr<ClosedParts> find_closed_parts(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers);
[[nodiscard]] const ClosedParts* find_closed_parts(ReachMemory& memory);

}  // namespace checker

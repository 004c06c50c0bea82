// Inside of reach: blocks of neighbours that read alike outside of their block and, within, all up to themselves or nobody (theory 16.100).
#pragma once

#include <memory>
#include <vector>

#include "bit_reach.hpp"

namespace checker {

class Triangles {
public:
  /// Null where arcs lead up, runs have gaps, or blocks are more than a sixteenth of the tokens.
  [[nodiscard]] static std::unique_ptr<Triangles> find(const Layout& layout);
  /// No sets, no weights. Nothing where that takes many layers, or did before.
  [[nodiscard]] std::optional<Reach> layers(const ReachQuestion& question) const;
  [[nodiscard]] std::optional<Unseen> unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) const;

private:
  static constexpr std::uint64_t most_layers = 512;

  explicit Triangles(const Layout& layout) : tokens_(layout.tokens) {}
  [[nodiscard]] ReachQuestion ask(const ReachQuestion& question) const;
  /// By block: after how many layers its members see all before them within it; `never` where they do not.
  [[nodiscard]] std::vector<std::uint64_t> within(std::uint64_t skip) const;

  Vertex tokens_;
  std::vector<Vertex> first_, size_, block_of_;
  Layout blocks_;  ///< a token for each; without relations
  SharedLayers shared_;
  mutable bool takes_long_ = false;
  std::map<std::uint32_t, std::vector<bool>> reads_own_;  ///< by layer and block: do members read all before them within it?
};

}  // namespace checker

// Which pairs of tokens (a, j) a class allows whatever a group makes of them (theory 16.118).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "group.hpp"

namespace checker {

/// One answer for all pairs of two blocks: stretches of tokens that every generator takes to such a stretch, in their order or the other way round; classes, whose tokens are exchanged at will.
class WantedPairs {
public:
  /// j <= a. Throws Rejected (limit) for more than 8,192 blocks, or more than 10^9 steps.
  explicit WantedPairs(const Group& group);
  /// sets[a][j], true for j = a; each token a block.
  WantedPairs(const Group& group, std::vector<std::vector<bool>> sets);

  [[nodiscard]] bool holds(Vertex a, Vertex j) const {
    const Vertex b = block_[a], c = block_[j];
    return b == c ? a == j || (j < a && ascends_[b]) : wanted_[b][c];
  }
  /// No j but a itself?
  [[nodiscard]] bool own_only(Vertex a) const { return apart_[block_[a]] && (!ascends_[block_[a]] || a == members_[block_[a]].front()); }
  /// Is that so of every a?
  [[nodiscard]] bool own_only() const;

private:
  void make_blocks(const Group& group);
  void use_tokens(Vertex tokens);
  [[nodiscard]] bool permutes_blocks(const Permutation& g) const;
  /// Images of blocks under each permutation: (permutation, image), by block.
  using Images = std::vector<std::vector<std::pair<std::size_t, Vertex>>>;
  [[nodiscard]] Images find_images(const std::vector<Permutation>& generators) const;
  void find_ascending(const Group& group);
  void drop_moved(const Images& images);

  std::vector<Vertex> block_;                 // by token
  std::vector<std::vector<Vertex>> members_;  // by block, ascending
  std::vector<bool> is_class_, ascends_, apart_;  // by block; apart: nothing of any other is wanted
  std::vector<std::vector<bool>> wanted_;     // by two blocks
};

}  // namespace checker

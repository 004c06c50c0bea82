// Inside of natural_order.hpp: tokens that read the same lists, and how many of them each list holds.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sightline/layout/token_lists.hpp"

namespace sightline::layout {

class TokenKinds {
public:
  using Held = std::pair<std::uint32_t, std::uint32_t>;  ///< a kind, and how many of it

  /// By what tokens read in the first `relations` relations. Nothing where kinds have few tokens each. O(listed members).
  [[nodiscard]] static std::optional<TokenKinds> find(TokenLists& lists, Vertex n, std::size_t relations, const Budget& budget);

  /// Does the list hold all tokens of some kinds, in colour 1, and none of the others?
  [[nodiscard]] bool is_whole(std::uint32_t list) const { return is_whole_[list]; }
  [[nodiscard]] std::size_t count() const { return size_.size(); }
  [[nodiscard]] std::uint32_t of(Vertex token) const { return kind_[token]; }
  [[nodiscard]] std::uint32_t size(std::uint32_t kind) const { return size_[kind]; }
  [[nodiscard]] Vertex example(std::uint32_t kind) const { return example_[kind]; }
  /// Of a list, in the order in which its members first meet them.
  [[nodiscard]] std::span<const Held> held(std::uint32_t list) const { return std::span(held_).subspan(held_begin_[list], held_begin_[list + 1] - held_begin_[list]); }

private:
  std::vector<std::uint32_t> kind_, size_;  ///< by token; by kind
  std::vector<Vertex> example_;
  std::vector<Held> held_;
  std::vector<std::size_t> held_begin_;
  std::vector<bool> is_whole_;  ///< by list
};

}  // namespace sightline::layout

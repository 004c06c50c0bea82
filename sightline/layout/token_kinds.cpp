#include "sightline/layout/token_kinds.hpp"

#include <unordered_map>
#include <utility>

namespace sightline::layout {

std::optional<TokenKinds> TokenKinds::find(TokenLists& lists, Vertex n, std::size_t relations, const Budget& budget) {
  constexpr Vertex tokens_per_kind = 4;
  constexpr std::uint64_t bytes_per_kind = 48;  // in a map, and in lists by kind
  budget.ask(std::uint64_t{n} * sizeof(std::uint32_t) + n / tokens_per_kind * bytes_per_kind + lists.count() * sizeof(std::size_t));
  TokenKinds kinds;
  kinds.kind_.assign(n, 0);
  for (std::size_t r = 0; r < relations; ++r) {
    std::unordered_map<std::uint64_t, std::uint32_t> number;
    for (Vertex i = 0; i < n; ++i) {
      const std::uint64_t reads = std::uint64_t{kinds.kind_[i]} << 32 | lists.read_by()[r][i];
      kinds.kind_[i] = number.emplace(reads, static_cast<std::uint32_t>(number.size())).first->second;
      if (number.size() * tokens_per_kind > n) return std::nullopt;
    }
  }
  for (Vertex i = 0; i < n; ++i) {
    if (kinds.kind_[i] == kinds.size_.size()) {  // numbered by their first tokens
      kinds.size_.push_back(0);
      kinds.example_.push_back(i);
    }
    ++kinds.size_[kinds.kind_[i]];
  }
  std::vector<std::uint32_t> times(kinds.count(), 0);  // in one list
  kinds.held_begin_.push_back(0);
  for (std::uint32_t list = 0; list < lists.count(); ++list) {
    if (const std::size_t most = kinds.held_.size() + kinds.count(); most > kinds.held_.capacity()) {
      const std::size_t before = kinds.held_.capacity();
      budget.ask(2 * most * sizeof(Held));
      kinds.held_.reserve(2 * most);
      budget.give_back(before * sizeof(Held));
    }
    lists.visit(list, [&](Vertex member, std::uint32_t) {
      const std::uint32_t kind = kinds.kind_[member];
      if (times[kind]++ == 0) kinds.held_.emplace_back(kind, 0);
    });
    bool is_whole = lists.is_plain(list);
    for (std::size_t k = kinds.held_begin_.back(); k < kinds.held_.size(); ++k) {
      auto& [kind, held] = kinds.held_[k];
      held = std::exchange(times[kind], 0);
      is_whole = is_whole && held == kinds.size(kind);
    }
    kinds.is_whole_.push_back(is_whole);
    kinds.held_begin_.push_back(kinds.held_.size());
  }
  return kinds;
}

}  // namespace sightline::layout

// Inside of natural_order.hpp: the lists that tokens read, of all relations together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/layout/layout.hpp"

namespace sightline::layout {

using Members = std::vector<std::pair<Vertex, std::uint32_t>>;  ///< with their colours

/// All lists of all relations are numbered through.
class TokenLists {
public:
  TokenLists(const Layout& layout, const Budget& budget) : layout_(layout), budget_(budget) {}

  /// To be called first. False where rows have an order already: they move along with their readers, are coloured by where these stand, or only go down, which may say who is to see whom.
  [[nodiscard]] bool read();

  [[nodiscard]] bool is_few() const { return is_few_; }  ///< many readers share each list
  [[nodiscard]] std::uint64_t listed() const { return listed_; }  ///< members of each list once
  [[nodiscard]] std::uint64_t arcs() const { return arcs_; }      ///< once for each reader
  [[nodiscard]] std::uint64_t runs() const { return runs_; }      ///< of each list once
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& read_by() const { return read_; }  ///< by relation and token: the list that it reads
  [[nodiscard]] std::uint32_t first_of(std::size_t relation) const { return first_[relation]; }
  [[nodiscard]] std::uint32_t end_of(std::size_t relation) const { return relation + 1 < first_.size() ? first_[relation + 1] : count_; }

  /// Its vertices, all of colour 1, where they are written out one by one; else nothing.
  [[nodiscard]] std::span<const Vertex> written(std::uint32_t list) const;
  /// Have all its members colour 1?
  [[nodiscard]] bool is_plain(std::uint32_t list) {
    return !written(list).empty() || std::ranges::all_of(runs_of(list), [](const Run& run) { return run.colour == 1; });
  }
  /// Until the next call of this or of members().
  [[nodiscard]] const std::vector<Run>& runs_of(std::uint32_t list);
  [[nodiscard]] const Members& members(std::uint32_t list);
  /// f(vertex, colour) for each of its members, ascending.
  template <class Function>
  void visit(std::uint32_t list, Function&& f) {
    if (const auto vertices = written(list); !vertices.empty()) {
      budget_.poll();
      for (const Vertex j : vertices) f(j, 1);
      return;
    }
    for (const Run& run : runs_of(list)) {
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) f(static_cast<Vertex>(j), run.colour);
    }
  }

private:
  [[nodiscard]] std::pair<const Pattern*, const Pattern::RunList*> find(std::uint32_t list) const;

  const Layout& layout_;
  const Budget& budget_;
  std::uint64_t runs_ = 0, listed_ = 0, arcs_ = 0;
  std::uint32_t count_ = 0;
  bool is_few_ = true;
  std::vector<std::uint32_t> first_;
  std::vector<std::vector<std::uint32_t>> read_;
  std::vector<Run> row_;
  Members members_;
};

}  // namespace sightline::layout

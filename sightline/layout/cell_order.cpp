#include "sightline/layout/cell_order.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sightline/layout/grid_order.hpp"

namespace sightline::layout {

namespace {

constexpr std::size_t most_beside = 16;  // two steps from block to shifted block lead to at most so many cells

/// Tokens that are in one class of both, numbered as they first occur.
class Cells {
public:
  Cells(const std::vector<std::uint32_t>& block, const std::vector<std::uint32_t>& shifted) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> number;
    for (Vertex i = 0; i < block.size(); ++i) {
      const auto [known, is_new] = number.try_emplace({block[i], shifted[i]}, static_cast<std::uint32_t>(tokens_.size()));
      if (is_new) {
        tokens_.emplace_back();
        classes_.push_back({block[i], shifted[i]});
        of_[0][block[i]].push_back(known->second);
        of_[1][shifted[i]].push_back(known->second);
      }
      tokens_[known->second].push_back(i);
    }
  }

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(tokens_.size()); }
  [[nodiscard]] const std::vector<Vertex>& tokens(std::uint32_t cell) const { return tokens_[cell]; }

  /// By cell those beside it: reached from it by a block and then a shifted one, and the other way round too. Nothing where these are too many.
  [[nodiscard]] std::optional<JoinedRows> find_neighbours() const {
    JoinedRows rows;
    rows.begin.push_back(0);
    for (std::uint32_t cell = 0; cell < count(); ++cell) {
      const auto one = step_twice(cell, 0), other = step_twice(cell, 1);
      if (!one || !other) return std::nullopt;
      std::set_intersection(one->begin(), one->end(), other->begin(), other->end(), std::back_inserter(rows.members));
      rows.begin.push_back(static_cast<std::uint32_t>(rows.members.size()));
    }
    return rows;
  }

private:
  [[nodiscard]] std::optional<std::set<std::uint32_t>> step_twice(std::uint32_t cell, std::size_t first) const {
    std::set<std::uint32_t> reached;
    for (const std::uint32_t between : of_[first].at(classes_[cell][first])) {
      const auto& last = of_[1 - first].at(classes_[between][1 - first]);
      if (last.size() > most_beside) return std::nullopt;
      reached.insert(last.begin(), last.end());
      if (reached.size() > most_beside) return std::nullopt;
    }
    return reached;
  }

  std::vector<std::vector<Vertex>> tokens_;
  std::vector<std::array<std::uint32_t, 2>> classes_;
  std::array<std::map<std::uint32_t, std::vector<std::uint32_t>>, 2> of_;  ///< the cells of each class
};

/// Is each cell beside those next to it on the grid and on its diagonals, and beside no other?
bool is_grid_of(const JoinedRows& beside, const GridOrder& grid) {
  const std::size_t height = grid.token.size() / grid.width;
  for (std::size_t k = 0; k < grid.token.size(); ++k) {
    const std::size_t r = k / grid.width, c = k % grid.width;
    std::vector<std::uint32_t> expected;
    for (std::size_t row = r == 0 ? 0 : r - 1; row < std::min(r + 2, height); ++row) {
      for (std::size_t column = c == 0 ? 0 : c - 1; column < std::min(c + 2, grid.width); ++column) expected.push_back(grid.token[row * grid.width + column]);
    }
    std::sort(expected.begin(), expected.end());
    const auto begin = beside.members.begin();
    if (!std::equal(expected.begin(), expected.end(), begin + beside.begin[grid.token[k]], begin + beside.begin[grid.token[k] + 1])) return false;
  }
  return true;
}

/// The number between the two that divides the second and is divided by the first whose square is nearest to `square`, by their ratio. Nothing where there is none.
std::optional<std::size_t> find_near_root(std::size_t divisor, std::size_t multiple, std::size_t square) {
  std::optional<std::size_t> best;
  const auto ratio = [&](std::size_t d) { return static_cast<double>(std::max(d * d, square)) / static_cast<double>(std::min(d * d, square)); };
  for (std::size_t d = divisor; d <= multiple; d += divisor) {
    if (multiple % d == 0 && (!best || ratio(d) < ratio(*best))) best = d;
  }
  return best;
}

}  // namespace

std::optional<std::vector<Vertex>> order_by_cells(const std::vector<std::uint32_t>& block, const std::vector<std::uint32_t>& shifted, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  budget.ask(block.size() * 64);
  const Cells cells(block, shifted);
  if (2 * std::size_t{cells.count()} > block.size()) return std::nullopt;
  const std::optional<JoinedRows> beside = cells.find_neighbours();
  const std::optional<GridOrder> grid = beside ? order_as_grid(*beside, budget) : std::nullopt;
  if (!grid || !is_grid_of(*beside, *grid)) return std::nullopt;
  const auto cell = [&](std::size_t row, std::size_t column) -> const std::vector<Vertex>& { return cells.tokens(grid->token[row * grid->width + column]); };
  // How high the first row of cells is: its cells, and what their heights are of other rows, have to come out whole.
  const std::size_t rows = cells.count() / grid->width, corner = cell(0, 0).size();
  std::size_t divisor = 1, multiple = 0;
  for (std::size_t c = 0; c < grid->width; ++c) multiple = std::gcd(multiple, cell(0, c).size());
  for (std::size_t r = 0; r < rows; ++r) divisor = std::lcm(divisor, corner / std::gcd(corner, cell(r, 0).size()));
  const std::optional<std::size_t> height = find_near_root(divisor, multiple, corner);
  if (!height) return std::nullopt;
  std::vector<Vertex> order;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t lines = cell(r, 0).size() * *height / corner;
    for (std::size_t c = 0; c < grid->width; ++c) {
      if (cell(r, c).size() * *height != lines * cell(0, c).size()) return std::nullopt;
    }
    for (std::size_t line = 0; line < lines; ++line) {
      for (std::size_t c = 0; c < grid->width; ++c) {
        const auto begin = cell(r, c).begin() + static_cast<std::ptrdiff_t>(line * (cell(r, c).size() / lines));
        order.insert(order.end(), begin, begin + static_cast<std::ptrdiff_t>(cell(r, c).size() / lines));
      }
    }
  }
  return order;
}

}  // namespace sightline::layout

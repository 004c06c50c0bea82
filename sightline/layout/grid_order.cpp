#include "sightline/layout/grid_order.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace sightline::layout {

namespace {

class Grid {
public:
  Grid(const JoinedRows& rows, const Budget& budget)
      : n_(rows.tokens()), budget_(budget), begin_{0}, mark_(n_, none), rank_(n_, none), met_(n_, none), old_(n_, false) {
    const auto is_aside = [&, many = rows.many()](Vertex i) { return rows.length(i) > many; };
    members_.reserve(rows.members.size() + n_);
    for (Vertex i = 0; i < n_; ++i) {
      if (is_aside(i)) {
        aside_.push_back(i);
        rank_[i] = n_;
      } else {
        for (std::uint32_t k = rows.begin[i]; k < rows.begin[i + 1]; ++k) {
          const Vertex j = rows.members[k] % n_;
          if (!is_aside(j) && std::exchange(mark_[j], i) != i) members_.push_back(j);  // once, whichever layers read it
        }
        if (mark_[i] != i) members_.push_back(i);  // whether or not it reads itself
      }
      begin_.push_back(static_cast<std::uint32_t>(members_.size()));
    }
    work_ = 2 * members_.size() + n_;
    std::fill(mark_.begin(), mark_.end(), none);
  }

  std::optional<GridOrder> order() {
    const std::size_t all = n_ - aside_.size();
    if (all == 0) return std::nullopt;
    std::vector<Vertex> line = walk_border();
    if (line.size() < 2 || line.size() > all / 2 || all % line.size() != 0) return std::nullopt;
    for (;;) {
      budget_.poll();
      for (const Vertex i : line) {
        rank_[i] = static_cast<Vertex>(order_.size());
        order_.push_back(i);
      }
      if (order_.size() == all) break;
      if (!advance(line)) return std::nullopt;
    }
    if (is_in_lines()) return std::nullopt;
    order_.insert(order_.end(), aside_.begin(), aside_.end());
    return GridOrder{std::move(order_), line.size()};
  }

private:
  static constexpr Vertex none = ~Vertex{0};

  /// Do tokens mostly follow each other at one distance in the numbers that they have?
  [[nodiscard]] bool is_in_lines() const {
    std::vector<Vertex> apart;
    for (std::size_t k = 1; k < order_.size(); ++k) apart.push_back(std::max(order_[k - 1], order_[k]) - std::min(order_[k - 1], order_[k]));
    const auto middle = apart.begin() + static_cast<std::ptrdiff_t>(apart.size() / 2);
    std::nth_element(apart.begin(), middle, apart.end());
    return 4 * std::ranges::count(apart, *middle) >= 3 * static_cast<std::ptrdiff_t>(apart.size());
  }

  [[nodiscard]] std::span<const Vertex> row(Vertex i) const { return std::span(members_).subspan(begin_[i], begin_[i + 1] - begin_[i]); }

  /// From a corner to a corner.
  std::vector<Vertex> walk_border() {
    Vertex corner = none;
    for (Vertex i = 0; i < n_; ++i) {
      if (rank_[i] == none && (corner == none || row(i).size() < row(corner).size())) corner = i;
    }
    std::vector<Vertex> line{corner};
    rank_[corner] = 0;
    while (line.size() <= n_ / 2) {
      const Vertex here = line.back();
      const Vertex next = find_nearest(here, true, [&](Vertex j) { return rank_[j] == none; });
      for (const Vertex j : row(here)) old_[j] = true;
      if (next == none) break;
      rank_[next] = 0;
      line.push_back(next);
      if (row(next).size() == row(corner).size()) break;
    }
    std::fill(old_.begin(), old_.end(), false);
    return line;
  }

  /// Of the members of a row that may be taken, the one with the fewest new members (or of these and of those left behind together), then the fewest left behind, then the fewest old ones.
  template <class MayTake>
  Vertex find_nearest(Vertex here, bool along, const MayTake& may_take) {
    for (const Vertex j : row(here)) mark_[j] = here;
    std::tuple<std::size_t, std::size_t, std::size_t, Vertex> best{along ? row(here).size() : 2 * row(here).size(), 0, 0, none};
    for (const Vertex next : row(here)) {
      if (!may_take(next) || row(next).size() > work_) continue;
      work_ -= row(next).size();
      std::size_t common = 0, before = 0;
      for (const Vertex j : row(next)) {
        common += mark_[j] == here ? 1 : 0;
        before += old_[j] ? 1 : 0;
      }
      const std::size_t fresh = row(next).size() - common, left = row(here).size() - common;
      best = std::min(best, {fresh + (along ? 0 : left), left, before, next});
    }
    return std::get<3>(best);
  }

  /// To the next line: the tokens that were met first, and of more than a line of these the nearest to each of the line before. False where that is no line.
  bool advance(std::vector<Vertex>& line) {
    const auto end = static_cast<Vertex>(order_.size()), begin = end - static_cast<Vertex>(line.size());
    for (const Vertex i : line) {
      for (const Vertex j : row(i)) {
        if (rank_[j] != none || met_[j] != none) continue;
        met_[j] = end;
        open_.push_back(j);
      }
    }
    if (open_.size() < line.size()) return false;
    const auto is_first = [&](Vertex j) { return rank_[j] == none && met_[j] == met_[open_.front()]; };
    std::vector<Vertex> next;
    if (open_.size() == line.size() || met_[open_[line.size()]] != met_[open_.front()]) {
      next.assign(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(line.size()));
      open_.erase(open_.begin(), open_.begin() + static_cast<std::ptrdiff_t>(line.size()));
    } else {
      for (const Vertex i : line) {
        next.push_back(find_nearest(i, false, is_first));
        if (next.back() == none || std::exchange(rank_[next.back()], n_) != none) return false;
      }
      std::erase_if(open_, [this](Vertex j) { return rank_[j] != none; });
    }
    std::vector<std::pair<std::uint64_t, Vertex>> sorted;
    for (const Vertex j : next) {
      Vertex low = none, high = 0;
      for (const Vertex other : row(j)) {
        if (rank_[other] < begin || rank_[other] >= end) continue;
        low = std::min(low, rank_[other]);
        high = std::max(high, rank_[other]);
      }
      sorted.emplace_back(std::uint64_t{low} + high, j);
    }
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first == b.first; }) != sorted.end()) return false;
    std::transform(sorted.begin(), sorted.end(), line.begin(), [](const auto& each) { return each.second; });
    return true;
  }

  Vertex n_;
  const Budget& budget_;
  std::vector<std::uint32_t> begin_;
  std::vector<Vertex> members_, aside_;
  std::vector<Vertex> order_, open_;
  std::vector<Vertex> mark_;  ///< who was the last of which this is a member
  std::vector<Vertex> rank_;  ///< in the order; on the border, in the line to come and for those set aside: taken
  std::vector<Vertex> met_;   ///< when a row that was gone through held it first
  std::vector<bool> old_;     ///< read on the border before
  std::uint64_t work_ = 0;
};

}  // namespace

std::optional<GridOrder> order_as_grid(const JoinedRows& rows, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  // Corners see less than half of what others see, where much is seen: windows on a line are not copied.
  constexpr std::uint64_t much = 64;
  const std::uint32_t many = rows.many();
  std::uint64_t shortest = many, longest = 0;
  for (Vertex i = 0; i < rows.tokens(); ++i) {
    const std::uint64_t length = rows.length(i);
    if (length <= many) shortest = std::min(shortest, length), longest = std::max(longest, length);
  }
  if (longest > much && 5 * shortest > 2 * longest) return std::nullopt;
  budget.ask(rows.begin.size() * 28 + rows.members.size() * 4);
  return Grid(rows, budget).order();
}

}  // namespace sightline::layout

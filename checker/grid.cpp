#include "grid.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace checker {

namespace {

/// Disjoint intervals, sorted, with gaps between them.
using Axis = std::vector<std::pair<Vertex, Vertex>>;

void tidy(Axis& axis) {
  std::sort(axis.begin(), axis.end());
  std::size_t kept = 0;
  for (const auto& [first, last] : axis) {
    if (kept > 0 && first <= std::uint64_t{axis[kept - 1].second} + 1)
      axis[kept - 1].second = std::max(axis[kept - 1].second, last);
    else
      axis[kept++] = {first, last};
  }
  axis.resize(kept);
}

std::uint64_t count(const Axis& axis) {
  std::uint64_t sum = 0;
  for (const auto& [first, last] : axis)
    sum += last - first + std::uint64_t{1};
  return sum;
}

bool contains(const Axis& axis, Vertex x) {
  return std::any_of(axis.begin(), axis.end(),
                     [x](const auto& interval) { return interval.first <= x && x <= interval.second; });
}

/// Grid rows and columns that a run meets; false when there are too many to write down, or it goes over edges in other
/// steps than rows.
bool cut(const Run& run, Vertex width, Axis& down, Axis& across) {
  constexpr std::size_t most = 4096;
  const Vertex from = run.first / width, to = run.last / width, left = run.first % width, right = run.last % width;
  if (run.step == 1) {
    down.emplace_back(from, to);
    if (to > from + 1)
      across.emplace_back(0, width - 1);
    else if (to > from)
      across.insert(across.end(), {{left, width - 1}, {0, right}});
    else
      across.emplace_back(left, right);
  } else if (from == to) {
    down.emplace_back(from, from);
    for (Vertex c = left; c <= right; c += run.step)
      across.emplace_back(c, c);
  } else if (run.step % width == 0) {
    across.emplace_back(left, left);
    if (run.step == width)
      down.emplace_back(from, to);
    for (Vertex r = from; run.step > width && r <= to; r += run.step / width)
      down.emplace_back(r, r);
  } else {
    return false;
  }
  return down.size() <= most && across.size() <= most;
}

/// The axes of one layer, by grid row and by column.
struct Factors {
  std::vector<Axis> down, across;
};

/// Is `b` `a`, every member so much further?
bool is_moved(const Axis& a, const Axis& b, Vertex by) {
  return std::ranges::equal(a, b, [by](const auto& x, const auto& y) { return x.first + by == y.first && x.second + by == y.second; });
}

/// A row lies in the product of the grid rows and columns that it meets; it is that product when it has as many members. Where rows move along with
/// their readers, on one row of the grid, the columns move and the rows stay, until the last column comes to the edge (docs/theory.md 16.66).
class Split {
public:
  Split(const Pattern& pattern, Vertex width, Factors& factors) : pattern_(pattern), width_(width), factors_(factors) {
    factors_.down.resize(pattern.vertices / width);
    factors_.across.resize(width);
  }

  bool run() {
    return pattern_.visit_stretches([&](Vertex begin, Vertex end, const std::vector<Run>& row, bool moves) {
      if (!moves) return take(row) && follow(begin, end);
      moved_ = row;
      for (Vertex i = begin, next = begin; i < end; i = next) {
        if (!take(moved_)) return false;
        next = std::min({end, i + (width_ - i % width_), i + (across_.empty() ? 1 : width_ - across_.back().second)});
        if (!move_along(i, next - i)) return false;
        for (Run& run : moved_)
          run.first += next - i, run.last += next - i;
      }
      return true;
    });
  }

private:
  /// The axes of one row; false when it is not their product.
  bool take(const std::vector<Run>& row) {
    down_.clear();
    across_.clear();
    std::uint64_t members = 0;
    for (const Run& run : row) {
      if (!cut(run, width_, down_, across_))
        return false;
      members += run.size();
    }
    tidy(down_);
    tidy(across_);
    return members == count(down_) * count(across_);
  }

  /// Readers that have this row.
  bool follow(Vertex begin, Vertex end) {
    for (Vertex reader = begin; reader < end; ++reader) {
      const Vertex r = reader / width_, c = reader % width_;
      if (c == 0)
        factors_.down[r] = down_;
      if (r == 0)
        factors_.across[c] = across_;
      if (factors_.down[r] != down_ || factors_.across[c] != across_ || !contains(down_, r) || !contains(across_, c))
        return false;
    }
    return true;
  }

  /// The first of them has this row, and it moves with them; they are on one row of the grid.
  bool move_along(Vertex begin, Vertex length) {
    const Vertex r = begin / width_, c = begin % width_;
    if (c == 0)
      factors_.down[r] = down_;
    if (factors_.down[r] != down_ || !contains(down_, r) || !contains(across_, c))
      return false;
    if (r == 0) {
      for (Vertex k = 0; k < length; ++k) {
        Axis& axis = factors_.across[c + k] = across_;
        for (auto& [first, last] : axis)
          first += k, last += k;
      }
      return true;
    }
    if (moves_until_.empty()) {
      moves_until_.resize(width_);
      for (Vertex x = width_; x-- > 0;)
        moves_until_[x] = x + 1 < width_ && is_moved(factors_.across[x], factors_.across[x + 1], 1) ? moves_until_[x + 1] : x + 1;
    }
    for (Vertex x = c; x < c + length; x = moves_until_[x]) {
      if (!is_moved(across_, factors_.across[x], x - c))
        return false;
    }
    return true;
  }

  const Pattern& pattern_;
  const Vertex width_;
  Factors& factors_;
  Axis down_, across_;
  std::vector<Run> moved_;
  std::vector<Vertex> moves_until_;  // by column, once the first row of the grid is known: the end of those whose axes move along
};

/// Of layers that do not occur: everybody reads himself.
bool stand_alone(Vertex tokens, Vertex width, Factors& factors) {
  for (Vertex r = 0; r < tokens / width; ++r)
    factors.down.push_back({{r, r}});
  for (Vertex c = 0; c < width; ++c)
    factors.across.push_back({{c, c}});
  return true;
}

/// Steps, lengths and distances of runs of some rows, those near the square root first.
std::vector<Vertex> list_widths(const Layout& layout) {
  std::map<Vertex, int> votes;
  std::vector<Run> row;
  for (const Relation& relation : layout.relations) {
    for (std::uint64_t k = 0; k < 16; ++k) {
      relation.pattern->row(static_cast<Vertex>(layout.tokens * (2 * k + 1) / 32), row);
      for (std::size_t at = 0; at < std::min<std::size_t>(row.size(), 16); ++at) {
        ++votes[row[at].step > 1 ? row[at].step : row[at].last - row[at].first + 1];
        if (at > 0)
          ++votes[row[at].first - row[at - 1].first];
      }
    }
  }
  std::vector<Vertex> widths;
  for (const auto& [width, given] : votes) {
    if (width > 1 && width < layout.tokens && layout.tokens % width == 0)
      widths.push_back(width);
  }
  const double root = std::log(static_cast<double>(layout.tokens)) / 2;
  const auto distance = [root](Vertex width) { return std::abs(std::log(static_cast<double>(width)) - root); };
  std::stable_sort(widths.begin(), widths.end(), [&](Vertex a, Vertex b) { return distance(a) < distance(b); });
  if (widths.size() > 6)
    widths.resize(6);
  return widths;
}

std::shared_ptr<const Pattern> to_pattern(const std::vector<Axis>& axes) {
  auto pattern = std::make_shared<Pattern>();
  pattern->vertices = static_cast<Vertex>(axes.size());
  for (Vertex x = 0; x < axes.size(); ++x) {
    if (x > 0 && axes[x] == axes[x - 1]) {
      ++pattern->segments.back().count;
      continue;
    }
    pattern->segments.push_back({x, 1, static_cast<std::uint32_t>(pattern->lists.size()), Pattern::none});
    auto& list = pattern->lists.emplace_back();
    for (const auto& [first, last] : axes[x])
      list.push_back({first, last, 1, 1, 0, 0});
  }
  return pattern;
}

} // namespace

std::optional<Grid> find_grid(const Layout& layout) {
  // Several heads read a union, which need not be a product even where each of them does.
  if (layout.registers > 0 || layout.order.empty() ||
      std::any_of(layout.order.begin(), layout.order.end(), [&](std::uint32_t l) { return layout.layers[l].size() != 1; }))
    return std::nullopt;
  std::vector<bool> used(layout.relations.size(), false);
  for (const std::uint32_t l : layout.order)
    used[layout.layers[l].front()] = true;
  for (const Vertex width : list_widths(layout)) {
    Grid grid{width, {}, {}};
    grid.down.tokens = layout.tokens / width;
    grid.across.tokens = width;
    bool splits = true;
    for (std::size_t r = 0; r < layout.relations.size() && splits; ++r) {
      Factors factors;
      splits = used[r] ? Split(*layout.relations[r].pattern, width, factors).run() : stand_alone(layout.tokens, width, factors);
      for (Layout* part : {&grid.down, &grid.across}) {
        Relation& relation = part->relations.emplace_back();
        if (splits)
          relation.pattern = to_pattern(part == &grid.down ? factors.down : factors.across);
        relation.tokens = part->tokens;
      }
    }
    if (!splits)
      continue;
    for (Layout* part : {&grid.down, &grid.across}) {
      part->vertex_colour.assign(part->tokens, 0);
      part->layers = layout.layers;
      part->order = layout.order;
    }
    return grid;
  }
  return std::nullopt;
}

} // namespace checker

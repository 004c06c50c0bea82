// A grid whose rows are sets that one relation reads as a whole and whose columns are those of another: every automorphism permutes the rows and the
// columns, a token is where the two meet, and all permutations of both are automorphisms (docs/theory.md 16.54). Where the lines of one kind are the components of
// what is read along them, each in the same way, only automorphisms of their places are: the identity, or the reflection (16.111).
#include <algorithm>
#include <map>
#include <numeric>

#include "poll.hpp"
#include "product_group.hpp"
#include "views.hpp"

namespace checker {

namespace {

enum class SideRows { own, all, other };

/// What every place of a side reads: itself alone, everything, or neither.
SideRows rows_of_side(const Relation& relation, Vertex places) {
  std::vector<Run> row;
  bool own = true, all = true;
  for (Vertex x = 0; x < places && (own || all); ++x) {
    relation.pattern->row(x, row);
    std::uint64_t size = 0;
    for (const Run& run : row) size += run.size();
    all = all && size == places;
    own = own && size == 1 && row.front().first == x;
  }
  return all ? SideRows::all : own ? SideRows::own : SideRows::other;
}

/// Does every place but the first read one before it? All are in one component then.
bool are_linked(const Relation& relation, Vertex places) {
  std::vector<Run> row;
  for (Vertex x = 1; x < places; ++x) {
    relation.pattern->row(x, row);
    if (std::ranges::none_of(row, [x](const Run& run) { return run.first < x; })) return false;
  }
  return true;
}

/// A permutation of lines, as the pairs that move.
using LineMoves = std::vector<std::pair<Vertex, Vertex>>;

/// Token (r, c) to (s(r), c) for all c, or nothing.
std::optional<LineMoves> as_row_map(const std::vector<std::pair<Vertex, Vertex>>& moves, Vertex width) {
  if (moves.size() % width != 0) return std::nullopt;
  LineMoves lines;
  for (std::size_t k = 0; k < moves.size(); k += width) {
    const auto [from, to] = moves[k];
    if (from % width != 0 || to % width != 0) return std::nullopt;
    for (Vertex c = 0; c < width; ++c) {
      if (moves[k + c].first != from + c || moves[k + c].second != to + c) return std::nullopt;
    }
    lines.emplace_back(from / width, to / width);
  }
  return lines;
}

/// Token (r, c) to (r, t(c)) for all r, or nothing.
std::optional<LineMoves> as_column_map(const std::vector<std::pair<Vertex, Vertex>>& moves, Vertex width, Vertex height) {
  if (moves.size() % height != 0) return std::nullopt;
  const std::size_t moved = moves.size() / height;
  for (Vertex r = 0; r < height; ++r) {
    for (std::size_t k = 0; k < moved; ++k) {
      const auto [from, to] = moves[r * moved + k];
      if (moves[k].first >= width || moves[k].second >= width || from != r * width + moves[k].first || to != r * width + moves[k].second) return std::nullopt;
    }
  }
  return LineMoves(moves.begin(), moves.begin() + static_cast<std::ptrdiff_t>(moved));
}

/// Permutations of one kind of lines, along the lines of a path: do those that fix what comes before move each line through all that are left?
class LineOrbits {
public:
  explicit LineOrbits(Vertex lines) : parent_(lines), size_(lines, 1), level_(lines, none) { std::iota(parent_.begin(), parent_.end(), Vertex{0}); }

  void follow(const std::vector<Vertex>& path) {
    path_ = path;
    for (std::size_t l = path.size(); l-- > 0;) level_[path[l]] = static_cast<Vertex>(l);
  }

  void add(LineMoves moves) {
    Vertex first = static_cast<Vertex>(path_.size());
    for (const auto& [x, y] : moves) first = std::min(first, level_[x]);
    first_moved_.emplace(first, std::move(moves));
  }

  /// Orbits from the last line of the path up. Their product is the order of a subgroup of Sym(lines): all of it when it is lines!.
  [[nodiscard]] bool are_symmetric() {
    Vertex expected = 1;
    for (Vertex l = static_cast<Vertex>(path_.size()) + 1; l-- > 0;) {
      const auto [begin, end] = first_moved_.equal_range(l);
      for (auto at = begin; at != end; ++at) {
        for (const auto& [x, y] : at->second) join(x, y);
      }
      if (l == path_.size() || level_[path_[l]] != l) continue;  // a line that the path has met before is fixed
      const Vertex orbit = size_[find(path_[l])];
      if (orbit != 1 && orbit != ++expected) return false;
    }
    return expected == parent_.size();
  }

private:
  Vertex find(Vertex x) {
    for (; parent_[x] != x; x = parent_[x]) parent_[x] = parent_[parent_[x]];
    return x;
  }
  void join(Vertex x, Vertex y) {
    x = find(x), y = find(y);
    if (x == y) return;
    if (size_[x] < size_[y]) std::swap(x, y);
    parent_[y] = x;
    size_[x] += size_[y];
  }

  std::vector<Vertex> parent_, size_, level_, path_;
  std::multimap<Vertex, LineMoves> first_moved_;
};

/// Lines whose places move by no more than the reflection, by these relations of a side: no map but that one, if there is any.
bool take_reflection(const Layout& factor, const std::vector<std::uint32_t>& in_part, const std::vector<LineMoves>& maps, Order& order) {
  const Vertex places = factor.tokens;
  const auto is_reflection = [places](const LineMoves& moves) {
    return moves.size() == places - places % 2 && std::ranges::all_of(moves, [places](const auto& move) { return move.second == places - 1 - move.first; });
  };
  if (!std::ranges::all_of(maps, is_reflection)) return false;
  if (!maps.empty()) order.multiply(2);
  Layout part = factor;
  part.layers.clear();
  part.order.clear();
  for (const std::uint32_t r : in_part) {
    part.order.push_back(static_cast<std::uint32_t>(part.layers.size()));
    part.layers.push_back({r});
  }
  return has_group_of_line(part, !maps.empty());
}

}  // namespace

std::optional<ConfirmedGroup> confirm_line_group(const Layout& layout, const Grid& grid, const std::vector<std::uint32_t>& relations, const Json& evidence) {
  const Vertex width = grid.width, height = grid.down.tokens;
  if (height < 2 || width < 2 || evidence["twins"].size() != 0 || evidence["failed"].size() != 0) return std::nullopt;
  bool rows = false, columns = false;
  std::vector<std::uint32_t> down_in_part, across_in_part;
  for (const std::uint32_t r : relations) {
    const SideRows down = rows_of_side(grid.down.relations[r], height), across = rows_of_side(grid.across.relations[r], width);
    if (down == SideRows::other) down_in_part.push_back(r);
    if (across == SideRows::other) across_in_part.push_back(r);
    if (!down_in_part.empty() && !across_in_part.empty()) return std::nullopt;
    rows = rows || (down == SideRows::own && (across == SideRows::all || (across == SideRows::other && are_linked(grid.across.relations[r], width))));
    columns = columns || (across == SideRows::own && (down == SideRows::all || (down == SideRows::other && are_linked(grid.down.relations[r], height))));
  }
  if (!rows || !columns) return std::nullopt;
  std::vector<Vertex> down_path, across_path;
  for (const Json& vertex : evidence["path"].array()) {
    const auto token = static_cast<Vertex>(vertex.natural(layout.tokens - 1));
    down_path.push_back(token / width);
    across_path.push_back(token % width);
  }
  LineOrbits down(height), across(width);
  down.follow(down_path);
  across.follow(across_path);
  std::vector<LineMoves> of_rows, of_columns;  // where these are read in part
  ConfirmedGroup confirmed;
  confirmed.group.degree = layout.tokens;
  const bool are_lines = Permutation::visit(evidence["generators"], layout.tokens, [&](Permutation permutation) {
    poll();
    if (permutation.is_identity()) return false;
    if (std::optional<LineMoves> lines = as_row_map(permutation.moves(), width)) {
      if (down_in_part.empty()) down.add(*std::move(lines));
      else of_rows.push_back(*std::move(lines));
    } else if (std::optional<LineMoves> others = as_column_map(permutation.moves(), width, height)) {
      if (across_in_part.empty()) across.add(*std::move(others));
      else of_columns.push_back(*std::move(others));
    } else {
      return false;
    }
    confirmed.group.generators.push_back(std::move(permutation));
    return true;
  });
  if (!are_lines) return std::nullopt;
  const auto take_side = [&](const Layout& factor, const std::vector<std::uint32_t>& in_part, LineOrbits& orbits, const std::vector<LineMoves>& maps) {
    if (!in_part.empty()) return take_reflection(factor, in_part, maps, *confirmed.order);
    if (!orbits.are_symmetric()) return false;
    for (Vertex k = 2; k <= factor.tokens; ++k) confirmed.order->multiply(Natural(k));
    return true;
  };
  if (!take_side(grid.down, down_in_part, down, of_rows) || !take_side(grid.across, across_in_part, across, of_columns)) return std::nullopt;
  return confirmed;
}

}  // namespace checker

#include "boxes.hpp"

#include <algorithm>
#include <bit>
#include <set>

#include "bit_reach.hpp"
#include "poll.hpp"

namespace checker {

namespace {

constexpr std::size_t most_boxes = 8, most_kinds = 4;  // the library allows fewer

/// Boxes that lie in none of the others, of equal ones the first; empty where too many are left.
std::vector<BoxPair> thin_out(const std::vector<BoxPair>& all) {
  std::vector<BoxPair> left;
  for (const BoxPair& box : all) {
    const auto covers = [](const BoxPair& large, const BoxPair& small) { return large.rows.contains(small.rows) && large.columns.contains(small.columns); };
    if (std::ranges::any_of(left, [&](const BoxPair& other) { return covers(other, box); })) continue;
    std::erase_if(left, [&](const BoxPair& other) { return covers(box, other); });
    left.push_back(box);
  }
  if (left.size() > most_boxes) left.clear();
  return left;
}

BoxPair own_token(Vertex height, Vertex width) {
  BoxPair own{SideMatrix(height), SideMatrix(width)};
  for (Vertex r = 0; r < height; ++r) own.rows.set(r, r);
  for (Vertex c = 0; c < width; ++c) own.columns.set(c, c);
  return own;
}

/// A row cut by grid rows: which columns there are in it, and in which grid rows just these.
struct Kind {
  std::set<Vertex> columns;
  std::vector<Vertex> rows;
};

/// By falling numbers of columns, no two of which are the same; nothing otherwise.
std::optional<std::vector<Kind>> split(const std::vector<Run>& row, Vertex width) {
  constexpr std::uint64_t most_read = std::uint64_t{1} << 21;
  std::map<Vertex, std::set<Vertex>> in_row;
  std::uint64_t count = 0;
  for (const Run& run : row) {
    if ((count += run.size()) > most_read) return std::nullopt;
    for (Vertex k = 0; k < run.size(); ++k) in_row[(run.first + k * run.step) / width].insert((run.first + k * run.step) % width);
  }
  std::vector<Kind> kinds;
  for (auto& [r, columns] : in_row) {
    const auto known = std::ranges::find_if(kinds, [&](const Kind& kind) { return kind.columns == columns; });
    if (known != kinds.end()) known->rows.push_back(r);
    else if (kinds.size() == most_kinds) return std::nullopt;
    else kinds.push_back({std::move(columns), {r}});
  }
  std::ranges::sort(kinds, [](const Kind& a, const Kind& b) { return a.columns.size() > b.columns.size(); });
  for (std::size_t k = 1; k < kinds.size(); ++k) {
    if (kinds[k].columns.size() == kinds[k - 1].columns.size()) return std::nullopt;
  }
  return kinds;
}

/// For each place how many of its places lie in front of each.
std::vector<std::vector<Vertex>> count_before(const SideMatrix& matrix) {
  std::vector<std::vector<Vertex>> before(matrix.side());
  for (Vertex from = 0; from < matrix.side(); ++from) {
    before[from].push_back(0);
    for (Vertex to = 0; to < matrix.side(); ++to) before[from].push_back(before[from].back() + (matrix.get(from, to) ? 1 : 0));
  }
  return before;
}

/// The rows of a relation: at (r, c) boxes whose grid rows are those of (r, 0) and whose columns are those of (0, c), no two with a grid row in common.
std::optional<std::vector<BoxPair>> find_boxes(const Pattern& pattern, Vertex height, Vertex width) {
  std::vector<Run> row;
  std::vector<BoxPair> boxes;
  for (Vertex k = 0; k < height + width; ++k) {
    poll();
    const bool down = k < height;
    pattern.row(down ? k * width : k - height, row);
    const auto kinds = split(row, width);
    if (!kinds || (k > 0 && kinds->size() != boxes.size())) return std::nullopt;
    if (k == 0) boxes.assign(kinds->size(), {SideMatrix(height), SideMatrix(width)});
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      if (down) {
        for (const Vertex to : (*kinds)[b].rows) boxes[b].rows.set(k, to);
      } else {
        for (const Vertex to : (*kinds)[b].columns) boxes[b].columns.set(k - height, to);
      }
    }
  }
  std::vector<std::vector<std::vector<Vertex>>> rows_before, columns_before;
  for (const BoxPair& box : boxes) {
    rows_before.push_back(count_before(box.rows));
    columns_before.push_back(count_before(box.columns));
  }
  for (Vertex r = 0; r < height; ++r) {
    poll();
    std::vector<std::size_t> box_at(height, boxes.size());  // by grid row
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      for (Vertex to = 0; to < height; ++to) {
        if (!boxes[b].rows.get(r, to)) continue;
        if (box_at[to] != boxes.size()) return std::nullopt;
        box_at[to] = b;
      }
    }
    for (Vertex c = 0; c < width; ++c) {
      pattern.row(r * width + c, row);
      // As many as in the boxes, and all of them there: just these.
      std::uint64_t members = 0, expected = 0;
      for (std::size_t b = 0; b < boxes.size(); ++b) expected += std::uint64_t{rows_before[b][r].back()} * columns_before[b][c].back();
      for (const Run& run : row) {
        members += run.size();
        const Vertex top = run.first / width, bottom = run.last / width;
        bool inside = true;
        if (run.step == width) {
          Vertex covered = 0;
          for (std::size_t b = 0; b < boxes.size(); ++b) {
            if (boxes[b].columns.get(c, run.first % width)) covered += rows_before[b][r][bottom + 1] - rows_before[b][r][top];
          }
          inside = covered == bottom - top + 1;
        } else if (run.step == 1) {
          for (Vertex to = top; to <= bottom && inside; ++to) {
            const Vertex left = to == top ? run.first % width : 0, right = to == bottom ? run.last % width : width - 1;
            inside = box_at[to] < boxes.size() && columns_before[box_at[to]][c][right + 1] - columns_before[box_at[to]][c][left] == right - left + 1;
          }
        } else {
          for (Vertex k = 0; k < run.size() && inside; ++k) {
            const Vertex j = run.first + k * run.step;
            inside = box_at[j / width] < boxes.size() && boxes[box_at[j / width]].columns.get(c, j % width);
          }
        }
        if (!inside) return std::nullopt;
      }
      if (members != expected) return std::nullopt;
    }
  }
  return boxes;
}

}  // namespace

bool SideMatrix::contains(const SideMatrix& other) const {
  for (std::size_t w = 0; w < bits_.size(); ++w) {
    if ((bits_[w] | other.bits_[w]) != bits_[w]) return false;
  }
  return true;
}

SideMatrix SideMatrix::times(const SideMatrix& right) const {
  SideMatrix product(side_);
  for (Vertex i = 0; i < side_; ++i) {
    for (Vertex j = 0; j < side_; ++j) {
      if (!get(i, j)) continue;
      for (std::size_t w = 0; w < words_; ++w) product.bits_[i * words_ + w] |= right.bits_[j * words_ + w];
    }
  }
  return product;
}

std::unique_ptr<Boxes> Boxes::find(const Layout& layout) {
  std::set<std::uint32_t> relations;
  for (const std::uint32_t l : std::set<std::uint32_t>(layout.order.begin(), layout.order.end())) relations.insert(layout.layers[l].begin(), layout.layers[l].end());
  std::set<Vertex> widths;
  std::vector<Run> row;
  for (const std::uint32_t r : relations) {
    layout.relations[r].pattern->row(0, row);
    for (const Run& run : row) {
      if (run.step > 1) widths.insert(run.step);
      else if (run.first <= 1) widths.insert({run.last, run.last + 1});  // behind the last of a grid row comes the first of the next
    }
  }
  for (const Vertex width : widths) {
    constexpr Vertex most_side = 2048;
    if (width < 2 || layout.tokens % width != 0 || layout.tokens / width < 2 || std::max(width, layout.tokens / width) > most_side) continue;
    // Token 0 has the boxes of all: where it shows but one by each relation, and layers have one relation, these are products (grid.cpp).
    const bool may_have_two = std::ranges::any_of(relations, [&](std::uint32_t r) {
      layout.relations[r].pattern->row(0, row);
      const auto kinds = split(row, width);
      return kinds && kinds->size() > 1;
    });
    if (!may_have_two && std::ranges::all_of(layout.order, [&](std::uint32_t l) { return layout.layers[l].size() < 2; })) continue;
    std::unique_ptr<Boxes> result(new Boxes(layout, width));
    std::map<std::uint32_t, std::vector<BoxPair>> of_relation;
    bool good = true;
    for (const std::uint32_t r : relations) {
      auto boxes = good ? find_boxes(*layout.relations[r].pattern, result->height_, width) : std::nullopt;
      good = boxes.has_value();
      if (good) of_relation.emplace(r, std::move(*boxes));
    }
    for (std::size_t q = 0; q < layout.order.size() && good; ++q) {
      const std::uint32_t l = layout.order[q];
      if (result->layers_.contains(l)) continue;
      std::vector<BoxPair> all{own_token(result->height_, width)};
      for (const std::uint32_t r : layout.layers[l]) all.insert(all.end(), of_relation.at(r).begin(), of_relation.at(r).end());
      good = !result->layers_.emplace(l, thin_out(all)).first->second.empty();
    }
    // Single boxes are products, which are asked side by side (grid.cpp).
    if (good && std::ranges::any_of(result->layers_, [](const auto& layer) { return layer.second.size() > 1; })) return result;
  }
  return nullptr;
}

bool Boxes::takes(const Layout& layout, const ReachQuestion& question) {
  return layout.registers == 0 && !layout.order.empty() && question.kind != ClassKind::causal && question.sets == nullptr && question.weight == nullptr;
}

/// What is seen after each layer.
class Boxes::Walk {
public:
  Walk(const Boxes& grid, const ReachQuestion& question) : grid_(grid), question_(question), seen_{own_token(grid.height_, grid.width_)}, before_(seen_) { count = count_seen(); }

  std::vector<Vertex> count;  ///< by token: how many of those that count it sees

  [[nodiscard]] bool sees(Vertex i, Vertex j) const { return hold(seen_, i, j); }

  /// Calls visit(q) after each layer that shows more, until it says false, nothing changes any more, or `depth`. False: given up.
  template <class Visit>
  bool run(std::uint64_t depth, const Visit& visit) {
    bool gave_up = false;
    go_through_layers(grid_.layout_, question_.skip, depth, [&](std::uint32_t l) {
      if (gave_up) return false;
      std::vector<BoxPair> more;
      for (const BoxPair& read : grid_.layers_.at(l)) {
        for (const BoxPair& box : seen_) {
          poll();
          constexpr std::uint64_t most_work = std::uint64_t{1} << 32;
          work_ += std::uint64_t{grid_.height_} * grid_.height_ * box.rows.words() + std::uint64_t{grid_.width_} * grid_.width_ * box.columns.words();
          if ((gave_up = work_ > most_work)) return false;
          more.push_back({read.rows.times(box.rows), read.columns.times(box.columns)});
        }
      }
      more = thin_out(more);
      if ((gave_up = more.empty())) return false;
      before_ = seen_;
      seen_ = std::move(more);
      std::vector<Vertex> now = count_seen();  // of views that only grow
      const bool grown = now != count;
      count = std::move(now);
      return grown;
    }, visit);
    return !gave_up;
  }

  /// The least token that misses one from `least` on.
  [[nodiscard]] std::optional<std::pair<Vertex, Vertex>> missing(Vertex least) const {
    const Vertex tokens = grid_.layout_.tokens;
    for (Vertex i = 0; i < tokens; ++i) {
      for (Vertex j = least; count[i] < tokens - least && j < tokens; ++j) {
        if (!sees(i, j)) return std::pair{i, j};
      }
    }
    return std::nullopt;
  }

  /// Does i see j now, and not before the last layer?
  [[nodiscard]] bool is_new(Vertex i, Vertex j) const {
    return !hold(before_, i, j) && sees(i, j);
  }

private:
  [[nodiscard]] bool hold(const std::vector<BoxPair>& boxes, Vertex i, Vertex j) const {
    const Vertex width = grid_.width_;
    return std::ranges::any_of(boxes, [&](const BoxPair& box) { return box.rows.get(i / width, j / width) && box.columns.get(i % width, j % width); });
  }

  const Boxes& grid_;
  const ReachQuestion& question_;
  std::vector<BoxPair> seen_, before_;
  std::uint64_t work_ = 0;

  /// By token how many it sees, without token 0 where that one does not count.
  [[nodiscard]] std::vector<Vertex> count_seen() const {
    const Vertex width = grid_.width_, height = grid_.height_;
    const std::uint32_t all = 1U << seen_.size();
    // How many columns some of the boxes have together.
    std::vector<std::vector<Vertex>> together(all, std::vector<Vertex>(width, 0));
    for (std::uint32_t some = 1; some < all; ++some) {
      for (Vertex c = 0; c < width; ++c) {
        std::vector<std::uint64_t> joined(seen_.front().columns.words(), 0);
        for (std::size_t b = 0; b < seen_.size(); ++b) {
          if ((some >> b & 1) != 0) seen_[b].columns.join_row(c, joined);
        }
        for (const std::uint64_t word : joined) together[some][c] += static_cast<Vertex>(std::popcount(word));
      }
    }
    std::vector<Vertex> result(grid_.layout_.tokens, 0);
    for (Vertex r = 0; r < height; ++r) {
      poll();
      std::map<std::uint32_t, Vertex> rows;  // which boxes hold a grid row: how many of those
      for (Vertex to = 0; to < height; ++to) {
        std::uint32_t some = 0;
        for (std::size_t b = 0; b < seen_.size(); ++b) some |= seen_[b].rows.get(r, to) ? 1U << b : 0;
        ++rows[some];
      }
      for (const auto& [some, number] : rows) {
        for (Vertex c = 0; c < width; ++c) result[r * width + c] += number * together[some][c];
      }
    }
    for (Vertex i = 0; question_.ordinary_only && i < result.size(); ++i) result[i] -= sees(i, 0) ? 1 : 0;
    return result;
  }
};

std::optional<Reach> Boxes::layers(const ReachQuestion& question) const {
  Walk walk(*this, question);
  const Vertex least = question.ordinary_only ? 1 : 0;
  Reach result{0, {}};
  if (question.kind == ClassKind::seen) {
    std::vector<Vertex> before = walk.count;
    const bool ended = walk.run(never, [&](std::uint64_t q) {
      const auto i = static_cast<Vertex>(std::ranges::mismatch(walk.count, before).in1 - walk.count.begin());
      Vertex j = least;
      while (!walk.is_new(i, j)) ++j;
      result = {q, std::pair{i, j}};
      before = walk.count;
      return true;
    });
    return ended ? std::optional(result) : std::nullopt;
  }
  auto missed = walk.missing(least);
  if (!missed) return result;
  const bool ended = walk.run(never, [&](std::uint64_t q) {
    result = {q, missed};
    missed = walk.missing(least);
    return missed.has_value();
  });
  if (!ended) return std::nullopt;
  return missed ? Reach{std::nullopt, missed} : result;
}

std::optional<Unseen> Boxes::unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) const {
  const auto go_on = [](std::uint64_t) { return true; };
  Walk walk(*this, question), ever(*this, question);
  const bool seen = question.kind == ClassKind::seen;
  if (!walk.run(depth.value_or(never), go_on) || (seen && !ever.run(never, go_on))) return std::nullopt;
  const Vertex least = question.ordinary_only ? 1 : 0, tokens = layout_.tokens;
  Unseen result{std::vector<Vertex>(tokens), {}};
  for (Vertex i = 0; i < tokens; ++i) {
    result.count[i] = (seen ? ever.count[i] : tokens - least) - walk.count[i];
    for (Vertex j = least; result.count[i] > 0 && !result.first; ++j) {
      if (!walk.sees(i, j) && (!seen || ever.sees(i, j))) result.first = std::pair{i, j};
    }
  }
  return result;
}

}  // namespace checker

// Layouts on a grid whose rows are products: what token (r, c) reads is A(r) x B(c). Then views are products too.
#include <algorithm>
#include <cmath>
#include <map>

#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

using Axis = std::vector<ReadRange>;

void sort_axis(Axis& axis) {
  const auto before = [](const ReadRange& a, const ReadRange& b) {
    return a.first != b.first ? a.first < b.first : a.last != b.last ? a.last < b.last : a.step < b.step;
  };
  if (!std::is_sorted(axis.begin(), axis.end(), before)) std::sort(axis.begin(), axis.end(), before);
  // One way to write a set: neighbours of equal gaps joined, as far as it goes from the left.
  std::size_t kept = 0;
  for (const ReadRange range : axis) {
    if (kept > 0 && range.step == 1 && axis[kept - 1].step == 1 && range.first <= axis[kept - 1].last + 1) {
      axis[kept - 1].last = std::max(axis[kept - 1].last, range.last);
    } else {
      axis[kept++] = range;
    }
  }
  axis.resize(kept);
}

// One layer split along width w: what grid row r reads of grid rows, what column c reads of columns; the own place included.
struct Factors {
  std::vector<Axis> down, across;  // by r, by c
};

class Splitter {
public:
  Splitter(const ReadLayer& layer, Vertex width, Vertex height, const Budget& budget)
      : layer_(layer), width_(width), budget_(budget) {
    factors_.down.resize(height);
    factors_.across.resize(width);
  }

  // False when some row is not the product that other tokens of its grid row and column have led to expect.
  bool run() {
    for (const ReadGroup& group : layer_.groups) {
      for (Vertex i = group.begin; i < group.end; ++i) {
        budget_.poll();
        if (!take(group, i)) return false;
      }
    }
    return true;
  }

  Factors result() && { return std::move(factors_); }

private:
  struct Piece {
    Vertex row_first, row_last;
    ReadRange columns;
  };

  bool take(const ReadGroup& group, Vertex i) {
    pieces_.clear();
    const Vertex r = i / width_, c = i % width_;
    for (const ReadRange& range : layer_.row(group)) {
      if (!cut(range)) return false;
    }
    const auto before = [](const Piece& a, const Piece& b) { return a.row_first != b.row_first ? a.row_first < b.row_first : a.columns.first < b.columns.first; };
    if (!std::is_sorted(pieces_.begin(), pieces_.end(), before)) std::sort(pieces_.begin(), pieces_.end(), before);
    // The columns read in the first grid row there is; every other one must say the same.
    down_.clear();
    across_.clear();
    for (std::size_t begin = 0; begin < pieces_.size();) {
      std::size_t end = begin;
      here_.clear();
      for (; end < pieces_.size() && pieces_[end].row_first == pieces_[begin].row_first; ++end) {
        if (pieces_[end].row_last != pieces_[begin].row_last) return false;
        here_.push_back(pieces_[end].columns);
      }
      if (end < pieces_.size() && pieces_[end].row_first <= pieces_[begin].row_last) return false;
      sort_axis(here_);
      if (begin == 0) across_ = here_;
      else if (across_ != here_) return false;
      down_.push_back({pieces_[begin].row_first, pieces_[begin].row_last, 1});
      begin = end;
    }
    // A row with the own token added must be a product as well: it is when the own place lies in both factors, or when
    // nothing at all is read beside it in one of them.
    if (pieces_.empty()) {
      down_.push_back({r, r, 1});
      across_.push_back({c, c, 1});
    }
    sort_axis(down_);
    const bool has_row = contains(down_, r), has_column = contains(across_, c);
    const auto is_own = [](const Axis& axis, Vertex x) { return axis.size() == 1 && axis.front() == ReadRange{x, x, 1}; };
    if (!has_row && is_own(across_, c)) {
      down_.push_back({r, r, 1});
      sort_axis(down_);
    } else if (!has_column && is_own(down_, r)) {
      across_.push_back({c, c, 1});
      sort_axis(across_);
    } else if (!has_row || !has_column) {
      return false;
    }
    Axis& down = factors_.down[r];
    Axis& across = factors_.across[c];
    if (c == 0) down = down_;
    if (r == 0) across = across_;
    return down == down_ && across == across_;
  }

  static bool contains(const Axis& axis, Vertex x) {
    return std::any_of(axis.begin(), axis.end(), [x](const ReadRange& a) { return x >= a.first && x <= a.last && (x - a.first) % a.step == 0; });
  }

  bool cut(const ReadRange& range) {
    const Vertex from = range.first / width_, to = range.last / width_, left = range.first % width_, right = range.last % width_;
    if (from == to) {
      pieces_.push_back({from, from, {left, right, left == right ? 1 : range.step}});
      return true;
    }
    if (range.step == width_) {
      pieces_.push_back({from, to, {left, left, 1}});
      return true;
    }
    if (range.step % width_ == 0) {
      for (Vertex row = from; row <= to; row += range.step / width_) pieces_.push_back({row, row, {left, left, 1}});
      return pieces_.size() <= most_pieces;
    }
    if (range.step == 1 && left == 0 && right + 1 == width_) {
      pieces_.push_back({from, to, {0, width_ - 1, 1}});
      return true;
    }
    // A row of windows that goes over the edge is no product; short ones are cut, the comparison decides.
    if (to - from > 4) return false;
    if (range.step != 1) return false;
    for (Vertex row = from; row <= to; ++row) pieces_.push_back({row, row, {row == from ? left : 0, row == to ? right : width_ - 1, 1}});
    return true;
  }

  static constexpr std::size_t most_pieces = 4096;
  const ReadLayer& layer_;
  Vertex width_;
  const Budget& budget_;
  Factors factors_;
  std::vector<Piece> pieces_;
  Axis down_, across_, here_;
};

// Widths that the rows of a layer suggest: steps, distances between ranges, lengths; those near the square root first.
std::vector<Vertex> list_widths(const ReadLayers& layers, Vertex tokens) {
  std::map<Vertex, int> votes;
  for (const auto& read : layers) {
    const ReadLayer& layer = *read;
    const std::size_t count = layer.groups.size();
    for (std::size_t k = 0; k < std::min<std::size_t>(count, 16); ++k) {
      const ReadGroup& group = layer.groups[count * (2 * k + 1) / 32];
      std::size_t left = 16;
      const ReadRange* before = nullptr;
      for (const ReadRange& range : layer.row(group)) {
        if (left-- == 0) break;
        if (range.step > 1) ++votes[range.step];
        else ++votes[range.last - range.first + 1];
        if (before != nullptr) ++votes[range.first - before->first];
        before = &range;
      }
    }
  }
  std::vector<Vertex> widths;
  for (const auto& [width, votes_for_it] : votes) {
    if (width > 1 && width < tokens && tokens % width == 0) widths.push_back(width);
  }
  const double root = std::log(std::sqrt(static_cast<double>(tokens)));
  std::stable_sort(widths.begin(), widths.end(), [root](Vertex a, Vertex b) {
    return std::abs(std::log(static_cast<double>(a)) - root) < std::abs(std::log(static_cast<double>(b)) - root);
  });
  if (widths.size() > 6) widths.resize(6);
  return widths;
}

layout::Pattern to_pattern(const std::vector<Axis>& axes, const Budget& budget) {
  layout::PatternBuilder builder(static_cast<Vertex>(axes.size()), budget);
  std::vector<layout::AffineRun> runs;
  for (Vertex i = 0; i < axes.size(); ++i) {
    runs.clear();
    for (const ReadRange& range : axes[i]) {
      runs.push_back(layout::make_constant_run(range.first, range.last));
      runs.back().step = range.step;
    }
    builder.add_segment(i, builder.add_list_once(runs));
  }
  return builder.build();
}

std::shared_ptr<const GridFactors> make_grid_factors(const Layout& layout, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty()) return nullptr;
  const std::vector<bool> used = layout.used_layers();
  const ReadLayers layers = find_read_layers(layout, budget);
  for (const Vertex width : list_widths(layers, layout.tokens)) {
    const Vertex height = layout.tokens / width;
    auto grid = std::make_shared<GridFactors>();
    grid->width = width;
    grid->down.tokens = height;
    grid->across.tokens = width;
    bool splits = true;
    for (std::size_t l = 0; l < layers.size() && splits; ++l) {
      Splitter splitter(*layers[l], width, height, budget);
      splits = !used[l] || splitter.run();
      if (!splits) break;
      const Factors factors = std::move(splitter).result();
      for (Layout* part : {&grid->down, &grid->across}) {
        part->layers.push_back({{static_cast<std::uint32_t>(part->relations.size())}});
        part->relations.emplace_back(to_pattern(part == &grid->down ? factors.down : factors.across, budget), layout::Relative{}, layout::Cancels::nothing, part->tokens);
      }
    }
    if (!splits) continue;
    grid->down.vertex_colour.assign(height, 0);
    grid->across.vertex_colour.assign(width, 0);
    grid->down.order = grid->across.order = layout.order;
    return grid;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const GridFactors> find_grid_factors(const Layout& layout, const Budget& budget) {
  ReachMemory::Entry* memory = ReachMemory::find(layout);
  if (memory == nullptr) return make_grid_factors(layout, budget);
  if (!memory->has_grid) {
    memory->grid = make_grid_factors(layout, budget);
    memory->has_grid = true;
    if (memory->grid) memory->read_layers.clear();  // the factors answer what follows
  }
  return memory->grid;
}

bool knows_grid(const Layout& layout) {
  const ReachMemory::Entry* memory = ReachMemory::find(layout);
  return memory != nullptr && memory->grid != nullptr;
}

// R_q[(r,c)] = D_q[r] x C_q[c] by induction, where D and C are the views of the two factors: a union of products
// D[r'] x C[c'] over all r' in A(r) and c' in B(c) is the product of the two unions. So both factors are asked, with all
// layers in order, and (r,c) misses something exactly as long as one of them does.
std::optional<ReachAnswer> answer_by_grid(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (question.wanted.kind == ClassKind::causal || (question.wanted.kind == ClassKind::seen && question.count_unseen) || question.wanted.ordinary_only) return std::nullopt;
  const std::shared_ptr<const GridFactors> grid = find_grid_factors(layout, budget);
  if (!grid) return std::nullopt;
  const Vertex width = grid->width, height = grid->down.tokens;
  ReachQuestion rows = question, columns = question;
  rows.layout = &grid->down;
  columns.layout = &grid->across;
  const ReachAnswer by_row = answer_reach(rows, budget), by_column = answer_reach(columns, budget);
  ReachAnswer answer;
  if (question.count_unseen) {
    answer.unseen.resize(layout.tokens);
    for (Vertex r = 0; r < height; ++r) {
      for (Vertex c = 0; c < width; ++c) answer.unseen[r * width + c] = layout.tokens - (height - by_row.unseen[r]) * (width - by_column.unseen[c]);
    }
  }
  if (question.find_layers) {
    // The factor that takes longer (or never gets there) decides, and its witness is one of the whole.
    const auto later = [](const std::optional<std::uint64_t>& a, const std::optional<std::uint64_t>& b) { return b && (!a || *a >= *b); };
    const bool by_rows = later(by_row.reach.layers, by_column.reach.layers) || !by_row.reach.layers;
    answer.reach = by_rows ? by_row.reach : by_column.reach;
    if (answer.reach.witness) {
      UnreachablePair& pair = *answer.reach.witness;
      const Vertex scale = by_rows ? width : 1;
      pair = {pair.reader * scale, pair.unseen * scale};
    }
  }
  return answer;
}

}  // namespace sightline::sight

// Layouts on a grid whose rows are products: what token (r, c) reads is A(r) x B(c). Then views are products too.
#include <algorithm>
#include <cmath>
#include <map>

#include "sightline/layout/moving_rows.hpp"
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

/// A layer of one head whose rows stay or move along, in few stretches of readers: nothing has to be written down for each of them (docs/theory.md 16.66).
class MovingLayer {
public:
  /// Nothing where rows are of another kind, or where most readers have a stretch of their own.
  static std::optional<MovingLayer> make(const Layout& layout, const layout::Layer& layer) {
    if (layer.relations.size() != 1) return std::nullopt;
    const layout::Pattern& pattern = layout.relations[layer.relations.front()].pattern();
    if (pattern.segments().size() * 2 > pattern.vertex_count()) return std::nullopt;
    const auto& runs = pattern.affine_runs();
    // Lists of both kinds of runs have stretches of their own (layout/steady_rows.hpp).
    const auto is_of_one_kind = [&](const layout::Pattern::RunList& list) {
      const auto moves = [](const layout::AffineRun& run) { return run.lo_moves && run.hi_moves && !run.floor_moves; };
      const auto do_all = [&](std::uint32_t begin, std::uint32_t count) { return std::all_of(runs.begin() + begin, runs.begin() + begin + count, moves); };
      return do_all(list.runs_begin, list.runs_count) && do_all(list.shared_begin, list.shared_count);
    };
    for (std::uint32_t list = 0; list < pattern.lists().size(); ++list) {
      if (!pattern.is_constant(list) && !is_of_one_kind(pattern.lists()[list])) return std::nullopt;
    }
    MovingLayer found(pattern);
    const std::size_t most = pattern.vertex_count() / 2;
    const bool few = layout::visit_stretches(pattern, [&](Vertex begin, Vertex end, bool moves) {
      found.stretches_.push_back({begin, end, moves, !moves && pattern.is_constant(pattern.list_of(begin))});
      return found.stretches_.size() <= most;
    });
    if (!few) return std::nullopt;
    return found;
  }

  struct Stretch {
    Vertex begin, end;
    bool moves;
    bool is_constant;  ///< readers of this list have one row, wherever they stand
  };
  [[nodiscard]] const std::vector<Stretch>& stretches() const { return stretches_; }
  [[nodiscard]] std::size_t lists() const { return pattern_->lists().size(); }
  [[nodiscard]] std::uint32_t list_of(Vertex i) const { return pattern_->list_of(i); }

  void row(Vertex i, Axis& out) const {
    pattern_->row(i, runs_);
    out.clear();
    for (const layout::Run& run : runs_) out.push_back({run.first, run.last, run.step});
    tidy(out);
  }

private:
  explicit MovingLayer(const layout::Pattern& pattern) : pattern_(&pattern) {}
  const layout::Pattern* pattern_;
  mutable std::vector<layout::Run> runs_;
  std::vector<Stretch> stretches_;
};

/// A layer by whichever is shorter.
struct GridLayer {
  std::shared_ptr<const ReadLayer> read;
  std::optional<MovingLayer> moving;
};

class Splitter {
public:
  Splitter(const GridLayer& layer, Vertex width, Vertex height, const Budget& budget)
      : layer_(layer), width_(width), budget_(budget) {
    factors_.down.resize(height);
    factors_.across.resize(width);
  }

  // False when some row is not the product that other tokens of its grid row and column have led to expect.
  bool run() {
    if (layer_.moving) return run_by_stretches();
    for (const ReadGroup& group : layer_.read->groups) {
      const ReadLayer::Row row = layer_.read->row(group);
      for (Vertex i = group.begin; i < group.end; ++i) {
        budget_.poll();
        if (!take(row, i)) return false;
      }
    }
    return true;
  }

  Factors result() && { return std::move(factors_); }

  /// Is what reader i reads, with himself, a product?
  bool is_product(const Axis& row, Vertex i) { return make_axes(row, i); }

private:
  struct Piece {
    Vertex row_first, row_last;
    ReadRange columns;
  };

  bool run_by_stretches() {
    Axis row;
    for (const MovingLayer::Stretch& stretch : layer_.moving->stretches()) {
      if (!stretch.moves && stretch.is_constant) {
        if (!take_stretch(stretch, row)) return false;
        continue;
      }
      layer_.moving->row(stretch.begin, row);
      for (Vertex i = stretch.begin, next = i; i < stretch.end; i = next) {
        budget_.poll();
        if (!stretch.moves) {
          next = i + 1;
          if (!take(row, i)) return false;
          continue;
        }
        if (!make_axes(row, i)) return false;
        // On one row of the grid, until the last column that is read comes to its edge, the columns move along and the grid rows stay.
        Vertex last = 0;
        for (const ReadRange& range : across_) last = std::max(last, range.last);
        next = std::min({stretch.end, i + (width_ - i % width_), i + (width_ - last)});
        if (!keep_moving(i, next - i)) return false;
        for (ReadRange& range : row) {
          range.first += next - i;
          range.last += next - i;
        }
      }
    }
    return true;
  }

  /// What reader i of these rows makes of the axes.
  bool take(const auto& row, Vertex i) { return make_axes(row, i) && agree(i, down_, across_); }

  bool agree(Vertex i, const Axis& reads_down, const Axis& reads_across) {
    const Vertex r = i / width_, c = i % width_;
    Axis& down = factors_.down[r];
    Axis& across = factors_.across[c];
    if (c == 0) down = reads_down;
    if (r == 0) across = reads_across;
    return down == reads_down && across == reads_across;
  }

  /// Readers that have one row: split once, and once for all stretches of the same list.
  bool take_stretch(const MovingLayer::Stretch& stretch, Axis& row) {
    if (by_list_.empty()) by_list_.resize(layer_.moving->lists());
    auto& known = by_list_[layer_.moving->list_of(stretch.begin)];
    if (!known) {
      layer_.moving->row(stretch.begin, row);
      if (!split(row)) return false;
      known.emplace(down_, across_);
    }
    const auto& [down, across] = *known;
    for (Vertex i = stretch.begin, next = i; i < stretch.end; i = next) {
      budget_.poll();
      const Vertex r = i / width_;
      next = std::min(stretch.end, (r + 1) * width_);  // on one row of the grid
      bool is_inside = contains(down, r);
      for (Vertex c = i % width_; c < i % width_ + (next - i) && is_inside; ++c) is_inside = contains(across, c);
      if (!is_inside) {
        for (; i < next; ++i) {
          down_ = down;
          across_ = across;
          if (!add_own(i) || !agree(i, down_, across_)) return false;
        }
        continue;
      }
      if (!agree(i, down, across)) return false;
      for (Vertex c = i % width_ + 1; c < i % width_ + (next - i); ++c) {
        Axis& here = factors_.across[c];
        if (r == 0) here = across;
        if (here != across) return false;
      }
    }
    return true;
  }

  /// The same for so many readers on one row of the grid, whose columns move along.
  bool keep_moving(Vertex i, Vertex length) {
    const Vertex r = i / width_, c = i % width_;
    Axis& down = factors_.down[r];
    if (c == 0) down = down_;
    if (down != down_) return false;
    if (r == 0) {
      for (Vertex k = 0; k < length; ++k) {
        Axis& across = factors_.across[c + k] = across_;
        for (ReadRange& range : across) {
          range.first += k;
          range.last += k;
        }
      }
      return true;
    }
    if (moves_until_.empty()) {
      moves_until_.resize(width_);
      for (Vertex x = width_; x-- > 0;) {
        moves_until_[x] = x + 1 < width_ && is_moved(factors_.across[x], factors_.across[x + 1], 1) ? moves_until_[x + 1] : x + 1;
      }
    }
    for (Vertex x = c; x < c + length; x = moves_until_[x]) {
      if (!is_moved(across_, factors_.across[x], x - c)) return false;
    }
    return true;
  }

  static bool is_moved(const Axis& from, const Axis& to, Vertex by) {
    return std::equal(from.begin(), from.end(), to.begin(), to.end(), [by](const ReadRange& a, const ReadRange& b) { return ReadRange{a.first + by, a.last + by, a.step} == b; });
  }

  /// Leaves the grid rows and columns that reader i reads; false when what he reads, with himself, is not their product.
  bool make_axes(const auto& ranges, Vertex i) { return split(ranges) && add_own(i); }

  /// The grid rows and columns of a row; false when it is not their product.
  bool split(const auto& ranges) {
    pieces_.clear();
    for (const ReadRange& range : ranges) {
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
    sort_axis(down_);
    return true;
  }

  /// A row with the own token added must be a product as well: it is when the own place lies in both factors, or when nothing at all is read beside it in one of them.
  bool add_own(Vertex i) {
    const Vertex r = i / width_, c = i % width_;
    if (down_.empty()) {
      down_.push_back({r, r, 1});
      across_.push_back({c, c, 1});
    }
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
    return true;
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
  const GridLayer& layer_;
  Vertex width_;
  const Budget& budget_;
  Factors factors_;
  std::vector<std::optional<std::pair<Axis, Axis>>> by_list_;  // what rows of a constant list read down and across
  std::vector<Vertex> moves_until_;  // by column, once the first row of the grid is known: the end of those whose columns move along
  std::vector<Piece> pieces_;
  Axis down_, across_, here_;
};

/// Widths that rows suggest: steps, distances between ranges, lengths; those near the square root first.
class WidthVotes {
public:
  void take(const auto& row) {
    std::size_t left = 16;
    std::optional<Vertex> before;
    for (const ReadRange& range : row) {
      if (left-- == 0) break;
      if (range.step > 1) ++votes_[range.step];
      else ++votes_[range.last - range.first + 1];
      if (before) ++votes_[range.first - *before];
      before = range.first;
    }
  }

  [[nodiscard]] std::vector<Vertex> choose(Vertex tokens) const {
    std::vector<Vertex> widths;
    for (const auto& [width, votes_for_it] : votes_) {
      if (width > 1 && width < tokens && tokens % width == 0) widths.push_back(width);
    }
    const double root = std::log(std::sqrt(static_cast<double>(tokens)));
    std::stable_sort(widths.begin(), widths.end(), [root](Vertex a, Vertex b) {
      return std::abs(std::log(static_cast<double>(a)) - root) < std::abs(std::log(static_cast<double>(b)) - root);
    });
    if (widths.size() > 6) widths.resize(6);
    return widths;
  }

private:
  std::map<Vertex, int> votes_;
};

/// Widths that a few rows of the layers suggest and along which these rows are products. Before anything is written down for all readers: relabelled and random
/// rows are mostly single vertices, and many.
std::vector<Vertex> list_widths(const Layout& layout, const std::vector<bool>& used, const Budget& budget) {
  constexpr std::size_t rows_asked = 16;
  WidthVotes votes;
  std::vector<std::pair<Vertex, Axis>> rows;
  std::vector<layout::Run> runs;
  for (std::size_t l = 0; l < used.size(); ++l) {
    for (std::size_t k = 0; k < rows_asked && used[l]; ++k) {
      const auto i = static_cast<Vertex>(std::uint64_t{layout.tokens} * (2 * k + 1) / (2 * rows_asked));
      Axis& row = rows.emplace_back(i, Axis{}).second;
      for (const std::uint32_t r : layout.layers[l].relations) {
        layout.relations[r].pattern().row(i, runs);
        for (const layout::Run& run : runs) row.push_back({run.first, run.last, run.step});
      }
      tidy(row);
      votes.take(row);
    }
  }
  std::vector<Vertex> widths = votes.choose(layout.tokens);
  const GridLayer nothing;
  std::erase_if(widths, [&](Vertex width) {
    Splitter splitter(nothing, width, layout.tokens / width, budget);
    return !std::all_of(rows.begin(), rows.end(), [&](const auto& row) { return splitter.is_product(row.second, row.first); });
  });
  return widths;
}

layout::Pattern to_pattern(const std::vector<Axis>& axes, const Budget& budget) {
  layout::PatternBuilder builder(static_cast<Vertex>(axes.size()), budget);
  std::vector<layout::AffineRun> runs;
  std::vector<ReadRange> row;
  for (Vertex i = 0; i < axes.size(); ++i) {
    runs.clear();
    row = axes[i];
    make_disjoint(row);
    for (const ReadRange& range : row) {
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
  const std::vector<Vertex> widths = list_widths(layout, used, budget);
  if (widths.empty()) return nullptr;
  std::vector<GridLayer> layers(layout.layers.size());
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (used[l]) layers[l].moving = MovingLayer::make(layout, layout.layers[l]);
    if (!layers[l].moving) layers[l].read = used[l] ? find_read_layer(layout, l, budget) : std::make_shared<const ReadLayer>();
  }
  for (const Vertex width : widths) {
    const Vertex height = layout.tokens / width;
    auto grid = std::make_shared<GridFactors>();
    grid->width = width;
    grid->down.tokens = height;
    grid->across.tokens = width;
    bool splits = true;
    for (std::size_t l = 0; l < layers.size() && splits; ++l) {
      Splitter splitter(layers[l], width, height, budget);
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

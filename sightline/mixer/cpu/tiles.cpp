#include "sightline/mixer/cpu/tiles.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <span>

namespace sightline::mixer::cpu {
namespace {

// Rough costs in cycles at width 64, only to choose between ways that all give the same sums.
constexpr double vector_cost = 140, arc_cost = 30, row_cost = 60;
constexpr int lanes = 16; // of the widest vectors; others choose alike

/// Readers first .. last - 1 with the same runs.
struct SameRows {
  std::int64_t first = 0, last = 0;
  std::size_t runs_begin = 0, runs_end = 0;
  std::int64_t arcs = 0;                   // per reader
  const layout::Vertex* written = nullptr; // instead of runs: the reads, as the pattern holds them (random links)
  [[nodiscard]] std::size_t size() const {
    return written != nullptr ? static_cast<std::size_t>(arcs) : runs_end - runs_begin;
  }
};

struct PlainRun {
  std::int32_t first = 0, last = 0, step = 1;
};

class TileCompiler {
public:
  TileCompiler(const Plan& plan, std::size_t relation, Cut cut, const std::vector<std::uint32_t>* classes, Tiles& out)
      : plan_(plan), relation_(relation), cut_(cut), classes_(classes), out_(out) {}

  void run() {
    read_rows();
    if (cut_ == Cut::best)
      find_lone_rows();
    for (std::int64_t i = 0; i < plan_.readers();)
      i = next_tile(i);
    order_tiles();
    find_turns(out_, plan_.reads());
    finish_rows(out_, plan_.reads());
  }

private:
  void read_rows() {
    const layout::Relation* const relation = plan_.relation(relation_);
    std::vector<layout::ColouredRun> coloured;
    std::vector<layout::Run> plain;
    if (relation != nullptr) { // pages are not touched twice
      runs_.reserve(relation->pattern().affine_runs().size());
      out_.rows.columns.reserve(relation->pattern().written_vertices().size());
      groups_.reserve(relation->pattern().segments().size());
    }
    for (std::int64_t i = 0; i < plan_.readers();) {
      SameRows group;
      group.first = i;
      group.runs_begin = runs_.size();
      const auto add = [&](const auto& run) {
        runs_.push_back({static_cast<std::int32_t>(run.first), static_cast<std::int32_t>(run.last),
                         static_cast<std::int32_t>(run.step)});
        group.arcs += run.size();
      };
      if (relation != nullptr) { // without colours, which split runs
        const layout::Pattern& pattern = relation->pattern();
        const auto reader = static_cast<layout::Vertex>(i);
        const std::span<const layout::Vertex> written = pattern.written(pattern.lists()[pattern.list_of(reader)]);
        if (written.empty()) {
          pattern.row(reader, plain);
          std::for_each(plain.begin(), plain.end(), add);
        } else {
          group.written = written.data();
          group.arcs = static_cast<std::int64_t>(written.size());
        }
        group.last = pattern.same_row_until(reader);
      } else {
        plan_.row(relation_, i, coloured);
        std::for_each(coloured.begin(), coloured.end(), add);
        group.last = plan_.is_full(relation_) ? plan_.readers() : plan_.same_row_until(relation_, i);
      }
      group.runs_end = runs_.size();
      out_.arcs += group.arcs * (group.last - group.first);
      i = group.last;
      groups_.push_back(group);
    }
  }

  template <class Function> void for_runs(const SameRows& group, Function f) const {
    if (group.written != nullptr) {
      for (std::int64_t k = 0; k < group.arcs; ++k) {
        const auto read = static_cast<std::int32_t>(group.written[k]);
        f(PlainRun{read, read, 1});
      }
      return;
    }
    for (std::size_t r = group.runs_begin; r < group.runs_end; ++r)
      f(runs_[r]);
  }

  // A row far longer than most, alone among its neighbours (a global token), would make its whole tile read what it
  // reads.
  void find_lone_rows() {
    std::vector<std::int64_t> degrees;
    for (const SameRows& group : groups_)
      degrees.push_back(group.arcs);
    if (degrees.size() < 3)
      return;
    std::nth_element(degrees.begin(), degrees.begin() + static_cast<std::ptrdiff_t>(degrees.size() / 2), degrees.end());
    const std::int64_t limit = 4 * degrees[degrees.size() / 2];
    std::vector<std::int64_t> found;
    for (const SameRows& group : groups_) {
      if (group.arcs > limit && group.last - group.first <= 8) {
        for (std::int64_t i = group.first; i < group.last; ++i)
          found.push_back(i);
      }
    }
    for (std::size_t k = 0; k < found.size(); ++k) {
      const auto near = [&](std::int64_t from, std::int64_t to) {
        return std::upper_bound(found.begin(), found.end(), to) - std::lower_bound(found.begin(), found.end(), from);
      };
      if (near(found[k] - 32, found[k] + 32) <= 8)
        lone_.push_back(found[k]);
    }
  }

  [[nodiscard]] std::size_t group_of(std::int64_t reader) const {
    return static_cast<std::size_t>(
               std::upper_bound(groups_.begin(), groups_.end(), reader,
                                [](std::int64_t i, const SameRows& group) { return i < group.first; }) -
               groups_.begin()) -
           1;
  }

  /// Segments of the readers first .. last - 1, by rising column; returns their cost.
  double find_segments(std::int64_t first, std::int64_t last, std::vector<Segment>& out) {
    events_.clear();
    for (std::size_t g = group_of(first); g < groups_.size() && groups_[g].first < last; ++g) {
      const SameRows& group = groups_[g];
      const std::int64_t begin = std::max(first, group.first) - first, end = std::min(last, group.last) - first;
      const std::uint64_t mask = (end - begin == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - begin)) - 1)
                                 << begin;
      for_runs(group, [&](const PlainRun& run) {
        if (run.step == 1) {
          events_.push_back({run.first, mask});
          events_.push_back({run.last + 1, mask});
        } else {
          for (std::int64_t j = run.first; j <= run.last; j += run.step) {
            events_.push_back({j, mask});
            events_.push_back({j + 1, mask});
          }
        }
      });
    }
    sort_events();
    out.clear();
    const std::uint64_t all = last - first == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (last - first)) - 1;
    const double full_vectors = static_cast<double>((last - first + lanes - 1) / lanes);
    double cost = 0;
    std::uint64_t mask = 0;
    for (std::size_t e = 0; e < events_.size();) {
      const std::int64_t at = events_[e].column;
      for (; e < events_.size() && events_[e].column == at; ++e)
        mask ^= events_[e].mask;
      if (mask == 0 || e == events_.size())
        continue;
      const std::int64_t count = events_[e].column - at;
      if (!out.empty() && out.back().mask == mask && out.back().first + out.back().count == at) {
        out.back().count += static_cast<std::int32_t>(count);
      } else {
        out.push_back({static_cast<std::int32_t>(at), static_cast<std::int32_t>(count), mask});
      }
      const int vectors = (63 - std::countl_zero(mask)) / lanes - std::countr_zero(mask) / lanes + 1;
      cost += static_cast<double>(count) * vector_cost * (mask == all ? full_vectors : 1.25 * vectors);
    }
    return cost;
  }

  struct Event {
    std::int64_t column = 0;
    std::uint64_t mask = 0;
  };

  // Rows bring their runs in order, so many events come nearly sorted; where there are very many, columns are counted
  // instead.
  void sort_events() {
    if (events_.size() < 2048) {
      std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.column < b.column; });
      return;
    }
    if (toggles_.empty())
      toggles_.assign(static_cast<std::size_t>(plan_.reads()) + 1, 0);
    for (const Event& event : events_)
      toggles_[static_cast<std::size_t>(event.column)] ^= event.mask;
    std::int64_t low = plan_.reads(), high = 0;
    for (const Event& event : events_) {
      low = std::min(low, event.column);
      high = std::max(high, event.column);
    }
    events_.clear();
    for (std::int64_t j = low; j <= high; ++j) {
      std::uint64_t& toggle = toggles_[static_cast<std::size_t>(j)];
      if (toggle != 0)
        events_.push_back({j, toggle});
      toggle = 0;
    }
  }

  [[nodiscard]] std::int64_t count_arcs(std::int64_t first, std::int64_t last, std::int64_t& runs) const {
    std::int64_t arcs = 0;
    runs = 0;
    for (std::size_t g = group_of(first); g < groups_.size() && groups_[g].first < last; ++g) {
      const std::int64_t readers = std::min(last, groups_[g].last) - std::max(first, groups_[g].first);
      arcs += groups_[g].arcs * readers;
      runs += static_cast<std::int64_t>(groups_[g].size());
    }
    return arcs;
  }

  /// Scattered runs touch more different columns than `most`; nothing is sorted.
  [[nodiscard]] bool has_more_columns(std::int64_t first, std::int64_t last, double most) {
    if (stamps_.empty())
      stamps_.assign(static_cast<std::size_t>(plan_.reads()), -1);
    std::int64_t count = 0;
    for (std::size_t g = group_of(first); g < groups_.size() && groups_[g].first < last; ++g) {
      if (static_cast<double>(count) > most)
        return true;
      for_runs(groups_[g], [&](const PlainRun& run) {
        for (std::int64_t j = run.first; j <= run.last; j += run.step) {
          std::int32_t& stamp = stamps_[static_cast<std::size_t>(j)];
          count += stamp != first ? 1 : 0;
          stamp = static_cast<std::int32_t>(first);
        }
      });
    }
    return static_cast<double>(count) > most;
  }

  std::int64_t next_tile(std::int64_t first) {
    if (std::binary_search(lone_.begin(), lone_.end(), first)) {
      add_sparse(first, first + 1);
      return first + 1;
    }
    std::int64_t last = std::min(first + tile_readers, plan_.readers());
    const auto lone = std::upper_bound(lone_.begin(), lone_.end(), first);
    if (lone != lone_.end())
      last = std::min(last, *lone);
    while (classes_ != nullptr &&
           (*classes_)[static_cast<std::size_t>(last - 1)] != (*classes_)[static_cast<std::size_t>(first)])
      --last;

    std::int64_t runs = 0;
    const std::int64_t arcs = count_arcs(first, last, runs);
    const double by_rows = static_cast<double>(arcs) * arc_cost + static_cast<double>(last - first) * row_cost;
    // Columns cost as many vectors as readers read them, four at most.
    if (cut_ == Cut::best && runs > 4 * (last - first) && arcs <= 4 * runs &&
        by_rows < static_cast<double>(arcs) * vector_cost &&
        has_more_columns(first, last, by_rows / (4 * vector_cost))) {
      add_sparse(first, last);
      return last;
    }
    double cost = find_segments(first, last, segments_);
    // A tile that ends where a block ends may do with full masks.
    const std::int64_t border = groups_[group_of(last - 1)].first;
    if (border > first && groups_[group_of(last - 1)].last - border > 1 && groups_[group_of(last - 1)].last > last) {
      const double shorter = find_segments(first, border, shorter_);
      if (shorter / static_cast<double>(border - first) < cost / static_cast<double>(last - first)) {
        last = border;
        cost = shorter;
        segments_.swap(shorter_);
      }
    }
    const double sparse =
        static_cast<double>(count_arcs(first, last, runs)) * arc_cost + static_cast<double>(last - first) * row_cost;
    if (cut_ == Cut::best && (sparse < cost || segments_.empty())) {
      add_sparse(first, last);
      return last;
    }
    Tile tile;
    tile.first_reader = first;
    tile.readers = static_cast<int>(last - first);
    tile.segments_begin = static_cast<std::uint32_t>(out_.segments.size());
    out_.segments.insert(out_.segments.end(), segments_.begin(), segments_.end());
    tile.segments_end = static_cast<std::uint32_t>(out_.segments.size());
    share_segments(out_, tile);
    out_.tiles.push_back(tile);
    costs_.push_back(cost);
    return last;
  }

  void add_sparse(std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const SameRows& group = groups_[group_of(i)];
      out_.rows.rows.push_back(static_cast<std::int32_t>(i));
      if (group.written != nullptr)
        out_.rows.columns.insert(out_.rows.columns.end(), group.written, group.written + group.arcs);
      for (std::size_t r = group.runs_begin; r < group.runs_end; ++r) {
        for (std::int64_t j = runs_[r].first; j <= runs_[r].last; j += runs_[r].step)
          out_.rows.columns.push_back(static_cast<std::int32_t>(j));
      }
      const auto begin = out_.rows.columns.begin() + out_.rows.offsets.back();
      if (group.written == nullptr && !std::is_sorted(begin, out_.rows.columns.end())) // runs of steps may overlap
        std::sort(begin, out_.rows.columns.end());
      out_.rows.offsets.push_back(static_cast<std::int64_t>(out_.rows.columns.size()));
    }
  }

  // In the backward pass a long tile keeps everybody waiting who touches its last columns: long ones come last.
  void order_tiles() {
    if (costs_.size() < 3)
      return;
    std::vector<double> sorted = costs_;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    const double limit = 4 * sorted[sorted.size() / 2];
    std::vector<Tile> ordered;
    for (const bool heavy : {false, true}) {
      for (std::size_t t = 0; t < costs_.size(); ++t) {
        if ((costs_[t] > limit) == heavy)
          ordered.push_back(out_.tiles[t]);
      }
    }
    out_.tiles = std::move(ordered);
  }

  const Plan& plan_;
  std::size_t relation_;
  Cut cut_;
  const std::vector<std::uint32_t>* classes_;
  Tiles& out_;
  std::vector<PlainRun> runs_;
  std::vector<SameRows> groups_;
  std::vector<std::int64_t> lone_;
  std::vector<std::int32_t> stamps_;
  std::vector<std::uint64_t> toggles_;
  std::vector<Event> events_;
  std::vector<Segment> segments_, shorter_;
  std::vector<double> costs_;
};

void find_chunks(SparseList& list) {
  std::int64_t weight = 0;
  for (std::size_t r = 0; r < list.rows.size(); ++r) {
    weight += list.offsets[r + 1] - list.offsets[r] + 4;
    const bool last = r + 1 == list.rows.size();
    if (weight >= 1024 || last || list.offsets[r + 2] - list.offsets[r + 1] >= 1024) { // many arcs: a chunk alone
      list.chunks.push_back(static_cast<std::int64_t>(r) + 1);
      weight = 0;
    }
  }
  find_ends(list);
}

/// Every arc's chunk of rows, by which it has left its numbers.
using PartOfArc = std::function<std::int32_t(std::int64_t arc_of_columns)>;

ColumnParts find_parts_of(std::int64_t first, std::int64_t end, const PartOfArc& part_at) {
  ColumnParts parts{part_at(first), part_at(first)};
  for (std::int64_t a = first + 1; a < end; ++a) {
    const std::int32_t part = part_at(a);
    parts = {std::min(parts.first, part), std::max(parts.last, part)};
  }
  return parts;
}

// When a chunk of columns may be taken. all: every reader is asked; else the first and the last of each column, which
// rise, as the rows of the list do.
void find_parts(const SparseList& columns, const PartOfArc& part_at, bool all, std::vector<ColumnParts>& found, std::vector<std::int32_t>& by_last) {
  for (std::size_t c = 0; c + 1 < columns.chunks.size(); ++c) {
    ColumnParts parts;
    bool any = false;
    for (auto r = static_cast<std::size_t>(columns.chunks[c]); r < static_cast<std::size_t>(columns.chunks[c + 1]); ++r) {
      const std::int64_t begin = columns.offsets[r], end = columns.offsets[r + 1];
      if (begin == end || (all && is_long(columns, r)))
        continue;
      const ColumnParts here = all ? find_parts_of(begin, end, part_at) : ColumnParts{part_at(begin), part_at(end - 1)};
      parts = any ? ColumnParts{std::min(parts.first, here.first), std::max(parts.last, here.last)} : here;
      any = true;
    }
    found.push_back(parts);
    by_last.push_back(static_cast<std::int32_t>(c));
  }
  std::stable_sort(by_last.begin(), by_last.end(), [&](std::int32_t a, std::int32_t b) {
    return found[static_cast<std::size_t>(a)].last < found[static_cast<std::size_t>(b)].last;
  });
}

void cut_long(const SparseList& list, std::vector<LongPiece>& pieces) {
  for (std::size_t r = 0; r < list.rows.size(); ++r) {
    for (std::int64_t a = list.offsets[r]; is_long(list, r) && a < list.offsets[r + 1]; a += piece_arcs)
      pieces.push_back({static_cast<std::int64_t>(r), a, std::min(a + piece_arcs, list.offsets[r + 1]), {}});
  }
}

void find_schedule(const SparseList& rows, SparseList& columns, LongPieces& pieces) {
  std::vector<std::int32_t> part_of(static_cast<std::size_t>(rows.rows.back()) + 1, 0); // of readers
  for (std::size_t c = 0; c + 1 < rows.chunks.size(); ++c) {
    for (std::int64_t r = rows.chunks[c]; r < rows.chunks[c + 1]; ++r)
      part_of[static_cast<std::size_t>(rows.rows[static_cast<std::size_t>(r)])] = static_cast<std::int32_t>(c);
  }
  const auto part_of_reader = [&](std::int64_t arc) {
    return part_of[static_cast<std::size_t>(columns.columns[static_cast<std::size_t>(arc)])];
  };
  find_parts(columns, part_of_reader, false, columns.parts, columns.by_last);
  cut_long(rows, pieces.rows);
  cut_long(columns, pieces.columns);
  if (pieces.empty())
    return;
  // A piece of a row comes before the chunk that holds the row of its first read.
  std::vector<std::int32_t> part_of_piece(rows.rows.size(), -1); // of a long row: where its pieces begin in pieces.rows
  for (std::size_t p = 0; p < pieces.rows.size(); ++p) {
    LongPiece& piece = pieces.rows[p];
    if (part_of_piece[static_cast<std::size_t>(piece.number)] < 0)
      part_of_piece[static_cast<std::size_t>(piece.number)] = static_cast<std::int32_t>(p);
    const std::int32_t first = rows.columns[static_cast<std::size_t>(piece.first_arc)];
    const auto next = std::upper_bound(rows.chunks.begin(), rows.chunks.end() - 1, first, [&](std::int32_t read, std::int64_t row) {
      return read < rows.rows[static_cast<std::size_t>(row)];
    });
    const auto part = static_cast<std::int32_t>(std::max<std::ptrdiff_t>(next - rows.chunks.begin() - 1, 0));
    piece.parts = {part, part};
  }
  std::vector<std::int32_t> number_of(part_of.size(), 0); // of readers, in the list
  for (std::size_t r = 0; r < rows.rows.size(); ++r)
    number_of[static_cast<std::size_t>(rows.rows[r])] = static_cast<std::int32_t>(r);
  const auto part_at = [&](std::int64_t arc) {
    const auto row = static_cast<std::size_t>(number_of[static_cast<std::size_t>(columns.columns[static_cast<std::size_t>(arc)])]);
    if (part_of_piece[row] < 0)
      return part_of_reader(arc);
    const std::int64_t piece = (columns.arcs[static_cast<std::size_t>(arc)] - rows.offsets[row]) / piece_arcs;
    return pieces.rows[static_cast<std::size_t>(part_of_piece[row] + piece)].parts.first;
  };
  find_parts(columns, part_at, true, pieces.parts, pieces.by_last);
  for (LongPiece& piece : pieces.columns)
    piece.parts = find_parts_of(piece.first_arc, piece.end_arc, part_at);
  const auto sort = [](std::vector<LongPiece>& all) { // part_at is done with their first order
    std::stable_sort(all.begin(), all.end(), [](const LongPiece& x, const LongPiece& y) { return x.parts.last < y.parts.last; });
  };
  sort(pieces.rows);
  sort(pieces.columns);
}

} // namespace

void share_segments(Tiles& tiles, Tile& tile) {
  if (tiles.tiles.empty() || tile.segments_begin == tile.segments_end)
    return;
  const Tile& before = tiles.tiles.back();
  const auto begin = tiles.segments.begin() + before.segments_begin, own = tiles.segments.begin() + tile.segments_begin;
  if (before.segments_end - before.segments_begin != tile.segments_end - tile.segments_begin)
    return;
  const std::int64_t shift = std::int64_t{own->first} - begin->first;
  const bool same = std::equal(own, tiles.segments.end(), begin, [&](const Segment& a, const Segment& b) {
    return a.first == b.first + shift && a.count == b.count && a.mask == b.mask && a.step == b.step &&
           a.phase == b.phase && a.late == b.late && a.centre == b.centre;
  });
  if (!same)
    return;
  tiles.segments.resize(tile.segments_begin);
  tile.segments_begin = before.segments_begin;
  tile.segments_end = before.segments_end;
  tile.shift = shift;
}

void find_turns(Tiles& tiles, std::int64_t reads) {
  tiles.tiles_per_block.assign(static_cast<std::size_t>((reads + block_columns - 1) / block_columns), 0);
  for (Tile& tile : tiles.tiles) {
    tile.turns_begin = static_cast<std::uint32_t>(tiles.turns.size());
    std::int64_t next = 0;
    for (std::uint32_t s = tile.segments_begin; s < tile.segments_end; ++s) {
      const std::int64_t first = tiles.segments[s].first + tile.shift;
      const std::int64_t last = (first + tiles.segments[s].count - 1) / block_columns;
      for (next = std::max<std::int64_t>(next, first / block_columns); next <= last; ++next) {
        tiles.turns.push_back(
            {static_cast<std::uint32_t>(next), tiles.tiles_per_block[static_cast<std::size_t>(next)]++});
      }
    }
    tile.turns_end = static_cast<std::uint32_t>(tiles.turns.size());
  }
}

void find_ends(SparseList& list) {
  const std::size_t count = list.rows.size();
  list.ends.assign(count, static_cast<std::int32_t>(count));
  const auto marks = [&list](std::int64_t arc) { return list.marks.begin() + arc; };
  for (std::size_t r = count; r-- > 1;) {
    const std::int64_t first = list.offsets[r - 1], second = list.offsets[r], end = list.offsets[r + 1];
    const bool alike = second - first == end - second && (list.marks.empty() || std::equal(marks(first), marks(second), marks(second)));
    list.ends[r - 1] = alike ? list.ends[r] : static_cast<std::int32_t>(r);
  }
}

namespace {

/// Whether neighbouring rows mostly read far from each other, by one row in so many.
bool is_scattered(const SparseList& list) {
  constexpr std::int32_t near = 64;
  constexpr std::size_t sample = 16; // one row in so many
  std::int64_t seen = 0, far = 0;
  for (std::size_t r = 1; r < list.rows.size(); r += sample) {
    const std::int64_t first = list.offsets[r - 1], second = list.offsets[r], arcs = std::min(second - first, list.offsets[r + 1] - second);
    const auto column = [&list](std::int64_t arc) { return list.columns[static_cast<std::size_t>(arc)]; };
    for (std::int64_t a = 0; a < arcs; ++a)
      far += std::abs(column(first + a) - column(second + a)) > near ? 1 : 0;
    seen += arcs;
  }
  return 2 * far > seen;
}

} // namespace

void finish_rows(Tiles& tiles, std::int64_t reads, bool with_columns) {
  const SparseList& rows = tiles.rows;
  find_chunks(tiles.rows);
  tiles.rows.scattered = is_scattered(rows);
  if (rows.rows.empty() || !with_columns)
    return;
  std::vector<std::int32_t> next(static_cast<std::size_t>(reads), 0); // of every column; first how many arcs it has
  for (const std::int32_t j : rows.columns)
    ++next[static_cast<std::size_t>(j)];
  SparseList& columns = tiles.columns;
  columns.columns.resize(rows.columns.size());
  columns.arcs.resize(rows.columns.size());
  if (tiles.tiles.empty()) {
    columns.rows.reserve(next.size());
    columns.offsets.reserve(next.size() + 1);
  }
  std::int32_t sum = 0;
  for (std::int64_t j = 0; j < reads; ++j) {
    std::int32_t& count = next[static_cast<std::size_t>(j)];
    const std::int32_t first = sum;
    sum += count;
    if (count > 0 || tiles.tiles.empty()) {
      columns.rows.push_back(static_cast<std::int32_t>(j));
      columns.offsets.push_back(sum);
    }
    count = first;
  }
  const std::int32_t* const read = rows.columns.data(); // plain pointers: what is written may be none of these
  std::int32_t *const place = next.data(), *const readers = columns.columns.data(), *const arcs = columns.arcs.data();
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const std::int32_t number = rows.rows[r];
    for (std::int64_t a = rows.offsets[r], end = rows.offsets[r + 1]; a < end; ++a) {
      const std::int32_t at = place[read[a]]++;
      readers[at] = number;
      arcs[at] = static_cast<std::int32_t>(a);
    }
  }
  find_chunks(tiles.columns);
  find_schedule(rows, columns, tiles.pieces);
}

Tiles compile_tiles(const Plan& plan, std::size_t relation, Cut cut, const std::vector<std::uint32_t>* classes) {
  Tiles tiles;
  TileCompiler(plan, relation, cut, classes, tiles).run();
  std::vector<bool> is_read(static_cast<std::size_t>(plan.reads()));
  std::int64_t reads = 0;
  tiles.apart = tiles.rows.rows.empty();
  for (const Tile& tile : tiles.tiles) {
    for (std::uint32_t s = tile.segments_begin; tiles.apart && s < tile.segments_end; ++s) {
      const std::int64_t first = tiles.segments[s].first + tile.shift;
      for (std::int64_t j = first; tiles.apart && j < first + tiles.segments[s].count; ++j) {
        tiles.apart = !is_read[static_cast<std::size_t>(j)];
        is_read[static_cast<std::size_t>(j)] = true;
        ++reads;
      }
    }
  }
  tiles.apart = tiles.apart && reads == plan.reads();
  return tiles;
}

namespace {

bool is_causal(const Plan& plan, std::size_t relation, std::int64_t arcs) {
  const std::int64_t n = plan.readers();
  if (plan.relation(relation) == nullptr || plan.reader_tokens() != n || plan.reads() != n || arcs != n * (n + 1) / 2)
    return false;
  std::vector<layout::Run> row;
  for (std::int64_t i = 0; i < n; ++i) {
    plan.relation(relation)->pattern().row(static_cast<layout::Vertex>(i), row);
    if (row.size() != 1 || row[0].first != 0 || static_cast<std::int64_t>(row[0].last) != i || row[0].step != 1)
      return false;
  }
  return true;
}

} // namespace

const CompiledPlan& find_compiled(const Plan& plan) {
  return *static_cast<const CompiledPlan*>(plan.compiled([](const Plan& from) -> std::shared_ptr<const void> {
    auto result = std::make_shared<CompiledPlan>();
    for (std::size_t relation = 0; relation < from.relation_count(); ++relation)
      result->relations.push_back(compile_tiles(from, relation));
    for (std::size_t relation = 0; relation < from.relation_count(); ++relation)
      result->is_causal.push_back(is_causal(from, relation, result->relations[relation].arcs));
    return result;
  }));
}

} // namespace sightline::mixer::cpu

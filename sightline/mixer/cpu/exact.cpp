#include "sightline/mixer/cpu/exact.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <tuple>
#include <utility>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace sightline::mixer::cpu {
namespace {

using Kind = SummationOrder::Kind;

/// Offsets first .. last (mod extent) of one reader's reads.
struct Offsets {
  std::int64_t first = 0, last = 0;
};

/// Reads per row up to which rows of several sums are taken one by one where tiles would do, and up to which such a row
/// stays in one piece.
constexpr std::int64_t most_marked = 64, most_in_piece = most_arcs;

class ExactCompiler {
public:
  ExactCompiler(const Plan& plan, std::size_t relation, const SummationOrder& order, Tiles& out)
      : plan_(plan), relation_(relation), order_(order), n_(order.extent), out_(out) {}

  // Rings by tiles where that is cheaper; tori, and sparse rings, by rows: with reflections several sums per row.
  void run() {
    find_start();
    if (has_fixed()) {
      add_rows();
      finish();
      return;
    }
    double tiles = 0, rows = 0;
    if (order_.kind != Kind::torus) {
      for (std::int64_t i = 0; i < n_; i += tile_readers)
        tiles += add_tile(i, std::min(i + tile_readers, n_));
    }
    rows = 30 * static_cast<double>(arcs_) + 60 * static_cast<double>(n_);
    if (order_.kind == Kind::torus ||
        (rows < tiles && (order_.kind != Kind::dihedral || rows_are_short(most_marked)))) {
      out_ = {};
      add_rows();
    }
    finish();
  }

  /// Row by row, whatever that costs.
  void run_rows() {
    find_start();
    add_rows();
    finish();
  }

  /// By tiles, for the backward pass. With reflections: reads at or before the reader, up to its antipode.
  void run_back() {
    is_half_ = order_.kind == Kind::dihedral;
    find_start();
    for_offsets(0, [&](Offsets o) { reach_ = std::max(reach_, wrap(o.last - start_)); });
    for (std::int64_t i = 0; i < n_; i += tile_readers)
      add_back_tile(i, std::min(i + tile_readers, n_));
    const std::size_t tiles = out_.tiles.size();
    for (std::size_t t = 0; t < tiles; ++t) {
      Tile tile = out_.tiles[t];
      while (tile.segments_end > tile.segments_begin && !out_.segments[tile.segments_end - 1].late)
        --tile.segments_end;
      if (tile.segments_end == tile.segments_begin)
        continue;
      for (std::uint32_t s = tile.segments_begin; s < tile.segments_end; ++s)
        tile.late_reads += out_.segments[s].late ? out_.segments[s].count : 0;
      tile.late_begin = out_.late_reads;
      tile.number = static_cast<std::int32_t>(out_.late_tiles++);
      out_.late_reads += tile.late_reads;
      out_.tiles[t].late_reads = tile.late_reads;
      out_.tiles[t].late_begin = tile.late_begin;
      out_.tiles[t].number = tile.number;
      tile.again = true;
      out_.tiles.push_back(tile);
    }
    out_.tiles_per_block.assign(static_cast<std::size_t>((plan_.reads() + block_columns - 1) / block_columns), 0);
    for (Tile& tile : out_.tiles)
      find_turns(tile);
    out_.in_order = true;
    out_.ring = is_half_ ? n_ : 0;
    finish_rows(out_, plan_.reads());
  }

  /// Row by row, every sum without an order: right for every group.
  void run_free() {
    is_free_ = true;
    add_rows();
    finish();
  }

private:
  void finish() {
    out_.tiles_per_block.assign(static_cast<std::size_t>((plan_.reads() + block_columns - 1) / block_columns), 0);
    finish_rows(out_, plan_.reads());
    if (!out_.tiles.empty()) {
      out_.ring = order_.kind == Kind::dihedral ? n_ : 0;
      return;
    }
    // Rows of several sums stay in one piece.
    is_free_ = is_free_ || (order_.kind == Kind::dihedral && !(are_short(out_.rows) && are_short(out_.columns)));
    note_free(out_.rows);
    note_free(out_.columns);
    if (is_free_)
      return;
    order_columns();
    if (order_.kind == Kind::dihedral) {
      mark_sums(out_.rows);
      mark_sums(out_.columns);
    }
  }

  [[nodiscard]] bool inside(std::int64_t vertex) const {
    return vertex >= order_.first && vertex < order_.first + order_.extent;
  }
  [[nodiscard]] bool has_fixed() const { return order_.first != 0 || order_.extent != plan_.readers(); }

  /// Rows of the list that go in an order.
  [[nodiscard]] bool are_short(const SparseList& list) const {
    for (std::size_t r = 0; r < list.rows.size(); ++r) {
      if (inside(list.rows[r]) && list.offsets[r + 1] - list.offsets[r] > most_in_piece)
        return false;
    }
    return true;
  }

  /// Sums that belong to vertices which the whole group fixes have no order.
  void note_free(SparseList& list) const {
    if (!is_free_ && !has_fixed())
      return;
    list.free.assign(list.rows.size(), 0);
    for (std::size_t r = 0; r < list.rows.size(); ++r) {
      if (!is_free_ && inside(list.rows[r]))
        continue;
      list.free[r] = 1;
      list.longest_free = std::max({list.longest_free, list.offsets[r + 1] - list.offsets[r], std::int64_t{1}});
    }
  }

  [[nodiscard]] bool rows_are_short(std::int64_t most) {
    std::vector<std::int64_t> readers(static_cast<std::size_t>(n_), 0);
    for (std::int64_t i = 0; i < n_; ++i) {
      plan_.row(relation_, i, row_);
      std::int64_t count = 0;
      for (const layout::ColouredRun& run : row_) {
        count += static_cast<std::int64_t>(run.size());
        if (count > most)
          return false;
        for (std::int64_t j = run.first; j <= run.last; j += run.step)
          ++readers[static_cast<std::size_t>(j)];
      }
    }
    return std::all_of(readers.begin(), readers.end(), [&](std::int64_t count) { return count <= most; });
  }
  [[nodiscard]] std::int64_t wrap(std::int64_t x) const { return ((x % n_) + n_) % n_; }

  /// Calls f with the stretches of offsets (read - reader) mod n of a row, or of half of it. Nothing is fixed.
  template <class Function> void for_offsets(std::int64_t reader, Function f) {
    if (!is_half_) {
      for_all_offsets(reader, f);
      return;
    }
    for_all_offsets(reader, [&](Offsets o) {
      if (o.first == 0)
        f(Offsets{0, 0});
      const std::int64_t least = std::max((n_ + 1) / 2, o.first);
      if (least <= o.last)
        f(Offsets{least, o.last});
    });
  }
  template <class Function> void for_all_offsets(std::int64_t reader, Function f) {
    plan_.row(relation_, reader, row_);
    for (const layout::ColouredRun& run : row_) {
      if (run.step == 1) {
        const std::int64_t first = wrap(static_cast<std::int64_t>(run.first) - reader), last = first + run.size() - 1;
        f(Offsets{first, std::min(last, n_ - 1)});
        if (last >= n_)
          f(Offsets{0, last - n_});
      } else {
        for (std::int64_t j = run.first; j <= run.last; j += run.step) {
          const std::int64_t offset = wrap(j - reader);
          f(Offsets{offset, offset});
        }
      }
    }
  }

  // A cyclic sum may start anywhere: behind the widest gap in the offsets of the first row, so that the reads of a tile
  // seldom have to be passed twice.
  void find_start() {
    if (has_fixed())
      return;
    std::vector<Offsets> found;
    for_offsets(0, [&](Offsets o) { found.push_back(o); });
    if (found.empty())
      return;
    std::sort(found.begin(), found.end(), [](const Offsets& a, const Offsets& b) { return a.first < b.first; });
    std::int64_t widest = -1;
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::int64_t next = k + 1 < found.size() ? found[k + 1].first : found.front().first + n_;
      if (next - found[k].last > widest) {
        widest = next - found[k].last;
        start_ = wrap(next);
      }
    }
  }

  struct Event {
    std::int64_t at = 0;
    std::uint64_t mask = 0;
  };

  double add_tile(std::int64_t first, std::int64_t last) {
    for (auto& events : events_)
      events.clear();
    const std::int64_t size = last - first;
    // What the readers read of each other serves both sums of a reflection, where no antipode lies among it.
    const bool has_centre = order_.kind == Kind::dihedral && n_ > 2 * tile_readers;
    for (std::int64_t i = first; i < last; ++i) {
      const std::uint64_t mask = std::uint64_t{1} << (i - first);
      const auto add = [&](int phase, std::int64_t from, std::int64_t to) {
        if (has_centre && from <= to && from < size) {
          const std::int64_t end = std::min(to, size - 1);
          events_[centre].push_back({phase == 0 ? from : size - 1 - end, mask});
          events_[centre].push_back({(phase == 0 ? end : size - 1 - from) + 1, mask});
          from = size;
        }
        if (from > to)
          return;
        events_[static_cast<std::size_t>(phase)].push_back({from, mask});
        events_[static_cast<std::size_t>(phase)].push_back({to + 1, mask});
      };
      for_offsets(i, [&](Offsets o) {
        arcs_ += o.last - o.first + 1;
        if (order_.kind == Kind::cyclic) {
          // Counted from start: position of lane i's offset u is (i - first) + u.
          const std::int64_t a = wrap(o.first - start_), b = a + o.last - o.first, lane = i - first;
          add(0, lane + a, lane + std::min(b, n_ - 1));
          add(0, lane, lane + b - n_);
          return;
        }
        // To the right and to the left; own and antipode are met on both sides.
        const std::int64_t half = n_ / 2, lane = i - first, mirrored = last - 1 - i;
        add(0, lane + o.first, lane + std::min(o.last, half));
        add(1, mirrored + n_ - o.last, mirrored + std::min(n_ - o.first, half));
        if (o.first == 0 && !has_centre)
          add(1, mirrored, mirrored);
      });
    }
    Tile tile;
    tile.first_reader = first;
    tile.readers = static_cast<int>(size);
    tile.segments_begin = static_cast<std::uint32_t>(out_.segments.size());
    double cost = 2 * add_segments(centre, first, last); // two sums
    for (int phase = 0; phase < most_phases; ++phase)
      cost += add_segments(phase, first, last);
    tile.segments_end = static_cast<std::uint32_t>(out_.segments.size());
    share_segments(out_, tile);
    out_.tiles.push_back(tile);
    return cost;
  }

  void add_back_tile(std::int64_t first, std::int64_t last) {
    events_[0].clear();
    for (std::int64_t i = first; i < last; ++i) {
      const std::uint64_t mask = std::uint64_t{1} << (i - first);
      for_offsets(i, [&](Offsets o) {
        const std::int64_t from = i - first + wrap(o.first - start_);
        out_.arcs += o.last - o.first + 1;
        events_[0].push_back({from, mask});
        events_[0].push_back({from + o.last - o.first + 1, mask});
      });
    }
    Tile tile;
    tile.first_reader = first;
    tile.readers = static_cast<int>(last - first);
    tile.segments_begin = static_cast<std::uint32_t>(out_.segments.size());
    // The readers of a read go from `reach_` behind the start on. Where that lies behind the ring's end, others, which
    // are met before, come later.
    late_until_ = reach_ - first;
    add_segments(0, first, last);
    tile.segments_end = static_cast<std::uint32_t>(out_.segments.size());
    share_segments(out_, tile);
    out_.tiles.push_back(tile);
  }

  /// The blocks that a tile adds to in this turn of it.
  void find_turns(Tile& tile) {
    std::vector<std::uint32_t> blocks;
    std::int64_t before = -1;
    for (std::uint32_t s = tile.segments_begin; s < tile.segments_end; ++s) {
      const Segment& segment = out_.segments[s];
      if (segment.late != tile.again)
        continue;
      const std::int64_t first = segment.first + tile.shift;
      tile.hold = tile.hold || first < before;
      before = first;
      for (std::int64_t b = first / block_columns; b <= (first + segment.count - 1) / block_columns; ++b)
        blocks.push_back(static_cast<std::uint32_t>(b));
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    tile.turns_begin = static_cast<std::uint32_t>(out_.turns.size());
    for (const std::uint32_t b : blocks)
      out_.turns.push_back({b, out_.tiles_per_block[b]++});
    tile.turns_end = static_cast<std::uint32_t>(out_.turns.size());
  }

  double add_segments(int phase, std::int64_t first, std::int64_t last) {
    std::vector<Event>& events = events_[static_cast<std::size_t>(phase)];
    std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at < b.at; });
    const bool backward = phase == 1;
    std::uint64_t mask = 0;
    double cost = 0;
    for (std::size_t e = 0; e < events.size();) {
      std::int64_t at = events[e].at;
      for (; e < events.size() && events[e].at == at; ++e)
        mask ^= events[e].mask;
      if (mask == 0 || e == events.size())
        continue;
      cost += 140.0 * static_cast<double>(events[e].at - at) *
              ((63 - std::countl_zero(mask)) / 16 - std::countr_zero(mask) / 16 + 1);
      while (at < events[e].at) { // cut where the ring closes
        const std::int64_t column =
            backward ? wrap(last - 1 - at) : wrap(first + (order_.kind == Kind::cyclic || is_half_ ? start_ : 0) + at);
        std::int64_t count = std::min(events[e].at - at, backward ? column + 1 : n_ - column);
        Segment segment;
        segment.first = static_cast<std::int32_t>(column);
        segment.late = at < late_until_;
        if (segment.late)
          count = std::min(count, late_until_ - at);
        segment.count = static_cast<std::int32_t>(count);
        segment.mask = mask;
        segment.step = backward ? -1 : 1;
        segment.phase = static_cast<std::int16_t>(phase == centre ? 0 : phase);
        segment.centre = phase == centre;
        out_.segments.push_back(segment);
        at += count;
      }
    }
    return cost;
  }

  /// Where a read (or reader) comes in the sum of `owner`, which the group moves. Fixed vertices come first.
  [[nodiscard]] std::int64_t key(std::int64_t owner, std::int64_t other) const {
    constexpr std::int64_t first = -(std::int64_t{1} << 40);
    const std::int64_t sum = order_.kind == Kind::dihedral ? sum_of(owner, other) << 42 : 0;
    if (!inside(other))
      return sum + first + other;
    const std::int64_t from = owner - order_.first, to = other - order_.first;
    if (order_.kind == Kind::torus) {
      const std::int64_t columns = order_.columns, rows = n_ / columns;
      const std::int64_t row = (to / columns - from / columns + rows) % rows,
                         column = (to % columns - from % columns + columns) % columns;
      return row * columns + column;
    }
    if (order_.kind == Kind::dihedral) {
      const std::int64_t offset = wrap(to - from);
      return sum + (2 * offset > n_ ? n_ - offset : offset);
    }
    return wrap(to - from - start_);
  }

  /// Which of the four sums of a dihedral order a read belongs to.
  [[nodiscard]] std::int64_t sum_of(std::int64_t owner, std::int64_t other) const {
    const std::int64_t offset = wrap(other - owner);
    if (!inside(other) || offset == 0)
      return 2;
    return 2 * offset == n_ ? 3 : 2 * offset < n_ ? 0 : 1;
  }

  void mark_sums(SparseList& list) const {
    list.marks.assign(list.columns.size(), 0);
    for (std::size_t r = 0; r < list.rows.size(); ++r) {
      for (auto a = static_cast<std::size_t>(list.offsets[r]); a < static_cast<std::size_t>(list.offsets[r + 1]); ++a) {
        const auto begin = static_cast<std::size_t>(list.offsets[r]), end = static_cast<std::size_t>(list.offsets[r + 1]);
        const auto sum = [&](std::size_t arc) { return sum_of(list.rows[r], list.columns[arc]); };
        if (sum(a) == 0 && a + 1 < end && sum(a + 1) == 1)
          list.marks[a] = 1;
        else if (sum(a) == 1 && (a + 1 == end || sum(a + 1) > 1) && sum(begin) == 0)
          list.marks[a] = 2;
      }
    }
    find_ends(list);
  }

  void add_rows() {
    std::vector<std::pair<std::int64_t, std::int32_t>> reads;
    for (std::int64_t i = 0; i < plan_.readers(); ++i) {
      plan_.row(relation_, i, row_);
      reads.clear();
      const bool ordered = !is_free_ && inside(i);
      for (const layout::ColouredRun& run : row_) {
        for (std::int64_t j = run.first; j <= run.last; j += run.step)
          reads.emplace_back(ordered ? key(i, j) : j, static_cast<std::int32_t>(j));
      }
      std::sort(reads.begin(), reads.end());
      out_.rows.rows.push_back(static_cast<std::int32_t>(i));
      for (const auto& read : reads)
        out_.rows.columns.push_back(read.second);
      out_.rows.offsets.push_back(static_cast<std::int64_t>(out_.rows.columns.size()));
    }
  }

  void order_columns() {
    SparseList& columns = out_.columns;
    std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t>> readers;
    for (std::size_t c = 0; c < columns.rows.size(); ++c) {
      if (!inside(columns.rows[c]))
        continue;
      readers.clear();
      for (auto a = static_cast<std::size_t>(columns.offsets[c]); a < static_cast<std::size_t>(columns.offsets[c + 1]);
           ++a) {
        readers.emplace_back(key(columns.rows[c], columns.columns[a]), columns.columns[a], columns.arcs[a]);
      }
      std::sort(readers.begin(), readers.end());
      auto a = static_cast<std::size_t>(columns.offsets[c]);
      for (const auto& [at, reader, arc] : readers) {
        columns.columns[a] = reader;
        columns.arcs[a++] = arc;
      }
    }
  }

  const Plan& plan_;
  std::size_t relation_;
  const SummationOrder& order_;
  std::int64_t n_, start_ = 0, arcs_ = 0; // n_: vertices that are moved
  std::int64_t reach_ = 0, late_until_ = 0; // run_back: the last place in a row, where a tile's late places end
  bool is_free_ = false, is_half_ = false;
  Tiles& out_;
  std::vector<layout::ColouredRun> row_;
  static constexpr int centre = most_phases; // behind the phases
  std::vector<Event> events_[most_phases + 1];
};

bool classes_are_intervals(const std::vector<std::uint32_t>& classes) {
  for (std::size_t v = 1; v < classes.size(); ++v) {
    if (classes[v] != classes[v - 1] && classes[v] != classes[v - 1] + 1)
      return false;
  }
  return true;
}

// A sorted class stands in place of its members only where rows read all of it or nothing; and where classes may be
// exchanged, a row must keep to one class. Classes are intervals.
bool rows_hold_classes(const Plan& plan, const SummationOrder& order) {
  const std::vector<std::uint32_t>& classes = order.twin_class;
  const auto n = static_cast<std::int64_t>(classes.size());
  std::vector<std::int64_t> sizes(n == 0 ? 0 : classes.back() + 1, 0);
  for (const std::uint32_t c : classes)
    ++sizes[c];
  std::vector<layout::ColouredRun> row;
  for (std::size_t relation = 0; relation < plan.relation_count(); ++relation) {
    for (std::int64_t i = 0; i < plan.readers(); i = plan.same_row_until(relation, i)) {
      plan.row(relation, i, row);
      std::int64_t current = -1, seen = 0, read = 0; // a class that is not yet read to its end
      for (const layout::ColouredRun& run : row) {
        for (std::int64_t j = run.first; j <= run.last;) {
          const std::uint32_t c = classes[static_cast<std::size_t>(j)];
          if (c != current) {
            if (current >= 0 && seen != sizes[static_cast<std::size_t>(current)])
              return false;
            current = c;
            seen = 0;
            ++read;
          }
          if (run.step != 1) {
            ++seen;
            j += run.step;
            continue;
          }
          std::int64_t next = j + 1;
          while (next <= run.last && classes[static_cast<std::size_t>(next)] == c)
            ++next;
          seen += next - j;
          j = next;
        }
      }
      if (current >= 0 && seen != sizes[static_cast<std::size_t>(current)])
        return false;
      if (read > 1 && !order.classes_are_fixed)
        return false;
    }
  }
  return true;
}

} // namespace

namespace {

/// Tiles whose reads are sorted by content before every call.
bool compile_by_content(const Plan& plan, const SummationOrder& order, std::vector<Tiles>& tiles) {
  if (plan.readers() != plan.reads() || plan.reader_tokens() != plan.readers())
    return false;
  if (plan.relation(0) != nullptr && (order.twin_class.empty() || !classes_are_intervals(order.twin_class) ||
                                      !rows_hold_classes(plan, order)))
    return false;
  for (std::size_t r = 0; r < tiles.size(); ++r)
    tiles[r] = compile_tiles(plan, r, Cut::tiles_only);
  return true;
}

std::int64_t count_arcs(const CompiledPlan& compiled) {
  std::int64_t arcs = 0;
  for (const Tiles& tiles : compiled.relations)
    arcs += tiles.arcs;
  return arcs;
}

/// What symmetry and lists of many tokens were found with lies free behind them, megabytes that the heap keeps for later:
/// they go back before the call takes its own memory. Once per plan.
void give_back_scratch([[maybe_unused]] const Plan& plan) {
#if defined(__GLIBC__)
  constexpr std::int64_t many_tokens = 16384; // below, there is less to give than asking costs
  if (plan.readers() >= many_tokens)
    malloc_trim(0);
#endif
}

constexpr std::int64_t most_listed = std::int64_t{1} << 23; // lists of columns, readers and arcs: 100 MB

} // namespace

const std::vector<Tiles>* find_exact(const Plan& plan, const CompiledPlan& compiled) {
  const SummationOrder& order = plan.order();
  if (order.kind == Kind::natural)
    return &compiled.relations;
  std::call_once(compiled.exact_once, [&] {
    std::vector<Tiles> tiles(plan.relation_count());
    if (order.kind == Kind::value) {
      compiled.by_content = compile_by_content(plan, order, tiles);
      if (!compiled.by_content)
        return;
    } else {
      if ((order.first != 0 || order.extent != plan.readers()) && count_arcs(compiled) > most_listed)
        return;
      for (std::size_t r = 0; r < tiles.size(); ++r)
        ExactCompiler(plan, r, order, tiles[r]).run();
    }
    compiled.exact = std::move(tiles);
    give_back_scratch(plan);
  });
  return compiled.exact.empty() ? find_exact_rows(plan, compiled) : &compiled.exact;
}

const std::vector<Tiles>* find_exact_back(const Plan& plan, const CompiledPlan& compiled) {
  std::call_once(compiled.exact_back_once, [&] {
    const SummationOrder& order = plan.order();
    const bool by_tiles =
        (order.kind == Kind::cyclic || order.kind == Kind::dihedral) && !compiled.exact.empty() &&
        std::none_of(compiled.exact.begin(), compiled.exact.end(), [](const Tiles& tiles) { return tiles.tiles.empty(); });
    if (!by_tiles)
      return;
    std::vector<Tiles> back(plan.relation_count());
    for (std::size_t r = 0; r < back.size(); ++r)
      ExactCompiler(plan, r, order, back[r]).run_back();
    compiled.exact_back = std::move(back);
    give_back_scratch(plan);
  });
  return compiled.exact_back.empty() ? nullptr : &compiled.exact_back;
}

const std::vector<Tiles>* find_exact_rows(const Plan& plan, const CompiledPlan& compiled) {
  const SummationOrder& order = plan.order();
  if (order.kind == Kind::natural)
    return nullptr;
  std::call_once(compiled.exact_rows_once, [&] {
    if (count_arcs(compiled) > most_listed)
      return;
    std::vector<Tiles> rows(plan.relation_count());
    for (std::size_t r = 0; r < rows.size(); ++r) {
      ExactCompiler compiler(plan, r, order, rows[r]);
      if (order.kind == Kind::value)
        compiler.run_free();
      else
        compiler.run_rows();
    }
    compiled.exact_rows = std::move(rows);
    give_back_scratch(plan);
  });
  return compiled.exact_rows.empty() ? nullptr : &compiled.exact_rows;
}

} // namespace sightline::mixer::cpu

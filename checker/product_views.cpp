// Rows on the grid are A(r) x B(c), intervals around their reader whose ends do not fall. Then t_(r,c)(x, y) = min(t_r(x), t_c(y)), and what has a time
// left of at least h is a product X_r x X_c. Where all rows of that, and of what they hold, are in sight, isomorphisms of views keep the classes of equal
// rows and the Cartesian skeleton of the rows that name the classes. Here that is the product of two paths, so that an isomorphism is a pair of maps of
// paths, each straight or turned round, or exchanges the paths. What a path looks like tells roots apart; maps of a view onto itself are to be symmetries
// of the layout. When all classes stay in place, so do the cells that are read alike from there on, down to what has no time left (docs/theory.md 16.26).
#include "product_views.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include "field.hpp"
#include "poll.hpp"

namespace checker {

namespace {

struct Interval {
  Vertex first = 0, last = 0;
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

using Cells = std::vector<Vertex>;  // by place of an interval: the number of its cell, rising by 0 or 1 from 0 on

/// The list of layers, and by when each of them has been met.
struct List {
  const std::vector<std::uint32_t>& order;
  std::uint64_t depth = 0, all_met = 0;
  std::vector<std::uint64_t> first;  // by layer: its first place, from 1; 0 for none

  List(const Layout& layout, std::uint64_t depth_) : order(layout.order), depth(depth_), first(layout.layers.size(), 0) {
    for (std::size_t q = 1; q <= order.size(); ++q) {
      if (first[order[q - 1]] == 0) first[order[q - 1]] = all_met = q;
    }
  }
  [[nodiscard]] std::uint32_t at(std::uint64_t q) const { return order[(q - 1) % order.size()]; }

  // A vertex with h left shows its row of layer l at the last place q <= h of l; what it reads has q - 1 left at least.
  [[nodiscard]] std::optional<std::uint64_t> time_for_two() const {
    for (std::uint64_t h = all_met + 1; h <= depth && h <= all_met + 1 + 2 * order.size(); ++h) {
      std::set<std::uint32_t> met;
      for (std::uint64_t q = all_met + 1; q <= h; ++q) met.insert(at(q));
      if (met.size() == static_cast<std::size_t>(std::count_if(first.begin(), first.end(), [](auto f) { return f > 0; }))) return h;
    }
    return std::nullopt;
  }
};

/// Rows that name classes: those of one layer, or what all pairs of different layers, read one after the other, agree on.
struct Naming {
  std::uint64_t time = 0;
  std::optional<std::uint32_t> layer;
};

/// The view of one place of a factor.
struct View {
  Interval inner;                      // what has the time of the naming left
  std::uint64_t forward = 0, backward = 0;
  std::uint64_t whole = 0;             // up to the naming's time: the most that all places have left
  std::vector<const Cells*> cells;     // by time left up to `whole`
};

class Line {
public:
  /// Nothing when a row is no interval around its reader, or its ends fall.
  static std::optional<Line> make(const Layout& factor, const List& list) {
    Line line;
    line.rows.resize(factor.layers.size());
    line.readers.resize(factor.layers.size());
    std::vector<Run> row;
    for (std::uint32_t l = 0; l < factor.layers.size(); ++l) {
      if (list.first[l] == 0) continue;
      line.layers.push_back(l);
      auto& rows = line.rows[l];
      for (Vertex x = 0; x < factor.tokens; ++x) {
        factor.relations[factor.layers[l].front()].pattern->row(x, row);
        if (row.size() != 1 || row[0].step != 1 || row[0].first > x || row[0].last < x) return std::nullopt;
        if (x > 0 && (row[0].first < rows.back().first || row[0].last < rows.back().last)) return std::nullopt;
        rows.push_back({row[0].first, row[0].last});
      }
      // y reads x exactly for the y between the first that reaches up to x and the last that reaches down to it.
      Interval reader;
      for (Vertex x = 0; x < factor.tokens; ++x) {
        while (rows[reader.first].last < x) ++reader.first;
        while (reader.last + 1 < factor.tokens && rows[reader.last + 1].first <= x) ++reader.last;
        line.readers[l].push_back(reader);
      }
    }
    line.size = factor.tokens;
    return line;
  }

  void use(const Naming& by) {
    naming = by;
    views.assign(size, std::nullopt);
    stored.clear();
    names = by.layer ? rows[*by.layer] : std::vector<Interval>(size, {0, size - 1});
    for (const std::uint32_t k : layers) {
      for (const std::uint32_t l : layers) {
        if (by.layer || k == l) continue;
        for (Vertex x = 0; x < size; ++x) {
          names[x].first = std::max(names[x].first, rows[l][rows[k][x].first].first);
          names[x].last = std::min(names[x].last, rows[l][rows[k][x].last].last);
        }
      }
    }
  }

  /// nullptr where the conditions do not hold.
  const View* view(Vertex root, const List& list) {
    if (!views[root]) views[root] = look_from(root, list);
    return *views[root] ? &**views[root] : nullptr;
  }

  [[nodiscard]] bool is_turned_onto_itself() const {
    return std::all_of(layers.begin(), layers.end(), [&](std::uint32_t l) {
      for (Vertex x = 0; x < size; ++x) {
        if (rows[l][size - 1 - x] != Interval{size - 1 - rows[l][x].last, size - 1 - rows[l][x].first}) return false;
      }
      return true;
    });
  }

  Vertex size = 0;
  std::vector<std::uint32_t> layers;                 // those that occur
  std::vector<std::vector<Interval>> rows, readers;  // by layer and place

private:
  std::optional<View> look_from(Vertex root, const List& list) {
    // What has q left is an interval for every q.
    std::vector<Interval> having(naming.time + 1);
    std::vector<std::uint64_t> left(size, 0);
    const Interval everything{0, size - 1};
    Interval seen{root, root};
    left[root] = list.depth;
    std::uint64_t q = list.depth;
    for (; q > 0 && seen != everything; --q) {
      if (q <= naming.time) having[q] = seen;
      const Interval next{rows[list.at(q)][seen.first].first, rows[list.at(q)][seen.last].last};
      std::fill(left.begin() + next.first, left.begin() + seen.first, q - 1);
      std::fill(left.begin() + seen.last + 1, left.begin() + next.last + 1, q - 1);
      seen = next;
    }
    if (seen != everything) return std::nullopt;
    std::fill(having.begin(), having.begin() + static_cast<std::ptrdiff_t>(std::min(q, naming.time) + 1), everything);
    View view;
    view.inner = having[naming.time];
    Cells cells = classes(view.inner);
    if (!read_path(root, cells, left, view)) return std::nullopt;
    while (view.whole < naming.time && having[view.whole + 1] == everything) ++view.whole;
    view.cells.resize(view.whole + 1);
    for (std::uint64_t time = naming.time;; --time) {
      split(cells, having[time], time, list);
      if (time <= view.whole) view.cells[time] = &*stored.insert(cells).first;
      if (time == 0) return view;
      cells = follow(cells, having[time], having[time - 1], list.at(time));
    }
  }

  [[nodiscard]] Cells classes(const Interval& part) const {
    Cells cells{0};
    for (Vertex x = part.first + 1; x <= part.last; ++x) {
      const bool same = std::all_of(layers.begin(), layers.end(), [&](std::uint32_t l) { return rows[l][x] == rows[l][x - 1]; });
      cells.push_back(cells.back() + (same ? 0 : 1));
    }
    return cells;
  }

  /// The numbers of the cells of `part` that an interval meets.
  static Interval meet(const Cells& cells, const Interval& part, const Interval& what) {
    return {cells[std::max(part.first, what.first) - part.first], cells[std::min(part.last, what.last) - part.first]};
  }

  /// Is the skeleton of the names a path? If so, what isomorphisms keep of it is read both ways.
  bool read_path(Vertex root, const Cells& cells, const std::vector<std::uint64_t>& left, View& view) const {
    const Vertex count = cells.back() + 1;
    if (count < 2) return false;
    std::vector<Interval> members(count, {size, 0});
    for (Vertex x = view.inner.first; x <= view.inner.last; ++x) {
      Interval& own = members[cells[x - view.inner.first]];
      own = {std::min(own.first, x), x};
    }
    const Interval &first = names[members.front().first], &last = names[members.back().first];
    for (Vertex p = 1; p < count; ++p) {
      const Interval &a = names[members[p - 1].first], &b = names[members[p].first];
      if (a.last < b.first || a == b) return false;
      if ((a.first == b.first && a.first != first.first) || (a.last == b.last && a.last != last.last)) return false;
    }
    Vertex unit = 0;
    for (const Interval& own : members) unit = std::gcd(unit, own.last - own.first + 1);
    view.forward = view.backward = count;
    for (Vertex k = 0; k < count; ++k) {
      for (const bool turned : {false, true}) {
        const Interval& own = members[turned ? count - 1 - k : k];
        std::uint64_t& hash = turned ? view.backward : view.forward;
        hash = mix(mix(hash, (own.last - own.first + 1) / unit), *std::max_element(left.begin() + own.first, left.begin() + own.last + 1));
        hash = mix(hash, own.first <= root && root <= own.last ? 1 : 0);
        for (const std::uint32_t l : layers) {
          Interval read = meet(cells, view.inner, rows[l][own.first]);
          if (turned) read = {count - 1 - read.last, count - 1 - read.first};
          hash = mix(mix(hash, read.first), read.last);
        }
      }
    }
    return true;
  }

  /// Cells that stay in place split by which of them their rows meet, and whose rows meet them, in layers whose rows are in sight.
  void split(Cells& cells, const Interval& part, std::uint64_t time, const List& list) const {
    constexpr int most_rounds = 16;
    for (int round = 0; round < most_rounds; ++round) {
      Cells finer{0};
      for (Vertex x = part.first + 1; x <= part.last; ++x) {
        bool same = cells[x - part.first] == cells[x - 1 - part.first];
        for (std::size_t k = 0; k < layers.size() && same; ++k) {
          const std::uint32_t l = layers[k];
          same = list.first[l] > time || (meet(cells, part, rows[l][x]) == meet(cells, part, rows[l][x - 1]) &&
                                          meet(cells, part, readers[l][x]) == meet(cells, part, readers[l][x - 1]));
        }
        finer.push_back(finer.back() + (same ? 0 : 1));
      }
      const bool is_new = finer.back() != cells.back();
      cells = std::move(finer);
      if (!is_new) return;
    }
  }

  /// What is read with one layer less left, by the cells that read it.
  [[nodiscard]] Cells follow(const Cells& cells, const Interval& from, const Interval& to, std::uint32_t layer) const {
    Cells next{0};
    for (Vertex x = to.first + 1; x <= to.last; ++x) {
      const bool same = meet(cells, from, readers[layer][x]) == meet(cells, from, readers[layer][x - 1]);
      next.push_back(next.back() + (same ? 0 : 1));
    }
    return next;
  }

  Naming naming;
  std::vector<Interval> names;
  std::vector<std::optional<std::optional<View>>> views;
  std::set<Cells> stored;
};

/// One colour everywhere: the factors say all about rows.
bool is_plain(const Layout& layout) {
  const auto plain = [](const Relation& relation) {
    return relation.relative == RelativeKind::none && std::ranges::all_of(relation.pattern->lists, [](const auto& list) {
             return std::ranges::all_of(list, [](const MovingRun& run) { return run.colour == 1; });
           });
  };
  return layout.registers == 0 && std::ranges::all_of(layout.order, [&](std::uint32_t l) { return plain(layout.relations[layout.layers[l].front()]); }) &&
         std::ranges::all_of(layout.vertex_colour, [&](std::uint64_t c) { return c == layout.vertex_colour.front(); });
}

/// All roots at once, for one way of naming.
class Judge {
public:
  Judge(Line& down, Line& across, const List& list, const std::vector<Vertex>& number, const std::function<bool(const Permutation&)>& holds)
      : down_(down), across_(across), list_(list), number_(number), holds_(holds) {}

  bool explains(const std::vector<Vertex>& roots) {
    constexpr std::size_t most_kinds = 64;
    std::set<std::pair<std::uint64_t, std::uint64_t>> met;
    std::set<std::pair<const Cells*, const Cells*>> kinds;
    for (const Vertex a : roots) {
      poll();
      const View *row = down_.view(a / across_.size, list_), *column = across_.view(a % across_.size, list_);
      if (row == nullptr || column == nullptr) return false;
      // An isomorphism to another root maps paths onto paths, straight or turned, exchanged or not.
      std::pair paths{std::min(row->forward, row->backward), std::min(column->forward, column->backward)};
      if (paths.first > paths.second) std::swap(paths.first, paths.second);
      if (!met.insert(paths).second || !explains_own_maps(*row, *column)) return false;
      const std::uint64_t time = std::min(row->whole, column->whole);
      if (!kinds.insert({row->cells[time], column->cells[time]}).second) continue;
      if (kinds.size() > most_kinds || !are_cells_uniform(*row->cells[time], *column->cells[time])) return false;
    }
    return true;
  }

private:
  bool explains_own_maps(const View& row, const View& column) {
    if (row.forward == row.backward && !is_turn(row, down_, turned_down_, [&](Vertex x, Vertex y) { return (down_.size - 1 - x) * across_.size + y; })) return false;
    if (column.forward == column.backward && !is_turn(column, across_, turned_across_, [&](Vertex x, Vertex y) { return x * across_.size + across_.size - 1 - y; })) return false;
    if (row.forward == column.backward && row.forward != column.forward) return false;
    if (row.forward != column.forward) return true;
    if (row.inner != column.inner) return false;
    if (!exchanged_) exchanged_ = down_.size == across_.size && down_.rows == across_.rows && confirm([&](Vertex x, Vertex y) { return y * across_.size + x; });
    return *exchanged_;
  }

  /// Is turning the path round what turning the whole line does?
  template <class Image>
  bool is_turn(const View& view, const Line& line, std::optional<bool>& known, const Image& image) {
    if (view.inner.first + view.inner.last + 1 != line.size) return false;
    if (!known) known = line.is_turned_onto_itself() && confirm(image);
    return *known;
  }

  template <class Image>
  bool confirm(const Image& image) {
    if (!holds_) return true;
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (Vertex x = 0; x < down_.size; ++x) {
      for (Vertex y = 0; y < across_.size; ++y) moves.emplace_back(x * across_.size + y, image(x, y));
    }
    return holds_(Permutation(std::move(moves)));
  }

  /// May all tokens of a cell be exchanged freely?
  [[nodiscard]] bool are_cells_uniform(const Cells& rows, const Cells& columns) const {
    Vertex top = 0;
    for (Vertex x = 0; x < down_.size; ++x) {
      if (rows[x] != rows[top]) top = x;
      Vertex left = 0;
      for (Vertex y = 0; y < across_.size; ++y) {
        if (columns[y] != columns[left]) left = y;
        if (number_[x * across_.size + y] != number_[top * across_.size + left]) return false;
      }
    }
    return true;
  }

  Line &down_, &across_;
  const List& list_;
  const std::vector<Vertex>& number_;
  const std::function<bool(const Permutation&)>& holds_;
  std::optional<bool> turned_down_, turned_across_, exchanged_;
};

}  // namespace

bool do_products_explain(const Layout& layout, const Grid* grid, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                         const std::function<bool(const Permutation&)>& holds) {
  if (grid == nullptr || !is_plain(layout)) return false;
  const List list(layout, depth);
  if (list.all_met > depth) return false;
  auto down = Line::make(grid->down, list), across = Line::make(grid->across, list);
  if (!down || !across) return false;
  std::vector<Naming> namings;
  for (const std::uint32_t l : down->layers) namings.push_back({list.all_met, l});
  if (const auto time = list.time_for_two(); time && namings.size() > 1) namings.push_back({*time, std::nullopt});
  return std::ranges::any_of(namings, [&](const Naming& naming) {
    down->use(naming);
    across->use(naming);
    return Judge(*down, *across, list, number, holds).explains(roots);
  });
}

}  // namespace checker

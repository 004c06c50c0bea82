#include "graph.hpp"

#include <algorithm>
#include <numeric>

#include "field.hpp"
#include "structure.hpp"

namespace checker {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};
constexpr std::size_t most_slopes = 16, most_kinds = 12;

void push(std::vector<Run>& out, Run run) {
  if (run.first == run.last) run.colour_step = 0;
  out.push_back(run);
}

std::int64_t colour_in(const std::vector<Run>& canonical, Vertex x) {
  auto run = std::upper_bound(canonical.begin(), canonical.end(), x, [](Vertex v, const Run& r) { return v < r.first; });
  if (run == canonical.begin() || x > (--run)->last) return -1;
  return run->colour + run->colour_step * std::int64_t{x - run->first};
}

/// Canonical row with single vertices of one colour joined into runs with steps again: what is stored.
void compress(std::vector<Run>& canonical) {
  std::vector<Run> out;
  for (const Run& run : canonical) {
    if (run.first == run.last && !out.empty()) {
      Run& tail = out.back();
      const Vertex gap = run.first - tail.last;
      if (tail.colour_step == 0 && tail.colour == run.colour && gap > 1 && (tail.first == tail.last || tail.step == gap)) {
        tail.step = gap;
        tail.last = run.last;
        continue;
      }
    }
    out.push_back(run);
  }
  canonical.swap(out);
}

}  // namespace

void canonicalise(std::vector<Run>& runs) {
  std::vector<Run> flat;
  for (const Run& run : runs) {
    if (run.step == 1 || run.first == run.last) {
      flat.push_back({run.first, run.last, 1, run.colour, run.colour_step});
      continue;
    }
    std::int64_t colour = run.colour;
    for (std::uint64_t x = run.first; x <= run.last; x += run.step, colour += run.colour_step) {
      flat.push_back({static_cast<Vertex>(x), static_cast<Vertex>(x), 1, colour, 0});
    }
  }
  std::sort(flat.begin(), flat.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  runs.clear();
  for (Run run : flat) {  // what a reader going vertex by vertex would have built
    if (runs.empty() || run.first != runs.back().last + 1) {
      push(runs, run);
      continue;
    }
    Run& tail = runs.back();
    if (tail.first == tail.last) {
      tail.colour_step = run.colour - tail.colour;
    } else if (run.colour != tail.colour + tail.colour_step * (std::int64_t{tail.last - tail.first} + 1)) {
      push(runs, run);
      continue;
    }
    tail.last = run.first;
    if (run.first == run.last) continue;
    if (run.colour_step == tail.colour_step) {
      tail.last = run.last;
      continue;
    }
    run.colour += run.colour_step;
    ++run.first;
    push(runs, run);
  }
}

bool same_runs(std::vector<Run>& a, std::vector<Run>& b) {
  const auto by_first = [](const Run& x, const Run& y) { return x.first < y.first; };
  std::sort(a.begin(), a.end(), by_first);
  std::sort(b.begin(), b.end(), by_first);
  if (a == b) return true;
  canonicalise(a);
  canonicalise(b);
  return a == b;
}

StretchMap::StretchMap(const Moves& moves) {
  for (const auto& [x, y] : moves) {
    if (!stretches_.empty() && x == stretches_.back().last + 1) {
      Stretch& tail = stretches_.back();
      const Vertex end = tail.direction > 0 ? tail.image + (tail.last - tail.first) : tail.image - (tail.last - tail.first);
      if (tail.first == tail.last && y + 1 == end) tail.direction = -1;
      if (tail.direction > 0 ? y == end + 1 : y + 1 == end) {
        tail.last = x;
        continue;
      }
    }
    stretches_.push_back({x, x, y, 1});
  }
}

void StretchMap::map(const Run& run, std::vector<Run>& out) const {
  auto at = std::lower_bound(stretches_.begin(), stretches_.end(), run.first, [](const Stretch& s, Vertex x) { return s.last < x; });
  for (std::uint64_t x = run.first; x <= run.last;) {
    while (at != stretches_.end() && at->last < x) ++at;
    const bool inside = at != stretches_.end() && at->first <= x;
    const Vertex stop = at == stretches_.end() ? run.last : std::min(run.last, inside ? at->last : at->first - 1);
    const std::uint64_t more = (stop - x) / run.step;
    const auto from = static_cast<Vertex>(x), to = static_cast<Vertex>(x + more * run.step);
    const auto image = [&](Vertex v) { return !inside ? v : at->direction > 0 ? at->image + (v - at->first) : at->image - (v - at->first); };
    const std::int64_t colour = run.colour + static_cast<std::int64_t>((x - run.first) / run.step) * run.colour_step;
    const Vertex step = more > 0 ? run.step : 1;
    const std::int64_t colour_step = more > 0 ? run.colour_step : 0;
    if (image(from) <= image(to)) {
      out.push_back({image(from), image(to), step, colour, colour_step});
    } else {
      out.push_back({image(to), image(from), step, colour + static_cast<std::int64_t>(more) * colour_step, -colour_step});
    }
    x += (more + 1) * run.step;
  }
}

bool maps(const Graph& a, const Graph& b, const Moves& moves, bool local) {
  const StretchMap map(moves);
  std::vector<Run> image, there;
  const auto agree = [&](Vertex x, Vertex y) {
    if (a.colour[x] != b.colour[y]) return false;
    for (std::size_t r = 0; r < a.tables.size(); ++r) {
      const Table &left = a.tables[r], &right = b.tables[r];
      if (left.visible[x] != right.visible[y]) return false;
      for (const bool rows : {true, false}) {
        if (!rows && (!local || left.symmetric)) continue;
        const Lists &from = rows ? left.rows : left.columns, &to = rows ? right.rows : right.columns;
        image.clear();
        there.clear();
        for (std::uint32_t k = from.begin[x]; k < from.end[x]; ++k) map.map(a.run(from.spans[k]), image);
        for (std::uint32_t k = to.begin[y]; k < to.end[y]; ++k) there.push_back(b.run(to.spans[k]));
        if (!same_runs(image, there)) return false;
      }
    }
    return true;
  };
  if (local) return std::all_of(moves.begin(), moves.end(), [&](const auto& move) { return agree(move.first, move.second); });
  auto move = moves.begin();
  for (Vertex x = 0; x < a.vertices; ++x) {
    if (!agree(x, move != moves.end() && move->first == x ? (move++)->second : x)) return false;
  }
  return true;
}

// Rows and columns.

Run Graph::run(const Span& span) const {
  return {span.first, span.last, span.step, span.base + slopes[span.slope] * std::int64_t{span.first}, slopes[span.slope] * std::int64_t{span.step}};
}

std::int64_t Graph::find_colour(std::size_t table, Vertex i, Vertex j) const {
  const Lists& rows = tables[table].rows;
  for (std::uint32_t k = rows.begin[i]; k < rows.end[i]; ++k) {
    if (rows.spans[k].contains(j)) return rows.spans[k].base + slopes[rows.spans[k].slope] * std::int64_t{j};
  }
  return -1;
}

std::uint32_t Graph::find_slope(std::int64_t slope) {
  const auto found = std::find(slopes.begin(), slopes.end(), slope);
  if (found != slopes.end()) return static_cast<std::uint32_t>(found - slopes.begin());
  if (slopes.size() >= most_slopes) return none;
  slopes.push_back(slope);
  const Element factor = power_of(colour_base, slope);
  powers.emplace_back(vertices, 1);
  for (Vertex x = 1; x < vertices; ++x) powers.back()[x] = multiply(powers.back()[x - 1], factor);
  return static_cast<std::uint32_t>(slopes.size() - 1);
}

void Graph::append(Lists& lists, Element scale, const Run& run) {
  std::uint32_t slope = 0;
  if (run.first != run.last && run.colour_step != 0) slope = run.colour_step % std::int64_t{run.step} == 0 ? find_slope(run.colour_step / run.step) : none;
  if (slope == none) {
    std::int64_t colour = run.colour;
    for (std::uint64_t x = run.first; x <= run.last; x += run.step, colour += run.colour_step) {
      append(lists, scale, {static_cast<Vertex>(x), static_cast<Vertex>(x), 1, colour, 0});
    }
    return;
  }
  Span span{run.first, run.last, run.first == run.last ? 1 : run.step, slope, run.colour - slopes[slope] * std::int64_t{run.first}, 0};
  const bool same = !lists.spans.empty() && lists.spans.back().base == span.base;
  span.weight = same ? lists.spans.back().weight : multiply(scale, power_of(colour_base, span.base));
  lists.spans.push_back(span);
}

void Graph::add_table() { tables.emplace_back(); }

void Graph::add_row(const std::vector<Run>& runs, bool visible) {
  Table& table = tables.back();
  Lists& rows = table.rows;
  table.visible.push_back(visible);
  const auto begin = static_cast<std::uint32_t>(rows.spans.size());
  if (visible) {
    for (const Run& run : runs) append(rows, scale_of(tables.size() - 1), run);
  }
  const auto end = static_cast<std::uint32_t>(rows.spans.size());
  rows.begin.push_back(begin);
  rows.end.push_back(end);
  if (rows.begin.size() < 2) return;
  const std::uint32_t last_begin = rows.begin[rows.begin.size() - 2], last_end = rows.end[rows.end.size() - 2];
  const auto same = [](const Span& a, const Span& b) {
    return a.first == b.first && a.last == b.last && a.step == b.step && a.slope == b.slope && a.base == b.base;
  };
  if (!std::equal(rows.spans.begin() + begin, rows.spans.end(), rows.spans.begin() + last_begin, rows.spans.begin() + last_end, same)) return;
  rows.spans.resize(begin);
  rows.begin.back() = last_begin;
  rows.end.back() = last_end;
}

namespace {

/// Columns of one table: successive readers are compared, and only vertices where they differ cost anything.
class Transposer {
public:
  Transposer(Graph& graph, std::size_t number) : graph_(graph), table_(graph.tables[number]), scale_(scale_of(number)) {}

  void run() {
    struct Entry {
      Vertex step, residue, reader;
      const Span* span;
    };
    const Lists& rows = table_.rows;
    std::vector<Entry> entries;
    for (Vertex i = 0; i < graph_.vertices; ++i) {
      for (std::uint32_t k = rows.begin[i]; k < rows.end[i]; ++k) {
        const Span& span = rows.spans[k];
        entries.push_back({span.step, span.first % span.step, i, &span});
        if (span.slope == 0 || i + 1 == graph_.vertices || along_.count(span.slope) != 0) continue;
        for (std::uint32_t next = rows.begin[i + 1]; next < rows.end[i + 1]; ++next) {
          if (rows.spans[next].slope != span.slope) continue;
          const std::int64_t slope = rows.spans[next].base - span.base;
          along_[span.slope] = graph_.find_slope(slope) == none ? 0 : slope;
          break;
        }
      }
    }
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.step != b.step ? a.step < b.step : a.residue < b.residue;
    });
    open_.assign(graph_.vertices, none);
    opener_.assign(graph_.vertices, nullptr);
    std::vector<const Span*> before, after;
    for (std::size_t begin = 0, end = 0; begin < entries.size(); begin = end) {
      readers_.clear();
      for (; end < entries.size() && entries[end].step == entries[begin].step && entries[end].residue == entries[begin].residue; ++end) {
        if (readers_.empty() || readers_.back() != entries[end].reader) readers_.push_back(entries[end].reader);
      }
      gap_end_.assign(readers_.size(), 0);
      for (std::size_t t = readers_.size(); t-- > 0;) {
        const bool even = t + 2 < readers_.size() && readers_[t + 2] - readers_[t + 1] == readers_[t + 1] - readers_[t];
        gap_end_[t] = even ? gap_end_[t + 1] : static_cast<std::uint32_t>(std::min(t + 1, readers_.size() - 1));
      }
      before.clear();
      std::size_t k = begin;
      for (std::uint32_t time = 0; time <= readers_.size(); ++time) {
        after.clear();
        for (; time < readers_.size() && k < end && entries[k].reader == readers_[time]; ++k) after.push_back(entries[k].span);
        advance(before, after, time, entries[begin].step);
        before.swap(after);
      }
    }
    store();
  }

private:
  std::int64_t along(const Span& span) const {
    const auto found = along_.find(span.slope);
    return found == along_.end() ? 0 : found->second;
  }

  /// Readers number open_[j] .. time-1 read j as the span that opened it began.
  void close(Vertex j, std::uint32_t time) {
    const std::uint32_t from = open_[j];
    const std::int64_t slope = along(*opener_[j]);
    const std::int64_t base = opener_[j]->base + graph_.slopes[opener_[j]->slope] * std::int64_t{j} - slope * readers_[from];
    for (std::uint32_t t = from; t < time;) {
      const std::uint32_t stop = std::min(gap_end_[t], time - 1);
      const Vertex step = stop > t ? readers_[t + 1] - readers_[t] : 1;
      out_.push_back({j, {readers_[t], readers_[stop], step, base + slope * readers_[t], slope * std::int64_t{step}}});
      t = stop + 1;
    }
  }

  void advance(const std::vector<const Span*>& before, const std::vector<const Span*>& after, std::uint32_t time, Vertex step) {
    const auto continues = [&](const Span& a, const Span& b) {
      return a.slope == b.slope && a.base - along(a) * readers_[time - 1] == b.base - along(b) * readers_[time];
    };
    std::size_t a = 0, b = 0;
    std::uint64_t x = 0;
    while (a < before.size() || b < after.size()) {
      const std::uint64_t start_a = a < before.size() ? std::max<std::uint64_t>(before[a]->first, x) : ~std::uint64_t{0};
      const std::uint64_t start_b = b < after.size() ? std::max<std::uint64_t>(after[b]->first, x) : ~std::uint64_t{0};
      const std::uint64_t start = std::min(start_a, start_b);
      const bool in_a = start_a == start, in_b = start_b == start;
      const std::uint64_t stop = std::min(in_a ? before[a]->last : start_a - step, in_b ? after[b]->last : start_b - step);
      if (!(in_a && in_b && continues(*before[a], *after[b]))) {
        for (std::uint64_t j = start; j <= stop; j += step) {
          if (in_a) close(static_cast<Vertex>(j), time);
          if (!in_b) continue;
          open_[j] = time;
          opener_[j] = after[b];
        }
      }
      x = stop + step;
      if (in_a && before[a]->last < x) ++a;
      if (in_b && after[b]->last < x) ++b;
    }
  }

  void store() {
    std::stable_sort(out_.begin(), out_.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.first < b.second.first;
    });
    Lists& columns = table_.columns;
    std::size_t k = 0;
    for (Vertex j = 0; j < graph_.vertices; ++j) {
      columns.begin.push_back(static_cast<std::uint32_t>(columns.spans.size()));
      for (; k < out_.size() && out_[k].first == j; ++k) graph_.append(columns, scale_, out_[k].second);
      columns.end.push_back(static_cast<std::uint32_t>(columns.spans.size()));
    }
    const Lists& rows = table_.rows;
    const auto same = [](const Span& a, const Span& b) {
      return a.first == b.first && a.last == b.last && a.step == b.step && a.slope == b.slope && a.base == b.base;
    };
    for (Vertex v = 0; v < graph_.vertices; ++v) {
      if (!std::equal(columns.spans.begin() + columns.begin[v], columns.spans.begin() + columns.end[v], rows.spans.begin() + rows.begin[v],
                      rows.spans.begin() + rows.end[v], same)) {
        return;
      }
    }
    table_.symmetric = true;
    columns = {};
  }

  Graph& graph_;
  Table& table_;
  Element scale_;
  std::map<std::uint32_t, std::int64_t> along_;  ///< slope over a row -> slope over readers
  std::vector<std::uint32_t> open_, gap_end_;
  std::vector<const Span*> opener_;
  std::vector<Vertex> readers_;
  std::vector<std::pair<Vertex, Run>> out_;
};

}  // namespace

void Graph::complete() {
  for (std::size_t r = 0; r < tables.size(); ++r) Transposer(*this, r).run();
}

// Twins.

namespace {

/// Linear fingerprints of what each vertex reads and is read by in one table, loops left out.
std::vector<Element> fingerprints(const Graph& graph, const Table& table) {
  struct Sums {
    std::uint32_t slope;
    Vertex step;
    std::vector<Element> prefix, gain;
  };
  const Vertex n = graph.vertices;
  std::vector<Sums> kinds;
  std::vector<Element> value(n), print(n, 0);
  for (Vertex x = 0; x < n; ++x) value[x] = value_of(x);
  for (Vertex i = 0; i < n; ++i) {
    const Element mine = multiply(backward, value[i]);
    for (std::uint32_t s = table.rows.begin[i]; s < table.rows.end[i]; ++s) {
      const Span& span = table.rows.spans[s];
      auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const Sums& k) { return k.slope == span.slope && k.step == span.step; });
      if (span.first == span.last || (kind == kinds.end() && kinds.size() >= most_kinds)) {
        for (std::uint64_t y = span.first; y <= span.last; y += span.step) {
          const auto x = static_cast<Vertex>(y);
          if (x == i) continue;
          const Element weight = multiply(span.weight, graph.power(span.slope, x));
          print[x] = add(print[x], multiply(weight, mine));
          print[i] = add(print[i], multiply(weight, value[x]));
        }
        continue;
      }
      if (kind == kinds.end()) {
        kinds.push_back({span.slope, span.step, std::vector<Element>(std::size_t{n} + span.step, 0), std::vector<Element>(std::size_t{n} + span.step, 0)});
        kind = std::prev(kinds.end());
        for (Vertex x = 0; x < n; ++x) kind->prefix[std::size_t{x} + span.step] = add(kind->prefix[x], multiply(graph.power(span.slope, x), value[x]));
      }
      const std::size_t after = std::size_t{span.last} + span.step;
      print[i] = add(print[i], multiply(span.weight, subtract(kind->prefix[after], kind->prefix[span.first])));
      kind->gain[span.first] = add(kind->gain[span.first], multiply(span.weight, mine));
      kind->gain[after] = subtract(kind->gain[after], multiply(span.weight, mine));
      if (!span.contains(i)) continue;
      const Element loop = multiply(multiply(span.weight, graph.power(span.slope, i)), value[i]);
      print[i] = subtract(print[i], add(loop, multiply(loop, backward)));
    }
  }
  for (Sums& kind : kinds) {
    for (Vertex x = 0; x < n; ++x) {
      if (x >= kind.step) kind.gain[x] = add(kind.gain[x], kind.gain[x - kind.step]);
      print[x] = add(print[x], multiply(kind.gain[x], graph.power(kind.slope, x)));
    }
  }
  return print;
}

/// Classes by number; class k has the inner colours inner[k * tables ..], for one vertex alone its loops.
struct Classes {
  std::vector<std::uint32_t> of;
  std::vector<std::vector<Vertex>> members;
  std::vector<std::int64_t> inner;
};

/// Splits the groups by key; vertices left alone get none. Returns the number of groups.
template <class Key>
std::uint32_t regroup(std::vector<std::uint32_t>& group, std::uint32_t names, std::vector<std::uint32_t>& next, Key&& key) {
  struct Stretch {
    std::uint64_t key;
    Vertex begin, end;
  };
  std::vector<Stretch> stretches;
  for (Vertex x = 0; x < group.size(); ++x) {
    if (group[x] == none) continue;
    const std::uint64_t value = mix(key(x), group[x]);
    if (!stretches.empty() && stretches.back().end == x && stretches.back().key == value) {
      ++stretches.back().end;
    } else {
      stretches.push_back({value, x, x + 1});
    }
  }
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.key != b.key ? a.key < b.key : a.begin < b.begin; });
  for (std::size_t begin = 0, end = 0; begin < stretches.size(); begin = end) {
    while (end < stretches.size() && stretches[end].key == stretches[begin].key) ++end;
    if (end - begin == 1 && stretches[begin].end - stretches[begin].begin == 1) continue;
    for (std::size_t k = begin; k < end; ++k) {
      for (Vertex x = stretches[k].begin; x < stretches[k].end; ++x) {
        next[x] = names;
        group[x] = none;
      }
    }
    ++names;
  }
  return names;
}

Classes propose(const Graph& graph, const Json& lists) {
  const Vertex n = graph.vertices;
  const std::size_t tables = graph.tables.size();
  if (lists.size() != tables) throw Malformed("twins: one list of colours per relation is expected");
  std::vector<std::uint32_t> group(n, 0), next(n, none);
  std::vector<std::int64_t> inner(n * tables, -1);
  regroup(group, 0, next, [&](Vertex x) {
    std::uint64_t key = mix(graph.colour[x]);
    for (std::size_t r = 0; r < tables; ++r) key = mix(key, graph.tables[r].visible[x] ? static_cast<std::uint64_t>(graph.find_colour(r, x, x)) + 2 : 0);
    return key;
  });
  group.swap(next);
  for (std::size_t r = 0; r < tables; ++r) {
    if (lists[r].size() > 64) throw Malformed("twins: at most 64 colours per relation");
    const std::vector<Element> print = fingerprints(graph, graph.tables[r]);
    next.assign(n, none);
    std::uint32_t names = 0;
    for (std::size_t c = 0; c <= lists[r].size(); ++c) {
      const std::int64_t colour = c == 0 ? -1 : static_cast<std::int64_t>(lists[r][c - 1].natural());
      const Element inside = c == 0 ? 0 : multiply(multiply(add(1, backward), scale_of(r)), power_of(colour_base, colour));
      const std::uint32_t known = names;
      names = regroup(group, names, next, [&](Vertex x) { return add(print[x], multiply(inside, value_of(x))); });
      for (Vertex x = 0; x < n && names > known; ++x) {
        if (next[x] != none && next[x] >= known) inner[x * tables + r] = colour;
      }
    }
    group.swap(next);
  }
  Classes classes;
  classes.of.assign(n, none);
  std::vector<std::uint32_t> name(n, none);
  for (Vertex x = 0; x < n; ++x) {
    std::uint32_t* known = group[x] == none ? nullptr : &name[group[x]];
    if (known == nullptr || *known == none) {
      if (known != nullptr) *known = static_cast<std::uint32_t>(classes.members.size());
      classes.members.emplace_back();
      for (std::size_t r = 0; r < tables; ++r) classes.inner.push_back(known != nullptr ? inner[x * tables + r] : graph.find_colour(r, x, x));
    }
    classes.of[x] = known != nullptr ? *known : static_cast<std::uint32_t>(classes.members.size() - 1);
    classes.members[classes.of[x]].push_back(x);
  }
  return classes;
}

/// The row of x with its own place coloured `inner` (-1: absent), canonical.
void replace_own(const Graph& graph, std::size_t r, Vertex x, std::int64_t inner, std::vector<Run>& row) {
  const Lists& rows = graph.tables[r].rows;
  row.clear();
  for (std::uint32_t k = rows.begin[x]; k < rows.end[x]; ++k) row.push_back(graph.run(rows.spans[k]));
  canonicalise(row);
  if (colour_in(row, x) == inner) return;
  std::vector<Run> changed;
  for (const Run& run : row) {
    if (x < run.first || x > run.last) {
      changed.push_back(run);
      continue;
    }
    if (run.first < x) changed.push_back({run.first, x - 1, 1, run.colour, run.colour_step});
    if (run.last > x) changed.push_back({x + 1, run.last, 1, run.colour + run.colour_step * std::int64_t{x + 1 - run.first}, run.colour_step});
  }
  if (inner >= 0) changed.push_back({x, x, 1, inner, 0});
  canonicalise(changed);
  row.swap(changed);
}

/// Is every class one of twins? Members agree in colour, visibility, loops and rows (own place replaced), and the row of every
/// representative has one colour on each class; rows of other members are the same, so everybody reads every class alike.
bool are_twins(const Graph& graph, const Classes& classes) {
  const Vertex n = graph.vertices;
  const std::size_t tables = graph.tables.size();
  std::vector<Vertex> after(std::size_t{n} + 1, n);  // the next vertex that has a twin
  for (Vertex x = n; x-- > 0;) after[x] = classes.members[classes.of[x]].size() > 1 ? x : after[x + 1];
  struct Count {
    Vertex seen = 0;
    std::int64_t colour = 0;
  };
  std::vector<Count> counts(classes.members.size());
  std::vector<std::uint32_t> met;
  std::vector<Run> row, other;
  for (std::uint32_t k = 0; k < classes.members.size(); ++k) {
    const std::vector<Vertex>& members = classes.members[k];
    for (std::size_t r = 0; r < tables; ++r) {
      const Table& table = graph.tables[r];
      const std::int64_t inner = classes.inner[k * tables + r], loop = graph.find_colour(r, members[0], members[0]);
      if (table.visible[members[0]]) {
        replace_own(graph, r, members[0], inner, row);
        bool same = true;
        for (const Run& run : row) {
          for (Vertex x = after[run.first]; x <= run.last && same;) {
            const std::uint32_t c = classes.of[x];
            const std::vector<Vertex>& twins = classes.members[c];
            const std::int64_t colour = run.colour + run.colour_step * std::int64_t{x - run.first};
            const Vertex last = twins.back();
            if (counts[c].seen == 0 && x == twins[0] && run.colour_step == 0 && last <= run.last && last - x + 1 == twins.size()) {
              x = after[last + 1];  // a stretch of twins inside the run
              continue;
            }
            if (counts[c].seen++ == 0) {
              counts[c].colour = colour;
              met.push_back(c);
            }
            same = counts[c].colour == colour;
            x = after[x + 1];
          }
        }
        for (const std::uint32_t c : met) {
          same = same && counts[c].seen == classes.members[c].size();
          counts[c].seen = 0;
        }
        met.clear();
        if (!same) return false;
      }
      for (std::size_t m = 1; m < members.size(); ++m) {
        const Vertex x = members[0], y = members[m];
        if (graph.colour[x] != graph.colour[y] || table.visible[x] != table.visible[y] || loop != graph.find_colour(r, y, y)) return false;
        const bool shared = table.rows.begin[x] == table.rows.begin[y] && table.rows.end[x] == table.rows.end[y];
        if (!table.visible[x] || (shared && loop == inner)) continue;
        replace_own(graph, r, y, inner, other);
        if (row != other) return false;
      }
    }
  }
  return true;
}

}  // namespace

Tower::Tower(const Structure& structure, std::vector<std::uint64_t> colour) : begin_(std::size_t{structure.vertices} + 1), fibre_(structure.vertices) {
  graph.vertices = structure.vertices;
  graph.colour = std::move(colour);
  std::iota(begin_.begin(), begin_.end(), std::uint32_t{0});
  std::iota(fibre_.begin(), fibre_.end(), Vertex{0});
  std::vector<Run> row;
  for (const Structure::Shown& shown : structure.relations) {
    graph.add_table();
    for (Vertex i = 0; i < graph.vertices; ++i) {
      const bool visible = shown.visible.empty() || shown.visible[i];
      if (visible) shown.relation->row(i, row);
      graph.add_row(row, visible);
    }
  }
}

void Tower::divide(const Json& inner, std::map<std::vector<std::int64_t>, std::uint64_t>& names, const std::string& claim) {
  const Classes classes = propose(graph, inner);
  if (!are_twins(graph, classes)) throw Rejected(claim, "vertices proposed as twins by their fingerprints are none");
  const std::size_t tables = graph.tables.size();
  Graph quotient;
  quotient.vertices = static_cast<Vertex>(classes.members.size());
  std::vector<std::uint32_t> begin{0}, rank(std::size_t{graph.vertices} + 1, 0);
  std::vector<Vertex> fibres;
  for (std::uint32_t k = 0; k < classes.members.size(); ++k) {
    const std::vector<Vertex>& members = classes.members[k];
    std::vector<std::int64_t> tuple{static_cast<std::int64_t>(graph.colour[members[0]]), static_cast<std::int64_t>(members.size())};
    for (std::size_t r = 0; r < tables; ++r) tuple.insert(tuple.end(), {classes.inner[k * tables + r], graph.find_colour(r, members[0], members[0])});
    quotient.colour.push_back(names.try_emplace(std::move(tuple), names.size()).first->second);
    for (const Vertex x : members) fibres.insert(fibres.end(), fibre_.begin() + begin_[x], fibre_.begin() + begin_[x + 1]);
    if (members.size() > 1) twins.push_back({{fibres.begin() + begin.back(), fibres.end()}, begin_[members[0] + 1] - begin_[members[0]]});
    begin.push_back(static_cast<std::uint32_t>(fibres.size()));
    rank[members[0] + 1] = 1;
  }
  std::partial_sum(rank.begin(), rank.end(), rank.begin());  // representatives below x
  std::vector<Run> row, mapped;
  for (std::size_t r = 0; r < tables; ++r) {
    quotient.add_table();
    for (std::uint32_t k = 0; k < classes.members.size(); ++k) {
      const Vertex representative = classes.members[k][0];
      mapped.clear();
      if (graph.tables[r].visible[representative]) {
        replace_own(graph, r, representative, classes.inner[k * tables + r], row);
        for (const Run& run : row) {
          if (rank[run.last + 1] == rank[run.first]) continue;
          if (run.colour_step == 0) mapped.push_back({rank[run.first], rank[run.last + 1] - 1, 1, run.colour, 0});
          for (Vertex y = run.first; y <= run.last && run.colour_step != 0; ++y) {
            if (rank[y + 1] > rank[y]) mapped.push_back({rank[y], rank[y], 1, run.colour + run.colour_step * std::int64_t{y - run.first}, 0});
          }
        }
        canonicalise(mapped);
        compress(mapped);
      }
      quotient.add_row(mapped, graph.tables[r].visible[representative]);
    }
  }
  graph = std::move(quotient);
  begin_ = std::move(begin);
  fibre_ = std::move(fibres);
}

void Tower::shrink(const std::vector<Tower*>& towers, const Json& inner, const std::string& claim) {
  std::map<std::vector<std::int64_t>, std::uint64_t> names;
  for (const Json& stage : inner.array()) {
    for (Tower* tower : towers) tower->divide(stage, names, claim);
    for (const Tower* tower : towers) {
      if (tower->graph.vertices != towers.front()->graph.vertices) return;
    }
  }
}

}  // namespace checker

#include "graph.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

constexpr std::size_t most_slopes = 16;

bool by_first(const Run& a, const Run& b) { return a.first < b.first; }

void sort_by_first(std::vector<Run>& runs) {
  if (!std::is_sorted(runs.begin(), runs.end(), by_first)) std::sort(runs.begin(), runs.end(), by_first);
}

/// Runs with steps written out vertex by vertex, sorted.
void expand(std::vector<Run>& runs) {
  std::vector<Run> flat;
  std::size_t members = 0;
  for (const Run& run : runs) members += run.step == 1 ? 1 : run.size();
  flat.reserve(members);
  for (const Run& run : runs) {
    const bool whole = run.step == 1 || run.first == run.last;
    for (Vertex k = 0; k < (whole ? 1 : run.size()); ++k) {
      const Vertex x = run.first + k * run.step;
      flat.push_back({x, whole ? run.last : x, 1, run.colour + k * run.colour_step, whole && run.first != run.last ? run.colour_step : 0});
    }
  }
  sort_by_first(flat);
  runs.swap(flat);
}

/// Members that are sooner sorted by step than written out.
bool has_long_steps(const std::vector<Run>& runs) {
  constexpr Threshold<std::uint64_t> many{1024, 2, "stepped members"}, many_for_each{32, 1, "stepped members"};
  std::uint64_t members = 0;
  for (const Run& run : runs) members += run.step > 1 ? run.size() : 0;
  return members > many || members > many_for_each * runs.size();
}
bool has_one_colour_each(const std::vector<Run>& runs) {
  return std::all_of(runs.begin(), runs.end(), [](const Run& run) { return run.colour_step == 0 || run.first == run.last; });
}

/// Without writing out what both have: in each colour the difference of the two sets, as a sum over steps and residues, in each of which most cancels; what is left
/// is written out, and must cancel as well. @pre has_one_colour_each
bool agree_by_steps(const std::vector<Run>& a, const std::vector<Run>& b) {
  struct Edge {
    std::int64_t colour;
    Vertex step, residue;
    std::uint64_t at;
    int change;
  };
  std::vector<Edge> stepped, plain;
  for (const auto* runs : {&a, &b}) {
    const int sign = runs == &a ? 1 : -1;
    for (const Run& run : *runs) {
      const Vertex step = run.first == run.last ? 1 : run.step;
      std::vector<Edge>& edges = step == 1 ? plain : stepped;
      edges.push_back({run.colour, step, run.first % step, run.first, sign});
      edges.push_back({run.colour, step, run.first % step, std::uint64_t{run.last} + step, -sign});
    }
  }
  const auto sort = [](std::vector<Edge>& edges) {
    std::sort(edges.begin(), edges.end(), [](const Edge& x, const Edge& y) { return std::tie(x.colour, x.step, x.residue, x.at) < std::tie(y.colour, y.step, y.residue, y.at); });
  };
  sort(stepped);
  int open = 0;
  for (std::size_t k = 0; k < stepped.size(); ++k) {
    open += stepped[k].change;
    if (open == 0) continue;
    // There is a next one with this step and residue: it closes what is open.
    for (std::uint64_t x = stepped[k].at; x < stepped[k + 1].at; x += stepped[k].step) {
      plain.push_back({stepped[k].colour, 1, 0, x, open});
      plain.push_back({stepped[k].colour, 1, 0, x + 1, -open});
    }
  }
  sort(plain);
  for (std::size_t k = 0; k < plain.size(); ++k) {
    open += plain[k].change;
    const bool is_last = k + 1 == plain.size() || plain[k + 1].colour != plain[k].colour || plain[k + 1].at != plain[k].at;
    if (is_last && open != 0) return false;
  }
  return true;
}

}  // namespace

bool same_runs(std::vector<Run>& a, std::vector<Run>& b) {
  sort_by_first(a);
  sort_by_first(b);
  if (a == b) return true;
  if ((has_long_steps(a) || has_long_steps(b)) && has_one_colour_each(a) && has_one_colour_each(b)) return agree_by_steps(a, b);
  expand(a);
  expand(b);
  const auto colour_at = [](const Run& run, Vertex x) { return run.colour + run.colour_step * std::int64_t{x - run.first}; };
  std::uint64_t x = 0;  // everything below agrees
  std::size_t at = 0, bt = 0;
  while (at < a.size() && bt < b.size()) {
    const Run &left = a[at], &right = b[bt];
    const std::uint64_t here = std::max<std::uint64_t>(x, left.first), stop = std::min(left.last, right.last);
    if (here != std::max<std::uint64_t>(x, right.first) || here > stop) return false;
    const auto first = static_cast<Vertex>(here), last = static_cast<Vertex>(stop);
    if (colour_at(left, first) != colour_at(right, first) || colour_at(left, last) != colour_at(right, last)) return false;
    x = stop + 1;
    at += left.last < x ? 1 : 0;
    bt += right.last < x ? 1 : 0;
  }
  return at == a.size() && bt == b.size();
}

StretchMap::StretchMap(const Moves& moves, Vertex vertices, const std::vector<Vertex>& steps) {
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
  constexpr std::size_t much = 8;
  if (moves.size() * much < vertices) {
    for (const Vertex step : steps) chain(step);
    return;
  }
  image_.resize(vertices);
  std::iota(image_.begin(), image_.end(), Vertex{0});
  for (const auto& [x, y] : moves) image_[x] = y;
  const auto add_step = [&](Vertex step) {
    std::vector<Vertex>& until = even_.emplace_back(step, std::vector<Vertex>(vertices)).second;
    const auto distance = [&](Vertex x) { return std::int64_t{image_[x + step]} - image_[x]; };
    for (Vertex x = vertices; x-- > 0;) {
      until[x] = x;
      if (vertices - x > step) until[x] = vertices - x - step > step && distance(x + step) == distance(x) ? until[x + step] : x + step;
    }
  };
  for (const Vertex step : steps) add_step(step);
  // Rows of a grid become columns: neighbours go apart, evenly.
  if (stretches_.size() > moves.size() / 4) add_step(1);
}

void StretchMap::chain(Vertex step) {
  std::vector<Vertex>& last = chained_.emplace_back(step, std::vector<Vertex>(stretches_.size())).second;
  std::size_t next = stretches_.size();  // the first that begins at first + step or behind it
  for (std::size_t k = stretches_.size(); k-- > 0;) {
    const Stretch& here = stretches_[k];
    while (next > k + 1 && stretches_[next - 1].first >= std::uint64_t{here.first} + step) --next;
    last[k] = here.first;
    if (next == stretches_.size() || here.last - here.first >= step) continue;
    const Stretch& there = stretches_[next];
    const bool alike = there.last - there.first == here.last - here.first && there.direction == here.direction;
    if (alike && there.first == here.first + step && there.image == here.image + step) last[k] = last[next];
  }
}

void StretchMap::map_stepped(const Run& run, const std::vector<Vertex>& until, std::vector<Run>& out) const {
  for (std::uint64_t x = run.first; x <= run.last;) {
    const auto from = static_cast<Vertex>(x);
    Vertex to = std::min(run.last, until[from]);
    const Vertex gap = to == from ? 1 : image_[from] < image_[from + run.step] ? image_[from + run.step] - image_[from] : image_[from] - image_[from + run.step];
    if (to - from == run.step && gap != run.step) to = from;  // any two are evenly spaced
    const std::int64_t colour = run.colour + static_cast<std::int64_t>((x - run.first) / run.step) * run.colour_step;
    const Vertex step = to > from ? gap : 1;
    const std::int64_t colour_step = to > from ? run.colour_step : 0;
    if (image_[from] <= image_[to]) {
      out.push_back({image_[from], image_[to], step, colour, colour_step});
    } else {
      out.push_back({image_[to], image_[from], step, colour + static_cast<std::int64_t>((to - from) / run.step) * colour_step, -colour_step});
    }
    x = std::uint64_t{to} + run.step;
  }
}

void StretchMap::map(const Run& run, std::vector<Run>& out) const {
  if (!image_.empty() && run.colour_step == 0 && run.last - run.first <= run.step) {  // one vertex, or two
    const auto [first, last] = std::minmax(image_[run.first], image_[run.last]);
    return void(out.push_back({first, last, std::max<Vertex>(1, last - first), run.colour, 0}));
  }
  for (const auto& [step, until] : even_) {
    if (run.step == step && run.first != run.last) return map_stepped(run, until, out);
  }
  const std::size_t begin = out.size();
  const auto ends_before = [](const Stretch& s, Vertex x) { return s.last < x; };
  auto at = std::lower_bound(stretches_.begin(), stretches_.end(), run.first, ends_before);
  for (std::uint64_t x = run.first; x <= run.last;) {
    if (run.step > 1) at = std::lower_bound(at, stretches_.end(), static_cast<Vertex>(x), ends_before);
    else while (at != stretches_.end() && at->last < x) ++at;
    const bool inside = at != stretches_.end() && at->first <= x;
    const Vertex stop = at == stretches_.end() ? run.last : std::min(run.last, inside ? at->last : at->first - 1);
    std::uint64_t more = (stop - x) / run.step, further = 0;  // members that lie in this stretch, and behind it that move as the first
    for (const auto& [step, last] : chained_) {
      if (!inside || more > 0 || run.step != step) continue;
      further = std::min<std::uint64_t>(run.last - x, last[static_cast<std::size_t>(at - stretches_.begin())] - at->first) / step;
    }
    const auto image = [&](Vertex v) { return !inside ? v : at->direction > 0 ? at->image + (v - at->first) : at->image - (v - at->first); };
    const Vertex from = image(static_cast<Vertex>(x)), to = further > 0 ? static_cast<Vertex>(from + further * run.step) : image(static_cast<Vertex>(x + more * run.step));
    more += further;
    const std::int64_t colour = run.colour + static_cast<std::int64_t>((x - run.first) / run.step) * run.colour_step;
    const Vertex step = more > 0 ? run.step : 1;
    const std::int64_t colour_step = more > 0 ? run.colour_step : 0;
    if (from <= to) {
      out.push_back({from, to, step, colour, colour_step});
    } else {
      out.push_back({to, from, step, colour + static_cast<std::int64_t>(more) * colour_step, -colour_step});
    }
    // Vertices far apart that move alike are still one run.
    if (run.step > 1 && run.colour_step == 0 && out.size() > begin + 1) {
      const Run& piece = out.back();
      Run& tail = out[out.size() - 2];
      const bool above = std::uint64_t{tail.last} + run.step == piece.first, below = std::uint64_t{piece.last} + run.step == tail.first;
      if (above) tail.last = piece.last;
      if (below) tail.first = piece.first;
      if (above || below) {
        tail.step = run.step;
        out.pop_back();
      }
    }
    x += (more + 1) * run.step;
  }
}

namespace {

/// Rows of a few vertices and one colour, compared by marking the images of one in an array: maps that turn rows of a grid into columns
/// leave nothing of their runs.
class ShortRows {
public:
  ShortRows(const StretchMap& map, Vertex vertices) : image_(map.images()) {
    if (!image_.empty()) mark_.assign(vertices, 0);
  }

  static constexpr Threshold<Vertex> few{256, 2, "regions"};

  /// Nothing where rows are longer than that or coloured, or little moves. @param x, y  disjoint spans
  template <class Spans>
  std::optional<bool> agree(const Spans& x, const Spans& y, std::uint64_t longest = few) {
    if (image_.empty() || x.empty()) return std::nullopt;
    const std::int64_t base = (*x.begin()).base;
    if (++round_ == 0) return std::nullopt;
    const auto size = count(x, base, longest), other = count(y, base, longest);
    if (!size || !other) return std::nullopt;
    if (*size != *other) return false;
    for (const Span& span : x) {
      for (std::uint64_t v = span.first; v <= span.last; v += span.step) mark_[image_[v]] = round_;
    }
    for (const Span& span : y) {
      for (std::uint64_t v = span.first; v <= span.last; v += span.step) {
        if (mark_[v] != round_) return false;
      }
    }
    return true;
  }

private:
  template <class Spans>
  static std::optional<std::uint64_t> count(const Spans& spans, std::int64_t base, std::uint64_t longest) {
    std::uint64_t sum = 0;
    for (const Span& span : spans) {
      if (span.slope != 0 || span.base != base || (sum += (span.last - span.first) / span.step + 1) > longest) return std::nullopt;
    }
    return sum;
  }

  const std::vector<Vertex>& image_;
  std::vector<std::uint32_t> mark_;  // by vertex: the last round that met it
  std::uint32_t round_ = 0;
};

}  // namespace

bool maps(const Graph& a, const Graph& b, const Moves& moves, bool local) {
  const StretchMap map(moves, a.vertices, a.steps);
  ShortRows short_rows(map, a.vertices);
  std::vector<Run> image, there;
  const auto agree = [&](Vertex x, Vertex y) {
    poll();
    if (a.colour[x] != b.colour[y]) return false;
    for (std::size_t r = 0; r < a.tables.size(); ++r) {
      const Table &left = a.tables[r], &right = b.tables[r];
      if (left.visible[x] != right.visible[y]) return false;
      for (const bool rows : {true, false}) {
        if (!rows && (!local || left.symmetric)) continue;
        const Lists &from = rows ? left.rows : left.columns, &to = rows ? right.rows : right.columns;
        if (const auto found = short_rows.agree(from.of(x), to.of(y))) {
          if (!*found) return false;
          continue;
        }
        image.clear();
        there.clear();
        for (const Span& span : from.of(x)) map.map(a.run(span), image);
        constexpr std::uint64_t cut_small = 32;
        if (const auto found = image.size() > from.of(x).size() ? short_rows.agree(from.of(x), to.of(y), cut_small * image.size()) : std::nullopt) {
          if (!*found) return false;
          continue;
        }
        for (const Span& span : to.of(y)) there.push_back(b.run(span));
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

std::vector<Run> Graph::row(const Table& table, Vertex i) const {
  std::vector<Run> runs;
  for (const Span& span : table.rows.of(i)) runs.push_back(run(span));
  return runs;
}

std::int64_t Graph::find_colour(std::size_t table, Vertex i, Vertex j) const {
  for (const Span& span : tables[table].rows.of(i)) {
    if (span.contains(j)) return span.base + slopes[span.slope] * std::int64_t{j};
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
  Span span{run.first, run.last, run.first == run.last ? 1 : run.step, static_cast<std::uint16_t>(slope), 0, 0, run.colour - slopes[slope] * std::int64_t{run.first}, 0};
  constexpr Threshold<std::size_t> few_steps{4, 1, "long runs"};
  constexpr Threshold<Vertex> long_run{16, 2, "long runs"};
  if (span.step > 1 && run.size() >= long_run && steps.size() < few_steps && std::find(steps.begin(), steps.end(), span.step) == steps.end()) steps.push_back(span.step);
  const bool same = !lists.spans.empty() && lists.spans.back().base == span.base;
  span.weight = same ? lists.spans.back().weight : multiply(scale, power_of(colour_base, span.base));
  lists.spans.push_back(span);
}

void Graph::add_table() { tables.emplace_back(); }

void Lists::close() {
  const auto v = static_cast<Vertex>(stretch_of.size());
  const auto begin = stretches.empty() ? 0 : stretches.back().end, end = static_cast<std::uint32_t>(spans.size());
  const auto goes_on = [&] {
    if (stretches.empty() || end - begin != begin - stretches.back().begin) return false;
    const Vertex k = v - stretches.back().first;
    Span* const before = spans.data() + stretches.back().begin;
    const Span* const here = spans.data() + begin;
    for (std::uint32_t at = 0; at < end - begin; ++at) {
      const Span &a = before[at], &b = here[at];
      if (a.step != b.step || a.slope != b.slope || a.base != b.base) return false;
      if (k > 1 && (b.first != a.first + a.first_moves * k || b.last != a.last + a.last_moves * k)) return false;
      if (k == 1 && (b.first - a.first > 1 || b.last - a.last > 1 || (a.step > 1 && b.first - a.first != b.last - a.last))) return false;
    }
    for (std::uint32_t at = 0; k == 1 && at < end - begin; ++at) {
      before[at].first_moves = static_cast<std::uint8_t>(here[at].first - before[at].first);
      before[at].last_moves = static_cast<std::uint8_t>(here[at].last - before[at].last);
    }
    return true;
  };
  if (goes_on()) {
    spans.resize(begin);
  } else {
    stretches.push_back({v, begin, end});
  }
  stretch_of.push_back(static_cast<std::uint32_t>(stretches.size() - 1));
}

void Graph::add_rows(const std::vector<Run>& runs, bool visible, Vertex count) {
  Table& table = tables.back();
  table.visible.resize(table.visible.size() + count, visible);
  for (Vertex k = 0; k < std::min<Vertex>(count, 2); ++k) {
    for (std::size_t r = 0; visible && r < runs.size(); ++r) append(table.rows, scale_of(tables.size() - 1), runs[r]);
    table.rows.close();
  }
  // Two equal rows do not move, in one stretch or in two.
  if (count > 2) table.rows.stretch_of.resize(table.rows.stretch_of.size() + count - 2, table.rows.stretch_of.back());
}

namespace {

/// Columns of one table: successive readers are compared, and only vertices where they differ cost anything.
class Transposer {
public:
  Transposer(Graph& graph, std::size_t number) : graph_(graph), table_(graph.tables[number]), scale_(scale_of(number)) {}

  void run() {
    const Lists& rows = table_.rows;
    if (!run_by_stretches()) run_by_readers();
    const auto all = std::views::iota(Vertex{0}, graph_.vertices);
    if (!std::ranges::all_of(all, [&](Vertex v) { return std::ranges::equal(table_.columns.of(v), rows.of(v)); })) return;
    table_.symmetric = true;
    table_.columns = {};
  }

private:
  /// A span of a stretch of readers is a region of arcs with straight sides: the vertices between two of its corners are read alike, or by readers
  /// that move along with them. A short span with a step is so many regions. False, and nothing done, for longer ones, colours and where corners are many.
  bool run_by_stretches() {
    struct Region {
      Vertex begin, end, reader, count;  // first vertex and the one behind the last, first reader
      Span span;
    };
    const Lists& rows = table_.rows;
    std::vector<Region> regions;
    std::vector<Vertex> corners{0, graph_.vertices};
    for (std::size_t k = 0; k < rows.stretches.size(); ++k) {
      const Lists::Stretch& stretch = rows.stretches[k];
      const Vertex count = (k + 1 < rows.stretches.size() ? rows.stretches[k + 1].first : graph_.vertices) - stretch.first;
      for (std::uint32_t at = stretch.begin; at < stretch.end; ++at) {
        const Span& whole = rows.spans[at];
        constexpr Threshold<Vertex> few{64, 2, "regions"}, share{16, 1, "regions"};
        if (whole.slope != 0 || (whole.step != 1 && (whole.last - whole.first) / whole.step >= few) || regions.size() > graph_.vertices / share) return false;
        for (Vertex first = whole.first; first <= whole.last; first = whole.step == 1 ? whole.last + 1 : first + whole.step) {
          const Span span{first, whole.step == 1 ? whole.last : first, 1, 0, whole.first_moves, whole.last_moves, whole.base, whole.weight};
          regions.push_back({span.first, span.last + 1 + span.last_moves * (count - 1), stretch.first, count, span});
          corners.insert(corners.end(), {span.first, regions.back().end});
          if (span.first_moves != 0) corners.push_back(span.first + count - 1);
          if (span.last_moves != 0) corners.push_back(span.last + 1);
        }
      }
    }
    std::sort(corners.begin(), corners.end());
    corners.erase(std::unique(corners.begin(), corners.end()), corners.end());
    const auto number = [&](Vertex corner) { return std::lower_bound(corners.begin(), corners.end(), corner) - corners.begin(); };
    std::uint64_t work = 0;
    for (const Region& region : regions) work += static_cast<std::uint64_t>(number(region.end) - number(region.begin));
    if (work > 2 * std::uint64_t{graph_.vertices}) return false;
    std::sort(regions.begin(), regions.end(), [](const Region& a, const Region& b) { return a.begin < b.begin; });
    std::vector<Region> open;
    Lists& columns = table_.columns;
    std::vector<Span> here;
    for (std::size_t k = 0, next = 0; k + 1 < corners.size(); ++k) {
      poll();
      const Vertex j = corners[k];
      std::erase_if(open, [j](const Region& region) { return region.end <= j; });
      for (; next < regions.size() && regions[next].begin == j; ++next) open.push_back(regions[next]);
      here.clear();
      for (const Region& region : open) {
        Span span = region.span;
        span.first_moves = span.last_moves != 0 && j > region.span.last ? 1 : 0;
        span.last_moves = region.span.first_moves != 0 && j - region.begin < region.count - 1 ? 1 : 0;
        span.first = region.reader + (span.first_moves != 0 ? j - region.span.last : 0);
        span.last = region.reader + (region.span.first_moves != 0 ? std::min(j - region.begin, region.count - 1) : region.count - 1);
        here.push_back(span);
      }
      std::sort(here.begin(), here.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
      const bool alone = corners[k + 1] - j == 1;
      columns.stretches.push_back({j, static_cast<std::uint32_t>(columns.spans.size()), 0});
      for (const Span& span : here) {
        const bool joins = columns.spans.size() > columns.stretches.back().begin && columns.spans.back().last + 1 == span.first && columns.spans.back().base == span.base &&
                           (alone || columns.spans.back().last_moves == span.first_moves);
        if (!joins) columns.spans.push_back(span);
        columns.spans.back().last = span.last;
        columns.spans.back().last_moves = span.last_moves;
      }
      for (std::size_t at = columns.stretches.back().begin; alone && at < columns.spans.size(); ++at) columns.spans[at].first_moves = columns.spans[at].last_moves = 0;
      join_steps(columns.spans, columns.stretches.back().begin);
      columns.stretches.back().end = static_cast<std::uint32_t>(columns.spans.size());
      columns.stretch_of.resize(corners[k + 1], static_cast<std::uint32_t>(columns.stretches.size() - 1));
    }
    return true;
  }

  /// From `begin` on: three or more single vertices at equal gaps that all stay where they are, or all move along, as one span.
  static void join_steps(std::vector<Span>& spans, std::size_t begin) {
    const auto joins = [&](std::size_t a, std::size_t b) {
      return b < spans.size() && spans[a].base == spans[b].base && spans[b].first == spans[b].last && spans[b].first_moves == spans[b].last_moves &&
             spans[a].first_moves == spans[b].first_moves;
    };
    std::size_t out = begin;
    for (std::size_t k = begin, end = 0; k < spans.size(); k = end) {
      end = k + 1;
      const bool single = joins(k, k) && joins(k, end);
      const Vertex gap = single ? spans[end].first - spans[k].first : 0;
      while (single && joins(k, end) && spans[end].first - spans[end - 1].first == gap) ++end;
      if (end - k < 3) end = k + 1;
      spans[out] = spans[k];
      if (end - k > 1) spans[out].step = gap;
      spans[out++].last = spans[end - 1].last;
    }
    spans.resize(out);
  }

  void run_by_readers() {
    struct Entry {
      Vertex step, residue, reader;
      std::uint32_t span;
    };
    const Lists& rows = table_.rows;
    std::vector<Entry> entries;
    for (Vertex i = 0; i < graph_.vertices; ++i) {
      std::uint32_t number = rows.stretches[rows.stretch_of[i]].begin;
      for (const Span& span : rows.of(i)) {
        entries.push_back({span.step, span.first % span.step, i, number++});
        if (span.slope == 0 || i + 1 == graph_.vertices || along_.count(span.slope) != 0) continue;
        for (const Span& next : rows.of(i + 1)) {
          if (next.slope != span.slope) continue;
          const std::int64_t slope = next.base - span.base;
          along_[span.slope] = graph_.find_slope(slope) == none ? 0 : slope;
          break;
        }
      }
    }
    const auto before_in_kind = [](const Entry& a, const Entry& b) { return a.step != b.step ? a.step < b.step : a.residue < b.residue; };
    if (!std::is_sorted(entries.begin(), entries.end(), before_in_kind)) std::stable_sort(entries.begin(), entries.end(), before_in_kind);
    open_.resize(graph_.vertices);
    std::vector<Span> before, after;
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
      find_period();
      before.clear();
      std::size_t k = begin;
      for (std::uint32_t time = 0; time <= readers_.size(); ++time) {
        after.clear();
        for (; time < readers_.size() && k < end && entries[k].reader == readers_[time]; ++k) {
          after.push_back(rows.spans[entries[k].span].moved(entries[k].reader - rows.stretches[rows.stretch_of[entries[k].reader]].first));
        }
        advance(before, after, time, entries[begin].step);
        before.swap(after);
      }
    }
    store();
  }

  /// Readers that are no progression, but so many of them side by side: the last tokens of every block.
  void find_period() {
    constexpr std::size_t most_parts = 4;
    constexpr Threshold<std::size_t> many{64, most_parts + 1, "periods of readers"};  // no less: so many are gone through below
    const std::size_t count = readers_.size();
    period_ = 0;
    std::size_t parts = 0;
    for (std::size_t t = 0; t < count && parts < many; t = gap_end_[t] + 1) ++parts;
    if (parts < many) return;
    const auto is_even = [&](std::size_t t, std::size_t p) { return t + 2 * p < count && readers_[t + 2 * p] - readers_[t + p] == readers_[t + p] - readers_[t]; };
    // As long as a few of the progressions that they are, one after another.
    const std::size_t begin = gap_end_[0] + 1;
    for (std::size_t k = 0, p = 0; k < most_parts && period_ == 0; ++k) {
      p = gap_end_[begin + p] + 1 - begin;
      std::size_t even = 0;
      for (std::size_t t = 0; t < count; ++t) even += is_even(t, p) ? 1 : 0;
      if (even >= count / 8 * 7) period_ = static_cast<std::uint32_t>(p);
    }
    if (period_ == 0) return;
    period_end_.assign(count, 0);
    for (std::size_t t = count; t-- > 0;) {
      period_end_[t] = is_even(t, period_) ? period_end_[t + 1] : static_cast<std::uint32_t>(std::min<std::size_t>(t + 2 * period_ - 1, count - 1));
    }
  }

  std::int64_t along(std::uint32_t slope) const {
    const auto found = along_.find(slope);
    return found == along_.end() ? 0 : found->second;
  }

  /// Readers number open_[j].time .. time-1 read j as the span that opened it began.
  void close(Vertex j, std::uint32_t time) {
    const auto [base_there, from, number] = open_[j];
    const std::int64_t slope = along(number);
    const std::int64_t base = base_there + graph_.slopes[number] * std::int64_t{j} - slope * readers_[from];
    for (std::uint32_t t = from; t < time;) {
      const std::uint32_t stop = std::min(gap_end_[t], time - 1), far = period_ == 0 ? t : std::min(period_end_[t], time - 1);
      if (period_ != 0 && far - t >= 4 * period_ && 2 * std::uint64_t{period_} * (stop - t + 1) < far - t) {
        for (std::uint32_t q = t; q < t + period_; ++q) {
          const std::uint32_t last = q + (far - q) / period_ * period_;
          const Vertex gap = readers_[q + period_] - readers_[q];
          out_.push_back({j, {readers_[q], readers_[last], gap, base + slope * readers_[q], slope * std::int64_t{gap}}});
        }
        t = far + 1;
        continue;
      }
      const Vertex step = stop > t ? readers_[t + 1] - readers_[t] : 1;
      out_.push_back({j, {readers_[t], readers_[stop], step, base + slope * readers_[t], slope * std::int64_t{step}}});
      t = stop + 1;
    }
  }

  void advance(const std::vector<Span>& before, const std::vector<Span>& after, std::uint32_t time, Vertex step) {
    const auto continues = [&](const Span& a, const Span& b) {
      return a.slope == b.slope && a.base - along(a.slope) * readers_[time - 1] == b.base - along(b.slope) * readers_[time];
    };
    std::size_t a = 0, b = 0;
    std::uint64_t x = 0;
    while (a < before.size() || b < after.size()) {
      const std::uint64_t start_a = a < before.size() ? std::max<std::uint64_t>(before[a].first, x) : ~std::uint64_t{0};
      const std::uint64_t start_b = b < after.size() ? std::max<std::uint64_t>(after[b].first, x) : ~std::uint64_t{0};
      const std::uint64_t start = std::min(start_a, start_b);
      const bool in_a = start_a == start, in_b = start_b == start;
      const std::uint64_t stop = std::min(in_a ? before[a].last : start_a - step, in_b ? after[b].last : start_b - step);
      poll();
      if (!(in_a && in_b && continues(before[a], after[b]))) {
        for (std::uint64_t j = start; j <= stop; j += step) {
          if (in_a) close(static_cast<Vertex>(j), time);
          if (in_b) open_[j] = {after[b].base, time, after[b].slope};
        }
      }
      x = stop + step;
      if (in_a && before[a].last < x) ++a;
      if (in_b && after[b].last < x) ++b;
    }
  }

  void store() {
    // By the vertex that is read; one kind of runs gives its readers in order.
    std::vector<std::uint32_t> at(std::size_t{graph_.vertices} + 1, 0), sorted(out_.size());
    for (const auto& [j, run] : out_) ++at[std::size_t{j} + 1];
    std::partial_sum(at.begin(), at.end(), at.begin());
    for (std::uint32_t k = 0; k < out_.size(); ++k) sorted[at[out_[k].first]++] = k;
    for (Vertex j = 0; j < graph_.vertices; ++j) {
      const auto begin = sorted.begin() + (j == 0 ? 0 : at[j - 1]), end = sorted.begin() + at[j];
      const auto first = [&](std::uint32_t k) { return out_[k].second.first; };
      if (!std::ranges::is_sorted(begin, end, {}, first)) std::ranges::stable_sort(begin, end, {}, first);
      for (auto k = begin; k != end; ++k) graph_.append(table_.columns, scale_, out_[*k].second);
      table_.columns.close();
    }
  }

  Graph& graph_;
  Table& table_;
  Element scale_;
  struct Open {
    std::int64_t base;
    std::uint32_t time, slope;
  };
  std::map<std::uint32_t, std::int64_t> along_;  ///< slope over a row -> slope over readers
  std::vector<Open> open_;
  std::vector<std::uint32_t> gap_end_;  ///< by number of the reader: the last one up to which they are a progression
  std::uint32_t period_ = 0;            ///< so many readers apart they are, 0 where this is of no use
  std::vector<std::uint32_t> period_end_;
  std::vector<Vertex> readers_;
  std::deque<std::pair<Vertex, Run>> out_;  ///< grows without a copy: it may be the largest list of a check
};

}  // namespace

void Graph::complete() {
  if (!tables.empty() && (tables[0].symmetric || !tables[0].columns.stretches.empty())) return;
  for (std::size_t r = 0; r < tables.size(); ++r) Transposer(*this, r).run();
}

}  // namespace checker

#include "sightline/symmetry/verification.hpp"

#include <algorithm>

#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

StretchMap::StretchMap(std::vector<std::pair<Vertex, Vertex>> moved, Vertex limit) : moved_(std::move(moved)), limit_(limit) {
  const std::size_t count = moved_.size();
  stretch_end_.resize(count);
  for (std::size_t k = count; k-- > 0;) {
    stretch_end_[k] = static_cast<std::uint32_t>(k);
    if (k + 1 == count || moved_[k + 1].first != moved_[k].first + 1) continue;
    const std::int64_t slope = std::int64_t{moved_[k + 1].second} - moved_[k].second;
    if (slope != 1 && slope != -1) continue;
    const bool goes_on = stretch_end_[k + 1] > k + 1 && std::int64_t{moved_[k + 2].second} - moved_[k + 1].second == slope;
    stretch_end_[k] = goes_on ? stretch_end_[k + 1] : static_cast<std::uint32_t>(k + 1);
  }
  if (count * 8 < limit || count == limit) return;
  index_.resize(limit);
  std::uint32_t k = 0;
  for (Vertex x = 0; x < limit; ++x) {
    if (k < count && moved_[k].first < x) ++k;
    index_[x] = k;
  }
}

std::optional<ColouredRun> StretchMap::map_stepped(const ColouredRun& run) const {
  const std::size_t k = find(run.first);
  if (k == moved_.size() || moved_[k].first > run.last) return run;
  if (moved_[k].first != run.first) return std::nullopt;
  const std::vector<Chain>* const chains = find_chains(run.step);
  if (chains == nullptr || run.last > (*chains)[k].last) return std::nullopt;
  const std::int64_t gap = (*chains)[k].gap, members = (run.last - run.first) / run.step;
  const Vertex y = moved_[k].second, z = static_cast<Vertex>(std::int64_t{y} + gap * members);
  if (gap > 0) return ColouredRun{y, z, static_cast<Vertex>(gap), run.colour, run.colour_step};
  return ColouredRun{z, y, static_cast<Vertex>(-gap), run.colour + run.colour_step * members, -run.colour_step};
}

const std::vector<StretchMap::Chain>* StretchMap::find_chains(Vertex step) const {
  constexpr Threshold<std::size_t> most_steps{4, 1, "verified steps"};
  for (const auto& [known, chains] : chains_) {
    if (known == step) return &chains;
  }
  if (chains_.size() == most_steps) return nullptr;
  std::vector<Chain>& chains = chains_.emplace_back(step, std::vector<Chain>(moved_.size())).second;
  std::size_t p = moved_.size();
  for (std::size_t k = moved_.size(); k-- > 0;) {
    const std::uint64_t next = std::uint64_t{moved_[k].first} + step;
    while (p > 0 && moved_[p - 1].first >= next) --p;
    chains[k] = {moved_[k].first, 0};
    if (p == moved_.size() || moved_[p].first != next) continue;
    const std::int64_t gap = std::int64_t{moved_[p].second} - moved_[k].second;
    chains[k] = {chains[p].gap == gap ? chains[p].last : moved_[p].first, gap};
  }
  return &chains;
}

void StretchMap::map(const ColouredRun& run, std::vector<ColouredRun>& out) const {
  if (run.step > 1) {
    std::int64_t colour = run.colour;
    for (std::uint64_t x = run.first; x <= run.last; x += run.step, colour += run.colour_step) {
      const Vertex y = (*this)(static_cast<Vertex>(x));
      out.push_back({y, y, 1, colour, 0});
    }
    return;
  }
  std::size_t k = find(run.first);
  for (std::uint64_t x = run.first; x <= run.last;) {
    const std::int64_t colour = run.colour + run.colour_step * static_cast<std::int64_t>(x - run.first);
    const auto from = static_cast<Vertex>(x);
    if (k == moved_.size() || moved_[k].first > x) {
      const Vertex to = k == moved_.size() ? run.last : std::min(run.last, moved_[k].first - 1);
      out.push_back({from, to, 1, colour, run.colour_step});
      x = std::uint64_t{to} + 1;
      continue;
    }
    const Vertex length = std::min<Vertex>(run.last - from, stretch_end_[k] - static_cast<Vertex>(k));
    const Vertex y = moved_[k].second, z = moved_[k + length].second;
    if (y <= z) {
      out.push_back({y, z, 1, colour, run.colour_step});
    } else {
      out.push_back({z, y, 1, colour + run.colour_step * std::int64_t{length}, -run.colour_step});
    }
    k += std::size_t{length} + 1;
    x += std::uint64_t{length} + 1;
  }
}

namespace {

/// Are the lists equal after mapping the first?
class ListComparison {
public:
  ListComparison(const StretchMap& map, Vertex vertices) : map_(map), vertices_(vertices) {}

  bool operator()(const Span* begin, const Span* end, const Span* other_begin, const Span* other_end) {
    const auto has_steps = [](const Span& span) { return span.step > 1; };
    const bool stepped = std::any_of(begin, end, has_steps) || std::any_of(other_begin, other_end, has_steps);
    if (stepped && begin == other_begin && end == other_end && end - begin <= few_spans) return is_kept(begin, end);
    if (stepped && !compare_stepped(begin, end, other_begin, other_end)) {
      return other_end - other_begin <= few_spans ? compare_members(begin, end, other_begin, other_end) : compare_marked(begin, end, other_begin, other_end);
    }
    mapped_.clear();
    expected_.clear();
    for (const Span* span = begin; span != end; ++span) {
      if (span->step == 1) map_.map(to_run(*span), mapped_);
    }
    for (const Span* span = other_begin; span != other_end; ++span) {
      if (span->step == 1) expected_.push_back(to_run(*span));
    }
    canonicalise(mapped_);
    canonicalise(expected_);
    return mapped_ == expected_;
  }

private:
  /// Up to so many spans are looked through for every vertex.
  static constexpr Threshold<std::ptrdiff_t> few_spans{8, 1, "verified spans"};

  /// Is (x, colour) mapped into the list?
  [[nodiscard]] bool is_mapped_into(Vertex x, std::int64_t colour, const Span* begin, const Span* end) const {
    const Vertex y = moves(x) ? map_(x) : x;
    const Span* const span = std::find_if(begin, end, [y](const Span& s) { return s.contains(y); });
    return span != end && span->colour(y) == colour;
  }

  [[nodiscard]] bool moves(Vertex x) const { return (moves_[x / 64] >> (x % 64) & 1) != 0; }

  void find_moves() {
    if (!moves_.empty()) return;
    moves_.resize(std::size_t{vertices_} / 64 + 1);
    for (const auto& [x, y] : map_.moved()) moves_[x / 64] |= std::uint64_t{1} << (x % 64);
  }

  /// The list and itself: members that stay need not be looked at, and what is mapped into a finite set is mapped onto it.
  bool is_kept(const Span* begin, const Span* end) {
    find_moves();
    const auto& moved = map_.moved();
    for (const Span* span = begin; span != end; ++span) {
      const auto from = std::lower_bound(moved.begin(), moved.end(), span->first, [](const auto& pair, Vertex v) { return pair.first < v; });
      const auto to = std::upper_bound(from, moved.end(), span->last, [](Vertex v, const auto& pair) { return v < pair.first; });
      if (to - from <= (span->last - span->first) / span->step) {
        for (auto at = from; at != to; ++at) {
          if ((at->first - span->first) % span->step == 0 && !is_mapped_into(at->first, span->colour(at->first), begin, end)) return false;
        }
        continue;
      }
      for (std::uint64_t x = span->first; x <= span->last; x += span->step) {
        const auto v = static_cast<Vertex>(x);
        if (moves(v) && !is_mapped_into(v, span->colour(v), begin, end)) return false;
      }
    }
    return true;
  }

  /// Vertex by vertex: as many, and all of them mapped into the other list.
  bool compare_members(const Span* begin, const Span* end, const Span* other_begin, const Span* other_end) {
    const auto count = [](const Span* from, const Span* to) {
      std::uint64_t members = 0;
      for (; from != to; ++from) members += (from->last - from->first) / from->step + 1;
      return members;
    };
    if (count(begin, end) != count(other_begin, other_end)) return false;
    find_moves();
    for (const Span* span = begin; span != end; ++span) {
      for (std::uint64_t x = span->first; x <= span->last; x += span->step) {
        const auto v = static_cast<Vertex>(x);
        if (!is_mapped_into(v, span->colour(v), other_begin, other_end)) return false;
      }
    }
    return true;
  }

  /// Do the runs with steps map to the same runs with steps? (If so, the others decide.)
  bool compare_stepped(const Span* begin, const Span* end, const Span* other_begin, const Span* other_end) {
    mapped_.clear();
    expected_.clear();
    for (const Span* span = begin; span != end; ++span) {
      if (span->step == 1) continue;
      const std::optional<ColouredRun> image = map_.map_stepped(to_run(*span));
      if (!image) return false;
      mapped_.push_back(*image);
    }
    for (const Span* span = other_begin; span != other_end; ++span) {
      if (span->step > 1) expected_.push_back(to_run(*span));
    }
    const auto by_first = [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; };
    std::sort(mapped_.begin(), mapped_.end(), by_first);
    std::sort(expected_.begin(), expected_.end(), by_first);
    return mapped_ == expected_;
  }

  /// Vertex by vertex: runs with steps would be expanded anyway, and marks need no sorting.
  bool compare_marked(const Span* begin, const Span* end, const Span* other_begin, const Span* other_end) {
    if (marks_.empty()) marks_.resize(vertices_, {0, 0});
    ++stamp_;
    std::uint64_t expected = 0, met = 0;
    for (const Span* span = other_begin; span != other_end; ++span) {
      for (std::uint64_t x = span->first; x <= span->last; x += span->step, ++expected) marks_[x] = {stamp_, span->colour(static_cast<Vertex>(x))};
    }
    for (const Span* span = begin; span != end; ++span) {
      for (std::uint64_t x = span->first; x <= span->last; x += span->step, ++met) {
        const Mark& mark = marks_[map_(static_cast<Vertex>(x))];
        if (mark.stamp != stamp_ || mark.colour != span->colour(static_cast<Vertex>(x))) return false;
      }
    }
    return met == expected;
  }

  struct Mark {
    std::uint64_t stamp;
    std::int64_t colour;
  };
  const StretchMap& map_;
  Vertex vertices_;
  std::vector<ColouredRun> mapped_, expected_;
  std::vector<Mark> marks_;
  std::uint64_t stamp_ = 0;
  std::vector<std::uint64_t> moves_;  ///< one bit per vertex
};

}  // namespace

bool is_isomorphism(const RunGraph& a, const RunGraph& b, const StretchMap& map, bool local, const Budget& budget) {
  if (local && a.arcs) return ArcComparison(a, b, budget).is_isomorphism(map.moved(), true);
  ListComparison equal(map, a.vertices);
  const auto same_vertex = [&](Vertex x, Vertex y) {
    if (a.vertex_colour[x] != b.vertex_colour[y]) return false;
    for (std::size_t r = 0; r < a.relations.size(); ++r) {
      if (a.relations[r].visible[x] != b.relations[r].visible[y]) return false;
    }
    return true;
  };
  // The commonest lists: one run, and its image is one.
  const auto same_run = [&map](const Span& from, const Span& to) {
    if (from.step != 1 || to.step != 1 || from.slope != 0 || to.slope != 0 || from.base != to.base) return false;
    const auto image = map.map_interval(from.first, from.last);
    return image && image->first == to.first && image->second == to.last;
  };
  // Neighbours mostly share their lists, and what was found for one holds for the next.
  struct Known {
    const Span *from = nullptr, *from_end = nullptr, *to = nullptr, *to_end = nullptr;
    bool operator==(const Known&) const = default;
  };
  std::vector<Known> known(2 * a.relations.size());
  const auto same_lists = [&](const SpanLists& from, const SpanLists& to, Vertex x, Vertex y, Known& last) {
    const Known now{from.list_begin(x), from.list_end(x), to.list_begin(y), to.list_end(y)};
    if (now.from_end - now.from == 1 && now.to_end - now.to == 1 && same_run(*now.from, *now.to)) return true;
    budget.poll();
    if (now == last) return true;
    if (!equal(now.from, now.from_end, now.to, now.to_end)) return false;
    last = now;
    return true;
  };
  if (local && map.moved().size() * 2 <= a.vertices) {
    for (const auto& [x, y] : map.moved()) {
      if (!same_vertex(x, y)) return false;
      for (std::size_t r = 0; r < a.relations.size(); ++r) {
        if (!same_lists(a.relations[r].rows, b.relations[r].rows, x, y, known[2 * r])) return false;
        if (a.relations[r].symmetric && b.relations[r].symmetric) continue;
        if (!same_lists(a.relations[r].by_read(), b.relations[r].by_read(), x, y, known[2 * r + 1])) return false;
      }
    }
    return true;
  }
  // Of a pair that is exchanged one row says what the other would.
  const bool halves = &a == &b && map.is_involution();
  for (Vertex x = 0; x < a.vertices; ++x) {
    if (x % 64 == 0) budget.poll();
    const Vertex y = map(x);
    if (halves && y < x) continue;
    if (!same_vertex(x, y)) return false;
    for (std::size_t r = 0; r < a.relations.size(); ++r) {
      if (!same_lists(a.relations[r].rows, b.relations[r].rows, x, y, known[2 * r])) return false;
    }
  }
  return true;
}

ArcComparison::ArcComparison(const RunGraph& a, const RunGraph& b, const Budget& budget) : a_(a), b_(b), budget_(budget) {
  usable_ = a.arcs && b.arcs && a.vertices == b.vertices && a.relations.size() == b.relations.size();
  for (std::size_t r = 0; usable_ && r < a.relations.size(); ++r) usable_ = a.relations[r].symmetric == b.relations[r].symmetric;
  if (!usable_) return;
  budget.ask(std::uint64_t{a.vertices} * 8);
  images_.resize(a.vertices);
  for (Vertex x = 0; x < a.vertices; ++x) images_[x] = x;
  marks_.assign(a.vertices, 0);
}

bool ArcComparison::same_vertex(Vertex x, Vertex y) {
  if (a_.vertex_colour[x] != b_.vertex_colour[y]) return false;
  for (std::size_t r = 0; r < a_.relations.size(); ++r) {
    if (a_.relations[r].visible[x] != b_.relations[r].visible[y]) return false;
  }
  const ArcLists& from = *a_.arcs;
  const ArcLists& to = *b_.arcs;
  const std::uint32_t bundles = from.first_bundle[x + 1] - from.first_bundle[x];
  if (to.first_bundle[y + 1] - to.first_bundle[y] != bundles) return false;
  for (std::uint32_t k = 0; k < bundles; ++k) {
    const std::uint32_t p = from.first_bundle[x] + k, q = to.first_bundle[y] + k;
    const std::uint32_t begin = from.begin_of(p), end = from.bundles[p].end, to_begin = to.begin_of(q), to_end = to.bundles[q].end;
    if (from.bundles[p].kind != to.bundles[q].kind || from.bundles[p].colour != to.bundles[q].colour || end - begin != to_end - to_begin) return false;
    if (++stamp_ == 0) {
      std::fill(marks_.begin(), marks_.end(), 0);
      stamp_ = 1;
    }
    for (std::uint32_t m = to_begin; m < to_end; ++m) marks_[to.neighbours[m]] = stamp_;
    // Images differ, so as many hits as neighbours make the sets equal.
    for (std::uint32_t m = begin; m < end; ++m) {
      if (marks_[images_[from.neighbours[m]]] != stamp_) return false;
    }
  }
  return true;
}

bool ArcComparison::is_isomorphism(const std::vector<std::pair<Vertex, Vertex>>& moved, bool local) {
  for (const auto& [x, y] : moved) images_[x] = y;
  bool same = true;
  if (local) {
    // Of a pair that is exchanged one row says what the other would.
    const bool halves = &a_ == &b_ && std::all_of(moved.begin(), moved.end(), [this](const auto& pair) { return images_[pair.second] == pair.first; });
    for (std::size_t k = 0; same && k < moved.size(); ++k) {
      if (halves && moved[k].second < moved[k].first) continue;
      budget_.poll();
      same = same_vertex(moved[k].first, moved[k].second);
    }
  } else {
    for (Vertex x = 0; same && x < a_.vertices; ++x) {
      budget_.poll();
      same = same_vertex(x, images_[x]);
    }
  }
  for (const auto& [x, y] : moved) images_[x] = x;
  return same;
}

std::vector<std::pair<Vertex, Vertex>> to_moved(const std::vector<Vertex>& images) {
  std::vector<std::pair<Vertex, Vertex>> moved;
  for (Vertex x = 0; x < images.size(); ++x) {
    if (images[x] != x) moved.emplace_back(x, images[x]);
  }
  return moved;
}

}  // namespace sightline::symmetry

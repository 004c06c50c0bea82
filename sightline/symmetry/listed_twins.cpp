#include "sightline/symmetry/listed_twins.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <utility>

#include "sightline/base/mix.hpp"
#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

namespace {

constexpr Threshold<Vertex> fewest_vertices{2048, 2, "listed twins"};
/// Vertices for each list, at least, and members of lists for each vertex, at most.
constexpr Threshold<Vertex> least_share{8, 1, "listed twins"};
constexpr Vertex most_members = 32;

/// The lists of one relation that have readers, numbered by the first.
struct Lists {
  std::vector<std::uint32_t> of;  ///< by vertex
  std::vector<std::uint32_t> members_begin{0}, readers_begin{0};
  std::vector<Vertex> members, readers;  ///< ascending in each list
  std::int64_t colour = -1;              ///< of all arcs; -1: there are none

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members_begin.size() - 1); }
  [[nodiscard]] std::span<const Vertex> members_of(std::uint32_t list) const { return {members.data() + members_begin[list], members.data() + members_begin[list + 1]}; }
  [[nodiscard]] std::span<const Vertex> readers_of(std::uint32_t list) const { return {readers.data() + readers_begin[list], readers.data() + readers_begin[list + 1]}; }
  [[nodiscard]] std::int64_t loop(Vertex x) const {
    const auto read = members_of(of[x]);
    return std::binary_search(read.begin(), read.end(), x) ? colour : -1;
  }
};

/// @param most_lists  each makes a class at least
bool fits(const VisibleRelation& visible, Vertex n, Vertex most_lists) {
  if (visible.relation == nullptr || visible.relation->vertex_count() != n || !visible.visible.empty()) return false;
  if (visible.relation->relative().kind != layout::RelativeKind::none || !visible.relation->is_plain()) return false;
  const layout::Pattern& pattern = visible.relation->pattern();
  if (pattern.lists().size() > std::min(n / least_share, most_lists) || pattern.written_vertices().size() > std::uint64_t{most_members} * n || !pattern.is_plain()) return false;
  const auto& runs = pattern.affine_runs();
  return std::none_of(runs.begin(), runs.end(), [](const layout::AffineRun& run) { return run.lo_moves || run.hi_moves || run.floor_moves; });
}

class ListReader {
public:
  ListReader(const layout::Relation& relation, const Budget& budget)
      : relation_(relation), pattern_(relation.pattern()), budget_(budget), n_(pattern_.vertex_count()), number_(pattern_.lists().size(), unread) {}

  /// Nothing where lists have too many members.
  std::optional<Lists> read() {
    const auto& segments = pattern_.segments();
    lists_.of.resize(n_);
    lists_.members.reserve(pattern_.written_vertices().size());
    std::uint32_t* const of = lists_.of.data();
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Vertex begin = segments[s].begin, end = s + 1 < segments.size() ? segments[s + 1].begin : n_;
      std::uint32_t& list = number_[segments[s].list];
      if (list == unread) {
        list = lists_.size();
        if (!read_list(pattern_.lists()[segments[s].list], begin)) return std::nullopt;
      }
      lists_.readers_begin[list + 1] += end - begin;
      for (Vertex x = begin; x < end; ++x) of[x] = list;
    }
    for (std::uint32_t list = 0; list < lists_.size(); ++list) lists_.readers_begin[list + 1] += lists_.readers_begin[list];
    std::vector<std::uint32_t> place(lists_.readers_begin.begin(), lists_.readers_begin.end() - 1);
    lists_.readers.resize(n_);
    Vertex* const readers = lists_.readers.data();
    for (Vertex x = 0; x < n_; ++x) readers[place[of[x]]++] = x;
    return std::move(lists_);
  }

private:
  static constexpr std::uint32_t unread = ~std::uint32_t{0};

  bool read_list(const layout::Pattern::RunList& list, Vertex reader) {
    std::vector<Vertex>& members = lists_.members;
    const std::size_t begin = members.size();
    const auto written = pattern_.written(list);
    members.insert(members.end(), written.begin(), written.end());
    if (written.empty()) {
      pattern_.row_by(list, reader, row_);
      std::uint64_t size = begin;
      for (const layout::Run& run : row_) size += run.size();
      if (size > std::uint64_t{most_members} * n_) return false;
      budget_.ask((size - begin) * sizeof(Vertex));
      for (const layout::Run& run : row_) {
        for (std::uint64_t x = run.first; x <= run.last; x += run.step) members.push_back(static_cast<Vertex>(x));
      }
      const auto from = members.begin() + static_cast<std::ptrdiff_t>(begin);
      if (!std::is_sorted(from, members.end())) std::sort(from, members.end());
    }
    lists_.members_begin.push_back(static_cast<std::uint32_t>(members.size()));
    lists_.readers_begin.push_back(0);
    if (lists_.colour < 0 && begin < members.size()) lists_.colour = relation_.colour(reader, members.back());
    return true;
  }

  const layout::Relation& relation_;
  const layout::Pattern& pattern_;
  const Budget& budget_;
  Vertex n_;
  std::vector<std::uint32_t> number_;
  std::vector<layout::Run> row_;
  Lists lists_;
};

/// Classes of vertices, split along sets.
class Splitter {
public:
  Splitter(const std::vector<std::uint64_t>& colour, Vertex most) : most_(most), class_of_(colour.size(), 0), size_{static_cast<Vertex>(colour.size())} {
    count_.push_back(0);
    target_.push_back(0);
    if (std::adjacent_find(colour.begin(), colour.end(), std::not_equal_to<>()) == colour.end()) return;
    std::vector<std::pair<std::uint64_t, Vertex>> sorted;
    for (Vertex x = 0; x < colour.size(); ++x) sorted.emplace_back(colour[x], x);
    std::sort(sorted.begin(), sorted.end());
    std::vector<Vertex> alike;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      alike.push_back(sorted[k].second);
      if (k + 1 < sorted.size() && sorted[k + 1].first == sorted[k].first) continue;
      split(alike);
      alike.clear();
    }
  }

  /// False where there are too many classes by now.
  bool split(std::span<const Vertex> set) {
    touched_.clear();
    for (const Vertex x : set) {
      const std::uint32_t c = class_of_[x];
      if (count_[c]++ == 0) touched_.push_back(c);
    }
    bool splits = false;
    for (const std::uint32_t c : touched_) {
      const Vertex inside = std::exchange(count_[c], 0);
      target_[c] = c;
      if (inside == size_[c]) continue;
      splits = true;
      target_[c] = static_cast<std::uint32_t>(size_.size());
      size_[c] -= inside;
      size_.push_back(inside);
      count_.push_back(0);
      target_.push_back(0);
    }
    if (splits) {
      for (const Vertex x : set) class_of_[x] = target_[class_of_[x]];
    }
    return size_.size() <= most_;
  }

  /// The class of each vertex, no_group for a class of one.
  [[nodiscard]] std::vector<std::uint32_t> take_groups() {
    for (std::uint32_t& c : class_of_) c = size_[c] == 1 ? no_group : c;
    return std::move(class_of_);
  }
  [[nodiscard]] std::size_t classes() const { return size_.size(); }

private:
  std::size_t most_;
  std::vector<std::uint32_t> class_of_;
  std::vector<Vertex> size_, count_;
  std::vector<std::uint32_t> target_, touched_;
};

bool are_distinct(std::vector<std::uint64_t>& keys) {
  std::sort(keys.begin(), keys.end());
  return std::adjacent_find(keys.begin(), keys.end()) == keys.end();
}

/// The rows of the classes, which read whole classes. Nothing where two lists look alike, or two of a single reader once its own place is exchanged: such a
/// reader is a class by itself. Hashes say so.
std::optional<layout::Relation> make_quotient(const layout::Relation& relation, const Lists& lists, const TwinClasses& classes) {
  const std::uint32_t count = classes.size();
  std::vector<layout::Pattern::Segment> segments;
  std::vector<layout::Pattern::RunList> runs;
  std::vector<Vertex> written;
  std::vector<std::uint64_t> keys, exchanged;
  segments.reserve(count);
  runs.reserve(lists.size());
  for (std::uint32_t list = 0; list < lists.size(); ++list) {
    layout::Pattern::RunList& out = runs.emplace_back();
    out.written_begin = static_cast<std::uint32_t>(written.size());
    std::uint64_t key = 0;
    // Classes are numbered by their first members, so these come in the order of their classes.
    for (const Vertex x : lists.members_of(list)) {
      const std::uint32_t c = classes.class_of[x];
      if (classes.members[classes.begin[c]] != x) continue;
      written.push_back(c);
      key += mix(c);
    }
    out.written_count = static_cast<std::uint32_t>(written.size()) - out.written_begin;
    keys.push_back(key);
    const auto readers = lists.readers_of(list);
    if (readers.size() > 1) continue;
    const std::uint64_t own = mix(classes.class_of[readers.front()]);
    exchanged.push_back(lists.loop(readers.front()) < 0 ? key + own : key - own);
  }
  if (!are_distinct(keys) || !are_distinct(exchanged)) return std::nullopt;
  for (std::uint32_t c = 0; c < count; ++c) {
    const std::uint32_t list = lists.of[classes.members[classes.begin[c]]];
    if (segments.empty() || segments.back().list != list) segments.push_back({c, list});
  }
  return layout::Relation(layout::Pattern(count, std::move(segments), std::move(runs), {}, std::move(written)), {}, relation.cancels(), count);
}

}  // namespace

Structure ListedTwins::make_structure(const std::vector<std::uint64_t>& vertex_colour, const std::vector<std::uint32_t>& sizes, ColourNames& names) const {
  Structure structure;
  structure.vertices = classes.size();
  for (const layout::Relation& relation : quotient) structure.relations.push_back({&relation, {}});
  // Twins of this kind read each other as they read themselves.
  structure.vertex_colour = name_classes(classes, vertex_colour, sizes, quotient.size(), names,
                                         [&](Vertex x, std::size_t r) { return classes.inner[classes.class_of[x] * quotient.size() + r]; });
  return structure;
}

std::optional<ListedTwins> find_listed_twins(const Structure& structure, Vertex most_classes, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  const Vertex n = structure.vertices;
  if (n < fewest_vertices || structure.relations.empty() || structure.vertex_colour.size() != n) return std::nullopt;
  std::uint64_t members = 0;
  for (const VisibleRelation& relation : structure.relations) {
    if (!fits(relation, n, most_classes)) return std::nullopt;
    members += relation.relation->pattern().written_vertices().size();
  }
  budget.ask(4 * (structure.relations.size() * 3 + 4) * std::uint64_t{n} + 4 * members);
  std::vector<Lists> lists(structure.relations.size());
  Splitter splitter(structure.vertex_colour, most_classes);
  for (std::size_t r = 0; r < lists.size(); ++r) {
    std::optional<Lists> read = ListReader(*structure.relations[r].relation, budget).read();
    if (!read) return std::nullopt;
    lists[r] = *std::move(read);
    for (std::uint32_t list = 0; list < lists[r].size(); ++list) {
      budget.poll();
      const auto members = lists[r].members_of(list), readers = lists[r].readers_of(list);
      if (!splitter.split(members) || (!std::ranges::equal(members, readers) && !splitter.split(readers))) return std::nullopt;
    }
  }
  if (splitter.classes() == n) return std::nullopt;
  ListedTwins found;
  found.classes = make_twin_classes(splitter.take_groups(), lists.size(), [&](Vertex x, std::size_t r) { return lists[r].loop(x); });
  for (std::size_t r = 0; r < lists.size(); ++r) {
    found.inner_colours.push_back(lists[r].colour < 0 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{lists[r].colour});
    std::optional<layout::Relation> quotient = make_quotient(*structure.relations[r].relation, lists[r], found.classes);
    if (!quotient) return std::nullopt;
    found.quotient.push_back(*std::move(quotient));
  }
  return found;
}

}  // namespace sightline::symmetry

#include "sightline/layout/put_in_order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sightline/layout/moving_segments.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

namespace {

/// Sorts the members of one list after the other: marked, and read off 64 at a time, where any are.
class MemberSorter {
public:
  explicit MemberSorter(Vertex vertices) : marks_(vertices / word + 1, 0), colour_(vertices) {}

  void sort(Members& members) {
    if (members.empty()) return;
    const std::uint32_t colour = members.front().second;
    bool is_plain = true;  // all of one colour
    words_.clear();
    for (const auto& [vertex, own] : members) {
      std::uint64_t& marked = marks_[vertex / word];
      if (marked == 0) words_.push_back(vertex / word);
      marked |= std::uint64_t{1} << vertex % word;
      is_plain = is_plain && own == colour;
    }
    if (!is_plain) {
      for (const auto& [vertex, own] : members) colour_[vertex] = own;
    }
    find_words();
    members.clear();
    for (const std::uint32_t k : words_) {
      for (std::uint64_t left = std::exchange(marks_[k], 0); left != 0; left &= left - 1) {
        const auto vertex = k * word + static_cast<Vertex>(std::countr_zero(left));
        members.emplace_back(vertex, is_plain ? colour : colour_[vertex]);
      }
    }
  }

private:
  static constexpr Vertex word = 64;

  /// The words with a mark, ascending: sorted, or looked through where there are few between them.
  void find_words() {
    constexpr std::size_t looks_per_word = 16;
    const auto [first, last] = std::ranges::minmax(words_);
    if (last - first > looks_per_word * words_.size()) return std::sort(words_.begin(), words_.end());
    words_.clear();
    for (std::uint32_t k = first; k <= last; ++k) {
      if (marks_[k] != 0) words_.push_back(k);
    }
  }

  std::vector<std::uint64_t> marks_;
  std::vector<std::uint32_t> colour_, words_;
};

/// How many vertices the row holds, if they are those of the first places, all of colour 1; else 0. No other vertices so many have places whose sum is as small; `places_before` are sums of the
/// places of the vertices before each. O(runs), and O(members) of those with steps and of rows that are written out.
Vertex measure_prefix(TokenLists& lists, std::uint32_t list, const std::vector<Vertex>& place, const std::vector<std::uint64_t>& places_before) {
  std::uint64_t size = 0, sum = 0;
  if (const auto written = lists.written(list); !written.empty()) {
    size = written.size();
    for (const Vertex j : written) sum += place[j];
  } else {
    for (const Run& run : lists.runs_of(list)) {
      if (run.colour != 1) return 0;
      size += run.size();
      if (run.step == 1) sum += places_before[run.last + 1] - places_before[run.first];
      else for (std::uint64_t j = run.first; j <= run.last; j += run.step) sum += place[j];
    }
  }
  return 2 * sum == size * (size - 1) ? static_cast<Vertex>(size) : 0;
}

/// Rows on places, one relation after the other.
class Rewriter {
public:
  Rewriter(TokenLists& lists, const Order& order, const Budget& budget)
      : lists_(lists), token_(order.token), place_(token_.size()), places_before_(token_.size() + 1, 0), sorter_(static_cast<Vertex>(token_.size())), budget_(budget) {
    for (Vertex k = 0; k < token_.size(); ++k) place_[token_[k]] = k;
    for (std::size_t j = 0; j < token_.size(); ++j) places_before_[j + 1] = places_before_[j] + place_[j];
    if (!order.kinds) return;
    kinds_ = &*order.kinds;
    begin_of_kind_.assign(kinds_->count(), apart);
    for (Vertex k = 0; k < token_.size();) {
      const std::uint32_t kind = kinds_->of(token_[k]);
      const Vertex begin = k;
      while (k < token_.size() && kinds_->of(token_[k]) == kind) ++k;
      if (k - begin == kinds_->size(kind)) begin_of_kind_[kind] = begin;
    }
  }

  /// Each list once, where some have several readers, else each reader's: what moves along with them is written down once.
  Pattern write(std::size_t relation) {
    const auto n = static_cast<Vertex>(token_.size());
    const std::vector<std::uint32_t>& read = lists_.read_by()[relation];
    const std::uint32_t first = lists_.first_of(relation), end = lists_.end_of(relation);
    PatternBuilder builder(n, budget_);
    if (2 * std::uint64_t{end - first} >= n) {
      std::vector<bool> is_counted(end - first, false);
      MovingSegments segments(builder, n);
      for (const Vertex token : token_) {
        place_row(read[token]);
        if (!is_counted[read[token] - first]) runs_ += row_.size();
        is_counted[read[token] - first] = true;
        segments.add(row_);
      }
      segments.finish();
    } else {
      std::vector<std::uint32_t> written;
      for (std::uint32_t list = first; list < end; ++list) {
        place_row(list);
        runs_ += row_.size();
        written.push_back(vertices_.empty() ? builder.add_list_once(row_) : builder.add_row_once(vertices_, colours_));
      }
      for (Vertex k = 0; k < n; ++k) builder.add_segment(k, written[read[token_[k]] - first]);
    }
    return builder.build();
  }
  [[nodiscard]] std::uint64_t runs() const { return runs_; }  ///< of each list once, of all relations that were written

private:
  /// row_, and where it is not that of the first places, what it is made of.
  void place_row(std::uint32_t list) {
    row_.clear();
    vertices_.clear();
    colours_.clear();
    if (place_kinds(list)) return;
    if (const Vertex size = measure_prefix(lists_, list, place_, places_before_); size > 0) {
      add_prefix(size);
      return;
    }
    members_.clear();
    lists_.visit(list, [this](Vertex vertex, std::uint32_t colour) { members_.emplace_back(place_[vertex], colour); });
    sorter_.sort(members_);
    bool is_plain = true;
    for (const auto& [vertex, colour] : members_) {
      vertices_.push_back(vertex);
      colours_.push_back(colour);
      is_plain = is_plain && colour == 1;
    }
    if (is_plain) colours_.clear();
    append_runs(vertices_, colours_, row_);
  }

  /// The vertices of the first places.
  void add_prefix(Vertex size) { row_.push_back({0, std::int64_t{size} - 1, static_cast<std::int64_t>(token_.size())}); }

  /// row_ where the list holds kinds that stand together, each of them whole. False where it does not.
  bool place_kinds(std::uint32_t list) {
    constexpr std::uint32_t fewest = 3;  // fewer may be parts of runs with steps
    if (kinds_ == nullptr || !kinds_->is_whole(list)) return false;
    spans_.clear();
    for (const auto& [kind, times] : kinds_->held(list)) {
      if (times < fewest || begin_of_kind_[kind] == apart) return false;
      spans_.emplace_back(begin_of_kind_[kind], begin_of_kind_[kind] + times);
    }
    std::sort(spans_.begin(), spans_.end());
    for (std::size_t k = 0; k < spans_.size();) {
      const Vertex begin = spans_[k].first;
      Vertex end = spans_[k].second;
      for (++k; k < spans_.size() && spans_[k].first == end; ++k) end = spans_[k].second;
      if (begin == 0 && k == spans_.size()) add_prefix(end);
      else row_.push_back(make_constant_run(begin, end - 1, 1));
    }
    return true;
  }

  static constexpr Vertex apart = ~Vertex{0};

  TokenLists& lists_;
  const std::vector<Vertex>& token_;
  const TokenKinds* kinds_ = nullptr;
  std::vector<Vertex> begin_of_kind_;  ///< its first place, or `apart`
  std::vector<std::pair<Vertex, Vertex>> spans_;
  std::vector<Vertex> place_;
  std::vector<std::uint64_t> places_before_;
  MemberSorter sorter_;
  const Budget& budget_;
  std::uint64_t runs_ = 0;
  std::vector<AffineRun> row_;
  Members members_;
  std::vector<Vertex> vertices_;
  std::vector<std::uint32_t> colours_;
};

}  // namespace

std::optional<Reordered> put_in_order(const Layout& layout, TokenLists& lists, const Order& order, const Budget& budget) {
  const Vertex n = layout.tokens;
  Reordered result;
  result.token = order.token;
  result.layout = {n, 0, {}, {}, layout.layers, layout.order};
  for (const Vertex token : result.token) result.layout.vertex_colour.push_back(layout.vertex_colour[token]);
  Rewriter rewriter(lists, order, budget);
  for (std::size_t r = 0; r < layout.relations.size(); ++r) result.layout.relations.emplace_back(rewriter.write(r), Relative{}, layout.relations[r].cancels(), n);
  constexpr Threshold<std::uint64_t> worth{2, 0, "natural order"};
  if (!order.is_grid && rewriter.runs() * worth > lists.runs()) return std::nullopt;
  return result;
}

}  // namespace sightline::layout

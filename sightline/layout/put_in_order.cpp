#include "sightline/layout/put_in_order.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sightline/layout/moving_segments.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

namespace {

/// Sorts the members of one list after the other: marked, and read off 64 at a time from the first to the last.
class MemberSorter {
public:
  explicit MemberSorter(Vertex vertices) : marks_(vertices / word + 1, 0), colour_(vertices) {}

  void sort(Members& members) {
    constexpr std::uint64_t words_per_member = 4;
    if (members.empty()) return;
    const auto [least, greatest] = std::ranges::minmax_element(members, {}, &Members::value_type::first);
    const std::size_t first_word = least->first / word, last_word = greatest->first / word;
    if (last_word - first_word >= words_per_member * members.size()) return std::sort(members.begin(), members.end());
    for (const auto& [vertex, colour] : members) {
      marks_[vertex / word] |= std::uint64_t{1} << vertex % word;
      colour_[vertex] = colour;
    }
    members.clear();
    for (std::size_t k = first_word; k <= last_word; ++k) {
      for (std::uint64_t left = std::exchange(marks_[k], 0); left != 0; left &= left - 1) {
        const auto vertex = static_cast<Vertex>(k * word + static_cast<std::size_t>(std::countr_zero(left)));
        members.emplace_back(vertex, colour_[vertex]);
      }
    }
  }

private:
  static constexpr std::size_t word = 64;
  std::vector<std::uint64_t> marks_;
  std::vector<std::uint32_t> colour_;
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
  Rewriter(TokenLists& lists, const std::vector<Vertex>& token, const Budget& budget)
      : lists_(lists), token_(token), place_(token.size()), places_before_(token.size() + 1, 0), sorter_(static_cast<Vertex>(token.size())), budget_(budget) {
    for (Vertex k = 0; k < token.size(); ++k) place_[token[k]] = k;
    for (std::size_t j = 0; j < token.size(); ++j) places_before_[j + 1] = places_before_[j] + place_[j];
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
    if (const Vertex size = measure_prefix(lists_, list, place_, places_before_); size > 0) {
      row_.push_back({0, std::int64_t{size} - 1, static_cast<std::int64_t>(token_.size())});
      return;
    }
    members_ = lists_.members(list);
    for (auto& [vertex, colour] : members_) vertex = place_[vertex];
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

  TokenLists& lists_;
  const std::vector<Vertex>& token_;
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

std::optional<Reordered> put_in_order(const Layout& layout, TokenLists& lists, Order order, const Budget& budget) {
  const Vertex n = layout.tokens;
  Reordered result;
  result.token = std::move(order.token);
  result.layout = {n, 0, {}, {}, layout.layers, layout.order};
  for (const Vertex token : result.token) result.layout.vertex_colour.push_back(layout.vertex_colour[token]);
  Rewriter rewriter(lists, result.token, budget);
  for (std::size_t r = 0; r < layout.relations.size(); ++r) result.layout.relations.emplace_back(rewriter.write(r), Relative{}, layout.relations[r].cancels(), n);
  constexpr Threshold<std::uint64_t> worth{2, 0, "natural order"};
  if (!order.is_grid && rewriter.runs() * worth > lists.runs()) return std::nullopt;
  return result;
}

}  // namespace sightline::layout

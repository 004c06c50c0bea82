#include "sightline/layout/natural_order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <span>
#include <utility>

#include "sightline/base/mix.hpp"
#include "sightline/layout/cell_order.hpp"
#include "sightline/layout/grid_order.hpp"
#include "sightline/layout/likeness_chain.hpp"
#include "sightline/layout/pair_order.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};
using Members = std::vector<std::pair<Vertex, std::uint32_t>>;  // with their colours

/// All lists of all relations are numbered through.
class Lists {
public:
  explicit Lists(const Layout& layout, const Budget& budget) : layout_(layout), budget_(budget) {}

  /// False where rows have an order already: they move along with their readers, are coloured by where these stand, or only go down, which may say who is to see whom.
  bool read() {
    const Vertex n = layout_.tokens;
    bool goes_down = true;
    for (const Relation& relation : layout_.relations) {
      const Pattern& pattern = relation.pattern();
      if (relation.relative().kind != RelativeKind::none) return false;
      first_.push_back(count_);
      std::vector<Vertex> last(pattern.lists().size(), 0), size(pattern.lists().size(), 0);
      for (std::uint32_t l = 0; l < pattern.lists().size(); ++l) {
        if (!pattern.is_constant(l)) return false;
        const auto count_run = [&](Vertex first, Vertex end, Vertex step) {
          ++runs_;
          last[l] = std::max(last[l], end);
          size[l] += (end - first) / step + 1;
        };
        if (const auto written = pattern.written(pattern.lists()[l]); !written.empty()) {
          split_into_runs(written, count_run);
        } else {
          pattern.row_by(pattern.lists()[l], 0, row_);
          for (const Run& run : row_) count_run(run.first, run.last, run.step);
        }
        listed_ += size[l];
      }
      constexpr Threshold<std::uint64_t> readers_per_list{8, 1, "few lists"};
      is_few_ = is_few_ && pattern.lists().size() * readers_per_list <= n;
      count_ += static_cast<std::uint32_t>(pattern.lists().size());
      read_.emplace_back(n);
      const auto& segments = pattern.segments();
      for (std::size_t s = 0; s < segments.size(); ++s) {
        goes_down = goes_down && last[segments[s].list] <= segments[s].begin;
        const Vertex end = s + 1 < segments.size() ? segments[s + 1].begin : n;
        arcs_ += std::uint64_t{size[segments[s].list]} * (end - segments[s].begin);
        std::fill(read_.back().begin() + segments[s].begin, read_.back().begin() + end, first_.back() + segments[s].list);
      }
    }
    return !goes_down;
  }

  [[nodiscard]] bool is_few() const { return is_few_; }  ///< many readers share each list
  [[nodiscard]] std::uint64_t listed() const { return listed_; }  ///< members of each list once
  [[nodiscard]] std::uint64_t arcs() const { return arcs_; }      ///< once for each reader
  [[nodiscard]] std::uint64_t runs() const { return runs_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] const std::vector<std::vector<std::uint32_t>>& read_by() const { return read_; }  ///< by relation and token: the list that it reads
  [[nodiscard]] std::uint32_t first_of(std::size_t relation) const { return first_[relation]; }

  /// Its vertices, all of colour 1, where they are written out one by one; else nothing.
  [[nodiscard]] std::span<const Vertex> written(std::uint32_t list) const {
    const auto& [pattern, runs] = find(list);
    return pattern->written(*runs);
  }
  const std::vector<Run>& runs_of(std::uint32_t list) {
    const auto& [pattern, runs] = find(list);
    pattern->row_by(*runs, 0, row_);
    budget_.poll();
    return row_;
  }
  const Members& members(std::uint32_t list) {
    members_.clear();
    if (const auto vertices = written(list); !vertices.empty()) {
      budget_.poll();
      for (const Vertex j : vertices) members_.emplace_back(j, 1);
      return members_;
    }
    for (const Run& run : runs_of(list)) {
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) members_.emplace_back(static_cast<Vertex>(j), run.colour);
    }
    return members_;
  }

private:
  [[nodiscard]] std::pair<const Pattern*, const Pattern::RunList*> find(std::uint32_t list) const {
    const auto relation = static_cast<std::size_t>(std::upper_bound(first_.begin(), first_.end(), list) - first_.begin()) - 1;
    const Pattern& pattern = layout_.relations[relation].pattern();
    return {&pattern, &pattern.lists()[list - first_[relation]]};
  }

  const Layout& layout_;
  const Budget& budget_;
  std::uint64_t runs_ = 0, listed_ = 0, arcs_ = 0;
  std::uint32_t count_ = 0;
  bool is_few_ = true;
  std::vector<std::uint32_t> first_;
  std::vector<std::vector<std::uint32_t>> read_;
  std::vector<Run> row_;
  Members members_;
};

/// Visits lists in depth: from each to the one, not yet visited, that most of its members read.
class Walk {
public:
  explicit Walk(Lists& lists) : lists_(lists), seen_(lists.count(), 0) {}

  /// The lists in the order in which they are met from `start` on.
  std::vector<std::uint32_t> from(std::uint32_t start) {
    std::vector<std::uint32_t> met{start};
    std::vector<std::vector<std::uint32_t>> open{neighbours(start)};  // the best ones last
    visited_[start] = true;
    while (!open.empty()) {
      while (!open.back().empty() && visited_[open.back().back()]) open.back().pop_back();
      if (open.back().empty()) {
        open.pop_back();
        continue;
      }
      const std::uint32_t next = open.back().back();
      visited_[next] = true;
      met.push_back(next);
      open.push_back(neighbours(next));
    }
    return met;
  }

  /// By list: when it was met, and the first of what hangs together with it and how many these are.
  struct Met {
    std::uint32_t rank = 0, first = 0, count = 0;
  };
  /// Of what hangs together, first one that is far from where it was entered.
  std::vector<Met> all() {
    std::vector<std::uint32_t> order;
    std::vector<Met> result(lists_.count());
    visited_.assign(lists_.count(), false);
    for (std::uint32_t list = 0; list < lists_.count(); ++list) {
      if (visited_[list]) continue;
      const std::vector<std::uint32_t> once = from(list);
      for (const std::uint32_t met : once) visited_[met] = false;
      const std::vector<std::uint32_t> again = from(once.back());
      order.insert(order.end(), again.begin(), again.end());
      for (const std::uint32_t met : once) {  // rows may lead one way only
        if (!visited_[met]) order.push_back(met);
        visited_[met] = true;
      }
      const auto first = static_cast<std::uint32_t>(order.size() - once.size());
      for (std::uint32_t k = first; k < order.size(); ++k) result[order[k]] = {k, first, static_cast<std::uint32_t>(once.size())};
    }
    return result;
  }

private:
  std::vector<std::uint32_t> neighbours(std::uint32_t list) {
    constexpr std::size_t most_relations = 4;  // more lead nowhere else, and cost as much each
    std::vector<std::uint32_t> found;
    for (const auto& [member, colour] : lists_.members(list)) {
      for (std::size_t r = 0; r < std::min(most_relations, lists_.read_by().size()); ++r) {
        const std::uint32_t read = lists_.read_by()[r][member];
        if (!visited_[read] && seen_[read]++ == 0) found.push_back(read);
      }
    }
    std::stable_sort(found.begin(), found.end(), [this](std::uint32_t a, std::uint32_t b) { return seen_[a] < seen_[b]; });
    for (const std::uint32_t other : found) seen_[other] = 0;
    return found;
  }

  Lists& lists_;
  std::vector<std::uint32_t> seen_;
  std::vector<bool> visited_;
};

/// Sorts the members of one list after the other: marked, and read off 64 at a time.
class MemberSorter {
public:
  explicit MemberSorter(Vertex vertices) : marks_(vertices / word + 1, 0), colour_(vertices) {}

  void sort(Members& members) {
    constexpr std::uint64_t words_per_member = 4;
    if (marks_.size() > words_per_member * members.size()) return std::sort(members.begin(), members.end());
    for (const auto& [vertex, colour] : members) {
      marks_[vertex / word] |= std::uint64_t{1} << vertex % word;
      colour_[vertex] = colour;
    }
    members.clear();
    for (std::size_t k = 0; k < marks_.size(); ++k) {
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

/// By the lists that tokens read, when these were met, and by those that hold them.
std::vector<Vertex> sort_by_lists(Lists& lists, Vertex n) {
  const std::vector<Walk::Met> met = Walk(lists).all();
  // Round a circle of blocks in turns each list meets one before and one behind; where it closes their ranks are far from its own.
  const std::vector<std::uint32_t>& first = lists.read_by().front();
  const std::vector<std::uint32_t>& second = lists.read_by().back();
  std::vector<std::array<std::uint32_t, 2>> beside(lists.count(), {none, none});
  std::vector<bool> meets_two(lists.count(), lists.read_by().size() == 2);
  for (Vertex i = 0; i < n; ++i) {
    auto& [one, other] = beside[first[i]];
    if (one == none) one = second[i];
    else if (second[i] != one && other == none) other = second[i];
    else if (second[i] != one && second[i] != other) meets_two[first[i]] = false;
  }
  const auto rank_within = [&](std::uint32_t list, std::uint32_t among) -> std::int64_t {
    const std::int64_t rank = met[among].rank, count = met[list].count;
    if (!meets_two[list] || met[among].first != met[list].first) return rank;
    const std::int64_t ahead = (rank - met[list].rank + count) % count;
    return 2 * ahead > count ? ahead - count : ahead;
  };
  std::vector<std::uint32_t> holding(n, 0);  // how many lists hold a token
  std::vector<std::uint64_t> holders(n, 0);  // which
  for (std::uint32_t list = 0; list < lists.count(); ++list) {
    for (const auto& [member, colour] : lists.members(list)) {
      ++holding[member];
      holders[member] += mix(std::uint64_t{list} << 32 | colour);
    }
  }
  std::vector<Vertex> order(n);
  std::iota(order.begin(), order.end(), Vertex{0});
  std::sort(order.begin(), order.end(), [&](Vertex a, Vertex b) {
    if (first[a] != first[b]) return met[first[a]].rank < met[first[b]].rank;
    for (const auto& read : lists.read_by()) {
      if (read[a] != read[b]) return rank_within(first[a], read[a]) < rank_within(first[a], read[b]);
    }
    if (holding[a] != holding[b]) return holding[a] < holding[b];
    if (holders[a] != holders[b]) return holders[a] < holders[b];
    return a < b;
  });
  return order;
}

/// Where nobody comes to read itself through others: by the longest way that reading can take. Nothing elsewhere. O(arcs).
std::optional<std::vector<Vertex>> sort_by_depth(const JoinedRows& rows, Vertex n) {
  std::vector<std::uint32_t> unsettled(n, 0), begin(std::size_t{n} + 1, 0);
  std::vector<Vertex> settled;
  const auto visit = [&](Vertex i, const auto& take) {
    for (std::uint32_t k = rows.begin[i]; k < rows.begin[i + 1]; ++k) {
      if (const Vertex j = rows.members[k] % n; j != i) take(j);
    }
  };
  for (Vertex i = 0; i < n; ++i) {
    visit(i, [&](Vertex j) { ++unsettled[i], ++begin[j + 1]; });
    if (unsettled[i] == 0) settled.push_back(i);
  }
  if (settled.empty()) return std::nullopt;
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<Vertex> readers(begin.back());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1), depth(n, 0);
  for (Vertex i = 0; i < n; ++i) visit(i, [&](Vertex j) { readers[next[j]++] = i; });
  for (std::size_t k = 0; k < settled.size(); ++k) {
    const Vertex j = settled[k];
    for (std::uint32_t at = begin[j]; at < begin[j + 1]; ++at) {
      depth[readers[at]] = std::max(depth[readers[at]], depth[j] + 1);
      if (--unsettled[readers[at]] == 0) settled.push_back(readers[at]);
    }
  }
  if (settled.size() < n) return std::nullopt;
  std::stable_sort(settled.begin(), settled.end(), [&](Vertex a, Vertex b) { return depth[a] < depth[b]; });
  return settled;
}

struct Order {
  std::vector<Vertex> token;
  bool is_grid = false;  ///< is it better whatever it does to the number of runs?
  bool is_few_runs = false;  ///< is no other worth looking for?
};

/// By how many read each token, where each row then is fewer runs: the ones before a place, as where every row holds the next shorter one (causal masks along any order of the tokens). Nothing
/// where a sample says that it is not, or rows are few runs already. O(runs).
std::optional<Order> sort_by_readers(Lists& lists, Vertex n) {
  constexpr Threshold<std::uint64_t> runs_per_list{16, 1, "natural order"}, most_left{4, 1, "natural order"};
  constexpr std::uint32_t samples = 64, shortest = 64;  // a row that begins where the line does holds half of it on average: shorter ones need not be looked at
  if (lists.runs() < runs_per_list * lists.count() || shortest * lists.listed() < std::uint64_t{n} * lists.count()) return std::nullopt;
  std::vector<std::uint32_t> read_by_list(lists.count(), 0);
  for (const auto& read : lists.read_by()) {
    for (const std::uint32_t list : read) ++read_by_list[list];
  }
  std::vector<std::int64_t> readers(std::size_t{n} + 1, 0), single(n, 0);  // differences, then sums; of vertices one by one
  for (std::uint32_t list = 0; list < lists.count(); ++list) {
    if (const auto written = lists.written(list); !written.empty()) {
      for (const Vertex j : written) single[j] += read_by_list[list];
      continue;
    }
    for (const Run& run : lists.runs_of(list)) {
      for (std::uint64_t j = run.first, length = run.step == 1 ? run.size() : 1; j <= run.last; j += length * run.step) {
        readers[j] += read_by_list[list];
        readers[j + length] -= read_by_list[list];
      }
    }
  }
  std::partial_sum(readers.begin(), readers.end(), readers.begin());
  for (Vertex j = 0; j < n; ++j) readers[j] += single[j];
  std::vector<Vertex> order(n), place(n);
  std::iota(order.begin(), order.end(), Vertex{0});
  std::stable_sort(order.begin(), order.end(), [&](Vertex a, Vertex b) { return readers[a] > readers[b]; });
  for (Vertex k = 0; k < n; ++k) place[order[k]] = k;
  std::uint64_t before = 0, after = 0;
  std::vector<Vertex> there;
  for (std::uint32_t k = 0; k < samples; ++k) {
    const auto list = static_cast<std::uint32_t>(std::uint64_t{k} * (lists.count() - 1) / (samples - 1));
    before += lists.runs_of(list).size();
    there.clear();
    for (const auto& [member, colour] : lists.members(list)) there.push_back(place[member]);
    std::sort(there.begin(), there.end());
    for (std::size_t at = 0; at < there.size(); ++at) after += at == 0 || there[at] != there[at - 1] + 1 ? 1 : 0;
  }
  if (after * most_left > before) return std::nullopt;
  constexpr std::uint64_t few = 4;
  return Order{std::move(order), false, after <= few * samples};
}

/// Is the row of the next token mostly the same, one token further, in a few places?
bool do_rows_move_along(Lists& lists, Vertex n) {
  constexpr Vertex samples = 64;
  Vertex moves = 0;
  for (Vertex k = 0; k < samples; ++k) {
    const auto i = static_cast<Vertex>(std::uint64_t{k} * (n - 1) / samples);
    Members here = lists.members(lists.read_by().front()[i]);
    for (auto& [member, colour] : here) ++member;
    moves += here == lists.members(lists.read_by().front()[i + 1]) ? 1 : 0;
  }
  return 2 * moves > samples;
}

/// By layer and token the one that it reads beside itself. Nothing where one reads more, or colours tell them apart.
std::optional<std::vector<std::vector<Vertex>>> find_partners(Lists& lists, Vertex n) {
  std::vector<std::vector<Vertex>> partner;
  for (const auto& read : lists.read_by()) {
    auto& joined = partner.emplace_back(n);
    for (Vertex i = 0; i < n; ++i) {
      joined[i] = i;
      for (const auto& [member, colour] : lists.members(read[i])) {
        if (member == i) continue;
        if (joined[i] != i || colour != 1) return std::nullopt;
        joined[i] = member;
      }
    }
  }
  return partner;
}

/// Rows that are mostly different; where neighbours stand in groups already, as along a curve that fills a grid, by the lines of a grid or not at all.
std::optional<Order> sort_by_rows(Lists& lists, Vertex n, bool is_scattered, const Budget& budget) {
  JoinedRows rows;
  rows.begin.push_back(0);
  rows.members.reserve(lists.arcs());
  for (Vertex i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < lists.read_by().size(); ++r) {
      for (const auto& [member, colour] : lists.members(lists.read_by()[r][i])) rows.members.push_back(static_cast<std::uint32_t>(r * n + member));
    }
    rows.begin.push_back(static_cast<std::uint32_t>(rows.members.size()));
  }
  if (is_scattered) {
    if (auto order = sort_by_depth(rows, n)) return Order{*std::move(order)};
  }
  if (auto grid = order_as_grid(rows, budget)) return Order{std::move(grid->token), true};
  if (!is_scattered) return std::nullopt;
  if (auto order = chain_by_likeness(rows, static_cast<std::uint32_t>(lists.read_by().size() * n), budget)) return Order{*std::move(order)};
  return std::nullopt;
}

/// How many vertices the row holds, if they are those of the first places, all of colour 1; else 0. No other vertices so many have places whose sum is as small; `places_before` are sums of the
/// places of the vertices before each. O(runs), and O(members) of those with steps and of rows that are written out.
Vertex measure_prefix(Lists& lists, std::uint32_t list, const std::vector<Vertex>& place, const std::vector<std::uint64_t>& places_before) {
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

/// Is every list read by its members and by nobody else?
bool are_classes(Lists& lists, Vertex n) {
  if (lists.listed() != std::uint64_t{n} * lists.read_by().size()) return false;
  for (std::size_t r = 0; r < lists.read_by().size(); ++r) {
    const std::uint32_t end = r + 1 < lists.read_by().size() ? lists.first_of(r + 1) : lists.count();
    for (std::uint32_t list = lists.first_of(r); list < end; ++list) {
      if (!std::ranges::all_of(lists.members(list), [&](const auto& member) { return lists.read_by()[r][member.first] == list; })) return false;
    }
  }
  return true;
}

/// Nothing where that is not worth it. O(members of the lists).
std::optional<Reordered> put_in_order(const Layout& layout, Lists& lists, Order order, const Budget& budget) {
  const Vertex n = layout.tokens;
  Reordered result;
  result.token = std::move(order.token);
  std::vector<Vertex> place(n);
  for (Vertex k = 0; k < n; ++k) place[result.token[k]] = k;
  std::vector<std::uint64_t> places_before(std::size_t{n} + 1, 0);
  for (Vertex j = 0; j < n; ++j) places_before[j + 1] = places_before[j] + place[j];
  result.layout = {n, 0, {}, {}, layout.layers, layout.order};
  for (const Vertex token : result.token) result.layout.vertex_colour.push_back(layout.vertex_colour[token]);
  std::uint64_t runs = 0;
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    const Relation& relation = layout.relations[r];
    PatternBuilder builder(n, budget);
    std::vector<std::uint32_t> written;
    std::vector<Vertex> vertices;
    std::vector<std::uint32_t> colours;
    std::vector<AffineRun> list_runs;
    MemberSorter sorter(n);
    for (std::uint32_t l = 0; l < relation.pattern().lists().size(); ++l) {
      if (const Vertex size = measure_prefix(lists, lists.first_of(r) + l, place, places_before); size > 0) {
        ++runs;
        written.push_back(builder.add_list_once(std::array{AffineRun{0, std::int64_t{size} - 1, n}}));
        continue;
      }
      Members members = lists.members(lists.first_of(r) + l);
      for (auto& [vertex, colour] : members) vertex = place[vertex];
      sorter.sort(members);
      vertices.clear();
      colours.clear();
      for (const auto& [vertex, colour] : members) {
        vertices.push_back(vertex);
        colours.push_back(colour);
      }
      list_runs.clear();
      append_runs(vertices, colours, list_runs);
      runs += list_runs.size();
      if (std::ranges::all_of(colours, [](std::uint32_t colour) { return colour == 1; })) colours.clear();
      written.push_back(builder.add_row_once(vertices, colours));
    }
    for (Vertex k = 0; k < n; ++k) builder.add_segment(k, written[lists.read_by()[r][result.token[k]] - lists.first_of(r)]);
    result.layout.relations.emplace_back(builder.build(), Relative{}, relation.cancels(), n);
  }
  constexpr Threshold<std::uint64_t> worth{2, 0, "natural order"};
  if (!order.is_grid && runs * worth > lists.runs()) return std::nullopt;
  return result;
}

/// By the lists where these are few, by likeness of the rows otherwise. Nothing where tokens stand in a good order already.
std::optional<Order> sort_by_lists_or_rows(Lists& lists, const Layout& layout, const Budget& budget) {
  const Vertex n = layout.tokens;
  if (n < least_reordered) return std::nullopt;
  if (lists.is_few() && lists.read_by().size() == 2 && are_classes(lists, n)) {
    if (auto order = order_by_cells(lists.read_by()[0], lists.read_by()[1], budget)) return Order{*std::move(order), true};
  }
  // Runs of one or two: blocks of a grid in rows are in a better order than one block behind the other.
  constexpr Threshold<std::uint64_t> members_of_two_runs{3, std::uint64_t{1} << 20, "natural order"}, members_of_two_groups{9, std::uint64_t{1} << 20, "natural order"};
  constexpr Threshold<std::uint64_t> runs_per_reader{4, std::uint64_t{1} << 20, "natural order"};
  const bool is_scattered = 2 * lists.listed() <= members_of_two_runs * lists.runs();
  if (!is_scattered && (lists.is_few() || 2 * lists.listed() > members_of_two_groups * lists.runs() || do_rows_move_along(lists, n))) return std::nullopt;
  constexpr std::uint64_t most_chained = std::uint64_t{1} << 26;
  if (lists.is_few()) {
    if (lists.runs() * runs_per_reader < n) return std::nullopt;
    budget.ask(std::uint64_t{n} * (24 + 4 * layout.relations.size()));
    return Order{sort_by_lists(lists, n)};
  }
  if (lists.arcs() > most_chained || layout.relations.size() * std::uint64_t{n} > most_chained) return std::nullopt;
  budget.ask(8 * (std::uint64_t{n} + lists.arcs()));
  if (lists.arcs() <= 2 * std::uint64_t{n} * lists.read_by().size()) {
    const auto partners = find_partners(lists, n);
    auto order = partners ? order_by_pairs(*partners, budget) : std::nullopt;
    if (order) return Order{*std::move(order), true};
  }
  return sort_by_rows(lists, n, is_scattered, budget);
}

}  // namespace

std::optional<Reordered> find_natural_order(const Layout& layout, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  if (layout.tokens < least_by_readers || layout.registers > 0 || layout.relations.empty()) return std::nullopt;
  Lists lists(layout, budget);
  if (!lists.read()) return std::nullopt;
  std::optional<Order> order = sort_by_readers(lists, layout.tokens);
  if (!order || !order->is_few_runs) {
    if (auto better = sort_by_lists_or_rows(lists, layout, budget)) order = std::move(better);
  }
  return order ? put_in_order(layout, lists, *std::move(order), budget) : std::nullopt;
}

}  // namespace sightline::layout

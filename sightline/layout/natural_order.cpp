#include "sightline/layout/natural_order.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "sightline/base/mix.hpp"
#include "sightline/layout/cell_order.hpp"
#include "sightline/layout/grid_order.hpp"
#include "sightline/layout/joined_rows.hpp"
#include "sightline/layout/likeness_chain.hpp"
#include "sightline/layout/pair_order.hpp"
#include "sightline/layout/put_in_order.hpp"
#include "sightline/layout/token_lists.hpp"

namespace sightline::layout {

namespace {

constexpr std::uint32_t none = ~std::uint32_t{0};

/// Visits lists in depth: from each to the one, not yet visited, that most of its members read.
class Walk {
public:
  /// kinds: of as many relations as are followed; null where they are many.
  Walk(TokenLists& lists, std::size_t relations, const TokenKinds* kinds) : lists_(lists), relations_(relations), kinds_(kinds), seen_(lists.count(), 0) {}

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
    std::vector<std::uint32_t> found;
    const auto see = [this, &found](std::uint32_t read, std::uint32_t times) {
      if (visited_[read]) return;
      if (seen_[read] == 0) found.push_back(read);
      seen_[read] += times;
    };
    if (kinds_ == nullptr) {
      lists_.visit(list, [&](Vertex member, std::uint32_t) {
        for (std::size_t r = 0; r < relations_; ++r) see(lists_.read_by()[r][member], 1);
      });
    } else {
      for (const auto& [kind, times] : kinds_->held(list)) {
        for (std::size_t r = 0; r < relations_; ++r) see(lists_.read_by()[r][kinds_->example(kind)], times);
      }
    }
    std::stable_sort(found.begin(), found.end(), [this](std::uint32_t a, std::uint32_t b) { return seen_[a] < seen_[b]; });
    for (const std::uint32_t other : found) seen_[other] = 0;
    return found;
  }

  TokenLists& lists_;
  std::size_t relations_;
  const TokenKinds* kinds_;
  std::vector<std::uint32_t> seen_;
  std::vector<bool> visited_;
};

/// How many lists hold each token, and a hash of which.
std::vector<std::pair<std::uint64_t, std::uint64_t>> count_holders(TokenLists& lists, Vertex n, const TokenKinds* kinds) {
  using Holders = std::pair<std::uint64_t, std::uint64_t>;
  std::vector<Holders> of_token(n), of_kind(kinds == nullptr ? 0 : kinds->count());
  const auto add = [](Holders& to, std::uint64_t hash) {
    ++to.first;
    to.second += hash;
  };
  for (std::uint32_t list = 0; list < lists.count(); ++list) {
    const auto hash_of = [list](std::uint32_t colour) { return mix(std::uint64_t{list} << 32 | colour); };
    if (kinds != nullptr && kinds->is_whole(list)) {
      for (const auto& [kind, times] : kinds->held(list)) add(of_kind[kind], hash_of(1));
      continue;
    }
    lists.visit(list, [&](Vertex member, std::uint32_t colour) { add(of_token[member], hash_of(colour)); });
  }
  for (Vertex i = 0; i < n && kinds != nullptr; ++i) {
    of_token[i].first += of_kind[kinds->of(i)].first;
    of_token[i].second += of_kind[kinds->of(i)].second;
  }
  return of_token;
}

/// By the lists that tokens read, when these were met, and by those that hold them.
Order sort_by_lists(TokenLists& lists, Vertex n, const Budget& budget) {
  constexpr std::size_t most_relations = 4;  // more lead nowhere else, and cost as much each
  const std::size_t relations = std::min(most_relations, lists.read_by().size());
  std::optional<TokenKinds> kinds = TokenKinds::find(lists, n, relations, budget);
  const TokenKinds* const known = kinds ? &*kinds : nullptr;
  const std::vector<Walk::Met> met = Walk(lists, relations, known).all();
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
  const auto holders = count_holders(lists, n, known);
  std::vector<std::uint32_t> begin(std::size_t{lists.count()} + 1, 0);  // by the rank of the first list that is read
  for (Vertex i = 0; i < n; ++i) ++begin[met[first[i]].rank + 1];
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  std::vector<Vertex> order(n);
  for (Vertex i = 0; i < n; ++i) order[next[met[first[i]].rank]++] = i;
  for (std::uint32_t rank = 0; rank < lists.count(); ++rank) {
    std::sort(order.begin() + begin[rank], order.begin() + begin[rank + 1], [&](Vertex a, Vertex b) {
      for (const auto& read : lists.read_by()) {
        if (read[a] != read[b]) return rank_within(first[a], read[a]) < rank_within(first[a], read[b]);
      }
      return std::pair(holders[a], a) < std::pair(holders[b], b);
    });
  }
  return {std::move(order), false, false, std::move(kinds)};
}

/// Where nobody comes to read itself through others: by the longest way that reading can take. Nothing elsewhere. O(arcs).
std::optional<std::vector<Vertex>> sort_by_depth(const JoinedRows& rows, Vertex n) {
  std::vector<std::uint32_t> unsettled(n, 0);
  std::vector<Vertex> settled;
  for (Vertex i = 0; i < n; ++i) {
    rows.visit_row(i, [&](Vertex j) { unsettled[i] += j != i ? 1 : 0; });
    if (unsettled[i] == 0) settled.push_back(i);
  }
  if (settled.empty()) return std::nullopt;
  const JoinedReaders readers(rows);
  std::vector<std::uint32_t> depth(n, 0);
  for (std::size_t k = 0; k < settled.size(); ++k) {
    const Vertex j = settled[k];
    for (const Vertex reader : readers.of(j)) {
      depth[reader] = std::max(depth[reader], depth[j] + 1);
      if (--unsettled[reader] == 0) settled.push_back(reader);
    }
  }
  if (settled.size() < n) return std::nullopt;
  std::stable_sort(settled.begin(), settled.end(), [&](Vertex a, Vertex b) { return depth[a] < depth[b]; });
  return settled;
}

/// By how many read each token, where each row then is fewer runs: the ones before a place, as where every row holds the next shorter one (causal masks along any order of the tokens). Nothing
/// where a sample says that it is not, or rows are few runs already. O(runs).
std::optional<Order> sort_by_readers(TokenLists& lists, Vertex n) {
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
bool do_rows_move_along(TokenLists& lists, Vertex n) {
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
std::optional<std::vector<std::vector<Vertex>>> find_partners(TokenLists& lists, Vertex n) {
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
std::optional<Order> sort_by_rows(TokenLists& lists, Vertex n, bool is_scattered, const Budget& budget) {
  JoinedRows rows;
  rows.begin.push_back(0);
  rows.members.reserve(lists.arcs());
  for (Vertex i = 0; i < n; ++i) {
    for (std::size_t r = 0; r < lists.read_by().size(); ++r) {
      lists.visit(lists.read_by()[r][i], [&](Vertex member, std::uint32_t) { rows.members.push_back(static_cast<std::uint32_t>(r * n + member)); });
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

/// Is every list read by its members and by nobody else?
bool are_classes(TokenLists& lists, Vertex n) {
  if (lists.listed() != std::uint64_t{n} * lists.read_by().size()) return false;
  for (std::size_t r = 0; r < lists.read_by().size(); ++r) {
    for (std::uint32_t list = lists.first_of(r); list < lists.end_of(r); ++list) {
      if (!std::ranges::all_of(lists.members(list), [&](const auto& member) { return lists.read_by()[r][member.first] == list; })) return false;
    }
  }
  return true;
}

/// By the lists where these are few, by likeness of the rows otherwise. Nothing where tokens stand in a good order already.
std::optional<Order> sort_by_lists_or_rows(TokenLists& lists, const Layout& layout, const Budget& budget) {
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
  constexpr std::uint64_t most_chained = std::uint64_t{5} << 27;
  if (lists.is_few()) {
    if (lists.runs() * runs_per_reader < n) return std::nullopt;
    budget.ask(std::uint64_t{n} * (32 + 4 * layout.relations.size()));
    return sort_by_lists(lists, n, budget);
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
  TokenLists lists(layout, budget);
  if (!lists.read()) return std::nullopt;
  std::optional<Order> order = sort_by_readers(lists, layout.tokens);
  if (!order || !order->is_few_runs) {
    if (auto better = sort_by_lists_or_rows(lists, layout, budget)) order = std::move(better);
  }
  return order ? put_in_order(layout, lists, *order, budget) : std::nullopt;
}

}  // namespace sightline::layout

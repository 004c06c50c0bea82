#include "sightline/layout/likeness_chain.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/neighbour_chain.hpp"

namespace sightline::layout {

namespace {

constexpr Threshold<std::uint64_t> sampled_arcs{std::uint64_t{1} << 26, std::uint64_t{1} << 26, "natural order"};

class Chain {
public:
  Chain(const JoinedRows& rows, std::uint32_t columns, const Budget& budget) : n_(rows.tokens()), budget_(budget) {
    budget_.ask(rows.members.size() * 12 + std::uint64_t{n_} * 24 + std::uint64_t{columns} * 8);
    std::vector<std::uint32_t> held(columns, 0);
    for (const std::uint32_t member : rows.members) ++held[member];
    const std::uint32_t many = rows.many();
    // Own numbers for the members that count.
    std::vector<std::uint32_t> number(columns, none);
    column_begin_.push_back(0);
    for (std::uint32_t c = 0; c < columns; ++c) {
      if (held[c] == 0 || held[c] > many) continue;
      number[c] = static_cast<std::uint32_t>(column_begin_.size() - 1);
      column_begin_.push_back(column_begin_.back() + held[c]);
    }
    std::vector<std::uint32_t> next(column_begin_.begin(), column_begin_.end() - 1);
    readers_.resize(column_begin_.back());
    aside_.assign(n_, false);
    for (Vertex i = 0; i < n_; ++i) {
      begin_.push_back(static_cast<std::uint32_t>(members_.size()));
      aside_[i] = rows.length(i) > many;
      for (std::uint32_t k = rows.begin[i]; k < rows.begin[i + 1]; ++k) {
        const std::uint32_t column = number[rows.members[k]];
        if (column == none || aside_[i]) continue;
        members_.push_back(column);
        readers_[next[column]++] = i;
      }
    }
    begin_.push_back(static_cast<std::uint32_t>(members_.size()));
    column_end_ = std::move(next);
    score_.assign(n_, 0);
    place_.assign(n_, none);
  }

  enum class Likeness : std::uint8_t { none, half, much };
  /// Of nearly all of a few tokens: has some other row half of what this one has, or all but a quarter?
  Likeness sample() {
    constexpr Vertex dissenters = 4;
    constexpr std::uint64_t much = 4;
    std::uint64_t work = 0;
    Vertex much_alike = 0, half_alike = 0, asked = 0;
    for (Vertex k = 0; k < samples; ++k) {
      const auto i = static_cast<Vertex>(std::uint64_t{k} * n_ / samples);
      if (aside_[i]) continue;
      ++asked;
      for (const std::uint32_t member : row(i)) work += column_end_[member] - column_begin_[member];
      if (work > sampled_arcs) return Likeness::none;
      move_to(i, {});
      met_by_sample_ += active_.size();
      if (const auto best = find_next(i)) {
        much_alike += much * best->second <= row(i).size() ? 1 : 0;
        half_alike += best->second <= row(i).size() ? 1 : 0;
      }
      leave(i);
    }
    if (asked == 0 || half_alike + dissenters < asked) return Likeness::none;
    return much_alike + dissenters < asked ? Likeness::half : Likeness::much;
  }

  /// Are those that are at all like the last one too many to be gone through at each step? To be asked after sample().
  [[nodiscard]] bool is_too_long() const { return met_by_sample_ / samples * n_ > most_work(); }

  std::optional<std::vector<Vertex>> walk() {
    std::vector<Vertex> by_length, order;
    for (Vertex i = 0; i < n_; ++i) {
      if (!aside_[i]) by_length.push_back(i);
    }
    std::stable_sort(by_length.begin(), by_length.end(), [this](Vertex a, Vertex b) { return row(a).size() < row(b).size(); });
    placed_.assign(n_, false);
    std::optional<Vertex> last;
    for (std::size_t start = 0; order.size() < by_length.size();) {
      budget_.poll();
      std::optional<Vertex> next;
      if (last) {
        if (const auto best = find_next(*last)) next = best->first;
      }
      if (!next) {
        while (placed_[by_length[start]]) ++start;
        next = by_length[start];
      }
      move_to(*next, last ? row(*last) : std::span<const std::uint32_t>{});
      placed_[*next] = true;
      order.push_back(*next);
      last = next;
      if (work_ > most_work()) return std::nullopt;
    }
    for (Vertex i = 0; i < n_; ++i) {
      if (aside_[i]) order.push_back(i);
    }
    return order;
  }

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  static constexpr Vertex samples = 32;

  [[nodiscard]] std::uint64_t most_work() const {
    constexpr std::uint64_t most_steps = 32;
    return most_steps * (members_.size() + n_);
  }
  [[nodiscard]] std::span<const std::uint32_t> row(Vertex i) const { return std::span(members_).subspan(begin_[i], begin_[i + 1] - begin_[i]); }

  /// score: members in common with the current row; active_: who has any.
  void count(std::uint32_t member, bool more) {
    for (std::uint32_t k = column_begin_[member]; k < column_end_[member]; ++k) {
      const Vertex reader = readers_[k];
      if (more) {
        if (score_[reader]++ == 0) place_[reader] = static_cast<std::uint32_t>(active_.size()), active_.push_back(reader);
      } else if (--score_[reader] == 0) {
        const Vertex moved = active_.back();
        active_[place_[reader]] = moved;
        place_[moved] = place_[reader];
        active_.pop_back();
        place_[reader] = none;
      }
    }
    work_ += column_end_[member] - column_begin_[member];
  }

  void move_to(Vertex i, std::span<const std::uint32_t> before) {
    const auto now = row(i);
    std::size_t a = 0, b = 0;
    while (a < before.size() || b < now.size()) {
      if (b == now.size() || (a < before.size() && before[a] < now[b])) count(before[a++], false);
      else if (a == before.size() || now[b] < before[a]) count(now[b++], true);
      else ++a, ++b;
    }
  }
  void leave(Vertex i) {
    for (const std::uint32_t member : row(i)) count(member, false);
  }

  /// The token not yet met that differs least, the first of several, and by how much.
  std::optional<std::pair<Vertex, std::uint64_t>> find_next(Vertex i) {
    std::optional<std::pair<Vertex, std::uint64_t>> best;
    for (const Vertex other : active_) {
      if (other == i || (!placed_.empty() && placed_[other])) continue;
      const std::uint64_t apart = row(i).size() + row(other).size() - 2 * std::uint64_t{score_[other]};
      if (!best || apart < best->second || (apart == best->second && other < best->first)) best = {other, apart};
    }
    work_ += active_.size();
    return best;
  }

  Vertex n_;
  const Budget& budget_;
  std::vector<std::uint32_t> begin_, members_, column_begin_, column_end_;
  std::vector<Vertex> readers_, active_;
  std::vector<std::uint32_t> score_, place_;
  std::vector<bool> aside_, placed_;
  std::uint64_t work_ = 0, met_by_sample_ = 0;
};

}  // namespace

std::optional<std::vector<Vertex>> chain_by_likeness(const JoinedRows& rows, std::uint32_t columns, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  {
    Chain chain(rows, columns, budget);
    const Chain::Likeness likeness = chain.sample();
    if (likeness == Chain::Likeness::none) return std::nullopt;
    if (likeness == Chain::Likeness::much && !chain.is_too_long()) {
      if (auto order = chain.walk()) return order;
    }
  }
  return chain_by_neighbours(rows, budget);
}

}  // namespace sightline::layout

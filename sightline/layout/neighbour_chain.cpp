#include "sightline/layout/neighbour_chain.hpp"

#include <numeric>

namespace sightline::layout {

namespace {

/// Tokens by how many they read of those that were met: a list of each number, linked.
class ByCount {
public:
  explicit ByCount(Vertex tokens) : count_(tokens, 0), before_(tokens, none), behind_(tokens, none), first_(1, none) {}

  void add(Vertex i) {
    if (const std::uint32_t next = first_[count_[i]]; next != none) before_[next] = i;
    behind_[i] = first_[count_[i]];
    before_[i] = none;
    first_[count_[i]] = i;
    highest_ = std::max(highest_, count_[i]);
  }
  void remove(Vertex i) {
    if (before_[i] != none) behind_[before_[i]] = behind_[i];
    else first_[count_[i]] = behind_[i];
    if (behind_[i] != none) before_[behind_[i]] = before_[i];
  }
  void count_one(Vertex i) {
    remove(i);
    if (++count_[i] == first_.size()) first_.push_back(none);
    add(i);
  }
  /// Calls visit(token) for those with the highest number.
  template <class Visit>
  void visit_highest(Visit&& visit) {
    while (highest_ > 0 && first_[highest_] == none) --highest_;
    for (std::uint32_t i = first_[highest_]; i != none; i = behind_[i]) visit(i);
  }

private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> count_, before_, behind_, first_;
  std::uint32_t highest_ = 0;
};

class NeighbourChain {
public:
  NeighbourChain(const JoinedRows& rows, const Budget& budget) : rows_(rows), n_(rows.tokens()), budget_(budget), readers_(rows), by_count_(n_), preference_(n_) {
    std::iota(preference_.begin(), preference_.end(), Vertex{0});
  }

  /// Twice: near its start a walk may not be able to tell, where the second one, which begins at the other end, has long gone past; there whoever the first one met later is taken.
  std::optional<std::vector<Vertex>> walk_twice() {
    std::optional<std::vector<Vertex>> order = walk();
    if (!order) return std::nullopt;
    for (Vertex k = 0; k < n_; ++k) preference_[(*order)[k]] = n_ - 1 - k;
    return walk();
  }

private:
  std::optional<std::vector<Vertex>> walk() {
    by_count_ = ByCount(n_);
    met_.clear();
    mark_.assign(n_, none);
    work_ = 0;
    std::vector<Vertex> order;
    std::uint32_t left = 0;
    for (Vertex i = n_; i-- > 0;) {
      if (is_aside(i)) continue;
      by_count_.add(i);
      ++left;
    }
    for (Vertex i = 0; i < n_; ++i) met_.push_back(is_aside(i));
    constexpr std::uint64_t most_steps = 16;
    const std::uint64_t most_work = most_steps * (rows_.members.size() + n_);
    std::vector<Vertex> alike;
    for (; left > 0; --left) {
      budget_.poll();
      const Vertex next = choose(order, alike);
      by_count_.remove(next);
      met_[next] = true;
      order.push_back(next);
      for (const Vertex reader : readers_.of(next)) {
        if (!met_[reader]) by_count_.count_one(reader);
      }
      if (work_ > most_work) return std::nullopt;
    }
    for (Vertex i = 0; i < n_; ++i) {
      if (is_aside(i)) order.push_back(i);
    }
    return order;
  }

  static constexpr std::uint32_t none = ~std::uint32_t{0};

  [[nodiscard]] bool is_aside(Vertex i) const { return rows_.length(i) > rows_.many(); }

  Vertex choose(const std::vector<Vertex>& order, std::vector<Vertex>& alike) {
    std::uint32_t shortest = none;
    by_count_.visit_highest([&](Vertex i) {
      ++work_;
      if (rows_.length(i) > shortest) return;
      if (rows_.length(i) < shortest) alike.clear();
      shortest = rows_.length(i);
      alike.push_back(i);
    });
    const auto is_preferred = [this](Vertex a, Vertex b) { return preference_[a] < preference_[b]; };
    if (alike.size() == 1 || order.empty()) return *std::min_element(alike.begin(), alike.end(), is_preferred);
    const Vertex last = order.back();
    rows_.visit_row(last, [&](Vertex j) { mark_[j] = last; });
    std::uint32_t most = 0;
    Vertex best = none;
    for (const Vertex i : alike) {
      std::uint32_t common = 0;
      rows_.visit_row(i, [&](Vertex j) { common += mark_[j] == last ? 1 : 0; });
      work_ += rows_.length(i);
      if (best == none || common > most || (common == most && is_preferred(i, best))) most = common, best = i;
    }
    return best;
  }

  const JoinedRows& rows_;
  Vertex n_;
  const Budget& budget_;
  JoinedReaders readers_;
  ByCount by_count_;
  std::vector<std::uint32_t> preference_;  ///< of those alike the least
  std::vector<Vertex> mark_;  ///< the last token whose row holds it
  std::vector<bool> met_;  ///< or set aside
  std::uint64_t work_ = 0;
};

}  // namespace

std::optional<std::vector<Vertex>> chain_by_neighbours(const JoinedRows& rows, const Budget& callers_budget) {
  const Budget budget = callers_budget;
  budget.ask(rows.members.size() * 4 + rows.begin.size() * 32);
  return NeighbourChain(rows, budget).walk_twice();
}

}  // namespace sightline::layout

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <set>

#include "sightline/design/search.hpp"

namespace sightline::design {

namespace {

constexpr double most_sequences = 1'000'000; ///< of one number of layers, over all totals
constexpr int most_totals_drawn = 24, draws_per_total = 200;
constexpr std::size_t most_views_compared = 5'000;
constexpr std::size_t most_sequences_refused =
    50; ///< by the certifier, though their views are told apart: a kernel that shows too little

} // namespace

void Search::search_sequences(std::uint64_t layers) {
  // All sequences of non-empty unions, total by total from the least possible one; the first that is certified is the
  // best.
  std::vector<Union> unions = list_unions(false);
  std::map<std::uint64_t, std::pair<std::size_t, std::size_t>> at_cost; // [first, last) in unions
  for (std::size_t k = 0; k < unions.size(); ++k) {
    const auto at = at_cost.emplace(unions[k].pairs, std::pair{k, k}).first;
    at->second.second = k + 1;
  }
  const std::uint64_t least = unions.front().pairs, n = orbitals_.degree();
  const bool transitive = orbitals_.diagonal_count() == 1;
  const std::uint64_t wanted_below = find_fewest_pairs(layers); // equal totals bring nothing new
  double looked_at = 0;
  std::size_t refused = 0, compared = 0;
  bool found = false, stopped = false;
  std::vector<OrbitalSet> sets(layers);
  std::vector<std::uint64_t> costs(layers);
  std::set<std::vector<OrbitalSet>> wrong_group;
  std::uint64_t pairs = bound_pairs(orbitals_, false, PointKind::several, layers);

  bool draws = false; ///< sequences are drawn, not listed
  const auto try_sequence = [&] {
    if (std::all_of(sets.begin(), sets.end(), [&](OrbitalSet set) { return set == sets[0]; }))
      return; // one pattern
    std::vector<OrbitalSet> key = sets;
    std::sort(key.begin(), key.end());
    key.erase(std::unique(key.begin(), key.end()), key.end());
    if (wrong_group.count(key) > 0)
      return;
    if (!has_right_group(key)) {
      wrong_group.insert(std::move(key));
      return;
    }
    // A sequence that was drawn may do without its last layers.
    std::uint64_t reach = 1;
    OrbitalSet view = configuration_->extend_view(sets[0], configuration_->diagonal());
    while (reach < layers && view != configuration_->everything())
      view = configuration_->extend_view(sets[reach++], view);
    const std::optional<std::uint64_t> depth = find_depth(sets, reach, layers);
    if (!depth) {
      stopped = ++compared >= most_views_compared;
      return;
    }
    if (std::all_of(sets.begin(), sets.begin() + static_cast<std::ptrdiff_t>(*depth),
                    [&](OrbitalSet set) { return set == sets[0]; }))
      return;
    Candidate candidate;
    candidate.kind = PointKind::several;
    candidate.whole_list_once = true;
    for (std::size_t q = 0; q < *depth; ++q) {
      candidate.layers.push_back({describe_union(orbitals_, list(sets[q]), budget_), costs[q]});
      candidate.description += (q == 0 ? "" : ", ") + describe(sets[q]);
    }
    candidate.description = fmt::format("{} layers of their own: {}", *depth, candidate.description);
    std::optional<FrontPoint> point = certify(candidate, *depth);
    if (!point) {
      stopped = ++refused >= most_sequences_refused;
      return;
    }
    found = true;
    (void)keep(std::move(point), !draws && *depth == layers);
  };

  const std::function<void(std::size_t, std::uint64_t, OrbitalSet)> extend = [&](std::size_t q, std::uint64_t left,
                                                                                 OrbitalSet view) {
    budget_.poll();
    const std::uint64_t after = layers - q - 1;
    const auto begin = after == 0 ? at_cost.find(left) : at_cost.begin();
    for (auto at = begin; at != at_cost.end() && at->first + after * least <= left && !found && !stopped; ++at) {
      if (after == 0 && at->first != left)
        break;
      for (std::size_t k = at->second.first; k < at->second.second && !found && !stopped; ++k) {
        if (++looked_at > most_sequences) {
          stopped = true;
          return;
        }
        const OrbitalSet seen = configuration_->extend_view(unions[k].set, view);
        sets[q] = unions[k].set;
        costs[q] = at->first;
        if (after == 0) {
          if (seen == configuration_->everything())
            try_sequence();
          continue;
        }
        if (transitive) {
          // Rows grow by a factor of 1 + d at most; equal d's make the most of what is left.
          const auto row = static_cast<double>(configuration_->count_pairs(seen) / n + 1);
          const double rest = static_cast<double>(left - at->first) / static_cast<double>(n * after);
          if (row * std::pow(1 + rest, static_cast<double>(after)) < static_cast<double>(n) * (1 - 1e-9))
            continue;
        }
        extend(q + 1, left - at->first, seen);
      }
    }
  };
  while (!found && !stopped && pairs < wanted_below && pairs <= layers * n * (n - 1)) {
    budget_.report("sequences of patterns", 0);
    extend(0, pairs, configuration_->diagonal());
    if (!found && !stopped)
      ++pairs;
  }
  const std::uint64_t looked_through = pairs;
  // What was not looked through is drawn from, so that there is a point at all.
  std::mt19937_64 random(layers);
  draws = stopped;
  stopped = false;
  refused = compared = 0;
  for (int totals = 0; draws && !found && !stopped && totals < most_totals_drawn && pairs < wanted_below; ++pairs) {
    bool any = false;
    for (int draw = 0; draw < draws_per_total && !found && !stopped; ++draw) {
      budget_.poll();
      std::uint64_t left = pairs;
      OrbitalSet view = configuration_->diagonal();
      std::size_t q = 0;
      for (; q < layers; ++q) {
        const std::uint64_t after = layers - q - 1;
        auto end = at_cost.upper_bound(left - std::min(left, after * least));
        if (after == 0 && (at_cost.find(left) == at_cost.end()))
          break;
        if (end == at_cost.begin())
          break;
        auto at = after == 0 ? at_cost.find(left) : at_cost.begin();
        if (after > 0)
          std::advance(at, random() % static_cast<std::uint64_t>(std::distance(at_cost.begin(), end)));
        const std::size_t k = at->second.first + random() % (at->second.second - at->second.first);
        sets[q] = unions[k].set;
        costs[q] = at->first;
        left -= at->first;
        view = configuration_->extend_view(sets[q], view);
      }
      any = any || q == layers;
      if (q == layers && view == configuration_->everything())
        try_sequence();
    }
    if (any)
      ++totals;
    else if (pairs > layers * n * (n - 1))
      break;
  }
  pairs = looked_through;
  // Every total below `pairs` was looked at to the end.
  for (FrontPoint& p : points_) {
    if (p.kind != PointKind::several || p.layers != layers || p.proved)
      continue;
    p.lower_bound = std::min(std::max(p.lower_bound, pairs), p.pairs);
    p.proved = p.lower_bound == p.pairs && !undecided_;
  }
}

} // namespace sightline::design

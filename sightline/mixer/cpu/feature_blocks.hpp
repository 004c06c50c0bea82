// Sums of features under any pattern: who adds up which blocks, once tiles have taken what is not in whole blocks
// (whole_reads.hpp, linear_blocks.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sightline/mixer/cpu/call_parts.hpp"
#include "sightline/mixer/cpu/pool.hpp"
#include "sightline/mixer/cpu/whole_reads.hpp"

namespace sightline::mixer::cpu {

/// Whether sums of blocks are less work than their pairs, for features and values of these widths.
[[nodiscard]] inline bool saves_work(const WholeReads& whole, std::int64_t features, std::int64_t value_width) {
  constexpr double saving = 0.8, adding = 3.2; // a state that joins a sum costs as much as so many rows of a product
  const auto m = static_cast<double>(features), d = static_cast<double>(value_width);
  const double pairs = static_cast<double>(whole.pairs) * block_reads * tile_readers * (m + d);
  const double sums = static_cast<double>(whole.blocks) * block_reads * m * d +
                      static_cast<double>(whole.tiles) * tile_readers * m * d +
                      static_cast<double>(whole.reads.nodes.size()) * adding * m * d;
  return sums < saving * pairs;
}

/// Memory for the states of `groups` groups of nodes of every head (or key head); more come in several turns. The number
/// comes from one head's shape alone: every turn rounds, and the number of threads may change no bit.
template <class Real> struct StateRoom {
  Real* data = nullptr;
  std::int64_t groups = 1;
};
/// Numbers of a state's sums; group_numbers: of all that a group of states takes.
template <class Real> [[nodiscard]] std::int64_t sum_numbers(const FeatureMap<Real>& map, std::int64_t value_width) {
  return map.padded * ((value_width + 15) / 16 * 16);
}
/// The k-th of states that lie side by side.
template <class Real>
[[nodiscard]] LinearState<Real> state_at(const LinearState<Real>& first, const FeatureMap<Real>& map,
                                         std::int64_t value_width, std::int64_t k) {
  return {first.sums + k * sum_numbers(map, value_width), first.totals + k * map.padded, first.exponent + k};
}
template <class Real> [[nodiscard]] std::int64_t group_numbers(const FeatureMap<Real>& map, std::int64_t value_width) {
  return group_nodes * (sum_numbers(map, value_width) + map.padded + 1);
}

/// The heads of one call: `heads` of them from the plan's first_head on, `group` to a key head. Heads and gradients: of rows
/// of features.
template <class Real> class FeatureBlocks {
public:
  FeatureBlocks(const Plan& plan, const CompiledPlan& compiled, const Engine<Real>& engine,
                const FeatureMap<Real>& map, std::int64_t value_width, std::int64_t first_head, std::int64_t heads,
                std::int64_t group, int workers)
      : plan_(plan), compiled_(compiled), engine_(engine), map_(map), value_width_(value_width),
        first_head_(first_head), heads_(heads), group_(group), workers_(workers) {}

  /// head_of(h), rule_of(h): outputs and statistics hold what tiles have taken.
  template <class RuleOf, class HeadOf>
  void forward(RuleOf rule_of, HeadOf head_of, const StateRoom<Real>& room) const {
    const Workspaces workspaces(engine_.block_bytes(map_, value_width_), workers_);
    for_tiles(head_of, room, workspaces, [&](std::int64_t h, const Tile& tile, const StateList<Real>& list, void* space) {
      engine_.block_forward(rule_of(h), map_, head_of(h), tile.first_reader, tile.first_reader + tile.readers, list,
                            space);
    });
  }

  /// gradients_of(h): adds to the gradients of the readers' features.
  template <class RuleOf, class HeadOf, class GradientsOf>
  void backward_readers(RuleOf rule_of, HeadOf head_of, GradientsOf gradients_of, const StateRoom<Real>& room) const {
    const Workspaces workspaces(engine_.block_bytes(map_, value_width_), workers_);
    for_tiles(head_of, room, workspaces, [&](std::int64_t h, const Tile& tile, const StateList<Real>& list, void* space) {
      engine_.block_queries(rule_of(h), map_, head_of(h), gradients_of(h), tile.first_reader,
                            tile.first_reader + tile.readers, list, space);
    });
  }

  /// Adds to the gradients of the reads' features and values.
  template <class RuleOf, class HeadOf, class GradientsOf>
  void backward_reads(RuleOf rule_of, HeadOf head_of, GradientsOf gradients_of, const StateRoom<Real>& room) const {
    const Workspaces workspaces(engine_.block_bytes(map_, value_width_), workers_);
    std::int64_t all_groups = 0;
    for (std::int64_t h = 0; h < heads_; ++h)
      all_groups = std::max(all_groups, of(h).readers.groups());
    const std::int64_t blocks = (plan_.reads() + block_reads - 1) / block_reads;
    in_turns(all_groups, heads_, room, [&](const States& states, std::int64_t first, std::int64_t last) {
      const auto is_needed = [&](std::int64_t h, std::int64_t node) {
        return node < static_cast<std::int64_t>(of(h).readers.is_needed.size()) &&
               of(h).readers.is_needed[static_cast<std::size_t>(node)] != 0;
      };
      fill(states, first, last, heads_, is_needed,
           [&](std::int64_t h, std::int64_t leaf, const LinearState<Real>& to, int worker) {
             const Tile& tile = tiles_of(h)[static_cast<std::size_t>(leaf)];
             engine_.block_readers(rule_of(h), map_, head_of(h), gradients_of(h), tile.first_reader,
                                   tile.first_reader + tile.readers, to, workspaces.of(worker));
           });
      run_tasks(heads_ / group_ * blocks, workers_, [&](std::int64_t task, int worker) {
        const std::int64_t block = task % blocks;
        for (std::int64_t g = 0; g < group_; ++g) { // heads that share a key head add in their order
          const std::int64_t h = task / blocks * group_ + g;
          const StateList<Real> list = list_of(of(h).readers, block, states, h, first, last);
          if (list.count > 0)
            engine_.block_columns(map_, head_of(h), gradients_of(h), block * block_reads,
                                  std::min((block + 1) * block_reads, plan_.reads()), list, workspaces.of(worker));
        }
      });
    });
  }

private:
  /// States of the nodes of some groups side by side, of several trees.
  class States {
  public:
    States(const FeatureBlocks& of, const StateRoom<Real>& room, std::int64_t trees, std::int64_t groups)
        : of_(of), nodes_(groups * group_nodes), first_{room.data} {
      first_.totals = first_.sums + trees * nodes_ * sum_numbers(of.map_, of.value_width_);
      first_.exponent = first_.totals + trees * nodes_ * of.map_.padded;
    }
    [[nodiscard]] LinearState<Real> at(std::int64_t tree, std::int64_t node) const {
      return state_at(first_, of_.map_, of_.value_width_, tree * nodes_ + node);
    }

  private:
    const FeatureBlocks& of_;
    std::int64_t nodes_;
    LinearState<Real> first_;
  };

  [[nodiscard]] const WholeReads& of(std::int64_t h) const {
    return compiled_.whole[plan_.relation_of(first_head_ + h)];
  }
  [[nodiscard]] const std::vector<Tile>& tiles_of(std::int64_t h) const {
    return compiled_.rest[plan_.relation_of(first_head_ + h)].tiles;
  }

  /// work(states, first, last) for groups first .. last - 1 of `trees` heads, as many at a time as there is room for.
  template <class Work>
  void in_turns(std::int64_t groups, std::int64_t trees, const StateRoom<Real>& room, Work work) const {
    const std::int64_t turns = (groups + room.groups - 1) / room.groups;
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      const std::int64_t first = groups * turn / turns, last = groups * (turn + 1) / turns;
      work(States(*this, room, trees, last - first), first, last);
    }
  }

  /// Finds the states of all nodes of groups first .. last - 1 that are needed. find_leaf(tree, leaf, to, worker).
  template <class IsNeeded, class FindLeaf>
  void fill(const States& states, std::int64_t first, std::int64_t last, std::int64_t trees, IsNeeded is_needed,
            FindLeaf find_leaf) const {
    const std::int64_t count = (last - first) * group_leaves;
    run_tasks(trees * count, workers_, [&](std::int64_t task, int worker) {
      const std::int64_t tree = task / count, leaf = task % count;
      const std::int64_t node = leaf / group_leaves * group_nodes + leaf % group_leaves;
      if (is_needed(tree, first * group_nodes + node))
        find_leaf(tree, first * group_leaves + leaf, states.at(tree, node), worker);
    });
    run_tasks(trees * (last - first), workers_, [&](std::int64_t task, int) {
      const std::int64_t tree = task / (last - first), node = task % (last - first) * group_nodes;
      constexpr std::int32_t leaves[group_leaves] = {0, 1, 2, 3, 4, 5, 6, 7};
      if (is_needed(tree, first * group_nodes + node + group_leaves))
        engine_.block_sum(map_, value_width_, {states.at(tree, node), 0, leaves, static_cast<int>(group_leaves)},
                           states.at(tree, node + group_leaves));
    });
  }

  /// The part of a list that lies in groups first .. last - 1.
  [[nodiscard]] StateList<Real> list_of(const NodeLists& lists, std::int64_t list, const States& states,
                                        std::int64_t tree, std::int64_t first, std::int64_t last) const {
    const auto k = static_cast<std::size_t>(list);
    const std::int32_t *const begin = lists.nodes.data() + lists.offsets[k], *const end = lists.nodes.data() + lists.offsets[k + 1];
    const std::int32_t* const from = std::lower_bound(begin, end, first * group_nodes);
    const std::int32_t* const to = std::lower_bound(from, end, last * group_nodes);
    return {states.at(tree, 0), static_cast<std::int32_t>(first * group_nodes), from, static_cast<int>(to - from)};
  }

  /// work(h, tile, its reads, workspace) for every tile that reads whole blocks, once per turn.
  template <class HeadOf, class Work>
  void for_tiles(HeadOf head_of, const StateRoom<Real>& room, const Workspaces& workspaces, Work work) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> tasks; // heads and tiles
    for (std::int64_t h = 0; h < heads_; ++h) {
      for (std::size_t t = 0; t < tiles_of(h).size(); ++t)
        tasks.emplace_back(h, static_cast<std::int64_t>(t));
    }
    const auto is_needed = [&](std::int64_t chain, std::int64_t node) { // all relations have the same blocks of reads
      bool needed = false;
      for (std::int64_t h = chain * group_; h < (chain + 1) * group_; ++h)
        needed = needed || of(h).reads.is_needed[static_cast<std::size_t>(node)] != 0;
      return needed;
    };
    in_turns(of(0).reads.groups(), heads_ / group_, room, [&](const States& states, std::int64_t first, std::int64_t last) {
      fill(states, first, last, heads_ / group_, is_needed,
           [&](std::int64_t chain, std::int64_t block, const LinearState<Real>& to, int worker) {
             engine_.block_state(map_, head_of(chain * group_), block * block_reads,
                                 std::min((block + 1) * block_reads, plan_.reads()), to, workspaces.of(worker));
           });
      run_tasks(static_cast<std::int64_t>(tasks.size()), workers_, [&](std::int64_t task, int worker) {
        const auto [h, t] = tasks[static_cast<std::size_t>(task)];
        const StateList<Real> list = list_of(of(h).reads, t, states, h / group_, first, last);
        if (list.count > 0)
          work(h, tiles_of(h)[static_cast<std::size_t>(t)], list, workspaces.of(worker));
      });
    });
  }

  const Plan& plan_;
  const CompiledPlan& compiled_; // with its whole reads
  const Engine<Real>& engine_;
  const FeatureMap<Real>& map_;
  std::int64_t value_width_, first_head_, heads_, group_;
  int workers_;
};

} // namespace sightline::mixer::cpu

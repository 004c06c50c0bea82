#include "sightline/sight/descending_views.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

/// Steps that the walks of one question may take; a fixed number, so that the same input gets the same answer everywhere.
constexpr std::uint64_t most_work = std::uint64_t{1} << 32;
/// Passes over one view, downwards and upwards in turns.
constexpr int most_passes = 6;

/// Colours of one view after the other: where arcs go down a pass from the root downwards hands a vertex the colours of all its readers, and a pass
/// upwards those of all it reads.
class DescendingViews {
public:
  DescendingViews(const Layout& layout, std::uint64_t depth, const Budget& budget)
      : layout_(layout), depth_(depth), budget_(budget), booking_(budget, 96 * std::uint64_t{layout.vertices()}), counter_(layout.vertices()), hash_(layout.vertices()) {}

  /// False where some row goes up or rows are too long to be written down.
  bool do_rows_fit() {
    const std::vector<std::uint64_t> first = compute_first_layers(layout_);
    std::uint64_t pieces = 0;
    for (std::size_t r = 0; r < first.size(); ++r) {
      if (first[r] == 0 || first[r] > depth_) continue;
      const std::optional<std::uint64_t> own = count_pieces(layout_.relations[r], most_pieces - pieces);
      if (!own) return false;
      pieces += *own;
      shown_.push_back({r, first[r], *own});
    }
    return true;
  }

  /// Behind do_rows_fit(); false where there are more steps than those of its count.
  bool write_rows() {
    for (const Shown& shown : shown_) {
      if (!write(layout_.relations[shown.relation], shown.first, mix(shown.relation + 1), shown.pieces)) return false;
    }
    for (Steps& steps : steps_) {
      steps.change.resize(std::size_t{layout_.vertices()} + steps.step);
      steps.sum.resize(std::size_t{layout_.vertices()} + steps.step);
    }
    booking_.grow(2 * sizeof(std::uint64_t) * steps_.size() * layout_.vertices());
    return true;
  }

  /// What the walks of one view take at most.
  [[nodiscard]] std::uint64_t estimate(Vertex root) const {
    std::uint64_t steps = 2 * (std::uint64_t{root} + 1) * (1 + steps_.size());
    for (const Rows& rows : relations_) steps += rows.begin[std::size_t{root} + 1];
    return steps;
  }

  /// What isomorphisms of the view keep; nothing where two vertices got one colour.
  std::optional<std::uint64_t> find_invariant(Vertex root) {
    latest_ = compute_latest(layout_, depth_, root, budget_);
    end_ = root + 1;  // nobody reads upwards
    std::size_t seen = 0;
    for (Vertex j = 0; j < end_; ++j) {
      hash_[j] = latest_[j] < 0 ? 0 : describe(j, root);
      seen += latest_[j] >= 0 ? 1 : 0;
    }
    std::size_t before = 0;
    for (int pass = 0; pass < most_passes; ++pass) {
      budget_.poll_now();
      if (pass % 2 == 0) walk_down();
      else walk_up();
      const std::size_t distinct = counter_.count(hash_, 0, end_, [this](std::size_t j) { return latest_[j] >= 0; });
      if (distinct == seen) {
        std::uint64_t invariant = mix(seen);
        for (Vertex j = 0; j < end_; ++j) invariant += latest_[j] < 0 ? 0 : mix(hash_[j]);
        return invariant;
      }
      if (pass > 1 && distinct == before) break;
      before = distinct;
    }
    return std::nullopt;
  }

  /// Behind a walk that told not all apart: two that have one colour.
  [[nodiscard]] std::optional<AlikeVertices> find_alike(Vertex root) const {
    std::vector<std::pair<std::uint64_t, Vertex>> sorted;
    for (Vertex j = 0; j < end_; ++j) {
      if (latest_[j] >= 0) sorted.emplace_back(hash_[j], j);
    }
    std::sort(sorted.begin(), sorted.end());
    const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
    if (twice == sorted.end()) return std::nullopt;
    return AlikeVertices{root, twice->second, std::next(twice)->second};
  }

private:
  static constexpr std::uint64_t most_pieces = std::uint64_t{1} << 24;
  static constexpr Threshold<std::size_t> most_steps{8, 1, "descending steps"};
  static constexpr Threshold<Vertex> short_run{4, 2, "descending runs"};

  struct Piece {
    Vertex first = 0, last = 0;
    std::uint32_t steps : 8 = 0;    // which of the steps
    std::uint32_t weight : 24 = 0;  // which of the weights, of relation and colour
  };
  struct Shown {
    std::size_t relation = 0;
    std::uint64_t first = 0;   // layer
    std::uint64_t pieces = 0;  // of its rows, at least
  };
  struct Rows {
    std::uint64_t first = 0;  // visible from this layer on
    std::vector<std::size_t> begin;  // by vertex, and the end
    std::vector<Piece> pieces;       // without loops
    std::vector<std::uint64_t> kind;  // by vertex: how many arcs of which colours, and the loop
  };
  /// Differences and sums along one step.
  struct Steps {
    Vertex step = 1;
    std::vector<std::uint64_t> change, sum;
  };

  /// Colours that change from arc to arc are left out: an isomorphism keeps the arcs as well.
  static bool is_plain(const layout::Relation& relation) {
    return relation.relative().kind != layout::RelativeKind::none && relation.relative().kind != layout::RelativeKind::bucket;
  }
  static bool stays_whole(const layout::ColouredRun& run) { return run.step == 1 || run.size() == 1 || run.size() > short_run; }

  /// How many pieces there are as far as steps are few; nothing where rows go up, have colours that cannot be told, or are beyond `most`.
  std::optional<std::uint64_t> count_pieces(const layout::Relation& relation, std::uint64_t most) const {
    std::uint64_t pieces = 0;
    std::vector<layout::ColouredRun> row;
    for (Vertex i = 0; i < layout_.vertices(); ++i) {
      budget_.poll();
      relation.row(i, row);
      for (const layout::ColouredRun& run : row) {
        if (run.last > i || (!is_plain(relation) && run.colour_step != 0 && run.first != run.last)) return std::nullopt;
        pieces += stays_whole(run) ? 1 : run.size();
      }
      if (pieces > most) return std::nullopt;
    }
    return pieces;
  }

  bool write(const layout::Relation& relation, std::uint64_t first, std::uint64_t salt, std::uint64_t pieces) {
    const Vertex vertices = layout_.vertices();
    const bool plain = is_plain(relation);
    booking_.grow(pieces * sizeof(Piece) + std::uint64_t{vertices} * 2 * sizeof(std::size_t));
    Rows rows;
    rows.first = first;
    rows.begin.reserve(std::size_t{vertices} + 1);
    rows.kind.reserve(vertices);
    rows.pieces.reserve(pieces);
    std::vector<layout::ColouredRun> row;
    for (Vertex i = 0; i < vertices; ++i) {
      budget_.poll();
      rows.begin.push_back(rows.pieces.size());
      relation.row(i, row);
      std::uint64_t kind = 0;
      for (const layout::ColouredRun& run : row) {
        const std::uint64_t weight = mix(salt + (plain ? 0 : root_hash::weigh(run.colour))) | 1;
        Vertex size = run.size();
        kind += size * weight;
        if (run.last == i) {
          kind += mix(weight);
          --size;
        }
        if (size == 0) continue;
        const Vertex last = run.first + (size - 1) * run.step;
        const std::optional<std::uint32_t> steps = find_steps(size == 1 ? 1 : run.step), number = find_weight(weight);
        if (!number) return false;
        if (steps && (run.step == 1 || size == 1 || size > short_run)) {
          rows.pieces.push_back({run.first, last, *steps, *number});
        } else {
          for (Vertex j = run.first; j <= last; j += run.step) rows.pieces.push_back({j, j, 0, *number});
        }
      }
      rows.kind.push_back(mix(kind));
      if (pieces_ + rows.pieces.size() > most_pieces) return false;
    }
    rows.begin.push_back(rows.pieces.size());
    pieces_ += rows.pieces.size();
    relations_.push_back(std::move(rows));
    return true;
  }

  /// The number of a weight, mostly that of the last one asked about; nothing where there are too many.
  std::optional<std::uint32_t> find_weight(std::uint64_t weight) {
    constexpr std::size_t most_weights = std::size_t{1} << 20;
    if (!weights_.empty() && weights_[last_weight_] == weight) return last_weight_;
    const auto [at, is_new] = number_of_weight_.try_emplace(weight, static_cast<std::uint32_t>(weights_.size()));
    if (is_new && weights_.size() == most_weights) return std::nullopt;
    if (is_new) weights_.push_back(weight);
    return last_weight_ = at->second;
  }

  std::optional<std::uint32_t> find_steps(Vertex step) {
    for (std::uint32_t k = 0; k < steps_.size(); ++k) {
      if (steps_[k].step == step) return k;
    }
    if (steps_.size() == most_steps) return std::nullopt;
    steps_.push_back({step, {}, {}});
    return static_cast<std::uint32_t>(steps_.size() - 1);
  }

  [[nodiscard]] bool is_visible(const Rows& rows, Vertex i) const { return latest_[i] >= 0 && static_cast<std::uint64_t>(latest_[i]) >= rows.first; }

  [[nodiscard]] std::uint64_t describe(Vertex j, Vertex root) const {
    std::uint64_t hash = mix(mix(layout_.vertex_colour[j]) + 2 * static_cast<std::uint64_t>(latest_[j]) + (j == root ? 1 : 0));
    for (const Rows& rows : relations_) hash = mix(hash + (is_visible(rows, j) ? rows.kind[j] : 0));
    return hash;
  }

  // Every reader stands above, so its colour is final when a vertex is reached.
  void walk_down() {
    for (Steps& steps : steps_) std::fill(steps.change.begin(), steps.change.begin() + end_ + steps.step, 0);
    for (Vertex j = end_; j-- > 0;) {
      std::uint64_t told = 0;
      for (Steps& steps : steps_) told += steps.change[j] += steps.change[std::size_t{j} + steps.step];
      if (latest_[j] < 0) continue;
      hash_[j] = mix(hash_[j] + mix(told));
      const std::uint64_t value = mix(hash_[j] + 1);
      for (const Rows& rows : relations_) {
        if (!is_visible(rows, j)) continue;
        for (std::size_t p = rows.begin[j]; p < rows.begin[j + 1]; ++p) {
          const Piece& piece = rows.pieces[p];
          Steps& steps = steps_[piece.steps];
          const std::uint64_t share = weights_[piece.weight] * value;
          steps.change[piece.last] += share;
          if (piece.first >= steps.step) steps.change[piece.first - steps.step] -= share;
        }
      }
    }
  }

  void walk_up() {
    for (Vertex j = 0; j < end_; ++j) {
      if (latest_[j] >= 0) {
        std::uint64_t read = 0;
        for (const Rows& rows : relations_) {
          if (!is_visible(rows, j)) continue;
          for (std::size_t p = rows.begin[j]; p < rows.begin[j + 1]; ++p) {
            const Piece& piece = rows.pieces[p];
            const Steps& steps = steps_[piece.steps];
            read += weights_[piece.weight] * (steps.sum[std::size_t{piece.last} + steps.step] - steps.sum[piece.first]);
          }
        }
        hash_[j] = mix(hash_[j] + mix(read + 3));
      }
      const std::uint64_t value = latest_[j] < 0 ? 0 : mix(hash_[j] + 2);
      for (Steps& steps : steps_) steps.sum[std::size_t{j} + steps.step] = steps.sum[j] + value;
    }
  }

  const Layout& layout_;
  std::uint64_t depth_;
  const Budget& budget_;
  Booking booking_;
  root_hash::DistinctCounter counter_;
  std::vector<Rows> relations_;
  std::vector<Steps> steps_{{1, {}, {}}};
  std::vector<Shown> shown_;
  std::vector<std::uint64_t> weights_;  ///< odd
  std::unordered_map<std::uint64_t, std::uint32_t> number_of_weight_;
  std::uint32_t last_weight_ = 0;
  std::uint64_t pieces_ = 0;
  std::vector<std::int64_t> latest_;
  Vertex end_ = 0;
  std::vector<std::uint64_t> hash_;
};

/// Where all would take too long, some of them, each about twice as far along as the one before: two vertices that stay alike in one of these views end the question.
std::vector<Vertex> choose_growing(const std::vector<Vertex>& roots) {
  std::vector<Vertex> chosen;
  for (std::size_t share = roots.size(); share >= 1; share /= 2) chosen.push_back(roots[(roots.size() - 1) / share]);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

}  // namespace

std::vector<Vertex> find_partial_roots(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const Budget& budget) {
  std::vector<Vertex> partial = roots;
  if (do_rows_name_tokens(layout, budget)) drop_whole(layout, depth, partial, budget);
  return partial;
}

DescendingAnswer explain_descending_rows(const Layout& layout, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget) {
  DescendingAnswer answer;
  if (layout.has_equal_registers() || layout.order.empty()) return answer;
  // Most rows that go up do so from the beginning.
  const auto goes_up = [](const layout::Relation& relation) {
    const std::vector<layout::Run> first = relation.pattern().row(0);
    return std::any_of(first.begin(), first.end(), [](const layout::Run& run) { return run.last > 0; });
  };
  if (std::any_of(layout.relations.begin(), layout.relations.end(), goes_up)) return answer;
  DescendingViews views(layout, depth, budget);
  if (!views.do_rows_fit()) return answer;
  std::vector<Vertex> partial = find_partial_roots(layout, depth, roots, budget);
  if (!partial.empty() && !views.write_rows()) return answer;
  std::uint64_t work = 0;
  for (const Vertex a : partial) work += views.estimate(a);
  const bool for_all = work <= most_work;
  if (!for_all) partial = choose_growing(partial);
  std::vector<std::uint64_t> invariants;
  constexpr std::uint64_t most_trial_work = std::uint64_t{1} << 28;
  work = 0;
  for (const Vertex a : partial) {
    work += views.estimate(a);
    if (!for_all && work > most_trial_work) return answer;
    const std::optional<std::uint64_t> invariant = views.find_invariant(a);
    if (!invariant) {
      answer.alike = views.find_alike(a);
      return answer;
    }
    invariants.push_back(*invariant);
  }
  if (!for_all) return answer;
  root_hash::drop_unique(partial, invariants);
  roots = std::move(partial);
  answer.explained = roots.empty();
  return answer;
}

}  // namespace sightline::sight

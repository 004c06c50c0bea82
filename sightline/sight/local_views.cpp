// Views of large depth from views of small depth. If nothing moves in any view after d layers, by which all relations have occurred, then nothing moves in any view after
// more layers: an automorphism of a deeper view fixes what the root sees after one layer less, what it reads now is among that, and so is fixed with all that it sees itself.
// Causal windows with sinks: small surroundings of n roots instead of n large views.
#include "sightline/sight/local_views.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

using layout::Vertex;
using root_hash::mix;

/// Where are rows those of the token before, one vertex further, but for a few vertices that stay (sinks)? s(x) = x + 1, and s(x) = x for those that stay.
class ShiftedRows {
public:
  ShiftedRows(const Layout& layout, const std::vector<std::uint64_t>& first, const Budget& budget) : layout_(layout), first_(first), budget_(budget) {
    if (layout.tokens < 8 || !find_staying()) return;
    breaks_.assign(std::size_t{layout.tokens} + 1, 0);
    for (Vertex i = 0; i < layout.tokens; ++i) breaks_[i + 1] = breaks_[i] + (moves(i) ? 0 : 1);
  }

  [[nodiscard]] bool stays(Vertex j) const { return std::binary_search(staying_.begin(), staying_.end(), j); }
  /// Does s map the rows of all of low .. high, which do not stay, nor do their images, onto those of the images, and keep colours?
  [[nodiscard]] bool do_all_move(Vertex low, Vertex high) const { return !breaks_.empty() && breaks_[std::size_t{high} + 1] == breaks_[low]; }

private:
  /// What two neighbours read alike somewhere behind the middle. False where that is much, or reads others.
  bool find_staying() {
    constexpr std::size_t most = 64;
    const Vertex i = layout_.tokens / 4 * 3;
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (first_[r] == 0) continue;
      layout_.relations[r].row(i, row_);
      layout_.relations[r].row(i + 1, image_);
      for (const layout::ColouredRun& run : row_) {
        if (std::find(image_.begin(), image_.end(), run) == image_.end()) continue;
        if (run.size() > most || staying_.size() > most) return false;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step) staying_.push_back(static_cast<Vertex>(j));
      }
    }
    for (Vertex v = layout_.tokens; v < layout_.vertices(); ++v) {
      if (staying_.size() > most) return false;
      staying_.push_back(v);
    }
    std::sort(staying_.begin(), staying_.end());
    staying_.erase(std::unique(staying_.begin(), staying_.end()), staying_.end());
    for (const Vertex k : staying_) {
      for (std::size_t r = 0; r < first_.size(); ++r) {
        if (first_[r] == 0) continue;
        layout_.relations[r].row(k, row_);
        if (!std::all_of(row_.begin(), row_.end(), [&](const layout::ColouredRun& run) { return do_all_stay(run); })) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::size_t count_staying(std::uint64_t first, std::uint64_t last) const {
    return static_cast<std::size_t>(std::upper_bound(staying_.begin(), staying_.end(), last) - std::lower_bound(staying_.begin(), staying_.end(), first));
  }

  [[nodiscard]] bool do_all_stay(const layout::ColouredRun& run) const {
    if (run.size() > staying_.size()) return false;
    if (run.step == 1) return count_staying(run.first, run.last) == run.size();
    for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
      if (!stays(static_cast<Vertex>(j))) return false;
    }
    return true;
  }

  bool moves(Vertex i) {
    if (i + 1 >= layout_.tokens || stays(i) || stays(i + 1) || layout_.vertex_colour[i] != layout_.vertex_colour[i + 1]) return false;
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (first_[r] == 0) continue;
      budget_.poll();
      layout_.relations[r].row(i, row_);
      layout_.relations[r].row(i + 1, image_);
      if (row_.size() != image_.size()) return false;
      for (std::size_t k = 0; k < row_.size(); ++k) {
        layout::ColouredRun& run = row_[k];
        // All of it stays, or nothing of it or beside it does.
        if (!do_all_stay(run)) {
          if (count_staying(run.first, std::uint64_t{run.last} + 1) != 0 || run.last + 1 >= layout_.tokens) return false;
          ++run.first;
          ++run.last;
        }
        if (run != image_[k]) return false;
      }
    }
    return true;
  }

  const Layout& layout_;
  const std::vector<std::uint64_t>& first_;
  const Budget& budget_;
  std::vector<Vertex> staying_;
  std::vector<std::uint32_t> breaks_;  ///< by token: how many of those before do not move; empty: nothing is known
  std::vector<layout::ColouredRun> row_, image_;
};

class LocalViews {
public:
  LocalViews(const Layout& layout, const Budget& budget)
      : layout_(layout), budget_(budget), booking_(budget, std::uint64_t{layout.vertices()} * 20), first_(compute_first_layers(layout)), shifted_(layout, first_, budget),
        latest_(layout.vertices(), -1), next_(std::size_t{layout.vertices()} + 1) {
    std::iota(next_.begin(), next_.end(), Vertex{0});
  }

  [[nodiscard]] std::uint64_t work() const { return work_; }

  /// Where refinement tells apart all that the root sees, in at most so many steps: an invariant of the view.
  std::optional<std::uint64_t> colour(Vertex root, std::uint64_t depth, std::uint64_t most_steps) {
    if (const std::optional<std::uint64_t> shifted = shift(root, depth)) return shifted;
    most_work_ = work_ + most_steps;
    pieces_.clear();
    std::optional<std::uint64_t> found;
    if (walk(root, static_cast<std::int64_t>(depth))) {
      sort_active();
      if (write_rows()) found = refine(root);
    }
    if (found) note_shape(root, depth, *found);
    for (const Vertex j : active_) {
      latest_[j] = -1;
      next_[j] = j;
    }
    active_.clear();
    gone_through_.clear();
    return found;
  }

private:
  static constexpr std::size_t most_seen = std::size_t{1} << 17;

  /// Places begin, begin + step, .. below `end` among what is seen.
  struct Piece {
    Vertex reader, begin, end;
    std::uint32_t step;  ///< its number
    std::uint64_t weight;
    friend bool operator==(const Piece&, const Piece&) = default;
  };

  /// What was found for the root before, where all that it sees moves one further, or stays, with the rows of it: by induction over the layers so does the view.
  std::optional<std::uint64_t> shift(Vertex root, std::uint64_t depth) {
    if (!shape_ || shape_->root + 1 != root || shape_->depth != depth || !shifted_.do_all_move(shape_->low, shape_->high)) return std::nullopt;
    ++work_;
    ++shape_->root;
    ++shape_->low;
    ++shape_->high;
    return shape_->invariant;
  }

  /// @pre what is seen is sorted
  void note_shape(Vertex root, std::uint64_t depth, std::uint64_t invariant) {
    shape_.reset();
    const auto moves = [this](Vertex j) { return !shifted_.stays(j); };
    const auto low = std::find_if(active_.begin(), active_.end(), moves);
    if (low == active_.end() || !moves(root)) return;
    shape_ = Shape{root, *low, *std::find_if(active_.rbegin(), active_.rend(), moves), depth, invariant};
  }

  /// The first vertex from j on that is not seen yet.
  Vertex from(Vertex j) {
    Vertex end = j;
    while (next_[end] != end) end = next_[end];
    while (next_[j] != end) j = std::exchange(next_[j], end);
    return end;
  }

  void take(Vertex j, std::int64_t time) {
    latest_[j] = time;
    next_[j] = j + 1;
    active_.push_back(j);
  }

  /// Or too much memory: small views are meant, some MB.
  [[nodiscard]] bool takes_too_long() const {
    constexpr std::size_t most_pieces = std::size_t{1} << 18;
    budget_.poll();
    return work_ + active_.size() > most_work_ || active_.size() > most_seen || pieces_.size() > most_pieces;
  }

  /// A run with gaps. Of each step and residue one stretch is remembered of which everything is seen.
  void take_stepped(const layout::Run& run, std::int64_t time) {
    const std::uint64_t step = run.step, first = run.first, last = run.last;
    const auto take_all = [&](std::uint64_t from, std::uint64_t to) {
      for (std::uint64_t j = from; j <= to; j += step, ++work_) {
        if (latest_[j] < 0) take(static_cast<Vertex>(j), time);
      }
    };
    const auto [at, fresh] = gone_through_.try_emplace({run.step, run.first % run.step}, first, last);
    auto& [low, high] = at->second;
    if (fresh || last + step < low || first > high + step) {
      take_all(first, last);
      if (last - first > high - low) at->second = {first, last};
      return;
    }
    if (first < low) take_all(first, low - step);
    if (last > high) take_all(high + step, last);
    low = std::min(low, first);
    high = std::max(high, last);
  }

  bool walk(Vertex root, std::int64_t depth) {
    take(root, depth);
    std::vector<std::size_t> expanded(layout_.layers.size(), 0);
    for (std::int64_t q = depth; q >= 1; --q) {
      const std::uint32_t l = layout_.order[static_cast<std::size_t>(q - 1) % layout_.order.size()];
      for (const std::size_t end = active_.size(); expanded[l] < end; ++expanded[l]) {
        if (takes_too_long()) return false;
        const Vertex reader = active_[expanded[l]];
        for (const std::uint32_t r : layout_.layers[l].relations) {
          layout_.relations[r].pattern().row(reader, plain_);
          for (const layout::Run& run : plain_) {
            if (run.step == 1) {
              for (Vertex j = from(run.first); j <= run.last; j = from(j)) take(j, q - 1);
              continue;
            }
            take_stepped(run, q - 1);
          }
        }
      }
    }
    return true;
  }

  /// What is seen often lies close together: read off then. From here on next_ says where each stands.
  void sort_active() {
    const auto [low, high] = std::ranges::minmax(active_);
    if (high - low < 4 * active_.size()) {
      active_.clear();
      for (Vertex j = low; j <= high; ++j) {
        if (latest_[j] >= 0) active_.push_back(j);
      }
    } else {
      std::sort(active_.begin(), active_.end());
    }
    for (std::size_t x = 0; x < active_.size(); ++x) next_[active_[x]] = static_cast<Vertex>(x);
  }
  [[nodiscard]] Vertex place(Vertex j) const { return next_[j]; }  ///< @pre j is seen

  /// Runs without gaps have none here: all that visible rows hold is seen.
  bool write_rows() {
    for (Vertex x = 0; x < active_.size(); ++x) {
      if (takes_too_long()) return false;
      const Vertex i = active_[x];
      for (std::size_t r = 0; r < first_.size(); ++r) {
        if (first_[r] == 0 || latest_[i] < static_cast<std::int64_t>(first_[r])) continue;
        layout_.relations[r].row(i, row_);
        for (const layout::ColouredRun& run : row_) {
          if (run.step == 1 && run.colour_step == 0) {
            const Vertex begin = place(run.first);
            pieces_.push_back({x, begin, begin + run.size(), 0, weigh(r, run.colour)});
            continue;
          }
          if (run.colour_step == 0 && run.size() > 2 && write_stepped(x, run, weigh(r, run.colour))) continue;
          std::int64_t colour = run.colour;
          for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
            const Vertex at = place(static_cast<Vertex>(j));
            pieces_.push_back({x, at, at + 1, 0, weigh(r, colour)});
          }
        }
      }
    }
    return true;
  }

  /// A run with gaps is one piece where nothing between its members is seen, or everything.
  bool write_stepped(Vertex x, const layout::ColouredRun& run, std::uint64_t weight) {
    constexpr std::size_t most_steps = 8;
    const Vertex begin = place(run.first), last = place(run.last);
    if (last - begin + 1 == run.size()) {
      pieces_.push_back({x, begin, last + 1, 0, weight});
      return true;
    }
    if (last - begin != run.last - run.first) return false;
    auto at = std::find(steps_.begin(), steps_.end(), run.step);
    if (at == steps_.end()) {
      if (steps_.size() == most_steps) return false;
      at = steps_.insert(at, run.step);
    }
    pieces_.push_back({x, begin, last + run.step, static_cast<std::uint32_t>(at - steps_.begin()), weight});
    return true;
  }

  static std::uint64_t weigh(std::size_t relation, std::int64_t colour) { return mix(mix(relation + 3) + static_cast<std::uint64_t>(colour)) | 1; }

  std::optional<std::uint64_t> refine(Vertex root) {
    const std::size_t seen = active_.size();
    hash_.resize(seen);
    for (std::size_t x = 0; x < seen; ++x) {
      hash_[x] = mix(mix(2 * layout_.vertex_colour[active_[x]] + (active_[x] == root ? 1 : 0)) + static_cast<std::uint64_t>(latest_[active_[x]]));
    }
    work_ += pieces_.size() + seen;
    // Neighbours mostly see the same, one place further on.
    if (last_ && hash_ == last_start_ && pieces_ == last_pieces_) return last_;
    last_.reset();
    last_start_ = hash_;
    last_pieces_.swap(pieces_);
    std::size_t known = 0;
    for (bool is_first = true;; is_first = false) {
      work_ += last_pieces_.size() + seen;
      if (takes_too_long()) return std::nullopt;
      const std::size_t distinct = is_first ? 1 : different_.count(hash_, seen);  // times alone hardly tell all apart
      if (distinct == seen) {
        std::uint64_t invariant = 0;
        for (const std::uint64_t h : hash_) invariant += mix(h);
        return last_ = invariant;
      }
      if (distinct == known) return std::nullopt;
      known = distinct;
      // What each reads, then who reads each. By step, as prefix sums and as differences.
      sums_.resize(steps_.size());
      read_.assign(seen, 0);
      for (std::size_t k = 0; k < steps_.size(); ++k) {
        sums_[k].assign(seen + steps_[k], 0);
        for (std::size_t x = 0; x < seen; ++x) sums_[k][x + steps_[k]] = sums_[k][x] + mix(hash_[x]);
      }
      for (const Piece& piece : last_pieces_) read_[piece.reader] += piece.weight * (sums_[piece.step][piece.end] - sums_[piece.step][piece.begin]);
      for (std::size_t x = 0; x < seen; ++x) hash_[x] = mix(hash_[x] + mix(read_[x] + 3));
      for (std::vector<std::uint64_t>& sums : sums_) std::fill(sums.begin(), sums.end(), 0);
      for (const Piece& piece : last_pieces_) {
        const std::uint64_t told = piece.weight * mix(hash_[piece.reader] + 1);
        sums_[piece.step][piece.begin] += told;
        sums_[piece.step][piece.end] -= told;
      }
      for (std::size_t x = 0; x < seen; ++x) {
        std::uint64_t open = 0;
        for (std::size_t k = 0; k < steps_.size(); ++k) {
          if (x >= steps_[k]) sums_[k][x] += sums_[k][x - steps_[k]];
          open += sums_[k][x];
        }
        hash_[x] = mix(hash_[x] + mix(open));
      }
    }
  }

  /// Of the last view that was told apart: from where to where what does not stay reaches.
  struct Shape {
    Vertex root, low, high;
    std::uint64_t depth, invariant;
  };

  const Layout& layout_;
  const Budget& budget_;
  Booking booking_;
  std::vector<std::uint64_t> first_;
  ShiftedRows shifted_;
  std::optional<Shape> shape_;
  std::vector<std::int64_t> latest_;
  std::vector<Vertex> next_, active_;
  std::vector<layout::Run> plain_;
  std::vector<layout::ColouredRun> row_;
  std::map<std::pair<Vertex, Vertex>, std::pair<std::uint64_t, std::uint64_t>> gone_through_;  ///< by step and residue: the first and the last
  std::vector<Vertex> steps_{1};
  std::vector<Piece> pieces_;
  std::vector<std::uint64_t> hash_, read_;
  root_hash::DistinctCounter different_{most_seen};
  std::vector<std::vector<std::uint64_t>> sums_;  ///< by step
  std::optional<std::uint64_t> last_;  ///< of the last view, where all was told apart
  std::vector<std::uint64_t> last_start_;
  std::vector<Piece> last_pieces_;
  std::uint64_t work_ = 0, most_work_ = 0;
};

/// Invariants of the views of these roots; empty where something moves in one of them, or that takes too long.
std::vector<std::uint64_t> colour_all(LocalViews& views, const std::vector<Vertex>& roots, std::uint64_t depth, std::uint64_t most_work) {
  constexpr std::size_t sampled = 16;
  // What each costs behind its neighbour.
  std::uint64_t before = views.work(), work = 0;
  for (std::size_t k = 0; k < sampled; ++k) {
    for (const std::size_t step : {0U, 1U}) {
      before = views.work();
      if (!views.colour(roots[k * (roots.size() - 2) / (sampled - 1) + step], depth, most_work / sampled)) return {};
    }
    work += views.work() - before;
  }
  if (work / sampled > most_work / roots.size()) return {};
  std::vector<std::uint64_t> invariants;
  for (const Vertex a : roots) {
    const std::optional<std::uint64_t> invariant = views.colour(a, depth, before + 2 * most_work - views.work());
    if (!invariant) return {};
    invariants.push_back(*invariant);
  }
  return invariants;
}

/// Registers are read as well, so nothing may move in what they see either.
bool are_registers_rigid(LocalViews& views, const Layout& layout, std::uint64_t depth) {
  constexpr std::uint64_t most_steps = std::uint64_t{1} << 26;
  for (Vertex v = layout.tokens; v < layout.vertices(); ++v) {
    if (!views.colour(v, depth, most_steps)) return false;
  }
  return true;
}

}  // namespace

bool drop_by_local_views(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, const Budget& budget, std::uint64_t most_work) {
  constexpr Threshold<std::size_t> fewest_roots{16, 2, "local roots"};
  const std::uint64_t first = compute_first_occurrence(layout);
  if (roots.size() < fewest_roots || layout.has_equal_registers() || layout.order.empty()) return false;
  std::vector<Vertex> all;
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if (orbit[a] == a) all.push_back(a);
  }
  LocalViews views(layout, budget);
  for (std::uint64_t steps = 1; steps <= 4 && first + steps <= depth; steps *= 2) {
    const std::vector<std::uint64_t> invariants = colour_all(views, all, first + steps, most_work);
    if (invariants.empty() || !are_registers_rigid(views, layout, first + steps)) continue;
    // An isomorphism of deeper views is one of these, and keeps how many tokens are seen.
    const std::vector<Vertex> unseen = compute_unseen(layout, depth, {}, budget);
    std::vector<std::uint64_t> keys;
    for (std::size_t k = 0, at = 0; k < roots.size(); ++k) {
      while (all[at] != roots[k]) ++at;
      keys.push_back(mix(invariants[at] + mix(unseen[roots[k]])));
    }
    root_hash::drop_unique(roots, keys);
    return roots.empty();
  }
  return false;
}

}  // namespace sightline::sight

// Views of large depth from views of small depth. Let nothing move in any view after d layers, by which all relations have occurred. Then nothing moves in any view after t >= d:
// by induction an automorphism of the view of a after t layers fixes what a sees after t - 1, among which is what it reads in layer t, and all that this sees after t - 1.
// What is left are isomorphisms between views of different roots: they keep the views after d layers, and how many tokens are seen (docs/theory.md 16.40).
#include <algorithm>
#include <map>

#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// What one root sees after a few layers, colour by colour.
class Surroundings {
public:
  explicit Surroundings(const Layout& layout) : layout_(layout), first_(first_layers(layout)), time_(layout.vertices(), -1), place_(layout.vertices()) {}

  std::uint64_t work = 0;  ///< steps of all views so far

  /// The same for all of these roots; along neighbours whose views are translates but for vertices that stay, once.
  std::optional<std::map<Vertex, std::uint64_t>> colour_all(const std::vector<Vertex>& roots, std::uint64_t depth, std::uint64_t most_steps) {
    if (moves_until_.empty()) find_moves();
    std::map<Vertex, std::uint64_t> invariants;
    Translated last;
    bool known = false;  // of the root before
    for (const Vertex a : roots) {
      if (known && last.root + 1 == a && last.high < moves_until_[last.low]) {
        // All of low .. high moves on by one, with its rows, and so does, layer by layer, what is seen (docs/theory.md 16.57 c).
        last = {a, last.low + 1, last.high + 1};
        invariants.emplace_hint(invariants.end(), a, std::prev(invariants.end())->second);
        ++work;
        continue;
      }
      const auto invariant = colour(a, depth, most_steps);
      if (!invariant || work > most_steps) return std::nullopt;
      invariants.emplace_hint(invariants.end(), a, *invariant);
      known = false;
      for (const Vertex j : seen_) {
        if (fixed_[a] || fixed_[j]) continue;
        last = {a, known ? last.low : j, j};
        known = true;
      }
    }
    return invariants;
  }

  /// An invariant of the view; nothing where hashes do not tell apart all that is seen, or the view is not small.
  std::optional<std::uint64_t> colour(Vertex root, std::uint64_t depth, std::uint64_t most_steps) {
    most_work_ = work + most_steps;
    arcs_.clear();
    std::optional<std::uint64_t> result;
    if (look(root, depth)) {
      sort_seen();
      bool whole = true;
      for (Vertex x = 0; x < seen_.size() && whole; ++x) {
        whole = !takes_too_long();
        for (std::size_t r = 0; whole && r < first_.size(); ++r) {
          if (first_[r] != absent && time_[seen_[x]] >= static_cast<std::int64_t>(first_[r])) write_row(x, r);
        }
      }
      if (whole) result = refine(root);
    }
    for (const Vertex j : seen_) time_[j] = -1;
    return result;
  }

private:
  /// Places begin .. end-1 are read by one reader with one weight.
  struct Arcs {
    Vertex reader, begin, end;
    Vertex step;  ///< begin, begin + step, .. below end
    std::uint64_t weight;
    friend bool operator==(const Arcs&, const Arcs&) = default;
  };

  /// From where to where what is seen and does not stay reaches.
  struct Translated {
    Vertex root = 0, low = 0, high = 0;
  };

  /// Vertices that rows hold wherever the reader stands stay (all registers, too), the others go to the next one. By token: up to which token, exclusively, all rows are moved
  /// onto the rows of the next token.
  void find_moves() {
    const Vertex n = layout_.tokens;
    fixed_.assign(layout_.vertices(), false);
    moves_until_.assign(n, 0);
    if (n < 8) return;
    const auto used = [&](std::size_t r) { return first_[r] != absent; };
    std::vector<Run> here, next;
    const Vertex somewhere = n / 4 * 3;
    std::uint64_t many = layout_.registers;
    for (Vertex v = n; v < layout_.vertices(); ++v) fixed_[v] = true;
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (!used(r)) continue;
      layout_.relations[r].row(somewhere, here);
      layout_.relations[r].row(somewhere + 1, next);
      for (const Run& run : here) {
        if (std::find(next.begin(), next.end(), run) == next.end()) continue;
        many += run.size();
        if (many > 1024) return;
        for (Vertex k = 0; k < run.size(); ++k) fixed_[run.first + k * run.step] = true;
      }
    }
    std::vector<Vertex> count(std::size_t{layout_.vertices()} + 1, 0);
    for (Vertex v = 0; v < layout_.vertices(); ++v) count[v + 1] = count[v] + (fixed_[v] ? 1 : 0);
    const auto fixed_in = [&](Vertex first, Vertex last) { return count[std::size_t{last} + 1] - count[first]; };
    const auto all_fixed = [&](const Run& run) {
      if (fixed_in(run.first, run.last) < run.size()) return false;
      for (Vertex k = 0; k < run.size(); ++k) {
        if (!fixed_[run.first + k * run.step]) return false;
      }
      return true;
    };
    for (Vertex v = 0; v < layout_.vertices(); ++v) {
      for (std::size_t r = 0; fixed_[v] && r < first_.size(); ++r) {
        if (!used(r)) continue;
        layout_.relations[r].row(v, here);
        for (const Run& run : here) {
          if (!all_fixed(run)) return;
        }
      }
    }
    const auto is_moved = [&](Vertex i) {
      if (fixed_[i] || fixed_[i + 1] || layout_.vertex_colour[i] != layout_.vertex_colour[i + 1]) return false;
      for (std::size_t r = 0; r < first_.size(); ++r) {
        if (!used(r)) continue;
        layout_.relations[r].row(i, here);
        layout_.relations[r].row(i + 1, next);
        for (Run& run : here) {
          if (all_fixed(run)) continue;
          if (fixed_in(run.first, run.last) != 0 || run.last + 1 >= n || fixed_[run.last + 1]) return false;
          // Where only every second vertex is read, those between could stay: they must not either, which is more than is needed.
          run.first += 1;
          run.last += 1;
        }
        if (here != next) return false;
      }
      return true;
    };
    for (Vertex i = n - 1; i-- > 0;) {
      poll();
      if (is_moved(i)) moves_until_[i] = std::max(moves_until_[i + 1], i + 1);
    }
  }

  /// Small views are meant: the library, too, leaves others alone, and writes as many arcs.
  [[nodiscard]] bool takes_too_long() const {
    constexpr std::size_t most_seen = std::size_t{1} << 18, most_arcs = std::size_t{1} << 18;
    poll();
    return work + seen_.size() > most_work_ || seen_.size() > most_seen || arcs_.size() > most_arcs;
  }

  /// What is seen often lies close together: read off then.
  void sort_seen() {
    const auto [low, high] = std::ranges::minmax(seen_);
    if (high - low < 4 * seen_.size()) {
      seen_.clear();
      for (Vertex j = low; j <= high; ++j) {
        if (time_[j] >= 0) seen_.push_back(j);
      }
    } else std::sort(seen_.begin(), seen_.end());
    for (std::size_t x = 0; x < seen_.size(); ++x) place_[seen_[x]] = static_cast<Vertex>(x);
  }

  bool look(Vertex root, std::uint64_t depth) {
    seen_.assign(1, root);
    time_[root] = static_cast<std::int64_t>(depth);
    std::vector<std::size_t> done(layout_.layers.size(), 0);
    // Intervals that were seen already are skipped: end by first vertex, those that touch joined.
    std::map<Vertex, Vertex> intervals;
    // Of the members of a residue class, counted through, those that were seen in one go.
    std::map<std::pair<Vertex, Vertex>, std::pair<std::uint64_t, std::uint64_t>> known;
    const auto note = [&](Vertex j, std::int64_t time) {
      if (time_[j] >= 0) return;
      time_[j] = time;
      seen_.push_back(j);
    };
    for (std::uint64_t q = depth; q >= 1; --q) {
      const auto time = static_cast<std::int64_t>(q) - 1;
      const std::uint32_t l = layout_.order[(q - 1) % layout_.order.size()];
      for (const std::size_t end = seen_.size(); done[l] < end; ++done[l]) {
        if (takes_too_long()) return false;
        for (const std::uint32_t r : layout_.layers[l]) {
          layout_.relations[r].pattern->row(seen_[done[l]], row_);
          for (const Run& run : row_) {
            if (run.step == 1) {
              see_interval(intervals, run.first, run.last, [&](Vertex j) { note(j, time); });
              continue;
            }
            see_class(known[{run.step, run.first % run.step}], run, [&](Vertex j) { note(j, time); });
          }
        }
      }
    }
    return true;
  }

  /// `known`: numbers first .. end-1 in the class. Runs that neither meet nor touch them are gone through, and the longer ones remembered.
  template <class Note>
  void see_class(std::pair<std::uint64_t, std::uint64_t>& known, const Run& run, const Note& note) {
    const Vertex residue = run.first % run.step;
    const std::uint64_t first = run.first / run.step, end = first + run.size();
    const bool touches = first <= known.second && end >= known.first;
    for (std::uint64_t k = first; k < end; ++k) {
      if (touches && k == known.first) k = known.second;
      if (k >= end) break;
      note(static_cast<Vertex>(residue + k * run.step));
      ++work;
    }
    if (touches) known = {std::min(first, known.first), std::max(end, known.second)};
    else if (end - first > known.second - known.first) known = {first, end};
  }

  template <class Note>
  static void see_interval(std::map<Vertex, Vertex>& intervals, Vertex first, Vertex last, const Note& note) {
    auto at = intervals.upper_bound(first);
    if (at != intervals.begin() && std::uint64_t{std::prev(at)->second} + 1 >= first) --at;
    Vertex begin = first, end = last;
    std::uint64_t j = first;
    while (at != intervals.end() && at->first <= std::uint64_t{last} + 1) {
      for (; j < at->first; ++j) note(static_cast<Vertex>(j));
      j = std::max(j, std::uint64_t{at->second} + 1);
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = intervals.erase(at);
    }
    for (; j <= last; ++j) note(static_cast<Vertex>(j));
    intervals.emplace(begin, end);
  }

  void write_row(Vertex x, std::size_t r) {
    layout_.relations[r].row(seen_[x], row_);
    for (const Run& run : row_) {
      if (run.step == 1 && run.colour_step == 0) {  // all of it is seen
        const Vertex begin = place_[run.first];
        arcs_.push_back({x, begin, begin + run.size(), 1, weigh(r, run.colour)});
        continue;
      }
      if (run.step > 1 && run.colour_step == 0) {
        // All members are seen. If nothing else between them is, or everything, their places are evenly spaced.
        const Vertex low = place_[run.first], high = place_[run.last];
        const Vertex step = high - low + 1 == run.size() ? 1 : high - low == run.last - run.first ? run.step : 0;
        if (step == 1 || (step > 1 && (std::ranges::find(steps_, step) != steps_.end() || steps_.size() < most_steps))) {
          if (std::ranges::find(steps_, step) == steps_.end()) steps_.push_back(step);
          arcs_.push_back({x, low, high + step, step, weigh(r, run.colour)});
          continue;
        }
      }
      std::int64_t colour = run.colour;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
        const Vertex at = place_[j];
        arcs_.push_back({x, at, at + 1, 1, weigh(r, colour)});
      }
    }
  }

  static std::uint64_t weigh(std::size_t relation, std::int64_t colour) { return mix(relation + 5, static_cast<std::uint64_t>(colour)) | 1; }

  std::optional<std::uint64_t> refine(Vertex root) {
    std::vector<std::uint64_t> hash, sums, read, marks;
    for (const Vertex j : seen_) hash.push_back(mix(mix(layout_.vertex_colour[j], j == root ? 1 : 0), static_cast<std::uint64_t>(time_[j])));
    work += arcs_.size() + seen_.size();
    // The view of a neighbour is mostly this one, place by place.
    if (known_ && hash == known_start_ && arcs_ == known_arcs_) return known_;
    known_.reset();
    known_start_ = hash;
    known_arcs_.swap(arcs_);
    std::size_t known = 0;
    for (bool is_first = true;; is_first = false) {
      work += known_arcs_.size() + seen_.size();
      if (takes_too_long()) return std::nullopt;
      const std::size_t distinct = is_first ? 1 : different_.count(hash, hash.size());  // times alone hardly tell all apart
      if (distinct == seen_.size()) {
        std::uint64_t invariant = 0;
        for (const std::uint64_t h : hash) invariant += mix(h);
        return known_ = invariant;
      }
      if (distinct == known) return std::nullopt;
      known = distinct;
      // What each reads, then who reads each, in one pass over the places for each step.
      read.assign(seen_.size(), 0);
      for (const Vertex step : steps_) {
        sums.assign(seen_.size() + step, 0);
        for (std::size_t x = 0; x < seen_.size(); ++x) sums[x + step] = sums[x] + mix(hash[x]);
        for (const Arcs& arcs : known_arcs_) {
          if (arcs.step == step) read[arcs.reader] += arcs.weight * (sums[arcs.end] - sums[arcs.begin]);
        }
      }
      for (std::size_t x = 0; x < seen_.size(); ++x) hash[x] = mix(hash[x], read[x]);
      read.assign(seen_.size(), 0);
      marks.clear();
      for (const std::uint64_t h : hash) marks.push_back(mix(h, 1));
      for (const Vertex step : steps_) {
        sums.assign(seen_.size() + step, 0);
        for (const Arcs& arcs : known_arcs_) {
          if (arcs.step != step) continue;
          const std::uint64_t mark = arcs.weight * marks[arcs.reader];
          sums[arcs.begin] += mark;
          sums[arcs.end] -= mark;
        }
        for (std::size_t x = 0; x < seen_.size(); ++x) read[x] += sums[x] += x < step ? 0 : sums[x - step];
      }
      for (std::size_t x = 0; x < seen_.size(); ++x) hash[x] = mix(hash[x], read[x]);
    }
  }

  static constexpr std::size_t most_steps = 8;
  const Layout& layout_;
  std::vector<std::uint64_t> first_;
  std::vector<std::int64_t> time_;
  std::vector<Vertex> seen_, place_;  ///< sorted, in the end; where each stands there
  Distinct different_;
  std::vector<Run> row_;
  std::vector<bool> fixed_;
  std::vector<Vertex> moves_until_;
  std::vector<Vertex> steps_{1};  ///< of arcs, met so far
  std::vector<Arcs> arcs_, known_arcs_;
  std::vector<std::uint64_t> known_start_;
  std::optional<std::uint64_t> known_;  ///< of the view before, where all was told apart
  std::uint64_t most_work_ = 0;
};

/// Of all views; nothing where one of them has symmetries that hashes show, or there is too much to look at.
std::optional<std::map<Vertex, std::uint64_t>> colour_all(Surroundings& surroundings, const std::vector<Vertex>& roots, std::uint64_t depth, std::uint64_t most_work) {
  // What each takes behind its neighbour, in a few places: where all would take too much, none is looked at.
  constexpr std::size_t sampled = 16;
  std::uint64_t behind = 0;
  for (std::size_t k = 0; k < sampled; ++k) {
    const std::size_t at = k * (roots.size() - 2) / (sampled - 1);
    const std::uint64_t until = surroundings.work + most_work / 4;
    const auto look_at = [&](const std::vector<Vertex>& few) {
      const std::uint64_t before = surroundings.work;
      return surroundings.colour_all(few, depth, until) ? std::optional(surroundings.work - before) : std::nullopt;
    };
    if (!look_at({roots[at]})) return std::nullopt;
    const auto again = look_at({roots[at]}), with_next = look_at({roots[at], roots[at + 1]});  // what was looked at last is known
    if (!again || !with_next) return std::nullopt;
    behind += *with_next - std::min(*again, *with_next);
  }
  if (behind / sampled > most_work / roots.size()) return std::nullopt;
  surroundings.work = 0;
  return surroundings.colour_all(roots, depth, most_work);
}

/// What is read may be a register: nothing may move in its view either.
bool are_registers_rigid(Surroundings& surroundings, const Layout& layout, std::uint64_t depth) {
  constexpr std::uint64_t most_steps = std::uint64_t{1} << 28;
  for (Vertex v = layout.tokens; v < layout.vertices(); ++v) {
    if (!surroundings.colour(v, depth, most_steps)) return false;
  }
  return true;
}

}  // namespace

bool drop_by_local_views(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory, std::uint64_t most_work) {
  constexpr Threshold<std::size_t> fewest_roots{16, 2, "local roots"};
  const std::uint64_t first = last_first_layer(layout);
  if (roots.size() < fewest_roots || layout.order.empty() || has_equal_registers(layout)) return false;
  std::vector<Vertex> all;
  for (Vertex a = 0; a < layout.tokens; ++a) {
    if (orbit[a] == a) all.push_back(a);
  }
  Surroundings surroundings(layout);
  for (const std::uint64_t d : {first + 1, first + 2, first + 4}) {
    if (d > depth) break;
    const auto invariants = colour_all(surroundings, all, d, most_work);
    if (!invariants || !are_registers_rigid(surroundings, layout, d)) continue;
    const Unseen unseen = compute_unseen(layout, {ClassKind::all, false, false, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &memory}, depth);
    std::map<std::pair<Vertex, std::uint64_t>, Vertex> met;
    const auto key = [&](Vertex a) { return std::pair(unseen.count[a], invariants->at(a)); };
    for (const Vertex a : roots) ++met[key(a)];
    std::erase_if(roots, [&](Vertex a) { return met.at(key(a)) == 1; });
    return roots.empty();
  }
  return false;
}

}  // namespace checker

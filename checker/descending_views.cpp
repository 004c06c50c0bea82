// Views where every vertex reads itself and what stands below it: no isomorphisms but identities (docs/theory.md 16.63).
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include "distinct.hpp"
#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// One vertex's reading in one relation: the runs below it, loops apart.
struct Below {
  std::vector<Run> runs;
  std::uint64_t shape = 0;  ///< arcs counted by colour, loops apart
};

/// The rows of one relation that some layer shows, written once for the walks of all roots.
struct Shown {
  std::uint64_t from = 0;  ///< the layer
  std::uint64_t salt = 0;
  std::vector<Below> rows;
};

std::uint64_t weight_of(const Shown& shown, std::int64_t colour) { return mix(shown.salt, static_cast<std::uint64_t>(colour)) | 1; }

/// False where a row goes up. Colours that change within runs are set aside: who reads whom is kept as well.
bool write_down(const Layout& layout, std::uint64_t depth, std::vector<Shown>& all) {
  const std::vector<std::uint64_t> first = first_layers(layout);
  std::vector<Run> row;
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] == absent || first[r] > depth) continue;
    Shown& shown = all.emplace_back();
    shown.from = first[r];
    shown.salt = mix(0xde5c, r);
    shown.rows.resize(layout.vertices());
    const RelativeKind kind = layout.relations[r].relative;
    const bool by_colour = kind == RelativeKind::none || kind == RelativeKind::bucket;
    for (Vertex i = 0; i < layout.vertices(); ++i) {
      poll();
      layout.relations[r].row(i, row);
      Below& below = shown.rows[i];
      for (Run run : row) {
        if (run.last > i || (by_colour && run.colour_step != 0 && run.size() > 1)) return false;
        if (!by_colour) run.colour = 0;
        run.colour_step = 0;
        below.shape += run.size() * weight_of(shown, run.colour);
        if (run.last == i) {
          below.shape += mix(weight_of(shown, run.colour), 1);
          if (run.first == i) continue;
          run.last -= run.step;
        }
        if (run.size() == 1) run.step = 1;
        below.runs.push_back(run);
      }
    }
  }
  return true;
}

/// Sums along runs of one step: as differences that are resolved from above, or as partial sums from below.
class AlongStep {
public:
  AlongStep(Vertex vertices, Vertex step) : step_(step), value_(std::size_t{vertices} + step) {}
  void clear() { std::fill(value_.begin(), value_.end(), 0); }
  // From above: what all runs told so far that hold j add up to, asked for every j in turn.
  void tell(const Run& run, std::uint64_t what) {
    value_[run.last] += what;
    if (run.first >= step_) value_[run.first - step_] -= what;
  }
  std::uint64_t told(Vertex j) { return value_[j] += value_[std::size_t{j} + step_]; }
  // From below: value_[j + step] sums j, j - step, ..
  void put(Vertex j, std::uint64_t what) { value_[std::size_t{j} + step_] = value_[j] + what; }
  [[nodiscard]] std::uint64_t over(const Run& run) const { return value_[std::size_t{run.last} + step_] - value_[run.first]; }

private:
  Vertex step_;
  std::vector<std::uint64_t> value_;
};

class Walks {
public:
  Walks(const Layout& layout, std::uint64_t depth, std::vector<Shown> shown) : layout_(layout), depth_(depth), shown_(std::move(shown)), name_(layout.vertices()) {
    along_.try_emplace(1, layout.vertices(), Vertex{1});
    for (Shown& one : shown_) {
      for (Below& below : one.rows) cut(below);
    }
    for (const Shown& one : shown_) {
      for (const Below& below : one.rows) {
        for (const Run& run : below.runs) spread_.push_back(&along_.at(run.step));
      }
    }
    std::size_t at = 0;
    for (const Shown& one : shown_) {
      auto& begins = begin_.emplace_back();
      for (const Below& below : one.rows) {
        begins.push_back(at);
        at += below.runs.size();
      }
    }
  }

  /// Of one walk, at most.
  [[nodiscard]] std::uint64_t cost() const { return 2 * layout_.vertices() * (1 + along_.size()) + spread_.size(); }

  /// The same for isomorphic views; nothing where two vertices of this one share a name.
  std::optional<std::uint64_t> walk(Vertex root) {
    constexpr int most_walks = 8;
    left_ = compute_latest(layout_, depth_, root);
    seen_.clear();
    for (Vertex j = 0; j <= root; ++j) {
      if (left_[j] < 0) continue;
      seen_.push_back(j);
      name_[j] = mix(mix(layout_.vertex_colour[j], static_cast<std::uint64_t>(left_[j])), j == root ? 1 : 0);
      for (const Shown& one : shown_) {
        if (is_shown(one, j)) name_[j] = mix(name_[j], one.rows[j].shape);
      }
    }
    for (int k = 0; k < most_walks; ++k) {
      poll_now();
      for (auto& [step, sums] : along_) sums.clear();
      if (k % 2 == 0) go_down(root);
      else go_up(root);
      if (!are_names_distinct()) continue;
      std::uint64_t all = seen_.size();
      for (const Vertex j : seen_) all += mix(name_[j], 4);
      return all;
    }
    return std::nullopt;
  }

private:
  bool are_names_distinct() { return are_distinct(seen_, [this](Vertex j) { return name_[j]; }, names_); }

  // Short runs of a step, and steps beyond the first few, become single vertices.
  void cut(Below& below) {
    constexpr Threshold<std::size_t> most_steps{12, 1, "descending steps"};
    constexpr Threshold<Vertex> few{3, 1, "descending runs"};
    std::vector<Run> cut;
    for (const Run& run : below.runs) {
      if (run.step == 1 || (run.size() > few && (along_.contains(run.step) || along_.size() < most_steps))) {
        along_.try_emplace(run.step, layout_.vertices(), run.step);
        cut.push_back(run);
        continue;
      }
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) cut.push_back({static_cast<Vertex>(j), static_cast<Vertex>(j), 1, run.colour, 0});
    }
    below.runs = std::move(cut);
  }

  [[nodiscard]] bool is_shown(const Shown& one, Vertex j) const { return static_cast<std::uint64_t>(left_[j]) >= one.from; }

  // All readers of j stand above it.
  void go_down(Vertex root) {
    for (Vertex j = root + 1; j-- > 0;) {
      std::uint64_t told = 0;
      for (auto& [step, sums] : along_) told += sums.told(j);
      if (left_[j] < 0) continue;
      name_[j] = mix(name_[j], told);
      for (std::size_t s = 0; s < shown_.size(); ++s) {
        if (!is_shown(shown_[s], j)) continue;
        std::size_t at = begin_[s][j];
        for (const Run& run : shown_[s].rows[j].runs) spread_[at++]->tell(run, weight_of(shown_[s], run.colour) * mix(name_[j], 2));
      }
    }
  }

  // All that j reads stands below it.
  void go_up(Vertex root) {
    for (Vertex j = 0; j <= root; ++j) {
      if (left_[j] >= 0) {
        std::uint64_t read = 0;
        for (std::size_t s = 0; s < shown_.size(); ++s) {
          if (!is_shown(shown_[s], j)) continue;
          std::size_t at = begin_[s][j];
          for (const Run& run : shown_[s].rows[j].runs) read += weight_of(shown_[s], run.colour) * spread_[at++]->over(run);
        }
        name_[j] = mix(name_[j], read);
      }
      for (auto& [step, sums] : along_) sums.put(j, left_[j] < 0 ? 0 : mix(name_[j], 3));
    }
  }

  const Layout& layout_;
  std::uint64_t depth_;
  std::vector<Shown> shown_;
  std::map<Vertex, AlongStep> along_;
  std::vector<AlongStep*> spread_;               ///< by run, in order
  std::vector<std::vector<std::size_t>> begin_;  ///< by relation and vertex: its first run
  std::vector<std::int64_t> left_;
  std::vector<Vertex> seen_;
  std::vector<std::uint64_t> name_;
  Distinct names_;
};

}  // namespace

void leave_out_whole_views(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory) {
  // A view that holds all rows of what it sees keeps every name that rows give, and these differ.
  if (do_rows_name_tokens(layout)) drop_whole(layout, orbit, depth, roots, memory);
}

bool drop_by_descending_rows(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory) {
  if (has_equal_registers(layout) || layout.order.empty()) return false;
  std::vector<Shown> shown;
  if (!write_down(layout, depth, shown)) return false;
  std::vector<Vertex> partial = roots;
  leave_out_whole_views(layout, orbit, depth, partial, memory);
  Walks walks(layout, depth, std::move(shown));
  if (partial.size() > most_walks_work / walks.cost()) return false;
  std::unordered_map<std::uint64_t, std::vector<Vertex>> alike;
  for (const Vertex a : partial) {
    const std::optional<std::uint64_t> found = walks.walk(a);
    if (!found) return false;
    alike[*found].push_back(a);
  }
  roots.clear();
  for (const auto& [invariant, members] : alike) {
    if (members.size() > 1) roots.insert(roots.end(), members.begin(), members.end());
  }
  std::sort(roots.begin(), roots.end());
  return roots.empty();
}

}  // namespace checker

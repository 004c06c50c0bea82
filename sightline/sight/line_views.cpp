// Views of layouts whose colours tell neighbours on the line from all others (ALiBi, T5 buckets, tables of offsets): near a root isomorphisms are pieces of
// shifts and reflections, an end of the line says which, and what is left alone in its colour among what fixed tokens read is fixed as well (docs/theory.md 16.56).
#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/kept_rows.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reflection.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/stepped_sums.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using Row = std::vector<layout::ColouredRun>;

/// The colours of arcs i -> i+1 and i -> i-1 in one relation, where these stand on no other arcs; -1: there are no such arcs, or colours.
struct StepColours {
  std::int64_t up = -1, down = -1;
};

/// By token: does it read the next one, and the one before?
struct StepArcs {
  std::vector<bool> up, down;
};

/// The member of the run that has the colour, of a run whose colours differ or of one vertex.
std::optional<Vertex> find_member(const layout::ColouredRun& run, std::int64_t colour) {
  if (run.colour_step == 0) return run.colour == colour ? std::optional(run.first) : std::nullopt;
  const std::int64_t k = (colour - run.colour) / run.colour_step;
  if (k < 0 || k >= std::int64_t{run.size()} || run.colour + k * run.colour_step != colour) return std::nullopt;
  return static_cast<Vertex>(run.first + k * run.step);
}

bool has_member(const layout::ColouredRun& run, std::int64_t j) { return j >= run.first && j <= run.last && (j - run.first) % run.step == 0; }

/// A colour that stands on other arcs too, or where there are several, is none.
StepColours find_step_colours(const layout::Relation& relation, StepArcs& arcs, const Budget& budget) {
  constexpr std::int64_t none = -1, useless = -2;
  const Vertex tokens = relation.vertex_count();
  StepColours steps;
  const auto is_open = [&] { return steps.up != useless || steps.down != useless; };
  Row row;
  for (Vertex i = 0; i < tokens && is_open(); ++i) {
    budget.poll();
    relation.row(i, row);
    for (const layout::ColouredRun& run : row) {
      for (const int way : {1, -1}) {
        if (!has_member(run, std::int64_t{i} + way)) continue;
        std::int64_t& known = way > 0 ? steps.up : steps.down;
        const std::int64_t colour = run.colour + run.colour_step * ((std::int64_t{i} + way - run.first) / run.step);
        if (known == none) known = colour;
        if (known != colour || (run.colour_step == 0 && run.size() > 2)) known = useless;
        (way > 0 ? arcs.up : arcs.down)[i] = true;
      }
    }
  }
  for (Vertex i = 0; i < tokens && is_open(); ++i) {
    budget.poll();
    relation.row(i, row);
    for (const layout::ColouredRun& run : row) {
      for (const std::int64_t colour : {steps.up, steps.down}) {
        if (colour < 0) continue;
        const auto allowed = [&](std::int64_t j) { return (j == std::int64_t{i} + 1 && colour == steps.up) || (j == std::int64_t{i} - 1 && colour == steps.down); };
        const std::optional<Vertex> j = find_member(run, colour);
        if (!j || (allowed(*j) && (run.colour_step != 0 || (run.size() <= 2 && allowed(run.last))))) continue;
        for (std::int64_t* const known : {&steps.up, &steps.down}) *known = *known == colour ? useless : *known;
      }
    }
  }
  for (const bool up : {true, false}) {
    std::int64_t& known = up ? steps.up : steps.down;
    if (known != useless) continue;
    known = none;
    (up ? arcs.up : arcs.down).assign(tokens, false);
  }
  return steps;
}

/// What the steps of some relations, all of which have occurred by a layer, say about the line.
struct SteppedLine {
  std::uint64_t first = 0;  ///< the layer
  bool directed = true;     ///< no relation has one colour for both directions
};

std::optional<SteppedLine> find_line(const Layout& layout, const std::vector<std::uint64_t>& first, const Budget& budget) {
  const Vertex tokens = layout.tokens;
  std::vector<std::uint32_t> order;
  for (std::uint32_t r = 0; r < first.size(); ++r) {
    if (first[r] != 0) order.push_back(r);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return first[a] < first[b]; });
  StepArcs all{std::vector<bool>(tokens, false), std::vector<bool>(tokens, false)};
  SteppedLine line;
  for (std::size_t k = 0; k < order.size(); ++k) {
    StepArcs own{std::vector<bool>(tokens, false), std::vector<bool>(tokens, false)};
    const StepColours steps = find_step_colours(layout.relations[order[k]], own, budget);
    line.directed = line.directed && (steps.up != steps.down || steps.up < 0);
    for (Vertex i = 0; i < tokens; ++i) {
      all.up[i] = all.up[i] || own.up[i];
      all.down[i] = all.down[i] || own.down[i];
    }
    line.first = first[order[k]];
    if (k + 1 < order.size() && first[order[k + 1]] == line.first) continue;
    bool joined = true, fixes_low = true, fixes_high = true;  // an isomorphism that shows the rows of the first token, the last one, maps it to an end: to itself if directed
    for (Vertex i = 0; i + 1 < tokens; ++i) {
      fixes_high = fixes_high && all.up[i];
      fixes_low = fixes_low && all.down[i + 1];
      joined = joined && (all.up[i] || all.down[i + 1]);
    }
    // Directed, one end of its own accord, and with it the other one (docs/theory.md 16.74).
    if (line.directed ? joined && (fixes_low || fixes_high) : fixes_low && fixes_high) return line;
  }
  return std::nullopt;
}

/// Tokens that isomorphisms of some views fix, with the least time that is left at them in these views.
class Fixed {
public:
  Fixed(const Layout& layout, const std::vector<std::uint64_t>& first, const std::vector<std::int64_t>& time, const Budget& budget)
      : layout_(layout), first_(first), time_(time), budget_(budget), next_(std::size_t{layout.tokens} + 1), left_(layout.tokens) {
    std::iota(next_.begin(), next_.end(), Vertex{0});
  }

  void fix(Vertex j) {
    if (next_[j] != j) return;
    next_[j] = j + 1;
    --left_;
  }

  /// What a fixed token reads in one colour is mapped onto itself where the row is in sight; what is alone there but for fixed tokens is fixed. Are all tokens, in the end?
  bool spread() {
    constexpr int most_passes = 16;
    const std::uint64_t most_work = (std::uint64_t{1} << 22) + 1024 * std::uint64_t{layout_.tokens};
    const Vertex tokens = layout_.tokens;
    for (int pass = 0; pass < most_passes && left_ > 0; ++pass) {
      const Vertex before = left_;
      for (Vertex k = 0; k < tokens && left_ > 0; ++k) {
        read_from(pass % 2 == 0 ? k : tokens - 1 - k);
        if (work_ > most_work) return false;
      }
      if (left_ == before && pass % 2 == 1) break;
    }
    return left_ == 0;
  }

private:
  [[nodiscard]] bool is_fixed(Vertex j) const { return next_[j] != j; }

  /// The first token from j on that is not fixed.
  Vertex from(Vertex j) {
    Vertex end = j;
    while (next_[end] != end) end = next_[end];
    while (next_[j] != end) j = std::exchange(next_[j], end);
    return end;
  }

  /// The first member from j on, itself a member, that is not fixed; beyond `last`: none.
  std::uint64_t find(const layout::ColouredRun& run, std::uint64_t j) {
    if (run.step == 1) return j > run.last ? j : from(static_cast<Vertex>(j));
    for (; j <= run.last && is_fixed(static_cast<Vertex>(j)); j += run.step) ++work_;
    return j;
  }

  /// Is no member of this colour in another run of the row left?
  bool is_alone(std::size_t own, std::int64_t colour) {
    for (std::size_t k = 0; k < row_.size(); ++k) {
      const layout::ColouredRun& run = row_[k];
      ++work_;
      if (k == own) continue;
      if (run.colour_step == 0) {
        if (run.colour == colour && find(run, run.first) <= run.last) return false;
      } else if (const auto j = find_member(run, colour); j && !is_fixed(*j)) {
        return false;
      }
    }
    return true;
  }

  void read_from(Vertex p) {
    if (!is_fixed(p)) return;
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (first_[r] == 0 || time_[p] < static_cast<std::int64_t>(first_[r])) continue;
      budget_.poll();
      layout_.relations[r].row(p, row_);
      for (std::size_t k = 0; k < row_.size(); ++k) {
        const layout::ColouredRun& run = row_[k];
        ++work_;
        std::uint64_t j = find(run, run.first);
        if (run.colour_step == 0) {
          if (j <= run.last && find(run, j + run.step) > run.last && is_alone(k, run.colour)) fix(static_cast<Vertex>(j));
          continue;
        }
        for (; j <= run.last; j = find(run, j + run.step)) {
          if (is_alone(k, run.colour + run.colour_step * static_cast<std::int64_t>((j - run.first) / run.step))) fix(static_cast<Vertex>(j));
        }
      }
    }
  }

  const Layout& layout_;
  const std::vector<std::uint64_t>& first_;
  const std::vector<std::int64_t>& time_;
  const Budget& budget_;
  std::vector<Vertex> next_;
  Vertex left_;
  std::uint64_t work_ = 0;
  Row row_;
};

/// Roots that stand in one interval which all of them read in the last layer.
std::vector<std::vector<Vertex>> find_clusters(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots) {
  std::vector<std::vector<Vertex>> clusters;
  Vertex low = 0, high = 0;
  std::vector<layout::Run> row;
  for (const Vertex a : roots) {
    Vertex begin = a, end = a;
    for (const std::uint32_t r : layout.layer(depth).relations) {
      layout.relations[r].pattern().row(a, row);
      const auto take = [&](const layout::Run& run) {
        if (run.step != 1 || run.first > std::uint64_t{end} + 1 || std::uint64_t{run.last} + 1 < begin) return;
        begin = std::min(begin, run.first);
        end = std::max(end, run.last);
      };
      // Rows of several colours come in pieces.
      std::for_each(row.begin(), row.end(), take);
      std::for_each(row.rbegin(), row.rend(), take);
    }
    if (!clusters.empty() && std::max(low, begin) <= clusters.back().front() && std::min(high, end) >= a) {
      low = std::max(low, begin);
      high = std::min(high, end);
      clusters.back().push_back(a);
      continue;
    }
    clusters.push_back({a});
    low = begin;
    high = end;
  }
  return clusters;
}

class LineViews {
public:
  LineViews(const Layout& layout, std::uint64_t depth, const Budget& budget)
      : layout_(layout), depth_(depth), budget_(budget), booking_(budget, std::uint64_t{layout.tokens} * 128), first_(compute_first_layers(layout)), counter_(layout.tokens) {}

  /// From the ends of the line.
  bool do_ends_explain(const std::vector<Vertex>& roots) {
    constexpr Threshold<std::size_t> most_clusters{16, 1, "line clusters"};
    const std::optional<SteppedLine> line = find_line(layout_, first_, budget_);
    if (!line || line->first >= depth_) return false;
    const auto clusters = find_clusters(layout_, depth_, roots);
    return clusters.size() <= most_clusters && std::all_of(clusters.begin(), clusters.end(), [&](const auto& cluster) { return does_end_explain(*line, cluster); });
  }

  /// From what the rows of an interval around the roots say about where it stands, and what each root reads besides.
  bool do_places_explain(const std::vector<Vertex>& roots) {
    constexpr std::uint64_t most_work = std::uint64_t{1} << 28, most_asked = std::uint64_t{1} << 22;
    const std::optional<SteppedLine> line = find_line(layout_, first_, budget_);
    if (!line || line->first >= depth_ || roots.size() * std::uint64_t{layout_.tokens} > most_work) return false;
    const auto clusters = find_clusters(layout_, depth_, roots);
    if (clusters.size() * std::uint64_t{layout_.tokens} > most_asked) return false;
    return std::all_of(clusters.begin(), clusters.end(), [&](const auto& cluster) { return does_place_explain(*line, cluster); });
  }

  /// From tokens like no other, by their rows in sight of all roots.
  bool do_single_rows_explain(const std::vector<Vertex>& roots) {
    const std::vector<std::int64_t> time = bound_times(layout_, depth_, roots, budget_);
    std::vector<std::uint64_t> levels;
    for (const std::uint64_t q : first_) {
      if (q != 0) levels.push_back(q);
    }
    std::sort(levels.begin(), levels.end());
    levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
    Fixed fixed(layout_, first_, time, budget_);
    bool any = false;
    for (std::size_t k = 0; k < levels.size(); ++k) {
      const auto is_here = [&](Vertex j) { return time[j] >= static_cast<std::int64_t>(levels[k]) && (k + 1 == levels.size() || time[j] < static_cast<std::int64_t>(levels[k + 1])); };
      Vertex here = 0;
      for (Vertex j = 0; j < layout_.tokens; ++j) here += is_here(j) ? 1 : 0;
      if (here == 0) continue;
      const std::vector<std::uint64_t> hash = describe_rows(levels[k]);
      std::vector<std::uint64_t> sorted(hash);
      std::sort(sorted.begin(), sorted.end());
      for (Vertex j = 0; j < layout_.tokens; ++j) {
        if (!is_here(j)) continue;
        const auto at = std::lower_bound(sorted.begin(), sorted.end(), hash[j]);
        if (at + 1 != sorted.end() && *(at + 1) == hash[j]) continue;
        fixed.fix(j);
        any = true;
      }
    }
    return any && fixed.spread();
  }

private:
  /// Of every token: its colour, and how many arcs its rows that have occurred by the layer have, with their colours added up.
  std::vector<std::uint64_t> describe_rows(std::uint64_t layer) const {
    std::vector<std::uint64_t> hash(layout_.tokens);
    for (Vertex j = 0; j < layout_.tokens; ++j) hash[j] = root_hash::mix(layout_.vertex_colour[j] + 1);
    Row row;
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (first_[r] == 0 || first_[r] > layer) continue;
      for (Vertex j = 0; j < layout_.tokens; ++j) {
        budget_.poll();
        layout_.relations[r].row(j, row);
        std::uint64_t count = 0, sum = 0;
        for (const layout::ColouredRun& run : row) {
          const std::uint64_t size = run.size();
          count += size;
          sum += size * static_cast<std::uint64_t>(run.colour) + size * (size - 1) / 2 * static_cast<std::uint64_t>(run.colour_step);
        }
        hash[j] = root_hash::mix(root_hash::mix(hash[j] + count) + sum);
      }
    }
    return hash;
  }

  /// The longest interval around the roots in which everything shows the rows of the line. Nothing where they stand in several.
  std::optional<std::pair<Vertex, Vertex>> find_interval(const SteppedLine& line, const std::vector<std::int64_t>& time, const std::vector<Vertex>& roots) const {
    const auto shows = [&](Vertex j) { return time[j] >= static_cast<std::int64_t>(line.first); };
    Vertex low = roots.front(), high = low;
    if (!shows(low)) return std::nullopt;
    while (low > 0 && shows(low - 1)) --low;
    while (high + 1 < layout_.tokens && shows(high + 1)) ++high;
    return high < roots.back() ? std::nullopt : std::optional(std::pair(low, high));
  }

  /// Of every token: its colour, and what its rows that show when so many layers are left have in common with those of its images. Kept by time.
  const std::vector<std::uint64_t>& described(std::uint64_t time) {
    std::uint64_t level = 0;
    for (const std::uint64_t q : first_) level = q <= time ? std::max(level, q) : level;
    const auto [at, fresh] = described_.try_emplace(level);
    if (!fresh) return at->second;
    std::vector<std::uint64_t>& hash = at->second;
    for (Vertex j = 0; j < layout_.tokens; ++j) hash.push_back(root_hash::mix(layout_.vertex_colour[j] + 1));
    for (std::size_t r = 0; r < first_.size(); ++r) {
      for (Vertex j = 0; first_[r] != 0 && first_[r] <= level && j < layout_.tokens; ++j) {
        budget_.poll();
        layout_.relations[r].row(j, row_);
        hash[j] = root_hash::mix(hash[j] ^ (describe_row(row_) + r));
      }
    }
    return hash;
  }

  /// Rows that many roots read are made once.
  const Row& read_row(std::size_t r, Vertex p) {
    constexpr std::uint64_t most_runs = std::uint64_t{1} << 21;
    auto& rows = rows_.try_emplace(r, layout_.tokens).first->second;
    if (!rows[p].empty()) return rows[p];
    layout_.relations[r].row(p, row_);
    if (runs_ + row_.size() > most_runs) return row_;
    if (runs_ == 0) booking_.grow(most_runs * sizeof(layout::ColouredRun));
    runs_ += row_.size();
    return rows[p] = row_;
  }

  /// What the rows of p that show when so many layers are left hold is read by p. False where that is too much in all.
  bool tell(Vertex p, std::uint64_t left, SteppedSums<std::uint64_t>& read) {
    constexpr std::uint64_t most_arcs = std::uint64_t{1} << 29;
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (first_[r] == 0 || first_[r] > left) continue;
      budget_.poll();
      const std::uint64_t reader = root_hash::mix(root_hash::mix(p) + r);
      for (const layout::ColouredRun& run : read_row(r, p)) {
        arcs_ += run.colour_step == 0 ? 1 : run.size();
        if (run.colour_step == 0) {
          read.add(run.first, run.last, run.step, root_hash::mix(reader + static_cast<std::uint64_t>(run.colour)));
          continue;
        }
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
          read.add(static_cast<Vertex>(j), static_cast<Vertex>(j), 1, root_hash::mix(reader + static_cast<std::uint64_t>(colour)));
        }
      }
    }
    return arcs_ <= most_arcs;
  }

  /// Do the rows in sight along low .. high stand nowhere else on the line, but for a reflection that is harmless?
  bool is_place_unique(const SteppedLine& line, const std::vector<std::int64_t>& time, Vertex low, Vertex high) {
    const auto left = static_cast<std::uint64_t>(*std::min_element(time.begin() + low, time.begin() + high + 1));
    const std::vector<std::uint64_t>& rows = described(left);
    const Vertex last = layout_.tokens - 1, length = high - low;
    for (Vertex to = 0; to + length <= last; ++to) {
      budget_.poll();
      Vertex k = 0;
      while (to != low && k <= length && rows[low + k] == rows[to + k]) ++k;
      if (to != low && k > length) return false;
      if (line.directed || to == last - high) continue;
      for (k = 0; k <= length && rows[low + k] == rows[to + length - k];) ++k;
      if (k > length) return false;
    }
    return line.directed || is_reflection_harmless(time, low, high);
  }

  bool does_place_explain(const SteppedLine& line, const std::vector<Vertex>& roots) {
    const std::vector<std::int64_t> time = bound_times(layout_, depth_, roots, budget_);
    const auto interval = find_interval(line, time, roots);
    if (!interval || !is_place_unique(line, time, interval->first, interval->second)) return false;
    SteppedSums<std::uint64_t> read(layout_.tokens);
    for (Vertex x = interval->first; x <= interval->second; ++x) {
      if (!tell(x, static_cast<std::uint64_t>(time[x]), read)) return false;
    }
    const std::vector<std::uint64_t> told = std::move(read).take();
    return std::all_of(roots.begin(), roots.end(), [&](Vertex a) { return does_root_name_all(a, *interval, told); });
  }

  /// What the root reads in the last layer and is alone there, by its rows and by what fixed tokens read, is fixed: is everything told apart by what fixed tokens read?
  bool does_root_name_all(Vertex a, std::pair<Vertex, Vertex> interval, const std::vector<std::uint64_t>& told) {
    const std::vector<std::uint64_t>& rows = described(depth_ - 1);
    std::vector<std::pair<std::uint64_t, Vertex>> members;
    std::vector<layout::Run> row;
    for (const std::uint32_t r : layout_.layer(depth_).relations) {
      layout_.relations[r].pattern().row(a, row);
      for (const layout::Run& run : row) {
        for (std::uint64_t j = run.first; j <= run.last; j += run.step) members.emplace_back(root_hash::mix(told[j] + rows[j]), static_cast<Vertex>(j));
      }
    }
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    SteppedSums<std::uint64_t> read(layout_.tokens);
    for (std::size_t k = 0; k < members.size(); ++k) {
      const auto& [key, p] = members[k];
      const bool alone = (k == 0 || members[k - 1].first != key) && (k + 1 == members.size() || members[k + 1].first != key);
      if (alone && (p < interval.first || p > interval.second) && !tell(p, depth_ - 1, read)) return false;
    }
    std::vector<std::uint64_t> name = std::move(read).take();
    for (Vertex j = 0; j < layout_.tokens; ++j) name[j] = root_hash::mix(name[j] + told[j]) + layout_.vertex_colour[j];
    return counter_.count(name, layout_.tokens) == layout_.tokens;
  }

  bool does_end_explain(const SteppedLine& line, const std::vector<Vertex>& roots) {
    const std::vector<std::int64_t> time = bound_times(layout_, depth_, roots, budget_);
    const auto interval = find_interval(line, time, roots);
    if (!interval) return false;
    const auto [low, high] = *interval;
    if (low != 0 && high + 1 != layout_.tokens) return false;
    if (!line.directed && !is_reflection_harmless(time, low, high)) return false;
    Fixed fixed(layout_, first_, time, budget_);
    for (Vertex j = low; j <= high; ++j) fixed.fix(j);
    return fixed.spread();
  }

  /// Is the reflection of the line an automorphism of the layout, or does it not keep what is seen of low .. high?
  bool is_reflection_harmless(const std::vector<std::int64_t>& time, Vertex low, Vertex high) {
    constexpr std::uint64_t most_work = std::uint64_t{1} << 26;
    for (Vertex p = low; p <= high; ++p) {
      budget_.poll();
      if (!is_token_reflected(layout_, first_, p, low, high, static_cast<std::uint64_t>(time[p]), pair_, work_)) return true;
      if (work_ > most_work) return false;
    }
    if (!reflects_) reflects_ = is_line_reflected(layout_, first_, work_, most_work, budget_).value_or(false);
    return *reflects_;
  }

  const Layout& layout_;
  std::uint64_t depth_;
  const Budget& budget_;
  Booking booking_;
  std::vector<std::uint64_t> first_;
  std::optional<bool> reflects_;  ///< the layout, once that was asked
  std::map<std::uint64_t, std::vector<std::uint64_t>> described_;
  root_hash::DistinctCounter counter_;
  std::uint64_t work_ = 0, arcs_ = 0, runs_ = 0;
  std::map<std::size_t, std::vector<Row>> rows_;  ///< by relation and token, made when first asked for
  Row row_;
  ReflectedRows pair_;
};

}  // namespace

bool do_lines_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const Budget& budget) {
  if (layout.registers > 0 || layout.tokens < 3 || layout.order.empty() || depth < 2 || roots.empty()) return false;
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  bool coloured = false;
  for (std::size_t r = 0; r < first.size(); ++r) coloured = coloured || (first[r] != 0 && !layout.relations[r].is_plain());
  if (!coloured) return false;
  LineViews views(layout, depth, budget);
  return views.do_ends_explain(roots) || views.do_single_rows_explain(roots) || views.do_places_explain(roots);
}

}  // namespace sightline::sight

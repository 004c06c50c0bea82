// Views of layouts in which rows that all roots see leave some vertex few places to go to (two global tokens, alike but for a reflection of the line, under ALiBi), and each of
// these places says where everything else goes. Then there are as many maps to look at as places, whatever the roots are (docs/theory.md 16.62).
#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "sightline/sight/kept_rows.hpp"
#include "sightline/sight/stepped_sums.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

class MatchedViews {
public:
  MatchedViews(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const Budget& budget)
      : layout_(layout), depth_(depth), roots_(roots), budget_(budget), booking_(budget, (layout.relations.size() * 8 + 160) * std::uint64_t{layout.vertices()}),
        time_(bound_times(layout, depth, roots, budget)), kept_(layout, budget), stretch_(layout.vertices(), 0) {
    for (Vertex j = 1; j < layout.vertices(); ++j) stretch_[j] = stretch_[j - 1] + (kept_.begins[j] ? 1 : 0);
    for (const std::uint64_t first : kept_.first) {
      if (first != 0) levels_.push_back(first);
    }
    std::sort(levels_.begin(), levels_.end());
    levels_.erase(std::unique(levels_.begin(), levels_.end()), levels_.end());
  }

  bool explain(const std::function<bool(const group::Permutation&)>& is_symmetry) {
    const std::vector<Vertex> places = find_places();
    if (places.empty() || match(places[0], places[0]) != Found::map) return false;
    for (std::size_t k = 1; k < places.size(); ++k) {
      const Found found = match(places[0], places[k]);
      if (found == Found::unknown) return false;
      if (found == Found::none) continue;
      const std::vector<group::Point> tokens(image_.begin(), image_.begin() + layout_.tokens);
      if (is_symmetry(group::Permutation::from_images(tokens))) continue;
      if (!std::all_of(roots_.begin(), roots_.end(), [this](Vertex a) { return is_refused(a); })) return false;
    }
    return true;
  }

private:
  enum class Found { none, map, unknown };

  [[nodiscard]] bool is_shown(Vertex j, std::uint64_t level) const { return time_[j] >= static_cast<std::int64_t>(level); }

  [[nodiscard]] std::uint64_t describe(const std::vector<std::uint64_t>& told, Vertex j, std::uint64_t level) const {
    return kept_.describe(root_hash::mix(root_hash::mix(layout_.vertex_colour[j] + 1) + told[j]), stretch_[j], level);
  }

  /// The fewest vertices that are alike in the rows up to a level, all of which all roots see. Empty where there are none, or many.
  [[nodiscard]] std::vector<Vertex> find_places() const {
    constexpr std::size_t most_places = 4;
    const std::vector<std::uint64_t> nothing(layout_.vertices(), 0);
    std::vector<Vertex> best;
    for (const std::uint64_t level : levels_) {
      std::vector<std::pair<std::uint64_t, Vertex>> described;
      for (Vertex j = 0; j < layout_.vertices(); ++j) described.emplace_back(describe(nothing, j, level), j);
      std::sort(described.begin(), described.end());
      for (std::size_t at = 0, end = 0; at < described.size(); at = end) {
        bool shown = true;
        for (; end < described.size() && described[end].first == described[at].first; ++end) shown = shown && is_shown(described[end].second, level);
        if (!shown || end - at > most_places || (!best.empty() && end - at > best.size())) continue;
        if (!best.empty() && end - at == best.size() && described[at].second >= best[0]) continue;
        best.clear();
        for (std::size_t k = at; k < end; ++k) best.push_back(described[k].second);
      }
    }
    return best;
  }

  /// Where isomorphisms that map p to q lead everything, into image_.
  Found match(Vertex p, Vertex q) {
    constexpr int most_rounds = 6;
    std::vector<std::uint64_t> from(layout_.vertices(), 0), to(from);
    from[p] = to[q] = 1;
    std::size_t known = 0;
    for (int round = 0; round < most_rounds; ++round) {
      SteppedSums<std::uint64_t> from_read(layout_.vertices()), to_read(layout_.vertices());
      for (const std::uint64_t level : levels_) {
        struct Class {
          Vertex from = 0, to = 0;
          bool shown = true;
        };
        std::unordered_map<std::uint64_t, Class> classes;
        std::vector<std::uint64_t> from_hash(layout_.vertices()), to_hash(layout_.vertices());
        for (Vertex j = 0; j < layout_.vertices(); ++j) {
          Class& mine = classes[from_hash[j] = describe(from, j, level)];
          ++mine.from;
          mine.shown = mine.shown && is_shown(j, level);
          Class& image = classes[to_hash[j] = describe(to, j, level)];
          ++image.to;
          image.shown = image.shown && is_shown(j, level);
        }
        for (const auto& [hash, members] : classes) {
          if (members.shown && members.from != members.to) return Found::none;
        }
        for (Vertex j = 0; j < layout_.vertices(); ++j) {
          if (classes[from_hash[j]].shown && !tell(j, level, from_hash[j], from_read)) return Found::unknown;
          if (classes[to_hash[j]].shown && !tell(j, level, to_hash[j], to_read)) return Found::unknown;
        }
      }
      add(std::move(from_read).take(), from);
      add(std::move(to_read).take(), to);
      auto sources = sort_tokens(from), images = sort_tokens(to);
      std::size_t distinct = 1;
      for (std::size_t k = 1; k < sources.size(); ++k) distinct += sources[k].first != sources[k - 1].first ? 1 : 0;
      const bool same = std::equal(sources.begin(), sources.end(), images.begin(), [](const auto& x, const auto& y) { return x.first == y.first; });
      // All tokens are in sight, so what is kept of them is the same on both sides.
      if (!same) return std::all_of(time_.begin(), time_.begin() + layout_.tokens, [](std::int64_t t) { return t >= 0; }) ? Found::none : Found::unknown;
      if (distinct == layout_.tokens) {
        image_.resize(layout_.vertices());
        for (Vertex v = layout_.tokens; v < layout_.vertices(); ++v) image_[v] = v;
        for (std::size_t k = 0; k < sources.size(); ++k) image_[sources[k].second] = images[k].second;
        return Found::map;
      }
      if (distinct == known) return Found::unknown;
      known = distinct;
    }
    return Found::unknown;
  }

  /// What j reads up to a level is read by one of its class. False where that is too much in all.
  bool tell(Vertex j, std::uint64_t level, std::uint64_t hash, SteppedSums<std::uint64_t>& read) {
    constexpr std::uint64_t most_arcs = std::uint64_t{1} << 26;
    for (std::size_t r = 0; r < kept_.first.size(); ++r) {
      if (kept_.first[r] == 0 || kept_.first[r] > level) continue;
      budget_.poll();
      layout_.relations[r].row(j, row_);
      for (const layout::ColouredRun& run : row_) {
        const std::uint64_t reader = root_hash::mix(hash + r);
        if (++arcs_; run.colour_step == 0) {
          read.add(run.first, run.last, run.step, root_hash::mix(reader + static_cast<std::uint64_t>(run.colour)));
          continue;
        }
        if (arcs_ += run.size(); arcs_ > most_arcs) return false;
        std::int64_t colour = run.colour;
        for (std::uint64_t x = run.first; x <= run.last; x += run.step, colour += run.colour_step) {
          read.add(static_cast<Vertex>(x), static_cast<Vertex>(x), 1, root_hash::mix(reader + static_cast<std::uint64_t>(colour)));
        }
      }
    }
    return arcs_ <= most_arcs;
  }

  void add(const std::vector<std::uint64_t>& read, std::vector<std::uint64_t>& told) const {
    for (Vertex j = 0; j < layout_.vertices(); ++j) told[j] = root_hash::mix(told[j] + read[j]);
  }

  [[nodiscard]] std::vector<std::pair<std::uint64_t, Vertex>> sort_tokens(const std::vector<std::uint64_t>& told) const {
    std::vector<std::pair<std::uint64_t, Vertex>> sorted;
    for (Vertex j = 0; j < layout_.tokens; ++j) sorted.emplace_back(root_hash::mix(told[j] + root_hash::mix(layout_.vertex_colour[j])), j);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  /// Do rows in sight of a differ from those in sight of its image, so that no isomorphism of views is this map? The root's own rows, then those of what it reads first.
  bool is_refused(Vertex a) {
    constexpr std::uint64_t most_arcs = std::uint64_t{1} << 26;
    if (layout_.vertex_colour[a] != layout_.vertex_colour[image_[a]] || differs(a, depth_)) return true;
    for (const std::uint32_t r : layout_.layer(depth_).relations) {
      const std::vector<layout::Run> row = layout_.relations[r].pattern().row(a);
      for (const layout::Run& run : row) {
        for (std::uint64_t j = run.first; j <= run.last && compared_ < most_arcs; j += run.step) {
          if (differs(static_cast<Vertex>(j), depth_ - 1)) return true;
        }
      }
    }
    return false;
  }

  bool differs(Vertex j, std::uint64_t left) {
    for (std::size_t r = 0; r < kept_.first.size(); ++r) {
      if (kept_.first[r] == 0 || kept_.first[r] > left) continue;
      budget_.poll();
      if (add_up(r, j, true) != add_up(r, image_[j], false)) return true;
    }
    return false;
  }

  /// A hash of the row, mapped or not.
  std::uint64_t add_up(std::size_t r, Vertex i, bool mapped) {
    layout_.relations[r].row(i, row_);
    std::uint64_t sum = 0;
    for (const layout::ColouredRun& run : row_) {
      compared_ += run.size();
      std::int64_t colour = run.colour;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
        sum += root_hash::mix(root_hash::mix(mapped ? image_[j] : static_cast<Vertex>(j)) + static_cast<std::uint64_t>(colour));
      }
    }
    return sum;
  }

  const Layout& layout_;
  std::uint64_t depth_;
  const std::vector<Vertex>& roots_;
  const Budget& budget_;
  Booking booking_;
  std::vector<std::int64_t> time_;
  Kept kept_;
  std::vector<std::size_t> stretch_;  ///< by vertex: its number
  std::vector<std::uint64_t> levels_;
  std::vector<Vertex> image_;
  std::vector<layout::ColouredRun> row_;
  std::uint64_t arcs_ = 0, compared_ = 0;
};

}  // namespace

bool do_matchings_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots,
                          const std::function<bool(const group::Permutation&)>& is_symmetry, const Budget& budget) {
  if (layout.has_equal_registers() || layout.order.empty() || depth < 2 || roots.empty()) return false;
  // Long lists on many tokens are left to what looks at fewer rows: here each row of each layer is compared with all others.
  constexpr std::uint64_t most_compared = std::uint64_t{1} << 20;
  std::set<std::uint64_t> levels;
  for (const std::uint64_t first : compute_first_layers(layout)) levels.insert(first);
  if (levels.size() * layout.vertices() > most_compared) return false;
  return MatchedViews(layout, depth, roots, budget).explain(is_symmetry);
}

}  // namespace sightline::sight

// Colours that tell neighbours on the line from all other tokens (ALiBi, T5 buckets). Along visible rows of neighbours an isomorphism of views is a piece of a shift or of a
// reflection; where these rows reach an end of the line it is one of the whole line. From there on, or from tokens whose rows are like no other's, tokens are fixed one after
// the other: what a fixed token reads in one colour goes to itself, so the last of it that is not fixed yet is fixed too (docs/theory.md 16.56).
#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>

#include "field.hpp"
#include "poll.hpp"
#include "reach.hpp"
#include "row_marks.hpp"
#include "views.hpp"

namespace checker {

namespace {

constexpr std::int64_t no_colour = -1;

/// Colour of j among the members of the run; no_colour: it is none.
std::int64_t colour_in(const Run& run, std::int64_t j) {
  if (j < run.first || j > run.last || (j - run.first) % run.step != 0) return no_colour;
  return run.colour + (j - run.first) / run.step * run.colour_step;
}

/// How many members of the run have the colour, and the first of them.
std::pair<std::uint64_t, Vertex> members_of_colour(const Run& run, std::int64_t colour) {
  if (run.colour_step == 0) return {run.colour == colour ? run.size() : 0, run.first};
  const std::int64_t away = colour - run.colour;
  if (away % run.colour_step != 0 || away / run.colour_step < 0 || away / run.colour_step >= run.size()) return {0, run.first};
  return {1, static_cast<Vertex>(run.first + away / run.colour_step * run.step)};
}

/// Who reads the token behind, or before, along the line, and with which colours, as far as these stand on no other arcs.
struct Neighbours {
  std::vector<bool> behind, before;
  std::int64_t colour_behind = no_colour, colour_before = no_colour;

  explicit Neighbours(Vertex n) : behind(n, false), before(n, false) {}
  Neighbours(const Relation& relation, Vertex n) : Neighbours(n) {
    std::vector<Run> row;
    std::uint64_t count_behind = 0, count_before = 0, arcs_behind = 0, arcs_before = 0;
    bool told_behind = true, told_before = true;
    const auto note = [&](const Run& run, std::int64_t j, std::int64_t& known, bool& told) {
      const std::int64_t colour = colour_in(run, j);
      if (colour == no_colour) return false;
      if (known == no_colour) known = colour;
      told = told && known == colour && (run.colour_step != 0 || run.size() <= 2);
      return true;
    };
    for (Vertex i = 0; i < n && (told_behind || told_before); ++i) {
      poll();
      relation.row(i, row);
      for (const Run& run : row) {
        if (note(run, std::int64_t{i} + 1, colour_behind, told_behind)) {
          behind[i] = true;
          ++count_behind;
        }
        if (note(run, std::int64_t{i} - 1, colour_before, told_before)) {
          before[i] = true;
          ++count_before;
        }
      }
    }
    if (!told_behind) colour_behind = no_colour;
    if (!told_before) colour_before = no_colour;
    for (Vertex i = 0; i < n && (told_behind || told_before); ++i) {
      poll();
      relation.row(i, row);
      for (const Run& run : row) {
        if (colour_behind != no_colour) arcs_behind += members_of_colour(run, colour_behind).first;
        if (colour_before != no_colour) arcs_before += members_of_colour(run, colour_before).first;
      }
    }
    // As many arcs of a colour as lead to neighbours: there are no others.
    if (one_colour()) {
      told_behind = told_before = arcs_behind == count_behind + count_before;
    } else {
      told_behind = told_behind && arcs_behind == count_behind;
      told_before = told_before && arcs_before == count_before;
    }
    if (!told_behind) {
      colour_behind = no_colour;
      behind.assign(n, false);
    }
    if (!told_before) {
      colour_before = no_colour;
      before.assign(n, false);
    }
  }
  [[nodiscard]] bool one_colour() const { return colour_behind == colour_before && colour_behind != no_colour; }
};

/// What follows for maps of views in which all rows of these relations are in sight along an interval: they are straight there, and where the interval holds an end of the
/// line, and those of all roots hold one, they map it to an end (to itself, unless they may turn).
struct Straight {
  std::uint64_t layer = 0;  ///< by which the relations have occurred
  bool may_turn = false;
};

std::optional<Straight> find_straight(const Layout& layout, const std::vector<std::uint64_t>& first) {
  const Vertex n = layout.tokens;
  std::vector<std::uint64_t> layers(first);
  std::erase(layers, absent);
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  Neighbours all(n);
  Straight found;
  for (const std::uint64_t layer : layers) {
    for (std::size_t r = 0; r < first.size(); ++r) {
      if (first[r] != layer) continue;
      const Neighbours own(layout.relations[r], n);
      found.may_turn = found.may_turn || own.one_colour();
      for (Vertex i = 0; i < n; ++i) {
        if (own.behind[i]) all.behind[i] = true;
        if (own.before[i]) all.before[i] = true;
      }
    }
    const bool all_behind = std::all_of(all.behind.begin(), all.behind.end() - 1, [](bool reads) { return reads; });
    const bool all_before = std::all_of(all.before.begin() + 1, all.before.end(), [](bool reads) { return reads; });
    bool joined = true;
    for (Vertex i = 0; i + 1 < n; ++i) joined = joined && (all.behind[i] || all.before[i + 1]);
    found.layer = layer;
    // Where nothing turns, one end that holds of its own accord makes the other one hold (docs/theory.md 16.74).
    if (found.may_turn ? all_behind && all_before : joined && (all_behind || all_before)) return found;
  }
  return std::nullopt;
}

/// A row as pieces along which colours change evenly, each as long as it can be from its first member on: equal rows have equal pieces.
struct Piece {
  std::int64_t first, last, colour, slope;
  friend bool operator==(const Piece&, const Piece&) = default;
};

std::vector<Piece> write_pieces(std::vector<Run> row, std::uint64_t& work) {
  std::vector<Run> solid;
  for (const Run& run : row) {
    if (run.step == 1) {
      solid.push_back(run);
      continue;
    }
    work += run.size();
    for (Vertex k = 0; k < run.size(); ++k) solid.push_back({run.first + k * run.step, run.first + k * run.step, 1, run.colour + k * run.colour_step, 0});
  }
  std::sort(solid.begin(), solid.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  std::vector<Piece> pieces;
  for (const Run& run : solid) {
    for (std::int64_t j = run.first; j <= run.last;) {
      const std::int64_t colour = colour_in(run, j);
      if (!pieces.empty() && pieces.back().last + 1 == j) {
        Piece& piece = pieces.back();
        if (piece.first == piece.last) piece.slope = colour - piece.colour;
        if (piece.colour + (j - piece.first) * piece.slope == colour) {
          piece.last = run.colour_step == piece.slope ? run.last : j;
          j = piece.last + 1;
          continue;
        }
      }
      pieces.push_back({j, run.last, colour, j == run.last ? 0 : run.colour_step});
      j = std::int64_t{run.last} + 1;
    }
  }
  return pieces;
}

/// What of the row lies in low .. high.
std::vector<Run> part_of(const std::vector<Run>& row, Vertex low, Vertex high) {
  std::vector<Run> part;
  for (const Run& run : row) {
    if (run.last < low || run.first > high) continue;
    const std::uint64_t before = run.first < low ? (std::uint64_t{low} - run.first + run.step - 1) / run.step : 0;
    const std::uint64_t behind = run.last > high ? (std::uint64_t{run.last} - high + run.step - 1) / run.step : 0;
    if (before + behind >= run.size()) continue;
    part.push_back({static_cast<Vertex>(run.first + before * run.step), static_cast<Vertex>(run.last - behind * run.step), run.step,
                    run.colour + static_cast<std::int64_t>(before) * run.colour_step, run.colour_step});
  }
  return part;
}

/// Does x -> n-1-x map what the row of p holds of low .. high onto what that of its image holds of theirs? What lies outside may go anywhere.
bool is_mirrored(const Relation& relation, Vertex p, Vertex n, Vertex low, Vertex high, std::uint64_t& work) {
  std::vector<Run> row, image;
  relation.row(p, row);
  relation.row(n - 1 - p, image);
  row = part_of(row, low, high);
  image = part_of(image, n - 1 - high, n - 1 - low);
  for (Run& run : row) run = {n - 1 - run.last, n - 1 - run.first, run.step, run.colour + (std::int64_t{run.size()} - 1) * run.colour_step, -run.colour_step};
  return write_pieces(std::move(row), work) == write_pieces(std::move(image), work);
}

/// Fixed tokens, growing.
class FixedTokens {
public:
  FixedTokens(const Layout& layout, const std::vector<std::uint64_t>& first, const std::vector<std::int64_t>& least)
      : layout_(layout), first_(first), least_(least), open_(std::size_t{layout.tokens} + 1), count_(layout.tokens) {
    std::iota(open_.begin(), open_.end(), Vertex{0});
  }

  void fix(Vertex j) {
    if (open_[j] == j) --count_;
    open_[j] = j + 1;
  }

  [[nodiscard]] bool grows_to_all() {
    constexpr int most_rounds = 64;
    const std::uint64_t most_work = (std::uint64_t{1} << 24) + 4096 * std::uint64_t{layout_.tokens};
    for (int round = 0; round < most_rounds && count_ > 0; ++round) {
      const Vertex before = count_;
      for (Vertex j = 0; j < layout_.tokens; ++j) follow(j);
      for (Vertex j = layout_.tokens; j-- > 0;) follow(j);
      if (count_ == before || work_ > most_work) return false;
    }
    return count_ == 0;
  }

private:
  /// The next one that is not fixed.
  Vertex next_open(Vertex j) {
    while (open_[j] != j) {
      if (open_[open_[j]] != open_[j]) open_[j] = open_[open_[j]];
      j = open_[j];
    }
    return j;
  }

  /// The first open member of the run from j on; `none` without.
  Vertex next_open(const Run& run, std::uint64_t j) {
    if (j > run.last) return none;
    if (run.step == 1) {
      const Vertex at = next_open(static_cast<Vertex>(j));
      return at <= run.last ? at : none;
    }
    for (; j <= run.last; j += run.step, ++work_) {
      if (open_[j] == j) return static_cast<Vertex>(j);
    }
    return none;
  }

  /// Open members of one colour in all runs of the row, up to two.
  int count_open(std::int64_t colour) {
    int open = 0;
    for (const Run& run : row_) {
      ++work_;
      const auto [members, at] = members_of_colour(run, colour);
      if (members == 0) continue;
      if (run.colour_step != 0 || members == 1) {
        open += open_[at] == at ? 1 : 0;
      } else if (const Vertex j = next_open(run, run.first); j != none) {
        open += next_open(run, std::uint64_t{j} + run.step) == none ? 1 : 2;
      }
      if (open > 1) break;
    }
    return open;
  }

  void follow(Vertex p) {
    if (open_[p] == p || count_ == 0) return;
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (first_[r] == absent || least_[p] < static_cast<std::int64_t>(first_[r])) continue;
      poll();
      layout_.relations[r].row(p, row_);
      for (const Run& run : row_) {
        ++work_;
        for (Vertex j = next_open(run, run.first); j != none; j = next_open(run, std::uint64_t{j} + run.step)) {
          if (count_open(colour_in(run, j)) == 1) fix(j);
          else if (run.colour_step == 0) break;  // all of them have this colour
        }
      }
    }
  }

  const Layout& layout_;
  const std::vector<std::uint64_t>& first_;
  const std::vector<std::int64_t>& least_;
  std::vector<Vertex> open_;
  Vertex count_;
  std::uint64_t work_ = 0;
  std::vector<Run> row_;
};

/// What a root reads without gaps around itself when most layers are left.
std::pair<Vertex, Vertex> read_around(const Layout& layout, std::uint64_t depth, Vertex a) {
  std::vector<Run> row;
  std::pair<Vertex, Vertex> around{a, a};
  for (const std::uint32_t r : layout.layers[layout.order[(depth - 1) % layout.order.size()]]) {
    layout.relations[r].pattern->row(a, row);
    const auto take = [&](const Run& run) {
      if (run.step == 1 && run.first <= around.second + std::uint64_t{1} && run.last + std::uint64_t{1} >= around.first) {
        around = {std::min(around.first, run.first), std::max(around.second, run.last)};
      }
    };
    for (const Run& run : row) take(run);
    for (std::size_t k = row.size(); k-- > 0;) take(row[k]);  // what lies behind the root comes in pieces where it has several colours
  }
  return around;
}

/// @param mirrors  does the reflection keep the whole layout? Filled when first asked.
bool may_turn_unseen(const Layout& layout, const std::vector<std::uint64_t>& first, const std::vector<std::int64_t>& least, Vertex low, Vertex high, std::optional<bool>& mirrors) {
  constexpr std::uint64_t most_work = std::uint64_t{1} << 28;
  const Vertex n = layout.tokens;
  std::uint64_t work = 0;
  const auto is_kept = [&](Vertex p, bool whole) {
    poll();
    if (layout.vertex_colour[p] != layout.vertex_colour[n - 1 - p]) return false;
    for (std::size_t r = 0; r < first.size(); ++r) {
      const bool in_sight = first[r] != absent && (whole || least[p] >= static_cast<std::int64_t>(first[r]));
      if (in_sight && !(whole ? is_mirrored(layout.relations[r], p, n, 0, n - 1, work) : is_mirrored(layout.relations[r], p, n, low, high, work))) return false;
    }
    return true;
  };
  // Either some row in sight is not kept by the reflection, or all rows of the layout are.
  for (Vertex p = low; p <= high && work <= most_work; ++p) {
    if (!is_kept(p, false)) return false;
  }
  if (!mirrors) {
    mirrors = true;
    for (Vertex p = 0; p < n && *mirrors; ++p) mirrors = work <= most_work && is_kept(p, true);
  }
  return !*mirrors;
}

/// The interval around the roots along which maps are straight; nothing where they stand in several.
std::optional<std::pair<Vertex, Vertex>> straight_around(const Straight& straight, const std::vector<std::int64_t>& least, Vertex n, const std::vector<Vertex>& roots) {
  const auto in_sight = [&](Vertex j) { return least[j] >= static_cast<std::int64_t>(straight.layer); };
  Vertex low = roots.front(), high = roots.front();
  if (!in_sight(low)) return std::nullopt;
  while (low > 0 && in_sight(low - 1)) --low;
  while (high + 1 < n && in_sight(high + 1)) ++high;
  if (high < roots.back()) return std::nullopt;
  return std::pair(low, high);
}

bool does_end_explain(const Layout& layout, std::uint64_t depth, const std::vector<std::uint64_t>& first, const Straight& straight, const std::vector<Vertex>& roots,
                      std::optional<bool>& mirrors) {
  const std::vector<std::int64_t> least = least_times(layout, depth, roots);
  const auto interval = straight_around(straight, least, layout.tokens, roots);
  if (!interval) return false;
  const auto [low, high] = *interval;
  if (low != 0 && high + 1 != layout.tokens) return false;
  if (straight.may_turn && may_turn_unseen(layout, first, least, low, high, mirrors)) return false;
  FixedTokens fixed(layout, first, least);
  for (Vertex j = low; j <= high; ++j) fixed.fix(j);
  return fixed.grows_to_all();
}

/// Neighbouring roots that all of them read around themselves are looked at together. Empty where there would be more clusters.
std::vector<std::vector<Vertex>> make_clusters(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, std::size_t most_clusters) {
  std::vector<std::vector<Vertex>> clusters;
  std::pair<Vertex, Vertex> shared;
  for (const Vertex a : roots) {
    const auto around = read_around(layout, depth, a);
    const std::pair<Vertex, Vertex> meet{std::max(shared.first, around.first), std::min(shared.second, around.second)};
    if (clusters.empty() || meet.first > clusters.back().front() || meet.second < a) {
      clusters.emplace_back();
      shared = around;
    } else {
      shared = meet;
    }
    clusters.back().push_back(a);
    if (clusters.size() > most_clusters) return {};
  }
  return clusters;
}

bool do_ends_explain(const Layout& layout, std::uint64_t depth, const std::vector<std::uint64_t>& first, const std::optional<Straight>& straight, const std::vector<Vertex>& roots) {
  constexpr std::size_t most_clusters = 32;
  if (!straight || straight->layer >= depth) return false;
  const auto clusters = make_clusters(layout, depth, roots, most_clusters);
  std::optional<bool> mirrors;
  return !clusters.empty() && std::ranges::all_of(clusters, [&](const auto& cluster) { return does_end_explain(layout, depth, first, *straight, cluster, mirrors); });
}

/// Maps that are straight along an interval, away from the ends of the line: what the rows there say stands nowhere else, so the interval is fixed, then what a root reads in the last layer
/// and is alone there, then what is alone by which fixed tokens read it (docs/theory.md 16.75).
class PlacedIntervals {
public:
  PlacedIntervals(const Layout& layout, std::uint64_t depth, const std::vector<std::uint64_t>& first, const Straight& straight)
      : layout_(layout), depth_(depth), first_(first), straight_(straight), rows_(describe_rows(layout)), behind_(look(depth - 1)) {}

  [[nodiscard]] bool explain(const std::vector<Vertex>& roots) {
    const std::vector<std::int64_t> least = least_times(layout_, depth_, roots);
    const auto interval = straight_around(straight_, least, layout_.tokens, roots);
    if (!interval) return false;
    const auto [low, high] = *interval;
    if (!is_only_place(low, high, look(static_cast<std::uint64_t>(*std::min_element(least.begin() + low, least.begin() + high + 1))))) return false;
    if (straight_.may_turn && may_turn_unseen(layout_, first_, least, low, high, mirrors_)) return false;
    RowMarks marks(layout_.tokens);
    for (Vertex x = low; x <= high; ++x) mark(x, static_cast<std::uint64_t>(least[x]), marks);
    const std::vector<std::uint64_t> told = marks.take();
    return std::ranges::all_of(roots, [&](Vertex a) { return names_all(a, low, high, told); });
  }

private:
  /// By token, what its rows that show with so many layers left have in common with those of its images.
  [[nodiscard]] std::vector<std::uint64_t> look(std::uint64_t left) const {
    std::vector<std::uint64_t> looks;
    for (Vertex j = 0; j < layout_.tokens; ++j) looks.push_back(describe_seen(rows_, first_, layout_.vertex_colour[j], j, left));
    return looks;
  }

  /// Does no shift, and no reflection but that of the line, match the looks of low .. high?
  [[nodiscard]] bool is_only_place(Vertex low, Vertex high, const std::vector<std::uint64_t>& looks) const {
    const Vertex n = layout_.tokens, size = high - low + 1;
    const auto begin = looks.begin() + low, end = begin + size;
    for (Vertex at = 0; at + size <= n; ++at) {
      poll();
      if (at != low && std::equal(begin, end, looks.begin() + at)) return false;
      if (straight_.may_turn && at != n - 1 - high && std::equal(begin, end, std::make_reverse_iterator(looks.begin() + at + size))) return false;
    }
    return true;
  }

  void mark(Vertex p, std::uint64_t left, RowMarks& marks) {
    for (std::size_t r = 0; r < first_.size(); ++r) {
      if (first_[r] == absent || first_[r] > left) continue;
      poll();
      for (const Run& run : row_of(r, p)) work_ += marks.add_row_run(run, mix(mix(p, 0x9a1), r));
    }
  }

  /// Rows are asked for again from root to root: kept, as far as they are not too many.
  const std::vector<Run>& row_of(std::size_t r, Vertex p) {
    constexpr std::uint64_t most_kept = std::uint64_t{1} << 21;
    auto& rows = kept_rows_.try_emplace(r, layout_.tokens).first->second;
    if (!rows[p].empty()) return rows[p];
    layout_.relations[r].row(p, row_);
    if (kept_ + row_.size() > most_kept) return row_;
    kept_ += row_.size();
    return rows[p] = row_;
  }

  [[nodiscard]] bool names_all(Vertex a, Vertex low, Vertex high, const std::vector<std::uint64_t>& told) {
    constexpr std::uint64_t most_work = std::uint64_t{1} << 31;  // the library takes fewer steps
    std::vector<std::pair<std::uint64_t, Vertex>> members;
    for (const std::uint32_t r : layout_.layer(depth_)) {
      layout_.relations[r].pattern->row(a, row_);
      for (const Run& run : row_) {
        for (Vertex k = 0; k < run.size(); ++k) {
          const Vertex j = run.first + k * run.step;
          members.emplace_back(mix(told[j], behind_[j]), j);
        }
      }
    }
    std::sort(members.begin(), members.end());
    members.erase(std::unique(members.begin(), members.end()), members.end());
    RowMarks marks(layout_.tokens);
    for (std::size_t k = 0, end = 0; k < members.size(); k = end) {
      while (end < members.size() && members[end].first == members[k].first) ++end;
      const Vertex p = members[k].second;
      if (end == k + 1 && (p < low || p > high)) mark(p, depth_ - 1, marks);
    }
    const std::vector<std::uint64_t> more = marks.take();
    names_.begin(layout_.tokens);
    for (Vertex j = 0; j < layout_.tokens; ++j) {
      if (!names_.add(mix(mix(more[j], told[j]), layout_.vertex_colour[j]))) return false;
    }
    return work_ <= most_work;
  }

  const Layout& layout_;
  std::uint64_t depth_;
  const std::vector<std::uint64_t>& first_;
  const Straight& straight_;
  Described rows_;
  std::vector<std::uint64_t> behind_;
  std::vector<Run> row_;
  std::map<std::size_t, std::vector<std::vector<Run>>> kept_rows_;  ///< by relation and token
  Distinct names_;
  std::optional<bool> mirrors_;
  std::uint64_t work_ = 0, kept_ = 0;
};

bool do_places_explain(const Layout& layout, std::uint64_t depth, const std::vector<std::uint64_t>& first, const std::optional<Straight>& straight, const std::vector<Vertex>& roots) {
  constexpr std::uint64_t most_work = std::uint64_t{1} << 29, most_asked = std::uint64_t{1} << 23;  // the library takes fewer
  if (!straight || straight->layer >= depth || roots.size() * std::uint64_t{layout.tokens} > most_work) return false;
  const auto clusters = make_clusters(layout, depth, roots, most_asked / layout.tokens);
  if (clusters.empty()) return false;
  PlacedIntervals places(layout, depth, first, *straight);
  return std::ranges::all_of(clusters, [&](const auto& cluster) { return places.explain(cluster); });
}

/// Tokens whose colour and rows in sight of all roots are like no other's are fixed by every map.
bool do_single_rows_explain(const Layout& layout, std::uint64_t depth, const std::vector<std::uint64_t>& first, const std::vector<Vertex>& roots) {
  const std::vector<std::int64_t> least = least_times(layout, depth, roots);
  FixedTokens fixed(layout, first, least);
  std::vector<std::uint64_t> layers(first);
  std::erase(layers, absent);
  std::sort(layers.begin(), layers.end());
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  std::vector<Run> row;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    const auto is_asked = [&](Vertex j) {
      return least[j] >= static_cast<std::int64_t>(layers[k]) && (k + 1 == layers.size() || least[j] < static_cast<std::int64_t>(layers[k + 1]));
    };
    bool any = false;
    for (Vertex j = 0; j < layout.tokens && !any; ++j) any = is_asked(j);
    if (!any) continue;
    std::vector<std::pair<std::vector<std::uint64_t>, Vertex>> kept(layout.tokens);
    for (Vertex j = 0; j < layout.tokens; ++j) {
      poll();
      kept[j] = {{layout.vertex_colour[j]}, j};
      for (std::size_t r = 0; r < first.size(); ++r) {
        if (first[r] > layers[k]) continue;
        layout.relations[r].row(j, row);
        std::uint64_t members = 0, colours = 0;
        for (const Run& run : row) {
          members += run.size();
          colours += std::uint64_t{run.size()} * static_cast<std::uint64_t>(run.colour) + std::uint64_t{run.size()} * (run.size() - 1) / 2 * static_cast<std::uint64_t>(run.colour_step);
        }
        kept[j].first.insert(kept[j].first.end(), {members, colours});
      }
    }
    std::sort(kept.begin(), kept.end());
    for (std::size_t x = 0; x < kept.size(); ++x) {
      const bool alone = (x == 0 || kept[x - 1].first != kept[x].first) && (x + 1 == kept.size() || kept[x + 1].first != kept[x].first);
      if (alone && is_asked(kept[x].second)) fixed.fix(kept[x].second);
    }
  }
  return fixed.grows_to_all();
}

}  // namespace

bool do_lines_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots) {
  if (layout.registers > 0 || layout.tokens < 3 || layout.order.empty() || depth < 2 || roots.empty()) return false;
  const std::vector<std::uint64_t> first = first_layers(layout);
  // In one colour throughout neighbours are not told apart, and nothing is alone.
  std::vector<Run> row;
  bool coloured = false;
  std::optional<std::int64_t> colour;
  for (std::size_t r = 0; r < first.size() && !coloured; ++r, colour.reset()) {
    for (Vertex i = 0; first[r] != absent && i < layout.tokens && !coloured; i = layout.relations[r].same_row_until(i)) {
      layout.relations[r].row(i, row);
      for (const Run& run : row) {
        if (!colour) colour = run.colour;
        coloured = coloured || run.colour != *colour || run.colour_step != 0;
      }
    }
  }
  if (!coloured) return false;
  const std::optional<Straight> straight = find_straight(layout, first);
  return do_ends_explain(layout, depth, first, straight, roots) || do_single_rows_explain(layout, depth, first, roots) || do_places_explain(layout, depth, first, straight, roots);
}

}  // namespace checker

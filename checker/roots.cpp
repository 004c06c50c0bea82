#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "distinct.hpp"
#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {


std::uint64_t fold(std::uint64_t hash, std::uint64_t value) { return mix(hash ^ mix(value + 0x51ab)); }

class PlainRoots : public RootMaker {
public:
  PlainRoots(const Layout& layout, std::uint64_t depth) : layout_(layout), depth_(depth), first_(first_layers(layout)) {
    std::map<std::uint64_t, std::uint64_t> rank;
    for (const std::uint64_t colour : layout.vertex_colour) rank_.push_back(rank.emplace(colour, rank.size()).first->second);
  }

  [[nodiscard]] Rooted make(Vertex root) const override {
    const Vertex vertices = layout_.vertices();
    const std::vector<std::int64_t> latest = compute_latest(layout_, depth_, root);
    Rooted result;
    result.structure.vertices = vertices;
    const std::uint64_t times = depth_ + 2;
    for (Vertex j = 0; j < vertices; ++j) {
      result.seen.push_back(latest[j] >= 0);
      // Time 0 of this scale is "unseen": one colour for tokens, one for registers.
      result.structure.colour.push_back(latest[j] < 0 ? (j < layout_.tokens ? 0 : times)
                                                      : (2 * rank_[j] + (j == root ? 1 : 0)) * times + static_cast<std::uint64_t>(latest[j]) + 1);
    }
    for (std::size_t r = 0; r < layout_.relations.size(); ++r) {
      if (first_[r] == absent) continue;
      Structure::Shown shown{&layout_.relations[r], std::vector<bool>(vertices)};
      for (Vertex j = 0; j < vertices; ++j) shown.visible[j] = latest[j] >= 0 && static_cast<std::uint64_t>(latest[j]) >= first_[r];
      if (std::find(shown.visible.begin(), shown.visible.end(), false) == shown.visible.end()) shown.visible.clear();
      result.structure.relations.push_back(std::move(shown));
    }
    return result;
  }

private:
  const Layout& layout_;
  std::uint64_t depth_;
  std::vector<std::uint64_t> first_, rank_;
};

// One visible row, cut into stretches of one colour; along a step where it is one of `steps`.
struct Piece {
  Vertex reader, first, last;
  std::uint64_t weight;  // of the colour
  std::uint32_t step;    // its number
};

/// @param steps  grows by those that occur, 1 first, up to a few
std::vector<Piece> cut_rows(const Rooted& rooted, const Structure::Shown& shown, std::vector<Vertex>& steps) {
  constexpr Threshold<std::size_t> most_steps{5, 1, "root steps"}, short_run{8, 2, "root runs"};
  std::vector<Piece> pieces;
  std::vector<Run> row;
  for (Vertex i = 0; i < rooted.structure.vertices; ++i) {
    if (!rooted.seen[i] || (!shown.visible.empty() && !shown.visible[i])) continue;
    shown.relation->row(i, row);
    for (const Run& run : row) {
      bool whole = run.step == 1 && (run.colour_step == 0 || run.first == run.last);
      std::size_t step = 0;
      if (run.colour_step == 0 && run.size() >= short_run && run.step > 1) {
        step = static_cast<std::size_t>(std::find(steps.begin(), steps.end(), run.step) - steps.begin());
        if (step == steps.size() && step < most_steps) steps.push_back(run.step);
        whole = step < steps.size();
        if (!whole) step = 0;
      }
      std::int64_t colour = run.colour;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
        const auto first = static_cast<Vertex>(j);
        pieces.push_back({i, first, whole ? run.last : first, mix(static_cast<std::uint64_t>(colour)) | 1, static_cast<std::uint32_t>(step)});
        if (whole) break;
      }
    }
  }
  return pieces;
}

std::size_t count_distinct(const std::vector<std::uint64_t>& hash, const std::vector<bool>& seen) {
  Distinct met;
  met.begin(hash.size());
  std::size_t distinct = 0;
  for (std::size_t j = 0; j < hash.size(); ++j) distinct += seen[j] && met.add(hash[j]) ? 1 : 0;
  return distinct;
}

}  // namespace

std::vector<std::uint64_t> first_layers(const Layout& layout) {
  std::vector<std::uint64_t> first(layout.relations.size(), absent);
  std::vector<bool> met(layout.layers.size(), false);
  for (std::size_t q = 1; q <= layout.order.size(); ++q) {
    if (met[layout.order[q - 1]]) continue;
    met[layout.order[q - 1]] = true;
    for (const std::uint32_t r : layout.layer(q)) first[r] = std::min<std::uint64_t>(first[r], q);
  }
  return first;
}

std::unique_ptr<RootMaker> make_roots(const Layout& layout, bool frequencies, std::uint64_t depth) {
  if (has_equal_registers(layout)) return make_register_roots(layout, frequencies, depth);
  return std::make_unique<PlainRoots>(layout, depth);
}

std::vector<Vertex> measure_components(const Layout& layout) {
  std::vector<Vertex> parent(layout.vertices()), size(layout.vertices(), 0);
  std::iota(parent.begin(), parent.end(), Vertex{0});
  const auto find = [&](Vertex x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  const auto join = [&](Vertex x, Vertex y) { parent[std::max(find(x), find(y))] = std::min(find(x), find(y)); };
  // By step, as differences along it: how many runs hold both x and x + step? Runs of further steps are gone through.
  constexpr Threshold<std::size_t> most_steps{8, 1, "root steps"};
  std::map<Vertex, std::vector<std::int64_t>> linked;
  const auto link = [&](Vertex first, Vertex last, Vertex step) {
    if (first == last) return;
    if (!linked.contains(step) && linked.size() < most_steps) linked[step].resize(layout.vertices(), 0);
    if (const auto at = linked.find(step); at != linked.end()) {
      ++at->second[first], --at->second[last];
      return;
    }
    for (std::uint64_t x = first; x < last; x += step) join(static_cast<Vertex>(x), static_cast<Vertex>(x + step));
  };
  std::vector<Run> row;
  for (const std::uint32_t l : std::set<std::uint32_t>(layout.order.begin(), layout.order.end())) {
    for (const std::uint32_t r : layout.layers[l]) {
      for (Vertex i = 0, end = 0; i < layout.vertices(); i = end) {
        end = layout.relations[r].pattern->same_row_until(i);
        layout.relations[r].pattern->row(i, row);
        if (!row.empty()) link(i, end - 1, 1);
        for (const Run& run : row) {
          join(i, run.first);
          link(run.first, run.last, run.step);
        }
      }
    }
  }
  for (auto& [step, open] : linked) {
    for (Vertex x = 0; std::uint64_t{x} + step < layout.vertices(); ++x) {
      if (x >= step) open[x] += open[x - step];
      if (open[x] > 0) join(x, x + step);
    }
  }
  for (Vertex x = 0; x < layout.vertices(); ++x) ++size[find(x)];
  for (Vertex x = 0; x < layout.vertices(); ++x) size[x] = size[find(x)];
  return size;
}

std::uint64_t last_first_layer(const Layout& layout) {
  std::uint64_t last = 0;
  for (const std::uint64_t first : first_layers(layout)) last = first == absent ? last : std::max(last, first);
  return last;
}

namespace {

/// Sets of vertices that read all of themselves, with one colour each, and nothing else: equal rows that hold their readers, as many readers as members.
bool is_partition(const Relation& relation, Vertex vertices) {
  if (relation.relative != RelativeKind::none) return false;
  struct Set {
    std::vector<Run> row;
    Vertex missing;  // members that have not come
  };
  std::map<Vertex, Set> sets;  // by least member
  std::vector<Run> row;
  for (Vertex i = 0, end = 0; i < vertices; i = end) {
    poll();
    end = relation.same_row_until(i);
    relation.row(i, row);
    if (row.empty()) {
      for (Vertex k = i; k < end; ++k) {
        if (!sets.try_emplace(k, Set{{}, 0}).second) return false;
      }
      continue;
    }
    Vertex least = row.front().first, size = 0, own = 0;
    for (const Run& run : row) {
      if (run.colour != row.front().colour || run.colour_step != 0) return false;
      least = std::min(least, run.first);
      size += run.size();
      for (Vertex k = std::max(i, run.first); k < end && k <= run.last; ++k) own += (k - run.first) % run.step == 0 ? 1 : 0;
    }
    if (own != end - i) return false;
    if (least == i) sets.try_emplace(i, Set{row, size});
    const auto set = sets.find(least);
    if (set == sets.end() || set->second.missing < end - i) return false;
    if (set->second.row != row) {
      std::vector<Run> known = set->second.row;
      if (!same_runs(known, row)) return false;
    }
    set->second.missing -= end - i;
  }
  return std::all_of(sets.begin(), sets.end(), [](const auto& set) { return set.second.missing == 0; });
}

}  // namespace

std::uint64_t last_shown_layer(const Layout& layout) {
  const std::uint64_t last = last_first_layer(layout);
  if (last == 0 || layout.layer(last).size() != 1) return last;
  const std::uint32_t r = layout.layer(last).front();
  std::uint64_t shown = last - 1;
  const std::vector<std::uint64_t> first = first_layers(layout);
  for (std::uint32_t other = 0; other < first.size(); ++other) {
    if (other != r && first[other] != absent) shown = std::max(shown, first[other]);
  }
  return shown == last || !is_partition(layout.relations[r], layout.vertices()) ? last : shown;
}

// Every row that is ever visible is visible at a vertex that is seen within the layers after `base`. Labels of equal registers first
// have to settle; then one whole period of rows must be visible.
Limit compute_limit(const Layout& layout, bool frequencies, const ReachQuestion& ask) {
  const bool equal = has_equal_registers(layout);
  std::uint64_t base = 0;
  if (equal) base = compute_register_settling(layout, frequencies) + layout.order.size();
  else base = last_first_layer(layout);
  if (layout.vertices() == 1) return {base, !equal};
  ReachQuestion question = ask;
  question.kind = ClassKind::all;
  question.registers_too = true;
  question.skip = base;
  if (const Reach all = compute_reach(layout, question); all.layers) return {base + *all.layers, !equal};
  question.kind = ClassKind::seen;
  return {base + *compute_reach(layout, question).layers, false};
}

RootColours colour_root(const Rooted& rooted) {
  constexpr int most_rounds = 64;
  const Vertex vertices = rooted.structure.vertices;
  RootColours result;
  std::vector<std::uint64_t>& hash = result.hash;
  for (const std::uint64_t colour : rooted.structure.colour) hash.push_back(mix(colour));
  std::vector<std::vector<Piece>> relations;
  std::vector<Vertex> steps{1};
  for (const Structure::Shown& shown : rooted.structure.relations) relations.push_back(cut_rows(rooted, shown, steps));
  const auto seen = static_cast<std::size_t>(std::count(rooted.seen.begin(), rooted.seen.end(), true));
  std::vector<std::vector<std::uint64_t>> prefix, change;  // by number of the step, along it
  for (const Vertex step : steps) {
    prefix.emplace_back(std::size_t{vertices} + step);
    change.emplace_back(std::size_t{vertices} + step);
  }
  std::vector<std::uint64_t> read(vertices);
  std::size_t colours = 0;
  for (int round = 0;; ++round) {
    const std::size_t distinct = count_distinct(hash, rooted.seen);
    result.discrete = distinct == seen;
    if (result.discrete || distinct == colours || round == most_rounds) break;
    colours = distinct;
    std::uint64_t salt = 1;
    for (std::size_t r = 0; r < relations.size(); ++r) {
      poll_now();
      salt = mix(salt);
      // Sum over what is read, by prefix sums; then, with the readers' new hashes, over the readers by differences.
      for (std::size_t s = 0; s < steps.size(); ++s) {
        for (Vertex j = 0; j < vertices; ++j) prefix[s][j + steps[s]] = prefix[s][j] + mix(hash[j] ^ salt);
        std::fill(change[s].begin(), change[s].end(), 0);
      }
      std::fill(read.begin(), read.end(), 0);
      for (const Piece& piece : relations[r]) {
        const std::vector<std::uint64_t>& sums = prefix[piece.step];
        read[piece.reader] += piece.weight * (sums[std::size_t{piece.last} + steps[piece.step]] - sums[piece.first]);
      }
      const std::vector<bool>& visible = rooted.structure.relations[r].visible;
      for (Vertex i = 0; i < vertices; ++i) {
        if (rooted.seen[i] && (visible.empty() || visible[i])) hash[i] = mix(hash[i] + mix(read[i] + 3 * salt));
      }
      for (const Piece& piece : relations[r]) {
        const std::uint64_t told = piece.weight * mix(hash[piece.reader] + salt);
        change[piece.step][piece.first] += told;
        change[piece.step][std::size_t{piece.last} + steps[piece.step]] -= told;
      }
      for (std::size_t s = 0; s < steps.size(); ++s) {
        for (Vertex j = steps[s]; j < vertices; ++j) change[s][j] += change[s][j - steps[s]];
      }
      for (Vertex j = 0; j < vertices; ++j) {
        std::uint64_t readers = 0;
        for (const std::vector<std::uint64_t>& told : change) readers += told[j];
        if (rooted.seen[j]) hash[j] = mix(hash[j] + mix(readers ^ salt));
      }
    }
  }
  for (Vertex j = 0; j < vertices; ++j) result.invariant += rooted.seen[j] ? mix(hash[j] + 5) : 0;
  return result;
}

const SortedRows::Row& SortedRows::row(const Relation* relation, Vertex i) {
  constexpr std::uint64_t most_arcs = std::uint64_t{1} << 22;
  auto& rows = rows_[relation];
  if (rows.empty()) rows.resize(relation->pattern->vertices);
  if (rows[i]) return *rows[i];
  relation->row(i, runs_);
  last_.clear();
  for (const Run& run : runs_) {
    std::int64_t colour = run.colour;
    for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) last_.emplace_back(colour, static_cast<Vertex>(j));
  }
  // The reader itself comes first, whatever has its colour: where it is mapped is known (docs/theory.md 16.55).
  std::sort(last_.begin(), last_.end(), [i](const auto& a, const auto& b) { return std::tuple(a.second != i, a) < std::tuple(b.second != i, b); });
  if (arcs_ + last_.size() > most_arcs) return last_;
  arcs_ += last_.size();
  return *(rows[i] = last_);
}

std::optional<RootColours> walk_root(const Rooted& rooted, Vertex root, std::uint64_t most_work, SortedRows& rows) {
  const Structure& structure = rooted.structure;
  constexpr Vertex unnumbered = ~Vertex{0};
  std::vector<Vertex> number(structure.vertices, unnumbered), order{root};
  number[root] = 0;
  std::uint64_t written = fold(1, structure.colour[root]), work = 0;
  for (std::size_t at = 0; at < order.size() && work < most_work; ++at) {
    const Vertex i = order[at];
    for (const Structure::Shown& shown : structure.relations) {
      written = fold(written, 1);
      if (!shown.visible.empty() && !shown.visible[i]) continue;
      poll();
      const SortedRows::Row& row = rows.row(shown.relation, i);
      work += row.size();
      written = fold(written, 2 + row.size());
      for (std::size_t k = 0; k < row.size(); ++k) {
        const auto [colour, j] = row[k];
        if (k > 0 && row[k - 1].first == colour && row[k - 1].second != i) return std::nullopt;
        if (number[j] == unnumbered) {
          number[j] = static_cast<Vertex>(order.size());
          order.push_back(j);
          written = fold(written, structure.colour[j]);
        }
        written = mix(written ^ (static_cast<std::uint64_t>(colour) * 0x9e3779b97f4a7c15u + number[j]));
      }
    }
  }
  RootColours result{{}, written, true};
  for (Vertex j = 0; j < structure.vertices; ++j) {
    if (number[j] == unnumbered && rooted.seen[j] && work < most_work) return std::nullopt;  // seen without a visible path
    result.hash.push_back(number[j] == unnumbered ? mix(structure.colour[j]) : fold(0xc0de, number[j]));
  }
  return result;
}

bool is_rigid(const Layout& layout) {
  std::vector<std::int64_t> colours;
  const auto is_rigid_row = [&](Vertex i, const std::vector<Run>& runs) {
    colours.clear();
    for (const Run& run : runs) {
      const bool own = run.first <= i && i <= run.last && (i - run.first) % run.step == 0;
      if (run.colour_step == 0 && run.size() > (own ? 2u : 1u)) return false;
      for (Vertex k = 0; k < run.size() && runs.size() > 1; ++k) {
        if (run.first + k * run.step != i) colours.push_back(run.colour + k * run.colour_step);
      }
    }
    std::sort(colours.begin(), colours.end());
    return std::adjacent_find(colours.begin(), colours.end()) == colours.end();
  };
  std::vector<Run> row;
  for (const Relation& relation : layout.relations) {
    // What cancels is one and the same for a whole row, so colours as given tell.
    const bool plain = relation.relative == RelativeKind::none;
    const auto are_rigid = [&](Vertex begin, Vertex end, const std::vector<Run>& runs, bool moves) {
      // Where rows move along with their readers, they repeat colours as the first one does, with the reader in the same place.
      for (Vertex i = begin; i < (moves ? begin + 1 : end); ++i) {
        if (!is_rigid_row(i, runs)) return false;
      }
      return true;
    };
    if (plain && !relation.pattern->visit_stretches(are_rigid)) return false;
    for (Vertex i = 0; !plain && i < layout.vertices(); ++i) {
      relation.row(i, row);
      if (!is_rigid_row(i, row)) return false;
    }
  }
  return true;
}

}  // namespace checker

// What isomorphisms keep of each vertex alone, for all views at once.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "field.hpp"
#include "poll.hpp"
#include "reach.hpp"
#include "row_marks.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// What a row's arcs have in common whatever runs they are written in: how many they are, the sums of their colours and of the squares of these.
std::uint64_t describe(const std::vector<Run>& row) {
  std::uint64_t count = 0, sum = 0, squares = 0;
  for (const Run& run : row) {
    const std::uint64_t size = run.size(), pairs = size * (size - 1) / 2, last = 2 * size - 1;
    const auto colour = static_cast<std::uint64_t>(run.colour), step = static_cast<std::uint64_t>(run.colour_step);
    count += size;
    sum += size * colour + pairs * step;
    squares += size * colour * colour + 2 * pairs * colour * step + (pairs % 3 == 0 ? pairs / 3 * last : pairs * (last / 3)) * step * step;
  }
  return mix(mix(mix(count) + sum) + squares);
}

}  // namespace

Described describe_rows(const Layout& layout) {
  Described rows(layout.relations.size(), std::vector<std::uint64_t>(layout.vertices()));
  std::vector<Run> row;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (Vertex i = 0, end = 0; i < layout.vertices(); i = end) {
      poll();
      end = layout.relations[r].same_row_until(i);
      layout.relations[r].row(i, row);
      std::fill(rows[r].begin() + i, rows[r].begin() + end, describe(row));
    }
  }
  return rows;
}

std::uint64_t describe_seen(const Described& rows, const std::vector<std::uint64_t>& first, std::uint64_t hash, Vertex j, std::uint64_t left) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (left >= first[r]) hash = mix(hash ^ (rows[r][j] + r));
  }
  return hash;
}

namespace {

/// Which vertices do all of the roots read in this pattern, those among them apart that are the root themselves? A row that ends before some other
/// begins has nothing in common with it, and mostly the first and the last tell.
std::vector<Vertex> read_by_all(const Pattern& pattern, const std::vector<Vertex>& roots) {
  std::vector<Run> row;
  std::vector<Vertex> common;
  const auto in_row = [&](Vertex a, Vertex j) { return j == a || std::ranges::any_of(row, [j](const Run& run) { return run.first <= j && j <= run.last && (j - run.first) % run.step == 0; }); };
  const Vertex few[] = {roots.front(), roots.back(), roots[roots.size() / 2]};
  const auto shortest = std::ranges::min(few, {}, [&](Vertex a) {
    pattern.row(a, row);
    std::uint64_t members = 1;
    for (const Run& run : row) members += run.size();
    return members;
  });
  pattern.row(shortest, row);
  common.push_back(shortest);
  for (const Run& run : row) {
    for (std::uint64_t j = run.first; j <= run.last; j += run.step) common.push_back(static_cast<Vertex>(j));
  }
  for (const Vertex a : few) {
    pattern.row(a, row);
    std::erase_if(common, [&](Vertex j) { return !in_row(a, j); });
  }
  std::sort(common.begin(), common.end());
  common.erase(std::unique(common.begin(), common.end()), common.end());
  if (common.empty()) return common;
  // How many roots lack a vertex of these: by differences over the numbers of those that a row holds, where it has them without gaps.
  std::vector<std::int64_t> held(common.size() + 1, 0);
  for (std::size_t k = 0, end = 0; k < roots.size(); k = end) {
    poll();
    const Vertex until = pattern.same_row_until(roots[k]);
    pattern.row(roots[k], row);
    while (end < roots.size() && roots[end] < until) {
      const auto own = std::lower_bound(common.begin(), common.end(), roots[end]);
      if (own != common.end() && *own == roots[end] && !std::ranges::any_of(row, [&](const Run& run) { return run.first <= *own && *own <= run.last && (*own - run.first) % run.step == 0; })) {
        ++held[static_cast<std::size_t>(own - common.begin())];
        --held[static_cast<std::size_t>(own - common.begin()) + 1];
      }
      ++end;
    }
    const auto count = static_cast<std::int64_t>(end - k);
    for (const Run& run : row) {
      const auto begin = std::lower_bound(common.begin(), common.end(), run.first), stop = std::upper_bound(begin, common.end(), run.last);
      if (run.step == 1) {
        held[static_cast<std::size_t>(begin - common.begin())] += count;
        held[static_cast<std::size_t>(stop - common.begin())] -= count;
        continue;
      }
      for (auto j = begin; j != stop; ++j) {
        if ((*j - run.first) % run.step != 0) continue;
        held[static_cast<std::size_t>(j - common.begin())] += count;
        held[static_cast<std::size_t>(j - common.begin()) + 1] -= count;
      }
    }
  }
  std::vector<Vertex> all;
  std::int64_t holders = 0;
  for (std::size_t k = 0; k < common.size(); ++k) {
    holders += held[k];
    if (holders == static_cast<std::int64_t>(roots.size())) all.push_back(common[k]);
  }
  return all;
}

/// tau maps j to j' with t_a(j) = t_b(j') >= max(T(j), T(j')), so whatever rows are in sight at that bound are alike (docs/theory.md 16.33).
/// @param kept  by vertex: what isomorphisms keep besides
bool do_least_times_explain(const Layout& layout, const std::vector<std::int64_t>& least, const std::vector<Vertex>& number, const Described& rows,
                            const std::vector<std::uint64_t>& first, const std::vector<std::uint64_t>& kept) {
  std::vector<std::uint64_t> marks(first);  // from these numbers of layers on more is in sight
  std::erase(marks, ~std::uint64_t{0});
  marks.push_back(0);
  std::sort(marks.begin(), marks.end());
  marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
  std::vector<std::size_t> grade(layout.tokens);
  for (Vertex j = 0; j < layout.tokens; ++j) {
    const std::uint64_t left = least[j] < 0 ? 0 : static_cast<std::uint64_t>(least[j]);
    grade[j] = static_cast<std::size_t>(std::upper_bound(marks.begin(), marks.end(), left) - marks.begin());
  }
  for (std::size_t g = 1; g <= marks.size(); ++g) {
    poll_now();
    const auto look = [&](Vertex j) { return describe_seen(rows, first, mix(layout.vertex_colour[j], kept[j]), j, marks[g - 1]); };
    std::unordered_map<std::uint64_t, Vertex> known;
    for (Vertex j = 0; j < layout.tokens; ++j) {
      if (grade[j] == g && known.try_emplace(look(j), number[j]).first->second != number[j]) return false;
    }
    for (Vertex j = 0; j < layout.tokens && !known.empty(); ++j) {
      if (grade[j] >= g) continue;
      const auto at = known.find(look(j));
      if (at != known.end() && at->second != number[j]) return false;
    }
  }
  return true;
}

/// The vertices that stay where they are in every view, because nothing else is like them in what is kept and in the rows that are in sight of all roots; then their rows,
/// colour by colour, are kept as sets: each member is marked. False where nothing new is fixed (docs/theory.md 16.64), or that is too much to mark.
/// @param marked  how much so far, at most `most_marked`
bool mark_what_fixed_read(const Layout& layout, const std::vector<std::int64_t>& least, const Described& rows, const std::vector<std::uint64_t>& first, std::vector<bool>& fixed,
                          std::vector<std::uint64_t>& kept, std::uint64_t& marked, std::uint64_t most_marked) {
  std::map<std::uint64_t, std::vector<Vertex>> asked;  // by how much is in sight at the least
  for (Vertex j = 0; j < layout.vertices(); ++j) {
    std::uint64_t grade = 0;
    for (const std::uint64_t f : first) {
      if (f != absent && least[j] >= static_cast<std::int64_t>(f)) grade = std::max(grade, f);
    }
    if (grade != 0 && !fixed[j]) asked[grade].push_back(j);
  }
  std::vector<Vertex> fresh;
  for (const auto& [grade, members] : asked) {
    poll_now();
    std::unordered_map<std::uint64_t, Vertex> met;
    const auto look = [&](Vertex j) { return describe_seen(rows, first, mix(layout.vertex_colour[j], kept[j]), j, grade); };
    for (Vertex j = 0; j < layout.vertices(); ++j) ++met[look(j)];
    std::ranges::copy_if(members, std::back_inserter(fresh), [&](Vertex j) { return met[look(j)] == 1; });
  }
  if (fresh.empty()) return false;
  for (const Vertex j : fresh) fixed[j] = true;
  RowMarks marks(layout.vertices());
  std::vector<Run> row;
  for (const Vertex p : fresh) {
    for (std::size_t r = 0; r < first.size(); ++r) {
      if (first[r] == absent || least[p] < static_cast<std::int64_t>(first[r])) continue;
      poll();
      layout.relations[r].row(p, row);
      for (const Run& run : row) {
        if ((marked += marks.add_row_run(run, mix(p, r))) > most_marked) return false;
      }
    }
  }
  const std::vector<std::uint64_t> told = marks.take();
  for (Vertex j = 0; j < layout.vertices(); ++j) kept[j] = mix(kept[j], told[j]);
  return true;
}

}  // namespace

// T(j) <= t_a(j) for every root a: what every root reads in layer q has q - 1 layers left at least, and hands them on.
std::vector<std::int64_t> least_times(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots) {
  std::vector<std::int64_t> most(layout.vertices(), -1);
  std::vector<bool> asked(layout.relations.size(), false);
  for (std::uint64_t back = 0; back < std::min<std::uint64_t>(depth, layout.order.size()); ++back) {
    const std::uint64_t q = depth - back;
    for (const std::uint32_t r : layout.layers[layout.order[(q - 1) % layout.order.size()]]) {
      if (asked[r]) continue;
      asked[r] = true;
      for (const Vertex j : read_by_all(*layout.relations[r].pattern, roots)) most[j] = std::max(most[j], static_cast<std::int64_t>(q) - 1);
    }
  }
  std::vector<std::pair<std::int64_t, Vertex>> sources;
  for (Vertex j = 0; j < layout.vertices(); ++j) {
    if (most[j] >= 0) sources.emplace_back(most[j], j);
  }
  return compute_latest_from(layout, std::move(sources));
}

bool do_times_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number, std::uint64_t most_marked) {
  constexpr Threshold<std::uint64_t> most_work{std::uint64_t{1} << 24, 0, "view times"};  // beyond this, comparing views by their classes is quicker
  if (has_equal_registers(layout) || layout.order.empty()) return false;
  const bool few = std::uint64_t{roots.size()} * layout.vertices() <= most_work;
  const std::vector<std::int64_t> least = least_times(layout, depth, roots);
  if (!few && std::ranges::all_of(least, [](std::int64_t t) { return t < 0; })) return false;
  const std::vector<std::uint64_t> first = first_layers(layout);
  const Described rows = describe_rows(layout);
  constexpr int most_rounds = 5;
  std::vector<std::uint64_t> kept(layout.vertices(), 0);
  std::vector<bool> fixed(layout.vertices(), false);
  std::uint64_t marked = 0;
  for (int round = 0;; ++round) {
    if (do_least_times_explain(layout, least, number, rows, first, kept)) return true;
    if (round == most_rounds || !mark_what_fixed_read(layout, least, rows, first, fixed, kept, marked, most_marked)) break;
  }
  if (!few) return false;
  // Maps lead to roots whose own rows, all of them in sight, are alike: within each such kind one number per hash. What the root reads keeps its colour.
  std::unordered_map<std::uint64_t, std::vector<Vertex>> kinds;
  for (const Vertex a : roots) kinds[describe_seen(rows, first, mix(layout.vertex_colour[a]), a, depth)].push_back(a);
  std::vector<std::uint64_t> read(layout.vertices(), 0);
  std::vector<Run> row;
  for (const auto& [kind, members] : kinds) {
    std::unordered_map<std::uint64_t, Vertex> known;
    for (const Vertex a : members) {
      poll_now();
      std::fill(read.begin(), read.end(), 0);
      for (std::size_t r = 0; r < first.size(); ++r) {
        if (first[r] > depth) continue;
        layout.relations[r].row(a, row);
        for (const Run& run : row) {
          for (Vertex k = 0; k < run.size(); ++k) read[run.first + k * run.step] += mix(mix(static_cast<std::uint64_t>(run.colour + k * run.colour_step)) ^ (r + 1));
        }
      }
      const std::vector<std::int64_t> latest = compute_latest(layout, depth, a);
      for (Vertex j = 0; j < layout.tokens; ++j) {
        if (latest[j] < 0) continue;
        const auto left = static_cast<std::uint64_t>(latest[j]);
        const std::uint64_t hash = describe_seen(rows, first, mix(mix(layout.vertex_colour[j]) + read[j] + 2 * left + (j == a ? 1 : 0)), j, left);
        if (known.try_emplace(hash, number[j]).first->second != number[j]) return false;
      }
    }
  }
  return true;
}

}  // namespace checker

// Twins taken together, level by level.
#include <algorithm>
#include <numeric>
#include <utility>

#include "even_steps.hpp"
#include "field.hpp"
#include "graph.hpp"
#include "poll.hpp"
#include "stretches.hpp"
#include "structure.hpp"
#include "threshold.hpp"

namespace checker {

namespace {


/// Classes by number; class k has the inner colours inner[k * tables ..], for one vertex alone its loops.
struct Classes {
  std::vector<std::vector<Vertex>> members;
  std::vector<std::int64_t> inner;
};

/// Names the stretches of equal keys anew, from `names` on; vertices left alone stay in their group. Returns the next name.
template <class Key>
std::uint32_t regroup(std::vector<std::uint32_t>& group, std::uint32_t names, std::vector<std::uint32_t>& next, Key&& key) {
  std::vector<std::pair<std::uint64_t, std::pair<Vertex, Vertex>>> stretches;
  for (Vertex x = 0; x < group.size(); ++x) {
    if (group[x] == none) continue;
    const std::uint64_t value = mix(key(x), group[x]);
    if (!stretches.empty() && stretches.back().second.second == x && stretches.back().first == value) {
      ++stretches.back().second.second;
    } else {
      stretches.push_back({value, {x, x + 1}});
    }
  }
  std::sort(stretches.begin(), stretches.end());
  for (std::size_t begin = 0, end = 0; begin < stretches.size(); begin = end) {
    while (end < stretches.size() && stretches[end].first == stretches[begin].first) ++end;
    if (end - begin == 1 && stretches[begin].second.second - stretches[begin].second.first == 1) continue;
    for (std::size_t k = begin; k < end; ++k) {
      for (Vertex x = stretches[k].second.first; x < stretches[k].second.second; ++x) {
        next[x] = names;
        group[x] = none;
      }
    }
    ++names;
  }
  return names;
}

/// Is the swap of x and y an automorphism? Mostly both read, and are read by, one list of spans that does not tell them apart.
bool are_twins(const Graph& graph, Vertex x, Vertex y) {
  const auto alike = [&](const Lists& lists) {
    const auto colour = [&](Vertex v) {
      for (const Span& span : lists.of(x)) {
        if (span.contains(v)) return span.base + graph.slopes[span.slope] * std::int64_t{v};
      }
      return std::int64_t{-1};
    };
    return std::ranges::equal(lists.of(x), lists.of(y)) && colour(x) == colour(y);
  };
  const bool easy = std::ranges::all_of(graph.tables, [&](const Table& table) {
    return table.visible[x] == table.visible[y] && alike(table.rows) && (table.symmetric || alike(table.columns));
  });
  return easy ? graph.colour[x] == graph.colour[y] : maps(graph, graph, {{x, y}, {y, x}}, true);
}

/// Classes of twins: vertices of equal fingerprints, as far as the swaps of neighbours in a class are automorphisms. Equal twins have
/// equal fingerprints, so no pair is missed; a proposed pair that is none is an error.
/// @param lead  by vertex the first of its stretch, empty where there are none: the two of a stretch are twins by what a stretch is
Classes find_classes(const Graph& graph, const std::vector<Vertex>& lead, const Json& lists, const std::string& claim) {
  const Vertex n = graph.vertices;
  const std::size_t tables = graph.tables.size();
  if (lists.size() != tables) throw Malformed("twins: one list of colours per relation is expected");
  Refiner refiner(graph);  // its first cells: equal colours, visibility and loops
  std::vector<std::uint32_t> group(n), next(n, none), name(n, none);
  for (Vertex x = 0; x < n; ++x) group[x] = refiner.cell(x);
  for (std::size_t r = 0; r < tables; ++r) {
    if (lists[r].size() > 64) throw Malformed("twins: at most 64 colours per relation");
    const std::vector<Element> print = refiner.fingerprints(r);
    std::uint32_t names = 0;
    next.assign(n, none);
    for (std::size_t c = 0; c <= lists[r].size(); ++c) {
      const Element inside = c == 0 ? 0 : multiply(multiply(add(1, backward), scale_of(r)), power_of(colour_base, static_cast<std::int64_t>(lists[r][c - 1].natural())));
      names = regroup(group, names, next, [&](Vertex x) { return add(print[x], multiply(inside, value_of(x))); });
    }
    group.swap(next);
  }
  Classes classes;
  for (Vertex x = 0; x < n; ++x) {
    const bool known = group[x] != none && name[group[x]] != none;
    if (group[x] != none && !known) name[group[x]] = static_cast<std::uint32_t>(classes.members.size());
    if (!known) classes.members.emplace_back();
    classes.members[known ? name[group[x]] : classes.members.size() - 1].push_back(x);
  }
  for (const std::vector<Vertex>& members : classes.members) {
    for (std::size_t r = 0; r < tables; ++r) {
      const std::int64_t inner = graph.find_colour(r, members[0], members.size() > 1 ? members[1] : members[0]);
      const bool listed = std::ranges::any_of(lists[r].array(), [&](const Json& colour) { return colour.integer() == inner; });
      if (members.size() > 1 && inner >= 0 && !listed) throw Rejected(claim, "twins read each other with a colour that is not listed");
      classes.inner.push_back(inner);
    }
    for (std::size_t k = 1; k < members.size(); ++k) {
      if (!lead.empty() && lead[members[k]] == members[k - 1]) continue;
      if (!are_twins(graph, members[k - 1], members[k])) throw Rejected(claim, "vertices proposed as twins by their fingerprints are none");
    }
  }
  return classes;
}

}  // namespace

Tower::Tower(const Structure& structure, std::vector<std::uint64_t> colour) : begin_(std::size_t{structure.vertices} + 1), fibre_(structure.vertices) {
  graph.vertices = structure.vertices;
  graph.colour = std::move(colour);
  std::iota(begin_.begin(), begin_.end(), std::uint32_t{0});
  std::iota(fibre_.begin(), fibre_.end(), Vertex{0});
  add_rows(structure);
}

// Twins among the two vertices of each stretch are twins altogether: every other vertex is read, and reads, as one of the two that is not swapped.
Tower::Tower(const Structure& structure, const Json& inner, const std::string& claim) {
  std::map<std::vector<std::int64_t>, std::uint64_t> names;
  if (inner.size() > 0 && start_short(structure) && divide(inner[0], names, claim)) {
    for (std::size_t stage = 1; stage < inner.size(); ++stage) divide(inner[stage], names, claim);
    return;
  }
  *this = Tower(structure, structure.colour);
  shrink({this}, inner, claim);
}

bool Tower::start_short(const Structure& structure) {
  std::vector<const Relation*> relations;
  for (const Structure::Shown& shown : structure.relations) relations.push_back(shown.relation);
  const std::optional<Stretches> stretches = find_stretches(structure.vertices, structure.vertices, relations, &structure);
  if (!stretches) return false;
  Structure kept;
  kept.vertices = static_cast<Vertex>(stretches->first.size());
  for (std::size_t r = 0; r < relations.size(); ++r) {
    Structure::Shown& shown = kept.relations.emplace_back(Structure::Shown{&stretches->relations[r], {}});
    const std::vector<bool>& visible = structure.relations[r].visible;
    for (Vertex k = 0; !visible.empty() && k < kept.vertices; ++k) shown.visible.push_back(visible[stretches->first[k]]);
  }
  for (const Vertex x : stretches->first) graph.colour.push_back(structure.colour[x]);
  graph.vertices = kept.vertices;
  begin_ = stretches->first;
  begin_.push_back(structure.vertices);
  fibre_.resize(structure.vertices);
  std::iota(fibre_.begin(), fibre_.end(), Vertex{0});
  lead_ = stretches->lead;
  add_rows(kept);
  return true;
}

void Tower::add_rows(const Structure& structure) {
  std::vector<Run> row;
  for (const Structure::Shown& shown : structure.relations) {
    graph.add_table();
    for (Vertex i = 0, end = 0; i < graph.vertices; i = end) {
      const bool visible = shown.visible.empty() || shown.visible[i];
      const Vertex until = shown.relation->same_row_until(i);
      for (end = i + 1; end < until && (shown.visible.empty() || shown.visible[end] == visible); ++end) {}
      if (visible) shown.relation->row(i, row);
      graph.add_rows(row, visible, end - i);
    }
  }
}

/// False when a stretch does not become one class.
bool Tower::divide(const Json& inner, std::map<std::vector<std::int64_t>, std::uint64_t>& names, const std::string& claim) {
  graph.complete();
  const Classes classes = find_classes(graph, lead_, inner, claim);
  if (!lead_.empty()) {
    std::vector<std::size_t> class_of(graph.vertices);
    for (std::size_t k = 0; k < classes.members.size(); ++k) {
      for (const Vertex x : classes.members[k]) class_of[x] = k;
    }
    for (Vertex x = 0; x < graph.vertices; ++x) {
      if (class_of[x] != class_of[lead_[x]]) return false;
    }
    lead_.clear();
  }
  const std::size_t tables = graph.tables.size();
  Graph quotient;
  quotient.vertices = static_cast<Vertex>(classes.members.size());
  std::vector<std::uint32_t> begin{0}, rank(std::size_t{graph.vertices} + 1, 0);
  std::vector<Vertex> fibres;
  for (std::uint32_t k = 0; k < classes.members.size(); ++k) {
    const std::vector<Vertex>& members = classes.members[k];
    for (const Vertex x : members) fibres.insert(fibres.end(), fibre_.begin() + begin_[x], fibre_.begin() + begin_[x + 1]);
    // All members have fibres of one length, except that the second of a stretch stands for the rest of it.
    const std::size_t length = begin_[members[0] + 1] - begin_[members[0]], size = (fibres.size() - begin.back()) / length;
    std::vector<std::int64_t> tuple{static_cast<std::int64_t>(graph.colour[members[0]]), static_cast<std::int64_t>(size)};
    for (std::size_t r = 0; r < tables; ++r) tuple.insert(tuple.end(), {classes.inner[k * tables + r], graph.find_colour(r, members[0], members[0])});
    quotient.colour.push_back(names.try_emplace(std::move(tuple), names.size()).first->second);
    if (members.size() > 1) twins.push_back({{fibres.begin() + begin.back(), fibres.end()}, length});
    begin.push_back(static_cast<std::uint32_t>(fibres.size()));
    rank[members[0] + 1] = 1;
  }
  std::partial_sum(rank.begin(), rank.end(), rank.begin());  // representatives below x
  std::vector<Vertex> quotient_of(graph.vertices, none);  // where x is a representative
  for (Vertex x = 0; x < graph.vertices; ++x) {
    if (rank[x + 1] > rank[x]) quotient_of[x] = rank[x];
  }
  EvenSteps even(std::move(quotient_of));
  for (std::size_t r = 0; r < tables; ++r) {
    const Table& table = graph.tables[r];
    quotient.add_table();
    constexpr Threshold<Vertex> long_run{16, 2, "tower runs"};
    std::vector<Run> mapped;
    const auto push = [&](Vertex first, Vertex last, std::int64_t colour) {  // arithmetic progressions of single vertices are joined again
      if (!mapped.empty() && first == last && mapped.back().colour == colour && mapped.back().last < first) {
        Run& tail = mapped.back();
        const Vertex gap = first - tail.last;
        if (tail.first == tail.last || tail.step == gap) {
          tail.step = gap;
          tail.last = last;
          return;
        }
        if (tail.step > 1 && tail.last - tail.first == tail.step) {  // two vertices far apart: the second may begin a progression
          const Vertex second = std::exchange(tail.last, tail.first);
          tail.step = 1;
          mapped.push_back({second, last, gap, colour, 0});
          return;
        }
      }
      mapped.push_back({first, last, 1, colour, 0});
    };
    for (Vertex k = 0; k < quotient.vertices; ++k) {
      const Vertex x = classes.members[k][0];
      const std::int64_t inside = classes.inner[k * tables + r];
      bool inner_read = inside < 0;  // k itself is read with the inner colour
      mapped.clear();
      for (const Span& span : table.rows.of(x)) {
        const Run run = graph.run(span);
        const bool whole = run.step == 1 && run.colour_step == 0;
        if (whole && rank[run.last + 1] > rank[run.first]) {
          const Vertex low = rank[run.first], high = rank[run.last + 1] - 1;
          const bool around = low <= k && k <= high, cut = around && run.colour != inside;
          inner_read = inner_read || (around && !cut);
          if (!cut || k > low) push(low, cut ? k - 1 : high, run.colour);
          if (cut && k < high) push(k + 1, high, run.colour);
        }
        const std::vector<Vertex>* const until = whole || run.colour_step != 0 || run.size() < long_run ? nullptr : even.along(run.step);
        for (Vertex j = 0; !whole && j < run.size(); ++j) {
          const Vertex y = run.first + j * run.step;
          if (until != nullptr && rank[y + 1] == rank[y]) {  // those that follow and represent nothing are passed
            if ((*until)[y] > run.last) break;
            j += ((*until)[y] - y) / run.step - 1;
            continue;
          }
          if (until != nullptr && (*until)[y] > y) {
            // All of them are representatives, and their ranks are a progression: as one where k is not among them, or read as the others are.
            const Vertex z = std::min(run.last, (*until)[y]), low = rank[y], high = rank[z];
            const bool around = low <= k && k <= high && (k - low) % (rank[y + run.step] - low) == 0;
            if (z > y + run.step && (!around || run.colour == inside)) {
              inner_read = inner_read || around;
              mapped.push_back({low, high, rank[y + run.step] - low, run.colour, 0});
              j += (z - y) / run.step;
              continue;
            }
          }
          const std::int64_t colour = run.colour + j * run.colour_step;
          if (rank[y + 1] == rank[y] || (rank[y] == k && colour != inside)) continue;
          inner_read = inner_read || rank[y] == k;
          push(rank[y], rank[y], colour);
        }
      }
      for (std::size_t at = 0, end = mapped.size(); at < end; ++at) {  // two vertices are no progression
        if (mapped[at].step == 1 || mapped[at].size() > 2) continue;
        mapped.push_back({mapped[at].last, mapped[at].last, 1, mapped[at].colour, 0});
        mapped[at] = {mapped[at].first, mapped[at].first, 1, mapped[at].colour, 0};
      }
      if (!inner_read) mapped.push_back({k, k, 1, inside, 0});
      if (!std::ranges::is_sorted(mapped, {}, &Run::first)) std::ranges::sort(mapped, {}, &Run::first);
      quotient.add_rows(mapped, table.visible[x], 1);
    }
  }
  graph = std::move(quotient);
  begin_ = std::move(begin);
  fibre_ = std::move(fibres);
  return true;
}

void Tower::shrink(const std::vector<Tower*>& towers, const Json& inner, const std::string& claim) {
  std::map<std::vector<std::int64_t>, std::uint64_t> names;
  for (const Json& stage : inner.array()) {
    for (Tower* tower : towers) tower->divide(stage, names, claim);
    for (const Tower* tower : towers) {
      if (tower->graph.vertices != towers.front()->graph.vertices) return;
    }
  }
}

}  // namespace checker

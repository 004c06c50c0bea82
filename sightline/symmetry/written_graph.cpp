#include "sightline/symmetry/written_graph.hpp"

#include <algorithm>
#include <utility>

#include "sightline/symmetry/near_order.hpp"
#include "sightline/symmetry/stretch_groups.hpp"
#include "sightline/symmetry/tower.hpp"

namespace sightline::symmetry {

namespace {

/// Smaller structures are read into bits (small_graph.hpp).
constexpr Vertex least_vertices = 1025;
constexpr std::uint64_t backward = 0x9e3779b97f4a7c15u;
/// Vertices that read fewer others do so in less time than they are sorted in.
constexpr std::uint64_t few_heads = 64;
/// Rounds of hashes, and those before different ones are counted first; where fewer than one vertex in `few_left` has a hash of its own by then, no more.
constexpr std::size_t most_rounds = 6, first_count = 3, few_left = 2;

/// Are the rows their own columns? Readers of x come in ascending order, as the heads of x do; the first difference is the last.
bool is_symmetric(const HeadLists& rows, Vertex n) {
  std::vector<std::uint32_t> next(rows.begin.begin(), rows.begin.end() - 1);
  for (Vertex i = 0; i < n; ++i) {
    for (const Vertex x : rows.of(i)) {
      const std::uint32_t place = next[x]++;
      if (place == rows.begin[x + 1] || rows.heads[place] != i) return false;
    }
  }
  return true;
}

/// Columns from rows.
HeadLists transpose(const HeadLists& rows, Vertex n) {
  HeadLists columns;
  columns.begin.assign(std::size_t{n} + 2, 0);
  for (const Vertex x : rows.heads) ++columns.begin[x + 2];
  for (Vertex v = 0; v < n; ++v) columns.begin[v + 2] += columns.begin[v + 1];
  columns.heads.resize(rows.heads.size());
  for (Vertex i = 0; i < n; ++i) {
    for (const Vertex x : rows.of(i)) columns.heads[columns.begin[x + 1]++] = i;
  }
  columns.begin.pop_back();
  return columns;
}

void find_loops(WrittenRelation& relation, Vertex n) {
  relation.loops.resize(n);
  for (Vertex v = 0; v < n; ++v) {
    const auto row = relation.rows.of(v);
    relation.loops[v] = std::binary_search(row.begin(), row.end(), v) ? 1 : 0;
  }
}

/// Are the lists of x and y the same once x stands in its own and y in its own, or neither does?
bool are_alike(const HeadLists& lists, Vertex x, Vertex y, bool own, std::vector<Vertex>& room) {
  const auto with_own = [&](Vertex v, std::vector<Vertex>& out) {
    const auto list = lists.of(v);
    const auto place = std::lower_bound(list.begin(), list.end(), v);
    out.insert(out.end(), list.begin(), place);
    if (own) out.push_back(v);
    out.insert(out.end(), place != list.end() && *place == v ? place + 1 : place, list.end());
  };
  room.clear();
  with_own(x, room);
  const std::size_t size = room.size();
  with_own(y, room);
  const auto middle = room.begin() + static_cast<std::ptrdiff_t>(size);
  return std::equal(room.begin(), middle, middle, room.end());
}

class Reader {
public:
  Reader(const Structure& structure, const Budget& budget) : structure_(structure), n_(structure.vertices), budget_(budget) {}

  [[nodiscard]] bool fits() {
    if (n_ < least_vertices || structure_.relations.empty() || structure_.relations.size() > most_plain_relations) return false;
    if (!structure_.vertex_colour.empty() && structure_.vertex_colour.size() != n_) return false;
    for (const VisibleRelation& relation : structure_.relations) {
      const bool plain = relation.relation != nullptr && relation.relation->vertex_count() == n_ && relation.visible.empty() && relation.relation->is_plain() &&
                         relation.relation->relative().kind == layout::RelativeKind::none;
      // Rows that many readers share are cheaper as they are.
      if (!plain || relation.relation->pattern().lists().size() * 2 <= n_) return false;
      counts_.push_back(relation.relation->pattern().arc_count());
      arcs_ += counts_.back();
    }
    return true;
  }

  /// Do colours and the numbers of neighbours tell all vertices apart, where arcs are so many that writing them down is the dearer way? (Triangles.)
  [[nodiscard]] bool is_rigid_by_degrees() const {
    if (arcs_ < few_heads * n_) return false;
    std::vector<std::uint64_t> key(n_, 0);
    if (!structure_.vertex_colour.empty()) key = structure_.vertex_colour;
    std::vector<std::uint32_t> readers(n_), ends(std::size_t{n_} + 1);  // of single vertices, and of intervals as changes at their ends
    std::vector<layout::Run> row;
    for (const VisibleRelation& relation : structure_.relations) {
      const layout::Pattern& pattern = relation.relation->pattern();
      readers.assign(readers.size(), 0);
      ends.assign(ends.size(), 0);
      for (Vertex i = 0; i < n_; ++i) {
        budget_.poll();
        const auto written = pattern.written(pattern.lists()[pattern.list_of(i)]);
        std::uint64_t size = written.size();
        for (const Vertex y : written) ++readers[y];
        if (written.empty()) pattern.row(i, row);
        else row.clear();
        for (const layout::Run& run : row) {
          size += run.size();
          if (run.step == 1) {
            ++ends[run.first];
            --ends[run.last + 1];
            continue;
          }
          for (std::uint64_t y = run.first; y <= run.last; y += run.step) ++readers[y];
        }
        key[i] = field::mix(key[i], size);
      }
      std::uint32_t open = 0;
      for (Vertex x = 0; x < n_; ++x) {
        open += ends[x];
        key[x] = field::mix(key[x], readers[x] + open);
      }
    }
    std::sort(key.begin(), key.end());
    return std::adjacent_find(key.begin(), key.end()) == key.end();
  }

  [[nodiscard]] std::vector<WrittenRelation> read() {
    budget_.ask(arcs_ * 8 + structure_.relations.size() * n_ * 24);
    std::vector<WrittenRelation> relations;
    for (const VisibleRelation& relation : structure_.relations) {
      WrittenRelation& read = relations.emplace_back();
      HeadLists& rows = read.rows;
      rows.begin.reserve(std::size_t{n_} + 1);
      rows.begin.push_back(0);
      rows.heads.reserve(counts_[relations.size() - 1]);
      bool coloured = false;
      for (Vertex i = 0; i < n_; ++i) {
        budget_.poll();
        append_row(relation.relation->pattern(), i, rows.heads);
        if (!coloured && !rows.heads.empty()) {
          coloured = true;
          read.colour = relation.relation->colour(i, rows.heads.back());
        }
        rows.begin.push_back(static_cast<std::uint32_t>(rows.heads.size()));
      }
      find_loops(read, n_);
    }
    return relations;
  }

  /// The symmetry engine's prefers_arcs, without counting all runs where some are enough.
  [[nodiscard]] bool prefers_arcs() const {
    std::uint64_t spans = 0;
    if (arcs_are_cheaper(arcs_, spans)) return true;
    for (const VisibleRelation& relation : structure_.relations) {
      const layout::Pattern& pattern = relation.relation->pattern();
      for (Vertex i = 0; i < n_; ++i) {
        const layout::Pattern::RunList& list = pattern.lists()[pattern.list_of(i)];
        layout::split_into_runs(pattern.written(list), [&spans](Vertex, Vertex, Vertex) { ++spans; });
        spans += list.runs_count + list.shared_count;
        if (arcs_are_cheaper(arcs_, spans)) return true;
      }
    }
    return false;
  }

private:
  void append_row(const layout::Pattern& pattern, Vertex i, std::vector<Vertex>& heads) {
    const auto written = pattern.written(pattern.lists()[pattern.list_of(i)]);
    if (!written.empty()) {
      heads.insert(heads.end(), written.begin(), written.end());
      return;
    }
    pattern.row(i, row_);
    const auto from = static_cast<std::ptrdiff_t>(heads.size());
    for (const layout::Run& run : row_) {
      for (std::uint64_t x = run.first; x <= run.last; x += run.step) heads.push_back(static_cast<Vertex>(x));
    }
    // Runs with steps may lie one in the other.
    if (!std::is_sorted(heads.begin() + from, heads.end())) std::sort(heads.begin() + from, heads.end());
  }

  const Structure& structure_;
  Vertex n_;
  const Budget& budget_;
  std::vector<layout::Run> row_;
  std::uint64_t arcs_ = 0;
  std::vector<std::uint64_t> counts_;  ///< of arcs, by relation
};

}  // namespace

WrittenGraph::WrittenGraph(const Structure& structure, std::vector<WrittenRelation> relations)
    : vertices_(structure.vertices), vertex_colour_(structure.vertex_colour), relations_(std::move(relations)) {
  if (vertex_colour_.empty()) vertex_colour_.assign(vertices_, 0);
}

std::optional<WrittenGraph> WrittenGraph::read(const Structure& structure, const Budget& budget) {
  Reader reader(structure, budget);
  if (!reader.fits() || !reader.prefers_arcs()) return std::nullopt;
  return WrittenGraph(structure, reader.read());
}

void WrittenGraph::add_columns(const Budget& budget) {
  for (WrittenRelation& relation : relations_) {
    budget.poll();
    relation.symmetric = is_symmetric(relation.rows, vertices_);
    if (!relation.symmetric) relation.columns = transpose(relation.rows, vertices_);
  }
}

bool WrittenGraph::is_surely_rigid(const Budget& callers_budget) const {
  const Budget budget = callers_budget;
  const Vertex n = vertices_;
  budget.ask(std::uint64_t{n} * 32);
  const std::uint64_t listed = count_listed();
  std::vector<std::uint64_t> hash(n), next(n), sorted;
  for (Vertex x = 0; x < n; ++x) hash[x] = make_initial_key(x);
  for (const WrittenRelation& relation : relations_) {
    std::vector<std::uint32_t> readers(n, 0);
    for (const Vertex y : relation.rows.heads) ++readers[y];
    for (Vertex x = 0; x < n; ++x) hash[x] = field::mix(hash[x], readers[x]);
  }
  // Where all vertices are alike so far, and read equally many, they stay alike.
  const auto is_regular = [&](const WrittenRelation& relation) {
    const auto& begin = relation.rows.begin;
    return std::all_of(begin.begin() + 1, begin.end(), [&, last = std::uint32_t{0}](std::uint32_t end) mutable { return end - std::exchange(last, end) == begin[1]; });
  };
  if (std::all_of(hash.begin(), hash.end(), [&](std::uint64_t h) { return h == hash.front(); }) && std::all_of(relations_.begin(), relations_.end(), is_regular)) return false;
  const auto count_different = [&] {
    sorted = hash;
    std::sort(sorted.begin(), sorted.end());
    return static_cast<std::size_t>(std::unique(sorted.begin(), sorted.end()) - sorted.begin());
  };
  for (std::size_t round = 1, before = 0; round <= most_rounds; ++round) {
    for (const WrittenRelation& relation : relations_) {
      const std::uint64_t* const values = hash.data();
      for (Vertex x = 0; x < n; ++x) {
        std::uint64_t sum = 0;
        for (const Vertex y : relation.rows.of(x)) sum += values[y];
        next[x] = mix(values[x] + backward * sum);
      }
      hash.swap(next);
    }
    budget.poll();
    // Where vertices read many others, a round costs more than the count.
    if (round < first_count && listed < few_heads * n) continue;
    const std::size_t different = count_different();
    if (different == n) return true;
    // Symmetric structures stand still soon, and meshes take as many rounds as they are wide.
    if (different == before || different * few_left < n) return false;
    before = different;
  }
  return false;
}

std::uint64_t WrittenGraph::make_initial_key(Vertex v) const {
  InitialKey key(vertex_colour_[v]);
  for (const WrittenRelation& relation : relations_) key.add(true, relation.has_loop(v) ? relation.colour : -1);
  return key.value();
}

std::uint64_t WrittenGraph::count_listed() const {
  std::uint64_t listed = 0;
  for (const WrittenRelation& relation : relations_) listed += relation.rows.heads.size() + relation.columns.heads.size();
  return listed;
}

std::vector<std::vector<std::int64_t>> WrittenGraph::list_inner_colours() const {
  std::vector<std::vector<std::int64_t>> lists;
  for (const WrittenRelation& relation : relations_) {
    lists.emplace_back();
    if (!relation.rows.heads.empty()) lists.back().push_back(relation.colour);
  }
  return lists;
}

struct WrittenGraph::Proposal {
  std::vector<std::uint32_t> group;              ///< no_group: a class of its own
  std::vector<std::vector<std::int64_t>> inner;  ///< [relation][vertex]
};

std::optional<WrittenGraph::Proposal> WrittenGraph::propose(const Budget& budget) const {
  const Vertex n = vertices_;
  std::vector<std::uint64_t> value(n), cleared(n), key(n);
  for (Vertex x = 0; x < n; ++x) {
    value[x] = mix(0x7715 + std::uint64_t{x});
    key[x] = make_initial_key(x);
  }
  std::vector<Vertex> left(n), rest;  // vertices that may still have twins
  for (Vertex x = 0; x < n; ++x) left[x] = x;
  Proposal proposal{std::vector<std::uint32_t>(n, no_group), {}};
  std::vector<Stretch> stretches;
  for (const WrittenRelation& relation : relations_) {
    std::vector<std::int64_t>& inner = proposal.inner.emplace_back(n, -1);
    for (const Vertex x : left) {
      budget.poll();
      std::uint64_t row = 0, column = 0;
      for (const Vertex y : relation.rows.of(x)) row += value[y];
      if (relation.symmetric) column = row;
      else for (const Vertex y : relation.columns.of(x)) column += value[y];
      cleared[x] = row + backward * column - (relation.has_loop(x) ? value[x] * (1 + backward) : 0);
    }
    std::uint32_t groups = 0;
    std::fill(proposal.group.begin(), proposal.group.end(), no_group);
    for (const bool own : {false, true}) {
      stretches.clear();
      for (const Vertex x : left) {
        if (proposal.group[x] == no_group) stretches.push_back({field::mix(cleared[x] + (own ? value[x] * (1 + backward) : 0), key[x]), x, x + 1});
      }
      for_each_group(stretches, [&](std::size_t begin, std::size_t end) {
        for (std::size_t k = begin; k < end; ++k) {
          proposal.group[stretches[k].begin] = groups;
          inner[stretches[k].begin] = own ? relation.colour : -1;
        }
        ++groups;
      });
    }
    if (groups == 0) return std::nullopt;
    rest.clear();
    for (const Vertex x : left) {
      if (proposal.group[x] == no_group) continue;
      rest.push_back(x);
      key[x] = proposal.group[x];
    }
    left.swap(rest);
  }
  return proposal;
}

bool WrittenGraph::are_twins(Vertex x, Vertex y, const std::int64_t* inner) const {
  if (vertex_colour_[x] != vertex_colour_[y]) return false;
  std::vector<Vertex> room;
  for (std::size_t r = 0; r < relations_.size(); ++r) {
    const WrittenRelation& relation = relations_[r];
    const bool own = inner[r] >= 0;
    if (relation.has_loop(x) != relation.has_loop(y) || !are_alike(relation.rows, x, y, own, room)) return false;
    if (!relation.symmetric && !are_alike(relation.columns, x, y, own, room)) return false;
  }
  return true;
}

std::optional<TwinClasses> WrittenGraph::find_twins(const Budget& budget) const {
  const std::optional<Proposal> proposal = propose(budget);
  if (!proposal) return std::nullopt;
  const std::size_t relations = relations_.size();
  TwinClasses classes = make_twin_classes(proposal->group, relations, [&](Vertex x, std::size_t r) {
    if (proposal->group[x] != no_group) return proposal->inner[r][x];
    return relations_[r].has_loop(x) ? relations_[r].colour : -1;
  });
  for (std::uint32_t k = 0; k < classes.size(); ++k) {
    const Vertex x = classes.members[classes.begin[k]];
    for (std::uint32_t m = classes.begin[k] + 1; m < classes.begin[k + 1]; ++m) {
      budget.poll();
      // A collision of hashes: without a quotient everything is still right.
      if (!are_twins(x, classes.members[m], classes.inner.data() + k * relations)) return std::nullopt;
    }
  }
  return classes;
}

WrittenGraph WrittenGraph::make_quotient(const TwinClasses& classes, const std::vector<std::uint32_t>& sizes, ColourNames& names, const Budget& budget) const {
  const std::size_t relations = relations_.size();
  WrittenGraph quotient;
  quotient.vertices_ = classes.size();
  std::vector<std::int64_t> tuple;
  std::vector<std::uint8_t> stays(vertices_, 0);
  for (std::uint32_t k = 0; k < classes.size(); ++k) {
    const Vertex x = classes.members[classes.begin[k]];
    stays[x] = 1;
    tuple.assign({static_cast<std::int64_t>(vertex_colour_[x]), sizes[k]});
    for (std::size_t r = 0; r < relations; ++r) {
      tuple.push_back(classes.inner[k * relations + r]);
      tuple.push_back(relations_[r].has_loop(x) ? relations_[r].colour : -1);
    }
    quotient.vertex_colour_.push_back(names.name(tuple));
  }
  for (std::size_t r = 0; r < relations; ++r) {
    WrittenRelation& relation = quotient.relations_.emplace_back();
    relation.colour = relations_[r].colour;
    relation.rows.begin.push_back(0);
    std::vector<Vertex>& heads = relation.rows.heads;
    heads.reserve(relations_[r].rows.heads.size());
    for (std::uint32_t k = 0; k < classes.size(); ++k) {
      budget.poll();
      const Vertex x = classes.members[classes.begin[k]];
      // Classes are numbered by their least member, so the list stays ascending.
      bool own = classes.inner[k * relations + r] >= 0;
      for (const Vertex y : relations_[r].rows.of(x)) {
        if (stays[y] == 0 || y == x) continue;
        if (own && y > x) {
          heads.push_back(k);
          own = false;
        }
        heads.push_back(classes.class_of[y]);
      }
      if (own) heads.push_back(k);
      relation.rows.begin.push_back(static_cast<std::uint32_t>(heads.size()));
    }
    find_loops(relation, quotient.vertices_);
  }
  return quotient;
}

std::optional<TwinTower> TwinTower::make_written(const Structure& structure, const Budget& budget) {
  Reader reader(structure, budget);
  if (!reader.fits()) return std::nullopt;
  RunGraph start;
  start.vertices = structure.vertices;
  TwinTower tower(std::move(start));
  tower.is_rigid_ = reader.is_rigid_by_degrees();
  if (tower.is_rigid_) return tower;
  if (!reader.prefers_arcs()) return std::nullopt;
  WrittenGraph graph(structure, reader.read());
  tower.is_rigid_ = graph.is_surely_rigid(budget);
  if (tower.is_rigid_) return tower;
  graph.add_columns(budget);
  ColourNames names;
  while (const std::optional<TwinClasses> classes = graph.find_twins(budget)) {
    tower.inner_colours_.push_back(graph.list_inner_colours());
    const std::vector<std::uint32_t> sizes = tower.join(*classes);
    graph = graph.make_quotient(*classes, sizes, names, budget);
    graph.add_columns(budget);
  }
  tower.graph_ = graph.make_graph(budget);
  if (const auto order = find_near_order(*tower.graph_.arcs, tower.graph_.vertices, budget)) tower.renumber(*order, budget);
  return tower;
}

}  // namespace sightline::symmetry

#include "sightline/symmetry/written_graph.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/near_order.hpp"
#include "sightline/symmetry/stretch_groups.hpp"
#include "sightline/symmetry/tower.hpp"

namespace sightline::symmetry {

namespace {

/// Smaller structures are read into bits (small_graph.hpp).
constexpr Threshold<Vertex> least_vertices{1025, 2, "written graphs"};
constexpr std::uint64_t backward = 0x9e3779b97f4a7c15u;
/// Vertices that read fewer others do so in less time than they are sorted in.
constexpr Threshold<std::uint64_t> few_heads{64, 1, "written graphs"};
/// Rounds of hashes, and those before different ones are counted first; where fewer than one vertex in `few_left` has a hash of its own by then, no more.
constexpr std::size_t most_rounds = 6, first_count = 3, few_left = 2;
/// One vertex in so many is looked at to find out whether a round is worth while.
constexpr Threshold<Vertex> asked{16, 1, "written graphs"};

/// Says of the row that was added last, whether its reader reads itself.
void add_loop(WrittenRelation& relation) {
  const auto v = static_cast<Vertex>(relation.loops.size());
  const auto row = relation.rows.of(v);
  relation.loops.push_back(std::binary_search(row.begin(), row.end(), v) ? 1 : 0);
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

/// Are fewer than one in `few_left` of these hashes different ones? By their last bits, which hardly ever says so of more.
bool are_mostly_alike(const std::vector<std::uint64_t>& hashes) {
  const std::size_t bits = std::bit_ceil(hashes.size() * 8);
  std::vector<bool> met(bits, false);
  std::size_t different = 0;
  for (const std::uint64_t hash : hashes) {
    const std::size_t place = hash & (bits - 1);
    different += met[place] ? 0 : 1;
    met[place] = true;
  }
  return different * few_left < hashes.size();
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
  [[nodiscard]] bool is_rigid_by_degrees() {
    if (arcs_ < few_heads * n_ || are_sizes_alike()) return false;
    std::vector<std::uint64_t> key(n_, 0);
    if (!structure_.vertex_colour.empty()) key = structure_.vertex_colour;
    std::vector<std::uint32_t> ends(std::size_t{n_} + 1);  // of intervals, as changes at their ends
    std::vector<layout::Run> row;
    for (const VisibleRelation& relation : structure_.relations) {
      const layout::Pattern& pattern = relation.relation->pattern();
      std::vector<std::uint32_t>& readers = readers_.emplace_back(n_, 0);
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
        readers[x] += open;
        key[x] = field::mix(key[x], readers[x]);
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
      const layout::Pattern& pattern = relation.relation->pattern();
      rows.begin.reserve(std::size_t{n_} + 1);
      rows.begin.push_back(0);
      read.loops.reserve(n_);
      rows.heads.reserve(counts_[relations.size() - 1]);
      for (Vertex i = 0; i < n_; ++i) {
        if (i % 64 == 0) budget_.poll();
        // Lists may stand in any order.
        if (n_ - i > rows_ahead) prefetch_heads(pattern.written(pattern.lists()[pattern.list_of(i + rows_ahead)]).data());
        append_row(pattern, i, rows.heads);
        rows.begin.push_back(static_cast<std::uint32_t>(rows.heads.size()));
        add_loop(read);
      }
      if (!rows.heads.empty()) {
        const auto reader = std::upper_bound(rows.begin.begin(), rows.begin.end(), 0u) - rows.begin.begin() - 1;
        read.colour = relation.relation->colour(static_cast<Vertex>(reader), rows.heads.front());
      }
      if (!readers_.empty()) read.readers = std::move(readers_[relations.size() - 1]);
    }
    return relations;
  }

  /// The symmetry engine's prefers_arcs, without counting all runs where some are enough. Lists in the order in which they are stored.
  [[nodiscard]] bool prefers_arcs() const {
    std::uint64_t spans = 0;
    if (arcs_are_cheaper(arcs_, spans)) return true;
    for (const VisibleRelation& relation : structure_.relations) {
      const layout::Pattern& pattern = relation.relation->pattern();
      std::vector<std::uint32_t> readers(pattern.lists().size(), 0);
      for (Vertex i = 0; i < n_; ++i) ++readers[pattern.list_of(i)];
      for (std::size_t k = 0; k < readers.size(); ++k) {
        const layout::Pattern::RunList& list = pattern.lists()[k];
        std::uint64_t runs = list.runs_count + list.shared_count;
        layout::split_into_runs(pattern.written(list), [&runs](Vertex, Vertex, Vertex) { ++runs; });
        spans += runs * readers[k];
        if (arcs_are_cheaper(arcs_, spans)) return true;
      }
    }
    return false;
  }

private:
  /// Have rows, all of them written out, so few different sizes that readers, who take longer to count, hardly tell the vertices apart?
  [[nodiscard]] bool are_sizes_alike() const {
    std::vector<std::uint64_t> key(n_, 0);
    for (const VisibleRelation& relation : structure_.relations) {
      const layout::Pattern& pattern = relation.relation->pattern();
      for (Vertex i = 0; i < n_; ++i) {
        const layout::Pattern::RunList& list = pattern.lists()[pattern.list_of(i)];
        if (list.runs_count + list.shared_count != 0) return false;
        key[i] = field::mix(key[i], list.written_count);
      }
    }
    return are_mostly_alike(key);
  }

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
  std::vector<std::vector<std::uint32_t>> readers_;  ///< numbers of them, by relation, where they were counted
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
  std::vector<std::uint64_t> hash(n), next, sorted;
  for (Vertex x = 0; x < n; ++x) hash[x] = make_initial_key(x);
  for (const WrittenRelation& relation : relations_) {
    std::vector<std::uint32_t> counted;
    if (relation.readers.empty()) {
      counted.assign(n, 0);
      for (const Vertex y : relation.rows.heads) ++counted[y];
    }
    const std::vector<std::uint32_t>& readers = relation.readers.empty() ? counted : relation.readers;
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
  // Where a round is dear, some vertices say whether it is worth while.
  if (listed >= few_heads * n) {
    for (Vertex x = 0; x < n; x += asked) {
      std::uint64_t sum = hash[x];
      for (const WrittenRelation& relation : relations_) {
        for (const Vertex y : relation.rows.of(x)) sum += hash[y];
        sum = mix(sum);
      }
      sorted.push_back(sum);
    }
    if (are_mostly_alike(sorted)) return false;
  }
  next.resize(n);
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

std::optional<std::vector<Vertex>> WrittenGraph::find_near_order(const Budget& budget) const {
  std::vector<const HeadLists*> lists;
  for (const WrittenRelation& relation : relations_) {
    lists.push_back(&relation.rows);
    if (!relation.symmetric) lists.push_back(&relation.columns);
  }
  return symmetry::find_near_order(lists, vertices_, budget);
}

RunGraph WrittenGraph::make_graph(const std::optional<std::vector<Vertex>>& order, const Budget& budget) && {
  const std::uint64_t listed = count_listed();
  if (order) return make_plain_graph(vertices_, std::move(vertex_colour_), relations_, listed, budget, *order);
  std::vector<Vertex> rows;
  if (relations_.size() == 1 && relations_.front().symmetric) rows = std::move(relations_.front().rows.heads);
  return make_plain_graph(vertices_, std::move(vertex_colour_), relations_, listed, budget, {}, std::move(rows));
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
      const auto key_of = [&](Vertex x) { return field::mix(cleared[x] + (own ? value[x] * (1 + backward) : 0), key[x]); };
      LonelyKeys lonely(left.size());
      for (const Vertex x : left) lonely.add(key_of(x));
      stretches.clear();
      for (const Vertex x : left) {
        const std::uint64_t found = key_of(x);
        if (!lonely.has(found) && proposal.group[x] == no_group) stretches.push_back({found, x, x + 1});
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
  quotient.vertex_colour_ = name_classes(classes, vertex_colour_, sizes, relations, names, [this](Vertex x, std::size_t r) { return relations_[r].has_loop(x) ? relations_[r].colour : -1; });
  std::vector<std::uint8_t> stays(vertices_, 0);
  for (std::uint32_t k = 0; k < classes.size(); ++k) stays[classes.members[classes.begin[k]]] = 1;
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
      add_loop(relation);
    }
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
  const auto order = graph.find_near_order(budget);
  tower.graph_ = std::move(graph).make_graph(order, budget);
  if (order) tower.renumber(*order);
  return tower;
}

}  // namespace sightline::symmetry

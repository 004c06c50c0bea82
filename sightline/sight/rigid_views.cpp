// Views whose colours name what they point at (offsets of relative positions): one walk from the root numbers everything.
#include <algorithm>
#include <optional>

#include "sightline/layout/moving_rows.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

std::uint64_t fold(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
  hash = (hash ^ (hash >> 31)) * 0x7fb5d329728ea185u;
  return hash ^ (hash >> 29);
}

constexpr Vertex unnumbered = ~Vertex{0};

}  // namespace

bool RigidRows::write(const layout::Relation& relation, Vertex i, Row& row) {
  thread_local std::vector<layout::ColouredRun> runs;
  relation.row(i, runs);
  row.clear();
  std::optional<std::int64_t> own;  // the reader among what it reads: known, whatever has its colour (docs/theory.md 16.55)
  for (const layout::ColouredRun& run : runs) {
    std::int64_t colour = run.colour;
    for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
      if (j == i) {
        own = colour;
        continue;
      }
      if (!row.empty() && row.back().first == colour) return false;
      row.emplace_back(colour, static_cast<Vertex>(j));
    }
  }
  if (!std::is_sorted(row.begin(), row.end())) std::sort(row.begin(), row.end());
  if (std::adjacent_find(row.begin(), row.end(), [](const auto& a, const auto& b) { return a.first == b.first; }) != row.end()) return false;
  if (own) row.emplace(row.begin(), *own, i);
  return true;
}

const RigidRows::Row* RigidRows::find(const layout::Relation& relation, Vertex i, Row& spare) {
  auto at = std::find_if(rows_.begin(), rows_.end(), [&](const auto& entry) { return entry.first == &relation; });
  if (at == rows_.end()) at = rows_.emplace(rows_.end(), &relation, std::vector<std::unique_ptr<Row>>(relation.vertex_count()));
  std::unique_ptr<Row>& kept = at->second[i];
  if (kept) return kept.get();
  if (!write(relation, i, spare)) return nullptr;
  if (arcs_ + spare.size() > most_arcs) return &spare;
  arcs_ += spare.size();
  budget_.ask(spare.size() * sizeof(Row::value_type));
  kept = std::make_unique<Row>(spare);
  return kept.get();
}

// An isomorphism of rooted views maps root to root and, in every visible row, the vertex of a colour to the vertex of that
// colour. When no row repeats a colour, but for the reader's own, it is therefore forced, row by row, on everything in view: the breadth-first
// numbers below are preserved, and two views are isomorphic exactly when the walks write the same sequence.
std::optional<RootColours> find_rigid_colours(const Rooted& rooted, Vertex root, std::uint64_t most_work, const Budget& budget,
                                              RigidRows* cache) {
  const symmetry::Structure& structure = rooted.structure;
  RootColours result;
  std::vector<Vertex> number(structure.vertices, unnumbered), order{root};
  number[root] = 0;
  std::uint64_t written = fold(0x5157, structure.vertex_colour[root]);
  RigidRows own_rows(budget);
  RigidRows& rows = cache != nullptr ? *cache : own_rows;
  RigidRows::Row spare;
  for (std::size_t at = 0; at < order.size() && result.work < most_work; ++at) {
    budget.poll();
    const Vertex i = order[at];
    for (const symmetry::VisibleRelation& relation : structure.relations) {
      if (!relation.visible.empty() && !relation.visible[i]) {
        written = fold(written, 1);
        continue;
      }
      const RigidRows::Row* found = rows.find(*relation.relation, i, spare);
      if (found == nullptr) return std::nullopt;
      const RigidRows::Row& row = *found;
      result.work += row.size();
      written = fold(written, 2 + row.size());
      for (const auto& [colour, j] : row) {
        if (number[j] == unnumbered) {
          number[j] = static_cast<Vertex>(order.size());
          order.push_back(j);
          written = fold(written, structure.vertex_colour[j]);
        }
        written = fold(fold(written, static_cast<std::uint64_t>(colour)), number[j]);
      }
    }
  }
  result.hash.resize(structure.vertices);
  for (Vertex j = 0; j < structure.vertices; ++j) {
    if (number[j] == unnumbered && rooted.seen[j] && result.work < most_work) return std::nullopt;  // seen without a visible path
    result.hash[j] = number[j] == unnumbered ? structure.vertex_colour[j] : fold(0xc0de, number[j]);
  }
  result.invariant = written;
  result.discrete = true;
  return result;
}

bool is_rigid(const Layout& layout, const Budget& budget) {
  std::vector<layout::ColouredRun> runs;
  std::vector<std::int64_t> colours;
  const auto is_rigid_row = [&](const layout::Relation& relation, Vertex i) {
    budget.poll();
    relation.row(i, runs);
    colours.clear();
    for (const layout::ColouredRun& run : runs) {
      const bool has_own = run.first <= i && i <= run.last && (i - run.first) % run.step == 0;
      if (run.colour_step == 0 && run.size() > (has_own ? 2u : 1u)) return false;
      if (runs.size() == 1) break;  // one run whose colours move never repeats one
      for (Vertex k = 0; k < run.size(); ++k) {
        if (run.first + k * run.step != i) colours.push_back(run.colour + k * run.colour_step);
      }
    }
    std::sort(colours.begin(), colours.end());
    return std::adjacent_find(colours.begin(), colours.end()) == colours.end();
  };
  return std::all_of(layout.relations.begin(), layout.relations.end(), [&](const layout::Relation& relation) {
    const bool plain = relation.relative().kind == layout::RelativeKind::none;
    return layout::visit_stretches(relation.pattern(), [&](Vertex begin, Vertex end, bool moves) {
      // Rows that move along with their readers repeat colours as the first one does, with the reader in the same place.
      if (plain && moves) return is_rigid_row(relation, begin);
      for (Vertex i = begin; i < end; ++i) {
        if (!is_rigid_row(relation, i)) return false;
      }
      return true;
    });
  });
}

}  // namespace sightline::sight

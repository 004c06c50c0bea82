#include "sightline/symmetry/shared_rows.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "sightline/base/threshold.hpp"
#include "sightline/symmetry/refinement.hpp"

namespace sightline::symmetry {

namespace {

constexpr Vertex readers_per_row = 8;  // never low: structures with many different rows are searched as written graphs, without named rows
constexpr Vertex no_row = NamedRows::hidden;

/// The different rows of a relation, by reader; equal are those that hold the same vertices in the same colours, however they are cut.
class DifferentRows {
public:
  DifferentRows(const SpanLists& rows, Vertex vertices, const Budget& budget) : rows_(rows), vertices_(vertices), budget_(budget) {}

  std::vector<std::uint32_t> of;   ///< by reader, no_row where the row is hidden
  std::vector<Vertex> readers;     ///< the first of each row

  /// None of them when there are too many.
  void find(const std::vector<std::uint8_t>& visible) {
    find_few(visible);
    sums_.clear();
    if (readers.size() * readers_per_row > vertices_ || walks_too_far()) readers.clear();
  }

private:
  /// Runs whose colour changes are gone through: rows that name offsets differ from reader to reader, and to show that of an eighth of them is a square of the vertices.
  [[nodiscard]] bool walks_too_far() const { return walked_ > 64 * std::uint64_t{vertices_}; }

  void find_few(const std::vector<std::uint8_t>& visible) {
    of.assign(vertices_, no_row);
    std::vector<std::uint32_t> by_place(rows_.spans.size() + 1, no_row);  // the last for rows without spans
    std::unordered_map<std::uint64_t, std::uint32_t> last_alike;
    std::vector<std::uint32_t> alike_before;  // by row: another one of its print
    for (Vertex v = 0; v < vertices_; ++v) {
      budget_.poll();
      if (visible[v] == 0) continue;
      std::uint32_t& known = by_place[rows_.begin[v] == rows_.end[v] ? rows_.spans.size() : rows_.begin[v]];
      if (known == no_row) {
        std::uint32_t& last = last_alike.try_emplace(print(v), no_row).first->second;
        known = last;
        while (known != no_row && !are_equal(readers[known], v)) known = alike_before[known];
        if (known == no_row) {
          known = static_cast<std::uint32_t>(readers.size());
          alike_before.push_back(last);
          last = known;
          readers.push_back(v);
        }
      }
      of[v] = known;
      if (readers.size() * readers_per_row > vertices_ || walks_too_far()) return;
    }
  }

  /// The sum of random numbers over members, weighed by colour: a function of the set.
  std::uint64_t print(Vertex v) {
    std::uint64_t sum = 0;
    for (const Span* span = rows_.list_begin(v); span != rows_.list_end(v); ++span) {
      const std::vector<std::uint64_t>* const sums = span->slope == 0 ? find_sums(span->step) : nullptr;
      if (sums != nullptr) {
        sum += weigh(span->base) * ((*sums)[std::size_t{span->last} + span->step] - (*sums)[span->first]);
        continue;
      }
      if (span->slope != 0) walked_ += (span->last - span->first) / span->step + 1;
      for (std::uint64_t x = span->first; x <= span->last; x += span->step) sum += weigh(span->colour(static_cast<Vertex>(x))) * field::mix(x);
    }
    return sum;
  }

  static std::uint64_t weigh(std::int64_t colour) { return field::mix(static_cast<std::uint64_t>(colour)) | 1; }

  /// sums[x + step]: over the members of x's residue up to x. For a few steps only.
  const std::vector<std::uint64_t>* find_sums(Vertex step) {
    constexpr Threshold<std::size_t> most_steps{3, 1, "shared row steps"};
    for (const auto& [known, sums] : sums_) {
      if (known == step) return &sums;
    }
    if (sums_.size() == most_steps) return nullptr;
    std::vector<std::uint64_t>& sums = sums_.emplace_back(step, std::vector<std::uint64_t>(std::size_t{vertices_} + step, 0)).second;
    for (std::size_t x = 0; x < vertices_; ++x) sums[x + step] = sums[x] + field::mix(x);
    return &sums;
  }

  bool are_equal(Vertex a, Vertex b) {
    const auto same = [](const Span& x, const Span& y) { return x.first == y.first && x.last == y.last && x.step == y.step && x.slope == y.slope && x.base == y.base; };
    if (std::equal(rows_.list_begin(a), rows_.list_end(a), rows_.list_begin(b), rows_.list_end(b), same)) return true;
    std::vector<ColouredRun> left, right;
    for (const Span* span = rows_.list_begin(a); span != rows_.list_end(a); ++span) left.push_back(to_run(*span));
    for (const Span* span = rows_.list_begin(b); span != rows_.list_end(b); ++span) right.push_back(to_run(*span));
    canonicalise(left);
    canonicalise(right);
    return left == right;
  }

  const SpanLists& rows_;
  Vertex vertices_;
  const Budget& budget_;
  std::uint64_t walked_ = 0;
  std::vector<std::pair<Vertex, std::vector<std::uint64_t>>> sums_;
};

}  // namespace

std::optional<NamedRows> name_shared_rows(const RunGraph& graph, const Budget& budget, Vertex least_vertices) {
  const Vertex n = graph.vertices;
  if (n < least_vertices) return std::nullopt;
  std::vector<DifferentRows> different;
  Vertex all = n;
  for (const RunRelation& relation : graph.relations) {
    DifferentRows& rows = different.emplace_back(relation.rows, n, budget);
    rows.find(relation.visible);
    all += static_cast<Vertex>(rows.readers.size());
  }
  if (all == n) return std::nullopt;
  // Colours: those there were, by rank, then one for the rows of each relation.
  std::map<std::uint64_t, std::uint64_t> rank;
  for (const std::uint64_t colour : graph.vertex_colour) rank.try_emplace(colour, 0);
  std::uint64_t next = 0;
  for (auto& [colour, place] : rank) place = next++;
  std::vector<std::uint64_t> colours, keys = compute_initial_keys(graph);
  for (const std::uint64_t colour : graph.vertex_colour) colours.push_back(rank[colour]);
  for (std::size_t r = 0; r < different.size(); ++r) {
    colours.insert(colours.end(), different[r].readers.size(), next + r);
    keys.insert(keys.end(), different[r].readers.size(), field::mix(0x5a4e, r));
  }
  budget.ask(std::uint64_t{all} * 16);
  RunGraphBuilder builder(all, std::move(colours), budget);
  std::vector<ColouredRun> row;
  const auto add_own = [&](const RunRelation& relation, Vertex v) {
    row.clear();
    for (const Span* span = relation.rows.list_begin(v); span != relation.rows.list_end(v); ++span) row.push_back(to_run(*span));
    builder.add_row(row, relation.visible[v] != 0);
  };
  Vertex first = n;  // vertex of the relation's first row
  for (std::size_t r = 0; r < different.size(); ++r) {
    const RunRelation& relation = graph.relations[r];
    const DifferentRows& rows = different[r];
    const bool named = !rows.readers.empty();
    // Of one colour with the rest where there is one, so that a row read by its members is as symmetric as it was.
    const std::int64_t colour = relation.rows.spans.empty() ? 0 : relation.rows.spans.front().colour(relation.rows.spans.front().first);
    builder.begin_relation();
    for (Vertex v = 0; v < n; ++v) {
      budget.poll();
      if (!named) {
        add_own(relation, v);
        continue;
      }
      row.clear();
      if (rows.of[v] != no_row) row.push_back({first + rows.of[v], first + rows.of[v], 1, colour, 0});
      builder.add_row(row, rows.of[v] != no_row);
    }
    const auto count = static_cast<Vertex>(rows.readers.size());
    for (Vertex v = n; v < all; ++v) {
      if (v >= first && v < first + count) {
        add_own(relation, rows.readers[v - first]);
        continue;
      }
      row.clear();
      builder.add_row(row, true);
    }
    first += count;
  }
  NamedRows result{builder.take(), n, {}};
  result.graph.initial_keys = std::move(keys);
  first = n;
  for (DifferentRows& rows : different) {
    if (rows.readers.empty()) continue;
    for (Vertex& row : rows.of) row += row == no_row ? 0 : first;
    first += static_cast<Vertex>(rows.readers.size());
    result.row_of.push_back(std::move(rows.of));
  }
  return result;
}

std::optional<MovedPairs> NamedRows::extend(MovedPairs moved) const {
  const std::size_t count = moved.size();
  for (std::size_t k = 0; k < count; ++k) {
    for (const std::vector<Vertex>& rows : row_of) {
      const Vertex from = rows[moved[k].first], to = rows[moved[k].second];
      if ((from == hidden) != (to == hidden)) return std::nullopt;
      if (from != to) moved.emplace_back(from, to);
    }
  }
  const auto added = moved.begin() + static_cast<std::ptrdiff_t>(count);
  std::sort(added, moved.end());
  moved.erase(std::unique(added, moved.end()), moved.end());
  // One image each, and the same rows.
  std::vector<Vertex> images;
  for (std::size_t k = count; k < moved.size(); ++k) images.push_back(moved[k].second);
  std::sort(images.begin(), images.end());
  for (std::size_t k = count; k < moved.size(); ++k) {
    if (images[k - count] != moved[k].first) return std::nullopt;
  }
  return moved;
}

}  // namespace sightline::symmetry

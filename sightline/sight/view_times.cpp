// What isomorphisms keep of each vertex alone, for all views at once.
#include <bit>

#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

/// What a row's arcs have in common whatever runs they are written in: how many they are, the sums of their colours and of the squares of these.
std::uint64_t describe(const std::vector<layout::ColouredRun>& row) {
  std::uint64_t count = 0, sum = 0, squares = 0;
  for (const layout::ColouredRun& run : row) {
    const std::uint64_t size = run.size(), pairs = size * (size - 1) / 2, last = 2 * size - 1;
    const auto colour = static_cast<std::uint64_t>(run.colour), step = static_cast<std::uint64_t>(run.colour_step);
    count += size;
    sum += size * colour + pairs * step;
    squares += size * colour * colour + 2 * pairs * colour * step + (pairs % 3 == 0 ? pairs / 3 * last : pairs * (last / 3)) * step * step;
  }
  return mix(mix(mix(count) + sum) + squares);
}

std::vector<std::uint64_t> describe_rows(const layout::Relation& relation, Vertex vertices, const Budget& budget) {
  std::vector<std::uint64_t> described(vertices);
  std::vector<layout::ColouredRun> row;
  for (Vertex i = 0, end = 0; i < vertices; i = end) {
    budget.poll();
    end = relation.same_row_until(i);
    relation.row(i, row);
    std::fill(described.begin() + i, described.begin() + end, describe(row));
  }
  return described;
}

/// Which number the tokens of one hash have.
class NumberOfHash {
public:
  explicit NumberOfHash(std::size_t expected) : slots_(std::bit_ceil(4 * expected + 64), {0, 0}) {}

  /// False when tokens of this hash had another number before.
  bool agrees(std::uint64_t hash, Vertex number) {
    const std::uint64_t key = hash | 1;
    if (const auto& last = slots_[find(key)]; last.first != 0) return last.second == number;
    if (2 * ++used_ > slots_.size()) grow();
    slots_[find(key)] = {key, number};
    return true;
  }

private:
  [[nodiscard]] std::size_t find(std::uint64_t key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = (key >> 7) & mask;
    while (slots_[at].first != 0 && slots_[at].first != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<std::pair<std::uint64_t, Vertex>> old(2 * slots_.size(), {0, 0});
    old.swap(slots_);
    for (const auto& slot : old) {
      if (slot.first != 0) slots_[find(slot.first)] = slot;
    }
  }

  std::vector<std::pair<std::uint64_t, Vertex>> slots_;
  std::size_t used_ = 0;
};

}  // namespace

bool do_times_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number, const Budget& budget) {
  constexpr std::uint64_t most_work = std::uint64_t{1} << 24;  // beyond this, comparing views by their classes is quicker
  const Vertex vertices = layout.vertices();
  if (layout.has_equal_registers() || std::uint64_t{roots.size()} * vertices > most_work) return false;
  const Booking booking(budget, (layout.relations.size() * 8 + 40) * std::uint64_t{vertices});
  std::vector<std::uint64_t> first(layout.relations.size(), 0);
  for (std::size_t q = layout.order.size(); q >= 1; --q) {
    for (const std::uint32_t r : layout.layer(q).relations) first[r] = q;
  }
  std::vector<std::vector<std::uint64_t>> rows;
  for (const layout::Relation& relation : layout.relations) rows.push_back(describe_rows(relation, vertices, budget));
  NumberOfHash known(layout.tokens);
  for (const Vertex a : roots) {
    budget.poll();
    const std::vector<std::int64_t> latest = compute_latest(layout, depth, a, budget);
    for (Vertex j = 0; j < layout.tokens; ++j) {
      if (latest[j] < 0) continue;
      const auto left = static_cast<std::uint64_t>(latest[j]);
      std::uint64_t hash = mix(mix(layout.vertex_colour[j]) + 2 * left + (j == a ? 1 : 0));
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (first[r] != 0 && left >= first[r]) hash = mix(hash ^ (rows[r][j] + r));
      }
      if (!known.agrees(hash, number[j])) return false;
    }
  }
  return true;
}

}  // namespace sightline::sight

// Layouts whose group shows without refinement: rows that go down and name all tokens, strided rows both ways (docs/theory.md 16.34).
#include <algorithm>
#include <vector>

#include "field.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

/// Rows that go down only: c(i) = hash of i's colour, its loops and, per relation, of what it reads below (arc colour, c(j)). When every seen
/// row counts, an isomorphism of views maps what i reads to what its image reads, so it preserves c; when all c differ, it moves nothing.
bool do_rows_name_tokens(const Layout& layout) {
  if (has_equal_registers(layout)) return false;
  std::vector<const Relation*> relations;  // of some layer
  for (std::uint32_t r = 0; r < layout.relations.size(); ++r) {
    if (std::ranges::any_of(layout.order, [&](std::uint32_t l) { return std::ranges::find(layout.layers[l], r) != layout.layers[l].end(); })) relations.push_back(&layout.relations[r]);
  }
  const auto stir = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  std::vector<std::uint64_t> name(layout.vertices()), sum(std::size_t{layout.vertices()} + 1, 0);
  constexpr std::size_t most_steps = 4;
  constexpr Vertex long_run = 8;
  std::vector<std::pair<Vertex, std::vector<std::uint64_t>>> along;  // by step: the sum of the names of j, j - step, ..
  std::vector<Run> row;
  std::uint64_t coloured = 0;
  for (Vertex i = 0; i < layout.vertices(); ++i) {
    std::uint64_t value = stir(layout.vertex_colour[i] + 1);
    for (const Relation* const relation : relations) {
      relation->row(i, row);
      std::uint64_t below = 0, loop = 0;
      for (const Run& run : row) {
        if (run.last > i) return false;
        const std::uint64_t end = std::min<std::uint64_t>(i, std::uint64_t{run.last} + 1);
        if (run.last == i) loop = stir(static_cast<std::uint64_t>(run.colour + run.colour_step * std::int64_t{run.size() - 1}) + 7);
        if (run.step == 1 && run.colour_step == 0) {
          if (run.first < end) below += stir(static_cast<std::uint64_t>(run.colour) + 3) * (sum[end] - sum[run.first]);
          continue;
        }
        if (run.colour_step == 0 && run.size() >= long_run) {
          auto at = std::ranges::find(along, run.step, &std::pair<Vertex, std::vector<std::uint64_t>>::first);
          if (at == along.end() && along.size() < most_steps) {
            at = along.insert(at, {run.step, {name.begin(), name.begin() + i}});
            for (Vertex j = run.step; j < i; ++j) at->second[j] += at->second[j - run.step];
          }
          const std::uint64_t last = run.first + (end - 1 - run.first) / run.step * run.step;
          if (at != along.end()) {
            below += stir(static_cast<std::uint64_t>(run.colour) + 3) * (at->second[last] - (run.first < run.step ? 0 : at->second[run.first - run.step]));
            continue;
          }
        }
        // Rows of many colours are left to others: the library asks for no more of them than this.
        if (run.colour_step != 0 && (coloured += run.size()) > 512 * std::uint64_t{layout.vertices()}) return false;
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j < end; j += run.step, colour += run.colour_step) below += stir(static_cast<std::uint64_t>(colour) + 3) * name[j];
      }
      value = stir(value + stir(below + 11) + 13 * loop);
    }
    name[i] = value;
    sum[i + 1] = sum[i] + value;
    for (auto& [step, sums] : along) sums.push_back(value + (i < step ? 0 : sums[i - step]));
  }
  std::sort(name.begin(), name.end());
  return std::adjacent_find(name.begin(), name.end()) == name.end();
}

std::optional<ConfirmedGroup> find_named_group(const Layout& layout, const Json& evidence) {
  const auto is_empty = [&](const char* key) { return evidence[key].size() == 0; };
  if (layout.order.empty() || !is_empty("failed") || !is_empty("twins")) return std::nullopt;
  ConfirmedGroup found;
  found.group.degree = layout.tokens;
  if (is_empty("generators") && is_empty("path")) return do_rows_name_tokens(layout) ? std::optional(found) : std::nullopt;
  if (evidence["generators"].size() != 1 || evidence["path"].size() != 1 || evidence["path"][0].natural() != 0 || !has_reflection_only(layout)) return std::nullopt;
  Permutation given = Permutation::read(evidence["generators"][0], layout.tokens);
  for (Vertex x = 0; x < layout.tokens; ++x) {
    if (given(x) != layout.tokens - 1 - x) return std::nullopt;
  }
  found.group.generators.push_back(std::move(given));
  found.order->multiply(2);
  return found;
}

}  // namespace checker

#include "sightline/mixer/reference/rows.hpp"

#include <algorithm>

namespace sightline::mixer::reference {

std::vector<Arc> list_arcs(const Plan& plan, std::size_t relation, std::int64_t reader, const Existing& existing) {
  std::vector<Arc> arcs;
  if (!existing.reader(reader))
    return arcs;
  std::vector<layout::ColouredRun> row;
  plan.row(relation, reader, row);
  for (const layout::ColouredRun& run : row) {
    std::int64_t colour = run.colour;
    for (std::int64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step)
      if (existing.read(j))
        arcs.push_back({j, colour});
  }
  std::sort(arcs.begin(), arcs.end(), [](const Arc& a, const Arc& b) { return a.read < b.read; });
  return arcs;
}

} // namespace sightline::mixer::reference

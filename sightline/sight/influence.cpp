#include "sightline/sight/influence.hpp"

namespace sightline::sight {

using layout::Run;
using layout::Vertex;

namespace {

std::vector<Run> to_runs(const std::vector<bool>& members) {
  std::vector<Run> runs;
  for (Vertex v = 0; v < members.size(); ++v) {
    if (!members[v]) continue;
    if (!runs.empty() && runs.back().last + 1 == v) runs.back().last = v;
    else runs.push_back({v, v, 1, 1});
  }
  return runs;
}

bool meets(const Run& run, const std::vector<bool>& members, const std::vector<Vertex>& before) {
  if (run.step == 1) return before[run.last + 1] > before[run.first];
  for (Vertex v = run.first; v <= run.last; v += run.step) {
    if (members[v]) return true;
  }
  return false;
}

}  // namespace

std::vector<std::vector<Run>> compute_influence(const layout::Layout& layout, std::uint64_t depth, Vertex token, const Budget& budget) {
  std::vector<bool> members(layout.vertices(), false);
  members[token] = true;
  std::vector<std::vector<Run>> result{to_runs(members)};
  std::vector<Vertex> before(layout.vertices() + 1, 0);  // members among the vertices below
  std::vector<Run> row;
  std::uint64_t unchanged = 0;
  for (std::uint64_t q = 1; q <= depth && unchanged < layout.order.size(); ++q) {
    for (Vertex v = 0; v < layout.vertices(); ++v) before[v + 1] = before[v] + (members[v] ? 1 : 0);
    std::vector<bool> next = members;
    bool changed = false;
    for (std::uint32_t r : layout.layer(q).relations) {
      for (Vertex i = 0; i < layout.vertices(); ++i) {
        budget.poll();
        if (next[i]) continue;
        layout.relations[r].pattern().row(i, row);
        for (const Run& run : row) {
          if (!meets(run, members, before)) continue;
          next[i] = changed = true;
          break;
        }
      }
    }
    members = std::move(next);
    unchanged = changed ? 0 : unchanged + 1;
    result.push_back(to_runs(members));
  }
  return result;
}

}  // namespace sightline::sight

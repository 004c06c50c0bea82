#include "sightline/certificate/pattern_evidence.hpp"

#include <nlohmann/json.hpp>

namespace sightline::certificate {

nlohmann::json to_evidence(const layout::Pattern& pattern) {
  nlohmann::json lists = nlohmann::json::array(), segments = nlohmann::json::array();
  std::vector<layout::Run> row, previous;
  for (layout::Vertex i = 0; i < pattern.vertex_count(); ++i) {
    pattern.row(i, row);
    if (i > 0 && row == previous) {
      segments.back()[1] = segments.back()[1].get<layout::Vertex>() + 1;
      continue;
    }
    nlohmann::json list = nlohmann::json::array();
    for (const layout::Run& run : row) list.push_back({run.first, run.last, run.step, run.colour, 0, 0});
    segments.push_back({i, 1, lists.size(), -1});
    lists.push_back(std::move(list));
    previous = row;
  }
  return {{"lists", std::move(lists)}, {"segments", std::move(segments)}, {"vertices", pattern.vertex_count()}};
}

}  // namespace sightline::certificate

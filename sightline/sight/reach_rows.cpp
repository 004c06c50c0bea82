// After one layer of one pattern a token sees its row and itself: nothing has to be followed.
#include <algorithm>

#include "sightline/layout/moving_rows.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

std::optional<ReachAnswer> answer_by_rows(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (question.depth != 1 || !question.count_unseen || question.find_layers || question.weight != nullptr || layout.order.empty()) return std::nullopt;
  if (question.wanted.kind != ClassKind::all || question.wanted.ordinary_only) return std::nullopt;
  const layout::Layer& layer = layout.layer(question.skip + 1);
  if (layer.relations.size() != 1) return std::nullopt;
  const layout::Pattern& pattern = layout.relations[layer.relations.front()].pattern();
  const Vertex wanted = question.registers_too ? layout.vertices() : layout.tokens;
  ReachAnswer answer;
  answer.unseen.resize(layout.tokens);
  std::vector<layout::Run> row;
  layout::visit_stretches(pattern, [&](Vertex begin, Vertex end, bool moves) {
    const Vertex until = std::min(end, layout.tokens);
    // A row that moves may pass from tokens to registers: then each reader is asked.
    const bool alike = !moves || wanted == layout.vertices();
    for (Vertex i = begin; i < until; ++i) {
      budget.poll();
      if (i > begin && moves && alike) {
        std::fill(answer.unseen.begin() + i, answer.unseen.begin() + until, answer.unseen[begin]);
        break;
      }
      if (i == begin || moves) pattern.row(i, row);
      Vertex seen = 1;
      for (const layout::Run& run : row) {
        if (run.first >= wanted) continue;
        seen += (std::min(run.last, wanted - 1) - run.first) / run.step + 1 - (run.contains(i) ? 1 : 0);
      }
      answer.unseen[i] = wanted - seen;
    }
    return true;
  });
  return answer;
}

}  // namespace sightline::sight

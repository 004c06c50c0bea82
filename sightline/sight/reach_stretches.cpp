// Reach on two vertices per stretch: neighbours that read the same and that every row reads alike see the same, and are seen alike.
#include <algorithm>

#include "sightline/layout/pattern_builder.hpp"
#include "sightline/layout/stretches.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

/// shorten() with the bounds that certify uses, once per layout that is kept.
std::shared_ptr<const Shortened> find_shortened(const Layout& layout, const Budget& budget, Vertex few, Vertex share, bool usual) {
  const auto make = [&]() -> std::shared_ptr<Shortened> {
    std::optional<Shortened> found = shorten(layout, budget, few, share);
    return found ? std::make_shared<Shortened>(*std::move(found)) : nullptr;
  };
  ReachMemory::Entry* const memory = usual ? ReachMemory::find(layout) : nullptr;
  if (memory == nullptr) return make();
  if (!memory->has_shorter) {
    const std::shared_ptr<Shortened> found = make();
    if (found) found->booking.reset();  // it outlives the budget
    memory->shorter = found;
    memory->has_shorter = true;
  }
  return memory->shorter;
}

}  // namespace

std::optional<Shortened> shorten(const Layout& layout, const Budget& budget, Vertex few, Vertex share) {
  const Vertex vertices = layout.vertices();
  if (vertices < few) return std::nullopt;
  std::vector<bool> used(layout.relations.size(), false);
  for (const std::uint32_t l : layout.order) {
    for (const std::uint32_t r : layout.layers[l].relations) used[r] = true;
  }
  layout::StretchMarks marks(vertices, vertices / share);
  marks.mark(1);  // a BOS counts for itself
  for (Vertex v = layout.tokens; v <= vertices; ++v) marks.mark(v);
  for (std::size_t r = 0; r < used.size(); ++r) {
    if (used[r] && !marks.mark_rows(layout.relations[r].pattern(), budget)) return std::nullopt;
  }
  Shortened result;
  result.booking.emplace(budget, std::uint64_t{vertices} * 5);
  const layout::KeptVertices kept = layout::keep_two(marks, vertices);
  const std::vector<Vertex>& place = kept.place;
  result.first = kept.first;
  result.count = kept.count;
  result.lead = kept.lead;
  const auto short_vertices = static_cast<Vertex>(result.first.size());
  result.layout.registers = layout.registers;
  result.layout.tokens = short_vertices - layout.registers;
  result.layout.vertex_colour.assign(short_vertices, 0);
  for (Vertex k = result.layout.tokens; k < short_vertices; ++k) result.layout.vertex_colour[k] = k;
  result.layout.layers = layout.layers;
  result.layout.order = layout.order;
  std::vector<layout::Run> row;
  std::vector<layout::WideRun> wide;
  std::vector<layout::AffineRun> mapped;
  layout::KeptRuns runs(kept, vertices, budget);
  std::vector<layout::KeptRuns::Run> parts;
  for (std::size_t r = 0; r < used.size(); ++r) {
    const layout::Pattern& pattern = layout.relations[r].pattern();
    layout::PatternBuilder builder(short_vertices, budget);
    for (Vertex i = 0, end = 0; i < vertices; i = end) {
      end = used[r] ? pattern.same_row_until(i) : vertices;
      mapped.clear();
      if (used[r]) pattern.row(i, row);
      else row.clear();
      layout::widen(row, wide);
      for (const layout::WideRun& run : wide) {
        parts.clear();
        runs.append(run, parts);
        for (const auto& part : parts) mapped.emplace_back(layout::make_constant_run(part.first, part.last)).step = part.step;
      }
      builder.add_segment(place[i], builder.add_list(mapped));
    }
    result.layout.relations.emplace_back(builder.build(), layout::Relative{}, layout::Cancels::nothing, result.layout.tokens);
  }
  return result;
}

std::shared_ptr<const Shortened> find_shorter(const Layout& layout, const Budget& budget) { return find_shortened(layout, budget, usual_few, usual_share, true); }

std::optional<ReachAnswer> answer_by_stretches(const ReachQuestion& question, const Budget& budget, bool cheaply, Vertex few, Vertex share) {
  const Layout& layout = *question.layout;
  if (question.weight != nullptr || layout.order.empty() || question.wanted.kind == ClassKind::causal) return std::nullopt;
  const std::shared_ptr<const Shortened> found = find_shortened(layout, budget, few, share, few == usual_few && share == usual_share);
  if (!found) return std::nullopt;
  ReachQuestion asked = question;
  asked.layout = &found->layout;
  asked.weight = &found->count;
  std::optional<ReachAnswer> answer = answer_cheaply(asked, budget);
  if (!answer && cheaply) return std::nullopt;
  if (!answer) answer = answer_by_bits(asked, budget);
  if (question.count_unseen) {
    std::vector<Vertex> unseen(layout.tokens);
    // What the second of a stretch sees of itself is not what the others see of it, so the first one speaks for all.
    for (Vertex k = 0; k < found->layout.tokens; ++k) {
      std::fill_n(unseen.begin() + found->first[k], found->count[k], answer->unseen[found->lead[k]]);
    }
    answer->unseen = std::move(unseen);
  }
  if (answer->reach.witness) answer->reach.witness = UnreachablePair{found->first[answer->reach.witness->reader], found->first[answer->reach.witness->unseen]};
  return answer;
}

}  // namespace sightline::sight

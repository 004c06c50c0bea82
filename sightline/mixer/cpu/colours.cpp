#include "sightline/mixer/cpu/colours.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace sightline::mixer::cpu {
namespace {

ColourRows list_colour_rows(const Plan& plan, std::size_t relation) {
  ColourRows rows;
  std::vector<layout::ColouredRun> row;
  std::int64_t weight = 0;
  for (std::int64_t i = 0; i < plan.readers();) {
    plan.row(relation, i, row);
    const auto begin = static_cast<std::uint32_t>(rows.runs.size());
    for (const layout::ColouredRun& run : row) {
      rows.runs.push_back({static_cast<std::int32_t>(run.first), static_cast<std::int32_t>(run.last),
                           static_cast<std::int32_t>(run.step), static_cast<std::int32_t>(run.colour),
                           static_cast<std::int32_t>(run.colour_step)});
      weight += static_cast<std::int64_t>(run.size());
    }
    const std::int64_t next = std::max(plan.same_row_until(relation, i), i + 1);
    rows.groups.push_back({i, next, begin, static_cast<std::uint32_t>(rows.runs.size())});
    weight += next - i;
    if (weight >= 8192 || next >= plan.readers()) {
      rows.chunks.push_back(static_cast<std::int64_t>(rows.groups.size()));
      weight = 0;
    }
    i = next;
  }
  return rows;
}

} // namespace

const std::vector<ColourRows>& find_colour_rows(const Plan& plan) {
  const CompiledPlan& compiled = find_compiled(plan);
  std::call_once(compiled.colours_once, [&] {
    for (std::size_t relation = 0; relation < plan.relation_count(); ++relation)
      compiled.colours.push_back(list_colour_rows(plan, relation));
  });
  return compiled.colours;
}

ColourSpan find_span(const ColourRows& rows, std::int64_t reader) {
  const auto group = std::upper_bound(rows.groups.begin(), rows.groups.end(), reader,
                                      [](std::int64_t i, const ColourGroup& g) { return i < g.first; }) -
                     1;
  return {rows.runs.data() + group->runs_begin, rows.runs.data() + group->runs_end};
}

namespace {

void list_arc_colours(const ColourRows& coloured, const SparseList& rows, std::vector<std::int32_t>& colours) {
  colours.resize(rows.columns.size());
  std::vector<std::pair<std::int32_t, std::int32_t>> reads; // with colours
  for (std::size_t r = 0; r < rows.rows.size(); ++r) {
    const ColourSpan span = find_span(coloured, rows.rows[r]);
    reads.clear();
    for (const ColourRun* run = span.begin; run != span.end; ++run) {
      std::int32_t colour = run->colour;
      for (std::int64_t j = run->first; j <= run->last; j += run->step, colour += run->colour_step)
        reads.emplace_back(static_cast<std::int32_t>(j), colour);
    }
    std::sort(reads.begin(), reads.end());
    for (auto a = static_cast<std::size_t>(rows.offsets[r]); a < static_cast<std::size_t>(rows.offsets[r + 1]); ++a)
      colours[a] = std::lower_bound(reads.begin(), reads.end(), std::pair(rows.columns[a], std::int32_t{0}))->second;
  }
}

} // namespace

void find_arc_colours(const ColourRows& coloured, const SparseList& rows) {
  list_arc_colours(coloured, rows, rows.colours);
}

const std::vector<std::vector<std::int32_t>>& find_exact_colours(const Plan& plan,
                                                                 const std::vector<Tiles>& exact_rows) {
  const CompiledPlan& compiled = find_compiled(plan);
  std::call_once(compiled.exact_colours_once, [&] {
    const std::vector<ColourRows>& coloured = find_colour_rows(plan);
    compiled.exact_colours.resize(coloured.size());
    for (std::size_t r = 0; r < coloured.size(); ++r)
      list_arc_colours(coloured[r], exact_rows[r].rows, compiled.exact_colours[r]);
  });
  return compiled.exact_colours;
}

void find_arc_colours(const Plan& plan, const CompiledPlan& compiled) {
  std::call_once(compiled.arc_colours_once, [&] {
    const std::vector<ColourRows>& coloured = find_colour_rows(plan);
    for (std::size_t r = 0; r < coloured.size(); ++r)
      find_arc_colours(coloured[r], compiled.relations[r].rows);
  });
}

template <class Real>
bool ColourBiases<Real>::build(const Plan& plan, const AttentionRule& rule, const Shape& shape, std::int64_t first_head,
                               const Real* bias) {
  constexpr double log2_e = 1.44269504088896340736;
  // Threads collect gradients in sums of their own: what belongs to single pairs is left to the reference.
  constexpr std::int64_t most_colours = std::int64_t{1} << 22;
  const std::int64_t colours = plan.colours();
  if (colours > most_colours)
    return false;
  if (bias != nullptr) {
    tables_.resize(static_cast<std::size_t>(shape.heads * colours));
    std::transform(bias, bias + shape.heads * colours, tables_.begin(),
                   [](Real b) { return static_cast<Real>(static_cast<double>(b) * log2_e); });
  }
  for (std::int64_t h = 0; h < shape.heads; ++h) {
    ColourBias<Real>& head = heads_.emplace_back();
    head.table = bias == nullptr ? nullptr : tables_.data() + h * colours;
    if (!rule.slopes.empty())
      head.slope = static_cast<Real>(rule.slopes[static_cast<std::size_t>(first_head + h)] * log2_e);
    head.reader_tokens = plan.reader_tokens();
    head.read_tokens = plan.read_tokens();
  }
  return true;
}

template class ColourBiases<float>;
template class ColourBiases<double>;

} // namespace sightline::mixer::cpu

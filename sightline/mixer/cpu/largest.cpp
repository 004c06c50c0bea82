#include <algorithm>
#include <numeric>

#include "sightline/mixer/cpu/call.hpp"
#include "sightline/mixer/cpu/slices.hpp"
#include "sightline/mixer/cpu/wrapped_call.hpp"

namespace sightline::mixer::cpu {

template <class Real>
bool Call<Real>::select(std::int64_t most, bool backward, std::vector<Tiles>& chosen) const {
  Rule<Real> rule = common_;
  if (rule.weight == Weight::program && rule.program->factor >= 0 && (rule.program->exponent >= 0 || has_bias()))
    return false;
  if (is_scaled_softmax()) // as the definition has them, so that what ties there ties here
    rule.query_scale = static_cast<Real>(std::copysign(rule_.scale, static_cast<double>(rule.query_scale)));
  std::int64_t longest = 0;
  std::vector<Task> tasks;
  for (std::int64_t h = 0; h < shape_.heads; ++h) {
    const Tiles& tiles = tiles_of(h);
    add_chunks(tasks, 0, h, tiles.rows.chunk_count());
    for (std::size_t r = 0; r < tiles.rows.rows.size(); ++r)
      longest = std::max(longest, tiles.rows.offsets[r + 1] - tiles.rows.offsets[r]);
    for (std::size_t t = 0; t < tiles.tiles.size(); ++t) {
      tasks.push_back(tile_task(0, h, static_cast<std::int64_t>(t)));
      std::int64_t count = 0;
      for (std::uint32_t s = tiles.tiles[t].segments_begin; s < tiles.tiles[t].segments_end; ++s)
        count += tiles.segments[s].count;
      longest = std::max(longest, count);
    }
  }
  Selection<Real> to;
  to.most = most;
  to.stride = (longest + 31) / 16 * 16;
  const std::int64_t of_reads = shape_.heads * shape_.readers * most, of_columns = workers_ * to.stride;
  std::vector<std::int32_t> counts(static_cast<std::size_t>(shape_.heads * shape_.readers));
  Copies<std::int32_t, struct ChosenReads> places(of_reads + of_columns);
  std::int32_t *const reads = places.take(true, of_reads), *const columns = places.take(true, of_columns);
  Copies<Real, struct SelectionKeys> numbers(of_columns * tile_readers);
  Real* const keys = numbers.take(true, of_columns * tile_readers);
  const Workspaces workspaces(workspace_bytes(), workers_);
  run_tasks(static_cast<std::int64_t>(tasks.size()), workers_, [&](std::int64_t t, int worker) {
    const Task& task = tasks[static_cast<std::size_t>(t)];
    const Tiles& tiles = tiles_of(task.head);
    Selection<Real> here = to;
    here.reads = reads + task.head * shape_.readers * most;
    here.counts = counts.data() + task.head * shape_.readers;
    here.keys = keys + worker * tile_readers * to.stride;
    here.columns = columns + worker * to.stride;
    const Head<Real> head = head_of(0, task.head);
    if (task.is_tile) {
      ColourSpan spans[tile_readers];
      engine_->select_tile(rule, head, list_of(tiles, task, spans), here, workspaces.of(worker));
    } else {
      const auto part = static_cast<std::size_t>(task.part);
      engine_->select_rows(rule, head, tiles.rows.view(), tiles.rows.chunks[part], tiles.rows.chunks[part + 1], here,
                           workspaces.of(worker));
    }
  });
  chosen.assign(static_cast<std::size_t>(shape_.heads), {});
  run_tasks(shape_.heads, workers_, [&](std::int64_t h, int) {
    Tiles& tiles = chosen[static_cast<std::size_t>(h)];
    const auto rows = static_cast<std::size_t>(shape_.readers);
    tiles.rows.rows.reserve(rows);
    tiles.rows.offsets.reserve(rows + 1);
    const auto of_head = counts.begin() + h * shape_.readers;
    tiles.rows.columns.reserve(std::accumulate(of_head, of_head + shape_.readers, std::size_t{0}));
    for (std::int64_t i = 0; i < shape_.readers; ++i) {
      const std::int32_t* const row = reads + (h * shape_.readers + i) * most;
      tiles.rows.rows.push_back(static_cast<std::int32_t>(i));
      tiles.rows.columns.insert(tiles.rows.columns.end(), row,
                                row + counts[static_cast<std::size_t>(h * shape_.readers + i)]);
      tiles.rows.offsets.push_back(static_cast<std::int64_t>(tiles.rows.columns.size()));
    }
    tiles.tiles_per_block.assign(static_cast<std::size_t>((shape_.reads + block_columns - 1) / block_columns), 0);
    finish_rows(tiles, shape_.reads, backward);
  });
  return true;
}

template <class Real>
bool attend_largest(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                    const AttentionOutputs<Real>& out, const AttentionGradients<Real>* gradients,
                    const Execution& execution) {
  if (execution.exact)
    return false; // all that tie count there
  AttentionRule inner = rule;
  inner.top_k.reset();
  // Few heads at a time: what is kept per chosen read, some 24 bytes, stays small.
  constexpr std::int64_t most_reads = std::int64_t{1} << 20;
  const std::int64_t group = shape.heads / shape.key_heads, per_key_head = group * shape.readers * *rule.top_k;
  const std::int64_t at_once =
      std::clamp<std::int64_t>(most_reads / std::max<std::int64_t>(per_key_head, 1), 1, shape.key_heads);
  return for_slices(plan, shape, in, out, gradients, at_once, [&](const Slice<Real>& slice) {
    Call<Real> all(plan, inner, slice.shape, slice.in, slice.out, execution, {slice.first_head});
    std::vector<Tiles> chosen;
    if (!all.prepare() || !all.select(*rule.top_k, gradients != nullptr, chosen))
      return false;
    Call<Real> call(plan, inner, slice.shape, slice.in, slice.out, execution,
                    {slice.first_head, nullptr, nullptr, &chosen});
    if (!call.prepare())
      return false;
    if (gradients == nullptr)
      call.forward();
    else
      call.backward(slice.gradients);
    return true;
  });
}

template bool attend_largest(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<float>&,
                             const AttentionOutputs<float>&, const AttentionGradients<float>*, const Execution&);
template bool attend_largest(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<double>&,
                             const AttentionOutputs<double>&, const AttentionGradients<double>*, const Execution&);

} // namespace sightline::mixer::cpu

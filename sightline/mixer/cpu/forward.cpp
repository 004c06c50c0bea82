// Forward pass: who computes which tile or rows, in which order.
#include <algorithm>

#include "sightline/mixer/cpu/call.hpp"

namespace sightline::mixer::cpu {

template <class Real> void Call<Real>::forward() {
  if (goes_by_content())
    sort_reads();
  std::vector<Task> tasks;
  std::vector<LongForward<Real>> long_rows;
  for (std::int64_t b = 0; b < shape_.batch; ++b) {
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      const Tiles& tiles = tiles_of(h);
      if (takes_pieces(h))
        long_rows.emplace_back(tiles, head_of(b, h));
      if (!sums_wait(h))
        add_rows(tasks, b, h, takes_pieces(h) ? static_cast<std::int64_t>(long_rows.size()) - 1 : -1);
      const auto count = static_cast<std::int64_t>(tiles.tiles.size());
      for (std::int64_t t = 0; t < count; ++t)
        tasks.push_back(tile_task(b, h, t));
    }
  }
  const bool past = are_written_past<Real>(shape_.batch * shape_.heads * shape_.readers * shape_.value_width, workers_);
  const Workspaces workspaces(workspace_bytes(), workers_);
  run_tasks(static_cast<std::int64_t>(tasks.size()), workers_, [&](std::int64_t t, int worker) {
    const Task& task = tasks[static_cast<std::size_t>(t)];
    const Rule<Real> rule = rule_of(task.head);
    if (task.long_rows >= 0) {
      long_rows[static_cast<std::size_t>(task.long_rows)].run(*engine_, rule, task.part, workspaces.of(worker));
      return;
    }
    Head<Real> head = head_of(task.batch, task.head);
    head.past = past;
    const Tiles& tiles = tiles_of(task.head);
    if (task.is_tile) {
      ColourSpan spans[tile_readers];
      engine_->forward_tile(rule, head, list_of(tiles, task, spans), workspaces.of(worker));
    } else {
      const auto part = static_cast<std::size_t>(task.part);
      engine_->forward_rows(rule, head, tiles.rows.view(), tiles.rows.chunks[part], tiles.rows.chunks[part + 1],
                            workspaces.of(worker));
    }
  });
  for (LongForward<Real>& rows : long_rows)
    rows.join();
  for (std::int64_t b = 0; b < shape_.batch; ++b) {
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      if (sums_wait(h))
        forward_in_turns(b, h, past, workspaces);
    }
  }
}

template <class Real>
void Call<Real>::forward_in_turns(std::int64_t b, std::int64_t h, bool past, const Workspaces& workspaces) {
  constexpr std::int64_t most_numbers = (std::int64_t{8} << 20) / static_cast<std::int64_t>(sizeof(Real)); // that wait
  const SparseList& rows = tiles_of(h).rows;
  Head<Real> head = head_of(b, h);
  head.past = past;
  const Rule<Real> rule = rule_of(h);
  for (std::int64_t part = 0, end = 0; part < rows.chunk_count(); part = end) {
    const auto row_of = [&](std::int64_t chunk) { return rows.chunks[static_cast<std::size_t>(chunk)]; };
    const auto numbers_until = [&](std::int64_t chunk) {
      const auto arc_of = [&](std::int64_t row) { return rows.offsets[static_cast<std::size_t>(row)]; };
      return arc_of(row_of(chunk)) - arc_of(row_of(part)) + row_of(chunk) - row_of(part);
    };
    for (end = part + 1; end < rows.chunk_count() && numbers_until(end + 1) <= most_numbers;)
      ++end;
    Copies<Real, ArcNumbers> numbers(numbers_until(end));
    head.waiting_row = row_of(part);
    head.waiting_factors = numbers.take(true, row_of(end) - row_of(part));
    head.waiting = numbers.take(true, numbers_until(end) - (row_of(end) - row_of(part)));
    for (const bool of_values : {false, true}) {
      head.of_values = of_values;
      run_tasks(end - part, workers_, [&](std::int64_t t, int worker) {
        engine_->forward_rows(rule, head, rows.view(), row_of(part + t), row_of(part + t + 1), workspaces.of(worker));
      });
    }
  }
}

/// Rows that make a chunk alone come last: they read what the others left in the caches, where the others go through
/// four arrays at once, which memory serves better. Pieces of long rows come right behind the rows near their reads.
template <class Real>
void Call<Real>::add_rows(std::vector<Task>& tasks, std::int64_t b, std::int64_t h, std::int64_t long_rows) const {
  constexpr std::int64_t behind = 256; // rows, which others may still be at
  const SparseList& rows = tiles_of(h).rows;
  const std::vector<LongPiece>& pieces = tiles_of(h).pieces.rows;
  const auto task = [&](std::int64_t part, std::int64_t of) {
    tasks.push_back({static_cast<std::int32_t>(b), static_cast<std::int32_t>(h), part, false, of});
  };
  std::vector<std::int64_t> alone; // chunks
  std::size_t next = long_rows >= 0 ? 0 : pieces.size();
  for (std::int64_t c = 0; c < rows.chunk_count(); ++c) {
    const auto first = static_cast<std::size_t>(rows.chunks[static_cast<std::size_t>(c)]),
               end = static_cast<std::size_t>(rows.chunks[static_cast<std::size_t>(c) + 1]);
    if (end - first > 1)
      task(c, -1);
    else if (long_rows < 0 || !is_long(rows, first))
      alone.push_back(c);
    for (; next < pieces.size() && rows.columns[static_cast<std::size_t>(pieces[next].end_arc) - 1] + behind <= rows.rows[end - 1]; ++next)
      task(static_cast<std::int64_t>(next), long_rows);
  }
  for (; next < pieces.size(); ++next)
    task(static_cast<std::int64_t>(next), long_rows);
  for (const std::int64_t c : alone)
    task(c, -1);
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template void Call<Real>::forward();                                                                                 \
  template void Call<Real>::forward_in_turns(std::int64_t, std::int64_t, bool, const Workspaces&);                     \
  template void Call<Real>::add_rows(std::vector<Task>&, std::int64_t, std::int64_t, std::int64_t) const;
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu

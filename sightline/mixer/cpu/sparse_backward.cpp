// Backward pass of rows taken one by one: rows leave weight and slope of every arc, columns collect what their readers
// left. Columns are taken as soon as their last reader is done, while queries and output gradients are in the caches.
#include <algorithm>
#include <cstdlib>

#include "sightline/mixer/cpu/call.hpp"

namespace sightline::mixer::cpu {
namespace {

/// Chunks of rows that one thread goes through in turn: part `number` of `count`.
std::int64_t stretch_begin(std::int64_t chunks, std::int64_t count, std::int64_t number) {
  return chunks * number / count;
}

/// Where the stretches of a head's rows begin, and the end: at a piece of a long row where one is near, so that its columns
/// and those of its stretch are taken on the way.
std::vector<std::int64_t> find_stretches(const Tiles& tiles, bool pieces, std::int64_t count) {
  const std::int64_t chunks = tiles.rows.chunk_count(), near = chunks / count / 4;
  std::vector<std::int64_t> begins{0};
  for (std::int64_t s = 1; s < count; ++s) {
    const std::int64_t even = stretch_begin(chunks, count, s);
    std::int64_t begin = even;
    for (std::size_t p = 0; pieces && p < tiles.pieces.rows.size(); ++p) {
      const std::int64_t part = tiles.pieces.rows[p].parts.first;
      if (std::abs(part - even) <= near)
        begin = part;
    }
    if (begin > begins.back())
      begins.push_back(begin);
  }
  begins.push_back(chunks);
  return begins;
}

/// All chunks of rows that something waits for lie in one stretch: whoever goes through it takes it on the way.
bool keeps_to_stretch(const std::vector<std::int64_t>& begins, const ColumnParts& parts) {
  return std::upper_bound(begins.begin(), begins.end(), std::int64_t{parts.first}) == std::upper_bound(begins.begin(), begins.end(), std::int64_t{parts.last});
}

/// Calls work(k) where what items[k] waits for ends with chunk `part`, and begins in the stretch from `begin` on. Items
/// lie by rising parts_of(item).last.
template <class Item, class PartsOf, class Work>
void for_ready(const std::vector<Item>& items, PartsOf parts_of, std::int64_t begin, std::int64_t part, Work&& work) {
  auto item = std::lower_bound(items.begin(), items.end(), part,
                               [&](const Item& a, std::int64_t b) { return parts_of(a).last < b; });
  for (; item != items.end() && parts_of(*item).last == part; ++item) {
    if (parts_of(*item).first >= begin)
      work(item - items.begin());
  }
}
ColumnParts parts_of_piece(const LongPiece& piece) { return piece.parts; }

/// A chunk of rows or columns that is a long one.
bool holds_long(const SparseList& list, std::int64_t chunk) {
  const std::int64_t first = list.chunks[static_cast<std::size_t>(chunk)], end = list.chunks[static_cast<std::size_t>(chunk) + 1];
  return end - first == 1 && is_long(list, static_cast<std::size_t>(first));
}

} // namespace

template <class Real> void Call<Real>::run_sparse(const AttentionGradients<Real>& gradients) {
  constexpr std::size_t most_bytes = std::size_t{6} << 20; // per arc, or of what columns come back to
  const std::int64_t chains = shape_.batch * shape_.key_heads;
  const bool past = group() == 1 && are_written_past<Real>(shape_.batch * shape_.heads * shape_.readers *
                                                           (2 * shape_.width + shape_.value_width), workers_);
  const bool on_the_way = group() == 1; // else columns of several heads add to each other, in their order
  const Workspaces workspaces(workspace_bytes(), workers_);
  for (std::int64_t first = 0; first < chains;) {
    std::vector<Task> tasks;               // chunks of rows
    std::vector<std::size_t> arcs_before; // of every head of these chains
    std::vector<std::size_t> tasks_before;
    std::size_t arcs = 0, bytes = 0;
    std::int64_t last = first;
    while (last < chains && (last - first < workers_ || bytes < most_bytes)) {
      const std::int64_t b = last / shape_.key_heads;
      for (std::int64_t g = 0; g < group(); ++g) {
        const std::int64_t h = last % shape_.key_heads * group() + g;
        const SparseList& rows = tiles_of(h).rows;
        tasks_before.push_back(tasks.size());
        add_chunks(tasks, b, h, rows.chunk_count());
        arcs_before.push_back(arcs);
        arcs += rows.columns.size();
        bytes += sizeof(Real) * 2 * rows.columns.size();
        if (!on_the_way)
          bytes += sizeof(Real) * rows.rows.size() * static_cast<std::size_t>(6 * shape_.width);
      }
      ++last;
    }
    if (tasks.empty()) {
      first = last;
      continue;
    }
    const bool has_alongs = common_.program != nullptr, has_exponents = !bias_sums_.empty();
    const auto of_arcs = static_cast<std::int64_t>(arcs);
    Copies<Real, ArcNumbers> kept(of_arcs * (2 + (has_alongs ? 1 : 0) + (has_exponents ? 1 : 0)));
    Real *const weights = kept.take(true, of_arcs), *const slopes = kept.take(true, of_arcs),
                *const alongs = kept.take(has_alongs, of_arcs), *const exponents = kept.take(has_exponents, of_arcs);
    std::vector<Real> middles(
        common_has_extra() ? static_cast<std::size_t>((last - first) * group() * shape_.readers) : 0);
    const auto to = [&](const Task& task) {
      Gradients<Real> result = gradients_of(gradients, task.batch, task.head);
      const std::int64_t number = task.batch * shape_.heads + task.head - first * group();
      const std::size_t before = arcs_before[static_cast<std::size_t>(number)];
      result.past = past;
      result.arc_weights = weights + before;
      result.arc_slopes = slopes + before;
      if (!bias_sums_.empty())
        result.arc_exponents = exponents + before;
      if (common_.program != nullptr)
        result.arc_alongs = alongs + before;
      if (!middles.empty())
        result.middles = middles.data() + number * shape_.readers;
      return result;
    };
    // next: the part of the rows that comes behind them, or none.
    const auto take_columns = [&](const Task& task, std::int64_t next, bool add, int worker) {
      const SparseList &columns = tiles_of(task.head).columns, &rows = tiles_of(task.head).rows;
      const auto part = static_cast<std::size_t>(task.part);
      Gradients<Real> results = to(task);
      if (next < rows.chunk_count()) {
        const auto behind = static_cast<std::size_t>(next);
        results.next_reader = rows.rows[static_cast<std::size_t>(rows.chunks[behind])];
        results.next_readers = rows.chunks[behind + 1] - rows.chunks[behind];
      }
      engine_->backward_columns(rule_of(task.head), head_of(task.batch, task.head), results, columns.view(),
                                columns.chunks[part], columns.chunks[part + 1], add, workspaces.of(worker));
    };
    // Several threads and few heads: each goes through stretches of the rows.
    const std::int64_t heads = (last - first) * group();
    const auto stretches_of = [&](std::int64_t head) {
      const std::int64_t chunks = std::max<std::int64_t>(tiles_of(head).rows.chunk_count(), 1);
      if (!on_the_way)
        return chunks;
      return workers_ > 1 ? std::clamp<std::int64_t>(4 * workers_ / heads, 1, chunks) : 1;
    };
    struct Stretch {
      std::size_t head = 0; // among those of these chains
      std::int64_t begin = 0, end = 0;
    };
    std::vector<Stretch> jobs;
    std::vector<std::vector<std::int64_t>> stretches; // of every head of these chains
    std::vector<std::optional<LongBackward<Real>>> long_rows(tasks_before.size());
    std::vector<Task> at_once; // pieces and chunks of rows that no stretch has
    const auto take_apart = [&](std::size_t k) {
      const Task& head = tasks[tasks_before[k]];
      const Tiles& tiles = tiles_of(head.head);
      for (std::size_t p = 0; p < tiles.pieces.rows.size(); ++p)
        at_once.push_back({head.batch, head.head, static_cast<std::int64_t>(p), false, static_cast<std::int64_t>(k)});
      for (std::int64_t c = 0; c < tiles.rows.chunk_count(); ++c) {
        if (!holds_long(tiles.rows, c))
          at_once.push_back({head.batch, head.head, c, false});
      }
    };
    for (std::size_t k = 0; k < tasks_before.size(); ++k) {
      const std::int64_t number = first * group() + static_cast<std::int64_t>(k), b = number / shape_.heads, h = number % shape_.heads;
      const bool pieces = on_the_way && takes_pieces(h);
      if (pieces)
        long_rows[k].emplace(tiles_of(h), head_of(b, h), to({static_cast<std::int32_t>(b), static_cast<std::int32_t>(h), 0, false}));
      if (pieces && tiles_of(h).rows.chunk_count() < 2 * workers_) { // hubs beside tiles: their pieces are what there is to share
        take_apart(k);
        stretches.push_back({}); // all columns come at the end
        continue;
      }
      stretches.push_back(find_stretches(tiles_of(h), pieces, stretches_of(h)));
      for (std::size_t s = 0; s + 1 < stretches.back().size(); ++s)
        jobs.push_back({k, stretches.back()[s], stretches.back()[s + 1]});
    }
    run_tasks(static_cast<std::int64_t>(at_once.size()), workers_, [&](std::int64_t t, int worker) {
      const Task& task = at_once[static_cast<std::size_t>(t)];
      const SparseList& rows = tiles_of(task.head).rows;
      const auto part = static_cast<std::size_t>(task.part);
      if (task.long_rows >= 0)
        long_rows[static_cast<std::size_t>(task.long_rows)]->run_row(*engine_, rule_of(task.head), task.part, workspaces.of(worker));
      else
        (void)engine_->backward_rows(rule_of(task.head), head_of(task.batch, task.head), to(task), rows.view(), rows.chunks[part],
                                     rows.chunks[part + 1], workspaces.of(worker));
    });
    const std::size_t first_sink = add_parts(tasks);
    run_tasks(static_cast<std::int64_t>(jobs.size()), workers_, [&](std::int64_t j, int worker) {
      const Stretch& job = jobs[static_cast<std::size_t>(j)];
      LongBackward<Real>* const long_ones = long_rows[job.head] ? &*long_rows[job.head] : nullptr;
      for (std::int64_t part = job.begin; part < job.end; ++part) {
        const std::size_t t = tasks_before[job.head] + static_cast<std::size_t>(part);
        const Task& task = tasks[t];
        const Tiles& tiles = tiles_of(task.head);
        const auto chunk = static_cast<std::size_t>(part);
        const Rule<Real> rule = rule_of(task.head);
        if (long_ones != nullptr) {
          for_ready(tiles.pieces.rows, parts_of_piece, job.begin, part,
                    [&](std::int64_t p) { long_ones->run_row(*engine_, rule, p, workspaces.of(worker)); });
        }
        if (long_ones == nullptr || !holds_long(tiles.rows, part))
          sinks_[first_sink + t].value =
              engine_->backward_rows(rule, head_of(task.batch, task.head), to(task), tiles.rows.view(),
                                     tiles.rows.chunks[chunk], tiles.rows.chunks[chunk + 1], workspaces.of(worker));
        if (!on_the_way)
          continue;
        const std::vector<ColumnParts>& parts = long_ones != nullptr ? tiles.pieces.parts : tiles.columns.parts;
        const std::vector<std::int32_t>& by_last = long_ones != nullptr ? tiles.pieces.by_last : tiles.columns.by_last;
        const auto parts_of_columns = [&](std::int32_t c) { return parts[static_cast<std::size_t>(c)]; };
        for_ready(by_last, parts_of_columns, job.begin, part, [&](std::int64_t k) {
          const std::int32_t columns = by_last[static_cast<std::size_t>(k)];
          if (long_ones == nullptr || !holds_long(tiles.columns, columns))
            take_columns({task.batch, task.head, columns, false}, part + 1, !writes(task.head), worker);
        });
        if (long_ones != nullptr) {
          for_ready(tiles.pieces.columns, parts_of_piece, job.begin, part,
                    [&](std::int64_t p) { long_ones->run_column(*engine_, rule, p, workspaces.of(worker)); });
        }
      }
    });
    const std::int64_t numbers = bias_sums_.empty() ? 0 : (last - first) * group();
    run_tasks(numbers, workers_, [&](std::int64_t k, int) {
      const std::int64_t number = first * group() + k;
      const SparseList& rows = tiles_of(number % shape_.heads).rows;
      const Real* const from = exponents + arcs_before[static_cast<std::size_t>(k)];
      double* const sums = bias_sums_.data() + number * bias_length() + (coloured_ != nullptr ? 0 : bias_zero());
      for (std::size_t r = 0; r < rows.rows.size(); ++r) {
        for (auto a = static_cast<std::size_t>(rows.offsets[r]); a < static_cast<std::size_t>(rows.offsets[r + 1]);
             ++a)
          sums[coloured_ != nullptr ? rows.colours[a] : rows.rows[r] - rows.columns[a]] += static_cast<double>(from[a]);
      }
    });
    for (std::int64_t g = 0; g < group(); ++g) { // heads that share a key head follow each other
      tasks.clear();
      for (std::int64_t chain = first; chain < last; ++chain) {
        const std::int64_t h = chain % shape_.key_heads * group() + g;
        const Tiles& tiles = tiles_of(h);
        const std::size_t k = static_cast<std::size_t>((chain - first) * group() + g);
        const auto batch = static_cast<std::int32_t>(chain / shape_.key_heads), head = static_cast<std::int32_t>(h);
        for (std::int64_t c = 0; c < tiles.columns.chunk_count(); ++c) {
          const auto chunk = static_cast<std::size_t>(c);
          if (long_rows[k] && holds_long(tiles.columns, c))
            continue;
          if (!on_the_way || stretches[k].empty() || !keeps_to_stretch(stretches[k], long_rows[k] ? tiles.pieces.parts[chunk] : tiles.columns.parts[chunk]))
            tasks.push_back({batch, head, c, false});
        }
        for (std::size_t p = 0; long_rows[k] && p < tiles.pieces.columns.size(); ++p) {
          if (stretches[k].empty() || !keeps_to_stretch(stretches[k], tiles.pieces.columns[p].parts))
            tasks.push_back({batch, head, static_cast<std::int64_t>(p), false, static_cast<std::int64_t>(k)});
        }
      }
      run_tasks(static_cast<std::int64_t>(tasks.size()), workers_, [&](std::int64_t t, int worker) {
        const Task& task = tasks[static_cast<std::size_t>(t)];
        if (task.long_rows >= 0)
          long_rows[static_cast<std::size_t>(task.long_rows)]->run_column(*engine_, rule_of(task.head), task.part, workspaces.of(worker));
        else
          take_columns(task, INT64_MAX, g > 0 || !writes(task.head / group()), worker);
      });
    }
    for (std::size_t k = 0; k < long_rows.size(); ++k) {
      if (long_rows[k])
        long_rows[k]->join(!writes((first + static_cast<std::int64_t>(k)) % shape_.heads));
    }
    first = last;
  }
}

#define SIGHTLINE_INSTANTIATE(Real) template void Call<Real>::run_sparse(const AttentionGradients<Real>&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu

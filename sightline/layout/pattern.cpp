#include "sightline/layout/pattern.hpp"

#include <algorithm>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::layout {

Pattern::Pattern() {
  static const auto empty = std::make_shared<const Body>();
  body_ = empty;
}

Pattern::Pattern(Vertex vertex_count, std::vector<Segment> segments, std::vector<RunList> lists,
                 std::vector<AffineRun> runs, std::vector<Vertex> written)
    : vertex_count_(vertex_count), body_(std::make_shared<const Body>(Body{std::move(segments), std::move(lists), std::move(runs), std::move(written)})) {
  if (body_->segments.empty() != (vertex_count_ == 0) || (!body_->segments.empty() && body_->segments.front().begin != 0)) {
    throw ArgumentError("the segments of a pattern start at reader 0");
  }
  for (std::size_t s = 0; s < body_->segments.size(); ++s) {
    const Vertex end = s + 1 < body_->segments.size() ? body_->segments[s + 1].begin : vertex_count_;
    if (body_->segments[s].begin >= end || body_->segments[s].list >= body_->lists.size()) {
      throw ArgumentError("the segments of a pattern increase and refer to run lists");
    }
  }
  for (const RunList& list : body_->lists) {
    if (std::uint64_t{list.runs_begin} + list.runs_count > body_->runs.size() ||
        std::uint64_t{list.shared_begin} + list.shared_count > body_->runs.size() || std::uint64_t{list.written_begin} + list.written_count > body_->written.size()) {
      throw ArgumentError("a run list of a pattern refers to runs that are not there");
    }
    if (list.written_count != 0 && (list.runs_count != 0 || list.shared_count != 0 || list.written_count > vertex_count_)) {
      throw ArgumentError("a run list of a pattern has runs, or is written out");
    }
  }
}

std::size_t Pattern::find_segment(Vertex i) const {
  if (i >= vertex_count_) throw ArgumentError("reader out of range");
  // Where all segments are equally long, as those of blocks and of explicit rows are, the index is known.
  const std::vector<Segment>& segments = body_->segments;
  if (segments.size() == 1) return 0;
  const std::size_t even = std::uint64_t{i} * segments.size() / vertex_count_;
  if (segments[even].begin <= i && (even + 1 == segments.size() || i < segments[even + 1].begin)) return even;
  const auto next = std::upper_bound(body_->segments.begin(), body_->segments.end(), i,
                                     [](Vertex reader, const Segment& segment) { return reader < segment.begin; });
  return static_cast<std::size_t>(next - body_->segments.begin()) - 1;
}

void Pattern::row(Vertex i, std::vector<Run>& out) const {
  row_by(list_at(i), i, out);
}

void Pattern::row_by(const RunList& list, Vertex i, std::vector<Run>& out) const {
  row_by(list, i, out, [](const Run& run) { return run; });
}

std::vector<Run> Pattern::row(Vertex i) const {
  std::vector<Run> out;
  row(i, out);
  return out;
}

std::span<const AffineRun> Pattern::own_runs(const RunList& list, std::vector<AffineRun>& room) const {
  if (list.written_count == 0) return std::span(body_->runs).subspan(list.runs_begin, list.runs_count);
  room.clear();
  append_runs(written(list), {}, room);
  return room;
}

std::uint32_t Pattern::list_of(Vertex i) const {
  return body_->segments[find_segment(i)].list;
}

bool Pattern::is_constant(std::uint32_t list) const {
  const auto moves = [](const AffineRun& run) { return run.lo_moves || run.hi_moves || run.floor_moves; };
  const auto begin = body_->runs.begin();
  const RunList& runs = body_->lists.at(list);
  return std::none_of(begin + runs.runs_begin, begin + runs.runs_begin + runs.runs_count, moves) &&
         std::none_of(begin + runs.shared_begin, begin + runs.shared_begin + runs.shared_count, moves);
}

Vertex Pattern::same_row_until(Vertex i) const {
  const std::size_t s = find_segment(i);
  const Vertex end = s + 1 < body_->segments.size() ? body_->segments[s + 1].begin : vertex_count_;
  return end == i + 1 || is_constant(body_->segments[s].list) ? end : i + 1;
}

std::uint32_t Pattern::colour(Vertex i, Vertex j) const {
  const RunList& list = list_at(i);
  if (list.written_count != 0) {
    const auto row = written(list);
    return std::binary_search(row.begin(), row.end(), j) ? 1 : 0;
  }
  for (const auto& [begin, count] : {std::pair{list.runs_begin, list.runs_count}, {list.shared_begin, list.shared_count}}) {
    for (std::uint32_t k = begin; k < begin + count; ++k) {
      const auto run = evaluate(body_->runs[k], i);
      if (run && run->contains(j)) return run->colour;
    }
  }
  return 0;
}

std::uint64_t Pattern::degree(Vertex i) const {
  std::uint64_t sum = 0;
  for (const Run& run : row(i)) sum += run.size();
  return sum;
}

namespace {

struct Totals {
  std::uint64_t arcs = 0, runs = 0;
};

// Arcs and non-empty runs that one affine run contributes for the readers begin .. end-1.
Totals count_run(const AffineRun& run, Vertex begin, Vertex end) {
  // The commonest runs: constant, of neighbours, with nothing cut off.
  const bool is_interval = run.step == 1 && !run.lo_moves && !run.hi_moves && !run.floor_moves;
  if (is_interval && run.lo_base >= std::max<std::int64_t>(0, run.floor_base) && run.hi_base >= run.lo_base && run.hi_base < run.limit) {
    return {(end - begin) * static_cast<std::uint64_t>(run.hi_base - run.lo_base + 1), end - begin};
  }
  Totals totals;
  const auto add = [&](Vertex i, std::uint64_t readers) {
    if (const auto found = evaluate(run, i)) {
      totals.arcs += readers * found->size();
      totals.runs += readers;
    }
  };
  if (!run.lo_moves && !run.hi_moves && !run.floor_moves) {
    add(begin, end - begin);
    return totals;
  }
  // A run that moves as a whole has one size wherever nothing clips it.
  Vertex free_begin = end, free_end = end;
  if (run.lo_moves && run.hi_moves && !run.floor_moves) {
    const std::int64_t from = std::max<std::int64_t>({begin, -run.lo_base, run.floor_base - run.lo_base});
    const std::int64_t to = std::min<std::int64_t>(end, run.limit - run.hi_base);
    if (from < to) {
      free_begin = static_cast<Vertex>(from);
      free_end = static_cast<Vertex>(to);
      add(free_begin, free_end - free_begin);
    }
  }
  for (Vertex i = begin; i < free_begin; ++i) add(i, 1);
  for (Vertex i = free_end; i < end; ++i) add(i, 1);
  return totals;
}

}  // namespace

std::uint64_t Pattern::arc_count() const {
  std::uint64_t sum = 0;
  for (std::size_t s = 0; s < body_->segments.size(); ++s) {
    const Vertex begin = body_->segments[s].begin, end = s + 1 < body_->segments.size() ? body_->segments[s + 1].begin : vertex_count_;
    const RunList& list = body_->lists[body_->segments[s].list];
    for (std::uint32_t k = 0; k < list.runs_count; ++k) sum += count_run(body_->runs[list.runs_begin + k], begin, end).arcs;
    for (std::uint32_t k = 0; k < list.shared_count; ++k) sum += count_run(body_->runs[list.shared_begin + k], begin, end).arcs;
    sum += std::uint64_t{end - begin} * list.written_count;
  }
  return sum;
}

std::uint64_t Pattern::run_count() const {
  std::uint64_t sum = 0;
  for (std::size_t s = 0; s < body_->segments.size(); ++s) {
    const Vertex begin = body_->segments[s].begin, end = s + 1 < body_->segments.size() ? body_->segments[s + 1].begin : vertex_count_;
    const RunList& list = body_->lists[body_->segments[s].list];
    for (std::uint32_t k = 0; k < list.runs_count; ++k) sum += count_run(body_->runs[list.runs_begin + k], begin, end).runs;
    for (std::uint32_t k = 0; k < list.shared_count; ++k) sum += count_run(body_->runs[list.shared_begin + k], begin, end).runs;
    split_into_runs(written(list), [&](Vertex, Vertex, Vertex) { sum += end - begin; });
  }
  return sum;
}

std::uint64_t Pattern::memory_bytes() const {
  return body_->segments.size() * sizeof(Segment) + body_->lists.size() * sizeof(RunList) + body_->runs.size() * sizeof(AffineRun) + body_->written.size() * sizeof(Vertex);
}

bool Pattern::has_one_colour() const {
  if (is_plain()) return true;
  std::vector<Run> runs;
  for (Vertex i = 0; i < vertex_count_ && runs.empty(); ++i) row(i, runs);
  return !has_other_colour(runs.front().colour);
}

bool Pattern::has_other_colour(std::uint32_t colour) const {
  const bool fits = colour == 1 || body_->written.empty();  // lists that are written out have colour 1
  if (fits && std::all_of(body_->runs.begin(), body_->runs.end(), [&](const AffineRun& run) { return run.colour == colour; })) return false;
  // A coloured run may be empty for every reader.
  std::vector<Run> runs;
  for (Vertex i = 0; i < vertex_count_; ++i) {
    row(i, runs);
    if (std::any_of(runs.begin(), runs.end(), [&](const Run& run) { return run.colour != colour; })) return true;
  }
  return false;
}

bool Pattern::is_written_as(const Pattern& other) const {
  if (vertex_count_ != other.vertex_count_) return false;
  return body_ == other.body_ || (segments() == other.segments() && lists() == other.lists() && affine_runs() == other.affine_runs() &&
                                  written_vertices() == other.written_vertices());
}

bool operator==(const Pattern& a, const Pattern& b) {
  if (a.vertex_count_ != b.vertex_count_) return false;
  if (a.is_written_as(b)) return true;
  std::vector<Run> row_a, row_b;
  for (Vertex i = 0; i < a.vertex_count_; ++i) {
    a.row(i, row_a);
    b.row(i, row_b);
    if (!same_row(row_a, row_b)) return false;
  }
  return true;
}

namespace {

// Number of vertices in both runs, colours aside.
std::uint64_t count_common(const Run& a, const Run& b) {
  const std::int64_t lo = std::max(a.first, b.first), hi = std::min(a.last, b.last);
  if (lo > hi) return 0;
  if (a.step > 1 && b.step > 1) {
    const std::int64_t common = std::gcd(a.step, b.step);
    if ((std::int64_t{a.first} - b.first) % common != 0) return 0;
    // The first common vertex lies among the first b.step / common members of a at or after lo.
    std::int64_t j = std::int64_t{a.first} + (lo - a.first + a.step - 1) / a.step * a.step;
    for (std::int64_t k = 0; k < b.step / common && j <= hi; ++k, j += a.step) {
      if ((j - b.first) % b.step == 0) return static_cast<std::uint64_t>((hi - j) / (a.step / common * b.step) + 1);
    }
    return 0;
  }
  const Run& sparse = a.step > 1 ? a : b;
  const std::int64_t step = sparse.step, first = sparse.first;
  const std::int64_t j = first + (lo - first + step - 1) / step * step;
  return j > hi ? 0 : static_cast<std::uint64_t>((hi - j) / step + 1);
}

bool has_steps(const std::vector<Run>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.step > 1; });
}

std::uint64_t count_vertices(const std::vector<Run>& runs) {
  std::uint64_t sum = 0;
  for (const Run& run : runs) sum += run.size();
  return sum;
}

std::vector<std::pair<Vertex, std::uint32_t>> expand(const std::vector<Run>& runs) {
  std::vector<std::pair<Vertex, std::uint32_t>> out;
  for (const Run& run : runs) {
    for (std::uint64_t j = run.first; j <= run.last; j += run.step) out.emplace_back(static_cast<Vertex>(j), run.colour);
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Runs of step 1, sorted: neighbours of one colour joined.
std::vector<Run> join(const std::vector<Run>& runs) {
  std::vector<Run> out;
  for (const Run& run : runs) {
    if (!out.empty() && out.back().colour == run.colour && std::uint64_t{out.back().last} + 1 == run.first) {
      out.back().last = run.last;
    } else {
      out.push_back(run);
    }
  }
  return out;
}

}  // namespace

bool same_row(const std::vector<Run>& a, const std::vector<Run>& b) {
  if (a == b) return true;
  const std::uint64_t vertices = count_vertices(a);
  if (vertices != count_vertices(b)) return false;
  const auto sorted = [](const std::vector<Run>& runs) {
    return std::is_sorted(runs.begin(), runs.end(), [](const Run& x, const Run& y) { return x.first < y.first; });
  };
  if (!has_steps(a) && !has_steps(b) && sorted(a) && sorted(b)) return join(a) == join(b);
  if (a.size() * b.size() > vertices) return expand(a) == expand(b);
  // The runs are disjoint and as many vertices stand on both sides: equal iff all of a is met with the same colour.
  std::uint64_t met = 0;
  for (const Run& x : a) {
    for (const Run& y : b) {
      if (x.colour == y.colour) met += count_common(x, y);
    }
  }
  return met == vertices;
}

}  // namespace sightline::layout

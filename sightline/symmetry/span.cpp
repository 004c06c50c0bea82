#include "sightline/symmetry/span.hpp"

#include <algorithm>

#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

ColouredRun to_run(const Span& span) {
  return {span.first, span.last, span.step, span.colour(span.first), std::int64_t{span.slope} * span.step};
}

namespace {

void push(std::vector<ColouredRun>& out, ColouredRun run) {
  if (run.first == run.last) run.colour_step = 0;
  out.push_back(run);
}

/// Appends `run` to the greedy list: what a reader going vertex by vertex would have built.
void append(std::vector<ColouredRun>& out, ColouredRun run) {
  if (out.empty() || run.first != out.back().last + 1) return push(out, run);
  ColouredRun& tail = out.back();
  const std::int64_t end_colour = tail.colour + tail.colour_step * std::int64_t{tail.last - tail.first};
  if (tail.first == tail.last) {
    tail.colour_step = run.colour - tail.colour;
  } else if (run.colour != end_colour + tail.colour_step) {
    return push(out, run);
  }
  tail.last = run.first;
  if (run.first == run.last) return;
  if (run.colour_step == tail.colour_step) {
    tail.last = run.last;
    return;
  }
  ++run.first;
  run.colour += run.colour_step;
  push(out, run);
}

}  // namespace

void canonicalise(std::vector<ColouredRun>& runs) {
  thread_local std::vector<ColouredRun> flat;
  flat.clear();
  for (const ColouredRun& run : runs) {
    if (run.step == 1 || run.first == run.last) {
      flat.push_back({run.first, run.last, 1, run.colour, run.first == run.last ? 0 : run.colour_step});
      continue;
    }
    std::int64_t colour = run.colour;
    for (std::uint64_t x = run.first; x <= run.last; x += run.step, colour += run.colour_step) {
      flat.push_back({static_cast<Vertex>(x), static_cast<Vertex>(x), 1, colour, 0});
    }
  }
  const auto by_first = [](const ColouredRun& a, const ColouredRun& b) { return a.first < b.first; };
  if (!std::is_sorted(flat.begin(), flat.end(), by_first)) std::sort(flat.begin(), flat.end(), by_first);
  runs.clear();
  for (const ColouredRun& run : flat) append(runs, run);
}

std::int64_t find_colour(const std::vector<ColouredRun>& canonical, Vertex x) {
  auto run = std::upper_bound(canonical.begin(), canonical.end(), x, [](Vertex v, const ColouredRun& r) { return v < r.first; });
  if (run == canonical.begin()) return -1;
  --run;
  return x <= run->last ? run->colour + run->colour_step * std::int64_t{x - run->first} : -1;
}

void RowColours::read(const std::vector<ColouredRun>& row) {
  constexpr Threshold<std::size_t> few_runs{16, 1, "few runs"};
  for (const Vertex x : listed_) colours_[x] = -1;
  listed_.clear();
  std::uint64_t members = 0;
  for (const ColouredRun& run : row) members += run.last - run.first + std::uint64_t{1};
  row_ = row.size() < few_runs || members > 2 * row.size() ? &row : nullptr;
  if (row_ != nullptr) return;
  for (const ColouredRun& run : row) {
    for (Vertex x = run.first; x <= run.last; ++x) {
      colours_[x] = run.colour + run.colour_step * std::int64_t{x - run.first};
      listed_.push_back(x);
    }
  }
}

void compress(std::vector<ColouredRun>& canonical) {
  thread_local std::vector<ColouredRun> out;
  out.clear();
  for (const ColouredRun& run : canonical) {
    if (run.first == run.last && !out.empty()) {
      ColouredRun& tail = out.back();
      const bool open = tail.first == tail.last || tail.step > 1;
      const Vertex gap = run.first - tail.last;
      if (open && tail.colour_step == 0 && tail.colour == run.colour && gap > 1 && (tail.first == tail.last || tail.step == gap)) {
        tail.step = gap;
        tail.last = run.last;
        continue;
      }
    }
    out.push_back(run);
  }
  canonical = out;
}

}  // namespace sightline::symmetry

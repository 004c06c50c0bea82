// Runs and rows: arithmetic progressions of vertices, their sets, and the patterns of a certificate.
#include <algorithm>
#include <numeric>
#include <tuple>

#include "layout.hpp"
#include "poll.hpp"

namespace checker {
namespace {

/// The member of x + period Z that is the least one >= lo.
std::int64_t lift(std::int64_t x, std::int64_t lo, std::int64_t period) {
  const std::int64_t rest = (x - lo) % period;
  return lo + (rest < 0 ? rest + period : rest);
}

void spend(std::uint64_t& work, std::uint64_t steps) {
  if (work < steps) throw Rejected("patterns", "too many runs to compare");
  work -= steps;
}

bool less(const Run& a, const Run& b) { return std::tie(a.first, a.last, a.step, a.colour) < std::tie(b.first, b.last, b.step, b.colour); }

/// Sorted, neighbours of step 1 joined, single vertices with step 1.
void normalise(Row& row) {
  for (Run& run : row)
    if (run.first == run.last) run.step = 1;
  std::sort(row.begin(), row.end(), less);
  std::size_t kept = 0;
  for (const Run& run : row) {
    if (kept > 0 && row[kept - 1].step == 1 && run.step == 1 && row[kept - 1].last + 1 == run.first && row[kept - 1].colour == run.colour)
      row[kept - 1].last = run.last;
    else
      row[kept++] = run;
  }
  row.resize(kept);
}

Run make_run(std::int64_t first, std::int64_t last, std::int64_t step, const Run& like) {
  Run run = like;
  run.first = static_cast<Vertex>(first);
  run.last = static_cast<Vertex>(last);
  run.step = first == last ? 1 : static_cast<Vertex>(step);
  return run;
}

void append(std::int64_t first, std::int64_t last, std::int64_t step, const Run& like, Row& out) {
  if (first <= last) out.push_back(make_run(first, last, step, like));
}

}  // namespace

std::optional<Run> meet(const Run& a, const Run& b) {
  const std::int64_t lo = std::max(a.first, b.first), hi = std::min(a.last, b.last);
  if (lo > hi) return std::nullopt;
  if (a.step == 1 && b.step == 1) return make_run(lo, hi, 1, a);
  // Extended Euclid: in the end `step` = gcd(a.step, b.step) = a.step * factor mod b.step.
  std::int64_t step = a.step, factor = 1;
  for (std::int64_t other = b.step, other_factor = 0; other != 0;) {
    const std::int64_t quotient = step / other;
    step = std::exchange(other, step - quotient * other);
    factor = std::exchange(other_factor, factor - quotient * other_factor);
  }
  const std::int64_t apart = std::int64_t{b.first} - a.first, modulus = b.step / step;
  if (apart % step != 0) return std::nullopt;
  const std::int64_t period = a.step * modulus, steps = apart / step % modulus * (factor % modulus) % modulus;
  const std::int64_t first = lift(a.first + a.step * steps, lo, period);
  if (first > hi) return std::nullopt;
  return make_run(first, first + (hi - first) / period * period, period, a);
}

Row subtract(const Row& a, const Row& b) {
  Row left = a, next;
  for (const Run& taken : b) {
    next.clear();
    for (const Run& run : left) {
      const std::optional<Run> common = meet(run, taken);
      if (!common) {
        next.push_back(run);
        continue;
      }
      const std::int64_t step = run.step, first = common->first, last = common->last, period = common->step;
      append(run.first, first - step, step, run, next);
      append(last + step, run.last, step, run, next);
      if (first == last) continue;
      // Between the members of both: class by class or gap by gap, whichever is less.
      if (period / step - 1 <= (last - first) / period) {
        for (std::int64_t x = step; x < period; x += step) append(first + x, last - period + x, period, run, next);
      } else {
        for (std::int64_t x = first; x < last; x += period) append(x + step, x + period - step, step, run, next);
      }
    }
    left.swap(next);
  }
  return left;
}

bool same_row(Row a, Row b, std::uint64_t& work) {
  if (a == b) return true;
  normalise(a);
  normalise(b);
  Row only_a, only_b;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(only_a), less);
  std::set_difference(b.begin(), b.end(), a.begin(), a.end(), std::back_inserter(only_b), less);
  const auto count = [](const Row& row) {
    return std::accumulate(row.begin(), row.end(), std::uint64_t{0}, [](std::uint64_t sum, const Run& run) { return sum + run.size(); });
  };
  if (count(only_a) != count(only_b)) return false;
  // Both are disjoint and of one size, so they are equal when they have as many members in common.
  poll();
  spend(work, only_a.size() * only_b.size());
  std::uint64_t common = 0;
  for (const Run& x : only_a)
    for (const Run& y : only_b)
      if (const std::optional<Run> both = x.colour == y.colour ? meet(x, y) : std::nullopt) common += both->size();
  return common == count(only_a);
}

bool is_disjoint(const Row& row, std::uint64_t& work) {
  for (std::size_t k = 0; k < row.size(); ++k)
    for (std::size_t j = k + 1; j < row.size() && row[j].first <= row[k].last; ++j) {
      spend(work, 1);
      if (meet(row[k], row[j])) return false;
    }
  return true;
}

const Pattern::Segment& Pattern::segment_of(Vertex i) const {
  if (segments.size() == 1) return segments.front();
  const Segment& even = segments[std::uint64_t{i} * segments.size() / vertices];  // the one where all are equally long
  if (i >= even.first && i - even.first < even.count) return even;
  return *(std::upper_bound(segments.begin(), segments.end(), i, [](Vertex x, const Segment& segment) { return x < segment.first; }) - 1);
}

Vertex Pattern::same_row_until(Vertex i) const {
  const Segment& segment = segment_of(i);
  for (const std::uint32_t list : {segment.list, segment.tail}) {
    if (list == none) continue;
    for (const MovingRun& run : lists[list]) {
      if (run.lo_slope != 0 || run.hi_slope != 0) return i + 1;
    }
  }
  return segment.first + segment.count;
}

void Pattern::row(Vertex i, std::vector<Run>& out) const {
  poll();
  out.clear();
  const Segment& segment = segment_of(i);
  const Vertex k = i - segment.first;
  for (const std::uint32_t list : {segment.list, segment.tail}) {
    if (list != none) append_runs(lists[list], k, out);
  }
  sort_runs(out);
}

void sort_runs(std::vector<Run>& row) {
  const auto before = [](const Run& a, const Run& b) { return a.first < b.first; };
  if (!std::is_sorted(row.begin(), row.end(), before)) std::sort(row.begin(), row.end(), less);
}

void Pattern::split_row(const Segment& segment, std::vector<Run>& still, std::vector<MovingRun>& moving) const {
  std::vector<MovingRun> fixed;
  moving.clear();
  for (const std::uint32_t list : {segment.list, segment.tail}) {
    if (list == none) continue;
    for (const MovingRun& run : lists[list]) {
      // An end that comes to no further member as it moves leaves the run as it is.
      const bool stays = run.lo_slope == 0 && run.lo <= run.hi && (run.hi - run.lo) / run.step == (run.hi + run.hi_slope * (segment.count - 1) - run.lo) / run.step;
      const bool is_empty = run.lo_slope == 0 && run.hi_slope == 0 && run.lo > run.hi;
      if (!is_empty) (stays ? fixed : moving).push_back(run);
    }
  }
  still.clear();
  append_runs(fixed, 0, still);
}

bool same_rows(const Pattern& a, const Pattern& b) {
  if (a.vertices != b.vertices) return false;
  if (a.segments == b.segments && a.lists == b.lists) return true;
  std::uint64_t work = std::uint64_t{1} << 32;
  Row left, right;
  for (Vertex i = 0; i < a.vertices; ++i) {
    a.row(i, left);
    b.row(i, right);
    if (!same_row(left, right, work)) return false;
  }
  return true;
}

namespace {

/// Walks nested lists of integers: Malformed where there is something else.
class TableReader {
public:
  explicit TableReader(const Json& json) : numbers_(json.numbers()), at_(numbers_->data()) {}
  /// Enters a list of lists, or of integers; how many members it has.
  std::size_t enter(bool lists, const char* expected) {
    const std::int64_t header = *at_++;
    if (header != 0 && (header % 2 == 1) != lists) throw Malformed(expected);
    return static_cast<std::size_t>(header / 2);
  }
  [[nodiscard]] std::int64_t integer() { return *at_++; }
  [[nodiscard]] std::uint64_t natural(std::uint64_t limit) { return Json(*at_++).natural(limit); }

private:
  std::shared_ptr<const Json::Numbers> numbers_;
  const std::int64_t* at_;
};

}  // namespace

Pattern read_pattern(const Json& json, Vertex vertices) {
  if (json.object().size() != 3) throw Malformed("a pattern has the keys lists, segments and vertices");
  Pattern out;
  out.vertices = static_cast<Vertex>(json["vertices"].natural(vertices));
  if (out.vertices != vertices) throw Malformed("a pattern of " + std::to_string(out.vertices) + " vertices, not " + std::to_string(vertices));
  std::vector<std::uint64_t> farthest;  // of the moving ends of a list
  constexpr const char *list_expected = "a list of runs is expected", *run_expected = "a run is [lo,hi,step,colour,lo_slope,hi_slope]",
                       *segment_expected = "a segment is [first,count,list,tail]";
  TableReader lists(json["lists"]);
  for (std::size_t left = lists.enter(true, list_expected); left > 0; --left) {
    std::vector<MovingRun>& runs = out.lists.emplace_back(lists.enter(true, list_expected));
    farthest.push_back(0);
    for (MovingRun& run : runs) {
      if (lists.enter(false, run_expected) != 6) throw Malformed(run_expected);
      run.lo = static_cast<Vertex>(lists.natural(vertices));
      run.hi = static_cast<Vertex>(lists.natural(vertices - 1));
      run.step = static_cast<Vertex>(lists.natural(vertices));
      run.colour = static_cast<std::uint32_t>(lists.natural(~std::uint32_t{0}));
      run.lo_slope = static_cast<std::uint8_t>(lists.natural(1));
      run.hi_slope = static_cast<std::uint8_t>(lists.natural(1));
      if (run.step == 0 || run.colour == 0) throw Malformed("a run has a step and a colour from 1 on");
      if (run.hi_slope == 1) farthest.back() = std::max<std::uint64_t>(farthest.back(), run.hi);
    }
  }
  std::uint64_t next = 0, runs = 0;
  std::vector<bool> used(out.lists.size(), false);
  TableReader segments(json["segments"]);
  for (std::size_t left = segments.enter(true, segment_expected); left > 0; --left) {
    if (segments.enter(false, segment_expected) != 4) throw Malformed(segment_expected);
    if (segments.natural(vertices) != next) throw Malformed("segments cover the readers in order");
    const std::uint64_t count = segments.natural(vertices - next);
    if (count == 0) throw Malformed("segments cover the readers in order");
    Pattern::Segment& segment = out.segments.emplace_back();
    segment.first = static_cast<Vertex>(next);
    segment.count = static_cast<Vertex>(count);
    const auto use = [&](std::int64_t number) {
      const auto list = static_cast<std::uint32_t>(Json(number).natural(used.size() - 1));
      used[list] = true;
      if (farthest[list] + count > vertices) throw Malformed("a run leads beyond the last vertex");
      runs += count * out.lists[list].size();
      return list;
    };
    if (used.empty()) throw Malformed("a segment without a list");
    segment.list = use(segments.integer());
    if (const std::int64_t tail = segments.integer(); tail != -1) segment.tail = use(tail);
    next += count;
  }
  if (next != vertices) throw Malformed("segments cover the readers in order");
  if (std::find(used.begin(), used.end(), false) != used.end()) throw Malformed("a list of runs that no segment uses");
  if (runs >> 31 != 0) throw Malformed("a pattern of too many runs");
  return out;
}

}  // namespace checker

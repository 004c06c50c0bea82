// The layout of an architecture, made again from its canonical JSON: patterns, colours, layers (theory 2.4, 2.5; format "layout").
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "json.hpp"
#include "poll.hpp"

namespace checker {

using Vertex = std::uint32_t;
inline constexpr Vertex none = ~Vertex{0};  ///< stands for no vertex, and where numbers run by vertex for no number

/// first, first+step, .., last; the k-th of them is read with colour + k * colour_step.
struct Run {
  Vertex first = 0, last = 0, step = 1;
  std::int64_t colour = 1, colour_step = 0;
  [[nodiscard]] Vertex size() const { return (last - first) / step + 1; }
  friend bool operator==(const Run&, const Run&) = default;
};

/// A run whose ends may move with the reader: for the k-th reader of its segment (k = 0, 1, ..) it is
/// lo + lo_slope k, + step, .. <= hi + hi_slope k (slopes 0 or 1; hi need not be a member; empty when lo > hi).
struct MovingRun {
  Vertex lo = 0, hi = 0, step = 1;
  std::uint32_t colour = 1;
  std::uint8_t lo_slope = 0, hi_slope = 0;
  friend bool operator==(const MovingRun&, const MovingRun&) = default;
};

/// Who reads whom. Readers first .. first+count-1 of a segment share their lists of runs (list, and tail unless none).
class Pattern {
public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  struct Segment {
    Vertex first = 0, count = 0;
    std::uint32_t list = none, tail = none;
    friend bool operator==(const Segment&, const Segment&) = default;
  };
  Vertex vertices = 0;
  std::vector<std::vector<MovingRun>> lists;
  std::vector<Segment> segments;  ///< cover 0 .. vertices-1 in order

  /// Runs of reader i, sorted, disjoint, colour = matrix colour (1 = plain), a run of one vertex has step 1. O(log segments + runs).
  void row(Vertex i, std::vector<Run>& out) const;
  /// End of the readers i, i+1, .. that are known to have the row of i: those of its segment when no run of it moves.
  [[nodiscard]] Vertex same_row_until(Vertex i) const;

  /// visit(begin, end, runs), readers in order: begin .. end-1 have this row, as row() gives it. Until visit says false; did it never?
  template <class Visit> bool visit_rows(const Visit& visit) const;
  /// visit(begin, end, runs, moves), readers in order: begin has this row, and so have begin+1 .. end-1; or, where it moves, each of them the row of the
  /// one before with every vertex one further. Until visit says false; did it never?
  template <class Visit> bool visit_stretches(const Visit& visit) const;

  [[nodiscard]] const Segment& segment_of(Vertex i) const;
  /// The runs that are the same for all readers of a segment, and those that are not.
  void split_row(const Segment& segment, std::vector<Run>& still, std::vector<MovingRun>& moving) const;
};

/// What the k-th reader of a segment reads by these runs.
inline void append_runs(const std::vector<MovingRun>& runs, Vertex k, std::vector<Run>& out) {
  const std::size_t before = out.size();
  out.resize(before + runs.size());  // each row of each relation comes by here many times
  Run* next = out.data() + before;
  for (const MovingRun& run : runs) {
    const Vertex lo = run.lo + run.lo_slope * k, hi = run.hi + run.hi_slope * k;
    if (lo > hi) continue;
    const Vertex last = run.step == 1 ? hi : lo + (hi - lo) / run.step * run.step;
    *next++ = {lo, last, lo == last ? 1 : run.step, run.colour, 0};
  }
  out.resize(static_cast<std::size_t>(next - out.data()));
}
void sort_runs(std::vector<Run>& row);  ///< as row() has them

template <class Visit>
bool Pattern::visit_rows(const Visit& visit) const {
  const auto moves = [&](std::uint32_t list) {
    if (list == none) return false;
    for (const MovingRun& run : lists[list]) {
      if (run.lo_slope != 0 || run.hi_slope != 0) return true;
    }
    return false;
  };
  std::vector<Run> runs;
  for (const Segment& segment : segments) {
    const bool moving = segment.count > 1 && (moves(segment.list) || moves(segment.tail));
    for (Vertex k = 0; k < (moving ? segment.count : 1); ++k) {
      poll();
      runs.clear();
      for (const std::uint32_t list : {segment.list, segment.tail}) {
        if (list != none) append_runs(lists[list], k, runs);
      }
      sort_runs(runs);
      const Vertex begin = segment.first + k;
      if (!visit(begin, moving ? begin + 1 : segment.first + segment.count, std::as_const(runs))) return false;
    }
  }
  return true;
}

template <class Visit>
bool Pattern::visit_stretches(const Visit& visit) const {
  std::vector<Run> runs;
  const auto take = [&](const Segment& segment, Vertex k) {
    poll();
    runs.clear();
    for (const std::uint32_t list : {segment.list, segment.tail}) {
      if (list != none) append_runs(lists[list], k, runs);
    }
    sort_runs(runs);
  };
  for (const Segment& segment : segments) {
    bool stays = true, moves = true;
    for (const std::uint32_t list : {segment.list, segment.tail}) {
      if (list == none) continue;
      for (const MovingRun& run : lists[list]) {
        stays = stays && run.lo_slope == 0 && run.hi_slope == 0;
        moves = moves && run.lo_slope == 1 && run.hi_slope == 1;
      }
    }
    const Vertex count = stays || moves ? segment.count : 1;
    for (Vertex k = 0; k < segment.count; k += count) {
      take(segment, k);
      if (!visit(segment.first + k, segment.first + k + count, std::as_const(runs), !stays && moves && count > 1)) return false;
    }
  }
  return true;
}

/// Do both hold the same arcs with the same colours? Exact; O(runs of all rows), less where both are written alike.
[[nodiscard]] bool same_rows(const Pattern& a, const Pattern& b);

/// One row as disjoint runs, in any order, colour_step 0 throughout.
using Row = std::vector<Run>;
/// The members of both runs (with the colour of a): arithmetic progressions meet in one.
[[nodiscard]] std::optional<Run> meet(const Run& a, const Run& b);
/// a without the members of b; the runs of each are disjoint.
[[nodiscard]] Row subtract(const Row& a, const Row& b);
/// Same members with the same colours; both disjoint. Takes the steps it needs from `work`; Rejected("patterns", ..) when they are spent.
[[nodiscard]] bool same_row(Row a, Row b, std::uint64_t& work);
[[nodiscard]] bool is_disjoint(const Row& row, std::uint64_t& work);
/// Reads one pattern of the certificate: types, ranges, sizes; every list is used. Rows may still overlap.
[[nodiscard]] Pattern read_pattern(const Json& json, Vertex vertices);

/// The patterns of an architecture, made again by their definition row by row and held to those of the certificate, in the order of
/// first use. Of `bigbird`, `random` and `file` the runs before `causal` stand in the certificate; they are taken from there.
class PatternSource {
public:
  PatternSource(Vertex tokens, Vertex registers, const Json& patterns, std::vector<std::string>& trusted);
  /// The patterns of all heads (one when all share it) that a canonical `pattern` describes. Throws Rejected("patterns", ..), Malformed.
  [[nodiscard]] std::vector<std::shared_ptr<const Pattern>> heads(const Json& spec, std::uint64_t heads);
  /// What a reader reads by the definition; and, where that is known, the end of the readers behind it whose rows move along with them.
  struct Rule {
    std::function<void(Vertex reader, Row& out)> row;
    std::function<Vertex(Vertex reader)> moves_until = [](Vertex reader) { return reader + 1; };
    Rule() = default;
    template <class Function, class = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<Function>, Rule>>>
    Rule(Function&& function) : row(std::forward<Function>(function)) {}  // NOLINT: a rule is mostly nothing else
    void operator()(Vertex reader, Row& out) const { row(reader, out); }
  };
  /// The next pattern of the certificate, which must have these rows, or the same one as before for the same key.
  [[nodiscard]] std::shared_ptr<const Pattern> held_to(const std::string& key, const std::string& kind, const std::function<Rule()>& rule);
  void finish() const;  ///< throws Rejected("patterns", ..) when the certificate has more of them

private:
  [[nodiscard]] std::shared_ptr<const Pattern> one(const Json& spec, std::uint64_t head, std::uint64_t heads);
  [[nodiscard]] std::uint64_t count_heads(const Json& spec, std::uint64_t heads) const;
  [[nodiscard]] Rule make_rule(const Json& spec, std::uint64_t head, std::uint64_t heads);
  [[nodiscard]] Rule make_kind(const Json& spec, std::uint64_t head, std::uint64_t heads);
  [[nodiscard]] std::shared_ptr<const Pattern> take(const std::string& key);
  [[nodiscard]] std::shared_ptr<const Pattern> leaf(const Json& spec, std::uint64_t head, std::uint64_t heads);

  std::int64_t tokens_, vertices_;
  const Json* patterns_;
  std::vector<std::string>* trusted_;
  std::size_t next_ = 0;
  std::uint64_t work_ = std::uint64_t{1} << 32;
  std::map<std::string, std::shared_ptr<const Pattern>> known_;
};

enum class RelativeKind { none, offset, distance, bucket, grid_offset, column, pair };
enum class Cancels { nothing, single_colour, common_shift };

/// One head's coloured relation; effective and raw colours as sightline/layout documents them (theory 2.5, 15.8).
class Relation {
public:
  std::shared_ptr<const Pattern> pattern;
  RelativeKind relative = RelativeKind::none;
  std::uint32_t buckets = 32, max_distance = 128, grid_width = 0;
  bool bidirectional = true;
  Cancels cancels = Cancels::nothing;
  Vertex tokens = 0;
  /// T5: where stretches of equal buckets begin, by j - i, from 1 - tokens on, and their buckets (set_buckets).
  std::vector<std::pair<std::int64_t, std::uint32_t>> bucket_starts;

  void set_buckets();
  /// Effective colours (>= 0), what normalisation forgets taken away.
  void row(Vertex i, std::vector<Run>& out) const;
  /// Pattern::same_row_until; i + 1 with relative positions.
  [[nodiscard]] Vertex same_row_until(Vertex i) const { return relative == RelativeKind::none ? pattern->same_row_until(i) : i + 1; }
  /// Colours as given (>= 1): 1 + (matrix colour - 1) * R + relative colour.
  void raw_row(Vertex i, std::vector<Run>& out) const;
  [[nodiscard]] std::int64_t relative_count() const;  ///< R
  [[nodiscard]] std::int64_t colour(Vertex i, Vertex j) const;  ///< effective, -1 when absent

private:
  [[nodiscard]] std::int64_t relative_colour(std::int64_t i, std::int64_t j) const;
  [[nodiscard]] std::int64_t stretch_end(std::int64_t i, std::int64_t j, std::int64_t step) const;
};

/// Vertices 0 .. tokens-1 are tokens, then registers. Relations and layers are distinct; order[q-1] is the layer applied q-th.
struct Layout {
  Vertex tokens = 0, registers = 0;
  std::vector<std::uint64_t> vertex_colour;  ///< a token never has the colour of a register
  std::vector<Relation> relations;
  std::vector<std::vector<std::uint32_t>> layers;  ///< relation numbers, sorted and distinct
  std::vector<std::uint32_t> order;
  [[nodiscard]] Vertex vertices() const { return tokens + registers; }
  [[nodiscard]] const std::vector<std::uint32_t>& layer(std::uint64_t q) const { return layers[order[(q - 1) % order.size()]]; }
};

/// Checks the embedded architecture against the grammar of the canonical form: every key there, none else, types, words and ranges;
/// then the rules across keys that verdicts rely on. Throws Malformed with the path.
void validate_architecture(const Json& architecture);

/// Makes every pattern again from the architecture and compares it with the runs in the certificate ("patterns", in order of first
/// use); `bigbird`, `random` and `file` patterns are taken from the certificate, sizes compared, and named in `trusted`.
/// Throws Rejected("patterns", ...).
[[nodiscard]] Layout make_layout(const Json& architecture, const Json& patterns, std::vector<std::string>& trusted);

/// T5's bucket of j - i, float32 logarithm as published.
[[nodiscard]] std::uint32_t t5_bucket(std::int64_t offset, std::uint32_t buckets, std::uint32_t max_distance, bool bidirectional);

}  // namespace checker

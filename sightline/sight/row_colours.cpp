// Tokens that are told apart by what they read alone: then no view that holds all its rows can be confused with another.
#include <algorithm>

#include "sightline/base/mix.hpp"
#include "sightline/layout/steady_rows.hpp"
#include "sightline/sight/prefix_sums.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

// One relation's rows, reader by reader. Where one colour is all there is, runs that are the same for all readers of a stretch, below the first of them, are
// summed once: the summary columns of a fixed pattern, shared by all of a block.
class SegmentReader {
public:
  explicit SegmentReader(const layout::Relation& relation) : relation_(relation), rows_(relation.pattern(), 1) {}

  // The runs to look at; `shared`: the sum over all others. Readers in ascending order.
  const std::vector<layout::ColouredRun>& read(Vertex i, const PrefixSums& sums, std::uint64_t& shared) {
    if (rows_.go_to(i)) begin_stretch(i, sums);
    shared = shared_;
    if (!is_shared_) {
      relation_.row(i, row_);
      return row_;
    }
    rows_.rest(i, rest_);
    row_ = near_;
    for (const layout::Run& run : rest_) row_.push_back({run.first, run.last, run.step, colour_, 0});
    return row_;
  }

private:
  void begin_stretch(Vertex i, const PrefixSums& sums) {
    shared_ = 0;
    is_shared_ = relation_.is_plain() && !rows_.steady().empty();
    if (!is_shared_) return;
    relation_.row(i, row_);
    colour_ = row_.front().colour;
    near_.clear();
    for (const layout::Run& run : rows_.steady()) {
      if (run.last < i && sums.knows(run.step)) shared_ += mix(static_cast<std::uint64_t>(colour_) + 3) * sums.over(run.first, run.last, run.step);
      else near_.push_back({run.first, run.last, run.step, colour_, 0});
    }
  }

  const layout::Relation& relation_;
  layout::SteadyRows rows_;
  std::uint64_t shared_ = 0;
  bool is_shared_ = false;
  std::int64_t colour_ = 0;
  std::vector<layout::ColouredRun> near_, row_;
  std::vector<layout::Run> rest_;
};

// Rows that go down only: c(i) = hash of i's colour, of the colours of its loops, and per relation of the multiset of (arc
// colour, c(j)) over the j < i that it reads. An isomorphism of views in which every row counts maps what i reads to what its
// image reads, so by induction along the arcs it preserves c. When all c differ it moves nothing.
bool find_whether_rows_name_tokens(const Layout& layout, const Budget& budget) {
  const Vertex vertices = layout.vertices();
  if (layout.has_equal_registers()) return false;
  std::vector<const layout::Relation*> relations;  // those that some layer reads by
  for (std::uint32_t r = 0; r < layout.relations.size(); ++r) {
    const auto reads_by = [&](std::uint32_t l) { return std::binary_search(layout.layers[l].relations.begin(), layout.layers[l].relations.end(), r); };
    if (std::any_of(layout.order.begin(), layout.order.end(), reads_by)) relations.push_back(&layout.relations[r]);
  }
  // Most rows that go up do so from the beginning.
  const auto goes_up = [](const layout::Relation* relation) {
    const std::vector<layout::Run> first = relation->pattern().row(0);
    return std::any_of(first.begin(), first.end(), [](const layout::Run& run) { return run.last > 0; });
  };
  if (std::any_of(relations.begin(), relations.end(), goes_up)) return false;
  Booking booking(budget, 24 * std::uint64_t{vertices});
  PrefixSums sums(vertices);
  std::vector<std::uint64_t> colour(vertices);
  std::vector<SegmentReader> readers;
  for (const layout::Relation* relation : relations) readers.emplace_back(*relation);
  sums.use(1);
  for (const layout::Relation* relation : relations) sums.use(relation->pattern());
  std::uint64_t work = 0;
  for (Vertex i = 0; i < vertices; ++i) {
    budget.poll();
    std::uint64_t value = mix(layout.vertex_colour[i] + 1);
    for (SegmentReader& reader : readers) {
      std::uint64_t read = 0, loop = 0;
      for (const layout::ColouredRun& run : reader.read(i, sums, read)) {
        if (run.last > i) return false;
        const Vertex last = run.last == i ? (run.last - run.first >= run.step ? run.last - run.step : i) : run.last;
        if (run.last == i) {
          loop = mix(static_cast<std::uint64_t>(run.colour + run.colour_step * std::int64_t{(run.last - run.first) / run.step}) + 7);
          if (run.first == i) continue;
        }
        if (run.colour_step == 0 && sums.knows(run.step)) {
          read += mix(static_cast<std::uint64_t>(run.colour) + 3) * sums.over(run.first, last, run.step);
          continue;
        }
        if (work += (last - run.first) / run.step + 1; work > 256 * std::uint64_t{vertices}) return false;
        std::int64_t c = run.colour;
        for (std::uint64_t j = run.first; j <= last; j += run.step, c += run.colour_step) read += mix(static_cast<std::uint64_t>(c) + 3) * colour[j];
      }
      value = mix(value + mix(read + 11) + 13 * loop);
    }
    colour[i] = value;
    sums.put(i, value);
  }
  std::sort(colour.begin(), colour.end());
  return std::adjacent_find(colour.begin(), colour.end()) == colour.end();
}

}  // namespace

bool do_rows_name_tokens(const Layout& layout, const Budget& budget) {
  ReachMemory::Entry* const memory = ReachMemory::find(layout);
  // The memory knows patterns; colours count here.
  const auto is_coloured_alike = [](const layout::Relation& a, const layout::Relation& b) { return a.relative() == b.relative() && a.cancels() == b.cancels() && a.tokens() == b.tokens(); };
  const auto starts_apart = [&](std::uint64_t colour) { return colour != layout.vertex_colour.front(); };
  if (memory == nullptr || std::any_of(layout.vertex_colour.begin(), layout.vertex_colour.end(), starts_apart) ||
      !std::equal(layout.relations.begin(), layout.relations.end(), memory->layout.relations.begin(), is_coloured_alike)) {
    return find_whether_rows_name_tokens(layout, budget);
  }
  if (!memory->names_tokens) memory->names_tokens = find_whether_rows_name_tokens(layout, budget);
  return *memory->names_tokens;
}

}  // namespace sightline::sight

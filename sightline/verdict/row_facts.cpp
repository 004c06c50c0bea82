#include "sightline/verdict/row_facts.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace sightline::verdict {

using layout::RelativeKind;
using layout::Run;
using layout::Vertex;

namespace {

bool contains(const std::vector<Run>& row, Vertex j) {
  return std::any_of(row.begin(), row.end(), [&](const Run& run) { return run.contains(j); });
}

/// Says for one relation, reader by reader, whether every colour stands for one offset j - i in all rows together.
class OffsetNames {
public:
  explicit OffsetNames(const layout::Relation& relation) : relation_(relation) {}

  [[nodiscard]] bool take(Vertex i, const std::vector<Run>& row) {
    std::vector<Shifted> shifted;
    shifted.reserve(row.size());
    for (const Run& run : row) shifted.push_back({std::int64_t{run.first} - i, std::int64_t{run.last} - i, run.step, run.colour});
    if (shifted == last_) return true;  // windows: the same offsets, row after row
    last_ = std::move(shifted);
    for (const Shifted& run : last_) {
      for (std::int64_t offset = run.first; offset <= run.last; offset += run.step) {
        const auto [place, fresh] = offset_.try_emplace(colour_of(run, offset), offset);
        if (!fresh && place->second != offset) return false;
      }
    }
    return true;
  }

private:
  struct Shifted {
    std::int64_t first, last, step;
    std::uint32_t colour;
    bool operator==(const Shifted&) const = default;
  };
  [[nodiscard]] std::uint32_t colour_of(const Shifted& run, std::int64_t offset) const {
    return relation_.relative().kind == RelativeKind::bucket ? layout::compute_t5_bucket(offset, relation_.relative()) : run.colour;
  }

  const layout::Relation& relation_;
  std::vector<Shifted> last_;
  std::map<std::uint32_t, std::int64_t> offset_;
};

}  // namespace

RowFacts compute_row_facts(const layout::Relation& relation, Vertex tokens, const Budget& budget) {
  RowFacts facts;
  const RelativeKind kind = relation.relative().kind;
  const bool looks = kind == RelativeKind::none || kind == RelativeKind::bucket;  // the other kinds are settled without a look at colours
  facts.names_offsets = kind != RelativeKind::column;
  bool left = false;
  OffsetNames names(relation);
  std::vector<Run> row;
  for (Vertex i = 0, end = 0; i < tokens; i = end) {
    budget.poll();
    end = std::min(tokens, relation.same_row_until(i));
    relation.pattern().row(i, row);
    std::uint64_t read = 0, early = 0;
    for (const Run& run : row) {
      left = left || run.first + 1 < end;
      if (run.last >= tokens) facts.registers = true;
      if (run.first >= tokens) continue;
      const Vertex last = std::min<Vertex>(run.last, tokens - 1);
      const std::uint64_t size = (last - run.first) / run.step + 1;
      read += size;
      if (run.first <= i) early += (std::min(last, i) - run.first) / run.step + 1;
      if (run.first + (size - 1) * run.step > i) facts.causal = false;
    }
    if (row.empty()) facts.nonempty = false;
    for (Vertex reader = i; reader < end && facts.loops; ++reader) facts.loops = contains(row, reader);
    if (read != tokens) facts.full = false;
    if (end - i > 1 || early != i + 1ull || read != early) facts.full_causal = false;
    if (!contains(row, 0)) facts.bos_in_every_row = false;
    // Equal rows of two readers show one token at two offsets.
    if (looks && facts.names_offsets) facts.names_offsets = row.empty() || (end - i == 1 && names.take(i, row));
  }
  if (kind == RelativeKind::distance) facts.names_offsets = facts.causal || !left;
  facts.names_offsets = facts.names_offsets && !facts.registers;
  return facts;
}

}  // namespace sightline::verdict

// Facts about all rows of a relation that the closed forms for token ids ask for (theory 15.5, 15.8, 16.24).
#include <algorithm>
#include <map>
#include <optional>

#include "labels.hpp"

namespace checker {

namespace {

bool reads(const std::vector<Run>& row, Vertex j) {
  return std::any_of(row.begin(), row.end(), [&](const Run& run) { return j >= run.first && j <= run.last && (j - run.first) % run.step == 0; });
}

}  // namespace

RowFacts row_facts(const Relation& relation, Vertex tokens) {
  RowFacts facts;
  const RelativeKind kind = relation.relative;
  const bool looks = kind == RelativeKind::none || kind == RelativeKind::bucket;  // the other kinds are settled without a look at colours
  facts.names_offsets = kind != RelativeKind::column;
  bool left = false, registers = false;
  std::optional<std::int64_t> colour;
  std::map<std::int64_t, std::int64_t> offset_of;
  std::vector<Run> row, shifted, last_shifted;
  for (Vertex i = 0, end = 0; i < relation.pattern->vertices; i = end) {
    end = relation.same_row_until(i);
    if (i < tokens) end = i == 0 ? 1 : std::min(end, tokens);  // a BOS may be left out in the rows of others only
    relation.pattern->row(i, row);
    std::uint64_t read = 0, early = 0;
    bool own = i < tokens;
    for (Vertex reader = i; reader < end && own; ++reader) own = reads(row, reader);
    for (const Run& run : row) {
      if (!colour) colour = run.colour;
      facts.plain = facts.plain && run.colour == *colour;
      if (i >= tokens) continue;
      registers = registers || run.last >= tokens;
      left = left || run.first + 1 < end;
      if (run.first >= tokens) continue;
      const std::uint64_t size = (std::min(run.last, tokens - 1) - run.first) / run.step + 1;
      read += size;
      early += run.first <= i ? std::min<std::uint64_t>(size, (i - run.first) / run.step + 1) : 0;
    }
    if (i >= tokens) continue;
    facts.nonempty = facts.nonempty && !row.empty();
    facts.loops = facts.loops && own;
    facts.causal = facts.causal && early == read;
    facts.full = facts.full && read == tokens;
    facts.full_causal = facts.full_causal && end - i == 1 && early == i + std::uint64_t{1} && read == early;
    facts.bos_in_every_row = facts.bos_in_every_row && reads(row, 0);
    if (!looks || !facts.names_offsets || row.empty()) continue;
    facts.names_offsets = end - i == 1;  // equal rows of two readers show one token at two offsets
    shifted = row;
    for (Run& run : shifted) run.first -= i, run.last -= i;  // modulo 2^32: windows have the same, row after row
    if (shifted == last_shifted) continue;
    std::swap(shifted, last_shifted);
    for (const Run& run : row) {
      for (std::uint64_t j = run.first; j <= run.last && facts.names_offsets; j += run.step) {
        const std::int64_t offset = static_cast<std::int64_t>(j) - i;
        const std::int64_t colour = kind == RelativeKind::none ? run.colour : t5_bucket(offset, relation.buckets, relation.max_distance, relation.bidirectional);
        facts.names_offsets = offset_of.try_emplace(colour, offset).first->second == offset;
      }
    }
  }
  if (kind == RelativeKind::distance) facts.names_offsets = facts.causal || !left;
  facts.names_offsets = facts.names_offsets && !registers;
  facts.registers = registers;
  return facts;
}

}  // namespace checker

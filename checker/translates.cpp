// Views of layouts whose rows are translates of one another: i reads i + d for the same d everywhere, cut off at both ends of the line.
//
// Rows that go down. y = a - j: the paths from a to j stay between them, so t_a(j) = T(y) and the visible readers of j stand at y - d whatever the root
// is. c(y), a hash of T(y) and of the c of the readers of y, is kept by every isomorphism of views. Where all are seen and all c differ, an
// isomorphism keeps y: it moves nothing, and goes from no root to another, whose view has another size.
//
// Strided rows: |d| <= s or s | d, with s >= 3 and n >= 5 s, in every layer. From two layers on isomorphisms of views are the identity or the
// reflection, restricted (docs/theory.md 16.27).
#include <algorithm>
#include <cstdlib>

#include "field.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// The offsets of a relation, with colours; of one colour where they go up. What colour loops have is not looked at where a loop is a run by itself.
struct Offsets {
  struct Span {
    std::int64_t first, last, step, colour;
  };
  std::int64_t tokens;
  std::vector<Span> spans;   ///< may overlap
  std::vector<bool> member;  ///< by offset + tokens
  bool one_colour = true;

  explicit Offsets(Vertex n) : tokens(n), member(2 * std::size_t{n} + 1, false) {}
  [[nodiscard]] bool has(std::int64_t d) const { return member[static_cast<std::size_t>(d + tokens)]; }

  /// Takes in the row of i; false where it has runs of several colours or too many runs.
  bool take(const Relation& relation, Vertex i) {
    std::vector<Run> row;
    relation.row(i, row);
    for (const Run& run : row) {
      if (run.colour_step != 0) return false;
      const Span span{std::int64_t{run.first} - i, std::int64_t{run.last} - i, run.step, run.colour};
      if (row.size() == 1 && run.first == i && run.last == i && !spans.empty()) {
        if (!has(0)) return false;
        continue;  // may have forgotten its colour
      }
      spans.push_back(span);
      one_colour = one_colour && span.colour == spans.front().colour;
      for (std::int64_t d = span.first; d <= span.last; d += span.step) member[static_cast<std::size_t>(d + tokens)] = true;
    }
    return spans.size() <= 64;
  }

  /// Stretches of neighbours on both sides of 0 are one.
  void join_middle() {
    Span middle{0, 0, 1, spans.front().colour};
    for (const Span& span : spans) {
      if (span.step != 1 || span.first > 0 || span.last < 0) continue;
      middle.first = std::min(middle.first, span.first);
      middle.last = std::max(middle.last, span.last);
    }
    if (middle.first < middle.last) spans.push_back(middle);
  }

  [[nodiscard]] bool holds(const Span& part, std::uint64_t& work) const {
    for (const Span& span : spans) {
      if (part.colour != span.colour || part.first < span.first || part.last > span.last || (part.first - span.first) % span.step != 0) continue;
      if (part.first == part.last || part.step % span.step == 0) return true;
    }
    for (std::int64_t d = part.first; d <= part.last; d += part.step, ++work) {
      if (!has(d)) return false;
      if (one_colour && part.colour == spans.front().colour) continue;
      const bool held = std::ranges::any_of(spans, [&](const Span& span) { return span.colour == part.colour && d >= span.first && d <= span.last && (d - span.first) % span.step == 0; });
      if (!held) return false;
      work += spans.size();
    }
    return true;
  }
};

/// Runs of one row are disjoint: as many members as there should be, none of them elsewhere.
bool are_translates(const Relation& relation, const Offsets& offsets) {
  const std::int64_t n = offsets.tokens;
  std::vector<Run> row;
  std::uint64_t work = 0;
  std::int64_t due = 0;
  for (std::int64_t d = 0; d < n; ++d) due += offsets.has(d) ? 1 : 0;
  for (std::int64_t i = 0; i < n; ++i) {
    poll();
    relation.row(static_cast<Vertex>(i), row);
    std::int64_t found = 0;
    for (const Run& run : row) {
      found += run.size();
      if (run.colour_step != 0) return false;
      const bool loop = run.first == i && run.last == i && offsets.has(0);
      if (!loop && !offsets.holds({run.first - i, run.last - i, run.step, run.colour}, work)) return false;
    }
    if (found != due || work > 64 * static_cast<std::uint64_t>(n)) return false;
    due += (offsets.has(-i - 1) ? 1 : 0) - (offsets.has(n - 1 - i) ? 1 : 0);
  }
  return true;
}

bool do_readers_name_tokens(const Layout& layout, std::uint64_t depth, const std::vector<std::pair<std::size_t, Offsets>>& used, const std::vector<std::uint64_t>& first) {
  constexpr std::uint64_t most_sums = 8, most_words = std::uint64_t{1} << 24;
  const std::int64_t n = layout.tokens;
  const std::vector<std::int64_t> latest = compute_latest(layout, depth, layout.tokens - 1);
  if (std::find(latest.begin(), latest.end(), -1) != latest.end()) return false;
  struct Source {
    std::size_t relation;
    Offsets::Span span;
    std::size_t sums;
  };
  std::vector<Source> sources;
  std::map<std::pair<std::size_t, std::int64_t>, std::size_t> numbers;  // by relation and step
  for (const auto& [r, offsets] : used) {
    for (Offsets::Span span : offsets.spans) {
      if (span.last == 0) span.last -= span.step;  // loops: all have one, or none
      if (span.last < span.first) continue;
      sources.push_back({r, span, numbers.emplace(std::pair(r, span.step), numbers.size()).first->second});
    }
  }
  if (numbers.size() > most_sums && numbers.size() * layout.tokens > most_words) return false;
  // sums[k][y]: names of the visible readers at y, y - step, ..
  std::vector<std::vector<std::uint64_t>> sums(numbers.size(), std::vector<std::uint64_t>(static_cast<std::size_t>(n)));
  std::vector<std::uint64_t> names;
  for (std::int64_t y = 0; y < n; ++y) {
    const auto left = static_cast<std::uint64_t>(latest[static_cast<std::size_t>(n - 1 - y)]);
    std::uint64_t value = mix(left);
    for (const Source& source : sources) {
      const std::int64_t to = y + source.span.last, from = std::max(y + source.span.first, to % source.span.step);
      if (to < 0) continue;
      const std::vector<std::uint64_t>& sum = sums[source.sums];
      // Linear in the readers: which span they stand in is nothing that isomorphisms keep.
      value += (mix(mix(source.relation) ^ static_cast<std::uint64_t>(source.span.colour)) | 1) * (sum[static_cast<std::size_t>(to)] - (from < source.span.step ? 0 : sum[static_cast<std::size_t>(from - source.span.step)]));
    }
    names.push_back(value = mix(value));
    for (const auto& [key, k] : numbers) {
      const std::uint64_t before = y < key.second ? 0 : sums[k][static_cast<std::size_t>(y - key.second)];
      sums[k][static_cast<std::size_t>(y)] = before + (left >= first[key.first] ? value : 0);
    }
  }
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) == names.end();
}

bool is_strided(const Offsets& offsets) {
  const std::int64_t n = offsets.tokens;
  std::int64_t s = 0;
  while (s + 1 < n && offsets.has(s + 1)) ++s;
  if (s < 3 || n < 5 * s) return false;
  for (std::int64_t d = 1 - n; d < n; ++d) {
    if (offsets.has(d) != (std::abs(d) <= s || d % s == 0)) return false;
  }
  return true;
}

struct Translates {
  std::vector<std::pair<std::size_t, Offsets>> used;  ///< with the number of the relation
  bool down = true;
};

/// Nothing where rows do not look like translates that go down, or like strided ones, by their ends.
std::optional<Translates> look_at_ends(const Layout& layout) {
  const Vertex n = layout.tokens;
  if (layout.registers > 0 || n < 2 || layout.order.empty()) return std::nullopt;
  if (std::any_of(layout.vertex_colour.begin(), layout.vertex_colour.end(), [&](std::uint64_t c) { return c != layout.vertex_colour[0]; })) return std::nullopt;
  const std::vector<std::uint64_t> first = first_layers(layout);
  Translates found;
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (first[r] == absent) continue;
    Offsets& offsets = found.used.emplace_back(r, Offsets(n)).second;
    if (!offsets.take(layout.relations[r], n - 1) || !offsets.take(layout.relations[r], 0)) return std::nullopt;
    for (const Offsets::Span& span : offsets.spans) found.down = found.down && span.last <= 0;
    if (!found.down && !offsets.one_colour) return std::nullopt;
  }
  if (found.down) return found;
  // One relation in every layer: none that is without one, none that is never used.
  const bool everywhere = found.used.size() == 1 && std::all_of(layout.order.begin(), layout.order.end(), [&](std::uint32_t l) { return layout.layers[l].size() == 1; });
  if (!everywhere || !is_strided(found.used[0].second)) return std::nullopt;
  found.used[0].second.join_middle();
  return found;
}

bool hold_everywhere(const Layout& layout, const Translates& found) {
  return std::ranges::all_of(found.used, [&](const auto& used) { return are_translates(layout.relations[used.first], used.second); });
}

}  // namespace

bool do_translates_explain(const Layout& layout, std::uint64_t depth) {
  const std::optional<Translates> found = look_at_ends(layout);
  if (!found || (!found->down && depth < 2) || !hold_everywhere(layout, *found)) return false;
  return !found->down || do_readers_name_tokens(layout, depth, found->used, first_layers(layout));
}

// An automorphism of the layout is one of its views on what these see: all, for strided rows from two layers on.
bool has_reflection_only(const Layout& layout) {
  const std::optional<Translates> found = look_at_ends(layout);
  return found && !found->down && hold_everywhere(layout, *found);
}

}  // namespace checker

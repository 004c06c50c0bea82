// Layouts whose rows are translates of each other, cut off at both ends of the line: the views of all roots are cut out of one, and what names the
// tokens there names them in all of them (docs/theory.md 16.27).
#include <algorithm>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/root_hash.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;

/// What every reader i of a relation reads: i + these, as far as that is on the line.
struct Offsets {
  struct Run {
    std::int64_t first, last, step, colour;
    [[nodiscard]] bool contains(std::int64_t d) const { return d >= first && d <= last && (d - first) % step == 0; }
  };
  std::vector<Run> runs;   ///< 0 may be in two of them
  std::vector<bool> has;   ///< by offset + tokens - 1
  bool one_colour = true;
  bool down = true;        ///< none above 0
};
constexpr std::size_t most_runs = 64;

/// From the first row and the last one, which are not cut off above and below. Nothing where they are not short, or where they go up and are of several colours
/// or only rows that go down are asked for: before anything is written down for all offsets. A row of the loop alone may have forgotten its colour.
std::optional<Offsets> read_offsets(const layout::Relation& relation, Vertex tokens, bool only_down) {
  Offsets offsets;
  std::vector<layout::ColouredRun> row;
  std::int64_t below = 1, above = -1;  // the run of the last row that ends at 0, and of the first that starts there
  for (const Vertex i : {Vertex{0}, tokens - 1}) {
    relation.row(i, row);
    if (offsets.runs.size() + row.size() > most_runs) return std::nullopt;
    for (const layout::ColouredRun& run : row) {
      if (run.colour_step != 0) return std::nullopt;
      const Offsets::Run found{std::int64_t{run.first} - i, std::int64_t{run.last} - i, run.step, run.colour};
      if (i == 0 && row.size() == 1 && found.first == 0 && found.last == 0) continue;
      offsets.one_colour = offsets.one_colour && (offsets.runs.empty() || run.colour == offsets.runs.front().colour);
      offsets.down = offsets.down && found.last <= 0;
      if ((only_down || !offsets.one_colour) && !offsets.down) return std::nullopt;
      offsets.runs.push_back(found);
      if (found.step == 1 && found.last == 0) below = found.first;
      if (found.step == 1 && found.first == 0) above = found.last;
    }
  }
  offsets.has.assign(2 * std::size_t{tokens} - 1, false);
  for (const Offsets::Run& run : offsets.runs) {
    for (std::int64_t d = run.first; d <= run.last; d += run.step) offsets.has[static_cast<std::size_t>(d + tokens - 1)] = true;
  }
  if (below <= 0 && above > 0 && below < 0) offsets.runs.insert(offsets.runs.begin(), {below, above, 1, offsets.runs.front().colour});
  return offsets;
}

bool has_all(const Offsets& offsets, const Offsets::Run& run, Vertex tokens, std::uint64_t& work) {
  for (const Offsets::Run& whole : offsets.runs) {
    if (run.colour == whole.colour && whole.contains(run.first) && run.last <= whole.last && (run.first == run.last || run.step % whole.step == 0)) return true;
  }
  work += static_cast<std::uint64_t>((run.last - run.first) / run.step) + 1;
  for (std::int64_t d = run.first; d <= run.last; d += run.step) {
    if (!offsets.has[static_cast<std::size_t>(d + tokens - 1)]) return false;
    if (offsets.one_colour && run.colour == offsets.runs.front().colour) continue;
    work += offsets.runs.size();
    if (std::none_of(offsets.runs.begin(), offsets.runs.end(), [&](const Offsets::Run& whole) { return whole.colour == run.colour && whole.contains(d); })) return false;
  }
  return true;
}

/// Is every row the translate of these offsets? Runs of a row are disjoint: as many members, all among those expected, are all of them.
bool are_translates(const layout::Relation& relation, const Offsets& offsets, Vertex tokens, const Budget& budget) {
  std::vector<layout::ColouredRun> row;
  std::uint64_t work = 0;
  std::int64_t expected = std::count(offsets.has.begin() + (tokens - 1), offsets.has.end(), true);
  for (Vertex i = 0; i < tokens; ++i) {
    budget.poll();
    relation.row(i, row);
    std::int64_t found = 0;
    for (const layout::ColouredRun& run : row) {
      found += run.size();
      if (run.colour_step != 0) return false;
      // The colour of loops is nothing that is used.
      const bool only_loop = run.first == i && run.last == i && offsets.has[tokens - 1];
      if (!only_loop && !has_all(offsets, {std::int64_t{run.first} - i, std::int64_t{run.last} - i, run.step, run.colour}, tokens, work)) return false;
      if (work > 64 * std::uint64_t{tokens}) return false;
    }
    if (found != expected) return false;
    // The next reader may reach one further down, and one less far up.
    if (i + 1 < tokens) expected += (offsets.has[tokens - 2 - i] ? 1 : 0) - (offsets.has[2 * std::size_t{tokens} - 2 - i] ? 1 : 0);
  }
  return true;
}

/// Hashes of visible readers summed along one step.
class Told {
public:
  Told(Vertex tokens, std::int64_t step, Booking& booking) : step_(step) {
    booking.grow((tokens + static_cast<std::uint64_t>(step)) * 8);
    sums_.assign(tokens + static_cast<std::size_t>(step), 0);
  }
  [[nodiscard]] std::int64_t step() const { return step_; }
  void put(std::int64_t y, std::uint64_t value) { sums_[static_cast<std::size_t>(y + step_)] = sums_[static_cast<std::size_t>(y)] + value; }
  [[nodiscard]] std::uint64_t over(std::int64_t first, std::int64_t last) const { return sums_[static_cast<std::size_t>(last + step_)] - sums_[static_cast<std::size_t>(first)]; }

private:
  std::int64_t step_;
  std::vector<std::uint64_t> sums_;
};

/// Rows that go down. y = a - j: in the view of every root a, j is seen with the time T(y) that the last root leaves to tokens - 1 - y, and is read at
/// y - d by those that are read from there. So c(y) = hash of T(y) and of the c of what visibly reads y is preserved by isomorphisms of all views.
bool do_readers_name_tokens(const Layout& layout, std::uint64_t depth, const std::vector<std::optional<Offsets>>& offsets, const std::vector<std::uint64_t>& first,
                            const Budget& budget) {
  constexpr Threshold<std::size_t> most_steps{32, 1, "translates"};  // one for each of as many dilations
  const Vertex tokens = layout.tokens;
  Booking booking(budget, std::uint64_t{tokens} * 32);
  std::vector<std::int64_t> latest = compute_latest(layout, depth, tokens - 1, budget);
  std::reverse(latest.begin(), latest.end());
  if (std::any_of(latest.begin(), latest.end(), [](std::int64_t t) { return t < 0; })) return false;
  struct Source {
    std::size_t relation, told;
    Offsets::Run run;
  };
  std::vector<Source> sources;
  std::vector<std::pair<std::size_t, Told>> told;  // with its relation
  for (std::size_t r = 0; r < offsets.size(); ++r) {
    if (!offsets[r]) continue;
    for (Offsets::Run run : offsets[r]->runs) {
      if (run.first == 0) continue;  // loops: all have one, or none
      if (run.last == 0) run.last -= run.step;
      std::size_t at = 0;
      while (at < told.size() && (told[at].first != r || told[at].second.step() != run.step)) ++at;
      if (at == most_steps) return false;
      if (at == told.size()) told.emplace_back(r, Told(tokens, run.step, booking));
      sources.push_back({r, at, run});
    }
  }
  std::vector<std::uint64_t> name(tokens);
  for (std::int64_t y = 0; y < std::int64_t{tokens}; ++y) {
    const std::uint64_t left = static_cast<std::uint64_t>(latest[static_cast<std::size_t>(y)]);
    std::uint64_t value = mix(left + 1);
    for (const Source& source : sources) {
      std::int64_t from = y + source.run.first;
      if (from < 0) from += (-from + source.run.step - 1) / source.run.step * source.run.step;
      if (from <= y + source.run.last) value += (mix(mix(source.relation + 3) + static_cast<std::uint64_t>(source.run.colour)) | 1) * told[source.told].second.over(from, y + source.run.last);
    }
    name[static_cast<std::size_t>(y)] = value = mix(value);
    for (auto& [relation, sums] : told) sums.put(y, left >= first[relation] ? value : 0);
  }
  std::sort(name.begin(), name.end());
  return std::adjacent_find(name.begin(), name.end()) == name.end();
}

/// i reads what is at most s away, and every s-th: at least five of each residue.
bool is_strided(const Offsets& offsets, std::int64_t tokens) {
  const auto has = [&](std::int64_t d) { return offsets.has[static_cast<std::size_t>(d + tokens - 1)]; };
  std::int64_t s = 1;
  while (5 * s <= tokens && has(s)) ++s;
  if (--s < 3 || 5 * s > tokens) return false;
  for (std::int64_t d = 1 - tokens; d < tokens; ++d) {
    if (has(d) != (std::abs(d) <= s || d % s == 0)) return false;
  }
  return true;
}

/// The offsets of every relation that some layer reads by, and the first such layer.
struct Translates {
  std::vector<std::optional<Offsets>> offsets;
  std::vector<std::uint64_t> first;
  bool down = true, strided = false;
};

/// From the ends of the rows alone: every row is still to be looked at. Nothing where rows neither go down nor are strided.
std::optional<Translates> guess_translates(const Layout& layout) {
  const Vertex tokens = layout.tokens;
  if (layout.registers > 0 || tokens < 2 || layout.order.empty()) return std::nullopt;
  if (std::any_of(layout.vertex_colour.begin(), layout.vertex_colour.end(), [&](std::uint64_t c) { return c != layout.vertex_colour[0]; })) return std::nullopt;
  Translates result{std::vector<std::optional<Offsets>>(layout.relations.size()), compute_first_layers(layout)};
  // Strided rows are those of all layers; others go down.
  const auto used = static_cast<std::size_t>(std::count_if(result.first.begin(), result.first.end(), [](std::uint64_t q) { return q != 0; }));
  const bool one = used == 1 && std::all_of(layout.order.begin(), layout.order.end(), [&](std::uint32_t l) { return layout.layers[l].relations.size() == 1; });
  std::size_t last = 0;
  for (std::size_t r = 0; r < result.first.size(); ++r) {
    if (result.first[r] == 0) continue;
    std::optional<Offsets>& offsets = result.offsets[r] = read_offsets(layout.relations[r], tokens, !one);
    if (!offsets || offsets->runs.empty()) return std::nullopt;
    result.down = result.down && offsets->down;
    last = r;
  }
  result.strided = !result.down && one && result.offsets[last]->one_colour && is_strided(*result.offsets[last], tokens);
  if (used == 0 || (!result.down && !result.strided)) return std::nullopt;
  return result;
}

bool are_all_translates(const Layout& layout, const Translates& guess, const Budget& budget) {
  for (std::size_t r = 0; r < guess.offsets.size(); ++r) {
    if (guess.offsets[r] && !are_translates(layout.relations[r], *guess.offsets[r], layout.tokens, budget)) return false;
  }
  return true;
}

}  // namespace

bool do_translates_explain(const Layout& layout, std::uint64_t depth, const Budget& budget) {
  const Booking booking(budget, layout.relations.size() * std::uint64_t{layout.tokens} / 4);
  const std::optional<Translates> guess = guess_translates(layout);
  if (!guess || (guess->strided && depth < 2) || !are_all_translates(layout, *guess, budget)) return false;
  return guess->strided || do_readers_name_tokens(layout, depth, guess->offsets, guess->first, budget);
}

std::optional<group::Group> find_named_group(const Layout& layout, const Budget& budget, symmetry::SearchRecord& record) {
  const Vertex tokens = layout.tokens;
  if (layout.order.empty()) return std::nullopt;
  record = {};
  record.is_tight = true;
  if (do_rows_name_tokens(layout, budget)) return group::make_trivial_group(tokens);
  const Booking booking(budget, std::uint64_t{tokens} / 4);
  const std::optional<Translates> guess = guess_translates(layout);
  if (!guess || !guess->strided || !are_all_translates(layout, *guess, budget)) return std::nullopt;
  return make_reflection_group(tokens, record);
}

}  // namespace sightline::sight

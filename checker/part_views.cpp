// Views of layouts whose arcs join tokens of one residue modulo some number alone (dilated windows), or of one segment: each of these parts is a layout on the line of its own, and
// equal ones are one question (docs/theory.md 16.73).
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "closed_parts.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// Token k of the part is token first + k step of the whole. Nothing where colours are neither of matrices nor of j - i.
std::optional<Relation> take_part(const Relation& whole, const ClosedParts& parts, std::size_t c) {
  const bool by_distance = whole.relative == RelativeKind::offset || whole.relative == RelativeKind::distance;
  if (!by_distance && whole.relative != RelativeKind::none && whole.relative != RelativeKind::bucket) return std::nullopt;
  Relation part;
  part.tokens = parts.tokens[c];
  if (by_distance) {  // all of them divided by the step: told apart as before
    part.relative = whole.relative;
    part.cancels = whole.cancels;
  }
  Pattern pattern;
  pattern.vertices = part.tokens;
  std::vector<Run> row;
  for (Vertex k = 0; k < part.tokens; ++k) {
    poll();
    if (by_distance) whole.pattern->row(parts.whole(c, k), row);
    else whole.row(parts.whole(c, k), row);
    pattern.segments.push_back({k, 1, k, Pattern::none});
    std::vector<MovingRun>& list = pattern.lists.emplace_back();
    for (const Run& run : row) {
      const std::int64_t colour = by_distance ? run.colour : run.colour + 1;
      if (colour > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
      list.push_back({parts.place(c, run.first), parts.place(c, run.last), run.first == run.last ? 1 : run.step / parts.step, static_cast<std::uint32_t>(colour), 0, 0});
    }
  }
  part.pattern = std::make_shared<const Pattern>(std::move(pattern));
  return part;
}

/// A part, and the tokens asked about there and in parts alike.
struct Part {
  std::size_t number;
  Layout layout;
  std::set<Vertex> roots;
};

bool read_alike(const Layout& a, const Layout& b) {
  return a.tokens == b.tokens && a.vertex_colour == b.vertex_colour && std::ranges::equal(a.relations, b.relations, [](const Relation& x, const Relation& y) { return x.pattern->lists == y.pattern->lists; });
}

/// The parts in which there are roots.
std::optional<std::vector<Part>> take_parts(const Layout& layout, const ClosedParts& closed, const std::vector<Vertex>& roots) {
  constexpr std::size_t most_parts = 32;  // the library takes fewer
  std::map<Vertex, std::set<Vertex>> by_part;
  for (const Vertex a : roots) {
    const Vertex c = closed.part_of(a);
    by_part[c].insert(closed.place(c, a));
    if (closed.tokens[c] < 2 || by_part.size() > most_parts) return std::nullopt;
  }
  const std::vector<std::uint64_t> first_read = first_layers(layout);
  std::vector<Part> parts;
  for (auto& [c, own_roots] : by_part) {
    Part part{c, {}, std::move(own_roots)};
    part.layout.tokens = closed.tokens[c];
    for (Vertex k = 0; k < part.layout.tokens; ++k) part.layout.vertex_colour.push_back(layout.vertex_colour[closed.whole(c, k)]);
    part.layout.order = layout.order;
    std::vector<std::uint32_t> number(first_read.size());
    for (std::size_t r = 0; r < first_read.size(); ++r) {
      number[r] = static_cast<std::uint32_t>(part.layout.relations.size());
      if (first_read[r] == absent) continue;
      auto relation = take_part(layout.relations[r], closed, c);
      if (!relation) return std::nullopt;
      part.layout.relations.push_back(std::move(*relation));
    }
    for (const std::vector<std::uint32_t>& layer : layout.layers) {
      std::vector<std::uint32_t>& own = part.layout.layers.emplace_back();
      for (const std::uint32_t r : layer) {
        if (first_read[r] != absent) own.push_back(number[r]);
      }
    }
    const auto like = std::ranges::find_if(parts, [&](const Part& other) { return read_alike(other.layout, part.layout); });
    if (like == parts.end()) parts.push_back(std::move(part));
    else like->roots.merge(part.roots);
  }
  return parts;
}

/// In views of different parts different numbers of tokens are seen.
bool are_sizes_different(const std::vector<Part>& parts, std::uint64_t depth) {
  std::set<Vertex> met;
  for (const Part& part : parts) {
    ReachMemory memory(part.layout);
    const Unseen unseen = compute_unseen(part.layout, {ClassKind::all, false, false, 0, nullptr, nullptr, nullptr, nullptr, nullptr, &memory}, depth);
    std::set<Vertex> own;
    for (const Vertex a : part.roots) own.insert(part.layout.tokens - unseen.count[a]);
    if (!std::ranges::all_of(own, [&](Vertex size) { return met.insert(size).second; })) return false;
  }
  return true;
}

}  // namespace

bool do_closed_parts_explain(const Layout& layout, const Group& layout_group, const std::vector<Vertex>& orbit, std::uint64_t depth, const std::vector<Vertex>& roots,
                             const std::vector<Vertex>& number, const std::function<bool(const Permutation&)>& is_symmetry, ReachMemory& whole_memory) {
  const ClosedParts* const closed = layout.order.empty() ? nullptr : find_closed_parts(whole_memory);
  if (closed == nullptr) return false;
  const auto parts = take_parts(layout, *closed, roots);
  if (!parts || (parts->size() > 1 && !are_sizes_different(*parts, depth))) return false;
  return std::ranges::all_of(*parts, [&](const Part& part) {
    const auto to_whole = [&](Vertex k) { return closed->whole(part.number, k); };
    const Vertex n = part.layout.tokens;
    std::vector<Vertex> asked(part.roots.begin(), part.roots.end());
    // The least token of each orbit, and the numbers, as the part has them.
    std::map<Vertex, Vertex> least, same;
    std::vector<Vertex> own_orbit, own_number;
    for (Vertex k = 0; k < n; ++k) {
      own_orbit.push_back(least.emplace(orbit[to_whole(k)], k).first->second);
      own_number.push_back(same.emplace(number[to_whole(k)], k).first->second);
    }
    Group own;
    own.degree = n;
    for (const auto& members : layout_group.classes) {
      std::vector<Vertex> here;
      for (const Vertex x : members) {
        if (closed->part_of(x) == part.number) here.push_back(closed->place(part.number, x));
      }
      if (here.size() > 1) own.classes.push_back(std::move(here));
    }
    const auto is_own_symmetry = [&](const Permutation& permutation) {
      std::vector<std::pair<Vertex, Vertex>> moves;
      for (const auto& [k, image] : permutation.moves()) moves.emplace_back(to_whole(k), to_whole(image));
      return is_symmetry(Permutation(std::move(moves)));
    };
    if (do_translates_explain(part.layout, depth)) return true;
    ReachMemory memory(part.layout);
    if (do_windows_explain(part.layout, depth, memory) || do_offsets_explain(part.layout, depth, memory)) return true;
    if (do_times_explain(part.layout, depth, asked, own_number) || do_lines_explain(part.layout, depth, asked)) return true;
    if (do_matchings_explain(part.layout, depth, asked, is_own_symmetry)) return true;
    std::unique_ptr<PlaceColours> places;
    return do_surroundings_explain({part.layout, own, own_orbit, depth, asked, own_number, most_local_work, 1, 1}, memory, places);
  });
}

std::unique_ptr<PlaceColours> make_places(const SurroundingsQuestion& question) {
  const bool uniform = std::ranges::all_of(question.group.classes, [&](const auto& members) {
    return std::ranges::all_of(members, [&](Vertex x) { return question.number[x] == question.number[members.front()]; });
  });
  return uniform ? PlaceColours::make(question.layout, question.group, question.depth) : nullptr;
}

bool do_surroundings_explain(const SurroundingsQuestion& question, ReachMemory& memory, std::unique_ptr<PlaceColours>& places) {
  const std::size_t all = question.roots.size();
  const auto do_small_views_explain = [&](std::uint64_t most_work) { return drop_by_local_views(question.layout, question.orbit, question.depth, question.roots, memory, most_work); };
  if (do_plane_views_explain(question.layout, question.orbit, question.depth, question.roots, memory) || do_small_views_explain(few_local_work) ||
      drop_by_descending_rows(question.layout, question.orbit, question.depth, question.roots, memory)) return true;
  if (!question.rigid && !places) places = make_places(question);
  return (places && places->explains_all(question.roots, question.number, question.few_roots, question.few_vertices)) || (question.roots.size() == all && do_small_views_explain(question.most_local));
}

}  // namespace checker

// Views of layouts that fall apart into residues (dilated windows) or segments of the line: what a token sees lies in its part, and in the order of the line each part is a layout of its own, of
// which equal ones are asked about once (docs/theory.md 16.73).
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/closed_parts.hpp"
#include "sightline/sight/local_views.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// Part c. Nothing where colours are no function of matrix colours and j - i.
std::optional<layout::Relation> take_part(const layout::Relation& relation, const ClosedParts& parts, Vertex c, const Budget& budget) {
  // Offsets and distances are told apart as before when all of them are divided by the step; buckets are written down.
  const layout::RelativeKind kind = relation.relative().kind;
  const bool divides = kind == layout::RelativeKind::offset || kind == layout::RelativeKind::distance;
  if (!divides && kind != layout::RelativeKind::none && kind != layout::RelativeKind::bucket) return std::nullopt;
  const Vertex tokens = parts.tokens[c];
  layout::PatternBuilder builder(tokens, budget);
  std::vector<layout::AffineRun> runs;
  std::vector<layout::Run> row;
  std::vector<layout::ColouredRun> coloured;
  for (Vertex k = 0; k < tokens; ++k) {
    budget.poll();
    runs.clear();
    const auto add = [&](Vertex first, Vertex last, Vertex step, std::uint32_t colour) {
      runs.push_back(layout::make_constant_run((first - parts.first[c]) / parts.step, (last - parts.first[c]) / parts.step, colour));
      runs.back().step = first == last ? 1 : step / parts.step;
    };
    if (divides) {
      relation.pattern().row(parts.whole(c, k), row);
      for (const layout::Run& run : row) add(run.first, run.last, run.step, run.colour);
    } else {
      relation.row(parts.whole(c, k), coloured);
      for (const layout::ColouredRun& run : coloured) {
        if (run.colour >= std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
        add(run.first, run.last, run.step, static_cast<std::uint32_t>(run.colour) + 1);
      }
    }
    builder.add_segment(k, builder.add_list_once(runs));
  }
  if (divides) return layout::Relation(builder.build(), relation.relative(), relation.cancels(), tokens);
  return layout::Relation(builder.build(), layout::Relative{}, layout::Cancels::nothing, tokens);
}

std::optional<Layout> take_part(const Layout& layout, const ClosedParts& parts, Vertex c, const Budget& budget) {
  Layout part;
  part.tokens = parts.tokens[c];
  for (Vertex k = 0; k < part.tokens; ++k) part.vertex_colour.push_back(layout.vertex_colour[parts.whole(c, k)]);
  part.order = layout.order;
  part.layers.resize(layout.layers.size());
  const std::vector<bool> used = layout.used_layers();
  std::map<std::uint32_t, std::uint32_t> number;  // of relations that some layer of the list reads by
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) continue;
    for (const std::uint32_t r : layout.layers[l].relations) {
      const auto [at, fresh] = number.emplace(r, static_cast<std::uint32_t>(number.size()));
      part.layers[l].relations.push_back(at->second);
      if (!fresh) continue;
      auto relation = take_part(layout.relations[r], parts, c, budget);
      if (!relation) return std::nullopt;
      part.relations.push_back(*std::move(relation));
    }
    std::sort(part.layers[l].relations.begin(), part.layers[l].relations.end());
  }
  return part;
}

/// Those of one part are the other's, token by token.
bool are_equal_parts(const Layout& a, const Layout& b) {
  return a.tokens == b.tokens && a.vertex_colour == b.vertex_colour &&
         std::equal(a.relations.begin(), a.relations.end(), b.relations.begin(), [](const layout::Relation& x, const layout::Relation& y) { return x.pattern().is_written_as(y.pattern()); });
}

/// A part, with the roots that stand in it and in those equal to it.
struct Part {
  Vertex number;
  Layout layout;
  std::set<Vertex> roots;
};

/// The parts in which there are roots; nothing where they are many, or a root is alone in its own.
std::optional<std::vector<Part>> take_parts(const Layout& layout, const ClosedParts& closed, const std::vector<Vertex>& roots, const Budget& budget) {
  constexpr Threshold<std::size_t> most_parts{16, 1, "residue parts"};
  std::map<Vertex, std::set<Vertex>> by_part;
  for (const Vertex a : roots) {
    const Vertex c = closed.part_of(a);
    by_part[c].insert((a - closed.first[c]) / closed.step);
    if (closed.tokens[c] < 2 || by_part.size() > most_parts) return std::nullopt;
  }
  std::vector<Part> parts;
  for (auto& [c, asked] : by_part) {
    auto taken = take_part(layout, closed, c, budget);
    if (!taken) return std::nullopt;
    const auto like = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return are_equal_parts(part.layout, *taken); });
    if (like == parts.end()) parts.push_back({c, *std::move(taken), std::move(asked)});
    else like->roots.merge(asked);
  }
  return parts;
}

}  // namespace

bool do_closed_parts_explain(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                             const std::function<bool(const group::Permutation&)>& is_symmetry, const Budget& budget) {
  const std::shared_ptr<const ClosedParts> closed = find_closed_parts(layout, budget);
  if (!closed) return false;
  const std::optional<std::vector<Part>> taken = take_parts(layout, *closed, roots, budget);
  if (!taken) return false;
  const std::vector<Part>& parts = *taken;
  // Views of parts that differ: told apart by how much is seen.
  if (parts.size() > 1) {
    std::set<Vertex> sizes;
    for (const Part& part : parts) {
      const auto unseen = count_unseen_behind(part.layout, 0, depth, budget);
      if (!unseen) return false;
      std::set<Vertex> own;
      for (const Vertex a : part.roots) own.insert(part.layout.tokens - (*unseen)[a]);
      for (const Vertex size : own) {
        if (!sizes.insert(size).second) return false;
      }
    }
  }
  return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    const auto whole = [&](Vertex k) { return closed->whole(part.number, k); };
    const Vertex tokens = part.layout.tokens;
    // What the layout's group does within the part.
    group::Group group = group::make_trivial_group(tokens);
    std::map<Vertex, std::vector<Vertex>> classes;
    const std::vector<Vertex> own = number_symmetric_classes(layout_group);
    std::map<group::Point, Vertex> orbits;
    std::map<Vertex, Vertex> numbers;
    std::vector<Vertex> part_number;
    for (Vertex k = 0; k < tokens; ++k) {
      classes[own[whole(k)]].push_back(k);
      group.orbit[k] = orbits.emplace(layout_group.orbit[whole(k)], k).first->second;
      part_number.push_back(numbers.emplace(number[whole(k)], k).first->second);
    }
    for (auto& [least, members] : classes) {
      if (members.size() > 1) group.symmetric_classes.push_back(std::move(members));
    }
    const auto is_part_symmetry = [&](const group::Permutation& tau) {
      std::vector<group::Point> moved, image;  // the part keeps the order of the line
      for (std::size_t k = 0; k < tau.moved().size(); ++k) {
        moved.push_back(whole(tau.moved()[k]));
        image.push_back(whole(tau.image()[k]));
      }
      return is_symmetry(group::Permutation::from_support(std::move(moved), std::move(image)));
    };
    std::vector<Vertex> asked(part.roots.begin(), part.roots.end());
    if (do_translates_explain(part.layout, depth, budget) || do_windows_explain(part.layout, depth, budget) || do_offsets_explain(part.layout, depth, budget)) return true;
    if (do_times_explain(part.layout, depth, asked, part_number, budget) || do_lines_explain(part.layout, depth, asked, budget)) return true;
    if (do_matchings_explain(part.layout, depth, asked, is_part_symmetry, budget)) return true;
    std::optional<ViewColours> views;
    return explain_surroundings({&part.layout, &group, depth, &asked, &part_number, most_local_steps, 1, 1, {}, {}}, views, budget) == SurroundingsAnswer::explained;
  });
}

}  // namespace sightline::sight

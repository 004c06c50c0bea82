// Views of layouts that fall apart into residues (dilated windows): what a token sees lies in its residue, and in the order of the line each residue is a layout of its own, of which
// equal ones are asked about once (docs/theory.md 16.73).
#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/local_views.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_residues.hpp"
#include "sightline/sight/view_sweep.hpp"

namespace sightline::sight {

namespace {

/// Token k stands for residue + k modulus. Nothing where colours are no function of matrix colours and j - i.
std::optional<layout::Relation> take_residue(const layout::Relation& relation, Vertex residue, Vertex modulus, const Budget& budget) {
  // Offsets and distances are told apart as before when all of them are divided by the modulus; buckets are written down.
  const layout::RelativeKind kind = relation.relative().kind;
  const bool divides = kind == layout::RelativeKind::offset || kind == layout::RelativeKind::distance;
  if (!divides && kind != layout::RelativeKind::none && kind != layout::RelativeKind::bucket) return std::nullopt;
  const Vertex tokens = (relation.vertex_count() - residue - 1) / modulus + 1;
  layout::PatternBuilder builder(tokens, budget);
  std::vector<layout::AffineRun> runs;
  std::vector<layout::Run> row;
  std::vector<layout::ColouredRun> coloured;
  for (Vertex k = 0; k < tokens; ++k) {
    budget.poll();
    runs.clear();
    const auto add = [&](Vertex first, Vertex last, Vertex step, std::uint32_t colour) {
      runs.push_back(layout::make_constant_run(first / modulus, last / modulus, colour));
      runs.back().step = first == last ? 1 : step / modulus;
    };
    if (divides) {
      relation.pattern().row(residue + k * modulus, row);
      for (const layout::Run& run : row) add(run.first, run.last, run.step, run.colour);
    } else {
      relation.row(residue + k * modulus, coloured);
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

std::optional<Layout> take_residue(const Layout& layout, Vertex residue, Vertex modulus, const Budget& budget) {
  Layout part;
  part.tokens = (layout.tokens - residue - 1) / modulus + 1;
  for (Vertex k = 0; k < part.tokens; ++k) part.vertex_colour.push_back(layout.vertex_colour[residue + k * modulus]);
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
      auto relation = take_residue(layout.relations[r], residue, modulus, budget);
      if (!relation) return std::nullopt;
      part.relations.push_back(*std::move(relation));
    }
    std::sort(part.layers[l].relations.begin(), part.layers[l].relations.end());
  }
  return part;
}

/// Those of one residue are the other's, token by token.
bool are_equal_parts(const Layout& a, const Layout& b) {
  return a.tokens == b.tokens && a.vertex_colour == b.vertex_colour &&
         std::equal(a.relations.begin(), a.relations.end(), b.relations.begin(), [](const layout::Relation& x, const layout::Relation& y) { return x.pattern().is_written_as(y.pattern()); });
}

/// A residue, with the roots that stand in it and in those equal to it.
struct Part {
  Vertex residue;
  Layout layout;
  std::set<Vertex> roots;
};

}  // namespace

bool do_residues_explain(const Layout& layout, const group::Group& layout_group, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number,
                         const std::function<bool(const group::Permutation&)>& is_symmetry, const Budget& budget) {
  constexpr Threshold<std::size_t> most_parts{16, 1, "residue parts"};
  const std::optional<Vertex> modulus = find_residues(layout, budget);
  if (!modulus || *modulus > layout.tokens / 2) return false;
  std::map<Vertex, std::set<Vertex>> by_residue;
  for (const Vertex a : roots) by_residue[a % *modulus].insert(a / *modulus);
  if (by_residue.size() > most_parts) return false;
  std::vector<Part> parts;
  for (auto& [residue, asked] : by_residue) {
    auto taken = take_residue(layout, residue, *modulus, budget);
    if (!taken) return false;
    const auto like = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return are_equal_parts(part.layout, *taken); });
    if (like == parts.end()) parts.push_back({residue, *std::move(taken), std::move(asked)});
    else like->roots.merge(asked);
  }
  // Views of residues that differ: told apart by how much is seen.
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
    const auto whole = [&](Vertex k) { return part.residue + k * *modulus; };
    const Vertex tokens = part.layout.tokens;
    // What the layout's group does within the residue.
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
      std::vector<group::Point> images(layout.tokens);
      for (Vertex j = 0; j < layout.tokens; ++j) images[j] = j;
      for (const group::Point k : tau.moved()) images[whole(k)] = whole(tau(k));
      return is_symmetry(group::Permutation::from_images(images));
    };
    const std::vector<Vertex> asked(part.roots.begin(), part.roots.end());
    if (do_translates_explain(part.layout, depth, budget) || do_offsets_explain(part.layout, depth, budget)) return true;
    if (do_times_explain(part.layout, depth, asked, part_number, budget) || do_lines_explain(part.layout, depth, asked, budget)) return true;
    if (do_matchings_explain(part.layout, depth, asked, is_part_symmetry, budget)) return true;
    std::optional<ViewColours> views;
    return explain_surroundings({&part.layout, &group, depth, &asked, &part_number, most_local_steps, 1, 1, {}, {}}, views, budget) == SurroundingsAnswer::explained;
  });
}

}  // namespace sightline::sight

// Layouts that fall apart into residues (dilated windows, whatever the number of tokens): each is a layout on the line of its own.
#include "sightline/sight/reach_residues.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::sight {

namespace {

Vertex find_modulus(const ReadLayers& layers, const Budget& budget) {
  Vertex modulus = 0;
  for (const auto& layer : layers) {
    for (const ReadGroup& group : layer->groups) {
      budget.poll();
      if (layer->row(group).empty()) continue;
      if (group.end - group.begin > 1) return 1;
      for (const ReadRange& range : layer->row(group)) {
        modulus = std::gcd(modulus, range.first > group.begin ? range.first - group.begin : group.begin - range.first);
        if (range.last > range.first) modulus = std::gcd(modulus, range.step);
      }
      if (modulus == 1) return 1;
    }
  }
  return modulus;
}

/// By residue: token k stands for residue + k modulus.
std::vector<Layout> split(const Layout& layout, const ReadLayers& layers, Vertex modulus, const Budget& budget) {
  std::vector<Layout> parts(modulus);
  for (Vertex c = 0; c < modulus; ++c) {
    parts[c].tokens = (layout.tokens - c - 1) / modulus + 1;
    parts[c].vertex_colour.assign(parts[c].tokens, 0);
    parts[c].order = layout.order;
  }
  std::vector<layout::AffineRun> runs;
  std::vector<ReadRange> row;
  for (const auto& layer : layers) {
    std::vector<std::unique_ptr<layout::PatternBuilder>> builders;
    for (const Layout& part : parts) builders.push_back(std::make_unique<layout::PatternBuilder>(part.tokens, budget));
    std::size_t at = 0;
    for (Vertex i = 0; i < layout.tokens; ++i) {
      runs.clear();
      while (at < layer->groups.size() && layer->groups[at].end <= i) ++at;
      if (at < layer->groups.size()) {
        row.clear();
        for (const ReadRange& range : layer->row(layer->groups[at])) row.push_back(range);
        tidy(row);
        make_disjoint(row);
        for (const ReadRange& range : row) {
          runs.push_back(layout::make_constant_run(range.first / modulus, range.last / modulus));
          runs.back().step = range.first == range.last ? 1 : range.step / modulus;
        }
      }
      builders[i % modulus]->add_segment(i / modulus, builders[i % modulus]->add_list_once(runs));
    }
    for (Vertex c = 0; c < modulus; ++c) {
      parts[c].layers.push_back({{static_cast<std::uint32_t>(parts[c].relations.size())}});
      parts[c].relations.emplace_back(builders[c]->build(), layout::Relative{}, layout::Cancels::nothing, parts[c].tokens);
    }
  }
  return parts;
}

bool are_equal_parts(const Layout& a, const Layout& b) {
  return a.tokens == b.tokens && std::equal(a.relations.begin(), a.relations.end(), b.relations.begin(),
                                            [](const layout::Relation& x, const layout::Relation& y) { return x.pattern().is_written_as(y.pattern()); });
}

std::optional<ReachAnswer> answer_part(const ReachQuestion& question, const Budget& budget, bool cheaply) {
  constexpr Threshold<Vertex> few{1024, 2, "residues"};  // quickly answered by bits
  if (!cheaply || question.layout->tokens <= few) return answer_reach(question, budget);
  return answer_cheaply(question, budget);
}

}  // namespace

std::optional<Vertex> find_residues(const Layout& layout, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty() || layout.tokens < 3) return std::nullopt;
  const Vertex modulus = find_modulus(find_read_layers(layout, budget), budget);
  return modulus > 1 ? std::optional(modulus) : std::nullopt;
}

std::optional<ReachAnswer> answer_by_residues(const ReachQuestion& question, const Budget& budget, bool cheaply) {
  const Layout& layout = *question.layout;
  if (question.weight != nullptr) return std::nullopt;
  const std::optional<Vertex> modulus = find_residues(layout, budget);
  if (!modulus) return std::nullopt;
  const bool first_apart = question.wanted.ordinary_only, wants_seen = question.wanted.kind == ClassKind::seen;
  ReachAnswer answer;
  if (question.find_layers && !wants_seen) {
    // Neighbours never see each other.
    if (question.wanted.kind == ClassKind::all) answer.reach = {std::nullopt, UnreachablePair{0, 1}};
    else answer.reach = {std::nullopt, first_apart ? UnreachablePair{2, 1} : UnreachablePair{1, 0}};
    if (!question.count_unseen) return answer;
  }
  if (question.count_unseen) answer.unseen.resize(layout.tokens);
  if (question.find_layers && wants_seen) answer.reach.layers = 0;
  const std::vector<Layout> parts = split(layout, find_read_layers(layout, budget), *modulus, budget);
  std::optional<ReachAnswer> known;
  const Layout* asked = nullptr;
  for (Vertex c = 0; c < *modulus; ++c) {
    // Token 0 is wanted or not in its own residue only.
    if (asked == nullptr || (c == 1 && first_apart) || !are_equal_parts(*asked, parts[c])) {
      asked = &parts[c];
      ReachQuestion part = question;
      part.layout = asked;
      part.wanted.ordinary_only = first_apart && c == 0;
      part.find_layers = question.find_layers && wants_seen;
      known = answer_part(part, budget, cheaply);
      if (!known) return std::nullopt;
    }
    if (question.find_layers && wants_seen && *known->reach.layers > *answer.reach.layers) {
      answer.reach = known->reach;
      UnreachablePair& pair = *answer.reach.witness;
      pair = {c + pair.reader * *modulus, c + pair.unseen * *modulus};
    }
    for (Vertex k = 0; question.count_unseen && k < parts[c].tokens; ++k) {
      const Vertex i = c + k * *modulus;
      Vertex others = 0;  // wanted, of other residues
      if (!wants_seen) others = question.wanted.kind == ClassKind::all ? layout.tokens - parts[c].tokens : i - k;
      if (others > 0 && first_apart && c != 0) --others;
      answer.unseen[i] = others + known->unseen[k];
    }
  }
  return answer;
}

}  // namespace sightline::sight

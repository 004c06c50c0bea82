#include "sightline/design/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

#include "sightline/base/error.hpp"
#include "sightline/sight/reach.hpp"
#include "sightline/verdict/certify.hpp"
#include "sightline/verdict/context.hpp"

namespace sightline::design {

namespace {

using layout::Layout;
using layout::Vertex;
/// vertex -> its effective colours in the relations of one layer.
using Row = std::map<Vertex, std::vector<std::int64_t>>;

Row read_layer_row(const Layout& layout, std::uint64_t q, Vertex i) {
  Row row;
  const auto& relations = layout.layer(q).relations;
  std::vector<layout::ColouredRun> runs;
  for (std::size_t k = 0; k < relations.size(); ++k) {
    layout.relations[relations[k]].row(i, runs);
    for (const auto& run : runs) {
      std::int64_t colour = run.colour;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
        auto& colours = row[static_cast<Vertex>(j)];
        colours.resize(relations.size(), -1);
        colours[k] = colour;
      }
    }
  }
  return row;
}

std::optional<FirstDifference> compare_rows(const Row& a, const Row& b, std::uint64_t q, Vertex i) {
  auto x = a.begin(), y = b.begin();
  while (x != a.end() || y != b.end()) {
    if (y == b.end() || (x != a.end() && x->first < y->first)) return FirstDifference{q, i, x->first, "a"};
    if (x == a.end() || y->first < x->first) return FirstDifference{q, i, y->first, "b"};
    if (x->second != y->second) return FirstDifference{q, i, x->first, "both"};
    ++x;
    ++y;
  }
  return std::nullopt;
}

std::optional<FirstDifference> find_first_difference(const Layout& a, const Layout& b, const Budget& budget) {
  const std::uint64_t layers = std::max(a.order.size(), b.order.size());
  std::map<std::pair<std::uint32_t, std::uint32_t>, bool> equal;  // layers that were compared before
  for (std::uint64_t q = 1; q <= layers; ++q) {
    const bool in_a = q <= a.order.size(), in_b = q <= b.order.size();
    if (in_a && in_b && !equal.emplace(std::pair{a.order[q - 1], b.order[q - 1]}, true).second) continue;
    for (Vertex i = 0; i < std::max(a.vertices(), b.vertices()); ++i) {
      budget.poll();
      const Row left = in_a && i < a.vertices() ? read_layer_row(a, q, i) : Row{}, right = in_b && i < b.vertices() ? read_layer_row(b, q, i) : Row{};
      if (auto found = compare_rows(left, right, q, i)) return found;
    }
  }
  return std::nullopt;
}

architecture::TargetClass to_target_class(sight::ClassKind kind) {
  switch (kind) {
    case sight::ClassKind::all: return architecture::TargetClass::all;
    case sight::ClassKind::causal: return architecture::TargetClass::causal;
    case sight::ClassKind::seen: return architecture::TargetClass::seen;
  }
  throw InternalError("unknown class");
}

/// The architecture, asked for its own layout's symmetry in the class that it comes to see.
architecture::Architecture ask_own(architecture::Architecture a, sight::ClassKind kind) {
  a.target.target_class = to_target_class(kind);
  a.target.symmetry_is_layout = true;
  a.target.symmetry_expression.clear();
  a.target.symmetry_generators.clear();
  return a;
}

/// The group that an answer says is expressed, or else the layout's. Nothing when its list of generators is cut.
std::optional<std::vector<std::string>> list_expressed(const verdict::Answer& answer) {
  const auto& group = answer.expressed ? answer.expressed : answer.layout;
  if (!group || group->generators.size() >= 100) return std::nullopt;
  return group->generators.empty() ? std::vector<std::string>{"()"} : group->generators.list();
}

bool same_group(const std::optional<verdict::GroupAnswer>& a, const std::optional<verdict::GroupAnswer>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->order == b->order && (a->generators == b->generators || a->generators.size() < 100);
}

nlohmann::ordered_json to_object(const std::optional<verdict::GroupAnswer>& group) {
  if (!group) return nullptr;
  nlohmann::ordered_json object;
  const auto order = group->order.value();
  object["order"] = nullptr;
  if (order) object["order"] = order->get_str();
  else object["order_factored"] = group->order.factored();
  object["generators"] = group->generators.list();
  object["name"] = nullptr;
  if (group->name) object["name"] = *group->name;
  return object;
}

/// Are both the same but for what tokens read, names and training?
bool have_same_sublayers(architecture::Architecture a, architecture::Architecture b) {
  for (architecture::Architecture* side : {&a, &b}) {
    side->name.clear();
    side->file.clear();
    side->train.reset();
    *side = ask_own(std::move(*side), sight::ClassKind::all);
    side->mixer.pattern = {};
    for (architecture::LayerSpec& layer : side->layers) layer.mixer.pattern = {};
  }
  return architecture::to_canonical_json(a) == architecture::to_canonical_json(b);
}

/// How often each relation stands in each layer: heads may share a pattern, which the layout keeps once, but two heads mix more than one.
std::vector<std::uint64_t> count_heads(const architecture::Architecture& a, const Layout& layout, const Budget& budget) {
  std::vector<std::uint64_t> counts;
  std::size_t position = 0;
  for (const architecture::LayerSpec& spec : a.layers) {
    const auto& kept = layout.layers[layout.order[position]].relations;
    position += static_cast<std::size_t>(spec.repeat);
    const std::vector<layout::Relation> heads = architecture::make_relations(a, spec.mixer, budget);
    for (const std::uint32_t r : kept) counts.push_back(static_cast<std::uint64_t>(std::count(heads.begin(), heads.end(), layout.relations[r])));
  }
  return counts;
}

/// Are inputs and outputs of one kind, functions of the same tokens?
bool have_same_ends(const architecture::Architecture& a, const architecture::Architecture& b, const std::array<verdict::Answer, 2>& answers) {
  const bool ids = a.input.embedding == architecture::Embedding::table;
  if (ids != (b.input.embedding == architecture::Embedding::table) || answers[0].output_dim != answers[1].output_dim) return false;
  if (ids) return a.input.vocabulary == b.input.vocabulary && a.input.bos == b.input.bos;
  // What a given table lets through is known on the box alone (theory.md 3.9).
  const auto has_box = [](const architecture::Architecture& x) { return x.input.positions == architecture::Positions::fixed || x.input.positions == architecture::Positions::sinusoidal; };
  const bool same_box = a.target.box == b.target.box || (!has_box(a) && !has_box(b));
  return same_box && a.input.dim == b.input.dim && a.input.domain == b.input.domain;
}

/// Tokens that do not see as many in both (run-length lists): the first of each stretch, and of many stretches some that lie all over the sequence.
std::vector<Vertex> sample_other_counts(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& a, const std::vector<std::pair<std::uint64_t, std::uint64_t>>& b) {
  constexpr std::size_t most = 64;
  std::vector<Vertex> found;
  std::uint64_t end_a = 0, end_b = 0, at = 0;
  for (std::size_t k = 0, l = 0; k < a.size() && l < b.size();) {
    if (a[k].first != b[l].first) found.push_back(static_cast<Vertex>(at));
    at = std::min(end_a + a[k].second, end_b + b[l].second);
    if (at == end_a + a[k].second) end_a += a[k++].second;
    if (at == end_b + b[l].second) end_b += b[l++].second;
  }
  if (found.size() <= most) return found;
  std::vector<Vertex> sample;
  for (std::size_t k = 1; k <= most; ++k) sample.push_back(found[k * found.size() / most - 1]);
  return sample;
}

/// Tokens that one side sees at its depth and the other does not; `unsettled`: too many to be looked at.
struct SightDifference {
  bool unsettled = false;
  std::optional<SeparatingTarget> target;
};

/// @param first  the first token that has something to tell: a BOS is the same in every sequence
SightDifference compare_sight(const std::array<Layout, 2>& layouts, const std::array<verdict::Answer, 2>& answers, std::ptrdiff_t first, const Budget& budget) {
  constexpr Vertex most_tokens = 4096;
  const auto sees_all = [](const verdict::Answer& answer) { return std::all_of(answer.unseen.begin(), answer.unseen.end(), [](const auto& run) { return run.first == 0; }); };
  if (sees_all(answers[0]) && sees_all(answers[1])) return {};
  const Vertex n = layouts[0].tokens;
  std::vector<Vertex> readers;
  if (n > most_tokens) {
    readers = sample_other_counts(answers[0].unseen, answers[1].unseen);
  } else {
    readers.resize(n);
    std::iota(readers.begin(), readers.end(), Vertex{0});
  }
  std::array<std::vector<bool>, 2> sees{std::vector<bool>(n), std::vector<bool>(n)};
  // Repeated for ever, every round but the last shows a vertex more.
  const auto depth = [&](std::size_t k) { return answers[k].given.value_or(layouts[k].order.size() * std::uint64_t{layouts[k].vertices()}); };
  for (const Vertex i : readers) {
    for (std::size_t k = 0; k < 2; ++k) {
      budget.poll();
      std::fill(sees[k].begin(), sees[k].end(), false);
      for (const layout::Run& run : sight::compute_view(layouts[k], depth(k), i, budget)) {
        for (std::uint64_t j = run.first; j <= run.last && j < n; j += run.step) sees[k][j] = true;
      }
    }
    const auto j = static_cast<Vertex>(std::mismatch(sees[0].begin() + first, sees[0].end(), sees[1].begin() + first).first - sees[0].begin());
    if (j == n) continue;
    return {false, SeparatingTarget{sees[0][j] ? "b" : "a", fmt::format("what token {} is, asked of token {}", j, i), std::nullopt}};
  }
  return {n > most_tokens, {}};
}

}  // namespace

Difference compute_difference(const architecture::Architecture& a, const architecture::Architecture& b, const Budget& budget) {
  if (a.tokens != b.tokens) throw InputError(fmt::format("{}: expected {} tokens as in {}, found {}", b.file, a.tokens, a.file, b.tokens));
  Difference result;
  const std::array<const architecture::Architecture*, 2> sides{&a, &b};
  const std::array<Layout, 2> layouts{architecture::make_layout(a, budget), architecture::make_layout(b, budget)};
  const std::array<verdict::Facts, 2> facts{verdict::compute_facts(a, budget), verdict::compute_facts(b, budget)};
  const std::array<std::optional<Layout>, 2> hidden{verdict::hide_blind_layers(a, layouts[0], &facts[0]), verdict::hide_blind_layers(b, layouts[1], &facts[1])};
  const std::array<Layout, 2> seen{hidden[0].value_or(layouts[0]), hidden[1].value_or(layouts[1])};  // by networks
  result.first = find_first_difference(layouts[0], layouts[1], budget);
  result.layout_equal = !result.first && layouts[0].vertex_colour == layouts[1].vertex_colour && a.depth == b.depth;
  for (std::size_t k = 0; k < 2; ++k) {
    const sight::ClassKind kind = sight::compute_class_kind(seen[k], budget);
    result.answers[k] = verdict::certify(ask_own(*sides[k], kind), budget);
  }
  const bool identical = result.layout_equal && have_same_sublayers(a, b) && count_heads(a, layouts[0], budget) == count_heads(b, layouts[1], budget);
  const bool equal_sight = result.layout_equal && !hidden[0] && !hidden[1];
  const SightDifference sight = equal_sight ? SightDifference{} : compare_sight(seen, result.answers, a.input.bos || b.input.bos ? 1 : 0, budget);
  // What one can, asked of the other. The class of what is seen is each side's own, so what is seen has to be the same as well;
  // where the layout's own group is not expressed, networks do more than what has all symmetries of the group that is (docs/theory.md 16.92).
  const auto expresses_own = [](const verdict::Answer& answer) { return answer.verdict == verdict::Verdict::certified; };
  bool both = !sight.unsettled && !sight.target && have_same_ends(a, b, result.answers) && expresses_own(result.answers[0]) && expresses_own(result.answers[1]);
  for (std::size_t k = 0; k < 2; ++k) {
    const verdict::Answer& able = result.answers[k];
    const verdict::Answer& other = result.answers[1 - k];
    const auto generators = list_expressed(able);
    if (!able.class_kind || !generators) {
      both = both && able.verdict == verdict::Verdict::certified && other.verdict == able.verdict && same_group(able.expressed, other.expressed) && able.class_kind == other.class_kind;
      continue;
    }
    architecture::Architecture asked = *sides[1 - k], own = *sides[k];
    for (architecture::Architecture* side : {&asked, &own}) {
      side->target.target_class = to_target_class(*able.class_kind);
      side->target.symmetry_is_layout = false;
      side->target.symmetry_expression.clear();
      side->target.symmetry_generators = *generators;
    }
    const verdict::Answer can = verdict::certify(own, budget);
    const verdict::Answer answer = verdict::certify(asked, budget);
    if (can.verdict != verdict::Verdict::certified) {  // what is expressed then is not known in full
      both = false;
      continue;
    }
    both = both && answer.verdict == verdict::Verdict::certified;
    if (answer.verdict == verdict::Verdict::impossible && !result.separating) {
      result.separating = SeparatingTarget{k == 0 ? "b" : "a", "", std::nullopt};
      if (answer.floor) {
        result.separating->description = fmt::format("{}{} on {}", answer.floor->target.starts_with("F(X)") ? "" : "F = ", answer.floor->target, answer.floor->domain);
        result.separating->floor = answer.floor->squared_error;
      }
    }
  }
  result.same = identical || both;
  if (!result.same && !result.separating) result.separating = sight.target;
  return result;
}

std::string to_json(const Difference& difference) {
  nlohmann::ordered_json object;
  object["same"] = difference.same;
  object["layout_equal"] = difference.layout_equal;
  const auto& [a, b] = difference.answers;
  object["expressed"] = nlohmann::ordered_json::array({to_object(a.expressed), to_object(b.expressed)});
  object["needed"] = nlohmann::ordered_json::array();
  for (const auto& answer : difference.answers) object["needed"].push_back(answer.needed ? nlohmann::ordered_json(*answer.needed) : nlohmann::ordered_json(nullptr));
  object["first_difference"] = nullptr;
  if (const auto& first = difference.first) object["first_difference"] = {{"layer", first->layer}, {"reader", first->reader}, {"read", first->read}, {"in", first->in}};
  object["separating_target"] = nullptr;
  if (const auto& target = difference.separating) {
    object["separating_target"] = {{"description", target->description}, {"floor", nullptr}, {"missed_by", target->missed_by}};
    if (target->floor) object["separating_target"]["floor"] = target->floor->get_str();
  }
  return object.dump();
}

std::string to_text(const Difference& difference) {
  std::string text = fmt::format("{}\n", difference.same         ? "same         both express the same functions"
                                          : difference.separating ? "different"
                                                                  : "not shown to be the same");
  text += fmt::format("layouts      {}\n", difference.layout_equal ? "equal" : "different");
  if (const auto& first = difference.first) {
    text += fmt::format("first        layer {}: token {} reads {} {}\n", first->layer, first->reader, first->read, first->in == "both" ? "in both, with different colours" : "only in " + first->in);
  }
  for (std::size_t k = 0; k < 2; ++k) {
    const verdict::Answer& answer = difference.answers[k];
    text += fmt::format("{}            expresses {}, needs {} layers\n", k == 0 ? 'a' : 'b',
                        answer.expressed ? fmt::format("symmetry of order {}{}", answer.expressed->order.factored(), answer.expressed->name ? " (" + *answer.expressed->name + ")" : "") : "no symmetry class of all tokens",
                        answer.needed ? fmt::format("{}", *answer.needed) : "an unknown or infinite number of");
  }
  if (const auto& target = difference.separating) {
    text += fmt::format("target       missed by {}: {}{}\n", target->missed_by, target->description, target->floor ? fmt::format(", squared error at least {}", target->floor->get_str()) : "");
  }
  return text;
}

}  // namespace sightline::design

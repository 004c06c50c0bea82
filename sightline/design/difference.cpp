#include "sightline/design/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <numeric>
#include <set>

#include <nlohmann/json.hpp>

#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/sight/reach.hpp"
#include "sightline/verdict/certify.hpp"
#include "sightline/verdict/context.hpp"

namespace sightline::design {

namespace {

using layout::Layout;
using layout::Vertex;
/// The rows of one reader in one layer, by relation.
using Rows = std::vector<std::vector<layout::ColouredRun>>;

/// @param layers  how many there are: beyond, nothing is read
/// @returns the end of the readers i, i+1, ... that are known to have these rows
Vertex read_rows(const Layout& layout, std::uint64_t layers, std::uint64_t q, Vertex i, Rows& out) {
  out.clear();
  if (q > layers || i >= layout.vertices()) return ~Vertex{0};
  Vertex end = layout.vertices();
  for (const std::uint32_t r : layout.layer(q).relations) {
    layout.relations[r].row(i, out.emplace_back());
    end = std::min(end, layout.relations[r].same_row_until(i));
  }
  return end;
}

/// One read of a row that is written out.
struct Read {
  Vertex vertex = 0;
  std::size_t relation = 0;  ///< of the layer
  std::int64_t colour = 0;
  friend auto operator<=>(const Read&, const Read&) = default;
};

std::vector<Read> write_out(const Rows& rows) {
  std::vector<Read> reads;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    for (const layout::ColouredRun& run : rows[k]) {
      std::int64_t colour = run.colour;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) reads.push_back({static_cast<Vertex>(j), k, colour});
    }
  }
  std::sort(reads.begin(), reads.end());
  return reads;
}

/// One set of reads may be written in different runs: only where these differ are the rows written out.
std::optional<FirstDifference> compare_rows(const Rows& a, const Rows& b, std::uint64_t q, Vertex i) {
  if (a == b) return std::nullopt;
  const std::vector<Read> left = write_out(a), right = write_out(b);
  auto x = left.begin(), y = right.begin();
  while (x != left.end() || y != right.end()) {
    if (y == right.end() || (x != left.end() && x->vertex < y->vertex)) return FirstDifference{q, i, x->vertex, "a"};
    if (x == left.end() || y->vertex < x->vertex) return FirstDifference{q, i, y->vertex, "b"};
    // Where layers have more or fewer heads, what both read is told apart by that.
    const auto is_other = [vertex = x->vertex](const Read& read) { return read.vertex != vertex; };
    const auto end_x = std::find_if(x, left.end(), is_other), end_y = std::find_if(y, right.end(), is_other);
    if (a.size() != b.size() || !std::equal(x, end_x, y, end_y)) return FirstDifference{q, i, x->vertex, "both"};
    x = end_x;
    y = end_y;
  }
  return std::nullopt;
}

/// Do two layers read the same in the same colours, relation by relation? O(lists) where they are written alike.
bool are_equal_layers(const Layout& a, const Layout& b, std::uint64_t q) {
  const auto& left = a.layer(q).relations;
  const auto& right = b.layer(q).relations;
  return a.vertices() == b.vertices() &&
         std::equal(left.begin(), left.end(), right.begin(), right.end(), [&](std::uint32_t r, std::uint32_t s) { return a.relations[r] == b.relations[s]; });
}

/// A list that is repeated for ever has all the layers of the other.
std::optional<FirstDifference> find_first_difference(const Layout& a, bool a_repeats, const Layout& b, bool b_repeats, const Budget& budget) {
  const std::uint64_t all = std::lcm(std::uint64_t{a.order.size()}, std::uint64_t{b.order.size()});
  const std::uint64_t layers = a_repeats && b_repeats ? all : a_repeats ? b.order.size() : b_repeats ? a.order.size() : std::max(a.order.size(), b.order.size());
  const std::uint64_t layers_of_a = a_repeats ? layers : a.order.size(), layers_of_b = b_repeats ? layers : b.order.size();
  std::set<std::pair<std::uint32_t, std::uint32_t>> equal;  // layers that were compared before
  Rows left, right;
  for (std::uint64_t q = 1; q <= layers; ++q) {
    budget.poll();
    const bool in_both = q <= layers_of_a && q <= layers_of_b;
    if (in_both && (!equal.emplace(a.order[(q - 1) % a.order.size()], b.order[(q - 1) % b.order.size()]).second || are_equal_layers(a, b, q))) continue;
    const Vertex vertices = std::max(a.vertices(), b.vertices());
    for (Vertex i = 0, end = 0; i < vertices; i = end) {
      budget.poll();
      end = std::min({read_rows(a, layers_of_a, q, i, left), read_rows(b, layers_of_b, q, i, right), vertices});
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

/// As the file writes a group. Nothing when its list of generators is cut.
std::optional<std::vector<std::string>> list_generators(const std::optional<verdict::GroupAnswer>& group) {
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
  const std::array<std::optional<Layout>, 2> hidden{verdict::hide_blind_layers(a, layouts[0], &facts[0], budget), verdict::hide_blind_layers(b, layouts[1], &facts[1], budget)};
  const std::array<Layout, 2> seen{hidden[0].value_or(layouts[0]), hidden[1].value_or(layouts[1])};  // by networks
  const auto repeats = [](const architecture::Architecture& side) { return side.depth == architecture::Depth::unbounded; };
  result.first = find_first_difference(layouts[0], repeats(a), layouts[1], repeats(b), budget);
  const bool same_depth = repeats(a) == repeats(b) && (repeats(a) || layouts[0].order.size() == layouts[1].order.size());
  if (!same_depth) {
    for (std::size_t k = 0; k < 2; ++k) result.depths[k] = repeats(*sides[k]) ? "repeated for ever" : fmt::format("{} layer{}", layouts[k].order.size(), layouts[k].order.size() == 1 ? "" : "s");
  }
  result.layout_equal = !result.first && layouts[0].vertex_colour == layouts[1].vertex_colour && same_depth;
  std::array<sight::ClassKind, 2> kinds{};
  std::array<group::Group, 2> groups;
  for (std::size_t k = 0; k < 2; ++k) {
    kinds[k] = sight::compute_class_kind(seen[k], budget);
    const architecture::Architecture own = ask_own(*sides[k], kinds[k]);
    verdict::Context context = verdict::analyse(own, budget);
    result.answers[k] = std::move(context.answer);
    groups[k] = context.tokens_of_places.empty() ? std::move(context.layout_group) : group::rename(context.layout_group, context.tokens_of_places);
  }
  const bool identical = result.layout_equal && have_same_sublayers(a, b) && count_heads(a, layouts[0], budget) == count_heads(b, layouts[1], budget);
  const bool equal_sight = result.layout_equal && !hidden[0] && !hidden[1];
  const SightDifference sight = equal_sight ? SightDifference{} : compare_sight(seen, result.answers, a.input.bos || b.input.bos ? 1 : 0, budget);
  // What one can, asked of the other. The class of what is seen is each side's own, so what is seen has to be the same as well;
  // where the layout's own group is not expressed, networks do more than what has all symmetries of the group that is (docs/theory.md 16.92).
  const auto expresses_own = [](const verdict::Answer& answer) { return answer.verdict == verdict::Verdict::certified; };
  result.same_ends = have_same_ends(a, b, result.answers);
  bool both = !sight.unsettled && !sight.target && result.same_ends && expresses_own(result.answers[0]) && expresses_own(result.answers[1]);
  for (std::size_t k = 0; k < 2; ++k) {
    const verdict::Answer& able = result.answers[k];
    const verdict::Answer& other = result.answers[1 - k];
    const auto generators = list_generators(able.expressed ? able.expressed : able.layout);
    if (!able.class_kind || !generators) {
      both = both && able.verdict == verdict::Verdict::certified && other.verdict == able.verdict && same_group(able.expressed, other.expressed) && able.class_kind == other.class_kind;
      continue;
    }
    const auto ask = [&](std::size_t side) {
      // Its own group in the class that it comes to see was asked about already. (On ids class causal with "layout" means more, docs/theory.md 16.7.)
      const bool means_more = sides[side]->input.embedding == architecture::Embedding::table && able.class_kind == sight::ClassKind::causal;
      if (!means_more && able.class_kind == kinds[side] && list_generators(result.answers[side].layout) == generators) return result.answers[side];
      architecture::Architecture asked = *sides[side];
      asked.target.target_class = to_target_class(*able.class_kind);
      asked.target.symmetry_is_layout = false;
      asked.target.symmetry_expression.clear();
      asked.target.symmetry_generators = *generators;
      const bool known = list_generators(able.layout) == generators && groups[k].degree == layouts[k].tokens;
      return verdict::analyse(asked, budget, known ? &groups[k] : nullptr).answer;
    };
    const verdict::Answer can = ask(k);
    const verdict::Answer answer = ask(1 - k);
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
  return print_json(object);
}

std::string to_text(const Difference& difference) {
  std::string text = fmt::format("{}\n", difference.same         ? "same         both express the same functions"
                                          : difference.separating ? "different"
                                                                  : "not shown to be the same");
  text += fmt::format("layouts      {}\n", difference.layout_equal ? "equal" : "different");
  if (const auto& first = difference.first) {
    text += fmt::format("first        layer {}: token {} reads {} {}\n", first->layer, first->reader, first->read, first->in == "both" ? "in both, with different colours" : "only in " + first->in);
  }
  if (!difference.depths[0].empty()) text += fmt::format("depth        a {}, b {}\n", difference.depths[0], difference.depths[1]);
  if (!difference.same_ends) text += "inputs       of another kind, width, domain, vocabulary or number of outputs: functions of other things\n";
  for (std::size_t k = 0; k < 2; ++k) {
    const verdict::Answer& answer = difference.answers[k];
    text += fmt::format("{}            expresses {}, needs {}\n", k == 0 ? 'a' : 'b',
                        answer.expressed ? fmt::format("symmetry of order {}{}", answer.expressed->order.factored(), answer.expressed->name ? " (" + *answer.expressed->name + ")" : "") : "no symmetry class of all tokens",
                        answer.needed ? fmt::format("{} layer{}", *answer.needed, *answer.needed == 1 ? "" : "s") : "an unknown or infinite number of layers");
  }
  if (const auto& target = difference.separating) {
    text += fmt::format("target       missed by {}: {}{}\n", target->missed_by, target->description, target->floor ? fmt::format(", squared error at least {}", target->floor->get_str()) : "");
  }
  return text;
}

}  // namespace sightline::design

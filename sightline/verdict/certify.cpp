#include "sightline/verdict/certify.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <new>
#include <numeric>

#include "sightline/base/crew.hpp"
#include "sightline/base/error.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/layout/natural_order.hpp"
#include "sightline/sight/known_orbits.hpp"
#include "sightline/sight/product_group.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

using namespace architecture;

GroupAnswer to_group_answer(const group::Group& group, const Budget& budget, const std::vector<layout::Vertex>& tokens_of_places) {
  GroupAnswer answer;
  answer.order = group.order;
  std::vector<std::string> generators;
  for (const auto& generator : group::list_generators(group, 100)) generators.push_back(group::to_cycles(tokens_of_places.empty() ? generator : group::rename(generator, tokens_of_places)));
  answer.generators = std::move(generators);
  if (auto found = group::find_proved_name(group, budget)) {
    answer.name = std::move(found->text);
    answer.proof = std::move(found->proof);
  }
  return answer;
}

namespace {

group::Group make_target(const Architecture& a, const layout::Layout& layout, const group::Group& layout_group, const Budget& budget) {
  if (a.target.symmetry_is_layout) return layout_group;
  // Mostly the layout has the wanted symmetries and no others: its order then spares a proof of theirs, which is long where the base is long.
  const group::BoundOrder bound = [&](group::Point points, const std::vector<group::Permutation>& generators) -> std::optional<group::Order> {
    constexpr group::Point quickly_proved = 200;
    if (points < quickly_proved || points != layout.tokens || layout.has_equal_registers()) return std::nullopt;
    const symmetry::AutomorphismTest is_automorphism(symmetry::make_structure(layout), budget);
    return std::all_of(generators.begin(), generators.end(), [&](const group::Permutation& g) { return is_automorphism(g); }) ? std::optional(layout_group.order) : std::nullopt;
  };
  try {
    return architecture::parse_symmetry(a, budget, bound);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", locate(a, a.target.symmetry_where), error.what()));
  }
}

std::string to_symmetry_text(const Target& target) {
  if (target.symmetry_is_layout) return "layout";
  if (target.symmetry_expression.empty() && target.symmetry_generators.empty()) return "the trivial group";
  return target.symmetry_expression.empty() ? fmt::format("<{}>", fmt::join(target.symmetry_generators, ", ")) : target.symmetry_expression;
}

sight::ClassKind to_class(TargetClass target) {
  switch (target) {
    case TargetClass::all: return sight::ClassKind::all;
    case TargetClass::causal: return sight::ClassKind::causal;
    case TargetClass::seen: return sight::ClassKind::seen;
  }
  throw InternalError("unknown target class");
}

std::string to_text(attention_kernel::Condition13 condition) {
  switch (condition) {
    case attention_kernel::Condition13::holds: return "holds";
    case attention_kernel::Condition13::fails: return "fails";
    case attention_kernel::Condition13::undecided: return "undecided";
  }
  throw InternalError("unknown state of condition (13)");
}

/// (13) of the stack: fails when it fails in one layer, holds when it holds in all that have a kernel.
std::string compute_condition13(const Context& context) {
  using attention_kernel::Condition13;
  std::optional<Condition13> total;
  for (std::size_t k = 0; k < context.architecture.layers.size(); ++k) {
    if (!has_kernel(context.architecture.layers[k].mixer)) continue;
    const Condition13 here = context.facts.kernel[k].condition13;
    if (!total || here == Condition13::fails || (here == Condition13::undecided && total == Condition13::holds)) total = here;
  }
  return total ? to_text(*total) : "not applicable";
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> to_runs(const std::vector<layout::Vertex>& values) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> runs;
  for (auto value : values) {
    if (!runs.empty() && runs.back().first == value) ++runs.back().second;
    else runs.emplace_back(value, 1);
  }
  return runs;
}

/// An answer that was cut short keeps what is established (sight, symmetry) and claims nothing else.
void give_up(Answer& answer) {
  answer.verdict = Verdict::unknown;
  answer.floor.reset();
  answer.floors.clear();
  answer.collision.reset();
  answer.id_collision.reset();
}

std::string describe_bounds(const Answer& answer) {
  if (answer.connected && answer.class_kind == sight::ClassKind::all) return fmt::format("; reached: every token sees every token after {} layer{}, so at least as many are needed", *answer.connected, *answer.connected == 1 ? "" : "s");
  if (!answer.unseen.empty()) return "; reached: who sees whom, and that some token never sees some other";
  return "; nothing was established yet";
}

/// What networks see, not what patterns say: sums of constants read nobody (docs/theory.md 16.91). Definition 4 speaks of patterns.
void look(Context& context, const Facts* facts) {
  const std::optional<layout::Layout> hidden = hide_blind_layers(context.architecture, context.layout, facts, context.budget);
  const layout::Layout& seen = hidden ? *hidden : context.layout;
  const std::vector<layout::Vertex> unseen = sight::compute_unseen(seen, context.given, {sight::ClassKind::all, false}, context.budget);
  std::vector<layout::Vertex> by_token(unseen.size());
  for (std::size_t k = 0; k < unseen.size(); ++k) by_token[context.token(static_cast<layout::Vertex>(k))] = unseen[k];
  context.answer.unseen = to_runs(by_token);
  context.answer.class_kind = sight::compute_class_kind(seen, context.budget);
  // Rows of the file lead to later tokens, or the layout would stand as it is there: no token sees just those before it.
  if (context.answer.class_kind == sight::ClassKind::causal && !context.tokens_of_places.empty()) context.answer.class_kind = sight::ClassKind::seen;
}

/// All that follows from sight and symmetry. @param known  the target's group, where the caller has it
void decide_rest(Context& context, const group::Group* known) {
  const Architecture& a = context.architecture;
  Answer& answer = context.answer;
  const Budget& budget = context.budget;
  const bool ids = a.input.embedding == Embedding::table;
  context.target = known != nullptr ? *known : make_target(a, context.layout, context.layout_group, budget);
  if (ids && context.target_class == sight::ClassKind::causal) context.mean_all_causal();
  // Inputs with the BOS at token 0 are all there are: only what fixes it acts on them (15.8 d).
  if (ids && a.input.bos) context.target = group::make_stabiliser(context.target, 0, budget);
  budget.report("rules", 0);
  context.facts = compute_facts(a, budget);
  if (std::any_of(a.layers.begin(), a.layers.end(), [&, k = std::size_t{0}](const LayerSpec& layer) mutable { return context.facts.mixer[k++].blind && !is_blind(layer.mixer, context.budget); })) look(context, &context.facts);
  answer.condition13 = compute_condition13(context);
  context.rank = compute_output_rank(a, context.facts.norm);
  // No outputs at all would be no target (docs/theory.md 16.30). The state itself has d numbers: behind a last norm all of them are out of reach, fewer may not be (16.59).
  std::int64_t largest = context.rank.certified;
  if (context.rank.sphere) {
    Architecture one_output = a;
    one_output.output.dim = 1;
    largest = compute_output_rank(one_output, context.facts.norm).certified;
  }
  answer.output_dim = a.output.dim.value_or(context.rank.sphere ? a.dim : std::max<std::int64_t>(1, largest));
  answer.output_largest = std::max<std::int64_t>(0, largest);
  budget.report("views", 0);
  if (ids) {
    decide_ids(context);
  } else {
    decide_continuous(context);
    const auto pattern_needed = context.figure("layers of the published claim", [&] { return compute_pattern_needed(context); });
    answer.at_connected = context.figure("at_connected", [&] { return compute_order_at_connected(context, pattern_needed); });
    answer.published = compute_published(context, pattern_needed);
  }
}

void decide(Context& context, const group::Group* known) {
  const Architecture& a = context.architecture;
  Answer& answer = context.answer;
  const Budget& budget = context.budget;
  struct Symmetry {
    group::Group group;
    symmetry::SearchRecord search;
  };
  Task symmetry(budget, [&layout = context.layout](const Budget& own) {
    Symmetry found;
    found.group = sight::compute_layout_group(layout, own, &found.search);
    return found;
  });
  // Sight first: it is cheap, and what a limit must not take away. Where it is not, it waits for the orbits.
  std::optional<Symmetry> found;
  std::exception_ptr lost;  // what ended the search for symmetry must not end sight, which can do without
  std::vector<group::Point> own_orbits;
  bool moved = false;
  const sight::KnownOrbits orbits(context.layout, [&]() -> const std::vector<group::Point>& {
    if (moved) return context.layout_group.orbit;
    try {
      if (!found && !lost) found = symmetry.take();
    } catch (const std::exception&) {
      lost = std::current_exception();
      own_orbits.resize(context.layout.tokens);
      std::iota(own_orbits.begin(), own_orbits.end(), group::Point{0});
    }
    return lost ? own_orbits : found->group.orbit;
  });
  budget.report("sight", 0);
  look(context, nullptr);
  answer.connected = sight::compute_connected(context.layout, budget).layers;
  budget.report("symmetry", 0);
  if (lost) std::rethrow_exception(lost);
  if (!found) found = symmetry.take();
  context.layout_group = std::move(found->group);
  context.layout_search = std::move(found->search);
  moved = true;
  // Its name is found beside all the rest. Whatever ends that, the name is still there, unless a limit does not allow it.
  Task name(budget, [&context](const Budget& own) { return to_group_answer(context.layout_group, own, context.tokens_of_places); });
  const bool beside = budget.crew != nullptr && a.input.embedding != Embedding::table;  // ids ask for it
  if (!beside) answer.layout = name.take();
  try {
    decide_rest(context, known);
  } catch (const std::exception&) {
    if (beside) answer.layout = name.take();
    if (context.expresses_layout_group) answer.expressed = answer.layout;
    throw;
  }
  if (beside) answer.layout = name.take();
  if (context.expresses_layout_group) answer.expressed = answer.layout;
}

/// Does nothing in the file but its patterns speak of single tokens or their order?
bool is_blind_to_order(const Architecture& a) {
  const auto is_plain = [](const LayerSpec& layer) {
    const MixerKind kind = layer.mixer.kind;
    return kind != MixerKind::convolution && kind != MixerKind::linformer;
  };
  return a.target.symmetry_is_layout && a.target.target_class != TargetClass::causal && a.input.embedding != Embedding::table && a.input.positions == Positions::none && !a.input.bos &&
         std::all_of(a.layers.begin(), a.layers.end(), is_plain);
}

/// Where that is worth it, and there is room for it.
void put_in_natural_order(Context& context) {
  try {
    if (auto reordered = layout::find_natural_order(context.layout, context.budget)) {
      context.layout = std::move(reordered->layout);
      context.tokens_of_places = std::move(reordered->token);
    }
  } catch (const BudgetExhausted&) {
    if (context.budget.is_late()) throw;
  }
}

}  // namespace

Answer certify(const Architecture& architecture, const Budget& budget) { return analyse(architecture, budget).answer; }

void cut_short(Answer& answer, const std::string& reason) {
  give_up(answer);
  answer.limit = reason + describe_bounds(answer);
  answer.use("limit", {*answer.limit});
}

Context analyse(const Architecture& architecture, const Budget& budget, const group::Group* target) {
  Context context(architecture, budget);
  Answer& answer = context.answer;
  answer.file = architecture.file;
  answer.name = architecture.name;
  answer.tokens = static_cast<std::uint64_t>(architecture.tokens);
  answer.target_class = context.target_class = to_class(architecture.target.target_class);
  answer.symmetry_text = to_symmetry_text(architecture.target);
  context.target_is_layout = architecture.target.symmetry_is_layout;
  if (architecture.depth == Depth::listed) answer.given = context.given = architecture.layer_count();
  try {
    budget.report("layout", 0);
    if (answer.tokens > layout::most_tokens)
      throw BudgetExhausted(fmt::format("{} tokens are more than the {} that a certificate holds", answer.tokens, layout::most_tokens));
    context.layout = make_layout(architecture, budget);
    if (target == nullptr && is_blind_to_order(architecture)) put_in_natural_order(context);
    decide(context, target);
  } catch (const OutOfReach& reason) {
    give_up(answer);
    context.use("left-out", {"the verdict", reason.what()});
  } catch (const BudgetExhausted& limit) {
    cut_short(answer, limit.what());
  } catch (const std::bad_alloc&) {
    cut_short(answer, "the memory limit allows no more");
  }
  add_assumptions(context);
  add_advice(context);
  return context;
}

}  // namespace sightline::verdict

// Real-valued tokens: Theorem E decides what the layout can tell apart, the other rules what the sublayers can do with it.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sightline/symmetry/automorphism.hpp"
#include "sightline/sight/rooted.hpp"
#include "sightline/sight/wanted.hpp"
#include "sightline/verdict/context.hpp"
#include "sightline/verdict/fixed_positions.hpp"
#include "sightline/verdict/floors.hpp"
#include "sightline/verdict/id_layers.hpp"
#include "sightline/verdict/tokenwise.hpp"

namespace sightline::verdict {

using namespace architecture;
using sight::ClassKind;

namespace {

/// Layers that show nobody have no say.
sight::RegisterRows register_rows(const Context& context) {
  const bool frequencies = every_mixer(context, [](const MixerFacts& m) { return m.normalised || m.blind; });
  return frequencies ? sight::RegisterRows::frequencies : sight::RegisterRows::multisets;
}

/// Registers that start equal, and layers of which some show how many there are and some how often: counts are then necessary, not
/// sufficient. A maximum shows neither, and of equal keys top-k takes any (16.21).
bool mixes_register_rows(const Context& context) {
  const auto& registers = context.architecture.input.registers;
  if (std::set<std::string>(registers.begin(), registers.end()).size() == registers.size()) return false;
  if (!every_mixer(context, [](const MixerFacts& m) { return m.bounded; })) return true;
  return register_rows(context) == sight::RegisterRows::multisets &&
         !every_mixer(context, [](const MixerFacts& m) { return !m.normalised || m.blind; });
}

/// A sum of constants shows nobody, but how long its row is (16.5 d), and how long in each colour, as every colour has a weight (docs/theory.md 16.90): views
/// without such a layer are too coarse where these differ.
bool shows_lengths(const Context& context) {
  if (context.sighted().is_whole) return false;
  const auto& colour = context.layout.vertex_colour;  // tokens that are all told apart need no lengths
  if (std::set<std::uint64_t>(colour.begin(), colour.begin() + context.layout.tokens).size() == context.layout.tokens) return false;
  std::vector<layout::ColouredRun> row;
  std::size_t position = 0;
  for (std::size_t k = 0; k < context.architecture.layers.size(); position += static_cast<std::size_t>(context.architecture.layers[k++].repeat)) {
    const MixerFacts& facts = context.facts.mixer[k];
    if (!facts.blind || facts.mean == attention_kernel::Tri::yes) continue;
    for (const std::uint32_t r : context.layout.layers[context.layout.order[position]].relations) {
      std::optional<std::map<std::int64_t, std::uint64_t>> first;
      for (layout::Vertex i = 0; i < context.layout.vertices(); ++i) {
        context.budget.poll();
        context.layout.relations[r].row(i, row);
        std::map<std::int64_t, std::uint64_t> lengths;
        for (const layout::ColouredRun& run : row) lengths[run.colour] += (run.last - run.first) / run.step + 1;
        if (first.value_or(lengths) != lengths) return true;
        first = std::move(lengths);
      }
    }
  }
  return false;
}

/// A row of the own token alone, read with one number per arc in front of a post-norm that keeps directions, shows a sign at most; views count it
/// (docs/theory.md 16.29). Where weights are shared, nothing but the feedforward behind it can tell multiples apart (16.42).
bool forgets_own_rows(const Context& context) {
  const auto& colour = context.layout.vertex_colour;
  if (std::set<std::uint64_t>(colour.begin(), colour.begin() + context.layout.tokens).size() == context.layout.tokens) return false;
  std::size_t position = 0;
  for (std::size_t k = 0; k < context.architecture.layers.size(); ++k) {
    const LayerSpec& layer = context.architecture.layers[k];
    const auto& relations = context.layout.layers[context.layout.order[position]].relations;
    position += static_cast<std::size_t>(layer.repeat);
    if (!(context.architecture.block.tied ? confuses_multiples(layer, context.facts.feedforward[k]) : forgets_multiples(layer))) continue;
    std::vector<layout::Run> row;
    for (layout::Vertex i = 0; i < context.layout.tokens; ++i) {
      context.budget.poll();
      bool reads = false, others = false;
      for (const std::uint32_t r : relations) {
        context.layout.relations[r].pattern().row(i, row);
        for (const layout::Run& run : row) (run.first == i && run.size() == 1 ? reads : others) = true;
      }
      if (reads && !others) return true;
    }
  }
  return false;
}

/// Turned queries and keys under a kernel that turning both may change show where tokens stand, and so do averages of which turning may leave nothing:
/// views that know offsets alone are then too coarse, and what they confuse need not be confused (docs/theory.md 16.37, 16.92).
bool sees_places(const Context& context) {
  return !every_mixer(context, [](const MixerFacts& m) { return !m.sees_places; });
}

/// Of keys that tie, top-k has to take some and leave some, by their index if by nothing else: tokens that look alike are then told apart. Weights can
/// make all keys tie, whatever the kernel (docs/theory.md 16.78). Rows of no more than k are read as wholes.
bool may_break_ties(const Context& context) {
  std::vector<layout::Run> row;
  std::size_t position = 0;
  for (const LayerSpec& layer : context.architecture.layers) {
    const auto& relations = context.layout.layers[context.layout.order[position]].relations;
    position += static_cast<std::size_t>(layer.repeat);
    if (!selects_keys(context.architecture, layer.mixer)) continue;
    if (layer.mixer.kind != MixerKind::attention) return true;
    for (const std::uint32_t r : relations) {
      const layout::Pattern& pattern = context.layout.relations[r].pattern();
      for (layout::Vertex i = 0; i < context.layout.vertices(); i = pattern.same_row_until(i)) {
        context.budget.poll();
        pattern.row(i, row);
        std::uint64_t size = 0;
        for (const layout::Run& run : row) size += run.size();
        if (size > static_cast<std::uint64_t>(*layer.mixer.top_k)) return true;
      }
    }
  }
  return false;
}

/// What keeps mixers from telling apart all that views do.
/// @param nothing_wanted  targets ask for no other token: mixers that can be switched off have no say
std::optional<std::string> find_missing_mixer(const Context& context, bool nothing_wanted) {
  const Architecture& a = context.architecture;
  for (std::size_t k = 0; k < a.layers.size(); ++k) {
    const MixerFacts& facts = context.facts.mixer[k];
    if (nothing_wanted && !lacks_scale(a.layers[k].mixer)) continue;
    if (facts.mean != Tri::yes && !facts.blind) return "mixer: " + facts.why;
    if (!facts.bounded && context.given) return "mixer: " + facts.why + "; a list of layers needs such a bound";
  }
  if (!nothing_wanted && forgets_own_rows(context)) return "one number per arc scales a row of the own token, and what reads it takes multiples for the same (theory 16.29, 16.42)";
  if (!nothing_wanted && mixes_register_rows(context)) return "registers that start equal, read by layers that show different things of them (theory 7.6, 15.8 g, 16.21)";
  return std::nullopt;
}

/// Layers that share weights have no feedforward-only sublayers (1.12) to move states before the first layer or behind the last one. As on ids, a
/// parallel block is read out one block later, and sums of embedding + position are free states one period later (docs/theory.md 16.42).
std::uint64_t count_layers_to_spare(const Context& context) {
  const Architecture& a = context.architecture;
  if (!a.block.tied || a.input.embedding != Embedding::mlp) return 0;
  const bool adds = a.input.positions != Positions::none && adds_positions(context, context.sighted_layout()) != Tri::no;
  const std::uint64_t period = a.layers.size() == 1 ? 1 : context.layout.order.size();
  return (a.block.arrangement == Arrangement::parallel ? 1 : 0) + (adds ? period : 0);
}

/// @param spare  layers that may be needed besides those that views ask for
sight::Needed add_spare(sight::Needed needed, std::uint64_t spare) {
  if (spare == 0 || needed.layers.value_or(1) == 0) return needed;
  if (needed.layers) needed.low = needed.high = *needed.layers;
  needed.layers.reset();
  if (needed.high > 0) needed.high += spare;
  return needed;
}

/// @param layers  how many layers views ask for
void decide_blocks(Context& context, std::uint64_t layers, Tokenwise& result) {
  const Architecture& a = context.architecture;
  if (!a.block.residual) result.missing.push_back("no residual connection (theory 7.4)");
  if (a.block.tied) {
    // No feedforward-only sublayers there: branches of gain 1 add a bounded amount in all, which a head or a last gain would make up for.
    const bool bounded = context.given && a.output.head == Head::none && !(a.output.norm && a.output.norm->kind != NormKind::none) &&
                         std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& l) {
                           return l.norm.kind != NormKind::none && !l.norm.affine && (l.norm.place == NormPlace::sandwich || l.norm.place == NormPlace::after);
                         });
    const bool covered = a.input.embedding == Embedding::mlp && !bounded &&
                         std::all_of(context.facts.feedforward.begin(), context.facts.feedforward.end(), [](const auto& f) { return f.interpolates; });
    if (!covered) result.missing.push_back("layers that share weights on real-valued tokens (theory 7.4, 15.4)");
    const bool sums = covered && a.block.arrangement == Arrangement::parallel && layers > 1 && adds_up_unfree_states(context);
    if (sums) result.missing.push_back("parallel blocks whose mixers add up states that no feedforward has moved (theory 15.4 Lemma S, 16.21)");
  }
  if (auto missing = find_missing_mixer(context, layers == 0)) {
    result.missing.push_back(std::move(*missing));
    return;
  }
  context.use("mixer", {context.facts.mixer.front().why});
}

/// Do the rows of every register come into some token's view? Those of the others narrow the layout's group, and no network notices (docs/theory.md 16.52).
bool sees_all_registers(const layout::Layout& layout) {
  if (layout.registers == 0) return true;
  const std::vector<std::uint64_t> first = sight::compute_first_layers(layout);
  std::vector<bool> seen(layout.vertices(), false);
  std::vector<layout::Vertex> open;
  for (layout::Vertex v = 0; v < layout.tokens; ++v) open.push_back(v);
  std::vector<layout::Run> row;
  while (!open.empty()) {
    const layout::Vertex reader = open.back();
    open.pop_back();
    for (std::size_t relation = 0; relation < first.size(); ++relation) {
      if (first[relation] == 0) continue;
      layout.relations[relation].pattern().row(reader, row);
      for (layout::Vertex r = layout.tokens; r < layout.vertices(); ++r) {
        if (seen[r] || std::none_of(row.begin(), row.end(), [&](const layout::Run& run) { return run.contains(r); })) continue;
        seen[r] = true;
        open.push_back(r);
      }
    }
  }
  return std::all_of(seen.begin() + layout.tokens, seen.end(), [](bool s) { return s; });
}

bool is_bounded(const Context& context) {
  return every_mixer(context, [](const MixerFacts& m) { return m.bounded; });
}

/// A fixed table whose rows overlap, and a target with a symmetry that exchanges tokens of different rows (docs/theory.md 16.24 f): inputs that look
/// alike differ by the rows as well as by the exchange, so no exchange of different rows is harmless, in G or not.
enum class RowExchange { none, refused, open };

RowExchange exchange_rows(const Context& context, const layout::Layout& recoloured) {
  if (context.target_is_layout) return RowExchange::none;
  const auto& row = context.layout.vertex_colour;
  std::map<std::uint64_t, std::uint64_t> row_of;
  bool merges = false, swaps = false;
  for (layout::Vertex i = 0; i < context.tokens(); ++i) {
    merges = merges || row_of.try_emplace(recoloured.vertex_colour[i], row[i]).first->second != row[i];
    swaps = swaps || row[context.target.orbit[i]] != row[i];
  }
  if (!merges || !swaps) return RowExchange::none;
  const bool distinct = std::set<std::uint64_t>(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(context.tokens())).size() == context.tokens();
  const bool everything = context.target_class == ClassKind::all || (context.target_class == ClassKind::seen && context.answer.class_kind == ClassKind::all);
  return distinct && everything ? RowExchange::refused : RowExchange::open;
}

/// What was found about views, in words that anyone can derive from the figures.
std::vector<std::string> describe_needed(const Context& context, const sight::Needed& needed) {
  const ClassKind kind = context.target_class;
  if (needed.never && needed.missing) return {fmt::format("token {} never sees token {}", context.token(needed.missing->reader), context.token(needed.missing->unseen))};
  if (needed.never) return {"a symmetry of the views that the target does not have survives at every depth"};
  if (kind == ClassKind::causal && needed.layers == 0) return {"what this class and symmetry leave to a token is its own input alone (theory 16.7)"};
  const std::string seen = fmt::format("{} after {} layer{}",
                                       kind == ClassKind::all      ? "every token sees every token"
                                       : kind == ClassKind::causal ? "every token sees the tokens up to itself"
                                                                   : "no view grows any more",
                                       needed.start, needed.start == 1 ? "" : "s");
  if (!needed.layers) return {seen, fmt::format("at least {} layers are needed", needed.low)};
  if (*needed.layers == needed.start) return {seen, "no two views can be confused"};
  return {seen, fmt::format("a symmetry of the views that the target does not have survives until layer {}", *needed.layers)};
}

/// What the layout alone settles: necessity holds for every mixer that is a function of the visible rows (theory 2.4 NEC).
struct SightVerdict {
  sight::Needed needed;
  bool impossible = false, undecided = false;
};

SightVerdict judge(const Context& context, sight::Needed needed) {
  SightVerdict result;
  const bool too_shallow = context.given && ((needed.layers && *needed.layers > *context.given) || (!needed.layers && needed.low > *context.given));
  result.impossible = needed.never || too_shallow;
  result.undecided = !result.impossible && !needed.layers && !(needed.high > 0 && (!context.given || *context.given >= needed.high));
  result.needed = std::move(needed);
  return result;
}

/// The floor for tokens that are not seen comes before all others; true when there is one.
bool add_unseen_floor(Context& context, const sight::ViewQuestion& question) {
  if (every_mixer(context, [](const MixerFacts& m) { return m.blind && !m.linear; }) && context.tokens() > 1) {
    context.add_floor(make_blind_floor(context));
    return true;
  }
  const sight::UnseenPairs unseen = sight::find_unseen_pairs(question, context.given, false, context.budget);
  if (unseen.count == 0) return false;
  context.answer.unreachable = context.to_tokens(*unseen.first);
  context.add_floor(make_unseen_floor(context, mpz_class(static_cast<unsigned long>(unseen.count))));
  return true;
}

/// The floor for a collision comes after all others.
void add_collision_floor(Context& context, const sight::ViewQuestion& question, const SightVerdict& verdict) {
  std::optional<sight::Collision> collision;
  if (context.given) {
    collision = context.figure("the collision at this depth", [&] { return context.ask_collision(question, *context.given); });
  }
  if (!collision) collision = verdict.needed.below;
  if (!collision) return;
  context.answer.collision = context.to_tokens(*collision);
  Floor floor = make_collision_floor(context, *collision);
  const std::uint64_t depth = context.given.value_or(~std::uint64_t{0});
  try {
    add_distance(context, question, depth, floor);
  } catch (const OutOfReach&) {
    // The floor stands without it.
  }
  for (layout::Vertex& vertex : floor.orbit) vertex = context.token(vertex);
  context.add_floor(std::move(floor));
}

/// Fixed mean pooling shows the blocks of every token it reads at once, through one layer (theory 2.5): rows of other tokens
/// are not needed, so the layout's group is the expressed one from the first layer on.
bool is_fixed_pooling(const Architecture& a) {
  return a.layers.size() == 1 && a.layers.front().mixer.kind == MixerKind::linformer &&
         a.layers.front().mixer.projections == ProjectionKind::blocks;
}

/// One layer shows every block mean, and no depth more: the layout's group decides. Tokens that ask for themselves alone are exchanged with all that
/// start alike before that layer, and with those of their orbit behind it (docs/theory.md 16.24).
sight::Needed decide_fixed_pooling(const Context& context, const sight::ViewQuestion& question, const group::Group& own, std::vector<std::string>& premises) {
  const auto reach = sight::compute_wanted_reach(question, false, context.budget);
  sight::Needed needed;
  needed.layers = reach.layers;
  needed.never = !reach.layers;
  if (!reach.layers) needed.missing = reach.witness;
  needed.start = reach.layers.value_or(0);
  premises = {reach.layers ? "fixed pooling: one layer shows every block mean" : "fixed pooling: some token is in no block"};
  if (!reach.layers) return needed;
  const group::Group& target = *question.target;
  bool kept = true;  // by the target, what one layer cannot tell apart
  if (*reach.layers == 0) {
    std::map<std::uint64_t, group::Point> orbit_of;
    const auto& colour = question.layout->vertex_colour;
    for (group::Point i = 0; i < context.tokens(); ++i) {
      if (orbit_of.try_emplace(colour[i], target.orbit[i]).first->second != target.orbit[i]) needed.layers = 1;
    }
    if (needed.layers == 0) return needed;
    for (group::Point i = 0; i < context.tokens(); ++i) kept = kept && target.orbit[i] == target.orbit[own.orbit[i]];
  } else {
    kept = target.is_trivial() ? own.is_trivial() : context.target_contains(own);
    const bool everything = context.target_class == ClassKind::all || (context.target_class == ClassKind::seen && context.answer.class_kind == ClassKind::all);
    if (!kept && !everything && !target.is_trivial()) {  // what the class hides may excuse the rest
      needed.layers.reset();
      needed.low = *reach.layers;
      return needed;
    }
  }
  if (kept) return needed;
  needed.layers.reset();
  needed.never = true;
  premises = {"fixed pooling: block means do not change when tokens of a block, or whole blocks, are exchanged"};
  return needed;
}

/// The group by which that was asked joins rows that overlap through others only. No more than its elements survives, and of those the ones that move
/// every token to an overlapping row (docs/theory.md 16.79).
sight::Needed decide_pooling_by_pairs(const Context& context, const group::Group& group, const group::Group& harmless, RowExchange exchange, sight::Needed needed,
                                     std::vector<std::string>& premises) {
  if (needed.missing || !(needed.never || exchange == RowExchange::open)) return needed;
  const ExchangedRows rows = find_exchanged_rows(context, group, harmless, exchange == RowExchange::open);
  needed.below = rows.first;
  needed.never = rows.first.has_value();
  needed.layers.reset();
  premises = {"fixed pooling: block means do not change when tokens of a block, or whole blocks, are exchanged"};
  if (needed.never) return needed;
  if (rows.complete) needed.layers = needed.start;
  needed.low = needed.start;
  premises = {"fixed pooling: one layer shows every block mean"};
  return needed;
}

/// Fixed pooling among other layers: networks see all of its blocks at once, views the blocks of the tokens whose rows are in sight. So
/// what views tell apart is told apart, and the reach bounds the number of layers from below (docs/theory.md 16.23). Sums of constants (lengths of
/// rows) are another such case.
bool pools_among_others(const Architecture& a) {
  return a.layers.size() > 1 && std::any_of(a.layers.begin(), a.layers.end(), [](const LayerSpec& layer) {
           return layer.mixer.kind == MixerKind::linformer && layer.mixer.projections == ProjectionKind::blocks;
         });
}

/// @param at_last  views come to show all that networks see, so what survives at every depth is final
sight::Needed keep_bounds(sight::Needed needed, bool at_last) {
  needed.below.reset();  // of views alone
  if ((needed.never && needed.missing) || (needed.never && at_last)) return needed;
  needed.high = needed.layers.value_or(needed.high);
  needed.low = needed.start;
  if (needed.layers != needed.start) needed.layers.reset();
  if (needed.never) needed.high = 0;
  needed.never = false;
  return needed;
}

/// Colours by overlap merge rows that overlap through others only, so views show symmetries that the box does not allow: they bound the number of layers
/// from above, and the reach from below. @param by_pairs  asked about the layout's own symmetries `group`, which are looked at one by one
sight::Needed keep_overlaps(const Context& context, const group::Group& group, const group::Group& harmless, bool by_pairs, RowExchange exchange, sight::Needed needed) {
  if (needed.never && needed.missing) return needed;
  ExchangedRows rows;
  if (by_pairs) rows = find_exchanged_rows(context, group, harmless, exchange == RowExchange::open);
  if (rows.first) {
    needed.never = true;
    needed.layers.reset();
    needed.missing.reset();  // of the layer before everything is seen
    needed.below = rows.first;
    return needed;
  }
  if (by_pairs && !rows.complete) needed.layers.reset(), needed.high = 0;
  if (needed.never) return needed;
  needed.high = needed.layers.value_or(needed.high);
  needed.low = needed.start;
  if (needed.layers != needed.start) needed.layers.reset();
  needed.below.reset();
  return needed;
}

}  // namespace

void decide_continuous(Context& context) {
  const Architecture& a = context.architecture;
  Answer& answer = context.answer;
  const bool decidable = every_mixer(context, [](const MixerFacts& m) { return m.decidable; });
  const bool fixed_table = uses_fixed_table(a);
  // Rows that overlap on the box may be exchanged, and blind layers show nothing: views then have a group of their own.
  Overlaps overlaps = Overlaps::exact;
  if (fixed_table) {
    context.recoloured = context.sighted();
    context.recoloured->is_whole = false;
    overlaps = recolour_by_overlap(context, context.recoloured->layout);
    context.recoloured->group = symmetry::compute_layout_group(context.recoloured->layout, context.budget);
  }
  const Sighted& sighted = fixed_table ? *context.recoloured : context.sighted();
  const RowExchange exchange = fixed_table ? exchange_rows(context, sighted.layout) : RowExchange::none;
  const group::Group nobody = group::make_trivial_group(context.layout.tokens);
  sight::ViewQuestion question{&sighted.layout,
                                     exchange == RowExchange::refused                 ? &nobody
                                     : context.target_is_layout && sighted.is_whole ? &sighted.group
                                                                                      : &context.target,
                                     &sighted.group, context.target_class, register_rows(context)};

  // Views that are coarser than what networks see: what they tell apart is told apart, no more is claimed.
  const bool pooled = pools_among_others(a), lengths = shows_lengths(context), coarse = pooled || lengths;
  const bool views_at_last = !lengths && answer.class_kind == ClassKind::all;  // all rows come into sight where all tokens do
  const std::uint64_t spare = count_layers_to_spare(context);
  // Pairs of overlapping rows decide among the layout's own symmetries, and nothing else survives once views have no others.
  const bool everything = context.target_class == ClassKind::all || (context.target_class == ClassKind::seen && answer.class_kind == ClassKind::all);
  const bool by_pairs = (overlaps == Overlaps::by_pairs || (overlaps == Overlaps::exact && exchange == RowExchange::open)) && everything && !coarse;
  const group::Group* const harmless = question.target;
  if (by_pairs && !is_fixed_pooling(a)) question.target = &sighted.group;
  SightVerdict sight_verdict;
  std::vector<std::string> premises;
  if (is_fixed_pooling(a)) {
    sight::Needed needed = decide_fixed_pooling(context, question, fixed_table ? sighted.group : context.layout_group, premises);
    if (by_pairs) needed = decide_pooling_by_pairs(context, sighted.group, *harmless, exchange, std::move(needed), premises);
    sight_verdict = judge(context, add_spare(std::move(needed), spare));
  } else {
    sight::Needed needed = context.ask_needed(question);
    if (coarse) needed = keep_bounds(std::move(needed), views_at_last);
    if (overlaps != Overlaps::exact || by_pairs) needed = keep_overlaps(context, sighted.group, *harmless, by_pairs, exchange, std::move(needed));
    sight_verdict = judge(context, add_spare(std::move(needed), spare));
    premises = describe_needed(context, sight_verdict.needed);
  }
  const bool reach_fails = (sight_verdict.needed.never && sight_verdict.needed.missing) || (context.given && *context.given < sight_verdict.needed.start);
  if (overlaps != Overlaps::exact && !by_pairs && sight_verdict.impossible && !reach_fails) {
    // The collision may use pairs of rows too far apart for the box: only its absence would have been a proof.
    sight_verdict.impossible = false;
    sight_verdict.undecided = true;
  }
  const bool places = sees_places(context);
  const bool may_tie = may_break_ties(context), ties = may_tie && sight_verdict.impossible && !(context.given && *context.given < sight_verdict.needed.start);
  if (((exchange == RowExchange::open && !by_pairs) || places || ties) && !(sight_verdict.needed.never && sight_verdict.needed.missing)) {
    sight::Needed& needed = sight_verdict.needed;  // what is not seen stays so, whatever the rows; no more is known
    sight_verdict.impossible = context.given && *context.given < needed.start;
    sight_verdict.undecided = !sight_verdict.impossible;
    needed.layers.reset();
    needed.below.reset();
    needed.never = false;
    needed.low = needed.start;
    needed.high = 0;
    premises = describe_needed(context, needed);
  }
  // Not even necessity of views: the pattern depends on the data. What norms and widths lose is lost whatever is read (docs/theory.md 16.88).
  if (!decidable) sight_verdict.impossible = false;

  const bool unseen = sight_verdict.impossible && add_unseen_floor(context, question);
  if (sight_verdict.impossible || !sight_verdict.undecided) {
    context.use(fixed_table ? "fixed-positions" : "theorem-e", std::move(premises));
  }
  OutputVerdict output = decide_output(context, context.rank.certified, std::nullopt);
  Tokenwise rest;
  const bool nothing_wanted = sight_verdict.needed.layers == 0;
  const sight::Needed& needed = sight_verdict.needed;
  decide_blocks(context, needed.never ? 1 : needed.layers.value_or(std::max<std::uint64_t>(1, needed.low)), rest);
  decide_feedforward(context, rest);
  decide_norms(context, rest);
  if (sight_verdict.impossible && !unseen && !coarse) {
    if (fixed_table) {
      answer.collision = sight_verdict.needed.below;
      answer.collision_moves_rows = true;
      context.add_floor(make_overlap_floor(context, sight_verdict.needed.below, exchange == RowExchange::refused));
    } else {
      add_collision_floor(context, question, sight_verdict);
    }
  }
  if (output.missing) rest.missing.push_back(*output.missing);
  if (sight_verdict.undecided) rest.missing.push_back(lengths            ? "layers: a sum of constants shows the length of its rows alone (theory 16.5 d)"
                                                      : pooled             ? "layers: fixed pooling among other layers is known up to bounds (theory 16.23)"
                                                      : is_fixed_pooling(a) && overlaps == Overlaps::exact && !by_pairs ? "layers: fixed pooling, and a class that hides what its symmetries exchange (theory 16.24)"
                                                      : exchange == RowExchange::open && !by_pairs ? "layers: the target exchanges tokens whose rows in the position table overlap and differ (theory 16.24)"
                                                      : places ? "layers: turned queries and keys show where tokens stand under this kernel (theory 16.37)"
                                                      : ties ? "layers: of keys that tie top-k takes some and leaves some, and so may tell tokens apart (theory 16.78)"
                                                      : spare > 0 ? "layers: with shared weights no feedforward stands before the first layer or behind the last (theory 16.42)"
                                                      : overlaps == Overlaps::exact && !by_pairs ? "layers: comparing views is beyond the bounds on steps"
                                                                           : "layers: rows of the position table overlap, but not in the way that theory 3.9 decides");

  const bool sufficient = rest.missing.empty() && !rest.impossible && !(output.impossible && context.rank.sphere);
  const auto settle = [&](Floor& floor) {
    if (floor.distance) floor.distance->exact = sufficient && is_bounded(context);
  };
  if (answer.floor) settle(*answer.floor);
  for (Floor& floor : answer.floors) settle(floor);
  answer.verdict = sight_verdict.impossible || output.impossible || rest.impossible ? Verdict::impossible
                   : rest.missing.empty()                                           ? Verdict::certified
                                                                                    : Verdict::unknown;
  for (const std::string& reason : rest.missing) context.use("open", {reason});

  const bool bounded = is_bounded(context) || nothing_wanted;
  if (sufficient && bounded) {
    answer.needed = needed.layers;
    if (!needed.layers && !needed.never && needed.high > 0) answer.needed_between = {needed.low, needed.high};
  }
  if (sufficient && !bounded) context.use("theorem-g");

  // The class of the repeated list, and the smallest group at the given depth: a target that asks for nothing says nothing about mixers.
  const bool mixes = sufficient && (!nothing_wanted || context.tokens() == 1 || !find_missing_mixer(context, false));
  if (sufficient && bounded && answer.class_kind) {
    if (*answer.class_kind == context.target_class) {
      answer.class_layers = answer.needed;
    } else if (mixes && is_bounded(context) && !is_fixed_pooling(a) && !fixed_table) {
      sight::ViewQuestion other = question;
      other.target_class = *answer.class_kind;
      answer.class_layers = context.figure("class.layers", [&] {
        const sight::Needed found = context.ask_needed(other);
        return add_spare(coarse ? keep_bounds(found, views_at_last) : found, spare).layers;
      });
    }
  }
  if (!mixes || output.impossible || !answer.connected) return;
  if (overlaps != Overlaps::exact || by_pairs) {  // rows decide, not views; what is certified for the layout's own group is certified for no smaller one
    if (answer.verdict == Verdict::certified && context.target_is_layout && context.target_class == ClassKind::all) context.expresses_layout_group = true;
    return;
  }
  sight::ViewQuestion all = question;
  all.target_class = ClassKind::all;
  const bool merged = fixed_table && !(sighted.group.order == context.layout_group.order);
  const std::uint64_t most = answer.needed ? *answer.needed : answer.needed_between ? answer.needed_between->second : ~std::uint64_t{0};
  const bool enough = !context.given || (is_bounded(context) && *context.given >= most);
  std::optional<group::Group> expressed;
  if (is_fixed_pooling(a) || !is_bounded(context)) {
    // Networks that break ties may have a smaller group (docs/theory.md 16.78).
    context.expresses_layout_group = enough && !merged && sees_all_registers(sighted.layout) && (!may_tie || context.layout_group.is_trivial());
  } else if (enough && answer.verdict == Verdict::certified && context.given && context.target_is_layout && context.target_class == ClassKind::all) {
    context.expresses_layout_group = true;
  } else if (!context.given || (*context.given >= *answer.connected && (spare == 0 || *answer.connected == 0))) {
    expressed = context.figure("expressed", [&] { return context.ask_expressed(all, context.given); });
    // Views that are too coarse show that nothing but the layout's own group is left, or nothing; rows that overlap leave no group but that.
    if (((coarse && (context.given || !views_at_last)) || fixed_table) && expressed) {
      context.expresses_layout_group = expressed->order == context.layout_group.order;
      expressed.reset();
    }
  }
  if (expressed) answer.expressed = to_group_answer(*expressed, context.budget, context.tokens_of_places);
}

namespace {

/// Views know the offsets of rotary positions and the distances of ALiBi. Softmax shows them, turned pairs of coordinates there being; of other kernels that is not
/// proved, and a constant one shows none (docs/theory.md 16.87).
bool may_hide_offsets(const Context& context) {
  return std::any_of(context.architecture.layers.begin(), context.architecture.layers.end(), [&](const LayerSpec& layer) {
    const Mixer& mixer = layer.mixer;
    const bool rotary = mixer.relative.scheme == RelativeScheme::rotary;
    if (mixer.kind != MixerKind::attention || (!rotary && mixer.relative.scheme != RelativeScheme::alibi)) return false;
    return context.facts.mixer[static_cast<std::size_t>(&layer - context.architecture.layers.data())].softmax ? rotary && context.architecture.dim < 2 : true;
  });
}

}  // namespace

sight::Needed compute_pattern_needed(const Context& context) {
  sight::Needed known;
  if (is_fixed_pooling(context.architecture)) known.layers = context.answer.connected;
  else if (context.target_is_layout && context.target_class == ClassKind::all) known.layers = context.answer.needed;
  if (known.layers || is_fixed_pooling(context.architecture)) return known;
  const Sighted& sighted = context.sighted();
  const sight::ViewQuestion question{&sighted.layout, sighted.is_whole ? &sighted.group : &context.layout_group, &sighted.group, ClassKind::all, register_rows(context)};
  return context.ask_needed(question);
}

std::optional<group::Order> compute_order_at_connected(const Context& context, const sight::Needed& pattern_needed) {
  if (!context.answer.connected || !is_bounded(context) || mixes_register_rows(context) || sees_places(context)) return std::nullopt;
  if (*context.answer.connected > 0 && may_hide_offsets(context)) return std::nullopt;
  if (*context.answer.connected > 0 && count_layers_to_spare(context) > 0) return std::nullopt;  // at that depth less is shown than views say
  if (is_fixed_pooling(context.architecture) || (pattern_needed.layers && *pattern_needed.layers <= *context.answer.connected)) return context.layout_group.order;
  if (pools_among_others(context.architecture) || shows_lengths(context)) return std::nullopt;
  const Sighted& sighted = context.sighted();
  const sight::ViewQuestion question{&sighted.layout, &sighted.group, &sighted.group, ClassKind::all, register_rows(context)};
  const auto group = context.ask_expressed(question, context.answer.connected);
  if (!group) return std::nullopt;
  return group->order;
}

}  // namespace sightline::verdict

#include "sightline/sight/reach.hpp"

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/layout/steady_rows.hpp"
#include "sightline/sight/closed_parts.hpp"
#include "sightline/sight/known_orbits.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

/// With more orbits of readers than this share of the tokens, columns of all are as quick.
constexpr Threshold<double> many_orbits{0.25, 1.0, "many orbits"};
// Below this many vertices the bit columns are quicker than looking for a hub.
constexpr Threshold<Vertex> small_layout{1024, 2, "small layouts"};

bool find_causal_chain(const Layout& layout, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty()) return false;
  const std::vector<bool> used = layout.used_layers();
  std::vector<bool> linked(layout.tokens, false);
  std::vector<layout::Run> row;
  for (std::size_t l = 0; l < layout.layers.size(); ++l) {
    if (!used[l]) continue;
    for (const std::uint32_t r : layout.layers[l].relations) {
      layout::SteadyRows rows(layout.relations[r].pattern(), 1);
      for (Vertex i = 0; i < layout.tokens; ++i) {
        budget.poll();
        if (rows.go_to(i)) {
          // What goes down from the first reader of a stretch goes down from all, and at most its second comes next to a member.
          for (const layout::Run& run : rows.steady()) {
            if (run.last > i) return false;
            if (i > 0 && run.contains(i - 1)) linked[i] = true;
            if (run.last == i && i + 1 < rows.end()) linked[i + 1] = true;
          }
        }
        rows.rest(i, row);
        for (const layout::Run& run : row) {
          if (run.last > i) return false;
          if (i > 0 && run.contains(i - 1)) linked[i] = true;
        }
      }
    }
  }
  for (Vertex i = 1; i < layout.tokens; ++i) {
    if (!linked[i]) return false;
  }
  return true;
}

/// Nothing is unseen once all is seen. After how many layers that is so is asked about anyway.
/// @param ask  answers a question for the layers; nothing where it cannot
template <class Ask>
std::optional<ReachAnswer> answer_when_all_is_seen(const ReachQuestion& question, const Ask& ask) {
  ReachQuestion asked = question;
  asked.count_unseen = false;
  asked.find_layers = true;
  std::optional<ReachAnswer> answer = ask(asked);
  if (!answer || !answer->reach.layers || (question.depth && *answer->reach.layers > *question.depth)) return std::nullopt;
  answer->unseen.assign(question.layout->tokens, 0);
  return answer;
}

std::optional<ReachAnswer> find_cheap_answer(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (layout.vertices() > small_layout) {
    if (auto answer = answer_by_rows(question, budget)) return answer;
    if (auto answer = answer_by_core(question, budget)) return answer;
  }
  if (question.weight == nullptr) {
    if (auto answer = answer_by_intervals(question, budget)) return answer;
  }
  if (layout.vertices() <= small_layout) return std::nullopt;
  if (question.weight == nullptr) {
    if (auto answer = answer_by_stretches(question, budget, true)) return answer;
    if (auto answer = answer_by_grid(question, budget)) return answer;
    if (auto answer = answer_by_boxes(question, budget)) return answer;
    if (auto answer = answer_by_closed_parts(question, budget, true)) return answer;
    if (auto answer = answer_by_shifts(question, budget, true)) return answer;
  }
  // Token 0 of a causal chain never sees the others: hubs would be followed for as many layers as the chain has.
  const bool never = question.wanted.kind == ClassKind::all && is_causal_chain(layout, budget);
  // Hubs say after how many layers all is seen, whatever the depth that is asked about.
  const auto ask_hubs = [&](const ReachQuestion& asked) { return answer_by_hubs(asked, budget); };
  if (!question.count_unseen) return never ? ReachAnswer{{}, {std::nullopt, UnreachablePair{0, 1}}} : ask_hubs(question);
  const auto sees_all = [&] { return answer_when_all_is_seen(question, ask_hubs); };
  const bool ever = question.wanted.kind == ClassKind::all && !never;
  const bool may_see_all = ever && (!question.depth || *question.depth > 1);
  if (may_see_all) {
    if (auto answer = sees_all()) return answer;
  }
  if (!question.find_layers) {
    if (auto unseen = count_near(question, budget)) return ReachAnswer{std::move(*unseen), {}};
  }
  return ever && !may_see_all ? sees_all() : std::nullopt;
}

/// Nothing unless the orbits are known and few.
std::optional<ReachAnswer> answer_by_few_orbits(const ReachQuestion& question, double most_share, const Budget& budget) {
  const std::vector<Vertex>* const orbit = find_orbits_for(question, most_share);
  return orbit != nullptr ? std::optional(answer_by_orbits(question, *orbit, budget)) : std::nullopt;
}

/// Columns are followed once for both questions. Where something is never seen, what is missed once everything else is.
std::optional<ReachAnswer> answer_by_depth(const ReachQuestion& question, const Budget& budget) {
  if (question.layout->vertices() <= small_layout || question.wanted.kind != ClassKind::all || !question.count_unseen || question.find_layers) return std::nullopt;
  if (auto answer = answer_when_all_is_seen(question, [&](const ReachQuestion& asked) { return std::optional(answer_reach(asked, budget)); })) return answer;
  ReachQuestion ever = question;
  ever.depth.reset();
  std::optional<ReachAnswer> never_seen = answer_by_centre(ever, budget);
  if (!never_seen || !question.depth) return never_seen;
  ReachQuestion seen = ever;
  seen.wanted.kind = ClassKind::seen;
  seen.count_unseen = false;
  seen.find_layers = true;
  const auto layers = answer_reach(seen, budget).reach.layers;
  return layers && *layers <= *question.depth ? never_seen : std::nullopt;
}

}  // namespace

bool is_causal_chain(const Layout& layout, const Budget& budget) {
  ReachMemory::Entry* const memory = ReachMemory::find(layout);
  if (memory == nullptr) return find_causal_chain(layout, budget);
  if (!memory->is_causal_chain) memory->is_causal_chain = find_causal_chain(layout, budget);
  return *memory->is_causal_chain;
}

const std::vector<Vertex>* find_orbits_for(const ReachQuestion& question, double most_share) {
  const bool same_for_all = question.wanted.kind != ClassKind::causal && !question.wanted.ordinary_only;
  if (question.layout->vertices() <= small_layout || !same_for_all) return nullptr;
  return KnownOrbits::find_few(*question.layout, most_share);
}

std::optional<ReachAnswer> answer_cheaply(const ReachQuestion& question, const Budget& budget) {
  return recall(question, ReachMemory::Way::cheap, [&] {
    auto answer = find_cheap_answer(question, budget);
    if (answer || question.layout->vertices() <= small_layout) return answer;
    answer = answer_by_few_orbits(question, few_orbits, budget);
    if (!answer) answer = answer_by_centre(question, budget);
    if (!answer) answer = answer_by_triangles(question, budget);
    return answer ? answer : answer_by_spans(question, budget);
  });
}

ReachAnswer answer_reach(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (layout.tokens == 0) throw ArgumentError("reach: a layout has at least one token");
  if (layout.tokens == 1 && !question.registers_too) {
    ReachAnswer answer;
    answer.unseen.assign(question.count_unseen ? 1 : 0, 0);
    answer.reach.layers = 0;
    return answer;
  }
  // The ways that are tried ask for the same rows.
  std::optional<ReachMemory> own;
  if (layout.vertices() > small_layout && ReachMemory::find(layout) == nullptr) own.emplace();
  if (auto answer = answer_cheaply(question, budget)) return *std::move(answer);
  return *recall(question, ReachMemory::Way::any, [&] {
    auto answer = answer_by_stretches(question, budget, false);
    if (!answer && layout.vertices() > small_layout) answer = answer_by_closed_parts(question, budget, false);
    if (!answer && layout.vertices() > small_layout) answer = answer_by_shifts(question, budget, false);
    if (!answer) answer = answer_by_few_orbits(question, many_orbits, budget);
    if (!answer) answer = answer_by_depth(question, budget);
    return answer ? answer : answer_by_bits(question, budget);
  });
}

std::vector<Vertex> compute_unseen(const Layout& layout, std::optional<std::uint64_t> depth, const Wanted& wanted,
                                   const Budget& budget) {
  if (!depth && wanted.kind == ClassKind::seen) return std::vector<Vertex>(layout.tokens, 0);
  ReachQuestion question;
  question.layout = &layout;
  question.depth = depth;
  question.wanted = wanted;
  question.count_unseen = true;
  if (!depth && layout.vertices() > small_layout && is_causal_chain(layout, budget)) {
    std::vector<Vertex> unseen(layout.tokens, 0);
    for (Vertex i = 0; i < layout.tokens && wanted.kind == ClassKind::all; ++i) unseen[i] = layout.tokens - 1 - i;
    return unseen;
  }
  if (depth && wanted.kind != ClassKind::causal && layout.vertices() > small_layout && is_causal_chain(layout, budget)) {
    // Once all below is seen, the rest is what no depth shows.
    ReachQuestion below = question;
    below.wanted.kind = ClassKind::causal;
    below.depth.reset();
    below.count_unseen = false;
    below.find_layers = true;
    const auto answer = answer_cheaply(below, budget);
    if (answer && answer->reach.layers && *answer->reach.layers <= *depth) {
      std::vector<Vertex> unseen(layout.tokens, 0);
      for (Vertex i = 0; i < layout.tokens && wanted.kind == ClassKind::all; ++i) unseen[i] = layout.tokens - 1 - i;
      return unseen;
    }
  }
  return answer_reach(question, budget).unseen;
}

Connected compute_connected(const Layout& layout, const Budget& budget) { return compute_class_reach(layout, Wanted{}, budget); }

Connected compute_class_reach(const Layout& layout, const Wanted& wanted, const Budget& budget) {
  ReachQuestion question;
  question.layout = &layout;
  question.wanted = wanted;
  question.find_layers = true;
  return answer_reach(question, budget).reach;
}

ClassKind compute_class_kind(const Layout& layout, const Budget& budget) {
  if (layout.vertices() > small_layout) {
    if (is_causal_chain(layout, budget)) return ClassKind::causal;
    // That is asked about anyway.
    if (compute_connected(layout, budget).layers) return ClassKind::all;
  }
  const std::vector<Vertex> of_all = compute_unseen(layout, std::nullopt, {ClassKind::all, false}, budget);
  bool all = true, causal = true;
  for (Vertex i = 0; i < layout.tokens; ++i) {
    all = all && of_all[i] == 0;
    causal = causal && of_all[i] == layout.tokens - 1 - i;
  }
  if (all) return ClassKind::all;
  if (!causal) return ClassKind::seen;
  for (const Vertex missed : compute_unseen(layout, std::nullopt, {ClassKind::causal, false}, budget)) {
    if (missed > 0) return ClassKind::seen;
  }
  return ClassKind::causal;
}

std::vector<layout::Run> compute_view(const Layout& layout, std::uint64_t depth, Vertex token, const Budget& budget) {
  const std::vector<std::int64_t> latest = compute_latest(layout, depth, token, budget);
  std::vector<layout::Run> runs;
  for (Vertex j = 0; j < latest.size(); ++j) {
    if (latest[j] < 0) continue;
    if (!runs.empty() && runs.back().last + 1 == j) {
      runs.back().last = j;
    } else {
      runs.push_back({j, j, 1, 1});
    }
  }
  return runs;
}

Settling compute_settling(const Layout& layout, std::uint64_t skip, const Budget& budget) {
  ReachQuestion question;
  question.layout = &layout;
  question.skip = skip;
  question.registers_too = true;
  question.find_layers = true;
  if (layout.vertices() == 1) return {0, true};
  const Connected all = answer_reach(question, budget).reach;
  if (all.layers) return {*all.layers, true};
  // In a causal chain token i ever sees exactly 0..i.
  question.wanted.kind = layout.vertices() > small_layout && is_causal_chain(layout, budget) ? ClassKind::causal : ClassKind::seen;
  return {*answer_reach(question, budget).reach.layers, false};
}

}  // namespace sightline::sight

// Layers whose rows name by how much each token lies ahead of its reader: Theorem BOS and exact counts (theory.md 15.5 D4, 16.4, 16.24).
#include <fmt/format.h>

#include "sightline/sight/wanted.hpp"
#include "sightline/verdict/id_stack.hpp"

namespace sightline::verdict {

using sight::ClassKind;
using sight::RowRule;

namespace {

struct NamedLayers {
  layout::Layout layout;  ///< without the layers that do not name offsets
  bool all = true, any = false;
};

/// Theorem BOS speaks of the rows of one head (15.8 k).
NamedLayers keep_named_layers(const Stack& stack) {
  NamedLayers named{stack.layout};
  for (layout::Layer& layer : named.layout.layers) {
    if (layer.relations.empty()) continue;
    const std::uint32_t r = layer.relations.front();
    const RowRule rule = stack.rules[r];
    const bool counts = stack.bos() ? rule != RowRule::set && rule != RowRule::whole : rule == RowRule::multiset;
    if (layer.relations.size() == 1 && stack.rows[r].loops && stack.rows[r].names_offsets && counts) {
      named.any = true;
    } else {
      named.all = false;
      layer.relations.clear();
    }
  }
  return named;
}

/// Between what everybody must see and what is proved to be enough; exact where the two meet.
IdLayers make_between(std::uint64_t low, std::uint64_t high, std::string rule, const std::string& enough) {
  IdLayers result;
  if (low == high) {
    result.layers = low;
  } else {
    result.low = low;
    result.high = high;
  }
  result.rule = std::move(rule);
  result.premises = {fmt::format("layers until every token sees what it needs: {}", low)};
  if (!enough.empty()) result.premises.push_back(enough);
  return result;
}

/// Views that hold token 0 are translates of each other only when they are views of one token: depth by which all do.
std::optional<IdLayers> count_exactly(const Stack& stack, const NamedLayers& named, std::uint64_t reach) {
  if (stack.kind == ClassKind::seen) return std::nullopt;
  const auto whole = sight::compute_class_reach(named.layout, {stack.kind, false}, stack.context.budget).layers;
  if (!whole) return std::nullopt;
  if (named.all && *whole == reach) return make_layers(reach, "exact-counts");
  return make_between(reach, *whole, "exact-counts", fmt::format("layers by which exact rows that name offsets show every token of the class: {}", *whole));
}

std::optional<IdLayers> see_bos(const Stack& stack, const NamedLayers& named, std::uint64_t reach) {
  const Context& context = stack.context;
  std::optional<std::uint64_t> low = reach;
  if (!named.all) {
    const sight::ViewQuestion question = context.question(named.layout, stack.kind, sight::RegisterRows::multisets);
    low = sight::compute_wanted_reach(question, true, context.budget).layers;
    if (!low) return std::nullopt;
  }
  const auto with_bos = sight::compute_class_reach(named.layout, {stack.kind, false}, context.budget);
  const auto seen = find_bos_seen(context, named.layout, *low, with_bos.layers.value_or(*low));
  if (!seen) return std::nullopt;
  if (!named.all) return make_between(reach, *seen, "theorem-bos", fmt::format("layers by which rows that name offsets show all that, and the BOS to all tokens but at most one: {}", *seen));
  return make_between(reach, *seen, "theorem-bos",
                      *seen == reach ? "all tokens but at most one see the BOS by then" : fmt::format("layers until all tokens but at most one see the BOS: {}", *seen));
}

}  // namespace

std::optional<std::uint64_t> find_bos_seen(const Context& context, const layout::Layout& layout, std::uint64_t low, std::uint64_t limit) {
  for (std::uint64_t m = low; m <= limit; ++m) {
    const auto all = sight::compute_unseen(layout, m, {ClassKind::causal, false}, context.budget);
    const auto ordinary = sight::compute_unseen(layout, m, {ClassKind::causal, true}, context.budget);
    std::uint64_t missing = 0;
    for (std::size_t i = 0; i < all.size(); ++i) missing += all[i] != ordinary[i];
    if (missing <= 1) return m;
  }
  return std::nullopt;
}

std::optional<IdLayers> try_named_offsets(const Stack& stack, std::uint64_t reach, Naming naming) {
  if (stack.reads_registers()) return std::nullopt;
  const NamedLayers named = keep_named_layers(stack);
  if (!named.any || named.all != (naming == Naming::all)) return std::nullopt;
  if (naming == Naming::some && stack.kind == ClassKind::seen) return std::nullopt;  // what is seen is seen through all layers
  return stack.bos() ? see_bos(stack, named, reach) : count_exactly(stack, named, reach);
}

}  // namespace sightline::verdict

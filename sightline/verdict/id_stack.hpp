// What the closed forms for token ids look at: rows, what they reveal, positions, and the layers that name offsets.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "sightline/sight/labels.hpp"
#include "sightline/verdict/context.hpp"
#include "sightline/verdict/id_layers.hpp"
#include "sightline/verdict/row_facts.hpp"

namespace sightline::verdict {

/// Everything the closed forms look at, gathered once.
struct Stack {
  const Context& context;
  sight::ClassKind kind;
  layout::Layout layout;             ///< the layout, with a relation written twice where layers read it by different rules or schemes
  std::vector<RowFacts> rows;        ///< per relation
  std::vector<sight::RowRule> rules;        ///< per relation
  std::vector<architecture::RelativeScheme> schemes;  ///< per relation
  std::vector<bool> exact_counts;    ///< per relation: rows show multisets (L1), not frequencies

  [[nodiscard]] bool every_relation(bool RowFacts::*fact) const {
    return std::all_of(rows.begin(), rows.end(), [&](const RowFacts& f) { return f.*fact; });
  }
  [[nodiscard]] bool every_rule(sight::RowRule rule) const {
    return std::all_of(rules.begin(), rules.end(), [&](sight::RowRule r) { return r == rule; });
  }
  /// Depth at which `count` layers that mix have been passed: closed forms count those alone.
  [[nodiscard]] std::uint64_t after_mixing(std::uint64_t count) const {
    std::uint64_t depth = 0;
    while (count > 0) count -= layout.layer(++depth).relations.empty() ? 0 : 1;
    return depth;
  }
  /// Does a token read a register in any layer? One that no token reads is out of every view (docs/theory.md 16.52).
  [[nodiscard]] bool reads_registers() const {
    return std::any_of(rows.begin(), rows.end(), [](const RowFacts& f) { return f.registers; });
  }
  [[nodiscard]] std::uint64_t n() const { return context.tokens(); }
  [[nodiscard]] bool bos() const { return context.architecture.input.bos; }
};

/// A sum and a maximum over one pattern share its relation, but not what their rows reveal; rotary and learned positions with
/// a sink share relation and rule: such relations are split.
[[nodiscard]] Stack make_stack(const Context& context, sight::ClassKind kind);

[[nodiscard]] IdLayers make_layers(std::uint64_t layers, std::string rule, std::vector<std::string> premises = {});

/// Least m >= low at which at most one token lacks the BOS (then all labels differ, Theorem BOS ii), up to `limit`.
[[nodiscard]] std::optional<std::uint64_t> find_bos_seen(const Context& context, const layout::Layout& layout, std::uint64_t low, std::uint64_t limit);

/// Which layers may count for try_named_offsets: those of a list that all name offsets, or those that do beside others.
enum class Naming { all, some };
/// D4, Theorem BOS; and exact counts (sink, sums): then views are translated copies, and complete ones differ. Layers that do not name offsets
/// are left out: they take nothing away, so what is shown without them bounds the number of layers (docs/theory.md 16.24).
[[nodiscard]] std::optional<IdLayers> try_named_offsets(const Stack& stack, std::uint64_t reach, Naming naming);

}  // namespace sightline::verdict

// What the deciding functions share: the architecture, what was derived from it, and the answer being built.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sightline/base/error.hpp"
#include "sightline/group/group.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/sight/views.hpp"
#include "sightline/symmetry/automorphism.hpp"
#include "sightline/verdict/answer.hpp"
#include "sightline/verdict/facts.hpp"
#include "sightline/verdict/row_facts.hpp"

namespace sightline::verdict {

/// The layout that views look at: layers whose mixer ignores other tokens show nothing, whatever their pattern says.
struct Sighted {
  layout::Layout layout;
  group::Group group;     ///< of this layout; not yet there behind sighted_layout()
  bool is_whole = false;  ///< nothing was hidden: layout and group are those of the architecture
};

/// The layout without what layers show whose mixers ignore other tokens; nothing where there are no such layers.
/// @param facts  absent: kernels are not looked at, which may take long
[[nodiscard]] std::optional<layout::Layout> hide_blind_layers(const architecture::Architecture& architecture, const layout::Layout& layout, const Facts* facts, const Budget& budget);

/// A question about views that the answer rests on; a certificate shows evidence for every one.
struct ViewsAsked {
  enum class What { needed, collision, expressed };
  /// "layout", "sighted" or "recoloured"; "pattern": the sighted layout asked about the group of the architecture's own.
  std::string views;
  What what = What::needed;
  std::shared_ptr<const group::Group> target;  ///< nothing: the group of that layout
  sight::ClassKind kind = sight::ClassKind::all;
  sight::RegisterRows rows = sight::RegisterRows::frequencies;
  std::optional<std::uint64_t> depth;
  /// What was found, so that a certificate need not ask again; none of them when it was out of reach.
  std::optional<sight::Needed> needed;
  std::optional<std::optional<sight::Collision>> collision;
  std::optional<std::optional<group::Group>> expressed;
};

struct Context {
  const architecture::Architecture& architecture;
  const Budget& budget;
  layout::Layout layout;
  /// The token of the file that each vertex of the layout is, where the layout is looked at in another order (docs/theory.md 16.109); empty: as they stand.
  /// Everything here and in the evidence speaks of vertices, the answer of tokens.
  std::vector<layout::Vertex> tokens_of_places;
  [[nodiscard]] layout::Vertex token(layout::Vertex vertex) const { return tokens_of_places.empty() ? vertex : tokens_of_places[vertex]; }
  [[nodiscard]] sight::UnreachablePair to_tokens(const sight::UnreachablePair& pair) const;
  [[nodiscard]] sight::Collision to_tokens(sight::Collision collision) const;
  group::Group layout_group;  ///< on tokens
  symmetry::SearchRecord layout_search;  ///< how that group was found
  bool expresses_layout_group = false;   ///< `expressed` is that group: its answer is made once, beside all the rest
  group::Group target;        ///< G of the targets, on tokens
  bool target_is_layout = true;
  Facts facts;
  OutputRank rank;
  std::optional<std::uint64_t> given;  ///< nothing when the list is repeated for ever
  sight::ClassKind target_class = sight::ClassKind::all;
  Answer answer;
  std::optional<Sighted> recoloured;  ///< fixed tables: tokens that the box can exchange have one colour (theory.md 3.9)

  /// Found when first asked for; the layout, its group and the facts must be there.
  [[nodiscard]] const RowFacts& row_facts(std::size_t relation) const;
  [[nodiscard]] bool every_row(bool RowFacts::*fact) const;
  [[nodiscard]] const layout::Layout& sighted_layout() const;
  [[nodiscard]] const Sighted& sighted() const;

  /// The questions of sight/views.hpp, remembered in `asked`. Views of this context only.
  [[nodiscard]] sight::Needed ask_needed(const sight::ViewQuestion& question) const;
  [[nodiscard]] std::optional<sight::Collision> ask_collision(const sight::ViewQuestion& question, std::uint64_t depth) const;
  [[nodiscard]] std::optional<group::Group> ask_expressed(const sight::ViewQuestion& question, std::optional<std::uint64_t> depth) const;
  mutable std::vector<ViewsAsked> asked;
  mutable std::map<std::string, sight::ViewRecords> view_records;  ///< by ViewsAsked::views

  [[nodiscard]] std::uint64_t tokens() const { return layout.tokens; }
  /// Tokens that carry content: all but a BOS.
  [[nodiscard]] std::uint64_t ordinary() const { return layout.tokens - (architecture.input.bos ? 1 : 0); }
  /// Does the target's G contain every generator of `other`? Larger groups ask for less (theory.md 1.3).
  [[nodiscard]] bool target_contains(const group::Group& other) const {
    if (target_is_layout && &other == &layout_group) return true;
    const group::Membership member(target, budget);
    for (const auto& generator : group::list_generators(other, static_cast<std::size_t>(-1))) {
      if (!member.contains(generator)) return false;
    }
    return true;
  }
  /// The question about views for this target; the layout's own group is passed as itself, which views recognise.
  [[nodiscard]] sight::ViewQuestion question(const layout::Layout& seen, sight::ClassKind kind, sight::RegisterRows rows) const {
    return {&seen, target_is_layout ? &layout_group : &target, &layout_group, kind, rows};
  }
  /// On ids class causal with symmetry = "layout" means all causal functions, as 15.5 and 15.8 j count (docs/theory.md 16.7).
  void mean_all_causal() {
    if (!target_is_layout) return;
    target = group::make_trivial_group(layout.tokens);
    target_is_layout = false;
  }

  void use(std::string name, std::vector<std::string> premises = {}) { answer.use(std::move(name), std::move(premises)); }
  /// A figure beside the verdict: left out, and said so, when it is beyond the project's own bounds on steps.
  template <class Compute>
  auto figure(const std::string& name, Compute compute) -> decltype(compute()) {
    try {
      return compute();
    } catch (const OutOfReach&) {
      use("left-out", {name});
      return {};
    }
  }
  /// The first floor that is found is the one shown (format.md, order of `floor`): call in that order.
  void add_floor(Floor floor) {
    if (!answer.floor) answer.floor = std::move(floor);
    else answer.floors.push_back(std::move(floor));
  }

private:
  /// The index of the new entry.
  std::size_t remember(const sight::ViewQuestion& question, ViewsAsked::What what, std::optional<std::uint64_t> depth) const;
  /// An earlier question about the same views, for the layout's own group as the last one is, that holds what is asked; null: none.
  template <class Holds>
  [[nodiscard]] const ViewsAsked* find_same(const Holds& holds) const;
  /// The question number `at`, its searches kept for the certificate.
  [[nodiscard]] sight::ViewQuestion keep_records(sight::ViewQuestion question, std::size_t at) const;

  mutable std::vector<std::optional<RowFacts>> row_facts_;  ///< one per relation of the layout
  mutable std::optional<Sighted> sighted_;
  mutable bool has_sighted_group_ = false;

public:
  Context(const architecture::Architecture& of, const Budget& within) : architecture(of), budget(within) {}
};

/// Numbers per token (15.2, 15.8 e): uses the rule, adds the floor; `missing` when it stays open.
struct OutputVerdict {
  bool impossible = false;
  std::optional<std::string> missing;
};
/// How many different target labels there are, or at least are (15.8 e); counts beyond 2^63 are cut there.
struct TargetLabels {
  std::uint64_t count = 0;
  bool exact = false;
};
/// @param possible  outputs per token that the depth allows; `targets` on ids
[[nodiscard]] OutputVerdict decide_output(Context& context, std::int64_t possible, const std::optional<TargetLabels>& targets);

/// The answer with all that it was derived from; certify() without the rest. The architecture and the budget must outlive it.
/// @param target  the group that target.symmetry names, where the caller has it: to find the order of one given by cycles may take long
[[nodiscard]] Context analyse(const architecture::Architecture& architecture, const Budget& budget, const group::Group* target = nullptr);

/// Makes an answer that a limit cut short of a whole one, also where the limit came after it was found (evidence, check): it keeps
/// what is established without proof of completeness, claims nothing else, and says why.
void cut_short(Answer& answer, const std::string& reason);

/// Real-valued tokens: theory.md 2-7, 15.3, 15.6. Sets verdict, needed, expressed, class layers, floors, rules.
void decide_continuous(Context& context);

/// Layers the layout's own group and class `all` need by the pattern alone, and the order of G*_m at m = connected.
[[nodiscard]] sight::Needed compute_pattern_needed(const Context& context);
[[nodiscard]] std::optional<group::Order> compute_order_at_connected(const Context& context, const sight::Needed& pattern_needed);

/// @param tokens_of_places  of the context
[[nodiscard]] GroupAnswer to_group_answer(const group::Group& group, const Budget& budget, const std::vector<layout::Vertex>& tokens_of_places = {});

/// Token ids from a table: theory.md 15.
void decide_ids(Context& context);

/// What the published corollaries would have said, taken literally (format.md, `published`).
/// @param pattern  layers needed for the layout's own group and class `all` by the pattern alone
[[nodiscard]] Published compute_published(const Context& context, const sight::Needed& pattern_needed);

/// What a user could change, and what the answer assumes.
void add_advice(Context& context);
void add_assumptions(Context& context);

}  // namespace sightline::verdict

// Inside of sight.hpp: receptive fields R_0[i] = {i}, R_q[i] = R_{q-1}[i] u U_{j in N_q(i)} R_{q-1}[j] (theory 1.9, 10).
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "sight.hpp"
#include "wanted_pairs.hpp"

namespace checker {

/// What was found out about one layout, for the questions that follow about it. Answers do not depend on it.
class ReachMemory {
public:
  explicit ReachMemory(const Layout& layout);  ///< which must outlive it
  ~ReachMemory();
  ReachMemory(const ReachMemory&) = delete;
  ReachMemory& operator=(const ReachMemory&) = delete;
  struct State;
  std::unique_ptr<State> state;
};

class WantedTokens;

struct ReachQuestion {
  ClassKind kind = ClassKind::all;
  bool ordinary_only = false;    ///< token 0 need not be seen
  bool registers_too = false;    ///< registers are to be seen as well (kinds all and seen)
  std::uint64_t skip = 0;        ///< the first layer applied is layer skip+1 of the repeated list
  const WantedTokens* sets = nullptr;  ///< what each token is to see, instead of the kind
  const std::vector<Vertex>* orbit = nullptr;  ///< least token of each token's orbit under automorphisms of the layout
  const Json* hints = nullptr;   ///< {"columns":[..],"hub":h}: columns that come late, and a vertex through which all can see all
  const std::vector<Vertex>* weight = nullptr;   ///< what a vertex counts among the unseen; none: 1 (kinds all and seen, no sets)
  const std::vector<Vertex>* columns = nullptr;  ///< hints read already, the hub last
  ReachMemory* memory = nullptr;                 ///< of this layout; questions with the same memory have the same orbits and hints
};

/// Per token: how many wanted vertices are out of view after `depth` layers (none: ever); and the first such pair.
struct Unseen {
  std::vector<Vertex> count;
  std::optional<std::pair<Vertex, Vertex>> first;
};
[[nodiscard]] Unseen compute_unseen(const Layout& layout, const ReachQuestion& question, std::optional<std::uint64_t> depth);

/// Least number of layers (the list repeated) at which everything wanted is in view.
[[nodiscard]] Reach compute_reach(const Layout& layout, const ReachQuestion& question);

/// A depth after which no receptive field grows any more: the list passed once per vertex, and once more.
[[nodiscard]] std::uint64_t ever_of(const Layout& layout);
/// Is the list one layer over and over?
[[nodiscard]] bool repeats_one_layer(const Layout& layout);

/// t_a(j): the longest time left, -1 when j is never seen within the depth. Row q of j influences the root iff q <= t_a(j).
[[nodiscard]] std::vector<std::int64_t> compute_latest(const Layout& layout, std::uint64_t depth, Vertex root, std::uint64_t skip = 0);
/// The same when paths may begin at several vertices, each with its own number of layers left: (layers, vertex).
[[nodiscard]] std::vector<std::int64_t> compute_latest_from(const Layout& layout, std::vector<std::pair<std::int64_t, Vertex>> sources, std::uint64_t skip = 0);

class PartedClass;

struct Sight::State {
  const Layout& layout;
  const Json& evidence;
  std::vector<Vertex> orbit;  ///< empty: not known
  [[nodiscard]] const std::vector<Vertex>* orbits() const { return orbit.empty() ? nullptr : &orbit; }
  mutable ReachMemory memory{layout};
  /// What `expressed` confirmed last: the depth that is given is often the one at which the tokens are connected.
  struct Expressed {
    const ConfirmedGroup* layout_group;
    bool frequencies;
    std::uint64_t depth;
    std::optional<ConfirmedGroup> group;
  };
  mutable std::optional<Expressed> expressed;
  [[nodiscard]] ReachQuestion ask(ClassKind kind = ClassKind::all, bool ordinary_only = false) const {
    return {kind, ordinary_only, false, 0, nullptr, orbits(), find("reach"), nullptr, nullptr, &memory};
  }
  [[nodiscard]] Reach wanted_reach(const WantedTokens& wanted, ClassKind kind, bool ordinary_only = false) const;
  [[nodiscard]] const Json* find(std::string_view key) const { return evidence.is_null() ? nullptr : evidence.find(key); }
};

/// What output a of a G-equivariant target of the class may depend on: W(a) = the tokens j with g(j) in the class's set of g(a)
/// for every g in G.
class WantedTokens {
public:
  /// @param memory  of the layout; it must outlive this
  WantedTokens(const Layout& layout, const ViewQuestion& question, ReachMemory& memory);
  [[nodiscard]] bool everything() const { return kind_ == ClassKind::all; }
  /// This, where the sets are smaller than the class says, or other than all, 0..a, or what is ever seen; else null. Throws Rejected (limit) where comparing all pairs takes too long.
  [[nodiscard]] const WantedTokens* sets() const;
  /// By token. Good until it is asked about another token.
  [[nodiscard]] const std::vector<bool>& of(Vertex a) const;
  /// One orbit, and W(a) = {a} for every a: nobody need see anybody else, and every map of a token to another is explained.
  [[nodiscard]] bool own_only() const { return own_only_; }
  /// W(a) = {a}, as far as is known at once?
  [[nodiscard]] bool own_only(Vertex a) const { return own_only_ || (pairs_ && pairs_->own_only(a)); }
  /// False: j is not in W(a), as is known without looking at the view of a.
  [[nodiscard]] bool may_hold(Vertex a, Vertex j) const;
  /// Where the group permutes parts of the layout: what answers without sets, which are written when they are asked for. Else null.
  [[nodiscard]] const PartedClass* parts() const { return parts_.get(); }

private:
  [[nodiscard]] std::vector<bool> list(Vertex a) const;

  const Layout& layout_;
  ClassKind kind_;
  bool own_only_ = false;
  std::shared_ptr<const PartedClass> parts_;
  std::optional<WantedPairs> pairs_;
  mutable std::optional<std::pair<Vertex, std::vector<bool>>> last_;  // many maps of one view are asked about one after another
};

[[nodiscard]] bool is_trivial(const Group& group);

}  // namespace checker

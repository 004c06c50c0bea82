// Coloured relational structures: is a map an isomorphism; and evidence that a group of automorphisms is all there is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "exact.hpp"
#include "group.hpp"
#include "json.hpp"
#include "layout.hpp"

namespace checker {

/// Vertices with colours, relations as runs; a hidden row is no information (visible empty: all rows are shown).
struct Structure {
  struct Shown {
    const Relation* relation = nullptr;
    std::vector<bool> visible;
  };
  Vertex vertices = 0;
  std::vector<std::uint64_t> colour;
  std::vector<Shown> relations;
};

[[nodiscard]] Structure make_structure(const Layout& layout);

/// Does `map` carry a to b: vertex colours, visibility, every coloured arc? Exact, O(runs).
[[nodiscard]] bool is_isomorphism(const Structure& a, const Structure& b, const Permutation& map);

/// is_isomorphism(s, s, map) for many maps of one structure: rows and columns are written down once, by the first map that needs them, and what moves decides.
class AutomorphismTest {
public:
  explicit AutomorphismTest(Structure structure);
  ~AutomorphismTest();
  [[nodiscard]] bool operator()(const Permutation& map) const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Colours after refinement of both structures together until nothing splits: equal colours on both sides mean nothing was found,
/// different ones are a proof that no isomorphism maps one vertex to the other. `pairs` are individualised first: pairs[k].first in a,
/// pairs[k].second in b get a colour of their own. `differ`: the two sides have different colour counts, so no isomorphism exists.
struct JointColours {
  std::vector<std::uint64_t> a, b;
  bool differ = false;
};
[[nodiscard]] JointColours refine(const Structure& a, const Structure& b, const std::vector<std::pair<Vertex, Vertex>>& pairs);

struct ConfirmedGroup {
  Group group;                                             ///< on tokens; generators in the order of the answer
  std::shared_ptr<Order> order = std::make_shared<Order>();  ///< copies have it in common: it may be found after them
};

/// Automorphisms restricted to 0 .. tokens-1, confirmed from both sides (docs/certificate.md, "group"): twin classes are found
/// again here and verified, the quotient is held to `evidence` = {"failed":[[level,vertex,tree]..],"generators":[..],"path":[..]}.
class GroupProof {
public:
  /// From below: twins and generators are automorphisms. The structure and the evidence must outlive it.
  GroupProof(const Structure& structure, Vertex tokens, const Json& evidence, std::string claim);
  ~GroupProof();
  GroupProof(const GroupProof&) = delete;
  GroupProof& operator=(const GroupProof&) = delete;
  ConfirmedGroup confirmed;
  /// From above, once: there are no others. Gives the order, which nobody may read before.
  void finish();

private:
  struct State;
  std::unique_ptr<State> state_;
};
/// Both.
[[nodiscard]] ConfirmedGroup confirm_automorphisms(const Structure& structure, Vertex tokens, const Json& evidence, const std::string& claim);

/// Confirms that no isomorphism a -> b exists that maps pairs[k].first to pairs[k].second for all k; `tree` as in docs/certificate.md.
void confirm_no_isomorphism(const Structure& a, const Structure& b, const std::vector<std::pair<Vertex, Vertex>>& pairs, const Json& tree,
                            const std::string& claim);

}  // namespace checker

// Names of groups with the reason why the group is the one named, for those who do not want to believe it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/group/group.hpp"

namespace sightline::group {

/// One step of a proof. It speaks of a group H on points 0 .. m-1 and shows that H is (isomorphic to) a subgroup of a quotient of
/// the group that its name means. At the root equal orders then leave nothing but equality: a name rests on two facts, this and |G|.
struct NameProof {
  enum class Kind {
    symmetric,  ///< H <= Sym(m): S_m
    abelian,    ///< H <= <elements>, which commute, of orders n_1, n_2, ..: C_n_1 x C_n_2 x ..
    dihedral,   ///< H <= <r, s>, elements = r, s; r^n = 1, s^2 = 1, s r s = r^-1: D_n, n >= 3 (S_3 for n = 3)
    actions,    ///< H permutes the sets of every family; an element that fixes all sets is 1: the product of what the actions are
    blocks,     ///< H permutes k blocks; seen from position to position it does inside them what A does: A wr S_k
  };
  struct Family {
    std::vector<Point> points;              ///< every one a set of its own; or, when there are none,
    std::vector<std::vector<Point>> sets;
  };
  Kind kind = Kind::symmetric;
  std::vector<Permutation> elements;
  std::vector<Family> families;             ///< H acts on the k-th by numbers 0, 1, .. of its sets; proofs[k] speaks of that action
  std::vector<std::vector<Point>> blocks;   ///< the j-th point of a block is position j; proofs[0] speaks of positions
  std::vector<NameProof> proofs;
};

struct ProvedName {
  std::string text;
  std::optional<NameProof> proof;  ///< none for "trivial"
};

/// find_name with its proof: nothing when the group is not recognised.
[[nodiscard]] std::optional<ProvedName> find_proved_name(const Group& group, const Budget& budget);

}  // namespace sightline::group

// Targets with a proven error floor (theory.md 3, 15), as exact rationals.
#pragma once

#include <optional>

#include "sightline/verdict/context.hpp"

namespace sightline::verdict {

/// 3.1: sum over tokens of the unseen tokens of the class, over 12, for F_i = sum of the tokens i should see.
[[nodiscard]] Floor make_unseen_floor(const Context& context, const mpz_class& unseen_pairs);
/// 3.3: as 3.1 with n - 1 unseen tokens each.
[[nodiscard]] Floor make_blind_floor(const Context& context);
/// 3.2: from a collision at the given depth; absent number when orbits of pairs are out of reach (n > 1,500).
[[nodiscard]] Floor make_collision_floor(const Context& context, const sight::Collision& collision);
/// Every k-tuple of tokens, written in base n, with the number of its orbit under the group. O(n^k) times the generators
/// that move a token of the tuple.
[[nodiscard]] std::vector<std::uint32_t> label_tuples(const group::Group& group, int k, const Budget& budget);
/// distance.cpp: adds the exact distance of a collision's target at this depth (class all), when there are at most 64 tokens and 10,000
/// isomorphisms of views.
void add_distance(const Context& context, const sight::ViewQuestion& question, std::uint64_t depth, Floor& floor);
/// 3.4, 3.5, 3.6, 3.7.
[[nodiscard]] Floor make_odd_floor(const Context& context, bool to_the_end);  ///< nothing that shifts values stands behind the last layer
[[nodiscard]] Floor make_homogeneous_floor(const Context& context);
[[nodiscard]] Floor make_affine_floor(const Context& context);
[[nodiscard]] Floor make_pre_layernorm_floor(const Context& context);
/// 3.8: values on a sphere or in a ball.
[[nodiscard]] Floor make_sphere_floor(const Context& context);
/// 15.2: more outputs than an affine space of dimension A holds.
[[nodiscard]] Floor make_output_rank_floor(const Context& context, std::int64_t output_dim);
/// Linear embedding (or a norm behind it) that loses raw directions: the ball argument of 15.6 F with r lost to n d.
[[nodiscard]] Floor make_ray_floor(const Context& context);  ///< raw tokens whose length is lost
[[nodiscard]] Floor make_input_rank_floor(const Context& context, std::int64_t kept_per_token);
/// D7: unseen ids.
[[nodiscard]] Floor make_unseen_ids_floor(const Context& context, const mpz_class& unseen_pairs);
/// D3: constant id sequences. `causal`: constant prefixes, else the best orbit of G. Nothing when G acts transitively.
[[nodiscard]] std::optional<Floor> make_constant_ids_floor(const Context& context, bool causal);
/// 15.4: trained Linformer on ids without positions.
[[nodiscard]] Floor make_linformer_ids_floor(const Context& context);
/// Two labelled inputs of equal label and different target: half a point mass.
[[nodiscard]] Floor make_id_collision_floor(const Context& context);

}  // namespace sightline::verdict

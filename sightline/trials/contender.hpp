// The networks that `compare` puts side by side, made to cost the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sightline::trials {

enum class Kind { full, window, linformer, performer, reg, mlp_sumformer, polynomial_sumformer };
[[nodiscard]] const std::vector<Kind>& list_kinds();
[[nodiscard]] std::string_view
name_of(Kind kind); ///< full window linformer performer register mlp-sumformer polynomial
/// Throws InputError `--only: expected ..., found ...`.
[[nodiscard]] Kind parse_kind(std::string_view word);

/// The task, and what all attention networks share.
struct Task {
  std::int64_t tokens = 0, dim = 0, outputs = 0;
  std::int64_t layers = 2;
  std::int64_t radius = 0;   ///< window: a token reads so many on either side, round the ring; 0: what the layers need
  std::int64_t rank = 0;     ///< linformer: landmarks; 0: a quarter of the tokens
  std::int64_t features = 0; ///< performer; 0: as many as the width, at most 32
  bool positions = false;    ///< learned position codes in the attention networks
};

/// One network, by its sizes. Attention: embedding dim -> 4 width -> width (gelu), `layers` times (mixer, then width ->
/// hidden -> width with gelu, both with residuals), head width -> outputs. Sumformers: phi and psi with two hidden
/// layers each (polynomial: phi all monomials up to `degree`).
struct Contender {
  Kind kind = Kind::full;
  std::int64_t
      width = 0,
      hidden = 0; ///< attention: as above; Sumformers: hidden widths of phi, of psi (polynomial: first, second of psi)
  std::int64_t latent = 0, degree = 0;
  std::int64_t radius = 0, rank = 0, features = 0;
};

/// Forward operations per sequence (additions, multiplications and values of functions each count 1):
/// - a linear map in -> out of one token: 2 in out, the bias included; a function of an entry, a residual: 1 per entry
/// - attention: per pair (reader, read) 4 width + 3 (score and weighted sum; exponential, its sum, division); pairs:
/// n^2,
///   window n (2 radius + 1), register 2 n (and its own linear maps and feedforward)
/// - linformer: 4 n rank width for the landmarks of keys and values, then n rank pairs
/// - performer: 2 (2 features width + 2 width + features) per token for the features of query and key, then 4 features
///   width + 3 features per token for the sums and for what is read from them
/// - Sumformers: one multiplication per monomial, one addition per entry of the sum, and psi's first map reads the sum
/// once
///   per sequence
[[nodiscard]] double count_operations(const Task& task, const Contender& contender);

/// The sizes whose count is nearest to the budget among those with the usual proportions (hidden about 4 width; phi
/// about as wide as psi). Throws InputError when nothing comes within `tolerance` of it, naming the smallest network.
[[nodiscard]] Contender fit_to_budget(const Task& task, Kind kind, double budget, double tolerance);

/// "width 24, feedforward 97", "latent 12, phi 24, psi 31".
[[nodiscard]] std::string describe(const Contender& contender);

/// The architecture as a TOML file, for `certify` and (attention) for training. The features of a performer are drawn
/// with the seed.
[[nodiscard]] std::string to_toml(const Task& task, const Contender& contender, std::uint64_t seed);

} // namespace sightline::trials

// Proofs that a mixer gives two tokens the same value whatever its parameters are: exact arithmetic only.
#pragma once

#include <optional>
#include <string>

#include "sightline/falsify/mixer.hpp"

namespace sightline::falsify {

/// How g(x)_a = g(y)_b (x[a] = y[b]) was proved for every parameter at which both sides are defined:
/// "kernel symmetry": tokens on one ray, or opposite tokens, have kernel values in a fixed ratio, and with the values of the
/// classes as free symbols both sides are one and the same rational function;
/// "normal form": the difference of the cross products is the empty exponential-polynomial sum over Q.
/// Both sides are defined at some parameters at least. Nothing when neither succeeds, which proves nothing. Never throws for expressions out of reach.
[[nodiscard]] std::optional<std::string> prove_equal(const Mixer& mixer, const Sample& x, const Sample& y, std::size_t a, std::size_t b,
                                                     const Budget& budget);

/// True when the values of the two sums agree for all w, b in the bias mixer: then every layer adds one and the same vector
/// to all tokens of both inputs and the pair stays equal at every depth (theory.md 3.11).
[[nodiscard]] bool fails_at_every_depth(const Mixer& mixer);

}  // namespace sightline::falsify

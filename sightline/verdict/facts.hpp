// What the rules of theory.md 2.3, 6, 7 and 15.1-15.3 ask about mixers, feedforwards and norms, derived once from the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/budget.hpp"

namespace sightline::verdict {

using attention_kernel::Tri;

/// What the feedforward sublayers of one layer generate under composition (theory.md 6).
enum class Closure { full, zero_fixing, odd, homogeneous, affine, unknown };

struct FeedforwardFacts {
  Closure closure = Closure::unknown;
  bool interpolates = false;  ///< FI of 15.1: one sublayer of free width takes finitely many states anywhere (k not considered)
  bool polynomial = false;    ///< polynomial activation: FI is false for one layer (15.1 d)
  bool hidden_bias = false;   ///< a free bias in the hidden units, or a LayerNorm with trained bias in front
  bool dense_in_one = false;  ///< one sublayer alone is dense in C(K) (needed behind post-norms, 15.3)
  bool tells_multiples = true; ///< FI also for points p, cp, c > 0, of one ray (15.1 c)
  bool odd = false;           ///< f(-x) = -f(x) for all weights: also no feedforward, and a linear one (3.4)
  bool homogeneous = false;   ///< f(cx) = c f(x), c > 0, for all weights: the same (3.5)
  bool optional = true;       ///< some weights make it vanish
  bool definition2 = false;   ///< Definition 2 of the paper holds literally, with a Lipschitz map (format.md, `published`)
  std::string why;            ///< one clause for people
};

struct MixerFacts {
  Tri mean = Tri::unknown;        ///< (MEAN) of 2.3, or its coloured version 2.5
  Tri odd = Tri::unknown;         ///< mixer(-X) = -mixer(X) (3.4)
  Tri homogeneous = Tri::unknown; ///< mixer(cX) = c mixer(X), c > 0 (3.5)
  bool linear = false;            ///< linear in X (mean, sum, convolution, learned mixing, constant kernel)
  Tri additive_only = Tri::no;    ///< sees added positions only through the sum id + position (15.8 h) unless a norm stands before
  bool blind = false;             ///< other tokens do not matter at all, whatever the weights are (3.3); with `mean`: nor does how many there are
  bool bounded = true;            ///< false: universal in the limit, but no number of layers is known (top-k, max: Theorem G)
  bool normalised = false;        ///< rows are averages: denominator without sink or eps
  bool decidable = true;          ///< false: no rule covers this mixer (LSH)
  bool softmax = false;
  bool sees_places = false;       ///< rotary positions under a kernel that turning both tokens may change (docs/theory.md 16.37), or of which all weights of a row may be 0
  bool may_weigh_nobody = false;  ///< averages whose weights may all be 0 at one offset and not at another: equal states need not average to themselves (16.92)
  std::string why;
};

/// Everything about the norms of the stack that verdicts depend on.
struct NormFacts {
  bool uniform = true;          ///< every layer has the same norm
  architecture::Norm norm;      ///< of the layers (of the last one when not uniform)
};

struct Facts {
  std::vector<FeedforwardFacts> feedforward;  ///< one per [[layer]]
  std::vector<MixerFacts> mixer;              ///< one per [[layer]]
  std::vector<attention_kernel::KernelFacts> kernel;  ///< one per [[layer]]; meaningless for mixers without a kernel
  NormFacts norm;
};

[[nodiscard]] Facts compute_facts(const architecture::Architecture& architecture, const Budget& budget);

/// Layers after which the list repeats itself, however often it is written down.
[[nodiscard]] std::uint64_t find_period(const architecture::Architecture& architecture);

/// Does it ignore all other tokens by its kind, whatever its weights are (3.3)? Kernels that are 0 do as well: MixerFacts knows.
[[nodiscard]] bool is_blind(const architecture::Mixer& mixer, const Budget& budget);

[[nodiscard]] bool has_kernel(const architecture::Mixer& mixer);
/// Does top_k leave out any key? Not where there are no more (docs/theory.md 16.61).
[[nodiscard]] bool selects_keys(const architecture::Architecture& architecture, const architecture::Mixer& mixer);
/// A value map that is not trained leaves no free scale (2.3); trained projections and taps have one of their own.
[[nodiscard]] bool lacks_scale(const architecture::Mixer& mixer);
/// One number per arc and no value map: a row that holds the reader's own state alone adds a multiple of it (docs/theory.md 16.29).
[[nodiscard]] bool adds_multiples(const architecture::Mixer& mixer);
/// A post-norm with eps = 0 keeps the sign of that multiple alone.
[[nodiscard]] bool forgets_multiples(const architecture::LayerSpec& layer);

/// Does what stands behind such a mixer take multiples of one state, but for their sign, for the same (docs/theory.md 16.29)? Trained gains in
/// between turn them away from each other.
[[nodiscard]] bool confuses_multiples(const architecture::LayerSpec& layer, const FeedforwardFacts& feedforward);

/// Dimension of the raw tokens of one place: centred ones fill a hyperplane, and a linear embedding of that is one of a token with a number less
/// (docs/theory.md 16.32).
[[nodiscard]] std::int64_t count_raw_directions(const architecture::Architecture& architecture);

/// Largest number of outputs per token (15.2, 15.8 a, b): K is certified, more than A is impossible with a closed floor.
struct OutputRank {
  std::int64_t certified = 0;          ///< K
  std::int64_t affine = 0;             ///< A
  std::int64_t anywhere = 0;           ///< the largest A of all layers where the list may stop; 0: this one
  std::int64_t with_one_more_layer = 0;  ///< K when the stack has a layer to spare (sandwich LayerNorm, 15.8 a); else = certified
  bool undecided_above = false;        ///< between certified and the true limit nothing is proved (eps = 0 sandwich)
  bool sphere = false;                 ///< no head behind a norm, and all numbers wanted: values lie on a fixed sphere or ball (3.8): nothing is certified
  bool sphere_open_ball = false;       ///< ... bounded, gain 1 and no surface (floor of 3.8: F_i = 2 sqrt(d) e_1)
  bool sphere_gain = false;            ///< ... with a trained gain: no closed floor
  std::string why;
  bool operator==(const OutputRank&) const = default;
};
[[nodiscard]] bool has_feedforward(const architecture::LayerSpec& layer);
/// Where a list that is repeated for ever may stop: behind any layer that has a feedforward, if there is one (docs/theory.md 16.60).
[[nodiscard]] bool may_stop_behind(const architecture::Architecture& architecture, const architecture::LayerSpec& layer);
/// Where the list stops behind a layer with this norm.
[[nodiscard]] OutputRank compute_rank_behind(const architecture::Architecture& architecture, const architecture::Norm& norm);
[[nodiscard]] OutputRank compute_output_rank(const architecture::Architecture& architecture, const NormFacts& norm);

}  // namespace sightline::verdict

// Inside derive_answer: facts read off the architecture, and the answer as it grows. Tri-states are one character: y, n or ?.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "exact.hpp"
#include "grid.hpp"
#include "group.hpp"
#include "json.hpp"
#include "labels.hpp"
#include "layout.hpp"
#include "sight.hpp"

namespace checker {

/// What the feedforward sublayers of one layer generate under composition (theory 6), and what ids ask of one (15.1).
enum class Closure { unknown, full, zero_fixing, odd, homogeneous, affine };
struct FeedforwardFacts {
  Closure closure = Closure::unknown;
  bool interpolates = false, polynomial = false, hidden_bias = false, dense_in_one = false, definition2 = false;
  bool odd = false, homogeneous = false;  ///< for all weights (3.4, 3.5): also where there is no feedforward, or a linear one
  bool optional = true;                   ///< some weights make it vanish
  bool tells_multiples = true;            ///< FI also for points of one ray (15.1 c)
  std::string why;
};

/// (MEAN) of 2.3, parity and scaling (3.4, 3.5), linearity (3.6); `blind`: other tokens do not matter; `bounded`: a number of layers is known.
struct MixerFacts {
  bool mean = false, odd = false, homogeneous = false, linear = false, blind = false, bounded = true, normalised = false, decidable = true;
  bool softmax = false;
  bool sees_places = false;       ///< rotary positions under a kernel that turning both tokens may change (16.37), or the next
  bool may_weigh_nobody = false;  ///< averages of which turning may leave no weight (16.92)
  char additive_only = 'n';  ///< sees added positions through the sum id + position alone (15.8 h): y, n or ?
  std::string why;
};

/// Activations: one character each for continuous, locally Lipschitz, Lipschitz, analytic, polynomial, affine, constant, odd, s(0) = 0,
/// even part polynomial, even part quadratic, 1-homogeneous, C^2 or a kink, even; `degree` of a polynomial, else -1.
struct ActivationFacts {
  std::string flags;
  std::int64_t degree = -1;
  enum { continuous, locally_lipschitz, lipschitz, analytic, polynomial, affine, constant, odd, zero_at_zero, even_polynomial, even_quadratic, homogeneous, curved, even };
  [[nodiscard]] bool is(int which, char value = 'y') const { return flags[static_cast<std::size_t>(which)] == value; }
};
/// Kernels: analytic, positive, k(0,0) != 0, (MEAN), k(-x,-y) = k(x,y), homogeneous mixer, constant, softmax, Gaussian; then (13): h, f or u; reads keys.
struct KernelFacts {
  std::string flags;
  enum { analytic, positive, nonzero_at_zero, mean, even, homogeneous, constant, softmax, gaussian, condition13, reads_keys };
  [[nodiscard]] bool is(int which, char value = 'y') const { return flags[static_cast<std::size_t>(which)] == value; }
};

/// Numbers per token (15.2, 15.8 a, b): `certified` are possible, more than `affine` are not.
struct OutputRank {
  std::int64_t certified = 0, affine = 0, with_one_more_layer = 0;
  std::int64_t anywhere = 0;  ///< the largest `affine` of all layers where the list may stop; 0: this one
  bool undecided_above = false, sphere = false, sphere_open_ball = false, sphere_gain = false;
  std::string why;
  bool operator==(const OutputRank&) const = default;
};

/// Named kernels and activations by the tables of theory 4.3 and 6; expressions by evidence, which is then named in `trusted`.
[[nodiscard]] KernelFacts kernel_facts(const Json& kernel, std::int64_t dim, const Json* evidence, std::vector<std::string>& trusted);
[[nodiscard]] ActivationFacts activation_facts(const Json& activation, const Json* evidence, std::vector<std::string>& trusted);
[[nodiscard]] FeedforwardFacts feedforward_facts(const Json& feedforward, const Json& norm, std::int64_t dim, const ActivationFacts& s);
/// @param selects  top_k leaves out some key (selects_keys)
[[nodiscard]] MixerFacts mixer_facts(const Json& mixer, const KernelFacts& kernel, const ActivationFacts& alpha, std::int64_t dim, bool selects);
[[nodiscard]] bool selects_keys(const Json& architecture, const Json& mixer);
[[nodiscard]] bool has_feedforward(const Json& layer);
/// A list that is repeated for ever stops behind any layer that has a feedforward, if there is one (16.60).
[[nodiscard]] bool may_stop_behind(const Json& architecture, const Json& layer);
[[nodiscard]] OutputRank output_rank(const Json& architecture);
[[nodiscard]] OutputRank rank_behind(const Json& architecture, const Json& norm);  ///< where the list stops behind a layer with this norm
[[nodiscard]] bool has_one_norm(const Json& architecture);                         ///< of all layers
[[nodiscard]] inline bool has_kernel(const Json& mixer) { return mixer["kind"].is("attention") || mixer["kind"].is("linformer"); }
/// A value map that is not trained leaves no free scale (2.3); trained projections and taps have one of their own.
[[nodiscard]] bool lacks_scale(const Json& mixer);
/// One number per arc and no value map: a row of the reader's own state alone adds a multiple of it, of which a post-norm with eps = 0
/// (`forgets_multiples`, of a layer) keeps the sign alone (16.29).
[[nodiscard]] bool adds_multiples(const Json& mixer);
[[nodiscard]] bool forgets_multiples(const Json& layer);
[[nodiscard]] bool confuses_multiples(const Json& layer, const FeedforwardFacts& f);
[[nodiscard]] inline bool real(const Json& norm) { return !norm.is_null() && !norm["kind"].is("none"); }

struct Derivation {
  const Json& certificate;
  const Json& a;  ///< the architecture
  std::vector<std::string>& trusted;
  const Json* evidence;
  Layout layout, sighted, recoloured;  ///< as given; without blind layers; with tokens that the box can exchange in one colour (3.9)
  std::vector<Vertex> tokens_of_places;  ///< where these are looked at in another order (places.hpp); empty: as they stand
  [[nodiscard]] Vertex token(std::uint64_t place) const { return tokens_of_places.empty() ? static_cast<Vertex>(place) : tokens_of_places[place]; }
  std::optional<std::optional<Grid>> grid;  ///< of the layout, once it was looked for and until sight has it
  ConfirmedGroup layout_group, sighted_group, recoloured_group;
  bool whole = true;                   ///< no layer is blind
  std::optional<Sight> sight, sighted_sight, recoloured_sight, pattern_sight;
  /// Who sees whom in networks: blind layers show nobody (16.91).
  Sight& sight_of_networks() { return whole ? *sight : *sighted_sight; }
  Group target;
  bool target_is_layout = true;
  ClassKind target_class = ClassKind::all;
  std::vector<FeedforwardFacts> feedforward;
  std::vector<MixerFacts> mixer;
  std::vector<KernelFacts> kernel;
  std::vector<ActivationFacts> alpha;
  OutputRank rank;
  std::int64_t dim = 0, raw = 0;       ///< d, width of the raw tokens
  std::int64_t directions = 0;         ///< of the raw tokens: one less where they are centred (16.32)
  std::uint64_t n = 0, ordinary = 0;
  std::optional<std::uint64_t> vocabulary, given, connected, needed, class_layers;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> needed_between;
  ClassKind class_kind = ClassKind::all;
  std::int64_t output_dim = 0, output_largest = 0;
  std::string verdict = "unknown";
  std::optional<ConfirmedGroup> expressed;
  std::shared_ptr<const Order> at_connected;
  Json::Array floors, rules;
  std::vector<std::string> used;
  Json::Object witness;
  bool unreachable = false, collided = false;
  Derivation(const Json& of, std::vector<std::string>& trust) : certificate(of), a(of["architecture"]), trusted(trust), evidence(&of["evidence"]) {}
  struct Published { std::string theorem; std::optional<bool> sound = true; } published;

  [[nodiscard]] const Json& shown(std::string_view key, std::string_view part) const;  ///< of the evidence; null when absent
  [[nodiscard]] const Json& claimed(std::string_view key) const { return certificate["answer"][key]; }
  [[nodiscard]] bool every_mixer(bool MixerFacts::*fact) const { return std::all_of(mixer.begin(), mixer.end(), [&](const MixerFacts& m) { return m.*fact; }); }
  [[nodiscard]] bool every_feedforward(bool FeedforwardFacts::*fact) const { return std::all_of(feedforward.begin(), feedforward.end(), [&](const auto& f) { return f.*fact; }); }
  [[nodiscard]] bool every_row(bool RowFacts::*fact) const {
    return std::all_of(layout.relations.begin(), layout.relations.end(), [&](const Relation& r) { return row_facts(r, layout.tokens).*fact; });
  }
  [[nodiscard]] bool uses_fixed_table() const;
  [[nodiscard]] bool is_fixed_pooling() const;
  [[nodiscard]] bool left_out(const std::string& figure) const;  ///< does the answer say so?
  void use(const std::string& name, const std::vector<std::string>& premises = {});
  void add_floor(std::optional<Rational> squared_error, const std::string& target, const std::string& domain, const std::string& rule);
  void set_collision(const Collision& collision);
  void set_unreachable(const std::pair<Vertex, Vertex>& pair);
};

/// A figure that the answer leaves out, and says so, is null: nothing is concluded from it.
template <class Figure>
auto figure(Derivation& d, const std::string& name, Figure compute) -> decltype(compute()) {
  if (!d.left_out(name)) return compute();
  d.use("left-out", {name});
  return {};
}

void decide_continuous(Derivation& d);
void decide_ids(Derivation& d);
struct TargetLabels { std::uint64_t count = 0; bool exact = false; };
struct OutputVerdict { bool impossible = false; std::string missing; };
[[nodiscard]] OutputVerdict decide_output(Derivation& d, std::int64_t possible, const std::optional<TargetLabels>& targets);

// tokenwise.cpp: feedforwards, norms and embeddings of real-valued tokens
struct Tokenwise { bool impossible = false; std::vector<std::string> missing; };
void decide_feedforward(Derivation& d, Tokenwise& result);
void decide_norms(Derivation& d, Tokenwise& result);

// floors.cpp: theory 3 and 15 as exact rationals, and fixed tables (3.9)
void add_unseen_floor(Derivation& d, std::uint64_t pairs);
void add_sphere_floor(Derivation& d);
void add_output_rank_floor(Derivation& d, std::int64_t wanted);
void add_input_rank_floor(Derivation& d, std::int64_t kept);
void add_ray_floor(Derivation& d);
void add_odd_floor(Derivation& d, bool to_the_end);
void add_homogeneous_floor(Derivation& d);
void add_affine_floor(Derivation& d);
void add_pre_layernorm_floor(Derivation& d);
void add_collision_floor(Derivation& d, const Collision& collision, const ViewQuestion& question);
// distance.cpp: the exact distance of a collision's target, where the answer claims one
void add_distance(Derivation& d, const ViewQuestion& question, const std::vector<std::uint32_t>& label, std::uint32_t orbit, bool linear);
void settle_distances(Derivation& d, bool exact);
void add_unseen_ids_floor(Derivation& d, const Natural& pairs);
void add_label_floor(Derivation& d, IdFloor kind);
void add_overlap_floor(Derivation& d, const std::optional<Collision>& collision, bool for_every_group);
/// exact: components of overlapping rows are cliques; by_pairs: some pairs of a component do not overlap; unsettled: rows are confused without being equal.
enum class Overlaps { exact, by_pairs, unsettled };
[[nodiscard]] Overlaps recolour_by_overlap(const Derivation& d, Layout& layout);
/// Of the permutations of `group` that move every token to one whose row overlaps its own, one that is not in `harmless` (16.38): the first by the number
/// of tokens moved, then by images. Are all looked at, at most 5,040 on at most 64 tokens? Else transpositions alone, of neighbours on up to 4,096 tokens.
struct ExchangedRows { std::optional<Collision> first; bool complete = false; };
[[nodiscard]] ExchangedRows find_exchanged_rows(const Derivation& d, const Group& group, const Group& harmless, bool keeping_rows);
[[nodiscard]] bool norms_merge_rows(const Json& architecture);
[[nodiscard]] bool adds_up_unfree_states(const Derivation& d);

}  // namespace checker

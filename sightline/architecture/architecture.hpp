// The architecture file as plain values: format.md, with every default filled in and every layer merged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/attention_kernel/activation.hpp"
#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/group/expression.hpp"
#include "sightline/layout/layout.hpp"
#include "sightline/layout/pattern_spec.hpp"

namespace sightline::architecture {

enum class Depth { listed, unbounded };
enum class TargetClass { all, causal, seen };
enum class Positions { none, learned, fixed, sinusoidal };
enum class Embedding { none, linear, mlp, table };
enum class Domain { all, centred };
enum class Head { none, linear };
enum class Arrangement { sequential, parallel };
enum class MixerKind { attention, linformer, bias, convolution, linear, mean, sum, max, lsh, tokenwise };
enum class ValueMap { free, identity };
enum class QueryKey { free, tied };
enum class RelativeScheme { none, rotary, alibi, learned, t5 };
enum class ProjectionKind { trained, tied, generic, blocks };
enum class FeedforwardKind { mlp, glu, moe, affine, none };
enum class Bias { yes, no, output_only };
enum class NormKind { none, layernorm, rmsnorm };
enum class NormPlace { pre, post, sandwich, after };

struct Norm {
  NormKind kind = NormKind::none;
  NormPlace place = NormPlace::pre;  ///< [norm] and layers only; input.norm and output.norm have no place
  double eps = 1e-5;
  bool affine = true;
  friend bool operator==(const Norm&, const Norm&) = default;
};

struct Target {
  TargetClass target_class = TargetClass::all;
  bool symmetry_is_layout = true;
  std::string symmetry_expression;                ///< a group expression, or
  std::vector<std::string> symmetry_generators;   ///< a list of permutations in cycle notation (checked: indices < tokens)
  std::string symmetry_where;                     ///< where `symmetry` stands, as PatternSpec::where; see complete_message
  double box = 1.0;
  friend bool operator==(const Target&, const Target&) = default;
};

struct Input {
  Positions positions = Positions::none;
  std::vector<std::vector<double>> table;  ///< positions = fixed: n rows of dim numbers (read from input.file when given)
  std::string file;                        ///< input.file as resolved, "" when the table is inline
  Embedding embedding = Embedding::none;
  std::int64_t dim = 0;                    ///< width of raw tokens (default: dim)
  bool dim_given = false;                  ///< `input.dim` names a width other than `dim`
  std::optional<std::int64_t> vocabulary;
  bool bos = false;
  Domain domain = Domain::all;
  std::optional<Norm> norm;
  std::vector<std::string> registers;      ///< colours, one per register
  friend bool operator==(const Input&, const Input&) = default;
};

struct Output {
  Head head = Head::none;
  std::optional<std::int64_t> dim;
  std::optional<Norm> norm;
  std::string pool = "none";  ///< none | mean | first: no part of the verdict, printed as an assumption
  friend bool operator==(const Output&, const Output&) = default;
};

struct Block {
  Arrangement arrangement = Arrangement::sequential;
  bool residual = true;
  bool tied = false;
  friend bool operator==(const Block&, const Block&) = default;
};

struct RelativePositions {
  RelativeScheme scheme = RelativeScheme::none;
  std::int64_t buckets = 32, max_distance = 128;
  bool bidirectional = true;
  friend bool operator==(const RelativePositions&, const RelativePositions&) = default;
};

struct Mixer {
  MixerKind kind = MixerKind::attention;
  layout::PatternSpec pattern;
  attention_kernel::Kernel kernel;
  bool normalised = true;
  std::int64_t heads = 1;
  std::optional<std::int64_t> top_k;
  bool sink = false;
  double eps = 0;
  ValueMap value = ValueMap::free;
  QueryKey query_key = QueryKey::free;
  RelativePositions relative;
  std::optional<std::int64_t> rank;                       ///< linformer
  ProjectionKind projections = ProjectionKind::trained;
  std::vector<std::vector<std::int64_t>> projection_blocks;
  attention_kernel::Activation activation;                ///< bias mixer
  std::vector<std::int64_t> taps;                         ///< convolution
  friend bool operator==(const Mixer&, const Mixer&) = default;
};

struct Feedforward {
  FeedforwardKind kind = FeedforwardKind::mlp;
  attention_kernel::Activation activation;
  Bias bias = Bias::yes;
  std::optional<std::int64_t> width;
  std::int64_t experts = 1, top_k = 1;
  FeedforwardKind expert = FeedforwardKind::mlp;  ///< moe: mlp | glu
  std::optional<double> spectral_norm_at_most, spectral_norm_equals;
  friend bool operator==(const Feedforward&, const Feedforward&) = default;
};

struct LayerSpec {
  Mixer mixer;
  Feedforward feedforward;
  Norm norm;
  std::int64_t repeat = 1;
  friend bool operator==(const LayerSpec&, const LayerSpec&) = default;
};

enum class Optimiser { adamw, adam, sgd };
enum class Schedule { cosine, constant };
enum class Precision { float32, float64 };

/// The `[train]` table: no part of the verdict, carried along for the training commands.
struct Train {
  std::int64_t epochs = 100;
  std::optional<std::int64_t> steps;  ///< instead of epochs
  std::int64_t batch = 64;
  Optimiser optimiser = Optimiser::adamw;
  double lr = 1e-3;
  Schedule schedule = Schedule::cosine;
  double warmup = 0.05;  ///< fraction of the steps
  double weight_decay = 0.01;
  double clip = 1.0;
  std::optional<std::int64_t> patience;
  double label_smoothing = 0;
  Precision dtype = Precision::float32;
  std::int64_t seed = 0;
  friend bool operator==(const Train&, const Train&) = default;
};

/// One validated architecture. `layers` is never empty (no [[layer]] = one layer of the defaults) and is kept with its
/// repeats, in file order (neighbours that are equal are read as one, repeats added). Keys that a layer inherits but its
/// kind does not use (rank, projections, activation, taps, experts, ...) have their default in `layers`. The defaults are kept too, so that files can be written back as people would write them.
struct Architecture {
  std::string file;  ///< as the user named it; prefix of errors found later
  std::string name;
  std::int64_t tokens = 0;
  std::int64_t dim = 0;
  Depth depth = Depth::listed;
  Target target;
  Input input;
  Output output;
  Block block;
  Mixer mixer;
  Feedforward feedforward;
  Norm norm;
  std::vector<LayerSpec> layers;
  std::optional<Train> train;        ///< absent when the file has no `[train]`
  std::vector<std::string> comments;  ///< written at the top of a TOML file (import's assumptions)
  std::vector<std::string> warnings;  ///< e.g. empty rows: printed to standard error, part of no verdict
  std::vector<std::string> assumptions;  ///< of an import, shown in the answer

  [[nodiscard]] std::uint64_t layer_count() const;  ///< repeats written out
};

/// Fills in the defaults that depend on the kind of a pattern (wrap, variant, part, mode, a missing side of a window), in
/// the table and in those it contains. The reader and the writers do this; patterns built by hand may leave them open.
void fill_defaults(layout::PatternSpec& spec);

/// Number of heads that a pattern asks for: the length of its per_head list (also inside union, intersection and minus),
/// or 1 when all heads share it.
[[nodiscard]] std::int64_t count_heads(const layout::PatternSpec& spec);

/// Gives the keys that the layer's kinds do not use their defaults (rank, projections, activation, taps; experts, top_k,
/// expert), so that equal layers are equal values.
void forget_unused(LayerSpec& layer);

/// The form in which architectures are compared and written: defaults of patterns filled in, unused keys forgotten, equal
/// neighbours joined, a width of 0 for raw tokens replaced by `dim`. What the reader returns is in this form.
[[nodiscard]] Architecture to_normal_form(Architecture architecture);

/// Equal but for `repeat` and the places of patterns in their files.
[[nodiscard]] bool same_layer(const LayerSpec& a, const LayerSpec& b);

/// Equal normal forms in everything that a file can say: tables read from files are compared by content; comments, warnings,
/// assumptions, file names and the places of tables in their files are left out. TOML and JSON twins are the same.
[[nodiscard]] bool same_architecture(const Architecture& a, const Architecture& b);

/// How places are remembered after reading (PatternSpec::where, Target::symmetry_where): "LINE:COLUMN" of the value for
/// TOML ("12:11"), its JSON pointer for JSON ("/layer/2/mixer/pattern"), "" for what stands in no file.
/// `FILE:12:11`, `FILE: /layer/2/mixer/pattern` or `FILE`.
[[nodiscard]] std::string locate(const Architecture& architecture, std::string_view where);
[[nodiscard]] std::string locate(const Architecture& architecture, const layout::PatternSpec& spec);
/// Puts the file in front of a message that begins with such a place (what make_patterns throws): `FILE:12:11: expected ...`,
/// `FILE:12:11: block: expected ...` for "12:11/block: expected ...", `FILE: /mixer/pattern/block: expected ...`;
/// `FILE: ...` for a message without a place.
[[nodiscard]] std::string complete_message(const Architecture& architecture, std::string_view message);

/// The relations of one mixing layer, one per head that differs (convolution: one per tap; linformer: those of its
/// landmarks), with the colours of make_layout and what normalisation forgets of them. Empty for tokenwise. Throws as make_layout.
[[nodiscard]] std::vector<layout::Relation> make_relations(const Architecture& architecture, const Mixer& mixer, const Budget& budget);

/// The generators that target.symmetry writes as cycles, on the tokens. Throws InputError without a place.
[[nodiscard]] std::vector<group::Permutation> parse_symmetry_cycles(const Architecture& architecture);
/// The group that target.symmetry names or generates ("layout" names none). `bound_order`: see group::parse_group. Throws InputError without a
/// place, BudgetExhausted.
[[nodiscard]] group::Group parse_symmetry(const Architecture& architecture, const Budget& budget, const group::BoundOrder& bound_order = {});

/// The layout of an architecture (format.md `layout`: token, register and arc colours), with equal layers and heads shared.
/// Linformer's `blocks` become one register per block; `linear`, linformer trained/tied/generic become token colours.
/// Throws InputError (with file and field) when a pattern cannot be built, BudgetExhausted.
[[nodiscard]] layout::Layout make_layout(const Architecture& architecture, const Budget& budget);

}  // namespace sightline::architecture

// The architecture file as plain values: format.md, with every default filled in and every layer merged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/attention_kernel/activation.hpp"
#include "sightline/attention_kernel/kernel.hpp"
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
  std::vector<std::string> symmetry_generators;   ///< a list of permutations in cycle notation
  double box = 1.0;
  friend bool operator==(const Target&, const Target&) = default;
};

struct Input {
  Positions positions = Positions::none;
  std::vector<std::vector<double>> table;  ///< positions = fixed: n rows of dim numbers (read from input.file when given)
  std::string file;                        ///< input.file as resolved, "" when the table is inline
  Embedding embedding = Embedding::none;
  std::int64_t dim = 0;                    ///< width of raw tokens (default: dim)
  bool dim_given = false;
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

/// One validated architecture. `layers` is never empty (no [[layer]] = one layer of the defaults) and is kept with its
/// repeats, in file order. The defaults are kept too, so that files can be written back as people would write them.
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
  std::vector<std::string> comments;  ///< written at the top of a TOML file (import's assumptions)
  std::vector<std::string> warnings;  ///< e.g. empty rows: printed to standard error, part of no verdict
  std::vector<std::string> assumptions;  ///< of an import, shown in the answer

  [[nodiscard]] std::uint64_t layer_count() const;  ///< repeats written out
};

/// The layout of an architecture (format.md `layout`: token, register and arc colours), with equal layers and heads shared.
/// Linformer's `blocks` become one register per block; `linear`, linformer trained/tied/generic become token colours.
/// Throws InputError (with file and field) when a pattern cannot be built, BudgetExhausted.
[[nodiscard]] layout::Layout make_layout(const Architecture& architecture, const Budget& budget);

}  // namespace sightline::architecture

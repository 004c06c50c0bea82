// What every model family shares on the way from a config to an Architecture: sizes, layers, norms, feedforwards, assumptions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/huggingface/config_view.hpp"
#include "sightline/huggingface/import.hpp"

namespace sightline::huggingface {

using architecture::Feedforward;
using architecture::LayerSpec;
using architecture::Norm;
using architecture::NormKind;
using architecture::NormPlace;
using architecture::Positions;
using architecture::RelativeScheme;

/// Does the tokenizer of a family put a special id in front (public knowledge, no key of the config proves it)?
enum class Front {
  special_id,  ///< [CLS], <s>, <bos>
  nothing,     ///< the first token is an ordinary id
  no_ids       ///< images: tokens are vectors
};

/// A model being imported. Families fill `architecture` and `layers`; import_config finishes the rest.
struct Draft {
  const ConfigView& config;
  const ImportOptions& options;
  Front front;                              ///< of the family's table row
  architecture::Architecture architecture;
  std::vector<LayerSpec> layers;            ///< one per layer, before equal neighbours are merged
  std::vector<std::string> assumptions;
  /// The part of each head that turns, where the type has one and the file may change it; under which key it stands.
  struct Rotary {
    double part = 1;
    std::string key;
    std::int64_t head = 0;  ///< the type's own width of a head where the file gives none; 0: dim / heads
  };
  std::optional<Rotary> rotary;

  void assume(std::string line) { assumptions.push_back(std::move(line)); }
};

/// How wide a head is: the library refuses widths that heads do not divide, unless the type has a width of its own for heads.
enum class HeadWidth { divides_dim, own };
/// Number of layers, dim, heads, and for id models the table: vocabulary and embedding. Default values are the library's.
struct Sizes {
  std::int64_t layers;
  std::int64_t dim;
  std::int64_t heads;
  std::int64_t vocabulary;
  HeadWidth head_width = HeadWidth::divides_dim;
};
/// Keys of the three sizes; each list starts with the library's canonical name.
struct SizeKeys {
  Names layers = {"num_hidden_layers"};
  Names dim = {"hidden_size"};
  Names heads = {"num_attention_heads"};
};
/// Reads sizes; writes dim, mixer.heads (into `layer`), the table, vocabulary and the linear head. Returns the layer count.
/// A number of heads that does not divide the width, or of key heads that does not divide it, is an InputError.
std::int64_t read_sizes(Draft& draft, LayerSpec& layer, const Sizes& defaults, const SizeKeys& keys = {});
/// Values that no family reads but that shape the library's model (widths, switches, `layer_types` of a type without them):
/// one that the library cannot build from is an InputError, and so are settings per layer (`per_layer_config`).
void check_unused_values(const Draft& draft);
/// Layer count alone, 1 .. 100,000.
[[nodiscard]] std::int64_t read_layer_count(const Draft& draft, Names names, std::int64_t fallback);

/// What a length above the number in the config means.
enum class Limit { table, advice };
/// Sets tokens: --tokens, else the length under `names` minus `reserved` rows. With Limit::table a longer --tokens is an
/// InputError (the model has no row for it), with Limit::advice an assumption.
void read_tokens(Draft& draft, Names names, std::int64_t fallback, Limit limit, std::int64_t reserved = 0);
/// Sets tokens for models without any length key: --tokens is required.
void require_tokens(Draft& draft, const std::string& reason);

[[nodiscard]] Norm layer_norm(double eps, NormPlace place = NormPlace::pre);
[[nodiscard]] Norm rms_norm(double eps, NormPlace place = NormPlace::pre);
/// Reads an activation by its name in the library; GELU's approximations count as gelu (analytic, not polynomial, s(0) = 0).
[[nodiscard]] attention_kernel::Activation read_activation(const Draft& draft, Names names, const std::string& fallback);
/// The same from a name that stands somewhere else; `key` is for the error.
[[nodiscard]] attention_kernel::Activation to_activation(const Draft& draft, std::string_view key, const std::string& name);
[[nodiscard]] Feedforward mlp(attention_kernel::Activation activation, bool bias);
[[nodiscard]] Feedforward glu(attention_kernel::Activation activation, bool bias);
/// Experts that are GLUs, `top_k` of them per token.
[[nodiscard]] Feedforward experts(attention_kernel::Activation activation, bool bias, std::int64_t count, std::int64_t top_k);

/// Reader i reads every j <= i.
[[nodiscard]] layout::PatternSpec causal();
/// Reader i reads i - window < j <= i: `window` tokens including its own.
[[nodiscard]] layout::PatternSpec causal_window(std::int64_t window);
/// Reader i reads j <= i in the same chunk of `size`.
[[nodiscard]] layout::PatternSpec causal_chunk(std::int64_t size);
/// Reader i reads |i - j| <= radius.
[[nodiscard]] layout::PatternSpec window(std::int64_t radius);

/// `layer_types` of the file: one allowed name per layer, or nullopt when the key is missing or null.
[[nodiscard]] std::optional<std::vector<std::string>> read_layer_types(const Draft& draft, std::int64_t layers, Names allowed);
/// One window for all layers of a type whose attention does not look at `layer_types`. The library's cache does, so a layer that slides
/// there needs a window all the same.
void apply_single_window(Draft& draft, LayerSpec& layer, std::optional<std::int64_t> fallback);
/// Rotary positions. `default_part`: how much of each head turns where the file does not say; nothing: the whole head, and types
/// like that do not look at the key.
void add_rotary(Draft& draft, LayerSpec& layer, std::optional<double> default_part, std::string_view key = "partial_rotary_factor");
/// What can be said when the sizes are known: a part that holds no coordinate turns nothing, so there are no positions; one that is
/// larger than the head is an InputError.
void check_rotary(Draft& draft);
/// Sets the target class to causal and rejects `is_causal: false`, whose effect depends on the attention implementation.
void make_decoder(Draft& draft);
/// `count` equal layers.
void add_layers(Draft& draft, const LayerSpec& layer, std::int64_t count);

}  // namespace sightline::huggingface

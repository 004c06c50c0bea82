#include <fmt/format.h>

#include "sightline/architecture/readers.hpp"

namespace sightline::architecture {
namespace {

/// A table of a layer over the table of defaults: where each key of the merged result stands.
struct Merged {
  const View* own = nullptr;       ///< the layer's table
  const View* defaults = nullptr;  ///< the default table
  const View* around = nullptr;    ///< the layer or, for the layer of defaults, the root: blamed when neither is there

  [[nodiscard]] const View* holder(std::string_view key) const {
    for (const View* view : {own, defaults})
      if (view != nullptr && view->node().find(key) != nullptr)
        return view;
    return nullptr;
  }
  [[nodiscard]] const View& blamed() const { return own != nullptr ? *own : defaults != nullptr ? *defaults : *around; }
  /// Fails at the value of `key`, or at the table when the key is nowhere.
  [[noreturn]] void fail_at(std::string_view key, const std::string& message) const {
    if (const View* view = holder(key))
      fail(*view->find(key), message);
    fail(blamed(), message);
  }
};

/// A key that only one kind of mixer (or feedforward) uses.
struct OwnedKey {
  std::string_view key;
  bool used = false;        ///< the merged kind uses it
  bool is_default = false;  ///< its merged value is the default
  bool belongs = true;      ///< to one kind alone; others are shared by several, and may be left over when layers choose another kind
};

std::vector<OwnedKey> owned_keys(const Mixer& mixer) {
  return {{"top_k", uses_key(mixer.kind, "top_k"), !mixer.top_k, false},
          {"relative", uses_key(mixer.kind, "relative"), mixer.relative.scheme == RelativeScheme::none, false},
          {"sink", uses_key(mixer.kind, "sink"), !mixer.sink, false},
          {"eps", uses_key(mixer.kind, "eps"), mixer.eps == 0, false},
          {"rank", uses_key(mixer.kind, "rank"), !mixer.rank},
          {"projections", uses_key(mixer.kind, "projections"), mixer.projections == ProjectionKind::trained},
          {"activation", uses_key(mixer.kind, "activation"), mixer.activation == attention_kernel::Activation{}},
          {"taps", uses_key(mixer.kind, "taps"), mixer.taps.empty()}};
}

std::vector<OwnedKey> owned_keys(const Feedforward& feedforward) {
  const FeedforwardKind kind = feedforward.kind;
  const Feedforward fresh;
  return {{"activation", uses_key(kind, "activation"), feedforward.activation == fresh.activation, false},
          {"bias", uses_key(kind, "bias"), feedforward.bias == fresh.bias, false},
          {"width", uses_key(kind, "width"), !feedforward.width, false},
          {"spectral_norm_at_most", uses_key(kind, "spectral_norm_at_most"), !feedforward.spectral_norm_at_most, false},
          {"spectral_norm_equals", uses_key(kind, "spectral_norm_equals"), !feedforward.spectral_norm_equals, false},
          {"experts", uses_key(kind, "experts"), feedforward.experts == 1},
          {"top_k", uses_key(kind, "top_k"), feedforward.top_k == 1},
          {"expert", uses_key(kind, "expert"), feedforward.expert == FeedforwardKind::mlp}};
}

/// A key in a layer's own table must be used by the layer. (One in the table of defaults must be used by some layer, or
/// by the kind that stands beside it when several kinds share it: refuse_unused_defaults.)
template <class T> void refuse_unused(const T& merged, const Merged& tables, std::string_view what) {
  for (const OwnedKey& key : owned_keys(merged))
    if (!key.used && !key.is_default && tables.own != nullptr && tables.own->node().find(key.key) != nullptr)
      fail_at_key(*tables.own, key.key,
                  fmt::format("expected no \"{}\" for a {} of kind \"{}\", found one", key.key, what, name_of(merged.kind)));
}

template <class T>
void refuse_unused_defaults(const T& defaults, const std::vector<std::vector<OwnedKey>>& layers, const View* table,
                            std::string_view what) {
  if (table == nullptr)
    return;
  const std::vector<OwnedKey> keys = owned_keys(defaults);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    bool used = keys[k].is_default || (keys[k].used && !keys[k].belongs) || table->node().find(keys[k].key) == nullptr;
    for (const std::vector<OwnedKey>& layer : layers)
      used = used || layer[k].used;
    if (used) continue;
    const std::string whose = keys[k].used ? fmt::format("here, because every layer has a {} of another kind", what)
                                           : fmt::format("for a {} of kind \"{}\"", what, name_of(defaults.kind));
    fail_at_key(*table, keys[k].key, fmt::format("expected no \"{}\" {}, found one", keys[k].key, whose));
  }
}

void check_mixer(Mixer& mixer, const Merged& tables) {
  const std::int64_t pattern_heads = count_heads(mixer.pattern);
  const bool one_each = mixer.pattern.kind == layout::PatternKind::per_head || pattern_heads > 1;
  if (one_each && tables.holder("heads") != nullptr && mixer.heads != pattern_heads)
    tables.fail_at("heads", fmt::format("expected {} heads as in the per_head pattern, found {}", pattern_heads, mixer.heads));
  if (one_each)
    mixer.heads = pattern_heads;
  if (mixer.kind == MixerKind::linformer) {
    if (mixer.projections == ProjectionKind::blocks) {
      const auto blocks = static_cast<std::int64_t>(mixer.projection_blocks.size());
      if (mixer.rank && *mixer.rank != blocks)
        tables.fail_at("rank", fmt::format("expected the rank to be the number of blocks, {}, found {}", blocks, *mixer.rank));
    } else if (!mixer.rank && mixer.projections != ProjectionKind::generic) {
      fail_missing(tables.blamed(), "rank", "an integer >= 1, for a linformer");
    }
  }
  if (mixer.kind == MixerKind::convolution && mixer.taps.empty()) {
    if (tables.holder("taps") != nullptr)
      tables.fail_at("taps", "expected at least one tap, found an empty list");
    fail_missing(tables.blamed(), "taps", "a list of integers, for a convolution");
  }
}

void check_feedforward(const Feedforward& feedforward, const Merged& tables) {
  if (feedforward.kind == FeedforwardKind::moe && feedforward.top_k > feedforward.experts)
    tables.fail_at("top_k", fmt::format("expected at most {} (the number of experts), found {}", feedforward.experts, feedforward.top_k));
  if (feedforward.spectral_norm_at_most && feedforward.spectral_norm_equals &&
      *feedforward.spectral_norm_equals > *feedforward.spectral_norm_at_most)
    tables.fail_at("spectral_norm_equals", "expected a spectral norm within spectral_norm_at_most, found a larger one");
}

template <class T> const T* pointer_to(const std::optional<T>& value) { return value ? &*value : nullptr; }

}  // namespace

void read_layers(const View& root, Architecture& architecture, const Surroundings& around) {
  const auto default_mixer = root.find("mixer");
  const auto default_feedforward = root.find("feedforward");
  std::vector<std::vector<OwnedKey>> mixers;
  std::vector<std::vector<OwnedKey>> feedforwards;

  const auto add_layer = [&](const View* table) {
    LayerSpec layer{architecture.mixer, architecture.feedforward, architecture.norm, 1};
    std::optional<View> mixer;
    std::optional<View> feedforward;
    if (table != nullptr) {
      require_table(*table, "layer", {"mixer", "feedforward", "norm", "pattern", "repeat"});
      mixer = table->find("mixer");
      feedforward = table->find("feedforward");
      if (mixer)
        read_mixer(*mixer, layer.mixer, around);
      if (feedforward)
        read_feedforward(*feedforward, layer.feedforward);
      if (const auto norm = table->find("norm"))
        read_norm(*norm, layer.norm, true);
      if (const auto pattern = table->find("pattern")) {
        if (mixer && mixer->node().find("pattern") != nullptr)
          fail_at_key(*table, "pattern", "expected \"pattern\" or \"mixer.pattern\", found both");
        layer.mixer.pattern = read_pattern(*pattern, around);
      }
      read_integer(*table, "repeat", layer.repeat, {1, largest_integer});
    }
    const View& blamed = table != nullptr ? *table : root;
    const Merged mixer_tables{pointer_to(mixer), pointer_to(default_mixer), &blamed};
    const Merged feedforward_tables{pointer_to(feedforward), pointer_to(default_feedforward), &blamed};
    refuse_unused(layer.mixer, mixer_tables, "mixer");
    refuse_unused(layer.feedforward, feedforward_tables, "feedforward");
    check_mixer(layer.mixer, mixer_tables);
    check_feedforward(layer.feedforward, feedforward_tables);
    forget_unused(layer);
    mixers.push_back(owned_keys(layer.mixer));
    feedforwards.push_back(owned_keys(layer.feedforward));
    std::vector<LayerSpec>& layers = architecture.layers;
    if (!layers.empty() && layers.back().repeat + layer.repeat <= largest_integer && same_layer(layers.back(), layer))
      layers.back().repeat += layer.repeat;
    else
      layers.push_back(std::move(layer));
  };

  if (const auto list = root.find("layer")) {
    const List& tables = to_list(*list, "a list of tables ([[layer]])");
    for (std::size_t i = 0; i < tables.size(); ++i) {
      const View table(*list, i);
      add_layer(&table);
    }
  }
  if (architecture.layers.empty())
    add_layer(nullptr);
  refuse_unused_defaults(architecture.mixer, mixers, pointer_to(default_mixer), "mixer");
  refuse_unused_defaults(architecture.feedforward, feedforwards, pointer_to(default_feedforward), "feedforward");
}

}  // namespace sightline::architecture

#include <fmt/format.h>

#include <algorithm>

#include "sightline/architecture/readers.hpp"

namespace sightline::architecture {
namespace {

void read_relative(const View& view, RelativePositions& relative) {
  relative = RelativePositions{};
  if (view.node().table() == nullptr) {
    relative.scheme = to_choice<RelativeScheme>(view, names_of<RelativeScheme>());
    return;
  }
  const auto kind = view.find("kind");
  if (!kind) {
    require_table(view, "relative positions", {"kind", "buckets", "max_distance", "bidirectional"});
    fail_missing(view, "kind", "the scheme of relative positions");
  }
  relative.scheme = to_choice<RelativeScheme>(*kind, names_of<RelativeScheme>());
  if (relative.scheme != RelativeScheme::t5) {
    require_table(view, fmt::format("\"{}\" relative positions", name_of(relative.scheme)), {"kind"});
    return;
  }
  require_table(view, "\"t5\" relative positions", {"kind", "buckets", "max_distance", "bidirectional"});
  read_boolean(view, "bidirectional", relative.bidirectional);
  // Half of the buckets of one direction are exact distances; there must be one, and max_distance must lie beyond them.
  const std::int64_t parts = relative.bidirectional ? 4 : 2;
  read_integer(view, "buckets", relative.buckets, {parts, largest_integer});
  read_integer(view, "max_distance", relative.max_distance, {1, largest_integer});
  if (relative.max_distance <= relative.buckets / parts) {
    const std::string message = fmt::format("expected max_distance above {} (for {} buckets), found {}", relative.buckets / parts,
                                            relative.buckets, relative.max_distance);
    if (view.find("max_distance"))
      fail(*view.find("max_distance"), message);
    fail(view, message);
  }
}

void read_projections(const View& view, Mixer& mixer, const Surroundings& around) {
  mixer.projection_blocks.clear();
  if (view.node().table() == nullptr) {
    std::vector<std::string_view> words;
    for (const auto& name : names_of<ProjectionKind>())
      words.push_back(name.text);
    if (view.node().string() == nullptr)
      fail_expected(view, "\"trained\", \"tied\", \"generic\" or { blocks = [[...], ...] }");
    mixer.projections = names_of<ProjectionKind>()[find_choice(view, words)].value;
    return;
  }
  require_table(view, "projections", {"blocks"});
  const auto blocks = view.find("blocks");
  if (!blocks)
    fail_missing(view, "blocks", "a list of lists of tokens");
  mixer.projections = ProjectionKind::blocks;
  mixer.projection_blocks = to_integer_rows(*blocks, {0, around.tokens - 1});
  if (mixer.projection_blocks.empty())
    fail_expected(*blocks, "at least one block");
  std::vector<bool> taken(static_cast<std::size_t>(around.tokens), false);
  for (std::size_t b = 0; b < mixer.projection_blocks.size(); ++b) {
    const View block(*blocks, b);
    if (mixer.projection_blocks[b].empty())
      fail_expected(block, "a block of at least one token");
    for (const std::int64_t token : mixer.projection_blocks[b]) {
      if (taken[static_cast<std::size_t>(token)])
        fail(block, fmt::format("expected every token in at most one block, found {} again", token));
      taken[static_cast<std::size_t>(token)] = true;
    }
  }
}

void read_taps(const View& view, Mixer& mixer, const Surroundings& around) {
  mixer.taps = to_integers(view, {-largest_integer, largest_integer});
  // Taps that agree mod n read the same token, so they are one tap listed twice.
  std::vector<std::pair<std::int64_t, std::size_t>> offsets;
  for (std::size_t i = 0; i < mixer.taps.size(); ++i)
    offsets.emplace_back(((mixer.taps[i] % around.tokens) + around.tokens) % around.tokens, i);
  std::sort(offsets.begin(), offsets.end());
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i].first == offsets[i - 1].first)
      fail(View(view, offsets[i].second),
           fmt::format("expected every tap once (mod {}), found {} again", around.tokens, mixer.taps[offsets[i].second]));
}

}  // namespace

void read_mixer(const View& view, Mixer& mixer, const Surroundings& around) {
  require_table(view, "mixer",
                {"kind", "pattern", "kernel", "normalised", "heads", "top_k", "sink", "eps", "value", "query_key", "relative",
                 "rank", "projections", "activation", "taps"});
  read_choice(view, "kind", mixer.kind);
  if (const auto pattern = view.find("pattern"))
    mixer.pattern = read_pattern(*pattern, around);
  if (const auto kernel = view.find("kernel"))
    mixer.kernel = read_kernel(*kernel, around.dim);
  read_boolean(view, "normalised", mixer.normalised);
  read_integer(view, "heads", mixer.heads, {1, largest_integer});
  read_integer(view, "top_k", mixer.top_k, {1, largest_integer});
  read_boolean(view, "sink", mixer.sink);
  read_number(view, "eps", mixer.eps, Sign::not_negative);
  read_choice(view, "value", mixer.value);
  read_choice(view, "query_key", mixer.query_key);
  if (const auto relative = view.find("relative"))
    read_relative(*relative, mixer.relative);
  read_integer(view, "rank", mixer.rank, {1, largest_integer});
  if (const auto projections = view.find("projections"))
    read_projections(*projections, mixer, around);
  if (const auto activation = view.find("activation"))
    mixer.activation = read_activation(*activation);
  if (const auto taps = view.find("taps"))
    read_taps(*taps, mixer, around);
}

void read_feedforward(const View& view, Feedforward& feedforward) {
  require_table(view, "feedforward",
                {"kind", "activation", "bias", "width", "experts", "top_k", "expert", "spectral_norm_at_most",
                 "spectral_norm_equals"});
  read_choice(view, "kind", feedforward.kind);
  if (const auto activation = view.find("activation"))
    feedforward.activation = read_activation(*activation);
  if (const auto bias = view.find("bias")) {
    if (const bool* flag = bias->node().boolean())
      feedforward.bias = *flag ? Bias::yes : Bias::no;
    else if (bias->node().string() != nullptr && *bias->node().string() == "output")
      feedforward.bias = Bias::output_only;
    else
      fail_expected(*bias, "true, false or \"output\"", {"output", "true", "false"});
  }
  read_integer(view, "width", feedforward.width, {1, largest_integer});
  read_integer(view, "experts", feedforward.experts, {1, largest_integer});
  read_integer(view, "top_k", feedforward.top_k, {1, largest_integer});
  if (const auto expert = view.find("expert"))
    feedforward.expert = find_choice(*expert, {"mlp", "glu"}) == 0 ? FeedforwardKind::mlp : FeedforwardKind::glu;
  read_number(view, "spectral_norm_at_most", feedforward.spectral_norm_at_most, Sign::positive);
  read_number(view, "spectral_norm_equals", feedforward.spectral_norm_equals, Sign::positive);
}

void read_norm(const View& view, Norm& norm, bool with_place) {
  std::vector<std::string_view> keys{"kind", "eps", "affine"};
  if (with_place)
    keys.insert(keys.begin() + 1, "place");
  require_table(view, "norm", keys);
  read_choice(view, "kind", norm.kind);
  read_choice(view, "place", norm.place);
  read_number(view, "eps", norm.eps, Sign::not_negative);
  read_boolean(view, "affine", norm.affine);
}

}  // namespace sightline::architecture

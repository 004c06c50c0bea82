// Architecture -> Layout: which arcs carry which colour (format.md `layout`, theory.md 2.5).
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sightline/architecture/architecture.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

using layout::Cancels;
using layout::Layout;
using layout::Pattern;
using layout::Relation;
using layout::Relative;
using layout::RelativeKind;
using layout::Vertex;

constexpr std::uint64_t register_colour_base = std::uint64_t{1} << 40;

Relative to_relative(const Mixer& mixer) {
  Relative relative;
  switch (mixer.relative.scheme) {
    case RelativeScheme::none: break;
    case RelativeScheme::rotary: relative.kind = RelativeKind::offset; break;
    case RelativeScheme::alibi: relative.kind = RelativeKind::distance; break;
    case RelativeScheme::learned:
      // On a grid the trained bias belongs to (dr, dc), as Swin has it.
      relative.kind = mixer.pattern.kind == layout::PatternKind::grid ? RelativeKind::grid_offset : RelativeKind::offset;
      if (relative.kind == RelativeKind::grid_offset) {
        relative.grid_width = static_cast<std::uint32_t>(mixer.pattern.shape.at(1));
      }
      break;
    case RelativeScheme::t5:
      relative.kind = RelativeKind::bucket;
      relative.buckets = static_cast<std::uint32_t>(mixer.relative.buckets);
      relative.max_distance = static_cast<std::uint32_t>(mixer.relative.max_distance);
      relative.bidirectional = mixer.relative.bidirectional;
      break;
  }
  return relative;
}

Cancels to_cancels(const Mixer& mixer) {
  const bool normalised = (mixer.kind == MixerKind::attention && mixer.normalised) || mixer.kind == MixerKind::mean;
  if (!normalised || mixer.sink || mixer.eps > 0) return Cancels::nothing;
  return mixer.relative.scheme == RelativeScheme::alibi ? Cancels::common_shift : Cancels::single_colour;
}

/// The same arcs, all of colour 1.
Pattern drop_colours(const Pattern& pattern) {
  if (pattern.is_plain()) return pattern;
  std::vector<layout::AffineRun> runs = pattern.affine_runs();
  for (layout::AffineRun& run : runs) run.colour = 1;
  return {pattern.vertex_count(), pattern.segments(), pattern.lists(), std::move(runs), pattern.written_vertices()};
}

/// Every token that stands in a block reads the whole union of blocks; a second relation says who shares a block. Together
/// they have the symmetry of the fixed mean pooling: blocks of equal size may be exchanged (theory.md 2.5, S_k wr).
std::vector<Pattern> make_pooling_patterns(const Mixer& mixer, Vertex tokens, Vertex vertices) {
  std::vector<Vertex> read;
  std::vector<std::vector<Vertex>> same_block(vertices);
  for (const auto& block : mixer.projection_blocks) {
    std::vector<Vertex> members(block.begin(), block.end());
    std::sort(members.begin(), members.end());
    read.insert(read.end(), members.begin(), members.end());
    for (Vertex i : members) same_block[i] = members;
  }
  std::sort(read.begin(), read.end());
  std::vector<std::vector<Vertex>> all_read(vertices);
  for (Vertex i = 0; i < tokens; ++i) all_read[i] = read;
  return {layout::make_pattern_from_rows(vertices, all_read), layout::make_pattern_from_rows(vertices, same_block)};
}

std::vector<std::uint64_t> make_vertex_colours(const Architecture& architecture) {
  const auto tokens = static_cast<std::size_t>(architecture.tokens);
  std::vector<std::uint64_t> colours(tokens, 0);
  const Input& input = architecture.input;
  if (input.positions == Positions::learned || input.positions == Positions::sinusoidal) {
    for (std::size_t i = 0; i < tokens; ++i) colours[i] = i + 1;
  } else if (input.positions == Positions::fixed) {
    std::map<std::vector<double>, std::uint64_t> seen;
    for (std::size_t i = 0; i < tokens; ++i) colours[i] = seen.emplace(input.table[i], seen.size() + 1).first->second;
  }
  if (input.bos) colours[0] = register_colour_base - 1;
  std::map<std::string, std::uint64_t> names;
  for (const std::string& name : input.registers) {
    colours.push_back(register_colour_base + names.emplace(name, names.size()).first->second);
  }
  return colours;
}

}  // namespace

std::vector<Relation> make_relations(const Architecture& architecture, const Mixer& mixer, const Budget& budget) {
  const auto tokens = static_cast<Vertex>(architecture.tokens);
  const auto registers = static_cast<Vertex>(architecture.input.registers.size());
  const layout::PatternSize size{tokens, registers, static_cast<Vertex>(mixer.heads)};
  std::vector<Pattern> patterns;
  Relative relative;
  Cancels cancels = Cancels::nothing;
  const auto generate = [&](const layout::PatternSpec& spec) {
    try {
      return layout::make_patterns(spec, size, budget);
    } catch (const InputError& error) {
      throw InputError(complete_message(architecture, error.what()));
    }
  };
  switch (mixer.kind) {
    case MixerKind::tokenwise: return {};
    case MixerKind::convolution:
      // One relation per tap: preserving the tap as a colour is preserving every tap's arcs.
      for (std::int64_t tap : mixer.taps) {
        layout::PatternSpec spec;
        spec.kind = layout::PatternKind::circulant;
        spec.offsets = {((tap % architecture.tokens) + architecture.tokens) % architecture.tokens};
        patterns.push_back(generate(spec).front());
      }
      break;
    case MixerKind::linformer:
      if (mixer.projections == ProjectionKind::blocks) {
        patterns = make_pooling_patterns(mixer, tokens, tokens + registers);
      } else {
        patterns = generate(layout::PatternSpec{});
        relative.kind = RelativeKind::column;
      }
      break;
    case MixerKind::linear:
      patterns = generate(mixer.pattern);
      relative.kind = RelativeKind::pair;
      break;
    case MixerKind::attention:
      patterns = generate(mixer.pattern);
      relative = to_relative(mixer);
      cancels = to_cancels(mixer);
      break;
    case MixerKind::bias:
    case MixerKind::mean:
    case MixerKind::sum:
    case MixerKind::max:
    case MixerKind::lsh:
      patterns = generate(mixer.pattern);
      cancels = to_cancels(mixer);
      break;
  }
  std::vector<Relation> relations;
  relations.reserve(patterns.size());
  for (Pattern& pattern : patterns) {
    if (mixer.kind == MixerKind::max) pattern = drop_colours(pattern);  // a maximum weighs nothing: the pattern alone counts (docs/theory.md 16.32)
    relations.emplace_back(std::move(pattern), relative, cancels, tokens);
  }
  return relations;
}

layout::Layout make_layout(const Architecture& architecture, const Budget& budget) {
  // The list is written out, so its length is time and memory before any clock is asked: it ends where certificates end.
  if (architecture.layer_count() > layout::most_layers)
    throw BudgetExhausted(fmt::format("{} layers, every repeat written out, are more than the {} that are looked at", architecture.layer_count(), layout::most_layers));
  Layout result;
  result.tokens = static_cast<Vertex>(architecture.tokens);
  result.registers = static_cast<Vertex>(architecture.input.registers.size());
  budget.ask(8ull * (result.tokens + result.registers));
  result.vertex_colour = make_vertex_colours(architecture);

  const Mixer* previous = nullptr;
  std::uint32_t previous_index = 0;
  for (const LayerSpec& spec : architecture.layers) {
    budget.poll();
    std::uint32_t index = previous_index;
    if (previous == nullptr || !(*previous == spec.mixer)) {
      layout::Layer layer;
      for (Relation& relation : make_relations(architecture, spec.mixer, budget)) {
        auto found = std::find(result.relations.begin(), result.relations.end(), relation);
        if (found == result.relations.end()) {
          result.relations.push_back(std::move(relation));
          found = result.relations.end() - 1;
        }
        layer.relations.push_back(static_cast<std::uint32_t>(found - result.relations.begin()));
      }
      std::sort(layer.relations.begin(), layer.relations.end());
      layer.relations.erase(std::unique(layer.relations.begin(), layer.relations.end()), layer.relations.end());
      auto found = std::find(result.layers.begin(), result.layers.end(), layer);
      if (found == result.layers.end()) {
        result.layers.push_back(std::move(layer));
        found = result.layers.end() - 1;
      }
      index = static_cast<std::uint32_t>(found - result.layers.begin());
    }
    result.order.insert(result.order.end(), static_cast<std::size_t>(spec.repeat), index);
    previous = &spec.mixer;
    previous_index = index;
  }
  return result;
}

}  // namespace sightline::architecture

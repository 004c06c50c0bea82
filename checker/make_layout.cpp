// The layout of an architecture (format "layout"): relations of every layer, colours of vertices, order of layers.
#include <algorithm>
#include <map>
#include <tuple>

#include "layout.hpp"

namespace checker {
namespace {

constexpr std::uint64_t most_tokens = std::uint64_t{1} << 24, most_layers = std::uint64_t{1} << 24;

bool same_relation(const Relation& a, const Relation& b) {
  const auto key = [](const Relation& r) {
    const bool bucket = r.relative == RelativeKind::bucket;
    return std::tuple(r.relative, bucket ? r.buckets : 0, bucket ? r.max_distance : 0, bucket && r.bidirectional, r.grid_width, r.cancels);
  };
  return key(a) == key(b) && (a.pattern == b.pattern || same_rows(*a.pattern, *b.pattern));
}

void set_relative(const Json& mixer, Relation& relation) {
  const Json& relative = mixer["relative"];
  const std::string& scheme = relative.is_object() ? relative["kind"].string() : relative.string();
  const bool grid = mixer["pattern"]["kind"].is("grid");
  relation.relative = scheme == "none"                ? RelativeKind::none
                      : scheme == "alibi"             ? RelativeKind::distance
                      : scheme == "t5"                ? RelativeKind::bucket
                      : scheme == "learned" && grid   ? RelativeKind::grid_offset
                                                      : RelativeKind::offset;
  if (relation.relative == RelativeKind::grid_offset) relation.grid_width = static_cast<std::uint32_t>(mixer["pattern"]["shape"][1].natural(most_tokens));
  if (relation.relative == RelativeKind::bucket) {
    relation.buckets = static_cast<std::uint32_t>(relative["buckets"].natural(~std::uint32_t{0}));
    relation.max_distance = static_cast<std::uint32_t>(relative["max_distance"].natural(~std::uint32_t{0}));
    relation.bidirectional = relative["bidirectional"].boolean();
    relation.set_buckets();
  }
}

/// Fixed mean pooling: tokens read all blocks; a second pattern says who shares one (theory 2.5).
std::vector<std::shared_ptr<const Pattern>> make_pooling(const Json& blocks, Vertex tokens, PatternSource& source) {
  std::vector<Vertex> block_of(tokens, none);
  for (std::size_t b = 0; b < blocks.size(); ++b)
    for (const Json& token : blocks[b].array())
      if (std::exchange(block_of[token.natural(tokens - 1)], static_cast<Vertex>(b)) != none) throw Malformed("blocks: a token stands twice");
  const auto make = [&](bool all) -> PatternSource::Rule {
    std::map<Vertex, Row> rows;
    for (Vertex i = 0; i < tokens; ++i)
      if (block_of[i] != none) rows[all ? 0 : block_of[i]].push_back({i, i, 1, 1, 0});
    return [=](Vertex i, Row& out) {
      if (i < tokens && (all || block_of[i] != none)) out = rows.at(all ? 0 : block_of[i]);
    };
  };
  const std::string key = print(blocks);
  return {source.held_to("read " + key, "pooling", [&] { return make(true); }), source.held_to("same " + key, "pooling", [&] { return make(false); })};
}

/// A maximum weighs nothing: colours say nothing (16.32).
std::shared_ptr<const Pattern> drop_colours(const std::shared_ptr<const Pattern>& pattern) {
  const auto coloured = [](const std::vector<MovingRun>& list) { return std::any_of(list.begin(), list.end(), [](const MovingRun& run) { return run.colour != 1; }); };
  if (std::none_of(pattern->lists.begin(), pattern->lists.end(), coloured)) return pattern;
  Pattern plain = *pattern;
  for (std::vector<MovingRun>& list : plain.lists)
    for (MovingRun& run : list) run.colour = 1;
  return std::make_shared<const Pattern>(std::move(plain));
}

std::vector<Relation> make_relations(const Json& mixer, Vertex tokens, PatternSource& source) {
  Relation like;
  like.tokens = tokens;
  std::vector<std::shared_ptr<const Pattern>> patterns;
  const std::string& kind = mixer["kind"].string();
  if (kind == "tokenwise") return {};
  if (kind == "convolution") {
    for (const Json& tap : mixer["taps"].array()) {
      const std::int64_t n = tokens, offset = (tap.integer() % n + n) % n;
      patterns.push_back(source.heads(parse("{\"causal\":false,\"kind\":\"circulant\",\"offsets\":[" + std::to_string(offset) + "]}"), 1).front());
    }
  } else if (kind == "linformer" && mixer["projections"].is_object()) {
    patterns = make_pooling(mixer["projections"]["blocks"], tokens, source);
  } else if (kind == "linformer") {
    patterns = source.heads(parse("{\"causal\":false,\"kind\":\"full\"}"), 1);
    like.relative = RelativeKind::column;
  } else {
    patterns = source.heads(mixer["pattern"], mixer["heads"].natural());
    const bool attention = kind == "attention", normalised = (attention && mixer["normalised"].boolean()) || kind == "mean";
    if (kind == "linear") like.relative = RelativeKind::pair;
    if (attention) set_relative(mixer, like);
    if (normalised && !mixer["sink"].boolean() && mixer["eps"].number() <= 0)
      like.cancels = mixer["relative"].is("alibi") ? Cancels::common_shift : Cancels::single_colour;
  }
  std::vector<Relation> out;
  for (const auto& pattern : patterns) {
    out.push_back(like);
    out.back().pattern = kind == "max" ? drop_colours(pattern) : pattern;
    for (const auto& list : pattern->lists)
      for (const MovingRun& run : list)
        if (run.colour > (std::int64_t{1} << 62) / out.back().relative_count()) throw Malformed("colours do not fit 63 bits");
  }
  return out;
}

std::vector<std::uint64_t> make_colours(const Json& input, Vertex tokens) {
  std::vector<std::uint64_t> colours(tokens, 0);
  if (input["positions"].is("learned") || input["positions"].is("sinusoidal")) {
    for (Vertex i = 0; i < tokens; ++i) colours[i] = i + 1;
  } else if (input["positions"].is("fixed")) {
    std::map<std::vector<double>, std::uint64_t> seen;
    for (Vertex i = 0; i < tokens; ++i) {
      std::vector<double> row;
      for (const Json& value : input["table"][i].array()) row.push_back(value.number());
      colours[i] = seen.emplace(std::move(row), seen.size() + 1).first->second;
    }
  }
  constexpr std::uint64_t base = std::uint64_t{1} << 40;
  if (input["bos"].boolean()) colours[0] = base - 1;
  std::map<std::string, std::uint64_t> names;
  for (const Json& name : input["registers"].array()) colours.push_back(base + names.emplace(name.string(), names.size()).first->second);
  return colours;
}

}  // namespace

Layout make_layout(const Json& architecture, const Json& patterns, std::vector<std::string>& trusted) {
  Layout out;
  out.tokens = static_cast<Vertex>(architecture["tokens"].natural(most_tokens));
  if (out.tokens == 0) throw Malformed("/tokens: expected at least 1");
  const Json& input = architecture["input"];
  out.registers = static_cast<Vertex>(input["registers"].size());
  out.vertex_colour = make_colours(input, out.tokens);
  PatternSource source(out.tokens, out.registers, patterns, trusted);
  for (const Json& spec : architecture["layer"].array()) {
    std::vector<std::uint32_t> layer;
    for (Relation& relation : make_relations(spec["mixer"], out.tokens, source)) {
      std::size_t k = 0;
      while (k < out.relations.size() && !same_relation(out.relations[k], relation)) ++k;
      if (k == out.relations.size()) out.relations.push_back(std::move(relation));
      layer.push_back(static_cast<std::uint32_t>(k));
    }
    std::sort(layer.begin(), layer.end());
    layer.erase(std::unique(layer.begin(), layer.end()), layer.end());
    const auto index = static_cast<std::uint32_t>(std::find(out.layers.begin(), out.layers.end(), layer) - out.layers.begin());
    if (index == out.layers.size()) out.layers.push_back(std::move(layer));
    const std::uint64_t repeat = spec["repeat"].natural(most_layers - out.order.size());
    out.order.insert(out.order.end(), repeat, index);
  }
  if (out.order.empty()) throw Malformed("/layer: expected at least one");
  source.finish();
  return out;
}

}  // namespace checker

#include "sightline/architecture/to_tree.hpp"

#include <filesystem>

#include "sightline/architecture/names.hpp"
#include "sightline/architecture/number_text.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

using layout::PatternKind;
using layout::PatternSpec;

template <class T, class... Arguments> Node make(Arguments&&... arguments) {
  Node node;
  node.value.emplace<T>(std::forward<Arguments>(arguments)...);
  return node;
}
Node leaf(std::string_view text) { return make<std::string>(text); }
Node leaf(bool value) { return make<bool>(value); }
Node leaf(std::int64_t value) { return make<std::int64_t>(value); }
Node leaf(double value) { return make<double>(value); }
template <class T> Node leaf(const std::optional<T>& value) { return value ? leaf(*value) : Node{}; }

Node leaf(const mpq_class& value) {
  const std::optional<double> number = to_double(value);
  if (!number)
    throw ArgumentError("a kernel parameter that no decimal number spells cannot be written: " + value.get_str());
  return leaf(*number);
}

template <class T> Node leaves(const std::vector<T>& values) {
  List list;
  list.reserve(values.size());
  for (const T& value : values)
    list.push_back(leaf(value));
  return make<List>(std::move(list));
}

template <class T> Node rows_of(const std::vector<std::vector<T>>& rows) {
  List list;
  list.reserve(rows.size());
  for (const std::vector<T>& row : rows)
    list.push_back(leaves(row));
  return make<List>(std::move(list));
}

/// Collects the members of a table.
struct Builder {
  Table members;
  template <class T> void add(std::string_view key, const T& value) { members.push_back({std::string(key), {}, leaf(value)}); }
  void add(std::string_view key, Node value) { members.push_back({std::string(key), {}, std::move(value)}); }
  template <class T> void add_present(std::string_view key, const std::optional<T>& value) {
    if (value)
      add(key, *value);
  }
  void add_present(std::string_view key, const std::vector<std::int64_t>& values) {
    if (!values.empty())
      add(key, leaves(values));
  }
  Node finish() { return make<Table>(std::move(members)); }
};

Node to_tree(const attention_kernel::Kernel& kernel, Detail detail) {
  if (kernel.name.empty())
    return leaf(kernel.text);
  Builder out;
  out.add("name", kernel.name);
  if (kernel.name == "gaussian" || kernel.name == "rbf") {
    if (detail == Detail::full || kernel.gamma != 1)
      out.add("gamma", kernel.gamma);
  } else if (kernel.name == "performer") {
    out.add("features", rows_of(kernel.features));
  } else if (kernel.name == "exponential-sum") {
    out.add("weight", leaves(kernel.weight));
  } else if (kernel.name == "cosine") {
    if (detail == Detail::full || kernel.temperature != 1)
      out.add("temperature", kernel.temperature);
  }
  return out.members.size() == 1 ? leaf(kernel.name) : out.finish();
}

Node to_tree(const attention_kernel::Activation& activation) {
  return leaf(activation.name.empty() ? activation.text : activation.name);
}

Node to_tree(const RelativePositions& relative, Detail detail) {
  if (relative.scheme != RelativeScheme::t5)
    return leaf(name_of(relative.scheme));
  const RelativePositions fresh;
  const bool all = detail == Detail::full;
  Builder out;
  out.add("kind", name_of(relative.scheme));
  if (all || relative.buckets != fresh.buckets)
    out.add("buckets", relative.buckets);
  if (all || relative.max_distance != fresh.max_distance)
    out.add("max_distance", relative.max_distance);
  if (all || relative.bidirectional != fresh.bidirectional)
    out.add("bidirectional", relative.bidirectional);
  return out.members.size() == 1 ? leaf(name_of(relative.scheme)) : out.finish();
}

Node projections_of(const Mixer& mixer) {
  if (mixer.projections != ProjectionKind::blocks)
    return leaf(name_of(mixer.projections));
  Builder out;
  out.add("blocks", rows_of(mixer.projection_blocks));
  return out.finish();
}

void add_parts(Builder& out, std::string_view key, const PatternSpec& spec, Detail detail, const std::string& folder) {
  List parts;
  for (const PatternSpec& part : spec.of)
    parts.push_back(to_tree(part, detail, folder));
  out.add(key, make<List>(std::move(parts)));
}

void add_pattern_keys(Builder& out, const PatternSpec& spec, Detail detail, const std::string& folder) {
  switch (spec.kind) {
  case PatternKind::full:
  case PatternKind::self:
  case PatternKind::star: break;
  case PatternKind::window:
    out.add_present("radius", spec.radius);
    out.add_present("before", spec.before);
    out.add_present("after", spec.after);
    out.add("dilation", spec.dilation);
    out.add("wrap", spec.wrap);
    out.add("global", leaves(spec.global));
    break;
  case PatternKind::ring: out.add_present("radius", spec.radius); break;
  case PatternKind::blocks: out.add_present("size", spec.size); break;
  case PatternKind::shifted_blocks:
    out.add_present("size", spec.size);
    out.add_present("shift", spec.shift);
    out.add("wrap", spec.wrap);
    break;
  case PatternKind::strided:
  case PatternKind::fixed:
    out.add_present("stride", spec.stride);
    out.add_present("summary", spec.summary);
    out.add("variant", spec.variant);
    out.add("part", spec.part);
    break;
  case PatternKind::grid:
    out.add("shape", leaves(spec.shape));
    out.add_present("window", spec.grid_window);
    out.add("rows", spec.grid_rows);
    out.add("columns", spec.grid_columns);
    out.add_present("blocks", spec.grid_blocks);
    out.add_present("shift", spec.grid_shift);
    out.add("wrap", spec.wrap);
    break;
  case PatternKind::bigbird:
    out.add_present("block", spec.block);
    out.add_present("random", spec.random_blocks);
    out.add_present("globals", spec.globals);
    out.add("seed", static_cast<std::int64_t>(spec.seed));
    out.add("variant", spec.variant);
    out.add("mode", spec.mode);
    break;
  case PatternKind::random:
    out.add_present("degree", spec.degree);
    out.add_present("density", spec.density);
    out.add("seed", static_cast<std::int64_t>(spec.seed));
    break;
  case PatternKind::butterfly: out.add_present("distance", spec.distance); break;
  case PatternKind::circulant: out.add("offsets", leaves(spec.offsets)); break;
  case PatternKind::graph: {
    List edges;
    for (const auto& [from, to] : spec.edges)
      edges.push_back(leaves(std::vector<std::int64_t>{from, to}));
    out.add("edges", make<List>(std::move(edges)));
    out.add("directed", spec.directed);
    out.add("loops", spec.loops);
    break;
  }
  case PatternKind::rows: out.add("rows", rows_of(spec.rows)); break;
  case PatternKind::matrix: out.add("matrix", rows_of(spec.matrix)); break;
  case PatternKind::file:
    out.add("path", relative_path(spec.path, folder));
    out.add("format", spec.format);
    break;
  case PatternKind::union_of:
  case PatternKind::intersection_of:
  case PatternKind::minus: add_parts(out, "of", spec, detail, folder); break;
  case PatternKind::per_head: add_parts(out, "heads", spec, detail, folder); break;
  }
}

}  // namespace

std::string relative_path(const std::string& path, const std::string& folder) {
  const std::filesystem::path target(path);
  const std::filesystem::path base(folder.empty() ? "." : folder);
  if (target.is_absolute() != base.is_absolute())
    return path;
  const std::filesystem::path relative = target.lexically_relative(base);
  const bool climbs = relative.empty() || *relative.begin() == "..";
  return climbs && (target.is_absolute() || relative.empty()) ? path : relative.string();
}

Node to_tree(const PatternSpec& given, Detail detail, const std::string& folder) {
  PatternSpec spec = given;
  fill_defaults(spec);
  Builder out;
  out.add("kind", name_of(spec.kind));
  out.add("causal", spec.causal);
  add_pattern_keys(out, spec, detail, folder);
  if (detail == Detail::full)
    return out.finish();
  PatternSpec plain;
  plain.kind = spec.kind;
  fill_defaults(plain);
  Builder defaults;
  defaults.add("causal", false);
  add_pattern_keys(defaults, plain, detail, folder);
  // An empty list of offsets or edges is a statement, not a default.
  std::erase_if(defaults.members, [](const Member& member) { return member.key == "offsets" || member.key == "edges"; });
  return make<Table>(subtract(out.finish(), defaults.finish()));
}

Node to_tree(const Mixer& mixer, Detail detail, const std::string& folder) {
  Builder out;
  out.add("kind", name_of(mixer.kind));
  out.add("kernel", to_tree(mixer.kernel, detail));
  out.add("normalised", mixer.normalised);
  out.add("heads", mixer.heads);
  out.add("top_k", mixer.top_k);
  out.add("sink", mixer.sink);
  out.add("eps", mixer.eps);
  out.add("value", name_of(mixer.value));
  out.add("query_key", name_of(mixer.query_key));
  out.add("relative", to_tree(mixer.relative, detail));
  out.add("rank", mixer.rank);
  out.add("projections", projections_of(mixer));
  out.add("activation", to_tree(mixer.activation));
  out.add("taps", leaves(mixer.taps));
  out.add("pattern", to_tree(mixer.pattern, detail, folder));
  return out.finish();
}

Node to_tree(const Feedforward& feedforward) {
  Builder out;
  out.add("kind", name_of(feedforward.kind));
  out.add("activation", to_tree(feedforward.activation));
  if (feedforward.bias == Bias::output_only)
    out.add("bias", std::string_view("output"));
  else
    out.add("bias", feedforward.bias == Bias::yes);
  out.add("width", feedforward.width);
  out.add("experts", feedforward.experts);
  out.add("top_k", feedforward.top_k);
  out.add("expert", name_of(feedforward.expert));
  out.add("spectral_norm_at_most", feedforward.spectral_norm_at_most);
  out.add("spectral_norm_equals", feedforward.spectral_norm_equals);
  return out.finish();
}

Node to_tree(const Norm& norm, bool with_place) {
  Builder out;
  out.add("kind", name_of(norm.kind));
  if (with_place)
    out.add("place", name_of(norm.place));
  out.add("eps", norm.eps);
  out.add("affine", norm.affine);
  return out.finish();
}

Node to_tree(const Target& target) {
  Builder out;
  out.add("class", name_of(target.target_class));
  if (target.symmetry_is_layout)
    out.add("symmetry", std::string_view("layout"));
  else if (!target.symmetry_expression.empty())
    out.add("symmetry", target.symmetry_expression);
  else
    out.add("symmetry", leaves(target.symmetry_generators));
  out.add("box", target.box);
  return out.finish();
}

Node to_tree(const Input& input) {
  Builder out;
  out.add("positions", name_of(input.positions));
  out.add("embedding", name_of(input.embedding));
  out.add("dim", input.dim);
  out.add("vocabulary", input.vocabulary);
  out.add("bos", input.bos);
  out.add("domain", name_of(input.domain));
  out.add("registers", leaves(input.registers));
  return out.finish();
}

Node to_tree(const Output& output) {
  Builder out;
  out.add("head", name_of(output.head));
  out.add("dim", output.dim);
  out.add("pool", output.pool);
  return out.finish();
}

Node to_tree(const Block& block) {
  Builder out;
  out.add("arrangement", name_of(block.arrangement));
  out.add("residual", block.residual);
  out.add("tied", block.tied);
  return out.finish();
}

Node to_tree(const Train& train) {
  Builder out;
  out.add("epochs", train.epochs);
  out.add("steps", train.steps);
  out.add("batch", train.batch);
  out.add("optimiser", name_of(train.optimiser));
  out.add("lr", train.lr);
  out.add("schedule", name_of(train.schedule));
  out.add("warmup", train.warmup);
  out.add("weight_decay", train.weight_decay);
  out.add("clip", train.clip);
  out.add("patience", train.patience);
  out.add("label_smoothing", train.label_smoothing);
  out.add("dtype", name_of(train.dtype));
  out.add("seed", train.seed);
  return out.finish();
}

Node to_tree(const std::vector<std::vector<double>>& table) { return rows_of(table); }

Table subtract(const Node& tree, const Node& defaults) {
  Table out;
  for (const Member& member : *tree.table()) {
    const Node* same = defaults.find(member.key);
    if (same == nullptr || !(*same == member.value))
      out.push_back(member);
  }
  return out;
}

}  // namespace sightline::architecture

#include "small_model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sightline/group/permutation.hpp"
#include "sightline/layout/layout.hpp"

namespace property {

namespace architecture = sightline::architecture;
namespace layout = sightline::layout;
using architecture::TargetClass;

namespace {

constexpr std::int64_t t5_buckets = 4, t5_max_distance = 4;

layout::PatternSpec to_pattern(const Arcs& arcs) {
  layout::PatternSpec spec;
  bool plain = true;
  for (const auto& row : arcs) plain = plain && std::all_of(row.begin(), row.end(), [](int c) { return c <= 1; });
  if (plain) {
    spec.kind = layout::PatternKind::rows;
    for (const auto& row : arcs) {
      spec.rows.emplace_back();
      for (std::size_t j = 0; j < row.size(); ++j) {
        if (row[j] != 0) spec.rows.back().push_back(static_cast<std::int64_t>(j));
      }
    }
    return spec;
  }
  spec.kind = layout::PatternKind::matrix;
  for (const auto& row : arcs) spec.matrix.emplace_back(row.begin(), row.end());
  return spec;
}

}  // namespace

std::vector<const SmallLayer*> SmallModel::unroll() const {
  std::vector<const SmallLayer*> list;
  for (const SmallLayer& layer : layers) list.insert(list.end(), static_cast<std::size_t>(layer.repeat), &layer);
  return list;
}

std::string SmallModel::describe() const {
  std::string text = "n=" + std::to_string(tokens);
  if (!registers.empty()) {
    text += " registers";
    for (const int colour : registers) text += " " + std::to_string(colour);
  }
  if (table) text += " ids V=" + std::to_string(vocabulary) + (vocabulary_given ? "" : " (not given)") + (bos ? " bos" : "");
  if (learned_positions) text += " learned positions";
  text += listed ? " listed" : " unbounded";
  text += " class " + std::to_string(static_cast<int>(target_class)) + " symmetry";
  if (layout_symmetry) text += " layout";
  for (const auto& g : generators) {
    text += " [";
    for (const int x : g) text += std::to_string(x);
    text += "]";
  }
  for (const SmallLayer& layer : layers) {
    text += "\n  layer x" + std::to_string(layer.repeat) + " scheme " + std::to_string(static_cast<int>(layer.scheme)) + " denominator " +
            std::to_string(static_cast<int>(layer.denominator));
    for (const Arcs& arcs : layer.heads) {
      text += "\n    head";
      for (const auto& row : arcs) {
        text += " ";
        for (const int colour : row) text += std::to_string(colour);
      }
    }
  }
  return text;
}

int relative_colour(const SmallModel& model, const SmallLayer& layer, int i, int j) {
  if (i >= model.tokens || j >= model.tokens) return -1;
  switch (layer.scheme) {
    case Scheme::none: return -1;
    case Scheme::learned:
    case Scheme::rotary: return j - i + 1000;
    case Scheme::alibi: return std::abs(j - i);
    case Scheme::t5: {
      layout::Relative relative;
      relative.kind = layout::RelativeKind::bucket;
      relative.buckets = static_cast<std::uint32_t>(t5_buckets);
      relative.max_distance = static_cast<std::uint32_t>(t5_max_distance);
      return static_cast<int>(layout::compute_t5_bucket(j - i, relative));
    }
  }
  return -1;
}

architecture::Architecture to_architecture(const SmallModel& model) {
  architecture::Architecture a;
  a.file = "property";
  a.tokens = model.tokens;
  a.dim = 4;
  a.depth = model.listed ? architecture::Depth::listed : architecture::Depth::unbounded;
  a.target.target_class = model.target_class;
  a.target.symmetry_is_layout = model.layout_symmetry;
  for (const auto& images : model.generators) {
    a.target.symmetry_generators.push_back(sightline::group::to_cycles(
        sightline::group::Permutation::from_images(std::vector<sightline::group::Point>(images.begin(), images.end()))));
  }
  for (const int colour : model.registers) a.input.registers.push_back("colour " + std::to_string(colour));
  if (model.learned_positions) a.input.positions = architecture::Positions::learned;
  if (model.table) {
    a.input.embedding = architecture::Embedding::table;
    if (model.vocabulary_given) a.input.vocabulary = model.vocabulary;
    a.input.bos = model.bos;
    a.output.head = architecture::Head::linear;
  }
  for (const SmallLayer& layer : model.layers) {
    architecture::LayerSpec spec;
    architecture::Mixer& mixer = spec.mixer;
    spec.repeat = layer.repeat;
    mixer.heads = static_cast<std::int64_t>(layer.heads.size());
    if (layer.heads.size() == 1) {
      mixer.pattern = to_pattern(layer.heads.front());
    } else {
      mixer.pattern.kind = layout::PatternKind::per_head;
      for (const Arcs& arcs : layer.heads) mixer.pattern.of.push_back(to_pattern(arcs));
    }
    mixer.normalised = layer.denominator != Denominator::sum;
    mixer.sink = layer.denominator == Denominator::sink;
    mixer.eps = layer.denominator == Denominator::eps ? 0.5 : 0;
    switch (layer.scheme) {
      case Scheme::none: break;
      case Scheme::learned: mixer.relative.scheme = architecture::RelativeScheme::learned; break;
      case Scheme::rotary: mixer.relative.scheme = architecture::RelativeScheme::rotary; break;
      case Scheme::alibi: mixer.relative.scheme = architecture::RelativeScheme::alibi; break;
      case Scheme::t5:
        mixer.relative.scheme = architecture::RelativeScheme::t5;
        mixer.relative.buckets = t5_buckets;
        mixer.relative.max_distance = t5_max_distance;
        break;
    }
    a.layers.push_back(spec);
  }
  return architecture::to_normal_form(std::move(a));
}

SmallModel make_digraph(int tokens, std::uint64_t bits) {
  SmallModel model;
  model.tokens = tokens;
  model.listed = false;
  Arcs arcs(static_cast<std::size_t>(tokens), std::vector<int>(static_cast<std::size_t>(tokens), 0));
  for (auto& row : arcs) {
    for (int& arc : row) {
      arc = static_cast<int>(bits & 1);
      bits >>= 1;
    }
  }
  model.layers.push_back({{arcs}, Scheme::none, Denominator::plain, 1});
  return model;
}

SmallModel draw_model(std::mt19937_64& random, const Taste& taste) {
  const auto below = [&](int k) { return static_cast<int>(random() % static_cast<std::uint64_t>(k)); };
  SmallModel model;
  model.table = taste.table;
  do {
    model.tokens = taste.min_tokens + below(taste.max_tokens - taste.min_tokens + 1);
    model.vocabulary = 2 + below(2);
    model.bos = taste.table && below(3) == 0;
  } while (taste.table && model.tokens * std::pow(model.vocabulary, model.tokens - (model.bos ? 1 : 0)) > taste.labelled_inputs);
  if (taste.registers && below(4) == 0) {
    const int count = 1 + below(2);
    for (int r = 0; r < count; ++r) model.registers.push_back(below(2));
  }
  model.learned_positions = below(12) == 0;
  model.listed = below(3) != 0;
  const int n = model.vertices(), period = 1 + below(taste.max_layers);
  const bool coloured = taste.colours && below(4) == 0, relative = taste.colours && below(3) == 0;
  const bool causal = below(4) == 0, loops = below(2) == 0, one_denominator = below(3) != 0;
  const int density = 2 + below(9);
  int left = period;
  while (left > 0) {
    if (!model.layers.empty() && below(4) == 0) {
      // The same pattern again, not as a neighbour of itself unless by chance.
      model.layers.push_back(model.layers[static_cast<std::size_t>(below(static_cast<int>(model.layers.size())))]);
      model.layers.back().repeat = 1;
      --left;
      continue;
    }
    SmallLayer layer;
    const int heads = below(5) == 0 ? 2 : 1;
    if (relative && below(4) != 0) layer.scheme = static_cast<Scheme>(1 + below(4));
    if (!one_denominator && below(2) == 0) layer.denominator = static_cast<Denominator>(below(4));
    for (int h = 0; h < heads; ++h) {
      Arcs arcs(static_cast<std::size_t>(n), std::vector<int>(static_cast<std::size_t>(n), 0));
      for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
          if (causal && i < model.tokens && j < model.tokens && j > i) continue;
          if (below(10) < density || (loops && i == j)) arcs[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] = coloured ? 1 + below(2) : 1;
        }
      }
      layer.heads.push_back(arcs);
    }
    layer.repeat = 1 + (below(4) == 0 ? below(left) : 0);
    left -= layer.repeat;
    model.layers.push_back(layer);
  }
  if (taste.classes && below(3) == 0) model.target_class = causal ? TargetClass::causal : static_cast<TargetClass>(below(3));
  if (taste.groups && below(3) == 0) {
    model.layout_symmetry = false;
    const int generators = below(3);
    for (int g = 0; g < generators; ++g) {
      std::vector<int> images(static_cast<std::size_t>(model.tokens));
      std::iota(images.begin(), images.end(), 0);
      const int kind = below(3);
      if (kind == 0) std::rotate(images.begin(), images.begin() + below(model.tokens), images.end());
      if (kind == 1) std::swap(images[static_cast<std::size_t>(below(model.tokens))], images[static_cast<std::size_t>(below(model.tokens))]);
      if (kind == 2) std::shuffle(images.begin(), images.end(), random);
      model.generators.push_back(images);
    }
  }
  return model;
}

}  // namespace property

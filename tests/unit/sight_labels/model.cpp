#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sight_labels {

using sightline::Budget;
namespace layout = sightline::layout;
namespace sight = sightline::sight;
namespace group = sightline::group;

std::string Model::describe() const {
  std::string text = "n=" + std::to_string(tokens) + " r=" + std::to_string(registers.size()) + " V=" + std::to_string(vocabulary) +
                     (bos ? " bos" : "") + (absolute ? " absolute" : "") + " class " + std::to_string(static_cast<int>(target_class));
  for (const Head& head : heads) {
    text += "\n  head rule " + std::to_string(static_cast<int>(head.rule)) + " relative " + std::to_string(static_cast<int>(head.relative.kind)) + " rows";
    for (const auto& row : head.rows) {
      text += " [";
      for (const Arc& arc : row) text += std::to_string(arc.read) + ":" + std::to_string(arc.matrix) + " ";
      text += "]";
    }
  }
  text += "\n  layers";
  for (const auto& layer : layers) {
    text += " (";
    for (const std::uint32_t h : layer) text += std::to_string(h) + " ";
    text += ")";
  }
  text += "\n  generators";
  for (const auto& g : generators) {
    text += " [";
    for (const std::uint32_t x : g) text += std::to_string(x) + " ";
    text += "]";
  }
  return text;
}

std::int64_t relative_colour(const Model& model, const Head& head, Vertex i, Vertex j) {
  if (i >= model.tokens || j >= model.tokens) return -1;
  const std::int64_t offset = std::int64_t{j} - std::int64_t{i};
  switch (head.relative.kind) {
  case RelativeKind::offset: return offset + 1000;
  case RelativeKind::distance: return std::abs(offset);
  case RelativeKind::bucket: return layout::compute_t5_bucket(offset, head.relative);
  default: return -1;
  }
}

layout::Layout to_layout(const Model& model) {
  layout::Layout result;
  result.tokens = model.tokens;
  result.registers = static_cast<Vertex>(model.registers.size());
  result.vertex_colour.assign(model.tokens, 0);
  if (model.bos) result.vertex_colour[0] = 1;
  if (model.absolute) std::iota(result.vertex_colour.begin(), result.vertex_colour.end(), 0);
  for (const std::uint64_t colour : model.registers) result.vertex_colour.push_back(1000 + colour);
  for (const Head& head : model.heads) {
    std::vector<std::vector<Vertex>> rows;
    std::vector<std::vector<std::uint32_t>> colours;
    for (const auto& row : head.rows) {
      rows.emplace_back();
      colours.emplace_back();
      for (const Arc& arc : row) {
        rows.back().push_back(arc.read);
        colours.back().push_back(arc.matrix);
      }
    }
    result.relations.emplace_back(layout::make_pattern_from_rows(model.vertices(), rows, colours), head.relative,
                                  layout::Cancels::nothing, model.tokens);
  }
  for (const auto& layer : model.layers) {
    std::uint32_t index = 0;
    while (index < result.layers.size() && result.layers[index].relations != layer) ++index;
    if (index == result.layers.size()) result.layers.push_back({layer});
    result.order.push_back(index);
  }
  return result;
}

sight::IdAnswer answer(const Model& model, std::optional<std::uint64_t> depth) {
  const Budget budget;
  const layout::Layout built = to_layout(model);
  std::vector<group::Permutation> generators;
  for (const auto& images : model.generators) generators.push_back(group::Permutation::from_images(images));
  const group::Group target = group::make_group(model.tokens, generators, budget);
  sight::IdQuestion question;
  question.layout = &built;
  for (const Head& head : model.heads) question.rules.push_back(head.rule);
  question.vocabulary = model.vocabulary;
  question.bos = model.bos;
  question.absolute_positions = model.absolute;
  question.target_class = model.target_class;
  question.target = &target;
  return sight::compute_id_labels(question, depth, budget);
}

Model draw_model(std::mt19937_64& random, double labelled_inputs) {
  const auto draw = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random() % below); };
  Model model;
  do {
    model.tokens = 1 + draw(5);
    model.vocabulary = 2 + draw(2);
    model.bos = draw(3) == 0;
  } while (model.tokens * std::pow(model.vocabulary, model.tokens - (model.bos ? 1.0 : 0.0)) > labelled_inputs);
  model.absolute = draw(12) == 0;
  if (draw(3) == 0) {
    const std::uint32_t count = 1 + draw(2);
    for (std::uint32_t r = 0; r < count; ++r) model.registers.push_back(draw(2));
  }
  const Vertex vertices = model.vertices();
  constexpr RowRule rules[] = {RowRule::multiset, RowRule::frequency, RowRule::learned, RowRule::learned, RowRule::rotary,
                               RowRule::alibi, RowRule::alibi, RowRule::set, RowRule::whole};
  constexpr RelativeKind kinds[] = {RelativeKind::none, RelativeKind::offset, RelativeKind::distance, RelativeKind::bucket};
  const std::uint32_t heads = 1 + draw(3);
  const bool causal = draw(2) == 0, matrix = draw(4) == 0, full = draw(3) == 0;
  for (std::uint32_t h = 0; h < heads; ++h) {
    Head head;
    head.rule = rules[draw(9)];
    head.relative.kind = kinds[draw(4)];
    if (head.rule == RowRule::alibi) head.relative.kind = RelativeKind::distance;
    if (head.rule == RowRule::rotary) head.relative.kind = RelativeKind::offset;
    if (head.rule == RowRule::frequency || head.rule == RowRule::set || head.rule == RowRule::whole) head.relative.kind = RelativeKind::none;
    if (head.relative.kind == RelativeKind::bucket) {
      head.relative.bidirectional = draw(2) == 0;
      head.relative.buckets = 4 + 4 * draw(2);
      head.relative.max_distance = 8;
    }
    const std::uint32_t density = full ? 10 : 4 + draw(6);
    head.rows.resize(vertices);
    for (Vertex i = 0; i < vertices; ++i) {
      for (Vertex j = 0; j < vertices; ++j) {
        if (causal && i < model.tokens && j < model.tokens && j > i) continue;
        if (draw(10) < density) head.rows[i].push_back({j, matrix ? 1 + draw(2) : 1});
      }
    }
    model.heads.push_back(std::move(head));
  }
  const std::uint32_t period = 1 + draw(3);
  for (std::uint32_t q = 0; q < period; ++q) {
    std::vector<std::uint32_t> layer{draw(heads)};
    if (draw(3) == 0) layer.push_back(draw(heads));
    std::sort(layer.begin(), layer.end());
    layer.erase(std::unique(layer.begin(), layer.end()), layer.end());
    model.layers.push_back(layer);
  }
  model.target_class = static_cast<ClassKind>(draw(3));
  const std::uint32_t generators = draw(3);
  for (std::uint32_t g = 0; g < generators; ++g) {
    std::vector<std::uint32_t> images(model.tokens);
    std::iota(images.begin(), images.end(), 0);
    std::shuffle(images.begin(), images.end(), random);
    model.generators.push_back(images);
  }
  return model;
}

}  // namespace sight_labels

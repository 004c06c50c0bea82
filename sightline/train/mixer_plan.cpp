#include "sightline/train/mixer_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/attention_kernel/expression.hpp"
#include "sightline/base/error.hpp"
#include "sightline/layout/pattern_spec.hpp"
#include "sightline/mixer/kernel_function.hpp"

namespace sightline::train {
namespace {

using architecture::MixerKind;
using architecture::RelativeScheme;

bool has_literals(const attention_kernel::Expression& expression) {
  if (expression->op == attention_kernel::Op::literal_vector)
    return true;
  return std::any_of(expression->children.begin(), expression->children.end(), has_literals);
}

void check_kernel(const architecture::Architecture& a, const architecture::Mixer& mixer, const std::string& where) {
  const attention_kernel::Kernel& kernel = mixer.kernel;
  bool literal = !kernel.features.empty() || !kernel.weight.empty();
  if (kernel.name.empty()) {
    literal = has_literals(attention_kernel::parse_expression(kernel.text, attention_kernel::Role::kernel,
                                                              static_cast<std::size_t>(a.dim)));
  }
  if (literal && mixer.heads > 1) {
    throw InputError(
        fmt::format("{}: expected heads = 1 for a kernel with literal vectors, found {}", where, mixer.heads));
  }
}

/// Neither lengths nor single coordinates: what stays the same when zeros are put beside a query or a key.
bool depends_on_dot_alone(const attention_kernel::Kernel& kernel, std::int64_t width) {
  const auto program = mixer::find_kernel_function(kernel, width)->scalar_program();
  return program &&
         std::none_of(program->steps.begin(), program->steps.end(),
                      [](const auto& step) {
                        const bool right_is_slot =
                            step.op == attention_kernel::Op::add || step.op == attention_kernel::Op::subtract ||
                            step.op == attention_kernel::Op::multiply || step.op == attention_kernel::Op::divide;
                        const auto is_length = [](std::int32_t slot) { return slot == 1 || slot == 2; };
                        return is_length(step.left) || (right_is_slot && is_length(step.right));
                      }) &&
         program->factor != 1 && program->factor != 2 && program->exponent != 1 && program->exponent != 2;
}

std::int64_t count_matrix_colours(const std::vector<layout::Relation>& relations) {
  std::int64_t most = 1;
  for (const layout::Relation& relation : relations) {
    for (const layout::AffineRun& run : relation.pattern().affine_runs())
      most = std::max<std::int64_t>(most, run.colour);
  }
  return most;
}

void make_linformer(LayerPlan& plan) {
  const architecture::Mixer& mixer = plan.mixer;
  if (mixer.projections == architecture::ProjectionKind::blocks) {
    plan.rank = static_cast<std::int64_t>(mixer.projection_blocks.size());
    plan.landmarks = mixer::make_pooling_plan(mixer.projection_blocks, plan.tokens);
    // Registers stand in no block: they are read by nobody and read nothing.
    plan.plan = mixer::make_full_plan(plan.tokens, plan.rank);
    return;
  }
  plan.rank = mixer.rank.value_or(std::min<std::int64_t>(plan.vertices, 32));
  plan.landmarks = mixer::make_full_plan(plan.rank, plan.vertices, true);
  plan.plan = mixer::make_full_plan(plan.vertices, plan.rank);
}

} // namespace

std::vector<double> make_slopes(std::int64_t heads) {
  std::vector<double> slopes;
  for (std::int64_t h = 0; h < heads; ++h)
    slopes.push_back(std::exp2(-8.0 * static_cast<double>(h + 1) / static_cast<double>(heads)));
  return slopes;
}

std::vector<double> make_generic_projection(std::int64_t tokens, std::int64_t rank) {
  std::vector<double> entries;
  const auto n = static_cast<double>(tokens), k = static_cast<double>(rank);
  for (std::int64_t j = 0; j < tokens; ++j) {
    for (std::int64_t c = 0; c < rank; ++c)
      entries.push_back((1 + static_cast<double>(j) / n + static_cast<double>(c) / (n * k)) / n);
  }
  return entries;
}

LayerPlan make_layer_plan(const architecture::Architecture& a, const architecture::Mixer& mixer, std::uint64_t layer,
                          const Budget& budget) {
  const std::string where = fmt::format("{}: layer {}", a.file, layer);
  LayerPlan plan;
  plan.mixer = mixer;
  plan.tokens = a.tokens;
  plan.vertices = a.tokens + static_cast<std::int64_t>(a.input.registers.size());
  if (mixer.kind == MixerKind::tokenwise)
    return plan;
  if (mixer.kind == MixerKind::lsh) {
    throw InputError(
        where + ": expected a mixer that can be trained, found \"lsh\" (its buckets are random; give a fixed pattern)");
  }
  if (mixer.heads > 1 && a.dim % mixer.heads != 0) {
    throw InputError(fmt::format("{}: expected heads that divide dim = {}, found {}", where, a.dim, mixer.heads));
  }
  plan.head_width = a.dim / mixer.heads;
  if (mixer.kind == MixerKind::convolution) {
    plan.plan = mixer::make_convolution_plan(a.tokens, plan.vertices - a.tokens, mixer.taps, budget);
    return plan;
  }
  const bool scored = mixer.kind == MixerKind::attention || mixer.kind == MixerKind::linformer;
  if (scored) {
    check_kernel(a, mixer, where);
    plan.rule.kernel = mixer.kernel;
    plan.rule.normalised = mixer.normalised;
    plan.rule.sink = mixer.sink && mixer.normalised ? mixer::Sink::trained : mixer::Sink::none;
    plan.rule.eps = mixer.eps;
    plan.rule.top_k = mixer.top_k;
    plan.rule.scale = mixer.kernel.name == "softmax" ? 1 / std::sqrt(static_cast<double>(plan.head_width)) : 1;
  }
  if (mixer.kind == MixerKind::linformer) {
    make_linformer(plan);
    return plan;
  }
  if (scored && mixer.relative.scheme == RelativeScheme::rotary && plan.head_width % 2 != 0) {
    throw InputError(
        fmt::format("{}: expected an even head width for rotary positions, found {}", where, plan.head_width));
  }
  if (scored && mixer.relative.scheme == RelativeScheme::rotary && plan.vertices > plan.tokens &&
      !depends_on_dot_alone(mixer.kernel, plan.head_width))
    throw InputError(where + ": expected a kernel of dot(x,y) alone for rotary positions beside registers");
  if (scored && mixer.relative.scheme == RelativeScheme::alibi)
    plan.rule.slopes = make_slopes(mixer.heads);
  plan.relations = architecture::make_relations(a, mixer, budget); // the plan's exact order of summation rests on them
  plan.plan = mixer::make_plan(plan.relations, budget);
  plan.relative_colours = plan.relations.front().relative_count();
  plan.matrix_colours = count_matrix_colours(plan.relations);
  if (scored) {
    const bool table = mixer.relative.scheme == RelativeScheme::learned || mixer.relative.scheme == RelativeScheme::t5;
    plan.bias_columns = table                     ? plan.matrix_colours * plan.relative_colours
                        : plan.matrix_colours > 1 ? plan.matrix_colours
                                                  : 0;
  } else if (mixer.kind == MixerKind::sum || mixer.kind == MixerKind::mean || mixer.kind == MixerKind::bias) {
    if (mixer.kind == MixerKind::mean) { // attention whose scores are 0: its denominator takes both
      plan.rule.sink = mixer.sink ? mixer::Sink::trained : mixer::Sink::none;
      plan.rule.eps = mixer.eps;
    }
    plan.weight_columns = plan.matrix_colours > 1 ? plan.matrix_colours : 0;
  }
  return plan;
}

} // namespace sightline::train

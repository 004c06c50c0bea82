#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/mixer/cpu/call_parts.hpp"
#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/mixer/cpu/heads.hpp"
#include "sightline/mixer/cpu/pool.hpp"
#include "sightline/mixer/cpu/slices.hpp"
#include "sightline/mixer/cpu/wrapped_call.hpp"
#include "sightline/mixer/kernel_function.hpp"

namespace sightline::mixer::cpu {
namespace {

using attention_kernel::Expression;
using attention_kernel::Kernel;
using attention_kernel::Op;

bool mentions(const Expression& e, char name) {
  if (e->op == Op::variable)
    return e->name == name;
  return std::any_of(e->children.begin(), e->children.end(), [&](const Expression& c) { return mentions(c, name); });
}

/// A vector times or over a number.
bool is_scaled(const Expression& e) {
  const auto number = [](const Expression& c) { return !c->is_vector && is_constant(c); };
  return (e->op == Op::multiply && (number(e->children[0]) || number(e->children[1]))) ||
         (e->op == Op::divide && number(e->children[1]));
}

/// alpha x + beta y keeps its form when x and y are replaced.
bool is_linear(const Expression& e) {
  switch (e->op) {
  case Op::variable:
    return true;
  case Op::negate:
  case Op::add:
  case Op::subtract:
    return std::all_of(e->children.begin(), e->children.end(), is_linear);
  case Op::multiply:
  case Op::divide:
    return is_scaled(e) && (is_linear(e->children[0]) || is_linear(e->children[1]));
  default:
    return false;
  }
}

/// Replaces f(x) by x and g(y) by y throughout, if there is one f and one g.
class Replacer {
public:
  Expression replaced(const Expression& e) {
    if (!possible || is_constant(e))
      return e;
    if (e->is_vector) {
      const bool x = mentions(e, 'x'), y = mentions(e, 'y');
      if (x != y)
        return replace_side(e, x ? 'x' : 'y');
      if (e->op != Op::negate && e->op != Op::add && e->op != Op::subtract && !is_scaled(e)) {
        possible = false; // entries of x and y meet
        return e;
      }
    }
    std::vector<Expression> children;
    for (const Expression& child : e->children)
      children.push_back(replaced(child));
    return attention_kernel::make_node(e->op, std::move(children));
  }
  bool possible = true;
  Expression x, y; ///< f and g; null where the variable itself stands

private:
  Expression replace_side(const Expression& e, char name) {
    Expression& known = name == 'x' ? x : y;
    bool& seen = name == 'x' ? seen_x_ : seen_y_;
    const bool itself = is_linear(e);
    if (seen && (itself != !known || (known && !equal(known, e))))
      possible = false;
    seen = true;
    if (itself)
      return e;
    known = e;
    return attention_kernel::make_variable(name);
  }
  bool seen_x_ = false, seen_y_ = false;
};

Expression rename(const Expression& e, char from, char to) {
  if (e->op == Op::variable)
    return attention_kernel::make_variable(e->name == from ? to : e->name);
  if (e->children.empty())
    return e;
  std::vector<Expression> children;
  for (const Expression& child : e->children)
    children.push_back(rename(child, from, to));
  return attention_kernel::make_node(e->op, std::move(children));
}

Kernel make_kernel(const Expression& e) {
  Kernel kernel;
  kernel.name.clear();
  kernel.text = print_expression(e);
  return kernel;
}

/// f and g as kernels f(x).y and g(x).y: their derivative by y is the map, that by x its gradient when y is what comes
/// back.
struct Mapping {
  Kernel given, kernel;
  std::int64_t width = 0;
  std::optional<Kernel> of_query, of_key;
};

std::optional<Mapping> make_mapping(const Kernel& kernel, std::int64_t width) {
  Replacer replacer;
  const Expression reduced = replacer.replaced(to_expression(kernel, static_cast<std::size_t>(width)));
  if (!replacer.possible || (!replacer.x && !replacer.y))
    return std::nullopt;
  const auto along = [](const Expression& e) {
    return make_kernel(attention_kernel::make_node(Op::dot, {e, attention_kernel::make_variable('y')}));
  };
  Mapping mapping{kernel, make_kernel(reduced), width, {}, {}};
  if (!find_kernel_function(mapping.kernel, width)->scalar_program())
    return std::nullopt;
  if (replacer.x)
    mapping.of_query = along(replacer.x);
  if (replacer.y)
    mapping.of_key = along(rename(replacer.y, 'y', 'x'));
  return mapping;
}

/// Kept for the kernels that a thread used last, those without one too.
std::optional<Mapping> find_mapping(const Kernel& kernel, std::int64_t width) {
  struct Entry {
    Kernel kernel;
    std::int64_t width;
    std::optional<Mapping> mapping;
  };
  constexpr std::size_t most_entries = 8;
  thread_local std::vector<Entry> recent;
  for (const Entry& entry : recent) {
    if (entry.width == width && entry.kernel == kernel)
      return entry.mapping;
  }
  if (recent.size() == most_entries)
    recent.erase(recent.begin());
  recent.push_back({kernel, width, make_mapping(kernel, width)});
  return recent.back().mapping;
}

/// f as steps of the kernels, from the kernel f(x).y: what its product's left side takes.
template <class Real> class MapNumbers {
public:
  MapNumbers(const Kernel& kernel, std::int64_t width) {
    const auto function = find_kernel_function(kernel, width);
    const std::int32_t last = function->steps()[static_cast<std::size_t>(function->factor())].left;
    for (std::int32_t s = 0; s <= last; ++s)
      places_.push_back(translate(function->steps()[static_cast<std::size_t>(s)]));
    for (std::size_t s = 0; s < steps_.size(); ++s)
      steps_[s].constants = rows_[s].empty() ? nullptr : rows_[s].data();
    map_.steps = steps_.data();
    map_.count = static_cast<int>(steps_.size());
    map_.width = width;
    map_.padded = (width + 15) / 16 * 16;
    constexpr std::int64_t at_once = 512; // numbers of a step that stay in the first cache
    map_.rows = std::max<std::int64_t>(at_once / map_.padded, 1);
  }
  [[nodiscard]] const RowMap<Real>& map() const { return map_; }
  [[nodiscard]] std::size_t numbers() const { return static_cast<std::size_t>(2 * map_.count * map_.rows * map_.padded); }

private:
  std::int32_t push(RowStepKind kind, ProgramStep<Real> step, std::vector<Real> constants = {}) {
    steps_.push_back({kind, step, nullptr});
    rows_.push_back(std::move(constants));
    return static_cast<std::int32_t>(steps_.size()) - 1;
  }
  std::int32_t translate(const KernelFunction::Step& from) {
    ProgramStep<Real> step;
    step.value = static_cast<Real>(from.value);
    step.left = from.left < 0 ? -1 : places_[static_cast<std::size_t>(from.left)];
    step.right = from.right < 0 ? -1 : places_[static_cast<std::size_t>(from.right)];
    switch (from.op) {
    case Op::variable:
      return push(RowStepKind::given, step);
    case Op::number:
    case Op::literal_vector:
      return push(RowStepKind::constant, step, {from.constants.begin(), from.constants.end()});
    case Op::dot:
    case Op::norm2:
    case Op::norm: {
      if (from.op != Op::dot)
        step.right = step.left;
      const std::int32_t product = push(RowStepKind::dot, step);
      return from.op == Op::norm ? push(RowStepKind::entries, {Operation::sqrt, product}) : product;
    }
    case Op::power:
      if (step.right >= 0)
        return push(RowStepKind::power, step);
      [[fallthrough]];
    default:
      step.operation = find_operation(from.op).value();
      return push(RowStepKind::entries, step);
    }
  }
  std::vector<std::int32_t> places_; // of the function's steps
  std::vector<RowStep<Real>> steps_;
  std::vector<std::vector<Real>> rows_;
  RowMap<Real> map_;
};

/// Of queries and keys under their maps, and of their gradients.
template <class Real> using MapRoom = Copies<Real, struct MappedNumbers>;

/// Rows [head][token][width] of one batch element under a map, in `room`; without a map the rows as given.
template <class Real> class MappedRows {
public:
  MappedRows(const std::optional<Kernel>& map, const Engine<Real>& engine, View<const Real> from, std::int64_t heads,
             std::int64_t tokens, std::int64_t width, Real scale, int threads, MapRoom<Real>& room)
      : engine_(engine), from_(from), heads_(heads), tokens_(tokens), width_(width), scale_(scale), threads_(threads),
        room_(room) {
    if (!map)
      return;
    map_.emplace(*map, width);
    numbers_ = room_.take(true, size());
    for_rows([&](Real* space, std::int64_t h, std::int64_t t, std::int64_t count) {
      engine_.map_rows(map_->map(), from_.at(0, h, t), from_.token_stride, scale_, count,
                       numbers_ + (h * tokens_ + t) * width_, space);
    });
  }
  [[nodiscard]] View<const Real> view() const {
    return numbers_ == nullptr ? from_ : View<const Real>{numbers_, 0, tokens_ * width_, width_};
  }
  /// Where the gradient of the rows is to be written: a place of its own, or `to` itself.
  [[nodiscard]] View<Real> gradient(const View<Real>& to) {
    if (numbers_ == nullptr || to.data == nullptr)
      return to;
    gradients_ = room_.take(true, size());
    return {gradients_, 0, tokens_ * width_, width_};
  }
  /// From there to `to`.
  void turn_back(const View<Real>& to) {
    if (gradients_ == nullptr)
      return;
    for_rows([&](Real* space, std::int64_t h, std::int64_t t, std::int64_t count) {
      engine_.map_back(map_->map(), from_.at(0, h, t), from_.token_stride, scale_, count,
                       gradients_ + (h * tokens_ + t) * width_, to.at(0, h, t), to.token_stride, space);
    });
  }

private:
  [[nodiscard]] std::int64_t size() const { return heads_ * tokens_ * width_; }
  template <class Work> void for_rows(Work&& work) {
    constexpr std::int64_t rows = 64;
    const std::int64_t parts = (tokens_ + rows - 1) / rows;
    std::vector<std::vector<Real>> spaces(static_cast<std::size_t>(threads_), std::vector<Real>(map_->numbers()));
    run_tasks(heads_ * parts, threads_, [&](std::int64_t task, int worker) {
      const std::int64_t first = task % parts * rows;
      work(spaces[static_cast<std::size_t>(worker)].data(), task / parts, first, std::min(rows, tokens_ - first));
    });
  }
  const Engine<Real>& engine_;
  View<const Real> from_;
  std::int64_t heads_, tokens_, width_;
  Real scale_;
  int threads_;
  std::optional<MapNumbers<Real>> map_;
  MapRoom<Real>& room_;
  Real *numbers_ = nullptr, *gradients_ = nullptr;
};

} // namespace

template <class Real>
bool attend_mapped(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                   const AttentionOutputs<Real>& out, const AttentionGradients<Real>* gradients,
                   const Execution& execution) {
  if (!std::isfinite(rule.scale) || (!rule.kernel.name.empty() && rule.kernel.name != "elu1"))
    return false;
  const std::optional<Mapping> mapping = find_mapping(rule.kernel, shape.width);
  if (!mapping)
    return false;
  AttentionRule inner = rule;
  inner.kernel = mapping->kernel;
  if (mapping->of_query)
    inner.scale = 1; // f takes the scaled query
  const int threads = std::max(execution.threads, 1);
  const Engine<Real>& engine = find_engine<Real>(execution.instructions);
  // Few heads at a time, where all have one relation: what is mapped, and its gradients, stay small beside the outputs.
  constexpr std::int64_t most_numbers = std::int64_t{1} << 19;
  const std::int64_t group = shape.heads / shape.key_heads, per_key_head = (group * shape.readers + shape.reads) * shape.width;
  const std::int64_t at_once =
      plan.relation_count() > 1
          ? shape.key_heads
          : std::clamp<std::int64_t>(most_numbers / std::max<std::int64_t>(per_key_head, 1),
                                     std::min<std::int64_t>(threads, shape.key_heads), shape.key_heads);
  return for_slices(plan, shape, in, out, gradients, at_once, [&](const Slice<Real>& slice) {
    if (!rule.slopes.empty())
      inner.slopes.assign(rule.slopes.begin() + slice.first_head,
                          rule.slopes.begin() + slice.first_head + slice.shape.heads);
    const std::int64_t of_queries = slice.shape.heads * shape.readers * shape.width,
                       of_keys = slice.shape.key_heads * shape.reads * shape.width;
    MapRoom<Real> room(((mapping->of_query ? of_queries : 0) + (mapping->of_key ? of_keys : 0)) * (gradients == nullptr ? 1 : 2));
    MappedRows<Real> queries(mapping->of_query, engine, slice.in.query, slice.shape.heads, shape.readers, shape.width,
                             static_cast<Real>(rule.scale), threads, room);
    MappedRows<Real> keys(mapping->of_key, engine, slice.in.key, slice.shape.key_heads, shape.reads, shape.width,
                          Real(1), threads, room);
    AttentionInputs<Real> mapped = slice.in;
    mapped.query = queries.view();
    mapped.key = keys.view();
    if (gradients == nullptr)
      return cpu::attend(plan, inner, slice.shape, mapped, slice.out, execution);
    AttentionGradients<Real> back = slice.gradients;
    back.query = queries.gradient(slice.gradients.query);
    back.key = keys.gradient(slice.gradients.key);
    if (!cpu::attend_backward(plan, inner, slice.shape, mapped, slice.out, back, execution))
      return false;
    queries.turn_back(slice.gradients.query);
    keys.turn_back(slice.gradients.key);
    return true;
  });
}

template bool attend_mapped(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<float>&,
                            const AttentionOutputs<float>&, const AttentionGradients<float>*, const Execution&);
template bool attend_mapped(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<double>&,
                            const AttentionOutputs<double>&, const AttentionGradients<double>*, const Execution&);

} // namespace sightline::mixer::cpu

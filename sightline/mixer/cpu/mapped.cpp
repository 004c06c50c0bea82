#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "sightline/attention_kernel/build.hpp"
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

/// Rows [head][token][width] of one batch element under a map; without a map the rows as given.
template <class Real> class MappedRows {
public:
  MappedRows(const std::optional<Kernel>& map, View<const Real> from, std::int64_t heads, std::int64_t tokens,
             std::int64_t width, Real scale, int threads)
      : from_(from), heads_(heads), tokens_(tokens), width_(width), scale_(scale), threads_(threads) {
    if (!map && scale == Real(1))
      return;
    if (map)
      function_ = find_kernel_function(*map, width);
    numbers_.resize(static_cast<std::size_t>(heads * tokens * width));
    const std::vector<Real> zero(static_cast<std::size_t>(width), Real(0));
    for_rows([&](Space& space, std::int64_t h, std::int64_t t) {
      Real* const to = numbers_.data() + (h * tokens_ + t) * width_;
      scaled(space, h, t);
      if (function_ == nullptr)
        std::copy_n(space.row.begin(), width_, to);
      else
        function_->differentiate(space.row.data(), zero.data(), Real(1), Real(0), space.other.data(), to, space.work);
    });
  }
  [[nodiscard]] View<const Real> view() const {
    return numbers_.empty() ? from_ : View<const Real>{numbers_.data(), 0, tokens_ * width_, width_};
  }
  /// Where the gradient of the rows is to be written: a place of its own, or `to` itself.
  [[nodiscard]] View<Real> gradient(const View<Real>& to) {
    if (numbers_.empty() || to.data == nullptr)
      return to;
    gradients_.resize(numbers_.size());
    return {gradients_.data(), 0, tokens_ * width_, width_};
  }
  /// From there to `to`.
  void turn_back(const View<Real>& to) {
    if (gradients_.empty())
      return;
    for_rows([&](Space& space, std::int64_t h, std::int64_t t) {
      const Real* const back = gradients_.data() + (h * tokens_ + t) * width_;
      Real* const row = to.at(0, h, t);
      if (function_ == nullptr) {
        std::transform(back, back + width_, row, [&](Real g) { return g * scale_; });
        return;
      }
      // Nothing comes back from what nobody reads, whatever it holds.
      if (std::all_of(back, back + width_, [](Real g) { return g == Real(0); })) {
        std::fill_n(row, width_, Real(0));
        return;
      }
      scaled(space, h, t);
      function_->differentiate(space.row.data(), back, Real(1), Real(0), space.other.data(), space.unused.data(),
                               space.work);
      std::transform(space.other.begin(), space.other.end(), row, [&](Real g) { return g * scale_; });
    });
  }

private:
  struct Space {
    std::vector<Real> row, other, unused;
    KernelFunction::Workspace<Real> work;
  };
  void scaled(Space& space, std::int64_t h, std::int64_t t) const {
    std::transform(from_.at(0, h, t), from_.at(0, h, t) + width_, space.row.begin(),
                   [&](Real x) { return scale_ * x; });
  }
  template <class Work> void for_rows(Work&& work) {
    constexpr std::int64_t rows = 64;
    const auto size = static_cast<std::size_t>(width_);
    std::vector<Space> spaces(static_cast<std::size_t>(threads_));
    for (Space& space : spaces)
      space.row = space.other = space.unused = std::vector<Real>(size);
    run_tasks((heads_ * tokens_ + rows - 1) / rows, threads_, [&](std::int64_t task, int worker) {
      for (std::int64_t k = task * rows; k < std::min((task + 1) * rows, heads_ * tokens_); ++k)
        work(spaces[static_cast<std::size_t>(worker)], k / tokens_, k % tokens_);
    });
  }
  View<const Real> from_;
  std::int64_t heads_, tokens_, width_;
  Real scale_;
  int threads_;
  std::shared_ptr<const KernelFunction> function_;
  std::vector<Real> numbers_, gradients_;
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
  inner.scale = 1;
  const int threads = std::max(execution.threads, 1);
  return for_slices(plan, shape, in, out, gradients, shape.key_heads, [&](const Slice<Real>& slice) {
    MappedRows<Real> queries(mapping->of_query, slice.in.query, shape.heads, shape.readers, shape.width,
                             static_cast<Real>(rule.scale), threads);
    MappedRows<Real> keys(mapping->of_key, slice.in.key, shape.key_heads, shape.reads, shape.width, Real(1), threads);
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

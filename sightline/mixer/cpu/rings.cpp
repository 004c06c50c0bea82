#include "sightline/mixer/cpu/rings.hpp"

#include <algorithm>

#include "sightline/mixer/cpu/call.hpp"
#include "sightline/mixer/cpu/slices.hpp"

namespace sightline::mixer::cpu {
namespace {

/// Token t stands where token `tokens` - 1 - t was.
template <class T> View<T> mirror(View<T> view, std::int64_t tokens) {
  if (view.data != nullptr)
    view.data += (tokens - 1) * view.token_stride;
  view.token_stride = -view.token_stride;
  return view;
}

template <class Real> class RingsBackward {
public:
  RingsBackward(const Plan& plan, const AttentionRule& rule, const std::vector<Tiles>& tiles, const Shape& shape,
                const Execution& execution)
      : plan_(plan), rule_(rule), tiles_(tiles), engine_(find_engine<Real>(execution.instructions)),
        inner_(execution), n_(shape.readers), width_(shape.width), value_width_(shape.value_width) {
    inner_.exact = false;
  }

  [[nodiscard]] bool run(const Slice<Real>& slice) {
    if (!pass(slice, slice.in, slice.out, slice.gradients, false))
      return false;
    const bool reflects = plan_.order().kind == SummationOrder::Kind::dihedral;
    if (reflects && !run_mirrored(slice))
      return false;
    const AttentionGradients<Real>& to = slice.gradients;
    make_canonical(to.query, slice.shape.heads, width_);
    if (!reflects) {
      make_canonical(to.key, slice.shape.key_heads, width_);
      make_canonical(to.value, slice.shape.key_heads, value_width_);
    }
    return true;
  }

private:
  [[nodiscard]] bool pass(const Slice<Real>& slice, const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                          const AttentionGradients<Real>& gradients, bool add_query) const {
    CallPart<Real> part;
    part.first_head = slice.first_head;
    part.by_relation = &tiles_;
    part.add_query = add_query;
    Call<Real> call(plan_, rule_, slice.shape, in, out, inner_, part);
    if (!call.prepare())
      return false;
    call.backward(gradients);
    return true;
  }

  /// The other side of every reader. Keys and values in turn where they would need too much memory together.
  [[nodiscard]] bool run_mirrored(const Slice<Real>& slice) {
    constexpr std::int64_t most_bytes = std::int64_t{16} << 20;
    const Shape& s = slice.shape;
    AttentionInputs<Real> in = slice.in;
    in.query = mirror(in.query, n_);
    in.key = mirror(in.key, n_);
    in.value = mirror(in.value, n_);
    const std::int64_t per_token = s.key_heads * n_ * static_cast<std::int64_t>(sizeof(Real));
    const bool together = per_token * (width_ + value_width_) <= most_bytes;
    const std::int64_t numbers = s.key_heads * n_ * (together ? width_ + value_width_ : std::max(width_, value_width_));
    Copies<Real, RingsBackward> copies(numbers + 2 * s.heads * n_);
    Real *const space = copies.take(true, numbers), *const statistics = copies.take(true, 2 * s.heads * n_);
    mirror_statistics(slice, statistics);
    AttentionOutputs<Real> out = slice.out;
    out.out = mirror(out.out, n_);
    out.statistics = statistics;
    AttentionGradients<Real> to = slice.gradients;
    to.sink = nullptr; // was complete on the first side
    to.out = mirror(to.out, n_);
    const View<Real> query = mirror(to.query, n_);
    const auto lay = [&](bool wanted, std::int64_t before, std::int64_t width) {
      return wanted ? View<Real>{space + before * s.key_heads * n_, 0, n_ * width, width} : View<Real>{};
    };
    for (const bool values : {true, false}) {
      if (together && !values)
        break;
      const bool with_key = (together || !values) && slice.gradients.key.data != nullptr;
      const bool with_value = values && slice.gradients.value.data != nullptr;
      to.query = values ? query : View<Real>{};
      to.key = lay(with_key, 0, width_);
      to.value = lay(with_value, together ? width_ : 0, value_width_);
      if (!pass(slice, in, out, to, true))
        return false;
      add_mirrored(to.key, slice.gradients.key, s.key_heads, width_);
      add_mirrored(to.value, slice.gradients.value, s.key_heads, value_width_);
    }
    return true;
  }

  void mirror_statistics(const Slice<Real>& slice, Real* to) const {
    for (std::int64_t h = 0; h < slice.shape.heads; ++h) {
      const Real* const from = slice.out.statistics + h * n_ * 2;
      for (std::int64_t i = 0; i < n_; ++i)
        std::copy_n(from + i * 2, 2, to + (h * n_ + n_ - 1 - i) * 2);
    }
  }

  static constexpr std::int64_t rows_of_task = 1024;
  template <class Work> void for_rows(std::int64_t heads, Work work) const {
    const std::int64_t parts = (n_ + rows_of_task - 1) / rows_of_task;
    run_tasks(heads * parts, std::max(inner_.threads, 1), [&](std::int64_t task, int) {
      const std::int64_t first = task % parts * rows_of_task, last = std::min(first + rows_of_task, n_);
      for (std::int64_t t = first; t < last; ++t)
        work(task / parts, t);
    });
  }
  void make_canonical(const View<Real>& to, std::int64_t heads, std::int64_t width) const {
    if (to.data != nullptr)
      for_rows(heads, [&](std::int64_t h, std::int64_t t) { engine_.make_canonical(to.at(0, h, t), width); });
  }
  void add_mirrored(const View<Real>& from, const View<Real>& to, std::int64_t heads, std::int64_t width) const {
    if (from.data == nullptr)
      return;
    for_rows(heads, [&](std::int64_t h, std::int64_t t) {
      const Real* const other = from.at(0, h, n_ - 1 - t);
      Real* const row = to.at(0, h, t);
      engine_.add_canonical(row, other, width);
    });
  }

  const Plan& plan_;
  const AttentionRule& rule_;
  const std::vector<Tiles>& tiles_;
  const Engine<Real>& engine_;
  Execution inner_;
  std::int64_t n_, width_, value_width_;
};

} // namespace

template <class Real>
bool attend_rings_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                           const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                           const AttentionGradients<Real>& gradients, const Execution& execution) {
  const std::vector<Tiles>* const tiles = find_exact_back(plan, find_compiled(plan));
  if (tiles == nullptr)
    return false;
  constexpr std::int64_t most_numbers = std::int64_t{1} << 18; // gradients of a slice stay near the second cache
  const std::int64_t per_key_head = std::max<std::int64_t>(shape.readers * (shape.width + shape.value_width), 1);
  const std::int64_t at_once = std::min(std::max<std::int64_t>(most_numbers / per_key_head, execution.threads), shape.key_heads);
  RingsBackward<Real> rings(plan, rule, *tiles, shape, execution);
  return for_slices(plan, shape, in, out, &gradients, std::max<std::int64_t>(at_once, 1),
                    [&](const Slice<Real>& slice) { return rings.run(slice); });
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template bool attend_rings_backward(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,   \
                                      const AttentionOutputs<Real>&, const AttentionGradients<Real>&,                  \
                                      const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu

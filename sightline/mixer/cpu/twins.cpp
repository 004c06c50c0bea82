#include "sightline/mixer/cpu/twins.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>
#include <utility>

#include "sightline/mixer/cpu/call.hpp"
#include "sightline/mixer/cpu/slices.hpp"

namespace sightline::mixer::cpu {
namespace {

/// Sorts a few numbers that differ by counting, for each, the smaller ones: no branch depends on the numbers. order: of
/// first .. first + count - 1. False where there are too many, or equal ones.
template <class Real, class Number>
bool rank_small(const Engine<Real>& engine, std::int64_t first, std::int64_t count, Number number, std::int32_t* order) {
  if (count > most_ranked)
    return false;
  Real keys[most_ranked];
  std::int32_t ranks[most_ranked];
  bool taken[most_ranked] = {};
  for (std::int64_t k = 0; k < count; ++k)
    keys[k] = number(first + k);
  engine.rank_keys(keys, static_cast<int>(count), ranks);
  for (std::int64_t k = 0; k < count; ++k) {
    if (taken[ranks[k]])
      return false;
    taken[ranks[k]] = true;
    order[ranks[k]] = static_cast<std::int32_t>(first + k);
  }
  return true;
}

} // namespace

template <class Real>
std::vector<std::int32_t> sort_by_content(const Plan& plan, View<const Real> key, std::int64_t width,
                                          View<const Real> value, std::int64_t value_width, std::int64_t batch,
                                          std::int64_t head, const Engine<Real>& engine) {
  using Bits = std::conditional_t<sizeof(Real) == 4, std::uint32_t, std::uint64_t>;
  const std::int64_t n = plan.reads();
  const auto number = [&](std::int64_t j) { return *key.at(batch, head, j); };
  const auto less = [&](const auto& a, const auto& b) {
    if (a.first != b.first)
      return a.first < b.first;
    const int keys = std::memcmp(key.at(batch, head, a.second), key.at(batch, head, b.second),
                                 sizeof(Real) * static_cast<std::size_t>(width));
    if (keys != 0)
      return keys < 0;
    return std::memcmp(value.at(batch, head, a.second), value.at(batch, head, b.second),
                       sizeof(Real) * static_cast<std::size_t>(value_width)) < 0;
  };
  const std::vector<std::uint32_t>& classes = plan.order().twin_class;
  std::vector<std::int32_t> order(static_cast<std::size_t>(n));
  std::vector<std::pair<Bits, std::int32_t>> items;
  for (std::int64_t first = 0; first < n;) {
    std::int64_t last = classes.empty() ? n : first + 1;
    while (last < n && classes[static_cast<std::size_t>(last)] == classes[static_cast<std::size_t>(first)])
      ++last;
    if (!rank_small(engine, first, last - first, number, order.data() + first)) {
      items.clear();
      for (std::int64_t j = first; j < last; ++j)
        items.emplace_back(std::bit_cast<Bits>(number(j)), static_cast<std::int32_t>(j));
      std::sort(items.begin(), items.end(), less);
      std::transform(items.begin(), items.end(), order.begin() + first, [](const auto& item) { return item.second; });
    }
    first = last;
  }
  return order;
}

template std::vector<std::int32_t> sort_by_content(const Plan&, View<const float>, std::int64_t, View<const float>,
                                                   std::int64_t, std::int64_t, std::int64_t, const Engine<float>&);
template std::vector<std::int32_t> sort_by_content(const Plan&, View<const double>, std::int64_t, View<const double>,
                                                   std::int64_t, std::int64_t, std::int64_t, const Engine<double>&);

namespace {

/// Sizes of the classes, which are intervals.
std::vector<std::int64_t> count_members(const std::vector<std::uint32_t>& classes) {
  std::vector<std::int64_t> sizes(classes.empty() ? 0 : classes.back() + 1, 0);
  for (const std::uint32_t c : classes)
    ++sizes[c];
  return sizes;
}

/// The readers of a read belong to one class: where classes change places, sums over two of them would change order.
bool columns_keep_to_one_class(const Plan& plan, const std::vector<std::uint32_t>& classes,
                               const std::vector<std::int64_t>& sizes) {
  std::vector<layout::ColouredRun> row;
  for (std::size_t relation = 0; relation < plan.relation_count(); ++relation) {
    std::vector<std::int64_t> reader(sizes.size(), -1);
    std::int64_t first = 0;
    for (std::size_t c = 0; c < sizes.size(); first += sizes[c++]) { // twins have the same row
      plan.row(relation, first, row);
      for (const layout::ColouredRun& run : row) {
        for (std::int64_t j = run.first; j <= run.last; j += run.step) {
          std::int64_t& known = reader[classes[static_cast<std::size_t>(j)]];
          if (known >= 0 && known != static_cast<std::int64_t>(c))
            return false;
          known = static_cast<std::int64_t>(c);
        }
      }
    }
  }
  return true;
}

/// Null: there is no order of sums over readers.
const std::vector<Tiles>* find_tiles(const Plan& plan, const CompiledPlan& compiled) {
  constexpr std::int64_t least_class = 16; // a tile per class must be worth it
  const SummationOrder& order = plan.order();
  std::call_once(compiled.twins_once, [&] {
    const std::vector<std::uint32_t>& classes = order.twin_class;
    if (classes.empty() || order.classes_are_fixed) {
      compiled.twins_stand = true;
      return;
    }
    const std::vector<std::int64_t> sizes = count_members(classes);
    if (!columns_keep_to_one_class(plan, classes, sizes))
      return;
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    if (*least == *most && tile_readers % *least == 0) { // tiles hold whole classes
      compiled.twins_stand = true;
    } else if (*least >= least_class) {
      for (std::size_t r = 0; r < plan.relation_count(); ++r)
        compiled.twins.push_back(compile_tiles(plan, r, Cut::tiles_only, &classes));
    }
  });
  return compiled.twins_stand ? &compiled.exact : compiled.twins.empty() ? nullptr : &compiled.twins;
}

} // namespace

template <class Real>
void copy_rows(const View<const Real>& from, std::int64_t batch, std::int64_t head,
               const std::vector<std::int32_t>& order, std::int64_t width, Real* to) {
  for (const std::int32_t token : order) {
    std::copy_n(from.at(batch, head, token), width, to);
    to += width;
  }
}

template <class Real> bool Call<Real>::copies_reads() const {
  constexpr std::int64_t few = 256;
  std::int64_t reads = 0, tiles = 0;
  for (const Tiles& each : *tiles_) {
    tiles += static_cast<std::int64_t>(each.tiles.size());
    for (const Tile& tile : each.tiles) {
      for (std::uint32_t s = tile.segments_begin; s < tile.segments_end; ++s)
        reads += each.segments[s].count;
    }
  }
  return reads > few * tiles;
}

template <class Real> void Call<Real>::sort_reads() {
  const std::int64_t chains = shape_.batch * shape_.key_heads, width = shape_.width, value_width = shape_.value_width;
  const bool copies = copies_reads();
  orders_.resize(static_cast<std::size_t>(chains));
  if (copies) {
    sorted_.emplace(chains * shape_.reads * (width + value_width));
    sorted_keys_ = sorted_->take(true, chains * shape_.reads * width);
    sorted_values_ = sorted_->take(true, chains * shape_.reads * value_width);
  }
  run_tasks(chains, workers_, [&](std::int64_t chain, int) {
    const std::int64_t b = chain / shape_.key_heads, h = chain % shape_.key_heads;
    auto& order = orders_[static_cast<std::size_t>(chain)];
    order = sort_by_content(plan_, in_.key, width, in_.value, value_width, b, h, *engine_);
    if (!copies)
      return;
    copy_rows(in_.key, b, h, order, width, sorted_keys_ + chain * shape_.reads * width);
    copy_rows(in_.value, b, h, order, value_width, sorted_values_ + chain * shape_.reads * value_width);
  });
}

/// A few heads at a time, whose sorted keys and values stay near the caches.
template <class Real> bool Call<Real>::forward_by_content() {
  if (!copies_reads()) {
    forward();
    return true;
  }
  constexpr std::int64_t most_numbers = std::int64_t{1} << 20;
  const std::int64_t per_key_head = std::max<std::int64_t>(shape_.reads * (shape_.width + shape_.value_width), 1);
  const std::int64_t at_once = std::min(std::max<std::int64_t>(most_numbers / per_key_head, workers_), shape_.key_heads);
  return for_slices<Real>(plan_, shape_, in_, out_, nullptr, std::max<std::int64_t>(at_once, 1),
                    [&](const Slice<Real>& slice) {
                      CallPart<Real> part;
                      part.first_head = slice.first_head;
                      Call<Real> call(plan_, rule_, slice.shape, slice.in, slice.out, execution_, part);
                      if (!call.prepare())
                        return false;
                      call.forward();
                      return true;
                    });
}

template <class Real> bool Call<Real>::find_in_place(const View<const Real>& grad_out) {
  const std::vector<Tiles>* const tiles = find_tiles(plan_, *compiled_);
  if (tiles == nullptr || common_.score != Score::dot || common_.weight == Weight::program)
    return false;
  const std::vector<std::uint32_t>& classes = plan_.order().twin_class;
  const auto begins = [&](std::int64_t v) { // a class, or everything behind the last
    return v == 0 || v == shape_.readers ||
           (!classes.empty() && classes[static_cast<std::size_t>(v)] != classes[static_cast<std::size_t>(v - 1)]);
  };
  for (const Tiles& each : *tiles) {
    for (const Tile& tile : each.tiles) {
      if (!begins(tile.first_reader) || !begins(tile.first_reader + tile.readers) || !reads_in_place(each, tile))
        return false;
    }
  }
  tiles_ = tiles;
  stays_in_place_ = true;
  const std::int64_t chains = shape_.batch * shape_.key_heads, rows = shape_.batch * shape_.heads;
  orders_.resize(static_cast<std::size_t>(chains));
  reader_orders_.resize(static_cast<std::size_t>(rows));
  run_tasks(chains + rows, workers_, [&](std::int64_t task, int) {
    if (task < chains) {
      orders_[static_cast<std::size_t>(task)] =
          sort_by_content(plan_, in_.key, shape_.width, in_.value, shape_.value_width, task / shape_.key_heads,
                          task % shape_.key_heads, *engine_);
      return;
    }
    task -= chains;
    reader_orders_[static_cast<std::size_t>(task)] =
        sort_by_content(plan_, in_.query, shape_.width, grad_out, shape_.value_width, task / shape_.heads,
                        task % shape_.heads, *engine_);
  });
  return true;
}

template <class Real>
bool attend_twins_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                           const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                           const AttentionGradients<Real>& gradients, const Execution& execution) {
  const std::vector<Tiles>* const tiles = find_tiles(plan, find_compiled(plan));
  if (tiles == nullptr)
    return false;
  const Engine<Real>& engine = find_engine<Real>(execution.instructions);
  const std::int64_t n = shape.readers, width = shape.width, value_width = shape.value_width;
  const std::int64_t group = shape.heads / shape.key_heads;
  constexpr std::int64_t most_numbers = std::int64_t{1} << 20; // copies of a slice stay near the caches
  const std::int64_t per_key_head = std::max<std::int64_t>(n * (width + value_width) * (2 * group + 2), 1);
  const std::int64_t at_once = std::clamp<std::int64_t>(most_numbers / per_key_head, 1, shape.key_heads);
  Execution inner = execution;
  inner.exact = false;
  Copies<Real, struct TwinsBackward> copies(at_once * n * (group * (2 * width + 2 * value_width + 2) + 2 * (width + value_width)));
  const auto allocate = [&](bool wanted, std::int64_t heads, std::int64_t w) {
    return copies.take(wanted, at_once * heads * n * w);
  };
  Real *const query = allocate(true, group, width), *const grad_out = allocate(true, group, value_width),
              *const result = allocate(true, group, value_width), *const key = allocate(true, 1, width),
              *const value = allocate(true, 1, value_width),
              *const grad_query = allocate(gradients.query.data != nullptr, group, width),
              *const grad_key = allocate(gradients.key.data != nullptr, 1, width),
              *const grad_value = allocate(gradients.value.data != nullptr, 1, value_width),
              *const statistics = allocate(true, group, 2);
  return for_slices(plan, shape, in, out, &gradients, at_once, [&](const Slice<Real>& slice) {
    const Shape& s = slice.shape;
    std::vector<std::vector<std::int32_t>> readers(static_cast<std::size_t>(s.heads)),
        reads(static_cast<std::size_t>(s.key_heads));
    const View<const Real> given_out{slice.out.out.data, slice.out.out.batch_stride, slice.out.out.head_stride,
                                     slice.out.out.token_stride};
    run_tasks(s.heads + s.key_heads, inner.threads, [&](std::int64_t h, int) {
      if (h >= s.heads) {
        h -= s.heads;
        auto& order = reads[static_cast<std::size_t>(h)];
        order = sort_by_content(plan, slice.in.key, width, slice.in.value, value_width, 0, h, engine);
        copy_rows(slice.in.key, 0, h, order, width, key + h * n * width);
        copy_rows(slice.in.value, 0, h, order, value_width, value + h * n * value_width);
        return;
      }
      auto& order = readers[static_cast<std::size_t>(h)];
      order = sort_by_content(plan, slice.in.query, width, slice.gradients.out, value_width, 0, h, engine);
      copy_rows(slice.in.query, 0, h, order, width, query + h * n * width);
      copy_rows(slice.gradients.out, 0, h, order, value_width, grad_out + h * n * value_width);
      copy_rows(given_out, 0, h, order, value_width, result + h * n * value_width);
      copy_rows({slice.out.statistics, 0, n * 2, 2}, 0, h, order, 2, statistics + h * n * 2);
    });
    const auto as_input = [&](const Real* of, std::int64_t w) { return View<const Real>{of, 0, n * w, w}; };
    const auto as_output = [&](Real* of, std::int64_t w) { return View<Real>{of, 0, n * w, w}; };
    AttentionInputs<Real> sorted = slice.in;
    sorted.query = as_input(query, width);
    sorted.key = as_input(key, width);
    sorted.value = as_input(value, value_width);
    const AttentionOutputs<Real> sorted_out{as_output(result, value_width), statistics, nullptr};
    AttentionGradients<Real> back = slice.gradients;
    back.out = as_input(grad_out, value_width);
    back.query = as_output(grad_query, width);
    back.key = as_output(grad_key, width);
    back.value = as_output(grad_value, value_width);
    Call<Real> call(plan, rule, s, sorted, sorted_out, inner, {slice.first_head, nullptr, nullptr, nullptr, tiles});
    if (!call.prepare())
      return false;
    call.backward(back);
    const auto put_back = [&](const Real* from, const View<Real>& to, std::int64_t w, std::int64_t h,
                              const std::vector<std::int32_t>& order) {
      const Real* row = from + h * n * w;
      for (std::size_t k = 0; from != nullptr && k < order.size(); ++k, row += w) {
        Real* const at = to.at(0, h, order[k]);
        std::copy_n(row, w, at);
        engine.make_canonical(at, w);
      }
    };
    run_tasks(s.heads + s.key_heads, inner.threads, [&](std::int64_t h, int) {
      if (h < s.heads) {
        put_back(grad_query, slice.gradients.query, width, h, readers[static_cast<std::size_t>(h)]);
        return;
      }
      h -= s.heads;
      put_back(grad_key, slice.gradients.key, width, h, reads[static_cast<std::size_t>(h)]);
      put_back(grad_value, slice.gradients.value, value_width, h, reads[static_cast<std::size_t>(h)]);
    });
    return true;
  });
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template void Call<Real>::sort_reads();                                                                              \
  template bool Call<Real>::forward_by_content();                                                                      \
  template bool Call<Real>::find_in_place(const View<const Real>&);                                                    \
  template void copy_rows(const View<const Real>&, std::int64_t, std::int64_t, const std::vector<std::int32_t>&,       \
                          std::int64_t, Real*);                                                                        \
  template bool attend_twins_backward(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,   \
                                      const AttentionOutputs<Real>&, const AttentionGradients<Real>&,                  \
                                      const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu

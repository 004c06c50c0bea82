// Maps of whole rows, f(x) of one query or key at a time: the entries of a few rows are the vectors that every step is
// run over, and backward in reverse.
#pragma once

#include "sightline/mixer/cpu/program.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

/// What every step has of `rows` rows, and the slopes: [step][row][padded].
template <class Real> class RowMapSpace {
public:
  RowMapSpace(const RowMap<Real>& map, Real* numbers)
      : size_(map.rows * map.padded), values_(numbers), slopes_(numbers + map.count * size_) {
    for (int s = 0; s < map.count; ++s) {
      const RowStep<Real>& step = map.steps[s];
      for (std::int64_t k = 0; step.kind == RowStepKind::constant && k < size_; ++k) {
        const std::int64_t entry = k % map.padded;
        value(s)[k] = step.constants == nullptr ? step.step.value : entry < map.width ? step.constants[entry] : Real(0);
      }
    }
  }
  [[nodiscard]] Real* value(int step) const { return values_ + step * size_; }
  [[nodiscard]] Real* slope(int step) const { return slopes_ + step * size_; }
  [[nodiscard]] std::int64_t size() const { return size_; }

private:
  std::int64_t size_;
  Real *values_, *slopes_;
};

/// Sum over a row's entries; what pads it is left out, whatever it holds.
template <class Real, class Term> SIGHTLINE_INLINE Real sum_entries(std::int64_t width, Term term) {
  constexpr int lanes = Lanes<Real>::count;
  Vec<Real> sum{};
  for (std::int64_t k = 0; k < width; k += lanes) {
    const Vec<Real> here = term(k);
    sum += width - k >= lanes ? here : select((std::uint64_t{1} << (width - k)) - 1, here, Vec<Real>{});
  }
  return add_lanes<Real>(sum);
}

template <class Real> SIGHTLINE_INLINE Vec<Real> power_of(Vec<Real> base, Vec<Real> exponent) {
  Vec<Real> out{};
  for (int lane = 0; lane < Lanes<Real>::count; ++lane) {
    out[lane] = sizeof(Real) == 4
                    ? Real(__builtin_powf(static_cast<float>(base[lane]), static_cast<float>(exponent[lane])))
                    : Real(__builtin_pow(static_cast<double>(base[lane]), static_cast<double>(exponent[lane])));
  }
  return out;
}

template <class Real>
SIGHTLINE_INLINE void run_map(const RowMap<Real>& map, const Real* from, std::ptrdiff_t stride, Real scale,
                              std::int64_t rows, const RowMapSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const int vectors = static_cast<int>(rows * map.padded / lanes);
  for (int s = 0; s < map.count; ++s) {
    const RowStep<Real>& step = map.steps[s];
    Real* const to = space.value(s);
    const Real* const left = step.step.left < 0 ? nullptr : space.value(step.step.left);
    const Real* const right = step.step.right < 0 ? left : space.value(step.step.right);
    switch (step.kind) {
    case RowStepKind::constant:
      break;
    case RowStepKind::given:
      for (std::int64_t r = 0; r < rows; ++r) {
        prefetch_far<Real>(from + (r + map.rows) * stride, map.width);
        std::int64_t k = 0;
        for (; k + lanes <= map.width; k += lanes)
          store<Real>(to + r * map.padded + k, splat<Real>(scale) * load<Real>(from + r * stride + k));
        for (; k < map.padded; ++k)
          to[r * map.padded + k] = k < map.width ? scale * from[r * stride + k] : Real(0);
      }
      break;
    case RowStepKind::entries:
      run_step<Real>(step.step, vectors, left, right, to);
      break;
    case RowStepKind::power:
      map_slots<Real>(vectors, left, right, to, [](Vec<Real> x, Vec<Real> y) { return power_of<Real>(x, y); });
      break;
    case RowStepKind::dot:
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = r * map.padded;
        const Vec<Real> sum = splat<Real>(sum_entries<Real>(
            map.width, [&](std::int64_t k) { return load<Real>(left + at + k) * load<Real>(right + at + k); }));
        for (std::int64_t k = 0; k < map.padded; k += lanes)
          store<Real>(to + at + k, sum);
      }
      break;
    }
  }
}

/// The slopes of all steps from that of the last. A number per row has its slope spread over the row's entries.
template <class Real>
SIGHTLINE_INLINE void reverse_map(const RowMap<Real>& map, std::int64_t rows, const RowMapSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  const int vectors = static_cast<int>(rows * map.padded / lanes);
  const auto slope = [&](int s) {
    return s < 0 || map.steps[s].kind == RowStepKind::constant ? nullptr : space.slope(s);
  };
  for (int s = map.count - 1; s >= 0; --s) {
    const RowStep<Real>& step = map.steps[s];
    if (step.kind == RowStepKind::given || step.kind == RowStepKind::constant)
      continue;
    const int of_right = step.step.right < 0 ? step.step.left : step.step.right;
    const StepSlots<Real> slots{space.value(step.step.left), space.value(of_right),  space.value(s),
                                space.slope(s),              slope(step.step.left), slope(step.step.right)};
    if (step.kind == RowStepKind::entries)
      reverse_step<Real>(step.step, vectors, slots);
    const auto add = [&](Real* to, std::int64_t at, Vec<Real> amount) {
      if (to != nullptr)
        store<Real>(to + at, load<Real>(to + at) + amount);
    };
    for (std::int64_t at = 0; step.kind == RowStepKind::power && at < rows * map.padded; at += lanes) {
      const Vec<Real> g = load<Real>(slots.slope + at), base = load<Real>(slots.left + at),
                      exponent = load<Real>(slots.right + at);
      add(slots.left_slope, at, g * exponent * power_of<Real>(base, exponent - splat<Real>(1)));
      add(slots.right_slope, at, g * load<Real>(slots.result + at) * logarithm<Real>(base));
    }
    for (std::int64_t r = 0; step.kind == RowStepKind::dot && r < rows; ++r) {
      const std::int64_t begin = r * map.padded;
      const Vec<Real> g = splat<Real>(
          sum_entries<Real>(map.width, [&](std::int64_t k) { return load<Real>(slots.slope + begin + k); }));
      for (std::int64_t at = begin; at < begin + map.padded; at += lanes) {
        add(slots.left_slope, at, g * load<Real>(slots.right + at));
        add(slots.right_slope, at, g * load<Real>(slots.left + at));
      }
    }
  }
}

/// to [count][width] = f(scale times every row).
template <class Real>
void map_rows(const RowMap<Real>& map, const Real* from, std::ptrdiff_t stride, Real scale, std::int64_t count,
              Real* to, Real* numbers) {
  const RowMapSpace<Real> space(map, numbers);
  for (std::int64_t first = 0; first < count; first += map.rows) {
    const std::int64_t rows = count - first < map.rows ? count - first : map.rows;
    run_map<Real>(map, from + first * stride, stride, scale, rows, space);
    const Real* const result = space.value(map.count - 1);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t k = 0; k < map.width; ++k)
        to[(first + r) * map.width + k] = result[r * map.padded + k];
    }
  }
}

/// d loss / d row from d loss / d f(scale row), `back` [count][width]. Nothing comes back from what nobody reads, whatever
/// it holds.
template <class Real>
void map_back(const RowMap<Real>& map, const Real* from, std::ptrdiff_t stride, Real scale, std::int64_t count,
              const Real* back, Real* to, std::ptrdiff_t to_stride, Real* numbers) {
  constexpr int lanes = Lanes<Real>::count;
  const RowMapSpace<Real> space(map, numbers);
  int given = 0;
  while (map.steps[given].kind != RowStepKind::given)
    ++given;
  for (std::int64_t first = 0; first < count; first += map.rows) {
    const std::int64_t rows = count - first < map.rows ? count - first : map.rows;
    run_map<Real>(map, from + first * stride, stride, scale, rows, space);
    for (std::int64_t k = 0; k < space.size() * map.count; ++k)
      space.slope(0)[k] = 0;
    Real* const seed = space.slope(map.count - 1);
    for (std::int64_t r = 0; r < rows; ++r) {
      prefetch_far<Real>(back + (first + r + map.rows) * map.width, map.width);
      for (std::int64_t k = 0; k < map.width; ++k)
        seed[r * map.padded + k] = back[(first + r) * map.width + k];
    }
    reverse_map<Real>(map, rows, space);
    for (std::int64_t r = 0; r < rows; ++r) {
      const Real *const row = back + (first + r) * map.width, *const slopes = space.slope(given) + r * map.padded;
      Real* const out = to + (first + r) * to_stride;
      bool any = false;
      std::int64_t k = 0;
      for (; k + lanes <= map.width; k += lanes)
        any |= any_differs<Real>(load<Real>(row + k), Vec<Real>{});
      for (; k < map.width; ++k)
        any |= row[k] != Real(0);
      if (!any) {
        for (k = 0; k < map.width; ++k)
          out[k] = 0;
        continue;
      }
      for (k = 0; k + lanes <= map.width; k += lanes)
        store<Real>(out + k, load<Real>(slopes + k) * splat<Real>(scale));
      for (; k < map.width; ++k)
        out[k] = slopes[k] * scale;
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD

// Kernels written as expressions: a short program in x.y, |x|^2, |y|^2 and |x - y|^2 (x the scaled query, y the key),
// run over a few vectors of pairs at a time, and backward in reverse.
#pragma once

#include "sightline/mixer/cpu/functions.hpp"
#include "sightline/mixer/cpu/weights.hpp"

namespace sightline::mixer::cpu::SIGHTLINE_SIMD {

inline constexpr int program_block = 32; ///< vectors that each step is run over at once

/// Values (or derivatives) of every slot: [slot][program_block] vectors.
template <class Real> struct ProgramSpace {
  Real *values, *slopes;
  explicit ProgramSpace(Arena& arena, const Program<Real>* program) {
    constexpr std::int64_t size = std::int64_t{program_block} * Lanes<Real>::count;
    const std::int64_t slots = program == nullptr ? 0 : program->first_step + program->count;
    values = arena.take<Real>(slots * size);
    slopes = arena.take<Real>(slots * size);
    if (program == nullptr)
      return;
    for (std::int64_t c = program_inputs; c < program->first_step; ++c) {
      for (std::int64_t k = 0; k < size; ++k)
        values[c * size + k] = program->constants[c - program_inputs];
    }
  }
  [[nodiscard]] Real* value(int slot, int k) const { return values + (slot * program_block + k) * Lanes<Real>::count; }
  [[nodiscard]] Real* slope(int slot, int k) const { return slopes + (slot * program_block + k) * Lanes<Real>::count; }
};

template <class Real, class Function>
SIGHTLINE_INLINE void map_slots(int count, const Real* left, const Real* right, Real* to, Function f) {
  constexpr int lanes = Lanes<Real>::count;
  for (int k = 0; k < count; ++k)
    store<Real>(to + k * lanes, f(load<Real>(left + k * lanes), load<Real>(right + k * lanes)));
}

/// One step over `count` vectors.
template <class Real>
__attribute__((noinline)) void run_step(const ProgramStep<Real>& step, int count, const Real* a, const Real* b,
                                        Real* to) {
  using V = Vec<Real>;
#define SIGHTLINE_CASE(name, expression)                                                                               \
  case Operation::name:                                                                                                \
    map_slots<Real>(count, a, b, to, [&]([[maybe_unused]] V x, [[maybe_unused]] V y) { return expression; });          \
    break;
  switch (step.operation) {
    SIGHTLINE_CASE(add, x + y)
    SIGHTLINE_CASE(subtract, x - y)
    SIGHTLINE_CASE(multiply, x * y)
    SIGHTLINE_CASE(divide, x / y)
    SIGHTLINE_CASE(negate, -x)
    SIGHTLINE_CASE(exp, exponential<Real>(x))
    SIGHTLINE_CASE(log, logarithm<Real>(x))
    SIGHTLINE_CASE(sqrt, square_root<Real>(x))
    SIGHTLINE_CASE(cosh, hyperbolic_cosine<Real>(x))
    SIGHTLINE_CASE(sinh, hyperbolic_sine<Real>(x))
    SIGHTLINE_CASE(cos, sine<Real>(x, true))
    SIGHTLINE_CASE(sin, sine<Real>(x, false))
    SIGHTLINE_CASE(tanh, hyperbolic_tangent<Real>(x))
    SIGHTLINE_CASE(sigmoid, logistic<Real>(x))
    SIGHTLINE_CASE(softplus, soft_plus<Real>(x))
    SIGHTLINE_CASE(relu, (x > V{} ? x : x <= V{} ? V{} : x))
    SIGHTLINE_CASE(elu, (x > V{} ? x : exponential_minus_one<Real>(x)))
    SIGHTLINE_CASE(abs, magnitude<Real>(x))
  case Operation::power:
    with_raising(step.value, [&](auto raised) SIGHTLINE_INLINE_HERE { map_slots<Real>(count, a, b, to, [&](V x, V) { return raised(x); }); });
    break;
  }
#undef SIGHTLINE_CASE
}

/// The steps, over `count` vectors; the inputs' slots are filled.
template <class Real>
SIGHTLINE_INLINE void run_program(const Program<Real>& program, int count, const ProgramSpace<Real>& space) {
  for (int s = 0; s < program.count; ++s) {
    const ProgramStep<Real>& step = program.steps[s];
    run_step<Real>(step, count, space.value(step.left, 0), space.value(step.right < 0 ? step.left : step.right, 0),
                   space.value(program.first_step + s, 0));
  }
}

/// The derivative of a function of one number at x, where it has the value y.
template <class Real, Operation operation>
SIGHTLINE_INLINE Vec<Real> derive([[maybe_unused]] const ProgramStep<Real>& step, Vec<Real> x, Vec<Real> y) {
  const Vec<Real> zero{}, one = splat<Real>(1);
  switch (operation) {
  case Operation::negate:
    return -one;
  case Operation::exp:
    return y;
  case Operation::log:
    return one / x;
  case Operation::sqrt:
    return y == zero ? zero : splat<Real>(Real(0.5)) / y;
  case Operation::cosh:
    return hyperbolic_sine<Real>(x);
  case Operation::sinh:
    return hyperbolic_cosine<Real>(x);
  case Operation::cos:
    return -sine<Real>(x, false);
  case Operation::sin:
    return sine<Real>(x, true);
  case Operation::tanh:
    return one - y * y;
  case Operation::sigmoid:
    return y * (one - y);
  case Operation::softplus:
    return logistic<Real>(x);
  case Operation::relu:
    return x > zero ? one : x <= zero ? zero : x;
  case Operation::elu:
    return x > zero ? one : exponential<Real>(x); // y + 1 would cancel
  case Operation::abs:
    return x > zero ? one : x < zero ? -one : x;
  default:
    return one;
  }
}

/// Values of a step's operands and result over some vectors, and their slopes; operands' slopes are added to, or written
/// where they hold nothing yet, or null where nobody asks for them.
template <class Real> struct StepSlots {
  const Real *left, *right, *result, *slope;
  Real *left_slope, *right_slope;
  bool writes_left = false, writes_right = false;
};
template <class Real>
__attribute__((noinline)) void reverse_step(const ProgramStep<Real>& step, int count, const StepSlots<Real>& slots) {
  constexpr int lanes = Lanes<Real>::count;
  const auto each = [&](Real* to, bool writes, auto&& f) {
    for (int k = 0; k < count && to != nullptr; ++k) {
      const std::ptrdiff_t at = k * lanes;
      const Vec<Real> slope = f(at, load<Real>(slots.slope + at));
      store<Real>(to + at, writes ? slope : load<Real>(to + at) + slope);
    }
  };
  const auto left = [&](auto&& f) { each(slots.left_slope, slots.writes_left, f); };
  const auto right = [&](auto&& f) { each(slots.right_slope, slots.writes_right, f); };
#define SIGHTLINE_CASE(name)                                                                                           \
  case Operation::name:                                                                                                \
    left([&](std::ptrdiff_t at, Vec<Real> g) {                                                                         \
      return g * derive<Real, Operation::name>(step, load<Real>(slots.left + at), load<Real>(slots.result + at));      \
    });                                                                                                                \
    break;
  switch (step.operation) {
  case Operation::add:
  case Operation::subtract:
    left([](std::ptrdiff_t, Vec<Real> g) { return g; });
    if (step.operation == Operation::add)
      right([](std::ptrdiff_t, Vec<Real> g) { return g; });
    else
      right([](std::ptrdiff_t, Vec<Real> g) { return -g; });
    break;
  case Operation::multiply:
    left([&](std::ptrdiff_t at, Vec<Real> g) { return g * load<Real>(slots.right + at); });
    right([&](std::ptrdiff_t at, Vec<Real> g) { return g * load<Real>(slots.left + at); });
    break;
  case Operation::divide:
    left([&](std::ptrdiff_t at, Vec<Real> g) { return g / load<Real>(slots.right + at); });
    right([&](std::ptrdiff_t at, Vec<Real> g) {
      return -g * load<Real>(slots.result + at) / load<Real>(slots.right + at);
    });
    break;
  case Operation::power:
    if (step.value == Real(0)) {
      if (slots.writes_left)
        left([](std::ptrdiff_t, Vec<Real>) { return Vec<Real>{}; });
      break;
    }
    with_raising(step.value - Real(1), [&](auto raised) SIGHTLINE_INLINE_HERE {
      left([&](std::ptrdiff_t at, Vec<Real> g) {
        return g * (splat<Real>(step.value) * raised(load<Real>(slots.left + at)));
      });
    });
    break;
    SIGHTLINE_CASE(negate)
    SIGHTLINE_CASE(exp)
    SIGHTLINE_CASE(log)
    SIGHTLINE_CASE(sqrt)
    SIGHTLINE_CASE(cosh)
    SIGHTLINE_CASE(sinh)
    SIGHTLINE_CASE(cos)
    SIGHTLINE_CASE(sin)
    SIGHTLINE_CASE(tanh)
    SIGHTLINE_CASE(sigmoid)
    SIGHTLINE_CASE(softplus)
    SIGHTLINE_CASE(relu)
    SIGHTLINE_CASE(elu)
    SIGHTLINE_CASE(abs)
  }
#undef SIGHTLINE_CASE
}

/// Slopes of the inputs that the program uses from those of the factor and the exponent, set by seed_slopes. What is
/// found first is written, so that nothing has to be 0 before.
template <class Real>
SIGHTLINE_INLINE void reverse_program(const Program<Real>& program, int count, const ProgramSpace<Real>& space) {
  std::uint64_t written = 0; // slots
  const auto write = [&](int slot) {
    const bool is_first = slot >= 0 && (written >> slot & 1) == 0;
    written |= slot < 0 ? 0 : std::uint64_t{1} << slot;
    return is_first;
  };
  static_assert(most_slots <= 64);
  write(program.factor);
  write(program.exponent);
  const auto slope = [&](int slot) {
    return slot < 0 || (slot >= program_inputs && slot < program.first_step) ? nullptr : space.slope(slot, 0);
  };
  for (int s = program.count - 1; s >= 0; --s) {
    const ProgramStep<Real>& step = program.steps[s];
    const int at = program.first_step + s, right = step.right < 0 ? step.left : step.right;
    if ((written >> at & 1) == 0) // nobody asks for it
      continue;
    const bool writes_left = write(step.left), writes_right = write(step.right);
    reverse_step<Real>(step, count,
                       {space.value(step.left, 0), space.value(right, 0), space.value(at, 0), space.slope(at, 0),
                        slope(step.left), slope(step.right), writes_left, writes_right});
  }
  for (int input = 0; input < program_inputs; ++input) {
    for (int k = 0; k < count && program.uses[input] && (written >> input & 1) == 0; ++k)
      store<Real>(space.slope(input, k), Vec<Real>{});
  }
}

/// Besides x.y: slopes along readers and reads are wanted.
template <class Real> SIGHTLINE_INLINE bool uses_lengths(const Program<Real>& program) {
  return program.uses[1] || program.uses[2] || program.uses[3];
}

template <class Real>
SIGHTLINE_INLINE void seed_slopes(const Program<Real>& program, int k, Vec<Real> of_factor, Vec<Real> of_exponent,
                                  const ProgramSpace<Real>& space) {
  if (program.factor >= 0)
    store<Real>(space.slope(program.factor, k), of_factor);
  if (program.exponent >= 0)
    store<Real>(space.slope(program.exponent, k), program.exponent == program.factor ? of_factor + of_exponent : of_exponent);
}

/// The slopes of x.y, of x along itself and of y along itself: d weight = p (dx.y + x.dy) + a x.dx + b y.dy.
template <class Real> struct PairSlopes { Vec<Real> pair, reader, read; };
template <class Real> SIGHTLINE_INLINE PairSlopes<Real> take_slopes(const Program<Real>& program, int k, const ProgramSpace<Real>& space) {
  const auto of = [&](int slot) { return program.uses[slot] ? load<Real>(space.slope(slot, k)) : Vec<Real>{}; };
  const Vec<Real> distance = of(3) + of(3);
  return {of(0) - distance, of(1) + of(1) + distance, of(2) + of(2) + distance};
}

/// The inputs of pairs (column c + k, lanes from `lane` on).
template <class Real>
SIGHTLINE_INLINE void fill_program(const Program<Real>& program, int c, int count, int lane, int stride,
                                   const Real* reader_squares, const Real* read_squares, const Real* scores,
                                   const Real* distances, const ProgramSpace<Real>& space) {
  for (int k = 0; k < count; ++k) {
    const std::ptrdiff_t at = (c + k) * stride + lane;
    if (program.uses[0])
      store<Real>(space.value(0, k), load<Real>(scores + at));
    if (program.uses[1])
      store<Real>(space.value(1, k), load<Real>(reader_squares + lane));
    if (program.uses[2])
      store<Real>(space.value(2, k), splat<Real>(read_squares[c + k]));
    if (program.uses[3])
      store<Real>(space.value(3, k), load<Real>(distances + at));
  }
}

/// Weight::program: the factor goes to `scores`, the exponent (wanted where rows keep their largest) to `exponents`; a
/// program without a factor has `exponents` in `scores`' place.
template <class Real>
void find_program_parts(const Program<Real>& program, const Strip& strip, int vectors, const Real* reader_squares,
                        const Real* read_squares, const Real* distances, Real* scores, Real* exponents, bool wanted,
                        const ProgramSpace<Real>& space) {
  constexpr int lanes = Lanes<Real>::count;
  for (int v = 0; v < vectors; ++v) { // what nobody reads is left as it is
    const ColumnRange columns = find_columns<Real>(strip, v);
    for (int c = columns.begin; c < columns.end; c += program_block) {
      const int count = columns.end - c < program_block ? columns.end - c : program_block;
      fill_program(program, c, count, v * lanes, tile_readers, reader_squares, read_squares, scores, distances, space);
      run_program<Real>(program, count, space);
      for (int k = 0; k < count; ++k) {
        const std::ptrdiff_t at = (c + k) * tile_readers + v * lanes;
        if (program.factor >= 0)
          store<Real>(scores + at, load<Real>(space.value(program.factor, k)));
        if (wanted)
          store<Real>(exponents + at,
                      program.exponent < 0 ? Vec<Real>{} : load<Real>(space.value(program.exponent, k)));
      }
    }
  }
}

} // namespace sightline::mixer::cpu::SIGHTLINE_SIMD

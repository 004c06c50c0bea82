// Rotary positions: as near to the truth as the reference, on every instruction set.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "call.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

// Blocks, whose tokens are counted from the block's first, or one component; registers keep still.
std::shared_ptr<const Plan> draw_rotary_plan(Random& random, std::int64_t tokens, std::int64_t registers) {
  layout::PatternSpec spec;
  if (chance(random, 50)) {
    spec.kind = layout::PatternKind::blocks;
    spec.size = pick(random, 1, tokens);
  }
  layout::Relative relative;
  relative.kind = layout::RelativeKind::offset;
  const auto n = static_cast<layout::Vertex>(tokens);
  const layout::Relation relation(
      layout::make_patterns(spec, {n, static_cast<layout::Vertex>(registers), 1}, Budget()).front(), relative,
      layout::Cancels::nothing, n);
  return make_plan({&relation, 1}, Budget());
}

template <class Real> struct Rotation {
  std::shared_ptr<const Plan> plan;
  Shape shape;
  bool token_major = false, inverse = false;
  std::vector<Real> numbers;

  [[nodiscard]] View<Real> view(std::vector<Real>& of) const {
    const std::int64_t n = shape.readers, w = shape.width, h = shape.heads;
    return token_major ? View<Real>{of.data(), n * h * w, w, h * w} : View<Real>{of.data(), n * h * w, n * w, w};
  }
  [[nodiscard]] std::vector<Real> run(const Execution& execution, bool in_place = false) const {
    std::vector<Real> from = numbers, to(numbers.size(), Real(99));
    const View<Real> in = view(from);
    rotate<Real>(*plan, shape, {in.data, in.batch_stride, in.head_stride, in.token_stride}, in_place ? in : view(to),
                 inverse, execution);
    return in_place ? from : to;
  }
  // Angles and turns in long double, from the frequencies that everybody rounds to double.
  [[nodiscard]] std::vector<long double> truth() const {
    std::vector<long double> to(numbers.begin(), numbers.end());
    std::vector<Real> dummy(numbers.size());
    const View<Real> at = view(dummy);
    const std::vector<std::int64_t>& positions = plan->positions();
    for (std::int64_t b = 0; b < shape.batch; ++b) {
      for (std::int64_t h = 0; h < shape.heads; ++h) {
        for (std::size_t i = 0; i < positions.size(); ++i) {
          for (std::int64_t p = 0; p < shape.width / 2; ++p) {
            const auto k = static_cast<std::size_t>(at.at(b, h, static_cast<std::int64_t>(i)) - at.data + 2 * p);
            const long double angle =
                static_cast<long double>(positions[i]) *
                std::pow(10000.0, -2.0 * static_cast<double>(p) / static_cast<double>(shape.width)) *
                (inverse ? -1 : 1);
            const long double x = numbers[k], y = numbers[k + 1];
            to[k] = x * std::cos(angle) - y * std::sin(angle);
            to[k + 1] = x * std::sin(angle) + y * std::cos(angle);
          }
        }
      }
    }
    return to;
  }
};

template <class Real> Rotation<Real> draw_rotation(Random& random, std::int64_t most_tokens) {
  Rotation<Real> rotation;
  const std::int64_t tokens = pick(random, 1, most_tokens), registers = chance(random, 40) ? pick(random, 1, 3) : 0;
  rotation.plan = draw_rotary_plan(random, tokens, registers);
  rotation.shape = {pick(random, 1, 2), pick(random, 1, 3), 1, tokens + registers, 0, 2 * pick(random, 1, 35), 0};
  rotation.token_major = chance(random, 50);
  rotation.inverse = chance(random, 50);
  std::normal_distribution<double> normal;
  rotation.numbers.resize(
      static_cast<std::size_t>(rotation.shape.batch * rotation.shape.heads * (tokens + registers) * rotation.shape.width));
  for (Real& x : rotation.numbers)
    x = static_cast<Real>(normal(random));
  return rotation;
}

template <class Real> double find_rotation_error(const std::vector<Real>& found, const std::vector<long double>& truth) {
  long double sum = 0;
  for (std::size_t k = 0; k < truth.size(); ++k)
    sum += (found[k] - truth[k]) * (found[k] - truth[k]);
  return static_cast<double>(std::sqrt(sum / static_cast<long double>(truth.size())));
}

template <class Real> void check_rotation(Random& random, std::int64_t most_tokens) {
  const Rotation<Real> rotation = draw_rotation<Real>(random, most_tokens);
  Execution execution;
  execution.implementation = Implementation::reference;
  const std::vector<long double> truth = rotation.truth();
  const double plain = find_rotation_error(rotation.run(execution), truth);
  execution.implementation = Implementation::cpu;
  for (const InstructionSet set : available_sets()) {
    execution.instructions = set;
    execution.threads = static_cast<int>(pick(random, 1, 3));
    const std::vector<Real> fast = rotation.run(execution);
    // A unit of what is rounded besides: a row of few entries is no statistics.
    CHECK(find_rotation_error(fast, truth) <= 1.05 * plain + (sizeof(Real) == 4 ? 0x1p-26 : 0x1p-53));
    execution.threads = 1;
    CHECK(same_bits(fast, rotation.run(execution)));
    CHECK(same_bits(fast, rotation.run(execution, true)));
  }
}

} // namespace

TEST_CASE("rotary positions are as near to the truth as the reference") {
  Random random(41);
  for (int k = 0; k < 30; ++k) {
    check_rotation<float>(random, 150);
    check_rotation<double>(random, 150);
  }
  check_rotation<float>(random, 5000);
  check_rotation<double>(random, 5000);
}

TEST_CASE("exact mode turns with one NaN and without -0") {
  Random random(42);
  Rotation<float> rotation = draw_rotation<float>(random, 60);
  rotation.numbers[0] = -std::numeric_limits<float>::quiet_NaN();
  for (std::size_t k = 2; k < rotation.numbers.size(); k += 7)
    rotation.numbers[k] = -0.0F;
  Execution execution;
  execution.exact = true;
  const std::vector<float> fast = rotation.run(execution);
  const auto tokens = static_cast<std::int64_t>(rotation.plan->positions().size());
  std::vector<float> dummy(fast.size());
  const View<float> at = rotation.view(dummy);
  for (std::int64_t i = 0; i < tokens; ++i) {
    for (std::int64_t k = 0; k < rotation.shape.width; ++k) {
      const float x = fast[static_cast<std::size_t>(at.at(0, 0, i) - at.data + k)];
      CHECK((std::isnan(x) || x != 0 || !std::signbit(x)));
      CHECK((!std::isnan(x) || !std::signbit(x)));
    }
  }
}

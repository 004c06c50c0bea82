// Exact mode of the fast implementation: f(sX) = s f(X) bit for bit, on layouts with many tiles.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "call.hpp"
#include "sightline/layout/pattern_spec.hpp"

using namespace sightline;
using namespace sightline::mixer;

namespace {

using Images = std::vector<std::int64_t>;

Call make_call(const layout::Pattern& pattern, std::int64_t heads, const std::string& kernel,
               std::int64_t width = 16) {
  Call call;
  const layout::Relation relation(pattern, {}, layout::Cancels::single_colour, pattern.vertex_count());
  call.plan = make_plan({&relation, 1}, Budget());
  const std::int64_t n = pattern.vertex_count();
  call.shape = {1, heads, heads, n, n, width, width};
  set_kernel(call, kernel);
  return call;
}

std::vector<float> move(const Call& call, const std::vector<float>& from, const Images& images) {
  std::vector<float> to(from.size());
  const Shape& s = call.shape;
  for (std::int64_t h = 0; h < s.heads; ++h) {
    for (std::int64_t i = 0; i < s.readers; ++i) {
      std::memcpy(&to[index_of(call, s.heads, s.readers, s.width, 0, h, images[static_cast<std::size_t>(i)])],
                  &from[index_of(call, s.heads, s.readers, s.width, 0, h, i)],
                  static_cast<std::size_t>(s.width) * sizeof(float));
    }
  }
  return to;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// Also: near the inexact result, and the same for every number of threads.
void check_move(const Call& call, Random& random, const Images& images, bool with_backward) {
  Numbers<float> numbers = draw_numbers<float>(call, random), moved = numbers;
  moved.query = move(call, numbers.query, images);
  moved.key = move(call, numbers.key, images);
  moved.value = move(call, numbers.value, images);
  moved.grad_out = move(call, numbers.grad_out, images);
  Numbers<float> plain = numbers;
  Execution execution;
  run(call, plain, execution);
  execution.exact = true;
  run(call, numbers, execution);
  execution.threads = 3;
  run(call, moved, execution);
  CHECK(same(move(call, numbers.out, images), moved.out));
  if (with_backward) {
    CHECK(same(move(call, numbers.grad_query, images), moved.grad_query));
    CHECK(same(move(call, numbers.grad_key, images), moved.grad_key));
    CHECK(same(move(call, numbers.grad_value, images), moved.grad_value));
  }
  const auto near = [&](const std::vector<float>& a, const std::vector<float>& b) {
    for (std::size_t k = 0; k < a.size(); ++k)
      REQUIRE(a[k] == doctest::Approx(b[k]).epsilon(1e-4).scale(1));
  };
  near(plain.out, numbers.out);
  if (with_backward) {
    near(plain.grad_query, numbers.grad_query);
    near(plain.grad_key, numbers.grad_key);
    near(plain.grad_value, numbers.grad_value);
  }
}

layout::Pattern make(const std::function<void(layout::PatternSpec&)>& set, layout::Vertex n) {
  layout::PatternSpec spec;
  set(spec);
  return layout::make_patterns(spec, {n, 0, 1}, Budget()).front();
}

Images rotation(std::int64_t n, std::int64_t by, bool reflected) {
  Images images(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    images[static_cast<std::size_t>(i)] = ((reflected ? -i : i) + by + n) % n;
  return images;
}

} // namespace

TEST_CASE("rotations: windows that wrap, dense and sparse") {
  Random random(21);
  for (const std::int64_t n : {70, 200, 257}) {
    const auto window = make(
        [](layout::PatternSpec& s) {
          s.kind = layout::PatternKind::window;
          s.before = 40;
          s.after = 3;
          s.wrap = true;
        },
        static_cast<layout::Vertex>(n));
    const auto sparse = make(
        [](layout::PatternSpec& s) {
          s.kind = layout::PatternKind::circulant;
          s.offsets = {0, 1, 5};
        },
        static_cast<layout::Vertex>(n));
    const auto stripes = make(
        [](layout::PatternSpec& s) {
          s.kind = layout::PatternKind::circulant;
          for (int k = 0; k < 60; k += 3)
            s.offsets.push_back(k * k % 64);
        },
        static_cast<layout::Vertex>(n));
    for (const auto* pattern : {&window, &sparse, &stripes}) {
      for (const std::int64_t width : {16, 32, 64}) { // 32, 64: vectors of 4 or 8 and 16 numbers, whole rows at a time
        const Call call = make_call(*pattern, 2, width == 32 ? "cauchy" : "softmax", width);
        CHECK(call.plan->order().kind == SummationOrder::Kind::cyclic);
        check_move(call, random, rotation(n, pick(random, 1, n - 1), false), true);
      }
    }
  }
}

TEST_CASE("reflections: rings") {
  Random random(22);
  for (const std::int64_t n : {66, 129, 200}) {
    for (const auto& [radius, width] : {std::pair<std::int64_t, std::int64_t>{1, 16}, {1, 64}, {2, 32}, {5, 64}, {5, 16}, {30, 16}}) {
      const Call call = make_call(make(
                                      [size = radius](layout::PatternSpec& s) {
                                        s.kind = layout::PatternKind::ring;
                                        s.radius = size;
                                      },
                                      static_cast<layout::Vertex>(n)),
                                  1, "softmax", width);
      CHECK(call.plan->order().kind == SummationOrder::Kind::dihedral);
      // Rows of a narrow ring are taken one by one, with several sums each; backward those of a wide one too.
      check_move(call, random, rotation(n, pick(random, 0, n - 1), true), true);
      check_move(call, random, rotation(n, pick(random, 1, n - 1), false), true);
    }
  }
}

// Blocks of 39: tiles keep to one block backward; of 32 and 64: they hold whole blocks; of 200: several tiles, and
// several strips, per block.
TEST_CASE("twins: everything, and blocks that change places") {
  Random random(23);
  const std::int64_t n = 156;
  Images any(static_cast<std::size_t>(n));
  std::iota(any.begin(), any.end(), 0);
  std::shuffle(any.begin(), any.end(), random);
  check_move(make_call(make([](layout::PatternSpec&) {}, 156), 2, "softmax"), random, any, true);
  for (const std::int64_t size : {32, 39, 64, 200}) {
    CAPTURE(size);
    const std::int64_t count = 5;
    Images blocks(static_cast<std::size_t>(count * size));
    std::vector<std::int64_t> place = {3, 0, 4, 2, 1};
    for (std::int64_t b = 0; b < count; ++b) {
      std::vector<std::int64_t> inside(static_cast<std::size_t>(size));
      std::iota(inside.begin(), inside.end(), 0);
      std::shuffle(inside.begin(), inside.end(), random);
      for (std::int64_t k = 0; k < size; ++k)
        blocks[static_cast<std::size_t>(size * b + k)] =
            size * place[static_cast<std::size_t>(b)] + inside[static_cast<std::size_t>(k)];
    }
    for (const char* kernel : {"softmax", "gaussian", "cosine", "sigmoid(dot(x,y))", "exp(dot(tanh(x),y))"}) {
      Call call = make_call(make(
                                [&](layout::PatternSpec& s) {
                                  s.kind = layout::PatternKind::blocks;
                                  s.size = size;
                                },
                                static_cast<layout::Vertex>(count * size)),
                            2, kernel);
      CAPTURE(kernel);
      check_move(call, random, blocks, true);
    }
  }
}

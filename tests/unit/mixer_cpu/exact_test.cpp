// Exact mode of the fast implementation: f(sX) = s f(X) bit for bit, on layouts with many tiles.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
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
  const std::int64_t heads = static_cast<std::int64_t>(from.size()) / (s.readers * s.width); // of queries, or of keys
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < s.readers; ++i) {
      std::memcpy(&to[index_of(call, heads, s.readers, s.width, 0, h, images[static_cast<std::size_t>(i)])],
                  &from[index_of(call, heads, s.readers, s.width, 0, h, i)],
                  static_cast<std::size_t>(s.width) * sizeof(float));
    }
  }
  return to;
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
  const auto check_moved = [&](const Numbers<float>& still) {
    CHECK(same_bits(move(call, still.out, images), moved.out));
    if (with_backward) {
      CHECK(same_bits(move(call, still.grad_query, images), moved.grad_query));
      CHECK(same_bits(move(call, still.grad_key, images), moved.grad_key));
      CHECK(same_bits(move(call, still.grad_value, images), moved.grad_value));
    }
  };
  check_moved(numbers);
  for (const InstructionSet set : available_sets()) { // the last one is what ran
    if (set == available_sets().back() || numbers.out.size() >= 10000)
      continue;
    CAPTURE(static_cast<int>(set));
    execution.instructions = set;
    Numbers<float> still = numbers;
    run(call, still, execution);
    run(call, moved, execution);
    check_moved(still);
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

layout::Pattern make_blocks(std::int64_t size, std::int64_t count) {
  return make(
      [&](layout::PatternSpec& s) {
        s.kind = layout::PatternKind::blocks;
        s.size = size;
      },
      static_cast<layout::Vertex>(count * size));
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

// By tiles, both ways: own pairs and antipodes count half on either side, offsets with gaps, several strips per tile,
// heads that share keys, widths that are no whole vectors, rings that a tile goes round almost whole.
TEST_CASE("rings by tiles") {
  Random random(27);
  const auto check = [&](const layout::Pattern& pattern, SummationOrder::Kind kind, std::int64_t width,
                         const std::string& kernel) {
    const std::int64_t n = pattern.vertex_count();
    for (const std::int64_t key_heads : {2, 1}) {
      Call call = make_call(pattern, 2, kernel, width);
      call.shape.key_heads = key_heads;
      CAPTURE(n);
      CAPTURE(width);
      CAPTURE(key_heads);
      CHECK(call.plan->order().kind == kind);
      for (const bool sink : {false, true}) { // what joins the denominator counts
        if (sink) {
          call.rule.sink = Sink::trained;
          call.rule.scale = 0.3;
        }
        check_move(call, random, rotation(n, pick(random, 1, n - 1), false), true);
        if (kind == SummationOrder::Kind::dihedral)
          check_move(call, random, rotation(n, pick(random, 0, n - 1), true), true);
      }
    }
  };
  for (const auto& [n, reach] : {std::pair<std::int64_t, std::int64_t>{300, 100}, {301, 130}, {400, 70}, {136, 66}}) {
    for (const std::int64_t width : {18, 64}) {
      const auto circulant = [&](const std::vector<std::int64_t>& offsets) {
        return make(
            [&](layout::PatternSpec& s) {
              s.kind = layout::PatternKind::circulant;
              s.offsets = offsets;
            },
            static_cast<layout::Vertex>(n));
      };
      std::vector<std::int64_t> both, gaps, turned;
      for (std::int64_t d = 0; d <= reach; ++d) {
        for (const std::int64_t offset : {d, -d}) {
          both.push_back((offset + n) % n);
          if (d % 50 > 3)
            gaps.push_back((offset + n) % n);
        }
        turned.push_back(d % 70 == 5 ? 0 : d);
      }
      if (n % 2 == 0)
        both.push_back(n / 2);
      check(circulant(both), SummationOrder::Kind::dihedral, width, "softmax");
      check(circulant(gaps), SummationOrder::Kind::dihedral, width, width == 18 ? "relu2" : "gaussian");
      check(circulant(turned), SummationOrder::Kind::cyclic, width, "softmax");
    }
  }
}

// What nobody else reads may hold anything. Of ring neighbours up to 30 away: outputs and query gradients of readers
// further off keep their bits, and key and value gradients of tokens that none of its readers reads.
TEST_CASE("rings by tiles: NaN and infinities reach readers alone") {
  constexpr std::int64_t n = 200, reach = 30, width = 16;
  const Call call = make_call(make(
                                  [size = reach](layout::PatternSpec& s) {
                                    s.kind = layout::PatternKind::ring;
                                    s.radius = size;
                                  },
                                  n),
                              1, "softmax", width);
  CHECK(call.plan->order().kind == SummationOrder::Kind::dihedral);
  Random random(28);
  for (const InstructionSet set : available_sets()) {
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      const std::int64_t token = pick(random, 0, n - 1);
      Execution execution;
      execution.exact = true;
      execution.instructions = set;
      Numbers<float> still = draw_numbers<float>(call, random), spoiled = still;
      for (std::int64_t k = 0; k < width; ++k) {
        const std::size_t at = index_of(call, 1, n, width, 0, 0, token) + static_cast<std::size_t>(k);
        spoiled.query[at] = spoiled.key[at] = spoiled.value[at] = bad;
      }
      run(call, still, execution);
      run(call, spoiled, execution);
      const auto keeps = [&](const std::vector<float>& a, const std::vector<float>& b, std::int64_t i) {
        const std::size_t at = index_of(call, 1, n, width, 0, 0, i);
        return std::memcmp(&a[at], &b[at], width * sizeof(float)) == 0;
      };
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t apart = std::abs(i - token), away = std::min(apart, n - apart);
        CAPTURE(away);
        CHECK(keeps(still.out, spoiled.out, i) == (away > reach));
        if (away > reach)
          CHECK(keeps(still.grad_query, spoiled.grad_query, i));
        if (away > 2 * reach) {
          CHECK(keeps(still.grad_key, spoiled.grad_key, i));
          CHECK(keeps(still.grad_value, spoiled.grad_value, i));
        }
      }
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
    for (const char* kernel : {"softmax", "gaussian", "cosine", "sigmoid(dot(x,y))", "exp(dot(tanh(x),y))", "(1+norm2(x-y))*exp(dot(x,y)/4)"}) {
      Call call = make_call(make_blocks(size, count), 2, kernel);
      CAPTURE(kernel);
      check_move(call, random, blocks, true);
    }
  }
}

// The numbers of one column are too small for what they are times; one block has a NaN of its own.
TEST_CASE("twins: nothing that comes out is -0, and every NaN is the same") {
  Random random(61);
  constexpr float tiny = -std::numeric_limits<float>::denorm_min();
  constexpr float usual = std::numeric_limits<float>::quiet_NaN();
  float strange = 0;
  constexpr std::uint32_t bits = 0xffc12345U;
  std::memcpy(&strange, &bits, sizeof(strange));
  for (const std::int64_t size : {32, 49, 64, 200}) {
    for (const std::int64_t width : {16, 20, 64}) {
      CAPTURE(size);
      CAPTURE(width);
      const Call call = make_call(make_blocks(size, 3), 2, "softmax", width);
      Numbers<float> numbers = draw_numbers<float>(call, random);
      for (std::vector<float>* list : {&numbers.query, &numbers.key, &numbers.value, &numbers.grad_out}) {
        for (std::size_t k = 0; k < list->size(); k += static_cast<std::size_t>(width))
          (*list)[k] = tiny;
      }
      numbers.value[1] = strange;
      for (const InstructionSet set : available_sets()) {
        CAPTURE(static_cast<int>(set));
        Execution execution;
        execution.exact = true;
        execution.instructions = set;
        run(call, numbers, execution);
        for (const std::vector<float>* list : {&numbers.out, &numbers.grad_query, &numbers.grad_key, &numbers.grad_value}) {
          std::int64_t zeros = 0, negative = 0, missing = 0, others = 0;
          for (const float x : *list) {
            zeros += x == 0 ? 1 : 0;
            negative += x == 0 && std::signbit(x) ? 1 : 0;
            missing += std::isnan(x) ? 1 : 0;
            others += std::isnan(x) && std::memcmp(&x, &usual, sizeof(x)) != 0 ? 1 : 0;
          }
          CHECK(zeros > 0);
          CHECK(negative == 0);
          CHECK((missing > 0 || list == &numbers.grad_value)); // where it stands, its own gradient does not depend on it
          CHECK(others == 0);
        }
      }
    }
  }
}

namespace {

/// Vertices 0 .. fixed - 1 read everything and are read by everything; the others read `offsets` round a ring.
layout::Pattern make_hubs(layout::Vertex fixed, layout::Vertex ring, const std::vector<std::int64_t>& offsets) {
  std::vector<std::vector<layout::Vertex>> rows(fixed + ring);
  for (layout::Vertex i = 0; i < fixed + ring; ++i) {
    for (layout::Vertex j = 0; j < (i < fixed ? fixed + ring : fixed); ++j)
      rows[i].push_back(j);
    for (const std::int64_t offset : offsets) {
      if (i >= fixed)
        rows[i].push_back(fixed + static_cast<layout::Vertex>((i - fixed + offset + ring) % ring));
    }
    std::sort(rows[i].begin(), rows[i].end());
  }
  rows[0].erase(rows[0].begin()); // hubs are no twins
  return layout::make_pattern_from_rows(fixed + ring, rows);
}

Images behind(std::int64_t fixed, const Images& images) {
  Images all;
  for (std::int64_t v = 0; v < fixed; ++v)
    all.push_back(v);
  for (const std::int64_t image : images)
    all.push_back(fixed + image);
  return all;
}

/// The largest error of every result, over the largest number of it.
std::vector<double> errors_of(const Numbers<float>& found, const Numbers<double>& truth) {
  std::vector<double> errors;
  for (const auto& [a, b] : {std::pair(&found.out, &truth.out), std::pair(&found.grad_query, &truth.grad_query),
                             std::pair(&found.grad_key, &truth.grad_key), std::pair(&found.grad_value, &truth.grad_value)}) {
    double error = 0, size = 0;
    for (std::size_t k = 0; k < a->size(); ++k) {
      error = std::max(error, std::abs(static_cast<double>((*a)[k]) - (*b)[k]));
      size = std::max(size, std::abs((*b)[k]));
    }
    errors.push_back(error / size);
  }
  return errors;
}

} // namespace

// The sums of a hub have no order; those of the others go round the ring, the hubs first. Rows of 1,500 take several
// pieces.
TEST_CASE("twins: heads that are taken a few at a time") {
  Random random(58);
  constexpr std::int64_t n = 600;
  const Call call = make_call(layout::make_patterns({}, {n, 0, 1}, Budget()).front(), 4, "softmax", 256);
  Images images(n);
  std::iota(images.begin(), images.end(), 0);
  std::shuffle(images.begin(), images.end(), random);
  check_move(call, random, images, true);
}

TEST_CASE("hubs beside rotations and reflections") {
  Random random(24);
  const std::pair<std::int64_t, std::int64_t> sizes[] = {{1, 69}, {2, 64}, {1, 1500}};
  for (const auto& [fixed, n] : sizes) {
    for (const bool reflects : {true, false}) {
      const std::vector<std::int64_t> offsets = reflects ? std::vector<std::int64_t>{-1, 0, 1} : std::vector<std::int64_t>{0, 1, 3};
      const auto pattern = make_hubs(static_cast<layout::Vertex>(fixed), static_cast<layout::Vertex>(n), offsets);
      for (const char* kernel : {"softmax", "gaussian", "cosine", "relu2", "(1+norm2(x-y))*exp(dot(x,y))"}) {
        if (n > 1000 && kernel != std::string("softmax") && kernel != std::string("cosine"))
          continue;
        CAPTURE(fixed);
        CAPTURE(n);
        CAPTURE(reflects);
        CAPTURE(kernel);
        for (const std::int64_t width : {18, 64}) {
          const Call call = make_call(pattern, 2, kernel, width);
          CHECK(call.plan->order().kind == (reflects ? SummationOrder::Kind::dihedral : SummationOrder::Kind::cyclic));
          check_move(call, random, behind(fixed, rotation(n, pick(random, 1, n - 1), reflects)), true);
          check_move(call, random, behind(fixed, rotation(n, pick(random, 1, n - 1), false)), true);
        }
      }
    }
  }
}

// No order follows the group of a cube, and none in pieces a ring whose rows are longer than a piece.
TEST_CASE("every sum without an order") {
  Random random(25);
  std::vector<std::vector<layout::Vertex>> rows(64);
  for (layout::Vertex v = 0; v < 64; ++v) {
    for (const layout::Vertex bit : {0, 1, 2, 4, 8, 16, 32})
      rows[v].push_back(v ^ bit);
    std::sort(rows[v].begin(), rows[v].end());
  }
  const layout::Pattern cube = layout::make_pattern_from_rows(64, rows);
  Images images;
  for (std::int64_t v = 0; v < 64; ++v) // bits 0 and 3 are exchanged, and some are turned over
    images.push_back(((v & ~std::int64_t{9}) | ((v & 1) << 3) | ((v >> 3) & 1)) ^ 37);
  for (const char* kernel : {"softmax", "laplace", "cauchy", "elu1", "sigmoid(dot(x,y))"}) {
    const Call call = make_call(cube, 2, kernel);
    CHECK(call.plan->order().kind == SummationOrder::Kind::value);
    check_move(call, random, images, true);
  }
  const Call wide = make_call(make(
                                  [](layout::PatternSpec& s) {
                                    s.kind = layout::PatternKind::ring;
                                    s.radius = 520;
                                  },
                                  1100),
                              1, "softmax");
  CHECK(wide.plan->order().kind == SummationOrder::Kind::dihedral);
  check_move(wide, random, rotation(1100, 77, true), true);
}

TEST_CASE("sums without an order are as near to the truth as sums in order") {
  Random random(26);
  for (const std::int64_t n : {64, 3000}) {
    const Call call = make_call(make_hubs(1, static_cast<layout::Vertex>(n), {-1, 0, 1}), 1, "softmax", 32);
    Numbers<float> plain = draw_numbers<float>(call, random), exact = plain;
    Numbers<double> truth = widen(plain), wide = truth;
    Execution execution;
    run(call, plain, execution);
    run(call, truth, execution);
    execution.exact = true;
    run(call, exact, execution);
    run(call, wide, execution);
    const std::vector<double> before = errors_of(plain, truth), now = errors_of(exact, truth);
    for (std::size_t k = 0; k < now.size(); ++k) {
      CAPTURE(n);
      CAPTURE(k);
      CHECK(now[k] <= (k == 0 ? 1.5 : 2) * before[k]); // outputs, gradients
    }
    for (std::size_t k = 0; k < wide.out.size(); ++k)
      REQUIRE(wide.out[k] == doctest::Approx(truth.out[k]).epsilon(1e-12).scale(1));
    for (std::size_t k = 0; k < wide.grad_key.size(); ++k)
      REQUIRE(wide.grad_key[k] == doctest::Approx(truth.grad_key[k]).epsilon(1e-12).scale(1));
  }
}

// Rows whose counts are products on purpose: what cancels is rare in random rows.
#include <doctest/doctest.h>

#include <array>
#include <random>

#include "oracle.hpp"
#include "sightline/sight/labels_rows.hpp"

using namespace sight_labels;
using sightline::sight::RowLabeller;

namespace {

constexpr Vertex left_reader = 30, right_reader = 91, tokens = 122;

// One arc from a reader: to its `rank`-th neighbour on that side, which has that state.
struct Placed {
  std::uint32_t matrix, distance;
  bool right;
  std::uint32_t state;
};

void place(Head& head, std::vector<std::uint32_t>& state, Vertex reader, const std::vector<Placed>& arcs) {
  for (const Placed& arc : arcs) {
    const Vertex j = arc.right ? reader + arc.distance : reader - arc.distance;
    head.rows[reader].push_back({j, arc.matrix});
    state[j] = arc.state;
  }
}

using Tensor = std::array<std::array<std::array<std::uint32_t, 2>, 2>, 2>;  // [matrix][side][state]

Tensor draw_tensor(std::mt19937_64& random) {
  Tensor tensor{};
  for (auto& matrix : tensor) {
    for (auto& side : matrix) {
      for (auto& count : side) count = static_cast<std::uint32_t>(random() % 3);
    }
  }
  return tensor;
}

// Parts of a times parts of b: rows with one b differ by the factors that a brings.
Tensor multiply(const Tensor& a, const Tensor& b, std::uint32_t shape) {
  Tensor result{};
  for (std::size_t k = 0; k < 2; ++k) {
    for (std::size_t o = 0; o < 2; ++o) {
      for (std::size_t s = 0; s < 2; ++s) {
        switch (shape) {
        case 0: result[k][o][s] = a[k][0][0] * a[0][o][1] * b[0][0][s]; break;  // every factor
        case 1: result[k][o][s] = a[k][o][0] * b[0][0][s]; break;               // colours from states
        case 2: result[k][o][s] = a[k][0][0] * b[0][o][s]; break;               // matrix colours from the rest
        case 3: result[k][o][s] = a[0][o][0] * b[k][0][s]; break;               // sides from the rest
        case 4: result[k][o][s] = o == 0 ? a[k][0][s] : 0; break;               // one side
        default: result[k][o][s] = a[k][o][s]; break;
        }
      }
    }
  }
  return result;
}

std::vector<Placed> list_arcs(const Tensor& tensor) {
  std::array<std::uint32_t, 2> next{1, 1};
  std::vector<Placed> arcs;
  for (std::uint32_t k = 0; k < 2; ++k) {
    for (std::uint32_t o = 0; o < 2; ++o) {
      for (std::uint32_t s = 0; s < 2; ++s) {
        for (std::uint32_t c = 0; c < tensor[k][o][s] && next[o] <= 30; ++c) arcs.push_back({1 + k, next[o]++, o == 1, s});
      }
    }
  }
  return arcs;
}

using Polynomials = std::vector<std::vector<std::uint32_t>>;

Polynomials draw_polynomials(std::mt19937_64& random, std::size_t count, std::size_t longest) {
  Polynomials result(count);
  for (auto& a : result) {
    a.resize(1 + random() % longest);
    for (auto& x : a) x = random() % 2;
  }
  return result;
}

// A_s = (sum_k w_k p_k(z)) e_s(z), at most two vertices per distance; no arcs when they do not fit.
std::vector<Placed> multiply(const Polynomials& p, const Polynomials& e) {
  std::vector<Placed> arcs;
  std::vector<std::uint32_t> used(40, 0);
  for (std::size_t k = 0; k < p.size(); ++k) {
    for (std::size_t s = 0; s < 2; ++s) {
      for (std::size_t x = 0; x < p[k].size(); ++x) {
        for (std::size_t y = 0; y < e[s].size(); ++y) {
          if (p[k][x] * e[s][y] == 0) continue;
          const auto distance = static_cast<std::uint32_t>(1 + x + y);
          if (used[distance] == 2) return {};
          arcs.push_back({static_cast<std::uint32_t>(1 + k), distance, used[distance]++ == 1, static_cast<std::uint32_t>(s)});
        }
      }
    }
  }
  return arcs;
}

struct Seen {
  int equal = 0, equal_of_two_states = 0;
};

void compare(const Model& model, const std::vector<std::uint32_t>& state, Vertex i, Vertex j, Seen& seen) {
  const auto built = to_layout(model);
  RowLabeller labeller(built.relations[0], model.heads[0].rule);
  std::vector<std::uint32_t> a, b;
  labeller.append(i, state.data(), a);
  labeller.append(j, state.data(), b);
  const bool same = same_row(model, model.heads[0], i, state, j, state);
  INFO(model.describe());
  CHECK((a == b) == same);
  if (same) {
    ++seen.equal;
    const auto& row = model.heads[0].rows[i];
    for (const Arc& arc : row) {
      if (state[arc.read] != state[row[0].read]) {
        ++seen.equal_of_two_states;
        break;
      }
    }
  }
}

Model make_model(RowRule rule, RelativeKind kind, std::vector<std::uint64_t> registers) {
  Model model;
  model.tokens = tokens;
  model.registers = std::move(registers);
  Head head;
  head.rule = rule;
  head.relative.kind = kind;
  head.relative.buckets = 4;  // own token, left, right
  head.relative.max_distance = 2;
  head.rows.resize(model.vertices());
  model.heads = {head};
  model.layers = {{0}};
  return model;
}

}  // namespace

TEST_CASE("learned rows forget every factor of matrix colours, of relative colours and of both") {
  std::mt19937_64 random(21);
  Seen seen;
  for (int k = 0; k < 1500; ++k) {
    Model model = make_model(random() % 4 == 0 ? RowRule::frequency : RowRule::learned, RelativeKind::bucket, {});
    if (model.heads[0].rule == RowRule::frequency) model.heads[0].relative.kind = RelativeKind::none;
    std::vector<std::uint32_t> state(model.vertices(), 9);
    const auto shape = static_cast<std::uint32_t>(random() % 6);
    const Tensor b = draw_tensor(random), other = random() % 4 == 0 ? draw_tensor(random) : b;
    place(model.heads[0], state, left_reader, list_arcs(multiply(draw_tensor(random), b, shape)));
    place(model.heads[0], state, right_reader, list_arcs(multiply(draw_tensor(random), other, shape)));
    compare(model, state, left_reader, right_reader, seen);
  }
  CHECK(seen.equal_of_two_states > 50);
}

TEST_CASE("rows of registers have matrix colours only, and forget their factors under rotary and learned positions") {
  std::mt19937_64 random(22);
  Seen seen;
  for (int k = 0; k < 1000; ++k) {
    Model model = make_model(random() % 2 == 0 ? RowRule::rotary : RowRule::learned, RelativeKind::offset, {0, 0});
    std::vector<std::uint32_t> state(model.vertices(), 9);
    Head tokens_rows = model.heads[0];
    const auto shape = static_cast<std::uint32_t>(random() % 6);
    const Tensor b = draw_tensor(random), other = random() % 4 == 0 ? draw_tensor(random) : b;
    place(tokens_rows, state, left_reader, list_arcs(multiply(draw_tensor(random), b, shape)));
    place(tokens_rows, state, right_reader, list_arcs(multiply(draw_tensor(random), other, shape)));
    model.heads[0].rows[tokens] = tokens_rows.rows[left_reader];
    model.heads[0].rows[tokens + 1] = tokens_rows.rows[right_reader];
    compare(model, state, tokens, tokens + 1, seen);
  }
  CHECK(seen.equal_of_two_states > 50);
}

TEST_CASE("ALiBi rows forget every common polynomial, matrix colours included") {
  std::mt19937_64 random(23);
  Seen seen;
  for (int k = 0; k < 6000; ++k) {
    Model model = make_model(RowRule::alibi, RelativeKind::distance, {});
    std::vector<std::uint32_t> state(model.vertices(), 9);
    const Polynomials e = draw_polynomials(random, 2, 6), other = random() % 4 == 0 ? draw_polynomials(random, 2, 6) : e;
    place(model.heads[0], state, left_reader, multiply(draw_polynomials(random, 1 + random() % 2, 4), e));
    place(model.heads[0], state, right_reader, multiply(draw_polynomials(random, 1 + random() % 2, 4), other));
    compare(model, state, left_reader, right_reader, seen);
  }
  CHECK(seen.equal_of_two_states > 50);
}

TEST_CASE("rows of one matrix colour each are one row to learned positions, whatever the colour") {
  Model model = make_model(RowRule::learned, RelativeKind::offset, {});
  std::vector<std::uint32_t> state(model.vertices(), 9);
  place(model.heads[0], state, left_reader, {{1, 1, false, 0}, {1, 1, true, 1}});
  place(model.heads[0], state, right_reader, {{2, 1, false, 0}, {2, 1, true, 1}});
  Seen seen;
  compare(model, state, left_reader, right_reader, seen);
  CHECK(seen.equal == 1);
}

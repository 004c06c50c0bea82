#include "sightline/falsify/pairs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace sightline::falsify {
namespace {

using Points = std::vector<std::vector<int>>;

struct Blocks {
  int degree;
  Points a, b;
};

Points with_opposites(Points points) {
  const std::size_t count = points.size();
  for (std::size_t i = 0; i < count; ++i) points.push_back({-points[i][0], -points[i][1]});
  return points;
}

Points on_line(std::initializer_list<int> values) {
  Points points;
  for (int v : values) points.push_back({v, 1});
  return points;
}

/// Sets with equal sums of all monomials up to the degree (theory.md 3.11), in the plane.
const std::vector<Blocks>& plane_blocks() {
  static const std::vector<Blocks> blocks = {
      {1, {{1, 0}, {-1, 0}}, {{0, 1}, {0, -1}}},
      {2, {{1, 0}, {0, 1}, {-1, -1}}, {{-1, 0}, {0, -1}, {1, 1}}},
      {3, with_opposites({{3, 4}, {4, -3}}), with_opposites({{5, 0}, {0, 5}})},
      {4, on_line({0, 4, 8, 16, 17}), on_line({1, 2, 10, 14, 18})},
      {5, with_opposites({{3, 1}, {-1, 2}, {-2, -3}}), with_opposites({{3, 2}, {-2, 1}, {-1, -3}})},
  };
  return blocks;
}

/// Ideal solutions of the Prouhet-Tarry-Escott problem, moved off 0.
const std::vector<Blocks>& line_blocks() {
  static const std::vector<Blocks> blocks = {
      {1, {{1}, {4}}, {{2}, {3}}},
      {2, {{1}, {5}, {6}}, {{2}, {3}, {7}}},
      {3, {{1}, {5}, {8}, {12}}, {{2}, {3}, {10}, {11}}},
      {4, {{1}, {5}, {9}, {17}, {18}}, {{2}, {3}, {11}, {15}, {19}}},
      {5, {{1}, {6}, {7}, {17}, {18}, {23}}, {{2}, {3}, {11}, {13}, {21}, {22}}},
  };
  return blocks;
}

class Maker {
public:
  Maker(std::size_t tokens, std::size_t dim, std::uint64_t seed) : tokens_(tokens), dim_(dim), random_(seed) {}

  Token pad(const std::vector<int>& point) const {
    Token token(dim_, 0);
    for (std::size_t k = 0; k < point.size() && k < dim_; ++k) token[k] = point[k];
    return token;
  }

  Token draw() {
    while (true) {
      Token token;
      for (std::size_t k = 0; k < dim_; ++k) {
        mpq_class entry(static_cast<long>(random_() % 401) - 200, 16);
        entry.canonicalize();
        token.push_back(entry);
      }
      if (std::any_of(token.begin(), token.end(), [](const mpq_class& v) { return v != 0; })) return token;
    }
  }

  /// A token that is in neither sample.
  Token draw_new(const Sample& x, const Sample& y) {
    while (true) {
      Token token = draw();
      if (std::find(x.begin(), x.end(), token) == x.end() && std::find(y.begin(), y.end(), token) == y.end()) return token;
    }
  }

  /// Adds the same new tokens to both sides until there are as many as asked for. False when there is no room for one.
  bool fill(Pair& pair) {
    if (pair.x.size() >= tokens_) return false;
    while (pair.x.size() < tokens_) {
      const Token token = draw_new(pair.x, pair.y);
      pair.x.push_back(token);
      pair.y.push_back(token);
    }
    return true;
  }

  Sample draw_sample(std::size_t count) {
    Sample sample;
    while (sample.size() < count) sample.push_back(draw_new(sample, {}));
    return sample;
  }

  std::uint64_t random() { return random_(); }
  std::size_t tokens() const { return tokens_; }
  std::size_t dim() const { return dim_; }

private:
  std::size_t tokens_, dim_;
  std::mt19937_64 random_;
};

Sample scaled(const Token& z, std::initializer_list<int> factors) {
  Sample sample;
  for (int factor : factors) {
    sample.push_back(z);
    for (mpq_class& entry : sample.back()) entry *= factor;
  }
  return sample;
}

void add_permuted(Maker& maker, const group::Group& symmetry, const Budget& budget, std::vector<Pair>& pairs) {
  const auto n = static_cast<group::Point>(maker.tokens());
  const group::Membership member(symmetry, budget);
  const auto add = [&](const group::Permutation& tau) {
    Pair pair{fmt::format("permuted by {}", group::to_cycles(tau)), maker.draw_sample(n), {}};
    pair.y.resize(n);
    for (group::Point i = 0; i < n; ++i) pair.y[tau(i)] = pair.x[i];
    pairs.push_back(std::move(pair));
  };
  // Transpositions generate S_n, so a group that is not S_n misses one.
  for (group::Point j = 1; j < n; ++j) {
    const auto tau = group::Permutation::transposition(0, j);
    if (member.contains(tau)) continue;
    add(tau);
    break;
  }
  if (pairs.empty()) return;
  std::vector<group::Point> images(n);
  for (group::Point i = 0; i < n; ++i) images[i] = i;
  for (int tries = 0, found = 0; tries < 20 && found < 2; ++tries) {
    for (group::Point i = n; i > 1; --i) std::swap(images[i - 1], images[maker.random() % i]);
    const auto tau = group::Permutation::from_images(images);
    if (member.contains(tau)) continue;
    add(tau);
    ++found;
  }
}

}  // namespace

std::vector<std::pair<std::size_t, std::size_t>> Pair::list_collisions() const {
  std::vector<std::pair<std::size_t, std::size_t>> result;
  for (std::size_t a = 0; a < x.size(); ++a) {
    for (std::size_t b = 0; b < y.size(); ++b) {
      if (x[a] == y[b]) result.emplace_back(a, b);
    }
  }
  return result;
}

Candidates make_candidates(std::size_t tokens, std::size_t dim, const group::Group& symmetry, std::uint64_t seed, const Budget& budget) {
  Maker maker(tokens, dim, seed);
  Candidates result;
  const auto add = [&](Pair pair) {
    const std::size_t needed = pair.x.size() + 1;
    if (maker.fill(pair)) result.pairs.push_back(std::move(pair));
    else result.left_out.push_back(fmt::format("{} (needs {} tokens)", pair.name, needed));
  };
  if (tokens >= 2) add_permuted(maker, symmetry, budget, result.pairs);
  for (const Blocks& blocks : dim >= 2 ? plane_blocks() : line_blocks()) {
    Pair pair{fmt::format("equal moments, degree {}", blocks.degree), {}, {}};
    for (const auto& point : blocks.a) pair.x.push_back(maker.pad(point));
    for (const auto& point : blocks.b) pair.y.push_back(maker.pad(point));
    add(std::move(pair));
  }
  Token z = maker.pad({1, 2}), other = maker.pad({2, -1});
  add({"antipodal blocks {z,-z} and {y,-y}", scaled(z, {1, -1}), scaled(other, {1, -1})});
  add({"scaled blocks {z,4z} and {2z,3z}", scaled(z, {1, 4}), scaled(z, {2, 3})});
  add({"one token changed", {maker.pad({3, -2})}, {maker.pad({-1, 5})}});
  if (tokens >= 2) {
    Pair pair{"translated copy", maker.draw_sample(tokens - 1), {}};
    const Token shift = maker.draw();
    for (Token token : pair.x) {
      for (std::size_t k = 0; k < dim; ++k) token[k] += shift[k];
      pair.y.push_back(std::move(token));
    }
    add(std::move(pair));
  }
  return result;
}

}  // namespace sightline::falsify

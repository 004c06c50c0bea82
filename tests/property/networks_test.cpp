// Verdicts against numbers: what certify() calls impossible no random network does, and what it certifies random networks
// separate. A failure prints "seed S": SIGHTLINE_PROPERTY_SEED=S with the same test case replays it alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "id_enumeration.hpp"
#include "network.hpp"
#include "sightline/verdict/certify.hpp"

using namespace property;
namespace verdict = sightline::verdict;
using verdict::Verdict;

namespace {

constexpr double equal_below = 1e-12, different_above = 1e-9;
constexpr std::uint64_t networks_per_model = 3;

Matrix draw_tokens(std::mt19937_64& random, int n) {
  std::normal_distribution<double> normal(0, 1);
  Matrix x(static_cast<std::size_t>(n), Vector(Network::width));
  for (Vector& token : x) {
    for (double& coordinate : token) coordinate = normal(random);
  }
  return x;
}

std::vector<Network> draw_networks(const SmallModel& model, std::uint64_t seed, std::size_t depth) {
  std::vector<Network> networks;
  for (std::uint64_t k = 0; k < networks_per_model; ++k) networks.emplace_back(model, seed * 10 + k, depth);
  return networks;
}

/// The depths at which an impossible verdict is tried: the listed one, or several of the list repeated.
std::vector<std::size_t> choose_depths(const SmallModel& model) {
  const std::size_t period = model.unroll().size();
  if (model.listed) return {period};
  return {1, period, 2 * period, 2 * period + 3};
}

/// Theory: equal labels, equal outputs, whatever the weights.
void check_impossible(const SmallModel& model, const verdict::Answer& answer, std::uint64_t seed) {
  const auto n = static_cast<std::size_t>(model.tokens);
  std::mt19937_64 random(seed);
  REQUIRE((answer.collision || answer.unreachable || answer.id_collision));
  for (const std::size_t depth : choose_depths(model)) {
    for (const Network& network : draw_networks(model, seed, depth)) {
      if (answer.id_collision) {
        const auto& c = *answer.id_collision;
        std::vector<int> x(c.x.begin(), c.x.end()), y(c.y.begin(), c.y.end());
        if (model.bos) x[0] = y[0] = model.vocabulary;
        const Matrix of_x = network.run_ids(x), of_y = network.run_ids(y);
        CHECK(measure_distance(of_x[c.a], of_y[c.b]) < equal_below);
      }
      if (answer.collision) {
        const auto& c = *answer.collision;
        const Matrix x = draw_tokens(random, model.tokens);
        Matrix y = draw_tokens(random, model.tokens);
        for (const auto& [j, image] : c.tau) y[image] = x[j];
        CHECK(measure_distance(network.run(x)[c.a], network.run(y)[c.b]) < equal_below);
      }
      if (answer.unreachable) {
        const auto [reader, unseen] = *answer.unreachable;
        if (model.table) {
          std::vector<int> x(n), y;
          for (int& id : x) id = static_cast<int>(random() % static_cast<std::uint64_t>(model.vocabulary));
          if (model.bos) x[0] = model.vocabulary;
          y = x;
          y[unseen] = (y[unseen] + 1) % model.vocabulary;
          CHECK(measure_distance(network.run_ids(x)[reader], network.run_ids(y)[reader]) < equal_below);
        } else {
          const Matrix x = draw_tokens(random, model.tokens);
          Matrix y = x;
          y[unseen] = draw_tokens(random, 1)[0];
          CHECK(measure_distance(network.run(x)[reader], network.run(y)[reader]) < equal_below);
        }
      }
    }
  }
}

/// Outputs of several networks side by side, so that one unlucky draw does not count.
Matrix run_all(const std::vector<Network>& networks, const Matrix& x) {
  Matrix all(x.size());
  for (const Network& network : networks) {
    const Matrix out = network.run(x);
    for (std::size_t a = 0; a < x.size(); ++a) all[a].insert(all[a].end(), out[a].begin(), out[a].end());
  }
  return all;
}

/// Every pair of outputs that some target of the class and the group tells apart, some network tells apart.
void check_certified(const SmallModel& model, std::uint64_t seed, std::size_t depth) {
  const auto n = static_cast<std::size_t>(model.tokens);
  std::mt19937_64 random(seed);
  const auto target = enumerate_target_group(model, enumerate_layout_group(model));
  const auto base = enumerate_base(model, model.target_class, enumerate_views(model));
  auto wanted = base;
  for (const Images& g : target) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t j = 0; j < n; ++j) wanted[a][j] = wanted[a][j] && base[static_cast<std::size_t>(g[a])][static_cast<std::size_t>(g[j])];
    }
  }
  const auto networks = draw_networks(model, seed, depth);
  const Matrix x = draw_tokens(random, model.tokens);
  const Matrix of_x = run_all(networks, x);
  for (const Images& tau : all_permutations(model.tokens)) {
    Matrix y(n);
    for (std::size_t j = 0; j < n; ++j) y[static_cast<std::size_t>(tau[j])] = x[j];
    const Matrix of_y = run_all(networks, y);
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        const bool same_target = std::any_of(target.begin(), target.end(), [&](const Images& g) {
          bool agrees = static_cast<std::size_t>(g[a]) == b && static_cast<std::size_t>(tau[a]) == b;
          for (std::size_t j = 0; j < n; ++j) agrees = agrees && (!wanted[a][j] || g[j] == tau[j]);
          return agrees;
        });
        if (same_target) continue;
        INFO("a ", a, " b ", b);
        CHECK(measure_distance(of_x[a], of_y[b]) > different_above);
      }
    }
  }
  // What a token should see it does see.
  for (std::size_t j = 0; j < n; ++j) {
    Matrix y = x;
    y[j] = draw_tokens(random, 1)[0];
    const Matrix of_y = run_all(networks, y);
    for (std::size_t a = 0; a < n; ++a) {
      if (wanted[a][j]) CHECK(measure_distance(of_x[a], of_y[a]) > different_above);
    }
  }
}

void check_certified_ids(const SmallModel& model, std::uint64_t seed, std::size_t depth) {
  const auto n = static_cast<std::size_t>(model.tokens);
  const IdEnumeration e(model);
  const auto networks = draw_networks(model, seed, depth);
  std::vector<std::pair<Vector, std::size_t>> outputs;  // with their target
  for (std::size_t x = 0; x < e.inputs().size(); ++x) {
    Matrix all(n);
    for (const Network& network : networks) {
      const Matrix out = network.run_ids(e.inputs()[x]);
      for (std::size_t a = 0; a < n; ++a) all[a].insert(all[a].end(), out[a].begin(), out[a].end());
    }
    for (std::size_t a = 0; a < n; ++a) outputs.emplace_back(all[a], e.targets()[x * n + a]);
  }
  // Outputs that are close are close in the first coordinate too.
  std::sort(outputs.begin(), outputs.end());
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    for (std::size_t l = k + 1; l < outputs.size() && outputs[l].first[0] - outputs[k].first[0] <= different_above; ++l) {
      if (outputs[k].second != outputs[l].second) CHECK(measure_distance(outputs[k].first, outputs[l].first) > different_above);
    }
  }
}

Taste make_taste(bool table, int max_tokens) {
  Taste taste;
  taste.table = table;
  taste.max_tokens = max_tokens;
  taste.labelled_inputs = 500;
  return taste;
}

/// Draws architectures until `count` of the verdict have been checked.
void sweep(std::uint64_t first, int count, Verdict wanted, const Taste& taste) {
  int checked = 0;
  const bool replay = replayed_seed().has_value();
  for (std::uint64_t seed = replay ? *replayed_seed() : first; checked < count; ++seed) {
    std::mt19937_64 random(seed);
    const SmallModel model = draw_model(random, taste);
    const verdict::Answer answer = verdict::certify(to_architecture(model), sightline::Budget{});
    if (answer.verdict == wanted) {
      INFO("seed ", seed, "\n", model.describe());
      // An unbounded list is run as deep as the answer says is needed.
      const std::size_t depth = model.listed ? model.unroll().size() : answer.needed.value_or(0);
      if (wanted == Verdict::impossible) check_impossible(model, answer, seed);
      else if (model.table) check_certified_ids(model, seed, depth);
      else check_certified(model, seed, depth);
      ++checked;
    }
    if (replay) return;
    REQUIRE(seed < first + 100 * static_cast<std::uint64_t>(count));
  }
}

}  // namespace

TEST_CASE("impossible: random networks agree on what is shown") {
  sweep(3000000, 20, Verdict::impossible, make_taste(false, 6));
}
TEST_CASE("certified: random networks separate all that targets separate") {
  sweep(4000000, 20, Verdict::certified, make_taste(false, 5));
}
TEST_CASE("impossible on ids: random networks agree on what is shown") {
  sweep(5000000, 20, Verdict::impossible, make_taste(true, 6));
}
TEST_CASE("certified on ids: random networks separate all that targets separate") {
  sweep(6000000, 20, Verdict::certified, make_taste(true, 5));
}

TEST_SUITE("slow") {
  TEST_CASE("impossible, 200 architectures") { sweep(30000000, 200, Verdict::impossible, make_taste(false, 6)); }
  TEST_CASE("certified, 200 architectures") { sweep(40000000, 200, Verdict::certified, make_taste(false, 6)); }
  TEST_CASE("impossible on ids, 200 architectures") { sweep(50000000, 200, Verdict::impossible, make_taste(true, 6)); }
  TEST_CASE("certified on ids, 200 architectures") { sweep(60000000, 200, Verdict::certified, make_taste(true, 6)); }
}

// The rules L1-L5 against numbers: networks with random weights cannot tell equal labels apart, and tell all others apart.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "network.hpp"
#include "oracle.hpp"

using namespace sight_labels;

namespace {

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t c = 0; c < a.size(); ++c) largest = std::max(largest, std::abs(a[c] - b[c]));
  return largest;
}

struct Found {
  double equal = 0;       ///< largest distance between outputs with equal labels
  double different = 1e9; ///< smallest distance between outputs with different labels
};

// Outputs of three networks side by side.
Found compare(const Model& model, std::size_t depth, std::uint64_t seed) {
  Oracle oracle(model);
  for (std::size_t q = 0; q < depth; ++q) oracle.advance();
  std::vector<Network> networks;
  for (std::uint64_t k = 0; k < 3; ++k) networks.emplace_back(model, seed * 10 + k, depth);
  std::map<std::uint32_t, std::vector<double>> first;
  Found found;
  for (std::size_t x = 0; x < oracle.inputs(); ++x) {
    std::vector<std::vector<double>> out(model.tokens);
    for (const Network& network : networks) {
      const auto values = network.run(oracle.ids(x));
      for (Vertex a = 0; a < model.tokens; ++a) out[a].insert(out[a].end(), values[a].begin(), values[a].end());
    }
    for (Vertex a = 0; a < model.tokens; ++a) {
      const auto [entry, fresh] = first.try_emplace(oracle.labels(x)[a], out[a]);
      if (!fresh) found.equal = std::max(found.equal, distance(entry->second, out[a]));
    }
  }
  for (auto a = first.begin(); a != first.end(); ++a) {
    for (auto b = std::next(a); b != first.end(); ++b) found.different = std::min(found.different, distance(a->second, b->second));
  }
  return found;
}

void sweep_networks(std::uint64_t seed, int count, double labelled_inputs) {
  for (int k = 0; k < count; ++k) {
    const std::uint64_t own = seed * 1000003 + static_cast<std::uint64_t>(k);
    std::mt19937_64 random(own);
    const Model model = draw_model(random, labelled_inputs);
    const bool max = std::any_of(model.heads.begin(), model.heads.end(), [](const Head& head) { return head.rule == RowRule::set; });
    const std::size_t depth = random() % 4;
    INFO("seed ", own, " depth ", depth, "\n", model.describe());
    const Found found = compare(model, depth, own);
    CHECK(found.equal < 1e-11);
    // Max pooling is not bound to separate what its labels separate (L6 is necessary only).
    if (!max) CHECK(found.different > 1e-9);
  }
}

}  // namespace

TEST_CASE("random networks see exactly the labels") { sweep_networks(7, 120, 60); }

TEST_SUITE("slow") {
  TEST_CASE("random networks see exactly the labels, 600 architectures") { sweep_networks(8, 600, 330); }
}

#include "sightline/sight/labels_inputs.hpp"

#include <algorithm>
#include <limits>

#include "sightline/base/error.hpp"

namespace sightline::sight {

namespace {

using Images = std::vector<group::Point>;

// seen[a][j]: token a ever sees token j. For ever means that every path of the union of all layers gets its turn.
std::vector<std::vector<bool>> compute_ever_seen(const layout::Layout& layout) {
  const Vertex vertices = layout.vertices();
  std::vector<std::vector<Vertex>> reads(vertices);
  for (const std::uint32_t used : layout.order) {
    for (const std::uint32_t r : layout.layers[used].relations) {
      for (Vertex i = 0; i < vertices; ++i) {
        for (const layout::Run& run : layout.relations[r].pattern().row(i)) {
          for (Vertex k = 0; k < run.size(); ++k) reads[i].push_back(run.first + k * run.step);
        }
        std::sort(reads[i].begin(), reads[i].end());
        reads[i].erase(std::unique(reads[i].begin(), reads[i].end()), reads[i].end());
      }
    }
  }
  std::vector<std::vector<bool>> seen(layout.tokens, std::vector<bool>(vertices, false));
  for (Vertex a = 0; a < layout.tokens; ++a) {
    std::vector<Vertex> open{a};
    seen[a][a] = true;
    while (!open.empty()) {
      const Vertex i = open.back();
      open.pop_back();
      for (const Vertex j : reads[i]) {
        if (!seen[a][j]) {
          seen[a][j] = true;
          open.push_back(j);
        }
      }
    }
  }
  return seen;
}

// Generators of the subgroup that fixes point 0 (Schreier: transversal elements times generators, brought back).
std::vector<Images> list_stabiliser_generators(const std::vector<Images>& generators, group::Point degree) {
  std::vector<Images> carry(degree);  // carry[p](0) = p, empty when p is not in the orbit
  carry[0].resize(degree);
  for (group::Point x = 0; x < degree; ++x) carry[0][x] = x;
  std::vector<Images> result;
  std::vector<group::Point> orbit{0};
  for (std::size_t k = 0; k < orbit.size(); ++k) {
    for (const Images& g : generators) {
      Images product(degree);
      for (group::Point x = 0; x < degree; ++x) product[x] = g[carry[orbit[k]][x]];
      const group::Point p = product[0];
      if (carry[p].empty()) {
        carry[p] = std::move(product);
        orbit.push_back(p);
        continue;
      }
      Images back(degree), fixing(degree);
      for (group::Point x = 0; x < degree; ++x) back[carry[p][x]] = x;
      for (group::Point x = 0; x < degree; ++x) fixing[x] = back[product[x]];
      if (!std::is_sorted(fixing.begin(), fixing.end())) result.push_back(std::move(fixing));
    }
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<Images> list_acting_generators(const IdQuestion& question) {
  std::vector<Images> generators;
  if (question.target == nullptr || question.target->is_trivial()) return generators;
  for (const group::Permutation& g : group::list_generators(*question.target, std::numeric_limits<std::size_t>::max())) {
    generators.push_back(g.images(question.layout->tokens));
  }
  const bool moves_bos = question.bos && std::any_of(generators.begin(), generators.end(), [](const Images& g) { return g[0] != 0; });
  return moves_bos ? list_stabiliser_generators(generators, question.layout->tokens) : generators;
}

}  // namespace

Inputs::Inputs(const IdQuestion& question)
    : tokens(question.layout->tokens), vertices(question.layout->vertices()), first_ordinary(question.bos ? 1 : 0),
      vocabulary(question.vocabulary), count(1), weight(tokens, 0) {
  for (Vertex token = tokens; token-- > first_ordinary;) {
    weight[token] = count;
    if (count > std::numeric_limits<std::uint32_t>::max() / vocabulary) throw ArgumentError("more than 2^32 id sequences");
    count *= vocabulary;
  }
  if (count > (std::numeric_limits<std::uint32_t>::max() - 1) / vertices) throw ArgumentError("more than 2^32 labelled inputs");
}

Targets::Targets(const IdQuestion& question, const Inputs& inputs, const Budget& budget) : tokens_(inputs.tokens), budget_(budget) {
  budget.ask(inputs.count * tokens_ * sizeof(label_[0]));
  label_.resize(inputs.count * tokens_);
  for (std::size_t x = 0; x < label_.size(); ++x) label_[x] = static_cast<std::uint32_t>(x);
  if (question.target_class != ClassKind::all) {
    std::vector<std::vector<bool>> seen;
    if (question.target_class == ClassKind::seen) seen = compute_ever_seen(*question.layout);
    for (Vertex a = 0; a < tokens_; ++a) {
      for (std::uint64_t k = 0; k < inputs.count; ++k) {
        if ((k & 0xfff) == 0) budget.poll();
        std::uint64_t same = k;
        for (Vertex j = inputs.first_ordinary; j < tokens_; ++j) {
          const bool counts = question.target_class == ClassKind::seen ? seen[a][j] : j <= a;
          if (!counts) same -= inputs.weight[j] * inputs.id(k, j);
        }
        if (same != k) unite(same * tokens_ + a, k * tokens_ + a);
      }
    }
  }
  for (const Images& g : list_acting_generators(question)) {
    for (std::uint64_t k = 0; k < inputs.count; ++k) {
      if ((k & 0xfff) == 0) budget.poll();
      std::uint64_t moved = 0;
      for (Vertex j = inputs.first_ordinary; j < tokens_; ++j) moved += inputs.weight[g[j]] * inputs.id(k, j);
      for (Vertex a = 0; a < tokens_; ++a) unite(moved * tokens_ + g[a], k * tokens_ + a);
    }
  }
  for (std::size_t x = 0; x < label_.size(); ++x) {
    label_[x] = find(static_cast<std::uint32_t>(x));
    if (label_[x] == x) ++distinct_;
  }
}

Targets::~Targets() { budget_.give_back(label_.size() * sizeof(label_[0])); }

std::uint32_t Targets::find(std::uint32_t x) {
  while (label_[x] != x) {
    label_[x] = label_[label_[x]];
    x = label_[x];
  }
  return x;
}

void Targets::unite(std::uint64_t x, std::uint64_t y) {
  const std::uint32_t a = find(static_cast<std::uint32_t>(x)), b = find(static_cast<std::uint32_t>(y));
  label_[std::max(a, b)] = std::min(a, b);
}

}  // namespace sightline::sight

#include "nauty_oracle.hpp"

#include <map>
#include <set>
#include <stdexcept>

#include "sample.hpp"

// nauty's header last: it defines macros with short names.
#include <nausparse.h>
#include <nauty.h>
#include <nautinv.h>

namespace oracle {

namespace {

using Matrices = std::vector<std::vector<std::int64_t>>;

/// Names of vertex tuples and, per relation, of arc colours; shared by structures that are compared.
struct Dictionary {
  std::set<std::vector<std::int64_t>> vertices;
  std::vector<std::map<std::int64_t, int>> arcs;
};

std::vector<std::int64_t> vertex_tuple(const sightline::symmetry::Structure& structure, const Matrices& matrices, std::size_t v) {
  std::vector<std::int64_t> tuple{static_cast<std::int64_t>(structure.vertex_colour[v])};
  for (const auto& matrix : matrices) tuple.push_back(matrix[v * structure.vertices + v]);
  return tuple;
}

void learn(Dictionary& dictionary, const sightline::symmetry::Structure& structure, const Matrices& matrices) {
  for (std::size_t v = 0; v < structure.vertices; ++v) dictionary.vertices.insert(vertex_tuple(structure, matrices, v));
  dictionary.arcs.resize(matrices.size());
  for (std::size_t r = 0; r < matrices.size(); ++r) {
    for (std::size_t i = 0; i < structure.vertices; ++i) {
      for (std::size_t j = 0; j < structure.vertices; ++j) {
        const std::int64_t colour = matrices[r][i * structure.vertices + j];
        if (colour >= 0 && i != j) dictionary.arcs[r].emplace(colour, 0);
      }
    }
  }
}

struct Drawing {
  sparsegraph graph;
  std::vector<int> lab, ptn, orbits;
  std::vector<std::size_t> v;
  std::vector<int> d, e;
};

/// nauty takes minutes over some layouts of fifty vertices; it is stopped after this many nodes.
constexpr long most_nodes = 20000;
long nodes = 0;
void count_node(graph*, int*, int*, int, int, int, int, int, int) {
  if (++nodes > most_nodes) nauty_kill_request = 1;
}

void prepare(optionblk& options) {
  options.defaultptn = FALSE;
  options.invarproc = adjacencies_sg;
  options.maxinvarlevel = 999;
  options.schreier = TRUE;
  options.usernodeproc = count_node;
  nodes = 0;
  nauty_kill_request = 0;
}

std::vector<mpz_class>* order_parts = nullptr;
void record_level(int*, int*, int, int*, statsblk*, int, int index, int, int, int, int) { order_parts->emplace_back(index); }

void draw(Drawing& drawing, const Dictionary& dictionary, const sightline::symmetry::Structure& structure, const Matrices& matrices) {
  const std::size_t n = structure.vertices;
  std::size_t layers = 0;
  std::vector<std::map<std::int64_t, unsigned>> number(matrices.size());
  std::vector<std::size_t> first_layer(matrices.size());
  for (std::size_t r = 0; r < matrices.size(); ++r) {
    unsigned next = 1;
    for (const auto& [colour, unused] : dictionary.arcs[r]) number[r][colour] = next++;
    first_layer[r] = layers;
    for (unsigned bits = next - 1; bits != 0; bits >>= 1) ++layers;
  }
  layers = std::max<std::size_t>(layers, 1);
  std::vector<std::set<int>> out(n * layers);
  for (std::size_t layer = 0; layer + 1 < layers; ++layer) {
    for (std::size_t v = 0; v < n; ++v) {
      out[layer * n + v].insert(static_cast<int>((layer + 1) * n + v));
      out[(layer + 1) * n + v].insert(static_cast<int>(layer * n + v));
    }
  }
  for (std::size_t r = 0; r < matrices.size(); ++r) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const std::int64_t colour = matrices[r][i * n + j];
        if (colour < 0 || i == j) continue;
        const unsigned bits = number[r].at(colour);
        for (unsigned bit = 0; bits >> bit != 0; ++bit) {
          if ((bits >> bit & 1) != 0) out[(first_layer[r] + bit) * n + i].insert(static_cast<int>((first_layer[r] + bit) * n + j));
        }
      }
    }
  }
  const std::size_t total = n * layers;
  for (const auto& targets : out) {
    drawing.v.push_back(drawing.e.size());
    drawing.d.push_back(static_cast<int>(targets.size()));
    drawing.e.insert(drawing.e.end(), targets.begin(), targets.end());
  }
  SG_INIT(drawing.graph);
  drawing.graph.nv = static_cast<int>(total);
  drawing.graph.nde = drawing.e.size();
  if (drawing.e.empty()) drawing.e.push_back(0);
  drawing.graph.v = drawing.v.data();
  drawing.graph.d = drawing.d.data();
  drawing.graph.e = drawing.e.data();
  drawing.graph.vlen = drawing.v.size();
  drawing.graph.dlen = drawing.d.size();
  drawing.graph.elen = drawing.e.size();
  const auto end_cell = [&] {
    if (!drawing.ptn.empty()) drawing.ptn.back() = 0;
  };
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (const auto& tuple : dictionary.vertices) {
      for (std::size_t v = 0; v < n; ++v) {
        if (vertex_tuple(structure, matrices, v) != tuple) continue;
        drawing.lab.push_back(static_cast<int>(layer * n + v));
        drawing.ptn.push_back(1);
      }
      end_cell();
    }
  }
  drawing.orbits.resize(total);
}

}  // namespace

std::optional<Answer> compute(const sightline::symmetry::Structure& structure) {
  const Matrices matrices = sample::to_matrices(structure);
  Dictionary dictionary;
  learn(dictionary, structure, matrices);
  Drawing drawing;
  draw(drawing, dictionary, structure, matrices);
  DEFAULTOPTIONS_SPARSEDIGRAPH(options);
  prepare(options);
  options.userlevelproc = record_level;
  std::vector<mpz_class> parts;
  order_parts = &parts;
  statsblk stats;
  sparsenauty(&drawing.graph, drawing.lab.data(), drawing.ptn.data(), drawing.orbits.data(), &options, &stats, nullptr);
  if (stats.errstatus != 0) return std::nullopt;
  Answer answer;
  answer.order = 1;
  for (const mpz_class& part : parts) answer.order *= part;
  for (std::size_t v = 0; v < structure.vertices; ++v) answer.orbit.push_back(static_cast<sightline::layout::Vertex>(drawing.orbits[v]));
  return answer;
}

std::optional<bool> are_isomorphic(const sightline::symmetry::Structure& a, const sightline::symmetry::Structure& b) {
  const Matrices in_a = sample::to_matrices(a), in_b = sample::to_matrices(b);
  Dictionary dictionary;
  learn(dictionary, a, in_a);
  learn(dictionary, b, in_b);
  std::multiset<std::vector<std::int64_t>> tuples_a, tuples_b;
  for (std::size_t v = 0; v < a.vertices; ++v) tuples_a.insert(vertex_tuple(a, in_a, v));
  for (std::size_t v = 0; v < b.vertices; ++v) tuples_b.insert(vertex_tuple(b, in_b, v));
  if (tuples_a != tuples_b) return false;
  SG_DECL(canonical_a);
  SG_DECL(canonical_b);
  const sightline::symmetry::Structure* structures[] = {&a, &b};
  const Matrices* matrices[] = {&in_a, &in_b};
  sparsegraph* canonical[] = {&canonical_a, &canonical_b};
  for (int k = 0; k < 2; ++k) {
    Drawing drawing;
    draw(drawing, dictionary, *structures[k], *matrices[k]);
    DEFAULTOPTIONS_SPARSEDIGRAPH(options);
    options.getcanon = TRUE;
    prepare(options);
    statsblk stats;
    sparsenauty(&drawing.graph, drawing.lab.data(), drawing.ptn.data(), drawing.orbits.data(), &options, &stats, canonical[k]);
    if (stats.errstatus != 0) return std::nullopt;
    sortlists_sg(canonical[k]);
  }
  const bool equal = aresame_sg(&canonical_a, &canonical_b) != FALSE;
  SG_FREE(canonical_a);
  SG_FREE(canonical_b);
  return equal;
}

}  // namespace oracle

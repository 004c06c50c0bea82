#include <gmpxx.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "child.hpp"
#include "peer_graph.hpp"

// nauty's header last: it defines macros with short names.
#include <nausparse.h>
#include <nauty.h>
#include <nautinv.h>

namespace bench {

namespace {

std::vector<int>* indices = nullptr;
void record_index(int*, int*, int, int*, statsblk*, int, int index, int, int, int, int) { indices->push_back(index); }

/// Product of a list by halves: orders of block masks have 100,000 digits.
mpz_class multiply_all(const std::vector<int>& factors, std::size_t begin, std::size_t end) {
  if (end - begin == 0) return 1;
  if (end - begin == 1) return factors[begin];
  const std::size_t middle = begin + (end - begin) / 2;
  return multiply_all(factors, begin, middle) * multiply_all(factors, middle, end);
}

}  // namespace

Solved solve_with_nauty(const PeerGraph& graph, bool with_invariant, const std::function<void()>& start_clock) {
  std::vector<int> degree(graph.vertices), lab(graph.vertices), ptn(graph.vertices, 1), orbits(graph.vertices);
  std::vector<int> head(graph.head.begin(), graph.head.end());
  std::vector<std::size_t> begin(graph.begin.begin(), graph.begin.end() - 1);
  for (std::size_t v = 0; v < graph.vertices; ++v) degree[v] = static_cast<int>(graph.begin[v + 1] - graph.begin[v]);
  std::iota(lab.begin(), lab.end(), 0);
  std::stable_sort(lab.begin(), lab.end(), [&](int a, int b) { return graph.colour[a] < graph.colour[b]; });
  for (std::size_t k = 0; k < lab.size(); ++k) {
    if (k + 1 == lab.size() || graph.colour[lab[k]] != graph.colour[lab[k + 1]]) ptn[k] = 0;
  }
  if (head.empty()) head.push_back(0);
  sparsegraph sparse;
  SG_INIT(sparse);
  sparse.nv = static_cast<int>(graph.vertices);
  sparse.nde = graph.head.size();
  sparse.v = begin.data();
  sparse.d = degree.data();
  sparse.e = head.data();
  sparse.vlen = begin.size();
  sparse.dlen = degree.size();
  sparse.elen = head.size();
  DEFAULTOPTIONS_SPARSEDIGRAPH(options);
  options.defaultptn = FALSE;
  if (with_invariant) {
    options.invarproc = adjacencies_sg;
    options.maxinvarlevel = 999;
  } else {
    options.invarproc = nullptr;
    options.maxinvarlevel = 0;
  }
  options.userlevelproc = record_index;
  std::vector<int> found;
  indices = &found;
  statsblk stats;
  start_clock();
  const double start = processor_time();
  sparsenauty(&sparse, lab.data(), ptn.data(), orbits.data(), &options, &stats, nullptr);
  Solved solved;
  solved.seconds = processor_time() - start;
  if (stats.errstatus != 0) throw std::runtime_error("nauty reports an error");
  solved.order = multiply_all(found, 0, found.size()).get_str();
  return solved;
}

}  // namespace bench

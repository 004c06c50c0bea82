#include "hard_graphs.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <random>

namespace bench {

using sightline::layout::Vertex;

namespace {

using Rows = std::vector<std::vector<Vertex>>;
using Edges = std::vector<std::pair<Vertex, Vertex>>;

Rows from_relation(Vertex n, const std::function<bool(Vertex, Vertex)>& joined) {
  Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (i != j && joined(i, j)) rows[i].push_back(j);
    }
  }
  return rows;
}

Rows from_edges(Vertex n, const Edges& edges) {
  Rows rows(n);
  for (const auto& [x, y] : edges) {
    rows[x].push_back(y);
    rows[y].push_back(x);
  }
  return rows;
}

Rows make_paley(Vertex p) {
  std::vector<bool> square(p);
  for (std::uint64_t x = 1; x < p; ++x) square[x * x % p] = true;
  return from_relation(p, [&](Vertex i, Vertex j) { return square[(i + p - j) % p]; });
}

/// A cubic graph from its LCF code.
Rows from_lcf(const std::vector<int>& jumps, int repeat) {
  const int n = static_cast<int>(jumps.size()) * repeat;
  Rows rows(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) {
    const int j = ((i + jumps[static_cast<std::size_t>(i) % jumps.size()]) % n + n) % n;
    auto& row = rows[static_cast<std::size_t>(i)];
    row = {static_cast<Vertex>((i + 1) % n), static_cast<Vertex>((i + n - 1) % n), static_cast<Vertex>(j)};
  }
  return rows;
}

/// Incidence graph of the projective plane over a prime field: the (q+1, 6)-cage.
Rows make_plane(Vertex q) {
  std::vector<std::array<Vertex, 3>> points;
  for (Vertex a = 0; a < q; ++a) {
    for (Vertex b = 0; b < q; ++b) points.push_back({1, a, b});
  }
  for (Vertex a = 0; a < q; ++a) points.push_back({0, 1, a});
  points.push_back({0, 0, 1});
  const auto count = static_cast<Vertex>(points.size());
  Edges edges;
  for (Vertex x = 0; x < count; ++x) {
    for (Vertex l = 0; l < count; ++l) {
      Vertex sum = 0;
      for (std::size_t k = 0; k < 3; ++k) sum += points[x][k] * points[l][k];
      if (sum % q == 0) edges.emplace_back(x, count + l);
    }
  }
  return from_edges(2 * count, edges);
}

/// The graph of a Latin square: cells, joined when they share row, column or symbol. Strongly regular.
Rows make_latin(Vertex n, const std::function<Vertex(Vertex, Vertex)>& symbol) {
  return from_relation(n * n, [&](Vertex x, Vertex y) {
    return x / n == y / n || x % n == y % n || symbol(x / n, x % n) == symbol(y / n, y % n);
  });
}

/// A Latin square without symmetry to speak of: a cyclic one after many random switches of cycles of two rows.
std::vector<Vertex> make_random_latin(Vertex n, std::mt19937_64& random) {
  std::vector<Vertex> square(n * n);
  for (Vertex r = 0; r < n; ++r) {
    for (Vertex c = 0; c < n; ++c) square[r * n + c] = (r + c) % n;
  }
  for (int step = 0; step < 4000; ++step) {
    const auto r = static_cast<Vertex>(random() % n), s = static_cast<Vertex>(random() % n);
    if (r == s) continue;
    const auto start = static_cast<Vertex>(random() % n);
    Vertex c = start;
    do {
      std::swap(square[r * n + c], square[s * n + c]);
      const Vertex wanted = square[r * n + c];
      Vertex next = start;
      for (Vertex k = 0; k < n; ++k) {
        if (k != c && square[r * n + k] == wanted) next = k;
      }
      c = next;
    } while (c != start);
  }
  return square;
}

Rows make_triangular(Vertex n) {
  Edges pairs;
  for (Vertex a = 0; a < n; ++a) {
    for (Vertex b = a + 1; b < n; ++b) pairs.emplace_back(a, b);
  }
  return from_relation(static_cast<Vertex>(pairs.size()), [&](Vertex x, Vertex y) {
    return pairs[x].first == pairs[y].first || pairs[x].first == pairs[y].second || pairs[x].second == pairs[y].first || pairs[x].second == pairs[y].second;
  });
}

/// 4n vertices: rows and columns of a matrix of signs, each twice, joined by sign.
Rows make_hadamard(Vertex n, const std::function<int(Vertex, Vertex)>& sign) {
  Edges edges;
  for (Vertex r = 0; r < n; ++r) {
    for (Vertex c = 0; c < n; ++c) {
      const bool plus = sign(r, c) > 0;
      edges.emplace_back(2 * r, 2 * n + 2 * c + (plus ? 0 : 1));
      edges.emplace_back(2 * r + 1, 2 * n + 2 * c + (plus ? 1 : 0));
    }
    edges.emplace_back(2 * r, 2 * r + 1);
    edges.emplace_back(2 * n + 2 * r, 2 * n + 2 * r + 1);
  }
  return from_edges(4 * n, edges);
}

Rows make_paley_hadamard(Vertex prime) {
  std::vector<int> character(prime, -1);
  character[0] = 0;
  for (std::uint64_t x = 1; x < prime; ++x) character[x * x % prime] = 1;
  return make_hadamard(prime + 1, [character, prime](Vertex r, Vertex c) {
    if (r == 0) return 1;
    if (c == 0) return -1;
    return r == c ? 1 : character[(c + prime - r) % prime];
  });
}

/// Cai-Fuerer-Immerman over a cubic graph: four middles and six ends per base vertex; `twists` edges are crossed.
Rows make_cfi(const Rows& base, int twists) {
  const auto n = static_cast<Vertex>(base.size());
  Edges edges;
  const auto end = [&](Vertex v, Vertex neighbour, unsigned value) {
    const auto k = static_cast<Vertex>(std::find(base[v].begin(), base[v].end(), neighbour) - base[v].begin());
    return v * 10 + 4 + 2 * k + value;
  };
  for (Vertex v = 0; v < n; ++v) {
    Vertex middle = v * 10;
    for (unsigned set = 0; set < 8; ++set) {
      if (__builtin_popcount(set) % 2 != 0) continue;
      for (unsigned k = 0; k < 3; ++k) edges.emplace_back(middle, v * 10 + 4 + 2 * k + (set >> k & 1));
      ++middle;
    }
    for (const Vertex w : base[v]) {
      if (w < v) continue;
      const unsigned cross = twists-- > 0 ? 1 : 0;
      for (unsigned value = 0; value < 2; ++value) edges.emplace_back(end(v, w, value), end(w, v, value ^ cross));
    }
  }
  return from_edges(n * 10, edges);
}

/// A cubic graph at random: a cycle and a perfect matching without short chords.
Rows make_random_cubic(Vertex n, std::mt19937_64& random) {
  std::vector<Vertex> order(n);
  std::iota(order.begin(), order.end(), Vertex{0});
  while (true) {
    std::shuffle(order.begin(), order.end(), random);
    bool proper = true;
    for (Vertex k = 0; k < n && proper; k += 2) {
      const Vertex gap = order[k] > order[k + 1] ? order[k] - order[k + 1] : order[k + 1] - order[k];
      proper = gap != 1 && gap != n - 1;
    }
    if (!proper) continue;
    Edges edges;
    for (Vertex i = 0; i < n; ++i) edges.emplace_back(i, (i + 1) % n);
    for (Vertex k = 0; k < n; k += 2) edges.emplace_back(order[k], order[k + 1]);
    return from_edges(n, edges);
  }
}

}  // namespace

std::vector<HardGraph> list_hard_graphs() {
  std::mt19937_64 random(3);
  std::vector<HardGraph> graphs;
  const auto add = [&](const std::string& name, const Rows& rows) {
    std::vector<Vertex> to(rows.size());
    std::iota(to.begin(), to.end(), Vertex{0});
    std::shuffle(to.begin(), to.end(), random);
    Rows renamed(rows.size());
    for (Vertex i = 0; i < rows.size(); ++i) {
      for (const Vertex j : rows[i]) renamed[to[i]].push_back(to[j]);
      std::sort(renamed[to[i]].begin(), renamed[to[i]].end());
    }
    graphs.push_back({name, std::move(renamed)});
  };
  for (const Vertex p : {101, 197, 401, 461}) add("Paley " + std::to_string(p), make_paley(p));
  add("rook 20 x 20", from_relation(400, [](Vertex x, Vertex y) { return x / 20 == y / 20 || x % 20 == y % 20; }));
  add("triangular 30", make_triangular(30));
  for (const Vertex n : {12, 16, 20}) add("Latin square, cyclic " + std::to_string(n), make_latin(n, [n](Vertex r, Vertex c) { return (r + c) % n; }));
  add("Latin square, 2-group 16", make_latin(16, [](Vertex r, Vertex c) { return r ^ c; }));
  for (const Vertex n : {12, 16, 20}) {
    const std::vector<Vertex> square = make_random_latin(n, random);
    add("Latin square, random " + std::to_string(n), make_latin(n, [&](Vertex r, Vertex c) { return square[r * n + c]; }));
  }
  add("cage (3,8), 30", from_lcf({-13, -9, 7, -7, 9, 13}, 5));
  add("cage (3,12), 126", from_lcf({17, 27, -13, -59, -35, 35, -11, 13, -53, 53, -27, 21, 57, 11, -21, -57, 59, -17}, 7));
  add("cage (3,10), 70", from_lcf({-9, -25, -19, 29, 13, 35, -13, -29, 19, 25, 9, -29, 29, 17, 33, 21, 9, -13, -31, -9, 25, 17, 9, -31, 27, -9, 17, -19, -29, 27, -17, -9, -29, 33, -25, 25, -21, 17, -17, 29, 35, -29, 17, -17,
                                   21, -25, 25, -33, 29, 9, 17, -27, 29, 19, -17, 9, -27, 31, -9, -17, -25, 9, 31, 13, -9, -21, -33, -17, -29, 29}, 1));
  for (const Vertex q : {7, 11, 13}) add("cage (" + std::to_string(q + 1) + ",6)", make_plane(q));
  for (const Vertex m : {32, 64}) add("Hadamard, Sylvester " + std::to_string(m), make_hadamard(m, [](Vertex r, Vertex c) { return __builtin_popcount(r & c) % 2 == 0 ? 1 : -1; }));
  for (const Vertex p : {31, 83, 103}) add("Hadamard, Paley " + std::to_string(p + 1), make_paley_hadamard(p));
  for (const Vertex n : {20, 30, 40, 50}) {
    const Rows base = make_random_cubic(n, random);
    for (const int twists : {0, 1}) add("Cai-Fuerer-Immerman " + std::to_string(10 * n) + (twists == 0 ? ", straight" : ", twisted"), make_cfi(base, twists));
  }
  return graphs;
}

sightline::layout::Layout make_layout(const HardGraph& graph) {
  using namespace sightline::layout;
  Layout layout;
  layout.tokens = static_cast<Vertex>(graph.rows.size());
  layout.vertex_colour.assign(layout.tokens, 0);
  layout.relations.emplace_back(make_pattern_from_rows(layout.tokens, graph.rows), Relative{}, Cancels::nothing, layout.tokens);
  layout.layers.push_back({{0}});
  layout.order = {0};
  return layout;
}

}  // namespace bench

// Random structures for the tests, owning their relations.
#pragma once

#include <algorithm>
#include <deque>
#include <numeric>
#include <random>

#include "sightline/symmetry/automorphism.hpp"

namespace sample {

using sightline::layout::Cancels;
using sightline::layout::Pattern;
using sightline::layout::Relation;
using sightline::layout::Relative;
using sightline::layout::RelativeKind;
using sightline::layout::Vertex;
using sightline::symmetry::Structure;
using Rows = std::vector<std::vector<Vertex>>;

inline const sightline::Budget budget;

/// A structure with its relations; the addresses of the relations stay valid.
struct Sample {
  std::deque<Relation> relations;
  Structure structure;

  explicit Sample(Vertex n = 0) {
    structure.vertices = n;
    structure.vertex_colour.assign(n, 0);
  }
  Sample(const Sample&) = delete;
  Sample(Sample&&) = default;
  Sample& operator=(Sample&&) = default;
  void add(Pattern pattern, Relative relative = {}, Cancels cancels = Cancels::nothing, Vertex tokens = ~Vertex{0}) {
    if (tokens == ~Vertex{0}) tokens = structure.vertices;
    relations.emplace_back(std::move(pattern), relative, cancels, tokens);
    structure.relations.push_back({&relations.back(), {}});
  }
  void add(const Rows& rows) { add(sightline::layout::make_pattern_from_rows(structure.vertices, rows)); }
};

/// Every row sorted, each vertex once.
inline void tidy(Rows& rows) {
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
}

/// The vertices renamed at random.
inline Rows relabel(const Rows& rows, std::mt19937_64& random) {
  std::vector<Vertex> images(rows.size());
  std::iota(images.begin(), images.end(), Vertex{0});
  std::shuffle(images.begin(), images.end(), random);
  Rows renamed(rows.size());
  for (Vertex i = 0; i < rows.size(); ++i) {
    for (const Vertex j : rows[i]) renamed[images[i]].push_back(images[j]);
  }
  tidy(renamed);
  return renamed;
}

/// Colour of (i, j) in every relation, -1 absent, -2 hidden.
inline std::vector<std::vector<std::int64_t>> to_matrices(const Structure& structure) {
  std::vector<std::vector<std::int64_t>> matrices;
  const Vertex n = structure.vertices;
  for (const auto& relation : structure.relations) {
    std::vector<std::int64_t> matrix(std::size_t{n} * n);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        const bool visible = relation.visible.empty() || relation.visible[i];
        matrix[std::size_t{i} * n + j] = visible ? relation.relation->colour(i, j) : -2;
      }
    }
    matrices.push_back(std::move(matrix));
  }
  return matrices;
}

/// The structure with vertex x renamed to images[x]; relations become explicit rows with the effective colours as colours.
inline Sample rename(const Structure& structure, const std::vector<Vertex>& images) {
  const Vertex n = structure.vertices;
  Sample renamed(n);
  for (Vertex x = 0; x < n; ++x) renamed.structure.vertex_colour[images[x]] = structure.vertex_colour[x];
  const auto matrices = to_matrices(structure);
  for (std::size_t r = 0; r < matrices.size(); ++r) {
    Rows rows(n);
    std::vector<std::vector<std::uint32_t>> colours(n);
    std::vector<bool> visible(n, true);
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        const std::int64_t colour = matrices[r][std::size_t{i} * n + j];
        if (colour == -2) visible[images[i]] = false;
        if (colour < 0) continue;
        rows[images[i]].push_back(images[j]);
        colours[images[i]].push_back(static_cast<std::uint32_t>(colour) + 1);
      }
    }
    renamed.add(sightline::layout::make_pattern_from_rows(n, rows, colours));
    renamed.structure.relations.back().visible = visible;
  }
  return renamed;
}

inline Rows random_rows(Vertex n, double density, std::mt19937_64& random) {
  Rows rows(n);
  for (Vertex i = 0; i < n; ++i) {
    for (Vertex j = 0; j < n; ++j) {
      if (static_cast<double>(random() % 1000) < density * 1000) rows[i].push_back(j);
    }
  }
  return rows;
}

/// Rows with some order in them: windows, blocks, strides, circulants, grids, random symmetric graphs.
inline Rows structured_rows(Vertex n, std::mt19937_64& random) {
  Rows rows(n);
  const auto kind = random() % 10;
  const Vertex a = 1 + static_cast<Vertex>(random() % 4), b = 1 + static_cast<Vertex>(random() % 7);
  const auto add_if = [&](auto&& reads) {
    for (Vertex i = 0; i < n; ++i) {
      for (Vertex j = 0; j < n; ++j) {
        if (reads(i, j)) rows[i].push_back(j);
      }
    }
  };
  const Vertex block = 2 + b, cut = static_cast<Vertex>(random() % n);
  switch (kind) {
    case 0: add_if([&](Vertex i, Vertex j) { return (i > j ? i - j : j - i) <= a; }); break;
    case 1: add_if([&](Vertex i, Vertex j) { return i / block == j / block; }); break;
    case 2: add_if([&](Vertex i, Vertex j) { return (i + n - j) % n <= a || (j + n - i) % n <= a; }); break;
    case 3: add_if([&](Vertex i, Vertex j) { return (i + n - j) % n == a || (i + n - j) % n == b % n; }); break;
    case 4: add_if([&](Vertex i, Vertex j) { return (i > j ? i - j : j - i) % block == 0; }); break;
    case 5: add_if([&](Vertex i, Vertex j) { return i / block == j / block || i % block == j % block; }); break;
    case 6: add_if([&](Vertex i, Vertex j) { return j <= i && (j + block > i || j < a); }); break;
    case 7: add_if([&](Vertex i, Vertex j) { return i == j || i < a || j < a || (i > j ? i - j : j - i) == 1; }); break;
    case 8: add_if([&](Vertex i, Vertex j) { return i / block == j / block || j % block == block - 1 || i == cut; }); break;
    default: {
      std::vector<std::uint8_t> edge(std::size_t{n} * n);
      const auto degree = 1 + random() % 4;
      for (Vertex i = 0; i < n; ++i) {
        for (std::uint64_t k = 0; k < degree; ++k) {
          const auto j = static_cast<Vertex>(random() % n);
          edge[std::size_t{i} * n + j] = edge[std::size_t{j} * n + i] = 1;
        }
      }
      add_if([&](Vertex i, Vertex j) { return edge[std::size_t{i} * n + j] != 0; });
    }
  }
  return rows;
}

/// Rows of `count` kinds: blocks, residues or members taken at random, each read by many that are blocks, residues or at random themselves.
inline Rows shared_rows(Vertex n, Vertex count, std::mt19937_64& random) {
  const auto kinds = [&] {
    const auto way = random() % 5;
    std::vector<Vertex> kind(n);
    for (Vertex i = 0; i < n; ++i) {
      kind[i] = static_cast<Vertex>(way < 2 ? i % count : way < 4 ? std::uint64_t{i} * count / n : random() % count);
    }
    return kind;
  };
  const std::vector<Vertex> reads = kinds(), holds = kinds();
  std::vector<std::vector<Vertex>> lists(count);
  for (Vertex j = 0; j < n; ++j) lists[holds[j]].push_back(j);
  Rows rows(n);
  for (Vertex i = 0; i < n; ++i) rows[i] = lists[reads[i]];
  return rows;
}

}  // namespace sample

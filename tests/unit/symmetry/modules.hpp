// Modules of a few vertices of which the last, or the last two, are summaries, which read and are read by those of all others: most arcs say nothing, some do.
#pragma once

#include "sample.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sample {

/// Some 260 to 400 vertices. Summaries are read with a step, in one run with the reader's own where that is read alike; sometimes one of them does not read the
/// first, the own one has a colour of its own, the two of a module do not read each other, or a second relation makes a ring of summaries.
inline Sample make_modules(std::mt19937_64& random) {
  using sightline::layout::AffineRun;
  const auto size = static_cast<Vertex>(2 + random() % 5), count = static_cast<Vertex>(264 / size + random() % 40), n = size * count;
  const Vertex summaries = size > 2 && random() % 2 == 0 ? 2 : 1, members = size - summaries;
  const bool loops = random() % 2 == 0, twins = random() % 2 == 0, coloured = random() % 3 == 0, all_read = random() % 2 == 0, ring = random() % 4 == 0;
  const Vertex odd = random() % 3 == 0 ? static_cast<Vertex>(random() % count) : count;  // its first summary does not read the first one of all
  std::vector<std::vector<bool>> inside(1 + random() % 2);  // kinds of modules: who reads which member
  for (auto& arcs : inside) {
    const bool every = random() % 3 == 0;
    for (Vertex k = 0; k < size * members; ++k) arcs.push_back(every || random() % 2 == 0);
  }
  sightline::layout::PatternBuilder builder(n, budget);
  for (Vertex i = 0; i < n; ++i) {
    const Vertex module = i / size, place = i % size;
    std::vector<AffineRun> runs;
    for (Vertex k = 0; k < members; ++k) {
      if (inside[module % inside.size()][place * members + k] && module * size + k != i) runs.push_back(sightline::layout::make_constant_run(module * size + k, module * size + k));
    }
    for (Vertex s = members; s < size; ++s) {
      const auto stepped = [&](Vertex first, Vertex end, std::uint32_t colour) {  // this summary of modules first .. end-1
        if (first >= end) return;
        AffineRun run = sightline::layout::make_constant_run(first * size + s, (end - 1) * size + s, colour);
        run.step = end - first == 1 ? 1 : size;
        runs.push_back(run);
      };
      const bool reads_all = place >= members || all_read, own = place < members || (place == s ? loops : twins);
      const Vertex from = place == members && s == members && module == odd && odd > 0 ? 1 : 0;
      if (reads_all && own && !coloured) {
        stepped(from, count, 1);
        continue;
      }
      if (reads_all) stepped(from, module, 1);
      if (reads_all) stepped(module + 1, count, 1);
      if (own) stepped(module, module + 1, coloured ? 2 : 1);
    }
    builder.add_segment(i, builder.add_list(runs));
  }
  Sample result(n);
  result.add(builder.build());
  if (ring) {
    Rows rows(n);
    for (Vertex k = 0; k < count; ++k) rows[k * size + size - 1] = {(k + 1) % count * size + size - 1};
    result.add(rows);
  }
  if (random() % 4 == 0) {
    for (Vertex v = 0; v < n / 2; ++v) result.structure.vertex_colour[v] = 3;
  }
  return result;
}

}  // namespace sample

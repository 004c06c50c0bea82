// Runs with steps on the vertices that stretches keep.
#include "sightline/layout/stretches.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "tests/unlimited.hpp"

namespace sightline::layout {

TEST_CASE("wide runs on kept vertices are the same vertices as written out") {
  std::mt19937 random(5);
  const auto draw = [&](std::uint32_t bound) { return static_cast<Vertex>(random() % bound); };
  std::size_t stepped = 0, single = 0, joined = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const Vertex n = 60 + draw(200);
    std::vector<WideRun> runs;
    for (Vertex k = 0; k < 1 + draw(3); ++k) {
      const Vertex step = 2 + draw(9), width = 1 + draw(step), first = draw(step);
      const Vertex most = n < first + width ? 0 : (n - first - width) / step + 1;
      if (most > 0) runs.push_back({first, width, step, 1 + draw(most), 1});
    }
    StretchMarks marks(n, n);
    for (const WideRun& run : runs) {
      for (Vertex k = 0; k < run.count; ++k) {
        marks.mark(run.first + k * run.step);
        marks.mark(run.first + k * run.step + run.width);
      }
    }
    for (Vertex k = draw(4); k > 0; --k) marks.mark(draw(n));  // places that are not even
    const KeptVertices kept = keep_two(marks, n);
    KeptRuns on_kept(kept, n, unlimited);
    for (const WideRun& run : runs) {
      std::multiset<Vertex> expected, found;
      for (Vertex k = 0; k < run.count; ++k) {
        const Vertex j = run.first + k * run.step;
        for (Vertex v = 0; v < kept.first.size(); ++v) {
          if (kept.first[v] >= j && kept.first[v] < j + run.width) expected.insert(v);
        }
      }
      std::vector<KeptRuns::Run> parts;
      on_kept.append(run, parts);
      for (const KeptRuns::Run& part : parts) {
        CHECK((part.last - part.first) % part.step == 0);
        for (Vertex v = part.first; v <= part.last; v += part.step) found.insert(v);
        (part.step > 1 ? stepped : single) += 1;
        joined += part.step == 1 && part.last > part.first + 1 ? 1 : 0;
      }
      CHECK(found == expected);
    }
  }
  CHECK(stepped > 200);
  CHECK(single > 200);
  CHECK(joined > 20);
}

}  // namespace sightline::layout

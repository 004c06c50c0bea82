#include "tests/unit/design/labels.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace small_groups {

namespace {

using sightline::layout::Layout;

/// own label, then (relation, colour, label, count) of everything read, counts divided by their common divisor per relation.
using Signature = std::vector<std::int64_t>;

struct Interner {
  std::map<Signature, std::int64_t> known;
  std::int64_t name(const Signature& s) { return known.emplace(s, static_cast<std::int64_t>(known.size())).first->second; }
};

std::vector<std::int64_t> compute_labels(const Layout& layout, std::uint64_t depth, const std::vector<std::int64_t>& start, Interner& interner) {
  std::vector<std::int64_t> labels = start;
  for (std::uint64_t q = 1; q <= depth; ++q) {
    std::vector<std::int64_t> next(labels.size());
    for (sightline::layout::Vertex i = 0; i < labels.size(); ++i) {
      Signature signature{labels[i]};
      for (const auto relation : layout.layer(q).relations) {
        std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> count;
        for (sightline::layout::Vertex j = 0; j < labels.size(); ++j) {
          const std::int64_t colour = layout.relations[relation].colour(i, j);
          if (colour >= 0) ++count[{colour, labels[j]}];
        }
        std::int64_t divisor = 0;
        for (const auto& entry : count) divisor = std::gcd(divisor, entry.second);
        for (const auto& [key, times] : count) {
          signature.push_back(relation);
          signature.push_back(key.first);
          signature.push_back(key.second);
          signature.push_back(times / divisor);
        }
      }
      next[i] = interner.name(signature);
    }
    labels = next;
  }
  return labels;
}

}  // namespace

bool tells_exactly(const Layout& layout, std::uint64_t depth, const std::set<Images>& elements) {
  const std::size_t n = layout.tokens;
  Interner interner;
  std::vector<std::int64_t> start(layout.vertices());
  for (std::size_t v = 0; v < start.size(); ++v) {
    // Tokens -1, -2, ..; registers by colour far below, so that no name of a label comes twice.
    start[v] = v < n ? -1 - static_cast<std::int64_t>(v) : -1000 - static_cast<std::int64_t>(layout.vertex_colour[v]);
  }
  const std::vector<std::int64_t> original = compute_labels(layout, depth, start, interner);
  // A token that is out of view shows only when something new stands there.
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<std::int64_t> changed = start;
    changed[j] = -500;
    const std::vector<std::int64_t> labels = compute_labels(layout, depth, changed, interner);
    for (std::size_t a = 0; a < n; ++a) {
      if (original[a] == labels[a]) return false;
    }
  }
  Images tau(n);
  std::iota(tau.begin(), tau.end(), 0u);
  do {
    std::vector<std::int64_t> moved = start;
    for (std::size_t i = 0; i < n; ++i) moved[tau[i]] = start[i];
    const std::vector<std::int64_t> labels = compute_labels(layout, depth, moved, interner);
    const bool member = elements.count(tau) > 0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if ((original[a] == labels[b]) != (member && tau[a] == b)) return false;
      }
    }
  } while (std::next_permutation(tau.begin(), tau.end()));
  return true;
}

}  // namespace small_groups

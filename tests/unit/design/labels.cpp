#include "tests/unit/design/labels.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace small_groups {

namespace {

using sightline::layout::Layout;

/// own label, then (relation, colour, label, count) of everything read, counts divided by their common divisor per
/// relation.
using Signature = std::vector<std::int64_t>;

struct Hash {
  std::size_t operator()(const Signature& s) const {
    std::uint64_t h = 14695981039346656037ull;
    for (const std::int64_t x : s)
      h = (h ^ static_cast<std::uint64_t>(x)) * 1099511628211ull, h ^= h >> 29;
    return h;
  }
};

/// The layers of a layout as lists, and names for the labels that come up in them.
class Labels {
public:
  Labels(const Layout& layout, std::uint64_t depth) : vertices_(layout.vertices()) {
    for (std::uint64_t q = 1; q <= depth; ++q) {
      layers_.emplace_back();
      for (const auto relation : layout.layer(q).relations) {
        auto& rows = layers_.back().emplace_back(relation, std::vector<Row>(vertices_)).second;
        std::vector<sightline::layout::ColouredRun> runs;
        for (sightline::layout::Vertex i = 0; i < vertices_; ++i) {
          layout.relations[relation].row(i, runs);
          for (const auto& run : runs) {
            std::int64_t colour = run.colour;
            for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step)
              rows[i].emplace_back(colour, static_cast<std::uint32_t>(j));
          }
        }
      }
    }
  }

  /// Labels of all vertices after all layers.
  std::vector<std::int64_t> compute(const std::vector<std::int64_t>& start) {
    std::vector<std::int64_t> labels = start, next(start.size());
    for (std::size_t q = 0; q < layers_.size(); ++q) {
      for (std::size_t i = 0; i < vertices_; ++i) {
        signature_.assign({static_cast<std::int64_t>(q), labels[i]});
        for (const auto& [relation, rows] : layers_[q]) {
          read_.clear();
          for (const auto& [colour, j] : rows[i])
            read_.emplace_back(colour, labels[j]);
          std::sort(read_.begin(), read_.end());
          std::int64_t divisor = 0;
          for (std::size_t k = 0, end = 0; k < read_.size(); k = end) {
            for (end = k; end < read_.size() && read_[end] == read_[k]; ++end) {
            }
            divisor = std::gcd(divisor, static_cast<std::int64_t>(end - k));
          }
          for (std::size_t k = 0, end = 0; k < read_.size(); k = end) {
            for (end = k; end < read_.size() && read_[end] == read_[k]; ++end) {
            }
            signature_.insert(signature_.end(), {relation, read_[k].first, read_[k].second,
                                                 static_cast<std::int64_t>(end - k) / divisor});
          }
        }
        next[i] = names_.emplace(signature_, static_cast<std::int64_t>(names_.size())).first->second;
      }
      labels = next;
    }
    return labels;
  }

private:
  using Row = std::vector<std::pair<std::int64_t, std::uint32_t>>;
  std::size_t vertices_;
  std::vector<std::vector<std::pair<std::int64_t, std::vector<Row>>>> layers_;
  std::unordered_map<Signature, std::int64_t, Hash> names_;
  Signature signature_;
  std::vector<std::pair<std::int64_t, std::int64_t>> read_;
};

} // namespace

bool tells_exactly(const Layout& layout, std::uint64_t depth, const std::set<Images>& elements,
                   std::vector<Images>& suspects) {
  const std::size_t n = layout.tokens;
  Labels labels(layout, depth);
  std::vector<std::int64_t> start(layout.vertices());
  for (std::size_t v = 0; v < start.size(); ++v) {
    // Tokens -1, -2, ..; registers by colour far below, so that no name of a label comes twice.
    start[v] = v < n ? -1 - static_cast<std::int64_t>(v) : -1000 - static_cast<std::int64_t>(layout.vertex_colour[v]);
  }
  const std::vector<std::int64_t> original = labels.compute(start);
  const auto holds = [&](const Images& tau) {
    std::vector<std::int64_t> moved = start;
    for (std::size_t i = 0; i < n; ++i)
      moved[tau[i]] = start[i];
    const std::vector<std::int64_t> there = labels.compute(moved);
    const bool member = elements.count(tau) > 0;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = 0; b < n; ++b) {
        if ((original[a] == there[b]) != (member && tau[a] == b))
          return false;
      }
    }
    return true;
  };
  for (std::size_t k = 0; k < suspects.size(); ++k) {
    if (holds(suspects[k]))
      continue;
    std::rotate(suspects.begin(), suspects.begin() + static_cast<std::ptrdiff_t>(k),
                suspects.begin() + static_cast<std::ptrdiff_t>(k) + 1);
    return false;
  }
  // A token that is out of view shows only when something new stands there.
  for (std::size_t j = 0; j < n; ++j) {
    std::vector<std::int64_t> changed = start;
    changed[j] = -500;
    const std::vector<std::int64_t> there = labels.compute(changed);
    for (std::size_t a = 0; a < n; ++a) {
      if (original[a] == there[a])
        return false;
    }
  }
  Images tau(n);
  std::iota(tau.begin(), tau.end(), 0u);
  do {
    if (holds(tau))
      continue;
    suspects.insert(suspects.begin(), tau);
    return false;
  } while (std::next_permutation(tau.begin(), tau.end()));
  return true;
}

bool tells_exactly(const Layout& layout, std::uint64_t depth, const std::set<Images>& elements) {
  std::vector<Images> suspects;
  return tells_exactly(layout, depth, elements, suspects);
}

} // namespace small_groups

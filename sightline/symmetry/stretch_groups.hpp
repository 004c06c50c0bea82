// Inside of symmetry: vertices that agree in a key, which are proposed as twins.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sightline/layout/pattern.hpp"

namespace sightline::symmetry {

using layout::Vertex;

/// Neighbouring vertices of one key: on block masks there are few of these.
struct Stretch {
  std::uint64_t key;
  Vertex begin, end;
};

/// Calls group(first stretch, last + 1) for all stretches of one key that have at least two vertices together.
template <class Group>
void for_each_group(std::vector<Stretch>& stretches, Group&& group) {
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) { return a.key != b.key ? a.key < b.key : a.begin < b.begin; });
  for (std::size_t begin = 0; begin < stretches.size();) {
    std::size_t end = begin + 1;
    while (end < stretches.size() && stretches[end].key == stretches[begin].key) ++end;
    if (end - begin > 1 || stretches[begin].end - stretches[begin].begin > 1) group(begin, end);
    begin = end;
  }
}

}  // namespace sightline::symmetry

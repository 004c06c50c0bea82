#include "sightline/layout/layout.hpp"

#include <algorithm>

namespace sightline::layout {

std::vector<bool> Layout::used_layers() const {
  std::vector<bool> used(layers.size(), false);
  for (const std::uint32_t l : order) used[l] = true;
  return used;
}

bool Layout::has_equal_registers() const {
  std::vector<std::uint64_t> colours(vertex_colour.begin() + std::min<std::ptrdiff_t>(tokens, std::ssize(vertex_colour)),
                                     vertex_colour.end());
  std::sort(colours.begin(), colours.end());
  return std::adjacent_find(colours.begin(), colours.end()) != colours.end();
}

}  // namespace sightline::layout

#include "sightline/sight/known_orbits.hpp"

#include <memory>

#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

thread_local KnownOrbits* innermost_orbits = nullptr;

}  // namespace

KnownOrbits::KnownOrbits(layout::Layout layout, Find find) : layout_(std::move(layout)), find_(std::move(find)), outer_(innermost_orbits) { innermost_orbits = this; }
KnownOrbits::~KnownOrbits() { innermost_orbits = outer_; }

const std::vector<layout::Vertex>* KnownOrbits::find_few(const layout::Layout& layout, double most_share) {
  KnownOrbits* known = innermost_orbits;
  while (known != nullptr && !read_alike(known->layout_, layout)) known = known->outer_;
  if (known == nullptr || known->is_asking_) return nullptr;
  known->is_asking_ = true;
  const auto done = std::unique_ptr<bool, void (*)(bool*)>(&known->is_asking_, [](bool* asking) { *asking = false; });
  const std::vector<layout::Vertex>& orbit = known->find_();
  if (!known->count_) {
    known->count_ = 0;
    for (layout::Vertex j = 0; j < orbit.size(); ++j) *known->count_ += orbit[j] == j ? 1 : 0;
  }
  return *known->count_ <= most_share * static_cast<double>(orbit.size()) ? &orbit : nullptr;
}

}  // namespace sightline::sight

#include "sightline/verdict/context.hpp"

#include <algorithm>

#include "sightline/symmetry/automorphism.hpp"

namespace sightline::verdict {

const RowFacts& Context::row_facts(std::size_t relation) const {
  row_facts_.resize(layout.relations.size());
  if (!row_facts_[relation]) row_facts_[relation] = compute_row_facts(layout.relations[relation], layout.tokens, budget);
  return *row_facts_[relation];
}

bool Context::every_row(bool RowFacts::*fact) const {
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    if (!(row_facts(r).*fact)) return false;
  }
  return true;
}

const Sighted& Context::sighted() const {
  if (sighted_) return *sighted_;
  sighted_ = {layout, {}, std::none_of(facts.mixer.begin(), facts.mixer.end(), [](const MixerFacts& m) { return m.blind; })};
  if (sighted_->is_whole) {
    sighted_->group = layout_group;
    return *sighted_;
  }
  const auto empty = static_cast<std::uint32_t>(layout.layers.size());
  sighted_->layout.layers.emplace_back();
  std::size_t position = 0;
  for (std::size_t k = 0; k < architecture.layers.size(); ++k) {
    for (std::int64_t r = 0; r < architecture.layers[k].repeat; ++r, ++position) {
      if (facts.mixer[k].blind) sighted_->layout.order[position] = empty;
    }
  }
  sighted_->group = symmetry::compute_layout_group(sighted_->layout, budget);
  return *sighted_;
}

}  // namespace sightline::verdict

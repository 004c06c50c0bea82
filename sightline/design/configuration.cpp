#include "sightline/design/configuration.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

#include "sightline/base/error.hpp"

namespace sightline::design {

Configuration::Configuration(const Orbitals& orbitals, const Budget& budget) : rank_(static_cast<std::uint32_t>(orbitals.list().size())) {
  if (rank_ > 64) throw ArgumentError("a configuration has at most 64 orbitals");
  for (std::uint32_t k = 0; k < rank_; ++k) {
    size_.push_back(orbitals.list()[k].size);
    paired_.push_back(orbitals.list()[k].paired);
    if (orbitals.list()[k].is_diagonal()) diagonal_ |= OrbitalSet{1} << k;
  }
  product_.assign(static_cast<std::size_t>(rank_) * rank_, 0);
  terms_.resize(rank_);
  std::vector<std::uint32_t> count(static_cast<std::size_t>(rank_) * rank_);
  for (std::uint32_t t = 0; t < rank_; ++t) {
    std::fill(count.begin(), count.end(), 0);
    const Orbital& orbital = orbitals.list()[t];
    for (Point k = 0; k < orbitals.degree(); ++k) {
      budget.poll();
      // (k, to) is (to, k) turned round: one walk up the tree of `to` instead of one up the tree of every k.
      const std::uint32_t s = paired_[orbitals.number(orbital.to, k)];
      ++count[static_cast<std::size_t>(orbitals.number(orbital.from, k)) * rank_ + s];
    }
    for (std::uint32_t r = 0; r < rank_; ++r) {
      for (std::uint32_t s = 0; s < rank_; ++s) {
        const std::uint32_t found = count[static_cast<std::size_t>(r) * rank_ + s];
        if (found == 0) continue;
        product_[static_cast<std::size_t>(r) * rank_ + s] |= OrbitalSet{1} << t;
        terms_[t].push_back({static_cast<std::uint8_t>(r), static_cast<std::uint8_t>(s), found});
      }
    }
  }
}

std::uint64_t Configuration::count_pairs(OrbitalSet set) const {
  std::uint64_t pairs = 0;
  for (set &= ~diagonal_; set != 0; set &= set - 1) pairs += size_[static_cast<std::size_t>(std::countr_zero(set))];
  return pairs;
}

OrbitalSet Configuration::turn(OrbitalSet set) const {
  OrbitalSet turned = 0;
  for (; set != 0; set &= set - 1) turned |= OrbitalSet{1} << paired_[static_cast<std::size_t>(std::countr_zero(set))];
  return turned;
}

OrbitalSet Configuration::extend_view(OrbitalSet layer, OrbitalSet view) const {
  OrbitalSet extended = view;
  for (OrbitalSet left = layer; left != 0; left &= left - 1) {
    const OrbitalSet* row = product_.data() + static_cast<std::size_t>(std::countr_zero(left)) * rank_;
    for (OrbitalSet right = view; right != 0; right &= right - 1) extended |= row[std::countr_zero(right)];
  }
  return extended;
}

std::uint64_t Configuration::compute_reach(const std::vector<OrbitalSet>& layers) const {
  OrbitalSet view = diagonal_;
  if (view == everything()) return 0;
  std::size_t unchanged = 0;
  for (std::uint64_t q = 0;; ++q) {
    const OrbitalSet extended = extend_view(layers[q % layers.size()], view);
    if (extended == everything()) return q + 1;
    unchanged = extended == view ? unchanged + 1 : 0;
    if (unchanged == layers.size()) return 0;
    view = extended;
  }
}

std::vector<std::uint8_t> Configuration::refine(const std::vector<OrbitalSet>& layers) const {
  // Colours are ranks of signatures in sorted order, so equal partitions are equal vectors.
  std::vector<std::uint8_t> colour(rank_, 0);
  std::vector<std::vector<std::uint32_t>> signature(rank_);
  const auto recolour = [&] {
    std::vector<std::uint32_t> order(rank_);
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return signature[a] < signature[b]; });
    std::uint8_t next = 0;
    for (std::uint32_t k = 0; k < rank_; ++k) {
      if (k > 0 && signature[order[k]] != signature[order[k - 1]]) ++next;
      colour[order[k]] = next;
    }
    return next + 1u;
  };
  for (std::uint32_t t = 0; t < rank_; ++t) {
    signature[t].push_back(static_cast<std::uint32_t>((diagonal_ >> t) & 1));
    for (const OrbitalSet layer : layers) {
      signature[t].push_back(static_cast<std::uint32_t>((layer >> t) & 1));
      signature[t].push_back(static_cast<std::uint32_t>((layer >> paired_[t]) & 1));
    }
  }
  for (std::uint32_t classes = recolour(), before = 0; classes != before && classes < rank_;) {
    before = classes;
    for (std::uint32_t t = 0; t < rank_; ++t) {
      signature[t].assign(1 + static_cast<std::size_t>(classes) * classes, 0);
      signature[t][0] = colour[t];
      for (const Term& term : terms_[t]) signature[t][1 + static_cast<std::size_t>(colour[term.r]) * classes + colour[term.s]] += term.count;
    }
    classes = recolour();
  }
  // Names by first occurrence: the partition alone, whatever the signatures were.
  std::vector<std::uint8_t> name(rank_, 255), result(rank_);
  std::uint8_t next = 0;
  for (std::uint32_t t = 0; t < rank_; ++t) {
    if (name[colour[t]] == 255) name[colour[t]] = next++;
    result[t] = name[colour[t]];
  }
  return result;
}

}  // namespace sightline::design

#include "sightline/sight/row_classes.hpp"

#include <algorithm>
#include <unordered_map>

#include "sightline/base/mix.hpp"

namespace sightline::sight {

std::optional<RowClasses> RowClasses::make(const ReadLayer& layer, const Budget& budget) {
  const std::size_t count = layer.groups.size();
  Booking while_looking(budget, count * (sizeof(std::uint32_t) + 32));
  std::vector<std::uint32_t> class_of(count);
  std::vector<std::uint32_t> first;  // a group of each class
  std::unordered_map<std::uint64_t, std::uint32_t> known;  // by hash; rows that only share one stay by themselves
  for (std::uint32_t g = 0; g < count; ++g) {
    budget.poll();
    const ReadGroup& group = layer.groups[g];
    const std::span<const ReadRange> own = layer.own_ranges(group);
    std::uint64_t hash = mix(group.shared + (std::uint64_t{group.count} << 32));
    for (const ReadRange& range : own) hash = mix(hash ^ mix(range.first + (std::uint64_t{range.last} << 32)) ^ range.step);
    const auto [at, is_new] = known.try_emplace(hash, static_cast<std::uint32_t>(first.size()));
    const auto is_same = [&](const ReadGroup& other) { return other.shared == group.shared && std::ranges::equal(layer.own_ranges(other), own); };
    class_of[g] = !is_new && is_same(layer.groups[first[at->second]]) ? at->second : static_cast<std::uint32_t>(first.size());
    if (class_of[g] == first.size()) first.push_back(g);
    if (2 * first.size() > count) return std::nullopt;
  }
  RowClasses classes(Booking(budget, sizeof(std::uint32_t) * (count + first.size() + 1)));
  classes.begin_.assign(first.size() + 1, 0);
  for (const std::uint32_t c : class_of) ++classes.begin_[c + 1];
  for (std::size_t c = 0; c < first.size(); ++c) classes.begin_[c + 1] += classes.begin_[c];
  classes.groups_.resize(count);
  std::vector<std::uint32_t> next(classes.begin_.begin(), classes.begin_.end() - 1);
  for (std::uint32_t g = 0; g < count; ++g) classes.groups_[next[class_of[g]]++] = g;
  return classes;
}

}  // namespace sightline::sight

#include "sightline/sight/parted_class.hpp"

#include <algorithm>
#include <unordered_map>

#include "sightline/symmetry/orbits.hpp"

namespace sightline::sight {

PartedClass::PartedClass(const Layout& layout, std::shared_ptr<const ClosedParts> parts) : layout_(layout), parts_(std::move(parts)), kinds_(parts_->layouts.size()) {
  for (std::size_t c = 0; c < parts_->first.size(); ++c) {
    Kind& kind = kinds_[parts_->like[c]];
    const std::int64_t first = parts_->first[c];
    kind.least = kind.count == 0 ? first : std::min(kind.least, first);
    kind.most = kind.count == 0 ? first : std::max(kind.most, first);
    kind.tokens = parts_->tokens[c];
    ++kind.count;
  }
}

std::shared_ptr<const PartedClass> PartedClass::find(const ViewQuestion& question, const Budget& budget) {
  constexpr std::size_t most_kinds = 64;
  const Layout& layout = *question.layout;
  if (question.target_class != ClassKind::causal || question.target != question.layout_group || layout.registers > 0 || layout.order.empty()) return nullptr;
  std::shared_ptr<const ClosedParts> parts = find_closed_parts(layout, budget);
  if (!parts || parts->layouts.size() > most_kinds) return nullptr;
  std::shared_ptr<const PartedClass> found(new PartedClass(layout, std::move(parts)));
  return found->is_whole_group(*question.target) ? found : nullptr;
}

// All generators permute like parts, and those that exchange two of them join all that are alike.
bool PartedClass::is_whole_group(const group::Group& group) const {
  if (!group.symmetric_classes.empty()) return false;
  symmetry::Orbits joined(static_cast<Vertex>(parts_->first.size()));
  std::unordered_map<Vertex, Vertex> image_of;
  for (const group::Permutation& g : group.generators) {
    image_of.clear();
    for (std::size_t k = 0; k < g.moved().size(); ++k) {
      const Vertex x = g.moved()[k], y = g.image()[k], c = parts_->part_of(x), d = parts_->part_of(y);
      if (parts_->like[c] != parts_->like[d] || x - parts_->first[c] != y - parts_->first[d] || image_of.try_emplace(c, d).first->second != d) return false;
    }
    if (image_of.size() == 2) joined.join(image_of.begin()->first, image_of.begin()->second);
  }
  return std::all_of(parts_->like.begin(), parts_->like.end(), [&, c = Vertex{0}](std::uint32_t kind) mutable { return joined.size(c++) == kinds_[kind].count; });
}

std::int64_t PartedClass::measure_lead(std::uint32_t k, std::uint32_t other) const {
  // Of all pairs of parts that this one is taken to, the one in which the other begins farthest behind.
  const std::int64_t behind = kinds_[other].most - kinds_[k].least, step = parts_->step;
  return behind >= 0 ? (behind + step - 1) / step : -(-behind / step);
}

bool PartedClass::wants(Vertex a, Vertex j) const {
  const Vertex c = parts_->part_of(a), d = parts_->part_of(j);
  if (c == d) return j <= a;
  const std::int64_t t = (a - parts_->first[c]) / parts_->step, u = (j - parts_->first[d]) / parts_->step;
  return t - u >= measure_lead(parts_->like[c], parts_->like[d]);
}

std::uint64_t PartedClass::count_across(std::uint32_t k, Vertex t) const {
  std::uint64_t count = 0;
  for (std::uint32_t other = 0; other < kinds_.size(); ++other) {
    const std::uint64_t parts = kinds_[other].count - (other == k ? 1 : 0);
    if (parts > 0) count += parts * static_cast<std::uint64_t>(std::clamp<std::int64_t>(t - measure_lead(k, other) + 1, 0, kinds_[other].tokens));
  }
  return count;
}

Connected PartedClass::compute_reach(const Budget& budget) const {
  Connected result;
  result.layers = 0;
  for (std::uint32_t k = 0; k < kinds_.size() && result.layers; ++k) {
    if (count_across(k, kinds_[k].tokens - 1) == 0) {
      const Connected own = compute_class_reach(parts_->layouts[k], {ClassKind::causal, false}, budget);
      result.layers = own.layers ? std::max(result.layers, own.layers) : std::nullopt;
    } else {
      result.layers.reset();
    }
  }
  if (result.layers != std::optional<std::uint64_t>{0}) result.witness = count_unseen(result.layers ? std::optional(*result.layers - 1) : std::nullopt, budget).first;
  return result;
}

UnseenPairs PartedClass::count_unseen(std::optional<std::uint64_t> depth, const Budget& budget) const {
  UnseenPairs result;
  std::optional<Vertex> reader;
  for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
    const std::vector<Vertex> unseen = compute_unseen(parts_->layouts[k], depth, {ClassKind::causal, false}, budget);
    for (Vertex t = 0; t < kinds_[k].tokens; ++t) {
      const std::uint64_t count = unseen[t] + count_across(k, t);
      if (count == 0) continue;
      result.count += count * kinds_[k].count;
      const Vertex a = static_cast<Vertex>(kinds_[k].least) + t * parts_->step;
      reader = std::min(reader.value_or(a), a);
    }
  }
  if (!reader) return result;
  const std::vector<std::int64_t> latest = compute_latest(layout_, depth ? *depth : compute_stable_depth(layout_, budget), *reader, budget);
  for (Vertex j = 0; j < layout_.tokens && !result.first; ++j) {
    if (latest[j] < 0 && wants(*reader, j)) result.first = UnreachablePair{*reader, j};
  }
  return result;
}

}  // namespace sightline::sight

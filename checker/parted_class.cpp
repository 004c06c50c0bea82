#include "parted_class.hpp"

#include <algorithm>
#include <map>

#include "blocks.hpp"

namespace checker {

PartedClass::PartedClass(const Layout& layout, const ClosedParts& parts) : layout_(layout), parts_(parts), kinds_(parts.layouts.size()) {
  for (std::size_t c = 0; c < parts.first.size(); ++c) {
    Kind& kind = kinds_[parts.like[c]];
    kind.first.push_back(parts.first[c]);
    kind.tokens = parts.tokens[c];
  }
}

std::shared_ptr<const PartedClass> PartedClass::find(const Layout& layout, const ViewQuestion& question, ReachMemory& memory) {
  constexpr std::size_t most_kinds = 64;
  if (question.kind != ClassKind::causal || question.target != nullptr || layout.registers > 0 || layout.order.empty()) return nullptr;
  const ConfirmedGroup& own = *question.layout_group;
  if (!own.group.classes.empty()) return nullptr;
  const ClosedParts* const parts = find_closed_parts(memory);
  if (parts == nullptr || parts->layouts.size() > most_kinds) return nullptr;
  // Generators take parts to like ones, place by place; those that exchange two parts join all like ones, so that there are all permutations of these.
  Pairs exchanged;
  for (const Permutation& g : own.group.generators) {
    std::map<Vertex, Vertex> images;
    for (const auto& [x, y] : g.moves()) {
      const Vertex c = parts->part_of(x), d = parts->part_of(y);
      if (parts->like[c] != parts->like[d] || parts->place(c, x) != parts->place(d, y) || images.try_emplace(c, d).first->second != d) return nullptr;
    }
    if (images.size() == 2) exchanged.push_back(*images.begin());
  }
  const std::vector<Vertex> joined = close({static_cast<Vertex>(parts->first.size()), {}, {}}, exchanged);
  std::map<std::size_t, Vertex> least_like;
  for (std::size_t c = 0; c < joined.size(); ++c) {
    if (least_like.try_emplace(parts->like[c], joined[c]).first->second != joined[c]) return nullptr;
  }
  return std::shared_ptr<const PartedClass>(new PartedClass(layout, *parts));
}

std::int64_t PartedClass::lead(std::size_t k, std::size_t l) const {
  const std::int64_t step = parts_.step;
  std::int64_t t = (std::int64_t{kinds_[l].first.back()} - kinds_[k].first.front()) / step;
  while (t * step < std::int64_t{kinds_[l].first.back()} - kinds_[k].first.front()) ++t;  // rounded up
  return t;
}

bool PartedClass::wants(Vertex a, Vertex j) const {
  const Vertex c = parts_.part_of(a), d = parts_.part_of(j);
  if (c == d) return j <= a;
  return std::int64_t{parts_.place(c, a)} - parts_.place(d, j) >= lead(parts_.like[c], parts_.like[d]);
}

std::uint64_t PartedClass::others(std::size_t k, Vertex t) const {
  std::uint64_t sum = 0;
  for (std::size_t l = 0; l < kinds_.size(); ++l) {
    const std::uint64_t parts = kinds_[l].first.size() - (l == k ? 1 : 0);
    const std::int64_t most = t - lead(k, l);  // the last place that may be used
    if (parts > 0 && most >= 0) sum += parts * std::min<std::uint64_t>(static_cast<std::uint64_t>(most) + 1, kinds_[l].tokens);
  }
  return sum;
}

std::pair<std::uint64_t, std::optional<std::pair<Vertex, Vertex>>> PartedClass::unseen(std::optional<std::uint64_t> depth) const {
  std::uint64_t sum = 0;
  std::optional<Vertex> reader;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    ReachMemory memory(parts_.layouts[k]);
    const Unseen own = compute_unseen(parts_.layouts[k], {.kind = ClassKind::causal, .memory = &memory}, depth);
    for (Vertex t = 0; t < kinds_[k].tokens; ++t) {
      const std::uint64_t here = own.count[t] + others(k, t);
      sum += here * kinds_[k].first.size();
      if (here > 0) reader = std::min(reader.value_or(layout_.tokens), kinds_[k].first.front() + t * parts_.step);
    }
  }
  if (!reader) return {0, std::nullopt};
  const auto latest = compute_latest(layout_, depth.value_or(ever_of(layout_)), *reader);
  for (Vertex j = 0; j < layout_.tokens; ++j) {
    if (latest[j] < 0 && wants(*reader, j)) return {sum, std::pair{*reader, j}};
  }
  return {sum, std::nullopt};
}

Reach PartedClass::reach() const {
  std::optional<std::uint64_t> layers = 0;
  for (std::size_t k = 0; k < kinds_.size() && layers; ++k) {
    ReachMemory memory(parts_.layouts[k]);
    const Reach own = compute_reach(parts_.layouts[k], {.kind = ClassKind::causal, .memory = &memory});
    layers = own.layers && others(k, kinds_[k].tokens - 1) == 0 ? std::max(layers, own.layers) : std::nullopt;
  }
  if (layers == 0u) return {0, std::nullopt};
  return {layers, unseen(layers ? std::optional(*layers - 1) : std::nullopt).second};
}

}  // namespace checker

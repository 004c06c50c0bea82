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

std::optional<layout::Layout> hide_blind_layers(const architecture::Architecture& architecture, const layout::Layout& layout, const Facts* facts,
                                                const Budget& budget) {
  std::optional<layout::Layout> hidden;
  std::uint32_t empty = 0;
  std::size_t position = 0;
  for (std::size_t k = 0; k < architecture.layers.size(); ++k) {
    const std::size_t end = position + static_cast<std::size_t>(architecture.layers[k].repeat);
    if (layout.layers[layout.order[position]].relations.empty() || !(facts != nullptr ? facts->mixer[k].blind : is_blind(architecture.layers[k].mixer, budget))) {
      position = end;
      continue;
    }
    if (!hidden) {
      hidden = layout;
      empty = static_cast<std::uint32_t>(layout.layers.size());
      hidden->layers.emplace_back();
    }
    for (; position < end; ++position) hidden->order[position] = empty;
  }
  return hidden;
}

const layout::Layout& Context::sighted_layout() const {
  if (sighted_) return sighted_->layout;
  std::optional<layout::Layout> hidden = hide_blind_layers(architecture, layout, &facts, budget);
  const bool whole = !hidden;
  sighted_ = {hidden ? std::move(*hidden) : layout, {}, whole};
  return sighted_->layout;
}

const Sighted& Context::sighted() const {
  const layout::Layout& seen = sighted_layout();
  if (!has_sighted_group_) sighted_->group = sighted_->is_whole ? layout_group : symmetry::compute_layout_group(seen, budget);
  has_sighted_group_ = true;
  return *sighted_;
}

std::size_t Context::remember(const sight::ViewQuestion& question, ViewsAsked::What what, std::optional<std::uint64_t> depth) const {
  const bool of_pattern = sighted_ && !sighted_->is_whole && question.target == &layout_group;
  const bool recolour = recoloured && question.layout == &recoloured->layout;
  ViewsAsked entry{recolour ? "recoloured" : of_pattern ? "pattern" : sighted_ && !sighted_->is_whole ? "sighted" : "layout", what, nullptr,
                   question.target_class, question.register_rows, depth, {}, {}, {}};
  if (question.target != question.layout_group) entry.target = std::make_shared<const group::Group>(*question.target);
  asked.push_back(std::move(entry));
  return asked.size() - 1;
}

sight::ViewQuestion Context::keep_records(sight::ViewQuestion question, std::size_t at) const {
  question.records = &view_records[asked[at].views];
  return question;
}

template <class Holds>
const ViewsAsked* Context::find_same(const Holds& holds) const {
  const ViewsAsked& last = asked.back();
  const auto same = std::find_if(asked.begin(), asked.end() - 1, [&](const ViewsAsked& before) {
    return !before.target && !last.target && before.views == last.views && before.kind == last.kind && before.rows == last.rows && holds(before);
  });
  return same == asked.end() - 1 ? nullptr : &*same;
}

sight::Needed Context::ask_needed(const sight::ViewQuestion& question) const {
  const std::size_t at = remember(question, ViewsAsked::What::needed, std::nullopt);
  // What the published claim needs is mostly what was asked already.
  if (const ViewsAsked* const same = find_same([](const ViewsAsked& before) { return before.needed.has_value(); })) {
    asked.pop_back();
    return *same->needed;
  }
  return *(asked[at].needed = sight::compute_needed(keep_records(question, at), budget));
}

std::optional<sight::Collision> Context::ask_collision(const sight::ViewQuestion& question, std::uint64_t depth) const {
  const std::size_t at = remember(question, ViewsAsked::What::collision, depth);
  // One layer before the last that is needed it was found on the way.
  if (const ViewsAsked* const same = find_same([&](const ViewsAsked& before) { return before.needed && before.needed->layers == depth + 1 && before.needed->below; })) {
    asked.pop_back();
    return same->needed->below;
  }
  return *(asked[at].collision = sight::find_collision(keep_records(question, at), depth, budget));
}

std::optional<group::Group> Context::ask_expressed(const sight::ViewQuestion& question, std::optional<std::uint64_t> depth) const {
  const std::size_t at = remember(question, ViewsAsked::What::expressed, depth);
  // The depth at which tokens are connected is often the one that is given.
  if (const ViewsAsked* const same = find_same([&](const ViewsAsked& before) { return before.expressed && before.depth == depth; })) {
    asked.pop_back();
    return *same->expressed;
  }
  return *(asked[at].expressed = depth ? sight::compute_expressed_group(keep_records(question, at), *depth, budget) : sight::compute_limit_group(keep_records(question, at), budget));
}

sight::UnreachablePair Context::to_tokens(const sight::UnreachablePair& pair) const { return {token(pair.reader), token(pair.unseen)}; }

sight::Collision Context::to_tokens(sight::Collision collision) const {
  collision.a = token(collision.a);
  collision.b = token(collision.b);
  for (auto& [from, to] : collision.tau) from = token(from), to = token(to);
  std::sort(collision.tau.begin(), collision.tau.end());
  return collision;
}

}  // namespace sightline::verdict

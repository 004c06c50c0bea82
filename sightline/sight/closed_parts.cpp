// Layouts that fall apart into parts placed alike on the line: residues (dilated windows, whatever the number of tokens) or segments. Each is a layout on the line of its own.
#include "sightline/sight/closed_parts.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <unordered_map>
#include <utility>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

Vertex find_modulus(const ReadLayers& layers, const Budget& budget) {
  Vertex modulus = 0;
  for (const auto& layer : layers) {
    for (const ReadGroup& group : layer->groups) {
      budget.poll();
      if (layer->row(group).empty()) continue;
      if (group.end - group.begin > 1) return 1;
      for (const ReadRange& range : layer->row(group)) {
        modulus = std::gcd(modulus, range.first > group.begin ? range.first - group.begin : group.begin - range.first);
        if (range.last > range.first) modulus = std::gcd(modulus, range.step);
      }
      if (modulus == 1) return 1;
    }
  }
  return modulus;
}

/// Readers begin .. end-1 together with what they read.
template <class Ranges>
std::pair<Vertex, Vertex> find_span(Vertex begin, Vertex end, const Ranges& ranges) {
  if (ranges.empty()) return {begin, begin};
  std::pair<Vertex, Vertex> span{begin, end - 1};
  for (const ReadRange& range : ranges) span = {std::min(span.first, range.first), std::max(span.second, range.last)};
  return span;
}

/// Where segments begin between which no arc leads.
std::vector<Vertex> find_segments(const ReadLayers& layers, Vertex tokens, const Budget& budget) {
  // The ends read everything in most layouts that are in one piece.
  for (const auto& layer : layers) {
    if (layer->groups.empty()) continue;
    for (const ReadGroup& group : {layer->groups.front(), layer->groups.back()}) {
      if (find_span(group.begin, group.end, layer->row(group)) == std::pair{Vertex{0}, tokens - 1}) return {0};
    }
  }
  const Booking booking(budget, std::uint64_t{tokens} * sizeof(Vertex));
  std::vector<Vertex> farthest(tokens);  // that a span beginning here comes to
  std::iota(farthest.begin(), farthest.end(), Vertex{0});
  std::vector<Vertex> segments;
  for (const auto& layer : layers) {
    for_each_stretch(*layer, [&](Vertex begin, Vertex end, std::span<const ReadRange> ranges) {
      budget.poll();
      const auto [from, to] = find_span(begin, end, ranges);
      farthest[from] = std::max(farthest[from], to);
    });
    segments.clear();
    Vertex end = 0;
    for (Vertex i = 0; i < tokens; ++i) {
      if (segments.empty() || i > end) segments.push_back(i);
      end = std::max(end, farthest[i]);
    }
    if (segments.size() == 1) break;  // no other layer takes it apart
  }
  return segments;
}

/// Rows of a list of layers by reader.
class RowsByReader {
public:
  RowsByReader(const ReadLayers& layers, Vertex tokens, const Budget& budget) : layers_(layers), booking_(budget, layers.size() * std::uint64_t{tokens} * sizeof(std::uint32_t)), group_of_(layers.size()) {
    for (std::size_t l = 0; l < layers.size(); ++l) {
      group_of_[l].resize(layers[l]->groups.empty() ? 0 : tokens);
      for (std::size_t g = 0; g < layers[l]->groups.size(); ++g) {
        const ReadGroup& group = layers[l]->groups[g];
        std::fill(group_of_[l].begin() + group.begin, group_of_[l].begin() + group.end, static_cast<std::uint32_t>(g));
      }
    }
  }

  [[nodiscard]] std::size_t layers() const { return layers_.size(); }
  [[nodiscard]] ReadLayer::Row row(std::size_t l, Vertex i) const {
    if (group_of_[l].empty()) return {{}, {}};
    return layers_[l]->row(layers_[l]->groups[group_of_[l][i]]);
  }

private:
  const ReadLayers& layers_;
  Booking booking_;
  std::vector<std::vector<std::uint32_t>> group_of_;  ///< by layer and token
};

/// Distributes tokens over parts, and parts over layouts that are written once.
class PartSplitter {
public:
  PartSplitter(const Layout& layout, const RowsByReader& rows, ClosedParts& parts, const Budget& budget) : layout_(layout), rows_(rows), parts_(parts), budget_(budget) {}

  void run() {
    std::unordered_multimap<std::uint64_t, std::uint32_t> seen;  // layouts by their hashes
    std::vector<Vertex> sample;                                  // by layout: the part it was written from
    for (Vertex c = 0; c < parts_.first.size(); ++c) {
      const std::uint64_t hash = compute_hash(c);
      const auto [begin, end] = seen.equal_range(hash);
      const auto known = std::find_if(begin, end, [&](const auto& entry) { return are_alike(sample[entry.second], c); });
      if (known != end) {
        parts_.like.push_back(known->second);
        continue;
      }
      const auto number = static_cast<std::uint32_t>(sample.size());
      parts_.like.push_back(number);
      parts_.layouts.push_back(write(c));
      sample.push_back(c);
      seen.emplace(hash, number);
    }
  }

private:
  [[nodiscard]] Vertex place(Vertex c, Vertex token) const { return (token - parts_.first[c]) / parts_.step; }
  [[nodiscard]] ReadRange place(Vertex c, const ReadRange& range) const {
    return {place(c, range.first), place(c, range.last), range.first == range.last ? 1 : range.step / parts_.step};
  }

  std::uint64_t compute_hash(Vertex c) {
    std::uint64_t hash = parts_.tokens[c];
    const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15u + (hash >> 29); };
    for (std::size_t l = 0; l < rows_.layers(); ++l) {
      for (Vertex k = 0; k < parts_.tokens[c]; ++k) {
        budget_.poll();
        add(k);
        for (const ReadRange& range : rows_.row(l, parts_.whole(c, k))) {
          const ReadRange own = place(c, range);
          add(own.first);
          add(std::uint64_t{own.last} << 32 | own.step);
        }
      }
    }
    return hash;
  }

  bool are_alike(Vertex a, Vertex b) {
    if (parts_.tokens[a] != parts_.tokens[b]) return false;
    for (std::size_t l = 0; l < rows_.layers(); ++l) {
      for (Vertex k = 0; k < parts_.tokens[a]; ++k) {
        budget_.poll();
        const ReadLayer::Row of_a = rows_.row(l, parts_.whole(a, k)), of_b = rows_.row(l, parts_.whole(b, k));
        if (of_a.size() != of_b.size()) return false;
        auto x = of_a.begin();
        for (const ReadRange& y : of_b) {
          if (place(a, *x) != place(b, y)) return false;
          ++x;
        }
      }
    }
    return true;
  }

  Layout write(Vertex c) {
    Layout part;
    part.tokens = parts_.tokens[c];
    part.vertex_colour.assign(part.tokens, 0);
    part.order = layout_.order;
    std::vector<layout::AffineRun> runs;
    std::vector<ReadRange> row;
    for (std::size_t l = 0; l < rows_.layers(); ++l) {
      layout::PatternBuilder builder(part.tokens, budget_);
      for (Vertex k = 0; k < part.tokens; ++k) {
        row.clear();
        for (const ReadRange& range : rows_.row(l, parts_.whole(c, k))) row.push_back(place(c, range));
        tidy(row);
        make_disjoint(row);
        runs.clear();
        for (const ReadRange& range : row) {
          runs.push_back(layout::make_constant_run(range.first, range.last));
          runs.back().step = range.step;
        }
        builder.add_segment(k, builder.add_list_once(runs));
      }
      part.layers.push_back({{static_cast<std::uint32_t>(l)}});
      part.relations.emplace_back(builder.build(), layout::Relative{}, layout::Cancels::nothing, part.tokens);
    }
    return part;
  }

  const Layout& layout_;
  const RowsByReader& rows_;
  ClosedParts& parts_;
  const Budget& budget_;
};

std::shared_ptr<const ClosedParts> make_closed_parts(const Layout& layout, const Budget& budget) {
  if (layout.registers > 0 || layout.order.empty() || layout.tokens < 3) return nullptr;
  const Vertex tokens = layout.tokens;
  const ReadLayers layers = find_read_layers(layout, budget);
  auto parts = std::make_shared<ClosedParts>();
  if (const Vertex modulus = find_modulus(layers, budget); modulus > 1) {
    parts->step = modulus;
    for (Vertex c = 0; c < modulus; ++c) {
      parts->first.push_back(c);
      parts->tokens.push_back((tokens - c - 1) / modulus + 1);
    }
  } else if (modulus == 1) {
    parts->first = find_segments(layers, tokens, budget);
    if (parts->first.back() < 2) return nullptr;
    for (std::size_t c = 0; c < parts->first.size(); ++c) parts->tokens.push_back((c + 1 < parts->first.size() ? parts->first[c + 1] : tokens) - parts->first[c]);
  } else {
    return nullptr;
  }
  PartSplitter(layout, RowsByReader(layers, tokens, budget), *parts, budget).run();
  return parts;
}

std::optional<ReachAnswer> answer_part(const ReachQuestion& question, const Budget& budget, bool cheaply) {
  constexpr Threshold<Vertex> few{1024, 2, "residues"};  // quickly answered by bits
  if (!cheaply || question.layout->tokens <= few) return answer_reach(question, budget);
  return answer_cheaply(question, budget);
}

/// Tokens of two parts, of which the first wants the other.
UnreachablePair find_apart(const ClosedParts& parts, const Wanted& wanted) {
  const auto behind = [&](Vertex token) { return parts.step > 1 ? token + 1 : parts.first[parts.part_of(token) + 1]; };
  if (wanted.kind == ClassKind::all) return {0, behind(0)};
  const Vertex least = wanted.ordinary_only ? 1 : 0;
  return {behind(least), least};
}

}  // namespace

Vertex ClosedParts::part_of(Vertex token) const {
  if (step > 1) return token % step;
  return static_cast<Vertex>(std::upper_bound(first.begin(), first.end(), token) - first.begin() - 1);
}

std::shared_ptr<const ClosedParts> find_closed_parts(const Layout& layout, const Budget& budget) {
  ReachMemory::Entry* memory = ReachMemory::find(layout);
  if (memory == nullptr) return make_closed_parts(layout, budget);
  if (!memory->has_closed_parts) {
    auto found = make_closed_parts(layout, budget);
    memory = ReachMemory::find(layout);
    memory->closed_parts = std::move(found);
    memory->has_closed_parts = true;
  }
  return memory->closed_parts;
}

std::optional<ReachAnswer> answer_by_closed_parts(const ReachQuestion& question, const Budget& budget, bool cheaply) {
  const Layout& layout = *question.layout;
  if (question.weight != nullptr) return std::nullopt;
  const std::shared_ptr<const ClosedParts> parts = find_closed_parts(layout, budget);
  if (!parts) return std::nullopt;
  const bool first_apart = question.wanted.ordinary_only, wants_seen = question.wanted.kind == ClassKind::seen;
  ReachAnswer answer;
  if (question.find_layers && !wants_seen) {
    answer.reach = {std::nullopt, find_apart(*parts, question.wanted)};
    if (!question.count_unseen) return answer;
  }
  if (question.count_unseen) answer.unseen.resize(layout.tokens);
  if (question.find_layers && wants_seen) answer.reach.layers = 0;
  const auto ask = [&](const Layout& part, bool ordinary_only) {
    ReachQuestion asked = question;
    asked.layout = &part;
    asked.wanted.ordinary_only = ordinary_only;
    asked.find_layers = question.find_layers && wants_seen;
    return answer_part(asked, budget, cheaply);
  };
  std::vector<std::optional<ReachAnswer>> known(parts->layouts.size());
  std::optional<ReachAnswer> of_first;
  for (Vertex c = 0; c < parts->first.size(); ++c) {
    // Token 0 is wanted or not in its own part only.
    const bool is_first = first_apart && c == 0;
    std::optional<ReachAnswer>& own = is_first ? of_first : known[parts->like[c]];
    if (!own) own = ask(parts->layouts[parts->like[c]], is_first);
    if (!own) return std::nullopt;
    if (question.find_layers && wants_seen && *own->reach.layers > *answer.reach.layers) {
      answer.reach = own->reach;
      UnreachablePair& pair = *answer.reach.witness;
      pair = {parts->whole(c, pair.reader), parts->whole(c, pair.unseen)};
    }
    for (Vertex k = 0; question.count_unseen && k < parts->tokens[c]; ++k) {
      const Vertex i = parts->whole(c, k);
      Vertex others = 0;  // wanted, of other parts
      if (!wants_seen) others = question.wanted.kind == ClassKind::all ? layout.tokens - parts->tokens[c] : i - k;
      if (others > 0 && first_apart && c != 0) --others;
      answer.unseen[i] = others + own->unseen[k];
    }
  }
  return answer;
}

}  // namespace sightline::sight

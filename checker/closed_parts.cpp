#include "closed_parts.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "poll.hpp"

namespace checker {

namespace {

/// Of all differences between readers and what they read; 0 without arcs but loops.
Vertex find_modulus(const std::map<std::uint32_t, ReadLayer>& layers) {
  Vertex modulus = 0;
  for (const auto& [l, layer] : layers) {
    for (const ReadLayer::Group& group : layer.groups) {
      if (layer.row(group).empty()) continue;
      if (group.end - group.begin > 1) return 1;  // neighbours with one row
      for (const auto& [step, first, last] : layer.row(group)) {
        modulus = std::gcd(modulus, first > group.begin ? first - group.begin : group.begin - first);
        if (last > first) modulus = std::gcd(modulus, step);
      }
      if (modulus == 1) return 1;
    }
  }
  return modulus;
}

/// Heads of one layer may read the same vertices: counts go by runs, so none may be in two of them.
void make_disjoint(std::vector<MovingRun>& list, const MovingRun& like, std::uint64_t& written) {
  const auto may_meet = [](const MovingRun& a, const MovingRun& b) {
    return a.lo <= b.hi && b.lo <= a.hi && (a.lo > b.lo ? a.lo - b.lo : b.lo - a.lo) % std::gcd(a.step, b.step) == 0;
  };
  bool disjoint = true;
  for (std::size_t x = 0; x < list.size() && disjoint; ++x) {
    for (std::size_t y = x + 1; y < list.size() && disjoint; ++y) disjoint = !may_meet(list[x], list[y]);
  }
  if (disjoint) return;
  std::vector<std::int64_t> members;
  for (const MovingRun& run : list) {
    for (std::int64_t j = run.lo; j <= static_cast<std::int64_t>(run.hi); j += run.step) members.push_back(j);
  }
  written += members.size();
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  list.clear();
  for (const std::int64_t j : members) {
    if (!list.empty() && static_cast<std::int64_t>(list.back().hi) + 1 == j) {
      ++list.back().hi;
      continue;
    }
    MovingRun& run = list.emplace_back(like);
    run.lo = run.hi = static_cast<decltype(run.lo)>(j);
    run.step = 1;
  }
}

/// Where intervals of tokens begin between which no arc leads.
std::vector<Vertex> find_segments(const std::map<std::uint32_t, ReadLayer>& layers, Vertex tokens) {
  std::vector<std::int64_t> open(std::size_t{tokens} + 1, 0);
  std::vector<Vertex> begins;
  for (const auto& [l, layer] : layers) {
    layer.visit_lists([&](Vertex begin, Vertex end, std::span<const Range> ranges) {
      poll();
      if (ranges.empty()) return;
      Vertex low = begin, high = end - 1;
      for (const Range& range : ranges) {
        low = std::min(low, range.first);
        high = std::max(high, range.last);
      }
      ++open[low];
      --open[high];
    });
    begins.clear();
    std::int64_t spans = 0;  // over the gap before the token
    for (Vertex i = 0; i < tokens; ++i) {
      if (spans == 0) begins.push_back(i);
      spans += open[i];
    }
    if (begins.size() == 1) break;
  }
  return begins;
}

/// Rows of one part, as its tokens are numbered: by layer and token how many ranges, and these.
class PartRows {
public:
  PartRows(const ClosedParts& parts, const std::map<std::uint32_t, ReadLayer>& layers, Vertex tokens) : parts_(parts), layers_(layers) {
    for (const auto& [l, layer] : layers) groups_.push_back(layer.groups_by_reader(tokens));
  }

  [[nodiscard]] std::vector<Vertex> list(std::size_t c) const {
    std::vector<Vertex> rows{parts_.tokens[c]};
    auto group = groups_.begin();
    for (const auto& [l, layer] : layers_) {
      poll();
      for (Vertex k = 0; k < parts_.tokens[c]; ++k) {
        const std::size_t at = rows.size();
        rows.push_back(0);
        for (const Range& range : layer.row(layer.groups[(*group)[parts_.whole(c, k)]])) {
          ++rows[at];
          const Vertex step = range.first == range.last ? 1 : range.step / parts_.step;
          rows.insert(rows.end(), {step, parts_.place(c, range.first), parts_.place(c, range.last)});
        }
      }
      ++group;
    }
    return rows;
  }

private:
  const ClosedParts& parts_;
  const std::map<std::uint32_t, ReadLayer>& layers_;
  std::vector<std::vector<std::uint32_t>> groups_;
};

/// A layout of such rows, each of them a segment.
Layout make_part(const Layout& whole, const std::map<std::uint32_t, ReadLayer>& layers, const std::vector<Vertex>& rows, std::uint64_t& written) {
  Layout part;
  part.tokens = rows.front();
  part.vertex_colour.assign(part.tokens, 0);
  part.layers.resize(whole.layers.size());
  part.order = whole.order;
  std::size_t at = 1;
  for (const auto& [l, layer] : layers) {
    Pattern pattern;
    pattern.vertices = part.tokens;
    for (Vertex k = 0; k < part.tokens; ++k) {
      pattern.segments.push_back({k, 1, static_cast<std::uint32_t>(pattern.lists.size()), Pattern::none});
      std::vector<MovingRun>& list = pattern.lists.emplace_back();
      for (Vertex left = rows[at++]; left > 0; --left, at += 3) list.push_back({rows[at + 1], rows[at + 2], rows[at], 1, 0, 0});
      if (list.size() > 1) make_disjoint(list, MovingRun(list.front()), written);
    }
    part.layers[l] = {static_cast<std::uint32_t>(part.relations.size())};
    Relation& relation = part.relations.emplace_back();
    relation.pattern = std::make_shared<Pattern>(std::move(pattern));
    relation.tokens = part.tokens;
  }
  return part;
}

}  // namespace

Vertex ClosedParts::part_of(Vertex token) const {
  if (step > 1) return token % step;
  return static_cast<Vertex>(std::ranges::upper_bound(first, token) - first.begin() - 1);
}

std::optional<ClosedParts::Pair> ClosedParts::find_apart(const ReachQuestion& question) const {
  if (question.kind == ClassKind::seen) return std::nullopt;
  const auto next_part = [&](Vertex token) { return step > 1 ? token + 1 : first[part_of(token) + 1]; };
  if (question.kind == ClassKind::all) return Pair{0, next_part(0)};
  const Vertex least = question.ordinary_only ? 1 : 0;
  return Pair{next_part(least), least};
}

Unseen ClosedParts::unseen(const ReachQuestion& question, Vertex all_tokens, const std::function<Unseen(std::size_t)>& ask) const {
  Unseen result{std::vector<Vertex>(all_tokens), find_apart(question)};
  for (std::size_t c = 0; c < first.size(); ++c) {
    const Unseen own = ask(c);
    if (own.first) result.first = result.first ? std::min(*result.first, restore(c, *own.first)) : restore(c, *own.first);
    for (Vertex k = 0; k < tokens[c]; ++k) {
      const Vertex i = whole(c, k);
      Vertex others = question.kind == ClassKind::all ? all_tokens - tokens[c] : question.kind == ClassKind::causal ? i - k : 0;
      if (others > 0 && question.ordinary_only && c > 0) --others;  // token 0 is one of them
      result.count[i] = own.count[k] + others;
    }
  }
  return result;
}

Reach ClosedParts::layers(const ReachQuestion& question, const std::function<Reach(std::size_t)>& ask) const {
  if (const auto apart = find_apart(question)) return {std::nullopt, apart};
  Reach result{0, {}};
  for (std::size_t c = 0; c < first.size(); ++c) {
    const Reach own = ask(c);
    if (own.layers && *own.layers <= *result.layers) continue;
    result = {own.layers, own.missed ? std::optional(restore(c, *own.missed)) : std::nullopt};
    if (!own.layers) break;
  }
  return result;
}

std::unique_ptr<ClosedParts> find_closed_parts(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers) {
  if (layout.registers > 0 || layout.tokens < 3 || layers.empty()) return nullptr;
  const Vertex modulus = find_modulus(layers);
  if (modulus == 0) return nullptr;
  auto parts = std::make_unique<ClosedParts>();
  parts->step = modulus;
  if (modulus > 1) {
    for (Vertex c = 0; c < modulus; ++c) parts->first.push_back(c);
  } else {
    parts->first = find_segments(layers, layout.tokens);
    if (parts->first.back() < 2) return nullptr;
  }
  for (std::size_t c = 0; c < parts->first.size(); ++c) {
    const Vertex end = modulus > 1 || c + 1 == parts->first.size() ? layout.tokens : parts->first[c + 1];
    parts->tokens.push_back((end - parts->first[c] - 1) / modulus + 1);
  }
  constexpr std::uint64_t most_written = std::uint64_t{1} << 26;
  std::uint64_t written = 0;
  const PartRows rows(*parts, layers, layout.tokens);
  std::map<std::vector<Vertex>, std::size_t> known;
  for (std::size_t c = 0; c < parts->first.size(); ++c) {
    const auto [at, fresh] = known.try_emplace(rows.list(c), parts->layouts.size());
    if (fresh) parts->layouts.push_back(make_part(layout, layers, at->first, written));
    if (written > most_written) return nullptr;
    parts->like.push_back(at->second);
  }
  return parts;
}

}  // namespace checker

#include "triangles.hpp"

#include "threshold.hpp"

namespace checker {

namespace {

using Pair = std::pair<Vertex, Vertex>;

/// What a token reads below itself: whole runs, and where the run that ends at itself begins (at itself: none).
struct Below {
  std::vector<std::pair<Vertex, Vertex>> runs;
  std::optional<Vertex> tail;
  friend bool operator==(const Below&, const Below&) = default;
};

/// False: not of this kind.
bool read_below(const Pattern& pattern, Vertex i, std::vector<Run>& row, Below& out) {
  pattern.row(i, row);
  out.runs.clear();
  out.tail.reset();
  for (const Run& run : row) {
    if (run.last > i || (run.step != 1 && run.first != run.last)) return false;
    if (run.last < i) out.runs.emplace_back(run.first, run.last);
    else if (run.first < i) out.tail = run.first;
  }
  return true;
}

}  // namespace

std::unique_ptr<Triangles> Triangles::find(const Layout& layout) {
  const Vertex n = layout.tokens;
  if (layout.registers > 0 || layout.order.empty() || n < 2) return nullptr;
  std::unique_ptr<Triangles> found(new Triangles(layout));
  // Where what is read changes from one token to the next, and wherever a run begins or has ended, a block begins: then blocks are read as wholes from outside, and
  // read the same outside.
  std::vector<bool> cut(std::size_t{n} + 1, false);
  cut[0] = cut[1] = true;
  std::vector<Run> row;
  for (const std::uint32_t l : layout.order) {
    if (found->reads_own_.contains(l)) continue;
    found->reads_own_[l];
    for (const std::uint32_t r : layout.layers[l]) {
      Below now, last;
      for (Vertex i = 0; i < n; ++i, std::swap(now, last)) {
        poll();
        if (!read_below(*layout.relations[r].pattern, i, row, now)) return nullptr;
        if (i > 0 && now == last) continue;
        cut[i] = true;
        for (const auto& [from, to] : now.runs) cut[from] = cut[std::size_t{to} + 1] = true;
        if (now.tail) cut[*now.tail] = true;
      }
    }
  }
  const auto blocks = static_cast<Vertex>(std::count(cut.begin(), cut.end() - 1, true));
  constexpr Threshold<Vertex> least_share{16, 1, "triangles"};  // vertices for each block, at least
  if (blocks > n / least_share) return nullptr;
  for (Vertex v = 0; v < n; ++v) {
    if (cut[v]) {
      found->first_.push_back(v);
      found->size_.push_back(0);
    }
    ++found->size_.back();
    found->block_of_.push_back(static_cast<Vertex>(found->first_.size() - 1));
  }
  found->blocks_.tokens = blocks;
  found->blocks_.layers.resize(layout.layers.size());
  found->blocks_.order = layout.order;
  for (auto& [l, own] : found->reads_own_) {
    ReadLayer layer;
    own.assign(blocks, false);
    Below below;
    for (Vertex b = 0; b < blocks; ++b) {
      const std::size_t from = layer.ranges.size();
      for (const std::uint32_t r : layout.layers[l]) {
        if (!read_below(*layout.relations[r].pattern, found->first_[b] + found->size_[b] - 1, row, below)) return nullptr;
        if (below.tail) below.runs.emplace_back(*below.tail, found->first_[b]);
        own[b] = own[b] || below.tail;
        for (const auto& [first, last] : below.runs) layer.ranges.push_back({1, found->block_of_[first], found->block_of_[last]});
      }
      std::sort(layer.ranges.begin() + static_cast<std::ptrdiff_t>(from), layer.ranges.end());
      layer.groups.push_back({b, b + 1, from, static_cast<std::uint32_t>(layer.ranges.size() - from), 0});
    }
    found->shared_.emplace(l, share_ranges(layer));
  }
  return found;
}

ReachQuestion Triangles::ask(const ReachQuestion& question) const {
  ReachQuestion asked;
  asked.kind = question.kind == ClassKind::all ? ClassKind::causal : question.kind;
  asked.ordinary_only = question.ordinary_only;  // token 0 is a block
  asked.skip = question.skip;
  asked.weight = &size_;
  return asked;
}

std::vector<std::uint64_t> Triangles::within(std::uint64_t skip) const {
  std::vector<std::uint64_t> layers(first_.size(), never);
  for (std::uint64_t q = blocks_.order.size(); q >= 1; --q) {
    const std::vector<bool>& own = reads_own_.at(blocks_.order[(skip + q - 1) % blocks_.order.size()]);
    for (std::size_t b = 0; b < own.size(); ++b) {
      if (own[b]) layers[b] = q;
    }
  }
  for (std::size_t b = 0; b < layers.size(); ++b) layers[b] = size_[b] == 1 ? 0 : layers[b];
  return layers;
}

std::optional<Reach> Triangles::layers(const ReachQuestion& question) const {
  if (question.kind == ClassKind::all) return Reach{std::nullopt, Pair{0, 1}};
  if (takes_long_) return std::nullopt;
  const ReachQuestion asked = ask(question);
  BitReach<> bits(blocks_, shared_, asked);
  Reach result = bits.layers(nullptr, most_layers);
  takes_long_ = bits.gave_up();
  if (takes_long_) return std::nullopt;
  if (result.missed) result.missed = Pair{first_[result.missed->first], first_[result.missed->second]};
  const std::vector<std::uint64_t> own = within(question.skip);
  for (std::size_t b = 0; b < own.size() && result.layers; ++b) {
    const Pair pair{first_[b] + 1, first_[b]};
    if (own[b] == never && question.kind == ClassKind::causal) result = {std::nullopt, pair};
    else if (own[b] != never && own[b] > *result.layers) result = {own[b], pair};
  }
  return result;
}

std::optional<Unseen> Triangles::unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) const {
  const ReachQuestion asked = ask(question);
  if ((depth.value_or(never) > most_layers || question.kind == ClassKind::seen) && !layers(asked)) return std::nullopt;
  const Unseen of_blocks = BitReach<>(blocks_, shared_, asked).unseen(depth);
  const std::vector<std::uint64_t> own = within(question.skip);
  Unseen result{std::vector<Vertex>(tokens_), {}};
  for (Vertex i = 0; i < tokens_; ++i) {
    const Vertex b = block_of_[i];
    // Kind seen: what is never seen is not missed.
    const bool misses_own = own[b] == never ? question.kind != ClassKind::seen : own[b] > depth.value_or(never);
    result.count[i] = of_blocks.count[b] + (misses_own ? i - first_[b] : 0) + (question.kind == ClassKind::all ? tokens_ - 1 - i : 0);
    if (result.count[i] == 0 || result.first) continue;
    if (of_blocks.count[b] > 0) result.first = Pair{i, first_[of_blocks.first->second]};
    else if (question.kind == ClassKind::all && !misses_own) result.first = Pair{i, i + 1};
    else result.first = Pair{i, first_[b]};
  }
  return result;
}

}  // namespace checker

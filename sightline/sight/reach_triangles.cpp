// Blocks of neighbours that read the same outside of themselves and, inside, all up to themselves: block masks under a causal mask (docs/theory.md 16.100).
#include <algorithm>
#include <memory>

#include "sightline/base/threshold.hpp"
#include "sightline/layout/pattern_builder.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"

namespace sightline::sight {

namespace {

constexpr Threshold<Vertex> least_share{16, 1, "triangles"};  // vertices for each block, at least

/// A layout on one vertex for each block. A block reads itself where its members read all before them within it.
struct Triangles {
  Layout layout;
  std::vector<Vertex> first;  ///< of each block
  std::vector<Vertex> size, block_of;
  mutable bool takes_long = false;  ///< some question was given up: so are those that follow
};

/// Runs of a row below the reader, and where the one that ends at the reader begins: the reader itself where there is none before it, one more where it reads itself not at all.
struct RowBelow {
  std::vector<layout::Run> runs;
  Vertex from = 0;
  bool is_single = true;  ///< of the reader's own run: the reader alone, or nobody

  /// False where something above is read, or a run has gaps.
  bool read(const std::vector<layout::Run>& row, Vertex i) {
    runs.clear();
    is_single = true;
    from = 0;
    for (const layout::Run& run : row) {
      if (run.last > i || (run.step > 1 && run.first != run.last)) return false;
      if (run.last < i) {
        runs.push_back({run.first, run.last, 1, 0});
      } else if (run.first < i) {
        is_single = false;
        from = run.first;
      }
    }
    return true;
  }
  friend bool operator==(const RowBelow& a, const RowBelow& b) { return a.runs == b.runs && a.from == b.from && a.is_single == b.is_single; }
};

std::shared_ptr<const Triangles> make_triangles(const Layout& layout, const Budget& budget) {
  const Vertex tokens = layout.tokens;
  if (layout.registers > 0 || layout.order.empty() || tokens < 2) return nullptr;
  std::vector<bool> used(layout.relations.size(), false);
  for (const std::uint32_t l : layout.order) {
    for (const std::uint32_t r : layout.layers[l].relations) used[r] = true;
  }
  // A block begins where a run begins or ends, and where rows are not those of the token before.
  std::vector<bool> begins(std::size_t{tokens} + 1, false);
  begins[0] = begins[1] = true;  // a BOS counts for itself
  std::vector<layout::Run> row;
  std::uint64_t count = 2;
  const auto begin_at = [&](Vertex v) {
    if (!begins[v]) begins[v] = true, ++count;
    return count <= tokens / least_share;
  };
  for (std::size_t r = 0; r < used.size(); ++r) {
    RowBelow now, before;
    for (Vertex i = 0; used[r] && i < tokens; ++i) {
      budget.poll();
      layout.relations[r].pattern().row(i, row);
      if (!now.read(row, i)) return nullptr;
      // The run up to the token before, and from there on up to this one, is one and the same.
      if (i > 0 && !(now == before) && !begin_at(i)) return nullptr;
      if (i == 0 || !(now == before)) {
        for (const layout::Run& run : now.runs) {
          if (!begin_at(run.first) || !begin_at(run.last + 1)) return nullptr;
        }
        if (!now.is_single && !begin_at(now.from)) return nullptr;
      }
      before = now;
    }
  }
  if (count > tokens / least_share) return nullptr;
  auto result = std::make_shared<Triangles>();
  result->block_of.resize(tokens);
  for (Vertex v = 0; v < tokens; ++v) {
    if (begins[v]) {
      result->first.push_back(v);
      result->size.push_back(0);
    }
    ++result->size.back();
    result->block_of[v] = static_cast<Vertex>(result->first.size() - 1);
  }
  const auto blocks = static_cast<Vertex>(result->first.size());
  result->layout.tokens = blocks;
  result->layout.vertex_colour.assign(blocks, 0);
  result->layout.layers = layout.layers;
  result->layout.order = layout.order;
  for (std::size_t r = 0; r < used.size(); ++r) {
    layout::PatternBuilder builder(blocks, budget);
    RowBelow below;
    for (Vertex b = 0; b < blocks; ++b) {
      std::vector<layout::AffineRun> runs;
      // The last member's row says whether there is more than itself.
      const Vertex i = result->first[b] + result->size[b] - 1;
      if (used[r]) {
        layout.relations[r].pattern().row(i, row);
        below.read(row, i);
        for (const layout::Run& run : below.runs) runs.push_back(layout::make_constant_run(result->block_of[run.first], result->block_of[run.last]));
        if (!below.is_single) runs.push_back(layout::make_constant_run(result->block_of[below.from], b));
      }
      builder.add_segment(b, builder.add_list(runs));
    }
    result->layout.relations.emplace_back(builder.build(), layout::Relative{}, layout::Cancels::nothing, blocks);
  }
  return result;
}

std::shared_ptr<const Triangles> find_triangles(const Layout& layout, const Budget& budget) {
  struct Kept {
    std::shared_ptr<const Triangles> triangles;
  };
  ReachMemory::Entry* memory = ReachMemory::find(layout);
  if (memory == nullptr) return make_triangles(layout, budget);
  if (!memory->triangles) {
    auto kept = std::make_shared<Kept>(Kept{make_triangles(layout, budget)});
    memory = ReachMemory::find(layout);
    memory->triangles = std::move(kept);
  }
  return std::static_pointer_cast<const Kept>(memory->triangles)->triangles;
}

}  // namespace

std::optional<ReachAnswer> answer_by_triangles(const ReachQuestion& question, const Budget& budget) {
  const Vertex tokens = question.layout->tokens;
  if (question.weight != nullptr || question.layout->registers > 0 || tokens < 2) return std::nullopt;
  const std::shared_ptr<const Triangles> found = find_triangles(*question.layout, budget);
  if (!found) return std::nullopt;
  const Layout& blocks = found->layout;
  const bool all = question.wanted.kind == ClassKind::all;
  ReachAnswer answer;
  ReachQuestion asked = question;
  asked.layout = &blocks;
  if (all) asked.wanted.kind = ClassKind::causal;
  asked.find_layers = question.find_layers && !all;
  asked.weight = &found->size;
  // Through many layers other ways are shorter, or columns of tokens no longer.
  constexpr std::uint64_t most_layers = 512;
  if (asked.find_layers || (asked.count_unseen && (!asked.depth || *asked.depth > most_layers || asked.wanted.kind == ClassKind::seen))) {
    if (found->takes_long) return std::nullopt;
    ReachQuestion soon = asked;
    soon.find_layers = true;
    soon.count_unseen = false;
    std::optional<ReachAnswer> layers = find_layers_of_columns(soon, nullptr, most_layers, budget);
    found->takes_long = !layers;
    if (!layers) return std::nullopt;
    answer.reach = layers->reach;
  }
  if (asked.count_unseen) {
    const bool sees_all = asked.wanted.kind == ClassKind::causal && answer.reach.layers && (!asked.depth || *answer.reach.layers <= *asked.depth);
    asked.find_layers = false;
    answer.unseen = sees_all ? std::vector<Vertex>(blocks.tokens, 0) : answer_by_bits(asked, budget).unseen;
  }
  if (!question.find_layers || all) answer.reach = {};
  if (answer.reach.witness) answer.reach.witness = UnreachablePair{found->first[answer.reach.witness->reader], found->first[answer.reach.witness->unseen]};
  // After how many layers the members of each block see one another, if ever.
  std::vector<std::optional<std::uint64_t>> inner(blocks.tokens);
  for (std::uint64_t q = blocks.order.size(); q >= 1; --q) {
    const std::shared_ptr<const ReadLayer> layer = find_read_layer(blocks, blocks.order[(question.skip + q - 1) % blocks.order.size()], budget);
    for (const ReadGroup& group : layer->groups) {
      for (const ReadRange& range : layer->row(group)) {
        for (Vertex b = std::max(group.begin, range.first); b < group.end && b <= range.last; ++b) inner[b] = q;
      }
    }
  }
  for (Vertex b = 0; b < blocks.tokens && answer.reach.layers; ++b) {
    if (found->size[b] == 1) continue;
    const UnreachablePair pair{found->first[b] + 1, found->first[b]};
    if (!inner[b] && question.wanted.kind == ClassKind::causal) answer.reach = {std::nullopt, pair};
    else if (inner[b] && *inner[b] > *answer.reach.layers) answer.reach = {inner[b], pair};
  }
  if (question.find_layers && all) answer.reach = {std::nullopt, UnreachablePair{0, 1}};
  if (!question.count_unseen) return answer;
  const std::vector<Vertex> of_block = std::move(answer.unseen);
  answer.unseen.resize(tokens);
  for (Vertex i = 0; i < tokens; ++i) {
    const Vertex b = found->block_of[i], before = i - found->first[b];
    const bool sees = inner[b] && (!question.depth || *inner[b] <= *question.depth);
    // What is never seen is not missed by kind `seen`.
    const bool misses = !sees && (question.wanted.kind != ClassKind::seen || inner[b].has_value());
    answer.unseen[i] = of_block[b] + (misses ? before : 0) + (all ? tokens - 1 - i : 0);
  }
  return answer;
}

}  // namespace sightline::sight

// How much is unseen after few layers, when views are still small: each is walked through by itself.
#include <algorithm>
#include <numeric>

#include "sightline/layout/steady_rows.hpp"
#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

namespace {

Vertex count_tokens(const ReachQuestion& question) {
  const Vertex tokens = question.layout->tokens;
  return question.weight == nullptr ? tokens : std::accumulate(question.weight->begin(), question.weight->begin() + tokens, Vertex{0});
}

// Marks the members of one view after another without clearing anything.
class ViewCounter {
public:
  ViewCounter(const ReachQuestion& question, const std::vector<LayerRun>& period, ReadLayers layers, const Budget& budget)
      : question_(question), layout_(*question.layout), layers_(std::move(layers)), budget_(budget),
        booking_(budget, (4 + 8 * layers_.size()) * std::uint64_t{layout_.vertices()}), mark_(layout_.vertices(), 0), all_(count_tokens(question)) {
    for (const LayerRun& run : period) order_.insert(order_.end(), run.count, run.layer);
    for (const auto& layer : layers_) {
      std::vector<std::uint32_t> group(layout_.vertices());
      for (std::uint32_t g = 0; g < layer->groups.size(); ++g) std::fill(group.begin() + layer->groups[g].begin, group.begin() + layer->groups[g].end, g);
      group_.push_back(std::move(group));
      opened_.emplace_back(layer->groups.size(), 0);
      done_.emplace_back(0);
    }
  }

  // Nothing once more than `most_work` steps were taken.
  std::optional<std::vector<Vertex>> count(std::uint64_t depth, std::uint64_t most_work) {
    most_work_ = most_work;
    std::vector<Vertex> unseen(layout_.tokens);
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      budget_.poll();
      unseen[i] = i > 0 && depth > 0 && is_like_the_one_before(i) ? unseen[i - 1] : wanted(i) - view(i, depth);
      if (work_ > most_work_) return std::nullopt;
    }
    return unseen;
  }

private:
  // Neighbours that read themselves and each other, and the same all in all, see the same from the first layer on.
  bool is_like_the_one_before(Vertex i) const {
    if (question_.wanted.kind == ClassKind::causal) return false;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      if (layers_[l]->groups.empty()) continue;
      if (group_[l][i] != group_[l][i - 1]) return false;
      const ReadGroup& group = layers_[l]->groups[group_[l][i]];
      const std::span<const ReadRange> own = layers_[l]->own_ranges(group);  // shared ranges have steps
      const bool both = std::any_of(own.begin(), own.end(), [i](const ReadRange& range) { return range.step == 1 && range.first < i && range.last >= i; });
      if (!both) return false;
    }
    return true;
  }

  Vertex wanted(Vertex i) const {
    Vertex count = question_.wanted.kind == ClassKind::causal ? i + 1 : all_;
    if (question_.wanted.ordinary_only) --count;
    return count;
  }

  void see(Vertex j, Vertex root) {
    mark_[j] = stamp_;
    members_.push_back(j);
    if (j < layout_.tokens && is_wanted(question_, root, j)) seen_ += question_.weight == nullptr ? 1 : (*question_.weight)[j];
  }

  // Anything, once more than the most steps were taken.
  Vertex view(Vertex root, std::uint64_t depth) {
    ++stamp_;
    members_.clear();
    seen_ = 0;
    std::fill(done_.begin(), done_.end(), 0);
    see(root, root);
    for (std::uint64_t q = depth; q >= 1; --q) {
      const std::uint32_t l = order_[(q - 1) % order_.size()];
      const std::size_t end = members_.size();
      const std::size_t before = done_[l];
      for (; done_[l] < end; ++done_[l]) {
        const std::uint32_t g = group_[l][members_[done_[l]]];
        if (opened_[l][g] == stamp_) continue;
        opened_[l][g] = stamp_;
        if (work_ > most_work_) return 0;
        budget_.poll();
        const ReadGroup& group = layers_[l]->groups[g];
        for (const ReadRange& range : layers_[l]->row(group)) {
          work_ += (range.last - range.first) / range.step + 1;
          for (std::uint64_t j = range.first; j <= range.last; j += range.step) {
            if (mark_[j] != stamp_) see(static_cast<Vertex>(j), root);
          }
        }
      }
      ++work_;
      // One kind of layer only, and nothing new: it stays so.
      if (layers_.size() == 1 && before == end) break;
    }
    return seen_;
  }

  const ReachQuestion& question_;
  const Layout& layout_;
  ReadLayers layers_;
  const Budget& budget_;
  Booking booking_;
  std::vector<std::uint32_t> order_, mark_;
  std::vector<std::vector<std::uint32_t>> group_, opened_;
  std::vector<std::size_t> done_;
  std::vector<Vertex> members_;
  std::uint32_t stamp_ = 0;
  Vertex seen_ = 0, all_;
  std::uint64_t work_ = 0, most_work_ = 0;
};

// One layer of one head: what is missing is what the row lacks, and its runs are disjoint.
std::vector<Vertex> count_rows(const ReachQuestion& question, const layout::Pattern& pattern, const Budget& budget) {
  const Layout& layout = *question.layout;
  std::vector<Vertex> unseen(layout.tokens);
  std::vector<layout::Run> row;
  const bool causal = question.wanted.kind == ClassKind::causal;
  std::vector<Vertex> below;  // what the tokens below count, where that is not one each
  if (question.weight != nullptr) {
    below.assign(1, 0);
    for (Vertex j = 0; j < layout.tokens; ++j) below.push_back(below.back() + (*question.weight)[j]);
  }
  const auto count = [&](Vertex begin, Vertex end, Vertex step) {
    if (below.empty()) return (end - begin) / step + 1;
    if (step == 1) return below[end + 1] - below[begin];
    Vertex sum = 0;
    for (std::uint64_t j = begin; j <= end; j += step) sum += below[j + 1] - below[j];
    return sum;
  };
  layout::SteadyRows rows(pattern, 1);
  std::vector<layout::Run> near;  // of the runs that readers have in common: those not below all of them
  Vertex below_all = 0;           // what the others count
  const Vertex first = question.wanted.ordinary_only ? 1 : 0;
  const auto count_run = [&](const layout::Run& run, Vertex last) -> Vertex {
    if (run.first > last || run.last < first) return 0;
    const Vertex end = std::min(run.last, last), begin = run.first < first ? run.first + run.step : run.first;
    return begin > end ? 0 : count(begin, end, run.step);
  };
  for (Vertex i = 0; i < layout.tokens; ++i) {
    budget.poll();
    if (rows.go_to(i)) {
      near.clear();
      below_all = 0;
      for (const layout::Run& run : rows.steady()) {
        if (run.last < i) below_all += count_run(run, run.last);
        else near.push_back(run);
      }
    }
    rows.rest(i, row);
    row.insert(row.end(), near.begin(), near.end());
    const Vertex last = causal ? i : layout.tokens - 1;
    Vertex seen = below_all + (first <= i ? count(i, i, 1) : 0);
    for (const layout::Run& run : row) {
      seen += count_run(run, last);
      if (run.contains(i) && i >= first) seen -= count(i, i, 1);
    }
    unseen[i] = count(first, last, 1) - seen;
  }
  return unseen;
}

}  // namespace

std::optional<std::vector<Vertex>> count_near(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (!question.depth || question.wanted.kind == ClassKind::seen || layout.order.empty()) return std::nullopt;
  if (question.registers_too && layout.registers > 0) return std::nullopt;
  const layout::Layer& first = layout.layer(question.skip + 1);
  if (*question.depth == 1 && first.relations.size() == 1) return count_rows(question, layout.relations[first.relations.front()].pattern(), budget);
  if (layout.order.size() > layout.tokens) return std::nullopt;
  const std::vector<LayerRun> period = make_period(layout, question.skip);
  return ViewCounter(question, period, find_read_layers(layout, budget), budget).count(*question.depth, 256 * std::uint64_t{layout.vertices()});
}

}  // namespace sightline::sight

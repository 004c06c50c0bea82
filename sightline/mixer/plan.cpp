#include "sightline/mixer/plan.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "sightline/base/error.hpp"
#include "sightline/layout/pattern_builder.hpp"

namespace sightline::mixer {
namespace {

constexpr std::int64_t most_vertices = std::int64_t{1} << 31;

std::int64_t count_relation_colours(const layout::Relation& relation) {
  std::int64_t largest = 1;
  for (const layout::AffineRun& run : relation.pattern().affine_runs())
    largest = std::max<std::int64_t>(largest, run.colour);
  return largest * relation.relative_count();
}

// Components of tokens: runs of step 1 only note that neighbours belong together, so that full rows cost O(1).
class TokenComponents {
public:
  explicit TokenComponents(std::size_t tokens) : parent_(tokens), opened_(tokens + 1, 0) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  void join(std::int64_t a, std::int64_t b) {
    a = find(a);
    b = find(b);
    if (a != b)
      parent_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
  }
  void join_interval(std::int64_t first, std::int64_t last) {
    ++opened_[static_cast<std::size_t>(first)];
    --opened_[static_cast<std::size_t>(last)];
  }
  std::vector<std::int64_t> positions() {
    std::int64_t open = 0;
    for (std::size_t t = 0; t + 1 < parent_.size(); ++t) {
      open += opened_[t];
      if (open > 0)
        join(static_cast<std::int64_t>(t), static_cast<std::int64_t>(t) + 1);
    }
    std::vector<std::int64_t> result(parent_.size());
    for (std::size_t t = 0; t < result.size(); ++t)
      result[t] = static_cast<std::int64_t>(t) - find(static_cast<std::int64_t>(t));
    return result;
  }

private:
  std::int64_t find(std::int64_t x) {
    while (parent_[static_cast<std::size_t>(x)] != x) {
      auto& up = parent_[static_cast<std::size_t>(x)];
      up = parent_[static_cast<std::size_t>(up)];
      x = up;
    }
    return x;
  }
  std::vector<std::int64_t> parent_, opened_;
};

void join_row(TokenComponents& components, std::int64_t reader, std::int64_t tokens,
              const std::vector<layout::ColouredRun>& row) {
  for (const layout::ColouredRun& run : row) {
    if (run.first >= tokens)
      continue;
    const std::int64_t last = std::min<std::int64_t>(run.last, tokens - 1);
    components.join(reader, run.first);
    if (run.step == 1) {
      components.join_interval(run.first, last);
    } else {
      for (std::int64_t j = run.first; j <= last; j += run.step)
        components.join(reader, j);
    }
  }
}

} // namespace

std::shared_ptr<const Plan> make_plan(std::span<const layout::Relation> heads, const Budget& budget) {
  if (heads.empty())
    throw ArgumentError("a plan needs at least one relation");
  std::shared_ptr<Plan> plan(new Plan);
  plan->readers_ = plan->reads_ = heads.front().vertex_count();
  plan->reader_tokens_ = plan->read_tokens_ = heads.front().tokens();
  plan->colours_ = 1;
  for (const layout::Relation& relation : heads) {
    budget.poll();
    if (relation.vertex_count() != plan->readers_ || relation.tokens() != plan->reader_tokens_) {
      throw ArgumentError(fmt::format("the heads of a plan have different vertices: {} and {}", plan->readers_,
                                      relation.vertex_count()));
    }
    auto found = std::find(plan->relations_.begin(), plan->relations_.end(), relation);
    if (found == plan->relations_.end()) {
      budget.ask(relation.pattern().memory_bytes());
      plan->relations_.push_back(relation);
      plan->colours_ = std::max(plan->colours_, count_relation_colours(relation));
      found = plan->relations_.end() - 1;
    }
    plan->relation_of_head_.push_back(static_cast<std::uint32_t>(found - plan->relations_.begin()));
  }
  if (plan->relations_.size() == 1)
    plan->relation_of_head_.resize(1);
  return plan;
}

std::shared_ptr<const Plan> make_full_plan(std::int64_t readers, std::int64_t reads, bool pair_colours) {
  if (readers < 0 || reads < 0 || readers >= most_vertices || reads >= most_vertices) {
    throw ArgumentError(fmt::format("a full plan of {} readers and {} reads", readers, reads));
  }
  std::shared_ptr<Plan> plan(new Plan);
  plan->readers_ = readers;
  plan->reads_ = reads;
  plan->reader_tokens_ = pair_colours ? 0 : readers;
  plan->read_tokens_ = pair_colours ? reads : 0;
  plan->colours_ = pair_colours ? std::max<std::int64_t>(readers * reads, 1) : 1;
  plan->pair_colours_ = pair_colours;
  plan->relation_of_head_ = {0};
  return plan;
}

std::shared_ptr<const Plan> make_pooling_plan(std::span<const std::vector<std::int64_t>> blocks, std::int64_t tokens) {
  std::shared_ptr<Plan> plan(new Plan);
  plan->readers_ = static_cast<std::int64_t>(blocks.size());
  plan->reads_ = plan->read_tokens_ = tokens;
  plan->relation_of_head_ = {0};
  for (const std::vector<std::int64_t>& block : blocks) {
    std::vector<std::int64_t> members = block;
    std::sort(members.begin(), members.end());
    std::vector<layout::ColouredRun> row;
    for (std::size_t k = 0; k < members.size(); ++k) {
      if (members[k] < 0 || members[k] >= tokens || (k > 0 && members[k] == members[k - 1])) {
        throw ArgumentError(fmt::format("a block lists token {} of {}: out of range or twice", members[k], tokens));
      }
      const auto token = static_cast<layout::Vertex>(members[k]);
      if (!row.empty() && row.back().last + 1 == token)
        row.back().last = token;
      else
        row.push_back({token, token, 1, 0, 0});
    }
    plan->pools_.push_back(std::move(row));
  }
  return plan;
}

std::shared_ptr<const Plan> make_convolution_plan(std::int64_t tokens, std::int64_t registers,
                                                  std::span<const std::int64_t> taps, const Budget& budget) {
  if (tokens < 1 || registers < 0 || tokens + registers >= most_vertices)
    throw ArgumentError("a convolution without tokens");
  std::vector<layout::AffineRun> runs;
  std::vector<std::int64_t> seen;
  for (const std::int64_t tap : taps) {
    const std::int64_t offset = ((tap % tokens) + tokens) % tokens;
    seen.push_back(offset);
    // i + offset where that is a token, i + offset - tokens beyond: exactly one of the two runs holds a token.
    for (const std::int64_t lo : {offset, offset - tokens}) {
      layout::AffineRun run = layout::make_moving_run(lo, lo, tokens);
      run.colour = static_cast<std::uint32_t>(seen.size());
      runs.push_back(run);
    }
  }
  std::sort(seen.begin(), seen.end());
  if (std::adjacent_find(seen.begin(), seen.end()) != seen.end())
    throw ArgumentError("two taps agree modulo the number of tokens");
  layout::PatternBuilder builder(static_cast<layout::Vertex>(tokens + registers), budget);
  builder.add_segment(0, builder.add_list(runs));
  if (registers > 0)
    builder.add_segment(static_cast<layout::Vertex>(tokens), builder.add_list({}));
  const layout::Relation relation(builder.build(), {}, layout::Cancels::nothing, static_cast<layout::Vertex>(tokens));
  return make_plan({&relation, 1}, budget);
}

std::int64_t count_colours(const Plan& plan) { return plan.colours(); }

void Plan::row(std::size_t relation, std::int64_t reader, std::vector<layout::ColouredRun>& out) const {
  out.clear();
  if (!relations_.empty()) {
    relations_[relation].raw_row(static_cast<layout::Vertex>(reader), out);
    for (layout::ColouredRun& run : out)
      --run.colour;
  } else if (!pools_.empty()) {
    out = pools_[static_cast<std::size_t>(reader)];
  } else if (reads_ > 0) {
    out.push_back(
        {0, static_cast<layout::Vertex>(reads_ - 1), 1, pair_colours_ ? reader : 0, pair_colours_ ? readers_ : 0});
  }
}

std::int64_t Plan::same_row_until(std::size_t relation, std::int64_t reader) const {
  if (!relations_.empty())
    return relations_[relation].same_row_until(static_cast<layout::Vertex>(reader));
  return pools_.empty() && !pair_colours_ ? readers_ : reader + 1;
}

bool Plan::is_plain(std::size_t relation) const {
  if (relations_.empty())
    return !pair_colours_;
  return relations_[relation].relative().kind == layout::RelativeKind::none &&
         relations_[relation].pattern().is_plain();
}

bool Plan::is_full(std::size_t relation) const {
  if (relations_.empty())
    return pools_.empty();
  const layout::Pattern& pattern = relations_[relation].pattern();
  return pattern.arc_count() == static_cast<std::uint64_t>(readers_) * static_cast<std::uint64_t>(reads_);
}

const std::vector<std::int64_t>& Plan::positions() const {
  std::call_once(positions_once_, [this] {
    TokenComponents components(static_cast<std::size_t>(reader_tokens_));
    std::vector<layout::ColouredRun> row;
    if (relations_.empty() && reader_tokens_ > 0)
      components.join_interval(0, reader_tokens_ - 1);
    for (const layout::Relation& relation : relations_) {
      for (std::int64_t i = 0; i < reader_tokens_; ++i) {
        relation.row(static_cast<layout::Vertex>(i), row);
        // A row of one arc weighs it 1 whatever its offset, when nothing is added to the denominator.
        const bool forgets =
            relation.cancels() != layout::Cancels::nothing && row.size() == 1 && row.front().size() == 1;
        if (!forgets)
          join_row(components, i, reader_tokens_, row);
      }
    }
    positions_ = components.positions();
  });
  return positions_;
}

const void* Plan::compiled(const std::function<std::shared_ptr<const void>(const Plan&)>& compile) const {
  std::call_once(compiled_once_, [&] { compiled_ = compile(*this); });
  return compiled_.get();
}

} // namespace sightline::mixer

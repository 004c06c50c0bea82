#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/sight/rooted.hpp"

namespace sightline::sight {

namespace {

// What a row says of one state: how often it is read with which colour (colour -1: colours have cancelled).
using ArcLabel = std::vector<std::pair<std::int64_t, std::uint64_t>>;

// A row label (theory.md 15.4, L1 and L3). States: tokens as they are, register labels as tokens + class.
using RowLabel = std::map<Vertex, ArcLabel>;

RowLabel normalise(const std::map<Vertex, std::map<std::int64_t, std::uint64_t>>& counts, RegisterRows rule) {
  RowLabel label;
  std::uint64_t common = 0, common_total = 0;
  std::map<Vertex, std::uint64_t> totals;
  for (const auto& [state, colours] : counts) {
    for (const auto& [colour, count] : colours) {
      label[state].emplace_back(colour, count);
      totals[state] += count;
      common = std::gcd(common, count);
    }
    common_total = std::gcd(common_total, totals[state]);
  }
  if (rule == RegisterRows::multisets || counts.empty()) return label;
  // Rank one: every state has the colours of the first one, in proportion to the totals.
  const auto& [first, profile] = *counts.begin();
  bool rank_one = true;
  for (const auto& [state, colours] : counts) {
    rank_one = rank_one && colours.size() == profile.size();
    for (auto a = colours.begin(), b = profile.begin(); rank_one && a != colours.end(); ++a, ++b) {
      rank_one = a->first == b->first && a->second * totals[first] == b->second * totals[state];
    }
  }
  for (auto& [state, arcs] : label) {
    if (rank_one) {
      arcs = {{-1, totals[state] / common_total}};
    } else {
      for (auto& arc : arcs) arc.second /= common;
    }
  }
  return label;
}

// The labels of registers at every time, as a partition of the registers; classes are numbered by first member.
class RegisterClasses {
public:
  RegisterClasses(const Layout& layout, RegisterRows rule, const Budget& budget) : layout_(layout), rule_(rule) {
    std::map<std::uint64_t, std::uint32_t> number;
    std::vector<std::uint32_t> start;
    for (Vertex r = 0; r < layout.registers; ++r) {
      start.push_back(number.emplace(layout.vertex_colour[layout.tokens + r], static_cast<std::uint32_t>(number.size())).first->second);
    }
    classes_.push_back(start);
    for (std::uint64_t q = 1, quiet = 0; quiet < layout.order.size(); ++q) {
      std::map<std::pair<std::uint32_t, std::vector<RowLabel>>, std::uint32_t> labels;
      std::vector<std::uint32_t> now;
      for (Vertex r = 0; r < layout.registers; ++r) {
        budget.poll();
        auto key = std::pair{classes_.back()[r], rows(q, layout.tokens + r)};
        now.push_back(labels.emplace(std::move(key), static_cast<std::uint32_t>(labels.size())).first->second);
      }
      quiet = now == classes_.back() ? quiet + 1 : 0;
      classes_.push_back(std::move(now));
      if (quiet == 0) settled_ = q;
    }
  }

  // The partition does not change any more after this many layers.
  [[nodiscard]] std::uint64_t settled() const { return settled_; }

  [[nodiscard]] const std::vector<std::uint32_t>& at(std::uint64_t time) const {
    return classes_[std::min<std::uint64_t>(time, classes_.size() - 1)];
  }

  // The labels of the rows of a vertex at layer q, one per head, in terms of the states at time q-1.
  [[nodiscard]] std::vector<RowLabel> rows(std::uint64_t q, Vertex i) const {
    std::vector<RowLabel> result;
    std::vector<layout::ColouredRun> row;
    for (const std::uint32_t r : layout_.layer(q).relations) {
      layout_.relations[r].row(i, row);
      std::map<Vertex, std::map<std::int64_t, std::uint64_t>> counts;
      for (const layout::ColouredRun& run : row) {
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
          const auto v = static_cast<Vertex>(j);
          ++counts[v < layout_.tokens ? v : layout_.tokens + at(q - 1)[v - layout_.tokens]][colour];
        }
      }
      result.push_back(normalise(counts, rule_));
    }
    return result;
  }

private:
  const Layout& layout_;
  RegisterRows rule_;
  std::vector<std::vector<std::uint32_t>> classes_;
  std::uint64_t settled_ = 0;
};

// Reading an arc of a row label costs about this many elementary steps, twice per root.
constexpr std::uint64_t arc_work = 300;
constexpr std::uint64_t most_label_work = 4'000'000'000;

class RegisterRoots : public RootMaker {
public:
  RegisterRoots(const Layout& layout, RegisterRows rule, std::uint64_t depth, const Budget& budget)
      : layout_(layout), depth_(depth), classes_(layout, rule, budget) {
    for (std::uint64_t q = 1; q <= depth; ++q) {
      for (const std::uint32_t r : layout.layer(q).relations) work_ += arc_work * (layout.relations[r].pattern().arc_count() + layout.vertices());
      if (work_ > most_label_work) {
        throw OutOfReach(fmt::format("the labels of {} registers that start equal are followed through at most {} arcs", layout.registers,
                                          most_label_work / arc_work));
      }
    }
    for (std::uint64_t q = 0; q <= depth; ++q) {
      std::vector<Vertex> member(layout.registers, 0);
      for (Vertex r = layout.registers; r-- > 0;) member[classes_.at(q)[r]] = layout.tokens + r;
      member_.push_back(std::move(member));
    }
    for (const std::uint64_t colour : layout.vertex_colour) rank_.emplace(colour, rank_.size());
  }

  Rooted make(Vertex root, const Budget& budget) override {
    const Vertex tokens = layout_.tokens;
    std::vector<std::int64_t> latest(tokens, -1);
    latest[root] = static_cast<std::int64_t>(depth_);
    std::vector<std::set<std::uint32_t>> alive(depth_ + 1);  // classes of registers in sight, by time
    const auto look = [&](std::uint64_t q, const std::vector<RowLabel>& rows) {
      for (const RowLabel& row : rows) {
        for (const auto& [state, arcs] : row) {
          if (state < tokens) {
            latest[state] = std::max(latest[state], static_cast<std::int64_t>(q) - 1);
          } else {
            alive[q - 1].insert(state - tokens);
          }
        }
      }
    };
    for (std::uint64_t q = depth_; q >= 1; --q) {
      budget.poll();
      for (Vertex i = 0; i < tokens; ++i) {
        if (latest[i] >= static_cast<std::int64_t>(q)) look(q, classes_.rows(q, i));
      }
      for (const std::uint32_t c : alive[q]) {
        look(q, classes_.rows(q, member_[q][c]));
        alive[q - 1].insert(previous(q, c));
      }
    }

    // Nodes: tokens first, then (time, class).
    std::vector<std::map<std::uint32_t, Vertex>> node(depth_ + 1);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> nodes;
    for (std::uint64_t q = 0; q <= depth_; ++q) {
      for (const std::uint32_t c : alive[q]) {
        node[q][c] = tokens + static_cast<Vertex>(nodes.size());
        nodes.emplace_back(q, c);
      }
    }
    Rooted result;
    result.work = work_;
    const Vertex vertices = tokens + static_cast<Vertex>(nodes.size());
    result.structure.vertices = vertices;
    result.seen.assign(vertices, true);
    const std::uint64_t times = depth_ + 2;
    for (Vertex j = 0; j < tokens; ++j) {
      result.seen[j] = latest[j] >= 0;
      result.structure.vertex_colour.push_back(
          latest[j] < 0 ? 0 : (2 * rank_[layout_.vertex_colour[j]] + (j == root ? 1 : 0)) * times + static_cast<std::uint64_t>(latest[j]) + 1);
    }
    for (const auto& [q, c] : nodes) {
      result.structure.vertex_colour.push_back(2 * rank_[layout_.vertex_colour[member_[q][c]]] * times + q + 1);
    }

    std::vector<std::vector<Vertex>> targets(vertices);
    std::vector<bool> shown(vertices, false);
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      const auto& [q, c] = nodes[k];
      shown[tokens + k] = true;
      if (q > 0) targets[tokens + k].push_back(node[q - 1].at(previous(q, c)));
    }
    add(result, targets, {}, shown);
    for (std::uint64_t q = 1; q <= depth_; ++q) {
      budget.poll();
      const std::size_t heads = layout_.layer(q).relations.size();
      std::vector<std::vector<std::vector<Vertex>>> reads(heads, std::vector<std::vector<Vertex>>(vertices));
      std::vector<std::vector<std::vector<std::uint32_t>>> colours(heads, std::vector<std::vector<std::uint32_t>>(vertices));
      std::vector<bool> visible(vertices, false);
      const auto show = [&](Vertex at, const std::vector<RowLabel>& rows) {
        visible[at] = true;
        for (std::size_t h = 0; h < heads; ++h) {
          for (const auto& [state, arcs] : rows[h]) {
            reads[h][at].push_back(state < tokens ? state : node[q - 1].at(state - tokens));
            colours[h][at].push_back(colour_.emplace(arcs, static_cast<std::uint32_t>(colour_.size() + 1)).first->second);
          }
        }
      };
      for (Vertex i = 0; i < tokens; ++i) {
        if (latest[i] >= static_cast<std::int64_t>(q)) show(i, classes_.rows(q, i));
      }
      for (const auto& [c, at] : node[q]) show(at, classes_.rows(q, member_[q][c]));
      for (std::size_t h = 0; h < heads; ++h) add(result, reads[h], colours[h], visible);
    }
    return result;
  }

private:
  [[nodiscard]] std::uint32_t previous(std::uint64_t q, std::uint32_t c) const {
    return classes_.at(q - 1)[member_[q][c] - layout_.tokens];
  }

  void add(Rooted& result, const std::vector<std::vector<Vertex>>& rows, const std::vector<std::vector<std::uint32_t>>& colours,
           std::vector<bool> visible) {
    const Vertex vertices = result.structure.vertices;
    result.owned.push_back(std::make_unique<layout::Relation>(layout::make_pattern_from_rows(vertices, rows, colours), layout::Relative{},
                                                              layout::Cancels::nothing, layout_.tokens));
    result.structure.relations.push_back({result.owned.back().get(), std::move(visible)});
  }

  const Layout& layout_;
  std::uint64_t depth_;
  RegisterClasses classes_;
  std::uint64_t work_ = 0;  // per root
  std::vector<std::vector<Vertex>> member_;  // a register of every class, by time
  std::map<std::uint64_t, std::uint64_t> rank_;
  std::map<ArcLabel, std::uint32_t> colour_;
};

}  // namespace

std::unique_ptr<RootMaker> make_register_roots(const Layout& layout, RegisterRows rows, std::uint64_t depth, const Budget& budget) {
  return std::make_unique<RegisterRoots>(layout, rows, depth, budget);
}

std::uint64_t compute_register_settling(const Layout& layout, RegisterRows rows, const Budget& budget) {
  return RegisterClasses(layout, rows, budget).settled();
}

}  // namespace sightline::sight

// Registers that start equal (theory 7.6, 15.8 g): rows count labels, so H_a has the tokens and the labels of registers at each time.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "views.hpp"

namespace checker {

namespace {

// What a row says of one state: how often it is read with which colour (colour -1: colours have cancelled).
using ArcLabel = std::vector<std::pair<std::int64_t, std::uint64_t>>;
// States: tokens as they are, register labels as tokens + class.
using RowLabel = std::map<Vertex, ArcLabel>;

/// A row up to what normalisation forgets (theory 15.4, L1 and L3): a common factor, and colours of rank one.
RowLabel normalise(const std::map<Vertex, std::map<std::int64_t, std::uint64_t>>& counts, bool frequencies) {
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
  if (!frequencies || counts.empty()) return label;
  const auto& [first, profile] = *counts.begin();
  bool rank_one = true;  // every state has the colours of the first one, in proportion to the totals
  for (const auto& [state, colours] : counts) {
    rank_one = rank_one && colours.size() == profile.size();
    for (auto a = colours.begin(), b = profile.begin(); rank_one && a != colours.end(); ++a, ++b) {
      rank_one = a->first == b->first && a->second * totals[first] == b->second * totals[state];
    }
  }
  for (auto& [state, arcs] : label) {
    if (rank_one) arcs = {{-1, totals[state] / common_total}};
    for (auto& arc : arcs) arc.second /= rank_one ? 1 : common;
  }
  return label;
}

/// The labels of registers at every time, as a partition; classes are numbered by first member.
class RegisterClasses {
public:
  RegisterClasses(const Layout& layout, bool frequencies) : layout_(layout), frequencies_(frequencies) {
    std::map<std::uint64_t, std::uint32_t> number;
    std::vector<std::uint32_t>& start = classes_.emplace_back();
    for (Vertex r = layout.tokens; r < layout.vertices(); ++r) {
      start.push_back(number.emplace(layout.vertex_colour[r], static_cast<std::uint32_t>(number.size())).first->second);
    }
    for (std::uint64_t q = 1, quiet = 0; quiet < layout.order.size(); ++q) {
      std::map<std::pair<std::uint32_t, std::vector<RowLabel>>, std::uint32_t> labels;
      std::vector<std::uint32_t> now;
      for (Vertex r = 0; r < layout.registers; ++r) {
        now.push_back(labels.emplace(std::pair{classes_.back()[r], rows(q, layout.tokens + r)}, static_cast<std::uint32_t>(labels.size())).first->second);
      }
      quiet = now == classes_.back() ? quiet + 1 : 0;
      classes_.push_back(std::move(now));
      if (quiet == 0) settled = q;
    }
  }

  [[nodiscard]] const std::vector<std::uint32_t>& at(std::uint64_t time) const { return classes_[std::min<std::uint64_t>(time, classes_.size() - 1)]; }

  /// The rows of a vertex at layer q, one per head, in terms of the states at time q-1.
  [[nodiscard]] std::vector<RowLabel> rows(std::uint64_t q, Vertex i) const {
    std::vector<RowLabel> result;
    std::vector<Run> row;
    for (const std::uint32_t r : layout_.layer(q)) {
      layout_.relations[r].row(i, row);
      std::map<Vertex, std::map<std::int64_t, std::uint64_t>> counts;
      for (const Run& run : row) {
        std::int64_t colour = run.colour;
        for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
          const auto v = static_cast<Vertex>(j);
          ++counts[v < layout_.tokens ? v : layout_.tokens + at(q - 1)[v - layout_.tokens]][colour];
        }
      }
      result.push_back(normalise(counts, frequencies_));
    }
    return result;
  }

  std::uint64_t settled = 0;  ///< the partition does not change any more after this many layers

private:
  const Layout& layout_;
  bool frequencies_;
  std::vector<std::vector<std::uint32_t>> classes_;
};

class RegisterRoots : public RootMaker {
public:
  RegisterRoots(const Layout& layout, bool frequencies, std::uint64_t depth) : layout_(layout), depth_(depth), classes_(layout, frequencies) {
    for (std::uint64_t q = 0; q <= depth; ++q) {
      auto& member = member_.emplace_back(layout.registers, 0);
      for (Vertex r = layout.registers; r-- > 0;) member[classes_.at(q)[r]] = layout.tokens + r;
    }
    for (const std::uint64_t colour : layout.vertex_colour) rank_.emplace(colour, rank_.size());
  }

  [[nodiscard]] Rooted make(Vertex root) const override {
    const Vertex tokens = layout_.tokens;
    std::vector<std::int64_t> latest(tokens, -1);
    latest[root] = static_cast<std::int64_t>(depth_);
    std::vector<std::set<std::uint32_t>> alive(depth_ + 1);  // classes of registers in sight, by time
    const auto look = [&](std::uint64_t q, const std::vector<RowLabel>& rows) {
      for (const RowLabel& row : rows) {
        for (const auto& [state, arcs] : row) {
          if (state >= tokens) alive[q - 1].insert(state - tokens);
          else latest[state] = std::max(latest[state], static_cast<std::int64_t>(q) - 1);
        }
      }
    };
    for (std::uint64_t q = depth_; q >= 1; --q) {
      for (Vertex i = 0; i < tokens; ++i) {
        if (latest[i] >= static_cast<std::int64_t>(q)) look(q, classes_.rows(q, i));
      }
      for (const std::uint32_t c : alive[q]) {
        look(q, classes_.rows(q, member_[q][c]));
        alive[q - 1].insert(previous(q, c));
      }
    }
    Rooted result;
    const std::uint64_t times = depth_ + 2;
    for (Vertex j = 0; j < tokens; ++j) {
      result.seen.push_back(latest[j] >= 0);
      const std::uint64_t rank = rank_.at(layout_.vertex_colour[j]);
      result.structure.colour.push_back(latest[j] < 0 ? 0 : (2 * rank + (j == root ? 1 : 0)) * times + static_cast<std::uint64_t>(latest[j]) + 1);
    }
    // Nodes: tokens first, then (time, class).
    std::vector<std::map<std::uint32_t, Vertex>> node(depth_ + 1);
    Rows past;
    for (std::uint64_t q = 0; q <= depth_; ++q) {
      for (const std::uint32_t c : alive[q]) {
        const auto at = static_cast<Vertex>(result.seen.size());
        node[q][c] = at;
        result.seen.push_back(true);
        result.structure.colour.push_back(2 * rank_.at(layout_.vertex_colour[member_[q][c]]) * times + q + 1);
        past[at];
        if (q > 0) past[at].emplace_back(node[q - 1].at(previous(q, c)), 1);
      }
    }
    result.structure.vertices = static_cast<Vertex>(result.seen.size());
    add(result, past);
    for (std::uint64_t q = 1; q <= depth_; ++q) {
      std::vector<Rows> heads(layout_.layer(q).size());
      const auto show = [&](Vertex at, const std::vector<RowLabel>& rows) {
        for (std::size_t h = 0; h < heads.size(); ++h) {
          heads[h][at];
          for (const auto& [state, arcs] : rows[h]) {
            const std::uint32_t colour = colour_.emplace(arcs, static_cast<std::uint32_t>(colour_.size() + 1)).first->second;
            heads[h][at].emplace_back(state < tokens ? state : node[q - 1].at(state - tokens), colour);
          }
        }
      };
      for (Vertex i = 0; i < tokens; ++i) {
        if (latest[i] >= static_cast<std::int64_t>(q)) show(i, classes_.rows(q, i));
      }
      for (const auto& [c, at] : node[q]) show(at, classes_.rows(q, member_[q][c]));
      for (const Rows& rows : heads) add(result, rows);
    }
    return result;
  }

private:
  using Rows = std::map<Vertex, std::vector<std::pair<Vertex, std::uint32_t>>>;  // visible rows: what is read, with which colour

  [[nodiscard]] std::uint32_t previous(std::uint64_t q, std::uint32_t c) const { return classes_.at(q - 1)[member_[q][c] - layout_.tokens]; }

  void add(Rooted& result, const Rows& rows) const {
    auto pattern = std::make_shared<Pattern>();
    pattern->vertices = result.structure.vertices;
    Structure::Shown shown{nullptr, std::vector<bool>(pattern->vertices, false)};
    for (Vertex i = 0; i < pattern->vertices; ++i) {
      pattern->segments.push_back({i, 1, i, Pattern::none});
      auto& list = pattern->lists.emplace_back();
      const auto row = rows.find(i);
      if (row == rows.end()) continue;
      shown.visible[i] = true;
      for (const auto& [j, colour] : row->second) list.push_back({j, j, 1, colour, 0, 0});
      std::sort(list.begin(), list.end(), [](const MovingRun& a, const MovingRun& b) { return a.lo < b.lo; });
    }
    auto relation = std::make_unique<Relation>();
    relation->pattern = std::move(pattern);
    relation->tokens = layout_.tokens;
    shown.relation = relation.get();
    result.owned.push_back(std::move(relation));
    result.structure.relations.push_back(std::move(shown));
  }

  const Layout& layout_;
  std::uint64_t depth_;
  RegisterClasses classes_;
  std::vector<std::vector<Vertex>> member_;  // a register of every class, by time
  std::map<std::uint64_t, std::uint64_t> rank_;
  mutable std::map<ArcLabel, std::uint32_t> colour_;
};

}  // namespace

bool has_equal_registers(const Layout& layout) {
  std::set<std::uint64_t> colours(layout.vertex_colour.begin() + layout.tokens, layout.vertex_colour.end());
  return colours.size() < layout.registers;
}

std::uint64_t compute_register_settling(const Layout& layout, bool frequencies) { return RegisterClasses(layout, frequencies).settled; }

std::unique_ptr<RootMaker> make_register_roots(const Layout& layout, bool frequencies, std::uint64_t depth) {
  return std::make_unique<RegisterRoots>(layout, frequencies, depth);
}

}  // namespace checker

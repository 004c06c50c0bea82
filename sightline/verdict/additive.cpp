#include "sightline/verdict/additive.hpp"

#include <algorithm>
#include <map>

namespace sightline::verdict {

using layout::ColouredRun;
using layout::Layout;
using layout::Run;
using layout::Vertex;

namespace {

constexpr std::uint64_t most_roots = 400;

/// Time left at every vertex when `root` starts with m (2.4); -1: out of view.
std::vector<std::int64_t> compute_times(const Layout& layout, Vertex root, std::uint64_t m, const Budget& budget) {
  std::vector<std::int64_t> time(layout.vertices(), -1);
  std::vector<std::vector<Vertex>> at(m + 1);
  time[root] = static_cast<std::int64_t>(m);
  at[m].push_back(root);
  std::vector<Run> row;
  for (std::uint64_t left = m; left > 0; --left) {
    for (std::size_t k = 0; k < at[left].size(); ++k) {
      const Vertex i = at[left][k];
      if (time[i] != static_cast<std::int64_t>(left)) continue;
      budget.poll();
      for (std::uint64_t q = left; q > 0; --q) {
        for (const std::uint32_t r : layout.layer(q).relations) {
          layout.relations[r].pattern().row(i, row);
          for (const Run& run : row) {
            for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
              if (time[j] >= static_cast<std::int64_t>(q) - 1) continue;
              time[j] = static_cast<std::int64_t>(q) - 1;
              at[q - 1].push_back(static_cast<Vertex>(j));
            }
          }
        }
      }
    }
  }
  return time;
}

enum class Root { settled, open, confused };

class FirstSums {
public:
  FirstSums(const Context& context, const Layout& seen, sight::ClassKind kind)
      : context_(context), seen_(seen), kind_(kind), trivial_(context.target.is_trivial()) {}

  [[nodiscard]] Root look(Vertex root, std::uint64_t depth) const {
    const std::vector<std::int64_t> time = compute_times(seen_, root, depth, context_.budget);
    std::vector<std::vector<Vertex>> sums = collect(time);
    std::vector<bool> unknown(seen_.tokens, false);
    std::vector<std::size_t> count;
    std::map<Vertex, std::vector<std::size_t>> where;
    for (std::size_t s = 0; s < sums.size(); ++s) {
      context_.budget.poll();
      count.push_back(sums[s].size());
      for (const Vertex v : sums[s]) unknown[v] = true, where[v].push_back(s);
    }
    // A sum with one unknown token shows it.
    std::vector<std::size_t> ready;
    for (std::size_t s = 0; s < sums.size(); ++s) {
      if (count[s] == 1) ready.push_back(s);
    }
    while (!ready.empty()) {
      context_.budget.poll();
      const std::size_t s = ready.back();
      ready.pop_back();
      for (const Vertex v : sums[s]) {
        if (!unknown[v]) continue;
        unknown[v] = false;
        for (const std::size_t other : where[v]) {
          if (--count[other] == 1) ready.push_back(other);
        }
      }
    }
    std::vector<Vertex> rest;
    bool asked = false;
    for (const auto& [v, in] : where) {
      if (!unknown[v]) continue;
      rest.push_back(v);
      asked = asked || wants(root, v);
    }
    if (!asked) return Root::settled;
    const bool one_sum = std::find(count.begin(), count.end(), rest.size()) != count.end();
    if (one_sum && exchanges(rest)) return Root::settled;  // the multiset is known, and the target asks for no more
    if (!trivial_) return Root::open;
    std::map<std::vector<std::size_t>, Vertex> alike;  // two tokens that stand in the same sums
    for (const Vertex v : rest) {
      const auto [place, fresh] = alike.emplace(where[v], v);
      if (!fresh && (wants(root, v) || wants(root, place->second))) return Root::confused;
    }
    return Root::open;
  }

private:
  [[nodiscard]] bool wants(Vertex root, Vertex v) const { return kind_ != sight::ClassKind::causal || v <= root; }

  [[nodiscard]] bool exchanges(const std::vector<Vertex>& rest) const {
    if (trivial_) return false;
    const group::Membership member(context_.target, context_.budget);
    for (std::size_t k = 1; k < rest.size(); ++k) {
      if (!member.contains(group::Permutation::transposition(rest[k - 1], rest[k]))) return false;
    }
    return true;
  }

  /// The tokens without time left that each row in sight adds up, colour by colour.
  [[nodiscard]] std::vector<std::vector<Vertex>> collect(const std::vector<std::int64_t>& time) const {
    std::vector<std::vector<Vertex>> sums;
    std::vector<ColouredRun> row;
    const Vertex first = context_.architecture.input.bos ? 1 : 0;
    for (Vertex u = 0; u < seen_.vertices(); ++u) {
      if (time[u] < 1) continue;
      context_.budget.poll();
      for (const std::uint32_t r : seen_.layer(1).relations) {
        seen_.relations[r].raw_row(u, row);
        std::map<std::int64_t, std::vector<Vertex>> by_colour;
        for (const ColouredRun& run : row) {
          std::int64_t colour = run.colour;
          for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
            if (j >= first && j < seen_.tokens && time[j] == 0) by_colour[colour].push_back(static_cast<Vertex>(j));
          }
        }
        for (auto& [colour, members] : by_colour) sums.push_back(std::move(members));
      }
    }
    return sums;
  }

  const Context& context_;
  const Layout& seen_;
  sight::ClassKind kind_;
  bool trivial_;
};

}  // namespace

AdditiveLayers compute_additive_layers(const Context& context, const Layout& seen, sight::ClassKind kind, std::uint64_t reach, bool proved) {
  const FirstSums sums(context, seen, kind);
  const std::uint64_t high = reach + find_period(context.architecture);  // one period later everything in view is read behind layer 1
  std::uint64_t low = reach;
  for (std::uint64_t m = reach; m < high; ++m) {
    bool settled = seen.tokens <= most_roots, confused = false;
    for (Vertex a = seen.tokens; a-- > 0 && !confused;) {
      const Root found = sums.look(a, m);
      settled = settled && found == Root::settled;
      confused = found == Root::confused;
      if (seen.tokens > most_roots) break;
    }
    if (settled) return {low, m};
    if (confused && proved && low == m) low = m + 1;
  }
  return {low, high};
}

}  // namespace sightline::verdict

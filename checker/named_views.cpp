// Views in which most vertices have a name (docs/theory.md 16.115): what is around them, some layers far, is like nothing else. For many roots at once, one bit each.
#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "bit_reach.hpp"
#include "field.hpp"
#include "poll.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// One layer over and over. A class of the layout's group is one place: what its first member reads tells what the others read, and all others read all of it or nothing.
class NamedViews {
public:
  static constexpr std::size_t strip_width = 512;
  using Roots = Lane<8>;

  NamedViews(const Layout& layout, const Group& group, std::uint64_t depth) : layout_(layout), group_(group), depth_(depth), place_(layout.vertices(), none) {
    for (const auto& members : group.classes) {
      for (const Vertex x : members) place_[x] = static_cast<Vertex>(members_.size());
      members_.push_back(members);
    }
    for (Vertex v = 0; v < layout.vertices(); ++v) {
      if (place_[v] != none) continue;
      place_[v] = static_cast<Vertex>(members_.size());
      members_.push_back({v});
    }
  }

  /// False: too much to read, or less than half of the places come to have a name.
  bool make(std::size_t roots) {
    if (2 * count_moved() > members_.size()) return false;  // no name is their own
    constexpr std::uint64_t most_pairs = std::uint64_t{1} << 35, most_twice = std::uint64_t{1} << 27;
    const std::uint64_t most_arcs = std::max<std::uint64_t>(64 * members_.size(), std::min<std::uint64_t>(256 * members_.size(), std::uint64_t{1} << 22));
    std::uint64_t all = 0;
    std::vector<Run> row;
    for (const std::vector<Vertex>& members : members_) {
      poll();
      std::vector<Arc>& arcs = arcs_.emplace_back();
      for (const std::uint32_t r : layout_.layers[layout_.order.front()]) {
        layout_.relations[r].row(members.front(), row);
        for (const Run& run : row) {
          if ((all += run.size()) > most_arcs || all * roots > most_pairs) return false;
          for (Vertex k = 0; k < run.size(); ++k) arcs.push_back({place_[run.first + k * run.step], mix(mix(static_cast<std::uint64_t>(run.colour + k * run.colour_step)) + r)});
        }
      }
    }
    read_.resize(members_.size());
    readers_.resize(members_.size());
    for (Vertex p = 0; p < members_.size(); ++p) {
      for (const Arc& arc : arcs_[p]) read_[p].push_back(arc.to);
      std::sort(read_[p].begin(), read_[p].end());
      read_[p].erase(std::unique(read_[p].begin(), read_[p].end()), read_[p].end());
      for (const Vertex j : read_[p]) readers_[j].push_back(p);
    }
    std::uint64_t twice = 0, pairs = 0;
    for (Vertex p = 0; p < members_.size(); ++p) {
      twice += arcs_[p].size() * readers_[p].size();
      pairs += read_[p].size() * read_[p].size();
    }
    reads_twice_ = members_.size() == layout_.vertices() && twice <= most_twice;
    if (2 * give_names() < members_.size()) return false;
    if (pairs <= most_twice) make_teams();
    return true;
  }

  /// Whose views show an isomorphism, perhaps, that leaves the classes.
  std::vector<Vertex> keep_open(const std::vector<Vertex>& roots) {
    std::vector<Vertex> open;
    for (std::size_t begin = 0; begin < roots.size(); begin += strip_width) {
      const std::size_t end = std::min(roots.size(), begin + strip_width);
      look(roots.data() + begin, end - begin);
      settle();
      Roots left{};
      for (const Roots& list : open_) left |= list;
      for (std::size_t k = begin; k < end; ++k) {
        if (left.get(k - begin)) open.push_back(roots[k]);
      }
      if (begin == 0 && open.size() == end) return roots;  // nor will the others be told
    }
    return open;
  }

private:
  /// Classes that some symmetry takes elsewhere.
  std::size_t count_moved() const {
    const std::vector<Vertex> least = orbits(group_);
    std::vector<std::size_t> size(layout_.vertices());
    for (const Vertex v : least) ++size[v];
    return std::ranges::count_if(members_, [&](const auto& members) { return members.front() < least.size() && size[least[members.front()]] > members.size(); });
  }

  struct Arc {
    Vertex to;
    std::uint64_t weight;
  };

  /// By rounds: what has a name of its own after k of them is known wherever k layers are left. How many have one in the end?
  std::size_t give_names() {
    constexpr std::uint64_t most_rounds = 64;
    std::vector<std::uint64_t> name(members_.size());
    for (std::size_t p = 0; p < members_.size(); ++p) name[p] = mix(layout_.vertex_colour[members_[p].front()]);
    named_.assign(members_.size(), false);
    std::size_t count = 0, different = 0;
    for (std::uint64_t k = 0; k <= std::min(depth_, most_rounds); ++k) {
      std::vector<std::pair<std::uint64_t, Vertex>> sorted;
      for (Vertex p = 0; p < members_.size(); ++p) sorted.emplace_back(name[p], p);
      std::sort(sorted.begin(), sorted.end());
      std::size_t now = 0;
      by_level_.emplace_back();
      for (std::size_t i = 0, end = 0; i < sorted.size(); i = end, ++now) {
        while (end < sorted.size() && sorted[end].first == sorted[i].first) ++end;
        const Vertex p = sorted[i].second;
        if (end > i + 1 || named_[p]) continue;
        named_[p] = true;
        by_level_.back().push_back(p);
        ++count;
      }
      const bool same = std::exchange(different, now) == now;
      if (count == members_.size() || (same && (k > 1 || !reads_twice_))) break;
      std::vector<std::uint64_t> next = name;
      for (std::size_t p = 0; p < members_.size(); ++p) {
        poll();
        std::uint64_t sum = 0;
        for (const Arc& arc : arcs_[p]) sum += mix(name[arc.to] ^ arc.weight);
        next[p] = mix(mix(name[p]) + sum);
      }
      if (k == 1 && reads_twice_) {
        std::vector<std::uint64_t> met(members_.size(), 0);
        for (Vertex p = 0; p < members_.size(); ++p) next[p] = mix(next[p] ^ describe_surroundings(p, name, met));
      }
      name = std::move(next);
    }
    return count;
  }

  /// The rows of all that p reads, up to the names of what they read: how they overlap. met: zeros, and zeros again afterwards.
  std::uint64_t describe_surroundings(Vertex p, const std::vector<std::uint64_t>& name, std::vector<std::uint64_t>& met) const {
    poll();
    for (const Arc& near : arcs_[p]) {
      met[near.to] += mix(~near.weight);
      for (const Arc& far : arcs_[near.to]) met[far.to] += mix(mix(name[near.to] + near.weight) ^ far.weight);
    }
    std::uint64_t all = 0;
    for (const Arc& near : arcs_[p]) {
      std::uint64_t row = mix(met[near.to]);
      for (const Arc& far : arcs_[near.to]) row += mix(met[far.to] + far.weight);
      all += mix(mix(row) ^ near.weight);
    }
    for (const Arc& near : arcs_[p]) {
      met[near.to] = 0;
      for (const Arc& far : arcs_[near.to]) met[far.to] = 0;
    }
    return all;
  }

  /// Those that read p, in teams: two of one team read nothing in common but p.
  void make_teams() {
    teams_.resize(members_.size());
    std::vector<std::uint64_t> read_by(members_.size(), 0);  // by which teams
    for (Vertex p = 0; p < members_.size(); ++p) {
      poll();
      for (const Vertex i : readers_[p]) {
        if (i == p) continue;
        std::uint64_t clashes = 0;
        for (const Vertex z : read_[i]) clashes |= read_by[z];
        std::size_t team = 0;
        while (team < 64 && (clashes >> team & 1) != 0) ++team;
        if (team == 64) continue;
        if (team == teams_[p].size()) teams_[p].emplace_back();
        teams_[p][team].push_back(i);
        for (const Vertex z : read_[i]) read_by[z] |= std::uint64_t{z != p} << team;
      }
      for (const std::vector<Vertex>& team : teams_[p]) {
        for (const Vertex i : team) {
          for (const Vertex z : read_[i]) read_by[z] = 0;
        }
      }
    }
  }

  void look(const Vertex* roots, std::size_t count) {
    for (auto* lanes : {&seen_, &fixed_, &shown_, &own_, &fresh_, &coming_, &open_, &shows_}) lanes->assign(members_.size(), Roots{});
    std::vector<Vertex> changed, touched;
    for (std::size_t k = 0; k < count; ++k) {
      const Vertex p = place_[roots[k]];
      if (fresh_[p] == Roots{}) changed.push_back(p);
      fresh_[p].set(k);
      seen_[p].set(k);
      if (members_[p].size() > 1 && named_[p]) own_[p].set(k);  // the root is known by its name, the others of its class are farther away
    }
    for (std::uint64_t q = 0; q <= depth_; ++q) {
      if (depth_ - q < by_level_.size()) {
        for (const Vertex p : by_level_[depth_ - q]) fixed_[p] = seen_[p].without(own_[p]);
      }
      if (q + 1 == depth_) shown_ = seen_;
      if (changed.empty() && depth_ - q > by_level_.size()) q = depth_ - by_level_.size() - 1;  // nothing until the next names count
      poll();
      touched.clear();
      for (const Vertex p : changed) {
        for (const Vertex j : read_[p]) {
          if (coming_[j] == Roots{}) touched.push_back(j);
          coming_[j] |= fresh_[p];
        }
      }
      for (const Vertex p : changed) fresh_[p] = Roots{};
      changed.clear();
      for (const Vertex j : touched) {
        fresh_[j] = std::exchange(coming_[j], Roots{}).without(seen_[j]);
        if (fresh_[j] == Roots{}) continue;
        if (q < depth_) seen_[j] |= fresh_[j];
        changed.push_back(j);
      }
    }
  }

  /// A vertex that shows its row fixes what it reads, all but one of which are fixed; two of a team fix what both read.
  void settle() {
    std::vector<Vertex> waiting(members_.size());
    std::iota(waiting.begin(), waiting.end(), Vertex{0});
    std::vector<bool> waits(members_.size(), true);
    const auto wake = [&](Vertex p) {
      if (!waits[p]) waiting.push_back(p);
      waits[p] = true;
    };
    for (Vertex p = 0; p < members_.size(); ++p) {
      open_[p] = seen_[p].without(fixed_[p]);
      shows_[p] = fixed_[p];
      shows_[p] |= own_[p];
      shows_[p] = shows_[p].both(shown_[p]);
    }
    const auto fix = [&](Vertex p, const Roots& which) {
      const Roots more = open_[p].both(which);
      if (more == Roots{}) return;
      open_[p] = open_[p].without(more);
      const Roots shown = more.both(shown_[p]);
      shows_[p] |= shown;
      wake(p);
      for (const Vertex i : readers_[p]) wake(i);
      if (teams_.empty() || shown == Roots{}) return;
      for (const Vertex j : read_[p]) wake(j);
    };
    for (std::size_t at = 0; at < waiting.size(); ++at) {
      poll();
      const Vertex p = waiting[at];
      waits[p] = false;
      if (!teams_.empty() && !(open_[p] == Roots{})) {
        Roots by_two{};
        for (const std::vector<Vertex>& team : teams_[p]) {
          Roots by_one{};
          for (const Vertex i : team) {
            by_two |= by_one.both(shows_[i]);
            by_one |= shows_[i];
          }
        }
        fix(p, by_two);
      }
      const Roots here = shows_[p];
      if (here == Roots{}) continue;
      Roots once{}, twice{};
      for (const Vertex j : read_[p]) {
        twice |= once.both(open_[j]);
        once |= open_[j];
        if (here.without(twice) == Roots{}) break;
      }
      const Roots alone = once.without(twice).both(here);
      for (const Vertex j : read_[p]) {
        if (j != p) fix(j, alone);  // of its own class it may read a part
      }
    }
  }

  const Layout& layout_;
  const Group& group_;
  std::uint64_t depth_;
  std::vector<Vertex> place_;                                  ///< by vertex
  std::vector<std::vector<Vertex>> members_;                   ///< by place, and so on
  std::vector<std::vector<Arc>> arcs_;
  std::vector<std::vector<Vertex>> read_, readers_;
  std::vector<std::vector<std::vector<Vertex>>> teams_;
  bool reads_twice_ = false;
  std::vector<bool> named_;                                    ///< places that have a name of their own
  std::vector<std::vector<Vertex>> by_level_;                  ///< places whose names are their own from this round on
  std::vector<Roots> seen_, fixed_, shown_, own_, fresh_, coming_;  ///< for which roots
  std::vector<Roots> open_, shows_;                                 ///< seen and not fixed; held to its class, its row in sight
};

}  // namespace

void drop_named(const Layout& layout, const Group& layout_group, std::uint64_t depth, std::vector<Vertex>& roots, std::size_t fewest_roots) {
  if (has_equal_registers(layout) || !repeats_one_layer(layout) || depth == 0 || roots.size() < fewest_roots) return;
  NamedViews views(layout, layout_group, depth);
  if (views.make(roots.size())) roots = views.keep_open(roots);
}

}  // namespace checker

// Views that hold all rows of what they see, where all reading ends in one set of vertices that reads itself, the ground (docs/theory.md 16.105): the first frame of
// a video whose time is causal. If each vertex of it has a name of its own, names of what is read name all others. An isomorphism of such views is known by what it
// does on the ground, where it is an automorphism of the ground's own rows; if each of these is what an automorphism of the layout does there, it is harmless.
#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "field.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {

class Ground {
public:
  explicit Ground(const Layout& layout) : layout_(layout) {
    const std::vector<std::uint64_t> first = first_layers(layout);
    for (std::size_t r = 0; r < first.size(); ++r) {
      if (first[r] != absent) relations_.push_back(&layout.relations[r]);
    }
  }

  /// What is seen from `start` however many layers there are, ascending; false: it takes too long.
  bool close(Vertex start) {
    members = {start};
    std::vector<bool> in(layout_.vertices(), false);
    in[start] = true;
    std::vector<std::vector<bool>> is_read(relations_.size(), std::vector<bool>(layout_.vertices(), false));
    for (std::size_t k = 0; k < members.size(); ++k) {
      for (std::size_t r = 0; r < relations_.size(); ++r) {
        const Vertex i = members[k], end = relations_[r]->same_row_until(i);
        if (is_read[r][i]) continue;
        std::fill(is_read[r].begin() + i, is_read[r].begin() + end, true);
        relations_[r]->row(i, row_);
        for (const Run& run : row_) {
          if (!spend(run.size())) return false;
          for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
            if (!in[j]) members.push_back(static_cast<Vertex>(j));
            in[j] = true;
          }
        }
      }
    }
    std::ranges::sort(members);
    return true;
  }

  /// By vertex: does it see none, itself among them, that what it reads, and so on, does not tell from all of another number? Nothing: it takes too long. @param number  by vertex
  std::optional<std::vector<bool>> find_told(const std::vector<Vertex>& number) {
    constexpr int most_rounds = 16;
    std::vector<std::uint64_t> value(layout_.vertices()), untold(layout_.vertices(), 1), next;
    for (Vertex j = 0; j < layout_.vertices(); ++j) value[j] = mix(layout_.vertex_colour[j] + 5);
    std::size_t known = 0;
    for (int round = 0; round < most_rounds; ++round) {
      if (!read_all(value, next)) return std::nullopt;
      for (Vertex j = 0; j < layout_.vertices(); ++j) value[j] = mix(value[j] + mix(next[j] + 11));
      std::unordered_map<std::uint64_t, std::pair<Vertex, bool>> named;  // one of its numbers; are there others?
      for (Vertex j = 0; j < layout_.vertices(); ++j) {
        auto& [one, several] = named.try_emplace(value[j], number[j], false).first->second;
        several = several || one != number[j];
      }
      for (Vertex j = 0; j < layout_.vertices(); ++j) untold[j] = named.at(value[j]).second ? 1 : 0;
      if (named.size() == known || std::ranges::find(untold, 1u) == untold.end()) break;
      known = named.size();
    }
    if (!see(untold)) return std::nullopt;
    std::vector<bool> told(layout_.vertices());
    for (Vertex j = 0; j < layout_.vertices(); ++j) told[j] = untold[j] == 0;
    return told;
  }

  /// Is there a way along arcs from every vertex to `start`, so that every set that holds what its members read holds the ground? And do all vertices differ by what they
  /// read, and so on, if the members do?
  bool is_below_all(Vertex start) {
    std::vector<std::uint64_t> value(layout_.vertices(), 0), next;
    value[start] = 1;
    if (!see(value) || std::ranges::find(value, 0u) != value.end()) return false;
    for (Vertex j = 0; j < layout_.vertices(); ++j) value[j] = mix(layout_.vertex_colour[j] + 5);
    for (const Vertex j : members) value[j] = mix(mix(j + 1) + 7);
    for (int round = 0; round < 3; ++round) {
      if (!read_all(value, next)) return false;
      for (const Vertex j : members) next[j] = 0;
      for (Vertex j = 0; j < layout_.vertices(); ++j) value[j] = mix(value[j] + mix(next[j] + 11));
      next = value;
      std::ranges::sort(next);
      if (std::ranges::adjacent_find(next) == next.end()) return true;
    }
    return false;
  }

  /// The members and their rows, in one layer.
  Layout make_layout() const {
    Layout part;
    std::vector<Vertex> place(layout_.vertices());
    for (const Vertex j : members) {
      place[j] = static_cast<Vertex>(part.vertex_colour.size());
      part.vertex_colour.push_back(layout_.vertex_colour[j]);
      ++(j < layout_.tokens ? part.tokens : part.registers);
    }
    part.layers.emplace_back();
    part.order = {0};
    std::vector<Run> row;
    for (const Relation* const relation : relations_) {
      Pattern pattern;
      pattern.vertices = part.vertices();
      Vertex end = 0;
      for (Vertex k = 0; k < part.vertices(); ++k) {
        if (members[k] >= end) {
          end = relation->same_row_until(members[k]);
          relation->row(members[k], row);
          std::vector<Vertex> read;
          for (const Run& run : row) {
            for (std::uint64_t j = run.first; j <= run.last; j += run.step) read.push_back(place[j]);
          }
          std::ranges::sort(read);
          std::vector<MovingRun>& list = pattern.lists.emplace_back();
          for (const Vertex j : read) {
            if (!list.empty() && list.back().hi + 1 == j) list.back().hi = j;
            else list.push_back({j, j});
          }
          pattern.segments.push_back({k, 0, static_cast<std::uint32_t>(pattern.lists.size() - 1), Pattern::none});
        }
        ++pattern.segments.back().count;
      }
      part.layers[0].push_back(static_cast<std::uint32_t>(part.relations.size()));
      Relation& own = part.relations.emplace_back();
      own.pattern = std::make_shared<const Pattern>(std::move(pattern));
      own.tokens = part.tokens;
    }
    return part;
  }

  std::vector<Vertex> members;

private:
  /// Gives 1 to all that see, sooner or later, one that has it. False: it takes too long.
  bool see(std::vector<std::uint64_t>& value) {
    std::vector<std::uint64_t> next;
    for (int round = 0;; ++round) {
      const auto before = std::ranges::count(value, 0u);
      if (before == 0) return true;
      if (round == 16 || !read_all(value, next, false)) return false;  // ones alone, whose sums are 0 nowhere else
      for (Vertex j = 0; j < layout_.vertices(); ++j) value[j] = value[j] != 0 || next[j] != 0 ? 1 : 0;
      if (std::ranges::count(value, 0u) == before) return true;
    }
  }

  bool spend(std::uint64_t steps) {
    poll();
    return (work_ += steps) <= std::uint64_t{1} << 28;  // the library, which passes over those that see already, stops at 2^25
  }

  /// By vertex: the sums of the values of what it reads, added up with a weight for each relation if `weighs`. False: it takes too long, or a relation has several colours.
  bool read_all(const std::vector<std::uint64_t>& value, std::vector<std::uint64_t>& sums, bool weighs = true) {
    sums.assign(layout_.vertices(), 0);
    std::map<Vertex, std::vector<std::uint64_t>> along;  // by step: the sum of the values of j, j - step, ..
    constexpr Threshold<std::size_t> most_steps{8, 1, "ground steps"};
    std::uint64_t weight = 1;
    for (const Relation* const relation : relations_) {
      std::optional<std::int64_t> colour;
      for (Vertex i = 0; i < layout_.vertices(); ++i) {
        relation->row(i, row_);
        for (const Run& run : row_) {
          if (run.colour_step != 0 || colour.value_or(run.colour) != run.colour) return false;
          colour = run.colour;
          auto at = along.find(run.step);
          if (at == along.end() && along.size() < most_steps) {
            at = along.emplace(run.step, value).first;
            for (Vertex j = run.step; j < layout_.vertices(); ++j) at->second[j] += at->second[j - run.step];
          }
          if (at != along.end()) {
            sums[i] += weight * (at->second[run.last] - (run.first < run.step ? 0 : at->second[run.first - run.step]));
          } else {
            if (!spend(run.size())) return false;
            for (std::uint64_t j = run.first; j <= run.last; j += run.step) sums[i] += weight * value[j];
          }
        }
      }
      if (weighs) weight = mix(weight) | 1;
    }
    return true;
  }

  const Layout& layout_;
  std::vector<const Relation*> relations_;
  std::vector<Run> row_;
  std::uint64_t work_ = 0;
};

/// What the layout's automorphisms do on these vertices, which they keep.
Group restrict_to(const std::vector<Vertex>& members, const Group& layout_group, Vertex tokens) {
  const auto place = [&](Vertex j) { return static_cast<Vertex>(std::ranges::lower_bound(members, j) - members.begin()); };
  const auto is_member = [&](Vertex j) { return std::ranges::binary_search(members, j); };
  Group group{tokens, {}, {}};
  for (const auto& one : layout_group.classes) {
    if (!is_member(one.front())) continue;
    std::vector<Vertex>& own = group.classes.emplace_back();
    for (const Vertex j : one) own.push_back(place(j));
  }
  for (const Permutation& g : layout_group.generators) {
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (const auto& [j, image] : g.moves()) {
      if (is_member(j)) moves.emplace_back(place(j), place(image));
    }
    if (!moves.empty()) group.generators.emplace_back(std::move(moves));
  }
  return group;
}

}  // namespace

void drop_grounded(const Layout& layout, const Group& layout_group, std::uint64_t depth, const Json& evidence, const std::string& claim, ReachMemory& memory, std::vector<Vertex>& roots) {
  const std::uint64_t first = last_first_layer(layout);
  if (depth < first) throw Rejected(claim, "some relations do not occur, so that nothing is known of views that hold all rows");
  Ground ground(layout);
  bool found = false;
  for (const Vertex start : {Vertex{0}, layout.tokens - 1}) {
    if (found || !ground.close(start)) continue;
    found = ground.members.size() <= layout.vertices() / 2 && ground.is_below_all(start);
  }
  if (!found) throw Rejected(claim, "not all reading ends in one set beside which rows name all tokens");
  const Layout part = ground.make_layout();
  const Chain restricted(restrict_to(ground.members, layout_group, part.tokens));
  for (const Permutation& g : few_generators(confirm_part(part, evidence, claim).group)) {
    if (!restricted.contains(g)) throw Rejected(claim, "what all reading ends in has symmetries that the layout lacks");
  }
  drop_whole(layout, orbits(layout_group), depth, roots, memory);
}

void drop_told_by_rows(const Layout& layout, const std::vector<Vertex>& number, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory) {
  constexpr Threshold<std::size_t> fewest_roots{4, 1, "roots told by rows"};
  constexpr Vertex most_vertices = 65536;  // of more the library asks other ways alone
  if (layout.vertices() > most_vertices || roots.size() < fewest_roots || last_first_layer(layout) > depth || has_equal_registers(layout)) return;
  std::vector<Vertex> with_registers(number.begin(), number.begin() + layout.tokens);
  for (Vertex r = layout.tokens; r < layout.vertices(); ++r) with_registers.push_back(r);
  const std::optional<std::vector<bool>> told = Ground(layout).find_told(with_registers);
  const auto is_told = [&](Vertex a) { return (*told)[a]; };
  if (told && std::ranges::any_of(roots, is_told)) drop_whole(layout, orbit, depth, roots, memory, is_told);
}

void drop_whole(const Layout& layout, const std::vector<Vertex>& orbit, std::uint64_t depth, std::vector<Vertex>& roots, ReachMemory& memory, const std::function<bool(Vertex)>& is_asked) {
  const std::uint64_t first = last_first_layer(layout);
  if (depth < first) return;
  const auto unseen = [&](std::uint64_t layer) {
    return compute_unseen(layout, {ClassKind::all, false, true, layer, nullptr, &orbit, nullptr, nullptr, nullptr, &memory}, depth - layer).count;
  };
  const std::vector<Vertex> behind = unseen(first), all = unseen(0);
  std::erase_if(roots, [&](Vertex a) { return behind[a] == all[a] && is_asked(a); });
}

}  // namespace checker

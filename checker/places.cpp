// The layout in another order: a certificate may number the tokens anew, so that rows are few runs (docs/theory.md 16.109). Any order will do:
// what is shown of the layout in places is shown of the tokens in them. Claims speak of tokens, evidence of places.
#include "places.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace checker {
namespace {

/// Does nothing but the patterns speak of single tokens or their order?
bool is_blind_to_order(const Json& a) {
  const Json& input = a["input"];
  const auto is_plain = [](const Json& layer) {
    const Json& mixer = layer["mixer"];
    return !mixer["kind"].is("convolution") && !mixer["kind"].is("linformer") && mixer["relative"].is("none");
  };
  return a["target"]["symmetry"].is("layout") && !a["target"]["class"].is("causal") && !input["embedding"].is("table") && input["positions"].is("none") && !input["bos"].boolean() &&
         input["registers"].size() == 0 && std::ranges::all_of(a["layer"].array(), is_plain);
}

/// One row as runs, greedily from the left: neighbours, and at least three members with equal gaps, of one colour.
std::vector<MovingRun> to_runs(const std::vector<std::pair<Vertex, std::uint32_t>>& members) {
  std::vector<MovingRun> runs;
  for (std::size_t k = 0; k < members.size();) {
    const auto [first, colour] = members[k];
    std::size_t end = k + 1;
    Vertex step = 1;
    if (end < members.size() && members[end].second == colour) {
      step = members[end].first - first;
      while (end < members.size() && members[end].second == colour && members[end].first - members[end - 1].first == step) ++end;
      if (step > 1 && end - k < 3) end = k + 1, step = 1;
    }
    runs.push_back({first, members[end - 1].first, step, colour, 0, 0});
    k = end;
  }
  return runs;
}

class Mover {
public:
  explicit Mover(const std::vector<Vertex>& tokens) : tokens_(tokens), place_(tokens.size()), marks_(tokens.size() / word + 1, 0), colour_(tokens.size()) {
    for (Vertex k = 0; k < tokens.size(); ++k) place_[tokens[k]] = k;
  }

  bool goes_down = true;  ///< do all rows that were moved lead to no later token?

  std::shared_ptr<const Pattern> move(const Pattern& pattern) {
    auto moved = std::make_shared<Pattern>();
    moved->vertices = pattern.vertices;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> known;
    std::vector<std::uint32_t> list_of(pattern.vertices);
    for (const Pattern::Segment& segment : pattern.segments) {
      poll();
      const auto [entry, fresh] = known.try_emplace({segment.list, segment.tail}, static_cast<std::uint32_t>(moved->lists.size()));
      const std::vector<std::pair<Vertex, std::uint32_t>> members = fresh ? list_members(pattern, segment) : std::vector<std::pair<Vertex, std::uint32_t>>{};
      if (fresh) moved->lists.push_back(to_runs(members)), last_.resize(1 + entry->second), last_[entry->second] = last_member_;
      goes_down = goes_down && last_[entry->second] <= segment.first;
      std::fill_n(list_of.begin() + segment.first, segment.count, entry->second);
    }
    for (Vertex k = 0; k < pattern.vertices; ++k) {
      const std::uint32_t list = list_of[tokens_[k]];
      if (!moved->segments.empty() && moved->segments.back().list == list) ++moved->segments.back().count;
      else moved->segments.push_back({k, 1, list, Pattern::none});
    }
    return moved;
  }

private:
  std::vector<std::pair<Vertex, std::uint32_t>> list_members(const Pattern& pattern, const Pattern::Segment& segment) {
    std::vector<std::pair<Vertex, std::uint32_t>> members;
    std::vector<Run> runs;
    for (const std::uint32_t list : {segment.list, segment.tail}) {
      if (list == Pattern::none) continue;
      for (const MovingRun& run : pattern.lists[list]) {
        if (run.lo_slope != 0 || run.hi_slope != 0) throw Rejected("places", "rows that move along with their readers are in an order already");
      }
      append_runs(pattern.lists[list], 0, runs);
    }
    last_member_ = 0;
    for (const Run& run : runs) {
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) members.emplace_back(place_[j], static_cast<std::uint32_t>(run.colour));
      last_member_ = std::max(last_member_, run.last);
    }
    sort(members);
    return members;
  }

  /// Marked, and read off 64 at a time.
  void sort(std::vector<std::pair<Vertex, std::uint32_t>>& members) {
    constexpr std::uint64_t words_per_member = 4;
    if (marks_.size() > words_per_member * members.size()) {
      std::ranges::sort(members);
      return;
    }
    for (const auto& [vertex, colour] : members) {
      marks_[vertex / word] |= std::uint64_t{1} << vertex % word;
      colour_[vertex] = colour;
    }
    members.clear();
    for (std::size_t k = 0; k < marks_.size(); ++k) {
      for (std::uint64_t left = std::exchange(marks_[k], 0); left != 0; left &= left - 1) {
        const auto vertex = static_cast<Vertex>(k * word + static_cast<std::size_t>(std::countr_zero(left)));
        members.emplace_back(vertex, colour_[vertex]);
      }
    }
  }

  static constexpr std::size_t word = 64;
  const std::vector<Vertex>& tokens_;
  std::vector<Vertex> place_, last_;
  std::vector<std::uint64_t> marks_;  ///< by place: none between rows
  std::vector<std::uint32_t> colour_;
  Vertex last_member_ = 0;
};

}  // namespace

std::vector<Vertex> read_places(const Json& places, const Json& architecture, Vertex tokens) {
  if (!is_blind_to_order(architecture)) throw Rejected("places", "something in the architecture speaks of single tokens");
  std::vector<Vertex> result;
  std::vector<bool> used(tokens, false);
  for (const Json& place : places.array()) {
    const auto token = static_cast<Vertex>(place.natural(tokens - 1));
    if (used[token]) throw Malformed("/evidence/places: every token has one place");
    used[token] = true;
    result.push_back(token);
  }
  if (result.size() != tokens) throw Malformed("/evidence/places: every token has one place");
  return result;
}

void put_into_places(Layout& layout, const std::vector<Vertex>& tokens) {
  Mover mover(tokens);
  std::map<const Pattern*, std::shared_ptr<const Pattern>> known;
  for (Relation& relation : layout.relations) {
    std::shared_ptr<const Pattern>& moved = known[relation.pattern.get()];
    if (!moved) moved = mover.move(*relation.pattern);
    relation.pattern = moved;
  }
  // Class "causal" speaks of the order that the file has.
  if (mover.goes_down) throw Rejected("places", "rows that only go down have an order that counts");
  std::vector<std::uint64_t> colours;
  for (const Vertex token : tokens) colours.push_back(layout.vertex_colour[token]);
  layout.vertex_colour = std::move(colours);
}

Permutation in_tokens(const Permutation& permutation, const std::vector<Vertex>& tokens) {
  if (tokens.empty()) return permutation;
  std::vector<std::pair<Vertex, Vertex>> moves;
  for (const auto& [from, to] : permutation.moves()) moves.emplace_back(tokens[from], tokens[to]);
  std::ranges::sort(moves);
  return Permutation(std::move(moves));
}

}  // namespace checker

#include "group.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace checker {

namespace {

/// `moves` sorted, no place twice.
bool is_bijection(const std::vector<std::pair<Vertex, Vertex>>& moves) {
  if (moves.empty()) return true;
  const Vertex last = moves.back().first;
  if (last / 64 > moves.size()) {
    std::vector<Vertex> images;
    for (const auto& [x, y] : moves) images.push_back(y);
    std::sort(images.begin(), images.end());
    for (std::size_t k = 0; k < images.size(); ++k) {
      if (images[k] != moves[k].first) return false;
    }
    return true;
  }
  std::vector<bool> open(std::size_t{last} + 1, false);
  for (const auto& [x, y] : moves) open[x] = true;
  for (const auto& [x, y] : moves) {
    if (y > last || !open[y]) return false;
    open[y] = false;
  }
  return true;
}

}  // namespace

const std::shared_ptr<const Permutation::Moves>& Permutation::nothing() {
  static const auto empty = std::make_shared<const Moves>();
  return empty;
}

Permutation::Permutation(std::vector<std::pair<Vertex, Vertex>> moves) {
  if (!std::is_sorted(moves.begin(), moves.end())) std::sort(moves.begin(), moves.end());
  const auto same_place = [](const auto& a, const auto& b) { return a.first == b.first; };
  if (std::adjacent_find(moves.begin(), moves.end(), same_place) != moves.end() || !is_bijection(moves)) {
    throw Malformed("a permutation is no bijection of the points it moves");
  }
  std::erase_if(moves, [](const auto& move) { return move.first == move.second; });
  moves_ = std::make_shared<const Moves>(std::move(moves));
}

namespace {

/// Appends first+k -> image + k or image - k.
void append_stretch(const std::int64_t (&numbers)[4], Vertex degree, std::vector<std::pair<Vertex, Vertex>>& moves) {
  for (std::size_t k = 0; k < 3; ++k) {
    if (numbers[k] < 0) (void)Json(numbers[k]).natural();  // says so
  }
  const auto first = static_cast<std::uint64_t>(numbers[0]), count = static_cast<std::uint64_t>(numbers[1]), image = static_cast<std::uint64_t>(numbers[2]);
  const std::int64_t direction = numbers[3];
  if (direction != 1 && direction != -1) throw Malformed("a stretch goes in direction 1 or -1");
  const bool fits = direction > 0 ? image < degree && count <= degree - image : image < degree && count <= image + 1;
  if (first >= degree || count > degree - first || !fits || moves.size() + count > degree) throw Malformed("a permutation leaves its degree");
  for (std::uint64_t k = 0; k < count; ++k) moves.emplace_back(first + k, direction > 0 ? image + k : image - k);
}

constexpr const char* stretch_expected = "a stretch of a permutation is [first, count, image, direction]";

}  // namespace

Permutation Permutation::read(const Json& stretches, Vertex degree) {
  std::vector<std::pair<Vertex, Vertex>> moves;
  for (const Json& stretch : stretches.array()) {
    if (stretch.size() != 4) throw Malformed(stretch_expected);
    append_stretch({stretch[0].integer(), stretch[1].integer(), stretch[2].integer(), stretch[3].integer()}, degree, moves);
  }
  return Permutation(std::move(moves));
}

bool Permutation::visit(const Json& list, Vertex degree, const std::function<bool(Permutation)>& take) {
  const Json::Numbers* flat = list.flat();
  if (flat == nullptr) {
    return std::ranges::all_of(list.array(), [&](const Json& stretches) { return take(read(stretches, degree)); });
  }
  // A list is 2 * (how many members) + (1 where these are lists), then the members.
  const std::int64_t* at = flat->data();
  const auto enter = [&at] {
    const std::int64_t header = *at++;
    if (header != 0 && header % 2 == 0) throw Malformed("expected a list");
    return header / 2;
  };
  std::vector<std::pair<Vertex, Vertex>> moves;
  for (std::int64_t left = enter(); left > 0; --left) {
    moves.clear();
    for (std::int64_t stretches = enter(); stretches > 0; --stretches, at += 5) {
      if (at[0] / 2 != 4) throw Malformed(stretch_expected);
      if (at[0] % 2 != 0) throw Malformed("expected an integer");
      append_stretch({at[1], at[2], at[3], at[4]}, degree, moves);
    }
    if (!take(Permutation(std::vector(moves)))) return false;
  }
  return true;
}

Permutation Permutation::from_cycles(std::string_view text, Vertex degree) {
  std::vector<std::pair<Vertex, Vertex>> moves;
  std::size_t at = 0;
  const auto skip = [&](std::string_view blanks) {
    while (at < text.size() && blanks.find(text[at]) != std::string_view::npos) ++at;
  };
  for (skip(" \t\r\n"); at < text.size(); skip(" \t\r\n")) {
    if (text[at++] != '(') throw Malformed("cycles: ( is expected");
    const std::size_t begin = moves.size();
    for (skip(" \t\r\n"); at < text.size() && text[at] != ')'; skip(" \t\r\n,")) {
      std::uint64_t point = 0;
      const std::size_t start = at;
      for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) point = std::min<std::uint64_t>(point * 10 + (text[at] - '0'), degree);
      if (at == start || point >= degree) throw Malformed("cycles: a point below the degree is expected");
      if (moves.size() > begin) moves.back().second = static_cast<Vertex>(point);
      moves.emplace_back(static_cast<Vertex>(point), begin < moves.size() ? moves[begin].first : static_cast<Vertex>(point));
    }
    if (at == text.size()) throw Malformed("cycles: ) is expected");
    ++at;
  }
  return Permutation(std::move(moves));
}

std::string Permutation::cycles() const {
  if (is_identity()) return "()";
  const Moves& moves = *moves_;
  std::string text;
  std::vector<bool> done(moves.size(), false);
  for (std::size_t k = 0; k < moves.size(); ++k) {
    if (done[k]) continue;
    char before = '(';
    for (std::size_t at = k; !done[at]; at = place_of_image(at)) {
      text += std::exchange(before, ' ');
      text += std::to_string(moves[at].first);
      done[at] = true;
    }
    text += ')';
  }
  return text;
}

bool Permutation::has_cycles(std::string_view text) const {
  if (is_identity()) return text == "()";
  const Moves& moves = *moves_;
  const char *at = text.data(), *const end = at + text.size();
  const auto take = [&](char c) { return at != end && *at++ == c; };
  // Numbers are read, which is quicker than writing what is expected: the one way to write them.
  const auto take_number = [&](Vertex x) {
    constexpr std::ptrdiff_t most_digits = 10;
    const char* const begin = at;
    std::uint64_t value = 0;
    for (; at != end && *at >= '0' && *at <= '9' && at - begin < most_digits; ++at) value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    return at != begin && value == x && (*begin != '0' || at - begin == 1);
  };
  std::vector<bool> done(moves.size(), false);
  for (std::size_t k = 0; k < moves.size(); ++k) {
    if (done[k]) continue;
    for (std::size_t place = k; !done[place]; place = place_of_image(place)) {
      if (!take(place == k ? '(' : ' ') || !take_number(moves[place].first)) return false;
      done[place] = true;
    }
    if (!take(')')) return false;
  }
  return at == end;
}

std::size_t Permutation::place_of_image(std::size_t place) const {
  const Moves& moves = *moves_;
  const Vertex first = moves.front().first, x = moves[place].second;
  return moves.back().first - first + std::size_t{1} == moves.size() ? x - first : find(x);  // nothing between stays: its distance from the first
}

std::size_t Permutation::find(Vertex x) const {
  // The places are distinct, so x is at least as far from the end as its distance there says, and no farther from the beginning: where
  // few points between stay, little is left to search.
  const Moves& moves = *moves_;
  const auto size = static_cast<std::ptrdiff_t>(moves.size()), after = std::ptrdiff_t{moves.back().first - x};
  const auto from = moves.begin() + std::max<std::ptrdiff_t>(0, size - 1 - after);
  const auto to = moves.begin() + std::min<std::ptrdiff_t>(size, std::ptrdiff_t{x - moves.front().first} + 1);
  return static_cast<std::size_t>(std::lower_bound(from, to, std::pair<Vertex, Vertex>{x, 0}) - moves.begin());
}

Vertex Permutation::operator()(Vertex x) const {
  const Moves& moves = *moves_;
  if (moves.empty() || x < moves.front().first || x > moves.back().first) return x;
  const std::size_t at = find(x);
  return at < moves.size() && moves[at].first == x ? moves[at].second : x;
}

namespace {

/// Disjoint sets named by their least members.
struct Sets {
  std::vector<Vertex> parent;
  explicit Sets(Vertex n) : parent(n) { std::iota(parent.begin(), parent.end(), Vertex{0}); }
  Vertex find(Vertex x) {
    for (; parent[x] != x; x = parent[x]) parent[x] = parent[parent[x]];
    return x;
  }
  bool join(Vertex x, Vertex y) {
    x = find(x);
    y = find(y);
    parent[std::max(x, y)] = std::min(x, y);
    return x != y;
  }
};

}  // namespace

std::vector<Vertex> orbits(const Group& group) {
  Sets sets(group.degree);
  for (const std::vector<Vertex>& members : group.classes) {
    for (const Vertex x : members) sets.join(members[0], x);
  }
  for (const Permutation& generator : group.generators) {
    for (const auto& [x, y] : generator.moves()) sets.join(x, y);
  }
  std::vector<Vertex> least(group.degree);
  for (Vertex x = 0; x < group.degree; ++x) least[x] = sets.find(x);
  return least;
}

std::vector<Permutation> list_generators(const Group& group, std::size_t limit) {
  std::vector<Permutation> list;
  for (const std::vector<Vertex>& members : group.classes) {
    for (std::size_t k = 1; k < members.size() && list.size() < limit; ++k) list.push_back(Permutation({{members[k - 1], members[k]}, {members[k], members[k - 1]}}));
  }
  for (std::size_t k = 0; k < group.generators.size() && list.size() < limit; ++k) list.push_back(group.generators[k]);
  return list;
}

std::vector<Permutation> few_generators(const Group& group) {
  std::vector<Permutation> generators = group.generators;
  for (const std::vector<Vertex>& members : group.classes) {
    std::vector<std::pair<Vertex, Vertex>> cycle;
    for (std::size_t k = 0; k < members.size(); ++k) cycle.emplace_back(members[k], members[(k + 1) % members.size()]);
    generators.emplace_back(std::move(cycle));
    generators.emplace_back(std::vector<std::pair<Vertex, Vertex>>{{members[0], members[1]}, {members[1], members[0]}});
  }
  return generators;
}

}  // namespace checker

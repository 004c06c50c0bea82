// The group language (interfaces.md 7): products and wreath products of named groups, lattices, regular actions, cycles.
#include <algorithm>
#include <map>

#include "group.hpp"

namespace checker {

namespace {

constexpr std::uint64_t most_points = std::uint64_t{1} << 24, most_elements = 200000;
using Moves = std::vector<std::pair<Vertex, Vertex>>;

struct Named {
  Group group;
  Order order;
};

/// x -> image(x) on 0 .. n-1.
template <class Image>
Permutation permutation(Vertex n, Image&& image) {
  Moves moves;
  for (Vertex x = 0; x < n; ++x) moves.emplace_back(x, image(x));
  return Permutation(std::move(moves));
}

Named make(Vertex degree, std::vector<Permutation> generators, const Natural& order, std::uint64_t factorial = 0) {
  Named named{{degree, {}, std::move(generators)}, {}};
  std::erase_if(named.group.generators, [](const Permutation& g) { return g.is_identity(); });
  named.order.multiply(order);
  named.order.multiply_factorial(factorial);
  return named;
}

Named symmetric(Vertex n) {
  Named named = make(n, {}, 1, n);
  if (n < 2) return named;
  named.group.classes.emplace_back();
  for (Vertex x = 0; x < n; ++x) named.group.classes[0].push_back(x);
  return named;
}

Named lettered(char letter, Vertex n) {
  if (letter == 'S' || (letter == 'C' && n <= 2) || (letter == 'D' && n <= 3)) return symmetric(n);
  const Permutation turn = permutation(n, [n](Vertex x) { return (x + 1) % n; });
  if (letter == 'C') return make(n, {turn}, n);
  if (letter == 'D') return make(n, {turn, permutation(n, [n](Vertex x) { return (n - x) % n; })}, Natural(2) * Natural(n));
  if (n < 3) return make(n, {}, 1);
  const Vertex first = n % 2 == 0 ? 1 : 0;  // the longest cycle of odd length; with (0 1 2) it generates A_n
  const Permutation cycle = permutation(n, [=](Vertex x) { return x < first ? x : x + 1 < n ? x + 1 : first; });
  return make(n, {Permutation({{0, 1}, {1, 2}, {2, 0}}), cycle}, Natural(n) * Natural(n - 1) / Natural(2), n - 2);
}

/// A transposition and a cycle for every class, then the generators.
std::vector<Permutation> few(const Group& group) {
  std::vector<Permutation> list;
  for (const std::vector<Vertex>& members : group.classes) {
    list.push_back(Permutation({{members[0], members[1]}, {members[1], members[0]}}));
    Moves cycle;
    for (std::size_t k = 0; k < members.size(); ++k) cycle.emplace_back(members[k], members[(k + 1) % members.size()]);
    if (members.size() > 2) list.emplace_back(std::move(cycle));
  }
  list.insert(list.end(), group.generators.begin(), group.generators.end());
  return list;
}

Permutation shift(const Permutation& g, Vertex by) {
  Moves moves = g.moves();
  for (auto& [x, y] : moves) {
    x += by;
    y += by;
  }
  return Permutation(std::move(moves));
}

/// g on the coordinate of that length and stride of a row-major array.
Permutation along(const Permutation& g, Vertex length, Vertex stride, Vertex degree) {
  Moves moves;
  for (Vertex high = 0; high < degree; high += length * stride) {
    for (const auto& [x, y] : g.moves()) {
      for (Vertex low = 0; low < stride; ++low) moves.emplace_back(high + x * stride + low, high + y * stride + low);
    }
  }
  return Permutation(std::move(moves));
}

Named disjoint(Named a, const Named& b) {
  for (std::vector<Vertex> members : b.group.classes) {
    for (Vertex& x : members) x += a.group.degree;
    a.group.classes.push_back(std::move(members));
  }
  for (const Permutation& g : b.group.generators) a.group.generators.push_back(shift(g, a.group.degree));
  a.group.degree += b.group.degree;
  a.order.multiply(b.order);
  return a;
}

Named pairs(const Named& a, const Named& b) {
  if (b.group.degree == 1) return a;
  if (a.group.degree == 1) return b;
  Named result = make(a.group.degree * b.group.degree, {}, 1);
  for (const Permutation& g : few(a.group)) result.group.generators.push_back(along(g, a.group.degree, b.group.degree, result.group.degree));
  for (const Permutation& g : few(b.group)) result.group.generators.push_back(along(g, b.group.degree, 1, result.group.degree));
  result.order.multiply(a.order);
  result.order.multiply(b.order);
  return result;
}

Named wreath(const Named& a, const Named& b) {
  const Vertex inside = a.group.degree, blocks = b.group.degree;
  if (inside == 1) return b;
  Named result = make(inside * blocks, {}, 1);
  const std::vector<Vertex> orbit = orbits(b.group);
  for (Vertex block = 0; block < blocks; ++block) {
    for (std::vector<Vertex> members : a.group.classes) {
      for (Vertex& x : members) x += block * inside;
      result.group.classes.push_back(std::move(members));
    }
    for (const Permutation& g : a.group.generators) {
      if (orbit[block] == block) result.group.generators.push_back(shift(g, block * inside));
    }
  }
  for (const Permutation& g : few(b.group)) result.group.generators.push_back(along(g, blocks, inside, result.group.degree));
  Order inner = a.order;
  inner.raise(blocks);
  result.order.multiply(inner);
  result.order.multiply(b.order);
  return result;
}

/// All automorphisms of a product of paths and cycles: those of its prime factors and exchanges of equal ones (Sabidussi, Vizing). A
/// cycle of four is two edges, read in Gray code.
Named lattice(const std::vector<Vertex>& lengths, bool cyclic) {
  struct Prime {
    Vertex length;
    bool turns;
    std::size_t side;
    unsigned bit;
  };
  std::vector<Prime> primes;
  Vertex degree = 1;
  for (std::size_t k = 0; k < lengths.size(); degree *= lengths[k++]) {
    if (lengths[k] == 1) continue;
    const bool four = cyclic && lengths[k] == 4;
    primes.push_back({four ? 2 : lengths[k], cyclic && lengths[k] > 2 && !four, k, 0});
    if (four) primes.push_back({2, false, k, 1});
  }
  const auto is_four = [&](std::size_t side) { return cyclic && lengths[side] == 4; };
  const auto act = [&](auto&& change) {
    return permutation(degree, [&](Vertex point) {
      std::vector<Vertex> side(lengths.size()), coordinate;
      for (std::size_t k = lengths.size(); k-- > 0; point /= lengths[k]) side[k] = point % lengths[k];
      for (const Prime& p : primes) coordinate.push_back(is_four(p.side) ? ((side[p.side] ^ (side[p.side] >> 1)) >> p.bit) & 1u : side[p.side]);
      change(coordinate);
      std::fill(side.begin(), side.end(), 0);
      for (std::size_t k = 0; k < primes.size(); ++k) side[primes[k].side] |= coordinate[k] << primes[k].bit;
      Vertex image = 0;
      for (std::size_t k = 0; k < lengths.size(); ++k) image = image * lengths[k] + (is_four(k) ? side[k] ^ (side[k] >> 1) : side[k]);
      return image;
    });
  };
  Named result = make(degree, {}, 1);
  std::map<std::pair<Vertex, bool>, std::pair<std::size_t, std::uint64_t>> last;  // of a kind: its number, and how many
  for (std::size_t k = 0; k < primes.size(); ++k) {
    const Vertex n = primes[k].length;
    auto& [other, count] = last[{n, primes[k].turns}];
    if (count > 0) {
      result.group.generators.push_back(act([&, from = other](std::vector<Vertex>& c) { std::swap(c[from], c[k]); }));
    } else {
      if (primes[k].turns) result.group.generators.push_back(act([&](std::vector<Vertex>& c) { c[k] = (c[k] + 1) % n; }));
      result.group.generators.push_back(act([&](std::vector<Vertex>& c) { c[k] = primes[k].turns ? (n - c[k]) % n : n - 1 - c[k]; }));
    }
    other = k;
    result.order.multiply(Natural(primes[k].turns ? 2 * n : 2) * Natural(++count));
  }
  return result;
}

/// A on itself, g: x -> g x; points are the elements in breadth-first order.
Named regular(const Named& a) {
  const std::vector<Permutation> generators = list_generators(a.group, std::size_t{a.group.degree} + a.group.generators.size());
  std::map<std::vector<Vertex>, Vertex> number;
  std::vector<const std::vector<Vertex>*> elements;
  const auto meet = [&](std::vector<Vertex> element) {
    const auto [place, fresh] = number.emplace(std::move(element), static_cast<Vertex>(elements.size()));
    if (fresh) elements.push_back(&place->first);
    if (elements.size() > most_elements || elements.size() * a.group.degree > 100000000) throw Malformed("regular(..): the group is too large");
    return place->second;
  };
  std::vector<Vertex> one(a.group.degree);
  for (Vertex x = 0; x < a.group.degree; ++x) one[x] = x;
  (void)meet(std::move(one));
  std::vector<Moves> left(generators.size());
  for (Vertex x = 0; x < elements.size(); ++x) {
    for (std::size_t k = 0; k < generators.size(); ++k) {
      std::vector<Vertex> product = *elements[x];
      for (Vertex& y : product) y = generators[k](y);
      left[k].emplace_back(x, meet(std::move(product)));
    }
  }
  if (elements.size() <= 2) return symmetric(static_cast<Vertex>(elements.size()));
  std::vector<Permutation> result;
  for (Moves& moves : left) result.emplace_back(std::move(moves));
  return make(static_cast<Vertex>(elements.size()), std::move(result), elements.size());
}

class GroupParser {
public:
  GroupParser(std::string_view text, Vertex degree) : text_(text), degree_(degree) {}

  Named parse() {
    skip();
    const std::size_t end = text_.find_last_not_of(" \t\r\n");
    whole_ = text_.substr(at_, 4) == "gens" && end != std::string_view::npos && text_.find(']') == end;
    Named named = expression();
    if (at_ < text_.size() || named.group.degree != degree_) fail();
    return named;
  }

private:
  [[noreturn]] void fail() const { throw Malformed("group \"" + std::string(text_) + "\" is none on " + std::to_string(degree_) + " points"); }
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    skip();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) fail();
  }
  Vertex limit(std::uint64_t points) const {
    if (points > most_points) fail();
    return static_cast<Vertex>(points);
  }
  std::uint64_t number() {
    const std::size_t start = at_;
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) value = std::min<std::uint64_t>(value * 10 + (text_[at_] - '0'), most_points + 1);
    if (at_ == start || value == 0) fail();
    skip();
    return value;
  }
  static std::uint64_t times(const Named& a, const Named& b) { return std::uint64_t{a.group.degree} * b.group.degree; }

  Named expression() {
    Named result = term();
    while (take("x")) {
      const Named right = term();
      (void)limit(std::uint64_t{result.group.degree} + right.group.degree);
      result = disjoint(std::move(result), right);
    }
    return result;
  }
  Named term() {
    Named result = factor();
    while (take("*")) {
      const Named right = factor();
      (void)limit(times(result, right));
      result = pairs(result, right);
    }
    return result;
  }
  Named factor() {
    Named inside = atom();
    if (!take("wr")) return inside;
    const Named blocks = atom();
    (void)limit(times(inside, blocks));
    return wreath(inside, blocks);
  }
  Named atom() {
    if (++depth_ > 200) fail();
    Named result = atom_inside();
    --depth_;
    return result;
  }
  Named atom_inside() {
    if (take("(")) {
      Named result = expression();
      expect(")");
      return result;
    }
    for (const char letter : {'C', 'D', 'S', 'A', 'B'}) {
      if (text_.substr(at_, 2) != std::string{letter, '_'}) continue;
      at_ += 2;
      const std::uint64_t n = number();
      return letter == 'B' ? wreath(symmetric(2), symmetric(limit(2 * n) / 2)) : lettered(letter, limit(n));
    }
    if (take("gens")) return generators();
    if (take("regular")) {
      expect("(");
      const Named inner = expression();
      expect(")");
      return regular(inner);
    }
    for (const std::string_view word : {"trivial", "cyclic", "dihedral", "symmetric", "alternating", "hypercube", "torus", "grid"}) {
      if (!take(word)) continue;
      expect("(");
      std::vector<std::uint64_t> numbers{number()};
      while (take(",")) numbers.push_back(number());
      expect(")");
      const bool sides = word == "torus" || word == "grid";
      if (numbers.size() != 1 && !sides) fail();
      if (word == "hypercube") numbers.assign(std::min<std::uint64_t>(numbers[0], 25), 2);
      if (sides || word == "hypercube") {
        std::uint64_t points = 1;
        for (const std::uint64_t n : numbers) points = limit(points * n);
        return lattice({numbers.begin(), numbers.end()}, word == "torus");
      }
      const Vertex n = limit(numbers[0]);
      return word == "trivial" ? make(n, {}, 1) : lettered(word == "cyclic" ? 'C' : word == "dihedral" ? 'D' : word == "symmetric" ? 'S' : 'A', n);
    }
    fail();
  }
  Named generators() {
    expect("[");
    std::vector<std::string_view> parts;
    std::size_t begin = at_;
    std::uint64_t largest = 0, value = 0;
    int open = 0;
    for (; at_ < text_.size() && text_[at_] != ']'; ++at_) {
      const char c = text_[at_];
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
      value = c >= '0' && c <= '9' ? std::min<std::uint64_t>(value * 10 + (c - '0'), most_points) : 0;
      largest = std::max(largest, value);
      if (c != ',' || open != 0) continue;
      parts.push_back(text_.substr(begin, at_ - begin));
      begin = at_ + 1;
    }
    parts.push_back(text_.substr(begin, at_ - begin));
    expect("]");
    Named result = make(whole_ ? degree_ : limit(largest + 1), {}, 1);
    for (const std::string_view part : parts) result.group.generators.push_back(Permutation::from_cycles(part, result.group.degree));
    std::erase_if(result.group.generators, [](const Permutation& g) { return g.is_identity(); });
    result.order = Chain(result.group).order();
    return result;
  }

  std::string_view text_;
  Vertex degree_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool whole_ = false;
};

}  // namespace

Group parse_group(const std::string& expression, Vertex degree, Order* order) {
  Named named = GroupParser(expression, degree).parse();
  if (order != nullptr) *order = named.order;
  named.group.order = std::make_shared<Order>(std::move(named.order));
  return std::move(named.group);
}

}  // namespace checker

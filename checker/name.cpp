// Names of groups (docs/certificate.md, "Names"). A proof shows, step by step, that the group is a subgroup of a quotient of the group named;
// as the orders are equal it is that group.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "group.hpp"

namespace checker {

namespace {

using FactorNames = std::vector<std::string>;  ///< of a direct product, sorted
using Set = std::vector<Vertex>;
constexpr std::size_t most_looked_at = 5000, most_starts = 16, most_images = std::size_t{1} << 22;

std::string join(const FactorNames& factors) {
  std::string text;
  for (const std::string& factor : factors) text += (text.empty() ? "" : " x ") + factor;
  return text;
}
std::string wreath(const FactorNames& inside, std::uint64_t k) {
  const std::string text = join(inside), count = std::to_string(k);
  if (text == "S_2" || text == "C_2") return k == 2 ? "D_4" : "B_" + count;
  return (text.find(' ') == std::string::npos ? text : "(" + text + ")") + " wr S_" + count;
}

/// What a name promises: product = factor {" x " factor}, factor = letter_n or (letter_n or "(" product ")") " wr S_k".
class NameReader {
public:
  NameReader(std::string_view text, const std::string& claim) : text_(text), claim_(claim) {}
  std::pair<FactorNames, Order> read() {
    auto result = product();
    if (at_ != text_.size()) fail();
    return result;
  }

private:
  [[noreturn]] void fail() const { throw Rejected(claim_, "\"" + std::string(text_) + "\" is no name of a group"); }
  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  std::uint64_t number() {
    const std::size_t start = at_;
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - start < 18; ++at_) {
      value = value * 10 + static_cast<std::uint64_t>(text_[at_] - '0');
    }
    if (at_ == start || text_[start] == '0') fail();
    return value;
  }
  std::pair<FactorNames, Order> product() {
    auto result = factor();
    while (take(" x ")) {
      const auto next = factor();
      result.first.push_back(next.first[0]);
      result.second.multiply(next.second);
    }
    std::sort(result.first.begin(), result.first.end());
    return result;
  }
  /// One factor; what stands in brackets must be the base of a wreath product and not be a word alone.
  std::pair<FactorNames, Order> factor() {
    std::pair<FactorNames, Order> inside;
    const bool brackets = take("(");
    if (brackets) {
      if (++depth_ > 100) fail();
      inside = product();
      if (!take(")") || join(inside.first).find(' ') == std::string::npos) fail();
    } else {
      const char letter = at_ < text_.size() ? text_[at_++] : ' ';
      if (std::string_view("CDSB").find(letter) == std::string_view::npos || !take("_")) fail();
      const std::uint64_t n = number();
      if (n < (letter == 'C' || letter == 'S' ? 2 : 3) || n > (letter == 'S' || letter == 'B' ? std::uint64_t{1} << 24 : std::uint64_t{1} << 31)) fail();
      if (letter == 'C' || letter == 'D') inside.second.multiply(Natural(letter == 'C' ? n : 2 * n));
      if (letter == 'S' || letter == 'B') inside.second.multiply_factorial(n);
      if (letter == 'B') inside.second.multiply_factorial(2, n);
      inside.first.push_back(std::string(1, letter) + "_" + std::to_string(n));
    }
    if (!take(" wr S_")) {
      if (brackets) fail();
      return inside;
    }
    const std::uint64_t k = number();
    if (k < 2 || k > (1u << 24)) fail();
    Order whole = inside.second;
    whole.raise(k);
    whole.multiply_factorial(k);
    constexpr double most_digits = 1e10;  // more than those of n! for n = 2^30: exponents stay far below 2^64
    if (whole.log10() > most_digits) fail();
    const std::string name = wreath(inside.first, k);
    if (name.find(" wr ") == std::string::npos) fail();  // B_k and D_4 have names of their own
    return {{name}, whole};
  }
  std::string_view text_;
  const std::string& claim_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

class NameProver {
public:
  explicit NameProver(const std::string& claim) : claim_(claim) {}

  /// Names of which H is a subgroup of a quotient.
  FactorNames prove(const Group& h, const Json& proof) const {
    const std::string& kind = proof["kind"].string();
    if (kind == "symmetric") {
      expect(proof, {"kind"});
      return {"S_" + std::to_string(h.degree)};
    }
    FactorNames factors;
    if (kind == "abelian" || kind == "dihedral") {
      expect(proof, {"elements", "kind"});
      factors = kind == "abelian" ? abelian(h, proof["elements"]) : dihedral(h, proof["elements"]);
    } else if (kind == "actions" || kind == "blocks") {
      expect(proof, {kind, "kind", "proofs"});
      factors = kind == "actions" ? actions(h, proof) : blocks(h, proof);
    } else {
      throw Malformed("a name has no proof of kind \"" + kind + "\"");
    }
    std::sort(factors.begin(), factors.end());
    return factors;
  }

private:
  [[noreturn]] void fail(const std::string& reason) const { throw Rejected(claim_, "the proof fails: " + reason); }
  static void expect(const Json& proof, const FactorNames& keys) {
    FactorNames found;
    for (const auto& [key, ignored] : proof.object()) found.push_back(key);
    if (found != keys) throw Malformed("the proof of a name has other keys than its kind asks for");
  }

  /// Points in order from runs [first, count, step], no point twice; `left` bounds how many are listed in all.
  static Set read_points(const Json& runs, Vertex degree, std::uint64_t& left) {
    Set points;
    for (const Json& run : runs.array()) {
      const std::uint64_t first = run[0].natural(degree), count = run[1].natural(degree), step = run[2].natural(degree);
      const bool whole = run.size() == 3 && count > 0 && step > 0 && (count > 1 || step == 1) && first + (count - 1) * step < degree;
      if (!whole || count > left) throw Malformed("a run of points is [first, count, step] within the degree");
      left -= count;
      for (std::uint64_t k = 0; k < count; ++k) points.push_back(static_cast<Vertex>(first + k * step));
    }
    Set sorted = points;
    std::sort(sorted.begin(), sorted.end());
    const bool twice = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
    if (points.empty() || twice) throw Malformed("a set of points is empty or names one twice");
    return points;
  }

  std::vector<Permutation> listed(const Group& h) const {
    std::vector<Permutation> list = list_generators(h, most_looked_at + 1);
    if (list.size() > most_looked_at) fail("more than 5000 generators are to be looked at one by one");
    return list;
  }
  static Permutation product(const Permutation& a, const Permutation& b) {  // b first
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (const auto& [x, y] : b.moves()) moves.emplace_back(x, a(y));
    const auto more = static_cast<std::ptrdiff_t>(moves.size());
    for (const auto& [x, y] : a.moves()) {
      if (b(x) == x) moves.emplace_back(x, y);
    }
    std::inplace_merge(moves.begin(), moves.begin() + more, moves.end());
    return Permutation(std::move(moves));
  }

  struct Cycles {
    std::vector<Set> list;
    std::uint64_t order = 1;
  };
  Cycles cycles_of(const Permutation& c) const {
    Cycles cycles;
    std::vector<bool> done(c.is_identity() ? 0 : c.moves().back().first + 1, false);
    for (const auto& [x, ignored] : c.moves()) {
      if (done[x]) continue;
      cycles.list.emplace_back();
      for (Vertex y = x; !done[y]; y = c(y)) {
        done[y] = true;
        cycles.list.back().push_back(y);
      }
      const std::uint64_t length = cycles.list.back().size();
      const std::uint64_t factor = length / std::gcd(cycles.order, length);
      if (cycles.order > (std::uint64_t{1} << 62) / factor) fail("an element of order 2^62 or more");
      cycles.order *= factor;
    }
    return cycles;
  }
  /// g = c^e for the e that every cycle of c asks for?
  static bool is_power(const Cycles& c, const Permutation& g) {
    std::uint64_t e = 0, modulus = 1, moved = 0;
    for (const Set& cycle : c.list) {
      const std::uint64_t length = cycle.size();
      const auto found = std::find(cycle.begin(), cycle.end(), g(cycle[0]));
      if (found == cycle.end()) return false;
      const auto shift = static_cast<std::uint64_t>(found - cycle.begin());
      for (std::uint64_t k = 0; k < length; ++k) {
        if (g(cycle[k]) != cycle[(k + shift) % length]) return false;
      }
      if (shift != 0) moved += length;
      const std::uint64_t factor = length / std::gcd(modulus, length);
      for (std::uint64_t k = 0; k < factor && e % length != shift; ++k) e += modulus;
      if (e % length != shift) return false;
      modulus *= factor;
    }
    return moved == g.moves().size();
  }

  FactorNames abelian(const Group& h, const Json& elements) const {
    Group named{h.degree, {}, {}};
    FactorNames factors;
    std::vector<Cycles> cycles;
    if (elements.size() == 0 || elements.size() > 100) fail("an abelian group takes 1 to 100 elements");
    if (elements.size() > 1 && elements.size() * h.degree > most_images) fail("the elements have more than 2^22 images together");
    for (const Json& element : elements.array()) {
      named.generators.push_back(Permutation::read(element, h.degree));
      cycles.push_back(cycles_of(named.generators.back()));
      factors.push_back("C_" + std::to_string(cycles.back().order));
      for (const Permutation& other : named.generators) {
        const Permutation& last = named.generators.back();
        if (product(other, last).moves() != product(last, other).moves()) fail("elements do not commute");
      }
    }
    const std::vector<Permutation> list = listed(h);
    if (cycles.size() == 1) {
      for (const Permutation& g : list) {
        if (!is_power(cycles[0], g)) fail("a generator is no power of the element");
      }
      return factors;
    }
    // An abelian group that takes one point to all others contains whatever commutes with all of it.
    const std::vector<Vertex> orbit = orbits(named);
    if (std::all_of(orbit.begin(), orbit.end(), [](Vertex least) { return least == 0; })) {
      for (const Permutation& g : list) {
        for (const Permutation& element : named.generators) {
          if (product(g, element).moves() != product(element, g).moves()) fail("a generator is no product of the elements");
        }
      }
      return factors;
    }
    const Chain chain(named);
    for (const Permutation& g : list) {
      if (!chain.contains(g)) fail("a generator is no product of the elements");
    }
    return factors;
  }

  FactorNames dihedral(const Group& h, const Json& elements) const {
    if (elements.size() != 2) fail("a dihedral group takes a rotation and a reflection");
    const Permutation r = Permutation::read(elements[0], h.degree), s = Permutation::read(elements[1], h.degree);
    const Cycles cycles = cycles_of(r);
    const Permutation sr = product(s, r);
    if (cycles.order < 3 || !product(s, s).is_identity() || !product(sr, sr).is_identity()) fail("r^n = s^2 = (s r)^2 = 1 does not hold");
    for (const Permutation& g : listed(h)) {
      if (!is_power(cycles, g) && !is_power(cycles, product(g, s))) fail("a generator is neither r^e nor r^e s");
    }
    return {cycles.order == 3 ? "S_3" : "D_" + std::to_string(cycles.order)};
  }

  /// What the permutations do on the sets of a family, by number.
  std::vector<Permutation> act(const std::vector<Permutation>& list, const std::vector<Set>& sets) const {
    std::map<Set, Vertex> number;
    for (Vertex k = 0; k < sets.size(); ++k) {
      Set sorted = sets[k];
      std::sort(sorted.begin(), sorted.end());
      if (!number.emplace(std::move(sorted), k).second) fail("a set stands in its family twice");
    }
    std::vector<Permutation> images;
    for (const Permutation& g : list) {
      std::vector<std::pair<Vertex, Vertex>> moves;
      for (const auto& [set, k] : number) {
        Set image;
        for (const Vertex x : set) image.push_back(g(x));
        std::sort(image.begin(), image.end());
        const auto found = number.find(image);
        if (found == number.end()) fail("a generator leaves a family of sets");
        if (found->second != k) moves.emplace_back(k, found->second);
      }
      images.emplace_back(std::move(moves));
    }
    return images;
  }
  /// The same for single points, classes whole.
  Group act_on_points(const Group& h, const Set& points) const {
    std::vector<Vertex> number(h.degree, none);
    for (Vertex k = 0; k < points.size(); ++k) number[points[k]] = k;
    Group image{static_cast<Vertex>(points.size()), {}, {}};
    for (const Set& members : h.classes) {
      Set numbers;
      for (const Vertex x : members) {
        if (number[x] != none) numbers.push_back(number[x]);
      }
      if (!numbers.empty() && numbers.size() != members.size()) fail("a class leaves a family of points");
      std::sort(numbers.begin(), numbers.end());
      if (!numbers.empty()) image.classes.push_back(std::move(numbers));
    }
    for (const Permutation& g : h.generators) {
      std::vector<std::pair<Vertex, Vertex>> moves;
      for (const auto& [x, y] : g.moves()) {
        if ((number[x] == none) != (number[y] == none)) fail("a generator leaves a family of points");
        if (number[x] != none) moves.emplace_back(number[x], number[y]);
      }
      if (!moves.empty()) image.generators.emplace_back(std::move(moves));
    }
    return image;
  }

  FactorNames actions(const Group& h, const Json& proof) const {
    const Json::Array &families = proof["actions"].array(), &proofs = proof["proofs"].array();
    if (families.empty() || families.size() > 100 || families.size() != proofs.size()) fail("1 to 100 actions have a proof each");
    FactorNames factors;
    std::vector<std::vector<Set>> sets;
    std::vector<bool> single(h.degree, false);              // a point of a family of points
    std::vector<std::vector<std::uint64_t>> inside(h.degree);  // in which sets a point lies
    std::uint64_t left = 64 * std::uint64_t{h.degree}, number = 0;
    for (std::size_t k = 0; k < families.size(); ++k) {
      sets.emplace_back();
      Group image;
      if (families[k].object().size() != 1) throw Malformed("an action is on points or on sets");
      if (const Json* points = families[k].find("points")) {
        const Set list = read_points(*points, h.degree, left);
        for (const Vertex x : list) single[x] = true;
        if (h.degree <= most_looked_at) {
          for (const Vertex x : list) sets.back().push_back({x});  // confirm_injective may ask for them
        }
        number += list.size();
        image = act_on_points(h, list);
      } else {
        for (const Json& runs : families[k]["sets"].array()) {
          sets.back().push_back(read_points(runs, h.degree, left));
          for (const Vertex x : sets.back().back()) inside[x].push_back(number + sets.back().size());
        }
        number += sets.back().size();
        image = {static_cast<Vertex>(sets.back().size()), {}, act(listed(h), sets.back())};
      }
      if (number > h.degree) fail("families have more sets than there are points");
      for (std::string& factor : prove(image, proofs[k])) factors.push_back(std::move(factor));
    }
    // Points of one orbit that lie in different sets: who fixes all sets fixes all points of it.
    const std::vector<Vertex> orbit = orbits(h);
    std::set<std::pair<Vertex, std::vector<std::uint64_t>>> seen;
    Set together;  // orbits of which that is not so
    for (Vertex x = 0; x < h.degree; ++x) {
      if (!single[x] && !seen.emplace(orbit[x], inside[x]).second && (together.empty() || together.back() != orbit[x])) together.push_back(orbit[x]);
    }
    std::sort(together.begin(), together.end());
    together.erase(std::unique(together.begin(), together.end()), together.end());
    if (!together.empty() && !move_with_others(h, orbit, together)) confirm_injective(h, sets);
    return factors;
  }
  /// Does each of these orbits, named by their least points, go with one of the others: is there a map of that one onto it which all generators
  /// keep? Then who fixes all points of the others fixes theirs.
  bool move_with_others(const Group& h, const Set& orbit, const Set& together) const {
    if (h.degree > most_looked_at) return false;
    const std::vector<Permutation> list = listed(h);
    std::vector<Set> moved_by(h.degree);
    for (Vertex k = 0; k < list.size(); ++k) {
      for (const auto& [x, ignored] : list[k].moves()) moved_by[x].push_back(k);
    }
    std::map<Set, Set> others;  // by what moves them
    for (Vertex x = 0; x < h.degree; ++x) {
      Set& alike = others[moved_by[x]];
      if (alike.size() < most_starts && !std::binary_search(together.begin(), together.end(), orbit[x])) alike.push_back(x);
    }
    return std::all_of(together.begin(), together.end(), [&](Vertex x) {
      const Set& starts = others[moved_by[x]];
      return std::any_of(starts.begin(), starts.end(), [&](Vertex from) { return goes_with(list, moved_by, from, x); });
    });
  }
  /// Is there a map of the orbit of `from`, which takes it to `to`, that all generators keep?
  static bool goes_with(const std::vector<Permutation>& list, const std::vector<Set>& moved_by, Vertex from, Vertex to) {
    std::map<Vertex, Vertex> image{{from, to}};
    Set reached{from};
    for (std::size_t head = 0; head < reached.size(); ++head) {
      const Vertex x = reached[head], y = image.at(x);
      if (moved_by[x] != moved_by[y]) return false;  // the others fix both
      for (const Vertex k : moved_by[x]) {
        const auto [found, fresh] = image.try_emplace(list[k](x), list[k](y));
        if (!fresh && found->second != list[k](y)) return false;
        if (fresh) reached.push_back(found->first);
      }
    }
    return true;
  }
  /// The group and what it does on all families together have one order.
  void confirm_injective(const Group& h, const std::vector<std::vector<Set>>& families) const {
    if (h.degree > most_looked_at) fail("an action does not tell points apart");
    const std::vector<Permutation> list = listed(h);
    std::vector<std::vector<std::pair<Vertex, Vertex>>> moves(list.size());
    Vertex start = 0;
    for (const std::vector<Set>& sets : families) {
      const std::vector<Permutation> images = act(list, sets);
      for (std::size_t k = 0; k < list.size(); ++k) {
        for (const auto& [x, y] : images[k].moves()) moves[k].emplace_back(start + x, start + y);
      }
      start += static_cast<Vertex>(sets.size());
    }
    Group image{start, {}, {}};
    for (auto& of : moves) image.generators.emplace_back(std::move(of));
    if (!same_order(Chain(h).order(), Chain(image).order())) fail("an action loses elements");
  }

  FactorNames blocks(const Group& h, const Json& proof) const {
    if (proof["proofs"].size() != 1) throw Malformed("blocks have one proof for what goes on inside");
    std::vector<Set> members;
    std::vector<std::uint64_t> block(h.degree, 0);  // one more than the number of the block
    std::vector<Vertex> position(h.degree, 0);
    std::uint64_t left = h.degree;
    for (const Json& runs : proof["blocks"].array()) {
      members.push_back(read_points(runs, h.degree, left));
      if (members.back().size() != members[0].size()) fail("blocks differ in size");
      for (std::size_t k = 0; k < members.back().size(); ++k) {
        if (block[members.back()[k]] != 0) fail("blocks meet");
        block[members.back()[k]] = members.size();
        position[members.back()[k]] = static_cast<Vertex>(k);
      }
    }
    if (left != 0 || members.size() < 2) fail("blocks leave points out");
    const auto size = static_cast<Vertex>(members[0].size());
    Group inside{size, {}, {}};
    // Sym(C) and Sym(D) generate Sym(C + D) where they meet.
    std::vector<Vertex> tied(size);
    std::iota(tied.begin(), tied.end(), Vertex{0});
    const auto find = [&](Vertex x) {
      for (; tied[x] != x; x = tied[x]) tied[x] = tied[tied[x]];
      return x;
    };
    for (const Set& of : h.classes) {
      for (const Vertex x : of) {
        if (block[x] != block[of[0]]) fail("a class leaves its block");
        const Vertex a = find(position[of[0]]), b = find(position[x]);
        tied[std::max(a, b)] = std::min(a, b);
      }
    }
    std::map<Vertex, Set> classes;
    for (Vertex x = 0; x < size; ++x) classes[find(x)].push_back(x);
    for (auto& [ignored, points] : classes) {
      if (points.size() > 1) inside.classes.push_back(std::move(points));
    }
    std::set<std::vector<std::pair<Vertex, Vertex>>> local;
    for (const Permutation& g : h.generators) {
      std::vector<bool> done(members.size(), false);
      for (const auto& [moved, ignored] : g.moves()) {
        const std::uint64_t b = block[moved] - 1;
        if (done[b]) continue;
        done[b] = true;
        std::vector<std::pair<Vertex, Vertex>> moves;
        for (Vertex k = 0; k < size; ++k) {
          const Vertex y = g(members[b][k]);
          if (block[y] != block[g(members[b][0])]) fail("a generator tears a block");
          if (position[y] != k) moves.emplace_back(k, position[y]);
        }
        if (!moves.empty()) local.insert(std::move(moves));
      }
    }
    for (const auto& moves : local) inside.generators.emplace_back(moves);
    return {wreath(prove(inside, proof["proofs"][0]), members.size())};
  }

  const std::string& claim_;
};

}  // namespace

void check_name(const Json& name, const Group& group, const Order& order, const Json& evidence, const std::string& claim) {
  if (!evidence.is_object() || evidence.find("name") == nullptr) throw Rejected(claim, "nothing is shown for the name");
  const bool plain = name.is_null() || name.is("trivial");
  if (!(evidence["name"] == name)) throw Rejected(claim, "claimed " + print(name) + ", shown " + print(evidence["name"]));
  if (evidence.object().size() != (plain ? 1 : 2)) throw Rejected(claim, "a name other than \"trivial\" has a proof, and nothing else has");
  if (name.is("trivial") && order.factored() != "1") throw Rejected(claim, "a group of order " + order.factored() + " is called trivial");
  if (plain) return;
  const auto [factors, promised] = NameReader(name.string(), claim).read();
  if (!same_order(promised, order)) throw Rejected(claim, "\"" + name.string() + "\" has another order than " + order.factored());
  const FactorNames shown = NameProver(claim).prove(group, evidence["proof"]);
  if (shown != factors) throw Rejected(claim, "the proof is one of " + join(shown));
}

}  // namespace checker

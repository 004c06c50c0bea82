#include "labels.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace checker {
namespace {

using Word = std::uint32_t;

/// What a row reveals of mu(k, o, s), the number of vertices read with matrix colour k, relative colour o and label s (theory 15.4 L1-L6; docs 16.5 a).
enum class Rule { multiset, frequency, learned, rotary, alibi, set, whole };

std::string scheme_of(const Json& mixer) { return mixer["relative"].is_object() ? mixer["relative"]["kind"].string() : mixer["relative"].string(); }
bool exact_rows(const Json& mixer) { return mixer["sink"].boolean() || mixer["eps"].number() > 0; }

Rule rule_of(const Json& mixer, bool plain, bool softmax) {
  const std::string &kind = mixer["kind"].string(), scheme = scheme_of(mixer);
  if (kind == "max") return Rule::set;
  if (kind == "linformer") return Rule::whole;
  const bool attention = kind == "attention";
  if ((!attention && kind != "mean") || (attention && !mixer["normalised"].boolean()) || exact_rows(mixer)) return Rule::multiset;
  if (!attention || scheme == "none") return plain ? Rule::frequency : Rule::learned;
  if (!softmax || scheme == "rotary") return Rule::rotary;  // factors cancel because exp turns a bias into one (15.8 l)
  return scheme == "alibi" ? Rule::alibi : Rule::learned;
}

/// Numbers for sequences of words: equal sequences, compared word by word, get the same number; 0, 1, 2, ... as they come.
class Numbers {
public:
  Word number(const std::vector<Word>& words) {
    if (2 * (begin_.size() - 1) >= slots_.size()) grow();
    std::size_t slot = hash(words.data(), words.size());
    for (; slots_[slot] != 0; slot = (slot + 1) & (slots_.size() - 1)) {
      const std::size_t k = slots_[slot] - 1;
      if (begin_[k + 1] - begin_[k] == words.size() && std::equal(words.begin(), words.end(), words_.begin() + static_cast<std::ptrdiff_t>(begin_[k]))) return static_cast<Word>(k);
    }
    words_.insert(words_.end(), words.begin(), words.end());
    begin_.push_back(words_.size());
    return (slots_[slot] = static_cast<Word>(begin_.size() - 1)) - 1;
  }
  [[nodiscard]] std::size_t count() const { return begin_.size() - 1; }

private:
  [[nodiscard]] std::size_t hash(const Word* words, std::size_t size) const {
    std::uint64_t h = 0x9e3779b97f4a7c15u ^ size;
    for (std::size_t k = 0; k < size; ++k) h = (h ^ words[k]) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    return h & (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(2 * slots_.size(), 0);
    for (std::size_t k = 0; k < count(); ++k) {
      std::size_t slot = hash(words_.data() + begin_[k], begin_[k + 1] - begin_[k]);
      while (slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
      slots_[slot] = static_cast<Word>(k + 1);
    }
  }
  std::vector<Word> words_, slots_ = std::vector<Word>(1024, 0);
  std::vector<std::size_t> begin_{0};
};

/// Polynomials in z modulo the prime p. Those of a row have coefficients >= 0 that add up to its length < 2^15, so the coefficients of a difference of
/// two products are below 2^30 < p: products are equal exactly when they are equal modulo p.
using Polynomial = std::vector<std::uint64_t>;
constexpr std::uint64_t p = 2147483647;

void trim(Polynomial& a) {
  while (!a.empty() && a.back() == 0) a.pop_back();
}
std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t result = 1;
  for (std::uint64_t e = p - 2; e != 0; e >>= 1, a = a * a % p) result = e & 1 ? result * a % p : result;
  return result;
}
Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product(a.empty() || b.empty() ? 0 : a.size() + b.size() - 1, 0);
  for (std::size_t i = 0; i < a.size() && !b.empty(); ++i) {
    for (std::size_t j = 0; j < b.size(); ++j) product[i + j] = (product[i + j] + a[i] * b[j]) % p;
  }
  return product;
}
/// Leaves the remainder in a, returns the quotient.
Polynomial divide(Polynomial& a, const Polynomial& by) {
  Polynomial quotient(a.size() < by.size() ? 0 : a.size() - by.size() + 1, 0);
  const std::uint64_t lead = inverse(by.back());
  for (std::size_t k = quotient.size(); k-- > 0;) {
    const std::uint64_t q = quotient[k] = a[k + by.size() - 1] * lead % p;
    for (std::size_t j = 0; j < by.size() && q != 0; ++j) a[k + j] = (a[k + j] + (p - q) * by[j]) % p;
  }
  trim(a);
  return quotient;
}

struct Entry {
  Word state = 0, matrix = 0, relative = 0;  // matrix and relative colour; 0: factor divided out
  std::uint64_t count = 0;
};

/// If the polynomials A_s = sum mu w_k u_o have a common factor in the w (matrix), the u (relative) or both, divides by it: they have one exactly when the
/// groups of one such monomial are proportional as vectors over all the rest; any one of them is the quotient, up to a number.
bool cancel(std::vector<Entry>& row, bool matrix, bool relative) {
  const auto group = [&](const Entry& e) { return std::pair(matrix ? e.matrix : 0, relative ? e.relative : 0); };
  const auto rest = [&](const Entry& e) { return std::tuple(e.state, matrix ? 0 : e.matrix, relative ? 0 : e.relative); };
  std::sort(row.begin(), row.end(), [&](const Entry& a, const Entry& b) { return std::pair(group(a), rest(a)) < std::pair(group(b), rest(b)); });
  std::size_t size = 1;
  while (size < row.size() && group(row[size]) == group(row[0])) ++size;
  if (row.size() % size != 0) return false;
  for (std::size_t k = size; k < row.size(); ++k) {
    const Entry &first = row[k - k % size], &same = row[k % size];
    if (group(row[k]) != group(first) || rest(row[k]) != rest(same) || row[k].count * row[0].count != first.count * same.count) return false;
  }
  row.resize(size);
  for (Entry& e : row) e.matrix = matrix ? 0 : e.matrix, e.relative = relative ? 0 : e.relative;
  return true;
}

/// ALiBi: A_s = sum mu w_k z^distance up to a common factor. With e = A / gcd over the rationals, e modulo p divided by its own gcd modulo p depends on e
/// alone, so proportional families give the same words; and equal words make all products A_s B_t, A_t B_s equal modulo p, hence equal.
void append_polynomials(const std::vector<Entry>& row, std::vector<Word>& words) {
  std::map<std::pair<Word, Word>, Polynomial> family;  // by matrix colour and state
  std::set<Word> states, matrices;
  for (const Entry& e : row) {
    Polynomial& a = family[{e.matrix, e.state}];
    if (a.size() <= e.relative) a.resize(e.relative + 1, 0);
    a[e.relative] += e.count;
    states.insert(e.state), matrices.insert(e.matrix);
  }
  // A common factor in the w: all lines of the matrix are proportional to the first.
  const auto [first, pivot] = family.begin()->first;
  const auto at = [&](Word matrix, Word state) { return family.contains({matrix, state}) ? family[{matrix, state}] : Polynomial{}; };
  bool rank_one = true;
  for (const Word m : matrices) {
    for (const Word s : states) rank_one = rank_one && (m == first || multiply(at(m, s), at(first, pivot)) == multiply(at(m, pivot), at(first, s)));
  }
  if (rank_one) std::erase_if(family, [first = first](const auto& entry) { return entry.first.first != first; });
  Polynomial g;
  for (const auto& [key, a] : family) {
    Polynomial b = a;
    while (!g.empty()) divide(b, g), std::swap(b, g);
    g = std::move(b);
  }
  words.push_back(3);
  std::uint64_t scale = 0;
  for (auto& [key, a] : family) {
    const Polynomial quotient = divide(a, g);
    if (scale == 0) scale = inverse(quotient.back());
    words.insert(words.end(), {rank_one ? 0 : key.first, key.second, static_cast<Word>(quotient.size())});
    for (const std::uint64_t x : quotient) words.push_back(static_cast<Word>(x * scale % p));
  }
}

struct Arc {
  Vertex read = 0;
  Word matrix = 0, relative = 0;
};

/// The words of a row: equal words = equal row labels.
void write_row(Rule rule, const std::vector<Arc>& arcs, const Word* state, std::vector<Word>& words) {
  words.assign(1, 0);
  if (arcs.empty()) return;
  words[0] = rule == Rule::whole ? 4 : 2;
  if (rule == Rule::whole) {
    for (const Arc& arc : arcs) words.insert(words.end(), {arc.read, state[arc.read]});
    return;
  }
  std::vector<Entry> row;
  for (const Arc& arc : arcs) row.push_back({state[arc.read], arc.matrix, arc.relative, 1});
  const auto key = [](const Entry& e) { return std::tuple(e.state, e.matrix, e.relative); };
  const auto before = [&](const Entry& a, const Entry& b) { return key(a) < key(b); };
  std::sort(row.begin(), row.end(), before);
  std::size_t kept = 0;
  for (std::size_t k = 1; k < row.size(); ++k) {
    if (key(row[k]) == key(row[kept])) ++row[kept].count;
    else row[++kept] = row[k];
  }
  row.resize(kept + 1);
  if (rule != Rule::multiset && rule != Rule::set) {
    if (row.front().state == row.back().state) {
      words = {1, row.front().state};
      return;
    }
    if (rule == Rule::alibi) return append_polynomials(row, words);
    const bool no_matrix = cancel(row, true, false), no_relative = rule != Rule::rotary && cancel(row, false, true);
    if (rule != Rule::rotary && !no_matrix && !no_relative) cancel(row, true, true);
    std::uint64_t content = 0;
    for (const Entry& e : row) content = std::gcd(content, e.count);
    for (Entry& e : row) e.count /= content;
    std::sort(row.begin(), row.end(), before);
  }
  for (const Entry& e : row) words.insert(words.end(), {e.state, e.matrix, e.relative, rule == Rule::set ? 1 : static_cast<Word>(e.count)});
}

/// The rows of one relation, unpacked, with small numbers for its colours.
std::vector<std::vector<Arc>> unpack(const Relation& relation, Rule rule) {
  std::vector<std::vector<Arc>> rows(relation.pattern->vertices);
  std::map<std::int64_t, Word> matrix_number, relative_number;
  std::vector<Run> runs;
  const std::int64_t relatives = relation.relative_count();
  for (Vertex i = 0; i < rows.size(); ++i) {
    relation.raw_row(i, runs);
    for (const Run& run : runs) {
      for (Vertex k = 0; k < run.size(); ++k) {
        const std::int64_t raw = run.colour - 1 + run.colour_step * k, relative = raw % relatives;
        Arc arc{run.first + k * run.step, matrix_number.try_emplace(raw / relatives, matrix_number.size() + 1).first->second, 0};
        if (rule == Rule::alibi) arc.relative = static_cast<Word>(std::max<std::int64_t>(relative, 1) - 1);  // the exponent of z; 0 where a register is touched
        else if (rule != Rule::frequency) arc.relative = relative_number.try_emplace(relative, relative_number.size() + 1).first->second;
        rows[i].push_back(arc);
      }
    }
    if (rows[i].size() >> 15 != 0) throw Rejected("limit", "rows of more than 32,767 arcs on enumerated ids");
  }
  return rows;
}

/// Do first, first + step, .. (count numbers) of both progressions (steps >= 1) share a number? By Euclid.
struct Progression {
  std::int64_t first = 0, step = 1, last = 0;
};
bool share_a_number(const Progression& a, const Progression& b) {
  std::int64_t g = a.step, rest = b.step, u = 1, v = 0;  // u a.step = g modulo b.step
  while (rest != 0) {
    const std::int64_t q = g / rest;
    g = std::exchange(rest, g - q * rest), u = std::exchange(v, u - q * v);
  }
  if ((b.first - a.first) % g != 0) return false;
  const std::int64_t modulus = b.step / g, period = a.step * modulus, low = std::max(a.first, b.first);
  const auto wrap = [&](std::int64_t x) { return (x % modulus + modulus) % modulus; };
  std::int64_t common = a.first + a.step * (wrap((b.first - a.first) / g) * wrap(u) % modulus);
  if (common < low) common += (low - common + period - 1) / period * period;
  return common <= std::min(a.last, b.last);
}

bool colours_differ(const std::vector<Run>& row) {
  std::set<std::int64_t> single;
  std::vector<Progression> several;
  for (const Run& run : row) {
    const std::int64_t last = run.colour + run.colour_step * (run.size() - 1);
    if (run.size() == 1 ? !single.insert(run.colour).second : run.colour_step == 0) return false;
    if (run.size() > 1) several.push_back({std::min(run.colour, last), std::abs(run.colour_step), std::max(run.colour, last)});
  }
  for (std::size_t k = 0; k < several.size(); ++k) {
    for (std::size_t l = 0; l < k; ++l) {
      if (share_a_number(several[k], several[l])) return false;
    }
    for (auto c = single.lower_bound(several[k].first); c != single.end() && *c <= several[k].last; ++c) {
      if ((*c - several[k].first) % several[k].step == 0) return false;
    }
  }
  return true;
}

bool reads(const std::vector<Run>& row, Vertex j) {
  return std::any_of(row.begin(), row.end(), [&](const Run& run) { return j >= run.first && j <= run.last && (j - run.first) % run.step == 0; });
}

/// One head: its rows, what they reveal, its positions.
struct Head {
  std::uint32_t relation = 0;
  Rule rule = Rule::multiset;
  std::string scheme;
  RowFacts rows;
};

struct Stack {
  explicit Stack(const IdQuestion& question) : q(question), a(*q.architecture), layout(*q.layout), bos(a["input"]["bos"].boolean()), n(layout.tokens) {
    std::map<std::uint32_t, RowFacts> facts;
    const Json::Array& specs = a["layer"].array();
    if (specs.size() != q.mixers.size()) throw Malformed("/architecture/layer: facts of another list of layers");
    for (std::size_t k = 0; k < specs.size(); ++k) {
      const Json& mixer = specs[k]["mixer"];
      layers.emplace_back();
      for (const std::uint32_t r : layout.layer(order.size() + 1)) {
        if (!facts.contains(r)) facts[r] = row_facts(layout.relations[r], layout.tokens);
        const Rule rule = rule_of(mixer, facts[r].plain, q.mixers[k].softmax);
        const auto same = [&](const Head& head) { return head.relation == r && head.rule == rule && head.scheme == scheme_of(mixer); };
        const auto found = std::find_if(heads.begin(), heads.end(), same);
        layers.back().push_back(static_cast<std::uint32_t>(found - heads.begin()));
        if (found == heads.end()) heads.push_back({r, rule, scheme_of(mixer), facts[r]});
      }
      order.insert(order.end(), specs[k]["repeat"].natural(layout.order.size() - order.size()), static_cast<std::uint32_t>(k));
    }
  }
  template <class Fact> [[nodiscard]] bool every(Fact fact) const { return std::all_of(heads.begin(), heads.end(), fact); }
  [[nodiscard]] bool every(bool RowFacts::*fact) const { return every([&](const Head& head) { return head.rows.*fact; }); }
  [[nodiscard]] bool every(Rule rule) const { return every([&](const Head& head) { return head.rule == rule; }); }
  [[nodiscard]] const std::vector<std::uint32_t>& layer(std::uint64_t depth) const { return layers[order[(depth - 1) % order.size()]]; }
  /// Depth at which `count` layers that mix have been passed.
  [[nodiscard]] std::uint64_t after_mixing(std::uint64_t count) const {
    std::uint64_t depth = 0;
    while (count > 0) count -= layer(++depth).empty() ? 0 : 1;
    return depth;
  }
  [[nodiscard]] const Layout* seen() const { return q.seen == nullptr ? q.layout : q.seen; }
  [[nodiscard]] bool positions() const { return !a["input"]["positions"].is("none"); }
  [[nodiscard]] bool registers() const { return a["input"]["registers"].size() > 0; }
  [[nodiscard]] std::optional<std::uint64_t> vocabulary() const {
    const Json& value = a["input"]["vocabulary"];
    return value.is_null() ? std::nullopt : std::optional(value.natural());
  }
  [[nodiscard]] bool target_is_layout() const { return q.target == &q.layout_group->group; }

  const IdQuestion& q;
  const Json& a;
  const Layout& layout;
  bool bos;
  std::uint64_t n;
  std::vector<Head> heads;
  std::vector<std::vector<std::uint32_t>> layers;  // heads of each [[layer]]
  std::vector<std::uint32_t> order;                // its number, for each layer of the list written out
};

const Json* find_shown(const IdQuestion& q, std::string_view name) {
  return q.evidence == nullptr || q.evidence->is_null() ? nullptr : q.evidence->find(name);
}

/// All labels of all id sequences, depth by depth, and which labelled inputs the target must treat alike (docs theory 16.7).
class Enumeration {
public:
  Enumeration(const Stack& stack, std::uint64_t vocabulary)
      : stack_(stack), tokens_(stack.layout.tokens), vertices_(stack.layout.vertices()), first_(stack.bos ? 1 : 0), vocabulary_(vocabulary), weight_(tokens_, 0) {
    for (Vertex token = tokens_; token-- > first_; count_ *= vocabulary_) weight_[token] = count_;
    for (const Head& head : stack.heads) rows_.push_back(unpack(stack.layout.relations[head.relation], head.rule));
    std::uint64_t arcs = 0;
    for (const auto& rows : rows_) arcs = std::accumulate(rows.begin(), rows.end(), arcs, [](std::uint64_t sum, const auto& row) { return sum + row.size(); });
    if (count_ * vertices_ >> 26 != 0 || (arcs > 0 && count_ > (std::uint64_t{1} << 36) / arcs)) throw Rejected("limit", "too many labels of id sequences");
    Numbers numbers;
    for (std::uint64_t k = 0; k < count_; ++k) {
      for (Vertex v = 0; v < vertices_; ++v) {
        const std::uint64_t colour = v >= tokens_ || stack.positions() ? stack.layout.vertex_colour[v] : 0;
        state_.push_back(numbers.number({v < tokens_ ? 1 + id(k, v) : 0, static_cast<Word>(colour), static_cast<Word>(colour >> 32)}));
      }
    }
    labels_ = numbers.count();
    make_targets();
  }

  void decide(IdLayers& result) {
    std::vector<bool> idle(stack_.layers.size(), false);  // layers that leave the present partition as it is
    std::vector<Word> below;
    bool collides = has_collision();
    std::uint64_t m = 0;
    for (;; ++m) {
      if (!collides && !result.layers) {
        result.layers = m;
        if (m > 0) result.below = confirm("below", below);
      }
      if (collides && stack_.q.given == m) result.at_given = confirm("at_given", state_);
      if (labels_ == state_.size() || std::all_of(idle.begin(), idle.end(), [](bool b) { return b; })) break;
      const std::uint32_t layer = stack_.order[m % stack_.order.size()];
      below = apply(layer);
      if (labels_ != distinct_before_) idle.assign(idle.size(), false), collides = collides && has_collision();
      else idle[layer] = true;
    }
    result.never = collides;
    if (collides) result.below = confirm("below", state_);
    if (collides && (!stack_.q.given || *stack_.q.given > m)) result.at_given = confirm("at_given", state_);
    result.distinct_targets = distinct_targets_;
  }

private:
  [[nodiscard]] Word id(std::uint64_t k, Vertex token) const { return static_cast<Word>(token < first_ ? vocabulary_ : k / weight_[token] % vocabulary_); }

  Word find(Word x) {
    while (target_[x] != x) x = target_[x] = target_[target_[x]];
    return x;
  }
  void unite(std::uint64_t x, std::uint64_t y) {
    const Word a = find(static_cast<Word>(x)), b = find(static_cast<Word>(y));
    target_[std::max(a, b)] = std::min(a, b);
  }

  void make_targets() {
    target_.resize(count_ * tokens_);
    std::iota(target_.begin(), target_.end(), 0);
    for (Vertex a = 0; a < tokens_ && stack_.q.kind != ClassKind::all; ++a) {
      std::vector<bool> counts(vertices_, false);
      std::vector<Vertex> open{a};
      counts[a] = true;
      if (stack_.q.kind == ClassKind::causal) std::fill(counts.begin(), counts.begin() + a, true);
      while (stack_.q.kind == ClassKind::seen && !open.empty()) {  // every path of the union of all layers gets its turn
        const Vertex i = open.back();
        open.pop_back();
        for (const auto& rows : rows_) {
          for (const Arc& arc : rows[i]) {
            if (!counts[arc.read]) open.push_back(arc.read);
            counts[arc.read] = true;
          }
        }
      }
      for (std::uint64_t k = 0; k < count_; ++k) {
        std::uint64_t same = k;
        for (Vertex j = first_; j < tokens_; ++j) same -= counts[j] ? 0 : weight_[j] * id(k, j);
        if (same != k) unite(same * tokens_ + a, k * tokens_ + a);
      }
    }
    for (const Permutation& g : list_generators(*stack_.q.target, ~std::size_t{0})) {
      if (stack_.bos && g(0) != 0) throw Rejected("target", "a symmetry moves the BOS");
      for (std::uint64_t k = 0; k < count_; ++k) {
        std::uint64_t moved = 0;
        for (Vertex j = first_; j < tokens_; ++j) moved += weight_[g(j)] * id(k, j);
        for (Vertex a = 0; a < tokens_; ++a) unite(moved * tokens_ + g(a), k * tokens_ + a);
      }
    }
    for (Word x = 0; x < target_.size(); ++x) distinct_targets_ += (target_[x] = find(x)) == x;
  }

  [[nodiscard]] bool has_collision() const {
    constexpr Word none = ~Word{0};
    std::vector<Word> target_of(labels_, none);
    for (std::uint64_t x = 0; x < target_.size(); ++x) {
      Word& target = target_of[state_[x / tokens_ * vertices_ + x % tokens_]];
      if (target != none && target != target_[x]) return true;
      target = target_[x];
    }
    return false;
  }

  /// One layer; returns the labels of the layer below.
  std::vector<Word> apply(std::uint32_t layer) {
    const std::vector<std::uint32_t>& heads = stack_.layers[layer];
    std::vector<Numbers> row_numbers(heads.size());
    Numbers numbers;
    std::vector<Word> words, label;
    std::vector<Word> old = state_;
    for (std::uint64_t x = 0; x < old.size(); ++x) {
      label.assign(1, old[x]);
      for (std::size_t h = 0; h < heads.size(); ++h) {
        write_row(stack_.heads[heads[h]].rule, rows_[heads[h]][x % vertices_], old.data() + x / vertices_ * vertices_, words);
        label.push_back(row_numbers[h].number(words));
      }
      state_[x] = numbers.number(label);
    }
    distinct_before_ = std::exchange(labels_, numbers.count());
    return old;
  }

  /// The collision that the evidence gives: one label, two targets.
  [[nodiscard]] std::optional<IdCollision> confirm(const char* name, const std::vector<Word>& state) const {
    if (!stack_.q.witnesses) return std::nullopt;
    const std::string claim = std::string("/evidence/ids/") + name;
    const Json* shown = find_shown(stack_.q, name);
    if (shown == nullptr) throw Rejected(claim, "two inputs of one label and different targets exist, and none are shown");
    const std::uint64_t bos = stack_.vocabulary().value_or(vocabulary_);
    const auto read = [&](const char* key, std::vector<std::uint32_t>& ids) {
      std::uint64_t k = 0;
      if ((*shown)[key].size() != tokens_) throw Rejected(claim, "an id for every token is expected");
      for (Vertex token = 0; token < tokens_; ++token) {
        const std::uint64_t value = (*shown)[key][token].natural();
        if (token < first_ ? value != bos : value >= vocabulary_) throw Rejected(claim, "no such id at token " + std::to_string(token));
        ids.push_back(static_cast<std::uint32_t>(value));
        k += weight_[token] * value;
      }
      return k;
    };
    IdCollision c;
    const std::uint64_t x = read("x", c.x), y = read("y", c.y);
    c.a = static_cast<Vertex>((*shown)["a"].natural(tokens_ - 1)), c.b = static_cast<Vertex>((*shown)["b"].natural(tokens_ - 1));
    if (state[x * vertices_ + c.a] != state[y * vertices_ + c.b]) throw Rejected(claim, "the labels differ");
    if (target_[x * tokens_ + c.a] == target_[y * tokens_ + c.b]) throw Rejected(claim, "no target tells these inputs apart");
    return c;
  }

  const Stack& stack_;
  Vertex tokens_, vertices_, first_;
  std::uint64_t vocabulary_, count_ = 1;
  std::vector<std::uint64_t> weight_;                // per token: what one more in its id adds to the number of a sequence
  std::vector<std::vector<std::vector<Arc>>> rows_;  // per head
  std::vector<Word> state_, target_;                 // per sequence and vertex; per sequence and token
  std::size_t labels_ = 0, distinct_before_ = 0;
  std::uint64_t distinct_targets_ = 0;
};

IdLayers found(std::optional<std::uint64_t> layers, std::string rule, std::vector<std::string> premises = {}) {
  IdLayers result;
  result.layers = layers;
  result.never = !layers;
  result.rule = std::move(rule);
  result.premises = std::move(premises);
  return result;
}

std::string reach_premise(std::uint64_t reach) { return "layers until every token sees what it needs: " + std::to_string(reach); }

/// Does G exchange the ordinary tokens freely?
bool target_is_symmetric(const Stack& stack) {
  const Chain chain(*stack.q.target);
  for (Vertex i = stack.bos ? 1 : 0; i + 1 < stack.n; ++i) {
    if (!chain.contains(Permutation({{i, i + 1}, {i + 1, i}}))) return false;
  }
  return true;
}

/// Constant sequences keep one label for ever (15.8 c).
std::optional<IdLayers> constants(const Stack& stack) {
  const auto averages = [](const Json& layer) {
    const Json& m = layer["mixer"];
    return m["kind"].is("tokenwise") || (((m["kind"].is("attention") && m["normalised"].boolean()) || m["kind"].is("mean") || m["kind"].is("max")) && !exact_rows(m));
  };
  const Json::Array& specs = stack.a["layer"].array();
  const std::vector<Vertex> orbit = orbits(*stack.q.target);
  const auto other = std::find_if(orbit.begin(), orbit.end(), [](Vertex least) { return least != 0; });
  if (stack.n < 2 || stack.bos || stack.positions() || stack.registers() || !std::all_of(specs.begin(), specs.end(), averages) || !stack.every(&RowFacts::nonempty) ||
      other == orbit.end()) {
    return std::nullopt;
  }
  const bool causal = stack.every(&RowFacts::causal);
  IdLayers result = found(std::nullopt, causal ? "constant-prefixes" : "constant-sequences");
  result.floor = causal && std::count(orbit.begin(), orbit.end(), 0u) == 1 ? IdFloor::constant_prefixes : IdFloor::constant_sequences;
  const std::vector<std::uint32_t> zeros(stack.n, 0);
  result.at_given = result.below = IdCollision{zeros, zeros, 0, static_cast<Vertex>(other - orbit.begin())};
  return result;
}

/// D1; sums of raw id + position need one layer more where a row has two ordinary tokens besides the reader (15.8 h).
IdLayers absolute(const Stack& stack, std::uint64_t reach) {
  IdLayers result = found(reach, "absolute-positions", {reach_premise(reach)});
  result.only_necessary = stack.every(Rule::set);
  const Json &norm = stack.a["layer"][0]["norm"], &before = stack.a["input"]["norm"];
  const bool normed = (!before.is_null() && !before["kind"].is("none")) || (!norm["kind"].is("none") && (norm["place"].is("pre") || norm["place"].is("sandwich")));
  if (!stack.q.mixers.front().additive_only || normed || reach == 0) return result;
  std::vector<Run> row;
  for (const std::uint32_t r : stack.seen()->layer(1)) {
    for (Vertex i = 0; i < stack.n && result.layers == reach; ++i) {
      stack.layout.relations[r].pattern->row(i, row);
      std::uint64_t ordinary = 0;
      for (const Run& run : row) ordinary += run.first < stack.n ? (std::min<Vertex>(run.last, stack.layout.tokens - 1) - run.first) / run.step + 1 : 0;
      if (ordinary - reads(row, i) - (stack.bos && i != 0 && reads(row, 0)) < 2) continue;
      result.layers = reach + 1;
      result.rule = "additive-positions";
    }
  }
  return result;
}

std::optional<IdLayers> labels(const Stack& stack) {
  const std::uint64_t ordinary = stack.n - (stack.bos ? 1 : 0), vocabulary = std::max<std::uint64_t>(2, std::min(stack.vocabulary().value_or(ordinary), ordinary));
  std::uint64_t inputs = stack.n;
  for (std::uint64_t k = 0; k < ordinary && inputs <= 1000000; ++k) inputs *= vocabulary;
  if (inputs > 1000000) return std::nullopt;
  IdLayers result;
  Enumeration(stack, vocabulary).decide(result);
  result.rule = "labels";
  result.premises = {"ids: " + std::to_string(vocabulary), "tokens: " + std::to_string(stack.n),
                     result.never ? "some inputs that the target tells apart keep one label at every depth"
                                  : "layers that tell apart what the target tells apart: " + std::to_string(*result.layers)};
  if (stack.vocabulary() != vocabulary) result.distinct_targets.reset();  // fewer ids show collisions, not how many targets there are
  result.only_necessary = stack.every([](const Head& head) { return head.rule != Rule::set; }) == false;
  const bool too_shallow = stack.q.given && result.layers && *stack.q.given < *result.layers;
  if (result.never || too_shallow) result.floor = IdFloor::collision;
  if (stack.every(Rule::whole)) result.floor = IdFloor::linformer;
  if (stack.every(Rule::set) && stack.every(&RowFacts::full) && !stack.bos && stack.n == 3 && stack.vocabulary() == 2u) result.floor = IdFloor::max_of_three;
  return result;
}

/// Trained Linformer without positions: one layer shows the whole input, and equal ids of one input stay equal (15.4, 15.8 c).
std::optional<IdLayers> linformer(const Stack& stack) {
  if (stack.heads.empty() || !stack.every(Rule::whole) || stack.registers()) return std::nullopt;
  if (target_is_symmetric(stack)) return found(stack.after_mixing(stack.n > 1 ? 1 : 0), "linformer-ids", {"the target does not ask where an id stands"});
  const std::vector<Vertex> orbit = orbits(*stack.q.target);
  const auto first = orbit.begin() + (stack.bos ? 1 : 0);
  if (std::all_of(first, orbit.end(), [&](Vertex least) { return least == *first; })) return std::nullopt;
  IdLayers result = found(std::nullopt, "linformer-ids", {"the target asks where an id stands"});
  result.floor = IdFloor::linformer;
  return result;
}

/// D4, Theorem BOS (for the rows of one head, 15.8 k); exact counts with offsets (docs 16.4).
std::optional<IdLayers> injective(const Stack& stack, std::uint64_t reach) {
  const auto one_head = [](const auto& layer) { return layer.size() == 1; };
  if (!stack.every(&RowFacts::loops) || !stack.every(&RowFacts::injective) || stack.registers() || !std::all_of(stack.layers.begin(), stack.layers.end(), one_head)) return std::nullopt;
  if (!stack.bos) {
    const bool exact = stack.every([](const Head& head) { return head.rule == Rule::multiset && head.scheme != "none"; });
    return exact && stack.q.kind != ClassKind::seen ? std::optional(found(reach, "exact-counts")) : std::nullopt;
  }
  // The least depth at which at most one token lacks the BOS; then all labels differ.
  const Group nobody{stack.layout.tokens, {}, {}};
  const ViewQuestion own{stack.seen(), stack.q.layout_group, &nobody, stack.q.kind, false}, causal{stack.seen(), stack.q.layout_group, &nobody, ClassKind::causal, false};
  const std::uint64_t limit = stack.q.sight->wanted_reach(own, false).layers.value_or(reach);
  std::uint64_t m = reach;
  while (m <= limit && stack.q.sight->unseen_pairs(causal, m, false).first - stack.q.sight->unseen_pairs(causal, m, true).first > 1) ++m;
  if (m == reach) return found(reach, "theorem-bos", {reach_premise(reach), "all tokens but at most one see the BOS by then"});
  if (m > limit) return std::nullopt;
  IdLayers result = found(std::nullopt, "theorem-bos", {reach_premise(reach), "layers until all tokens but at most one see the BOS: " + std::to_string(m)});
  result.never = false, result.low = reach, result.high = m;
  return result;
}

/// Full or full causal patterns without absolute positions: D2, D3, D5.
std::optional<IdLayers> full_rows(const Stack& stack, std::uint64_t reach) {
  const bool full = stack.every(&RowFacts::full), causal = stack.every(&RowFacts::full_causal);
  if (stack.registers() || stack.heads.empty() || !stack.every(&RowFacts::plain) || (!full && !causal)) return std::nullopt;
  const auto scheme = [&](const char* name) { return stack.every([&](const Head& head) { return head.scheme == name; }); };
  const auto deep = [&](bool two) { return std::max(reach, stack.after_mixing(two ? 2 : 1)); };
  if (full && stack.every(Rule::set) && stack.n >= (stack.bos ? 4u : 3u)) {
    IdLayers result = found(std::nullopt, "max-forgets-counts");
    if (stack.n == 3 && stack.vocabulary() == 2u) result.floor = IdFloor::max_of_three;
    return result;
  }
  const bool counts = stack.every([](const Head& head) { return head.rule == Rule::frequency || head.rule == Rule::multiset; });
  if (full && scheme("none") && counts && (stack.target_is_layout() || target_is_symmetric(stack))) {
    return found(stack.after_mixing(stack.n == 1 ? 0 : 1), "full-without-positions");
  }
  if (causal && scheme("none") && stack.every(Rule::frequency) && stack.bos) return found(deep(stack.n > 3), "causal-bos");
  if (causal && scheme("none") && stack.every(Rule::multiset)) return found(deep(stack.n > (stack.bos ? 3u : 2u)), "causal-sink");
  if (stack.bos && full && stack.every(Rule::alibi)) return found(stack.after_mixing(stack.n <= 1 ? 0 : stack.n <= 3 ? 1 : 2), "alibi-both-ways");
  if (!stack.bos || !scheme("t5") || stack.n < 2) return std::nullopt;
  const Relation& relation = stack.layout.relations[stack.heads[stack.layer(stack.after_mixing(1)).front()].relation];
  bool clash = false;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(stack.n) && !clash; ++i) {
    std::set<std::uint32_t> buckets;  // a repeat comes after at most as many tokens as there are buckets
    for (std::int64_t j = 1; j <= (causal ? i : static_cast<std::int64_t>(stack.n) - 1) && !clash; ++j) {
      clash = j != i && !buckets.insert(t5_bucket(j - i, relation.buckets, relation.max_distance, relation.bidirectional)).second;
    }
  }
  return found(deep(clash), "t5-buckets", {clash ? "two tokens share a bucket of one row" : "every token of a row has a bucket of its own"});
}

/// Full causal layers, some rotary and some without positions, with BOS (D5); chunks between full layers get bounds.
std::optional<IdLayers> mixed(const Stack& stack, std::uint64_t reach) {
  if (!stack.bos || !stack.every(&RowFacts::causal) || !stack.every(&RowFacts::loops)) return std::nullopt;
  std::vector<std::uint64_t> full;
  for (std::uint64_t depth = 1; depth <= 2 * stack.order.size(); ++depth) {
    if (stack.layer(depth).size() != 1) return std::nullopt;
    const Head& head = stack.heads[stack.layer(depth).front()];
    if (head.scheme != "rotary" && (head.scheme != "none" || !head.rows.full_causal)) return std::nullopt;
    if (head.rows.full_causal) full.push_back(depth);
  }
  if (full.empty()) return std::nullopt;
  if (full.size() == 2 * stack.order.size()) {
    const bool rotary = stack.heads[stack.layer(1).front()].scheme == "rotary";
    return found(std::max<std::uint64_t>(reach, rotary || stack.n <= 3 ? 1 : 2), "mixed-rotary",
                 {rotary ? "the first layer is rotary and shows everything" : "the first layer has no positions"});
  }
  IdLayers result = found(std::nullopt, "mixed-rotary", {"first full layer: " + std::to_string(full[0]), "second full layer: " + std::to_string(full[1])});
  result.never = false, result.low = std::max(reach, full[0]), result.high = full[1];
  if (result.low == result.high) result.layers = result.low;
  return result;
}

IdLayers open(std::uint64_t reach, const char* premise) {
  IdLayers result = found(std::nullopt, "open", {premise});
  result.never = false, result.low = reach;
  return result;
}

/// Confused views of inputs in general position are confused id sequences when there are enough ids (D6, 15.8 d).
IdLayers by_views(const Stack& stack, std::uint64_t reach, const ViewQuestion& question) {
  IdLayers result = open(reach, "sparse or coloured rows on ids beyond enumeration: labels can be coarser than views");
  const std::uint64_t ordinary = stack.n - (stack.bos ? 1 : 0);
  const bool shows_counts = stack.every([](const Head& head) { return head.rule != Rule::whole; });
  if (stack.vocabulary().value_or(ordinary) < ordinary || !shows_counts || stack.n > 512 || stack.registers()) return result;
  const Needed needed = stack.q.sight->needed(question);
  if (!needed.below) return result;  // views also ask for the BOS, which carries no content
  result.low = std::max(result.low, needed.layers.value_or(0));
  if (needed.never) result.never = true, result.rule = "views", result.premises = {"a symmetry of the views that is not one of the target survives at every depth"};
  return result;
}

IdLayers decide(const Stack& stack) {
  const IdQuestion& q = stack.q;
  const ViewQuestion question{stack.seen(), q.layout_group, stack.target_is_layout() ? nullptr : q.target, q.kind, false};
  const Reach reach = q.sight->wanted_reach(question, stack.bos);
  bool lengths = false;  // a sum of constants shows how long its row is, and no more
  for (std::size_t k = 0; k < q.mixers.size(); ++k) lengths = lengths || (q.mixers[k].blind && !stack.layers[k].empty());
  const bool blind = std::all_of(q.mixers.begin(), q.mixers.end(), [](const IdMixer& mixer) { return mixer.blind; });
  if (!reach.layers && lengths && blind) return found(std::nullopt, "blind");
  if (!reach.layers) {
    const auto [reader, unseen] = q.sight->unseen_pairs(question, std::nullopt, stack.bos).second.value();
    return found(std::nullopt, "unseen", {"token " + std::to_string(reader) + " never sees token " + std::to_string(unseen)});
  }
  if (auto merged = constants(stack)) return *merged;
  const auto& colours = stack.layout.vertex_colour;
  const std::set<std::uint64_t> distinct(colours.begin(), colours.begin() + static_cast<std::ptrdiff_t>(stack.positions() ? stack.n : 0));
  if (stack.positions() && distinct.size() == stack.n) return absolute(stack, *reach.layers);
  for (std::size_t k = 0; k < q.mixers.size(); ++k) {
    const Json& mixer = stack.a["layer"][k]["mixer"];
    if (!mixer["top_k"].is_null()) return open(*reach.layers, "top-k attention on ids: labels are not necessary there (theory 15.8 l)");
  }
  if (lengths) return open(*reach.layers, "a layer shows the length of its rows alone");
  if (auto result = labels(stack)) return *result;
  if (!stack.positions()) {
    if (auto result = linformer(stack)) return *result;
    if (auto result = injective(stack, *reach.layers)) return *result;
    if (auto result = full_rows(stack, *reach.layers)) return *result;
    if (auto result = mixed(stack, *reach.layers)) return *result;
  }
  return by_views(stack, *reach.layers, question);
}

}  // namespace

RowFacts row_facts(const Relation& relation, Vertex tokens) {
  RowFacts facts;
  const RelativeKind kind = relation.relative;
  const bool offsets = kind == RelativeKind::offset || kind == RelativeKind::grid_offset || kind == RelativeKind::column || kind == RelativeKind::pair;
  std::vector<Run> row;
  for (Vertex i = 0; i < relation.pattern->vertices; ++i) {
    relation.pattern->row(i, row);
    std::uint64_t read = 0, early = 0;
    bool registers = false;
    for (const Run& run : row) {
      facts.plain = facts.plain && run.colour == 1;
      registers = registers || run.last >= tokens;
      if (i >= tokens || run.first >= tokens) continue;
      const std::uint64_t size = (std::min(run.last, tokens - 1) - run.first) / run.step + 1;
      read += size;
      early += run.first <= i ? std::min<std::uint64_t>(size, (i - run.first) / run.step + 1) : 0;
    }
    if (i >= tokens) continue;
    facts.nonempty = facts.nonempty && !row.empty();
    facts.loops = facts.loops && reads(row, i);
    facts.causal = facts.causal && early == read;
    facts.full = facts.full && read == tokens;
    facts.full_causal = facts.full_causal && early == i + std::uint64_t{1} && read == early;
    facts.bos_in_every_row = facts.bos_in_every_row && reads(row, 0);
    if (!facts.injective || (offsets && !registers)) continue;
    relation.raw_row(i, row);
    facts.injective = colours_differ(row);
  }
  return facts;
}

IdLayers id_layers(const IdQuestion& question) {
  const IdLayers result = decide(Stack(question));
  if (!question.witnesses) return result;
  for (const char* name : {"at_given", "below"}) {
    const bool shown = find_shown(question, name) != nullptr, asked = result.rule == "labels" && (name[0] == 'a' ? result.at_given : result.below).has_value();
    if (shown && !asked) throw Rejected(std::string("/evidence/ids/") + name, "no collision is asked for");
  }
  return result;
}

}  // namespace checker

#include "labels.hpp"
#include "derivation.hpp"
#include "poll.hpp"
#include "reach.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

namespace checker {
namespace {

using Word = std::uint32_t;
using Words = std::vector<Word>;

/// What a row reveals of mu(k, o, s), the number of vertices read with matrix colour k, relative colour o and label s (theory 15.4 L1-L6; 16.5 a).
enum class Rule { multiset, frequency, learned, rotary, alibi, set, whole };

std::string scheme_of(const Json& mixer) { return mixer["relative"].is_object() ? mixer["relative"]["kind"].string() : mixer["relative"].string(); }
bool exact_rows(const Json& mixer) { return mixer["sink"].boolean() || mixer["eps"].number() > 0; }

bool keeps_directions(const Json& norm) { return !norm["kind"].is("none") && norm["eps"].number() == 0 && (norm["place"].is("sandwich") || norm["place"].is("after")); }
/// Does a positive factor of the whole row cancel when only the direction of the output is kept (16.17)? Heads whose factors differ show how (16.81); weights
/// of any sign make a factor of any sign where keys are turned, or where something is added to the denominator (16.83).
bool cancels(const Json& mixer, bool positive, bool plain, bool one_head) {
  const std::string& kind = mixer["kind"].string();
  if (kind == "attention" && !positive && (scheme_of(mixer) == "rotary" || (mixer["normalised"].boolean() && exact_rows(mixer)))) return false;
  const bool alone = mixer["heads"].natural() == 1;
  if (kind == "attention") return alone || (plain && one_head && !exact_rows(mixer) && scheme_of(mixer) == "none");
  return kind == "convolution" || (kind == "mean" && alone) || (plain && one_head && (kind == "sum" || (kind == "mean" && !exact_rows(mixer))));
}
bool averages(const Json& mixer) { return (mixer["kind"].is("mean") || (mixer["kind"].is("attention") && mixer["normalised"].boolean())) && !exact_rows(mixer); }

Rule rule_of(const Json& mixer, bool plain, bool softmax, bool direction) {
  const std::string &kind = mixer["kind"].string(), scheme = scheme_of(mixer);
  if (kind == "max") return Rule::set;
  if (kind == "linformer") return Rule::whole;
  if (!averages(mixer) && !direction) return Rule::multiset;
  if (kind == "sum" || kind == "convolution") return kind == "sum" ? Rule::frequency : Rule::learned;
  if (kind == "mean" || scheme == "none") return plain ? Rule::frequency : Rule::learned;
  if (scheme == "learned" || scheme == "t5") return Rule::learned;
  return softmax && scheme == "alibi" ? Rule::alibi : Rule::rotary;  // of other kernels only mu/gcd is known (15.8 l)
}

/// Equal sequences get equal numbers, new ones the next.
struct Hash {
  std::size_t operator()(const Words& words) const {
    std::uint64_t h = words.size();
    for (const Word w : words) h = (h ^ w) * 0xff51afd7ed558ccdu, h ^= h >> 32;
    return h;
  }
};
using Numbers = std::unordered_map<Words, Word, Hash>;
Word number(Numbers& numbers, const Words& words) { return numbers.try_emplace(words, static_cast<Word>(numbers.size())).first->second; }

/// Polynomials in z modulo the prime p, by state and matrix colour. Those of a row have coefficients >= 0 that add up to its length < 2^15, so A B' and
/// A' B of two rows differ by less than 2^30 < p: they are equal exactly when they are equal modulo p.
using Polynomial = std::vector<std::uint64_t>;
using Family = std::map<std::uint64_t, Polynomial>;
constexpr std::uint64_t p = 2147483647;

std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t result = 1;
  for (std::uint64_t e = p - 2; e != 0; e >>= 1, a = a * a % p) result = e % 2 == 1 ? result * a % p : result;
  return result;
}

/// Leaves the remainder in a, returns the quotient.
Polynomial divide(Polynomial& a, const Polynomial& by) {
  Polynomial quotient(a.size() < by.size() ? 0 : a.size() - by.size() + 1, 0);
  const std::uint64_t lead = inverse(by.back());
  for (std::size_t k = quotient.size(); k-- > 0;) {
    quotient[k] = a[k + by.size() - 1] * lead % p;
    for (std::size_t j = 0; j < by.size(); ++j) a[k + j] = (a[k + j] + (p - quotient[k]) * by[j]) % p;
  }
  while (!a.empty() && a.back() == 0) a.pop_back();
  return quotient;
}

/// Divides by the common factor modulo p and scales. Equal results mean equal products A_s B_t = A_t B_s, so proportional families; and proportional
/// families have one primitive E over the integers, of which the result (E divided by its own gcd modulo p) is a function.
void reduce(Family& family) {
  Polynomial gcd;
  for (const auto& [key, a] : family) {
    Polynomial b = a;
    while (!gcd.empty()) divide(b, gcd), std::swap(b, gcd);
    gcd = std::move(b);
  }
  std::uint64_t scale = 0;
  for (auto& [key, a] : family) {
    a = divide(a, gcd);
    scale = scale == 0 ? inverse(a.back()) : scale;
    for (std::uint64_t& x : a) x = x * scale % p;
  }
}

struct Entry {
  Word state = 0, matrix = 0, relative = 0;  // matrix and relative colour; 0: factor divided out
  std::uint64_t count = 1;
  [[nodiscard]] auto key() const { return std::tuple(state, matrix, relative); }
};

/// ALiBi: A_s = sum mu w_k z^distance up to a common factor: in the w when the lines of all matrix colours are proportional, then in z.
void append_polynomials(const std::vector<Entry>& row, Words& words) {
  std::map<Word, Family> lines;
  Family all;
  for (const Entry& e : row) {
    for (Polynomial* a : {&lines[e.matrix][e.state], &all[std::uint64_t{e.matrix} << 32 | e.state]}) {
      a->resize(std::max<std::size_t>(a->size(), e.relative + 1), 0);
      (*a)[e.relative] += e.count;
    }
  }
  for (auto& [matrix, line] : lines) reduce(line);
  Family& first = lines.begin()->second;
  if (!std::all_of(lines.begin(), lines.end(), [&](const auto& line) { return line.second == first; })) reduce(all), first = all;
  for (const auto& [key, a] : first) {
    words.insert(words.end(), {static_cast<Word>(key >> 32), static_cast<Word>(key), static_cast<Word>(a.size())});
    words.insert(words.end(), a.begin(), a.end());
  }
}

/// If the polynomials A_s = sum mu w_k u_o have a common factor in the w (matrix), the u (relative) or both, divides by it: they have one exactly when the
/// groups of one such monomial are proportional as vectors over all the rest; any one of them is the quotient, up to a number.
bool cancel(std::vector<Entry>& row, bool matrix, bool relative) {
  const auto group = [&](const Entry& e) { return std::pair(matrix ? e.matrix : 0, relative ? e.relative : 0); };
  const auto rest = [&](const Entry& e) { return std::tuple(e.state, matrix ? 0 : e.matrix, relative ? 0 : e.relative); };
  std::sort(row.begin(), row.end(), [&](const Entry& a, const Entry& b) { return std::pair(group(a), rest(a)) < std::pair(group(b), rest(b)); });
  std::size_t size = 1;
  while (size < row.size() && group(row[size]) == group(row[0])) ++size;
  for (std::size_t k = size; k < row.size(); ++k) {
    const Entry &first = row[k - k % size], &same = row[k % size];
    if (group(row[k]) != group(first) || rest(row[k]) != rest(same) || row[k].count * row[0].count != first.count * same.count) return false;
  }
  if (row.size() % size != 0) return false;
  row.resize(size);
  for (Entry& e : row) e.matrix = matrix ? 0 : e.matrix, e.relative = relative ? 0 : e.relative;
  return true;
}

struct Arc {
  Vertex read = 0;
  Word matrix = 0, relative = 0;
};
using Arcs = std::vector<Arc>;

/// Equal words = equal row labels. The first word: 0 empty, 1 one state only, 2 anything else.
void write_row(Rule rule, const Arcs& arcs, const Word* state, Words& words) {
  words.assign(1, arcs.empty() ? 0 : 2);
  std::vector<Entry> row;
  for (const Arc& arc : arcs) {
    row.push_back({state[arc.read], arc.matrix, arc.relative});
    if (rule == Rule::whole) words.insert(words.end(), {arc.read, state[arc.read]});
  }
  if (arcs.empty() || rule == Rule::whole) return;
  const auto before = [](const Entry& a, const Entry& b) { return a.key() < b.key(); };
  std::sort(row.begin(), row.end(), before);
  std::size_t last = 0;
  for (std::size_t k = 1; k < row.size(); ++k) row[k].key() == row[last].key() ? void(++row[last].count) : void(row[++last] = row[k]);
  row.resize(last + 1);
  if (rule != Rule::multiset && rule != Rule::set) {
    if (row.front().state == row.back().state) return words.assign({1, row.front().state});
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

/// The rows of one relation, unpacked, with small numbers for its colours (ALiBi: the exponent of z, 0 where a register is touched).
std::vector<Arcs> unpack(const Relation& relation, Rule rule) {
  std::vector<Arcs> rows(relation.pattern->vertices);
  std::map<std::int64_t, Word> matrices, relatives;
  std::vector<Run> runs;
  for (Vertex i = 0; i < rows.size(); ++i) {
    relation.raw_row(i, runs);
    for (const Run& run : runs) {
      for (Vertex k = 0; k < run.size() && rows[i].size() >> 15 == 0; ++k) {
        const std::int64_t raw = run.colour - 1 + run.colour_step * k, matrix = raw / relation.relative_count(), relative = raw % relation.relative_count();
        const Word small = rule == Rule::alibi ? static_cast<Word>(std::max<std::int64_t>(relative, 1) - 1) : relatives.try_emplace(relative, relatives.size()).first->second;
        rows[i].push_back({run.first + k * run.step, matrices.try_emplace(matrix, matrices.size()).first->second, rule == Rule::frequency ? 0 : small});
      }
    }
    if (rows[i].size() >> 15 != 0) throw Rejected("limit", "rows of more than 32,767 arcs on enumerated ids");
  }
  return rows;
}

/// One head: its rows, what they reveal, its positions.
struct Head {
  std::uint32_t relation = 0;
  Rule rule = Rule::multiset;
  std::string scheme;
  std::shared_ptr<const RowFacts> rows;
};

struct Stack {
  explicit Stack(const IdQuestion& question) : q(question), a(*q.architecture), layout(*q.layout), bos(a["input"]["bos"].boolean()), n(layout.tokens) {
    const Json::Array& specs = a["layer"].array();
    if (specs.size() != q.mixers.size()) throw Malformed("/architecture/layer: facts of another list of layers");
    std::map<std::uint32_t, std::shared_ptr<const RowFacts>> facts;
    for (std::size_t k = 0; k < specs.size(); ++k) {
      const Json& mixer = specs[k]["mixer"];
      layers.emplace_back();
      for (const std::uint32_t r : layout.layer(order.size() + 1)) {
        auto& rows = facts[r];
        if (!rows) rows = std::make_shared<RowFacts>(row_facts(layout.relations[r], layout.tokens));
        const bool direction = keeps_directions(specs[k]["norm"]) && cancels(mixer, q.mixers[k].positive, rows->plain, layout.layer(order.size() + 1).size() == 1);
        const Head head{r, rule_of(mixer, rows->plain, q.mixers[k].softmax, direction), scheme_of(mixer), rows};
        const auto same = [&](const Head& other) { return other.relation == r && other.rule == head.rule && other.scheme == head.scheme; };
        layers.back().push_back(static_cast<std::uint32_t>(std::find_if(heads.begin(), heads.end(), same) - heads.begin()));
        if (layers.back().back() == heads.size()) heads.push_back(head);
        registers = registers || rows->registers;
      }
      order.insert(order.end(), specs[k]["repeat"].natural(layout.order.size() - order.size()), static_cast<std::uint32_t>(k));
      lengths = lengths || (q.mixers[k].blind && !layers[k].empty());
    }
    const Json& ids = a["input"]["vocabulary"];
    if (!ids.is_null()) vocabulary = ids.natural();
  }
  template <class Fact> [[nodiscard]] bool every(Fact fact) const { return std::all_of(heads.begin(), heads.end(), fact); }
  [[nodiscard]] bool every(bool RowFacts::*fact) const { return every([&](const Head& head) { return head.rows.get()->*fact; }); }
  [[nodiscard]] bool every(Rule rule) const { return every([&](const Head& head) { return head.rule == rule; }); }
  [[nodiscard]] bool every(const char* scheme) const { return every([&](const Head& head) { return head.scheme == scheme; }); }
  [[nodiscard]] const std::vector<std::uint32_t>& layer(std::uint64_t depth) const { return layers[order[(depth - 1) % order.size()]]; }
  /// Depth at which `count` layers that mix have been passed.
  [[nodiscard]] std::uint64_t after_mixing(std::uint64_t count) const {
    std::uint64_t depth = 0;
    while (count > 0) count -= layer(++depth).empty() ? 0 : 1;
    return depth;
  }
  /// Neither matrix colours nor a weight per column or pair.
  [[nodiscard]] bool uncoloured(const Head& head) const {
    const RelativeKind kind = layout.relations[head.relation].relative;
    return head.rows->plain && kind != RelativeKind::column && kind != RelativeKind::pair;
  }
  [[nodiscard]] bool no_group() const { return is_trivial(target_is_layout ? q.layout_group->group : *q.target); }
  /// What a causal target with a symmetry may ask for can be much less than the class allows (16.7).
  [[nodiscard]] bool shrinks_class() const { return q.kind == ClassKind::causal && !no_group(); }
  [[nodiscard]] ViewQuestion views(ClassKind kind, const Group* target) const { return {q.seen == nullptr ? q.layout : q.seen, q.layout_group, target, kind, false}; }

  const IdQuestion& q;
  const Json& a;
  const Layout& layout;
  bool bos, lengths = false;  // lengths: a sum of constants shows how long its row is, and no more
  std::uint64_t n, ordinary = n - (bos ? 1 : 0);
  bool positions = !a["input"]["positions"].is("none"), registers = false;  // does a token read one? (16.52)
  bool target_is_layout = q.target == &q.layout_group->group;
  std::optional<std::uint64_t> vocabulary;
  std::vector<Head> heads;
  std::vector<std::vector<std::uint32_t>> layers;  // heads of each [[layer]]
  std::vector<std::uint32_t> order;                // its number, for each layer of the list written out
};

const Json* find_shown(const IdQuestion& q, std::string_view name) { return q.evidence == nullptr || q.evidence->is_null() ? nullptr : q.evidence->find(name); }

/// All labels of all id sequences, depth by depth, and which labelled inputs the target must treat alike (theory 15.4, 16.7). Sequence k has the digits of
/// k in base V as its ordinary ids.
class Enumeration {
public:
  Enumeration(const Stack& stack, std::uint64_t vocabulary)
      : s_(stack), tokens_(stack.layout.tokens), vertices_(stack.layout.vertices()), first_(stack.bos ? 1 : 0), vocabulary_(vocabulary), weight_(tokens_, 0) {
    for (Vertex token = tokens_; token-- > first_; count_ *= vocabulary_) weight_[token] = count_;
    std::uint64_t arcs = 1;
    for (const Head& head : s_.heads) {
      rows_.push_back(unpack(s_.layout.relations[head.relation], head.rule));
      for (const Arcs& row : rows_.back()) arcs += row.size();
    }
    if (count_ * vertices_ >> 26 != 0 || count_ > (std::uint64_t{1} << 36) / arcs) throw Rejected("limit", "too many labels of id sequences");
    Numbers numbers;
    for (std::uint64_t k = 0; k < count_; ++k) {
      poll();
      for (Vertex v = 0; v < vertices_; ++v) {
        const std::uint64_t colour = v >= tokens_ || s_.positions ? s_.layout.vertex_colour[v] : 0;
        label_.push_back(number(numbers, {v < tokens_ ? 1 + id(k, v) : 0, static_cast<Word>(colour), static_cast<Word>(colour >> 32)}));
      }
    }
    distinct_ = numbers.size();
    make_targets();
  }

  void decide(IdLayers& result) {
    std::vector<bool> idle(s_.layers.size(), false);  // layers that leave the present partition as it is
    bool collides = has_collision();
    std::uint64_t m = 0;
    for (;; ++m) {
      if (!collides && !result.layers) {
        result.layers = m;
        if (m > 0) result.below = confirm("below", below_);
      }
      if (collides && s_.q.given == m) result.at_given = confirm("at_given", label_);
      if (distinct_ == label_.size() || std::all_of(idle.begin(), idle.end(), [](bool b) { return b; })) break;
      const std::uint32_t layer = s_.order[m % s_.order.size()];
      idle[layer] = true;
      if (!apply(s_.layers[layer])) continue;
      idle.assign(idle.size(), false);
      collides = collides && has_collision();
    }
    if (!collides) return;
    result.never = true;
    result.below = confirm("below", label_);
    if (s_.q.given.value_or(m + 1) > m) result.at_given = confirm("at_given", label_);
  }
  std::uint64_t distinct_targets = 0;

private:
  [[nodiscard]] Word id(std::uint64_t k, Vertex token) const { return static_cast<Word>(token < first_ ? vocabulary_ : k / weight_[token] % vocabulary_); }

  Word find(Word x) {
    while (target_[x] != x) x = target_[x] = target_[target_[x]];
    return x;
  }
  void unite(std::uint64_t x, std::uint64_t y) {
    const auto [low, high] = std::minmax({find(static_cast<Word>(x)), find(static_cast<Word>(y))});
    target_[high] = low;
  }

  void make_targets() {
    target_.resize(count_ * tokens_);
    std::iota(target_.begin(), target_.end(), 0);
    for (Vertex a = 0; a < tokens_ && s_.q.kind != ClassKind::all; ++a) {
      std::vector<bool> counts(vertices_, false);
      std::vector<Vertex> open{a};
      counts[a] = true;
      if (s_.q.kind == ClassKind::causal) std::fill(counts.begin(), counts.begin() + a, true), open.clear();
      while (!open.empty()) {  // what a ever sees: every path of the union of all layers gets its turn
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
        poll();
        std::uint64_t same = k;
        for (Vertex j = first_; j < tokens_; ++j) same -= counts[j] ? 0 : weight_[j] * id(k, j);
        unite(same * tokens_ + a, k * tokens_ + a);
      }
    }
    for (const Permutation& g : list_generators(*s_.q.target, ~std::size_t{0})) {
      if (s_.bos && g(0) != 0) throw Rejected("target", "a symmetry moves the BOS");
      for (std::uint64_t k = 0; k < count_; ++k) {
        std::uint64_t moved = 0;
        for (Vertex j = first_; j < tokens_; ++j) moved += weight_[g(j)] * id(k, j);
        for (Vertex a = 0; a < tokens_; ++a) unite(moved * tokens_ + g(a), k * tokens_ + a);
      }
    }
    for (Word x = 0; x < target_.size(); ++x) distinct_targets += (target_[x] = find(x)) == x;
  }

  [[nodiscard]] bool has_collision() const {
    Words target_of(distinct_, ~Word{0});
    for (std::uint64_t x = 0; x < target_.size(); ++x) {
      Word& target = target_of[label_[x / tokens_ * vertices_ + x % tokens_]];
      if (target != ~Word{0} && target != target_[x]) return true;
      target = target_[x];
    }
    return false;
  }

  /// One layer; true when labels got finer.
  bool apply(const std::vector<std::uint32_t>& heads) {
    std::vector<Numbers> rows(heads.size());
    Numbers numbers;
    Words words, label;
    below_ = label_;
    for (std::uint64_t x = 0; x < label_.size(); ++x) {
      poll();
      label.assign(1, below_[x]);
      for (std::size_t h = 0; h < heads.size(); ++h) {
        write_row(s_.heads[heads[h]].rule, rows_[heads[h]][x % vertices_], below_.data() + x / vertices_ * vertices_, words);
        label.push_back(number(rows[h], words));
      }
      label_[x] = number(numbers, label);
    }
    return std::exchange(distinct_, numbers.size()) != numbers.size();
  }

  /// The collision that the evidence gives: one label, two targets.
  [[nodiscard]] std::optional<IdCollision> confirm(const char* name, const Words& labels) const {
    if (!s_.q.witnesses) return std::nullopt;
    const std::string claim = std::string("/evidence/ids/") + name;
    const Json* shown = find_shown(s_.q, name);
    if (shown == nullptr) throw Rejected(claim, "two inputs of one label and different targets exist, and none are shown");
    const auto read = [&](const char* key, Words& ids) {
      std::uint64_t k = 0;
      if ((*shown)[key].size() != tokens_) throw Rejected(claim, "an id for every token is expected");
      for (Vertex token = 0; token < tokens_; ++token) {
        const std::uint64_t value = (*shown)[key][token].natural();
        if (token < first_ ? value != s_.vocabulary.value_or(vocabulary_) : value >= vocabulary_) throw Rejected(claim, "no such id at token " + std::to_string(token));
        ids.push_back(static_cast<Word>(value));
        k += weight_[token] * value;
      }
      return k;
    };
    IdCollision c{{}, {}, static_cast<Vertex>((*shown)["a"].natural(tokens_ - 1)), static_cast<Vertex>((*shown)["b"].natural(tokens_ - 1))};
    const std::uint64_t x = read("x", c.x), y = read("y", c.y);
    if (labels[x * vertices_ + c.a] != labels[y * vertices_ + c.b]) throw Rejected(claim, "the labels differ");
    if (target_[x * tokens_ + c.a] == target_[y * tokens_ + c.b]) throw Rejected(claim, "no target tells these inputs apart");
    return c;
  }

  const Stack& s_;
  Vertex tokens_, vertices_, first_;
  std::uint64_t vocabulary_, count_ = 1;
  std::vector<std::uint64_t> weight_;    // per token: what one more in its id adds to the number of a sequence
  std::vector<std::vector<Arcs>> rows_;  // per head and vertex
  Words label_, below_, target_;         // per sequence and vertex (now, and a layer earlier); per sequence and token
  std::size_t distinct_ = 0;
};

IdLayers found(std::optional<std::uint64_t> layers, std::string rule, std::vector<std::string> premises = {}) {
  IdLayers result;
  result.layers = layers, result.never = !layers;
  result.rule = std::move(rule), result.premises = std::move(premises);
  return result;
}
IdLayers between(std::uint64_t low, std::uint64_t high, std::string rule, std::vector<std::string> premises) {
  IdLayers result = found(std::nullopt, std::move(rule), std::move(premises));
  result.never = false, result.low = low, result.high = high;
  return result;
}
std::string reach_premise(std::uint64_t reach) { return "layers until every token sees what it needs: " + std::to_string(reach); }

/// Does G exchange the ordinary tokens freely?
bool target_is_symmetric(const Stack& s) {
  const Chain chain(*s.q.target);
  Vertex i = s.bos ? 1 : 0;
  while (i + 1 < s.n && chain.contains(Permutation({{i, i + 1}, {i + 1, i}}))) ++i;
  return i + 1 >= s.n;
}

/// Constant sequences keep one label for ever (15.8 c).
std::optional<IdLayers> constants(const Stack& s) {
  const auto averages = [](const Json& layer) {
    const Json& m = layer["mixer"];
    return m["kind"].is("tokenwise") || (((m["kind"].is("attention") && m["normalised"].boolean()) || m["kind"].is("mean") || m["kind"].is("max")) && !exact_rows(m));
  };
  const std::vector<Vertex> orbit = orbits(*s.q.target);
  const auto other = std::find_if(orbit.begin(), orbit.end(), [](Vertex least) { return least != 0; });
  const Json::Array& specs = s.a["layer"].array();
  const bool weighty = std::none_of(s.q.mixers.begin(), s.q.mixers.end(), [](const IdMixer& mixer) { return mixer.may_weigh_nobody; });
  const bool merged = weighty && !s.bos && !s.positions && !s.registers && std::all_of(specs.begin(), specs.end(), averages) && s.every(&RowFacts::nonempty);
  if (!merged || other == orbit.end()) return std::nullopt;
  const bool causal = s.every(&RowFacts::causal);
  IdLayers result = found(std::nullopt, causal ? "constant-prefixes" : "constant-sequences");
  result.floor = causal && std::count(orbit.begin(), orbit.end(), 0u) == 1 ? IdFloor::constant_prefixes : IdFloor::constant_sequences;
  result.at_given = result.below = IdCollision{Words(s.n, 0), Words(s.n, 0), 0, static_cast<Vertex>(other - orbit.begin())};
  return result;
}

/// Does the first layer add up raw ids and positions (15.8 h): y, n or ? (it could not be shown that it weighs its keys differently).
char adds_positions(const Stack& s) {
  const Json &norm = s.a["layer"][0]["norm"], &before = s.a["input"]["norm"];
  const Layout& seen = s.q.seen == nullptr ? s.layout : *s.q.seen;
  const bool normed = real(before) || (real(norm) && (norm["place"].is("pre") || norm["place"].is("sandwich")));
  return normed || selects_keys(s.a, s.a["layer"][0]["mixer"]) || seen.layer(1).empty() ? 'n' : s.q.mixers.front().additive_only;
}

/// D1; sums of raw id + position may need more (15.8 h, 16.22).
IdLayers absolute(const Stack& s, std::uint64_t reach) {
  IdLayers result = found(reach, "absolute-positions", {reach_premise(reach)});
  result.only_necessary = !s.heads.empty() && s.every(Rule::set);
  const char additive = adds_positions(s);
  if (additive == 'n' || reach == 0) return result;
  const bool proved = additive == 'y';
  const auto [low, high] = additive_layers({s.q.seen == nullptr ? s.q.layout : s.q.seen, s.q.target, s.q.kind, s.bos, period_of(s.a["layer"])}, reach, proved);
  if (high == reach) return result;
  result.rule = "additive-positions";
  if (!proved) result.premises.push_back("it could not be shown that the first layer weighs its keys differently");
  result.low = low, result.high = high;
  result.layers = low == high ? std::optional(high) : std::nullopt;
  return result;
}

/// Theorem D by enumeration, up to 10^6 labelled tokens.
std::optional<IdLayers> labels(const Stack& s) {
  const std::uint64_t vocabulary = std::max<std::uint64_t>(2, std::min(s.vocabulary.value_or(s.ordinary), s.ordinary));  // 15.8 d
  std::uint64_t inputs = s.n;
  for (std::uint64_t k = 0; k < s.ordinary && inputs <= 1000000; ++k) inputs *= vocabulary;
  if (inputs > 1000000) return std::nullopt;
  IdLayers result;
  Enumeration enumeration(s, vocabulary);
  enumeration.decide(result);
  result.rule = "labels";
  result.premises = {"ids: " + std::to_string(vocabulary), "tokens: " + std::to_string(s.n),
                     result.never ? "some inputs that the target tells apart keep one label at every depth"
                                  : "layers that tell apart what the target tells apart: " + std::to_string(*result.layers)};
  if (s.vocabulary == vocabulary) result.distinct_targets = enumeration.distinct_targets;  // fewer ids do not show how many there are
  result.only_necessary = std::any_of(s.heads.begin(), s.heads.end(), [](const Head& head) { return head.rule == Rule::set; });
  if (result.never || s.q.given.value_or(*result.layers) < *result.layers) result.floor = IdFloor::collision;
  if (s.every(Rule::whole) && !s.positions) result.floor = IdFloor::linformer;  // rows of a table tell equal ids apart (16.43)
  if (s.every(Rule::set) && s.every(&RowFacts::full) && !s.bos && !s.positions && s.n == 3 && s.vocabulary == 2u && s.q.kind != ClassKind::causal) result.floor = IdFloor::max_of_three;  // 16.88
  if (s.positions && result.layers.value_or(0) > 0 && adds_positions(s) != 'n') {  // labels of (id, row) show more; one period later states are free (16.28)
    result.low = *result.layers, result.high = result.low + period_of(s.a["layer"]);
    result.layers.reset();
    result.premises.push_back("the first layer adds up ids and positions");
  }
  return result;
}

/// Trained Linformer without positions: one layer shows the whole input, and equal ids of one input stay equal (15.4, 15.8 c).
std::optional<IdLayers> linformer(const Stack& s, std::uint64_t reach) {
  if (s.heads.empty() || !s.every(Rule::whole) || s.registers) return std::nullopt;
  if (target_is_symmetric(s)) return found(s.shrinks_class() ? reach : s.after_mixing(s.n > 1 ? 1 : 0), "linformer-ids", {"the target does not ask where an id stands"});
  const std::vector<Vertex> orbit = orbits(*s.q.target);
  if (std::count(orbit.begin() + (s.bos ? 1 : 0), orbit.end(), s.bos ? 1u : 0u) == static_cast<std::ptrdiff_t>(s.ordinary)) return std::nullopt;
  IdLayers result = found(std::nullopt, "linformer-ids", {"the target asks where an id stands"});
  result.floor = IdFloor::linformer;
  return result;
}

IdLayers between_or_at(std::uint64_t low, std::uint64_t high, const char* rule, std::string enough) {
  std::vector<std::string> premises = {reach_premise(low), std::move(enough)};
  return low == high ? found(low, rule, std::move(premises)) : between(low, high, rule, std::move(premises));
}

/// D4, Theorem BOS (for the rows of one head, 15.8 k); exact counts (16.4). Layers that do not name offsets are left out: what is shown without
/// them is shown with them (16.24).
std::optional<IdLayers> named_offsets(const Stack& s, std::uint64_t reach, bool beside_others) {
  Layout named = s.layout;
  bool all = true, any = false;
  for (std::size_t k = 0, depth = 0; k < s.layers.size(); depth += s.a["layer"][k++]["repeat"].natural()) {
    const auto& heads = s.layers[k];
    if (heads.empty()) continue;
    const Head& head = s.heads[heads.front()];
    const bool counts = s.bos ? head.rule != Rule::set && head.rule != Rule::whole : head.rule == Rule::multiset;
    const bool names = heads.size() == 1 && head.rows->loops && head.rows->names_offsets && counts;
    (names ? any : all) = names;
    if (names) continue;
    named.layers.emplace_back();
    std::fill_n(named.order.begin() + static_cast<std::ptrdiff_t>(depth), s.a["layer"][k]["repeat"].natural(), static_cast<std::uint32_t>(named.layers.size() - 1));
  }
  if (s.registers || !any || all == beside_others || ((beside_others || !s.bos) && s.q.kind == ClassKind::seen)) return std::nullopt;
  const Json nothing;
  const Group nobody{s.layout.tokens, {}, {}};
  const Sight own(named, nothing);
  const auto views = [&](ClassKind kind, const Group* target) { return ViewQuestion{&named, s.q.layout_group, target, kind, false}; };
  const auto whole = own.wanted_reach(views(s.q.kind, &nobody), false).layers;
  if (!s.bos) {  // views that hold token 0 are translates of each other only when they are views of one token
    if (!whole) return std::nullopt;
    if (all && *whole == reach) return found(reach, "exact-counts");
    return between_or_at(reach, *whole, "exact-counts", "layers by which exact rows that name offsets show every token of the class: " + std::to_string(*whole));
  }
  const auto low = all ? std::optional(reach) : own.wanted_reach(views(s.q.kind, s.target_is_layout ? nullptr : s.q.target), true).layers;
  if (!low) return std::nullopt;
  // The least depth at which at most one token lacks the BOS; then all labels differ.
  const auto unseen = [&](std::uint64_t depth, bool ordinary) { return own.unseen_pairs(views(ClassKind::causal, &nobody), depth, ordinary).first; };
  std::uint64_t m = *low;
  while (m <= whole.value_or(*low) && unseen(m, false) - unseen(m, true) > 1) ++m;
  if (m > whole.value_or(*low)) return std::nullopt;
  return between_or_at(reach, m, "theorem-bos", !all ? "layers by which rows that name offsets show all that, and the BOS to all tokens but at most one: " + std::to_string(m)
                                                : m == reach ? "all tokens but at most one see the BOS by then" : "layers until all tokens but at most one see the BOS: " + std::to_string(m));
}

/// Proved for targets without a symmetry, or with the layout's own; more symmetric ones may need less, down to the reach, and those that ask
/// for multisets alone need no more than that (16.21 n).
IdLayers at_most(const Stack& s, std::uint64_t reach, std::uint64_t layers, const char* rule, std::vector<std::string> premises = {}) {
  const bool own = s.target_is_layout || s.no_group();
  if (!own && target_is_symmetric(s)) return found(reach, rule, {"the target asks for the multiset of ids alone"});
  return own || layers <= reach ? found(layers, rule, std::move(premises)) : between(reach, layers, rule, std::move(premises));
}

/// Full or full causal patterns without absolute positions: D2, D3, D5.
std::optional<IdLayers> full_rows(const Stack& s, std::uint64_t reach) {
  const bool full = s.every(&RowFacts::full), causal = s.every(&RowFacts::full_causal), none = s.every("none");
  if (s.heads.empty() || !s.every([&](const Head& head) { return s.uncoloured(head); }) || (!full && !causal)) return std::nullopt;
  const auto mixing = [&](bool two) { return std::max(reach, s.after_mixing(two ? 2 : 1)); };
  const bool symmetric = target_is_symmetric(s), frequencies = s.bos && s.every(Rule::frequency);
  const bool counts = s.every([](const Head& head) { return head.rule == Rule::frequency || head.rule == Rule::multiset; });
  if (s.registers && causal && s.q.kind == ClassKind::causal) {  // registers know of later tokens from layer 2 on, when nothing is left to learn (16.51)
    const bool settled = none && s.no_group() && (frequencies || s.every(Rule::multiset));
    return settled ? std::optional(found(mixing(s.n > (s.bos ? 3u : 2u)), frequencies ? "causal-bos" : "causal-sink")) : std::nullopt;
  }
  if (s.registers && (!full || !none || !counts || !symmetric || s.shrinks_class())) return std::nullopt;
  if (s.registers) return found(s.after_mixing(s.n == 1 ? 0 : 1), "full-without-positions");  // ids are counted among all tokens (16.30)
  if (full && s.every(Rule::set) && !s.shrinks_class() && s.n >= (s.bos ? 4u : 3u)) {
    IdLayers result = found(std::nullopt, "max-forgets-counts");
    if (s.n == 3 && s.vocabulary == 2u) result.floor = IdFloor::max_of_three;
    return result;
  }
  if (full && none && s.shrinks_class() && symmetric) return found(reach, "full-without-positions", {"the target asks for the multiset of ids alone"});
  const bool layout_is_symmetric = s.target_is_layout && s.a["input"]["registers"].size() == 0;  // else one that nobody reads may break it (16.52)
  if (full && none && counts && (layout_is_symmetric || symmetric)) return found(s.after_mixing(s.n == 1 ? 0 : 1), "full-without-positions");
  if (causal && none && (frequencies || s.every(Rule::multiset))) return at_most(s, reach, mixing(s.n > (s.bos ? 3u : 2u)), frequencies ? "causal-bos" : "causal-sink");
  if (s.bos && full && s.every(Rule::alibi)) return at_most(s, reach, s.after_mixing(s.n <= 1 ? 0 : s.n <= 3 ? 1 : 2), "alibi-both-ways");
  if (!s.bos || !s.every("t5") || s.n < 2) return std::nullopt;
  const Relation& relation = s.layout.relations[s.heads[s.layer(s.after_mixing(1)).front()].relation];
  const auto tokens = static_cast<std::int64_t>(s.n);
  bool clash = false;
  for (std::int64_t i = 0; i < tokens && !clash; ++i) {
    std::set<std::uint32_t> asked;  // of class causal: no token behind the reader is, but it may hide one that is (16.43)
    for (std::int64_t j = 1; j <= (causal ? i : tokens - 1) && !clash; ++j) {
      const std::uint32_t bucket = t5_bucket(j - i, relation.buckets, relation.max_distance, relation.bidirectional);
      if (j < i || (j > i && s.q.kind != ClassKind::causal)) clash = !asked.insert(bucket).second;
      else clash = j > i && asked.count(bucket) > 0;
    }
  }
  return at_most(s, reach, mixing(clash), "t5-buckets", {clash ? "two tokens share a bucket of one row, and the target asks for one of them" : "every token of a row has a bucket of its own"});
}

/// Full causal layers, some rotary and some without positions, with BOS (D5); chunks between full layers get bounds.
std::optional<IdLayers> mixed(const Stack& s, std::uint64_t reach) {
  if (s.registers && (s.q.kind != ClassKind::causal || !s.no_group())) return std::nullopt;  // 16.43, 16.51
  if (!s.bos || !s.every(&RowFacts::causal) || !s.every(&RowFacts::loops)) return std::nullopt;
  std::vector<std::uint64_t> full;
  for (std::uint64_t depth = 1; depth <= 2 * s.order.size(); ++depth) {
    if (s.layer(depth).size() != 1) return std::nullopt;
    const Head& head = s.heads[s.layer(depth).front()];
    const bool counts = (head.rule == Rule::frequency || head.rule == Rule::multiset) && s.uncoloured(head);
    if (head.scheme != "rotary" && (head.scheme != "none" || !head.rows->full_causal || !counts)) return std::nullopt;
    if (head.rows->full_causal) full.push_back(depth);
  }
  if (full.empty() || (s.registers && full.size() < 2 * s.order.size())) return std::nullopt;
  if (full.size() == 2 * s.order.size()) {
    const bool rotary = s.heads[s.layer(1).front()].scheme == "rotary";
    return at_most(s, reach, std::max<std::uint64_t>(reach, rotary || s.n <= 3 ? 1 : 2), "mixed-rotary",
                   {rotary ? "the first layer is rotary and shows everything" : "the first layer has no positions"});
  }
  std::uint64_t named = 0;  // layers in front of the first one without positions stand for themselves: Theorem BOS (16.21)
  while (named < 2 * s.order.size() && s.heads[s.layer(named + 1).front()].scheme == "rotary") ++named;
  const Group nobody{s.layout.tokens, {}, {}};
  const auto unseen = [&](bool ordinary) { return s.q.sight->unseen_pairs(s.views(ClassKind::causal, &nobody), reach, ordinary).first; };
  if (named > 0 && reach <= named && unseen(false) - unseen(true) <= 1) return found(reach, "theorem-bos", {reach_premise(reach), "all tokens but at most one see the BOS by then"});
  IdLayers result = between(reach, full[1], "mixed-rotary", {"first full layer: " + std::to_string(full[0]), "second full layer: " + std::to_string(full[1])});
  if (result.low == result.high) result.layers = result.low;
  return result;
}

/// Confused views of inputs in general position are confused id sequences when there are enough ids (D6, 15.8 d, 16.5 c).
IdLayers by_views(const Stack& s, std::uint64_t reach, const ViewQuestion& question) {
  IdLayers result = between(reach, 0, "open", {"sparse or coloured rows on ids beyond enumeration: labels can be coarser than views"});
  const bool shows_counts = s.every([](const Head& head) { return head.rule != Rule::whole; });
  if (s.vocabulary.value_or(s.ordinary) < s.ordinary || !shows_counts || s.n > 512 || s.a["input"]["registers"].size() > 0) return result;
  const Needed needed = s.q.sight->needed(question);
  if (!needed.below) return result;
  result.low = std::max(result.low, needed.layers.value_or(0));
  if (needed.never) result.never = true, result.rule = "views", result.premises = {"a symmetry of the views that is not one of the target survives at every depth"};
  return result;
}

IdLayers decide(const Stack& s) {
  const ViewQuestion question = s.views(s.q.kind, s.target_is_layout ? nullptr : s.q.target);
  const auto reach = s.q.sight->wanted_reach(question, s.bos).layers;
  if (!reach && s.lengths && std::all_of(s.q.mixers.begin(), s.q.mixers.end(), [](const IdMixer& mixer) { return mixer.blind; })) return found(std::nullopt, "blind");
  if (!reach) {
    const auto [reader, unseen] = s.q.sight->unseen_pairs(question, std::nullopt, s.bos).second.value();
    return found(std::nullopt, "unseen", {"token " + std::to_string(reader) + " never sees token " + std::to_string(unseen)});
  }
  if (auto merged = constants(s)) return *merged;
  if (s.positions && std::set(s.layout.vertex_colour.begin(), s.layout.vertex_colour.begin() + static_cast<std::ptrdiff_t>(s.n)).size() == s.n) return absolute(s, *reach);
  for (const Json& layer : s.a["layer"].array()) {
    if (s.n > 1 && selects_keys(s.a, layer["mixer"])) return between(*reach, 0, "open", {"top-k attention on ids: labels are not necessary there (theory 15.8 l)"});
  }
  if (s.lengths && s.n > 1) return between(*reach, 0, "open", {"a layer shows the length of its rows alone"});
  if (s.n > 1 && std::any_of(s.q.mixers.begin(), s.q.mixers.end(), [](const IdMixer& mixer) { return mixer.sees_places; })) return between(*reach, 0, "open", {"rotary positions under a kernel that turning both tokens may change, or that may be 0: rows show more than offsets (theory 16.37, 16.92)"});
  if (auto result = labels(s)) return *result;
  if (s.positions) return by_views(s, *reach, question);
  if (auto result = linformer(s, *reach)) return *result;
  if (auto result = named_offsets(s, *reach, false)) return *result;
  if (auto result = full_rows(s, *reach)) return *result;
  if (auto result = mixed(s, *reach)) return *result;
  if (auto result = named_offsets(s, *reach, true)) {
    const std::uint64_t low = result->layers ? 0 : by_views(s, *reach, question).low;
    if (low <= result->low) return *result;
    result->low = low;
    if (low == result->high) result->layers = low, result->low = result->high = 0;
    result->premises.push_back("views of fewer than " + std::to_string(low) + " layers are confused");
    return *result;
  }
  return by_views(s, *reach, question);
}

}  // namespace

bool are_directions_settled(const Json& layer, bool positive, const Layout& layout, const std::vector<std::uint32_t>& read) {
  const Json& mixer = layer["mixer"];
  if (!keeps_directions(layer["norm"]) || averages(mixer) || mixer["kind"].is("linformer") || mixer["kind"].is("max") || mixer["kind"].is("tokenwise")) return true;
  return cancels(mixer, positive, std::all_of(read.begin(), read.end(), [&](std::uint32_t r) { return row_facts(layout.relations[r], layout.tokens).plain; }), read.size() == 1);
}

IdLayers id_layers(const IdQuestion& question) {
  const IdLayers result = decide(Stack(question));
  for (const char* name : {"at_given", "below"}) {
    const bool asked = result.rule == "labels" && (name[0] == 'a' ? result.at_given : result.below).has_value();
    if (question.witnesses && !asked && find_shown(question, name) != nullptr) throw Rejected(std::string("/evidence/ids/") + name, "no collision is asked for");
  }
  return result;
}

}  // namespace checker

#include "oracle.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

namespace sight_labels {

namespace {

// A monomial: the variables in it (sorted, with repeats), and a power of z.
using Monomial = std::pair<std::vector<std::int64_t>, std::int64_t>;
using TokenPolynomial = std::map<Monomial, std::int64_t>;

TokenPolynomial multiply(const TokenPolynomial& a, const TokenPolynomial& b) {
  TokenPolynomial product;
  for (const auto& [m, c] : a) {
    for (const auto& [k, d] : b) {
      Monomial both = m;
      both.first.insert(both.first.end(), k.first.begin(), k.first.end());
      std::sort(both.first.begin(), both.first.end());
      both.second += k.second;
      product[both] += c * d;
    }
  }
  return product;
}

// A_s for every state s of the row.
std::map<std::uint32_t, TokenPolynomial> write_family(const Model& model, const Head& head, Vertex i, const std::vector<std::uint32_t>& state) {
  std::map<std::uint32_t, TokenPolynomial> family;
  for (const Arc& arc : head.rows[i]) {
    const std::uint32_t s = state[arc.read];
    const std::int64_t relative = relative_colour(model, head, i, arc.read);
    Monomial weight{{std::int64_t{arc.matrix}}, 0};
    if (head.rule == RowRule::learned && relative >= 0) weight.first.push_back(10000 + relative);
    if (head.rule == RowRule::rotary && relative >= 0) weight.first.push_back(100000 + relative * 10000 + s);
    if (head.rule == RowRule::alibi && relative >= 0) weight.second = relative;
    ++family[s][weight];
  }
  return family;
}

}  // namespace

bool same_row(const Model& model, const Head& head, Vertex i, const std::vector<std::uint32_t>& x, Vertex j, const std::vector<std::uint32_t>& y) {
  const auto& row = head.rows[i];
  const auto& other = head.rows[j];
  if (row.empty() || other.empty()) return row.empty() && other.empty();
  using Seen = std::tuple<std::uint32_t, std::int64_t, std::uint32_t>;
  const auto list = [&](Vertex reader, const std::vector<std::uint32_t>& state) {
    std::multiset<Seen> seen;
    for (const Arc& arc : head.rows[reader]) seen.insert({arc.matrix, relative_colour(model, head, reader, arc.read), state[arc.read]});
    return seen;
  };
  if (head.rule == RowRule::multiset) return list(i, x) == list(j, y);
  if (head.rule == RowRule::set) {
    const auto a = list(i, x), b = list(j, y);
    return std::set<Seen>(a.begin(), a.end()) == std::set<Seen>(b.begin(), b.end());
  }
  if (head.rule == RowRule::whole) {
    std::map<Vertex, std::uint32_t> a, b;
    for (const Arc& arc : row) a[arc.read] = x[arc.read];
    for (const Arc& arc : other) b[arc.read] = y[arc.read];
    return a == b;
  }
  const auto a = write_family(model, head, i, x), b = write_family(model, head, j, y);
  if (a.size() != b.size()) return false;
  for (const auto& [s, unused] : a) {
    if (!b.contains(s)) return false;
  }
  const std::uint32_t s = a.begin()->first;
  for (const auto& [t, unused] : a) {
    if (multiply(a.at(s), b.at(t)) != multiply(a.at(t), b.at(s))) return false;
  }
  return true;
}

Oracle::Oracle(const Model& model) : model_(model) {
  std::vector<std::uint32_t> ids(model.tokens, 0);
  if (model.bos) ids[0] = model.vocabulary;
  const std::function<void(Vertex)> write = [&](Vertex token) {
    if (token == model.tokens) {
      ids_.push_back(ids);
      return;
    }
    if (token == 0 && model.bos) return write(1);
    for (std::uint32_t id = 0; id < model.vocabulary; ++id) {
      ids[token] = id;
      write(token + 1);
    }
  };
  write(0);
  std::map<std::tuple<int, std::uint64_t, Vertex>, std::uint32_t> start;
  for (const auto& x : ids_) {
    labels_.emplace_back();
    for (Vertex v = 0; v < model.vertices(); ++v) {
      const auto key = v < model.tokens ? std::tuple(0, std::uint64_t{x[v]}, model.absolute ? v : 0) : std::tuple(1, model.registers[v - model.tokens], Vertex{0});
      labels_.back().push_back(start.try_emplace(key, start.size()).first->second);
    }
  }
  label_targets();
}

bool Oracle::advance() {
  const std::vector<std::uint32_t>& layer = model_.layers[depth_ % model_.layers.size()];
  ++depth_;
  std::map<std::uint32_t, std::vector<std::tuple<std::size_t, Vertex, std::uint32_t>>> known;  // by old label
  std::uint32_t fresh = 0;
  std::vector<std::vector<std::uint32_t>> next(labels_.size());
  for (std::size_t x = 0; x < labels_.size(); ++x) {
    for (Vertex i = 0; i < model_.vertices(); ++i) {
      auto& same_before = known[labels_[x][i]];
      const auto found = std::find_if(same_before.begin(), same_before.end(), [&](const auto& entry) {
        const auto& [y, j, label] = entry;
        return std::all_of(layer.begin(), layer.end(), [&](std::uint32_t h) { return same_row(model_, model_.heads[h], i, labels_[x], j, labels_[y]); });
      });
      const bool is_new = found == same_before.end();
      next[x].push_back(is_new ? fresh++ : std::get<2>(*found));
      if (is_new) same_before.emplace_back(x, i, next[x].back());
    }
  }
  const bool finer = fresh != known.size();
  labels_ = std::move(next);
  return finer;
}

void Oracle::label_targets() {
  const Vertex n = model_.tokens;
  std::set<std::vector<std::uint32_t>> elements;
  std::vector<std::uint32_t> identity(n);
  std::iota(identity.begin(), identity.end(), 0);
  elements.insert(identity);
  for (std::vector<std::vector<std::uint32_t>> open{identity}; !open.empty();) {
    const auto g = open.back();
    open.pop_back();
    for (const auto& h : model_.generators) {
      std::vector<std::uint32_t> product(n);
      for (Vertex v = 0; v < n; ++v) product[v] = h[g[v]];
      if (elements.insert(product).second) open.push_back(product);
    }
  }
  // What each token sees in many rounds of the list.
  std::vector<std::set<Vertex>> sees(model_.vertices());
  for (Vertex v = 0; v < model_.vertices(); ++v) sees[v] = {v};
  for (Vertex round = 0; round <= model_.vertices(); ++round) {
    for (const auto& layer : model_.layers) {
      auto next = sees;
      for (const std::uint32_t h : layer) {
        for (Vertex i = 0; i < model_.vertices(); ++i) {
          for (const Arc& arc : model_.heads[h].rows[i]) next[i].insert(sees[arc.read].begin(), sees[arc.read].end());
        }
      }
      sees = next;
    }
  }
  targets_.resize(ids_.size() * n);
  std::iota(targets_.begin(), targets_.end(), 0);
  const std::function<std::uint32_t(std::uint32_t)> root = [&](std::uint32_t x) { return targets_[x] == x ? x : root(targets_[x]); };
  for (const auto& g : elements) {
    if (model_.bos && g[0] != 0) continue;
    for (Vertex a = 0; a < n; ++a) {
      std::vector<Vertex> matters;
      for (Vertex j = 0; j < n; ++j) {
        if (model_.target_class == ClassKind::all || (model_.target_class == ClassKind::causal ? j <= a : sees[a].contains(j))) matters.push_back(j);
      }
      std::map<std::vector<std::uint32_t>, std::uint32_t> by_content;
      const auto join = [&](std::size_t x, Vertex token, const std::function<Vertex(Vertex)>& place) {
        std::vector<std::uint32_t> content;
        for (const Vertex j : matters) content.push_back(ids_[x][place(j)]);
        const auto index = static_cast<std::uint32_t>(x * n + token);
        const std::uint32_t other = by_content.try_emplace(content, index).first->second;
        targets_[root(index)] = root(other);
      };
      for (std::size_t x = 0; x < ids_.size(); ++x) {
        join(x, a, [](Vertex j) { return j; });
        join(x, g[a], [&](Vertex j) { return g[j]; });
      }
    }
  }
  for (std::uint32_t k = 0; k < targets_.size(); ++k) targets_[k] = root(k);
}

std::uint64_t Oracle::distinct_targets() const { return std::set<std::uint32_t>(targets_.begin(), targets_.end()).size(); }

std::size_t Oracle::find(const std::vector<std::uint32_t>& ids) const {
  return static_cast<std::size_t>(std::find(ids_.begin(), ids_.end(), ids) - ids_.begin());
}

bool Oracle::collides() const {
  std::map<std::uint32_t, std::uint32_t> target_of;
  for (std::size_t x = 0; x < ids_.size(); ++x) {
    for (Vertex a = 0; a < model_.tokens; ++a) {
      if (target_of.try_emplace(labels_[x][a], target(x, a)).first->second != target(x, a)) return true;
    }
  }
  return false;
}

}  // namespace sight_labels

#include "enumeration.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace property {

using sightline::architecture::TargetClass;

namespace {

constexpr Mark prime = (Mark{1} << 61) - 1;

Mark mix(Mark x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
Mark mix(Mark a, Mark b) { return mix(mix(a) ^ (b * 0x9e3779b97f4a7c15 + 1)); }

Mark times(Mark a, Mark b) { return static_cast<Mark>(static_cast<unsigned __int128>(a) * b % prime); }
Mark power(Mark base, Mark exponent) {
  Mark result = 1;
  for (; exponent > 0; exponent >>= 1, base = times(base, base)) {
    if (exponent & 1) result = times(result, base);
  }
  return result;
}

}  // namespace

Mark LabelRule::start(int v, int value) const {
  if (v >= model_.tokens) return mix(1, static_cast<Mark>(model_.registers[static_cast<std::size_t>(v - model_.tokens)]));
  return mix(mix(2, static_cast<Mark>(value)), model_.learned_positions ? static_cast<Mark>(v) + 1 : 0);
}

Mark LabelRule::row(const SmallLayer& layer, const Arcs& arcs, int i, const std::vector<Mark>& state) const {
  const auto& own = arcs[static_cast<std::size_t>(i)];
  std::vector<std::pair<Mark, Mark>> seen;  // state, weight
  Mark counted = 0;
  for (std::size_t j = 0; j < own.size(); ++j) {
    if (own[j] == 0) continue;
    const int relative = relative_colour(model_, layer, i, static_cast<int>(j));
    if (layer.denominator != Denominator::plain) {
      counted += mix(mix(static_cast<Mark>(own[j]), static_cast<Mark>(relative + 1)), state[j]);
      seen.emplace_back(state[j], 0);
      continue;
    }
    Mark weight = own[j] == 1 ? 1 : mix(3, static_cast<Mark>(own[j])) % prime;
    if (relative >= 0) {
      switch (layer.scheme) {
        case Scheme::none: break;
        case Scheme::learned:
        case Scheme::t5: weight = times(weight, mix(4, static_cast<Mark>(relative)) % prime); break;
        case Scheme::rotary: weight = times(weight, mix(mix(5, static_cast<Mark>(relative)), state[j]) % prime); break;
        case Scheme::alibi: weight = times(weight, power(mix(6) % prime, static_cast<Mark>(relative))); break;
      }
    }
    seen.emplace_back(state[j], weight);
  }
  if (seen.empty()) return mix(7);
  if (layer.denominator != Denominator::plain) return mix(8, counted);
  std::sort(seen.begin(), seen.end());
  if (seen.front().first == seen.back().first) return mix(9, seen.front().first);
  Mark total = 0;
  bool alike = true;
  for (const auto& [s, w] : seen) {
    total = (total + w) % prime;
    alike = alike && w == seen.front().second;
  }
  // Equal weights are counts: their shares need no division in the field. (A share is a rational number either way.)
  const Mark inverse = power(alike ? seen.size() : total, prime - 2);
  Mark shares = 0;
  for (std::size_t k = 0; k < seen.size();) {
    Mark sum = 0;
    const Mark s = seen[k].first;
    for (; k < seen.size() && seen[k].first == s; ++k) sum = (sum + (alike ? 1 : seen[k].second)) % prime;
    shares += mix(mix(10, s), times(sum, inverse));
  }
  return shares;
}

std::vector<Mark> LabelRule::advance(const std::vector<Mark>& before, std::size_t q) const {
  const SmallLayer& now = layer(q);
  std::vector<Mark> after(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    Mark label = mix(11, before[i]);
    for (const Arcs& arcs : now.heads) label = mix(label, row(now, arcs, static_cast<int>(i), before));
    after[i] = label;
  }
  return after;
}

std::vector<Images> all_permutations(int n) {
  Images images(static_cast<std::size_t>(n));
  std::iota(images.begin(), images.end(), 0);
  std::vector<Images> list;
  do list.push_back(images);
  while (std::next_permutation(images.begin(), images.end()));
  return list;
}

std::set<Images> close_group(int n, const std::vector<Images>& generators) {
  Images identity(static_cast<std::size_t>(n));
  std::iota(identity.begin(), identity.end(), 0);
  std::set<Images> group{identity};
  for (std::vector<Images> open{identity}; !open.empty();) {
    const Images g = open.back();
    open.pop_back();
    for (const Images& s : generators) {
      Images product(g.size());
      for (std::size_t x = 0; x < g.size(); ++x) product[x] = s[static_cast<std::size_t>(g[x])];
      if (group.insert(product).second) open.push_back(product);
    }
  }
  return group;
}

std::set<Images> enumerate_layout_group(const SmallModel& model) {
  const LabelRule rule(model);
  const int n = model.vertices(), tokens = model.tokens;
  std::set<Images> group;
  const auto registers = all_permutations(n - tokens);
  std::vector<Mark> identity(static_cast<std::size_t>(n));
  for (int v = 0; v < n; ++v) identity[static_cast<std::size_t>(v)] = mix(12, static_cast<Mark>(v));
  for (const Images& tau : all_permutations(tokens)) {
    for (const Images& sigma : registers) {
      Images g = tau;
      for (const int r : sigma) g.push_back(tokens + r);
      bool keeps = true;
      std::vector<Mark> moved(identity.size());  // vertex g(v) has the name of v
      for (int v = 0; v < n; ++v) {
        const int image = g[static_cast<std::size_t>(v)];
        moved[static_cast<std::size_t>(image)] = identity[static_cast<std::size_t>(v)];
        if (v >= tokens) keeps = keeps && model.registers[static_cast<std::size_t>(v - tokens)] == model.registers[static_cast<std::size_t>(image - tokens)];
        else keeps = keeps && (image == v || !(model.learned_positions || (model.bos && v == 0)));
      }
      for (const SmallLayer& layer : model.layers) {
        for (const Arcs& arcs : layer.heads) {
          for (int v = 0; v < n && keeps; ++v) keeps = rule.row(layer, arcs, v, identity) == rule.row(layer, arcs, g[static_cast<std::size_t>(v)], moved);
        }
      }
      if (!keeps) continue;
      group.insert(tau);
      break;
    }
  }
  return group;
}

std::set<Images> enumerate_target_group(const SmallModel& model, const std::set<Images>& layout_group) {
  return model.layout_symmetry ? layout_group : close_group(model.tokens, model.generators);
}

Sees enumerate_views(const SmallModel& model) {
  const LabelRule rule(model);
  const auto n = static_cast<std::size_t>(model.vertices());
  Sees sees(1, std::vector<std::vector<bool>>(n, std::vector<bool>(n, false)));
  for (std::size_t i = 0; i < n; ++i) sees[0][i][i] = true;
  for (std::size_t unchanged = 0, q = 1; unchanged < rule.period(); ++q) {
    auto next = sees.back();
    for (const Arcs& arcs : rule.layer(q).heads) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          if (arcs[i][j] == 0) continue;
          for (std::size_t k = 0; k < n; ++k) next[i][k] = next[i][k] || sees.back()[j][k];
        }
      }
    }
    unchanged = next == sees.back() ? unchanged + 1 : 0;
    sees.push_back(next);
  }
  return sees;
}

std::vector<std::vector<bool>> enumerate_base(const SmallModel& model, TargetClass kind, const Sees& sees) {
  const auto n = static_cast<std::size_t>(model.tokens);
  std::vector<std::vector<bool>> base(n, std::vector<bool>(n, true));
  for (std::size_t a = 0; a < n; ++a) {
    for (std::size_t j = 0; j < n; ++j) {
      if (kind == TargetClass::causal) base[a][j] = j <= a;
      if (kind == TargetClass::seen) base[a][j] = sees.back()[a][j];
    }
  }
  return base;
}

Enumeration enumerate(const SmallModel& model) {
  Enumeration e;
  e.permutations = all_permutations(model.tokens);
  e.layout_group = enumerate_layout_group(model);
  e.target_group = enumerate_target_group(model, e.layout_group);
  e.sees = enumerate_views(model);
  const auto n = static_cast<std::size_t>(model.tokens);
  const auto& base = e.sees.back();
  bool all = true, causal = true;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      all = all && base[i][j];
      causal = causal && base[i][j] == (j <= i);
    }
  }
  e.kind = all ? TargetClass::all : causal ? TargetClass::causal : TargetClass::seen;

  const LabelRule rule(model);
  std::vector<std::vector<Mark>> labels;  // of tau X, for every tau; the first is X
  for (const Images& tau : e.permutations) {
    Images value(n);  // [tau X]_{tau(j)} = X_j
    for (std::size_t j = 0; j < n; ++j) value[static_cast<std::size_t>(tau[j])] = static_cast<int>(j);
    std::vector<Mark> start;
    for (int v = 0; v < model.vertices(); ++v) start.push_back(rule.start(v, v < model.tokens ? value[static_cast<std::size_t>(v)] : 0));
    labels.push_back(start);
  }
  std::vector<Mark> distinct;
  std::size_t classes = 0;
  for (std::size_t q = 0, unchanged = 0;; ++q) {
    distinct.clear();
    std::vector<Match> found;
    for (std::size_t t = 0; t < labels.size(); ++t) {
      distinct.insert(distinct.end(), labels[t].begin(), labels[t].end());
      for (std::size_t a = 0; a < n; ++a) {
        if (labels[0][a] == labels[t][static_cast<std::size_t>(e.permutations[t][a])]) found.push_back({static_cast<int>(a), t});
      }
    }
    e.matches.push_back(std::move(found));
    std::sort(distinct.begin(), distinct.end());
    const auto now = static_cast<std::size_t>(std::unique(distinct.begin(), distinct.end()) - distinct.begin());
    unchanged = now == classes ? unchanged + 1 : 0;
    classes = now;
    if (unchanged >= rule.period()) return e;
    for (auto& of : labels) of = rule.advance(of, q + 1);
  }
}

std::optional<std::size_t> compute_connected(const Enumeration& e, const SmallModel& model) {
  const auto n = static_cast<std::size_t>(model.tokens);
  for (std::size_t m = 0; m < e.sees.size(); ++m) {
    bool all = true;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) all = all && e.sees[m][i][j];
    }
    if (all) return m;
  }
  return std::nullopt;
}

std::optional<std::size_t> compute_needed(const Enumeration& e, const SmallModel& model, TargetClass kind) {
  const auto n = static_cast<std::size_t>(model.tokens);
  // What a G-equivariant target of the class can depend on: F_a is F_{g a} of the moved input, for every g in G.
  const auto base = enumerate_base(model, kind, e.sees);
  auto wanted = base;
  for (const Images& g : e.target_group) {
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t j = 0; j < n; ++j) wanted[a][j] = wanted[a][j] && base[static_cast<std::size_t>(g[a])][static_cast<std::size_t>(g[j])];
    }
  }
  const std::size_t last = std::max(e.sees.size(), e.matches.size());
  for (std::size_t m = 0; m <= last; ++m) {
    const auto& sees = e.sees_at(m);
    bool fine = true;
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t j = 0; j < n; ++j) fine = fine && (sees[a][j] || !wanted[a][j]);
    }
    for (auto match = e.matches_at(m).begin(); fine && match != e.matches_at(m).end(); ++match) {
      const Images& tau = e.permutations[match->tau];
      const auto a = static_cast<std::size_t>(match->a);
      fine = std::any_of(e.target_group.begin(), e.target_group.end(), [&](const Images& g) {
        bool agrees = g[a] == tau[a];
        for (std::size_t j = 0; j < n; ++j) agrees = agrees && (!wanted[a][j] || g[j] == tau[j]);
        return agrees;
      });
    }
    if (fine) return m;
  }
  return std::nullopt;
}

std::size_t compute_smallest_order(const Enumeration& e, const SmallModel& model, std::size_t m) {
  std::set<Images> generators;
  for (const Match& match : e.matches_at(m)) generators.insert(e.permutations[match.tau]);
  return close_group(model.tokens, {generators.begin(), generators.end()}).size();
}

}  // namespace property

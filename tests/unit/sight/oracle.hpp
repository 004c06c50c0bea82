// Brute force for the tests of this room: views, labels and groups straight from their definitions (theory.md 1.9, 2.4, 7.6).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "sightline/layout/layout.hpp"
#include "sightline/sight/views.hpp"

namespace sightline::sight::oracle {

using Rows = std::vector<std::vector<Vertex>>;
using Colours = std::vector<std::vector<std::uint32_t>>;

struct Head {
  Rows rows;
  Colours colours;  // empty: plain
  layout::Relative relative;
  layout::Cancels cancels = layout::Cancels::single_colour;
};

/// Of a table by reader and read; 0: not read.
inline Head make_head(const Colours& table, layout::Cancels cancels) {
  Head head{Rows(table.size()), Colours(table.size()), {}, cancels};
  for (Vertex i = 0; i < table.size(); ++i) {
    for (Vertex j = 0; j < table[i].size(); ++j) {
      if (table[i][j] == 0) continue;
      head.rows[i].push_back(j);
      head.colours[i].push_back(table[i][j]);
    }
  }
  return head;
}

/// A layout from the heads of every layer; equal layers are not shared on purpose unless `order` says so.
inline Layout make_layout(Vertex tokens, Vertex registers, const std::vector<std::vector<Head>>& layers,
                          std::vector<std::uint64_t> register_colours = {}, std::vector<std::uint32_t> order = {}) {
  Layout layout;
  layout.tokens = tokens;
  layout.registers = registers;
  layout.vertex_colour.assign(tokens, 0);
  for (Vertex r = 0; r < registers; ++r) layout.vertex_colour.push_back(register_colours.empty() ? 100 + r : register_colours[r]);
  for (const auto& heads : layers) {
    layout::Layer layer;
    for (const Head& head : heads) {
      layer.relations.push_back(static_cast<std::uint32_t>(layout.relations.size()));
      layout.relations.emplace_back(layout::make_pattern_from_rows(tokens + registers, head.rows, head.colours), head.relative, head.cancels,
                                    tokens);
    }
    layout.layers.push_back(layer);
  }
  if (order.empty()) {
    order.resize(layers.size());
    std::iota(order.begin(), order.end(), 0u);
  }
  layout.order = order;
  return layout;
}

inline Layout make_layout(Vertex tokens, const Rows& rows) { return make_layout(tokens, 0, {{{rows, {}, {}, layout::Cancels::single_colour}}}); }

/// see[i][j] after m layers.
inline std::vector<std::vector<bool>> see(const Layout& layout, std::uint64_t m) {
  const Vertex n = layout.vertices();
  std::vector<std::vector<bool>> now(n, std::vector<bool>(n, false));
  for (Vertex i = 0; i < n; ++i) now[i][i] = true;
  for (std::uint64_t q = 1; q <= m; ++q) {
    auto next = now;
    for (const auto r : layout.layer(q).relations) {
      for (Vertex i = 0; i < n; ++i) {
        for (Vertex j = 0; j < n; ++j) {
          if (!layout.relations[r].pattern().reads(i, j)) continue;
          for (Vertex k = 0; k < n; ++k) next[i][k] = next[i][k] || now[j][k];
        }
      }
    }
    now = next;
  }
  return now;
}

using Images = std::vector<Vertex>;

/// The labels s_i^(m), as numbers that are equal exactly when the nested labels are.
class Labels {
public:
  Labels(const Layout& layout, RegisterRows rule) : layout_(layout), rule_(rule) {}

  /// Token j starts with the value value[j].
  std::vector<int> run(const std::vector<Vertex>& value, std::uint64_t m) {
    const Vertex n = layout_.vertices();
    std::vector<int> state(n);
    for (Vertex i = 0; i < n; ++i) {
      state[i] = intern("start " + std::to_string(layout_.vertex_colour[i]) + (i < layout_.tokens ? " " + std::to_string(value[i]) : " r"));
    }
    for (std::uint64_t q = 1; q <= m; ++q) {
      std::vector<int> next(n);
      for (Vertex i = 0; i < n; ++i) {
        std::string text = std::to_string(state[i]);
        for (const auto r : layout_.layer(q).relations) text += " | " + row(r, i, state);
        next[i] = intern(text);
      }
      state = next;
    }
    return state;
  }

private:
  std::string row(std::uint32_t r, Vertex i, const std::vector<int>& state) const {
    std::map<std::pair<int, std::int64_t>, std::uint64_t> count;
    std::set<int> states;
    std::set<std::int64_t> colours;
    for (Vertex j = 0; j < layout_.vertices(); ++j) {
      const std::int64_t colour = layout_.relations[r].colour(i, j);
      if (colour < 0) continue;
      ++count[{state[j], colour}];
      states.insert(state[j]);
      colours.insert(colour);
    }
    const auto get = [&](int s, std::int64_t c) {
      const auto at = count.find({s, c});
      return at == count.end() ? std::uint64_t{0} : at->second;
    };
    std::string text;
    if (rule_ == RegisterRows::frequencies) {
      bool rank_one = true;
      for (const int s : states) {
        for (const int t : states) {
          for (const auto c : colours) {
            for (const auto d : colours) rank_one = rank_one && get(s, c) * get(t, d) == get(s, d) * get(t, c);
          }
        }
      }
      std::uint64_t divisor = 0;
      if (rank_one) {
        std::map<int, std::uint64_t> total;
        for (const auto& [key, k] : count) total[key.first] += k;
        for (const auto& [s, k] : total) divisor = std::gcd(divisor, k);
        for (const auto& [s, k] : total) text += "(" + std::to_string(s) + ":" + std::to_string(k / divisor) + ")";
        return text;
      }
      for (const auto& [key, k] : count) divisor = std::gcd(divisor, k);
      for (auto& [key, k] : count) k /= divisor;
    }
    for (const auto& [key, k] : count) {
      text += "(" + std::to_string(key.first) + "," + std::to_string(key.second) + ":" + std::to_string(k) + ")";
    }
    return text;
  }

  int intern(const std::string& text) { return number_.emplace(text, static_cast<int>(number_.size())).first->second; }

  const Layout& layout_;
  RegisterRows rule_;
  std::map<std::string, int> number_;
};

inline std::vector<Images> all_permutations(Vertex n) {
  Images images(n);
  std::iota(images.begin(), images.end(), Vertex{0});
  std::vector<Images> list;
  do list.push_back(images);
  while (std::next_permutation(images.begin(), images.end()));
  return list;
}

/// Permutations of the tokens that extend to the registers and keep every arc and colour.
inline std::set<Images> layout_group(const Layout& layout) {
  std::set<Images> group;
  const Vertex n = layout.vertices();
  for (const Images& tokens : all_permutations(layout.tokens)) {
    for (const Images& registers : all_permutations(layout.registers)) {
      Images image = tokens;
      for (const Vertex r : registers) image.push_back(layout.tokens + r);
      bool keeps = true;
      for (Vertex i = 0; i < n && keeps; ++i) {
        keeps = layout.vertex_colour[i] == layout.vertex_colour[image[i]];
        for (const auto l : layout.order) {
          for (const auto r : layout.layers[l].relations) {
            for (Vertex j = 0; j < n && keeps; ++j) keeps = layout.relations[r].colour(i, j) == layout.relations[r].colour(image[i], image[j]);
          }
        }
      }
      if (keeps) {
        group.insert(tokens);
        break;
      }
    }
  }
  return group;
}

/// The group generated by permutations.
inline std::set<Images> close(Vertex n, const std::set<Images>& generators) {
  Images identity(n);
  std::iota(identity.begin(), identity.end(), Vertex{0});
  std::set<Images> group{identity};
  std::vector<Images> queue{identity};
  while (!queue.empty()) {
    const Images g = queue.back();
    queue.pop_back();
    for (const Images& s : generators) {
      Images product(n);
      for (Vertex x = 0; x < n; ++x) product[x] = s[g[x]];
      if (group.insert(product).second) queue.push_back(product);
    }
  }
  return group;
}

/// s_a(X) = s_b(tau X) for a pair of outputs.
struct Match {
  Vertex a, b;
  Images tau;
};

inline std::vector<Match> find_matches(const Layout& layout, std::uint64_t m, RegisterRows rule) {
  Labels labels(layout, rule);
  Images identity(layout.tokens);
  std::iota(identity.begin(), identity.end(), Vertex{0});
  const std::vector<int> of_x = labels.run(identity, m);
  std::vector<Match> matches;
  for (const Images& tau : all_permutations(layout.tokens)) {
    Images value(layout.tokens);  // Y_{tau(j)} = X_j
    for (Vertex j = 0; j < layout.tokens; ++j) value[tau[j]] = j;
    const std::vector<int> of_y = labels.run(value, m);
    for (Vertex a = 0; a < layout.tokens; ++a) {
      if (of_x[a] == of_y[tau[a]]) matches.push_back({a, tau[a], tau});
    }
  }
  return matches;
}

/// What the class lets output a depend on, cut down to what a G-equivariant target can use.
inline std::vector<std::set<Vertex>> wanted(const Layout& layout, ClassKind kind, const std::set<Images>& target) {
  const auto ever = see(layout, layout.order.size() * (layout.vertices() + 1));
  std::vector<std::set<Vertex>> base(layout.tokens), result(layout.tokens);
  for (Vertex a = 0; a < layout.tokens; ++a) {
    for (Vertex j = 0; j < layout.tokens; ++j) {
      if (kind == ClassKind::all || (kind == ClassKind::causal ? j <= a : ever[a][j])) base[a].insert(j);
    }
  }
  for (Vertex a = 0; a < layout.tokens; ++a) {
    for (const Vertex j : base[a]) {
      bool in = true;
      for (const Images& g : target) in = in && base[g[a]].count(g[j]) > 0;
      if (in) result[a].insert(j);
    }
  }
  return result;
}

/// Does some element of the group agree with tau on the wanted tokens of a (a included)?
inline bool is_explained(const std::set<Images>& group, Vertex a, const Images& tau, const std::set<Vertex>& on) {
  return std::any_of(group.begin(), group.end(), [&](const Images& g) {
    return g[a] == tau[a] && std::all_of(on.begin(), on.end(), [&](Vertex j) { return g[j] == tau[j]; });
  });
}

inline group::Group to_group(Vertex n, const std::set<Images>& elements) {
  std::vector<group::Permutation> generators;
  for (const Images& g : elements) {
    generators.push_back(group::Permutation::from_images(g));
    if (generators.back().is_identity()) generators.pop_back();
  }
  return group::make_group(n, generators, Budget{});
}

/// Layers of few arcs on many tokens, places shuffled: a strip of neighbours (k even) or a tree (k odd), one or two layers in turn, arcs one way
/// only in the second; some tokens stand apart.
inline std::vector<std::vector<Head>> make_short_rows(std::mt19937_64& random, Vertex tokens, int k) {
  std::vector<Vertex> place(tokens);
  std::iota(place.begin(), place.end(), Vertex{0});
  std::shuffle(place.begin(), place.end(), random);
  std::vector<std::vector<Head>> layers;
  for (int l = 0; l < (k < 2 ? 1 : 2); ++l) {
    std::vector<std::set<Vertex>> rows(tokens);
    for (Vertex v = 1; v < tokens - 7; ++v) {
      const Vertex other = v - 1 - static_cast<Vertex>(random() % std::min<Vertex>(v, k % 2 == 0 ? 4 : 40));
      rows[place[v]].insert(place[other]);
      if (l == 0) rows[place[other]].insert(place[v]);
    }
    Head head;
    for (const auto& row : rows) head.rows.emplace_back(row.begin(), row.end());
    head.cancels = layout::Cancels::nothing;
    layers.push_back({head});
  }
  return layers;
}

/// `count` layers in which every token reads itself, the next one (the last reads the first) and `links` others, whichever: all is seen soon.
inline std::vector<std::vector<Head>> make_random_links(std::mt19937_64& random, Vertex tokens, int links, int count) {
  std::vector<std::vector<Head>> layers;
  for (int l = 0; l < count; ++l) {
    Head head;
    for (Vertex i = 0; i < tokens; ++i) {
      std::set<Vertex> row{i, (i + 1) % tokens};
      for (int k = 0; k < links; ++k) row.insert(static_cast<Vertex>(random() % tokens));
      head.rows.emplace_back(row.begin(), row.end());
    }
    head.cancels = layout::Cancels::nothing;
    layers.push_back({head});
  }
  return layers;
}

/// One or two layers of `parts` small digraphs side by side, most of them copies of the first; now and then a copy is read from outside, so that
/// its views stay those of the first but nothing moves one onto the other.
inline Layout make_parts(std::mt19937_64& random, Vertex parts, Vertex size) {
  const std::size_t layers = 1 + random() % 2;
  const bool outsider = random() % 2 == 0;
  const Vertex tokens = parts * size + (outsider ? 1 : 0);
  std::vector<std::vector<Head>> heads;
  for (std::size_t l = 0; l < layers; ++l) {
    Rows rows(tokens), part(size);
    const bool cycle = l == 0 && random() % 3 != 0;  // everybody in a part sees everybody
    for (Vertex p = 0; p < parts; ++p) {
      for (Vertex i = 0; i < size; ++i) {
        if (p == 0 || random() % 12 == 0) {
          std::set<Vertex> row;
          if (cycle) row.insert((i + 1) % size);
          if (random() % 2 == 0) row.insert(static_cast<Vertex>(random() % size));
          part[i].assign(row.begin(), row.end());
        }
        for (const Vertex j : part[i]) rows[p * size + i].push_back(p * size + j);
      }
    }
    if (outsider && l == 0) rows[tokens - 1] = {static_cast<Vertex>((parts - 1) * size), tokens - 1};
    heads.push_back({{rows, {}, {}, layout::Cancels::nothing}});
  }
  return make_layout(tokens, 0, heads);
}

/// Rows of at most one vertex beside the reader: matchings, maps, now and then the reader left out (docs/theory.md 16.55).
inline Layout make_single_reads(std::mt19937_64& random, Vertex tokens) {
  const auto below = [&](std::uint64_t k) { return static_cast<Vertex>(random() % k); };
  std::vector<std::vector<Head>> layers(1 + below(3));
  for (auto& heads : layers) {
    Head head;
    head.rows.resize(tokens);
    const bool paired = below(2) == 0;
    const Vertex distance = 1 + below(2);
    for (Vertex i = 0; i < tokens; ++i) {
      const Vertex mate = i ^ distance;
      const Vertex j = paired ? (mate < tokens ? mate : i) : below(tokens);
      if (below(8) != 0) head.rows[i].push_back(i);
      if (j != i && below(8) != 0) head.rows[i].push_back(j);
      std::sort(head.rows[i].begin(), head.rows[i].end());
    }
    heads.push_back(std::move(head));
  }
  std::vector<std::uint32_t> order(layers.size() + below(2));
  for (std::size_t l = 0; l < order.size(); ++l) order[l] = static_cast<std::uint32_t>(l % layers.size());
  return make_layout(tokens, 0, layers, {}, order);
}

inline Layout make_random_layout(std::mt19937_64& random, Vertex tokens, Vertex registers, bool equal_registers, bool coloured) {
  const auto below = [&](std::uint64_t k) { return static_cast<Vertex>(random() % k); };
  const Vertex n = tokens + registers;
  std::vector<std::vector<Head>> layers(1 + below(3));
  for (auto& heads : layers) {
    heads.resize(below(4) == 0 ? 2 : 1);
    for (Head& head : heads) {
      const Vertex density = 1 + below(4);
      const bool causal = below(6) == 0;
      for (Vertex i = 0; i < n; ++i) {
        std::vector<Vertex> row;
        std::vector<std::uint32_t> colours;
        for (Vertex j = 0; j < n; ++j) {
          if (below(5) >= density && !(i == j && below(2) == 0)) continue;
          if (causal && i < tokens && j < tokens && j > i) continue;
          row.push_back(j);
          colours.push_back(1 + (coloured ? below(2) : 0));
        }
        head.rows.push_back(row);
        if (coloured) head.colours.push_back(colours);
      }
      if (coloured && below(3) == 0) head.relative.kind = below(2) == 0 ? layout::RelativeKind::offset : layout::RelativeKind::distance;
      if (coloured && below(3) == 0) head.cancels = layout::Cancels::nothing;
    }
  }
  std::vector<std::uint32_t> order;
  for (std::size_t l = 0; l < layers.size(); ++l) order.insert(order.end(), below(4) == 0 ? 2 : 1, static_cast<std::uint32_t>(l));
  if (below(4) == 0) order.insert(order.end(), order.begin(), order.begin() + 1);
  std::vector<std::uint64_t> colours;
  for (Vertex r = 0; r < registers; ++r) colours.push_back(equal_registers ? 100 : 100 + r);
  Layout layout = make_layout(tokens, registers, layers, colours, order);
  if (below(5) == 0) layout.vertex_colour[0] = 7;
  return layout;
}

/// One plain layer in which every token reads `before` tokens before it to `after` behind it, cut at the ends or round a ring.
inline Layout make_banded(Vertex tokens, std::int64_t before, std::int64_t after, bool wrap) {
  Rows rows(tokens);
  for (std::int64_t i = 0; i < tokens; ++i) {
    std::set<Vertex> row;
    for (std::int64_t j = i - before; j <= i + after; ++j) {
      if (wrap) row.insert(static_cast<Vertex>(((j % tokens) + tokens) % tokens));
      if (!wrap && j >= 0 && j < tokens) row.insert(static_cast<Vertex>(j));
    }
    rows[i].assign(row.begin(), row.end());
  }
  return make_layout(tokens, rows);
}

}  // namespace sightline::sight::oracle

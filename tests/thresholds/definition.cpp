// The answer by definition (docs/theory.md 1.9, 2.4), for layouts of a dozen tokens: isomorphisms of views are looked for vertex by vertex. It shares no
// code with the library or the checker, and must stay so.
//
// Standard input, case after case: id, tokens, registers, layers; the colour of every vertex; layer by layer a matrix of colours, 0 where nothing is read.
// Standard output, a line of JSON for each: order and orbits of the layout's group, `connected`, `needed` by class, what is never seen, the order at `connected`.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace {

using Images = std::vector<int>;
using Matrix = std::vector<std::vector<int>>;
using Marks = std::vector<std::vector<bool>>;  // by reader and token
using Colours = std::vector<std::uint64_t>;

constexpr std::uint64_t most_nodes = 2'000'000;  // of a search; beyond, the case is given up

struct GaveUp {};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// What a permutation has to keep: colours of vertices, and rows where they are shown.
struct Structure {
  Colours colour;
  std::vector<Matrix> relations;
  std::vector<std::vector<bool>> shown;  ///< by relation and reader
  [[nodiscard]] int size() const { return static_cast<int>(colour.size()); }
};

std::size_t count_different(Colours colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

bool are_same(Colours a, Colours b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

Colours refine_once(const Structure& s, const Colours& colours) {
  Colours next(colours.size());
  for (int v = 0; v < s.size(); ++v) {
    std::uint64_t hash = mix(colours[v]);
    for (std::size_t r = 0; r < s.relations.size(); ++r) {
      std::uint64_t reads = 0, is_read = 0;  // sums: in no order
      for (int w = 0; w < s.size(); ++w) {
        const auto arc = [&](int colour) { return mix(static_cast<std::uint64_t>(colour) + (v == w ? 1'000'003 : 77)); };
        if (s.shown[r][v] && s.relations[r][v][w] != 0) reads += mix(mix(3 * colours[w] + 1) ^ arc(s.relations[r][v][w]));
        if (s.shown[r][w] && s.relations[r][w][v] != 0) is_read += mix(mix(3 * colours[w] + 2) ^ arc(s.relations[r][w][v]));
      }
      hash = mix(mix(mix(hash + (s.shown[r][v] ? 1 : 0)) ^ reads) + is_read);
    }
    next[v] = hash;
  }
  return next;
}

Colours refine(const Structure& s, Colours colours) {
  for (std::size_t different = count_different(colours), before = 0; different != before; different = count_different(colours)) {
    before = different;
    colours = refine_once(s, colours);
  }
  return colours;
}

/// Both by the same number of rounds. False: no isomorphism.
bool refine_both(const Structure& a, const Structure& b, Colours& of_a, Colours& of_b) {
  for (std::size_t before = 0; are_same(of_a, of_b);) {
    const std::size_t different = count_different(of_a);
    if (different == before) return true;
    before = different;
    of_a = refine_once(a, of_a);
    of_b = refine_once(b, of_b);
  }
  return false;
}

bool is_isomorphism(const Structure& a, const Structure& b, const Images& images) {
  for (int v = 0; v < a.size(); ++v) {
    if (a.colour[v] != b.colour[images[v]]) return false;
    for (std::size_t r = 0; r < a.relations.size(); ++r) {
      if (a.shown[r][v] != b.shown[r][images[v]]) return false;
      for (int w = 0; a.shown[r][v] && w < a.size(); ++w) {
        if (a.relations[r][v][w] != b.relations[r][images[v]][images[w]]) return false;
      }
    }
  }
  return true;
}

std::uint64_t nodes = 0;  // of this case

std::optional<Images> find_isomorphism(const Structure& a, const Structure& b, Colours of_a, Colours of_b) {
  if (++nodes > most_nodes) throw GaveUp();
  if (!refine_both(a, b, of_a, of_b)) return std::nullopt;
  std::map<std::uint64_t, int> size;
  for (const std::uint64_t colour : of_a) ++size[colour];
  int target = -1;
  for (int v = 0; v < a.size(); ++v) {
    if (size[of_a[v]] > 1 && (target < 0 || size[of_a[v]] < size[of_a[target]])) target = v;
  }
  if (target < 0) {
    Images images(of_a.size());
    for (int v = 0; v < a.size(); ++v) images[v] = static_cast<int>(std::find(of_b.begin(), of_b.end(), of_a[v]) - of_b.begin());
    return is_isomorphism(a, b, images) ? std::optional(images) : std::nullopt;
  }
  const std::uint64_t colour = of_a[target];
  of_a[target] = mix(colour + 1);
  for (int w = 0; w < b.size(); ++w) {
    if (of_b[w] != colour) continue;
    of_b[w] = mix(colour + 1);
    if (auto images = find_isomorphism(a, b, of_a, of_b)) return images;
    of_b[w] = colour;
  }
  return std::nullopt;
}

/// In how many ways automorphisms that fix `fixed` move the vertices of `base`: the product of the lengths of orbits. @param generators  grow
long double count_moves(const Structure& s, const std::vector<int>& fixed, const std::vector<int>& base, std::vector<Images>* generators) {
  Colours colours = s.colour;
  for (std::size_t k = 0; k < fixed.size(); ++k) colours[fixed[k]] = mix(colours[fixed[k]] + 999 + k);
  long double ways = 1;
  for (std::size_t k = 0; k < base.size(); ++k) {
    const int point = base[k];
    const Colours refined = refine(s, colours);
    if (count_different(refined) == refined.size()) break;
    int orbit = 1;
    for (int other = 0; other < s.size(); ++other) {
      if (other == point || refined[other] != refined[point]) continue;
      Colours from = refined, to = refined;
      from[point] = mix(refined[point] + 2);
      to[other] = mix(refined[point] + 2);
      if (const auto images = find_isomorphism(s, s, from, to)) {
        ++orbit;
        if (generators != nullptr) generators->push_back(*images);
      }
    }
    ways *= orbit;
    colours[point] = mix(colours[point] + 31'337 + k);
  }
  return ways;
}

/// The order of a group by the sifting of Schreier and Sims, all vertices in order as base.
class Chain {
public:
  explicit Chain(int degree) : degree_(degree), transversal_(degree, std::vector<Images>(degree)), generators_(degree) {
    Images identity(degree);
    std::iota(identity.begin(), identity.end(), 0);
    for (int k = 0; k < degree; ++k) transversal_[k][k] = identity;
  }
  void add(Images g, int level = 0) {
    int k = level;
    for (; k < degree_ && !transversal_[k][g[k]].empty(); ++k) g = compose(g, invert(transversal_[k][g[k]]));
    if (k == degree_) return;
    for (int l = level; l <= k; ++l) generators_[l].push_back(g);
    for (int l = k; l >= level; --l) close(l);
  }
  [[nodiscard]] long double order() const {
    long double order = 1;
    for (const auto& level : transversal_) order *= static_cast<long double>(std::count_if(level.begin(), level.end(), [](const Images& g) { return !g.empty(); }));
    return order;
  }

private:
  static Images compose(const Images& first, const Images& then) {
    Images result(first.size());
    for (std::size_t v = 0; v < first.size(); ++v) result[v] = then[first[v]];
    return result;
  }
  static Images invert(const Images& g) {
    Images result(g.size());
    for (std::size_t v = 0; v < g.size(); ++v) result[g[v]] = static_cast<int>(v);
    return result;
  }
  void close(int level) {
    for (bool grew = true; grew;) {
      grew = false;
      for (int v = 0; v < degree_; ++v) {
        for (std::size_t k = 0; !transversal_[level][v].empty() && k < generators_[level].size(); ++k) {
          Images g = compose(transversal_[level][v], generators_[level][k]);
          Images& there = transversal_[level][g[level]];
          if (there.empty()) there = std::move(g), grew = true;
        }
      }
    }
    for (int v = 0; level + 1 < degree_ && v < degree_; ++v) {
      for (std::size_t k = 0; !transversal_[level][v].empty() && k < generators_[level].size(); ++k) {
        const Images g = compose(transversal_[level][v], generators_[level][k]);
        add(compose(g, invert(transversal_[level][g[level]])), level + 1);
      }
    }
  }
  int degree_;
  std::vector<std::vector<Images>> transversal_;  ///< by level and point: takes the level's point there and fixes those before
  std::vector<std::vector<Images>> generators_;
};

class Definition {
public:
  Definition(int tokens, Structure layout) : tokens_(tokens), layout_(std::move(layout)), tops_(tokens) {
    std::iota(tops_.begin(), tops_.end(), 0);
    end_ = (layout_.size() + 2) * period() + 2;  // by then nothing new is seen, and all that is seen is shown for long
    order_ = count_moves(layout_, {}, tops_, &generators_);
    orbit_ = tops_;
    for (bool grew = true; grew;) {
      grew = false;
      for (const Images& g : generators_) {
        for (int a = 0; a < tokens_; ++a) {
          const int least = std::min(orbit_[a], orbit_[g[a]]);
          grew = grew || orbit_[a] != least || orbit_[g[a]] != least;
          orbit_[a] = orbit_[g[a]] = least;
        }
      }
    }
  }

  [[nodiscard]] std::string answer() const {
    const Marks everything(tokens_, std::vector<bool>(tokens_, true));
    Marks ever(tokens_, std::vector<bool>(tokens_)), below = ever;
    for (int a = 0; a < tokens_; ++a) {
      const std::vector<int> times = latest(a, end_);
      for (int j = 0; j < tokens_; ++j) ever[a][j] = times[j] >= 0, below[a][j] = j <= a;
    }
    const std::string kind = ever == everything ? "all" : ever == below ? "causal" : "seen";
    keep_images(below);
    const std::optional<int> connected = depth_of(everything);
    std::string text = ",\"order\":\"" + write(order_) + "\",\"orbits\":" + write(orbit_) + ",\"connected\":" + write(connected) + ",\"kind\":\"" + kind + "\"";
    text += ",\"unseen_listed\":" + write(count_unseen(period())) + ",\"unseen_ever\":" + write(count_unseen(end_));
    text += ",\"needed\":{\"all\":" + write(needed(everything)) + ",\"causal\":" + write(needed(below)) + ",\"seen\":" + write(needed(ever)) + "}";
    if (const auto order = connected ? order_at(*connected) : std::nullopt) text += ",\"at_connected\":\"" + write(*order) + "\"";
    return text;
  }

private:
  struct View {
    Structure structure;
    std::vector<int> vertices;
    int root;  ///< its place
    [[nodiscard]] int place(int vertex) const { return static_cast<int>(std::find(vertices.begin(), vertices.end(), vertex) - vertices.begin()); }
  };

  [[nodiscard]] int period() const { return static_cast<int>(layout_.relations.size()); }

  /// t_a of 2.4: the longest time left, -1 where nothing is seen.
  [[nodiscard]] std::vector<int> latest(int a, int depth) const {
    std::vector<int> times(layout_.size(), -1);
    times[a] = depth;
    for (int q = depth; q >= 1; --q) {
      const Matrix& layer = layout_.relations[(q - 1) % period()];
      for (int i = 0; i < layout_.size(); ++i) {
        for (int j = 0; times[i] >= q && j < layout_.size(); ++j) {
          if (layer[i][j] != 0) times[j] = std::max(times[j], q - 1);
        }
      }
    }
    return times;
  }

  [[nodiscard]] View view(int a, int depth) const {
    const std::vector<int> times = latest(a, depth);
    View result;
    for (int v = 0; v < layout_.size(); ++v) {
      if (times[v] >= 0) result.vertices.push_back(v);
    }
    result.root = result.place(a);
    const std::size_t size = result.vertices.size();
    for (const int v : result.vertices) result.structure.colour.push_back(mix(3 * layout_.colour[v] + mix(2 * static_cast<std::uint64_t>(times[v]) + (v == a ? 1 : 0))));
    for (int l = 0; l < period(); ++l) {
      Matrix rows(size, std::vector<int>(size, 0));
      std::vector<bool> shown(size);
      for (std::size_t i = 0; i < size; ++i) {
        shown[i] = times[result.vertices[i]] >= l + 1;
        for (std::size_t j = 0; shown[i] && j < size; ++j) rows[i][j] = layout_.relations[l][result.vertices[i]][result.vertices[j]];
      }
      result.structure.relations.push_back(std::move(rows));
      result.structure.shown.push_back(std::move(shown));
    }
    return result;
  }

  /// What stays of these sets where the group maps them to each other.
  void keep_images(Marks& sets) const {
    for (bool shrank = true; shrank;) {
      shrank = false;
      for (const Images& g : generators_) {
        for (int a = 0; a < tokens_; ++a) {
          for (int j = 0; j < tokens_; ++j) {
            if (sets[a][j] == sets[g[a]][g[j]]) continue;
            sets[a][j] = sets[g[a]][g[j]] = false;
            shrank = true;
          }
        }
      }
    }
  }

  [[nodiscard]] std::vector<int> count_unseen(int depth) const {
    std::vector<int> counts;
    for (int a = 0; a < tokens_; ++a) {
      const std::vector<int> times = latest(a, depth);
      counts.push_back(static_cast<int>(std::count(times.begin(), times.begin() + tokens_, -1)));
    }
    return counts;
  }

  /// Least depth at which every token sees its set.
  [[nodiscard]] std::optional<int> depth_of(const Marks& sets) const {
    for (int depth = 0; depth <= end_; ++depth) {
      const auto sees = [&](int a) {
        const std::vector<int> times = latest(a, depth);
        return std::all_of(tops_.begin(), tops_.end(), [&](int j) { return !sets[a][j] || times[j] >= 0; });
      };
      if (std::all_of(tops_.begin(), tops_.end(), sees)) return depth;
    }
    return std::nullopt;
  }

  /// Theorem E: does every isomorphism of two views do to the sets what the group does?
  [[nodiscard]] bool does_group_explain(int depth, const Marks& sets) const {
    std::vector<View> views;
    for (int a = 0; a < tokens_; ++a) {
      if (orbit_[a] != a) continue;
      views.push_back(view(a, depth));
      const View& mine = views.back();
      for (std::size_t k = 0; k + 1 < views.size(); ++k) {
        if (views[k].vertices.size() != mine.vertices.size()) continue;
        if (find_isomorphism(views[k].structure, mine.structure, views[k].structure.colour, mine.structure.colour)) return false;
      }
      std::vector<int> in_view, in_layout;
      for (int j = 0; j < tokens_; ++j) {
        if (sets[a][j]) in_layout.push_back(j), in_view.push_back(mine.place(j));
      }
      if (count_moves(mine.structure, {mine.root}, in_view, nullptr) != count_moves(layout_, {a}, in_layout, nullptr)) return false;
    }
    return true;
  }

  [[nodiscard]] std::optional<int> needed(const Marks& sets) const {
    const std::optional<int> seen = depth_of(sets);
    if (!seen || !does_group_explain(end_, sets)) return std::nullopt;
    int depth = *seen;
    while (!does_group_explain(depth, sets)) ++depth;
    return depth;
  }

  /// Order of G*_m at a depth where every view holds all vertices; nothing elsewhere (registers).
  [[nodiscard]] std::optional<long double> order_at(int depth) const {
    Chain chain(tokens_);
    const auto add = [&](const Images& g) { chain.add(Images(g.begin(), g.begin() + tokens_)); };
    for (const Images& g : generators_) add(g);
    std::vector<int> all(layout_.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<View> views;
    for (int a = 0; a < tokens_; ++a) {
      if (orbit_[a] != a) continue;
      views.push_back(view(a, depth));
      const View& mine = views.back();
      if (mine.vertices.size() != all.size()) return std::nullopt;
      std::vector<Images> found;
      count_moves(mine.structure, {}, all, &found);
      for (std::size_t k = 0; k + 1 < views.size(); ++k) {
        if (const auto images = find_isomorphism(views[k].structure, mine.structure, views[k].structure.colour, mine.structure.colour)) found.push_back(*images);
      }
      for (const Images& g : found) add(g);
    }
    return chain.order();
  }

  static std::string write(long double number) {
    char text[64];
    std::snprintf(text, sizeof text, "%.0Lf", number);
    return text;
  }
  static std::string write(const std::optional<int>& number) { return number ? std::to_string(*number) : "null"; }
  static std::string write(const std::vector<int>& numbers) {
    std::string text;
    for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
    return "[" + text + "]";
  }

  int tokens_, end_ = 0;
  Structure layout_;
  std::vector<int> tops_;  ///< all tokens
  long double order_ = 1;
  std::vector<Images> generators_;
  std::vector<int> orbit_;  ///< by token: the first of its orbit
};

}  // namespace

int main() {
  std::string id;
  int tokens = 0, registers = 0, layers = 0;
  while (std::cin >> id >> tokens >> registers >> layers) {
    const auto vertices = static_cast<std::size_t>(tokens + registers);
    Structure layout{Colours(vertices), std::vector<Matrix>(layers, Matrix(vertices, std::vector<int>(vertices))), std::vector<std::vector<bool>>(layers, std::vector<bool>(vertices, true))};
    for (std::uint64_t& colour : layout.colour) std::cin >> colour, colour = mix(colour);
    for (Matrix& layer : layout.relations) {
      for (auto& row : layer) {
        for (int& colour : row) std::cin >> colour;
      }
    }
    nodes = 0;
    std::string answer;
    try {
      answer = Definition(tokens, std::move(layout)).answer();
    } catch (const GaveUp&) {
      answer = ",\"gave_up\":true";
    }
    std::cout << "{\"id\":\"" << id << '"' << answer << "}" << std::endl;
  }
}

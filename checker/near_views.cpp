// Step "near" of docs/certificate.md: views whose isomorphisms all stay within classes, shown from the surroundings of the roots.
//
// With F the layer by which every relation has occurred and h >= F, all rows of B_a = {j : t_a(j) >= h} are in sight of a, and isomorphisms of views
// keep t. (1) Where hashes of B_a and its rows differ everywhere, and from root to root, isomorphisms fix B_a and exist for one root alone.
// (2) T(j), the longest time left when the common part P of a cluster of roots starts with its least times, bounds t_a(j) from below. A fixed p with
// T(p) >= F shows all its rows to every root, so what p reads goes to what p reads, colour by colour. (3) Kinds of vertices are split by the fixed ones
// that read them, one-vertex kinds are fixed; kinds that remain must lie in one class each.
//
// Where surroundings are large, from the lengths of rows alone: (1') with T from what all roots of a cluster read in the last layer and U(j) the longest time left
// for one of them, a vertex p with T(p) >= F is fixed by every isomorphism between views of these roots if no other vertex with rows as long as its rows can have as
// much time left: their intervals T..U do not meet. Then (3); and with all of it a root is fixed, so that there is none between two of the cluster. (2') Nor is there
// between two clusters if the rows of their roots have different lengths.
#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "distinct.hpp"
#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// Kinds of vertices, split by values.
struct Kinds {
  std::vector<std::uint32_t> of;               ///< by vertex
  std::vector<std::vector<Vertex>> members;    ///< by kind
  std::vector<std::size_t> position;           ///< of a vertex among the members of its kind

  explicit Kinds(const std::vector<std::uint64_t>& first) : of(first.size()), position(first.size()) {
    std::map<std::uint64_t, std::uint32_t> names;
    for (Vertex x = 0; x < first.size(); ++x) {
      of[x] = names.emplace(first[x], names.size()).first->second;
      if (of[x] == members.size()) members.emplace_back();
      position[x] = members[of[x]].size();
      members[of[x]].push_back(x);
    }
  }
  /// These members of one kind become a kind of their own, unless they are all of it.
  void split_off(const std::vector<Vertex>& part) {
    std::vector<Vertex>& old = members[of[part[0]]];
    if (part.size() == old.size()) return;
    for (const Vertex x : part) {
      position[old.back()] = position[x];
      std::swap(old[position[x]], old.back());
      old.pop_back();
    }
    for (std::size_t k = 0; k < part.size(); ++k) {
      of[part[k]] = static_cast<std::uint32_t>(members.size());
      position[part[k]] = k;
    }
    members.push_back(part);
  }
};

}  // namespace

class PlaceColours::Near {
public:
  explicit Near(const PlaceColours& views) : views_(views), vertices_(views.layout_.vertices()), latest_(vertices_, -1), next_(std::size_t{vertices_} + 1) {
    std::iota(next_.begin(), next_.end(), Vertex{0});
    for (const Rows& rows : views.relations_) {
      if (rows.first_layer != absent) first_ = std::max(first_, rows.first_layer);
    }
  }

  bool explains(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
    int tries = 3;  // what surrounds all roots of a cluster is more where more surrounds each
    for (std::uint64_t steps = 1; steps + first_ <= views_.depth_ && tries > 0; steps *= 2) {
      const Found found = tell_apart(roots, static_cast<std::int64_t>(views_.depth_ - steps));
      if (found == Found::too_long) return false;
      if (found == Found::alike) continue;
      if (std::all_of(clusters_.begin(), clusters_.end(), [&](const Cluster& cluster) { return fixes_all(cluster, number); })) return true;
      --tries;
    }
    return false;
  }

  bool explains_by_lengths(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
    if (views_.depth_ < first_) return false;
    const std::vector<std::uint64_t> lengths = measure_rows();
    std::vector<std::vector<Vertex>> clusters;  // the first member is read by the others in the last layer
    std::uint64_t work = 0;
    for (const Vertex a : roots) {
      std::size_t c = 0;
      for (bool reads = false; c < clusters.size(); ++c) {
        each_read_last(a, [&](const Piece& piece, std::uint32_t) { reads = reads || holds(piece, clusters[c][0]), ++work; });
        if (reads) break;
      }
      if (c == most_clusters || work > 16 * std::uint64_t{vertices_}) return false;
      if (c == clusters.size()) clusters.emplace_back();
      clusters[c].push_back(a);
    }
    std::map<std::uint64_t, std::size_t> whose;
    for (std::size_t c = 0; c < clusters.size(); ++c) {
      for (const Vertex a : clusters[c]) {
        if (whose.emplace(lengths[a], c).first->second != c) return false;
      }
    }
    return std::all_of(clusters.begin(), clusters.end(), [&](const std::vector<Vertex>& cluster) { return fixes_all_by_lengths(cluster, lengths, number); });
  }

private:
  enum class Found { apart, alike, too_long };
  struct Cluster {
    Vertex lead;
    std::vector<Vertex> roots;
    std::map<Vertex, std::int64_t> common;
  };
  struct Located {
    std::size_t reader, begin, end;
    std::uint64_t weight;
  };
  static constexpr std::uint64_t absent = ~std::uint64_t{0};
  static constexpr std::size_t most_clusters = 16;

  Vertex unmet_from(Vertex j) {
    while (next_[j] != j) j = next_[j] = next_[next_[j]];
    return j;
  }

  template <class Visit>
  void each_unmet(const Piece& piece, const Visit& visit) {
    const Vertex step = views_.steps_[piece.step];
    for (std::uint64_t j = step == 1 ? unmet_from(piece.first) : piece.first; j <= piece.last; j = step == 1 ? unmet_from(static_cast<Vertex>(j)) : j + step) {
      if (next_[j] != j) continue;
      next_[j] = static_cast<Vertex>(j + 1);
      visit(static_cast<Vertex>(j));
    }
  }

  template <class Visit>
  void each_piece(Vertex i, const Visit& visit) const {
    for (std::size_t r = 0; r < views_.relations_.size(); ++r) {
      const Rows& rows = views_.relations_[r];
      if (rows.first_layer == absent) continue;
      for (std::size_t k = rows.begin[rows.list[i]]; k < rows.begin[rows.list[i] + 1]; ++k) visit(rows.pieces[k], r);
    }
  }

  /// Times left above `lowest` into latest_, met vertices into met_. `starts` by falling time.
  void walk(const std::vector<std::pair<std::int64_t, Vertex>>& starts, std::int64_t lowest) {
    const auto take = [&](Vertex j, std::int64_t time) {
      latest_[j] = time;
      next_[j] = j + 1;
      met_.push_back(j);
    };
    std::vector<std::size_t> expanded(views_.layout_.layers.size(), 0);
    std::size_t started = 0;
    for (std::int64_t q = starts[0].first; q > lowest; --q) {
      for (; started < starts.size() && starts[started].first >= q; ++started) {
        if (latest_[starts[started].second] < 0) take(starts[started].second, starts[started].first);
      }
      const std::uint32_t l = views_.layout_.order[static_cast<std::size_t>(q - 1) % views_.layout_.order.size()];
      const std::size_t end = met_.size();
      for (; expanded[l] < end; ++expanded[l]) {
        for (const std::uint32_t r : views_.layout_.layers[l]) {
          const Rows& rows = views_.relations_[r];
          const std::uint32_t list = rows.list[met_[expanded[l]]];
          for (std::size_t k = rows.begin[list]; k < rows.begin[list + 1]; ++k) {
            each_unmet(rows.pieces[k], [&](Vertex j) { take(j, q - 1); });
          }
        }
      }
    }
  }

  void forget() {
    for (const Vertex j : met_) {
      latest_[j] = -1;
      next_[j] = j;
    }
    met_.clear();
  }

  Found tell_apart(const std::vector<Vertex>& roots, std::int64_t lowest) {
    const std::uint64_t most_work = 16 * std::uint64_t{vertices_} + (std::uint64_t{1} << 22);
    std::set<std::uint64_t> invariants;
    std::size_t done = 0;
    clusters_.clear();
    work_ = 0;
    for (const Vertex a : roots) {
      walk({{static_cast<std::int64_t>(views_.depth_), a}}, lowest);
      const bool joined = join_cluster(a);
      const std::optional<std::uint64_t> invariant = colour_surroundings(a);
      forget();
      // The first few roots tell what all of them would take.
      if (work_ > most_work || (++done == 8 && work_ / done > most_work / roots.size())) return Found::too_long;
      if (!joined || !invariant || !invariants.insert(*invariant).second) return Found::alike;
    }
    return Found::apart;
  }

  bool join_cluster(Vertex a) {
    for (Cluster& cluster : clusters_) {
      if (latest_[cluster.lead] < 0) continue;
      for (auto at = cluster.common.begin(); at != cluster.common.end();) {
        at->second = std::min(at->second, latest_[at->first]);
        at = at->second < 0 ? cluster.common.erase(at) : std::next(at);
      }
      cluster.roots.push_back(a);
      return !cluster.common.empty();
    }
    if (clusters_.size() == most_clusters) return false;
    clusters_.push_back({a, {a}, {}});
    for (const Vertex j : met_) clusters_.back().common.emplace(j, latest_[j]);
    return true;
  }

  // Vertices in the order of a step: by residue, then by size, so that its runs have no gaps.
  [[nodiscard]] std::uint64_t place(std::uint32_t step, std::uint64_t j) const {
    const std::uint64_t s = views_.steps_[step];
    return j % s * (vertices_ / s + 2) + j / s;
  }
  [[nodiscard]] Vertex vertex_at(std::uint32_t step, std::uint64_t place) const {
    const std::uint64_t s = views_.steps_[step], width = vertices_ / s + 2;
    return static_cast<Vertex>(place % width * s + place / width);
  }

  /// A hash of B_a (what is met) with its rows, when all of B_a has different hashes.
  std::optional<std::uint64_t> colour_surroundings(Vertex root) {
    const std::size_t inner = met_.size();
    for (std::size_t i = 0; i < inner; ++i) {
      each_piece(met_[i], [&](const Piece& piece, std::size_t) { each_unmet(piece, [&](Vertex j) { met_.push_back(j); }); });
    }
    const std::size_t all = met_.size(), steps = views_.steps_.size();
    std::vector<std::vector<std::pair<std::uint64_t, std::size_t>>> order(steps);
    std::vector<std::vector<Located>> located(steps);
    for (std::uint32_t s = 0; s < steps; ++s) {
      for (std::size_t x = 0; x < all; ++x) order[s].emplace_back(place(s, met_[x]), x);
      std::sort(order[s].begin(), order[s].end());
    }
    for (std::size_t i = 0; i < inner; ++i) {
      each_piece(met_[i], [&](const Piece& piece, std::size_t relation) {
        const auto& sorted = order[piece.step];
        const auto find = [&](std::uint64_t at) {
          return static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), std::pair<std::uint64_t, std::size_t>{at, 0}) - sorted.begin());
        };
        located[piece.step].push_back({i, find(place(piece.step, piece.first)), find(place(piece.step, piece.last) + 1), mix(piece.weight + relation) | 1});
        ++work_;
      });
    }
    work_ += all;
    std::vector<std::uint64_t> hash(all), told(all), sums(all + 1);
    for (std::size_t x = 0; x < all; ++x) {
      hash[x] = mix(2 * views_.rank_[met_[x]] + (met_[x] == root ? 1 : 0)) + (x < inner ? static_cast<std::uint64_t>(latest_[met_[x]]) + 1 : 0);
    }
    for (std::size_t known = 0;;) {
      poll_now();
      const std::size_t distinct = different_.count(hash, inner);
      if (distinct == inner) break;
      if (distinct == known) return std::nullopt;
      known = distinct;
      std::vector<std::uint64_t> read(inner, 0);
      for (std::size_t s = 0; s < steps; ++s) {
        sums[0] = 0;
        for (std::size_t k = 0; k < all; ++k) sums[k + 1] = sums[k] + mix(hash[order[s][k].second]);
        for (const Located& run : located[s]) read[run.reader] += run.weight * (sums[run.end] - sums[run.begin]);
      }
      for (std::size_t i = 0; i < inner; ++i) hash[i] = mix(hash[i] + 5 * mix(read[i]));
      std::fill(told.begin(), told.end(), 0);
      for (std::size_t s = 0; s < steps; ++s) {
        std::fill(sums.begin(), sums.end(), 0);
        for (const Located& run : located[s]) {
          sums[run.begin] += run.weight * mix(hash[run.reader]);
          sums[run.end] -= run.weight * mix(hash[run.reader]);
        }
        std::uint64_t sum = 0;
        for (std::size_t k = 0; k < all; ++k) told[order[s][k].second] += sum += sums[k];
      }
      for (std::size_t x = 0; x < all; ++x) hash[x] = mix(hash[x] + 3 * mix(told[x]));
    }
    std::uint64_t invariant = 0;
    for (std::size_t x = 0; x < inner; ++x) invariant += mix(hash[x] + 7);
    return invariant;
  }

  /// Does a row of what is met lead out of it?
  bool leads_out() {
    bool out = false;
    for (std::size_t k = 0; k < met_.size() && met_.size() < vertices_ && !out; ++k) {
      each_piece(met_[k], [&](const Piece& piece, std::size_t) {
        const Vertex step = views_.steps_[piece.step];
        if (step == 1) out = out || unmet_from(piece.first) <= piece.last;
        for (std::uint64_t j = piece.first; step > 1 && j <= piece.last && !out; j += step) out = next_[j] == j;
      });
    }
    return out;
  }

  [[nodiscard]] bool holds(const Piece& piece, Vertex j) const { return j >= piece.first && j <= piece.last && (j - piece.first) % views_.steps_[piece.step] == 0; }

  /// What a root reads in the last layer.
  template <class Visit>
  void each_read_last(Vertex a, const Visit& visit) const {
    for (const std::uint32_t r : views_.layout_.layers[views_.layout_.order[(views_.depth_ - 1) % views_.layout_.order.size()]]) {
      const Rows& rows = views_.relations_[r];
      for (std::size_t k = rows.begin[rows.list[a]]; k < rows.begin[rows.list[a] + 1]; ++k) visit(rows.pieces[k], r);
    }
  }

  /// By vertex: its rank, and how much it reads by each relation in each colour. Different where one of these is.
  [[nodiscard]] std::vector<std::uint64_t> measure_rows() const {
    std::vector<std::uint64_t> lengths(vertices_);
    for (Vertex v = 0; v < vertices_; ++v) {
      std::uint64_t sum = 0;
      each_piece(v, [&](const Piece& piece, std::size_t relation) { sum += mix(mix(piece.weight) + 31 * relation) * ((piece.last - piece.first) / views_.steps_[piece.step] + 1); });
      lengths[v] = mix(mix(views_.rank_[v]) + sum);
    }
    return lengths;
  }

  bool fixes_all_by_lengths(const std::vector<Vertex>& cluster, const std::vector<std::uint64_t>& lengths, const std::vector<Vertex>& number) {
    const auto depth = static_cast<std::int64_t>(views_.depth_);
    // How many roots read each vertex in the last layer, by relation: as differences along each step.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> read;
    for (const Vertex a : cluster) {
      each_read_last(a, [&](const Piece& piece, std::uint32_t relation) {
        std::vector<std::int64_t>& change = read.try_emplace({relation, piece.step}, std::size_t{vertices_} + views_.steps_[piece.step], 0).first->second;
        ++change[piece.first];
        --change[std::size_t{piece.last} + views_.steps_[piece.step]];
      });
    }
    std::map<std::uint32_t, std::vector<std::int64_t>> readers;
    for (auto& [key, change] : read) {
      const Vertex step = views_.steps_[key.second];
      std::vector<std::int64_t>& sum = readers.try_emplace(key.first, vertices_, 0).first->second;
      for (Vertex j = 0; j < vertices_; ++j) sum[j] += change[j] += j < step ? 0 : change[j - step];
    }
    std::vector<std::pair<std::int64_t, Vertex>> all, common;
    for (const Vertex a : cluster) all.emplace_back(depth, a);
    for (Vertex j = 0; j < vertices_; ++j) {
      if (std::any_of(readers.begin(), readers.end(), [&](const auto& of) { return of.second[j] == static_cast<std::int64_t>(cluster.size()); })) common.emplace_back(depth - 1, j);
    }
    if (common.empty()) return false;
    walk(all, 0);
    const std::vector<std::int64_t> most = latest_;
    forget();
    walk(common, 0);
    bool fixed = !leads_out() && std::all_of(cluster.begin(), cluster.end(), [&](Vertex a) { return latest_[a] >= 0; });
    if (fixed) {
      const std::vector<Vertex> alone = find_alone(lengths, most);
      fixed = !alone.empty() && stay_in_classes(spread(alone), number);
    }
    forget();
    return fixed;
  }

  /// Those with T >= F whose times no other of the same lengths can have.
  [[nodiscard]] std::vector<Vertex> find_alone(const std::vector<std::uint64_t>& lengths, const std::vector<std::int64_t>& most) const {
    std::vector<std::tuple<std::uint64_t, std::int64_t, Vertex>> by_least;
    for (Vertex j = 0; j < vertices_; ++j) {
      if (latest_[j] >= 0) by_least.emplace_back(lengths[j], latest_[j], j);
    }
    std::sort(by_least.begin(), by_least.end());
    std::vector<Vertex> alone;
    std::int64_t before = -1;
    for (std::size_t k = 0; k < by_least.size(); ++k) {
      const auto& [length, least, j] = by_least[k];
      if (k == 0 || std::get<0>(by_least[k - 1]) != length) before = -1;
      const bool met_later = k + 1 < by_least.size() && std::get<0>(by_least[k + 1]) == length && std::get<1>(by_least[k + 1]) <= most[j];
      if (least >= static_cast<std::int64_t>(first_) && before < least && !met_later) alone.push_back(j);
      before = std::max(before, most[j]);
    }
    return alone;
  }

  [[nodiscard]] bool stay_in_classes(const Kinds& kinds, const std::vector<Vertex>& number) const {
    return std::all_of(kinds.members.begin(), kinds.members.end(), [&](const std::vector<Vertex>& members) {
      if (members.size() == 1 || latest_[members[0]] < 0) return true;
      return std::all_of(members.begin(), members.end(), [&](Vertex x) { return x < number.size() && members[0] < number.size() && number[x] == number[members[0]]; });
    });
  }

  bool fixes_all(const Cluster& cluster, const std::vector<Vertex>& number) {
    std::vector<std::pair<std::int64_t, Vertex>> starts;
    for (const auto& [j, time] : cluster.common) starts.emplace_back(time, j);
    std::sort(starts.rbegin(), starts.rend());
    walk(starts, 0);
    bool fixed = !leads_out() && std::all_of(cluster.roots.begin(), cluster.roots.end(), [&](Vertex a) { return latest_[a] >= 0; });
    if (fixed) {
      std::vector<Vertex> common;
      for (const auto& [j, time] : cluster.common) common.push_back(j);
      fixed = stay_in_classes(spread(common), number);
    }
    forget();
    return fixed;
  }

  /// Kinds as far as fixed vertices tell them apart.
  [[nodiscard]] Kinds spread(const std::vector<Vertex>& named) const {
    std::vector<std::uint64_t> first(vertices_, 0), difference(vertices_, 0);  // 0: not seen
    for (Vertex j = 0; j < vertices_; ++j) first[j] = latest_[j] < 0 ? 0 : views_.rank_[j] + 1;
    for (const Vertex j : named) first[j] = std::uint64_t{vertices_} + 1 + j;
    Kinds kinds(first);
    std::vector<Vertex> fixed, touched;
    for (const auto& members : kinds.members) {
      if (members.size() == 1) fixed.push_back(members[0]);
    }
    struct End {
      std::uint64_t place, value;
      int opens;
    };
    std::vector<std::vector<End>> ends(views_.steps_.size());
    std::uint64_t work = 0;
    while (!fixed.empty() && work <= 256 * std::uint64_t{vertices_}) {
      poll();
      for (const Vertex p : fixed) {
        each_piece(p, [&](const Piece& piece, std::size_t relation) {
          if (latest_[p] < 0 || static_cast<std::uint64_t>(latest_[p]) < views_.relations_[relation].first_layer) return;
          const std::uint64_t value = mix(mix(p) + mix(piece.weight + 31 * relation));
          ends[piece.step].push_back({place(piece.step, piece.first), value, 1});
          ends[piece.step].push_back({place(piece.step, piece.last) + 1, 0 - value, -1});
        });
      }
      for (std::uint32_t s = 0; s < ends.size(); ++s) {
        std::sort(ends[s].begin(), ends[s].end(), [](const End& a, const End& b) { return a.place < b.place; });
        std::uint64_t sum = 0;
        int open = 0;
        for (std::size_t k = 0; k < ends[s].size(); ++k) {
          sum += ends[s][k].value;
          open += ends[s][k].opens;
          for (std::uint64_t at = ends[s][k].place; open > 0 && at < ends[s][k + 1].place; ++at, ++work) {
            const Vertex x = vertex_at(s, at);
            if (kinds.members[kinds.of[x]].size() == 1) continue;
            touched.push_back(x);
            difference[x] += sum;
          }
        }
        ends[s].clear();
      }
      std::sort(touched.begin(), touched.end());
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      fixed = split(kinds, touched, difference);
      for (const Vertex x : touched) difference[x] = 0;
      touched.clear();
    }
    return kinds;
  }

  /// The vertices that are alone now.
  static std::vector<Vertex> split(Kinds& kinds, const std::vector<Vertex>& touched, const std::vector<std::uint64_t>& difference) {
    std::vector<std::tuple<std::uint32_t, std::uint64_t, Vertex>> records;
    for (const Vertex x : touched) {
      if (difference[x] != 0) records.emplace_back(kinds.of[x], difference[x], x);
    }
    std::sort(records.begin(), records.end());
    std::vector<Vertex> part, alone;
    const auto note = [&](std::uint32_t kind) {
      if (kinds.members[kind].size() == 1) alone.push_back(kinds.members[kind][0]);
    };
    for (std::size_t begin = 0, end = 0; begin < records.size(); begin = end) {
      const auto [kind, value, x] = records[begin];
      part.clear();
      for (; end < records.size() && std::get<0>(records[end]) == kind && std::get<1>(records[end]) == value; ++end) part.push_back(std::get<2>(records[end]));
      const std::size_t before = kinds.members.size();
      kinds.split_off(part);
      if (kinds.members.size() > before) note(static_cast<std::uint32_t>(before));
      if (end == records.size() || std::get<0>(records[end]) != kind) note(kind);
    }
    return alone;
  }

  const PlaceColours& views_;
  Vertex vertices_;
  Distinct different_;
  std::uint64_t first_ = 1, work_ = 0;
  std::vector<std::int64_t> latest_;
  std::vector<Vertex> next_, met_;
  std::vector<Cluster> clusters_;
};

bool PlaceColours::explains_all(const std::vector<Vertex>& roots, const std::vector<Vertex>& number, std::size_t few_roots, Vertex few_vertices) const {
  if (roots.size() < few_roots || layout_.vertices() < few_vertices || vertex.size() != layout_.vertices() || layout_.order.empty()) return false;
  return Near(*this).explains(roots, number) || explains_by_lengths(roots, number);
}

bool PlaceColours::explains_by_lengths(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) const {
  return vertex.size() == layout_.vertices() && !layout_.order.empty() && depth_ > 0 && Near(*this).explains_by_lengths(roots, number);
}

bool do_lengths_explain(const Layout& layout, const Group& group, std::uint64_t depth, const std::vector<Vertex>& roots, const std::vector<Vertex>& number) {
  constexpr Threshold<std::size_t> least{1024, 1, "row lengths"};
  if (roots.size() < least || !group.classes.empty()) return false;
  const auto places = PlaceColours::make(layout, group, depth);
  return places && places->explains_by_lengths(roots, number);
}

}  // namespace checker

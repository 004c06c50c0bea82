// All isomorphisms of many views at once, where the surroundings of each root already name what is near it.
//
// t_a(j) is kept by isomorphisms of views. Let F be the layer by which every relation has occurred, and B_a = {j : t_a(j) >= h} for some
// h >= F: all rows of B_a are in sight of a, so an isomorphism H_a -> H_b maps B_a and its rows onto B_b and its rows.
//  1. If hashes of these surroundings differ on all of B_a, and from root to root, then there is no isomorphism between two of the roots, and each
//     of one view to itself fixes B_a.
//  2. Let P lie in B_a for all roots a of a cluster, and T(j) be the longest time that is left at j when every p of P starts with the least t_a(p):
//     a lower bound of t_a(j) for all of them. Where a relation has occurred by layer T(p), every root has its row of a fixed vertex p in sight, so what p
//     reads there is mapped onto itself, colour by colour; a vertex that is read by a set of fixed vertices like no other is fixed as well.
//  3. What is not fixed in the end stays among those of its kind; if each kind lies in one class, the group explains every isomorphism.
// One pass over the rows for a whole cluster (the end of a window), where comparing the views takes one per root.
//
// Surroundings of many roots take long where each is large (windows of thousands of tokens). Rows say something by themselves (docs/theory.md 16.96): how many
// members they have of each colour is kept by isomorphisms wherever a row is in sight, so that
//  4. with T as above, from what all roots of a cluster read in the last layer, and U(j) the longest time left at j for any root of it: if T(p) >= F and no other
//     vertex with the counts of p can have as much time left as p can, then p is fixed by every isomorphism between views of these roots; and the rest is step 2.
//     Where all is fixed, so is the root: two of the cluster have no isomorphism between them;
//  5. nor have two of different clusters, if their counts differ.
#include <algorithm>
#include <numeric>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/stepped_sums.hpp"
#include "sightline/sight/view_colours.hpp"
#include "sightline/symmetry/partition.hpp"

namespace sightline::sight {

class ViewColours::Near {
public:
  Near(const ViewColours& views, const std::vector<Vertex>& roots) : views_(views), roots_(roots), vertices_(static_cast<Vertex>(views.vertex_.size())), booking_(*views.budget_) {
    booking_.grow(std::uint64_t{vertices_} * 64);
    latest_.assign(vertices_, -1);
    next_.resize(std::size_t{vertices_} + 1);
    std::iota(next_.begin(), next_.end(), Vertex{0});
    for (const Rows& rows : views.relations_) last_first_ = std::max(last_first_, rows.first_layer);
  }

  bool explains_by_rows(const std::vector<Vertex>& number) {
    if (views_.depth_ < last_first_) return false;
    const std::vector<std::uint64_t> counts = count_rows();
    if (!gather()) return false;
    std::unordered_map<std::uint64_t, Vertex> lead;  // of the cluster in which a root has these counts
    for (const Cluster& cluster : clusters_) {
      for (const Vertex a : cluster.roots) {
        if (lead.emplace(counts[a], cluster.lead).first->second != cluster.lead) return false;
      }
    }
    return std::all_of(clusters_.begin(), clusters_.end(), [&](Cluster& cluster) { return fixes_all_by_rows(cluster, counts, number); });
  }

  bool explains(const std::vector<Vertex>& number) {
    int tries = 3;  // the roots of a cluster have more in common the more surrounds them
    for (std::uint64_t steps = 1; steps + last_first_ <= views_.depth_ && tries > 0; steps *= 2) {
      const std::optional<bool> told = tell_apart(views_.depth_ - steps);
      if (!told) return false;
      if (!*told) continue;
      if (std::all_of(clusters_.begin(), clusters_.end(), [&](const Cluster& cluster) { return fixes_all(cluster, number); })) return true;
      --tries;
    }
    return false;
  }

private:
  struct Source {
    Vertex vertex;
    std::int64_t time;
  };
  struct Cluster {
    Vertex lead;
    std::vector<Vertex> roots;
    std::vector<Source> common;  ///< P with the least times
  };
  /// A run among the vertices near a root, in the order of its step.
  struct Located {
    std::size_t reader, begin, end;
    std::uint32_t step;
    std::uint64_t weight;
  };
  struct Event {
    std::uint64_t place;
    std::uint64_t value;
    bool opens;
  };
  static constexpr Threshold<std::size_t> most_clusters{16, 1, "near clusters"};

  Vertex from(Vertex j) {
    Vertex end = j;
    while (next_[end] != end) end = next_[end];
    while (next_[j] != end) j = std::exchange(next_[j], end);
    return end;
  }

  template <class See>
  void for_each_unseen(const Piece& piece, const See& see) {
    if (piece.step == 0) {
      for (Vertex j = from(piece.first); j <= piece.last; j = from(j)) see(j);
      return;
    }
    for (std::uint64_t j = piece.first; j <= piece.last; j += views_.steps_[piece.step]) {
      if (next_[j] == j) see(static_cast<Vertex>(j));
    }
  }

  void take(Vertex j, std::int64_t time) {
    latest_[j] = time;
    next_[j] = j + 1;
    active_.push_back(j);
  }

  /// Times left above `lowest`, for sources in order of falling time: compute_latest with several roots that start late.
  void walk(const std::vector<Source>& sources, std::int64_t lowest) {
    const Layout& layout = *views_.layout_;
    std::vector<std::size_t> expanded(layout.layers.size(), 0);
    std::size_t started = 0;
    for (std::int64_t q = sources.front().time; q > lowest; --q) {
      for (; started < sources.size() && sources[started].time >= q; ++started) {
        if (latest_[sources[started].vertex] < 0) take(sources[started].vertex, sources[started].time);
      }
      const std::uint32_t l = layout.order[static_cast<std::size_t>(q - 1) % layout.order.size()];
      const std::size_t end = active_.size();
      for (; expanded[l] < end; ++expanded[l]) {
        views_.budget_->poll();
        for (const std::uint32_t r : layout.layers[l].relations) {
          const Rows& rows = views_.relations_[r];
          const std::uint32_t list = rows.list[active_[expanded[l]]];
          for (std::size_t p = rows.begin[list]; p < rows.begin[list + 1]; ++p) for_each_unseen(rows.pieces[p], [&](Vertex j) { take(j, q - 1); });
        }
      }
    }
  }

  void forget() {
    for (const std::vector<Vertex>* met : {&active_, &outside_}) {
      for (const Vertex j : *met) {
        latest_[j] = -1;
        next_[j] = j;
      }
    }
    active_.clear();
    outside_.clear();
  }

  /// Are the surroundings of all roots discrete and different? Nothing when finding out takes too long.
  std::optional<bool> tell_apart(std::uint64_t lowest) {
    const std::uint64_t most_work = 16 * std::uint64_t{vertices_} + (std::uint64_t{1} << 22);
    std::unordered_set<std::uint64_t> invariants;
    std::size_t done = 0;
    clusters_.clear();
    work_ = 0;
    bool apart = true;
    for (const Vertex a : roots_) {
      walk({{a, static_cast<std::int64_t>(views_.depth_)}}, static_cast<std::int64_t>(lowest));
      const std::optional<std::uint64_t> invariant = colour_surroundings(a);
      apart = invariant && invariants.insert(*invariant).second && join_cluster(a);
      forget();
      // The first few roots tell what all of them would take.
      if (work_ > most_work || (++done == 8 && work_ / done > most_work / roots_.size())) return std::nullopt;
      if (!apart) break;
    }
    return apart;
  }

  bool join_cluster(Vertex a) {
    for (Cluster& cluster : clusters_) {
      if (latest_[cluster.lead] < 0) continue;
      std::erase_if(cluster.common, [&](const Source& source) { return latest_[source.vertex] < 0; });
      for (Source& source : cluster.common) source.time = std::min(source.time, latest_[source.vertex]);
      cluster.roots.push_back(a);
      return !cluster.common.empty();
    }
    if (clusters_.size() == most_clusters) return false;
    Cluster& cluster = clusters_.emplace_back(Cluster{a, {a}, {}});
    for (const Vertex j : active_) cluster.common.push_back({j, latest_[j]});
    return true;
  }

  [[nodiscard]] std::uint64_t key(std::uint32_t step, std::uint64_t j) const { return step == 0 ? j : (j % views_.steps_[step]) * vertices_ + j; }

  /// The places of a list in the order of a step. A list of many vertices is looked up vertex by vertex: it is no random one, and sorts take long.
  [[nodiscard]] std::vector<std::size_t> sort_by_key(std::uint32_t step, const std::vector<Vertex>& list) const {
    std::vector<std::size_t> order;
    order.reserve(list.size());
    if (list.size() < vertices_ / 8) {
      std::vector<std::pair<std::uint64_t, std::size_t>> by_key(list.size());
      for (std::size_t x = 0; x < list.size(); ++x) by_key[x] = {key(step, list[x]), x};
      std::sort(by_key.begin(), by_key.end());
      for (const auto& [ignored, x] : by_key) order.push_back(x);
      return order;
    }
    std::vector<Vertex> place_of(vertices_, 0);  // one more than the place, 0: not listed
    for (std::size_t x = 0; x < list.size(); ++x) place_of[list[x]] = static_cast<Vertex>(x + 1);
    const std::uint64_t stride = step == 0 ? 1 : views_.steps_[step];
    for (std::uint64_t residue = 0; residue < stride; ++residue) {
      for (std::uint64_t j = residue; j < vertices_; j += stride) {
        if (place_of[j] != 0) order.push_back(place_of[j] - 1);
      }
    }
    return order;
  }

  /// The hash of the whole, when B_a comes apart.
  std::optional<std::uint64_t> colour_surroundings(Vertex root) {
    const std::size_t inner = active_.size();
    for (const Vertex i : active_) {
      for (const Rows& rows : views_.relations_) {
        if (rows.first_layer == 0) continue;
        for (std::size_t p = rows.begin[rows.list[i]]; p < rows.begin[rows.list[i] + 1]; ++p) {
          for_each_unseen(rows.pieces[p], [&](Vertex j) {
            next_[j] = j + 1;
            outside_.push_back(j);
          });
        }
      }
    }
    std::vector<Vertex> near(active_);  // B_a first
    near.insert(near.end(), outside_.begin(), outside_.end());
    const std::size_t steps = views_.steps_.size();
    std::vector<std::vector<std::uint64_t>> keys(steps);
    std::vector<std::vector<std::size_t>> order(steps);
    for (std::uint32_t s = 0; s < steps; ++s) {
      order[s] = sort_by_key(s, near);
      keys[s].reserve(near.size());
      for (const std::size_t x : order[s]) keys[s].push_back(key(s, near[x]));
    }
    std::vector<Located> located;
    for (std::size_t i = 0; i < inner; ++i) {
      std::uint64_t salt = 7;
      for (const Rows& rows : views_.relations_) {
        salt = root_hash::mix(salt);
        if (rows.first_layer == 0) continue;
        for (std::size_t p = rows.begin[rows.list[near[i]]]; p < rows.begin[rows.list[near[i]] + 1]; ++p) {
          const Piece& piece = rows.pieces[p];
          const std::vector<std::uint64_t>& sorted = keys[piece.step];
          const auto begin = std::lower_bound(sorted.begin(), sorted.end(), key(piece.step, piece.first)), end = std::upper_bound(begin, sorted.end(), key(piece.step, piece.last));
          located.push_back({i, static_cast<std::size_t>(begin - sorted.begin()), static_cast<std::size_t>(end - sorted.begin()), piece.step, root_hash::mix(piece.weight ^ salt) | 1});
        }
      }
    }
    work_ += located.size() + near.size();
    std::vector<std::uint64_t> hash(near.size()), read, told(near.size()), sums(near.size() + 1);
    root_hash::DistinctCounter counter(inner);
    for (std::size_t x = 0; x < near.size(); ++x) {
      const std::uint64_t time = x < inner ? static_cast<std::uint64_t>(latest_[near[x]]) + 1 : 0;
      hash[x] = root_hash::mix(root_hash::mix(2 * views_.rank_[near[x]] + (near[x] == root ? 1 : 0)) + time);
    }
    for (std::size_t known = 0;;) {
      const std::size_t distinct = counter.count(hash, inner);
      if (distinct == inner) {
        return std::accumulate(hash.begin(), hash.begin() + static_cast<std::ptrdiff_t>(inner), std::uint64_t{0}, [](std::uint64_t sum, std::uint64_t h) { return sum + root_hash::mix(h); });
      }
      if (distinct == known) return std::nullopt;
      known = distinct;
      read.assign(inner, 0);
      std::fill(told.begin(), told.end(), 0);
      for (std::uint32_t s = 0; s < steps; ++s) {
        for (std::size_t k = 0; k < near.size(); ++k) sums[k + 1] = sums[k] + root_hash::mix(hash[order[s][k]]);
        for (const Located& run : located) read[run.reader] += run.step == s ? run.weight * (sums[run.end] - sums[run.begin]) : 0;
      }
      for (std::size_t i = 0; i < inner; ++i) hash[i] = root_hash::mix(hash[i] + root_hash::mix(read[i] + 3));
      for (std::uint32_t s = 0; s < steps; ++s) {
        std::fill(sums.begin(), sums.end(), 0);
        for (const Located& run : located) {
          if (run.step != s) continue;
          sums[run.begin] += run.weight * root_hash::mix(hash[run.reader] + 1);
          sums[run.end] -= run.weight * root_hash::mix(hash[run.reader] + 1);
        }
        std::uint64_t open = 0;
        for (std::size_t k = 0; k < near.size(); ++k) told[order[s][k]] += open += sums[k];
        sums[0] = 0;
      }
      for (std::size_t x = 0; x < near.size(); ++x) hash[x] = root_hash::mix(hash[x] + root_hash::mix(told[x]));
    }
  }

  /// Does any row of what is seen lead out of it?
  bool is_closed() {
    if (active_.size() == vertices_) return true;
    bool closed = true;
    for (const Vertex i : active_) {
      for (const Rows& rows : views_.relations_) {
        if (rows.first_layer == 0) continue;
        for (std::size_t p = rows.begin[rows.list[i]]; p < rows.begin[rows.list[i] + 1] && closed; ++p) {
          const Piece& piece = rows.pieces[p];
          for (std::uint64_t j = piece.step == 0 ? from(piece.first) : piece.first; j <= piece.last && closed; j += views_.steps_[piece.step]) closed = next_[j] != j;
        }
      }
    }
    return closed;
  }

  /// By vertex: its colour, and how many vertices it reads by each relation in each colour.
  [[nodiscard]] std::vector<std::uint64_t> count_rows() const {
    std::vector<std::uint64_t> counts(vertices_), of_list;
    for (Vertex v = 0; v < vertices_; ++v) counts[v] = root_hash::mix(views_.rank_[v]);
    std::uint64_t salt = 7;
    for (const Rows& rows : views_.relations_) {
      salt = root_hash::mix(salt);
      if (rows.first_layer == 0) continue;
      of_list.assign(rows.begin.size() - 1, 0);
      for (std::size_t list = 0; list < of_list.size(); ++list) {
        for (std::size_t p = rows.begin[list]; p < rows.begin[list + 1]; ++p) of_list[list] += root_hash::mix(rows.pieces[p].weight ^ salt) * count_members(rows.pieces[p]);
      }
      for (Vertex v = 0; v < vertices_; ++v) counts[v] += root_hash::mix(of_list[rows.list[v]] + salt);
    }
    return counts;
  }

  [[nodiscard]] std::uint64_t count_members(const Piece& piece) const { return std::uint64_t{piece.last - piece.first} / views_.steps_[piece.step] + 1; }

  /// Puts roots that read one vertex in common in the last layer into one cluster, with all that each of them reads there. False where that are too many clusters,
  /// one has nothing in common, or rows are long.
  bool gather() {
    const Layout& layout = *views_.layout_;
    const auto& last = layout.layers[layout.order[(views_.depth_ - 1) % layout.order.size()]].relations;
    std::uint64_t work = 0;
    const auto for_each_piece = [&](std::uint32_t r, Vertex a, const auto& visit) {
      const Rows& rows = views_.relations_[r];
      work += rows.begin[rows.list[a] + 1] - rows.begin[rows.list[a]];
      for (std::size_t p = rows.begin[rows.list[a]]; p < rows.begin[rows.list[a] + 1]; ++p) visit(rows.pieces[p]);
    };
    const auto reads = [&](Vertex a, Vertex j) {
      bool found = false;
      for (const std::uint32_t r : last) {
        for_each_piece(r, a, [&](const Piece& piece) { found = found || (j >= piece.first && j <= piece.last && (j - piece.first) % views_.steps_[piece.step] == 0); });
      }
      return found;
    };
    clusters_.clear();
    for (const Vertex a : roots_) {
      views_.budget_->poll();
      const auto mine = std::find_if(clusters_.begin(), clusters_.end(), [&](const Cluster& cluster) { return reads(a, cluster.lead); });
      if (mine != clusters_.end()) mine->roots.push_back(a);
      else if (clusters_.size() < most_clusters) clusters_.push_back({a, {a}, {}});
      else return false;
      if (work > 16 * std::uint64_t{vertices_}) return false;
    }
    for (Cluster& cluster : clusters_) {
      std::vector<bool> common(vertices_, false);
      for (const std::uint32_t r : last) {
        SteppedSums<std::uint32_t> readers(vertices_);
        for (const Vertex a : cluster.roots) for_each_piece(r, a, [&](const Piece& piece) { readers.add(piece.first, piece.last, views_.steps_[piece.step], 1); });
        const std::vector<std::uint32_t> count = std::move(readers).take();
        for (Vertex j = 0; j < vertices_; ++j) common[j] = common[j] || count[j] == cluster.roots.size();
      }
      for (Vertex j = 0; j < vertices_; ++j) {
        if (common[j]) cluster.common.push_back({j, static_cast<std::int64_t>(views_.depth_) - 1});
      }
      if (cluster.common.empty()) return false;
    }
    return true;
  }

  bool fixes_all_by_rows(Cluster& cluster, const std::vector<std::uint64_t>& counts, const std::vector<Vertex>& number) {
    std::vector<Source> roots;
    for (const Vertex a : cluster.roots) roots.push_back({a, static_cast<std::int64_t>(views_.depth_)});
    walk(roots, 0);
    const std::vector<std::int64_t> most = latest_;
    forget();
    walk(cluster.common, 0);
    bool fixed = is_closed() && std::all_of(cluster.roots.begin(), cluster.roots.end(), [this](Vertex a) { return latest_[a] >= 0; });
    if (fixed) {
      const std::vector<Source> alone = find_alone(counts, most);
      fixed = !alone.empty() && spread(alone, number);
    }
    forget();
    return fixed;
  }

  /// Those that no other vertex with the same counts meets in its times, from latest_ to `most`.
  [[nodiscard]] std::vector<Source> find_alone(const std::vector<std::uint64_t>& counts, const std::vector<std::int64_t>& most) const {
    struct Range {
      std::uint64_t counts;
      std::int64_t least, most;
      Vertex vertex;
    };
    std::vector<Range> ranges;
    for (Vertex j = 0; j < vertices_; ++j) {
      if (latest_[j] >= 0) ranges.push_back({counts[j], latest_[j], most[j], j});
    }
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return std::tie(a.counts, a.least, a.vertex) < std::tie(b.counts, b.least, b.vertex); });
    std::vector<Source> alone;
    std::int64_t before = -1;  // the most among those with the same counts so far
    for (std::size_t k = 0; k < ranges.size(); ++k) {
      const Range& range = ranges[k];
      if (k == 0 || ranges[k - 1].counts != range.counts) before = -1;
      const bool last = k + 1 == ranges.size() || ranges[k + 1].counts != range.counts;
      if (range.least >= static_cast<std::int64_t>(last_first_) && before < range.least && (last || ranges[k + 1].least > range.most)) alone.push_back({range.vertex, range.least});
      before = std::max(before, range.most);
    }
    return alone;
  }

  bool fixes_all(const Cluster& cluster, const std::vector<Vertex>& number) {
    std::vector<Source> sources = cluster.common;
    std::sort(sources.begin(), sources.end(), [](const Source& a, const Source& b) { return a.time != b.time ? a.time > b.time : a.vertex < b.vertex; });
    walk(sources, 0);
    const bool fixed = is_closed() && std::all_of(cluster.roots.begin(), cluster.roots.end(), [this](Vertex a) { return latest_[a] >= 0; }) && spread(sources, number);
    forget();
    return fixed;
  }

  bool spread(const std::vector<Source>& sources, const std::vector<Vertex>& number) {
    std::vector<std::uint64_t> kind(vertices_, 0);  // 0: not seen
    for (Vertex j = 0; j < vertices_; ++j) {
      if (latest_[j] >= 0) kind[j] = views_.rank_[j] + 1;
    }
    for (std::size_t k = 0; k < sources.size(); ++k) kind[sources[k].vertex] = vertices_ + k + 1;
    symmetry::Partition cells(kind);
    std::vector<Vertex> fresh, touched;
    for (symmetry::Cell c = 0; c < cells.cells(); ++c) {
      if (cells.size(c) == 1) fresh.push_back(cells.members(c).front());
    }
    std::vector<std::uint64_t> difference(vertices_, 0);
    std::vector<std::uint8_t> is_touched(vertices_, 0);
    std::vector<std::vector<Event>> events(views_.steps_.size());
    std::uint64_t work = 0;
    while (!fresh.empty()) {
      for (const Vertex p : fresh) {
        views_.budget_->poll();
        std::uint64_t salt = root_hash::mix(p);
        for (const Rows& rows : views_.relations_) {
          salt = root_hash::mix(salt);
          if (rows.first_layer == 0 || latest_[p] < static_cast<std::int64_t>(rows.first_layer)) continue;
          for (std::size_t k = rows.begin[rows.list[p]]; k < rows.begin[rows.list[p] + 1]; ++k) {
            const Piece& piece = rows.pieces[k];
            const std::uint64_t value = root_hash::mix(piece.weight ^ salt);
            events[piece.step].push_back({place(piece.step, piece.first), value, true});
            events[piece.step].push_back({place(piece.step, piece.last) + 1, std::uint64_t{0} - value, false});
          }
        }
      }
      fresh.clear();
      for (std::uint32_t s = 0; s < events.size(); ++s) {
        std::sort(events[s].begin(), events[s].end(), [](const Event& a, const Event& b) { return a.place < b.place; });
        std::uint64_t sum = 0, open = 0;
        for (std::size_t k = 0; k < events[s].size(); ++k) {
          sum += events[s][k].value;
          open += events[s][k].opens ? 1 : ~std::uint64_t{0};
          if (open == 0) continue;
          for (std::uint64_t at = events[s][k].place; at < events[s][k + 1].place; ++at, ++work) {
            const Vertex x = vertex_at(s, at);
            if (cells.size(cells.cell_of(x)) == 1) continue;
            if (is_touched[x] == 0) touched.push_back(x);
            is_touched[x] = 1;
            difference[x] += sum;
          }
        }
        events[s].clear();
      }
      if (work > 256 * std::uint64_t{vertices_}) return false;
      split(cells, touched, difference, fresh);
      for (const Vertex x : touched) {
        is_touched[x] = 0;
        difference[x] = 0;
      }
      touched.clear();
    }
    for (symmetry::Cell c = 0; c < cells.cells(); ++c) {
      const auto members = cells.members(c);
      if (members.size() == 1 || latest_[members.front()] < 0) continue;
      for (const Vertex x : members) {
        if (x >= number.size() || members.front() >= number.size() || number[x] != number[members.front()]) return false;
      }
    }
    return true;
  }

  /// In the order of the step runs have no gaps.
  [[nodiscard]] std::uint64_t place(std::uint32_t step, std::uint64_t j) const { return step == 0 ? j : (j % views_.steps_[step]) * (vertices_ / views_.steps_[step] + 2) + j / views_.steps_[step]; }
  [[nodiscard]] Vertex vertex_at(std::uint32_t step, std::uint64_t place) const {
    if (step == 0) return static_cast<Vertex>(place);
    const std::uint64_t width = vertices_ / views_.steps_[step] + 2;
    return static_cast<Vertex>(place % width * views_.steps_[step] + place / width);
  }

  static void split(symmetry::Partition& cells, const std::vector<Vertex>& touched, const std::vector<std::uint64_t>& difference, std::vector<Vertex>& fresh) {
    struct Record {
      symmetry::Cell cell;
      std::uint64_t difference;
      Vertex vertex;
      auto operator<=>(const Record&) const = default;
    };
    std::vector<Record> records;
    for (const Vertex x : touched) {
      if (difference[x] != 0) records.push_back({cells.cell_of(x), difference[x], x});
    }
    std::sort(records.begin(), records.end());
    std::vector<Vertex> members, sizes;
    for (std::size_t begin = 0, end = 0; begin < records.size(); begin = end) {
      const symmetry::Cell cell = records[begin].cell;
      members.clear();
      sizes.clear();
      for (; end < records.size() && records[end].cell == cell; ++end) {
        if (end == begin || records[end].difference != records[end - 1].difference) sizes.push_back(0);
        ++sizes.back();
        members.push_back(records[end].vertex);
      }
      if (sizes.size() == 1 && members.size() == cells.size(cell)) continue;
      const symmetry::Cell before = cells.cells();
      cells.split(cell, members, sizes);
      if (cells.size(cell) == 1) fresh.push_back(cells.members(cell).front());
      for (symmetry::Cell c = before; c < cells.cells(); ++c) {
        if (cells.size(c) == 1) fresh.push_back(cells.members(c).front());
      }
    }
  }

  const ViewColours& views_;
  const std::vector<Vertex>& roots_;
  Vertex vertices_;
  Booking booking_;
  std::uint64_t last_first_ = 1, work_ = 0;
  std::vector<std::int64_t> latest_;
  std::vector<Vertex> next_, active_, outside_;
  std::vector<Cluster> clusters_;
};

bool ViewColours::explains_all(const std::vector<Vertex>& roots, const std::vector<Vertex>& number, std::size_t few_roots, Vertex few_vertices) const {
  if (roots.size() < few_roots || layout_->vertices() < few_vertices || vertex_.size() != layout_->vertices() || layout_->order.empty()) return false;
  return Near(*this, roots).explains(number) || explains_by_rows(roots, number);
}

bool ViewColours::explains_by_rows(const std::vector<Vertex>& roots, const std::vector<Vertex>& number) const {
  return vertex_.size() == layout_->vertices() && !layout_->order.empty() && depth_ > 0 && Near(*this, roots).explains_by_rows(number);
}

}  // namespace sightline::sight

// Rows that all roots see leave some vertex few places to go to, and each of these says where all other vertices go: a map that is a symmetry of the layout, or that the rows of
// every root refuse. Then no isomorphism of views is left but symmetries of the layout (docs/theory.md 16.62).
#include <algorithm>
#include <map>
#include <set>

#include "field.hpp"
#include "poll.hpp"
#include "row_marks.hpp"
#include "views.hpp"

namespace checker {

namespace {

/// Vertices coloured by what isomorphisms keep.
using Colouring = std::vector<std::uint64_t>;

class Matcher {
public:
  Matcher(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots) : layout_(layout), first_(first_layers(layout)), least_(least_times(layout, depth, roots)), rows_(describe_rows(layout)) {
    grades_ = first_;
    std::erase(grades_, absent);
    std::sort(grades_.begin(), grades_.end());
    grades_.erase(std::unique(grades_.begin(), grades_.end()), grades_.end());
  }

  /// The least class of vertices alike in rows that all roots see, all its members' rows being seen; nothing where there is none of a few.
  [[nodiscard]] std::vector<Vertex> few_places() const {
    constexpr std::size_t most_places = 8;
    std::vector<Vertex> best;
    for (const std::uint64_t grade : grades_) {
      std::map<std::uint64_t, std::vector<Vertex>> alike;
      for (Vertex j = 0; j < layout_.vertices(); ++j) alike[look(0, j, grade)].push_back(j);
      for (auto& [value, members] : alike) {
        if (members.size() > most_places || !std::ranges::all_of(members, [&](Vertex j) { return in_sight(j, grade); })) continue;
        if (best.empty() || members.size() < best.size() || (members.size() == best.size() && members.front() < best.front())) best = std::move(members);
      }
    }
    return best;
  }

  enum class Result { no_map, one_map, open };

  /// Isomorphisms that take p to q: none, at most the one that `image` then holds, or nothing is known.
  Result follow(Vertex p, Vertex q, std::vector<Vertex>& image) {
    constexpr int most_rounds = 8;
    const bool both = p != q;  // else there is here
    Colouring here(layout_.vertices(), 0), there(both ? here : Colouring{});
    here[p] = 7;
    if (both) there[q] = 7;
    for (int round = 0; round < most_rounds; ++round) {
      RowMarks add_here(layout_.vertices()), add_there(both ? layout_.vertices() : 0);
      for (const std::uint64_t grade : grades_) {
        poll_now();
        struct Members {
          std::vector<Vertex> here, there;
        };
        std::map<std::uint64_t, Members> classes;
        for (Vertex j = 0; j < layout_.vertices(); ++j) {
          classes[look(here[j], j, grade)].here.push_back(j);
          if (both) classes[look(there[j], j, grade)].there.push_back(j);
        }
        for (const auto& [value, members] : classes) {
          const auto seen = [&](Vertex j) { return in_sight(j, grade); };
          if (!std::ranges::all_of(members.here, seen) || !std::ranges::all_of(members.there, seen)) continue;
          if (both && members.here.size() != members.there.size()) return Result::no_map;
          for (const Vertex x : members.here) mark(x, grade, value, add_here);
          for (const Vertex x : members.there) mark(x, grade, value, add_there);
          if (marked_ > most_marks) return Result::open;
        }
      }
      const auto told = [&](Colouring& colour, RowMarks& marks) {
        const Colouring by_marks = marks.take();
        for (Vertex j = 0; j < layout_.vertices(); ++j) colour[j] = mix(colour[j], by_marks[j]);
        std::vector<std::pair<std::uint64_t, Vertex>> sorted;
        for (Vertex j = 0; j < layout_.tokens; ++j) sorted.emplace_back(mix(colour[j], layout_.vertex_colour[j]), j);
        std::sort(sorted.begin(), sorted.end());
        return sorted;
      };
      const auto sources = told(here, add_here), images = both ? told(there, add_there) : sources;
      bool fits = true, single = true;
      for (std::size_t k = 0; k < sources.size(); ++k) {
        fits = fits && sources[k].first == images[k].first;
        single = single && (k == 0 || sources[k].first != sources[k - 1].first);
      }
      if (!fits) {
        const bool whole = std::all_of(least_.begin(), least_.begin() + layout_.tokens, [](std::int64_t t) { return t >= 0; });
        return whole ? Result::no_map : Result::open;  // all tokens are in sight, and keep their colours
      }
      if (!single) continue;
      image.resize(layout_.vertices());
      for (Vertex v = 0; v < layout_.vertices(); ++v) image[v] = v;
      for (std::size_t k = 0; k < sources.size(); ++k) image[sources[k].second] = images[k].second;
      return Result::one_map;
    }
    return Result::open;
  }

  /// Is some row that a shows after `depth` layers not mapped onto the row of its image? Its own rows are, and those of what it reads in the last layer.
  bool refuses(Vertex a, std::uint64_t depth, const std::vector<Vertex>& image) {
    if (layout_.vertex_colour[a] != layout_.vertex_colour[image[a]] || tears(a, depth, image)) return true;
    constexpr std::uint64_t most_compared = std::uint64_t{1} << 28;
    std::vector<Vertex> read;
    for (const std::uint32_t r : layout_.layers[layout_.order[(depth - 1) % layout_.order.size()]]) {
      layout_.relations[r].row(a, row_);
      for (const Run& run : row_) {
        for (Vertex k = 0; k < run.size(); ++k) read.push_back(run.first + k * run.step);
      }
    }
    return std::ranges::any_of(read, [&](Vertex j) { return compared_ <= most_compared && tears(j, depth - 1, image); });
  }

private:
  static constexpr std::uint64_t most_marks = std::uint64_t{1} << 28;

  [[nodiscard]] bool in_sight(Vertex j, std::uint64_t grade) const { return least_[j] >= static_cast<std::int64_t>(grade); }

  [[nodiscard]] std::uint64_t look(std::uint64_t kept, Vertex j, std::uint64_t grade) const {
    return describe_seen(rows_, first_, mix(layout_.vertex_colour[j], kept), j, grade);
  }

  /// What x reads up to a grade is read by a member of its class.
  void mark(Vertex x, std::uint64_t grade, std::uint64_t value, RowMarks& marks) {
    for (std::size_t r = 0; r < first_.size() && marked_ <= most_marks; ++r) {
      if (first_[r] > grade) continue;
      poll();
      layout_.relations[r].row(x, row_);
      for (const Run& run : row_) {
        marked_ += marks.add_row_run(run, mix(value, r));
      }
    }
  }

  bool tears(Vertex x, std::uint64_t left, const std::vector<Vertex>& image) {
    const auto write = [&](std::size_t r, Vertex i, bool mapped) {
      layout_.relations[r].row(i, row_);
      std::vector<std::pair<Vertex, std::int64_t>> arcs;
      for (const Run& run : row_) {
        compared_ += run.size();
        for (Vertex k = 0; k < run.size(); ++k) {
          const Vertex j = run.first + k * run.step;
          arcs.emplace_back(mapped ? image[j] : j, run.colour + k * run.colour_step);
        }
      }
      std::sort(arcs.begin(), arcs.end());
      return arcs;
    };
    for (std::size_t r = 0; r < first_.size(); ++r) {
      poll();
      if (first_[r] <= left && (rows_[r][x] != rows_[r][image[x]] || write(r, x, true) != write(r, image[x], false))) return true;
    }
    return false;
  }

  const Layout& layout_;
  std::vector<std::uint64_t> first_, grades_;
  std::vector<std::int64_t> least_;
  Described rows_;
  std::vector<Run> row_;
  std::uint64_t marked_ = 0, compared_ = 0;
};

}  // namespace

bool do_matchings_explain(const Layout& layout, std::uint64_t depth, const std::vector<Vertex>& roots, const std::function<bool(const Permutation&)>& is_symmetry) {
  if (has_equal_registers(layout) || layout.order.empty() || depth < 2 || roots.empty()) return false;
  constexpr std::uint64_t most_compared = std::uint64_t{1} << 22;  // the library asks for fewer
  std::set<std::uint64_t> levels;
  for (const std::uint64_t first : first_layers(layout)) levels.insert(first);
  if (levels.size() * layout.vertices() > most_compared) return false;
  Matcher matcher(layout, depth, roots);
  const std::vector<Vertex> places = matcher.few_places();
  if (places.empty()) return false;
  std::vector<Vertex> image;
  for (const Vertex q : places) {
    const auto result = matcher.follow(places.front(), q, image);
    if (result == Matcher::Result::open || (q == places.front() && result != Matcher::Result::one_map)) return false;
    if (result == Matcher::Result::no_map || q == places.front()) continue;
    std::vector<std::pair<Vertex, Vertex>> moves;
    for (Vertex j = 0; j < layout.tokens; ++j) {
      if (image[j] != j) moves.emplace_back(j, image[j]);
    }
    if (is_symmetry(Permutation(std::move(moves)))) continue;
    if (!std::ranges::all_of(roots, [&](Vertex a) { return matcher.refuses(a, depth, image); })) return false;
  }
  return true;
}

}  // namespace checker

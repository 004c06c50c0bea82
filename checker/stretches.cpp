// Two vertices per stretch of neighbours that read the same, are read alike by every row, and look alike.
#include <algorithm>
#include <set>
#include <utility>

#include "even_steps.hpp"
#include "poll.hpp"
#include "stretches.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

constexpr Threshold<Vertex> stretch_share{16, 1, "stretches"};

/// Where stretches begin; gives up when there are too many of them.
struct Ends {
  explicit Ends(Vertex vertices) : begins(std::size_t{vertices} + 1, false), most(vertices / stretch_share) {}
  void mark(std::uint64_t vertex) {
    if (begins[vertex]) return;
    begins[vertex] = true;
    ++count;
  }
  std::vector<bool> begins;
  std::size_t count = 0, most;
};

/// Runs of a row as intervals: `width` neighbours at first, first + step, .., last. Runs of one step and length that lie side by side are one.
struct WideRun {
  Vertex first, width, step, last;
  std::int64_t colour;
  friend auto operator<=>(const WideRun&, const WideRun&) = default;
};

void widen(const std::vector<Run>& row, std::vector<WideRun>& out) {
  out.clear();
  for (const Run& run : row) {
    WideRun* const tail = out.empty() || run.step == 1 || out.back().width + 1 >= run.step ? nullptr : &out.back();
    if (tail != nullptr && tail->step == run.step && tail->colour == run.colour && tail->first + tail->width == run.first && tail->last + tail->width == run.last) ++tail->width;
    else if (run.step == 1) out.push_back({run.first, run.size(), run.size(), run.first, run.colour});
    else out.push_back({run.first, 1, run.step, run.last, run.colour});
  }
}

bool mark_rows(const Pattern& pattern, Ends& ends) {
  std::vector<Run> row;
  std::vector<WideRun> wide;
  std::set<WideRun> marked;  // those with steps
  for (Vertex i = 0, end = 0; i < pattern.vertices; i = end) {
    end = pattern.same_row_until(i);
    ends.mark(i);
    ends.mark(end);
    pattern.row(i, row);
    widen(row, wide);
    for (const WideRun& run : wide) {
      if (run.first != run.last && !marked.insert(run).second) continue;
      for (std::uint64_t j = run.first; j <= run.last; j += run.step) {
        ends.mark(j);
        ends.mark(j + run.width);
      }
    }
    if (ends.count > ends.most) return false;
  }
  return true;
}

/// A wide run on the vertices that are kept: with a step where its copies lie evenly there too.
void append_short(const WideRun& run, const std::vector<Vertex>& place, EvenSteps& even, std::vector<MovingRun>& list) {
  const auto colour = static_cast<std::uint32_t>(run.colour);
  const std::vector<Vertex>* const until = (run.last - run.first) / run.step < 3 ? nullptr : even.along(run.step);
  for (std::uint64_t at = run.first; at <= run.last; at += run.step) {
    const auto j = static_cast<Vertex>(at), end = static_cast<Vertex>(at + run.width);
    const Vertex width = place[end] - place[j];
    const Vertex far = until == nullptr ? 0 : std::min({(*until)[j] - j, (*until)[end] - end, run.last - j}) / run.step;
    if (far < 2 || place[j + run.step] - place[j] != place[end + run.step] - place[end]) {
      list.push_back({place[j], place[end] - 1, 1, colour, 0, 0});
      continue;
    }
    const Vertex gap = place[j + run.step] - place[j], last = place[j] + far * gap;
    for (Vertex q = 0; gap != width && q < width; ++q) list.push_back({place[j] + q, last + q, gap, colour, 0, 0});
    if (gap == width) list.push_back({place[j], last + width - 1, 1, colour, 0, 0});
    at += std::uint64_t{far} * run.step;
  }
}

/// @param place  of every beginning of a stretch, and of the end; elsewhere `none`
std::shared_ptr<const Pattern> shorten(const Pattern& pattern, const std::vector<Vertex>& place) {
  auto out = std::make_shared<Pattern>();
  out->vertices = place.back();
  EvenSteps even(place);
  std::vector<Run> row;
  std::vector<WideRun> wide;
  std::vector<MovingRun> list;
  for (Vertex i = 0, end = 0; i < pattern.vertices; i = end) {
    poll();
    end = pattern.same_row_until(i);
    pattern.row(i, row);
    widen(row, wide);
    list.clear();
    for (const WideRun& run : wide) append_short(run, place, even, list);
    out->lists.push_back(list);
    out->segments.push_back({place[i], place[end] - place[i], static_cast<std::uint32_t>(out->lists.size() - 1), Pattern::none});
  }
  return out;
}

}  // namespace

Vertex Stretches::place_of(Vertex x) const {
  return static_cast<Vertex>(std::upper_bound(first.begin(), first.end(), x) - first.begin()) - 1;
}

std::optional<Stretches> find_stretches(Vertex vertices, Vertex tokens, const std::vector<const Relation*>& relations, const Structure* shown) {
  constexpr Threshold<Vertex> few_vertices{2048, 2, "stretches"};
  if (vertices < few_vertices) return std::nullopt;
  Ends ends(vertices);
  ends.mark(1);  // a BOS counts for itself
  for (Vertex v = tokens; v <= vertices; ++v) ends.mark(v);
  if (shown != nullptr) {
    for (Vertex v = 1; v < vertices && ends.count <= ends.most; ++v) {
      if (shown->colour[v] != shown->colour[v - 1]) ends.mark(v);
    }
    for (const Structure::Shown& relation : shown->relations) {
      for (Vertex v = 1; v < relation.visible.size() && ends.count <= ends.most; ++v) {
        if (relation.visible[v] != relation.visible[v - 1]) ends.mark(v);
      }
    }
  }
  for (const Relation* relation : relations) {
    // Colours by position differ from reader to reader; they play no part in who sees whom.
    if ((shown != nullptr && relation->relative != RelativeKind::none) || !mark_rows(*relation->pattern, ends)) return std::nullopt;
  }
  Stretches result;
  std::vector<Vertex> place(std::size_t{vertices} + 1, none);
  for (Vertex v = 0, end = 0; v < vertices; v = end) {
    for (end = v + 1; !ends.begins[end]; ++end) {}
    place[v] = static_cast<Vertex>(result.first.size());
    for (Vertex k = 0; k < std::min<Vertex>(end - v, 2); ++k) {
      result.first.push_back(v + k);
      result.count.push_back(k == 0 ? 1 : end - v - 1);
      result.lead.push_back(place[v]);
    }
  }
  place[vertices] = static_cast<Vertex>(result.first.size());
  for (const Relation* relation : relations) {
    Relation& added = result.relations.emplace_back();
    added.pattern = shorten(*relation->pattern, place);
    added.cancels = relation->cancels;
    added.tokens = place[tokens];
  }
  return result;
}

}  // namespace checker

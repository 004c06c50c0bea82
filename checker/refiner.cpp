// Colour refinement in rounds: when a cell splits, only differences are added to what its neighbours are told apart by.
#include <algorithm>
#include <numeric>
#include <utility>

#include "field.hpp"
#include "graph.hpp"
#include "poll.hpp"
#include "threshold.hpp"

namespace checker {

namespace {

constexpr Threshold<Vertex> short_span{8, 1, "short spans"};            // up to this length spans are added vertex by vertex
constexpr Threshold<std::size_t> most_dense_arrays{12, 1, "dense arrays"};

}  // namespace

Refiner::Refiner(const Graph& graph)
    : graph_(graph), elements_(graph.vertices), position_(graph.vertices), cell_(graph.vertices), difference_(graph.vertices, 0), is_touched_(graph.vertices, 0) {
  struct Alike {  // neighbours of one key
    std::uint64_t key;
    Vertex begin, end;
  };
  std::vector<Alike> keys;
  for (Vertex v = 0; v < graph.vertices; ++v) {
    std::uint64_t key = mix(graph.colour[v]);
    for (std::size_t r = 0; r < graph.tables.size(); ++r) {
      key = mix(key, graph.tables[r].visible[v] ? static_cast<std::uint64_t>(graph.find_colour(r, v, v)) + 2 : 0);
    }
    if (keys.empty() || keys.back().key != key) keys.push_back({key, v, v});
    ++keys.back().end;
  }
  std::ranges::stable_sort(keys, {}, &Alike::key);
  Vertex at = 0;
  for (const Alike& alike : keys) {
    if (keys_.empty() || keys_.back() != alike.key) {
      keys_.push_back(alike.key);
      start_.push_back(at);
      size_.push_back(0);
    }
    size_.back() += alike.end - alike.begin;
    for (Vertex v = alike.begin; v < alike.end; ++v) {
      elements_[at] = v;
      position_[v] = at++;
      cell_[v] = cells() - 1;
    }
  }
}

void Refiner::relabel(std::uint32_t cell, Vertex start, Vertex size) {
  start_[cell] = start;
  size_[cell] = size;
  for (Vertex at = start; at < start + size; ++at) cell_[elements_[at]] = cell;
}

/// `touched`: sorted by difference; the rest of the cell comes first. The largest part (the first of them) keeps the number.
void Refiner::split(std::uint32_t cell, std::span<const std::pair<Element, Vertex>> touched) {
  const Vertex start = start_[cell], size = size_[cell], rest = size - static_cast<Vertex>(touched.size());
  Vertex place = start + rest;
  for (const auto& [value, v] : touched) {  // swapped to the end of the cell, in order
    if (rest > 0) {
      const Vertex at = position_[v], other = elements_[place];
      elements_[at] = other;
      position_[other] = at;
    }
    elements_[place] = v;
    position_[v] = place++;
  }
  std::vector<std::pair<Vertex, Vertex>>& parts = parts_;
  parts.clear();
  if (rest > 0) parts.emplace_back(start, rest);
  for (std::size_t begin = 0, end = 0; begin < touched.size(); begin = end) {
    while (end < touched.size() && touched[end].first == touched[begin].first) ++end;
    parts.emplace_back(start + rest + static_cast<Vertex>(begin), static_cast<Vertex>(end - begin));
  }
  if (parts.size() < 2) return;
  std::size_t largest = 0;
  for (std::size_t k = 1; k < parts.size(); ++k) {
    if (parts[k].second > parts[largest].second) largest = k;
  }
  log_.push_back({cell, start, size, cells()});
  start_[cell] = parts[largest].first;  // its members keep their number
  size_[cell] = parts[largest].second;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (k == largest) continue;
    start_.push_back(0);
    size_.push_back(0);
    relabel(cells() - 1, parts[k].first, parts[k].second);
  }
}

void Refiner::undo(std::size_t mark) {
  while (log_.size() > mark) {
    const Split split = log_.back();
    log_.pop_back();
    for (std::uint32_t cell = split.fresh; cell < cells(); ++cell) {
      for (Vertex at = start_[cell]; at < start_[cell] + size_[cell]; ++at) cell_[elements_[at]] = split.cell;
    }
    start_.resize(split.fresh);
    size_.resize(split.fresh);
    start_[split.cell] = split.start;
    size_[split.cell] = split.size;
  }
}

Element Refiner::at_power(Element value, std::uint32_t slope, Vertex x) const { return slope == 0 ? value : multiply(value, graph_.powers[slope][x]); }

void Refiner::add(Vertex x, Element value) {
  if (is_touched_[x] == 0) {
    is_touched_[x] = 1;
    touched_.push_back(x);
  }
  difference_[x] = checker::add(difference_[x], value);
}

void Refiner::spread_dense(const Long& span) {
  auto array = std::find_if(dense_arrays_.begin(), dense_arrays_.end(), [&](const Dense& d) { return d.slope == span.slope && d.step == span.step; });
  if (array == dense_arrays_.end()) {
    if (dense_arrays_.size() >= most_dense_arrays) {
      for (std::uint64_t x = span.first; x <= span.last; x += span.step) {
        add(static_cast<Vertex>(x), at_power(span.value, span.slope, static_cast<Vertex>(x)));
      }
      return;
    }
    dense_arrays_.push_back({span.step, span.slope, false, std::vector<Element>(std::size_t{graph_.vertices} + span.step, 0)});
    array = std::prev(dense_arrays_.end());
  }
  array->used = true;
  Element& after = array->steps[std::size_t{span.last} + span.step];
  array->steps[span.first] = checker::add(array->steps[span.first], span.value);
  after = subtract(after, span.value);
}

void Refiner::spread_list(const Lists& lists, Vertex v, Element value) {
  for (const Span& span : lists.of(v)) {
    const Element weighted = multiply(span.weight, value);
    if ((span.last - span.first) / span.step < short_span) {
      for (std::uint64_t x = span.first; x <= span.last; x += span.step) {
        add(static_cast<Vertex>(x), at_power(weighted, span.slope, static_cast<Vertex>(x)));
      }
      continue;
    }
    const Long whole{span.first, span.last, span.step, span.slope, weighted};
    if (dense_) {
      spread_dense(whole);
      continue;
    }
    long_.push_back(whole);
    work_ += 12;
    if (work_ < graph_.vertices / 2) continue;
    dense_ = true;  // so much that whole sweeps are cheaper
    for (const Long& waiting : long_) spread_dense(waiting);
    long_.clear();
  }
}

void Refiner::spread(const Table& table, Vertex v, Element value) {
  poll();
  const Element back = multiply(value, backward);
  if (!table.symmetric) spread_list(table.columns, v, value);
  spread_list(table.rows, v, table.symmetric ? checker::add(value, back) : back);
}

std::vector<Element> Refiner::fingerprints(std::size_t table) {
  for (Vertex v = 0; v < graph_.vertices; ++v) spread(graph_.tables[table], v, value_of(v));
  collect();
  for (const Vertex x : touched_) is_touched_[x] = 0;
  touched_.clear();
  for (Vertex x = 0; x < graph_.vertices; ++x) {
    const std::int64_t loop = graph_.find_colour(table, x, x);
    if (loop < 0) continue;
    const Element weight = multiply(scale_of(table), power_of(colour_base, loop));
    difference_[x] = subtract(difference_[x], multiply(multiply(weight, checker::add(1, backward)), value_of(x)));
  }
  return std::exchange(difference_, std::vector<Element>(graph_.vertices, 0));
}

/// Long spans: by difference arrays, or by their sorted ends when they are few and hold little.
void Refiner::collect() {
  std::ranges::stable_sort(long_, {}, &Long::step);
  for (std::size_t begin = 0, end = 0; begin < long_.size(); begin = end) {
    while (end < long_.size() && long_[end].step == long_[begin].step) ++end;
    collect_ends({long_.data() + begin, end - begin});
  }
  long_.clear();
  work_ = 0;
  dense_ = false;
  for (Dense& array : dense_arrays_) {
    if (!array.used) continue;
    array.used = false;
    for (Vertex x = 0; x < graph_.vertices; ++x) {
      if (x >= array.step) array.steps[x] = checker::add(array.steps[x], array.steps[x - array.step]);
      if (array.steps[x] != 0) add(x, at_power(array.steps[x], array.slope, x));
    }
    std::fill(array.steps.begin(), array.steps.end(), 0);
  }
}

/// Spans of one step, in its order: by residue, then by size, so that they have no gaps.
void Refiner::collect_ends(std::span<const Long> spans) {
  struct Event {
    std::uint32_t slope;
    int opens;
    Element value;
  };
  std::vector<Event> events;
  std::vector<std::uint64_t> order;  // place and number of the event
  const Vertex step = spans[0].step, width = graph_.vertices / step + 2;
  const auto place_of = [&](Vertex x) { return x % step * width + x / step; };
  const auto note = [&](Vertex place, const Event& event) {
    order.push_back(std::uint64_t{place} << 32 | events.size());
    events.push_back(event);
  };
  for (const Long& span : spans) {
    note(place_of(span.first), {span.slope, 1, span.value});
    note(place_of(span.last) + 1, {span.slope, -1, subtract(0, span.value)});
  }
  std::stable_sort(order.begin(), order.end());  // they come in a few ascending sequences, which is quickly merged
  const auto at = [&](std::size_t k) { return static_cast<Vertex>(order[k] >> 32); };
  int open = 0;
  std::uint64_t held = 0;
  for (std::size_t k = 0; k < order.size() && step > 1; ++k) {
    if (open > 0) held += at(k) - at(k - 1);
    open += events[order[k] & ~std::uint32_t{0}].opens;
  }
  if (held > graph_.vertices / 8) {
    for (const Long& span : spans) spread_dense(span);
    return;
  }
  std::vector<Element> sums(graph_.slopes.size(), 0);
  for (std::size_t k = 0; k < order.size();) {
    const Vertex place = at(k);
    for (; k < order.size() && at(k) == place; ++k) {
      const Event& event = events[order[k] & ~std::uint32_t{0}];
      sums[event.slope] = checker::add(sums[event.slope], event.value);
      open += event.opens;
    }
    if (open == 0) continue;
    Vertex x = place % width * step + place / width;
    for (Vertex left = at(k) - place; left > 0; --left, x += step) {
      Element value = sums[0];
      for (std::uint32_t s = 1; s < sums.size(); ++s) {
        if (sums[s] != 0) value = checker::add(value, multiply(sums[s], graph_.power(s, x)));
      }
      add(x, value);
    }
  }
}

std::uint64_t Refiner::split_touched() {
  std::uint64_t hash = 0;
  touched_cells_.clear();
  if (tallies_.empty()) tallies_.resize(graph_.vertices, {0, 0, 0, false});
  for (const Vertex x : touched_) {
    if (difference_[x] == 0) continue;
    Tally& tally = tallies_[cell_[x]];
    if (tally.touched++ == 0) {
      tally.difference = difference_[x];
      touched_cells_.push_back(cell_[x]);
    } else if (tally.difference != difference_[x]) {
      tally.mixed = true;
    }
  }
  // Most cells are touched evenly and stay whole: they count in any order, and are forgotten. The others get their places among the records.
  std::uint32_t places = 0;
  std::size_t splitting = 0;
  for (const std::uint32_t cell : touched_cells_) {
    Tally& tally = tallies_[cell];
    if (!tally.mixed && tally.touched == size_[cell]) {
      hash += mix(mix(std::uint64_t{cell} << 32 | size_[cell]) ^ tally.difference);
      tally.touched = 0;
      continue;
    }
    tally.next = places;
    places += tally.touched;
    touched_cells_[splitting++] = cell;
  }
  touched_cells_.resize(splitting);
  std::sort(touched_cells_.begin(), touched_cells_.end());
  records_.resize(places);
  for (const Vertex x : touched_) {
    is_touched_[x] = 0;
    if (const Element difference = std::exchange(difference_[x], 0); difference != 0) {
      if (Tally& tally = tallies_[cell_[x]]; tally.touched != 0) records_[tally.next++] = {difference, x};
    }
  }
  touched_.clear();
  for (const std::uint32_t cell : touched_cells_) {
    const Tally tally = std::exchange(tallies_[cell], {0, 0, 0, false});
    hash = mix(mix(hash ^ (std::uint64_t{cell} << 32 | size_[cell])) ^ tally.touched);
    const std::span part(records_.data() + tally.next - tally.touched, tally.touched);
    if (tally.mixed) std::stable_sort(part.begin(), part.end());
    for (const auto& [difference, x] : part) hash = mix(hash ^ difference);
    split(cell, part);
  }
  return mix(hash, cells());
}

bool Refiner::run(std::size_t from, bool initial, Trace* recorded, const Trace* expected) {
  std::size_t round = recorded != nullptr ? recorded->size() : 0;
  if (expected != nullptr) round = initial ? 1 : 0;
  while (initial || (from < log_.size() && !is_discrete())) {
    if (initial) {
      for (const Table& table : graph_.tables) {
        for (Vertex v = 0; v < graph_.vertices; ++v) spread(table, v, cell_value(cell_[v]));
      }
    } else {
      const std::size_t end = log_.size();
      for (std::size_t k = from; k < end; ++k) {
        const std::uint32_t stop = k + 1 < end ? log_[k + 1].fresh : cells();
        for (std::uint32_t cell = log_[k].fresh; cell < stop; ++cell) {
          const Element difference = subtract(cell_value(cell), cell_value(log_[k].cell));
          for (const Table& table : graph_.tables) {
            for (Vertex at = start_[cell]; at < start_[cell] + size_[cell]; ++at) spread(table, elements_[at], difference);
          }
        }
      }
    }
    initial = false;
    from = log_.size();
    collect();
    poll_now();
    const std::uint64_t found = split_touched();
    if (recorded != nullptr) recorded->push_back(found);
    if (expected != nullptr && (round >= expected->size() || (*expected)[round] != found)) return false;
    ++round;
  }
  return expected == nullptr || round == expected->size();
}

bool Refiner::start(Trace* recorded, const Trace* expected) {
  std::uint64_t hash = cells();
  for (std::uint32_t cell = 0; cell < cells(); ++cell) hash = mix(hash, mix(keys_[cell], size_[cell]));
  if (expected != nullptr && (expected->empty() || expected->front() != hash)) return false;
  if (recorded != nullptr) recorded->push_back(hash);
  return run(0, true, recorded, expected);
}

bool Refiner::individualise(Vertex v, Trace* recorded, const Trace* expected) {
  const std::size_t from = log_.size();
  const std::pair<Element, Vertex> alone(1, v);
  split(cell_[v], {&alone, 1});
  return run(from, false, recorded, expected);
}

}  // namespace checker

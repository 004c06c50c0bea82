#include "sightline/symmetry/refinement.hpp"

#include <algorithm>

namespace sightline::symmetry {

namespace {

/// Spans up to this length are added vertex by vertex.
constexpr Vertex short_span = 8;
/// With more difference arrays than this, further steps are expanded.
constexpr std::size_t most_dense_arrays = 12;

field::Element value_of(Cell cell) { return field::random(field::mix(0xce11, cell)); }

}  // namespace

std::vector<std::uint64_t> compute_initial_keys(const RunGraph& graph) {
  std::vector<std::uint64_t> keys(graph.vertices);
  for (Vertex v = 0; v < graph.vertices; ++v) {
    std::uint64_t key = field::mix(graph.vertex_colour[v]);
    for (const RunRelation& relation : graph.relations) {
      key = field::mix(key, relation.visible[v] ? static_cast<std::uint64_t>(relation.colour(v, v)) + 2 : 0);
    }
    keys[v] = key;
  }
  return keys;
}

Refinement::Refinement(const RunGraph& graph, const Budget& budget)
    : graph_(graph), budget_(budget), partition_(compute_initial_keys(graph)) {
  budget.ask(std::uint64_t{graph.vertices} * 64);
  difference_.assign(graph.vertices, 0);
  is_touched_.assign(graph.vertices, 0);
  tallies_.assign(graph.vertices, {});
}

void Refinement::add(Vertex x, field::Element value) {
  if (is_touched_[x] == 0) {
    is_touched_[x] = 1;
    touched_.push_back(x);
  }
  difference_[x] = field::add(difference_[x], value);
}

void Refinement::spread_list(const Span* begin, const Span* end, field::Element difference) {
  for (const Span* span = begin; span != end; ++span) {
    const field::Element value = field::multiply(span->weight, difference);
    if (span->first == span->last) {
      add(span->first, value);
      continue;
    }
    const std::uint32_t slope_index = graph_.slope_index(span->slope);
    const bool is_short = std::uint64_t{span->last} - span->first < std::uint64_t{short_span} * span->step;
    if (!is_short && dense_) {
      auto array = std::find_if(dense_arrays_.begin(), dense_arrays_.end(), [&](const Dense& d) {
        return d.slope_index == slope_index && d.step == span->step;
      });
      if (array == dense_arrays_.end() && dense_arrays_.size() < most_dense_arrays) {
        budget_.ask((std::uint64_t{graph_.vertices} + span->step) * sizeof(field::Element));
        dense_arrays_.push_back({slope_index, span->step, std::vector<field::Element>(std::size_t{graph_.vertices} + span->step, 0), false});
        array = std::prev(dense_arrays_.end());
      }
      if (array != dense_arrays_.end()) {
        array->used = true;
        array->steps[span->first] = field::add(array->steps[span->first], value);
        const std::size_t after = std::size_t{span->last} + span->step;
        array->steps[after] = field::subtract(array->steps[after], value);
        continue;
      }
    }
    if (!is_short && span->step == 1) {
      events_.push_back({span->first, slope_index, value, true});
      if (span->last + 1 < graph_.vertices) events_.push_back({span->last + 1, slope_index, field::subtract(0, value), false});
      continue;
    }
    for (std::uint64_t x = span->first; x <= span->last; x += span->step) {
      const auto v = static_cast<Vertex>(x);
      add(v, slope_index == 0 ? value : field::multiply(value, graph_.power(slope_index, v)));
    }
  }
}

void Refinement::spread(Vertex v, field::Element difference) {
  const field::Element backward = field::multiply(difference, field::backward_weight);
  const field::Element both = field::add(difference, backward);
  for (const RunRelation& relation : graph_.relations) {
    if (relation.symmetric) {
      spread_list(relation.rows.list_begin(v), relation.rows.list_end(v), both);
      continue;
    }
    spread_list(relation.columns.list_begin(v), relation.columns.list_end(v), difference);
    spread_list(relation.rows.list_begin(v), relation.rows.list_end(v), backward);
  }
}

void Refinement::collect_events() {
  if (events_.empty()) return;
  std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return a.place < b.place; });
  std::vector<field::Element> sums(graph_.slopes.size() + 1, 0);
  std::size_t open = 0;
  for (std::size_t k = 0; k < events_.size();) {
    const Vertex place = events_[k].place;
    for (; k < events_.size() && events_[k].place == place; ++k) {
      sums[events_[k].slope_index] = field::add(sums[events_[k].slope_index], events_[k].value);
      if (events_[k].opens) {
        ++open;
      } else {
        --open;
      }
    }
    if (open == 0) continue;
    const Vertex stop = k < events_.size() ? events_[k].place : graph_.vertices;
    for (Vertex x = place; x < stop; ++x) {
      field::Element value = sums[0];
      for (std::uint32_t s = 1; s < sums.size(); ++s) {
        if (sums[s] != 0) value = field::add(value, field::multiply(sums[s], graph_.power(s, x)));
      }
      add(x, value);
    }
  }
  events_.clear();
}

void Refinement::collect_dense() {
  for (Dense& array : dense_arrays_) {
    if (!array.used) continue;
    array.used = false;
    for (Vertex x = 0; x < graph_.vertices; ++x) {
      if (x >= array.step) array.steps[x] = field::add(array.steps[x], array.steps[x - array.step]);
      if (array.steps[x] != 0) {
        add(x, array.slope_index == 0 ? array.steps[x] : field::multiply(array.steps[x], graph_.power(array.slope_index, x)));
      }
    }
    std::fill(array.steps.begin(), array.steps.end(), 0);
  }
}

std::uint64_t Refinement::split_touched() {
  std::uint64_t hash = 0;
  // Most cells are touched evenly and stay whole; only the others are worth sorting.
  for (const Vertex x : touched_) {
    const field::Element difference = difference_[x];
    if (difference == 0) continue;
    const Cell cell = partition_.cell_of(x);
    if (partition_.size(cell) == 1) {
      hash += field::mix(cell, difference);
      continue;
    }
    Tally& tally = tallies_[cell];
    if (tally.touched++ == 0) {
      tally.difference = difference;
      touched_cells_.push_back(cell);
    } else if (tally.difference != difference) {
      tally.mixed = true;
    }
  }
  std::sort(touched_cells_.begin(), touched_cells_.end());
  records_.clear();
  for (const Vertex x : touched_) {
    const Cell cell = partition_.cell_of(x);
    const Tally& tally = tallies_[cell];
    if (difference_[x] != 0 && partition_.size(cell) > 1 && (tally.mixed || tally.touched < partition_.size(cell))) {
      records_.push_back({cell, difference_[x], x});
    }
    difference_[x] = 0;
    is_touched_[x] = 0;
  }
  touched_.clear();
  std::sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
    return a.cell != b.cell ? a.cell < b.cell : a.difference < b.difference;
  });
  auto record = records_.cbegin();
  for (const Cell cell : touched_cells_) {
    const Tally tally = tallies_[cell];
    tallies_[cell] = {};
    if (record == records_.cend() || record->cell != cell) {
      hash = field::mix(hash, field::mix(field::mix(cell, tally.touched), tally.difference));
      continue;
    }
    part_members_.clear();
    part_sizes_.clear();
    field::Element difference = 0;
    for (; record != records_.cend() && record->cell == cell; ++record) {
      if (record->difference != difference) {
        difference = record->difference;
        hash = field::mix(hash, field::mix(field::mix(cell, part_members_.size()), difference));
        part_sizes_.push_back(0);
      }
      ++part_sizes_.back();
      part_members_.push_back(record->vertex);
    }
    hash = field::mix(hash, field::mix(part_members_.size(), partition_.size(cell)));
    partition_.split(cell, part_members_, part_sizes_);
  }
  touched_cells_.clear();
  return field::mix(hash, partition_.cells());
}

bool Refinement::prefers_dense(std::size_t from) const {
  // Work of the sparse way: events to be sorted, and every member of a stepped span by itself.
  std::uint64_t work = 0;
  const std::uint64_t limit = graph_.vertices / 2;
  for (std::size_t k = from; k < partition_.log().size(); ++k) {
    for (Cell cell = partition_.log()[k].first_new; cell < partition_.new_end(k); ++cell) {
      for (const Vertex v : partition_.members(cell)) {
        for (const RunRelation& relation : graph_.relations) {
          for (const SpanLists* lists : {&relation.rows, &relation.by_read()}) {
            for (const Span* span = lists->list_begin(v); span != lists->list_end(v); ++span) {
              if (span->last - span->first >= short_span) work += span->step == 1 ? 12 : (span->last - span->first) / span->step;
            }
            if (relation.symmetric) break;
          }
          if (work >= limit) return true;
        }
      }
    }
  }
  return false;
}

bool Refinement::run(std::size_t from, bool initial, Trace* recorded, const Trace* expected) {
  std::size_t round = 0;
  while (initial || (from < partition_.log().size() && !partition_.is_discrete())) {
    budget_.poll();
    dense_ = initial || prefers_dense(from);
    if (initial) {
      for (Cell cell = 0; cell < partition_.cells(); ++cell) {
        for (const Vertex v : partition_.members(cell)) spread(v, value_of(cell));
      }
    } else {
      for (std::size_t k = from; k < partition_.log().size(); ++k) {
        const field::Element old_value = value_of(partition_.log()[k].cell);
        for (Cell cell = partition_.log()[k].first_new; cell < partition_.new_end(k); ++cell) {
          const field::Element difference = field::subtract(value_of(cell), old_value);
          for (const Vertex v : partition_.members(cell)) {
            budget_.poll();
            spread(v, difference);
          }
        }
      }
    }
    initial = false;
    from = partition_.log().size();
    collect_events();
    if (dense_) collect_dense();
    const std::uint64_t found = split_touched();
    if (recorded != nullptr) recorded->push_back(found);
    if (expected != nullptr && (round >= expected->size() || (*expected)[round] != found)) return false;
    ++round;
  }
  return expected == nullptr || round == expected->size();
}

bool Refinement::refine_initial(Trace* recorded, const Trace* expected) {
  // The initial cells themselves belong to the trace: their keys are compared by value.
  std::uint64_t hash = partition_.cells();
  const std::vector<std::uint64_t> keys = compute_initial_keys(graph_);
  for (Cell cell = 0; cell < partition_.cells(); ++cell) {
    hash = field::mix(hash, field::mix(keys[partition_.members(cell).front()], partition_.size(cell)));
  }
  Trace rest;
  if (expected != nullptr) {
    if (expected->empty() || expected->front() != hash) return false;
    rest.assign(expected->begin() + 1, expected->end());
  }
  if (recorded != nullptr) recorded->push_back(hash);
  return run(partition_.log().size(), true, recorded, expected != nullptr ? &rest : nullptr);
}

bool Refinement::individualise(Vertex v, Trace* recorded, const Trace* expected) {
  const std::size_t from = partition_.log().size();
  const Vertex one = 1;
  partition_.split(partition_.cell_of(v), {&v, 1}, {&one, 1});
  return run(from, false, recorded, expected);
}

}  // namespace sightline::symmetry

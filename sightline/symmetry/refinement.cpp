#include "sightline/symmetry/refinement.hpp"

#include <algorithm>
#include <utility>

#include "sightline/base/threshold.hpp"

namespace sightline::symmetry {

namespace {

/// Spans up to this length are added vertex by vertex.
constexpr Threshold<Vertex> short_span{8, 1, "short spans"};
/// With more difference arrays than this, further steps are expanded.
constexpr Threshold<std::size_t> most_dense_arrays{12, 1, "dense arrays"};
/// Spans of further steps are added vertex by vertex where there are no difference arrays.
constexpr Threshold<std::size_t> most_steps{4, 1, "refinement steps"};

/// Sets of at least this many vertices are counted in the matrix of bytes, where there is one.
constexpr Threshold<std::size_t> least_counted{6, 1, "counted vertices"};
/// Bytes of counters that are added up at a time.
constexpr std::size_t counter_block = 64;
/// Up to this many different differences in a cell are told apart by looking at all of them; more are sorted.
constexpr Threshold<std::size_t> few_parts{12, 2, "few parts"};

}  // namespace

std::vector<std::uint64_t> compute_initial_keys(const RunGraph& graph) {
  if (!graph.initial_keys.empty()) return graph.initial_keys;
  std::vector<std::uint64_t> keys(graph.vertices);
  for (Vertex v = 0; v < graph.vertices; ++v) {
    InitialKey key(graph.vertex_colour[v]);
    for (const RunRelation& relation : graph.relations) key.add(relation.visible[v] != 0, relation.colour(v, v));
    keys[v] = key.value();
  }
  return keys;
}

Refinement::Refinement(const RunGraph& graph, const Budget& budget)
    : graph_(graph), budget_(budget), initial_keys_(compute_initial_keys(graph)), partition_(initial_keys_) {
  budget.ask(std::uint64_t{graph.vertices} * 64);
  difference_.assign(graph.vertices, 0);
  touched_list_.resize(std::size_t{graph.vertices} + 1);
  tallies_.assign(graph.vertices, {});
  if (graph.arcs) return;
  Ends& line = *find_ends(1);
  budget.ask(std::uint64_t{graph.vertices} * sizeof(field::Element));
  line.changes[0].assign(line.places(graph.vertices), 0);
  const auto has_steps = [](const SpanLists& lists) { return std::any_of(lists.spans.begin(), lists.spans.end(), [](const Span& span) { return span.step > 1; }); };
  stepped_ = std::any_of(graph.relations.begin(), graph.relations.end(), [&](const RunRelation& r) { return has_steps(r.rows) || has_steps(r.columns); });
}

/// Adds to differences and notes who was touched. What a loop over arcs needs stays in registers. A difference of 0 says that a vertex was not
/// touched, so the modulus stands for the element 0.
class Refinement::Adder {
public:
  explicit Adder(Refinement& refinement)
      : difference_(refinement.difference_.data()), list_(refinement.touched_list_.data()), count_(refinement.touched_count_), stored_(refinement.touched_count_) {}
  ~Adder() { stored_ = count_; }
  Adder(const Adder&) = delete;
  Adder& operator=(const Adder&) = delete;

  [[nodiscard]] static field::Element show(field::Element value) { return value == 0 ? field::modulus : value; }

  /// `value` from 1 to the modulus: as show() gives it.
  void operator()(Vertex x, field::Element value) {
    const field::Element before = difference_[x];
    list_[count_] = x;
    count_ += before == 0 ? 1 : 0;
    const field::Element sum = before + value;
    difference_[x] = sum > field::modulus ? sum - field::modulus : sum;
  }

private:
  field::Element* const difference_;
  Vertex* const list_;
  std::size_t count_;
  std::size_t& stored_;
};

void Refinement::spread_list(Adder& add, const Span* begin, const Span* end, field::Element difference) {
  for (const Span* span = begin; span != end; ++span) {
    const field::Element value = field::multiply(span->weight, difference);
    if (span->step != 1 || span->slope != 0) {
      spread_progression(add, *span, value);
      continue;
    }
    const field::Element shown = Adder::show(value);
    if (span->last - span->first < short_span) {
      for (Vertex x = span->first; x <= span->last; ++x) add(x, shown);
      continue;
    }
    Ends& ends = ends_.front();
    mark_change(ends, span->first, ends.changes[0], value);
    mark_change(ends, span->last + 1, ends.changes[0], field::modulus - value);
  }
}

/// A span with a step, or with colours in progression.
void Refinement::spread_progression(Adder& add, const Span& span, field::Element value) {
  const std::uint32_t slope_index = graph_.slope_index(span.slope);
  const bool is_short = std::uint64_t{span.last} - span.first < std::uint64_t{short_span} * span.step;
  if (!is_short && dense_ && span.step > 1) {
    if (Dense* const array = find_dense(slope_index, span.step)) {
      array->used = true;
      array->steps[span.first] = field::add(array->steps[span.first], value);
      const std::size_t after = std::size_t{span.last} + span.step;
      array->steps[after] = field::subtract(array->steps[after], value);
      return;
    }
  }
  if (Ends* const ends = is_short || (dense_ && span.step > 1) ? nullptr : find_ends(span.step)) {
    std::vector<field::Element>& changes = ends->changes[slope_index];
    if (changes.empty()) {
      budget_.ask(std::uint64_t{ends->places(graph_.vertices)} * sizeof(field::Element));
      changes.assign(ends->places(graph_.vertices), 0);
    }
    mark_change(*ends, ends->place(span.first), changes, value);
    mark_change(*ends, ends->place(span.last) + 1, changes, field::modulus - value);
    return;
  }
  const field::Element shown = Adder::show(value);
  for (std::uint64_t x = span.first; x <= span.last; x += span.step) {
    const auto v = static_cast<Vertex>(x);
    add(v, slope_index == 0 ? shown : Adder::show(field::multiply(value, graph_.power(slope_index, v))));
  }
}

/// `value` up to the modulus.
void Refinement::mark_change(Ends& ends, Vertex place, std::vector<field::Element>& changes, field::Element value) {
  changes[place] = field::add(changes[place], value);
  ends.marks.mark(place);
}

void Refinement::spread_counted(std::span<const Vertex> members, field::Element difference) {
  const ArcLists& arcs = *graph_.arcs;
  const field::Element weight = field::multiply(arcs.bundles.front().weight, difference);
  Adder add(*this);
  for (std::size_t from = 0; from < graph_.vertices; from += counter_block) {
    const std::size_t width = std::min<std::size_t>(counter_block, graph_.vertices - from);
    // A byte counts to 255, and an entry of the matrix is at most 2 (a loop read both ways).
    for (std::size_t k = 0; k < members.size();) {
      const std::size_t stop = std::min(k + 120, members.size());
      std::uint8_t counters[counter_block] = {};
      for (; k < stop; ++k) {
        const std::uint8_t* row = arcs.matrix.data() + members[k] * arcs.stride + from;
        for (std::size_t x = 0; x < counter_block; ++x) counters[x] = static_cast<std::uint8_t>(counters[x] + row[x]);
      }
      for (std::size_t x = 0; x < width; ++x) {
        if (counters[x] != 0) add(static_cast<Vertex>(from + x), Adder::show(field::multiply(weight, counters[x])));
      }
    }
  }
}

void Refinement::spread_arcs(std::span<const Vertex> members, field::Element difference) {
  const ArcLists& arcs = *graph_.arcs;
  const ArcLists::Bundle* const bundles = arcs.bundles.data();
  const Vertex* const neighbours = arcs.neighbours.data();
  Adder add(*this);
  for (const Vertex v : members) {
    if (++walked_ % 64 == 0) budget_.poll();
    const std::uint32_t end = arcs.first_bundle[v + 1];
    std::uint32_t k = arcs.begin_of(arcs.first_bundle[v]);
    for (std::uint32_t bundle = arcs.first_bundle[v]; bundle < end; ++bundle) {
      const field::Element value = Adder::show(field::multiply(bundles[bundle].weight, difference));
      for (const std::uint32_t stop = bundles[bundle].end; k < stop; ++k) add(neighbours[k], value);
    }
  }
}

/// What all vertices together add when each is worth `value`: by the numbers of neighbours, no arc is walked through.
void Refinement::spread_evenly(field::Element value) {
  // Bundles weigh what their vertex gives to the neighbour; here it receives.
  constexpr field::Element undo_backward = field::power(field::backward_weight, -1);
  const ArcLists& arcs = *graph_.arcs;
  Adder add(*this);
  std::uint32_t begin = 0;
  for (Vertex v = 0; v < graph_.vertices; ++v) {
    field::Element sum = 0;
    for (std::uint32_t bundle = arcs.first_bundle[v]; bundle < arcs.first_bundle[v + 1]; ++bundle) {
      const ArcLists::Bundle& here = arcs.bundles[bundle];
      field::Element weight = field::multiply(here.weight, here.end - begin);
      if (here.kind % 3 == ArcLists::reader) weight = field::multiply(weight, field::backward_weight);
      if (here.kind % 3 == ArcLists::read) weight = field::multiply(weight, undo_backward);
      sum = field::add(sum, weight);
      begin = here.end;
    }
    add(v, Adder::show(field::multiply(sum, value)));
  }
}

void Refinement::spread_initial() {
  field::Element even = 0;
  if (graph_.arcs) {
    Cell largest = 0;
    for (Cell cell = 1; cell < partition_.cells(); ++cell) {
      if (partition_.size(cell) > partition_.size(largest)) largest = cell;
    }
    even = values_[largest];
    spread_evenly(even);
  }
  for (Cell cell = 0; cell < partition_.cells(); ++cell) {
    if (values_[cell] != even) spread_cell(cell, field::subtract(values_[cell], even));
  }
}

void Refinement::spread_spans(std::span<const Vertex> members, field::Element difference) {
  const field::Element backward = field::multiply(difference, field::backward_weight);
  const field::Element both = field::add(difference, backward);
  Adder add(*this);
  for (const Vertex v : members) {
    if (++walked_ % 64 == 0) budget_.poll();
    for (const RunRelation& relation : graph_.relations) {
      if (relation.symmetric) {
        spread_list(add, relation.rows.list_begin(v), relation.rows.list_end(v), both);
        continue;
      }
      spread_list(add, relation.columns.list_begin(v), relation.columns.list_end(v), difference);
      spread_list(add, relation.rows.list_begin(v), relation.rows.list_end(v), backward);
    }
  }
}

void Refinement::spread_cell(Cell cell, field::Element difference) {
  const std::span<const Vertex> members = partition_.members(cell);
  if (!graph_.arcs) {
    spread_spans(members, difference);
  } else if (graph_.arcs->stride != 0 && members.size() >= least_counted) {
    spread_counted(members, difference);
  } else {
    spread_arcs(members, difference);
  }
}

Refinement::Ends* Refinement::find_ends(Vertex step) {
  const auto at = std::find_if(ends_.begin(), ends_.end(), [step](const Ends& ends) { return ends.step == step; });
  if (at != ends_.end()) return &*at;
  if (ends_.size() == most_steps) return nullptr;
  Ends ends{step, graph_.vertices / step + 2, std::vector<std::vector<field::Element>>(graph_.slopes.size() + 1), PlaceMarks(0)};
  ends.marks = PlaceMarks(ends.places(graph_.vertices));
  return &ends_.emplace_back(std::move(ends));
}

Refinement::Dense* Refinement::find_dense(std::uint32_t slope_index, Vertex step) {
  const auto at = std::find_if(dense_arrays_.begin(), dense_arrays_.end(), [&](const Dense& d) { return d.slope_index == slope_index && d.step == step; });
  if (at != dense_arrays_.end()) return &*at;
  if (dense_arrays_.size() == most_dense_arrays) return nullptr;
  budget_.ask((std::uint64_t{graph_.vertices} + step) * sizeof(field::Element));
  return &dense_arrays_.emplace_back(Dense{slope_index, step, std::vector<field::Element>(std::size_t{graph_.vertices} + step, 0), false});
}

/// Spans with steps that hold much of the layout are passed more quickly in the order of the vertices.
bool Refinement::move_to_dense(Ends& ends) {
  if (ends.step == 1 || dense_arrays_.size() + graph_.slopes.size() + 1 > most_dense_arrays) return false;
  std::uint64_t held = 0;
  std::size_t from = 0;
  std::vector<field::Element> sums(ends.changes.size(), 0);
  ends.marks.for_each(true, [&](std::size_t place) {
    if (std::any_of(sums.begin(), sums.end(), [](field::Element sum) { return sum != 0; })) held += place - from;
    for (std::size_t s = 0; s < sums.size(); ++s) {
      if (!ends.changes[s].empty()) sums[s] = field::add(sums[s], ends.changes[s][place]);
    }
    from = place;
  });
  if (held < graph_.vertices / 8) return false;
  for (std::uint32_t s = 0; s < ends.changes.size(); ++s) {
    if (ends.changes[s].empty()) continue;
    Dense* const array = find_dense(s, ends.step);
    array->used = true;
    ends.marks.for_each(true, [&](std::size_t place) {
      field::Element& change = array->steps[ends.vertex(static_cast<Vertex>(place))];
      change = field::add(change, std::exchange(ends.changes[s][place], 0));
    });
  }
  ends.marks.for_each(false, [](std::size_t) {});
  return true;
}

void Refinement::collect_ends(Ends& ends) {
  if (ends.marks.is_empty() || move_to_dense(ends)) return;
  Adder add(*this);
  // Most layouts have no colours in progression, and steps of 1.
  const bool is_plain = ends.step == 1 && std::all_of(ends.changes.begin() + 1, ends.changes.end(), [](const auto& changes) { return changes.empty(); });
  if (is_plain) {
    field::Element* const changes = ends.changes[0].data();
    field::Element sum = 0;
    std::size_t from = 0;
    ends.marks.for_each(false, [&](std::size_t place) {
      if (sum != 0) {
        for (; from < place; ++from) add(static_cast<Vertex>(from), sum);
      }
      from = place;
      sum = field::add(sum, std::exchange(changes[place], 0));
    });
    return;
  }
  std::vector<field::Element> sums(ends.changes.size(), 0);
  std::size_t from = 0;
  ends.marks.for_each(false, [&](std::size_t place) {
    if (std::any_of(sums.begin(), sums.end(), [](field::Element sum) { return sum != 0; })) {
      auto x = static_cast<Vertex>(ends.vertex(static_cast<Vertex>(from)));
      for (; from < place; ++from, x += ends.step) {
        field::Element value = sums[0];
        for (std::uint32_t s = 1; s < sums.size(); ++s) {
          if (sums[s] != 0) value = field::add(value, field::multiply(sums[s], graph_.power(s, x)));
        }
        add(x, Adder::show(value));
      }
    }
    from = place;
    for (std::size_t s = 0; s < sums.size(); ++s) {
      if (!ends.changes[s].empty()) sums[s] = field::add(sums[s], std::exchange(ends.changes[s][place], 0));
    }
  });
}

void Refinement::collect_dense() {
  Adder add(*this);
  for (Dense& array : dense_arrays_) {
    if (!array.used) continue;
    array.used = false;
    for (Vertex x = 0; x < graph_.vertices; ++x) {
      if (x >= array.step) array.steps[x] = field::add(array.steps[x], array.steps[x - array.step]);
      if (array.steps[x] != 0) {
        add(x, array.slope_index == 0 ? array.steps[x] : Adder::show(field::multiply(array.steps[x], graph_.power(array.slope_index, x))));
      }
    }
    std::fill(array.steps.begin(), array.steps.end(), 0);
  }
}

void Refinement::extend_values() {
  while (values_.size() < partition_.cells()) values_.push_back(field::random(field::mix(0xce11, values_.size())));
}

std::uint64_t Refinement::tally_round() {
  // How many vertices of which cell met which difference, in any order: this decides all splits of the round.
  std::uint64_t hash = partition_.cells();
  field::Element* const differences = difference_.data();
  const field::Element* const values = values_.data();
  Tally* const tallies = tallies_.data();
  Vertex* const list = touched_list_.data();
  std::size_t kept = 0;
  for (const Vertex x : touched()) {
    const field::Element difference = differences[x];
    const Cell cell = partition_.cell_of(x);
    if (difference != field::modulus) hash += field::fold(difference, values[cell]);
    if (difference == field::modulus || partition_.size(cell) == 1) {
      differences[x] = 0;
      continue;
    }
    list[kept++] = x;
    Tally& tally = tallies[cell];
    if (tally.touched++ == 0) {
      tally.difference = difference;
      touched_cells_.push_back(cell);
    } else if (tally.difference != difference) {
      tally.mixed = true;
    }
  }
  touched_count_ = kept;
  return hash;
}

void Refinement::forget_round() {
  for (const Vertex x : touched()) difference_[x] = 0;
  touched_count_ = 0;
  for (const Cell cell : touched_cells_) tallies_[cell] = {};
  touched_cells_.clear();
}

void Refinement::split_cell(Cell cell, std::span<Record> records) {
  if (partition_.size(cell) == 2) {
    // The greater difference leaves, or what was touched.
    const Record* const last = &records.back();
    partition_.split_pair(cell, records.size() == 2 && records.front().difference > last->difference ? records.front().vertex : last->vertex);
    return;
  }
  const auto differs = [&](const Record& record) { return record.difference != records.front().difference; };
  if (std::none_of(records.begin() + 1, records.end(), differs)) {
    part_members_.resize(records.size());
    for (std::size_t k = 0; k < records.size(); ++k) part_members_[k] = records[k].vertex;
    const auto size = static_cast<Vertex>(records.size());
    partition_.split(cell, part_members_, {&size, 1});
    return;
  }
  // Parts by ascending difference.
  part_members_.clear();
  part_sizes_.clear();
  field::Element parts[few_parts.usual()];
  std::size_t count = 0;
  for (const Record& record : records) {
    const auto* const end = parts + count;
    if (std::find(static_cast<const field::Element*>(parts), end, record.difference) != end) continue;
    if (count == few_parts) {
      count = few_parts + 1;
      break;
    }
    parts[count++] = record.difference;
  }
  if (count <= few_parts) {
    std::sort(parts, parts + count);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t before = part_members_.size();
      for (const Record& record : records) {
        if (record.difference == parts[k]) part_members_.push_back(record.vertex);
      }
      part_sizes_.push_back(static_cast<Vertex>(part_members_.size() - before));
    }
  } else {
    std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) { return a.difference != b.difference ? a.difference < b.difference : a.vertex < b.vertex; });
    for (std::size_t k = 0; k < records.size(); ++k) {
      if (k == 0 || records[k].difference != records[k - 1].difference) part_sizes_.push_back(0);
      ++part_sizes_.back();
      part_members_.push_back(records[k].vertex);
    }
  }
  partition_.split(cell, part_members_, part_sizes_);
}

void Refinement::split_touched() {
  // Most cells are touched evenly and stay whole; only the others are worth looking at.
  Vertex place = 0;
  std::size_t splitting = 0;
  for (const Cell cell : touched_cells_) {
    Tally& tally = tallies_[cell];
    if (!tally.mixed && tally.touched == partition_.size(cell)) {
      tally = {};
      continue;
    }
    tally.place = place;
    place += tally.touched;
    touched_cells_[splitting++] = cell;
  }
  touched_cells_.resize(splitting);
  records_.resize(place);
  field::Element* const differences = difference_.data();
  Tally* const tallies = tallies_.data();
  Record* const records = records_.data();
  for (const Vertex x : touched()) {
    const field::Element difference = std::exchange(differences[x], 0);
    Tally& tally = tallies[partition_.cell_of(x)];
    if (tally.touched != 0) records[tally.place++] = {difference, x};
  }
  touched_count_ = 0;
  std::sort(touched_cells_.begin(), touched_cells_.end());
  for (const Cell cell : touched_cells_) {
    const Tally tally = tallies_[cell];
    tallies_[cell] = {};
    split_cell(cell, std::span(records_).subspan(tally.place - tally.touched, tally.touched));
  }
  touched_cells_.clear();
}

bool Refinement::prefers_dense(std::size_t from) const {
  // Work of the sparse way: ends out of the order of the vertices.
  std::uint64_t work = 0;
  const std::uint64_t limit = graph_.vertices / 2;
  for (std::size_t k = from; k < partition_.log().size(); ++k) {
    for (Cell cell = partition_.log()[k].first_new; cell < partition_.new_end(k); ++cell) {
      for (const Vertex v : partition_.members(cell)) {
        for (const RunRelation& relation : graph_.relations) {
          for (const SpanLists* lists : {&relation.rows, &relation.by_read()}) {
            for (const Span* span = lists->list_begin(v); span != lists->list_end(v); ++span) {
              if (span->step > 1 && (span->last - span->first) / span->step >= short_span) work += 12;
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
    dense_ = stepped_ && (initial || prefers_dense(from));
    extend_values();
    if (initial) {
      spread_initial();
    } else {
      for (std::size_t k = from; k < partition_.log().size(); ++k) {
        const field::Element old_value = values_[partition_.log()[k].cell];
        for (Cell cell = partition_.log()[k].first_new; cell < partition_.new_end(k); ++cell) {
          spread_cell(cell, field::subtract(values_[cell], old_value));
        }
      }
    }
    initial = false;
    from = partition_.log().size();
    for (Ends& ends : ends_) collect_ends(ends);
    collect_dense();
    const std::uint64_t found = tally_round();
    if (recorded != nullptr) recorded->push_back(found);
    if (expected != nullptr && (round >= expected->size() || (*expected)[round] != found)) {
      forget_round();
      return false;
    }
    split_touched();
    ++round;
  }
  return expected == nullptr || round == expected->size();
}

bool Refinement::refine_initial(Trace* recorded, const Trace* expected) {
  // The initial cells themselves belong to the trace: their keys are compared by value.
  std::uint64_t hash = partition_.cells();
  for (Cell cell = 0; cell < partition_.cells(); ++cell) {
    hash = field::mix(hash, field::mix(initial_keys_[partition_.members(cell).front()], partition_.size(cell)));
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

// Rows with steps, in layouts large enough for the ways that do not go through them member by member.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "sightline/layout/pattern_builder.hpp"
#include "sightline/layout/pattern_spec.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/stepped_sums.hpp"
#include "sightline/sight/views.hpp"
#include "tests/unlimited.hpp"

namespace sightline::sight {

TEST_CASE("sums over ranges with steps are those of their members") {
  std::mt19937_64 random(11);
  for (int k = 0; k < 50; ++k) {
    const auto n = static_cast<Vertex>(1 + random() % 300);
    SteppedSums<std::int64_t> sums(n);
    std::vector<std::int64_t> expected(n, 0);
    for (int range = 0; range < 40; ++range) {
      const auto first = static_cast<Vertex>(random() % n);
      const auto step = static_cast<Vertex>(1 + random() % 9);
      const auto last = static_cast<Vertex>(first + random() % (n - first));
      const Vertex end = last - (last - first) % step;
      const auto value = static_cast<std::int64_t>(random() % 1000) - 500;
      sums.add(first, end, step, value);
      for (std::uint64_t j = first; j <= end; j += step) expected[j] += value;
    }
    REQUIRE(std::move(sums).take() == expected);
  }
}

TEST_CASE("the ranges of a layer are its rows, those that neighbours have in common written once") {
  layout::PatternSpec spec;
  spec.kind = layout::PatternKind::fixed;
  spec.causal = true;
  spec.stride = 32;
  spec.summary = 5;
  const Vertex n = 1000;
  Layout layout;
  layout.tokens = n;
  layout.vertex_colour.assign(n, 0);
  layout.relations.emplace_back(layout::make_patterns(spec, {n, 0, 1}, unlimited).front(), layout::Relative{}, layout::Cancels::single_colour, n);
  layout.layers = {{{0}}};
  layout.order = {0};
  const ReadLayer layer = make_read_layer(layout, layout.layers.front(), unlimited);
  CHECK(layer.shared.size() > 30);
  CHECK(layer.ranges.size() < std::size_t{3} * n);  // six runs a row
  std::vector<std::vector<Vertex>> by_group(n), by_stretch(n);
  const auto add = [](const ReadRange& range, std::vector<Vertex>& row) {
    for (Vertex j = range.first; j <= range.last; j += range.step) row.push_back(j);
  };
  Vertex next = 0;
  for (const ReadGroup& group : layer.groups) {
    REQUIRE(group.begin == next);
    for (; next < group.end; ++next) {
      for (const ReadRange& range : layer.row(group)) add(range, by_group[next]);
    }
  }
  REQUIRE(next == n);
  for_each_stretch(layer, [&](Vertex begin, Vertex end, std::span<const ReadRange> ranges) {
    for (Vertex i = begin; i < end; ++i) {
      for (const ReadRange& range : ranges) add(range, by_stretch[i]);
    }
  });
  for (Vertex i = 0; i < n; ++i) {
    CAPTURE(i);
    std::vector<Vertex> expected;
    for (const layout::Run& run : layout.relations.front().pattern().row(i)) add({run.first, run.last, run.step}, expected);
    for (std::vector<Vertex>* row : {&expected, &by_group[i], &by_stretch[i]}) std::sort(row->begin(), row->end());
    REQUIRE(by_group[i] == expected);
    REQUIRE(by_stretch[i] == expected);
  }
}

TEST_CASE("what hubs, cores and crossing rows answer is what following every column answers") {
  std::mt19937_64 random(12);
  int answered = 0, by_core = 0;
  for (int k = 0; k < 120; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(200 + random() % 200);
    Layout layout;
    layout.tokens = n;
    layout.vertex_colour.assign(n, 0);
    for (auto more = 1 + random() % 2; more > 0; --more) {
      layout::PatternSpec spec;
      spec.kind = random() % 3 == 0 ? layout::PatternKind::strided : layout::PatternKind::fixed;
      spec.causal = k % 2 == 0;
      spec.stride = static_cast<std::int64_t>(2 + random() % 30);
      if (spec.kind == layout::PatternKind::fixed) spec.summary = static_cast<std::int64_t>(1 + random() % static_cast<std::uint64_t>(std::min<std::int64_t>(6, *spec.stride)));
      if (random() % 4 == 0) spec.part = random() % 2 == 0 ? "local" : "summary";
      if (spec.part == "local") spec.summary.reset();
      layout::Pattern pattern = layout::make_patterns(spec, {n, 0, 1}, unlimited).front();
      if (k % 3 == 0) {
        // One token forgets one column: often all that matters.
        std::vector<std::vector<Vertex>> rows(n);
        for (Vertex i = 0; i < n; ++i) {
          for (const layout::Run& run : pattern.row(i)) {
            for (Vertex j = run.first; j <= run.last; j += run.step) rows[i].push_back(j);
          }
        }
        const auto reader = static_cast<std::size_t>(n / 2 + random() % (n / 2));
        const Vertex forgotten = static_cast<Vertex>(*spec.stride * static_cast<std::int64_t>(1 + random() % 2) - 1);
        std::erase(rows[reader], std::min(forgotten, n - 1));
        pattern = layout::make_pattern_from_rows(n, rows);
      }
      layout.relations.emplace_back(pattern, layout::Relative{}, layout::Cancels::single_colour, n);
      layout.order.push_back(static_cast<std::uint32_t>(layout.layers.size()));
      layout.layers.push_back({{static_cast<std::uint32_t>(layout.relations.size() - 1)}});
    }
    ReachQuestion question;
    question.layout = &layout;
    question.find_layers = true;
    question.wanted.kind = k % 2 == 0 ? ClassKind::causal : ClassKind::all;
    const Connected expected = answer_by_bits(question, unlimited).reach;
    if (const auto answer = answer_by_hubs(question, unlimited)) {
      ++answered;
      REQUIRE(answer->reach.layers == expected.layers);
    }
    // A core may be missed, but what it says holds.
    for (const std::uint32_t earlier : layout.order) {
      for (const std::uint32_t later : layout.order) {
        if (!does_core_suffice(question, make_read_layer(layout, layout.layers[earlier], unlimited), make_read_layer(layout, layout.layers[later], unlimited), unlimited)) continue;
        ++by_core;
        Layout two = layout;
        two.order = {earlier, later};
        ReachQuestion both = question;
        both.layout = &two;
        both.find_layers = false;
        both.count_unseen = true;
        both.depth = 2;
        for (const Vertex unseen : answer_by_bits(both, unlimited).unseen) REQUIRE(unseen == 0);
      }
    }
  }
  CHECK(answered > 30);
  CHECK(by_core > 20);
}

TEST_CASE("one layer of one pattern, and two through what everybody reads, are what following every column says") {
  std::mt19937_64 random(14);
  int answered = 0, refused = 0;
  for (int k = 0; k < 600; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(20 + random() % 60);
    const auto registers = static_cast<Vertex>(random() % 3);
    Layout layout;
    layout.tokens = n;
    layout.registers = registers;
    layout.vertex_colour.assign(n, 0);
    for (Vertex r = 0; r < registers; ++r) layout.vertex_colour.push_back(1 + r);
    for (auto more = 1 + random() % 3; more > 0; --more) {
      // Hubs that all read and that read all, but perhaps for one arc, and what is near.
      layout::PatternBuilder builder(n + registers, unlimited);
      std::vector<Vertex> hubs;
      for (auto hub = random() % 4; hub > 0; --hub) hubs.push_back(static_cast<Vertex>(random() % (n + registers)));
      const auto radius = static_cast<std::int64_t>(random() % 4), forgets = static_cast<std::int64_t>(random() % (3 * n));
      const bool by_rows = random() % 2 == 0;
      if (by_rows) {
        std::vector<std::vector<Vertex>> rows(n + registers);
        for (Vertex i = 0; i < n + registers; ++i) {
          for (Vertex j = 0; j < n + registers; ++j) {
            const bool is_near = std::abs(std::int64_t{i} - std::int64_t{j}) <= radius, is_hub = std::find(hubs.begin(), hubs.end(), j) != hubs.end() || std::find(hubs.begin(), hubs.end(), i) != hubs.end();
            if (is_near || (is_hub && forgets != i + j)) rows[i].push_back(j);
          }
        }
        layout.relations.emplace_back(layout::make_pattern_from_rows(n + registers, rows), layout::Relative{}, layout::Cancels::single_colour, n);
      } else {
        // A wide window: what moves with its readers, cut at the ends, has something in common.
        const std::int64_t width = static_cast<std::int64_t>(n / 2 + random() % n);
        std::vector<layout::AffineRun> runs{layout::make_moving_run(-width, width, n, random() % 3 == 0 ? 2 : 1)};
        if (registers > 0) runs.push_back(layout::make_constant_run(n, n + registers - 1));
        builder.add_segment(0, builder.add_list(runs));
        if (registers > 0) builder.add_segment(n, builder.add_list(std::vector{layout::make_constant_run(0, forgets < n ? forgets : n - 1)}));
        layout.relations.emplace_back(builder.build(), layout::Relative{}, layout::Cancels::single_colour, n);
      }
    }
    for (std::uint32_t r = 0; r < layout.relations.size(); ++r) {
      if (r == 0 || random() % 3 != 0) layout.layers.push_back({{r}});
      else layout.layers.back().relations.push_back(r);  // heads
    }
    for (std::uint32_t l = 0; l < layout.layers.size(); ++l) layout.order.push_back(l);
    for (const bool registers_too : {false, true}) {
      for (const bool ordinary_only : {false, true}) {
        ReachQuestion question;
        question.layout = &layout;
        question.skip = random() % 3;
        question.find_layers = question.count_unseen = true;
        question.registers_too = registers_too;
        question.wanted.ordinary_only = ordinary_only;
        question.depth = 1;
        CHECK_FALSE(answer_by_core(question, unlimited));
        question.find_layers = false;
        const auto by_rows = answer_by_rows(question, unlimited);
        REQUIRE(by_rows.has_value() == (!ordinary_only && layout.layer(question.skip + 1).relations.size() == 1));
        if (by_rows) REQUIRE(by_rows->unseen == answer_by_bits(question, unlimited).unseen);
        question.find_layers = true;
        question.depth = 2 + random() % 2;
        const auto answer = answer_by_core(question, unlimited);
        if (!answer) {
          ++refused;
          continue;
        }
        ++answered;
        const ReachAnswer expected = answer_by_bits(question, unlimited);
        REQUIRE(answer->reach.layers == expected.reach.layers);
        REQUIRE(answer->unseen == expected.unseen);
        REQUIRE(answer->reach.witness);
        const auto [reader, unseen] = *answer->reach.witness;
        REQUIRE(reader < n);
        REQUIRE(is_wanted(question, reader, unseen));
        REQUIRE(compute_latest_after(layout, question.skip, 1, reader, unlimited)[unseen] < 0);
      }
    }
  }
  CHECK(answered > 200);
  CHECK(refused > 200);
}

TEST_CASE("a core is found however its rows are written down") {
  for (const std::int64_t summary : {1, 4, 16}) {
    CAPTURE(summary);
    constexpr Vertex n = 16384;
    layout::PatternSpec spec;
    spec.kind = layout::PatternKind::fixed;
    spec.causal = true;
    spec.stride = 128;
    spec.summary = summary;
    const layout::Pattern pattern = layout::make_patterns(spec, {n, 0, 1}, unlimited).front();
    layout::PatternBuilder builder(n, unlimited);
    for (Vertex i = 0; i < n; ++i) {  // short rows are read from the left, in long ones ranges of the pattern stay
      std::vector<layout::AffineRun> runs;
      std::vector<Vertex> members;
      for (const layout::Run& run : pattern.row(i)) {
        runs.push_back(layout::make_constant_run(run.first, run.last, run.colour));
        runs.back().step = run.step;
        for (Vertex j = run.first; j <= run.last; j += run.step) members.push_back(j);
      }
      if (members.size() <= 4 * runs.size()) {
        std::sort(members.begin(), members.end());
        runs.clear();
        layout::append_runs(members, {}, runs);
      }
      builder.add_segment(i, builder.add_list(runs));
    }
    for (const layout::Pattern& form : {pattern, builder.build()}) {
      Layout layout;
      layout.tokens = n;
      layout.vertex_colour.assign(n, 0);
      layout.relations.emplace_back(form, layout::Relative{}, layout::Cancels::single_colour, n);
      layout.order = {0};
      layout.layers = {{{0}}};
      ReachQuestion question;
      question.layout = &layout;
      question.find_layers = true;
      question.wanted.kind = ClassKind::causal;
      const auto answer = answer_by_hubs(question, unlimited);
      REQUIRE(answer.has_value());
      CHECK(answer->reach.layers == std::optional<std::uint64_t>(2));
    }
  }
}

TEST_CASE("the group that names or a theorem show is the one that a search finds") {
  std::mt19937_64 random(13);
  int trivial = 0, reflected = 0, left = 0;
  for (int k = 0; k < 400; ++k) {
    CAPTURE(k);
    const auto n = static_cast<Vertex>(12 + random() % 60);
    Layout layout;
    layout.tokens = n;
    layout.vertex_colour.assign(n, 0);
    if (k % 7 == 0) layout.vertex_colour[random() % n] = 1;
    for (auto more = k % 2 == 0 ? 1 : 1 + random() % 2; more > 0; --more) {
      layout::PatternSpec spec;
      spec.kind = k % 5 < 3 ? layout::PatternKind::strided : k % 5 == 3 ? layout::PatternKind::fixed : layout::PatternKind::window;
      spec.causal = k % 4 == 0;
      if (spec.kind == layout::PatternKind::window) spec.radius = static_cast<std::int64_t>(1 + random() % 4);
      else spec.stride = static_cast<std::int64_t>(2 + random() % 12);
      if (spec.kind == layout::PatternKind::fixed) spec.summary = 1;
      if (spec.causal && random() % 3 == 0) spec.part = "summary";
      if (spec.kind == layout::PatternKind::window) spec.part.clear();
      layout.relations.emplace_back(layout::make_patterns(spec, {n, 0, 1}, unlimited).front(), layout::Relative{}, layout::Cancels::nothing, n);
      layout.layers.push_back({{static_cast<std::uint32_t>(layout.layers.size())}});
      layout.order.push_back(static_cast<std::uint32_t>(layout.order.size()));
    }
    symmetry::SearchRecord record;
    const auto named = find_named_group(layout, unlimited, record);
    if (!named) {
      ++left;
      continue;
    }
    const group::Group expected = symmetry::compute_layout_group(layout, unlimited);
    REQUIRE(named->order == expected.order);
    REQUIRE(named->orbit == expected.orbit);
    REQUIRE(record.path.size() == named->generators.size());
    ++(named->is_trivial() ? trivial : reflected);
  }
  CHECK(trivial > 40);
  CHECK(reflected > 20);
  CHECK(left > 80);
}

}  // namespace sightline::sight

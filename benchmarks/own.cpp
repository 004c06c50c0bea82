#include "own.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "sightline/layout/natural_order.hpp"
#include "sightline/sight/product_group.hpp"
#include "sightline/sight/known_orbits.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "sightline/sight/views.hpp"

namespace bench {

namespace {

const sightline::Budget no_limit;

double since(double start) { return processor_time() - start; }

Layout require_layout(const std::function<std::optional<Layout>()>& make) {
  std::optional<Layout> layout = make();
  if (!layout) throw std::runtime_error("does not fit");
  return std::move(*layout);
}

std::string print_order(const sightline::group::Order& order) {
  const auto value = order.value(1000000);
  return value ? value->get_str() : order.factored();
}

template <class Call>
double time_best(Call&& call) {
  return least_time([&] {
    const double start = processor_time();
    call();
    return since(start);
  });
}

}  // namespace

std::string to_text(double seconds, const std::string& answer) { return fmt::format("{:.9g}\n{}", seconds, answer); }

Measured read_measured(Outcome outcome) {
  Measured measured;
  measured.outcome = std::move(outcome);
  if (measured.outcome.end != Outcome::End::finished) return measured;
  const std::size_t end = measured.outcome.text.find('\n');
  measured.seconds = std::stod(measured.outcome.text.substr(0, end));
  measured.answer = measured.outcome.text.substr(end + 1);
  return measured;
}

Measured measure_group(double limit, const std::function<std::optional<Layout>()>& make) {
  return read_measured(run_in_child(limit, [&](const std::function<void()>& start_clock) {
    const Layout layout = require_layout(make);
    sightline::group::Group group;
    start_clock();
    const double seconds = time_best([&] { group = sightline::sight::compute_layout_group(layout, no_limit, nullptr); });
    return to_text(seconds, print_order(group.order));
  }));
}

Measured measure_answers(double limit, const std::function<std::optional<Layout>()>& make) {
  return read_measured(run_in_child(limit, [&](const std::function<void()>& start_clock) {
    using namespace sightline::sight;
    const Layout given = require_layout(make);
    const ReachMemory memory;  // as certify does
    start_clock();
    const double start = processor_time();
    const auto reordered = sightline::layout::find_natural_order(given, no_limit);
    const Layout& layout = reordered ? reordered->layout : given;
    const auto group = compute_layout_group(layout, no_limit, nullptr);
    const KnownOrbits orbits(layout, [&]() -> const auto& { return group.orbit; });
    const Connected connected = compute_connected(layout, no_limit);
    const ClassKind kind = compute_class_kind(layout, no_limit);
    const Needed needed = compute_needed({&layout, &group, &group, kind, RegisterRows::frequencies}, no_limit);
    const auto unseen = compute_unseen(layout, std::nullopt, {ClassKind::all, false}, no_limit);
    const double seconds = since(start);
    return to_text(seconds, fmt::format("connected {}, needed {}", connected.layers ? std::to_string(*connected.layers) : "never",
                                        needed.layers ? std::to_string(*needed.layers) : needed.never ? "never" : fmt::format("[{}, {}]", needed.low, needed.high)));
  }));
}

Measured measure_connected(double limit, const std::function<std::optional<Layout>()>& make) {
  return read_measured(run_in_child(limit, [&](const std::function<void()>& start_clock) {
    const Layout layout = require_layout(make);
    sightline::sight::Connected connected;
    start_clock();
    const double seconds = time_best([&] { connected = sightline::sight::compute_connected(layout, no_limit); });
    return to_text(seconds, connected.layers ? std::to_string(*connected.layers) : "never");
  }));
}

Measured measure_pattern(double limit, const Family& family) {
  return read_measured(run_in_child(limit, [&](const std::function<void()>& start_clock) {
    std::uint64_t bytes = 0;
    start_clock();
    const double seconds = time_best([&] {
      bytes = 0;
      for (const auto& relation : make_layout(family).relations) bytes += relation.pattern().memory_bytes();
    });
    return to_text(seconds, std::to_string(bytes));
  }));
}

}  // namespace bench

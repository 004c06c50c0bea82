#include <algorithm>

#include "sightline/base/threshold.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "sightline/sight/stepped_sums.hpp"

namespace sightline::sight {

namespace {

// For every vertex (how many it reads) * (how many read it), over the distinct layers.
std::vector<double> compute_traffic(const Layout& layout, const ReadLayers& layers, const Budget& budget) {
  const Vertex vertices = layout.vertices();
  std::vector<double> reads(vertices, 0);
  SteppedSums<double> readers(vertices);
  for (const auto& read : layers) {
    const ReadLayer& layer = *read;
    for_each_stretch(layer, [&](Vertex begin, Vertex end, std::span<const ReadRange> ranges) {
      budget.poll();
      const double count = end - begin;
      double sum = 0;
      for (const ReadRange& range : ranges) {
        sum += (range.last - range.first) / range.step + 1;
        readers.add(range.first, range.last, range.step, count);
      }
      for (Vertex i = begin; i < end; ++i) reads[i] += sum;
    });
  }
  const std::vector<double> read_by = std::move(readers).take();
  for (Vertex j = 0; j < vertices; ++j) reads[j] *= read_by[j];
  return reads;
}

// Is every wanted pair connected by two layers among the first `most`?
bool is_bounded_by_two(const ReachQuestion& question, const ReadLayers& layers, std::uint64_t most, const Budget& budget) {
  const Layout& layout = *question.layout;
  if (layout.registers > 0) return false;
  constexpr std::size_t most_pairs = 12;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> tried;
  const auto at = [&](std::uint64_t q) { return layout.order[(question.skip + q - 1) % layout.order.size()]; };
  // A period shows every pair of kinds in their order; two of them show pairs across its end.
  const std::uint64_t last = std::min<std::uint64_t>(most, 2 * layout.order.size());
  for (std::uint64_t q = 2; q <= last; ++q) {
    for (std::uint64_t p = 1; p < q; ++p) {
      const std::pair<std::uint32_t, std::uint32_t> pair{at(p), at(q)};
      if (std::find(tried.begin(), tried.end(), pair) != tried.end()) continue;
      if (tried.size() == most_pairs) return false;
      tried.push_back(pair);
      // Counting readers of a core needs disjoint ranges.
      if (layout.layers[pair.second].relations.size() == 1 && does_core_suffice(question, *layers[pair.first], *layers[pair.second], budget)) return true;
      if (do_rows_cross(question, *layers[pair.first], *layers[pair.second], budget) || do_rows_meet_classes(question, *layers[pair.first], *layers[pair.second], budget)) return true;
    }
  }
  return false;
}

// The least number of layers after which h sees every wanted column.
std::optional<std::uint64_t> find_full_view(const ReachQuestion& question, Vertex h, const Budget& budget) {
  const auto full = [&](std::uint64_t depth) {
    const auto latest = compute_latest_after(*question.layout, question.skip, depth, h, budget);
    for (Vertex j = 0; j < latest.size(); ++j) {
      if (latest[j] < 0 && is_wanted(question, h, j)) return false;
    }
    return true;
  };
  constexpr Threshold<std::uint64_t> patience{256, 4, "hub layers"};
  std::uint64_t high = 1;
  while (high <= patience && !full(high)) high *= 2;
  if (high > patience) return std::nullopt;
  std::uint64_t low = high / 2;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (full(middle) ? high : low) = middle;
  }
  return high;
}

std::optional<ReachAnswer> find_by_hubs(const ReachQuestion& question, const Budget& budget) {
  const Layout& layout = *question.layout;
  constexpr Threshold<Vertex> worth_it{1024, 2, "hubs"};
  if (question.wanted.kind == ClassKind::seen || layout.order.empty() || layout.tokens < 2) return std::nullopt;
  if (layout.vertices() > worth_it && do_offsets_answer(question, budget)) return std::nullopt;
  const ReadLayers layers = find_read_layers(layout, budget);
  const std::vector<double> traffic = compute_traffic(layout, layers, budget);

  // Columns from all over the layout, the least read ones among them.
  std::vector<Vertex> by_traffic(layout.tokens);
  for (Vertex i = 0; i < layout.tokens; ++i) by_traffic[i] = i;
  const Vertex first = question.wanted.ordinary_only ? 1 : 0;
  std::vector<Vertex> columns;
  const Vertex quiet = std::min<Vertex>(16, layout.tokens);
  std::partial_sort(by_traffic.begin(), by_traffic.begin() + quiet, by_traffic.end(), [&](Vertex a, Vertex b) {
    return traffic[a] != traffic[b] ? traffic[a] < traffic[b] : a < b;
  });
  for (Vertex k = 0; k < quiet; ++k) columns.push_back(std::max(first, by_traffic[k]));
  for (std::uint64_t k = 0; k < 48; ++k) {
    columns.push_back(std::max(first, static_cast<Vertex>((layout.tokens - 1) * k / 47)));
  }
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  ReachQuestion sampled = question;
  sampled.count_unseen = false;
  sampled.find_layers = true;
  // Many layers of whole columns cost more than views as intervals do, where these answer.
  constexpr Threshold<std::uint64_t> usual_layers{128, 2, "sampled layers"};
  // Below a reader nothing but two layers, of the first two periods, bounds the answer.
  const bool by_two_only = question.wanted.kind != ClassKind::all;
  std::optional<ReachAnswer> quick = find_layers_of_columns(sampled, &columns, by_two_only ? std::min<std::uint64_t>(usual_layers, 2 * layout.order.size()) : usual_layers, budget);
  if (!quick && by_two_only) return std::nullopt;
  if (!quick && layout.vertices() > worth_it && (find_orbits_for(sampled, few_orbits) != nullptr || answer_by_centre(sampled, budget) || answer_by_spans(sampled, budget))) return std::nullopt;
  ReachAnswer below = quick ? *std::move(quick) : answer_by_bits(sampled, budget, &columns);
  if (!below.reach.layers) return below;
  if (*below.reach.layers >= 2 && is_bounded_by_two(question, layers, *below.reach.layers, budget)) return below;
  if (by_two_only) return std::nullopt;

  std::vector<Vertex> hubs(layout.vertices());
  for (Vertex i = 0; i < layout.vertices(); ++i) hubs[i] = i;
  const Vertex tries = std::min<Vertex>(3, layout.vertices());
  std::partial_sort(hubs.begin(), hubs.begin() + tries, hubs.end(), [&](Vertex a, Vertex b) {
    return traffic[a] != traffic[b] ? traffic[a] > traffic[b] : a < b;
  });
  for (Vertex k = 0; k < tries; ++k) {
    const auto gathered = find_full_view(question, hubs[k], budget);
    if (!gathered || *gathered >= *below.reach.layers) continue;
    ReachQuestion spread = sampled;
    spread.skip = question.skip + *gathered;
    spread.registers_too = true;
    spread.wanted = {};
    const std::vector<Vertex> hub{hubs[k]};
    const ReachAnswer after = answer_by_bits(spread, budget, &hub);
    if (after.reach.layers && *gathered + *after.reach.layers == *below.reach.layers) return below;
  }
  return std::nullopt;
}

}  // namespace

std::optional<ReachAnswer> answer_by_hubs(const ReachQuestion& question, const Budget& budget) {
  return recall(question, ReachMemory::Way::hubs, [&] { return find_by_hubs(question, budget); });
}

}  // namespace sightline::sight

// Windows on grids under a causal mask: who sees whom from one picture of all offsets (theory 16.103).
#include "planes.hpp"

#include <algorithm>
#include <set>

namespace checker {

std::unique_ptr<Plane> Plane::find(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers, Vertex width) {
  constexpr std::uint64_t most_read = 4096, most_work = std::uint64_t{1} << 29;
  const Vertex tokens = layout.tokens;
  if (width < 2 || tokens == width || tokens % width != 0) return nullptr;
  std::unique_ptr<Plane> plane(new Plane(layout, width));
  std::int64_t left = 0, right = 0;
  std::uint64_t steps = 0;
  for (const auto& [l, layer] : layers) {
    // Rows of the last grid row are cut off at the sides alone: readers with all offsets that lead to columns of the grid.
    std::set<std::pair<Vertex, std::int64_t>> offsets;
    std::vector<std::vector<std::pair<Vertex, std::int64_t>>> rows(width);
    for (const ReadLayer::Group& group : layer.groups) {
      poll();
      for (Vertex i = std::max(group.begin, tokens - width); i < group.end; ++i) {
        auto& row = rows[i % width];
        for (const Range& range : layer.row(group)) {
          if ((range.last - range.first) / range.step >= most_read) return nullptr;
          for (std::uint64_t j = range.first; j <= range.last; j += range.step) {
            if (j != i) row.emplace_back(i / width - static_cast<Vertex>(j) / width, std::int64_t{static_cast<Vertex>(j) % width} - i % width);
          }
          if (row.size() > most_read) return nullptr;
        }
        offsets.insert(row.begin(), row.end());
        if (offsets.size() > most_read) return nullptr;
      }
    }
    for (Vertex c = 0; c < width; ++c) {
      poll();
      std::uint64_t expected = 0;
      for (const auto& [up, across] : offsets) expected += plane->holds(0, c + across) ? 1 : 0;
      if (rows[c].size() != expected) return nullptr;
    }
    Offsets& steps_of = plane->steps_[l];
    for (const auto& [up, across] : offsets) {
      steps_of.push_back({up, across});
      left = std::max(left, -across), right = std::max(right, across);
    }
    steps += offsets.size();
  }
  if (steps * plane->span_ * plane->height > most_work) return nullptr;
  plane->has_free_order_ = left == 0 || right == 0 || (layers.size() == 1 && left + right <= width);
  return plane;
}

// A layer passes on what came into sight since it was last applied.
std::optional<std::vector<std::uint32_t>> Plane::follow(std::uint64_t skip) const {
  std::vector<std::uint32_t> came(span_ * height, hidden);
  std::vector<std::size_t> order{cell(0, 0)};
  came[order.front()] = 0;
  std::map<std::uint32_t, std::size_t> passed;
  bool mixed = false;
  std::vector<std::size_t> aside;
  const auto apply = [&](std::uint32_t l) {
    const std::size_t end = order.size();
    aside.clear();
    for (std::size_t& at = passed[l]; at < end; ++at) {
      poll();
      const auto [up, across] = offset_of(order[at]);
      for (const Offset& step : steps_.at(l)) {
        if (up + step.up >= height || std::abs(across + step.across) >= width) continue;
        const std::size_t next = cell(up + step.up, across + step.across);
        if (came[next] != hidden) continue;
        if (!has_free_order_ && across * step.across < 0) {
          aside.push_back(next);
          continue;
        }
        came[next] = 0;  // until the number of the layer is known
        order.push_back(next);
      }
    }
    mixed = mixed || std::ranges::any_of(aside, [&](std::size_t next) { return came[next] == hidden; });
    return !mixed && order.size() > end;
  };
  std::size_t dated = 1;
  go_through_layers(layout_, skip, never, apply, [&](std::uint64_t q) {
    for (; dated < order.size(); ++dated) came[order[dated]] = static_cast<std::uint32_t>(q);
    return true;
  });
  return mixed ? std::nullopt : std::optional(std::move(came));
}

const std::vector<std::uint32_t>* Plane::arrivals(std::uint64_t skip) const {
  const std::uint64_t start = skip % layout_.order.size();
  if (!known_.contains(start)) known_.emplace(start, follow(start));
  const auto& found = known_.at(start);
  return found ? &*found : nullptr;
}

std::optional<Vertex> Plane::least_reader(const Offset& offset, const ReachQuestion& question) const {
  const auto [up, across] = offset;
  if (question.kind == ClassKind::causal && up == 0 && across > 0) return std::nullopt;
  const Vertex reader = up * width + static_cast<Vertex>(across < 0 ? -across : 0);
  if (!question.ordinary_only || across > 0) return reader;
  // It reads token 0: the next reader down the row, or below.
  if (static_cast<std::int64_t>(width) - 1 + across > 0) return reader + 1;
  return up + 1 < height ? std::optional(reader + width) : std::nullopt;
}

std::optional<Reach> Plane::layers(const ReachQuestion& question) const {
  if (question.kind == ClassKind::all) return Reach{std::nullopt, std::pair<Vertex, Vertex>{0, 1}};
  const std::vector<std::uint32_t>* came = arrivals(question.skip);
  if (came == nullptr) return std::nullopt;
  // The layer behind which the last of what is wanted comes; of that, what the least reader misses.
  std::uint32_t last = 0;
  std::optional<Vertex> least;
  for (std::size_t k = 0; k < came->size(); ++k) {
    if ((question.kind == ClassKind::seen && (*came)[k] == hidden) || (*came)[k] < last) continue;
    const std::optional<Vertex> reader = least_reader(offset_of(k), question);
    if (!reader || ((*came)[k] == last && last == 0)) continue;
    least = (*came)[k] > last ? *reader : std::min(least.value_or(*reader), *reader);
    last = (*came)[k];
  }
  if (!least) return Reach{0, {}};
  const Vertex i = *least;
  for (Vertex j = question.ordinary_only ? 1 : 0; j < layout_.tokens; ++j) {
    if (j <= i && (*came)[cell(i / width - j / width, std::int64_t{j % width} - i % width)] == last) return Reach{last == hidden ? std::nullopt : std::optional<std::uint64_t>(last), std::pair{i, j}};
  }
  return std::nullopt;
}

std::optional<Unseen> Plane::unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) const {
  const std::vector<std::uint32_t>* came = arrivals(question.skip);
  if (came == nullptr) return std::nullopt;
  const std::uint64_t limit = std::min<std::uint64_t>(depth.value_or(hidden - 1), hidden - 1);
  const auto counts = [&](std::size_t k) { return question.kind == ClassKind::seen ? (*came)[k] > limit && (*came)[k] != hidden : (*came)[k] <= limit; };
  const Vertex from = question.ordinary_only ? 1 : 0;
  Unseen result{std::vector<Vertex>(layout_.tokens, 0), {}};
  std::vector<Vertex> so_far(width, 0), row(span_ + 1, 0);
  for (Vertex i = 0; i < layout_.tokens; ++i) {
    const Vertex r = i / width, c = i % width;
    if (c == 0) {
      poll();
      for (std::size_t k = 0; k < span_; ++k) row[k + 1] = row[k] + (counts(r * span_ + k) ? 1 : 0);
    }
    so_far[c] += row[span_ - c] - row[width - 1 - c];
    Vertex found = so_far[c];
    if (from == 1 && counts(cell(r, -std::int64_t{c}))) --found;
    const Vertex to = question.kind == ClassKind::causal ? i : layout_.tokens - 1;
    result.count[i] = question.kind == ClassKind::seen ? found : to + 1 - from - found;
    for (Vertex j = from; result.count[i] > 0 && !result.first; ++j) {
      const bool known = j <= i && counts(cell(r - j / width, std::int64_t{j % width} - c));
      if (question.kind == ClassKind::seen ? known : !known) result.first = std::pair{i, j};
    }
  }
  return result;
}

}  // namespace checker

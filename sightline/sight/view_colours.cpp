#include "sightline/sight/view_colours.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "sightline/base/threshold.hpp"

namespace sightline::sight {

namespace {

using root_hash::mix;
constexpr Vertex no_vertex = ~Vertex{0};
constexpr std::uint64_t most_pieces = std::uint64_t{1} << 23;
/// Steps whose runs are kept whole, 1 included; runs with further steps are cut.
constexpr Threshold<std::size_t> most_steps{4, 1, "view steps"};
/// Runs with steps of at most this length are cut.
constexpr Threshold<Vertex> short_run{4, 2, "view runs"};

bool repeats_colour(const std::vector<layout::ColouredRun>& row, std::vector<std::int64_t>& colours) {
  colours.clear();
  for (const layout::ColouredRun& run : row) {
    if (run.colour_step == 0 && run.size() > 1) return true;
  }
  for (const layout::ColouredRun& run : row) {
    for (Vertex k = 0; k < run.size(); ++k) colours.push_back(run.colour + k * run.colour_step);
  }
  std::sort(colours.begin(), colours.end());
  return std::adjacent_find(colours.begin(), colours.end()) != colours.end();
}

std::int64_t find_run_colour(const std::vector<layout::ColouredRun>& row, Vertex j) {
  for (const layout::ColouredRun& run : row) {
    if (j >= run.first && j <= run.last && (j - run.first) % run.step == 0) return run.colour + (j - run.first) / run.step * run.colour_step;
  }
  return -1;
}

}  // namespace

std::optional<ViewColours> ViewColours::make(const Layout& layout, const group::Group& group, std::uint64_t depth, const Budget& budget) {
  if (layout.has_equal_registers()) return std::nullopt;
  const Vertex vertices = layout.vertices();
  ViewColours views(layout, depth, budget);
  views.booking_.grow(std::uint64_t{vertices} * 16);
  std::vector<Vertex> stand_in(vertices), third(vertices, no_vertex);
  std::vector<std::uint64_t> count(vertices, 1);
  std::iota(stand_in.begin(), stand_in.end(), Vertex{0});
  for (const auto& members : group.symmetric_classes) {
    for (std::size_t k = 2; k < members.size(); ++k) stand_in[members[k]] = members[1];
    count[members[1]] = members.size() - 1;
    if (members.size() > 2) third[members[1]] = members[2];
  }
  std::vector<std::uint64_t> colours(layout.vertex_colour);
  std::sort(colours.begin(), colours.end());
  colours.erase(std::unique(colours.begin(), colours.end()), colours.end());
  views.place_.resize(vertices);
  views.below_.resize(std::size_t{vertices} + 1);
  for (Vertex j = 0; j < vertices; ++j) {
    views.below_[j] = static_cast<Vertex>(views.vertex_.size());
    if (stand_in[j] != j) {
      views.place_[j] = views.place_[stand_in[j]];
      continue;
    }
    views.place_[j] = static_cast<Vertex>(views.vertex_.size());
    views.vertex_.push_back(j);
    views.count_.push_back(count[j]);
    views.third_.push_back(third[j]);
    views.rank_.push_back(static_cast<std::uint64_t>(std::lower_bound(colours.begin(), colours.end(), layout.vertex_colour[j]) - colours.begin()));
  }
  views.below_[vertices] = static_cast<Vertex>(views.vertex_.size());
  std::vector<Vertex> number(vertices, layout::EvenSteps::unnumbered);
  for (Vertex p = 0; p < views.vertex_.size(); ++p) number[views.vertex_[p]] = p;
  const Booking numbers(budget, std::uint64_t{vertices} * sizeof(Vertex));
  layout::EvenSteps kept(std::move(number), budget);
  const std::vector<std::uint64_t> first = compute_first_layers(layout);
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    Rows& rows = views.relations_.emplace_back();
    rows.first_layer = first[r];
    if (first[r] != 0 && !views.write_rows(layout.relations[r], kept, rows)) return std::nullopt;
  }
  const std::size_t places = views.vertex_.size();
  views.booking_.grow(places * (44 + 20 * views.steps_.size()));
  views.value_.resize(places);
  views.latest_.assign(places, -1);
  for (const Vertex step : views.steps_) {
    std::vector<Vertex>& next = views.next_unseen_.emplace_back(places + step);
    std::iota(next.begin(), next.end(), Vertex{0});
    views.prefix_.emplace_back(places + step, 0);
    views.change_.emplace_back(places + step, 0);
  }
  views.counter_.emplace(places);
  return views;
}

std::optional<std::uint32_t> ViewColours::find_step(Vertex step) {
  const auto known = std::find(steps_.begin(), steps_.end(), step);
  if (known == steps_.end() && steps_.size() == most_steps) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(known - steps_.begin());
  if (known == steps_.end()) steps_.push_back(step);
  return number;
}

void ViewColours::append(Rows& rows, layout::EvenSteps& kept, const layout::ColouredRun& run) {
  const auto add = [&](Vertex first, Vertex last, std::uint32_t step, std::uint64_t weight) {
    // Members of a class follow each other: what is cut is put together again.
    if (step == 0 && rows.pieces.size() > rows.begin.back()) {
      Piece& tail = rows.pieces.back();
      if (tail.step == 0 && tail.weight == weight && tail.last + 1 == first) {
        tail.last = last;
        return;
      }
    }
    rows.pieces.push_back({first, last, step, weight});
  };
  if (run.step == 1 && (run.colour_step == 0 || run.first == run.last)) {
    const Vertex first = below_[run.first], end = below_[std::size_t{run.last} + 1];
    if (first < end) add(first, end - 1, 0, root_hash::weigh(run.colour));
    return;
  }
  const std::vector<Vertex>* const until = run.colour_step == 0 && run.size() > short_run ? kept.along(run.step) : nullptr;
  std::int64_t colour = run.colour;
  for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
    const Vertex place = place_[j];
    if (vertex_[place] != j) {
      // All that follow and are not kept either are passed at once.
      if (until != nullptr) j = std::uint64_t{(*until)[j]} - run.step;
      continue;
    }
    const Vertex far = until == nullptr ? 0 : (std::min(run.last, (*until)[j]) - static_cast<Vertex>(j)) / run.step;
    const std::optional<std::uint32_t> step = far < short_run ? std::nullopt : find_step(place_[j + run.step] - place);
    add(place, step ? place_[j + std::uint64_t{far} * run.step] : place, step.value_or(0), root_hash::weigh(colour));
    if (step) j += std::uint64_t{far} * run.step;
  }
}

bool ViewColours::write_rows(const layout::Relation& relation, layout::EvenSteps& kept, Rows& rows) {
  const Vertex vertices = layout_->vertices();
  const auto places = static_cast<Vertex>(vertex_.size());
  booking_.grow(std::uint64_t{places} * 25);
  rows.list.resize(places);
  if (places < vertices) rows.others.assign(places, 0);
  rows.repeats.assign(places, false);
  rows.begin.assign(1, 0);
  std::vector<layout::ColouredRun> row;
  std::vector<std::int64_t> colours;
  // Runs whose colours differ are written vertex by vertex, others whole: where these are too many, nothing is written.
  std::uint64_t least = 0, likely = 0;
  for (Vertex i = 0; places == vertices && i < vertices; i = relation.same_row_until(i)) {
    budget_->poll();
    relation.row(i, row);
    for (const layout::ColouredRun& run : row) {
      const bool whole = run.colour_step == 0;
      least += whole ? 1 : run.size();
      likely += whole && (run.step == 1 || run.size() > short_run) ? 1 : run.size();
    }
    if (least > most_pieces) return false;
  }
  const auto grow = [&](std::size_t size) {
    booking_.grow((size - rows.pieces.capacity()) * sizeof(Piece));
    rows.pieces.reserve(size);
  };
  if (likely <= most_pieces) grow(likely);
  for (Vertex i = 0, end = 0, place = 0; i < vertices; i = end) {
    budget_->poll();
    end = relation.same_row_until(i);
    relation.row(i, row);
    std::size_t coming = 0, taken = 0;  // pieces at most, and steps that they are counted as
    for (const layout::ColouredRun& run : row) {
      const bool plain = run.step == 1 && run.colour_step == 0, whole = plain || (run.colour_step == 0 && run.size() > short_run && kept.along(run.step) != nullptr);
      coming += plain ? 1 : run.size();
      taken += whole ? 1 : run.size();
    }
    if (place == places || vertex_[place] >= end) continue;
    if (rows.pieces.size() + coming > rows.pieces.capacity()) {
      const std::size_t grown = std::max(rows.pieces.size() + coming, 2 * rows.pieces.capacity());
      if (grown > 2 * most_pieces) return false;
      grow(grown);
    }
    for (const layout::ColouredRun& run : row) append(rows, kept, run);
    if (rows.pieces.size() > most_pieces) return false;
    const auto list = static_cast<std::uint32_t>(rows.begin.size() - 1);
    rows.begin.push_back(rows.pieces.size());
    rows.cut.push_back(static_cast<std::uint32_t>(taken));
    const bool repeats = repeats_colour(row, colours);
    for (; place < places && vertex_[place] < end; ++place) {
      rows.list[place] = list;
      rows.repeats[place] = repeats;
      if (third_[place] == no_vertex) continue;
      const std::int64_t loop = find_run_colour(row, vertex_[place]), inner = find_run_colour(row, third_[place]);
      const std::uint64_t own = loop < 0 ? 0 : root_hash::weigh(loop), other = inner < 0 ? 0 : root_hash::weigh(inner);
      rows.others[place] = (count_[place] - 1) * (other - own);
    }
  }
  return true;
}

// compute_latest (latest.cpp) on places.
void ViewColours::find_latest(Vertex root) {
  const auto places = static_cast<Vertex>(vertex_.size());
  for (const Vertex j : active_) {
    latest_[j] = -1;
    for (std::vector<Vertex>& next : next_unseen_) next[j] = j;
  }
  latest_[root] = static_cast<std::int64_t>(depth_);
  active_.assign(1, root);
  // The first one from j on, along a step, that is not seen yet.
  const auto from = [](std::vector<Vertex>& next, Vertex j) {
    Vertex end = j;
    while (next[end] != end) end = next[end];
    while (next[j] != end) j = std::exchange(next[j], end);
    return end;
  };
  const auto pass = [this](Vertex j) {
    for (std::size_t s = 0; s < steps_.size(); ++s) next_unseen_[s][j] = j + steps_[s];
  };
  pass(root);
  const Layout& layout = *layout_;
  if (layout.order.empty()) return;
  std::vector<std::size_t> expanded(layout.layers.size(), 0);
  const std::vector<bool> used = layout.used_layers();
  for (std::uint64_t q = depth_; q >= 1 && active_.size() < places; --q) {
    const std::uint32_t l = layout.order[(q - 1) % layout.order.size()];
    const std::size_t end = active_.size();
    if (expanded[l] == end) {
      bool pending = false;
      for (std::size_t k = 0; k < expanded.size(); ++k) pending = pending || (used[k] && expanded[k] != end);
      if (!pending) break;
      continue;
    }
    const auto see = [&](Vertex j) {
      latest_[j] = static_cast<std::int64_t>(q - 1);
      pass(j);
      active_.push_back(j);
    };
    for (; expanded[l] < end; ++expanded[l]) {
      for (const std::uint32_t r : layout.layers[l].relations) {
        const Rows& rows = relations_[r];
        const std::uint32_t list = rows.list[active_[expanded[l]]];
        for (std::size_t p = rows.begin[list]; p < rows.begin[list + 1]; ++p) {
          const Piece& piece = rows.pieces[p];
          std::vector<Vertex>& next = next_unseen_[piece.step];
          for (Vertex j = from(next, piece.first); j <= piece.last; j = from(next, j)) see(j);
        }
      }
    }
  }
}

std::uint64_t ViewColours::refine_by(const Rows& rows, std::uint64_t salt, std::vector<std::uint64_t>& hash, const std::vector<bool>& seen) {
  std::uint64_t steps_taken = 3 * std::uint64_t{layout_->vertices()};
  for (std::size_t j = begin_; j < end_; ++j) value_[j] = count_[j] * mix(hash[j] ^ salt);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    std::vector<std::uint64_t>& prefix = prefix_[s];
    const Vertex step = steps_[s];
    // prefix[j + step]: sum up to and including j over its residue. What is there before the first place seen cancels.
    for (std::size_t j = begin_; j < end_; ++j) prefix[j + step] = prefix[j] + value_[j];
    std::fill(change_[s].begin() + static_cast<std::ptrdiff_t>(begin_), change_[s].begin() + static_cast<std::ptrdiff_t>(end_ + step), 0);
  }
  const auto visible = [&](std::size_t i) { return latest_[i] >= 0 && static_cast<std::uint64_t>(latest_[i]) >= rows.first_layer; };
  for (std::size_t i = begin_; i < end_;) {
    if (!visible(i)) {
      ++i;
      continue;
    }
    const std::uint32_t list = rows.list[i];
    steps_taken += 2 * rows.cut[list];
    const Piece *const begin = rows.pieces.data() + rows.begin[list], *const end = rows.pieces.data() + rows.begin[list + 1];
    std::uint64_t read = 0, told = 0;
    for (const Piece* piece = begin; piece != end; ++piece) {
      const std::vector<std::uint64_t>& prefix = prefix_[piece->step];
      read += piece->weight * (prefix[std::size_t{piece->last} + steps_[piece->step]] - prefix[piece->first]);
    }
    for (; i < end_ && rows.list[i] == list; ++i) {
      if (!visible(i)) continue;
      const std::uint64_t others = rows.others.empty() ? 0 : rows.others[i];
      const std::uint64_t own = others == 0 ? 0 : others * mix(hash[i] ^ salt);
      hash[i] = mix(hash[i] + mix(read + own + 3 * salt));
      const std::uint64_t says = mix(hash[i] + salt);
      told += count_[i] * says;
      if (others == 0) continue;
      // To itself alone: + at i, - behind it.
      change_[0][i] += others * says;
      change_[0][i + 1] -= others * says;
    }
    for (const Piece* piece = begin; piece != end; ++piece) {
      std::vector<std::uint64_t>& change = change_[piece->step];
      change[piece->first] += piece->weight * told;
      change[std::size_t{piece->last} + steps_[piece->step]] -= piece->weight * told;
    }
  }
  for (std::size_t s = 1; s < steps_.size(); ++s) {
    std::vector<std::uint64_t>& change = change_[s];
    for (std::size_t j = begin_ + steps_[s]; j < end_; ++j) change[j] += change[j - steps_[s]];
  }
  std::uint64_t readers = 0;
  for (std::size_t j = begin_; j < end_; ++j) {
    readers += change_[0][j];
    if (!seen[j]) continue;
    std::uint64_t all = readers;
    for (std::size_t s = 1; s < steps_.size(); ++s) all += change_[s][j];
    hash[j] = mix(hash[j] + mix(all ^ salt));
  }
  return steps_taken;
}

void ViewColours::refine(Colours& colours) {
  RootColours& result = colours.at;
  std::uint64_t seen = 0;
  for (std::size_t j = begin_; j < end_; ++j) seen += colours.seen[j] ? count_[j] : 0;
  std::size_t known = 0;
  for (int round = 0;; ++round) {
    budget_->poll();
    const std::size_t distinct = counter_->count(result.hash, begin_, end_, [&](std::size_t j) { return colours.seen[j]; });
    result.discrete = distinct == seen;
    if (result.discrete || distinct == known || round == root_hash::most_rounds) break;
    known = distinct;
    std::uint64_t salt = 1;
    for (const Rows& rows : relations_) {
      if (rows.first_layer == 0) continue;
      salt = mix(salt);
      result.work += refine_by(rows, salt, result.hash, colours.seen);
    }
  }
  for (std::size_t j = begin_; j < end_; ++j) {
    if (colours.seen[j]) result.invariant += count_[j] * mix(result.hash[j] + 5);
  }
}

std::optional<ViewColours::Colours> ViewColours::colour(Vertex root) {
  const Vertex at = place_[root];
  if (vertex_[at] != root || count_[at] > 1) return std::nullopt;
  const bool repeats = std::any_of(relations_.begin(), relations_.end(), [&](const Rows& rows) { return rows.first_layer != 0 && depth_ >= rows.first_layer && rows.repeats[at]; });
  if (!repeats) return std::nullopt;
  find_latest(at);
  // What is seen reads nothing else: of a small view only the stretch that holds it is gone through.
  const auto [least, most] = std::minmax_element(active_.begin(), active_.end());
  begin_ = *least;
  end_ = std::size_t{*most} + 1;
  Colours colours;
  const std::uint64_t times = depth_ + 2;  // the colours of make_plain_roots
  const auto first_register = static_cast<std::size_t>(std::lower_bound(vertex_.begin(), vertex_.end(), layout_->tokens) - vertex_.begin());
  colours.at.hash.assign(first_register, mix(0));
  colours.at.hash.resize(vertex_.size(), mix(times));
  colours.seen.resize(vertex_.size());
  for (const Vertex j : active_) {
    colours.seen[j] = true;
    colours.at.hash[j] = mix((2 * rank_[j] + (j == at ? 1 : 0)) * times + static_cast<std::uint64_t>(latest_[j]) + 1);
  }
  colours.at.vertex = &vertex_;
  refine(colours);
  return colours;
}

RootColours ViewColours::expand(const Colours& colours) const {
  RootColours result{{}, colours.at.invariant, colours.at.work, colours.at.discrete};
  result.hash.resize(place_.size());
  for (std::size_t j = 0; j < place_.size(); ++j) result.hash[j] = colours.at.hash[place_[j]];
  return result;
}

}  // namespace sightline::sight

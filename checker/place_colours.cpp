// Views of one layout, root after root, on two tokens per symmetric class of its group.
//
// Sym(C) preserves the layout, so in the view of a root every member of C but the root looks like every other: they come into view equally
// late, and colour_root gives them one hash. The first member (a root is always first in its class) and the second stand for the class, the
// second for |C| - 1. What is missing then is only what these |C| - 1 tell each other: `others` adds it. Sums are those of colour_root.
#include <algorithm>
#include <bit>
#include <numeric>

#include "field.hpp"
#include "poll.hpp"
#include "threshold.hpp"
#include "views.hpp"

namespace checker {

namespace {

constexpr std::size_t most_pieces = std::size_t{1} << 23;
constexpr Threshold<std::size_t> most_steps_named{4, 1, "view steps"};
constexpr Threshold<Vertex> short_run{4, 2, "view runs"};

std::uint64_t weigh(std::int64_t colour) { return mix(static_cast<std::uint64_t>(colour)) | 1; }

std::uint64_t weigh(const std::vector<Run>& row, Vertex j) {
  for (const Run& run : row) {
    if (j >= run.first && j <= run.last && (j - run.first) % run.step == 0) return weigh(run.colour + (j - run.first) / run.step * run.colour_step);
  }
  return 0;
}

/// Would walk_root stop at this row?
bool repeats_colour(const std::vector<Run>& row) {
  std::vector<std::int64_t> colours;
  for (const Run& run : row) {
    if (run.colour_step == 0 && run.size() > 1) return true;
  }
  for (const Run& run : row) {
    for (Vertex k = 0; k < run.size(); ++k) colours.push_back(run.colour + k * run.colour_step);
  }
  std::sort(colours.begin(), colours.end());
  return std::adjacent_find(colours.begin(), colours.end()) != colours.end();
}

}  // namespace

std::unique_ptr<PlaceColours> PlaceColours::make(const Layout& layout, const Group& group, std::uint64_t depth) {
  if (has_equal_registers(layout)) return nullptr;
  std::unique_ptr<PlaceColours> views(new PlaceColours(layout, depth));
  const Vertex vertices = layout.vertices();
  std::vector<Vertex> stand_in(vertices), third(vertices, none);
  std::vector<std::uint64_t> count(vertices, 1);
  std::iota(stand_in.begin(), stand_in.end(), Vertex{0});
  for (const std::vector<Vertex>& members : group.classes) {
    for (std::size_t k = 2; k < members.size(); ++k) stand_in[members[k]] = members[1];
    count[members[1]] = members.size() - 1;
    if (members.size() > 2) third[members[1]] = members[2];
  }
  std::map<std::uint64_t, std::uint64_t> rank;
  views->place_.resize(vertices);
  for (Vertex j = 0; j < vertices; ++j) {
    const std::uint64_t colour = rank.emplace(layout.vertex_colour[j], rank.size()).first->second;
    if (stand_in[j] != j) {
      views->place_[j] = views->place_[stand_in[j]];
      continue;
    }
    views->place_[j] = static_cast<Vertex>(views->vertex.size());
    views->vertex.push_back(j);
    views->count.push_back(count[j]);
    views->third_.push_back(third[j]);
    views->rank_.push_back(colour);
  }
  std::vector<Vertex> number(vertices, none);
  for (Vertex p = 0; p < views->vertex.size(); ++p) number[views->vertex[p]] = p;
  EvenSteps kept(std::move(number));
  const std::vector<std::uint64_t> first = first_layers(layout);
  for (std::size_t r = 0; r < layout.relations.size(); ++r) {
    views->relations_.push_back({first[r], {}, {0}, {}, {}, {}});
    if (!views->write_rows(layout.relations[r], kept, views->relations_.back())) return nullptr;
  }
  for (const Vertex step : views->steps_) {
    views->prefix_.emplace_back(views->vertex.size() + step, 0);
    views->change_.emplace_back(views->vertex.size() + step, 0);
  }
  return views;
}

bool PlaceColours::write_rows(const Relation& relation, EvenSteps& kept, Rows& rows) {
  const std::size_t places = vertex.size();
  rows.list.resize(places);
  if (places < layout_.vertices()) rows.others.assign(places, 0);
  rows.repeats.assign(places, false);
  std::vector<Run> row, last;
  // Members of runs whose colours differ are pieces of their own, and every other run is one at least; too many are not begun with.
  std::uint64_t least = 0, likely = 0, lists = 0;  // short runs with steps are cut
  for (Vertex i = 0; places == layout_.vertices() && i < layout_.vertices() && least <= most_pieces; i = relation.same_row_until(i)) {
    relation.row(i, row);
    if (row == last) continue;
    for (const Run& run : row) {
      least += run.colour_step != 0 ? run.size() : 1;
      likely += run.colour_step != 0 || (run.step > 1 && run.size() <= short_run) ? run.size() : 1;
    }
    last = row;
    ++lists;
  }
  if (least > most_pieces) return false;
  rows.pieces.reserve(std::min<std::uint64_t>(likely, most_pieces));
  rows.begin.reserve(lists + 1);
  last.clear();
  for (std::size_t p = 0; p < places; ++p) {
    relation.row(vertex[p], row);
    if (p == 0 || row != last) {
      for (const Run& run : row) append(rows, kept, run);
      rows.begin.push_back(rows.pieces.size());
      if (rows.pieces.size() > most_pieces) return false;
      last = row;
      rows.repeats[p] = repeats_colour(row);
    } else {
      rows.repeats[p] = rows.repeats[p - 1];
    }
    rows.list[p] = static_cast<std::uint32_t>(rows.begin.size() - 2);
    if (third_[p] != none) rows.others[p] = (count[p] - 1) * (weigh(row, third_[p]) - weigh(row, vertex[p]));
  }
  return true;
}

void PlaceColours::append(Rows& rows, EvenSteps& kept, const Run& run) {
  const auto add = [&](Vertex first, Vertex last, std::uint32_t step, std::uint64_t weight) {
    if (step == 0 && rows.pieces.size() > rows.begin.back()) {
      Piece& tail = rows.pieces.back();
      if (tail.step == 0 && tail.weight == weight && tail.last + 1 == first) {
        tail.last = last;
        return;
      }
    }
    rows.pieces.push_back({first, last, step, weight});
  };
  const bool all = vertex.size() == layout_.vertices();
  const auto place_from = [&](Vertex j) { return all ? j : static_cast<Vertex>(std::lower_bound(vertex.begin(), vertex.end(), j) - vertex.begin()); };
  if (run.step == 1 && (run.colour_step == 0 || run.first == run.last)) {
    const Vertex first = place_from(run.first), end = place_from(run.last + 1);
    if (first < end) add(first, end - 1, 0, weigh(run.colour));
    return;
  }
  const std::vector<Vertex>* const until = run.colour_step == 0 && run.size() > short_run ? kept.along(run.step) : nullptr;
  std::int64_t colour = run.colour;
  for (std::uint64_t j = run.first; j <= run.last; j += run.step, colour += run.colour_step) {
    const Vertex p = place_[j];
    if (vertex[p] != j) {
      if (until != nullptr) j = std::uint64_t{(*until)[j]} - run.step;  // those that follow and stand for nothing are passed
      continue;
    }
    std::uint64_t far = until == nullptr ? 0 : (std::min(run.last, (*until)[j]) - j) / run.step;
    std::size_t number = 0;
    if (far >= short_run) {
      const Vertex gap = place_[j + run.step] - p;
      number = static_cast<std::size_t>(std::find(steps_.begin(), steps_.end(), gap) - steps_.begin());
      if (number == steps_.size() && number < most_steps_named) steps_.push_back(gap);
    }
    if (far < short_run || number == steps_.size()) far = number = 0;
    add(p, place_[j + far * run.step], static_cast<std::uint32_t>(number), weigh(colour));
    j += far * run.step;
  }
}

/// compute_latest on places.
void PlaceColours::find_latest(Vertex root) {
  const std::size_t places = vertex.size();
  latest_.assign(places, -1);
  latest_[root] = static_cast<std::int64_t>(depth_);
  std::vector<Vertex> seen{root};
  if (layout_.order.empty()) return;
  std::vector<std::vector<Vertex>> next;  // by number of the step
  for (const Vertex step : steps_) {
    next.emplace_back(places + step);
    std::iota(next.back().begin(), next.back().end(), Vertex{0});
    next.back()[root] = root + step;
  }
  const auto unseen_from = [&](std::uint32_t step, Vertex j) {
    std::vector<Vertex>& after = next[step];
    while (after[j] != j) j = after[j] = after[after[j]];
    return j;
  };
  std::vector<std::size_t> expanded(layout_.layers.size(), 0);
  std::size_t idle = 0;
  for (std::uint64_t q = depth_; q >= 1 && idle < layout_.order.size() && seen.size() < places; --q) {
    const std::uint32_t l = layout_.order[(q - 1) % layout_.order.size()];
    const std::size_t end = seen.size();
    for (; expanded[l] < end; ++expanded[l]) {
      for (const std::uint32_t r : layout_.layers[l]) {
        const Rows& rows = relations_[r];
        const std::uint32_t list = rows.list[seen[expanded[l]]];
        for (std::size_t k = rows.begin[list]; k < rows.begin[list + 1]; ++k) {
          const Piece& piece = rows.pieces[k];
          for (Vertex j = unseen_from(piece.step, piece.first); j <= piece.last; j = unseen_from(piece.step, j)) {
            latest_[j] = static_cast<std::int64_t>(q - 1);
            for (std::size_t s = 0; s < steps_.size(); ++s) next[s][j] = j + steps_[s];
            seen.push_back(j);
          }
        }
      }
    }
    idle = seen.size() == end ? idle + 1 : 0;
  }
}

void PlaceColours::refine_by(const Rows& rows, std::uint64_t salt, std::vector<std::uint64_t>& hash) {
  poll_now();
  const std::size_t places = vertex.size();
  value_.resize(places);
  for (std::size_t j = 0; j < places; ++j) value_[j] = count[j] * mix(hash[j] ^ salt);
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    std::uint64_t* const prefix = prefix_[s].data();
    const Vertex step = steps_[s];
    for (std::size_t j = 0; j < places; ++j) prefix[j + step] = prefix[j] + value_[j];
    std::fill(change_[s].begin(), change_[s].end(), 0);
  }
  const auto visible = [&](std::size_t i) { return latest_[i] >= 0 && static_cast<std::uint64_t>(latest_[i]) >= rows.first_layer; };
  for (std::size_t i = 0; i < places;) {
    if (!visible(i)) {
      ++i;
      continue;
    }
    const std::uint32_t list = rows.list[i];
    std::uint64_t read = 0, told = 0;
    for (std::size_t k = rows.begin[list]; k < rows.begin[list + 1]; ++k) {
      const Piece& piece = rows.pieces[k];
      read += piece.weight * (prefix_[piece.step][std::size_t{piece.last} + steps_[piece.step]] - prefix_[piece.step][piece.first]);
    }
    for (; i < places && rows.list[i] == list; ++i) {
      if (!visible(i)) continue;
      const std::uint64_t others = rows.others.empty() ? 0 : rows.others[i], own = others == 0 ? 0 : others * mix(hash[i] ^ salt);
      hash[i] = mix(hash[i] + mix(read + own + 3 * salt));
      const std::uint64_t says = mix(hash[i] + salt);
      told += count[i] * says;
      if (others == 0) continue;
      change_[0][i] += others * says;
      change_[0][i + 1] -= others * says;
    }
    if (told == 0) continue;
    for (std::size_t k = rows.begin[list]; k < rows.begin[list + 1]; ++k) {
      const Piece& piece = rows.pieces[k];
      change_[piece.step][piece.first] += piece.weight * told;
      change_[piece.step][std::size_t{piece.last} + steps_[piece.step]] -= piece.weight * told;
    }
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    std::uint64_t* const change = change_[s].data();
    for (std::size_t j = steps_[s]; j < places; ++j) change[j] += change[j - steps_[s]];
  }
  for (std::size_t j = 0; j < places; ++j) {
    if (latest_[j] < 0) continue;
    std::uint64_t readers = 0;
    for (const std::vector<std::uint64_t>& change : change_) readers += change[j];
    hash[j] = mix(hash[j] + mix(readers ^ salt));
  }
}

/// Among the seen, in a table twice as large.
std::size_t PlaceColours::count_distinct(const std::vector<std::uint64_t>& hash) {
  met_.begin(hash.size());
  std::size_t distinct = 0;
  for (std::size_t j = 0; j < hash.size(); ++j) distinct += latest_[j] >= 0 && met_.add(hash[j]) ? 1 : 0;
  return distinct;
}

std::optional<ViewColours> PlaceColours::colour(Vertex root) {
  constexpr int most_rounds = 64;
  const Vertex at = place_[root];
  if (vertex[at] != root || count[at] > 1) return std::nullopt;
  if (std::none_of(relations_.begin(), relations_.end(), [&](const Rows& rows) { return depth_ >= rows.first_layer && rows.repeats[at]; })) return std::nullopt;
  find_latest(at);
  const std::size_t places = vertex.size();
  ViewColours result{{std::vector<std::uint64_t>(places), 0, false}, std::vector<bool>(places), this};
  std::vector<std::uint64_t>& hash = result.at.hash;
  const std::uint64_t times = depth_ + 2;
  std::uint64_t seen = 0;
  for (std::size_t j = 0; j < places; ++j) {
    result.seen[j] = latest_[j] >= 0;
    seen += result.seen[j] ? count[j] : 0;
    hash[j] = mix(latest_[j] < 0 ? (vertex[j] < layout_.tokens ? 0 : times) : (2 * rank_[j] + (j == at ? 1 : 0)) * times + static_cast<std::uint64_t>(latest_[j]) + 1);
  }
  std::size_t colours = 0;
  for (int round = 0;; ++round) {
    const std::size_t distinct = count_distinct(hash);
    result.at.discrete = distinct == seen;
    if (result.at.discrete || distinct == colours || round == most_rounds) break;
    colours = distinct;
    std::uint64_t salt = 1;
    for (const Rows& rows : relations_) {
      if (rows.first_layer == ~std::uint64_t{0}) continue;
      salt = mix(salt);
      refine_by(rows, salt, hash);
    }
  }
  for (std::size_t j = 0; j < places; ++j) result.at.invariant += result.seen[j] ? count[j] * mix(hash[j] + 5) : 0;
  return result;
}

}  // namespace checker

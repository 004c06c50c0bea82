// Layouts on a grid whose arcs lead down the line and are the same a row and a column further on (windows on grids under a causal mask): which offsets are
// seen, a row of bits for each grid row (docs/theory.md 16.103).
#include <algorithm>
#include <bit>
#include <map>

#include "sightline/base/error.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_planes.hpp"

namespace sightline::sight {

namespace {

constexpr std::uint64_t most_plane_work = std::uint64_t{1} << 30;
constexpr std::size_t most_plane_runs = 2048;  // of a layer
constexpr std::uint64_t most_layer_work = std::uint64_t{1} << 26;

/// Offsets of one layer: by how many grid rows further up, the columns from -(width - 1) on.
using ReadOffsets = std::map<Vertex, std::vector<bool>>;

/// From the readers of the last grid row, whose rows are cut off at the sides alone. Nothing where some of them do not read all offsets that lead to tokens, or read much.
std::optional<ReadOffsets> read_plane_offsets(const ReadLayer& layer, Vertex width, Vertex height, const Budget& budget) {
  constexpr std::uint64_t most_members = 4096;
  ReadOffsets offsets;
  const Vertex begin = (height - 1) * width;
  std::vector<std::uint64_t> members(width, 0);
  for (const ReadGroup& group : layer.groups) {
    budget.poll();
    if (group.end <= begin) continue;
    std::uint64_t count = 0;
    for (const ReadRange& range : layer.row(group)) count += (range.last - range.first) / range.step + 1;
    if (count > most_members) return std::nullopt;
    for (Vertex i = std::max(group.begin, begin); i < group.end; ++i) {
      for (const ReadRange& range : layer.row(group)) {
        for (std::uint64_t j = range.first; j <= range.last; j += range.step) {
          if (j == i) continue;
          const Vertex up = height - 1 - static_cast<Vertex>(j) / width, across = static_cast<Vertex>(j) % width + (width - 1) - (i - begin);
          std::vector<bool>& columns = offsets.try_emplace(up, 2 * std::size_t{width} - 1, false).first->second;
          if (offsets.size() > most_plane_runs) return std::nullopt;
          columns[across] = true;
          ++members[i - begin];
        }
      }
    }
  }
  // What all of them read together is as much for each as it reads.
  std::vector<std::uint64_t> expected(width, 0);
  for (const auto& [up, columns] : offsets) {
    std::uint64_t inside = 0;
    for (Vertex d = 0; d < width; ++d) inside += columns[width - 1 + d] ? 1 : 0;  // of the reader in column 0
    for (Vertex c = 0;; ++c) {
      expected[c] += inside;
      if (c + 1 == width) break;
      inside += (columns[width - 2 - c] ? 1 : 0);
      inside -= (columns[2 * std::size_t{width} - 2 - c] ? 1 : 0);
    }
  }
  return members == expected ? std::optional(std::move(offsets)) : std::nullopt;
}

/// The offsets that are seen, layer by layer. Grid rows only lead up; what a path does with its columns is as on a line (16.98, 16.101).
class PlaneReach {
  using Bits = std::vector<std::uint64_t>;

public:
  PlaneReach(const ReachQuestion& question, const Plane& plane, const Budget& budget)
      : question_(question), plane_(plane), budget_(budget), width_(plane.width), height_(plane.height), from_(question.wanted.ordinary_only ? 1 : 0), words_((2 * std::size_t{width_} - 2) / 64 + 1),
        booking_(budget, 5 * std::uint64_t{height_} * words_ * 8), walk_(*question.layout, question.skip) {}

  std::optional<ReachAnswer> answer() {
    ReachAnswer answer;
    const ClassKind kind = question_.wanted.kind;
    Bits ever;
    if (kind == ClassKind::seen && (question_.find_layers || question_.depth)) {
      follow_to_end(answer.reach);
      ever = state_;
    } else if (kind == ClassKind::causal && question_.find_layers) {
      find_layers(answer.reach);
    } else if (kind == ClassKind::all && question_.find_layers) {
      answer.reach = {std::nullopt, UnreachablePair{0, 1}};
    }
    if (question_.count_unseen && !gave_up()) {
      answer.unseen.assign(question_.layout->tokens, 0);
      if (kind != ClassKind::seen || question_.depth) {
        start();
        std::uint64_t q = 0;
        while (next_change(q, question_.depth)) continue;
        count(ever, answer.unseen);
      }
    }
    return gave_up() ? std::nullopt : std::optional(std::move(answer));
  }

  /// After `depth` applications of one layer.
  std::optional<PlaneOffsets> follow(std::uint32_t layer, std::uint64_t depth) {
    start();
    Bits before = state_;
    for (std::uint64_t q = 0; q < depth; ++q) {
      before = state_;
      if (!apply(layer)) break;
    }
    return gave_up() ? std::nullopt : std::optional<PlaneOffsets>(std::in_place, width_, height_, words_, std::move(before), state_);
  }

private:
  [[nodiscard]] bool gave_up() const { return work_ > most_plane_work || mixes_signs_; }
  [[nodiscard]] bool has(const Bits& state, Vertex up, std::size_t across) const { return (state[up * words_ + across / 64] >> (across % 64) & 1) != 0; }
  [[nodiscard]] std::uint64_t* row(Bits& state, Vertex up) const { return state.data() + up * words_; }

  void start() {
    state_.assign(std::size_t{height_} * words_, 0);
    state_[(width_ - 1) / 64] = std::uint64_t{1} << ((width_ - 1) % 64);
    changed_.assign(height_, 0);
    applied_.assign(plane_.runs.size(), 0);
    time_ = 1;
    changed_[0] = 1;
    walk_.start();
  }

  /// out |= in, each member `by` places on; members that leave the row are lost.
  void unite_moved(Bits& out, const Bits& in, std::int64_t by) {
    const std::size_t words = static_cast<std::size_t>(std::abs(by)) / 64, bits = static_cast<std::size_t>(std::abs(by)) % 64;
    work_ += words_;
    if (words >= words_) return;
    if (by >= 0) {
      for (std::size_t w = words_; w-- > words;) {
        std::uint64_t word = in[w - words] << bits;
        if (bits > 0 && w > words) word |= in[w - words - 1] >> (64 - bits);
        out[w] |= word;
      }
    } else {
      for (std::size_t w = 0; w + words < words_; ++w) {
        std::uint64_t word = in[w + words] >> bits;
        if (bits > 0 && w + words + 1 < words_) word |= in[w + words + 1] << (64 - bits);
        out[w] |= word;
      }
    }
    const std::size_t size = 2 * std::size_t{width_} - 1;
    if (size % 64 != 0) out[words_ - 1] &= (std::uint64_t{1} << (size % 64)) - 1;
  }

  /// moved_ = the members of `in`, each first .. last places on. From the nearest on: what leaves the row does not come back.
  void spread(const Bits& in, std::int64_t first, std::int64_t last) {
    moved_.assign(words_, 0);
    if (last >= 0) add_moved(in, std::max<std::int64_t>(first, 0), last, 1);
    if (first < 0) add_moved(in, std::min<std::int64_t>(last, -1), first, -1);
  }
  void add_moved(const Bits& in, std::int64_t near, std::int64_t far, std::int64_t direction) {
    Bits part(words_, 0);
    unite_moved(part, in, near);
    for (std::int64_t have = 1, members = std::abs(far - near) + 1; have < members;) {
      const std::int64_t more = std::min(have, members - have);
      const Bits copy = part;
      unite_moved(part, copy, direction * more);
      have += more;
    }
    for (std::size_t w = 0; w < words_; ++w) moved_[w] |= part[w];
  }

  /// The members from the own column on, to the right or to the left.
  [[nodiscard]] Bits side(const Bits& in, bool right) const {
    Bits side(words_, 0);
    const std::uint64_t own = std::uint64_t{1} << ((width_ - 1) % 64);
    for (std::size_t w = 0; w < words_; ++w) {
      const std::size_t own_word = (width_ - 1) / 64;
      if (w == own_word) side[w] = in[w] & (right ? ~(own - 1) : own | (own - 1));
      else if ((w > own_word) == right) side[w] = in[w];
    }
    return side;
  }

  /// Grid rows that changed since the layer was applied last tell it on.
  bool apply(std::uint32_t layer) {
    next_ = state_;
    bool changed = false;
    const std::uint64_t since = applied_[layer];
    ++time_;
    for (Vertex from = 0; from < height_; ++from) {
      if (changed_[from] <= since) continue;
      budget_.poll();
      const Bits here(row(state_, from), row(state_, from) + words_);
      if (plane_.in_any_order) {
        pass_on(layer, from, [&](const Plane::Run&) -> const Bits& { return here; });
      } else {
        const Bits right = side(here, true), left = side(here, false);
        pass_on(layer, from, [&](const Plane::Run& run) -> const Bits& { return run.first == 0 ? here : run.first > 0 ? right : left; });
        one_sign_ = next_;
        pass_on(layer, from, [&](const Plane::Run& run) -> const Bits& { return run.first == 0 ? here : run.first > 0 ? left : right; });
        if (next_ != one_sign_) {
          mixes_signs_ = true;
          plane_.mixes_signs.add(question_);
        }
      }
    }
    for (Vertex up = 0; up < height_; ++up) {
      if (!std::equal(row(next_, up), row(next_, up) + words_, row(state_, up))) {
        changed_[up] = time_;
        changed = true;
      }
    }
    // What this layer itself changed is new to it as well.
    applied_[layer] = time_ - 1;
    state_.swap(next_);
    return changed;
  }

  template <class Source>
  void pass_on(std::uint32_t layer, Vertex from, const Source& source) {
    const Plane::Run* before = nullptr;
    for (const Plane::Run& run : plane_.runs[layer]) {  // the same columns one after the other
      if (std::uint64_t{from} + run.up >= height_) continue;
      if (before == nullptr || before->first != run.first || before->last != run.last) spread(source(run), run.first, run.last);
      before = &run;
      std::uint64_t* const out = row(next_, from + run.up);
      for (std::size_t w = 0; w < words_; ++w) out[w] |= moved_[w];
    }
  }

  bool next_change(std::uint64_t& q, std::optional<std::uint64_t> limit) {
    return walk_.next_change(q, limit, [this](std::uint32_t l) { return !gave_up() && apply(l) && !gave_up(); });
  }

  /// Is it wanted of kind causal at this offset? In the own grid row what lies to the left.
  [[nodiscard]] bool is_wanted_at(Vertex up, std::size_t across) const { return up > 0 || across <= width_ - 1; }

  /// The least reader that misses an offset, and the least token that it misses.
  [[nodiscard]] std::optional<UnreachablePair> find_missing(const Bits& state) const {
    std::optional<Vertex> least;
    for (Vertex up = 0; up < height_ && !(least && *least < up * width_); ++up) {
      for (std::size_t across = 0; across <= 2 * std::size_t{width_} - 2; ++across) {
        if (!is_wanted_at(up, across) || has(state, up, across)) continue;
        if (const auto reader = find_reader(up, across)) least = std::min(least.value_or(*reader), *reader);
      }
    }
    if (!least) return std::nullopt;
    for (Vertex j = from_; j <= *least; ++j) {
      if (!sees(state, *least, j)) return UnreachablePair{*least, j};
    }
    throw InternalError("an offset that is missed is missed by somebody");
  }

  /// The least reader with a token, to be seen, at this offset.
  [[nodiscard]] std::optional<Vertex> find_reader(Vertex up, std::size_t across) const {
    const bool left = across <= width_ - 1;
    const Vertex column = left ? width_ - 1 - static_cast<Vertex>(across) : 0;
    const Vertex reader = up * width_ + column;
    if (!left || from_ == 0) return reader;  // to the right of token 0
    if (column + 1 < width_) return reader + 1;
    return up + 1 < height_ ? std::optional(reader + width_) : std::nullopt;
  }

  [[nodiscard]] bool sees(const Bits& state, Vertex i, Vertex j) const { return has(state, i / width_ - j / width_, width_ - 1 + j % width_ - i % width_); }

  void find_layers(Connected& reach) {
    start();
    std::uint64_t q = 0;
    Bits before;
    std::pair<Vertex, std::size_t> open{0, 0};  // all before is seen
    const auto is_open = [&] {
      for (; open.first < height_; ++open.first, open.second = 0) {
        for (; open.second <= 2 * std::size_t{width_} - 2; ++open.second) {
          if (is_wanted_at(open.first, open.second) && !has(state_, open.first, open.second) && find_reader(open.first, open.second)) return true;
        }
      }
      return false;
    };
    while (is_open()) {
      before = state_;
      if (next_change(q, std::nullopt)) continue;
      reach = {std::nullopt, find_missing(state_)};
      return;
    }
    reach = {q, before.empty() ? std::nullopt : find_missing(before)};
  }

  void follow_to_end(Connected& reach) {
    start();
    reach.layers = 0;
    std::uint64_t q = 0;
    for (Bits old = state_; next_change(q, std::nullopt); old = state_) {
      bool met = false;
      for (Vertex up = 0; up < height_ && !met; ++up) {
        for (std::size_t w = 0; w < words_ && !met; ++w) {
          for (std::uint64_t fresh = state_[up * words_ + w] & ~old[up * words_ + w]; fresh != 0 && !met; fresh &= fresh - 1) {
            const std::size_t across = 64 * w + static_cast<std::size_t>(std::countr_zero(fresh));
            const std::optional<Vertex> reader = find_reader(up, across);
            if (!reader) continue;
            met = true;
            reach = {q, UnreachablePair{*reader, *reader - up * width_ + static_cast<Vertex>(across) - (width_ - 1)}};
          }
        }
      }
    }
  }

  /// @param ever  what is wanted of kind `seen`
  void count(const Bits& ever, std::vector<Vertex>& unseen) const {
    std::vector<Vertex> seen(width_, 0), before(2 * std::size_t{width_}, 0);  // by column of the reader: of grid rows so far
    for (Vertex r = 0; r < height_; ++r) {
      for (std::size_t at = 0; at + 1 < before.size(); ++at) before[at + 1] = before[at] + ((ever.empty() ? has(state_, r, at) : has(ever, r, at) && !has(state_, r, at)) ? 1 : 0);
      for (Vertex c = 0; c < width_; ++c) {
        seen[c] += before[2 * std::size_t{width_} - 1 - c] - before[width_ - 1 - c];
        const Vertex i = r * width_ + c;
        Vertex counted = seen[c];
        if (from_ > 0 && (ever.empty() ? sees(state_, i, 0) : sees(ever, i, 0) && !sees(state_, i, 0))) --counted;
        const Vertex to = question_.wanted.kind == ClassKind::causal ? i : question_.layout->tokens - 1;
        unseen[i] = !ever.empty() ? counted : to + 1 - from_ - counted;
      }
    }
  }

  const ReachQuestion& question_;
  const Plane& plane_;
  const Budget& budget_;
  Vertex width_, height_, from_;
  std::size_t words_;
  Booking booking_;
  LayerWalk walk_;
  Bits state_, next_, moved_, one_sign_;
  std::vector<std::uint64_t> changed_, applied_;  ///< by grid row and by layer: when
  std::uint64_t time_ = 0, work_ = 0;
  bool mixes_signs_ = false;
};

}  // namespace

std::shared_ptr<const Plane> find_plane(const Layout& layout, Vertex width, const Budget& budget) {
  const Vertex tokens = layout.tokens;
  if (width < 2 || tokens % width != 0 || tokens == width) return nullptr;
  auto plane = std::make_shared<Plane>();
  plane->width = width;
  plane->height = tokens / width;
  plane->runs.resize(layout.layers.size());
  const ReadLayers read = find_read_layers(layout, budget);
  const std::vector<bool> used = layout.used_layers();
  std::map<std::size_t, ReadOffsets> layers;
  std::int64_t left = 0, right = 0;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (!used[l]) continue;
    std::optional<ReadOffsets> offsets = read_plane_offsets(*read[l], width, plane->height, budget);
    if (!offsets) return nullptr;
    for (const auto& [up, columns] : *offsets) {
      const auto first = std::find(columns.begin(), columns.end(), true);
      const auto last = std::find(columns.rbegin(), columns.rend(), true);
      left = std::min<std::int64_t>(left, first - columns.begin() - (width - 1));
      right = std::max<std::int64_t>(right, columns.rend() - last - width);
    }
    layers.emplace(l, *std::move(offsets));
  }
  plane->in_any_order = left == 0 || right == 0 || (layers.size() == 1 && right - left <= width);
  for (const auto& [l, offsets] : layers) {
    std::vector<Plane::Run>& runs = plane->runs[l];
    for (const auto& [up, columns] : offsets) {
      for (std::size_t at = 0; at < columns.size(); ++at) {
        if (!columns[at]) continue;
        const std::int64_t offset = static_cast<std::int64_t>(at) - (width - 1);
        // Where sides matter, what leads straight up is of both.
        const bool goes_on = at > 0 && columns[at - 1] && (plane->in_any_order || (offset != 0 && offset != 1));
        if (goes_on) runs.back().last = offset;
        else runs.push_back({up, offset, offset});
      }
    }
    if (runs.size() > most_plane_runs || runs.size() * std::uint64_t{plane->height} * (width / 32 + 1) > most_layer_work) return nullptr;
    std::stable_sort(runs.begin(), runs.end(), [](const Plane::Run& a, const Plane::Run& b) { return std::pair(a.first, a.last) < std::pair(b.first, b.last); });
  }
  return plane;
}

PlaneOffsets::PlaneOffsets(Vertex width, Vertex height, std::size_t words, std::vector<std::uint64_t> before, std::vector<std::uint64_t> seen)
    : width_(width), words_(words), before_(std::move(before)), seen_(std::move(seen)) {
  for (Vertex up = height; up-- > 0;) {
    for (std::int64_t across = 1 - std::int64_t{width}; across < std::int64_t{width}; ++across) {
      if (is_seen(up, across) && !is_row_seen(up, across)) last_.push_back({up, across});
    }
  }
}

std::optional<PlaneOffsets> find_plane_offsets(const Layout& layout, const Plane& plane, std::uint64_t depth, const Budget& budget) {
  const ReachQuestion question{&layout};
  return PlaneReach(question, plane, budget).follow(layout.order.front(), depth);
}

std::optional<ReachAnswer> answer_by_plane(const ReachQuestion& question, const Plane& plane, const Budget& budget) {
  return plane.mixes_signs.hold(question) ? std::nullopt : PlaneReach(question, plane, budget).answer();
}

}  // namespace sightline::sight

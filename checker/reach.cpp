#include "reach.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "bit_reach.hpp"
#include "boxes.hpp"
#include "centre.hpp"
#include "closed_parts.hpp"
#include "grid.hpp"
#include "orbit_reach.hpp"
#include "poll.hpp"
#include "read_layers.hpp"
#include "shifts.hpp"
#include "spans.hpp"
#include "stretches.hpp"
#include "threshold.hpp"
#include "triangles.hpp"

namespace checker {

namespace {

using Pair = std::pair<Vertex, Vertex>;

std::vector<Vertex> read_hints(const Layout& layout, const Json& hints) {
  std::vector<Vertex> columns;
  for (const Json& column : hints["columns"].array()) columns.push_back(static_cast<Vertex>(column.natural(layout.tokens - 1)));
  columns.push_back(static_cast<Vertex>(hints["hub"].natural(layout.vertices() - 1)));
  return columns;
}

}  // namespace

std::uint64_t ever_of(const Layout& layout) { return (std::uint64_t{layout.vertices()} + 1) * std::max<std::uint64_t>(1, layout.order.size()); }
bool repeats_one_layer(const Layout& layout) { return !layout.order.empty() && std::ranges::all_of(layout.order, [&](std::uint32_t l) { return l == layout.order.front(); }); }

namespace {

/// One layer of one head, kinds all and causal: what is missing is what the row lacks, and its runs are disjoint.
Unseen unseen_by_rows(const Layout& layout, const ReachQuestion& question, const Pattern& pattern) {
  Unseen result{std::vector<Vertex>(layout.tokens, 0), {}};
  std::vector<std::int64_t> before(question.weight == nullptr ? 0 : std::size_t{layout.tokens} + 1, 0);  // weights of the tokens before each
  for (std::size_t j = 0; j + 1 < before.size(); ++j) before[j + 1] = before[j] + (*question.weight)[j];
  const auto weigh = [&](std::uint64_t first, std::uint64_t last, Vertex step) -> std::int64_t {
    if (before.empty()) return static_cast<std::int64_t>((last - first) / step + 1);
    if (step == 1) return before[last + 1] - before[first];
    std::int64_t sum = 0;
    for (std::uint64_t j = first; j <= last; j += step) sum += before[j + 1] - before[j];
    return sum;
  };
  std::vector<Run> row, still, near;
  std::vector<MovingRun> moving;
  const Pattern::Segment* segment = nullptr;
  std::int64_t below = 0;  // what runs count that stand still below a whole segment
  const Vertex from = question.ordinary_only ? 1 : 0;
  for (Vertex i = 0; i < layout.tokens; ++i) {
    poll();
    if (segment == nullptr || i - segment->first >= segment->count) {
      segment = &pattern.segment_of(i);
      pattern.split_row(*segment, still, moving);
      below = 0;
      near.clear();
      for (const Run& run : still) {
        const Vertex begin = run.first < from ? run.first + run.step : run.first;
        if (run.last >= i) near.push_back(run);
        else if (begin <= run.last) below += weigh(begin, run.last, run.step);
      }
    }
    row = near;
    append_runs(moving, i - segment->first, row);
    const Vertex to = question.kind == ClassKind::causal ? i : layout.tokens - 1;
    if (from > to) continue;
    std::int64_t missing = weigh(from, to, 1) - (i >= from ? weigh(i, i, 1) : 0) - below;
    for (const Run& run : row) {
      const Vertex begin = run.first < from ? run.first + run.step : run.first, end = std::min(run.last, to);
      if (begin > run.last || begin > end) continue;
      missing -= weigh(begin, end, run.step);
      if (i >= begin && i <= end && (i - begin) % run.step == 0) missing += weigh(i, i, 1);  // it was counted already
    }
    result.count[i] = static_cast<Vertex>(missing);
    if (missing > 0 && !result.first) pattern.row(i, row);
    for (Vertex j = from; missing > 0 && !result.first; ++j) {
      const bool seen = j == i || std::any_of(row.begin(), row.end(), [j](const Run& run) { return j >= run.first && j <= run.last && (j - run.first) % run.step == 0; });
      if (!seen) result.first = Pair{i, j};
    }
  }
  return result;
}

}  // namespace

namespace {

/// A large block mask on two vertices per stretch: members of a stretch see, and are seen, alike.
struct Short {
  Stretches stretches;
  Layout layout;

  [[nodiscard]] std::optional<Pair> restore(const std::optional<Pair>& pair) const {
    return pair ? std::optional(Pair{stretches.first[pair->first], stretches.first[pair->second]}) : pair;
  }
};

std::unique_ptr<Short> shorten(const Layout& layout) {
  std::vector<const Relation*> relations;
  for (const Relation& relation : layout.relations) relations.push_back(&relation);
  auto found = find_stretches(layout.vertices(), layout.tokens, relations, nullptr);
  if (!found) return nullptr;
  auto out = std::make_unique<Short>(Short{std::move(*found), {}});
  out->layout.registers = layout.registers;
  out->layout.tokens = static_cast<Vertex>(out->stretches.first.size()) - layout.registers;
  out->layout.vertex_colour.resize(out->stretches.first.size());
  out->layout.relations = out->stretches.relations;
  out->layout.layers = layout.layers;
  out->layout.order = layout.order;
  return out;
}

}  // namespace

/// What questions about one layout have in common: made when it is first asked for.
struct ReachMemory::State {
  explicit State(const Layout& layout_) : layout(layout_), period(find_period(layout_.order)) {}

  const Layout& layout;
  std::uint64_t period;
  using Key = std::tuple<ClassKind, bool, bool, std::uint64_t>;
  std::map<Key, Reach> reach;
  std::map<Key, std::optional<Reach>> hub;
  std::map<std::pair<Key, std::optional<std::uint64_t>>, Unseen> unseen;
  std::map<Key, std::vector<std::uint64_t>> late;  ///< by vertex: after how many layers all see it, or some more

  [[nodiscard]] Key key(const ReachQuestion& question) const {
    return {question.kind, question.ordinary_only, question.registers_too && layout.registers > 0, period == 0 ? 0 : question.skip % period};
  }

  const SharedLayers& shared() {
    if (!shared_) {
      for (const auto& [l, layer] : shared_.emplace(), layers()) shared_->emplace(l, share_ranges(layer));
      layers_.reset();
    }
    return *shared_;
  }

  /// A depth, at most two periods, by which two layers were met that suffice; nothing when none was found.
  std::optional<std::uint64_t> crossing(std::uint64_t skip, bool causal) {
    if (layout.registers > 0 || period == 0) return std::nullopt;
    const auto [known, is_new] = crossing_.try_emplace({skip % period, causal});
    if (!is_new) return known->second;
    const auto at = [&](std::uint64_t q) { return layout.order[(skip + q - 1) % layout.order.size()]; };
    constexpr std::size_t most_pairs = 12;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> tried;
    std::map<std::uint32_t, std::optional<RowShape>> shapes;
    std::map<std::uint32_t, std::uint64_t> width;
    const auto widest = [&](std::uint32_t l) {  // two layers show no reader more than the product of these
      const auto [found, fresh] = width.try_emplace(l);
      if (fresh) found->second = count_widest(layers().at(l));
      return found->second;
    };
    const auto shape = [&](std::uint32_t l) -> const std::optional<RowShape>& {
      const auto [found, fresh] = shapes.try_emplace(l);
      if (fresh) found->second = measure_rows(layers().at(l), layout.tokens);
      return found->second;
    };
    for (std::uint64_t q = 2; q <= 2 * period; ++q) {
      for (std::uint64_t p = 1; p < q; ++p) {
        const std::pair<std::uint32_t, std::uint32_t> pair{at(p), at(q)};
        if (std::find(tried.begin(), tried.end(), pair) != tried.end()) continue;
        if (tried.size() == most_pairs) return std::nullopt;
        tried.push_back(pair);
        if (widest(pair.first) * widest(pair.second) < layout.tokens) continue;
        // Runs of one relation are disjoint, those of several heads need not be. Shapes look at every reader by itself, so they come last.
        if (layout.layers[pair.second].size() == 1 && do_gatherers_suffice(layers().at(pair.first), layers().at(pair.second), layout.tokens, causal)) return known->second = q;
        if (do_two_layers_suffice(shape(pair.first), shape(pair.second), layout.tokens, causal)) return known->second = q;
        if (!causal && do_rows_meet_classes(layers().at(pair.first), shape(pair.second), layout.tokens)) return known->second = q;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool causal_chain() {
    if (!causal_chain_) causal_chain_ = is_causal_chain(layout, layers());
    return *causal_chain_;
  }

  /// Nothing when some row is no interval.
  const IntervalViews* intervals(std::uint64_t skip) {
    if (!intervals_) {
      intervals_.emplace();
      for (const auto& [l, layer] : layers()) {
        auto found = make_intervals(layer);
        are_intervals_ = are_intervals_ && found.has_value();
        if (!are_intervals_) break;
        intervals_->emplace(l, std::move(*found));
      }
      if (are_intervals_) layers_.reset();
      else intervals_->clear();
    }
    if (!are_intervals_) return nullptr;
    auto& views = views_[period == 0 ? 0 : skip % period];
    if (!views) views = std::make_unique<IntervalViews>(layout, *intervals_, skip);
    return views.get();
  }

  const Short* shorter() {
    if (!short_) {
      short_ = shorten(layout);
      if (*short_) short_memory.emplace((*short_)->layout);
    }
    return short_->get();
  }

  /// Is there a grid, and is that known already?
  [[nodiscard]] bool has_grid() const { return grid_ && *grid_; }
  const std::optional<Grid>& grid() {
    if (!grid_) keep_grid(find_grid(layout));
    return *grid_;
  }

  void keep_grid(std::optional<Grid> grid) {
    grid_.emplace(std::move(grid));
    if (!*grid_) return;
    down_memory.emplace((*grid_)->down);
    across_memory.emplace((*grid_)->across);
  }

  const Boxes* boxes() {
    if (!boxes_) boxes_ = Boxes::find(layout);
    return boxes_->get();
  }

  const ClosedParts* closed_parts() {
    if (!closed_parts_) {
      closed_parts_ = find_closed_parts(layout, layers());
      if (*closed_parts_) {
        for (const Layout& part : (*closed_parts_)->layouts) part_memory.push_back(std::make_unique<ReachMemory>(part));
      }
    }
    return closed_parts_->get();
  }

  const Shifts* shifts() {
    if (!shifts_) shifts_ = Shifts::find(layout, layers());
    return shifts_->get();
  }

  const Triangles* triangles() {
    if (!triangles_) triangles_ = Triangles::find(layout);
    return triangles_->get();
  }

  /// Null where views are too many intervals.
  SpanViews* spans() {
    if (!spans_) {
      spans_.emplace();
      try {
        spans_ = std::make_unique<SpanViews>(layout, layers());
      } catch (const TooManySpans&) {
      }
    }
    return spans_->get();
  }
  void drop_spans() { spans_->reset(); }

  /// Null for few vertices as well.
  Centre* centre() {
    constexpr Threshold<Vertex> least{1024, 2, "small layouts"};
    if (!centre_) centre_ = layout.vertices() > least && period == 1 ? Centre::make(layout, shared().at(layout.order.front())) : nullptr;
    return centre_->get();
  }

  std::optional<ReachMemory> short_memory, down_memory, across_memory;
  std::vector<std::unique_ptr<ReachMemory>> part_memory;  // by different part

private:
  const std::map<std::uint32_t, ReadLayer>& layers() {
    if (!layers_) {
      layers_.emplace();
      for (const std::uint32_t l : layout.order) {
        if (!layers_->contains(l)) layers_->emplace(l, make_read_layer(layout, layout.layers[l]));
      }
    }
    return *layers_;
  }

  std::optional<std::map<std::uint32_t, ReadLayer>> layers_;
  std::optional<SharedLayers> shared_;
  std::optional<bool> causal_chain_;
  std::map<std::pair<std::uint64_t, bool>, std::optional<std::uint64_t>> crossing_;
  std::optional<std::map<std::uint32_t, Intervals>> intervals_;
  bool are_intervals_ = true;
  std::map<std::uint64_t, std::unique_ptr<IntervalViews>> views_;
  std::optional<std::unique_ptr<Short>> short_;
  std::optional<std::optional<Grid>> grid_;
  std::optional<std::unique_ptr<Boxes>> boxes_;
  std::optional<std::unique_ptr<ClosedParts>> closed_parts_;
  std::optional<std::unique_ptr<Shifts>> shifts_;
  std::optional<std::unique_ptr<Triangles>> triangles_;
  std::optional<std::unique_ptr<SpanViews>> spans_;
  std::optional<std::unique_ptr<Centre>> centre_;
};

ReachMemory::ReachMemory(const Layout& layout) : state(std::make_unique<State>(layout)) {}
ReachMemory::~ReachMemory() = default;

void keep_grid(ReachMemory& memory, std::optional<Grid> grid) { memory.state->keep_grid(std::move(grid)); }
const Plane* find_plane(ReachMemory& memory) { return memory.state->shifts() != nullptr ? memory.state->shifts()->plane() : nullptr; }
const ClosedParts* find_closed_parts(ReachMemory& memory) { return memory.state->closed_parts(); }
const Grid* find_grid(ReachMemory& memory) { return memory.state->grid() ? &*memory.state->grid() : nullptr; }

namespace {

using State = ReachMemory::State;

// Hints name columns that bound the layers from below, and a hub that bounds them from above: it sees everything after t
// layers, and everybody sees it within the layers after that. Nothing when the two do not meet.
std::optional<Reach> reach_by_hub(State& state, const ReachQuestion& question) {
  const Layout& layout = state.layout;
  if ((question.hints == nullptr && question.columns == nullptr) || question.kind != ClassKind::all || question.sets != nullptr) return std::nullopt;
  std::vector<Vertex> columns = question.columns != nullptr ? *question.columns : read_hints(layout, *question.hints);
  const Vertex hub = columns.back();
  columns.pop_back();
  constexpr std::size_t most_columns = 512;
  if (columns.size() > most_columns) throw Malformed("evidence \"reach\": too many columns");
  const Reach below = reach_of_columns(layout, state.shared(), question, columns);
  if (!below.layers) return below;
  const Vertex end = question.registers_too ? layout.vertices() : layout.tokens;
  std::uint64_t gathered = 0;
  for (bool full = false; !full; gathered += full ? 0 : 1) {
    if (gathered >= *below.layers) return std::nullopt;
    const auto latest = compute_latest(layout, gathered, hub, question.skip);
    full = true;
    for (Vertex j = question.ordinary_only ? 1 : 0; j < end && full; ++j) full = latest[j] >= 0;
  }
  const std::vector<Vertex> only{hub};
  ReachQuestion spread;
  spread.skip = question.skip + gathered;
  const Reach after = reach_of_columns(layout, state.shared(), spread, only);
  if (after.layers && gathered + *after.layers <= *below.layers) return below;
  return std::nullopt;
}

const Grid* find_grid_for(State& state, const ReachQuestion& question) {
  if (question.kind == ClassKind::causal || question.ordinary_only || question.sets != nullptr || question.weight != nullptr) return nullptr;
  return state.grid() ? &*state.grid() : nullptr;
}

ReachQuestion ask_factor(const ReachQuestion& question, ReachMemory& memory) {
  ReachQuestion asked;
  asked.kind = question.kind;
  asked.skip = question.skip;
  asked.memory = &memory;
  return asked;
}

Unseen unseen_on_grid(State& state, const Grid& grid, const ReachQuestion& question, std::optional<std::uint64_t> depth) {
  const Layout& layout = state.layout;
  const Unseen down = compute_unseen(grid.down, ask_factor(question, *state.down_memory), depth),
               across = compute_unseen(grid.across, ask_factor(question, *state.across_memory), depth);
  Unseen result{std::vector<Vertex>(layout.tokens), {}};
  for (Vertex i = 0; i < layout.tokens; ++i) {
    const Vertex seen = (grid.down.tokens - down.count[i / grid.width]) * (grid.width - across.count[i % grid.width]);
    result.count[i] = layout.tokens - seen;
    if (seen == layout.tokens || result.first) continue;
    result.first = Pair{i, count_missing(layout, question, i, depth.value_or(ever_of(layout))).second};
  }
  return result;
}

/// The factor that takes longer, or never gets there, decides, and what it misses is missed on the grid.
Reach reach_on_grid(State& state, const Grid& grid, const ReachQuestion& question) {
  Reach down = compute_reach(grid.down, ask_factor(question, *state.down_memory)), across = compute_reach(grid.across, ask_factor(question, *state.across_memory));
  if (down.layers && (!across.layers || *across.layers > *down.layers)) return across;
  if (down.missed) down.missed = Pair{down.missed->first * grid.width, down.missed->second * grid.width};
  return down;
}

const ClosedParts* find_parts_for(State& state, const ReachQuestion& question) {
  return question.sets == nullptr && question.weight == nullptr ? state.closed_parts() : nullptr;
}

const Boxes* find_boxes_for(State& state, const ReachQuestion& question) {
  constexpr Threshold<Vertex> least{1024, 2, "small layouts"};
  return state.layout.tokens > least && Boxes::takes(state.layout, question) ? state.boxes() : nullptr;
}

const Shifts* find_shifts_for(State& state, const ReachQuestion& question) {
  constexpr Threshold<Vertex> least{1024, 2, "small layouts"};
  return state.layout.tokens > least && Shifts::takes(state.layout, question) ? state.shifts() : nullptr;
}

const Triangles* find_triangles_for(State& state, const ReachQuestion& question) {
  constexpr Threshold<Vertex> least{1024, 2, "small layouts"};
  const bool takes = question.sets == nullptr && question.weight == nullptr && state.layout.registers == 0 && state.layout.tokens > least;
  return takes ? state.triangles() : nullptr;
}

/// The question about one part: token 0 is in the first.
ReachQuestion ask_part(State& state, const ClosedParts& parts, const ReachQuestion& question, std::size_t c) {
  ReachQuestion asked = ask_factor(question, *state.part_memory[parts.like[c]]);
  asked.ordinary_only = question.ordinary_only && c == 0;
  return asked;
}

/// The short layout where the question is one about it; a few readers tell all without.
const Short* find_short_for(State& state, const ReachQuestion& question) {
  if (question.sets != nullptr || question.weight != nullptr || question.kind == ClassKind::causal) return nullptr;
  return choose_readers(state.layout, question).empty() ? state.shorter() : nullptr;
}

/// @param columns  the hints in the short layout, which the question points to
ReachQuestion ask_short(State& state, const Short& shorter, const ReachQuestion& question, std::vector<Vertex>& columns) {
  ReachQuestion asked = question;
  asked.orbit = nullptr;
  asked.hints = nullptr;
  asked.weight = &shorter.stretches.count;
  asked.memory = &*state.short_memory;
  if (question.hints == nullptr) return asked;
  for (const Vertex column : read_hints(state.layout, *question.hints)) columns.push_back(shorter.stretches.place_of(column));
  std::sort(columns.begin(), columns.end() - 1);
  columns.erase(std::unique(columns.begin(), columns.end() - 1), columns.end() - 1);
  asked.columns = &columns;
  return asked;
}

const IntervalViews* find_intervals_for(State& state, const ReachQuestion& question) {
  if (question.sets != nullptr || (question.registers_too && state.layout.registers > 0)) return nullptr;
  return state.intervals(question.skip);
}

std::optional<Reach> ask_hub(State& state, const ReachQuestion& question) {
  if (question.memory == nullptr || question.sets != nullptr) return reach_by_hub(state, question);
  const auto [known, fresh] = state.hub.try_emplace(state.key(question));
  if (fresh) known->second = reach_by_hub(state, question);
  return known->second;
}

/// Two layers bound the answer from above, columns from below; nothing where they do not meet. Token i of a causal chain comes to see 0..i.
std::optional<Reach> reach_by_crossing(State& state, const ReachQuestion& question) {
  const Layout& layout = state.layout;
  if (question.kind == ClassKind::seen || question.sets != nullptr || question.weight != nullptr || layout.registers > 0 || layout.order.empty()) return std::nullopt;
  const std::optional<std::uint64_t> depth = state.crossing(question.skip, question.kind == ClassKind::causal);
  if (!depth) return std::nullopt;
  // Two layers suffice: is one too few? Its rows tell, where columns would be followed through every member of every run.
  if (const std::vector<std::uint32_t>& heads = layout.layer(question.skip + 1); *depth == 2 && heads.size() == 1) {
    if (const Unseen one = unseen_by_rows(layout, question, *layout.relations[heads.front()].pattern); one.first) return Reach{2, one.first};
  }
  std::vector<Vertex> columns;
  constexpr std::uint64_t sampled = 64;
  for (std::uint64_t k = 0; k < sampled; ++k) columns.push_back(static_cast<Vertex>((layout.tokens - 1) * k / (sampled - 1)));
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  const Reach below = reach_of_columns(layout, state.shared(), question, columns);
  return below.layers && *below.layers >= *depth ? std::optional(below) : std::nullopt;
}

/// Views that are a few intervals each; nothing where they are not, and for less vertices than are worth it.
template <class Ask>
auto ask_spans(State& state, const ReachQuestion& question, const Ask& ask) -> decltype(ask(*state.spans())) {
  constexpr Threshold<Vertex> least{1024, 2, "small layouts"};
  if (question.sets != nullptr || question.weight != nullptr || state.layout.vertices() <= least || state.layout.order.empty()) return std::nullopt;
  try {
    if (SpanViews* const views = state.spans()) return ask(*views);
  } catch (const TooManySpans&) {
    state.drop_spans();
  }
  return std::nullopt;
}

/// What a layer list that sees all it is asked for leaves unseen: nothing, and of all tokens what comes later where tokens see those before only.
std::optional<Unseen> unseen_when_seen(State& state, const ReachQuestion& question, std::uint64_t depth) {
  const Layout& layout = state.layout;
  if (question.memory == nullptr || question.sets != nullptr || question.weight != nullptr || (question.registers_too && layout.registers > 0)) return std::nullopt;
  ReachQuestion asked = question;
  const bool chain = question.kind != ClassKind::causal && state.causal_chain();
  if (chain) asked.kind = ClassKind::causal;
  std::optional<std::uint64_t> bound = state.crossing(question.skip, asked.kind == ClassKind::causal);
  if (!bound && chain && !asked.ordinary_only) bound = compute_reach(layout, asked).layers;  // which is asked about anyway
  if (asked.kind == ClassKind::seen || !bound || *bound > depth) return std::nullopt;
  Unseen result{std::vector<Vertex>(layout.tokens, 0), {}};
  if (!chain || question.kind == ClassKind::seen) return result;
  for (Vertex i = 0; i < layout.tokens; ++i) result.count[i] = layout.tokens - 1 - i;
  if (layout.tokens > 1) result.first = Pair{0, 1};
  return result;
}

Unseen find_unseen(State& state, const ReachQuestion& question, std::optional<std::uint64_t> depth) {
  const Layout& layout = state.layout;
  if (const Short* shorter = find_short_for(state, question)) {
    std::vector<Vertex> columns;
    const Unseen found = compute_unseen(shorter->layout, ask_short(state, *shorter, question, columns), depth);
    Unseen result{std::vector<Vertex>(layout.tokens), shorter->restore(found.first)};
    // What the second of a stretch sees of itself is not what the others see of it: the first one speaks for all.
    const Stretches& stretches = shorter->stretches;
    for (Vertex k = 0; k < shorter->layout.tokens; ++k) std::fill_n(result.count.begin() + stretches.first[k], stretches.count[k], found.count[stretches.lead[k]]);
    return result;
  }
  const bool by_rows = depth == 1 && !layout.order.empty() && question.kind != ClassKind::seen && question.sets == nullptr && !(question.registers_too && layout.registers > 0);
  if (by_rows && layout.layer(question.skip + 1).size() == 1) return unseen_by_rows(layout, question, *layout.relations[layout.layer(question.skip + 1).front()].pattern);
  if (const Grid* known = state.has_grid() && question.kind == ClassKind::all ? find_grid_for(state, question) : nullptr) {
    Unseen found = unseen_on_grid(state, *known, question, depth);
    if (!found.first) return found;
  }
  if (const IntervalViews* views = find_intervals_for(state, question)) return IntervalReach(layout, *views, question).unseen(depth);
  Unseen none{std::vector<Vertex>(layout.tokens, 0), {}};
  if (!depth && question.kind == ClassKind::seen && question.sets == nullptr) return none;
  if (!depth && question.sets == nullptr && !question.registers_too && question.weight == nullptr && state.causal_chain()) {
    for (Vertex i = 0; i < layout.tokens && question.kind == ClassKind::all; ++i) none.count[i] = layout.tokens - 1 - i;
    if (question.kind == ClassKind::all && layout.tokens > 1) none.first = Pair{0, 1};
    return none;
  }
  if (auto unseen = unseen_when_seen(state, question, depth.value_or(never))) return *std::move(unseen);
  if (const Grid* grid = question.kind == ClassKind::all ? find_grid_for(state, question) : nullptr) return unseen_on_grid(state, *grid, question, depth);
  if (const Boxes* boxes = find_boxes_for(state, question)) {
    if (auto unseen = boxes->unseen(question, depth)) return *std::move(unseen);
  }
  if (const ClosedParts* parts = find_parts_for(state, question)) {
    return parts->unseen(question, layout.tokens, [&](std::size_t c) { return compute_unseen(parts->layouts[parts->like[c]], ask_part(state, *parts, question, c), depth); });
  }
  if (const Shifts* shifts = find_shifts_for(state, question)) {
    if (auto unseen = shifts->unseen(question, depth, state.shared(), true)) return *std::move(unseen);
  }
  const bool never_all = question.kind == ClassKind::all && layout.tokens > 1 && question.memory != nullptr && state.causal_chain();  // token 0 sees itself alone
  if (const auto reach = never_all ? std::nullopt : ask_hub(state, question); reach && reach->layers && depth.value_or(never) >= *reach->layers) return none;
  if (const auto readers = choose_readers(layout, question); !readers.empty()) {
    if (readers.size() > readers_for_columns && question.memory != nullptr) {  // which is asked about anyway
      if (const Reach reach = compute_reach(layout, question); reach.layers && depth.value_or(never) >= *reach.layers) return none;
    }
    return unseen_by_orbits(layout, state.shared(), question, readers, depth.value_or(ever_of(layout)));
  }
  if (do_all_see_everything(layout, state.shared(), question, depth.value_or(never))) return none;
  if (Centre* const centre = Centre::takes(question) ? state.centre() : nullptr) {
    if (auto unseen = centre->unseen(question, depth)) return *std::move(unseen);
  }
  if (const Triangles* const triangles = find_triangles_for(state, question)) {
    if (auto unseen = triangles->unseen(question, depth)) return *std::move(unseen);
  }
  if (auto unseen = ask_spans(state, question, [&](SpanViews& views) { return std::optional(views.unseen(question, depth)); })) return *std::move(unseen);
  if (question.memory != nullptr && question.sets == nullptr) {  // which is asked about anyway, and columns are followed but once
    if (const Reach reach = compute_reach(layout, question); reach.layers && depth.value_or(never) >= *reach.layers) return none;
    if (Centre* const centre = depth && question.kind == ClassKind::all && Centre::takes(question) ? state.centre() : nullptr) {  // what is missed once all is seen that is ever seen
      ReachQuestion seen = question;
      seen.kind = ClassKind::seen;
      if (const Reach reach = compute_reach(layout, seen); reach.layers && *depth >= *reach.layers) return *centre->unseen(question, std::nullopt);
    }
  }
  if (const Shifts* shifts = find_shifts_for(state, question)) {
    if (auto unseen = shifts->unseen(question, depth, state.shared(), false)) return *std::move(unseen);
  }
  if (const auto late = state.late.find(state.key(question)); question.memory != nullptr && question.sets == nullptr && question.weight == nullptr && late != state.late.end()) {
    std::vector<Vertex> columns;
    for (Vertex j = 0; j < (question.registers_too ? layout.vertices() : layout.tokens); ++j) {
      if (late->second[j] > depth.value_or(never)) columns.push_back(j);
    }
    return BitReach<>(layout, state.shared(), question).unseen_late(depth, columns);
  }
  return BitReach<>(layout, state.shared(), question).unseen(depth);
}

Reach find_reach(State& state, const ReachQuestion& question) {
  const Layout& layout = state.layout;
  if (const Short* shorter = find_short_for(state, question)) {
    std::vector<Vertex> columns;
    Reach found = compute_reach(shorter->layout, ask_short(state, *shorter, question, columns));
    found.missed = shorter->restore(found.missed);
    return found;
  }
  // How many layers suffice is a number that every way agrees on; of a pair that is never seen the first way that has one names it.
  const Grid* const known = state.has_grid() && !question.registers_too ? find_grid_for(state, question) : nullptr;
  if (known != nullptr) {
    Reach found = reach_on_grid(state, *known, question);
    if (found.layers) return found;
  }
  if (const IntervalViews* views = find_intervals_for(state, question)) return IntervalReach(layout, *views, question).layers();
  if (const auto reach = reach_by_crossing(state, question)) return *reach;
  if (question.memory != nullptr && question.sets == nullptr && question.weight == nullptr && question.kind != ClassKind::causal && state.causal_chain()) {
    if (question.kind == ClassKind::all && layout.tokens > 1) return {std::nullopt, Pair{0, 1}};
    ReachQuestion asked = question;
    asked.kind = ClassKind::causal;
    return compute_reach(layout, asked);
  }
  if (const Grid* grid = find_grid_for(state, question)) return reach_on_grid(state, *grid, question);
  if (const Boxes* boxes = find_boxes_for(state, question)) {
    if (const auto reach = boxes->layers(question)) return *reach;
  }
  if (const ClosedParts* parts = find_parts_for(state, question)) {
    return parts->layers(question, [&](std::size_t c) { return compute_reach(parts->layouts[parts->like[c]], ask_part(state, *parts, question, c)); });
  }
  if (const Shifts* shifts = find_shifts_for(state, question)) {
    if (const auto reach = shifts->layers(question, state.shared(), true)) return *reach;
  }
  if (const auto reach = ask_hub(state, question)) return *reach;
  if (const auto readers = choose_readers(layout, question); !readers.empty()) return reach_by_orbits(layout, state.shared(), question, readers);
  if (Centre* const centre = Centre::takes(question) ? state.centre() : nullptr) {
    if (const auto reach = centre->layers(question)) return *reach;
  }
  if (const Triangles* const triangles = find_triangles_for(state, question)) {
    if (const auto reach = triangles->layers(question)) return *reach;
  }
  if (const auto reach = ask_spans(state, question, [&](SpanViews& views) { return views.layers(question); })) return *reach;
  if (const Shifts* shifts = find_shifts_for(state, question)) {
    if (const auto reach = shifts->layers(question, state.shared(), false)) return *reach;
  }
  if (question.memory == nullptr || question.kind != ClassKind::all || question.sets != nullptr || question.weight != nullptr) return BitReach<>(layout, state.shared(), question).layers();
  std::vector<std::uint64_t> late;
  const Reach reach = BitReach<>(layout, state.shared(), question).layers_and_late(late);
  if (reach.layers) state.late[state.key(question)] = std::move(late);
  return reach;
}

}  // namespace

Unseen compute_unseen(const Layout& layout, const ReachQuestion& question, std::optional<std::uint64_t> depth) {
  std::optional<ReachMemory> own;
  State& state = *(question.memory != nullptr ? *question.memory : own.emplace(layout)).state;
  if (question.sets != nullptr || question.memory == nullptr) return find_unseen(state, question, depth);
  const std::pair key{state.key(question), depth};
  const auto known = state.unseen.find(key);
  return known != state.unseen.end() ? known->second : state.unseen.emplace(key, find_unseen(state, question, depth)).first->second;
}

Reach compute_reach(const Layout& layout, const ReachQuestion& question) {
  std::optional<ReachMemory> own;
  State& state = *(question.memory != nullptr ? *question.memory : own.emplace(layout)).state;
  if (question.sets != nullptr || question.memory == nullptr) return find_reach(state, question);
  const auto key = state.key(question);
  const auto known = state.reach.find(key);
  return known != state.reach.end() ? known->second : state.reach.emplace(key, find_reach(state, question)).first->second;
}

}  // namespace checker

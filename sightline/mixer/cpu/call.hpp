// One call of kernel attention: who computes which tile, in which order.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "sightline/mixer/cpu/call_parts.hpp"
#include "sightline/mixer/cpu/colours.hpp"
#include "sightline/mixer/cpu/dispatch.hpp"
#include "sightline/mixer/cpu/exact.hpp"
#include "sightline/mixer/cpu/heads.hpp"
#include "sightline/mixer/cpu/long_rows.hpp"
#include "sightline/mixer/cpu/pool.hpp"
#include "sightline/mixer/cpu/tiles.hpp"
#include "sightline/mixer/cpu/twins.hpp"
#include "sightline/mixer/cpu_hooks.hpp"

namespace sightline::mixer::cpu {

/// One stretch of work: a tile (by rank) or a chunk of rows of one head.
struct Task {
  std::int32_t batch = 0, head = 0;
  std::int64_t part = 0;
  bool is_tile = false;
  std::int64_t long_rows = -1; ///< `part` is a piece of these
};

/// Everything that does not change during one call.
template <class Real> class Call {
public:
  Call(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
       const AttentionOutputs<Real>& out, const Execution& execution, const CallPart<Real>& part = {})
      : plan_(plan), rule_(rule), shape_(shape), in_(in), out_(out), execution_(execution), part_(part) {}

  [[nodiscard]] bool prepare() {
    if (has_features()) {
      common_.weight = Weight::features;
      common_.normalised = rule_.normalised;
    } else if (rule_.kernel.name.empty()) {
      if (!program_.build(rule_, shape_.width, Names::allowed, common_))
        return false;
    } else if (!translate(rule_, common_)) {
      return false;
    }
    const bool by_offset = bias_.build(plan_, rule_, shape_, first_head(), in_.bias);
    if ((!by_offset || bias_.has_registers()) && !colours_.build(plan_, rule_, shape_, first_head(), in_.bias))
      return false;
    // Biases join exponents: weights that have none become programs, which may have both.
    if (has_bias() && common_.weight != Weight::exponential && common_.weight != Weight::exponential_root &&
        common_.weight != Weight::features && common_.weight != Weight::program &&
        !program_.build(rule_, shape_.width, Names::none, common_))
      return false;
    compiled_ = &find_compiled(plan_);
    tiles_ = part_.by_relation != nullptr ? part_.by_relation : &compiled_->relations;
    if (colours_.has_table()) {
      coloured_ = &find_colour_rows(plan_);
      find_arc_colours(plan_, *compiled_);
      for (std::int64_t h = 0; part_.tiles != nullptr && h < shape_.heads; ++h)
        find_arc_colours((*coloured_)[plan_.relation_of(first_head() + h)], tiles_of(h).rows);
    }
    if (execution_.exact) {
      // Lengths break the symmetry that orders are made for; biases may count differently round a ring.
      if ((in_.lengths != nullptr || has_bias()) && plan_.order().kind != SummationOrder::Kind::natural)
        return false;
      tiles_ = find_exact(plan_, *compiled_);
      // Equal features may belong to different tokens: content cannot order them.
      if (tiles_ != nullptr && has_features() && goes_by_content())
        tiles_ = find_exact_rows(plan_, *compiled_);
      if (tiles_ == nullptr)
        return false;
      common_.canonical = true;
    }
    engine_ = &find_engine<Real>(execution_.instructions);
    workers_ = std::max(execution_.threads, 1);
    if (out_.arc_weights != nullptr && count_arc_weights() > 0) {
      for (std::int64_t h = 0; h < shape_.heads; ++h)
        arcs_before_.push_back(arcs_before_.back() + static_cast<std::int64_t>(tiles_of(h).rows.columns.size()));
    }
    return true;
  }

  /// Of a batch element: reads whose weights forward leaves for backward, where all go row by row in both and weights are
  /// what slopes are made of.
  [[nodiscard]] std::int64_t count_arc_weights() const {
    constexpr std::int64_t share = 10; // of what an output takes
    if (!is_scaled_softmax() || common_has_extra() || in_.lengths != nullptr || goes_by_content())
      return 0;
    std::int64_t arcs = 0;
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      if (!tiles_of(h).tiles.empty())
        return 0;
      arcs += static_cast<std::int64_t>(tiles_of(h).rows.columns.size());
    }
    return arcs * share <= shape_.heads * shape_.readers * shape_.value_width ? arcs : 0;
  }

  /// Twins are ordered by content: see twins.hpp for the way back.
  [[nodiscard]] bool goes_by_content() const {
    return execution_.exact && compiled_->by_content && (tiles_ == &compiled_->exact || stays_in_place_);
  }

  /// Twins, backward: tiles hold whole classes of readers and reads, so that sums change their order and nothing is
  /// copied. Finds the orders.
  [[nodiscard]] bool find_in_place(const View<const Real>& grad_out); // twins.cpp

  /// Rings by tiles: see rings.hpp for the way back.
  [[nodiscard]] bool goes_round() const {
    return execution_.exact && tiles_ == &compiled_->exact && !compiled_->by_content &&
           common_.score == Score::dot && common_.prepare == Prepare::nothing && common_.weight != Weight::features &&
           common_.weight != Weight::program;
  }

  /// Exact sums over readers need lists of their own; tiles have none. What the forward pass did by tiles then goes back
  /// row by row: outputs and statistics mean the same. By content, twins.hpp knows better where it can.
  [[nodiscard]] bool find_backward() {
    if (!execution_.exact || tiles_ == &compiled_->relations ||
        std::all_of(tiles_->begin(), tiles_->end(), [](const Tiles& tiles) { return tiles.tiles.empty(); }))
      return true;
    const std::vector<Tiles>* const rows = find_exact_rows(plan_, *compiled_);
    if (rows != nullptr)
      tiles_ = rows;
    return rows != nullptr;
  }

  void forward(); // forward.cpp

  /// goes_by_content(), forward: a call of its own for every few heads where reads are copied.
  [[nodiscard]] bool forward_by_content(); // twins.cpp

  void backward(const AttentionGradients<Real>& gradients) {
    clear(gradients.key, shape_.width);
    clear(gradients.value, shape_.value_width);
    if (gradients.bias != nullptr) {
      bias_sums_.assign(static_cast<std::size_t>(shape_.batch * shape_.heads * bias_length()), 0.0);
      merged_.assign(static_cast<std::size_t>(shape_.batch * shape_.heads), 0);
    }
    run_tiles(gradients);
    run_sparse(gradients);
    if (gradients.bias != nullptr)
      set_biases(gradients.bias);
    if (gradients.sink != nullptr)
      add_sinks(gradients.sink);
    if (execution_.exact && !is_clean()) {
      clean(gradients.query, shape_.heads, shape_.readers, shape_.width);
      clean(gradients.key, shape_.key_heads, shape_.reads, shape_.width);
      clean(gradients.value, shape_.key_heads, shape_.reads, shape_.value_width);
    }
  }

  /// The `most` reads with the largest weights of every row (ties: the smaller read), as rows taken one by one; one
  /// Tiles per head of a single batch element. False: weights are products of a factor and a power.
  [[nodiscard]] bool select(std::int64_t most, bool backward, std::vector<Tiles>& chosen) const; // largest.cpp

private:
  static constexpr std::int64_t far_bytes = std::int64_t{4} << 20; ///< see Head::far
  /// Rows that read here and there, of keys and values that do not fit into the last cache together: first all weights of
  /// many rows, then all their sums.
  [[nodiscard]] bool sums_wait(std::int64_t head) const {
    constexpr std::int64_t most_bytes = std::int64_t{24} << 20;
    return tiles_of(head).rows.scattered && !takes_pieces(head) &&
           shape_.reads * (shape_.width + shape_.value_width) * static_cast<std::int64_t>(sizeof(Real)) > most_bytes;
  }
  void forward_in_turns(std::int64_t b, std::int64_t h, bool past, const Workspaces& workspaces); // forward.cpp

  [[nodiscard]] std::size_t workspace_bytes() const {
    std::int64_t longest = 0;
    for (std::int64_t h = 0; h < shape_.heads; ++h)
      longest = std::max({longest, tiles_of(h).rows.longest_free, tiles_of(h).columns.longest_free});
    return engine_->workspace_bytes(shape_.width, shape_.value_width, longest);
  }
  /// 2^(c x.y): softmax, and expressions that are one.
  [[nodiscard]] bool is_scaled_softmax() const {
    return common_.weight == Weight::exponential && common_.score == Score::dot &&
           common_.prepare == Prepare::nothing && !has_bias();
  }
  [[nodiscard]] std::int64_t first_head() const { return part_.first_head; }
  [[nodiscard]] bool has_features() const { return part_.reader_exponents != nullptr; }
  [[nodiscard]] const Tiles& tiles_of(std::int64_t head) const {
    return part_.tiles != nullptr ? (*part_.tiles)[static_cast<std::size_t>(head)]
                                  : (*tiles_)[plan_.relation_of(first_head() + head)];
  }
  [[nodiscard]] std::int64_t group() const { return shape_.heads / shape_.key_heads; }
  [[nodiscard]] bool has_bias() const { return bias_.table(0) != nullptr || colours_.of(0) != nullptr; }
  /// Of the sums that gradients of a head's biases are made from: first those by colour, then those by i - j, 0 at
  /// bias_zero().
  [[nodiscard]] std::int64_t bias_length() const { return colour_count() + bias_.length(); }
  [[nodiscard]] std::int64_t bias_zero() const { return colour_count() + bias_.zero(); }
  [[nodiscard]] std::int64_t colour_count() const { return coloured_ != nullptr ? plan_.colours() : 0; }

  /// The reads of a tile, which are whole classes, follow each other in one strip.
  [[nodiscard]] static bool reads_in_place(const Tiles& tiles, const Tile& tile) {
    std::int64_t count = 0;
    for (std::uint32_t s = tile.segments_begin; s < tile.segments_end; ++s) {
      if (tiles.segments[s].first != tiles.segments[tile.segments_begin].first + count)
        return false;
      count += tiles.segments[s].count;
    }
    return count < strip_columns;
  }

  /// Tiles read much more than their own readers: each would copy the same keys and values into their order again.
  [[nodiscard]] bool copies_reads() const; // twins.cpp
  /// The order of every chain's reads; copies in that order where copies_reads().
  void sort_reads(); // twins.cpp

  static Task tile_task(std::int64_t b, std::int64_t h, std::int64_t part) {
    return {static_cast<std::int32_t>(b), static_cast<std::int32_t>(h), part, true};
  }
  static void add_chunks(std::vector<Task>& tasks, std::int64_t b, std::int64_t h, std::int64_t count) {
    for (std::int64_t c = 0; c < count; ++c)
      tasks.push_back({static_cast<std::int32_t>(b), static_cast<std::int32_t>(h), c, false});
  }

  /// Long rows and columns go piece by piece: weights are powers of two, so that what pieces find can be joined.
  [[nodiscard]] bool takes_pieces(std::int64_t head) const {
    return !tiles_of(head).pieces.empty() && (common_.weight == Weight::exponential || common_.weight == Weight::exponential_root) &&
           common_.normalised && !execution_.exact && part_.by_relation == nullptr && !common_has_extra() && !has_bias() &&
           in_.lengths == nullptr;
  }

  void add_rows(std::vector<Task>& tasks, std::int64_t b, std::int64_t h, std::int64_t long_rows) const; // forward.cpp

  /// With the tile that `workers` threads in turn come to next; the rows' colours, where wanted, are listed in `spans`.
  [[nodiscard]] TileList list_of(const Tiles& tiles, const Task& task, ColourSpan* spans) const {
    const std::int64_t part = task.part;
    const Tile& tile = tiles.tiles[static_cast<std::size_t>(part)];
    const bool wants_colours = coloured_ != nullptr && !tile_goes_by_offset(tile.first_reader, tile.readers);
    for (int i = 0; wants_colours && i < tile.readers; ++i)
      spans[i] = find_span((*coloured_)[plan_.relation_of(first_head() + task.head)], tile.first_reader + i);
    TileList list{tile.first_reader, tile.readers, tiles.segments.data() + tile.segments_begin,
                  static_cast<int>(tile.segments_end - tile.segments_begin), tile.shift};
    list.rows = wants_colours ? spans : nullptr;
    list.in_order = tiles.in_order;
    list.other_first = tile.other_first;
    list.other_last = tile.other_last;
    list.again = tile.again;
    list.writes = tiles_write(task.head);
    list.ring = tiles.ring;
    list.in_place = goes_by_content() && !orders_.empty() && !sorted_ && reads_in_place(tiles, tile);
    const auto next = static_cast<std::size_t>(part + workers_);
    if (next < tiles.tiles.size() && shape_.readers == shape_.reads) {
      list.next_reader = tiles.tiles[next].first_reader;
      list.next_readers = tiles.tiles[next].readers;
    }
    return list;
  }

  [[nodiscard]] bool tile_goes_by_offset(std::int64_t first, int readers) const {
    Head<Real> head;
    head.offset_bias = bias_.table(0);
    head.colours = colours_.of(0);
    head.offset_tokens = bias_.tokens();
    return goes_by_offset(head, first, readers);
  }

  [[nodiscard]] Rule<Real> rule_of(std::int64_t head) const {
    Rule<Real> rule = common_;
    set_extra(rule_, in_.sink, head, rule);
    return rule;
  }

  [[nodiscard]] Head<Real> head_of(std::int64_t b, std::int64_t h) const {
    Head<Real> head;
    head.query = in_.query.at(b, h, 0);
    head.key = in_.key.at(b, h / group(), 0);
    head.value = in_.value.at(b, h / group(), 0);
    head.out = out_.out.at(b, h, 0);
    head.query_stride = in_.query.token_stride;
    head.key_stride = in_.key.token_stride;
    head.value_stride = in_.value.token_stride;
    head.out_stride = out_.out.token_stride;
    if (out_.statistics != nullptr)
      head.statistics = out_.statistics + (b * shape_.heads + h) * shape_.readers * 2;
    head.arc_weights = arc_weights_of(b, h);
    head.width = shape_.width;
    head.reads = shape_.reads;
    head.value_width = shape_.value_width;
    head.far = tiles_of(h).rows.scattered && shape_.reads * shape_.width * static_cast<std::int64_t>(sizeof(Real)) >= far_bytes;
    head.offset_bias = bias_.table(h);
    head.colours = colours_.of(h);
    head.offset_tokens = bias_.tokens();
    head.offset_registers = bias_.registers_at();
    if (has_features()) {
      head.reader_exponents = part_.reader_exponents + h * shape_.readers;
      head.read_exponents = part_.read_exponents + h / group() * shape_.reads;
    }
    const std::int64_t chain = b * shape_.key_heads + h / group();
    if (sorted_) {
      head.key = sorted_keys_ + chain * shape_.reads * shape_.width;
      head.value = sorted_values_ + chain * shape_.reads * shape_.value_width;
      head.key_stride = shape_.width;
      head.value_stride = shape_.value_width;
    } else if (!orders_.empty()) {
      head.order = orders_[static_cast<std::size_t>(chain)].data();
      if (!reader_orders_.empty())
        head.reader_order = reader_orders_[static_cast<std::size_t>(b * shape_.heads + h)].data();
    }
    if (in_.lengths != nullptr)
      set_cuts(plan_, in_.lengths[b], head);
    return head;
  }

  /// Room for those of a head, where forward leaves them for backward; else null.
  [[nodiscard]] Real* arc_weights_of(std::int64_t b, std::int64_t h) const {
    return arcs_before_.size() == 1 ? nullptr : out_.arc_weights + b * arcs_before_.back() + arcs_before_[static_cast<std::size_t>(h)];
  }

  [[nodiscard]] Gradients<Real> gradients_of(const AttentionGradients<Real>& from, std::int64_t b,
                                             std::int64_t h) const {
    Gradients<Real> to = make_gradients(from, b, h, h / group());
    to.add_query = part_.add_query;
    return to;
  }

  /// Columns of rows taken one by one write the gradients of this key head; else they are added to.
  [[nodiscard]] bool writes(std::int64_t key_head) const {
    for (std::int64_t g = 0; g < group(); ++g) {
      if (!tiles_of(key_head * group() + g).tiles.empty())
        return false;
    }
    return static_cast<std::int64_t>(tiles_of(key_head * group()).columns.rows.size()) == shape_.reads;
  }

  /// Tiles do.
  [[nodiscard]] bool tiles_write(std::int64_t head) const {
    return tiles_of(head).apart && group() == 1 && in_.lengths == nullptr;
  }

  void clear(const View<Real>& view, std::int64_t width) {
    if (view.data == nullptr)
      return;
    constexpr std::int64_t rows = 1024;
    const std::int64_t parts = (shape_.reads + rows - 1) / rows;
    run_tasks(shape_.batch * shape_.key_heads * parts, workers_, [&](std::int64_t task, int) {
      const std::int64_t head = task / parts, first = task % parts * rows, last = std::min(first + rows, shape_.reads);
      if (writes(head % shape_.key_heads) || tiles_write(head % shape_.key_heads))
        return;
      for (std::int64_t j = first; j < last; ++j)
        std::fill_n(view.at(head / shape_.key_heads, head % shape_.key_heads, j), width, Real(0));
    });
  }

  /// Rows taken one by one, and tiles that stay in place, write gradients as exact mode wants them.
  [[nodiscard]] bool is_clean() const {
    return stays_in_place_ || std::all_of(tiles_->begin(), tiles_->end(), [](const Tiles& tiles) { return tiles.tiles.empty(); });
  }

  // Exact mode writes no -0 and every NaN alike.
  void clean(const View<Real>& view, std::int64_t heads, std::int64_t tokens, std::int64_t width) {
    if (view.data == nullptr)
      return;
    run_tasks(shape_.batch * heads, workers_, [&](std::int64_t task, int) {
      for (std::int64_t t = 0; t < tokens; ++t) {
        Real* const row = view.at(task / heads, task % heads, t);
        engine_->make_canonical(row, width);
      }
    });
  }

  // Tiles of one key head add in the order of their ranks; so that threads seldom wait for each other, neighbouring
  // tasks belong to different key heads.
  void run_tiles(const AttentionGradients<Real>& gradients) {
    const std::int64_t chains = shape_.batch * shape_.key_heads;
    const std::int64_t blocks = (shape_.reads + block_columns - 1) / block_columns;
    std::vector<std::vector<Task>> by_chain(static_cast<std::size_t>(chains));
    std::vector<std::uint32_t> bases(group() > 1 ? static_cast<std::size_t>(shape_.heads * blocks) : 0, 0);
    for (std::int64_t chain = 0; chain < chains; ++chain) {
      std::vector<Task>& tasks = by_chain[static_cast<std::size_t>(chain)];
      const std::int64_t b = chain / shape_.key_heads, key_head = chain % shape_.key_heads;
      for (std::int64_t g = 0; g < group(); ++g) {
        const std::int64_t h = key_head * group() + g;
        const Tiles& tiles = tiles_of(h);
        for (std::int64_t t = 0; t < static_cast<std::int64_t>(tiles.tiles.size()); ++t)
          tasks.push_back(tile_task(b, h, t));
        if (g + 1 < group()) {
          for (std::int64_t c = 0; c < blocks; ++c) {
            bases[static_cast<std::size_t>((h + 1) * blocks + c)] =
                bases[static_cast<std::size_t>(h * blocks + c)] + tiles.tiles_per_block[static_cast<std::size_t>(c)];
          }
        }
      }
    }
    // A thread takes a chain whole (its keys and their gradients stay near) and waits for nobody, but for the last chains, which
    // several threads share tile by tile.
    std::vector<Task> tasks;
    std::vector<std::size_t> jobs{0}; // where the stretches of tasks that one thread takes begin
    const std::int64_t shared = workers_ == 1 ? 0 : std::min<std::int64_t>(chains, workers_ + chains % workers_);
    for (std::int64_t chain = 0; chain < chains - shared; ++chain) {
      const std::vector<Task>& list = by_chain[static_cast<std::size_t>(chain)];
      tasks.insert(tasks.end(), list.begin(), list.end());
      jobs.push_back(tasks.size());
    }
    bool more = true;
    for (std::size_t step = 0; more; ++step) {
      more = false;
      for (std::int64_t chain = chains - shared; chain < chains; ++chain) {
        const std::vector<Task>& list = by_chain[static_cast<std::size_t>(chain)];
        if (step >= list.size())
          continue;
        tasks.push_back(list[step]);
        jobs.push_back(tasks.size());
        more = true;
      }
    }
    by_chain.clear();
    if (tasks.empty())
      return;
    std::vector<std::uint32_t> done(static_cast<std::size_t>(chains * blocks), 0);
    const std::size_t first_sink = add_parts(tasks);
    const Workspaces workspaces(workspace_bytes(), workers_);
    // Late reads: space for every thread's own chain, and for those that are shared.
    std::int64_t late_reads = 0, late_tiles = 0;
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      late_reads = std::max(late_reads, tiles_of(h).late_reads);
      late_tiles = std::max(late_tiles, tiles_of(h).late_tiles);
    }
    constexpr std::int64_t most_late_bytes = std::int64_t{6} << 20;
    const std::int64_t late_numbers = 2 * late_reads * tile_readers, late_spaces = (chains > shared ? workers_ : 0) + shared;
    const bool keeps_late = late_reads > 0 && group() == 1 &&
                            late_spaces * late_numbers * static_cast<std::int64_t>(sizeof(Real)) <= most_late_bytes;
    Copies<Real, struct LateReads> late(keeps_late ? late_spaces * late_numbers : 0);
    Real* const late_space = late.take(keeps_late, late_spaces * late_numbers);
    std::vector<std::uint32_t> late_done(keeps_late ? static_cast<std::size_t>(chains * late_tiles) : 0, 0);
    std::vector<Real> own_sums(bias_sums_.empty() ? 0 : static_cast<std::size_t>(workers_ * bias_length()), Real(0));
    const auto run_one = [&](std::size_t t, int worker) {
      const Task& task = tasks[t];
      const Tiles& tiles = tiles_of(task.head);
      const Tile& tile = tiles.tiles[static_cast<std::size_t>(task.part)];
      TurnList turns;
      turns.turns = tiles.turns.data() + tile.turns_begin;
      turns.count = static_cast<int>(tile.turns_end - tile.turns_begin);
      turns.hold = tile.hold;
      turns.done = done.data() + (task.batch * shape_.key_heads + task.head / group()) * blocks;
      if (!bases.empty())
        turns.base = bases.data() + task.head * blocks;
      Gradients<Real> to = gradients_of(gradients, task.batch, task.head);
      Real* const own = own_sums.empty() ? nullptr : own_sums.data() + worker * bias_length();
      if (own != nullptr) {
        to.colour_sums = own;
        to.offset_sums = own + bias_zero();
      }
      ColourSpan spans[tile_readers];
      TileList list = list_of(tiles, task, spans);
      if (keeps_late && tile.late_reads > 0) {
        const std::int64_t chain = task.batch * shape_.key_heads + task.head;
        const std::int64_t space = chain < chains - shared ? worker : late_spaces - chains + chain;
        list.late = late_space + space * late_numbers + 2 * tile.late_begin * tile_readers;
        list.late_reads = tile.late_reads;
        list.late_done = late_done.data() + chain * late_tiles + tile.number;
      }
      sinks_[first_sink + t].value = engine_->backward_tile(rule_of(task.head), head_of(task.batch, task.head), to,
                                                            list, turns, workspaces.of(worker));
      if (own != nullptr)
        merge_sums(task, list, own);
    };
    run_tasks(static_cast<std::int64_t>(jobs.size()) - 1, workers_, [&](std::int64_t job, int worker) {
      for (std::size_t t = jobs[static_cast<std::size_t>(job)]; t < jobs[static_cast<std::size_t>(job) + 1]; ++t)
        run_one(t, worker);
    });
  }

  // What a tile adds to the biases' gradients joins those of its head in the order of the tiles: those before it were
  // started before it, so they come.
  void merge_sums(const Task& task, const TileList& list, Real* own) {
    const std::int64_t number = task.batch * shape_.heads + task.head;
    const std::atomic_ref<std::uint32_t> merged(merged_[static_cast<std::size_t>(number)]);
    while (merged.load(std::memory_order_acquire) != static_cast<std::uint32_t>(task.part))
      std::this_thread::yield();
    double* const to = bias_sums_.data() + number * bias_length();
    const auto merge = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t k = begin; k < end; ++k) {
        to[k] += static_cast<double>(own[k]);
        own[k] = 0;
      }
    };
    if (tile_goes_by_offset(list.first_reader, list.readers)) {
      const auto [begin, end] = find_offsets(list);
      const std::int64_t registers = bias_zero() + bias_.registers_at();
      merge(bias_zero() + begin, bias_zero() + end);
      merge(registers, bias_.has_registers() ? registers + tile_readers : registers);
    } else {
      const auto [begin, end] = find_colours(list);
      merge(begin, end);
    }
    merged.store(static_cast<std::uint32_t>(task.part) + 1, std::memory_order_release);
  }

  void run_sparse(const AttentionGradients<Real>& gradients); // sparse_backward.cpp

  [[nodiscard]] bool common_has_extra() const {
    return rule_.normalised && (rule_.sink != Sink::none || rule_.eps > 0);
  }

  struct SinkPart {
    Task task;
    Real value = 0;
  };
  std::size_t add_parts(const std::vector<Task>& tasks) {
    const std::size_t first = sinks_.size();
    for (const Task& task : tasks)
      sinks_.push_back({task, Real(0)});
    return first;
  }

  void set_biases(Real* out) {
    std::vector<double> sums(static_cast<std::size_t>(bias_length()));
    for (std::int64_t h = 0; h < shape_.heads; ++h) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (std::int64_t b = 0; b < shape_.batch; ++b) {
        const double* const from = bias_sums_.data() + (b * shape_.heads + h) * bias_length();
        for (std::int64_t k = 0; k < bias_length(); ++k)
          sums[static_cast<std::size_t>(k)] += from[k];
      }
      std::vector<double> totals(static_cast<std::size_t>(plan_.colours()), 0.0);
      std::copy_n(sums.begin(), colour_count(), totals.begin());
      if (bias_.length() > 0)
        bias_.add_gradient(plan_, h, sums.data() + colour_count(), totals.data());
      std::transform(totals.begin(), totals.end(), out + h * plan_.colours(),
                     [](double sum) { return static_cast<Real>(sum); });
    }
  }

  // The tasks' order depends on the number of threads; the order of this sum must not.
  void add_sinks(Real* out) {
    std::sort(sinks_.begin(), sinks_.end(), [](const SinkPart& x, const SinkPart& y) {
      const Task &a = x.task, &b = y.task;
      return std::tie(a.head, a.batch, a.is_tile, a.part) < std::tie(b.head, b.batch, b.is_tile, b.part);
    });
    std::vector<double> sums(static_cast<std::size_t>(shape_.heads), 0);
    for (const SinkPart& part : sinks_)
      sums[static_cast<std::size_t>(part.task.head)] -= static_cast<double>(part.value);
    std::copy(sums.begin(), sums.end(), out);
  }

  const Plan& plan_;
  const AttentionRule& rule_;
  const Shape& shape_;
  const AttentionInputs<Real>& in_;
  const AttentionOutputs<Real>& out_;
  const Execution& execution_;
  CallPart<Real> part_;
  Rule<Real> common_;
  ProgramNumbers<Real> program_;
  OffsetBias<Real> bias_;
  ColourBiases<Real> colours_;                          // what bias_ leaves
  const std::vector<ColourRows>* coloured_ = nullptr; // where there are biases by colour
  const CompiledPlan* compiled_ = nullptr;
  const std::vector<Tiles>* tiles_ = nullptr;
  std::vector<std::vector<std::int32_t>> orders_; // exact mode, twins: reads by content, per batch element and key head
  std::vector<std::vector<std::int32_t>> reader_orders_; // backward, in place: of readers, per batch element and head
  bool stays_in_place_ = false;
  std::optional<Copies<Real, struct SortedReads>> sorted_;
  Real *sorted_keys_ = nullptr, *sorted_values_ = nullptr; // in those orders, or null
  const Engine<Real>* engine_ = nullptr;
  std::vector<std::int64_t> arcs_before_{0}; // of every head, where forward leaves weights
  int workers_ = 1;
  std::vector<SinkPart> sinks_;
  // d loss / d exponent by i - j or colour, per batch element and head: sums of normalised rows cancel, so what is left is
  // small beside what is added.
  std::vector<double> bias_sums_;
  std::vector<std::uint32_t> merged_; // tiles of each that have been added
};

} // namespace sightline::mixer::cpu

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "sightline/base/error.hpp"
#include "sightline/base/threshold.hpp"
#include "sightline/sight/lane.hpp"
#include "sightline/sight/reach_engine.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "sightline/sight/waiting_rows.hpp"

namespace sightline::sight {

namespace {

constexpr Vertex block_size = 16;

// Disjunctions over ranges with one step: positions are sorted by residue, so that a range is contiguous; prefixes and
// suffixes of blocks of 16 and a table of doubling block ranges answer each in four operations.
template <unsigned Words>
class RangeTable {
public:
  RangeTable(Vertex vertices, Vertex step, const Budget& budget)
      : step_(step), rows_((vertices + step - 1) / step),
        size_((static_cast<std::size_t>(rows_) * step + block_size - 1) / block_size * block_size) {
    const std::size_t blocks = size_ / block_size;
    const auto levels = static_cast<std::size_t>(std::bit_width(blocks));
    budget.ask((2 * size_ + levels * blocks) * sizeof(Lane<Words>));
    bytes_ = (2 * size_ + levels * blocks) * sizeof(Lane<Words>);
    prefix_.resize(size_);
    suffix_.resize(size_);
    table_.assign(levels, std::vector<Lane<Words>>(blocks));
  }

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  void fill(const std::vector<Lane<Words>>& state) {
    std::fill(prefix_.begin(), prefix_.end(), Lane<Words>{});
    if (step_ == 1) {
      std::copy(state.begin(), state.end(), prefix_.begin());
    } else {
      for (Vertex residue = 0; residue < step_; ++residue) {
        std::size_t at = static_cast<std::size_t>(residue) * rows_;
        for (std::size_t j = residue; j < state.size(); j += step_) prefix_[at++] = state[j];
      }
    }
    for (std::size_t b = 0; b * block_size < size_; ++b) {
      const std::size_t begin = b * block_size, end = begin + block_size;
      Lane<Words> sum{};
      for (std::size_t k = end; k-- > begin;) suffix_[k] = sum |= prefix_[k];
      table_[0][b] = sum;
      for (std::size_t k = begin + 1; k < end; ++k) prefix_[k] |= prefix_[k - 1];
    }
    for (std::size_t level = 1; level < table_.size(); ++level) {
      const std::size_t half = std::size_t{1} << (level - 1), count = table_[0].size();
      for (std::size_t b = 0; b + 2 * half <= count; ++b) {
        table_[level][b] = table_[level - 1][b];
        table_[level][b] |= table_[level - 1][b + half];
      }
    }
  }

  // Ranges that lie inside one block are left to the caller's loop.
  [[nodiscard]] bool covers(const ReadRange& range) const { return position(range.first) / block_size != position(range.last) / block_size; }

  void add(const ReadRange& range, Lane<Words>& out) const {
    const std::size_t left = position(range.first), right = position(range.last);
    out |= suffix_[left];
    out |= prefix_[right];
    const std::size_t from = left / block_size + 1, to = right / block_size;
    if (from < to) {
      const auto level = static_cast<std::size_t>(std::bit_width(to - from)) - 1;
      out |= table_[level][from];
      out |= table_[level][to - (std::size_t{1} << level)];
    }
  }

private:
  [[nodiscard]] std::size_t position(Vertex j) const {
    return step_ == 1 ? j : static_cast<std::size_t>(j % step_) * rows_ + j / step_;
  }

  Vertex step_;
  Vertex rows_;
  std::size_t size_;
  std::uint64_t bytes_ = 0;
  std::vector<Lane<Words>> prefix_, suffix_;
  std::vector<std::vector<Lane<Words>>> table_;
};

template <unsigned Words>
class BitReach {
public:
  BitReach(const ReachQuestion& question, const Budget& budget)
      : question_(question), layout_(*question.layout), budget_(budget), walk_(layout_, question.skip),
        booking_(budget, 3 * sizeof(Lane<Words>) * static_cast<std::uint64_t>(layout_.vertices())) {
    const std::vector<bool> used = layout_.used_layers();
    const ReadLayers layers = find_read_layers(layout_, budget);
    for (std::size_t l = 0; l < used.size(); ++l) {
      if (used[l]) used_.push_back(static_cast<std::uint32_t>(l));
      layers_.push_back({layers[l], std::nullopt});
      tables_.emplace_back();
      std::map<Vertex, std::uint64_t> work;
      for (const ReadRange& range : layers[l]->ranges) {
        const Vertex size = (range.last - range.first) / range.step + 1;
        if (size > block_size) work[range.step] += size;
      }
      for (const auto& [step, amount] : work) {
        // A table costs about four passes over the vertices.
        if (amount > 4 * static_cast<std::uint64_t>(layout_.vertices())) tables_.back().push_back(step);
      }
    }
  }

  /// Was something missing, or did it change, after `most_layers`, and the search given up?
  [[nodiscard]] bool gave_up() const { return gave_up_; }

  ReachAnswer answer(const std::vector<Vertex>* columns, std::optional<std::uint64_t> most_layers = std::nullopt) {
    most_layers_ = most_layers;
    return follow(columns, make_answer());
  }

  /// The same of columns all of which are followed: those that come late.
  ReachAnswer answer_late(const std::vector<Vertex>& columns) {
    list_readers();
    return follow(&columns, make_answer());
  }

  /// answer(nullptr), its pair aside, which also says by token after how many layers all see it, or after some more. Of use where the answer has layers.
  /// One layer over and over: who reads j sees what j reads one layer later, so what comes late is near what comes late. Columns from all over are followed first.
  ReachAnswer answer_and_note(std::vector<std::uint64_t>& late) {
    late.assign(layout_.vertices(), 0);
    late_ = &late;
    ReachAnswer answer = make_answer();
    const std::vector<Vertex> all = list_columns();
    constexpr Threshold<std::size_t> fewest_strips{16, 2, "late columns"};
    if (all.size() < fewest_strips * strip_width || pending_.empty() || !repeats_one_layer(layout_)) return follow(&all, std::move(answer));
    late.assign(layout_.vertices(), unbounded);
    std::vector<Vertex> columns = all;
    for (std::size_t before = 2 * columns.size() + 1; columns.size() > 4 * strip_width && 2 * columns.size() < before;) {
      before = columns.size();
      strip_.clear();
      for (std::size_t k = 0; k < strip_width; ++k) strip_.push_back(columns[k * (columns.size() - 1) / (strip_width - 1)]);
      std::sort(strip_.begin(), strip_.end());
      exact_ = true;
      run_strip(answer);
      exact_ = false;
      if (!answer.reach.layers) return answer;
      bound_late(late);
      std::erase_if(columns, [&](Vertex j) { return late[j] <= *answer.reach.layers; });
    }
    return follow(&columns, std::move(answer));
  }

  /// The same as answer(nullptr), its pair included, from one column of each orbit (kinds all and seen): a column is seen as those of its orbit are.
  /// Registers are looked at one by one: permutations of tokens may move them along, and sums over all of them stay.
  ReachAnswer answer_by_orbits(std::vector<Vertex> orbit) {
    const std::vector<Vertex> all = list_columns();
    for (auto j = static_cast<Vertex>(orbit.size()); j < layout_.vertices(); ++j) orbit.push_back(j);
    std::vector<Vertex> ones, weight(layout_.vertices(), 0);
    for (const Vertex j : all) {
      if (orbit[j] == j) ones.push_back(j);
      weight[orbit[j]] += weight_ == nullptr ? 1 : (*weight_)[j];
    }
    std::sort(ones.begin(), ones.end());
    weight_ = &weight;
    collects_ = question_.find_layers;
    ReachAnswer answer = make_answer();
    const auto is_later = [](const std::optional<std::uint64_t>& a, const std::optional<std::uint64_t>& b) { return b && (!a || *a > *b); };
    std::vector<bool> is_last(layout_.vertices(), false);  // one of an orbit that no other outlasts
    for (std::size_t begin = 0; begin < ones.size(); begin += strip_width) {
      take_strip(ones, begin);
      Connected so_far = std::exchange(answer.reach, Connected{0, std::nullopt});
      run_strip(answer);
      if (is_later(answer.reach.layers, so_far.layers)) is_last.assign(is_last.size(), false);
      if (is_later(so_far.layers, answer.reach.layers)) {
        answer.reach = so_far;
      } else {
        for (std::size_t k = 0; collects_ && k < strip_.size(); ++k) is_last[strip_[k]] = latest_.get(k);
      }
    }
    if (question_.count_unseen) spread_counts(orbit, answer.unseen);
    if (!question_.find_layers || answer.reach.layers == 0) return answer;
    // The first strip of all with such a column is where answer(nullptr) finds its pair.
    collects_ = false;
    const auto found = std::find_if(all.begin(), all.end(), [&](Vertex j) { return is_last[orbit[j]]; });
    take_strip(all, static_cast<std::size_t>(found - all.begin()) / strip_width * strip_width);
    answer.reach = {0, std::nullopt};
    find_layers_of_strip(answer.reach);
    return answer;
  }

private:
  static constexpr std::size_t strip_width = 64 * Words;

  static constexpr std::uint64_t unbounded = ~std::uint64_t{0};

  /// What j reads is seen by all one layer after j is.
  void bound_late(std::vector<std::uint64_t>& late) const {
    std::map<std::uint64_t, std::vector<Vertex>> waiting;
    for (Vertex j = 0; j < late.size(); ++j) {
      if (late[j] != unbounded) waiting[late[j]].push_back(j);
    }
    std::vector<layout::Run> row;
    for (; !waiting.empty(); waiting.erase(waiting.begin())) {
      const auto& [layers, vertices] = *waiting.begin();
      std::vector<Vertex>& next = waiting[layers + 1];
      for (const Vertex j : vertices) {
        budget_.poll();
        if (late[j] != layers) continue;
        for (const std::uint32_t r : layout_.layers[used_.front()].relations) {
          layout_.relations[r].pattern().row(j, row);
          for (const layout::Run& run : row) {
            for (std::uint64_t i = run.first; i <= run.last; i += run.step) {
              if (late[i] <= layers + 1) continue;
              late[i] = layers + 1;
              next.push_back(static_cast<Vertex>(i));
            }
          }
        }
      }
      if (next.empty()) waiting.erase(layers + 1);
    }
  }

  ReachAnswer follow(const std::vector<Vertex>* columns, ReachAnswer answer) {
    const std::vector<Vertex> all = columns == nullptr ? list_columns() : std::vector<Vertex>();
    if (columns == nullptr) columns = &all;
    for (std::size_t begin = 0; begin < columns->size(); begin += strip_width) {
      const std::size_t end = take_strip(*columns, begin);
      run_strip(answer);
      budget_.report("reach", static_cast<double>(end) / static_cast<double>(columns->size()));
      if (question_.find_layers && !question_.count_unseen && !answer.reach.layers) break;
    }
    return answer;
  }

  [[nodiscard]] ReachAnswer make_answer() const {
    ReachAnswer answer;
    if (question_.count_unseen) answer.unseen.assign(layout_.tokens, 0);
    if (question_.find_layers) answer.reach.layers = 0;
    return answer;
  }

  /// All columns, in the order of their strips.
  std::vector<Vertex> list_columns() {
    std::vector<Vertex> all(question_.registers_too ? layout_.vertices() : layout_.tokens);
    std::iota(all.begin(), all.end(), Vertex{0});
    list_readers();
    if (!pending_.empty() && question_.wanted.kind != ClassKind::causal) gather_neighbours(all);
    return all;
  }

  /// Where the next strip begins.
  std::size_t take_strip(const std::vector<Vertex>& columns, std::size_t begin) {
    const std::size_t end = std::min(columns.size(), begin + strip_width);
    strip_.assign(columns.begin() + static_cast<std::ptrdiff_t>(begin), columns.begin() + static_cast<std::ptrdiff_t>(end));
    latest_ = {};
    return end;
  }

  /// From the sums over one column of each orbit, weighed by the orbit: pairs between two orbits are as many counted from either side.
  void spread_counts(const std::vector<Vertex>& orbit, std::vector<Vertex>& unseen) const {
    std::vector<std::uint64_t> total(layout_.vertices(), 0), size(layout_.vertices(), 0);
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      total[orbit[i]] += unseen[i];
      ++size[orbit[i]];
    }
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      if (total[orbit[i]] % size[orbit[i]] != 0) throw InternalError("reach: the orbits are not those of symmetries");
      unseen[i] = static_cast<Vertex>(total[orbit[i]] / size[orbit[i]]);
    }
  }

  /// For all layers or none; a few columns alone are not worth the lists.
  void list_readers() {
    if (layout_.vertices() <= least_pending) return;
    for (const std::uint32_t l : used_) {
      if (auto made = RowClasses::make(*layers_[l].layer, budget_)) layers_[l].classes.emplace(std::move(*made));
    }
    for (const std::uint32_t l : used_) {
      auto made = WaitingRows::make(layers_[l], layout_.vertices(), budget_);
      if (!made) {
        pending_.clear();
        return;
      }
      pending_.emplace(l, std::move(*made));
    }
  }

  /// Columns of a strip that lie near each other come to a vertex within few layers of each other, so it changes in few: balls of one strip
  /// each, ascending within.
  void gather_neighbours(std::vector<Vertex>& columns) const {
    const auto count = static_cast<Vertex>(columns.size());
    std::vector<bool> met(layout_.vertices(), false);
    std::vector<Vertex> queue, ordered;
    std::map<std::uint32_t, std::vector<std::uint32_t>> told;  // by layer and row: the last ball, from 1 on, that met all its readers
    for (const auto& [l, pending] : pending_) told[l].assign(layers_[l].size(), 0);
    std::uint32_t ball = 1;
    std::size_t at = 0;
    for (Vertex lowest = 0; ordered.size() < columns.size();) {
      if (at == queue.size()) {
        while (met[lowest]) ++lowest;
        met[lowest] = true;
        queue.push_back(lowest);
      }
      const Vertex j = queue[at++];
      if (j < count) ordered.push_back(j);
      if (ordered.size() % (64 * Words) == 0 && j < count) {
        // The next ball begins where this one ended.
        for (std::size_t k = at + 1; k < queue.size(); ++k) {
          met[queue[k]] = false;
          lowest = std::min(lowest, queue[k]);
        }
        if (at < queue.size()) queue.resize(at + 1);
        ++ball;
        continue;
      }
      budget_.poll();
      for (const auto& [l, pending] : pending_) {
        for (const std::uint32_t r : pending.rows_with(j)) {
          if (std::exchange(told[l][r], ball) == ball) continue;
          layers_[l].for_each_reader(r, [&](Vertex i) {
            if (!met[i]) queue.push_back(i);
            met[i] = true;
          });
        }
      }
    }
    for (std::size_t k = 0; k < ordered.size(); k += 64 * Words) {
      std::sort(ordered.begin() + static_cast<std::ptrdiff_t>(k), ordered.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(ordered.size(), k + 64 * Words)));
    }
    columns = std::move(ordered);
  }

  void run_strip(ReachAnswer& answer) {
    if (question_.wanted.kind == ClassKind::seen) {
      run_seen(answer);
      return;
    }
    if (question_.find_layers && answer.reach.layers) find_layers(answer.reach);
    if (question_.count_unseen) run_count(answer.unseen);
  }

  void find_layers_of_strip(Connected& reach) {
    if (question_.wanted.kind != ClassKind::seen) return find_layers(reach);
    ReachAnswer answer;
    answer.reach = reach;
    answer.unseen.resize(question_.count_unseen ? layout_.tokens : 0);
    run_seen(answer);
    reach = answer.reach;
  }

  void find_layers(Connected& reach) {
    start();
    std::uint64_t q = 0;
    std::optional<UnreachablePair> missing = find_missing(0), before;
    bool lists = false;
    Lane<Words> open = full_;
    while (missing) {
      before = missing;
      lists = collects_ || exact_ || (late_ != nullptr && q + 1 >= *reach.layers);
      if (lists) latest_ = list_missing(missing->reader);
      for (std::size_t k = 0; exact_ && k < strip_.size(); ++k) {
        if (open.get(k) && !latest_.get(k)) (*late_)[strip_[k]] = q;
      }
      if (exact_) open = latest_;
      if (!next_change(q, most_layers_)) {
        gave_up_ = gave_up_ || (most_layers_ && q >= *most_layers_);
        reach = {std::nullopt, missing};
        return;
      }
      missing = find_missing(missing->reader);
    }
    for (std::size_t k = 0; late_ != nullptr && k < strip_.size(); ++k) {
      if (!lists || latest_.get(k)) (*late_)[strip_[k]] = q;
      else if (!exact_) (*late_)[strip_[k]] = q - 1;  // before the last layer that showed something
    }
    if (q > *reach.layers) reach = {q, before};
  }

  void run_count(std::vector<Vertex>& unseen) {
    start();
    std::uint64_t q = 0;
    std::optional<UnreachablePair> missing = find_missing(0);
    while (missing && next_change(q, question_.depth)) missing = find_missing(missing->reader);
    if (missing) count_unseen(unseen, nullptr);
  }

  void run_seen(ReachAnswer& answer) {
    start();
    std::vector<Lane<Words>> given;
    bool have_given = !question_.count_unseen || !question_.depth;
    std::uint64_t q = 0;
    for (;;) {
      old_ = state_;
      if (!next_change(q, most_layers_)) {
        gave_up_ = gave_up_ || (most_layers_ && q >= *most_layers_);
        break;
      }
      if (!have_given && q > *question_.depth) {
        given = old_;
        have_given = true;
      }
      if (question_.find_layers && q > *answer.reach.layers) {
        if (const auto pair = find_change()) {
          answer.reach = {q, pair};
          if (collects_) latest_ = list_changed();
        }
      }
    }
    if (question_.count_unseen && question_.depth && !given.empty()) {
      std::swap(given, state_);
      count_unseen(answer.unseen, &given);
    }
  }

  void start() {
    state_.assign(layout_.vertices(), Lane<Words>{});
    for (std::size_t k = 0; k < strip_.size(); ++k) state_[strip_[k]].set(k);
    full_ = {};
    for (std::size_t k = 0; k < strip_.size(); ++k) full_.set(k);
    walk_.start();
    for (auto& [l, pending] : pending_) pending.clear();
    for (const Vertex column : strip_) note(column);
  }

  void note(Vertex j) {
    for (auto& [l, pending] : pending_) pending.note(j);
  }

  bool next_change(std::uint64_t& q, std::optional<std::uint64_t> limit) {
    return walk_.next_change(q, limit, [this](std::uint32_t l) { return apply(l); });
  }

  bool apply(std::uint32_t l) { return pending_.empty() ? apply_to_all(l) : apply_to_waiting(l); }

  /// What the vertices of a row that is listed see, or as much of it as sees all columns; asks for the lanes of a row that comes soon.
  Lane<Words> gather(std::span<const Vertex> row, std::span<const Vertex> soon) const {
    for (const Vertex j : soon) __builtin_prefetch(&state_[j]);
    Lane<Words> sum{};
    unsigned read = 0;
    for (const Vertex j : row) {
      sum |= state_[j];
      if (++read % 4 == 0 && sum == full_) break;
    }
    return sum;
  }
  static constexpr std::size_t ahead = 2;

  bool apply_to_waiting(std::uint32_t l) {
    const DistinctRows& rows = layers_[l];
    WaitingRows& pending = pending_.at(l);
    pending.take(waiting_);
    next_.clear();
    moved_.clear();
    for (std::size_t k = 0; k < waiting_.size(); ++k) {
      budget_.poll();
      const std::uint32_t r = waiting_[k];
      const ReadGroup& group = rows.first_group(r);
      if (!rows.classes && group.end == group.begin + 1 && state_[group.begin] == full_) continue;
      Lane<Words> sum{};
      if (pending.lists_rows()) {
        sum = gather(pending.read_by(r), k + ahead < waiting_.size() ? pending.read_by(waiting_[k + ahead]) : std::span<const Vertex>());
      } else {
        unsigned ranges = 0;
        for (const ReadRange& range : rows.layer->row(group)) {
          for (std::uint64_t j = range.first; j <= range.last; j += range.step) sum |= state_[j];
          if (++ranges % 4 == 0 && sum == full_) break;
        }
      }
      rows.for_each_reader(r, [&](Vertex i) {
        Lane<Words> more = state_[i];
        more |= sum;
        if (more == state_[i]) return;
        moved_.push_back(i);
        next_.push_back(more);
      });
    }
    // Where most vertices move, most readers have something to read: they are told at once.
    const bool many = 4 * moved_.size() > layout_.vertices();
    for (std::size_t k = 0; k < moved_.size(); ++k) {
      state_[moved_[k]] = next_[k];
      if (!many) note(moved_[k]);
    }
    if (many) {
      for (auto& [other, pending] : pending_) pending.note_all();
    }
    return !moved_.empty();
  }

  bool apply_to_all(std::uint32_t l) {
    const DistinctRows& rows = layers_[l];
    std::map<Vertex, RangeTable<Words>> tables;
    std::uint64_t bytes = 0;
    for (const Vertex step : tables_[l]) {
      auto& table = tables.try_emplace(step, layout_.vertices(), step, budget_).first->second;
      bytes += table.bytes();
      table.fill(state_);
    }
    const RangeTable<Words>* plain = nullptr;
    if (const auto at = tables.find(1); at != tables.end()) plain = &at->second;
    next_.resize(state_.size());
    bool changed = false;
    std::uint32_t known = 0;
    Lane<Words> shared{};
    const auto add = [&](std::span<const ReadRange> ranges, Lane<Words>& sum) {
      for (const ReadRange& range : ranges) {
        const RangeTable<Words>* table = plain;
        if (range.step != 1) {
          const auto at = tables.find(range.step);
          table = at == tables.end() ? nullptr : &at->second;
        }
        if (table != nullptr && table->covers(range)) {
          table->add(range, sum);
        } else {
          for (std::uint64_t j = range.first; j <= range.last; j += range.step) sum |= state_[j];
        }
      }
    };
    for (std::size_t r = 0; r < rows.size(); ++r) {
      budget_.poll();
      const ReadGroup& group = rows.first_group(r);
      if (group.shared != known) {
        shared = {};
        add(rows.layer->shared_ranges(known = group.shared), shared);
      }
      Lane<Words> sum = shared;
      add(rows.layer->own_ranges(group), sum);
      rows.for_each_reader(r, [&](Vertex i) {
        next_[i] = state_[i];
        next_[i] |= sum;
        changed = changed || !(next_[i] == state_[i]);
      });
    }
    budget_.give_back(bytes);
    state_.swap(next_);
    return changed;
  }

  Lane<Words> wanted_lane(Vertex i) const {
    Lane<Words> lane{};
    if (question_.wanted.kind == ClassKind::causal && i < strip_.front()) return lane;
    for (std::size_t k = 0; k < strip_.size(); ++k) {
      if (is_wanted(question_, i, strip_[k])) lane.set(k);
    }
    return lane;
  }

  // The first reader >= from that misses a wanted column. What has been seen stays seen, so `from` only moves up.
  std::optional<UnreachablePair> find_missing(Vertex from) {
    const bool same_for_all = question_.wanted.kind != ClassKind::causal;
    const Lane<Words> common = wanted_lane(layout_.tokens - 1);
    for (Vertex i = from; i < layout_.tokens; ++i) {
      const Lane<Words> lane = same_for_all || i >= strip_.back() ? common : wanted_lane(i);
      for (unsigned w = 0; w < Words; ++w) {
        if (const std::uint64_t rest = lane.word[w] & ~state_[i].word[w]) {
          return UnreachablePair{i, strip_[64 * w + static_cast<unsigned>(std::countr_zero(rest))]};
        }
      }
    }
    return std::nullopt;
  }

  // A wanted column that some token came to see in the last layer.
  std::optional<UnreachablePair> find_change() const {
    const Lane<Words> lane = wanted_lane(0);
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      for (unsigned w = 0; w < Words; ++w) {
        if (const std::uint64_t fresh = lane.word[w] & state_[i].word[w] & ~old_[i].word[w]) {
          return UnreachablePair{i, strip_[64 * w + static_cast<unsigned>(std::countr_zero(fresh))]};
        }
      }
    }
    return std::nullopt;
  }

  /// The columns of the strip that some token >= from still misses (kind all).
  Lane<Words> list_missing(Vertex from) const {
    const Lane<Words> lane = wanted_lane(layout_.tokens - 1);
    Lane<Words> missing{};
    for (Vertex i = from; i < layout_.tokens && !(missing == lane); ++i) {
      for (unsigned w = 0; w < Words; ++w) missing.word[w] |= lane.word[w] & ~state_[i].word[w];
    }
    return missing;
  }

  /// The wanted columns that some token came to see in the last layer.
  Lane<Words> list_changed() const {
    const Lane<Words> lane = wanted_lane(0);
    Lane<Words> changed{};
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      for (unsigned w = 0; w < Words; ++w) changed.word[w] |= lane.word[w] & state_[i].word[w] & ~old_[i].word[w];
    }
    return changed;
  }

  void count_unseen(std::vector<Vertex>& unseen, const std::vector<Lane<Words>>* ever) const {
    const bool same_for_all = question_.wanted.kind != ClassKind::causal;
    const Lane<Words> common = wanted_lane(layout_.tokens - 1);
    for (Vertex i = 0; i < layout_.tokens; ++i) {
      const Lane<Words> lane = same_for_all || i >= strip_.back() ? common : wanted_lane(i);
      for (unsigned w = 0; w < Words; ++w) {
        const std::uint64_t within = ever == nullptr ? ~std::uint64_t{0} : (*ever)[i].word[w];
        const std::uint64_t out = lane.word[w] & within & ~state_[i].word[w];
        if (out == 0) continue;
        if (weight_ == nullptr) {
          unseen[i] += static_cast<Vertex>(std::popcount(out));
          continue;
        }
        for (std::uint64_t rest = out; rest != 0; rest &= rest - 1) unseen[i] += (*weight_)[strip_[64 * w + static_cast<unsigned>(std::countr_zero(rest))]];
      }
    }
  }

  const ReachQuestion& question_;
  const Layout& layout_;
  const Budget& budget_;
  const std::vector<Vertex>* weight_ = question_.weight;
  bool collects_ = false;   ///< fill latest_
  std::vector<std::uint64_t>* late_ = nullptr;
  bool exact_ = false;      ///< late_ is to be exact
  Lane<Words> latest_{};    ///< columns of the strip that are seen by all, or stop changing, in its last layer; or are never seen by all
  LayerWalk walk_;
  Booking booking_;
  std::vector<DistinctRows> layers_;
  std::vector<std::vector<Vertex>> tables_;  // steps worth a table, by layer
  std::vector<std::uint32_t> used_;
  std::vector<Vertex> strip_;
  Lane<Words> full_{};  ///< all columns of the strip
  std::vector<Lane<Words>> state_, next_, old_;
  static constexpr Threshold<Vertex> least_pending{1024, 2, "pending vertices"};
  std::map<std::uint32_t, WaitingRows> pending_;  // by layer; empty: layers are gone through whole
  std::vector<std::uint32_t> waiting_;
  std::vector<Vertex> moved_;
  std::optional<std::uint64_t> most_layers_;
  bool gave_up_ = false;
};

}  // namespace

std::optional<ReachAnswer> find_layers_of_columns(const ReachQuestion& question, const std::vector<Vertex>* columns, std::uint64_t most_layers, const Budget& budget) {
  const auto ask = [&](auto reach) {
    ReachAnswer answer = reach.answer(columns, most_layers);
    return reach.gave_up() ? std::nullopt : std::optional(std::move(answer));
  };
  return columns != nullptr && columns->size() <= 64 ? ask(BitReach<1>(question, budget)) : ask(BitReach<8>(question, budget));
}

ReachAnswer answer_by_orbits(const ReachQuestion& question, const std::vector<Vertex>& orbit, const Budget& budget) {
  return BitReach<8>(question, budget).answer_by_orbits(orbit);
}

namespace {

/// Of the columns that are seen by all within the depth nothing is unseen. Nothing where not known which these are, or where too few are.
std::optional<ReachAnswer> count_late(const ReachQuestion& question, const ReachMemory::Entry& memory, std::size_t most_columns, const Budget& budget) {
  if (!memory.late || memory.late->skip != memory.within_period(question.skip) || !question.count_unseen || question.find_layers || !question.depth) return std::nullopt;
  std::vector<Vertex> columns;
  for (Vertex j = 0; j < question.layout->vertices(); ++j) {
    if (j < question.layout->tokens ? memory.late->layers[j] > *question.depth : question.registers_too) columns.push_back(j);
  }
  if (columns.size() > most_columns) return std::nullopt;
  return BitReach<8>(question, budget).answer_late(columns);
}

}  // namespace

ReachAnswer answer_by_bits(const ReachQuestion& question, const Budget& budget, const std::vector<Vertex>* columns) {
  if ((columns != nullptr ? columns->size() : question.layout->vertices()) <= 64) return BitReach<1>(question, budget).answer(columns);
  const bool plain = columns == nullptr && question.wanted.kind == ClassKind::all && !question.wanted.ordinary_only && question.weight == nullptr;
  ReachMemory::Entry* memory = plain ? ReachMemory::find(*question.layout) : nullptr;
  if (memory == nullptr) return BitReach<8>(question, budget).answer(columns);
  if (auto answer = count_late(question, *memory, question.layout->vertices() / 2, budget)) return *std::move(answer);
  if (!question.find_layers || question.count_unseen) return BitReach<8>(question, budget).answer(nullptr);
  auto late = std::make_shared<ReachMemory::Entry::Late>();
  ReachAnswer answer = BitReach<8>(question, budget).answer_and_note(late->layers);
  memory = ReachMemory::find(*question.layout);
  late->skip = memory->within_period(question.skip);
  if (answer.reach.layers) memory->late = std::move(late);
  return answer;
}

std::optional<ReachAnswer> answer_by_late(const ReachQuestion& question, const Budget& budget) {
  constexpr std::size_t few_columns = 8192;
  const ReachMemory::Entry* const memory = ReachMemory::find(*question.layout);
  return memory == nullptr ? std::nullopt : count_late(question, *memory, few_columns, budget);
}

}  // namespace sightline::sight

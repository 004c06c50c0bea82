#include "sightline/mixer/cpu/feature_call.hpp"

#include <memory>

#include "sightline/mixer/cpu/call.hpp"
#include "sightline/mixer/cpu/feature_blocks.hpp"
#include "sightline/mixer/cpu/weak_rows.hpp"
#include "sightline/mixer/kernel_function.hpp"
#include "sightline/mixer/reference/reference.hpp"

namespace sightline::mixer::cpu {

bool is_feature_kernel(const AttentionRule& rule) {
  return !rule.top_k && (rule.kernel.name == "performer" || rule.kernel.name == "exponential-sum");
}

namespace {

constexpr double feature_log2_e = 1.44269504088896340736;
constexpr std::int64_t widest_lanes = 16;

std::int64_t round_to(std::int64_t n, std::int64_t multiple) { return (n + multiple - 1) / multiple * multiple; }

/// The features of a kernel as numbers, kept for the kernels that a thread used last: rationals are slow to convert. Which
/// kernel they belong to is told by the rationals' parts, for a copy of a Performer's features takes megabytes.
class FeatureNumbers {
public:
  explicit FeatureNumbers(const attention_kernel::Kernel& kernel)
      : half(kernel.name == "performer" ? 0.5 : 0), name_(kernel.name) {
    for_rows(kernel, [&](const std::vector<mpq_class>& from) {
      std::vector<double>& row = rows.emplace_back();
      for (const mpq_class& entry : from) {
        row.push_back(nearest_double(entry));
        for (const mpz_class& part : {entry.get_num(), entry.get_den()}) {
          is_small_ = is_small_ && part.fits_slong_p();
          parts_.push_back(part.get_si());
        }
      }
    });
    if (is_small_)
      return;
    kernel_ = kernel;
    parts_ = {};
  }

  [[nodiscard]] bool belongs_to(const attention_kernel::Kernel& kernel) const {
    if (!is_small_)
      return kernel_ == kernel;
    std::size_t row = 0, part = 0;
    bool same = kernel.name == name_;
    for_rows(kernel, [&](const std::vector<mpq_class>& of) {
      same = same && row < rows.size() && of.size() == rows[row].size();
      ++row;
      for (std::size_t k = 0; same && k < of.size(); ++k, part += 2)
        same = cmp(of[k].get_num(), parts_[part]) == 0 && cmp(of[k].get_den(), parts_[part + 1]) == 0;
    });
    return same && row == rows.size();
  }

  std::vector<std::vector<double>> rows;
  double half = 0;

private:
  template <class Row> static void for_rows(const attention_kernel::Kernel& kernel, Row row) {
    if (kernel.name != "performer") {
      row(kernel.weight);
      return;
    }
    for (const auto& feature : kernel.features)
      row(feature);
  }

  std::string name_;
  std::vector<long> parts_; // numerators and denominators, where all are small
  bool is_small_ = true;
  attention_kernel::Kernel kernel_; // else
};

std::shared_ptr<const FeatureNumbers> find_numbers(const attention_kernel::Kernel& kernel) {
  constexpr std::size_t most_entries = 8;
  thread_local std::vector<std::shared_ptr<const FeatureNumbers>> recent;
  for (const auto& entry : recent) {
    if (entry->belongs_to(kernel))
      return entry;
  }
  if (recent.size() == most_entries)
    recent.erase(recent.begin());
  return recent.emplace_back(std::make_shared<FeatureNumbers>(kernel));
}

enum class Way { full, causal, blocks, tiles };

template <class Real> class FeatureAttention {
public:
  FeatureAttention(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                   const AttentionOutputs<Real>& out, const Execution& execution)
      : plan_(plan), rule_(rule), shape_(shape), in_(in), out_(out), execution_(execution) {}

  /// False: the reference has to answer (also for what is wrong with the kernel).
  [[nodiscard]] bool prepare() {
    const auto numbers = find_numbers(rule_.kernel);
    if (numbers->rows.empty() || !std::isfinite(rule_.scale))
      return false;
    for (const auto& row : numbers->rows) {
      if (static_cast<std::int64_t>(row.size()) != shape_.width)
        return false;
    }
    engine_ = &find_engine<Real>(execution_.instructions);
    workers_ = std::max(execution_.threads, 1);
    map_.count = static_cast<std::int64_t>(numbers->rows.size());
    map_.width = shape_.width;
    map_.padded = round_to(map_.count, std::max<std::int64_t>(engine_->panel, widest_lanes));
    map_.row_length = round_to(shape_.width, widest_lanes);
    map_.half = static_cast<Real>(numbers->half);
    std::vector<Real> scaled;
    rows_.assign(static_cast<std::size_t>(map_.count * map_.row_length), Real(0));
    for (std::int64_t f = 0; f < map_.count; ++f) {
      const std::vector<double>& row = numbers->rows[static_cast<std::size_t>(f)];
      for (const double entry : row)
        scaled.push_back(static_cast<Real>(entry * feature_log2_e));
      std::copy(row.begin(), row.end(), rows_.begin() + f * map_.row_length);
    }
    packed_.assign(static_cast<std::size_t>(map_.padded * map_.width), Real(0));
    engine_->pack_weight(scaled.data(), map_.width, map_.count, packed_.data());
    map_.packed = packed_.data();
    map_.rows = rows_.data();
    way_ = find_way();
    map_.stride = map_.padded;
    if (is_linear() && map_.padded % 64 == 0)
      map_.stride += widest_lanes; // rows a power of two apart fall into few sets of the caches
    return true;
  }

  /// False: nothing was computed.
  [[nodiscard]] bool forward() {
    std::vector<Real> own;
    AttentionOutputs<Real> out = out_;
    out.attention = nullptr;
    if (out.statistics == nullptr) {
      own.resize(static_cast<std::size_t>(shape_.batch * shape_.heads * shape_.readers * 2));
      out.statistics = own.data();
    }
    if (is_linear())
      run_linear(out, nullptr);
    else if (!run_tiles(out, nullptr))
      return false;
    if (rule_.normalised)
      WeakRows<Real>(plan_, rule_, shape_, in_, out, execution_).redo();
    return true;
  }

  [[nodiscard]] bool backward(const AttentionGradients<Real>& gradients) {
    // Exact sums over readers have an order, which rows done again would break.
    WeakRows<Real> weak(plan_, rule_, shape_, in_, out_, execution_);
    const bool redone = weak.any();
    if (redone && execution_.exact && plan_.order().kind != SummationOrder::Kind::natural) {
      reference::attend_backward(plan_, rule_, shape_, in_, out_, gradients, execution_);
      return true;
    }
    if (is_linear())
      run_linear(out_, &gradients);
    else if (!run_tiles(out_, &gradients))
      return false;
    if (rule_.normalised)
      weak.backward(gradients);
    if (redone && execution_.exact) {
      clean(gradients.query, shape_.heads, shape_.readers, shape_.width);
      clean(gradients.key, shape_.key_heads, shape_.reads, shape_.width);
      clean(gradients.value, shape_.key_heads, shape_.reads, shape_.value_width);
    }
    return true;
  }

private:
  [[nodiscard]] std::int64_t group() const { return shape_.heads / shape_.key_heads; }

  // Exact mode writes no -0 and every NaN alike.
  void clean(const View<Real>& view, std::int64_t heads, std::int64_t tokens, std::int64_t width) const {
    for (std::int64_t k = 0; view.data != nullptr && k < shape_.batch * heads * tokens; ++k)
      engine_->make_canonical(view.at(k / tokens / heads, k / tokens % heads, k % tokens), width);
  }

  // All heads alike, and enough tokens that the sums over features are less work than the pairs; or tiles leave whole
  // blocks of reads to their sums.
  [[nodiscard]] Way find_way() const {
    if (execution_.exact || in_.bias != nullptr || !rule_.slopes.empty())
      return Way::tiles;
    const CompiledPlan& compiled = find_compiled(plan_);
    const auto all = [&](auto&& holds) {
      for (std::int64_t h = 0; h < plan_.heads(); ++h) {
        if (!holds(plan_.relation_of(h)))
          return false;
      }
      return true;
    };
    const double m = static_cast<double>(map_.count),
                 d = static_cast<double>(std::max<std::int64_t>(shape_.value_width, 1));
    const double enough = 2 * m * d / (m + d);
    if (static_cast<double>(shape_.reads) > enough && all([&](std::size_t r) { return plan_.is_full(r); }))
      return Way::full;
    if (static_cast<double>(shape_.reads) > 2 * enough && all([&](std::size_t r) { return compiled.is_causal[r]; }))
      return Way::causal;
    find_whole_reads(plan_, compiled);
    return all([&](std::size_t r) { return saves_work(compiled.whole[r], map_.count, shape_.value_width); }) ? Way::blocks
                                                                                                             : Way::tiles;
  }

  [[nodiscard]] bool is_linear() const { return way_ == Way::full || way_ == Way::causal; }

  template <class T> static View<T> part(const View<T>& from, std::int64_t batch, std::int64_t head) {
    View<T> to = from;
    if (to.data != nullptr)
      to.data = from.at(batch, head, 0);
    return to;
  }

  // By tiles: as many key heads at a time as keep the features small. gradients null: forward.
  [[nodiscard]] bool run_tiles(const AttentionOutputs<Real>& out, const AttentionGradients<Real>* gradients) {
    constexpr std::int64_t most_numbers = std::int64_t{1} << 19; // they stay in the caches
    const std::int64_t stride = map_.stride, count = map_.count;
    const std::int64_t per_head = stride * (shape_.reads + group() * shape_.readers);
    // Heads follow each other and threads share their tiles (backward, features and their gradients are four arrays);
    // forward, a head each where there is room.
    constexpr std::int64_t most_room = std::int64_t{1} << 21;
    const std::int64_t size = std::max<std::int64_t>(per_head, 1);
    const std::int64_t at_least =
        gradients != nullptr ? 1 : std::clamp<std::int64_t>(most_room / size, 1, workers_);
    const std::int64_t at_once = std::min(std::max(most_numbers / size, at_least), shape_.key_heads);
    const std::int64_t readers = at_once * group() * shape_.readers, reads = at_once * shape_.reads;
    const bool wants_queries = gradients != nullptr && gradients->query.data != nullptr,
               wants_keys = gradients != nullptr && gradients->key.data != nullptr;
    const bool by_blocks = way_ == Way::blocks;
    // States of blocks, backward, lie where gradients of the other side's features come later or have been.
    const bool back = gradients != nullptr;
    const std::int64_t of_group = by_blocks ? group_numbers(map_, shape_.value_width) : 0;
    const std::int64_t query_numbers = std::max(shape_.readers * stride, of_group), // of a head
                       key_numbers = std::max(shape_.reads * stride, of_group);
    const std::int64_t groups = by_blocks ? find_groups(per_head, of_group) : 0; // forward, at a time
    const std::int64_t of_queries = at_once * group() * query_numbers, of_keys = at_once * key_numbers,
                       of_states = at_once * groups * of_group;
    Copies<Real, FeatureAttention> numbers((readers + reads) * (stride + 1) + (back ? of_queries + of_keys : of_states));
    Real *const queries = numbers.take(true, readers * stride), *const keys = numbers.take(true, reads * stride),
                *const grad_queries = numbers.take(wants_queries || (back && by_blocks), of_queries),
                *const grad_keys = numbers.take(wants_keys || (back && by_blocks), of_keys),
                *const states = numbers.take(!back && by_blocks, of_states),
                *const query_exponents = numbers.take(true, readers), *const key_exponents = numbers.take(true, reads);
    if (gradients != nullptr && gradients->sink != nullptr)
      std::fill_n(gradients->sink, shape_.heads, Real(0));
    std::vector<Real> sinks(static_cast<std::size_t>(shape_.heads)), biases;
    if (gradients != nullptr && gradients->bias != nullptr) {
      std::fill_n(gradients->bias, shape_.heads * plan_.colours(), Real(0));
      biases.resize(static_cast<std::size_t>(at_once * group() * plan_.colours()));
    }
    const CompiledPlan& compiled = find_compiled(plan_);
    for (std::int64_t b = 0; b < shape_.batch; ++b) {
      for (std::int64_t first = 0; first < shape_.key_heads; first += at_once) {
        const std::int64_t key_heads = std::min(at_once, shape_.key_heads - first), heads = key_heads * group();
        const std::int64_t first_head = first * group();
        const View<const Real> query = part(in_.query, b, first_head), key = part(in_.key, b, first);
        for_rows(heads, shape_.readers, [&](std::int64_t h, std::int64_t i, std::int64_t rows, void* space) {
          const std::int64_t at = h * shape_.readers + i;
          engine_->find_features(map_, query.at(0, h, i), query.token_stride, static_cast<Real>(rule_.scale), rows,
                                 queries + at * stride, query_exponents + at, space);
        });
        for_rows(key_heads, shape_.reads, [&](std::int64_t h, std::int64_t j, std::int64_t rows, void* space) {
          const std::int64_t at = h * shape_.reads + j;
          engine_->find_features(map_, key.at(0, h, j), key.token_stride, Real(1), rows, keys + at * stride,
                                 key_exponents + at, space);
        });
        Shape shape = shape_;
        shape.batch = 1;
        shape.heads = heads;
        shape.key_heads = key_heads;
        shape.width = count;
        AttentionInputs<Real> in = in_;
        in.query = {queries, 0, shape_.readers * stride, stride};
        in.key = {keys, 0, shape_.reads * stride, stride};
        in.value = part(in_.value, b, first);
        in.bias = in_.bias == nullptr ? nullptr : in_.bias + first_head * plan_.colours();
        in.sink = in_.sink == nullptr ? nullptr : in_.sink + first_head;
        in.lengths = in_.lengths == nullptr ? nullptr : in_.lengths + b;
        AttentionOutputs<Real> to;
        to.out = part(out.out, b, first_head);
        to.statistics = out.statistics + (b * shape_.heads + first_head) * shape_.readers * 2;
        Call<Real> call(plan_, rule_, shape, in, to, execution_,
                        {first_head, query_exponents, key_exponents, nullptr, by_blocks ? &compiled.rest : nullptr,
                         by_blocks && wants_queries});
        if (!call.prepare())
          return false;
        const FeatureBlocks<Real> blocks(plan_, compiled, *engine_, map_, shape_.value_width, first_head, heads, group(),
                                         workers_);
        const auto rule_at = [&](std::int64_t h) { return rule_of(first_head + h); };
        const auto head_at = [&](std::int64_t h) {
          Head<Real> head = head_of(out, b, first_head + h);
          head.query = in.query.at(0, h, 0);
          head.key = in.key.at(0, h / group(), 0);
          head.query_stride = head.key_stride = stride;
          head.reader_exponents = query_exponents + h * shape_.readers;
          head.read_exponents = key_exponents + h / group() * shape_.reads;
          return head;
        };
        if (gradients == nullptr) {
          call.forward();
          if (by_blocks)
            blocks.forward(rule_at, head_at, {states, groups});
          continue;
        }
        if (!call.find_backward()) {
          reference::attend_backward(plan_, rule_, shape_, in_, out_, *gradients, execution_);
          return true;
        }
        AttentionGradients<Real> inner;
        inner.out = part(gradients->out, b, first_head);
        inner.query = {wants_queries ? grad_queries : nullptr, 0, shape_.readers * stride, stride};
        inner.key = {wants_keys ? grad_keys : nullptr, 0, shape_.reads * stride, stride};
        inner.value = part(gradients->value, b, first);
        inner.sink = gradients->sink == nullptr ? nullptr : sinks.data() + first_head;
        inner.bias = biases.empty() ? nullptr : biases.data();
        const auto gradients_at = [&](std::int64_t h) { return make_gradients(inner, 0, h, h / group()); };
        if (by_blocks && wants_queries) {
          for_rows(heads, shape_.readers, [&](std::int64_t h, std::int64_t i, std::int64_t rows, void*) {
            std::fill_n(grad_queries + (h * shape_.readers + i) * stride, rows * stride, Real(0));
          });
          blocks.backward_readers(rule_at, head_at, gradients_at, {grad_keys, key_numbers / of_group});
        }
        call.backward(inner);
        for (std::int64_t k = 0; k < heads * plan_.colours() && !biases.empty(); ++k)
          gradients->bias[first_head * plan_.colours() + k] += biases[static_cast<std::size_t>(k)];
        for (std::int64_t h = first_head; h < first_head + heads && gradients->sink != nullptr; ++h)
          gradients->sink[h] += sinks[static_cast<std::size_t>(h)];
        const auto turn_back = [&](const View<const Real>& from, Real scale, const Real* of, Real* given,
                                   const View<Real>& result, std::int64_t number, std::int64_t tokens) {
          if (result.data == nullptr)
            return;
          for_rows(number, tokens, [&](std::int64_t h, std::int64_t i, std::int64_t rows, void* space) {
            const std::int64_t at = (h * tokens + i) * stride;
            for (std::int64_t r = 0; r < rows; ++r)
              std::fill_n(given + at + r * stride + count, stride - count, Real(0));
            engine_->feature_gradient(map_, from.at(0, h, i), from.token_stride, scale, rows, of + at,
                                      given + at, result.at(0, h, i), result.token_stride, false, space);
          });
        };
        turn_back(query, static_cast<Real>(rule_.scale), queries, grad_queries, part(gradients->query, b, first_head),
                  heads, shape_.readers);
        if (by_blocks && (wants_keys || inner.value.data != nullptr))
          blocks.backward_reads(rule_at, head_at, gradients_at, {grad_queries, query_numbers / of_group});
        turn_back(key, Real(1), keys, grad_keys, part(gradients->key, b, first), key_heads, shape_.reads);
      }
    }
    return true;
  }

  // Groups of states that forward takes at a time, from what the features of one key head take: so much that both stay below
  // 12 MB where features leave room, and a seventh of them at least, which leaves turns long enough to share.
  [[nodiscard]] std::int64_t find_groups(std::int64_t features, std::int64_t of_group) const {
    constexpr std::int64_t few = (std::int64_t{12} << 20) / static_cast<std::int64_t>(sizeof(Real));
    const std::int64_t all = (shape_.reads + block_reads * group_leaves - 1) / (block_reads * group_leaves);
    return std::clamp<std::int64_t>(std::max(few - features, features / 7) / of_group, 1, all);
  }

  template <class Work> void for_rows(std::int64_t heads, std::int64_t tokens, Work&& work) {
    constexpr std::int64_t rows = 256;
    const std::int64_t parts = (tokens + rows - 1) / rows;
    const Workspaces workspaces(engine_->linear_bytes(map_, shape_.value_width), workers_);
    run_tasks(heads * parts, workers_, [&](std::int64_t task, int worker) {
      const std::int64_t first = task % parts * rows;
      work(task / parts, first, std::min(rows, tokens - first), workspaces.of(worker));
    });
  }

  // Sums of chunks of tokens; their length depends on the shape alone, and so does every order of summation.
  void run_linear(const AttentionOutputs<Real>& out, const AttentionGradients<Real>* gradients) {
    const bool causal = way_ == Way::causal;
    const std::int64_t chunk = round_to(std::max<std::int64_t>(1024, 8 * map_.padded), 64);
    const std::int64_t read_chunks = (shape_.reads + chunk - 1) / chunk,
                       reader_chunks = (shape_.readers + chunk - 1) / chunk;
    const Workspaces workspaces(engine_->linear_bytes(map_, shape_.value_width), workers_);
    const std::int64_t chains = shape_.batch * shape_.key_heads, all_heads = shape_.batch * shape_.heads;
    States reads(*this, chains * read_chunks);
    run_tasks(chains * read_chunks, workers_, [&](std::int64_t task, int worker) {
      const std::int64_t chain = task / read_chunks, first = task % read_chunks * chunk;
      if (causal && task % read_chunks == read_chunks - 1) {
        reads.clear(task); // nobody comes after the last chunk
        return;
      }
      const Head<Real> head = head_of(out, chain / shape_.key_heads, chain % shape_.key_heads * group());
      engine_->linear_collect(map_, head, first, std::min(first + chunk, shape_.reads), reads.at(task),
                              workspaces.of(worker));
    });
    run_tasks(chains, workers_,
              [&](std::int64_t chain, int) { reads.add_up(chain * read_chunks, read_chunks, causal, false); });
    // Several heads may start from the same sums: a causal pass works on copies.
    const auto state_of = [&](std::int64_t b, std::int64_t h, std::int64_t c) {
      return reads.at((b * shape_.key_heads + h / group()) * read_chunks + (causal ? c : 0));
    };
    std::vector<Scratch> scratch;
    for (int w = 0; w < workers_ && causal; ++w)
      scratch.emplace_back(*this);
    const auto take = [&](const LinearState<Real>& from, int worker) {
      return causal ? scratch[static_cast<std::size_t>(worker)].copy(from) : from;
    };
    if (gradients == nullptr) {
      run_tasks(all_heads * reader_chunks, workers_, [&](std::int64_t task, int worker) {
        const std::int64_t c = task % reader_chunks, b = task / reader_chunks / shape_.heads,
                           h = task / reader_chunks % shape_.heads;
        engine_->linear_forward(rule_of(h), map_, head_of(out, b, h), causal, c * chunk,
                                std::min((c + 1) * chunk, shape_.readers), take(state_of(b, h, c), worker),
                                workspaces.of(worker));
      });
      return;
    }
    States back(*this, all_heads * reader_chunks);
    std::vector<Real> sinks(static_cast<std::size_t>(all_heads * reader_chunks));
    run_tasks(all_heads * reader_chunks, workers_, [&](std::int64_t task, int worker) {
      const std::int64_t c = task % reader_chunks, b = task / reader_chunks / shape_.heads,
                         h = task / reader_chunks % shape_.heads;
      sinks[static_cast<std::size_t>(task)] =
          engine_->linear_backward(rule_of(h), map_, head_of(out, b, h), gradients_of(*gradients, b, h), causal,
                                   c * chunk, std::min((c + 1) * chunk, shape_.readers),
                                   take(state_of(b, h, c), worker), back.at(task), workspaces.of(worker));
    });
    run_tasks(all_heads, workers_,
              [&](std::int64_t head, int) { back.add_up(head * reader_chunks, reader_chunks, causal, true); });
    for (std::int64_t g = 0; g < group(); ++g) { // heads that share a key head add up in their order
      run_tasks(chains * read_chunks, workers_, [&](std::int64_t task, int worker) {
        const std::int64_t c = task % read_chunks, chain = task / read_chunks, b = chain / shape_.key_heads;
        const std::int64_t h = chain % shape_.key_heads * group() + g;
        const LinearState<Real> from = back.at((b * shape_.heads + h) * reader_chunks + (causal ? c : 0));
        engine_->linear_columns(rule_of(h), map_, head_of(out, b, h), gradients_of(*gradients, b, h), causal, c * chunk,
                                std::min((c + 1) * chunk, shape_.reads), take(from, worker), g > 0,
                                workspaces.of(worker));
      });
    }
    if (gradients->sink == nullptr)
      return;
    std::vector<double> sums(static_cast<std::size_t>(shape_.heads), 0);
    for (std::size_t task = 0; task < sinks.size(); ++task)
      sums[task / static_cast<std::size_t>(reader_chunks) % static_cast<std::size_t>(shape_.heads)] -=
          static_cast<double>(sinks[task]);
    std::copy(sums.begin(), sums.end(), gradients->sink);
  }

  /// Sums of chunks, side by side.
  class States {
  public:
    States(const FeatureAttention& of, std::int64_t count)
        : of_(of), size_(sum_numbers(of.map_, of.shape_.value_width)),
          sums_(static_cast<std::size_t>(count * size_)), totals_(static_cast<std::size_t>(count * of.map_.padded)),
          exponents_(static_cast<std::size_t>(count)) {}
    [[nodiscard]] LinearState<Real> at(std::int64_t k) {
      return state_at<Real>({sums_.data(), totals_.data(), exponents_.data()}, of_.map_, of_.shape_.value_width, k);
    }
    void clear(std::int64_t k) {
      std::fill_n(at(k).sums, size_, Real(0));
      std::fill_n(at(k).totals, of_.map_.padded, Real(0));
      *at(k).exponent = Real(-1e30F);
    }
    /// Of `count` chunks from `first` on. Not causal: the first becomes the sum of all. Causal: each becomes the sum of
    /// those before it, or behind it (reversed).
    void add_up(std::int64_t first, std::int64_t count, bool causal, bool reversed) {
      if (!causal) {
        for (std::int64_t k = 1; k < count; ++k)
          of_.engine_->linear_add(of_.map_, of_.shape_.value_width, at(first + k), at(first));
        return;
      }
      States kept(of_, 2); // the sum so far, and the chunk's own
      kept.clear(0);
      for (std::int64_t k = 0; k < count; ++k) {
        const std::int64_t here = reversed ? first + count - 1 - k : first + k;
        kept.assign(1, at(here));
        assign(here, kept.at(0));
        of_.engine_->linear_add(of_.map_, of_.shape_.value_width, kept.at(1), kept.at(0));
      }
    }
    void assign(std::int64_t k, const LinearState<Real>& from) {
      std::copy_n(from.sums, size_, at(k).sums);
      std::copy_n(from.totals, of_.map_.padded, at(k).totals);
      *at(k).exponent = *from.exponent;
    }

  private:
    const FeatureAttention& of_;
    std::int64_t size_;
    std::vector<Real> sums_, totals_, exponents_;
  };
  class Scratch {
  public:
    explicit Scratch(const FeatureAttention& of) : state_(of, 1) {}
    LinearState<Real> copy(const LinearState<Real>& from) {
      state_.assign(0, from);
      return state_.at(0);
    }

  private:
    States state_;
  };

  [[nodiscard]] Rule<Real> rule_of(std::int64_t head) const {
    Rule<Real> rule;
    rule.weight = Weight::features;
    rule.normalised = rule_.normalised;
    rule.query_scale = static_cast<Real>(rule_.scale);
    set_extra(rule_, in_.sink, head, rule);
    return rule;
  }

  [[nodiscard]] Head<Real> head_of(const AttentionOutputs<Real>& out, std::int64_t b, std::int64_t h) const {
    Head<Real> head;
    head.query = in_.query.at(b, h, 0);
    head.key = in_.key.at(b, h / group(), 0);
    head.value = in_.value.at(b, h / group(), 0);
    head.out = out.out.at(b, h, 0);
    head.query_stride = in_.query.token_stride;
    head.key_stride = in_.key.token_stride;
    head.value_stride = in_.value.token_stride;
    head.out_stride = out.out.token_stride;
    head.statistics = out.statistics + (b * shape_.heads + h) * shape_.readers * 2;
    head.width = shape_.width;
    head.value_width = shape_.value_width;
    head.reads = shape_.reads;
    if (in_.lengths != nullptr)
      set_cuts(plan_, in_.lengths[b], head);
    return head;
  }

  [[nodiscard]] Gradients<Real> gradients_of(const AttentionGradients<Real>& from, std::int64_t b,
                                             std::int64_t h) const {
    return make_gradients(from, b, h, h / group());
  }

  const Plan& plan_;
  const AttentionRule& rule_;
  const Shape& shape_;
  const AttentionInputs<Real>& in_;
  const AttentionOutputs<Real>& out_;
  const Execution& execution_;
  const Engine<Real>* engine_ = nullptr;
  int workers_ = 1;
  Way way_ = Way::tiles;
  FeatureMap<Real> map_;
  std::vector<Real> packed_, rows_;
};

} // namespace

template <class Real>
bool attend_features(const Plan& plan, const AttentionRule& rule, const Shape& shape, const AttentionInputs<Real>& in,
                     const AttentionOutputs<Real>& out, const Execution& execution) {
  FeatureAttention<Real> attention(plan, rule, shape, in, out, execution);
  return attention.prepare() && attention.forward();
}

template <class Real>
bool attend_features_backward(const Plan& plan, const AttentionRule& rule, const Shape& shape,
                              const AttentionInputs<Real>& in, const AttentionOutputs<Real>& out,
                              const AttentionGradients<Real>& gradients, const Execution& execution) {
  FeatureAttention<Real> attention(plan, rule, shape, in, out, execution);
  return attention.prepare() && attention.backward(gradients);
}

#define SIGHTLINE_INSTANTIATE(Real)                                                                                    \
  template bool attend_features(const Plan&, const AttentionRule&, const Shape&, const AttentionInputs<Real>&,         \
                                const AttentionOutputs<Real>&, const Execution&);                                      \
  template bool attend_features_backward(const Plan&, const AttentionRule&, const Shape&,                              \
                                         const AttentionInputs<Real>&, const AttentionOutputs<Real>&,                  \
                                         const AttentionGradients<Real>&, const Execution&);
SIGHTLINE_INSTANTIATE(float)
SIGHTLINE_INSTANTIATE(double)
#undef SIGHTLINE_INSTANTIATE

} // namespace sightline::mixer::cpu

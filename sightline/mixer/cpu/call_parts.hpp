// What calls of every kind need: workspaces, the vertices that exist, gradients of one head.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "sightline/mixer/cpu/tiles.hpp"
#include "sightline/mixer/plan.hpp"

namespace sightline::mixer::cpu {

/// Aligned memory, not touched before it is written. A thread keeps the last block of every use that it let go (up to
/// most_kept bytes): pages that come fresh from the system for every call would cost more than a small call does.
template <class Use, std::size_t most_kept = std::size_t{8} << 20> class KeptMemory {
public:
  explicit KeptMemory(std::size_t bytes) {
    const std::size_t all = (bytes + 4095) / 4096 * 4096;
    memory_ = std::exchange(kept(), {});
    if (memory_.bytes < all)
      memory_ = {};
    if (memory_.data != nullptr || all == 0)
      return;
    memory_.data.reset(static_cast<char*>(std::aligned_alloc(4096, all)));
    if (!memory_.data)
      throw std::bad_alloc();
    memory_.bytes = all;
  }
  ~KeptMemory() {
    if (memory_.bytes <= most_kept && memory_.bytes > kept().bytes)
      kept() = std::move(memory_);
  }
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;
  [[nodiscard]] char* data() const { return memory_.data.get(); }

private:
  struct Free {
    void operator()(char* memory) const { std::free(memory); }
  };
  struct Block {
    std::unique_ptr<char, Free> data;
    std::size_t bytes = 0;
  };
  static Block& kept() {
    thread_local Block block;
    return block;
  }
  Block memory_;
};

/// Memory for every worker.
class Workspaces {
public:
  Workspaces(std::size_t bytes, int workers)
      : bytes_((bytes + 4095) / 4096 * 4096 + 64), memory_(bytes_ * static_cast<std::size_t>(workers)) {}
  [[nodiscard]] void* of(int worker) const { return memory_.data() + bytes_ * static_cast<std::size_t>(worker); }

private:
  std::size_t bytes_;
  KeptMemory<Workspaces, std::size_t{16} << 20> memory_;
};

/// Copies of tokens in another order, several arrays of numbers in one block. Those of one kind of pass may lie inside
/// those of another: each has a use of its own.
template <class Real, class Use> class Copies {
public:
  explicit Copies(std::int64_t numbers) : memory_(sizeof(Real) * static_cast<std::size_t>(numbers)) {}
  /// Null where it is not wanted.
  [[nodiscard]] Real* take(bool wanted, std::int64_t numbers) {
    if (!wanted)
      return nullptr;
    Real* const at = reinterpret_cast<Real*>(memory_.data()) + used_;
    used_ += numbers;
    return at;
  }

private:
  KeptMemory<Use> memory_;
  std::int64_t used_ = 0;
};

/// A use: numbers of arcs of rows taken one by one, forward or backward.
struct ArcNumbers;

/// The vertices that a batch element's length leaves out.
template <class Real> void set_cuts(const Plan& plan, std::int64_t length, Head<Real>& head) {
  head.reader_cut_begin = std::clamp<std::int64_t>(length, 0, plan.reader_tokens());
  head.reader_cut_end = plan.reader_tokens();
  head.read_cut_begin = std::clamp<std::int64_t>(length, 0, plan.read_tokens());
  head.read_cut_end = plan.read_tokens();
}

template <class Real>
[[nodiscard]] Gradients<Real> make_gradients(const AttentionGradients<Real>& from, std::int64_t b, std::int64_t h,
                                             std::int64_t key_head) {
  Gradients<Real> to;
  to.out = from.out.at(b, h, 0);
  to.out_stride = from.out.token_stride;
  if (from.query.data != nullptr)
    to.query = from.query.at(b, h, 0);
  if (from.key.data != nullptr)
    to.key = from.key.at(b, key_head, 0);
  if (from.value.data != nullptr)
    to.value = from.value.at(b, key_head, 0);
  to.query_stride = from.query.token_stride;
  to.key_stride = from.key.token_stride;
  to.value_stride = from.value.token_stride;
  return to;
}

/// A call that is a part of another: heads from first_head on.
template <class Real> struct CallPart {
  std::int64_t first_head = 0;
  /// Weight::features: queries and keys are rows of features already; [heads][readers], [key_heads][reads]
  const Real *reader_exponents = nullptr, *read_exponents = nullptr;
  const std::vector<Tiles>* tiles = nullptr;       ///< in place of the plan's: one per head
  const std::vector<Tiles>* by_relation = nullptr; ///< in place of the plan's
  bool add_query = false;                          ///< the queries' gradients of tiles are added to
};

/// All i - j of a tile lie in [first, second).
[[nodiscard]] inline std::pair<std::int64_t, std::int64_t> find_offsets(const TileList& list) {
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = -1;
  for (int s = 0; s < list.segment_count; ++s) {
    low = std::min<std::int64_t>(low, list.segments[s].first);
    high = std::max<std::int64_t>(high, std::int64_t{list.segments[s].first} + list.segments[s].count - 1);
  }
  if (high < 0)
    return {0, 0};
  return {list.first_reader - high - list.shift, list.first_reader + tile_readers - low - list.shift};
}

/// The same for colours.
[[nodiscard]] inline std::pair<std::int64_t, std::int64_t> find_colours(const TileList& list) {
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = -1;
  for (int i = 0; i < list.readers; ++i) {
    for (const ColourRun* run = list.rows[i].begin; run != list.rows[i].end; ++run) {
      const std::int64_t last = run->colour + std::int64_t{run->colour_step} * ((run->last - run->first) / run->step);
      low = std::min({low, std::int64_t{run->colour}, last});
      high = std::max({high, std::int64_t{run->colour}, last});
    }
  }
  return {std::min(low, high + 1), high + 1};
}

} // namespace sightline::mixer::cpu

#include "sightline/symmetry/small_graph.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "sightline/symmetry/plain_graph.hpp"

namespace sightline::symmetry {

namespace {

using Word = std::uint64_t;

/// A square matrix of bits, rows of whole words.
struct BitMatrix {
  std::size_t width = 0;  ///< words of a row
  std::vector<Word> words;

  BitMatrix() = default;
  explicit BitMatrix(Vertex n) : width((std::size_t{n} + 63) / 64), words(width * n, 0) {}

  [[nodiscard]] Word* row(Vertex i) { return words.data() + i * width; }
  [[nodiscard]] const Word* row(Vertex i) const { return words.data() + i * width; }
  [[nodiscard]] bool holds(Vertex i, Vertex j) const { return (row(i)[j / 64] >> (j % 64) & 1) != 0; }
  friend bool operator==(const BitMatrix&, const BitMatrix&) = default;
};

void set_run(Word* row, const layout::Run& run) {
  if (run.step != 1) {
    for (Vertex x = run.first; x <= run.last; x += run.step) row[x / 64] |= Word{1} << (x % 64);
    return;
  }
  const std::size_t from = run.first / 64, to = run.last / 64;
  const Word low = ~Word{0} << (run.first % 64), high = ~Word{0} >> (63 - run.last % 64);
  if (from == to) {
    row[from] |= low & high;
    return;
  }
  row[from] |= low;
  std::fill(row + from + 1, row + to, ~Word{0});
  row[to] |= high;
}

/// Bit j of word i becomes bit i of word j (Hacker's Delight, 7-3).
void transpose_block(Word block[64]) {
  Word mask = 0x00000000ffffffffu;
  for (unsigned width = 32; width != 0; width >>= 1, mask ^= mask << width) {
    for (unsigned k = 0; k < 64; k = ((k | width) + 1) & ~width) {
      const Word moved = ((block[k] >> width) ^ block[k | width]) & mask;
      block[k] ^= moved << width;
      block[k | width] ^= moved;
    }
  }
}

/// Calls visit(x) for all bits of a row, ascending.
template <class Visit>
void for_each_bit(const Word* row, std::size_t width, Visit&& visit) {
  for (std::size_t k = 0; k < width; ++k) {
    for (Word rest = row[k]; rest != 0; rest &= rest - 1) visit(static_cast<Vertex>(64 * k + static_cast<unsigned>(std::countr_zero(rest))));
  }
}

BitMatrix transpose(const BitMatrix& rows, Vertex n, std::uint64_t arcs) {
  BitMatrix columns(n);
  // A block costs as much as some hundred arcs.
  if (arcs < 256 * rows.width * rows.width) {
    for (Vertex i = 0; i < n; ++i) {
      const Word bit = Word{1} << (i % 64);
      for_each_bit(rows.row(i), rows.width, [&](Vertex j) { columns.row(j)[i / 64] |= bit; });
    }
    return columns;
  }
  Word block[64];
  for (std::size_t down = 0; down < rows.width; ++down) {
    const Vertex height = std::min<Vertex>(64, n - static_cast<Vertex>(64 * down));
    for (std::size_t across = 0; across < rows.width; ++across) {
      Word any = 0;
      for (Vertex k = 0; k < height; ++k) any |= block[k] = rows.words[(64 * down + k) * rows.width + across];
      if (any == 0) continue;
      std::fill(block + height, block + 64, 0);
      transpose_block(block);
      const Vertex wide = std::min<Vertex>(64, n - static_cast<Vertex>(64 * across));
      for (Vertex k = 0; k < wide; ++k) columns.words[(64 * across + k) * columns.width + down] = block[k];
    }
  }
  return columns;
}

/// A hash of a row whose own bit is set, or cleared: twins agree in one of the two, whatever their names.
struct OwnHashes {
  Word set = 0, cleared = 0;
};

OwnHashes hash_row(const BitMatrix& matrix, Vertex x, Word seed) {
  Word sum = 0;
  const Word* const row = matrix.row(x);
  const std::size_t own = x / 64;
  const auto term = [&](Word word, std::size_t k) {
    const Word product = (word ^ (seed + k * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    return (product ^ (product >> 32)) * (0x94d049bb133111ebu + 2 * k);
  };
  for (std::size_t k = 0; k < matrix.width; ++k) {
    if (k != own) sum += term(row[k], k);
  }
  const Word bit = Word{1} << (x % 64);
  return {sum + term(row[own] | bit, own), sum + term(row[own] & ~bit, own)};
}

/// A table of twice the size, asked from the top bits on.
bool all_differ(const std::vector<Word>& hashes) {
  const int bits = std::bit_width(2 * hashes.size());
  const std::size_t last = (std::size_t{1} << bits) - 1;
  std::vector<Word> table(last + 1, 0);
  for (const Word hash : hashes) {
    const Word key = hash == 0 ? 1 : hash;  // zeros are free places
    std::size_t place = (key * 0x9e3779b97f4a7c15u) >> (64 - bits);
    for (; table[place] != 0; place = (place + 1) & last) {
      if (table[place] == key) return false;
    }
    table[place] = key;
  }
  return true;
}

struct SmallRelation {
  BitMatrix rows, columns;
  std::int64_t colour = 0;
  bool symmetric = false;

  [[nodiscard]] bool has_loop(Vertex v) const { return rows.holds(v, v); }
  Vertex* copy_row(Vertex v, Vertex* out) const { return copy(rows, v, out); }
  Vertex* copy_column(Vertex v, Vertex* out) const { return copy(columns, v, out); }

private:
  static Vertex* copy(const BitMatrix& matrix, Vertex v, Vertex* out) {
    for_each_bit(matrix.row(v), matrix.width, [&out](Vertex x) { *out++ = x; });
    return out;
  }
};

class SmallReader {
public:
  SmallReader(const Structure& structure, const Budget& budget) : structure_(structure), n_(structure.vertices), budget_(budget) {}

  std::optional<RunGraph> read() {
    if (n_ == 0 || n_ > most_small_vertices || structure_.relations.empty() || structure_.relations.size() > most_plain_relations) return std::nullopt;
    if (!structure_.vertex_colour.empty() && structure_.vertex_colour.size() != n_) return std::nullopt;
    for (const VisibleRelation& relation : structure_.relations) {
      const bool fits = relation.relation != nullptr && relation.relation->vertex_count() == n_ && relation.visible.empty() && relation.relation->is_plain();
      if (!fits) return std::nullopt;
    }
    budget_.ask(structure_.relations.size() * n_ * (n_ / 64 + 1) * 16);
    for (const VisibleRelation& relation : structure_.relations) read_relation(*relation.relation);
    if (!prefers_small_arcs()) return std::nullopt;
    for (SmallRelation& relation : relations_) {
      relation.columns = transpose(relation.rows, n_, arcs_);
      relation.symmetric = relation.rows == relation.columns;
    }
    if (!tell_all_apart()) return std::nullopt;
    return make_plain_graph(n_, structure_.vertex_colour, relations_, arcs_ * 2, budget_);
  }

private:
  void read_relation(const layout::Relation& relation) {
    budget_.poll();
    SmallRelation& read = relations_.emplace_back();
    read.rows = BitMatrix(n_);
    const layout::Pattern& pattern = relation.pattern();
    for_each_row(pattern, [&](Vertex begin, Vertex end, std::span<const Vertex> written) {
      Word* const bits = read.rows.row(begin);
      if (written.empty()) {
        for (const layout::Run& run : row_) {
          arcs_ += run.step == 1 ? run.last - run.first + 1 : run.size();
          set_run(bits, run);
        }
      } else {
        for (const Vertex x : written) bits[x / 64] |= Word{1} << (x % 64);
        arcs_ += std::uint64_t{end - begin} * written.size();
        for (Vertex i = begin + 1; i < end; ++i) std::copy(bits, bits + read.rows.width, read.rows.row(i));
      }
      return true;
    });
    Vertex reader = 0;
    while (reader < n_ && pattern.degree(reader) == 0) ++reader;
    if (reader == n_) return;
    pattern.row(reader, row_);
    read.colour = relation.colour(reader, row_.front().first);
  }

  /// Calls visit(begin, end, vertices) for readers of one written list, visit(i, i + 1, {}) for others with their runs in row_, until it
  /// returns false.
  template <class Visit>
  bool for_each_row(const layout::Pattern& pattern, Visit&& visit) {
    const auto& segments = pattern.segments();
    for (std::size_t s = 0; s < segments.size(); ++s) {
      const Vertex end = s + 1 < segments.size() ? segments[s + 1].begin : n_;
      const auto written = pattern.written(pattern.lists()[segments[s].list]);
      if (!written.empty()) {
        if (!visit(segments[s].begin, end, written)) return false;
        continue;
      }
      for (Vertex i = segments[s].begin; i < end; ++i) {
        pattern.row(i, row_);
        if (!visit(i, i + 1, written)) return false;
      }
    }
    return true;
  }

  /// prefers_arcs, without counting all runs where some are enough.
  bool prefers_small_arcs() {
    std::uint64_t spans = 0;
    if (arcs_are_cheaper(arcs_, spans)) return true;
    for (const VisibleRelation& relation : structure_.relations) {
      const bool counted = for_each_row(relation.relation->pattern(), [&](Vertex begin, Vertex end, std::span<const Vertex> written) {
        std::uint64_t runs = written.empty() ? row_.size() : 0;
        layout::split_into_runs(written, [&runs](Vertex, Vertex, Vertex) { ++runs; });
        spans += std::uint64_t{end - begin} * runs;
        return !arcs_are_cheaper(arcs_, spans);
      });
      if (!counted) return true;
    }
    return false;
  }

  struct AllHashes {
    std::vector<Word> set, cleared;
  };

  [[nodiscard]] AllHashes hash_all(const SmallRelation& relation, Word seed) const {
    AllHashes hashes{std::vector<Word>(n_), std::vector<Word>(n_)};
    for (Vertex x = 0; x < n_; ++x) {
      OwnHashes sum = hash_row(relation.rows, x, seed);
      if (!relation.symmetric) {
        const OwnHashes column = hash_row(relation.columns, x, ~seed);
        sum.set += column.set;
        sum.cleared += column.cleared;
      }
      hashes.set[x] = sum.set;
      hashes.cleared[x] = sum.cleared;
    }
    return hashes;
  }

  /// One relation by itself, or a few together, as block masks of several layers need: twins agree in one of the two hashes of each relation.
  [[nodiscard]] bool tell_all_apart() const {
    constexpr std::size_t most_together = 3;
    std::vector<AllHashes> hashes;
    for (const SmallRelation& relation : relations_) {
      const AllHashes& last = hashes.emplace_back(hash_all(relation, 0x7715 + hashes.size()));
      if (all_differ(last.set) && all_differ(last.cleared)) return true;
    }
    if (hashes.size() < 2 || hashes.size() > most_together) return false;
    std::vector<Word> sum(n_);
    for (std::size_t choice = 0; choice >> hashes.size() == 0; ++choice) {
      std::fill(sum.begin(), sum.end(), 0);
      for (std::size_t r = 0; r < hashes.size(); ++r) {
        const std::vector<Word>& chosen = (choice >> r & 1) != 0 ? hashes[r].set : hashes[r].cleared;
        for (Vertex x = 0; x < n_; ++x) sum[x] += chosen[x];
      }
      if (!all_differ(sum)) return false;
    }
    return true;
  }

  const Structure& structure_;
  Vertex n_;
  const Budget& budget_;
  std::vector<SmallRelation> relations_;
  std::vector<layout::Run> row_;
  std::uint64_t arcs_ = 0;
};

}  // namespace

std::optional<RunGraph> make_small_graph(const Structure& structure, const Budget& budget) { return SmallReader(structure, budget).read(); }

}  // namespace sightline::symmetry

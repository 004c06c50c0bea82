// A plan: who reads whom in one mixing layer, as both implementations need it, and in which order exact mode adds.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "sightline/mixer/mixer.hpp"

namespace sightline::mixer {

/// In which order the terms of a sum are added in exact mode, so that the sum of the row of s(i) in sX is, bit for bit,
/// the sum of the row of i in X, for every s in the group G of the plan (all permutations of its vertices that preserve
/// every head's effective colours; a certified group is a subgroup). The same order serves the sums over readers
/// (transposed).
///
/// In every kind, vertices that all of G fixes ("fixed vertices": global tokens, the register of a star) are ordered by
/// number and come first; a row (or column) that BELONGS to a fixed vertex is summed by value, unless the kind is
/// natural.
///
///  natural   G is trivial: any order that does not depend on the values.
///  cyclic    G lies in the rotations of the interval [first, first + extent): reader i adds its reads by rising offset
///            (j - i) mod extent, starting at itself (one contiguous range that wraps).
///  dihedral  G lies in rotations and reflections of the interval: three sums, outward to the right (offsets 1, 2, ...
///  below
///            extent / 2), outward to the left (the same), and fixed vertices by number, then own; the result is
///            ((right + left) + fixed and own) + antipode (the read at offset extent / 2, extent even).
///  torus     [first, first + extent) is a grid of extent / columns rows of `columns`, G lies in its translations: by
///  rising
///            row offset mod rows, then by rising column offset mod columns.
///  value     anything else. The terms are brought into an order that their values alone determine (the reference sorts
///  by
///            magnitude, then sign), or are added without rounding. Per coordinate; equal terms are interchangeable.
///
/// Twins (large stabilisers, `twin_class`): vertices of one class may be permuted at will. Where G / twins is trivial
/// (`kind` is value and `classes_are_fixed`), an implementation may instead order the members of each class by content,
/// once per call, and then add classes by number and members by rank.
struct SummationOrder {
  enum class Kind { natural, cyclic, dihedral, torus, value };
  Kind kind = Kind::value;
  std::int64_t first = 0, extent = 0, columns = 0;
  std::vector<std::uint32_t>
      twin_class;                 ///< of every vertex, empty unless kind is value; classes are numbered by least member
  bool classes_are_fixed = false; ///< every element of G maps every twin class to itself
};

/// The rows of one relation, uncoloured until asked. Colours start at 0 (see Plan).
class Plan {
public:
  /// Readers are 0 .. readers-1; those >= reader_tokens always exist, whatever `lengths` says. Reads likewise.
  /// A plan of a layout has readers = reads = its vertices; Linformer's plans have landmarks on one side.
  [[nodiscard]] std::int64_t readers() const { return readers_; }
  [[nodiscard]] std::int64_t reads() const { return reads_; }
  [[nodiscard]] std::int64_t reader_tokens() const { return reader_tokens_; }
  [[nodiscard]] std::int64_t read_tokens() const { return read_tokens_; }
  /// C: colours are 0 .. C-1, over all heads.
  [[nodiscard]] std::int64_t colours() const { return colours_; }
  /// Number of heads that the plan tells apart: 1 (every head is alike) or one per head.
  [[nodiscard]] std::int64_t heads() const { return static_cast<std::int64_t>(relation_of_head_.size()); }
  /// Distinct relations; heads with the same number share rows.
  [[nodiscard]] std::size_t relation_count() const { return relations_.empty() ? 1 : relations_.size(); }
  [[nodiscard]] std::size_t relation_of(std::int64_t head) const { return relation_of_head_[heads() == 1 ? 0 : head]; }

  /// The row of a reader: disjoint runs by rising `first`, colours as the bias table counts them. O(runs); `out` is
  /// cleared.
  void row(std::size_t relation, std::int64_t reader, std::vector<layout::ColouredRun>& out) const;
  /// End of the readers from this one on that are known to have the same row.
  [[nodiscard]] std::int64_t same_row_until(std::size_t relation, std::int64_t reader) const;
  /// True when every arc has colour 0 (the bias, if any, is one number per head).
  [[nodiscard]] bool is_plain(std::size_t relation) const;
  /// The relation itself, null for full and pooling plans. Its pattern's segments say which readers move alike.
  [[nodiscard]] const layout::Relation* relation(std::size_t relation) const {
    return relations_.empty() ? nullptr : &relations_[relation];
  }
  /// Every reader reads every read (with one colour, or one per pair: is_plain).
  [[nodiscard]] bool is_full(std::size_t relation) const;

  /// Order of exact sums; found on first use (it asks the symmetry engine), then kept. Thread-safe.
  [[nodiscard]] const SummationOrder& order() const;
  /// Positions that rotary encodings turn tokens by: t minus the least token of t's component, where arcs between
  /// tokens whose row does not forget its colour connect (so t itself on a connected layout). Scores among tokens
  /// depend on differences inside a component alone; counting from its own least token makes moved blocks equal bit for
  /// bit, and makes arcs to registers, which no offset colours, moved alike too. Found on first use. Thread-safe.
  [[nodiscard]] const std::vector<std::int64_t>& positions() const;

  /// A place for what an implementation compiles from the rows: made on first use, kept with the plan. Thread-safe.
  [[nodiscard]] const void* compiled(const std::function<std::shared_ptr<const void>(const Plan&)>& compile) const;

  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

private:
  friend std::shared_ptr<const Plan> make_plan(std::span<const layout::Relation>, const Budget&);
  friend std::shared_ptr<const Plan> make_full_plan(std::int64_t, std::int64_t, bool);
  friend std::shared_ptr<const Plan> make_pooling_plan(std::span<const std::vector<std::int64_t>>, std::int64_t);
  Plan() = default;

  std::int64_t readers_ = 0, reads_ = 0, reader_tokens_ = 0, read_tokens_ = 0, colours_ = 1;
  std::vector<layout::Relation> relations_; // empty: full or pooling
  std::vector<std::uint32_t> relation_of_head_;
  std::vector<std::vector<layout::ColouredRun>> pools_; // pooling: explicit rows
  bool pair_colours_ = false;                           // full: colour read * readers + reader
  mutable std::once_flag order_once_, positions_once_, compiled_once_;
  mutable SummationOrder order_;
  mutable std::vector<std::int64_t> positions_;
  mutable std::shared_ptr<const void> compiled_;
};

} // namespace sightline::mixer

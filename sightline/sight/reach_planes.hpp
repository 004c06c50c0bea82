// Inside of reach.hpp: grids on which all is the same a row and a column further on, and arcs lead down the line (docs/theory.md 16.103). Not for other rooms.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "sightline/sight/reach_engine.hpp"

namespace sightline::sight {

/// Questions that some way of answering gave up. Each question is kept by itself, so that no answer depends on what was asked before.
class Refusals {
public:
  [[nodiscard]] bool hold(const ReachQuestion& question) const { return asked_.contains(make_key(question)); }
  /// Some question that begins with the same layer?
  [[nodiscard]] bool hold_like(const ReachQuestion& question) const { return skips_.contains(std::get<2>(make_key(question))); }
  void add(const ReachQuestion& question) {
    asked_.insert(make_key(question));
    skips_.insert(std::get<2>(make_key(question)));
  }

private:
  using Key = std::tuple<ClassKind, bool, std::uint64_t, bool, bool, std::optional<std::uint64_t>>;
  static Key make_key(const ReachQuestion& question) {
    return {question.wanted.kind, question.wanted.ordinary_only, question.skip % question.layout->order.size(), question.find_layers, question.count_unseen, question.depth};
  }
  std::set<Key> asked_;
  std::set<std::uint64_t> skips_;
};

struct Plane {
  /// Readers (r, c) read (r - up, c + first) .. (r - up, c + last), as far as these are on the grid.
  struct Run {
    Vertex up = 0;
    std::int64_t first = 0, last = 0;
  };
  Vertex width = 0, height = 0;
  std::vector<std::vector<Run>> runs;  ///< by layer, the same columns one after the other; without the own token
  bool in_any_order = true;            ///< can the steps of a path be put in an order that stays on the grid?
  mutable Refusals mixes_signs;        ///< questions where they cannot, and steps to one side do not reach what steps to both do
};

/// Offsets: those seen at some depth, and the last to come into sight there.
class PlaneOffsets {
public:
  struct Offset {
    Vertex up;
    std::int64_t across;
  };
  PlaneOffsets(Vertex width, Vertex height, std::size_t words, std::vector<std::uint64_t> before, std::vector<std::uint64_t> seen);
  /// Does (r, c) see (r - up, c + across)?
  [[nodiscard]] bool is_seen(Vertex up, std::int64_t across) const { return has(seen_, up, across); }
  /// And one layer earlier, so that the row of that one is in sight?
  [[nodiscard]] bool is_row_seen(Vertex up, std::int64_t across) const { return has(before_, up, across); }
  /// In the order of the tokens that they lead to.
  [[nodiscard]] const std::vector<Offset>& last() const { return last_; }

private:
  [[nodiscard]] bool has(const std::vector<std::uint64_t>& set, Vertex up, std::int64_t across) const {
    const auto at = static_cast<std::size_t>(across + (width_ - 1));
    return (set[up * words_ + at / 64] >> (at % 64) & 1) != 0;
  }
  Vertex width_;
  std::size_t words_;
  std::vector<std::uint64_t> before_, seen_;
  std::vector<Offset> last_;
};

/// A layout whose arcs lead down and that is the same `width` tokens further on. Null where it is not the same a column further on, or rows are long.
[[nodiscard]] std::shared_ptr<const Plane> find_plane(const Layout& layout, Vertex width, const Budget& budget);
/// Nothing where that takes long. O(runs * tokens / 32) for each layer, of grid rows that see more.
[[nodiscard]] std::optional<ReachAnswer> answer_by_plane(const ReachQuestion& question, const Plane& plane, const Budget& budget);

/// The plane of a layout, from the memory where there is one; null where it has none.
[[nodiscard]] std::shared_ptr<const Plane> recall_plane(const Layout& layout, const Budget& budget);
/// For a list of one layer. Nothing where that takes long.
[[nodiscard]] std::optional<PlaneOffsets> find_plane_offsets(const Layout& layout, const Plane& plane, std::uint64_t depth, const Budget& budget);

}  // namespace sightline::sight

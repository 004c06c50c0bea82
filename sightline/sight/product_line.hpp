// Inside of product_views.hpp: one factor of a grid, on which every row is an interval, and what it says about the view of each of its places.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "sightline/layout/layout.hpp"

namespace sightline::sight {

using layout::Layout;
using layout::Vertex;

/// The layers that views of one depth consist of, the list repeated (theory.md 2.4): the same for both factors of a grid.
struct ProductDepth {
  std::uint64_t depth = 0;
  std::vector<std::uint32_t> order;  ///< layer of each place of the list
  std::vector<std::uint64_t> first;  ///< by layer: its first place in the list, from 1; 0 where it does not occur
  std::uint64_t last_first = 0;      ///< the largest of these: with so much time left all rows of a vertex are in sight

  ProductDepth(const Layout& layout, std::uint64_t views_depth);
  [[nodiscard]] std::uint32_t layer(std::uint64_t q) const { return order[(q - 1) % order.size()]; }
  /// The least time left with which, in every layer, all heads of a row have all their rows in sight as well; nothing within the depth.
  [[nodiscard]] std::optional<std::uint64_t> find_second_level() const;
};

/// What names a class of places with equal rows: its row in one layer, or what is read by reading in two different layers one after the other,
/// as far as all orders of two layers agree. `level`: the time left with which it is in sight.
struct ProductName {
  std::uint64_t level = 0;
  std::optional<std::uint32_t> layer;
};

/// Places 0 .. size-1; in every layer place x reads an interval around x, with ends that do not fall from one place to the next.
class ProductLine {
public:
  /// Where cells begin, ascending.
  using Cuts = std::vector<Vertex>;
  /// The view of one place, and what isomorphisms keep of it (docs/theory.md 16.26).
  struct View {
    bool is_path = false;                     ///< the named classes make up a path of two and more, and the whole line is seen
    Vertex from = 0, to = 0;                  ///< the places that have the level of the name
    std::uint64_t forward = 0, backward = 0;  ///< hashes of the path read either way: different ones prove a difference
    std::uint64_t whole = 0;                  ///< the largest level, up to the name's, that all places have
    std::vector<const Cuts*> cells;           ///< by level up to `whole`: what is kept in place; equal ones have one address
  };

  /// Nothing where rows are not as above. O(places * layers).
  [[nodiscard]] static std::optional<ProductLine> make(const Layout& factor, const ProductDepth& depth);
  void set_name(const ProductName& name);
  /// Made when first asked for. O(depth + places * layers * rounds of refinement).
  [[nodiscard]] const View& view(Vertex root);
  [[nodiscard]] Vertex size() const { return size_; }
  /// Arcs of one layer.
  [[nodiscard]] std::uint64_t count_arcs(std::uint32_t layer) const;
  /// Does turning the line round preserve all rows?
  [[nodiscard]] bool is_symmetric() const;
  [[nodiscard]] bool has_rows_of(const ProductLine& other) const { return size_ == other.size_ && low_ == other.low_ && high_ == other.high_; }

private:
  using Ends = std::vector<Vertex>;
  explicit ProductLine(ProductDepth depth) : depth_(std::move(depth)) {}
  void find_readers();
  [[nodiscard]] View make_view(Vertex root);
  void read_path(Vertex root, const std::vector<std::uint64_t>& left, View& view) const;
  [[nodiscard]] bool is_path(const Cuts& classes) const;
  [[nodiscard]] bool has_row_of(Vertex x, Vertex y) const;
  [[nodiscard]] Cuts find_classes(Vertex from, Vertex to) const;
  [[nodiscard]] Cuts push(const Cuts& cells, Vertex to, std::uint32_t layer) const;
  void refine(Cuts& cells, Vertex to, std::uint64_t level) const;

  ProductDepth depth_;
  Vertex size_ = 0;
  std::vector<std::uint32_t> layers_;                      ///< those that occur
  std::vector<Ends> low_, high_, reader_low_, reader_high_;  ///< by layer and place: ends of what it reads, and of who reads it
  ProductName name_;
  Ends name_low_, name_high_;  ///< the row that names
  std::vector<std::optional<View>> views_;
  std::set<Cuts> known_;
};

}  // namespace sightline::sight

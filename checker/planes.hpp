// Inside of reach and views: grids on which all is the same a row and a column further on, and arcs lead down the line (theory 16.103).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bit_reach.hpp"

namespace checker {

class Plane {
public:
  /// A cell: so many grid rows further up, so many columns to the right.
  struct Offset {
    Vertex up;
    std::int64_t across;
  };
  using Offsets = std::vector<Offset>;

  /// For layers whose arcs lead down, all the same `width` tokens further on. Null where they are not the same a column further on, or much is read.
  [[nodiscard]] static std::unique_ptr<Plane> find(const Layout& layout, const std::map<std::uint32_t, ReadLayer>& layers, Vertex width);
  /// Nothing where steps to one side do not reach what steps to both do.
  [[nodiscard]] std::optional<Reach> layers(const ReachQuestion& question) const;
  [[nodiscard]] std::optional<Unseen> unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) const;

  /// Of every cell the layer behind which it is in sight, the list after its first `skip` layers; `hidden`: never. Null where `layers` says nothing.
  static constexpr std::uint32_t hidden = ~std::uint32_t{0};
  [[nodiscard]] const std::vector<std::uint32_t>* arrivals(std::uint64_t skip) const;
  [[nodiscard]] std::size_t cell(Vertex up, std::int64_t across) const { return std::size_t{up} * span_ + static_cast<std::size_t>(across + (width - 1)); }
  [[nodiscard]] const Offsets& steps(std::uint32_t layer) const { return steps_.at(layer); }
  [[nodiscard]] bool holds(std::int64_t row, std::int64_t column) const { return row >= 0 && row < height && column >= 0 && column < width; }

  const Vertex width, height;

private:
  Plane(const Layout& layout, Vertex width) : width(width), height(layout.tokens / width), layout_(layout), span_(2 * std::size_t{width} - 1) {}
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> follow(std::uint64_t skip) const;
  /// The least reader of such a token that it is to see.
  [[nodiscard]] std::optional<Vertex> least_reader(const Offset& offset, const ReachQuestion& question) const;
  [[nodiscard]] Offset offset_of(std::size_t cell) const { return {static_cast<Vertex>(cell / span_), static_cast<std::int64_t>(cell % span_) - (width - 1)}; }

  const Layout& layout_;
  std::size_t span_;  ///< cells of a grid row
  std::map<std::uint32_t, Offsets> steps_;  ///< by layer, but for the own token
  bool has_free_order_ = true;
  mutable std::map<std::uint64_t, std::optional<std::vector<std::uint32_t>>> known_;
};

/// That of the layout of a memory, found once; nullptr for nothing. For layouts of at least two tokens, without registers.
[[nodiscard]] const Plane* find_plane(ReachMemory& memory);

}  // namespace checker

// Inside of reach: layouts on a grid whose rows are few boxes (docs/theory.md 16.108).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "read_layers.hpp"

namespace checker {

/// A square matrix of bits: for each place on a side of the grid some places of that side.
class SideMatrix {
public:
  explicit SideMatrix(Vertex side) : side_(side), words_((std::size_t{side} + 63) / 64), bits_(side * words_) {}
  [[nodiscard]] Vertex side() const { return side_; }
  [[nodiscard]] bool get(Vertex from, Vertex to) const { return (bits_[from * words_ + to / 64] >> (to % 64) & 1) != 0; }
  void set(Vertex from, Vertex to) { bits_[from * words_ + to / 64] |= std::uint64_t{1} << (to % 64); }
  /// The places of one row, or of several rows of matrices together.
  void join_row(Vertex from, std::vector<std::uint64_t>& into) const {
    for (std::size_t w = 0; w < words_; ++w) into[w] |= bits_[from * words_ + w];
  }
  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] bool contains(const SideMatrix& other) const;
  [[nodiscard]] SideMatrix times(const SideMatrix& right) const;  ///< i to k where i to j here and j to k there
  friend bool operator==(const SideMatrix&, const SideMatrix&) = default;

private:
  Vertex side_;
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// Token (r, c) to all (r', c') with r to r' and c to c'.
struct BoxPair {
  SideMatrix rows, columns;
  friend bool operator==(const BoxPair&, const BoxPair&) = default;
};

class Boxes {
public:
  /// Null where the rows of some relation of the layers are no few boxes on any grid that token 0 suggests, and with registers.
  static std::unique_ptr<Boxes> find(const Layout& layout);
  [[nodiscard]] static bool takes(const Layout& layout, const ReachQuestion& question);

  /// Nothing where views come to be many boxes.
  [[nodiscard]] std::optional<Reach> layers(const ReachQuestion& question) const;
  [[nodiscard]] std::optional<Unseen> unseen(const ReachQuestion& question, std::optional<std::uint64_t> depth) const;

private:
  class Walk;
  Boxes(const Layout& layout, Vertex width) : layout_(layout), width_(width), height_(layout.tokens / width) {}

  const Layout& layout_;
  Vertex width_, height_;
  std::map<std::uint32_t, std::vector<BoxPair>> layers_;
};

}  // namespace checker

// What one head's row reveals, as a canonical sequence of words (theory.md 15.4, L1-L6).
#pragma once

#include <cstdint>
#include <vector>

#include "sightline/layout/layout.hpp"
#include "sightline/sight/labels.hpp"

namespace sightline::sight {

/// The rows of one relation, unpacked, under one rule.
class RowLabeller {
public:
  /// Throws ArgumentError for `alibi` on a relation whose relative colours are not distances.
  RowLabeller(const layout::Relation& relation, RowRule rule);

  /// Appends the row label of `reader` when vertex v carries the label state[v]. Equal words = equal row labels.
  void append(Vertex reader, const std::uint32_t* state, std::vector<std::uint32_t>& words);

private:
  struct Row {
    std::vector<Vertex> read;
    std::vector<std::uint32_t> colour;  // parallel to read: index into colours_
    bool one_matrix_colour = true;      // a factor common to the whole row: it cancels
    bool one_relative_colour = true;
    bool relative_injective = true;     // no relative colour twice: with two states nothing else cancels
  };
  /// A monomial w_matrix u_relative, 0 = factor divided out.
  struct Colour {
    std::uint32_t matrix = 0, relative = 0;
    friend auto operator<=>(const Colour&, const Colour&) = default;
  };
  struct Entry {
    std::uint32_t state = 0;
    Colour colour;
    std::uint32_t count = 0;
  };
  enum class Factor { matrix, relative, both };

  void count_arcs(const Row& row, const std::uint32_t* state);
  bool divide_by(Factor factor);
  void append_entries(std::vector<std::uint32_t>& words);
  bool divide_by_monomial();
  void append_polynomials(const Row& row, std::vector<std::uint32_t>& words);

  RowRule rule_;
  std::vector<Row> rows_;
  std::vector<Colour> colours_;
  std::uint64_t count_base_ = 0, relative_base_ = 0;
  bool packs_ = false;  // colours and count fit one word
  std::vector<std::uint64_t> keys_;  // scratch
  std::vector<Entry> entries_;       // scratch
};

}  // namespace sightline::sight

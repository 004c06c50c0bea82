// Permutations of 0 .. degree-1 with small support, and how they are written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sightline::group {

using Point = std::uint32_t;

/// A permutation stored by its support: moved[k] -> image[k], moved sorted ascending, moved[k] != image[k]. Everything else
/// is fixed. Convention of theory.md 1.1: (s t)(x) = s(t(x)), the right one acts first. Copies share the support: groups are handed on,
/// and some of their generators move a million points.
class Permutation {
public:
  Permutation() = default;  ///< identity
  /// From all images, images[x] = s(x). Throws ArgumentError when it is not a bijection of 0..size-1.
  static Permutation from_images(const std::vector<Point>& images);
  /// From its support. Throws ArgumentError when the images are not a rearrangement of the moved points.
  static Permutation from_support(std::vector<Point> moved, std::vector<Point> image);
  static Permutation transposition(Point a, Point b);

  [[nodiscard]] Point operator()(Point x) const;  ///< O(log support), O(1) where few points between the first and the last stay
  [[nodiscard]] bool is_identity() const { return moved().empty(); }
  [[nodiscard]] const std::vector<Point>& moved() const { return support_ ? support_->moved : none(); }
  [[nodiscard]] const std::vector<Point>& image() const { return support_ ? support_->image : none(); }
  [[nodiscard]] std::vector<Point> images(Point degree) const;
  [[nodiscard]] Permutation inverse() const;
  /// The permutation x -> (*this)(other(x)).
  [[nodiscard]] Permutation after(const Permutation& other) const;
  /// The restriction to 0..degree-1, which must be mapped onto itself.
  [[nodiscard]] Permutation restricted(Point degree) const;
  friend bool operator==(const Permutation& a, const Permutation& b) { return a.support_ == b.support_ || (a.moved() == b.moved() && a.image() == b.image()); }

private:
  struct Support {
    std::vector<Point> moved, image;
  };
  explicit Permutation(Support support) : support_(std::make_shared<const Support>(std::move(support))) {}
  [[nodiscard]] static const std::vector<Point>& none();

  std::shared_ptr<const Support> support_;  ///< null: the identity
};

/// Index of the first of the sorted, distinct points that is not below x. O(log of the points between the first and the last that are missing).
[[nodiscard]] std::size_t find_place(const std::vector<Point>& moved, Point x);

/// Cycle notation, 0-based, "(0 1)(2 3 4)"; the identity is "()". Cycles start at their least point, sorted by it.
[[nodiscard]] std::string to_cycles(const Permutation& permutation);
/// Throws InputError naming the character (1-based) where the text stops making sense; points must be < degree.
[[nodiscard]] Permutation parse_cycles(std::string_view text, Point degree);
/// @param fail  told where (0-based) and why, for texts inside of others; it throws
[[nodiscard]] Permutation parse_cycles(std::string_view text, Point degree, const std::function<void(std::size_t, const std::string&)>& fail);

}  // namespace sightline::group

#include "sightline/group/permutation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "sightline/base/error.hpp"

namespace sightline::group {

namespace {

/// Does `image` hold the sorted points `moved`, which are distinct, once each? Marks where that is smaller than sorting.
bool is_rearrangement(const std::vector<Point>& moved, const std::vector<Point>& image) {
  if (moved.empty() || moved.back() / 64 > moved.size()) {
    std::vector<Point> sorted = image;
    std::sort(sorted.begin(), sorted.end());
    return sorted == moved;
  }
  std::vector<bool> open(std::size_t{moved.back()} + 1, false);
  for (const Point x : moved) open[x] = true;
  for (const Point y : image) {
    if (y >= open.size() || !open[y]) return false;
    open[y] = false;
  }
  return true;
}

}  // namespace

// The points are distinct, so x is no farther from the beginning than from moved[0], and at least as far from the end as from the last one:
// where few points between stay, little is left to search.
std::size_t find_place(const std::vector<Point>& moved, Point x) {
  if (moved.empty() || x <= moved.front()) return 0;
  if (x > moved.back()) return moved.size();
  const std::size_t after = moved.back() - x, before = x - moved.front();
  const auto from = moved.begin() + static_cast<std::ptrdiff_t>(moved.size() - 1 - std::min(moved.size() - 1, after));
  const auto to = moved.begin() + static_cast<std::ptrdiff_t>(std::min(moved.size(), before + 1));
  return static_cast<std::size_t>(std::lower_bound(from, to, x) - moved.begin());
}

const std::vector<Point>& Permutation::none() {
  static const std::vector<Point> empty;
  return empty;
}

Permutation Permutation::from_images(const std::vector<Point>& images) {
  const std::size_t size = images.size();
  std::vector<std::uint64_t> taken(size / 64 + 1, 0);
  std::uint64_t* const marks = taken.data();
  const Point* const image = images.data();
  std::size_t support = 0;
  for (std::size_t x = 0; x < size; ++x) {
    const Point y = image[x];
    const std::uint64_t bit = std::uint64_t{1} << (y % 64);
    if (y >= size || (marks[y / 64] & bit) != 0) throw ArgumentError(fmt::format("the images are not a bijection of 0..{}: image of {} is {}", size - 1, x, y));
    marks[y / 64] |= bit;
    support += y != x ? 1 : 0;
  }
  Support result{std::vector<Point>(support), std::vector<Point>(support)};
  Point *moved = result.moved.data(), *to = result.image.data();
  for (std::size_t x = 0, k = 0; k < support; ++x) {
    // Written over by the next point where this one stays.
    moved[k] = static_cast<Point>(x);
    to[k] = image[x];
    k += image[x] != x ? 1 : 0;
  }
  return Permutation(std::move(result));
}

Permutation Permutation::from_support(std::vector<Point> moved, std::vector<Point> image) {
  if (moved.size() != image.size()) throw ArgumentError("a permutation needs one image for every moved point");
  if (!std::is_sorted(moved.begin(), moved.end())) {
    std::vector<std::size_t> by_point(moved.size());
    std::iota(by_point.begin(), by_point.end(), std::size_t{0});
    std::sort(by_point.begin(), by_point.end(), [&](std::size_t a, std::size_t b) { return moved[a] < moved[b]; });
    std::vector<Point> sorted_moved(moved.size()), sorted_image(moved.size());
    for (std::size_t k = 0; k < by_point.size(); ++k) {
      sorted_moved[k] = moved[by_point[k]];
      sorted_image[k] = image[by_point[k]];
    }
    moved.swap(sorted_moved);
    image.swap(sorted_image);
  }
  const bool twice = std::adjacent_find(moved.begin(), moved.end()) != moved.end();
  if (twice || !is_rearrangement(moved, image)) {
    throw ArgumentError("the images are not a rearrangement of the moved points");
  }
  Support result;
  for (std::size_t k = 0; k < moved.size(); ++k) {
    if (moved[k] == image[k]) continue;
    result.moved.push_back(moved[k]);
    result.image.push_back(image[k]);
  }
  return Permutation(std::move(result));
}

Permutation Permutation::transposition(Point a, Point b) {
  if (a == b) return {};
  return Permutation({{std::min(a, b), std::max(a, b)}, {std::max(a, b), std::min(a, b)}});
}

Point Permutation::operator()(Point x) const {
  if (!support_) return x;
  const std::size_t at = find_place(support_->moved, x);
  return at == support_->moved.size() || support_->moved[at] != x ? x : support_->image[at];
}

std::vector<Point> Permutation::images(Point degree) const {
  const std::vector<Point>&moved = this->moved(), &image = this->image();
  if (!moved.empty() && moved.back() >= degree) throw ArgumentError(fmt::format("the permutation moves {}, beyond degree {}", moved.back(), degree));
  std::vector<Point> result(degree);
  std::iota(result.begin(), result.end(), Point{0});
  for (std::size_t k = 0; k < moved.size(); ++k) result[moved[k]] = image[k];
  return result;
}

Permutation Permutation::inverse() const {
  const std::vector<Point>&moved = this->moved(), &image = this->image();
  Support result{moved, std::vector<Point>(moved.size())};
  for (std::size_t k = 0; k < moved.size(); ++k) result.image[find_place(moved, image[k])] = moved[k];
  return Permutation(std::move(result));
}

Permutation Permutation::after(const Permutation& other) const {
  const std::vector<Point>&moved = this->moved(), &image = this->image();
  const std::vector<Point>&their_moved = other.moved(), &their_image = other.image();
  Support result;
  auto keep = [&](Point x, Point y) {
    if (x == y) return;
    result.moved.push_back(x);
    result.image.push_back(y);
  };
  // Both supports are sorted, so one merge visits every point that either of them moves, in order.
  std::size_t mine = 0, theirs = 0;
  while (mine < moved.size() || theirs < their_moved.size()) {
    if (theirs == their_moved.size() || (mine < moved.size() && moved[mine] < their_moved[theirs])) {
      keep(moved[mine], image[mine]);
      ++mine;
    } else {
      const Point x = their_moved[theirs];
      if (mine < moved.size() && moved[mine] == x) ++mine;
      keep(x, (*this)(their_image[theirs]));
      ++theirs;
    }
  }
  return Permutation(std::move(result));
}

Permutation Permutation::restricted(Point degree) const {
  const std::vector<Point>&moved = this->moved(), &image = this->image();
  Support result;
  for (std::size_t k = 0; k < moved.size() && moved[k] < degree; ++k) {
    if (image[k] >= degree) throw ArgumentError(fmt::format("the permutation maps {} to {}, so it does not preserve 0..{}", moved[k], image[k], degree - 1));
    result.moved.push_back(moved[k]);
    result.image.push_back(image[k]);
  }
  return Permutation(std::move(result));
}

std::string to_cycles(const Permutation& permutation) {
  if (permutation.is_identity()) return "()";
  const auto& moved = permutation.moved();
  const bool whole = std::size_t{moved.back()} - moved.front() + 1 == moved.size();  // the place of a point is its distance from the first
  std::vector<bool> done(moved.size(), false);
  std::size_t digits = 2;
  for (Point x = moved.back(); x >= 10; x /= 10) ++digits;
  std::string text(moved.size() * (digits + 1), '\0');  // a separator, digits; half as many brackets again at most
  char *const begin = text.data(), *end = begin;
  for (std::size_t k = 0; k < moved.size(); ++k) {
    if (done[k]) continue;
    char before = '(';
    std::size_t at = k;
    while (!done[at]) {
      done[at] = true;
      *end++ = std::exchange(before, ' ');
      end = std::to_chars(end, end + digits, moved[at]).ptr;
      at = whole ? permutation.image()[at] - moved.front() : find_place(moved, permutation.image()[at]);
    }
    *end++ = ')';
  }
  text.resize(static_cast<std::size_t>(end - begin));
  if (text.size() + text.size() / 4 < text.capacity()) text.shrink_to_fit();
  return text;
}

namespace {

std::string found_at(std::string_view text, std::size_t at) {
  if (at >= text.size()) return "the end of the text";
  return fmt::format("\"{}\"", text[at]);
}

}  // namespace

Permutation parse_cycles(std::string_view text, Point degree) {
  return parse_cycles(text, degree, [text](std::size_t at, const std::string& message) { throw InputError(fmt::format("cycles \"{}\", character {}: {}", text, at + 1, message)); });
}

Permutation parse_cycles(std::string_view text, Point degree, const std::function<void(std::size_t, const std::string&)>& fail) {
  std::size_t at = 0;
  auto skip_blanks = [&] {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\n' || text[at] == '\r')) ++at;
  };
  std::vector<Point> moved, image;
  // Sorted (point, character) pairs are checked at the end, so that a long cycle costs n log n, not n^2.
  std::vector<std::pair<Point, std::size_t>> seen;
  skip_blanks();
  if (at == text.size()) fail(at, "expected \"(\", found the end of the text (the identity is \"()\")");
  while (at < text.size()) {
    if (text[at] != '(') fail(at, fmt::format("expected \"(\" that opens a cycle, found {}", found_at(text, at)));
    ++at;
    skip_blanks();
    const std::size_t first = moved.size();
    while (at < text.size() && text[at] != ')') {
      const std::size_t start = at;
      std::uint64_t point = 0;
      while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
        point = std::min<std::uint64_t>(point * 10 + static_cast<std::uint64_t>(text[at] - '0'), std::uint64_t{1} << 40);
        ++at;
      }
      if (at == start) fail(at, fmt::format("expected a point or \")\", found {}", found_at(text, at)));
      if (point >= degree) fail(start, fmt::format("expected a point below {}, found {}", degree, text.substr(start, at - start)));
      seen.emplace_back(static_cast<Point>(point), start);
      moved.push_back(static_cast<Point>(point));
      skip_blanks();
      if (at < text.size() && text[at] == ',') {
        ++at;
        skip_blanks();
        if (at < text.size() && text[at] == ')') fail(at, "expected a point after \",\", found \")\"");
      }
    }
    if (at == text.size()) fail(at, "expected a point or \")\", found the end of the text");
    ++at;
    for (std::size_t k = first; k < moved.size(); ++k) image.push_back(k + 1 < moved.size() ? moved[k + 1] : moved[first]);
    skip_blanks();
  }
  std::sort(seen.begin(), seen.end());
  const auto twice = std::adjacent_find(seen.begin(), seen.end(), [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != seen.end()) fail((twice + 1)->second, fmt::format("point {} occurs twice (cycles are disjoint)", twice->first));
  return Permutation::from_support(std::move(moved), std::move(image));
}

}  // namespace sightline::group

#include "sightline/layout/run_pieces.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace sightline::layout {

namespace {

constexpr std::int64_t largest_step = std::int64_t{1} << 31;

std::int64_t floor_mod(std::int64_t a, std::int64_t m) { return ((a % m) + m) % m; }

// Smallest x >= from, largest x <= from, with x = anchor mod step.
std::int64_t round_up(std::int64_t from, std::int64_t anchor, std::int64_t step) { return from + floor_mod(anchor - from, step); }
std::int64_t round_down(std::int64_t from, std::int64_t anchor, std::int64_t step) { return from - floor_mod(from - anchor, step); }

std::int64_t invert(std::int64_t a, std::int64_t m) {
  std::int64_t r0 = m, r1 = floor_mod(a, m), t0 = 0, t1 = 1;
  while (r1 != 0) {
    const std::int64_t q = r0 / r1;
    r0 = std::exchange(r1, r0 - q * r1);
    t0 = std::exchange(t1, t0 - q * t1);
  }
  return floor_mod(t0, m);
}

bool is_constant_interval(const Piece& piece) { return piece.step == 1 && !piece.lo.moves && !piece.hi.moves; }

bool are_sorted_intervals(const std::vector<Piece>& pieces) {
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    if (!is_constant_interval(pieces[k]) || (k > 0 && pieces[k - 1].lo.base > pieces[k].lo.base)) return false;
  }
  return true;
}

// The merge of two sorted lists of constant intervals; `pick` gets (colour in a or 0, colour in b or 0).
template <typename Pick> std::vector<Piece> sweep(const std::vector<Piece>& a, const std::vector<Piece>& b, Pick pick) {
  std::vector<Piece> out;
  std::size_t x = 0, y = 0;
  std::int64_t at = 0;
  while (x < a.size() || y < b.size()) {
    std::int64_t next = INT64_MAX;
    std::uint32_t in_a = 0, in_b = 0;
    const auto look = [&](const std::vector<Piece>& list, std::size_t k, std::uint32_t& colour) {
      if (k == list.size()) return;
      const Piece& piece = list[k];
      if (piece.lo.base > at) {
        next = std::min(next, piece.lo.base);
      } else {
        colour = piece.colour;
        next = std::min(next, piece.hi.base + 1);
      }
    };
    look(a, x, in_a);
    look(b, y, in_b);
    if (const std::uint32_t colour = pick(in_a, in_b); colour != 0) {
      if (!out.empty() && out.back().hi.base + 1 == at && out.back().colour == colour) {
        out.back().hi.base = next - 1;
      } else {
        Piece piece;
        piece.lo.base = at;
        piece.hi.base = next - 1;
        piece.colour = colour;
        out.push_back(piece);
      }
    }
    at = next;
    while (x < a.size() && a[x].hi.base < at) ++x;
    while (y < b.size() && b[y].hi.base < at) ++y;
  }
  return out;
}

}  // namespace

void RowAlgebra::ask_split(std::int64_t at) {
  if (!split_) split_ = static_cast<Vertex>(at);
}

bool RowAlgebra::less_equal(Bound a, Bound b) {
  const bool at_begin = value(a, begin_) <= value(b, begin_);
  if (a.moves == b.moves) return at_begin;
  const bool at_end = value(a, end_ - 1) <= value(b, end_ - 1);
  if (at_begin != at_end) ask_split(a.moves ? b.base - a.base + 1 : a.base - b.base);
  return at_begin;
}

void RowAlgebra::add(Piece piece, std::vector<Piece>& out) {
  if (end_ - begin_ == 1) {
    for (Bound* bound : {&piece.lo, &piece.hi, &piece.anchor}) *bound = {value(*bound, begin_), false};
  }
  if (piece.step > 1) {
    if (piece.lo.moves == piece.anchor.moves) piece.lo.base = round_up(piece.lo.base, piece.anchor.base, piece.step);
    if (piece.hi.moves == piece.anchor.moves) piece.hi.base = round_down(piece.hi.base, piece.anchor.base, piece.step);
  }
  if (!less_equal(piece.lo, piece.hi)) return;
  if (piece.lo == piece.hi && piece.lo.moves == piece.anchor.moves) piece.step = 1;
  out.push_back(piece);
}

void RowAlgebra::append_pieces(std::span<const AffineRun> runs, std::vector<Piece>& out) {
  for (const AffineRun& run : runs) {
    Piece piece;
    piece.anchor = {run.lo_base, run.lo_moves};
    piece.lo = larger(piece.anchor, larger({run.floor_base, run.floor_moves}, {0, false}));
    piece.hi = smaller({run.hi_base, run.hi_moves}, {run.limit - 1, false});
    piece.step = run.step;
    piece.colour = run.colour;
    add(piece, out);
    if (split_) return;
  }
}

bool RowAlgebra::meet_classes(const Piece& a, const Piece& b, Piece& out) {
  if (a.step == 1 || b.step == 1) {
    const Piece& sparse = a.step == 1 ? b : a;
    out.anchor = sparse.anchor;
    out.step = sparse.step;
    return true;
  }
  if (a.anchor.moves != b.anchor.moves) {
    ask_split(std::int64_t{begin_} + 1);
    return true;
  }
  const std::int64_t common = std::gcd(a.step, b.step), lcm = a.step / common * b.step;
  if (floor_mod(a.anchor.base - b.anchor.base, common) != 0) return false;
  const std::int64_t m = b.step / common;
  const std::int64_t k =
      m == 1 ? 0 : floor_mod((b.anchor.base - a.anchor.base) / common, m) * invert(a.step / common, m) % m;
  out.anchor = {a.anchor.base + a.step * k, a.anchor.moves};
  out.step = lcm;
  // Steps beyond every vertex are written as single vertices, which takes a single reader.
  if (lcm >= largest_step && end_ - begin_ > 1) ask_split(std::int64_t{begin_} + 1);
  return true;
}

// `common` is the part of a's class inside an overlap that has to go: the rest of a between common.lo and common.hi.
void RowAlgebra::subtract_class(const Piece& a, const Piece& common, std::vector<Piece>& out) {
  Piece rest = a;
  const std::int64_t classes = common.step / a.step;
  const auto length = [&](Vertex reader) { return value(common.hi, reader) - value(common.lo, reader); };
  const std::int64_t members = std::max(length(begin_), length(end_ - 1)) / common.step + 1;
  if (classes - 1 <= members + 1) {
    rest.lo = common.lo;
    rest.hi = common.hi;
    rest.step = common.step;
    for (std::int64_t k = 1; k < classes; ++k) {
      rest.anchor = {common.anchor.base + k * a.step, common.anchor.moves};
      add(rest, out);
    }
    return;
  }
  // Few members: the gaps between them. The members are the same for all readers as long as neither the first nor the
  // last one leaves the overlap and no other one enters.
  const std::int64_t shift = common.anchor.moves ? std::int64_t{begin_} : 0;
  const auto member_bound = [&](std::int64_t value_at_begin) { return Bound{value_at_begin - shift, common.anchor.moves}; };
  const std::int64_t anchor = value(common.anchor, begin_);
  const std::int64_t first = round_up(value(common.lo, begin_), anchor, common.step);
  const std::int64_t last = round_down(value(common.hi, begin_), anchor, common.step);
  const bool same = less_equal(common.lo, member_bound(first)) && less(member_bound(first - common.step), common.lo) &&
                    less_equal(member_bound(last), common.hi) && less(common.hi, member_bound(last + common.step));
  if (!same || split_) return;
  rest.lo = common.lo;
  for (std::int64_t member = first; member <= last; member += common.step) {
    rest.hi = member_bound(member - 1);
    add(rest, out);
    rest.lo = member_bound(member + 1);
  }
  rest.hi = common.hi;
  add(rest, out);
}

void RowAlgebra::subtract_one(const Piece& a, const Piece& b, std::vector<Piece>& out) {
  Piece common;
  common.lo = larger(a.lo, b.lo);
  common.hi = smaller(a.hi, b.hi);
  if (split_) return;
  if (!less_equal(common.lo, common.hi) || !meet_classes(a, b, common)) {
    out.push_back(a);
    return;
  }
  if (split_) return;
  Piece side = a;
  if (less(a.lo, b.lo)) {
    side.hi = {b.lo.base - 1, b.lo.moves};
    add(side, out);
  }
  side = a;
  if (less(b.hi, a.hi)) {
    side.lo = {b.hi.base + 1, b.hi.moves};
    add(side, out);
  }
  if (common.step != a.step) subtract_class(a, common, out);
}

std::vector<Piece> RowAlgebra::subtract_all(Piece from, const std::vector<Piece>& others) {
  std::vector<Piece> rest{from}, next;
  for (const Piece& other : others) {
    next.clear();
    for (const Piece& piece : rest) {
      subtract_one(piece, other, next);
      if (split_) return {};
    }
    rest.swap(next);
  }
  return rest;
}

std::vector<Piece> RowAlgebra::subtract(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  if (are_sorted_intervals(a) && are_sorted_intervals(b)) {
    return sweep(a, b, [](std::uint32_t in_a, std::uint32_t in_b) { return in_b == 0 ? in_a : 0; });
  }
  std::vector<Piece> out;
  for (const Piece& piece : a) {
    const auto rest = subtract_all(piece, b);
    if (split_) return {};
    out.insert(out.end(), rest.begin(), rest.end());
  }
  return out;
}

std::vector<Piece> RowAlgebra::intersect(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  if (are_sorted_intervals(a) && are_sorted_intervals(b)) {
    return sweep(a, b, [](std::uint32_t in_a, std::uint32_t in_b) { return in_b == 0 ? 0 : in_a; });
  }
  std::vector<Piece> out;
  for (const Piece& x : a) {
    for (const Piece& y : b) {
      Piece common;
      common.colour = x.colour;
      common.lo = larger(x.lo, y.lo);
      common.hi = smaller(x.hi, y.hi);
      if (split_) return {};
      if (!less_equal(common.lo, common.hi) || !meet_classes(x, y, common)) continue;
      if (!split_) add(common, out);
      if (split_) return {};
    }
  }
  return out;
}

std::vector<Piece> RowAlgebra::unite(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  if (are_sorted_intervals(a) && are_sorted_intervals(b)) {
    return sweep(a, b, [](std::uint32_t in_a, std::uint32_t in_b) { return in_a != 0 ? in_a : in_b; });
  }
  // An overlap of a pair has to go from one of the two: from b, whose colour yields, unless the colours agree and b is
  // the denser one, which would fall to pieces.
  const auto goes_from_a = [](const Piece& x, const Piece& y) { return x.colour == y.colour && x.step > y.step; };
  std::vector<Piece> out, others;
  for (const Piece& x : a) {
    others.clear();
    for (const Piece& y : b) {
      if (goes_from_a(x, y)) others.push_back(y);
    }
    const auto rest = subtract_all(x, others);
    if (split_) return {};
    out.insert(out.end(), rest.begin(), rest.end());
  }
  for (const Piece& y : b) {
    others.clear();
    for (const Piece& x : a) {
      if (!goes_from_a(x, y)) others.push_back(x);
    }
    const auto rest = subtract_all(y, others);
    if (split_) return {};
    out.insert(out.end(), rest.begin(), rest.end());
  }
  return out;
}

void RowAlgebra::append_runs(std::vector<Piece> pieces, std::int64_t limit, std::vector<AffineRun>& out) const {
  std::sort(pieces.begin(), pieces.end(), [&](const Piece& a, const Piece& b) { return value(a.lo, begin_) < value(b.lo, begin_); });
  std::size_t kept = 0;
  for (const Piece& piece : pieces) {
    if (kept > 0) {
      Piece& last = pieces[kept - 1];
      if (last.step == 1 && piece.step == 1 && last.colour == piece.colour && last.hi.moves == piece.lo.moves &&
          last.hi.base + 1 == piece.lo.base) {
        last.hi = piece.hi;
        continue;
      }
    }
    pieces[kept++] = piece;
  }
  pieces.resize(kept);
  for (const Piece& piece : pieces) {
    AffineRun run;
    run.lo_base = piece.lo.base;
    run.lo_moves = piece.lo.moves;
    run.hi_base = piece.hi.base;
    run.hi_moves = piece.hi.moves;
    run.limit = limit;
    run.step = static_cast<Vertex>(piece.step);
    run.colour = piece.colour;
    if (piece.step > 1 && piece.lo.moves != piece.anchor.moves) {
      // The class moves against its lower bound: start the class below the bound for every reader, and let the floor cut.
      const std::int64_t below = piece.anchor.moves ? piece.lo.base - (std::int64_t{end_} - 1) : piece.lo.base + begin_;
      run.lo_base = round_down(below, piece.anchor.base, piece.step);
      run.lo_moves = piece.anchor.moves;
      run.floor_base = piece.lo.base;
      run.floor_moves = piece.lo.moves;
    }
    out.push_back(run);
  }
}

}  // namespace sightline::layout

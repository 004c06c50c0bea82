#include "dense_oracle.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace sightline::layout::oracle {

namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

// Which block position x lies in: boundaries at shift + k size; with wrap the piece before the first boundary inside
// 0 .. extent-1 and the piece after the last are one, unless 0 itself is a boundary.
std::int64_t block_of(std::int64_t x, std::int64_t extent, std::int64_t size, std::int64_t shift, bool wrap) {
  const std::int64_t first = floor_div(0 - shift, size), mine = floor_div(x - shift, size);
  const std::int64_t last = floor_div(extent - 1 - shift, size);
  const bool boundary_at_zero = (shift % size + size) % size == 0;
  return wrap && !boundary_at_zero && mine == last ? first : mine;
}

bool in_window(std::int64_t i, std::int64_t j, std::int64_t n, std::int64_t before, std::int64_t after, std::int64_t dilation, bool wrap) {
  for (std::int64_t k = -before; k <= after; ++k) {
    const std::int64_t at = i + k * dilation;
    if (at == j || (wrap && ((at - j) % n) == 0)) return true;
  }
  return false;
}

bool reads(const PatternSpec& s, const PatternSize& size, std::int64_t i, std::int64_t j) {
  const std::int64_t n = size.tokens;
  switch (s.kind) {
  case PatternKind::self: return i == j;
  case PatternKind::window:
  case PatternKind::ring: {
    for (const std::int64_t g : s.global) {
      if (g == i || g == j) return true;
    }
    const bool wrap = s.kind == PatternKind::ring || s.wrap.value_or(false);
    if (s.radius) return in_window(i, j, n, *s.radius, *s.radius, s.dilation, wrap);
    return in_window(i, j, n, s.before.value_or(0), s.after.value_or(0), s.dilation, wrap);
  }
  case PatternKind::blocks: return i / *s.size == j / *s.size;
  case PatternKind::shifted_blocks: {
    const bool wrap = s.wrap.value_or(true);
    return block_of(i, n, *s.size, *s.shift, wrap) == block_of(j, n, *s.size, *s.shift, wrap);
  }
  case PatternKind::strided: {
    const std::int64_t reach = s.variant == "code" ? *s.stride - 1 : *s.stride;
    const bool local = std::abs(i - j) <= reach, summary = (i - j) % *s.stride == 0;
    return s.part == "local" ? local : s.part == "summary" ? summary : local || summary;
  }
  case PatternKind::fixed: {
    const bool local = i / *s.stride == j / *s.stride;
    if (s.part == "local") return local;
    const bool summary = j % *s.stride >= *s.stride - *s.summary || i == j;
    return s.part == "summary" ? summary : local || summary;
  }
  case PatternKind::grid: {
    const std::int64_t h = s.shape[0], w = s.shape[1], y = i / w, x = i % w, v = j / w, u = j % w;
    const bool wrap = s.wrap.value_or(false);
    if (s.grid_rows) return y == v;
    if (s.grid_columns) return x == u;
    if (!s.grid_window.empty()) {
      std::int64_t dy = std::abs(y - v), dx = std::abs(x - u);
      if (wrap) dy = std::min(dy, h - dy), dx = std::min(dx, w - dx);
      return dy <= s.grid_window[0] && dx <= s.grid_window[1];
    }
    const std::int64_t p = s.grid_shift.empty() ? 0 : s.grid_shift[0], q = s.grid_shift.empty() ? 0 : s.grid_shift[1];
    return block_of(y, h, s.grid_blocks[0], p, wrap) == block_of(v, h, s.grid_blocks[0], p, wrap) &&
           block_of(x, w, s.grid_blocks[1], q, wrap) == block_of(u, w, s.grid_blocks[1], q, wrap);
  }
  case PatternKind::butterfly: return j == i || j == (i ^ *s.distance);
  case PatternKind::circulant:
    return std::any_of(s.offsets.begin(), s.offsets.end(), [&](std::int64_t o) { return (i + o - j) % n == 0; });
  case PatternKind::graph: {
    if (i == j && s.loops) return true;
    return std::any_of(s.edges.begin(), s.edges.end(), [&](const auto& e) {
      return (e.first == i && e.second == j) || (!s.directed && e.first == j && e.second == i);
    });
  }
  default: FAIL("no oracle for this kind");
  }
  return false;
}

std::uint32_t colour(const PatternSpec& s, const PatternSize& size, std::int64_t i, std::int64_t j) {
  const std::int64_t n = size.tokens;
  switch (s.kind) {
  case PatternKind::full: return 1;
  case PatternKind::rows: return std::count(s.rows[i].begin(), s.rows[i].end(), j) > 0 ? 1 : 0;
  case PatternKind::matrix: return static_cast<std::uint32_t>(s.matrix[i][j]);
  case PatternKind::star: return i == n || j == n || in_window(i, j, n, 1, 1, 1, true) ? 1 : 0;
  default: return i < n && j < n && reads(s, size, i, j) ? 1 : 0;
  }
}

}  // namespace

std::vector<Dense> make_dense(const PatternSpec& spec, const PatternSize& size) {
  const std::size_t vertices = size.tokens + size.registers;
  std::vector<Dense> out;
  if (spec.kind == PatternKind::per_head) {
    for (const PatternSpec& head : spec.of) out.push_back(make_dense(head, size).front());
  } else if (spec.of.empty()) {
    out.assign(1, Dense(vertices, std::vector<std::uint32_t>(vertices)));
    for (std::size_t i = 0; i < vertices; ++i) {
      for (std::size_t j = 0; j < vertices; ++j) {
        out[0][i][j] = colour(spec, size, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
      }
    }
  } else {
    out = make_dense(spec.of.front(), size);
    for (std::size_t k = 1; k < spec.of.size(); ++k) {
      const auto operand = make_dense(spec.of[k], size);
      if (out.size() < operand.size()) out.resize(operand.size(), out.front());
      for (std::size_t h = 0; h < out.size(); ++h) {
        for (std::size_t i = 0; i < vertices; ++i) {
          for (std::size_t j = 0; j < vertices; ++j) {
            std::uint32_t& a = out[h][i][j];
            const std::uint32_t b = operand[operand.size() == 1 ? 0 : h][i][j];
            if (spec.kind == PatternKind::union_of) a = a != 0 ? a : b;
            if (spec.kind == PatternKind::intersection_of) a = b != 0 ? a : 0;
            if (spec.kind == PatternKind::minus) a = b != 0 ? 0 : a;
          }
        }
      }
    }
  }
  if (spec.causal) {
    for (Dense& dense : out) {
      for (std::size_t i = 0; i < size.tokens; ++i) std::fill(dense[i].begin() + static_cast<std::ptrdiff_t>(i) + 1, dense[i].begin() + size.tokens, 0u);
    }
  }
  return out;
}

Dense expand(const Pattern& pattern) {
  const std::size_t vertices = pattern.vertex_count();
  Dense dense(vertices, std::vector<std::uint32_t>(vertices));
  std::uint64_t arcs = 0, run_count = 0;
  for (Vertex i = 0; i < vertices; ++i) {
    std::uint64_t degree = 0;
    const auto runs = pattern.row(i);
    for (std::size_t k = 0; k < runs.size(); ++k) {
      REQUIRE(runs[k].first <= runs[k].last);
      REQUIRE(runs[k].last < vertices);
      REQUIRE((runs[k].last - runs[k].first) % runs[k].step == 0);
      if (k > 0) REQUIRE(runs[k - 1].first < runs[k].first);
      for (std::uint64_t j = runs[k].first; j <= runs[k].last; j += runs[k].step) {
        REQUIRE_MESSAGE(dense[i][j] == 0, "runs overlap in row " << i);
        dense[i][j] = runs[k].colour;
        ++degree;
      }
    }
    REQUIRE(pattern.degree(i) == degree);
    arcs += degree;
    run_count += runs.size();
    if (vertices <= 24) {
      for (Vertex j = 0; j < vertices; ++j) REQUIRE(pattern.colour(i, j) == dense[i][j]);
    }
  }
  REQUIRE(pattern.arc_count() == arcs);
  REQUIRE(pattern.run_count() == run_count);
  return dense;
}

std::string compare(const Dense& expected, const Dense& found) {
  if (expected.size() != found.size()) return "sizes differ";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    for (std::size_t j = 0; j < expected.size(); ++j) {
      if (expected[i][j] != found[i][j]) {
        return fmt::format("row {} column {}: expected colour {}, found {}", i, j, expected[i][j], found[i][j]);
      }
    }
  }
  return "";
}

}  // namespace sightline::layout::oracle

#include "sightline/design/families.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>
#include <vector>

#include "sightline/base/error.hpp"

namespace sightline::design {

using layout::PatternKind;
using layout::PatternSpec;

namespace {

constexpr std::uint64_t most_named_points = std::uint64_t{1} << 24;

/// A name of one kind with small cases under one name: S_1 = C_1 = D_1 = trivial(1), C_2 = D_2 = S_2, D_3 = S_3.
Named settle(Named::Kind kind, std::uint64_t n) {
  Named named;
  named.a = n;
  named.kind = n == 1                                    ? Named::Kind::trivial
               : n == 2 && kind != Named::Kind::trivial  ? Named::Kind::symmetric
               : n == 3 && kind == Named::Kind::dihedral ? Named::Kind::symmetric
                                                         : kind;
  return named;
}

std::optional<Named> make_wreath(const Named& inside, const Named& outside) {
  const auto is_simple = [](const Named& part) { return part.kind < Named::Kind::torus; };
  if (!is_simple(inside) || !is_simple(outside))
    return std::nullopt;
  if (inside.a == 1)
    return outside;
  if (outside.a == 1)
    return inside;
  Named named;
  named.a = inside.a;
  named.b = outside.a;
  if (inside.kind == Named::Kind::trivial && outside.kind == Named::Kind::trivial) {
    named.a = inside.a * outside.a;
    named.b = 1;
    return named;
  }
  named.kind = Named::Kind::wreath;
  named.inside = inside.kind;
  named.outside = outside.kind;
  return named;
}

/// What follows the grammar of the group language (group/expression.hpp) as far as names go.
class NameReader {
public:
  explicit NameReader(std::string_view text) : text_(text) {}

  std::optional<Named> read() {
    skip();
    std::optional<Named> named = read_factor(0);
    return named && at_ == text_.size() && named->points() <= most_named_points ? named : std::nullopt;
  }

private:
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  bool take(std::string_view token) {
    if (text_.substr(at_, token.size()) != token)
      return false;
    at_ += token.size();
    skip();
    return true;
  }

  std::optional<std::uint64_t> read_number() {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value == 0 || value > 100'000'000)
      return std::nullopt;
    at_ = static_cast<std::size_t>(end - text_.data());
    skip();
    return value;
  }

  std::optional<Named> read_factor(int depth) {
    const std::optional<Named> inside = read_atom(depth);
    if (!inside || !take("wr"))
      return inside;
    const std::optional<Named> outside = read_atom(depth);
    return outside ? make_wreath(*inside, *outside) : std::nullopt;
  }

  std::optional<Named> read_atom(int depth) {
    if (depth > 50)
      return std::nullopt;
    if (take("(")) {
      std::optional<Named> named = read_factor(depth + 1);
      return take(")") ? named : std::nullopt;
    }
    using Kind = Named::Kind;
    const std::pair<std::string_view, Kind> letters[] = {
        {"C_", Kind::cyclic}, {"D_", Kind::dihedral}, {"S_", Kind::symmetric}, {"B_", Kind::wreath}};
    for (const auto& [letter, kind] : letters) {
      if (text_.substr(at_, 2) != letter)
        continue;
      at_ += 2;
      const std::optional<std::uint64_t> n = read_number();
      if (!n)
        return std::nullopt;
      return kind == Kind::wreath ? make_wreath(settle(Kind::symmetric, 2), settle(Kind::symmetric, *n))
                                  : settle(kind, *n);
    }
    const std::pair<std::string_view, Kind> words[] = {{"trivial", Kind::trivial},    {"cyclic", Kind::cyclic},
                                                       {"dihedral", Kind::dihedral},  {"symmetric", Kind::symmetric},
                                                       {"torus", Kind::torus},        {"grid", Kind::grid},
                                                       {"hypercube", Kind::hypercube}};
    for (const auto& [word, kind] : words) {
      if (!take(word))
        continue;
      if (!take("("))
        return std::nullopt;
      const std::optional<std::uint64_t> n = read_number();
      if (!n)
        return std::nullopt;
      Named named = kind < Kind::torus ? settle(kind, *n) : Named{kind, *n};
      if (kind == Kind::torus || kind == Kind::grid) {
        const std::optional<std::uint64_t> side = take(",") ? read_number() : std::nullopt;
        if (!side)
          return std::nullopt;
        named.b = *side;
      }
      return take(")") ? std::optional(named) : std::nullopt;
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string write_simple(Named::Kind kind, std::uint64_t n) {
  switch (kind) {
  case Named::Kind::cyclic:
    return fmt::format("C_{}", n);
  case Named::Kind::dihedral:
    return fmt::format("D_{}", n);
  case Named::Kind::symmetric:
    return fmt::format("S_{}", n);
  default:
    return fmt::format("trivial({})", n);
  }
}

PatternSpec make_grid_spec(std::uint64_t rows, std::uint64_t columns, std::uint64_t up, std::uint64_t aside,
                           bool wrap) {
  PatternSpec spec = make_kind_spec(PatternKind::grid);
  spec.shape = {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)};
  spec.grid_window = {static_cast<std::int64_t>(up), static_cast<std::int64_t>(aside)};
  spec.wrap = wrap;
  return spec;
}

PatternSpec make_blocks_spec(std::uint64_t size) {
  PatternSpec spec = make_kind_spec(PatternKind::blocks);
  spec.size = static_cast<std::int64_t>(size);
  return spec;
}

PatternSpec unite(std::vector<PatternSpec> of) { return combine_specs(PatternKind::union_of, std::move(of)); }
PatternSpec meet(PatternSpec x, PatternSpec y) {
  return combine_specs(PatternKind::intersection_of, {std::move(x), std::move(y)});
}
PatternSpec subtract(PatternSpec x, PatternSpec y) {
  return combine_specs(PatternKind::minus, {std::move(x), std::move(y)});
}

/// E of the inside in every block; others that each token reads there (trivial: but for the block's first token).
std::pair<std::optional<PatternSpec>, std::uint64_t> make_inside(const Named& named) {
  const auto a = static_cast<std::int64_t>(named.a);
  switch (named.inside) {
  case Named::Kind::trivial:
    return {meet(make_blocks_spec(named.a), make_window_spec(1, 0, false)), 1};
  case Named::Kind::cyclic: // the next token; the last reads the first
    return {meet(make_blocks_spec(named.a),
                 unite({make_window_spec(0, 1, false),
                        subtract(make_window_spec(a - 1, 0, false), make_window_spec(a - 2, 0, false))})),
            1};
  case Named::Kind::dihedral:
    // Four tokens: opposite ones read each other. Blocks that nothing else links must hang together: a ring.
    if (a == 4 && named.outside != Named::Kind::symmetric)
      return {meet(make_blocks_spec(named.a), subtract(make_window_spec(2, 2, false), make_window_spec(1, 1, false))),
              1};
    return {make_grid_spec(named.b, named.a, 0, 1, true), 2};
  default:
    if (named.outside == Named::Kind::symmetric)
      return {make_blocks_spec(named.a), named.a - 1};
    return {std::nullopt, 0};
  }
}

/// E of the outside between blocks, for a transitive inside: every token reads all tokens of so many other blocks
/// (trivial: but for the tokens of the first block).
std::pair<std::optional<PatternSpec>, std::uint64_t> make_outside(const Named& named) {
  const std::uint64_t a = named.a, b = named.b;
  const auto all = static_cast<std::int64_t>(a * b) - 1;
  const auto near = [&](std::uint64_t blocks, bool wrap) { return make_grid_spec(b, a, blocks, a - 1, wrap); };
  switch (named.outside) {
  case Named::Kind::trivial: // the block before
    return {subtract(meet(near(1, false), make_window_spec(all, 0, false)), make_blocks_spec(a)), 1};
  case Named::Kind::cyclic: // the block after; the last reads the first
    return {unite({subtract(meet(near(1, false), make_window_spec(0, all, false)), make_blocks_spec(a)),
                   subtract(make_window_spec(all, 0, false), near(b - 2, false))}),
            1};
  case Named::Kind::dihedral:
    if (b == 4)
      return {subtract(near(2, false), near(1, false)), 1};
    return {subtract(near(1, true), make_blocks_spec(a)), 2};
  default:
    return {std::nullopt, 0};
  }
}

LayerPlan make_wreath_pattern(const Named& named) {
  const std::uint64_t a = named.a, b = named.b, n = a * b;
  std::vector<PatternSpec> parts;
  const auto [inside, near] = make_inside(named);
  std::uint64_t pairs = near * (named.inside == Named::Kind::trivial ? n - b : n);
  if (inside)
    parts.push_back(*inside);
  if (named.inside == Named::Kind::trivial) {
    // The last tokens of the blocks in a ring.
    if (named.outside != Named::Kind::symmetric) {
      PatternSpec last = make_kind_spec(PatternKind::fixed);
      last.stride = static_cast<std::int64_t>(a);
      last.summary = 1;
      last.part = "summary";
      const bool both_ways = named.outside == Named::Kind::dihedral;
      parts.push_back(
          meet(make_window_spec(both_ways ? 1 : 0, 1, true, static_cast<std::int64_t>(a)), std::move(last)));
      pairs += both_ways ? 2 * b : b;
    }
  } else {
    const auto [outside, blocks] = make_outside(named);
    if (outside)
      parts.push_back(*outside);
    pairs += blocks * a * (named.outside == Named::Kind::trivial ? n - a : n);
  }
  if (parts.size() == 1 && parts[0].kind != PatternKind::minus && parts[0].kind != PatternKind::union_of)
    return {std::move(parts[0]), pairs}; // has its own loops
  parts.push_back(make_kind_spec(PatternKind::self));
  return {unite(std::move(parts)), pairs};
}

} // namespace

PatternSpec make_kind_spec(PatternKind kind) {
  PatternSpec spec;
  spec.kind = kind;
  return spec;
}

PatternSpec make_window_spec(std::int64_t before, std::int64_t after, bool wrap, std::int64_t dilation) {
  PatternSpec spec = make_kind_spec(PatternKind::window);
  spec.before = before;
  spec.after = after;
  spec.wrap = wrap;
  spec.dilation = dilation;
  return spec;
}

PatternSpec combine_specs(PatternKind kind, std::vector<PatternSpec> of) {
  PatternSpec spec = make_kind_spec(kind);
  spec.of = std::move(of);
  return spec;
}

std::uint64_t Named::points() const {
  switch (kind) {
  case Kind::torus:
  case Kind::grid:
  case Kind::wreath:
    return a * b;
  case Kind::hypercube:
    return a < 40 ? std::uint64_t{1} << a : std::uint64_t{1} << 40;
  default:
    return a;
  }
}

bool Named::is_transitive() const {
  if (kind == Kind::wreath)
    return inside != Kind::trivial && outside != Kind::trivial;
  return kind != Kind::trivial && kind != Kind::grid;
}

std::optional<Named> read_name(const std::string& text) { return NameReader(text).read(); }

std::string write_name(const Named& named) {
  switch (named.kind) {
  case Named::Kind::torus:
    return fmt::format("torus({},{})", named.a, named.b);
  case Named::Kind::grid:
    return fmt::format("grid({},{})", named.a, named.b);
  case Named::Kind::hypercube:
    return fmt::format("hypercube({})", named.a);
  case Named::Kind::wreath:
    return write_simple(named.inside, named.a) + " wr " + write_simple(named.outside, named.b);
  default:
    return write_simple(named.kind, named.a);
  }
}

std::optional<LayerPlan> make_known_pattern(const Named& named) {
  const std::uint64_t a = named.a, b = named.b, n = named.points();
  switch (named.kind) {
  case Named::Kind::trivial:
    if (n < 3)
      return std::nullopt;
    return LayerPlan{make_window_spec(1, 0, false), n - 1};
  case Named::Kind::cyclic:
    return LayerPlan{make_window_spec(0, 1, true), n};
  case Named::Kind::dihedral:
    return LayerPlan{make_window_spec(1, 1, true), 2 * n};
  case Named::Kind::symmetric:
    return std::nullopt; // nothing: every pattern that shows something shows all
  case Named::Kind::torus:
    if (a < 5 || b < 5)
      return std::nullopt;
    return LayerPlan{unite({make_grid_spec(a, b, 0, 1, true), make_grid_spec(a, b, 1, 0, true)}), 4 * n};
  case Named::Kind::grid:
    if (n < 3 || (a == 2 && b == 2))
      return std::nullopt;
    return LayerPlan{unite({make_grid_spec(a, b, 0, 1, false), make_grid_spec(a, b, 1, 0, false)}),
                     2 * (2 * n - a - b)};
  case Named::Kind::hypercube: {
    if (a < 3)
      return std::nullopt;
    std::vector<PatternSpec> steps;
    for (std::uint64_t q = 0; q < a; ++q) {
      steps.push_back(make_kind_spec(PatternKind::butterfly));
      steps.back().distance = std::int64_t{1} << q;
    }
    return LayerPlan{unite(std::move(steps)), a * n};
  }
  case Named::Kind::wreath:
    return make_wreath_pattern(named);
  }
  throw InternalError("unknown kind of group");
}

std::string describe_known_pattern(const Named& named) {
  switch (named.kind) {
  case Named::Kind::trivial:
    return "a directed path";
  case Named::Kind::cyclic:
    return "a directed ring";
  case Named::Kind::dihedral:
    return "a ring";
  case Named::Kind::torus:
    return "four neighbours on the torus";
  case Named::Kind::grid:
    return "four neighbours on the grid";
  case Named::Kind::hypercube:
    return "the edges of the cube";
  case Named::Kind::wreath: {
    if (named.inside == Named::Kind::symmetric && named.outside == Named::Kind::symmetric)
      return fmt::format("blocks of {}", named.a);
    std::string text;
    switch (named.inside) {
    case Named::Kind::trivial:
      text = "a directed path in every block";
      break;
    case Named::Kind::cyclic:
      text = "a directed ring in every block";
      break;
    case Named::Kind::dihedral:
      text = named.a == 4 && named.outside != Named::Kind::symmetric ? "two opposite pairs in every block"
                                                                     : "a ring in every block";
      break;
    default:
      break;
    }
    const std::string what = named.inside == Named::Kind::trivial ? "their last tokens" : "whole blocks";
    std::string between;
    switch (named.outside) {
    case Named::Kind::trivial:
      between = "whole blocks in a directed path";
      break;
    case Named::Kind::cyclic:
      between = what + " in a directed ring";
      break;
    case Named::Kind::dihedral:
      between = named.b == 4 && named.inside != Named::Kind::trivial ? "opposite whole blocks" : what + " in a ring";
      break;
    default:
      break;
    }
    return text.empty() ? between : between.empty() ? text : text + ", " + between;
  }
  default:
    return "nothing";
  }
}

} // namespace sightline::design

#include "sightline/design/closed_forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "sightline/design/families.hpp"
#include "sightline/design/search.hpp"

namespace sightline::design {

namespace {

using layout::PatternKind;
using layout::PatternSpec;

constexpr std::uint64_t most_rows = 20'000;

/// Writes the points of one group down. `smallest`: pairs of the smallest non-diagonal orbital, or less.
class FormWriter {
public:
  explicit FormWriter(const Named& named) : named_(named), n_(named.points()) {
    form_.name = named.kind == Named::Kind::trivial ? "trivial" : write_name(named);
    form_.small = write_name(shrink(named));
    form_.transitive = named.is_transitive();
    form_.few_orbitals = named.kind == Named::Kind::symmetric || is_block_group();
    e_ = make_known_pattern(named);
  }

  std::optional<ClosedForm> write() {
    if (n_ < 3 || (!e_ && named_.kind != Named::Kind::symmetric))
      return std::nullopt;
    if (named_.kind == Named::Kind::symmetric) {
      add_single(PatternSpec{}, n_ * (n_ - 1), 1, "full");
      add_hub();
      return std::move(form_);
    }
    add_repeated();
    add_steps();
    add_all_but();
    if (named_.kind == Named::Kind::trivial) {
      Candidate coloured;
      coloured.kind = PointKind::coloured;
      coloured.layers = {{PatternSpec{}, n_ * (n_ - 1)}};
      coloured.relative = true;
      coloured.description = "one pattern: full, a trained weight per distance";
      add(std::move(coloured), 1);
      add_reader();
    }
    add_hub();
    return std::move(form_);
  }

private:
  [[nodiscard]] bool is_block_group() const {
    return named_.kind == Named::Kind::wreath && named_.inside == Named::Kind::symmetric &&
           named_.outside == Named::Kind::symmetric;
  }

  /// A member whose points the certifier takes in milliseconds.
  static Named shrink(Named named) {
    const auto smaller = [](Named::Kind kind, std::uint64_t n) {
      return std::min<std::uint64_t>(n, kind == Named::Kind::cyclic ? 4 : kind == Named::Kind::dihedral ? 5 : 3);
    };
    switch (named.kind) {
    case Named::Kind::torus:
      named.b = named.a == named.b ? 5 : 6;
      named.a = 5;
      break;
    case Named::Kind::grid:
      named.b = named.a == named.b ? 4 : named.a == 1 || named.b == 1 ? 9 : 5;
      named.a = named.a == 1 || named.b == 1 ? 1 : 4;
      break;
    case Named::Kind::hypercube:
      named.a = 4;
      break;
    case Named::Kind::wreath:
      named.a = smaller(named.inside, named.a);
      named.b = smaller(named.outside, named.b);
      break;
    default:
      named.a = std::min<std::uint64_t>(named.a, 9);
    }
    return named;
  }

  [[nodiscard]] std::uint64_t bound_smallest_orbital() const {
    const bool in_blocks = named_.kind == Named::Kind::wreath && named_.inside == Named::Kind::trivial;
    const bool at_blocks = named_.kind == Named::Kind::wreath && named_.outside == Named::Kind::trivial;
    if (is_block_group())
      return n_ * (named_.a - 1);
    return named_.kind == Named::Kind::symmetric ? n_ * (n_ - 1)
           : named_.is_transitive()              ? n_
           : in_blocks                           ? named_.b
           : at_blocks                           ? named_.a
                                                 : 1;
  }

  void add(Candidate candidate, std::uint64_t layers) {
    const std::uint64_t pairs = count_pairs(candidate.layers, layers);
    std::uint64_t least = bound_pairs(n_, named_.is_transitive(), bound_smallest_orbital(), candidate.kind, layers);
    if (form_.few_orbitals) // one or two orbitals: nothing else of the kind has so few layers (docs/theory.md 16.9)
      least = candidate.kind == PointKind::gather_broadcast ? 2 * n_ + (e_ ? e_->pairs : 0) : pairs;
    form_.points.push_back({std::move(candidate), layers, std::min(least, pairs)});
  }

  void add_single(PatternSpec pattern, std::uint64_t pairs, std::uint64_t layers, const std::string& what) {
    Candidate candidate;
    candidate.layers.push_back({std::move(pattern), pairs});
    candidate.description = fmt::format("one pattern: {}, {} pairs", what, pairs);
    add(std::move(candidate), layers);
  }

  void add_list(std::vector<LayerPlan> layers, std::string description) {
    Candidate candidate;
    candidate.kind = PointKind::several;
    candidate.whole_list_once = true;
    candidate.layers = std::move(layers);
    candidate.description = std::move(description);
    const std::uint64_t count = candidate.layers.size();
    add(std::move(candidate), count);
  }

  void add_window(std::uint64_t radius) {
    const bool both_ways = named_.kind == Named::Kind::dihedral;
    const auto w = static_cast<std::int64_t>(radius);
    const std::uint64_t to_see = both_ways ? n_ / 2 : n_ - 1;
    const std::uint64_t pairs = both_ways ? 2 * radius * n_ : radius * n_;
    add_single(make_window_spec(both_ways ? w : 0, w, true), pairs, (to_see + radius - 1) / radius,
               radius == 1 ? describe_known_pattern(named_)
                           : fmt::format("a {}ring of {} neighbours", both_ways ? "" : "directed ",
                                         both_ways ? 2 * radius : radius));
  }

  /// E repeated: as many layers as the farthest token is steps away. Rings with more neighbours: fewer layers.
  void add_repeated() {
    switch (named_.kind) {
    case Named::Kind::cyclic:
    case Named::Kind::dihedral: {
      const bool both_ways = named_.kind == Named::Kind::dihedral;
      const std::uint64_t to_see = both_ways ? n_ / 2 : n_ - 1, most = both_ways ? (n_ - 3) / 2 : n_ - 3;
      std::uint64_t before = 0;
      for (std::uint64_t w = 1; w == 1 || (w <= most && w < to_see); w = w < 8 ? w + 1 : 2 * w) {
        const std::uint64_t layers = (to_see + w - 1) / w, fewest = (to_see + layers - 1) / layers;
        if (layers != before)
          add_window(fewest); // the narrowest that needs no more layers
        before = layers;
      }
      if (const std::uint64_t half = (to_see + 1) / 2; half <= most && before > 2)
        add_window(half);
      break;
    }
    case Named::Kind::torus:
      add_single(e_->pattern, e_->pairs, named_.a / 2 + named_.b / 2, describe_known_pattern(named_));
      break;
    case Named::Kind::grid:
      add_single(e_->pattern, e_->pairs, named_.a + named_.b - 2, describe_known_pattern(named_));
      break;
    case Named::Kind::hypercube:
      add_single(e_->pattern, e_->pairs, named_.a, describe_known_pattern(named_));
      break;
    case Named::Kind::trivial:
      if (n_ >= 4) {
        PatternSpec chord = make_kind_spec(PatternKind::graph);
        chord.edges = {{0, 2}};
        chord.directed = true;
        add_single(combine_specs(PatternKind::union_of, {make_window_spec(0, 1, true), chord}), n_ + 1, n_ - 1,
                   "a directed ring with one chord");
      }
      break;
    default:
      break;
    }
  }

  /// Steps of 2^q, one size in each layer: C_n ahead, the largest 2^(m-1) < n <= 2^m; D_n both ways, 2^m <= n <
  /// 2^(m+1).
  void add_steps() {
    const bool both_ways = named_.kind == Named::Kind::dihedral;
    if (!both_ways && named_.kind != Named::Kind::cyclic)
      return;
    const int layers = both_ways ? std::bit_width(n_) - 1 : std::bit_width(n_ - 1);
    std::vector<LayerPlan> list;
    for (int q = 0; q < layers; ++q) {
      const std::uint64_t step = std::uint64_t{1} << q;
      list.push_back({make_window_spec(both_ways ? 1 : 0, 1, true, static_cast<std::int64_t>(step)),
                      both_ways && 2 * step != n_ ? 2 * n_ : n_});
    }
    add_list(std::move(list), fmt::format("{} layers of their own: steps of 1, 2, 4, ..{}", layers,
                                          both_ways ? ", both ways round" : ""));
  }

  /// Layers in which two layers of "everything but E", or E and then everything but E, tell all apart; else three.
  [[nodiscard]] std::uint64_t count_layers_of_all_but() const {
    if (named_.kind != Named::Kind::wreath || named_.outside == Named::Kind::symmetric)
      return 2;
    return named_.inside == Named::Kind::symmetric ? 2 : 3;
  }

  void add_all_but() {
    PatternSpec others =
        combine_specs(PatternKind::union_of, {combine_specs(PatternKind::minus, {PatternSpec{}, e_->pattern}),
                                              make_kind_spec(PatternKind::self)});
    const std::uint64_t pairs = n_ * (n_ - 1) - e_->pairs, layers = count_layers_of_all_but();
    const std::string what = describe_known_pattern(named_),
                      all = is_block_group() ? "all other blocks" : "everything but " + what;
    const bool ring = named_.kind == Named::Kind::cyclic || named_.kind == Named::Kind::dihedral; // windows cost less
    const bool two_blocks =
        named_.kind == Named::Kind::wreath && named_.outside == Named::Kind::trivial && named_.b == 2;
    const bool small = named_.kind == Named::Kind::grid && n_ < 9;
    if (!ring && !two_blocks && !small)
      add_single(others, pairs, layers, all);
    std::vector<LayerPlan> list(layers - 1, *e_);
    list.push_back({std::move(others), pairs});
    add_list(std::move(list),
             fmt::format("{} layers of their own: {}{}, then {}", layers, what, layers == 3 ? " twice" : "", all));
  }

  /// trivial: a path, token 0 reads all, all read token 0.
  void add_reader() {
    PatternSpec both = make_window_spec(0, 0, false);
    both.global = {0};
    PatternSpec give = both;
    give.causal = true;
    PatternSpec take = combine_specs(
        PatternKind::union_of, {combine_specs(PatternKind::minus, {both, give}), make_kind_spec(PatternKind::self)});
    add_list({*e_, {std::move(take), n_ - 1}, {std::move(give), n_ - 1}},
             "3 layers of their own: a directed path, then token 0 reads all and is read by all");
  }

  /// E, then the register; without E the register alone.
  void add_hub() {
    Candidate candidate;
    candidate.kind = PointKind::gather_broadcast;
    candidate.registers = 1;
    candidate.whole_list_once = true;
    if (e_)
      candidate.layers.push_back(*e_);
    if (n_ <= most_rows) {
      candidate.layers.push_back(make_gather(static_cast<Point>(n_)));
      candidate.layers.push_back(make_broadcast(static_cast<Point>(n_)));
    } else {
      // Everything that touches the register: all pairs without those between tokens.
      const auto all = static_cast<std::int64_t>(n_) - 1;
      const PatternSpec both = combine_specs(PatternKind::minus, {PatternSpec{}, make_window_spec(all, all, false)});
      for (int k = 0; k < 2; ++k)
        candidate.layers.push_back({both, 2 * n_});
    }
    candidate.description =
        (e_ ? fmt::format("{}, {} pairs", describe_known_pattern(named_), e_->pairs) : std::string("nothing")) +
        ", then one register reads all and is read by all";
    const std::uint64_t layers = candidate.layers.size();
    add(std::move(candidate), layers);
  }

  Named named_;
  std::uint64_t n_;
  ClosedForm form_;
  std::optional<LayerPlan> e_;
};

} // namespace

std::optional<ClosedForm> find_closed_form(const std::string& text) {
  const std::optional<Named> named = read_name(text);
  return named ? FormWriter(*named).write() : std::nullopt;
}

} // namespace sightline::design

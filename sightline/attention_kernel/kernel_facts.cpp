#include <algorithm>
#include <limits>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/condition13.hpp"
#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/attention_kernel/rays.hpp"
#include "sightline/attention_kernel/structure.hpp"
#include "sightline/base/error.hpp"

namespace sightline::attention_kernel {
namespace {

std::optional<NormalForm> try_normal_form(const Expression& expression, const Meaning& meaning, const Budget& budget) {
  try {
    return to_normal_form(expression, meaning, budget);
  } catch (const OutOfScope&) {
    return std::nullopt;
  }
}

std::vector<Polynomial> numbers(const std::vector<mpq_class>& values) {
  std::vector<Polynomial> entries;
  for (const mpq_class& value : values) entries.emplace_back(Surd(value));
  return entries;
}

Finding decide_at(const Expression& kernel, const std::vector<mpq_class>& x0, const Budget& budget) {
  const std::size_t dim = x0.size();
  try {
    if (const auto form = try_normal_form(kernel, {numbers(x0), make_variables(0, dim), {}}, budget)) {
      const Finding finding = decide_condition13(*form, dim, budget);
      if (finding.verdict != Condition13::undecided) return finding;
    }
  } catch (const OutOfScope&) {
  }
  const Finding finding = find_failing_rays(kernel, dim, budget);
  if (finding.verdict != Condition13::undecided) return finding;
  if (find_parity(*kernel, 1, -1) == 1) return {Condition13::fails, print_pair(-1), "the kernel is even in the key"};
  return {};
}

struct Factor {
  Expression expression;
  bool inverted;
};

void collect_factors(const Expression& expression, bool inverted, std::vector<Factor>& factors) {
  switch (expression->op) {
    case Op::multiply:
    case Op::divide:
      collect_factors(expression->children[0], inverted, factors);
      collect_factors(expression->children[1], inverted != (expression->op == Op::divide), factors);
      break;
    case Op::negate: collect_factors(expression->children[0], inverted, factors); break;
    default: factors.push_back({expression, inverted});
  }
}

// Factors between two positive numbers never change whether a ratio tends to 0 or infinity, and almost periodic ones
// cannot make it do so.
Finding decide_without_bounded_factors(const Expression& kernel, const std::vector<mpq_class>& x0, const Budget& budget) {
  const std::size_t dim = x0.size();
  std::vector<Factor> factors;
  collect_factors(kernel, false, factors);
  bool oscillates = false;
  Expression rest;
  for (const Factor& factor : factors) {
    const Range range = compute_range(*factor.expression, dim);
    const double infinity = std::numeric_limits<double>::infinity();
    if ((range.low > 0 && range.high < infinity) || (range.high < 0 && range.low > -infinity)) continue;
    if (!factor.inverted && is_almost_periodic(factor.expression)) {
      // nonzero at one generic point: not identically zero along the ray through it
      FixedRandom random(17);
      const auto sign = find_sign_at(factor.expression, x0, random.rational_vector(dim), budget);
      if (sign && *sign != 0) {
        oscillates = true;
        continue;
      }
    }
    if (!rest) rest = factor.inverted ? make_node(Op::divide, {make_number(1), factor.expression}) : factor.expression;
    else rest = make_node(factor.inverted ? Op::divide : Op::multiply, {rest, factor.expression});
  }
  if (!rest) {
    return {Condition13::fails, "all pairs", oscillates ? "the kernel oscillates along every ray, so the ratio has no limit 0 or infinity"
                                                        : "the kernel stays between two positive numbers"};
  }
  Finding finding = decide_at(rest, x0, budget);
  if (oscillates && finding.verdict == Condition13::holds) return {};
  return finding;
}

std::string print_vector(const std::vector<Surd>& vector, std::size_t dim) {
  std::string out;
  for (std::size_t i = 0; i < dim; ++i) {
    out += i == 0 ? '[' : ',';
    out += i < vector.size() ? vector[i].print() : "0";
  }
  out += ']';
  return out;
}

Tri to_tri(bool proved) { return proved ? Tri::yes : Tri::unknown; }

class Analysis {
public:
  Analysis(const Expression& kernel, std::size_t dim, std::size_t tokens, const Budget& budget)
      : kernel_(kernel), full_dim_(dim), tokens_(tokens), budget_(budget) {
    // Through dot products alone nothing changes beyond the three directions of a query and two keys.
    dim_ = is_isotropic(*kernel) ? std::min<std::size_t>(dim, 3) : dim;
    y_first_ = static_cast<std::uint32_t>(dim_);
    y_last_ = 2 * y_first_;
    form_ = try_normal_form(kernel, {make_variables(0, dim_), make_variables(y_first_, dim_), {}}, budget);
    FixedRandom random(5);
    auto positive = [&] {
      std::vector<mpq_class> v = random.rational_vector(dim_);
      for (mpq_class& entry : v) entry = abs(entry);
      return v;
    };
    // Orthants first: kernels of relu features vanish on all but a few.
    points_ = {{positive(), positive()}, {scaled(positive(), -1), scaled(positive(), -1)}, {positive(), scaled(positive(), -1)}};
    for (int i = 0; i < 4; ++i) points_.push_back({random.rational_vector(dim_), random.rational_vector(dim_)});
  }

  KernelFacts compute() {
    facts_.isotropic = is_isotropic(*kernel_);
    shape();
    values();
    symmetries();
    exponentials();
    condition();
    distinguishability();
    return facts_;
  }

private:
  struct Point { std::vector<mpq_class> x, y; };

  bool plain() const {  // an exponential polynomial: the normal form is unique and defined everywhere
    return form_ && std::all_of(form_->begin(), form_->end(), [](const auto& term) { return term.first.factors.empty(); });
  }

  bool varies(std::uint32_t first = 0) const {
    return form_ && std::any_of(form_->begin(), form_->end(), [&](const auto& term) {
      return term.first.exponent.mentions(first, y_last_) || term.second.mentions(first, y_last_) || !term.first.factors.empty();
    });
  }

  /// One point is a proof; an expansion of a kernel with many literal vectors takes long, so the others are not looked at.
  template <class Test>
  bool any_point(const Test& test) const { return std::any_of(points_.begin(), points_.end(), test); }

  Series value(const Point& p) const { return expand_at(kernel_, p.x, p.y, budget_); }

  static bool surely_nonzero(const Series& number) {
    const Series::Term* lead = number.leading();
    return lead != nullptr && lead->factor.sign() != 0;
  }

  bool differ(const Point& a, const Point& b) const {
    try {
      return surely_nonzero(value(a) - value(b));
    } catch (const OutOfScope&) {
      return false;
    }
  }

  // k(2a) k(b) = k(2b) k(a) for all a, b when scaled tokens have the weights of the tokens.
  bool breaks_homogeneity(const Point& a, const Point& b) const {
    try {
      return surely_nonzero(value({scaled(a.x, 2), scaled(a.y, 2)}) * value(b) - value({scaled(b.x, 2), scaled(b.y, 2)}) * value(a));
    } catch (const OutOfScope&) {
      return false;
    }
  }

  static std::vector<mpq_class> scaled(std::vector<mpq_class> v, long factor) {
    for (mpq_class& entry : v) entry *= factor;
    return v;
  }

  void shape() {
    const Regularity regularity = compute_regularity(kernel_, dim_, budget_);
    facts_.continuous = to_tri(regularity.continuous);
    facts_.analytic = to_tri(regularity.analytic);
    if (facts_.analytic == Tri::yes) return;
    const Smoothness rough = find_rough_point(kernel_, Role::kernel, dim_, regularity.continuous, budget_);
    if (rough != Smoothness::unknown) facts_.analytic = Tri::no;
    if (rough == Smoothness::not_continuous) facts_.continuous = Tri::no;
  }

  void values() {
    const std::vector<mpq_class> zero(dim_);
    const bool vanishes = form_ && form_->empty();
    facts_.positive = to_tri(proves_positive(kernel_, dim_, budget_));
    facts_.nonnegative = to_tri(facts_.positive == Tri::yes || compute_range(*kernel_, dim_).nonnegative());
    std::vector<Point> places = points_;
    std::vector<mpq_class> one = zero, minus_one = zero, ones(dim_, mpq_class(1)), minus_ones(dim_, mpq_class(-1));
    one[0] = 1;
    minus_one[0] = -1;
    for (const auto& [x, y] : {Point{zero, zero}, {one, one}, {one, minus_one}, {ones, minus_ones}, {minus_ones, minus_ones}, {minus_ones, ones}, {one, zero}})
      places.push_back({x, y});
    if (dim_ >= 2) {
      std::vector<mpq_class> other = zero;
      other[1] = 1;
      places.push_back({one, other});
    }
    bool nonzero = false;
    for (const Point& place : places) {
      const auto sign = find_sign_at(kernel_, place.x, place.y, budget_);
      if (!sign) continue;
      nonzero = nonzero || *sign != 0;
      if (*sign <= 0 && facts_.positive == Tri::unknown) facts_.positive = Tri::no;
      if (*sign < 0 && facts_.nonnegative == Tri::unknown) facts_.nonnegative = Tri::no;
    }
    if (facts_.positive == Tri::yes) nonzero = true;
    facts_.nonzero_somewhere = vanishes ? Tri::no : to_tri(nonzero);
    const auto origin = find_sign_at(kernel_, zero, zero, budget_);
    if (origin) facts_.nonzero_at_zero = *origin != 0 ? Tri::yes : Tri::no;
    // (MEAN): W_Q = W_K = 0, or keys and queries squeezed near a point where the kernel is continuous and not 0. Every
    // function of the grammar is continuous around a generic point where it can be evaluated.
    if (vanishes) facts_.mean_property = Tri::no;
    else if (facts_.nonzero_at_zero == Tri::yes) facts_.mean_property = Tri::yes;
    else if (full_dim_ >= 2) {
      const auto nonzero_at = [this](const Point& place) {
        const auto sign = find_sign_at(kernel_, place.x, place.y, budget_);
        return sign && *sign != 0;
      };
      if (any_point(nonzero_at)) facts_.mean_property = Tri::yes;
    }
    if (vanishes || (form_ && !varies())) facts_.constant = Tri::yes;
    else if (std::any_of(points_.begin() + 1, points_.end(), [this](const Point& p) { return differ(points_[0], p); })) facts_.constant = Tri::no;
    if (facts_.constant == Tri::unknown && !mentions(*kernel_, 'x') && !mentions(*kernel_, 'y')) facts_.constant = Tri::yes;
    if (facts_.constant == Tri::yes || !mentions(*kernel_, 'y') || (form_ && !varies(y_first_))) facts_.reads_keys = Tri::no;
    else if (any_point([this](const Point& p) { return any_point([&](const Point& q) { return &p != &q && differ(p, {p.x, q.y}); }); })) facts_.reads_keys = Tri::yes;
  }

  void symmetries() {
    if (find_parity(*kernel_, -1, -1) == 1) facts_.joint_sign_even = Tri::yes;
    else if (plain() && reflect(*form_, 0, y_last_) == *form_) facts_.joint_sign_even = Tri::yes;
    else if (any_point([this](const Point& p) { return differ(p, {scaled(p.x, -1), scaled(p.y, -1)}); })) facts_.joint_sign_even = Tri::no;
    const bool constant = facts_.constant == Tri::yes;
    if (constant || (find_homogeneity(*kernel_, 1, 0) == mpq_class(0) && find_homogeneity(*kernel_, 0, 1) == mpq_class(0))) facts_.scale_invariant = Tri::yes;
    else if (any_point([this](const Point& p) { return differ(p, {scaled(p.x, 2), scaled(p.y, 3)}); })) facts_.scale_invariant = Tri::no;
    if (constant || find_homogeneity(*kernel_, 1, 1)) facts_.homogeneous_mixer = Tri::yes;
    else if (std::any_of(points_.begin() + 1, points_.end(), [this](const Point& p) { return breaks_homogeneity(points_[0], p); })) facts_.homogeneous_mixer = Tri::no;
  }

  void exponentials() {
    if (!plain() || form_->size() != 1) return;
    const auto& [shape, coefficient] = *form_->begin();
    if (!coefficient.is_constant() || coefficient.constant().sign() <= 0) return;
    Polynomial dot;
    for (std::uint32_t i = 0; i < y_first_; ++i) dot.add({{i, 1}, {y_first_ + i, 1}}, 1);
    Polynomial exponent = shape.exponent;
    exponent.add({}, -exponent.constant());
    if (exponent.is_zero()) return;
    Polynomial squared;  // |x - y|^2
    for (std::uint32_t i = 0; i < y_first_; ++i) {
      const Polynomial difference = Polynomial::variable(i) - Polynomial::variable(y_first_ + i);
      squared += multiply(difference, difference, budget_);
    }
    const Surd leading = exponent.terms().begin()->second, of_squared = squared.terms().begin()->second;
    dot *= leading;
    facts_.is_exponential_dot = facts_.is_softmax = dot == exponent;
    Polynomial scaled_exponent = exponent;
    scaled_exponent *= of_squared;
    squared *= leading;
    facts_.is_gaussian = squared == scaled_exponent && leading.sign() != of_squared.sign();
  }

  bool growth_depends_on_query() const {
    return form_ && std::any_of(form_->begin(), form_->end(), [this](const auto& term) {
      const auto& monomials = term.first.exponent.terms();
      return std::any_of(monomials.begin(), monomials.end(), [this](const auto& one) {
        return !one.first.empty() && one.first.front().first < y_first_ && one.first.back().first >= y_first_;
      });
    });
  }

  // One query where (13) holds is enough (theory.md 2.7), and one where it fails refutes the literal statement. Both can
  // happen on open sets of queries (the order of the entries may matter), so a failing query is followed by its opposite
  // and by others of different shape, unless the growth does not mention the query.
  void condition() {
    FixedRandom random(7);
    std::vector<std::vector<mpq_class>> queries;
    for (int i = 0; i < 5; ++i) {
      queries.push_back(random.rational_vector(dim_));
      if (i > 0) for (mpq_class& entry : queries.back()) entry *= mpz_class(1) << static_cast<unsigned>(random.integer(0, 6));
      queries.push_back(scaled(queries.back(), -1));
    }
    Finding failed;
    std::vector<mpq_class> failed_at;
    for (const std::vector<mpq_class>& query : queries) {
      Finding finding = decide_at(kernel_, query, budget_);
      if (finding.verdict == Condition13::undecided) finding = decide_without_bounded_factors(kernel_, query, budget_);
      if (finding.verdict == Condition13::fails) {
        if (failed.verdict == Condition13::fails && failed.pair != finding.pair) failed.pair = "y2 = c y1 for a number c < 0 that depends on x";
        if (failed.verdict != Condition13::fails) {
          failed = finding;
          failed_at = query;
        }
        // Along rays nothing is ever proved to hold, and a failure for all pairs is one at every query.
        if (growth_depends_on_query() && finding.pair != "all pairs") continue;
      }
      if (finding.verdict == Condition13::holds || failed.verdict != Condition13::fails) {
        facts_.condition13 = facts_.condition13_literal = finding.verdict;
        facts_.rule = finding.why;
      }
      break;
    }
    if (failed.verdict == Condition13::fails) {
      facts_.condition13_literal = Condition13::fails;
      if (facts_.condition13 != Condition13::holds) {
        facts_.condition13 = Condition13::fails;
        facts_.rule = failed.why;
      }
      const bool everywhere = facts_.condition13 == Condition13::fails;
      facts_.failure = Condition13Failure{everywhere ? "generic" : print_vector({failed_at.begin(), failed_at.end()}, full_dim_), "generic", failed.pair, failed.why};
      return;
    }
    facts_.condition13_literal = Condition13::undecided;
    if (facts_.condition13 != Condition13::holds || !form_) return;
    try {
      const LiteralFinding literal = decide_literal(*form_, dim_);
      facts_.condition13_literal = literal.verdict;
      if (literal.verdict == Condition13::fails)
        facts_.failure = Condition13Failure{print_vector(literal.x, full_dim_), "generic", literal.pair, "at this query the exponent loses its linear part in the key"};
    } catch (const OutOfScope&) {
    }
  }

  // c + g |x - y|^2 to a negative power times a positive number: Cauchy, rational quadratic (theory.md 4.3).
  bool is_rational_quadratic() const {
    if (!form_ || form_->size() != 1) return false;
    const auto& [shape, coefficient] = *form_->begin();
    if (!shape.exponent.is_zero() || shape.factors.size() != 1 || !coefficient.is_constant() || coefficient.constant().sign() <= 0) return false;
    const auto& [base, power] = *shape.factors.begin();
    const Surd offset = base.constant();
    Polynomial distance;
    for (std::uint32_t i = 0; i < y_first_; ++i) {
      distance.add({{i, 2}}, 1);
      distance.add({{i, 1}, {y_first_ + i, 1}}, -2);
      distance.add({{y_first_ + i, 2}}, 1);
    }
    Polynomial rest = base;
    rest.add({}, -offset);
    if (rest.is_zero() || power >= 0 || offset.sign() <= 0) return false;
    const auto leading = rest.terms().find({{0, 2}});
    if (leading == rest.terms().end() || leading->second.sign() <= 0) return false;
    distance *= leading->second;
    return distance == rest;
  }

  // A(x) + B(x) exp(q(y)) with A, B > 0 and A/B -> 0 along some query: the weights tend to those of exp(q), for which
  // (13) holds, so equality of two outputs for all parameters would pass to the limit (theory.md 4.3, the appendix kernel).
  bool has_dominant_limit() const {
    if (!plain() || form_->size() != 2) return false;
    const auto& first = *form_->begin();
    const auto& second = *std::next(form_->begin());
    auto fits = [this](const auto& still, const auto& moving) {
      for (const auto* term : {&still, &moving})
        if (!term->second.is_constant() || term->second.constant().sign() <= 0) return false;
      if (still.first.exponent.mentions(y_first_, y_last_)) return false;
      const Polynomial& exponent = moving.first.exponent;
      for (const auto& [monomial, factor] : exponent.terms()) {
        Polynomial one;
        one.add(monomial, factor);
        if (one.mentions(0, y_first_) && one.mentions(y_first_, y_last_)) return false;
      }
      Polynomial key;
      for (const auto& [monomial, factor] : exponent.terms()) if (!monomial.empty() && monomial[0].first >= y_first_) key.add(monomial, factor);
      if (key.is_zero() || key.reflected(y_first_, y_last_) == key) return false;
      // exponent of A/B as a polynomial in x: nonconstant of odd degree or with an odd linear part only
      const Polynomial gap = still.first.exponent - (exponent - key);
      return gap.degree(0, y_first_) == 1;
    };
    return fits(first, second) || fits(second, first);
  }

  void distinguishability() {
    if (tokens_ == 1) {
      facts_.token_distinguishability = Tri::yes;
      return;
    }
    const bool published = facts_.condition13 == Condition13::holds && facts_.analytic == Tri::yes && facts_.positive == Tri::yes;
    if (published || (is_rational_quadratic() && full_dim_ >= 2) || has_dominant_limit()) {
      facts_.token_distinguishability = Tri::yes;
      return;
    }
    if (facts_.constant == Tri::yes && facts_.nonzero_somewhere == Tri::yes) {
      facts_.token_distinguishability = tokens_ <= 2 ? Tri::yes : Tri::no;
      facts_.indistinguishable_at_every_depth = tokens_ >= 3;
      return;
    }
    if (form_ && form_->empty()) {
      facts_.token_distinguishability = Tri::no;
      facts_.indistinguishable_at_every_depth = true;
      return;
    }
    // Weights of degree p in the key only see the moments up to p + 1; two regular (p+2)-gons share them.
    if (plain() && std::all_of(form_->begin(), form_->end(), [this](const auto& term) { return !term.first.exponent.mentions(y_first_, y_last_); })) {
      std::uint32_t degree = 0;
      for (const auto& [shape, coefficient] : *form_) degree = std::max(degree, coefficient.degree(y_first_, y_last_));
      if (tokens_ >= degree + 3) facts_.token_distinguishability = Tri::no;
      return;
    }
    // k(x, ay) = k(x, y): {z, 4z, q} and {2z, 3z, q}.
    if (tokens_ >= 3 && find_homogeneity(*kernel_, 0, 1) == mpq_class(0)) facts_.token_distinguishability = Tri::no;
  }

  Expression kernel_;
  std::size_t full_dim_, tokens_, dim_ = 0;
  std::uint32_t y_first_ = 0, y_last_ = 0;
  const Budget& budget_;
  std::optional<NormalForm> form_;
  std::vector<Point> points_;
  KernelFacts facts_;
};

}  // namespace

KernelFacts compute_kernel_facts(const Kernel& kernel, std::size_t dim, std::size_t tokens, const Budget& budget) {
  if (dim == 0) throw ArgumentError("compute_kernel_facts: dim must be at least 1");
  // exp(t c) is exp(c) to the power t > 0: what is asked of values and of where they are equal holds for both or for neither, and large powers can not be evaluated.
  Kernel unscaled = kernel;
  unscaled.temperature = 1;
  return Analysis(to_expression(unscaled, dim), dim, tokens, budget).compute();
}

}  // namespace sightline::attention_kernel

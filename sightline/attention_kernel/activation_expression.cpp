// Facts about an activation given as an expression in t, by exact expansions at 0 and at both infinities.
#include "sightline/attention_kernel/activation_expression.hpp"

#include <algorithm>

#include "sightline/attention_kernel/build.hpp"
#include "sightline/attention_kernel/normal_form.hpp"
#include "sightline/attention_kernel/rays.hpp"
#include "sightline/attention_kernel/series.hpp"
#include "sightline/attention_kernel/structure.hpp"

namespace sightline::attention_kernel {
namespace {

Expression substitute(const Expression& expression, const Expression& value) {
  if (expression->op == Op::variable) return value;
  if (expression->children.empty()) return expression;
  std::vector<Expression> children;
  for (const Expression& child : expression->children) children.push_back(substitute(child, value));
  return make_node(expression->op, std::move(children));
}

// Every function of the grammar is locally Lipschitz where it is defined, except roots at 0.
bool is_locally_lipschitz(const Expression& expression, const Budget& budget) {
  const Node& node = *expression;
  auto all = [&] { return std::all_of(node.children.begin(), node.children.end(), [&](const Expression& child) { return is_locally_lipschitz(child, budget); }); };
  if (node.op == Op::sqrt && !proves_positive(node.children[0], 1, budget)) return false;
  if (node.op == Op::power) {
    const auto exponent = find_rational(*node.children[1]);
    if ((!exponent || (exponent->get_den() != 1 && *exponent < 1)) && !proves_positive(node.children[0], 1, budget)) return false;
  }
  return all();
}

// Sums and compositions of functions with bounded slope.
bool has_bounded_slope(const Expression& expression) {
  const Node& node = *expression;
  if (is_constant(expression)) return true;
  switch (node.op) {
    case Op::variable: return true;
    case Op::add:
    case Op::subtract: return has_bounded_slope(node.children[0]) && has_bounded_slope(node.children[1]);
    case Op::multiply: return (is_constant(node.children[0]) && has_bounded_slope(node.children[1])) || (is_constant(node.children[1]) && has_bounded_slope(node.children[0]));
    case Op::divide: return is_constant(node.children[1]) && has_bounded_slope(node.children[0]);
    case Op::negate:
    case Op::relu:
    case Op::elu:
    case Op::abs:
    case Op::tanh:
    case Op::sigmoid:
    case Op::softplus:
    case Op::sin:
    case Op::cos: return has_bounded_slope(node.children[0]);
    default: return false;
  }
}

class ActivationAnalysis {
public:
  ActivationAnalysis(const Expression& s, const Budget& budget)
      : s_(s), mirrored_(substitute(s, make_node(Op::negate, {make_variable('t')}))), budget_(budget) {
    even_ = make_node(Op::add, {s_, mirrored_});
    form_ = form_of(s_);
  }

  ActivationFacts compute() {
    regularity();
    polynomial();
    parity();
    slope();
    homogeneity();
    return facts_;
  }

private:
  std::optional<NormalForm> form_of(const Expression& expression) const {
    try {
      NormalForm form = to_normal_form(expression, {{}, {}, Polynomial::variable(0)}, budget_);
      for (const auto& [shape, coefficient] : form) if (!shape.factors.empty()) return std::nullopt;
      return form;
    } catch (const OutOfScope&) {
      return std::nullopt;
    }
  }

  static std::optional<Polynomial> polynomial_of(const std::optional<NormalForm>& form) {
    if (!form) return std::nullopt;
    Polynomial sum;
    for (const auto& [shape, coefficient] : *form) {
      // e times a polynomial is a polynomial too, but its coefficients are not in our field
      if (!shape.exponent.is_zero()) return std::nullopt;
      sum += coefficient;
    }
    return sum;
  }

  // t -> base + factor * u^power, u -> infinity
  std::optional<Series> expansion(const Expression& expression, long base, long factor, int power) const {
    try {
      return expand(expression, {{}, {}, Series(Surd(base)) + Series::monomial(Surd(factor), power)}, budget_);
    } catch (const OutOfScope&) {
      return std::nullopt;
    }
  }

  static bool certain(const Series::Term& term) {
    try {
      return term.factor.sign() != 0;
    } catch (const OutOfScope&) {
      return false;
    }
  }

  static bool surely_nonzero(const Series& series) {
    try {
      const Series::Term* lead = series.leading();
      return lead != nullptr && certain(*lead);
    } catch (const OutOfScope&) {
      return false;
    }
  }

  bool differ(const Expression& expression, const mpq_class& a, const mpq_class& b, const Surd& factor) const {
    try {
      return surely_nonzero(expand_at(expression, {a}, {}, budget_) - expand_at(expression, {b}, {}, budget_) * Series(factor));
    } catch (const OutOfScope&) {
      return false;
    }
  }

  bool surely_not_constant(const Expression& expression) const {
    for (const mpq_class& p : points()) if (differ(expression, p, 0, 1)) return true;
    return false;
  }

  static const std::vector<mpq_class>& points() {
    static const std::vector<mpq_class> values = {1, -1, 2, -2, mpq_class(1, 2), mpq_class(-1, 2), mpq_class(7, 3), mpq_class(-19, 7), mpq_class(41, 5)};
    return values;
  }

  // Proofs that a function is no polynomial: what it does at infinity, or bounded without being constant.
  bool surely_not_polynomial(const Expression& expression) const {
    if (find_rough_point(expression, Role::activation, 1, true, budget_) != Smoothness::unknown) return true;
    const Range range = compute_range(*expression, 1);
    if (range.low > -1e300 && range.high < 1e300 && surely_not_constant(expression)) return true;
    const auto right = expansion(expression, 0, 1, 1), left = expansion(expression, 0, -1, 1);
    for (const auto* side : {&right, &left}) {
      if (!*side) continue;
      for (const Series::Term& term : (*side)->terms)
        if ((!term.scale.exponent.empty() || term.scale.log_power != 0 || term.scale.power < 0 || term.scale.power.get_den() != 1) && certain(term)) return true;
    }
    if (!right || !left) return false;
    Series mirrored = *left;
    for (Series::Term& term : mirrored.terms)
      if (mpz_odd_p(term.scale.power.get_num_mpz_t()) && term.factor.exact) term.factor = Coefficient(-*term.factor.exact);
      else if (mpz_odd_p(term.scale.power.get_num_mpz_t())) term.factor = Coefficient(-term.factor.high, -term.factor.low);
    return surely_nonzero(*right - mirrored);
  }

  void regularity() {
    const Regularity regularity = compute_regularity(s_, 1, budget_);
    if (regularity.continuous) facts_.continuous = Tri::yes;
    if (regularity.analytic) facts_.analytic = Tri::yes;
    if (regularity.analytic || (regularity.continuous && is_locally_lipschitz(s_, budget_))) facts_.locally_lipschitz = Tri::yes;
    if (facts_.analytic == Tri::yes) return;
    const Smoothness rough = find_rough_point(s_, Role::activation, 1, regularity.continuous, budget_);
    if (rough != Smoothness::unknown) facts_.analytic = Tri::no;
    if (rough == Smoothness::not_continuous) facts_.continuous = facts_.locally_lipschitz = Tri::no;
    for (const long factor : {1, -1}) {
      const auto near = expansion(s_, 0, factor, -1);
      if (!near) continue;
      for (const Series::Term& term : near->terms)
        if (term.scale.exponent.empty() && term.scale.power > -1 && term.scale.power < 0 && certain(term)) facts_.locally_lipschitz = Tri::no;
    }
  }

  void polynomial() {
    if (const auto p = polynomial_of(form_)) {
      facts_.polynomial = Tri::yes;
      facts_.degree = p->degree(0, 1);
      facts_.affine = *facts_.degree <= 1 ? Tri::yes : Tri::no;
      facts_.constant = *facts_.degree == 0 ? Tri::yes : Tri::no;
      return;
    }
    if (surely_not_constant(s_)) facts_.constant = Tri::no;
    else if (is_constant(s_)) {
      facts_.constant = facts_.affine = facts_.polynomial = Tri::yes;
      facts_.degree = 0;
      return;
    }
    if (surely_not_polynomial(s_)) facts_.polynomial = facts_.affine = facts_.constant = Tri::no;
    // s(1) - s(0) = s(0) - s(-1) for affine functions
    try {
      auto at = [&](long v) { return expand_at(s_, {mpq_class(v)}, {}, budget_); };
      for (const long v : {1L, 2L, 3L})
        if (surely_nonzero(at(v) + at(-v) - at(0) * Series(Surd(2)))) facts_.affine = Tri::no;
    } catch (const OutOfScope&) {
    }
  }

  void find_evenness() {
    const Expression odd_part = make_node(Op::subtract, {s_, mirrored_});
    const auto form = form_of(odd_part);
    if (find_parity(*s_, -1, 1) == 1 || (form && form->empty())) {
      facts_.even = Tri::yes;
      return;
    }
    for (const mpq_class& p : points()) {
      const auto sign = find_sign_at(odd_part, {p}, {}, budget_);
      if (sign && *sign != 0) facts_.even = Tri::no;
    }
  }

  void parity() {
    const auto origin = find_sign_at(s_, {mpq_class(0)}, {}, budget_);
    if (origin) facts_.zero_at_zero = *origin == 0 ? Tri::yes : Tri::no;
    find_evenness();
    const auto even_form = form_of(even_);
    if (find_parity(*s_, -1, 1) == -1 || (even_form && even_form->empty())) {
      facts_.odd = facts_.even_part_zero = facts_.even_part_polynomial = Tri::yes;
      facts_.even_quadratic = Tri::no;
      return;
    }
    for (const mpq_class& p : points()) {
      const auto sign = find_sign_at(even_, {p}, {}, budget_);
      if (sign && *sign != 0) facts_.odd = facts_.even_part_zero = Tri::no;
    }
    if (facts_.polynomial == Tri::yes || polynomial_of(even_form)) facts_.even_part_polynomial = Tri::yes;
    else if (surely_not_polynomial(even_)) facts_.even_part_polynomial = Tri::no;
    if (facts_.zero_at_zero == Tri::no) facts_.even_quadratic = Tri::no;
    if (facts_.zero_at_zero != Tri::yes) return;
    try {
      if (const auto near = expansion(even_, 0, 1, -1)) {
        const Series::Term* lead = near->leading();
        if (lead == nullptr) facts_.even_quadratic = Tri::no;
        else if (certain(*lead)) facts_.even_quadratic = lead->scale == Scale{{}, -2, 0} ? Tri::yes : Tri::no;
      }
    } catch (const OutOfScope&) {
    }
  }

  void slope() {
    if (facts_.affine == Tri::yes) facts_.lipschitz = facts_.locally_lipschitz = Tri::yes;
    else if (facts_.continuous == Tri::yes && has_bounded_slope(s_)) facts_.lipschitz = facts_.locally_lipschitz = Tri::yes;
    else if (facts_.locally_lipschitz == Tri::no) facts_.lipschitz = Tri::no;
    else {
      // Where an expansion exists the slope is monotone from some point on, so it is bounded iff s(t) = O(t).
      bool bounded = true;
      for (const long factor : {1, -1}) {
        try {
          const auto far = expansion(s_, 0, factor, 1);
          const Series::Term* lead = far ? far->leading() : nullptr;
          if (!far) bounded = false;
          else if (lead != nullptr && compare(lead->scale, Scale{{}, 1, 0}) > 0) {
            bounded = false;
            if (certain(*lead)) facts_.lipschitz = Tri::no;
          }
        } catch (const OutOfScope&) {
          bounded = false;
        }
      }
      if (bounded && facts_.locally_lipschitz == Tri::yes) facts_.lipschitz = Tri::yes;
    }
    if (facts_.affine == Tri::yes) {
      facts_.c2_or_kink = Tri::no;
      return;
    }
    if (facts_.analytic == Tri::yes && facts_.affine == Tri::no) {
      facts_.c2_or_kink = Tri::yes;
      return;
    }
    auto coefficient = [](const Series& series, long order) -> const Series::Term* {
      for (const Series::Term& term : series.terms) if (term.scale == Scale{{}, -order, 0} && certain(term)) return &term;
      return nullptr;
    };
    if (facts_.continuous != Tri::yes) return;
    for (const long base : {0L, 1L, -1L, 2L, -2L}) {
      const auto right = expansion(s_, base, 1, -1), left = expansion(s_, base, -1, -1);
      for (const auto* side : {&right, &left}) if (*side && coefficient(**side, 1) && coefficient(**side, 2)) facts_.c2_or_kink = Tri::yes;
      if (!right || !left || right->error || left->error) continue;
      auto linear = [](const Series& series) {
        return std::all_of(series.terms.begin(), series.terms.end(), [](const Series::Term& term) { return term.scale == Scale{} || term.scale == Scale{{}, -1, 0}; });
      };
      if (!linear(*right) || !linear(*left)) continue;
      // s(base + h) + s(base - h) - 2 s(base) = (right slope - left slope) h
      Series slopes = *right + *left;
      std::erase_if(slopes.terms, [](const Series::Term& term) { return term.scale == Scale{}; });
      if (surely_nonzero(slopes)) facts_.c2_or_kink = Tri::yes;
    }
  }

  void homogeneity() {
    const auto degree = find_homogeneity(*s_, 1, 0);
    if (degree && degree->get_den() == 1 && *degree >= 0) {
      facts_.positively_homogeneous = Tri::yes;
      facts_.homogeneity_degree = static_cast<unsigned>(degree->get_num().get_ui());
      return;
    }
    if (const auto p = polynomial_of(form_)) {
      const bool one_term = p->terms().size() <= 1;
      facts_.positively_homogeneous = one_term ? Tri::yes : Tri::no;
      if (one_term) facts_.homogeneity_degree = facts_.degree;
      return;
    }
    try {
      auto at = [&](const mpq_class& v) { return expand_at(s_, {v}, {}, budget_); };
      for (const mpq_class& a : points())
        for (const mpq_class& b : points())
          if (a < b && surely_nonzero(at(2 * a) * at(b) - at(2 * b) * at(a))) {
            facts_.positively_homogeneous = Tri::no;
            return;
          }
    } catch (const OutOfScope&) {
    }
  }

  Expression s_, mirrored_, even_;
  std::optional<NormalForm> form_;
  const Budget& budget_;
  ActivationFacts facts_;
};

}  // namespace

ActivationFacts compute_expression_facts(const Expression& activation, const Budget& budget) { return ActivationAnalysis(activation, budget).compute(); }

}  // namespace sightline::attention_kernel

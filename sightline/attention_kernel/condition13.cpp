#include "sightline/attention_kernel/condition13.hpp"

#include <algorithm>
#include <random>

#include <fmt/format.h>

#include "sightline/attention_kernel/linear_program.hpp"

namespace sightline::attention_kernel {
namespace {

using Vector = std::vector<Surd>;

class BookedBytes {
public:
  BookedBytes(const Budget& budget, std::uint64_t bytes) : budget_(budget), bytes_(bytes) { budget_.ask(bytes_); }
  ~BookedBytes() { budget_.give_back(bytes_); }
  BookedBytes(const BookedBytes&) = delete;
  BookedBytes& operator=(const BookedBytes&) = delete;

private:
  const Budget& budget_;
  std::uint64_t bytes_;
};

struct VectorLess {
  bool operator()(const Vector& a, const Vector& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), [](const Surd& p, const Surd& q) { return key_less(p, q); });
  }
};

// All terms that share the part of the exponent that grows with the key.
struct Growth {
  Polynomial exponent;  // without its constant
  Vector linear;        // b
  mpq_class degree;     // delta
};

struct Class {
  Polynomial quadratic;  // v^T B v
  std::vector<Growth> terms;
};

mpq_class degree_of(const Shape& shape, const Polynomial& coefficient, std::uint32_t dim) {
  mpq_class degree = coefficient.degree(0, dim);
  for (const auto& [base, power] : shape.factors) degree += power * base.degree(0, dim);
  return degree;
}

bool surely_positive(const Shape& shape, const Polynomial& coefficient, std::uint32_t dim) {
  auto nonnegative = [&](const Polynomial& p) {
    const Definite sign = compute_quadratic_sign(p, dim);
    return sign == Definite::positive || sign == Definite::positive_semi;
  };
  for (const auto& [base, power] : shape.factors) if (!nonnegative(base)) return false;
  return nonnegative(coefficient);
}

std::vector<Growth> collect_growths(const NormalForm& form, std::uint32_t dim) {
  struct Group {
    mpq_class degree;
    const Shape* top = nullptr;
    bool mixed = false, positive = true;  // about the terms of greatest degree
  };
  std::map<Polynomial, Group> groups;
  for (const auto& [shape, coefficient] : form) {
    Polynomial key = shape.exponent;
    key.add({}, -shape.exponent.constant());
    Group& group = groups[key];
    const mpq_class degree = degree_of(shape, coefficient, dim);
    if (group.top == nullptr || degree > group.degree) group = {degree, &shape, false, surely_positive(shape, coefficient, dim)};
    else if (degree == group.degree) {
      // Equal factors: the leading forms have coefficients e^c with different algebraic c and cannot cancel.
      if (shape.factors.size() != group.top->factors.size() || shape.factors != group.top->factors) group.mixed = true;
      group.positive = group.positive && surely_positive(shape, coefficient, dim);
    }
  }
  std::vector<Growth> growths;
  for (const auto& [exponent, group] : groups) {
    if (group.mixed && !group.positive) throw OutOfScope{};
    Growth growth{exponent, Vector(dim), group.degree};
    const Polynomial linear = exponent.part(1, 0, dim);
    for (const auto& [monomial, factor] : linear.terms()) growth.linear[monomial[0].first] = factor;
    growths.push_back(std::move(growth));
  }
  return growths;
}

Matrix to_matrix(const Polynomial& quadratic, std::size_t dim) {
  Matrix matrix(dim, Vector(dim));
  const Surd half = mpq_class(1, 2);
  for (const auto& [monomial, factor] : quadratic.terms()) {
    const std::size_t i = monomial[0].first, j = monomial.size() == 2 ? monomial[1].first : i;
    matrix[i][j] += factor * half;
    matrix[j][i] += factor * half;
  }
  return matrix;
}

Surd quadratic_value(const Matrix& matrix, const Vector& v) {
  Surd sum;
  for (std::size_t i = 0; i < v.size(); ++i) if (!v[i].is_zero()) sum += v[i] * dot_product(matrix[i], v);
  return sum;
}

// Where a class beats the others: nowhere, or where all the (indefinite) forms are positive.
struct Dominance {
  bool possible = true;
  std::vector<Matrix> forms;
};

Dominance compute_dominance(const std::vector<Class>& classes, std::size_t winner, std::size_t dim) {
  Dominance dominance;
  for (std::size_t r = 0; r < classes.size(); ++r) {
    if (r == winner) continue;
    Matrix difference = to_matrix(classes[winner].quadratic - classes[r].quadratic, dim);
    switch (compute_definiteness(difference)) {
      case Definite::positive:
      case Definite::positive_semi: break;  // greater for almost every v
      case Definite::zero:
      case Definite::negative:
      case Definite::negative_semi: return {false, {}};
      case Definite::indefinite: dominance.forms.push_back(std::move(difference)); break;
    }
  }
  return dominance;
}

bool satisfies(const std::vector<Vector>& rows, const std::vector<Matrix>& forms, const Vector& v) {
  for (const Vector& row : rows) if (dot_product(row, v).sign() <= 0) return false;
  for (const Matrix& form : forms) if (quadratic_value(form, v).sign() <= 0) return false;
  return true;
}

// Is there a v (then an open set of them) with row.v > 0 and v^T form v > 0 for all rows and forms?
Tri find_open_set(const std::vector<Vector>& rows, const Dominance& dominance, const std::vector<Vector>& guesses, std::size_t dim, const Budget& budget) {
  if (!dominance.possible) return Tri::no;
  if (rows.empty() && dominance.forms.empty()) return Tri::yes;
  for (const Vector& guess : guesses) if (satisfies(rows, dominance.forms, guess)) return Tri::yes;
  Vector inside(dim);
  if (!rows.empty()) {
    const auto solution = find_strict_solution(rows, dim, budget);
    if (!solution) return Tri::no;
    if (dominance.forms.empty()) return Tri::yes;
    inside = *solution;
    if (satisfies(rows, dominance.forms, inside)) return Tri::yes;
  }
  std::mt19937_64 random(20240601);
  for (int attempt = 0; attempt < 2000; ++attempt) {
    budget.poll();
    Vector v = inside;
    const long weight = 1 << (attempt % 8);
    for (Surd& entry : v) {
      entry *= Surd(weight);
      entry += Surd(static_cast<long>(random() % 201) - 100);
    }
    if (satisfies(rows, dominance.forms, v)) return Tri::yes;
  }
  return Tri::unknown;
}

Vector minus(const Vector& a, const Vector& b) {
  Vector result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

bool is_zero(const Vector& v) {
  return std::all_of(v.begin(), v.end(), [](const Surd& entry) { return entry.is_zero(); });
}

Vector scaled(Vector v, const Surd& factor) {
  for (Surd& entry : v) entry *= factor;
  return v;
}

const char* const comparable = "two keys in one open cone make the kernel grow alike, so the ratio tends to a finite nonzero number";

// b_s on top at v and b_t at the bottom.
std::vector<Vector> extreme_rows(const std::vector<Growth>& terms, std::size_t s, std::size_t t) {
  std::vector<Vector> rows;
  for (std::size_t r = 0; r < terms.size(); ++r) {
    if (r != s) rows.push_back(minus(terms[s].linear, terms[r].linear));
    if (r != t) rows.push_back(minus(terms[r].linear, terms[t].linear));
  }
  return rows;
}

struct Opposite {
  std::size_t s, t;
  Surd lambda;  // b_s = lambda b_t
};

// Pairs of terms whose growths can agree at v and lambda v, lambda < 0; |lambda| <= 1 (the others are the same pairs
// read backwards).
std::vector<Opposite> find_opposites(const Class& group) {
  std::vector<Opposite> found;
  std::map<Vector, std::vector<std::size_t>, VectorLess> rays;
  const bool any_ratio = group.quadratic.is_zero();
  auto size_of = [](const Vector& v) {
    for (const Surd& entry : v) if (!entry.is_zero()) return entry.sign() > 0 ? entry : -entry;
    return Surd();
  };
  std::vector<Surd> size(group.terms.size());
  for (std::size_t s = 0; s < group.terms.size(); ++s) {
    size[s] = size_of(group.terms[s].linear);
    Vector ray = group.terms[s].linear;
    if (any_ratio && !size[s].is_zero()) ray = scaled(ray, size[s].inverse());
    rays[ray].push_back(s);
  }
  for (const auto& [ray, members] : rays) {
    const auto other = rays.find(scaled(ray, -1));
    if (other == rays.end() || (any_ratio && is_zero(ray))) continue;
    for (const std::size_t s : members) {
      for (const std::size_t t : other->second) {
        if (group.terms[s].degree != group.terms[t].degree) continue;
        const Surd lambda = any_ratio ? -(size[s] / size[t]) : Surd(-1);
        if (!(lambda < Surd(-1))) found.push_back({s, t, lambda});
      }
    }
  }
  return found;
}

Finding decide_single(const Growth& growth, std::uint32_t dim) {
  if (growth.exponent.is_zero())
    return {Condition13::fails, "all pairs", "along every ray the kernel grows like one fixed power, so every ratio tends to a finite nonzero number"};
  if (growth.exponent.reflected(0, dim) == growth.exponent)
    return {Condition13::fails, print_pair(-1), "the growth of the kernel is the same at y and -y"};
  return {Condition13::holds, "", "one exponential term whose exponent has a nonzero odd part in the key"};
}

}  // namespace

std::string print_pair(const Surd& lambda) {
  if (lambda == Surd(-1)) return "y2 = -y1";
  return lambda.is_rational() ? fmt::format("y2 = {} y1", lambda.print()) : fmt::format("y2 = ({}) y1", lambda.print());
}

Finding decide_condition13(const NormalForm& form, std::size_t dim, const Budget& budget) {
  const auto variables = static_cast<std::uint32_t>(dim);
  if (form.empty()) return {Condition13::fails, "all pairs", "the kernel vanishes for a generic query"};
  const std::vector<Growth> growths = collect_growths(form, variables);
  if (growths.size() == 1) return decide_single(growths[0], variables);

  // The linear parts, dense, and one copy of them in find_opposites.
  const BookedBytes booked(budget, 2 * growths.size() * dim * sizeof(Surd));
  std::map<Polynomial, std::size_t> index;
  std::vector<Class> classes;
  for (const Growth& growth : growths) {
    if (growth.exponent.degree(0, variables) > 2) {
      if (reflect(form, 0, variables) == form) return {Condition13::fails, print_pair(-1), "the kernel is even in the key"};
      throw OutOfScope{};
    }
    const Polynomial quadratic = growth.exponent.part(2, 0, variables);
    const auto [at, fresh] = index.try_emplace(quadratic, classes.size());
    if (fresh) classes.push_back({quadratic, {}});
    classes[at->second].terms.push_back(growth);
  }

  bool undecided = false;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::vector<Growth>& terms = classes[c].terms;
    const Dominance dominance = compute_dominance(classes, c, dim);
    if (!dominance.possible || !classes[c].quadratic.is_zero()) continue;
    for (std::size_t s = 0; s < terms.size(); ++s) {
      if (!is_zero(terms[s].linear)) continue;
      std::vector<Vector> rows;
      for (std::size_t r = 0; r < terms.size(); ++r) if (r != s) rows.push_back(scaled(terms[r].linear, -1));
      const Tri open = find_open_set(rows, dominance, {}, dim, budget);
      if (open == Tri::yes) return {Condition13::fails, "a set of W_K of positive measure", comparable};
      if (open == Tri::unknown) undecided = true;
    }
  }
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const std::vector<Growth>& terms = classes[c].terms;
    const std::vector<Opposite> opposites = find_opposites(classes[c]);
    if (opposites.empty()) continue;
    const Dominance dominance = compute_dominance(classes, c, dim);
    for (const Opposite& pair : opposites) {
      const std::vector<Vector> guesses = {minus(terms[pair.s].linear, terms[pair.t].linear)};
      const Tri open = find_open_set(extreme_rows(terms, pair.s, pair.t), dominance, guesses, dim, budget);
      if (open == Tri::yes)
        return {Condition13::fails, print_pair(pair.lambda), "on an open set of directions the terms that win at the two keys grow at the same rate"};
      if (open == Tri::unknown) undecided = true;
    }
  }
  if (undecided) return {};
  return {Condition13::holds, "", "no two growth rates of the exponential terms agree on an open set of directions"};
}

}  // namespace sightline::attention_kernel

#include "sightline/falsify/exact.hpp"

#include <map>

#include "sightline/attention_kernel/normal_form.hpp"
#include "sightline/attention_kernel/structure.hpp"

namespace sightline::falsify {
namespace {

using attention_kernel::Meaning;
using attention_kernel::Monomial;
using attention_kernel::NormalForm;
using attention_kernel::OutOfScope;
using attention_kernel::Polynomial;
using attention_kernel::Shape;
using attention_kernel::Surd;

/// c with token = c base, when the two are proportional and neither is 0.
std::optional<mpq_class> find_ratio(const Token& token, const Token& base) {
  std::optional<mpq_class> ratio;
  for (std::size_t k = 0; k < token.size(); ++k) {
    if ((token[k] == 0) != (base[k] == 0)) return std::nullopt;
    if (token[k] == 0) continue;
    const mpq_class here = token[k] / base[k];
    if (ratio && *ratio != here) return std::nullopt;
    ratio = here;
  }
  return ratio;
}

/// Classes of tokens whose kernel values stand in a fixed ratio for every query and every W_K.
class ValueClasses {
public:
  explicit ValueClasses(const Mixer& mixer) {
    const auto& node = *mixer.expression;
    if (mixer.kind == MixerKind::bias) {
      constant_ = !attention_kernel::mentions(node, 't');
      return;
    }
    constant_ = !attention_kernel::mentions(node, 'y');
    degree_ = attention_kernel::find_homogeneity(node, 0, 1);
    if (degree_ && (degree_->get_den() != 1 || abs(*degree_) > 64)) degree_.reset();
    parity_ = attention_kernel::find_parity(node, 1, -1);
  }

  /// Class of the token and the factor by which its value exceeds that of the representative.
  std::pair<std::size_t, mpq_class> find(const Token& token) {
    for (std::size_t k = 0; k < representatives_.size(); ++k) {
      if (const auto factor = relate(token, representatives_[k])) return {k, *factor};
    }
    representatives_.push_back(token);
    return {representatives_.size() - 1, 1};
  }

private:
  std::optional<mpq_class> relate(const Token& token, const Token& base) const {
    if (constant_ || token == base) return 1;
    const auto ratio = find_ratio(token, base);
    if (!ratio) return std::nullopt;
    mpq_class factor = 1;
    if (*ratio < 0) {
      if (!parity_) return std::nullopt;
      factor = *parity_;
    }
    const mpq_class size = abs(*ratio);
    if (size == 1) return factor;
    if (!degree_) return std::nullopt;
    const long exponent = degree_->get_num().get_si();
    for (long k = 0; k < std::labs(exponent); ++k) {
      if (exponent > 0) factor *= size;
      else factor /= size;
    }
    return factor;
  }

  bool constant_ = false;
  std::optional<mpq_class> degree_;
  std::optional<int> parity_;
  std::vector<Token> representatives_;
};

using Linear = std::map<std::size_t, mpq_class>;  // class -> coefficient
using Quadratic = std::map<std::pair<std::size_t, std::size_t>, mpq_class>;

template <class Form>
bool is_zero(const Form& form) {
  for (const auto& [key, value] : form) {
    if (value != 0) return false;
  }
  return true;
}

void add_product(Quadratic& result, const Linear& a, const Linear& b, int sign) {
  for (const auto& [p, f] : a) {
    for (const auto& [q, g] : b) result[{std::min(p, q), std::max(p, q)}] += sign * f * g;
  }
}

bool equal_by_symmetry(const Mixer& mixer, const Sample& x, const Sample& y) {
  ValueClasses classes(mixer);
  const bool bias = mixer.kind == MixerKind::bias;
  const std::size_t dim = x.front().size();
  const auto sum = [&](const Sample& sample, std::optional<std::size_t> entry) {
    Linear result;
    for (const Token& token : sample) {
      const auto [index, factor] = classes.find(token);
      result[index] += entry ? mpq_class(factor * token[*entry]) : factor;
    }
    return result;
  };
  const Linear total_x = sum(x, std::nullopt), total_y = sum(y, std::nullopt);
  if (bias) {
    Linear difference = total_x;
    for (const auto& [index, value] : total_y) difference[index] -= value;
    return is_zero(difference);
  }
  for (std::size_t k = 0; k < dim; ++k) {
    const Linear part_x = sum(x, k), part_y = sum(y, k);
    if (mixer.normalised) {
      Quadratic cross;
      add_product(cross, part_x, total_y, 1);
      add_product(cross, part_y, total_x, -1);
      if (!is_zero(cross)) return false;
    } else {
      Linear difference = part_x;
      for (const auto& [index, value] : part_y) difference[index] -= value;
      if (!is_zero(difference)) return false;
    }
  }
  return true;
}

/// Every base of a power divided by its leading coefficient, where that is a positive rational: 16 |v|^2 and |v|^2 are
/// then one base.
NormalForm with_plain_bases(const NormalForm& form) {
  NormalForm result;
  for (const auto& [shape, coefficient] : form) {
    Shape plain;
    plain.exponent = shape.exponent;
    Polynomial factor = coefficient;
    for (const auto& [base, exponent] : shape.factors) {
      const Surd& lead = base.terms().begin()->second;
      const std::optional<Surd> power = lead.is_rational() && lead.rational() > 0 ? attention_kernel::power(lead, exponent) : std::nullopt;
      if (!power) {
        plain.factors[base] += exponent;
        continue;
      }
      Polynomial reduced = base;
      reduced *= lead.inverse();
      plain.factors[reduced] += exponent;
      factor *= *power;
    }
    Polynomial& mine = result[plain];
    mine += factor;
    if (mine.is_zero()) result.erase(plain);
  }
  return result;
}

void add_scaled(NormalForm& sum, const NormalForm& form, const mpq_class& factor) {
  if (factor == 0) return;
  for (const auto& [shape, coefficient] : form) {
    Polynomial scaled = coefficient;
    scaled *= Surd(factor);
    Polynomial& mine = sum[shape];
    mine += scaled;
    if (mine.is_zero()) sum.erase(shape);
  }
}

void add_product(NormalForm& sum, const NormalForm& a, const NormalForm& b, int sign, const Budget& budget) {
  for (const auto& [p, f] : a) {
    for (const auto& [q, g] : b) {
      budget.poll();
      Shape shape = p;
      shape.exponent += q.exponent;
      for (const auto& [base, exponent] : q.factors) {
        mpq_class& mine = shape.factors[base];
        mine += exponent;
        if (mine == 0) shape.factors.erase(base);
      }
      Polynomial product = multiply(f, g, budget);
      product *= Surd(sign);
      Polynomial& mine = sum[shape];
      mine += product;
      if (mine.is_zero()) sum.erase(shape);
    }
  }
}

/// Values sum_j k_j and sum_j k_j z_j of a sample, as forms in the entries of u = W_Q q (variables 0 .. d-1) and of W_K
/// (behind them), or in w and b.
struct Sums {
  NormalForm total;
  std::vector<NormalForm> parts;
};

Sums make_sums(const Mixer& mixer, const Sample& sample, const Budget& budget) {
  const std::size_t dim = sample.front().size();
  const auto variables = attention_kernel::make_variables(0, dim + dim * dim + 1);
  Sums sums;
  sums.parts.resize(mixer.kind == MixerKind::bias ? 0 : dim);
  for (const Token& token : sample) {
    Meaning meaning;
    const auto combine = [&](std::size_t first) {
      Polynomial entry;
      for (std::size_t k = 0; k < dim; ++k) {
        Polynomial part = variables[first + k];
        part *= Surd(token[k]);
        entry += part;
      }
      return entry;
    };
    if (mixer.kind == MixerKind::bias) {
      meaning.t = combine(0) + variables[dim];
    } else {
      for (std::size_t r = 0; r < dim; ++r) {
        meaning.x.push_back(variables[r]);
        meaning.y.push_back(combine(dim + r * dim));
      }
    }
    const NormalForm value = with_plain_bases(attention_kernel::to_normal_form(mixer.expression, meaning, budget));
    add_scaled(sums.total, value, 1);
    for (std::size_t k = 0; k < sums.parts.size(); ++k) add_scaled(sums.parts[k], value, token[k]);
  }
  return sums;
}

bool equal_by_normal_form(const Mixer& mixer, const Sample& x, const Sample& y, const Budget& budget) {
  try {
    const Sums left = make_sums(mixer, x, budget), right = make_sums(mixer, y, budget);
    if (mixer.kind == MixerKind::bias) return left.total == right.total;
    for (std::size_t k = 0; k < left.parts.size(); ++k) {
      if (!mixer.normalised) {
        if (!(left.parts[k] == right.parts[k])) return false;
        continue;
      }
      NormalForm cross;
      add_product(cross, left.parts[k], right.total, 1, budget);
      add_product(cross, right.parts[k], left.total, -1, budget);
      if (!cross.empty()) return false;
    }
    return true;
  } catch (const OutOfScope&) {
    return false;
  }
}

/// Some parameters at which both values are defined: 1/0 or log(-1) would otherwise equal themselves.
bool is_defined_somewhere(const Mixer& mixer, const Sample& x, const Sample& y, std::size_t a, std::size_t b, const Budget& budget) {
  std::uint64_t state = 11;
  for (std::uint32_t attempt = 0; attempt < 32; ++attempt) {
    Parameters theta(count_parameters(mixer, x.front().size()));
    for (mpq_class& value : theta) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      value = mpq_class(static_cast<long>((state >> 33) % 33) - 16, 16L << (2 * (attempt % 4)));
      value.canonicalize();
    }
    try {
      (void)evaluate(mixer, x, a, theta, 256, budget);
      (void)evaluate(mixer, y, b, theta, 256, budget);
      return true;
    } catch (const Undefined&) {
    }
  }
  return false;
}

}  // namespace

std::optional<std::string> prove_equal(const Mixer& mixer, const Sample& x, const Sample& y, std::size_t a, std::size_t b, const Budget& budget) {
  if (mixer.kind == MixerKind::library || x.at(a) != y.at(b)) return std::nullopt;
  if (!is_defined_somewhere(mixer, x, y, a, b, budget)) return std::nullopt;
  if (equal_by_symmetry(mixer, x, y)) return "kernel symmetry";
  if (x.front().size() <= 8 && equal_by_normal_form(mixer, x, y, budget)) return "normal form";
  return std::nullopt;
}

bool fails_at_every_depth(const Mixer& mixer) { return mixer.kind == MixerKind::bias; }

}  // namespace sightline::falsify

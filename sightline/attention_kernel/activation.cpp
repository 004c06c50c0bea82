#include "sightline/attention_kernel/activation.hpp"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sightline/attention_kernel/activation_expression.hpp"
#include "sightline/base/error.hpp"

namespace sightline::attention_kernel {
namespace {

constexpr Tri yes = Tri::yes;
constexpr Tri no = Tri::no;

ActivationFacts polynomial(unsigned degree, Tri odd, Tri even_zero, Tri even_quadratic) {
  ActivationFacts facts;
  facts.continuous = facts.locally_lipschitz = facts.analytic = facts.polynomial = yes;
  facts.lipschitz = facts.affine = degree <= 1 ? yes : no;
  facts.constant = degree == 0 ? yes : no;
  facts.degree = degree;
  facts.odd = odd;
  facts.even = degree % 2 == 0 ? yes : no;
  facts.zero_at_zero = yes;
  facts.even_part_polynomial = yes;
  facts.even_part_zero = even_zero;
  facts.even_quadratic = even_quadratic;
  facts.positively_homogeneous = yes;
  facts.homogeneity_degree = degree;
  facts.c2_or_kink = degree >= 2 ? yes : no;
  return facts;
}

// Continuous, locally Lipschitz, no polynomial: what all remaining names but `step` share.
ActivationFacts smooth(Tri lipschitz, Tri analytic, Tri zero_at_zero) {
  ActivationFacts facts;
  facts.continuous = facts.locally_lipschitz = facts.c2_or_kink = yes;
  facts.polynomial = facts.affine = facts.constant = facts.positively_homogeneous = facts.even = no;
  facts.lipschitz = lipschitz;
  facts.analytic = analytic;
  facts.zero_at_zero = zero_at_zero;
  return facts;
}

ActivationFacts odd(ActivationFacts facts) {
  facts.odd = facts.even_part_polynomial = facts.even_part_zero = yes;
  facts.even_quadratic = no;
  return facts;
}

ActivationFacts uneven(ActivationFacts facts, Tri even_part_polynomial, Tri even_quadratic) {
  facts.odd = facts.even_part_zero = no;
  facts.even_part_polynomial = even_part_polynomial;
  facts.even_quadratic = even_quadratic;
  return facts;
}

ActivationFacts homogeneous(ActivationFacts facts, unsigned degree) {
  facts.positively_homogeneous = yes;
  facts.homogeneity_degree = degree;
  return facts;
}

ActivationFacts step() {
  ActivationFacts facts = smooth(no, no, Tri::unknown);  // the value at 0 is a convention
  facts.continuous = facts.locally_lipschitz = facts.c2_or_kink = no;
  facts.odd = facts.even_part_zero = facts.even_quadratic = no;
  return homogeneous(facts, 0);
}

std::optional<ActivationFacts> named(const std::string& name) {
  if (name == "relu" || name == "leaky_relu") return homogeneous(uneven(smooth(yes, no, yes), no, no), 1);  // even part: a multiple of |t|
  if (name == "gelu" || name == "silu" || name == "mish") return uneven(smooth(yes, yes, yes), no, yes);
  if (name == "elu") return uneven(smooth(yes, no, yes), no, yes);  // even part t^2/4 - |t|^3/12 + ...
  if (name == "tanh" || name == "erf" || name == "sin") return odd(smooth(yes, yes, yes));
  if (name == "sigmoid") return uneven(smooth(yes, yes, no), yes, no);  // even part 1/2
  if (name == "softplus") return uneven(smooth(yes, yes, no), no, no);
  if (name == "exp") return uneven(smooth(no, yes, no), no, no);
  if (name == "relu2") return homogeneous(uneven(smooth(no, no, yes), yes, yes), 2);  // even part t^2/2
  if (name == "square") return polynomial(2, no, no, yes);
  if (name == "cube") return polynomial(3, yes, yes, no);
  if (name == "identity") return polynomial(1, yes, yes, no);
  if (name == "step") return step();
  return std::nullopt;
}

// Expressions whose facts the general analysis would only know in part: sigmoid(t) + sigmoid(-t) = 1, say.
constexpr std::pair<std::string_view, std::string_view> spellings[] = {
  {"relu(t)", "relu"}, {"t*sigmoid(t)", "silu"}, {"sigmoid(t)*t", "silu"}, {"t/(1+exp(-t))", "silu"}, {"t*tanh(softplus(t))", "mish"},
  {"t*tanh(log(1+exp(t)))", "mish"}, {"elu(t)", "elu"}, {"tanh(t)", "tanh"}, {"sigmoid(t)", "sigmoid"}, {"1/(1+exp(-t))", "sigmoid"},
  {"softplus(t)", "softplus"}, {"log(1+exp(t))", "softplus"}, {"sin(t)", "sin"}, {"exp(t)", "exp"}, {"relu(t)^2", "relu2"},
  {"relu(t)*relu(t)", "relu2"}};

}  // namespace

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names = {"relu", "gelu", "silu", "mish", "elu", "leaky_relu", "tanh", "sigmoid", "softplus",
                                                 "erf",  "sin",  "exp",  "square", "relu2", "cube", "step", "identity"};
  return names;
}

ActivationFacts compute_activation_facts(const Activation& activation, const Budget& budget) {
  if (!activation.name.empty()) {
    if (const auto facts = named(activation.name)) return *facts;
    throw ArgumentError(fmt::format("no activation is called \"{}\"", activation.name));
  }
  const Expression expression = parse_expression(activation.text, Role::activation, 0);
  const std::string text = print_expression(expression);
  for (const auto& [spelling, name] : spellings) if (text == spelling) return *named(std::string(name));
  return compute_expression_facts(expression, budget);
}

}  // namespace sightline::attention_kernel

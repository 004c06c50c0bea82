#include <doctest/doctest.h>

#include "sightline/attention_kernel/activation.hpp"
#include "sightline/base/error.hpp"
#include "tri.hpp"

using namespace sightline;
using namespace sightline::attention_kernel;

namespace {

ActivationFacts of_name(const std::string& name) { return compute_activation_facts({name, ""}, {}); }
ActivationFacts of_text(const std::string& text) { return compute_activation_facts({"", text}, {}); }

void agree(Tri general, Tri known) {
  if (general != Tri::unknown && known != Tri::unknown) CHECK(general == known);
}

}  // namespace

TEST_CASE("named activations: the facts that the feedforward rules use") {
  CHECK(activation_names().size() == 17);
  for (const std::string& name : activation_names()) CHECK_NOTHROW((void)of_name(name));
  CHECK(of_name("relu").homogeneity_degree == 1u);
  CHECK(of_name("relu").even_part_polynomial == no);
  CHECK(of_name("gelu").even_quadratic == yes);
  CHECK(of_name("relu2").lipschitz == no);
  CHECK(of_name("relu2").even_part_polynomial == yes);
  CHECK(of_name("sigmoid").zero_at_zero == no);
  CHECK(of_name("sigmoid").even_part_polynomial == yes);
  CHECK(of_name("tanh").odd == yes);
  CHECK(of_name("cube").degree == 3u);
  CHECK(of_name("identity").affine == yes);
  CHECK(of_name("step").continuous == no);
  CHECK(of_name("exp").lipschitz == no);
}

TEST_CASE("expressions: the general analysis never contradicts the named facts, and finds most of them") {
  const std::pair<const char*, const char*> pairs[] = {
    {"relu", "1*relu(t)"}, {"silu", "t*sigmoid(t)+0"}, {"elu", "0+elu(t)"}, {"mish", "0+t*tanh(softplus(t))"}, {"tanh", "1*tanh(t)"},
    {"sigmoid", "1*sigmoid(t)"}, {"softplus", "1*softplus(t)"}, {"sin", "1*sin(t)"}, {"exp", "1*exp(t)"}, {"relu2", "1*relu(t)^2"},
    {"square", "t^2"}, {"square", "t*t"}, {"cube", "t^3"}, {"identity", "t"}, {"leaky_relu", "relu(t)-0.01*relu(-t)"}};
  for (const auto& [name, text] : pairs) {
    CAPTURE(text);
    const ActivationFacts known = of_name(name), general = of_text(text);
    agree(general.continuous, known.continuous);
    agree(general.locally_lipschitz, known.locally_lipschitz);
    agree(general.lipschitz, known.lipschitz);
    agree(general.analytic, known.analytic);
    agree(general.polynomial, known.polynomial);
    agree(general.affine, known.affine);
    agree(general.constant, known.constant);
    agree(general.odd, known.odd);
    agree(general.zero_at_zero, known.zero_at_zero);
    agree(general.even_part_polynomial, known.even_part_polynomial);
    agree(general.even_part_zero, known.even_part_zero);
    agree(general.even_quadratic, known.even_quadratic);
    agree(general.positively_homogeneous, known.positively_homogeneous);
    agree(general.c2_or_kink, known.c2_or_kink);
    CHECK(general.continuous == known.continuous);
    CHECK(general.analytic == known.analytic);
    CHECK(general.polynomial == known.polynomial);
    CHECK(general.degree == known.degree);
    CHECK(general.lipschitz == known.lipschitz);
    CHECK(general.odd == known.odd);
    CHECK(general.zero_at_zero == known.zero_at_zero);
    CHECK(general.c2_or_kink == known.c2_or_kink);
  }
}

TEST_CASE("powers of a high degree stop at a limit") {
  CHECK_THROWS_AS(static_cast<void>(compute_activation_facts({"", "((1+t)^64)^64"}, Budget(1e-9, std::nullopt))), BudgetExhausted);
}

TEST_CASE("expressions: polynomials, constants and odd ones out") {
  CHECK(of_text("1").constant == yes);
  CHECK(of_text("1").degree == 0u);
  CHECK(of_text("(t+1)^2-t^2-2*t").constant == yes);
  CHECK(of_text("2*t+1").affine == yes);
  CHECK(of_text("2*t+1").lipschitz == yes);
  CHECK(of_text("2*t+1").positively_homogeneous == no);
  CHECK(of_text("t^3-3*t").odd == yes);
  CHECK(of_text("t^2-t").even_quadratic == yes);
  CHECK(of_text("t^4").even_quadratic == no);
  CHECK(of_text("exp(log(2+t^2))").degree == 2u);
  CHECK(of_text("abs(t)").c2_or_kink == yes);
  CHECK(of_text("abs(t)").even_part_polynomial == no);
  CHECK(of_text("relu(t)-relu(t-1)").polynomial == no);
  CHECK(of_text("sqrt(abs(t))").locally_lipschitz == no);
  CHECK(of_text("1/t").continuous == no);
  CHECK(of_text("cos(t)").zero_at_zero == no);
  CHECK(of_text("log(1+t^2)").lipschitz == yes);
  CHECK(of_text("cosh(t)").lipschitz == no);
  CHECK(of_text("t/(1+abs(t))").odd == yes);
  CHECK(of_text("exp(1)").constant == yes);
  CHECK(of_text("t*sigmoid(t)").even_quadratic == yes);  // recognised as SiLU
}

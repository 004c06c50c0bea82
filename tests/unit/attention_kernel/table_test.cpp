// The table of theory.md 4.3, every row by name and in several spellings.
#include <doctest/doctest.h>

#include "sightline/attention_kernel/kernel.hpp"
#include "tri.hpp"

using namespace sightline;
using namespace sightline::attention_kernel;

namespace {

Kernel named(const std::string& name) {
  Kernel kernel;
  kernel.name = name;
  return kernel;
}

Kernel written(const std::string& text) {
  Kernel kernel;
  kernel.name = "";
  kernel.text = text;
  return kernel;
}

Kernel performer(std::vector<std::vector<mpq_class>> features) {
  Kernel kernel = named("performer");
  kernel.features = std::move(features);
  return kernel;
}

struct Row {
  Tri analytic, positive;
  Condition13 condition;
  std::string pair;  // "" = do not compare
  Tri distinguishable;
};

constexpr Condition13 holds = Condition13::holds, fails = Condition13::fails;
const std::string all = "all pairs", measure = "a set of W_K of positive measure", opposite = "y2 = -y1";

void check(const Row& row, const std::vector<Kernel>& spellings, std::size_t tokens = 4) {
  for (const Kernel& kernel : spellings) {
    CAPTURE(kernel.name);
    CAPTURE(kernel.text);
    const KernelFacts facts = compute_kernel_facts(kernel, 3, tokens, {});
    CHECK(facts.analytic == row.analytic);
    CHECK(facts.positive == row.positive);
    CHECK(facts.condition13 == row.condition);
    CHECK(facts.failure.has_value() == (row.condition == fails || facts.condition13_literal == fails));
    if (!row.pair.empty() && facts.failure) CHECK(facts.failure->y2 == row.pair);
    CHECK(facts.token_distinguishability == row.distinguishable);
    CHECK(facts.mean_property == yes);
    CHECK_FALSE(facts.rule.empty());
  }
}

}  // namespace

TEST_CASE("exp(x.y)") {
  check({yes, yes, holds, "", yes}, {named("softmax"), written("exp(dot(x,y))"), written("exp(dot(y,x)/sqrt(3))"), written("exp(-0.5*norm2(x-y)+norm2(x)/2+norm2(y)/2)"),
                                     written("cosh(dot(x,y))+sinh(dot(x,y))"), written("(exp(dot(x,y)/2))^2"), written("1/exp(-dot(x,y))")});
  CHECK(compute_kernel_facts(named("softmax"), 768, 4, {}).is_softmax);
  CHECK(compute_kernel_facts(written("2*exp(dot(x,y)/8)"), 64, 4, {}).is_softmax);
  CHECK_FALSE(compute_kernel_facts(named("rbf"), 3, 4, {}).is_softmax);
  CHECK(compute_kernel_facts(named("softmax"), 3, 4, {}).condition13_literal == holds);
}

TEST_CASE("exp(x^T M y): generic yes, literal on the kernel of M^T no") {
  const KernelFacts regular = compute_kernel_facts(written("exp(dot([1,-2,3]*x,y))"), 3, 4, {});
  CHECK(regular.condition13 == holds);
  CHECK(regular.condition13_literal == holds);
  for (const char* text : {"exp(dot([1,2,0]*x,y))", "exp(dot([1,0,0],x)*dot([1,0,0],y)+2*dot([0,1,0],x)*dot([0,1,0],y))"}) {
    const KernelFacts singular = compute_kernel_facts(written(text), 3, 4, {});
    CHECK(singular.condition13 == holds);
    CHECK(singular.condition13_literal == fails);
    REQUIRE(singular.failure.has_value());
    CHECK(singular.failure->x == "[0,0,1]");
  }
}

TEST_CASE("a failure for long queries alone is not generic") {
  // |x.y| outgrows 4 |y| only where |x| > 4; along y and -y the first term is alike and the second is not.
  const KernelFacts facts = compute_kernel_facts(written("exp(abs(dot(x,y))-4*norm(y))+exp(dot([1,0],y))"), 2, 4, {});
  CHECK(facts.condition13 == Condition13::undecided);
  CHECK_FALSE(facts.failure);
}

TEST_CASE("Gaussian") {
  Kernel narrow = named("gaussian");
  narrow.gamma = mpq_class(1, 2);
  check({yes, yes, holds, "", yes}, {named("rbf"), narrow, written("exp(-0.5*norm2(x-y))"), written("exp(-norm2(x-y)/2)"), written("exp(-norm(x-y)^2)"),
                                     written("exp(dot(x,y))*exp(-norm2(x)/2)*exp(-norm2(y)/2)"), written("exp(-dot(x-y,x-y))")});
  CHECK(compute_kernel_facts(named("rbf"), 3, 4, {}).condition13_literal == holds);
}

TEST_CASE("Performer features") {
  check({yes, yes, holds, "", yes},
        {performer({{1, 0, 2}, {0, 3, 1}}), performer({{1, 0, 2}, {2, 0, 4}}), performer({{1, 0, 2}, {-2, 0, -4}}), performer({{1, 0, 2}}), performer({{0, 0, 0}, {1, 0, 2}}),
         written("exp(dot([1,0,2],x)-norm2(x)/2)*exp(dot([1,0,2],y)-norm2(y)/2)+exp(dot([0,3,1],x+y)-0.5*(norm2(x)+norm2(y)))")});
  check({yes, yes, fails, opposite, open},
        {performer({{1, 0, 2}, {-1, 0, -2}, {0, 3, 1}, {0, -3, -1}}), performer({{1, 0, 2}, {-1, 0, -2}}),
         written("exp(-norm2(x)/2-norm2(y)/2)*cosh(dot([1,0,2],x+y))")});
  check({yes, yes, fails, opposite, open}, {performer({{0, 0, 0}})});
  // antipodal vectors that are no vertices of the hull do no harm; a face shared with a longer one does not either
  check({yes, yes, holds, "", yes}, {performer({{1, 0, 0}, {-1, 0, 0}, {5, 5, 5}, {-4, 3, 1}, {1, -6, 2}, {1, 1, -7}, {-3, -5, 4}, {-2, -2, -2}})});
}

TEST_CASE("exp(w.(x+y)) and the appendix kernel exp(w.x) + exp(w.y)") {
  Kernel sum = named("exponential-sum");
  sum.weight = {1, -2, 1};
  check({yes, yes, holds, "", yes}, {sum, written("exp(dot([1,-2,1],x+y))"), written("exp(dot([1,-2,1],x))*exp(dot([1,-2,1],y))")});
  check({yes, yes, fails, measure, yes}, {written("exp(dot([1,-2,1],x))+exp(dot([1,-2,1],y))"), written("exp(dot(x,[1,-2,1]))+2*exp(dot(y,[1,-2,1]))")});
  sum.weight = {0, 0, 0};
  check({yes, yes, fails, all, no}, {sum});
}

TEST_CASE("a positive polynomial times an exponential") {
  check({yes, yes, holds, "", yes},
        {written("(1+norm2(x-y))*exp(dot(x,y))"), written("exp(dot(x,y))+norm2(x-y)*exp(dot(x,y))"), written("(1+norm2(x-y))*exp(-1.0*norm2(x-y))"),
         written("(1+dot(x,y)^2)*exp(-norm2(x-y)/2)"), written("exp(dot(x,y))/(1+norm2(x-y))"), written("(1+norm2(x-y))^-0.5*exp(dot(x,y))"),
         written("(1+norm2(x)-2*dot(x,y)+norm2(y))*exp(dot(x,y))")});
}

TEST_CASE("sums of exponentials") {
  check({yes, yes, holds, "", yes}, {written("exp(dot(x,y))+exp(-norm2(x-y)/2)"), written("exp(-norm2(x-y))+exp(dot(x,y))"), written("exp(dot(x,y))+exp(dot([1,-2,1],x+y))"),
                                     written("dot(exp(x),exp(y))"), written("exp(dot(x,y))+exp(2*dot(x,y))")});
  check({yes, yes, fails, measure, open}, {written("1+exp(dot(x,y))"), written("exp(dot(x,y))+1"), written("1e-6+exp(dot(x,y))"), written("exp(softplus(dot(x,y)))")});
  check({yes, yes, fails, opposite, open}, {written("cosh(dot(x,y))"), written("exp(dot(x,y))+exp(-dot(x,y))"), written("(exp(dot(x,y))+1/exp(dot(x,y)))/2")});
  check({yes, yes, fails, "y2 = -1/2 y1", open}, {written("exp(dot(x,y))+exp(-2*dot(x,y))"), written("exp(-2*dot(x,y))+exp(dot(x,y))"), written("exp(dot(x,y))+exp(dot(x,y))^-2")});
}

TEST_CASE("kernels that are even in the key") {
  check({yes, yes, fails, opposite, open}, {written("exp(-norm2(x)-norm2(y))"), written("exp(norm2(y))"), written("exp(-norm2(x))*exp(-norm2(y))"), written("exp(dot(x,y)^2)"),
                                            written("exp(-norm2(x-y))*exp(-norm2(x+y))"), written("exp(abs(dot(x,y))^2)")});
}

TEST_CASE("constants and polynomials") {
  check({yes, yes, fails, all, no}, {written("1"), written("2/3"), written("exp(0*dot(x,y))"), written("exp(1)"), written("dot(x,y)-dot(y,x)+1")});
  CHECK(compute_kernel_facts(written("1"), 3, 4, {}).indistinguishable_at_every_depth);
  check({yes, yes, fails, all, yes}, {written("1")}, 2);
  check({yes, no, fails, all, open}, {written("(1+dot(x,y))^2"), written("1+2*dot(x,y)+dot(x,y)^2"), written("(dot(x,y)+1)*(dot(x,y)+1)")}, 4);
  check({yes, no, fails, all, no}, {written("(1+dot(x,y))^2"), written("1+2*dot(x,y)+dot(x,y)^2"), written("(dot(x,y)+1)*(dot(x,y)+1)")}, 5);
  check({yes, no, fails, all, open}, {written("(1+dot(x,y))^4")}, 6);
  check({yes, no, fails, all, no}, {written("(1+dot(x,y))^4"), written("((1+dot(x,y))^2)^2")}, 7);
  CHECK(compute_kernel_facts(written("(1+dot(x,y))^2"), 3, 4, {}).nonnegative == yes);
  CHECK(compute_kernel_facts(written("dot(x,y)"), 3, 4, {}).nonnegative == no);
}

TEST_CASE("Cauchy and rational quadratic") {
  check({yes, yes, fails, all, yes}, {named("cauchy"), written("1/(1+norm2(x-y))"), written("(1+norm2(x-y))^-1"), written("(1+norm2(x-y))^-0.5"), written("1/sqrt(1+norm2(x-y))"),
                                      written("(1+norm2(x-y)/3)^-1.5"), written("exp(-log(1+norm2(x-y)))"), written("1/(1+norm2(x)-2*dot(x,y)+norm2(y))")});
}

TEST_CASE("Laplace and Matern") {
  check({no, yes, fails, opposite, open}, {named("laplace"), written("exp(-norm(x-y))"), written("exp(-sqrt(norm2(x-y)))"), written("(1+norm(x-y))*exp(-norm(x-y))"),
                                           written("(1+sqrt(3)*norm(x-y))*exp(-sqrt(3)*norm(x-y))"),
                                           written("(1+sqrt(5)*norm(x-y)+5/3*norm2(x-y))*exp(-sqrt(5)*norm(x-y))")});
}

TEST_CASE("softplus and sigmoid") {
  check({yes, yes, fails, measure, open}, {written("softplus(dot(x,y))"), written("log(1+exp(dot(x,y)))"), written("dot(softplus(x),softplus(y))"), written("dot(sigmoid(x),sigmoid(y))")});
  check({yes, yes, fails, measure, open}, {written("sigmoid(dot(x,y))"), written("sigmoid(dot(x,y)+(-1.0))"), written("1/(1+exp(-dot(x,y)))")});
}

TEST_CASE("piecewise kernels") {
  check({no, yes, fails, measure, open}, {named("elu1"), written("dot(elu(x)+1,elu(y)+1)"), written("dot(1+elu(x),1+elu(y))")});
  check({no, no, fails, measure, open}, {named("relu2"), written("relu(dot(x,y))^2"), written("relu(dot(x,y))*relu(dot(x,y))"), written("relu(dot(x,y))"), written("dot(relu(x),relu(y))")});
}

TEST_CASE("cosine features and cosine normalisation") {
  check({yes, no, fails, all, open}, {written("cos(dot([1,2,0],x-y))+cos(dot([0,1,-1],x-y))"), written("dot(cos(x),cos(y))+dot(sin(x),sin(y))"),
                                      written("cos(dot([1,2,0],x))*cos(dot([1,2,0],y))+sin(dot([1,2,0],x))*sin(dot([1,2,0],y))")});
  Kernel cosine = named("cosine");
  cosine.temperature = 3;
  check({no, yes, fails, all, no}, {cosine, written("exp(3*dot(x,y)/(norm(x)*norm(y)))"), written("exp(3*dot(x/norm(x),y/norm(y)))")});
  check({yes, yes, fails, measure, open}, {written("exp(3.0*dot(x,y)/sqrt((norm2(x)+1e-6)*(norm2(y)+1e-6)))")});
}

TEST_CASE("symmetries of the weights") {
  for (const char* text : {"exp(dot(x,y))", "exp(-norm2(x-y))", "1/(1+norm2(x-y))", "(1+dot(x,y))^2", "exp(-norm(x-y))", "exp(3*dot(x,y)/(norm(x)*norm(y)))"})
    CHECK(compute_kernel_facts(written(text), 3, 4, {}).joint_sign_even == yes);
  for (const char* text : {"exp(dot([1,0,0],y))", "dot(relu(x),relu(y))", "dot(elu(x)+1,elu(y)+1)"}) CHECK(compute_kernel_facts(written(text), 3, 4, {}).joint_sign_even == no);
  for (const char* text : {"dot(relu(x),relu(y))", "dot(x,y)", "relu(dot(x,y))^2", "1", "exp(dot(x,y)/(norm(x)*norm(y)))"}) CHECK(compute_kernel_facts(written(text), 3, 4, {}).homogeneous_mixer == yes);
  for (const char* text : {"exp(dot(x,y))", "exp(-norm2(x-y))", "dot(elu(x)+1,elu(y)+1)"}) CHECK(compute_kernel_facts(written(text), 3, 4, {}).homogeneous_mixer == no);
  CHECK(compute_kernel_facts(named("cosine"), 3, 4, {}).scale_invariant == yes);
  CHECK(compute_kernel_facts(written("dot(x,y)"), 3, 4, {}).scale_invariant == no);
}

TEST_CASE("the UAP needs a kernel that is not identically zero") {
  CHECK(compute_kernel_facts(written("dot(x,y)-dot(y,x)"), 3, 4, {}).mean_property == no);
  CHECK(compute_kernel_facts(written("dot(x,y)"), 3, 4, {}).mean_property == yes);
  CHECK(compute_kernel_facts(written("dot(x,y)"), 1, 4, {}).mean_property == open);
  CHECK(compute_kernel_facts(named("softmax"), 1, 4, {}).mean_property == yes);
}

TEST_CASE("wide and long kernels are decided in time") {
  std::vector<std::vector<mpq_class>> features(64, std::vector<mpq_class>(32));
  long state = 1;
  for (auto& feature : features) for (auto& entry : feature) entry = mpq_class((state = state * 48271 % 2147483647) % 2001 - 1000, 1000);
  CHECK(compute_kernel_facts(performer(features), 32, 4, {}).condition13 == holds);
  CHECK(compute_kernel_facts(written("dot(elu(x)+1,elu(y)+1)"), 64, 4, {}).condition13 == fails);
  CHECK(compute_kernel_facts(written("dot(exp(x),exp(y))"), 64, 4, {}).condition13 == holds);
}

// The checker's tables of kernels and activations against the library's analysis of the same formulas.
#include <doctest/doctest.h>

#include <random>

#include "checker/analysis.hpp"
#include "checker/derivation.hpp"
#include "sightline/attention_kernel/activation.hpp"
#include "sightline/attention_kernel/kernel.hpp"

namespace {

using sightline::attention_kernel::Condition13;
using sightline::attention_kernel::Tri;

char letter(Tri value) { return value == Tri::yes ? 'y' : value == Tri::no ? 'n' : '?'; }

checker::Json list(const std::vector<int>& values) {
  checker::Json::Array out;
  for (const int x : values) out.emplace_back(static_cast<double>(x));
  return checker::Json(std::move(out));
}

void compare(const sightline::attention_kernel::Kernel& kernel, const checker::Json& json, std::size_t dim) {
  const auto facts = sightline::attention_kernel::compute_kernel_facts(kernel, dim, 4, sightline::Budget());
  const std::string row = {letter(facts.analytic),         letter(facts.positive),          letter(facts.nonzero_at_zero),
                           letter(facts.mean_property),    letter(facts.joint_sign_even),   letter(facts.homogeneous_mixer),
                           letter(facts.constant),         facts.is_softmax ? 'y' : 'n',    facts.is_gaussian ? 'y' : 'n',
                           facts.condition13 == Condition13::holds ? 'h' : facts.condition13 == Condition13::fails ? 'f' : 'u', letter(facts.reads_keys)};
  const checker::Json evidence(checker::Json::Object{
      {"kernels", checker::Json(checker::Json::Array{checker::Json(checker::Json::Array{json, checker::Json(row)})})}});
  std::vector<std::string> trusted;
  const std::string found = checker::kernel_facts(json, static_cast<std::int64_t>(dim), &evidence, trusted).flags;
  INFO("kernel " << print(json) << " dim " << dim << " library " << row << " checker " << found);
  REQUIRE(found.size() == row.size());
  for (std::size_t k = 0; k < 9; ++k) CHECK((found[k] == 'y') == (row[k] == 'y'));
  CHECK(found[9] == row[9]);
  CHECK(found[10] == row[10]);
}

TEST_CASE("named kernels have the facts that the analysis of their formulas finds") {
  for (const std::size_t dim : {1, 2, 3, 5}) {
    for (const char* name : {"softmax", "gaussian", "rbf", "cauchy", "laplace", "elu1", "relu2", "cosine"}) {
      sightline::attention_kernel::Kernel kernel;
      kernel.name = name;
      compare(kernel, checker::Json(std::string(name)), dim);
    }
  }
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    const std::size_t dim = 1 + random() % 3, count = 1 + random() % 4;
    sightline::attention_kernel::Kernel sum, performer;
    sum.name = "exponential-sum", performer.name = "performer";
    std::vector<int> weight(dim);
    for (int& w : weight) w = static_cast<int>(random() % 3) - 1;
    sum.weight.assign(weight.begin(), weight.end());
    compare(sum, checker::Json(checker::Json::Object{{"name", checker::Json(std::string("exponential-sum"))}, {"weight", list(weight)}}), dim);
    checker::Json::Array features;
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<int> w(dim);
      for (int& x : w) x = static_cast<int>(random() % 3) - 1;
      performer.features.emplace_back(w.begin(), w.end());
      features.push_back(list(w));
    }
    compare(performer, checker::Json(checker::Json::Object{{"name", checker::Json(std::string("performer"))}, {"features", checker::Json(std::move(features))}}), dim);
  }
}

TEST_CASE("named activations have the library's facts") {
  for (const std::string& name : sightline::attention_kernel::activation_names()) {
    const auto s = sightline::attention_kernel::compute_activation_facts({name, ""}, {});
    const bool one = s.positively_homogeneous == Tri::yes && s.homogeneity_degree == 1u;
    const std::string row = {letter(s.continuous), letter(s.locally_lipschitz), letter(s.lipschitz), letter(s.analytic), letter(s.polynomial),
                             letter(s.affine), letter(s.constant), letter(s.odd), letter(s.zero_at_zero), letter(s.even_part_polynomial),
                             letter(s.even_quadratic), one ? 'y' : 'n', letter(s.c2_or_kink), letter(s.even)};
    std::vector<std::string> trusted;
    const checker::ActivationFacts found = checker::activation_facts(checker::Json(name), nullptr, trusted);
    INFO("activation " << name);
    CHECK(found.flags == row);
    CHECK(found.degree == (s.degree ? static_cast<std::int64_t>(*s.degree) : -1));
    CHECK(trusted.empty());
  }
}

TEST_CASE("an expression without evidence is refused, with evidence it is named as trusted") {
  std::vector<std::string> trusted;
  const checker::Json expression(std::string("exp(dot(x,y))"));
  CHECK_THROWS_AS((void)checker::kernel_facts(expression, 3, nullptr, trusted), checker::Rejected);
  const checker::Json evidence = checker::parse(R"~({"kernels":[["exp(dot(x,y))","yyyyynnynhy"]]})~");
  CHECK(checker::kernel_facts(expression, 3, &evidence, trusted).flags == "yyyyynnynhy");
  CHECK(trusted.size() == 1);
  const checker::Json misspelt = checker::parse(R"~({"kernels":[["exp(dot(x,y))","yyyyynnynxy"]]})~");
  CHECK_THROWS_AS((void)checker::kernel_facts(expression, 3, &misspelt, trusted), checker::Malformed);
}

}  // namespace

TEST_CASE("what the checker proves of expressions is what the library says, and refutes what it does not") {
  const char* const kernels[] = {"exp(dot(x,y))", "exp(-0.5*norm2(x-y))", "(1+norm2(x-y))*exp(dot(x,y))", "1/(1+norm2(x-y))", "(1+norm2(x-y))^-0.5", "(1+dot(x,y))^2",
                                 "dot(elu(x)+1,elu(y)+1)", "relu(dot(x,y))^2", "cosh(dot(x,y))", "sigmoid(dot(x,y)-1)", "exp(dot(x,y))+exp(-2*dot(x,y))", "1", "-2.5e-1",
                                 "dot(x,y)", "1+exp(dot(x,y))", "exp(dot([1,-2,1],x+y))", "exp(dot(x,y))*dot(x,y)", "softplus(dot(x,y))", "norm(x-y)", "exp(-norm(x-y))",
                                 "exp(3.0*dot(x,y)/sqrt((norm2(x)+1e-6)*(norm2(y)+1e-6)))", "abs(dot(x,y))", "cos(dot([1,0,2],x-y))", "tanh(dot(x,y))", "2*exp(2*dot(x,y))", "x"};
  std::size_t proved = 0, open = 0;
  for (const char* text : kernels) {
    sightline::attention_kernel::Kernel kernel;
    kernel.name.clear();
    kernel.text = text;
    std::optional<sightline::attention_kernel::KernelFacts> facts;
    try {
      facts = sightline::attention_kernel::compute_kernel_facts(kernel, 3, 4, sightline::Budget());
    } catch (const std::exception&) {
      continue;  // no kernel
    }
    const std::string row = {letter(facts->analytic),         letter(facts->positive),          letter(facts->nonzero_at_zero),
                             letter(facts->mean_property),    letter(facts->joint_sign_even),   letter(facts->homogeneous_mixer),
                             letter(facts->constant),         facts->is_softmax ? 'y' : 'n',    facts->is_gaussian ? 'y' : 'n',
                             facts->condition13 == Condition13::holds ? 'h' : facts->condition13 == Condition13::fails ? 'f' : 'u', letter(facts->reads_keys)};
    const std::string flags = checker::analyse_kernel(text, 3).flags;
    INFO("kernel " << text << " library " << row << " checker " << flags);
    for (std::size_t k = 0; k < row.size(); ++k) {
      CHECK((flags[k] == '?' || row[k] == '?' || row[k] == 'u' || flags[k] == row[k]));
      (flags[k] == '?' ? open : proved) += 1;
      // A lie about anything that is proved is refuted.
      if (flags[k] != 'y' && flags[k] != 'n') continue;
      std::string lie = row;
      lie[k] = flags[k] == 'y' ? 'n' : 'y';
      CHECK_THROWS_AS((void)checker::name_unproved(checker::analyse_kernel(text, 3), lie, true, text), checker::Rejected);
    }
  }
  const char* const activations[] = {"t^3", "t", "1", "t*sigmoid(1.702*t)", "0.5*t*(1+tanh(0.79788*(t+0.044715*t^3)))", "relu(t)^2", "sin(t)+t", "exp(t)-1", "t^2+t-3", "tanh(t)^3", "2*t+1",
                                     "abs(t)", "relu(t)-relu(-t)", "cos(t)", "t^4-t^2", "(t+1)^3-(t-1)^3", "1/(1+t^2)", "log(1+exp(t))", "sqrt(1+t^2)", "elu(t)", "softplus(t)", "t*abs(t)", "sinh(t)/cosh(t)", "log(cosh(t))", "t*tanh(t)", "abs(t)*cos(t)", "t^2-3"};
  for (const char* text : activations) {
    const sightline::attention_kernel::Activation activation{"", text};
    const auto f = sightline::attention_kernel::compute_activation_facts(activation, {});
    const bool one = f.positively_homogeneous == Tri::yes && f.homogeneity_degree == 1u;
    const std::string row = {letter(f.continuous), letter(f.locally_lipschitz), letter(f.lipschitz), letter(f.analytic), letter(f.polynomial), letter(f.affine), letter(f.constant),
                             letter(f.odd), letter(f.zero_at_zero), letter(f.even_part_polynomial), letter(f.even_quadratic), one ? 'y' : 'n', letter(f.c2_or_kink), letter(f.even)};
    const checker::Analysis analysis = checker::analyse_activation(text);
    INFO("activation " << text << " library " << row << " checker " << analysis.flags);
    for (std::size_t k = 0; k < row.size(); ++k) {
      CHECK((analysis.flags[k] == '?' || row[k] == '?' || analysis.flags[k] == row[k]));
      (analysis.flags[k] == '?' ? open : proved) += 1;
    }
    if (analysis.degree) CHECK((f.degree && static_cast<std::int64_t>(*f.degree) == *analysis.degree));
  }
  MESSAGE(proved << " facts of expressions proved by the checker, " << open << " left to trust");
  CHECK(proved > 2 * open);
  // Numbers too long to write, and text that is none, prove nothing and end soon.
  CHECK(checker::analyse_activation("((((2^16)^16)^16)^16)^16*t").flags == std::string(14, '?'));
  CHECK(checker::analyse_activation(std::string(5000, '(') + "t").flags == std::string(14, '?'));
  CHECK(checker::analyse_kernel("exp(", 3).flags == std::string(11, '?'));
}

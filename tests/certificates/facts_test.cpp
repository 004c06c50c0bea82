// The checker's tables of kernels and activations against the library's analysis of the same formulas.
#include <doctest/doctest.h>

#include <random>

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
                           facts.condition13 == Condition13::holds ? 'h' : facts.condition13 == Condition13::fails ? 'f' : 'u'};
  const checker::Json evidence(checker::Json::Object{
      {"kernels", checker::Json(checker::Json::Array{checker::Json(checker::Json::Array{json, checker::Json(row)})})}});
  std::vector<std::string> trusted;
  const std::string found = checker::kernel_facts(json, static_cast<std::int64_t>(dim), &evidence, trusted).flags;
  INFO("kernel " << print(json) << " dim " << dim << " library " << row << " checker " << found);
  REQUIRE(found.size() == row.size());
  for (std::size_t k = 0; k < 9; ++k) CHECK((found[k] == 'y') == (row[k] == 'y'));
  CHECK(found[9] == row[9]);
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
    const auto s = sightline::attention_kernel::compute_activation_facts({name, ""});
    const bool one = s.positively_homogeneous == Tri::yes && s.homogeneity_degree == 1u;
    const std::string row = {letter(s.continuous), letter(s.locally_lipschitz), letter(s.lipschitz), letter(s.analytic), letter(s.polynomial),
                             letter(s.affine), letter(s.constant), letter(s.odd), letter(s.zero_at_zero), letter(s.even_part_polynomial),
                             letter(s.even_quadratic), one ? 'y' : 'n', letter(s.c2_or_kink)};
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
  const checker::Json evidence = checker::parse(R"~({"kernels":[["exp(dot(x,y))","yyyyynnynh"]]})~");
  CHECK(checker::kernel_facts(expression, 3, &evidence, trusted).flags == "yyyyynnynh");
  CHECK(trusted.size() == 1);
  const checker::Json misspelt = checker::parse(R"~({"kernels":[["exp(dot(x,y))","yyyyynnynx"]]})~");
  CHECK_THROWS_AS((void)checker::kernel_facts(expression, 3, &misspelt, trusted), checker::Malformed);
}

}  // namespace

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <functional>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "sightline/approximate/approximate.hpp"
#include "sightline/approximate/by_mixer.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/verdict/certify.hpp"

using namespace sightline;
using approximate::Samples;
using approximate::Sumformer;

namespace {

/// A random S_n-equivariant polynomial of degree <= D: a combination of x_i^b times products of monomial power sums of all tokens.
class RandomPolynomial final : public target::Target {
public:
  RandomPolynomial(std::size_t tokens, std::size_t dim, std::size_t degree, std::uint64_t seed, std::size_t width = 1) : Target("random polynomial", tokens, dim), width_(width) {
    std::mt19937_64 random(seed);
    for (std::size_t k = 0; k < width; ++k) {
      for (int t = 0; t < 12; ++t) {
        Term term;
        std::size_t left = degree - (t < 4 ? 0 : random() % (degree + 1));  // some of the full degree
        term.own.assign(dim, 0);
        term.factor = target::draw_unit(random) * 2 - 1;
        while (left > 0) {
          const std::size_t take = 1 + random() % left;
          std::vector<int> exponents(dim, 0);
          for (std::size_t u = 0; u < take; ++u) ++exponents[random() % dim];
          if (random() % 3 == 0) for (std::size_t c = 0; c < dim; ++c) term.own[c] += exponents[c];
          else term.sums.push_back(exponents);
          left -= take;
        }
        terms_.push_back(term);
      }
    }
  }
  std::size_t width() const override { return width_; }
  bool is_equivariant() const override { return true; }
  void evaluate(std::size_t count, const double* x, double* out) const override {
    for (std::size_t s = 0; s < count; ++s) {
      for (std::uint32_t i = 0; i < tokens(); ++i) evaluate_at(1, x + s * tokens() * dim(), &i, out + (s * tokens() + i) * width_);
    }
  }
  void evaluate_at(std::size_t count, const double* x, const std::uint32_t* own, double* out) const override {
    for (std::size_t s = 0; s < count; ++s, x += tokens() * dim()) {
      for (std::size_t k = 0; k < width_; ++k) {
        double sum = 0;
        for (std::size_t t = 0; t < 12; ++t) {
          const Term& term = terms_[12 * k + t];
          double value = term.factor * monomial(term.own, x + own[s] * dim());
          for (const auto& a : term.sums) {
            double total = 0;
            for (std::size_t j = 0; j < tokens(); ++j) total += monomial(a, x + j * dim());
            value *= total / std::sqrt(static_cast<double>(tokens()));
          }
          sum += value;
        }
        out[s * width_ + k] = sum;
      }
    }
  }

private:
  struct Term { double factor = 0; std::vector<int> own; std::vector<std::vector<int>> sums; };
  double monomial(const std::vector<int>& a, const double* t) const {
    double value = 1;
    for (std::size_t c = 0; c < dim(); ++c) for (int k = 0; k < a[c]; ++k) value *= t[c];
    return value;
  }
  std::size_t width_;
  std::vector<Term> terms_;
};

approximate::Result fit(const target::Target& target, std::optional<std::size_t> degree, std::uint64_t seed = 0) {
  approximate::Options options;
  options.degree = degree;
  options.seed = seed;
  options.test_sequences = 200;
  return approximate::fit_polynomial(&target, nullptr, options, Budget());
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("random equivariant polynomials: relative 1e-9 in the sup norm on fresh samples") {
  std::uint64_t seed = 1;
  for (const auto& [n, d, degree] : std::vector<std::array<std::size_t, 3>>{{2, 1, 6}, {2, 2, 6}, {2, 4, 3}, {3, 1, 6}, {3, 3, 4}, {4, 2, 5}, {5, 1, 6}, {6, 2, 4}, {8, 1, 6}, {8, 3, 3}, {12, 2, 5}, {16, 1, 6}, {16, 4, 3}, {16, 2, 5}}) {
    CAPTURE(n);
    CAPTURE(d);
    CAPTURE(degree);
    const RandomPolynomial target(n, d, degree, ++seed, 2);
    const auto result = fit(target, degree, seed);
    CHECK(result.relative_sup < 1e-9);
    CHECK(result.equivariance == 0);
    CHECK(result.dependent_count == 0);
    CHECK(result.blame.empty());
  }
}

TEST_SUITE("slow") {
  TEST_CASE("random equivariant polynomials: every n in 2..16, d in 1..4, degree <= 6") {
    double worst = 0;
    for (std::size_t n = 2; n <= 16; ++n) {
      for (std::size_t d = 1; d <= 4; ++d) {
        for (std::size_t degree = 1; degree <= 6; ++degree) {
          CAPTURE(n);
          CAPTURE(d);
          CAPTURE(degree);
          const RandomPolynomial target(n, d, degree, 100 * n + 10 * d + degree);
          const auto result = fit(target, degree);
          CHECK(result.relative_sup < 1e-9);
          CHECK(result.equivariance == 0);
          CHECK(result.dependent_count == 0);
          worst = std::max(worst, result.relative_sup);
        }
      }
    }
    MESSAGE("largest relative error in the sup norm: ", worst);
  }
}

TEST_CASE("the degree is found by cross-validation") {
  for (std::size_t degree = 1; degree <= 4; ++degree) {
    const RandomPolynomial target(5, 2, degree, 40 + degree);
    const auto result = fit(target, std::nullopt);
    CHECK(result.degree == degree);
    CHECK(result.relative_sup < 1e-9);
    REQUIRE(result.degrees.size() > degree + 1);
    CHECK(result.degrees[degree].error < 1e-10);
    CHECK(result.degrees[degree - 1].error > 1e-6);
  }
}

TEST_CASE("equivariance holds bit for bit, and so does saving") {
  const auto target = target::open_target("expr:attend(dot(x,y), concat(y, norm(y)))", 9, 2);
  const auto result = fit(*target, 4);
  const Sumformer& model = *result.model;
  std::mt19937_64 random(3);
  std::vector<double> x(130 * 18), y(130 * 27), moved(18), moved_y(27);
  target::Sampler().fill(9, 9, 9, x.size(), x.data());
  model.evaluate(130, x.data(), y.data());
  for (std::size_t q = 0; q < 130; ++q) {
    std::vector<std::size_t> s(9);
    std::iota(s.begin(), s.end(), std::size_t{0});
    for (std::size_t i = 9; i > 1; --i) std::swap(s[i - 1], s[random() % i]);
    for (std::size_t i = 0; i < 9; ++i) std::memcpy(&moved[s[i] * 2], &x[q * 18 + i * 2], 2 * sizeof(double));
    model.evaluate(1, moved.data(), moved_y.data());  // also: alone and in a batch
    for (std::size_t i = 0; i < 9; ++i) CHECK(std::memcmp(&moved_y[s[i] * 3], &y[q * 27 + i * 3], 3 * sizeof(double)) == 0);
  }
  const auto tensors = model.to_tensors();
  const Sumformer again = Sumformer::from_tensors(data::parse_safetensors(data::to_safetensors(tensors), "M", Budget()), "M");
  std::vector<double> again_y(y.size());
  again.evaluate(130, x.data(), again_y.data());
  CHECK(again_y == y);
  auto broken = tensors;
  std::get<std::vector<std::int64_t>>(broken.tensors["psi.own"].values)[3] += 1;
  CHECK(refusal([&] { (void)Sumformer::from_tensors(broken, "M"); }) == "M: psi.own: expected the columns of degree 4, found others");
  broken = tensors;
  broken.tensors.erase("psi.coefficients");
  CHECK(refusal([&] { (void)Sumformer::from_tensors(broken, "M"); }).find("M: psi.coefficients: expected") == 0);
  broken = tensors;
  broken.metadata["tokens"] = "-3";
  CHECK(refusal([&] { (void)Sumformer::from_tensors(broken, "M"); }).find("M: metadata tokens: expected a number from 1 to") == 0);
}

TEST_CASE("data: every token is a row; dependent coordinates are reported by name") {
  const RandomPolynomial target(4, 2, 3, 77);
  Samples samples;
  samples.count = 600;
  samples.tokens = 4;
  samples.dim = 2;
  samples.width = 1;
  samples.x.resize(600 * 8);
  samples.y.resize(600 * 4);
  target::Sampler().fill(4, 4, 4, samples.x.size(), samples.x.data());
  for (double& t : samples.x) t = 5 + 0.3 * t;  // far from the origin and narrow
  target.evaluate(600, samples.x.data(), samples.y.data());
  approximate::Options options;
  options.degree = 3;
  options.all_tokens = true;
  const auto result = approximate::fit_polynomial(nullptr, &samples, options, Budget());
  CHECK(result.rows == 540 * 4);
  CHECK(result.relative_sup < 1e-9);
  CHECK(result.condition < 1e4);
  for (std::size_t k = 0; k < samples.x.size(); k += 2) samples.x[k + 1] = 2 * samples.x[k] - 1;  // the second coordinate says nothing new
  target.evaluate(600, samples.x.data(), samples.y.data());
  const auto flat = approximate::fit_polynomial(nullptr, &samples, options, Budget());
  CHECK(flat.relative_sup < 1e-9);
  CHECK(static_cast<double>(flat.dependent_count) == approximate::count_sizes(4, 2, 3).independent - approximate::count_sizes(4, 1, 3).independent);
  CHECK_FALSE(flat.dependent.empty());
  CHECK(flat.notes.at(0).find("columns depend on the others on these rows") != std::string::npos);
  samples.y[7] = std::nan("");
  CHECK(refusal([&] { (void)approximate::fit_polynomial(nullptr, &samples, options, Budget()); }) == "y: expected finite numbers, found nan at sample 1, token 3");
  options.degree = 6;
  samples.y[7] = 0;
  samples.count = 12;
  samples.x.resize(12 * 8);
  samples.y.resize(12 * 4);
  CHECK(refusal([&] { (void)approximate::fit_polynomial(nullptr, &samples, options, Budget()); }).find("more than the 44 rows: expected at least") != std::string::npos);
}

TEST_CASE("many columns: fitted with mirror images, in little memory, and as exactly") {
  const RandomPolynomial target(3, 3, 6, 6);
  approximate::Options options;
  options.degree = 6;
  options.test_sequences = 200;
  const Budget small(std::nullopt, 170000000);
  const auto result = approximate::fit_polynomial(&target, nullptr, options, small);
  CHECK(result.sizes.independent == 2632);
  CHECK(result.images == 8);
  CHECK(result.rows % 8 == 0);
  CHECK(result.relative_sup < 1e-9);
  CHECK(approximate::state_limits(3, 3, 6, 1, false, 0, small));  // data: no images of them
  CHECK_FALSE(approximate::state_limits(16, 4, 6, 1, true, 0, Budget(std::nullopt, 1000000000)));
  options.rows = 4000;  // too few for images, and more than the columns: one fit
  const auto few = approximate::fit_polynomial(&target, nullptr, options, Budget());
  CHECK(few.images == 1);
  CHECK(few.rows == 4000);
}

TEST_CASE("limits are stated before work starts") {
  const Budget small(std::nullopt, 200000000);
  const auto limit = approximate::state_limits(16, 4, 6, 1, false, 0, small);
  REQUIRE(limit);
  CHECK(limit->find("degree 6 needs 1.8e+04 coefficients") == 0);
  CHECK(limit->find("degree 4 fits in memory") != std::string::npos);
  CHECK_FALSE(approximate::state_limits(64, 3, 4, 1, true, 0, Budget()));
  const auto target = target::open_target("expr:sum(y[0])", 64, 40);
  CHECK(refusal([&] { (void)fit(*target, 8); }).find("coefficients") != std::string::npos);
}

TEST_CASE("a target that is not equivariant: said, with the floor, and the fit stays above it") {
  const auto target = target::open_target("expr:x[0]*i", 3, 1);
  const auto result = fit(*target, 2);
  REQUIRE(result.deviation);
  REQUIRE_FALSE(result.notes.empty());
  CHECK(result.notes[0].find("not S_3-equivariant") != std::string::npos);
  CHECK(result.l2 >= 0.97 * result.deviation->rms / 2);
  CHECK(result.blame.at(0).find("symmetry:") == 0);
  REQUIRE(result.target_group);
  CHECK(result.target_group->find("trivial, order 1") == 0);
  const auto square = target::open_target("expr:sum(y[0]*(abs(i-j)-1)*(abs(i-j)-3))", 4, 1);
  CHECK(fit(*square, 1).target_group->find("D_4, order 8, e.g. (") == 0);
  const auto json = nlohmann::json::parse(approximate::to_json(result, ""));
  for (const char* key : {"method", "columns", "latent", "rows", "l2", "relative_l2", "sup", "condition", "equivariance", "group", "model"}) CHECK(json.contains(key));
  CHECK(json["group"] == "S_3");
}

TEST_CASE("a miss is explained by figures") {
  const auto target = target::open_target("expr:attend(dot(x,y),y)", 3, 1);
  const auto result = fit(*target, std::nullopt);
  REQUIRE_FALSE(result.blame.empty());
  std::string all;
  for (const auto& line : result.blame) all += line + "\n";
  CHECK(all.find("rows per column") != std::string::npos);
  const auto fixed = fit(*target, 1);
  CHECK(fixed.blame.at(1).find("latent dimension:") == 0);
}

TEST_CASE("libraries are refused with a reason") {
  CHECK(refusal([] { (void)target::open_target("lib:/nowhere.so", 2, 2); }) == "/nowhere.so: No such file or directory");
  CHECK(refusal([] { (void)target::open_target("x+y", 2, 2); }).find("expected expr:EXPRESSION, lib:FILE.so or data:FILE.npz") != std::string::npos);
}

TEST_CASE("symmetries of a target with indices") {
  const auto cyclic = target::open_target("expr:sum(y[0]*(abs(i-j)-1)*(abs(i-j)-3))", 4, 1);  // reads i and i+2: the symmetry of the square
  CHECK(target::find_symmetries(*cyclic, {}, 1).size() == 8);
  const auto all = target::open_target("expr:sum(y[0])+x[0]", 4, 1);
  CHECK(target::find_symmetries(*all, {}, 1).size() == 24);
  const auto none = target::open_target("expr:x[0]*i", 4, 1);
  CHECK(target::find_symmetries(*none, {}, 1).size() == 1);
}

TEST_CASE("the sum by Linformer, Performer and a register: the same outputs to 1e-12") {
  const auto target = target::open_target("expr:attend(dot(x,y), concat(y, norm2(x-y)))", 7, 2);
  const auto result = fit(*target, 4);
  const std::size_t count = 70;
  std::vector<double> x(count * 14), direct(count * 21), mixed(count * 21);
  target::Sampler().fill(5, 6, 7, x.size(), x.data());
  result.model->evaluate(count, x.data(), direct.data());
  double largest = 0;
  for (double v : direct) largest = std::max(largest, std::fabs(v));
  for (const char* name : {"linformer", "performer", "register"}) {
    CAPTURE(name);
    const auto by = approximate::parse_sum_by(name);
    REQUIRE(by);
    approximate::evaluate_by(*result.model, *by, count, x.data(), mixed.data());
    for (std::size_t k = 0; k < direct.size(); ++k) CHECK(std::fabs(direct[k] - mixed[k]) <= 1e-12 * largest);
    const auto architecture = architecture::parse_architecture(approximate::to_architecture(*result.model, *by), "M.toml");
    const auto answer = verdict::certify(architecture, Budget());
    CHECK(answer.verdict == verdict::Verdict::certified);
  }
  CHECK_FALSE(approximate::parse_sum_by("polynomial"));
}

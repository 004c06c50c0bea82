#include <doctest/doctest.h>

#include <map>

#include "sightline/base/error.hpp"
#include "sightline/falsify/exact.hpp"
#include "sightline/falsify/proof.hpp"

namespace sightline::falsify {
namespace {

std::map<std::string, Status> run(const std::string& text, std::size_t tokens, std::size_t dim, bool normalised = true, const std::string& symmetry = "") {
  Options options;
  options.tokens = tokens;
  options.dim = dim;
  options.symmetry = symmetry;
  const Result result = falsify(make_mixer(text, normalised, dim), options, Budget{});
  std::map<std::string, Status> found;
  for (const Finding& finding : result.findings) found[finding.pair.name] = finding.status;
  const ProofCheck check = check_proof(to_proof(result), "proof", Budget{});
  CHECK(check.accepted);
  CHECK_MESSAGE(check.fault.empty(), check.fault);
  return found;
}

const std::string moments = "equal moments, degree ", antipodal = "antipodal blocks {z,-z} and {y,-y}", scaled = "scaled blocks {z,4z} and {2z,3z}",
                  one = "one token changed", copy = "translated copy";

TEST_CASE("moments up to the degree agree, one more differs") {
  for (std::size_t dim : {1U, 2U, 3U}) {
    const Candidates candidates = make_candidates(8, dim, group::make_symmetric_group(8), 3, Budget{});
    int seen = 0;
    for (const Pair& pair : candidates.pairs) {
      if (!pair.name.starts_with(moments)) continue;
      const unsigned degree = static_cast<unsigned>(pair.name.back() - '0');
      ++seen;
      const auto sum = [&](const Sample& sample, unsigned i, unsigned j) {
        mpq_class total = 0;
        for (const Token& token : sample) {
          mpq_class term = 1;
          for (unsigned k = 0; k < i; ++k) term *= token[0];
          for (unsigned k = 0; k < j; ++k) term *= token[1];
          total += term;
        }
        return total;
      };
      bool next_differs = false;
      for (unsigned i = 0; i <= degree + 1; ++i) {
        for (unsigned j = 0; i + j <= degree + 1; ++j) {
          if (dim == 1 && j > 0) continue;
          if (i + j <= degree) CHECK(sum(pair.x, i, j) == sum(pair.y, i, j));
          else next_differs = next_differs || sum(pair.x, i, j) != sum(pair.y, i, j);
        }
      }
      CHECK(next_differs);
    }
    CHECK(seen == 5);
  }
}

TEST_CASE("softmax tells every candidate apart") {
  for (const auto& [name, status] : run("expr:softmax", 7, 2)) CHECK_MESSAGE(status == Status::separated, name);
  for (const auto& [name, status] : run("expr:cauchy", 7, 2)) CHECK_MESSAGE(status == Status::separated, name);
}

TEST_CASE("mean pooling fails on equal sums, and on nothing else") {
  auto found = run("expr:1", 7, 2);
  CHECK(found[moments + "1"] == Status::failing);
  CHECK(found[moments + "5"] == Status::failing);
  CHECK(found[antipodal] == Status::failing);
  CHECK(found[scaled] == Status::failing);
  CHECK(found[one] == Status::separated);
  CHECK(found[copy] == Status::separated);
}

TEST_CASE("a polynomial alpha of degree p fails from degree p on (theory 3.11)") {
  auto found = run("expr:t^3", 7, 2);
  CHECK(found[moments + "1"] == Status::separated);
  CHECK(found[moments + "2"] == Status::separated);
  for (const char* degree : {"3", "4", "5"}) CHECK(found[moments + degree] == Status::failing);
  found = run("expr:t^3", 7, 1);
  CHECK(found[moments + "2"] == Status::separated);
  CHECK(found[moments + "3"] == Status::failing);
  for (const auto& [name, status] : run("expr:tanh(t)", 7, 2)) CHECK_MESSAGE(status == Status::separated, name);
}

TEST_CASE("(1+x.y)^2s fails for one layer from degree 2s+1 on") {
  auto found = run("expr:(1+dot(x,y))^2", 7, 2);
  CHECK(found[moments + "2"] == Status::separated);
  CHECK(found[moments + "3"] == Status::failing);
  found = run("expr:(1+dot(x,y))^4", 7, 2);
  CHECK(found[moments + "4"] == Status::separated);
  CHECK(found[moments + "5"] == Status::failing);
}

TEST_CASE("scale-invariant keys cannot tell {z,4z} from {2z,3z}") {
  auto found = run("expr:cosine", 4, 2);
  CHECK(found[scaled] == Status::failing);
  CHECK(found[antipodal] == Status::separated);
  CHECK(run("expr:dot(x,y)^2/(norm2(x)*norm2(y))", 4, 2)[scaled] == Status::failing);
}

TEST_CASE("even kernels: without normalisation antipodal blocks vanish, with it they do not") {
  CHECK(run("expr:cosh(dot(x,y))", 4, 2, false)[antipodal] == Status::failing);
  CHECK(run("expr:cosh(dot(x,y))", 4, 2, true)[antipodal] == Status::separated);
  CHECK(run("expr:dot(x,y)^2", 4, 2, false)[antipodal] == Status::failing);
}

TEST_CASE("asking for less than S_n: permuted copies are equal for every parameter") {
  auto found = run("expr:softmax", 5, 2, true, "C_5");
  CHECK(found["permuted by (0 1)"] == Status::failing);
  CHECK(found[one] == Status::separated);
}

TEST_CASE("equality is never claimed where an enclosure separates, and the other way round") {
  for (const char* text : {"expr:softmax", "expr:cauchy", "expr:laplace", "expr:elu1", "expr:relu2", "expr:cosine", "expr:(1+dot(x,y))^2", "expr:exp(-norm2(x)-norm2(y))",
                           "expr:softplus(dot(x,y))", "expr:cosh(dot(x,y))", "expr:1", "expr:dot(x,y)", "expr:norm(y)", "expr:norm2(x)", "expr:t^2", "expr:1+0*t", "expr:relu(t)"}) {
    for (const bool normalised : {true, false}) {
      Options options;
      options.tokens = 6;
      const Mixer mixer = make_mixer(text, normalised, 2);
      for (const Finding& finding : falsify(mixer, options, Budget{}).findings) {
        for (const Claim& claim : finding.claims) {
          if (!claim.equal) CHECK_MESSAGE(!prove_equal(mixer, claim.x, claim.y, claim.a, claim.b, Budget{}), text, " ", claim.pair);
        }
      }
    }
  }
}

TEST_CASE("Theorem G: yes for kernels that are positive, blind for a constant alpha, open for denominators that may vanish") {
  const auto theorem_g = [](const char* text, bool normalised) {
    Options options;
    return falsify(make_mixer(text, normalised, 2), options, Budget{}).theorem_g;
  };
  CHECK(theorem_g("expr:softmax", true) == TheoremG::holds);
  CHECK(theorem_g("expr:1", true) == TheoremG::holds);
  CHECK(theorem_g("expr:relu(t)", true) == TheoremG::holds);
  CHECK(theorem_g("expr:3+0*t", true) != TheoremG::holds);
  CHECK(theorem_g("expr:dot(x,y)", true) == TheoremG::not_shown);
  CHECK(theorem_g("expr:dot(x,y)", false) == TheoremG::holds);
}

TEST_CASE("what is defined nowhere is equal to nothing") {
  for (const char* text : {"expr:1/0", "expr:log(-1)", "expr:sqrt(-1-norm2(x-y))", "expr:log(-1-t^2)"}) {
    const Result result = falsify(make_mixer(text, true, 2), Options{}, Budget{});
    INFO(text);
    CHECK(to_exit_code(result) == 3);
    for (const Finding& finding : result.findings) CHECK(finding.claims.empty());
  }
}

TEST_CASE("exit codes") {
  const auto code = [](const char* text) {
    Options options;
    options.tokens = 5;
    return to_exit_code(falsify(make_mixer(text, true, 2), options, Budget{}));
  };
  CHECK(code("expr:softmax") == 0);
  CHECK(code("expr:1") == 1);
  CHECK(code("expr:t^2") == 1);
}

std::string changed(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("lying proofs are rejected") {
  Options options;
  options.tokens = 4;
  const std::string proof = to_proof(falsify(make_mixer("expr:(1+dot(x,y))^2", true, 2), options, Budget{}));
  const auto accepted = [](const std::string& text) { return check_proof(text, "proof", Budget{}).accepted; };
  CHECK(accepted(proof));
  CHECK_FALSE(accepted(changed(proof, "(1+dot(x,y))^2", "(1+dot(x,y))^4")));
  CHECK_FALSE(accepted(changed(proof, "\"normalised\":true", "\"normalised\":false")));
  CHECK_FALSE(accepted(changed(proof, "\"claim\":\"separated\"", "\"claim\":\"equal\"")));
  CHECK_FALSE(accepted(changed(proof, "\"enclosure\":[\"", "\"enclosure\":[\"-")));
  CHECK_FALSE(accepted(changed(proof, "\"entry\":0", "\"entry\":1")));
  CHECK_THROWS_AS((void)accepted(changed(proof, "\"version\":1", "\"version\":2")), InputError);
  CHECK_THROWS_AS((void)accepted("{}"), InputError);
  CHECK_THROWS_AS((void)accepted("["), InputError);
  const std::string equal = to_proof(falsify(make_mixer("expr:1", true, 2), options, Budget{}));
  CHECK(accepted(equal));
  CHECK_FALSE(accepted(changed(equal, "\"expression\":\"1\"", "\"expression\":\"softmax\"")));
}

}  // namespace
}  // namespace sightline::falsify

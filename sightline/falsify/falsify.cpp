#include "sightline/falsify/falsify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sightline/attention_kernel/structure.hpp"
#include "sightline/base/error.hpp"
#include "sightline/falsify/exact.hpp"
#include "sightline/falsify/prober.hpp"
#include "sightline/group/expression.hpp"

namespace sightline::falsify {
namespace {

constexpr long working_bits = 256;
/// Float64 differences below this, relative to the largest output, may be rounding.
constexpr double numerical_zero = 1e-12;
constexpr const char* one_token_changed = "one token changed";

/// A claim that token a of x and token b of y differ at these parameters; nothing when 0 is enclosed everywhere.
std::optional<Claim> find_difference(Prober& prober, const Pair& pair, std::size_t a, std::size_t b, const Parameters& theta) {
  try {
    const std::vector<Interval> left = prober.enclose(pair.x, a, theta, working_bits), right = prober.enclose(pair.y, b, theta, working_bits);
    for (std::size_t k = 0; k < left.size(); ++k) {
      const Interval difference = left[k] - right[k];
      if (!difference.excludes_zero()) continue;
      return Claim{false, pair.name, pair.x, pair.y, a, b, theta, k, difference.print_low(), difference.print_high(), working_bits, "enclosure"};
    }
  } catch (const Undefined&) {
  }
  return std::nullopt;
}

void try_enclosures(Prober& prober, Finding& finding, std::uint32_t attempts, std::mt19937_64& random, const Budget& budget) {
  auto open = finding.pair.list_collisions();
  for (std::uint32_t attempt = 0; attempt < attempts && !open.empty(); ++attempt) {
    const Parameters theta = prober.draw(random, attempt);
    std::erase_if(open, [&](const auto& collision) {
      budget.poll();
      auto claim = find_difference(prober, finding.pair, collision.first, collision.second, theta);
      if (!claim) return false;
      finding.claims.push_back(std::move(*claim));
      return true;
    });
  }
  if (open.empty()) finding.status = Status::separated;
}

void try_exactly(const Mixer& mixer, Finding& finding, const Budget& budget) {
  for (const auto& collision : finding.pair.list_collisions()) {
    const std::size_t a = collision.first, b = collision.second;
    const bool shown = std::any_of(finding.claims.begin(), finding.claims.end(), [&](const Claim& c) { return c.a == a && c.b == b; });
    if (shown) continue;
    const auto method = prove_equal(mixer, finding.pair.x, finding.pair.y, a, b, budget);
    if (!method) continue;
    finding.claims = {Claim{true, finding.pair.name, finding.pair.x, finding.pair.y, a, b, {}, 0, "", "", 0, *method}};
    finding.status = Status::failing;
    return;
  }
}

void try_numbers(Prober& prober, Finding& finding, std::uint32_t attempts, std::mt19937_64& random, const Budget& budget) {
  const auto collisions = finding.pair.list_collisions();
  const std::size_t dim = finding.pair.x.front().size();
  std::vector<double> largest(collisions.size(), 0);
  for (std::uint32_t attempt = 0; attempt < attempts; ++attempt) {
    budget.poll();
    const Parameters theta = prober.draw(random, attempt);
    const std::vector<double> left = prober.compute(finding.pair.x, theta), right = prober.compute(finding.pair.y, theta);
    double size = 1e-300;
    for (double v : left) size = std::max(size, std::abs(v));
    for (double v : right) size = std::max(size, std::abs(v));
    for (std::size_t c = 0; c < collisions.size(); ++c) {
      for (std::size_t k = 0; k < dim; ++k) {
        largest[c] = std::max(largest[c], std::abs(left[collisions[c].first * dim + k] - right[collisions[c].second * dim + k]) / size);
      }
    }
  }
  // The pair fails as soon as one shared token cannot be told apart.
  const double least = *std::min_element(largest.begin(), largest.end());
  finding.largest_difference = least;
  finding.status = least > numerical_zero ? Status::differs_numerically : Status::equal_numerically;
}

/// Largest |g(tau X) - tau g(X)| over a few transpositions, relative to the outputs: evidence against equivariance only.
double measure_asymmetry(Prober& prober, const Sample& sample, std::mt19937_64& random) {
  double worst = 0;
  const std::size_t dim = sample.front().size();
  for (std::uint32_t attempt = 0; attempt < 4; ++attempt) {
    const Parameters theta = prober.draw(random, attempt);
    Sample moved = sample;
    const std::size_t j = 1 + random() % (sample.size() - 1);
    std::swap(moved[0], moved[j]);
    std::vector<double> straight = prober.compute(sample, theta);
    const std::vector<double> turned = prober.compute(moved, theta);
    for (std::size_t k = 0; k < dim; ++k) std::swap(straight[k], straight[j * dim + k]);
    double size = 1e-300;
    for (double v : straight) size = std::max(size, std::abs(v));
    for (std::size_t k = 0; k < straight.size(); ++k) worst = std::max(worst, std::abs(straight[k] - turned[k]) / size);
  }
  return worst;
}

/// Theorem G for expressions: equivariant and scalable by construction; bounded and continuous where these tests say so.
void decide_theorem_g(const Mixer& mixer, Prober& prober, std::mt19937_64& random, Result& result, const Budget& budget) {
  const auto at = std::find_if(result.findings.begin(), result.findings.end(), [](const Finding& f) { return f.pair.name == one_token_changed; });
  if (at == result.findings.end()) {
    result.theorem_g_why = "there is no other token";
    return;
  }
  const bool depends = std::any_of(at->claims.begin(), at->claims.end(), [](const Claim& c) { return !c.equal; });
  if (prober.is_library()) {
    if (!depends) {
      result.theorem_g_why = prober.is_rigorous() ? "no enclosure proves that a token depends on another one" : "numbers prove nothing: export sightline_mixer_interval";
      return;
    }
    const double asymmetry = measure_asymmetry(prober, at->pair.x, random);
    if (asymmetry > 1e-6) {
      result.theorem_g_why = fmt::format("exchanging two tokens does not exchange the outputs (relative difference {:.1e})", asymmetry);
      return;
    }
    result.theorem_g = TheoremG::holds;
    result.theorem_g_why = "one enclosure proves that a token depends on another one";
    result.theorem_g_assumes = {"the library is S_n-equivariant for every theta (tried on numbers only)", "small multiples of its maps are among its maps",
                                "its maps are locally bounded, and continuous at generic points"};
    return;
  }
  if (mixer.kind == MixerKind::bias && !attention_kernel::mentions(*mixer.expression, 't')) {
    result.theorem_g = TheoremG::blind;
    result.theorem_g_why = "alpha is constant: no token depends on another one";
    return;
  }
  const auto regularity = attention_kernel::compute_regularity(mixer.expression, result.dim, budget);
  const bool bounded = !(mixer.kind == MixerKind::attention && mixer.normalised) || attention_kernel::proves_positive(mixer.expression, result.dim, budget);
  if (!depends) {
    result.theorem_g_why = "no enclosure proves that a token depends on another one";
  } else if (!regularity.continuous) {
    result.theorem_g_why = "the expression is not known to be continuous";
  } else if (!bounded) {
    result.theorem_g_why = "the kernel is not known to be positive, so the denominator may vanish and the values need not be bounded";
  } else {
    result.theorem_g = TheoremG::holds;
    result.theorem_g_why = "one enclosure proves that a token depends on another one; equivariant, continuous and scalable by construction";
  }
}

/// Libraries compute in float64, often exp of scores without a shift: small tokens keep them in range. Powers of two are
/// exact, and everything the pairs are built on is invariant under scaling.
void shrink(Pair& pair) {
  for (Sample* sample : {&pair.x, &pair.y}) {
    for (Token& token : *sample) {
      for (mpq_class& entry : token) entry /= 16;
    }
  }
}

}  // namespace

const char* to_word(Status status) {
  switch (status) {
    case Status::separated: return "separated";
    case Status::failing: return "failing";
    case Status::suspect: return "suspect";
    case Status::differs_numerically: return "differs numerically";
    case Status::equal_numerically: return "equal numerically";
  }
  return "";
}

Result falsify(const Mixer& mixer, const Options& options, const Budget& budget) {
  Result result;
  result.mixer = mixer;
  result.tokens = options.tokens;
  result.dim = options.dim;
  result.seed = options.seed;
  result.symmetry = options.symmetry.empty() ? fmt::format("S_{}", options.tokens) : options.symmetry;
  const auto degree = static_cast<group::Point>(options.tokens);
  const group::Group symmetry = options.symmetry.empty() ? group::make_symmetric_group(degree) : group::parse_group(options.symmetry, degree, budget);
  Candidates candidates = make_candidates(options.tokens, options.dim, symmetry, options.seed, budget);
  result.left_out = std::move(candidates.left_out);
  std::mt19937_64 random(options.seed ^ 0x9e3779b97f4a7c15U);
  Prober prober(mixer, options.tokens, options.dim, options.call_seconds, budget);
  try {
    for (std::size_t k = 0; k < candidates.pairs.size(); ++k) {
      budget.report("pairs", static_cast<double>(k) / static_cast<double>(candidates.pairs.size()));
      Finding finding{std::move(candidates.pairs[k])};
      if (prober.is_library()) shrink(finding.pair);
      // A library's numbers come first: they show NaN, different bits, and values outside its own enclosures.
      if (prober.is_library()) try_numbers(prober, finding, options.attempts, random, budget);
      if (prober.is_rigorous()) {
        finding.status = Status::suspect;
        try_enclosures(prober, finding, options.attempts, random, budget);
      }
      if (finding.status == Status::suspect) try_exactly(mixer, finding, budget);
      result.findings.push_back(std::move(finding));
    }
    decide_theorem_g(mixer, prober, random, result, budget);
  } catch (const BudgetExhausted& error) {
    result.limit = error.what();
    if (result.theorem_g_why.empty()) result.theorem_g_why = "the limit came before";
  }
  result.every_depth = fails_at_every_depth(mixer);
  return result;
}

}  // namespace sightline::falsify

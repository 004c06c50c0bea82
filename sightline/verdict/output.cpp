// How many numbers a token can show (theory.md 15.2, 15.8 e), for real-valued tokens and for ids.
#include <fmt/format.h>

#include <algorithm>

#include "sightline/verdict/context.hpp"
#include "sightline/verdict/floors.hpp"

namespace sightline::verdict {

OutputVerdict decide_output(Context& context, std::int64_t possible, const std::optional<TargetLabels>& targets) {
  OutputVerdict result;
  const OutputRank& rank = context.rank;
  if (rank.sphere) {
    // Two labels or more are enough where a gain can only stretch a sphere; a gain and a bias behind LayerNorm take up to d labels anywhere
    // (docs/theory.md 16.59).
    const std::int64_t harmless = rank.affine < context.architecture.dim ? context.architecture.dim : 1;
    if (rank.sphere_gain && targets && targets->count <= static_cast<std::uint64_t>(harmless)) {
      result.missing = "output range: few target labels may all lie in the range of the last norm (theory 16.59)";
      return result;
    }
    result.impossible = true;
    context.use("norm-range");
    context.add_floor(make_sphere_floor(context));
    return result;
  }
  const std::int64_t wanted = context.answer.output_dim.value_or(rank.certified);
  const std::string premise = fmt::format("{} outputs per token, {} possible", wanted, possible);
  if (wanted <= possible) {
    context.use("output-rank", {rank.why, premise});
    return result;
  }
  const std::int64_t most = std::max(rank.affine, rank.anywhere);
  const auto fits = static_cast<std::uint64_t>(rank.affine) + 1;
  // Without a head the state is the output: it has no more numbers than it has (docs/theory.md 16.32), and nothing moves points in general
  // position to the targets (16.41).
  const bool headless = context.architecture.output.head == architecture::Head::none;
  const bool few = targets && targets->count <= static_cast<std::uint64_t>(most) + 1 && (!headless || wanted <= context.architecture.dim);
  if (few && targets->count <= fits && targets->exact && !headless) {
    context.use("few-labels", {fmt::format("{} target labels, {} fit", targets->count, fits)});
    return result;
  }
  if (rank.undecided_above && wanted <= most) {
    result.missing = "output width: " + rank.why;
    return result;
  }
  if (few) {
    result.missing = headless ? "output width: few target labels, and no head that takes states to them (theory 15.8 e, 16.41)"
                              : "output width: few target labels, and they were not counted exactly (theory 15.8 e)";
    return result;
  }
  result.impossible = true;
  context.use("output-rank", {rank.why, premise});
  context.add_floor(make_output_rank_floor(context, wanted));
  return result;
}

}  // namespace sightline::verdict

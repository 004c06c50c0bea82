#include "sightline/samples/target.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sightline/base/error.hpp"
#include "sightline/base/npy.hpp"
#include "sightline/samples/measure.hpp"
#include "sightline/samples/recipe.hpp"

namespace sightline::samples {

Samples draw_samples(const architecture::Architecture& a, const verdict::Answer& answer, const verdict::Floor& floor, std::uint64_t count,
                     std::uint64_t seed, const Budget& budget) {
  Samples samples;
  samples.count = count;
  samples.tokens = static_cast<std::uint64_t>(a.tokens);
  const bool ids = a.input.embedding == architecture::Embedding::table;
  samples.width = ids ? 0 : static_cast<std::uint64_t>(a.input.dim);
  samples.outputs = static_cast<std::uint64_t>(std::max<std::int64_t>(1, answer.output_dim.value_or(a.dim)));
  const std::optional<Measure> measure = parse_measure(floor.domain, a.input.domain == architecture::Domain::centred);
  if (!ids && !measure) throw InputError(fmt::format("no samples: the floor's domain is \"{}\"", floor.domain));
  const Recipe recipe = make_recipe(a, answer, floor, samples.outputs, budget);
  const std::uint64_t in = samples.tokens * (ids ? 1 : samples.width), out = samples.tokens * samples.outputs;
  if (in + out > (std::uint64_t{1} << 62) / 8 / count || (in + out) * count * 8 > 0xff000000U) {
    throw InputError(fmt::format("--samples: expected a file below 4 GB, found {} samples of {} numbers each", count, in + out));
  }
  budget.ask(2 * 8 * (in + out) * count);
  std::mt19937_64 random(seed);
  samples.y.assign(out * count, 0);
  if (ids) samples.ids.resize(in * count);
  else samples.x.resize(in * count);
  for (std::uint64_t s = 0; s < count; ++s) {
    budget.poll();
    budget.report("samples", static_cast<double>(s) / static_cast<double>(count));
    double* y = samples.y.data() + s * out;
    if (ids) {
      std::int64_t* x = samples.ids.data() + s * in;
      for (std::uint64_t i = 0; i < samples.tokens; ++i) {
        const double u = draw_uniform(random);
        x[i] = a.input.bos && i == 0 ? recipe.vocabulary : static_cast<std::int64_t>(u * static_cast<double>(recipe.ids_drawn));
      }
      recipe.on_ids(x, y);
    } else {
      double* x = samples.x.data() + s * in;
      draw(*measure, samples.tokens, samples.width, random, x);
      recipe.on_reals(x, y);
    }
  }
  return samples;
}

std::string to_npz(const Samples& samples, const std::string& floor) {
  std::vector<NpyArray> arrays;
  if (samples.has_ids()) arrays.push_back(make_array("x", {samples.count, samples.tokens}, samples.ids));
  else arrays.push_back(make_array("x", {samples.count, samples.tokens, samples.width}, samples.x));
  arrays.push_back(make_array("y", {samples.count, samples.tokens, samples.outputs}, samples.y));
  arrays.push_back(make_text("floor", floor));
  return make_npz(arrays);
}

}  // namespace sightline::samples

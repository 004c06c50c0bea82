#include "sightline/approximate/mirror.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <tuple>

#include "sightline/approximate/rows.hpp"
#include "sightline/base/error.hpp"

using namespace sightline;
using approximate::Basis;

namespace {

constexpr auto uniform = target::Sampler::Law::uniform;

/// The rows that solve_mirrored() stands for, one by one: every sequence and its images.
approximate::Solution solve_directly(const Basis& basis, const target::Target& target, const approximate::Options& options, const approximate::Mirroring& mirroring, std::size_t sequences) {
  const std::size_t n = basis.tokens(), d = basis.dim(), width = target.width(), rows = sequences * mirroring.images;
  const double ends = options.sampler.law == uniform ? options.sampler.low + options.sampler.high : 0;
  linear_algebra::Matrix a(rows, basis.columns().size()), y(rows, width);
  const approximate::Source source(&target, nullptr, options, n, d, width);
  approximate::RowSpace space;
  std::vector<double> x(n * d), moved(n * d), value(width);
  for (std::size_t r = 0; r < rows; ++r) {
    const std::size_t image = r % mirroring.images;
    std::uint32_t own = 0;
    source.draw(r / mirroring.images, 1, x.data(), &own, nullptr);
    for (std::size_t k = 0; k < n * d; ++k) moved[k] = k % d < 4 && (image >> k % d & 1) != 0 ? ends - x[k] : x[k];
    approximate::write_rows(basis, 1, moved.data(), &own, nullptr, a.data.data() + r, rows, space);
    target.evaluate_at(1, moved.data(), &own, value.data());
    for (std::size_t e = 0; e < width; ++e) y(r, e) = value[e];
  }
  approximate::System system;
  system.rows = rows;
  system.columns = a.columns;
  system.outputs = width;
  system.block_rows = rows;
  system.fill = [&](std::size_t, std::size_t, double* to, double* right, std::size_t) {
    std::copy(a.data.begin(), a.data.end(), to);
    std::copy(y.data.begin(), y.data.end(), right);
  };
  return approximate::solve(system, approximate::collect(system, 1, Budget()), a.columns, Budget());
}

}  // namespace

TEST_CASE("columns by parity: counted, and as the basis lists them") {
  for (std::size_t n = 1; n <= 5; ++n) {
    for (std::size_t d = 1; d <= 5; ++d) {
      for (std::size_t degree = 1; degree <= (d > 3 ? 3U : 5U); ++degree) {
        const Basis basis(n, d, degree, std::vector(d, approximate::legendre(-1, 1, degree)));
        const std::size_t mirrored = std::min<std::size_t>(d, 4);
        std::vector<double> found(std::size_t{1} << mirrored, 0);
        for (const Basis::Column& column : basis.columns()) ++found[basis.parity(column, mirrored)];
        const std::vector<double> counted = approximate::count_parities(n, d, degree, mirrored);
        for (std::size_t p = 0; p < found.size(); ++p) REQUIRE(found[p] == counted[static_cast<std::size_t>(__builtin_popcountll(p))]);
        CHECK(approximate::plan_mirroring(n, d, degree).widest == *std::max_element(found.begin(), found.end()));
      }
    }
  }
  CHECK(approximate::plan_mirroring(16, 4, 6).widest == 2513);
}

TEST_CASE("mirror images: the same minimiser as one fit on all of them, also where the target is no polynomial") {
  for (const auto& [n, d, degree, law, low, high] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t, target::Sampler::Law, double, double>>{
           {3, 1, 4, uniform, -1.0, 1.0}, {3, 2, 3, uniform, 0.0, 1.0}, {2, 3, 3, uniform, -2.0, 5.0}, {4, 2, 3, target::Sampler::Law::normal, 0.0, 0.0}, {2, 5, 2, uniform, -1.0, 1.0}, {2, 2, 5, uniform, 1.0, 2.0}}) {
    CAPTURE(n);
    CAPTURE(d);
    const auto target = target::open_target("expr:concat(attend(dot(x,y),y)+exp(x[0]), sum(norm(x-y)))", n, d);
    approximate::Options options;
    options.sampler = {law, low, high};
    const Basis basis(n, d, degree, approximate::make_laws(target.get(), nullptr, options, d, degree));
    const approximate::Mirroring mirroring = approximate::plan_mirroring(n, d, degree);
    const std::size_t sequences = static_cast<std::size_t>(3 * mirroring.widest) + 70;
    const approximate::Solution split = approximate::solve_mirrored(basis, *target, options, mirroring, sequences, Budget());
    const approximate::Solution whole = solve_directly(basis, *target, options, mirroring, sequences);
    REQUIRE(split.coefficients.data.size() == whole.coefficients.data.size());
    double largest = 0;
    for (const double value : whole.coefficients.data) largest = std::max(largest, std::fabs(value));
    for (std::size_t k = 0; k < split.coefficients.data.size(); ++k) CHECK(std::fabs(split.coefficients.data[k] - whole.coefficients.data[k]) < 1e-11 * largest);
    CHECK(split.residual == doctest::Approx(whole.residual).epsilon(1e-9));
    CHECK(split.scale == doctest::Approx(whole.scale).epsilon(1e-12));
    CHECK(split.condition <= 2 * whole.condition);
    CHECK(split.residual > 1e-3 * split.scale);
  }
}

TEST_CASE("a large fit that is stopped goes on with the same bits; numbers that are not finite") {
  const std::string file = (std::filesystem::temp_directory_path() / "sightline-mirror.part").string();
  const auto target = target::open_target("expr:attend(dot(x,y),y)", 3, 2);
  const Basis basis(3, 2, 4, std::vector(2, approximate::legendre(-1, 1, 4)));
  const approximate::Mirroring mirroring = approximate::plan_mirroring(3, 2, 4);
  const auto fit = [&](const Budget& budget, bool resume) {
    approximate::Checkpoint checkpoint(file, "this", resume, 0, Budget());
    const approximate::Solution solution = approximate::solve_mirrored(basis, *target, {}, mirroring, 200, budget, &checkpoint);
    return std::pair(solution, checkpoint.blocks_resumed());
  };
  const auto [expected, none] = fit(Budget(), false);
  CHECK(none == 0);
  for (const char* last : {"values", "part 1 of 4, rows", "part 1 of 4, refinement", "part 3 of 4, rows", "part 4 of 4, refinement"}) {
    CAPTURE(last);
    Budget stopping;
    bool reached = false;
    stopping.listener = [&](std::string_view stage, double) {
      if (stage.substr(0, std::string_view(last).size()) != last) return;
      reached = true;
      Budget::interrupted = true;
    };
    CHECK_THROWS_AS((void)fit(stopping, false), Interrupted);
    Budget::interrupted = false;
    CHECK(reached);
    const auto [found, spared] = fit(Budget(), true);
    CHECK(found.coefficients.data == expected.coefficients.data);
    CHECK(found.residual == expected.residual);
    CHECK(found.condition == expected.condition);
    CHECK((spared > 0) == (std::string(last) != "values"));
  }
  std::filesystem::remove(file);
  const auto bad = target::open_target("expr:log(x[0]+1.9)", 3, 1);
  approximate::Options wide;
  wide.sampler.low = -2;
  const Basis line(3, 1, 4, approximate::make_laws(bad.get(), nullptr, wide, 1, 4));
  CHECK_THROWS_WITH_AS((void)approximate::solve_mirrored(line, *bad, wide, approximate::plan_mirroring(3, 1, 4), 300, Budget()), doctest::Contains("expected finite numbers, found nan in row"), InputError);
}

// `./do bench approximate [--quick]`: the fit of a polynomial Sumformer beside LAPACK's dgels on the same matrix.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include "child.hpp"
#include "sightline/approximate/approximate.hpp"
#include "table.hpp"

namespace {

using namespace sightline;

/// x_0 times sums: of degree 4, so the fit is exact and its error says whether the answer is right.
constexpr const char* target_text = "expr:x[0]*mean(y[1])^2*mean(y[2]) + x[2]^3*mean(y[0]) + mean(y[0]*y[1])^2";

double since(std::chrono::steady_clock::time_point start) { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }

/// Rows, columns, system; the same for both.
struct Case {
  std::unique_ptr<target::Target> target = target::open_target(target_text, 64, 3);
  approximate::Basis basis{64, 3, 4, std::vector(3, approximate::legendre(-1, 1, 4))};
  approximate::System system;
  explicit Case(std::size_t rows) { system = approximate::make_system(basis, target.get(), nullptr, {}, rows); }
};

}  // namespace

int main(int argc, char** argv) {
  const bool quick = argc > 1 && std::strcmp(argv[1], "--quick") == 0;
  const std::size_t rows = quick ? 100000 : 1000000;
  const int threads = static_cast<int>(std::max(1U, std::min(2U, std::thread::hardware_concurrency())));
  bench::Table table("build/bench/approximate.json");
  const std::string name = fmt::format("{} rows of 484 columns (n=64, d=3, degree 4), {} threads", rows, threads);

  const bench::Outcome ours = bench::run_in_child(600, [&](const std::function<void()>& start_clock) {
    const Case one(rows);
    start_clock();
    const auto start = std::chrono::steady_clock::now();
    const double spent = bench::processor_time();
    const approximate::Solution solution = approximate::solve(one.system, approximate::collect(one.system, 4, Budget()), one.system.columns, Budget());
    return fmt::format("{} {} {}", since(start), solution.residual / solution.scale, bench::processor_time() - spent);
  });
  const bench::Outcome peer = bench::run_in_child(600, [&](const std::function<void()>& start_clock) {
    const Case one(rows);
    linear_algebra::Matrix a(rows, one.system.columns), y(rows, 1);
    for (std::size_t block = 0; block < one.system.blocks(); ++block)
      one.system.fill(block, one.system.rows_of(block), a.data.data() + block * one.system.block_rows, y.data.data() + block * one.system.block_rows, rows);
    start_clock();
    const auto start = std::chrono::steady_clock::now();
    const double spent = bench::processor_time();
    linear_algebra::least_squares(a, y, threads);
    return fmt::format("{} 0 {}", since(start), bench::processor_time() - spent);
  });
  const auto part = [](const bench::Outcome& outcome, int which) -> std::optional<double> {
    if (outcome.end != bench::Outcome::End::finished) return std::nullopt;
    std::istringstream words(outcome.text);
    double value = 0;
    for (int k = 0; k <= which; ++k) words >> value;
    return value;
  };
  const auto seconds = [&](const bench::Outcome& outcome) { return part(outcome, 0); };
  table.add(bench::limit(name + ", whole fit: rows made and fitted", seconds(ours), "s", quick ? std::nullopt : std::optional(60.0)));
  table.add(bench::limit(name + ", peak memory", ours.peak_megabytes, "MB", 1000));
  table.add(bench::compare(name + ", beside dgels on the stored matrix", seconds(ours), seconds(peer), 0.5));
  table.add(bench::compare(name + ", the same in seconds of the processor", part(ours, 2), part(peer, 2), 0.5));
  if (!seconds(ours) || *part(ours, 1) > 1e-12) table.mark_wrong();
  table.print_summary();
  return table.all_correct() ? 0 : 1;
}

// `./do bench growth`: processor time and memory of `certify` (answer, certificate, check) per family for n = 2^12 .. 2^20, with the
// exponent fitted to each. A family ends at the first size that takes longer than --limit (seconds of wall time).
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "own.hpp"
#include "table.hpp"

using namespace bench;

namespace {

/// Slope of log y over log x by least squares.
double fit_exponent(const std::vector<std::pair<double, double>>& points) {
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const auto& [x, y] : points) {
    const double u = std::log(x), v = std::log(y);
    sx += u;
    sy += v;
    sxx += u * u;
    sxy += u * v;
  }
  const auto n = static_cast<double>(points.size());
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

std::uint64_t count_runs(const Layout& layout) {
  std::uint64_t runs = 0;
  for (const auto& relation : layout.relations) runs += relation.pattern().run_count();
  return runs;
}

}  // namespace

int main(int count, char** words) {
  std::string only;
  int most = 20;
  double most_seconds = 300;
  for (int k = 1; k + 1 < count; k += 2) {
    const std::string word = words[k];
    if (word == "--only") only = words[k + 1];
    else if (word == "--most") most = std::stoi(words[k + 1]);
    else if (word == "--limit") most_seconds = std::stod(words[k + 1]);
    else {
      fmt::print(stderr, "bench growth: expected --only TEXT, --most EXPONENT or --limit SECONDS, found {}\n", word);
      return 2;
    }
  }
  std::filesystem::create_directories("build/bench");
  Table table("build/bench/growth.json");
  std::ofstream points("build/bench/growth.csv", std::ios::trunc);
  points << "family,n,runs,seconds,megabytes\n";
  for (const std::string name : {"window 256", "Longformer 256", "BigBird", "Swin", "axial", "star", "strided causal", "strided both ways", "causal"}) {
    if (!only.empty() && name != only) continue;
    std::vector<std::pair<double, double>> times, memory;
    for (int e = 12; e <= most; e += 2) {
      const Family family = make_family(name, Vertex{1} << e);
      std::uint64_t runs = 0;
      const std::string file = "build/bench/case.toml";
      std::ofstream(file, std::ios::trunc) << to_toml(family);
      runs = count_runs(make_layout(family));
      Outcome best;
      for (int k = 0; k < 3 && (k == 0 || best.processor_seconds < 1); ++k) {
        Outcome outcome = run_command(most_seconds, {SIGHTLINE_COMMAND, "certify", file, "--json", "--threads", "1"});
        if (k == 0 || outcome.processor_seconds < best.processor_seconds) best = std::move(outcome);
      }
      const bool finished = best.end == Outcome::End::finished;
      Row row = limit(fmt::format("{}, n = 2^{}", name, e), finished ? std::optional(best.processor_seconds) : std::nullopt, "s", std::nullopt);
      row.remark = fmt::format("{} runs, {:.0f} MB", runs, best.peak_megabytes);
      table.add(row);
      if (!finished) break;
      points << fmt::format("{},{},{},{:.4f},{:.1f}\n", name, family.tokens, runs, best.processor_seconds, best.peak_megabytes) << std::flush;
      // Below this the start of the program is what is measured.
      if (best.processor_seconds > 0.02) times.emplace_back(runs, best.processor_seconds);
      if (best.peak_megabytes > 20) memory.emplace_back(runs, best.peak_megabytes);
    }
    if (times.size() >= 2) table.add(limit(name + ": exponent of time over runs", fit_exponent(times), "", 1.1));
    if (memory.size() >= 2) table.add(limit(name + ": exponent of memory over runs", fit_exponent(memory), "", 1.1));
  }
  table.print_summary();
  return 0;
}

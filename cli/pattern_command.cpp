#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "sightline/base/error.hpp"

namespace sightline::cli {
namespace {

struct PatternOptions {
  std::string file;
  std::uint64_t layer = 1;
  LimitOptions limits;
  ImportFlags import;
};

constexpr layout::Vertex widest = 96;

/// One character per arc up to 96 vertices: digits and letters for colours, a dot for nothing.
void draw(const layout::Pattern& pattern) {
  static constexpr std::string_view signs = "#23456789abcdefghijklmnopqrstuvwxyz";
  for (layout::Vertex i = 0; i < pattern.vertex_count(); ++i) {
    std::string line(pattern.vertex_count(), '.');
    for (const auto& run : pattern.row(i)) {
      for (layout::Vertex j = run.first; j <= run.last; j += run.step) line[j] = signs[std::min<std::size_t>(run.colour - 1, signs.size() - 1)];
    }
    fmt::print("{:>5} {}\n", i, line);
  }
}

/// Larger patterns from afar: a character for the pairs of a part of the readers and a part of what they may read. O(runs * parts).
void draw_from_afar(const layout::Pattern& pattern, const Budget& budget) {
  constexpr std::uint64_t parts = 64;
  const std::uint64_t n = pattern.vertex_count();
  const auto begin_of = [n](std::uint64_t part) { return part * n / parts; };
  const auto part_of = [&](std::uint64_t j) {
    std::uint64_t part = j * parts / n;
    while (part + 1 < parts && begin_of(part + 1) <= j) ++part;
    return part;
  };
  fmt::print("a character for about {0} x {0} pairs: # all are read, + half or more, : some, . none\n", n / parts);
  std::vector<layout::Run> row;
  for (std::uint64_t part = 0; part < parts; ++part) {
    std::vector<std::uint64_t> read(parts, 0);
    for (std::uint64_t i = begin_of(part); i < begin_of(part + 1); ++i) {
      budget.poll();
      pattern.row(static_cast<layout::Vertex>(i), row);
      for (const layout::Run& run : row) {
        for (std::uint64_t j = run.first; j <= run.last;) {
          const std::uint64_t column = part_of(j), end = std::min<std::uint64_t>(run.last + std::uint64_t{1}, begin_of(column + 1));
          const std::uint64_t here = (end - j + run.step - 1) / run.step;
          read[column] += here;
          j += here * run.step;
        }
      }
    }
    std::string line(parts, '.');
    for (std::uint64_t column = 0; column < parts; ++column) {
      const std::uint64_t pairs = (begin_of(part + 1) - begin_of(part)) * (begin_of(column + 1) - begin_of(column));
      if (read[column] > 0) line[column] = read[column] == pairs ? '#' : 2 * read[column] >= pairs ? '+' : ':';
    }
    fmt::print("{:>9} {}\n", begin_of(part), line);
  }
}

void run(const PatternOptions& options) {
  const Budget budget = make_budget(options.limits);
  const architecture::Architecture a = load_layout(options.file, options.import.options());
  check_symmetry(a);
  const layout::Layout layout = architecture::make_layout(a, budget);
  if (options.layer < 1 || options.layer > layout.order.size()) {
    throw InputError(fmt::format("--layer: expected 1 to {}, found {}", layout.order.size(), options.layer));
  }
  clear_progress();
  const auto& relations = layout.layer(options.layer).relations;
  fmt::print("layer {} of {}: {} different head pattern{}\n", options.layer, layout.order.size(), relations.size(), relations.size() == 1 ? "" : "s");
  for (std::uint32_t r : relations) {
    const layout::Pattern& pattern = layout.relations[r].pattern();
    fmt::print("{} vertices, {} arcs, {} runs, {} bytes\n", pattern.vertex_count(), pattern.arc_count(), pattern.run_count(), pattern.memory_bytes());
    if (pattern.vertex_count() <= widest) draw(pattern);
    else draw_from_afar(pattern, budget);
  }
}

}  // namespace

void add_pattern(CLI::App& app, Exit&) {
  auto options = std::make_shared<PatternOptions>();
  CLI::App* command = app.add_subcommand("pattern", "draw who reads whom in one layer");
  command->add_option("FILE", options->file, "architecture, config.json or mask (.npy, .npz, .mtx, .edges)")->required();
  command->add_option("--layer", options->layer, "which layer, from 1")->check(whole_number(0));
  options->limits.add_to(*command);
  options->import.add_to(*command);
  command->callback([options] { run(*options); });
}

}  // namespace sightline::cli

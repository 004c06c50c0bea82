#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "checker/check.hpp"
#include "checker/json.hpp"
#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/certificate.hpp"
#include "sightline/report/argument.hpp"
#include "sightline/sight/influence.hpp"
#include "sightline/sight/reach.hpp"
#include "sightline/verdict/context.hpp"

namespace sightline::cli {
namespace {

struct ExplainOptions {
  std::string file;
  std::optional<std::uint64_t> token;
  LimitOptions limits;
  ImportFlags import;
};

using Runs = std::vector<layout::Run>;

std::uint64_t count(const Runs& runs, layout::Vertex tokens) {
  std::uint64_t total = 0;
  for (const auto& run : runs) {
    if (run.first < tokens) total += (std::min(run.last, tokens - 1) - run.first) / run.step + 1;
  }
  return total;
}

std::string describe(const Runs& runs, layout::Vertex tokens) {
  std::string text;
  std::size_t shown = 0, total = 0;
  for (const auto& run : runs) {
    if (run.first >= tokens) continue;
    if (++total > 8) continue;
    const layout::Vertex last = std::min(run.last, tokens - 1);
    text += shown++ ? ", " : "";
    text += run.first == last ? fmt::format("{}", run.first) : run.step == 1 ? fmt::format("{}-{}", run.first, last) : fmt::format("{}-{} in steps of {}", run.first, last, run.step);
  }
  if (total > shown) text += fmt::format(", ... ({} more ranges)", total - shown);
  return text;
}

/// One line per depth at which the set grows.
template <class SetAt>
void print_growth(std::string_view title, std::uint64_t depth, layout::Vertex tokens, SetAt set_at) {
  fmt::print("{}\n", title);
  std::uint64_t before = 0;
  for (std::uint64_t q = 1; q <= depth; ++q) {
    const Runs runs = set_at(q);
    const std::uint64_t size = count(runs, tokens);
    if (size == before) continue;
    fmt::print("  after {:>3} layer{} {:>8} token{}: {}\n", q, q == 1 ? " " : "s", size, size == 1 ? " " : "s", describe(runs, tokens));
    before = size;
    if (size == tokens) break;
  }
}

/// The argument of a certificate, once the checker has confirmed it.
Exit explain_certificate(const std::string& file, const std::string& text, const nlohmann::json& tree) {
  checker::Report report;
  try {
    report = checker::check_certificate(text);
  } catch (const checker::Malformed& malformed) {
    throw InputError(fmt::format("{}: {}", file, malformed.what()));
  }
  if (!report.confirmed) {
    fmt::print("{}: rejected: {}\n", file, report.reason);
    return Exit::not_met;
  }
  fmt::print("{}: every claim is confirmed\n\n{}", file, report::to_argument(tree, report.trusted));
  return Exit::answered;
}

Exit run(const ExplainOptions& options) {
  const std::string text = architecture::read_file(options.file);
  if (const auto tree = nlohmann::json::parse(text, nullptr, false); certificate::is_certificate(tree)) {
    if (options.token) throw InputError("--token: expected an architecture or config.json beside it, found a certificate");
    return explain_certificate(options.file, text, tree);
  }
  if (!options.token) throw InputError("--token: expected the index of a token, from 0 (a certificate needs none)");
  const std::uint64_t asked = *options.token;
  const Budget budget = make_budget(options.limits);
  const architecture::Architecture a = load_layout(options.file, options.import.options());
  check_symmetry(a);
  if (asked >= static_cast<std::uint64_t>(a.tokens)) {
    throw InputError(fmt::format("--token: expected 0 to {}, found {}", a.tokens - 1, asked));
  }
  const layout::Layout pattern = architecture::make_layout(a, budget);
  const verdict::Facts facts = verdict::compute_facts(a, budget);
  const layout::Layout layout = verdict::hide_blind_layers(a, pattern, &facts, budget).value_or(pattern);  // what networks see
  const auto token = static_cast<layout::Vertex>(asked);
  const std::uint64_t depth = a.depth == architecture::Depth::listed ? a.layer_count() : layout.order.size() * (layout.tokens + layout.registers + 1ull);
  fmt::print("{}, token {} of {}\n", a.name.empty() ? options.file : a.name, token, layout.tokens);
  const auto seen_by = sight::compute_influence(layout, depth, token, budget);
  const std::uint64_t shown = std::min<std::uint64_t>(depth, seen_by.size() - 1 + layout.order.size());
  print_growth("it sees", shown, layout.tokens, [&](std::uint64_t q) { return sight::compute_view(layout, q, token, budget); });
  print_growth("it is seen by", seen_by.size() - 1, layout.tokens, [&](std::uint64_t q) { return seen_by[q]; });
  clear_progress();
  return Exit::answered;
}

}  // namespace

void add_explain(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App* command = app.add_subcommand("explain", "who sees a token, whom it sees, and after how many layers; or the argument of a certificate");
  command->add_option("FILE", options->file, "architecture, config.json or mask with --token, or a certificate")->required();
  command->add_option("--token", options->token, "index of the token, from 0")->check(whole_number(0));
  options->limits.add_to(*command);
  options->import.add_to(*command);
  command->callback([options, &exit] { exit = run(*options); });
}

}  // namespace sightline::cli

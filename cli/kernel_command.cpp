#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/numbers.hpp"
#include "cli/options.hpp"
#include "sightline/architecture/fields.hpp"
#include "sightline/attention_kernel/kernel.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/words.hpp"

namespace sightline::cli {
namespace {

using attention_kernel::Condition13;
using attention_kernel::Tri;

struct KernelOptions {
  std::string text;
  std::size_t dim = 3, tokens = 4;
  bool json = false;
};

std::string to_word(Tri value) { return value == Tri::yes ? "yes" : value == Tri::no ? "no" : "unknown"; }
std::string to_word(Condition13 value) { return value == Condition13::holds ? "holds" : value == Condition13::fails ? "fails" : "undecided"; }

void run(const KernelOptions& options) {
  attention_kernel::Kernel kernel;
  const auto& names = attention_kernel::kernel_names();
  if (std::find(names.begin(), names.end(), options.text) != names.end()) {
    kernel.name = options.text;
  } else {
    kernel.name.clear();
    kernel.text = options.text;
    try {
      (void)attention_kernel::parse_expression(options.text, attention_kernel::Role::kernel, options.dim);
    } catch (const InputError& error) {
      const std::string hint = architecture::suggest(options.text, {names.begin(), names.end()});
      throw InputError(fmt::format("EXPR: expected a kernel name or an expression in x and y, found {}{}", quote_bytes(options.text), hint.empty() ? fmt::format(": {}", error.what()) : hint));
    }
  }
  const auto facts = attention_kernel::compute_kernel_facts(kernel, options.dim, options.tokens, Budget{});
  if (options.json) {
    nlohmann::ordered_json object;
    object["analytic"] = to_word(facts.analytic);
    object["positive"] = to_word(facts.positive);
    object["condition13"] = to_word(facts.condition13);
    object["condition13_literal"] = to_word(facts.condition13_literal);
    object["failing"] = nullptr;
    if (facts.failure) object["failing"] = {{"x", facts.failure->x}, {"y1", facts.failure->y1}, {"y2", facts.failure->y2}, {"why", facts.failure->why}};
    object["token_distinguishability"] = to_word(facts.token_distinguishability);
    object["uap"] = to_word(facts.mean_property);
    fmt::print("{}\n", object.dump());
    return;
  }
  fmt::print("{}\n", options.text);
  fmt::print("  {:<58}{}\n  {:<58}{}\n", "analytic", to_word(facts.analytic), "positive", to_word(facts.positive));
  fmt::print("  {:<58}{}\n", "condition (13) at a generic query", to_word(facts.condition13));
  fmt::print("  {:<58}{}\n", "condition (13) at every query but 0 (as published)", to_word(facts.condition13_literal));
  if (facts.failure) {
    const std::string& pair = facts.failure->y2;  // a value, or a sentence such as "y2 = -y1" that says it all
    fmt::print("    x = {}, y1 = {}, {}{}: {}\n", facts.failure->x, facts.failure->y1, pair.starts_with("y2 = ") ? "" : "y2 = ", pair, facts.failure->why);
  }
  fmt::print("  {:<58}{}\n", fmt::format("one mixing layer alone tells all {} tokens apart", options.tokens), to_word(facts.token_distinguishability));
  fmt::print("  {:<58}{}\n", "universal with feedforwards, full attention, one layer", to_word(facts.mean_property));
}

}  // namespace

void add_kernel(CLI::App& app, Exit&) {
  auto options = std::make_shared<KernelOptions>();
  CLI::App* command = app.add_subcommand("kernel", "decide condition (13) and its neighbours for an attention kernel");
  command->add_option("EXPR", options->text, "a name (softmax, gaussian, ...) or an expression in x and y")->required();
  command->add_option("--dim", options->dim, "width of the tokens")->check(CLI::Range(1, 64));
  command->add_option("--tokens", options->tokens, "number of tokens")->check(positive_number);
  command->add_flag("--json", options->json, "one JSON object");
  command->callback([options] { run(*options); });
}

}  // namespace sightline::cli

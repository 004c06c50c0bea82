#include <fmt/format.h>

#include <memory>

#include "checker/check.hpp"
#include "checker/json.hpp"
#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/process.hpp"
#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/base/error.hpp"
#include "sightline/falsify/proof.hpp"

namespace sightline::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> files;
  std::string architecture;
  ThreadOptions threads;
  ImportFlags import;
};

/// The embedded architecture as canonical text, against a file that the library converts.
std::optional<std::string> find_difference(const std::string& certificate, const CheckOptions& options) {
  const architecture::Architecture a = load_layout(options.architecture, options.import.options());
  const checker::Json parsed = checker::parse(certificate);
  if (checker::print(parsed["architecture"]) == architecture::to_canonical_json(a)) return std::nullopt;
  const checker::Json& tokens = parsed["architecture"]["tokens"];
  std::string hint;
  if (tokens.is_integer() && tokens.integer() != a.tokens) {
    // A config.json has a length only when it is told one.
    const bool is_config = architecture::detect_kind(architecture::read_file(options.architecture), options.architecture) == architecture::FileKind::huggingface_config;
    hint = fmt::format(" ({} tokens, found {}{})", tokens.integer(), a.tokens, is_config ? fmt::format("; --tokens {} reads the config at that length", tokens.integer()) : "");
  }
  return fmt::format("the certificate is about another architecture than {}{}", options.architecture, hint);
}

Exit check_file(const std::string& file, const CheckOptions& options) {
  const std::string text = architecture::read_file(file);
  if (falsify::is_proof(text)) {
    if (!options.architecture.empty()) throw InputError(fmt::format("{}: --architecture: expected no such option (a proof is about one mixing layer, not an architecture), found it", file));
    const falsify::ProofCheck proof = falsify::check_proof(text, file, Budget{});
    if (proof.accepted && proof.claims == 0) {
      fmt::print("{}: nothing is confirmed: it holds no claims\n", file);
      return Exit::not_met;
    }
    if (proof.accepted) fmt::print("{}: every claim is confirmed ({} claims about one mixing layer, evaluated again)\n", file, proof.claims);
    else fmt::print("{}: rejected: {}\n", file, proof.fault);
    return proof.accepted ? Exit::answered : Exit::not_met;
  }
  if (const std::size_t first = text.find_first_not_of(" \t\r\n"); first == std::string::npos || text[first] != '{')
    throw InputError(fmt::format("{}: expected a certificate (certify --save) or a proof (falsify --save), found {}", file,
                                 first == std::string::npos ? "nothing" : "something else"));
  checker::Report report;
  try {
    report = checker::check_certificate(text, [] {
      if (Budget::interrupted.load(std::memory_order_relaxed)) throw Interrupted();
    }, options.threads.count());
    if (report.confirmed && !options.architecture.empty()) {
      if (const auto difference = find_difference(text, options)) {
        report.confirmed = false;
        report.claim = "/architecture";
        report.reason = "/architecture: " + *difference;
      }
      report.trusted.push_back(fmt::format("{}: architecture converted by the library", options.architecture));
    }
  } catch (const checker::Malformed& malformed) {
    throw InputError(fmt::format("{}: {}", file, malformed.what()));
  }
  if (!report.confirmed) {
    fmt::print("{}: rejected: {}\n", file, report.reason);
    return Exit::not_met;
  }
  fmt::print("{}: every claim is confirmed\n", file);
  for (const std::string& trusted : report.trusted) fmt::print("  taken on trust: {}\n", trusted);
  return Exit::answered;
}

}  // namespace

void add_check(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App* command = app.add_subcommand("check", "confirm every claim of a certificate or a proof, without search");
  command->add_option("CERT", options->files, "certificates (certify --save) or proofs (falsify --save)")->required();
  command->add_option("--architecture", options->architecture, "also compare with this architecture, config.json or mask");
  options->threads.add_to(*command);
  options->import.add_to(*command);
  command->callback([options, &exit] {
    if (options->threads.count() > 1) share_one_heap();
    for (const std::string& file : options->files) {
      try {
        exit = std::max(exit, check_file(file, *options));
      } catch (const InputError& error) {  // the others are checked all the same
        std::fflush(stdout);
        fmt::print(stderr, "sightline: {}\n", error.what());
        exit = std::max(exit, Exit::bad_input);
      }
    }
  });
}

}  // namespace sightline::cli

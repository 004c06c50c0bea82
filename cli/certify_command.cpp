#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "checker/check.hpp"
#include "checker/json.hpp"
#include "cli/commands.hpp"
#include "cli/load.hpp"
#include "cli/options.hpp"
#include "cli/process.hpp"
#include "cli/writable.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/certificate/certificate.hpp"
#include "sightline/report/report.hpp"
#include "sightline/sight/reach_memory.hpp"
#include "sightline/verdict/certify.hpp"

namespace sightline::cli {
namespace {

using Clock = Budget::Clock;

struct CertifyOptions {
  std::vector<std::string> files;
  std::string require, fix, save;
  bool json = false;
  bool canonical = false;
  LimitOptions limits;
  ThreadOptions threads;
  ImportFlags import;
};

/// --require replaces the target of the file; the exit code then says whether it is certified.
void apply_requirement(architecture::Architecture& a, const std::string& require, std::vector<std::string>& named) {
  if (require.empty()) return;
  constexpr std::string_view symmetry = "symmetry=";
  if (require == "universal") {
    a.target.target_class = architecture::TargetClass::all;
  } else if (require == "causal") {
    a.target.target_class = architecture::TargetClass::causal;
  } else if (require == "seen") {
    a.target.target_class = architecture::TargetClass::seen;
  } else if (require.starts_with(symmetry) && require.size() > symmetry.size()) {
    a.target.symmetry_is_layout = false;
    a.target.symmetry_generators.clear();
    a.target.symmetry_expression = require.substr(symmetry.size());
    a.target.symmetry_where.clear();
    resolve_symmetry(a, "", &named);
  } else {
    throw InputError(fmt::format("--require: expected universal, causal, seen or symmetry=GROUP, found \"{}\"", require));
  }
}

/// The worst outcome of several files: our bug, bad input, a limit, a requirement that is not met.
void worsen(Exit& exit, Exit found) {
  const auto rank = [](Exit e) {
    switch (e) {
      case Exit::answered: return 0;
      case Exit::not_met: return 1;
      case Exit::limit: return 2;
      case Exit::bad_input: return 3;
      case Exit::our_bug: return 4;
      case Exit::interrupted: return 5;
    }
    return 5;
  };
  if (rank(found) > rank(exit)) exit = found;
}

/// Writes the architecture with the table of the advice, rows (2s+1) i e_1, which no box of half-width s makes overlap (theory.md 3.9).
void write_fixed_table(architecture::Architecture a, const verdict::Answer& answer, const std::string& out, const Budget& budget) {
  const bool overlaps = answer.verdict == verdict::Verdict::impossible &&
                        std::any_of(answer.rules.begin(), answer.rules.end(), [](const verdict::Rule& rule) { return rule.name == "fixed-positions"; });
  if (!overlaps) throw InputError(fmt::format("{}: --fix mends fixed positions that overlap, and that is not what stands in the way here", a.file));
  a.input.positions = architecture::Positions::fixed;
  a.input.file.clear();
  a.input.table.assign(static_cast<std::size_t>(a.tokens), std::vector<double>(static_cast<std::size_t>(a.dim), 0));
  for (std::size_t i = 0; i < a.input.table.size(); ++i) a.input.table[i][0] = (2 * a.target.box + 1) * static_cast<double>(i);
  const verdict::Answer fixed = verdict::certify(a, budget);
  write_file_atomically(out, print_for_file(a, out));
  const char* word = fixed.verdict == verdict::Verdict::certified ? "certified" : fixed.verdict == verdict::Verdict::impossible ? "still impossible" : "then unknown";
  fmt::print(stderr, "sightline: {} written: {}\n", out, word);
}

/// Our own certificate, held to the independent checker before anything is printed. A rejection is our bug: the certificate is
/// kept for a report, under the name asked for or in the folder for temporary files.
void expect_confirmed(const std::string& certificate, const CertifyOptions& options, const Budget& budget, Clock::time_point start) {
  budget.report("checking the certificate", 0);
  // The checker knows nothing of budgets: it asks now and then, seldom enough that the clock is read every time.
  const auto watch = [&] {
    budget.poll();
    if (options.limits.time_seconds && Clock::now() - start > std::chrono::duration<double>(*options.limits.time_seconds)) {
      throw BudgetExhausted(fmt::format("the time limit of {} s was reached", *options.limits.time_seconds));
    }
  };
  checker::Report report;
  try {
    report = checker::check_certificate(certificate, watch, budget.crew == nullptr ? 1 : options.threads.count());
  } catch (const checker::Malformed& malformed) {
    report.reason = malformed.what();
  }
  if (report.confirmed) return;
  if (report.claim == "limit") throw BudgetExhausted("the check: " + report.reason.substr(report.claim.size() + 2));  // it says which claim in front
  const std::string kept =
      !options.save.empty() ? options.save : (std::filesystem::temp_directory_path() / fmt::format("sightline-rejected-{}.json", getpid())).string();
  write_file_atomically(kept, certificate);
  throw InternalError(fmt::format("our own checker rejects the certificate ({}); please report it with the file {}", report.reason, kept));
}

/// The answer, its certificate held to the checker; what a limit ended says so. What it was found with is given back before that: the checker
/// finds out for itself, and needs the room, as printing does.
verdict::Answer make_answer(const architecture::Architecture& a, const Budget& budget, const CertifyOptions& options, Clock::time_point start) {
  std::optional<sight::ReachMemory> memory{std::in_place};
  std::optional<verdict::Context> context{verdict::analyse(a, budget)};
  // An answer that was cut short proves too little to be worth keeping.
  if (!certificate::is_complete(context->answer)) return std::move(context->answer);
  verdict::Answer answer;
  const auto cut_short = [&](const std::string& reason) {
    if (context) answer = std::move(context->answer);
    verdict::cut_short(answer, reason);
  };
  std::string_view stage = "written";
  try {
    budget.report("writing the certificate", 0);
    std::string certificate = certificate::print_certificate(*context, [&] { return nlohmann::json(report::to_tree(context->answer)); });
    certificate += '\n';
    answer = std::move(context->answer);
    context.reset();
    memory.reset();
    stage = "checked";
    expect_confirmed(certificate, options, budget, start);
    if (!options.save.empty()) write_file_atomically(options.save, certificate);
  } catch (const BudgetExhausted& limit) {
    cut_short(fmt::format("while the certificate was {}: {}", stage, limit.what()));
  } catch (const std::bad_alloc&) {
    cut_short("the memory limit does not allow the certificate to be written and checked");
  }
  return answer;
}

Exit certify_file(const std::string& file, const CertifyOptions& options, Crew* crew) {
  const Clock::time_point start = Clock::now();
  Budget budget = make_budget(options.limits);
  budget.crew = crew;
  std::vector<std::string> named;
  architecture::Architecture a = load_layout(file, options.import.options(), options.files.size() == 1, &named);
  apply_requirement(a, options.require, named);
  expect_writable(options.save, named);
  expect_writable(options.fix, named);
  for (const std::string& warning : a.warnings) fmt::print(stderr, "sightline: warning: {}\n", warning);
  if (options.canonical) {
    fmt::print("{}\n", architecture::to_canonical_json(a));
    return Exit::answered;
  }
  verdict::Answer answer = make_answer(a, budget, options, start);
  if (answer.limit && crew != nullptr && !budget.is_late()) {
    // Work that is done side by side needs its memory side by side: what one thread can do within the limit is done by one.
    answer = {};
    budget.crew = nullptr;
    limit_process(options.limits);
    answer = make_answer(a, budget, options, start);
  }
  if (!options.save.empty() && !certificate::is_complete(answer)) {
    fmt::print(stderr, "sightline: warning: {} is not written: the answer was cut short\n", options.save);
  }
  clear_progress();
  if (options.json) {
    report::write_json(answer, write_out);
    write_out("\n");
  } else {
    fmt::print("{}", report::to_text(answer, isatty(STDOUT_FILENO) != 0));
  }
  std::fflush(stdout);
  if (!options.fix.empty()) write_fixed_table(a, answer, options.fix, budget);
  if (answer.limit) return Exit::limit;
  return options.require.empty() || answer.verdict == verdict::Verdict::certified ? Exit::answered : Exit::not_met;
}

}  // namespace

void add_certify(CLI::App& app, Exit& exit) {
  auto options = std::make_shared<CertifyOptions>();
  CLI::App* command = app.add_subcommand("certify", "say what an architecture can and cannot express");
  command->add_option("FILE", options->files, "architecture (.toml, .json), Hugging Face config.json or mask (.npy, .npz, .mtx, .edges)")->required();
  command->add_option("--save", options->save, "write the certificate: the answer with its evidence, for sightline check");
  command->add_flag("--json", options->json, "one JSON object per line and file");
  command->add_flag("--canonical", options->canonical, "print the architecture as canonical JSON and stop");
  command->add_option("--require", options->require, "universal, causal, seen (all functions of what each token sees) or symmetry=GROUP: exit code 1 when it is not certified");
  command->add_option("--fix", options->fix, "where fixed positions overlap: write the architecture with a table that works to this file");
  options->limits.add_to(*command);
  options->threads.add_to(*command);
  options->import.add_to(*command);
  command->callback([options, command, &exit] {
    for (const char* option : {"--save", "--fix"})
      if (options->canonical && command->count(option) > 0) throw InputError(fmt::format("{}: expected no --canonical beside it, which prints the architecture and stops", option));
    if (!options->save.empty() && options->files.size() > 1) throw InputError("--save: expected one FILE, found several");
    expect_writable(options->save, options->files);
    std::vector<std::string> others = options->files;
    others.push_back(options->save);
    expect_writable(options->fix, others);
    const std::unique_ptr<Crew> crew = options->threads.make_crew();
    for (std::size_t k = 0; k < options->files.size(); ++k) {
      const std::string& file = options->files[k];
      if (k > 0 && !options->json && !options->canonical) fmt::print("\n");
      try {
        worsen(exit, certify_file(file, *options, crew.get()));
      } catch (const InputError& error) {
        clear_progress();
        if (options->json) fmt::print("{}\n", report::to_json_error(file, error.what()));
        fmt::print(stderr, "sightline: {}\n", error.what());
        std::fflush(stdout);
        worsen(exit, Exit::bad_input);
      } catch (const BudgetExhausted& error) {
        clear_progress();
        if (options->json) fmt::print("{}\n", report::to_json_error(file, error.what()));
        fmt::print(stderr, "sightline: {}: {}\n", file, error.what());
        worsen(exit, Exit::limit);
      } catch (const InternalError& error) {
        // Our own bug with one file is no reason to leave the others without an answer.
        clear_progress();
        if (options->json) fmt::print("{}\n", report::to_json_error(file, error.what()));
        fmt::print(stderr, "sightline: {}: internal error: {}\n", file, error.what());
        std::fflush(stdout);
        worsen(exit, Exit::our_bug);
      }
    }
  });
}

}  // namespace sightline::cli

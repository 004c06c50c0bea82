// Options that several subcommands share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "sightline/base/budget.hpp"
#include "sightline/base/crew.hpp"
#include "sightline/huggingface/import.hpp"

namespace sightline::cli {

struct LimitOptions {
  std::optional<double> time_seconds;
  std::optional<double> memory_megabytes;
  void add_to(CLI::App& command);
};

/// The library asks before it allocates what grows with the input, but not for every list. The system counts them all: past
/// --memory an allocation fails, and that ends like a limit of the budget. What the process held at its start comes on top.
void limit_process(const LimitOptions& limits);
/// A budget with these limits, reporting progress on standard error when that is a terminal. `whole_process`: limit_process,
/// too; not for commands whose threads need address space of their own.
[[nodiscard]] Budget make_budget(const LimitOptions& limits, bool whole_process = true);
/// Removes the progress line, if there is one.
void clear_progress();

/// How many threads a command may use; the answer is the same for all numbers.
struct ThreadOptions {
  unsigned given = 0;  ///< 0: the user did not say
  void add_to(CLI::App& command);
  [[nodiscard]] unsigned count() const;  ///< the caller's among them
  /// The other threads; none: there are none.
  [[nodiscard]] std::unique_ptr<Crew> make_crew() const;
};

struct ImportFlags {
  std::optional<std::int64_t> tokens;
  std::vector<std::int64_t> global;
  std::string bos, mode = "eval";
  void add_to(CLI::App& command);
  [[nodiscard]] huggingface::ImportOptions options() const;
};

}  // namespace sightline::cli

#include "cli/options.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <new>
#include <system_error>
#include <thread>

#include "cli/numbers.hpp"
#include "cli/process.hpp"

namespace sightline::cli {
namespace {

bool progress_shown = false;

/// One line, rewritten at most ten times a second, and only once half a second has gone by.
void show_progress(std::string_view stage, double fraction) {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  static Clock::time_point last = start;
  const auto now = Clock::now();
  if (now - start < std::chrono::milliseconds(500) || now - last < std::chrono::milliseconds(100)) return;
  last = now;
  progress_shown = true;
  const double seconds = std::chrono::duration<double>(now - start).count();
  const std::string share = fraction > 0 ? fmt::format(" {:.0f} %", 100 * fraction) : "";
  fmt::print(stderr, "\r\033[K{}{} ... {:.0f} s (Ctrl-C stops)", stage, share, seconds);
  std::fflush(stderr);
}

}  // namespace

namespace {

/// Without --memory: four fifths of what the machine has free, so that a huge file ends with a sentence and not with the machine.
std::optional<std::uint64_t> default_memory_bytes() {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page) / 5 * 4;
}

/// What the process may have beside --memory: answers and messages are written after the limit was met.
constexpr std::uint64_t spare_bytes = 4 << 20;

std::uint64_t count_bytes(double megabytes) { return static_cast<std::uint64_t>(std::min(megabytes * 1e6, 1e18)); }

/// Sets how much data the process may hold. @returns whether that changed
bool set_data_limit(const std::function<rlim_t(const rlimit&)>& choose) {
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return false;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::min(limit.rlim_max, choose(limit));
  return limit.rlim_cur != before && setrlimit(RLIMIT_DATA, &limit) == 0;
}

/// What operator new asks where there is no more. A list that cannot grow ends the question by an exception; the destructors on its way may need
/// room themselves (those of JSON trees do), and would end the program without it. They get what they need, a little more each time.
void make_room_for_destructors() {
  const bool is_ending = std::uncaught_exceptions() > 0 || std::current_exception() != nullptr;
  if (!is_ending || !set_data_limit([](const rlimit& limit) { return limit.rlim_max - spare_bytes < limit.rlim_cur ? limit.rlim_max : limit.rlim_cur + spare_bytes; })) throw std::bad_alloc();
}

}  // namespace

void LimitOptions::add_to(CLI::App& command) {
  command.add_option("--time", time_seconds, "stop after this many seconds (exit code 3)")->check(positive_number);
  command.add_option("--memory", memory_megabytes, "stop before using more than this many megabytes (exit code 3; default: four fifths of what is free)")->check(positive_number);
}

void limit_process(const LimitOptions& limits) {
  if (!limits.memory_megabytes) return;
#ifdef __SANITIZE_ADDRESS__
  return;  // its allocator ends the program instead
#endif
  static const std::uint64_t held = [] {
    std::ifstream file("/proc/self/statm");
    std::uint64_t pages = 0, data = 0;
    for (int field = 0; field < 6 && file >> pages; ++field) data = pages;
    return file ? data * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
  }();
  // Without /proc there is no figure to start from, and the budget alone has to do.
  if (held == 0) return;
  std::set_new_handler(make_room_for_destructors);
  set_data_limit([&](const rlimit&) { return held + count_bytes(*limits.memory_megabytes) + spare_bytes; });
}

Budget make_budget(const LimitOptions& limits, bool whole_process) {
  std::optional<std::uint64_t> bytes = default_memory_bytes();
  if (limits.memory_megabytes) {
    bytes = count_bytes(*limits.memory_megabytes);
    if (whole_process) limit_process(limits);
  }
  Budget budget(limits.time_seconds, bytes);
  if (limits.memory_megabytes) budget.when_quarter_booked = [] { keep_freed_memory(false); };  // what is kept leaves holes that count
  if (isatty(STDERR_FILENO) != 0) budget.listener = show_progress;
  return budget;
}

void ThreadOptions::add_to(CLI::App& command) {
  command.add_option("--threads", given, "threads (default: all cores); the answer is the same for all numbers")->check(CLI::Range(1, 1024));
}

unsigned ThreadOptions::count() const { return given > 0 ? given : std::max(1U, std::thread::hardware_concurrency()); }

std::unique_ptr<Crew> ThreadOptions::make_crew() const {
  if (count() < 2) return nullptr;
  share_one_heap();
  constexpr unsigned most_helpers = 2;  // there is never more to do side by side
  auto crew = std::make_unique<Crew>(std::min(count() - 1, most_helpers));
  // The checker's own thread takes over the stack of one that has ended: it is there before --memory looks at what the process holds.
  try {
    std::thread([] {}).join();
  } catch (const std::system_error&) {  // then the checker does with one thread too
  }
  return crew;
}

void clear_progress() {
  if (!progress_shown) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  progress_shown = false;
}

void ImportFlags::add_to(CLI::App& command) {
  command.add_option("--tokens", tokens, "length for a config.json (default: its position table)")->check(positive_number);
  command.add_option("--global", global, "global tokens of a Longformer, e.g. 0,1")->delimiter(',');
  command.add_option("--bos", bos, "yes or no: is a BOS put in front?")->check(CLI::IsMember({"yes", "no"}));
  command.add_option("--mode", mode, "eval or train (BigBird)")->check(CLI::IsMember({"eval", "train"}));
}

huggingface::ImportOptions ImportFlags::options() const {
  huggingface::ImportOptions result;
  result.tokens = tokens;
  result.global = global;
  if (!bos.empty()) result.bos = bos == "yes";
  result.mode = mode;
  return result;
}

}  // namespace sightline::cli

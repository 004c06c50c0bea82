#pragma once
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

#include "sightline/base/atomic_file.hpp"
#include "sightline/base/budget.hpp"
#include "sightline/base/watched.hpp"

namespace sightline::cli {

/// Lists of megabytes come and go: by default every one of them is a mapping of its own, whose pages the system has to clear again and again
/// (a tenth of the time of a certificate for a million tokens, two fifths where that is slow). Not where memory gets scarce.
inline void keep_freed_memory(bool keep) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, keep ? 1 << 30 : 128 << 10);
  mallopt(M_TRIM_THRESHOLD, keep ? 1 << 30 : 128 << 10);
#else
  static_cast<void>(keep);
#endif
}

/// By default every thread has a heap of its own, and what one gave back the others cannot have: half as much memory again where two work on
/// large lists. They ask seldom enough to share one.
inline void share_one_heap() {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);
#endif
}

/// What both executables do first: Ctrl-C asks the work to stop (a second one ends the process at once); for the tests of half-written files
/// SIGHTLINE_TEST_KILL_AT=N kills the process before the N-th system call of a write.
inline void prepare_process() {
  keep_freed_memory(true);
  std::signal(SIGINT, [](int) {
    Budget::interrupted.store(true);
    std::signal(SIGINT, SIG_DFL);
  });
  if (std::getenv("SIGHTLINE_TEST_KILL_AT") == nullptr) return;
  before_write_step = [](const char*) {
    static long steps_left = std::strtol(std::getenv("SIGHTLINE_TEST_KILL_AT"), nullptr, 10);
    if (--steps_left == 0) std::raise(SIGKILL);
  };
}

inline std::string describe_lost_output(int error) {
  return std::string("standard output: expected a file that can be written, found: ") + (error == 0 ? "a write that failed" : std::strerror(error));
}

/// Prints text without a copy of it; fails as fmt::print does.
inline void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) < text.size()) throw std::system_error(errno, std::generic_category(), "cannot write to standard output");
}

/// What a full disk, or no standard output at all, kept from being written is no answer. Empty: everything was written, or the reader
/// of a pipe wanted no more.
inline std::string find_lost_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return "";
  return errno == EPIPE ? "" : describe_lost_output(errno);
}

/// The end of main: the code as it is, unless a library's call outlived its limit on a thread of its own. Destructors would take the library
/// away under that thread, so the process ends at once.
inline int leave(int code) {
  if (!is_work_left_behind()) return code;
  std::fflush(nullptr);
  std::_Exit(code);
}

}  // namespace sightline::cli

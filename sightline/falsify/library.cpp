#include "sightline/falsify/library.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>

#include "sightline/base/error.hpp"

namespace sightline::falsify {
namespace {

using InfoFunction = int (*)(std::uint32_t, std::uint32_t, std::uint32_t*);
using MixerFunction = int (*)(std::uint32_t, std::uint32_t, const double*, std::uint32_t, const double*, double*);

/// What the child says: a kind and a number; texts and values follow.
struct Reply {
  enum Kind : std::uint32_t { ready, value, failed_return, different_bits, overrun, message };
  std::uint32_t kind, number;
};

bool write_all(int to, const void* from, std::size_t bytes) {
  const char* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t done = ::write(to, at, bytes);
    if (done <= 0) return false;
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

bool read_all(int from, void* to, std::size_t bytes) {
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t done = ::read(from, at, bytes);
    if (done <= 0) return false;
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

[[noreturn]] void say_and_leave(int to, const std::string& text) {
  const Reply reply{Reply::message, static_cast<std::uint32_t>(text.size())};
  (void)(write_all(to, &reply, sizeof reply) && write_all(to, text.data(), text.size()));
  _exit(0);
}

/// The child: loads the file, then answers calls until the pipe closes. Leaves by _exit only, so that nothing of the
/// parent's state is flushed or destroyed twice.
[[noreturn]] void serve(const std::string& file, std::uint32_t tokens, std::uint32_t dim, int from, int to) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::signal(SIGINT, SIG_IGN);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDIN_FILENO);
  dup2(nowhere, STDOUT_FILENO);  // what a library prints must not get into our answer
  void* library = dlopen(file.find('/') == std::string::npos ? ("./" + file).c_str() : file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) say_and_leave(to, dlerror());
  const auto info = reinterpret_cast<InfoFunction>(dlsym(library, "sightline_mixer_info"));
  const auto mixer = reinterpret_cast<MixerFunction>(dlsym(library, "sightline_mixer"));
  const auto interval = reinterpret_cast<MixerFunction>(dlsym(library, "sightline_mixer_interval"));
  if (info == nullptr || mixer == nullptr) say_and_leave(to, fmt::format("exports no {}", info == nullptr ? "sightline_mixer_info" : "sightline_mixer"));
  std::uint32_t parameters = 0;
  if (const int code = info(tokens, dim, &parameters); code != 0) say_and_leave(to, fmt::format("sightline_mixer_info({}, {}) returned {}", tokens, dim, code));
  const Reply ready{Reply::ready, parameters};
  const std::uint32_t has_interval = interval != nullptr ? 1 : 0;
  if (!write_all(to, &ready, sizeof ready) || !write_all(to, &has_interval, sizeof has_interval)) _exit(0);
  constexpr double guard = 6.02214076e23;
  while (true) {
    std::uint32_t which = 0;
    if (!read_all(from, &which, sizeof which)) _exit(0);
    const std::size_t width = which == 0 ? 1 : 2, count = width * tokens * dim;
    std::vector<double> x(count), theta(width * parameters), first(count + 16), second(count + 16);
    if (!read_all(from, x.data(), x.size() * sizeof(double)) || !read_all(from, theta.data(), theta.size() * sizeof(double))) _exit(0);
    Reply reply{Reply::value, static_cast<std::uint32_t>(count)};
    for (std::vector<double>* out : {&first, &second}) {
      std::fill(out->begin(), out->end(), guard);
      const int code = (which == 0 ? mixer : interval)(tokens, dim, x.data(), parameters, theta.data(), out->data());
      if (code != 0) reply = {Reply::failed_return, static_cast<std::uint32_t>(code)};
      for (std::size_t k = count; k < out->size(); ++k) {
        if (std::memcmp(&(*out)[k], &guard, sizeof guard) != 0) reply = {Reply::overrun, 0};
      }
      if (reply.kind != Reply::value) break;
    }
    if (reply.kind == Reply::value && std::memcmp(first.data(), second.data(), count * sizeof(double)) != 0) {
      for (std::size_t k = 0; k < count; ++k) {
        if (std::memcmp(&first[k], &second[k], sizeof(double)) == 0) continue;
        reply = {Reply::different_bits, static_cast<std::uint32_t>(k)};
        break;
      }
    }
    if (!write_all(to, &reply, sizeof reply)) _exit(0);
    if (reply.kind == Reply::value && !write_all(to, first.data(), count * sizeof(double))) _exit(0);
  }
}

}  // namespace

Library::Library(std::string file, std::uint32_t tokens, std::uint32_t dim, double call_seconds, const Budget& budget)
    : file_(std::move(file)), tokens_(tokens), dim_(dim), call_seconds_(call_seconds), budget_(budget) {
  if (access(file_.c_str(), R_OK) != 0) throw InputError(fmt::format("{}: {}", file_, std::strerror(errno)));
  int down[2], up[2];
  if (pipe(down) != 0) throw InternalError("no pipe");
  if (pipe(up) != 0) {
    close(down[0]);
    close(down[1]);
    throw InternalError("no pipe");
  }
  std::signal(SIGPIPE, SIG_IGN);  // writing to a dead child is an error we handle
  std::fflush(nullptr);
  child_ = fork();
  if (child_ < 0) throw InternalError("no child process");
  if (child_ == 0) {
    close(down[1]);
    close(up[0]);
    serve(file_, tokens_, dim_, down[0], up[1]);
  }
  close(down[0]);
  close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
  try {
    Reply reply{};
    read_exactly(&reply, sizeof reply, "loading it");
    if (reply.kind != Reply::ready) {
      std::string text(reply.number, ' ');
      read_exactly(text.data(), text.size(), "loading it");
      // dlerror begins with the file's name already.
      throw InputError(text.starts_with(file_) ? text : fmt::format("{}: {}", file_, text));
    }
    parameters_ = reply.number;
    if (parameters_ > 10'000'000) throw InputError(fmt::format("{}: expected at most 10000000 parameters, found {}", file_, parameters_));
    std::uint32_t has_interval = 0;
    read_exactly(&has_interval, sizeof has_interval, "loading it");
    has_interval_ = has_interval != 0;
  } catch (...) {
    stop();
    throw;
  }
}

Library::~Library() { stop(); }

void Library::stop() {
  if (to_child_ >= 0) close(to_child_);
  if (from_child_ >= 0) close(from_child_);
  to_child_ = from_child_ = -1;
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  child_ = -1;
}

void Library::fail_after_death(const char* during) {
  int status = 0;
  const pid_t child = child_;
  child_ = -1;
  if (waitpid(child, &status, 0) == child && WIFSIGNALED(status)) {
    throw InputError(fmt::format("{}: crashed in {} (signal {}, {})", file_, during, WTERMSIG(status), strsignal(WTERMSIG(status))));
  }
  throw InputError(fmt::format("{}: ended the process in {} (exit code {})", file_, during, WIFEXITED(status) ? WEXITSTATUS(status) : -1));
}

void Library::read_exactly(void* to, std::size_t bytes, const char* during) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(call_seconds_);
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    for (int k = 0; k < 256; ++k) budget_.poll();  // the clock is read every 256th time only
    if (Clock::now() > deadline) throw InputError(fmt::format("{}: did not return from {} within {} s", file_, during, call_seconds_));
    pollfd wait{from_child_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, 20);
    if (ready <= 0) continue;
    const ssize_t done = ::read(from_child_, at, bytes);
    if (done <= 0) fail_after_death(during);
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

std::vector<double> Library::call(std::uint32_t which, const std::vector<double>& x, const std::vector<double>& theta, const char* function) {
  if (!write_all(to_child_, &which, sizeof which) || !write_all(to_child_, x.data(), x.size() * sizeof(double)) ||
      !write_all(to_child_, theta.data(), theta.size() * sizeof(double))) {
    fail_after_death(function);
  }
  Reply reply{};
  read_exactly(&reply, sizeof reply, function);
  switch (reply.kind) {
    case Reply::failed_return: throw InputError(fmt::format("{}: {} returned {}", file_, function, static_cast<std::int32_t>(reply.number)));
    case Reply::overrun: throw InputError(fmt::format("{}: {} wrote beyond the {} numbers of its output", file_, function, (which + 1) * tokens_ * dim_));
    case Reply::different_bits:
      throw InputError(fmt::format("{}: {} gave different bits for the same input twice (output {})", file_, function, reply.number));
    default: break;
  }
  std::vector<double> values(reply.number);
  read_exactly(values.data(), values.size() * sizeof(double), function);
  return values;
}

std::vector<double> Library::evaluate(const std::vector<double>& x, const std::vector<double>& theta) {
  std::vector<double> values = call(0, x, theta, "sightline_mixer");
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (!std::isfinite(values[k])) throw InputError(fmt::format("{}: sightline_mixer gave {} for token {}, entry {}", file_, values[k], k / dim_, k % dim_));
  }
  return values;
}

std::vector<double> Library::enclose(const std::vector<double>& x, const std::vector<double>& theta) {
  const auto pairs = [](const std::vector<double>& points) {
    std::vector<double> result;
    for (double value : points) result.insert(result.end(), {value, value});
    return result;
  };
  std::vector<double> values = call(1, pairs(x), pairs(theta), "sightline_mixer_interval");
  for (std::size_t k = 0; k < values.size(); k += 2) {
    if (!(values[k] <= values[k + 1])) {
      throw InputError(fmt::format("{}: sightline_mixer_interval gave [{}, {}] for token {}, entry {}", file_, values[k], values[k + 1], k / 2 / dim_, k / 2 % dim_));
    }
  }
  return values;
}

}  // namespace sightline::falsify

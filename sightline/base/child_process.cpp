#include "sightline/base/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "sightline/base/error.hpp"

namespace sightline {

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

ChildProcess::ChildProcess(std::string name, double call_seconds, const std::function<void(int from, int to)>& serve)
    : name_(std::move(name)), call_seconds_(call_seconds) {
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
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    std::signal(SIGINT, SIG_IGN);
    const rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, STDIN_FILENO);
    dup2(nowhere, STDOUT_FILENO);  // what a library prints must not get into our answer
    serve(down[0], up[1]);
    _exit(0);
  }
  close(down[0]);
  close(up[1]);
  to_child_ = down[1];
  from_child_ = up[0];
}

ChildProcess::~ChildProcess() { stop(); }

void ChildProcess::stop() {
  if (to_child_ >= 0) close(to_child_);
  if (from_child_ >= 0) close(from_child_);
  to_child_ = from_child_ = -1;
  if (child_ > 0) {
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  child_ = -1;
}

void ChildProcess::fail_after_death(const char* during) {
  int status = 0;
  const pid_t child = std::exchange(child_, -1);
  if (child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status)) {
    throw InputError(fmt::format("{}: crashed in {} (signal {}, {})", name_, during, WTERMSIG(status), strsignal(WTERMSIG(status))));
  }
  throw InputError(fmt::format("{}: ended the process in {} (exit code {})", name_, during, WIFEXITED(status) ? WEXITSTATUS(status) : -1));
}

void ChildProcess::send(const void* from, std::size_t bytes, const char* during) {
  if (!write_all(to_child_, from, bytes)) fail_after_death(during);
}

void ChildProcess::receive(void* to, std::size_t bytes, const char* during, const Budget& budget) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::duration<double>(call_seconds_);
  char* at = static_cast<char*>(to);
  while (bytes > 0) {
    for (int k = 0; k < 256; ++k) budget.poll();  // the clock is read every 256th time only
    if (Clock::now() > deadline) throw InputError(fmt::format("{}: did not return from {} within {} s", name_, during, call_seconds_));
    pollfd wait{from_child_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, 20);
    if (ready <= 0) continue;
    const ssize_t done = ::read(from_child_, at, bytes);
    if (done <= 0) fail_after_death(during);
    at += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

}  // namespace sightline

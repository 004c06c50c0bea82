#include "child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <exception>
#include <stdexcept>

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file, text.data() + done, text.size() - done);
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

/// Reads until the other end closes or a limit passes. A byte '\1' restarts the clock.
Outcome collect(pid_t child, int pipe, double limit, double setup_limit, bool marked, int expected_exit) {
  Outcome outcome;
  const auto start = Clock::now();
  auto began = start;
  double allowed = marked ? setup_limit : limit;
  bool over = false;
  std::array<char, 65536> buffer{};
  while (true) {
    const double left = allowed - since(began);
    if (left <= 0) {
      over = true;
      break;
    }
    pollfd wait{pipe, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min(left, 1000.0) * 1000) + 1);
    if (ready <= 0) continue;
    const ssize_t count = ::read(pipe, buffer.data(), buffer.size());
    if (count <= 0) break;
    for (ssize_t k = 0; k < count; ++k) {
      if (marked && buffer[static_cast<std::size_t>(k)] == '\1') {
        began = Clock::now();
        allowed = limit;
      } else {
        outcome.text += buffer[static_cast<std::size_t>(k)];
      }
    }
  }
  if (over) ::kill(child, SIGKILL);
  ::close(pipe);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  outcome.seconds = since(start);
  const auto to_seconds = [](const timeval& time) { return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec); };
  outcome.processor_seconds = to_seconds(usage.ru_utime) + to_seconds(usage.ru_stime);
  outcome.peak_megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  if (over) {
    outcome.end = Outcome::End::over_limit;
  } else if (WIFEXITED(status) && WEXITSTATUS(status) == expected_exit) {
    outcome.end = Outcome::End::finished;
  } else if (outcome.text.empty()) {
    outcome.text = WIFSIGNALED(status) ? "ended by signal " + std::to_string(WTERMSIG(status)) : "exit code " + std::to_string(WEXITSTATUS(status));
  }
  return outcome;
}

}  // namespace

double processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Outcome run_in_child(double limit_seconds, const std::function<std::string(const std::function<void()>&)>& work, double setup_limit_seconds) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(ends[0]);
    int code = 0;
    try {
      write_all(ends[1], work([&] { write_all(ends[1], "\1"); }));
    } catch (const std::exception& error) {
      write_all(ends[1], error.what());
      code = 1;
    }
    ::_exit(code);
  }
  ::close(ends[1]);
  return collect(child, ends[0], limit_seconds, setup_limit_seconds, true, 0);
}

Outcome run_command(double limit_seconds, const std::vector<std::string>& command, int exit_code) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no child process");
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nothing = ::open("/dev/null", O_RDWR);
    ::dup2(nothing, 0);
    ::dup2(ends[1], 1);
    ::dup2(nothing, 2);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  return collect(child, ends[0], limit_seconds, limit_seconds, false, exit_code);
}

}  // namespace bench

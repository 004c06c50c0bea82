#include "sightline/falsify/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
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

[[noreturn]] void say_and_leave(int to, const std::string& text) {
  const Reply reply{Reply::message, static_cast<std::uint32_t>(text.size())};
  (void)(write_all(to, &reply, sizeof reply) && write_all(to, text.data(), text.size()));
  _exit(0);
}

/// The child: loads the file, then answers calls until the pipe closes. Leaves by _exit only.
[[noreturn]] void serve(const std::string& file, std::uint32_t tokens, std::uint32_t dim, int from, int to) {
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
    : file_(std::move(file)), tokens_(tokens), dim_(dim), budget_(budget) {
  if (access(file_.c_str(), R_OK) != 0) throw InputError(fmt::format("{}: {}", file_, std::strerror(errno)));
  child_ = std::make_unique<ChildProcess>(file_, call_seconds, [&](int from, int to) { serve(file_, tokens_, dim_, from, to); });
  Reply reply{};
  child_->receive(&reply, sizeof reply, "loading it", budget_);
  if (reply.kind != Reply::ready) {
    std::string text(reply.number, ' ');
    child_->receive(text.data(), text.size(), "loading it", budget_);
    // dlerror begins with the file's name already.
    throw InputError(text.starts_with(file_) ? text : fmt::format("{}: {}", file_, text));
  }
  parameters_ = reply.number;
  if (parameters_ > 10'000'000) throw InputError(fmt::format("{}: expected at most 10000000 parameters, found {}", file_, parameters_));
  std::uint32_t has_interval = 0;
  child_->receive(&has_interval, sizeof has_interval, "loading it", budget_);
  has_interval_ = has_interval != 0;
}

std::vector<double> Library::call(std::uint32_t which, const std::vector<double>& x, const std::vector<double>& theta, const char* function) {
  child_->send(&which, sizeof which, function);
  child_->send(x.data(), x.size() * sizeof(double), function);
  child_->send(theta.data(), theta.size() * sizeof(double), function);
  Reply reply{};
  child_->receive(&reply, sizeof reply, function, budget_);
  switch (reply.kind) {
    case Reply::failed_return: throw InputError(fmt::format("{}: {} returned {}", file_, function, static_cast<std::int32_t>(reply.number)));
    case Reply::overrun: throw InputError(fmt::format("{}: {} wrote beyond the {} numbers of its output", file_, function, (which + 1) * tokens_ * dim_));
    case Reply::different_bits:
      throw InputError(fmt::format("{}: {} gave different bits for the same input twice (output {})", file_, function, reply.number));
    default: break;
  }
  std::vector<double> values(reply.number);
  child_->receive(values.data(), values.size() * sizeof(double), function, budget_);
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

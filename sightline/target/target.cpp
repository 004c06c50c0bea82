#include "sightline/target/target.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <numeric>

#include "sightline/base/child_process.hpp"
#include "sightline/base/error.hpp"

namespace sightline::target {
namespace {

class ExpressionTarget final : public Target {
public:
  ExpressionTarget(std::string name, Expression expression, std::size_t tokens) : Target(std::move(name), tokens, expression.dim), expression_(std::move(expression)) {}
  std::size_t width() const override { return expression_.width(); }
  void evaluate(std::size_t count, const double* x, double* out) const override { target::evaluate(expression_, tokens(), count, x, out); }
  void evaluate_at(std::size_t count, const double* x, const std::uint32_t* own, double* out) const override {
    target::evaluate_at(expression_, tokens(), count, x, own, out);
  }
  bool is_equivariant() const override { return !expression_.uses_index; }
  const Expression* expression() const override { return &expression_; }

private:
  Expression expression_;
};

using DimFunction = std::uint32_t (*)(std::uint32_t, std::uint32_t);
using TargetFunction = int (*)(std::uint32_t, std::uint32_t, const double*, std::uint32_t, double*);

/// What the child says first; then a status and the values for every block of sequences.
struct Greeting {
  std::uint32_t width = 0, failed = 0;  ///< failed: the length of the message that follows
};
constexpr std::int32_t wrote_beyond = std::numeric_limits<std::int32_t>::min();  // a status beside the library's own codes

/// The child: loads the file, then computes blocks of sequences until the pipe closes.
[[noreturn]] void serve_target(const std::string& file, std::uint32_t tokens, std::uint32_t dim, int from, int to) {
  const auto leave = [&](const std::string& text) {
    const Greeting greeting{0, static_cast<std::uint32_t>(text.size())};
    (void)(write_all(to, &greeting, sizeof greeting) && write_all(to, text.data(), text.size()));
    _exit(0);
  };
  void* library = dlopen(file.find('/') == std::string::npos ? ("./" + file).c_str() : file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) leave(fmt::format("expected a shared library, found: {}", dlerror()));
  const auto count = reinterpret_cast<DimFunction>(dlsym(library, "sightline_target_dim"));
  const auto function = reinterpret_cast<TargetFunction>(dlsym(library, "sightline_target"));
  if (count == nullptr || function == nullptr) leave(fmt::format("expected the function {}, found none", count == nullptr ? "sightline_target_dim" : "sightline_target"));
  const Greeting greeting{count(tokens, dim), 0};
  if (!write_all(to, &greeting, sizeof greeting)) _exit(0);
  constexpr double guard = 6.02214076e23;
  const std::size_t size = std::size_t{tokens} * greeting.width, per_x = std::size_t{tokens} * dim;
  std::vector<double> x, out, one(size + 16);
  while (true) {
    std::uint32_t sequences = 0;
    if (!read_all(from, &sequences, sizeof sequences)) _exit(0);
    x.resize(sequences * per_x);
    out.assign(sequences * size, 0.0);
    if (!read_all(from, x.data(), x.size() * sizeof(double))) _exit(0);
    std::int32_t status = 0;
    for (std::uint32_t s = 0; s < sequences && status == 0; ++s) {
      std::fill(one.begin(), one.end(), guard);
      status = function(tokens, dim, x.data() + s * per_x, greeting.width, one.data());
      for (std::size_t k = size; k < one.size() && status == 0; ++k) if (one[k] != guard) status = wrote_beyond;
      std::copy_n(one.begin(), size, out.begin() + static_cast<std::ptrdiff_t>(s * size));
    }
    if (!write_all(to, &status, sizeof status) || !write_all(to, out.data(), out.size() * sizeof(double))) _exit(0);
  }
}

/// Runs in a child process: a library that crashes, exits or hangs is one line.
class LibraryTarget final : public Target {
public:
  LibraryTarget(const std::string& name, std::string file, std::size_t tokens, std::size_t dim, const Budget& budget) : Target(name, tokens, dim), file_(std::move(file)), budget_(budget) {
    budget_.listener = nullptr;  // whichever thread evaluates asks this copy, under the lock
    if (access(file_.c_str(), R_OK) != 0) throw InputError(fmt::format("{}: {}", file_, std::strerror(errno)));
    const auto n = static_cast<std::uint32_t>(tokens), d = static_cast<std::uint32_t>(dim);
    child_ = std::make_unique<ChildProcess>(file_, call_seconds, [&](int from, int to) { serve_target(file_, n, d, from, to); });
    Greeting greeting;
    child_->receive(&greeting, sizeof greeting, "sightline_target_dim", budget_);
    if (greeting.failed != 0) {
      std::string text(greeting.failed, ' ');
      child_->receive(text.data(), text.size(), "loading it", budget_);
      throw InputError(fmt::format("{}: {}", file_, text));
    }
    width_ = greeting.width;
    if (width_ == 0 || width_ > 1000000) throw InputError(fmt::format("{}: expected 1 to 1000000 numbers per token, found sightline_target_dim({}, {}) = {}", file_, tokens, dim, width_));
  }

  std::size_t width() const override { return width_; }
  bool is_equivariant() const override { return false; }
  void evaluate(std::size_t count, const double* x, double* out) const override {
    const std::size_t size = tokens() * width_, per_x = tokens() * dim();
    const std::lock_guard lock(mutex_);
    for (std::size_t start = 0; start < count; start += block) {
      const auto now = static_cast<std::uint32_t>(std::min(block, count - start));
      child_->send(&now, sizeof now, "sightline_target");
      child_->send(x + start * per_x, now * per_x * sizeof(double), "sightline_target");
      std::int32_t status = 0;
      child_->receive(&status, sizeof status, "sightline_target", budget_);
      child_->receive(out + start * size, now * size * sizeof(double), "sightline_target", budget_);
      if (status == wrote_beyond) throw InputError(fmt::format("{}: sightline_target wrote beyond its {} numbers", file_, size));
      if (status != 0) throw InputError(fmt::format("{}: sightline_target returned {}", file_, status));
    }
  }
  void evaluate_at(std::size_t count, const double* x, const std::uint32_t* own, double* out) const override {
    std::vector<double> all(std::min(block, count) * tokens() * width_);
    for (std::size_t start = 0; start < count; start += block) {
      const std::size_t now = std::min(block, count - start);
      evaluate(now, x + start * tokens() * dim(), all.data());
      for (std::size_t s = 0; s < now; ++s) std::copy_n(all.begin() + static_cast<std::ptrdiff_t>((s * tokens() + own[start + s]) * width_), width_, out + (start + s) * width_);
    }
  }

private:
  static constexpr std::size_t block = 64;        // sequences between two waits for the child
  static constexpr double call_seconds = 60;      // for a block
  std::string file_;
  Budget budget_;
  std::size_t width_ = 0;
  std::unique_ptr<ChildProcess> child_;
  mutable std::mutex mutex_;
};

using Permutation = std::vector<std::uint32_t>;

/// [sX]_{s(i)} = X_i, token by token.
void move(const Permutation& s, std::size_t width, const double* from, double* to) {
  for (std::size_t i = 0; i < s.size(); ++i) std::copy_n(from + i * width, width, to + s[i] * width);
}

}  // namespace

std::unique_ptr<Target> open_target(const std::string& text, std::size_t tokens, std::size_t dim, const Budget& budget) {
  if (text.rfind("expr:", 0) == 0) {
    try {
      return std::make_unique<ExpressionTarget>(text, parse(std::string_view(text).substr(5), Role::sequence, dim), tokens);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", text, error.what()));
    }
  }
  if (text.rfind("lib:", 0) == 0) return std::make_unique<LibraryTarget>(text, text.substr(4), tokens, dim, budget);
  throw InputError(fmt::format("{}: expected expr:EXPRESSION, lib:FILE.so or data:FILE.npz", text));
}

Deviation measure_deviation(const Target& target, const Sampler& sampler, std::size_t sequences, std::uint64_t seed) {
  const std::size_t n = target.tokens(), d = target.dim(), k = target.width();
  std::vector<double> x(sequences * n * d), y(sequences * n * k), moved_x(x.size()), moved_y(y.size()), expected(n * k);
  sampler.fill(seed, 77, 0, x.size(), x.data());
  target.evaluate(sequences, x.data(), y.data());
  Deviation result;
  for (double value : y) result.scale += value * value;
  result.scale = std::sqrt(result.scale / static_cast<double>(y.size()));
  std::vector<Permutation> trials;
  Permutation identity(n);
  std::iota(identity.begin(), identity.end(), 0U);
  for (std::size_t i = 0; i + 1 < std::min<std::size_t>(n, 9); ++i) {
    Permutation swap = identity;
    std::swap(swap[i], swap[i + 1]);
    trials.push_back(swap);
  }
  if (n > 9) {
    Permutation swap = identity;
    std::swap(swap[0], swap[n - 1]);
    trials.push_back(swap);
  }
  Permutation shift = identity;
  std::rotate(shift.begin(), shift.begin() + (n > 1 ? 1 : 0), shift.end());
  trials.push_back(shift);
  std::mt19937_64 random = make_random(seed, 78, 0);
  for (int trial = 0; trial < 4; ++trial) {
    Permutation any = identity;
    for (std::size_t i = n; i > 1; --i) std::swap(any[i - 1], any[random() % i]);
    trials.push_back(any);
  }
  for (const Permutation& s : trials) {
    for (std::size_t q = 0; q < sequences; ++q) move(s, d, x.data() + q * n * d, moved_x.data() + q * n * d);
    target.evaluate(sequences, moved_x.data(), moved_y.data());
    double squares = 0;
    for (std::size_t q = 0; q < sequences; ++q) {
      move(s, k, y.data() + q * n * k, expected.data());
      for (std::size_t e = 0; e < n * k; ++e) {
        const double difference = std::fabs(moved_y[q * n * k + e] - expected[e]);
        if (!(difference <= result.largest)) result.largest = difference;
        squares += difference * difference;
      }
    }
    result.rms = std::max(result.rms, std::sqrt(squares / static_cast<double>(y.size())));
  }
  return result;
}

std::vector<std::vector<std::uint32_t>> find_symmetries(const Target& target, const Sampler& sampler, std::uint64_t seed) {
  const std::size_t n = target.tokens(), d = target.dim(), k = target.width();
  if (n > 7) throw ArgumentError("symmetries by trial: at most 7 tokens");
  constexpr std::size_t sequences = 4;
  std::vector<double> x(sequences * n * d), y(sequences * n * k), moved_x(n * d), moved_y(n * k), expected(n * k);
  sampler.fill(seed, 79, 0, x.size(), x.data());
  target.evaluate(sequences, x.data(), y.data());
  double scale = 0;
  for (double value : y) scale = std::max(scale, std::fabs(value));
  std::vector<Permutation> result;
  Permutation s(n);
  std::iota(s.begin(), s.end(), 0U);
  do {
    bool holds = true;
    for (std::size_t q = 0; q < sequences && holds; ++q) {
      move(s, d, x.data() + q * n * d, moved_x.data());
      move(s, k, y.data() + q * n * k, expected.data());
      target.evaluate(1, moved_x.data(), moved_y.data());
      for (std::size_t e = 0; e < n * k; ++e) holds = holds && std::fabs(moved_y[e] - expected[e]) <= 1e-9 * scale;
    }
    if (holds) result.push_back(s);
  } while (std::next_permutation(s.begin(), s.end()));
  return result;
}

}  // namespace sightline::target

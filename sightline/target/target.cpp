#include "sightline/target/target.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>
#include <numeric>

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

class LibraryTarget final : public Target {
public:
  LibraryTarget(const std::string& name, std::string file, std::size_t tokens, std::size_t dim) : Target(name, tokens, dim), file_(std::move(file)) {
    if (access(file_.c_str(), R_OK) != 0) throw InputError(fmt::format("{}: {}", file_, std::strerror(errno)));
    library_ = dlopen(file_.find('/') == std::string::npos ? ("./" + file_).c_str() : file_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) throw InputError(fmt::format("{}: expected a shared library, found: {}", file_, dlerror()));
    const auto count = reinterpret_cast<DimFunction>(dlsym(library_, "sightline_target_dim"));
    function_ = reinterpret_cast<TargetFunction>(dlsym(library_, "sightline_target"));
    if (count == nullptr || function_ == nullptr)
      throw InputError(fmt::format("{}: expected the function {}, found none", file_, count == nullptr ? "sightline_target_dim" : "sightline_target"));
    width_ = count(static_cast<std::uint32_t>(tokens), static_cast<std::uint32_t>(dim));
    if (width_ == 0 || width_ > 1000000) throw InputError(fmt::format("{}: expected 1 to 1000000 numbers per token, found sightline_target_dim({}, {}) = {}", file_, tokens, dim, width_));
  }
  ~LibraryTarget() override { if (library_ != nullptr) dlclose(library_); }
  LibraryTarget(const LibraryTarget&) = delete;
  LibraryTarget& operator=(const LibraryTarget&) = delete;

  std::size_t width() const override { return width_; }
  bool is_equivariant() const override { return false; }
  void evaluate(std::size_t count, const double* x, double* out) const override {
    constexpr double guard = 6.02214076e23;
    const std::size_t size = tokens() * width_;
    const std::lock_guard lock(mutex_);
    buffer_.assign(size + 16, guard);
    for (std::size_t s = 0; s < count; ++s) {
      const int code = function_(static_cast<std::uint32_t>(tokens()), static_cast<std::uint32_t>(dim()), x + s * tokens() * dim(), static_cast<std::uint32_t>(width_), buffer_.data());
      if (code != 0) throw InputError(fmt::format("{}: sightline_target returned {}", file_, code));
      for (std::size_t k = size; k < buffer_.size(); ++k) if (buffer_[k] != guard) throw InputError(fmt::format("{}: sightline_target wrote beyond its {} numbers", file_, size));
      std::copy_n(buffer_.begin(), size, out + s * size);
    }
  }
  void evaluate_at(std::size_t count, const double* x, const std::uint32_t* own, double* out) const override {
    std::vector<double> all(tokens() * width_);
    for (std::size_t s = 0; s < count; ++s) {
      evaluate(1, x + s * tokens() * dim(), all.data());
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(own[s] * width_), width_, out + s * width_);
    }
  }

private:
  std::string file_;
  void* library_ = nullptr;
  TargetFunction function_ = nullptr;
  std::size_t width_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<double> buffer_;
};

using Permutation = std::vector<std::uint32_t>;

/// [sX]_{s(i)} = X_i, token by token.
void move(const Permutation& s, std::size_t width, const double* from, double* to) {
  for (std::size_t i = 0; i < s.size(); ++i) std::copy_n(from + i * width, width, to + s[i] * width);
}

}  // namespace

std::unique_ptr<Target> open_target(const std::string& text, std::size_t tokens, std::size_t dim) {
  if (text.rfind("expr:", 0) == 0) {
    try {
      return std::make_unique<ExpressionTarget>(text, parse(std::string_view(text).substr(5), Role::sequence, dim), tokens);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", text, error.what()));
    }
  }
  if (text.rfind("lib:", 0) == 0) return std::make_unique<LibraryTarget>(text, text.substr(4), tokens, dim);
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

// Targets F from sequences of tokens to numbers per token: an expression or a shared library (interfaces 4).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sightline/base/budget.hpp"
#include "sightline/target/expression.hpp"
#include "sightline/target/sampler.hpp"

namespace sightline::target {

/// A function of n tokens of `dim` numbers with `width` numbers per token. Evaluation is safe from several threads at once
/// (calls of a library are made one at a time).
class Target {
public:
  virtual ~Target() = default;
  [[nodiscard]] virtual std::size_t width() const = 0;
  /// x [count][n][dim], out [count][n][width].
  virtual void evaluate(std::size_t count, const double* x, double* out) const = 0;
  /// One token of each sequence: out [count][width].
  virtual void evaluate_at(std::size_t count, const double* x, const std::uint32_t* own, double* out) const = 0;
  /// True when F(sX) = sF(X) for every permutation s because of how F is written down.
  [[nodiscard]] virtual bool is_equivariant() const = 0;
  [[nodiscard]] virtual const Expression* expression() const { return nullptr; }

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::size_t tokens() const { return tokens_; }
  [[nodiscard]] std::size_t dim() const { return dim_; }

protected:
  Target(std::string name, std::size_t tokens, std::size_t dim) : name_(std::move(name)), tokens_(tokens), dim_(dim) {}

private:
  std::string name_;
  std::size_t tokens_, dim_;
};

/// `expr:...` or `lib:FILE.so` (the interface: uint32_t sightline_target_dim(n, d); int sightline_target(n, d, x, k, out), token-major).
/// A library runs in a child process. `budget`: its time limit holds inside a library too; evaluate then throws BudgetExhausted. Throws InputError, also later when it crashes, exits, hangs for a minute, fails or writes too far.
[[nodiscard]] std::unique_ptr<Target> open_target(const std::string& text, std::size_t tokens, std::size_t dim, const Budget& budget = {});

/// How far F is from commuting with permutations: over random sequences and for transpositions, a cyclic shift and random permutations.
struct Deviation {
  double largest = 0;   ///< of |F(sX) - sF(X)|
  double rms = 0;       ///< the largest root mean square over one s
  double scale = 0;     ///< root mean square of F
};
/// Every S_n-equivariant function misses F by at least rms / 2 in the mean square (the measure of X is invariant).
[[nodiscard]] Deviation measure_deviation(const Target& target, const Sampler& sampler, std::size_t sequences, std::uint64_t seed);

/// The group {s : F(sX) = sF(X)} as generators, by trial of all n! permutations on random sequences; only for n <= 7.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> find_symmetries(const Target& target, const Sampler& sampler, std::uint64_t seed);

}  // namespace sightline::target

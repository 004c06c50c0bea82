// Declaring the parameters of a model by the names of their tensors on disk.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sightline/train/operations.hpp"

namespace sightline::train {

/// How a tensor starts.
struct Start {
  enum class Kind { uniform, normal, constant, values };
  Kind kind = Kind::constant;
  double size = 0;                 ///< uniform: on [-size, size]; normal: standard deviation; constant: the value
  std::vector<double> values = {}; ///< values: these, and they are not trained
  static Start uniform(double size) { return {Kind::uniform, size}; }
  static Start normal(double size) { return {Kind::normal, size}; }
  static Start constant(double size) { return {Kind::constant, size}; }
  static Start fixed(std::vector<double> values) { return {Kind::values, 0, std::move(values)}; }
};

/// One stored tensor: `layers.0.mixer.q.weight`.
struct Weight {
  std::string name;
  Tensor tensor;
  bool trained = true;
};

/// Makes tensors, registers them as parameters (or buffers) in the tree of modules that the dots of their names spell,
/// and keeps them in order of declaration. A name declared twice is the same tensor (tied layers); its shape must
/// agree.
class Declarer {
public:
  /// @param most  numbers that may be declared in all: what a file that is to be loaded holds
  Declarer(torch::nn::Module& root, at::TensorOptions options, std::uint64_t seed, std::int64_t most)
      : root_(root), options_(options), seed_(seed), left_(most) {}
  /// Throws ArgumentError when a tied tensor would need another shape, or there would be too many numbers.
  Tensor operator()(const std::string& name, const std::vector<std::int64_t>& shape, const Start& start);
  std::vector<Weight> take() { return std::move(weights_); }

private:
  torch::nn::Module& root_;
  at::TensorOptions options_;
  std::uint64_t seed_;
  std::int64_t left_;
  std::vector<Weight> weights_;
  std::map<std::string, std::size_t> index_;
};

struct Linear {
  Tensor weight, bias;
  [[nodiscard]] Tensor operator()(const Tensor& x, const Run& run) const { return linear(x, weight, bias, run); }
};
/// Uniform on +-1/sqrt(in), weight and bias, as PyTorch's nn.Linear.
[[nodiscard]] Linear declare_linear(Declarer& declare, const std::string& name, std::int64_t in, std::int64_t out,
                                    bool bias);

struct NormWeights {
  architecture::Norm norm;
  Tensor weight, bias;
  [[nodiscard]] Tensor operator()(const Tensor& x, const Run& run) const {
    return normalise(x, norm, weight, bias, run);
  }
};
[[nodiscard]] NormWeights declare_norm(Declarer& declare, const std::string& name, const architecture::Norm& norm,
                                       std::int64_t width);

} // namespace sightline::train

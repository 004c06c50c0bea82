#include "sightline/train/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "sightline/base/error.hpp"
#include "sightline/train/random.hpp"

namespace sightline::train {
namespace {

class Folder : public torch::nn::Module {
public:
  Folder() : torch::nn::Module("Folder") {}
};

/// The module that the dots of a name lead to; `leaf` becomes what follows the last one.
torch::nn::Module& find_folder(torch::nn::Module& root, const std::string& name, std::string& leaf) {
  torch::nn::Module* at = &root;
  std::size_t begin = 0;
  for (std::size_t dot = name.find('.'); dot != std::string::npos; begin = dot + 1, dot = name.find('.', begin)) {
    const std::string part = name.substr(begin, dot - begin);
    std::shared_ptr<torch::nn::Module> child;
    for (const auto& entry : at->named_children()) {
      if (entry.key() == part)
        child = entry.value();
    }
    at = child ? child.get() : at->register_module(part, std::make_shared<Folder>()).get();
  }
  leaf = name.substr(begin);
  return *at;
}

} // namespace

Tensor Declarer::operator()(const std::string& name, const std::vector<std::int64_t>& shape, const Start& start) {
  if (const auto found = index_.find(name); found != index_.end()) {
    const Tensor& tensor = weights_[found->second].tensor;
    if (tensor.sizes().vec() != shape) {
      throw ArgumentError(fmt::format("{}: expected one shape in all tied layers, found [{}] and [{}]", name,
                                      fmt::join(tensor.sizes().vec(), ", "), fmt::join(shape, ", ")));
    }
    return tensor;
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent > 0 && count > left_ / extent)
      throw ArgumentError(fmt::format("{}: expected fewer numbers, found a tensor [{}]", name, fmt::join(shape, ", ")));
    count *= extent;
  }
  left_ -= count;
  std::vector<double> values = start.values;
  if (start.kind != Start::Kind::values) {
    Random random(seed_, name);
    values.resize(static_cast<std::size_t>(count), start.size);
    for (double& value : values) {
      if (start.kind == Start::Kind::uniform)
        value = start.size * (2 * random.uniform() - 1);
      if (start.kind == Start::Kind::normal)
        value = start.size * random.normal();
    }
  }
  Tensor tensor = at::tensor(values, at::kDouble).reshape(shape).to(options_).clone();
  const bool trained = start.kind != Start::Kind::values;
  std::string leaf;
  torch::nn::Module& folder = find_folder(root_, name, leaf);
  tensor = trained ? folder.register_parameter(leaf, tensor) : folder.register_buffer(leaf, tensor);
  index_.emplace(name, weights_.size());
  weights_.push_back({name, tensor, trained});
  return tensor;
}

Linear declare_linear(Declarer& declare, const std::string& name, std::int64_t in, std::int64_t out, bool bias) {
  const double size = 1 / std::sqrt(static_cast<double>(in));
  Linear result;
  result.weight = declare(name + ".weight", {out, in}, Start::uniform(size));
  if (bias)
    result.bias = declare(name + ".bias", {out}, Start::uniform(size));
  return result;
}

NormWeights declare_norm(Declarer& declare, const std::string& name, const architecture::Norm& norm,
                         std::int64_t width) {
  NormWeights result;
  result.norm = norm;
  if (norm.kind == architecture::NormKind::none || !norm.affine)
    return result;
  result.weight = declare(name + ".weight", {width}, Start::constant(1));
  if (norm.kind == architecture::NormKind::layernorm)
    result.bias = declare(name + ".bias", {width}, Start::constant(0));
  return result;
}

} // namespace sightline::train

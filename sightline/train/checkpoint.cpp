#include "sightline/train/checkpoint.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <filesystem>
#include <set>

#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/sha256.hpp"
#include "sightline/train/samples.hpp"

namespace sightline::train {
namespace {

const std::string& require_entry(const data::TensorFile& content, const std::string& file, const std::string& key) {
  const auto found = content.metadata.find(key);
  if (found == content.metadata.end())
    throw InputError(
        fmt::format("{}: expected weights written by sightline train (metadata \"{}\"), found none", file, key));
  return found->second;
}

template <class Number>
Number to_number(const data::TensorFile& content, const std::string& file, const std::string& key) {
  const std::string& text = require_entry(content, file, key);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw InputError(fmt::format("{}: metadata \"{}\": expected a number, found \"{}\"", file, key, text));
  }
  return value;
}

} // namespace

data::TensorFile to_file(const Model& model, const std::string& canonical) {
  data::TensorFile content;
  for (const Weight& weight : model.weights())
    content.tensors.emplace(weight.name, to_array(weight.tensor));
  content.metadata = {{"architecture", canonical},
                      {"sha256", sha256(canonical)},
                      {"format", "sightline"},
                      {"outputs", fmt::format("{}", model.options().outputs)},
                      {"ids", fmt::format("{}", model.options().ids)}};
  return content;
}

void load_weights(Model& model, const data::TensorFile& content, const std::string& file) {
  const at::NoGradGuard no_gradients;
  std::set<std::string> wanted;
  for (const Weight& weight : model.weights()) {
    wanted.insert(weight.name);
    const auto found = content.tensors.find(weight.name);
    if (found == content.tensors.end())
      throw InputError(
          fmt::format("{}: expected weights of this architecture, found no tensor \"{}\"", file, weight.name));
    const Tensor stored = to_tensor(found->second);
    if (stored.sizes() != weight.tensor.sizes()) {
      throw InputError(fmt::format(
          "{}: {}: expected the shape [{}], found [{}]: these weights are of another architecture", file, weight.name,
          fmt::join(weight.tensor.sizes().vec(), ", "), fmt::join(stored.sizes().vec(), ", ")));
    }
    if (!stored.is_floating_point())
      throw InputError(fmt::format("{}: {}: expected floating-point numbers, found integers", file, weight.name));
    weight.tensor.detach().copy_(stored);
  }
  for (const auto& [name, array] : content.tensors) {
    if (!wanted.contains(name))
      throw InputError(fmt::format("{}: expected weights of this architecture, found the tensor \"{}\"", file, name));
  }
}

std::unique_ptr<Model> load_model(const std::string& weights_or_folder, const Budget& budget) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool folder = fs::is_directory(weights_or_folder, error);
  const std::string file = folder ? (fs::path(weights_or_folder) / "best.safetensors").string() : weights_or_folder;
  const data::TensorFile content = data::read_safetensors(file, budget);
  const std::string& canonical = require_entry(content, file, "architecture");
  if (sha256(canonical) != require_entry(content, file, "sha256")) {
    throw InputError(
        file + ": expected metadata whose sha256 is that of its architecture, found another: the file was changed");
  }
  if (folder) {
    const std::string beside = (fs::path(weights_or_folder) / "architecture.json").string();
    if (fs::exists(beside, error) &&
        architecture::to_canonical_json(architecture::read_architecture(beside)) != canonical) {
      throw InputError(fmt::format("{}: expected the architecture of {}, found weights of another", file, beside));
    }
  }
  const architecture::Architecture a = architecture::parse_architecture(canonical, file);
  ModelOptions options;
  options.outputs = to_number<std::int64_t>(content, file, "outputs");
  options.ids = to_number<std::int64_t>(content, file, "ids");
  if (options.outputs < 1 || options.ids < 0) {
    throw InputError(file + ": expected metadata \"outputs\" and \"ids\" that count something, found others");
  }
  options.dtype = at::kFloat;
  // The architecture is the file's own word: nothing that is larger than the file is allocated on its account.
  options.most_numbers = 0;
  for (const auto& [name, array] : content.tensors) {
    options.most_numbers += static_cast<std::int64_t>(array.count());
    if (std::holds_alternative<std::vector<double>>(array.values))
      options.dtype = at::kDouble;
  }
  auto model = std::make_unique<Model>(a, options, budget);
  load_weights(*model, content, file);
  return model;
}

data::TensorFile to_file(const State& state, const std::string& canonical) {
  data::TensorFile content;
  content.tensors.emplace("values", to_array(state.values));
  if (state.first.defined()) {
    content.tensors.emplace("first", to_array(state.first));
    content.tensors.emplace("second", to_array(state.second));
  }
  content.metadata = {{"architecture", canonical},
                      {"sha256", sha256(canonical)},
                      {"step", fmt::format("{}", state.step)},
                      {"loss_sum", fmt::format("{}", state.loss_sum)},
                      {"loss_weight", fmt::format("{}", state.loss_weight)},
                      {"best_loss", fmt::format("{}", state.best_loss)},
                      {"best_step", fmt::format("{}", state.best_step)}};
  if (!state.samples.empty())
    content.metadata.emplace("samples", state.samples);
  return content;
}

State to_state(const data::TensorFile& content, const std::string& file, const std::string& canonical,
               std::int64_t parameters) {
  if (require_entry(content, file, "architecture") != canonical) {
    throw InputError(file + ": expected a run of this architecture with this [train] table, found one of another");
  }
  State state;
  state.step = to_number<std::int64_t>(content, file, "step");
  state.loss_sum = to_number<double>(content, file, "loss_sum");
  state.loss_weight = to_number<double>(content, file, "loss_weight");
  state.best_loss = to_number<double>(content, file, "best_loss");
  state.best_step = to_number<std::int64_t>(content, file, "best_step");
  if (const auto samples = content.metadata.find("samples"); samples != content.metadata.end())
    state.samples = samples->second;
  const auto take = [&](const std::string& name) {
    const auto found = content.tensors.find(name);
    if (found == content.tensors.end())
      return Tensor();
    const Tensor tensor = to_tensor(found->second);
    if (tensor.numel() != parameters)
      throw InputError(fmt::format("{}: {}: expected {} numbers, found {}", file, name, parameters, tensor.numel()));
    return tensor;
  };
  state.values = take("values");
  state.first = take("first");
  state.second = take("second");
  if (!state.values.defined() || state.first.defined() != state.second.defined())
    throw InputError(file + ": expected the state of a training, found something else");
  return state;
}

} // namespace sightline::train

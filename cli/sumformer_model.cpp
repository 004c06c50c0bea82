#include "cli/sumformer_model.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/numbers.hpp"
#include "cli/writable.hpp"
#include "sightline/approximate/mlp_sumformer.hpp"
#include "sightline/approximate/sumformer.hpp"
#include "sightline/base/error.hpp"
#include "sightline/base/print_json.hpp"
#include "sightline/data/dataset.hpp"
#include "sightline/data/predictions.hpp"

namespace sightline::cli {
namespace {

/// Looks into the header only.
bool is_sumformer(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  unsigned char length[8];
  if (!stream.read(reinterpret_cast<char*>(length), sizeof length)) return false;
  std::uint64_t size = 0;
  for (int k = 7; k >= 0; --k) size = size << 8 | length[k];
  if (size > 100000000) return false;
  std::string header(size, '\0');
  if (!stream.read(header.data(), static_cast<std::streamsize>(size))) return false;
  const nlohmann::json json = nlohmann::json::parse(header, nullptr, false);
  return json.is_object() && json.contains("__metadata__") && json["__metadata__"].is_object() && json["__metadata__"].value("kind", nlohmann::json()) == "sumformer";
}

/// A Sumformer of either kind.
struct AnyModel {
  std::size_t tokens = 0, dim = 0, outputs = 0;
  std::function<void(std::size_t count, const double* x, double* out)> evaluate;
};

AnyModel read_model(const std::string& file, const Budget& budget) {
  const data::TensorFile content = data::read_safetensors(file, budget);
  const auto method = content.metadata.find("method");
  if (method != content.metadata.end() && method->second == "mlp") {
    const auto model = std::make_shared<approximate::MlpSumformer>(approximate::MlpSumformer::from_tensors(content, file));
    return {model->tokens(), model->dim(), model->outputs(), [model](std::size_t count, const double* x, double* out) { model->evaluate(count, x, out); }};
  }
  const auto model = std::make_shared<approximate::Sumformer>(approximate::Sumformer::from_tensors(content, file));
  return {model->basis().tokens(), model->basis().dim(), model->outputs(), [model](std::size_t count, const double* x, double* out) { model->evaluate(count, x, out); }};
}

}  // namespace

bool run_sumformer(const std::string& name, const std::vector<std::string>& words) {
  if (words.empty() || !is_sumformer(words[0])) return false;
  std::string model_file, data_file, out, split = "all";
  std::optional<std::string> targets;
  bool exact = false;
  unsigned threads = 0, batch = 0;  // understood, because predict and evaluate have them, and of no use here
  CLI::App app{"a Sumformer on data", name};
  app.add_option("MODEL", model_file)->required();
  app.add_option("--data", data_file)->required();
  app.add_option("--targets", targets);
  app.add_option("--split", split)->check(CLI::IsMember({"all", "val", "test"}));
  app.add_flag("--exact", exact, "equivariant bit for bit; a Sumformer always is");
  app.add_option("--threads", threads)->check(CLI::Range(1, 1024));
  app.add_option("--batch", batch)->check(CLI::Range(1, 1 << 30));
  if (name == "predict") app.add_option("--out", out)->required();
  refuse_odd_values(app);
  try {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
  expect_npz_name(out);
  expect_writable(out, {model_file, data_file, targets.value_or("")});
  const Budget budget;
  const AnyModel model = read_model(model_file, budget);
  data::Expected expected;
  expected.tokens = model.tokens;
  expected.width = model.dim;
  expected.outputs = model.outputs;
  expected.targets = name == "evaluate";
  const data::Dataset dataset = data::read_dataset(data_file, targets, expected, budget);
  const data::Part* part = split == "all" ? &dataset.train : split == "test" ? (dataset.test ? &*dataset.test : nullptr) : dataset.validation ? &*dataset.validation : nullptr;
  if (part == nullptr) throw InputError(fmt::format("{}: expected x_{}, found none", data_file, split == "test" ? "test" : "val"));
  for (std::int64_t length : part->lengths) {
    if (static_cast<std::uint64_t>(length) != expected.tokens) throw InputError(fmt::format("{}: lengths: expected {} tokens in every sample (a Sumformer has a fixed length), found {}", data_file, expected.tokens, length));
  }
  const std::vector<double> x = data::to_doubles(part->x);
  std::vector<double> y(part->size() * expected.tokens * model.outputs);
  model.evaluate(part->size(), x.data(), y.data());
  if (name == "predict") {
    data::write_npz(out, {{"y", data::Array{{part->size(), expected.tokens, model.outputs}, std::move(y)}}});
    return true;
  }
  if (part->y->is_integer()) throw InputError(fmt::format("{}: y: expected floats, found classes", data_file));
  const std::vector<double> wanted = data::to_doubles(*part->y);
  double loss = 0, total = 0;
  const std::size_t per_sample = expected.tokens * model.outputs;
  for (std::size_t k = 0; k < y.size(); ++k) {
    const double weight = part->weights.empty() ? 1 : part->weights[k / per_sample];
    loss += weight * (y[k] - wanted[k]) * (y[k] - wanted[k]);
    total += weight;
  }
  loss /= total;
  nlohmann::ordered_json json;
  json["loss"] = loss;
  json["rmse"] = std::sqrt(loss);
  json["samples"] = part->size();
  fmt::print("{}\n", print_json(json));
  return true;
}

}  // namespace sightline::cli

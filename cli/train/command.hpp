// What predict and evaluate share: options, the model, the part of the data.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>

#include "sightline/train/model.hpp"
#include "sightline/train/samples.hpp"

namespace sightline::cli {

struct ModelFlags {
  std::string model, data, split = "all";
  std::optional<std::string> targets;
  bool exact = false;
  int threads = 0; ///< 0: all cores
  std::int64_t batch = 64;
  std::string device = "cpu"; ///< or "cuda"

  void add_to(CLI::App& command);
  [[nodiscard]] train::Run run() const;
};

struct LoadedModel {
  std::unique_ptr<train::Model> model; ///< on the flags' device
  at::Device device = at::kCPU;
  train::Batch samples;
};
/// @param targets  y must be there
[[nodiscard]] LoadedModel load_for(const ModelFlags& flags, bool targets, const Budget& budget);

} // namespace sightline::cli

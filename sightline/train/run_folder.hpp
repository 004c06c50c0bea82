// The folder of a training: which files it holds, and how they are written.
#pragma once

#include <optional>
#include <string>

#include "sightline/data/metrics.hpp"
#include "sightline/train/checkpoint.hpp"

namespace sightline::train {

/// RUN/architecture.json, best.safetensors, last.safetensors, optimiser.safetensors, metrics.csv, loss.svg, run.json.
/// Every file is written whole or not at all; optimiser.safetensors alone is what a training resumes from, and is
/// written last.
class RunFolder {
public:
  /// Makes the folder, or opens it again. Throws InputError when it exists (without resume), when it does not (with
  /// resume), when it holds the run of another architecture or [train] table, or when it cannot be written.
  RunFolder(std::string path, const architecture::Architecture& architecture, bool resume);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  /// Canonical JSON of the architecture as it stands in the folder.
  [[nodiscard]] const std::string& canonical() const { return canonical_; }
  /// The state to go on from; absent when none was written yet.
  /// Have steps been made here, whatever is left of them?
  [[nodiscard]] bool has_steps() const;
  [[nodiscard]] std::optional<State> read_state(std::int64_t parameters, const Budget& budget) const;
  /// What run.json says of the last attempt: threads (0: nothing), "cpu" or "cuda" (empty: nothing).
  struct Place {
    std::int64_t threads = 0;
    std::string device;
  };
  [[nodiscard]] Place read_place() const;
  void write_weights(const std::string& name, const Model& model) const;
  void write_state(const State& state) const;
  void write_text(const std::string& name, const std::string& text) const;

private:
  std::string path_, canonical_;
};

} // namespace sightline::train

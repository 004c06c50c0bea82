// The readers of the tables of an architecture file, one per table, for read.cpp. Every one validates what it reads and
// throws InputError; keys that are absent leave the value as it was, which is how layers are merged over the defaults.
#pragma once

#include <string>
#include <vector>

#include "sightline/architecture/architecture.hpp"
#include "sightline/architecture/fields.hpp"

namespace sightline::architecture {

/// What the tables need to know of the rest of the file.
struct Surroundings {
  std::int64_t tokens = 0;
  std::int64_t dim = 0;
  std::int64_t registers = 0;
  std::string file;                          ///< relative paths are resolved against its folder
  std::vector<std::string>* warnings = nullptr;

  [[nodiscard]] std::int64_t vertices() const { return tokens + registers; }
};

/// A path as written, resolved against the folder of `file` (absolute paths stay).
[[nodiscard]] std::string resolve_path(const std::string& path, const std::string& file);

/// A pattern table, defaults filled in, sizes checked against the surroundings.
[[nodiscard]] layout::PatternSpec read_pattern(const View& view, const Surroundings& around);

/// `kernel`: a name, a table with parameters, or an expression in x and y.
[[nodiscard]] attention_kernel::Kernel read_kernel(const View& view, std::int64_t dim);
/// `activation`: a name or an expression in t.
[[nodiscard]] attention_kernel::Activation read_activation(const View& view);

/// A mixer, feedforward or norm table over the values that hold without it. No check across keys: see finish_layers.
void read_mixer(const View& view, Mixer& mixer, const Surroundings& around);
void read_feedforward(const View& view, Feedforward& feedforward);
/// @param with_place  whether `place` is a key of this norm (not for input.norm and output.norm)
void read_norm(const View& view, Norm& norm, bool with_place);
void read_train(const View& view, Train& train);

/// Reads `layer` into architecture.layers (merged, checked across keys, equal neighbours joined). The architecture's own
/// mixer, feedforward and norm have been read.
void read_layers(const View& root, Architecture& architecture, const Surroundings& around);

/// An .npy file of `rows` x `columns` floating-point or integer numbers. `view` is where the file is named.
[[nodiscard]] std::vector<std::vector<double>> read_npy_table(const View& view, const std::string& path, std::int64_t rows,
                                                              std::int64_t columns);

}  // namespace sightline::architecture

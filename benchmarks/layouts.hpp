// The layouts of the benchmarks, as architecture files, and the same layouts without their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sightline/layout/layout.hpp"

namespace bench {

using sightline::layout::Layout;
using sightline::layout::Vertex;

/// One architecture: the distinct `layers` in order, the whole list `repeat` times.
struct Family {
  std::string name;
  Vertex tokens = 0;
  std::vector<std::string> layers;  ///< inline tables of patterns
  int repeat = 1;
  std::uint32_t registers = 0;
  bool causal_target = false;
};

/// How the engine gets the layout.
enum class Form {
  pattern,   ///< as the pattern's generator writes it
  rows,      ///< row by row, as anonymous lists of constant runs
  relabelled ///< rows after a random permutation of the tokens
};

[[nodiscard]] std::string to_toml(const Family& family);
[[nodiscard]] Layout make_layout(const Family& family);
/// Nothing when the rows would take more than `most_runs` runs.
[[nodiscard]] std::optional<Layout> make_layout(const Family& family, Form form, std::uint64_t most_runs);

/// Families by name, for n tokens (a power of four where a square grid or an even root is needed).
[[nodiscard]] Family make_family(const std::string& name, Vertex tokens);
/// Layouts as models and papers use them: several patterns in turn or in heads, causal targets under causal masks.
[[nodiscard]] std::vector<Family> list_published(Vertex tokens);
/// Names that make_family knows and that count as structured.
[[nodiscard]] const std::vector<std::string>& list_structured();

}  // namespace bench

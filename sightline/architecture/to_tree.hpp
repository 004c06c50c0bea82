// Architectures as trees, for the writers: the inverse of the readers.
#pragma once

#include "sightline/architecture/architecture.hpp"
#include "sightline/architecture/tree.hpp"

namespace sightline::architecture {

/// full: every key with its value, for canonical JSON; absent optional values are null.
/// brief: as people write: `relative`, `kernel` and patterns without the keys that have their default.
enum class Detail { full, brief };

/// `folder` is that of the file that names the pattern: paths below it are written relative to it.
[[nodiscard]] Node to_tree(const layout::PatternSpec& spec, Detail detail, const std::string& folder);
[[nodiscard]] Node to_tree(const Mixer& mixer, Detail detail, const std::string& folder);
[[nodiscard]] Node to_tree(const Feedforward& feedforward);
[[nodiscard]] Node to_tree(const Norm& norm, bool with_place);
[[nodiscard]] Node to_tree(const Target& target);
/// Without `norm`, `table` and `file`, which the writers treat differently.
[[nodiscard]] Node to_tree(const Input& input);
/// Without `norm`.
[[nodiscard]] Node to_tree(const Output& output);
[[nodiscard]] Node to_tree(const Block& block);
[[nodiscard]] Node to_tree(const Train& train);
[[nodiscard]] Node to_tree(const std::vector<std::vector<double>>& table);

/// A path as the architecture file `file` would name it: relative to its folder when it lies below it or is relative itself.
[[nodiscard]] std::string relative_path(const std::string& path, const std::string& folder);

/// The members of `tree` whose value differs from that in `defaults` (or that are not there).
[[nodiscard]] Table subtract(const Node& tree, const Node& defaults);

}  // namespace sightline::architecture

// A second, naive reading of imported patterns: one boolean per pair, straight from the words of the file format.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sightline/architecture/architecture.hpp"
#include "sightline/huggingface/import.hpp"

namespace sightline::huggingface::test {

using Matrix = std::vector<std::vector<bool>>;

/// Does reader i read j? Knows the kinds that an import writes: full, window, blocks, grid blocks, bigbird in evaluation.
bool reads(const layout::PatternSpec& pattern, std::int64_t i, std::int64_t j, std::int64_t tokens);
Matrix expand(const layout::PatternSpec& pattern, std::int64_t tokens);
/// Which input each output depends on after all layers, layer 1 first.
Matrix compute_reach(const architecture::Architecture& architecture);

/// Imports a config given as JSON, with the file name "config.json".
Import import_json(const nlohmann::json& config, const ImportOptions& options = {});
/// what() of the InputError that the import throws, or "" when it throws none.
std::string find_error(const nlohmann::json& config, const ImportOptions& options = {});
/// The keys for which the library has no default, where they are missing.
void add_required_keys(nlohmann::json& config);
ImportOptions with_tokens(std::int64_t tokens);
/// All layers, repeats written out.
std::vector<architecture::LayerSpec> write_out(const architecture::Architecture& architecture);
/// "causal", "causal window 4", "chunk 8", "full", "window 3", ...
std::string describe_pattern(const layout::PatternSpec& pattern);
nlohmann::json read_json(const std::string& path);

}  // namespace sightline::huggingface::test

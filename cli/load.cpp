#include "cli/load.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"
#include "sightline/design/sources.hpp"
#include "sightline/group/expression.hpp"

namespace sightline::cli {

void resolve_symmetry(architecture::Architecture& a, const std::string& folder, std::vector<std::string>* named) {
  architecture::Target& target = a.target;
  if (target.symmetry_is_layout || !group::names_files(target.symmetry_expression)) return;
  if (named != nullptr)
    for (const std::string& file : group::list_files(target.symmetry_expression)) named->push_back((std::filesystem::path(folder) / file).string());
  const auto tokens = static_cast<group::Point>(a.tokens);
  const Budget budget;
  const group::ReadSource read_source = [&](const std::string& source, const std::string& file) {
    return design::read_symmetry(source, file, folder, design::Bonds::aromatic, tokens, budget);
  };
  group::Group group;
  try {
    group = group::parse_group(target.symmetry_expression, tokens, read_source, budget);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", architecture::locate(a, target.symmetry_where), error.what()));
  }
  target.symmetry_expression.clear();
  for (const auto& g : group::list_generators(group, ~std::size_t{0})) target.symmetry_generators.push_back(group::to_cycles(g));
  if (target.symmetry_generators.empty()) target.symmetry_generators.push_back("()");
}

void check_symmetry(const architecture::Architecture& a) {
  try {
    if (!a.target.symmetry_expression.empty()) (void)architecture::parse_symmetry(a, Budget{});
    (void)architecture::parse_symmetry_cycles(a);
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", architecture::locate(a, a.target.symmetry_where), error.what()));
  }
}

namespace {

void add_masks(const layout::PatternSpec& pattern, std::vector<std::string>& files) {
  if (!pattern.path.empty()) files.push_back(pattern.path);
  for (const layout::PatternSpec& part : pattern.of) add_masks(part, files);
}

}  // namespace

std::vector<std::string> list_files(const architecture::Architecture& a) {
  std::vector<std::string> files;
  if (!a.input.file.empty()) files.push_back(a.input.file);
  add_masks(a.mixer.pattern, files);
  for (const architecture::LayerSpec& layer : a.layers) add_masks(layer.mixer.pattern, files);
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

bool is_mask(const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  return extension == ".npy" || extension == ".npz" || extension == ".mtx" || extension == ".edges";
}

namespace {

/// Edge lists look like nothing in particular; the other formats of masks say what they are.
bool begins_as_mask(std::string_view text) { return text.starts_with("\x93NUMPY") || text.starts_with("PK\x03\x04") || text.starts_with("%%MatrixMarket"); }

/// load_mask, of which this is the text.
architecture::Architecture make_masked(const std::string& file, std::string_view text, std::optional<std::int64_t> tokens, std::int64_t dim) {
  // An edge list names tokens, and may leave out the last ones; the other formats say how many there are.
  if (const auto size = design::find_mask_size(text)) tokens = begins_as_mask(text) ? *size : std::max<std::int64_t>(tokens.value_or(0), *size);
  layout::PatternSpec pattern;
  pattern.kind = layout::PatternKind::file;
  pattern.path = file;
  if (!tokens) {
    (void)layout::make_patterns(pattern, {1, 0, 1}, Budget{});  // mostly the file is no mask, which this says
    throw InputError(fmt::format("{}: expected --tokens, because the size of this mask is not in the file", file));
  }
  architecture::Architecture result = architecture::parse_architecture(fmt::format("tokens = {}\ndim = {}\ndepth = \"unbounded\"\n", *tokens, dim), file);
  result.mixer.pattern = pattern;
  for (architecture::LayerSpec& layer : result.layers) layer.mixer.pattern = pattern;
  return result;
}

bool holds_mask(const std::string& file, std::string_view text) { return is_mask(file) || begins_as_mask(text); }

void refuse_import_options(const std::string& file, const huggingface::ImportOptions& options) {
  const std::string_view given = options.tokens ? "--tokens" : !options.global.empty() ? "--global" : options.bos ? "--bos" : options.mode != "eval" ? "--mode" : "";
  if (!given.empty()) throw InputError(fmt::format("{}: {}: expected no such option (it is for a config.json), found it", file, given));
}

}  // namespace

architecture::Architecture load_mask(const std::string& file, std::optional<std::int64_t> tokens, std::int64_t dim) {
  return make_masked(file, architecture::read_file(file), tokens, dim);
}

architecture::Architecture load_layout(const std::string& file, const huggingface::ImportOptions& options, bool only_file, std::vector<std::string>* named) {
  const std::string text = architecture::read_file(file);
  if (!holds_mask(file, text)) return load_architecture(file, options, only_file, named);
  architecture::Architecture result = make_masked(file, text, options.tokens, masked_dim);
  if (options.tokens && *options.tokens != result.tokens) throw InputError(fmt::format("--tokens: expected {}, the size of the mask {}, found {}", result.tokens, file, *options.tokens));
  if (named != nullptr) named->push_back(file);
  huggingface::ImportOptions others = options;
  others.tokens.reset();
  if (only_file) refuse_import_options(file, others);
  result.assumptions.push_back(fmt::format("the file is a mask: layers of softmax attention with it, as many as are needed, {} numbers per token (an architecture file says anything else)", masked_dim));
  return result;
}

architecture::Architecture load_architecture(const std::string& file, const huggingface::ImportOptions& options, bool only_file, std::vector<std::string>* named) {
  const std::string text = architecture::read_file(file);
  if (holds_mask(file, text)) {
    throw InputError(fmt::format("{0}: expected an architecture or a config.json, found a mask; an architecture names it: pattern = {{ kind = \"file\", path = \"{0}\" }} under [mixer]", file));
  }
  if (architecture::detect_kind(text, file) != architecture::FileKind::huggingface_config) {
    if (only_file) refuse_import_options(file, options);
    architecture::Architecture result = architecture::parse_architecture(text, file);
    resolve_symmetry(result, std::filesystem::path(file).parent_path().string(), named);
    if (named != nullptr)
      for (std::string& mask : list_files(result)) named->push_back(std::move(mask));
    return result;
  }
  huggingface::Import imported = huggingface::import_config(text, file, options);
  imported.architecture.file = file;
  imported.architecture.assumptions = imported.assumptions;
  if (!imported.ignored.empty()) {
    imported.architecture.assumptions.push_back(fmt::format("keys of the config that play no part: {}", fmt::join(imported.ignored, ", ")));
  }
  return imported.architecture;
}

std::string print_for_file(architecture::Architecture architecture, const std::string& file) {
  architecture.file = file;
  return file.ends_with(".json") ? architecture::to_canonical_json(architecture) + "\n" : architecture::to_toml(architecture);
}

}  // namespace sightline::cli

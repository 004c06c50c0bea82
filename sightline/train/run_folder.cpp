#include "sightline/train/run_folder.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "sightline/architecture/read.hpp"
#include "sightline/architecture/write.hpp"
#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"
#include "sightline/data/metrics.hpp"

namespace sightline::train {
namespace fs = std::filesystem;

namespace {

/// Nothing, or half of a first file that a killed process left (base/atomic_file.hpp; the next write removes it).
bool holds_only_parts(const std::string& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(".sightline-") || !name.ends_with(".part"))
      return false;
  }
  return true;
}

/// The first setting in which two canonical architectures differ, as `/train/steps: expected 150, found 151`: the [train] table first, which is
/// what the command line changes. Empty: none, tables aside.
std::string find_difference(const std::string& stored, const std::string& given) {
  const nlohmann::json before = nlohmann::json::parse(stored), now = nlohmann::json::parse(given);
  const nlohmann::json changes = nlohmann::json::diff(before, now);
  const auto print = [](const nlohmann::json& root, const std::string& pointer) {
    const nlohmann::json::json_pointer at(pointer);
    if (!root.contains(at))
      return std::string("none");
    constexpr std::size_t longest = 60;
    const std::string text = root.at(at).dump();
    return text.size() <= longest ? text : text.substr(0, longest) + "..";
  };
  std::string first;
  for (const nlohmann::json& change : changes) {
    const auto pointer = change["path"].get<std::string>();
    if (first.empty() || (pointer.starts_with("/train") && !first.starts_with("/train")))
      first = pointer;
  }
  if (first.empty())
    return first;
  return fmt::format("{}: expected {}, as this run began (architecture.json), found {}", first, print(before, first), print(now, first));
}

} // namespace

RunFolder::RunFolder(std::string path, const architecture::Architecture& architecture, bool resume)
    : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/')
    path_.pop_back();
  // Pattern files are named from the folder, so that the copy finds them too.
  architecture::Architecture copy = architecture;
  copy.file = file("architecture.json");
  canonical_ = architecture::to_canonical_json(copy);
  std::error_code error;
  const bool exists = fs::exists(path_, error);
  if (exists && !resume)
    throw InputError(path_ +
                     ": expected a folder that does not exist yet (--resume goes on with one that does), found one");
  if (!exists && resume)
    throw InputError(path_ + ": expected the folder of a run to resume, found none");
  if (exists && !fs::is_directory(path_, error))
    throw InputError(path_ + ": expected a folder, found a file");
  if (!exists && !fs::create_directories(path_, error) && error)
    throw InputError(fmt::format("{}: expected a folder that can be made, found: {}", path_, error.message()));
  const std::string beside = file("architecture.json");
  if (exists && fs::exists(beside, error)) {
    const architecture::Architecture stored = architecture::read_architecture(beside);
    if (!architecture::same_architecture(stored, copy)) {
      const std::string difference = find_difference(architecture::to_canonical_json(stored), canonical_);
      throw InputError(fmt::format("{}: {}", path_,
                                   difference.empty() ? "expected the run of this architecture with this [train] table, found another (see its architecture.json)"
                                                      : difference));
    }
  } else if (exists && !holds_only_parts(path_)) {
    throw InputError(path_ + ": expected the folder of a run (architecture.json), found other files");
  } else {
    write_text("architecture.json", canonical_ + "\n");
  }
}

std::optional<State> RunFolder::read_state(std::int64_t parameters, const Budget& budget) const {
  std::error_code error;
  const std::string name = file("optimiser.safetensors");
  if (!fs::exists(name, error))
    return std::nullopt;
  return to_state(data::read_safetensors(name, budget), name, canonical_, parameters);
}

bool RunFolder::has_steps() const {
  std::error_code error;
  // The first checkpoint is written before the first step.
  return fs::exists(file("metrics.csv"), error) && !data::read_curve(file("metrics.csv"), "loss", "val_loss").empty();
}

RunFolder::Place RunFolder::read_place() const {
  std::error_code error;
  Place place;
  if (!fs::exists(file("run.json"), error))
    return place;
  const auto json = nlohmann::json::parse(architecture::read_file(file("run.json")), nullptr, false);
  if (!json.is_object())
    return place;
  if (json.contains("threads") && json["threads"].is_number_integer())
    place.threads = json["threads"].get<std::int64_t>();
  if (json.contains("device") && json["device"].is_string())
    place.device = json["device"].get<std::string>();
  return place;
}

void RunFolder::write_weights(const std::string& name, const Model& model) const {
  data::write_safetensors(file(name), to_file(model, canonical_));
}
void RunFolder::write_state(const State& state) const {
  data::write_safetensors(file("optimiser.safetensors"), to_file(state, canonical_));
}
void RunFolder::write_text(const std::string& name, const std::string& text) const {
  write_file_atomically(file(name), text);
}

} // namespace sightline::train

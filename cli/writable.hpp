// Where a command will write in the end is looked at before it works: minutes of search or training are not for an answer that has no place.
#pragma once

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "sightline/base/error.hpp"

namespace sightline::cli {

/// Throws the InputError of write_file_atomically where it is certain beforehand: `file` is a folder, or there is no folder to write it
/// into, or no right to. An empty name is an option that was not given. `others`: the files that the command reads, which it must not
/// write over (a config, a certificate or data would be lost for a slip of the keyboard), and other files that it writes.
inline void expect_writable(const std::string& file, const std::vector<std::string>& others = {}) {
  if (file.empty()) return;
  for (const std::string& other : others) {
    std::error_code missing;
    const auto path = [&](const std::string& name) { return std::filesystem::weakly_canonical(std::filesystem::absolute(name, missing), missing); };
    // Two files that are not there yet are the same by their paths alone.
    const bool same = file == other || std::filesystem::equivalent(file, other, missing) || (!path(file).empty() && path(file) == path(other));
    if (same && !other.empty() && (!std::filesystem::exists(file, missing) || std::filesystem::is_regular_file(file, missing)))
      throw InputError(fmt::format("{}: expected another file to write to, found one that the command reads or writes already", file));
  }
  const auto refuse = [&](int error) {
    throw InputError(fmt::format("{}: expected a file that can be written, found: {}", file, std::strerror(error)));
  };
  struct stat found {};
  if (stat(file.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
    if (S_ISDIR(found.st_mode)) refuse(EISDIR);
    if (access(file.c_str(), W_OK) != 0) refuse(errno);
    return;
  }
  // Through a symbolic link the file it points to is written.
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::weakly_canonical(file, failed);
  const std::string folder = failed || !target.has_parent_path() ? "." : target.parent_path().string();
  if (stat(folder.c_str(), &found) != 0) refuse(errno);
  if (!S_ISDIR(found.st_mode)) refuse(ENOTDIR);
  if (access(folder.c_str(), W_OK | X_OK) != 0) refuse(errno);
}

/// Throws InputError where the name promises another format than the archive of arrays that is written.
inline void expect_npz_name(const std::string& file) {
  for (const std::string_view other : {".npy", ".csv"})
    if (file.ends_with(other)) throw InputError(fmt::format("{}: expected a name that ends with .npz (an archive of arrays is written), found {}", file, other));
}

/// The architecture that approximate writes beside its model: M.safetensors, M.toml.
inline std::string architecture_beside(const std::string& model) {
  return (model.ends_with(".safetensors") ? model.substr(0, model.size() - 12) : model) + ".toml";
}

/// Throws InputError where a model, its checkpoint or the architecture beside it would be written over what the command reads, and
/// where something else than such an architecture stands at the last, whose name the user did not give. `comment`: how all of them begin.
inline void expect_model_writable(const std::string& model, const std::vector<std::string>& read, bool with_architecture, std::string_view comment) {
  if (model.empty()) return;
  const std::string beside = architecture_beside(model);
  expect_writable(model, read);
  expect_writable(model + ".part", read);
  if (!with_architecture) return;
  std::vector<std::string> others = read;
  others.push_back(model);
  expect_writable(beside, others);
  std::error_code missing;
  if (!std::filesystem::is_regular_file(beside, missing)) return;
  std::string first(comment.size(), '\0');
  std::ifstream(beside, std::ios::binary).read(first.data(), static_cast<std::streamsize>(first.size()));
  if (first != comment)
    throw InputError(fmt::format("{}: expected a name under which nothing is written over, found that {}, where its architecture goes, holds something else", model, beside));
}

/// The file behind data:FILE or lib:FILE; empty for an expression.
inline std::string file_of_target(const std::string& target) {
  for (const std::string_view kind : {"data:", "lib:"})
    if (target.starts_with(kind)) return target.substr(kind.size());
  return "";
}

}  // namespace sightline::cli

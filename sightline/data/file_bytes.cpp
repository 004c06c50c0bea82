#include "sightline/data/file_bytes.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sightline/base/error.hpp"

namespace sightline::data {

FileBytes::FileBytes(const std::string& file, const Budget& budget) : budget_(budget) {
  const auto refuse = [&](std::string_view why) { throw InputError(fmt::format("{}: expected a file that can be read, found: {}", file, why)); };
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) refuse("a folder");
  if (std::filesystem::is_character_file(file, ignored) || std::filesystem::is_block_file(file, ignored)) refuse("a device");
  errno = 0;
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size < 0) refuse(std::strerror(errno != 0 ? errno : EIO));
  budget.ask(static_cast<std::uint64_t>(size));
  bytes_.resize(static_cast<std::size_t>(size));
  stream.seekg(0);
  stream.read(bytes_.data(), size);
  if (stream.gcount() != size) {
    budget.give_back(bytes_.size());  // the destructor does not run
    refuse("a file that ends early");
  }
}

}  // namespace sightline::data

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "sightline/architecture/write.hpp"
#include "sightline/base/error.hpp"

namespace sightline::architecture {
namespace {

[[noreturn]] void refuse(const std::string& file, int error) {
  throw InputError(fmt::format("{}: expected a file that can be written, found: {}", file, std::generic_category().message(error)));
}

/// An open file that is closed on every way out.
class Descriptor {
public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0)
      ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  /// Some file systems report a full disk only here.
  [[nodiscard]] bool close() { return ::close(std::exchange(number_, -1)) == 0; }

private:
  int number_;
};

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Removes the temporary file unless it was renamed.
struct Leftover {
  std::string path;
  ~Leftover() {
    if (!path.empty())
      ::unlink(path.c_str());
  }
};

}  // namespace

void write_file_atomically(const std::string& file, std::string_view bytes) {
  struct stat existing {};
  const bool exists = ::stat(file.c_str(), &existing) == 0;
  if (exists && S_ISDIR(existing.st_mode))
    refuse(file, EISDIR);
  if (exists && !S_ISREG(existing.st_mode)) {
    // A pipe or a device such as /dev/stdout has no "whole or not at all"; replacing it would be wrong.
    const Descriptor device(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (device.number() < 0 || !write_all(device.number(), bytes))
      refuse(file, errno);
    return;
  }

  // Through a symbolic link the file it points to is replaced, not the link.
  std::error_code ignored;
  const std::filesystem::path target = exists ? std::filesystem::canonical(file, ignored) : std::filesystem::path(file);
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
  const std::string stem = (folder / fmt::format(".sightline-{}", ::getpid())).string();
  Leftover leftover;
  int number = -1;
  for (int attempt = 0; attempt < 100 && number < 0; ++attempt) {
    const std::string name = fmt::format("{}-{}.part", stem, attempt);
    number = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number >= 0)
      leftover.path = name;
    else if (errno != EEXIST)
      refuse(file, errno);
  }
  Descriptor part(number);
  if (part.number() < 0)
    refuse(file, EEXIST);
  if (exists && ::fchmod(part.number(), existing.st_mode & 07777) != 0)
    refuse(file, errno);
  if (!write_all(part.number(), bytes) || ::fsync(part.number()) != 0 || !part.close())
    refuse(file, errno);
  if (::rename(leftover.path.c_str(), target.c_str()) != 0)
    refuse(file, errno);
  leftover.path.clear();
  // The rename itself must reach the disk too; a folder that cannot be opened or synced (some network file systems) is no
  // reason to call the finished write a failure.
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() >= 0)
    (void)::fsync(opened.number());
}

}  // namespace sightline::architecture

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "sightline/base/atomic_file.hpp"
#include "sightline/base/error.hpp"

namespace sightline {

void (*before_write_step)(const char* step) = nullptr;

namespace {

constexpr std::string_view part_prefix = ".sightline-", part_suffix = ".part";

void announce(const char* step) {
  if (before_write_step != nullptr) before_write_step(step);
}

[[noreturn]] void refuse(const std::string& file, int error) {
  throw InputError(fmt::format("{}: expected a file that can be written, found: {}", file, std::generic_category().message(error)));
}

/// An open file that is closed on every way out.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(-1); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }
  /// Some file systems report a full disk only here.
  [[nodiscard]] bool close() {
    announce("close");
    return ::close(std::exchange(number_, -1)) == 0;
  }

private:
  int number_;
};

/// Large files go out in pieces, so that an interrupted write is short.
constexpr std::size_t largest_write = std::size_t{1} << 22;

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    announce("write");
    const ssize_t written = ::write(descriptor, bytes.data(), std::min(bytes.size(), largest_write));
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

/// Temporary files whose writer died: nobody holds their lock.
void remove_leftovers(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(part_prefix) || !name.ends_with(part_suffix)) continue;
    const Descriptor part(::open(entry.path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (part.number() >= 0 && ::flock(part.number(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
  }
}

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
  remove_leftovers(folder);
  const std::string stem = (folder / fmt::format("{}{}", part_prefix, ::getpid())).string();
  Leftover leftover;
  Descriptor part;
  for (int attempt = 0; attempt < 100 && part.number() < 0; ++attempt) {
    const std::string name = fmt::format("{}-{}{}", stem, attempt, part_suffix);
    announce("open");
    part.reset(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (part.number() < 0 && errno != EEXIST) refuse(file, errno);
    if (part.number() < 0) continue;
    leftover.path = name;
    announce("flock");
    (void)::flock(part.number(), LOCK_EX | LOCK_NB);  // where locks are missing, leftovers stay until somebody removes them
    struct stat made {};
    if (::fstat(part.number(), &made) == 0 && made.st_nlink == 0) part.reset(-1);  // taken for a leftover before it was locked
  }
  if (part.number() < 0) refuse(file, EEXIST);
  announce("fchmod");
  if (exists && ::fchmod(part.number(), existing.st_mode & 07777) != 0)
    refuse(file, errno);
  if (!write_all(part.number(), bytes))
    refuse(file, errno);
  announce("fsync");
  if (::fsync(part.number()) != 0)
    refuse(file, errno);
  announce("rename");
  if (::rename(leftover.path.c_str(), target.c_str()) != 0)
    refuse(file, errno);
  leftover.path.clear();
  if (!part.close())
    refuse(file, errno);
  announce("open folder");
  // The rename itself must reach the disk too; a folder that cannot be opened or synced (some network file systems) is no
  // reason to call the finished write a failure.
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  announce("fsync folder");
  if (opened.number() >= 0)
    (void)::fsync(opened.number());
}

}  // namespace sightline
